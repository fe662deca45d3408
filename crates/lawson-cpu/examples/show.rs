//! Prints the scheduled kernels of a graph: `show FILE.law [asm]`.
#![allow(clippy::unwrap_used)]
use lawson_kernel::{choose, lower, machine::Machine, partition};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let graph = lawson_graph::Graph::parse(&std::fs::read_to_string(&args[1]).unwrap()).unwrap();
    let graph = lawson_opt::Pipeline::standard().run(&graph).unwrap();
    for p in partition::partition(&graph).unwrap() {
        let lower::Lowered { mut kernel, inputs, .. } = p.lowered;
        let constants = (0..inputs.len())
            .filter(|i| {
                matches!(graph.defining(inputs[*i]).map(|n| &n.op), Some(lawson_graph::Op::Constant(_)))
            })
            .map(|i| lawson_kernel::BufferId(i as u32))
            .collect();
        println!("{kernel}");
        let c = choose::choose(&mut kernel, &Machine::default(), &choose::Freedom { constants });
        match c {
            Ok(c) => println!("{}", c.schedule),
            Err(e) => println!("{e}"),
        }
        println!("{kernel}");
        if let Err(e) = lawson_kernel::verify(&kernel) {
            println!("{e}");
        }
        if args.len() > 2 {
            let e = lawson_cpu::emit(&kernel, lawson_cpu::Listing::On).unwrap();
            println!("spilled {:?}\n{}", e.spilled, e.code.disassembly().unwrap());
        }
    }
}

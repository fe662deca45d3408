//! Prints the kernels of a model: `kernels MODEL [asm]`.
use lawson::kernel::{choose, lower, partition};
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let graph = lawson::onnx::read_onnx(std::path::Path::new(&args[1]))?;
    let graph = lawson::opt::Pipeline::standard().run(&graph)?;
    let machine = lawson_cpu::host::machine();
    for p in partition::partition(&graph)? {
        let lower::Lowered { mut kernel, inputs, .. } = p.lowered;
        let constant = |i: &usize| {
            matches!(graph.defining(inputs[*i]).map(|n| &n.op), Some(lawson::graph::Op::Constant(_)))
        };
        let constants =
            (0..inputs.len()).filter(constant).map(|i| lawson::kernel::BufferId(i as u32)).collect();
        let c = choose::choose(&mut kernel, &machine, &choose::Freedom { constants })?;
        println!("{}{kernel}", c.schedule);
        let start = std::time::Instant::now();
        let e = lawson_cpu::emit(&kernel, lawson_cpu::Listing::On)?;
        println!("emit {:?} spilled {:?} bytes {}", start.elapsed(), e.spilled, e.code.bytes().len());
        if args.len() > 2 {
            println!("{}", e.code.disassembly().unwrap_or_default());
        }
    }
    Ok(())
}

//! Plans that several threads worked on are those that one makes.
#![allow(clippy::unwrap_used)]

use lawson_graph::Graph;
use lawson_kernel::Plan;
use lawson_kernel::compile::compile_watched;
use lawson_kernel::machine::{Machine, Machines};
use lawson_kernel::partition::Fusion;

/// Products of different sizes, each a kernel of its own, one of which comes again, and steps of the host between them.
fn graph() -> Graph {
    let (mut text, mut before) = (String::new(), String::from("x"));
    for (n, (from, to)) in
        [(8, 24), (24, 40), (40, 56), (56, 72), (72, 24), (24, 40), (40, 8)].iter().enumerate()
    {
        text += &format!(
            "%w{n} = iota {{dtype = f32, shape = [{from}, {to}], axis = 1}}
             %p{n} = contract %{before}, %w{n} {{batch = [], sum = [[1, 0]]}}
             %r{n}: f32[16, {to}] = softmax %p{n} {{axis = 1}}
             %s{n} = sort %r{n} {{axis = 1}}\n"
        );
        before = format!("s{n}");
    }
    let text =
        format!("lawson 1\ngraph @deep(%x: f32[16, 8]) -> (y: f32[16, 8]) {{\n{text}return %{before}\n}}");
    Graph::parse(&text).unwrap_or_else(|e| panic!("{e}"))
}

fn planned(threads: usize) -> Plan {
    let machine = Machine::default();
    compile_watched(&graph(), Machines::only(&machine).by(threads), Fusion::Separate, &mut |_| {}).unwrap()
}

#[test]
fn the_number_of_threads_changes_nothing_of_a_plan() {
    let one = planned(1);
    assert!(one.kernels.len() >= 8, "{} kernels are too few to be shared", one.kernels.len());
    for threads in [2, 5] {
        let several = planned(threads);
        assert_eq!(several.to_text(None), one.to_text(None), "{threads} threads");
        let schedules = |p: &Plan| p.schedules.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(schedules(&several), schedules(&one), "{threads} threads");
    }
}

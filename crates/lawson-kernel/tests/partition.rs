//! Which primitives become one kernel, and what is said of those that do not.
#![allow(clippy::unwrap_used)]

use lawson_graph::random::{GraphShape, Rng, random_graph};
use lawson_graph::{Graph, Op, ValueId};
use lawson_kernel::Refused;
use lawson_kernel::layout::Orders;
use lawson_kernel::machine::Machine;
use lawson_kernel::partition::{Partition, Refusal, partition};
use std::collections::HashSet;

fn parse(text: &str) -> Graph {
    Graph::parse(&format!("lawson 1\n{text}")).unwrap_or_else(|e| panic!("{e}"))
}

fn groups(graph: &Graph) -> Partition {
    partition(graph, &Orders::default(), &Machine::default())
}

/// The results of each group, by name.
fn results(graph: &Graph) -> Vec<Vec<String>> {
    let names = |p: &lawson_kernel::partition::Part| {
        p.group.outputs.iter().map(|v| graph.value_name(*v)).collect::<Vec<_>>()
    };
    groups(graph).parts.iter().map(names).collect()
}

/// The only refusal of a graph.
fn refusal(graph: &Graph) -> Refusal {
    let found = groups(graph).refused;
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap()
}

#[test]
fn a_value_used_twice_after_a_product_does_not_end_its_kernel() {
    let g = parse(
        "graph @silu(%x: f32[64, 64], %w: f32[64, 64]) -> (y: f32[64, 64]) {
           %h = contract %x, %w {batch = [], sum = [[1, 0]]}
           %e = exp %h
           %y = mul %h, %e
           return %y
         }",
    );
    assert_eq!(results(&g), [["y"]]);
}

#[test]
fn what_a_product_reads_is_not_computed_again_and_again() {
    let g = parse(
        "graph @g(%x: f32[64, 64], %w: f32[64, 64]) -> (y: f32[64, 64]) {
           %e = exp %x
           %y = contract %e, %w {batch = [], sum = [[1, 0]]}
           return %y
         }",
    );
    assert_eq!(results(&g), [["e"], ["y"]]);
    let r = refusal(&g);
    assert_eq!(r.why, Refused::Again);
    assert!(r.together > r.apart, "{r:?}");
}

#[test]
fn sums_of_columns_are_not_computed_for_every_row() {
    let g = parse(
        "graph @g(%x: f32[100, 200]) -> (y: f32[100, 200]) {
           %s = reduce_sum %x {axes = [0]}
           %b = broadcast %s {shape = [100, 200], axes = [1]}
           %y = sub %x, %b
           return %y
         }",
    );
    assert_eq!(results(&g), [["s"], ["y"]]);
    let r = refusal(&g);
    assert_eq!(r.why, Refused::Again);
    assert!(r.together > r.apart, "{r:?}");
}

#[test]
fn sums_of_rows_stay_with_what_uses_them() {
    let g = parse(
        "graph @g(%x: f32[100, 200]) -> (y: f32[100, 200]) {
           %s = reduce_sum %x {axes = [1]}
           %b = broadcast %s {shape = [100, 200], axes = [0]}
           %y = sub %x, %b
           return %y
         }",
    );
    assert_eq!(results(&g), [["y"]]);
}

#[test]
fn a_product_is_not_computed_for_every_copy_of_its_elements() {
    let g = parse(
        "graph @g(%x: f32[64, 64], %w: f32[64, 64]) -> (y: f32[64, 4, 64]) {
           %h = contract %x, %w {batch = [], sum = [[1, 0]]}
           %b = broadcast %h {shape = [64, 4, 64], axes = [0, 2]}
           %y = exp %b
           return %y
         }",
    );
    assert_eq!(results(&g), [["h"], ["y"]]);
}

#[test]
fn reductions_of_the_same_rows_are_one_visit() {
    let g = parse(
        "graph @g(%x: f32[4096, 1024]) -> (s: f32[4096], m: f32[4096]) {
           %s = reduce_sum %x {axes = [1]}
           %m = reduce_max %x {axes = [1]}
           return %s, %m
         }",
    );
    assert_eq!(results(&g), [["s", "m"]]);
}

#[test]
fn slices_and_broadcasts_need_no_kernel() {
    let g = parse(
        "graph @g(%x: f32[3, 64], %b: f32[64]) -> (y: f32[64], z: f32[64, 2]) {
           %0 = slice %x {start = [0, 0], size = [1, 64], step = [1, 1]}
           %1 = reshape %0 {shape = [64]}
           %2 = slice %x {start = [2, 0], size = [1, 64], step = [1, 1]}
           %3 = reshape %2 {shape = [64]}
           %y = add %1, %3
           %4 = broadcast %b {shape = [64, 2], axes = [0]}
           %z = exp %4
           return %y, %z
         }",
    );
    let found = results(&g);
    assert!(found.concat().iter().all(|v| v == "y" || v == "z"), "{found:?}");
}

#[test]
fn groups_that_would_wait_for_each_other_stay_apart() {
    // `s` needs a whole column of `e`, `y` needs both: `e` and `y` cannot be one kernel around `s`.
    let g = parse(
        "graph @g(%x: f32[64, 64]) -> (y: f32[64, 64]) {
           %e = exp %x
           %s = reduce_sum %e {axes = [0]}
           %b = broadcast %s {shape = [64, 64], axes = [1]}
           %y = div %e, %b
           return %y
         }",
    );
    let found = groups(&g);
    let ran: Vec<_> = found.parts.iter().flat_map(|p| p.group.outputs.clone()).collect();
    assert!(ran.len() > 1);
    assert!(!found.refused.is_empty());
}

#[test]
fn every_refusal_has_its_reason_and_both_times() {
    let g = parse(
        "graph @g(%x: f32[64, 64], %w: f32[64, 64], %u: f32[64, 64]) -> (y: f32[64]) {
           %h = contract %x, %w {batch = [], sum = [[1, 0]]}
           %k = contract %h, %u {batch = [], sum = [[1, 0]]}
           %y = reduce_sum %k {axes = [1]}
           return %y
         }",
    );
    let found = groups(&g).refused;
    let whys: Vec<_> = found.iter().map(|r| r.why.clone()).collect();
    assert_eq!(whys, [Refused::Products, Refused::Rows]);
    assert!(found.iter().all(|r| r.apart > 0.0 && r.together > 0.0 && !r.why.to_string().is_empty()));
}

#[test]
fn groups_follow_what_they_need_however_they_were_joined() {
    // Both sums read `x`, and so may be one kernel; but `b` needs `a` by way of the sorted values, which no kernel computes.
    let g = parse(
        "graph @g(%x: f32[4, 8]) -> (a: f32[4], b: f32[4], s: f32[4]) {
           %0 = exp %x
           %a = reduce_sum %0 {axes = [1]}
           %s = sort %a {axis = 0}
           %1 = broadcast %s {shape = [4, 8], axes = [0]}
           %2 = mul %x, %1
           %b = reduce_sum %2 {axes = [1]}
           return %a, %b, %s
         }",
    );
    assert_eq!(results(&g), [["a"], ["s"], ["b"]]);
}

#[test]
fn random_graphs_are_parted_in_an_order_in_which_they_can_run() {
    let shape = GraphShape::default();
    for seed in 0..300 {
        let g = random_graph(&mut Rng::new(seed), &shape).unwrap();
        let g = lawson_opt::Pipeline::standard().run(&g).unwrap();
        let mut known: HashSet<ValueId> = g.inputs().iter().copied().collect();
        for part in groups(&g).parts {
            let missing: Vec<_> = part.group.inputs(&g).into_iter().filter(|v| !known.contains(v)).collect();
            let constant = |v: &ValueId| matches!(g.defining(*v).map(|n| &n.op), Some(Op::Constant(_)));
            assert!(missing.iter().all(constant), "seed {seed}: {missing:?}\n{g}");
            known.extend(&part.group.outputs);
        }
        assert!(
            g.outputs().iter().all(|o| {
                known.contains(&o.value)
                    || matches!(g.defining(o.value).map(|n| &n.op), Some(Op::Constant(_)))
            }),
            "seed {seed}\n{g}"
        );
    }
}

#[test]
fn what_is_put_together_is_stored_part_by_part() {
    // However state is handed over, it is computed by one kernel, which computes what its parts share once.
    let step = "%s = sin %a %c = cos %b %p = mul %s, %c %x = add %a, %p %y = sub %b, %p";
    let separate = parse(&format!(
        "graph @g(%a: f32[N], %b: f32[N]) -> (x: f32[N], y: f32[N]) {{ {step} return %x, %y }}"
    ));
    let stacked = parse(&format!(
        "graph @g(%ab: f32[2, N]) -> (xy: f32[2, N]) {{
           %a1 = slice %ab {{start = [0, 0], size = [1, N], step = [1, 1]}} %a = reshape %a1 {{shape = [N]}}
           %b1 = slice %ab {{start = [1, 0], size = [1, N], step = [1, 1]}} %b = reshape %b1 {{shape = [N]}}
           {step}
           %x1 = reshape %x {{shape = [1, N]}} %y1 = reshape %y {{shape = [1, N]}}
           %xy = concat %x1, %y1 {{axis = 0}}
           return %xy
         }}"
    ));
    let joined = parse(&format!(
        "graph @g(%ab: f32[2*N]) -> (xy: f32[2*N], z: f32[N]) {{
           %a = slice %ab {{start = [0], size = [N], step = [1]}}
           %b = slice %ab {{start = [N], size = [N], step = [1]}}
           {step} %z = mul %x, %y
           %xy = concat %x, %y {{axis = 0}}
           return %xy, %z
         }}"
    ));
    for (graph, stores) in [(separate, 2), (stacked, 2), (joined, 3)] {
        let parts = groups(&graph).parts;
        let [part] = &parts[..] else { panic!("{} kernels\n{graph}", parts.len()) };
        let kernel = &part.lowered.as_ref().unwrap().kernel;
        let mut found = 0;
        kernel.visit(&mut |n| found += usize::from(matches!(n, lawson_kernel::Node::Store(_))));
        assert_eq!(found, stores, "{kernel}");
        assert_eq!(kernel.to_string().matches("sin(").count(), 1, "{kernel}");
        assert!(!kernel.to_string().contains("select"), "{kernel}");
    }
}

/// Queries, keys and values of one input: so many products of it, with epilogues.
fn projections(of: usize, dtype: &str) -> Graph {
    let names: Vec<String> = (0..of).map(|n| format!("w{n}: {dtype}[32, 48]")).collect();
    let lines = (0..of).map(|n| {
        format!("%h{n} = contract %x, %w{n} {{batch = [], sum = [[1, 0]]}}\n%y{n} = mul %h{n}, %h{n}\n")
    });
    let outputs: Vec<String> = (0..of).map(|n| format!("y{n}: {dtype}[16, 48]")).collect();
    let results: Vec<String> = (0..of).map(|n| format!("%y{n}")).collect();
    parse(&format!(
        "graph @qkv(%x: {dtype}[16, 32], %{}) -> ({}) {{ {} return {} }}",
        names.join(", %"),
        outputs.join(", "),
        lines.collect::<String>(),
        results.join(", ")
    ))
}

#[test]
fn products_of_one_operand_in_the_same_loops_are_summed_up_abreast() {
    let g = projections(3, "f32");
    assert_eq!(results(&g), [["y0", "y1", "y2"]]);
    let found = groups(&g);
    let kernel = &found.parts[0].lowered.as_ref().unwrap().kernel;
    assert_eq!(kernel.accs.iter().map(|a| a.state.len()).collect::<Vec<_>>(), [3]);
    assert!(found.refused.is_empty());
}

#[test]
fn the_gate_and_what_passes_it_are_one_product() {
    let g = parse(
        "graph @swiglu(%x: f32[16, 32], %g: f32[32, 48], %u: f32[32, 48]) -> (y: f32[16, 48]) {
           %a = contract %x, %g {batch = [], sum = [[1, 0]]}
           %s = tanh %a
           %t = mul %a, %s
           %b = contract %x, %u {batch = [], sum = [[1, 0]]}
           %y = mul %t, %b
           return %y
         }",
    );
    assert_eq!(results(&g), [["y"]]);
}

#[test]
fn weights_that_two_inputs_share_are_read_once() {
    let g = parse(
        "graph @twins(%a: f32[16, 32], %b: f32[16, 32], %w: f32[32, 48]) -> (d: f32[16, 48]) {
           %x = contract %a, %w {batch = [], sum = [[1, 0]]}
           %y = contract %b, %w {batch = [], sum = [[1, 0]]}
           %d = sub %x, %y
           return %d
         }",
    );
    assert_eq!(results(&g), [["d"]]);
}

#[test]
fn sums_abreast_are_as_many_as_a_tile_has_registers_for() {
    let most = groups(&projections(5, "f32")).parts.len();
    let more = groups(&projections(6, "f32"));
    assert_eq!((most, more.parts.len()), (1, 2));
    let too_many = |r: &Refusal| matches!(r.why, Refused::Registers { .. }) && r.beside.is_some();
    assert!(more.refused.iter().any(too_many), "{:?}", more.refused);
}

#[test]
fn products_that_are_not_of_floats_stay_apart() {
    assert_eq!(groups(&projections(2, "i32")).parts.len(), 2);
}

#[test]
fn products_of_other_sizes_stay_apart() {
    let g = parse(
        "graph @gqa(%x: f32[16, 32], %q: f32[32, 48], %k: f32[32, 24]) -> (a: f32[16, 48], b: f32[16, 24]) {
           %a = contract %x, %q {batch = [], sum = [[1, 0]]}
           %b = contract %x, %k {batch = [], sum = [[1, 0]]}
           return %a, %b
         }",
    );
    assert_eq!(results(&g), [["a"], ["b"]]);
    let r = refusal(&g);
    assert!(matches!(r.why, Refused::Spaces { .. }) && r.beside.is_some() && r.together < r.apart, "{r:?}");
}

#[test]
fn a_product_of_a_product_is_not_summed_up_beside_it() {
    let g = parse(
        "graph @twice(%x: f32[32, 32], %w: f32[32, 32]) -> (y: f32[32, 32]) {
           %h = contract %x, %w {batch = [], sum = [[1, 0]]}
           %y = contract %h, %w {batch = [], sum = [[1, 0]]}
           return %y
         }",
    );
    assert_eq!(results(&g), [["h"], ["y"]]);
}

#[test]
fn several_reductions_of_a_row_are_one_visit_to_it() {
    let g = parse(
        "graph @moments(%x: f32[16, 100]) -> (y: f32[16]) {
           %s = reduce_sum %x {axes = [1]}
           %q = mul %x, %x
           %t = reduce_sum %q {axes = [1]}
           %u = mul %s, %s
           %y = sub %t, %u
           return %y
         }",
    );
    assert_eq!(results(&g), [["y"]]);
    let found = groups(&g);
    let kernel = &found.parts[0].lowered.as_ref().unwrap().kernel;
    assert_eq!(kernel.accs.iter().map(|a| a.state.len()).collect::<Vec<_>>(), [2]);
}

//! Which products become one kernel because they follow one another over the same rows, and what those kernels are.
#![allow(clippy::unwrap_used)]

use lawson_graph::{Graph, NodeId};
use lawson_kernel::chain::links;
use lawson_kernel::layout::Orders;
use lawson_kernel::lower::{Lowered, Options, Rows, lower_with};
use lawson_kernel::machine::{Chains, Machine, Machines, Spread};
use lawson_kernel::partition::{Partition, partition, partition_within};
use lawson_kernel::{Kernel, Refused, Role};
use std::collections::HashSet;

/// A device on which starting a kernel costs much.
fn device() -> Machine {
    let chains = Chains {
        units: 128,
        blocks: &[4, 2, 1],
        factors: i64::MAX,
        unit_bytes_per_fma: 64.0,
        fmas_per_link: 500.0,
        columns: 2048,
        multiple: 4,
        links: 8,
        scratch: 32 << 10,
        buffers: 31,
    };
    Machine {
        spread: Spread::Grid,
        lanes: 16 << 10,
        l2: 32 << 20,
        l3: 48 << 20,
        l2_bytes_per_fma: 4000.0,
        l3_bytes_per_fma: 4000.0,
        memory_bytes_per_fma: 2000.0,
        fmas_per_start: 5000.0,
        chains: Some(chains),
        ..Machine::default()
    }
}

/// Layers with a bias and a ReLU each, of these sizes, over so many rows.
fn layers(rows: i64, sizes: &[i64]) -> Graph {
    let (mut inputs, mut body) = (format!("%h0: f32[{rows}, {}]", sizes[0]), String::new());
    for (n, pair) in sizes.windows(2).enumerate() {
        let (k, m) = (pair[0], pair[1]);
        inputs += &format!(", %w{n}: f32[{k}, {m}], %b{n}: f32[{m}]");
        body += &format!(
            "%p{n} = contract %h{n}, %w{n} {{batch = [], sum = [[1, 0]]}}
             %c{n} = broadcast %b{n} {{shape = [{rows}, {m}], axes = [1]}}
             %s{n} = add %p{n}, %c{n}
             %z{n} = broadcast %zero {{shape = [{rows}, {m}], axes = []}}
             %h{} = max %s{n}, %z{n}\n",
            n + 1
        );
    }
    let (last, m) = (sizes.len() - 1, sizes[sizes.len() - 1]);
    let text = format!(
        "lawson 1\ngraph @g({inputs}) -> (y: f32[{rows}, {m}]) {{\n%zero: f32[] = constant 0.0\n{body}return %h{last}\n}}"
    );
    Graph::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn parts(graph: &Graph) -> Partition {
    partition(graph, &Orders::default(), &device())
}

/// How many links each kernel has; 0 if it is no chain.
fn chains(graph: &Graph) -> Vec<usize> {
    let count = |p: &lawson_kernel::partition::Part| {
        links(&p.lowered.as_ref().unwrap().kernel).map_or(0, |(_, links)| links.len())
    };
    parts(graph).parts.iter().map(count).collect()
}

#[test]
fn small_layers_over_the_same_rows_are_one_kernel() {
    assert_eq!(chains(&layers(64, &[64, 64, 32, 128])), [3]);
}

#[test]
fn what_lies_between_two_products_stays_in_scratch() {
    let graph = layers(8, &[16, 32, 4, 20]);
    let found = parts(&graph);
    let [part] = found.parts.as_slice() else { panic!("one kernel") };
    let kernel = &part.lowered.as_ref().unwrap().kernel;
    let (blocks, links) = links(kernel).unwrap();
    let sizes: Vec<[i64; 3]> = links.iter().map(|l| l.sizes).collect();
    let rows = blocks.step;
    assert_eq!(sizes, [[rows, 32, 16], [rows, 4, 32], [rows, 20, 4]]);
    let scratch: Vec<String> = kernel
        .buffers
        .iter()
        .filter(|b| matches!(b.role, Role::Scratch(_)))
        .map(|b| format!("{:?}", b.dims.iter().map(|d| d.as_const().unwrap()).collect::<Vec<_>>()))
        .collect();
    assert_eq!(scratch, [format!("[{rows}, 4]"), format!("[{rows}, 32]")]);
}

#[test]
fn large_layers_stay_apart_and_say_that_they_gain_nothing() {
    let graph = layers(1024, &[1024, 1024, 1024]);
    assert_eq!(chains(&graph), [0, 0]);
    let found = parts(&graph).refused;
    let [refusal] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(refusal.why, Refused::NoGain);
    assert!(refusal.together > refusal.apart, "{refusal:?}");
}

#[test]
fn what_cannot_be_gone_through_by_blocks_of_rows_stays_apart() {
    // A size that is no multiple of four.
    assert_eq!(chains(&layers(64, &[64, 30, 64])), [0, 0]);
    // A result that is needed outside.
    let graph = Graph::parse(
        "lawson 1
         graph @g(%x: f32[64, 64], %w: f32[64, 64], %u: f32[64, 64]) -> (h: f32[64, 64], y: f32[64, 64]) {
           %h = contract %x, %w {batch = [], sum = [[1, 0]]}
           %y = contract %h, %u {batch = [], sum = [[1, 0]]}
           return %h, %y
         }",
    );
    assert_eq!(chains(&graph.unwrap()), [0, 0]);
    // A second factor that is computed from the first.
    let graph = Graph::parse(
        "lawson 1
         graph @g(%x: f32[64, 64], %w: f32[64, 64]) -> (y: f32[64, 64]) {
           %h = contract %x, %w {batch = [], sum = [[1, 0]]}
           %y = contract %h, %h {batch = [], sum = [[1, 0]]}
           return %y
         }",
    );
    assert_eq!(chains(&graph.unwrap()), [0, 0]);
}

#[test]
fn long_chains_are_several_kernels() {
    assert_eq!(chains(&layers(64, &[64; 22])), [8, 8, 5]);
}

#[test]
fn chains_have_no_more_buffers_than_a_kernel_may() {
    let graph = layers(64, &[64; 7]);
    let mut machine = device();
    machine.chains.as_mut().unwrap().buffers = 7;
    let found = partition(&graph, &Orders::default(), &machine);
    let lowered = found.parts.iter().map(|p| p.lowered.as_ref().unwrap());
    let buffers: Vec<usize> = lowered.map(|l| l.inputs.len() + l.outputs.len()).collect();
    assert_eq!(buffers, [6, 6, 6]);
}

/// Why groups stay apart, on a device with other limits of chains.
fn refused(graph: &Graph, change: impl Fn(&mut Chains)) -> Vec<Refused> {
    let mut machine = device();
    change(machine.chains.as_mut().unwrap());
    let found = partition(graph, &Orders::default(), &machine);
    found.refused.into_iter().map(|r| r.why).collect()
}

#[test]
fn what_a_chain_has_too_much_of_is_said() {
    let graph = layers(64, &[64; 4]);
    assert_eq!(refused(&graph, |_| {}), []);
    let columns = Refused::Chain { of: "columns", found: 64, most: 60 };
    assert_eq!(refused(&graph, |c| c.columns = 60), [columns.clone(), columns]);
    // A row before and a row after a product fill no more than half of it.
    let scratch = Refused::Chain { of: "bytes of scratch", found: 8 * 64, most: 256 };
    assert_eq!(refused(&graph, |c| c.scratch = 512), [scratch.clone(), scratch]);
    let buffers = Refused::Chain { of: "buffers", found: 9, most: 7 };
    assert_eq!(refused(&graph, |c| c.buffers = 7), [buffers]);
    let links = Refused::Chain { of: "links", found: 9, most: 8 };
    assert_eq!(refused(&layers(64, &[64; 18]), |_| {}), [links.clone(), links]);
}

#[test]
fn a_product_with_many_columns_is_in_no_chain_and_those_around_it_are() {
    let graph = layers(64, &[64, 64, 64, 256, 64, 64, 64]);
    let mut machine = device();
    machine.chains.as_mut().unwrap().columns = 128;
    let found = partition(&graph, &Orders::default(), &machine);
    let count = |p: &lawson_kernel::partition::Part| {
        links(&p.lowered.as_ref().unwrap().kernel).map_or(0, |(_, links)| links.len())
    };
    assert_eq!(found.parts.iter().map(count).collect::<Vec<_>>(), [2, 0, 3]);
    let why = Refused::Chain { of: "columns", found: 256, most: 128 };
    assert_eq!(found.refused.iter().map(|r| r.why.clone()).collect::<Vec<_>>(), [why.clone(), why]);
}

#[test]
fn what_lies_between_all_products_of_a_chain_fits_into_scratch() {
    let graph = layers(64, &[64, 256, 256, 256, 256, 256, 64]);
    let scratch = |most: i64| {
        let mut machine = device();
        machine.chains.as_mut().unwrap().scratch = most;
        let found = partition(&graph, &Orders::default(), &machine);
        let bytes = |p: &lawson_kernel::partition::Part| {
            let kernel = &p.lowered.as_ref().unwrap().kernel;
            let kept = kernel.buffers.iter().filter(|b| matches!(b.role, Role::Scratch(_)));
            kept.map(|b| 4 * b.layout.size.as_const().unwrap()).sum::<i64>()
        };
        found.parts.iter().map(bytes).collect::<Vec<_>>()
    };
    // Two results of four rows, of two and of one.
    assert_eq!(scratch(16 << 10), [8 << 10]);
    assert_eq!(scratch(8 << 10), [4 << 10]);
    assert_eq!(scratch(4 << 10), [2 << 10]);
    assert_eq!(scratch(2 << 10), [0; 6]);
}

#[test]
fn operators_that_are_compiled_apart_are_in_no_chain() {
    let graph = Graph::parse(
        "lawson 1
         graph @g(%x: f32[64, 64], %w: f32[64, 64], %u: f32[64, 64]) -> (y: f32[64, 64]) {
           %h = contract %x, %w {batch = [], sum = [[1, 0]]}
           %y = contract %h, %u {batch = [], sum = [[1, 0]]}
           return %y
         }",
    )
    .unwrap();
    assert_eq!(chains(&graph), [2]);
    let (machine, each) = (device(), graph.node_ids().collect::<Vec<NodeId>>());
    let found = partition_within(&graph, &Orders::default(), Machines::only(&machine), Some(&each));
    assert_eq!(found.parts.len(), 2);
}

#[test]
fn a_product_that_is_stored_over_its_own_rows_is_no_link() {
    let through = |kept: &str| {
        let text = format!(
            "lawson-kernel 1
             kernel @g {{
               in x: f32[8, 8]
               in w: f32[8, 8]
               out y: f32[8, 8]
               scratch h: f32[4, 8] at L1
               scratch k: f32[4, 8] at L1
               axes block, i, s, r, i1, s1, r1, i2, s2, r2
               acc a: f32 = 0.0 identity 0.0 merge add
               acc b: f32 = 0.0 identity 0.0 merge add
               acc c: f32 = 0.0 identity 0.0 merge add
               for block in 0 to 8 step 4 parallel {{
                 for i in 0 to 4 {{ for s in 0 to 8 {{
                   accumulate a {{ for r in 0 to 8 {{ step a = fma(x[block + i, r], w[r, s], state(a)) }} }}
                   h[i, s] = a
                 }} }}
                 for i1 in 0 to 4 {{ for s1 in 0 to 8 {{
                   accumulate b {{ for r1 in 0 to 8 {{ step b = fma(h[i1, r1], w[r1, s1], state(b)) }} }}
                   {kept}[i1, s1] = b
                 }} }}
                 for i2 in 0 to 4 {{ for s2 in 0 to 8 {{
                   accumulate c {{ for r2 in 0 to 8 {{ step c = fma({kept}[i2, r2], w[r2, s2], state(c)) }} }}
                   y[block + i2, s2] = c
                 }} }}
               }}
             }}"
        );
        let kernel = Kernel::parse(&text).unwrap_or_else(|e| panic!("{e}"));
        links(&kernel).map(|(_, links)| links.len())
    };
    assert_eq!(through("k"), Some(3));
    // Its members would store where others still load.
    assert_eq!(through("h"), None);
}

#[test]
fn a_machine_that_says_nothing_of_chains_has_none() {
    let graph = layers(64, &[64, 64, 64]);
    let found = partition(&graph, &Orders::default(), &Machine::default());
    assert_eq!(found.parts.len(), 2);
    assert_eq!(found.refused[0].why, Refused::Products);
}

#[test]
fn processors_chain_layers_whose_factors_stay_in_the_cache_of_a_core() {
    let on = |cores: usize, graph: &Graph| {
        let mut machine = Machine::default();
        machine.chains = Some(Chains::on_cores(cores, &machine));
        let found = partition(graph, &Orders::default(), &machine);
        let block = |p: &lawson_kernel::partition::Part| {
            links(&p.lowered.as_ref().unwrap().kernel).map(|(blocks, _)| blocks.step)
        };
        let why = found.refused.iter().map(|r| r.why.clone()).collect::<Vec<_>>();
        (found.parts.iter().map(block).collect::<Vec<_>>(), why)
    };
    let small = layers(64, &[64, 64, 64]);
    // As many rows in a block as leave everyone one.
    assert_eq!(on(1, &small), (vec![Some(64)], vec![]));
    assert_eq!(on(2, &small), (vec![Some(32)], vec![]));
    assert_eq!(on(4, &small), (vec![Some(16)], vec![]));
    // There are too few rows for all: a team works on each product together.
    assert_eq!(on(8, &small), (vec![None, None], vec![Refused::NoGain]));
    // A quarter of a mebibyte of factors is the most.
    assert_eq!(on(2, &layers(128, &[128; 5])), (vec![Some(64)], vec![]));
    let (parts, why) = on(2, &layers(128, &[160; 4]));
    assert_eq!(parts, [Some(64), None]);
    assert_eq!(why, [Refused::Chain { of: "bytes of factors", found: 307_200, most: 1 << 18 }]);
    // Four links are, too, and columns and terms are any.
    let (parts, why) = on(2, &layers(64, &[61, 7, 33, 5, 18, 23, 41]));
    assert_eq!(parts, [Some(32), Some(32)]);
    assert_eq!(why, [Refused::Chain { of: "links", found: 5, most: 4 }]);
}

#[test]
fn chains_of_one_form_have_one_kernel_and_values_of_their_own() {
    // Three of the same form, and one of fewer columns at the end.
    let graph = layers(64, &[[64; 25].as_slice(), &[32, 64, 64, 64, 64, 64, 64, 64]].concat());
    let found = parts(&graph);
    let lowered: Vec<&Lowered> = found.parts.iter().map(|p| p.lowered.as_ref().unwrap()).collect();
    assert_eq!(chains(&graph), [8, 8, 8, 8]);
    let [a, b, c, d] = lowered.as_slice() else { panic!("four kernels") };
    assert!(a.kernel == b.kernel && b.kernel == c.kernel && c.kernel != d.kernel);
    // Each reads what the one before wrote, and weights that no other one reads.
    let mut read = HashSet::new();
    for (n, l) in lowered.iter().enumerate() {
        let group = &found.parts[n].group;
        assert_eq!(l.outputs, group.outputs);
        assert_eq!(l.inputs.iter().collect::<HashSet<_>>(), group.inputs(&graph).iter().collect());
        assert!(l.inputs.iter().all(|v| read.insert(*v)), "{:?}", l.inputs);
        assert!(n == 0 || l.inputs.contains(&lowered[n - 1].outputs[0]));
        // As if it were lowered for itself, but for names.
        let options = Options { rows: Rows::Blocks(4), ..Options::default() };
        let alone = lower_with(&graph, group, &options).unwrap();
        assert_eq!(alone.inputs, l.inputs);
        assert_eq!((&alone.kernel.body, &alone.kernel.exprs), (&l.kernel.body, &l.kernel.exprs));
    }
}

#[test]
fn numbers_within_chains_tell_them_apart() {
    // The same layers but for the number below which nothing is passed on.
    let text = |least: [&str; 4]| {
        let mut body = String::new();
        for (n, least) in least.iter().enumerate() {
            body += &format!(
                "%p{n} = contract %h{n}, %w {{batch = [], sum = [[1, 0]]}}
                 %l{n}: f32[] = constant {least}
                 %z{n} = broadcast %l{n} {{shape = [8, 8], axes = []}}
                 %h{} = max %p{n}, %z{n}\n",
                n + 1
            );
        }
        format!("lawson 1\ngraph @g(%h0: f32[8, 8], %w: f32[8, 8]) -> (y: f32[8, 8]) {{ {body} return %h4 }}")
    };
    let mut machine = device();
    machine.chains.as_mut().unwrap().links = 2;
    let kernels = |least| {
        let graph = Graph::parse(&text(least)).unwrap();
        let found = partition(&graph, &Orders::default(), &machine);
        found.parts.into_iter().map(|p| p.lowered.unwrap().kernel).collect::<Vec<Kernel>>()
    };
    let [a, b] = &kernels(["0.0", "1.0", "0.0", "1.0"])[..] else { panic!("two kernels") };
    assert!(a == b);
    let [a, b] = &kernels(["0.0", "1.0", "1.0", "0.0"])[..] else { panic!("two kernels") };
    assert!(a.exprs != b.exprs);
}

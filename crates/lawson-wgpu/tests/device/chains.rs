//! Chains of products: that the members of a workgroup share all of them that partitioning makes, and what they compute.

use crate::support::{Near, buffers, check, gpu};
use lawson_graph::Graph;
use lawson_graph::random::Rng;
use lawson_kernel::Kernel;
use lawson_kernel::chain::links;
use lawson_kernel::compile::compile;
use lawson_wgpu::opcode::Members;
use lawson_wgpu::{Capabilities, Listing, machine_for};

/// Products with a ReLU each, of these sizes, over so many rows.
fn layers(rows: i64, sizes: &[i64]) -> Graph {
    let (mut inputs, mut body) = (format!("%h0: f32[{rows}, {}]", sizes[0]), String::new());
    for (n, pair) in sizes.windows(2).enumerate() {
        let (k, m) = (pair[0], pair[1]);
        inputs += &format!(", %w{n}: f32[{k}, {m}]");
        body += &format!(
            "%p{n} = contract %h{n}, %w{n} {{batch = [], sum = [[1, 0]]}}
             %z{n} = broadcast %zero {{shape = [{rows}, {m}], axes = []}}
             %h{} = max %p{n}, %z{n}\n",
            n + 1
        );
    }
    let (last, m) = (sizes.len() - 1, sizes[sizes.len() - 1]);
    let text = format!(
        "lawson 1\ngraph @g({inputs}) -> (y: f32[{rows}, {m}]) {{\n%zero: f32[] = constant 0.0\n{body}return %h{last}\n}}"
    );
    Graph::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The kernels that a graph becomes on a device of these capabilities.
fn kernels(graph: &Graph, capabilities: &Capabilities) -> Vec<Kernel> {
    compile(graph, &machine_for(capabilities)).unwrap().kernels
}

#[test]
fn all_chains_are_shared_by_the_members_of_a_workgroup() {
    let least = Capabilities::default();
    let roomy = Capabilities { workgroup_memory: 48 << 10, ..least };
    let few = Capabilities { max_members: 32, ..least };
    let mut rng = Rng::new(3);
    let sizes = [4, 8, 20, 64, 100, 128, 132, 256, 512, 1020, 1024, 1028, 2048, 2052, 3072];
    let mut found = 0;
    for capabilities in [least, roomy, few] {
        for _ in 0..150 {
            let rows = [2, 4, 6, 7, 16, 64][rng.below(6)];
            let count = rng.between(3, 11);
            let sizes: Vec<i64> = (0..count).map(|_| sizes[rng.below(sizes.len())]).collect();
            for kernel in kernels(&layers(rows, &sizes), &capabilities) {
                let Some((_, links)) = links(&kernel) else { continue };
                found += links.len();
                let listing = Listing::of(&kernel, &capabilities).unwrap();
                let members = listing.launches[0].members;
                assert!(
                    matches!(members, Members::Workgroup(_)),
                    "{rows} by {sizes:?}: {members:?}\n{kernel}"
                );
            }
        }
    }
    assert!(found > 500, "{found} products in chains");
}

#[test]
fn chains_as_large_as_their_members_can_share() {
    for (rows, sizes) in
        [(4, vec![8, 1024, 4, 8]), (6, vec![4, 1020, 8]), (1, vec![8, 8, 8]), (3, vec![12, 4, 132])]
    {
        let gpu = gpu().clone().with_capabilities(Capabilities { max_members: 256, ..*gpu().capabilities() });
        for kernel in kernels(&layers(rows, &sizes), gpu.capabilities()) {
            let given = buffers(&kernel, &[], &mut Rng::new(1));
            check(&gpu, &kernel, &[], &given, Near::Units(64.0));
        }
    }
}

#[test]
fn products_without_columns_or_terms_are_computed_too() {
    for [first, between, last] in [[4, 0, 4], [0, 4, 4], [4, 4, 0]] {
        let text = format!(
            "lawson-kernel 1
             kernel @g {{
               in x: f32[8, {first}]
               in w: f32[{first}, {between}]
               in u: f32[{between}, {last}]
               out y: f32[8, {last}]
               scratch h: f32[4, {between}] at L1
               axes block, i, s, r, i1, s1, r1
               acc a: f32 = 0.0 identity 0.0 merge add
               acc b: f32 = 0.0 identity 0.0 merge add
               for block in 0 to 8 step 4 parallel {{
                 for i in 0 to 4 {{ for s in 0 to {between} {{
                   accumulate a {{ for r in 0 to {first} {{ step a = fma(x[block + i, r], w[r, s], state(a)) }} }}
                   h[i, s] = a
                 }} }}
                 for i1 in 0 to 4 {{ for s1 in 0 to {last} {{
                   accumulate b {{ for r1 in 0 to {between} {{ step b = fma(h[i1, r1], u[r1, s1], state(b)) }} }}
                   y[block + i1, s1] = b
                 }} }}
               }}
             }}"
        );
        let kernel = Kernel::parse(&text).unwrap_or_else(|e| panic!("{e}"));
        assert!(links(&kernel).is_some());
        let given = buffers(&kernel, &[], &mut Rng::new(1));
        check(gpu(), &kernel, &[], &given, Near::Equal);
    }
}

//! The arena: close to what is needed at once, and written in place where kernels allow it.
#![allow(clippy::unwrap_used)]

use lawson_graph::random::Rng;
use lawson_graph::{Bindings, Graph, Symbol};
use lawson_kernel::borrow::{check, in_place};
use lawson_kernel::compile::compile;
use lawson_kernel::machine::Machine;
use lawson_kernel::{Bound, Kernel, Plan};
use std::fmt::Write;

fn plan(text: &str) -> Plan {
    let graph = Graph::parse(&format!("lawson 1\n{text}")).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let graph = lawson_opt::Pipeline::standard().run(&graph).unwrap();
    compile(&graph, &Machine::default()).unwrap()
}

fn bind(plan: &Plan, n: i64) -> Bound {
    let mut bindings = Bindings::new();
    bindings.define(Symbol::new("N"), n, "test");
    plan.bind(&bindings).unwrap()
}

/// How much larger the arena is than what is needed at once.
fn excess(text: &str, n: i64) -> f64 {
    let plan = plan(text);
    let bound = bind(&plan, n);
    assert!(bound.needed > 0 && bound.arena >= bound.needed, "{}", plan.text(Some(&bound)));
    assert!(check(&plan, Some(&bound)).errors.is_empty());
    bound.arena as f64 / bound.needed as f64 - 1.0
}

/// Blocks of two convolutions with the block's input added, at shrinking sizes.
fn residual(blocks: usize) -> String {
    let conv =
        "{stride = [1, 1], low = [1, 1], high = [1, 1], input_dilation = [1, 1], kernel_dilation = [1, 1]}";
    let mut body = String::new();
    for b in 0..blocks {
        let (size, x) = (16 + 8 * (blocks - b), format!("%x{b}"));
        let next = 16 + 8 * (blocks - b - 1);
        writeln!(
            body,
            "%a{b} = convolve {x}, %w {conv}\n%r{b} = relu %a{b}\n%b{b} = convolve %r{b}, %w {conv}"
        )
        .unwrap();
        writeln!(body, "%s{b} = add %b{b}, {x}\n%y{b} = relu %s{b}").unwrap();
        let step = "step = [1, 1, 1, 1]";
        writeln!(
            body,
            "%x{} = slice %y{b} {{start = [0, 0, 0, 0], size = [1, 8, {next}, {next}], {step}}}",
            b + 1
        )
        .unwrap();
        let _ = size;
    }
    let (first, last) = (16 + 8 * blocks, 16);
    format!(
        "graph @residual(%x0: f32[1, 8, {first}, {first}], %w: f32[8, 8, 3, 3]) -> (y: f32[1, 8, {last}, {last}]) {{
          {body} return %x{blocks} }}"
    )
}

/// Layers of attention-like products and two linear layers, with norms and residuals.
fn transformer(layers: usize) -> String {
    let mut body = String::new();
    for l in 0..layers {
        let (x, y) = (format!("%x{l}"), format!("%x{}", l + 1));
        writeln!(
            body,
            "%q{l} = contract {x}, %w {{batch = [], sum = [[1, 0]]}}
             %k{l} = contract {x}, %v {{batch = [], sum = [[1, 0]]}}
             %s{l} = contract %q{l}, %k{l} {{batch = [], sum = [[1, 1]]}}
             %p{l} = softmax %s{l} {{axis = 1}}
             %o{l} = contract %p{l}, {x} {{batch = [], sum = [[1, 0]]}}
             %r{l} = add %o{l}, {x}
             %h{l} = contract %r{l}, %u {{batch = [], sum = [[1, 0]]}}
             %g{l} = gelu %h{l}
             %d{l} = contract %g{l}, %t {{batch = [], sum = [[1, 0]]}}
             {y} = add %d{l}, %r{l}"
        )
        .unwrap();
    }
    format!(
        "graph @transformer(%x0: f32[N, 32], %w: f32[32, 32], %v: f32[32, 32], %u: f32[32, 128], %t: f32[128, 32])
          -> (y: f32[N, 32]) {{ {body} return %x{layers} }}"
    )
}

/// Products of earlier results, of any age.
fn dag(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut widths = vec![16];
    let (mut body, mut inputs) = (String::new(), String::new());
    for n in 1..40 {
        let from = n - 1 - rng.below(n.min(6));
        let width = 8 * (1 + rng.below(12));
        write!(inputs, ", %w{n}: f32[{}, {width}]", widths[from]).unwrap();
        writeln!(body, "%x{n} = contract %x{from}, %w{n} {{batch = [], sum = [[1, 0]]}}").unwrap();
        widths.push(width);
    }
    let sums: Vec<String> = (1..40).map(|n| format!("%s{n}")).collect();
    for (n, s) in sums.iter().enumerate() {
        writeln!(body, "{s} = reduce_sum %x{} {{axes = [0, 1]}}", n + 1).unwrap();
    }
    let outputs: Vec<String> = (1..40).map(|n| format!("y{n}: f32[]")).collect();
    format!(
        "graph @dag(%x0: f32[N, 16]{inputs}) -> ({}) {{ {body} return {} }}",
        outputs.join(", "),
        sums.join(", ")
    )
}

#[test]
fn arenas_are_within_a_twentieth_of_what_is_needed_at_once() {
    for (what, text) in [("residual", residual(6)), ("transformer", transformer(6))] {
        for n in [1, 17, 128] {
            let over = excess(&text, n);
            assert!(over <= 0.05, "{what}, N = {n}: {over}");
        }
    }
    let over: Vec<f64> = (0..12).map(|seed| excess(&dag(seed), 33)).collect();
    assert!(over.iter().all(|o| *o <= 0.05), "{over:?}");
}

#[test]
fn an_elementwise_step_writes_over_an_input_that_nobody_needs_any_more() {
    let kernel =
        "kernel @double { in x: f32[N] out y: f32[N] axes i for i in 0 to N { y[i] = x[i] + x[i] } }";
    let text = |steps: &str| {
        // Every output of a plan is written.
        let second = if steps.contains("-> z") { "output 1 z: 4*N" } else { "" };
        format!(
            "lawson-plan 1 plan @p where N >= 1 {{
               input 0 x: 4*N arena a: 4*N arena b: 4*N arena c: 4*N output 0 y: 4*N {second} {kernel} {steps} }}"
        )
    };
    let offsets = |steps: &str| {
        let plan = Plan::parse(&text(steps), None).unwrap_or_else(|e| panic!("{e}")).plan;
        let bound = bind(&plan, 64);
        assert!(check(&plan, Some(&bound)).errors.is_empty());
        (bound.offsets[1..4].to_vec(), bound.needed)
    };
    let chain = "launch 0 @double (x -> a) barrier launch 0 @double (a -> b) barrier launch 0 @double (b -> c) barrier
                 launch 0 @double (c -> y)";
    assert_eq!(offsets(chain), (vec![Some(0); 3], 256));
    // Somebody reads the input later, or at the same time.
    let later = format!("{chain} barrier launch 0 @double (a -> z)");
    let (places, needed) = offsets(&later);
    assert!(places[0] != places[1] && places[1] == places[2] && needed == 512, "{places:?}");
    let beside = chain.replace(
        "barrier launch 0 @double (b -> c)",
        "launch 0 @double (a -> z) barrier launch 0 @double (b -> c)",
    );
    let (places, needed) = offsets(&beside);
    assert!(places[0] != places[1] && places[1] == places[2] && needed == 512, "{places:?}");
    // The next iteration reads it again.
    let looped = "launch 0 @double (x -> a) barrier loop 3 times { launch 0 @double (a -> b) barrier launch 0 @double (b -> y) }";
    let (places, _) = offsets(looped);
    assert!(places[0] != places[1], "{places:?}");
}

fn kernel(body: &str) -> Kernel {
    let text = format!(
        "lawson-kernel 1 kernel @k where N >= 1 {{ in x: f32[N, 8] in z: f32[8] out y: f32[N, 8] axes i, j, k {body} }}"
    );
    Kernel::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn in_place_needs_each_element_read_by_the_iteration_that_writes_it_once() {
    let cases = [
        ("for i in 0 to N parallel { for j in 0 to 8 { y[i, j] = x[i, j] * z[j] } }", true),
        ("for i in 0 to N parallel { for j in 0 to 8 vector 8 { y[i, j] = x[i, j] + x[i, j] } }", true),
        (
            "for i in 0 to N parallel { for j in 0 to 4 { y[i, j] = x[i, j] } for k in 4 to 8 { y[i, k] = x[i, k] } }",
            true,
        ),
        // Read elsewhere.
        ("for i in 0 to N parallel { for j in 0 to 8 { y[i, j] = x[i, -j + 7] } }", false),
        ("for i in 0 to N parallel { for j in 0 to 8 { y[i, j] = x[i, j] + x[i, 0] } }", false),
        // Written twice: the second time it would read what the first has written.
        (
            "for i in 0 to N parallel { for j in 0 to 8 { for k in 0 to 2 { y[i, j] = x[i, j] + z[k] } } }",
            false,
        ),
        (
            "for i in 0 to N parallel { for j in 0 to 5 { y[i, j] = x[i, j] } for k in 4 to 8 { y[i, k] = x[i, k] } }",
            false,
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(in_place(&kernel(body), 0, 2), expected, "{body}");
        // The vector is not as large as the output.
        assert!(!in_place(&kernel(body), 1, 2), "{body}");
    }
    // The input is also where to read: an iteration may look at what another has written over.
    let indexed = "lawson-kernel 1 kernel @k where N >= 1 { in x: i32[N] in z: i32[8] out y: i32[N] axes i
      for i in 0 to N parallel { y[i] = x[i] + z[clamp(x[0], 8)] } }";
    assert!(!in_place(&Kernel::parse(indexed).unwrap(), 0, 2));
    let sum = "acc c: f32 = 0.0 identity 0.0 merge add
      for i in 0 to N parallel {
        accumulate c { for k in 0 to 8 { c += x[i, k] } }
        for j in 0 to 8 { y[i, j] = x[i, j] - c } }";
    assert!(!in_place(&kernel(sum), 0, 2));
}

//! The cost model from outside: what it counts, where it says data comes from, and which regime it names.
#![allow(clippy::unwrap_used)]

use lawson_graph::{Bindings, Code, Graph, Symbol};
use lawson_kernel::choose::{Freedom, choose};
use lawson_kernel::compile::compile;
use lawson_kernel::machine::{Home, Machine, Spread};
use lawson_kernel::math::Function;
use lawson_kernel::predict::{Form, Limit, Operation, Prediction, Regime, Setting, predict_plan};
use lawson_kernel::{Kernel, predict};

const PRODUCT: &str = "in a: f32[M, K]
in b: f32[K, N]
out c: f32[M, N]
axes i, j, k
acc s: f32 = 0.0 identity 0.0 merge add
for i in 0 to M { for j in 0 to N {
  accumulate s { for k in 0 to K { step s = fma(a[i, k], b[k, j], state(s)) } }
  c[i, j] = s
} }";

const SCALE: &str = "in x: f32[N]
out y: f32[N]
axes i
for i in 0 to N { y[i] = x[i] * 2.0 }";

fn kernel(body: &str) -> Kernel {
    Kernel::parse(&format!("lawson-kernel 1\nkernel @test {{\n{body}\n}}")).unwrap()
}

fn bindings(values: &[(&str, i64)]) -> Bindings {
    let mut bindings = Bindings::new();
    for (name, value) in values {
        bindings.define(Symbol::new(name), *value, "a test");
    }
    bindings
}

fn run(kernel: &Kernel, values: &[(&str, i64)], form: Form, threads: usize, since: &[f64]) -> Prediction {
    let (machine, bindings) = (Machine::default(), bindings(values));
    let setting =
        Setting { machine: &machine, bindings: &bindings, threads, form, since, started: 0.0, waits: false };
    predict(kernel, &setting).unwrap()
}

fn natural(body: &str, values: &[(&str, i64)]) -> Prediction {
    run(&kernel(body), values, Form::Natural, 1, &[])
}

fn scheduled(body: &str, values: &[(&str, i64)], since: &[f64]) -> Prediction {
    let mut k = kernel(body);
    choose(&mut k, &Machine::default(), &Freedom::default()).unwrap();
    run(&k, values, Form::Scheduled, 1, since)
}

#[test]
fn a_product_has_two_operations_a_term_and_touches_each_matrix_once() {
    let sizes = [("M", 96), ("N", 160), ("K", 64)];
    for p in [natural(PRODUCT, &sizes), scheduled(PRODUCT, &sizes, &[])] {
        assert_eq!(p.flops, 2.0 * 96.0 * 160.0 * 64.0);
        let read: Vec<f64> = p.arguments.iter().map(|a| a.read).collect();
        assert_eq!(read, [4.0 * 96.0 * 64.0, 4.0 * 64.0 * 160.0, 0.0]);
        assert_eq!(p.arguments[2].written, 4.0 * 96.0 * 160.0);
    }
}

#[test]
fn sizes_bound_later_predict_as_sizes_written_down() {
    let fixed = SCALE.replace('N', "5000");
    assert_eq!(natural(SCALE, &[("N", 5000)]), natural(&fixed, &[]));
}

#[test]
fn a_size_without_a_value_is_named() {
    let (machine, none) = (Machine::default(), Bindings::new());
    let setting = Setting {
        machine: &machine,
        bindings: &none,
        threads: 1,
        form: Form::Natural,
        since: &[],
        started: 0.0,
        waits: false,
    };
    let error = predict(&kernel(SCALE), &setting).unwrap_err();
    assert_eq!(error.code(), Code::Binding);
    assert!(error.message().contains("`N`"), "{error}");
}

#[test]
fn the_regime_follows_from_size_and_place() {
    let big = natural(SCALE, &[("N", 1 << 26)]);
    assert_eq!((big.regime, big.limit), (Regime::Memory, Limit::From(Home::Memory)));
    let near = [2048.0, 2048.0];
    let tiny = scheduled(SCALE, &[("N", 16)], &near);
    assert_eq!((tiny.regime, tiny.limit), (Regime::Overhead, Limit::Launch));
    let product = scheduled(PRODUCT, &[("M", 512), ("N", 512), ("K", 512)], &[]);
    assert_eq!(product.regime, Regime::Compute);
}

#[test]
fn what_was_touched_since_says_where_an_argument_is() {
    let m = Machine::default();
    let home = |since: f64| scheduled(SCALE, &[("N", 256)], &[since, since]).arguments[0].home;
    assert_eq!(home(m.l1 as f64 / 2.0), Home::L1);
    assert_eq!(home(m.l1 as f64 * 2.0), Home::L2);
    assert_eq!(home(m.l2 as f64 * 2.0), Home::L3);
    assert_eq!(home(m.l3 as f64 * 2.0), Home::Memory);
    let seconds = |since: f64| scheduled(SCALE, &[("N", 1 << 16)], &[since, since]).seconds;
    assert!(seconds(600e3) < seconds(4e6) && seconds(4e6) < seconds(1e9));
}

#[test]
fn two_threads_need_half_the_time_of_one_where_there_are_shares() {
    let mut machine = Machine::default();
    machine.rates = lawson_kernel::machine::Rates::estimate(3e9, 2);
    let mut k = kernel(&PRODUCT.replace("0 to M", "0 to 512").replace("[M,", "[512,"));
    choose(&mut k, &machine, &Freedom::default()).unwrap();
    let sizes = bindings(&[("N", 512), ("K", 512)]);
    let compute = |threads| {
        let setting = Setting {
            machine: &machine,
            bindings: &sizes,
            threads,
            form: Form::Scheduled,
            since: &[],
            started: 0.0,
            waits: true,
        };
        predict(&k, &setting).unwrap()
    };
    let (one, two) = (compute(1), compute(2));
    assert!((one.compute / two.compute - 2.0).abs() < 0.1, "{one:?}\n{two:?}");
    assert!(two.overhead >= one.overhead + machine.rates.barrier * 0.99);
}

#[test]
fn a_row_that_is_visited_twice_comes_from_memory_once() {
    let rows = "in x: f32[R, 1000]
out y: f32[R, 1000]
axes i, r, j
acc m: f32 = -inf identity -inf merge greater
for i in 0 to R {
  accumulate m { for r in 0 to 1000 { step m = greater(state(m), x[i, r]) } }
  for j in 0 to 1000 { y[i, j] = x[i, j] - m }
}";
    let p = scheduled(rows, &[("R", 4096)], &[]);
    assert_eq!(p.arguments[0].read, 4.0 * 4096.0 * 1000.0);
    assert_eq!(p.limit, Limit::From(Home::Memory));
    // Rows that do not fit into any cache come twice.
    let long = rows.replace("1000", "10000000");
    let (once, twice) = (natural(&long, &[("R", 1)]), scheduled(&long, &[("R", 1)], &[]));
    assert!(twice.memory > 1.2 * once.memory, "{} {}", twice.memory, once.memory);
}

#[test]
fn functions_cost_what_their_expansions_have() {
    let exp = Operation::function(Function::Exp);
    assert!(exp.flops > 6.0 && exp.flops < 40.0, "{exp:?}");
    assert!(Operation::function(Function::Tan).slots > exp.slots);
    let chain = |f: &str| scheduled(&SCALE.replace("x[i] * 2.0", f), &[("N", 2048)], &[9000.0; 2]).compute;
    assert!(chain("exp(x[i])") > 2.0 * chain("x[i] * 2.0"));
}

#[test]
fn plain_loops_are_slower_than_a_schedule() {
    let sizes = [("M", 64), ("N", 64), ("K", 64)];
    let plain = run(&kernel(PRODUCT), &sizes, Form::Scheduled, 1, &[]);
    assert!(plain.seconds > 10.0 * scheduled(PRODUCT, &sizes, &[]).seconds);
    assert_eq!(plain.limit, Limit::Chain);
}

#[test]
fn a_triangle_counts_half_of_the_square() {
    let square = "in x: f32[1024, 1024]
out y: f32[1024]
axes i, r
acc s: f32 = 0.0 identity 0.0 merge add
for i in 0 to 1024 {
  accumulate s { for r in 0 to 1024 { s += x[i, r] } }
  y[i] = s
}";
    let flops = |body: &str| run(&kernel(body), &[], Form::Scheduled, 1, &[]).flops;
    let ratio = flops(&square.replace("for r in 0 to 1024", "for r in 0 to i + 1")) / flops(square);
    assert!((ratio - 0.5).abs() < 0.01, "{ratio}");
}

/// Predictions of all steps of a graph's plan.
fn plan_predictions(text: &str, machine: &Machine) -> Vec<Prediction> {
    let graph = Graph::parse(text).unwrap();
    let plan = compile(&graph, machine).unwrap();
    let all = predict_plan(&plan, machine, &Bindings::new(), 1).unwrap();
    assert_eq!(all.len(), plan.steps.len());
    all.into_iter().flatten().collect()
}

/// Seconds of all steps of a graph's plan.
fn plan_seconds(text: &str) -> (usize, f64) {
    let all = plan_predictions(text, &Machine::default());
    (all.len(), all.iter().map(|p| p.seconds).sum())
}

#[test]
fn lanes_of_a_device_share_elements_and_no_recurrence() {
    let (lanes, in_flight) = (1024, 4);
    let machine =
        Machine { spread: Spread::Grid, lanes, fma_in_flight: in_flight, l3: 1 << 30, ..Machine::default() };
    let seconds = |n: i64, steps: i64| {
        let text = format!(
            "lawson 1 graph @f(%x: f32[{n}], %k: f32[{n}]) -> (y: f32[{n}]) {{
               %y = scan %x, %k {{carried = 1, scanned = 0, length = {steps}}} body(%s: f32[{n}], %c: f32[{n}]) {{
                 %t = sin %s
                 %u = mul %t, %c
                 return %u
               }}
               return %y
             }}"
        );
        let all = plan_predictions(&text, &machine);
        let [p] = all.as_slice() else { panic!("{} kernels", all.len()) };
        p.clone()
    };
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.05;
    // Idle lanes make nothing faster: a step waits for the one before it.
    let few = seconds(1, 1000);
    assert_eq!((few.regime, few.limit), (Regime::Compute, Limit::Chain));
    assert!(near(seconds(lanes, 1000).compute, few.compute));
    assert!(near(seconds(1, 5000).compute, 5.0 * few.compute));
    // Where others are in flight meanwhile, elements count.
    let many = seconds(64 * lanes, 1000);
    assert_eq!(many.limit, Limit::Arithmetic);
    assert!(near(many.compute, few.compute * 64.0 / in_flight as f64), "{many:?} {few:?}");
    assert!(near(seconds(128 * lanes, 1000).compute, 2.0 * many.compute));
}

#[test]
fn fusing_pays_where_data_is_far_and_little_where_it_is_near() {
    let graphs = |n: usize| {
        let fused = format!(
            "lawson 1 graph @f(%x: f32[{n}]) -> (y: f32[{n}]) {{ %a = abs %x %y = neg %a return %y }}"
        );
        // An output in between cannot be fused away.
        let one = format!("lawson 1 graph @f(%x: f32[{n}]) -> (y: f32[{n}]) {{ %y = abs %x return %y }}");
        (plan_seconds(&fused).1, 2.0 * plan_seconds(&one).1)
    };
    let (fused, apart) = graphs(1 << 24);
    assert!(apart > 1.8 * fused, "{apart} {fused}");
    let (fused, apart) = graphs(2048);
    assert!(apart - fused < 200e-9, "{apart} {fused}");
}

#[test]
fn predictions_do_not_change_from_one_call_to_the_next() {
    let sizes = [("M", 100), ("N", 33), ("K", 7)];
    assert_eq!(scheduled(PRODUCT, &sizes, &[]), scheduled(PRODUCT, &sizes, &[]));
}

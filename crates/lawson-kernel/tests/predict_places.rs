//! The cost model: where data and code are when a kernel starts, and what it takes until they have come.
#![allow(clippy::unwrap_used)]

use lawson_graph::Bindings;
use lawson_kernel::choose::{Freedom, choose};
use lawson_kernel::machine::{Home, LOST_AT, Machine, Rates};
use lawson_kernel::predict::{Form, Prediction, Setting, predict_plan};
use lawson_kernel::{Kernel, Plan, predict};

const MIB: f64 = 1024.0 * 1024.0;

fn kernel(body: &str) -> Kernel {
    Kernel::parse(&format!("lawson-kernel 1\nkernel @test {{\n{body}\n}}")).unwrap()
}

fn scheduled(body: &str, machine: &Machine, since: &[f64], started: f64) -> Prediction {
    let mut k = kernel(body);
    choose(&mut k, machine, &Freedom::default()).unwrap();
    let bindings = Bindings::new();
    let setting = Setting {
        machine,
        bindings: &bindings,
        threads: 1,
        form: Form::Scheduled,
        since,
        started,
        waits: false,
    };
    predict(&k, &setting).unwrap()
}

const SCALE: &str = "in x: f32[1048576]
out y: f32[1048576]
axes i
for i in 0 to 1048576 { y[i] = x[i] * 2.0 }";

/// A machine with a last level of 16 MiB.
fn machine() -> Machine {
    Machine::default()
}

#[test]
fn what_has_left_the_last_level_comes_from_memory_and_the_rest_from_there() {
    let mut m = machine();
    m.rates.lost = [0.0, 0.5, 0.5, 0.5, 1.0, 1.0];
    let of = |since: f64| scheduled(SCALE, &m, &[since; 2], 0.0).memory;
    // 4 MiB are read; 4 MiB are written, whose lines come, and go beside that.
    let bytes = 2.25 * 4.0 * MIB;
    let [near, far] = [m.rates.read[2].core, m.rates.read[3].core].map(|r| 1.0 / r);
    for (since, part) in [(4.0, 0.0), (6.0, 0.25), (8.0, 0.5), (20.0, 0.75), (40.0, 1.0)] {
        let expected = bytes * ((1.0 - part) * near + part * far);
        assert!((of(since * MIB) / expected - 1.0).abs() < 1e-6, "{since}: {} {expected}", of(since * MIB));
    }
}

#[test]
fn parts_that_are_lost_tell_how_much_was_touched() {
    let rates = Rates { lost: [0.0, 0.1, 0.2, 0.4, 0.8, 1.0], ..Rates::estimate(1e9, 1) };
    for (n, at) in LOST_AT.into_iter().enumerate() {
        assert!((rates.lost(at * 100.0, 100.0) - rates.lost[n]).abs() < 1e-12);
    }
    for bytes in [30.0, 60.0, 110.0, 190.0] {
        let lost = rates.lost(bytes, 100.0);
        assert!((rates.lost_after(lost, 100.0) - bytes).abs() < 1e-9, "{bytes}");
    }
    assert_eq!(rates.lost(201.0, 100.0), 1.0);
}

#[test]
fn code_that_has_left_the_caches_costs_a_cold_start() {
    let m = machine();
    let overhead = |started: f64| scheduled(SCALE, &m, &[0.0; 2], started).overhead;
    assert_eq!(overhead(0.0), m.rates.launch);
    assert_eq!(overhead(f64::INFINITY), m.rates.launch + m.rates.cold);
    let between = overhead(8.0 * MIB) - m.rates.launch;
    assert!(between > 0.0 && between < 0.5 * m.rates.cold, "{between}");
}

#[test]
fn rows_that_data_choose_are_loaded_as_vectors_and_elements_are_not() {
    let of = |from: &str| {
        let body = format!(
            "in ids: i64[256]\nin t: f32[256, 256]\nout y: f32[256, 256]\naxes i, j
             for i in 0 to 256 {{ for j in 0 to 256 {{ y[i, j] = t[{from}] }} }}"
        );
        scheduled(&body, &machine(), &[0.0; 3], 0.0).compute
    };
    let (copied, rows, elements) = (of("i, j"), of("clamp(ids[i], 256), j"), of("i, clamp(ids[j], 256)"));
    assert!(rows < 1.3 * copied, "{rows} {copied}");
    assert!(elements > 5.0 * copied, "{elements} {copied}");
}

/// The predictions for a plan of kernels that copy `SIZE` elements, with these buffers and steps.
fn plan(machine: &Machine, kernels: &[&str], rest: &str) -> Vec<Prediction> {
    let kernels: String = kernels.iter().map(|k| format!("kernel @k {{\n{k}\n}}\n")).collect();
    let (buffers, steps) = rest.split_once("steps").unwrap();
    let text = format!("lawson-plan 1\nplan @p {{\n{buffers}\n{kernels}\n{steps}\n}}");
    let plan = Plan::parse(&text, None).unwrap().plan;
    let all = predict_plan(&plan, machine, &Bindings::new(), 1).unwrap();
    all.into_iter().flatten().collect()
}

/// Copies 8 MiB of 16, from this element on.
fn half(first: usize) -> String {
    format!(
        "in x: f32[4194304]\nout y: f32[1]\naxes i\nacc s: f32 = 0.0 identity 0.0 merge add
         accumulate s {{ for i in 0 to 2097152 {{ s += x[i + {first}] }} }}\ny[0] = s"
    )
}

#[test]
fn parts_of_a_buffer_are_at_hand_only_if_they_were_touched() {
    let rest = "input 0 x: 16777216\noutput 0 a: 4\noutput 1 b: 4
        steps launch 0 @k (x -> a)\nlaunch 1 @k (x -> b)";
    let m = machine();
    let same = plan(&m, &[&half(0), &half(0)], rest);
    let other = plan(&m, &[&half(0), &half(2097152)], rest);
    // 8 MiB that were just read, and 8 MiB that were read before 8 others.
    assert!(other[1].memory > 1.05 * same[1].memory, "{} {}", other[1].memory, same[1].memory);
    let read: Vec<f64> = other.iter().map(|p| p.arguments[0].read).collect();
    assert_eq!(read, [8.0 * MIB; 2]);
}

/// Doubles 64 Ki elements.
const SMALL: &str = "in x: f32[65536]\nout y: f32[65536]\naxes i
    for i in 0 to 65536 { y[i] = x[i] * 2.0 }";
const TWO: &str = "input 0 x: 262144\narena a: 262144 at 0\noutput 0 y: 262144
    steps launch 0 @k (x -> a)\nbarrier\nlaunch 1 @k (a -> y)";

#[test]
fn what_was_stored_past_the_caches_is_in_memory() {
    let streamed = SMALL.replace("y[i] =", "stream y[i] =");
    let home = |first: &str| plan(&machine(), &[first, SMALL], TWO)[1].arguments[0].home;
    assert_eq!((home(SMALL), home(&streamed)), (Home::L2, Home::Memory));
}

#[test]
fn others_take_what_is_not_touched_for_long() {
    let mut m = machine();
    let home = |m: &Machine| plan(m, &[SMALL, SMALL], TWO)[1].arguments[0].home;
    assert_eq!(home(&m), Home::L2);
    m.rates.others = 1e15;
    assert_eq!(home(&m), Home::Memory);
}

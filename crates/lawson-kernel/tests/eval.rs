//! The direct evaluator: what it computes, and what it refuses to let a kernel do.
#![allow(clippy::unwrap_used)]

use lawson_graph::{DType, Dim, Facts, Symbol};
use lawson_kernel::build::{accumulate, for_each, loop_of, step, store};
use lawson_kernel::eval::{self, Coverage, Options, Order};
use lawson_kernel::{BufferId, Condition, Expr, Guard, Index, Kernel, Kind, Layout, Level, Scalar, State};

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn run(kernel: &Kernel, buffers: &mut [Vec<u8>]) -> Result<(), String> {
    eval::run(kernel, &[], buffers, &Options::default()).map_err(|e| e.to_string())
}

/// `y[i] = x[i + shift]` for i below `n`, in a loop of a kind.
fn copy(n: i64, shift: i64, kind: Kind) -> Kernel {
    let mut k = Kernel::new("copy", Facts::new());
    let (x, y) = (k.input("x", DType::F32, &[Dim::from(n)]), k.output("y", DType::F32, &[Dim::from(n)]));
    let i = k.add_axis("i");
    let e = k.load(x, vec![Index::axis(i) + shift]);
    k.body = vec![loop_of(i, 0, n, 1, kind, vec![store(y, vec![Index::axis(i)], e)])];
    k
}

#[test]
fn a_load_outside_its_buffer_is_named_with_its_place() {
    let mut buffers = [floats(&[1.0, 2.0]), vec![0; 8]];
    let error = run(&copy(2, 1, Kind::Serial), &mut buffers).unwrap_err();
    assert!(error.contains("load of `x` at [2]: index 0 lies outside 0..2, where i = 1"), "{error}");
}

#[test]
fn a_guarded_load_reads_only_where_its_conditions_hold() {
    let mut k = copy(2, 1, Kind::Serial);
    let nine = k.f32(9.0);
    let i = Index::axis(lawson_kernel::AxisId(0));
    let condition = Condition { index: i.clone() + 1, end: Dim::from(2) };
    let guard = Guard { conditions: vec![condition], otherwise: nine };
    let e = k.load_guarded(BufferId(0), vec![i.clone() + 1], guard);
    k.body = vec![for_each(lawson_kernel::AxisId(0), 2, vec![store(BufferId(1), vec![i], e)])];
    let mut buffers = [floats(&[1.0, 2.0]), vec![0; 8]];
    run(&k, &mut buffers).unwrap();
    assert_eq!(buffers[1], floats(&[2.0, 9.0]));
}

#[test]
fn an_output_that_is_not_written_whole_is_an_error_where_it_must_be() {
    let mut k = copy(3, 0, Kind::Serial);
    if let lawson_kernel::Node::For(f) = &mut k.body[0] {
        f.end = Index::from(2);
    }
    let mut buffers = [floats(&[1.0, 2.0, 3.0]), vec![0; 12]];
    let error = run(&k, &mut buffers).unwrap_err();
    assert!(error.contains("buffer `y` at [2]: the kernel never writes it"), "{error}");
    let partial = Options { coverage: Coverage::Partial, ..Options::default() };
    eval::run(&k, &[], &mut buffers, &partial).unwrap();
    assert_eq!(buffers[1], floats(&[1.0, 2.0, 0.0]));
}

#[test]
fn scratch_does_not_outlive_an_iteration_of_a_parallel_loop() {
    // s is written in the first iteration only, and read in all.
    let build = |kind| {
        let mut k = Kernel::new("stale", Facts::new());
        let y = k.output("y", DType::F32, &[Dim::from(2)]);
        let s = k.scratch("s", DType::F32, &[Dim::from(1)], Level::L1);
        let (i, j) = (k.add_axis("i"), k.add_axis("j"));
        let one = k.f32(1.0);
        let first = loop_of(j, i, 1, 1, Kind::Serial, vec![store(s, vec![Index::from(0)], one)]);
        let e = k.load(s, vec![Index::from(0)]);
        k.body = vec![loop_of(i, 0, 2, 1, kind, vec![first, store(y, vec![Index::axis(i)], e)])];
        k
    };
    run(&build(Kind::Serial), &mut [vec![0; 8]]).unwrap();
    let error = run(&build(Kind::Parallel), &mut [vec![0; 8]]).unwrap_err();
    assert!(error.contains("load of `s` at [0]: it was written in another iteration"), "{error}");
}

#[test]
fn what_nobody_wrote_cannot_be_read() {
    let mut k = Kernel::new("unset", Facts::new());
    let y = k.output("y", DType::F32, &[]);
    let s = k.scratch("s", DType::F32, &[], Level::L1);
    let e = k.load(s, vec![]);
    k.body = vec![store(y, vec![], e)];
    let error = run(&k, &mut [vec![0; 4]]).unwrap_err();
    assert!(error.contains("load of `s` at []: nobody wrote it"), "{error}");
}

#[test]
fn parallel_iterations_may_not_write_one_element() {
    let mut k = copy(2, 0, Kind::Parallel);
    let e = k.load(BufferId(0), vec![Index::from(0)]);
    let i = lawson_kernel::AxisId(0);
    k.body = vec![loop_of(i, 0, 2, 1, Kind::Parallel, vec![store(BufferId(1), vec![Index::from(0)], e)])];
    let error = run(&k, &mut [floats(&[1.0, 2.0]), vec![0; 8]]).unwrap_err();
    assert!(error.contains("another iteration of the parallel loop writes it too"), "{error}");
}

#[test]
fn what_follows_a_parallel_loop_sees_what_it_wrote() {
    let mut k = copy(2, 0, Kind::Parallel);
    let (y, j) = (BufferId(1), k.add_axis("j"));
    let e = k.load(y, vec![Index::axis(j)]);
    let double = k.sum(e, e);
    let second = loop_of(j, 0, 2, 1, Kind::Parallel, vec![store(y, vec![Index::axis(j)], double)]);
    k.body.push(second);
    let mut buffers = [floats(&[1.0, 2.0]), vec![0; 8]];
    run(&k, &mut buffers).unwrap();
    assert_eq!(buffers[1], floats(&[2.0, 4.0]));
}

#[test]
fn running_backwards_shows_a_wrong_vector_loop() {
    // y[i + 1] = y[i] + 1 depends on the order.
    let mut k = Kernel::new("chain", Facts::new());
    let y = k.output("y", DType::F32, &[Dim::from(4)]);
    let i = k.add_axis("i");
    let (zero, one) = (k.f32(0.0), k.f32(1.0));
    let before = k.load(y, vec![Index::axis(i)]);
    let next = k.sum(before, one);
    let chain = store(y, vec![Index::axis(i) + 1], next);
    k.body = vec![store(y, vec![Index::from(0)], zero), loop_of(i, 0, 3, 1, Kind::Vector(4), vec![chain])];
    let mut buffers = [vec![0; 16]];
    run(&k, &mut buffers).unwrap();
    assert_eq!(buffers[0], floats(&[0.0, 1.0, 2.0, 3.0]));
    let reverse = Options { order: Order::Reverse, ..Options::default() };
    assert!(eval::run(&k, &[], &mut buffers, &reverse).is_err());
}

#[test]
fn sums_are_rounded_at_every_step_and_layouts_say_where_elements_lie() {
    let mut k = Kernel::new("sum", Facts::new());
    let dims = [Dim::from(2), Dim::from(3)];
    let x = k.input("x", DType::F32, &dims);
    k.buffers[0].layout = Layout::panels(&dims, 1, 2, &[0]);
    let y = k.output("y", DType::F32, &[Dim::from(2)]);
    let (i, r) = (k.add_axis("i"), k.add_axis("r"));
    let zero = k.f32(0.0);
    let acc = k.sum_acc("s", DType::F32, zero);
    let (state, e) = (k.state(acc), k.load(x, vec![Index::axis(i), Index::axis(r)]));
    let next = k.sum(state, e);
    let result = k.result(acc);
    let sum = accumulate(acc, vec![for_each(r, 3, vec![step(acc, next)])]);
    k.body = vec![for_each(i, 2, vec![sum, store(y, vec![Index::axis(i)], result)])];
    // Panels of 2 along the columns: [[x00 x01] [x10 x11]] [[x02 -] [x12 -]].
    let panels = [16777216.0, 1.0, 1.0, 2.0, 1.0, 99.0, 3.0, 99.0];
    let mut buffers = [floats(&panels), vec![0; 8]];
    run(&k, &mut buffers).unwrap();
    assert_eq!(buffers[1], floats(&[16777216.0, 6.0]));
}

#[test]
fn running_backwards_shows_a_wrong_identity() {
    // A product in a vector loop: each lane begins with the identity.
    let build = |identity| {
        let mut k = Kernel::new("product", Facts::new());
        let (x, y) = (k.input("x", DType::F32, &[Dim::from(3)]), k.output("y", DType::F32, &[]));
        let r = k.add_axis("r");
        let one = k.f32(1.0);
        let state = State { dtype: DType::F32, init: one };
        let acc = k.add_acc("p", vec![state], vec![Scalar::f32(identity)], |k, id| {
            let (a, b) = (k.add(Expr::State(id, 0)), k.add(Expr::Other(id, 0)));
            vec![k.product(a, b)]
        });
        let (state, e) = (k.state(acc), k.load(x, vec![Index::axis(r)]));
        let next = k.product(state, e);
        let result = k.result(acc);
        let lanes = loop_of(r, 0, 3, 1, Kind::Vector(4), vec![step(acc, next)]);
        k.body = vec![accumulate(acc, vec![lanes]), store(y, vec![], result)];
        k
    };
    let reverse = Options { order: Order::Reverse, ..Options::default() };
    let mut buffers = [floats(&[2.0, 3.0, 5.0]), vec![0; 4]];
    eval::run(&build(1.0), &[], &mut buffers, &reverse).unwrap();
    assert_eq!(buffers[1], floats(&[30.0]));
    eval::run(&build(0.0), &[], &mut buffers, &Options::default()).unwrap();
    assert_eq!(buffers[1], floats(&[30.0]));
    eval::run(&build(0.0), &[], &mut buffers, &reverse).unwrap();
    assert_eq!(buffers[1], floats(&[0.0]));
}

/// Where an element of something empty would lie may be computed, if another value is chosen in the end.
#[test]
fn an_empty_dimension_divides_as_one() {
    let mut k = Kernel::new("padded", Facts::new());
    let n = Dim::symbol("N");
    let y = k.output("y", DType::F32, &[n.clone() + 1]);
    let i = k.add_axis("i");
    let index = |k: &mut Kernel, i: Index| k.add(Expr::Index(i, DType::F32));
    let inside = index(&mut k, Index::axis(i).floor_div(n.clone()) + Index::axis(i).modulo(n.clone()));
    let (at, end, five) = (index(&mut k, Index::axis(i)), index(&mut k, Index::from(n.clone())), k.f32(5.0));
    let is_inside = k.compare(lawson_graph::op::CompareKind::Lt, at, end);
    let e = k.add(Expr::Select(is_inside, inside, five));
    k.body = vec![for_each(i, n + 1, vec![store(y, vec![i.into()], e)])];
    for (n, truth) in [(0, vec![5.0]), (2, vec![0.0, 1.0, 5.0])] {
        let mut buffers = [vec![0; 4 * truth.len()]];
        eval::run(&k, &[(Symbol::new("N"), n)], &mut buffers, &Options::default()).unwrap();
        assert_eq!(buffers[0], floats(&truth));
    }
}

//! Programs that are run in a loop: the same bits as one run after another, whether all runs are one kernel or not.

#[path = "../loops/mod.rs"]
mod loops;

use super::{compile_on, graph, inputs, tensors, there};
use lawson::{Code, CompileOptions, DType, Program, Target, Team, TensorView, TensorViewMut};
use loops::{COUNTED, ROUNDED, SPRING, TURNED, one_by_one, ways};

fn check(text: &str, sizes: &[(&str, i64)], fed: &[(usize, usize)]) {
    if !there() {
        return;
    }
    let given = tensors(&inputs(text, sizes, 7));
    for threads in 1..=2 {
        let team = Team::new(threads).unwrap();
        let program = compile_on(text, &team).unwrap();
        let mut session = program.session();
        // Also the same number again, and numbers that go up and down.
        for times in [1, 2, 3, 100, 100, 7, 2] {
            let expected = one_by_one(&program, &given, fed, times);
            let found = session.run_loop(&given, times).unwrap();
            assert!(found == expected, "{times} times, {threads} threads, {sizes:?}\n{text}");
        }
        assert_eq!(session.run_loop(&given, 0).unwrap_err().code(), Code::Usage);
    }
}

#[test]
fn loops_whose_outputs_are_all_state() {
    for n in [1, 16, 37, 5000] {
        check(SPRING, &[("N", n)], &[(0, 0), (1, 1)]);
    }
}

#[test]
fn loops_with_outputs_that_are_no_state() {
    for (r, n) in [(1, 1), (3, 33), (2, 4000)] {
        check(COUNTED, &[("R", r), ("N", n)], &[(1, 0), (2, 1)]);
    }
}

#[test]
fn loops_whose_elements_need_each_other() {
    check(TURNED, &[("N", 1001)], &[(0, 0)]);
}

#[test]
fn loops_of_narrow_floats_round_after_every_run() {
    for dtype in ["f16", "bf16", "f64"] {
        check(&ROUNDED.replace("DTYPE", dtype), &[("N", 301)], &[(0, 0)]);
    }
}

#[test]
fn loops_of_integers_wrap_after_every_run() {
    for dtype in ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"] {
        check(&ROUNDED.replace("DTYPE", dtype), &[("N", 301)], &[(0, 0)]);
    }
}

/// How many steps the plan has that does 100 runs at once on so many elements, if there is one.
fn at_once(program: &Program, text: &str, sizes: &[(&str, i64)]) -> Option<usize> {
    let mut session = program.session();
    assert!(session.whole_loop(100).is_none(), "before there was a loop");
    session.run_loop(&tensors(&inputs(text, sizes, 1)), 100).unwrap();
    assert!(session.whole_loop(99).is_none(), "a loop of another length");
    let whole = session.whole_loop(100)?;
    assert_eq!(whole.runs, 1);
    Some(whole.plan.steps.len())
}

#[test]
fn what_a_loop_became_is_told() {
    if !there() {
        return;
    }
    let team = Team::new(1).unwrap();
    let steps = |text: &str, sizes: &[(&str, i64)]| at_once(&compile_on(text, &team).unwrap(), text, sizes);
    assert_eq!(steps(SPRING, &[("N", 5000)]), Some(1));
    // A run for itself gives the outputs that are no state.
    assert_eq!(steps(COUNTED, &[("R", 5), ("N", 1000)]), Some(2));
    assert_eq!(steps(TURNED, &[("N", 5000)]), None);
    assert_eq!(steps(&ROUNDED.replace("DTYPE", "u8"), &[("N", 5000)]), Some(1));
    assert_eq!(steps(&ROUNDED.replace("DTYPE", "bf16"), &[("N", 5000)]), None);
}

#[test]
fn sizes_may_change_between_loops() {
    if !there() {
        return;
    }
    let team = Team::new(2).unwrap();
    let program = compile_on(SPRING, &team).unwrap();
    let mut session = program.session();
    for n in [64, 65, 0, 64, 1] {
        let given = tensors(&inputs(SPRING, &[("N", n)], 3));
        let expected = one_by_one(&program, &given, &[(0, 0), (1, 1)], 9);
        assert!(session.run_loop(&given, 9).unwrap() == expected, "{n}");
    }
}

#[test]
fn loops_in_the_callers_memory_leave_the_inputs_alone() {
    if !there() {
        return;
    }
    let team = Team::new(2).unwrap();
    for (text, sizes, outputs) in [
        (SPRING, vec![("N", 100)], vec![(DType::F32, vec![100]); 2]),
        (
            COUNTED,
            vec![("R", 2), ("N", 50)],
            vec![(DType::Bool, vec![2, 50]), (DType::F32, vec![2, 50]), (DType::I32, vec![2, 50])],
        ),
    ] {
        let given = inputs(text, &sizes, 5);
        let mut session = compile_on(text, &team).unwrap().session();
        let expected = session.run_loop(&tensors(&given), 5).unwrap();
        let mut bytes: Vec<Vec<u8>> =
            outputs.iter().map(|(d, n)| vec![0; d.bytes_for(n.iter().product()).unwrap()]).collect();
        let views: Vec<TensorView<'_>> =
            given.iter().map(|t| TensorView::new(t.dtype(), t.sizes(), t.bytes()).unwrap()).collect();
        for _ in 0..2 {
            let mut taken: Vec<TensorViewMut<'_>> = outputs
                .iter()
                .zip(&mut bytes)
                .map(|((d, n), b)| TensorViewMut::new(*d, n, b).unwrap())
                .collect();
            session.run_loop_into(&views, &mut taken, 5).unwrap();
            for (b, t) in bytes.iter().zip(&expected) {
                assert_eq!(&b[..], &t.to_host().unwrap().bytes()[..]);
            }
        }
    }
}

#[test]
fn passes_do_not_decide_whether_a_loop_is_one_kernel() {
    if !there() {
        return;
    }
    let sizes = [("N", 5000)];
    for (passes, fusion, whole) in ways() {
        let told = format!("{passes:?}, {fusion:?}");
        let options = CompileOptions {
            target: Target::Cpu,
            team: Some(Team::new(1).unwrap()),
            passes,
            fusion,
            ..CompileOptions::default()
        };
        let program = Program::compile(graph(SPRING), &options).unwrap();
        let given = tensors(&inputs(SPRING, &sizes, 1));
        let expected = one_by_one(&program, &given, &[(0, 0), (1, 1)], 30);
        assert!(program.session().run_loop(&given, 30).unwrap() == expected, "{told}");
        assert_eq!(at_once(&program, SPRING, &sizes), whole.then_some(1), "{told}");
    }
}

#[cfg(feature = "wgpu")]
#[test]
fn runs_that_are_asked_for_one_by_one_stay_runs() {
    use lawson::wgpu::Pace;
    if !there() {
        return;
    }
    let program = compile_on(SPRING, &Team::new(1).unwrap()).unwrap();
    let given = tensors(&inputs(SPRING, &[("N", 5000)], 1));
    let mut session = program.session();
    let whole = session.run_loop(&given, 100).unwrap();
    assert!(session.whole_loop(100).is_some());
    session.set_pace(Pace::Apart);
    assert!(session.run_loop(&given, 100).unwrap() == whole);
    assert!(session.whole_loop(100).is_none());
}

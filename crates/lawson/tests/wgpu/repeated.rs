//! Programs that are run in a loop: the same bits as one run after another, and how many launches that takes.

#[path = "../loops/mod.rs"]
mod loops;

use super::{parse, sizes_of};
use lawson::graph::random::{Elements, Rng, random_inputs};
use lawson::wgpu::{Counts, Device, Pace};
use lawson::{
    Code, CompileOptions, DType, Limits, Program, Session, Target, Tensor, TensorView, TensorViewMut,
};
use loops::{COUNTED, ROUNDED, SPRING, TURNED, one_by_one, ways};

/// A program on a device of its own, whose counts are nobody else's.
fn compile(text: &str) -> (Program, Device) {
    compile_with(text, CompileOptions::default())
}

fn compile_with(text: &str, options: CompileOptions) -> (Program, Device) {
    let device = Device::preferred().unwrap_or_else(|e| panic!("{e}"));
    let options = CompileOptions { target: Target::Wgpu, device: Some(device.clone()), ..options };
    (Program::compile(parse(text), &options).unwrap_or_else(|e| panic!("{e}")), device)
}

fn inputs(text: &str, sizes: &[(&str, i64)], seed: u64) -> Vec<Tensor> {
    let (graph, mut rng) = (parse(text), Rng::new(seed));
    let bindings = sizes_of(&graph, sizes, &mut rng);
    let values = random_inputs(&mut rng, &graph, &bindings, Elements::Tame).unwrap();
    values.iter().map(|v| v.as_tensor().unwrap().clone().into()).collect()
}

/// Runs a loop; gives its results and what the device had to do for them.
fn counted(session: &mut Session, device: &Device, given: &[Tensor], times: u64) -> (Vec<Tensor>, Counts) {
    let before = device.counts();
    let results = session.run_loop(given, times).unwrap_or_else(|e| panic!("{e}"));
    (results, device.counts().since(before))
}

fn bytes(tensors: &[Tensor]) -> u64 {
    tensors.iter().map(|t| t.to_host().unwrap().bytes().len() as u64).sum()
}

/// Loops of several lengths on inputs of several sizes, in one session. What a loop of so many runs launches is said by `launches`; it is one
/// submission, and only inputs and outputs go to and fro.
fn check(text: &str, sizes: &[&[(&str, i64)]], fed: &[(usize, usize)], launches: fn(u64) -> u64) {
    let (program, device) = compile(text);
    let mut session = program.session();
    for sizes in sizes {
        let given = inputs(text, sizes, 7);
        // Also the same number again, and numbers that go up and down.
        for times in [1, 2, 3, 100, 100, 7, 2] {
            let expected = one_by_one(&program, &given, fed, times);
            let (found, counts) = counted(&mut session, &device, &given, times);
            assert!(found == expected, "{times} times, {sizes:?}\n{text}");
            assert_eq!((counts.launches, counts.submissions), (launches(times), 1), "{times}, {sizes:?}");
            assert_eq!((counts.uploaded, counts.downloaded), (bytes(&given), bytes(&found)), "{times}");
        }
    }
    assert_eq!(session.run_loop(&inputs(text, sizes[0], 7), 0).unwrap_err().code(), Code::Usage);
}

#[test]
fn loops_whose_outputs_are_all_state_are_one_launch() {
    check(
        SPRING,
        &[&[("N", 1)], &[("N", 16)], &[("N", 37)], &[("N", 5000)], &[("N", 16)]],
        &[(0, 0), (1, 1)],
        |_| 1,
    );
}

#[test]
fn outputs_that_are_no_state_take_a_launch_more() {
    check(
        COUNTED,
        &[&[("R", 1), ("N", 1)], &[("R", 3), ("N", 33)], &[("R", 2), ("N", 4000)]],
        &[(1, 0), (2, 1)],
        |times| times.min(2),
    );
}

#[test]
fn loops_whose_elements_need_each_other_are_launched_run_by_run() {
    check(TURNED, &[&[("N", 1001)]], &[(0, 0)], |times| times);
}

#[test]
fn loops_of_narrow_floats_round_after_every_run() {
    for dtype in ["f16", "bf16"] {
        check(&ROUNDED.replace("DTYPE", dtype), &[&[("N", 301)]], &[(0, 0)], |times| times);
    }
}

#[test]
fn loops_of_integers_wrap_after_every_run() {
    for dtype in ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"] {
        check(&ROUNDED.replace("DTYPE", dtype), &[&[("N", 301)]], &[(0, 0)], |_| 1);
    }
}

#[test]
fn what_shaders_do_not_compute_is_run_by_run() {
    let text = ROUNDED.replace("DTYPE", "f64");
    let (program, _) = compile(&text);
    let given = inputs(&text, &[("N", 33)], 3);
    let mut session = program.session();
    assert!(session.run_loop(&given, 5).unwrap() == one_by_one(&program, &given, &[(0, 0)], 5));
    assert!(session.whole_loop(5).is_none());
}

#[test]
fn loops_over_no_elements_launch_nothing() {
    let (program, device) = compile(SPRING);
    let mut session = program.session();
    let given = inputs(SPRING, &[("N", 0)], 3);
    for times in [1, 2, 50] {
        let (found, counts) = counted(&mut session, &device, &given, times);
        assert_eq!((found[0].sizes(), found[1].sizes(), counts.launches), (&[0][..], &[0][..], 0));
    }
}

/// Numbers whose next one is the host's to compute, too.
const LONG: &str =
    "graph @long(%x: u32[N], %v: f32[N], %i: i32[N]) -> (x: u32[N] in %x, v: f32[N] in %v, i: i32[N] in %i) {
  %a: u32[] = constant 1664525
  %c: u32[] = constant 1013904223
  %as = broadcast %a {shape = [N], axes = []}
  %cs = broadcast %c {shape = [N], axes = []}
  %m = mul %x, %as
  %y = add %m, %cs
  %f: f32[] = constant -0.999
  %fs = broadcast %f {shape = [N], axes = []}
  %w = mul %v, %fs
  %h: f32[] = constant 0.125
  %hs = broadcast %h {shape = [N], axes = []}
  %u = add %w, %hs
  %one: i32[] = constant 1
  %ones = broadcast %one {shape = [N], axes = []}
  %j = add %i, %ones
  return %y, %u, %j }";

/// Long loops are cut, whether the device or the time that it may take says so, and nothing of them is lost or done twice.
#[test]
fn long_loops_are_several_launches_each_waited_for() {
    let (program, device) = compile(LONG);
    let cut = device.capabilities().unwrap().max_iterations;
    let mut session = program.session();
    let (x, v) = ([1u32, 77, 5, u32::MAX, 0, 3, 12], [0.5f32, -3.0, 1e10, 0.0, 1.0, 2.5, -0.25]);
    let tensor = |x: &[u32]| Tensor::from_slice(&[7], x).unwrap();
    let given = [
        tensor(&x),
        Tensor::from_slice(&[7], &v).unwrap(),
        Tensor::from_slice(&[7], &[0i32, 1, 2, 3, 4, 5, 6]).unwrap(),
    ];
    // One that is cut evenly or not, and one that is not cut.
    for times in [20_000u64, 200_001, 131_072, 10] {
        let (found, counts) = counted(&mut session, &device, &given, times);
        let (mut x, mut v) = (x, v);
        for _ in 0..times {
            x = x.map(|x| x.wrapping_mul(1664525).wrapping_add(1013904223));
            v = v.map(|v| v * -0.999 + 0.125);
        }
        assert_eq!(found[0].to_vec::<u32>().unwrap(), x, "{times}");
        assert_eq!(found[1].to_vec::<f32>().unwrap(), v, "{times}");
        let steps: Vec<i32> = (0..7).map(|i| i + times as i32).collect();
        assert_eq!(found[2].to_vec::<i32>().unwrap(), steps, "{times}");
        let whole = session.whole_loop(times).unwrap();
        assert_eq!((counts.launches, counts.submissions), (whole.runs, whole.runs), "{times}");
        let must_be_cut = cut.is_some_and(|most| times >= u64::from(most));
        assert!(whole.runs > 1 || !must_be_cut, "{times}, of which {cut:?} are done at once");
        assert!(whole.runs == 1 || times > 10_000, "{times} are {}", whole.runs);
    }
}

#[test]
fn a_loop_that_would_keep_a_device_busy_for_long_is_cut() {
    let (program, device) = compile(LONG);
    let mut session = program.session();
    let given = inputs(LONG, &[("N", 1)], 1);
    // By the model a step takes some nanoseconds, and a launch a fiftieth of a second at most.
    let times = 30_000_000;
    let (_, counts) = counted(&mut session, &device, &given, times);
    let whole = session.whole_loop(times).unwrap();
    assert!(whole.runs >= 5, "{}", whole.runs);
    assert_eq!((counts.launches, counts.submissions), (whole.runs, whole.runs));
}

#[test]
fn a_pace_that_is_asked_for_is_kept() {
    let (program, device) = compile(SPRING);
    let given = inputs(SPRING, &[("N", 65)], 2);
    let mut session = program.session();
    let (whole, once) = counted(&mut session, &device, &given, 9);
    assert_eq!((once.launches, once.submissions), (1, 1));
    for (pace, submissions) in [(Pace::Apart, 1), (Pace::EachIteration, 9)] {
        session.set_pace(pace);
        let (paced, each) = counted(&mut session, &device, &given, 9);
        assert!(whole == paced);
        assert_eq!((each.launches, each.submissions), (9, submissions), "{pace:?}");
        assert!(session.whole_loop(9).is_none());
    }
    session.set_pace(Pace::Whole);
    assert_eq!(session.whole_loop(9).unwrap().runs, 1);
}

#[test]
fn passes_do_not_decide_whether_a_loop_is_one_launch() {
    let given = inputs(SPRING, &[("N", 65)], 2);
    for (passes, fusion, whole) in ways() {
        let told = format!("{passes:?}, {fusion:?}");
        let (program, device) =
            compile_with(SPRING, CompileOptions { passes, fusion, ..CompileOptions::default() });
        let expected = one_by_one(&program, &given, &[(0, 0), (1, 1)], 6);
        let (found, counts) = counted(&mut program.session(), &device, &given, 6);
        assert!(found == expected, "{told}");
        assert_eq!(counts.launches == 1, whole, "{told}: {}", counts.launches);
    }
}

#[test]
fn what_is_placed_by_hand_is_run_where_it_was_placed() {
    let text = "graph @f(%x: f32[N], %k: f32[N]) -> (x: f32[N] in %x) {
        %y: f32[N] @device(\"cpu\") = mul %x, %k
        %z: f32[N] @device(\"gpu\") = add %y, %k
        return %z }";
    let (program, _) = compile(text);
    let given = inputs(text, &[("N", 33)], 2);
    let mut session = program.session();
    assert!(session.run_loop(&given, 6).unwrap() == one_by_one(&program, &given, &[(0, 0)], 6));
    assert!(session.whole_loop(6).is_none());
    // Also where all of it is placed on the device.
    let text = text.replace("cpu", "gpu");
    let (program, device) = compile(&text);
    let (_, counts) = counted(&mut program.session(), &device, &given, 6);
    assert_eq!(counts.launches, 6);
}

#[test]
fn loops_survive_that_their_device_is_lost() {
    for (text, sizes, fed) in [
        (SPRING, &[("N", 100)][..], &[(0, 0), (1, 1)][..]),
        (COUNTED, &[("R", 3), ("N", 20)], &[(1, 0), (2, 1)]),
    ] {
        let (program, device) = compile(text);
        let given = inputs(text, sizes, 4);
        let expected = one_by_one(&program, &given, fed, 8);
        let mut session = program.session();
        // Lost before the loop was ever asked for, and then after each.
        for times in [8, 8, 3, 8] {
            device.destroy();
            let (found, counts) = counted(&mut session, &device, &given, times);
            assert!(times != 8 || found == expected, "{text}");
            assert_eq!(counts.submissions, 1);
            assert!(session.whole_loop(times).is_some());
        }
        // A session of the same program that has not run yet.
        device.destroy();
        assert!(program.session().run_loop(&given, 8).unwrap() == expected);
    }
}

#[test]
fn what_there_is_no_memory_for_is_run_by_run() {
    let (program, device) = compile(COUNTED);
    let given = inputs(COUNTED, &[("R", 10), ("N", 100)], 4);
    let mut session = program.session();
    // 8,004 bytes come in and 9,000 go out; the state before the last run lies in between.
    session.set_limits(Limits { max_bytes: Some(18_000), ..Limits::default() });
    let (found, counts) = counted(&mut session, &device, &given, 6);
    assert_eq!(counts.launches, 6);
    session.set_limits(Limits { max_bytes: Some(30_000), ..Limits::default() });
    let (again, counts) = counted(&mut session, &device, &given, 6);
    assert!(found == again);
    assert_eq!(counts.launches, 2);
    session.set_limits(Limits { max_bytes: Some(10_000), ..Limits::default() });
    assert_eq!(session.run_loop(&given, 6).unwrap_err().code(), Code::Budget);
}

#[test]
fn loops_in_the_callers_memory_leave_the_inputs_alone() {
    for (text, sizes, outputs) in [
        (SPRING, vec![("N", 101)], vec![(DType::F32, vec![101]); 2]),
        (
            COUNTED,
            vec![("R", 3), ("N", 51)],
            vec![(DType::Bool, vec![3, 51]), (DType::F32, vec![3, 51]), (DType::I32, vec![3, 51])],
        ),
    ] {
        let (program, device) = compile(text);
        let given: Vec<_> = inputs(text, &sizes, 5).iter().map(|t| t.to_host().unwrap()).collect();
        let tensors: Vec<Tensor> = given.iter().cloned().map(Tensor::from).collect();
        let mut session = program.session();
        let expected = session.run_loop(&tensors, 5).unwrap();
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
            let before = device.counts();
            session.run_loop_into(&views, &mut taken, 5).unwrap();
            assert!(device.counts().since(before).launches <= 2);
            for (b, t) in bytes.iter().zip(&expected) {
                assert_eq!(&b[..], &t.to_host().unwrap().bytes()[..]);
            }
        }
    }
}

#[test]
fn threads_loop_beside_each_other() {
    let (program, _) = compile(SPRING);
    let given = inputs(SPRING, &[("N", 300)], 9);
    let expected = one_by_one(&program, &given, &[(0, 0), (1, 1)], 20);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut session = program.session();
                for times in [20, 5, 20] {
                    let found = session.run_loop(&given, times).unwrap();
                    assert!(times != 20 || found == expected);
                }
            });
        }
    });
}

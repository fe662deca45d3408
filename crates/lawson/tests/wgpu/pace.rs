//! How loops of runs are handed over to a device, and programs whose operators stay apart there.

use lawson::graph::Graph;
use lawson::kernel::Action;
use lawson::wgpu::{Counts, Device, Pace};
use lawson::{CompileOptions, Fusion, Program, Target, Tensor};

const STEP: &str = "lawson 1
  graph @step(%x: f32[3, 3], %w: f32[3, 3]) -> (y: f32[3, 3]) {
    %h = linear %x, %w
    %a = relu %h
    %y = softmax %a {axis = 1}
    return %y
  }";

fn compile(device: &Device, fusion: Fusion) -> Program {
    let (target, device) = (Target::Wgpu, Some(device.clone()));
    let options = CompileOptions { target, device, fusion, ..CompileOptions::default() };
    Program::compile(Graph::parse(STEP).unwrap(), &options).unwrap()
}

fn inputs() -> [Tensor; 2] {
    let x: Vec<f32> = (0..9).map(|i| i as f32 / 5.0 - 1.0).collect();
    let w: Vec<f32> = (0..9).map(|i| ((i * 7) % 9) as f32 / 4.0 - 1.0).collect();
    [Tensor::from_slice(&[3, 3], &x).unwrap(), Tensor::from_slice(&[3, 3], &w).unwrap()]
}

#[test]
fn a_loop_is_one_submission_or_one_an_iteration() {
    let device = Device::preferred().unwrap();
    let program = compile(&device, Fusion::Predicted);
    let mut session = program.session();
    let mut run = |pace: Pace| -> (Vec<f32>, Counts) {
        session.set_pace(pace);
        session.run_loop(&inputs(), 1).unwrap();
        let before = device.counts();
        let y = session.run_loop(&inputs(), 5).unwrap();
        (y[0].to_vec().unwrap(), device.counts().since(before))
    };
    let (whole, once) = run(Pace::Whole);
    let (paced, each) = run(Pace::EachIteration);
    assert_eq!(whole, paced);
    assert_eq!((once.submissions, each.submissions), (1, 5));
    assert_eq!(once.launches, each.launches);
    // Two inputs go there and one output comes back, once.
    assert_eq!((once.uploaded, once.downloaded), (72, 36));
    assert_eq!((each.uploaded, each.downloaded), (72, 36));
}

#[test]
fn operators_apart_are_launched_apart_and_give_the_same() {
    let device = Device::preferred().unwrap();
    let launches = |program: &Program| {
        let mut count = 0;
        let plan = program.plan().unwrap();
        plan.visit(&mut |step, _| count += u64::from(matches!(step.action, Action::Launch { .. })));
        count
    };
    let (apart, fused) = (compile(&device, Fusion::Separate), compile(&device, Fusion::Predicted));
    assert!(launches(&apart) > launches(&fused), "{}", fused.plan().unwrap());
    assert_eq!(apart.operators().unwrap().on_host(), 0);
    let run = |program: &Program| program.session().run(&inputs()).unwrap()[0].to_vec::<f32>().unwrap();
    let (a, b) = (run(&apart), run(&fused));
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6), "{a:?} {b:?}");
}

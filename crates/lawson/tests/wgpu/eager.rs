//! Immediate mode on a device: where values are, what is handed over when, and devices that are lost.

use super::device;
use lawson::eager::{Eager, EagerOptions, EagerTensor};
use lawson::graph::op::{BinaryKind, UnaryKind};
use lawson::graph::{NonZero, Symbol};
use lawson::wgpu::{Device, Keep, Options};
use lawson::{Code, CompileOptions, Program, Target, Tensor, graph::Graph};

fn on(device: &Device) -> Eager {
    let compile =
        CompileOptions { target: Target::Wgpu, device: Some(device.clone()), ..CompileOptions::default() };
    Eager::new(EagerOptions { compile, ..EagerOptions::default() }).unwrap()
}

fn floats(value: &EagerTensor) -> Vec<f32> {
    value.to_tensor().unwrap().to_vec().unwrap()
}

#[test]
fn values_stay_on_the_device_until_they_are_asked_for() {
    // Of its own: others would count too.
    let device = Device::preferred().unwrap();
    let eager = on(&device);
    let x = eager.hold(&Tensor::from_slice(&[2, 3], &[1f32, -2.0, 3.0, -4.0, 5.0, -6.0]).unwrap()).unwrap();
    let w = eager.hold(&Tensor::from_slice(&[3, 2], &[1f32, 0.0, 0.0, 1.0, 1.0, 1.0]).unwrap()).unwrap();
    let b = eager.hold(&Tensor::from_slice(&[2], &[0.5f32, -20.0]).unwrap()).unwrap();
    let all = |eager: &Eager| {
        let h = eager.linear(&x, &w, Some(&b)).unwrap();
        let a = eager.relu(&h).unwrap();
        eager.binary(BinaryKind::Add, &a, &a).unwrap()
    };
    // Compiling uploads nothing more than constants, and happens once.
    all(&eager);
    let before = device.counts();
    let y = all(&eager);
    assert!(y.is_on_device());
    let ran = device.counts().since(before);
    assert_eq!((ran.submissions, ran.uploaded, ran.downloaded), (3, 0, 0));
    assert!(ran.launches >= 3, "{ran:?}");
    assert_eq!(floats(&y), [9.0, 0.0, 0.0, 0.0]);
    assert_eq!(device.counts().since(before).downloaded, 16);
    // What was computed before is still what it was.
    assert_eq!(floats(&x), [1.0, -2.0, 3.0, -4.0, 5.0, -6.0]);
}

#[test]
fn elements_that_fill_no_word_and_empty_values_are_held_too() {
    let eager = on(&device());
    let x = eager.hold(&Tensor::from_slice(&[5], &[1u8, 2, 3, 4, 250]).unwrap()).unwrap();
    let y = eager.binary(BinaryKind::Add, &x, &x).unwrap();
    assert_eq!(y.to_tensor().unwrap().to_vec::<u8>().unwrap(), [2, 4, 6, 8, 244]);
    let none = eager.hold(&Tensor::from_slice::<f32>(&[0, 3], &[]).unwrap()).unwrap();
    let none = eager.relu(&none).unwrap();
    assert_eq!((none.sizes(), floats(&none).len()), (&[0, 3][..], 0));
}

#[test]
fn what_the_host_computes_comes_back_to_the_device_when_it_is_used() {
    let eager = on(&device());
    let x = eager.hold(&Tensor::from_slice(&[4], &[0f32, 2.0, 0.0, 4.0]).unwrap()).unwrap();
    let places = eager.composite(NonZero { symbol: Symbol::new("C") }, &[&x]).unwrap();
    assert!(!places.is_on_device());
    let twice = eager.binary(BinaryKind::Add, &places, &places).unwrap();
    assert!(twice.is_on_device());
    assert_eq!(twice.to_tensor().unwrap().to_vec::<i64>().unwrap(), [2, 6]);
}

#[test]
fn operands_from_elsewhere_are_copied() {
    let (here, there) = (on(&device()), on(&Device::preferred().unwrap()));
    let x = there.hold(&Tensor::from_slice(&[2], &[1f32, 2.0]).unwrap()).unwrap();
    let y = here.hold(&Tensor::from_slice(&[2], &[10f32, 20.0]).unwrap()).unwrap();
    assert_eq!(floats(&here.binary(BinaryKind::Add, &x, &y).unwrap()), [11.0, 22.0]);
    let cpu = Eager::new(EagerOptions::default()).unwrap();
    assert_eq!(floats(&cpu.unary(UnaryKind::Neg, &y).unwrap()), [-10.0, -20.0]);
}

#[test]
fn values_are_lost_with_their_device_and_operators_are_not() {
    let device = Device::preferred().unwrap();
    let eager = on(&device);
    let tensor = Tensor::from_slice(&[2], &[1f32, -2.0]).unwrap();
    let x = eager.hold(&tensor).unwrap();
    assert_eq!(floats(&eager.relu(&x).unwrap()), [1.0, 0.0]);
    device.destroy();
    let error = eager.relu(&x).unwrap_err();
    assert_eq!(error.code(), Code::Device);
    assert!(error.to_string().contains("lost"), "{error}");
    assert!(x.to_tensor().is_err());
    let x = eager.hold(&tensor).unwrap();
    assert_eq!(floats(&eager.relu(&x).unwrap()), [1.0, 0.0]);
    assert_eq!(eager.compiled(), 1);
}

#[test]
fn pipelines_stay_as_long_as_the_device_says() {
    let text = "lawson 1 graph @f(%x: f32[7]) -> (y: f32[7]) { %y = exp %x return %y }";
    for (keep, left) in [(Keep::WhileOpen, 1), (Keep::WhileUsed, 0)] {
        let device = Device::open(Options { pipelines: keep, ..Options::default() }).unwrap();
        let options = CompileOptions {
            target: Target::Wgpu,
            device: Some(device.clone()),
            ..CompileOptions::default()
        };
        let before = device.pipelines();
        let compile = || Program::compile(Graph::parse(text).unwrap(), &options).unwrap();
        let (first, second) = (compile(), compile());
        assert_eq!(device.pipelines() - before, 1, "equal kernels share one");
        drop(first);
        assert_eq!(device.pipelines() - before, 1);
        drop(second);
        assert_eq!(device.pipelines() - before, left, "{keep:?}");
        let x = Tensor::from_slice(&[7], &[0f32; 7]).unwrap();
        assert_eq!(compile().session().run(&[x]).unwrap()[0].to_vec::<f32>().unwrap(), [1.0; 7]);
    }
}

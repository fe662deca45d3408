//! The chain is one kernel on every target, gives what the oracle says, and the pictures beside the code are what it makes of the scene.
#![allow(clippy::unwrap_used)]

use lawson::graph::{ParseOptions, Registry, interp, parse};
use lawson::{CompileOptions, HostTensor, Target, Value};
use lawson_pixels::operators::{Chain, Encode, RotateHue, Saturate, ToneMap, graph};
use lawson_pixels::{SIZE, compile, develop, launches, scene};
use std::path::PathBuf;

fn on(target: Target) -> CompileOptions {
    CompileOptions { target, ..CompileOptions::default() }
}

#[test]
fn the_chain_is_one_kernel() {
    for target in [Target::Cpu, Target::Wgpu] {
        let program = compile(Chain::Graded, &on(target)).unwrap();
        assert_eq!(launches(&program), Some((1, 0)), "{target:?}: {}", program.plan().unwrap());
    }
}

#[test]
fn every_target_gives_what_the_oracle_says() {
    let size = (27, 48);
    let light = scene::render(size.0, size.1);
    let plane = |p: &Vec<f32>| Value::from(HostTensor::from_slice(&[size.0, size.1], p).unwrap());
    let inputs: Vec<Value> = light.iter().map(plane).collect();
    for chain in [Chain::Plain, Chain::Graded] {
        let oracle =
            interp::run_bounded(&graph(chain).unwrap(), &inputs, &interp::Options::default()).unwrap();
        for target in [Target::Reference, Target::Cpu, Target::Wgpu] {
            let results = compile(chain, &on(target)).unwrap().session().run_values(&inputs).unwrap();
            for (expected, actual) in oracle.iter().zip(&results) {
                let found = interp::compare(expected, actual, 4.0);
                assert!(found.ok(), "{chain:?} on {target:?}: {found}");
            }
        }
    }
}

#[test]
fn the_pictures_are_those_of_the_scene() {
    let light = scene::render(SIZE.0, SIZE.1);
    let brightest = light.iter().flatten().fold(0f32, |a, b| a.max(*b));
    assert!(brightest > 50.0, "the sun is {brightest}");
    for (chain, name) in [(Chain::Plain, "before.png"), (Chain::Graded, "after.png")] {
        let bytes = develop(&compile(chain, &on(Target::Cpu)).unwrap(), &light, SIZE).unwrap();
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name);
        let kept = image::open(&path).unwrap().to_rgb8();
        assert_eq!((kept.height() as usize, kept.width() as usize), SIZE);
        // Another processor may round another way here and there.
        let off = bytes.iter().zip(kept.as_raw()).filter(|(a, b)| a.abs_diff(**b) > 1).count();
        assert!(off * 1000 < bytes.len(), "{name}: {off} bytes of {} differ", bytes.len());
    }
}

#[test]
fn the_composites_are_read_back_from_the_text() {
    let mut registry = Registry::standard().clone();
    registry.register::<ToneMap>();
    registry.register::<RotateHue>();
    registry.register::<Saturate>();
    registry.register::<Encode>();
    for (name, graphs) in registry.examples().unwrap() {
        assert!(!graphs.is_empty(), "{name}");
    }
    let graph = graph(Chain::Graded).unwrap();
    let options = ParseOptions { registry: &registry, ..ParseOptions::default() };
    let read = parse(&graph.to_string(), &options).unwrap();
    assert_eq!(read.to_string(), graph.to_string());
}

//! Random graphs of every primitive and dtype: none is refused, results are the oracle's, and most operators are shaders.

#[path = "../random/mod.rs"]
mod trial;

use super::device;
use lawson::kernel::Operators;
use lawson::{CompileOptions, DType, Target};
use trial::Trial;

/// What shaders do not compute with at all, and integers of 64 bits, which they do not divide.
fn is_the_hosts(dtype: DType) -> bool {
    lawson::wgpu::machine().lacks.contains(&dtype) || matches!(dtype, DType::I64 | DType::U64)
}

#[test]
fn random_graphs_give_what_the_oracle_says() {
    let flushes = device().capabilities().unwrap().flushes;
    let options =
        CompileOptions { target: Target::Wgpu, device: Some(device()), ..CompileOptions::default() };
    let trial = Trial { ways: vec![("shaders".to_string(), options)], evaluated: is_the_hosts, flushes };
    let Operators { machine_code, evaluator, interpreter, .. } = trial.check(60);
    assert!(machine_code > 100 && interpreter > 10, "{machine_code}, {interpreter}");
    assert!(
        machine_code > 3 * evaluator,
        "{machine_code} operators as shaders, {evaluator} in the evaluator"
    );
}

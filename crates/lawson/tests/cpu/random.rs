//! Random graphs of every primitive and dtype: none is refused, results are the oracle's, and bits do not depend on threads.

#[path = "../random/mod.rs"]
mod trial;

use super::there;
use lawson::cpu::Isa;
use lawson::kernel::Operators;
use lawson::kernel::machine::Machine;
use lawson::{CompileOptions, DType, Fusion, Target, Team};
use trial::Trial;

/// Whether the machine model says that kernels of a dtype have no code.
fn is_lacked(dtype: DType) -> bool {
    Machine::default().lacks.contains(&dtype)
}

fn check(isa: Isa, fusion: Fusion, count: u64, threads: &[usize]) -> Operators {
    let way = |threads: &usize| {
        let team = Some(Team::new(*threads).unwrap());
        let options =
            CompileOptions { target: Target::Cpu, fusion, team, isa: Some(isa), ..CompileOptions::default() };
        (format!("{threads} threads"), options)
    };
    let evaluated = if isa == Isa::Portable { |_| true } else { is_lacked };
    Trial { ways: threads.iter().map(way).collect(), evaluated, flushes: false }.check(count)
}

#[test]
fn no_graph_is_refused() {
    if let Some(missing) = Isa::Avx512.missing() {
        println!("not run: this machine has no {missing}");
        return;
    }
    let Operators { machine_code, interpreter, .. } = check(Isa::Avx512, Fusion::Predicted, 250, &[1, 2, 3]);
    assert!(machine_code > 100 && interpreter > 100);
}

#[test]
fn no_graph_is_refused_without_avx512() {
    if let Some(missing) = Isa::Avx2.missing() {
        println!("not run: this machine has no {missing}");
        return;
    }
    let Operators { machine_code, interpreter, .. } = check(Isa::Avx2, Fusion::Predicted, 250, &[1, 3]);
    assert!(machine_code > 100 && interpreter > 100);
}

#[test]
fn no_graph_is_refused_with_operators_apart() {
    if !there() {
        return;
    }
    let Operators { machine_code, interpreter, .. } = check(Isa::best(), Fusion::Separate, 150, &[2]);
    assert!(machine_code > 100 && interpreter > 100);
}

#[test]
fn the_portable_evaluator_runs_every_kernel() {
    let Operators { machine_code, evaluator, interpreter, .. } =
        check(Isa::Portable, Fusion::Predicted, 120, &[2]);
    assert!(machine_code == 0 && evaluator > 100 && interpreter > 100);
}

//! Chains whose stages read each other at several places: results, and that what is fused is predicted to take no longer than what it is made of.

use super::there;
use lawson::cpu::{Isa, PlanOptions, machine, plan_with};
use lawson::graph::random::{Elements, Rng, random_chain, random_inputs};
use lawson::graph::{Bindings, Graph, interp};
use lawson::kernel::predict::predict_plan;
use lawson::{CompileOptions, Fusion, Program};

const CHAINS: u64 = 120;

/// Seconds that a plan is predicted to take on one core, and the most expressions of its kernels.
fn planned(graph: &Graph, fusion: Fusion) -> (f64, usize) {
    let options = PlanOptions { isa: Isa::Avx512, fusion, ..PlanOptions::default() };
    let (_, plan) = plan_with(graph, &options).unwrap_or_else(|e| panic!("{e}\n{graph}"));
    let steps = predict_plan(&plan, &machine(), &Bindings::new(), 1).unwrap();
    let seconds = steps.into_iter().map(|p| p.map_or(0.0, |p| p.seconds)).sum();
    (seconds, plan.kernels.iter().map(|k| k.exprs.len()).max().unwrap_or(0))
}

#[test]
fn chains_give_what_the_oracle_gives() {
    if !there() {
        return;
    }
    for seed in 0..CHAINS {
        let graph = random_chain(&mut Rng::new(seed)).unwrap();
        let inputs =
            random_inputs(&mut Rng::new(seed ^ 1), &graph, &Bindings::new(), Elements::Tame).unwrap();
        let oracle = interp::run_bounded(&graph, &inputs, &interp::Options::default()).unwrap();
        let program = Program::compile(graph.clone(), &CompileOptions::default()).unwrap();
        let found = program.session().run_values(&inputs).unwrap();
        let comparison = interp::compare(&oracle[0], &found[0], 1.0);
        assert!(comparison.ok(), "seed {seed}: {comparison}\n{graph}\n{}", program.plan().unwrap());
    }
}

#[test]
fn no_plan_is_predicted_to_take_longer_than_its_operators_apart() {
    for seed in 0..CHAINS {
        let graph = random_chain(&mut Rng::new(seed)).unwrap();
        let (fused, apart) = (planned(&graph, Fusion::Predicted), planned(&graph, Fusion::Separate));
        assert!(fused.0 <= apart.0 * 1.1, "seed {seed}: {:e} s, apart {:e} s\n{graph}", fused.0, apart.0);
    }
}

#[test]
fn kernels_of_chains_have_as_many_expressions_as_their_stages_are_worth() {
    for seed in 0..CHAINS {
        let graph = random_chain(&mut Rng::new(seed)).unwrap();
        let most = planned(&graph, Fusion::Predicted).1;
        // Without a bound there are as many as the product of all places at which stages are read.
        assert!(most <= 60 * graph.nodes().len() + 400, "seed {seed}: {most} expressions\n{graph}");
    }
}

//! Every rule, because it is in a table: it applies to its own random instances, leaves a valid graph, and keeps the
//! results, judged by the oracle on inputs with NaN, infinities and signed zeros.

#![allow(clippy::unwrap_used)]

use lawson_graph::random::{Elements, Rng, random_bindings, random_inputs};
use lawson_graph::{Graph, HostTensor, Value, interp};
use lawson_opt::{Exact, Instance, Rule, rewrite, rules};

const INSTANCES: u64 = 60;

#[test]
fn rules_have_names_of_their_own_and_say_what_they_do() {
    let mut names: Vec<&str> = rules::all().map(|r| r.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "two rules share a name");
    for rule in rules::all() {
        assert!(rule.identity.len() > 8, "{} has no identity", rule.name);
    }
}

#[test]
fn every_rule_keeps_the_results_of_its_instances() {
    for rule in rules::all() {
        println!("{}", rule.name);
        let mut applied = 0;
        for seed in 0..INSTANCES {
            let graph =
                Instance::graph(rule, seed).unwrap_or_else(|e| panic!("{} seed {seed}: {e}", rule.name));
            let patch = rewrite(&graph, &[rule])
                .unwrap_or_else(|e| panic!("{} seed {seed}: {e}\n{graph}", rule.name));
            let Some(patch) = patch else { continue };
            applied += 1;
            let after = graph
                .clone()
                .apply(patch)
                .unwrap_or_else(|e| panic!("{} seed {seed}: {e}\n{graph}", rule.name));
            after.verify().unwrap_or_else(|e| panic!("{} seed {seed}: {e}\n{graph}\n{after}", rule.name));
            check(rule, seed, &graph, &after);
        }
        // Sizes of 0 and 1 may leave nothing to do, but not often.
        assert!(applied * 2 > INSTANCES, "{} applied to {applied} of {INSTANCES} instances", rule.name);
    }
}

fn check(rule: &Rule, seed: u64, before: &Graph, after: &Graph) {
    let mut rng = Rng::new(seed ^ 0x5eed);
    let options = interp::Options::default();
    for elements in [Elements::Tame, Elements::Wild] {
        let bindings = random_bindings(&mut rng, before, 6).unwrap();
        let inputs = random_inputs(&mut rng, before, &bindings, elements).unwrap();
        let context = || format!("{} seed {seed}\n{before}\nbecame\n{after}\ninputs {inputs:?}", rule.name);
        let new = interp::run(after, &inputs, &options).unwrap_or_else(|e| panic!("{}: {e}", context()));
        match rule.exact {
            Exact::Bits => {
                let old = interp::run(before, &inputs, &options).unwrap();
                assert!(same_bits(&old[0], &new[0]), "{}\n{:?}\nis not\n{:?}", context(), new[0], old[0]);
            }
            Exact::Rounding => {
                let oracle = interp::run_bounded(before, &inputs, &options).unwrap();
                let comparison = interp::compare(&oracle[0], &new[0], 1.0);
                assert!(comparison.ok(), "{}\n{comparison:?}", context());
            }
        }
    }
}

/// The same bits, except that any NaN is as good as another.
fn same_bits(a: &Value, b: &Value) -> bool {
    let nan = |t: &HostTensor, i: usize| t.dtype().is_float() && t.float_at(i).is_nan();
    match (a, b) {
        (Value::Tensor(x), Value::Tensor(y)) => {
            x == y
                || (x.ty() == y.ty()
                    && x.text() == y.text()
                    && (0..x.len()).all(|i| {
                        (nan(x, i) && nan(y, i))
                            || (x.int_at(i) == y.int_at(i)
                                && x.float_at(i).to_bits() == y.float_at(i).to_bits())
                    }))
        }
        _ => a == b,
    }
}

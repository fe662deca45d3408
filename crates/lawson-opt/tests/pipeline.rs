//! The pipeline as a whole: it keeps results on random graphs, leaves only primitives, says which pass failed, and is
//! linear.

#![allow(clippy::unwrap_used)]

use lawson_graph::random::{Elements, GraphShape, Rng, random_bindings, random_graph, random_inputs};
use lawson_graph::{Builder, Code, DType, Graph, Patch, Registry, Result, Type, ValueId, interp};
use lawson_opt::{Pass, Pipeline, RunOptions, Verdict, Verify, bisect, canonical_form};
use std::sync::Arc;

/// Checks that the pipeline keeps the results; returns how many elements were compared, and how many left undetermined.
fn check_kept(graph: &Graph, seed: u64) -> (u64, u64) {
    let optimised = Pipeline::standard()
        .run_with(graph, &RunOptions { verify: Verify::EachPass, stop_after: None }, &mut |_| Ok(()))
        .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{graph}"));
    assert!(
        optimised.nodes().iter().all(|n| !n.op.is_composite()),
        "seed {seed}: a composite is left\n{optimised}"
    );
    let mut rng = Rng::new(seed);
    let options = interp::Options::default();
    let bindings = random_bindings(&mut rng, graph, 6).unwrap();
    let inputs = random_inputs(
        &mut rng,
        graph,
        &bindings,
        if seed.is_multiple_of(2) { Elements::Tame } else { Elements::Wild },
    )
    .unwrap();
    let oracle =
        interp::run_bounded(graph, &inputs, &options).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{graph}"));
    let results = interp::run(&optimised, &inputs, &options)
        .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{graph}\n{optimised}"));
    let (mut compared, mut undetermined) = (0, 0);
    for ((expected, actual), output) in oracle.iter().zip(&results).zip(graph.outputs()) {
        let comparison = interp::compare(expected, actual, 1.0);
        compared += comparison.compared;
        undetermined += comparison.undetermined;
        assert!(
            comparison.ok(),
            "seed {seed}, output {}: {comparison:?}\n{graph}\nbecame\n{optimised}\ninputs {inputs:?}",
            output.name
        );
    }
    (compared, undetermined)
}

#[test]
fn random_graphs_keep_their_results() {
    let (mut compared, mut undetermined) = (0, 0);
    for seed in 0..2000 {
        let graph = random_graph(&mut Rng::new(seed), &GraphShape::default()).unwrap();
        let counts = check_kept(&graph, seed);
        compared += counts.0;
        undetermined += counts.1;
    }
    println!("{compared} elements compared, {undetermined} undetermined");
    assert!(
        compared > 4 * undetermined,
        "{compared} compared, but {undetermined} undetermined: the test says little"
    );
}

#[test]
fn running_the_pipeline_again_changes_nothing() {
    let pipeline = Pipeline::standard();
    for seed in 0..500 {
        let graph = random_graph(&mut Rng::new(seed), &GraphShape::default()).unwrap();
        let once = pipeline.run(&graph).unwrap();
        let twice = pipeline.run(&once).unwrap();
        let (once, twice) = (canonical_form(&once).unwrap(), canonical_form(&twice).unwrap());
        assert_eq!(once.to_string(), twice.to_string(), "seed {seed}");
    }
}

#[test]
fn every_composite_keeps_its_results_when_lowered() {
    for (name, graphs) in Registry::standard().examples().unwrap() {
        for (i, graph) in graphs.iter().enumerate() {
            println!("{name} {i}");
            check_kept(graph, 2 * i as u64);
        }
    }
}

#[derive(Debug)]
struct Sabotage;

impl Pass for Sabotage {
    fn name(&self) -> &'static str {
        "sabotage"
    }

    fn summary(&self) -> &'static str {
        "replaces every sum by a difference"
    }

    fn run(&self, graph: &Graph) -> Result<Option<Patch>> {
        let mut b = Builder::over(graph);
        let mut changes: Vec<(ValueId, ValueId)> = Vec::new();
        for node in graph.nodes().iter().filter(|n| n.op.name() == "add") {
            changes.push((node.outputs[0], b.sub(node.inputs[0], node.inputs[1])?));
        }
        let mut patch = b.into_patch();
        changes.into_iter().for_each(|(old, new)| {
            patch.replace(old, new);
        });
        Ok(Some(patch))
    }
}

fn sum_graph() -> Graph {
    let mut b = Builder::new("sum");
    let x = b.input("x", Type::tensor(DType::F32, [4])).unwrap();
    let y = b.input("y", Type::tensor(DType::F32, [4])).unwrap();
    let sum = b.add(x, y).unwrap();
    let z = b.exp(sum).unwrap();
    b.output("z", z).unwrap();
    b.finish().unwrap()
}

#[test]
fn bisect_names_the_pass_that_changes_a_result() {
    let graph = sum_graph();
    let mut passes = Pipeline::standard().passes().to_vec();
    passes.insert(3, Arc::new(Sabotage));
    let mut rng = Rng::new(1);
    let bindings = random_bindings(&mut rng, &graph, 4).unwrap();
    let inputs = random_inputs(&mut rng, &graph, &bindings, Elements::Tame).unwrap();
    let options = interp::Options::default();
    match bisect(&Pipeline::new(passes), &graph, &inputs, &options, 1.0).unwrap() {
        Verdict::Changed { index: 3, pass, output, .. } => {
            assert_eq!((pass.as_str(), output.as_str()), ("sabotage", "z"))
        }
        other => panic!("{other:?}"),
    }
    let verdict = bisect(&Pipeline::standard(), &graph, &inputs, &options, 1.0).unwrap();
    assert!(matches!(verdict, Verdict::Fine { .. }), "{verdict:?}");
}

#[derive(Debug)]
struct Retype;

impl Pass for Retype {
    fn name(&self) -> &'static str {
        "retype"
    }

    fn summary(&self) -> &'static str {
        "replaces a value by one of another type"
    }

    fn run(&self, graph: &Graph) -> Result<Option<Patch>> {
        let mut b = Builder::over(graph);
        let old = graph.outputs()[0].value;
        let new = b.cast(old, DType::F64)?;
        let mut patch = b.into_patch();
        patch.replace(old, new);
        Ok(Some(patch))
    }
}

#[test]
fn a_pass_that_breaks_the_graph_is_named() {
    let error = Pipeline::new(vec![Arc::new(Retype)]).run(&sum_graph()).unwrap_err();
    assert_eq!(error.code(), Code::PassFailed);
    assert!(error.to_string().contains("retype"), "{error}");
}

#[test]
fn pipelines_are_lists_that_print_and_parse() {
    let standard = Pipeline::standard();
    assert!(!standard.passes().is_empty());
    let again: Pipeline = standard.to_string().parse().unwrap();
    assert_eq!(again.to_string(), standard.to_string());
    let error = "simplfy".parse::<Pipeline>().unwrap_err();
    assert_eq!(error.help_text(), Some("did you mean `simplify`?"));
}

#[test]
fn stop_after_runs_so_many_passes() {
    let mut seen = Vec::new();
    let options = RunOptions { stop_after: Some(2), ..RunOptions::default() };
    Pipeline::standard()
        .run_with(&sum_graph(), &options, &mut |o| {
            seen.push(o.pass.name());
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, ["dead-code", "simplify"]);
}

/// A text in which each composite calls the one before it twice.
fn doubling(depth: usize) -> Graph {
    let mut text = "lawson 1\ncomposite @c0(%x: f32[]) -> (y: f32[]) { %y = sin %x return %y }\n".to_string();
    for i in 1..depth {
        let inner = i - 1;
        text += &format!(
            "composite @c{i}(%x: f32[]) -> (y: f32[]) {{ %a = @c{inner} %x %y = @c{inner} %a return %y }}\n"
        );
    }
    text += &format!("graph @g(%x: f32[]) -> (y: f32[]) {{ %y = @c{} %x return %y }}\n", depth - 1);
    Graph::parse(&text).unwrap()
}

#[test]
fn composites_are_lowered_however_many_calls_that_takes() {
    let lowered = Pipeline::standard().run(&doubling(12)).unwrap();
    assert_eq!(lowered.nodes().len(), 1 << 11);
    assert!(lowered.nodes().iter().all(|n| !n.op.is_composite()));
}

#[test]
fn composites_that_expand_too_far_are_an_error_of_the_graph() {
    let error = Pipeline::standard().run(&doubling(22)).unwrap_err();
    assert_eq!(error.code(), Code::Budget, "{error}");
}

//! A process that judges graphs: it says the seed that it begins with, what it is at, and what became of it, a line each.

use super::super::apart::phase_name;
use super::super::ops::family;
use super::super::run::operators_json;
use super::super::trial::Judged;
use crate::args::FuzzArgs;
use crate::report::Outcome;
use lawson::Error;
use lawson::fuzz::{Cases, Judge, Phase, Verdict, random_case};
use lawson::graph::{Graph, Type};
use lawson::opt::Pipeline;
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// Judges so many graphs, and says so.
pub(super) fn work(args: &FuzzArgs, step: u64, judge: &mut Judge, out: &mut dyn Write) -> Outcome {
    let count = args.count.unwrap_or(u64::MAX);
    for n in 0..count {
        let seed = args.seed.wrapping_add(n.wrapping_mul(step));
        writeln!(out, "begin {seed}")?;
        out.flush()?;
        let mut tell = |phase: Phase| {
            // Whoever cannot hear it has gone.
            let _ = writeln!(out, "{}", phase_name(phase));
            let _ = out.flush();
        };
        let mut said = match random_case(seed) {
            Err(e) => Judged::of(Verdict::Unknown(e)).to_json(),
            Ok(cases) => {
                let (verdict, part) = judged(judge, &cases, &mut tell);
                said(verdict, part, &cases.graph)
            }
        };
        said["seed"] = json!(seed);
        writeln!(out, "{said}")?;
        out.flush()?;
    }
    Ok(())
}

fn said(verdict: Verdict, part: Option<Graph>, graph: &Graph) -> Json {
    let run = if let Verdict::Failed { run, .. } = &verdict { *run } else { 0 };
    let operators = if let Verdict::Fine { operators, .. } = &verdict { *operators } else { None };
    let mut said = Judged::of(verdict).to_json();
    said["run"] = json!(run);
    said["part"] = json!(part.is_some());
    if said["fails"].is_boolean() {
        let (names, dtypes) = covered(part.as_ref().unwrap_or(graph));
        said["names"] = names;
        said["dtypes"] = json!(dtypes);
        said["operators"] = operators.map_or(Json::Null, operators_json);
    }
    said
}

/// The verdict on a graph, or on the part of it that the target takes; and that part, if it is one.
fn judged(judge: &mut Judge, cases: &Cases, tell: &mut dyn FnMut(Phase)) -> (Verdict, Option<Graph>) {
    match judge.cases_told(cases, tell) {
        Verdict::Refused(e) => match accepted(judge, cases) {
            Some(part) => (judge.cases_told(&part, tell), Some(part.graph)),
            None => (Verdict::Refused(e), None),
        },
        verdict => (verdict, None),
    }
}

/// The part of a graph that the target takes.
pub(super) fn accepted(judge: &Judge, cases: &Cases) -> Option<Cases> {
    let graph = judge.accepted(&cases.graph)?;
    let graph = "dead-code".parse::<Pipeline>().ok()?.run(&graph).ok()?;
    Some(Cases { graph, runs: cases.runs.clone() })
}

/// How often a graph has each operator, by family, and which dtypes it has; those of sub-graphs count.
fn covered(graph: &Graph) -> (Json, BTreeSet<&'static str>) {
    let (mut names, mut dtypes) = (BTreeMap::new(), BTreeSet::new());
    let mut graphs = vec![graph];
    while let Some(graph) = graphs.pop() {
        for node in graph.nodes() {
            *names.entry((family(node.op.name()), node.op.name().to_string())).or_insert(0u64) += 1;
            graphs.extend(node.op.subgraphs().into_iter().map(|(_, g)| &**g));
        }
        let types = graph.values().iter().map(|v| &v.ty);
        dtypes.extend(types.filter_map(Type::as_tensor).map(|t| t.dtype.name()));
    }
    let mut all = Map::new();
    for ((family, name), count) in names {
        all.entry(family).or_insert_with(|| json!({}))[&name] = json!(count);
    }
    (Json::Object(all), dtypes)
}

/// An error of a worker before it judged anything.
pub(super) fn unborn(text: &str) -> Error {
    Error::internal(format!("a worker ended before it began: {text}"))
}

//! `lawson show`: a graph with its types and, beside each operator, what it costs; or, by `kernels.rs`, what it is compiled to.

use super::kernels;
use crate::args::ShowArgs;
use crate::input::check_bound;
use crate::load::{self, Sizing};
use crate::quantity::{dim_json, quantity};
use crate::report::{Outcome, Reporter};
use lawson::graph::{Constants, Cost, Dim, Graph, Node, Op, PrintOptions, Symbol, Type, ValueId, print};
use lawson::{Code, Error, Result};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io::Write;

/// Constants of more elements are left out.
const SHOWN: usize = 16;

pub fn run(args: &ShowArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let loaded = load::open(&args.file, Sizing { bind: &args.bind, ..args.sizes.sizing() })?;
    check_bound(&loaded, &args.bind)?;
    let graph = loaded.graph;
    if args.kernels || args.plan || args.plan_text || args.refused || args.dump_asm {
        return kernels::run(&graph, args, reporter, out);
    }
    check_unused(args)?;
    let value_of = |s: &Symbol| args.bind.iter().find(|b| b.symbol == s.name()).map(|b| Dim::from(b.value));
    let bound = |d: &Dim| d.substitute(&value_of);
    let costs: Vec<Cost> = graph.nodes().iter().map(|n| graph.node_cost(n).map_dims(&bound)).collect();
    let total = costs.iter().cloned().fold(Cost::ZERO, |a, b| a + b);
    if reporter.json {
        return Ok(writeln!(out, "{:#}", to_json(&graph, &costs, &total, &bound))?);
    }
    let notes: BTreeMap<_, _> = graph
        .node_ids()
        .zip(graph.nodes().iter().zip(&costs))
        .map(|(id, (n, c))| (id, note(&graph, n, c, &bound)))
        .collect();
    let constants = if args.full { Constants::Inline } else { Constants::Elide { above: SHOWN } };
    write!(out, "{}", print(&graph, &PrintOptions { constants, notes }))?;
    for line in totals(&graph, &total, &bound) {
        writeln!(out, "// {line}")?;
    }
    Ok(())
}

/// Refuses what is said of kernels if none are shown.
fn check_unused(args: &ShowArgs) -> Result<()> {
    let said = [
        ("--isa", args.isa.is_some()),
        ("--threads", args.threads.is_some()),
        ("--fusion", args.fusion.is_some()),
        ("--passes", args.passes.is_some()),
        ("--device", args.device.device.is_some()),
    ];
    match said.iter().find(|(_, said)| *said) {
        None => Ok(()),
        Some((option, _)) => {
            let message = format!("{option} is for what the graph is compiled to, and the graph is shown");
            Err(Error::new(Code::Usage, message).help(
                "add --plan, --kernels, --refused or --dump-asm; `lawson opt` prints a graph after passes",
            ))
        }
    }
}

/// What stands beside a node.
fn note(graph: &Graph, node: &Node, cost: &Cost, bound: &impl Fn(&Dim) -> Dim) -> String {
    if *cost == Cost::ZERO {
        return quantity(&size_of(graph, &node.outputs, bound), "B");
    }
    let mut parts = Vec::new();
    if !cost.flops.is(0) {
        parts.push(quantity(&cost.flops, "flop"));
    }
    if !cost.transcendental.is(0) {
        parts.push(format!("{} transcendental", quantity(&cost.transcendental, "").trim_end()));
    }
    parts.push(format!("reads {}", quantity(&cost.read, "B")));
    parts.push(format!("writes {}", quantity(&cost.written, "B")));
    if !cost.exact {
        parts.push("at least".to_string());
    }
    parts.join(", ")
}

fn totals(graph: &Graph, total: &Cost, bound: &impl Fn(&Dim) -> Dim) -> Vec<String> {
    let outputs: Vec<ValueId> = graph.outputs().iter().map(|o| o.value).collect();
    let (count, constants) = constants(graph);
    let mut lines = vec![
        format!("nodes      {} ({} with those of sub-graphs)", graph.nodes().len(), graph.total_nodes()),
        format!(
            "inputs     {} in {}",
            quantity(&size_of(graph, graph.inputs(), bound), "B"),
            graph.inputs().len()
        ),
        format!("constants  {} in {count}", quantity(&constants, "B")),
        format!("outputs    {} in {}", quantity(&size_of(graph, &outputs, bound), "B"), outputs.len()),
        format!("work       {}", quantity(&total.flops, "flop")),
        format!("traffic    reads {}, writes {}", quantity(&total.read, "B"), quantity(&total.written, "B")),
    ];
    if let (Some(flops), Some(read), Some(written)) =
        (total.flops.as_const(), total.read.as_const(), total.written.as_const())
        && read + written > 0
    {
        lines.push(format!(
            "intensity  {:.2} flop/B, every operator by itself",
            flops as f64 / (read + written) as f64
        ));
    }
    if !total.exact {
        lines.push(
            "loops that run an unknown number of times count once; host calls count nothing".to_string(),
        );
    }
    lines
}

fn size_of(graph: &Graph, values: &[ValueId], bound: &impl Fn(&Dim) -> Dim) -> Dim {
    values.iter().map(|v| graph.ty(*v).as_tensor().map_or(Dim::ZERO, |t| bound(&t.bytes()))).sum()
}

fn constants(graph: &Graph) -> (usize, Dim) {
    let tensors = graph.nodes().iter().filter_map(|n| match &n.op {
        Op::Constant(t) => Some(t.bytes().len()),
        _ => None,
    });
    tensors.fold((0, Dim::ZERO), |(count, bytes), n| (count + 1, bytes + n))
}

fn to_json(graph: &Graph, costs: &[Cost], total: &Cost, bound: &impl Fn(&Dim) -> Dim) -> Json {
    let port = |name: &str, ty: &Type| json!({ "name": name, "type": ty.to_string() });
    let inputs: Vec<Json> =
        graph.inputs().iter().map(|v| port(&graph.value_name(*v), graph.ty(*v))).collect();
    let outputs: Vec<Json> = graph.outputs().iter().map(|o| port(&o.name, graph.ty(o.value))).collect();
    let nodes: Vec<Json> = graph
        .nodes()
        .iter()
        .zip(costs)
        .map(|(node, cost)| {
            let operands: Vec<String> = node.inputs.iter().map(|v| graph.value_name(*v)).collect();
            let results: Vec<Json> =
                node.outputs.iter().map(|v| port(&graph.value_name(*v), graph.ty(*v))).collect();
            json!({
                "op": node.op.name(),
                "operands": operands,
                "results": results,
                "bytes": dim_json(&size_of(graph, &node.outputs, bound)),
                "cost": cost_json(cost),
            })
        })
        .collect();
    let facts: Vec<String> = graph.facts().written().iter().map(ToString::to_string).collect();
    let (count, bytes) = constants(graph);
    json!({
        "name": graph.name(),
        "facts": facts,
        "inputs": inputs,
        "outputs": outputs,
        "nodes": nodes,
        "constants": { "count": count, "bytes": dim_json(&bytes) },
        "total": cost_json(total),
    })
}

fn cost_json(cost: &Cost) -> Json {
    json!({
        "flops": dim_json(&cost.flops),
        "transcendental": dim_json(&cost.transcendental),
        "read": dim_json(&cost.read),
        "written": dim_json(&cost.written),
        "exact": cost.exact,
    })
}

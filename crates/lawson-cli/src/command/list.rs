//! `lawson list`: random lists, fusing and unfusing, and from a list to a graph.

use crate::args::{ListCommand, LowerArgs, RandomArgs};
use crate::report::{Outcome, Reporter};
use crate::{load, output};
use lawson::graph::Symbol;
use lawson::list::{Batch, ListOp, RandomList, fuse, random_list, to_json, unfuse, validate, validate_with};
use serde_json::json;
use std::io::Write;
use std::path::Path;

pub fn run(command: &ListCommand, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    match command {
        ListCommand::Random(args) => random(args, out),
        ListCommand::Fuse(args) => rewrite(&args.file, args.output.as_deref(), fuse, out),
        ListCommand::Unfuse(args) => rewrite(&args.file, args.output.as_deref(), unfuse, out),
        ListCommand::Lower(args) => lower(args, reporter, out),
    }
}

fn random(args: &RandomArgs, out: &mut dyn Write) -> Outcome {
    let RandomArgs { depth, size, batch, seed, no_softmax, inline, ref output } = *args;
    let wanted = RandomList { depth, size, batch, seed, softmax: !no_softmax };
    // A recipe that cannot be followed is refused here and not where it is read.
    let list = random_list(&wanted)?;
    let text = if inline {
        to_json(&list)
    } else {
        let recipe = json!({
            "lawson_list": 1,
            "random": { "depth": depth, "size": size, "batch": batch, "seed": seed, "softmax": !no_softmax },
        });
        format!("{recipe}\n")
    };
    output::write_text(out, &text, output.as_deref())
}

fn rewrite(
    file: &str,
    path: Option<&Path>,
    change: fn(Vec<ListOp>) -> Vec<ListOp>,
    out: &mut dyn Write,
) -> Outcome {
    let list = load::list(file)?;
    validate(&list)?;
    output::write_text(out, &to_json(&change(list)), path)
}

fn lower(args: &LowerArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let list = load::list(&args.file)?;
    let batch = args.symbolic_batch.as_ref().map_or(Batch::Fixed, |name| Batch::Symbol(Symbol::new(name)));
    let graph = validate_with(&list, &batch)?;
    if reporter.json && args.output.is_none() {
        return Ok(writeln!(out, "{:#}", json!({ "graph": graph.to_string() }))?);
    }
    output::write_graph(out, &graph, args.output.as_deref())
}

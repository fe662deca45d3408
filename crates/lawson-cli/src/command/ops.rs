//! `lawson ops`: the operators by family, or one of them with an example.

use crate::report::{Outcome, Reporter};
use lawson::graph::op::{BinaryKind, CollectiveKind, CompareKind, UnaryKind};
use lawson::graph::{Graph, Op, Registry, nearest};
use lawson::{Code, Error};
use serde_json::{Map, Value as Json, json};
use std::collections::HashMap;
use std::io::Write;
use std::sync::LazyLock;

pub fn run(name: Option<&str>, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    match name {
        None => list(reporter, out),
        Some(name) => show(name, reporter, out),
    }
}

/// The family of an operator; operators that are defined by users belong to the composites.
pub(super) fn family(name: &str) -> &'static str {
    static OF: LazyLock<HashMap<String, &'static str>> = LazyLock::new(|| {
        families()
            .into_iter()
            .flat_map(|(family, names)| names.into_iter().map(move |n| (n, family)))
            .collect()
    });
    OF.get(name).copied().unwrap_or("composite")
}

/// The families with their members, in the order of the text form's documentation.
pub(super) fn families() -> Vec<(&'static str, Vec<String>)> {
    let mut rest: Vec<&str> = Op::primitive_names();
    rest.push("constant");
    let mut take = |belongs: &dyn Fn(&str) -> bool| -> Vec<String> {
        let (family, others): (Vec<&str>, Vec<&str>) = rest.iter().partition(|n| belongs(n));
        rest = others;
        family.into_iter().map(str::to_string).collect()
    };
    let sources = ["constant", "iota", "dims", "symbol", "random_bits"];
    let views =
        ["broadcast", "reshape", "transpose", "slice", "dynamic_slice", "update_slice", "pad", "concat"];
    let mut families = vec![
        ("unary", take(&|n| UnaryKind::from_name(n).is_some())),
        ("binary", take(&|n| BinaryKind::from_name(n).is_some())),
        ("compare", take(&|n| CompareKind::from_name(n).is_some())),
        ("select and convert", take(&|n| ["select", "cast", "bitcast"].contains(&n))),
        ("source", take(&|n| sources.contains(&n))),
        ("view", take(&|n| views.contains(&n))),
        ("reduce", take(&|n| n.starts_with("reduce_") && CollectiveKind::from_name(n).is_none())),
        ("window", take(&|n| n.starts_with("window_"))),
        ("cumulative and sort", take(&|n| n.starts_with("cumulative_") || n == "sort")),
        ("linear", take(&|n| ["contract", "convolve"].contains(&n))),
        ("index", take(&|n| n == "gather" || n.starts_with("scatter_"))),
        ("control", take(&|n| ["while", "cond", "scan"].contains(&n))),
        ("sequence and optional", take(&|n| n.starts_with("seq_") || n.starts_with("opt_"))),
        ("collective", take(&|n| CollectiveKind::from_name(n).is_some())),
    ];
    let others = take(&|_| true);
    families.push(("host", others));
    families.push(("composite", Registry::standard().names().map(str::to_string).collect()));
    families
}

fn list(reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    if reporter.json {
        let all: Map<String, Json> =
            families().into_iter().map(|(f, names)| (f.to_string(), json!(names))).collect();
        return Ok(writeln!(out, "{:#}", Json::Object(all))?);
    }
    for (family, names) in families() {
        writeln!(out, "{family}")?;
        let mut line = String::from(" ");
        for name in names {
            if line.len() + name.len() > 100 {
                writeln!(out, "{line}")?;
                line = String::from(" ");
            }
            line.push(' ');
            line.push_str(&name);
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn show(name: &str, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let families = families();
    let Some((family, _)) = families.iter().find(|(_, names)| names.iter().any(|n| n == name)) else {
        let error = Error::new(Code::UnknownName, format!("there is no operator `{name}`"));
        let known = families.iter().flat_map(|(_, names)| names.iter().map(String::as_str));
        return Err(match nearest(name, known) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("`lawson ops` lists them"),
        }
        .into());
    };
    let examples = examples(name)?;
    if reporter.json {
        let texts: Vec<String> = examples.iter().map(ToString::to_string).collect();
        return Ok(writeln!(out, "{:#}", json!({ "name": name, "family": family, "examples": texts }))?);
    }
    writeln!(out, "{name} ({family})")?;
    for example in examples {
        writeln!(out, "\n{example}")?;
    }
    Ok(())
}

/// Graphs that use a composite. Primitives are described in `docs/text-form.md`.
fn examples(name: &str) -> lawson::Result<Vec<Graph>> {
    let all = Registry::standard().examples()?;
    Ok(all.into_iter().find(|(n, _)| *n == name).map(|(_, graphs)| graphs).unwrap_or_default())
}

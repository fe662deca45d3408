//! Finding the inputs of a graph: from NumPy files, from a list, at random, or zeros.
//!
//! Comes in: a graph and what the arguments say; goes out: a value for each input. Symbols get their values from
//! `--bind` and from the inputs that are given; what is left open is drawn from the seed, within the graph's facts.

use crate::args::{Bind, InputArgs};
use crate::image;
use crate::load::{self, Loaded};
use lawson::graph::random::{Elements, Rng, complete_bindings, random_inputs};
use lawson::graph::{Bindings, Dim, Graph, Symbol, Type, interp, nearest};
use lawson::onnx::Kind;
use lawson::{Code, Error, HostTensor, Limits, Result, Value, npy};
use std::collections::BTreeMap;
use std::path::Path;

/// The greatest size that is drawn for a symbol that nothing else determines.
const MAX_DRAWN: i64 = 64;

/// How an input that no file gives is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fill {
    Random,
    Zeros,
}

/// What is known about an input.
#[derive(Clone)]
enum Source {
    Given(Value),
    Made(Fill),
}

/// The limits of a session.
pub fn limits(args: &InputArgs) -> Limits {
    let default = Limits::default();
    Limits { max_steps: args.max_steps.unwrap_or(default.max_steps), max_bytes: args.max_bytes }
}

/// The limits of the interpreter.
pub fn options(args: &InputArgs) -> interp::Options {
    let default = interp::Options::default();
    interp::Options {
        max_steps: args.max_steps.unwrap_or(default.max_steps),
        max_bytes: args.max_bytes.unwrap_or(default.max_bytes),
        ..default
    }
}

/// The sizes of a run, for which a program is made.
pub fn expected(bindings: &Bindings) -> BTreeMap<String, usize> {
    let size =
        |(symbol, size): (&Symbol, i64)| Some((symbol.name().to_string(), usize::try_from(size).ok()?));
    bindings.iter().filter_map(size).collect()
}

/// A value for each input of the graph, and the values of its symbols.
pub fn values(loaded: &Loaded, args: &InputArgs, seed: u64) -> Result<(Vec<Value>, Bindings)> {
    values_of(loaded, args, seed, Elements::Safe)
}

/// The same with random elements of some kind.
pub fn values_of(
    loaded: &Loaded,
    args: &InputArgs,
    seed: u64,
    elements: Elements,
) -> Result<(Vec<Value>, Bindings)> {
    let graph = &loaded.graph;
    check_bound(loaded, &args.bind)?;
    let sources = sources(loaded, args)?;
    let made = sources.iter().any(|s| matches!(s, Source::Made(_)));
    let values = if made {
        make(graph, &sources, args, seed, elements)?
    } else {
        sources.iter().filter_map(|s| if let Source::Given(v) = s { Some(v.clone()) } else { None }).collect()
    };
    let bindings = interp::bind(graph, &values)?;
    for Bind { symbol, value } in &args.bind {
        if let Some(actual) = bindings.get(&Symbol::new(symbol))
            && actual != *value
        {
            return Err(Error::new(
                Code::Binding,
                format!("--bind says `{symbol}` = {value}, but the inputs make it {actual}"),
            ));
        }
    }
    Ok((values, bindings))
}

/// Refuses bindings of symbols that no input mentions, and of those that were fixed to something else.
pub fn check_bound(loaded: &Loaded, bind: &[Bind]) -> Result<()> {
    let Loaded { graph, fixed, .. } = loaded;
    for b in bind {
        if let Some(n) = fixed.get(&b.symbol).filter(|n| i64::try_from(**n) != Ok(b.value)) {
            let said = format!("--dim fixes `{}` to {n}, but --bind says {}", b.symbol, b.value);
            return Err(Error::new(Code::Usage, said).help("leave out one of them"));
        }
    }
    let mut known: Vec<String> = Vec::new();
    for v in graph.inputs() {
        graph.ty(*v).visit_dims(&mut |d| d.visit_symbols(&mut |s| known.push(s.name().to_string())));
    }
    let unknown_one = |b: &&Bind| !known.contains(&b.symbol) && !fixed.contains_key(&b.symbol);
    match bind.iter().find(unknown_one) {
        Some(b) => Err(unknown("symbol in the inputs", &b.symbol, &known)),
        None => Ok(()),
    }
}

fn unknown(what: &str, name: &str, known: &[String]) -> Error {
    let error = Error::new(Code::UnknownName, format!("there is no {what} `{name}`"));
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => error,
        None => error.help(format!("there are: {}", known.join(", "))),
    }
}

fn sources(loaded: &Loaded, args: &InputArgs) -> Result<Vec<Source>> {
    let graph = &loaded.graph;
    let names: Vec<String> = graph.inputs().iter().map(|v| graph.value_name(*v)).collect();
    let expected = |i: usize| graph.ty(graph.inputs()[i]).as_tensor().map(|t| t.dtype);
    let ty = |i: usize| graph.ty(graph.inputs()[i]);
    let mut found: Vec<Option<Source>> = vec![None; names.len()];
    let mut rest: Option<Fill> = None;
    let mut put = |i: usize, source: Source| match found[i].replace(source) {
        None => Ok(()),
        Some(_) => Err(Error::new(Code::Usage, format!("the input `{}` is given twice", names[i]))),
    };
    for spec in &args.inputs {
        if let Some(fill) = fill(spec) {
            if rest.replace(fill).is_some_and(|before| before != fill) {
                return Err(Error::new(
                    Code::Usage,
                    "`--input random` and `--input zeros` contradict each other",
                ));
            }
            continue;
        }
        let split =
            spec.split_once('=').map(|(name, from)| (names.iter().position(|n| n == name), name, from));
        match split {
            Some((Some(i), _, from)) => match fill(from) {
                Some(fill) => put(i, Source::Made(fill))?,
                None => put(i, read(from, ty(i), args)?)?,
            },
            // The name may be missing: a path may hold the sign too.
            Some((None, name, _)) if !Path::new(spec).exists() => {
                return Err(unknown("input", name, &names));
            }
            _ if spec.ends_with(".npz") => {
                let dtype = |name: &str| names.iter().position(|n| n == name).and_then(expected);
                for (name, tensor) in npy::read_npz(Path::new(spec), dtype)? {
                    let Some(i) = names.iter().position(|n| *n == name) else {
                        return Err(unknown("input", &name, &names).at(lawson::Place::File(spec.clone())));
                    };
                    put(i, Source::Given(tensor.into()))?;
                }
            }
            _ if names.len() == 1 => put(0, read(spec, ty(0), args)?)?,
            _ => {
                return Err(Error::new(
                    Code::Usage,
                    format!("`--input {spec}` does not say for which of the {} inputs it is", names.len()),
                )
                .help("write NAME=FILE.npy"));
            }
        }
    }
    found
        .into_iter()
        .enumerate()
        .map(|(i, source)| {
            let own = || loaded.input.clone().filter(|_| i == 0 && rest.is_none());
            source.or_else(|| own().map(|t| Source::Given(t.into()))).or(rest.map(Source::Made)).ok_or_else(
                || {
                    Error::new(Code::InputMissing, format!("the input `{}` was not given", names[i])).help(
                        format!(
                            "it is {}; write --input {}=FILE.npy, or --input random",
                            graph.ty(graph.inputs()[i]),
                            names[i]
                        ),
                    )
                },
            )
        })
        .collect()
}

fn fill(text: &str) -> Option<Fill> {
    match text {
        "random" => Some(Fill::Random),
        "zeros" => Some(Fill::Zeros),
        _ => None,
    }
}

fn read(path: &str, ty: &Type, args: &InputArgs) -> Result<Source> {
    let path = Path::new(path);
    let (expected, kind) = match ty {
        Type::Tensor(t) if image::is_image(path) => {
            return image::read(path, t, &args.image).map(|t| Source::Given(t.into()));
        }
        Type::Tensor(t) => (Some(t.dtype), Kind::Tensor),
        Type::Sequence(_) => (None, Kind::Sequence),
        _ => (None, Kind::Optional),
    };
    load::read_value(path, expected, kind).map(Source::Given)
}

/// Makes the inputs that no file gives, of the sizes that the others leave.
fn make(
    graph: &Graph,
    sources: &[Source],
    args: &InputArgs,
    seed: u64,
    elements: Elements,
) -> Result<Vec<Value>> {
    let mut rng = Rng::new(seed);
    let known = known_symbols(graph, sources, &args.bind)?;
    let bindings = complete_bindings(&mut rng, graph, &known, MAX_DRAWN)?;
    check_memory(graph, sources, &bindings, options(args).max_bytes)?;
    let random = random_inputs(&mut rng, &only_made(graph, sources), &bindings, elements)?;
    sources
        .iter()
        .zip(graph.inputs())
        .zip(random)
        .map(|((source, v), random)| match source {
            Source::Given(value) => Ok(value.clone()),
            Source::Made(Fill::Random) => Ok(random),
            Source::Made(Fill::Zeros) => zeros(graph.ty(*v), &bindings),
        })
        .collect()
}

/// The graph's signature with the inputs that need no random elements made small.
fn only_made(graph: &Graph, sources: &[Source]) -> Graph {
    let mut parts = graph.clone().into_parts();
    for (source, v) in sources.iter().zip(&parts.inputs) {
        if !matches!(source, Source::Made(Fill::Random))
            && let Type::Tensor(t) = &mut parts.values[v.index()].ty
        {
            *t = lawson::graph::TensorType::scalar(t.dtype);
        }
    }
    Graph::from_parts(parts)
}

/// The symbols that `--bind` and the given inputs determine.
fn known_symbols(graph: &Graph, sources: &[Source], bind: &[Bind]) -> Result<Bindings> {
    let mut entries: Vec<(Dim, i64, String)> = Vec::new();
    for b in bind {
        entries.push((Dim::symbol(&b.symbol), b.value, format!("`{}` of --bind", b.symbol)));
    }
    for (source, v) in sources.iter().zip(graph.inputs()) {
        if let (Source::Given(Value::Tensor(have)), Type::Tensor(want)) = (source, graph.ty(*v)) {
            if have.sizes().len() != want.rank() {
                return Err(Error::new(
                    Code::InputType,
                    format!("the input `{}` is {want}, but {} came", graph.value_name(*v), have.ty()),
                ));
            }
            for (axis, (dim, size)) in want.shape.iter().zip(have.sizes()).enumerate() {
                let place = format!("axis {axis} of the input `{}`", graph.value_name(*v));
                entries.push((dim.clone(), i64::try_from(*size).unwrap_or(i64::MAX), place));
            }
        }
    }
    Bindings::solve(&entries, graph.facts())
}

/// Refuses to make inputs that the run could not hold anyway.
fn check_memory(graph: &Graph, sources: &[Source], bindings: &Bindings, limit: u64) -> Result<()> {
    let mut total = 0u64;
    for (source, v) in sources.iter().zip(graph.inputs()) {
        if let (Source::Made(_), Type::Tensor(t)) = (source, graph.ty(*v)) {
            let elements = bindings.eval(&t.shape.elements())?;
            // Eight bytes for each while they are made, and again while they are computed on.
            total = total.saturating_add(u64::try_from(elements).unwrap_or(0).saturating_mul(16));
        }
    }
    if total > limit {
        return Err(Error::new(
            Code::Budget,
            format!("making the inputs would take {total} bytes, of {limit}"),
        )
        .help("choose smaller sizes with --bind, or raise --max-bytes"));
    }
    Ok(())
}

fn zeros(ty: &Type, bindings: &Bindings) -> Result<Value> {
    Ok(match ty {
        Type::Tensor(t) => HostTensor::zeros(t.dtype, &bindings.eval_shape(&t.shape)?)?.into(),
        Type::Sequence(_) => Value::Sequence(Vec::new()),
        _ => Value::Optional(None),
    })
}

//! Reading the FILE of a command: a `.law` text, an `.onnx` model, a `.json` list, or standard input; for `check`, plans too.

use crate::args::{Bind, InputArgs, SizeArgs};
use lawson::graph::file::{io_error, read_text, read_text_file};
use lawson::graph::{Bindings, Graph, ParseOptions, Symbol, parse, read_law};
use lawson::kernel::{Plan, WrittenPlan};
use lawson::list::{ListOp, from_json, input_tensor, validate};
use lawson::onnx::{ImportOptions, Kind as ValueKind, Model, read_onnx, value_from_bytes};
use lawson::{Code, DType, Error, HostTensor, Place, Result, Value, npy};
use std::collections::BTreeMap;
use std::path::Path;

/// A graph, with the input that it brought along if it came as a list.
pub struct Loaded {
    pub graph: Graph,
    pub input: Option<HostTensor>,
    /// Inputs on whose elements the graph depends, because shapes do.
    pub known: Vec<String>,
    /// Sizes that were fixed when the file was read.
    pub fixed: BTreeMap<String, usize>,
}

/// What sizes a file is read for.
#[derive(Clone, Copy, Default)]
pub struct Sizing<'a> {
    /// Those that are fixed.
    pub dims: &'a [Bind],
    /// Those of a run, for which a model is imported.
    pub bind: &'a [Bind],
    /// Files whose sizes it is imported for.
    pub inputs: &'a [String],
    /// Whether sizes stay open all the same, where they can.
    pub open: bool,
}

impl InputArgs {
    /// The sizes that the file of a command is read for.
    pub fn sizing(&self) -> Sizing<'_> {
        Sizing { dims: &self.dims, bind: &self.bind, inputs: &self.inputs, open: self.open }
    }
}

impl SizeArgs {
    /// The sizes that the file of a command is read for.
    pub fn sizing(&self) -> Sizing<'_> {
        Sizing { dims: &self.dims, bind: &[], inputs: &self.inputs, open: self.open }
    }
}

impl From<Graph> for Loaded {
    fn from(graph: Graph) -> Loaded {
        Loaded { graph, input: None, known: Vec::new(), fixed: BTreeMap::new() }
    }
}

/// Reads a graph for certain sizes: some are fixed, and an ONNX model whose shapes depend on what inputs hold, or which cannot be imported with the
/// others open, is imported for those of the run.
pub fn open(file: &str, sizing: Sizing<'_>) -> Result<Loaded> {
    let fixed = numbers(sizing.dims)?;
    if !matches!(kind(file), Ok(Kind::Onnx)) {
        let loaded = graph(file)?;
        let graph = loaded.graph.with_sizes(&fixed).map_err(|e| at(e, file))?;
        return Ok(Loaded { graph, fixed, ..loaded });
    }
    let model = Model::read(Path::new(file))?;
    let given = given(&model, sizing.inputs);
    let import = |sizes: &BTreeMap<String, usize>| -> Result<Loaded> {
        let options = ImportOptions { sizes: sizes.clone(), ..ImportOptions::default() };
        let loaded = match given.is_empty() {
            true => Loaded::from(model.import(&options)?),
            false => {
                let made = model.import_for(&given, &options)?;
                Loaded { known: made.known, ..Loaded::from(made.graph) }
            }
        };
        Ok(Loaded { fixed: sizes.clone(), ..loaded })
    };
    let open = import(&fixed);
    // A model is compiled for the sizes that are there, if they say all.
    if let (false, Ok(loaded)) = (sizing.open, &open)
        && let Some(mut sizes) = sizes_of(&loaded.graph, &given, sizing.bind)
    {
        sizes.extend(fixed.clone());
        if let Ok(loaded) = import(&sizes) {
            return Ok(loaded);
        }
    }
    let holds = open.as_ref().is_ok_and(|l| is_good_for(&l.graph, sizing.bind));
    if holds || sizing.bind.is_empty() {
        return open;
    }
    let mut bound = numbers(sizing.bind)?;
    bound.extend(fixed);
    match (open, import(&bound)) {
        (_, Ok(loaded)) => Ok(loaded),
        (Err(open), Err(bound)) => Err(if bound.code() == Code::UnknownName { open } else { bound }),
        (open, Err(_)) => open,
    }
}

/// The sizes of all symbols of a graph's inputs, if given values and `--bind` say them all and agree; `None` if nothing is open.
fn sizes_of(
    graph: &Graph,
    given: &BTreeMap<String, Value>,
    bind: &[Bind],
) -> Option<BTreeMap<String, usize>> {
    let mut found: BTreeMap<String, usize> = numbers(bind).ok()?;
    let mut open: Vec<Symbol> = Vec::new();
    for v in graph.inputs() {
        let Some(ty) = graph.ty(*v).as_tensor() else { continue };
        let value = given.get(&graph.value_name(*v)).and_then(Value::as_tensor);
        for (axis, dim) in ty.shape.iter().enumerate() {
            dim.visit_symbols(&mut |s| open.push(s.clone()));
            if let (Some(symbol), Some(value)) = (dim.as_symbol(), value) {
                let size = *value.sizes().get(axis)?;
                if found.insert(symbol.name().to_string(), size).is_some_and(|before| before != size) {
                    return None;
                }
            }
        }
    }
    found.retain(|name, _| open.iter().any(|s| s.name() == name));
    let all = open.iter().all(|s| found.contains_key(s.name()));
    (all && !open.is_empty()).then_some(found)
}

/// Whether what a graph says of sizes holds for these.
fn is_good_for(graph: &Graph, bind: &[Bind]) -> bool {
    let mut bindings = Bindings::new();
    for b in bind {
        bindings.define(Symbol::new(&b.symbol), b.value, "--bind");
    }
    bindings.check(graph.facts()).is_ok()
}

/// Sizes by name, each given once.
fn numbers(sizes: &[Bind]) -> Result<BTreeMap<String, usize>> {
    let mut all = BTreeMap::new();
    for Bind { symbol, value } in sizes {
        let size = usize::try_from(*value).unwrap_or(usize::MAX);
        if all.insert(symbol.clone(), size).is_some_and(|before| before != size) {
            return Err(Error::new(Code::Usage, format!("the size `{symbol}` is given twice")));
        }
    }
    Ok(all)
}

/// The values of inputs that are in files. What cannot be read is left out: it is read again, and refused, when it is used.
fn given(model: &Model, specs: &[String]) -> BTreeMap<String, Value> {
    let declared = model.inputs();
    let mut given = BTreeMap::new();
    for spec in specs {
        if let Some((name, path)) = spec.split_once('=')
            && let Some(input) = declared.iter().find(|d| d.name == name)
        {
            let value = read_value(Path::new(path), None, input.kind).ok();
            given.extend(value.map(|v| (input.name.clone(), v)));
        } else if spec.ends_with(".npz") {
            let all = npy::read_npz(Path::new(spec), |_| None).unwrap_or_default();
            given.extend(all.into_iter().map(|(name, t)| (name, t.into())));
        } else if let [only] = declared.as_slice() {
            let value = read_value(Path::new(spec), None, only.kind).ok();
            given.extend(value.map(|v| (only.name.clone(), v)));
        }
    }
    given
}

/// Reads a value from a `.npy` file, or from a `.pb` file of ONNX test data.
pub fn read_value(path: &Path, expected: Option<DType>, kind: ValueKind) -> Result<Value> {
    if path.extension().is_some_and(|e| e == "npz") {
        return Err(Error::new(Code::Usage, "an .npz file holds tensors by name, and not one for one input")
            .at(Place::File(path.display().to_string()))
            .help("give the .npz without a name: its tensors are given to the inputs of their names"));
    }
    if path.extension().is_some_and(|e| e == "pb") {
        let bytes = std::fs::read(path).map_err(|e| io_error("read the value", path, &e))?;
        return value_from_bytes(bytes, kind)
            .map(|(_, value)| value)
            .map_err(|e| e.at(Place::File(path.display().to_string())));
    }
    npy::read(path, expected).map(Value::from)
}

/// Reads a graph as the file has it.
fn graph(file: &str) -> Result<Loaded> {
    match kind(file)? {
        Kind::Law => read_law(Path::new(file)).map(Loaded::from),
        Kind::Onnx => read_onnx(Path::new(file)).map(Loaded::from),
        Kind::List => lower(&list(file)?).map_err(|e| at(e, file)),
        Kind::Stdin => {
            let text = read_text(std::io::stdin().lock()).map_err(|e| at(e, file))?;
            text_graph(&text)
        }
    }
}

/// What a file holds that can be checked.
pub enum Checked {
    Graph(Box<Graph>),
    Plan(Box<WrittenPlan>),
}

/// Reads whatever can be checked: a plan by its first word, whatever the file is called, or a graph.
pub fn checked(file: &str, sizing: Sizing<'_>) -> Result<Checked> {
    let plan = |text: &str| Plan::read(text, Some(file)).map(|p| Checked::Plan(Box::new(p)));
    match kind(file) {
        Ok(Kind::Stdin) => {
            let text = read_text(std::io::stdin().lock()).map_err(|e| at(e, file))?;
            if is_plan(&text) {
                plan(&text)
            } else {
                let graph = text_graph(&text)?.graph;
                let graph = graph.with_sizes(&numbers(sizing.dims)?).map_err(|e| at(e, file))?;
                Ok(Checked::Graph(Box::new(graph)))
            }
        }
        Ok(_) => open(file, sizing).map(|l| Checked::Graph(Box::new(l.graph))),
        Err(unknown) => match read_text_file(Path::new(file)) {
            Ok(text) if is_plan(&text) => plan(&text),
            Ok(_) => Err(unknown),
            Err(error) => Err(error),
        },
    }
}

/// Whether a text says that it is a plan.
fn is_plan(text: &str) -> bool {
    // A mark before the first word is the reader's to refuse.
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines().map(str::trim_start).filter(|l| !l.is_empty() && !l.starts_with("//"));
    lines.next().is_some_and(|l| l.starts_with("lawson-plan"))
}

/// Reads a graph from what came by standard input.
fn text_graph(text: &str) -> Result<Loaded> {
    if text.trim_start().starts_with('{') {
        return lower(&from_json(text)?);
    }
    let options = ParseOptions { file: Some("<stdin>".to_string()), ..ParseOptions::default() };
    parse(text, &options).map(Loaded::from)
}

/// Reads a list.
pub fn list(file: &str) -> Result<Vec<ListOp>> {
    let text = match kind(file)? {
        Kind::Stdin => read_text(std::io::stdin().lock()).map_err(|e| at(e, file))?,
        Kind::List => read_text_file(Path::new(file))?,
        Kind::Law | Kind::Onnx => {
            return Err(at(Error::new(Code::FileFormat, "this is a graph, not a list"), file));
        }
    };
    from_json(&text).map_err(|e| at(e, file))
}

enum Kind {
    Law,
    Onnx,
    List,
    Stdin,
}

fn kind(file: &str) -> Result<Kind> {
    match Path::new(file).extension().and_then(|e| e.to_str()) {
        _ if file == "-" => Ok(Kind::Stdin),
        Some("law") => Ok(Kind::Law),
        Some("onnx") => Ok(Kind::Onnx),
        Some("json") => Ok(Kind::List),
        _ => Err(at(Error::new(Code::FileFormat, "the name does not say what the file is"), file)
            .help("graphs end in .law or .onnx, lists of operators in .json; - is standard input")),
    }
}

fn lower(list: &[ListOp]) -> Result<Loaded> {
    Ok(Loaded { input: input_tensor(list)?, ..Loaded::from(validate(list)?) })
}

/// Names the file in the error, once.
fn at(error: Error, file: &str) -> Error {
    let name = if file == "-" { "<stdin>" } else { file };
    error.at(Place::File(name.to_string()))
}

//! Reading the FILE of a command: a `.law` text, an `.onnx` model, a `.json` list, or standard input; for `check`, plans too.

use lawson::graph::file::{io_error, read_text, read_text_file};
use lawson::graph::{Graph, ParseOptions, parse, read_law};
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
}

impl From<Graph> for Loaded {
    fn from(graph: Graph) -> Loaded {
        Loaded { graph, input: None, known: Vec::new() }
    }
}

/// Reads a graph for the inputs that files give: where shapes of an ONNX model depend on what inputs hold, it is imported for
/// those.
pub fn graph_for(file: &str, inputs: &[String]) -> Result<Loaded> {
    if !matches!(kind(file), Ok(Kind::Onnx)) {
        return graph(file);
    }
    let model = Model::read(Path::new(file))?;
    let given = given(&model, inputs);
    let options = ImportOptions::default();
    if given.is_empty() {
        return model.import(&options).map(Loaded::from);
    }
    let made = model.import_for(&given, &options)?;
    Ok(Loaded { known: made.known, ..Loaded::from(made.graph) })
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
    if path.extension().is_some_and(|e| e == "pb") {
        let bytes = std::fs::read(path).map_err(|e| io_error("read the value", path, &e))?;
        return value_from_bytes(bytes, kind)
            .map(|(_, value)| value)
            .map_err(|e| e.at(Place::File(path.display().to_string())));
    }
    npy::read(path, expected).map(Value::from)
}

/// Reads a graph.
pub fn graph(file: &str) -> Result<Loaded> {
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
pub fn checked(file: &str) -> Result<Checked> {
    let plan = |text: &str| Plan::read(text, Some(file)).map(|p| Checked::Plan(Box::new(p)));
    match kind(file) {
        Ok(Kind::Stdin) => {
            let text = read_text(std::io::stdin().lock()).map_err(|e| at(e, file))?;
            if is_plan(&text) {
                plan(&text)
            } else {
                text_graph(&text).map(|l| Checked::Graph(Box::new(l.graph)))
            }
        }
        Ok(_) => graph(file).map(|l| Checked::Graph(Box::new(l.graph))),
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

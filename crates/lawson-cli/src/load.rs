//! Reading the FILE of a command: a `.law` text, a `.json` list, or standard input.

use lawson::graph::{Graph, ParseOptions, parse, read_law};
use lawson::list::{ListOp, from_json, input_tensor, validate};
use lawson::{Code, Error, HostTensor, Place, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The longest text that is read.
const MAX_TEXT: u64 = 1 << 30;

/// A graph, with the input that it brought along if it came as a list.
pub struct Loaded {
    pub graph: Graph,
    pub input: Option<HostTensor>,
}

/// Reads a graph.
pub fn graph(file: &str) -> Result<Loaded> {
    match kind(file)? {
        Kind::Law => read_law(Path::new(file)).map(|graph| Loaded { graph, input: None }),
        Kind::List => lower(&list(file)?).map_err(|e| at(e, file)),
        Kind::Stdin => {
            let text = read_text(std::io::stdin().lock()).map_err(|e| at(e, file))?;
            if text.trim_start().starts_with('{') {
                return lower(&from_json(&text)?);
            }
            let options = ParseOptions { file: Some("<stdin>".to_string()), ..ParseOptions::default() };
            parse(&text, &options).map(|graph| Loaded { graph, input: None })
        }
    }
}

/// Reads a list.
pub fn list(file: &str) -> Result<Vec<ListOp>> {
    let text = match kind(file)? {
        Kind::Stdin => read_text(std::io::stdin().lock()),
        Kind::List => File::open(file).map_err(io_error).and_then(read_text),
        Kind::Law => return Err(at(Error::new(Code::FileFormat, "this is a graph, not a list"), file)),
    };
    text.and_then(|text| from_json(&text)).map_err(|e| at(e, file))
}

enum Kind {
    Law,
    List,
    Stdin,
}

fn kind(file: &str) -> Result<Kind> {
    match Path::new(file).extension().and_then(|e| e.to_str()) {
        _ if file == "-" => Ok(Kind::Stdin),
        Some("law") => Ok(Kind::Law),
        Some("json") => Ok(Kind::List),
        _ => Err(at(Error::new(Code::FileFormat, "the name does not say what the file is"), file)
            .help("graphs end in .law, lists of operators in .json; - is standard input")),
    }
}

fn lower(list: &[ListOp]) -> Result<Loaded> {
    Ok(Loaded { graph: validate(list)?, input: input_tensor(list)? })
}

fn read_text(source: impl Read) -> Result<String> {
    let mut bytes = Vec::new();
    source.take(MAX_TEXT + 1).read_to_end(&mut bytes).map_err(io_error)?;
    if bytes.len() as u64 > MAX_TEXT {
        return Err(Error::new(Code::Budget, format!("more than {MAX_TEXT} bytes of text")));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Error::new(Code::FileFormat, format!("this is not text: byte {at} is not UTF-8"))
    })
}

fn io_error(error: std::io::Error) -> Error {
    Error::new(Code::Io, format!("cannot read: {error}"))
}

/// Names the file in the error, once.
fn at(error: Error, file: &str) -> Error {
    let name = if file == "-" { "<stdin>" } else { file };
    error.at(Place::File(name.to_string()))
}

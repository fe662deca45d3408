//! The text form (`.law`): graphs that people read, write, comment and keep in files.
//!
//! `print` and `Display` write a graph, `parse` and `Graph::parse` read one, `write_law` and `read_law` do the same with
//! files. Reading what was printed gives an equal graph: names, types, facts, placements and the bits of constants. (Ids
//! come back where values stand in the order inputs, then results node by node, which is how builders make them.)
//! The grammar is in `docs/text-form.md`. `lexer.rs` makes tokens, `cursor.rs` walks over them, `types.rs`,
//! `signature.rs` and `literal.rs` read the parts, `parse.rs` the whole; `print.rs` is the way back.

pub mod cursor;
pub mod lexer;
mod literal;
mod parse;
mod print;
mod scope;
mod side_file;
mod signature;
mod types;

pub use print::{Constants, PrintOptions};

use crate::composite::Registry;
use crate::error::{Code, Error, Place, Result};
use crate::file::{io_error, read_text_file, write_whole};
use crate::graph::Graph;
use std::ffi::OsStr;
use std::fmt;
use std::io::Write;
use std::path::Path;

/// How a text is read.
#[derive(Clone, Debug)]
pub struct ParseOptions<'a> {
    /// The text's name in errors.
    pub file: Option<String>,
    /// The folder in which side files are looked for. Without one, a text that names a side file is refused.
    pub folder: Option<&'a Path>,
    /// The composites that the text may name besides those that it defines.
    pub registry: &'a Registry,
}

impl Default for ParseOptions<'_> {
    fn default() -> Self {
        ParseOptions { file: None, folder: None, registry: Registry::standard() }
    }
}

/// Reads a graph from a text.
pub fn parse(text: &str, options: &ParseOptions<'_>) -> Result<Graph> {
    parse::Parser::new(text, options).file()
}

/// Prints a graph.
///
/// ```
/// use lawson_graph::{Constants, Graph, PrintOptions, print};
/// let graph = Graph::parse(
///     "lawson 1
///      graph @f() -> (y: i64[3]) { %y: i64[3] = constant [1, 2, 3] return %y }",
/// )?;
/// let options = PrintOptions { constants: Constants::Elide { above: 2 }, ..PrintOptions::default() };
/// assert!(print(&graph, &options).contains("%y: i64[3] = constant ...\n"));
/// # Ok::<(), lawson_graph::Error>(())
/// ```
pub fn print(graph: &Graph, options: &PrintOptions) -> String {
    print::print_graph(graph, options).text
}

impl Graph {
    /// Reads a graph from a text that has no side file and uses Lawson's own operators.
    ///
    /// ```
    /// use lawson_graph::Graph;
    /// let graph = Graph::parse(
    ///     "lawson 1
    ///      graph @double(%x: f32[N]) -> (y: f32[N]) {
    ///        %y = add %x, %x // the type follows
    ///        return %y
    ///      }",
    /// )?;
    /// assert_eq!(Graph::parse(&graph.to_string())?, graph);
    /// # Ok::<(), lawson_graph::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Graph> {
        parse(text, &ParseOptions::default())
    }
}

/// The whole text, constants inline.
impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self, &PrintOptions::default()))
    }
}

/// Reads a graph from a file of at most 1 GiB; its side file, which may be larger, lies in the same folder or below.
pub fn read_law(path: &Path) -> Result<Graph> {
    let text = read_text_file(path)?;
    let file = path.display().to_string();
    let folder = path.parent().unwrap_or(Path::new("."));
    let parsed = |folder: &Path| {
        let file = Some(file.clone());
        parse(&text, &ParseOptions { file, folder: Some(folder), ..ParseOptions::default() })
    };
    match parsed(folder) {
        // Of a link, the side file may stand beside what it leads to.
        Err(e) if e.code() == Code::Io && path.is_symlink() => {
            let target = std::fs::canonicalize(path).ok();
            target.as_deref().and_then(Path::parent).map_or(Err(e), parsed)
        }
        result => result,
    }
}

/// Writes a graph to a file. With `side_file_above`, constants of more elements than that go to a side file beside it, which has the name of the
/// text, a number that follows from its content, and the extension `safetensors`. So the text and its constants are always those of one graph,
/// whenever a write is interrupted: the old text has its old side file until the new text takes its place. Files appear whole or not at all, and
/// side files of this name to which no text in the folder refers any more are removed.
pub fn write_law(path: &Path, graph: &Graph, side_file_above: Option<usize>) -> Result<()> {
    // Side files stand beside what a link leads to.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let sides = match (side_file_above, target.extension(), target.file_stem().and_then(OsStr::to_str)) {
        (None, ..) => None,
        (Some(_), Some(extension), _) if extension == "safetensors" => {
            return Err(Error::new(Code::Usage, "a side file cannot be named after this file")
                .at(Place::File(path.display().to_string()))
                .help("name the file `NAME.law`"));
        }
        (Some(above), _, Some(stem)) => Some((above, side_file::Sides::new(&target, stem))),
        (Some(_), _, None) => {
            return Err(Error::new(Code::Usage, "a side file cannot be named after this file")
                .at(Place::File(path.display().to_string()))
                .help("name the file `NAME.law`"));
        }
    };
    let with_side = |name: &str, above: usize| {
        let constants = Constants::SideFile { name: name.to_string(), above };
        print::print_graph(graph, &PrintOptions { constants, ..PrintOptions::default() })
    };
    let write_text = |text: &str| {
        write_whole(path, |out| {
            let failed = |e| io_error("write the file", path, &e);
            out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(failed)
        })
    };
    let Some((above, sides)) = sides else {
        let options = PrintOptions { constants: Constants::Inline, ..PrintOptions::default() };
        return write_text(&print::print_graph(graph, &options).text);
    };
    // What goes to the side file does not depend on its name, which depends on that.
    let content = with_side(&sides.name(0), above).side;
    let name = sides.name(side_file::digest(&content));
    let text = with_side(&name, above).text;
    if content.is_empty() {
        write_text(&text)?;
        sides.remove_unused(None);
        return Ok(());
    }
    let side_path = target.with_file_name(&name);
    let write_side = || write_whole(&side_path, |out| side_file::write(out, &side_path, &content));
    // The side file first: a text never names one that is not there yet.
    write_side()?;
    let written = write_text(&text);
    if written.is_err() {
        sides.remove_unused(None);
        return written;
    }
    // Somebody who writes the same file may have found it unused until now.
    if !side_path.exists() {
        write_side()?;
    }
    sides.remove_unused(Some(&name));
    Ok(())
}

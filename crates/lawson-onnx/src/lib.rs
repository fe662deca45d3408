//! The ONNX front end: a model file into a typed graph.
//!
//! [`read_onnx`] reads a file, [`from_bytes`] a model in memory. Weights are not copied: a constant of the graph shares the
//! bytes that were read, or mapped. Dimensions that the model leaves open become symbols, and shape arithmetic on them is computed while
//! importing, so that a graph has shapes instead of nodes that compute them. What cannot be imported is an error that says
//! which node, and why; unknown operators are listed all at once.
//!
//! ```no_run
//! let graph = lawson_onnx::read_onnx("model.onnx".as_ref())?;
//! println!("{} nodes", graph.nodes().len());
//! # Ok::<(), lawson_graph::Error>(())
//! ```
//!
//! # The way of a model
//!
//! `decode.rs` reads the messages ([`proto`]) and checks versions; `survey.rs` looks for unknown operators; `import.rs` goes
//! through the nodes in order. What a name stands for is an item (`item.rs`): a value of the graph, a constant, or known
//! dimensions. Operators are listed in `op/table.rs` and built in the files of `op/`. Start reading in `import.rs`.
//!
//! The crate is part of Lawson; `lawson::onnx` is its public face.
#![deny(missing_docs)]

mod decode;
mod dims;
mod external;
mod fold;
mod function;
mod host;
mod import;
mod item;
mod map;
mod node;
mod op;
mod open;
mod order;
pub mod proto;
mod remedy;
mod same;
mod scope;
mod special;
mod survey;
mod tensor;
mod types;
mod value;

pub use host::host_functions;
pub use op::{DOMAINS, operators};
pub use value::{Kind, value_from_bytes};

use bytes::Bytes;
use lawson_graph::file::{io_error, place};
use lawson_graph::{Code, Error, Graph, HostTensor, Result, Value};
use map::FileBytes;
use prost::Message;
use special::Special;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a model is imported.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Where external data are looked for; without a folder, a model that has them is refused.
    pub folder: Option<PathBuf>,
    /// Inputs that are constants from now on, by name: sizes, axes or flags that the graph's shapes depend on.
    pub fixed: BTreeMap<String, HostTensor>,
    /// Sizes that are fixed, by the names that the model gives them, or that the graph gives those without one (`x_0` for the first axis of an
    /// input `x`). What could not be imported with open sizes can be for these, and is compiled for nothing else.
    pub sizes: BTreeMap<String, usize>,
}

/// A model that was read, and can be imported more than once.
#[derive(Debug)]
pub struct Model {
    proto: proto::ModelProto,
    opsets: decode::Opsets,
    folder: Option<PathBuf>,
    file: Option<PathBuf>,
    mapped: Option<Arc<FileBytes>>,
}

/// An input or an output as a model declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// What kind of value it is.
    pub kind: Kind,
}

/// A graph for certain inputs.
#[derive(Debug)]
pub struct Specialised {
    /// The graph. It has all inputs of the model.
    pub graph: Graph,
    /// The inputs on whose elements the graph depends: it is right only for runs in which they are the same.
    pub known: Vec<String>,
}

impl Model {
    /// Reads a model from its file. External data are looked for in its folder, and nowhere else.
    pub fn read(path: &Path) -> Result<Model> {
        let failed = |e: std::io::Error| io_error("read the model", path, &e);
        let size = std::fs::metadata(path).map_err(failed)?.len();
        decode::check_size(size).map_err(|e| e.at(place(path)))?;
        let file = FileBytes::open(path).map_err(failed)?;
        let mut model = Model::from_bytes(file.bytes().clone()).map_err(|e| e.at(place(path)))?;
        model.mapped = Some(Arc::new(file));
        model.folder = Some(path.parent().map(Path::to_path_buf).unwrap_or_default());
        model.file = Some(path.to_path_buf());
        Ok(model)
    }

    /// Reads a model from memory. Constants of its graphs share `bytes`.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Model> {
        let (proto, opsets) = decode::model(bytes.into())?;
        Ok(Model { proto, opsets, folder: None, file: None, mapped: None })
    }

    /// The inputs, without those that are constants.
    pub fn inputs(&self) -> Vec<Declared> {
        let Some(graph) = &self.proto.graph else { return Vec::new() };
        let constants: HashSet<&str> = graph.initializer.iter().filter_map(|t| t.name.as_deref()).collect();
        let inputs =
            graph.input.iter().filter(|i| !constants.contains(i.name.as_deref().unwrap_or_default()));
        inputs.map(value::declared).collect()
    }

    /// The outputs.
    pub fn outputs(&self) -> Vec<Declared> {
        self.proto.graph.iter().flat_map(|g| &g.output).map(value::declared).collect()
    }

    /// The operators of its nodes, those of bodies and functions included: domain and name, each once.
    pub fn operators(&self) -> BTreeSet<(String, String)> {
        survey::operators(&self.proto)
    }

    /// The graph of the model, for all inputs.
    pub fn import(&self, options: &ImportOptions) -> Result<Graph> {
        self.located(|options| self.import_as(options, &Special::default()), options)
    }

    /// The graph of the model for these inputs, by name, and for all others that are the same where it matters: where shapes
    /// or types depend on what an input holds, that is taken from here. What follows from shapes alone stays open, unless the graph would
    /// presuppose something of it: then it is imported for the sizes that these inputs have.
    pub fn import_for(
        &self,
        inputs: &BTreeMap<String, Value>,
        options: &ImportOptions,
    ) -> Result<Specialised> {
        let import =
            |options: &ImportOptions| special::import_for(inputs, |special| self.import_as(options, special));
        self.located(import, options).map(|(graph, known)| Specialised { graph, known })
    }

    fn import_as(&self, options: &ImportOptions, special: &Special<'_>) -> Result<Graph> {
        import::import(&self.proto, &self.opsets, options, special, self.mapped.as_ref())
    }

    fn located<T>(
        &self,
        import: impl FnOnce(&ImportOptions) -> Result<T>,
        options: &ImportOptions,
    ) -> Result<T> {
        let folder = options.folder.clone().or_else(|| self.folder.clone());
        let result = import(&ImportOptions { folder, ..options.clone() });
        result.map_err(|e| match &self.file {
            Some(path) => e.at(place(path)),
            None => e,
        })
    }
}

/// Reads a model from its file. External data are looked for in its folder, and nowhere else.
pub fn read_onnx(path: &Path) -> Result<Graph> {
    read_onnx_with(path, ImportOptions::default())
}

/// Reads a model from its file, with options. The folder is that of the file, unless the options name one.
pub fn read_onnx_with(path: &Path, options: ImportOptions) -> Result<Graph> {
    Model::read(path)?.import(&options)
}

/// Reads a model from memory. Constants of the graph share `bytes`.
pub fn from_bytes(bytes: impl Into<Bytes>, options: &ImportOptions) -> Result<Graph> {
    Model::from_bytes(bytes)?.import(options)
}

/// Reads a single tensor message, as the `.pb` files of ONNX test data hold them; returns its name too.
pub fn tensor_from_bytes(bytes: impl Into<Bytes>) -> Result<(String, HostTensor)> {
    let proto = proto::TensorProto::decode(bytes.into())
        .map_err(|e| Error::new(Code::OnnxModel, format!("this is not a tensor of ONNX: {e}")))?;
    let tensor = tensor::host_tensor(&proto, &mut external::External::new(None))?;
    Ok((proto.name.unwrap_or_default(), tensor))
}

//! The ONNX front end: a model file into a typed graph.
//!
//! [`read_onnx`] reads a file, [`from_bytes`] a model in memory. Weights are not copied: a constant of the graph shares the
//! bytes that were read. Dimensions that the model leaves open become symbols, and shape arithmetic on them is computed while
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
mod import;
mod item;
mod node;
mod op;
pub mod proto;
mod scope;
mod survey;
mod tensor;
mod types;

pub use op::operators;

use bytes::Bytes;
use lawson_graph::file::{io_error, place};
use lawson_graph::{Code, Error, Graph, HostTensor, Result};
use prost::Message;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How a model is imported.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Where external data are looked for; without a folder, a model that has them is refused.
    pub folder: Option<PathBuf>,
    /// Inputs that are constants from now on, by name: sizes, axes or flags that the graph's shapes depend on.
    pub fixed: BTreeMap<String, HostTensor>,
}

/// Reads a model from its file. External data are looked for in its folder, and nowhere else.
pub fn read_onnx(path: &Path) -> Result<Graph> {
    read_onnx_with(path, ImportOptions::default())
}

/// Reads a model from its file, with options. The folder is that of the file, unless the options name one.
pub fn read_onnx_with(path: &Path, mut options: ImportOptions) -> Result<Graph> {
    let failed = |e: std::io::Error| io_error("read the model", path, &e);
    let size = std::fs::metadata(path).map_err(failed)?.len();
    decode::check_size(size).map_err(|e| e.at(place(path)))?;
    let bytes = std::fs::read(path).map_err(failed)?;
    options.folder.get_or_insert_with(|| path.parent().map(Path::to_path_buf).unwrap_or_default());
    from_bytes(bytes, &options).map_err(|e| e.at(place(path)))
}

/// Reads a model from memory. Constants of the graph share `bytes`.
pub fn from_bytes(bytes: impl Into<Bytes>, options: &ImportOptions) -> Result<Graph> {
    let (model, opsets) = decode::model(bytes.into())?;
    import::import(&model, &opsets, options)
}

/// Reads a single tensor message, as the `.pb` files of ONNX test data hold them; returns its name too.
pub fn tensor_from_bytes(bytes: impl Into<Bytes>) -> Result<(String, HostTensor)> {
    let proto = proto::TensorProto::decode(bytes.into())
        .map_err(|e| Error::new(Code::OnnxModel, format!("this is not a tensor of ONNX: {e}")))?;
    let tensor = tensor::host_tensor(&proto, &mut external::External::new(None))?;
    Ok((proto.name.unwrap_or_default(), tensor))
}

//! What the fuzz targets do with bytes. The targets themselves only call this, and so does `corpus`, which goes through files
//! with any compiler.

use lawson_onnx::{ImportOptions, Model};

/// Reads a model and imports it: an error with a message, or a graph that the verifier accepts.
pub fn read_onnx(bytes: &[u8]) {
    let graph =
        Model::from_bytes(bytes.to_vec()).and_then(|model| model.import(&ImportOptions::default()));
    match graph {
        Ok(graph) => graph.verify().expect("what was imported is a graph"),
        Err(error) => assert!(!error.to_string().is_empty(), "an error says what is wrong"),
    }
}

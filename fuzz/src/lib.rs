//! What the fuzz targets do with bytes. The targets themselves only call this, and so does `corpus`, which goes through files
//! with any compiler.

use lawson_graph::{Code, HostTensor, Value};
use lawson_onnx::{ImportOptions, Model, host_functions};

/// Reads a model and imports it: an error with a message, or a graph that the verifier accepts.
pub fn read_onnx(bytes: &[u8]) {
    let graph =
        Model::from_bytes(bytes.to_vec()).and_then(|model| model.import(&ImportOptions::default()));
    match graph {
        Ok(graph) => graph.verify().expect("what was imported is a graph"),
        Err(error) => assert!(!error.to_string().is_empty(), "an error says what is wrong"),
    }
}

/// Decodes a picture: rows of pixels, or none, or an error that says that there are too many.
pub fn decode_picture(bytes: &[u8]) {
    let all = host_functions();
    let decode = all.get("onnx.ImageDecoder").expect("pictures are decoded");
    let data = HostTensor::from_slice(&[bytes.len()], bytes).expect("bytes are a tensor");
    match decode(&[Value::from(data), Value::from(HostTensor::scalar(0i64))]) {
        Ok(pixels) => assert_eq!(pixels.len(), 1),
        Err(error) => assert_eq!(error.code(), Code::HostCall, "{error}"),
    }
}

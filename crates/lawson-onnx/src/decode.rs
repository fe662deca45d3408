//! From bytes to the messages of a model, and what must hold before anything else is looked at.
//!
//! In: the bytes of a file. Out: a [`ModelProto`] whose raw data share those bytes, and the version of each operator set.
//! Checked here: the bytes are a protobuf message, there is a graph, the versions are ones that Lawson knows. Next:
//! `import.rs`.

use crate::proto::{ModelProto, OperatorSetIdProto};
use bytes::Bytes;
use lawson_graph::{Code, Error, Place, Result};
use prost::Message;
use std::collections::BTreeMap;

/// The oldest and the newest version of the file format.
const IR_VERSIONS: std::ops::RangeInclusive<i64> = 3..=14;

/// The oldest and the newest version of the standard operators. An operator that changed after the newest version listed for
/// it in `op/table.rs` is refused there.
pub(crate) const OPSET_VERSIONS: std::ops::RangeInclusive<i64> = 1..=28;

/// The longest file that is read, in bytes: the limit of the format itself, which protobuf sets. Larger weights belong in
/// external data.
const MAX_FILE: u64 = (1 << 31) - 1;

/// The version of each operator set that a model imports, by domain; the standard domain is the empty text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Opsets(BTreeMap<String, i64>);

/// The domain under one spelling: `ai.onnx` is another name of the standard domain.
pub(crate) fn canonical_domain(domain: Option<&str>) -> &str {
    match domain {
        None | Some("ai.onnx") => "",
        Some(other) => other,
    }
}

/// The domain as it is written for a reader.
pub(crate) fn spelled(domain: &str) -> &str {
    if domain.is_empty() { "ai.onnx" } else { domain }
}

impl Opsets {
    pub(crate) fn new(imports: &[OperatorSetIdProto]) -> Result<Opsets> {
        let mut versions = BTreeMap::new();
        for import in imports {
            let domain = canonical_domain(import.domain.as_deref());
            let version = import.version.unwrap_or(0);
            if domain.is_empty() && !OPSET_VERSIONS.contains(&version) {
                let (from, to) = (OPSET_VERSIONS.start(), OPSET_VERSIONS.end());
                return Err(Error::new(
                    Code::OnnxVersion,
                    format!(
                        "the model uses version {version} of the ONNX operators; Lawson reads {from} to {to}"
                    ),
                )
                .at(Place::Field("opset_import".to_string()))
                .help("convert the model with ONNX's version converter, or export it at another opset"));
            }
            if let Some(other) = versions.insert(domain.to_string(), version).filter(|v| *v != version) {
                let domain = spelled(domain);
                return Err(Error::new(
                    Code::OnnxModel,
                    format!(
                        "the model uses versions {other} and {version} of the operators of {domain} at once"
                    ),
                )
                .at(Place::Field("opset_import".to_string()))
                .help("each domain has one version: remove the entry that the nodes are not written in"));
            }
        }
        Ok(Opsets(versions))
    }

    /// The version of a domain that the model imports.
    pub(crate) fn version(&self, domain: &str) -> Option<i64> {
        self.0.get(domain).copied()
    }
}

/// Refuses a file that is longer than the format allows.
pub(crate) fn check_size(bytes: u64) -> Result<()> {
    if bytes <= MAX_FILE {
        return Ok(());
    }
    Err(Error::new(Code::Budget, format!("the model has {bytes} bytes, the format allows {MAX_FILE}"))
        .help("save the weights as external data"))
}

/// What to do with bytes that begin like those of another format.
fn resembles(bytes: &[u8]) -> Option<&'static str> {
    let starts = |mark: &[u8]| bytes.starts_with(mark);
    let safetensors = bytes
        .first_chunk::<8>()
        .is_some_and(|n| u64::from_le_bytes(*n) < bytes.len() as u64 && bytes.get(8) == Some(&b'{'));
    Some(match () {
        () if starts(b"version https://git-lfs") => {
            "it is a pointer of Git LFS: `git lfs pull` brings the model"
        }
        () if starts(b"PK\x03\x04") => {
            "it is a zip archive: unpack it, or export a saved PyTorch model with `torch.onnx.export`"
        }
        () if starts(b"\x1f\x8b") => "it is compressed with gzip: unpack it",
        () if starts(b"\x89PNG") || starts(b"\xff\xd8\xff") => {
            "it is a picture, which may be an input of a model"
        }
        () if starts(b"\x89HDF") => "it is a file of HDF5, as Keras writes them: convert the model to ONNX",
        () if starts(b"GGUF") => {
            "it is a file of GGUF, which has weights and no graph: export the model to ONNX"
        }
        () if bytes.get(4..8) == Some(b"TFL3") => "it is a model of TensorFlow Lite: convert it to ONNX",
        () if safetensors => {
            "it is a file of safetensors, which has weights and no graph: export the model to ONNX"
        }
        () if starts(b"<") => "it is a page of the web, perhaps of a download that failed",
        () if starts(b"{") => "it is JSON: save the model in the binary form of ONNX",
        () => return None,
    })
}

/// Reads the messages of a model.
pub(crate) fn model(bytes: Bytes) -> Result<(ModelProto, Opsets)> {
    let length = bytes.len();
    check_size(length as u64)?;
    if length == 0 {
        return Err(Error::new(Code::OnnxModel, "the model is empty: it has no bytes")
            .help("a download or an export that failed may leave such a file"));
    }
    let other_format = resembles(&bytes).unwrap_or("the file may be cut off, or of another format");
    let mut rest = bytes;
    let mut model = ModelProto::default();
    model.merge(&mut rest).map_err(|e| {
        let at = length - rest.len();
        Error::new(Code::OnnxModel, format!("this is not an ONNX model: near byte {at} of {length}: {e}"))
            .help(other_format)
    })?;
    let (from, to) = (IR_VERSIONS.start(), IR_VERSIONS.end());
    let at_version = |error: Error| error.at(Place::Field("ir_version".to_string()));
    match model.ir_version {
        Some(version) if IR_VERSIONS.contains(&version) => {}
        Some(version) => {
            let said = format!("the model has version {version} of the format; Lawson reads {from} to {to}");
            return Err(at_version(Error::new(Code::OnnxVersion, said)).help(
                "save the model with an `ir_version` that is read, as `onnx.helper.make_model` takes one",
            ));
        }
        None => {
            let said =
                format!("the model does not say its version of the format; Lawson reads {from} to {to}");
            return Err(at_version(Error::new(Code::OnnxVersion, said)).help(other_format));
        }
    }
    if model.graph.is_none() {
        return Err(Error::new(Code::OnnxModel, "the model has no graph")
            .at(Place::Field("graph".to_string()))
            .help(other_format));
    }
    if model.opset_import.is_empty() {
        return Err(Error::new(Code::OnnxModel, "the model does not say which operator sets it uses")
            .at(Place::Field("opset_import".to_string()))
            .help(
                "say the version of ai.onnx that the nodes are written in, as `onnx.helper.make_model` does",
            ));
    }
    let opsets = Opsets::new(&model.opset_import)?;
    Ok((model, opsets))
}

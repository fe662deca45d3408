//! Values as files of test data hold them: a tensor, a sequence or an optional, each a message of its own.
//!
//! Nothing in such a file says which of the messages it is; the model's declaration of the input or output does.

use crate::external::External;
use crate::proto::{OptionalProto, SequenceProto, TensorProto, TypeValue, ValueInfoProto};
use crate::tensor::host_tensor;
use crate::{Declared, proto};
use bytes::Bytes;
use lawson_graph::{Code, Error, HostTensor, Result, Value};
use prost::Message;

/// What kind of value an input or an output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A tensor.
    Tensor,
    /// A list of tensors.
    Sequence,
    /// A value that may be absent.
    Optional,
    /// Something that Lawson has no values for: a map, a sparse tensor.
    Other,
}

/// A declaration as far as it says what kind of value it is about.
pub(crate) fn declared(info: &ValueInfoProto) -> Declared {
    let kind = match info.r#type.as_ref().and_then(|t| t.value.as_ref()) {
        Some(TypeValue::Tensor(_)) | None => Kind::Tensor,
        Some(TypeValue::Sequence(_)) => Kind::Sequence,
        Some(TypeValue::Optional(_)) => Kind::Optional,
        Some(_) => Kind::Other,
    };
    Declared { name: info.name.clone().unwrap_or_default(), kind }
}

fn decode<M: Message + Default>(bytes: Bytes, what: &str) -> Result<M> {
    M::decode(bytes).map_err(|e| Error::new(Code::OnnxModel, format!("this is not {what} of ONNX: {e}")))
}

fn tensor(proto: &TensorProto) -> Result<HostTensor> {
    host_tensor(proto, &mut External::new(None))
}

/// Reads a value of that kind; returns its name too.
pub fn value_from_bytes(bytes: impl Into<Bytes>, kind: Kind) -> Result<(String, Value)> {
    let bytes = bytes.into();
    match kind {
        Kind::Tensor => {
            let proto: TensorProto = decode(bytes, "a tensor")?;
            let tensor = tensor(&proto)?;
            Ok((proto.name.unwrap_or_default(), tensor.into()))
        }
        Kind::Sequence => {
            let proto: SequenceProto = decode(bytes, "a sequence")?;
            Ok((proto.name.clone().unwrap_or_default(), sequence(&proto)?))
        }
        Kind::Optional => {
            let proto: OptionalProto = decode(bytes, "an optional")?;
            let content = match &proto {
                OptionalProto { tensor_value: Some(t), .. } => Some(tensor(t)?.into()),
                OptionalProto { sequence_value: Some(s), .. } => Some(sequence(s)?),
                _ => None,
            };
            Ok((proto.name.unwrap_or_default(), Value::Optional(content.map(Box::new))))
        }
        Kind::Other => Err(Error::new(Code::OnnxUnsupported, "Lawson has no values of this kind")),
    }
}

fn sequence(proto: &proto::SequenceProto) -> Result<Value> {
    if !(proto.sequence_values.is_empty() && proto.map_values.is_empty() && proto.optional_values.is_empty())
    {
        return Err(Error::new(Code::OnnxUnsupported, "a sequence of something else than tensors"));
    }
    proto.tensor_values.iter().map(tensor).collect::<Result<_>>().map(Value::Sequence)
}

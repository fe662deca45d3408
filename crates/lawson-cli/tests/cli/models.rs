//! Small ONNX models and tensors, written by tests.

use lawson::onnx::proto::*;
use prost::Message;

pub(crate) const F32: i32 = 1;
pub(crate) const I64: i32 = 7;
pub(crate) const BOOL: i32 = 9;

pub(crate) fn floats(name: &str, elements: &[f32]) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        dims: vec![elements.len() as i64],
        data_type: Some(F32),
        float_data: elements.to_vec(),
        ..TensorProto::default()
    }
}

pub(crate) fn ints(name: &str, elements: &[i64]) -> TensorProto {
    TensorProto {
        data_type: Some(I64),
        float_data: Vec::new(),
        int64_data: elements.to_vec(),
        ..floats(name, &vec![0.0; elements.len()])
    }
}

pub(crate) fn info(name: &str, dtype: i32, dims: &[i64]) -> ValueInfoProto {
    let dim = |d: &i64| DimensionProto { value: Some(DimensionValue::Value(*d)) };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let value = Some(TypeValue::Tensor(TensorTypeProto { elem_type: Some(dtype), shape }));
    ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { value }) }
}

pub(crate) fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let names = |all: &[&str]| all.iter().map(ToString::to_string).collect();
    NodeProto {
        op_type: Some(op.into()),
        input: names(inputs),
        output: names(outputs),
        ..NodeProto::default()
    }
}

pub(crate) fn model(
    inputs: Vec<ValueInfoProto>,
    nodes: Vec<NodeProto>,
    outputs: Vec<ValueInfoProto>,
) -> Vec<u8> {
    let graph = GraphProto {
        name: Some("case".into()),
        node: nodes,
        input: inputs,
        output: outputs,
        ..GraphProto::default()
    };
    let opset = OperatorSetIdProto { domain: None, version: Some(18) };
    ModelProto { ir_version: Some(9), opset_import: vec![opset], graph: Some(graph), ..ModelProto::default() }
        .encode_to_vec()
}

/// A model of one operator, `y = op(x)` on f32[2].
pub(crate) fn unary(op: &str) -> Vec<u8> {
    model(vec![info("x", F32, &[2])], vec![node(op, &["x"], &["y"])], vec![info("y", F32, &[2])])
}

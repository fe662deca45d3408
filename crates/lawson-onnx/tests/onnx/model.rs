//! Writes small models: the messages of the format, put together and encoded.

use bytes::Bytes;
use lawson_graph::interp::{Options, run};
use lawson_graph::{DType, Element, Graph, HostTensor, Result, Value};
use lawson_onnx::proto::*;
use lawson_onnx::{ImportOptions, from_bytes};
use prost::Message;

/// The number of an element type in the format.
pub fn number(dtype: DType) -> i32 {
    match dtype {
        DType::F32 => 1,
        DType::U8 => 2,
        DType::I8 => 3,
        DType::U16 => 4,
        DType::I16 => 5,
        DType::I32 => 6,
        DType::I64 => 7,
        DType::Str => 8,
        DType::Bool => 9,
        DType::F16 => 10,
        DType::F64 => 11,
        DType::U32 => 12,
        DType::U64 => 13,
        DType::BF16 => 16,
        DType::F8E4M3 => 17,
        DType::F8E4M3Fnuz => 18,
        DType::F8E5M2 => 19,
        DType::F8E5M2Fnuz => 20,
        DType::U4 => 21,
        DType::I4 => 22,
        DType::F4E2M1 => 23,
        DType::F8E8M0 => 24,
        DType::U2 => 25,
        DType::I2 => 26,
        other => panic!("{other} has no number here"),
    }
}

/// A constant with raw data.
pub fn tensor(name: &str, t: &HostTensor) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        dims: t.sizes().iter().map(|s| *s as i64).collect(),
        data_type: Some(number(t.dtype())),
        raw_data: Some(t.bytes().clone()),
        ..TensorProto::default()
    }
}

pub fn host<T: Element>(sizes: &[usize], elements: &[T]) -> HostTensor {
    HostTensor::from_slice(sizes, elements).unwrap()
}

/// An input whose dimensions are numbers, names, or `?` for nothing.
pub fn input(name: &str, dtype: DType, dims: &[&str]) -> ValueInfoProto {
    let dim = |d: &&str| DimensionProto {
        value: match d.parse() {
            Ok(n) => Some(DimensionValue::Value(n)),
            Err(_) if *d == "?" => None,
            Err(_) => Some(DimensionValue::Param(d.to_string())),
        },
    };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let tensor = TensorTypeProto { elem_type: Some(number(dtype)), shape };
    ValueInfoProto {
        name: Some(name.into()),
        r#type: Some(TypeProto { value: Some(TypeValue::Tensor(tensor)) }),
    }
}

pub fn output(name: &str) -> ValueInfoProto {
    ValueInfoProto { name: Some(name.into()), r#type: None }
}

/// A node; names are separated by spaces, `-` is an absent operand.
pub fn node(op: &str, inputs: &str, outputs: &str) -> NodeProto {
    let names = |text: &str| -> Vec<String> {
        text.split_whitespace().map(|n| if n == "-" { String::new() } else { n.to_string() }).collect()
    };
    NodeProto {
        op_type: Some(op.into()),
        input: names(inputs),
        output: names(outputs),
        ..NodeProto::default()
    }
}

fn attribute(name: &str, kind: i32) -> AttributeProto {
    AttributeProto { name: Some(name.into()), r#type: Some(kind), ..AttributeProto::default() }
}

impl With for NodeProto {
    fn with(mut self, attribute: AttributeProto) -> NodeProto {
        self.attribute.push(attribute);
        self
    }
}

/// Adding attributes to a node.
pub trait With: Sized {
    fn with(self, attribute: AttributeProto) -> Self;

    fn int(self, name: &str, value: i64) -> Self {
        self.with(AttributeProto { i: Some(value), ..attribute(name, attribute_type::INT) })
    }

    fn ints(self, name: &str, values: &[i64]) -> Self {
        self.with(AttributeProto { ints: values.to_vec(), ..attribute(name, attribute_type::INTS) })
    }

    fn float(self, name: &str, value: f32) -> Self {
        self.with(AttributeProto { f: Some(value), ..attribute(name, attribute_type::FLOAT) })
    }

    fn floats(self, name: &str, values: &[f32]) -> Self {
        self.with(AttributeProto { floats: values.to_vec(), ..attribute(name, attribute_type::FLOATS) })
    }

    fn text(self, name: &str, value: &str) -> Self {
        let s = Some(Bytes::copy_from_slice(value.as_bytes()));
        self.with(AttributeProto { s, ..attribute(name, attribute_type::STRING) })
    }

    fn tensor(self, name: &str, value: &HostTensor) -> Self {
        self.with(AttributeProto { t: Some(tensor("", value)), ..attribute(name, attribute_type::TENSOR) })
    }

    fn graph(self, name: &str, value: GraphProto) -> Self {
        self.with(AttributeProto { g: Some(value), ..attribute(name, attribute_type::GRAPH) })
    }
}

/// A graph; outputs are separated by spaces.
pub fn graph(
    inputs: Vec<ValueInfoProto>,
    constants: &[(&str, HostTensor)],
    nodes: Vec<NodeProto>,
    outputs: &str,
) -> GraphProto {
    GraphProto {
        name: Some("test".into()),
        input: inputs,
        initializer: constants.iter().map(|(name, t)| tensor(name, t)).collect(),
        node: nodes,
        output: outputs.split_whitespace().map(output).collect(),
        ..GraphProto::default()
    }
}

/// A model in a version of the standard operators.
pub fn model(version: i64, graph: GraphProto) -> ModelProto {
    ModelProto {
        ir_version: Some(9),
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(version) }],
        graph: Some(graph),
        ..ModelProto::default()
    }
}

pub fn encode(model: &ModelProto) -> Vec<u8> {
    model.encode_to_vec()
}

pub fn import(model: &ModelProto) -> Result<Graph> {
    from_bytes(encode(model), &ImportOptions::default())
}

/// The graph of a model at opset 18.
pub fn import_graph(graph: GraphProto) -> Result<Graph> {
    import(&model(18, graph))
}

/// The tensors that a graph gives.
pub fn eval(graph: &Graph, inputs: &[HostTensor]) -> Vec<HostTensor> {
    let inputs: Vec<Value> = inputs.iter().cloned().map(Value::from).collect();
    let values = run(graph, &inputs, &Options::default()).unwrap();
    values.iter().map(|v| v.as_tensor().unwrap().clone()).collect()
}

/// The names of the operators of a graph, in order.
pub fn ops(graph: &Graph) -> Vec<&str> {
    graph.nodes().iter().map(|n| n.op.name()).collect()
}

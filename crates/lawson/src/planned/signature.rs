//! What is left of a graph when it was compiled: the types of its inputs and outputs.

use lawson_graph::{
    Bindings, Code, DType, Def, Error, Graph, GraphParts, Place, Result, Side, TensorType, Value, ValueId,
    ValueInfo, interp,
};
use lawson_kernel::{Plan, ValuePort};

/// The dtype of a tensor and its sizes.
pub(crate) type Sizes = (DType, Vec<usize>);

/// What is left of the graph: it has the constants, which must not stay.
pub(super) struct Signature {
    /// A graph of the same inputs and facts, without nodes.
    pub(super) inputs: Graph,
    /// Names, and types of those that have bytes: the others are values of the host.
    pub(super) outputs: Vec<(String, Option<TensorType>)>,
    /// Whether all inputs have bytes.
    pub(super) plain: bool,
}

impl Signature {
    pub(super) fn new(graph: &Graph, plan: &Plan) -> Signature {
        let values = graph.inputs().iter().enumerate().map(|(n, v)| ValueInfo {
            def: Def::Input(n),
            name: Some(graph.value_name(*v).into()),
            ..graph.value(*v).clone()
        });
        let of_host = |n: usize| {
            plan.buffers
                .iter()
                .any(|b| matches!(b.place, lawson_kernel::Place::Value(ValuePort::Output(m)) if n == m))
        };
        let output = |(n, o): (usize, &lawson_graph::Output)| {
            let ty = graph.ty(o.value).as_tensor().filter(|_| !of_host(n)).cloned();
            (o.name.clone(), ty)
        };
        let has_bytes = |v: &ValueId| graph.ty(*v).as_tensor().is_some_and(|t| t.dtype != DType::Str);
        Signature {
            outputs: graph.outputs().iter().enumerate().map(output).collect(),
            plain: graph.inputs().iter().all(has_bytes),
            inputs: Graph::from_parts(GraphParts {
                name: graph.name().to_string(),
                facts: graph.facts().clone(),
                values: values.collect(),
                nodes: Vec::new(),
                inputs: (0..graph.inputs().len()).map(ValueId::new).collect(),
                outputs: Vec::new(),
            }),
        }
    }

    pub(super) fn place(&self, n: usize) -> Place {
        let name = self.inputs.inputs().get(n).map_or_else(String::new, |v| self.inputs.value_name(*v));
        Place::Port { side: Side::Input, name }
    }

    /// The sizes of inputs that all have bytes.
    pub(super) fn sizes<'v>(&self, inputs: &'v [Value]) -> Result<Vec<(DType, &'v [usize])>> {
        let size = |(n, v): (usize, &'v Value)| {
            let wrong = || Error::new(Code::InputType, "the input is not a tensor");
            let tensor = v.as_tensor().ok_or_else(|| wrong().at(self.place(n)))?;
            Ok((tensor.dtype(), tensor.sizes()))
        };
        inputs.iter().enumerate().map(size).collect()
    }

    /// The sizes of the outputs that have bytes.
    pub(super) fn output_sizes(&self, bindings: &Bindings) -> Result<Vec<Option<Sizes>>> {
        let size = |ty: &TensorType| Ok((ty.dtype, bindings.eval_shape(&ty.shape)?));
        self.outputs.iter().map(|(_, ty)| ty.as_ref().map(size).transpose()).collect()
    }

    /// The values of symbols for inputs of these sizes.
    pub(super) fn bind(&self, inputs: &[Sizes]) -> Result<Bindings> {
        interp::bind_sizes(&self.inputs, inputs.iter().map(|(d, n)| (*d, n.as_slice())))
    }
}

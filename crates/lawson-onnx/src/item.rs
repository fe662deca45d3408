//! What a name of a model stands for while it is imported.
//!
//! A value of the graph; or a tensor that is known: a constant, or integers that are dimension expressions, which is what
//! shape arithmetic is made of. What is known becomes a node of the graph only when an operator needs it there
//! (`scope.rs`), so that `Reshape(x, Concat(Shape(x)…))` leaves nothing but the reshape.

use lawson_graph::{Builder, DType, Dim, HostTensor, Op, Result, Shape, ValueId, op};

/// The most elements of a tensor whose content is looked at while importing.
pub(crate) const MAX_KNOWN: usize = 4096;

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// A value of the graph that is being built.
    Value(ValueId),
    /// A tensor of the model.
    Constant(HostTensor),
    /// Integers that depend on symbols.
    Dims(DimTensor),
}

/// An i64 tensor of dimension expressions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DimTensor {
    /// The sizes; their product is the number of dims.
    pub(crate) sizes: Vec<usize>,
    /// The elements, row-major.
    pub(crate) dims: Vec<Dim>,
}

impl From<ValueId> for Item {
    fn from(value: ValueId) -> Item {
        Item::Value(value)
    }
}

impl From<DimTensor> for Item {
    /// Constants where no element depends on a symbol.
    fn from(t: DimTensor) -> Item {
        let constants: Option<Vec<i64>> = t.dims.iter().map(Dim::as_const).collect();
        match constants.and_then(|c| HostTensor::from_slice(&t.sizes, &c).ok()) {
            Some(tensor) => Item::Constant(tensor),
            None => Item::Dims(t),
        }
    }
}

impl DimTensor {
    /// A vector.
    pub(crate) fn vector(dims: Vec<Dim>) -> DimTensor {
        DimTensor { sizes: vec![dims.len()], dims }
    }

    /// A scalar.
    pub(crate) fn scalar(dim: Dim) -> DimTensor {
        DimTensor { sizes: Vec::new(), dims: vec![dim] }
    }
}

impl Item {
    /// The integers, if they are known and few.
    pub(crate) fn dims(&self) -> Option<DimTensor> {
        match self {
            Item::Value(_) => None,
            Item::Dims(t) => Some(t.clone()),
            Item::Constant(t) if t.len() <= MAX_KNOWN && t.dtype().int_range().is_some() => {
                let element = |i| i64::try_from(t.int_at(i)).ok().map(Dim::from);
                let dims = (0..t.len()).map(element).collect::<Option<_>>()?;
                Some(DimTensor { sizes: t.sizes().to_vec(), dims })
            }
            Item::Constant(_) => None,
        }
    }

    /// The tensor, if it is a constant.
    pub(crate) fn constant(&self) -> Option<&HostTensor> {
        match self {
            Item::Constant(t) => Some(t),
            _ => None,
        }
    }

    /// The dtype and the shape.
    pub(crate) fn tensor_type(&self, b: &Builder<'_>) -> Result<(DType, Shape)> {
        Ok(match self {
            Item::Value(v) => (b.dtype(*v)?, b.shape(*v)?),
            Item::Constant(t) => (t.dtype(), t.ty().shape),
            Item::Dims(t) => (DType::I64, Shape::from(t.sizes.as_slice())),
        })
    }

    /// The item as a value of the graph: what is known becomes a node.
    pub(crate) fn build(&self, b: &mut Builder<'static>) -> Result<ValueId> {
        match self {
            Item::Value(v) => Ok(*v),
            Item::Constant(t) => b.constant(t.clone()),
            Item::Dims(t) => {
                let flat = b.op1(Op::Dims(op::Dims { dims: t.dims.clone() }), &[])?;
                b.reshape(flat, Shape::from(t.sizes.as_slice()))
            }
        }
    }
}

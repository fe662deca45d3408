//! What a name of a model stands for while it is imported.
//!
//! A value of the graph; or a tensor that is known: a constant, or integers that are dimension expressions, which is what
//! shape arithmetic is made of. What is known becomes a node of the graph only when an operator needs it there
//! (`scope.rs`), so that `Reshape(x, Concat(Shape(x)…))` leaves nothing but the reshape.
//!
//! Sequences and optionals, too, are mostly known while importing: how long a list is, whether something is there. They are
//! lists of items here, and leave no trace in the graph unless they are its outputs.

use lawson_graph::op::{Dims, OptNone, SeqMake};
use lawson_graph::{
    Builder, Code, DType, Dim, Error, HostTensor, Op, Result, SequenceType, Shape, TensorType, Type, ValueId,
};

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
    /// A value of the graph whose elements are those, in the runs that the model is imported for.
    Known(ValueId, HostTensor),
    /// A list of tensors.
    Sequence(List),
    /// Something, or nothing of a type that may be said.
    Optional(Maybe),
}

/// What is there or is not.
#[derive(Clone, Debug)]
pub(crate) enum Maybe {
    /// This is there.
    Some(Box<Item>),
    /// Nothing; of which type, if that is said.
    None(Option<Type>),
}

/// A list of tensors whose length is known.
#[derive(Clone, Debug)]
pub(crate) struct List {
    /// The dtype of all elements.
    pub(crate) dtype: DType,
    /// The elements.
    pub(crate) items: Vec<Item>,
}

/// A tensor of dimension expressions. Exporters compute shapes in i32 as well as in i64; a size that does not fit there
/// is one that no tensor has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DimTensor {
    /// The dtype: i64 or i32.
    pub(crate) dtype: DType,
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
        let constants: Option<Vec<i128>> = t.dims.iter().map(|d| d.as_const().map(i128::from)).collect();
        match constants.and_then(|c| HostTensor::from_ints(t.dtype, &t.sizes, &c).ok()) {
            Some(tensor) => Item::Constant(tensor),
            None => Item::Dims(t),
        }
    }
}

impl DimTensor {
    /// A vector, in i64.
    pub(crate) fn vector(dims: Vec<Dim>) -> DimTensor {
        DimTensor { dtype: DType::I64, sizes: vec![dims.len()], dims }
    }

    /// A scalar, in i64.
    pub(crate) fn scalar(dim: Dim) -> DimTensor {
        DimTensor { dtype: DType::I64, sizes: Vec::new(), dims: vec![dim] }
    }

    /// The same numbers in another dtype.
    pub(crate) fn of(self, dtype: DType) -> DimTensor {
        DimTensor { dtype, ..self }
    }
}

impl Item {
    /// The integers, if they are known and few. Of constants, they may be of any dtype of integers.
    pub(crate) fn dims(&self) -> Option<DimTensor> {
        match self {
            Item::Dims(t) => Some(t.clone()),
            Item::Constant(t) | Item::Known(_, t)
                if t.len() <= MAX_KNOWN && t.dtype().int_range().is_some() =>
            {
                let element = |i| i64::try_from(t.int_at(i)).ok().map(Dim::from);
                let dims = (0..t.len()).map(element).collect::<Option<_>>()?;
                Some(DimTensor { dtype: t.dtype(), sizes: t.sizes().to_vec(), dims })
            }
            _ => None,
        }
    }

    /// The tensor, if its elements are known.
    pub(crate) fn constant(&self) -> Option<&HostTensor> {
        match self {
            Item::Constant(t) | Item::Known(_, t) => Some(t),
            _ => None,
        }
    }

    /// The value of the graph that it is already.
    pub(crate) fn as_value(&self) -> Option<ValueId> {
        match self {
            Item::Value(v) | Item::Known(v, _) => Some(*v),
            _ => None,
        }
    }

    /// Whether it stands for values of the graph that is being built.
    pub(crate) fn has_values(&self) -> bool {
        match self {
            Item::Value(_) | Item::Known(..) => true,
            Item::Constant(_) | Item::Dims(_) | Item::Optional(Maybe::None(_)) => false,
            Item::Sequence(list) => list.items.iter().any(Item::has_values),
            Item::Optional(Maybe::Some(item)) => item.has_values(),
        }
    }

    /// This value with the elements that are known of it.
    pub(crate) fn known_as(self, known: Item) -> Item {
        match (self, known) {
            (Item::Value(v), Item::Constant(t)) => Item::Known(v, t),
            (built, _) => built,
        }
    }

    /// The dtype and the shape.
    pub(crate) fn tensor_type(&self, b: &Builder<'_>) -> Result<(DType, Shape)> {
        Ok(match self {
            Item::Value(v) | Item::Known(v, _) => (b.dtype(*v)?, b.shape(*v)?),
            Item::Constant(t) => (t.dtype(), t.ty().shape),
            Item::Dims(t) => (t.dtype, Shape::from(t.sizes.as_slice())),
            Item::Sequence(_) => return Err(not_a_tensor("a sequence")),
            Item::Optional(_) => return Err(not_a_tensor("an optional")),
        })
    }

    /// The item as a value of the graph: what is known becomes a node.
    pub(crate) fn build(&self, b: &mut Builder<'static>) -> Result<ValueId> {
        match self {
            Item::Value(v) | Item::Known(v, _) => Ok(*v),
            Item::Constant(t) => b.constant(t.clone()),
            Item::Dims(t) => {
                let flat = b.op1(Op::Dims(Dims { dims: t.dims.clone() }), &[])?;
                let shaped = b.reshape(flat, Shape::from(t.sizes.as_slice()))?;
                if t.dtype == DType::I64 { Ok(shaped) } else { b.cast(shaped, t.dtype) }
            }
            Item::Sequence(list) => list.build(b),
            Item::Optional(Maybe::Some(item)) => {
                let value = item.build(b)?;
                b.op1(Op::OptSome, &[value])
            }
            Item::Optional(Maybe::None(ty)) => {
                let unsaid = Type::tensor(DType::F32, Shape::scalar());
                b.op1(Op::OptNone(OptNone { ty: ty.clone().unwrap_or(unsaid) }), &[])
            }
        }
    }
}

fn not_a_tensor(what: &str) -> Error {
    Error::new(Code::OnnxModel, format!("a tensor was expected, {what} came"))
}

impl List {
    /// A value of the graph. Elements may differ in sizes and in the number of dimensions.
    fn build(&self, b: &mut Builder<'static>) -> Result<ValueId> {
        let values = self.items.iter().map(|item| item.build(b)).collect::<Result<Vec<_>>>()?;
        let shapes = values.iter().map(|v| b.shape(*v)).collect::<Result<Vec<_>>>()?;
        let ty = Type::Sequence(sequence_type(b, self.dtype, &shapes));
        b.op1(Op::SeqMake(SeqMake { ty }), &values)
    }
}

/// The type of a sequence of elements of those shapes: a dimension in which they differ is open, and those of fewer
/// dimensions have the last ones.
pub(crate) fn sequence_type(b: &Builder<'_>, dtype: DType, shapes: &[Shape]) -> SequenceType {
    let rank = shapes.iter().map(Shape::rank).max().unwrap_or(0);
    let least_rank = shapes.iter().map(Shape::rank).min().unwrap_or(0);
    let (mut dims, mut open) = (Vec::with_capacity(rank), Vec::new());
    for from_end in (1..=rank).rev() {
        let sizes: Vec<&Dim> =
            shapes.iter().filter_map(|s| s.rank().checked_sub(from_end).map(|axis| &s[axis])).collect();
        if sizes.iter().all(|size| b.facts().equal(size, sizes[0])) {
            dims.push(sizes[0].clone());
            continue;
        }
        dims.push(Dim::from(SequenceType::open_symbol(open.len())));
        let greatest = sizes[1..].iter().fold(sizes[0].clone(), |m, size| m.max(size));
        open.push(b.facts().simplify(&greatest));
    }
    let element = TensorType::new(dtype, Shape::from(dims));
    SequenceType { element, least_rank, open, max_len: Dim::from(shapes.len()) }
}

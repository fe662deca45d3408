//! Types of values: tensors, sequences of tensors, optionals; and where a value lives.

use crate::dim::{Dim, Symbol};
use crate::dtype::DType;
use std::fmt;
use std::ops::Deref;

/// The dimensions of a tensor, outermost first. A scalar has none.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape(Vec<Dim>);

/// The dtype and the shape of a tensor.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// The type of each element.
    pub dtype: DType,
    /// The dimensions.
    pub shape: Shape,
}

/// A list of tensors whose length is known at run time only.
///
/// Elements share a dtype. Dimensions in which they may differ are *open*: they are written `?0`,
/// `?1`, … in the element type, and `open[i]` bounds `?i` from above. Taking an element out gives each open
/// dimension a symbol of its own. Elements may lack the first dimensions of the element type, as far as `least_rank` says.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SequenceType {
    /// The type of each element; may mention the open symbols `?0`, `?1`, ….
    pub element: TensorType,
    /// How many dimensions each element has at least: always the last ones of the element type.
    pub least_rank: usize,
    /// The upper bound of each open dimension.
    pub open: Vec<Dim>,
    /// The upper bound of the length.
    pub max_len: Dim,
}

/// The type of a value.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Type {
    /// A tensor.
    Tensor(TensorType),
    /// A list of tensors.
    Sequence(SequenceType),
    /// A tensor or sequence that may be absent.
    Optional(Box<Type>),
}

/// Where a value lives and how it is divided. Both parts default to "unsaid".
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Placement {
    /// The device, such as `cpu:0`.
    pub device: Option<String>,
    /// How it is divided over a mesh of devices.
    pub sharding: Option<Sharding>,
}

/// How a value is divided: for each dimension, the mesh axis over which it is split, if any.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sharding {
    /// The mesh's name.
    pub mesh: String,
    /// One entry a dimension.
    pub axes: Vec<Option<String>>,
}

impl Shape {
    /// The shape of a scalar.
    pub fn scalar() -> Shape {
        Shape(Vec::new())
    }

    /// A shape from dimensions.
    pub fn new(dims: impl IntoIterator<Item = impl Into<Dim>>) -> Shape {
        Shape(dims.into_iter().map(Into::into).collect())
    }

    /// How many dimensions.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// How many elements.
    pub fn elements(&self) -> Dim {
        self.0.iter().cloned().product()
    }

    /// The sizes, if all are constants.
    pub fn as_const(&self) -> Option<Vec<usize>> {
        self.0.iter().map(|d| d.as_const().and_then(|c| usize::try_from(c).ok())).collect()
    }

    /// The dimensions, to change them.
    pub fn dims_mut(&mut self) -> &mut Vec<Dim> {
        &mut self.0
    }

    /// The dimensions by value.
    pub fn into_dims(self) -> Vec<Dim> {
        self.0
    }
}

impl Deref for Shape {
    type Target = [Dim];

    fn deref(&self) -> &[Dim] {
        &self.0
    }
}

impl<D: Into<Dim>> FromIterator<D> for Shape {
    fn from_iter<I: IntoIterator<Item = D>>(iter: I) -> Shape {
        Shape::new(iter)
    }
}

impl From<Vec<Dim>> for Shape {
    fn from(dims: Vec<Dim>) -> Shape {
        Shape(dims)
    }
}

impl From<&[Dim]> for Shape {
    fn from(dims: &[Dim]) -> Shape {
        Shape(dims.to_vec())
    }
}

impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Shape {
        Shape::new(dims.iter().copied())
    }
}

impl<D: Into<Dim>, const N: usize> From<[D; N]> for Shape {
    fn from(dims: [D; N]) -> Shape {
        Shape::new(dims)
    }
}

impl TensorType {
    /// A tensor type.
    pub fn new(dtype: DType, shape: impl Into<Shape>) -> TensorType {
        TensorType { dtype, shape: shape.into() }
    }

    /// The type of a scalar.
    pub fn scalar(dtype: DType) -> TensorType {
        TensorType::new(dtype, Shape::scalar())
    }

    /// How many dimensions.
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// How many bytes the elements take, as an expression; text counts as 0.
    pub fn bytes(&self) -> Dim {
        (self.shape.elements() * self.dtype.bits()).ceil_div(&Dim::from(8))
    }
}

impl SequenceType {
    /// A sequence of tensors that all have one type.
    pub fn uniform(element: TensorType, max_len: impl Into<Dim>) -> SequenceType {
        let least_rank = element.rank();
        SequenceType { element, least_rank, open: Vec::new(), max_len: max_len.into() }
    }

    /// The dimensions of an element of that rank; `None` if there is no such element.
    pub fn dims_of_rank(&self, rank: usize) -> Option<&[Dim]> {
        let missing = self.element.rank().checked_sub(rank)?;
        (rank >= self.least_rank).then(|| &self.element.shape[missing..])
    }

    /// The symbol of an open dimension.
    pub fn open_symbol(index: usize) -> Symbol {
        Symbol::new(format!("?{index}"))
    }
}

impl Type {
    /// A tensor type.
    pub fn tensor(dtype: DType, shape: impl Into<Shape>) -> Type {
        Type::Tensor(TensorType::new(dtype, shape))
    }

    /// The tensor type, if it is one.
    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// Calls `visit` with every dimension expression of the type.
    pub fn visit_dims<'a>(&'a self, visit: &mut impl FnMut(&'a Dim)) {
        match self {
            Type::Tensor(t) => t.shape.iter().for_each(visit),
            Type::Sequence(s) => {
                s.element.shape.iter().chain(&s.open).chain([&s.max_len]).for_each(visit);
            }
            Type::Optional(inner) => inner.visit_dims(visit),
        }
    }

    /// The same type with every dimension expression replaced.
    pub fn map_dims(&self, map: &impl Fn(&Dim) -> Dim) -> Type {
        match self {
            Type::Tensor(t) => Type::tensor(t.dtype, t.shape.iter().map(map).collect::<Shape>()),
            Type::Sequence(s) => Type::Sequence(SequenceType {
                element: TensorType::new(s.element.dtype, s.element.shape.iter().map(map).collect::<Shape>()),
                least_rank: s.least_rank,
                open: s.open.iter().map(map).collect(),
                max_len: map(&s.max_len),
            }),
            Type::Optional(inner) => Type::Optional(Box::new(inner.map_dims(map))),
        }
    }
}

impl From<TensorType> for Type {
    fn from(t: TensorType) -> Type {
        Type::Tensor(t)
    }
}

impl Placement {
    /// Whether nothing is said.
    pub fn is_unsaid(&self) -> bool {
        self.device.is_none() && self.sharding.is_none()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{d}")?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.shape)
    }
}

impl fmt::Display for SequenceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seq<{}; {}", self.element, self.max_len)?;
        for (i, bound) in self.open.iter().enumerate() {
            write!(f, "; {} <= {bound}", SequenceType::open_symbol(i))?;
        }
        if self.least_rank < self.element.rank() {
            write!(f, "; rank >= {}", self.least_rank)?;
        }
        f.write_str(">")
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Tensor(t) => write!(f, "{t}"),
            Type::Sequence(s) => write!(f, "{s}"),
            Type::Optional(inner) => write!(f, "opt<{inner}>"),
        }
    }
}

macro_rules! debug_as_display {
    ($($t:ty),*) => {$(
        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}
debug_as_display!(Shape, TensorType, SequenceType, Type);

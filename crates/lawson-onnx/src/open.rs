//! Sizes that are computed when the model runs.
//!
//! In: an operand that says sizes, and that is a value of the graph. Out: a dimension for each of its elements. Elements are followed through
//! nodes that only put integers together: what is known there stays known, and anything else becomes a symbol that gets its value in a run, once
//! for each element, wherever it is used.
//!
//! A size that follows from what an input holds is not opened but asked for ([`NodeCx::unknown`]): a model that is imported for certain
//! inputs then knows it, and is the better for it.

use crate::item::{Item, MAX_KNOWN};
use crate::node::NodeCx;
use lawson_graph::op::{BinaryKind, CompareKind, DefineSymbol};
use lawson_graph::{Builder, DType, Dim, HostTensor, Op, Result, Shape, Symbol, TensorType, ValueId};
use std::collections::HashSet;

/// The most sizes of one operand.
const MAX_SIZES: i64 = 64;

/// What a size that only a run knows can be at most. What is larger fits into no memory, and ends a run with that error.
pub(crate) const MAX_SIZE: i64 = i32::MAX as i64;

/// An element of an operand.
#[derive(Clone, Debug)]
pub(crate) enum Element {
    /// It is known, maybe by symbols.
    Known(Dim),
    /// It is computed: element `1` of value `0`, row-major.
    Computed(ValueId, i64),
}

/// Whether an element is an integer, or a float that is one.
fn is_whole(t: &HostTensor, at: usize) -> bool {
    match t.dtype() {
        DType::Str => false,
        d if d.is_float() => t.float_at(at).fract() == 0.0 && t.float_at(at).abs() < 1e9,
        _ => true,
    }
}

/// Where an element of a value comes from.
pub(crate) fn origin(b: &Builder<'_>, mut value: ValueId, mut at: i64) -> Element {
    loop {
        let Some(node) = b.defining(value) else { return Element::Computed(value, at) };
        let index = usize::try_from(at).unwrap_or(usize::MAX);
        let known = match (&node.op, node.inputs.as_slice()) {
            (Op::Constant(t), _) if index < t.len() && is_whole(t, index) => {
                let whole = if t.dtype().is_float() { t.float_at(index) as i128 } else { t.int_at(index) };
                i64::try_from(whole).ok().map(Dim::from)
            }
            (Op::Dims(p), _) => p.dims.get(index).cloned(),
            (Op::Reshape(_), [x]) => {
                value = *x;
                continue;
            }
            (Op::Cast(_), [x]) if b.dtype(*x).is_ok_and(|d| matches!(d, DType::I32 | DType::I64)) => {
                value = *x;
                continue;
            }
            (Op::Broadcast(_), [x]) if b.shape(*x).is_ok_and(|s| s.elements().is(1)) => {
                (value, at) = (*x, 0);
                continue;
            }
            (Op::Concat(_), parts) if b.shape(value).is_ok_and(|s| s.rank() == 1) => {
                if let Some((part, left)) = part_of(b, parts, at) {
                    (value, at) = (part, left);
                    continue;
                }
                None
            }
            _ => None,
        };
        return known.map_or(Element::Computed(value, at), Element::Known);
    }
}

/// What an element is more than another one: where that one stands, if it is not 0, and the difference.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offset {
    /// The value and the place in it.
    pub(crate) base: Option<(ValueId, i64)>,
    /// How much more.
    pub(crate) by: Dim,
}

/// How far a sum is followed.
const MAX_SUMMANDS: usize = 16;

/// An element as another one and what was added to it.
pub(crate) fn offset(b: &Builder<'_>, element: &Element) -> Offset {
    let mut by = Dim::ZERO;
    let mut element = element.clone();
    for _ in 0..MAX_SUMMANDS {
        let (value, at) = match &element {
            Element::Known(dim) => return Offset { base: None, by: by + dim.clone() },
            Element::Computed(value, at) => (*value, *at),
        };
        let sum = b.defining(value).and_then(|node| match (&node.op, node.inputs.as_slice()) {
            (Op::Binary(kind @ (BinaryKind::Add | BinaryKind::Sub)), [x, y]) => {
                match (kind, origin(b, *x, at), origin(b, *y, at)) {
                    (BinaryKind::Add, Element::Known(d), rest)
                    | (BinaryKind::Add, rest, Element::Known(d)) => Some((rest, d)),
                    (BinaryKind::Sub, rest, Element::Known(d)) => Some((rest, -d)),
                    _ => None,
                }
            }
            _ => None,
        });
        let Some((rest, more)) = sum else { break };
        (element, by) = (rest, by + more);
    }
    match element {
        Element::Known(dim) => Offset { base: None, by: by + dim },
        Element::Computed(value, at) => Offset { base: Some((value, at)), by },
    }
}

/// Two sizes of which a value says how they compare.
pub(crate) fn compared_sizes(b: &Builder<'_>, mut value: ValueId) -> Option<(CompareKind, Dim, Dim)> {
    loop {
        let node = b.defining(value)?;
        match (&node.op, node.inputs.as_slice()) {
            (Op::Reshape(_), [x]) => value = *x,
            (Op::Compare(kind), [x, y]) if b.shape(value).is_ok_and(|s| s.elements().is(1)) => {
                return match (origin(b, *x, 0), origin(b, *y, 0)) {
                    (Element::Known(x), Element::Known(y)) => Some((*kind, x, y)),
                    _ => None,
                };
            }
            _ => return None,
        }
    }
}

/// Which of these vectors, one after another, an element lies in, and where.
fn part_of(b: &Builder<'_>, parts: &[ValueId], at: i64) -> Option<(ValueId, i64)> {
    let mut left = at;
    for part in parts {
        let size = b.shape(*part).ok()?[0].as_const()?;
        if left < size {
            return Some((*part, left));
        }
        left -= size;
    }
    None
}

impl NodeCx<'_, '_> {
    /// The integers of operand `i`, some of which may be computed when the model runs. An error if they are not integers, if it is not known how
    /// many there are, or if the elements of an input would tell them.
    pub(crate) fn elements_of(&mut self, i: usize, what: &str) -> Result<Vec<Element>> {
        let item = self.item(i)?;
        if let Some(known) = item.dims() {
            return Ok(known.dims.into_iter().map(Element::Known).collect());
        }
        let (dtype, shape) = item.tensor_type(self.b)?;
        let count = shape.elements().as_const().filter(|n| *n <= MAX_SIZES && shape.rank() <= 1);
        match (item, count) {
            (Item::Value(v), Some(count)) if matches!(dtype, DType::I32 | DType::I64) && !self.asks(v) => {
                Ok((0..count).map(|at| origin(self.b, v, at)).collect())
            }
            (item, _) => Err(self.unknown(i, &item, what)),
        }
    }

    /// Whether the elements of a small input of the model decide on a value.
    pub(crate) fn asks(&mut self, value: ValueId) -> bool {
        let deciding = &self.model.shared.deciding;
        let (mut open, mut seen) = (vec![value], HashSet::new());
        while let Some(v) = open.pop() {
            if self.scope.is_free(v) || !seen.insert(v) {
                continue;
            }
            match self.b.defining(v) {
                Some(node) => open.extend(&node.inputs),
                None if self.b.value(v).name.as_ref().is_some_and(|n| deciding.contains(&**n)) => {
                    return true;
                }
                None => {}
            }
        }
        self.scope.remember_free(seen);
        false
    }

    /// Operand `i` as sizes; those that are computed become symbols.
    pub(crate) fn sizes_of(&mut self, i: usize, what: &str) -> Result<Vec<Dim>> {
        let elements = self.elements_of(i, what)?;
        elements.into_iter().map(|e| self.size(e)).collect()
    }

    /// An element as a size; one that is computed becomes a symbol.
    pub(crate) fn size(&mut self, element: Element) -> Result<Dim> {
        let (value, at) = match element {
            Element::Known(dim) => return Ok(dim),
            Element::Computed(value, at) => (value, at),
        };
        if let Some(known) = self.scope.size(value, at) {
            return Ok(known);
        }
        let scalar = self.scalar(&Element::Computed(value, at))?;
        let size = self.define("size", scalar, Dim::from(MAX_SIZE))?;
        self.scope.remember_size(value, at, size.clone());
        Ok(size)
    }

    /// An element as an i64 scalar of the graph.
    pub(crate) fn scalar(&mut self, element: &Element) -> Result<ValueId> {
        let (value, at) = match element {
            Element::Known(dim) => return self.b.dim_scalar(dim, DType::I64),
            Element::Computed(value, at) => (*value, *at),
        };
        let count = self.b.shape(value)?.elements();
        let flat = self.b.reshape(value, [count])?;
        let one = self.b.slice_axis(flat, 0, at, 1)?;
        let scalar = self.b.reshape(one, Shape::scalar())?;
        self.b.cast(scalar, DType::I64)
    }

    /// A new symbol whose value in a run is that of an i64 scalar, between 0 and `max`.
    pub(crate) fn define(&mut self, what: &str, scalar: ValueId, max: Dim) -> Result<Dim> {
        let name = self.node.output.iter().find(|n| !n.is_empty()).map_or("result", String::as_str);
        let symbol = self.b.facts().fresh(&Symbol::new(format!("{name}.{what}")));
        self.b.op1(Op::DefineSymbol(DefineSymbol { name: symbol.clone(), max }), &[scalar])?;
        Ok(Dim::from(symbol))
    }
}

/// Whether the elements of an input may be taken for known: integers, and few.
pub(crate) fn decides(ty: &TensorType) -> bool {
    let few = ty.shape.elements().as_const().is_none_or(|n| n <= MAX_KNOWN as i64);
    ty.dtype.int_range().is_some() && few
}

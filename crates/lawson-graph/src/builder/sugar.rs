//! Conveniences on top of `Builder::op`: named methods, NumPy broadcasting made explicit, loops from closures.

use super::Builder;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::error::{Code, Error, Place, Result};
use crate::graph::ValueId;
use crate::op::{
    BinaryKind, Broadcast, Cast, CompareKind, Concat, Cond, Contract, Gather, Iota, Monoid, Op, Reduce,
    Reshape, Scan, Slice, Transpose, UnaryKind, While, plural,
};
use crate::tensor::{Element, HostTensor};
use crate::types::{Shape, TensorType, Type};
use std::sync::Arc;

/// Whether reduced axes stay as axes of size 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// They stay.
    Yes,
    /// They vanish.
    No,
}

macro_rules! unary {
    ($($(#[$meta:meta])* $name:ident => $kind:ident),* $(,)?) => {
        impl Builder<'_> {$(
            $(#[$meta])*
            pub fn $name(&mut self, x: ValueId) -> Result<ValueId> {
                self.op1(Op::Unary(UnaryKind::$kind), &[x])
            }
        )*}
    };
}
unary! {
    /// `-x`
    neg => Neg,
    /// `|x|`
    abs => Abs,
    /// The sign.
    sign => Sign,
    /// Every bit flipped.
    not => Not,
    /// Rounded down.
    floor => Floor,
    /// Rounded up.
    ceil => Ceil,
    /// Rounded to nearest, ties to even.
    round => Round,
    /// The square root.
    sqrt => Sqrt,
    /// `1 / sqrt(x)`
    rsqrt => Rsqrt,
    /// `e^x`
    exp => Exp,
    /// `2^x`
    exp2 => Exp2,
    /// The natural logarithm.
    log => Log,
    /// `log(1 + x)`
    log1p => Log1p,
    /// `e^x - 1`
    expm1 => Expm1,
    /// The hyperbolic tangent.
    tanh => Tanh,
    /// The error function.
    erf => Erf,
    /// The sine.
    sin => Sin,
    /// The cosine.
    cos => Cos,
}

macro_rules! binary {
    ($($(#[$meta:meta])* $name:ident => $kind:ident),* $(,)?) => {
        impl Builder<'_> {$(
            $(#[$meta])*
            pub fn $name(&mut self, a: ValueId, b: ValueId) -> Result<ValueId> {
                self.binary(BinaryKind::$kind, a, b)
            }
        )*}
    };
}
binary! {
    /// `a + b`, broadcasting.
    add => Add,
    /// `a - b`, broadcasting.
    sub => Sub,
    /// `a * b`, broadcasting.
    mul => Mul,
    /// `a / b`, broadcasting.
    div => Div,
    /// `a` to the power `b`, broadcasting.
    pow => Pow,
    /// The lesser, broadcasting.
    min => Min,
    /// The greater, broadcasting.
    max => Max,
    /// Bitwise or logical and, broadcasting.
    and => And,
    /// Bitwise or logical or, broadcasting.
    or => Or,
}

impl Builder<'_> {
    /// The type of a value that must be a tensor.
    pub fn tensor_type(&self, v: ValueId) -> Result<&TensorType> {
        self.ty(v)
            .as_tensor()
            .ok_or_else(|| Error::new(Code::OperandKind, format!("expected a tensor, found {}", self.ty(v))))
    }

    /// The shape of a value that must be a tensor.
    pub fn shape(&self, v: ValueId) -> Result<Shape> {
        Ok(self.tensor_type(v)?.shape.clone())
    }

    /// The dtype of a value that must be a tensor.
    pub fn dtype(&self, v: ValueId) -> Result<DType> {
        Ok(self.tensor_type(v)?.dtype)
    }

    /// The operands of a composite, if there are exactly `N`.
    pub fn operands<const N: usize>(&self, op: &str, inputs: &[ValueId]) -> Result<[ValueId; N]> {
        inputs.try_into().map_err(|_| {
            Error::new(
                Code::OperandCount,
                format!("`{op}` takes {N} operand{}, but {} came", plural(N), inputs.len()),
            )
        })
    }

    /// An error about an operand of a composite.
    pub fn operand_error(
        &self,
        code: Code,
        op: &str,
        index: usize,
        v: ValueId,
        message: impl Into<String>,
    ) -> Error {
        Error::new(code, message).at(Place::Operand {
            op: op.to_string(),
            index,
            what: self.ty(v).to_string(),
        })
    }

    /// Checks an axis of a tensor.
    pub fn check_axis(&self, op: &str, v: ValueId, axis: usize) -> Result<()> {
        let rank = self.tensor_type(v)?.rank();
        if axis < rank {
            return Ok(());
        }
        Err(Error::new(Code::Attribute, format!("axis {axis} is not in 0..{rank}"))
            .at(Place::Attribute { op: op.to_string(), name: "axis".to_string() }))
    }

    /// A scalar constant of any numeric dtype.
    pub fn scalar(&mut self, dtype: DType, value: f64) -> Result<ValueId> {
        self.constant(HostTensor::scalar_of(dtype, value)?)
    }

    /// A constant vector.
    pub fn vector<T: Element>(&mut self, elements: &[T]) -> Result<ValueId> {
        self.constant(HostTensor::from_slice(&[elements.len()], elements)?)
    }

    /// A number repeated in the shape and dtype of `like`.
    pub fn full_like(&mut self, like: ValueId, value: f64) -> Result<ValueId> {
        let t = self.tensor_type(like)?.clone();
        let s = self.scalar(t.dtype, value)?;
        self.broadcast_to(s, t.shape)
    }

    /// A unary primitive.
    pub fn unary(&mut self, kind: UnaryKind, x: ValueId) -> Result<ValueId> {
        self.op1(Op::Unary(kind), &[x])
    }

    /// A binary primitive, its operands broadcast against each other first.
    pub fn binary(&mut self, kind: BinaryKind, a: ValueId, b: ValueId) -> Result<ValueId> {
        let (a, b) = self.broadcast_pair(kind.name(), a, b)?;
        self.op1(Op::Binary(kind), &[a, b])
    }

    /// A comparison, its operands broadcast against each other first.
    pub fn compare(&mut self, kind: CompareKind, a: ValueId, b: ValueId) -> Result<ValueId> {
        let (a, b) = self.broadcast_pair(kind.name(), a, b)?;
        self.op1(Op::Compare(kind), &[a, b])
    }

    /// `select`, its operands broadcast against one another first.
    pub fn select(&mut self, condition: ValueId, a: ValueId, b: ValueId) -> Result<ValueId> {
        let (a, b) = self.broadcast_pair("select", a, b)?;
        let (condition, a) = self.broadcast_pair("select", condition, a)?;
        let shape = self.shape(a)?;
        let b = self.broadcast_to(b, shape)?;
        self.op1(Op::Select, &[condition, a, b])
    }

    /// Where `x` is NaN.
    pub fn is_nan(&mut self, x: ValueId) -> Result<ValueId> {
        self.compare(CompareKind::Ne, x, x)
    }

    /// Conversion; the value itself if it has the dtype already.
    pub fn cast(&mut self, x: ValueId, to: DType) -> Result<ValueId> {
        if self.dtype(x)? == to { Ok(x) } else { self.op1(Op::Cast(Cast { to }), &[x]) }
    }

    /// A binary primitive with a number.
    pub fn binary_scalar(&mut self, kind: BinaryKind, x: ValueId, value: f64) -> Result<ValueId> {
        let dtype = self.dtype(x)?;
        let s = self.scalar(dtype, value)?;
        self.binary(kind, x, s)
    }

    /// `x + value`
    pub fn add_scalar(&mut self, x: ValueId, value: f64) -> Result<ValueId> {
        self.binary_scalar(BinaryKind::Add, x, value)
    }

    /// `x * value`
    pub fn mul_scalar(&mut self, x: ValueId, value: f64) -> Result<ValueId> {
        self.binary_scalar(BinaryKind::Mul, x, value)
    }

    /// The shape of two tensors broadcast as NumPy does: aligned at the end, dimensions of size 1 repeated.
    pub fn broadcast_shape(&self, op: &str, a: ValueId, b: ValueId) -> Result<Shape> {
        let (x, y) = (self.tensor_type(a)?, self.tensor_type(b)?);
        let rank = x.rank().max(y.rank());
        let at = |s: &Shape, i: usize| i.checked_sub(rank - s.rank()).map_or(Dim::ONE, |i| s[i].clone());
        (0..rank)
            .map(|i| {
                let (p, q) = (at(&x.shape, i), at(&y.shape, i));
                if p.is(1) {
                    Ok(q)
                } else if q.is(1) || self.facts().equal(&p, &q) {
                    Ok(p)
                } else {
                    let (from_end, place) = (rank - i, |index, v| {
                        self.operand_error(Code::DimMismatch, op, index, v, "").places()[0].clone()
                    });
                    Err(Error::new(
                        Code::DimMismatch,
                        format!(
                            "dimension {from_end} from the end is {p} in one operand and {q} in the other"
                        ),
                    )
                    .at(place(0, a))
                    .at(place(1, b))
                    .help("to broadcast, dimensions must be equal or 1"))
                }
            })
            .collect::<Result<Vec<Dim>>>()
            .map(Shape::from)
    }

    fn broadcast_pair(&mut self, op: &str, a: ValueId, b: ValueId) -> Result<(ValueId, ValueId)> {
        let shape = self.broadcast_shape(op, a, b)?;
        Ok((self.broadcast_to(a, shape.clone())?, self.broadcast_to(b, shape)?))
    }

    /// Repeats `x` to a shape, aligned at the end; the value itself if it has the shape already.
    pub fn broadcast_to(&mut self, x: ValueId, shape: impl Into<Shape>) -> Result<ValueId> {
        let shape = shape.into();
        let have = self.shape(x)?;
        if have == shape {
            return Ok(x);
        }
        let Some(lead) = shape.rank().checked_sub(have.rank()) else {
            return Err(self.operand_error(
                Code::OperandRank,
                "broadcast",
                0,
                x,
                format!("cannot be broadcast to {shape}"),
            ));
        };
        self.op1(Op::Broadcast(Broadcast { axes: (lead..shape.rank()).collect(), shape }), &[x])
    }

    /// Repeats `x` along new axes: operand axis `i` becomes result axis `axes[i]`.
    pub fn broadcast_in(&mut self, x: ValueId, shape: impl Into<Shape>, axes: &[usize]) -> Result<ValueId> {
        let shape = shape.into();
        if self.shape(x)? == shape {
            return Ok(x);
        }
        self.op1(Op::Broadcast(Broadcast { shape, axes: axes.to_vec() }), &[x])
    }

    /// Another shape; the value itself if it has the shape already.
    pub fn reshape(&mut self, x: ValueId, shape: impl Into<Shape>) -> Result<ValueId> {
        let shape = shape.into();
        if self.shape(x)? == shape { Ok(x) } else { self.op1(Op::Reshape(Reshape { shape }), &[x]) }
    }

    /// Another order of axes; the value itself if the order is the same.
    pub fn transpose(&mut self, x: ValueId, perm: &[usize]) -> Result<ValueId> {
        if perm.iter().copied().eq(0..self.tensor_type(x)?.rank()) {
            return Ok(x);
        }
        self.op1(Op::Transpose(Transpose { perm: perm.to_vec() }), &[x])
    }

    /// A contiguous part along one axis.
    pub fn slice_axis(
        &mut self,
        x: ValueId,
        axis: usize,
        start: impl Into<Dim>,
        size: impl Into<Dim>,
    ) -> Result<ValueId> {
        self.check_axis("slice", x, axis)?;
        let shape = self.shape(x)?;
        let mut starts = vec![Dim::ZERO; shape.rank()];
        let mut sizes = shape.into_dims();
        starts[axis] = start.into();
        sizes[axis] = size.into();
        let step = vec![1; sizes.len()];
        self.op1(Op::Slice(Slice { start: starts, size: sizes, step }), &[x])
    }

    /// One after another along an axis.
    pub fn concat(&mut self, parts: &[ValueId], axis: usize) -> Result<ValueId> {
        self.op1(Op::Concat(Concat { axis }), parts)
    }

    /// Combination along axes.
    pub fn reduce(&mut self, kind: Monoid, x: ValueId, axes: &[usize], keep: Keep) -> Result<ValueId> {
        let mut axes = axes.to_vec();
        axes.sort_unstable();
        let shape = self.shape(x)?;
        let reduced = self.op1(Op::Reduce(Reduce { kind, axes: axes.clone() }), &[x])?;
        match keep {
            Keep::No => Ok(reduced),
            Keep::Yes => {
                let kept = shape
                    .iter()
                    .enumerate()
                    .map(|(i, d)| if axes.contains(&i) { Dim::ONE } else { d.clone() });
                self.reshape(reduced, kept.collect::<Shape>())
            }
        }
    }

    /// The mean along axes: the sum over the number of elements, which may be symbolic.
    pub fn mean(&mut self, x: ValueId, axes: &[usize], keep: Keep) -> Result<ValueId> {
        let t = self.tensor_type(x)?.clone();
        let count: Dim = axes.iter().filter_map(|a| t.shape.get(*a)).cloned().product();
        let sum = self.reduce(Monoid::Sum, x, axes, keep)?;
        let count = self.dim_scalar(&count, t.dtype)?;
        self.div(sum, count)
    }

    /// A dimension as a scalar of a dtype.
    pub fn dim_scalar(&mut self, dim: &Dim, dtype: DType) -> Result<ValueId> {
        if let Some(c) = dim.as_const() {
            return self.scalar(dtype, c as f64);
        }
        let dims = self.op1(Op::Dims(crate::op::Dims { dims: vec![dim.clone()] }), &[])?;
        let scalar = self.reshape(dims, Shape::scalar())?;
        self.cast(scalar, dtype)
    }

    /// Indices along an axis.
    pub fn iota(&mut self, dtype: DType, shape: impl Into<Shape>, axis: usize) -> Result<ValueId> {
        self.op1(Op::Iota(Iota { dtype, shape: shape.into(), axis }), &[])
    }

    /// The matrix product as NumPy defines it: leading axes broadcast, vectors get an axis that vanishes again.
    pub fn matmul(&mut self, a: ValueId, b: ValueId) -> Result<ValueId> {
        let (ra, rb) = (self.tensor_type(a)?.rank(), self.tensor_type(b)?.rank());
        if ra == 0 || rb == 0 {
            let (index, v) = if ra == 0 { (0, a) } else { (1, b) };
            return Err(self.operand_error(
                Code::OperandRank,
                "matmul",
                index,
                v,
                "expected at least 1 dimension",
            ));
        }
        if ra == 1 || rb == 1 || (ra == 2 && rb == 2) {
            let sum = vec![(ra - 1, rb.saturating_sub(2))];
            return self.op1(Op::Contract(Contract { batch: Vec::new(), sum, out: None }), &[a, b]);
        }
        // Leading axes broadcast against each other.
        let (sa, sb) = (self.shape(a)?, self.shape(b)?);
        let rank = ra.max(rb);
        let mut lead = Vec::new();
        for i in 0..rank - 2 {
            let at = |s: &Shape| (i + s.rank()).checked_sub(rank).map_or(Dim::ONE, |j| s[j].clone());
            let (p, q) = (at(&sa), at(&sb));
            lead.push(if p.is(1) { q } else { p });
        }
        let full = |s: &Shape| lead.iter().chain(&s[s.rank() - 2..]).cloned().collect::<Shape>();
        let (a, b) = (self.broadcast_to(a, full(&sa))?, self.broadcast_to(b, full(&sb))?);
        let batch = (0..rank - 2).map(|i| (i, i)).collect();
        self.op1(Op::Contract(Contract { batch, sum: vec![(rank - 1, rank - 2)], out: None }), &[a, b])
    }

    /// Elements of `x` along an axis at indices of any shape, which takes the place of the axis. Indices are clamped.
    pub fn take(&mut self, x: ValueId, indices: ValueId, axis: usize) -> Result<ValueId> {
        self.check_axis("gather", x, axis)?;
        let places = self.shape(indices)?;
        let vectors = places.iter().cloned().chain([Dim::ONE]).collect::<Shape>();
        let indices = self.reshape(indices, vectors)?;
        let gathered = self.op1(Op::Gather(Gather { axes: vec![axis], batch: 0 }), &[x, indices])?;
        // places… window… → the window axes before `axis` go first.
        let (p, rank) = (places.rank(), self.tensor_type(gathered)?.rank());
        let perm: Vec<usize> = (p..p + axis).chain(0..p).chain(p + axis..rank).collect();
        self.transpose(gathered, &perm)
    }

    /// Repeats while `cond` holds. Both closures get a builder of their own, the carried values and the captures.
    pub fn while_loop(
        &mut self,
        carried: &[ValueId],
        captures: &[ValueId],
        cond: impl FnOnce(&mut Builder<'static>, &[ValueId]) -> Result<ValueId>,
        body: impl FnOnce(&mut Builder<'static>, &[ValueId]) -> Result<Vec<ValueId>>,
    ) -> Result<Vec<ValueId>> {
        let all: Vec<ValueId> = carried.iter().chain(captures).copied().collect();
        let types: Vec<Type> = all.iter().map(|v| self.ty(*v).clone()).collect();
        let cond = self.body("cond", &types, |b, v| Ok(vec![cond(b, v)?]))?;
        let body = self.body("body", &types, body)?;
        self.op(Op::While(While { carried: carried.len(), cond, body }), &all)
    }

    /// One of two branches. Both closures get a builder of their own and the operands.
    pub fn cond(
        &mut self,
        condition: ValueId,
        operands: &[ValueId],
        then: impl FnOnce(&mut Builder<'static>, &[ValueId]) -> Result<Vec<ValueId>>,
        otherwise: impl FnOnce(&mut Builder<'static>, &[ValueId]) -> Result<Vec<ValueId>>,
    ) -> Result<Vec<ValueId>> {
        let types: Vec<Type> = operands.iter().map(|v| self.ty(*v).clone()).collect();
        let then = self.body("then", &types, then)?;
        let otherwise = self.body("else", &types, otherwise)?;
        let all: Vec<ValueId> = [condition].iter().chain(operands).copied().collect();
        self.op(Op::Cond(Cond { then, otherwise }), &all)
    }

    /// Repeats over slices of axis 0. The closure gets a builder of its own, the carried values, one slice of each
    /// scanned tensor, and the captures; it gives the next carried values, then what to stack.
    pub fn scan(
        &mut self,
        length: impl Into<Dim>,
        carried: &[ValueId],
        scanned: &[ValueId],
        captures: &[ValueId],
        body: impl FnOnce(&mut Builder<'static>, &[ValueId]) -> Result<Vec<ValueId>>,
    ) -> Result<Vec<ValueId>> {
        let mut types: Vec<Type> = carried.iter().map(|v| self.ty(*v).clone()).collect();
        for v in scanned {
            let t = self.tensor_type(*v)?;
            types.push(Type::tensor(t.dtype, t.shape.iter().skip(1).cloned().collect::<Shape>()));
        }
        types.extend(captures.iter().map(|v| self.ty(*v).clone()));
        let body = self.body("body", &types, body)?;
        let all: Vec<ValueId> = carried.iter().chain(scanned).chain(captures).copied().collect();
        let (carried, scanned) = (carried.len(), scanned.len());
        self.op(Op::Scan(Scan { carried, scanned, length: length.into(), reverse: false, body }), &all)
    }

    fn body(
        &self,
        label: &str,
        types: &[Type],
        build: impl FnOnce(&mut Builder<'static>, &[ValueId]) -> Result<Vec<ValueId>>,
    ) -> Result<Arc<crate::Graph>> {
        let mut b = self.sub_graph(label);
        let mut inputs = Vec::new();
        for (i, ty) in types.iter().enumerate() {
            inputs.push(b.input(&format!("arg{i}"), ty.clone())?);
        }
        let results = build(&mut b, &inputs)?;
        for (i, v) in results.into_iter().enumerate() {
            b.output(&format!("{i}"), v)?;
        }
        Ok(Arc::new(b.finish_sub_graph()?))
    }
}

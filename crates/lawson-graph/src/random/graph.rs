//! Random graphs: odd sizes, sizes 0 and 1, symbolic dimensions, views on views, every primitive.
//!
//! The generator keeps a pool of values and adds operators by trying: it draws an operator and operands that might
//! fit, and what the builder refuses is simply not added. So it needs no second copy of the typing rules, and it
//! exercises the first.

use super::{Elements, Rng, random_tensor};
use crate::builder::{Builder, Keep};
use crate::dim::{Dim, Relation, Symbol};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Graph, ValueId};
use crate::op::*;
use crate::types::{SequenceType, Shape, TensorType, Type};
use std::collections::HashSet;

/// What random graphs look like.
#[derive(Clone, Copy, Debug)]
pub struct GraphShape {
    /// How many operators to add, about.
    pub nodes: usize,
    /// The most elements of any value.
    pub max_elements: usize,
    /// Whether inputs may have symbolic dimensions.
    pub symbolic: bool,
    /// Whether loops, branches, sequences and symbols defined at run time may occur.
    pub control: bool,
    /// Which dtypes occur.
    pub dtypes: Dtypes,
    /// Whether composites and products of two computed values may occur.
    pub composites: bool,
}

/// Which dtypes a random graph has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dtypes {
    /// All of them.
    All,
    /// f32, i32 and bool, which every target computes with itself.
    Basic,
}

impl Dtypes {
    fn contain(self, dtype: DType) -> bool {
        match self {
            Dtypes::All => true,
            Dtypes::Basic => matches!(dtype, DType::F32 | DType::I32 | DType::Bool),
        }
    }
}

impl Default for GraphShape {
    fn default() -> GraphShape {
        GraphShape {
            nodes: 16,
            max_elements: 400,
            symbolic: true,
            control: true,
            dtypes: Dtypes::All,
            composites: false,
        }
    }
}

/// A valid random graph.
///
/// ```
/// use lawson_graph::random::{GraphShape, Rng, random_graph};
/// let graph = random_graph(&mut Rng::new(7), &GraphShape::default())?;
/// graph.verify()?;
/// # Ok::<(), lawson_graph::Error>(())
/// ```
pub fn random_graph(rng: &mut Rng, shape: &GraphShape) -> Result<Graph> {
    let mut b = Builder::new("random");
    let mut pool = Vec::new();
    for i in 0..1 + rng.below(3) {
        let ty = TensorType::new(input_dtype(rng, shape.dtypes), input_shape(rng, shape.symbolic));
        pool.push(b.input(&format!("x{i}"), ty)?);
    }
    let n = Symbol::new("N");
    let has_n = pool.iter().any(|v| b.tensor_type(*v).is_ok_and(|t| t.shape.iter().any(|d| d.mentions(&n))));
    if has_n && rng.one_in(2) {
        match rng.below(3) {
            0 => b.fact("N", Relation::Ge, 1)?,
            1 => b.fact(Dim::symbol("N").modulo(&Dim::from(2)), Relation::Eq, 0)?,
            _ => b.fact("N", Relation::Le, 64)?,
        }
    }
    let mut grow = Grow { rng: rng.fork(), b, pool, shape: *shape, defined: 0 };
    for _ in 0..shape.nodes * 2 {
        if grow.pool.len() >= shape.nodes + 3 {
            break;
        }
        grow.step();
    }
    let Grow { mut b, pool, .. } = grow;
    let used: HashSet<ValueId> =
        pool.iter().filter_map(|v| b.defining(*v)).flat_map(|n| n.inputs.clone()).collect();
    let unused = pool.iter().copied().filter(|v| !used.contains(v) && b.defining(*v).is_some());
    let mut outputs: Vec<ValueId> = unused.collect();
    if outputs.is_empty() {
        outputs.extend(pool.last());
    }
    for (i, v) in outputs.into_iter().enumerate() {
        b.output(&format!("y{i}"), v)?;
    }
    b.finish()
}

fn input_dtype(rng: &mut Rng, dtypes: Dtypes) -> DType {
    const COMMON: [DType; 6] = [DType::F32, DType::F32, DType::F32, DType::I32, DType::F16, DType::Bool];
    if dtypes == Dtypes::Basic {
        return [DType::F32, DType::F32, DType::F32, DType::I32, DType::Bool][rng.below(5)];
    }
    if rng.one_in(3) { DType::ALL[rng.below(DType::ALL.len())] } else { COMMON[rng.below(COMMON.len())] }
}

fn input_shape(rng: &mut Rng, symbolic: bool) -> Shape {
    let rank = [0, 1, 1, 2, 2, 2, 3, 3, 4][rng.below(9)];
    (0..rank)
        .map(|_| match rng.below(12) {
            0 => Dim::from(1),
            1 if rng.one_in(2) => Dim::from(0),
            2 | 3 if symbolic => Dim::symbol("N"),
            4 if symbolic => Dim::symbol("M"),
            _ => Dim::from(rng.between(2, 7)),
        })
        .collect()
}

/// A way to add an operator: its results, or `None` if what was drawn does not fit.
type Step = fn(&mut Grow) -> Option<Vec<ValueId>>;

pub(super) struct Grow {
    pub(super) rng: Rng,
    pub(super) b: Builder<'static>,
    pool: Vec<ValueId>,
    shape: GraphShape,
    defined: usize,
}

impl Grow {
    /// Tries to add one operator.
    fn step(&mut self) {
        let plain: [Step; 27] = [
            Grow::unary,
            Grow::unary,
            Grow::binary,
            Grow::binary,
            Grow::binary,
            Grow::compare,
            Grow::select,
            Grow::cast,
            Grow::bitcast,
            Grow::broadcast,
            Grow::reshape,
            Grow::reshape,
            Grow::transpose,
            Grow::slice,
            Grow::slice,
            Grow::dynamic_slice,
            Grow::update_slice,
            Grow::pad,
            Grow::concat,
            Grow::reduce,
            Grow::reduce,
            Grow::window,
            Grow::cumulative,
            Grow::sort,
            Grow::linear,
            Grow::index,
            Grow::source,
        ];
        let control: [Step; 4] = [Grow::looping, Grow::branch, Grow::sequence, Grow::runtime_size];
        let composite: [Step; 5] =
            [Grow::activation, Grow::normalised, Grow::product, Grow::product, Grow::attention];
        let added = if self.shape.control && self.rng.one_in(10) {
            control[self.rng.below(control.len())](self)
        } else if self.shape.composites && self.rng.one_in(6) {
            composite[self.rng.below(composite.len())](self)
        } else {
            plain[self.rng.below(plain.len())](self)
        };
        for v in added.into_iter().flatten() {
            // Values that are too large for tests, or of other dtypes, are left out of the pool: nothing grows from them.
            if self.wanted(v) {
                self.pool.push(v);
            }
        }
    }

    fn wanted(&self, v: ValueId) -> bool {
        match self.b.ty(v) {
            Type::Tensor(t) if !self.shape.dtypes.contain(t.dtype) => false,
            Type::Tensor(t) => t
                .shape
                .elements()
                .eval(&|_| Some(5))
                .is_some_and(|n| n >= 0 && n as u128 <= self.shape.max_elements as u128),
            _ => true,
        }
    }

    fn any(&mut self) -> Option<ValueId> {
        self.rng.pick(&self.pool).copied()
    }

    pub(super) fn tensor(&mut self, accept: impl Fn(&TensorType) -> bool) -> Option<(ValueId, TensorType)> {
        let fits: Vec<ValueId> =
            self.pool.iter().copied().filter(|v| self.b.ty(*v).as_tensor().is_some_and(&accept)).collect();
        let v = *self.rng.pick(&fits)?;
        Some((v, self.b.ty(v).as_tensor()?.clone()))
    }

    fn add(&mut self, op: Op, inputs: &[ValueId]) -> Option<Vec<ValueId>> {
        self.b.op(op, inputs).ok()
    }

    fn unary(&mut self) -> Option<Vec<ValueId>> {
        let kind = *self.rng.pick(UnaryKind::ALL)?;
        let (x, _) = self.tensor(|t| kind.accepts().1(t.dtype))?;
        self.add(Op::Unary(kind), &[x])
    }

    fn binary(&mut self) -> Option<Vec<ValueId>> {
        let kind = *self.rng.pick(BinaryKind::ALL)?;
        let (x, t) = self.tensor(|t| kind.accepts().1(t.dtype))?;
        let (y, _) = self.tensor(|u| u.dtype == t.dtype)?;
        self.b.binary(kind, x, y).ok().map(|v| vec![v])
    }

    fn compare(&mut self) -> Option<Vec<ValueId>> {
        let kind = *self.rng.pick(CompareKind::ALL)?;
        let (x, t) = self.tensor(|_| true)?;
        let (y, _) = self.tensor(|u| u.dtype == t.dtype)?;
        self.b.compare(kind, x, y).ok().map(|v| vec![v])
    }

    fn select(&mut self) -> Option<Vec<ValueId>> {
        let (c, _) = self.tensor(|t| t.dtype == DType::Bool)?;
        let (x, t) = self.tensor(|_| true)?;
        let (y, _) = self.tensor(|u| u.dtype == t.dtype)?;
        self.b.select(c, x, y).ok().map(|v| vec![v])
    }

    fn cast(&mut self) -> Option<Vec<ValueId>> {
        let to = input_dtype(&mut self.rng, self.shape.dtypes);
        let x = self.any()?;
        self.add(Op::Cast(Cast { to }), &[x])
    }

    fn bitcast(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|t| t.dtype.is_number())?;
        let same: Vec<DType> =
            DType::ALL.into_iter().filter(|d| d.is_number() && d.bits() == t.dtype.bits()).collect();
        let to = *self.rng.pick(&same)?;
        self.add(Op::Bitcast(Bitcast { to }), &[x])
    }

    fn broadcast(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|t| t.rank() < 4)?;
        let (mut shape, mut axes) = (Vec::new(), Vec::new());
        for d in t.shape.iter() {
            while self.rng.one_in(3) && shape.len() < 4 {
                shape.push(Dim::from(self.rng.between(1, 3)));
            }
            axes.push(shape.len());
            shape.push(if d.is(1) { Dim::from(self.rng.between(1, 4)) } else { d.clone() });
        }
        if self.rng.one_in(2) {
            shape.push(Dim::from(self.rng.between(1, 3)));
        }
        self.add(Op::Broadcast(Broadcast { shape: shape.into(), axes }), &[x])
    }

    fn reshape(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|_| true)?;
        let mut dims = t.shape.into_dims();
        match self.rng.below(4) {
            // Merge neighbours.
            0 if dims.len() >= 2 => {
                let i = self.rng.below(dims.len() - 1);
                let merged = dims[i].clone() * dims.remove(i + 1);
                dims[i] = merged;
            }
            // Split one.
            1 if !dims.is_empty() => {
                let i = self.rng.below(dims.len());
                let n = dims[i].as_const()?;
                let factor = (2..=n).find(|f| n % f == 0)?;
                dims[i] = Dim::from(factor);
                dims.insert(i + 1, Dim::from(n / factor));
            }
            // Flatten.
            2 => dims = vec![dims.into_iter().product()],
            // A size of 1 comes or goes.
            _ => match dims.iter().position(|d| d.is(1)) {
                Some(i) if self.rng.one_in(2) => {
                    dims.remove(i);
                }
                _ => dims.insert(self.rng.below(dims.len() + 1), Dim::ONE),
            },
        }
        self.add(Op::Reshape(Reshape { shape: dims.into() }), &[x])
    }

    fn transpose(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|t| t.rank() >= 2)?;
        let mut perm: Vec<usize> = (0..t.rank()).collect();
        self.rng.shuffle(&mut perm);
        self.add(Op::Transpose(Transpose { perm }), &[x])
    }

    fn slice(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|t| t.rank() >= 1)?;
        let (mut start, mut size, mut step) = (Vec::new(), Vec::new(), Vec::new());
        for d in t.shape.iter() {
            let by = [1, 1, 1, 2, -1, -2, 3][self.rng.below(7)];
            match d.as_const() {
                Some(n) if n > 0 => {
                    let first = self.rng.between(0, n - 1);
                    let room = if by > 0 { (n - 1 - first) / by } else { first / -by };
                    start.push(Dim::from(first));
                    size.push(Dim::from(self.rng.between(i64::from(!self.rng.clone().one_in(8)), room + 1)));
                    step.push(by);
                }
                _ if by < 0 => {
                    start.push(d.clone() - 1);
                    size.push(d.clone());
                    step.push(-1);
                }
                _ => {
                    start.push(Dim::ZERO);
                    size.push(d.clone());
                    step.push(1);
                }
            }
        }
        self.add(Op::Slice(Slice { start, size, step }), &[x])
    }

    fn window_of(&mut self, shape: &Shape) -> Vec<Dim> {
        let mut size = Vec::new();
        for d in shape.iter() {
            size.push(match d.as_const() {
                Some(n) if n > 0 => Dim::from(self.rng.between(1, n)),
                _ => d.clone(),
            });
        }
        size
    }

    fn starts(&mut self, rank: usize) -> Option<ValueId> {
        let starts: Vec<i64> = (0..rank).map(|_| self.rng.between(-2, 6)).collect();
        self.b.vector(&starts).ok()
    }

    fn dynamic_slice(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|t| t.rank() >= 1)?;
        let size = self.window_of(&t.shape);
        let starts = self.starts(t.rank())?;
        self.add(Op::DynamicSlice(DynamicSlice { size }), &[x, starts])
    }

    fn update_slice(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|t| t.rank() >= 1 && t.dtype != DType::Str)?;
        let size = self.window_of(&t.shape);
        let sizes = Shape::from(size).as_const()?;
        let update = random_tensor(&mut self.rng, t.dtype, &sizes, Elements::Tame).ok()?;
        let update = self.b.constant(update).ok()?;
        let starts = self.starts(t.rank())?;
        self.add(Op::UpdateSlice, &[x, update, starts])
    }

    fn pad(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|t| t.rank() >= 1)?;
        let value = random_tensor(&mut self.rng, t.dtype, &[], Elements::Tame).ok()?;
        let value = self.b.constant(value).ok()?;
        let mut amounts = || (0..t.rank()).map(|_| self.rng.between(0, 2)).collect::<Vec<i64>>();
        let (low, high) = (amounts(), amounts());
        let interior = amounts().into_iter().map(|n| n / 2).collect();
        let dims = |n: Vec<i64>| n.into_iter().map(Dim::from).collect();
        self.add(Op::Pad(Pad { low: dims(low), high: dims(high), interior }), &[x, value])
    }

    fn concat(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|t| t.rank() >= 1)?;
        let axis = self.rng.below(t.rank());
        let fits = |u: &TensorType| {
            u.dtype == t.dtype
                && u.rank() == t.rank()
                && (0..t.rank()).all(|i| i == axis || u.shape[i] == t.shape[i])
        };
        let mut parts = vec![x];
        for _ in 0..1 + self.rng.below(2) {
            parts.push(self.tensor(fits)?.0);
        }
        self.add(Op::Concat(Concat { axis }), &parts)
    }

    fn axes(&mut self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|_| self.rng.one_in(2)).collect()
    }

    fn reduce(&mut self) -> Option<Vec<ValueId>> {
        let kind = *self.rng.pick(Monoid::ALL)?;
        let (x, t) = self.tensor(|t| kind.accepts().1(t.dtype))?;
        let axes = self.axes(t.rank());
        let keep = if self.rng.one_in(2) { Keep::Yes } else { Keep::No };
        self.b.reduce(kind, x, &axes, keep).ok().map(|v| vec![v])
    }

    fn window(&mut self) -> Option<Vec<ValueId>> {
        let kind = *self.rng.pick(Monoid::ALL)?;
        let (x, t) = self.tensor(|t| t.rank() >= 1 && kind.accepts().1(t.dtype))?;
        let mut numbers =
            |low, high| (0..t.rank()).map(|_| self.rng.between(low, high)).collect::<Vec<i64>>();
        let (window, stride, dilation) = (numbers(1, 3), numbers(1, 2), numbers(1, 2));
        let (low, high) = (numbers(0, 1), numbers(0, 2));
        let dims = |n: Vec<i64>| n.into_iter().map(Dim::from).collect();
        let op = WindowReduce { kind, window, stride, dilation, low: dims(low), high: dims(high) };
        self.add(Op::WindowReduce(op), &[x])
    }

    fn cumulative(&mut self) -> Option<Vec<ValueId>> {
        let kinds = [Monoid::Sum, Monoid::Prod, Monoid::Max, Monoid::Min];
        let kind = *self.rng.pick(&kinds)?;
        let (x, t) = self.tensor(|t| t.rank() >= 1 && t.dtype.is_number())?;
        let axis = self.rng.below(t.rank());
        let (exclusive, reverse) = (self.rng.one_in(2), self.rng.one_in(2));
        self.add(Op::Cumulative(Cumulative { kind, axis, exclusive, reverse }), &[x])
    }

    fn sort(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|t| t.rank() >= 1)?;
        let axis = self.rng.below(t.rank());
        let indices = self.b.iota(DType::I64, t.shape.clone(), axis).ok()?;
        self.add(Op::Sort(Sort { axis, descending: self.rng.clone().one_in(2) }), &[x, indices])
    }

    fn linear(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|t| t.rank() >= 1 && t.dtype.is_number())?;
        if self.rng.one_in(2) && t.rank() >= 3 && t.rank() <= 4 {
            return self.convolve(x, &t);
        }
        // A constant operand that shares one axis with x.
        let axis = self.rng.below(t.rank());
        let k = t.shape[axis].as_const()?;
        let n = self.rng.between(1, 4);
        let weights =
            random_tensor(&mut self.rng, t.dtype, &[k as usize, n as usize], Elements::Tame).ok()?;
        let weights = self.b.constant(weights).ok()?;
        let out = match t.dtype.is_int() && self.rng.one_in(2) {
            true => Some(DType::I32),
            false => None,
        };
        self.add(Op::Contract(Contract { batch: Vec::new(), sum: vec![(axis, 0)], out }), &[x, weights])
    }

    fn convolve(&mut self, x: ValueId, t: &TensorType) -> Option<Vec<ValueId>> {
        let spatial = t.rank() - 2;
        let channels = t.shape[1].as_const().filter(|c| *c > 0)?;
        let groups = if self.rng.one_in(3) { channels } else { 1 };
        let mut sizes = vec![(groups * self.rng.between(1, 2)) as usize, (channels / groups) as usize];
        sizes.extend((0..spatial).map(|_| self.rng.between(1, 3) as usize));
        let weights = random_tensor(&mut self.rng, t.dtype, &sizes, Elements::Tame).ok()?;
        let weights = self.b.constant(weights).ok()?;
        let mut op = Convolve::plain(spatial);
        op.groups = groups;
        for i in 0..spatial {
            op.stride[i] = self.rng.between(1, 2);
            op.low[i] = Dim::from(self.rng.between(0, 2));
            op.high[i] = Dim::from(self.rng.between(0, 2));
            op.input_dilation[i] = self.rng.between(1, 2);
            op.kernel_dilation[i] = self.rng.between(1, 2);
        }
        self.add(Op::Convolve(op), &[x, weights])
    }

    fn index(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|t| t.rank() >= 1)?;
        let axis = self.rng.below(t.rank());
        let places = self.rng.between(1, 4) as usize;
        let indices: Vec<i64> = (0..places).map(|_| self.rng.between(-1, 6)).collect();
        let indices =
            self.b.constant(crate::tensor::HostTensor::from_slice(&[places, 1], &indices).ok()?).ok()?;
        if self.rng.one_in(2) {
            return self.add(Op::Gather(Gather { axes: vec![axis], batch: 0 }), &[x, indices]);
        }
        let window = window_axes(t.rank(), &[axis], 0);
        let mut sizes = vec![places];
        for a in window {
            sizes.push(t.shape[a].as_const()? as usize);
        }
        let updates = random_tensor(&mut self.rng, t.dtype, &sizes, Elements::Tame).ok()?;
        let updates = self.b.constant(updates).ok()?;
        let combine = *self.rng.pick(Combine::ALL)?;
        self.add(Op::Scatter(Scatter { combine, axes: vec![axis], batch: 0 }), &[x, indices, updates])
    }

    fn source(&mut self) -> Option<Vec<ValueId>> {
        let shape = input_shape(&mut self.rng, false);
        match self.rng.below(4) {
            0 => {
                let axis = self.rng.below(shape.rank());
                self.b.iota(input_dtype(&mut self.rng, self.shape.dtypes), shape, axis).ok().map(|v| vec![v])
            }
            1 => {
                let key = self.b.vector(&[self.rng.bits() as u32, 7u32]).ok()?;
                self.add(Op::RandomBits(RandomBits { shape }), &[key])
            }
            2 => {
                let (_, t) = self.tensor(|t| t.rank() >= 1)?;
                self.add(Op::Dims(Dims { dims: t.shape.into_dims() }), &[])
            }
            _ => {
                let sizes = shape.as_const()?;
                let dtype = input_dtype(&mut self.rng, self.shape.dtypes);
                let tensor = random_tensor(&mut self.rng, dtype, &sizes, Elements::Wild).ok()?;
                self.b.constant(tensor).ok().map(|v| vec![v])
            }
        }
    }

    /// A scan or a counted while loop around an elementwise body.
    fn looping(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|t| t.dtype.is_float())?;
        if self.rng.one_in(2) && t.rank() >= 1 {
            let start = self.b.scalar(t.dtype, 0.0).ok()?;
            let slice = t.shape[1..].to_vec();
            let carried = self.b.broadcast_to(start, slice).ok()?;
            let length = t.shape[0].clone();
            return self
                .b
                .scan(length, &[carried], &[x], &[], |b, v| {
                    let next = b.max(v[0], v[1])?;
                    let half = b.mul_scalar(v[1], 0.5)?;
                    Ok(vec![next, half])
                })
                .ok();
        }
        let trips = self.b.scalar(DType::I32, self.rng.clone().between(0, 3) as f64).ok()?;
        let results = self.b.while_loop(
            &[trips, x],
            &[],
            |b, v| {
                let zero = b.scalar(DType::I32, 0.0)?;
                b.compare(CompareKind::Gt, v[0], zero)
            },
            |b, v| {
                let next = b.add_scalar(v[0], -1.0)?;
                let y = b.tanh(v[1])?;
                Ok(vec![next, y])
            },
        );
        results.ok()
    }

    fn branch(&mut self) -> Option<Vec<ValueId>> {
        let (c, t) = self.tensor(|t| t.dtype == DType::Bool)?;
        let c = match t.rank() {
            0 => c,
            rank => self.b.reduce(Monoid::Or, c, &(0..rank).collect::<Vec<_>>(), Keep::No).ok()?,
        };
        let (x, _) = self.tensor(|t| t.dtype.is_number())?;
        self.b.cond(c, &[x], |b, v| Ok(vec![b.neg(v[0])?]), |b, v| Ok(vec![b.abs(v[0])?])).ok()
    }

    fn sequence(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|_| true)?;
        if self.rng.one_in(3) {
            let some = self.b.op1(Op::OptSome, &[x]).ok()?;
            let has = self.b.op1(Op::OptHas, &[some]).ok()?;
            let get = self.b.op1(Op::OptGet, &[some]).ok()?;
            return Some(vec![has, get]);
        }
        let ty = Type::Sequence(SequenceType::uniform(t, 4));
        let made = self.b.op1(Op::SeqMake(SeqMake { ty }), &[x, x]).ok()?;
        let zero = self.b.scalar(DType::I64, 0.0).ok()?;
        let more = self.b.op1(Op::SeqInsert, &[made, x, zero]).ok()?;
        let less = self.b.op1(Op::SeqErase, &[more, zero]).ok()?;
        let element = self.b.op1(Op::SeqAt(SeqAt { defines: Vec::new(), missing: 0 }), &[less, zero]).ok()?;
        let length = self.b.op1(Op::SeqLen, &[less]).ok()?;
        Some(vec![element, length])
    }

    /// A symbol defined at run time from data, and a tensor of that size.
    fn runtime_size(&mut self) -> Option<Vec<ValueId>> {
        let n = self.b.scalar(DType::I64, self.rng.clone().between(0, 6) as f64).ok()?;
        let name = Symbol::new(format!("K{}", self.defined));
        self.defined += 1;
        let size = self
            .b
            .op1(Op::DefineSymbol(DefineSymbol { name: name.clone(), max: Dim::from(5) }), &[n])
            .ok()?;
        let x = self.b.iota(DType::F32, [Dim::from(name)], 0).ok()?;
        Some(vec![size, x])
    }
}

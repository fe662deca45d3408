//! The walk: a value of the graph at an index becomes an expression of the kernel.
//!
//! Open loops are a stack of [`Frame`]s, each with the nodes that stand in it so far. An expression is built for the innermost
//! one; what it needs computed before (accumulators, values kept in scratch) is put into the outermost frame in which its
//! indices have values, ahead of the loops inside, which are not closed yet.

use super::Answers;
use super::pattern::Patterns;
use super::view;
use crate::buffer::BufferId;
use crate::build::loop_of;
use crate::expr::{Condition, Expr, ExprId, Guard, Load, Scalar};
use crate::group::Refused;
use crate::hash::{IdMap, IdSet};
use crate::index::{Atom, Index};
use crate::range::{Scope, Truth};
use crate::tree::{AccId, AxisId, For, Kernel, Kind, Node as Tree};
use lawson_graph::op::{BinaryKind, CompareKind};
use lawson_graph::{DType, Def, Dim, Graph, HostTensor, Node, NodeId, Op, TensorType, ValueId};
use std::rc::Rc;

/// What a loop is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// Elements of outputs, or of a value that is kept in scratch.
    Elements,
    /// Blocks of rows.
    Blocks,
    /// The rows of a block.
    BlockRows,
    /// What an accumulator sums over.
    Terms,
}

/// An open loop; the first frame is outside all loops.
pub(super) struct Frame {
    pub(super) head: Option<Head>,
    pub(super) nodes: Vec<Tree>,
}

/// The head of a loop.
#[derive(Clone)]
pub(super) struct Head {
    pub(super) axis: AxisId,
    pub(super) begin: Index,
    pub(super) end: Index,
    pub(super) step: i64,
    pub(super) kind: Kind,
    pub(super) purpose: Purpose,
}

/// A value in scratch.
#[derive(Clone)]
pub(super) struct Kept {
    pub(super) buffer: BufferId,
    /// For each dimension of the value: the one index that scratch holds, or what is taken off the index.
    pub(super) dims: Vec<KeptDim>,
    /// Where these do not hold, what is in scratch means nothing.
    pub(super) given: Vec<Condition>,
}

/// What scratch holds of a dimension.
#[derive(Clone, PartialEq)]
pub(super) enum KeptDim {
    At(Index),
    From(Index),
}

/// Where a value from outside is read.
pub(super) struct Source {
    pub(super) buffer: BufferId,
    /// The order in which its dimensions lie there, if it is not that of its type.
    pub(super) order: Option<Vec<usize>>,
}

impl Source {
    /// Where the element of an index lies, one a dimension of the buffer; likewise for sizes.
    pub(super) fn place<T: Clone>(&self, index: Vec<T>) -> Vec<T> {
        match &self.order {
            Some(order) => order.iter().map(|d| index[*d].clone()).collect(),
            None => index,
        }
    }
}

pub(super) struct Walk<'g> {
    pub(super) graph: &'g Graph,
    pub(super) inside: IdSet<NodeId>,
    pub(super) kernel: Kernel,
    /// A kernel of axes alone, to reason about while the other one grows.
    space: Kernel,
    pub(super) frames: Vec<Frame>,
    pub(super) buffers: IdMap<ValueId, Source>,
    /// Where right factors read what left factors read too.
    pub(super) twins: IdMap<ValueId, Source>,
    /// Whether a right factor is computed.
    pub(super) is_right: bool,
    pub(super) kept: IdMap<ValueId, Vec<Kept>>,
    /// What is kept in the loop over an axis that is still open.
    pub(super) pending: Vec<(AxisId, ValueId, Kept)>,
    pub(super) results: IdMap<(ValueId, Vec<Index>, Vec<Condition>), AccId>,
    pub(super) patterns: Patterns,
    known: IdMap<(ValueId, Vec<Index>, Vec<Condition>), ExprId>,
    /// The most expressions that the kernel may have.
    most: usize,
    answers: Rc<Answers>,
}

/// Expressions of a kernel at most: for each node, each operand, each part of a concatenation, and besides. A value that is read at several places is computed at each, and what is
/// read at several places by that, too: without a limit, a chain of such values would have no end.
const MOST_EXPRS: [usize; 4] = [4, 3, 9, 120];

fn most_exprs(graph: &Graph, nodes: &[NodeId]) -> usize {
    let [each, operand, part, besides] = MOST_EXPRS;
    let of = |n: &NodeId| {
        let node = graph.node(*n);
        each + node.inputs.len() * if matches!(node.op, Op::Concat(_)) { part } else { operand }
    };
    nodes.iter().map(of).sum::<usize>() + besides
}

/// An index a dimension.
pub(super) type Indices = Vec<Index>;

impl<'g> Walk<'g> {
    pub(super) fn new(
        graph: &'g Graph,
        nodes: &[NodeId],
        patterns: Patterns,
        answers: Rc<Answers>,
    ) -> Walk<'g> {
        let facts = graph.facts();
        Walk {
            graph,
            inside: nodes.iter().copied().collect(),
            kernel: Kernel::new(graph.name(), facts.clone()),
            space: Kernel::new(graph.name(), facts.clone()),
            frames: vec![Frame { head: None, nodes: Vec::new() }],
            buffers: IdMap::default(),
            twins: IdMap::default(),
            is_right: false,
            kept: IdMap::default(),
            pending: Vec::new(),
            results: IdMap::default(),
            patterns,
            known: IdMap::default(),
            most: most_exprs(graph, nodes),
            answers,
        }
    }

    pub(super) fn ty(&self, v: ValueId) -> Result<&'g TensorType, Refused> {
        let refused = || Refused::DType { value: self.graph.value_name(v), ty: self.graph.ty(v).to_string() };
        self.graph.ty(v).as_tensor().filter(|t| t.dtype != DType::Str).ok_or_else(refused)
    }

    /// The node of the group that computes a value.
    pub(super) fn node(&self, v: ValueId) -> Option<&'g Node> {
        match self.graph.value(v).def {
            Def::Node(n, _) if self.inside.contains(&n) => Some(self.graph.node(n)),
            _ => None,
        }
    }

    pub(super) fn refuse(&self, node: &Node, why: &'static str) -> Refused {
        let value = node.outputs.first().map_or_else(String::new, |v| self.graph.value_name(*v));
        Refused::Operator { op: node.op.name().to_string(), value, why }
    }

    /// A new axis whose loop opens here.
    pub(super) fn open(&mut self, name: &str, end: impl Into<Index>, purpose: Purpose) -> AxisId {
        self.open_range(name, Index::from(0), end.into(), 1, Kind::Serial, purpose)
    }

    pub(super) fn open_range(
        &mut self,
        name: &str,
        begin: Index,
        end: Index,
        step: i64,
        kind: Kind,
        purpose: Purpose,
    ) -> AxisId {
        let axis = self.kernel.add_axis(name);
        self.space.add_axis(name);
        let head = Head { axis, begin, end, step, kind, purpose };
        self.frames.push(Frame { head: Some(head), nodes: Vec::new() });
        axis
    }

    /// Closes the innermost loops until `depth` frames are open; each becomes a node of the one around it.
    pub(super) fn close(&mut self, depth: usize) {
        while self.frames.len() > depth.max(1) {
            let Some(Frame { head: Some(h), nodes }) = self.frames.pop() else { return };
            self.put(loop_of(h.axis, h.begin, h.end, h.step, h.kind, nodes));
        }
    }

    /// Puts a node into the innermost loop.
    pub(super) fn put(&mut self, node: Tree) {
        if let Some(frame) = self.frames.last_mut() {
            frame.nodes.push(node);
        }
    }

    /// The purpose of an axis whose loop is open.
    pub(super) fn purpose(&self, axis: AxisId) -> Option<Purpose> {
        self.frames.iter().filter_map(|f| f.head.as_ref()).find(|h| h.axis == axis).map(|h| h.purpose)
    }

    /// How many frames must be open for these indices to have values.
    pub(super) fn depth<'a>(&self, indices: impl IntoIterator<Item = &'a Index>) -> usize {
        let mut depth = 1;
        for index in indices {
            index.visit_axes(&mut |a| {
                let is = |f: &Frame| f.head.as_ref().is_some_and(|h| h.axis == a);
                depth = depth.max(self.frames.iter().position(is).map_or(0, |p| p + 1));
            });
        }
        depth
    }

    /// Does something with fewer loops open; what it puts there stands before the loops that are open now.
    pub(super) fn at_depth<T>(
        &mut self,
        depth: usize,
        run: impl FnOnce(&mut Self) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let inner = self.frames.split_off(depth);
        let result = run(self);
        self.frames.extend(inner);
        result
    }

    fn scope<T>(&self, ask: impl FnOnce(&Scope<'_>) -> T) -> T {
        let mut scope = Scope::new(&self.space);
        for h in self.frames.iter().filter_map(|f| f.head.clone()) {
            let Head { axis, begin, end, step, kind, .. } = h;
            scope.enter(&For { axis, begin, end, step, kind, body: Vec::new() });
        }
        ask(&scope)
    }

    /// The same index, simpler under the loops that are open.
    pub(super) fn simplify(&self, index: Index) -> Index {
        let affine = index.terms().iter().all(|(a, _)| matches!(a, Atom::Axis(_)));
        if affine { index } else { self.scope(|s| s.simplify(&index)) }
    }

    /// Those of some conditions that do not always hold; `None` if one never does.
    pub(super) fn open_conditions(&self, conditions: Vec<Condition>) -> Option<Vec<Condition>> {
        let mut open = Vec::with_capacity(conditions.len());
        for c in conditions {
            match self.scope(|s| s.holds(&c)) {
                Truth::Always => {}
                Truth::Never => return None,
                Truth::Sometimes if self.proves_within(&c.index, &c.end) => {}
                Truth::Sometimes => open.push(c),
            }
        }
        Some(open)
    }

    /// Whether `0 <= index < end` under the loops that are open.
    pub(super) fn proves_within(&self, index: &Index, end: &Dim) -> bool {
        let ask = || self.scope(|s| s.proves_within(index, end, &[]));
        self.answers.within(&self.frames, index, end, ask)
    }

    pub(super) fn number(&mut self, dtype: DType, value: f64) -> ExprId {
        let int = lawson_graph::number::saturate(DType::I64, value) as i64;
        let scalar = if dtype.is_float() { Scalar::float(dtype, value) } else { Scalar::int(dtype, int) };
        self.kernel.constant(scalar)
    }

    /// An index as a number, in 32 bits where it fits.
    fn index_number(&mut self, index: &Index) -> ExprId {
        let (lo, hi) = self.scope(|s| s.interval(index));
        let fits = |v: Option<i64>| v.is_some_and(|v| i32::try_from(v).is_ok());
        let dtype = if fits(lo) && fits(hi) { DType::I32 } else { DType::I64 };
        self.kernel.add(Expr::Index(index.clone(), dtype))
    }

    /// `0 <= index < end` for all of some conditions, as a bool.
    fn holds(&mut self, conditions: &[Condition]) -> ExprId {
        let mut all: Option<ExprId> = None;
        for c in conditions {
            let index = self.index_number(&c.index);
            let dtype = self.kernel.dtype(index);
            let zero = self.kernel.constant(Scalar::int(dtype, 0));
            let end = match c.end.as_const().filter(|e| dtype == DType::I64 || i32::try_from(*e).is_ok()) {
                Some(e) => self.kernel.constant(Scalar::int(dtype, e)),
                None => self.kernel.add(Expr::Index(Index::constant(c.end.clone()), dtype)),
            };
            let low = self.kernel.compare(CompareKind::Ge, index, zero);
            let high = self.kernel.compare(CompareKind::Lt, index, end);
            for part in [low, high] {
                all = Some(all.map_or(part, |a| self.kernel.binary(BinaryKind::And, a, part)));
            }
        }
        all.unwrap_or_else(|| self.kernel.constant(Scalar::int(DType::Bool, 1)))
    }

    /// `value` where `conditions` hold, `otherwise` elsewhere. The value was built under `given`, which includes them: a
    /// load takes the other value into its guard, anything else needs a select.
    pub(super) fn guarded(
        &mut self,
        value: ExprId,
        conditions: &[Condition],
        given: &[Condition],
        otherwise: ExprId,
    ) -> ExprId {
        if conditions.is_empty() {
            return value;
        }
        if let Expr::Load(Load { buffer, index, guard: Some(guard) }) = self.kernel.expr(value).clone()
            && guard.conditions == given
        {
            return self.kernel.load_guarded(
                buffer,
                index,
                Guard { conditions: guard.conditions, otherwise },
            );
        }
        let holds = self.holds(conditions);
        self.kernel.add(Expr::Select(holds, value, otherwise))
    }

    pub(super) fn load(&mut self, buffer: BufferId, index: Indices, given: &[Condition]) -> ExprId {
        let otherwise = self.number(self.kernel.buffer(buffer).dtype, 0.0);
        self.kernel.load_guarded(buffer, index, Guard { conditions: given.to_vec(), otherwise })
    }

    /// A value at an index. Where a condition of `given` does not hold, the expression is safe and its value does not matter.
    pub(super) fn value(
        &mut self,
        v: ValueId,
        index: Indices,
        given: &[Condition],
    ) -> Result<ExprId, Refused> {
        let key = (v, index, given.to_vec());
        if let Some(id) = self.known.get(&key) {
            return Ok(*id);
        }
        if self.kernel.exprs.len() > self.most {
            return Err(Refused::Work { most: self.most });
        }
        let (_, index, _) = key.clone();
        let id = self.find(v, index, given)?;
        self.known.insert(key, id);
        Ok(id)
    }

    fn find(&mut self, v: ValueId, index: Indices, given: &[Condition]) -> Result<ExprId, Refused> {
        let ty = self.ty(v)?;
        if ty.shape.iter().any(|d| d.is(0)) {
            // Without elements, it is never read.
            return Ok(self.number(ty.dtype, 0.0));
        }
        if let Some(Op::Constant(t)) = self.graph.defining(v).map(|n| &n.op)
            && t.is_splat()
        {
            return Ok(self.splat(t));
        }
        let Some(node) = self.node(v).filter(|n| !matches!(n.op, Op::Constant(_))) else {
            let missing = || Refused::DType { value: self.graph.value_name(v), ty: ty.to_string() };
            let twin = self.twins.get(&v).filter(|_| self.is_right);
            let source = twin.or_else(|| self.buffers.get(&v)).ok_or_else(missing)?;
            let (buffer, index) = (source.buffer, source.place(index));
            return Ok(self.load(buffer, index, given));
        };
        if let Some(id) = self.load_kept(v, &index, given) {
            return Ok(id);
        }
        if let Some(id) = self.keep(v, node, &index, given)? {
            return Ok(id);
        }
        self.compute(v, node, index, given)
    }

    fn splat(&mut self, t: &HostTensor) -> ExprId {
        let scalar = if t.dtype().is_float() {
            Scalar::float(t.dtype(), t.float_at(0))
        } else {
            Scalar::int(t.dtype(), t.int_at(0) as i64)
        };
        self.kernel.constant(scalar)
    }

    /// A value computed here.
    pub(super) fn compute(
        &mut self,
        v: ValueId,
        node: &'g Node,
        index: Indices,
        given: &[Condition],
    ) -> Result<ExprId, Refused> {
        let ty = self.ty(v)?;
        match &node.op {
            Op::Unary(kind) => {
                let x = self.value(node.inputs[0], index, given)?;
                Ok(self.kernel.unary(*kind, x))
            }
            Op::Binary(kind) => {
                let a = self.value(node.inputs[0], index.clone(), given)?;
                let b = self.value(node.inputs[1], index, given)?;
                if *kind == BinaryKind::Div && self.patterns.unit_divisions.contains(&v) {
                    let one = self.number(ty.dtype, 1.0);
                    let reciprocal = self.kernel.binary(BinaryKind::Div, one, b);
                    return Ok(self.kernel.product(a, reciprocal));
                }
                Ok(self.kernel.binary(*kind, a, b))
            }
            Op::Compare(kind) => {
                let a = self.value(node.inputs[0], index.clone(), given)?;
                let b = self.value(node.inputs[1], index, given)?;
                Ok(self.kernel.compare(*kind, a, b))
            }
            Op::Select => {
                let c = self.value(node.inputs[0], index.clone(), given)?;
                let a = self.value(node.inputs[1], index.clone(), given)?;
                let b = self.value(node.inputs[2], index, given)?;
                Ok(self.kernel.add(Expr::Select(c, a, b)))
            }
            Op::Cast(cast) => {
                let x = self.value(node.inputs[0], index, given)?;
                Ok(self.cast(x, cast.to))
            }
            Op::Bitcast(cast) => {
                let x = self.value(node.inputs[0], index, given)?;
                Ok(self.kernel.add(Expr::Bitcast(x, cast.to)))
            }
            Op::Iota(iota) => Ok(self.kernel.add(Expr::Index(index[iota.axis].clone(), iota.dtype))),
            Op::Dims(dims) => Ok(self.dims(&dims.dims, &index[0])),
            Op::Broadcast(_) | Op::Reshape(_) | Op::Transpose(_) | Op::Slice(_) => {
                let operand = view::operand_index(self, node, &index)?;
                let operand = operand.into_iter().map(|i| self.simplify(i)).collect();
                self.value(node.inputs[0], operand, given)
            }
            Op::Gather(_) | Op::DynamicSlice(_) => {
                let operand = self.data_operand(node, &index)?;
                self.value(node.inputs[0], operand, given)
            }
            Op::UpdateSlice => self.update_slice(node, index, given),
            Op::Pad(pad) => self.pad(node, pad, index, given),
            Op::Concat(concat) => self.concat(node, concat.axis, index, given),
            Op::Reduce(_) | Op::Contract(_) | Op::Convolve(_) | Op::WindowReduce(_) => {
                let acc = self.accumulated(v, node, index, given)?;
                let result = self.kernel.result(acc);
                Ok(self.cast(result, ty.dtype))
            }
            Op::Composite(_) => Err(self.refuse(node, "composites are decomposed before lowering")),
            Op::Scatter(_) => Err(self.refuse(node, "where it writes is data, and updates may meet there")),
            Op::Cumulative(_) => {
                Err(self
                    .refuse(node, "its elements follow one another, so that nothing beside it reads them"))
            }
            Op::Sort(_) => Err(self.refuse(node, "its elements depend on one another in order")),
            _ => Err(self.refuse(node, "it is not arithmetic on elements")),
        }
    }

    pub(super) fn cast(&mut self, x: ExprId, to: DType) -> ExprId {
        if self.kernel.dtype(x) == to { x } else { self.kernel.add(Expr::Cast(x, to)) }
    }

    fn dims(&mut self, dims: &[Dim], index: &Index) -> ExprId {
        let of = |k: &mut Kernel, d: &Dim| k.add(Expr::Index(Index::constant(d.clone()), DType::I64));
        let Some((last, rest)) = dims.split_last() else { return self.number(DType::I64, 0.0) };
        let mut value = of(&mut self.kernel, last);
        for (i, d) in rest.iter().enumerate().rev() {
            let here = of(&mut self.kernel, d);
            let index = self.kernel.add(Expr::Index(index.clone(), DType::I64));
            let number = self.kernel.constant(Scalar::int(DType::I64, i as i64));
            let is = self.kernel.compare(CompareKind::Eq, index, number);
            value = self.kernel.add(Expr::Select(is, here, value));
        }
        value
    }

    fn pad(
        &mut self,
        node: &'g Node,
        pad: &lawson_graph::op::Pad,
        index: Indices,
        given: &[Condition],
    ) -> Result<ExprId, Refused> {
        let shape = &self.ty(node.inputs[0])?.shape;
        let (mut operand, mut conditions) = (Vec::new(), Vec::new());
        for (d, i) in index.into_iter().enumerate() {
            let place = i - pad.low[d].clone();
            let (i, tests) = spread(place, pad.interior[d].saturating_add(1), &shape[d]);
            operand.push(self.simplify(i));
            conditions.extend(tests);
        }
        let otherwise = self.value(node.inputs[1], Vec::new(), given)?;
        self.padded(node.inputs[0], operand, conditions, given, otherwise)
    }

    /// A value where conditions hold, another one elsewhere.
    pub(super) fn padded(
        &mut self,
        v: ValueId,
        index: Indices,
        conditions: Vec<Condition>,
        given: &[Condition],
        otherwise: ExprId,
    ) -> Result<ExprId, Refused> {
        let Some(conditions) = self.open_conditions(conditions) else { return Ok(otherwise) };
        let inner = join(given, &conditions);
        let x = self.value(v, index, &inner)?;
        Ok(self.guarded(x, &conditions, &inner, otherwise))
    }

    fn concat(
        &mut self,
        node: &'g Node,
        axis: usize,
        index: Indices,
        given: &[Condition],
    ) -> Result<ExprId, Refused> {
        let mut offset = Dim::ZERO;
        let mut parts = Vec::with_capacity(node.inputs.len());
        for part in &node.inputs {
            let size = self.ty(*part)?.shape[axis].clone();
            parts.push((*part, offset.clone(), size.clone()));
            offset = offset + size;
        }
        let dtype = self.ty(node.inputs[0])?.dtype;
        let mut value = self.number(dtype, 0.0);
        for (part, offset, size) in parts.into_iter().rev() {
            let mut place = index.clone();
            place[axis] = self.simplify(place[axis].clone() - offset);
            let condition = Condition { index: place[axis].clone(), end: size };
            value = self.padded(part, place, vec![condition], given, value)?;
        }
        Ok(value)
    }
}

/// Whether a condition says something about an index over these axes. One on no axis is about the data that it mentions.
pub(super) fn concerns(condition: &Condition, axes: &IdSet<AxisId>) -> bool {
    let (mut any, mut shared) = (false, false);
    condition.index.visit_axes(&mut |a| {
        any = true;
        shared |= axes.contains(&a);
    });
    shared || !any
}

/// Conditions together, none twice.
pub(super) fn join(given: &[Condition], more: &[Condition]) -> Vec<Condition> {
    let mut all = given.to_vec();
    all.extend(more.iter().filter(|c| !given.contains(c)).cloned());
    all
}

/// The element at a place of `size` elements that stand `apart`, and what must hold for there to be one.
pub(super) fn spread(place: Index, apart: i64, size: &Dim) -> (Index, Vec<Condition>) {
    if apart == 1 {
        return (place.clone(), vec![Condition { index: place, end: size.clone() }]);
    }
    let index = place.clone().floor_div(apart);
    let whole = Condition { index: place.modulo(apart), end: Dim::ONE };
    (index.clone(), vec![whole, Condition { index, end: size.clone() }])
}

/// The name of what holds a value.
pub(super) fn name_of(graph: &Graph, v: ValueId) -> String {
    match &graph.value(v).name {
        Some(name) => name.to_string(),
        None => format!("v{}", v.index()),
    }
}

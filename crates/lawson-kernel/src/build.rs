//! Making kernels: axes, buffers and expressions are added one by one; the tree is put together from plain values.
//!
//! Equal expressions get one id. Constants are folded only where that is exact and obvious; everything else is left to the
//! graph's passes, which ran before.

use crate::buffer::{Buffer, BufferId, Layout, Level, Role};
use crate::expr::{Expr, ExprId, Extremum, Guard, Load, Scalar};
use crate::hash::IdMap;
use crate::index::Index;
use crate::tree::{
    AccId, Accumulator, Axis, AxisId, For, Kernel, Kind, Merge, Node, State, Store, StoreHint,
};
use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};
use lawson_graph::{DType, Dim, Facts};

impl Kernel {
    /// A kernel with nothing in it.
    pub fn new(name: impl Into<String>, facts: Facts) -> Kernel {
        Kernel {
            name: name.into(),
            facts,
            buffers: Vec::new(),
            axes: Vec::new(),
            accs: Vec::new(),
            exprs: Vec::new(),
            body: Vec::new(),
            known: IdMap::default(),
        }
    }

    /// Adds a buffer.
    pub fn add_buffer(&mut self, buffer: Buffer) -> BufferId {
        self.buffers.push(buffer);
        BufferId(self.buffers.len() as u32 - 1)
    }

    /// Adds a row-major input.
    pub fn input(&mut self, name: &str, dtype: DType, dims: &[Dim]) -> BufferId {
        self.row_major(name, dtype, dims, Role::Input)
    }

    /// Adds a row-major output.
    pub fn output(&mut self, name: &str, dtype: DType, dims: &[Dim]) -> BufferId {
        self.row_major(name, dtype, dims, Role::Output)
    }

    /// Adds row-major scratch.
    pub fn scratch(&mut self, name: &str, dtype: DType, dims: &[Dim], level: Level) -> BufferId {
        self.row_major(name, dtype, dims, Role::Scratch(level))
    }

    fn row_major(&mut self, name: &str, dtype: DType, dims: &[Dim], role: Role) -> BufferId {
        let layout = Layout::row_major(dims);
        let (name, dims) = (name.into(), dims.to_vec());
        self.add_buffer(Buffer { name, dtype, dims, layout, role, finite: false })
    }

    /// Adds an axis.
    pub fn add_axis(&mut self, name: impl Into<String>) -> AxisId {
        self.axes.push(Axis { name: name.into(), derived: None });
        AxisId(self.axes.len() as u32 - 1)
    }

    /// Adds an axis that stands for an index over others.
    pub fn add_derived(&mut self, name: impl Into<String>, index: Index) -> AxisId {
        self.axes.push(Axis { name: name.into(), derived: Some(index) });
        AxisId(self.axes.len() as u32 - 1)
    }

    /// The id of an expression.
    pub fn add(&mut self, expr: Expr) -> ExprId {
        if let Some(id) = self.known.get(&expr) {
            return *id;
        }
        let id = ExprId(self.exprs.len() as u32);
        self.exprs.push(expr.clone());
        self.known.insert(expr, id);
        id
    }

    /// An f32 constant.
    pub fn f32(&mut self, value: f32) -> ExprId {
        self.add(Expr::Const(Scalar::f32(value)))
    }

    /// A constant.
    pub fn constant(&mut self, value: Scalar) -> ExprId {
        self.add(Expr::Const(value))
    }

    /// An element of a buffer.
    pub fn load(&mut self, buffer: BufferId, index: Vec<Index>) -> ExprId {
        self.add(Expr::Load(Load { buffer, index, guard: None }))
    }

    /// An element of a buffer where conditions hold.
    pub fn load_guarded(&mut self, buffer: BufferId, index: Vec<Index>, guard: Guard) -> ExprId {
        let guard = (!guard.conditions.is_empty()).then_some(guard);
        self.add(Expr::Load(Load { buffer, index, guard }))
    }

    /// A function of one number.
    pub fn unary(&mut self, kind: UnaryKind, a: ExprId) -> ExprId {
        self.add(Expr::Unary(kind, a))
    }

    /// A function of two numbers.
    pub fn binary(&mut self, kind: BinaryKind, a: ExprId, b: ExprId) -> ExprId {
        self.add(Expr::Binary(kind, a, b))
    }

    /// The sum.
    pub fn sum(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryKind::Add, a, b)
    }

    /// The product.
    pub fn product(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryKind::Mul, a, b)
    }

    /// A comparison.
    pub fn compare(&mut self, kind: CompareKind, a: ExprId, b: ExprId) -> ExprId {
        self.add(Expr::Compare(kind, a, b))
    }

    /// The lesser or greater of two, whichever where one is NaN.
    pub fn extremum(&mut self, which: Extremum, a: ExprId, b: ExprId) -> ExprId {
        self.add(Expr::Extremum(which, a, b))
    }

    /// Adds an accumulator. `merge` says what two states become, into which the identities, one a component, merge without
    /// changing them.
    pub fn add_acc(
        &mut self,
        name: impl Into<String>,
        state: Vec<State>,
        identity: Vec<Scalar>,
        merge: impl FnOnce(&mut Kernel, AccId) -> Vec<ExprId>,
    ) -> AccId {
        let id = self.add_recurrence(name, state);
        let values = merge(self, id);
        self.accs[id.0 as usize].merge = Some(Merge { identity, values });
        id
    }

    /// Adds an accumulator whose states do not merge: its loops go in order.
    pub fn add_recurrence(&mut self, name: impl Into<String>, state: Vec<State>) -> AccId {
        self.accs.push(Accumulator { name: name.into(), state, merge: None });
        AccId(self.accs.len() as u32 - 1)
    }

    /// Adds an accumulator that sums from `init`.
    pub fn sum_acc(&mut self, name: impl Into<String>, dtype: DType, init: ExprId) -> AccId {
        let zero = if dtype.is_float() { Scalar::float(dtype, 0.0) } else { Scalar::int(dtype, 0) };
        self.add_acc(name, vec![State { dtype, init }], vec![zero], |k, id| {
            let (a, b) = (k.add(Expr::State(id, 0)), k.add(Expr::Other(id, 0)));
            vec![k.sum(a, b)]
        })
    }

    /// Adds an f32 accumulator of the greatest value, starting from -∞; of NaN, whichever.
    pub fn max_acc(&mut self, name: impl Into<String>) -> AccId {
        let least = Scalar::float(DType::F32, f64::NEG_INFINITY);
        let init = self.constant(least);
        self.add_acc(name, vec![State { dtype: DType::F32, init }], vec![least], |k, id| {
            let (a, b) = (k.add(Expr::State(id, 0)), k.add(Expr::Other(id, 0)));
            vec![k.extremum(Extremum::Max, a, b)]
        })
    }

    /// The state of a one-component accumulator.
    pub fn state(&mut self, acc: AccId) -> ExprId {
        self.add(Expr::State(acc, 0))
    }

    /// The result of a one-component accumulator.
    pub fn result(&mut self, acc: AccId) -> ExprId {
        self.add(Expr::Result(acc, 0))
    }
}

/// A serial loop from 0.
pub fn for_each(axis: AxisId, end: impl Into<Index>, body: Vec<Node>) -> Node {
    loop_of(axis, 0, end, 1, Kind::Serial, body)
}

/// A loop.
pub fn loop_of(
    axis: AxisId,
    begin: impl Into<Index>,
    end: impl Into<Index>,
    step: i64,
    kind: Kind,
    body: Vec<Node>,
) -> Node {
    Node::For(For { axis, begin: begin.into(), end: end.into(), step, kind, body })
}

/// A store that stays in the caches.
pub fn store(buffer: BufferId, index: Vec<Index>, value: ExprId) -> Node {
    Node::Store(Store { buffer, index, value, hint: StoreHint::Keep })
}

/// An accumulator with what steps it.
pub fn accumulate(acc: AccId, body: Vec<Node>) -> Node {
    Node::Accumulate { acc, body }
}

/// A step of a one-component accumulator.
pub fn step(acc: AccId, value: ExprId) -> Node {
    Node::Step { acc, values: vec![value] }
}

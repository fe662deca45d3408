//! The kernel: a tree of loops over axes, with stages at its leaves.
//!
//! Read as a program, a kernel is nothing but nested loops that run in order. How a loop is executed is its [`Kind`]: by the
//! members of a team, one iteration after another, all iterations at once in the registers of one (jam), or in the lanes
//! of a vector. A kind never changes what the kernel means; the verifier checks that it may be executed so.
//!
//! An axis may be *derived*: defined as an index over other axes. `split(i, 8)` turns the loop over `i` into loops over `i.0`
//! (in steps of 8) and `i.1` (below 8), with `i = i.0 + i.1`; the stages go on to speak of `i`.

use crate::buffer::{Buffer, BufferId};
use crate::expr::{Condition, Expr, ExprId, Load, Scalar};
use crate::hash::IdMap;
use crate::index::Index;
use lawson_graph::{DType, Facts};

/// An axis of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AxisId(pub u32);

/// An accumulator of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AccId(pub u32);

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name, for people.
    pub name: String,
    /// What is known of the parameters, which are the symbols that dimensions mention.
    pub facts: Facts,
    /// Its buffers.
    pub buffers: Vec<Buffer>,
    /// Its axes.
    pub axes: Vec<Axis>,
    /// Its accumulators.
    pub accs: Vec<Accumulator>,
    /// Its expressions; operands stand before what uses them.
    pub exprs: Vec<Expr>,
    /// The tree.
    pub body: Vec<Node>,
    pub(crate) known: IdMap<Expr, ExprId>,
}

/// An axis: the variable of one or more loops, or an index over others.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its name in texts.
    pub name: String,
    /// What it stands for, if loops do not run over it themselves.
    pub derived: Option<Index>,
}

/// State carried through the steps of the loops inside an [`Node::Accumulate`].
///
/// If states merge it is a monoid, and iterations of those loops may be executed together, each with a state of its own. If not it
/// is a recurrence: its loops go in order, and its state has a value for stages among them too.
#[derive(Clone, Debug, PartialEq)]
pub struct Accumulator {
    /// Its name in texts.
    pub name: String,
    /// The components of its state.
    pub state: Vec<State>,
    /// How states merge, if they do.
    pub merge: Option<Merge>,
}

/// How two states become one.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// What merges into any state without changing it; one a component.
    pub identity: Vec<Scalar>,
    /// The state that results ([`Expr::State`], [`Expr::Other`]); associative and commutative, up to rounding.
    pub values: Vec<ExprId>,
}

/// A component of an accumulator's state.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Its dtype.
    pub dtype: DType,
    /// Its value before the first step, computed where the `accumulate` stands.
    pub init: ExprId,
}

impl Accumulator {
    /// What its state merges into, or nothing.
    pub fn merged(&self) -> &[ExprId] {
        self.merge.as_ref().map_or(&[], |m| &m.values)
    }
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A loop.
    For(For),
    /// The accumulator is initialised, the body steps it, and its result is known to what follows.
    Accumulate {
        /// The accumulator.
        acc: AccId,
        /// What steps it.
        body: Vec<Node>,
    },
    /// The accumulator's state becomes these values.
    Step {
        /// The accumulator.
        acc: AccId,
        /// One value a component.
        values: Vec<ExprId>,
    },
    /// A stage: an element of a buffer gets a value.
    Store(Store),
    /// A hint that an element will be read soon.
    Prefetch {
        /// The buffer.
        buffer: BufferId,
        /// One index a logical dimension; need not lie in bounds.
        index: Vec<Index>,
        /// Into which level.
        level: crate::buffer::Level,
    },
}

/// A loop: `axis` runs from `begin` to below `end` in steps.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// The axis.
    pub axis: AxisId,
    /// The first value.
    pub begin: Index,
    /// One past the last value.
    pub end: Index,
    /// How far the axis moves.
    pub step: i64,
    /// How it is executed.
    pub kind: Kind,
    /// What is repeated.
    pub body: Vec<Node>,
}

/// How a loop is executed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Iterations are shared among the team; only at the root.
    Parallel,
    /// One after another.
    Serial,
    /// One after another, each with its own code.
    Unroll,
    /// Four that add up products of bytes: one instruction where the target has it, and otherwise as unrolled.
    Dot,
    /// One after another, but for those that add nothing to a sum of products, because a factor is 0 and the other one finite
    /// (`skip.rs`): the target may leave them out.
    Skip,
    /// All at once: every stage and loop inside is executed for all iterations together.
    Jam,
    /// All at once, in the lanes of vectors of this width.
    Vector(u32),
}

/// An element of a buffer gets a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    /// The buffer.
    pub buffer: BufferId,
    /// One index a logical dimension.
    pub index: Vec<Index>,
    /// The value.
    pub value: ExprId,
    /// Whether it will be read again soon.
    pub hint: StoreHint,
}

/// Whether what is stored will be read again soon.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StoreHint {
    /// It may be: it goes into the caches.
    Keep,
    /// It will not: it goes past the caches where the target can.
    Stream,
}

impl For {
    /// How many iterations a loop from 0 by 1 has, if that is a number.
    pub fn plain_extent(&self) -> Option<i64> {
        self.end.as_const().filter(|_| self.begin.is(0) && self.step == 1)
    }
}

impl Kind {
    /// Its name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Parallel => "parallel",
            Kind::Serial => "serial",
            Kind::Unroll => "unroll",
            Kind::Dot => "dot",
            Kind::Skip => "skip",
            Kind::Jam => "jam",
            Kind::Vector(_) => "vector",
        }
    }
}

impl Kernel {
    /// The expression of an id.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// The buffer of an id.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0 as usize]
    }

    /// The axis of an id.
    pub fn axis(&self, id: AxisId) -> &Axis {
        &self.axes[id.0 as usize]
    }

    /// The accumulator of an id.
    pub fn acc(&self, id: AccId) -> &Accumulator {
        &self.accs[id.0 as usize]
    }

    /// An index over the axes that loops run over: derived axes are replaced by what they stand for.
    pub fn resolve(&self, index: &Index) -> Index {
        let mut derived = false;
        index.visit_axes(&mut |a| derived |= self.axis(a).derived.is_some());
        if !derived {
            return index.clone();
        }
        index.substitute(&|a| self.axis(a).derived.as_ref().map(|d| self.resolve(d)))
    }

    /// An index as text.
    pub fn show(&self, index: &Index) -> String {
        let (axis, buffer) =
            (|a: AxisId| self.axis(a).name.clone(), |b: BufferId| self.buffer(b).name.clone());
        index.display(&axis, &buffer).to_string()
    }

    /// The dtype of an expression.
    pub fn dtype(&self, id: ExprId) -> DType {
        match self.expr(id) {
            Expr::Const(s) => s.dtype,
            Expr::Index(_, d) | Expr::Cast(_, d) | Expr::Bitcast(_, d) => *d,
            Expr::Load(load) => self.buffer(load.buffer).dtype,
            Expr::Unary(_, a) | Expr::Binary(_, a, _) | Expr::Extremum(_, a, _) | Expr::Fma(a, _, _) => {
                self.dtype(*a)
            }
            Expr::Compare(..) => DType::Bool,
            Expr::Select(_, a, _) => self.dtype(*a),
            Expr::State(acc, i) | Expr::Other(acc, i) | Expr::Result(acc, i) => {
                self.acc(*acc).state[*i].dtype
            }
        }
    }

    /// Whether vectors of the kernel have lanes of 64 bits: it computes with numbers of 64 bits, or does nothing but move them. Integers
    /// of 64 bits that are only read, compared or selected beside narrower numbers, as indices are, do not make it so.
    pub fn computes_wide(&self) -> bool {
        let is_wide = |e: &Expr| match e {
            Expr::Unary(_, a) | Expr::Binary(_, a, _) => self.dtype(*a) == DType::I64,
            Expr::Cast(a, to) => self.dtype(*a).is_float() && *to == DType::I64,
            _ => false,
        };
        let dtypes = || (0..self.exprs.len()).map(|n| self.dtype(ExprId(n as u32)));
        let loads = |e: &Expr| matches!(e, Expr::Load(l) if self.buffer(l.buffer).dtype == DType::I64);
        dtypes().any(|d| matches!(d, DType::F64 | DType::U64))
            || self.exprs.iter().any(is_wide)
            || self.exprs.iter().any(loads) && dtypes().all(|d| matches!(d, DType::I64 | DType::Bool))
    }

    /// Whether numbers of 64 bits occur.
    pub fn has_wide(&self) -> bool {
        (0..self.exprs.len()).any(|n| self.dtype(ExprId(n as u32)).bits() == 64)
    }

    /// The kernel with the bounds of their buffers among the conditions of all guarded loads; `None` if they are there already.
    /// Where every element that is read lies in its buffer, it means the same.
    pub fn with_checked_loads(&self) -> Option<Kernel> {
        let mut kernel = self.clone();
        let mut changed = false;
        for e in &mut kernel.exprs {
            let Expr::Load(Load { buffer, index, guard: Some(guard) }) = e else { continue };
            for (index, end) in index.iter().zip(&self.buffer(*buffer).dims) {
                let bound = Condition { index: index.clone(), end: end.clone() };
                if index.as_const().is_none() && !guard.conditions.contains(&bound) {
                    guard.conditions.push(bound);
                    changed = true;
                }
            }
        }
        kernel.known = kernel.exprs.iter().enumerate().map(|(n, e)| (e.clone(), ExprId(n as u32))).collect();
        changed.then_some(kernel)
    }

    /// Whether it is several nests at the root of which a team shares the iterations all at once, one after another in their order: all are loops, and some are
    /// parallel. Nests that are not count as one iteration.
    pub fn is_side_by_side(&self) -> bool {
        let kinds = || self.body.iter().map(|n| if let Node::For(f) = n { Some(f.kind) } else { None });
        self.body.len() > 1 && kinds().all(|k| k.is_some()) && kinds().any(|k| k == Some(Kind::Parallel))
    }

    /// A recurrence that steps among these nodes and is not begun there: they go in order.
    pub fn recurs_in(&self, nodes: &[Node]) -> Option<AccId> {
        nodes.iter().find_map(|node| match node {
            Node::For(f) => self.recurs_in(&f.body),
            Node::Accumulate { acc, body } => self.recurs_in(body).filter(|a| a != acc),
            Node::Step { acc, .. } => self.acc(*acc).merge.is_none().then_some(*acc),
            Node::Store(_) | Node::Prefetch { .. } => None,
        })
    }

    /// Calls `visit` with these expressions and all that they are made of, each once.
    pub fn visit_below<'k>(&'k self, roots: &[ExprId], visit: &mut impl FnMut(ExprId, &'k Expr)) {
        let mut seen = vec![0u64; self.exprs.len().div_ceil(64)];
        let mut open = roots.to_vec();
        while let Some(id) = open.pop() {
            let (word, bit) = (id.0 as usize / 64, 1 << (id.0 % 64));
            if seen[word] & bit == 0 {
                seen[word] |= bit;
                let expr = self.expr(id);
                visit(id, expr);
                expr.visit_operands(&mut |o| open.push(o));
            }
        }
    }

    /// Calls `visit` with every node, each before what it contains.
    pub fn visit<'a>(&'a self, visit: &mut impl FnMut(&'a Node)) {
        fn walk<'a>(nodes: &'a [Node], visit: &mut impl FnMut(&'a Node)) {
            for node in nodes {
                visit(node);
                match node {
                    Node::For(For { body, .. }) | Node::Accumulate { body, .. } => walk(body, visit),
                    _ => {}
                }
            }
        }
        walk(&self.body, visit);
    }
}

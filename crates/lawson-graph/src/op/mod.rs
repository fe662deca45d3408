//! Operators: the primitives, which every target knows, and composites, which are defined by decomposition.
//!
//! `Op` is what a node holds. Each family has its own file with the parameters, their meaning, and inference. The
//! meaning of every primitive is stated at its declaration and executed by `interp/`. What is generic over operators is
//! here (inference, sub-graphs, equality, hashing), in `parts.rs` (names and attributes, as texts have them) and in
//! `family.rs`. To add a primitive, follow `docs/add-an-operator.md`.

mod control;
mod elementwise;
mod family;
mod index;
mod infer;
mod linear;
mod outside;
mod parts;
mod reduce;
mod sequence;
mod source;
mod view;

pub use control::{Cond, Scan, While, same_type};
pub use elementwise::{BinaryKind, Bitcast, Cast, CompareKind, UnaryKind};
pub use family::Family;
pub use index::{Combine, Gather, Scatter, window_axes};
pub(crate) use infer::plural;
pub use infer::{Accept, Infer, check_shape};
pub use linear::{Contract, Convolve};
pub use outside::{Collective, CollectiveKind, HostCall};
pub use reduce::{Cumulative, Monoid, Reduce, Sort, WindowReduce};
pub use sequence::{OptNone, SeqAt, SeqMake};
pub use source::{DefineSymbol, Dims, Iota, RandomBits};
pub use view::{Broadcast, Concat, DynamicSlice, Pad, Reshape, Slice, Transpose};

use crate::attr::AttrReader;
use crate::composite::{CompositeRef, Registry};
use crate::dim::{Dim, Facts, Symbol};
use crate::error::Result;
use crate::graph::Graph;
use crate::tensor::HostTensor;
use crate::types::Type;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What a node computes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Op {
    /// A tensor known when the graph is built.
    Constant(HostTensor),
    /// Indices along an axis.
    Iota(Iota),
    /// Dimension expressions as data.
    Dims(Dims),
    /// A symbol defined at run time.
    DefineSymbol(DefineSymbol),
    /// Random bits from a key.
    RandomBits(RandomBits),
    /// A function of one number.
    Unary(UnaryKind),
    /// A function of two numbers.
    Binary(BinaryKind),
    /// A comparison.
    Compare(CompareKind),
    /// `select(condition, a, b)`.
    Select,
    /// Conversion of values.
    Cast(Cast),
    /// Conversion of bits.
    Bitcast(Bitcast),
    /// New and repeated axes.
    Broadcast(Broadcast),
    /// Another shape.
    Reshape(Reshape),
    /// Another order of axes.
    Transpose(Transpose),
    /// A part, with static bounds.
    Slice(Slice),
    /// A part, with bounds from data.
    DynamicSlice(DynamicSlice),
    /// `update_slice(x, update, starts)`.
    UpdateSlice,
    /// Padding with a scalar.
    Pad(Pad),
    /// One after another.
    Concat(Concat),
    /// Combination along axes.
    Reduce(Reduce),
    /// Combination in a sliding window.
    WindowReduce(WindowReduce),
    /// Running combination.
    Cumulative(Cumulative),
    /// Sorting.
    Sort(Sort),
    /// Batched general dot product.
    Contract(Contract),
    /// Convolution.
    Convolve(Convolve),
    /// Reading at indices.
    Gather(Gather),
    /// Writing at indices.
    Scatter(Scatter),
    /// Repetition while a condition holds.
    While(While),
    /// One of two branches.
    Cond(Cond),
    /// Repetition over slices.
    Scan(Scan),
    /// Exchange between participants.
    Collective(Collective),
    /// A call to the host.
    HostCall(HostCall),
    /// A sequence of the operands.
    SeqMake(SeqMake),
    /// An element of a sequence.
    SeqAt(SeqAt),
    /// A sequence with one element more.
    SeqInsert,
    /// A sequence with one element less.
    SeqErase,
    /// The length of a sequence.
    SeqLen,
    /// An optional that holds its operand.
    OptSome,
    /// An optional that holds nothing.
    OptNone(OptNone),
    /// Whether an optional holds something.
    OptHas,
    /// What an optional holds.
    OptGet,
    /// An operator defined by its decomposition.
    Composite(CompositeRef),
}

/// How an operator counts when nodes are merged, moved or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Equal operands give equal results, and nothing else happens.
    Pure,
    /// Something else happens, or the operator takes part in an exchange: it stays, once, in order.
    Effectful,
}

impl Op {
    /// The sub-graphs with their labels in the text form.
    pub fn subgraphs(&self) -> Vec<(&'static str, &Arc<Graph>)> {
        match self {
            Op::While(w) => vec![("cond", &w.cond), ("body", &w.body)],
            Op::Cond(c) => vec![("then", &c.then), ("else", &c.otherwise)],
            Op::Scan(s) => vec![("body", &s.body)],
            _ => Vec::new(),
        }
    }

    /// The same operator with its sub-graphs, in order, replaced.
    pub fn with_subgraphs(&self, graphs: Vec<Arc<Graph>>) -> Op {
        let mut op = self.clone();
        let mut graphs = graphs.into_iter();
        let slots: Vec<&mut Arc<Graph>> = match &mut op {
            Op::While(w) => vec![&mut w.cond, &mut w.body],
            Op::Cond(c) => vec![&mut c.then, &mut c.otherwise],
            Op::Scan(s) => vec![&mut s.body],
            _ => Vec::new(),
        };
        for slot in slots {
            if let Some(graph) = graphs.next() {
                *slot = graph;
            }
        }
        op
    }

    /// The same operator with its bodies under other facts.
    pub(crate) fn under(&self, facts: &Facts) -> Result<Op> {
        let bodies = self.subgraphs();
        if bodies.is_empty() {
            return Ok(self.clone());
        }
        let bodies = bodies.into_iter().map(|(_, g)| g.under(facts).map(Arc::new)).collect::<Result<_>>()?;
        Ok(self.with_subgraphs(bodies))
    }

    /// The types of the results, or what is wrong with the operands.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        match self {
            Op::Constant(t) => {
                cx.count(0)?;
                Ok(vec![t.ty().into()])
            }
            Op::Iota(p) => p.infer(cx),
            Op::Dims(p) => p.infer(cx),
            Op::DefineSymbol(p) => p.infer(cx),
            Op::RandomBits(p) => p.infer(cx),
            Op::Unary(k) => k.infer(cx),
            Op::Binary(k) => k.infer(cx),
            Op::Compare(k) => k.infer(cx),
            Op::Select => elementwise::infer_select(cx),
            Op::Cast(p) => p.infer(cx),
            Op::Bitcast(p) => p.infer(cx),
            Op::Broadcast(p) => p.infer(cx),
            Op::Reshape(p) => p.infer(cx),
            Op::Transpose(p) => p.infer(cx),
            Op::Slice(p) => p.infer(cx),
            Op::DynamicSlice(p) => p.infer(cx),
            Op::UpdateSlice => view::infer_update_slice(cx),
            Op::Pad(p) => p.infer(cx),
            Op::Concat(p) => p.infer(cx),
            Op::Reduce(p) => p.infer(cx),
            Op::WindowReduce(p) => p.infer(cx),
            Op::Cumulative(p) => p.infer(cx),
            Op::Sort(p) => p.infer(cx),
            Op::Contract(p) => p.infer(cx),
            Op::Convolve(p) => p.infer(cx),
            Op::Gather(p) => p.infer(cx),
            Op::Scatter(p) => p.infer(cx),
            Op::While(p) => p.infer(cx),
            Op::Cond(p) => p.infer(cx),
            Op::Scan(p) => p.infer(cx),
            Op::Collective(p) => p.infer(cx),
            Op::HostCall(p) => p.infer(cx),
            Op::SeqMake(p) => p.infer(cx),
            Op::SeqAt(p) => p.infer(cx),
            Op::SeqInsert => sequence::infer_seq_insert(cx),
            Op::SeqErase => sequence::infer_seq_erase(cx),
            Op::SeqLen => sequence::infer_seq_len(cx),
            Op::OptSome => sequence::infer_opt_some(cx),
            Op::OptNone(p) => p.infer(cx),
            Op::OptHas => sequence::infer_opt_has(cx),
            Op::OptGet => sequence::infer_opt_get(cx),
            Op::Composite(c) => crate::composite::infer(c.as_ref(), cx),
        }
    }

    /// Whether the operator is of a kind that may define symbols.
    pub fn may_define(&self) -> bool {
        matches!(self, Op::DefineSymbol(_) | Op::SeqAt(_) | Op::HostCall(_) | Op::Composite(_))
    }

    /// The symbols that the operator defines at run time, with their upper bounds.
    pub fn defines(&self, inputs: &[&Type]) -> Vec<(Symbol, Dim)> {
        match self {
            Op::DefineSymbol(s) => vec![(s.name.clone(), s.max.clone())],
            Op::SeqAt(s) => inputs.first().map(|t| s.bounds(t)).unwrap_or_default(),
            Op::HostCall(h) => h.defines.clone(),
            Op::Composite(c) => c.defines(inputs),
            _ => Vec::new(),
        }
    }

    /// Whether the node may be merged with an equal one, moved, or removed when unused.
    pub fn effect(&self) -> Effect {
        match self {
            Op::HostCall(h) if !h.pure_call => Effect::Effectful,
            Op::Collective(_) => Effect::Effectful,
            // A name is defined once, by one node, so the node cannot be merged.
            _ => {
                let inner = self.subgraphs().into_iter().flat_map(|(_, g)| g.nodes());
                if inner.map(|n| n.op.effect()).any(|e| e == Effect::Effectful) {
                    Effect::Effectful
                } else {
                    Effect::Pure
                }
            }
        }
    }

    /// The composite's parameters, if the operator is that composite.
    pub fn composite<T: 'static>(&self) -> Option<&T> {
        match self {
            Op::Composite(c) => c.as_any().downcast_ref::<T>(),
            _ => None,
        }
    }

    /// Whether each element of the result comes from the same element of each operand.
    pub fn is_elementwise(&self) -> bool {
        matches!(
            self,
            Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Cast(_) | Op::Bitcast(_)
        )
    }

    /// Whether it is a composite.
    pub fn is_composite(&self) -> bool {
        matches!(self, Op::Composite(_))
    }

    /// The same operator with every dimension expression in its attributes and sub-graphs replaced.
    pub fn map_dims(&self, registry: &Registry, map: &impl Fn(&Dim) -> Dim) -> Result<Op> {
        if let Op::Constant(_) | Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select = self {
            return Ok(self.clone());
        }
        let attrs = self.attrs().into_iter().map(|(n, a)| (n.to_string(), a.map_dims(map))).collect();
        let mut bodies = Vec::new();
        for (label, graph) in self.subgraphs() {
            bodies.push((label.to_string(), Arc::new(graph.map_dims(registry, map)?)));
        }
        match self {
            Op::Composite(c) => {
                let mut reader = AttrReader::new(c.name(), attrs);
                Ok(Op::Composite(c.with_attrs(&mut reader)?))
            }
            _ => Op::from_parts(self.name(), AttrReader::new(self.name(), attrs), bodies, registry),
        }
    }
}

impl PartialEq for Op {
    fn eq(&self, other: &Op) -> bool {
        match (self, other) {
            (Op::Constant(a), Op::Constant(b)) => a == b,
            (Op::Constant(_), _) | (_, Op::Constant(_)) => false,
            (Op::Unary(a), Op::Unary(b)) => a == b,
            (Op::Binary(a), Op::Binary(b)) => a == b,
            (Op::Composite(a), Op::Composite(b)) => Arc::ptr_eq(a, b) || a.same(b.as_ref()),
            _ => {
                self.name() == other.name()
                    && self.is_composite() == other.is_composite()
                    && self.attrs() == other.attrs()
                    && self.subgraphs() == other.subgraphs()
            }
        }
    }
}

impl Hash for Op {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Op::Constant(t) => {
                // Equal tensors share type and bytes; a prefix tells most of them apart.
                t.dtype().hash(state);
                t.sizes().hash(state);
                t.bytes()[..t.bytes().len().min(64)].hash(state);
            }
            _ => {
                self.name().hash(state);
                self.attrs().hash(state);
            }
        }
    }
}

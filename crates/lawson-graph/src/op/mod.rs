//! Operators: the primitives, which every target knows, and composites, which are defined by decomposition.
//!
//! `Op` is what a node holds. Each family has its own file with the parameters, their meaning, and inference. The
//! meaning of every primitive is stated at its declaration and executed by `interp/`. Everything generic over
//! operators (names, attributes, sub-graphs, inference, equality, hashing) is here; to add a primitive, follow
//! `docs/add-an-operator.md`.

mod control;
mod elementwise;
mod index;
mod infer;
mod linear;
mod outside;
mod reduce;
mod sequence;
mod source;
mod view;

pub use control::{Cond, Scan, While, same_type};
pub use elementwise::{BinaryKind, Bitcast, Cast, CompareKind, UnaryKind};
pub use index::{Combine, Gather, Scatter, window_axes};
pub(crate) use infer::plural;
pub use infer::{Accept, Infer, check_shape};
pub use linear::{Contract, Convolve};
pub use outside::{Collective, CollectiveKind, HostCall};
pub use reduce::{Cumulative, Monoid, Reduce, Sort, WindowReduce};
pub use sequence::{OptNone, SeqAt, SeqMake};
pub use source::{DefineSymbol, Dims, Iota, RandomBits};
pub use view::{Broadcast, Concat, DynamicSlice, Pad, Reshape, Slice, Transpose};

use crate::attr::{Attr, AttrReader, AttrValue, Attributes};
use crate::composite::{CompositeRef, Registry};
use crate::dim::{Dim, Facts, Symbol};
use crate::error::{Code, Error, Result};
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

/// Which operator, without its parameters: what rules and tables are indexed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// A tensor known when the graph is built.
    Constant,
    /// Indices along an axis.
    Iota,
    /// Dimension expressions as data.
    Dims,
    /// A symbol defined at run time.
    DefineSymbol,
    /// Random bits from a key.
    RandomBits,
    /// A function of one number.
    Unary,
    /// A function of two numbers.
    Binary,
    /// A comparison.
    Compare,
    /// `select(condition, a, b)`.
    Select,
    /// Conversion of values.
    Cast,
    /// Conversion of bits.
    Bitcast,
    /// New and repeated axes.
    Broadcast,
    /// Another shape.
    Reshape,
    /// Another order of axes.
    Transpose,
    /// A part, with static bounds.
    Slice,
    /// A part, with bounds from data.
    DynamicSlice,
    /// `update_slice(x, update, starts)`.
    UpdateSlice,
    /// Padding with a scalar.
    Pad,
    /// One after another.
    Concat,
    /// Combination along axes.
    Reduce,
    /// Combination in a sliding window.
    WindowReduce,
    /// Running combination.
    Cumulative,
    /// Sorting.
    Sort,
    /// Batched general dot product.
    Contract,
    /// Convolution.
    Convolve,
    /// Reading at indices.
    Gather,
    /// Writing at indices.
    Scatter,
    /// Repetition while a condition holds.
    While,
    /// One of two branches.
    Cond,
    /// Repetition over slices.
    Scan,
    /// Exchange between participants.
    Collective,
    /// A call to the host.
    HostCall,
    /// A sequence of the operands.
    SeqMake,
    /// An element of a sequence.
    SeqAt,
    /// A sequence with one element more.
    SeqInsert,
    /// A sequence with one element less.
    SeqErase,
    /// The length of a sequence.
    SeqLen,
    /// An optional that holds its operand.
    OptSome,
    /// An optional that holds nothing.
    OptNone,
    /// Whether an optional holds something.
    OptHas,
    /// What an optional holds.
    OptGet,
    /// An operator defined by its decomposition.
    Composite,
}

impl Family {
    /// How many there are.
    pub const COUNT: usize = Family::Composite as usize + 1;
}

/// How an operator counts when nodes are merged, moved or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Equal operands give equal results, and nothing else happens.
    Pure,
    /// Something else happens, or the operator takes part in an exchange: it stays, once, in order.
    Effectful,
}

fn prefixed(prefix: &str, name: &'static str, table: &[&'static str]) -> &'static str {
    table.iter().copied().find(|t| t.strip_prefix(prefix) == Some(name)).unwrap_or(name)
}

/// Names of the families whose kind is part of the name.
const REDUCES: &[&str] =
    &["reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or"];
const WINDOWS: &[&str] =
    &["window_sum", "window_prod", "window_max", "window_min", "window_and", "window_or"];
const CUMULATIVES: &[&str] = &["cumulative_sum", "cumulative_prod", "cumulative_max", "cumulative_min"];
const SCATTERS: &[&str] = &["scatter_set", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"];

impl Op {
    /// The name in the text form.
    pub fn name(&self) -> &str {
        match self {
            Op::Constant(_) => "constant",
            Op::Iota(_) => "iota",
            Op::Dims(_) => "dims",
            Op::DefineSymbol(_) => "symbol",
            Op::RandomBits(_) => "random_bits",
            Op::Unary(k) => k.name(),
            Op::Binary(k) => k.name(),
            Op::Compare(k) => k.name(),
            Op::Select => "select",
            Op::Cast(_) => "cast",
            Op::Bitcast(_) => "bitcast",
            Op::Broadcast(_) => "broadcast",
            Op::Reshape(_) => "reshape",
            Op::Transpose(_) => "transpose",
            Op::Slice(_) => "slice",
            Op::DynamicSlice(_) => "dynamic_slice",
            Op::UpdateSlice => "update_slice",
            Op::Pad(_) => "pad",
            Op::Concat(_) => "concat",
            Op::Reduce(r) => prefixed("reduce_", r.kind.name(), REDUCES),
            Op::WindowReduce(w) => prefixed("window_", w.kind.name(), WINDOWS),
            Op::Cumulative(c) => prefixed("cumulative_", c.kind.name(), CUMULATIVES),
            Op::Sort(_) => "sort",
            Op::Contract(_) => "contract",
            Op::Convolve(_) => "convolve",
            Op::Gather(_) => "gather",
            Op::Scatter(s) => prefixed("scatter_", s.combine.name(), SCATTERS),
            Op::While(_) => "while",
            Op::Cond(_) => "cond",
            Op::Scan(_) => "scan",
            Op::Collective(c) => c.kind.name(),
            Op::HostCall(_) => "host_call",
            Op::SeqMake(_) => "seq_make",
            Op::SeqAt(_) => "seq_at",
            Op::SeqInsert => "seq_insert",
            Op::SeqErase => "seq_erase",
            Op::SeqLen => "seq_len",
            Op::OptSome => "opt_some",
            Op::OptNone(_) => "opt_none",
            Op::OptHas => "opt_has",
            Op::OptGet => "opt_get",
            Op::Composite(c) => c.name(),
        }
    }

    /// Which operator it is, without its parameters.
    pub fn family(&self) -> Family {
        match self {
            Op::Constant(_) => Family::Constant,
            Op::Iota(_) => Family::Iota,
            Op::Dims(_) => Family::Dims,
            Op::DefineSymbol(_) => Family::DefineSymbol,
            Op::RandomBits(_) => Family::RandomBits,
            Op::Unary(_) => Family::Unary,
            Op::Binary(_) => Family::Binary,
            Op::Compare(_) => Family::Compare,
            Op::Select => Family::Select,
            Op::Cast(_) => Family::Cast,
            Op::Bitcast(_) => Family::Bitcast,
            Op::Broadcast(_) => Family::Broadcast,
            Op::Reshape(_) => Family::Reshape,
            Op::Transpose(_) => Family::Transpose,
            Op::Slice(_) => Family::Slice,
            Op::DynamicSlice(_) => Family::DynamicSlice,
            Op::UpdateSlice => Family::UpdateSlice,
            Op::Pad(_) => Family::Pad,
            Op::Concat(_) => Family::Concat,
            Op::Reduce(_) => Family::Reduce,
            Op::WindowReduce(_) => Family::WindowReduce,
            Op::Cumulative(_) => Family::Cumulative,
            Op::Sort(_) => Family::Sort,
            Op::Contract(_) => Family::Contract,
            Op::Convolve(_) => Family::Convolve,
            Op::Gather(_) => Family::Gather,
            Op::Scatter(_) => Family::Scatter,
            Op::While(_) => Family::While,
            Op::Cond(_) => Family::Cond,
            Op::Scan(_) => Family::Scan,
            Op::Collective(_) => Family::Collective,
            Op::HostCall(_) => Family::HostCall,
            Op::SeqMake(_) => Family::SeqMake,
            Op::SeqAt(_) => Family::SeqAt,
            Op::SeqInsert => Family::SeqInsert,
            Op::SeqErase => Family::SeqErase,
            Op::SeqLen => Family::SeqLen,
            Op::OptSome => Family::OptSome,
            Op::OptNone(_) => Family::OptNone,
            Op::OptHas => Family::OptHas,
            Op::OptGet => Family::OptGet,
            Op::Composite(_) => Family::Composite,
        }
    }

    /// The attributes that the text form prints after the operands. What is part of the name is not among them, nor
    /// are a constant's elements and sub-graphs.
    pub fn attrs(&self) -> Vec<(&'static str, Attr)> {
        let without = |mut attrs: Vec<(&'static str, Attr)>, name: &str| {
            attrs.retain(|(n, _)| *n != name);
            attrs
        };
        match self {
            Op::Iota(p) => p.to_attrs(),
            Op::Dims(p) => p.to_attrs(),
            Op::DefineSymbol(p) => p.to_attrs(),
            Op::RandomBits(p) => p.to_attrs(),
            Op::Cast(p) => p.to_attrs(),
            Op::Bitcast(p) => p.to_attrs(),
            Op::Broadcast(p) => p.to_attrs(),
            Op::Reshape(p) => p.to_attrs(),
            Op::Transpose(p) => p.to_attrs(),
            Op::Slice(p) => p.to_attrs(),
            Op::DynamicSlice(p) => p.to_attrs(),
            Op::Pad(p) => p.to_attrs(),
            Op::Concat(p) => p.to_attrs(),
            Op::Reduce(p) => without(p.to_attrs(), "kind"),
            Op::WindowReduce(p) => without(p.to_attrs(), "kind"),
            Op::Cumulative(p) => without(p.to_attrs(), "kind"),
            Op::Sort(p) => p.to_attrs(),
            Op::Contract(p) => p.to_attrs(),
            Op::Convolve(p) => p.to_attrs(),
            Op::Gather(p) => p.to_attrs(),
            Op::Scatter(p) => without(p.to_attrs(), "combine"),
            Op::While(w) => vec![("carried", w.carried.to_attr())],
            Op::Scan(s) => {
                let mut attrs = vec![
                    ("carried", s.carried.to_attr()),
                    ("scanned", s.scanned.to_attr()),
                    ("length", s.length.to_attr()),
                ];
                if s.reverse {
                    attrs.push(("reverse", true.to_attr()));
                }
                attrs
            }
            Op::Collective(p) => without(p.to_attrs(), "kind"),
            Op::HostCall(p) => p.to_attrs(),
            Op::SeqMake(p) => p.to_attrs(),
            Op::SeqAt(p) => p.to_attrs(),
            Op::OptNone(p) => p.to_attrs(),
            Op::Composite(c) => c.attrs(),
            Op::Constant(_)
            | Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Select
            | Op::UpdateSlice
            | Op::Cond(_)
            | Op::SeqInsert
            | Op::SeqErase
            | Op::SeqLen
            | Op::OptSome
            | Op::OptHas
            | Op::OptGet => Vec::new(),
        }
    }

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

    /// From a name, attributes and labelled sub-graphs, as a text has them. Constants are read by the text form.
    pub fn from_parts(
        name: &str,
        mut reader: AttrReader,
        subgraphs: Vec<(String, Arc<Graph>)>,
        registry: &Registry,
    ) -> Result<Op> {
        let mut bodies = Bodies { op: name.to_string(), left: subgraphs };
        let op = Op::read(name, &mut reader, &mut bodies, registry)?;
        reader.finish()?;
        bodies.finish()?;
        Ok(op)
    }

    fn read(name: &str, reader: &mut AttrReader, bodies: &mut Bodies, registry: &Registry) -> Result<Op> {
        if let Some(k) = UnaryKind::from_name(name) {
            return Ok(Op::Unary(k));
        }
        if let Some(k) = BinaryKind::from_name(name) {
            return Ok(Op::Binary(k));
        }
        if let Some(k) = CompareKind::from_name(name) {
            return Ok(Op::Compare(k));
        }
        let monoid = |prefix: &str| name.strip_prefix(prefix).and_then(Monoid::from_name);
        if let Some(kind) = monoid("reduce_") {
            return Ok(Op::Reduce(Reduce { kind, axes: reader.require("axes")? }));
        }
        if let Some(kind) = monoid("window_") {
            return Ok(Op::WindowReduce(WindowReduce {
                kind,
                window: reader.require("window")?,
                stride: reader.require("stride")?,
                dilation: reader.require("dilation")?,
                low: reader.require("low")?,
                high: reader.require("high")?,
            }));
        }
        if let Some(kind) = monoid("cumulative_") {
            return Ok(Op::Cumulative(Cumulative {
                kind,
                axis: reader.require("axis")?,
                exclusive: reader.take("exclusive")?.unwrap_or(false),
                reverse: reader.take("reverse")?.unwrap_or(false),
            }));
        }
        if let Some(combine) = name.strip_prefix("scatter_").and_then(Combine::from_name) {
            return Ok(Op::Scatter(Scatter {
                combine,
                axes: reader.require("axes")?,
                batch: reader.take("batch")?.unwrap_or(0),
            }));
        }
        if let Some(kind) = CollectiveKind::from_name(name) {
            return Ok(Op::Collective(Collective {
                kind,
                group: reader.require("group")?,
                size: reader.require("size")?,
                reduce: reader.take("reduce")?.unwrap_or(Monoid::Sum),
                axis: reader.take("axis")?.unwrap_or(0),
                to_axis: reader.take("to_axis")?.unwrap_or(0),
                pairs: reader.take("pairs")?.unwrap_or_default(),
            }));
        }
        Ok(match name {
            "iota" => Op::Iota(Iota::from_attrs(reader)?),
            "dims" => Op::Dims(Dims::from_attrs(reader)?),
            "symbol" => Op::DefineSymbol(DefineSymbol::from_attrs(reader)?),
            "random_bits" => Op::RandomBits(RandomBits::from_attrs(reader)?),
            "select" => Op::Select,
            "cast" => Op::Cast(Cast::from_attrs(reader)?),
            "bitcast" => Op::Bitcast(Bitcast::from_attrs(reader)?),
            "broadcast" => Op::Broadcast(Broadcast::from_attrs(reader)?),
            "reshape" => Op::Reshape(Reshape::from_attrs(reader)?),
            "transpose" => Op::Transpose(Transpose::from_attrs(reader)?),
            "slice" => Op::Slice(Slice::from_attrs(reader)?),
            "dynamic_slice" => Op::DynamicSlice(DynamicSlice::from_attrs(reader)?),
            "update_slice" => Op::UpdateSlice,
            "pad" => Op::Pad(Pad::from_attrs(reader)?),
            "concat" => Op::Concat(Concat::from_attrs(reader)?),
            "sort" => Op::Sort(Sort::from_attrs(reader)?),
            "contract" => Op::Contract(Contract::from_attrs(reader)?),
            "convolve" => Op::Convolve(Convolve::from_attrs(reader)?),
            "gather" => Op::Gather(Gather::from_attrs(reader)?),
            "while" => Op::While(While {
                carried: reader.require("carried")?,
                cond: bodies.take("cond")?,
                body: bodies.take("body")?,
            }),
            "cond" => Op::Cond(Cond { then: bodies.take("then")?, otherwise: bodies.take("else")? }),
            "scan" => Op::Scan(Scan {
                carried: reader.require("carried")?,
                scanned: reader.require("scanned")?,
                length: reader.require("length")?,
                reverse: reader.take("reverse")?.unwrap_or(false),
                body: bodies.take("body")?,
            }),
            "host_call" => Op::HostCall(HostCall::from_attrs(reader)?),
            "seq_make" => Op::SeqMake(SeqMake::from_attrs(reader)?),
            "seq_at" => Op::SeqAt(SeqAt::from_attrs(reader)?),
            "seq_insert" => Op::SeqInsert,
            "seq_erase" => Op::SeqErase,
            "seq_len" => Op::SeqLen,
            "opt_some" => Op::OptSome,
            "opt_none" => Op::OptNone(OptNone::from_attrs(reader)?),
            "opt_has" => Op::OptHas,
            "opt_get" => Op::OptGet,
            _ => Op::Composite(registry.read(name, reader)?),
        })
    }

    /// The names of all primitives but `constant`, for messages and completion.
    pub fn primitive_names() -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        names.extend(UnaryKind::ALL.iter().map(|k| k.name()));
        names.extend(BinaryKind::ALL.iter().map(|k| k.name()));
        names.extend(CompareKind::ALL.iter().map(|k| k.name()));
        names.extend(CollectiveKind::ALL.iter().map(|k| k.name()));
        for family in [REDUCES, WINDOWS, CUMULATIVES, SCATTERS] {
            names.extend(family);
        }
        names.extend([
            "iota",
            "dims",
            "symbol",
            "random_bits",
            "select",
            "cast",
            "bitcast",
            "broadcast",
            "reshape",
            "transpose",
            "slice",
            "dynamic_slice",
            "update_slice",
            "pad",
            "concat",
            "sort",
            "contract",
            "convolve",
            "gather",
            "while",
            "cond",
            "scan",
            "host_call",
            "seq_make",
            "seq_at",
            "seq_insert",
            "seq_erase",
            "seq_len",
            "opt_some",
            "opt_none",
            "opt_has",
            "opt_get",
        ]);
        names
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

/// Sub-graphs as read from a text, taken one by one.
struct Bodies {
    op: String,
    left: Vec<(String, Arc<Graph>)>,
}

impl Bodies {
    fn take(&mut self, label: &str) -> Result<Arc<Graph>> {
        match self.left.iter().position(|(l, _)| l == label) {
            Some(at) => Ok(self.left.remove(at).1),
            None => Err(Error::new(Code::SubGraph, format!("`{}` needs a sub-graph `{label}`", self.op))),
        }
    }

    fn finish(self) -> Result<()> {
        match self.left.first() {
            Some((label, _)) => {
                Err(Error::new(Code::SubGraph, format!("`{}` has no sub-graph `{label}`", self.op)))
            }
            None => Ok(()),
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

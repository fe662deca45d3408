//! Operators as parts of a text: a name, attributes, labelled sub-graphs; and back from them.
//!
//! This is all that the text form knows of operators. A new primitive gets its name and its attributes here.

use super::*;
use crate::attr::{Attr, AttrReader, AttrValue, Attributes};
use crate::composite::Registry;
use crate::error::{Code, Error, Result};
use crate::graph::Graph;
use std::sync::Arc;

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

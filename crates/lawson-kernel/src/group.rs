//! Groups: the parts of a graph that become one kernel each, and why one may not.
//!
//! A group is given by hand or by whoever decides on fusion; here it is only checked and its borders are found. In: a graph
//! and some of its nodes; out: the values that come in and go out. Read `lower/mod.rs` next.

use crate::hash::IdSet;
use lawson_graph::{Code, Def, Error, Graph, NodeId, Op, ValueId};
use std::fmt;

/// Nodes of a graph that are computed by one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The nodes, ascending.
    pub nodes: Vec<NodeId>,
    /// Which of their results are needed outside.
    pub outputs: Vec<ValueId>,
}

/// Why a group does not become a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// An operator that no kernel computes.
    Operator {
        /// Its name.
        op: String,
        /// The name of its result.
        value: String,
        /// Why not.
        why: &'static str,
    },
    /// A dtype that no kernel computes on.
    DType {
        /// The name of the value.
        value: String,
        /// Its type.
        ty: String,
    },
    /// Outputs that are not computed in one nest of loops.
    Spaces {
        /// The name and shape of the first.
        first: String,
        /// The name and shape of the one that does not fit.
        other: String,
    },
    /// A value that would have to be kept in scratch, but is read at places that move with the loops around.
    Halo {
        /// The name of the value.
        value: String,
    },
    /// A value that would have to be kept in scratch, but may be of any size.
    Unbounded {
        /// The name of the value.
        value: String,
        /// Its type.
        ty: String,
    },
    /// Nothing is computed, or more than one kernel should hold.
    Size {
        /// How many nodes.
        nodes: usize,
    },
    /// One of two groups is a composite, or not computed by loops.
    Alone,
    /// Both have products that are not summed up abreast, or share only an operand of products: a kernel has one tile.
    Products,
    /// Products that would be summed up abreast, in more registers than there are.
    Registers {
        /// How many sums.
        sums: i64,
        /// The registers of the least tile that is worth it.
        found: i64,
        /// How many a tile may have.
        most: i64,
    },
    /// Rows that are reduced beside products, whose tiles run across rows.
    Rows,
    /// A view that the product reading it has as index arithmetic.
    View,
    /// Together they are not predicted to take less time than apart.
    NoGain,
    /// Together, values would be computed again and again: in loops that they do not depend on, or at every place that they are read at.
    Again,
    /// Values are read at so many places that computing them at each takes more expressions than a kernel has.
    Work {
        /// How many expressions a kernel of so many nodes has at most.
        most: usize,
    },
    /// As products of one chain they would have more of something than a chain may.
    Chain {
        /// Of what.
        of: &'static str,
        /// How much they would have.
        found: i64,
        /// How much a chain may have.
        most: i64,
    },
    /// As part of a chain, a product could not leave out what is multiplied with 0, which many of its rows probably are.
    Zeros,
    /// Together, each slice of a product would be a product of its own.
    Sliced,
    /// Elements of what one makes are compared with each other, as with the greatest: the same one must have the same bits, which are computed once and lie in memory.
    Compared,
    /// Together they would wait for a group that waits for them.
    Waits,
    /// They belong to different operators of the graph, and these are compiled apart.
    Separate,
    /// One of them has a dtype that the target does not compute with, and would take the other along to the host.
    Foreign,
    /// Only one of them has sizes that are found in a run, or these are found at different times.
    Stages,
    /// They run in different places, or a body has nodes in another place than its loop.
    Places,
    /// A pattern was expected that is not there.
    Pattern {
        /// Which.
        expected: &'static str,
        /// What was found.
        found: String,
    },
}

/// The most nodes of a group: expressions are built by recursion.
const MAX_NODES: usize = 2000;

impl Group {
    /// The group of these nodes. Outputs are what other nodes use and what the graph returns.
    pub fn of(graph: &Graph, nodes: &[NodeId]) -> Result<Group, Refused> {
        let mut nodes = nodes.to_vec();
        nodes.sort();
        nodes.dedup();
        if nodes.is_empty() || nodes.len() > MAX_NODES {
            return Err(Refused::Size { nodes: nodes.len() });
        }
        let inside: IdSet<NodeId> = nodes.iter().copied().collect();
        let outer = graph.node_ids().filter(|n| !inside.contains(n));
        let mut needed: IdSet<ValueId> = outer.flat_map(|n| graph.node(n).inputs.iter().copied()).collect();
        needed.extend(graph.outputs().iter().map(|o| o.value));
        let results = nodes.iter().flat_map(|n| graph.node(*n).outputs.iter().copied());
        let outputs = results.filter(|v| needed.contains(v)).collect();
        Ok(Group { nodes, outputs })
    }

    /// The group of all nodes.
    pub fn whole(graph: &Graph) -> Result<Group, Refused> {
        Group::of(graph, &graph.node_ids().collect::<Vec<_>>())
    }

    /// The values that come from outside, in the order of their first use. Constants inside the group that are not one
    /// number repeated come from outside too.
    pub fn inputs(&self, graph: &Graph) -> Vec<ValueId> {
        let inside: IdSet<NodeId> = self.nodes.iter().copied().collect();
        let mut seen = IdSet::default();
        let mut inputs = Vec::new();
        for v in self.nodes.iter().flat_map(|n| graph.node(*n).inputs.iter().copied()) {
            let from_outside = match graph.value(v).def {
                Def::Input(_) => true,
                Def::Node(n, _) => match &graph.node(n).op {
                    Op::Constant(t) => !t.is_splat(),
                    _ => !inside.contains(&n),
                },
            };
            if from_outside && seen.insert(v) {
                inputs.push(v);
            }
        }
        inputs
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Operator { op, value, why } => write!(f, "`{op}` (`%{value}`) is not lowered: {why}"),
            Refused::DType { value, ty } => write!(f, "`%{value}` is {ty}, which no kernel computes on"),
            Refused::Spaces { first, other } => {
                write!(f, "{other} is not computed in the same loops as {first}")
            }
            Refused::Halo { value } => write!(
                f,
                "`%{value}` would be kept in scratch, but is read at places that move with the loops around it"
            ),
            Refused::Unbounded { value, ty } => write!(
                f,
                "`%{value}: {ty}` would be kept in scratch, whose size must be known: a fact could bound it"
            ),
            Refused::Size { nodes } => {
                write!(f, "a group of {nodes} nodes; expected 1 to {MAX_NODES}")
            }
            Refused::Alone => write!(f, "one of them is not computed by loops over elements"),
            Refused::Stages => {
                write!(
                    f,
                    "not all sizes of both are known at the same time: one of them waits for what a run finds"
                )
            }
            Refused::Products => {
                write!(f, "a kernel has one tile, for products that go through the same loops abreast")
            }
            Refused::Registers { sums, found, most } => {
                write!(f, "{sums} sums abreast would take {found} registers, and a tile has {most}")
            }
            Refused::Rows => write!(f, "rows are reduced whole, and the tile of a product runs across rows"),
            Refused::View => write!(f, "the view is index arithmetic of the product that reads it"),
            Refused::NoGain => write!(f, "together they would not take less time"),
            Refused::Zeros => {
                write!(
                    f,
                    "the product leaves out what is multiplied with 0, as many elements of its rows probably are, and in a chain it could not"
                )
            }
            Refused::Again => {
                write!(f, "values would be computed again at every place that they are read at")
            }
            Refused::Work { most } => write!(
                f,
                "values are read at so many places that computing each there takes more than {most} expressions"
            ),
            Refused::Chain { of, found, most } => {
                write!(f, "a chain of both would have {found} {of}, and may have {most}")
            }
            Refused::Sliced => write!(f, "each slice would be a product of its own, without a tile"),
            Refused::Compared => {
                write!(f, "elements that are compared with each other are computed once, and read by both")
            }
            Refused::Waits => write!(f, "together they would wait for a kernel that waits for them"),
            Refused::Separate => write!(f, "they belong to operators that are compiled apart"),
            Refused::Foreign => write!(f, "one of them has a dtype that is left to the host"),
            Refused::Places => write!(f, "they are placed on different devices"),
            Refused::Pattern { expected, found } => write!(f, "expected {expected}, found {found}"),
        }
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        Error::new(Code::NotLowered, refused.to_string())
            .help("lower its operators apart, or run them on the reference interpreter")
    }
}

//! What a node costs: operations and bytes, as expressions over the graph's symbols.
//!
//! Comes in: a graph; goes out: a `Cost` for each node, or their sum. The counts are those of the definitions, every
//! node by itself with its operands read once and its results written once: what a graph asks for before anybody
//! fuses anything. The rules:
//! - `contract` and `convolve`: a multiplication and an addition for each product, so 2·m·n·k for matrices;
//! - elementwise: 1 for each element, and those that are transcendental are also counted apart;
//! - `reduce`, `cumulative`: 1 for each element that goes in; windows: 1 for each element of each window;
//! - `sort`: its elements times ⌈log₂ n⌉ where n, the size of the axis, is a constant; its elements otherwise;
//! - `random_bits`: 32 for each element, about what Threefry takes;
//! - what moves elements (gather, pad, …) computes nothing; views (broadcast, reshape, transpose, slice, bitcast) and
//!   constants do not move anything either;
//! - `scan`: its length times its body; `cond`: the dearer of its branches; `while`: one iteration;
//! - a composite: the operations of its decomposition, but its own operands and results.

use crate::builder::Builder;
use crate::composite::Composite;
use crate::dim::Dim;
use crate::error::Result;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{BinaryKind, Combine, Op, UnaryKind};
use crate::types::Type;
use std::ops::Add;

/// What a node, or a graph, costs.
///
/// ```
/// use lawson_graph::{Builder, DType, Type};
/// let mut b = Builder::new("product");
/// let x = b.input("x", Type::tensor(DType::F32, ["N", "K"]))?;
/// let w = b.input("w", Type::tensor(DType::F32, ["K", "M"]))?;
/// let y = b.matmul(x, w)?;
/// b.output("y", y)?;
/// let cost = b.finish()?.cost();
/// assert_eq!(cost.flops.to_string(), "2*K*M*N");
/// assert_eq!(cost.written.to_string(), "4*M*N");
/// # Ok::<(), lawson_graph::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Arithmetic operations, those of integers included.
    pub flops: Dim,
    /// How many of them are transcendental functions.
    pub transcendental: Dim,
    /// Bytes of operands.
    pub read: Dim,
    /// Bytes of results.
    pub written: Dim,
    /// Whether this is all: false if a loop runs an unknown number of times or a host function is called.
    pub exact: bool,
}

impl Cost {
    /// Nothing.
    pub const ZERO: Cost = Cost {
        flops: Dim::ZERO,
        transcendental: Dim::ZERO,
        read: Dim::ZERO,
        written: Dim::ZERO,
        exact: true,
    };

    /// The same cost so many times.
    pub fn times(&self, n: &Dim) -> Cost {
        Cost {
            flops: self.flops.clone() * n.clone(),
            transcendental: self.transcendental.clone() * n.clone(),
            read: self.read.clone() * n.clone(),
            written: self.written.clone() * n.clone(),
            exact: self.exact,
        }
    }

    /// Of each count, the greater.
    fn max(&self, other: &Cost) -> Cost {
        Cost {
            flops: self.flops.max(&other.flops),
            transcendental: self.transcendental.max(&other.transcendental),
            read: self.read.max(&other.read),
            written: self.written.max(&other.written),
            exact: self.exact && other.exact,
        }
    }

    /// The same cost with every dimension expression replaced, for example by its value.
    pub fn map_dims(&self, map: &impl Fn(&Dim) -> Dim) -> Cost {
        Cost {
            flops: map(&self.flops),
            transcendental: map(&self.transcendental),
            read: map(&self.read),
            written: map(&self.written),
            exact: self.exact,
        }
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            flops: self.flops + other.flops,
            transcendental: self.transcendental + other.transcendental,
            read: self.read + other.read,
            written: self.written + other.written,
            exact: self.exact && other.exact,
        }
    }
}

impl Graph {
    /// What all nodes cost together.
    pub fn cost(&self) -> Cost {
        self.nodes().iter().fold(Cost::ZERO, |sum, node| sum + self.node_cost(node))
    }

    /// What a node of this graph costs.
    pub fn node_cost(&self, node: &Node) -> Cost {
        let inputs: Vec<&Type> = node.inputs.iter().map(|v| self.ty(*v)).collect();
        let outputs: Vec<&Type> = node.outputs.iter().map(|v| self.ty(*v)).collect();
        let mut cost = match &node.op {
            Op::While(w) => Cost { exact: false, ..w.cond.cost() + w.body.cost() },
            Op::Scan(s) => s.body.cost().times(&s.length),
            Op::Cond(c) => c.then.cost().max(&c.otherwise.cost()),
            Op::Composite(c) => {
                // Inference has built the same decomposition before, so it cannot fail here.
                let (flops, transcendental, exact) = composite_work(c.as_ref(), self, &inputs)
                    .map_or((Dim::ZERO, Dim::ZERO, false), |c| (c.flops, c.transcendental, c.exact));
                Cost { flops, transcendental, exact, ..traffic(self, node) }
            }
            op => Cost { flops: flops(op, &inputs, &outputs), ..traffic(self, node) },
        };
        if is_transcendental(&node.op) {
            cost.transcendental = cost.flops.clone();
        }
        cost
    }
}

fn composite_work(composite: &dyn Composite, graph: &Graph, inputs: &[&Type]) -> Result<Cost> {
    let mut b = Builder::scratch(composite.name(), graph.facts());
    let operands: Vec<ValueId> = inputs
        .iter()
        .enumerate()
        .map(|(i, ty)| b.input(&i.to_string(), (*ty).clone()))
        .collect::<Result<_>>()?;
    composite.decompose(&mut b, &operands)?;
    Ok(b.finish_unverified()?.cost())
}

/// The bytes of operands and results, with nothing computed.
fn traffic(graph: &Graph, node: &Node) -> Cost {
    let bytes = |v: &ValueId| bytes(graph.ty(*v));
    let written: Dim = node.outputs.iter().map(bytes).sum();
    let read = match &node.op {
        op if is_view(op) => return Cost::ZERO,
        // What is not picked is not read.
        Op::DynamicSlice(_) | Op::Gather(_) => {
            written.clone() + node.inputs.iter().skip(1).map(bytes).sum::<Dim>()
        }
        _ => {
            let mut seen: Vec<ValueId> = Vec::new();
            let distinct = node.inputs.iter().filter(|v| {
                let fresh = !seen.contains(v);
                seen.push(**v);
                fresh
            });
            distinct.map(bytes).sum()
        }
    };
    Cost { read, written, exact: !matches!(node.op, Op::HostCall(_)), ..Cost::ZERO }
}

fn is_view(op: &Op) -> bool {
    matches!(
        op,
        Op::Constant(_)
            | Op::Broadcast(_)
            | Op::Reshape(_)
            | Op::Transpose(_)
            | Op::Slice(_)
            | Op::Bitcast(_)
    )
}

/// Sequences and optionals live on the host and count as nothing.
fn bytes(ty: &Type) -> Dim {
    ty.as_tensor().map_or(Dim::ZERO, |t| t.bytes())
}

fn elements(types: &[&Type], index: usize) -> Dim {
    types.get(index).and_then(|t| t.as_tensor()).map_or(Dim::ZERO, |t| t.shape.elements())
}

fn flops(op: &Op, inputs: &[&Type], outputs: &[&Type]) -> Dim {
    let result = || elements(outputs, 0);
    let shape = |index: usize| inputs.get(index).and_then(|t| t.as_tensor()).map(|t| &t.shape);
    match op {
        Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Cast(_) => result(),
        Op::Contract(c) => {
            let depth: Dim = c.sum.iter().filter_map(|(l, _)| shape(0)?.get(*l)).cloned().product();
            result() * depth * 2
        }
        Op::Convolve(_) => {
            let depth: Dim = shape(1).into_iter().flat_map(|w| w.iter().skip(1)).cloned().product();
            result() * depth * 2
        }
        Op::Reduce(_) | Op::Cumulative(_) => elements(inputs, 0),
        Op::WindowReduce(w) => w.window.iter().fold(result(), |n, size| n * *size),
        Op::Sort(s) => {
            let axis = shape(0).and_then(|shape| shape.get(s.axis)).and_then(Dim::as_const);
            let rounds = axis.map_or(1, |n| i64::from(64 - n.max(1).saturating_sub(1).leading_zeros()));
            elements(inputs, 0) * rounds
        }
        Op::Scatter(s) if s.combine != Combine::Set => elements(inputs, 2),
        Op::RandomBits(_) => result() * 32,
        Op::Collective(_) => elements(inputs, 0),
        _ => Dim::ZERO,
    }
}

fn is_transcendental(op: &Op) -> bool {
    match op {
        Op::Unary(kind) => !matches!(
            kind,
            UnaryKind::Neg
                | UnaryKind::Abs
                | UnaryKind::Sign
                | UnaryKind::Not
                | UnaryKind::Floor
                | UnaryKind::Ceil
                | UnaryKind::Round
                | UnaryKind::Trunc
                | UnaryKind::Sqrt
                | UnaryKind::Rsqrt
        ),
        Op::Binary(kind) => matches!(kind, BinaryKind::Pow | BinaryKind::Atan2),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Keep;
    use crate::dtype::DType;
    use crate::op::{Convolve, Monoid, Sort, WindowReduce};

    fn built(build: impl FnOnce(&mut Builder<'static>) -> Result<ValueId>) -> Cost {
        let mut b = Builder::new("g");
        let y = build(&mut b).unwrap();
        b.output("y", y).unwrap();
        b.finish().unwrap().cost()
    }

    fn numbers(cost: &Cost) -> [Option<i64>; 4] {
        [&cost.flops, &cost.transcendental, &cost.read, &cost.written].map(Dim::as_const)
    }

    fn input<const N: usize>(b: &mut Builder<'_>, name: &str, shape: [usize; N]) -> ValueId {
        b.input(name, Type::tensor(DType::F32, shape)).unwrap()
    }

    #[test]
    fn a_product_of_matrices_takes_two_operations_for_each_term() {
        let cost = built(|b| {
            let (x, w) = (input(b, "x", [2, 3]), input(b, "w", [3, 5]));
            b.matmul(x, w)
        });
        assert_eq!(numbers(&cost), [Some(60), Some(0), Some(4 * 21), Some(40)]);
    }

    #[test]
    fn a_convolution_counts_kernel_elements_for_each_result() {
        let cost = built(|b| {
            let (x, w) = (input(b, "x", [1, 4, 5, 5]), input(b, "w", [8, 2, 3, 3]));
            let grouped = Convolve { groups: 2, ..Convolve::plain(2) };
            b.op1(Op::Convolve(grouped), &[x, w])
        });
        assert_eq!(cost.flops.as_const(), Some(2 * (8 * 9) * (2 * 9)));
    }

    #[test]
    fn elementwise_counts_once_and_reads_a_repeated_operand_once() {
        let cost = built(|b| {
            let x = input(b, "x", [7]);
            b.add(x, x)
        });
        assert_eq!(numbers(&cost), [Some(7), Some(0), Some(28), Some(28)]);
        let cost = built(|b| {
            let x = input(b, "x", [7]);
            b.exp(x)
        });
        assert_eq!(numbers(&cost), [Some(7), Some(7), Some(28), Some(28)]);
    }

    #[test]
    fn views_and_constants_are_free() {
        let cost = built(|b| {
            let x = input(b, "x", [2, 3]);
            let t = b.transpose(x, &[1, 0])?;
            let r = b.reshape(t, [6usize])?;
            b.slice_axis(r, 0, 1, 2)
        });
        assert_eq!(cost, Cost::ZERO);
    }

    #[test]
    fn reductions_windows_and_sorts_count_what_goes_in() {
        let cost = built(|b| {
            let x = input(b, "x", [2, 9]);
            b.reduce(Monoid::Sum, x, &[1], Keep::No)
        });
        assert_eq!(cost.flops.as_const(), Some(18));
        let cost = built(|b| {
            let x = input(b, "x", [9]);
            let w = WindowReduce {
                kind: Monoid::Max,
                window: vec![3],
                stride: vec![1],
                dilation: vec![1],
                low: vec![Dim::ZERO],
                high: vec![Dim::ZERO],
            };
            b.op1(Op::WindowReduce(w), &[x])
        });
        assert_eq!(cost.flops.as_const(), Some(21));
        let cost = built(|b| {
            let x = input(b, "x", [9]);
            b.op1(Op::Sort(Sort { axis: 0, descending: false }), &[x])
        });
        assert_eq!(cost.flops.as_const(), Some(36));
    }

    #[test]
    fn gathering_reads_what_it_picks() {
        let cost = built(|b| {
            let x = input(b, "x", [1000, 4]);
            let i = b.input("i", Type::tensor(DType::I64, [3])).unwrap();
            b.take(x, i, 0)
        });
        assert_eq!(cost.read.as_const(), Some(3 * 4 * 4 + 3 * 8));
    }

    #[test]
    fn loops_multiply_and_unknown_ones_say_so() {
        let scan = built(|b| {
            let x = input(b, "x", [5, 2]);
            Ok(b.scan(5, &[], &[x], &[], |b, v| Ok(vec![b.neg(v[0])?]))?[0])
        });
        assert_eq!((scan.flops.as_const(), scan.exact), (Some(10), true));
        let repeat = built(|b| {
            let x = input(b, "x", [2]);
            let more = |b: &mut Builder<'static>, v: &[ValueId]| {
                let sum = b.reduce(Monoid::Sum, v[0], &[0], Keep::No)?;
                let one = b.scalar(DType::F32, 1.0)?;
                b.compare(crate::op::CompareKind::Lt, sum, one)
            };
            Ok(b.while_loop(&[x], &[], more, |b, v| Ok(vec![b.add(v[0], v[0])?]))?[0])
        });
        assert_eq!((repeat.flops.as_const(), repeat.exact), (Some(2 + 1 + 2), false));
    }

    #[test]
    fn symbols_stay_symbols() {
        let cost = built(|b| {
            let x = b.input("x", Type::tensor(DType::F16, [Dim::symbol("N"), Dim::from(3)]))?;
            b.neg(x)
        });
        assert_eq!((cost.flops.to_string(), cost.read.to_string()), ("3*N".into(), "6*N".into()));
    }
}

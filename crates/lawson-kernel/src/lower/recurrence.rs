//! Loops whose elements do not need each other: the state of one stays in registers through all iterations.
//!
//! A `scan` whose body computes every element of its state from the same element of the state before is one nest over the
//! elements, with the iterations inside as a recurrence:
//!
//! ```text
//! for i { accumulate s { for t { step s = body(s, rows[t, i], captured[i]); stacked[t, i] = … } } out[i] = s }
//! ```
//!
//! The body is lowered as a graph of its own, and its stages become those of the recurrence. What it reads of the state must be
//! the element that it computes; what it reads of others may be anywhere.

use super::walk::name_of;
use super::{Lowered, Options, flatten, nest, remap, share};
use crate::buffer::BufferId;
use crate::build::{accumulate, for_each, store};
use crate::expr::{Expr, ExprId, Load};
use crate::group::{Group, Refused};
use crate::hash::IdMap;
use crate::index::Index;
use crate::tree::{AccId, AxisId, For, Kernel, Node, State, Store};
use lawson_graph::op::Scan;

use lawson_graph::{Def, Dim, Graph, NodeId, Op, ValueId};
use std::rc::Rc;

/// What an input of the body is.
#[derive(Clone, Copy)]
enum Given {
    /// This component of the state.
    State(usize),
    /// A row of this buffer.
    Row(BufferId),
    /// This buffer.
    Captured(BufferId),
}

struct Recurrence<'g> {
    body: &'g Graph,
    k: Kernel,
    acc: AccId,
    given: IdMap<ValueId, Given>,
    /// The loops over elements, outermost first, and the one over iterations.
    elements: Vec<For>,
    /// Which row an iteration is at.
    row: Index,
    /// Buffers of the body's own kernel and the values that they are.
    values: Vec<ValueId>,
    /// Expressions of the body's own kernel here.
    exprs: Vec<ExprId>,
    name: String,
}

/// The kernel of a `scan` whose elements do not need each other, of which these results are needed.
pub fn recurrence(graph: &Graph, node: NodeId, needed: &[ValueId]) -> Result<Lowered, Refused> {
    let node = graph.node(node);
    let Op::Scan(op) = &node.op else {
        return Err(Refused::Pattern { expected: "a `scan` node", found: format!("`{}`", node.op.name()) });
    };
    let name = node.outputs.first().map_or_else(String::new, |v| graph.value_name(*v));
    let refuse = |why| Refused::Operator { op: "scan".into(), value: name.clone(), why };
    let body = op.body.as_ref();
    if op.carried == 0 {
        return Err(refuse("nothing is carried from one iteration to the next"));
    }
    let own = nest::lower(body, &Group::whole(body)?, &Options::default(), Rc::default())?;
    if !own.kernel.accs.is_empty() || own.kernel.buffers.len() > own.inputs.len() + own.outputs.len() {
        return Err(refuse("its body computes elements from several others"));
    }
    let (elements, stages) =
        chain(&own.kernel.body).ok_or_else(|| refuse("its results have not all the same elements"))?;

    let mut k = Kernel::new("scan", graph.facts().clone());
    k.axes = own.kernel.axes.clone();
    let mut inputs: Vec<ValueId> = Vec::new();
    let mut operand = |k: &mut Kernel, v: ValueId| {
        if let Some(n) = inputs.iter().position(|i| *i == v) {
            return Ok(BufferId(n as u32));
        }
        let ty = graph.ty(v).as_tensor().ok_or_else(|| refuse("an operand is not a tensor"))?;
        inputs.push(v);
        Ok(k.input(&name_of(graph, v), ty.dtype, &ty.shape))
    };
    let mut given = IdMap::default();
    let mut first = Vec::new();
    for (n, (v, inner)) in node.inputs.iter().zip(body.inputs()).enumerate() {
        let is_read = own.inputs.contains(inner) || body.outputs().iter().any(|o| o.value == *inner);
        let what = if n < op.carried {
            first.push(operand(&mut k, *v)?);
            Given::State(n)
        } else if !is_read {
            continue;
        } else if n < op.carried + op.scanned {
            Given::Row(operand(&mut k, *v)?)
        } else {
            Given::Captured(operand(&mut k, *v)?)
        };
        given.insert(*inner, what);
    }
    let mut outputs = Vec::new();
    for v in node.outputs.iter().filter(|v| needed.contains(v)) {
        let ty = graph.ty(*v).as_tensor().ok_or_else(|| refuse("a result is not a tensor"))?;
        outputs.push((*v, k.output(&name_of(graph, *v), ty.dtype, &ty.shape)));
    }

    let t = k.add_axis("t");
    let last = Index::constant(op.length.clone() - 1);
    let row = if op.reverse { last - Index::axis(t) } else { Index::axis(t) };
    let values = own.inputs.iter().chain(&own.outputs).copied().collect();
    let acc = AccId(0);
    let mut r =
        Recurrence { body, k, acc, given, elements, row, values, exprs: Vec::new(), name: name.clone() };
    let mut state = Vec::new();
    for (buffer, v) in first.into_iter().zip(body.inputs()) {
        let index = r.element(*v)?;
        let dtype = r.k.buffer(buffer).dtype;
        state.push(State { dtype, init: r.k.load(buffer, index) });
    }
    let names: Vec<String> = node.outputs.iter().take(op.carried).map(|v| name_of(graph, *v)).collect();
    r.acc = r.k.add_recurrence(names.join("."), state);
    r.copy(&own.kernel)?;
    let nodes = r.nodes(op, &node.outputs, &outputs, &stages, t)?;
    let Recurrence { mut k, elements, .. } = r;
    k.body = elements.into_iter().rev().fold(nodes, |body, f| vec![Node::For(For { body, ..f })]);
    share::share_scratch(&mut k);
    flatten::flatten(&mut k);
    super::collapse(&mut k);
    remap::tidy(&mut k);
    Ok(Lowered { kernel: k, inputs, outputs: outputs.into_iter().map(|(v, _)| v).collect() })
}

/// Loops directly within each other, and the stages in the innermost, if there is nothing else.
fn chain(mut nodes: &[Node]) -> Option<(Vec<For>, Vec<&Store>)> {
    let mut loops = Vec::new();
    while let [Node::For(f)] = nodes {
        loops.push(For { body: Vec::new(), ..f.clone() });
        nodes = &f.body;
    }
    let stages: Option<Vec<_>> =
        nodes.iter().map(|n| if let Node::Store(s) = n { Some(s) } else { None }).collect();
    Some((loops, stages?))
}

impl Recurrence<'_> {
    fn refuse(&self, why: &'static str) -> Refused {
        Refused::Operator { op: "scan".into(), value: self.name.clone(), why }
    }

    /// The element of a value of the body that the loops are at.
    fn element(&self, v: ValueId) -> Result<Vec<Index>, Refused> {
        let ty = self.body.ty(v).as_tensor().ok_or_else(|| self.refuse("a value is not a tensor"))?;
        let long: Vec<&Dim> = ty.shape.iter().filter(|d| !d.is(1)).collect();
        let ends = self.elements.iter().map(|f| f.end.as_dim());
        if long.len() != self.elements.len()
            || ends.zip(&long).any(|(end, d)| end.is_none_or(|end| !self.body.facts().equal(end, d)))
        {
            return Err(self.refuse("its values have not all the same elements"));
        }
        let mut axes = self.elements.iter().map(|f| Index::axis(f.axis));
        let at = |d: &Dim| if d.is(1) { None } else { axes.next() };
        Ok(ty.shape.iter().map(at).map(|i| i.unwrap_or_else(|| Index::from(0))).collect())
    }

    /// What an input of the body is at an index.
    fn input(&mut self, v: ValueId, index: Vec<Index>) -> Result<Expr, Refused> {
        let Some(given) = self.given.get(&v).copied() else {
            return Err(self.refuse("its body has a constant that is not one number"));
        };
        match given {
            Given::State(n) if index == self.element(v)? => Ok(Expr::State(self.acc, n)),
            Given::State(_) => Err(self.refuse("an element of its state needs another one")),
            Given::Row(buffer) => {
                let index = std::iter::once(self.row.clone()).chain(index).collect();
                Ok(Expr::Load(Load { buffer, index, guard: None }))
            }
            Given::Captured(buffer) => Ok(Expr::Load(Load { buffer, index, guard: None })),
        }
    }

    /// Brings the expressions of the body's own kernel here.
    fn copy(&mut self, own: &Kernel) -> Result<(), Refused> {
        for expr in &own.exprs {
            let mut data = false;
            expr.visit_indices(&mut |i| i.visit_data(&mut |_| data = true));
            if data {
                return Err(self.refuse("its body has indices that are data"));
            }
            let exprs = &self.exprs;
            let expr = match expr.clone().with_operands(&mut |e| exprs[e.0 as usize]) {
                Expr::Load(Load { buffer, index, guard }) => {
                    let v = self.values[buffer.0 as usize];
                    match (self.input(v, index)?, guard) {
                        (Expr::Load(load), guard) => Expr::Load(Load { guard, ..load }),
                        (state, None) => state,
                        (_, Some(_)) => return Err(self.refuse("its state is padded")),
                    }
                }
                same => same,
            };
            let id = self.k.add(expr);
            self.exprs.push(id);
        }
        Ok(())
    }

    /// The value that the body returns at the element that the loops are at.
    fn returned(&mut self, n: usize, stages: &[&crate::tree::Store]) -> Result<ExprId, Refused> {
        let v = self.body.outputs()[n].value;
        let index = self.element(v)?;
        if let Def::Input(_) = self.body.value(v).def {
            let expr = self.input(v, index)?;
            return Ok(self.k.add(expr));
        }
        let stage = stages.iter().find(|s| self.values[s.buffer.0 as usize] == v && s.index == index);
        let stage = stage.ok_or_else(|| self.refuse("its results have not all the same elements"))?;
        Ok(self.exprs[stage.value.0 as usize])
    }

    /// What is done for an element.
    fn nodes(
        &mut self,
        op: &Scan,
        results: &[ValueId],
        outputs: &[(ValueId, BufferId)],
        stages: &[&crate::tree::Store],
        t: AxisId,
    ) -> Result<Vec<Node>, Refused> {
        let place = |v: &ValueId| outputs.iter().find(|(o, _)| o == v).map(|(_, b)| *b);
        let mut iteration = Vec::new();
        for (n, v) in results.iter().enumerate().skip(op.carried) {
            let Some(buffer) = place(v) else { continue };
            let value = self.returned(n, stages)?;
            let mut index = vec![self.row.clone()];
            index.extend(self.element(self.body.outputs()[n].value)?);
            iteration.push(store(buffer, index, value));
        }
        let values = (0..op.carried).map(|n| self.returned(n, stages)).collect::<Result<_, _>>()?;
        iteration.push(Node::Step { acc: self.acc, values });
        let mut nodes = vec![accumulate(self.acc, vec![for_each(t, op.length.clone(), iteration)])];
        for (n, v) in results.iter().enumerate().take(op.carried) {
            let Some(buffer) = place(v) else { continue };
            let index = self.element(self.body.outputs()[n].value)?;
            let value = self.k.add(Expr::Result(self.acc, n));
            nodes.push(store(buffer, index, value));
        }
        Ok(nodes)
    }
}

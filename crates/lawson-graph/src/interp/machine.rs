//! Running a graph: nodes in order, values freed after their last use, every step and byte accounted for.
//!
//! In: a graph and its inputs as `Item`s; out: its outputs. The machine holds what spans graphs, loops and composites:
//! the values of symbols, the limits, decompositions, the exchange with other participants. Primitives are in the files of
//! their families; the dispatch is here.

use super::Options;
use super::array::{Array, Data, Lease, Pool, count};
use super::collective::Exchange;
use super::mode::{Mode, Whole};
use super::{control, elementwise, host, index, linear, reduce, sequence, source, view};
use crate::builder::Builder;
use crate::composite::{Composite, Promise};
use crate::dim::{Bindings, Dim, Symbol};
use crate::dtype::DType;
use crate::error::{Code, Error, Result};
use crate::graph::{Graph, Node, ValueId};
use crate::op::Op;
use crate::tensor::HostTensor;
use crate::types::{SequenceType, Type};
use std::collections::HashMap;
use std::sync::Arc;

/// A value of a run.
#[derive(Clone, Debug)]
pub(super) enum Item<M: Mode> {
    Tensor(Array<M>),
    Sequence(Vec<Array<M>>),
    Optional(Option<Box<Item<M>>>),
}

/// Runs graphs in one mode.
pub(super) struct Machine<'a, M: Mode> {
    pub(super) options: &'a Options,
    pub(super) pool: Arc<Pool>,
    pub(super) bindings: Bindings,
    pub(super) exchange: &'a Exchange<M>,
    /// Which participant this is.
    pub(super) me: usize,
    steps: u64,
    depth: usize,
    decomposed: HashMap<*const Node, Arc<Graph>>,
    lost: bool,
}

/// How deep loops, branches and composites may be nested.
const MAX_DEPTH: usize = 64;
/// So many products, or other work of that kind, count as one step.
const WORK_PER_STEP: u128 = 1024;
/// What a run of a sub-graph or a composite is worth beside its nodes, and each of its values, used or not.
const GRAPH_WORK: u128 = 4 * WORK_PER_STEP;
const VALUE_WORK: u128 = 32;

/// Where a value of the graph is.
enum Slot<M: Mode> {
    /// Not computed yet, or no longer needed.
    Empty,
    /// A constant, decoded when it is first used.
    Constant(HostTensor),
    Ready(Item<M>),
}

impl<'a, M: Mode> Machine<'a, M> {
    pub(super) fn new(
        options: &'a Options,
        pool: Arc<Pool>,
        bindings: Bindings,
        exchange: &'a Exchange<M>,
        me: usize,
    ) -> Machine<'a, M> {
        Machine {
            options,
            pool,
            bindings,
            exchange,
            me,
            steps: 0,
            depth: 0,
            decomposed: HashMap::new(),
            lost: false,
        }
    }

    /// Counts a step and the work that it does on elements.
    pub(super) fn charge(&mut self, work: u128) -> Result<()> {
        let steps = 1 + u64::try_from(work / WORK_PER_STEP).unwrap_or(u64::MAX / 2);
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.options.max_steps {
            return Err(Error::new(
                Code::Budget,
                format!("the run takes more than {} steps", self.options.max_steps),
            )
            .help("raise `max_steps`, give smaller inputs, or see whether a loop ends"));
        }
        Ok(())
    }

    /// Says that something not representable by bounds (a size, a text) depends on something undetermined.
    pub(super) fn lose_track(&mut self) {
        self.lost = true;
    }

    /// Whether that was said.
    pub(super) fn lost_track(&self) -> bool {
        self.lost
    }

    /// A new tensor.
    pub(super) fn tensor(&self, dtype: DType, sizes: &[usize], data: Data<M>) -> Result<Array<M>> {
        Array::new(dtype, sizes, data, self.pool.lease::<M>(dtype, sizes)?)
    }

    /// The same item with nothing known about its elements.
    pub(super) fn unknown(&mut self, item: &Item<M>) -> Result<Item<M>> {
        Ok(match item {
            Item::Tensor(x) => Item::Tensor(self.unknown_tensor(x)?),
            Item::Sequence(v) => {
                self.lose_track();
                Item::Sequence(v.iter().map(|x| self.unknown_tensor(x)).collect::<Result<_>>()?)
            }
            Item::Optional(v) => {
                self.lose_track();
                Item::Optional(match v {
                    Some(inner) => Some(Box::new(self.unknown(inner)?)),
                    None => None,
                })
            }
        })
    }

    fn unknown_tensor(&mut self, x: &Array<M>) -> Result<Array<M>> {
        if x.dtype == DType::Str {
            self.lose_track();
            return Ok(x.clone());
        }
        self.tensor(x.dtype, &x.sizes, x.data().unknown(x.dtype))
    }

    /// Runs a graph inside the one that is running; symbols defined inside do not leave.
    pub(super) fn run_inner(&mut self, graph: &Graph, inputs: Vec<Item<M>>) -> Result<Vec<Item<M>>> {
        self.run_leaving(graph, inputs, &[])
    }

    /// As `run_inner`, but these symbols, which the graph defines, leave with their values.
    fn run_leaving(
        &mut self,
        graph: &Graph,
        inputs: Vec<Item<M>>,
        leaving: &[(Symbol, Dim)],
    ) -> Result<Vec<Item<M>>> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::new(
                Code::Budget,
                format!("loops, branches and composites are nested more than {MAX_DEPTH} deep"),
            ));
        }
        self.charge(GRAPH_WORK + graph.values().len() as u128 * VALUE_WORK)?;
        let bindings = self.bindings.clone();
        self.depth += 1;
        let results = self.run(graph, inputs);
        self.depth -= 1;
        let inner = std::mem::replace(&mut self.bindings, bindings);
        for (symbol, _) in leaving {
            if let Some(value) = inner.get(symbol) {
                self.bindings.define(symbol.clone(), value, format!("`symbol {symbol}`"));
            }
        }
        results
    }

    /// Runs a graph and gives its outputs.
    pub(super) fn run(&mut self, graph: &Graph, inputs: Vec<Item<M>>) -> Result<Vec<Item<M>>> {
        let mut slots: Vec<Slot<M>> = graph.values().iter().map(|_| Slot::Empty).collect();
        let mut uses = graph.use_counts();
        for (id, item) in graph.inputs().iter().zip(inputs) {
            slots[id.index()] = Slot::Ready(item);
        }
        for node in graph.nodes() {
            if let (Op::Constant(t), [out]) = (&node.op, node.outputs.as_slice()) {
                slots[out.index()] = Slot::Constant(t.clone());
                continue;
            }
            let items = self.node(graph, node, &mut slots, &mut uses).map_err(|e| e.at(graph.place(node)))?;
            for (out, item) in node.outputs.iter().zip(items) {
                if uses[out.index()] > 0 {
                    slots[out.index()] = Slot::Ready(item);
                }
            }
        }
        graph.outputs().iter().map(|o| self.fetch(&mut slots, &mut uses, o.value)).collect()
    }

    /// The value in a slot, which is emptied after the last use.
    fn fetch(&self, slots: &mut [Slot<M>], uses: &mut [u32], id: ValueId) -> Result<Item<M>> {
        let slot = &mut slots[id.index()];
        if let Slot::Constant(t) = slot {
            *slot = Slot::Ready(Item::Tensor(Array::decode(&self.pool, t)?));
        }
        let left = &mut uses[id.index()];
        *left = left.saturating_sub(1);
        let held = if *left == 0 { std::mem::replace(slot, Slot::Empty) } else { slot.share() };
        match held {
            Slot::Ready(item) => Ok(item),
            _ => Err(Error::internal(format!("{id:?} is used before it is defined"))),
        }
    }

    fn node(
        &mut self,
        graph: &Graph,
        node: &Node,
        slots: &mut [Slot<M>],
        uses: &mut [u32],
    ) -> Result<Vec<Item<M>>> {
        let mut operands = Vec::with_capacity(node.inputs.len());
        for id in &node.inputs {
            operands.push(self.fetch(slots, uses, *id)?);
        }
        let given: u128 = operands.iter().map(Item::elements).sum();
        self.charge(given.saturating_mul(M::ELEMENT_WORK))?;
        if let Some(items) = self.arrange(graph, node, &operands)? {
            return self.checked(graph, node, items);
        }
        // What computes gives tensors, whose sizes are known and whose bytes are taken before anything is done.
        let mut sizes = Vec::with_capacity(node.outputs.len());
        let mut leases: Vec<(DType, Lease)> = Vec::with_capacity(node.outputs.len());
        for out in &node.outputs {
            let Type::Tensor(t) = graph.ty(*out) else {
                return Err(Error::internal("a primitive that computes gives a tensor"));
            };
            let result = self.bindings.eval_shape(&t.shape)?;
            leases.push((t.dtype, self.pool.lease::<M>(t.dtype, &result)?));
            self.charge((count(&result) as u128).saturating_mul(M::ELEMENT_WORK))?;
            sizes.push(result);
        }
        let empty = sizes.iter().all(|s| s.contains(&0));
        let data = if empty {
            leases.iter().map(|(dtype, _)| Data::with_capacity(*dtype, 0)).collect()
        } else {
            self.compute(graph, node, &operands, &sizes)?
        };
        if data.len() != sizes.len() {
            return Err(Error::internal(format!("`{}` gave {} results", node.op.name(), data.len())));
        }
        drop(operands);
        let parts = leases.into_iter().zip(sizes).zip(data);
        parts
            .map(|(((dtype, lease), sizes), data)| Ok(Item::Tensor(Array::new(dtype, &sizes, data, lease)?)))
            .collect()
    }

    /// Checks items that were made elsewhere against the types that the graph gives them.
    fn checked(&self, graph: &Graph, node: &Node, items: Vec<Item<M>>) -> Result<Vec<Item<M>>> {
        if items.len() != node.outputs.len() {
            return Err(Error::internal(format!("`{}` gave {} results", node.op.name(), items.len())));
        }
        for (item, id) in items.iter().zip(&node.outputs) {
            if !self.fits(item, graph.ty(*id))? {
                let message = format!("a result of `{}` is not {}", node.op.name(), graph.ty(*id));
                return Err(Error::internal(message));
            }
        }
        Ok(items)
    }

    fn fits(&self, item: &Item<M>, ty: &Type) -> Result<bool> {
        Ok(match (item, ty) {
            (Item::Tensor(x), Type::Tensor(t)) => {
                x.dtype == t.dtype && self.bindings.eval_shape(&t.shape)? == *x.sizes
            }
            (Item::Sequence(v), Type::Sequence(s)) => {
                let max = self.bindings.eval(&s.max_len)?;
                v.len() as i128 <= i128::from(max) && v.iter().all(|x| self.is_element(x, s).unwrap_or(false))
            }
            (Item::Optional(None), Type::Optional(_)) => true,
            (Item::Optional(Some(inner)), Type::Optional(t)) => self.fits(inner, t)?,
            _ => false,
        })
    }

    /// Whether a tensor can be an element of a sequence: open dimensions are bounded, all others equal.
    pub(super) fn is_element(&self, x: &Array<M>, s: &SequenceType) -> Result<bool> {
        let Some(dims) = s.dims_of_rank(x.sizes.len()).filter(|_| x.dtype == s.element.dtype) else {
            return Ok(false);
        };
        for (size, dim) in x.sizes.iter().zip(dims) {
            let open = (0..s.open.len()).find(|i| dim.as_symbol() == Some(&SequenceType::open_symbol(*i)));
            let fits = match open {
                Some(i) => *size as i128 <= i128::from(self.bindings.eval(&s.open[i])?),
                None => *size as i128 == i128::from(self.bindings.eval(dim)?),
            };
            if !fits {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Operators whose results are values that exist already, or come out of other graphs.
    fn arrange(&mut self, graph: &Graph, node: &Node, operands: &[Item<M>]) -> Result<Option<Vec<Item<M>>>> {
        let one = |item: Item<M>| Ok(Some(vec![item]));
        match &node.op {
            Op::Reshape(p) => {
                let sizes = self.bindings.eval_shape(&p.shape)?;
                one(Item::Tensor(tensor(operands, 0)?.reshaped(&sizes)?))
            }
            Op::While(p) => control::while_loop(self, p, operands).map(Some),
            Op::Cond(p) => control::cond(self, p, operands).map(Some),
            Op::Scan(p) => control::scan(self, p, operands).map(Some),
            Op::HostCall(p) => host::call(self, graph, p, operands).map(Some),
            Op::Collective(p) => one(Item::Tensor(self.exchange.run(self, p, tensor(operands, 0)?)?)),
            Op::SeqMake(_) => {
                let parts = (0..operands.len()).map(|i| tensor(operands, i).cloned());
                one(Item::Sequence(parts.collect::<Result<_>>()?))
            }
            Op::SeqAt(p) => {
                let ty = node.inputs.first().map(|v| graph.ty(*v));
                let Some(Type::Sequence(ty)) = ty else {
                    return Err(Error::internal("an element is taken from what is no sequence"));
                };
                let element = sequence::at(self, p, ty, operands)?;
                self.bindings.check(graph.facts())?;
                one(Item::Tensor(element))
            }
            Op::SeqInsert => {
                let Some(Type::Sequence(ty)) = node.inputs.first().map(|v| graph.ty(*v)) else {
                    return Err(Error::internal("an element is put into what is no sequence"));
                };
                let max = self.bindings.eval(&ty.max_len)?;
                one(sequence::insert(self, max, operands)?)
            }
            Op::SeqErase => one(sequence::erase(self, operands)?),
            Op::OptSome => one(Item::Optional(operands.first().cloned().map(Box::new))),
            Op::OptNone(_) => one(Item::Optional(None)),
            Op::OptGet => one(sequence::get(operands)?),
            Op::Composite(c) => {
                let decomposed = self.decomposition(graph, node, c.as_ref())?;
                let types: Vec<&Type> = node.inputs.iter().map(|v| graph.ty(*v)).collect();
                let mut results = self.run_leaving(&decomposed, operands.to_vec(), &c.defines(&types))?;
                if let Some(promise) = c.promise() {
                    for item in &mut results {
                        *item = self.promised(item, promise)?;
                    }
                }
                Ok(Some(results))
            }
            _ => Ok(None),
        }
    }

    /// Primitives that compute the elements of new tensors, whose sizes are given.
    fn compute(
        &mut self,
        graph: &Graph,
        node: &Node,
        operands: &[Item<M>],
        sizes: &[Vec<usize>],
    ) -> Result<Vec<Data<M>>> {
        let x = |i: usize| tensor(operands, i);
        let size = sizes.first().map_or(&[][..], Vec::as_slice);
        let data = match &node.op {
            Op::Iota(p) => source::iota(p, size),
            Op::Dims(p) => {
                Data::Int(self.dims(&p.dims)?.into_iter().map(|d| M::Int::exact(d.into())).collect())
            }
            Op::DefineSymbol(p) => {
                let value = control::define_symbol(self, p, x(0)?)?;
                self.bindings.check(graph.facts())?;
                Data::Int(vec![value])
            }
            Op::RandomBits(_) => source::random_bits(x(0)?, size)?,
            Op::Unary(kind) => elementwise::unary(*kind, x(0)?)?,
            Op::Binary(kind) => elementwise::binary(*kind, x(0)?, x(1)?)?,
            Op::Compare(kind) => elementwise::compare(*kind, x(0)?, x(1)?)?,
            Op::Select => elementwise::select(self, x(0)?, x(1)?, x(2)?)?,
            Op::Cast(p) => elementwise::cast(p.to, x(0)?)?,
            Op::Bitcast(p) => elementwise::bitcast(p.to, x(0)?)?,
            Op::Broadcast(p) => view::broadcast(p, x(0)?, size),
            Op::Transpose(p) => view::transpose(p, x(0)?, size),
            Op::Slice(p) => view::slice(p, &self.dims(&p.start)?, x(0)?, size)?,
            Op::DynamicSlice(_) => self.placed(view::dynamic_slice(x(0)?, x(1)?, size)?, x(0)?),
            Op::UpdateSlice => self.placed(view::update_slice(x(0)?, x(1)?, x(2)?)?, x(0)?),
            Op::Pad(p) => view::pad(&self.dims(&p.low)?, &p.interior, x(0)?, x(1)?, size),
            Op::Concat(p) => view::concat(p, &tensors(operands)?, size),
            Op::Reduce(p) => reduce::reduce(p, x(0)?)?,
            Op::WindowReduce(p) => {
                self.charge_products(size, p.window.iter().map(|w| *w as u128))?;
                reduce::window_reduce(p, &self.dims(&p.low)?, x(0)?, size)?
            }
            Op::Cumulative(p) => reduce::cumulative(p, x(0)?)?,
            Op::Sort(p) => {
                self.charge_products(size, [u128::from(usize::BITS)])?;
                let sorted = reduce::sort(p, &tensors(operands)?)?;
                if sorted.text_unsettled {
                    self.lose_track();
                }
                return Ok(sorted.results);
            }
            Op::Contract(p) => {
                let (l, r) = (x(0)?, x(1)?);
                self.charge_products(size, p.sum.iter().map(|a| l.sizes[a.0] as u128))?;
                let plan = linear::ContractPlan::new(p, &l.sizes, &r.sizes);
                linear::apply(&plan, plan.summed as u64, l, r, p.out.unwrap_or(l.dtype))?
            }
            Op::Convolve(p) => {
                let (l, r) = (x(0)?, x(1)?);
                self.charge_products(size, r.sizes[1..].iter().map(|s| *s as u128))?;
                let plan = linear::ConvolvePlan::new(p, &self.dims(&p.low)?, &l.sizes, &r.sizes, size);
                linear::apply(&plan, plan.terms(), l, r, p.out.unwrap_or(l.dtype))?
            }
            Op::Gather(p) => self.placed(index::gather(p, x(0)?, x(1)?)?, x(0)?),
            Op::Scatter(p) => self.placed(index::scatter(p, x(0)?, x(1)?, x(2)?)?, x(0)?),
            Op::SeqLen => Data::Int(vec![M::Int::exact(sequence::elements(operands)?.len() as i128)]),
            Op::OptHas => Data::Int(vec![M::Int::exact(i128::from(sequence::has(operands)?))]),
            _ => return Err(Error::internal(format!("`{}` is not computed", node.op.name()))),
        };
        Ok(vec![data])
    }

    /// Elements of `x` that were read or written at indices; if those are not known, nothing is.
    fn placed(&mut self, (data, exact): (Data<M>, bool), x: &Array<M>) -> Data<M> {
        if exact {
            return data;
        }
        if x.dtype == DType::Str {
            self.lose_track();
        }
        data.unknown(x.dtype)
    }

    /// What a target may have instead that computes a composite as a whole.
    fn promised(&self, item: &Item<M>, promise: Promise) -> Result<Item<M>> {
        let Item::Tensor(x) = item else { return Ok(item.clone()) };
        let lease = self.pool.lease::<M>(x.dtype, &x.sizes)?;
        let data = x.data().promised(promise, x.dtype);
        Array::new(x.dtype, &x.sizes, data, lease).map(Item::Tensor)
    }

    /// The values of dimension expressions in this run.
    pub(super) fn dims(&self, dims: &[Dim]) -> Result<Vec<i64>> {
        dims.iter().map(|d| self.bindings.eval(d)).collect()
    }

    /// Counts the work of a result each of whose elements takes a product of `factors`.
    fn charge_products(&mut self, size: &[usize], factors: impl IntoIterator<Item = u128>) -> Result<()> {
        let each = factors.into_iter().fold(1u128, u128::saturating_mul);
        self.charge((count(size) as u128).saturating_mul(each))
    }

    /// The graph of a composite's decomposition for the types of its operands, made once a node.
    fn decomposition(&mut self, graph: &Graph, node: &Node, composite: &dyn Composite) -> Result<Arc<Graph>> {
        if let Some(known) = self.decomposed.get(&(node as *const Node)) {
            return Ok(known.clone());
        }
        let mut b = Builder::scratch(composite.name(), graph.facts());
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for (i, id) in node.inputs.iter().enumerate() {
            inputs.push(b.input(&i.to_string(), graph.ty(*id).clone())?);
        }
        let results = composite.decompose(&mut b, &inputs)?;
        for (i, id) in results.into_iter().enumerate() {
            b.output(&i.to_string(), id)?;
        }
        // Kept for the whole run, so that the addresses of its own nodes stay theirs.
        let made = Arc::new(b.finish_unverified()?);
        self.decomposed.insert(node, made.clone());
        Ok(made)
    }
}

impl<M: Mode> Slot<M> {
    fn share(&self) -> Slot<M> {
        match self {
            Slot::Ready(item) => Slot::Ready(item.clone()),
            _ => Slot::Empty,
        }
    }
}

impl<M: Mode> Item<M> {
    /// How many elements it holds, for accounting.
    pub(super) fn elements(&self) -> u128 {
        match self {
            Item::Tensor(x) => x.len() as u128,
            // A sequence moves as a list; its elements are shared.
            Item::Sequence(v) => v.len() as u128,
            Item::Optional(Some(inner)) => inner.elements(),
            Item::Optional(None) => 0,
        }
    }
}

/// The operand that must be a tensor.
pub(super) fn tensor<M: Mode>(operands: &[Item<M>], index: usize) -> Result<&Array<M>> {
    match operands.get(index) {
        Some(Item::Tensor(x)) => Ok(x),
        _ => Err(Error::internal(format!("operand {index} is no tensor"))),
    }
}

fn tensors<M: Mode>(operands: &[Item<M>]) -> Result<Vec<&Array<M>>> {
    (0..operands.len()).map(|i| tensor(operands, i)).collect()
}

//! Running the tree: loops, accumulators, stages.
//!
//! Expressions are evaluated once a stage, operands first, all of them: both sides of a `select` too, as a target with
//! vectors does, so a load that is only safe on one side needs a guard of its own.

use super::memory::{Iteration, Memory};
use super::place::{NoValue, Place, Values, size};
use super::{Options, Order};
use crate::buffer::BufferId;
use crate::expr::{Expr, ExprId, Extremum, Scalar};
use crate::index::Index;
use crate::tree::{AccId, AxisId, For, Kernel, Kind, Node};
use lawson_graph::interp::Element;
use lawson_graph::op::CompareKind;
use lawson_graph::{Code, Error, Result, Symbol};
use std::collections::HashMap;
use std::rc::Rc;

/// The tree with places for indices.
enum Tree {
    For { begin: Place, end: Place, head: For, body: Vec<Tree> },
    Accumulate { acc: AccId, body: Vec<Tree> },
    Step { acc: AccId, values: Vec<ExprId> },
    Store { buffer: BufferId, index: Vec<Place>, value: ExprId },
}

/// What an expression needs besides its operands.
#[derive(Default)]
struct Needs {
    index: Vec<Place>,
    guard: Vec<(Place, i64)>,
}

pub(super) struct Machine<'k> {
    kernel: &'k Kernel,
    tree: Rc<[Tree]>,
    needs: Vec<Needs>,
    memories: Vec<Memory>,
    options: Options,
    axes: Vec<Option<i64>>,
    states: Vec<Option<Vec<Element>>>,
    results: Vec<Option<Vec<Element>>>,
    /// The states that are being merged into others.
    others: Vec<Option<Vec<Element>>>,
    values: Vec<Element>,
    /// For each expression that a stage computes, what it is computed from, operands first, itself last.
    orders: HashMap<ExprId, Rc<[ExprId]>>,
    iteration: Iteration,
    iterations: u32,
    /// How many parallel loops are entered.
    parallel_loops: u32,
    steps: u64,
}

fn element(scalar: Scalar) -> Element {
    match (scalar.as_f64(), scalar.as_i64()) {
        (Some(x), _) => Element::Float(x),
        (None, Some(x)) => Element::from_int(scalar.dtype, i128::from(x)),
        (None, None) => Element::zero(scalar.dtype),
    }
}

impl Values for Machine<'_> {
    fn axis(&self, axis: AxisId) -> Option<i64> {
        self.axes[axis.0 as usize]
    }

    fn element(&self, buffer: BufferId, index: &[i64]) -> Option<i64> {
        match self.memories.get(buffer.0 as usize)?.load(index, self.iteration).ok()? {
            Element::Int(x) => i64::try_from(x).ok(),
            Element::Float(_) => None,
        }
    }
}

impl<'k> Machine<'k> {
    pub(super) fn new(
        kernel: &'k Kernel,
        memories: Vec<Memory>,
        options: &Options,
        value_of: &impl Fn(&Symbol) -> Option<i64>,
    ) -> Result<Machine<'k>> {
        let place = |i: &Index| Place::new(kernel, i, value_of);
        let mut needs = Vec::with_capacity(kernel.exprs.len());
        for expr in &kernel.exprs {
            let mut need = Needs::default();
            match expr {
                Expr::Index(i, _) => need.index.push(place(i)?),
                Expr::Load(load) => {
                    need.index = load.index.iter().map(place).collect::<Result<_>>()?;
                    for c in load.guard.iter().flat_map(|g| &g.conditions) {
                        need.guard.push((place(&c.index)?, size(&c.end, value_of)?));
                    }
                }
                _ => {}
            }
            needs.push(need);
        }
        Ok(Machine {
            tree: tree(kernel, &kernel.body, value_of)?.into(),
            needs,
            memories,
            options: *options,
            axes: vec![None; kernel.axes.len()],
            states: vec![None; kernel.accs.len()],
            results: vec![None; kernel.accs.len()],
            others: vec![None; kernel.accs.len()],
            values: vec![Element::Int(0); kernel.exprs.len()],
            orders: HashMap::new(),
            iteration: Iteration { now: 1, since: 1 },
            iterations: 1,
            parallel_loops: 0,
            steps: 0,
            kernel,
        })
    }

    pub(super) fn into_memories(self) -> Vec<Memory> {
        self.memories
    }

    pub(super) fn run(&mut self) -> Result<()> {
        let tree = self.tree.clone();
        self.block(&tree)
    }

    /// An error here: with the values of the axes.
    fn error(&self, message: impl std::fmt::Display) -> Error {
        let axes = self.kernel.axes.iter().zip(&self.axes);
        let set: Vec<String> = axes.filter_map(|(a, v)| v.map(|v| format!("{} = {v}", a.name))).collect();
        let place = if set.is_empty() { String::new() } else { format!(", where {}", set.join(", ")) };
        Error::new(Code::KernelRun, format!("kernel `{}`: {message}{place}", self.kernel.name))
    }

    fn at(&self, place: &Place) -> Result<i64> {
        place.at(self).map_err(|why| match why {
            NoValue::Unset(a) => {
                self.error(format!("axis `{}` is used outside its loop", self.kernel.axis(a).name))
            }
            NoValue::Overflow => self.error("an index leaves 64 bits"),
            NoValue::Missing(b) => {
                let name = &self.kernel.buffer(b).name;
                self.error(format!("an index mentions an element of `{name}` that is not there"))
            }
        })
    }

    fn block(&mut self, nodes: &[Tree]) -> Result<()> {
        let mut known = Vec::new();
        for node in nodes {
            match node {
                Tree::For { begin, end, head, body } => self.each(begin, end, head, body)?,
                Tree::Accumulate { acc, body } => {
                    self.accumulate(*acc, body)?;
                    known.push(*acc);
                }
                Tree::Step { acc, values } => {
                    let values = values.iter().map(|v| self.value(*v)).collect::<Result<Vec<_>>>()?;
                    let state = &mut self.states[acc.0 as usize];
                    if state.as_ref().is_none_or(|s| s.len() != values.len()) {
                        let name = &self.kernel.acc(*acc).name;
                        return Err(
                            self.error(format!("a step of `{name}` outside it, or of another length"))
                        );
                    }
                    *state = Some(values);
                    self.count()?;
                }
                Tree::Store { buffer, index, value } => {
                    let value = self.value(*value)?;
                    let index = index.iter().map(|p| self.at(p)).collect::<Result<Vec<_>>>()?;
                    let memory = &mut self.memories[buffer.0 as usize];
                    if let Err(why) = memory.store(&index, value, self.iteration) {
                        return Err(self.fault("store to", *buffer, &index, &why));
                    }
                    self.count()?;
                }
            }
        }
        // A result is known to what follows in its own block alone.
        known.into_iter().for_each(|acc| self.results[acc.0 as usize] = None);
        Ok(())
    }

    fn fault(&self, what: &str, buffer: BufferId, index: &[i64], why: &str) -> Error {
        self.error(format!("{what} `{}` at {index:?}: {why}", self.kernel.buffer(buffer).name))
    }

    fn count(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps > self.options.max_steps {
            return Err(self.error(format!("the limit of {} steps is reached", self.options.max_steps)));
        }
        Ok(())
    }

    fn each(&mut self, begin: &Place, end: &Place, head: &For, body: &[Tree]) -> Result<()> {
        let (begin, end, axis) = (self.at(begin)?, self.at(end)?, head.axis.0 as usize);
        let name = &self.kernel.axes[axis].name;
        if head.step < 1 || self.axes[axis].is_some() || self.kernel.axes[axis].derived.is_some() {
            let why = "loops inside itself, over a derived axis, or with a step below 1";
            return Err(self.error(format!("axis `{name}` {why}")));
        }
        let count = if begin < end { (end - begin - 1) / head.step + 1 } else { 0 };
        let reverse = match (self.options.order, head.kind) {
            (Order::Reverse, Kind::Parallel | Kind::Jam | Kind::Vector(_)) => true,
            (Order::Reverse, Kind::Serial | Kind::Unroll | Kind::Dot | Kind::Skip) | (Order::Forward, _) => {
                false
            }
        };
        let parallel = head.kind == Kind::Parallel;
        let outer = self.iteration;
        let since = if self.parallel_loops == 0 { self.iterations + 1 } else { outer.since };
        self.parallel_loops += u32::from(parallel);
        for i in 0..count {
            let i = if reverse { count - 1 - i } else { i };
            self.axes[axis] = Some(begin + i * head.step);
            if parallel {
                self.iterations += 1;
                self.iteration = Iteration { now: self.iterations, since };
            }
            if reverse && !parallel {
                self.apart(body)?;
            } else {
                self.block(body)?;
            }
        }
        self.axes[axis] = None;
        if parallel {
            self.parallel_loops -= 1;
            self.iteration = outer;
            // What follows the outermost one sees all that was written in it.
            if self.parallel_loops == 0 {
                self.iterations += 1;
                self.iteration = Iteration { now: self.iterations, since: self.iterations };
            }
        }
        Ok(())
    }

    /// Runs an iteration as one of many that are executed together: with states of its own, which are merged after it.
    fn apart(&mut self, body: &[Tree]) -> Result<()> {
        let kernel = self.kernel;
        let open: Vec<usize> = (0..self.states.len()).filter(|acc| self.states[*acc].is_some()).collect();
        let mut before = Vec::with_capacity(open.len());
        for acc in &open {
            // The state of a recurrence around the loop is only read in it.
            let own =
                kernel.accs[*acc].merge.as_ref().map(|m| m.identity.iter().copied().map(element).collect());
            before.push(own.map(|own| self.states[*acc].replace(own)));
        }
        self.block(body)?;
        for (acc, before) in open.into_iter().zip(before) {
            let Some(before) = before else { continue };
            self.others[acc] = std::mem::replace(&mut self.states[acc], before);
            let merged = kernel.accs[acc].merged().iter().map(|e| self.value(*e)).collect::<Result<_>>()?;
            self.states[acc] = Some(merged);
            self.others[acc] = None;
        }
        Ok(())
    }

    fn accumulate(&mut self, acc: AccId, body: &[Tree]) -> Result<()> {
        let inits: Vec<ExprId> = self.kernel.acc(acc).state.iter().map(|s| s.init).collect();
        let init = inits.into_iter().map(|e| self.value(e)).collect::<Result<Vec<_>>>()?;
        let outer = self.states[acc.0 as usize].replace(init);
        self.block(body)?;
        self.results[acc.0 as usize] = std::mem::replace(&mut self.states[acc.0 as usize], outer);
        Ok(())
    }

    /// What `root` is computed from, operands first.
    fn order(&mut self, root: ExprId) -> Rc<[ExprId]> {
        if let Some(order) = self.orders.get(&root) {
            return order.clone();
        }
        let mut found = std::collections::BTreeSet::from([root]);
        let mut todo = vec![root];
        while let Some(id) = todo.pop() {
            self.kernel.expr(id).visit_operands(&mut |o| {
                if found.insert(o) {
                    todo.push(o);
                }
            });
        }
        let order: Rc<[ExprId]> = found.into_iter().collect();
        self.orders.insert(root, order.clone());
        order
    }

    fn value(&mut self, root: ExprId) -> Result<Element> {
        for id in self.order(root).iter() {
            self.values[id.0 as usize] = self.compute(*id)?;
        }
        Ok(self.values[root.0 as usize])
    }

    fn compute(&self, id: ExprId) -> Result<Element> {
        let of = |e: &ExprId| self.values[e.0 as usize];
        let dtype = |e: &ExprId| self.kernel.dtype(*e);
        let needs = &self.needs[id.0 as usize];
        Ok(match self.kernel.expr(id) {
            Expr::Const(s) => element(*s),
            Expr::Index(_, d) => Element::from_int(*d, i128::from(self.at(&needs.index[0])?)),
            Expr::Load(load) => {
                for (place, end) in &needs.guard {
                    if !(0..*end).contains(&self.at(place)?) {
                        return Ok(load.guard.as_ref().map_or(Element::Int(0), |g| of(&g.otherwise)));
                    }
                }
                let index = needs.index.iter().map(|p| self.at(p)).collect::<Result<Vec<_>>>()?;
                let memory = &self.memories[load.buffer.0 as usize];
                memory
                    .load(&index, self.iteration)
                    .map_err(|why| self.fault("load of", load.buffer, &index, &why))?
            }
            Expr::Unary(kind, a) => of(a).unary(*kind, dtype(a)),
            Expr::Binary(kind, a, b) => of(a).binary(*kind, of(b), dtype(a)),
            Expr::Extremum(which, a, b) => {
                let kind = match which {
                    Extremum::Min => CompareKind::Lt,
                    Extremum::Max => CompareKind::Gt,
                };
                if of(a).compare(kind, of(b)) { of(a) } else { of(b) }
            }
            Expr::Fma(a, b, c) => of(a).fma(of(b), of(c), dtype(a)),
            Expr::Compare(kind, a, b) => Element::Int(i128::from(of(a).compare(*kind, of(b)))),
            Expr::Select(c, a, b) => of(if of(c).is_true() { a } else { b }),
            Expr::Cast(a, d) => of(a).cast(*d),
            Expr::Bitcast(a, d) => of(a).bitcast(dtype(a), *d),
            Expr::State(acc, i) => self.component(&self.states, *acc, *i, "state")?,
            Expr::Result(acc, i) => self.component(&self.results, *acc, *i, "result")?,
            Expr::Other(acc, i) => self.component(&self.others, *acc, *i, "other state")?,
        })
    }

    fn component(&self, of: &[Option<Vec<Element>>], acc: AccId, i: usize, what: &str) -> Result<Element> {
        let state = of[acc.0 as usize].as_ref().and_then(|s| s.get(i));
        state.copied().ok_or_else(|| {
            let name = &self.kernel.acc(acc).name;
            self.error(format!("{what} {i} of `{name}` is not known here"))
        })
    }
}

fn tree(kernel: &Kernel, nodes: &[Node], value_of: &impl Fn(&Symbol) -> Option<i64>) -> Result<Vec<Tree>> {
    let place = |i: &Index| Place::new(kernel, i, value_of);
    let mut out = Vec::with_capacity(nodes.len());
    for node in nodes {
        out.push(match node {
            Node::For(f) => Tree::For {
                begin: place(&f.begin)?,
                end: place(&f.end)?,
                head: For { body: Vec::new(), ..f.clone() },
                body: tree(kernel, &f.body, value_of)?,
            },
            Node::Accumulate { acc, body } => {
                Tree::Accumulate { acc: *acc, body: tree(kernel, body, value_of)? }
            }
            Node::Step { acc, values } => Tree::Step { acc: *acc, values: values.clone() },
            Node::Store(s) => Tree::Store {
                buffer: s.buffer,
                index: s.index.iter().map(place).collect::<Result<_>>()?,
                value: s.value,
            },
            // A hint; it may point anywhere.
            Node::Prefetch { .. } => continue,
        });
    }
    Ok(out)
}

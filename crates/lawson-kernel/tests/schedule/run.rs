//! The plainest way to run a kernel: nested loops in order, every number an f64, every element in a map. Reading an
//! element that nothing wrote, or one outside its buffer, is a failure of the test.

use lawson_graph::Symbol;
use lawson_graph::op::{BinaryKind, UnaryKind};
use lawson_kernel::*;
use std::collections::BTreeMap;

/// What a run wrote to the outputs: buffer, index, value.
pub type Outputs = BTreeMap<(String, Vec<i64>), f64>;

/// Runs a kernel on inputs that depend on the buffer and the index alone.
pub fn run(kernel: &Kernel, parameters: &[(&str, i64)]) -> Outputs {
    let parameters = parameters.iter().map(|(n, v)| (Symbol::new(n), *v)).collect();
    let mut machine = Machine {
        kernel,
        parameters,
        axes: vec![None; kernel.axes.len()],
        memory: BTreeMap::new(),
        states: vec![Vec::new(); kernel.accs.len()],
        written: BTreeMap::new(),
    };
    machine.nodes(&kernel.body);
    machine.written
}

/// An element of an input: a small number of either sign.
fn input(buffer: BufferId, at: &[i64]) -> i64 {
    let seed = at.iter().fold(i64::from(buffer.0) + 3, |s, i| s * 31 + i);
    seed % 17 - 8
}

struct Machine<'k> {
    kernel: &'k Kernel,
    parameters: Vec<(Symbol, i64)>,
    axes: Vec<Option<i64>>,
    memory: BTreeMap<(BufferId, Vec<i64>), f64>,
    states: Vec<Vec<f64>>,
    written: Outputs,
}

impl Machine<'_> {
    fn parameter(&self, symbol: &Symbol) -> Option<i64> {
        self.parameters.iter().find(|(s, _)| s == symbol).map(|(_, v)| *v)
    }

    fn index(&self, index: &Index) -> i64 {
        self.kernel
            .resolve(index)
            .eval(&|a| self.axes[a.0 as usize], &|s| self.parameter(s), &|b, at| {
                self.check_place(b, at);
                Some(input(b, at))
            })
            .unwrap_or_else(|| panic!("{index:?} has no value here"))
    }

    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::For(f) => {
                    let (mut at, end) = (self.index(&f.begin), self.index(&f.end));
                    let outside = self.axes[f.axis.0 as usize];
                    while at < end {
                        self.axes[f.axis.0 as usize] = Some(at);
                        self.nodes(&f.body);
                        at += f.step;
                    }
                    self.axes[f.axis.0 as usize] = outside;
                }
                Node::Accumulate { acc, body } => {
                    let init = self.kernel.acc(*acc).state.iter().map(|s| self.value(s.init)).collect();
                    self.states[acc.0 as usize] = init;
                    self.nodes(body);
                }
                Node::Step { acc, values } => {
                    let next = values.iter().map(|v| self.value(*v)).collect();
                    self.states[acc.0 as usize] = next;
                }
                Node::Store(store) => {
                    let index = self.place(store.buffer, &store.index);
                    let value = self.value(store.value);
                    let buffer = self.kernel.buffer(store.buffer);
                    if buffer.role == Role::Output {
                        let twice = self.written.insert((buffer.name.clone(), index.clone()), value);
                        assert_eq!(twice, None, "{} is written twice at {index:?}", buffer.name);
                    }
                    self.memory.insert((store.buffer, index), value);
                }
                Node::Prefetch { index, .. } => {
                    index.iter().for_each(|i| {
                        self.index(i);
                    });
                }
            }
        }
    }

    fn place(&self, buffer: BufferId, index: &[Index]) -> Vec<i64> {
        let at: Vec<i64> = index.iter().map(|i| self.index(i)).collect();
        self.check_place(buffer, &at);
        at
    }

    fn check_place(&self, buffer: BufferId, at: &[i64]) {
        let dims = &self.kernel.buffer(buffer).dims;
        for (at, dim) in at.iter().zip(dims) {
            let dim = dim.eval(&|s| self.parameter(s)).unwrap();
            assert!((0..dim).contains(at), "{at} is outside {dim} of {}", self.kernel.buffer(buffer).name);
        }
    }

    fn value(&self, id: ExprId) -> f64 {
        match self.kernel.expr(id) {
            Expr::Const(s) => s.as_f64().or(s.as_i64().map(|v| v as f64)).unwrap(),
            Expr::Index(i, _) => self.index(i) as f64,
            Expr::Load(load) => {
                if let Some(guard) = &load.guard {
                    let inside = |c: &Condition| {
                        let end = c.end.eval(&|s| self.parameter(s)).unwrap();
                        (0..end).contains(&self.index(&c.index))
                    };
                    if !guard.conditions.iter().all(inside) {
                        return self.value(guard.otherwise);
                    }
                }
                let at = self.place(load.buffer, &load.index);
                match self.kernel.buffer(load.buffer).role {
                    Role::Input => input(load.buffer, &at) as f64,
                    _ => *self
                        .memory
                        .get(&(load.buffer, at.clone()))
                        .unwrap_or_else(|| panic!("{at:?} is read but was not written")),
                }
            }
            Expr::Unary(UnaryKind::Neg, a) => -self.value(*a),
            Expr::Binary(BinaryKind::Add, a, b) => self.value(*a) + self.value(*b),
            Expr::Binary(BinaryKind::Mul, a, b) => self.value(*a) * self.value(*b),
            Expr::Binary(BinaryKind::Max, a, b) | Expr::Extremum(Extremum::Max, a, b) => {
                self.value(*a).max(self.value(*b))
            }
            Expr::Fma(a, b, c) => self.value(*a) * self.value(*b) + self.value(*c),
            Expr::State(acc, i) | Expr::Result(acc, i) => self.states[acc.0 as usize][*i],
            other => panic!("these tests do not use {other:?}"),
        }
    }
}

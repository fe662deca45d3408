//! References, derived axes and dtypes: what can be told of a kernel without regard to where in the tree things stand.

use super::error;
use crate::expr::{Expr, ExprId, Load};
use crate::hash::IdSet;
use crate::index::{Atom, Index};
use crate::tree::{AccId, AxisId, For, Kernel, Node};
use crate::{BufferId, Condition};
use lawson_graph::{Code, DType, Dim, Result};

/// Checks that everything mentioned exists.
pub(super) fn references(kernel: &Kernel) -> Result<()> {
    let check = References { kernel };
    check.names("axes", kernel.axes.iter().map(|a| &a.name))?;
    check.names("buffers", kernel.buffers.iter().map(|b| &b.name))?;
    check.names("accumulators", kernel.accs.iter().map(|a| &a.name))?;
    for axis in &kernel.axes {
        if let Some(index) = &axis.derived {
            let path = format!("axis {}", axis.name);
            check.index(index, &path)?;
            check.no_data(index, &path)?;
        }
    }
    for (i, expr) in kernel.exprs.iter().enumerate() {
        check.expr(i, expr)?;
    }
    for acc in &kernel.accs {
        let path = format!("accumulator {}", acc.name);
        if acc.state.is_empty() {
            return check.fail(&path, "an accumulator has at least one component");
        }
        if let Some(m) = &acc.merge
            && [m.values.len(), m.identity.len()].iter().any(|n| *n != acc.state.len())
        {
            let (values, identities) = (m.values.len(), m.identity.len());
            let message = format!(
                "{} components are merged into {values} values, with {identities} identities",
                acc.state.len()
            );
            return check.fail(&path, message);
        }
        acc.state
            .iter()
            .map(|s| s.init)
            .chain(acc.merged().iter().copied())
            .try_for_each(|e| check.value(e, &path))?;
    }
    check.nodes(&kernel.body)
}

struct References<'k> {
    kernel: &'k Kernel,
}

impl References<'_> {
    fn fail<T>(&self, path: &str, message: impl Into<String>) -> Result<T> {
        Err(error(self.kernel, Code::KernelReference, path, message))
    }

    fn names<'a>(&self, of: &str, names: impl Iterator<Item = &'a String>) -> Result<()> {
        let mut seen = IdSet::default();
        for name in names {
            if !seen.insert(name) {
                return self.fail(&format!("its {of}"), format!("two of its {of} are called `{name}`"));
            }
        }
        Ok(())
    }

    fn axis(&self, axis: AxisId, path: &str) -> Result<()> {
        match self.kernel.axes.get(axis.0 as usize) {
            Some(_) => Ok(()),
            None => self.fail(path, format!("there is no axis number {}", axis.0)),
        }
    }

    fn acc(&self, acc: AccId, path: &str) -> Result<usize> {
        match self.kernel.accs.get(acc.0 as usize) {
            Some(a) => Ok(a.state.len()),
            None => self.fail(path, format!("there is no accumulator number {}", acc.0)),
        }
    }

    fn value(&self, value: ExprId, path: &str) -> Result<()> {
        match self.kernel.exprs.get(value.0 as usize) {
            Some(_) => Ok(()),
            None => self.fail(path, format!("there is no expression number {}", value.0)),
        }
    }

    fn index(&self, index: &Index, path: &str) -> Result<()> {
        for (atom, _) in index.terms() {
            match atom {
                Atom::Axis(a) => self.axis(*a, path)?,
                Atom::Div(i, d) | Atom::Mod(i, d) => {
                    self.index(i, path)?;
                    self.positive(d, path)?;
                }
                Atom::Min(m) | Atom::Max(m) => m.iter().try_for_each(|i| self.index(i, path))?,
                Atom::At(datum) => {
                    self.element(datum.buffer, &datum.index, path)?;
                    if !self.kernel.facts.is_positive(&datum.end) {
                        let message = format!("an index is clamped below {}, which may be 0", datum.end);
                        return self.fail(path, message);
                    }
                }
            }
        }
        Ok(())
    }

    /// Where loops begin and end, and what axes stand for, is known without a look at memory.
    fn no_data(&self, index: &Index, path: &str) -> Result<()> {
        match index.has_data() {
            false => Ok(()),
            true => {
                let message = "bounds of loops and derived axes mention no elements of buffers";
                Err(error(self.kernel, Code::KernelAxis, path, message))
            }
        }
    }

    fn positive(&self, divisor: &Dim, path: &str) -> Result<()> {
        // A divisor may be 0 where an extent is: then no loop around it runs, and targets never divide by it.
        match self.kernel.facts.is_nonnegative(divisor) && !divisor.is(0) {
            true => Ok(()),
            false => {
                self.fail(path, format!("an index is divided by {divisor}, which may be negative or is 0"))
            }
        }
    }

    fn element(&self, buffer: BufferId, index: &[Index], path: &str) -> Result<()> {
        let Some(b) = self.kernel.buffers.get(buffer.0 as usize) else {
            return self.fail(path, format!("there is no buffer number {}", buffer.0));
        };
        if index.len() != b.dims.len() {
            let (name, rank) = (&b.name, b.dims.len());
            return self.fail(path, format!("`{name}` has {rank} dimensions and is given {}", index.len()));
        }
        index.iter().try_for_each(|i| self.index(i, path))
    }

    fn component(&self, acc: AccId, i: usize, path: &str) -> Result<()> {
        match self.acc(acc, path)? {
            n if i < n => Ok(()),
            n => self.fail(path, format!("component {i} of an accumulator that has {n}")),
        }
    }

    fn expr(&self, number: usize, expr: &Expr) -> Result<()> {
        let path = format!("expression {number}");
        let mut late = None;
        expr.visit_operands(&mut |o| {
            if o.0 as usize >= number {
                late = Some(o.0);
            }
        });
        if let Some(o) = late {
            return self
                .fail(&path, format!("its operand is expression {o}, which does not stand before it"));
        }
        match expr {
            Expr::Index(i, _) => self.index(i, &path),
            Expr::Load(Load { buffer, index, guard }) => {
                self.element(*buffer, index, &path)?;
                let conditions = guard.iter().flat_map(|g| &g.conditions);
                conditions.into_iter().try_for_each(|Condition { index, .. }| self.index(index, &path))
            }
            Expr::State(acc, i) | Expr::Other(acc, i) | Expr::Result(acc, i) => {
                self.component(*acc, *i, &path)
            }
            _ => Ok(()),
        }
    }

    fn nodes(&self, nodes: &[Node]) -> Result<()> {
        for node in nodes {
            match node {
                Node::For(For { axis, begin, end, step, body, .. }) => {
                    self.axis(*axis, "a loop")?;
                    let path = format!("for {}", self.kernel.axis(*axis).name);
                    for bound in [begin, end] {
                        self.index(bound, &path)?;
                        self.no_data(bound, &path)?;
                    }
                    if *step < 1 {
                        return self
                            .fail(&path, format!("a loop goes in positive steps, not in steps of {step}"));
                    }
                    self.nodes(body)?;
                }
                Node::Accumulate { acc, body } => {
                    self.acc(*acc, "an accumulate")?;
                    self.nodes(body)?;
                }
                Node::Step { acc, values } => {
                    let components = self.acc(*acc, "a step")?;
                    if values.len() != components {
                        let message = format!("{components} components are given {} values", values.len());
                        return self.fail("a step", message);
                    }
                    values.iter().try_for_each(|v| self.value(*v, "a step"))?;
                }
                Node::Store(s) => {
                    self.element(s.buffer, &s.index, "a store")?;
                    self.value(s.value, "a store")?;
                }
                Node::Prefetch { buffer, index, .. } => self.element(*buffer, index, "a prefetch")?,
            }
        }
        Ok(())
    }
}

/// Checks that no axis is derived from itself.
pub(super) fn derived_axes(kernel: &Kernel) -> Result<()> {
    // An axis is settled when all that it is derived from is.
    let mut settled: Vec<bool> = kernel.axes.iter().map(|a| a.derived.is_none()).collect();
    loop {
        let mut changed = false;
        for (i, axis) in kernel.axes.iter().enumerate() {
            if let (false, Some(index)) = (settled[i], &axis.derived) {
                let mut ready = true;
                index.visit_axes(&mut |a| ready &= settled[a.0 as usize]);
                settled[i] = ready;
                changed |= ready;
            }
        }
        if !changed {
            break;
        }
    }
    match settled.iter().position(|s| !s) {
        None => Ok(()),
        Some(i) => {
            let name = &kernel.axes[i].name;
            let path = format!("axis {name}");
            Err(error(kernel, Code::KernelAxis, path, format!("`{name}` is derived from itself")))
        }
    }
}

/// Checks that dtypes agree.
pub(super) fn dtypes(kernel: &Kernel) -> Result<()> {
    let fail = |path: &str, message: String| Err(error(kernel, Code::KernelDType, path, message));
    if let Some(b) = kernel.buffers.iter().find(|b| b.dtype == DType::Str) {
        return fail(&format!("buffer {}", b.name), "kernels have no texts".into());
    }
    let mut types: Vec<DType> = Vec::with_capacity(kernel.exprs.len());
    for (i, expr) in kernel.exprs.iter().enumerate() {
        if let Some(message) = dtype_error(kernel, &types, expr) {
            return fail(&format!("expression {i}"), message);
        }
        types.push(dtype_of(kernel, &types, expr));
    }
    let of = |e: ExprId| types[e.0 as usize];
    for acc in &kernel.accs {
        for (n, state) in acc.state.iter().enumerate() {
            let mut found = vec![of(state.init)];
            if let Some(m) = &acc.merge {
                found.extend([m.identity[n].dtype, of(m.values[n])]);
            }
            if let Some(other) = found.iter().find(|d| **d != state.dtype) {
                let message = format!("a component is {}, its init, identity or merge {other}", state.dtype);
                return fail(&format!("accumulator {}", acc.name), message);
            }
        }
    }
    let mut wrong = None;
    kernel.visit(&mut |node| match node {
        Node::Step { acc, values } => {
            for (state, value) in kernel.acc(*acc).state.iter().zip(values) {
                if of(*value) != state.dtype {
                    let message = format!("the state is {}, the value {}", state.dtype, of(*value));
                    wrong = Some((format!("step {}", kernel.acc(*acc).name), message));
                }
            }
        }
        Node::Store(s) => {
            let (buffer, dtype) = (kernel.buffer(s.buffer), of(s.value));
            if buffer.dtype != dtype {
                let message = format!("the buffer is {}, the value {dtype}", buffer.dtype);
                wrong = Some((format!("store {}", buffer.name), message));
            }
        }
        Node::For(_) | Node::Accumulate { .. } | Node::Prefetch { .. } => {}
    });
    wrong.map_or(Ok(()), |(path, message)| fail(&path, message))
}

/// The dtype of an expression, from those of the expressions before it.
fn dtype_of(kernel: &Kernel, types: &[DType], expr: &Expr) -> DType {
    let of = |e: &ExprId| types[e.0 as usize];
    match expr {
        Expr::Const(s) => s.dtype,
        Expr::Index(_, d) | Expr::Cast(_, d) | Expr::Bitcast(_, d) => *d,
        Expr::Load(load) => kernel.buffer(load.buffer).dtype,
        Expr::Unary(_, a) | Expr::Binary(_, a, _) | Expr::Extremum(_, a, _) | Expr::Fma(a, _, _) => of(a),
        Expr::Compare(..) => DType::Bool,
        Expr::Select(_, a, _) => of(a),
        Expr::State(acc, i) | Expr::Other(acc, i) | Expr::Result(acc, i) => kernel.acc(*acc).state[*i].dtype,
    }
}

/// What is wrong with the dtypes of an expression's operands.
fn dtype_error(kernel: &Kernel, types: &[DType], expr: &Expr) -> Option<String> {
    let of = |e: &ExprId| types[e.0 as usize];
    let same = |a: &ExprId, b: &ExprId| {
        (of(a) != of(b)).then(|| format!("its operands are {} and {}", of(a), of(b)))
    };
    let takes = |what: &str, accepts: fn(DType) -> bool, a: &ExprId| {
        (!accepts(of(a))).then(|| format!("it takes {what}, not {}", of(a)))
    };
    match expr {
        Expr::Const(s) => (s.dtype == DType::Str).then(|| "kernels have no texts".into()),
        Expr::Index(_, d) => (!d.is_number()).then(|| format!("an index is a number, not {d}")),
        Expr::Load(load) => {
            let guard = load.guard.as_ref()?;
            let (buffer, otherwise) = (kernel.buffer(load.buffer).dtype, of(&guard.otherwise));
            (buffer != otherwise).then(|| format!("the buffer is {buffer}, the value elsewhere {otherwise}"))
        }
        Expr::Unary(kind, a) => {
            let accept = kind.accepts();
            takes(accept.0, accept.1, a)
        }
        Expr::Binary(kind, a, b) => {
            let accept = kind.accepts();
            takes(accept.0, accept.1, a).or_else(|| same(a, b))
        }
        Expr::Extremum(_, a, b) => takes("floats", DType::is_float, a).or_else(|| same(a, b)),
        Expr::Fma(a, b, c) => {
            takes("floats", DType::is_float, a).or_else(|| same(a, b)).or_else(|| same(a, c))
        }
        Expr::Compare(_, a, b) => same(a, b),
        Expr::Select(c, a, b) => takes("a bool", |d| d == DType::Bool, c).or_else(|| same(a, b)),
        Expr::Cast(_, to) => (*to == DType::Str).then(|| "kernels have no texts".into()),
        Expr::Bitcast(a, to) => takes("a number", DType::is_number, a).or_else(|| {
            let fits = to.is_number() && to.bits() == of(a).bits();
            (!fits).then(|| format!("{} and {to} have different widths", of(a)))
        }),
        Expr::State(..) | Expr::Other(..) | Expr::Result(..) => None,
    }
}

//! The outline of a kernel: its loops with their iterations counted, and its stages.
//!
//! In: a kernel and values of its parameters. Out: a tree of [`Item`]s. A loop whose bounds depend on loops around it is
//! counted in each of their iterations if they are few, otherwise at the first, middle and last: that tells a tile that is
//! cut at the edge from a triangle.

use crate::expr::{Expr, ExprId};
use crate::index::{Atom, Index};
use crate::tree::{AccId, AxisId, For, Kernel, Kind, Node, Store};
use lawson_graph::{Bindings, Code, Dim, Error, Result};

/// A part of a kernel.
#[derive(Debug)]
pub(super) enum Item<'k> {
    Loop(Loop<'k>),
    Accumulate {
        acc: AccId,
        items: Vec<Item<'k>>,
    },
    /// The accumulator's state becomes these values.
    Step {
        acc: AccId,
        values: &'k [ExprId],
    },
    Store(&'k Store),
}

/// A loop, counted.
#[derive(Debug)]
pub(super) struct Loop<'k> {
    pub(super) axis: AxisId,
    pub(super) kind: Kind,
    pub(super) step: i64,
    /// The first value of the axis, in the first iteration of the loops around.
    pub(super) first: i64,
    /// The iterations in the first iteration of the loops around.
    pub(super) trips: i64,
    /// The iterations on average.
    pub(super) mean: f64,
    pub(super) items: Vec<Item<'k>>,
}

impl Loop<'_> {
    /// The least and the greatest value of the axis after so many iterations.
    pub(super) fn span(&self, trips: i64) -> (i64, i64) {
        (self.first, self.first.saturating_add((trips - 1).max(0).saturating_mul(self.step)))
    }
}

/// A loop that is entered: its first value, its step, and how often it runs.
#[derive(Clone, Copy)]
struct Entered {
    first: i64,
    step: i64,
    trips: i64,
}

struct Outliner<'k> {
    kernel: &'k Kernel,
    bindings: &'k Bindings,
    /// By axis: its loop.
    entered: Vec<Option<Entered>>,
    /// By axis: its value.
    values: Vec<Option<i64>>,
}

/// A loop around of no more iterations is looked at in each of them.
const FEW: i64 = 8;

/// The outline of a kernel.
pub(super) fn outline<'k>(kernel: &'k Kernel, bindings: &'k Bindings) -> Result<Vec<Item<'k>>> {
    let none = kernel.axes.len();
    Outliner { kernel, bindings, entered: vec![None; none], values: vec![None; none] }.items(&kernel.body)
}

/// The value of a dimension.
pub(super) fn size(dim: &Dim, bindings: &Bindings) -> Result<i64> {
    match dim.as_const() {
        Some(n) => Ok(n),
        None => bindings.eval(dim),
    }
}

impl<'k> Outliner<'k> {
    fn items(&mut self, nodes: &'k [Node]) -> Result<Vec<Item<'k>>> {
        let mut items = Vec::with_capacity(nodes.len());
        for node in nodes {
            items.push(match node {
                Node::For(f) => match self.counted(f)? {
                    Some(counted) => Item::Loop(counted),
                    None => continue,
                },
                Node::Accumulate { acc, body } => Item::Accumulate { acc: *acc, items: self.items(body)? },
                Node::Step { acc, values } => Item::Step { acc: *acc, values },
                Node::Store(store) => Item::Store(store),
                Node::Prefetch { .. } => continue,
            });
        }
        Ok(items)
    }

    fn axis(&self, axis: AxisId) -> Option<i64> {
        match &self.kernel.axis(axis).derived {
            Some(index) => self.index(index),
            None => self.values[axis.0 as usize],
        }
    }

    fn index(&self, index: &Index) -> Option<i64> {
        index.eval(&|a| self.axis(a), &|s| self.bindings.get(s), &|_, _| None)
    }

    fn value(&self, index: &Index) -> Result<i64> {
        if let Some(value) = self.index(index) {
            return Ok(value);
        }
        let mut missing = None;
        index.visit_parameters(&mut |s| {
            if self.bindings.get(s).is_none() {
                missing.get_or_insert_with(|| s.clone());
            }
        });
        Err(match missing {
            Some(s) => Error::new(Code::Binding, format!("the symbol `{s}` of a kernel has no value")),
            None => Error::new(Code::DimOverflow, "the bound of a loop does not fit in 63 bits"),
        })
    }

    /// The loops around that decide the bounds of a loop.
    fn deciding(&self, f: &For) -> Vec<AxisId> {
        let (mut seen, mut open, mut deciding) = (Vec::new(), Vec::new(), Vec::new());
        f.begin.visit_axes(&mut |a| open.push(a));
        f.end.visit_axes(&mut |a| open.push(a));
        while let Some(a) = open.pop() {
            if seen.contains(&a) {
                continue;
            }
            seen.push(a);
            match &self.kernel.axis(a).derived {
                Some(index) => index.visit_axes(&mut |b| open.push(b)),
                None => deciding.push(a),
            }
        }
        deciding
    }

    /// The first value of a loop's axis and how often the loop runs, where the loops around stand now.
    fn trips(&self, f: &For) -> Result<(i64, i64)> {
        let (begin, end) = (self.value(&f.begin)?, self.value(&f.end)?);
        let length = end.saturating_sub(begin).max(0);
        Ok((begin, length.saturating_add(f.step - 1) / f.step.max(1)))
    }

    /// How often a loop runs on average over the loops around that decide it.
    fn mean(&mut self, f: &For, deciding: &[AxisId]) -> Result<f64> {
        let Some((axis, rest)) = deciding.split_first() else { return Ok(self.trips(f)?.1 as f64) };
        let Some(around) = self.entered[axis.0 as usize] else { return self.mean(f, rest) };
        let outside = self.values[axis.0 as usize];
        let at = |o: &mut Self, n: i64| {
            o.values[axis.0 as usize] = Some(around.first.saturating_add(n.saturating_mul(around.step)));
            o.mean(f, rest)
        };
        let n = around.trips;
        let mean = if n <= FEW {
            let mut sum = 0.0;
            for i in 0..n {
                sum += at(self, i)?;
            }
            sum / n as f64
        } else {
            let (first, middle, last) = (at(self, 0)?, at(self, (n - 1) / 2)?, at(self, n - 1)?);
            match middle == first {
                // Cut at the edge.
                true => (first * (n - 1) as f64 + last) / n as f64,
                false => (first + 2.0 * middle + last) / 4.0,
            }
        };
        self.values[axis.0 as usize] = outside;
        Ok(mean)
    }

    fn counted(&mut self, f: &'k For) -> Result<Option<Loop<'k>>> {
        let (first, trips) = self.trips(f)?;
        let deciding = self.deciding(f);
        let mean = if deciding.is_empty() { trips as f64 } else { self.mean(f, &deciding)? };
        if mean <= 0.0 {
            return Ok(None);
        }
        // What runs only at the edge is looked at there.
        let around = (self.entered.clone(), self.values.clone());
        let (first, trips) = if trips > 0 {
            (first, trips)
        } else {
            for a in &deciding {
                if let Some(e) = &mut self.entered[a.0 as usize] {
                    e.first = e.first.saturating_add((e.trips - 1).saturating_mul(e.step));
                    e.trips = 1;
                    self.values[a.0 as usize] = Some(e.first);
                }
            }
            let (first, trips) = self.trips(f)?;
            (first, trips.max(1))
        };
        let at = f.axis.0 as usize;
        self.entered[at] = Some(Entered { first, step: f.step, trips });
        self.values[at] = Some(first);
        let items = self.items(&f.body)?;
        (self.entered, self.values) = around;
        Ok(Some(Loop { axis: f.axis, kind: f.kind, step: f.step, first, trips, mean, items }))
    }
}

/// The least and the greatest value of an index, by those of the axes that loops run over.
pub(super) fn interval(
    kernel: &Kernel,
    bindings: &Bindings,
    axes: &[(i64, i64)],
    index: &Index,
) -> (i64, i64) {
    let inside = |i: &Index| interval(kernel, bindings, axes, i);
    let dim = |d: &Dim| size(d, bindings).unwrap_or(0);
    let start = dim(index.offset());
    let (mut lo, mut hi) = (start, start);
    for (atom, c) in index.terms() {
        let c = dim(c);
        let (a, b) = match atom {
            Atom::Axis(a) => match &kernel.axis(*a).derived {
                Some(derived) => inside(derived),
                None => axes[a.0 as usize],
            },
            Atom::Div(i, d) => {
                let ((a, b), d) = (inside(i), dim(d).max(1));
                (a.div_euclid(d), b.div_euclid(d))
            }
            Atom::Mod(i, d) => {
                let ((a, b), d) = (inside(i), dim(d).max(1));
                match a.div_euclid(d) == b.div_euclid(d) {
                    true => (a.rem_euclid(d), b.rem_euclid(d)),
                    false => (0, d - 1),
                }
            }
            Atom::Min(m) | Atom::Max(m) => {
                let of = if matches!(atom, Atom::Min(_)) { i64::min } else { i64::max };
                let all = m.iter().map(inside);
                all.reduce(|(a, b), (c, d)| (of(a, c), of(b, d))).unwrap_or((0, 0))
            }
            // Data take at most as many values as there are places that they are read at.
            Atom::At(datum) => {
                let places = datum.index.iter().map(inside).map(|(lo, hi)| hi - lo + 1);
                let places = places.fold(1i64, i64::saturating_mul);
                (0, dim(&datum.end).min(places).max(1) - 1)
            }
        };
        let (a, b) = (a.saturating_mul(c), b.saturating_mul(c));
        lo = lo.saturating_add(a.min(b));
        hi = hi.saturating_add(a.max(b));
    }
    (lo, hi)
}

/// Calls `visit` with every load below some expressions, each once, also those of their guards.
pub(super) fn for_each_load<'k>(
    kernel: &'k Kernel,
    roots: &[ExprId],
    seen: &mut Vec<ExprId>,
    visit: &mut impl FnMut(&'k crate::expr::Load),
) {
    let mut stack: Vec<ExprId> = roots.to_vec();
    while let Some(e) = stack.pop() {
        if seen.contains(&e) {
            continue;
        }
        seen.push(e);
        let expr = kernel.expr(e);
        if let Expr::Load(load) = expr {
            visit(load);
        }
        expr.visit_operands(&mut |o| stack.push(o));
    }
}

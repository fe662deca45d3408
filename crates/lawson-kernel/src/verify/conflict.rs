//! Conflicts: whether iterations of a loop that are executed together get in each other's way.
//!
//! Two accesses of one buffer in different iterations of a loop over `a` touch different elements if in some dimension both
//! indices are `outer + c·a + inner` with the same outer part and the same `c`, and the inner parts, which depend on loops
//! inside, differ by less than `|c|` times the loop's step. That is asked of every store against every other access of its
//! buffer, itself included.
//!
//! Failing that, they touch different elements if in some dimension one stays below the other in all iterations, as the parts of
//! a concatenation do.
//!
//! The parts of a split index (`e/8` and `e%8` in two dimensions) are put together first, because only `e` is of that form.
//! Equal elements have equal parts, and equal parts put together in the same way are equal: so two accesses are compared
//! only where both were put together from the same dimensions by the same divisors.

use crate::BufferId;
use crate::buffer::Role;
use crate::expr::{Expr, ExprId};
use crate::hash::IdMap;
use crate::index::{Atom, Index};
use crate::range::{Scope, Side};
use crate::tree::{AxisId, For, Kernel, Node};
use lawson_graph::Dim;

/// An access of a buffer inside the loop.
struct Access {
    buffer: BufferId,
    writes: bool,
    /// For each dimension, and each index put together from several, where it is a line.
    lines: Vec<(Source, Line)>,
    /// For each dimension: what the index never goes below and never above in any iteration, if that was looked for.
    ends: Vec<Ends>,
    /// The same for any iteration of the loops around, too: what cancels out between two accesses in one of their iterations may be
    /// what tells them apart.
    anywhere: Vec<Ends>,
}

/// What an index never goes below, and what never above.
type Ends = [Vec<Index>; 2];

/// What an index is of an element's place.
#[derive(Clone, PartialEq)]
enum Source {
    /// The index in this dimension.
    Dim(usize),
    /// `divisor · quotient + remainder`
    Together { quotient: Box<Source>, remainder: Box<Source>, divisor: Dim },
}

/// `outer + c·axis + inner`, with the range of the inner part.
struct Line {
    outer: Index,
    c: i64,
    lo: i64,
    hi: i64,
}

/// The buffer over which iterations of a loop may come into conflict. The scope is that of the loop's place.
///
/// Scratch of which `private` holds is as if each iteration had its own, unless an iteration reads it before it writes.
pub(crate) fn conflict(
    scope: &mut Scope<'_>,
    f: &For,
    private: &dyn Fn(BufferId) -> bool,
) -> Option<BufferId> {
    if !has_store(&f.body) || is_single(scope, f) {
        return None;
    }
    // Most are told apart by lines; where indices end takes longer to find out.
    let lines = accesses(scope, f, private, Seek::Lines);
    let met = |a: &Access| lines.iter().any(|b| b.buffer == a.buffer && !apart(a, b, f.step));
    if !lines.iter().any(|a| a.writes && met(a)) {
        return None;
    }
    let all = accesses(scope, f, private, Seek::Ends);
    all.iter().filter(|a| a.writes).find_map(|a| {
        let meets = |b: &&Access| {
            b.buffer == a.buffer && !apart(a, b, f.step) && !below(scope, a, b) && !below(scope, b, a)
        };
        all.iter().find(meets).map(|_| a.buffer)
    })
}

/// The buffer in which nests at the root may meet, if their iterations run at once. Every member has scratch of its own, in which one nest
/// finds nothing of another.
pub(crate) fn meet_beside(kernel: &Kernel) -> Option<BufferId> {
    let mut scope = Scope::new(kernel);
    let mut before: Vec<Access> = Vec::new();
    for node in &kernel.body {
        let mut gather = Gather::new(AxisId(u32::MAX), 0, Seek::Ends);
        gather.nodes(&mut scope, std::slice::from_ref(node));
        let mut mine = gather.accesses;
        let is_scratch = |a: &&Access| matches!(kernel.buffer(a.buffer).role, Role::Scratch(_));
        let mut filled: Vec<BufferId> = Vec::new();
        for a in mine.iter().filter(is_scratch) {
            if a.writes {
                filled.push(a.buffer);
            } else if !filled.contains(&a.buffer) {
                return Some(a.buffer);
            }
        }
        mine.retain(|a| kernel.buffer(a.buffer).role == Role::Output);
        for a in &before {
            let meets = |b: &&Access| {
                b.buffer == a.buffer && (a.writes || b.writes) && !below(&scope, a, b) && !below(&scope, b, a)
            };
            if let Some(b) = mine.iter().find(meets) {
                return Some(b.buffer);
            }
        }
        before.extend(mine);
    }
    None
}

/// The accesses inside a loop that may come into conflict.
fn accesses(scope: &mut Scope<'_>, f: &For, private: &dyn Fn(BufferId) -> bool, seek: Seek) -> Vec<Access> {
    let kernel = scope.kernel();
    let left = scope.enter(f);
    let mut gather = Gather::new(f.axis, scope.depth() - 1, seek);
    gather.nodes(scope, &f.body);
    scope.leave(left);
    let mut all = gather.accesses;
    let mut written_first = IdMap::default();
    all.iter().for_each(|a| {
        written_first.entry(a.buffer).or_insert(a.writes);
    });
    let scratch = |b: BufferId| matches!(kernel.buffer(b).role, Role::Scratch(_));
    all.retain(|a| !(scratch(a.buffer) && private(a.buffer) && written_first[&a.buffer]));
    all
}

/// Whether a kernel stores every element of a buffer at most once, as far as that can be shown.
pub(crate) fn stores_once(kernel: &Kernel, buffer: BufferId) -> bool {
    once(&mut Scope::new(kernel), &kernel.body, buffer)
}

fn once(scope: &mut Scope<'_>, nodes: &[Node], buffer: BufferId) -> bool {
    // What stands one after another stores to different elements.
    let depth = scope.depth();
    let mut before: Vec<Access> = Vec::new();
    // What stands alone is compared with nothing.
    let seek = if nodes.len() > 1 { Seek::Ends } else { Seek::Lines };
    for node in nodes {
        let mut gather = Gather::new(AxisId(u32::MAX), depth, seek);
        gather.nodes(scope, std::slice::from_ref(node));
        let mine: Vec<Access> =
            gather.accesses.into_iter().filter(|a| a.writes && a.buffer == buffer).collect();
        let mut pairs = before.iter().flat_map(|a| mine.iter().map(move |b| (a, b)));
        if pairs.any(|(a, b)| !below(scope, a, b) && !below(scope, b, a)) {
            return false;
        }
        let stores = !mine.is_empty();
        before.extend(mine);
        let inside = match node {
            Node::For(f) if stores => {
                let left = scope.enter(f);
                let mut gather = Gather::new(f.axis, depth, Seek::Lines);
                gather.nodes(scope, &f.body);
                let all: Vec<Access> =
                    gather.accesses.into_iter().filter(|a| a.writes && a.buffer == buffer).collect();
                let inside = once(scope, &f.body, buffer);
                scope.leave(left);
                let single = is_single(scope, f);
                inside && (single || all.iter().all(|a| all.iter().all(|b| apart(a, b, f.step))))
            }
            Node::Accumulate { body, .. } if stores => once(scope, body, buffer),
            _ => true,
        };
        if !inside {
            return false;
        }
    }
    true
}

fn has_store(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::For(f) => has_store(&f.body),
        Node::Accumulate { body, .. } => has_store(body),
        Node::Store(_) => true,
        Node::Step { .. } | Node::Prefetch { .. } => false,
    })
}

/// Whether nodes access a buffer that is not an input.
fn meets_others(kernel: &Kernel, nodes: &[Node]) -> bool {
    let reads = |values: &[ExprId]| {
        let mut found = false;
        kernel.visit_below(values, &mut |_, expr| {
            found |= matches!(expr, Expr::Load(l) if kernel.buffer(l.buffer).role != Role::Input);
        });
        found
    };
    nodes.iter().any(|node| match node {
        Node::For(f) => meets_others(kernel, &f.body),
        Node::Accumulate { acc, body } => {
            kernel.acc(*acc).state.iter().any(|s| reads(&[s.init])) || meets_others(kernel, body)
        }
        Node::Step { values, .. } => reads(values),
        Node::Store(_) => true,
        Node::Prefetch { .. } => false,
    })
}

/// Whether a loop is known to have at most one iteration.
fn is_single(scope: &Scope<'_>, f: &For) -> bool {
    let kernel = scope.kernel();
    let extent = scope.simplify(&(kernel.resolve(&f.end) - kernel.resolve(&f.begin)));
    scope.interval(&extent).1.is_some_and(|e| e <= f.step)
}

/// Whether two accesses in different iterations touch different elements.
fn apart(a: &Access, b: &Access, step: i64) -> bool {
    let tells = |a: &Line, b: &Line| {
        let reach = a.hi.max(b.hi).checked_sub(a.lo.min(b.lo));
        let moved = a.c.checked_abs().and_then(|c| c.checked_mul(step));
        a.outer == b.outer && a.c == b.c && reach.zip(moved).is_some_and(|(reach, moved)| reach < moved)
    };
    a.lines.iter().any(|(of, a)| b.lines.iter().any(|(other, b)| of == other && tells(a, b)))
}

/// Whether in some dimension one access stays below another, whatever their iterations are.
fn below(scope: &Scope<'_>, a: &Access, b: &Access) -> bool {
    let ends = a.ends.iter().zip(&b.ends).chain(a.anywhere.iter().zip(&b.anywhere));
    ends.into_iter().any(|([_, most], [least, _])| {
        let mut pairs = most.iter().flat_map(|m| least.iter().map(move |l| (m, l)));
        pairs.any(|(m, l)| scope.never_positive(&scope.simplify(&(m.clone() - l.clone() + 1))))
    })
}

struct Gather {
    axis: AxisId,
    /// How many loops stand around the one over the axis.
    depth: usize,
    seek: Seek,
    inside: Vec<AxisId>,
    accesses: Vec<Access>,
}

/// What is found out about an access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seek {
    /// Where its indices are lines.
    Lines,
    /// That, and where they end.
    Ends,
}

impl Gather {
    fn new(axis: AxisId, depth: usize, seek: Seek) -> Gather {
        Gather { axis, depth, seek, inside: Vec::new(), accesses: Vec::new() }
    }

    fn nodes(&mut self, scope: &mut Scope<'_>, nodes: &[Node]) {
        let kernel = scope.kernel();
        for node in nodes {
            match node {
                // Inputs are nobody's to write: most loops over what is summed read nothing else.
                Node::For(f) if !meets_others(kernel, &f.body) => {}
                Node::For(f) => {
                    self.inside.push(f.axis);
                    let left = scope.enter(f);
                    self.nodes(scope, &f.body);
                    scope.leave(left);
                    self.inside.pop();
                }
                Node::Accumulate { acc, body } => {
                    let init: Vec<ExprId> = kernel.acc(*acc).state.iter().map(|s| s.init).collect();
                    self.loads(scope, &init);
                    self.nodes(scope, body);
                }
                Node::Step { values, .. } => self.loads(scope, values),
                Node::Store(s) => {
                    self.loads(scope, &[s.value]);
                    self.access(scope, s.buffer, &s.index, true);
                }
                Node::Prefetch { .. } => {}
            }
        }
    }

    fn loads(&mut self, scope: &Scope<'_>, values: &[ExprId]) {
        scope.kernel().visit_below(values, &mut |_, expr| {
            if let Expr::Load(load) = expr {
                self.access(scope, load.buffer, &load.index, false);
            }
        });
    }

    fn access(&mut self, scope: &Scope<'_>, buffer: BufferId, index: &[Index], writes: bool) {
        let kernel = scope.kernel();
        if kernel.buffer(buffer).role == Role::Input {
            return;
        }
        let index: Vec<Index> = index.iter().map(|i| scope.simplify(&kernel.resolve(i))).collect();
        let known = put_together(&index).into_iter();
        let lines = known.filter_map(|(source, i)| Some((source, self.line(scope, &i)?))).collect();
        let ends = |depth: usize| {
            let end = |i: &Index, side| scope.extremes(i, depth, side);
            index.iter().map(|i| [end(i, Side::Low), end(i, Side::High)]).collect()
        };
        let (ends, anywhere) = match self.seek {
            Seek::Lines => (Vec::new(), Vec::new()),
            Seek::Ends => (ends(self.depth), if self.depth > 0 { ends(0) } else { Vec::new() }),
        };
        self.accesses.push(Access { buffer, writes, lines, ends, anywhere });
    }

    /// An index as a line along the axis, if it is one.
    fn line(&self, scope: &Scope<'_>, index: &Index) -> Option<Line> {
        let (mut outer, mut inner) = match index.offset().as_const() {
            Some(c) => (Index::constant(0), Index::constant(c)),
            None => (Index::constant(index.offset().clone()), Index::constant(0)),
        };
        let mut along = 0;
        for (atom, c) in index.terms() {
            let alone = Index::atom(atom.clone());
            if *atom == Atom::Axis(self.axis) {
                along = c.as_const()?;
            } else if alone.mentions(self.axis) {
                return None;
            } else if self.inside.iter().any(|a| alone.mentions(*a)) {
                inner.add_term(atom.clone(), c.clone());
            } else {
                outer.add_term(atom.clone(), c.clone());
            }
        }
        let (lo, hi) = scope.interval(&inner);
        Some(Line { outer, c: along, lo: lo?, hi: hi? })
    }
}

/// The indices of an element's place, and those that they determine together: `e` where there are `e/k` and `e%k`.
fn put_together(index: &[Index]) -> Vec<(Source, Index)> {
    let mut known: Vec<(Source, Index)> =
        index.iter().enumerate().map(|(n, i)| (Source::Dim(n), i.clone())).collect();
    let mut at = 0;
    while at < known.len() {
        let whole = as_remainder(&known[at].1).and_then(|(e, divisor)| {
            let (quotient, _) = known.iter().find(|(_, other)| is_quotient(other, &e, &divisor))?;
            let (quotient, remainder) = (Box::new(quotient.clone()), Box::new(known[at].0.clone()));
            Some((Source::Together { quotient, remainder, divisor }, e))
        });
        match whole {
            Some((source, e)) if known.iter().all(|(_, other)| *other != e) => {
                known.push((source, e));
                // What is new may complete any of the others.
                at = 0;
            }
            _ => at += 1,
        }
    }
    known
}

fn as_remainder(index: &Index) -> Option<(Index, Dim)> {
    match index.terms() {
        [(Atom::Mod(e, k), c)] if c.is(1) && index.offset().is(0) => Some(((**e).clone(), k.clone())),
        _ => None,
    }
}

/// Whether an index is `e / k`; `(e / m) / k` is `e / (m·k)`.
fn is_quotient(index: &Index, e: &Index, k: &Dim) -> bool {
    if *index == e.clone().floor_div(k.clone()) {
        return true;
    }
    match e.terms() {
        [(Atom::Div(inner, m), c)] if c.is(1) && e.offset().is(0) => {
            *index == (**inner).clone().floor_div(m.clone() * k.clone())
        }
        _ => false,
    }
}

//! `split` and `peel`: one loop becomes a nest of two, or several loops that follow each other.
//!
//! In: the loop and the scope of its place. Out: the nodes that replace it. Bodies are cloned, which is cheap: they are
//! trees of ids, and an axis may be the variable of several loops.

use super::Tail;
use super::walk::{axis_of_loops, fresh_names, refused, replace_loops, shown};
use crate::index::Index;
use crate::range::Scope;
use crate::tree::{AxisId, For, Kernel, Kind, Node};
use lawson_graph::Result;

/// The outer and the inner axis of a split.
#[derive(Clone, Copy)]
struct Axes {
    outer: AxisId,
    inner: AxisId,
}

/// How many iterations a loop has, as an index over the loops around it, and what is known of that.
struct Trips {
    count: Index,
    constant: Option<i64>,
}

/// A run of equal tiles: `tile` iterations each, from iteration `begin` to iteration `end` of the loop that is split.
struct Rung {
    tile: i64,
    begin: Index,
    end: Index,
}

/// `split i factor tail`
pub(super) fn split(kernel: &mut Kernel, name: &str, factor: i64, tail: &Tail) -> Result<()> {
    let axis = axis_of_loops(kernel, name)?;
    if factor < 1 {
        return Err(refused(format!("a tile of {factor} iterations is none")));
    }
    if let Tail::Ladder(rungs) | Tail::LadderClip(rungs) = tail {
        let descends = [&[factor], rungs.as_slice()].concat().windows(2).all(|w| w[0] > w[1]);
        if !descends || rungs.last().is_some_and(|r| *r < 1) {
            let message = "the rungs of a ladder are smaller than the tile, each smaller than the one before";
            return Err(refused(message));
        }
    }
    let names: [String; 2] = fresh_names(kernel, name);
    let [outer, inner] = names.map(|n| kernel.add_axis(n));
    kernel.axes[axis.0 as usize].derived = Some(Index::axis(outer) + Index::axis(inner));
    let axes = Axes { outer, inner };
    replace_loops(kernel, axis, &mut |scope, f| split_loop(scope, f, axes, factor, tail).map_err(refused))
}

/// What replaces one loop; `Err` says why it cannot be split so.
fn split_loop(
    scope: &Scope<'_>,
    f: For,
    axes: Axes,
    factor: i64,
    tail: &Tail,
) -> std::result::Result<Vec<Node>, String> {
    if !matches!(f.kind, Kind::Parallel | Kind::Serial) {
        return Err(format!("the loop is {} already; split first, then say how to execute", f.kind.name()));
    }
    let Some(reach) = factor.checked_mul(f.step) else {
        return Err(format!("a tile of {factor} iterations is too large"));
    };
    let trips = trips(scope, &f);
    // Tiles that cover are counted beforehand, also where the number of iterations is a multiple that is only known when running.
    let counted = trips.constant.is_some() || *tail != Tail::Cover;
    if counted && trips.divisible_by(scope, factor) {
        let (begin, end) = (f.begin.clone(), f.end.clone());
        return Ok(vec![nest(&f, axes, begin, end, reach, reach.into())]);
    }
    let rungs = match tail {
        Tail::Exact => {
            let count = shown(scope.kernel(), &trips.count);
            return Err(format!("it is not known that {factor} divides the number of iterations, {count}"));
        }
        Tail::Clip | Tail::Auto => {
            let inner_end = Index::constant(reach).min(f.end.clone() - axes.outer);
            return Ok(vec![nest(&f, axes, f.begin.clone(), f.end.clone(), reach, inner_end)]);
        }
        Tail::Cover => {
            let Some(most) = scope.interval(&trips.count).1 else {
                return Err("how many iterations there are at most is not known".into());
            };
            let whole = (most + factor - 1).div_euclid(factor).max(0);
            let end = f.begin.clone() + whole.saturating_mul(reach);
            let inner_end = Index::constant(reach).min(f.end.clone() - axes.outer);
            return Ok(vec![nest(&f, axes, f.begin.clone(), end, reach, inner_end)]);
        }
        Tail::LadderClip(rungs) => {
            let at = |iteration: &Index| f.begin.clone() + iteration.clone() * f.step;
            let (tiles, done) = rungs_of(scope, &trips, factor, rungs);
            let mut nests: Vec<Node> = Vec::new();
            for rung in &tiles {
                let reach = rung.tile * f.step;
                nests.push(nest(&f, axes, at(&rung.begin), at(&rung.end), reach, reach.into()));
            }
            let left = scope.interval(&(trips.count.clone() - done.clone())).1;
            if left.is_none_or(|most| most > 0) {
                let reach = rungs.last().copied().unwrap_or(factor) * f.step;
                let inner_end = Index::constant(reach).min(f.end.clone() - axes.outer);
                nests.push(nest(&f, axes, at(&done), f.end.clone(), reach, inner_end));
            }
            return Ok(nests);
        }
        Tail::Ladder(rungs) => match (rungs.as_slice(), trips.constant) {
            ([], Some(count)) => vec![count % factor],
            ([], None) => powers_below(factor),
            (given, _) => given.to_vec(),
        },
    };
    let at = |iteration: &Index| f.begin.clone() + iteration.clone() * f.step;
    let tiles = climb(scope, &trips, factor, &rungs)?;
    let nests = tiles.iter().map(|rung| {
        let reach = rung.tile * f.step;
        nest(&f, axes, at(&rung.begin), at(&rung.end), reach, reach.into())
    });
    Ok(nests.collect())
}

/// The outer loop with the inner one, which begins at 0, around the body of `f`.
fn nest(f: &For, axes: Axes, begin: Index, end: Index, step: i64, inner_end: Index) -> Node {
    let inner = For {
        axis: axes.inner,
        begin: 0.into(),
        end: inner_end,
        step: f.step,
        kind: Kind::Serial,
        body: f.body.clone(),
    };
    Node::For(For { axis: axes.outer, begin, end, step, kind: f.kind, body: vec![Node::For(inner)] })
}

impl Trips {
    fn divisible_by(&self, scope: &Scope<'_>, factor: i64) -> bool {
        match self.constant {
            Some(count) => count % factor == 0,
            None => scope.divides(&self.count, factor),
        }
    }
}

/// How often a loop runs.
fn trips(scope: &Scope<'_>, f: &For) -> Trips {
    let kernel = scope.kernel();
    let extent = scope.simplify(&(kernel.resolve(&f.end) - kernel.resolve(&f.begin)));
    let count = match f.step {
        1 => extent,
        step => scope.simplify(&(extent + (step - 1)).floor_div(step)),
    };
    // A loop whose end lies before its begin does not run.
    let count = match scope.proves_nonnegative(&count) {
        true => count,
        false => tidy(scope, &count.max(0.into())),
    };
    Trips { constant: count.as_const(), count }
}

/// The powers of two below a number, greatest first.
fn powers_below(factor: i64) -> Vec<i64> {
    let mut powers: Vec<i64> =
        std::iter::successors(Some(1i64), |p| p.checked_mul(2)).take_while(|p| *p < factor).collect();
    powers.reverse();
    powers
}

/// The full tiles and then each rung for as many iterations as fit; rungs that provably have none are left out.
fn climb(
    scope: &Scope<'_>,
    trips: &Trips,
    factor: i64,
    rungs: &[i64],
) -> std::result::Result<Vec<Rung>, String> {
    let (out, done) = rungs_of(scope, trips, factor, rungs);
    let last = rungs.last().copied().unwrap_or(factor);
    let complete = match trips.constant {
        Some(count) => done.is(count),
        None => last == 1 || out.iter().any(|r| trips.divisible_by(scope, r.tile)),
    };
    if complete {
        return Ok(out);
    }
    Err(format!("after tiles of {last}, iterations may be left over; end the ladder with 1 or with clip"))
}

/// The rungs that run, and how many iterations they do together.
fn rungs_of(scope: &Scope<'_>, trips: &Trips, factor: i64, rungs: &[i64]) -> (Vec<Rung>, Index) {
    let mut out = Vec::new();
    let mut done = Index::constant(0);
    // What divides `done`; 0 is divided by everything.
    let mut divisor = 0;
    for tile in [&[factor], rungs].concat() {
        let left = trips.count.clone() - done.clone();
        // With a tile that divides what is done, ⌊left/tile⌋·tile + done = ⌊count/tile⌋·tile.
        let end = match divisor % tile {
            0 => trips.count.clone().floor_div(tile) * tile,
            _ => done.clone() + left.floor_div(tile) * tile,
        };
        let end = scope.simplify(&end);
        divisor = gcd(divisor, tile);
        let runs = scope.interval(&(end.clone() - done.clone())).1.is_none_or(|most| most > 0);
        if runs {
            out.push(Rung { tile, begin: done, end: end.clone() });
        }
        done = end;
        let complete = match trips.constant {
            Some(count) => done.is(count),
            None => tile == 1 || (divisor == tile && trips.divisible_by(scope, tile)),
        };
        if complete {
            break;
        }
    }
    (out, done)
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// `peel i first=a last=b`
pub(super) fn peel(kernel: &mut Kernel, name: &str, first: i64, last: i64) -> Result<()> {
    let axis = axis_of_loops(kernel, name)?;
    if first < 0 || last < 0 || first + last == 0 {
        return Err(refused("peel at least one iteration, at the beginning or at the end"));
    }
    replace_loops(kernel, axis, &mut |scope, f| {
        let parts = peel_loop(scope, &f, first, last);
        parts.ok_or_else(|| refused("so many iterations are more than an index can count"))
    })
}

fn peel_loop(scope: &Scope<'_>, f: &For, first: i64, last: i64) -> Option<Vec<Node>> {
    let whole = trips(scope, f).count;
    first.checked_mul(f.step)?.checked_add(last.checked_mul(f.step)?)?;
    let zero = Index::constant(0);
    let head = match first {
        0 => zero.clone(),
        _ => tidy(scope, &Index::constant(first).min(whole.clone())),
    };
    let rest = whole.clone() - last;
    let tail = tidy(scope, &head.clone().max(rest.clone()));
    let at = |iteration: &Index| scope.simplify(&(f.begin.clone() + iteration.clone() * f.step));
    let mut out = Vec::new();
    // The middle ends before it begins, and does not run, where there are few iterations.
    for (from, to) in [(&zero, &head), (&head, &rest), (&tail, &whole)] {
        let runs = scope.interval(&(to.clone() - from.clone())).1.is_none_or(|most| most > 0);
        if runs {
            out.push(Node::For(For { begin: at(from), end: at(to), ..f.clone() }));
        }
    }
    Some(out)
}

/// Simpler, by what is known of parameters too.
fn tidy(scope: &Scope<'_>, index: &Index) -> Index {
    let index = scope.simplify(index);
    match index.as_dim() {
        Some(dim) => Index::constant(scope.kernel().facts.simplify(dim)),
        None => index,
    }
}

//! A second schedule for sums of products with what is often 0: one that leaves such products out (`skip.rs` of the crate).
//!
//! ```text
//! for i … { for j … { accumulate c { for k in 0 to K { c += x[i, k] * w[k, j] } }  y[i, j] = f(c) } }
//! ```
//!
//! A tile of several rows cannot leave anything out, because its rows have zeros in different places. So a row goes alone through several
//! vectors of columns, and every multiply-add loads its vector of `w`: from the first cache, where a block of steps of that many columns
//! stays while a block of rows goes by. That takes longer than a tile where nothing is 0, and less where half is.

use super::stride::{Stride, stride};
use super::{Freedom, Nest, extent, nest, normalise, unique_names};
use crate::buffer::{BufferId, Layout, Level};
use crate::expr::{Expr, ExprId};
use crate::machine::{Machine, Spread};
use crate::plan::Skipping;
use crate::schedule::{Directive, Schedule, Tail};
use crate::skip::MOST_SKIPPED;
use crate::tree::{AccId, For, Kernel, Kind, Node};
use crate::verify::verify;

/// Vectors of columns that a row goes through at once: at most so many that a block has steps enough, at least so many that what a step takes
/// besides is little.
const MOST_VECTORS: i64 = 8;
const LEAST_VECTORS: i64 = 4;
/// Rows for which a block of `w` stays where it is.
const ROWS: i64 = 128;
/// Rows for which a block of `w` is read often enough.
const LEAST_ROWS: i64 = 16;
/// Lanes of the vectors that are compared at once.
const LANES: i64 = 16;
/// Rows ahead of the one in work that are fetched.
const AHEAD: i64 = 2;
/// Multiply-adds of vectors beside which it is little to look whether a value has zeros.
const LEAST_WORK: i64 = 1 << 16;
/// What a multiply-add takes in a tile that leaves nothing out.
const TILED: f64 = 1.06;
/// What loading a number for all lanes takes, in multiply-adds.
const BROADCAST: f64 = 0.5;
/// The part of elements that must not be worth more than it takes to leave the others out: half of them are 0 after `max(x, 0)`, or a few less.
const LEAST_PART: f64 = 0.54;
/// Room for the elements that nobody looks at.
const MARGIN: f64 = 0.02;

/// A sum of products, and what its loops are.
struct Sum<'k> {
    /// All loops over outputs but that over columns.
    rows: Vec<&'k For>,
    columns: &'k For,
    steps: &'k For,
    /// What is often 0, and what it is multiplied with.
    zero: BufferId,
    other: BufferId,
}

/// How a row goes through columns and steps.
#[derive(Clone, Copy)]
struct Way {
    vectors: i64,
    /// Steps of a block.
    block: i64,
    /// The part of elements that may be other than 0.
    most: f64,
}

/// For how many vectors, up to so many, panels are such that products can be left out; for all where that does not matter, because a
/// kernel is no sum of such products or nothing would be gained.
pub(super) fn panels(kernel: &Kernel, machine: &Machine, freedom: &Freedom, most: i64) -> Vec<i64> {
    let all = 1..=most;
    let sum = sum_of(kernel, machine, freedom);
    let sizes = sum.and_then(|s| Some((extent(s.columns)?, extent(s.steps)?)));
    let Some((columns, steps)) = sizes else { return all.collect() };
    let fitting: Vec<i64> =
        all.clone().filter(|v| way(machine, columns, steps, v * LANES).is_some()).collect();
    if fitting.is_empty() { all.collect() } else { fitting }
}

/// Whether a product of so many rows, columns and steps with a constant gains by leaving out what is multiplied with 0, if its panels are so that it can.
pub(crate) fn gains_by_zeros(machine: &Machine, [rows, columns, steps]: [i64; 3]) -> bool {
    let team = machine.spread == Spread::Team && machine.lanes == LANES;
    team && rows >= least_rows(columns, steps) && way(machine, columns, steps, LANES).is_some()
}

/// Rows from which on a product gains by leaving something out: a block of `w` is read often enough, and looking for zeros is little.
fn least_rows(columns: i64, steps: i64) -> i64 {
    LEAST_ROWS.max(LEAST_WORK * LANES / steps.saturating_mul(columns).max(1))
}

/// The schedule of a natural kernel whose constants lie in these layouts, if it is a sum of products of one of the buffers that are often 0
/// with a constant.
pub fn choose_skipping(
    kernel: &Kernel,
    machine: &Machine,
    layouts: &[(BufferId, Layout)],
    freedom: &Freedom,
) -> Option<Skipping> {
    let mut kernel = kernel.clone();
    unique_names(&mut kernel);
    normalise(&mut kernel);
    for (buffer, layout) in layouts {
        kernel.buffers[buffer.0 as usize].layout = layout.clone();
    }
    let sum = sum_of(&kernel, machine, freedom)?;
    let (by, finite) = (sum.zero, sum.other);
    let (columns, steps) = (extent(sum.columns)?, extent(sum.steps)?);
    let panel = kernel.buffer(finite).layout.panel().unwrap_or(columns);
    let way = way(machine, columns, steps, panel)?;
    let rows = least_rows(columns, steps);
    let counted = sum.rows.iter().try_fold(1i64, |n, f| n.checked_mul(extent(f)?));
    if counted.is_some_and(|counted| counted < rows) {
        return None;
    }
    let schedule = sum.schedule(&kernel, way, steps)?;
    kernel.buffers[finite.0 as usize].finite = true;
    schedule.apply(&mut kernel).ok()?;
    // What is beyond the proofs is left out: there is another schedule.
    verify(&kernel).ok()?;
    Some(Skipping { kernel, schedule, by, finite, most: way.most, least: rows.saturating_mul(steps) })
}

/// The way through columns and steps that gains most where half of the elements are 0, if one gains, with panels so wide.
fn way(machine: &Machine, columns: i64, steps: i64, panel: i64) -> Option<Way> {
    let one = |vectors: i64| {
        let width = vectors * LANES;
        // A block of `w` leaves a quarter of the first cache to what goes by.
        let block = (machine.l1 * 3 / 4 / (machine.lane_bytes * width) / LANES * LANES).min(MOST_SKIPPED);
        let even = columns % width == 0 && (width % panel == 0 || panel % width == 0);
        (even && block >= LANES && steps >= LANES).then(|| {
            let (steps, vectors) = (steps.min(block) as f64, vectors as f64);
            let each = vectors.max(vectors / machine.vector_loads_per_fma) + BROADCAST;
            // Sums go to memory and back between blocks.
            let besides = machine.fmas_per_miss + 2.0 * vectors;
            let most = (TILED * steps * vectors - besides) / (steps * each) - MARGIN;
            Way { vectors: width / LANES, block, most }
        })
    };
    let ways = (LEAST_VECTORS..=MOST_VECTORS).filter_map(one);
    ways.max_by(|a, b| a.most.total_cmp(&b.most)).filter(|w| w.most >= LEAST_PART)
}

fn sum_of<'k>(kernel: &'k Kernel, machine: &Machine, freedom: &Freedom) -> Option<Sum<'k>> {
    if machine.spread == Spread::Grid || machine.lanes != LANES || freedom.often_zero.is_empty() {
        return None;
    }
    let [Node::For(f)] = kernel.body.as_slice() else { return None };
    let Nest { loops, body } = nest(f);
    let [Node::Accumulate { acc, body }, stages @ ..] = body else { return None };
    let [Node::For(steps)] = body.as_slice() else { return None };
    let factors = product(kernel, *acc, steps)?;
    let buffer = |e: ExprId| match kernel.expr(e) {
        Expr::Load(l) if l.guard.is_none() => Some(l.buffer),
        _ => None,
    };
    let [a, b] = [buffer(factors[0])?, buffer(factors[1])?];
    let is = |zero: BufferId, other: BufferId| {
        freedom.often_zero.contains(&zero) && freedom.constants.contains(&other)
    };
    let [zero, other] = match (is(a, b), is(b, a)) {
        (true, _) => [factors[0], factors[1]],
        (false, true) => [factors[1], factors[0]],
        (false, false) => return None,
    };
    let stored = |f: &For| {
        stages.iter().all(|s| match s {
            Node::Store(s) => {
                let offset = kernel.resolve(&kernel.buffer(s.buffer).layout.offset(&s.index));
                stride(&offset, f.axis) == Stride::Known(1)
            }
            _ => false,
        })
    };
    let (x, w) = (kernel.offset_of(zero), kernel.offset_of(other));
    let is_columns = |f: &&For| stride(&x, f.axis) == Stride::None && w.mentions(f.axis) && stored(f);
    let columns = loops.iter().copied().find(is_columns)?;
    let rows: Vec<&For> = loops.into_iter().filter(|f| f.axis != columns.axis).collect();
    let is_plain = |f: &&For| f.begin.is(0) && f.step == 1 && f.kind == Kind::Serial;
    let plain = rows.iter().chain([&columns, &steps]).all(is_plain);
    let along = stride(&x, steps.axis) == Stride::Known(1);
    let [zero, other] = [buffer(zero)?, buffer(other)?];
    (plain && along && !rows.is_empty()).then_some(Sum { rows, columns, steps, zero, other })
}

/// The factors of what a loop adds to a sum, if it does nothing else.
fn product(kernel: &Kernel, acc: AccId, steps: &For) -> Option<[ExprId; 2]> {
    let [Node::Step { acc: stepped, values }] = steps.body.as_slice() else { return None };
    let [value] = values.as_slice() else { return None };
    kernel.added_product(*value, acc).filter(|_| *stepped == acc)
}

impl Sum<'_> {
    fn schedule(&self, kernel: &Kernel, way: Way, steps: i64) -> Option<Schedule> {
        let name = |f: &For| kernel.axis(f.axis).name.clone();
        // The longest of the loops over rows is cut into blocks.
        let longest = self.rows.iter().max_by_key(|f| extent(f).unwrap_or(i64::MAX))?;
        if extent(longest).is_some_and(|rows| rows < LEAST_ROWS) {
            return None;
        }
        let mut out = Vec::new();
        let mut split = |axis: String, factor: i64, tail: Tail| {
            let parts = [format!("{axis}.0"), format!("{axis}.1")];
            out.push(Directive::Split { axis, factor, tail });
            parts
        };
        let [panels, inside] = split(name(self.columns), way.vectors * LANES, Tail::Exact);
        let [blocks, rows] = split(name(longest), ROWS, Tail::Clip);
        let others = self.rows.iter().filter(|f| f.axis != longest.axis).map(|f| name(f));
        let shared: Vec<String> = others.chain([blocks, panels.clone()]).collect();
        let [vectors, lanes] = [format!("{inside}.0"), format!("{inside}.1")];
        out.push(Directive::Reorder {
            axes: shared.iter().cloned().chain([rows.clone(), inside.clone()]).collect(),
        });
        let execute = |axis: String, kind: Kind| Directive::Execute { axis, kind };
        out.extend(shared.into_iter().map(|axis| execute(axis, Kind::Parallel)));
        let mut skipped = name(self.steps);
        if steps > way.block {
            let (axis, factor, level) = (skipped.clone(), way.block, Level::L1);
            out.push(Directive::Block { axis, factor, at: Some(panels), level });
            skipped = format!("{skipped}.1");
        }
        out.push(Directive::Split { axis: inside, factor: LANES, tail: Tail::Exact });
        out.push(execute(vectors, Kind::Jam));
        out.push(execute(lanes, Kind::Vector(LANES as u32)));
        out.push(execute(skipped, Kind::Skip));
        let buffer = kernel.buffer(self.zero).name.clone();
        out.push(Directive::Prefetch {
            buffer,
            at: rows,
            ahead: AHEAD,
            of: None,
            by: None,
            level: Level::L1,
        });
        Some(Schedule(out))
    }
}

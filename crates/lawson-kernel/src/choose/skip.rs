//! A second schedule for sums of products with what is often 0: one that leaves such products out (`skip.rs` of the crate).
//!
//! ```text
//! for i … { for j … { accumulate c { for k in 0 to K { c += x[i, k] * w[k, j] } }  y[i, j] = f(c) } }
//! ```
//!
//! A tile of several rows cannot leave anything out, because its rows have zeros in different places. So a row goes alone through several
//! vectors of columns, and every multiply-add loads its vector of `w`: from the first cache, where a block of steps of that many columns
//! stays while a block of rows goes by. That takes longer than a tile where nothing is 0, and less where half is.
//!
//! Sums over the taps of a window are such sums, too: their taps and parts of channels become one loop, each iteration of which is a block.

use super::stride::{Stride, stride};
use super::{Freedom, Nest, extent, nest, normalise, unique_names};
use crate::buffer::{BufferId, Layout, Level};
use crate::expr::{Expr, ExprId, Load};
use crate::machine::{Machine, Spread};
use crate::plan::Skipping;
use crate::schedule::{Directive, Schedule, Tail};
use crate::skip::MOST_SKIPPED;
use crate::tree::{AccId, For, Kernel, Kind, Node};
use crate::verify::verify;
use std::cmp::Ordering;

/// Vectors of columns that a row goes through at once: at most so many that a block has steps enough, at least so many that what a step takes
/// besides is little.
const MOST_VECTORS: i64 = 8;
const LEAST_VECTORS: i64 = 4;
/// Rows for which a block of `w` stays where it is.
const ROWS: i64 = 128;
/// Rows for which a block of `w` is read often enough.
const LEAST_ROWS: i64 = 16;
/// In as many rows' time a member begins with a block of `w`.
const ROWS_OF_BLOCK: i64 = 8;
/// A row that another core has written comes in the time in which a tap of so many rows is gone through for a panel.
const STRANGE: i64 = 3;
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
    /// All loops over outputs but that over columns, outermost first.
    rows: Vec<&'k For>,
    columns: &'k For,
    /// The loops over what is summed, as they stand, outermost first.
    summed: Vec<&'k For>,
    /// That along which what is often 0 lies side by side.
    steps: &'k For,
    /// What is often 0, and what it is multiplied with.
    zero: BufferId,
    other: BufferId,
}

/// What is known of a sum's loops.
#[derive(Clone, Copy)]
struct Extents {
    columns: i64,
    /// Steps that follow one another along what lies side by side.
    steps: i64,
    /// How often they are gone through: the taps of a window.
    taps: i64,
    /// Whether loops stand around that over steps, even if each has one iteration.
    windows: bool,
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

/// Where rows are cut into blocks.
struct Cut {
    /// The loop that is cut; those inside of it are in a block, those outside of it are shared.
    at: usize,
    /// Iterations of it in a block.
    rows: i64,
}

/// For how many vectors, up to so many, panels are such that products can be left out; for all where that does not matter, because a
/// kernel is no sum of such products or nothing would be gained.
pub(super) fn panels(kernel: &Kernel, machine: &Machine, freedom: &Freedom, most: i64) -> Vec<i64> {
    let all = 1..=most;
    let extents = sum_of(kernel, machine, freedom).and_then(|s| s.extents());
    let Some(extents) = extents else { return all.collect() };
    let fitting: Vec<i64> = all.clone().filter(|v| way(machine, extents, v * LANES).is_some()).collect();
    if fitting.is_empty() { all.collect() } else { fitting }
}

/// Whether a product of so many rows, columns and steps with a constant gains by leaving out what is multiplied with 0, if its panels are so that it can.
pub(crate) fn gains_by_zeros(machine: &Machine, [rows, columns, steps]: [i64; 3]) -> bool {
    let team = machine.spread == Spread::Team && machine.lanes == LANES;
    let extents = Extents { columns, steps, taps: 1, windows: false };
    team && rows >= extents.least_rows() && way(machine, extents, LANES).is_some()
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
    let extents = sum.extents()?;
    let panel = kernel.buffer(finite).layout.panel().unwrap_or(extents.columns);
    let way = way(machine, extents, panel)?;
    let rows = extents.least_rows();
    let counted = sum.rows.iter().try_fold(1i64, |n, f| n.checked_mul(extent(f)?));
    if counted.is_some_and(|counted| counted < rows) {
        return None;
    }
    let schedule = sum.schedule(&kernel, machine, way, extents);
    kernel.buffers[finite.0 as usize].finite = true;
    schedule.apply(&mut kernel).ok()?;
    // What is beyond the proofs is left out: there is another schedule.
    verify(&kernel).ok()?;
    // A window reads a row once for each of its taps.
    Some(Skipping { kernel, schedule, by, finite, most: way.most, least: rows.saturating_mul(extents.steps) })
}

/// The way through columns and steps that gains most where half of the elements are 0, if one gains, with panels so wide.
fn way(machine: &Machine, extents: Extents, panel: i64) -> Option<Way> {
    let Extents { columns, steps, windows, .. } = extents;
    let one = |vectors: i64| {
        let width = vectors * LANES;
        // A block of `w` leaves a quarter of the first cache to what goes by.
        let fits = (machine.l1 * 3 / 4 / (machine.lane_bytes * width) / LANES * LANES).min(MOST_SKIPPED);
        // What lies side by side is shorter than a tap's steps are apart, so blocks end where taps do.
        let whole = |block: &i64| !windows || steps % block == 0;
        let mut blocks = (1..=fits / LANES).rev().map(|n| n * LANES);
        let block = blocks.find(|b| whole(b))?;
        let even = columns % width == 0 && (width % panel == 0 || panel % width == 0);
        (even && steps >= LANES).then(|| {
            let (steps, vectors) = (steps.min(block) as f64, vectors as f64);
            // Few vectors wait for each other; meanwhile the next row is begun.
            let waits = machine.latency_paid * (machine.fma_in_flight as f64 - vectors).max(0.0);
            let each = vectors.max(vectors / machine.vector_loads_per_fma) + waits.max(BROADCAST);
            let begun = (machine.fmas_per_miss - steps / 2.0 * waits).max(0.0);
            // Sums go to memory and back between blocks.
            let besides = begun + 2.0 * vectors;
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
    let [Node::For(outermost)] = body.as_slice() else { return None };
    let Nest { loops: summed, body } = nest(outermost);
    let [zero, other] = factors_of(kernel, freedom, product(kernel, *acc, body)?)?;
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
    // The same as the innermost of the tile's sums: results must not differ.
    let steps = summed.iter().rev().copied().find(|f| stride(&x, f.axis) == Stride::Known(1))?;
    let is_plain = |f: &&For| f.begin.is(0) && f.step == 1 && f.kind == Kind::Serial;
    let plain = rows.iter().chain([&columns]).chain(&summed).all(is_plain);
    let plain = plain && reads_beyond(kernel, zero, steps);
    let [zero, other] = [buffer_of(kernel, zero)?, buffer_of(kernel, other)?];
    (plain && !rows.is_empty()).then_some(Sum { rows, columns, summed, steps, zero, other })
}

/// Which factor is often 0, and which one is a constant.
fn factors_of(kernel: &Kernel, freedom: &Freedom, [a, b]: [ExprId; 2]) -> Option<[ExprId; 2]> {
    let [of_a, of_b] = [buffer_of(kernel, a)?, buffer_of(kernel, b)?];
    let is = |zero: &BufferId, other: &BufferId| {
        freedom.often_zero.contains(zero) && freedom.constants.contains(other)
    };
    match (is(&of_a, &of_b), is(&of_b, &of_a)) {
        (true, _) => Some([a, b]),
        (false, true) => Some([b, a]),
        (false, false) => None,
    }
}

fn buffer_of(kernel: &Kernel, e: ExprId) -> Option<BufferId> {
    match kernel.expr(e) {
        Expr::Load(l) => Some(l.buffer),
        _ => None,
    }
}

/// Whether there is something to read in the place of what is beyond a border, if a load has one.
fn reads_beyond(kernel: &Kernel, e: ExprId, steps: &For) -> bool {
    let Expr::Load(Load { buffer, guard: Some(_), .. }) = kernel.expr(e) else { return true };
    let least = kernel.facts.bounds(&kernel.buffer(*buffer).layout.size).0;
    extent(steps).zip(least).is_some_and(|(steps, least)| least >= steps)
}

/// The factors of what is added to a sum, if that is all that a step does.
fn product(kernel: &Kernel, acc: AccId, body: &[Node]) -> Option<[ExprId; 2]> {
    let [Node::Step { acc: stepped, values }] = body else { return None };
    let [value] = values.as_slice() else { return None };
    kernel.added_product(*value, acc).filter(|_| *stepped == acc)
}

impl Extents {
    /// Rows from which on a product gains by leaving something out: a block of `w` is read often enough, and looking for zeros is little.
    fn least_rows(&self) -> i64 {
        let all = self.steps.saturating_mul(self.taps).saturating_mul(self.columns);
        LEAST_ROWS.max(LEAST_WORK * LANES / all.max(1))
    }
}

impl Sum<'_> {
    fn extents(&self) -> Option<Extents> {
        let (columns, steps) = (extent(self.columns)?, extent(self.steps)?);
        let taps = self.taps().try_fold(1i64, |n, f| n.checked_mul(extent(f)?))?;
        if columns.min(steps).min(taps) < 1 {
            return None;
        }
        Some(Extents { columns, steps, taps, windows: self.summed.len() > 1 })
    }

    /// The loops over what is summed but that along which things lie side by side.
    fn taps(&self) -> impl Iterator<Item = &For> {
        self.summed.iter().copied().filter(|f| f.axis != self.steps.axis)
    }

    fn schedule(&self, kernel: &Kernel, machine: &Machine, way: Way, extents: Extents) -> Schedule {
        let name = |f: &For| kernel.axis(f.axis).name.clone();
        let mut out = Vec::new();
        let mut split = |axis: String, factor: i64, tail: Tail| {
            let parts = [format!("{axis}.0"), format!("{axis}.1")];
            out.push(Directive::Split { axis, factor, tail });
            parts
        };
        let [panels, inside] = split(name(self.columns), way.vectors * LANES, Tail::Exact);
        let cut = self.cut(machine, way, extents);
        let (mut shared, mut rows) = (Vec::new(), Vec::new());
        for (n, f) in self.rows.iter().enumerate() {
            match n.cmp(&cut.at) {
                Ordering::Less => shared.push(name(f)),
                Ordering::Greater => rows.push(name(f)),
                Ordering::Equal => {
                    let [blocks, inside] = split(name(f), cut.rows, Tail::Clip);
                    shared.push(blocks);
                    rows.push(inside);
                }
            }
        }
        shared.push(panels.clone());
        let [vectors, lanes] = [format!("{inside}.0"), format!("{inside}.1")];
        let order = shared.iter().chain(&rows).chain([&inside]).cloned();
        out.push(Directive::Reorder { axes: order.collect() });
        let execute = |axis: String, kind: Kind| Directive::Execute { axis, kind };
        out.extend(shared.into_iter().map(|axis| execute(axis, Kind::Parallel)));
        let (skipped, blocks) = self.blocks(kernel, way, extents, panels, &mut out);
        out.push(Directive::Split { axis: inside, factor: LANES, tail: Tail::Exact });
        out.push(execute(vectors, Kind::Jam));
        out.push(execute(lanes, Kind::Vector(LANES as u32)));
        out.push(execute(skipped, Kind::Skip));
        if let Some(at) = rows.pop() {
            let name = |b: BufferId| kernel.buffer(b).name.clone();
            // The next block comes while rows go through this one.
            if let Some(of) = blocks {
                let (buffer, at, of, level) = (name(self.other), at.clone(), Some(of), Level::L2);
                out.push(Directive::Prefetch { buffer, at, ahead: 1, of, by: None, whole: true, level });
            }
            let (buffer, level) = (name(self.zero), Level::L1);
            out.push(Directive::Prefetch {
                buffer,
                at,
                ahead: AHEAD,
                of: None,
                by: None,
                whole: false,
                level,
            });
        }
        Schedule(out)
    }

    /// Cuts the sum into blocks, in the order in which the tile goes through it. Gives the loop that is skipped through, and that over blocks.
    fn blocks(
        &self,
        kernel: &Kernel,
        way: Way,
        extents: Extents,
        panels: String,
        out: &mut Vec<Directive>,
    ) -> (String, Option<String>) {
        let name = |f: &For| kernel.axis(f.axis).name.clone();
        let steps = name(self.steps);
        let blocked =
            |axis: String, factor: i64| Directive::Block { axis, factor, at: Some(panels), level: Level::L1 };
        let mut taps: Vec<String> = self.taps().map(name).collect();
        if taps.is_empty() {
            if extents.steps <= way.block {
                return (steps, None);
            }
            out.push(blocked(steps.clone(), way.block));
            return (format!("{steps}.1"), Some(format!("{steps}.0")));
        }
        let before: Vec<String> = self.summed.iter().map(|f| name(f)).collect();
        let order: Vec<String> = taps.iter().chain([&steps]).cloned().collect();
        if order != before {
            out.push(Directive::Reorder { axes: order });
        }
        if extents.taps == 1 && extents.steps <= way.block {
            return (steps, None);
        }
        // A block is a tap, or a part of one: what it reads of `x` lies side by side.
        let mut skipped = steps.clone();
        if extents.steps > way.block {
            let (axis, factor) = (steps.clone(), way.block);
            out.push(Directive::Split { axis, factor, tail: Tail::Exact });
            taps.push(format!("{steps}.0"));
            skipped = format!("{steps}.1");
        }
        let joined = match taps.as_slice() {
            [only] => only.clone(),
            _ => {
                let taken = |name: &String| kernel.axes.iter().any(|a| a.name == *name);
                let names = std::iter::successors(Some("taps".to_string()), |name| Some(format!("{name}_")));
                let joined = names.into_iter().find(|name| !taken(name)).unwrap_or_default();
                out.push(Directive::Join { axes: taps, joined: joined.clone() });
                joined
            }
        };
        let blocks = format!("{joined}.0");
        out.push(blocked(joined, 1));
        (skipped, Some(blocks))
    }

    /// Cuts rows into blocks such that a core alone takes little time, and a team of all cores, too: in rows, each member takes as many blocks as
    /// the one that has most.
    fn cut(&self, machine: &Machine, way: Way, extents: Extents) -> Cut {
        let Extents { columns, steps, taps, .. } = extents;
        let panels = columns / (way.vectors * LANES);
        // In as many rows' time a block of weights comes from where all of them are.
        let bytes = machine.lane_bytes.saturating_mul(columns).saturating_mul(steps).saturating_mul(taps);
        let rate = if bytes > machine.l2 { machine.memory_bytes_per_fma } else { machine.l2_bytes_per_fma };
        let bring = (((machine.lane_bytes * LANES) as f64 / rate / LEAST_PART) as i64).max(1);
        let mut inside = 1i64;
        for (at, f) in self.rows.iter().enumerate().rev() {
            let Some(count) = extent(f) else {
                return Cut { at, rows: (ROWS / inside).max(1) };
            };
            if at > 0 && inside.saturating_mul(count) <= ROWS {
                inside = inside.saturating_mul(count).max(1);
                continue;
            }
            let outside = self.rows[..at].iter().map(|f| extent(f).unwrap_or(1)).fold(1, i64::saturating_mul);
            let cores = machine.cores();
            let takes = |rows: i64, team: i64| {
                let blocks = outside.saturating_mul((count + rows - 1) / rows);
                let shares = blocks.saturating_mul(panels);
                let most = ((shares + team - 1) / team).saturating_mul(team) / panels;
                // Who has all rows reads those that others have written, too, once for all panels and taps.
                let strange = if blocks < team { count * inside * STRANGE / (panels * taps) } else { 0 };
                most.saturating_mul((rows * inside).max(bring) + ROWS_OF_BLOCK).saturating_add(strange)
            };
            let most = (2 * ROWS / inside).clamp(1, count.max(1));
            let least = (LEAST_ROWS / inside).clamp(1, most);
            let rows = (least..=most).min_by_key(|rows| takes(*rows, 1).saturating_add(takes(*rows, cores)));
            return Cut { at, rows: rows.unwrap_or(1) };
        }
        Cut { at: 0, rows: ROWS }
    }
}

//! How many bytes move between the levels of memory while a kernel runs.
//!
//! The bytes that a part of the kernel touches are boxes, one a buffer: the span of each index over the loops inside, in whole
//! lines. A part whose boxes fit into a cache brings each of them once. A loop that does not fit while its body does brings what its
//! iterations touch together; if the body does not fit either, it brings what the body brings, every time.

use super::outline::{Item, Loop, for_each_load, interval, outline, size};
use crate::buffer::{Buffer, BufferId};
use crate::expr::ExprId;
use crate::index::Index;
use crate::tree::{Kernel, Kind, StoreHint};
use lawson_graph::{Bindings, Result};

/// The bytes of a line.
const LINE: f64 = 64.0;

/// Bytes of one buffer, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moved {
    pub(super) read: f64,
    /// Through the caches: lines are brought first, and go back later.
    pub(super) written: f64,
    /// Past the caches.
    pub(super) streamed: f64,
}

impl Moved {
    pub(super) fn touched(&self) -> f64 {
        self.read + self.written
    }

    fn add(&mut self, other: Moved, times: f64) {
        self.read += other.read * times;
        self.written += other.written * times;
        self.streamed += other.streamed * times;
    }
}

/// How a buffer is touched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Read,
    Written,
    Streamed,
}

/// What a kernel touches of one argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    /// The first byte, and the one behind the last; that of the buffer if there is none.
    pub(super) first: usize,
    pub(super) end: Option<usize>,
    /// How many bytes of them, each once.
    pub(super) bytes: f64,
    /// Whether it is written past the caches.
    pub(super) streamed: bool,
}

/// What a part of the kernel touches of one buffer.
#[derive(Clone, Default)]
struct Touched {
    /// By dimension: the least and the greatest index.
    span: Vec<(i64, i64)>,
    /// Whether data decide where it is touched.
    anywhere: bool,
    /// The sum over all places that touch it.
    sum: Moved,
}

/// What is known of a buffer.
struct Extent {
    dims: Vec<i64>,
    bytes: f64,
    element: f64,
    /// The dimension along which elements lie side by side.
    dense: Option<usize>,
}

pub(super) struct Traffic<'k> {
    kernel: &'k Kernel,
    bindings: &'k Bindings,
    extents: Vec<Extent>,
    /// By axis: the values that it takes in the part that is looked at.
    axes: Vec<(i64, i64)>,
    /// Members that share the parallel loops.
    members: i64,
}

impl<'k> Traffic<'k> {
    pub(super) fn new(kernel: &'k Kernel, bindings: &'k Bindings, members: usize) -> Result<Traffic<'k>> {
        let mut extents = Vec::with_capacity(kernel.buffers.len());
        for b in &kernel.buffers {
            let mut dims = Vec::with_capacity(b.dims.len());
            for d in &b.dims {
                dims.push(size(d, bindings)?);
            }
            let element = b.dtype.bits() as f64 / 8.0;
            let bytes = size(&b.layout.size, bindings)?.max(0) as f64 * element;
            extents.push(Extent { dims, bytes, element, dense: dense(b) });
        }
        let axes = vec![(0, 0); kernel.axes.len()];
        Ok(Traffic { kernel, bindings, extents, axes, members: members.max(1) as i64 })
    }

    /// By buffer: what the whole kernel touches, each byte once.
    pub(super) fn once(&mut self, items: &[Item<'k>]) -> Vec<Moved> {
        self.footprint(items)
    }

    /// By argument: which bytes the whole kernel touches.
    fn reached(&mut self, items: &[Item<'k>]) -> Vec<Reached> {
        let mut touched: Vec<Option<Touched>> = vec![None; self.extents.len()];
        self.touch_all(items, &mut touched);
        let (kernel, bindings) = (self.kernel, self.bindings);
        let reached = |b: BufferId| {
            let extent = &self.extents[b.0 as usize];
            let Some(t) = &touched[b.0 as usize] else {
                return Reached { first: 0, end: Some(0), bytes: 0.0, streamed: false };
            };
            let range = if t.anywhere { None } else { range(kernel.buffer(b), &t.span, bindings) };
            let bytes = |elements: i64| (elements.max(0) as f64 * extent.element) as usize;
            Reached {
                first: range.map_or(0, |(first, _)| bytes(first)),
                end: range.map(|(_, last)| bytes(last.saturating_add(1))),
                bytes: volume(&t.span, extent),
                streamed: t.sum.streamed > 0.0,
            }
        };
        kernel.arguments().map(reached).collect()
    }

    /// By buffer: what moves into a cache of so many bytes.
    pub(super) fn moved(&mut self, items: &[Item<'k>], capacity: f64) -> Vec<Moved> {
        let whole = self.footprint(items);
        if total(&whole) <= capacity {
            return whole;
        }
        let mut sum = vec![Moved::default(); self.extents.len()];
        for item in items {
            let part = match item {
                Item::Loop(l) => self.repeated(l, capacity),
                Item::Accumulate { items, .. } => self.moved(items, capacity),
                Item::Step { .. } | Item::Store(_) => self.footprint(std::slice::from_ref(item)),
            };
            for (to, from) in sum.iter_mut().zip(part) {
                to.add(from, 1.0);
            }
        }
        sum
    }

    fn repeated(&mut self, l: &Loop<'k>, capacity: f64) -> Vec<Moved> {
        let outside = self.axes[l.axis.0 as usize];
        // All iterations of these happen together.
        let together = matches!(l.kind, Kind::Jam | Kind::Vector(_));
        let trips = self.share(l);
        self.axes[l.axis.0 as usize] = if together { l.span(l.trips) } else { l.span(1) };
        let members = self.members;
        self.members = remaining(members, l);
        let body = self.footprint(&l.items);
        let moved = if !together && total(&body) <= capacity {
            self.axes[l.axis.0 as usize] = l.span(trips);
            self.footprint(&l.items)
        } else {
            let mut each = self.moved(&l.items, capacity);
            if !together {
                let times = l.mean * trips as f64 / l.trips.max(1) as f64;
                each.iter_mut().for_each(|m| {
                    let one = std::mem::take(m);
                    m.add(one, times);
                });
            }
            each
        };
        self.members = members;
        self.axes[l.axis.0 as usize] = outside;
        moved
    }

    /// The iterations of a loop that one member runs.
    fn share(&self, l: &Loop<'k>) -> i64 {
        match l.kind {
            Kind::Parallel => {
                l.trips.div_euclid(self.members).max(1)
                    + i64::from(l.trips % self.members != 0 && l.trips > self.members)
            }
            _ => l.trips,
        }
    }

    /// By buffer: the bytes that a part touches.
    fn footprint(&mut self, items: &[Item<'k>]) -> Vec<Moved> {
        let mut touched: Vec<Option<Touched>> = vec![None; self.extents.len()];
        self.touch_all(items, &mut touched);
        let moved = |(t, e): (Option<Touched>, &Extent)| {
            let Some(t) = t else { return Moved::default() };
            // Places that touch the same bytes count once.
            let whole = volume(&t.span, e);
            let (all, sum) = (t.sum.touched() + t.sum.streamed, t.sum);
            let scale = if all > 0.0 { (whole / all).min(1.0) } else { 0.0 };
            Moved { read: sum.read * scale, written: sum.written * scale, streamed: sum.streamed * scale }
        };
        touched.into_iter().zip(&self.extents).map(moved).collect()
    }

    fn touch_all(&mut self, items: &[Item<'k>], touched: &mut [Option<Touched>]) {
        let mut seen: Vec<ExprId> = Vec::new();
        for item in items {
            match item {
                Item::Loop(l) => {
                    let outside = self.axes[l.axis.0 as usize];
                    self.axes[l.axis.0 as usize] = l.span(self.share(l));
                    let members = self.members;
                    self.members = remaining(members, l);
                    self.touch_all(&l.items, touched);
                    self.members = members;
                    self.axes[l.axis.0 as usize] = outside;
                }
                Item::Accumulate { items, .. } => self.touch_all(items, touched),
                Item::Step { values, .. } => self.loads(values, &mut seen, touched),
                Item::Store(store) => {
                    self.loads(&[store.value], &mut seen, touched);
                    let way = match store.hint {
                        StoreHint::Keep => Way::Written,
                        StoreHint::Stream => Way::Streamed,
                    };
                    self.touch(store.buffer, &store.index, way, touched);
                }
            }
        }
    }

    fn loads(&self, values: &[ExprId], seen: &mut Vec<ExprId>, touched: &mut [Option<Touched>]) {
        for_each_load(self.kernel, values, seen, &mut |load| {
            self.touch(load.buffer, &load.index, Way::Read, touched);
        });
    }

    fn touch(&self, buffer: BufferId, index: &[Index], way: Way, touched: &mut [Option<Touched>]) {
        let extent = &self.extents[buffer.0 as usize];
        let span: Vec<(i64, i64)> = index
            .iter()
            .zip(&extent.dims)
            .map(|(i, n)| {
                let (lo, hi) = self.interval(i);
                let most = (n - 1).max(0);
                (lo.clamp(0, most), hi.clamp(0, most))
            })
            .collect();
        let bytes = volume(&span, extent);
        let entry = touched[buffer.0 as usize]
            .get_or_insert_with(|| Touched { span: span.clone(), ..Touched::default() });
        for (a, b) in entry.span.iter_mut().zip(&span) {
            *a = (a.0.min(b.0), a.1.max(b.1));
        }
        entry.anywhere |= index.iter().any(Index::has_data);
        match way {
            Way::Read => entry.sum.read += bytes,
            Way::Written => entry.sum.written += bytes,
            Way::Streamed => entry.sum.streamed += bytes,
        }
    }

    /// The values that an index takes over the loops of the part that is looked at.
    fn interval(&self, index: &Index) -> (i64, i64) {
        interval(self.kernel, self.bindings, &self.axes, index)
    }
}

/// By argument: which bytes a kernel touches.
pub(super) fn touches(kernel: &Kernel, bindings: &Bindings) -> Result<Vec<Reached>> {
    let items = outline(kernel, bindings)?;
    Ok(Traffic::new(kernel, bindings, 1)?.reached(&items))
}

/// The first and the last element of a box.
fn range(buffer: &Buffer, span: &[(i64, i64)], bindings: &Bindings) -> Option<(i64, i64)> {
    let (mut first, mut last) = (0i64, 0i64);
    for digit in &buffer.layout.digits {
        let (lo, hi) = span.get(digit.dim)?;
        let (lo, hi) = (lo.div_euclid(digit.divide.max(1)), hi.div_euclid(digit.divide.max(1)));
        let (lo, hi) = match digit.modulo {
            Some(m) if lo.div_euclid(m.max(1)) != hi.div_euclid(m.max(1)) => (0, m - 1),
            Some(m) => (lo.rem_euclid(m.max(1)), hi.rem_euclid(m.max(1))),
            None => (lo, hi),
        };
        let stride = size(&digit.stride, bindings).ok()?;
        first = first.checked_add(lo.checked_mul(stride)?)?;
        last = last.checked_add(hi.checked_mul(stride)?)?;
    }
    Some((first, last))
}

/// Members that are left to share the loops inside.
fn remaining(members: i64, l: &Loop<'_>) -> i64 {
    match l.kind {
        Kind::Parallel => (members + l.trips - 1).div_euclid(l.trips.max(1)).max(1),
        _ => members,
    }
}

fn total(moved: &[Moved]) -> f64 {
    moved.iter().map(Moved::touched).sum()
}

/// The dimension along which elements lie side by side.
fn dense(buffer: &Buffer) -> Option<usize> {
    buffer.layout.digits.iter().find(|d| d.stride.is(1)).map(|d| d.dim)
}

/// The bytes of a box, in whole lines along the dense dimension; at most those of the buffer.
fn volume(span: &[(i64, i64)], extent: &Extent) -> f64 {
    let mut bytes = extent.element;
    for (d, (lo, hi)) in span.iter().enumerate() {
        let count = (hi - lo + 1).max(0) as f64;
        bytes *= match extent.dense == Some(d) {
            true => {
                let run = count * extent.element;
                // A stretch begins anywhere in a line.
                if run < LINE && extent.dims[d] as f64 * extent.element > run {
                    (LINE + run) / 2.0 / extent.element
                } else {
                    count
                }
            }
            false => count,
        };
    }
    bytes.min(extent.bytes)
}

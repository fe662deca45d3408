//! How the members of a device share the work of a kernel: chosen from the kernel's shape and what the device can do.
//!
//! The kernel's own loops say which iterations are independent; a strategy says who does them. [`Strategy::Each`] gives every iteration
//! of the parallel loops to one member. [`Strategy::Rows`] gives each to a workgroup, whose members share the loops
//! inside and merge what they have accumulated (`rows.rs`). [`Strategy::Tiles`] gives a workgroup a tile of a sum of products,
//! whose factors it keeps in workgroup memory and whose sums lie in registers (`tiles.rs`). [`Strategy::Chain`] gives it a block of rows
//! that goes through several products (`chain.rs`).

use crate::chain::{Chain, chain};
use crate::lower::Segment;
use crate::matrices::{self, Matrices};
use crate::opcode::{Binding, Capabilities, Word};
use crate::quads::{buffers, check_quads, inputs_by_fours, is_flat};
use lawson_kernel::products::{Products, nest};
use lawson_kernel::{AccId, Atom, AxisId, BufferId, Expr, ExprId, For, Index, Kernel, Node};
use std::collections::BTreeSet;

/// Who does what.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Strategy {
    /// Every iteration is one member's.
    Each,
    /// Every four iterations along an axis are one member's, which reads and writes these buffers by fours.
    Quads { axis: AxisId, buffers: BTreeSet<BufferId> },
    /// Every iteration is a workgroup's, of so many members; where the loops that they share go by fours, with the buffers that are read and
    /// written so.
    Rows { members: u32, fours: Option<BTreeSet<BufferId>> },
    /// Tiles of a sum of products.
    Tiles(Tiles),
    /// Blocks of rows that go through a chain of products.
    Chain(Chain),
}

impl Strategy {
    /// The buffers that are read and written by fours.
    pub(crate) fn quads(&self) -> &BTreeSet<BufferId> {
        static NONE: BTreeSet<BufferId> = BTreeSet::new();
        match self {
            Strategy::Quads { buffers, .. } | Strategy::Rows { fours: Some(buffers), .. } => buffers,
            Strategy::Chain(chain) => &chain.quads,
            Strategy::Tiles(tiles) => &tiles.quads,
            _ => &NONE,
        }
    }
}

impl Strategy {
    /// Whether a buffer of floats of 16 bits is read and written as such.
    pub(crate) fn has_halves(&self, buffer: BufferId) -> bool {
        matches!(self, Strategy::Tiles(Tiles { matrices: Some(m), .. }) if m.halves.contains(&buffer))
    }
}

/// A sum of products by tiles.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tiles {
    /// The loop over rows of the tile, on which the first factor depends, and that over its columns, on which the second does.
    pub(crate) m: AxisId,
    pub(crate) n: AxisId,
    /// The innermost loop of the sum.
    pub(crate) k: AxisId,
    /// The factors.
    pub(crate) factors: [ExprId; 2],
    pub(crate) acc: AccId,
    pub(crate) shape: Shape,
    /// For each factor, whether neighbours along the sum lie side by side in memory.
    pub(crate) along_sum: [bool; 2],
    /// For each factor, whether it is read by fours, and which buffers are.
    pub(crate) fours: [bool; 2],
    pub(crate) quads: BTreeSet<BufferId>,
    /// Whether subgroups multiply matrices.
    pub(crate) matrices: Option<Matrices>,
}

/// How large a tile is, and what of it a member has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Rows, columns, and how much of the sum is in workgroup memory at once.
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    pub(crate) depth: u32,
    /// Rows and columns of one member; multiples of 4.
    pub(crate) own_rows: u32,
    pub(crate) own_columns: u32,
    /// Into how many shares the sum is split, each of which has members of its own.
    pub(crate) shares: u32,
    /// How many members have such rows and columns together: one, or a subgroup that multiplies matrices.
    pub(crate) together: u32,
}

impl Shape {
    pub(crate) const fn new(rows: u32, columns: u32, depth: u32, own_rows: u32, own_columns: u32) -> Shape {
        Shape { rows, columns, depth, own_rows, own_columns, shares: 1, together: 1 }
    }

    /// How many tiles of this shape a result of so many rows and columns has.
    pub(crate) fn count(self, rows: i64, columns: i64) -> i64 {
        let tiles = |size: i64, of: u32| (size + i64::from(of) - 1) / i64::from(of);
        tiles(rows, self.rows) * tiles(columns, self.columns)
    }

    /// The same, by so many shares of the sum.
    const fn shared(self, shares: u32) -> Shape {
        Shape { shares, ..self }
    }

    /// How many members have a share of the sum.
    pub(crate) fn members_of_share(self) -> u32 {
        (self.rows / self.own_rows) * (self.columns / self.own_columns) * self.together
    }

    /// How many members share it.
    pub(crate) fn members(self) -> u32 {
        self.members_of_share() * self.shares
    }

    /// Elements of the shares' sums, where there are several.
    pub(crate) fn partial(self) -> u32 {
        if self.shares > 1 { self.rows * self.columns * self.shares } else { 0 }
    }

    /// Quads of four numbers in a line of a factor of so many rows or columns: one more than needed, so that lines begin in
    /// different banks.
    pub(crate) fn line(of: u32) -> u32 {
        of / 4 + 1
    }

    /// Where the first or the second half of a factor's memory begins, in quads.
    pub(crate) fn half(self, half: &Word, lines: u32) -> Word {
        let quads = i64::from(Shape::line(lines) * self.depth);
        half.clone().times(quads)
    }

    /// Bytes of workgroup memory: two parts of each factor, of which one is summed while the other is filled.
    fn bytes(self) -> u32 {
        (Shape::line(self.rows) + Shape::line(self.columns)) * self.depth * 32 + self.partial() * 4
    }
}

/// Tiles, the largest first, and how many of them keep a large device busy. Many tiles at work hide what one waits for, so that the parts of
/// their sums may be short.
const SHAPES: [(Shape, i64); 5] = [
    (Shape::new(64, 128, 8, 8, 8), 400),
    (Shape::new(64, 128, 16, 8, 8), 100),
    (Shape::new(64, 64, 16, 4, 4), 200),
    (Shape::new(32, 64, 16, 4, 4), 200),
    (Shape::new(32, 32, 16, 4, 4), 200),
];
/// The tile for results of any size.
const ANY: usize = 2;

/// Tiles for results so small that there are too few of any to keep a device busy: members share the sums too. The last are for the smallest
/// results.
const SHARED_SHAPES: [Shape; 3] = [
    Shape::new(16, 32, 64, 4, 4).shared(8),
    Shape::new(16, 16, 32, 4, 4).shared(8),
    Shape::new(16, 16, 64, 4, 4).shared(16),
];

/// So many tiles keep a large device busy where members share sums.
const ENOUGH_SHARED: i64 = 48;
/// Shorter sums are not worth sharing.
const LEAST_SHARED_SUM: i64 = 64;
/// A member keeps at most so many fours of a row, and better no more than so many.
const MOST_FOURS: i64 = 8;
const GOOD_FOURS: i64 = 4;
/// Shorter sums are one member's.
const LEAST_ROW: i64 = 64;
/// So many rows keep a device busy without workgroups for each.
const MANY_ROWS: i64 = 64 << 10;

/// The strategy for a kernel of one launch.
pub(crate) fn strategy(
    kernel: &Kernel,
    segments: &[Segment<'_>],
    capabilities: &Capabilities,
    binding: &Binding,
) -> Strategy {
    // Memory that is bound in two ways, or in parts, is looked at element by element.
    let whole = !binding.based.iter().any(|b| *b) && binding.shared.iter().all(Option::is_none);
    if let ([Segment::Parallel(loops, _)], Some(chain)) = (segments, chain(kernel, capabilities, whole))
        && loops.len() == 1
    {
        return Strategy::Chain(chain);
    }
    let (chain, inner) = match segments {
        [Segment::Parallel(chain, inner)] => (chain.as_slice(), *inner),
        [Segment::Alone(inner)] => (&[][..], *inner),
        _ => return Strategy::Each,
    };
    if let Some(tiles) = tiles(kernel, chain, inner, capabilities, whole) {
        return Strategy::Tiles(tiles);
    }
    if rows(kernel, chain, inner) {
        return by_rows(kernel, inner, capabilities, whole);
    }
    match by_quads(kernel, chain, inner).filter(|_| whole) {
        Some(strategy) => strategy,
        None => Strategy::Each,
    }
}

/// Elementwise work by fours.
fn by_quads(kernel: &Kernel, chain: &[&For], inner: &[Node]) -> Option<Strategy> {
    let f = chain.last()?;
    let fits = f.plain_extent().is_some_and(|n| n % 4 == 0 && n > 0);
    if !fits || !inner.iter().all(|n| matches!(n, Node::Store(_))) {
        return None;
    }
    let buffers = buffers(kernel, &BTreeSet::from([f.axis]));
    let stored = |n: &Node| matches!(n, Node::Store(s) if buffers.contains(&s.buffer));
    inner.iter().any(stored).then_some(Strategy::Quads { axis: f.axis, buffers })
}

/// Rows of workgroups, by fours where all that members share goes by fours.
fn by_rows(kernel: &Kernel, inner: &[Node], capabilities: &Capabilities, whole: bool) -> Strategy {
    let most = 256.min(capabilities.max_members);
    let mut shared = Vec::new();
    let flat = shared_loops(inner, &mut shared);
    let extent = shared.first().and_then(|f| f.plain_extent());
    let same = shared.iter().all(|f| f.plain_extent() == extent);
    let fits = |members: u32, fours: i64| {
        let all = 4 * i64::from(members);
        extent.is_some_and(|n| n % all == 0 && (1..=fours).contains(&(n / all)))
    };
    let least = capabilities.subgroup.unwrap_or(32).max(32);
    // The fewer members, the less they have to merge.
    let fewest = |fours: i64| (1..=most / least).map(|n| n * least).find(|m| fits(*m, fours));
    let members = fewest(GOOD_FOURS).or_else(|| fewest(MOST_FOURS));
    match members.filter(|_| whole && flat && same) {
        Some(members) => {
            let axes = shared.iter().map(|f| f.axis).collect();
            Strategy::Rows { members, fours: Some(buffers(kernel, &axes)) }
        }
        None => Strategy::Rows { members: most, fours: None },
    }
}

/// The loops that members of a workgroup share, which are the innermost ones; whether each is stores and steps alone, and nothing
/// else stands between them.
fn shared_loops<'k>(nodes: &'k [Node], found: &mut Vec<&'k For>) -> bool {
    nodes.iter().all(|node| match node {
        Node::For(f) if is_flat(&f.body) => {
            found.push(f);
            true
        }
        Node::Accumulate { body, .. } => match body.as_slice() {
            [Node::For(f)] if is_flat(&f.body) => {
                found.push(f);
                true
            }
            _ => false,
        },
        Node::Prefetch { .. } => true,
        _ => false,
    })
}

fn extent(f: &For) -> Option<i64> {
    Some((f.end.as_const()? - f.begin.as_const()? + f.step - 1).div_euclid(f.step).max(0))
}

/// The axes that an expression depends on, and the offsets of what it loads.
fn depends(kernel: &Kernel, root: ExprId) -> (BTreeSet<AxisId>, Vec<Index>) {
    let mut offsets = Vec::new();
    kernel.visit_below(&[root], &mut |_, e| {
        if let Expr::Load(l) = e {
            offsets.push(kernel.resolve(&kernel.buffer(l.buffer).layout.offset(&l.index)));
        }
    });
    (kernel.axes_of(root), offsets)
}

/// Whether neighbours along an axis lie side by side.
fn is_dense(offsets: &[Index], axis: AxisId) -> bool {
    let along =
        |i: &Index| i.terms().iter().any(|(a, c)| matches!(a, Atom::Axis(x) if *x == axis) && c.is(1));
    offsets.iter().any(along)
}

fn tiles(
    kernel: &Kernel,
    chain: &[&For],
    inner: &[Node],
    capabilities: &Capabilities,
    whole: bool,
) -> Option<Tiles> {
    let Products { acc, loops: sums, mut factors, stores } = kernel.products(inner)?;
    let k = sums.last()?;
    // Bounds of loops that depend on the tile would differ from member to member.
    let fixed = |f: &&&For| f.begin.is(0) && f.step == 1 && f.end.as_dim().is_some();
    if !chain.iter().chain(&sums).all(|f| fixed(&f)) {
        return None;
    }
    let mut found = factors.map(|f| depends(kernel, f));
    if !found.iter().all(|(axes, _)| axes.contains(&k.axis)) {
        return None;
    }
    let alone = |axis: AxisId, in_: usize, found: &[(BTreeSet<AxisId>, Vec<Index>); 2]| {
        found[in_].0.contains(&axis) && !found[1 - in_].0.contains(&axis)
    };
    // Columns are the innermost loop over the result that is one factor's alone.
    let n = chain.iter().rev().find(|f| alone(f.axis, 0, &found) || alone(f.axis, 1, &found))?;
    if alone(n.axis, 0, &found) {
        factors.swap(0, 1);
        found.swap(0, 1);
    }
    let size = |f: &For| extent(f).unwrap_or(64);
    let m = chain.iter().filter(|f| alone(f.axis, 0, &found)).max_by_key(|f| size(f))?;
    let others: i64 =
        chain.iter().filter(|f| f.axis != m.axis && f.axis != n.axis).map(|f| size(f)).product();
    let (rows, columns) = (size(m), size(n));
    if rows < 8 || columns < 8 || extent(k).is_some_and(|k| k < 4) {
        return None;
    }
    let fits =
        |s: &&Shape| s.bytes() <= capabilities.workgroup_memory && s.members() <= capabilities.max_members;
    let count = |s: &Shape| s.count(rows, columns) * others;
    let known = extent(m).is_some() && extent(n).is_some();
    let matrices = matrices::of(kernel, acc, &factors, capabilities);
    let long = sums.iter().map(|f| extent(f)).product::<Option<i64>>().is_some_and(|k| k >= LEAST_SHARED_SUM);
    let shared = || {
        let fitting = || SHARED_SHAPES.iter().filter(fits).filter(|_| long);
        fitting().find(|s| count(s) >= ENOUGH_SHARED).or_else(|| fitting().next_back())
    };
    let shape = match known {
        _ if matrices.is_some() => matrices::shape(capabilities, &|s| if known { count(s) } else { 0 }),
        true => {
            let enough = SHAPES.iter().filter(|(s, _)| fits(&s)).find(|(s, least)| count(s) >= *least);
            let smallest = || SHAPES.iter().map(|(s, _)| s).rfind(fits);
            enough.map(|(s, _)| s).or_else(shared).or_else(smallest)
        }
        false => SHAPES[ANY..].iter().map(|(s, _)| s).find(fits),
    };
    let shape = *shape?;
    let along_sum = [0, 1].map(|i| is_dense(&found[i].1, k.axis));
    let mut quads = inputs_by_fours(kernel, whole);
    if let Some(mut matrices) = matrices {
        let dense = [m, n].into_iter().zip(along_sum).map(|(line, along)| if along { *k } else { *line });
        let dense: Vec<&For> = dense.collect();
        matrices.choose(kernel, (&factors, &dense), (stores, n), capabilities, &mut quads);
        let fours = factors.map(|f| kernel.reads_of(f).iter().any(|b| quads.contains(b)));
        let (m, n, k, matrices) = (m.axis, n.axis, k.axis, Some(matrices));
        return Some(Tiles { m, n, k, factors, acc, shape, along_sum, fours, quads, matrices });
    }
    for (side, line) in [m, n].into_iter().enumerate() {
        let along = if along_sum[side] { k } else { line };
        // Four neighbours are inside, or none of them is.
        let whole = [along, line].iter().all(|f| f.plain_extent().is_some_and(|n| n % 4 == 0));
        // Members turn four lines by four terms round: all of them, or it takes longer than it saves.
        let lines = if side == 0 { shape.rows } else { shape.columns };
        let even = !along_sum[side] || (lines / 4 * shape.depth / 4).is_multiple_of(shape.members());
        match whole && even {
            true => check_quads(kernel, factors[side], along.axis, &mut quads),
            false => quads.retain(|b| !kernel.reads_of(factors[side]).contains(b)),
        }
    }
    for value in stores.iter().filter_map(|s| if let Node::Store(s) = s { Some(s.value) } else { None }) {
        quads.retain(|b| !kernel.reads_of(value).contains(b));
    }
    let fours = factors.map(|f| kernel.reads_of(f).iter().any(|b| quads.contains(b)));
    let (m, n, k) = (m.axis, n.axis, k.axis);
    Some(Tiles { m, n, k, factors, acc, shape, along_sum, fours, quads, matrices: None })
}

/// Whether rows are long and few enough for a workgroup each.
fn rows(kernel: &Kernel, chain: &[&For], inner: &[Node]) -> bool {
    let mut long = false;
    for node in inner {
        let Node::Accumulate { acc, body } = node else { continue };
        if kernel.acc(*acc).merge.is_none() {
            return false;
        }
        let (loops, leaves) = nest(body);
        let Some(f) = loops.last() else { continue };
        let values = leaves.iter().filter_map(|n| match n {
            Node::Step { values, .. } => Some(values),
            _ => None,
        });
        let dense = values.flatten().any(|v| is_dense(&depends(kernel, *v).1, f.axis));
        let length: Option<i64> = loops.iter().map(|f| extent(f)).product();
        let count: Option<i64> = chain.iter().map(|f| extent(f)).product();
        let few = count.is_none_or(|n| n < MANY_ROWS);
        long |= length.is_none_or(|n| n >= LEAST_ROW)
            && (dense || count.is_some_and(|n| n < 1024))
            && (few || dense);
    }
    long
}

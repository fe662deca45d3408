//! Moving the elements of a box: loops that have a stride in the tensor and one in the result each.
//!
//! What matters is which loop is dense where. If one is dense in both, runs are copied. Otherwise rows of the tensor become
//! columns of the result, tile by tile: a tile is read along the tensor and written along the result, so that both sides
//! move whole lines of the cache, whatever lies between. Loops that follow each other in the tensor make one row,
//! so that a row is long even where its last dimension is short (the windows of a convolution's weights).

/// Loops around one element, in no order.
#[derive(Debug, Clone, Default)]
pub(super) struct Nest {
    /// Where the first element lies in the tensor and in the result.
    pub source: usize,
    pub place: usize,
    pub loops: Vec<Loop>,
}

/// A loop: how often it runs, and how far apart its elements lie in the tensor and in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loop {
    pub count: usize,
    pub source: usize,
    pub place: usize,
}

/// The sides of a tile: a line of the cache, in bytes and in words, and rows such that what is read and what is written fit
/// into the first-level cache.
const LINE: usize = 64;
const WORDS: usize = LINE / 8;
const ROWS: usize = 64;

/// How many runs of each row are copied before the next row: few enough that their targets are written side by side.
const RUNS: usize = 32;

impl Nest {
    /// How many elements it has.
    pub fn elements(&self) -> usize {
        self.loops.iter().map(|l| l.count).product()
    }

    /// Inside this one, another.
    pub fn with(&self, inner: &Nest) -> Nest {
        let loops = self.loops.iter().chain(&inner.loops).copied().collect();
        Nest { source: self.source + inner.source, place: self.place + inner.place, loops }
    }

    /// With as few loops as do the same, the densest in the tensor first.
    pub fn merged(&self) -> Nest {
        let mut loops: Vec<Loop> = self.loops.iter().copied().filter(|l| l.count != 1).collect();
        loops.sort_by_key(|l| l.source);
        let mut merged: Vec<Loop> = Vec::with_capacity(loops.len());
        for l in loops {
            match merged.last_mut() {
                Some(m) if l.source == m.source * m.count && l.place == m.place * m.count => {
                    m.count *= l.count
                }
                _ => merged.push(l),
            }
        }
        Nest { loops: merged, ..*self }
    }

    /// Whether a merged nest is one run, at the same place in both.
    pub fn is_run(&self) -> bool {
        self.source == self.place
            && match self.loops.as_slice() {
                [] => true,
                [l] => l.source == 1 && l.place == 1,
                _ => false,
            }
    }

    /// Moves the elements; the nest must be merged.
    pub fn copy<const W: usize>(mut self, from: &[[u8; W]], to: &mut [[u8; W]]) {
        let densest = (0..self.loops.len()).min_by_key(|i| self.loops[*i].place);
        let Some(densest) = densest.map(|i| self.loops.remove(i)) else {
            to[self.place] = from[self.source];
            return;
        };
        let runs = densest.source == 1 && densest.place == 1;
        // The loops that follow each other in the tensor without gaps, after the run or from its last dimension on.
        let mut row = Vec::new();
        let mut next = if runs { densest.count } else { 1 };
        self.loops.retain(|l| {
            let follows = l.source == next;
            if follows {
                next *= l.count;
                row.push(*l);
            }
            !follows
        });
        let mut row = Places::new(&row);
        self.loops.sort_by_key(|l| std::cmp::Reverse(l.place));
        if runs {
            let between = self.loops.pop().unwrap_or(Loop { count: 1, source: 0, place: 0 });
            let length = densest.count;
            each(&self.loops, self.source, self.place, &mut |source, place| {
                copy_runs(&mut row, between, length, &from[source..], &mut to[place..]);
            });
        } else {
            each(&self.loops, self.source, self.place, &mut |source, place| {
                turn(&mut row, densest, &from[source..], &mut to[place..]);
            });
        }
    }
}

/// Calls `visit` with where each iteration of the loops is, the first loop being the outermost.
fn each(loops: &[Loop], source: usize, place: usize, visit: &mut impl FnMut(usize, usize)) {
    match loops {
        [] => visit(source, place),
        [first, rest @ ..] => {
            for i in 0..first.count {
                each(rest, source + i * first.source, place + i * first.place, visit);
            }
        }
    }
}

/// Copies runs, a few of each row at a time: the next row's go beside them.
fn copy_runs<const W: usize>(
    row: &mut Places<'_>,
    between: Loop,
    length: usize,
    from: &[[u8; W]],
    to: &mut [[u8; W]],
) {
    let mut some = [0; RUNS];
    let mut start = 0;
    loop {
        let count = row.next(&mut some);
        if count == 0 {
            return;
        }
        for i in 0..between.count {
            let runs = from[i * between.source + start * length..].chunks_exact(length);
            for (run, place) in runs.zip(&some[..count]) {
                to[i * between.place + place..][..length].copy_from_slice(run);
            }
        }
        start += count;
    }
}

/// Rows of the tensor become columns of the result. The rows are those of `column`; elements of a row follow each other.
fn turn<const W: usize>(row: &mut Places<'_>, column: Loop, from: &[[u8; W]], to: &mut [[u8; W]]) {
    let (from, to) = (from.as_flattened(), to.as_flattened_mut());
    let mut tile = [[0u64; WORDS]; ROWS];
    for first in (0..column.count).step_by(ROWS) {
        let height = ROWS.min(column.count - first);
        let mut some = [0; LINE];
        let mut start = 0;
        loop {
            let width = row.next(&mut some[..LINE / W]);
            if width == 0 {
                break;
            }
            for (i, line) in tile[..height].iter_mut().enumerate() {
                let read = &from[((first + i) * column.source + start) * W..];
                // More than is needed may be read: that takes a few instructions, fewer elements many.
                let mut rest = [0; LINE];
                let bytes = read.first_chunk::<LINE>().unwrap_or_else(|| {
                    rest[..width * W].copy_from_slice(&read[..width * W]);
                    &rest
                });
                let words = bytes.as_chunks::<8>().0;
                line.iter_mut().zip(words).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
            }
            write_columns::<W>(&tile[..height], first, column.place, &some[..width], to);
            start += width;
        }
    }
}

/// Writes the columns of a tile, each to its place, beginning with its element `first`.
fn write_columns<const W: usize>(
    tile: &[[u64; WORDS]],
    first: usize,
    stride: usize,
    places: &[usize],
    to: &mut [u8],
) {
    if stride == 1 && W < 4 {
        return write_squares::<W>(tile, first, places, to);
    }
    let element = |line: &[u64; WORDS], j: usize| (line[j * W / 8] >> (j * W % 8 * 8)).to_le_bytes();
    for (j, place) in places.iter().enumerate() {
        if stride == 1 {
            let target = &mut to[(place + first) * W..][..tile.len() * W];
            for (target, line) in target.chunks_exact_mut(W).zip(tile) {
                target.copy_from_slice(&element(line, j)[..W]);
            }
        } else {
            for (i, line) in tile.iter().enumerate() {
                let target = &mut to[(place + (first + i) * stride) * W..][..W];
                target.copy_from_slice(&element(line, j)[..W]);
            }
        }
    }
}

/// The same for narrow elements that are neighbours in the result: eight bytes at a time.
fn write_squares<const W: usize>(tile: &[[u64; WORDS]], first: usize, places: &[usize], to: &mut [u8]) {
    let side = 8 / W;
    for (k, places) in places.chunks(side).enumerate() {
        for (n, rows) in tile.chunks(side).enumerate() {
            let mut square = [0u64; 8];
            rows.iter().zip(&mut square).for_each(|(row, word)| *word = row[k]);
            transpose::<W>(&mut square);
            for (place, word) in places.iter().zip(square) {
                let target = &mut to[(place + first + n * side) * W..];
                let bytes = word.to_le_bytes();
                match target.first_chunk_mut::<8>() {
                    Some(target) if rows.len() == side => *target = bytes,
                    _ => target[..rows.len() * W].copy_from_slice(&bytes[..rows.len() * W]),
                }
            }
        }
    }
}

/// Transposes a square of elements of which eight bytes are a row: swaps halves, then halves of halves.
#[inline(always)]
fn transpose<const W: usize>(rows: &mut [u64; 8]) {
    let side = 8 / W;
    let mut half = side / 2;
    while half > 0 {
        let bits = (half * W * 8) as u32;
        // The lower half of every pair of halves.
        let low = u64::MAX / ((1 << bits) + 1);
        for i in (0..side).filter(|i| i & half == 0) {
            let (a, b) = (rows[i], rows[i + half]);
            rows[i] = a & low | (b & low) << bits;
            rows[i + half] = a >> bits & low | b & !low;
        }
        half /= 2;
    }
}

/// The places of a row's elements, in order, again and again.
struct Places<'l> {
    row: &'l [Loop],
    /// How far each loop has come, and the place of the next element; none at the end of the row.
    at: Vec<usize>,
    next: Option<usize>,
}

impl Places<'_> {
    fn new(row: &[Loop]) -> Places<'_> {
        Places { row, at: vec![0; row.len()], next: Some(0) }
    }

    /// Writes the places of the next elements, as many as there is room for; says how many. None means that the row is over,
    /// and what follows is its beginning.
    fn next(&mut self, places: &mut [usize]) -> usize {
        if self.next.is_none() {
            self.next = Some(0);
            return 0;
        }
        for (i, place) in places.iter_mut().enumerate() {
            let Some(now) = self.next else { return i };
            *place = now;
            self.next = None;
            let mut next = now;
            for (l, at) in self.row.iter().zip(&mut self.at) {
                *at += 1;
                next += l.place;
                if *at < l.count {
                    self.next = Some(next);
                    break;
                }
                next -= l.count * l.place;
                *at = 0;
            }
        }
        places.len()
    }
}

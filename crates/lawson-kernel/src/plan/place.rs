//! Places for blocks of memory that live for a while: as close together as a few orders of placing them allow.
//!
//! In: blocks with sizes and lives. Out: where each begins. Blocks go one after another to the lowest free place; which order
//! is best differs, so several are tried: by size, by size and life, by how much is alive with them; then blocks, above all those that
//! stick out, are moved towards the front of the best order, as long as that does not harm.

use super::arena::Life;
use lawson_graph::random::Rng;

/// Blocks begin at multiples of this.
const ALIGN: usize = 64;

/// How many pairs of blocks may be looked at.
const EFFORT: usize = 4 << 20;

/// How many orders may be tried after the first ones.
const TRIES: usize = 400;

/// Memory that is needed for a while.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) bytes: usize,
    pub(super) life: Life,
}

/// Where blocks lie.
pub(super) struct Packed {
    pub(super) offsets: Vec<usize>,
    /// One past the last byte.
    pub(super) size: usize,
    /// The most bytes that are needed at once.
    pub(super) needed: usize,
}

impl Block {
    pub(super) fn extend(&mut self, life: Life) {
        self.life = (self.life.0.min(life.0), self.life.1.max(life.1));
    }

    fn meets(&self, other: &Block) -> bool {
        self.life.0 <= other.life.1 && other.life.0 <= self.life.1
    }
}

/// Places blocks; nothing if they do not fit any memory.
pub(super) fn pack(blocks: &[Block]) -> Option<Packed> {
    // So that what is needed and what is taken are counted alike.
    let rounded = |b: &Block| Some(Block { bytes: b.bytes.checked_next_multiple_of(ALIGN)?, ..*b });
    let blocks: &[Block] = &blocks.iter().map(rounded).collect::<Option<Vec<Block>>>()?;
    let alive = alive(blocks)?;
    let needed = alive.iter().copied().max().unwrap_or(0);
    // How much is alive at the fullest phase of each block.
    let pressure: Vec<usize> =
        blocks.iter().map(|b| alive[b.life.0..=b.life.1].iter().copied().max().unwrap_or(0)).collect();
    let length = |b: &Block| b.life.1 - b.life.0 + 1;
    let by = |key: &dyn Fn(usize) -> (usize, usize)| {
        let mut order: Vec<usize> = (0..blocks.len()).collect();
        order.sort_by_key(|n| std::cmp::Reverse(key(*n)));
        order
    };
    let orders = [
        by(&|n| (blocks[n].bytes, length(&blocks[n]))),
        by(&|n| (pressure[n], blocks[n].bytes)),
        by(&|n| (length(&blocks[n]).saturating_mul(blocks[n].bytes), blocks[n].bytes)),
        by(&|n| (length(&blocks[n]), blocks[n].bytes)),
        by(&|n| (usize::MAX - blocks[n].life.0, blocks[n].bytes)),
    ];
    let mut left = EFFORT;
    let mut best: Option<(usize, Vec<usize>, Vec<usize>)> = None;
    for order in orders {
        if best.as_ref().is_some_and(|(size, ..)| *size <= needed || left == 0) {
            break;
        }
        left = left.saturating_sub(blocks.len() * blocks.len() / 2);
        let (size, offsets) = place(blocks, &order)?;
        if best.as_ref().is_none_or(|(least, ..)| size < *least) {
            best = Some((size, offsets, order));
        }
    }
    let (mut size, mut offsets, mut order) = best?;
    // A block that ends highest, or any other, is placed earlier; what is no worse stays. Always the same numbers, so that
    // a plan has the same places wherever it is bound.
    let mut rng = Rng::new(1);
    for _ in 0..TRIES {
        if size <= needed + needed / 64 || left == 0 {
            break;
        }
        left = left.saturating_sub(blocks.len() * blocks.len() / 2 + 1);
        let highest: Vec<usize> =
            (0..order.len()).filter(|i| offsets[order[*i]] + blocks[order[*i]].bytes == size).collect();
        let from = match highest.get(rng.below(2 * highest.len())) {
            Some(from) => *from,
            None => rng.below(order.len()),
        };
        let mut next = order.clone();
        let moved = next.remove(from);
        next.insert(rng.below(from + 1), moved);
        let (other, places) = place(blocks, &next)?;
        if other <= size {
            (size, offsets, order) = (other, places, next);
        }
    }
    Some(Packed { offsets, size, needed })
}

/// How many bytes are needed in each phase.
fn alive(blocks: &[Block]) -> Option<Vec<usize>> {
    let phases = blocks.iter().map(|b| b.life.1 + 1).max().unwrap_or(0);
    let mut change = vec![0i128; phases + 1];
    for b in blocks {
        let bytes = b.bytes as i128;
        change[b.life.0] += bytes;
        change[b.life.1 + 1] -= bytes;
    }
    let mut now = 0;
    let mut alive = Vec::with_capacity(phases);
    for c in &change[..phases] {
        now += c;
        alive.push(usize::try_from(now).ok().filter(|n| isize::try_from(*n).is_ok())?);
    }
    Some(alive)
}

/// Places blocks in an order, each as low as those that live with it allow.
fn place(blocks: &[Block], order: &[usize]) -> Option<(usize, Vec<usize>)> {
    let mut offsets = vec![0; blocks.len()];
    let mut size = 0usize;
    // By where they begin.
    let mut placed: Vec<usize> = Vec::with_capacity(blocks.len());
    for n in order {
        let block = &blocks[*n];
        let mut at = 0usize;
        for p in placed.iter().filter(|p| blocks[**p].meets(block)) {
            if at.saturating_add(block.bytes) <= offsets[*p] {
                break;
            }
            at = at.max(offsets[*p].checked_add(blocks[*p].bytes)?);
        }
        let end = at.checked_add(block.bytes).filter(|end| isize::try_from(*end).is_ok())?;
        offsets[*n] = at;
        size = size.max(end);
        let here = placed.partition_point(|p| offsets[*p] <= at);
        placed.insert(here, *n);
    }
    Some((size, offsets))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: u64, count: usize) -> Vec<Block> {
        let mut rng = lawson_graph::random::Rng::new(seed);
        let block = |n: usize, rng: &mut lawson_graph::random::Rng| Block {
            bytes: 64 * (1 + rng.below(40)),
            life: (n, n + 1 + rng.below(6)),
        };
        (0..count).map(|n| block(n, &mut rng)).collect()
    }

    #[test]
    fn blocks_that_live_together_lie_apart_and_close_to_each_other() {
        let mut over = 0.0f64;
        for seed in 0..60 {
            let blocks = random(seed, 80);
            let packed = pack(&blocks).unwrap();
            for (n, a) in blocks.iter().enumerate() {
                for (m, b) in blocks.iter().enumerate().filter(|(m, b)| *m > n && b.meets(a)) {
                    let (x, y) = (packed.offsets[n], packed.offsets[m]);
                    assert!(x + a.bytes <= y || y + b.bytes <= x, "seed {seed}: {n} and {m}");
                }
            }
            assert!(packed.size >= packed.needed);
            over += packed.size as f64 / packed.needed as f64 - 1.0;
        }
        assert!(over / 60.0 < 0.05, "{}", over / 60.0);
    }

    #[test]
    fn what_fits_no_memory_is_nothing() {
        let block = Block { bytes: usize::MAX / 2, life: (0, 1) };
        assert!(pack(&[block, block]).is_none());
        assert!(pack(&[Block { bytes: usize::MAX, life: (0, 0) }]).is_none());
        assert_eq!(pack(&[]).map(|p| p.size), None.or(Some(0)));
    }
}

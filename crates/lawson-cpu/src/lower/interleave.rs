//! Points that go on side by side.
//!
//! A stage is written point by point, and each point is one long chain of operations that wait for each other. A processor
//! looks ahead by some hundred operations, which is one or two such chains: most of its units would stand still. So the
//! chains of several points are merged, an operation of each in turn, as many of them as the registers hold.

use super::Lowering;
use super::hash::{IdMap, IdSet};
use crate::asm::Level;
use crate::code::{Access, Class, Item, Op, V};
use crate::error::Result;

/// Chains that are shorter overlap by themselves.
const LEAST: usize = 6;
/// More chains at once than this fill no more units.
const MOST: usize = 4;
/// Vector registers that chains may fill, of AVX-512; with AVX2 half as many. Some more than there are: most of a chain's values at its widest point are the ones that are
/// read again last, and waiting in memory costs these little.
const REGISTERS: usize = 36;
/// Chains of at least so many items can begin one after another: that they do not end together then costs little.
const LONG: usize = 256;
/// By how many items a long chain follows the one before it. What they are widest at, and what all of them would ask one unit for at once,
/// divisions above all, does not coincide then.
const LAG: usize = 14;

impl Lowering<'_> {
    /// Writes a stage at every point of the jammed axes, and merges what was written.
    pub(super) fn at_points_abreast(&mut self, write: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<()> {
        let here = self.here();
        let mut starts = Vec::new();
        self.at_points(&mut |l| {
            starts.push(l.frames[here].items.len());
            write(l)
        })?;
        let Some(first) = starts.first().copied() else { return Ok(()) };
        let length = self.frames[here].items.len() - first;
        if starts.len() < 2 || length < LEAST * starts.len() {
            return Ok(());
        }
        let mut items = self.frames[here].items.split_off(first);
        let mut chains: Vec<Chain> = Vec::with_capacity(starts.len());
        for start in starts.iter().rev() {
            chains.push(Chain::new(items.split_off(start - first)));
        }
        chains.reverse();
        let (abreast, lag) = self.abreast(&chains);
        // Groups of nearly equal size.
        let groups = chains.len().div_ceil(abreast);
        let size = chains.len().div_ceil(groups);
        while !chains.is_empty() {
            let rest = chains.split_off(size.min(chains.len()));
            merge(chains, lag, &mut self.frames[here].items);
            chains = rest;
        }
        Ok(())
    }

    /// How many chains fit in the registers together, and by how many items each follows the one before. Constants and tables can be
    /// operands in memory.
    fn abreast(&self, chains: &[Chain]) -> (usize, usize) {
        let mut own = 1;
        let mut shared: IdSet<V> = IdSet::default();
        for c in chains {
            own = own.max(c.most_alive(&self.classes));
            let vectors = c.reads.iter().filter(|v| self.classes[v.0 as usize] == Class::Vector);
            shared.extend(vectors.filter(|v| !self.constants.contains(v)));
        }
        let registers = if self.level == Level::Avx2 { REGISTERS / 2 } else { REGISTERS };
        let abreast = (registers.saturating_sub(shared.len()) / own).clamp(1, MOST);
        let long = chains.iter().all(|c| c.items.len() >= LONG);
        // More fit where their widest points do not coincide.
        if long && (2..MOST).contains(&abreast) { (MOST, LAG) } else { (abreast, 0) }
    }
}

/// The code of one point.
struct Chain {
    items: Vec<Item>,
    /// What it reads and does not write itself.
    reads: IdSet<V>,
    /// How often it writes a register.
    writes: IdMap<V, usize>,
}

impl Chain {
    fn new(items: Vec<Item>) -> Chain {
        let mut writes: IdMap<V, usize> = IdMap::default();
        let mut reads = IdSet::default();
        for item in &items {
            visit(item, &mut |v, access| {
                if access != Access::Def && !writes.contains_key(&v) {
                    reads.insert(v);
                }
                if matches!(access, Access::Def | Access::Both) {
                    *writes.entry(v).or_default() += 1;
                }
            });
        }
        Chain { items, reads, writes }
    }

    /// How many vectors of its own are alive at once, in code that is not rare.
    fn most_alive(&self, classes: &[Class]) -> usize {
        // Where each is met first and last.
        let mut spans: IdMap<V, (usize, usize)> = IdMap::default();
        for (n, item) in self.items.iter().enumerate() {
            visit(item, &mut |v, _| {
                if classes[v.0 as usize] == Class::Vector && self.writes.contains_key(&v) {
                    spans.entry(v).and_modify(|(_, last)| *last = n).or_insert((n, n));
                }
            });
        }
        let mut changes = vec![0; self.items.len() + 1];
        for (first, last) in spans.into_values() {
            // What rare code needs for itself alone may wait in memory.
            if first < last || !matches!(self.items[last], Item::If { .. }) {
                changes[first] += 1;
                changes[last + 1] -= 1;
            }
        }
        let alive = changes.iter().scan(0i64, |alive, change| {
            *alive += change;
            Some(*alive)
        });
        alive.max().map_or(0, |most| most as usize)
    }
}

/// Calls `f` with every register of an item.
fn visit(item: &Item, f: &mut dyn FnMut(V, Access)) {
    match item {
        Item::Op(op) => {
            let mut op: Op = *op;
            op.visit(&mut |v, access| f(*v, access));
        }
        Item::If { mask, body } => {
            f(*mask, Access::Use);
            // What it defines is its own: it changes what lasts by masked moves, which read it too.
            body.iter().for_each(|item| visit(item, f));
        }
        Item::Loop(_) | Item::Comment(_) => {}
    }
}

/// Whether chains may be merged at all: none holds a loop, and no register is written by two of them, or by one after another has
/// read it.
fn are_apart(chains: &[Chain]) -> bool {
    let mut read_before: IdSet<V> = IdSet::default();
    let mut written: IdSet<V> = IdSet::default();
    chains.iter().all(|c| {
        let apart = c.items.iter().all(|i| !matches!(i, Item::Loop(_)))
            && c.writes.keys().all(|v| !read_before.contains(v) && !written.contains(v));
        read_before.extend(&c.reads);
        written.extend(c.writes.keys());
        apart
    })
}

/// Appends chains, an item of each in turn, each so many items behind the one before. What one reads of an earlier one waits until that is
/// complete, and stores stay in order.
fn merge(chains: Vec<Chain>, lag: usize, out: &mut Vec<Item>) {
    if chains.len() < 2 || !are_apart(&chains) {
        out.extend(chains.into_iter().flat_map(|c| c.items));
        return;
    }
    let mut left: IdMap<V, (usize, usize)> = IdMap::default();
    for (n, c) in chains.iter().enumerate() {
        left.extend(c.writes.iter().map(|(v, count)| (*v, (n, *count))));
    }
    let stores = |item: &Item| {
        matches!(item, Item::Op(Op::Store { .. } | Op::Scatter { .. } | Op::ScatterSmall { .. }))
    };
    let mut stores_left: Vec<usize> =
        chains.iter().map(|c| c.items.iter().filter(|i| stores(i)).count()).collect();
    let mut queues: Vec<_> = chains.into_iter().map(|c| c.items.into_iter().peekable()).collect();
    let mut left_of: Vec<usize> = queues.iter().map(ExactSizeIterator::len).collect();
    let mut taken = vec![0; queues.len()];
    loop {
        let mut done = true;
        for (n, queue) in queues.iter_mut().enumerate() {
            let Some(item) = queue.peek() else { continue };
            done = false;
            if lag > 0 && n > 0 && left_of[n - 1] > 0 && taken[n - 1] <= taken[n] + lag {
                continue;
            }
            let mut ready = !stores(item) || stores_left[..n].iter().all(|count| *count == 0);
            visit(item, &mut |v, _| {
                ready &= left.get(&v).is_none_or(|(of, count)| *of == n || *count == 0);
            });
            if !ready {
                continue;
            }
            stores_left[n] -= usize::from(stores(item));
            visit(item, &mut |v, access| {
                if matches!(access, Access::Def | Access::Both)
                    && let Some((_, count)) = left.get_mut(&v)
                {
                    *count -= 1;
                }
            });
            out.extend(queue.next());
            left_of[n] -= 1;
            taken[n] += 1;
        }
        if done {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::Vec3;
    use crate::code::{Addr, Shape, Src};

    fn add(dst: u32, a: u32, b: u32) -> Item {
        Item::Op(Op::Vec3 { op: Vec3::Addps, dst: V(dst), a: V(a), b: Src::Reg(V(b)) })
    }

    fn store(src: u32) -> Item {
        let addr = Addr { base: V(99), index: None, disp: 0 };
        Item::Op(Op::Store { addr, src: V(src), shape: Shape::Full, mask: None })
    }

    /// What is written, or stored, in order.
    fn merged(chains: Vec<Vec<Item>>) -> Vec<u32> {
        merged_behind(chains, 0)
    }

    fn merged_behind(chains: Vec<Vec<Item>>, lag: usize) -> Vec<u32> {
        let mut out = Vec::new();
        merge(chains.into_iter().map(Chain::new).collect(), lag, &mut out);
        let register = |item: &Item| match item {
            Item::Op(Op::Vec3 { dst, .. }) => dst.0,
            Item::Op(Op::Store { src, .. }) => 100 + src.0,
            _ => 0,
        };
        out.iter().map(register).collect()
    }

    #[test]
    fn chains_go_on_in_turn() {
        let chain = |n| vec![add(n, 90, 91), add(n + 1, n, 91), store(n + 1)];
        assert_eq!(merged(vec![chain(10), chain(20)]), [10, 20, 11, 21, 111, 121]);
    }

    #[test]
    fn chains_that_lag_begin_one_after_another_and_end_so() {
        let chain = |n| vec![add(n, 90, 91), add(n + 1, n, 91), add(n + 2, n + 1, 91)];
        let found = merged_behind(vec![chain(10), chain(20), chain(30)], 1);
        assert_eq!(found, [10, 11, 20, 12, 21, 30, 22, 31, 32]);
        assert_eq!(merged_behind(vec![chain(10), chain(20)], 7), [10, 11, 12, 20, 21, 22]);
    }

    #[test]
    fn what_a_chain_reads_of_another_is_there_first() {
        let first = vec![add(10, 90, 91), add(11, 10, 91), add(12, 11, 91)];
        let second = vec![add(20, 12, 91), add(21, 20, 91)];
        assert_eq!(merged(vec![first, second]), [10, 11, 12, 20, 21]);
    }

    #[test]
    fn what_rare_code_needs_for_itself_does_not_count() {
        let rare = (30..60).map(|n| add(n, if n == 30 { 10 } else { n - 1 }, 91));
        let masked = Item::Op(Op::MoveMasked { dst: V(11), src: V(59), mask: V(80) });
        let items = vec![
            add(10, 90, 91),
            Item::Op(Op::Move { dst: V(11), src: V(10) }),
            Item::If { mask: V(80), body: rare.chain([masked]).collect() },
            store(11),
        ];
        let mut classes = vec![Class::Vector; 100];
        (classes[80], classes[99]) = (Class::Mask, Class::General);
        let chain = Chain::new(items);
        assert_eq!(chain.most_alive(&classes), 2);
        assert_eq!(chain.reads, IdSet::from_iter([80, 90, 91, 99].map(V)));
    }

    #[test]
    fn stores_stay_in_order() {
        let long = vec![add(10, 90, 91), add(11, 10, 91), store(11)];
        assert_eq!(merged(vec![long, vec![store(80)]]), [10, 11, 111, 180]);
    }

    #[test]
    fn chains_that_write_one_register_stay_one_after_another() {
        let chain = |n| vec![add(50, 50, n), add(n + 1, 50, n)];
        assert_eq!(merged(vec![chain(10), chain(20)]), [50, 11, 50, 21]);
    }
}

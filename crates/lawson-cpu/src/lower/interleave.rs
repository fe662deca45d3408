//! Points that go on side by side.
//!
//! A stage is written point by point, and each point is one long chain of operations that wait for each other. A processor
//! looks ahead by some hundred operations, which is one or two such chains: most of its units would stand still. So the
//! chains of several points are merged, an operation of each in turn, as many of them as the registers hold.

use super::Lowering;
use super::hash::IdSet;
use crate::asm::Level;
use crate::code::{Access, Class, Item, Op, V};
use crate::error::Result;
use std::ops::Range;

/// Chains that are shorter overlap by themselves.
const LEAST: usize = 6;
/// More chains at once than this fill no more units.
const MOST: usize = 4;
/// Vector registers that chains may fill, of AVX-512; with AVX2 half as many. Some more than there are: most of a chain's values at its widest point are the ones that are
/// read again last, and waiting in memory costs these little.
const REGISTERS: usize = 36;
/// Chains of at least so many items can begin one after another: that they do not end together then costs little.
const MIDDLING: usize = 40;
/// By how many items such a chain follows the one before it. What all of them would ask one unit for at once, divisions and roots above
/// all, does not coincide then.
const LAG: usize = 4;
/// The same of chains so long that what they are widest at can be kept apart, too: more of them then fit in the registers.
const LONG: usize = 256;
const LAG_OF_LONG: usize = 20;

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
        let ends = starts[1..].iter().copied().chain([first + items.len()]);
        let parts = starts.iter().zip(ends).map(|(start, end)| start - first..end - first);
        let mut chains = Chains::new(&items, parts);
        let (abreast, lag) = self.abreast(&mut chains);
        // Groups of nearly equal size.
        let groups = chains.all.len().div_ceil(abreast);
        let size = chains.all.len().div_ceil(groups);
        let mut order = Vec::with_capacity(items.len());
        for group in (0..chains.all.len()).step_by(size) {
            chains.merge(&items, group..(group + size).min(chains.all.len()), lag, &mut order);
        }
        let taken = |n: usize| std::mem::replace(&mut items[n], Item::Comment(String::new()));
        self.frames[here].items.extend(order.into_iter().map(taken));
        Ok(())
    }

    /// How many chains fit in the registers together, and by how many items each follows the one before. Constants and tables can be
    /// operands in memory.
    fn abreast(&self, chains: &mut Chains) -> (usize, usize) {
        let mut own = 1;
        let mut shared: IdSet<V> = IdSet::default();
        for n in 0..chains.all.len() {
            own = own.max(chains.most_alive(n, &self.classes));
            let vectors = chains.all[n].reads.iter().filter(|v| self.classes[v.0 as usize] == Class::Vector);
            shared.extend(vectors.filter(|v| !self.constants.contains(v)));
        }
        let registers = if self.level == Level::Avx2 { REGISTERS / 2 } else { REGISTERS };
        let abreast = (registers.saturating_sub(shared.len()) / own).clamp(1, MOST);
        match chains.all.iter().map(|c| c.items.len()).min().unwrap_or(0) {
            // More fit where their widest points do not coincide.
            LONG.. if (2..MOST).contains(&abreast) => (MOST, LAG_OF_LONG),
            MIDDLING.. => (abreast, LAG),
            _ => (abreast, 0),
        }
    }
}

/// The code of one point.
struct Chain {
    /// Which of all items.
    items: Range<usize>,
    /// What it reads and does not write itself before, each once.
    reads: Vec<V>,
    /// What it writes, each once, and how often.
    writes: Vec<(V, u32)>,
    has_loop: bool,
}

/// The code of all points of a stage.
struct Chains {
    all: Vec<Chain>,
    /// The registers that items touch, one item after another, and where those of each end.
    touched: Vec<(V, Access)>,
    ends: Vec<usize>,
    rare: Vec<bool>,
    registers: Vec<Register>,
}

/// What is noted of a register while chains are looked at.
#[derive(Clone, Copy, Default)]
struct Register {
    /// The chain, from 1 on, that was last seen to read it before it wrote it, and that was last seen to write it.
    read: usize,
    written: usize,
    /// Where the chain that writes it touches it first and last.
    span: Option<(usize, usize)>,
    /// Its place among what that chain writes.
    place: usize,
    /// How many writes of that chain are to come, while chains are merged.
    left: u32,
}

impl Chains {
    /// The items of a stage; each chain is a part of them.
    fn new(items: &[Item], parts: impl Iterator<Item = Range<usize>>) -> Chains {
        let mut touched = Vec::with_capacity(4 * items.len());
        let mut ends = Vec::with_capacity(items.len());
        for item in items {
            visit(item, &mut |v, access| touched.push((v, access)));
            ends.push(touched.len());
        }
        let count = touched.iter().map(|(v, _)| v.0 as usize + 1).max().unwrap_or(0);
        let rare = items.iter().map(|i| matches!(i, Item::If { .. })).collect();
        let registers = vec![Register::default(); count];
        let mut chains = Chains { all: Vec::new(), touched, ends, rare, registers };
        for part in parts {
            let has_loop = items[part.clone()].iter().any(|i| matches!(i, Item::Loop(_)));
            chains.add(part, has_loop);
        }
        chains
    }

    fn add(&mut self, items: Range<usize>, has_loop: bool) {
        let number = self.all.len() + 1;
        let (mut reads, mut writes): (Vec<V>, Vec<(V, u32)>) = (Vec::new(), Vec::new());
        for (v, access) in &self.touched[self.places(items.clone())] {
            let r = &mut self.registers[v.0 as usize];
            if *access != Access::Def && r.written != number && r.read != number {
                r.read = number;
                reads.push(*v);
            }
            if matches!(access, Access::Def | Access::Both) {
                if r.written != number {
                    (r.written, r.place) = (number, writes.len());
                    writes.push((*v, 0));
                }
                writes[r.place].1 += 1;
            }
        }
        self.all.push(Chain { items, reads, writes, has_loop });
    }

    /// Where the registers that some items touch stand.
    fn places(&self, items: Range<usize>) -> Range<usize> {
        let end = |n: usize| if n == 0 { 0 } else { self.ends[n - 1] };
        end(items.start)..end(items.end)
    }

    /// How many vectors of its own a chain has alive at once, in code that is not rare.
    fn most_alive(&mut self, chain: usize, classes: &[Class]) -> usize {
        let items = self.all[chain].items.clone();
        let number = chain + 1;
        for (v, _) in &self.all[chain].writes {
            let r = &mut self.registers[v.0 as usize];
            (r.written, r.span) = (number, None);
        }
        for n in items.clone() {
            for (v, _) in &self.touched[self.places(n..n + 1)] {
                let r = &mut self.registers[v.0 as usize];
                if r.written == number {
                    r.span = Some((r.span.map_or(n, |(first, _)| first), n));
                }
            }
        }
        let mut changes = vec![0; items.len() + 1];
        for (v, _) in &self.all[chain].writes {
            let span = self.registers[v.0 as usize].span;
            let Some((first, last)) = span.filter(|_| classes[v.0 as usize] == Class::Vector) else {
                continue;
            };
            // What rare code needs for itself alone may wait in memory.
            if first < last || !self.rare[last] {
                changes[first - items.start] += 1;
                changes[last + 1 - items.start] -= 1;
            }
        }
        let alive = changes.iter().scan(0i64, |alive, change| {
            *alive += change;
            Some(*alive)
        });
        alive.max().map_or(0, |most| most as usize)
    }

    /// Whether chains may be merged at all: none holds a loop, and no register is written by two of them, or by one after another has
    /// read it.
    fn are_apart(&mut self, group: Range<usize>) -> bool {
        for c in &self.all[group.clone()] {
            let touched = c.reads.iter().chain(c.writes.iter().map(|(v, _)| v));
            touched.for_each(|v| self.registers[v.0 as usize] = Register::default());
        }
        for (n, c) in group.clone().zip(&self.all[group]) {
            let free = |(v, _): &(V, u32)| {
                let r = &self.registers[v.0 as usize];
                r.read == 0 && r.written == 0
            };
            if c.has_loop || !c.writes.iter().all(free) {
                return false;
            }
            c.reads.iter().for_each(|v| self.registers[v.0 as usize].read = n + 1);
            for (v, count) in &c.writes {
                let r = &mut self.registers[v.0 as usize];
                (r.written, r.left) = (n + 1, *count);
            }
        }
        true
    }

    /// Appends the items of chains, one of each in turn, each chain so many items behind the one before. What one reads of an earlier one
    /// waits until that is complete, and stores stay in order.
    fn merge(&mut self, items: &[Item], group: Range<usize>, lag: usize, out: &mut Vec<usize>) {
        if group.len() < 2 || !self.are_apart(group.clone()) {
            out.extend(self.all[group].iter().flat_map(|c| c.items.clone()));
            return;
        }
        let stores = |n: usize| {
            matches!(items[n], Item::Op(Op::Store { .. } | Op::Scatter { .. } | Op::ScatterSmall { .. }))
        };
        let mut queues: Vec<Range<usize>> = self.all[group.clone()].iter().map(|c| c.items.clone()).collect();
        let mut stores_left: Vec<usize> =
            queues.iter().map(|q| q.clone().filter(|n| stores(*n)).count()).collect();
        let mut taken = vec![0; queues.len()];
        while queues.iter().any(|q| !q.is_empty()) {
            for n in 0..queues.len() {
                if queues[n].is_empty() {
                    continue;
                }
                let item = queues[n].start;
                if lag > 0 && n > 0 && !queues[n - 1].is_empty() && taken[n - 1] <= taken[n] + lag {
                    continue;
                }
                let number = group.start + n + 1;
                let places = self.places(item..item + 1);
                let ready = |(v, _): &(V, Access)| {
                    let r = &self.registers[v.0 as usize];
                    r.written == number || r.left == 0
                };
                let in_order = !stores(item) || stores_left[..n].iter().all(|count| *count == 0);
                if !in_order || !self.touched[places.clone()].iter().all(ready) {
                    continue;
                }
                stores_left[n] -= usize::from(stores(item));
                for (v, access) in &self.touched[places] {
                    if matches!(access, Access::Def | Access::Both) {
                        self.registers[v.0 as usize].left -= 1;
                    }
                }
                out.push(item);
                queues[n].start += 1;
                taken[n] += 1;
            }
        }
    }
}

/// Calls `f` with every register of an item.
fn visit(item: &Item, f: &mut impl FnMut(V, Access)) {
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
        let (items, mut chains) = all(chains);
        let mut order = Vec::new();
        chains.merge(&items, 0..chains.all.len(), lag, &mut order);
        let register = |n: &usize| match &items[*n] {
            Item::Op(Op::Vec3 { dst, .. }) => dst.0,
            Item::Op(Op::Store { src, .. }) => 100 + src.0,
            _ => 0,
        };
        order.iter().map(register).collect()
    }

    fn all(chains: Vec<Vec<Item>>) -> (Vec<Item>, Chains) {
        let mut parts = Vec::new();
        let mut items = Vec::new();
        for chain in chains {
            parts.push(items.len()..items.len() + chain.len());
            items.extend(chain);
        }
        let chains = Chains::new(&items, parts.into_iter());
        (items, chains)
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
        let (_, mut chains) = all(vec![items]);
        assert_eq!(chains.most_alive(0, &classes), 2);
        let reads: IdSet<V> = chains.all[0].reads.iter().copied().collect();
        assert_eq!(reads, IdSet::from_iter([80, 90, 91, 99].map(V)));
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

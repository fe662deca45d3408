//! Sizes and places: how long each buffer of the arena lives, and where it lies.
//!
//! A life is counted in phases, which are what lies between barriers. Buffers whose lives do not overlap share bytes. In a
//! loop, what is also used outside of it lives through all of its phases, and so does its state, whose two buffers
//! live equally long: after the loop either may hold what the last iteration left. A step that may write its output over an
//! input ([`Plan::over`]) does so where nothing else needs the input: the two are one block of memory.
//!
//! `place.rs` finds the places of the blocks.

use super::place::{Block, pack};
use super::{Action, Again, Barrier, Carried, Place, Plan, Slot, Step};
use lawson_graph::{Bindings, Code, Error, Result};

/// A plan with its sizes known.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The size of each buffer, in bytes.
    pub bytes: Vec<usize>,
    /// Where the buffers of the arena begin.
    pub offsets: Vec<Option<usize>>,
    /// How many bytes the arena has.
    pub arena: usize,
    /// How many bytes are needed at once, at the phase that needs most: no arena is smaller.
    pub needed: usize,
}

/// The first and the last phase in which a buffer is needed.
pub(super) type Life = (usize, usize);

impl Plan {
    /// Gives every buffer its size, and those of the arena their places.
    pub fn bind(&self, bindings: &Bindings) -> Result<Bound> {
        let bytes = self.sizes(bindings)?;
        let walk = self.walk();
        let lives = walk.lives();
        let merged = walk.merged(&lives, &bytes);
        let mut blocks: Vec<Block> = Vec::new();
        let mut of: Vec<Option<usize>> = vec![None; self.buffers.len()];
        for n in 0..self.buffers.len() {
            let (Some(life), Place::Arena) = (lives[n], &self.buffers[n].place) else { continue };
            let first = merged[n];
            match of[first] {
                Some(block) => blocks[block].extend(life),
                None => {
                    of[first] = Some(blocks.len());
                    blocks.push(Block { bytes: bytes[n], life });
                }
            }
            of[n] = of[first];
        }
        let packed = pack(&blocks).ok_or_else(|| {
            let message = "the arena would be larger than any memory";
            Error::new(Code::DimOverflow, message).help("run on smaller sizes")
        })?;
        let offsets = of.iter().map(|block| block.map(|b| packed.offsets[b])).collect();
        let bound = Bound { bytes, offsets, arena: packed.size, needed: packed.needed };
        if cfg!(debug_assertions) {
            crate::borrow::assert(self, Some(&bound))?;
        }
        Ok(bound)
    }

    /// The size of each buffer, in bytes.
    pub(super) fn sizes(&self, bindings: &Bindings) -> Result<Vec<usize>> {
        let mut bytes = Vec::with_capacity(self.buffers.len());
        for b in &self.buffers {
            let n = bindings.eval(&b.bytes)?;
            let n = usize::try_from(n).map_err(|_| {
                Error::new(Code::DimOverflow, format!("the buffer `{}` would have {n} bytes", b.name))
            })?;
            bytes.push(n);
        }
        Ok(bytes)
    }

    pub(super) fn walk(&self) -> Walk<'_> {
        let mut walk = Walk {
            plan: self,
            phase: 0,
            uses: vec![Vec::new(); self.buffers.len()],
            loops: Vec::new(),
            launches: Vec::new(),
            moving: vec![false; self.buffers.len()],
        };
        walk.block(&self.steps);
        walk
    }
}

fn extend(life: &mut Option<Life>, by: Life) {
    let (first, last) = life.unwrap_or(by);
    *life = Some((first.min(by.0), last.max(by.1)));
}

pub(super) struct Walk<'p> {
    plan: &'p Plan,
    phase: usize,
    /// The phases in which each buffer is used.
    uses: Vec<Vec<usize>>,
    /// The phases of each loop, and its state; loops stand after those that they hold.
    loops: Vec<(Life, &'p [Carried])>,
    /// The steps that run kernels, with their phases.
    launches: Vec<(usize, &'p Step)>,
    /// Buffers that exchange their places or are gone through by rows.
    moving: Vec<bool>,
}

impl<'p> Walk<'p> {
    /// The first and last phase of every buffer that a step uses.
    pub(super) fn lives(&self) -> Vec<Option<Life>> {
        let mut lives: Vec<Option<Life>> =
            self.uses.iter().map(|u| Some((*u.iter().min()?, *u.iter().max()?))).collect();
        for (span, carried) in &self.loops {
            let inside = |phase: &usize| (span.0..=span.1).contains(phase);
            for (life, uses) in lives.iter_mut().zip(&self.uses) {
                let count = uses.iter().filter(|p| inside(p)).count();
                if count > 0 && count < uses.len() {
                    extend(life, *span);
                }
            }
            for Carried { state, next } in *carried {
                extend(&mut lives[state.0 as usize], *span);
                extend(&mut lives[next.0 as usize], *span);
            }
        }
        // Buffers that exchange their bytes live equally long, through chains of loops too.
        let pairs: Vec<Carried> =
            self.loops.iter().flat_map(|(_, carried)| carried.iter().copied()).collect();
        let mut changed = !pairs.is_empty();
        while std::mem::take(&mut changed) {
            for Carried { state, next } in &pairs {
                let [a, b] = [lives[state.0 as usize], lives[next.0 as usize]];
                let mut both = a;
                b.into_iter().for_each(|life| extend(&mut both, life));
                changed |= a != both || b != both;
                lives[state.0 as usize] = both;
                lives[next.0 as usize] = both;
            }
        }
        lives
    }

    /// For each buffer, the first of those with which it is one block.
    fn merged(&self, lives: &[Option<Life>], bytes: &[usize]) -> Vec<usize> {
        let mut first: Vec<usize> = (0..bytes.len()).collect();
        let mut taken = vec![false; bytes.len()];
        let free = |n: usize| matches!(self.plan.buffers[n].place, Place::Arena) && !self.moving[n];
        let once = |n: usize, phase: usize| self.uses[n].iter().filter(|p| **p == phase).count() == 1;
        // What a loop uses of what lies outside of it, its next iteration uses again.
        let local = |n: usize, phase: usize| {
            let mut around = self.loops.iter().filter(|(span, _)| (span.0..=span.1).contains(&phase));
            around.all(|(span, _)| self.uses[n].iter().all(|p| (span.0..=span.1).contains(p)))
        };
        for (phase, step) in &self.launches {
            let Some(kernel) = step.action.kernel() else { continue };
            for (read, written) in self.plan.over.get(kernel).into_iter().flatten() {
                let (Some(x), Some(y)) = (step.buffers.get(*read), step.buffers.get(*written)) else {
                    continue;
                };
                let whole = x.part.is_none() && y.part.is_none();
                let (x, y) = (x.slot.0 as usize, y.slot.0 as usize);
                // The input ends and the output begins with this step, which alone uses them in its phase.
                let ends = lives[x].is_some_and(|l| l.1 == *phase) && once(x, *phase);
                let begins = lives[y].is_some_and(|l| l.0 == *phase) && once(y, *phase);
                let fits = whole && x != y && bytes[x] == bytes[y] && free(x) && free(y);
                let local = local(x, *phase) && local(y, *phase);
                if fits && ends && begins && local && !taken[x] && first[y] == y {
                    first[y] = first[x];
                    taken[x] = true;
                }
            }
        }
        // What was merged into one that was merged later.
        for n in 0..first.len() {
            while first[first[n]] != first[n] {
                first[n] = first[first[n]];
            }
        }
        first
    }

    fn block(&mut self, steps: &'p [Step]) {
        for step in steps {
            if step.barrier == Barrier::Before {
                self.phase += 1;
            }
            for region in &step.buffers {
                self.note(region.slot);
            }
            match &step.action {
                Action::Declared { accesses, .. } => accesses.iter().for_each(|a| self.note(a.region.slot)),
                Action::Loop(l) => {
                    for c in l.carried.iter().filter(|c| c.state != c.next) {
                        self.moving[c.state.0 as usize] = true;
                        self.moving[c.next.0 as usize] = true;
                    }
                    for r in &l.rows {
                        let of = self.plan.root(r.row);
                        self.moving[of.0 as usize] = true;
                    }
                    self.phase += 1;
                    let first = self.phase;
                    if let Again::While { steps, condition } = &l.again {
                        self.block(steps);
                        self.phase += 1;
                        self.note(*condition);
                    }
                    self.block(&l.body);
                    // Read again after the last iteration, and kept apart from all that the body writes.
                    if let Again::While { condition, .. } = &l.again {
                        self.note(*condition);
                    }
                    self.loops.push(((first, self.phase), &l.carried));
                    self.phase += 1;
                }
                Action::Branch(b) => {
                    self.phase += 1;
                    self.note(b.condition);
                    self.block(&b.then);
                    self.phase += 1;
                    self.block(&b.otherwise);
                    self.note(b.condition);
                    self.phase += 1;
                }
                Action::Launch { .. } | Action::Call { .. } | Action::Evaluate { .. } => {
                    self.launches.push((self.phase, step))
                }
                Action::Interpret(_) | Action::Staged(_) | Action::Transfer => {}
            }
        }
    }

    fn note(&mut self, slot: Slot) {
        let root = self.plan.root(slot);
        self.uses[root.0 as usize].push(self.phase);
    }
}

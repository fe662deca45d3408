//! Sizes and places: how long each buffer of the arena lives, and where it lies.
//!
//! A life is counted in phases, which are what lies between barriers. Buffers whose lives do not overlap share bytes. In a
//! loop, what is also used outside of it lives through all of its phases, and so does its state, whose two buffers
//! live equally long: after the loop either may hold what the last iteration left.

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
}

/// Buffers of the arena begin at multiples of this.
const ALIGN: usize = 64;

/// The first and the last phase in which a buffer is needed.
pub(super) type Life = (usize, usize);

impl Plan {
    /// Gives every buffer its size, and those of the arena their places.
    pub fn bind(&self, bindings: &Bindings) -> Result<Bound> {
        let mut bytes = Vec::with_capacity(self.buffers.len());
        for b in &self.buffers {
            let n = bindings.eval(&b.bytes)?;
            let n = usize::try_from(n).map_err(|_| {
                Error::new(Code::DimOverflow, format!("the buffer `{}` would have {n} bytes", b.name))
            })?;
            bytes.push(n);
        }
        let lives = self.lives();
        let mut order: Vec<usize> =
            (0..self.buffers.len()).filter(|i| matches!(self.buffers[*i].place, Place::Arena)).collect();
        order.sort_by_key(|i| std::cmp::Reverse(bytes[*i]));
        let mut offsets: Vec<Option<usize>> = vec![None; self.buffers.len()];
        let mut arena = 0;
        let mut placed: Vec<usize> = Vec::new();
        for i in order {
            let Some((first, last)) = lives[i] else { continue };
            // What is in the way: buffers alive at the same time, by where they lie.
            let mut taken: Vec<(usize, usize)> = placed
                .iter()
                .filter(|p| lives[**p].is_some_and(|(f, l)| f <= last && first <= l))
                .filter_map(|p| offsets[*p].map(|at| (at, at + bytes[*p])))
                .collect();
            taken.sort_unstable();
            let mut at = 0usize;
            for (from, to) in taken {
                if at.saturating_add(bytes[i]) <= from {
                    break;
                }
                at = at.max(to.checked_next_multiple_of(ALIGN).unwrap_or(usize::MAX));
            }
            let end =
                at.checked_add(bytes[i]).filter(|end| isize::try_from(*end).is_ok()).ok_or_else(|| {
                    let message =
                        format!("the arena would end behind byte {at} with a buffer of {}", bytes[i]);
                    Error::new(Code::DimOverflow, message).help("run on smaller sizes")
                })?;
            offsets[i] = Some(at);
            arena = arena.max(end);
            placed.push(i);
        }
        let bound = Bound { bytes, offsets, arena };
        if cfg!(debug_assertions) {
            crate::borrow::assert(self, Some(&bound))?;
        }
        Ok(bound)
    }

    /// The first and last phase of every buffer that a step uses.
    fn lives(&self) -> Vec<Option<Life>> {
        let mut walk =
            Walk { plan: self, phase: 0, uses: vec![Vec::new(); self.buffers.len()], loops: Vec::new() };
        walk.block(&self.steps);
        let Walk { uses, loops, .. } = walk;
        let mut lives: Vec<Option<Life>> =
            uses.iter().map(|u| Some((*u.iter().min()?, *u.iter().max()?))).collect();
        // Loops stand after those that they hold.
        for (span, carried) in &loops {
            let inside = |phase: &usize| (span.0..=span.1).contains(phase);
            for (life, uses) in lives.iter_mut().zip(&uses) {
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
        let pairs: Vec<Carried> = loops.iter().flat_map(|(_, carried)| carried.iter().copied()).collect();
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
}

fn extend(life: &mut Option<Life>, by: Life) {
    let (first, last) = life.unwrap_or(by);
    *life = Some((first.min(by.0), last.max(by.1)));
}

struct Walk<'p> {
    plan: &'p Plan,
    phase: usize,
    /// The phases in which each buffer is used.
    uses: Vec<Vec<usize>>,
    /// The phases of each loop, and its state.
    loops: Vec<(Life, &'p [Carried])>,
}

impl<'p> Walk<'p> {
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
                Action::Launch { .. } | Action::Evaluate { .. } | Action::Interpret(_) => {}
            }
        }
    }

    fn note(&mut self, slot: Slot) {
        let root = self.plan.root(slot);
        self.uses[root.0 as usize].push(self.phase);
    }
}

//! What a step reads and writes.

use super::step::{Again, Region};
use super::{Action, Place, Plan, Slot, Step};
use crate::buffer::Role;
use lawson_graph::{Dim, Facts};

/// Bytes of a buffer that a step touches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// Which bytes.
    pub region: Region,
    /// What it does to them.
    pub mode: Mode,
}

/// What a step does to bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// It reads them.
    Read,
    /// It writes all of them.
    Write,
    /// It changes them by atomic instructions, which other steps may do at the same time.
    Atomic,
}

impl Mode {
    /// Whether two unordered steps may do these to the same bytes.
    pub fn agrees(self, other: Mode) -> bool {
        matches!((self, other), (Mode::Read, Mode::Read) | (Mode::Atomic, Mode::Atomic))
    }

    /// What a step does, in a word.
    pub fn verb(self) -> &'static str {
        match self {
            Mode::Read => "reads",
            Mode::Write => "writes",
            Mode::Atomic => "adds atomically to",
        }
    }
}

impl Region {
    /// The bytes as a range, of a buffer of so many.
    pub fn range(&self, bytes: &Dim) -> (Dim, Dim) {
        self.part.clone().unwrap_or_else(|| (Dim::ZERO, bytes.clone()))
    }

    /// Whether two regions are known to have no byte in common.
    pub fn is_apart(&self, other: &Region, facts: &Facts) -> bool {
        if self.slot != other.slot {
            return true;
        }
        match (&self.part, &other.part) {
            (Some((a, b)), Some((c, d))) => facts.proves_ge(c, b) || facts.proves_ge(a, d),
            _ => false,
        }
    }
}

impl Access {
    /// Whether two unordered steps that do these may get in each other's way.
    pub fn meets(&self, other: &Access, facts: &Facts) -> bool {
        !self.mode.agrees(other.mode) && !self.region.is_apart(&other.region, facts)
    }
}

impl Plan {
    /// What a step reads and writes; of a step that holds others, what all of them do. Accesses to rows of a buffer count
    /// as accesses to the buffer.
    pub fn accesses(&self, step: &Step) -> Vec<Access> {
        let mut found = Vec::new();
        self.gather(step, &mut found);
        found
    }

    fn gather(&self, step: &Step, found: &mut Vec<Access>) {
        for (region, mode) in self.modes(step) {
            found.push(Access { region: self.whole(region), mode });
        }
        match &step.action {
            Action::Declared { accesses, .. } => found.extend(accesses.iter().cloned()),
            Action::Loop(l) => {
                if let Again::While { condition, .. } = &l.again {
                    found.push(Access { region: (*condition).into(), mode: Mode::Read });
                }
                for c in &l.carried {
                    found.push(Access { region: c.state.into(), mode: Mode::Write });
                    found.push(Access { region: c.next.into(), mode: Mode::Write });
                }
            }
            Action::Branch(b) => found.push(Access { region: b.condition.into(), mode: Mode::Read }),
            _ => {}
        }
        for block in step.action.blocks() {
            block.iter().for_each(|s| self.gather(s, found));
        }
    }

    /// Whether two unordered steps that do these may get in each other's way: not in a buffer without bytes.
    pub fn meet(&self, a: &Access, b: &Access) -> bool {
        let buffer = self.buffer(a.region.slot);
        let is_empty =
            || !matches!(buffer.place, Place::Value(_)) && self.facts.proves_ge(&Dim::ZERO, &buffer.bytes);
        // Most pairs are of different buffers, and proofs take time.
        a.meets(b, &self.facts) && !is_empty()
    }

    /// The buffers of a step itself, each with what is done to it.
    pub fn modes<'s>(&self, step: &'s Step) -> Vec<(&'s Region, Mode)> {
        let modes: Vec<Mode> = match &step.action {
            Action::Launch { kernel } | Action::Call { kernel } | Action::Evaluate { kernel, .. } => {
                let k = &self.kernels[*kernel];
                let mode = |b| if k.buffer(b).role == Role::Output { Mode::Write } else { Mode::Read };
                k.arguments().map(mode).collect()
            }
            Action::Interpret(i) => {
                let reads = i.graph.inputs().iter().map(|_| Mode::Read);
                reads.chain(i.graph.outputs().iter().map(|_| Mode::Write)).collect()
            }
            Action::Staged(s) => {
                let reads = s.inputs.iter().map(|_| Mode::Read);
                reads.chain(s.outputs.iter().map(|_| Mode::Write)).collect()
            }
            Action::Transfer => vec![Mode::Read, Mode::Write],
            Action::Loop(_) | Action::Branch(_) | Action::Declared { .. } => Vec::new(),
        };
        step.buffers.iter().zip(modes).collect()
    }

    /// The buffer in which a region lies: that of a row lies somewhere in the buffer of the row.
    fn whole(&self, region: &Region) -> Region {
        match self.buffer(region.slot).place {
            Place::Row { of } => self.whole(&of.into()),
            _ => region.clone(),
        }
    }

    /// The buffer whose bytes these are: of a row, the one that has the rows.
    pub fn root(&self, slot: Slot) -> Slot {
        match self.buffer(slot).place {
            Place::Row { of } => self.root(of),
            _ => slot,
        }
    }
}

//! Which bytes are written, and which lie in the same place.

use crate::plan::{Bound, Mode, Place, Plan, Region, Slot};
use lawson_graph::{Dim, Facts};

/// Some bytes of a buffer: from the first to one past the last.
pub(super) type Span = (Dim, Dim);

/// Where the buffers of a plan lie.
pub(super) struct Memory<'p> {
    pub(super) plan: &'p Plan,
    pub(super) bound: Option<&'p Bound>,
    /// For each buffer, the group of those that exchange their places with it.
    group: Vec<usize>,
}

/// What steps have left in each buffer.
#[derive(Clone, PartialEq)]
pub(super) struct Written {
    /// By slot: the bytes that hold what was written there.
    pub(super) spans: Vec<Vec<Span>>,
    /// By slot: the buffer that was last written over some of them, and the step that did.
    pub(super) over: Vec<Option<(Slot, usize)>>,
}

impl<'p> Memory<'p> {
    pub(super) fn new(plan: &'p Plan, bound: Option<&'p Bound>) -> Memory<'p> {
        let mut group: Vec<usize> = (0..plan.buffers.len()).collect();
        plan.visit(&mut |step, _| {
            if let crate::plan::Action::Loop(l) = &step.action {
                for c in &l.carried {
                    let (a, b) = (group[c.state.0 as usize], group[c.next.0 as usize]);
                    group.iter_mut().filter(|g| **g == b).for_each(|g| *g = a);
                }
            }
        });
        Memory { plan, bound, group }
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.plan.facts
    }

    /// How many bytes a buffer has; a value of the host counts as one.
    pub(super) fn size(&self, slot: Slot) -> Dim {
        let b = self.plan.buffer(slot);
        if matches!(b.place, Place::Value(_)) { Dim::ONE } else { b.bytes.clone() }
    }

    pub(super) fn span(&self, region: &Region) -> Span {
        region.range(&self.size(region.slot))
    }

    /// The bytes that two regions have in common, unless they are known to have none. Without the places of buffers only one
    /// buffer can meet itself.
    pub(super) fn common(&self, a: &Region, b: &Region) -> Option<Span> {
        if a.slot == b.slot {
            if a.is_apart(b, self.facts()) {
                return None;
            }
            let ((a0, a1), (b0, b1)) = (self.span(a), self.span(b));
            let both = (a0.max(&b0), a1.min(&b1));
            return (!self.facts().proves_ge(&both.0, &both.1)).then_some(both);
        }
        if self.group[a.slot.0 as usize] == self.group[b.slot.0 as usize] {
            return None;
        }
        let (a, b) = (self.extents(a), self.extents(b));
        let meet = |(a0, a1): (usize, usize), (b0, b1): (usize, usize)| (a0.max(b0), a1.min(b1));
        let pairs = a.iter().flat_map(|a| b.iter().map(move |b| meet(*a, *b)));
        pairs.into_iter().find(|(from, to)| from < to).map(|(from, to)| (Dim::from(from), Dim::from(to)))
    }

    /// Where in the arena a region may lie: buffers that exchange their places may lie where any of them does.
    fn extents(&self, region: &Region) -> Vec<(usize, usize)> {
        let Some(bound) = self.bound else { return Vec::new() };
        let number = |d: &Dim| d.as_const().and_then(|n| usize::try_from(n).ok());
        let group = self.group[region.slot.0 as usize];
        let same = (0..self.group.len()).filter(|n| self.group[*n] == group);
        same.filter_map(|n| {
            let (at, bytes) = (bound.offsets[n]?, bound.bytes[n]);
            let part = region.part.as_ref().and_then(|(a, b)| Some((number(a)?, number(b)?)));
            let (from, to) = part.unwrap_or((0, bytes));
            Some((at + from, at + to))
        })
        .collect()
    }

    /// What is written before the first step: what the caller gives, and constants.
    pub(super) fn at_first(&self) -> Written {
        let there = |n: usize| {
            use crate::plan::ValuePort;
            match self.plan.buffers[n].place {
                Place::Input(_) | Place::Constant { .. } | Place::Value(ValuePort::Input(_)) => {
                    vec![(Dim::ZERO, self.size(Slot(n as u32)))]
                }
                _ => Vec::new(),
            }
        };
        let count = self.plan.buffers.len();
        Written { spans: (0..count).map(there).collect(), over: vec![None; count] }
    }
}

impl Written {
    /// The bytes of a region that are not known to be written, if there are any.
    pub(super) fn missing(&self, region: &Region, memory: &Memory<'_>) -> Option<Span> {
        let (mut from, to) = memory.span(region);
        let facts = memory.facts();
        let spans = &self.spans[region.slot.0 as usize];
        // Every span is of use once.
        for _ in 0..=spans.len() {
            if facts.proves_ge(&from, &to) {
                return None;
            }
            let on = |(a, b): &&Span| facts.proves_ge(&from, a) && !facts.proves_ge(&from, b);
            match spans.iter().find(on) {
                Some((_, end)) => from = end.clone(),
                None => break,
            }
        }
        (!facts.proves_ge(&from, &to)).then_some((from, to))
    }

    /// A step writes a region, which lies in `root`. Other buffers in the same place lose what they held.
    pub(super) fn write(&mut self, region: &Region, root: &Region, step: usize, memory: &Memory<'_>) {
        let span = memory.span(region);
        let spans = &mut self.spans[region.slot.0 as usize];
        if !spans.contains(&span) {
            spans.push(span);
        }
        if memory.bound.is_none() {
            return;
        }
        for n in 0..self.spans.len() {
            let other = Slot(n as u32);
            if other != root.slot && !self.spans[n].is_empty() && memory.common(root, &other.into()).is_some()
            {
                self.spans[n].clear();
                self.over[n] = Some((root.slot, step));
            }
        }
    }

    /// What is written both here and there.
    pub(super) fn both(&self, other: &Written) -> Written {
        let mut both = self.clone();
        for (n, spans) in both.spans.iter_mut().enumerate() {
            spans.retain(|s| other.spans[n].contains(s));
            if both.over[n].is_none() {
                both.over[n] = other.over[n];
            }
        }
        both
    }
}

/// What a step does to which bytes, in words: `reads bytes 0..64 of `x``.
pub(super) fn phrase(memory: &Memory<'_>, region: &Region, mode: Mode) -> String {
    let name = &memory.plan.buffer(region.slot).name;
    match &region.part {
        None => format!("{} `{name}`", mode.verb()),
        Some((a, b)) => format!("{} bytes {a}..{b} of `{name}`", mode.verb()),
    }
}

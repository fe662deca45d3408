//! Transfers: a plan for a device lets steps of the host work in the host's memory.
//!
//! In: a plan whose buffers lie on a device. Out: the same plan, in which every step of the host reads and writes buffers of the host,
//! and a [`Action::Transfer`] stands where bytes must cross: before a step that reads what is not there yet, and after one that writes what
//! the device has to see. What only steps of the host touch is theirs, and is never moved; what a step of the host has brought or written
//! is there for those after it until the device writes it again. Constants that the host reads are laid out in its memory.

use super::{Action, Mode, Place, Plan, PlanBuffer, Region, Slot, Step};
use lawson_graph::Result;
use std::collections::{HashMap, HashSet};

/// What is known while a block is gone through.
#[derive(Default)]
struct Mirrors {
    /// Buffers of the host that hold what these buffers of the device do.
    valid: HashMap<Slot, Slot>,
}

/// What is known where a step of the host stands.
struct Crossing<'m> {
    mirrors: &'m mut Mirrors,
    /// Buffers that the device sees.
    seen: &'m HashSet<Slot>,
    /// Constants of the device with those of the host that have the same elements.
    constants: &'m mut HashMap<Slot, Slot>,
}

impl Plan {
    /// Adds transfers around the steps that are the host's.
    pub fn add_transfers(&mut self) -> Result<()> {
        let seen = self.seen_by_device();
        self.keep_on_host(&seen);
        let steps = std::mem::take(&mut self.steps);
        let mut constants = HashMap::new();
        self.steps = self.transferred(steps, &mut Mirrors::default(), &seen, &mut constants);
        if cfg!(debug_assertions) {
            crate::borrow::assert(self, None)?;
        }
        Ok(())
    }

    /// The buffers that steps of the device touch, or that stand in loops and conditions, which look at the device.
    fn seen_by_device(&self) -> HashSet<Slot> {
        let mut seen = HashSet::new();
        self.visit(&mut |step, _| match &step.action {
            action if action.is_on_host() => {}
            action if action.is_control() => {
                let bare = Step { action: action.without_blocks(), ..step.clone() };
                seen.extend(self.accesses(&bare).into_iter().map(|a| self.root(a.region.slot)));
            }
            _ => seen.extend(self.accesses(step).into_iter().map(|a| self.root(a.region.slot))),
        });
        // Rows move with a loop, and so do their buffers.
        seen.extend(self.buffers.iter().filter_map(|b| match b.place {
            Place::Row { of } => Some(self.root(of)),
            _ => None,
        }));
        seen
    }

    /// Buffers of the plan's own that only steps of the host touch, and whole, are the host's.
    fn keep_on_host(&mut self, seen: &HashSet<Slot>) {
        let mut touched = HashSet::new();
        let mut in_parts = HashSet::new();
        self.visit(&mut |step, _| {
            for region in step.buffers.iter().filter(|_| step.action.is_on_host()) {
                touched.insert(region.slot);
                if region.part.is_some() {
                    in_parts.insert(region.slot);
                }
            }
        });
        for slot in touched {
            let buffer = &mut self.buffers[slot.0 as usize];
            if matches!(buffer.place, Place::Arena) && !seen.contains(&slot) && !in_parts.contains(&slot) {
                buffer.place = Place::Host;
            }
        }
    }

    fn transferred(
        &mut self,
        steps: Vec<Step>,
        mirrors: &mut Mirrors,
        seen: &HashSet<Slot>,
        constants: &mut HashMap<Slot, Slot>,
    ) -> Vec<Step> {
        let mut block = Vec::with_capacity(steps.len());
        for mut step in steps {
            if !step.action.is_on_host() {
                let written = self.accesses(&step).into_iter().filter(|a| a.mode != Mode::Read);
                let written: HashSet<Slot> = written.map(|a| self.root(a.region.slot)).collect();
                mirrors.valid.retain(|slot, _| !written.contains(&self.root(*slot)));
                // A block may run many times: what holds before it and is not written in it holds in it.
                for inner in step.action.blocks_mut() {
                    let mut known = Mirrors { valid: mirrors.valid.clone() };
                    *inner = self.transferred(std::mem::take(inner), &mut known, seen, constants);
                }
                self.append(&mut block, step);
                continue;
            }
            let modes: Vec<Mode> = self.modes(&step).into_iter().map(|(_, mode)| mode).collect();
            let mut crossing = Crossing { mirrors, seen, constants };
            let regions = || modes.iter().copied().enumerate();
            for (n, _) in regions().filter(|(_, mode)| *mode == Mode::Read) {
                if let Some(transfer) = self.bring(&mut step.buffers[n], &mut crossing) {
                    self.append(&mut block, transfer);
                }
            }
            let mut after = Vec::new();
            for (n, _) in regions().filter(|(_, mode)| *mode != Mode::Read) {
                after.extend(self.hand_over(&mut step.buffers[n], &mut crossing));
            }
            self.append(&mut block, step);
            after.into_iter().for_each(|t| self.append(&mut block, t));
        }
        block
    }

    /// Lets a step of the host read a region in the host's memory; gives the transfer that it takes, if any.
    fn bring(&mut self, region: &mut Region, crossing: &mut Crossing<'_>) -> Option<Step> {
        let is_whole = region.part.is_none();
        if is_whole && matches!(self.buffer(region.slot).place, Place::Constant { .. }) {
            region.slot = self.constant_of_host(region.slot, crossing);
            return None;
        }
        if let (true, Some(mirror)) = (is_whole, crossing.mirrors.valid.get(&region.slot)) {
            region.slot = *mirror;
            return None;
        }
        let mirror = self.mirror(region)?;
        let there = std::mem::replace(region, mirror.into());
        if is_whole {
            crossing.mirrors.valid.insert(there.slot, mirror);
        }
        Some(Step { buffers: vec![there, mirror.into()], ..Step::new(Action::Transfer, []) })
    }

    /// Lets a step of the host write a region in the host's memory; gives the transfer that follows, if any.
    fn hand_over(&mut self, region: &mut Region, crossing: &mut Crossing<'_>) -> Option<Step> {
        let mirror = self.mirror(region)?;
        let there = std::mem::replace(region, mirror.into());
        // Others may hold the same bytes.
        let root = self.root(there.slot);
        crossing.mirrors.valid.retain(|slot, _| self.root(*slot) != root);
        if there.part.is_none() {
            crossing.mirrors.valid.insert(there.slot, mirror);
        }
        Some(Step { buffers: vec![mirror.into(), there], ..Step::new(Action::Transfer, []) })
    }

    /// A constant for steps of the host: itself if no step of the device reads it, otherwise another of the same elements.
    fn constant_of_host(&mut self, slot: Slot, crossing: &mut Crossing<'_>) -> Slot {
        if !crossing.seen.contains(&slot) {
            return slot;
        }
        *crossing.constants.entry(slot).or_insert_with(|| {
            let buffer = self.buffer(slot).clone();
            self.add_buffer(PlanBuffer { name: format!("{}.host", buffer.name), ..buffer })
        })
    }

    /// A buffer of the host for a region that lies on the device.
    fn mirror(&mut self, region: &Region) -> Option<Slot> {
        let buffer = self.buffer(region.slot);
        let bytes = match (&buffer.place, &region.part) {
            (Place::Value(_) | Place::Host, _) => return None,
            (_, Some((from, to))) => to.clone() - from.clone(),
            (_, None) => buffer.bytes.clone(),
        };
        let name = format!("{}.host", buffer.name);
        Some(self.add_buffer(PlanBuffer { name, bytes, place: Place::Host }))
    }

    /// The constants that steps of the host read, after [`Plan::add_transfers`]: they lie in the host's memory, all others on the device.
    pub fn constants_of_host(&self) -> HashSet<Slot> {
        let mut found = HashSet::new();
        self.visit(&mut |step, _| {
            let constant = |s: &Slot| matches!(self.buffer(*s).place, Place::Constant { .. });
            if step.action.is_on_host() {
                found.extend(step.buffers.iter().map(|r| r.slot).filter(constant));
            }
        });
        found
    }
}

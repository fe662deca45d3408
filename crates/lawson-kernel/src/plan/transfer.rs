//! Transfers: a plan for a device lets steps that are left to the host work in the host's memory.
//!
//! In: a plan whose buffers lie on a device. Out: the same plan, in which every step of the host reads and writes buffers of the host,
//! and a [`Action::Transfer`] stands before it for each buffer that it reads and after it for each that it writes. What has no
//! bytes is the host's already.

use super::{Action, Mode, Place, Plan, PlanBuffer, Region, Slot, Step};
use lawson_graph::Result;

impl Plan {
    /// Adds transfers around the steps that are left to the host.
    pub fn add_transfers(&mut self) -> Result<()> {
        let steps = std::mem::take(&mut self.steps);
        self.steps = self.transferred(steps);
        if cfg!(debug_assertions) {
            crate::borrow::assert(self, None)?;
        }
        Ok(())
    }

    fn transferred(&mut self, steps: Vec<Step>) -> Vec<Step> {
        let mut block = Vec::with_capacity(steps.len());
        for mut step in steps {
            for inner in step.action.blocks_mut() {
                *inner = self.transferred(std::mem::take(inner));
            }
            if !step.action.is_on_host() {
                self.append(&mut block, step);
                continue;
            }
            let modes: Vec<Mode> = self.modes(&step).into_iter().map(|(_, mode)| mode).collect();
            let mut after = Vec::new();
            for (region, mode) in step.buffers.iter_mut().zip(modes) {
                let Some(mirror) = self.mirror(region) else { continue };
                let there = std::mem::replace(region, mirror.into());
                let (from, to) = match mode {
                    Mode::Read => (there, mirror.into()),
                    Mode::Write | Mode::Atomic => (mirror.into(), there),
                };
                let transfer = Step { buffers: vec![from, to], ..Step::new(Action::Transfer, []) };
                match mode {
                    Mode::Read => self.append(&mut block, transfer),
                    Mode::Write | Mode::Atomic => after.push(transfer),
                }
            }
            self.append(&mut block, step);
            after.into_iter().for_each(|t| self.append(&mut block, t));
        }
        block
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
}

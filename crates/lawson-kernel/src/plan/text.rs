//! Plans as text, for people: the buffers with their places and sizes, then the steps with the barriers between them.
//!
//! In: a plan and, where the sizes are known, what [`Plan::bind`] made of it. Out: text that nothing reads back; kernels have
//! a text form of their own.

use super::{Barrier, Bound, Place, Plan, PlanBuffer, Slot, Step};
use crate::buffer::{Layout, Role};
use std::fmt;

/// A plan to be printed.
#[derive(Clone, Copy, Debug)]
pub struct PlanText<'p> {
    plan: &'p Plan,
    bound: Option<&'p Bound>,
}

impl Plan {
    /// The plan as text; with sizes where it is bound.
    pub fn text<'p>(&'p self, bound: Option<&'p Bound>) -> PlanText<'p> {
        PlanText { plan: self, bound }
    }

    /// A step in words: its kernel, the buffers that it reads and those that it writes.
    ///
    /// Names alone would not do: a constant that lies in two ways is two buffers of one name.
    pub fn describe(&self, step: &Step) -> String {
        let kernel = &self.kernels[step.kernel];
        let (mut read, mut written) = (Vec::new(), Vec::new());
        for (buffer, slot) in kernel.arguments().zip(&step.buffers) {
            let name = self.slot_name(*slot);
            match kernel.buffer(buffer).role {
                Role::Output => written.push(name),
                Role::Input | Role::Scratch(_) => read.push(name),
            }
        }
        format!("@{}({} -> {})", kernel.name, read.join(", "), written.join(", "))
    }

    fn slot_name(&self, slot: Slot) -> String {
        format!("#{} {}", slot.0, self.buffers[slot.0 as usize].name)
    }
}

impl PlanBuffer {
    /// Where it is, in words.
    pub fn place_name(&self) -> String {
        match &self.place {
            Place::Input(n) => format!("input {n}"),
            Place::Output(n) => format!("output {n}"),
            Place::Constant { dims, layout, .. } if *layout == Layout::row_major(dims) => {
                "constant".to_string()
            }
            Place::Constant { .. } => "constant, packed".to_string(),
            Place::Arena => "arena".to_string(),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text(None).fmt(f)
    }
}

impl fmt::Display for PlanText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PlanText { plan, bound } = *self;
        let facts: Vec<String> = plan.facts.written().iter().map(ToString::to_string).collect();
        let facts = if facts.is_empty() { String::new() } else { format!(" where {}", facts.join(", ")) };
        writeln!(f, "plan{facts}")?;
        writeln!(f, "buffers")?;
        let mut rows: Vec<[String; 3]> = Vec::with_capacity(plan.buffers.len());
        for (n, b) in plan.buffers.iter().enumerate() {
            let place = match bound.and_then(|bound| bound.offsets[n]) {
                Some(at) => format!("{} at {at}", b.place_name()),
                None => b.place_name(),
            };
            let bytes = match bound {
                Some(bound) => format!("{} bytes", bound.bytes[n]),
                None => format!("{} bytes", b.bytes),
            };
            rows.push([plan.slot_name(Slot(n as u32)), place, bytes]);
        }
        let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
        let widths = [width(0), width(1)];
        for [name, place, bytes] in &rows {
            writeln!(f, "  {name:0$}  {place:1$}  {bytes}", widths[0], widths[1])?;
        }
        if let Some(bound) = bound {
            let apart: usize =
                bound.offsets.iter().zip(&bound.bytes).filter(|(at, _)| at.is_some()).map(|(_, b)| b).sum();
            writeln!(f, "  arena: {} bytes; without sharing: {apart}", bound.arena)?;
        }
        writeln!(f, "steps")?;
        for (n, step) in plan.steps.iter().enumerate() {
            if step.barrier == Barrier::Before {
                writeln!(f, "  barrier")?;
            }
            writeln!(f, "  {n}: kernel {}, {}", step.kernel, plan.describe(step))?;
        }
        Ok(())
    }
}

//! Whether what a step is given is as large as what it works on.

use super::explain::Numbered;
use super::walk::Walk;
use crate::plan::{Action, Again, Place, Region, Slot, Staged};
use lawson_graph::{Dim, Fact, Type};

impl<'p> Walk<'p> {
    /// Compares the regions of a step with the buffers of its kernel, the types of its graph, the buffers of its stage.
    pub(super) fn sizes(&mut self, step: Numbered<'p>) {
        match &step.step.action {
            Action::Launch { kernel } | Action::Call { kernel } | Action::Evaluate { kernel, .. } => {
                self.kernel_sizes(step, *kernel);
            }
            Action::Interpret(i) => {
                let outputs = i.graph.outputs().iter().map(|o| o.value);
                let values: Vec<_> = i.graph.inputs().iter().copied().chain(outputs).collect();
                self.count(step, values.len());
                for (value, region) in values.into_iter().zip(&step.step.buffers) {
                    let Type::Tensor(ty) = i.graph.ty(value) else { continue };
                    let name = i.graph.value_name(value);
                    self.size(step, &format!("`{name}` of the graph"), &ty.bytes(), region);
                }
            }
            Action::Staged(s) => self.stage_sizes(step, s),
            Action::Transfer => {
                self.count(step, 2);
                if let [from, to] = &step.step.buffers[..] {
                    let (first, bytes) = self.memory.span(to);
                    self.size(step, "what it writes", &(bytes - first), from);
                }
            }
            Action::Branch(b) => self.condition(step, b.condition),
            Action::Loop(l) => {
                if let Again::While { condition, .. } = l.again {
                    self.condition(step, condition);
                }
            }
            Action::Declared { .. } => {}
        }
    }

    fn kernel_sizes(&mut self, step: Numbered<'p>, kernel: usize) {
        let kernel = &self.memory.plan.kernels[kernel];
        self.count(step, kernel.arguments().count());
        for (argument, region) in kernel.arguments().zip(&step.step.buffers) {
            let buffer = kernel.buffer(argument);
            self.size(step, &format!("`{}` of `@{}`", buffer.name, kernel.name), &buffer.bytes(), region);
        }
        // The kernel was verified for sizes of which its facts hold.
        let facts = self.memory.facts();
        let known = |f: &Fact| facts.written().contains(f) || facts.implies(f);
        if let Some(fact) = kernel.facts.written().iter().find(|f| !known(f)) {
            let message = format!(
                "step {} runs `@{}`, which is made for `{fact}`, and that does not follow from the plan's facts",
                step.number, kernel.name
            );
            let help = "state the fact behind the plan's name: `where …`";
            self.findings.region(&self.memory, step, message, help);
        }
    }

    fn stage_sizes(&mut self, step: Numbered<'p>, s: &'p Staged) {
        self.count(step, s.inputs.len() + s.outputs.len());
        for b in &s.plan.buffers {
            let argument = match b.place {
                Place::Input(n) if n < s.inputs.len() => n,
                Place::Output(n) if n < s.outputs.len() => s.inputs.len() + n,
                _ => continue,
            };
            let Some(region) = step.step.buffers.get(argument) else { continue };
            let given = self.memory.plan.buffer(region.slot);
            let (from, to) = region.range(&given.bytes);
            let bytes = to - from;
            if !matches!(given.place, Place::Value(_))
                && !s.plan.facts.equal(&bytes, &b.bytes)
                && !self.memory.facts().equal(&bytes, &b.bytes)
            {
                let message = format!(
                    "the stage of step {} has {} bytes for `{}`, and is given `{}` with {bytes}",
                    step.number, b.bytes, b.name, given.name
                );
                self.findings.region(&self.memory, step, message, "a stage works on whole buffers");
            }
        }
    }

    /// A condition is one byte.
    fn condition(&mut self, step: Numbered<'p>, condition: Slot) {
        self.size(step, "its condition", &Dim::ONE, &condition.into());
    }

    /// What a step works on takes so many bytes: not less, which it would go beyond, and not more, of which the rest would count as written.
    fn size(&mut self, step: Numbered<'p>, what: &str, needed: &Dim, region: &Region) {
        let (memory, facts) = (&self.memory, self.memory.facts());
        let given = memory.plan.buffer(region.slot);
        let (from, to) = region.range(&given.bytes);
        let bytes = to - from;
        if matches!(given.place, Place::Value(_)) || facts.equal(&bytes, needed) {
            return;
        }
        let part = if region.part.is_some() { "a part of " } else { "" };
        let message = format!(
            "step {} needs {needed} bytes for {what}, and is given {part}`{}` with {bytes}",
            step.number, given.name
        );
        let help = "give it as many bytes as it works on, for all sizes that the facts allow";
        self.findings.region(memory, step, message, help);
    }

    fn count(&mut self, step: Numbered<'p>, wanted: usize) {
        let given = step.step.buffers.len();
        if given != wanted {
            let message = format!("step {} works on {wanted} buffers, and is given {given}", step.number);
            self.findings.region(&self.memory, step, message, "give one for each");
        }
    }
}

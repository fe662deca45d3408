//! Plans as text, for people: the buffers with their places and sizes, then the steps with the barriers between them.
//!
//! In: a plan and, where the sizes are known, what [`Plan::bind`] made of it.

use super::{Action, Again, Barrier, Bound, Mode, Order, Place, Plan, PlanBuffer, Slot, Step, ValuePort};
use crate::buffer::Layout;
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

    /// A step in words: what it does, the buffers that it reads and those that it writes.
    ///
    /// Names alone would not do: a constant that lies in two ways is two buffers of one name.
    pub fn describe(&self, step: &Step) -> String {
        match &step.action {
            Action::Loop(l) => return self.describe_loop(l),
            Action::Branch(b) => return format!("branch on {}", self.slot_name(b.condition)),
            _ => {}
        }
        let name = self.step_name(step);
        let (mut read, mut written) = (Vec::new(), Vec::new());
        for (region, mode) in self.modes(step) {
            let part = region.part.as_ref().map_or(String::new(), |(a, b)| format!("[{a}..{b}]"));
            let name = self.slot_name(region.slot) + &part;
            match mode {
                Mode::Read => read.push(name),
                Mode::Write | Mode::Atomic => written.push(name),
            }
        }
        format!("@{name}({} -> {})", read.join(", "), written.join(", "))
    }

    /// What a step is called: the kernel, the operators, or what it is.
    pub fn step_name(&self, step: &Step) -> String {
        match &step.action {
            Action::Launch { kernel } | Action::Call { kernel } | Action::Evaluate { kernel, .. } => {
                self.kernels[*kernel].name.clone()
            }
            Action::Interpret(i) => {
                let ops = i.graph.nodes().iter().filter(|n| !matches!(n.op, lawson_graph::Op::Constant(_)));
                let ops: Vec<&str> = ops.map(|n| n.op.name()).collect();
                if ops.is_empty() { "copy".to_string() } else { ops.join("+") }
            }
            Action::Staged(_) => "stage".to_string(),
            Action::Transfer => "transfer".to_string(),
            Action::Loop(_) => "loop".to_string(),
            Action::Branch(_) => "branch".to_string(),
            Action::Declared { name, .. } => name.clone(),
        }
    }

    fn describe_loop(&self, l: &super::Loop) -> String {
        let mut text = match &l.again {
            Again::Times(n) => format!("loop {n} times"),
            Again::While { condition, .. } => format!("loop while {}", self.slot_name(*condition)),
        };
        for c in &l.carried {
            text += &match c.state == c.next {
                true => format!(", {} in place", self.slot_name(c.state)),
                false => format!(", {} from {}", self.slot_name(c.state), self.slot_name(c.next)),
            };
        }
        for r in &l.rows {
            let from = if r.order == Order::Backward { " backwards" } else { "" };
            text += &format!(", {} by rows{from}", self.slot_name(r.row));
        }
        text
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
            Place::Host => "host".to_string(),
            Place::Row { of } => format!("row of #{}", of.0),
            Place::Value(ValuePort::Input(n)) => format!("input {n}, a value of the host"),
            Place::Value(ValuePort::Output(n)) => format!("output {n}, a value of the host"),
            Place::Value(ValuePort::Own) => "a value of the host".to_string(),
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
            let bytes = match (&b.place, bound) {
                (Place::Value(_), _) => String::new(),
                (_, Some(bound)) => format!("{} bytes", bound.bytes[n]),
                (_, None) => format!("{} bytes", b.bytes),
            };
            rows.push([plan.slot_name(Slot(n as u32)), place, bytes]);
        }
        let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
        let widths = [width(0), width(1)];
        for [name, place, bytes] in &rows {
            let row = format!("  {name:0$}  {place:1$}  {bytes}", widths[0], widths[1]);
            writeln!(f, "{}", row.trim_end())?;
        }
        if let Some(bound) = bound {
            let apart: usize =
                bound.offsets.iter().zip(&bound.bytes).filter(|(at, _)| at.is_some()).map(|(_, b)| b).sum();
            writeln!(
                f,
                "  arena: {} bytes; needed at once: {}; without sharing: {apart}",
                bound.arena, bound.needed
            )?;
        }
        writeln!(f, "steps")?;
        let mut number = 0;
        block(f, plan, &plan.steps, 1, &mut number)
    }
}

/// The steps of a block, numbered as [`Plan::visit`] goes through them.
fn block(
    f: &mut fmt::Formatter<'_>,
    plan: &Plan,
    steps: &[Step],
    depth: usize,
    number: &mut usize,
) -> fmt::Result {
    let margin = "  ".repeat(depth);
    for step in steps {
        if step.barrier == Barrier::Before {
            writeln!(f, "{margin}barrier")?;
        }
        let n = *number;
        *number += 1;
        let what = plan.describe(step);
        match &step.action {
            Action::Launch { kernel } => writeln!(f, "{margin}{n}: kernel {kernel}, {what}")?,
            Action::Call { kernel } => writeln!(f, "{margin}{n}: kernel {kernel} on the processor, {what}")?,
            Action::Evaluate { kernel, why } => {
                writeln!(f, "{margin}{n}: kernel {kernel} by the evaluator, {what}")?;
                writeln!(f, "{margin}   because {}", why.message())?;
            }
            Action::Interpret(i) => {
                writeln!(f, "{margin}{n}: interpreter, {what}")?;
                writeln!(f, "{margin}   because {}", i.why.message())?;
            }
            Action::Staged(s) => {
                writeln!(f, "{margin}{n}: {what} for sizes that are found in the run")?;
                for line in s.plan.text(None).to_string().lines() {
                    writeln!(f, "{margin}     {line}")?;
                }
            }
            Action::Transfer => writeln!(f, "{margin}{n}: transfer, {what}")?,
            Action::Declared { .. } => writeln!(f, "{margin}{n}: declared, {what}")?,
            Action::Loop(l) => {
                writeln!(f, "{margin}{n}: {what}")?;
                if let Some(why) = &l.why {
                    writeln!(f, "{margin}   because {}", why.message())?;
                }
                if let Again::While { steps, .. } = &l.again {
                    writeln!(f, "{margin}   condition")?;
                    block(f, plan, steps, depth + 2, number)?;
                }
                writeln!(f, "{margin}   body")?;
                block(f, plan, &l.body, depth + 2, number)?;
            }
            Action::Branch(b) => {
                writeln!(f, "{margin}{n}: {what}")?;
                writeln!(f, "{margin}   then")?;
                block(f, plan, &b.then, depth + 2, number)?;
                writeln!(f, "{margin}   otherwise")?;
                block(f, plan, &b.otherwise, depth + 2, number)?;
            }
        }
    }
    Ok(())
}

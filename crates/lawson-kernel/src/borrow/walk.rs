//! Going through a plan in order: phases, branches, loops.

use super::bytes::{Memory, Written};
use super::explain::{Findings, Numbered};
use super::{Kernels, Report, in_place};
use crate::plan::{
    Access, Action, Again, Barrier, Bound, Branch, Carried, Loop, Mode, Place, Places, Plan, Region, Slot,
    Staged, Step, ValuePort,
};
use lawson_graph::Dim;
use std::collections::{HashMap, HashSet};

/// Steps since the last barrier, with what they do.
type Phase<'p> = Vec<(Numbered<'p>, Vec<Access>)>;

pub(super) struct Walk<'p> {
    pub(super) memory: Memory<'p>,
    pub(super) findings: Findings<'p>,
    numbers: HashMap<*const Step, usize>,
    written: Written,
    phase: Phase<'p>,
    /// Proofs that a kernel may write its output over an input, by kernel and arguments.
    proofs: HashMap<(usize, usize, usize), bool>,
    /// Stages whose plans were checked.
    stages: HashSet<usize>,
    kernels: Kernels,
    /// Where the parts of stages stand, by step.
    inside: HashMap<usize, Option<&'p Places>>,
}

pub(super) fn check<'p>(
    plan: &'p Plan,
    bound: Option<&'p Bound>,
    places: Option<&'p Places>,
    kernels: Kernels,
) -> Report {
    let memory = Memory::new(plan, bound);
    let written = memory.at_first();
    let (mut numbers, mut inside) = (HashMap::new(), HashMap::new());
    plan.visit(&mut |step, _| {
        let number = numbers.len();
        numbers.insert(std::ptr::from_ref(step), number);
        if matches!(step.action, Action::Staged(_)) {
            let inner = places.and_then(|p| p.stages.get(inside.len()));
            inside.insert(number, inner);
        }
    });
    let mut walk = Walk {
        memory,
        findings: Findings::new(places),
        numbers,
        written,
        phase: Vec::new(),
        proofs: HashMap::new(),
        stages: HashSet::new(),
        kernels,
        inside,
    };
    walk.block(&plan.steps);
    walk.outputs();
    walk.findings.report
}

impl<'p> Walk<'p> {
    fn numbered(&self, step: &'p Step) -> Numbered<'p> {
        Numbered { number: self.numbers.get(&std::ptr::from_ref(step)).copied().unwrap_or(0), step }
    }

    fn block(&mut self, steps: &'p [Step]) {
        for (n, step) in steps.iter().enumerate() {
            if step.barrier == Barrier::Before {
                self.barrier(&steps[n..]);
            }
            self.sizes(self.numbered(step));
            match &step.action {
                Action::Loop(l) => self.iterate(self.numbered(step), l),
                Action::Branch(b) => self.branch(self.numbered(step), b),
                action => {
                    if let Action::Staged(s) = action {
                        self.stage(self.numbered(step), s);
                    }
                    let accesses = self.accesses(step);
                    self.step(self.numbered(step), accesses);
                }
            }
        }
    }

    /// What a step that holds no others does, byte for byte: rows are their own buffers here.
    fn accesses(&self, step: &'p Step) -> Vec<Access> {
        let access = |(region, mode): (&Region, Mode)| Access { region: region.clone(), mode };
        match &step.action {
            Action::Declared { accesses, .. } => accesses.clone(),
            _ => self.memory.plan.modes(step).into_iter().map(access).collect(),
        }
    }

    /// A barrier, and what follows it in its block.
    fn barrier(&mut self, after: &'p [Step]) {
        let control = after.first().is_some_and(|s| s.action.is_control());
        if !control && !self.phase.is_empty() {
            let next = after
                .iter()
                .enumerate()
                .take_while(|(n, s)| *n == 0 || (s.barrier == Barrier::None && !s.action.is_control()));
            let later: Vec<Access> = next.flat_map(|(_, s)| self.accesses(s)).collect();
            let meets = |a: &Access| later.iter().any(|b| self.meets(a, b));
            let needed = self.phase.iter().any(|(_, before)| before.iter().any(meets));
            if let (false, Some(step)) = (needed, after.first()) {
                self.findings.needless(&self.memory, self.numbered(step));
            }
        }
        self.phase.clear();
    }

    /// A region with the buffer that has its bytes: a row lies anywhere in it.
    fn at_root(&self, region: &Region) -> Region {
        match self.memory.plan.root(region.slot) {
            root if root == region.slot => region.clone(),
            root => root.into(),
        }
    }

    fn meets(&self, a: &Access, b: &Access) -> bool {
        !a.mode.agrees(b.mode)
            && self.memory.common(&self.at_root(&a.region), &self.at_root(&b.region)).is_some()
    }

    fn step(&mut self, step: Numbered<'p>, accesses: Vec<Access>) {
        for access in &accesses {
            self.role(step, access);
        }
        self.races(step, &accesses);
        self.itself(step, &accesses);
        for access in accesses.iter().filter(|a| a.mode != Mode::Write) {
            self.reads(step, access);
            if access.mode == Mode::Atomic {
                let name = &self.memory.plan.buffer(access.region.slot).name;
                let by = self.memory.plan.step_name(step.step);
                self.findings.note(format!("step {} (`{by}`) adds atomically to `{name}`", step.number));
            }
        }
        for access in accesses.iter().filter(|a| a.mode != Mode::Read) {
            let root = self.at_root(&access.region);
            self.written.write(&access.region, &root, step.number, &self.memory);
        }
        self.phase.push((step, accesses));
    }

    /// What the caller is given is written.
    fn outputs(&mut self) {
        for (n, b) in self.memory.plan.buffers.iter().enumerate() {
            let slot = Slot(n as u32);
            if !matches!(b.place, Place::Output(_) | Place::Value(ValuePort::Output(_))) {
                continue;
            }
            if let Some(missing) = self.written.missing(&slot.into(), &self.memory) {
                self.findings.unfinished(&self.memory, slot, &missing, self.written.over[n]);
            }
        }
    }

    fn reads(&mut self, step: Numbered<'p>, access: &Access) {
        if let Some(missing) = self.written.missing(&access.region, &self.memory) {
            let slot = access.region.slot;
            let over = self.written.over[slot.0 as usize];
            self.findings.unwritten(&self.memory, step, access, &missing, over);
            // Said once.
            self.written.spans[slot.0 as usize].push(self.memory.span(&access.region));
        }
    }

    fn role(&mut self, step: Numbered<'p>, access: &Access) {
        let (memory, facts) = (&self.memory, self.memory.facts());
        let buffer = memory.plan.buffer(access.region.slot);
        let name = &buffer.name;
        if access.mode != Mode::Read
            && matches!(
                memory.plan.buffer(memory.plan.root(access.region.slot)).place,
                Place::Input(_) | Place::Constant { .. }
            )
        {
            let message = format!("step {} writes `{name}`, which is only to be read", step.number);
            self.findings.region(memory, step, message, "write to the arena or to an output");
        } else if let Some((from, to)) = &access.region.part {
            let inside =
                facts.is_nonnegative(from) && facts.proves_ge(to, from) && facts.proves_ge(&buffer.bytes, to);
            if !inside {
                let message = format!(
                    "step {} {} bytes {from}..{to} of `{name}`, which has {}",
                    step.number,
                    access.mode.verb(),
                    buffer.bytes
                );
                let help = "regions lie inside their buffers for all sizes that the facts allow";
                self.findings.region(memory, step, message, help);
            }
        }
    }

    fn races(&mut self, step: Numbered<'p>, accesses: &[Access]) {
        let mut found = Vec::new();
        for (n, (_, before)) in self.phase.iter().enumerate() {
            for a in before {
                for b in accesses {
                    if a.mode.agrees(b.mode) {
                        continue;
                    }
                    let (x, y) = (self.at_root(&a.region), self.at_root(&b.region));
                    if let Some(common) = self.memory.common(&x, &y) {
                        let (x, y) = (Access { region: x, mode: a.mode }, Access { region: y, mode: b.mode });
                        found.push((n, x, y, common));
                    }
                }
            }
        }
        for (n, a, b, common) in found {
            let one = self.phase[n].0;
            self.findings.race(&self.memory, (one, &a), (step, &b), &common);
        }
    }

    /// Whether a step writes over what it reads, or twice to the same bytes.
    fn itself(&mut self, step: Numbered<'p>, accesses: &[Access]) {
        let kernel = step.step.action.kernel();
        for (n, a) in accesses.iter().enumerate() {
            for (m, b) in accesses.iter().enumerate().filter(|(m, _)| *m > n) {
                let (x, y) = (self.at_root(&a.region), self.at_root(&b.region));
                if a.mode.agrees(b.mode) || self.memory.common(&x, &y).is_none() {
                    continue;
                }
                // The interpreter and the evaluator copy what they read.
                let copied = step.step.action.copies() && (a.mode == Mode::Read || b.mode == Mode::Read);
                let proven = match kernel {
                    Some(_) if self.kernels == Kernels::Refused => true,
                    Some(k) if a.mode == Mode::Read && b.mode == Mode::Write && self.same_place(&x, &y) => {
                        let kernel = &self.memory.plan.kernels[k];
                        *self.proofs.entry((k, n, m)).or_insert_with(|| in_place(kernel, n, m))
                    }
                    _ => false,
                };
                if let (false, false, Some(region)) = (proven, copied, &step.step.race) {
                    let name = &self.memory.plan.buffer(a.region.slot).name;
                    let note = format!(
                        "unsafe \"{region}\": step {} writes `{name}` while it reads it",
                        step.number
                    );
                    self.findings.note(note);
                } else if !proven && !copied {
                    let (read, written) = if a.mode == Mode::Read { (a, b) } else { (b, a) };
                    self.findings.over_itself(&self.memory, step, read, written);
                }
            }
        }
    }

    /// Whether two regions begin at the same byte of the arena.
    fn same_place(&self, a: &Region, b: &Region) -> bool {
        if a.slot == b.slot {
            return a.part == b.part;
        }
        let Some(bound) = self.memory.bound else { return false };
        let at = |r: &Region| bound.offsets[r.slot.0 as usize];
        a.part.is_none() && b.part.is_none() && at(a).is_some() && at(a) == at(b)
    }

    /// The plan of a stage.
    fn stage(&mut self, step: Numbered<'p>, s: &'p Staged) {
        if self.stages.insert(step.number) {
            self.findings.inside(
                step,
                check(&s.plan, None, self.inside.get(&step.number).copied().flatten(), self.kernels),
            );
        }
    }

    fn branch(&mut self, step: Numbered<'p>, b: &'p Branch) {
        let read = Access { region: b.condition.into(), mode: Mode::Read };
        self.phase.clear();
        let before = self.written.clone();
        self.step(step, vec![read.clone()]);
        self.block(&b.then);
        let then = std::mem::replace(&mut self.written, before);
        self.phase.clear();
        self.step(step, vec![read]);
        self.block(&b.otherwise);
        self.written = self.written.both(&then);
        self.phase.clear();
    }

    fn iterate(&mut self, step: Numbered<'p>, l: &'p Loop) {
        self.phase.clear();
        for c in &l.carried {
            self.state(step, c);
            self.reads(step, &Access { region: c.state.into(), mode: Mode::Read });
        }
        for r in &l.rows {
            self.rows(step, l, r.row);
        }
        let before = self.written.clone();
        // Twice: what an iteration leaves is what the next one finds.
        for _ in 0..2 {
            self.iteration(step, l);
        }
        let after = std::mem::replace(&mut self.written, before);
        // What iterations write is written if there are any.
        self.written = match &l.again {
            Again::Times(n) if self.memory.facts().is_positive(n) => after.clone(),
            Again::Times(_) | Again::While { .. } => self.written.both(&after),
        };
        for c in &l.carried {
            self.written.spans[c.state.0 as usize] = after.spans[c.state.0 as usize].clone();
        }
        // A row that every iteration writes: together they are the whole.
        for r in &l.rows {
            let of = self.memory.plan.root(r.row);
            if after.missing(&r.row.into(), &self.memory).is_none()
                && !after.spans[r.row.0 as usize].is_empty()
            {
                self.written.write(&of.into(), &of.into(), step.number, &self.memory);
            }
        }
        self.phase.clear();
    }

    fn iteration(&mut self, step: Numbered<'p>, l: &'p Loop) {
        for r in &l.rows {
            let Place::Row { of } = self.memory.plan.buffer(r.row).place else { continue };
            let there = self.written.missing(&of.into(), &self.memory).is_none();
            let whole = (Dim::ZERO, self.memory.size(r.row));
            self.written.spans[r.row.0 as usize] = if there { vec![whole] } else { Vec::new() };
        }
        if let Again::While { steps, condition } = &l.again {
            self.block(steps);
            self.phase.clear();
            self.step(step, vec![Access { region: (*condition).into(), mode: Mode::Read }]);
        }
        self.block(&l.body);
        self.phase.clear();
        for Carried { state, next } in &l.carried {
            self.reads(step, &Access { region: (*next).into(), mode: Mode::Read });
            if state != next {
                self.written.spans.swap(state.0 as usize, next.0 as usize);
                self.written.spans[next.0 as usize].clear();
            }
        }
    }

    fn state(&mut self, step: Numbered<'p>, c: &Carried) {
        let (memory, facts) = (&self.memory, self.memory.facts());
        let [a, b] = [c.state, c.next].map(|s| memory.plan.buffer(s));
        let arena = [a, b].iter().all(|x| matches!(x.place, Place::Arena));
        if !facts.equal(&a.bytes, &b.bytes) || (c.state != c.next && !arena) {
            let message = format!(
                "the state `{}` ({} bytes, {}) and the next state `{}` ({} bytes, {}) cannot exchange their places",
                a.name,
                a.bytes,
                a.place_name(),
                b.name,
                b.bytes,
                b.place_name()
            );
            self.findings.region(memory, step, message, "both lie in the arena, and are equally large");
        }
    }

    fn rows(&mut self, step: Numbered<'p>, l: &Loop, row: Slot) {
        let (memory, facts) = (&self.memory, self.memory.facts());
        let buffer = memory.plan.buffer(row);
        let (Place::Row { of }, Again::Times(times)) = (&buffer.place, &l.again) else {
            let message = format!("`{}` is no row of a loop that runs a known number of times", buffer.name);
            self.findings.region(memory, step, message, "rows belong to a loop of so many times");
            return;
        };
        let whole = memory.plan.buffer(*of);
        if !facts.equal(&(buffer.bytes.clone() * times.clone()), &whole.bytes) {
            let message = format!(
                "{times} rows of {} bytes are not the {} bytes of `{}`",
                buffer.bytes, whole.bytes, whole.name
            );
            self.findings.region(
                memory,
                step,
                message,
                "rows divide what they are rows of, one an iteration",
            );
        }
    }
}

//! The text form of plans: what people write, check and keep in files (`.plan`).
//!
//! ```text
//! lawson-plan 1
//! plan @concat where N >= 1 {
//!   input 0 a: 4*N
//!   input 1 b: 4*N
//!   arena t: 8*N at 0
//!   output 0 y: 8*N
//!   step left reads a writes t[0 to 4*N]
//!   step right reads b writes t[4*N to 8*N]
//!   barrier
//!   step last reads t writes y
//! }
//! ```
//!
//! Reading what was printed and printing that gives the same text.
//!
//! - Buffers come first: `input` and `output` with the caller's number, `constant`, `arena`, which may say `at` which byte it lies,
//!   `host` for what lies in the host's memory beside a device, `row r of t`, and `value` for what the host keeps without bytes. The size in bytes follows the colon.
//! - `kernel @name { … }` is a kernel as `docs/kernel-form.md` has it, without its first line. `launch 0 @name (a, b -> y)` runs the kernel of
//!   that number on buffers for those of its own that are not scratch; `call` runs it on the processor beside a device, `evaluate` leaves it to the evaluator.
//! - `step name reads … writes … adds …` says what a step does without saying how: it can be checked, but not run. Parts of a graph that the
//!   interpreter runs are printed so.
//! - `stage @name (a, b -> y) where K <= 8 { … }` is a plan of its own, whose inputs and outputs are these buffers, and whose sizes are found in the
//!   run; names of buffers in it are its own.
//! - `transfer x to y` moves bytes between the host's memory and a device's.
//! - `y[0 to 64]` are bytes 0 to 63 of `y`; without brackets it is all of it.
//! - `loop N times state s from t, u in place rows r, q backwards { … }`; `loop while c state … condition { … } body { … }`;
//!   `branch c then { … } otherwise { … }`.
//! - `barrier` stands between steps; `unsafe "name" { … }` around steps that may race with each other.

use super::{
    Action, Again, Barrier, Bound, Carried, Loop, Mode, Order, Place, Plan, Region, Row, Slot, Step,
    ValuePort,
};
use lawson_graph::syntax::Name;
use std::collections::HashMap;
use std::fmt::Write;

/// The version that the header names.
pub(super) const VERSION: &str = "1";
/// What the first line of a plan begins with.
pub(super) const HEADER: &str = "lawson-plan";

/// Words that are names only in quotes.
const WORDS: [&str; 12] = [
    "reads",
    "writes",
    "adds",
    "state",
    "rows",
    "condition",
    "body",
    "then",
    "otherwise",
    "in",
    "backwards",
    "because",
];

impl Plan {
    /// The plan in its text form, which [`Plan::parse`] reads; with places where it is bound.
    pub fn to_text(&self, bound: Option<&Bound>) -> String {
        let mut p = Printer { plan: self, names: names(self), out: String::new() };
        p.plan(bound);
        p.out
    }
}

/// A name for each buffer: its own, with a number where it is not the first of that name.
fn names(plan: &Plan) -> Vec<String> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut taken: std::collections::HashSet<String> = plan.buffers.iter().map(|b| b.name.clone()).collect();
    let mut names = Vec::with_capacity(plan.buffers.len());
    for b in &plan.buffers {
        let count = seen.entry(&b.name).or_default();
        *count += 1;
        let mut name = b.name.clone();
        while *count > 1 && taken.contains(&name) {
            name = format!("{}.{count}", b.name);
            if taken.insert(name.clone()) {
                break;
            }
            *count += 1;
        }
        names.push(name);
    }
    names
}

/// What a plan knows of its symbols, behind its name.
fn facts(plan: &Plan) -> String {
    let facts: Vec<String> = plan.facts.written().iter().map(ToString::to_string).collect();
    if facts.is_empty() { String::new() } else { format!(" where {}", facts.join(", ")) }
}

fn word(name: &str) -> String {
    // A word in quotes needs no escapes.
    if WORDS.contains(&name) { format!("\"{name}\"") } else { Name(name).to_string() }
}

struct Printer<'p> {
    plan: &'p Plan,
    names: Vec<String>,
    out: String,
}

impl Printer<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "  ".repeat(depth));
    }

    fn name(&self, slot: Slot) -> String {
        word(&self.names[slot.0 as usize])
    }

    fn plan(&mut self, bound: Option<&Bound>) {
        let plan = self.plan;
        self.line(0, &format!("{HEADER} {VERSION}"));
        self.line(0, &format!("plan @{}{} {{", Name(&plan.name), facts(plan)));
        self.contents(1, bound);
        self.line(0, "}");
    }

    /// Buffers, kernels and steps.
    fn contents(&mut self, depth: usize, bound: Option<&Bound>) {
        let plan = self.plan;
        for (n, b) in plan.buffers.iter().enumerate() {
            let name = self.name(Slot(n as u32));
            let bytes = match bound {
                Some(bound) => bound.bytes[n].to_string(),
                None => b.bytes.to_string(),
            };
            let at = bound.and_then(|b| b.offsets[n]).map_or(String::new(), |at| format!(" at {at}"));
            self.line(
                depth,
                &match &b.place {
                    Place::Input(port) => format!("input {port} {name}: {bytes}"),
                    Place::Output(port) => format!("output {port} {name}: {bytes}"),
                    Place::Constant { .. } => format!("constant {name}: {bytes}"),
                    Place::Arena => format!("arena {name}: {bytes}{at}"),
                    Place::Host => format!("host {name}: {bytes}"),
                    Place::Row { of } => format!("row {name} of {}: {bytes}", self.name(*of)),
                    Place::Value(ValuePort::Own) => format!("value {name}"),
                    Place::Value(ValuePort::Input(port)) => format!("value {name} of input {port}"),
                    Place::Value(ValuePort::Output(port)) => format!("value {name} of output {port}"),
                },
            );
        }
        for kernel in &plan.kernels {
            let text = kernel.to_string();
            text.lines().skip(1).for_each(|l| self.line(depth, l));
        }
        self.block(depth, &plan.steps);
    }

    fn block(&mut self, depth: usize, steps: &[Step]) {
        let mut open: Option<&str> = None;
        for step in steps {
            let race = step.race.as_deref();
            if open.is_some() && (race != open || step.barrier == Barrier::Before) {
                self.line(depth, "}");
                open = None;
            }
            if step.barrier == Barrier::Before {
                self.line(depth, "barrier");
            }
            if let (Some(name), None) = (race, open) {
                self.line(depth, &format!("unsafe {} {{", quoted(name)));
            }
            open = race;
            self.step(depth + usize::from(race.is_some()), step);
        }
        if open.is_some() {
            self.line(depth, "}");
        }
    }

    fn region(&self, region: &Region) -> String {
        let part = region.part.as_ref().map_or(String::new(), |(a, b)| format!("[{a} to {b}]"));
        self.name(region.slot) + &part
    }

    fn step(&mut self, depth: usize, step: &Step) {
        match &step.action {
            Action::Launch { kernel } => {
                let text = self.run("launch", *kernel, step);
                self.line(depth, &text);
            }
            Action::Call { kernel } => {
                let text = self.run("call", *kernel, step);
                self.line(depth, &text);
            }
            Action::Evaluate { kernel, why } => {
                let text = self.run("evaluate", *kernel, step) + " because " + &quoted(why.message());
                self.line(depth, &text);
            }
            Action::Interpret(i) => {
                let modes =
                    self.plan.modes(step).into_iter().map(|(r, m)| (r.clone(), m)).collect::<Vec<_>>();
                let text = self.declared(&self.plan.step_name(step), &modes);
                self.line(depth, &format!("// interpreter: {}", i.why.message().replace('\n', " ")));
                self.line(depth, &text);
            }
            Action::Staged(s) => {
                let given = self.arguments(step);
                self.line(depth, &format!("stage @{} {given}{} {{", Name(&s.plan.name), facts(&s.plan)));
                let mut inner =
                    Printer { plan: &s.plan, names: names(&s.plan), out: std::mem::take(&mut self.out) };
                inner.contents(depth + 1, None);
                self.out = inner.out;
                self.line(depth, "}");
            }
            Action::Transfer => {
                let regions: Vec<String> = step.buffers.iter().map(|r| self.region(r)).collect();
                self.line(depth, &format!("transfer {}", regions.join(" to ")));
            }
            Action::Declared { name, accesses } => {
                let modes: Vec<_> = accesses.iter().map(|a| (a.region.clone(), a.mode)).collect();
                let text = self.declared(name, &modes);
                self.line(depth, &text);
            }
            Action::Loop(l) => self.repeat(depth, l),
            Action::Branch(b) => {
                self.line(depth, &format!("branch {} then {{", self.name(b.condition)));
                self.block(depth + 1, &b.then);
                self.line(depth, "} otherwise {");
                self.block(depth + 1, &b.otherwise);
                self.line(depth, "}");
            }
        }
    }

    fn run(&self, verb: &str, kernel: usize, step: &Step) -> String {
        let name = &self.plan.kernels[kernel].name;
        format!("{verb} {kernel} @{} {}", Name(name), self.arguments(step))
    }

    /// What a step reads and what it writes.
    fn arguments(&self, step: &Step) -> String {
        let (mut read, mut written) = (Vec::new(), Vec::new());
        for (region, mode) in self.plan.modes(step) {
            if mode == Mode::Read { &mut read } else { &mut written }.push(self.region(region));
        }
        let space = if read.is_empty() { "" } else { " " };
        format!("({}{space}-> {})", read.join(", "), written.join(", "))
    }

    fn declared(&self, name: &str, accesses: &[(Region, Mode)]) -> String {
        let mut text = format!("step {}", word(name));
        for (mode, verb) in [(Mode::Read, "reads"), (Mode::Write, "writes"), (Mode::Atomic, "adds")] {
            let of: Vec<String> =
                accesses.iter().filter(|(_, m)| *m == mode).map(|(r, _)| self.region(r)).collect();
            if !of.is_empty() {
                let _ = write!(text, " {verb} {}", of.join(", "));
            }
        }
        text
    }

    fn repeat(&mut self, depth: usize, l: &Loop) {
        let mut text = match &l.again {
            Again::Times(n) => format!("loop {n} times"),
            Again::While { condition, .. } => format!("loop while {}", self.name(*condition)),
        };
        let state = |c: &Carried| match c.state == c.next {
            true => format!("{} in place", self.name(c.state)),
            false => format!("{} from {}", self.name(c.state), self.name(c.next)),
        };
        if !l.carried.is_empty() {
            text = text + " state " + &l.carried.iter().map(state).collect::<Vec<_>>().join(", ");
        }
        let row = |r: &Row| match r.order {
            Order::Forward => self.name(r.row),
            Order::Backward => self.name(r.row) + " backwards",
        };
        if !l.rows.is_empty() {
            text = text + " rows " + &l.rows.iter().map(row).collect::<Vec<_>>().join(", ");
        }
        if let Again::While { steps, .. } = &l.again {
            self.line(depth, &(text + " condition {"));
            self.block(depth + 1, steps);
            self.line(depth, "} body {");
        } else {
            self.line(depth, &(text + " {"));
        }
        self.block(depth + 1, &l.body);
        self.line(depth, "}");
    }
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    if lawson_graph::syntax::is_bare(text) { format!("\"{text}\"") } else { Name(text).to_string() }
}

//! The checker's words: which steps, which bytes, and the way out.

use super::Report;
use super::bytes::{Memory, Span, phrase};
use crate::plan::{Access, Mode, Places, Slot, Step};
use lawson_graph::{Code, Error, Place, Side};
use std::collections::HashSet;

/// The most findings of a kind: one mistake often has many consequences.
const MOST: usize = 20;

/// The most of a plan that somebody wrote.
const MOST_OF_TEXT: usize = 1000;

/// A step with its number.
#[derive(Clone, Copy)]
pub(super) struct Numbered<'p> {
    pub(super) number: usize,
    pub(super) step: &'p Step,
}

/// Findings in the making.
pub(super) struct Findings<'p> {
    pub(super) report: Report,
    places: Option<&'p Places>,
    /// What was said.
    known: HashSet<String>,
}

fn bytes_of(memory: &Memory<'_>, span: &Span, slot: Slot) -> String {
    let name = &memory.plan.buffer(slot).name;
    let whole = memory.size(slot);
    if span.0.is(0) && span.1 == whole {
        format!("`{name}`")
    } else {
        format!("bytes {}..{} of `{name}`", span.0, span.1)
    }
}

impl<'p> Findings<'p> {
    pub(super) fn new(places: Option<&'p Places>) -> Findings<'p> {
        Findings { report: Report::default(), places, known: HashSet::new() }
    }

    /// Where a step is: its line, or its number and what it does to the bytes.
    fn place(&self, step: Numbered<'_>, what: &str) -> Place {
        match self.places.and_then(|p| p.steps.get(step.number)) {
            Some(place) => place.clone(),
            None => Place::Step { number: step.number, what: what.to_string() },
        }
    }

    fn error(&mut self, error: Error) {
        if self.is_found_first(&error) {
            self.report.errors.push(error);
        }
    }

    fn warning(&mut self, warning: Error) {
        if self.is_found_first(&warning) {
            self.report.warnings.push(warning);
        }
    }

    /// Whether something was not found before, and is not one too many.
    fn is_found_first(&mut self, found: &Error) -> bool {
        let most = if self.places.is_some() { MOST_OF_TEXT } else { MOST };
        if self.known.contains(&found.to_string()) {
            return false;
        }
        let room = self.known.len() < most;
        if room {
            self.known.insert(found.to_string());
        } else {
            self.report.more += 1;
        }
        room
    }

    /// What was found in the plan of a stage.
    pub(super) fn inside(&mut self, stage: Numbered<'_>, found: Report) {
        let place = self.place(stage, "a stage");
        found.errors.into_iter().for_each(|e| self.error(e.at(place.clone())));
        found.warnings.into_iter().for_each(|w| self.warning(w.at(place.clone())));
        self.report.more += found.more;
        found
            .notes
            .into_iter()
            .for_each(|n| self.note(format!("in the stage of step {}: {n}", stage.number)));
    }

    pub(super) fn note(&mut self, note: String) {
        if self.report.notes.len() < MOST && !self.report.notes.contains(&note) {
            self.report.notes.push(note);
        }
    }

    /// Two steps that nothing orders meet.
    pub(super) fn race(
        &mut self,
        memory: &Memory<'_>,
        (one, a): (Numbered<'_>, &Access),
        (other, b): (Numbered<'_>, &Access),
        common: &Span,
    ) {
        let name = |s: Slot| memory.plan.buffer(s).name.clone();
        let does = |n: Numbered<'_>, x: &Access| {
            format!("`{}` {}", memory.plan.step_name(n.step), phrase(memory, &x.region, x.mode))
        };
        if a.region.slot != b.region.slot {
            let message = format!(
                "`{}` and `{}` share bytes {}..{} of the arena, and are used at the same time",
                name(a.region.slot),
                name(b.region.slot),
                common.0,
                common.1
            );
            let (first, second) = (self.place(other, &does(other, b)), self.place(one, &does(one, a)));
            self.error(Error::new(Code::PlanOverlap, message).at(first).at(second).help(
                "place them apart, or put a `barrier` between the two steps if one is done with its buffer",
            ));
            return;
        }
        let bytes = bytes_of(memory, common, a.region.slot);
        let (m, n) = (one.number, other.number);
        let what = match (a.mode, b.mode) {
            (Mode::Write, Mode::Write) => format!("steps {m} and {n} both write {bytes}"),
            (Mode::Atomic, Mode::Write) | (Mode::Write, Mode::Atomic) => {
                format!("one of steps {m} and {n} writes {bytes} while the other adds to it")
            }
            (Mode::Read, _) => format!("step {n} writes {bytes}, which step {m} reads"),
            (_, Mode::Read) => format!("step {n} reads {bytes}, which step {m} writes"),
            (Mode::Atomic, Mode::Atomic) => return,
        };
        if let (Some(region), true) = (&one.step.race, one.step.race == other.step.race) {
            self.note(format!("unsafe \"{region}\": {what}, and nothing orders them"));
            return;
        }
        let writes = a.mode == Mode::Write && b.mode == Mode::Write;
        let way = if writes { ", or let them write disjoint bytes" } else { "" };
        let help = format!(
            "put a `barrier` between them{way}; a race that is wanted stands in a region with a name: unsafe \"name\" {{ … }}"
        );
        let (first, second) = (self.place(other, &does(other, b)), self.place(one, &does(one, a)));
        self.error(
            Error::new(Code::PlanRace, format!("{what}, and nothing orders them"))
                .at(first)
                .at(second)
                .help(help),
        );
    }

    /// A step reads what is not there.
    pub(super) fn unwritten(
        &mut self,
        memory: &Memory<'_>,
        step: Numbered<'_>,
        access: &Access,
        missing: &Span,
        over: Option<(Slot, usize)>,
    ) {
        let slot = access.region.slot;
        let bytes = bytes_of(memory, missing, slot);
        let verb = access.mode.verb();
        let place = self.place(
            step,
            &format!(
                "`{}` {}",
                memory.plan.step_name(step.step),
                phrase(memory, &access.region, access.mode)
            ),
        );
        let error = match over {
            Some((other, by)) => {
                let other = &memory.plan.buffer(other).name;
                let message = format!(
                    "step {} {verb} {bytes}, over which step {by} has written `{other}`",
                    step.number
                );
                Error::new(Code::PlanOverlap, message)
                    .help("both are needed at the same time: place them at different bytes of the arena")
            }
            None => {
                let message =
                    format!("step {} {verb} {bytes}, which nothing has written before it", step.number);
                Error::new(Code::PlanUnwritten, message).help(
                    "let a step before it write them, on every way that leads here: in both branches, and before a loop \
                     that may not run",
                )
            }
        };
        self.error(error.at(place));
    }

    /// An output is not written to its end.
    pub(super) fn unfinished(
        &mut self,
        memory: &Memory<'_>,
        slot: Slot,
        missing: &Span,
        over: Option<(Slot, usize)>,
    ) {
        let name = memory.plan.buffer(slot).name.clone();
        let bytes = bytes_of(memory, missing, slot);
        let message = match over {
            Some((other, by)) => {
                let other = &memory.plan.buffer(other).name;
                format!("step {by} has written `{other}` over {bytes}, which the caller is given")
            }
            None => format!("no step writes {bytes}, which the caller is given"),
        };
        let place = match self.places.and_then(|p| p.buffers.get(slot.0 as usize)) {
            Some(place) => place.clone(),
            None => Place::Port { side: Side::Output, name },
        };
        self.error(
            Error::new(Code::PlanUnwritten, message)
                .at(place)
                .help("let a step write all of the output, on every way that leads to the end of the plan"),
        );
    }

    /// A step writes over what it reads.
    pub(super) fn over_itself(
        &mut self,
        memory: &Memory<'_>,
        step: Numbered<'_>,
        read: &Access,
        written: &Access,
    ) {
        let name = |a: &Access| memory.plan.buffer(a.region.slot).name.clone();
        let message = match read.region.slot == written.region.slot {
            true => format!("step {} writes `{}` while it reads it", step.number, name(read)),
            false => format!(
                "step {} reads `{}` and writes `{}`, which share bytes of the arena",
                step.number,
                name(read),
                name(written)
            ),
        };
        let place = self.place(step, &format!("`{}`", memory.plan.step_name(step.step)));
        self.error(Error::new(Code::PlanOverlap, message).at(place).help(
            "write elsewhere; only a kernel that reads each element in the iteration that writes it may write in place",
        ));
    }

    /// Something that no order would mend.
    pub(super) fn region(&mut self, memory: &Memory<'_>, step: Numbered<'_>, message: String, help: &str) {
        let place = self.place(step, &format!("`{}`", memory.plan.step_name(step.step)));
        self.error(Error::new(Code::PlanRegion, message).at(place).help(help));
    }

    /// A barrier that orders nothing.
    pub(super) fn needless(&mut self, memory: &Memory<'_>, step: Numbered<'_>) {
        let name = memory.plan.step_name(step.step);
        let message = format!("the barrier before step {} (`{name}`) orders nothing", step.number);
        let place = self.place(step, &format!("`{name}`"));
        let warning = Error::new(Code::PlanBarrier, message)
            .at(place)
            .help("leave it out: no step behind it touches what a step before it does");
        self.warning(warning);
    }
}

//! Reading plans from their text form, which `form.rs` describes.

use super::form::{HEADER, VERSION};
use super::{
    Access, Action, Again, Barrier, Bound, Branch, Carried, Loop, Mode, Order, Place, Plan, PlanBuffer,
    Region, Row, Slot, Staged, Step, ValuePort,
};
use crate::buffer::{Layout, Role};
use crate::schedule::Schedule;
use crate::text::kernel_in;
use crate::verify::verify;
use lawson_graph::syntax::{Cursor, Kind, Source, Span};
use lawson_graph::{Bindings, Code, DType, Dim, Error, Place as Where, Result, TensorType};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// A plan that was read from a text.
#[derive(Clone, Debug)]
pub struct WrittenPlan {
    /// The plan.
    pub plan: Plan,
    /// Where its buffers lie, if any says so; then all that are used do.
    pub bound: Option<Bound>,
    /// Where its parts stand.
    pub places: Places,
    /// Kernels that the verifier refuses, in order; such a plan may be checked, and nothing else.
    pub faults: Vec<Error>,
}

/// Where the parts of a plan stand in a text.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The buffers, by slot.
    pub buffers: Vec<Where>,
    /// The steps, in the order of [`Plan::visit`].
    pub steps: Vec<Where>,
    /// The parts of the stages, in the order of [`Plan::stages`].
    pub stages: Vec<Places>,
}

/// How deep steps may hold steps.
const MAX_DEPTH: usize = 64;

impl Plan {
    /// Reads a plan from its text form. Its kernels are verified; its steps are not checked yet, see [`crate::borrow`].
    ///
    /// ```
    /// use lawson_kernel::{Plan, borrow};
    /// let text = "lawson-plan 1
    ///   plan @copy {
    ///     input 0 x: 64
    ///     output 0 y: 64
    ///     step copy reads x writes y
    ///   }";
    /// let read = Plan::parse(text, None)?;
    /// assert!(borrow::check(&read.plan, None).errors.is_empty());
    /// # Ok::<(), lawson_graph::Error>(())
    /// ```
    pub fn parse(text: &str, file: Option<&str>) -> Result<WrittenPlan> {
        let mut read = Plan::read(text, file)?;
        if read.faults.is_empty() { Ok(read) } else { Err(read.faults.swap_remove(0)) }
    }

    /// Reads a plan from its text form; what the verifier says of its kernels stands beside it.
    pub fn read(text: &str, file: Option<&str>) -> Result<WrittenPlan> {
        let source = Source { text, file };
        if text.starts_with('\u{feff}') {
            let span = Span { start: 0, end: '\u{feff}'.len_utf8() };
            return Err(source
                .error(Code::Syntax, span, "the text begins with a byte order mark")
                .help("save it as UTF-8 without one"));
        }
        let mut p = Parser {
            cursor: Cursor::new(source),
            lines: std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect(),
            plan: Plan::default(),
            slots: HashMap::new(),
            offsets: Vec::new(),
            ports: HashSet::new(),
            places: Places::default(),
            faults: Vec::new(),
        };
        p.file()?;
        let Parser { plan, offsets, places, faults, .. } = p;
        let bound = bound(&plan, offsets, &places.buffers)?;
        Ok(WrittenPlan { plan, bound, places, faults })
    }
}

/// Places that the text states, with sizes.
fn bound(plan: &Plan, offsets: Vec<Option<usize>>, places: &[Where]) -> Result<Option<Bound>> {
    if offsets.iter().all(Option::is_none) {
        return Ok(None);
    }
    let wrong = |n: usize, message: String| Error::new(Code::PlanRegion, message).at(places[n].clone());
    let mut bytes = Vec::with_capacity(plan.buffers.len());
    for (n, b) in plan.buffers.iter().enumerate() {
        let size = Bindings::new().eval(&b.bytes).ok().and_then(|n| usize::try_from(n).ok());
        let Some(size) = size else {
            let message =
                format!("`{}` has {} bytes, but others say at which byte they lie", b.name, b.bytes);
            return Err(wrong(n, message).help("where buffers have places, all sizes are numbers"));
        };
        bytes.push(size);
    }
    let mut used = vec![false; plan.buffers.len()];
    plan.visit(&mut |step, _| plan.accesses(step).iter().for_each(|a| used[a.region.slot.0 as usize] = true));
    let mut arena = 0usize;
    for (n, b) in plan.buffers.iter().enumerate().filter(|(_, b)| matches!(b.place, Place::Arena)) {
        match offsets[n] {
            Some(at) => match at.checked_add(bytes[n]).filter(|end| i64::try_from(*end).is_ok()) {
                Some(end) => arena = arena.max(end),
                None => {
                    let message = format!("`{}` would end behind the last byte of any memory", b.name);
                    return Err(Error::new(Code::DimOverflow, message)
                        .at(places[n].clone())
                        .help("all bytes of the arena have numbers below 2^63"));
                }
            },
            None if used[n] => {
                let message = format!("`{}` does not say at which byte it lies, but others do", b.name);
                return Err(wrong(n, message).help("write `at` and a number behind its size"));
            }
            None => {}
        }
    }
    Ok(Some(Bound { bytes, offsets, arena, needed: 0 }))
}

/// How a step runs a kernel.
#[derive(Clone, Copy)]
enum Verb {
    Launch,
    Call,
    Evaluate,
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    /// Where lines begin.
    lines: Vec<usize>,
    plan: Plan,
    slots: HashMap<String, Slot>,
    offsets: Vec<Option<usize>>,
    /// The caller's buffers that have one.
    ports: HashSet<(&'static str, usize)>,
    places: Places,
    faults: Vec<Error>,
}

impl Parser<'_> {
    fn file(&mut self) -> Result<()> {
        self.cursor.header(HEADER, VERSION)?;
        self.cursor.expect_word("plan")?;
        let (name, _) = self.cursor.at_name("the name of the plan, such as `@mlp`")?;
        self.plan.name = name.into_owned();
        self.cursor.where_facts(&mut self.plan.facts)?;
        self.cursor.expect("{")?;
        self.contents(0)?;
        if self.cursor.peek() != Kind::End {
            return Err(self.cursor.expected("the end of the text"));
        }
        Ok(())
    }

    /// Buffers, kernels and steps, up to the closing brace.
    fn contents(&mut self, depth: usize) -> Result<()> {
        while self.buffer()? {}
        while self.cursor.at_word("kernel") {
            let cursor = Cursor::new(self.cursor.source);
            let taken = std::mem::replace(&mut self.cursor, cursor);
            let at = self.place(taken.span());
            let (kernel, rest) = kernel_in(taken)?;
            self.cursor = rest;
            match verify(&kernel) {
                Ok(()) => self.plan.add_kernel(kernel, Schedule::default()),
                Err(fault) => {
                    self.faults.push(fault.at(at));
                    self.plan.add_unproven(kernel)
                }
            };
        }
        self.plan.steps = self.block(depth)?;
        Ok(())
    }

    /// The place of a span, as [`Source::place`] gives it, without going through the text from its beginning.
    fn place(&self, span: Span) -> Where {
        let source = self.cursor.source;
        let line = self.lines.partition_point(|begin| *begin <= span.start).saturating_sub(1);
        let begin = self.lines[line];
        let rest = Source { text: &source.text[begin..], ..source };
        match rest.place(Span { start: span.start - begin, end: span.end - begin }) {
            Where::Source(mut found) => {
                found.line += line;
                Where::Source(found)
            }
            other => other,
        }
    }

    /// A number of bytes, or of iterations.
    fn dim(&mut self) -> Result<Dim> {
        let start = self.cursor.span();
        let dim = self.cursor.dim().map_err(|error| {
            let here = self.cursor.span();
            let text = self.cursor.source.slice(here);
            match self.cursor.peek() == Kind::Int && text.parse::<i64>().is_err() {
                true => self.too_large(here, text),
                false => error,
            }
        })?;
        let span = start.to(self.cursor.last());
        if dim.as_const().is_some_and(|n| n < 0) {
            let message = format!("`{}` is less than 0", self.cursor.source.slice(span));
            return Err(self.cursor.source.error(Code::PlanRegion, span, message));
        }
        Ok(dim)
    }

    fn too_large(&self, span: Span, text: &str) -> Error {
        let message = format!("the value of `{text}` does not fit in 63 bits");
        self.cursor.source.error(Code::DimOverflow, span, message)
    }

    fn number(&mut self, what: &str) -> Result<usize> {
        if self.cursor.peek() != Kind::Int {
            return Err(self.cursor.expected(what));
        }
        let span = self.cursor.advance().span;
        let text = self.cursor.source.slice(span);
        let number = text.parse::<i64>().ok().and_then(|n| usize::try_from(n).ok());
        number.ok_or_else(|| self.too_large(span, text))
    }

    /// Notes that a buffer is the caller's of this number.
    fn take_port(&mut self, side: &'static str, port: usize, span: Span) -> Result<()> {
        if self.ports.insert((side, port)) {
            return Ok(());
        }
        let message = format!("there are two buffers for {side} {port}");
        Err(self.cursor.source.error(Code::DuplicateName, span, message))
    }

    /// Reads a buffer, if one stands here.
    fn buffer(&mut self) -> Result<bool> {
        let word = self.cursor.source.slice(self.cursor.span());
        if !["input", "output", "constant", "arena", "host", "row", "value"].contains(&word) {
            return Ok(false);
        }
        let start = self.cursor.advance().span;
        let port = match word {
            "input" | "output" => self.number("the number of the caller's buffer")?,
            _ => 0,
        };
        match word {
            "input" => self.take_port("input", port, start.to(self.cursor.last()))?,
            "output" => self.take_port("output", port, start.to(self.cursor.last()))?,
            _ => {}
        }
        let (name, span) = self.cursor.name("the name of a buffer")?;
        let name = name.into_owned();
        let place = match word {
            "input" => Place::Input(port),
            "output" => Place::Output(port),
            "row" => {
                self.cursor.expect_word("of")?;
                Place::Row { of: self.slot()? }
            }
            "value" => Place::Value(self.port()?),
            "host" => Place::Host,
            _ => Place::Arena,
        };
        let bytes = match place {
            Place::Value(_) => Dim::ZERO,
            _ => {
                self.cursor.expect(":")?;
                self.dim()?
            }
        };
        let place = match word {
            "constant" => {
                let dims = vec![bytes.clone()];
                Place::Constant { tensor: None, layout: Layout::row_major(&dims), dims }
            }
            _ => place,
        };
        let at = match word == "arena" && self.cursor.eat_word("at") {
            true => Some(self.number("the byte at which it lies")?),
            false => None,
        };
        let slot = self.plan.add_buffer(PlanBuffer { name: name.clone(), bytes, place });
        self.offsets.push(at);
        self.places.buffers.push(self.place(start.to(self.cursor.last())));
        match self.slots.insert(name.clone(), slot) {
            None => Ok(true),
            Some(_) => {
                let message = format!("there are two buffers `{name}`");
                Err(self.cursor.source.error(Code::DuplicateName, span, message))
            }
        }
    }

    fn port(&mut self) -> Result<ValuePort> {
        if !self.cursor.eat_word("of") {
            return Ok(ValuePort::Own);
        }
        let start = self.cursor.span();
        if self.cursor.eat_word("input") {
            let port = self.number("the number of an input")?;
            self.take_port("input", port, start.to(self.cursor.last()))?;
            return Ok(ValuePort::Input(port));
        }
        self.cursor.expect_word("output")?;
        let port = self.number("the number of an output")?;
        self.take_port("output", port, start.to(self.cursor.last()))?;
        Ok(ValuePort::Output(port))
    }

    fn slot(&mut self) -> Result<Slot> {
        let (name, span) = self.cursor.name("the name of a buffer")?;
        self.slots.get(name.as_ref()).copied().ok_or_else(|| {
            let error =
                self.cursor.source.error(Code::UnknownName, span, format!("there is no buffer `{name}`"));
            match lawson_graph::nearest(&name, self.slots.keys().map(String::as_str)) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help("buffers are declared before the steps"),
            }
        })
    }

    fn region(&mut self) -> Result<Region> {
        let slot = self.slot()?;
        if !self.cursor.eat("[") {
            return Ok(slot.into());
        }
        let from = self.dim()?;
        self.cursor.expect_word("to")?;
        let to = self.dim()?;
        self.cursor.expect("]")?;
        Ok(Region { slot, part: Some((from, to)) })
    }

    fn regions(&mut self) -> Result<Vec<Region>> {
        let mut regions = vec![self.region()?];
        while self.cursor.eat(",") {
            regions.push(self.region()?);
        }
        Ok(regions)
    }

    /// The steps up to the closing brace.
    fn block(&mut self, depth: usize) -> Result<Vec<Step>> {
        if depth > MAX_DEPTH {
            return Err(self.cursor.error(format!("steps hold steps more than {MAX_DEPTH} deep")));
        }
        let mut steps = Vec::new();
        // A barrier that no step has followed yet.
        let mut open: Option<Span> = None;
        loop {
            let here = self.cursor.span();
            let end = self.cursor.eat("}");
            let again = !end && self.cursor.eat_word("barrier");
            if let Some(barrier) = open.filter(|_| end || again) {
                let message = "no step stands behind this barrier";
                return Err(self
                    .cursor
                    .source
                    .error(Code::Syntax, barrier, message)
                    .help("leave it out: blocks end with a barrier of their own"));
            }
            if end {
                return Ok(steps);
            }
            if again {
                open = Some(here);
                continue;
            }
            let mut inside = match self.cursor.eat_word("unsafe") {
                true => self.race(depth, here)?,
                false => vec![self.step(depth)?],
            };
            if let (Some(first), Some(_)) = (inside.first_mut(), open.take()) {
                first.barrier = Barrier::Before;
            }
            steps.append(&mut inside);
        }
    }

    /// The steps of a region in which they may race.
    fn race(&mut self, depth: usize, start: Span) -> Result<Vec<Step>> {
        let (name, span) = self.cursor.string("the name of the region, in quotes")?;
        let name: Arc<str> = name.into();
        self.cursor.expect("{")?;
        let mut inside = self.block(depth + 1)?;
        let wrong = |message: &str| self.cursor.source.error(Code::Syntax, start.to(span), message);
        if inside.is_empty() {
            return Err(wrong("this region is empty").help("it holds the steps that may race"));
        }
        // What a loop does in its body would race without being named.
        if inside.iter().any(|s| s.action.is_control()) {
            return Err(wrong("a loop or a branch cannot race as a whole")
                .help("the region stands inside of it, around the steps that may race"));
        }
        if inside.iter().any(|s| s.race.is_some()) {
            return Err(wrong("a region cannot stand in another one").help("a step races under one name"));
        }
        inside.iter_mut().for_each(|s| s.race = Some(name.clone()));
        Ok(inside)
    }

    fn step(&mut self, depth: usize) -> Result<Step> {
        let start = self.cursor.span();
        let number = self.places.steps.len();
        self.places.steps.push(self.place(start));
        let (word, span) = self.cursor.word(
            "a step: `step`, `launch`, `call`, `evaluate`, `stage`, `transfer`, `loop`, `branch` or `barrier`",
        )?;
        let step = match word {
            "step" => self.declared()?,
            "launch" => self.run(Verb::Launch)?,
            "call" => self.run(Verb::Call)?,
            "evaluate" => self.run(Verb::Evaluate)?,
            "transfer" => {
                let from = self.region()?;
                self.cursor.expect_word("to")?;
                let buffers = vec![from, self.region()?];
                Step { buffers, ..Step::new(Action::Transfer, []) }
            }
            "stage" => return self.stage(depth, number, start),
            "loop" => self.repeat(depth, number, start)?,
            "branch" => {
                let condition = self.slot()?;
                self.head(number, start);
                self.cursor.expect_word("then")?;
                self.cursor.expect("{")?;
                let then = self.block(depth + 1)?;
                self.cursor.expect_word("otherwise")?;
                self.cursor.expect("{")?;
                let otherwise = self.block(depth + 1)?;
                return Ok(Step::new(Action::Branch(Box::new(Branch { condition, then, otherwise })), []));
            }
            _ => {
                let message = format!("`{word}` is no step");
                let help = "a step is `step`, `launch`, `call`, `evaluate`, `stage`, `transfer`, `loop`, `branch` or `barrier`";
                return Err(self.cursor.source.error(Code::Syntax, span, message).help(help));
            }
        };
        if !step.action.is_control() {
            self.head(number, start);
        }
        Ok(step)
    }

    /// What has been read of a step is what errors point at.
    fn head(&mut self, number: usize, start: Span) {
        self.places.steps[number] = self.place(start.to(self.cursor.last()));
    }

    fn declared(&mut self) -> Result<Step> {
        let (name, _) = self.cursor.name("the name of the step")?;
        let name = name.into_owned();
        let mut accesses = Vec::new();
        loop {
            let mode = match self.cursor.source.slice(self.cursor.span()) {
                "reads" => Mode::Read,
                "writes" => Mode::Write,
                "adds" => Mode::Atomic,
                _ => break,
            };
            self.cursor.advance();
            accesses.extend(self.regions()?.into_iter().map(|region| Access { region, mode }));
        }
        Ok(Step::new(Action::Declared { name, accesses }, []))
    }

    fn run(&mut self, verb: Verb) -> Result<Step> {
        let span = self.cursor.span();
        let kernel = self.number("the number of a kernel")?;
        let (name, at) = self.cursor.at_name("the kernel's name")?;
        let Some(known) = self.plan.kernels.get(kernel) else {
            let message = format!("there is no kernel {kernel}, only {}", self.plan.kernels.len());
            return Err(self.cursor.source.error(Code::UnknownName, span, message));
        };
        if known.name != name {
            let message = format!("kernel {kernel} is `@{}`", known.name);
            return Err(self.cursor.source.error(Code::UnknownName, at, message));
        }
        let roles: Vec<Role> = known.arguments().map(|b| known.buffer(b).role).collect();
        let (mut read, written) = self.arguments()?;
        let reads = roles.iter().filter(|r| **r == Role::Input).count();
        if (read.len(), written.len()) != (reads, roles.len() - reads) {
            let message = format!(
                "`@{name}` reads {reads} buffers and writes {}, here {} and {}",
                roles.len() - reads,
                read.len(),
                written.len()
            );
            return Err(self.cursor.source.error(Code::PlanRegion, at, message));
        }
        // In the order of the kernel's own buffers.
        let (mut reads, mut writes) = (read.drain(..), written.into_iter());
        let buffers =
            roles.iter().filter_map(|r| if *r == Role::Input { reads.next() } else { writes.next() });
        let buffers: Vec<Region> = buffers.collect();
        let action = match verb {
            Verb::Launch => Action::Launch { kernel },
            Verb::Call => Action::Call { kernel },
            Verb::Evaluate => {
                self.cursor.expect_word("because")?;
                let (why, _) = self.cursor.name("the reason, in quotes")?;
                Action::Evaluate { kernel, why: Error::new(Code::NotEmitted, why.into_owned()) }
            }
        };
        Ok(Step { buffers, ..Step::new(action, []) })
    }

    /// What a step reads and what it writes.
    fn arguments(&mut self) -> Result<(Vec<Region>, Vec<Region>)> {
        self.cursor.expect("(")?;
        let read = if self.cursor.at("->") { Vec::new() } else { self.regions()? };
        self.cursor.expect("->")?;
        let written = if self.cursor.at(")") { Vec::new() } else { self.regions()? };
        self.cursor.expect(")")?;
        Ok((read, written))
    }

    fn stage(&mut self, depth: usize, number: usize, start: Span) -> Result<Step> {
        let (name, at) = self.cursor.at_name("the name of the stage, such as `@boxes`")?;
        let mut plan = Plan { name: name.into_owned(), ..Plan::default() };
        let (read, written) = self.arguments()?;
        self.cursor.where_facts(&mut plan.facts)?;
        self.head(number, start);
        self.cursor.expect("{")?;
        // Buffers and steps in it are its own.
        let slots = std::mem::take(&mut self.slots);
        let offsets = std::mem::take(&mut self.offsets);
        let ports = std::mem::take(&mut self.ports);
        let places = std::mem::take(&mut self.places);
        std::mem::swap(&mut self.plan, &mut plan);
        self.contents(depth + 1)?;
        std::mem::swap(&mut self.plan, &mut plan);
        if let Some(n) = self.offsets.iter().position(Option::is_some) {
            let message =
                format!("`{}` lies in a stage, whose buffers are placed in the run", plan.buffers[n].name);
            return Err(Error::new(Code::PlanRegion, message)
                .at(self.places.buffers[n].clone())
                .help("leave out `at` and the number"));
        }
        (self.slots, self.offsets, self.ports) = (slots, offsets, ports);
        let inner = std::mem::replace(&mut self.places, places);
        self.places.stages.push(inner);
        let mut sizes = [vec![Dim::ZERO; read.len()], vec![Dim::ZERO; written.len()]];
        let mut symbols = BTreeSet::new();
        for b in &plan.buffers {
            b.bytes.visit_symbols(&mut |s| {
                symbols.insert(s.clone());
            });
            let (side, port) = match b.place {
                Place::Input(n) => (0, n),
                Place::Output(n) => (1, n),
                _ => continue,
            };
            let Some(size) = sizes[side].get_mut(port) else {
                let message = format!("the stage is given no buffer for `{}`", b.name);
                return Err(self.cursor.source.error(Code::PlanRegion, at, message));
            };
            *size = b.bytes.clone();
        }
        let [inputs, outputs] =
            sizes.map(|all| all.into_iter().map(|n| TensorType::new(DType::U8, [n])).collect());
        let symbols = symbols.into_iter().collect();
        let staged = Staged { plan: Arc::new(plan), inputs, outputs, symbols };
        let buffers = read.into_iter().chain(written).collect();
        Ok(Step { buffers, ..Step::new(Action::Staged(Box::new(staged)), []) })
    }

    fn repeat(&mut self, depth: usize, number: usize, start: Span) -> Result<Step> {
        let condition = match self.cursor.eat_word("while") {
            true => Err(self.slot()?),
            false => {
                let times = self.dim()?;
                self.cursor.expect_word("times")?;
                Ok(times)
            }
        };
        let (mut carried, mut rows) = (Vec::new(), Vec::new());
        if self.cursor.eat_word("state") {
            loop {
                let state = self.slot()?;
                let next = match self.cursor.eat_word("in") {
                    true => {
                        self.cursor.expect_word("place")?;
                        state
                    }
                    false => {
                        self.cursor.expect_word("from")?;
                        self.slot()?
                    }
                };
                carried.push(Carried { state, next });
                if !self.cursor.eat(",") {
                    break;
                }
            }
        }
        if self.cursor.eat_word("rows") {
            loop {
                let row = self.slot()?;
                let order = if self.cursor.eat_word("backwards") { Order::Backward } else { Order::Forward };
                rows.push(Row { row, order });
                if !self.cursor.eat(",") {
                    break;
                }
            }
        }
        self.head(number, start);
        let again = match condition {
            Ok(times) => Again::Times(times),
            Err(condition) => {
                self.cursor.expect_word("condition")?;
                self.cursor.expect("{")?;
                let steps = self.block(depth + 1)?;
                self.cursor.expect_word("body")?;
                Again::While { steps, condition }
            }
        };
        self.cursor.expect("{")?;
        let body = self.block(depth + 1)?;
        Ok(Step::new(Action::Loop(Box::new(Loop { again, carried, rows, body, why: None })), []))
    }
}

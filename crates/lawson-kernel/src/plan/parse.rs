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
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A plan that was read from a text.
#[derive(Clone, Debug)]
pub struct WrittenPlan {
    /// The plan.
    pub plan: Plan,
    /// Where its buffers lie, if any says so; then all that are used do.
    pub bound: Option<Bound>,
    /// Where its steps stand, in the order of [`Plan::visit`].
    pub places: Vec<Where>,
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
        let cursor = Cursor::new(Source { text, file });
        let mut p = Parser {
            cursor,
            plan: Plan::default(),
            slots: HashMap::new(),
            offsets: Vec::new(),
            places: Vec::new(),
        };
        p.file()?;
        let Parser { plan, offsets, places, .. } = p;
        let bound = bound(&plan, offsets)?;
        Ok(WrittenPlan { plan, bound, places })
    }
}

/// Places that the text states, with sizes.
fn bound(plan: &Plan, offsets: Vec<Option<usize>>) -> Result<Option<Bound>> {
    if offsets.iter().all(Option::is_none) {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(plan.buffers.len());
    for b in &plan.buffers {
        let size = Bindings::new().eval(&b.bytes).ok().and_then(|n| usize::try_from(n).ok());
        let Some(size) = size else {
            let message =
                format!("`{}` has {} bytes, but others say at which byte they lie", b.name, b.bytes);
            return Err(Error::new(Code::PlanRegion, message)
                .help("where buffers have places, all sizes are numbers"));
        };
        bytes.push(size);
    }
    let mut used = vec![false; plan.buffers.len()];
    plan.visit(&mut |step, _| plan.accesses(step).iter().for_each(|a| used[a.region.slot.0 as usize] = true));
    let mut arena = 0usize;
    for (n, b) in plan.buffers.iter().enumerate().filter(|(_, b)| matches!(b.place, Place::Arena)) {
        let end = offsets[n].and_then(|at| at.checked_add(bytes[n]));
        if !used[n] {
            continue;
        }
        let Some(end) = end else {
            let message = format!("`{}` does not say at which byte it lies, but others do", b.name);
            return Err(Error::new(Code::PlanRegion, message).help("write `at` and a number behind its size"));
        };
        arena = arena.max(end);
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
    plan: Plan,
    slots: HashMap<String, Slot>,
    offsets: Vec<Option<usize>>,
    places: Vec<Where>,
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
            let at = taken.source.place(taken.span());
            let (kernel, rest) = kernel_in(taken)?;
            self.cursor = rest;
            verify(&kernel).map_err(|e| e.at(at))?;
            self.plan.add_kernel(kernel, Schedule::default());
        }
        self.plan.steps = self.block(depth)?;
        Ok(())
    }

    fn number(&mut self, what: &str) -> Result<usize> {
        if self.cursor.peek() != Kind::Int {
            return Err(self.cursor.expected(what));
        }
        let span = self.cursor.advance().span;
        let text = self.cursor.source.slice(span);
        text.parse()
            .map_err(|_| self.cursor.source.error(Code::Syntax, span, format!("`{text}` is too large")))
    }

    /// Reads a buffer, if one stands here.
    fn buffer(&mut self) -> Result<bool> {
        let word = self.cursor.source.slice(self.cursor.span());
        if !["input", "output", "constant", "arena", "host", "row", "value"].contains(&word) {
            return Ok(false);
        }
        self.cursor.advance();
        let port = match word {
            "input" | "output" => self.number("the number of the caller's buffer")?,
            _ => 0,
        };
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
                self.cursor.dim()?
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
        if self.cursor.eat_word("input") {
            return Ok(ValuePort::Input(self.number("the number of an input")?));
        }
        self.cursor.expect_word("output")?;
        Ok(ValuePort::Output(self.number("the number of an output")?))
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
        let from = self.cursor.dim()?;
        self.cursor.expect_word("to")?;
        let to = self.cursor.dim()?;
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
        let mut barrier = Barrier::None;
        while !self.cursor.eat("}") {
            if self.cursor.eat_word("barrier") {
                barrier = Barrier::Before;
                continue;
            }
            if self.cursor.eat_word("unsafe") {
                let (name, _) = self.cursor.string("the name of the region, in quotes")?;
                let name: Arc<str> = name.into();
                self.cursor.expect("{")?;
                let mut inside = self.block(depth + 1)?;
                inside.iter_mut().for_each(|s| s.race = Some(name.clone()));
                if let Some(first) = inside.first_mut().filter(|_| barrier == Barrier::Before) {
                    first.barrier = barrier;
                }
                barrier = Barrier::None;
                steps.extend(inside);
                continue;
            }
            let step = self.step(depth)?;
            steps.push(Step { barrier, ..step });
            barrier = Barrier::None;
        }
        Ok(steps)
    }

    fn step(&mut self, depth: usize) -> Result<Step> {
        let start = self.cursor.span();
        let number = self.places.len();
        self.places.push(self.cursor.source.place(start));
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
        self.places[number] = self.cursor.source.place(start.to(self.cursor.last()));
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
        let places = std::mem::take(&mut self.places);
        std::mem::swap(&mut self.plan, &mut plan);
        self.contents(depth + 1)?;
        std::mem::swap(&mut self.plan, &mut plan);
        (self.slots, self.offsets, self.places) = (slots, offsets, places);
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
                let times = self.cursor.dim()?;
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

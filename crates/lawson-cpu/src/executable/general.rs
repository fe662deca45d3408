//! Going through plans that have more than launches: steps of the host, stages, loops, branches, and runs that are repeated.
//!
//! Every member goes through all items with a table of its own, because loops move words of it: the rows that an iteration
//! works on, and state and next state, which exchange their places. So members never wait for a table, only for each
//! other's results: before a condition is read, and after every iteration.
#![allow(unsafe_code)]

use super::MAX_MEMBERS;
use super::host::HostItem;
use super::instance::{Call, External, Instance, Patch, Port};
use super::run::Shared;
use super::stage::StageItem;
use crate::memory::Memory;
use crate::team::Member;
use lawson_graph::{Bindings, Code, Error, Result, Value, interp};
use lawson_kernel::plan::hosted::HostState;
use lawson_kernel::{Action, Again as Repeat, Place, Plan, Slot, ValuePort};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What happens, with everything that sizes decide.
#[derive(Debug)]
pub(super) enum Item {
    /// A launch, by its number among the calls.
    Call(usize),
    Host(Box<HostItem>),
    Stage(Box<StageItem>),
    Loop(Box<Looping>),
    Branch(Box<Branching>),
}

#[derive(Debug)]
pub(super) struct Looping {
    /// How often, unless a condition decides.
    pub(super) times: Option<i64>,
    pub(super) condition: Vec<Item>,
    pub(super) reads: Option<Slot>,
    /// The row, whose it is, how many bytes it has, and whether the last comes first.
    pub(super) rows: Vec<(Slot, Slot, u64, bool)>,
    pub(super) body: Vec<Item>,
    /// Buffers that exchange their places after every iteration.
    pub(super) carried: Vec<(Slot, Slot)>,
    /// Whether the host takes part in it, which may fail.
    pub(super) fallible: bool,
}

#[derive(Debug)]
pub(super) struct Branching {
    pub(super) reads: Slot,
    pub(super) then: Vec<Item>,
    pub(super) otherwise: Vec<Item>,
}

/// Which buffers move during a run, and the words of tables that say where they are.
#[derive(Debug, Default)]
pub(super) struct Moving {
    /// By slot: nothing for those that stay. Words, and how many bytes behind the buffer's beginning they point.
    words: Vec<Option<Vec<(usize, u64)>>>,
}

/// How often a plan runs, and what outputs become which inputs in between.
pub(super) struct Again<'f> {
    pub(super) times: u64,
    pub(super) feeds: &'f [(usize, usize)],
    /// For each step of the plan itself, where to say how many nanoseconds it took.
    pub(super) clocks: Option<&'f [AtomicU64]>,
}

/// What an instance has besides calls.
#[derive(Debug)]
pub(super) struct General {
    items: Vec<Item>,
    /// Where in the tables the addresses of the buffers begin.
    bases: usize,
    /// Those of them that are the caller's.
    patches: Vec<Patch>,
    moving: Moving,
    /// A table for each member, which alone locks it.
    own: Vec<Mutex<Vec<u64>>>,
    pub(super) host: Mutex<HostState>,
    /// The values of symbols that a run begins with, if steps of the host may give others theirs: what the run before found is not known yet.
    given: Option<Bindings>,
    /// The arena of its stages, one after another.
    pub(super) lent: Mutex<Option<Memory>>,
    /// Set by the member that runs steps of the host; looked at between two barriers.
    pub(super) failed: AtomicBool,
    /// The slots of values of the host that are inputs and outputs, by number.
    value_inputs: Vec<(usize, Slot)>,
    value_outputs: Vec<(usize, Slot)>,
    spare: Vec<Spare>,
}

/// For repeated runs: memory for an output that becomes an input.
#[derive(Debug)]
struct Spare {
    output: usize,
    address: u64,
    _memory: Memory,
}

impl Item {
    /// The bytes that stages of its stages have.
    fn inner_bytes(&self) -> usize {
        let of = |items: &[Item]| items.iter().map(Item::inner_bytes).sum::<usize>();
        match self {
            Item::Call(_) | Item::Host(_) => 0,
            Item::Stage(stage) => stage.inner_bytes(),
            Item::Loop(l) => of(&l.condition) + of(&l.body),
            Item::Branch(b) => of(&b.then) + of(&b.otherwise),
        }
    }

    pub(super) fn is_fallible(&self) -> bool {
        match self {
            Item::Call(_) => false,
            Item::Host(_) | Item::Stage(_) => true,
            Item::Loop(l) => l.fallible,
            Item::Branch(b) => b.then.iter().chain(&b.otherwise).any(Item::is_fallible),
        }
    }
}

impl Moving {
    pub(super) fn of(plan: &Plan) -> Moving {
        let mut moving = Moving { words: vec![None; plan.buffers.len()] };
        plan.visit(&mut |step, _| {
            if let Action::Loop(l) = &step.action {
                debug_assert!(matches!(l.again, Repeat::Times(_) | Repeat::While { .. }));
                let carried = l.carried.iter().filter(|c| c.state != c.next);
                let moved = carried.flat_map(|c| [c.state, c.next]).chain(l.rows.iter().map(|r| r.row));
                moved.for_each(|s| moving.words[s.0 as usize] = Some(Vec::new()));
            }
        });
        moving
    }

    pub(super) fn is(&self, slot: Slot) -> bool {
        self.words[slot.0 as usize].is_some()
    }

    /// A word of a table is so many bytes behind a buffer's beginning.
    pub(super) fn note(&mut self, slot: Slot, word: usize, offset: u64) {
        if let Some(words) = &mut self.words[slot.0 as usize] {
            words.push((word, offset));
        }
    }
}

impl General {
    /// The bytes that its stages have: the arena that they share, and those of theirs.
    pub(super) fn stage_bytes(&self) -> usize {
        let lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        lent.as_ref().map_or(0, Memory::len) + self.items.iter().map(Item::inner_bytes).sum::<usize>()
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        plan: &Plan,
        items: Vec<Item>,
        bases: usize,
        patches: Vec<Patch>,
        moving: Moving,
        bindings: &Bindings,
        members: usize,
        words: usize,
    ) -> General {
        let (mut value_inputs, mut value_outputs) = (Vec::new(), Vec::new());
        for (n, b) in plan.buffers.iter().enumerate() {
            match b.place {
                Place::Value(ValuePort::Input(port)) => value_inputs.push((port, Slot(n as u32))),
                Place::Value(ValuePort::Output(port)) => value_outputs.push((port, Slot(n as u32))),
                _ => {}
            }
        }
        let values = vec![None; plan.buffers.len()];
        let given = items.iter().any(Item::is_fallible).then(|| bindings.clone());
        General {
            items,
            bases,
            patches,
            moving,
            own: (0..members).map(|_| Mutex::new(vec![0; words])).collect(),
            host: Mutex::new(HostState { values, bindings: bindings.clone(), error: None }),
            given,
            lent: Mutex::new(None),
            failed: AtomicBool::new(false),
            value_inputs,
            value_outputs,
            spare: Vec::new(),
        }
    }

    pub(super) fn is_fallible(&self) -> bool {
        self.items.iter().any(Item::is_fallible)
    }

    pub(super) fn state(&mut self) -> &mut HostState {
        self.host.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_value(&mut self, input: usize, value: Value) {
        if let Some((_, slot)) = self.value_inputs.iter().find(|(n, _)| *n == input).copied() {
            self.state().values[slot.0 as usize] = Some(value);
        }
    }

    pub(super) fn take_value(&mut self, output: usize) -> Option<Value> {
        let (_, slot) = self.value_outputs.iter().find(|(n, _)| *n == output).copied()?;
        self.state().values[slot.0 as usize].take()
    }
}

impl Instance {
    /// Makes an instance of launches alone fit for repeated runs, and takes the memory that these feeds need.
    pub(super) fn make_general(&mut self, feeds: &[(usize, usize)]) -> Result<()> {
        if self.general.is_none() {
            let items = (0..self.calls.len()).map(Item::Call).collect();
            let (members, words) = (self.team.members(), self.tables.len());
            let (plan, moving) = (&self.executable.plan, Moving::of(&self.executable.plan));
            let none = Bindings::new();
            let general = General::new(plan, items, words, Vec::new(), moving, &none, members, words);
            self.general = Some(Box::new(general));
        }
        let Some(general) = &mut self.general else { return Ok(()) };
        for (output, _) in feeds {
            if general.spare.iter().all(|s| s.output != *output) {
                let bytes = self.outputs[*output].bytes.max(1);
                let mut memory =
                    Memory::zeroed(bytes).map_err(|e| Error::new(Code::Budget, format!("{e}")))?;
                let address = memory.as_mut_ptr() as u64;
                general.spare.push(Spare { output: *output, address, _memory: memory });
            }
        }
        Ok(())
    }

    pub(super) fn run_general(&mut self, again: Again<'_>, options: &interp::Options) -> Result<()> {
        self.start();
        let mut scratch = [Shared(std::ptr::null_mut()); MAX_MEMBERS];
        for (to, from) in scratch.iter_mut().zip(&mut self.scratch) {
            *to = Shared(from.as_mut_ptr());
        }
        let (scratch, this) = (&scratch, &*self);
        let spare = this.general.as_ref().map_or(&[][..], |g| &g.spare);
        let fed = Feeding { again, inputs: &this.inputs, outputs: &this.outputs, spare };
        this.team.run(|member: Member<'_>| {
            let Shared(scratch) = scratch[member.index()];
            let given = Given { member: &member, scratch, options };
            this.enter(given, options.max_steps, |me| me.repeat(&fed, &this.patches));
        });
        self.finish()
    }

    /// Before members go through the plan: the caller's addresses stand in the tables, and nothing has failed.
    pub(super) fn start(&mut self) {
        let Some(general) = &mut self.general else { return };
        general.state().error = None;
        if let Some(given) = general.given.clone() {
            general.state().bindings = given;
        }
        general.failed.store(false, Ordering::Relaxed);
        for patch in &general.patches {
            self.tables[patch.word] = match patch.what {
                External::Input(n) => self.inputs[n].address,
                External::Output(n) => self.outputs[n].address,
            };
        }
    }

    /// After members went through the plan: what went wrong.
    pub(super) fn finish(&mut self) -> Result<()> {
        match self.general.as_mut().and_then(|g| g.state().error.take()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// One member goes through the plan with a table of its own; gives how many iterations loops may still have.
    fn enter(&self, given: Given<'_, '_>, left: u64, go: impl FnOnce(&mut Me<'_, '_>)) -> u64 {
        let Some(general) = self.general.as_deref() else { return left };
        let mut table = general.own[given.member.index()].lock().unwrap_or_else(PoisonError::into_inner);
        table.copy_from_slice(&self.tables);
        let mut me = Me { instance: self, given, general, table: &mut table, left };
        go(&mut me);
        me.left
    }

    /// One member goes through all steps once, in the midst of another plan.
    pub(super) fn pass(&self, given: Given<'_, '_>, left: u64) -> u64 {
        self.enter(given, left, |me| me.repeat_items())
    }
}

/// Where the ports of a repeated run are.
struct Feeding<'r> {
    again: Again<'r>,
    inputs: &'r [Port],
    outputs: &'r [Port],
    spare: &'r [Spare],
}

impl Feeding<'_> {
    /// Where an output is written in a run: so that the last one writes the caller's.
    fn output(&self, n: usize, run: u64) -> u64 {
        let fed = self.again.feeds.iter().any(|(output, _)| *output == n);
        match self.spare.iter().find(|s| s.output == n) {
            Some(spare) if fed && (self.again.times - 1 - run) % 2 == 1 => spare.address,
            _ => self.outputs[n].address,
        }
    }

    fn input(&self, n: usize, run: u64) -> u64 {
        match self.again.feeds.iter().find(|(_, input)| *input == n) {
            Some((output, _)) if run > 0 => self.output(*output, run - 1),
            _ => self.inputs[n].address,
        }
    }

    fn address(&self, what: External, run: u64) -> u64 {
        match what {
            External::Input(n) => self.input(n, run),
            External::Output(n) => self.output(n, run),
        }
    }
}

/// What a member has, whichever plan it goes through.
#[derive(Clone, Copy)]
pub(super) struct Given<'r, 't> {
    pub(super) member: &'r Member<'t>,
    pub(super) scratch: *mut u8,
    pub(super) options: &'r interp::Options,
}

/// A member on its way.
pub(super) struct Me<'r, 't> {
    pub(super) instance: &'r Instance,
    pub(super) given: Given<'r, 't>,
    pub(super) general: &'r General,
    table: &'r mut [u64],
    /// How many iterations loops may still have: the same for every member.
    pub(super) left: u64,
}

impl Me<'_, '_> {
    fn repeat_items(&mut self) {
        let general = self.general;
        self.block(&general.items);
    }

    fn repeat(&mut self, fed: &Feeding<'_>, patches: &[Patch]) {
        let general = self.general;
        for run in 0..fed.again.times {
            if run > 0 {
                self.given.member.barrier();
                for patch in patches.iter().chain(&general.patches) {
                    self.table[patch.word] = fed.address(patch.what, run) + patch.offset;
                }
                if let (0, Some(given)) = (self.given.member.index(), &general.given) {
                    self.state().bindings.clone_from(given);
                }
                self.feed_values(fed);
            } else if fed.again.times > 1 {
                for patch in patches.iter().chain(&general.patches) {
                    self.table[patch.word] = fed.address(patch.what, 0) + patch.offset;
                }
            }
            match fed.again.clocks {
                None => self.repeat_items(),
                Some(clocks) => self.timed(&general.items, clocks),
            }
        }
    }

    /// Items with a barrier on both sides of each, and what each took.
    fn timed(&mut self, items: &[Item], clocks: &[AtomicU64]) {
        for (item, took) in items.iter().zip(clocks) {
            self.given.member.barrier();
            let start = Instant::now();
            self.block(std::slice::from_ref(item));
            self.given.member.barrier();
            if self.given.member.index() == 0 {
                took.store(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
            }
        }
    }

    /// Values of the host that become inputs.
    fn feed_values(&mut self, fed: &Feeding<'_>) {
        if self.given.member.index() != 0 || self.general.value_outputs.is_empty() {
            return;
        }
        let mut state = self.state();
        for (output, input) in fed.again.feeds {
            let from = self.general.value_outputs.iter().find(|(n, _)| n == output);
            let to = self.general.value_inputs.iter().find(|(n, _)| n == input);
            if let (Some((_, from)), Some((_, to))) = (from, to) {
                state.values[to.0 as usize] = state.values[from.0 as usize].clone();
            }
        }
    }

    fn block(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Call(n) => self.call(&self.instance.calls[*n]),
                Item::Host(host) => self.host(host),
                Item::Stage(stage) => self.stage(stage),
                Item::Loop(l) => self.iterate(l),
                Item::Branch(b) => {
                    self.given.member.barrier();
                    if self.holds(b.reads) {
                        self.block(&b.then)
                    } else {
                        self.block(&b.otherwise)
                    }
                    self.given.member.barrier();
                }
            }
        }
    }

    fn call(&mut self, call: &Call) {
        if call.barrier {
            self.given.member.barrier();
        }
        // SAFETY: the table is this member's copy of the instance's, and what the call reads was written before the barrier.
        let way = unsafe { call.way(self.table) };
        let share = self.given.member.share(way.iterations.max(0) as usize);
        if !share.is_empty() {
            // SAFETY: the table is this member's copy of the instance's, and the scratch is its own.
            unsafe { way.run(self.table, share.start as i64, share.end as i64, self.given.scratch) };
        }
    }

    fn host(&mut self, item: &HostItem) {
        if item.barrier {
            self.given.member.barrier();
        }
        if self.given.member.index() != 0 {
            return;
        }
        let plan = &self.instance.executable.plan;
        let mut state = self.state();
        // SAFETY: the addresses are those of the plan's buffers, which have the sizes that the arguments state; the plan
        // keeps steps that touch the same bytes apart by barriers.
        unsafe { item.run(plan, &mut state, |s| self.base(s), self.given.options) };
        self.note_failure(&state);
    }

    /// What the host keeps: the first member's alone.
    pub(super) fn state(&self) -> MutexGuard<'_, HostState> {
        self.general.host.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets loops end if something went wrong.
    pub(super) fn note_failure(&self, state: &HostState) {
        if state.error.is_some() {
            self.general.failed.store(true, Ordering::Relaxed);
        }
    }

    fn iterate(&mut self, l: &Looping) {
        let found = (l.fallible && self.given.member.index() == 0).then(|| self.state().bindings.clone());
        self.iterations(l, found.as_ref());
        if let Some(found) = found {
            self.state().bindings = found;
        }
    }

    /// All iterations, each of which begins with these values of symbols: what one finds is not known to the next.
    fn iterations(&mut self, l: &Looping, found: Option<&Bindings>) {
        let mut done = 0;
        self.given.member.barrier();
        while l.times.is_none_or(|times| done < times) {
            if let Some(found) = found {
                self.state().bindings.clone_from(found);
            }
            for (row, of, bytes, backward) in &l.rows {
                let at = if *backward { l.times.unwrap_or(0) - 1 - done } else { done };
                self.place(*row, self.base(*of) + at as u64 * bytes);
            }
            if let Some(condition) = l.reads {
                self.block(&l.condition);
                self.given.member.barrier();
                let goes_on =
                    self.holds(condition) && !(l.fallible && self.general.failed.load(Ordering::Relaxed));
                if l.fallible {
                    // Nobody may fail before everybody has looked.
                    self.given.member.barrier();
                }
                if !goes_on || !self.take_iteration() {
                    // Nobody may write what was the condition before everybody has looked.
                    self.given.member.barrier();
                    return;
                }
            }
            self.block(&l.body);
            self.given.member.barrier();
            for (state, next) in &l.carried {
                let (a, b) = (self.base(*state), self.base(*next));
                self.place(*state, b);
                self.place(*next, a);
            }
            done += 1;
        }
    }

    /// Counts an iteration of a loop that might not end; says whether there may be one more.
    fn take_iteration(&mut self) -> bool {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            return true;
        }
        if self.given.member.index() == 0 {
            let mut state = self.state();
            let message = format!("loops run more than {} times", self.given.options.max_steps);
            let help = "raise `max_steps`, or see whether a loop ends";
            state.error.get_or_insert_with(|| Error::new(Code::Budget, message).help(help));
        }
        false
    }

    /// Whether a byte that all members have come to is not 0.
    fn holds(&self, slot: Slot) -> bool {
        // SAFETY: a buffer of the plan, of at least one byte; it is not written before the next barrier.
        unsafe { *(self.base(slot) as *const u8) != 0 }
    }

    pub(super) fn base(&self, slot: Slot) -> u64 {
        self.table[self.general.bases + slot.0 as usize]
    }

    /// Lets a buffer begin elsewhere.
    fn place(&mut self, slot: Slot, address: u64) {
        self.table[self.general.bases + slot.0 as usize] = address;
        for (word, offset) in self.general.moving.words[slot.0 as usize].iter().flatten() {
            self.table[*word] = address + offset;
        }
    }
}

//! What one session runs with: memory, and tables for the sizes of its last run.
//!
//! In: a plan's parameters. Out: an [`Instance`], whose tables hold everything but the caller's addresses. Which words those are is a list of
//! patches, which `run.rs` goes through before every run.

use super::general::{Branching, General, Item, Looping, Moving};
use super::host::HostItem;
use super::skipping::Skipped;
use super::small::is_small;
use super::stage::StageItem;
use super::{Executable, MAX_MEMBERS, Part, Variants};
use crate::code::Word;
use crate::exec::Kernel as Function;
use crate::lower::Limit;
use crate::memory::Memory;
use crate::team::Team;
use lawson_graph::{Bindings, Code, Error, Result};
use lawson_kernel::plan::Skipping;
use lawson_kernel::{Action, Again, Barrier, Bound, BufferId, Kernel, Order, Place, Plan, Slot, Step};
use std::sync::Arc;

/// What one session runs with.
#[derive(Debug)]
pub struct Instance {
    /// Keeps the code that the calls point to, and the constants that the tables do.
    pub(super) executable: Arc<Executable>,
    pub(super) team: Team,
    pub(super) inputs: Vec<Port>,
    pub(super) outputs: Vec<Port>,
    /// None in a stage, to which memory is lent.
    pub(super) arena: Option<Memory>,
    pub(super) scratch: Vec<Memory>,
    pub(super) tables: Vec<u64>,
    pub(super) calls: Vec<Call>,
    pub(super) patches: Vec<Patch>,
    /// What there is besides calls one after another.
    pub(super) general: Option<Box<General>>,
    /// How many bytes each of its stages may take; what the system has left if nothing is said.
    pub(super) max_bytes: Option<u64>,
}

/// A buffer of the caller's.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Port {
    pub(super) bytes: usize,
    pub(super) address: u64,
}

/// One launch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) function: Function,
    pub(super) streaming: Option<Function>,
    pub(super) skipping: Option<Skipped>,
    /// Where its argument table begins, and where that of the streaming code does.
    pub(super) table: usize,
    pub(super) streaming_table: usize,
    pub(super) iterations: i64,
    pub(super) barrier: bool,
    /// Whether the streaming code can run: all addresses that it stores to are multiples of a line.
    pub(super) aligned: bool,
    pub(super) first_patch: usize,
    pub(super) last_patch: usize,
}

/// A word of a table that is an address of the caller's, or so many bytes behind one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patch {
    pub(super) word: usize,
    pub(super) what: External,
    pub(super) offset: u64,
    pub(super) written: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum External {
    Input(usize),
    Output(usize),
}

impl External {
    fn of(place: &Place) -> Option<External> {
        match place {
            Place::Input(n) => Some(External::Input(*n)),
            Place::Output(n) => Some(External::Output(*n)),
            _ => None,
        }
    }
}

impl Executable {
    /// How many bytes an instance for these sizes takes, with the outputs.
    pub fn bytes(&self, bindings: &Bindings, team: &Team) -> Result<u64> {
        let bound = self.plan.bind(bindings)?;
        let outputs = self.plan.buffers.iter().zip(&bound.bytes);
        let outputs = outputs.filter(|(b, _)| matches!(b.place, Place::Output(_))).map(|(_, bytes)| *bytes);
        let scratch = self.scratch_bytes.saturating_mul(team.members());
        let all = outputs.chain([bound.arena, scratch]).fold(0, usize::saturating_add);
        Ok(u64::try_from(all).unwrap_or(u64::MAX))
    }

    /// Arena, scratch and tables for these sizes.
    pub fn instance(self: &Arc<Self>, bindings: &Bindings, team: &Team) -> Result<Instance> {
        if team.members() > MAX_MEMBERS {
            let message = format!("a team of {} members; at most {MAX_MEMBERS} run a plan", team.members());
            return Err(Error::new(Code::Budget, message));
        }
        let bound = self.plan.bind(bindings)?;
        let alone = team.members() > 1 && is_small(&self.plan, &bound, bindings);
        let alone = if alone { Team::new(1).ok() } else { None };
        let team = alone.as_ref().unwrap_or(team);
        let mut arena = memory(bound.arena)?;
        let arena_at = arena.as_mut_ptr() as u64;
        let mut instance = self.fill(bound, bindings, team, arena_at, Unfit::Refused)?;
        instance.arena = Some(arena);
        for _ in 0..team.members() {
            instance.scratch.push(memory(self.scratch_bytes)?);
        }
        Ok(instance)
    }

    /// Tables for these sizes and an arena that begins at this address; whoever runs it gives the members their scratch.
    pub(super) fn fill(
        self: &Arc<Self>,
        bound: Bound,
        bindings: &Bindings,
        team: &Team,
        arena: u64,
        unfit: Unfit,
    ) -> Result<Instance> {
        let mut ports = [vec![Port::default(); self.inputs], vec![Port::default(); self.outputs]];
        for (b, bytes) in self.plan.buffers.iter().zip(&bound.bytes) {
            match b.place {
                Place::Input(n) => ports[0][n].bytes = *bytes,
                Place::Output(n) => ports[1][n].bytes = *bytes,
                Place::Constant { .. } | Place::Arena | Place::Row { .. } | Place::Host | Place::Value(_) => {
                }
            }
        }
        let [inputs, outputs] = ports;
        let instance = Instance {
            executable: self.clone(),
            team: team.clone(),
            inputs,
            outputs,
            arena: None,
            scratch: Vec::new(),
            tables: Vec::new(),
            calls: Vec::new(),
            patches: Vec::new(),
            general: None,
            max_bytes: None,
        };
        let moving = Moving::of(&self.plan);
        let (executable, plan) = (self, &self.plan);
        Filling { executable, plan, bound, bindings, instance, moving, arena, stages: 0, unfit }.fill()
    }
}

/// What becomes of a kernel whose code cannot count as far as sizes ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unfit {
    /// The sizes are the caller's, who is told so.
    Refused,
    /// The sizes were found in a run: the evaluator takes the code's place.
    Evaluated,
}

/// An instance in the making.
struct Filling<'e> {
    executable: &'e Executable,
    plan: &'e Plan,
    bound: Bound,
    bindings: &'e Bindings,
    instance: Instance,
    moving: Moving,
    /// Where the arena begins.
    arena: u64,
    /// How many stages have been met.
    stages: usize,
    unfit: Unfit,
}

/// Memory of so many bytes.
pub(super) fn memory(bytes: usize) -> Result<Memory> {
    Memory::zeroed(bytes.max(1)).map_err(|e| Error::new(Code::Budget, format!("{e}")))
}

impl Filling<'_> {
    fn fill(mut self) -> Result<Instance> {
        let items = self.block(&self.plan.steps)?;
        if !items.iter().all(|i| matches!(i, Item::Call(_))) {
            self.general(items)?;
        }
        Ok(self.instance)
    }

    /// Behind the tables, where every buffer begins: loops move those words, and the host reads them.
    fn general(&mut self, items: Vec<Item>) -> Result<()> {
        let bases = self.instance.tables.len();
        let mut patches = Vec::new();
        for (n, b) in self.plan.buffers.iter().enumerate() {
            if let Some(what) = External::of(&b.place) {
                patches.push(Patch { word: bases + n, what, offset: 0, written: false });
            }
            let address = self.address(Slot(n as u32))?;
            self.instance.tables.push(address);
        }
        let (members, words) = (self.instance.team.members(), self.instance.tables.len());
        let moving = std::mem::take(&mut self.moving);
        let general = General::new(self.plan, items, bases, patches, moving, self.bindings, members, words);
        self.instance.general = Some(Box::new(general));
        Ok(())
    }

    /// Where a buffer begins, if that is known before a run.
    fn address(&mut self, slot: Slot) -> Result<u64> {
        Ok(match &self.plan.buffer(slot).place {
            Place::Constant { .. } => match self.executable.constants.address(slot) {
                Some(address) => address as u64,
                None => return Err(Error::internal("a constant was not packed")),
            },
            Place::Arena => {
                let at = self.bound.offsets[slot.0 as usize].unwrap_or(0);
                self.arena + at as u64
            }
            Place::Input(_) | Place::Output(_) | Place::Row { .. } | Place::Host | Place::Value(_) => 0,
        })
    }

    fn block(&mut self, steps: &[Step]) -> Result<Vec<Item>> {
        steps.iter().map(|s| self.item(s)).collect()
    }

    fn item(&mut self, step: &Step) -> Result<Item> {
        Ok(match &step.action {
            Action::Launch { kernel } => match self.fits(*kernel) {
                Err(why) if self.unfit == Unfit::Evaluated => {
                    let action = Action::Evaluate { kernel: *kernel, why };
                    self.host(&Step { action, ..step.clone() })?
                }
                _ => {
                    self.call(step, *kernel)?;
                    Item::Call(self.instance.calls.len() - 1)
                }
            },
            Action::Evaluate { .. } | Action::Interpret(_) => self.host(step)?,
            Action::Staged(staged) => {
                let executable = self.executable.stages.get(self.stages).cloned();
                self.stages += 1;
                let executable = executable.ok_or_else(|| Error::internal("a stage without code"))?;
                let (bytes, bindings) = (&self.bound.bytes, self.bindings);
                Item::Stage(Box::new(StageItem::new(self.plan, step, staged, executable, bytes, bindings)?))
            }
            Action::Loop(l) => {
                let (condition, reads, times) = match &l.again {
                    Again::While { steps, condition } => (self.block(steps)?, Some(*condition), None),
                    Again::Times(n) => (Vec::new(), None, Some(self.bindings.eval(n)?)),
                };
                let body = self.block(&l.body)?;
                let mut rows = Vec::new();
                for r in &l.rows {
                    let Place::Row { of } = self.plan.buffer(r.row).place else {
                        return Err(Error::internal("a row of no buffer"));
                    };
                    let bytes = self.bound.bytes[r.row.0 as usize];
                    rows.push((r.row, of, bytes as u64, r.order == Order::Backward));
                }
                let fallible = condition.iter().chain(&body).any(Item::is_fallible);
                let carried = l.carried.iter().filter(|c| c.state != c.next).map(|c| (c.state, c.next));
                let carried = carried.collect();
                Item::Loop(Box::new(Looping { times, condition, reads, rows, body, carried, fallible }))
            }
            Action::Branch(b) => Item::Branch(Box::new(Branching {
                reads: b.condition,
                then: self.block(&b.then)?,
                otherwise: self.block(&b.otherwise)?,
            })),
            Action::Call { .. } => {
                return Err(Error::internal("a call where the processor is the target"));
            }
            Action::Transfer => return Err(Error::internal("a transfer where there is no device")),
            Action::Declared { .. } => return Err(Error::internal("a step that only declares is run")),
        })
    }

    fn host(&self, step: &Step) -> Result<Item> {
        let hosted = self.plan.hosted(step, &self.bound.bytes, self.bindings)?;
        let step_of_host = hosted.ok_or_else(|| Error::internal("a step of the host that is none"))?;
        let barrier = step.barrier == Barrier::Before;
        Ok(Item::Host(Box::new(HostItem { barrier, step: step_of_host })))
    }

    /// Whether the code of a kernel is right for these sizes.
    fn fits(&self, number: usize) -> Result<()> {
        let Some(variants) = &self.executable.kernels[number] else { return Ok(()) };
        check_limits(&self.plan.kernels[number], &variants.plain.emitted.limits, self.bindings)
    }

    fn call(&mut self, step: &Step, number: usize) -> Result<()> {
        let Some(variants) = &self.executable.kernels[number] else {
            return Err(Error::internal("a kernel without code is launched"));
        };
        let kernel = &self.plan.kernels[number];
        let first_patch = self.instance.patches.len();
        let plain = self.table(step, kernel, &variants.plain)?;
        let moves = step.buffers.iter().any(|r| self.moving.is(r.slot));
        let (streaming, streaming_table) = match &variants.streaming {
            // Rows lie at any address.
            Some(part) if !moves => (Some(self.function(part)?), self.table(step, kernel, part)?),
            _ => (None, plain),
        };
        let skipping = match (&variants.skipping, &self.plan.skipping[number]) {
            (Some(part), Some(of)) => self.skipped(step, number, of, part)?,
            _ => None,
        };
        let Variants { plain: Part { emitted, .. }, .. } = variants;
        let call = Call {
            function: self.function(&variants.plain)?,
            streaming,
            skipping,
            table: plain,
            streaming_table,
            iterations: self.bindings.eval(&emitted.parallel)?,
            barrier: step.barrier == Barrier::Before,
            aligned: streaming.is_some(),
            first_patch,
            last_patch: self.instance.patches.len(),
        };
        self.instance.calls.push(call);
        Ok(())
    }

    /// The code that leaves products with 0 out, if it is right for this step.
    fn skipped(&mut self, step: &Step, number: usize, of: &Skipping, part: &Part) -> Result<Option<Skipped>> {
        let argument = |b: BufferId| of.kernel.arguments().position(|a| a == b);
        let (Some(by), Some(finite)) = (argument(of.by), argument(of.finite)) else { return Ok(None) };
        // What is looked at must not change before all members have seen it.
        let changes = self.plan.over[number].iter().any(|(read, _)| *read == by);
        if changes
            || !self.executable.finite.contains(&step.buffers[finite].slot)
            || check_limits(&of.kernel, &part.emitted.limits, self.bindings).is_err()
        {
            return Ok(None);
        }
        let elements = self.bindings.eval(&of.kernel.buffer(of.by).layout.size)?;
        if elements < of.least {
            return Ok(None);
        }
        let table = self.table(step, &of.kernel, part)?;
        let is_by = |w: &Word| *w == Word::Buffer(of.by);
        let Some(at) = part.emitted.words.iter().position(is_by) else { return Ok(None) };
        Ok(Some(Skipped {
            function: self.function(part)?,
            table,
            iterations: self.bindings.eval(&part.emitted.parallel)?,
            word: table + at,
            elements: usize::try_from(elements).unwrap_or(0),
            most: of.most,
        }))
    }

    fn function(&self, part: &Part) -> Result<Function> {
        self.executable.code.kernel(part.entry).ok_or_else(|| Error::internal("code that is nowhere"))
    }

    /// Fills a table; gives where it begins.
    fn table(&mut self, step: &Step, kernel: &Kernel, part: &Part) -> Result<usize> {
        check_limits(kernel, &part.emitted.limits, self.bindings)?;
        let start = self.instance.tables.len();
        for word in &part.emitted.words {
            let at = self.instance.tables.len();
            let value = match word {
                Word::Parameter(d) => self.bindings.eval(d)? as u64,
                Word::Buffer(b) => {
                    let written = kernel.buffer(*b).role == lawson_kernel::Role::Output;
                    let region = kernel.arguments().position(|a| a == *b).map(|n| &step.buffers[n]);
                    let Some(region) = region else {
                        return Err(Error::internal("a kernel's buffer has no place in the plan"));
                    };
                    let offset = self.plan.part(region, &self.bound.bytes, self.bindings)?.0 as u64;
                    if let Some(what) = External::of(&self.plan.buffer(region.slot).place) {
                        self.instance.patches.push(Patch { word: at, what, offset, written });
                    }
                    self.moving.note(region.slot, at, offset);
                    self.address(region.slot)?.wrapping_add(offset)
                }
            };
            self.instance.tables.push(value);
        }
        Ok(start)
    }
}

/// That the code of a kernel is right for these sizes.
fn check_limits(kernel: &Kernel, limits: &[Limit], bindings: &Bindings) -> Result<()> {
    for limit in limits {
        let value = bindings.eval(&limit.value)?;
        if !limit.holds(value) {
            let (name, what) = (&kernel.name, &limit.value);
            let message =
                format!("the kernel `{name}` counts in 32 bits, which do not hold {what} = {value} here");
            return Err(Error::new(Code::Budget, message).help(
                "run it on parts of the tensors, declare bounds of the symbolic sizes, or use the reference target",
            ));
        }
    }
    Ok(())
}

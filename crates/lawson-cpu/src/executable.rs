//! A plan as machine code, and running it.
//!
//! [`Executable`] is what a compiled program shares: code and constants. [`Instance`] is what one session has: the arena, the
//! members' scratch and the argument tables for the sizes of its last run. A run writes the caller's addresses into
//! the tables, and then every member of the team goes through the same calls, each with its share of the iterations.
#![allow(unsafe_code)]

mod profile;

use crate::code::Word;
use crate::constants::Constants;
use crate::exec::{CodeBuilder, Entry, ExecutableMemory, Kernel as Function};
use crate::kernel::{Emitted, Listing, emit};
use crate::lower::Limit;
use crate::memory::Memory;
use crate::team::{Member, Team};
use lawson_graph::{Bindings, Code, Error, Result};
use lawson_kernel::{Barrier, Kernel, Place, Plan, Store, StoreHint};
use std::sync::Arc;

/// A plan as machine code, with its constants laid out.
#[derive(Debug)]
pub struct Executable {
    plan: Plan,
    code: ExecutableMemory,
    kernels: Vec<Variants>,
    constants: Constants,
    scratch_bytes: usize,
    /// How many inputs and outputs the graph has.
    inputs: usize,
    outputs: usize,
}

/// A plan as machine code, whose constants are as they came.
#[derive(Debug)]
pub struct Unpacked {
    plan: Plan,
    code: ExecutableMemory,
    kernels: Vec<Variants>,
    scratch_bytes: usize,
    inputs: usize,
    outputs: usize,
}

/// The codes of one kernel.
#[derive(Debug)]
struct Variants {
    plain: Part,
    /// For outputs at multiples of a line: stores that go past the caches.
    streaming: Option<Part>,
}

#[derive(Debug)]
struct Part {
    entry: Entry,
    emitted: Emitted,
}

/// What one session runs with.
#[derive(Debug)]
pub struct Instance {
    /// Keeps the code that the calls point to, and the constants that the tables do.
    executable: Arc<Executable>,
    team: Team,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    arena: Memory,
    scratch: Vec<Memory>,
    tables: Vec<u64>,
    calls: Vec<Call>,
    patches: Vec<Patch>,
}

/// A buffer of the caller's.
#[derive(Debug, Clone, Copy, Default)]
struct Port {
    bytes: usize,
    address: u64,
}

/// One launch.
#[derive(Debug, Clone, Copy)]
struct Call {
    function: Function,
    streaming: Option<Function>,
    /// Where its argument table begins, and where that of the streaming code does.
    table: usize,
    streaming_table: usize,
    iterations: i64,
    barrier: bool,
    /// Whether the streaming code can run: all addresses that it stores to are multiples of a line.
    aligned: bool,
    first_patch: usize,
    last_patch: usize,
}

/// A word of a table that is an address of the caller's.
#[derive(Debug, Clone, Copy)]
struct Patch {
    word: usize,
    what: External,
    written: bool,
}

#[derive(Debug, Clone, Copy)]
enum External {
    Input(usize),
    Output(usize),
}

fn without_streams(kernel: &Kernel) -> Option<Kernel> {
    fn clear(nodes: &mut [lawson_kernel::Node], found: &mut bool) {
        for n in nodes {
            match n {
                lawson_kernel::Node::Store(Store { hint, .. }) => {
                    *found |= *hint == StoreHint::Stream;
                    *hint = StoreHint::Keep;
                }
                lawson_kernel::Node::For(lawson_kernel::For { body, .. })
                | lawson_kernel::Node::Accumulate { body, .. } => clear(body, found),
                _ => {}
            }
        }
    }
    let mut plain = kernel.clone();
    let mut found = false;
    clear(&mut plain.body, &mut found);
    found.then_some(plain)
}

impl Unpacked {
    /// Emits every kernel of a plan. The graph has so many inputs and outputs.
    pub fn new(plan: Plan, inputs: usize, outputs: usize) -> Result<Unpacked> {
        let refused = |k: &Kernel, e: crate::Unsupported| {
            Error::new(Code::NotLowered, format!("the kernel `{}`: {e}", k.name))
                .help("run the graph on the reference target, or cast to f32 around what is refused")
        };
        let mut builder = CodeBuilder::new();
        let mut kernels = Vec::with_capacity(plan.kernels.len());
        let mut scratch_bytes = 0;
        for k in &plan.kernels {
            let mut part = |k: &Kernel| -> Result<Part> {
                let emitted = emit(k, Listing::Off).map_err(|e| refused(k, e))?;
                scratch_bytes = scratch_bytes.max(emitted.scratch_bytes);
                Ok(Part { entry: builder.add(&emitted.code), emitted })
            };
            kernels.push(match without_streams(k) {
                None => Variants { plain: part(k)?, streaming: None },
                Some(plain) => Variants { plain: part(&plain)?, streaming: Some(part(k)?) },
            });
        }
        let code =
            builder.finish().map_err(|e| Error::new(Code::Internal, format!("executable memory: {e}")))?;
        Ok(Unpacked { plan, code, kernels, scratch_bytes, inputs, outputs })
    }

    /// Lays out the constants, with all members of a team. Their tensors are let go one by one: who wants memory for
    /// them only once drops the graph before.
    pub fn pack(self, team: &Team) -> Result<Executable> {
        let Unpacked { mut plan, code, kernels, scratch_bytes, inputs, outputs } = self;
        let constants = Constants::new(plan.take_constants()?, team)?;
        Ok(Executable { plan, code, kernels, constants, scratch_bytes, inputs, outputs })
    }
}

impl Executable {
    /// Emits every kernel of a plan and packs its constants. The graph has so many inputs and outputs.
    pub fn new(plan: Plan, inputs: usize, outputs: usize, team: &Team) -> Result<Executable> {
        Unpacked::new(plan, inputs, outputs)?.pack(team)
    }

    /// The plan, without the elements of its constants.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What kernels put into memory for want of registers, by kernel: vectors, masks, general registers.
    pub fn spilled(&self) -> impl Iterator<Item = [u32; 3]> + '_ {
        self.kernels.iter().map(|v| v.plain.emitted.spilled)
    }

    /// Arena, scratch and tables for these sizes.
    pub fn instance(self: &Arc<Self>, bindings: &Bindings, team: &Team) -> Result<Instance> {
        if team.members() > MAX_MEMBERS {
            let message = format!("a team of {} members; at most {MAX_MEMBERS} run a plan", team.members());
            return Err(Error::new(Code::Budget, message));
        }
        let bound = self.plan.bind(bindings)?;
        let mut ports = [vec![Port::default(); self.inputs], vec![Port::default(); self.outputs]];
        for (b, bytes) in self.plan.buffers.iter().zip(&bound.bytes) {
            match b.place {
                Place::Input(n) => ports[0][n].bytes = *bytes,
                Place::Output(n) => ports[1][n].bytes = *bytes,
                Place::Constant { .. } | Place::Arena => {}
            }
        }
        let [inputs, outputs] = ports;
        let memory =
            |bytes: usize| Memory::zeroed(bytes.max(1)).map_err(|e| Error::new(Code::Budget, format!("{e}")));
        let arena = memory(bound.arena)?;
        let mut scratch = Vec::new();
        for _ in 0..team.members() {
            scratch.push(memory(self.scratch_bytes)?);
        }
        let mut instance = Instance {
            executable: self.clone(),
            team: team.clone(),
            inputs,
            outputs,
            arena,
            scratch,
            tables: Vec::new(),
            calls: Vec::new(),
            patches: Vec::new(),
        };
        for step in &self.plan.steps {
            let variants = &self.kernels[step.kernel];
            let kernel = &self.plan.kernels[step.kernel];
            let first_patch = instance.patches.len();
            let mut aligned = true;
            let table = |instance: &mut Instance, part: &Part| -> Result<usize> {
                check_limits(kernel, &part.emitted.limits, bindings)?;
                let start = instance.tables.len();
                for word in &part.emitted.words {
                    let value = match word {
                        Word::Parameter(d) => bindings.eval(d)? as u64,
                        Word::Buffer(b) => {
                            let written = kernel.buffer(*b).role == lawson_kernel::Role::Output;
                            let slot = kernel.arguments().position(|a| a == *b).map(|n| step.buffers[n]);
                            let Some(slot) = slot else {
                                return Err(Error::internal("a kernel's buffer has no place in the plan"));
                            };
                            let place = &self.plan.buffers[slot.0 as usize].place;
                            let external = match place {
                                Place::Input(n) => Some(External::Input(*n)),
                                Place::Output(n) => Some(External::Output(*n)),
                                Place::Constant { .. } | Place::Arena => None,
                            };
                            if let Some(what) = external {
                                instance.patches.push(Patch { word: instance.tables.len(), what, written });
                            }
                            match place {
                                Place::Constant { .. } => match self.constants.address(slot) {
                                    Some(address) => address as u64,
                                    None => return Err(Error::internal("a constant was not packed")),
                                },
                                Place::Arena => {
                                    let at = bound.offsets[slot.0 as usize].unwrap_or(0);
                                    instance.arena.as_mut_ptr() as u64 + at as u64
                                }
                                Place::Input(_) | Place::Output(_) => 0,
                            }
                        }
                    };
                    instance.tables.push(value);
                }
                Ok(start)
            };
            let plain = table(&mut instance, &variants.plain)?;
            let function = |part: &Part| {
                self.code.kernel(part.entry).ok_or_else(|| Error::internal("code that is nowhere"))
            };
            let (streaming, streaming_table) = match &variants.streaming {
                None => (None, plain),
                Some(part) => (Some(function(part)?), table(&mut instance, part)?),
            };
            aligned &= streaming.is_some();
            instance.calls.push(Call {
                function: function(&variants.plain)?,
                streaming,
                table: plain,
                streaming_table,
                iterations: bindings.eval(&variants.plain.emitted.parallel)?,
                barrier: step.barrier == Barrier::Before,
                aligned,
                first_patch,
                last_patch: instance.patches.len(),
            });
        }
        Ok(instance)
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

/// An address that is only ever used by the team's members while a run lasts.
#[derive(Clone, Copy)]
struct Shared(*mut u8);

// SAFETY: each member gets the scratch of its own index.
unsafe impl Send for Shared {}
// SAFETY: as for `Send`.
unsafe impl Sync for Shared {}

impl Instance {
    /// What it runs.
    pub fn executable(&self) -> &Arc<Executable> {
        &self.executable
    }

    /// Runs the plan once, on the bytes of the inputs and outputs in order. Allocates nothing.
    pub fn run<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = &'a mut [u8]>,
    ) -> Result<()> {
        self.point(inputs, outputs)?;
        self.call();
        Ok(())
    }

    /// Writes the addresses of the caller's memory into the tables.
    #[inline]
    fn point<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = &'a mut [u8]>,
    ) -> Result<()> {
        let mut given = 0;
        for (port, bytes) in self.inputs.iter_mut().zip(inputs) {
            port.check(bytes.len(), "input", given)?;
            port.address = bytes.as_ptr() as u64;
            given += 1;
        }
        let mut taken = 0;
        for (port, bytes) in self.outputs.iter_mut().zip(outputs) {
            port.check(bytes.len(), "output", taken)?;
            port.address = bytes.as_mut_ptr() as u64;
            taken += 1;
        }
        if (given, taken) != (self.inputs.len(), self.outputs.len()) {
            return Err(Error::internal("a plan is run with too few inputs or outputs"));
        }
        for call in &mut self.calls {
            let mut aligned = call.streaming.is_some();
            for patch in &self.patches[call.first_patch..call.last_patch] {
                let address = match patch.what {
                    External::Input(n) => self.inputs[n].address,
                    External::Output(n) => self.outputs[n].address,
                };
                self.tables[patch.word] = address;
                aligned &= !patch.written || address.is_multiple_of(crate::memory::LINE as u64);
            }
            call.aligned = aligned;
        }
        Ok(())
    }

    fn call(&mut self) {
        let calls = &self.calls;
        let tables = self.tables.as_slice();
        let one = |call: &Call, begin: i64, end: i64, scratch: *mut u8| call.run(tables, begin, end, scratch);
        if self.team.members() == 1 {
            let scratch = self.scratch[0].as_mut_ptr();
            for call in calls {
                one(call, 0, call.iterations, scratch);
            }
            return;
        }
        let mut scratch = [Shared(std::ptr::null_mut()); MAX_MEMBERS];
        for (to, from) in scratch.iter_mut().zip(&mut self.scratch) {
            *to = Shared(from.as_mut_ptr());
        }
        let scratch = &scratch;
        self.team.run(|member: Member<'_>| {
            let Shared(mine) = scratch[member.index()];
            for call in calls {
                if call.barrier {
                    member.barrier();
                }
                let share = member.share(call.iterations.max(0) as usize);
                if !share.is_empty() {
                    one(call, share.start as i64, share.end as i64, mine);
                }
            }
        });
    }
}

impl Call {
    /// Runs iterations of the kernel, with the tables of an instance whose addresses have been written, and one member's scratch.
    #[inline(always)]
    fn run(&self, tables: &[u64], begin: i64, end: i64, scratch: *mut u8) {
        let (function, table) = match self.streaming {
            Some(f) if self.aligned => (f, self.streaming_table),
            _ => (self.function, self.table),
        };
        // SAFETY: the code, which the instance's executable keeps, was emitted for this table; the verifier has shown that it stays
        // inside its buffers; these are as large as the plan says: the arena by construction, the caller's by
        // `Port::check`. Outputs are exclusive borrows, so nothing else is written.
        unsafe { function(tables[table..].as_ptr(), begin, end, scratch) };
    }
}

impl Port {
    fn check(&self, bytes: usize, what: &str, n: usize) -> Result<()> {
        if bytes >= self.bytes {
            return Ok(());
        }
        let message = format!("{what} {n} has {bytes} bytes; the plan was made for {}", self.bytes);
        Err(Error::new(Code::InputType, message))
    }
}

/// The most members that a team may have for a plan.
pub const MAX_MEMBERS: usize = 256;

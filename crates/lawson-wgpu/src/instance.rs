//! What one session runs with: buffers of the device for the sizes of its last run, and launches made ready.
//!
//! In: an executable and values of the plan's symbols. Out: an [`Instance`]. Every buffer of the plan is at a *spot*, a buffer of the
//! device and a byte of it; loops move spots, and everything else finds buffers by them. A launch at certain spots is
//! *ready* when there is a bind group with its parameters; making the instance goes through the plan as a run would, so
//! that a run finds all of them ready (`ready.rs`). `run.rs` is what a run does.

use crate::binding::Binding;
use crate::executable::{Executable, Loaded, Use, buffer, padded};
use crate::ready::{Launching, Parameters, Window};
use crate::record::Commands;
use lawson_graph::{Bindings, Code, Error, Result, Symbol, Value};
use lawson_kernel::plan::hosted::{HostCall, HostState, Hosted};
use lawson_kernel::{Action, Again, Mode, Order, Place, Plan, Region, Slot, Step, ValuePort};
use std::collections::HashMap;
use std::sync::Arc;

/// Where a buffer of the plan begins: a buffer of the device, and a byte of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Spot {
    pub(crate) buffer: u32,
    pub(crate) offset: u64,
}

/// What happens, with everything that sizes decide.
#[derive(Debug)]
pub(crate) enum Item {
    /// A launch, by its number.
    Launch(usize),
    Host(Box<Hosted>),
    /// A kernel of the processor, by its number among the calls.
    Call(usize),
    /// Bytes of a buffer of the device go to one of the host, or the other way.
    Download {
        from: Piece,
        to: Slot,
    },
    Upload {
        from: Slot,
        to: Piece,
    },
    Loop(Box<Looping>),
    Branch(Box<Branching>),
}

/// A kernel of the processor, with the buffers of the host that it reads and writes.
#[derive(Debug)]
pub(crate) struct Calling {
    pub(crate) call: Box<dyn HostCall>,
    pub(crate) reads: Vec<Slot>,
    pub(crate) writes: Vec<Slot>,
}

/// Bytes of a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) slot: Slot,
    pub(crate) offset: u64,
    pub(crate) bytes: usize,
}

#[derive(Debug)]
pub(crate) struct Looping {
    /// How often, unless a condition decides.
    pub(crate) times: Option<u64>,
    pub(crate) condition: Vec<Item>,
    pub(crate) reads: Option<Slot>,
    pub(crate) rows: Vec<RowOf>,
    pub(crate) body: Vec<Item>,
    /// Buffers that exchange their spots after every iteration.
    pub(crate) carried: Vec<(Slot, Slot)>,
}

/// A buffer that goes through the rows of another.
#[derive(Debug)]
pub(crate) struct RowOf {
    pub(crate) row: Slot,
    pub(crate) of: Slot,
    pub(crate) bytes: u64,
    pub(crate) order: Order,
}

#[derive(Debug)]
pub(crate) struct Branching {
    pub(crate) reads: Slot,
    pub(crate) then: Vec<Item>,
    pub(crate) otherwise: Vec<Item>,
}

/// A buffer of the caller's.
#[derive(Debug)]
pub(crate) struct Port {
    /// The buffer of the plan, if a step uses it.
    pub(crate) slot: Option<Slot>,
    pub(crate) bytes: usize,
    /// Through which it goes to the device, or comes back.
    pub(crate) staging: Option<wgpu::Buffer>,
    /// Where it is at the beginning of a run.
    pub(crate) spot: Spot,
}

/// Where inputs come from and outputs go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ports {
    /// The host's memory, by way of staging buffers that stay.
    Staged,
    /// Buffers of the device that each run is given (`held.rs`).
    Held,
}

/// What one session runs with.
#[derive(Debug)]
pub struct Instance {
    pub(crate) executable: Arc<Executable>,
    pub(crate) ports: Ports,
    pub(crate) loaded: Arc<Loaded>,
    pub(crate) bindings: Bindings,
    pub(crate) items: Vec<Item>,
    pub(crate) launches: Vec<Launching>,
    pub(crate) calls: Vec<Calling>,
    /// The buffers of the device that spots speak of.
    pub(crate) buffers: Vec<wgpu::Buffer>,
    /// The first of them that the plan's own values are in, one past the last.
    pub(crate) homes: std::ops::Range<usize>,
    /// Where every buffer of the plan is, now and at the beginning of a run.
    pub(crate) spots: Vec<Spot>,
    pub(crate) first: Vec<Spot>,
    pub(crate) inputs: Vec<Port>,
    pub(crate) outputs: Vec<Port>,
    /// What lies in the host's memory, by slot.
    pub(crate) mirrors: Vec<Vec<u8>>,
    pub(crate) host: HostState,
    /// The slots of values of the host that are inputs and outputs, by number.
    pub(crate) value_inputs: Vec<(usize, Slot)>,
    pub(crate) value_outputs: Vec<(usize, Slot)>,
    pub(crate) groups: Vec<wgpu::BindGroup>,
    pub(crate) parameters: Parameters,
    pub(crate) spill: Option<wgpu::Buffer>,
    /// Through which steps of the host read, as large as the largest of what they read.
    pub(crate) window: Option<wgpu::Buffer>,
    /// Spots of a launch that is looked for.
    pub(crate) key: Vec<Spot>,
    /// The size of each buffer of the plan.
    pub(crate) sizes: Vec<usize>,
    /// The number of the plan's step of each item.
    pub(crate) kept: Vec<usize>,
    pub(crate) commands: Commands,
}

/// How many iterations of known loops are made ready beforehand.
const AHEAD: u64 = 16 << 10;

impl Executable {
    /// How many bytes of the device an instance for these sizes takes: inputs, outputs and the plan's own values, without scratch.
    pub fn bytes(&self, bindings: &Bindings) -> Result<u64> {
        let apart = self.plan.bind_apart(bindings)?;
        let ports = self.plan.buffers.iter().zip(&apart.bytes);
        let ports = ports.filter(|(b, _)| matches!(b.place, Place::Input(_) | Place::Output(_)));
        let all = ports.map(|(_, bytes)| *bytes).chain(apart.sizes.iter().copied());
        Ok(all.fold(0u64, |sum, bytes| sum.saturating_add(bytes as u64)))
    }

    /// Buffers and launches for these sizes.
    pub fn instance(self: &Arc<Self>, bindings: &Bindings) -> Result<Instance> {
        self.instance_with(bindings, Ports::Staged)
    }

    pub(crate) fn instance_with(self: &Arc<Self>, bindings: &Bindings, ports: Ports) -> Result<Instance> {
        Filling::new(self, bindings, ports)?.fill()
    }
}

struct Filling<'e> {
    plan: &'e Plan,
    symbols: Vec<(Symbol, i64)>,
    bytes: Vec<usize>,
    instance: Instance,
    /// The largest region that the host reads.
    largest: usize,
}

impl<'e> Filling<'e> {
    fn new(executable: &'e Arc<Executable>, bindings: &Bindings, given: Ports) -> Result<Filling<'e>> {
        let plan = &executable.plan;
        let loaded = executable.loaded()?;
        let apart = plan.bind_apart(bindings)?;
        let handles = loaded.handles.clone();
        let mut buffers = Vec::new();
        for (n, size) in apart.sizes.iter().enumerate() {
            buffers.push(buffer(&handles, &format!("memory {n} of the plan"), *size, Use::Storage)?);
        }
        let homes = 0..buffers.len();
        let count = plan.buffers.len();
        let mut spots = vec![Spot::default(); count];
        let mut ports = [Vec::new(), Vec::new()];
        for (side, n) in [(0, executable.inputs), (1, executable.outputs)] {
            ports[side].resize_with(n, || Port {
                slot: None,
                bytes: 0,
                staging: None,
                spot: Spot::default(),
            });
        }
        let [mut inputs, mut outputs] = ports;
        let (mut value_inputs, mut value_outputs) = (Vec::new(), Vec::new());
        let mut mirrors = vec![Vec::new(); count];
        for (n, b) in plan.buffers.iter().enumerate() {
            let (slot, bytes) = (Slot(n as u32), apart.bytes[n]);
            let mut own = |port: &mut Port, what: Use| -> Result<Spot> {
                if port.slot.is_none() {
                    let staging = match (given, bytes) {
                        (Ports::Held, _) | (_, 0) => None,
                        _ => Some(buffer(&handles, &b.name, bytes, what)?),
                    };
                    // Where a run brings its own, something stands for it until then.
                    let own = if given == Ports::Held { 0 } else { bytes };
                    buffers.push(buffer(&handles, &b.name, own, Use::Storage)?);
                    let spot = Spot { buffer: buffers.len() as u32 - 1, offset: 0 };
                    *port = Port { slot: Some(slot), bytes, staging, spot };
                }
                Ok(port.spot)
            };
            spots[n] = match &b.place {
                Place::Input(port) => own(&mut inputs[*port], Use::Upload)?,
                Place::Output(port) => own(&mut outputs[*port], Use::Download)?,
                Place::Arena => Spot { buffer: apart.homes[n].unwrap_or(0) as u32, offset: 0 },
                // What the host reads lies in its memory.
                Place::Constant { .. } if executable.host_constants.contains_key(&slot) => Spot::default(),
                Place::Constant { .. } => {
                    let constant = loaded.constants.get(&slot).cloned();
                    buffers.push(constant.ok_or_else(|| Error::internal("a constant is nowhere"))?);
                    Spot { buffer: buffers.len() as u32 - 1, offset: 0 }
                }
                Place::Host => {
                    mirrors[n] = vec![0; bytes];
                    Spot::default()
                }
                Place::Value(port) => {
                    match port {
                        ValuePort::Input(port) => value_inputs.push((*port, slot)),
                        ValuePort::Output(port) => value_outputs.push((*port, slot)),
                        ValuePort::Own => {}
                    }
                    Spot::default()
                }
                Place::Row { .. } => Spot::default(),
            };
        }
        let align = u64::from(handles.limits.min_uniform_buffer_offset_alignment).max(16);
        let host = HostState { values: vec![None; count], bindings: bindings.clone(), error: None };
        let instance = Instance {
            executable: executable.clone(),
            ports: given,
            loaded,
            bindings: bindings.clone(),
            items: Vec::new(),
            launches: Vec::new(),
            calls: Vec::new(),
            buffers,
            homes,
            first: spots.clone(),
            spots,
            inputs,
            outputs,
            mirrors,
            host,
            value_inputs,
            value_outputs,
            groups: Vec::new(),
            parameters: Parameters::new(align),
            spill: None,
            window: None,
            key: Vec::new(),
            sizes: apart.bytes.clone(),
            kept: Vec::new(),
            commands: Commands::default(),
        };
        let symbols = bindings.iter().map(|(s, v)| (s.clone(), v)).collect();
        Ok(Filling { plan, symbols, bytes: apart.bytes, instance, largest: 0 })
    }

    fn fill(mut self) -> Result<Instance> {
        let mut items = Vec::new();
        for (n, step) in self.plan.steps.iter().enumerate() {
            if let Some(item) = self.item(step)? {
                items.push(item);
                self.instance.kept.push(n);
            }
        }
        let mut instance = self.instance;
        let handles = instance.loaded.handles.clone();
        let spill = instance.launches.iter().map(|l| l.bound.spill(&handles.capabilities())).max();
        if let Some(bytes) = spill.filter(|b| *b > 0) {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            instance.spill = Some(buffer(&handles, "scratch of the plan", bytes, Use::Storage)?);
        }
        if self.largest > 0 {
            instance.window = Some(buffer(&handles, "what the host reads", self.largest, Use::Download)?);
        }
        if instance.ports == Ports::Staged {
            let mut left = AHEAD;
            instance.prepare_all(&items, &mut left)?;
            instance.spots.copy_from_slice(&instance.first);
        }
        instance.items = items;
        Ok(instance)
    }

    fn block(&mut self, steps: &[Step]) -> Result<Vec<Item>> {
        let mut items = Vec::with_capacity(steps.len());
        for step in steps {
            items.extend(self.item(step)?);
        }
        Ok(items)
    }

    fn piece(&mut self, region: &Region) -> Result<Piece> {
        let (offset, bytes) = self.plan.part(region, &self.bytes, &self.instance.bindings)?;
        // Words that the region only begins or ends in come along.
        self.largest = self.largest.max(bytes + 8);
        Ok(Piece { slot: region.slot, offset: offset as u64, bytes })
    }

    fn item(&mut self, step: &Step) -> Result<Option<Item>> {
        Ok(Some(match &step.action {
            Action::Launch { kernel } => return self.launch(step, *kernel),
            Action::Call { kernel } => self.call(step, *kernel)?,
            Action::Evaluate { .. } | Action::Interpret(_) => {
                let hosted = self.plan.hosted(step, &self.bytes, &self.instance.bindings)?;
                Item::Host(Box::new(
                    hosted.ok_or_else(|| Error::internal("a step of the host that is none"))?,
                ))
            }
            Action::Transfer => {
                let [from, to] = step.buffers.as_slice() else {
                    return Err(Error::internal("a transfer of other than two buffers"));
                };
                match (&self.plan.buffer(from.slot).place, &self.plan.buffer(to.slot).place) {
                    (Place::Host, _) => Item::Upload { from: from.slot, to: self.piece(to)? },
                    (_, Place::Host) => Item::Download { from: self.piece(from)?, to: to.slot },
                    _ => return Err(Error::internal("a transfer of which no side is the host's")),
                }
            }
            Action::Loop(l) => {
                let (condition, reads, times) = match &l.again {
                    Again::While { steps, condition } => {
                        self.largest = self.largest.max(8);
                        (self.block(steps)?, Some(*condition), None)
                    }
                    Again::Times(n) => {
                        let times = self.instance.bindings.eval(n)?;
                        (Vec::new(), None, Some(u64::try_from(times).unwrap_or(0)))
                    }
                };
                let mut rows = Vec::new();
                for r in &l.rows {
                    let Place::Row { of } = self.plan.buffer(r.row).place else {
                        return Err(Error::internal("a row of no buffer"));
                    };
                    let bytes = self.bytes[r.row.0 as usize] as u64;
                    rows.push(RowOf { row: r.row, of, bytes, order: r.order });
                }
                let body = self.block(&l.body)?;
                let carried = l.carried.iter().filter(|c| c.state != c.next).map(|c| (c.state, c.next));
                let carried = carried.collect();
                Item::Loop(Box::new(Looping { times, condition, reads, rows, body, carried }))
            }
            Action::Branch(b) => {
                self.largest = self.largest.max(8);
                let (then, otherwise) = (self.block(&b.then)?, self.block(&b.otherwise)?);
                Item::Branch(Box::new(Branching { reads: b.condition, then, otherwise }))
            }
            Action::Declared { .. } => return Err(Error::internal("a step that only declares is run")),
        }))
    }

    /// That a kernel cannot see its buffers, even in windows.
    fn too_large(&self, step: &Step, why: &Error) -> Error {
        if why.code() != Code::NotEmitted {
            return why.clone();
        }
        let largest =
            step.buffers.iter().map(|r| self.plan.root(r.slot)).max_by_key(|s| self.bytes[s.0 as usize]);
        let (name, bytes) = largest
            .map_or((String::new(), 0), |s| (self.plan.buffer(s).name.clone(), self.bytes[s.0 as usize]));
        let handles = &self.instance.loaded.handles;
        let message = format!(
            "`{name}` takes {bytes} bytes, of which a shader of `{}` sees {} at once: {}",
            handles.adapter.name,
            handles.capabilities().max_buffer_bytes,
            why.message()
        );
        Error::new(Code::Budget, message)
            .help("run on smaller sizes, split the tensor, or use the CPU target")
    }

    fn call(&mut self, step: &Step, kernel: usize) -> Result<Item> {
        let host = self.instance.executable.host.as_ref();
        let host = host.ok_or_else(|| Error::internal("a call where there is no code for the processor"))?;
        let call = host.prepare(kernel, &self.instance.bindings)?;
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for (region, mode) in self.plan.modes(step) {
            if mode == Mode::Read { &mut reads } else { &mut writes }.push(region.slot);
        }
        self.instance.calls.push(Calling { call, reads, writes });
        Ok(Item::Call(self.instance.calls.len() - 1))
    }

    fn launch(&mut self, step: &Step, kernel: usize) -> Result<Option<Item>> {
        let executable = self.instance.executable.clone();
        let loaded = self.instance.loaded.clone();
        let capabilities = loaded.handles.capabilities();
        let bytes = |slot: Slot| self.bytes[slot.0 as usize];
        let key = (kernel, Binding::of_launch(self.plan, step, &capabilities, |slot| Some(bytes(slot))));
        let windowed;
        let (listing, pipelines) = match executable.numbers.get(&key) {
            Some(n) => (&executable.shaders[*n], loaded.pipelines[*n].clone()),
            None => {
                windowed = executable.windowed(&loaded, &key).map_err(|why| self.too_large(step, &why))?;
                (&windowed.listing, windowed.pipelines.clone())
            }
        };
        let (given, kernel) = (key.1, &self.plan.kernels[kernel]);
        let mut arguments = Vec::new();
        for (b, region) in kernel.arguments().zip(&step.buffers) {
            let offset = self.plan.part(region, &self.bytes, &self.instance.bindings)?.0 as u64;
            arguments.push((region.slot, offset, kernel.buffer(b).dtype.bits()));
        }
        let based: Vec<usize> = (0..arguments.len()).filter(|n| given.based[*n]).collect();
        // The last element at which a row may begin.
        let last = |n: &usize| {
            let (slot, _, bits) = arguments[*n];
            let whole = self.bytes[self.plan.root(slot).0 as usize];
            (whole as u64 * 8 / bits as u64) as i64
        };
        let ends: Vec<i64> = based.iter().map(last).collect();
        let bound = listing.bind_within(&self.symbols, &ends)?;
        let workgroups = bound.workgroups(&listing.capabilities);
        if workgroups.iter().all(|n| *n == 0) {
            return Ok(None);
        }
        let roots: Vec<u64> =
            step.buffers.iter().map(|r| padded(self.bytes[self.plan.root(r.slot).0 as usize])).collect();
        let bindings = (0..arguments.len()).filter(|n| given.shared[*n].is_none());
        let window = |(argument, number): (usize, u32)| {
            let begin = u64::from(number) * capabilities.window();
            let whole = given.windows.get(argument).is_none_or(|n| *n == 1);
            let size =
                if whole { roots[argument] } else { (roots[argument] - begin).min(capabilities.window()) };
            Window { argument, begin, size }
        };
        let windows = |n: usize| (0..given.windows.get(n).copied().unwrap_or(1)).map(move |w| (n, w));
        let bindings = bindings.flat_map(windows).map(window).collect();
        let ready = HashMap::new();
        self.instance.launches.push(Launching {
            pipelines,
            bound,
            workgroups,
            arguments,
            bindings,
            based,
            ready,
            placed: HashMap::new(),
        });
        Ok(Some(Item::Launch(self.instance.launches.len() - 1)))
    }
}

impl Instance {
    /// Goes through items as a run would, and makes launches ready. Loops whose end is data have two iterations here, after which every buffer
    /// has been at every spot; both sides of a branch are gone through.
    fn prepare_all(&mut self, items: &[Item], left: &mut u64) -> Result<()> {
        for item in items {
            match item {
                Item::Launch(n) => {
                    self.ready(*n)?;
                }
                Item::Host(_) | Item::Call(_) | Item::Download { .. } | Item::Upload { .. } => {}
                Item::Branch(b) => {
                    let before = self.spots.clone();
                    self.prepare_all(&b.then, left)?;
                    self.spots.copy_from_slice(&before);
                    self.prepare_all(&b.otherwise, left)?;
                }
                Item::Loop(l) => {
                    let times = l.times.unwrap_or(2);
                    for done in 0..times {
                        if *left == 0 && done > 1 && l.times.is_some() {
                            // What is not ready is made so when it comes to it.
                            break;
                        }
                        *left = left.saturating_sub(1);
                        self.enter_rows(l, done);
                        self.prepare_all(&l.condition, left)?;
                        self.prepare_all(&l.body, left)?;
                        self.exchange(l);
                    }
                }
            }
        }
        Ok(())
    }

    /// Lets rows stand for those of an iteration.
    pub(crate) fn enter_rows(&mut self, l: &Looping, done: u64) {
        for r in &l.rows {
            let at = match r.order {
                Order::Forward => done,
                Order::Backward => l.times.unwrap_or(0).saturating_sub(1).saturating_sub(done),
            };
            let of = self.spots[r.of.0 as usize];
            self.spots[r.row.0 as usize] = Spot { buffer: of.buffer, offset: of.offset + at * r.bytes };
        }
    }

    /// State and next state exchange their spots.
    pub(crate) fn exchange(&mut self, l: &Looping) {
        for (state, next) in &l.carried {
            self.spots.swap(state.0 as usize, next.0 as usize);
        }
    }

    /// What it runs.
    pub fn executable(&self) -> &Arc<Executable> {
        &self.executable
    }

    /// Whether a run may end with an error after some outputs were written: results come back when all is done, so never.
    pub fn is_fallible(&self) -> bool {
        false
    }

    /// Gives an input that is a value of the host.
    pub fn set_value(&mut self, input: usize, value: Value) {
        if let Some((_, slot)) = self.value_inputs.iter().find(|(n, _)| *n == input) {
            self.host.values[slot.0 as usize] = Some(value);
        }
    }

    /// Takes an output that is a value of the host.
    pub fn take_value(&mut self, output: usize) -> Option<Value> {
        let (_, slot) = self.value_outputs.iter().find(|(n, _)| *n == output)?;
        self.host.values[slot.0 as usize].take()
    }
}

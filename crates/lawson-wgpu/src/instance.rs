//! What one session runs with: buffers of the device for the sizes of its last run, and launches made ready.
//!
//! In: an executable and values of the plan's symbols. Out: an [`Instance`]. Every buffer of the plan is at a *spot*, a buffer of the
//! device and a byte of it; loops move spots, and everything else finds buffers by them. `fill.rs` says what is done with them. A launch at certain
//! spots is *ready* when there is a bind group with its parameters; making the instance goes through the plan as a run would, so
//! that a run finds all of them ready (`ready.rs`). `run.rs` is what a run does.

use crate::device::Handles;
use crate::executable::{Executable, Loaded, Use, buffer};
use crate::fill::{Filled, fill};
use crate::ready::{Launching, Parameters};
use crate::record::Commands;
use lawson_graph::{Bindings, Code, Error, Result, Symbol, Value};
use lawson_kernel::plan::hosted::{HostCall, HostState, Hosted};
use lawson_kernel::{Order, Place, Slot, ValuePort};
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
        let mut instance = Instance::empty(self, bindings, ports)?;
        let filled = fill(self, &instance.loaded, bindings, &instance.sizes)?;
        instance.adopt(filled)?;
        if ports == Ports::Staged {
            let items = std::mem::take(&mut instance.items);
            let mut left = AHEAD;
            instance.prepare_all(&items, &mut left)?;
            instance.items = items;
            instance.spots.copy_from_slice(&instance.first);
        }
        Ok(instance)
    }
}

impl Instance {
    /// The buffers for these sizes, and nothing that is done with them.
    fn empty(executable: &Arc<Executable>, bindings: &Bindings, given: Ports) -> Result<Instance> {
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
        Ok(Instance {
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
            sizes: apart.bytes,
            kept: Vec::new(),
            commands: Commands::default(),
        })
    }

    /// Does this from now on, with memory for it.
    fn adopt(&mut self, filled: Filled) -> Result<()> {
        let handles = self.loaded.handles.clone();
        let spill = filled.launches.iter().map(|l| l.bound.spill(&handles.capabilities())).max().unwrap_or(0);
        if spill > self.spill.as_ref().map_or(0, wgpu::Buffer::size) {
            let bytes = usize::try_from(spill).unwrap_or(usize::MAX);
            self.spill = Some(buffer(&handles, "scratch of the plan", bytes, Use::Storage)?);
        }
        if filled.largest as u64 > self.window.as_ref().map_or(0, wgpu::Buffer::size) {
            self.window = Some(buffer(&handles, "what the host reads", filled.largest, Use::Download)?);
        }
        self.groups.clear();
        Filled { items: self.items, launches: self.launches, calls: self.calls, kept: self.kept, .. } =
            filled;
        Ok(())
    }

    /// Gives a symbol another value for what is launched from now on. Buffers stay, so that none may have a size which depends on it. If there is
    /// an error, everything is as it was.
    pub(crate) fn rebind(&mut self, handles: &Handles, symbol: &Symbol, value: u64) -> Result<()> {
        let value = i64::try_from(value).map_err(|_| {
            Error::new(Code::DimOverflow, format!("`{symbol}` does not take the value {value}"))
        })?;
        if self.bindings.get(symbol) == Some(value) {
            return Ok(());
        }
        let mut bindings = self.bindings.clone();
        bindings.define(symbol.clone(), value, "a loop of runs");
        if self.executable.plan.bind_apart(&bindings)?.bytes != self.sizes {
            return Err(Error::internal(format!("sizes of buffers depend on `{symbol}`")));
        }
        let filled = fill(&self.executable, &self.loaded, &bindings, &self.sizes)?;
        // What has been recorded is launched with the parameters of before.
        self.commands.submit_launches(handles);
        self.adopt(filled)?;
        self.parameters.restart();
        self.host.bindings = bindings.clone();
        self.bindings = bindings;
        Ok(())
    }

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

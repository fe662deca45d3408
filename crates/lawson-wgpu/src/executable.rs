//! A plan as shaders: what a compiled program shares.
//!
//! In: the plan that `lawson_kernel::compile` makes for a [`machine`]. Out: an [`Executable`], from which every session makes an
//! [`Instance`](crate::Instance) for the sizes of its run. A kernel that has no op codes, or that the driver refuses, is left to the
//! evaluator of the host, and so is whatever the plan leaves to the interpreter: the plan says which and why, and has a transfer
//! for everything that such a step reads or writes.
//!
//! What lies on the device belongs to one generation of it ([`Loaded`]) and is made again when the device was lost; so the elements of constants
//! stay in the host's memory, where they are shared with the graph that they came from.

use crate::chain::most_columns;
use crate::device::{Device, Handles, failed, lock};
use crate::dtype::lacked;
use crate::opcode::{Binding, Capabilities, Listing};
use crate::pipelines::Pipelines;
use lawson_graph::{Code, Error, HostTensor, Result};
use lawson_kernel::machine::{Chains, Machine, Rate, Rates, Spread};
use lawson_kernel::pack::Packing;
use lawson_kernel::plan::hosted::HostKernels;
use lawson_kernel::{Action, Plan, Slot};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Slots a second, bytes that come from the caches and from memory during one, and slots that starting a kernel takes.
const SLOTS: f64 = 1.7e9;
const NEAR_BYTES_PER_SLOT: f64 = 4000.0;
const FAR_BYTES_PER_SLOT: f64 = 2000.0;
const SLOTS_PER_START: f64 = 5000.0;

/// A device as the model sees it: estimates of a large one, in which a *slot* is the time in which all of its units do one
/// multiply-add each.
pub fn machine() -> Machine {
    let rate = |per_second: f64| Rate::new(per_second, per_second);
    let [near, far] = [NEAR_BYTES_PER_SLOT, FAR_BYTES_PER_SLOT].map(|bytes| rate(bytes * SLOTS));
    let rates = Rates {
        read: [near, near, near, far],
        copy: far,
        triad: far,
        barrier: 0.0,
        launch: SLOTS_PER_START / SLOTS,
        cold: 0.0,
        run: 50e-6,
        ..Rates::estimate(SLOTS, 1)
    };
    Machine {
        spread: Spread::Grid,
        lanes: 16 << 10,
        lane_bytes: 4,
        lacks: lacked(),
        l1: 48 << 10,
        l2: 32 << 20,
        l3: 48 << 20,
        l2_bytes_per_fma: NEAR_BYTES_PER_SLOT,
        l3_bytes_per_fma: NEAR_BYTES_PER_SLOT,
        memory_bytes_per_fma: FAR_BYTES_PER_SLOT,
        fmas_per_start: SLOTS_PER_START,
        fma_in_flight: 4,
        rates,
        ..Machine::default()
    }
}

/// The same with what a device of these capabilities has for chains of products: as many units as a large device has, each of which
/// brings two words for every lane.
pub fn machine_for(capabilities: &Capabilities) -> Machine {
    let chains = Chains {
        units: 128,
        // More rows take registers that are better used to look ahead.
        blocks: &[4, 2, 1],
        factors: i64::MAX,
        unit_bytes_per_fma: 64.0,
        fmas_per_link: 500.0,
        columns: most_columns(capabilities),
        multiple: 4,
        // Drivers take longer for one long text than for its parts, and one launch more is little beside so many products.
        links: 8,
        scratch: i64::from(capabilities.workgroup_memory),
        // One is for parameters.
        buffers: capabilities.max_buffers.saturating_sub(1) as usize,
    };
    Machine { chains: Some(chains), ..machine() }
}

/// A plan as shaders.
#[derive(Debug)]
pub struct Executable {
    pub(crate) device: Device,
    pub(crate) plan: Plan,
    /// The listing of each kernel, in each way in which its buffers are given.
    pub(crate) shaders: Vec<Listing>,
    /// Their numbers.
    pub(crate) numbers: HashMap<(usize, Binding), usize>,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    constants: Vec<(Slot, HostTensor, Packing)>,
    /// The constants that steps of the host read, by slot, as they read them.
    pub(crate) host_constants: HashMap<Slot, Vec<u8>>,
    /// The kernels that run on the processor.
    pub(crate) host: Option<Arc<dyn HostKernels>>,
    loaded: Mutex<Option<Arc<Loaded>>>,
}

/// What an executable has on one generation of its device.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) handles: Arc<Handles>,
    /// By the numbers of shaders.
    pub(crate) pipelines: Vec<Arc<Pipelines>>,
    pub(crate) constants: HashMap<Slot, wgpu::Buffer>,
    /// Shaders for sizes that made buffers larger than a shader sees at once, made when they were first needed.
    windowed: Mutex<HashMap<(usize, Binding), Arc<Windowed>>>,
}

/// A kernel that sees buffers in windows.
#[derive(Debug)]
pub(crate) struct Windowed {
    pub(crate) listing: Listing,
    pub(crate) pipelines: Arc<Pipelines>,
}

/// The launches of a plan, with how each gives buffers to its kernel.
fn launches(plan: &Plan, capabilities: &Capabilities) -> Vec<(usize, Binding)> {
    let constant = |slot: Slot| plan.buffer(slot).bytes.as_const().and_then(|b| usize::try_from(b).ok());
    let mut found = Vec::new();
    plan.visit(&mut |step, _| {
        if let Action::Launch { kernel } = step.action {
            found.push((kernel, Binding::of_launch(plan, step, capabilities, constant)));
        }
    });
    found
}

/// The listings of a plan.
struct Listed {
    known: HashMap<(usize, Binding), Listing>,
    /// In the order of their first launches.
    order: Vec<(usize, Binding)>,
}

/// Lists the kernels that are launched, in each way in which they are given buffers; those that have no op codes are left to the evaluator.
fn list(plan: &mut Plan, capabilities: &Capabilities) -> Listed {
    let mut known: HashMap<(usize, Binding), Listing> = HashMap::new();
    let mut order = Vec::new();
    for key in launches(plan, capabilities) {
        if known.contains_key(&key) {
            continue;
        }
        let listing = Listing::bound(&plan.kernels[key.0], capabilities, &key.1).and_then(|listing| {
            // What fits for no run is known now if no run decides on sizes.
            let fixed = listing.parameters.is_empty() && listing.bases.is_empty();
            if fixed { listing.bind(&[]).map(|_| listing) } else { Ok(listing) }
        });
        match listing {
            Ok(listing) => {
                known.insert(key.clone(), listing);
                order.push(key);
            }
            Err(why) => plan.evaluate(key.0, &why),
        }
    }
    Listed { known, order }
}

/// Leaves the kernels that have no op codes for such a device to the evaluator, as running the plan does; the driver may refuse more.
pub fn leave_to_evaluator(plan: &mut Plan, capabilities: &Capabilities) {
    list(plan, capabilities);
}

impl Executable {
    /// Makes shaders of every kernel of a plan. The graph has so many inputs and outputs. What is placed on the processor is left to the evaluator.
    pub fn new(plan: Plan, inputs: usize, outputs: usize, device: &Device) -> Result<Executable> {
        Executable::beside(plan, inputs, outputs, device, None)
    }

    /// As [`Executable::new`]; what is placed on the processor are these kernels.
    pub fn beside(
        mut plan: Plan,
        inputs: usize,
        outputs: usize,
        device: &Device,
        host: Option<Arc<dyn HostKernels>>,
    ) -> Result<Executable> {
        plan.check_runnable()?;
        if host.is_none() {
            let why =
                Error::new(Code::NotEmitted, "it is placed on the processor, for which there is no code");
            plan.called().into_iter().for_each(|k| plan.evaluate(k, &why));
        }
        let handles = device.handles()?;
        let capabilities = handles.capabilities();
        let Listed { mut known, order } = list(&mut plan, &capabilities);
        // The driver has the last word: what it refuses is the host's too.
        let listings: Vec<&Listing> = order.iter().map(|key| &known[key]).collect();
        // They stay until all is loaded: a device may keep only those that somebody uses.
        let mut used = Vec::with_capacity(listings.len());
        for (key, made) in order.iter().zip(handles.pipelines_of(&listings)) {
            match made {
                Ok(pipelines) => used.push(pipelines),
                Err(why) if handles.lost().is_some() => return Err(why),
                Err(why) => plan.evaluate(key.0, &why),
            }
        }
        let mut shaders = Vec::new();
        let mut numbers = HashMap::new();
        for key in launches(&plan, &capabilities) {
            if let Some(listing) = known.remove(&key) {
                numbers.insert(key, shaders.len());
                shaders.push(listing);
            }
        }
        plan.add_transfers()?;
        let of_host = plan.constants_of_host();
        let (hosted, constants): (Vec<_>, Vec<_>) =
            plan.take_constants()?.into_iter().partition(|(slot, ..)| of_host.contains(slot));
        let mut host_constants = HashMap::new();
        for (slot, tensor, packing) in &hosted {
            host_constants.insert(*slot, packed(tensor, packing)?.into_owned());
        }
        let (device, loaded) = (device.clone(), Mutex::new(None));
        let executable = Executable {
            device,
            plan,
            shaders,
            numbers,
            inputs,
            outputs,
            constants,
            host_constants,
            host,
            loaded,
        };
        executable.loaded()?;
        drop(used);
        Ok(executable)
    }

    /// The plan, without the elements of its constants.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The device that it runs on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The listings of the plan's kernels: one for each way in which a kernel's buffers are given.
    pub fn listings(&self) -> &[Listing] {
        &self.shaders
    }

    /// What it has on the present generation of the device.
    pub(crate) fn loaded(&self) -> Result<Arc<Loaded>> {
        let handles = self.device.handles()?;
        let mut loaded = lock(&self.loaded);
        if let Some(known) = loaded.as_ref().filter(|l| l.handles.generation == handles.generation) {
            return Ok(known.clone());
        }
        let listings: Vec<&Listing> = self.shaders.iter().collect();
        // The driver compiles while constants are written.
        let (pipelines, constants) = std::thread::scope(|scope| {
            let compiling =
                scope.spawn(|| handles.pipelines_of(&listings).into_iter().collect::<Result<Vec<_>>>());
            let constants = self.constants_on(&handles);
            let pipelines = compiling.join().map_err(|_| Error::internal("compiling shaders was given up"));
            (pipelines, constants)
        });
        let (pipelines, constants) = (pipelines??, constants?);
        let made = Arc::new(Loaded { handles, pipelines, constants, windowed: Mutex::default() });
        *loaded = Some(made.clone());
        Ok(made)
    }

    /// A kernel for sizes that make it see buffers in windows.
    pub(crate) fn windowed(&self, loaded: &Loaded, key: &(usize, Binding)) -> Result<Arc<Windowed>> {
        if key.1.windows.is_empty() {
            return Err(Error::internal("a kernel without a shader is launched"));
        }
        if let Some(known) = lock(&loaded.windowed).get(key) {
            return Ok(known.clone());
        }
        let listing = Listing::bound(&self.plan.kernels[key.0], &loaded.handles.capabilities(), &key.1)?;
        let pipelines = loaded.handles.pipelines(&listing)?;
        let made = Arc::new(Windowed { listing, pipelines });
        lock(&loaded.windowed).insert(key.clone(), made.clone());
        Ok(made)
    }

    /// The constants on the device: written by several threads, because most of the time goes into memory that nobody touched before.
    fn constants_on(&self, handles: &Handles) -> Result<HashMap<Slot, wgpu::Buffer>> {
        const MOST_WRITERS: usize = 4;
        let writers = std::thread::available_parallelism().map_or(1, |n| n.get()).min(MOST_WRITERS);
        let next = AtomicUsize::new(0);
        let write = || {
            let mut mine = Vec::new();
            while let Some((slot, tensor, packing)) = self.constants.get(next.fetch_add(1, Ordering::Relaxed))
            {
                mine.push((*slot, self.constant(handles, *slot, tensor, packing)?));
            }
            Ok(mine)
        };
        let all: Vec<Result<Vec<(Slot, wgpu::Buffer)>>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..writers).map(|_| scope.spawn(write)).collect();
            let mut all = vec![write()];
            let given_up = || Err(Error::internal("writing constants was given up"));
            all.extend(others.into_iter().map(|other| other.join().unwrap_or_else(|_| given_up())));
            all
        });
        let all: Vec<Vec<(Slot, wgpu::Buffer)>> = all.into_iter().collect::<Result<_>>()?;
        Ok(all.into_iter().flatten().collect())
    }

    /// A constant on the device, laid out as kernels read it.
    fn constant(
        &self,
        handles: &Handles,
        slot: Slot,
        tensor: &HostTensor,
        packing: &Packing,
    ) -> Result<wgpu::Buffer> {
        let name = &self.plan.buffer(slot).name;
        let buffer = buffer(handles, name, packing.bytes(), Use::Mapped)?;
        let lost =
            |e: wgpu::MapRangeError| failed(format!("the constant `{name}` could not be written: {e}"));
        let bytes = packed(tensor, packing)?;
        handles.counters.uploaded(bytes.len());
        if !bytes.is_empty() {
            let whole = bytes.len() / 4 * 4;
            let mut view = buffer.get_mapped_range_mut(..).map_err(lost)?;
            view.slice(..whole).copy_from_slice(&bytes[..whole]);
            if whole < bytes.len() {
                let mut last = [0; 4];
                last[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
                view.slice(whole..whole + 4).copy_from_slice(&last);
            }
        }
        buffer.unmap();
        Ok(buffer)
    }
}

/// The bytes of a constant as kernels read them.
fn packed<'t>(tensor: &'t HostTensor, packing: &Packing) -> Result<Cow<'t, [u8]>> {
    if packing.is_identity() {
        return Ok(Cow::Borrowed(tensor.bytes()));
    }
    let mut bytes = vec![0; packing.bytes()];
    packing.pack(0..packing.pieces(), tensor.bytes(), &mut bytes)?;
    Ok(Cow::Owned(bytes))
}

/// What a buffer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    /// Shaders.
    Storage,
    /// Shaders; the host writes it before anything else happens.
    Mapped,
    /// The host writes it, the device copies it.
    Upload,
    /// The device copies to it, the host reads it.
    Download,
    /// Parameters of launches.
    Parameters,
}

/// How many bytes a buffer of the device has for so many: whole words, and at least one number of 64 bits.
pub(crate) fn padded(bytes: usize) -> u64 {
    (bytes as u64).next_multiple_of(4).max(8)
}

/// A buffer of so many bytes, rounded up to words; an error says how much was asked.
pub(crate) fn buffer(handles: &Handles, name: &str, bytes: usize, what: Use) -> Result<wgpu::Buffer> {
    use wgpu::BufferUsages as Usage;
    let size = padded(bytes);
    // Shaders see larger ones than they may at once in windows.
    let limit = handles.limits.max_buffer_size;
    if size > limit {
        let message = format!(
            "`{name}` takes {bytes} bytes; a buffer of `{}` has at most {limit}",
            handles.adapter.name
        );
        return Err(
            Error::new(Code::Budget, message).help("split the tensor, or run this program on the CPU target")
        );
    }
    let usage = match what {
        Use::Storage | Use::Mapped => Usage::STORAGE | Usage::COPY_SRC | Usage::COPY_DST,
        Use::Upload => Usage::MAP_WRITE | Usage::COPY_SRC,
        Use::Download => Usage::MAP_READ | Usage::COPY_DST,
        Use::Parameters => Usage::UNIFORM | Usage::COPY_DST,
    };
    let mapped_at_creation = matches!(what, Use::Mapped | Use::Upload);
    handles.guarded(&format!("`{name}`, for which {bytes} bytes were asked"), || {
        handles.device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation })
    })
}

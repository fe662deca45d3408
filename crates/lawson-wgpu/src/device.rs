//! A device that `wgpu` finds: its limits, its queue, and the pipelines compiled for it.
//!
//! A [`Device`] is a handle that many executables share. What it stands for can be lost (a driver that was reset or updated, or
//! [`Device::destroy`]): then whatever is running ends with an error, and the next one to ask gets the device anew. What was made on
//! it before is of another *generation*; `executable.rs` and `instance.rs` make theirs again when they see that.

use crate::cache;
use crate::count::{Counters, Counts};
use crate::opcode::{Capabilities, MATRIX};
use crate::pipelines::{Keep, Store};
use crate::probe::{Seen, SeenMatrices};
use crate::spirv::Controls;
use crate::translated::Translated;
use crate::{gpu, trusted};
use lawson_graph::{Code, Error, Result};
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

/// Which device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// The one that the system prefers; software counts as one.
    #[default]
    Preferred,
    /// By its number among [`adapters`].
    Number(usize),
    /// By a part of its name, in any case.
    Named(String),
}

/// How a device is opened.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which one.
    pub selection: Selection,
    /// The folder where compiled pipelines are kept; none keeps them in memory alone.
    pub cache: Option<PathBuf>,
    /// In which language it gets shaders.
    pub language: Language,
    /// For how long pipelines stay in memory.
    pub pipelines: Keep,
    /// The most bytes of a buffer that a shader may see at once, if fewer than the adapter allows.
    pub binding: Option<u64>,
}

/// In which language a device gets shaders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// SPIR-V where the device takes it, because that can ask for floats to be kept as they are; else WGSL.
    #[default]
    Best,
    /// WGSL: then what compilers may do to floats is kept from them by pinning results.
    Wgsl,
}

/// What an adapter says of itself, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// Its name.
    pub name: String,
    /// Vulkan, Metal, DX12 or another.
    pub backend: String,
    /// Its driver and the driver's version.
    pub driver: String,
    /// What kind of device it is: discrete, integrated, virtual, software.
    pub kind: String,
    /// How many members subgroups have, from the fewest to the most; none where there are no subgroups.
    pub subgroup: Option<(u32, u32)>,
    /// Bytes of workgroup memory.
    pub workgroup_memory: u32,
    /// The most members of a workgroup.
    pub workgroup_members: u32,
    /// The most workgroups of a launch in one direction.
    pub workgroups: u32,
    /// The most bytes of a buffer.
    pub buffer: u64,
    /// The most bytes of a buffer that a shader sees.
    pub binding: u64,
    /// The most buffers that a shader sees.
    pub bindings: u32,
    /// Whether it has numbers of 16 bits.
    pub f16: bool,
    /// Whether compiled pipelines can be kept on disk.
    pub pipeline_cache: bool,
    /// Whether it has a clock.
    pub timestamps: bool,
    /// Whether its subgroups multiply matrices of 16 rows and columns as one, floats of 16 bits with sums of 32.
    pub cooperative_matrix: bool,
}

/// A device, shared by all clones of the handle.
#[derive(Clone, Debug)]
pub struct Device(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    options: Options,
    current: Mutex<Option<Arc<Handles>>>,
    generations: AtomicU64,
    counters: Arc<Counters>,
    /// What has been waiting to be said.
    warnings: Mutex<Vec<String>>,
}

/// What one generation of a device is.
#[derive(Debug)]
pub(crate) struct Handles {
    pub(crate) generation: u64,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) limits: wgpu::Limits,
    pub(crate) adapter: Adapter,
    /// What shaders may ask for, if they are given as SPIR-V.
    pub(crate) controls: Option<Controls>,
    capabilities: OnceLock<Capabilities>,
    lost: Arc<Mutex<Option<String>>>,
    pub(crate) pipelines: Store,
    pub(crate) counters: Arc<Counters>,
    /// Through which held values are read, as large as the largest so far.
    pub(crate) window: Mutex<Option<wgpu::Buffer>>,
    pub(crate) driver_cache: Option<DriverCache>,
    /// Shaders as they were translated.
    pub(crate) translated: Translated,
}

#[derive(Debug)]
pub(crate) struct DriverCache {
    pub(crate) cache: wgpu::PipelineCache,
    path: PathBuf,
    /// The adapter and the driver that it is of.
    of: String,
    /// How many bytes were on disk when it was last looked at.
    kept: Mutex<usize>,
}

pub(crate) fn failed(message: impl Into<String>) -> Error {
    Error::new(Code::Device, message)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a future of `wgpu`, which on native devices is ready as soon as the device has been asked.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

fn instance() -> wgpu::Instance {
    wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle())
}

fn found(instance: &wgpu::Instance) -> Vec<wgpu::Adapter> {
    wait(instance.enumerate_adapters(wgpu::Backends::all()))
}

/// The adapters of this machine, in the order of their numbers.
pub fn adapters() -> Vec<Adapter> {
    found(&instance()).iter().map(Adapter::of).collect()
}

impl Adapter {
    fn of(adapter: &wgpu::Adapter) -> Adapter {
        let (info, limits, features) = (adapter.get_info(), adapter.limits(), adapter.features());
        let has = |f: wgpu::Features| features.contains(f);
        let driver = format!("{} {}", info.driver, info.driver_info);
        let kind = match info.device_type {
            wgpu::DeviceType::DiscreteGpu => "discrete",
            wgpu::DeviceType::IntegratedGpu => "integrated",
            wgpu::DeviceType::VirtualGpu => "virtual",
            wgpu::DeviceType::Cpu => "software",
            wgpu::DeviceType::Other => "unknown",
        };
        Adapter {
            name: info.name,
            backend: format!("{:?}", info.backend),
            driver: driver.trim().to_string(),
            kind: kind.to_string(),
            subgroup: has(wgpu::Features::SUBGROUP)
                .then_some((info.subgroup_min_size, info.subgroup_max_size)),
            workgroup_memory: limits.max_compute_workgroup_storage_size,
            workgroup_members: limits.max_compute_invocations_per_workgroup,
            workgroups: limits.max_compute_workgroups_per_dimension,
            buffer: limits.max_buffer_size,
            binding: limits.max_storage_buffer_binding_size,
            bindings: limits.max_storage_buffers_per_shader_stage,
            f16: has(wgpu::Features::SHADER_F16),
            pipeline_cache: has(wgpu::Features::PIPELINE_CACHE),
            timestamps: has(wgpu::Features::TIMESTAMP_QUERY),
            cooperative_matrix: has(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX)
                && has(wgpu::Features::SHADER_F16)
                && adapter.cooperative_matrix_properties().iter().any(|p| {
                    let types = (p.ab_type, p.cr_type);
                    [p.m_size, p.n_size, p.k_size] == [MATRIX; 3]
                        && types == (wgpu::CooperativeScalarType::F16, wgpu::CooperativeScalarType::F32)
                }),
        }
    }

    /// What compiled shaders are for.
    fn identity(&self) -> String {
        format!("{}, {}, {}", self.name, self.backend, self.driver).replace('\n', " ")
    }

    /// Whether it says that it has matrices as shaders here want them.
    fn has_matrices(&self) -> bool {
        self.cooperative_matrix && self.subgroup == Some((32, 32))
    }

    /// What op codes for it may use.
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            workgroup: 64.min(self.workgroup_members).max(1),
            max_members: self.workgroup_members,
            workgroup_memory: self.workgroup_memory,
            max_workgroups: self.workgroups,
            max_buffer_bytes: self.binding.min(self.buffer),
            max_buffers: self.bindings,
            ..Capabilities::default()
        }
    }
}

impl Device {
    /// Opens a device.
    pub fn open(options: Options) -> Result<Device> {
        let shared = Shared {
            options,
            current: Mutex::new(None),
            generations: AtomicU64::new(0),
            counters: Arc::default(),
            warnings: Mutex::new(Vec::new()),
        };
        let device = Device(Arc::new(shared));
        device.handles()?;
        Ok(device)
    }

    /// The device that the system prefers, with nothing kept on disk.
    pub fn preferred() -> Result<Device> {
        Device::open(Options::default())
    }

    /// What it says of itself.
    pub fn adapter(&self) -> Result<Adapter> {
        Ok(self.handles()?.adapter.clone())
    }

    /// What op codes for it may use.
    pub fn capabilities(&self) -> Result<Capabilities> {
        Ok(self.handles()?.capabilities())
    }

    /// What it was given to do since it was opened, by all who use it.
    pub fn counts(&self) -> Counts {
        self.0.counters.now()
    }

    /// How many compiled shaders it has in memory.
    pub fn pipelines(&self) -> usize {
        lock(&self.0.current).as_ref().map_or(0, |handles| handles.pipelines.len())
    }

    /// Whether two handles are of the same device.
    pub fn is_same(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Gives it back to the system, with all its memory. Whoever asks for it next gets it anew.
    pub fn destroy(&self) {
        if let Some(handles) = lock(&self.0.current).take() {
            *lock(&handles.lost) = Some("it was destroyed".into());
            handles.device.destroy();
        }
    }

    /// What was noticed since this was asked last: caches on disk that could not be used.
    pub fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.0.warnings))
    }

    /// Writes what the driver has compiled to disk, if there is a folder for it and anything new.
    pub fn save_cache(&self) -> Result<()> {
        let Some(handles) = lock(&self.0.current).clone() else { return Ok(()) };
        handles.translated.save()?;
        let Some(driver) = &handles.driver_cache else { return Ok(()) };
        let Some(data) = driver.cache.get_data() else { return Ok(()) };
        let mut kept = lock(&driver.kept);
        if data.len() != *kept {
            cache::save(&driver.path, &driver.of, &data)?;
            *kept = data.len();
        }
        Ok(())
    }

    /// The present generation; a new one if the last is lost.
    pub(crate) fn handles(&self) -> Result<Arc<Handles>> {
        let mut current = lock(&self.0.current);
        if let Some(handles) = current.as_ref().filter(|h| h.lost().is_none()) {
            return Ok(handles.clone());
        }
        let handles = Arc::new(self.request()?);
        // Whether it rounds once is seen by running something.
        let fused = gpu::probe_fused(&handles)?;
        let (seen, subgroup) = (handles.probe_floats()?, handles.probe_subgroup()?);
        let Seen { floats, compares, flushes, probed } = seen;
        let (rounds, max_iterations) = (handles.probe_rounding()?, handles.probe_loop()?);
        let (matrices, halves) = self.check_matrices(&handles);
        let known = handles.adapter.capabilities();
        let known = Capabilities { rounds, floats, compares, flushes, probed, ..known };
        let capabilities = Capabilities { fused, subgroup, matrices, halves, max_iterations, ..known };
        handles.capabilities.set(capabilities).map_err(|_| Error::internal("a device is probed twice"))?;
        *current = Some(handles.clone());
        Ok(handles)
    }

    /// Whether a subgroup multiplies matrices, and floats are converted to 16 bits, as they should be; what is wrong with products is a warning.
    fn check_matrices(&self, handles: &Handles) -> (bool, bool) {
        if !handles.adapter.has_matrices() {
            return (false, false);
        }
        let why = match handles.probe_matrices() {
            Ok(SeenMatrices { multiplies: true, converts }) => return (true, converts),
            Ok(_) => "their products are wrong".to_string(),
            Err(why) => why.message().to_string(),
        };
        let name = &handles.adapter.name;
        lock(&self.0.warnings).push(format!("the matrices of `{name}` are not used: {why}"));
        (false, false)
    }

    fn request(&self) -> Result<Handles> {
        let instance = instance();
        let none = |what: String| {
            failed(what)
                .help("install a Vulkan driver; on Debian, `mesa-vulkan-drivers` has one that needs no GPU")
        };
        let adapter = match &self.0.options.selection {
            Selection::Preferred => {
                let options = wgpu::RequestAdapterOptions {
                    power_preference: wgpu::PowerPreference::HighPerformance,
                    ..Default::default()
                };
                wait(instance.request_adapter(&options))
                    .map_err(|e| none(format!("no adapter was found: {e}")))?
            }
            Selection::Number(n) => {
                let all = found(&instance);
                let count = all.len();
                let missing = || none(format!("there is no adapter {n}: {count} were found"));
                all.into_iter().nth(*n).ok_or_else(missing)?
            }
            Selection::Named(name) => {
                let fits =
                    |a: &wgpu::Adapter| a.get_info().name.to_lowercase().contains(&name.to_lowercase());
                let missing = || none(format!("no adapter has `{name}` in its name"));
                found(&instance).into_iter().find(fits).ok_or_else(missing)?
            }
        };
        let (mut limits, mut about) = (adapter.limits(), Adapter::of(&adapter));
        if let Some(bytes) = self.0.options.binding {
            limits.max_storage_buffer_binding_size = limits.max_storage_buffer_binding_size.min(bytes);
            about.binding = about.binding.min(bytes);
        }
        let wanted = wgpu::Features::SUBGROUP
            | wgpu::Features::SHADER_F16
            | wgpu::Features::PIPELINE_CACHE
            | wgpu::Features::TIMESTAMP_QUERY
            | wgpu::Features::PASSTHROUGH_SHADERS
            | wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX;
        let controls = match self.0.options.language {
            Language::Best => trusted::float_controls(&adapter),
            Language::Wgsl => None,
        };
        let descriptor = wgpu::DeviceDescriptor {
            required_limits: limits.clone(),
            required_features: adapter.features() & wanted,
            experimental_features: trusted::experimental(),
            ..Default::default()
        };
        let (device, queue) = wait(adapter.request_device(&descriptor))
            .map_err(|e| failed(format!("`{}` cannot be used: {e}", about.name)).help("update its driver"))?;
        let lost = Arc::new(Mutex::new(None));
        let seen = lost.clone();
        device.set_device_lost_callback(move |_, message| {
            lock(&seen).get_or_insert(message);
        });
        // What no scope catches comes after a loss: whoever runs something learns of that by itself.
        device.on_uncaptured_error(Arc::new(|_| {}));
        let driver_cache = self.driver_cache(&device, &about);
        let folder = self.0.options.cache.as_deref().filter(|_| controls.is_some());
        let (translated, warning) = Translated::open(folder, &about.identity());
        lock(&self.0.warnings).extend(warning);
        let generation = self.0.generations.fetch_add(1, Ordering::Relaxed);
        Ok(Handles {
            generation,
            device,
            queue,
            limits,
            adapter: about,
            controls,
            capabilities: OnceLock::new(),
            lost,
            pipelines: Store::new(self.0.options.pipelines),
            counters: self.0.counters.clone(),
            window: Mutex::new(None),
            driver_cache,
            translated,
        })
    }

    fn driver_cache(&self, device: &wgpu::Device, about: &Adapter) -> Option<DriverCache> {
        let folder = self.0.options.cache.as_ref()?;
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let of = about.identity();
        let path = cache::file(folder, &of, cache::Kind::Pipelines);
        let data = cache::load(&path, &of).unwrap_or_else(|why| {
            let warning = format!("the compiled pipelines in {} are not used: {why}", path.display());
            lock(&self.0.warnings).push(warning);
            None
        });
        let kept = Mutex::new(data.as_ref().map_or(0, Vec::len));
        Some(DriverCache { cache: trusted::pipeline_cache(device, data.as_deref()), path, of, kept })
    }
}

impl Handles {
    /// Why it is no more, if so.
    pub(crate) fn lost(&self) -> Option<String> {
        lock(&self.lost).clone()
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        self.capabilities.get().copied().unwrap_or_else(|| self.adapter.capabilities())
    }

    /// Calls `make` and gives the first thing that the device objected to as an error. `what` says what was asked for.
    pub(crate) fn guarded<T>(&self, what: &str, make: impl FnOnce() -> T) -> Result<T> {
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let made = make();
        let errors = [wait(internal.pop()), wait(memory.pop()), wait(validation.pop())];
        let name = &self.adapter.name;
        if let Some(why) = self.lost() {
            return Err(failed(format!("`{name}` was lost: {why}")).help("the next run takes it anew"));
        }
        match errors.into_iter().flatten().next() {
            None => Ok(made),
            Some(wgpu::Error::OutOfMemory { .. }) => {
                Err(Error::new(Code::Budget, format!("`{name}` has no memory for {what}"))
                    .help("run on smaller sizes, or let go of other sessions on the device"))
            }
            Some(e) => Err(failed(format!("`{name}` refused {what}: {e}")).help(
                "a smaller kernel may be accepted; if the shader is at fault, that is a bug in Lawson",
            )),
        }
    }
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Device>();
};

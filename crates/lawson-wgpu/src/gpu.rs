//! A device found by `wgpu`, and kernels run on it.
//!
//! In: a kernel, values of its symbols, and the bytes of its inputs and outputs, exactly as for the direct evaluator
//! (`lawson_kernel::eval::run`). Out: the outputs' bytes. Whatever the driver refuses is an error value. Buffers are made
//! for every run: this is for checking kernels, a plan will keep them on the device.

use crate::launch::Bound;
use crate::opcode::{Access, Capabilities, Fused, Listing, OpCode};
use crate::wgsl;
use lawson_graph::{Code, DType, Error, Facts, Result, Symbol};
use lawson_kernel::{Expr, Kernel, Role, build};
use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use wgpu::util::DeviceExt;

/// A device.
#[derive(Debug)]
pub struct Gpu {
    name: String,
    capabilities: Capabilities,
    device: wgpu::Device,
    queue: wgpu::Queue,
}

/// A kernel ready to run on one device.
#[derive(Debug)]
pub struct Compiled {
    listing: Listing,
    layout: wgpu::BindGroupLayout,
    pipelines: Vec<wgpu::ComputePipeline>,
    /// The dtype and access of each buffer that the caller gives, in order, with the number of its elements.
    given: Vec<Given>,
}

#[derive(Clone, Debug)]
struct Given {
    name: String,
    dtype: DType,
    access: Access,
    size: lawson_graph::Dim,
}

/// The greatest total size of the spill buffer; a launch has fewer members rather than a larger one.
const MAX_SPILL: u64 = 64 << 20;

fn failed(message: impl Into<String>) -> Error {
    Error::new(Code::Device, message)
}

/// Waits for a future of `wgpu`, which on native devices is ready as soon as the device has been asked.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

impl Gpu {
    /// The device that the system prefers; software counts as one.
    pub fn new() -> Result<Gpu> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapter =
            wait(instance.request_adapter(&wgpu::RequestAdapterOptions::default())).map_err(|e| {
                failed(format!("no adapter was found: {e}")).help(
                    "install a Vulkan driver; on Debian, `mesa-vulkan-drivers` has one that needs no GPU",
                )
            })?;
        let limits = adapter.limits();
        let capabilities = Capabilities {
            workgroup: 64.min(limits.max_compute_workgroup_size_x).max(1),
            max_workgroups: limits.max_compute_workgroups_per_dimension,
            max_buffer_bytes: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size),
            ..Capabilities::default()
        };
        let name = adapter.get_info().name;
        let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
        let (device, queue) = wait(adapter.request_device(&descriptor))
            .map_err(|e| failed(format!("`{name}` cannot be used: {e}")).help("update its driver"))?;
        let mut gpu = Gpu { name, capabilities, device, queue };
        gpu.capabilities.fused = gpu.probe_fused()?;
        Ok(gpu)
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it can do.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// The same device, treated as if it could do only this.
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Gpu {
        self.capabilities = capabilities;
        self
    }

    /// Whether `fma` rounds once: `x² - c` for an `x` whose square lies half-way between two floats, of which `c` is one.
    fn probe_fused(&self) -> Result<Fused> {
        let mut k = Kernel::new("probe", Facts::new());
        let (x, y) = (k.input("x", DType::F32, &[2.into()]), k.output("y", DType::F32, &[]));
        let (x, c) = (k.load(x, vec![0.into()]), k.load(x, vec![1.into()]));
        let sum = k.add(Expr::Fma(x, x, c));
        k.body = vec![build::store(y, vec![], sum)];
        let (x, c) = (1.0 + 2f32.powi(-12), -1.0 - 2f32.powi(-11));
        let mut buffers = [[x.to_le_bytes(), c.to_le_bytes()].concat(), vec![0xff; 4]];
        self.run(&self.compile(&k)?, &[], &mut buffers)?;
        Ok(if buffers[1] == 2f32.powi(-24).to_le_bytes() { Fused::Once } else { Fused::Twice })
    }

    /// Calls `make` and gives the first thing that the device objected to as an error.
    fn guarded<T>(&self, what: &str, make: impl FnOnce() -> T) -> Result<T> {
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let made = make();
        let errors = [wait(internal.pop()), wait(memory.pop()), wait(validation.pop())];
        match errors.into_iter().flatten().next() {
            None => Ok(made),
            Some(e) => Err(failed(format!("`{}` refused {what}: {e}", self.name)).help(
                "a smaller kernel may be accepted; if the shader is at fault, that is a bug in Lawson",
            )),
        }
    }

    /// Makes a kernel ready to run.
    pub fn compile(&self, kernel: &Kernel) -> Result<Compiled> {
        let listing = Listing::of(kernel, &self.capabilities)?;
        let text = wgsl::text(&listing);
        let mut given = Vec::new();
        for buffer in &kernel.buffers {
            let access = match buffer.role {
                Role::Input => Access::Read,
                Role::Output => Access::Write,
                Role::Scratch(_) => continue,
            };
            let (name, size) = (buffer.name.clone(), buffer.layout.size.clone());
            given.push(Given { name, dtype: buffer.dtype, access, size });
        }
        let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform)];
        for code in &listing.codes {
            if let OpCode::Buffer { binding, access, .. } = code {
                let read_only = *access == Access::Read;
                entries.push(entry(*binding, wgpu::BufferBindingType::Storage { read_only }));
            }
        }
        if !listing.spilled.is(0) {
            let binding = entries.len() as u32;
            entries.push(entry(binding, wgpu::BufferBindingType::Storage { read_only: false }));
        }
        self.guarded("the shader", || {
            let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(&kernel.name),
                source: wgpu::ShaderSource::Wgsl(text.into()),
            });
            let layout = self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &entries,
            });
            let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&layout)],
                immediate_size: 0,
            });
            let pipeline = |entry: &str| {
                self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: Some(entry),
                    layout: Some(&pipeline_layout),
                    module: &module,
                    entry_point: Some(entry),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    cache: None,
                })
            };
            let pipelines = listing.launches.iter().map(|l| pipeline(&l.entry)).collect();
            Compiled { listing, layout, pipelines, given }
        })
    }

    /// Runs a kernel on its inputs and outputs, which are those of its buffers that are not scratch, in order, each with as
    /// many bytes as its layout takes.
    pub fn run(&self, compiled: &Compiled, symbols: &[(Symbol, i64)], buffers: &mut [Vec<u8>]) -> Result<()> {
        let bound = compiled.listing.bind(symbols)?;
        self.check(compiled, symbols, buffers)?;
        let members = self.members(&bound);
        let read_back = self.guarded("the launch", || self.submit(compiled, &bound, &members, buffers))?;
        for (staging, bytes) in read_back.iter().zip(buffers) {
            if let Some(staging) = staging {
                self.read(staging, bytes)?;
            }
        }
        Ok(())
    }

    /// Whether the buffers are those that the kernel takes.
    fn check(&self, compiled: &Compiled, symbols: &[(Symbol, i64)], buffers: &[Vec<u8>]) -> Result<()> {
        let (kernel, wanted) = (&compiled.listing.kernel, compiled.given.len());
        if wanted != buffers.len() {
            let message =
                format!("kernel `{kernel}` has {wanted} inputs and outputs, {} came", buffers.len());
            return Err(failed(message).help("give one for each buffer that is not scratch"));
        }
        let value_of = |s: &Symbol| symbols.iter().find(|(name, _)| name == s).map(|(_, v)| *v);
        for (given, bytes) in compiled.given.iter().zip(buffers) {
            let elements = given.size.eval(&value_of).and_then(|n| usize::try_from(n).ok());
            let Some(expected) = elements.and_then(|n| given.dtype.bytes_for(n)) else {
                return Err(failed(format!("`{}` of kernel `{kernel}` has no size", given.name))
                    .help("give a value for every symbol that the kernel mentions"));
            };
            if expected != bytes.len() {
                let (name, came) = (&given.name, bytes.len());
                return Err(failed(format!(
                    "`{name}` of kernel `{kernel}` takes {expected} bytes, {came} came"
                ))
                .help("give as many bytes as the layout takes"));
            }
            let limit = self.capabilities.max_buffer_bytes;
            if bytes.len() as u64 > limit {
                return Err(failed(format!("`{}` is larger than the {limit} bytes of a buffer", given.name))
                    .help("split the tensor, or run this kernel on another target"));
            }
        }
        Ok(())
    }

    /// How many workgroups each launch gets.
    fn members(&self, bound: &Bound) -> Vec<u32> {
        let spilled = u64::from(bound.spilled) * 4 * u64::from(self.capabilities.workgroup);
        let room = MAX_SPILL.min(self.capabilities.max_buffer_bytes).checked_div(spilled).unwrap_or(u64::MAX);
        let most = u64::from(self.capabilities.max_workgroups).min(room.max(1)) as u32;
        bound.iterations.iter().map(|n| n.div_ceil(self.capabilities.workgroup).min(most)).collect()
    }

    /// Copies the buffers to the device, launches, and copies what was written to where the host can read it.
    fn submit(
        &self,
        compiled: &Compiled,
        bound: &Bound,
        members: &[u32],
        buffers: &[Vec<u8>],
    ) -> Vec<Option<wgpu::Buffer>> {
        use wgpu::BufferUsages as Usage;
        let make = |contents: &[u8], usage| {
            let descriptor = wgpu::util::BufferInitDescriptor { label: None, contents, usage };
            self.device.create_buffer_init(&descriptor)
        };
        // The two words that are zero, then the parameters; a uniform is a multiple of 16 bytes.
        let mut words = vec![0u8; 8];
        words.extend(bound.parameters.iter().flat_map(|p| p.to_le_bytes()));
        words.resize(words.len().next_multiple_of(16), 0);
        let mut bindings = vec![make(&words, Usage::UNIFORM)];
        for bytes in buffers {
            // Whole words, and at least one.
            let mut padded = bytes.clone();
            padded.resize(bytes.len().next_multiple_of(4).max(4), 0);
            bindings.push(make(&padded, Usage::STORAGE | Usage::COPY_SRC));
        }
        if !compiled.listing.spilled.is(0) {
            let groups = members.iter().copied().max().unwrap_or(1).max(1);
            let words = u64::from(groups) * u64::from(self.capabilities.workgroup);
            let size = (words * u64::from(bound.spilled) * 4).max(4);
            let (usage, mapped_at_creation) = (Usage::STORAGE, false);
            let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation };
            bindings.push(self.device.create_buffer(&descriptor));
        }
        let entries: Vec<wgpu::BindGroupEntry<'_>> = bindings
            .iter()
            .enumerate()
            .map(|(i, b)| wgpu::BindGroupEntry { binding: i as u32, resource: b.as_entire_binding() })
            .collect();
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &compiled.layout,
            entries: &entries,
        });
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_bind_group(0, &group, &[]);
            for (pipeline, groups) in compiled.pipelines.iter().zip(members) {
                if *groups > 0 {
                    pass.set_pipeline(pipeline);
                    pass.dispatch_workgroups(*groups, 1, 1);
                }
            }
        }
        let mut read_back = Vec::with_capacity(buffers.len());
        for (given, buffer) in compiled.given.iter().zip(&bindings[1..]) {
            if given.access == Access::Read {
                read_back.push(None);
                continue;
            }
            let (size, usage) = (buffer.size(), Usage::MAP_READ | Usage::COPY_DST);
            let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
            let staging = self.device.create_buffer(&descriptor);
            encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, size);
            read_back.push(Some(staging));
        }
        self.queue.submit([encoder.finish()]);
        read_back
    }

    fn read(&self, staging: &wgpu::Buffer, bytes: &mut [u8]) -> Result<()> {
        let lost = |e: &dyn std::fmt::Display| failed(format!("results could not be read: {e}"));
        let (sender, receiver) = mpsc::channel();
        // The receiver lives until the answer has come.
        staging.map_async(wgpu::MapMode::Read, .., move |result| drop(sender.send(result)));
        self.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| lost(&e))?;
        receiver.recv().map_err(|e| lost(&e))?.map_err(|e| lost(&e))?;
        let view = staging.get_mapped_range(..).map_err(|e| lost(&e))?;
        let length = bytes.len();
        bytes.copy_from_slice(&view[..length]);
        Ok(())
    }
}

fn entry(binding: u32, ty: wgpu::BufferBindingType) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    }
}

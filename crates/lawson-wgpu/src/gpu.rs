//! Kernels run one by one on a device, to check them.
//!
//! In: a kernel, values of its symbols, and the bytes of its inputs and outputs, exactly as for the direct evaluator
//! (`lawson_kernel::eval::run`). Out: the outputs' bytes. Whatever the driver refuses is an error value. Buffers are made
//! for every run; plans keep them (`instance.rs`).

use crate::device::{Device, Handles, failed};
use crate::launch::Bound;
use crate::opcode::{Access, Capabilities, Fused, Listing};
use crate::pipelines::Pipelines;
use lawson_graph::{DType, Facts, Result, Symbol};
use lawson_kernel::{Expr, Kernel, Role, build};
use std::sync::{Arc, mpsc};
use wgpu::util::DeviceExt;

/// A device on which kernels are run one by one.
#[derive(Clone, Debug)]
pub struct Gpu {
    handles: Arc<Handles>,
    capabilities: Capabilities,
}

/// A kernel ready to run on one device.
#[derive(Debug)]
pub struct Compiled {
    listing: Listing,
    pipelines: Arc<Pipelines>,
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

/// Whether `fma` rounds once: `x² - c` for an `x` whose square lies half-way between two floats, of which `c` is one.
pub(crate) fn probe_fused(handles: &Arc<Handles>) -> Result<Fused> {
    let mut k = Kernel::new("probe", Facts::new());
    let (x, y) = (k.input("x", DType::F32, &[2.into()]), k.output("y", DType::F32, &[]));
    let (x, c) = (k.load(x, vec![0.into()]), k.load(x, vec![1.into()]));
    let sum = k.add(Expr::Fma(x, x, c));
    k.body = vec![build::store(y, vec![], sum)];
    let (x, c) = (1.0 + 2f32.powi(-12), -1.0 - 2f32.powi(-11));
    let mut buffers = [[x.to_le_bytes(), c.to_le_bytes()].concat(), vec![0xff; 4]];
    let gpu = Gpu { handles: handles.clone(), capabilities: handles.capabilities() };
    gpu.run(&gpu.compile(&k)?, &[], &mut buffers)?;
    Ok(if buffers[1] == 2f32.powi(-24).to_le_bytes() { Fused::Once } else { Fused::Twice })
}

impl Compiled {
    fn of(kernel: &Kernel, listing: Listing, pipelines: Arc<Pipelines>) -> Compiled {
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
        Compiled { listing, pipelines, given }
    }
}

impl Gpu {
    /// The device that the system prefers; software counts as one.
    pub fn new() -> Result<Gpu> {
        Gpu::on(&Device::preferred()?)
    }

    /// On this device.
    pub fn on(device: &Device) -> Result<Gpu> {
        let handles = device.handles()?;
        Ok(Gpu { capabilities: handles.capabilities(), handles })
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.handles.adapter.name
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

    /// Makes a kernel ready to run.
    pub fn compile(&self, kernel: &Kernel) -> Result<Compiled> {
        let listing = Listing::of(kernel, &self.capabilities)?;
        let pipelines = self.handles.pipelines(&listing)?;
        Ok(Compiled::of(kernel, listing, pipelines))
    }

    /// Makes a kernel ready to run whose listing has this shader.
    #[cfg(test)]
    pub(crate) fn compile_text(&self, kernel: &Kernel, listing: &Listing, text: &str) -> Result<Compiled> {
        let pipelines = self.handles.compile(listing, text)?;
        Ok(Compiled::of(kernel, listing.clone(), Arc::new(pipelines)))
    }

    /// Runs a kernel on its inputs and outputs, which are those of its buffers that are not scratch, in order, each with as
    /// many bytes as its layout takes.
    pub fn run(&self, compiled: &Compiled, symbols: &[(Symbol, i64)], buffers: &mut [Vec<u8>]) -> Result<()> {
        let bound = compiled.listing.bind(symbols)?;
        self.check(compiled, symbols, buffers)?;
        let members = bound.workgroups(&self.capabilities);
        let read_back =
            self.handles.guarded("the launch", || self.submit(compiled, &bound, &members, buffers))?;
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
            self.handles.device.create_buffer_init(&descriptor)
        };
        let mut bindings = vec![make(&bound.words(&[]), Usage::UNIFORM)];
        for bytes in buffers {
            // Whole words, and at least one number of 64 bits.
            let mut padded = bytes.clone();
            padded.resize(bytes.len().next_multiple_of(4).max(8), 0);
            bindings.push(make(&padded, Usage::STORAGE | Usage::COPY_SRC));
        }
        if !compiled.listing.spilled.is(0) {
            let size = bound.spill_bytes(&self.capabilities);
            let (usage, mapped_at_creation) = (Usage::STORAGE, false);
            let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation };
            bindings.push(self.handles.device.create_buffer(&descriptor));
        }
        let entries: Vec<wgpu::BindGroupEntry<'_>> = bindings
            .iter()
            .enumerate()
            .map(|(i, b)| wgpu::BindGroupEntry { binding: i as u32, resource: b.as_entire_binding() })
            .collect();
        let group = self.handles.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &compiled.pipelines.layout,
            entries: &entries,
        });
        let mut encoder =
            self.handles.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_bind_group(0, &group, &[]);
            for (pipeline, groups) in compiled.pipelines.launches.iter().zip(members) {
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
            let staging = self.handles.device.create_buffer(&descriptor);
            encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, size);
            read_back.push(Some(staging));
        }
        self.handles.queue.submit([encoder.finish()]);
        read_back
    }

    fn read(&self, staging: &wgpu::Buffer, bytes: &mut [u8]) -> Result<()> {
        let lost = |e: &dyn std::fmt::Display| failed(format!("results could not be read: {e}"));
        let (sender, receiver) = mpsc::channel();
        // The receiver lives until the answer has come.
        staging.map_async(wgpu::MapMode::Read, .., move |result| drop(sender.send(result)));
        self.handles.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| lost(&e))?;
        receiver.recv().map_err(|e| lost(&e))?.map_err(|e| lost(&e))?;
        let view = staging.get_mapped_range(..).map_err(|e| lost(&e))?;
        let length = bytes.len();
        bytes.copy_from_slice(&view[..length]);
        Ok(())
    }
}

//! Values that stay on a device between runs, and runs on them.
//!
//! In: bytes of the host ([`Device::hold`]) or values that an earlier run left; out: a [`Held`] value, which the next run is given as it is
//! and whose bytes come back only when they are asked for. Runs on held values are submitted and not waited for: the queue of
//! the device keeps their order. Shaders read and write held buffers directly, so each run makes its bind groups anew.

use crate::device::{Device, Handles, failed, lock};
use crate::executable::{Executable, Use, buffer, padded};
use crate::instance::{Instance, Ports};
use crate::record::Commands;
use crate::run::Again;
use lawson_graph::{Bindings, Code, Error, Result, interp};
use std::sync::Arc;

/// Bytes on a device. Nobody writes them after they are there, so that clones share them.
#[derive(Clone, Debug)]
pub struct Held {
    device: Device,
    handles: Arc<Handles>,
    buffer: wgpu::Buffer,
    bytes: usize,
}

impl Device {
    /// Copies bytes to the device.
    pub fn hold(&self, bytes: &[u8]) -> Result<Held> {
        let handles = self.handles()?;
        let buffer = buffer(&handles, "a value", bytes.len(), Use::Storage)?;
        let whole = bytes.len() / 4 * 4;
        handles.guarded("a value", || {
            handles.queue.write_buffer(&buffer, 0, &bytes[..whole]);
            if whole < bytes.len() {
                let mut last = [0; 4];
                last[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
                handles.queue.write_buffer(&buffer, whole as u64, &last);
            }
        })?;
        handles.counters.uploaded(bytes.len());
        Ok(Held { device: self.clone(), handles, buffer, bytes: bytes.len() })
    }
}

impl Held {
    /// How many bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The device that they are on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits for whoever computes them, and copies them to the host.
    pub fn read(&self) -> Result<Vec<u8>> {
        if self.bytes == 0 {
            return Ok(Vec::new());
        }
        let handles = &self.handles;
        let kept = lock(&handles.window).take().filter(|w| w.size() >= padded(self.bytes));
        let window = match kept {
            Some(window) => window,
            None => buffer(handles, "what the host reads", self.bytes, Use::Download)?,
        };
        let mut commands = Commands::default();
        commands.copy(handles, (&self.buffer, 0), (&window, 0), padded(self.bytes));
        commands.wait(handles, std::iter::once((&window, wgpu::MapMode::Read)))?;
        let lost = |e: wgpu::MapRangeError| failed(format!("a value could not be read: {e}"));
        let bytes = window.get_mapped_range(..).map_err(lost)?[..self.bytes].to_vec();
        window.unmap();
        handles.counters.downloaded(self.bytes);
        *lock(&handles.window) = Some(window);
        Ok(bytes)
    }
}

impl Executable {
    /// Memory and launches for these sizes, for runs on held values: it has no buffers for inputs and outputs of its own.
    pub fn held_instance(self: &Arc<Self>, bindings: &Bindings) -> Result<Instance> {
        self.instance_with(bindings, Ports::Held)
    }
}

impl Instance {
    /// Runs the plan once on values that are on the device; the results stay there. This is for an instance that was made for it, of a
    /// plan whose inputs and outputs all have bytes.
    pub fn run_held(&mut self, inputs: &[&Held], options: &interp::Options) -> Result<Vec<Held>> {
        if self.ports != Ports::Held || inputs.len() != self.inputs.len() {
            return Err(Error::internal("an instance is given held values that it was not made for"));
        }
        self.begin()?;
        let (handles, device) = (self.loaded.handles.clone(), self.executable.device.clone());
        for (n, held) in inputs.iter().enumerate() {
            if !held.device.is_same(&device) {
                return Err(Error::new(Code::Usage, format!("operand {n} lies on another device"))
                    .help("read it, and hold it on this one"));
            }
            if held.handles.generation != handles.generation {
                return Err(failed(format!("operand {n} was lost with the device that it lay on"))
                    .help("hold the value again, or compute it again"));
            }
            let port = &self.inputs[n];
            if held.bytes < port.bytes {
                let message =
                    format!("operand {n} has {} bytes; the plan was made for {}", held.bytes, port.bytes);
                return Err(Error::new(Code::InputType, message));
            }
        }
        // Before anything is put in place: what fails here leaves the instance as it is.
        let mut results = Vec::with_capacity(self.outputs.len());
        for port in &self.outputs {
            let buffer = buffer(&handles, "a result", port.bytes, Use::Storage)?;
            let (device, handles) = (device.clone(), handles.clone());
            results.push(Held { device, handles, buffer, bytes: port.bytes });
        }
        // What each run brings stands in for the instance's own until the run is handed over.
        let given = self.inputs.iter().zip(inputs.iter().copied());
        let mut own = Vec::new();
        for (port, held) in given.chain(self.outputs.iter().zip(&results)).filter(|(p, _)| p.slot.is_some()) {
            let place = &mut self.buffers[port.spot.buffer as usize];
            own.push((port.spot.buffer as usize, std::mem::replace(place, held.buffer.clone())));
        }
        if cfg!(debug_assertions) {
            self.poison(&handles);
        }
        let ran = handles.guarded("a run", || self.all(&handles, Again::ONCE, options));
        self.forget_ready();
        own.into_iter().for_each(|(n, buffer)| self.buffers[n] = buffer);
        if let Err(error) = ran.and_then(|r| r) {
            self.commands.clear();
            let _ = self.commands.wait(&handles, std::iter::empty());
            return Err(error);
        }
        self.commands.submit(&handles);
        Ok(results)
    }
}

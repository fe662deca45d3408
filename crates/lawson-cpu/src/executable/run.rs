//! Running an instance: the caller's addresses go into the tables, and the members go through the calls.
#![allow(unsafe_code)]

use super::general::Again;
use super::instance::{External, Instance, Port};
use super::{Executable, MAX_MEMBERS};
use crate::team::Member;
use lawson_graph::{Code, Error, Result, Value, interp};
use lawson_kernel::check_feeds;
use std::sync::Arc;

/// An address that is only ever used by the team's members while a run lasts.
#[derive(Clone, Copy)]
pub(super) struct Shared<T>(pub(super) *mut T);

// SAFETY: each member gets the memory of its own index.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for Shared<T> {}

impl Instance {
    /// What it runs.
    pub fn executable(&self) -> &Arc<Executable> {
        &self.executable
    }

    /// Whether the host takes part in a run, which may then end with an error after some outputs were written.
    pub fn is_fallible(&self) -> bool {
        self.general.as_ref().is_some_and(|g| g.is_fallible())
    }

    /// How many bytes its stages have besides its own arena, made for what the last run found.
    pub fn stage_bytes(&self) -> usize {
        self.general.as_ref().map_or(0, |g| g.stage_bytes())
    }

    /// Lets each of its stages take at most so many bytes; what the system has left if nothing is said.
    pub fn set_max_bytes(&mut self, max_bytes: Option<u64>) {
        self.max_bytes = max_bytes;
    }

    /// Gives an input that is a value of the host.
    pub fn set_value(&mut self, input: usize, value: Value) {
        if let Some(general) = &mut self.general {
            general.set_value(input, value);
        }
    }

    /// Takes an output that is a value of the host.
    pub fn take_value(&mut self, output: usize) -> Option<Value> {
        self.general.as_mut().and_then(|g| g.take_value(output))
    }

    /// Runs the plan once, on the bytes of the inputs and outputs in order; those that are values of the host have none. Allocates
    /// nothing but in stages and in steps that are left to the host.
    pub fn run<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = &'a mut [u8]>,
        options: &interp::Options,
    ) -> Result<()> {
        self.point(inputs, outputs)?;
        if self.general.is_some() {
            return self.run_general(Again { times: 1, feeds: &[], clocks: None }, options);
        }
        self.call();
        Ok(())
    }

    /// Runs the plan so many times. Before every run but the first, inputs get what outputs of the run before gave: `feeds`
    /// lists outputs with their inputs, which have the same size.
    pub fn run_loop<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = &'a mut [u8]>,
        times: u64,
        feeds: &[(usize, usize)],
        options: &interp::Options,
    ) -> Result<()> {
        self.point(inputs, outputs)?;
        check_feeds(feeds, |output, input| self.outputs[output].bytes == self.inputs[input].bytes)?;
        self.make_general(feeds)?;
        self.run_general(Again { times, feeds, clocks: None }, options)
    }

    /// Writes the addresses of the caller's memory into the tables.
    #[inline]
    pub(super) fn point<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = &'a mut [u8]>,
    ) -> Result<()> {
        let inputs = inputs.map(|b| Port { bytes: b.len(), address: b.as_ptr() as u64 });
        let outputs = outputs.map(|b| Port { bytes: b.len(), address: b.as_mut_ptr() as u64 });
        self.point_at(inputs, outputs)
    }

    /// The same for memory at addresses.
    #[inline]
    pub(super) fn point_at(
        &mut self,
        inputs: impl Iterator<Item = Port>,
        outputs: impl Iterator<Item = Port>,
    ) -> Result<()> {
        let mut given = 0;
        for (port, there) in self.inputs.iter_mut().zip(inputs) {
            port.check(there.bytes, "input", given)?;
            port.address = there.address;
            given += 1;
        }
        let mut taken = 0;
        for (port, there) in self.outputs.iter_mut().zip(outputs) {
            port.check(there.bytes, "output", taken)?;
            port.address = there.address;
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
                } + patch.offset;
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
        if self.team.members() == 1 {
            let scratch = self.scratch[0].as_mut_ptr();
            for call in calls {
                // SAFETY: as `Call::way` and `Way::run` ask; see there.
                unsafe {
                    let way = call.way(tables);
                    way.run(tables, 0, way.iterations, scratch);
                }
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
                // SAFETY: as `Call::way` asks: all that it reads was written before the barrier.
                let way = unsafe { call.way(tables) };
                let share = member.share(way.iterations.max(0) as usize);
                if !share.is_empty() {
                    // SAFETY: as `Way::run` asks; see there.
                    unsafe { way.run(tables, share.start as i64, share.end as i64, mine) };
                }
            }
        });
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

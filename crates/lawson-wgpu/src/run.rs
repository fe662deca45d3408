//! A run: inputs go to the device, the plan's launches follow each other in one list of commands, outputs come back.
//!
//! The host looks on the way only where the plan says so: at conditions of loops and branches, and where a step is left to
//! it. Nothing is made anew: inputs and outputs go through buffers that stay, and every launch is ready.

use crate::device::{Handles, failed};
use crate::executable::padded;
use crate::instance::{Calling, Instance, Item, Looping, Piece, Spot};
use lawson_graph::{Code, Error, Result, Symbol, interp};
use lawson_kernel::{Slot, check_feeds};
use std::num::NonZero;
use std::sync::Arc;
use std::time::Instant;

/// What fills memory before a run in builds with assertions: results must come from the run.
const POISON: u8 = 0xa5;
/// Buffers larger than this are not filled.
const MAX_POISON: u64 = 16 << 20;

/// How often a plan runs.
#[derive(Clone, Copy, Debug)]
pub struct Again<'f> {
    /// How many times.
    pub times: u64,
    /// Outputs with the inputs that they become, which have the same size.
    pub feeds: &'f [(usize, usize)],
    /// How the runs are handed over.
    pub pace: Pace,
    /// Whether one run of the plan does several of these.
    pub stride: Option<Stride<'f>>,
}

/// A plan of which one run does several: a symbol, on which no size depends, says how many.
#[derive(Clone, Copy, Debug)]
pub struct Stride<'f> {
    /// The symbol.
    pub symbol: &'f Symbol,
    /// The most that it is given.
    pub most: NonZero<u64>,
}

/// How the iterations of a loop are handed over to a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// All at once, as far as a driver has the patience for: a few thousand launches a submission. Who runs programs may take several iterations
    /// for one run of another plan.
    #[default]
    Whole,
    /// All at once, and each with launches of its own: what an iteration takes is then what a run takes besides its transfers.
    Apart,
    /// One by one, each waited for: a device that shows a desktop too answers in between, however long an iteration takes.
    EachIteration,
}

impl Again<'_> {
    /// One run.
    pub const ONCE: Again<'static> = Again { times: 1, feeds: &[], pace: Pace::Whole, stride: None };
}

impl Instance {
    /// Runs the plan once, on the bytes of the inputs and outputs in order; those that are values of the host have none.
    pub fn run<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = &'a mut [u8]>,
        options: &interp::Options,
    ) -> Result<()> {
        self.repeat(inputs, outputs, Again::ONCE, options)
    }

    /// Runs the plan so many times. Before every run but the first, inputs get what outputs of the run before gave. Nothing comes back in
    /// between.
    pub fn run_loop<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = &'a mut [u8]>,
        again: Again<'_>,
        options: &interp::Options,
    ) -> Result<()> {
        check_feeds(again.feeds, |output, input| {
            let (o, i) = (&self.outputs[output], &self.inputs[input]);
            i.slot.is_none() || o.slot.is_none() || o.bytes == i.bytes
        })?;
        self.repeat(inputs, outputs, again, options)
    }

    /// Runs the plan once and adds to each entry of `seconds` what its step took, each submitted and waited for by itself.
    pub fn profile<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a [u8]>,
        seconds: &mut [f64],
        options: &interp::Options,
    ) -> Result<()> {
        self.begin()?;
        let handles = self.loaded.handles.clone();
        self.upload_inputs(&handles, inputs)?;
        self.finish_inputs(&handles)?;
        let items = std::mem::take(&mut self.items);
        let mut left = options.max_steps;
        let mut result = Ok(());
        for (n, item) in items.iter().enumerate() {
            let start = Instant::now();
            result = self.block(&handles, std::slice::from_ref(item), options, &mut left);
            if result.is_ok() {
                result = self.commands.wait(&handles, std::iter::empty());
            }
            if result.is_err() {
                break;
            }
            // Steps without iterations have no item.
            if let Some(to) = self.kept.get(n).and_then(|step| seconds.get_mut(*step)) {
                *to += start.elapsed().as_secs_f64();
            }
        }
        self.items = items;
        result
    }

    fn repeat<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = &'a mut [u8]>,
        again: Again<'_>,
        options: &interp::Options,
    ) -> Result<()> {
        self.begin()?;
        let handles = self.loaded.handles.clone();
        self.upload_inputs(&handles, inputs)?;
        let result = handles.guarded("a run", || self.all(&handles, again, options)).and_then(|r| r);
        if let Err(error) = result {
            self.commands.clear();
            // Whatever has been begun ends before the next run.
            let _ = self.commands.wait(&handles, std::iter::empty());
            self.finish_inputs(&handles)?;
            return Err(error);
        }
        self.download_outputs(&handles, outputs)
    }

    /// Makes everything anew if the device was lost, and lets every buffer be where it is at first.
    pub(crate) fn begin(&mut self) -> Result<()> {
        if self.loaded.handles.lost().is_some() {
            let values = std::mem::take(&mut self.host.values);
            *self = self.executable.instance_with(&self.bindings, self.ports)?;
            self.host.values = values;
        }
        self.spots.copy_from_slice(&self.first);
        self.host.error = None;
        self.host.bindings = self.bindings.clone();
        Ok(())
    }

    fn upload_inputs<'a>(&mut self, handles: &Handles, inputs: impl Iterator<Item = &'a [u8]>) -> Result<()> {
        let mut given = 0;
        for (n, bytes) in inputs.enumerate() {
            let Some(port) = self.inputs.get(n) else { break };
            given += 1;
            let Some(staging) = &port.staging else { continue };
            if bytes.len() < port.bytes {
                let message =
                    format!("input {n} has {} bytes; the plan was made for {}", bytes.len(), port.bytes);
                return Err(Error::new(Code::InputType, message));
            }
            let failed =
                |e: wgpu::MapRangeError| failed(format!("input {n} could not be given to the device: {e}"));
            let mut view = staging.get_mapped_range_mut(..).map_err(failed)?;
            view.slice(..port.bytes).copy_from_slice(&bytes[..port.bytes]);
        }
        if given != self.inputs.len() {
            return Err(Error::internal("a plan is run with too few inputs"));
        }
        if cfg!(debug_assertions) {
            self.poison(handles);
        }
        for port in &self.inputs {
            let Some(staging) = &port.staging else { continue };
            staging.unmap();
            handles.counters.uploaded(port.bytes);
            let to = &self.buffers[port.spot.buffer as usize];
            self.commands.copy(handles, (staging, 0), (to, 0), padded(port.bytes));
        }
        Ok(())
    }

    /// Waits until inputs can be given again.
    fn finish_inputs(&mut self, handles: &Handles) -> Result<()> {
        let inputs = self.inputs.iter().filter_map(|p| p.staging.as_ref());
        self.commands.wait(handles, inputs.map(|s| (s, wgpu::MapMode::Write)))
    }

    /// Fills what steps write.
    pub(crate) fn poison(&self, handles: &Handles) {
        let outputs = self.outputs.iter().filter(|p| p.slot.is_some()).map(|p| p.spot.buffer as usize);
        for n in self.homes.clone().chain(outputs) {
            let buffer = &self.buffers[n];
            if buffer.size() <= MAX_POISON {
                handles.queue.write_buffer(buffer, 0, &vec![POISON; buffer.size() as usize]);
            }
        }
    }

    pub(crate) fn all(
        &mut self,
        handles: &Arc<Handles>,
        again: Again<'_>,
        options: &interp::Options,
    ) -> Result<()> {
        let (mut left, mut iterations) = (again.times, options.max_steps);
        while left > 0 {
            if let Some(stride) = again.stride {
                self.rebind(handles, stride.symbol, stride.most.get().min(left))?;
            }
            if left < again.times {
                self.feed(handles, again.feeds);
            }
            let items = std::mem::take(&mut self.items);
            let done = self.block(handles, &items, options, &mut iterations);
            self.items = items;
            done?;
            left = left.saturating_sub(again.stride.map_or(1, |s| s.most.get()));
            if again.pace == Pace::EachIteration && left > 0 {
                self.commands.wait(handles, std::iter::empty())?;
            }
        }
        Ok(())
    }

    /// Lets outputs become inputs: they exchange their spots. An output that becomes several inputs is copied to all but the first.
    fn feed(&mut self, handles: &Handles, feeds: &[(usize, usize)]) {
        for (n, (output, input)) in feeds.iter().enumerate() {
            let (from, to) = (self.outputs[*output].slot, self.inputs[*input].slot);
            let (Some(from), Some(to)) = (from, to) else { continue };
            if feeds[..n].iter().any(|(o, i)| o == output && self.inputs[*i].slot.is_some()) {
                continue;
            }
            for (_, other) in feeds[n + 1..].iter().filter(|(o, _)| o == output) {
                let Some(other) = self.inputs[*other].slot else { continue };
                let [a, b] = [from, other].map(|s| self.spots[s.0 as usize].buffer as usize);
                let (a, b) = (&self.buffers[a], &self.buffers[b]);
                self.commands.copy(handles, (a, 0), (b, 0), padded(self.outputs[*output].bytes));
            }
            self.spots.swap(from.0 as usize, to.0 as usize);
        }
        for (output, input) in feeds {
            let from = self.value_outputs.iter().find(|(n, _)| n == output);
            let to = self.value_inputs.iter().find(|(n, _)| n == input);
            if let (Some((_, from)), Some((_, to))) = (from, to) {
                self.host.values[to.0 as usize] = self.host.values[from.0 as usize].clone();
            }
        }
    }

    fn block(
        &mut self,
        handles: &Arc<Handles>,
        items: &[Item],
        options: &interp::Options,
        left: &mut u64,
    ) -> Result<()> {
        for item in items {
            match item {
                Item::Launch(n) => {
                    let group = self.ready(*n)?;
                    let mut commands = std::mem::take(&mut self.commands);
                    commands.launch(handles, &self.groups[group], self.dispatches(*n));
                    self.commands = commands;
                }
                Item::Download { from, to } => {
                    let mut bytes = std::mem::take(&mut self.mirrors[to.0 as usize]);
                    let read = self.read(handles, *from, &mut bytes);
                    self.mirrors[to.0 as usize] = bytes;
                    read?;
                }
                Item::Upload { from, to } => self.write(handles, *from, *to)?,
                Item::Host(step) => {
                    let Instance { executable, host, mirrors, .. } = self;
                    let shared = std::cell::RefCell::new(mirrors);
                    step.run(
                        &executable.plan,
                        host,
                        options,
                        |a| {
                            let range = a.offset..a.offset + a.bytes;
                            match executable.host_constants.get(&a.slot) {
                                Some(bytes) => bytes[range].to_vec(),
                                None => shared.borrow()[a.slot.0 as usize][range].to_vec(),
                            }
                        },
                        |a, bytes| {
                            shared.borrow_mut()[a.slot.0 as usize][a.offset..a.offset + a.bytes]
                                .copy_from_slice(bytes);
                        },
                    );
                    if let Some(error) = self.host.error.take() {
                        return Err(error);
                    }
                }
                Item::Call(n) => self.call(*n)?,
                Item::Loop(l) => self.iterate(handles, l, options, left)?,
                Item::Branch(b) => {
                    let taken = if self.holds(handles, b.reads)? { &b.then } else { &b.otherwise };
                    self.block(handles, taken, options, left)?;
                }
            }
        }
        Ok(())
    }

    /// Runs a kernel of the processor on buffers of the host.
    fn call(&mut self, n: usize) -> Result<()> {
        let Instance { executable, calls, mirrors, .. } = self;
        let Calling { call, reads, writes } = &mut calls[n];
        // What is written is taken out, so that the rest can be read meanwhile.
        let mut written: Vec<Vec<u8>> =
            writes.iter().map(|s| std::mem::take(&mut mirrors[s.0 as usize])).collect();
        let read = |s: &Slot| match executable.host_constants.get(s) {
            Some(bytes) => bytes.as_slice(),
            None => mirrors[s.0 as usize].as_slice(),
        };
        let given: Vec<&[u8]> = reads.iter().map(read).collect();
        let mut taken: Vec<&mut [u8]> = written.iter_mut().map(Vec::as_mut_slice).collect();
        let done = call.run(&given, &mut taken);
        for (slot, bytes) in writes.iter().zip(written) {
            mirrors[slot.0 as usize] = bytes;
        }
        done
    }

    fn iterate(
        &mut self,
        handles: &Arc<Handles>,
        l: &Looping,
        options: &interp::Options,
        left: &mut u64,
    ) -> Result<()> {
        let mut done = 0;
        while l.times.is_none_or(|times| done < times) {
            self.enter_rows(l, done);
            if let Some(condition) = l.reads {
                self.block(handles, &l.condition, options, left)?;
                if !self.holds(handles, condition)? {
                    return Ok(());
                }
                *left = left.checked_sub(1).ok_or_else(|| {
                    Error::new(Code::Budget, format!("loops run more than {} times", options.max_steps))
                        .help("raise `max_steps`, or see whether a loop ends")
                })?;
            }
            self.block(handles, &l.body, options, left)?;
            self.exchange(l);
            done += 1;
        }
        Ok(())
    }

    /// Whether a byte is not 0.
    fn holds(&mut self, handles: &Handles, slot: Slot) -> Result<bool> {
        let mut byte = [0];
        self.read(handles, Piece { slot, offset: 0, bytes: 1 }, &mut byte)?;
        Ok(byte[0] != 0)
    }

    /// The words that a piece lies in: where it begins, and how many bytes they have.
    fn words(&self, piece: Piece) -> (Spot, u64, u64) {
        let spot = self.spots[piece.slot.0 as usize];
        let begin = spot.offset + piece.offset;
        let first = begin / 4 * 4;
        let size = (begin - first + piece.bytes as u64).next_multiple_of(4);
        (Spot { offset: first, ..spot }, begin - first, size)
    }

    /// Waits for what comes before, and reads bytes of a buffer.
    fn read(&mut self, handles: &Handles, piece: Piece, bytes: &mut [u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (spot, skip, size) = self.words(piece);
        let Some(window) = self.window.clone() else {
            return Err(Error::internal("nothing to read through"));
        };
        let from = self.buffers[spot.buffer as usize].clone();
        self.commands.copy(handles, (&from, spot.offset), (&window, 0), size);
        self.commands.wait(handles, std::iter::once((&window, wgpu::MapMode::Read)))?;
        let lost = |e: wgpu::MapRangeError| failed(format!("bytes could not be read: {e}"));
        {
            let view = window.get_mapped_range(..).map_err(lost)?;
            bytes.copy_from_slice(&view[skip as usize..skip as usize + bytes.len()]);
        }
        window.unmap();
        handles.counters.downloaded(bytes.len());
        Ok(())
    }

    /// Writes bytes of the host to a piece of a buffer, and to nothing beside it.
    fn write(&mut self, handles: &Handles, from: Slot, piece: Piece) -> Result<()> {
        if piece.bytes == 0 {
            return Ok(());
        }
        let (spot, skip, size) = self.words(piece);
        let buffer = self.buffers[spot.buffer as usize].clone();
        // A buffer of its own may be longer than what lies in it; a row has neighbours.
        let alone = spot.offset == 0 && skip == 0 && piece.bytes == self.root_bytes(piece.slot);
        let mut words = vec![0; size as usize];
        if !alone && (skip > 0 || size != piece.bytes as u64) {
            let around = Piece { offset: piece.offset - skip, bytes: size as usize, ..piece };
            self.read(handles, around, &mut words)?;
        } else {
            // What was recorded comes before what the queue writes.
            self.commands.submit(handles);
        }
        let bytes = &self.mirrors[from.0 as usize];
        words[skip as usize..skip as usize + piece.bytes].copy_from_slice(&bytes[..piece.bytes]);
        handles.queue.write_buffer(&buffer, spot.offset, &words);
        handles.counters.uploaded(piece.bytes);
        Ok(())
    }

    /// How many bytes the buffer has that a row is in.
    fn root_bytes(&self, slot: Slot) -> usize {
        self.sizes[self.executable.plan.root(slot).0 as usize]
    }

    /// Copies outputs to the host, waits, and gives them to the caller.
    fn download_outputs<'a>(
        &mut self,
        handles: &Handles,
        outputs: impl Iterator<Item = &'a mut [u8]>,
    ) -> Result<()> {
        for port in &self.outputs {
            let (Some(staging), Some(slot)) = (&port.staging, port.slot) else { continue };
            let from = &self.buffers[self.spots[slot.0 as usize].buffer as usize];
            self.commands.copy(handles, (from, 0), (staging, 0), padded(port.bytes));
            handles.counters.downloaded(port.bytes);
        }
        let written =
            self.outputs.iter().filter_map(|p| p.staging.as_ref()).map(|s| (s, wgpu::MapMode::Read));
        let read = self.inputs.iter().filter_map(|p| p.staging.as_ref()).map(|s| (s, wgpu::MapMode::Write));
        self.commands.wait(handles, written.chain(read))?;
        let mut taken = 0;
        let mut result = Ok(());
        for (n, bytes) in outputs.enumerate() {
            let Some(port) = self.outputs.get(n) else { break };
            taken += 1;
            let Some(staging) = &port.staging else { continue };
            if bytes.len() < port.bytes {
                let message =
                    format!("output {n} has {} bytes; the plan was made for {}", bytes.len(), port.bytes);
                result = Err(Error::new(Code::InputType, message));
                continue;
            }
            match staging.get_mapped_range(..) {
                Ok(view) => bytes[..port.bytes].copy_from_slice(&view[..port.bytes]),
                Err(e) => result = Err(failed(format!("output {n} could not be read: {e}"))),
            }
        }
        self.outputs.iter().filter_map(|p| p.staging.as_ref()).for_each(wgpu::Buffer::unmap);
        if taken != self.outputs.len() {
            return Err(Error::internal("a plan is run with too few outputs"));
        }
        result
    }
}

//! How fast a device is, found out by running small plans on it.
//!
//! In: a device; out: [`DeviceRates`]. Everything is measured as sessions do it: through an instance, with its staging buffers and its one list
//! of commands. What a loop of many iterations takes more than one of few is the time of iterations alone.

use crate::device::Device;
use crate::executable::{Executable, machine};
use crate::instance::Instance;
use crate::run::{Again, Pace};
use lawson_graph::{Bindings, Error, Graph, Result, interp};
use lawson_kernel::compile::compile;
use lawson_kernel::machine::{Machine, Rate, Rates};
use std::sync::Arc;
use std::time::Instant;

/// How fast a device is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceRates {
    /// Bytes a second, read and written together, of a shader that copies.
    pub copy: f64,
    /// Seconds of a launch that waits for the one before it.
    pub launch: f64,
    /// Seconds that a submission takes, until the host knows that it is done, besides its launches.
    pub submit: f64,
    /// Bytes a second that inputs go to the device with.
    pub upload: f64,
    /// Bytes a second that outputs come back with.
    pub download: f64,
}

/// Elements of what is copied: more than caches hold, and little enough for a device that is a program.
const MANY: usize = 16 << 20;
const MANY_IN_SOFTWARE: usize = 4 << 20;
/// Iterations of the long loops, and how often each is timed.
const COPIES: u64 = 8;
const LAUNCHES: u64 = 1000;
const SUBMISSIONS: u64 = 50;
const ROUNDS: usize = 5;
/// No time is shorter than a clock can tell.
const TICK: f64 = 1e-9;

/// Measures a device. It takes a second or two; nothing else should use the device meanwhile.
pub fn measure(device: &Device) -> Result<DeviceRates> {
    let adapter = device.adapter()?;
    let most = if adapter.kind == "software" { MANY_IN_SOFTWARE } else { MANY };
    let count = most.min(usize::try_from(adapter.binding.min(adapter.buffer) / 4).unwrap_or(most)).max(1);
    let bytes = 4.0 * count as f64;
    let mut step = Subject::new(device, "f32[1]", "f32[1]", "%y = neg %x")?;
    let launch = step.slope(Pace::Whole, LAUNCHES)?;
    let submit = (step.slope(Pace::EachIteration, SUBMISSIONS)? - launch).max(TICK);
    let many = format!("f32[{count}]");
    let mut copy = Subject::new(device, &many, &many, "%y = neg %x")?;
    let copied = (copy.slope(Pace::Whole, COPIES)? - launch).max(TICK);
    let mut up =
        Subject::new(device, &many, "f32[1]", "%y = slice %x {start = [0], size = [1], step = [1]}")?;
    let uploaded = (up.once()? - submit).max(TICK);
    let repeat = format!("%y = broadcast %x {{shape = [{count}], axes = []}}");
    let mut down = Subject::new(device, "f32[]", &many, &repeat)?;
    // What comes back is written first.
    let downloaded = (down.once()? - submit - copied / 2.0).max(TICK);
    Ok(DeviceRates {
        copy: 2.0 * bytes / copied,
        launch: launch.max(TICK),
        submit,
        upload: bytes / uploaded,
        download: bytes / downloaded,
    })
}

/// The model of a device with what was measured of it. Its decisions stay those of [`machine`]: only predicted times change.
pub fn machine_of(rates: &DeviceRates) -> Machine {
    let plain = machine();
    let rate = |times: f64| Rate::new(times * rates.copy, times * rates.copy);
    let measured = Rates {
        // Nearer levels are faster by what the model's sizes say of their distance.
        read: [rate(8.0), rate(4.0), rate(2.0), rate(1.0)],
        copy: rate(1.0),
        triad: rate(1.0),
        launch: rates.launch,
        barrier: TICK,
        run: rates.submit,
        ..plain.rates.clone()
    };
    Machine { rates: measured, ..plain }
}

/// A plan of one operator with memory for it.
struct Subject {
    instance: Instance,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Subject {
    fn new(device: &Device, from: &str, to: &str, body: &str) -> Result<Subject> {
        let text = format!("lawson 1 graph @measured(%x: {from}) -> (y: {to}) {{ {body} return %y }}");
        let graph = Graph::parse(&text)?;
        let plan = compile(&graph, &machine())?;
        let executable = Arc::new(Executable::new(plan, 1, 1, device)?);
        if executable.plan().operators().on_host() > 0 {
            return Err(Error::internal("what is measured does not run on the device"));
        }
        let size = |v| -> Result<usize> {
            let ty = graph.ty(v).as_tensor().ok_or_else(|| Error::internal("a value that is no tensor"))?;
            Ok(usize::try_from(Bindings::new().eval(&ty.bytes())?).unwrap_or(0))
        };
        let (input, output) = (size(graph.inputs()[0])?, size(graph.outputs()[0].value)?);
        let instance = executable.instance(&Bindings::new())?;
        Ok(Subject { instance, input: vec![0; input], output: vec![0; output] })
    }

    fn run(&mut self, again: Again<'_>) -> Result<f64> {
        let start = Instant::now();
        let (inputs, outputs) = (std::iter::once(&self.input[..]), std::iter::once(&mut self.output[..]));
        self.instance.run_loop(inputs, outputs, again, &interp::Options::default())?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Seconds of a run, the middle of several.
    fn once(&mut self) -> Result<f64> {
        self.run(Again::ONCE)?;
        let mut all = (0..ROUNDS).map(|_| self.run(Again::ONCE)).collect::<Result<Vec<f64>>>()?;
        all.sort_by(f64::total_cmp);
        Ok(all[ROUNDS / 2])
    }

    /// Seconds an iteration of a loop: what so many take more than one, the middle of several.
    fn slope(&mut self, pace: Pace, times: u64) -> Result<f64> {
        let feeds = &[(0, 0)][..];
        self.run(Again { times: 2, feeds, pace, stride: None })?;
        let mut all = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let (one, many) = (self.run(Again::ONCE)?, self.run(Again { times, feeds, pace, stride: None })?);
            all.push((many - one).max(TICK) / (times - 1) as f64);
        }
        all.sort_by(f64::total_cmp);
        Ok(all[ROUNDS / 2])
    }
}

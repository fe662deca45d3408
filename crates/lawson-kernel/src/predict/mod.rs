//! The cost model: how long a kernel will take, and why.
//!
//! In: a kernel (scheduled, or as lowering made it), values of its parameters, the machine, and where its operands are when
//! it starts. Out: a [`Prediction`]: the seconds that the units of a core need, those that the levels of memory need to
//! deliver, and what starting it costs; the greatest of the first two decides, and names the regime.
//!
//! `outline.rs` counts iterations, `work.rs` instructions (`operation.rs` has their prices), `traffic.rs` bytes; `plan.rs` finds for
//! every step of a plan where its operands are. Predictions are pure functions of what comes in, take microseconds, and decide
//! nothing by themselves.

mod operation;
mod outline;
mod plan;
mod traffic;
mod work;

pub use operation::Operation;
pub(crate) use operation::of_index;
pub use plan::predict_plan;

use crate::buffer::{BufferId, Role};
use crate::machine::{Home, Machine, Spread};
use crate::tree::Kernel;
use lawson_graph::{Bindings, Result};
use outline::outline;
use traffic::{Moved, Traffic};
use work::{Unit, Worker};

/// How far a kernel is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As it will be executed, if that is plain loops too.
    Scheduled,
    /// As lowering made it: what a good schedule would make of it is predicted.
    Natural,
}

/// Under what circumstances a kernel runs.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The values of the kernel's parameters.
    pub bindings: &'a Bindings,
    /// How many threads run it.
    pub threads: usize,
    /// How far the kernel is.
    pub form: Form,
    /// For each argument, the bytes that were touched since it was: what else must have stayed in a cache for it to be there.
    /// Arguments that are not listed come from memory.
    pub since: &'a [f64],
    /// The bytes that were touched since the kernel was last started: whether its code is at hand.
    pub started: f64,
    /// Whether the team meets before the kernel starts.
    pub waits: bool,
}

/// What bounds a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// The units of the cores.
    Compute,
    /// A level of memory.
    Memory,
    /// Starting it.
    Overhead,
}

/// The limit that a kernel runs into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Units that multiply and add.
    Arithmetic,
    /// Units that load.
    Loads,
    /// Units that store.
    Stores,
    /// Results that wait for each other.
    Chain,
    /// What comes from a level of memory.
    From(Home),
    /// Calls and barriers.
    Launch,
}

/// How a kernel touches an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Argument {
    /// The buffer.
    pub buffer: BufferId,
    /// Where it is when the kernel starts.
    pub home: Home,
    /// Distinct bytes that are read.
    pub read: f64,
    /// Distinct bytes that are written.
    pub written: f64,
}

/// What the model says of one launch of a kernel. Times are in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The whole.
    pub seconds: f64,
    /// What the units of the busiest core need.
    pub compute: f64,
    /// What the levels of memory need to deliver.
    pub memory: f64,
    /// What starting it costs.
    pub overhead: f64,
    /// Which of the three it is.
    pub regime: Regime,
    /// And what in it.
    pub limit: Limit,
    /// What no schedule goes below: operations at the rate of multiply-adds, or distinct bytes at that of where they are.
    pub bound: f64,
    /// Floating-point operations; those of functions are the operations of their expansions.
    pub flops: f64,
    /// Its arguments, in order.
    pub arguments: Vec<Argument>,
}

impl Prediction {
    /// Distinct bytes that are read and written.
    pub fn bytes(&self) -> f64 {
        self.arguments.iter().map(|a| a.read + a.written).sum()
    }
}

impl Regime {
    /// Its name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Regime::Compute => "compute",
            Regime::Memory => "memory",
            Regime::Overhead => "overhead",
        }
    }
}

impl Limit {
    /// Its name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Arithmetic => "arithmetic",
            Limit::Loads => "loads",
            Limit::Stores => "stores",
            Limit::Chain => "chains",
            Limit::From(home) => home.name(),
            Limit::Launch => "launch",
        }
    }
}

/// The part of a cache that can be counted on: lines are not kept by what will be needed next.
const USABLE: f64 = 0.8;
/// How long one waits for a line of the last level, as a part of how long for one of memory.
const NEARER: f64 = 0.2;
/// Lines that are written are brought first, and go back later, when nobody waits for them: as if so many times the bytes were read.
const WRITE: f64 = 1.25;
/// How much of the lesser of computing and moving does not happen beside the greater.
const BESIDE: f64 = 0.15;

/// Predicts how long a kernel takes.
///
/// ```
/// use lawson_graph::{Bindings, Symbol};
/// use lawson_kernel::predict::{Form, Regime, Setting};
/// use lawson_kernel::{Kernel, machine::Machine, predict};
///
/// let kernel = Kernel::parse(
///     "lawson-kernel 1
///      kernel @scale {
///        in x: f32[N]
///        out y: f32[N]
///        axes i
///        for i in 0 to N { y[i] = x[i] * 2.0 }
///      }",
/// )?;
/// let mut bindings = Bindings::new();
/// bindings.define(Symbol::new("N"), 1 << 26, "an example");
/// let setting = Setting {
///     machine: &Machine::default(),
///     bindings: &bindings,
///     threads: 1,
///     form: Form::Natural,
///     since: &[],
///     started: 0.0,
///     waits: false,
/// };
/// assert_eq!(predict(&kernel, &setting)?.regime, Regime::Memory);
/// # Ok::<(), lawson_graph::Error>(())
/// ```
pub fn predict(kernel: &Kernel, setting: &Setting<'_>) -> Result<Prediction> {
    let Setting { machine, bindings, form, .. } = *setting;
    let threads = setting.threads.max(1);
    let rates = &machine.rates;
    let items = outline(kernel, bindings)?;
    let total = Worker::new(kernel, &machine.for_kernel(kernel), bindings, form).total(&items);
    // The member with the most shares is the last.
    let busiest = match form {
        Form::Scheduled => (total.shares / threads as f64).ceil().max(1.0) / total.shares.max(1.0),
        Form::Natural => 1.0 / threads as f64,
    };
    let compute = total.slots * busiest.min(1.0) / (rates.at(rates.fma, threads) / threads as f64);

    let once = Traffic::new(kernel, bindings, 1)?.once(&items);
    let arguments = arguments(kernel, setting, &once);
    let (memory, slowest) = memory(kernel, setting, &items, &once, &arguments)?;
    let overhead = start(setting) + if setting.waits && threads > 1 { rates.barrier } else { 0.0 };

    let seconds = compute.max(memory) + BESIDE * compute.min(memory) + overhead;
    let (regime, limit) = match () {
        () if overhead > compute.max(memory) => (Regime::Overhead, Limit::Launch),
        () if memory > compute => (Regime::Memory, Limit::From(slowest)),
        () => (
            Regime::Compute,
            match total.unit {
                Unit::Arithmetic => Limit::Arithmetic,
                Unit::Loads => Limit::Loads,
                Unit::Stores => Limit::Stores,
                Unit::Chain => Limit::Chain,
            },
        ),
    };
    let lanes = machine.for_kernel(kernel).lanes as f64;
    let computed = total.flops / 2.0 / lanes / rates.at(rates.fma, threads);
    let moved = arguments.iter().map(|a| {
        let rate = rates.read[a.home as usize];
        (a.read + a.written) / rate.core.min(rates.at(rate, threads) / threads as f64) / threads as f64
    });
    let bound = computed.max(moved.sum());
    Ok(Prediction { seconds, compute, memory, overhead, regime, limit, bound, flops: total.flops, arguments })
}

/// The bytes of each level that can be counted on, for a member of a team.
fn capacities(machine: &Machine) -> [f64; 3] {
    [machine.l1, machine.l2, machine.l3].map(|n| n as f64 * USABLE)
}

/// The part of what was touched so many bytes ago that is no longer in the last level: it does not go all at once.
fn missing(since: Option<f64>, machine: &Machine) -> f64 {
    since.map_or(1.0, |bytes| machine.rates.lost(bytes, machine.l3 as f64))
}

/// The seconds that calling a kernel takes: more if its code has left the caches of the core.
fn start(setting: &Setting<'_>) -> f64 {
    let (machine, rates) = (setting.machine, &setting.machine.rates);
    if machine.spread == Spread::Grid || setting.started <= machine.l2 as f64 * USABLE {
        return rates.launch;
    }
    let lost = missing(Some(setting.started), machine);
    rates.launch + rates.cold * (NEARER + (1.0 - NEARER) * lost)
}

/// Where the arguments are when the kernel starts.
fn arguments(kernel: &Kernel, setting: &Setting<'_>, once: &[Moved]) -> Vec<Argument> {
    let [l1, l2, _] = capacities(setting.machine);
    let each = setting.threads.max(1) as f64;
    let argument = |(n, buffer): (usize, BufferId)| {
        let home = match setting.since.get(n) {
            Some(bytes) if bytes / each <= l1 => Home::L1,
            Some(bytes) if bytes / each <= l2 => Home::L2,
            Some(bytes) if missing(Some(*bytes), setting.machine) <= 0.5 => Home::L3,
            _ => Home::Memory,
        };
        let moved = once[buffer.0 as usize];
        Argument { buffer, home, read: moved.read, written: moved.written + moved.streamed }
    };
    kernel.arguments().enumerate().map(argument).collect()
}

/// The seconds that it takes until all that is touched has come, and the level that most of them are spent on. What comes from a level takes as
/// long as reading there does, whichever levels it passes on its way.
fn memory(
    kernel: &Kernel,
    setting: &Setting<'_>,
    items: &[outline::Item<'_>],
    once: &[Moved],
    arguments: &[Argument],
) -> Result<(f64, Home)> {
    let (machine, threads) = (setting.machine, setting.threads.max(1));
    let rates = &machine.rates;
    // By level, the bytes that a member brings into it, and those that all store past the caches.
    let mut into = [0.0; 3];
    let mut past = 0.0;
    for (level, capacity) in capacities(machine).into_iter().enumerate() {
        // The last level is shared: what all members bring goes into it.
        let members = if level == 2 { 1 } else { threads };
        let moved = match setting.form {
            Form::Natural => once.to_vec(),
            Form::Scheduled => Traffic::new(kernel, setting.bindings, members)?.moved(items, capacity),
        };
        let fits = moved.iter().map(Moved::touched).sum::<f64>() <= capacity;
        let through = |(n, m): (usize, &Moved)| {
            let argument = arguments.iter().position(|a| a.buffer.0 as usize == n);
            let since = argument.and_then(|a| setting.since.get(a).copied());
            let bytes = m.read + WRITE * m.written;
            match (kernel.buffers[n].role, level) {
                // Scratch is written before it is read: what fits never moves.
                (Role::Scratch(_), _) if fits => 0.0,
                (Role::Scratch(_), _) => bytes,
                (_, 2) => {
                    let first = (once[n].read + WRITE * once[n].written).min(bytes);
                    first * missing(since, machine) + (bytes - first)
                }
                _ if fits && argument.is_some_and(|a| arguments[a].home as usize <= level) => 0.0,
                _ => bytes,
            }
        };
        let through: f64 = moved.iter().enumerate().map(through).sum();
        let whole = level == 2 || setting.form == Form::Natural;
        into[level] = if whole { through / threads as f64 } else { through };
        if level == 2 {
            past = moved.iter().map(|m| m.streamed).sum();
        }
    }
    let mut all = 0.0;
    let mut slowest = (0.0, Home::L2);
    for (level, bytes) in into.into_iter().enumerate() {
        let rate = rates.read[level + 1];
        // What came from farther is counted there.
        let from_here = bytes - into.get(level + 1).copied().unwrap_or(0.0).min(bytes);
        let mut seconds = from_here / rate.core.min(rates.at(rate, threads) / threads as f64);
        if level == 2 {
            seconds += past / rates.at(rates.copy, threads);
        }
        all += seconds;
        if seconds > slowest.0 {
            slowest = (seconds, Home::ALL[level + 1]);
        }
    }
    Ok((all, slowest.1))
}

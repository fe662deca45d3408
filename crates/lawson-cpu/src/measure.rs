//! Measuring this machine: the rates that the cost model predicts times from.
//!
//! In: how much effort to make, and somebody who wants to know how far it is. Out: [`Rates`], of one core and of a team with a
//! member for each processor. Every rate is the median of several blocks (`limits.rs`): others may work meanwhile.

use crate::Isa;
use crate::executable::{Executable, Instance};
use crate::limits::{Limit, Limits, median};
use crate::memory::Memory;
use crate::team::Team;
use lawson_graph::{Bindings, Code, Error, Graph, Result, interp};
use lawson_kernel::compile::compile;
use lawson_kernel::machine::{LOST_AT, Machine, Rate, Rates};
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// How much effort to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// About a second.
    Quick,
    /// Some ten seconds.
    Full,
}

/// What is measured, in order; for those who show how far it is.
pub const STAGES: [&str; 13] = [
    "multiply-adds",
    "dot products of bytes",
    "reading L1",
    "reading L2",
    "reading L3",
    "reading memory",
    "copying",
    "triad",
    "what the last level keeps",
    "barriers",
    "calls",
    "calls after others",
    "disk",
];

struct Bench<'a> {
    machine: &'a Machine,
    isa: Isa,
    /// One core, and all.
    limits: [Limits; 2],
    teams: [Team; 2],
    blocks: usize,
    effort: Effort,
}

/// Measures this machine, whose caches have the sizes of `machine` and whose vectors are the widest that it has. The disk is that of `folder`, if one is given. `progress` is called
/// before each of [`STAGES`] with its number.
pub fn measure(
    machine: &Machine,
    effort: Effort,
    folder: Option<&Path>,
    progress: &mut dyn FnMut(usize),
) -> Result<Rates> {
    let members = std::thread::available_parallelism().map_or(1, |n| n.get());
    let team = |n: usize| Team::new(n).map_err(|e| Error::new(Code::Budget, format!("threads: {e}")));
    let teams = [team(1)?, team(members)?];
    let (blocks, block) = match effort {
        Effort::Quick => (3, 0.01),
        Effort::Full => (15, 0.03),
    };
    let limits = [Limits::new(&teams[0])?.block(block), Limits::new(&teams[1])?.block(block)];
    let isa = Isa::best();
    let machine = &isa.of(machine);
    let mut bench = Bench { machine, isa, limits, teams, blocks, effort };
    let mut stage = 0;
    let mut next = || {
        progress(stage);
        stage += 1;
    };
    next();
    // Rates of multiply-adds are counted in floating-point operations of all lanes.
    let fma = scaled(bench.rate(|_| Limit::Fma)?, 1.0 / (2.0 * machine.lanes as f64));
    next();
    let dot = if bench.limits[0].has_dot() { Some(bench.rate(|_| Limit::Dot)?) } else { None };
    let mut read = [Rate::new(0.0, 0.0); 4];
    for (level, rate) in read.iter_mut().enumerate() {
        next();
        *rate = bench.rate(|members| Limit::Read(working_set(machine, level, members, effort)))?;
    }
    next();
    let copy = bench.rate(|_| Limit::Copy)?;
    next();
    let triad = bench.rate(|_| Limit::Triad)?;
    let mut rates = Rates { members, fma, dot, read, copy, triad, ..Rates::estimate(fma.core, members) };
    next();
    let seen = bench.lost(&read)?;
    rates.lost = seen.map(|(_, lost)| lost);
    let left = bench.left_alone(&rates)?;
    // While the bytes were read, others brought some, too: what they bring and what is lost without them follow from each other.
    for _ in 0..3 {
        rates.others = left.others(&rates, machine.l3 as f64);
        rates.lost = without_others(&seen, rates.others);
    }
    next();
    rates.barrier = bench.barrier();
    next();
    (rates.launch, rates.run) = bench.calls()?;
    next();
    rates.cold = bench.cold()?;
    next();
    rates.disk = folder.and_then(|f| disk(f, effort).ok().flatten());
    Ok(rates)
}

fn scaled(rate: Rate, by: f64) -> Rate {
    Rate::new(rate.core * by, rate.team * by)
}

/// A working set that lies in a level and in none nearer.
fn working_set(machine: &Machine, level: usize, members: usize, effort: Effort) -> usize {
    let (l1, l2, l3) = (machine.l1 as usize, machine.l2 as usize, machine.l3 as usize);
    match level {
        0 => l1 / 2 * members,
        1 => l2 / 2 * members,
        2 => (l3 / 8).max(2 * l2 * members).min(l3 / 2),
        _ if effort == Effort::Quick => (2 * l3).max(64 << 20),
        _ => (4 * l3).max(256 << 20),
    }
}

impl Bench<'_> {
    /// A limit on one core and on all; which, by the number of members.
    fn rate(&mut self, limit: impl Fn(usize) -> Limit) -> Result<Rate> {
        let mut rates = [0.0; 2];
        for (n, rate) in rates.iter_mut().enumerate() {
            let limit = limit(self.teams[n].members());
            let mut blocks = Vec::with_capacity(self.blocks);
            for _ in 0..self.blocks {
                blocks.push(self.limits[n].measure(limit)?.median);
            }
            *rate = median(blocks);
        }
        Ok(Rate::new(rates[0], rates[1]))
    }

    /// At each of [`LOST_AT`]: the rate at which so many bytes are read again and again, and the part of them that has left the last level meanwhile.
    fn lost(&mut self, read: &[Rate; 4]) -> Result<[(f64, f64); LOST_AT.len()]> {
        let mut seen = [(0.0, 0.0); LOST_AT.len()];
        let mut least = 0.0;
        for (at, seen) in LOST_AT.into_iter().zip(&mut seen) {
            let bytes = (at * self.machine.l3 as f64) as usize;
            let mut blocks = Vec::with_capacity(self.blocks);
            for _ in 0..self.blocks {
                blocks.push(self.limits[0].measure(Limit::Read(bytes))?.median);
            }
            let rate = median(blocks);
            // More bytes lose no less.
            least = from_memory(rate, read).max(least);
            *seen = (rate, least);
        }
        Ok(seen)
    }

    /// How much of what nobody touches for a while has left the last level then: so long that much has, but not all.
    fn left_alone(&mut self, rates: &Rates) -> Result<LeftAlone> {
        const WAITS: [f64; 3] = [0.016, 0.004, 0.001];
        const MUCH: f64 = 0.8;
        let bytes = self.machine.l3 as f64 / 8.0;
        let mut left = LeftAlone { bytes, wait: WAITS[0], lost: 0.0 };
        for wait in WAITS {
            let mut blocks = Vec::with_capacity(self.blocks);
            for _ in 0..self.blocks {
                blocks.push(self.limits[0].read_after(bytes as usize, wait)?);
            }
            left = LeftAlone { bytes, wait, lost: from_memory(median(blocks), &rates.read) };
            if left.lost < MUCH {
                break;
            }
        }
        Ok(left)
    }

    /// Seconds that a barrier of the whole team takes.
    fn barrier(&self) -> f64 {
        const EACH: usize = 2000;
        let once = || {
            let start = Instant::now();
            self.teams[1].run(|member| {
                for _ in 0..EACH {
                    member.barrier();
                }
            });
            start.elapsed().as_secs_f64() / EACH as f64
        };
        once();
        median((0..self.blocks).map(|_| once()).collect())
    }

    /// Seconds that one more step takes in a plan, and a run besides its steps.
    fn calls(&self) -> Result<(f64, f64)> {
        let few = self.plan_of(1, Body::Short)?.seconds(self)?;
        let many = self.plan_of(STEPS, Body::Short)?.seconds(self)?;
        let step = ((many - few) / (STEPS - 1) as f64).max(1e-10);
        Ok((step, (few - step).max(1e-9)))
    }

    /// Seconds more that a step takes if its code and operands have left the caches, for kernels of some length.
    fn cold(&mut self) -> Result<f64> {
        let sweep = 2 * self.machine.l3 as usize;
        let (mut few, mut many) = (self.plan_of(1, Body::Long)?, self.plan_of(STEPS, Body::Long)?);
        let near = many.seconds(self)? - few.seconds(self)?;
        let mut far = Vec::new();
        for _ in 0..self.blocks {
            let mut after = |plan: &mut Small| {
                self.limits[0].read_after(sweep, 0.0)?;
                plan.run(1)
            };
            let (few, many) = (after(&mut few)?, after(&mut many)?);
            far.push(many - few);
        }
        Ok(((median(far) - near) / (STEPS - 1) as f64).max(1e-9))
    }

    /// A plan of so many steps on a few elements each, whose kernels differ.
    fn plan_of(&self, steps: usize, body: Body) -> Result<Small> {
        let (size, function) = match body {
            Body::Short => (1, "neg"),
            // Vectors, and what does not fill one.
            Body::Long => (37, "tanh"),
        };
        let port = |side: &str, n: usize| format!("{side}{n}: f32[{size}]");
        let list = |make: &dyn Fn(usize) -> String| (0..steps).map(make).collect::<Vec<String>>().join(", ");
        let step = |n: usize| {
            let factor = n + 2;
            format!(
                "%c{n}: f32[] = constant {factor}.0 %b{n} = broadcast %c{n} {{shape = [{size}], axes = []}} \
                 %m{n} = mul %x{n}, %b{n} %y{n} = {function} %m{n} "
            )
        };
        let text = format!(
            "lawson 1 graph @calls({}) -> ({}) {{ {} return {} }}",
            list(&|n| port("%x", n)),
            list(&|n| port("y", n)),
            (0..steps).map(step).collect::<String>(),
            list(&|n| format!("%y{n}")),
        );
        let plan = compile(&Graph::parse(&text)?, self.machine)?;
        let executable = Arc::new(Executable::new(plan, steps, steps, self.isa, &self.teams[0])?);
        let instance = executable.instance(&Bindings::new(), &self.teams[0])?;
        let (inputs, outputs) = (vec![vec![0u8; 4 * size]; steps], vec![vec![0u8; 4 * size]; steps]);
        Ok(Small { instance, inputs, outputs })
    }
}

/// So many bytes were left alone for so many seconds, and this part of them was lost.
struct LeftAlone {
    bytes: f64,
    wait: f64,
    lost: f64,
}

impl LeftAlone {
    /// Bytes a second that others bring into the last level.
    fn others(&self, rates: &Rates, level: f64) -> f64 {
        (rates.lost_after(self.lost, level) - self.bytes).max(0.0) / self.wait
    }
}

/// What is lost at each of [`LOST_AT`] by what is touched itself, from what was seen there while others brought so many bytes a second.
fn without_others(seen: &[(f64, f64); LOST_AT.len()], others: f64) -> [f64; LOST_AT.len()] {
    let points = LOST_AT.into_iter().zip(seen).map(|(at, (rate, lost))| (at * (1.0 + others / rate), *lost));
    LOST_AT.map(|at| {
        let (mut from, mut before) = (0.0, 0.0);
        for (to, lost) in points.clone() {
            if at <= to {
                return before + (lost - before) * (at - from) / (to - from);
            }
            (from, before) = (to, lost);
        }
        before
    })
}

/// The part of some bytes that comes from memory, by the rate at which all are read.
fn from_memory(rate: f64, read: &[Rate; 4]) -> f64 {
    let [.., near, far] = read.map(|r| 1.0 / r.core);
    if far <= near {
        return 0.0;
    }
    ((1.0 / rate - near) / (far - near)).clamp(0.0, 1.0)
}

/// Steps of the plan by which calls are measured.
const STEPS: usize = 16;

/// What the kernels of such a plan are.
#[derive(Clone, Copy)]
enum Body {
    /// A few instructions.
    Short,
    /// A function, as kernels of models have them.
    Long,
}

/// A plan of small steps, with memory for it.
struct Small {
    instance: Instance,
    inputs: Vec<Vec<u8>>,
    outputs: Vec<Vec<u8>>,
}

impl Small {
    /// Seconds of so many runs.
    fn run(&mut self, runs: u32) -> Result<f64> {
        let options = interp::Options::default();
        let start = Instant::now();
        for _ in 0..runs {
            let given = black_box(&self.inputs).iter().map(|b| &b[..]);
            self.instance.run(given, self.outputs.iter_mut().map(|b| &mut b[..]), &options)?;
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// Seconds of a run.
    fn seconds(&mut self, bench: &Bench<'_>) -> Result<f64> {
        let runs = if bench.effort == Effort::Quick { 500 } else { 5000 };
        let mut times = Vec::with_capacity(bench.blocks);
        for _ in 0..bench.blocks {
            times.push(self.run(runs)? / f64::from(runs));
        }
        Ok(median(times))
    }
}

/// Bytes a second that are read from the disk of a folder, past the system's cache; `None` where that cannot be bypassed.
fn disk(folder: &Path, effort: Effort) -> std::io::Result<Option<f64>> {
    let path = folder.join(format!(".measure-{}", std::process::id()));
    let result = read_rate(&path, effort);
    let _ = std::fs::remove_file(&path);
    result
}

fn read_rate(path: &Path, effort: Effort) -> std::io::Result<Option<f64>> {
    const CHUNK: usize = 4 << 20;
    let chunks = if effort == Effort::Quick { 8 } else { 64 };
    let mut memory = Memory::zeroed(CHUNK).map_err(std::io::Error::other)?;
    let mut file = File::create(path)?;
    for n in 0..chunks {
        memory.as_mut_slice().fill(n as u8 + 1);
        file.write_all(memory.as_slice())?;
    }
    file.sync_all()?;
    drop(file);
    let Ok(mut file) = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path) else {
        return Ok(None);
    };
    let start = Instant::now();
    for _ in 0..chunks {
        file.read_exact(&mut memory.as_mut_slice()[..CHUNK])?;
    }
    Ok(Some((chunks * CHUNK) as f64 / start.elapsed().as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_at_a_rate_between_two_levels_comes_from_both() {
        // Times of 1 and 3 for what is near and far, and of 2 for half of each: all without rounding.
        let [near, far] = [1.0, 1.0 / 3.0].map(|rate| Rate::new(rate, rate));
        let read = [near, near, near, far];
        assert_eq!([1.0, 1.0 / 3.0, 0.5].map(|rate| from_memory(rate, &read)), [0.0, 1.0, 0.5]);
    }

    #[test]
    fn others_are_found_by_what_they_took() {
        // Half is lost when as much as the level holds has been touched.
        let rates = Rates { lost: [0.125, 0.25, 0.375, 0.5, 0.75, 1.0], ..Rates::estimate(1e9, 1) };
        let left = LeftAlone { bytes: 100.0, wait: 2.0, lost: 0.25 };
        assert_eq!(left.others(&rates, 1000.0), 200.0);
        // What others brought while all was read is not what reading itself took.
        let seen = rates.lost.map(|lost| (10.0, lost));
        assert_eq!(without_others(&seen, 0.0), rates.lost);
        let own = without_others(&seen, 10.0);
        assert!((own[3] - 0.25).abs() < 1e-12 && (own[5] - 0.5).abs() < 1e-12, "{own:?}");
    }
}

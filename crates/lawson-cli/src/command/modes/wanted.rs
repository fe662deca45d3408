//! What is asked for: points, modes, and how long each may take.

use super::place::Place;
use crate::args::{BenchArgs, Mode};
use clap::ValueEnum;
use lawson::{Code, Error, Result};
use std::fmt;

/// A list's depth and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point {
    /// How many entries, the two transfers included.
    pub depth: usize,
    /// The columns of every matrix between the operators.
    pub size: usize,
}

/// What is asked for.
pub struct Wanted {
    /// Without repetitions: those of one depth by size first, then those of one size by depth.
    pub points: Vec<Point>,
    pub batch: usize,
    pub seed: u64,
    /// How often a call runs the list.
    pub iterations: u64,
    /// The most calls that are timed.
    pub samples: usize,
    /// For how long a mode is timed at a point.
    pub seconds: f64,
    modes: Vec<Mode>,
    /// Whether the modes were named.
    named: bool,
    pub quick: bool,
}

/// The depth at which sizes are compared, and the size at which depths are.
const DEPTH: usize = 64;
const SIZE: usize = 256;
const DEPTHS: &[usize] = &[4, 8, 16, 32, 64, 128];
const SIZES: &[usize] = &[4, 16, 64, 256, 1024, 4096];
const QUICK_DEPTHS: &[usize] = &[4, 16, 64];
const QUICK_SIZES: &[usize] = &[4, 64, 256];

impl Wanted {
    pub fn of(args: &BenchArgs) -> Result<Wanted> {
        let lists = &args.lists;
        let positive = |flag: &str, least: usize, given: &[usize], help: &str| match given.iter().min() {
            Some(n) if *n < least => {
                Err(Error::new(Code::Usage, format!("--{flag} {n}: expected at least {least}")).help(help))
            }
            _ => Ok(()),
        };
        positive(
            "depth",
            3,
            &lists.depth,
            "the depth counts the two transfers, and one operator stands between them",
        )?;
        positive("size", 1, &lists.size, "a matrix has at least one column")?;
        positive("batch", 1, &[lists.batch], "an input has at least one row")?;
        positive("samples", 1, lists.samples.as_slice(), "a median needs a call")?;
        positive(
            "iterations",
            1,
            &lists.iterations.map(|n| n as usize).into_iter().collect::<Vec<_>>(),
            "a call runs the list once or more",
        )?;
        let (depths, sizes) = if lists.quick { (QUICK_DEPTHS, QUICK_SIZES) } else { (DEPTHS, SIZES) };
        let mut points = Vec::new();
        let (ds, ss) = (sorted(&lists.depth), sorted(&lists.size));
        match (ds.as_slice(), ss.as_slice()) {
            ([], []) => {
                points.extend(sizes.iter().map(|size| Point { depth: DEPTH, size: *size }));
                let across = depths.iter().map(|depth| Point { depth: *depth, size: SIZE });
                points.extend(across.filter(|p| p.depth != DEPTH));
            }
            (ds, []) => points.extend(ds.iter().map(|depth| Point { depth: *depth, size: SIZE })),
            ([], ss) => points.extend(ss.iter().map(|size| Point { depth: DEPTH, size: *size })),
            (ds, ss) => {
                points.extend(ds.iter().flat_map(|d| ss.iter().map(|s| Point { depth: *d, size: *s })));
            }
        }
        let wanted = Wanted {
            points,
            batch: lists.batch,
            seed: args.input.seed,
            iterations: lists.iterations.unwrap_or(if lists.quick { 4 } else { 10 }),
            samples: lists.samples.unwrap_or(if lists.quick { 5 } else { 10 }),
            seconds: args.seconds.unwrap_or(if lists.quick { 0.3 } else { 2.0 }),
            modes: if lists.modes.is_empty() { Mode::value_variants().to_vec() } else { lists.modes.clone() },
            named: !lists.modes.is_empty(),
            quick: lists.quick,
        };
        if lists.plots.is_some() && wanted.by_size().len().max(wanted.by_depth().len()) < 2 {
            return Err(Error::new(Code::Usage, "a plot needs two sizes or two depths")
                .help("name more with --size or --depth, or leave them out"));
        }
        Ok(wanted)
    }

    /// The points of the depth that has the most sizes, by size.
    pub fn by_size(&self) -> Vec<Point> {
        self.across(|p| p.depth, |p| p.size)
    }

    /// The points of the size that has the most depths, by depth.
    pub fn by_depth(&self) -> Vec<Point> {
        self.across(|p| p.size, |p| p.depth)
    }

    fn across(&self, fixed: impl Fn(Point) -> usize, moving: impl Fn(Point) -> usize) -> Vec<Point> {
        let points = &self.points;
        let count = |value: usize| points.iter().filter(|p| fixed(**p) == value).count();
        let most = points.iter().map(|p| fixed(*p)).max_by_key(|v| (count(*v), *v));
        let mut line: Vec<Point> = points.iter().copied().filter(|p| Some(fixed(*p)) == most).collect();
        line.sort_by_key(|p| moving(*p));
        line
    }

    /// The modes that a place runs, in the order of their declaration.
    pub fn modes_on(&self, place: &Place) -> impl Iterator<Item = Mode> {
        let on_device = place.devices.is_some();
        let modes = Mode::value_variants().iter().copied();
        modes.filter(move |m| self.modes.contains(m) && runs(*m, on_device))
    }

    /// Whether every mode that was named has a place to run.
    pub fn check_modes(&self, places: &[Place]) -> Result<()> {
        if !self.named {
            return Ok(());
        }
        let lost = self.modes.iter().find(|m| places.iter().all(|p| !self.modes_on(p).any(|n| n == **m)));
        let Some(mode) = lost else { return Ok(()) };
        let message = format!("no device that is asked for runs the mode {}", mode.name());
        Err(Error::new(Code::Usage, message).help(match runs(*mode, false) {
            true => "it is one of the processor: say --device cpu, or leave --device out",
            false => "it is one of adapters: `lawson devices` lists them; leave --device out to run on all",
        }))
    }
}

/// Whether a mode is one of devices, or one of the processor.
fn runs(mode: Mode, on_device: bool) -> bool {
    match mode {
        Mode::Cpu | Mode::CpuGraph | Mode::CpuGraphFused => !on_device,
        Mode::LoopOnDevice => true,
        _ => on_device,
    }
}

fn sorted(given: &[usize]) -> Vec<usize> {
    let mut all = given.to_vec();
    all.sort_unstable();
    all.dedup();
    all
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "depth {}, size {}", self.depth, self.size)
    }
}

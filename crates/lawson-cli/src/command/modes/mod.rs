//! `lawson bench` without a file: random lists of operators in every mode on every device.
//!
//! In: arguments; out: a table, a CSV file, JSON, two plots, and what the numbers mean. For each point, a depth and a size, `subject.rs`
//! makes a list and asks the oracle about it (`oracle.rs`), `runner.rs` makes ready what each mode runs, and here the modes are checked and then timed in
//! turns, so that a slow minute of the machine is everybody's. `wanted.rs` says which points there are, `place.rs` which devices;
//! `report.rs` and `meaning.rs` say what was found, `stream.rs` as soon as it was, and `chart.rs` draws it.

mod chart;
mod meaning;
mod oracle;
mod place;
mod report;
mod runner;
mod stream;
mod subject;
mod wanted;

use super::steps;
use crate::args::{BenchArgs, Mode};
use crate::quantity::{bytes, measured};
use crate::report::{Outcome, Reporter};
use indicatif::{ProgressBar, ProgressStyle};
use lawson::kernel::machine::Machine;
use lawson::{Code, Error, Result};
use place::Place;
use runner::{Counted, Runner, Shared};
use std::collections::HashMap;
use std::io::Write;
use std::time::Instant;
use stream::Stream;
use subject::Subject;
use wanted::{Point, Wanted};

/// What one mode took on one device at one point. Times are seconds an iteration; counts are an iteration's.
struct Row {
    mode: Mode,
    /// The number of its place.
    place: usize,
    point: Point,
    /// Shortest first; not empty.
    samples: Vec<f64>,
    /// The greatest distance from the oracle, relative to its greatest element.
    error: f64,
    /// Kernels that were started.
    launches: f64,
    /// Lists of commands that a device was handed; none on the processor.
    submissions: Option<f64>,
    /// Bytes that kernels read and write at least.
    bytes: f64,
    /// Bytes between the host and the device, both ways; none on the processor.
    transferred: Option<f64>,
}

/// What was not run, and why.
struct LeftOut {
    mode: Option<Mode>,
    place: Option<usize>,
    point: Point,
    why: String,
}

/// Everything that was found.
struct Found {
    wanted: Wanted,
    places: Vec<Place>,
    rows: Vec<Row>,
    left_out: Vec<LeftOut>,
}

/// How far a result may be from the oracle, relative to the oracle's greatest element.
const TOLERANCE: f64 = 1e-4;
/// A mode of which a call takes more than so many times the time of a mode is left out.
const PATIENCE: f64 = 10.0;
/// Samples that are taken even if they take longer than the time of a mode.
const LEAST: usize = 3;
/// Samples last at least so long, in seconds, unless they would be the mean of more than so many calls.
const TICK: f64 = 1e-3;
const MOST_CALLS: f64 = 1000.0;

pub fn run(args: &BenchArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let wanted = Wanted::of(args)?;
    let places = place::find(args.device.as_deref(), reporter)?;
    wanted.check_modes(&places)?;
    check_destinations(args)?;
    let machine = steps::machine(reporter, None, None)?;
    let mut bench = Bench {
        bar: bar(reporter, &wanted, &places),
        found: Found { wanted, places, rows: Vec::new(), left_out: Vec::new() },
        machine,
        too_long: HashMap::new(),
    };
    let mut stream = Stream::new(out, reporter.json, args.lists.csv.as_deref())?;
    stream.begin(&bench.found)?;
    for point in bench.found.wanted.points.clone() {
        bench.point(point)?;
        bench.bar.suspend(|| stream.rows(&bench.found))?;
    }
    bench.bar.finish_and_clear();
    let found = bench.found;
    // What was measured is said before anything else can fail.
    stream.end(&found)?;
    let plots = args.lists.plots.as_ref().map(|folder| chart::write(&found, folder));
    stream.wrote(plots.transpose()?.unwrap_or_default())
}

/// Whether files can go where they are asked for, as far as that can be known before there is anything to write.
fn check_destinations(args: &BenchArgs) -> Result<()> {
    if let Some(folder) = &args.lists.plots {
        chart::make_folder(folder)?;
    }
    let beside = args.lists.csv.as_ref().and_then(|path| path.parent()).filter(|p| !p.as_os_str().is_empty());
    match beside.filter(|folder| !folder.is_dir()) {
        Some(folder) => Err(Error::new(Code::Io, "the folder of --csv is not there")
            .at(lawson::Place::File(folder.display().to_string()))
            .help("make it, or name a file in another folder")),
        None => Ok(()),
    }
}

fn bar(reporter: &Reporter, wanted: &Wanted, places: &[Place]) -> ProgressBar {
    let modes: usize = places.iter().map(|p| wanted.modes_on(p).count()).sum();
    let total = (modes * wanted.points.len()) as u64;
    let bar = if reporter.json { ProgressBar::hidden() } else { ProgressBar::new(total) };
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {elapsed} {msg}") {
        bar.set_style(style);
    }
    bar
}

struct Bench {
    found: Found,
    machine: Machine,
    bar: ProgressBar,
    /// The least work for which a mode took too long on a place, and the point at which that was.
    too_long: HashMap<(Mode, usize), (f64, Point)>,
}

/// A mode that was checked and is ready to be timed.
struct Ready {
    runner: Runner,
    error: f64,
    /// How many calls a sample is the mean of, and how many samples there will be.
    batch: usize,
    wanted: usize,
    /// Seconds an iteration.
    samples: Vec<f64>,
    counted: Option<Counted>,
}

impl Ready {
    /// Takes a sample, and counts what the device is given to do.
    fn sample(&mut self, subject: &Subject) -> Result<()> {
        let before = self.runner.counts();
        let start = Instant::now();
        for _ in 0..self.batch {
            self.runner.run(&subject.x, subject.iterations)?;
        }
        let seconds = start.elapsed().as_secs_f64();
        self.samples.push(seconds / (subject.iterations as f64 * self.batch as f64));
        self.counted = Some(self.runner.counted(before, subject.iterations, self.batch)?);
        Ok(())
    }
}

impl Bench {
    fn point(&mut self, point: Point) -> Result<()> {
        let begun = self.bar.position();
        let modes: Vec<(Mode, usize)> = (0..self.found.places.len())
            .flat_map(|n| self.found.wanted.modes_on(&self.found.places[n]).map(move |m| (m, n)))
            .collect();
        self.bar.set_message(format!("{point}: the oracle"));
        match self.subject(point) {
            Ok(subject) => self.modes(point, &modes, &subject)?,
            Err(why) => self.left_out(None, None, point, why),
        }
        self.bar.set_position(begun + modes.len() as u64);
        Ok(())
    }

    fn left_out(&mut self, mode: Option<Mode>, place: Option<usize>, point: Point, why: String) {
        self.found.left_out.push(LeftOut { mode, place, point, why });
    }

    /// The list of a point, unless it does not fit.
    fn subject(&self, point: Point) -> std::result::Result<Subject, String> {
        let places = self.found.places.len();
        let most = lawson::cpu::available_memory();
        let needed = subject::most_bytes(point, places);
        if let Some(most) = most.filter(|most| needed > *most as f64) {
            let [needed, most] = [needed, most as f64].map(bytes);
            return Err(format!("its weights in all modes may take {needed}, and {most} are left"));
        }
        let wanted = &self.found.wanted;
        Subject::new(point, wanted).map_err(|e| e.message().to_string())
    }

    fn modes(&mut self, point: Point, modes: &[(Mode, usize)], subject: &Subject) -> Result<()> {
        let mut ready: Vec<(usize, Ready)> = Vec::new();
        let mut shared = Shared::default();
        for (mode, place) in modes.iter().copied() {
            let name = self.found.places[place].name.clone();
            self.bar.set_message(format!("{point}: {} on {name}", mode.name()));
            match self.make_ready(mode, place, point, subject, &mut shared) {
                Ok(one) => ready.push((place, one)),
                Err(why) if why.is_internal() => return Err(why),
                Err(why) => self.left_out(Some(mode), Some(place), point, why.message().to_string()),
            }
            self.bar.inc(1);
        }
        self.bar.set_message(format!("{point}: timing"));
        let rounds = ready.iter().map(|(_, r)| r.wanted).max().unwrap_or(0);
        for round in 0..rounds {
            // Each round begins with another mode.
            let count = ready.len();
            for n in 0..count {
                let (_, one) = &mut ready[(n + round) % count];
                if one.samples.len() < one.wanted {
                    one.sample(subject)?;
                }
            }
        }
        for (place, mut one) in ready {
            one.samples.sort_by(f64::total_cmp);
            let counts = one.counted.ok_or_else(|| Error::internal("a mode without samples"))?;
            self.found.rows.push(Row {
                mode: one.runner.mode,
                place,
                point,
                error: one.error,
                launches: counts.launches,
                submissions: counts.submissions,
                bytes: counts.bytes,
                transferred: counts.transferred,
                samples: one.samples,
            });
        }
        Ok(())
    }

    /// Compiles what a mode runs, checks what it gives, and finds out how often it can be called.
    fn make_ready(
        &mut self,
        mode: Mode,
        place: usize,
        point: Point,
        subject: &Subject,
        shared: &mut Shared,
    ) -> Result<Ready> {
        if let Some((_, before)) = self.too_long.get(&(mode, place)).filter(|(work, _)| subject.work >= *work)
        {
            let message = format!("calls took too long at {before} already");
            return Err(Error::new(Code::Budget, message));
        }
        let seconds = self.found.wanted.seconds;
        let mut runner = Runner::new(mode, &self.found.places[place], subject, &self.machine, shared)?;
        let mut error: f64 = 0.0;
        let mut calls = Vec::new();
        for (times, expected) in &subject.expected {
            let start = Instant::now();
            let result = runner.run(&subject.x, *times)?;
            calls.push((*times, start.elapsed().as_secs_f64()));
            let off = subject::distance(expected, &result)?;
            error = if off.is_nan() { off } else { error.max(off) };
            let call = expected_call(&calls, subject.iterations);
            if call > PATIENCE * seconds {
                self.too_long.insert((mode, place), (subject.work, point));
                let message = format!(
                    "a call takes {} or more, and --seconds {seconds} has patience for {}",
                    measured(call, "s"),
                    measured(PATIENCE * seconds, "s")
                );
                return Err(Error::new(Code::Budget, message));
            }
        }
        // What is not a number is no distance at all.
        if error.is_nan() || error > TOLERANCE {
            return Err(Error::internal(format!(
                "{} on {} is off by {error:.1e} of the oracle's greatest element at {point}, and {TOLERANCE:.0e} is allowed",
                mode.name(),
                self.found.places[place].name
            )));
        }
        // The calls above warmed up.
        let call = expected_call(&calls, subject.iterations).max(1e-9);
        let batch = (TICK / call).ceil().clamp(1.0, MOST_CALLS) as usize;
        let samples = ((seconds / (call * batch as f64)) as usize).max(LEAST).min(self.found.wanted.samples);
        Ok(Ready { runner, error, batch, wanted: samples, samples: Vec::new(), counted: None })
    }
}

/// What a call of so many iterations takes at least, from calls of fewer: what the last one took, and for the rest what its iterations after the first did.
fn expected_call(calls: &[(u64, f64)], iterations: u64) -> f64 {
    match calls {
        [] => 0.0,
        [(_, only)] => *only,
        [(few, short), .., (more, long)] => {
            let each = (long - short).max(0.0) / (more - few).max(1) as f64;
            long + each * iterations.saturating_sub(*more) as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::expected_call;

    #[test]
    fn what_is_done_once_a_call_is_not_counted_for_each_iteration() {
        // Compiling takes 5, an iteration 1.
        assert_eq!(expected_call(&[(1, 6.0), (3, 8.0)], 10), 15.0);
        assert_eq!(expected_call(&[(1, 6.0)], 10), 6.0);
        // A first run that is slow says nothing of those after it.
        assert_eq!(expected_call(&[(1, 9.0), (3, 4.0)], 10), 4.0);
    }
}

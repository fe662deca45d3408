//! `lawson fuzz`: random graphs on a target, in processes of their own, against the oracle; failures are shrunk and kept.
//!
//! `watch.rs` starts the processes, which judge (`worker.rs`), and hears what they say; `tally.rs` counts it and tells it in the end. A
//! failure is kept whole when it is found, and shrunk when the time is up or all graphs are judged, in the order of seeds: what is found
//! does not depend on how many processes there are.

mod tally;
mod watch;
mod worker;

use super::apart::Apart;
use super::reduce::command;
use super::trial::{CRASH, Found, HANG, Judged, Trial, silently};
use crate::Run;
use crate::args::{FuzzArgs, Target};
use crate::report::{BUG, Failure, Outcome, Reporter};
use indicatif::{ProgressBar, ProgressStyle};
use lawson::fuzz::{Cases, random_case};
use lawson::reduce::{Case, Effort};
use lawson::{Code, Error, Result};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tally::Tally;
use watch::Said;

/// Failures of one kind are shrunk so many times; more of them are counted.
const SHRUNK: usize = 3;
const EFFORT: Effort = Effort { tries: 3000, time: Duration::from_secs(60) };

pub fn run(args: &FuzzArgs, planted: Option<Run>, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let trial = Trial { args: &args.trial, limits: None, planted };
    let mut judge = trial.judge()?;
    if let Some(step) = args.worker {
        return silently(|| worker::work(args, step.max(1), &mut judge, out));
    }
    let time = Duration::try_from_secs_f64(args.seconds)
        .map_err(|_| Error::new(Code::Usage, "--seconds is a number that is not negative"))?;
    if args.jobs == 0 {
        return Err(Error::new(Code::Usage, "--jobs is at least 1").into());
    }
    // A machine that cannot run the target is no finding.
    if let Some(feature) = args.trial.isa.and_then(|isa| isa.to_cpu().missing())
        && args.trial.target == Target::Cpu
    {
        let message = format!("--isa needs {feature}, which this processor does not have");
        return Err(Error::new(Code::NotLowered, message).help("leave out --isa").into());
    }
    let mut fuzz = Fuzz { args, trial, tally: Tally::default(), failures: Vec::new(), bar: bar(reporter) };
    let start = Instant::now();
    let (options, patience) = (fuzz.trial.options(), fuzz.trial.patience()?);
    watch::watch(args, &options, patience, start + time, &mut |said| fuzz.hear(said))?;
    let took = start.elapsed();
    fuzz.shrink()?;
    fuzz.bar.finish_and_clear();
    fuzz.tally.report(&fuzz.failures, took, reporter, out)?;
    if fuzz.failures.is_empty() { Ok(()) } else { Err(Failure::Said(BUG)) }
}

fn bar(reporter: &Reporter) -> ProgressBar {
    let bar = if reporter.json { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
        bar.set_style(style);
    }
    bar
}

/// A failure.
struct Kept {
    seed: u64,
    run: usize,
    /// Whether it is of the part of the graph that the target takes.
    part: bool,
    found: Found,
    /// Where it is, for what was not only counted.
    small: Option<Small>,
}

/// A failure in files.
struct Small {
    nodes: usize,
    law: PathBuf,
    /// How to see it again.
    again: String,
}

struct Fuzz<'a> {
    args: &'a FuzzArgs,
    trial: Trial<'a>,
    tally: Tally,
    failures: Vec<Kept>,
    bar: ProgressBar,
}

impl Fuzz<'_> {
    fn hear(&mut self, said: Said) -> Result<()> {
        let seed = said.seed;
        self.tally.add(&said);
        if let Judged::Failed(found) = said.judged {
            self.bar.set_message(format!("seed {seed} fails: {}", found.kind.as_str()));
            let mut failure = Kept { seed, run: said.run, part: said.part, found, small: None };
            if self.of_kind(&failure).count() < SHRUNK {
                let case = self.cases(&failure)?.case(failure.run);
                failure.small = case.map(|case| self.write(&case, &failure)).transpose()?;
            }
            self.failures.push(failure);
        }
        self.bar.set_message(self.tally.progress(self.failures.len(), self.bar.elapsed()));
        self.bar.tick();
        Ok(())
    }

    fn of_kind(&self, failure: &Kept) -> impl Iterator<Item = &Kept> {
        self.failures.iter().filter(|f| f.found.kind == failure.found.kind)
    }

    /// Shrinks the first failures of each kind. What was kept of others goes: which were found first is chance.
    fn shrink(&mut self) -> Result<()> {
        self.failures.sort_by_key(|f| f.seed);
        for n in 0..self.failures.len() {
            let failure = &self.failures[n];
            let before = self.failures[..n].iter().filter(|f| f.found.kind == failure.found.kind).count();
            let small = if before < SHRUNK {
                self.bar.set_message(format!("shrinking seed {}: {}", failure.seed, failure.found.text));
                self.bar.tick();
                self.smallest(failure)?
            } else {
                for file in failure.small.iter().flat_map(|s| [s.law.clone(), s.law.with_extension("npz")]) {
                    let _ = std::fs::remove_file(file);
                }
                None
            };
            self.failures[n].small = small;
        }
        Ok(())
    }

    /// The graph of a seed, or the part of it that the target takes, with all its inputs.
    fn cases(&self, failure: &Kept) -> Result<Cases> {
        let cases = random_case(failure.seed)?;
        if !failure.part {
            return Ok(cases);
        }
        let judge = self.trial.judge()?;
        Ok(silently(|| worker::accepted(&judge, &cases)).unwrap_or(cases))
    }

    fn smallest(&self, failure: &Kept) -> Result<Option<Small>> {
        let cases = self.cases(failure)?;
        let mut apart = Apart::new(&self.trial)?;
        // A crash does not say with which inputs; and a failure with some of them may need those before.
        let ends = [CRASH, HANG].contains(&failure.found.kind.as_str());
        let runs = if ends { 0..cases.runs.len() } else { failure.run..failure.run + 1 };
        let mut fails = None;
        for case in runs.filter_map(|run| cases.case(run)) {
            if matches!(apart.judge(&case)?, Judged::Failed(f) if f.kind == failure.found.kind) {
                fails = Some(case);
                break;
            }
        }
        let small = match fails {
            Some(case) => self.trial.shrink(case, &failure.found, &EFFORT)?.case,
            // As it is, for a look at it.
            None => match cases.case(failure.run) {
                Some(case) => case,
                None => return Ok(None),
            },
        };
        self.write(&small, failure).map(Some)
    }

    fn write(&self, case: &Case, failure: &Kept) -> Result<Small> {
        let keep = &self.args.keep;
        std::fs::create_dir_all(keep).map_err(|e| {
            Error::new(Code::Io, format!("cannot make the folder {}: {e}", keep.display()))
                .help("--keep FOLDER says where failures are kept")
        })?;
        let law = keep.join(format!("{}.law", failure.seed));
        let npz = law.with_extension("npz");
        let again = command(&law, &npz, &self.trial);
        let first = failure.found.text.lines().next().unwrap_or_default();
        case.write(&law, &npz, &format!("seed {}: {first}\n{again}", failure.seed))?;
        Ok(Small { nodes: case.graph.total_nodes(), law, again })
    }
}

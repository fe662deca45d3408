//! `lawson fuzz`: random graphs on a target, in processes of their own, against the oracle; failures are shrunk and kept.
//!
//! A worker is this program with `--worker`: it says the seed that it begins with and what became of it, a line each, so that a
//! crash is known by its seed. Workers that crash or hang are started again behind that seed.

use super::reduce::command;
use super::trial::{Found, PATIENCE, Workplace, silently, this, write_case};
use crate::args::FuzzArgs;
use crate::report::{BUG, Failure, Outcome, Reporter};
use indicatif::{ProgressBar, ProgressStyle};
use lawson::fuzz::{Cases, FailureKind, Judge, Verdict, random_case};
use lawson::opt::Pipeline;
use lawson::reduce::{Case, Effort};
use lawson::{Code, Error, Result};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

pub fn run(args: &FuzzArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let trial = &args.trial;
    let mut judge = trial.judge()?;
    if let Some(step) = args.worker {
        return silently(|| work(args, step.max(1), &mut judge, out));
    }
    // A machine that cannot run the target is no finding.
    if let Some(feature) = lawson::cpu::missing_feature().filter(|_| trial.target == crate::args::Target::Cpu)
    {
        let message = format!("the CPU target needs {feature}, which this processor does not have");
        return Err(Error::new(Code::NotLowered, message).into());
    }
    let time = Duration::try_from_secs_f64(args.seconds)
        .map_err(|_| Error::new(Code::Usage, "--seconds is a number that is not negative"))?;
    if args.jobs == 0 {
        return Err(Error::new(Code::Usage, "--jobs is at least 1").into());
    }
    let mut fuzz = Fuzz { args, tally: Tally::default(), failures: Vec::new(), bar: bar(reporter) };
    let start = Instant::now();
    fuzz.supervise(start + time)?;
    fuzz.bar.finish_and_clear();
    fuzz.report(start.elapsed(), reporter, out)?;
    if fuzz.failures.is_empty() { Ok(()) } else { Err(Failure::Said(BUG)) }
}

fn bar(reporter: &Reporter) -> ProgressBar {
    let bar = if reporter.json { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
        bar.set_style(style);
    }
    bar
}

/// Judges graphs and says so, until told to stop by the end of the process.
fn work(args: &FuzzArgs, step: u64, judge: &mut Judge, out: &mut dyn Write) -> Outcome {
    let count = args.count.unwrap_or(u64::MAX);
    for n in 0..count {
        let seed = args.seed.wrapping_add(n.wrapping_mul(step));
        writeln!(out, "begin {seed}")?;
        out.flush()?;
        let said = match random_case(seed).map(|cases| judged(judge, &cases)) {
            Err(e) => json!({ "seed": seed, "unknown": e.code().as_str() }),
            Ok((verdict, part)) => match verdict {
                Verdict::Fine { compared, undetermined } => {
                    json!({ "seed": seed, "compared": compared, "undetermined": undetermined, "part": part })
                }
                Verdict::Refused(e) => {
                    json!({ "seed": seed, "refused": e.code().as_str(), "message": e.message() })
                }
                Verdict::Unknown(e) => json!({ "seed": seed, "unknown": e.code().as_str() }),
                Verdict::Failed { failure, run } => json!({
                    "seed": seed, "run": run, "part": part,
                    "kind": failure.kind().as_str(), "failure": failure.to_string(),
                }),
                _ => json!({ "seed": seed, "unknown": "?" }),
            },
        };
        writeln!(out, "{said}")?;
    }
    Ok(())
}

/// The verdict on a graph, or on the part of it that the target takes; and whether it is a part.
fn judged(judge: &mut Judge, cases: &Cases) -> (Verdict, bool) {
    match judge.cases(cases) {
        Verdict::Refused(e) => match accepted(judge, cases) {
            Some(part) => (judge.cases(&part), true),
            None => (Verdict::Refused(e), false),
        },
        verdict => (verdict, false),
    }
}

/// The part of a graph that the target takes.
fn accepted(judge: &Judge, cases: &Cases) -> Option<Cases> {
    let graph = judge.accepted(&cases.graph)?;
    let graph = "dead-code".parse::<Pipeline>().ok()?.run(&graph).ok()?;
    Some(Cases { graph, runs: cases.runs.clone() })
}

/// What became of the graphs.
#[derive(Default)]
struct Tally {
    graphs: u64,
    parts: u64,
    compared: u64,
    undetermined: u64,
    /// By code: how many, and the first with its message.
    refused: BTreeMap<String, (u64, u64, String)>,
    unknown: u64,
}

/// A failure that was kept.
struct Kept {
    seed: u64,
    kind: String,
    text: String,
    /// How many nodes are left, where, and how to see it again; none for what was only counted.
    small: Option<(usize, PathBuf, String)>,
}

struct Fuzz<'a> {
    args: &'a FuzzArgs,
    tally: Tally,
    failures: Vec<Kept>,
    bar: ProgressBar,
}

/// A process that judges, and what it is at.
struct Worker {
    number: usize,
    child: Child,
    /// The seed that it began, and when.
    at: Option<(u64, Instant)>,
    next: u64,
    left: u64,
}

/// What a worker says.
enum Said {
    Line(usize, u32, String),
    Ended(usize, u32),
}

/// Failures of one kind are shrunk so many times; more of them are counted.
const SHRUNK: usize = 3;
const EFFORT: Effort = Effort { tries: 3000, time: Duration::from_secs(60) };

impl Fuzz<'_> {
    fn supervise(&mut self, until: Instant) -> Outcome {
        let (say, listen) = channel();
        let jobs = self.args.jobs as u64;
        let mut workers = Vec::new();
        for n in 0..jobs {
            let all = self.args.count.unwrap_or(u64::MAX);
            let left = all / jobs + u64::from(n < all % jobs);
            if left > 0 {
                workers.push(self.start(n as usize, self.args.seed.wrapping_add(n), left, &say)?);
            }
        }
        let done = self.listen(&mut workers, &say, &listen, until);
        for w in &mut workers {
            let _ = w.child.kill();
            let _ = w.child.wait();
        }
        done
    }

    fn start(&self, number: usize, seed: u64, left: u64, say: &Sender<Said>) -> Result<Worker> {
        let threads: Vec<String> = self.args.trial.threads.iter().map(ToString::to_string).collect();
        let mut options = self.args.trial.options();
        options.retain(|o| o != "--threads" && *o != threads.join(","));
        let mut child = Command::new(this()?)
            .arg("fuzz")
            .args(["--worker", &self.args.jobs.to_string()])
            .args(["--seed", &seed.to_string(), "--count", &left.to_string()])
            .args(["--threads", &threads.join(",")])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| Error::new(Code::Io, format!("cannot start a worker: {e}")))?;
        let id = child.id();
        if let Some(stdout) = child.stdout.take() {
            let say = say.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(std::result::Result::ok) {
                    if say.send(Said::Line(number, id, line)).is_err() {
                        return;
                    }
                }
                let _ = say.send(Said::Ended(number, id));
            });
        }
        Ok(Worker { number, child, at: None, next: seed, left })
    }

    fn listen(
        &mut self,
        workers: &mut Vec<Worker>,
        say: &Sender<Said>,
        listen: &Receiver<Said>,
        until: Instant,
    ) -> Outcome {
        while !workers.is_empty() && Instant::now() < until {
            match listen.recv_timeout(Duration::from_millis(200)) {
                Ok(Said::Line(number, id, line)) => {
                    if let Some(w) = workers.iter_mut().find(|w| w.number == number && w.child.id() == id) {
                        self.line(w, &line)?;
                    }
                }
                Ok(Said::Ended(number, id)) => {
                    let ended = workers.iter().position(|w| w.number == number && w.child.id() == id);
                    let Some(mut w) = ended.map(|n| workers.remove(n)) else { continue };
                    let status = w.child.wait()?;
                    if status.success() || w.left == 0 {
                        continue;
                    }
                    workers.extend(self.gone(w, "crash", &format!("the process ended: {status}"), say)?);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let hangs = |w: &Worker| w.at.is_some_and(|(_, since)| since.elapsed() > PATIENCE);
            if let Some(n) = workers.iter().position(hangs) {
                let mut w = workers.remove(n);
                let _ = w.child.kill();
                let _ = w.child.wait();
                workers.extend(self.gone(w, "hang", "it does not end", say)?);
            }
            self.progress();
        }
        Ok(())
    }

    /// A worker is gone in the middle of a seed: that is a failure, and another worker goes on behind it.
    fn gone(&mut self, w: Worker, kind: &str, text: &str, say: &Sender<Said>) -> Result<Option<Worker>> {
        let Some((seed, _)) = w.at else {
            return Err(Error::internal(format!("a worker ended before it began: {text}")));
        };
        self.tally.graphs += 1;
        self.fail(seed, 0, false, Found { kind: FailureKind::other(kind), text: text.to_string() })?;
        let (next, left) = (seed.wrapping_add(self.args.jobs as u64), w.left - 1);
        if left == 0 { Ok(None) } else { self.start(w.number, next, left, say).map(Some) }
    }

    fn line(&mut self, w: &mut Worker, line: &str) -> Result<()> {
        if let Some(seed) = line.strip_prefix("begin ") {
            w.at = seed.parse().ok().map(|seed| (seed, Instant::now()));
            return Ok(());
        }
        let said: Json = serde_json::from_str(line).unwrap_or_default();
        let Some(seed) = said["seed"].as_u64() else { return Ok(()) };
        w.at = None;
        w.left = w.left.saturating_sub(1);
        w.next = seed.wrapping_add(self.args.jobs as u64);
        self.tally.graphs += 1;
        if let Some(code) = said["refused"].as_str() {
            let first = || (0, seed, said["message"].as_str().unwrap_or_default().to_string());
            self.tally.refused.entry(code.to_string()).or_insert_with(first).0 += 1;
        } else if said["unknown"].is_string() {
            self.tally.unknown += 1;
        } else if let (Some(kind), Some(text)) = (said["kind"].as_str(), said["failure"].as_str()) {
            let found = Found { kind: FailureKind::other(kind), text: text.to_string() };
            let run = said["run"].as_u64().unwrap_or(0) as usize;
            return self.fail(seed, run, said["part"] == true, found);
        } else {
            self.tally.compared += said["compared"].as_u64().unwrap_or(0);
            self.tally.undetermined += said["undetermined"].as_u64().unwrap_or(0);
            self.tally.parts += u64::from(said["part"] == true);
        }
        Ok(())
    }

    /// Shrinks a failure and keeps it.
    fn fail(&mut self, seed: u64, run: usize, part: bool, found: Found) -> Result<()> {
        let kind = found.kind.as_str().to_string();
        let text = found.text.clone();
        let known = self.failures.iter().filter(|f| f.kind == kind && f.small.is_some()).count();
        let mut small = None;
        if known < SHRUNK {
            self.bar.set_message(format!("seed {seed} fails ({kind}); shrinking"));
            small = self.keep(seed, run, part, &found)?;
        }
        self.failures.push(Kept { seed, kind, text, small });
        Ok(())
    }

    fn keep(
        &self,
        seed: u64,
        run: usize,
        part: bool,
        found: &Found,
    ) -> Result<Option<(usize, PathBuf, String)>> {
        let mut cases = random_case(seed)?;
        if part && let Some(part) = accepted(&self.args.trial.judge()?, &cases) {
            cases = part;
        }
        let folder = Workplace::new()?;
        // A crash does not say with which inputs.
        let mut case = cases.case(run);
        if found.kind.as_str() == "crash" || found.kind.as_str() == "hang" {
            for n in 0..cases.runs.len() {
                let one = cases.case(n);
                if let Some(c) = &one
                    && self.args.trial.apart(c, folder.path())?.is_some_and(|f| f.kind == found.kind)
                {
                    case = one;
                    break;
                }
            }
        }
        let Some(case) = case else { return Ok(None) };
        let small: Case = self.args.trial.shrink(case, found, &EFFORT, folder.path())?.case;
        std::fs::create_dir_all(&self.args.keep).map_err(|e| {
            Error::new(Code::Io, format!("cannot make the folder {}: {e}", self.args.keep.display()))
                .help("--keep FOLDER says where failures are kept")
        })?;
        let law = self.args.keep.join(format!("{seed}.law"));
        let npz = law.with_extension("npz");
        let again = command(&law, &npz, &self.args.trial);
        let first = found.text.lines().next().unwrap_or_default();
        write_case(&law, &npz, &small, &format!("seed {seed}: {first}\n{again}"))?;
        Ok(Some((small.graph.total_nodes(), law, again)))
    }

    fn progress(&self) {
        let t = &self.tally;
        let rate = t.graphs as f64 / self.bar.elapsed().as_secs_f64().max(1e-3);
        let refused: u64 = t.refused.values().map(|r| r.0).sum();
        self.bar.set_message(format!(
            "{} graphs, {rate:.0} a second, {refused} refused, {} failed",
            t.graphs,
            self.failures.len()
        ));
        self.bar.tick();
    }

    fn report(&self, took: Duration, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
        let t = &self.tally;
        let rate = t.graphs as f64 / took.as_secs_f64().max(1e-9);
        if reporter.json {
            let failure = |f: &Kept| {
                let small = f.small.as_ref();
                json!({
                    "seed": f.seed, "kind": f.kind, "message": f.text,
                    "nodes": small.map(|s| s.0),
                    "file": small.map(|s| s.1.display().to_string()),
                    "command": small.map(|s| &s.2),
                })
            };
            let refusal = |(code, (count, seed, message)): (&String, &(u64, u64, String))| {
                (code.clone(), json!({ "count": count, "seed": seed, "message": message }))
            };
            let report = json!({
                "graphs": t.graphs, "graphs_per_second": rate, "parts": t.parts,
                "compared": t.compared, "undetermined": t.undetermined,
                "refused": t.refused.iter().map(refusal).collect::<serde_json::Map<String, Json>>(),
                "unknown": t.unknown,
                "failures": self.failures.iter().map(failure).collect::<Vec<Json>>(),
            });
            return Ok(writeln!(out, "{report:#}")?);
        }
        writeln!(out, "{} graphs in {:.1} s, {rate:.1} a second", t.graphs, took.as_secs_f64())?;
        writeln!(out, "  {} elements compared, {} undetermined", t.compared, t.undetermined)?;
        writeln!(out, "  {} graphs without the outputs that the target refuses", t.parts)?;
        for (code, (count, seed, message)) in &t.refused {
            writeln!(out, "  {count} graphs refused with {code}, such as that of seed {seed}: {message}")?;
        }
        if t.unknown > 0 {
            writeln!(out, "  {} graphs that the oracle does not run", t.unknown)?;
        }
        for f in &self.failures {
            writeln!(out, "seed {} fails: {}", f.seed, f.text.lines().next().unwrap_or_default())?;
            if let Some((nodes, law, again)) = &f.small {
                writeln!(out, "  {nodes} nodes in {}; again: {again}", law.display())?;
            }
        }
        if self.failures.is_empty() {
            writeln!(out, "nothing failed")?;
        }
        Ok(())
    }
}

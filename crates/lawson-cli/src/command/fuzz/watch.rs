//! The processes that judge, and who watches over them: one that crashes, or takes longer for a graph than it may, is known by its seed, and
//! another one goes on behind it.

use super::super::apart::{crashed, overdue};
use super::super::trial::{Judged, this};
use super::worker::unborn;
use crate::args::FuzzArgs;
use lawson::{Code, Error, Result};
use serde_json::Value as Json;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// What became of a graph.
pub(super) struct Said {
    pub(super) seed: u64,
    /// With which of its inputs it failed, if it did.
    pub(super) run: usize,
    /// Whether it was only a part that the target takes.
    pub(super) part: bool,
    pub(super) judged: Judged,
    /// The rest of what the worker said.
    pub(super) json: Json,
}

/// A process that judges, and what it is at.
struct Worker {
    number: usize,
    child: Child,
    at: Option<At>,
    next: u64,
    left: u64,
}

/// A graph in work.
struct At {
    seed: u64,
    since: Instant,
    phase: String,
}

/// What comes from a worker: its number, which process it was, and a line, or none when it ended.
type Heard = (usize, u32, Option<String>);

struct Watch<'a> {
    args: &'a FuzzArgs,
    options: &'a [String],
    patience: Duration,
    until: Instant,
    say: Sender<Heard>,
    workers: Vec<Worker>,
}

/// How long nothing may be heard before it is looked whether somebody hangs.
const LOOK: Duration = Duration::from_millis(100);

/// Judges the graphs that the arguments name until then; a graph that is in work gets the time that it may take.
pub(super) fn watch(
    args: &FuzzArgs,
    options: &[String],
    patience: Duration,
    until: Instant,
    hear: &mut dyn FnMut(Said) -> Result<()>,
) -> Result<()> {
    let (say, listen) = channel();
    let mut watch = Watch { args, options, patience, until, say, workers: Vec::new() };
    let (jobs, all) = (args.jobs as u64, args.count.unwrap_or(u64::MAX));
    let done = (0..jobs)
        .try_for_each(|n| {
            let left = all / jobs + u64::from(n < all % jobs);
            watch.start(n as usize, args.seed.wrapping_add(n), left)
        })
        .and_then(|()| watch.listen(&listen, hear));
    for w in &mut watch.workers {
        let _ = w.child.kill();
        let _ = w.child.wait();
    }
    done
}

impl Watch<'_> {
    /// Starts a worker, if there is something left to do.
    fn start(&mut self, number: usize, seed: u64, left: u64) -> Result<()> {
        if left == 0 {
            return Ok(());
        }
        let mut child = Command::new(this()?)
            .arg("fuzz")
            .args(["--worker", &self.args.jobs.to_string()])
            .args(["--seed", &seed.to_string(), "--count", &left.to_string()])
            .args(self.options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| Error::new(Code::Io, format!("cannot start a worker: {e}")))?;
        let id = child.id();
        if let Some(stdout) = child.stdout.take() {
            let say = self.say.clone();
            std::thread::spawn(move || {
                let lines = BufReader::new(stdout).lines().map_while(std::result::Result::ok);
                for line in lines.map(Some).chain([None]) {
                    if say.send((number, id, line)).is_err() {
                        return;
                    }
                }
            });
        }
        self.workers.push(Worker { number, child, at: None, next: seed, left });
        Ok(())
    }

    fn listen(&mut self, listen: &Receiver<Heard>, hear: &mut dyn FnMut(Said) -> Result<()>) -> Result<()> {
        while !self.workers.is_empty() {
            let mut heard = match listen.recv_timeout(LOOK) {
                Ok(heard) => Some(heard),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            // Everything that waits: to hear of something late is not that it is late.
            while let Some((number, id, line)) = heard {
                let from = |w: &Worker| w.number == number && w.child.id() == id;
                if let Some(n) = self.workers.iter().position(from) {
                    match line {
                        Some(line) => self.line(n, &line, hear)?,
                        None => self.ended(n, hear)?,
                    }
                }
                heard = listen.try_recv().ok();
            }
            let patience = self.patience;
            let late = |w: &Worker| w.at.as_ref().is_some_and(|at| at.since.elapsed() > patience);
            while let Some(n) = self.workers.iter().position(late) {
                let w = self.dismiss(n);
                let phase = w.at.as_ref().map_or(String::new(), |at| at.phase.clone());
                self.gone(w, overdue(&phase, patience), hear)?;
            }
        }
        Ok(())
    }

    fn dismiss(&mut self, n: usize) -> Worker {
        let mut w = self.workers.remove(n);
        let _ = w.child.kill();
        let _ = w.child.wait();
        w
    }

    fn line(&mut self, n: usize, line: &str, hear: &mut dyn FnMut(Said) -> Result<()>) -> Result<()> {
        let over = Instant::now() >= self.until;
        let w = &mut self.workers[n];
        if let Some(seed) = line.strip_prefix("begin ") {
            if over {
                self.dismiss(n);
                return Ok(());
            }
            let seed = seed.parse().map_err(|_| Error::internal(format!("a worker says `{line}`")))?;
            w.at = Some(At { seed, since: Instant::now(), phase: String::new() });
            return Ok(());
        }
        if !line.starts_with('{') {
            if let Some(at) = &mut w.at {
                at.phase = line.to_string();
            }
            return Ok(());
        }
        let json: Json = serde_json::from_str(line).unwrap_or_default();
        let (Some(seed), Some(judged)) = (json["seed"].as_u64(), Judged::from_json(&json)) else {
            return Err(Error::internal(format!("a worker says `{line}`")));
        };
        w.at = None;
        w.left = w.left.saturating_sub(1);
        w.next = seed.wrapping_add(self.args.jobs as u64);
        let run = json["run"].as_u64().unwrap_or(0) as usize;
        hear(Said { seed, run, part: json["part"] == true, judged, json })
    }

    fn ended(&mut self, n: usize, hear: &mut dyn FnMut(Said) -> Result<()>) -> Result<()> {
        let mut w = self.workers.remove(n);
        let status =
            w.child.wait().map_err(|e| Error::new(Code::Io, format!("cannot wait for a worker: {e}")))?;
        if w.left == 0 {
            return Ok(());
        }
        if w.at.is_none() {
            return Err(unborn(&status.to_string()));
        }
        self.gone(w, crashed(&status), hear)
    }

    /// A worker is gone in the middle of a graph: that is what became of it, and another worker goes on behind it.
    fn gone(&mut self, w: Worker, judged: Judged, hear: &mut dyn FnMut(Said) -> Result<()>) -> Result<()> {
        let seed = w.at.as_ref().map_or(w.next, |at| at.seed);
        hear(Said { seed, run: 0, part: false, judged, json: Json::Null })?;
        if Instant::now() >= self.until {
            return Ok(());
        }
        self.start(w.number, seed.wrapping_add(self.args.jobs as u64), w.left - 1)
    }
}

//! Processes that run cases, and the one that watches over them.
//!
//! A worker gets its cases as a JSON list of folders on standard input. It says `begin N` and then what became of case N, a
//! line each. One that ends in between, or takes too long, is replaced by another that goes on with the next case.

use super::{Case, On, Status, Verdict, case};
use crate::args::{OnnxTestArgs, Target};
use crate::device;
use crate::report::Outcome;
use lawson::{Code, Error, Result, Team};
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How many cases a worker gets at once.
const BATCH: usize = 64;

/// A message that is not from the last worker is ignored: workers are numbered.
enum Said {
    Line(usize, String),
    Ended(usize),
}

struct Worker {
    number: usize,
    child: Child,
    /// The cases that it has still to run.
    left: VecDeque<usize>,
    since: Instant,
}

/// Runs cases that come by standard input.
pub(super) fn work(args: &OnnxTestArgs, out: &mut dyn Write) -> Outcome {
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text)?;
    let list: Vec<(usize, PathBuf)> = match serde_json::from_str::<Json>(&text) {
        Ok(Json::Array(all)) => all
            .iter()
            .filter_map(|e| Some((e[0].as_u64()? as usize, PathBuf::from(e[1].as_str()?))))
            .collect(),
        _ => return Err(Error::internal("a worker got no list of cases").into()),
    };
    let team = match args.target {
        Target::Reference | Target::Wgpu => None,
        Target::Cpu => Some(
            Team::new(args.threads)
                .map_err(|e| Error::new(Code::Usage, format!("--threads {}: {e}", args.threads)))?,
        ),
    };
    let on = On { team, device: device::open(args.target, &args.device)? };
    for (number, folder) in list {
        writeln!(out, "begin {number}")?;
        out.flush()?;
        let verdict = case::run(args, &on, &folder);
        writeln!(out, "{}", json!({ "case": number, "said": verdict.to_json("") }))?;
        out.flush()?;
    }
    Ok(())
}

/// Runs all cases; one verdict each.
pub(super) fn run(args: &OnnxTestArgs, cases: &[Case]) -> Result<Vec<Verdict>> {
    let mut verdicts: Vec<Option<Verdict>> = vec![None; cases.len()];
    let mut waiting: VecDeque<usize> = (0..cases.len()).collect();
    let (say, listen) = channel();
    let (mut workers, mut started): (Vec<Worker>, usize) = (Vec::new(), 0);
    while !waiting.is_empty() || !workers.is_empty() {
        while workers.len() < args.jobs.max(1) && !waiting.is_empty() {
            let batch = waiting.drain(..waiting.len().min(BATCH)).collect();
            workers.push(start(args, cases, batch, started, &say)?);
            started += 1;
        }
        hear(&mut workers, &listen, &mut verdicts, &mut waiting)?;
        let limit = Duration::from_secs(args.seconds);
        if let Some(n) = workers.iter().position(|w| w.since.elapsed() > limit) {
            let worker = workers.remove(n);
            let reason = format!("it took longer than {} s", args.seconds);
            replace(worker, &reason, &mut verdicts, &mut waiting);
        }
    }
    Ok(verdicts.into_iter().map(|v| v.unwrap_or_else(|| Verdict::failed("it was not run"))).collect())
}

fn start(
    args: &OnnxTestArgs,
    cases: &[Case],
    batch: VecDeque<usize>,
    number: usize,
    say: &Sender<Said>,
) -> Result<Worker> {
    let failed = |e: std::io::Error| Error::new(Code::Io, format!("cannot start a worker: {e}"));
    let target = args.target.name();
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(["onnx-test", "--worker", "--target", target, "--threads", &args.threads.to_string()]);
    command.args(args.device.device.iter().flat_map(|d| ["--device", d]));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?;
    let list: Vec<Json> = batch.iter().map(|i| json!([i, cases[*i].folder.to_string_lossy()])).collect();
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(Json::Array(list).to_string().as_bytes()).map_err(failed)?;
    }
    if let Some(stdout) = child.stdout.take() {
        let say = say.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(std::result::Result::ok) {
                if say.send(Said::Line(number, line)).is_err() {
                    return;
                }
            }
            let _ = say.send(Said::Ended(number));
        });
    }
    Ok(Worker { number, child, left: batch, since: Instant::now() })
}

/// Waits a little for what workers say.
fn hear(
    workers: &mut Vec<Worker>,
    listen: &Receiver<Said>,
    verdicts: &mut [Option<Verdict>],
    waiting: &mut VecDeque<usize>,
) -> Result<()> {
    match listen.recv_timeout(Duration::from_millis(200)) {
        Ok(Said::Line(number, line)) => {
            let Some(worker) = workers.iter_mut().find(|w| w.number == number) else { return Ok(()) };
            worker.since = Instant::now();
            let Ok(mut said) = serde_json::from_str::<Json>(&line) else { return Ok(()) };
            let Some(case) = said["case"].as_u64().map(|n| n as usize) else { return Ok(()) };
            if worker.left.front() == Some(&case) {
                worker.left.pop_front();
                verdicts[case] = Some(verdict(said["said"].take()));
            }
        }
        Ok(Said::Ended(number)) => {
            let Some(n) = workers.iter().position(|w| w.number == number) else { return Ok(()) };
            let mut worker = workers.remove(n);
            let status = worker.child.wait().map_err(|e| Error::new(Code::Io, e.to_string()))?;
            replace(worker, &format!("the process ended: {status}"), verdicts, waiting);
        }
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
    }
    Ok(())
}

/// Gives up a worker; the case that it was at fails for that reason, and those behind it wait again.
fn replace(
    mut worker: Worker,
    reason: &str,
    verdicts: &mut [Option<Verdict>],
    waiting: &mut VecDeque<usize>,
) {
    let _ = worker.child.kill();
    let _ = worker.child.wait();
    if let Some(case) = worker.left.pop_front() {
        verdicts[case] = Some(Verdict::failed(reason));
    }
    worker.left.into_iter().rev().for_each(|case| waiting.push_front(case));
}

fn verdict(mut said: Json) -> Verdict {
    let status = match said["status"].as_str() {
        Some("passed") => Status::Passed,
        Some("skipped") => Status::Skipped,
        _ => Status::Failed,
    };
    let reason = said["reason"].as_str().map(str::to_string);
    if let Json::Object(all) = &mut said {
        for name in ["name", "status", "reason"] {
            all.remove(name);
        }
    }
    Verdict { status, reason, details: said }
}

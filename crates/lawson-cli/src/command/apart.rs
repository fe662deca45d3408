//! Judging cases in a process of its own, which takes one after another: what crashes or hangs does so there, and the next one is judged by
//! another process.
//!
//! The process is this program as `lawson reduce - --worker`. It gets the name of a `.law` file by standard input, a line each, and says by
//! lines what it is at, and then what it found, as JSON.

use super::trial::{CRASH, Found, HANG, Judged, Reason, Trial, silently, this};
use crate::report::Outcome;
use lawson::fuzz::{Cases, FailureKind, Phase};
use lawson::reduce::Case;
use lawson::{Code, Error, Result};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Another process that judges.
pub struct Apart {
    options: Vec<String>,
    patience: Duration,
    folder: Workplace,
    process: Option<Process>,
}

struct Process {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

/// What a worker that is at something says.
pub fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Compile => "compile",
        Phase::Oracle => "oracle",
        Phase::Run => "run",
    }
}

/// What it is that a case did not get through in time: a fault, if the target was at it.
pub fn overdue(phase: &str, patience: Duration) -> Judged {
    let what = match phase {
        "compile" => "compiling",
        "run" => "a run",
        "oracle" => return Judged::Unknown(Reason::time("the oracle", patience)),
        _ => return Judged::Unknown(Reason::time("what comes before compiling", patience)),
    };
    let text = format!("{what} does not end within {} s", patience.as_secs_f64());
    Judged::Failed(Found { kind: FailureKind::other(HANG), text })
}

/// What the end of a process in the midst of a case is.
pub fn crashed(status: &ExitStatus) -> Judged {
    Judged::Failed(Found { kind: FailureKind::other(CRASH), text: format!("the process ended: {status}") })
}

/// Judges the cases that come by standard input, until there are no more.
pub fn work(trial: &Trial<'_>, out: &mut dyn Write) -> Outcome {
    let mut judge = trial.judge()?;
    for law in std::io::stdin().lock().lines() {
        let law = PathBuf::from(law?);
        let judged = match Case::read(&law, &law.with_extension("npz")) {
            Err(e) => Judged::Unknown(Reason::of(&e)),
            Ok(case) => {
                let cases = Cases { graph: case.graph, runs: vec![case.inputs] };
                Judged::of(silently(|| {
                    judge.cases_told(&cases, &mut |phase| {
                        // Whoever cannot hear it has gone.
                        let _ = writeln!(out, "{}", phase_name(phase));
                        let _ = out.flush();
                    })
                }))
            }
        };
        writeln!(out, "{}", judged.to_json())?;
        out.flush()?;
    }
    Ok(())
}

impl Apart {
    pub fn new(trial: &Trial<'_>) -> Result<Apart> {
        let (options, patience) = (trial.options(), trial.patience()?);
        Ok(Apart { options, patience, folder: Workplace::new()?, process: None })
    }

    /// What becomes of a case.
    pub fn judge(&mut self, case: &Case) -> Result<Judged> {
        let law = self.folder.path().join("case.law");
        case.write(&law, &law.with_extension("npz"), "")?;
        let mut process = match self.process.take() {
            Some(process) => process,
            None => Process::start(&self.options)?,
        };
        let (start, mut phase) = (Instant::now(), String::new());
        // One that has ended does not say anything either.
        let _ = writeln!(process.stdin, "{}", law.display());
        loop {
            match process.lines.recv_timeout(self.patience.saturating_sub(start.elapsed())) {
                Ok(line) if line.starts_with('{') => {
                    self.process = Some(process);
                    let said = serde_json::from_str(&line).ok();
                    return said
                        .as_ref()
                        .and_then(Judged::from_json)
                        .ok_or_else(|| Error::internal(format!("a process that judges says `{line}`")));
                }
                Ok(line) => phase = line,
                Err(RecvTimeoutError::Timeout) => return Ok(overdue(&phase, self.patience)),
                Err(RecvTimeoutError::Disconnected) => {
                    let failed = |e| Error::new(Code::Io, format!("cannot wait for a process: {e}"));
                    return Ok(crashed(&process.child.wait().map_err(failed)?));
                }
            }
        }
    }
}

impl Process {
    fn start(options: &[String]) -> Result<Process> {
        let failed = |what: &str| Error::new(Code::Io, format!("cannot start a process: {what}"));
        let mut child = Command::new(this()?)
            .args(["reduce", "-", "--worker"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| failed(&e.to_string()))?;
        let stdin = child.stdin.take().ok_or_else(|| failed("no standard input"))?;
        let stdout = child.stdout.take().ok_or_else(|| failed("no standard output"))?;
        let (say, lines) = channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout).lines().map_while(std::result::Result::ok);
            lines.try_for_each(|line| say.send(line)).ok();
        });
        Ok(Process { child, stdin, lines })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder for files that pass between processes; it goes with this.
struct Workplace(PathBuf);

impl Workplace {
    fn new() -> Result<Workplace> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lawson-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path)
            .map_err(|e| Error::new(Code::Io, format!("cannot make the folder {}: {e}", path.display())))?;
        Ok(Workplace(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

//! What `fuzz` and `reduce` share: judging a case here or in a process of its own, and saying what came of it.
//!
//! Emitted code that is wrong may crash or never end. So a case of which nothing is known is judged in another process (`apart.rs`), with a
//! limit of time, and every candidate of its shrinking too.

use super::apart::Apart;
use crate::Run;
use crate::args::{Isa, Target, TrialArgs};
use crate::device;
use lawson::fuzz::{FailureKind, Judge, Verdict};
use lawson::reduce::{Case, Effort, Reduced, reduce};
use lawson::{Code, Error, Result};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// How a case fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub kind: FailureKind,
    pub text: String,
}

/// Why a case was not judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    pub code: String,
    pub message: String,
    pub help: Option<String>,
}

/// What became of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Judged {
    /// Nothing is wrong.
    Fine { compared: u64, undetermined: u64, runs: u64 },
    /// The target does not take it.
    Refused(Reason),
    /// It cannot be said.
    Unknown(Reason),
    /// Something is wrong.
    Failed(Found),
}

/// How cases are judged: by the arguments, within limits.
pub struct Trial<'a> {
    pub args: &'a TrialArgs,
    /// What oracle and target may take, if not what random graphs may: steps and bytes.
    pub limits: Option<(u64, u64)>,
    /// What sessions are run by, if not by the target.
    pub planted: Option<Run>,
}

/// What the code of a limit of time is called, where others have the code of an error.
pub const TIME: &str = "time";
pub const CRASH: &str = "crash";
pub const HANG: &str = "hang";

impl Trial<'_> {
    pub fn judge(&self) -> Result<Judge> {
        let args = self.args;
        if args.threads.is_empty() || args.threads.contains(&0) {
            return Err(Error::new(Code::Usage, "--threads is a list of numbers, each at least 1"));
        }
        args.check_isa()?;
        let device = device::open(args.target, &args.device)?;
        let judge = Judge::new(args.target.to_lawson(), &args.threads)?.device(device);
        let mut judge = judge.isa(args.isa.map(Isa::to_cpu)).strict(args.strict);
        if let Some((steps, bytes)) = self.limits {
            judge = judge.limits(steps, bytes);
        }
        if let Some(run) = self.planted {
            judge = judge.run_by(run);
        }
        Ok(judge)
    }

    /// How long a case may take.
    pub fn patience(&self) -> Result<Duration> {
        Duration::try_from_secs_f64(self.args.patience)
            .map_err(|_| Error::new(Code::Usage, "--patience is a number that is not negative"))
    }

    /// The options that make `lawson reduce` judge the same way.
    pub fn options(&self) -> Vec<String> {
        let args = self.args;
        let threads: Vec<String> = args.threads.iter().map(ToString::to_string).collect();
        let mut options = vec!["--target".to_string(), args.target.name().to_string()];
        options.extend(["--threads".to_string(), threads.join(",")]);
        options.extend(args.device.device.iter().flat_map(|d| ["--device".to_string(), d.clone()]));
        options.extend(args.isa.iter().flat_map(|isa| ["--isa".to_string(), isa.to_cpu().to_string()]));
        options.extend(args.strict.then(|| "--strict".to_string()));
        if args.patience != TrialArgs::PATIENCE {
            options.extend(["--patience".to_string(), args.patience.to_string()]);
        }
        if let Some((steps, bytes)) = self.limits {
            options.extend(["--max-steps".to_string(), steps.to_string()]);
            options.extend(["--max-bytes".to_string(), bytes.to_string()]);
        }
        options
    }

    /// The smallest case that fails the same way. Candidates have the limits of the case itself.
    pub fn shrink(&self, case: Case, found: &Found, effort: &Effort) -> Result<Reduced> {
        let mut apart = Apart::new(self)?;
        let fails = &mut |c: &Case| matches!(apart.judge(c), Ok(Judged::Failed(f)) if f.kind == found.kind);
        Ok(reduce(case, fails, effort))
    }
}

impl TrialArgs {
    /// How long a case may take if nothing is said, in seconds.
    pub const PATIENCE: f64 = 20.0;

    /// Refuses a way to run kernels where none are run.
    fn check_isa(&self) -> Result<()> {
        match (self.target, self.isa) {
            (Target::Reference, Some(_)) => Err(no_isa(self.target)),
            _ => Ok(()),
        }
    }
}

/// That a target does not run kernels on the processor.
pub fn no_isa(target: Target) -> Error {
    Error::new(Code::Usage, format!("the {} target runs no machine code", target.name()))
        .help("leave out --isa, or say --target cpu")
}

impl Judged {
    pub fn of(verdict: Verdict) -> Judged {
        match verdict {
            Verdict::Fine { compared, undetermined, runs, .. } => {
                Judged::Fine { compared, undetermined, runs }
            }
            Verdict::Refused(e) => Judged::Refused(Reason::of(&e)),
            Verdict::Unknown(e) => Judged::Unknown(Reason::of(&e)),
            Verdict::Failed { failure, .. } => {
                Judged::Failed(Found { kind: failure.kind(), text: failure.to_string() })
            }
            other => Judged::Unknown(Reason::of(&Error::internal(format!("an unknown verdict: {other:?}")))),
        }
    }

    pub fn to_json(&self) -> Json {
        let reason = |status: &str, r: &Reason| {
            json!({
                "status": status, "fails": Json::Null, "code": r.code, "message": r.message, "help": r.help,
            })
        };
        match self {
            Judged::Fine { compared, undetermined, runs } => json!({
                "status": "fine", "fails": false,
                "compared": compared, "undetermined": undetermined, "runs": runs,
            }),
            Judged::Refused(r) => reason("refused", r),
            Judged::Unknown(r) => reason("unjudged", r),
            Judged::Failed(f) => json!({
                "status": "fails", "fails": true, "kind": f.kind.as_str(), "message": f.text,
            }),
        }
    }

    /// What [`Judged::to_json`] gave, if it did.
    pub fn from_json(said: &Json) -> Option<Judged> {
        let text = |key: &str| said[key].as_str().map(str::to_string);
        let reason = || Some(Reason { code: text("code")?, message: text("message")?, help: text("help") });
        Some(match said["status"].as_str()? {
            "fine" => Judged::Fine {
                compared: said["compared"].as_u64()?,
                undetermined: said["undetermined"].as_u64()?,
                runs: said["runs"].as_u64()?,
            },
            "refused" => Judged::Refused(reason()?),
            "unjudged" => Judged::Unknown(reason()?),
            _ => Judged::Failed(Found { kind: FailureKind::other(&text("kind")?), text: text("message")? }),
        })
    }
}

impl Reason {
    pub fn of(error: &Error) -> Reason {
        Reason {
            code: error.code().as_str().to_string(),
            message: error.message().to_string(),
            help: error.help_text().map(str::to_string),
        }
    }

    /// That a case took longer than it may, through no fault of the target's.
    pub fn time(what: &str, patience: Duration) -> Reason {
        Reason {
            code: TIME.to_string(),
            message: format!("{what} took longer than {} s", patience.as_secs_f64()),
            help: Some("--patience gives a graph more time".to_string()),
        }
    }
}

/// Calls something whose panics are caught and need not be told.
pub fn silently<T>(call: impl FnOnce() -> T) -> T {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = call();
    std::panic::set_hook(before);
    result
}

/// This program.
pub fn this() -> Result<std::path::PathBuf> {
    std::env::current_exe().map_err(|e| Error::new(Code::Io, format!("cannot find this program: {e}")))
}

//! What `fuzz` and `reduce` share: judging a case here or in a process of its own, and keeping cases in files.
//!
//! Emitted code that is wrong may crash or never end. So a case of which nothing is known is judged in a child
//! process, with a limit of time; only what neither crashes nor hangs is judged here, which is a hundred times faster.

use crate::args::{Isa, TrialArgs};
use crate::device;
use lawson::fuzz::{FailureKind, Judge, Verdict};
use lawson::graph::Graph;
use lawson::reduce::{Case, Effort, Reduced, reduce};
use lawson::{Code, Error, HostTensor, Result, Tensor, Value, npy, write_whole};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How a case fails.
#[derive(Clone, Debug)]
pub struct Found {
    pub kind: FailureKind,
    pub text: String,
}

/// What takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(20);
const CRASH: &str = "crash";
const HANG: &str = "hang";

impl TrialArgs {
    pub fn judge(&self) -> Result<Judge> {
        if self.threads.is_empty() || self.threads.contains(&0) {
            return Err(Error::new(Code::Usage, "--threads is a list of numbers, each at least 1"));
        }
        let device = device::open(self.target, &self.device)?;
        let judge = Judge::new(self.target.to_lawson(), &self.threads)?.device(device);
        Ok(judge.isa(self.isa.map(Isa::to_cpu)).strict(self.strict))
    }

    /// The options that make `lawson reduce` judge the same way.
    pub fn options(&self) -> Vec<String> {
        let threads: Vec<String> = self.threads.iter().map(ToString::to_string).collect();
        let mut options = vec!["--target".to_string(), self.target.name().to_string()];
        options.extend(["--threads".to_string(), threads.join(",")]);
        options.extend(self.device.device.iter().flat_map(|d| ["--device".to_string(), d.clone()]));
        options.extend(self.isa.iter().flat_map(|isa| ["--isa".to_string(), isa.to_cpu().to_string()]));
        options.extend(self.strict.then(|| "--strict".to_string()));
        options
    }

    /// How a case fails, if it does, judged in a process of its own.
    pub fn apart(&self, case: &Case, folder: &Path) -> Result<Option<Found>> {
        let (law, npz) = (folder.join("case.law"), folder.join("case.npz"));
        write_case(&law, &npz, case, "")?;
        let run = Command::new(this()?)
            .args(["reduce", "--check", "--json", "--input"])
            .arg(&npz)
            .arg(&law)
            .args(self.options())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| Error::new(Code::Io, format!("cannot start a process: {e}")))?;
        let Some((code, text)) = wait(run, PATIENCE)? else {
            return Ok(Some(Found { kind: FailureKind::other(HANG), text: "it does not end".to_string() }));
        };
        let said: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        Ok(match code {
            None => Some(Found {
                kind: FailureKind::other(CRASH),
                text: "the process was killed by a signal".to_string(),
            }),
            Some(_) => said["kind"].as_str().map(|kind| Found {
                kind: FailureKind::other(kind),
                text: said["message"].as_str().unwrap_or_default().to_string(),
            }),
        })
    }

    /// The smallest case that fails the same way.
    pub fn shrink(&self, case: Case, found: &Found, effort: &Effort, folder: &Path) -> Result<Reduced> {
        if [CRASH, HANG].contains(&found.kind.as_str()) {
            let fails = &mut |c: &Case| matches!(self.apart(c, folder), Ok(Some(f)) if f.kind == found.kind);
            return Ok(reduce(case, fails, effort));
        }
        let mut judge = self.judge()?;
        Ok(silently(|| {
            reduce(case, &mut |c| fails(&mut judge, c).is_some_and(|f| f.kind == found.kind), effort)
        }))
    }
}

/// How a case fails, if it does, judged here.
pub fn fails(judge: &mut Judge, case: &Case) -> Option<Found> {
    match judge.case(case) {
        Verdict::Failed { failure, .. } => Some(Found { kind: failure.kind(), text: failure.to_string() }),
        _ => None,
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

/// The exit code of a child (none after a signal) and what it wrote; `None` if it did not end in time, and was ended.
fn wait(mut child: Child, patience: Duration) -> Result<Option<(Option<i32>, String)>> {
    let failed = |e: std::io::Error| Error::new(Code::Io, format!("cannot wait for a process: {e}"));
    let start = Instant::now();
    while child.try_wait().map_err(failed)?.is_none() {
        if start.elapsed() > patience {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().map_err(failed)?;
    Ok(Some((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())))
}

/// Writes a graph, under comment lines, and its inputs.
pub fn write_case(law: &Path, npz: &Path, case: &Case, head: &str) -> Result<()> {
    let tensors = inputs(&case.graph, &case.inputs)?;
    npy::write_npz(npz, tensors.iter().map(|(n, t)| (n.as_str(), t)))?;
    let comment: String = head.lines().map(|l| format!("// {l}\n")).collect();
    write_whole(law, |file| {
        write!(file, "{comment}{}", case.graph)
            .map_err(|e| Error::new(Code::Io, format!("cannot write: {e}")))
    })
}

fn inputs(graph: &Graph, values: &[Value]) -> Result<Vec<(String, Tensor)>> {
    let mut named = Vec::new();
    for (v, value) in graph.inputs().iter().zip(values) {
        let tensor: Option<&HostTensor> = value.as_tensor();
        let name = graph.value_name(*v);
        let wrong = || Error::new(Code::OperandKind, format!("the input `{name}` is not a tensor"));
        named.push((name.clone(), tensor.cloned().ok_or_else(wrong)?.into()));
    }
    Ok(named)
}

/// A folder for files that pass between processes; it goes with this.
pub struct Workplace(std::path::PathBuf);

impl Workplace {
    pub fn new() -> Result<Workplace> {
        let path = std::env::temp_dir().join(format!("lawson-{}", std::process::id()));
        std::fs::create_dir_all(&path)
            .map_err(|e| Error::new(Code::Io, format!("cannot make the folder {}: {e}", path.display())))?;
        Ok(Workplace(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

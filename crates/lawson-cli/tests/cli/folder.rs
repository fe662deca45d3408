//! A folder for each test, in which the command is run; what it said; and graphs that several tests use.

use serde_json::Value as Json;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) const MLP: &str = "lawson 1
graph @mlp(%x: f32[N, 3], %w: f32[3, 4]) -> (y: f32[N, 4], p: f32[N, 4])
  where N >= 1, N % 2 == 0
{
  %h = contract %x, %w {batch = [], sum = [[1, 0]]}
  %y = relu %h
  %p = softmax %h {axis = 1}
  return %y, %p
}
";

pub(crate) const NEG: &str = "lawson 1\ngraph @neg(%x: f32[3]) -> (y: f32[3]) { %y = neg %x return %y }\n";

/// Two kernels: the sum over all rows is read by every element.
pub(crate) const CHAIN: &str = "lawson 1
graph @chain(%x: f32[N, 64], %w: f32[64, 32]) -> (y: f32[N, 32]) {
  %1 = contract %x, %w {batch = [], sum = [[1, 0]]}
  %y = tanh %1
  return %y
}
";

/// A folder of its own for each test, which is also the home of the caches.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lawson-cli-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> &Folder {
        fs::write(self.path(name), content).unwrap();
        self
    }

    pub(crate) fn tensor(&self, name: &str, elements: &[f32]) -> &Folder {
        let tensor = lawson::Tensor::from_slice(&[elements.len()], elements).unwrap();
        lawson::npy::write(&self.path(name), &tensor).unwrap();
        self
    }

    /// The command with these arguments, in this folder.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lawson"));
        command
            .args(args)
            .current_dir(&self.0)
            .env_remove("NO_COLOR")
            .env("XDG_CACHE_HOME", self.path("cache"));
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.pipe(args, "")
    }

    /// Runs the command with a text as its standard input.
    pub(crate) fn pipe(&self, args: &[&str], stdin: &str) -> Output {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that does not read its input may end first.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// What the command printed as JSON, and its exit status.
    pub(crate) fn json(&self, args: &[&str]) -> (Json, i32) {
        let output = self.run(args);
        (json(&output), output.status.code().unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
pub(crate) fn fine(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}{}", out(output), err(output));
    out(output)
}

#[track_caller]
pub(crate) fn fails(output: &Output, exit: i32, says: &str) -> String {
    assert_eq!(output.status.code(), Some(exit), "{}{}", out(output), err(output));
    assert!(err(output).contains(says), "{}", err(output));
    err(output)
}

pub(crate) fn json(output: &Output) -> Json {
    serde_json::from_str(&out(output)).unwrap_or_else(|e| panic!("{e}: {}{}", out(output), err(output)))
}

/// Whether the CPU target runs here.
pub(crate) fn cpu_runs() -> bool {
    cfg!(all(unix, target_arch = "x86_64")) && lawson::cpu::missing_feature().is_none()
}

//! A worker for races against other runtimes: `lawson-peer-worker DIR THREADS`.
//!
//! It loads `DIR/model.onnx`, compiles it for the CPU, runs it on `DIR/inputs.npz` and compares with `DIR/ref.npz`; then it says, on
//! one line of JSON, that it is ready: how long loading and the first run took, how far the outputs are from the
//! reference. After that, for every line `run SECONDS LEAST MOST` it runs until so many seconds have passed and at least
//! `LEAST` runs are done, at most `MOST`, and prints their times in milliseconds. `quit` ends it. The outputs are written
//! into memory that is taken once.

use lawson::graph::Type;
use lawson::{
    CompileOptions, DType, Error, Program, Session, Target, Team, Tensor, TensorView, TensorViewMut, npy,
};
use lawson_cpu::memory::Memory;
use serde_json::json;
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

struct Worker {
    session: Session,
    inputs: Vec<Tensor>,
    outputs: Vec<Output>,
}

struct Output {
    name: String,
    dtype: DType,
    sizes: Vec<usize>,
    bytes: usize,
    memory: Memory,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let served = match arguments.as_slice() {
        [folder, threads] => serve(Path::new(folder), threads),
        _ => Err("usage: lawson-peer-worker DIR THREADS".into()),
    };
    if let Err(error) = served {
        println!("{}", json!({ "error": error.to_string() }));
        std::process::exit(1);
    }
}

fn serve(folder: &Path, threads: &str) -> Result<(), Failure> {
    let threads: usize = threads.parse()?;
    let start = Instant::now();
    let graph = lawson::onnx::read_onnx(&folder.join("model.onnx"))?;
    let team = Team::new(threads).map_err(|e| e.to_string())?;
    let read = start.elapsed();
    let options = CompileOptions { target: Target::Cpu, team: Some(team), ..CompileOptions::default() };
    let program = Program::compile(graph, &options)?;
    let load = start.elapsed();
    let mut given: HashMap<String, Tensor> =
        npy::read_npz(&folder.join("inputs.npz"), |_| None)?.into_iter().collect();
    let inputs: Option<Vec<Tensor>> = program.inputs().iter().map(|p| given.remove(&p.name)).collect();
    let inputs = inputs.ok_or("inputs.npz lacks an input of the model")?;
    let mut session = program.session();
    let start = Instant::now();
    let results = session.run(&inputs)?;
    let first = start.elapsed();
    let mut outputs = Vec::new();
    for (port, t) in program.outputs().iter().zip(&results) {
        let Type::Tensor(ty) = &port.ty else { return Err("an output is not a tensor".into()) };
        let bytes = t.to_host()?.bytes().len();
        let memory = Memory::zeroed(bytes.max(1)).map_err(|e| e.to_string())?;
        let (name, sizes) = (port.name.clone(), t.sizes().to_vec());
        outputs.push(Output { name, dtype: ty.dtype, sizes, bytes, memory });
    }
    let mut worker = Worker { session, inputs, outputs };
    worker.run()?;
    let (max_abs, rel) = worker.compare(&folder.join("ref.npz"))?;
    let ms = |d: std::time::Duration| d.as_secs_f64() * 1e3;
    let plan = program.plan();
    say(&json!({
        "ready": true, "load_ms": ms(load), "first_ms": ms(first), "max_abs": max_abs, "rel": rel, "rss_mb": rss(),
        "compile_ms": ms(load - read), "steps": plan.map(|p| p.steps.len()), "kernels": plan.map(|p| p.kernels.len()),
    }));
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        match line.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["run", seconds, least, most] => {
                let (seconds, least, most): (f64, usize, usize) =
                    (seconds.parse()?, least.parse()?, most.parse()?);
                let times = worker.block(seconds, least, most)?;
                say(&json!({ "t": times, "rss_mb": rss() }));
            }
            ["quit"] => break,
            [] => {}
            _ => say(&json!({ "error": format!("unknown request `{line}`") })),
        }
    }
    Ok(())
}

impl Worker {
    fn run(&mut self) -> Result<(), Error> {
        let hosts = self.inputs.iter().map(|t| t.to_host()).collect::<Result<Vec<_>, Error>>()?;
        let views = hosts
            .iter()
            .map(|t| TensorView::new(t.dtype(), t.sizes(), t.bytes()))
            .collect::<Result<Vec<_>, Error>>()?;
        let mut results = self
            .outputs
            .iter_mut()
            .map(|o| TensorViewMut::new(o.dtype, &o.sizes, &mut o.memory.as_mut_slice()[..o.bytes]))
            .collect::<Result<Vec<_>, Error>>()?;
        self.session.run_into(&views, &mut results)
    }

    fn block(&mut self, seconds: f64, least: usize, most: usize) -> Result<Vec<f64>, Error> {
        let hosts = self.inputs.iter().map(|t| t.to_host()).collect::<Result<Vec<_>, Error>>()?;
        let views = hosts
            .iter()
            .map(|t| TensorView::new(t.dtype(), t.sizes(), t.bytes()))
            .collect::<Result<Vec<_>, Error>>()?;
        let mut results = self
            .outputs
            .iter_mut()
            .map(|o| TensorViewMut::new(o.dtype, &o.sizes, &mut o.memory.as_mut_slice()[..o.bytes]))
            .collect::<Result<Vec<_>, Error>>()?;
        let mut times = Vec::new();
        let start = Instant::now();
        while times.len() < most && (times.len() < least || start.elapsed().as_secs_f64() < seconds) {
            let one = Instant::now();
            self.session.run_into(&views, &mut results)?;
            times.push(one.elapsed().as_secs_f64() * 1e3);
        }
        Ok(times)
    }

    /// The greatest difference to the reference, and that as a part of the reference's greatest magnitude.
    fn compare(&self, path: &Path) -> Result<(f64, f64), Failure> {
        let reference: HashMap<String, Tensor> = npy::read_npz(path, |_| None)?.into_iter().collect();
        let (mut difference, mut magnitude) = (0f64, 0f64);
        for (n, o) in self.outputs.iter().enumerate() {
            let expected = match reference.get(&o.name) {
                Some(t) => t,
                None if self.outputs.len() == 1 && reference.len() == 1 => {
                    reference.values().next().ok_or("an empty ref.npz")?
                }
                None => return Err(format!("ref.npz lacks the output `{}` ({n})", o.name).into()),
            };
            let bytes = &o.memory.as_slice()[..o.bytes];
            let actual = Tensor::from_bytes(o.dtype, &o.sizes, bytes.to_vec())?.to_host()?;
            let expected = expected.to_host()?;
            if expected.sizes() != actual.sizes() {
                return Err(
                    format!("`{}` is {:?}, not {:?}", o.name, actual.sizes(), expected.sizes()).into()
                );
            }
            for i in 0..actual.len() {
                let at = |t: &lawson::HostTensor| {
                    if t.dtype().is_float() { t.float_at(i) } else { t.int_at(i) as f64 }
                };
                let (a, b) = (at(&actual), at(&expected));
                let d = (a - b).abs();
                difference =
                    if d.is_nan() && !(a.is_nan() && b.is_nan()) { f64::INFINITY } else { difference.max(d) };
                magnitude = magnitude.max(b.abs());
            }
        }
        Ok((difference, difference / magnitude.max(1e-30)))
    }
}

fn say(line: &serde_json::Value) {
    println!("{line}");
    // The reader waits for whole lines; if it is gone, so are we soon.
    let _ = std::io::stdout().flush();
}

/// Megabytes of memory that the process holds.
fn rss() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|l| l.split_whitespace().next()).and_then(|n| n.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}

//! The files of `tests/wgsl`: kernels with their op codes and their shaders beside them, so that a change of the emitter shows
//! its diff. Every shader is validated and run against the direct evaluator.
//!
//! A `.krn` file holds a kernel; before it may stand `// schedule: DIRECTIVE` lines, `// bind: N=7` lines (one run each, several
//! symbols separated by spaces) and `// private: BYTES`. `.ops` and `.wgsl` beside it hold what is expected; with
//! `LAWSON_BLESS=1` in the environment they are rewritten to what is found.

use crate::support::{Near, buffers, check, gpu, gpus};
use lawson_graph::Symbol;
use lawson_graph::random::Rng;
use lawson_kernel::verify::verify;
use lawson_kernel::{Kernel, Schedule};
use lawson_wgpu::{Capabilities, Gpu, Listing, wgsl};
use std::fs;
use std::path::{Path, PathBuf};

struct File {
    path: PathBuf,
    kernel: Kernel,
    binds: Vec<Vec<(Symbol, i64)>>,
    capabilities: Capabilities,
}

fn values<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let prefix = format!("// {key}: ");
    text.lines().filter_map(|l| l.strip_prefix(prefix.as_str())).collect()
}

fn read(path: PathBuf) -> File {
    let text = fs::read_to_string(&path).unwrap();
    let mut kernel = Kernel::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let schedule: Schedule = values(&text, "schedule").join("\n").parse().unwrap();
    schedule.apply(&mut kernel).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    verify(&kernel).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let pair = |p: &str| p.split_once('=').map(|(s, v)| (Symbol::new(s), v.parse().unwrap())).unwrap();
    let mut binds: Vec<Vec<_>> =
        values(&text, "bind").iter().map(|b| b.split_whitespace().map(pair).collect()).collect();
    if binds.is_empty() {
        binds.push(Vec::new());
    }
    let mut capabilities = Capabilities::default();
    if let [bytes] = values(&text, "private")[..] {
        capabilities.private_bytes = bytes.parse().unwrap();
    }
    File { path, kernel, binds, capabilities }
}

fn files() -> Vec<File> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/wgsl");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "krn"));
    paths.sort();
    assert!(paths.len() > 5, "{paths:?}");
    paths.into_iter().map(read).collect()
}

fn validate(text: &str) -> Result<(), String> {
    let module = naga::front::wgsl::parse_str(text).map_err(|e| e.emit_to_string(text))?;
    let flags = naga::valid::ValidationFlags::all();
    let mut validator = naga::valid::Validator::new(flags, naga::valid::Capabilities::empty());
    validator.validate(&module).map(|_| ()).map_err(|e| e.emit_to_string(text))
}

#[test]
fn texts_are_as_they_were_and_valid() {
    let mut changed = Vec::new();
    for file in files() {
        let listing = Listing::of(&file.kernel, &file.capabilities).unwrap_or_else(|e| panic!("{e}"));
        let shader = wgsl::text(&listing);
        validate(&shader).unwrap_or_else(|e| panic!("{}: {e}\n{shader}", file.path.display()));
        for (extension, text) in [("ops", listing.to_string()), ("wgsl", shader)] {
            let path = file.path.with_extension(extension);
            if fs::read_to_string(&path).unwrap_or_default() == text {
                continue;
            }
            if std::env::var_os("LAWSON_BLESS").is_some() {
                fs::write(&path, text).unwrap();
            } else {
                changed.push(path);
            }
        }
    }
    assert!(changed.is_empty(), "changed; look at the diff after LAWSON_BLESS=1: {changed:?}");
}

/// Transcendental functions of the evaluator are those of f64; sums run in the same order on both sides.
#[test]
fn results_are_those_of_the_evaluator() {
    for (file, gpu) in files().iter().flat_map(|f| gpus().iter().map(move |g| (f, g))) {
        let private_bytes = file.capabilities.private_bytes;
        let gpu = gpu.clone().with_capabilities(Capabilities { private_bytes, ..*gpu.capabilities() });
        for symbols in &file.binds {
            let inputs = buffers(&file.kernel, symbols, &mut Rng::new(5));
            check(&gpu, &file.kernel, symbols, &inputs, Near::Units(8.0));
        }
    }
}

/// So few workgroups that members take several iterations each.
#[test]
fn few_members_do_all_iterations() {
    let capabilities = Capabilities { max_workgroups: 1, workgroup: 4, ..*gpu().capabilities() };
    let few = Gpu::new().unwrap().with_capabilities(capabilities);
    for file in files() {
        for symbols in &file.binds {
            let inputs = buffers(&file.kernel, symbols, &mut Rng::new(6));
            check(&few, &file.kernel, symbols, &inputs, Near::Units(8.0));
        }
    }
}

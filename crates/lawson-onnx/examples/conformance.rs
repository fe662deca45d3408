//! Runs a folder of tests in the layout of ONNX's backend suite, through the import and the reference interpreter:
//! `FOLDER/TEST/model.onnx` with `FOLDER/TEST/test_data_set_*/{input,output}_*.pb`.
//!
//! ```text
//! cargo run --release -p lawson-onnx --example conformance -- FOLDER [PART OF A NAME]
//! ```
//!
//! Where shapes, axes or scales are inputs, which Lawson must know, the model is imported again with all integer inputs of the
//! test, and all inputs of at most 8 elements, fixed; such tests are counted as *right when fixed*. Each test ends as right, *refused* (an error that says what is not imported) or *WRONG* (another result than the
//! expected one, or an error that is no refusal). A test whose data are no tensors is skipped. Tests that are not right are listed, refusals with their reason. Results
//! count as right within the tolerances of the suite: 1e-3 relative, 1e-7 absolute.

use lawson_graph::interp::{Options, run};
use lawson_graph::{Code, Graph, HostTensor, Value};
use lawson_onnx::{ImportOptions, read_onnx, read_onnx_with, tensor_from_bytes};
use std::error::Error;
use std::path::{Path, PathBuf};

enum Outcome {
    Right,
    RightWhenFixed,
    Refused(String),
    Wrong(String),
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("usage: conformance FOLDER [PART OF A NAME]")?;
    let part = args.next().unwrap_or_default();
    let (mut right, mut fixed, mut refused, mut wrong, mut skipped) = (0, 0, 0, 0, 0);
    for test in entries(Path::new(&folder))? {
        let name = test.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.contains(&part) {
            continue;
        }
        match check(&test) {
            Ok(Outcome::Right) => right += 1,
            Ok(Outcome::RightWhenFixed) => fixed += 1,
            Ok(Outcome::Refused(why)) => {
                refused += 1;
                println!("refused {name}: {}", why.replace('\n', " "));
            }
            Ok(Outcome::Wrong(why)) => {
                wrong += 1;
                println!("WRONG   {name}: {}", why.replace('\n', " "));
            }
            Err(e) => {
                skipped += 1;
                println!("skipped {name}: {}", e.to_string().replace('\n', " "));
            }
        }
    }
    println!("{right} right, {fixed} right when fixed, {refused} refused, {wrong} wrong, {skipped} skipped");
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, std::io::Error> {
    let mut all = std::fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<Result<Vec<_>, _>>()?;
    all.sort();
    Ok(all)
}

/// The tensors of the files with that prefix, by their number.
fn tensors(folder: &Path, prefix: &str) -> Result<Vec<(String, HostTensor)>, Box<dyn Error>> {
    let mut all = Vec::new();
    for i in 0.. {
        let path = folder.join(format!("{prefix}_{i}.pb"));
        if !path.exists() {
            break;
        }
        all.push(tensor_from_bytes(std::fs::read(path)?)?);
    }
    Ok(all)
}

fn check(test: &Path) -> Result<Outcome, Box<dyn Error>> {
    let model = test.join("model.onnx");
    let sets: Vec<PathBuf> = entries(test)?.into_iter().filter(|p| p.is_dir()).collect();
    let refusal = match read_onnx(&model) {
        Ok(graph) => {
            for set in &sets {
                if let Some(why) = check_set(&graph, set)? {
                    return Ok(Outcome::Wrong(why));
                }
            }
            return Ok(Outcome::Right);
        }
        Err(e) if is_refusal(&e) => e,
        Err(e) => return Ok(Outcome::Wrong(e.to_string())),
    };
    for set in &sets {
        let given = tensors(set, "input")?;
        let integers = given.into_iter().filter(|(_, t)| t.dtype().int_range().is_some() || t.len() <= 8);
        let options = ImportOptions { fixed: integers.collect(), ..ImportOptions::default() };
        match read_onnx_with(&model, options) {
            Ok(graph) => {
                if let Some(why) = check_set(&graph, set)? {
                    return Ok(Outcome::Wrong(why));
                }
            }
            Err(e) if is_refusal(&e) => return Ok(Outcome::Refused(refusal.message().to_string())),
            Err(e) => return Ok(Outcome::Wrong(e.to_string())),
        }
    }
    Ok(Outcome::RightWhenFixed)
}

fn is_refusal(e: &lawson_graph::Error) -> bool {
    matches!(e.code(), Code::OnnxUnsupported | Code::OnnxVersion)
}

/// What is wrong with the results of one set of data.
fn check_set(graph: &Graph, set: &Path) -> Result<Option<String>, Box<dyn Error>> {
    let given = tensors(set, "input")?;
    let mut inputs: Vec<Value> = Vec::new();
    for (i, input) in graph.inputs().iter().enumerate() {
        let name = graph.value_name(*input);
        let named = given.iter().find(|(n, _)| *n == name).or(given.get(i));
        inputs.push(named.ok_or("an input has no data")?.1.clone().into());
    }
    let results = match run(graph, &inputs, &Options { max_steps: 1 << 40, ..Options::default() }) {
        Ok(results) => results,
        Err(e) => return Ok(Some(e.to_string())),
    };
    for (i, (result, (name, expected))) in results.iter().zip(tensors(set, "output")?).enumerate() {
        let Some(result) = result.as_tensor() else { continue };
        if result.dtype() != expected.dtype() || result.sizes() != expected.sizes() {
            return Ok(Some(format!("result {i} `{name}` is {}, not {}", result.ty(), expected.ty())));
        }
        if result.text() != expected.text() {
            return Ok(Some(format!("result {i} `{name}` has other texts")));
        }
        for e in 0..if result.text().is_empty() { result.len() } else { 0 } {
            let (have, want) = (result.float_at(e), expected.float_at(e));
            let near = have == want
                || (have.is_nan() && want.is_nan())
                || (have - want).abs() <= 1e-7 + 1e-3 * want.abs();
            if !near {
                return Ok(Some(format!("element {e} of result {i} `{name}` is {have}, not {want}")));
            }
        }
    }
    Ok(None)
}

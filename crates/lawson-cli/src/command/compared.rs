//! Comparing outputs of a run with a file: how far each is off, and where it is first too far.

use crate::args::RunArgs;
use crate::report::{Failure, Outcome, USER};
use lawson::{Code, Error, HostTensor, Result, Value, npy};
use serde_json::{Value as Json, json};
use std::io::Write;
use std::path::Path;

/// What came of the comparison of each output.
pub struct Compared(Vec<(String, Difference)>);

enum Difference {
    /// The type is another.
    Type(String),
    /// The greatest errors, and the first element that is too far off: where, what came, what was expected.
    Elements { absolute: f64, relative: f64, first: Option<(Vec<usize>, f64, f64)> },
}

/// Compares outputs with tensors of the same names; an output that the file does not have is left out, unless it has none.
pub fn run(file: &Path, names: &[String], results: &[Value], args: &RunArgs) -> Result<Compared> {
    let dtype = |name: &str| {
        let at = names.iter().position(|n| n == name)?;
        results[at].as_tensor().map(HostTensor::dtype)
    };
    let mut all = Vec::new();
    for (name, want) in npy::read_npz(file, dtype)? {
        let Some(at) = names.iter().position(|n| *n == name) else { continue };
        let Some(have) = results[at].as_tensor() else { continue };
        all.push((name, difference(have, &want.to_host()?, args)));
    }
    if all.is_empty() {
        return Err(Error::new(Code::UnknownName, "the file has none of the outputs")
            .at(lawson::Place::File(file.display().to_string()))
            .help(format!("the outputs are: {}", names.join(", "))));
    }
    Ok(Compared(all))
}

fn difference(have: &HostTensor, want: &HostTensor, args: &RunArgs) -> Difference {
    if have.dtype() != want.dtype() || have.sizes() != want.sizes() || have.dtype() == lawson::DType::Str {
        return match have.text() == want.text()
            && have.sizes() == want.sizes()
            && have.dtype() == want.dtype()
        {
            true => Difference::Elements { absolute: 0.0, relative: 0.0, first: None },
            false => Difference::Type(format!("{} instead of {}", have.ty(), want.ty())),
        };
    }
    let (mut absolute, mut relative, mut first) = (0f64, 0f64, None);
    for i in 0..have.len() {
        let (h, w) = (have.float_at(i), want.float_at(i));
        let same = h == w || (h.is_nan() && w.is_nan());
        let off = if same { 0.0 } else { (h - w).abs() };
        let off = if off.is_nan() { f64::INFINITY } else { off };
        absolute = absolute.max(off);
        relative = relative.max(if off == 0.0 { 0.0 } else { off / w.abs() });
        if !same && (off > args.atol + args.rtol * w.abs() || w.is_infinite()) && first.is_none() {
            first = Some((index(i, have.sizes()), h, w));
        }
    }
    Difference::Elements { absolute, relative, first }
}

fn index(i: usize, sizes: &[usize]) -> Vec<usize> {
    let mut rest = i;
    let mut at: Vec<usize> = sizes
        .iter()
        .rev()
        .map(|size| {
            let here = rest % size;
            rest /= size;
            here
        })
        .collect();
    at.reverse();
    at
}

impl Compared {
    fn is_fine(&self) -> bool {
        self.0.iter().all(|(_, d)| matches!(d, Difference::Elements { first: None, .. }))
    }

    /// A line for each output.
    pub fn print(&self, out: &mut dyn Write) -> Outcome {
        for (name, difference) in &self.0 {
            match difference {
                Difference::Type(what) => writeln!(out, "{name}: WRONG, {what}")?,
                Difference::Elements { absolute, relative, first } => {
                    let errors = format!("at most {absolute:.3e} off, relatively {relative:.3e}");
                    match first {
                        None => writeln!(out, "{name}: as expected, {errors}")?,
                        Some((at, h, w)) => {
                            writeln!(
                                out,
                                "{name}: WRONG, {errors}; the first at {at:?}, {h} instead of {w}"
                            )?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The same as JSON.
    pub fn to_json(&self) -> Json {
        let entry = |(name, difference): &(String, Difference)| {
            let said = match difference {
                Difference::Type(what) => json!({ "fine": false, "type": what }),
                Difference::Elements { absolute, relative, first } => json!({
                    "fine": first.is_none(),
                    "absolute": crate::output::float_json(*absolute),
                    "relative": crate::output::float_json(*relative),
                    "first": first.as_ref().map(|(at, _, _)| at),
                }),
            };
            (name.clone(), said)
        };
        Json::Object(self.0.iter().map(entry).collect())
    }

    /// How the command ends.
    pub fn conclude(&self) -> Outcome {
        if self.is_fine() { Ok(()) } else { Err(Failure::Said(USER)) }
    }
}

//! Timing for `lawson run --time`: how long compiling took, the first run, and runs after it.

use lawson::cpu::Memory;
use lawson::{Code, Error, HostTensor, Result, Session, TensorView, TensorViewMut, Value};
use serde_json::{Value as Json, json};
use std::fmt;
use std::time::{Duration, Instant};

/// How long things took.
pub struct Times {
    /// Reading the file, up to a graph.
    pub import: Duration,
    pub compile: Duration,
    pub first: Duration,
    /// The runs after the first, shortest first; empty where none were asked for.
    pub further: Vec<Duration>,
}

/// Runs are repeated for so long, but at least [`LEAST`] and at most [`MOST`] times; fewer if one of them takes as long.
const ENOUGH: Duration = Duration::from_secs(1);
const LEAST: usize = 3;
const MOST: usize = 1000;

/// Times of further runs, sorted; none if the first took much longer than all of them may.
pub fn further(
    session: &mut Session,
    inputs: &[Value],
    results: &[Value],
    first: Duration,
) -> Result<Vec<Duration>> {
    // What a first run has to do besides does not count beside that.
    if first >= ENOUGH * 10 {
        return Ok(Vec::new());
    }
    in_place(session, inputs, results, |run| repeat(run))
}

/// Calls `with` with a run. Tensors are read and written in place, in memory that is taken once; values that have no views are
/// given anew to each run.
pub fn in_place<T>(
    session: &mut Session,
    inputs: &[Value],
    results: &[Value],
    with: impl FnOnce(&mut dyn FnMut() -> Result<()>) -> Result<T>,
) -> Result<T> {
    let (Some(given), Some(taken)) = (tensors(inputs), tensors(results)) else {
        return with(&mut || session.run_values(inputs).map(drop));
    };
    let views = given
        .iter()
        .map(|t| TensorView::new(t.dtype(), t.sizes(), t.bytes()))
        .collect::<Result<Vec<TensorView<'_>>>>()?;
    let memory = |t: &&HostTensor| {
        Memory::zeroed(t.bytes().len().max(1)).map_err(|e| Error::new(Code::Budget, e.to_string()))
    };
    let mut memories = taken.iter().map(memory).collect::<Result<Vec<Memory>>>()?;
    let mut outputs = memories
        .iter_mut()
        .zip(&taken)
        .map(|(m, t)| TensorViewMut::new(t.dtype(), t.sizes(), &mut m.as_mut_slice()[..t.bytes().len()]))
        .collect::<Result<Vec<TensorViewMut<'_>>>>()?;
    with(&mut || session.run_into(&views, &mut outputs))
}

/// The values as tensors that views can be made of, if all are.
fn tensors(values: &[Value]) -> Option<Vec<&HostTensor>> {
    values.iter().map(|v| v.as_tensor().filter(|t| t.dtype() != lawson::DType::Str)).collect()
}

/// Whether so many runs are enough, which took so long together and the last of them by itself.
fn enough(count: usize, all: Duration, last: Duration) -> bool {
    all >= ENOUGH && (count >= LEAST || last >= ENOUGH)
}

fn repeat(run: &mut dyn FnMut() -> Result<()>) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    let start = Instant::now();
    while times.len() < MOST {
        let one = Instant::now();
        run()?;
        times.push(one.elapsed());
        if enough(times.len(), start.elapsed(), times[times.len() - 1]) {
            break;
        }
    }
    times.sort_unstable();
    Ok(times)
}

/// What this part of samples, which are sorted, does not exceed.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * part).round() as usize).copied().unwrap_or(f64::NAN)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl Times {
    fn median(&self) -> Duration {
        self.further.get(self.further.len() / 2).copied().unwrap_or(self.first)
    }

    pub fn to_json(&self) -> Json {
        json!({
            "import_ms": milliseconds(self.import),
            "compile_ms": milliseconds(self.compile),
            "first_ms": milliseconds(self.first),
            "median_ms": milliseconds(self.median()),
            "runs": self.further.len(),
        })
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [import, compile, first, median] =
            [self.import, self.compile, self.first, self.median()].map(milliseconds);
        let runs = self.further.len();
        if runs == 0 {
            return write!(
                f,
                "reading {import:.3} ms, compiling {compile:.3} ms, first run {first:.3} ms, and no more of that length"
            );
        }
        write!(
            f,
            "reading {import:.3} ms, compiling {compile:.3} ms, first run {first:.3} ms, median of {runs} more {median:.4} ms"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_of_the_further_runs() {
        let further = [1, 2, 300].map(Duration::from_millis).to_vec();
        let (import, compile) = (Duration::ZERO, Duration::ZERO);
        let times = Times { import, compile, first: Duration::from_secs(1), further };
        assert_eq!(times.to_json()["median_ms"], 2.0);
        assert_eq!(times.to_json()["first_ms"], 1000.0);
        let times = Times { further: Vec::new(), ..times };
        assert_eq!(times.to_json()["median_ms"], 1000.0);
        assert_eq!(times.to_json()["runs"], 0);
        assert!(times.to_string().contains("no more of that length"));
    }

    #[test]
    fn one_run_that_takes_as_long_as_all_may_is_enough() {
        let second = Duration::from_secs(1);
        assert!(!enough(2, second, second / 2));
        assert!(enough(3, second, second / 2));
        assert!(enough(1, second, second));
        assert!(!enough(500, second / 2, second / 1000));
    }
}

//! Runs of a program that is a plan: on values, on views of the caller's memory, and step by step with a clock.

use super::instance::Instance;
use super::{Going, Planned, PlannedSessions};
use crate::session::Budget;
use crate::view::{TensorView, TensorViewMut};
use lawson_cpu::memory::Memory;
use lawson_graph::{Code, DType, Error, HostTensor, Place, Result, Side, Value};

/// Whether a run took place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ran {
    Yes,
    /// Some view is not contiguous, or the run might fail after it has written: the caller must copy.
    No,
}

/// How often a program runs, and which outputs become inputs in between.
#[derive(Clone, Copy)]
pub(crate) struct Times<'f> {
    pub(crate) times: u64,
    pub(crate) feeds: &'f [(usize, usize)],
    #[cfg(feature = "wgpu")]
    pub(crate) pace: lawson_wgpu::Pace,
    /// Whether one run of the plan does several.
    #[cfg(feature = "wgpu")]
    pub(crate) stride: Option<lawson_wgpu::Stride<'f>>,
}

impl Times<'_> {
    pub(crate) const ONCE: Times<'static> = Times {
        times: 1,
        feeds: &[],
        #[cfg(feature = "wgpu")]
        pace: lawson_wgpu::Pace::Whole,
        #[cfg(feature = "wgpu")]
        stride: None,
    };

    /// Whether several runs may be one of another plan: nobody asked for a pace.
    pub(crate) fn is_free(&self) -> bool {
        #[cfg(feature = "wgpu")]
        return self.pace == lawson_wgpu::Pace::default();
        #[cfg(not(feature = "wgpu"))]
        true
    }
}

pub(super) fn has_bytes(value: &Value) -> bool {
    value.as_tensor().is_some_and(|t| t.dtype() != DType::Str)
}

/// The bytes of a value; one of the host has none.
fn bytes_of(value: &Value) -> &[u8] {
    match value {
        Value::Tensor(t) if has_bytes(value) => &t.bytes()[..],
        _ => &[],
    }
}

/// Memory of so many bytes, with the number.
fn memory(bytes: usize) -> Result<(Memory, usize)> {
    let memory = Memory::zeroed(bytes.max(1)).map_err(|e| Error::new(Code::Budget, e.to_string()))?;
    Ok((memory, bytes))
}

/// So many bytes, if they can be had: sizes come from models, which may say anything.
fn zeros(bytes: usize) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    all.try_reserve_exact(bytes).map_err(|_| {
        Error::new(Code::Budget, format!("an output takes {bytes} bytes, which are not to be had"))
    })?;
    all.resize(bytes, 0);
    Ok(all)
}

impl Planned {
    pub(crate) fn run_values<'s>(
        &'s self,
        sessions: &'s mut PlannedSessions,
        inputs: &[Value],
        times: Times<'s>,
        budget: &Budget,
    ) -> Result<Vec<Value>> {
        let going = if self.signature.plain {
            self.go(sessions, self.signature.sizes(inputs)?.into_iter(), times, budget)?
        } else {
            Going { session: self.fit_all(&mut sessions.once, inputs, budget)?, times, more: None }
        };
        let Going { session, times, more } = going;
        let mut results: Vec<Vec<u8>> = session.output_bytes().map(zeros).collect::<Result<_>>()?;
        let given = inputs.iter().map(bytes_of).chain(more);
        session.instance.run(given, results.iter_mut().map(Vec::as_mut_slice), times, &budget.options)?;
        let mut values = Vec::with_capacity(results.len());
        for (n, bytes) in results.into_iter().enumerate() {
            values.push(match &session.outputs[n] {
                Some((dtype, sizes)) => HostTensor::from_bytes(*dtype, sizes, bytes)?.into(),
                None => {
                    let value = session.instance.take_value(n);
                    value.ok_or_else(|| Error::internal("a run left out an output"))?
                }
            });
        }
        Ok(values)
    }

    /// Runs on views; allocates nothing if the sizes are those of the last run.
    pub(crate) fn run_views<'s>(
        &'s self,
        sessions: &'s mut PlannedSessions,
        inputs: &[TensorView<'_>],
        outputs: &mut [TensorViewMut<'_>],
        times: Times<'s>,
        budget: &Budget,
    ) -> Result<Ran> {
        let contiguous = self.signature.plain
            && inputs.iter().all(|v| v.contiguous().is_some())
            && outputs.iter_mut().all(|v| v.contiguous().is_some());
        if !contiguous {
            return Ok(Ran::No);
        }
        let sizes = inputs.iter().map(|v| (v.dtype(), v.sizes()));
        let Going { session, times, more } = self.go(sessions, sizes, times, budget)?;
        if session.instance.is_fallible() || session.outputs.iter().any(Option::is_none) {
            return Ok(Ran::No);
        }
        let named = outputs.iter().zip(&self.signature.outputs);
        for (size, (v, (name, _))) in session.outputs.iter().zip(named) {
            let Some((d, n)) = size else { continue };
            v.check(*d, n).map_err(|e| e.at(Place::Port { side: Side::Output, name: name.clone() }))?;
        }
        let given = inputs.iter().filter_map(TensorView::contiguous).chain(more);
        let taken = outputs.iter_mut().filter_map(TensorViewMut::contiguous);
        session.instance.run(given, taken, times, &budget.options)?;
        Ok(Ran::Yes)
    }

    /// Runs each step by itself so many times; gives the seconds of each, by round.
    pub(crate) fn profile(
        &self,
        sessions: &mut PlannedSessions,
        inputs: &[Value],
        rounds: usize,
        budget: &Budget,
    ) -> Result<Vec<Vec<f64>>> {
        let session = self.fit_all(&mut sessions.once, inputs, budget)?;
        let sizes: Vec<usize> = session.output_bytes().collect();
        match &mut session.instance {
            Instance::Cpu(instance) => {
                let mut outputs = sizes.into_iter().map(memory).collect::<Result<Vec<_>>>()?;
                self.in_rounds(rounds, |seconds| {
                    let taken = outputs.iter_mut().map(|(m, n)| &mut m.as_mut_slice()[..*n]);
                    instance.profile(inputs.iter().map(bytes_of), taken, seconds, &budget.options)
                })
            }
            #[cfg(feature = "wgpu")]
            Instance::Wgpu(instance) => self.in_rounds(rounds, |seconds| {
                instance.profile(inputs.iter().map(bytes_of), seconds, &budget.options)
            }),
        }
    }

    /// The seconds of each step, by round.
    fn in_rounds(
        &self,
        rounds: usize,
        mut round: impl FnMut(&mut [f64]) -> Result<()>,
    ) -> Result<Vec<Vec<f64>>> {
        let mut all = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let mut seconds = vec![0.0; self.plan().steps.len()];
            round(&mut seconds)?;
            all.push(seconds);
        }
        Ok(all)
    }
}

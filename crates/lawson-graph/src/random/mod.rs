//! Random numbers, tensors and graphs from a seed, for tests, fuzzing and random inputs.
//!
//! Everything here is deterministic: the same seed gives the same bits on every machine and in every version with the
//! same `graph.rs`. It is not for cryptography, and not what `random_bits` computes.

mod chain;
mod composite;
mod graph;

pub use chain::random_chain;
pub use graph::{Dtypes, GraphShape, random_graph};

use crate::dim::{Bindings, Facts, Symbol};
use crate::dtype::{Class, DType};
use crate::error::{Code, Error, Result};
use crate::graph::Graph;
use crate::number;
use crate::tensor::{HostTensor, Value};
use crate::types::Type;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A small generator of random numbers: a counter through a mixing function (SplitMix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// From a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { ((u128::from(self.bits()) * n as u128) >> 64) as usize }
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = (i128::from(high) - i128::from(low) + 1).max(1) as u128;
        let offset = (u128::from(self.bits()) * span) >> 64;
        (i128::from(low) + offset as i128) as i64
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// A number in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * 2f64.powi(-53)
    }

    /// A normally distributed number, mean 0 and variance 1.
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// One of the items; `None` if there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// The items in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// A generator of its own, independent of what this one does next.
    pub fn fork(&mut self) -> Rng {
        Rng(self.bits())
    }
}

/// What kind of elements a random tensor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// Floats of order 1, small integers: what a model might see.
    Tame,
    /// Floats of order 1, and integers that are 0 or 1: what any model can take for indices, tokens, masks and flags.
    Safe,
    /// Also zeros of both signs, infinities, NaN, the extremes of the dtype, exact ties.
    Wild,
}

/// A tensor of random elements.
pub fn random_tensor(rng: &mut Rng, dtype: DType, sizes: &[usize], elements: Elements) -> Result<HostTensor> {
    let count = sizes.iter().try_fold(1usize, |n, s| n.checked_mul(*s)).filter(|n| *n <= 1 << 34);
    let Some(count) = count else {
        return Err(Error::new(Code::Budget, format!("a random tensor of sizes {sizes:?} is too large")));
    };
    match dtype.class() {
        Class::Str => {
            let words = ["", "a", "bc", "fusion", "β"];
            let text = (0..count).map(|_| Arc::from(words[rng.below(words.len())])).collect();
            HostTensor::from_text(sizes, text)
        }
        Class::Float => {
            let values: Vec<f64> = (0..count).map(|_| random_float(rng, dtype, elements)).collect();
            HostTensor::from_floats(dtype, sizes, &values)
        }
        _ => {
            let values: Vec<i128> = (0..count).map(|_| random_int(rng, dtype, elements)).collect();
            HostTensor::from_ints(dtype, sizes, &values)
        }
    }
}

fn random_float(rng: &mut Rng, dtype: DType, elements: Elements) -> f64 {
    if elements == Elements::Wild && rng.one_in(6) {
        let max = dtype.max_finite().unwrap_or(0.0);
        let specials = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            2.5,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            max,
            -max,
            dtype.min_subnormal().unwrap_or(0.0),
        ];
        return number::round(dtype, specials[rng.below(specials.len())]);
    }
    number::round(dtype, rng.normal())
}

fn random_int(rng: &mut Rng, dtype: DType, elements: Elements) -> i128 {
    let (low, high) = dtype.int_range().unwrap_or((0, 1));
    if elements == Elements::Wild && rng.one_in(6) {
        return [low, high, 0, 1, low + 1, number::wrap(dtype, -1)][rng.below(6)];
    }
    let (low, high) = match elements {
        Elements::Safe => (low.max(0), high.min(1)),
        Elements::Tame | Elements::Wild => (low.max(-9), high.min(9)),
    };
    i128::from(rng.between(low as i64, high as i64))
}

/// Random values for the symbols that a graph's inputs mention, within its facts. Sizes stay at most `max`.
pub fn random_bindings(rng: &mut Rng, graph: &Graph, max: i64) -> Result<Bindings> {
    complete_bindings(rng, graph, &Bindings::new(), max)
}

/// Random values for those symbols of a graph's inputs that have none yet, within its facts. Sizes stay at most `max`.
pub fn complete_bindings(rng: &mut Rng, graph: &Graph, known: &Bindings, max: i64) -> Result<Bindings> {
    let mut symbols: BTreeSet<Symbol> = BTreeSet::new();
    for v in graph.inputs() {
        graph.ty(*v).visit_dims(&mut |d| {
            d.visit_symbols(&mut |s| {
                symbols.insert(s.clone());
            });
        });
    }
    symbols.retain(|s| known.get(s).is_none());
    const TRIES: usize = 2000;
    for attempt in 0..TRIES {
        let mut bindings = known.clone();
        // Small sizes first, then whatever satisfies the facts.
        let reach = if attempt < TRIES / 2 { max.min(7) } else { max };
        for s in &symbols {
            let (low, high) = bounds(graph.facts(), s, reach);
            bindings.define(s.clone(), rng.between(low, high), format!("random value of `{s}`"));
        }
        if bindings.check(graph.facts()).is_ok() {
            return Ok(bindings);
        }
    }
    Err(Error::new(Code::Binding, "found no values for the symbols that satisfy the graph's facts")
        .help("bind the symbols by hand"))
}

fn bounds(facts: &Facts, symbol: &Symbol, reach: i64) -> (i64, i64) {
    let (low, high) = facts.bounds(&symbol.clone().into());
    let low = low.unwrap_or(0);
    (low, high.unwrap_or(i64::MAX).min(low.saturating_add(reach)))
}

/// Random values for all inputs of a graph, for given sizes of its symbols.
pub fn random_inputs(
    rng: &mut Rng,
    graph: &Graph,
    bindings: &Bindings,
    elements: Elements,
) -> Result<Vec<Value>> {
    graph.inputs().iter().map(|v| random_value(rng, graph.ty(*v), bindings, elements)).collect()
}

fn random_value(rng: &mut Rng, ty: &Type, bindings: &Bindings, elements: Elements) -> Result<Value> {
    Ok(match ty {
        Type::Tensor(t) => {
            let sizes = bindings.eval_shape(&t.shape)?;
            Value::Tensor(random_tensor(rng, t.dtype, &sizes, elements)?)
        }
        Type::Sequence(s) => {
            let mut inner = bindings.clone();
            let len = rng.between(0, bindings.eval(&s.max_len)?.min(3));
            let mut items = Vec::new();
            for _ in 0..len {
                for (i, bound) in s.open.iter().enumerate() {
                    let size = rng.between(0, bindings.eval(bound)?.min(5));
                    inner.define(crate::types::SequenceType::open_symbol(i), size, "an open dimension");
                }
                let mut sizes = inner.eval_shape(&s.element.shape)?;
                let most_missing = s.element.rank().saturating_sub(s.least_rank);
                sizes.drain(..rng.between(0, most_missing as i64) as usize);
                items.push(random_tensor(rng, s.element.dtype, &sizes, elements)?);
            }
            Value::Sequence(items)
        }
        Type::Optional(inner) => Value::Optional(match rng.one_in(3) {
            true => None,
            false => Some(Box::new(random_value(rng, inner, bindings, elements)?)),
        }),
    })
}

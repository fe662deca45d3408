//! Running a graph in bounded mode, and what it gives: best guesses with bounds.

use super::array::{Array, Data, Pool};
use super::bound::{Bounds, FloatBound, Flushing, IntBound};
use super::collective::Exchange;
use super::machine::{Item, Machine};
use super::{Options, bind};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Graph;
use crate::tensor::Value;
use std::sync::Arc;

/// A result of a run in bounded mode.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Bounded {
    /// A tensor.
    Tensor(BoundedTensor),
    /// A list of tensors.
    Sequence(Vec<BoundedTensor>),
    /// A value that may be absent.
    Optional(Option<Box<Bounded>>),
    /// Nothing is known, not even the sizes: they, or a text, depend on something undetermined.
    Undetermined,
}

/// A tensor of best guesses, each with the range in which every correct target's element lies.
#[derive(Clone, Debug)]
pub struct BoundedTensor {
    dtype: DType,
    sizes: Vec<usize>,
    elements: Elements,
}

#[derive(Clone, Debug)]
enum Elements {
    Floats(Vec<FloatBound>),
    Ints(Vec<IntBound>),
    Text(Vec<Arc<str>>),
}

/// Runs a graph in bounded mode: floats are computed in f64 without rounding, and beside each stands the range in which
/// the element of every target lies that computes in the declared dtypes, in any order of summation.
///
/// ```
/// use lawson_graph::interp::{Bounded, Options, run_bounded};
/// use lawson_graph::{Builder, DType, HostTensor, Type};
/// let mut b = Builder::new("third");
/// let x = b.input("x", Type::tensor(DType::F32, [1]))?;
/// let three = b.full_like(x, 3.0)?;
/// let y = b.div(x, three)?;
/// b.output("y", y)?;
/// let graph = b.finish()?;
/// let one = HostTensor::from_slice(&[1], &[1f32])?;
/// let results = run_bounded(&graph, &[one.into()], &Options::default())?;
/// let Bounded::Tensor(y) = &results[0] else { panic!("a tensor") };
/// assert_eq!(y.value(0), 1.0 / 3.0);
/// assert!(y.error(0) > 0.0 && y.error(0) < 2e-8);
/// # Ok::<(), lawson_graph::Error>(())
/// ```
pub fn run_bounded(graph: &Graph, inputs: &[Value], options: &Options) -> Result<Vec<Bounded>> {
    graph.verify()?;
    let bindings = bind(graph, inputs)?;
    let _flushing = Flushing::new(options.flushes);
    let exchange = Exchange::new(1);
    let pool = Pool::new(options.max_bytes);
    let mut machine = Machine::<Bounds>::new(options, pool, bindings, &exchange, 0);
    let items = inputs.iter().map(|v| Item::decode(&machine, v)).collect::<Result<_>>()?;
    let results = machine.run(graph, items)?;
    if machine.lost_track() {
        return Ok(results.iter().map(|_| Bounded::Undetermined).collect());
    }
    Ok(results.iter().map(Bounded::new).collect())
}

impl Bounded {
    fn new(item: &Item<Bounds>) -> Bounded {
        match item {
            Item::Tensor(x) => Bounded::Tensor(BoundedTensor::new(x)),
            Item::Sequence(v) => Bounded::Sequence(v.iter().map(BoundedTensor::new).collect()),
            Item::Optional(None) => Bounded::Optional(None),
            Item::Optional(Some(inner)) => Bounded::Optional(Some(Box::new(Bounded::new(inner)))),
        }
    }

    /// The tensor, if it is one.
    pub fn as_tensor(&self) -> Option<&BoundedTensor> {
        match self {
            Bounded::Tensor(t) => Some(t),
            _ => None,
        }
    }
}

impl BoundedTensor {
    /// An output lives in memory, so it is rounded to its dtype.
    fn new(x: &Array<Bounds>) -> BoundedTensor {
        let elements = match x.data() {
            Data::Float(v) => Elements::Floats(v.iter().map(|e| e.stored(x.dtype)).collect()),
            Data::Int(v) => Elements::Ints(v.clone()),
            Data::Text(v) => Elements::Text(v.clone()),
        };
        BoundedTensor { dtype: x.dtype, sizes: x.sizes.to_vec(), elements }
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes, outermost first.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        match &self.elements {
            Elements::Floats(v) => v.len(),
            Elements::Ints(v) => v.len(),
            Elements::Text(v) => v.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The best guess at element `i`; NaN for text.
    pub fn value(&self, i: usize) -> f64 {
        match &self.elements {
            Elements::Floats(v) => v[i].value,
            Elements::Ints(v) => v[i].value as f64,
            Elements::Text(_) => f64::NAN,
        }
    }

    /// The best guess at element `i` of an integer or bool tensor.
    pub fn int(&self, i: usize) -> Option<i128> {
        match &self.elements {
            Elements::Ints(v) => Some(v[i].value),
            _ => None,
        }
    }

    /// The least and the greatest value that element `i` of an integer or bool tensor may have.
    pub fn int_range(&self, i: usize) -> Option<(i128, i128)> {
        match &self.elements {
            Elements::Ints(v) => Some((v[i].lo, v[i].hi)),
            _ => None,
        }
    }

    /// Element `i` of a text tensor.
    pub fn text(&self, i: usize) -> Option<&Arc<str>> {
        match &self.elements {
            Elements::Text(v) => v.get(i),
            _ => None,
        }
    }

    /// The least and the greatest value that element `i` may have. Both are NaN if it certainly is; from -inf to inf it
    /// may also be NaN.
    pub fn range(&self, i: usize) -> (f64, f64) {
        match &self.elements {
            Elements::Floats(v) => (v[i].lo, v[i].hi),
            Elements::Ints(v) => (v[i].lo as f64, v[i].hi as f64),
            Elements::Text(_) => (f64::NAN, f64::NAN),
        }
    }

    /// How far element `i` may be from the best guess; infinite if it is undetermined, 0 if it is certain.
    pub fn error(&self, i: usize) -> f64 {
        match &self.elements {
            Elements::Floats(v) if v[i].is_point() && v[i].value == v[i].lo => 0.0,
            Elements::Floats(v) if v[i].is_nan() || !v[i].lo.is_finite() && v[i].is_point() => 0.0,
            Elements::Floats(v) => (v[i].hi - v[i].value).max(v[i].value - v[i].lo),
            Elements::Ints(v) => (v[i].hi - v[i].value).max(v[i].value - v[i].lo) as f64,
            Elements::Text(_) => 0.0,
        }
    }

    /// Whether element `i` is known: floats within a finite bound (or certainly infinite or NaN), integers and bools
    /// exactly.
    pub fn determined(&self, i: usize) -> bool {
        match &self.elements {
            Elements::Floats(v) => v[i].is_point() || (v[i].lo.is_finite() && v[i].hi.is_finite()),
            Elements::Ints(v) => v[i].lo == v[i].hi,
            Elements::Text(_) => true,
        }
    }
}

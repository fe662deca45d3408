//! Random lists of any depth and size, whose values stay of order 1 however deep they are.
//!
//! Why they do: a layer's weights have variance `K / fan-in`, doubled after a ReLU (which halves the second moment of
//! what it is given), and its bias has variance `1 - K`. So the second moment `q` of the values goes through
//! `q → K·q + (1 - K)` at each layer, whose fixed point is 1 and which forgets where it started, K being below 1. The
//! usual K = 1 without bias is a random walk instead: it is off by orders of magnitude after some hundred layers.
//!
//! Why they never all become zero: column 0 of each layer is a wire, `a·x₀ + (1 - a)` with `0 < a < 1`, which stays
//! positive once x₀ is not negative, ReLU or not. Without it a narrow list dies at the first unlucky ReLU.

use crate::op::{Input, ListOp, Matrix};
use lawson_graph::random::Rng;
use lawson_graph::{Code, Error, Result};

/// What a random list should be.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomList {
    /// How many entries, the two transfers included: `depth - 2` operators, each a `Linear` or a `Relu` at random.
    pub depth: usize,
    /// The columns of every matrix between the operators.
    pub size: usize,
    /// The rows of the input.
    pub batch: usize,
    /// Equal seeds give equal lists, on every machine.
    pub seed: u64,
    /// Whether a softmax stands before the transfer back, in addition to the `depth` entries.
    pub softmax: bool,
}

impl Default for RandomList {
    /// Depth 8, size 16, batch 1, seed 0, with softmax.
    fn default() -> RandomList {
        RandomList { depth: 8, size: 16, batch: 1, seed: 0, softmax: true }
    }
}

/// The part K of the second moment that a layer passes on.
const KEPT: f64 = 0.9;

/// The most elements that a random list may hold, so that a slip of the keyboard does not exhaust the machine.
const MAX_ELEMENTS: usize = 1 << 30;

/// The most that one may hold which a file asks for.
pub(crate) const MAX_ELEMENTS_OF_FILE: usize = 1 << 28;

/// What an entry counts for beside its elements.
const ENTRY: usize = 512;

/// A list made from a seed, with its input.
///
/// ```
/// use lawson_list::{RandomList, random_list, validate};
/// let list = random_list(&RandomList { depth: 64, size: 256, seed: 7, ..RandomList::default() })?;
/// assert_eq!(list.len(), 65);
/// validate(&list)?;
/// # Ok::<(), lawson_graph::Error>(())
/// ```
pub fn random_list(wanted: &RandomList) -> Result<Vec<ListOp>> {
    random_list_within(wanted, MAX_ELEMENTS)
}

/// As [`random_list`], of at most so many elements.
pub(crate) fn random_list_within(wanted: &RandomList, most: usize) -> Result<Vec<ListOp>> {
    let RandomList { depth, size, batch, seed, softmax } = *wanted;
    check(wanted, most)?;
    let mut choose = Rng::new(seed);
    let input = input(batch, size, &mut choose.fork());
    let mut list = Vec::with_capacity(depth + 1);
    list.push(ListOp::HostToDevice { input: Input::Data(input) });
    let mut after_relu = false;
    for _ in 0..depth - 2 {
        if choose.one_in(2) {
            let mut rng = choose.fork();
            list.push(linear(size, after_relu, &mut rng));
            after_relu = false;
        } else {
            list.push(ListOp::Relu);
            after_relu = true;
        }
    }
    if softmax {
        list.push(ListOp::Softmax);
    }
    list.push(ListOp::DeviceToHost);
    Ok(list)
}

fn check(wanted: &RandomList, most: usize) -> Result<()> {
    if wanted.depth < 3 {
        return Err(Error::new(
            Code::ListEmpty,
            format!("a list of depth {} has no operator between its transfers", wanted.depth),
        )
        .help("the depth counts the two transfers; take at least 3"));
    }
    if wanted.size == 0 || wanted.batch == 0 {
        let message = format!("the input would be empty: {}×{}", wanted.batch, wanted.size);
        return Err(Error::new(Code::ListData, message));
    }
    // An entry takes memory beside its elements, which counts when many of them are small.
    let layer = wanted.size.checked_add(1).and_then(|n| n.checked_mul(wanted.size)?.checked_add(ENTRY));
    let weights = layer.and_then(|n| n.checked_mul(wanted.depth - 2));
    let input = wanted.batch.checked_mul(wanted.size);
    match weights.zip(input).and_then(|(w, i)| w.checked_add(i)) {
        Some(n) if n <= most => Ok(()),
        _ => Err(Error::new(
            Code::Budget,
            format!("a random list of this depth, size and batch could hold more than {most} elements"),
        )),
    }
}

/// Elements of mean square 1, those of column 0 not negative: the wire's beginning.
fn input(rows: usize, cols: usize, rng: &mut Rng) -> Matrix {
    let reach = 3f64.sqrt();
    let mut data = Vec::with_capacity(rows * cols);
    for i in 0..rows * cols {
        let element = symmetric(rng, reach);
        data.push(if i % cols == 0 { element.abs() } else { element });
    }
    Matrix { rows, cols, data }
}

fn linear(size: usize, after_relu: bool, rng: &mut Rng) -> ListOp {
    // A uniform element in ±r has variance r²/3.
    let gain = if after_relu { 2.0 } else { 1.0 };
    let reach = (3.0 * KEPT * gain / size as f64).sqrt();
    let mut weights: Vec<f32> = (0..size * size).map(|_| symmetric(rng, reach)).collect();
    let mut bias: Vec<f32> = (0..size).map(|_| symmetric(rng, (3.0 * (1.0 - KEPT)).sqrt())).collect();
    for row in 0..size {
        weights[row * size] = 0.0;
    }
    let a = 0.7 + 0.2 * symmetric(rng, 1.0);
    (weights[0], bias[0]) = (a, 1.0 - a);
    ListOp::Linear { weights: Matrix::new(size, size, weights), bias: Matrix::new(1, size, bias) }
}

/// A uniform number in `±reach`. Only exact arithmetic and one rounding: the same on every machine.
pub(crate) fn symmetric(rng: &mut Rng, reach: f64) -> f32 {
    ((2.0 * rng.unit() - 1.0) * reach) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_lists_and_others_do_not() {
        let wanted = RandomList { depth: 20, size: 5, ..RandomList::default() };
        assert_eq!(random_list(&wanted).unwrap(), random_list(&wanted).unwrap());
        assert_ne!(
            random_list(&wanted).unwrap(),
            random_list(&RandomList { seed: 1, ..wanted.clone() }).unwrap()
        );
    }

    #[test]
    fn the_depth_counts_the_transfers() {
        let list = random_list(&RandomList { depth: 3, softmax: false, ..RandomList::default() }).unwrap();
        assert_eq!(list.len(), 3);
        let list = random_list(&RandomList { depth: 64, ..RandomList::default() }).unwrap();
        assert_eq!(list.len(), 65);
        assert!(list[63].has_softmax());
    }

    #[test]
    fn both_operators_occur() {
        let list = random_list(&RandomList { depth: 200, size: 1, ..RandomList::default() }).unwrap();
        let relus = list.iter().filter(|op| matches!(op, ListOp::Relu)).count();
        assert!((60..140).contains(&relus), "{relus}");
    }

    #[test]
    fn lists_that_cannot_be_are_refused() {
        let code = |wanted: RandomList| random_list(&wanted).unwrap_err().code();
        assert_eq!(code(RandomList { depth: 2, ..RandomList::default() }), Code::ListEmpty);
        assert_eq!(code(RandomList { size: 0, ..RandomList::default() }), Code::ListData);
        assert_eq!(code(RandomList { batch: 0, ..RandomList::default() }), Code::ListData);
        assert_eq!(code(RandomList { size: usize::MAX, ..RandomList::default() }), Code::Budget);
        assert_eq!(code(RandomList { depth: usize::MAX, ..RandomList::default() }), Code::Budget);
    }
}

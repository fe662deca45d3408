//! Sorting elements with ranges.
//!
//! The k-th of a row lies between the k-th of the lower ends and the k-th of the upper ends, whatever the order. What is
//! carried along is known where a position is certain: everything before it is certainly before everything after.

use super::float::FloatBound;
use super::int::IntBound;
use crate::interp::mode::Order;
use crate::interp::plain::{float_order, order_by};
use std::cmp::Ordering;
use std::ops::Range;

/// What sorting needs to know of an element: its guess, its ends, and whether it is a single point.
struct Key<T> {
    value: T,
    lo: T,
    hi: T,
    is_point: bool,
}

pub(super) fn floats(row: &[FloatBound], descending: bool) -> Order<FloatBound> {
    // What may be NaN may also be greater than everything.
    let key = |e: &FloatBound| Key {
        value: e.value,
        lo: e.lo,
        hi: if e.is_anything() { f64::NAN } else { e.hi },
        is_point: e.is_nan() || e.lo == e.hi,
    };
    let keys: Vec<Key<f64>> = row.iter().map(key).collect();
    let (from, unsettled) = arrange(&keys, descending, float_order);
    let ends = |of: fn(&Key<f64>) -> f64| {
        let ends: Vec<f64> = keys.iter().map(of).collect();
        order_by(&ends, descending, float_order).keys
    };
    let (lows, highs) = (ends(|k| k.lo), ends(|k| k.hi));
    let settled = |position: usize| !unsettled.iter().any(|r: &Range<usize>| r.contains(&position));
    let keys = from.iter().enumerate().map(|(position, source)| {
        if settled(position) {
            return row[*source];
        }
        // The two zeros are equal in order, so an end that is zero has either sign.
        let signed = |end: f64, zero: f64| if end == 0.0 { zero } else { end };
        let value = row[*source].value;
        let (lo, hi) = (signed(lows[position], -0.0), signed(highs[position], 0.0));
        if lo.is_nan() { FloatBound::point(f64::NAN) } else { FloatBound::range(value, lo, hi) }
    });
    Order { keys: keys.collect(), from: from.clone(), unsettled: unsettled.clone() }
}

pub(super) fn ints(row: &[IntBound], descending: bool) -> Order<IntBound> {
    let key = |e: &IntBound| Key { value: e.value, lo: e.lo, hi: e.hi, is_point: e.lo == e.hi };
    let keys: Vec<Key<i128>> = row.iter().map(key).collect();
    let (from, unsettled) = arrange(&keys, descending, i128::cmp);
    let ends = |of: fn(&Key<i128>) -> i128| {
        let ends: Vec<i128> = keys.iter().map(of).collect();
        order_by(&ends, descending, i128::cmp).keys
    };
    let (lows, highs) = (ends(|k| k.lo), ends(|k| k.hi));
    let keys = from.iter().enumerate().map(|(position, source)| IntBound {
        value: row[*source].value,
        lo: lows[position],
        hi: highs[position],
    });
    Order { keys: keys.collect(), from: from.clone(), unsettled }
}

/// The order by the guesses, and the groups of positions that may be ordered otherwise.
fn arrange<T: Copy>(
    keys: &[Key<T>],
    descending: bool,
    compare: impl Fn(&T, &T) -> Ordering,
) -> (Vec<usize>, Vec<Range<usize>>) {
    let guesses: Vec<T> = keys.iter().map(|k| k.value).collect();
    let from = order_by(&guesses, descending, &compare).from;
    // Seen upwards, `first` is the end that must stay below and `last` the one that must stay above.
    let beyond = |a: &Key<T>, b: &Key<T>| {
        // Whether `a`, which stands before `b`, certainly belongs there.
        let (reach, start) = if descending { (a.lo, b.hi) } else { (a.hi, b.lo) };
        let apart = if descending { compare(&reach, &start).reverse() } else { compare(&reach, &start) };
        match apart {
            Ordering::Less => true,
            // Equal elements keep their order, if equal they are.
            Ordering::Equal => a.is_point && b.is_point,
            Ordering::Greater => false,
        }
    };
    // The one that reaches furthest up to each position, and the one that starts first after it, points and ranges apart.
    let n = from.len();
    let further = |a: &Key<T>, b: &Key<T>| {
        let (x, y) = if descending { (b.lo, a.lo) } else { (a.hi, b.hi) };
        compare(&x, &y).is_gt()
    };
    let earlier = |a: &Key<T>, b: &Key<T>| {
        let (x, y) = if descending { (b.hi, a.hi) } else { (a.lo, b.lo) };
        compare(&x, &y).is_lt()
    };
    let pick = |best: Option<usize>, next: usize, better: &dyn Fn(&Key<T>, &Key<T>) -> bool| match best {
        Some(b) if !better(&keys[next], &keys[b]) => Some(b),
        _ => Some(next),
    };
    let mut before: Vec<[Option<usize>; 2]> = Vec::with_capacity(n);
    let mut best = [None, None];
    for i in &from {
        let kind = usize::from(keys[*i].is_point);
        best[kind] = pick(best[kind], *i, &further);
        before.push(best);
    }
    let mut after: Vec<[Option<usize>; 2]> = vec![[None, None]; n];
    let mut best = [None, None];
    for (position, i) in from.iter().enumerate().rev() {
        let kind = usize::from(keys[*i].is_point);
        best[kind] = pick(best[kind], *i, &earlier);
        after[position] = best;
    }
    let mut groups = Vec::new();
    let mut start = 0;
    for position in 1..=n {
        let certain = position == n
            || before[position - 1]
                .iter()
                .flatten()
                .all(|a| after[position].iter().flatten().all(|b| beyond(&keys[*a], &keys[*b])));
        if certain {
            if position - start > 1 {
                groups.push(start..position);
            }
            start = position;
        }
    }
    (from, groups)
}

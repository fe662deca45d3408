//! Intervals of indices hold for every value, and are as narrow as they can be where a remainder is written as two quotients.

use lawson_graph::Facts;
use lawson_kernel::build::loop_of;
use lawson_kernel::*;

const VALUES: std::ops::Range<i64> = -9..50;

/// The interval of an index over one axis, beside the least and the greatest value that it takes.
fn both(
    index: fn(Index, [i64; 3]) -> Index,
    value: fn(i64, [i64; 3]) -> i64,
    numbers: [i64; 3],
) -> [[i64; 2]; 2] {
    let mut k = Kernel::new("range", Facts::new());
    let axis = k.add_axis("i");
    let Node::For(f) = loop_of(axis, VALUES.start, VALUES.end, 1, Kind::Serial, Vec::new()) else {
        panic!("a loop is one");
    };
    let mut scope = Scope::new(&k);
    let left = scope.enter(&f);
    let (lo, hi) = scope.interval(&index(axis.into(), numbers));
    scope.leave(left);
    let taken: Vec<i64> = VALUES.map(|i| value(i, numbers)).collect();
    [[lo.unwrap(), hi.unwrap()], [*taken.iter().min().unwrap(), *taken.iter().max().unwrap()]]
}

#[test]
fn quotients_taken_from_each_other_are_remainders() {
    for (a, m) in [(1, 2), (2, 2), (2, 3), (3, 4), (4, 4)] {
        for c in [-3, -1, 1, 2] {
            let of_quotients = both(
                |i, [a, m, c]| (i.clone() + 5).floor_div(a) * c - (i + 5).floor_div(a * m) * (c * m),
                |i, [a, m, c]| (i + 5).div_euclid(a) * c - (i + 5).div_euclid(a * m) * (c * m),
                [a, m, c],
            );
            assert_eq!(of_quotients[0], of_quotients[1], "by {a}, {m}, {c}");
            let of_whole = both(
                |i, [a, m, c]| (i.clone() * c) - (i - a).floor_div(m) * (c * m),
                |i, [a, m, c]| i * c - (i - a).div_euclid(m) * (c * m),
                [a, m, c],
            );
            assert_eq!(of_whole[0], of_whole[1], "by {a}, {m}, {c}");
        }
    }
}

#[test]
fn quotients_that_make_no_remainder_keep_their_intervals() {
    for (a, m) in [(2, 3), (3, 2), (4, 6)] {
        for c in [-2, 1] {
            // The divisors or the factors do not go together.
            let [found, taken] = both(
                |i, [a, m, c]| i.clone().floor_div(a) * c - i.floor_div(a * m + 1) * (c * m),
                |i, [a, m, c]| i.div_euclid(a) * c - i.div_euclid(a * m + 1) * (c * m),
                [a, m, c],
            );
            assert!(found[0] <= taken[0] && taken[1] <= found[1], "{found:?} does not hold {taken:?}");
            let [found, taken] = both(
                |i, [a, m, c]| i.clone().floor_div(a) * c - i.floor_div(a * m) * (c * m + 1),
                |i, [a, m, c]| i.div_euclid(a) * c - i.div_euclid(a * m) * (c * m + 1),
                [a, m, c],
            );
            assert!(found[0] <= taken[0] && taken[1] <= found[1], "{found:?} does not hold {taken:?}");
        }
    }
}

//! Arithmetic of f64 rounded down or up: the ends of ranges. Each function gives the exact result where f64 has it,
//! and otherwise a neighbour on the named side.

/// Which way to round.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Toward {
    Down,
    Up,
}

/// Below this, the rounding error of a product or quotient may itself be lost.
const TINY: f64 = 1e-280;

/// Moves `nearest` one step if the exact result lies on the other side of it; `remainder` has the sign of exact minus
/// nearest.
fn settle(nearest: f64, remainder: f64, toward: Toward) -> f64 {
    match toward {
        Toward::Down if remainder < 0.0 => nearest.next_down(),
        Toward::Up if remainder > 0.0 => nearest.next_up(),
        _ => nearest,
    }
}

/// An overflow of finite operands: the exact result is finite but beyond f64.
fn overflowed(nearest: f64, toward: Toward) -> f64 {
    match toward {
        Toward::Down if nearest > 0.0 => f64::MAX,
        Toward::Up if nearest < 0.0 => f64::MIN,
        _ => nearest,
    }
}

pub(super) fn add(a: f64, b: f64, toward: Toward) -> f64 {
    let sum = a + b;
    if sum.is_infinite() && a.is_finite() && b.is_finite() {
        return overflowed(sum, toward);
    }
    // The exact error of the sum.
    let b_part = sum - a;
    let remainder = (a - (sum - b_part)) + (b - b_part);
    settle(sum, remainder, toward)
}

pub(super) fn mul(a: f64, b: f64, toward: Toward) -> f64 {
    let product = a * b;
    if product.is_infinite() && a.is_finite() && b.is_finite() {
        return overflowed(product, toward);
    }
    if product.abs() < TINY && a != 0.0 && b != 0.0 && b.is_finite() && a.is_finite() {
        return step(product, toward);
    }
    settle(product, a.mul_add(b, -product), toward)
}

pub(super) fn div(a: f64, b: f64, toward: Toward) -> f64 {
    let quotient = a / b;
    if quotient.is_infinite() && a.is_finite() && b != 0.0 {
        return overflowed(quotient, toward);
    }
    if !quotient.is_finite() || b.is_infinite() || a == 0.0 {
        return quotient;
    }
    if quotient.abs() < TINY || a.abs() < TINY {
        return step(quotient, toward);
    }
    let remainder = (-quotient).mul_add(b, a);
    settle(quotient, if b < 0.0 { -remainder } else { remainder }, toward)
}

pub(super) fn sqrt(x: f64, toward: Toward) -> f64 {
    let root = x.sqrt();
    if !root.is_finite() || root == 0.0 {
        return root;
    }
    if x < TINY {
        return step(root, toward);
    }
    settle(root, (-root).mul_add(root, x), toward)
}

/// The neighbour on that side; a zero keeps its sign, since rounding does not cross it.
fn step(x: f64, toward: Toward) -> f64 {
    match toward {
        Toward::Down if x.is_sign_positive() => {
            if x == 0.0 {
                x
            } else {
                x.next_down()
            }
        }
        Toward::Up if x.is_sign_negative() => {
            if x == 0.0 {
                x
            } else {
                x.next_up()
            }
        }
        Toward::Down => x.next_down(),
        Toward::Up => x.next_up(),
    }
}

/// The lesser; of two zeros the negative.
pub(super) fn least(a: f64, b: f64) -> f64 {
    if a.total_cmp(&b).is_lt() { a } else { b }
}

/// The greater; of two zeros the positive.
pub(super) fn greatest(a: f64, b: f64) -> f64 {
    if a.total_cmp(&b).is_gt() { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_results_stay_and_others_are_enclosed() {
        for op in [add, mul, div] {
            for (a, b) in
                [(1.0, 3.0), (0.1, 0.7), (1e300, 1e10), (-5.5, 1e-17), (1e-200, 1e-200), (-1e-200, 1e-300)]
            {
                let (down, up) = (op(a, b, Toward::Down), op(a, b, Toward::Up));
                assert!(down <= up && up <= down.next_up().next_up(), "{a} {b}: {down:e} {up:e}");
            }
        }
        assert_eq!(add(1.0, 2.0, Toward::Down), add(1.0, 2.0, Toward::Up));
        assert!(add(1.0, 1e-30, Toward::Up) > 1.0 && add(1.0, 1e-30, Toward::Down) == 1.0);
        assert_eq!(div(1.0, 4.0, Toward::Down), div(1.0, 4.0, Toward::Up));
        assert!(div(1.0, 3.0, Toward::Down) < div(1.0, 3.0, Toward::Up));
        assert_eq!(sqrt(9.0, Toward::Down), sqrt(9.0, Toward::Up));
        assert!(sqrt(2.0, Toward::Down) < sqrt(2.0, Toward::Up));
        assert_eq!(mul(1e300, 1e300, Toward::Down), f64::MAX);
        assert_eq!(mul(1e300, 1e300, Toward::Up), f64::INFINITY);
    }
}

//! Remainders of f64, exactly.
//!
//! With `x = a·2^i` and `y = b·2^j`, of mantissas near 1, the remainder of `x` is that of `a·2^(i-j)` by `b`. The power is
//! applied in steps of up to [`STEP`] bits: `r·2^s` is exact, its quotient by `b` is whole in f64, wrong by at most 1, and
//! what a fused multiplication leaves is a remainder that has no more bits than `b`. All but the first step is only done
//! where some quotient is that large.

use super::Double;

/// How many bits of a quotient one step gives.
const STEP: f64 = 50.0;
/// How many steps the quotient of two finite f64 takes at most: from 2^1024 to 2^-1074.
const STEPS: usize = 42;

/// The remainder with the sign of `a`.
pub fn rem<K: Double>(k: &mut K, a: K::F, b: K::F) -> K::F {
    let (zero, infinity, step) = (k.f(0.0), k.f(f64::INFINITY), k.f(STEP));
    let (x, y) = (k.abs(a), k.abs(b));
    let ((mx, ex), (my, ey)) = (k.split(x), k.split(y));
    let far = k.sub(ex, ey);
    let first = less_one(k, mx, my);
    let (near, left) = step_of(k, first, my, far);
    let is_far = k.lt(step, far);
    let [r] = k.if_any(is_far, [near], |k| {
        let (mut r, mut left) = (near, left);
        for _ in 1..STEPS {
            (r, left) = step_of(k, r, my, left);
        }
        [r]
    });
    let r = k.scale(r, ey);
    // What is less than the divisor is its own remainder, also by an infinity.
    let less = k.lt(x, y);
    let r = k.select(less, x, r);
    // Of infinities, by zeros, and of NaN there is none.
    let (finite, some) = (k.lt(x, infinity), k.lt(zero, y));
    let defined = k.and(finite, some);
    let nan = k.f(f64::NAN);
    let r = k.select(defined, r, nan);
    k.or_sign(r, a)
}

/// `r·2^s` less multiples of `m`, with `s` up to [`STEP`] of what is left, and what is left then.
fn step_of<K: Double>(k: &mut K, r: K::F, m: K::F, left: K::F) -> (K::F, K::F) {
    let (most, zero) = (k.f(STEP), k.f(0.0));
    let s = k.min(most, left);
    let s = k.max(zero, s);
    let power = k.power_of_two(s);
    let raised = k.mul(r, power);
    let q = k.div(raised, m);
    let q = k.trunc(q);
    let r = k.fnma(q, m, raised);
    // The quotient may have been rounded up to a whole number.
    let more = k.add(r, m);
    let negative = k.lt(r, zero);
    let r = k.select(negative, more, r);
    (less_one(k, r, m), k.sub(left, s))
}

/// `r`, or `r - m` if that is not negative.
fn less_one<K: Double>(k: &mut K, r: K::F, m: K::F) -> K::F {
    let below = k.sub(r, m);
    let reaches = k.le(m, r);
    k.select(reaches, below, r)
}

/// The remainder with the sign of `b`; a zero takes that sign too.
pub fn modulo<K: Double>(k: &mut K, a: K::F, b: K::F) -> K::F {
    let zero = k.f(0.0);
    let r = rem(k, a, b);
    let moved = k.add(r, b);
    let (r_negative, b_negative) = (k.lt(r, zero), k.lt(b, zero));
    let (r_not, b_not) = (k.not(r_negative), k.not(b_negative));
    let (one, other) = (k.and(r_negative, b_not), k.and(r_not, b_negative));
    let differ = k.or(one, other);
    let result = k.select(differ, moved, r);
    let none = k.eq(r, zero);
    let zero = k.copy_sign(zero, b);
    k.select(none, zero, result)
}

//! Numbers as the sum of two floats, for what one float cannot hold exactly enough.

use super::Lanes;

/// A number as the sum of two floats, the greater first.
pub(super) type Pair<F> = (F, F);

/// A constant in two parts.
pub(super) fn constant<K: Lanes>(k: &mut K, parts: Pair<K::C>) -> Pair<K::F> {
    (k.f(parts.0), k.f(parts.1))
}

/// `a * b`, and what its rounding lost.
pub(super) fn two_product<K: Lanes>(k: &mut K, a: K::F, b: K::F) -> Pair<K::F> {
    let product = k.mul(a, b);
    (product, k.fms(a, b, product))
}

/// `a + b`, and what its rounding lost.
pub(super) fn two_sum<K: Lanes>(k: &mut K, a: K::F, b: K::F) -> Pair<K::F> {
    let sum = k.add(a, b);
    let b_in = k.sub(sum, a);
    let a_in = k.sub(sum, b_in);
    let (a_lost, b_lost) = (k.sub(a, a_in), k.sub(b, b_in));
    (sum, k.add(a_lost, b_lost))
}

/// `a * b` of two sums.
pub(super) fn product<K: Lanes>(k: &mut K, a: Pair<K::F>, b: Pair<K::F>) -> Pair<K::F> {
    let (high, lost) = two_product(k, a.0, b.0);
    let low = k.fma(a.0, b.1, lost);
    (high, k.fma(a.1, b.0, low))
}

/// `a + b` of two sums, for `|a| >= |b|`.
pub(super) fn sum<K: Lanes>(k: &mut K, a: Pair<K::F>, b: Pair<K::F>) -> Pair<K::F> {
    let high = k.add(a.0, b.0);
    let taken = k.sub(high, a.0);
    let lost = k.sub(b.0, taken);
    let low = k.add(a.1, b.1);
    (high, k.add(low, lost))
}

/// `e + a` for whole `e`, which may be 0 or infinite, and `|a| < 1`.
pub(super) fn add_whole<K: Lanes>(k: &mut K, e: K::F, a: Pair<K::F>) -> Pair<K::F> {
    let high = k.add(e, a.0);
    let taken = k.sub(high, e);
    let lost = k.sub(a.0, taken);
    (high, k.add(a.1, lost))
}

/// `(r, n)` with `w = n + r`, whole `n` as of [`Lanes::nearest`] and `|r| <= 1/2`, of a `w` brought into `ends`: where its first part is
/// not inside, its second does not count.
pub(super) fn whole_and_rest<K: Lanes>(k: &mut K, w: Pair<K::F>, ends: [f32; 2]) -> (K::F, (K::F, K::I)) {
    let ([low, high], zero, one) = (ends.map(|end| k.exact(end)), k.exact(0.0), k.exact(1.0));
    let bounded = k.max(low, w.0);
    let bounded = k.min(high, bounded);
    let inside = k.eq(bounded, w.0);
    let rest = k.select(inside, w.1, zero);
    let n = k.nearest(bounded, one);
    let r = k.sub(bounded, n.0);
    (k.add(r, rest), n)
}

//! Sums of products with ranges, by applying the same bilinear operator to centres, magnitudes and radii.
//!
//! With l = c ± r and l' = c' ± r' each product is within |c|·r' + r·(|c'| + r') of c·c'. A sum of n products, each
//! rounded, formed in any order, is within γ·Σ|product| of the exact one, and each product may underflow by the least
//! float of the accumulator dtype.

use super::float::FloatBound;
use super::flush::{least_step, may_flush};
use super::fold::{OWN_ROUNDOFF, gamma, grain, sums_exactly};
use super::int::IntBound;
use crate::dtype::DType;
use crate::interp::mode::{Bilinear, Carrier};
use crate::interp::scalar::int_ends;
use crate::number::wrap;

/// One operand, taken apart.
struct Parts {
    /// The best guesses; 0 for what is wild.
    centre: Vec<f64>,
    /// The magnitudes of the centres; 0 for what is exactly infinite.
    size: Vec<f64>,
    /// How far a target may be from the centre.
    radius: Vec<f64>,
    /// 1 for what may be infinite or NaN without certainly being so.
    wild: Vec<f64>,
    has_radius: bool,
    has_wild: bool,
    has_infinite: bool,
    grain: i32,
}

impl Parts {
    fn new(x: &[FloatBound]) -> Parts {
        let n = x.len();
        let mut parts = Parts {
            centre: Vec::with_capacity(n),
            size: Vec::with_capacity(n),
            radius: Vec::with_capacity(n),
            wild: Vec::with_capacity(n),
            has_radius: false,
            has_wild: false,
            has_infinite: false,
            grain: i32::MAX,
        };
        for e in x {
            let special = e.is_point() && !e.lo.is_finite();
            let wild = !special && !e.is_finite();
            let centre = if wild { 0.0 } else { e.value };
            let radius =
                if special || wild { 0.0 } else { (e.hi - e.value).max(e.value - e.lo) * (1.0 + 1e-15) };
            parts.has_radius |= radius > 0.0;
            parts.has_wild |= wild;
            parts.has_infinite |= special && !e.is_nan();
            if !special && !wild {
                parts.grain = parts.grain.min(grain(e.value));
            }
            parts.size.push(if special { 0.0 } else { centre.abs() });
            parts.centre.push(centre);
            parts.radius.push(radius);
            parts.wild.push(f64::from(u8::from(wild)));
        }
        parts
    }

    /// Counts exact infinities as wild: times something inexact they may be anything.
    fn distrust_infinities(&mut self) {
        for (centre, wild) in self.centre.iter_mut().zip(&mut self.wild) {
            if centre.is_infinite() {
                (*centre, *wild, self.has_wild) = (0.0, 1.0, true);
            }
        }
    }

    /// The greatest magnitudes.
    fn reach(&self) -> Vec<f64> {
        self.size.iter().zip(&self.radius).map(|(s, r)| s + r).collect()
    }
}

pub(super) fn floats(
    op: &impl Bilinear,
    l: &[FloatBound],
    r: &[FloatBound],
    terms: u64,
    out: DType,
) -> Vec<FloatBound> {
    let (mut l, mut r) = (Parts::new(l), Parts::new(r));
    let inexact = |p: &Parts| p.has_radius || p.has_wild;
    if (l.has_infinite && inexact(&r)) || (r.has_infinite && inexact(&l)) {
        l.distrust_infinities();
        r.distrust_infinities();
    }
    let centre = op.apply(&l.centre, &r.centre);
    let reach = op.apply(&l.reach(), &r.reach());
    let mut radius = vec![0.0; centre.len()];
    let mut wild = vec![0.0; centre.len()];
    let add = |to: &mut [f64], more: Vec<f64>| to.iter_mut().zip(more).for_each(|(t, m)| *t += m);
    if l.has_radius {
        add(&mut radius, op.apply(&l.radius, &r.reach()));
    }
    if r.has_radius {
        add(&mut radius, op.apply(&l.size, &r.radius));
    }
    if l.has_wild {
        add(&mut wild, op.apply(&l.wild, &vec![1.0; r.wild.len()]));
    }
    if r.has_wild {
        add(&mut wild, op.apply(&vec![1.0; l.wild.len()], &r.wild));
    }
    let exact = !l.has_radius && !r.has_radius;
    let last_bit = l.grain.saturating_add(r.grain);
    let kept = out.accumulator();
    let n = terms as f64;
    let own = gamma(n, OWN_ROUNDOFF);
    let off = gamma(n, kept.unit_roundoff().unwrap_or(0.0)) + own;
    let underflow = n * least_step(kept);
    let limit = kept.max_finite().unwrap_or(f64::MAX);
    let one = |i: usize| {
        let (value, reach) = (centre[i], reach[i]);
        // Only exact infinities and NaN have led here, unless f64 itself overflowed: it is NaN whatever the rest does.
        if value.is_nan() && reach.is_finite() {
            return FloatBound::point(f64::NAN);
        }
        if wild[i] > 0.0 || reach.is_nan() || reach * (1.0 + off) > limit {
            return FloatBound::anything(value);
        }
        if value.is_infinite() {
            return FloatBound::point(value);
        }
        if reach == 0.0 {
            // The sign of a zero depends on the order.
            return FloatBound::range(value, -0.0, 0.0);
        }
        if exact && sums_exactly(reach, last_bit, kept) && !may_flush(kept, reach, last_bit) {
            return FloatBound::point(value).rounded(out);
        }
        let slack = (radius[i] * (1.0 + own) + off * reach + underflow) * (1.0 + 1e-12);
        FloatBound::range(value, value - slack, value + slack).rounded(out)
    };
    (0..centre.len()).map(one).collect()
}

pub(super) fn ints(
    op: &impl Bilinear,
    l: &[IntBound],
    r: &[IntBound],
    terms: u64,
    out: DType,
) -> Vec<IntBound> {
    let low = |x: &[IntBound]| -> Vec<i64> { x.iter().map(|e| e.value as i64).collect() };
    let values: Vec<i128> =
        op.apply(&low(l), &low(r)).into_iter().map(|x| wrap(out, i128::from(x))).collect();
    if l.iter().chain(r).all(|e| e.is_exact()) {
        return values.into_iter().map(IntBound::point).collect();
    }
    let size = |x: &[IntBound]| -> Vec<f64> { x.iter().map(|e| (e.value as f64).abs()).collect() };
    let radius = |x: &[IntBound]| -> Vec<f64> {
        x.iter().map(|e| (e.hi - e.value).max(e.value - e.lo) as f64).collect()
    };
    let sum = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(x, y)| x + y).collect() };
    let (l_size, l_radius, r_radius) = (size(l), radius(l), radius(r));
    let r_reach = sum(&size(r), &r_radius);
    let reach = op.apply(&sum(&l_size, &l_radius), &r_reach);
    let radii = sum(&op.apply(&l_radius, &r_reach), &op.apply(&l_size, &r_radius));
    let (least, greatest) = int_ends(out);
    let room = greatest as f64;
    let own = 1.0 + gamma(terms as f64 + 4.0, OWN_ROUNDOFF);
    let one = |i: usize| {
        let value = values[i];
        if radii[i] == 0.0 {
            return IntBound::point(value);
        }
        // Only where nothing can have wrapped is the value the sum itself.
        if reach[i] * own >= room {
            return IntBound { value, lo: least, hi: greatest };
        }
        // Whole numbers below 2^53 were summed exactly.
        let exact = reach[i] < 2f64.powi(53);
        let off = if exact { radii[i] } else { (radii[i] * own).ceil() } as i128;
        IntBound::in_dtype(out, value, value - off, value + off)
    };
    (0..values.len()).map(one).collect()
}

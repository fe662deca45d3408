//! Remainders of f32, exactly.
//!
//! The remainder of two f32 is an f32, but their quotient may have 277 bits. In f64, `r - q·y` with `q = trunc(r/y)` is exact
//! as long as `q` has no more than 24 bits: `q·y` has 48 then, and `r/y`, which is at least `2^-24` away from a whole
//! number that it is not, is not rounded to one. So the remainder by `2^264·y` is taken first, by `2^240·y` next, and
//! so on; each leaves less than the divisor, and that is less than 2^24 times the next. All but the last step is only done
//! where some quotient is that large.

use super::math::Writer;
use crate::asm::{FloatPredicate, Vec2, Vec2Imm, Vec3, VecShift};
use crate::code::V;
use lawson_graph::op::BinaryKind;
use lawson_kernel::math::Lanes;

/// How many bits of a quotient one step gives.
const STEP: i32 = 24;
/// How many bits the quotient of two finite f32 has at most: from 2^128 to 2^-149.
const QUOTIENT: i32 = 277;

impl Writer<'_, '_> {
    /// The remainder with the sign of `a` (rem) or of `b` (mod).
    pub(super) fn remainder(&mut self, kind: BinaryKind, a: V, b: V) -> V {
        let r = self.rem(a, b);
        if kind == BinaryKind::Mod { self.towards(r, b) } else { r }
    }

    fn rem(&mut self, a: V, b: V) -> V {
        let (x, y) = (self.abs(a), self.abs(b));
        let ratio = self.div(x, y);
        let most = self.f((1u32 << (STEP - 1)) as f32);
        // Not for the quotients of infinities and zeros, which the last step gives NaN for.
        let large = self.cmp(ratio, most, FloatPredicate::GeOq);
        let near = self.by_halves([x, y], |w, [x, y]| {
            let (x, y) = (w.widened(Vec2::Cvtps2pd, x), w.widened(Vec2::Cvtps2pd, y));
            let r = w.less_multiples(x, y);
            w.narrowed(Vec2::Cvtpd2ps, r)
        });
        let [r] = self.if_any(large, [near], |w| {
            [w.by_halves([x, y], |w, [x, y]| {
                let (mut r, y) = (w.widened(Vec2::Cvtps2pd, x), w.widened(Vec2::Cvtps2pd, y));
                for step in (0..=QUOTIENT / STEP).rev() {
                    let divisor = w.times_power_of_two(y, step * STEP);
                    r = w.less_multiples(r, divisor);
                }
                w.narrowed(Vec2::Cvtpd2ps, r)
            })]
        });
        // What is finite is its own remainder by an infinity.
        let infinity = self.f(f32::INFINITY);
        let (bounded, endless) = (self.lt(x, infinity), self.eq(y, infinity));
        let itself = self.and(bounded, endless);
        let r = self.blend(itself, x, r);
        self.or_sign(r, a)
    }

    /// `r - trunc(r/y)·y` in f64.
    fn less_multiples(&mut self, r: V, y: V) -> V {
        let q = self.op3(Vec3::Divpd, r, y);
        // Rounds towards 0; bit 3: no inexact exception.
        let q = self.op2_imm(Vec2Imm::Rndscalepd, q, 3 | 8);
        self.fused(Vec3::Fnmadd231pd, r, q, y)
    }

    /// `y · 2^n` in f64.
    fn times_power_of_two(&mut self, y: V, n: i32) -> V {
        if n == 0 {
            return y;
        }
        // The upper half of the power: constants have 32 bits.
        let power = self.i((1023 + n) << 20);
        let power = self.widened(Vec2::Pmovzxdq, power);
        let power = self.shift(VecShift::Psllq, power, 32);
        self.op3(Vec3::Mulpd, y, power)
    }

    /// A remainder of a division by `b`, moved by `b` if its sign is another; a zero takes the sign of `b`.
    fn towards(&mut self, r: V, b: V) -> V {
        let zero = self.f(0.0);
        // In f64, as the sum of a small remainder and a large divisor is rounded only once more.
        let moved = self.by_halves([r, b], |w, [r, b]| {
            let (r, b) = (w.widened(Vec2::Cvtps2pd, r), w.widened(Vec2::Cvtps2pd, b));
            let sum = w.op3(Vec3::Addpd, r, b);
            w.narrowed(Vec2::Cvtpd2ps, sum)
        });
        let signs = self.op3(Vec3::Pxord, r, b);
        let signs = self.shift(VecShift::Psrad, signs, 31);
        let differ = self.not_zero(signs);
        let result = self.blend(differ, moved, r);
        let none = self.eq(r, zero);
        let zero = self.copy_sign(zero, b);
        self.blend(none, zero, result)
    }
}

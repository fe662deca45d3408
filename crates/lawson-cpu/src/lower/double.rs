//! Functions of f64 that are no instruction: the kernel level's expansions, written as vector operations on lanes of 64 bits.

use super::Lowering;
use super::arithmetic::FusedSign;
use super::forms;
use super::math::{Rounding, Writer};
use super::operations::operations;
use crate::asm::{FloatPredicate, IntPredicate, Level, MaskOp, Vec2, Vec2Imm, Vec3, VecShift};
use crate::code::{Class, Op, Src, V};
use lawson_graph::DType;
use lawson_kernel::math::double::Double;
use lawson_kernel::math::{Lanes, TABLE};

/// Writes operations at one depth.
pub(super) struct DoubleWriter<'l, 'k> {
    pub(super) l: &'l mut Lowering<'k>,
    pub(super) depth: usize,
}

/// The same without what AVX-512 has for hooks.
pub(super) struct PlainDoubleWriter<'l, 'k> {
    pub(super) l: &'l mut Lowering<'k>,
    pub(super) depth: usize,
}

impl<'k> DoubleWriter<'_, 'k> {
    fn w(&mut self) -> Writer<'_, 'k> {
        Writer { l: self.l, depth: self.depth }
    }
}

impl<'k> PlainDoubleWriter<'_, 'k> {
    fn w(&mut self) -> Writer<'_, 'k> {
        Writer { l: self.l, depth: self.depth }
    }
}

impl Writer<'_, '_> {
    /// The entry of a table at the low four bits of each lane.
    fn lookup_double(&mut self, index: V, table: &[f64; TABLE]) -> V {
        let part = |from: usize, len: usize| {
            std::array::from_fn(|n| (table[from + n / 2 % len].to_bits() >> (n % 2 * 32)) as u32)
        };
        if self.l.level == Level::Avx512 {
            let [low, high] = [0, 8].map(|from| self.l.table(part(from, 8)));
            // The lowest bits of the index choose, of both registers.
            return self.fused(Vec3::Permi2pd, index, low, high);
        }
        // Four entries a register, which the machine permutes by words of 32 bits: 2i and 2i + 1.
        let (rest, next) = (self.l.bits64(3), self.l.bits64(1 << 32));
        let first = self.op3(Vec3::Pandq, index, rest);
        let first = self.shift(VecShift::Psllq, first, 1);
        let second = self.shift(VecShift::Psllq, first, 32);
        let both = self.op3(Vec3::Porq, first, second);
        let words = self.op3(Vec3::Porq, both, next);
        let quarters = [0, 4, 8, 12].map(|from| {
            let table = self.l.table(part(from, 4));
            self.op3(Vec3::Permps, words, table)
        });
        // The bits above choose among them, as signs.
        let (third, fourth) =
            (self.shift(VecShift::Psllq, index, 61), self.shift(VecShift::Psllq, index, 60));
        let mut either = |a: V, b: V, select: V| {
            let dst = self.l.fresh_like(index);
            self.l.emit(self.depth, Op::BlendVector { dst, a, b: Src::Reg(b), select });
            dst
        };
        let low = either(quarters[0], quarters[1], third);
        let high = either(quarters[2], quarters[3], third);
        either(low, high, fourth)
    }
}

/// The operations of both precisions, for f64.
macro_rules! lanes {
    () => {
        type C = f64;

        operations!(DType::F64);

        fn f(&mut self, c: f64) -> V {
            self.l.bits64(c.to_bits())
        }
        fn i(&mut self, c: i64) -> V {
            self.l.bits64(c as u64)
        }
        fn i_eq(&mut self, a: V, b: V) -> V {
            self.w().cmp_long(a, b, IntPredicate::Eq)
        }
        fn lookup(&mut self, index: V, table: &[f64; TABLE]) -> V {
            self.w().lookup_double(index, table)
        }
    };
}

/// The operations that only f64 has.
macro_rules! required {
    () => {
        fn trunc(&mut self, a: V) -> V {
            self.w().rounded(DType::F64, a, Rounding::TowardsZero)
        }
    };
}

impl Lanes for PlainDoubleWriter<'_, '_> {
    lanes!();
}

impl Double for PlainDoubleWriter<'_, '_> {
    required!();
}

impl Lanes for DoubleWriter<'_, '_> {
    lanes!();
}

impl Double for DoubleWriter<'_, '_> {
    required!();

    fn scale(&mut self, x: V, n: V) -> V {
        self.w().op3(Vec3::Scalefpd, x, n)
    }
    fn split(&mut self, x: V) -> (V, V) {
        // The mantissa in [3/4, 3/2), without its sign.
        let m = self.w().op2_imm(Vec2Imm::Getmantpd, x, 0b0111);
        let (ex, em) = (self.w().op2(Vec2::Getexppd, x), self.w().op2(Vec2::Getexppd, m));
        let e = self.sub(ex, em);
        // The exponent of a negative number is that of its magnitude; here it must be NaN.
        let (zero, nan) = (self.f(0.0), self.f(f64::NAN));
        let negative = self.lt(x, zero);
        let e = self.select(negative, nan, e);
        (m, e)
    }
}

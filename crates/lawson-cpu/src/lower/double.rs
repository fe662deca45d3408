//! Functions of f64 that are no instruction: the kernel level's expansions, written as vector operations on lanes of 64 bits.

use super::Lowering;
use super::arithmetic::FusedSign;
use super::forms::{self, float_forms};
use super::math::Writer;
use crate::asm::{FloatPredicate, IntPredicate, Level, MaskOp, Vec2, Vec2Imm, Vec3, VecShift};
use crate::code::{Class, Op, Src, V};
use lawson_graph::DType;
use lawson_kernel::math::double::{Double, TABLE};

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
    fn compared_double(&mut self, a: V, b: V, predicate: FloatPredicate) -> V {
        let dst = self.l.fresh(Class::Mask);
        let op = float_forms(DType::F64).compare;
        self.l.emit(self.depth, Op::CmpFloat { op, dst, a, b: Src::Reg(b), predicate });
        dst
    }

    /// Rounds: to the nearest (0) or towards zero (3).
    fn rounded_double(&mut self, a: V, how: u8) -> V {
        self.op2_imm(float_forms(DType::F64).round, a, how | 8)
    }

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

macro_rules! operations {
    ($($name:ident = $form:expr;)*) => {
        $(fn $name(&mut self, a: V, b: V) -> V {
            self.w().op3($form, a, b)
        })*
    };
}

/// What all expansions need.
macro_rules! required {
    () => {
        type F = V;
        type I = V;
        type B = V;

        operations! {
            add = float_forms(DType::F64).add;
            sub = float_forms(DType::F64).sub;
            mul = float_forms(DType::F64).mul;
            div = float_forms(DType::F64).div;
            min = float_forms(DType::F64).min;
            max = float_forms(DType::F64).max;
            i_add = forms::bits(true).add;
            i_sub = forms::bits(true).sub;
            i_and = forms::bits(true).and;
            i_or = forms::bits(true).or;
            i_xor = forms::bits(true).xor;
        }

        fn f(&mut self, c: f64) -> V {
            self.l.bits64(c.to_bits())
        }
        fn i(&mut self, c: i64) -> V {
            self.l.bits64(c as u64)
        }
        fn fma(&mut self, a: V, b: V, c: V) -> V {
            self.w().fused_product(DType::F64, FusedSign::Add, a, b, c)
        }
        fn fms(&mut self, a: V, b: V, c: V) -> V {
            self.w().fused_product(DType::F64, FusedSign::Sub, a, b, c)
        }
        fn fnma(&mut self, a: V, b: V, c: V) -> V {
            self.w().fused_product(DType::F64, FusedSign::NegativeAdd, a, b, c)
        }
        fn sqrt(&mut self, a: V) -> V {
            self.w().op2(Vec2::Sqrtpd, a)
        }
        fn round_even(&mut self, a: V) -> V {
            self.w().rounded_double(a, 0)
        }
        fn trunc(&mut self, a: V) -> V {
            self.w().rounded_double(a, 3)
        }
        fn lt(&mut self, a: V, b: V) -> V {
            self.w().compared_double(a, b, FloatPredicate::LtOq)
        }
        fn le(&mut self, a: V, b: V) -> V {
            self.w().compared_double(a, b, FloatPredicate::LeOq)
        }
        fn eq(&mut self, a: V, b: V) -> V {
            self.w().compared_double(a, b, FloatPredicate::EqOq)
        }
        fn is_nan(&mut self, a: V) -> V {
            self.w().compared_double(a, a, FloatPredicate::UnordQ)
        }
        fn select(&mut self, c: V, a: V, b: V) -> V {
            self.w().blend(c, a, b)
        }
        fn i_shl(&mut self, a: V, by: u32) -> V {
            self.w().shift(forms::bits(true).shift[0], a, by)
        }
        fn i_shr(&mut self, a: V, by: u32) -> V {
            self.w().shift(forms::bits(true).shift[2], a, by)
        }
        fn i_eq(&mut self, a: V, b: V) -> V {
            self.w().cmp_long(a, b, IntPredicate::Eq)
        }
        fn bits(&mut self, a: V) -> V {
            a
        }
        fn of_bits(&mut self, a: V) -> V {
            a
        }
        fn and(&mut self, a: V, b: V) -> V {
            self.w().mask2(MaskOp::And, a, b)
        }
        fn or(&mut self, a: V, b: V) -> V {
            self.w().mask2(MaskOp::Or, a, b)
        }
        fn not(&mut self, a: V) -> V {
            let dst = self.l.fresh(Class::Mask);
            self.l.emit(self.depth, Op::MaskNot { dst, src: a });
            dst
        }
        fn if_any(&mut self, condition: V, common: V, rare: impl FnOnce(&mut Self) -> V) -> V {
            let open = self.w().open_rare(common);
            let value = rare(self);
            self.w().close_rare(open, condition, common, value)
        }
        fn lookup(&mut self, index: V, table: &[f64; TABLE]) -> V {
            self.w().lookup_double(index, table)
        }
    };
}

impl Double for PlainDoubleWriter<'_, '_> {
    required!();
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

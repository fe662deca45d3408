//! Functions of f32 that are no instruction: the operations that the kernel level's expansions are written in.
//!
//! [`Writer`] has an instruction of AVX-512 for every hook that there is one for; [`PlainWriter`], for AVX2, has their portable forms.

use super::Lowering;
use super::arithmetic::FusedSign;
use super::forms;
use super::math::{Rounding, Writer};
use super::operations::operations;
use crate::asm::{FloatPredicate, IntPredicate, Level, MaskOp, Vec2, Vec2Imm, Vec3, VecShift};
use crate::code::{Class, Op, Src, V};
use lawson_graph::DType;
use lawson_kernel::math::{Arithmetic, Lanes, TABLE};

/// Writes operations at one depth, without what AVX-512 has for hooks.
pub(super) struct PlainWriter<'l, 'k> {
    pub(super) l: &'l mut Lowering<'k>,
    pub(super) depth: usize,
}

impl<'k> PlainWriter<'_, 'k> {
    fn w(&mut self) -> Writer<'_, 'k> {
        Writer { l: self.l, depth: self.depth }
    }
}

impl<'k> Writer<'_, 'k> {
    fn w(&mut self) -> Writer<'_, 'k> {
        Writer { l: self.l, depth: self.depth }
    }

    /// The entry of a table at the low four bits of each lane.
    fn lookup_single(&mut self, index: V, table: &[f32; TABLE]) -> V {
        let part = |from: usize, len: usize| std::array::from_fn(|n| table[from + n % len].to_bits());
        if self.l.level == Level::Avx512 {
            let table = self.l.table(part(0, TABLE));
            return self.op3(Vec3::Permps, index, table);
        }
        let [low, high] = [0, TABLE / 2].map(|from| self.l.table(part(from, TABLE / 2)));
        let (low, high) = (self.op3(Vec3::Permps, index, low), self.op3(Vec3::Permps, index, high));
        // The fourth bit becomes the sign, by which the machine selects.
        let select = self.shift(VecShift::Pslld, index, 28);
        let dst = self.l.fresh_like(index);
        self.l.emit(self.depth, Op::BlendVector { dst, a: low, b: Src::Reg(high), select });
        dst
    }
}

/// The operations of both precisions, for f32.
macro_rules! lanes {
    () => {
        type C = f32;

        operations!(DType::F32);

        fn f(&mut self, c: f32) -> V {
            self.l.bits(c.to_bits())
        }
        fn i(&mut self, c: i32) -> V {
            self.l.bits(c as u32)
        }
        fn i_eq(&mut self, a: V, b: V) -> V {
            self.w().cmp_int(a, b, IntPredicate::Eq)
        }
        fn lookup(&mut self, index: V, table: &[f32; TABLE]) -> V {
            self.w().lookup_single(index, table)
        }
    };
}

/// The operations that only f32 has.
macro_rules! required {
    () => {
        fn i_sar(&mut self, a: V, by: u32) -> V {
            self.w().shift(VecShift::Psrad, a, by)
        }
        fn i_lt(&mut self, a: V, b: V) -> V {
            self.w().cmp_int(a, b, IntPredicate::Lt)
        }
        fn i_select(&mut self, c: V, a: V, b: V) -> V {
            self.w().blend(c, a, b)
        }
        fn to_int(&mut self, a: V) -> V {
            self.w().op2(Vec2::Cvtps2dq, a)
        }
        fn to_float(&mut self, a: V) -> V {
            self.w().op2(Vec2::Cvtdq2ps, a)
        }
        fn nearest_sixteenth(&mut self, a: V, b: V) -> (V, V) {
            // As `Lanes::nearest`, with a constant whose last bit is a sixteenth.
            let magic = self.f(786_432.0);
            let held = self.fma(a, b, magic);
            (self.sub(held, magic), held)
        }
    };
}

impl Lanes for PlainWriter<'_, '_> {
    lanes!();
}

impl Arithmetic for PlainWriter<'_, '_> {
    /// A table of 16 is two of 8 and a selection, six operations of which the greater part waits for few units.
    const TABLES: bool = false;

    required!();
}

impl Lanes for Writer<'_, '_> {
    lanes!();

    // Truth tables count the bits of (start, a, b) as 4, 2, 1.
    fn copy_sign(&mut self, magnitude: V, sign: V) -> V {
        let mask = self.l.bits(0x8000_0000);
        // mask ? sign : magnitude, with start = magnitude, a = sign, b = mask
        self.ternary(magnitude, sign, mask, 0b1101_1000)
    }
    fn or_sign(&mut self, magnitude: V, sign: V) -> V {
        let mask = self.l.bits(0x8000_0000);
        // magnitude | (sign & mask)
        self.ternary(magnitude, sign, mask, 0b1111_1000)
    }
    fn flip_sign(&mut self, x: V, sign: V) -> V {
        let mask = self.l.bits(0x8000_0000);
        // x ^ (sign & mask)
        self.ternary(x, sign, mask, 0b0111_1000)
    }
    fn swap_where_odd(&mut self, n: V, [a, b]: [V; 2]) -> [V; 2] {
        let (lowest, none) = (self.l.bits(1), self.l.bits(0));
        let parity = self.i_and(n, lowest);
        let odd = self.i_sub(none, parity);
        // odd ? second : first
        [self.ternary(a, b, odd, 0b1101_1000), self.ternary(b, a, odd, 0b1101_1000)]
    }
    fn quotient(&mut self, a: V, b: V) -> V {
        let y = self.op2(Vec2::Rcp14ps, b);
        let q = self.mul(a, y);
        let rest = self.fnma(b, q, a);
        self.fma(y, rest, q)
    }
}

impl Arithmetic for Writer<'_, '_> {
    required!();

    fn scale_down(&mut self, x: V, n: (V, V)) -> V {
        // The instruction rounds down by itself.
        self.scale(x, n)
    }
    fn power_of_two(&mut self, n: (V, V)) -> V {
        let one = self.l.bits(1f32.to_bits());
        self.op3(Vec3::Scalefps, one, n.0)
    }
    fn scale(&mut self, x: V, n: (V, V)) -> V {
        self.op3(Vec3::Scalefps, x, n.0)
    }
    fn split(&mut self, x: V) -> (V, V) {
        // The mantissa in [3/4, 3/2), without its sign.
        let m = self.op2_imm(Vec2Imm::Getmantps, x, 0b0111);
        let (ex, em) = (self.op2(Vec2::Getexpps, x), self.op2(Vec2::Getexpps, m));
        let e = self.op3(Vec3::Subps, ex, em);
        // The exponent of a negative number is that of its magnitude; here it must be NaN.
        let zero = self.l.bits(0);
        let negative = self.cmp(x, zero, FloatPredicate::LtOq);
        let nan = self.l.bits(f32::NAN.to_bits());
        let e = self.blend(negative, nan, e);
        (m, e)
    }
    fn reciprocal_estimate(&mut self, b: V) -> V {
        self.op2(Vec2::Rcp14ps, b)
    }
}

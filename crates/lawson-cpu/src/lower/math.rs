//! Functions that are no instruction: the kernel level's expansions, written as vector operations.
//!
//! Every hook that AVX-512 has an instruction for is that instruction. A rare range is computed only when some lane needs
//! it.

use super::Lowering;
use super::arithmetic::FusedSign;
use super::double::{DoubleWriter, PlainDoubleWriter};
use super::forms::{computed, float_forms};
use super::single::PlainWriter;
use crate::asm::{
    CmpInt, FloatPredicate, IntPredicate, Level, MaskOp, Vec2, Vec2Imm, Vec3, Vec3Imm, VecShift,
};
use crate::code::{Class, Item, Op, Src, V};
use crate::error::{Result, Unsupported};
use lawson_graph::DType;
use lawson_graph::op::{BinaryKind, UnaryKind};
use lawson_kernel::math::double::Double;
use lawson_kernel::math::{self, Arithmetic, Function, Reciprocal};
use lawson_kernel::{Expr, ExprId};

/// Writes operations at one depth.
pub(super) struct Writer<'l, 'k> {
    pub(super) l: &'l mut Lowering<'k>,
    pub(super) depth: usize,
}

/// How a float becomes whole, as the instruction numbers it.
#[derive(Clone, Copy)]
pub(super) enum Rounding {
    Nearest = 0,
    TowardsZero = 3,
}

impl<'k> Lowering<'k> {
    pub(super) fn expand_unary(&mut self, f: Function, x: V, dtype: DType, depth: usize) -> Result<V> {
        let plain = self.level == Level::Avx2;
        match computed(dtype) {
            DType::F32 if plain => Ok(f.expand(&mut PlainWriter { l: self, depth }, x)),
            DType::F32 => Ok(f.expand(&mut Writer { l: self, depth }, x)),
            DType::F64 if plain => Ok(f.expand_double(&mut PlainDoubleWriter { l: self, depth }, x)),
            DType::F64 => Ok(f.expand_double(&mut DoubleWriter { l: self, depth }, x)),
            _ => Err(Unsupported::new(format!("{} of {dtype}", f.name()))),
        }
    }

    pub(super) fn expand_divide_by(&mut self, x: V, by: &Reciprocal, depth: usize) -> V {
        match self.level {
            Level::Avx2 => math::divide_by(&mut PlainWriter { l: self, depth }, x, by),
            Level::Avx512 => math::divide_by(&mut Writer { l: self, depth }, x, by),
        }
    }

    fn expand_sin_cos(&mut self, x: V, dtype: DType, depth: usize) -> Option<[V; 2]> {
        Some(match (computed(dtype), self.level) {
            (DType::F32, Level::Avx2) => math::sin_cos(&mut PlainWriter { l: self, depth }, x),
            (DType::F32, Level::Avx512) => math::sin_cos(&mut Writer { l: self, depth }, x),
            (DType::F64, Level::Avx2) => math::double::sin_cos(&mut PlainDoubleWriter { l: self, depth }, x),
            (DType::F64, Level::Avx512) => math::double::sin_cos(&mut DoubleWriter { l: self, depth }, x),
            _ => return None,
        })
    }

    /// A sine or cosine whose partner is wanted too: both are computed, and the partner is kept for who asks for it.
    pub(super) fn with_partner(&mut self, e: ExprId, x: ExprId, depth: usize) -> Result<Option<V>> {
        let Some(partner) = math::idiom::partner(self.k, self.k.expr(e)) else { return Ok(None) };
        if self.depends[partner.0 as usize].readers == 0 || self.depth(partner) != depth {
            return Ok(None);
        }
        let (dtype, x) = (self.k.dtype(x), self.value(x)?);
        let Some([sine, cosine]) = self.expand_sin_cos(x, dtype, depth) else { return Ok(None) };
        let is_sine = matches!(self.k.expr(e), Expr::Unary(UnaryKind::Sin, _));
        let (value, other) = if is_sine { (sine, cosine) } else { (cosine, sine) };
        self.keep(partner, other, depth);
        Ok(Some(value))
    }

    /// What is neither an instruction nor made of such by two operands of a float dtype.
    pub(super) fn expand_binary(
        &mut self,
        kind: BinaryKind,
        a: V,
        b: V,
        dtype: DType,
        depth: usize,
    ) -> Result<V> {
        match (computed(dtype), self.level) {
            (DType::F64, Level::Avx512) => double_binary(kind, &mut DoubleWriter { l: self, depth }, a, b),
            (DType::F64, Level::Avx2) => double_binary(kind, &mut PlainDoubleWriter { l: self, depth }, a, b),
            (DType::F32, _) if matches!(kind, BinaryKind::Rem | BinaryKind::Mod) => {
                Some(Writer { l: self, depth }.remainder(kind, a, b))
            }
            (DType::F32, Level::Avx512) => single_binary(kind, &mut Writer { l: self, depth }, a, b),
            (DType::F32, Level::Avx2) => single_binary(kind, &mut PlainWriter { l: self, depth }, a, b),
            _ => None,
        }
        .ok_or_else(|| Unsupported::new(format!("{} of {dtype}", kind.name())))
    }
}

fn single_binary<K: Arithmetic>(kind: BinaryKind, k: &mut K, a: K::F, b: K::F) -> Option<K::F> {
    match kind {
        BinaryKind::Pow => Some(math::pow(k, a, b)),
        BinaryKind::Atan2 => Some(math::atan2(k, a, b)),
        _ => None,
    }
}

fn double_binary<K: Double>(kind: BinaryKind, k: &mut K, a: K::F, b: K::F) -> Option<K::F> {
    match kind {
        BinaryKind::Rem => Some(math::double::rem(k, a, b)),
        BinaryKind::Mod => Some(math::double::modulo(k, a, b)),
        BinaryKind::Pow => Some(math::double::pow(k, a, b)),
        BinaryKind::Atan2 => Some(math::double::atan2(k, a, b)),
        _ => None,
    }
}

impl Writer<'_, '_> {
    pub(super) fn op2(&mut self, op: Vec2, a: V) -> V {
        self.l.vec2(op, a, self.depth)
    }

    /// From lanes of 32 bits to lanes of 64.
    pub(super) fn widened(&mut self, op: Vec2, a: V) -> V {
        let dst = self.l.fresh_long();
        self.l.emit(self.depth, Op::Vec2 { op, dst, src: Src::Reg(a) });
        dst
    }

    /// From lanes of 64 bits to lanes of 32.
    pub(super) fn narrowed(&mut self, op: Vec2, a: V) -> V {
        let dst = self.l.fresh(Class::Vector);
        self.l.emit(self.depth, Op::Vec2 { op, dst, src: Src::Reg(a) });
        dst
    }

    pub(super) fn op2_imm(&mut self, op: Vec2Imm, a: V, imm: u8) -> V {
        let dst = self.l.fresh_like(a);
        self.l.emit(self.depth, Op::Vec2Imm { op, dst, src: Src::Reg(a), imm });
        dst
    }

    pub(super) fn op3(&mut self, op: Vec3, a: V, b: V) -> V {
        self.l.vec3(op, a, Src::Reg(b), self.depth)
    }

    pub(super) fn op3_imm(&mut self, op: Vec3Imm, a: V, b: V, imm: u8) -> V {
        let dst = self.l.fresh_like(a);
        self.l.emit(self.depth, Op::Vec3Imm { op, dst, a, b: Src::Reg(b), imm });
        dst
    }

    pub(super) fn fused(&mut self, op: Vec3, start: V, a: V, b: V) -> V {
        let dst = self.l.fresh_like(start);
        self.l.emit(self.depth, Op::Move { dst, src: start });
        self.l.emit(self.depth, Op::Update { op, dst, a, b: Src::Reg(b), mask: None });
        dst
    }

    /// `dst` from the bits of itself, a and b by a truth table.
    pub(super) fn ternary(&mut self, start: V, a: V, b: V, table: u8) -> V {
        let dst = self.l.fresh_like(start);
        self.l.emit(self.depth, Op::Move { dst, src: start });
        self.l.emit(self.depth, Op::UpdateImm { op: Vec3Imm::Pternlogd, dst, a, b: Src::Reg(b), imm: table });
        dst
    }

    pub(super) fn shift(&mut self, op: VecShift, src: V, by: u32) -> V {
        let dst = self.l.fresh_like(src);
        self.l.emit(self.depth, Op::Shift { op, dst, src, count: by as u8 });
        dst
    }

    pub(super) fn cmp(&mut self, a: V, b: V, predicate: FloatPredicate) -> V {
        self.compared(DType::F32, a, b, predicate)
    }

    pub(super) fn compared(&mut self, dtype: DType, a: V, b: V, predicate: FloatPredicate) -> V {
        let dst = self.l.fresh(Class::Mask);
        let op = float_forms(dtype).compare;
        self.l.emit(self.depth, Op::CmpFloat { op, dst, a, b: Src::Reg(b), predicate });
        dst
    }

    pub(super) fn rounded(&mut self, dtype: DType, a: V, how: Rounding) -> V {
        self.op2_imm(float_forms(dtype).round, a, how as u8 | 8)
    }

    pub(super) fn cmp_int(&mut self, a: V, b: V, predicate: IntPredicate) -> V {
        let dst = self.l.fresh(Class::Mask);
        self.l.emit(self.depth, Op::CmpInt { op: CmpInt::Pcmpd, dst, a, b: Src::Reg(b), predicate });
        dst
    }

    pub(super) fn mask2(&mut self, op: MaskOp, a: V, b: V) -> V {
        let dst = self.l.fresh(Class::Mask);
        self.l.emit(self.depth, Op::Mask2 { op, dst, a, b });
        dst
    }

    pub(super) fn blend(&mut self, mask: V, yes: V, no: V) -> V {
        let dst = self.l.fresh_like(no);
        self.l.emit(self.depth, Op::Blend { dst, mask, a: no, b: Src::Reg(yes) });
        dst
    }

    /// `±a·b ± c`. A constant stands last, where it may come from memory.
    pub(super) fn fused_product(&mut self, dtype: DType, sign: FusedSign, a: V, b: V, c: V) -> V {
        let [form_231, form_213] = float_forms(dtype).fused[sign as usize];
        let is_constant = [a, b, c].map(|v| self.l.constants.contains(&v));
        match is_constant {
            [false, _, true] => self.fused(form_213, a, b, c),
            [true, false, true] => self.fused(form_213, b, a, c),
            [true, ..] => self.fused(form_231, c, b, a),
            _ => self.fused(form_231, c, a, b),
        }
    }

    /// Begins what is computed only where some lane needs it, and is `common` elsewhere: the registers of both, and where it begins.
    /// Outside of all loops, everything is computed.
    pub(super) fn open_rare<const N: usize>(&mut self, common: [V; N]) -> Option<([V; N], usize)> {
        if self.depth == 0 {
            return None;
        }
        let dst = common.map(|src| {
            let dst = self.l.fresh_like(src);
            self.l.emit(self.depth, Op::Move { dst, src });
            dst
        });
        Some((dst, self.l.frames[self.depth].items.len()))
    }

    /// Ends it: where the condition holds, the results are `rare`.
    pub(super) fn close_rare<const N: usize>(
        &mut self,
        open: Option<([V; N], usize)>,
        condition: V,
        common: [V; N],
        rare: [V; N],
    ) -> [V; N] {
        let Some((dst, start)) = open else {
            return std::array::from_fn(|n| self.blend(condition, rare[n], common[n]));
        };
        for (dst, src) in dst.into_iter().zip(rare) {
            self.l.emit(self.depth, Op::MoveMasked { dst, src, mask: condition });
        }
        let body = self.l.frames[self.depth].items.split_off(start);
        self.l.frames[self.depth].items.push(Item::If { mask: condition, body });
        dst
    }
}

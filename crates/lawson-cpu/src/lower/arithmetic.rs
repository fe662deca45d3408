//! Operations of one and of two numbers, comparisons and selections.

use super::Lowering;
use super::forms::{self, FloatForms, IntForms, computed, floats, is_long};
use super::nan::nan_follows;
use crate::asm::{FloatPredicate, IntPredicate, MaskOp};
use crate::code::{Class, Op, Src, V};
use crate::error::{Result, Unsupported};
use lawson_graph::DType;
use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};
use lawson_kernel::math::{Function, Reciprocal, idiom};
use lawson_kernel::{Expr, ExprId};

/// Which signs a fused multiply-add has: an index of [`FloatForms::fused`].
#[derive(Clone, Copy)]
pub(super) enum FusedSign {
    /// `a·b + c`
    Add,
    /// `a·b - c`
    Sub,
    /// `c - a·b`
    NegativeAdd,
}

fn unknown(what: &str, dtype: DType) -> Unsupported {
    Unsupported::new(format!("{what} of {dtype}"))
}

/// Where the forms of signed and unsigned integers stand.
fn signless(dtype: DType) -> usize {
    usize::from(computed(dtype) != DType::I32 && dtype != DType::I64)
}

impl<'k> Lowering<'k> {
    /// Computes the second of two operands now if it takes more: the first would wait for it in a register.
    fn longer_first(&mut self, a: ExprId, b: ExprId) -> Result<()> {
        if self.depends[a.0 as usize].work < self.depends[b.0 as usize].work {
            self.value(b)?;
        }
        Ok(())
    }

    /// `±a·b ± c`.
    pub(super) fn fused(
        &mut self,
        forms: &FloatForms,
        sign: FusedSign,
        [a, b, c]: [ExprId; 3],
        depth: usize,
    ) -> Result<V> {
        let dst = self.fresh_of(self.k.dtype(c));
        let [form_231, form_213] = forms.fused[sign as usize];
        let (a, b) = if matches!(self.k.expr(a), Expr::Const(_)) { (b, a) } else { (a, b) };
        if matches!(self.k.expr(c), Expr::Const(_)) {
            // The constant may stay in memory: c is the last operand, a is overwritten.
            let (a, b, c) = (self.value(a)?, self.value(b)?, self.value(c)?);
            self.emit(depth, Op::Move { dst, src: a });
            self.emit(depth, Op::Update { op: form_213, dst, a: b, b: Src::Reg(c), mask: None });
        } else {
            let (c, a, b) = (self.value(c)?, self.value(a)?, self.operand(b, depth)?);
            self.emit(depth, Op::Move { dst, src: c });
            self.emit(depth, Op::Update { op: form_231, dst, a, b, mask: None });
        }
        Ok(dst)
    }

    /// The factors of a product that nothing else reads.
    pub(super) fn product_of(&self, e: ExprId) -> Option<(ExprId, ExprId)> {
        match self.k.expr(e) {
            Expr::Binary(BinaryKind::Mul, a, b)
                if self.depends[e.0 as usize].readers == 1 && self.k.dtype(e).is_float() =>
            {
                Some((*a, *b))
            }
            _ => None,
        }
    }

    pub(super) fn unary(&mut self, kind: UnaryKind, a: ExprId, dtype: DType, depth: usize) -> Result<V> {
        if let Some(forms) = floats(dtype) {
            return self.float_unary(forms, kind, a, dtype, depth);
        }
        let a = self.value(a)?;
        if dtype == DType::Bool {
            if kind != UnaryKind::Not {
                return Err(unknown(kind.name(), dtype));
            }
            let dst = self.fresh(Class::Mask);
            self.emit(depth, Op::MaskNot { dst, src: a });
            return Ok(dst);
        }
        let forms = self.integers(dtype)?;
        let signed = signless(dtype) == 0;
        let result = match kind {
            UnaryKind::Neg => {
                let zero = self.zero(dtype);
                self.vec3(forms.sub, zero, Src::Reg(a), depth)
            }
            UnaryKind::Abs if signed => self.vec2(forms.abs, a, depth),
            UnaryKind::Abs => return Ok(a),
            UnaryKind::Sign => {
                let one = self.int(1, dtype);
                let raised = match signed {
                    true => {
                        let least = self.int(-1, dtype);
                        self.vec3(forms.max[0], a, Src::Reg(least), depth)
                    }
                    false => a,
                };
                return Ok(self.vec3(forms.min[signless(dtype)], raised, Src::Reg(one), depth));
            }
            UnaryKind::Not => {
                let ones = self.int(-1, dtype);
                self.vec3(forms.xor, a, Src::Reg(ones), depth)
            }
            _ => return Err(unknown(kind.name(), dtype)),
        };
        Ok(self.wrapped(result, dtype, depth))
    }

    fn float_unary(
        &mut self,
        forms: &FloatForms,
        kind: UnaryKind,
        a: ExprId,
        dtype: DType,
        depth: usize,
    ) -> Result<V> {
        let bits = forms::bits(is_long(dtype));
        // -|a| sets the sign.
        if kind == UnaryKind::Neg
            && let Expr::Unary(UnaryKind::Abs, inner) = self.k.expr(a)
        {
            let (inner, sign) = (self.value(*inner)?, self.sign(dtype));
            return Ok(self.vec3(bits.or, inner, Src::Reg(sign), depth));
        }
        let a = self.value(a)?;
        match kind {
            UnaryKind::Neg => {
                let sign = self.sign(dtype);
                Ok(self.vec3(bits.xor, a, Src::Reg(sign), depth))
            }
            UnaryKind::Abs => {
                let rest = self.magnitude(dtype);
                Ok(self.vec3(bits.and, a, Src::Reg(rest), depth))
            }
            UnaryKind::Sqrt => Ok(self.vec2(forms.sqrt, a, depth)),
            UnaryKind::Round | UnaryKind::Floor | UnaryKind::Ceil | UnaryKind::Trunc => {
                let imm = match kind {
                    UnaryKind::Round => 0,
                    UnaryKind::Floor => 1,
                    UnaryKind::Ceil => 2,
                    _ => 3,
                };
                let dst = self.fresh_like(a);
                // Bit 3: no inexact exception.
                self.emit(depth, Op::Vec2Imm { op: forms.round, dst, src: Src::Reg(a), imm: imm | 8 });
                Ok(dst)
            }
            UnaryKind::Sign => {
                // The sign's bit on 1, where a is neither 0 nor NaN; there, a itself.
                let (zero, one, sign) = (self.zero(dtype), self.float(1.0, dtype), self.sign(dtype));
                let bit = self.vec3(bits.and, a, Src::Reg(sign), depth);
                let unit = self.vec3(bits.or, bit, Src::Reg(one), depth);
                let k = self.compared(dtype, a, zero, FloatPredicate::NeqOq, depth)?;
                self.select(k, unit, a, dtype, depth)
            }
            _ => match Function::of(kind) {
                Some(f) => self.expand_unary(f, a, dtype, depth),
                None => Err(unknown(kind.name(), dtype)),
            },
        }
    }

    pub(super) fn binary(
        &mut self,
        kind: BinaryKind,
        a: ExprId,
        b: ExprId,
        dtype: DType,
        depth: usize,
    ) -> Result<V> {
        if let Some(forms) = floats(dtype) {
            return self.float_binary(forms, kind, a, b, dtype, depth);
        }
        if dtype == DType::Bool {
            let op = match kind {
                BinaryKind::And => MaskOp::And,
                BinaryKind::Or => MaskOp::Or,
                BinaryKind::Xor => MaskOp::Xor,
                _ => return Err(unknown(kind.name(), dtype)),
            };
            let (a, b) = (self.value(a)?, self.value(b)?);
            let dst = self.fresh(Class::Mask);
            self.emit(depth, Op::Mask2 { op, dst, a, b });
            return Ok(dst);
        }
        let forms = self.integers(dtype)?;
        let op = match kind {
            BinaryKind::Add => forms.add,
            BinaryKind::Sub => forms.sub,
            BinaryKind::Mul => forms.mul,
            BinaryKind::Min => forms.min[signless(dtype)],
            BinaryKind::Max => forms.max[signless(dtype)],
            BinaryKind::And => forms.and,
            BinaryKind::Or => forms.or,
            BinaryKind::Xor => forms.xor,
            BinaryKind::Shl | BinaryKind::Shr => return self.shift(forms, kind, a, b, dtype, depth),
            BinaryKind::Pow => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                let power = self.integer_power(a, b, dtype, depth);
                return Ok(self.wrapped(power, dtype, depth));
            }
            BinaryKind::Div | BinaryKind::FloorDiv | BinaryKind::Rem | BinaryKind::Mod => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                let result = self.divide(kind, a, b, dtype, depth);
                return Ok(self.wrapped(result, dtype, depth));
            }
            _ => return Err(unknown(kind.name(), dtype)),
        };
        self.longer_first(a, b)?;
        let (a, b) = (self.value(a)?, self.operand(b, depth)?);
        let result = self.vec3(op, a, b, depth);
        Ok(match kind {
            BinaryKind::Add | BinaryKind::Sub | BinaryKind::Mul => self.wrapped(result, dtype, depth),
            _ => result,
        })
    }

    fn float_binary(
        &mut self,
        forms: &FloatForms,
        kind: BinaryKind,
        a: ExprId,
        b: ExprId,
        dtype: DType,
        depth: usize,
    ) -> Result<V> {
        let op = match kind {
            BinaryKind::Add => {
                if let Some((x, y)) = self.product_of(a) {
                    return self.fused(forms, FusedSign::Add, [x, y, b], depth);
                }
                if let Some((x, y)) = self.product_of(b) {
                    return self.fused(forms, FusedSign::Add, [x, y, a], depth);
                }
                forms.add
            }
            BinaryKind::Sub => {
                if let Some((x, y)) = self.product_of(a) {
                    return self.fused(forms, FusedSign::Sub, [x, y, b], depth);
                }
                if let Some((x, y)) = self.product_of(b) {
                    return self.fused(forms, FusedSign::NegativeAdd, [x, y, a], depth);
                }
                forms.sub
            }
            BinaryKind::Mul => forms.mul,
            BinaryKind::Min | BinaryKind::Max => return self.extremum(forms, kind, a, b, dtype, depth),
            BinaryKind::Div => {
                if let Some(x) = idiom::sigmoid(self.k, a, b) {
                    let x = self.value(x)?;
                    return self.expand_unary(Function::Sigmoid, x, dtype, depth);
                }
                if let Some(by) = self.reciprocal(b, dtype, depth) {
                    let x = self.value(a)?;
                    return Ok(self.expand_divide_by(x, &by, depth));
                }
                forms.div
            }
            _ => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                return self.expand_binary(kind, a, b, dtype, depth);
            }
        };
        self.longer_first(a, b)?;
        let may_stay = matches!(self.k.expr(a), Expr::Load(_) | Expr::Const(_));
        let (a, b) = if matches!(kind, BinaryKind::Add | BinaryKind::Mul) && may_stay {
            // Either may be the one that stays in memory.
            let second = self.value(b)?;
            (second, self.operand(a, depth)?)
        } else {
            (self.value(a)?, self.operand(b, depth)?)
        };
        Ok(self.vec3(op, a, b, depth))
    }

    /// What a division by a constant inside of loops is done with.
    fn reciprocal(&self, divisor: ExprId, dtype: DType, depth: usize) -> Option<Reciprocal> {
        match self.k.expr(divisor) {
            Expr::Const(s) if depth > 0 && computed(dtype) == DType::F32 => {
                Reciprocal::of(s.as_f64()? as f32)
            }
            _ => None,
        }
    }

    /// Shifts by at least the width, or by a negative amount, give 0; the machine's arithmetic shift gives the sign.
    fn shift(
        &mut self,
        forms: &IntForms,
        kind: BinaryKind,
        a: ExprId,
        b: ExprId,
        dtype: DType,
        depth: usize,
    ) -> Result<V> {
        let width = dtype.bits() as i64;
        let which = match kind {
            BinaryKind::Shl => 0,
            _ if signless(dtype) == 0 => 1,
            _ => 2,
        };
        let src = self.value(a)?;
        if let Expr::Const(s) = self.k.expr(b)
            && let Some(n) = s.as_i64().filter(|n| (0..width).contains(n))
        {
            let dst = self.fresh_like(src);
            self.emit(depth, Op::Shift { op: forms.shift[which], dst, src, count: n as u8 });
            return Ok(if which == 0 { self.wrapped(dst, dtype, depth) } else { dst });
        }
        let count = self.value(b)?;
        let shifted = self.vec3(forms.shift_by_lanes[which], src, Src::Reg(count), depth);
        if which == 0 {
            return Ok(self.wrapped(shifted, dtype, depth));
        }
        // Of what is wider in its lane than in memory, nothing but zeros comes in from the left.
        if which == 2 {
            return Ok(shifted);
        }
        let (width, zero) = (self.int(width, dtype), self.zero(dtype));
        let k = self.fresh(Class::Mask);
        let predicate = IntPredicate::Lt;
        self.emit(
            depth,
            Op::CmpInt { op: forms.compare[1], dst: k, a: count, b: Src::Reg(width), predicate },
        );
        self.select(k, shifted, zero, dtype, depth)
    }

    /// The machine gives its second operand where either is NaN; Lawson gives NaN.
    fn extremum(
        &mut self,
        forms: &FloatForms,
        kind: BinaryKind,
        a: ExprId,
        b: ExprId,
        dtype: DType,
        depth: usize,
    ) -> Result<V> {
        let op = if kind == BinaryKind::Min { forms.min } else { forms.max };
        let never_nan = |e: ExprId| match self.k.expr(e) {
            Expr::Const(s) => s.as_f64().is_some_and(|v| !v.is_nan()),
            _ => false,
        };
        let (a, b) = if never_nan(b) || nan_follows(self.k, b, a) { (b, a) } else { (a, b) };
        let sure = never_nan(a) || nan_follows(self.k, a, b);
        self.longer_first(a, b)?;
        let first = self.value(a)?;
        if sure {
            let second = self.operand(b, depth)?;
            return Ok(self.vec3(op, first, second, depth));
        }
        let second = self.value(b)?;
        let dst = self.vec3(op, first, Src::Reg(second), depth);
        let mask = self.compared(dtype, first, first, FloatPredicate::UnordQ, depth)?;
        self.emit(depth, Op::MoveMasked { dst, src: first, mask });
        Ok(dst)
    }

    /// The lanes in which a comparison of floats holds.
    pub(super) fn compared(
        &mut self,
        dtype: DType,
        a: V,
        b: V,
        predicate: FloatPredicate,
        depth: usize,
    ) -> Result<V> {
        let forms = floats(dtype).ok_or_else(|| unknown("a comparison", dtype))?;
        let dst = self.fresh(Class::Mask);
        self.emit(depth, Op::CmpFloat { op: forms.compare, dst, a, b: Src::Reg(b), predicate });
        Ok(dst)
    }

    pub(super) fn compare(&mut self, kind: CompareKind, a: ExprId, b: ExprId, depth: usize) -> Result<V> {
        let dtype = self.k.dtype(a);
        let (x, y) = (self.exact_value(a, depth)?, self.exact_value(b, depth)?);
        if self.highs.contains_key(&x) || self.highs.contains_key(&y) {
            return self.compare_wide(kind, x, y, depth);
        }
        let not_known = || Unsupported::new(format!("the comparison {}", kind.name()));
        if dtype.is_float() {
            let predicate = match kind {
                CompareKind::Eq => FloatPredicate::EqOq,
                CompareKind::Ne => FloatPredicate::NeqUq,
                CompareKind::Lt => FloatPredicate::LtOq,
                CompareKind::Le => FloatPredicate::LeOq,
                CompareKind::Gt => FloatPredicate::GtOq,
                CompareKind::Ge => FloatPredicate::GeOq,
                _ => return Err(not_known()),
            };
            return self.compared(dtype, x, y, predicate, depth);
        }
        let dst = self.fresh(Class::Mask);
        if dtype == DType::Bool {
            // false < true
            let op = match kind {
                CompareKind::Eq => MaskOp::Xnor,
                CompareKind::Ne => MaskOp::Xor,
                CompareKind::Lt | CompareKind::Gt => MaskOp::Andn,
                CompareKind::Le | CompareKind::Ge => MaskOp::Or,
                _ => return Err(not_known()),
            };
            let (mut x, y) = match kind {
                CompareKind::Gt | CompareKind::Ge => (y, x),
                _ => (x, y),
            };
            if matches!(kind, CompareKind::Le | CompareKind::Ge) {
                let not = self.fresh(Class::Mask);
                self.emit(depth, Op::MaskNot { dst: not, src: x });
                x = not;
            }
            self.emit(depth, Op::Mask2 { op, dst, a: x, b: y });
            return Ok(dst);
        }
        let predicate = match kind {
            CompareKind::Eq => IntPredicate::Eq,
            CompareKind::Ne => IntPredicate::Ne,
            CompareKind::Lt => IntPredicate::Lt,
            CompareKind::Le => IntPredicate::Le,
            CompareKind::Gt => IntPredicate::Gt,
            CompareKind::Ge => IntPredicate::Ge,
            _ => return Err(not_known()),
        };
        let op = forms::bits(self.native && is_long(dtype)).compare[signless(dtype)];
        self.emit(depth, Op::CmpInt { op, dst, a: x, b: Src::Reg(y), predicate });
        Ok(dst)
    }

    /// `mask ? a : b`
    pub(super) fn select(&mut self, mask: V, a: V, b: V, dtype: DType, depth: usize) -> Result<V> {
        if dtype != DType::Bool {
            let dst = self.fresh_like(a);
            self.emit(depth, Op::Blend { dst, mask, a: b, b: Src::Reg(a) });
            self.select_high(dst, mask, a, b, depth);
            return Ok(dst);
        }
        let [yes, no, dst] = [(); 3].map(|()| self.fresh(Class::Mask));
        self.emit(depth, Op::Mask2 { op: MaskOp::And, dst: yes, a: mask, b: a });
        self.emit(depth, Op::Mask2 { op: MaskOp::Andn, dst: no, a: mask, b });
        self.emit(depth, Op::Mask2 { op: MaskOp::Or, dst, a: yes, b: no });
        Ok(dst)
    }

    /// The forms of an integer dtype. Pairs of halves are only compared, selected and cast.
    fn integers(&self, dtype: DType) -> Result<&'static IntForms> {
        match computed(dtype) {
            DType::I32 | DType::U32 => Ok(forms::bits(false)),
            DType::I64 | DType::U64 if self.native => Ok(forms::bits(true)),
            _ => Err(unknown("arithmetic", dtype)),
        }
    }

    /// A result in the lanes of a narrower integer, cut to its width.
    pub(super) fn wrapped(&mut self, value: V, dtype: DType, depth: usize) -> V {
        match dtype {
            DType::U8 | DType::U16 => {
                let rest = self.bits((1u32 << dtype.bits()) - 1);
                self.vec3(forms::bits(false).and, value, Src::Reg(rest), depth)
            }
            DType::I8 | DType::I16 => {
                let [left, right, _] = forms::bits(false).shift;
                let count = 32 - dtype.bits() as u8;
                [left, right].into_iter().fold(value, |src, op| {
                    let dst = self.fresh_like(src);
                    self.emit(depth, Op::Shift { op, dst, src, count });
                    dst
                })
            }
            _ => value,
        }
    }
}

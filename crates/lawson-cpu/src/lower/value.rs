//! Expressions as vector operations.
//!
//! A float or integer is a vector register, the same in all lanes where it does not depend on the vector axis; a bool is
//! a mask register. Products that are only added are fused with the addition: one rounding fewer, one instruction fewer.

use super::Lowering;
use super::hash::{Hash128, Key, mix_dim, mix_index};
use super::nan::nan_follows;
use crate::asm::{CmpFloat, CmpInt, FloatPredicate, IntPredicate, MaskOp, Vec2, Vec2Imm, Vec3, VecShift};
use crate::code::{Class, Op, Src, V};
use crate::error::{Result, Unsupported};
use lawson_graph::DType;
use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};
use lawson_kernel::math::{Function, idiom};
use lawson_kernel::{Expr, ExprId, Extremum, Scalar, Truth};

impl<'k> Lowering<'k> {
    /// The register that holds an expression's value at this point.
    pub(super) fn value(&mut self, e: ExprId) -> Result<V> {
        if self.depends[e.0 as usize].state {
            if let Some(v) = self.local.get(&e) {
                return Ok(*v);
            }
            let here = self.here();
            let v = self.compute(e, here)?;
            self.local.insert(e, v);
            return Ok(v);
        }
        let depth = self.depth(e);
        let key = self.key(e);
        if let Some((_, v)) = self.frames[depth].values.get(&key) {
            return Ok(*v);
        }
        // Loads that are at one place for several values of the axes, as in the windows of a convolution, are one.
        let place = self.place_key(e);
        if let Some(place) = place
            && let Some((_, v)) = self.frames[depth].values.get(&place)
        {
            let v = *v;
            self.frames[depth].values.insert(key, (e, v));
            return Ok(v);
        }
        let v = self.compute(e, depth)?;
        self.frames[depth].values.insert(key, (e, v));
        if let Some(place) = place {
            self.frames[depth].values.insert(place, (e, v));
        }
        Ok(v)
    }

    /// What a load is known by if several points may read one place.
    fn place_key(&self, e: ExprId) -> Option<Key> {
        let d = &self.depends[e.0 as usize];
        let Expr::Load(load) = self.k.expr(e) else { return None };
        if d.axes.iter().filter(|a| self.fixed[a.0 as usize].is_some()).count() < 2 {
            return None;
        }
        let mut h = Hash128::new((1 << 54) ^ u64::from(load.buffer.0));
        self.mix_offset(&mut h, e)?;
        if self.bound_to_lanes(e) {
            self.mix_lanes(&mut h);
        }
        if let Some(g) = &load.guard {
            let truth = self.takes_place(e);
            h.mix(truth as u64);
            // What is there instead may move with axes that the place does not move with.
            if truth != Truth::Always {
                let otherwise = self.key(g.otherwise);
                h.mix(otherwise as u64);
                h.mix((otherwise >> 64) as u64);
            }
            if truth == Truth::Sometimes {
                for c in &d.conditions {
                    mix_index(&mut h, &self.scope.simplify(&c.index));
                    mix_dim(&mut h, &c.end);
                }
            }
        }
        Some(h.finish())
    }

    fn compute(&mut self, e: ExprId, depth: usize) -> Result<V> {
        let k = self.k;
        let dtype = k.dtype(e);
        match k.expr(e) {
            Expr::Const(s) => self.constant(*s, depth),
            Expr::Load(load) => self.load(e, load, depth),
            Expr::Index(index, dtype) => {
                let index = self.scope.simplify(&k.resolve(index));
                let axis = self.vector.as_ref().map(|v| v.axis);
                let lanes = match axis.filter(|_| index.terms().iter().any(|(a, _)| self.in_lanes(a))) {
                    Some(axis) => self.lanes_of(&index, axis)?,
                    None => {
                        let value = self.scalar(&index)?;
                        self.spread(value, depth)
                    }
                };
                // Lanes have 32 bits, to which integers of 32 bits are cut.
                if matches!(dtype, DType::I64 | DType::F32) {
                    self.must_fit(&index)?;
                }
                match dtype {
                    DType::I32 | DType::U32 | DType::I64 => Ok(lanes),
                    DType::F32 => self.vec2(Vec2::Cvtdq2ps, lanes, depth),
                    _ => Err(Unsupported::new(format!("an index as {dtype}"))),
                }
            }
            Expr::Unary(kind, a) => self.unary(*kind, *a, dtype, depth),
            Expr::Binary(kind, a, b) => self.binary(*kind, *a, *b, dtype, depth),
            Expr::Extremum(which, a, b) => {
                let (a, b) = (self.value(*a)?, self.operand(*b, depth)?);
                let op = match which {
                    Extremum::Min => Vec3::Minps,
                    Extremum::Max => Vec3::Maxps,
                };
                self.float_only(dtype)?;
                Ok(self.vec3(op, a, b, depth))
            }
            Expr::Fma(a, b, c) => {
                self.float_only(dtype)?;
                self.fused(FusedSign::Add, *a, *b, *c, depth)
            }
            Expr::Compare(kind, a, b) => self.compare(*kind, *a, *b, depth),
            Expr::Select(c, a, b) => {
                let (c, a, b) = (self.value(*c)?, self.value(*a)?, self.value(*b)?);
                self.select(c, a, b, dtype, depth)
            }
            Expr::Cast(a, to) => self.cast(*a, *to, depth),
            Expr::Bitcast(a, to) => match (k.dtype(*a), to) {
                (DType::F32 | DType::I32 | DType::U32, DType::F32 | DType::I32 | DType::U32) => {
                    self.value(*a)
                }
                (from, to) => Err(Unsupported::new(format!("the bits of {from} as {to}"))),
            },
            Expr::State(acc, i) => self.state_of(0, *acc, *i),
            Expr::Other(acc, i) => self.state_of(1, *acc, *i),
            Expr::Result(acc, i) => self.result_of(*acc, *i),
        }
    }

    fn float_only(&self, dtype: DType) -> Result<()> {
        if dtype == DType::F32 { Ok(()) } else { Err(Unsupported::new(format!("arithmetic in {dtype}"))) }
    }

    pub(super) fn is_zero(&self, e: ExprId) -> bool {
        match self.k.expr(e) {
            Expr::Const(s) => s.as_f64().is_some_and(|v| v.to_bits() == 0) || s.as_i64() == Some(0),
            _ => false,
        }
    }

    pub(super) fn constant(&mut self, s: Scalar, _depth: usize) -> Result<V> {
        let bits = match (s.dtype, s.as_f64(), s.as_i64()) {
            (DType::F32, Some(v), _) => (v as f32).to_bits(),
            (DType::I32 | DType::U32, _, Some(v)) => v as u32,
            (DType::I64, _, Some(v)) => return Ok(self.wide_constant(v)),
            (DType::Bool, _, Some(v)) => {
                let dst = self.fresh(Class::Mask);
                self.emit(0, Op::MaskConst { dst, bits: if v != 0 { u16::MAX } else { 0 } });
                return Ok(dst);
            }
            _ => return Err(Unsupported::new(format!("a constant of {}", s.dtype))),
        };
        Ok(self.bits(bits))
    }

    /// The same bits in all lanes, for the whole function.
    pub(super) fn bits(&mut self, bits: u32) -> V {
        let mut h = Hash128::new((1 << 52) ^ u64::from(bits));
        h.mix(1);
        let key = h.finish();
        if let Some(v) = self.frames[0].masks.get(&key) {
            return *v;
        }
        let dst = self.fresh(Class::Vector);
        self.emit(0, Op::Const { dst, bits });
        self.frames[0].masks.insert(key, dst);
        self.constants.insert(dst);
        dst
    }

    /// Sixteen numbers in the lanes, for the whole function.
    pub(super) fn table(&mut self, lanes: [u32; 16]) -> V {
        let mut h = Hash128::new(1 << 53);
        lanes.iter().for_each(|l| h.mix(u64::from(*l)));
        let key = h.finish();
        if let Some(v) = self.frames[0].masks.get(&key) {
            return *v;
        }
        let dst = self.fresh(Class::Vector);
        self.emit(0, Op::Table { dst, lanes });
        self.frames[0].masks.insert(key, dst);
        self.constants.insert(dst);
        dst
    }

    /// An expression as the last operand of an operation: memory where that saves an instruction.
    fn operand(&mut self, e: ExprId, depth: usize) -> Result<Src> {
        if depth == self.here()
            && let Some(src) = self.memory_operand(e)?
        {
            return Ok(src);
        }
        Ok(Src::Reg(self.value(e)?))
    }

    pub(super) fn vec2(&mut self, op: Vec2, src: V, depth: usize) -> Result<V> {
        let dst = self.fresh(Class::Vector);
        self.emit(depth, Op::Vec2 { op, dst, src: Src::Reg(src) });
        Ok(dst)
    }

    pub(super) fn vec3(&mut self, op: Vec3, a: V, b: Src, depth: usize) -> V {
        let dst = self.fresh(Class::Vector);
        self.emit(depth, Op::Vec3 { op, dst, a, b });
        dst
    }

    /// Computes the second of two operands now if it takes more: the first would wait for it in a register.
    fn longer_first(&mut self, a: ExprId, b: ExprId) -> Result<()> {
        if self.depends[a.0 as usize].work < self.depends[b.0 as usize].work {
            self.value(b)?;
        }
        Ok(())
    }

    /// `±a·b ± c`.
    fn fused(&mut self, sign: FusedSign, a: ExprId, b: ExprId, c: ExprId, depth: usize) -> Result<V> {
        let dst = self.fresh(Class::Vector);
        if matches!(self.k.expr(c), Expr::Const(_)) {
            // The constant may stay in memory: c is the last operand, a is overwritten.
            let (a, b) = if matches!(self.k.expr(a), Expr::Const(_)) { (b, a) } else { (a, b) };
            let (a, b, c) = (self.value(a)?, self.value(b)?, self.value(c)?);
            self.emit(depth, Op::Move { dst, src: a });
            self.emit(depth, Op::Update { op: sign.form_213(), dst, a: b, b: Src::Reg(c), mask: None });
        } else {
            let (a, b) = if matches!(self.k.expr(a), Expr::Const(_)) { (b, a) } else { (a, b) };
            let (c, a, b) = (self.value(c)?, self.value(a)?, self.operand(b, depth)?);
            self.emit(depth, Op::Move { dst, src: c });
            self.emit(depth, Op::Update { op: sign.form_231(), dst, a, b, mask: None });
        }
        Ok(dst)
    }

    /// The factors of a product that nothing else reads.
    pub(super) fn product_of(&self, e: ExprId) -> Option<(ExprId, ExprId)> {
        match self.k.expr(e) {
            Expr::Binary(BinaryKind::Mul, a, b)
                if self.depends[e.0 as usize].readers == 1 && self.k.dtype(e) == DType::F32 =>
            {
                Some((*a, *b))
            }
            _ => None,
        }
    }

    fn unary(&mut self, kind: UnaryKind, a: ExprId, dtype: DType, depth: usize) -> Result<V> {
        // -|a| sets the sign.
        if kind == UnaryKind::Neg
            && dtype == DType::F32
            && let Expr::Unary(UnaryKind::Abs, inner) = self.k.expr(a)
        {
            let (inner, sign) = (self.value(*inner)?, self.bits(0x8000_0000));
            return Ok(self.vec3(Vec3::Pord, inner, Src::Reg(sign), depth));
        }
        let a = self.value(a)?;
        match (kind, dtype) {
            (_, DType::I64) => self.unary_wide(kind, a, depth),
            (UnaryKind::Neg, DType::F32) => {
                let sign = self.bits(0x8000_0000);
                Ok(self.vec3(Vec3::Pxord, a, Src::Reg(sign), depth))
            }
            (UnaryKind::Abs, DType::F32) => {
                let rest = self.bits(0x7FFF_FFFF);
                Ok(self.vec3(Vec3::Pandd, a, Src::Reg(rest), depth))
            }
            (UnaryKind::Neg, DType::I32 | DType::U32) => {
                let zero = self.bits(0);
                Ok(self.vec3(Vec3::Psubd, zero, Src::Reg(a), depth))
            }
            (UnaryKind::Abs, DType::I32) => self.vec2(Vec2::Pabsd, a, depth),
            (UnaryKind::Abs, DType::U32) => Ok(a),
            (UnaryKind::Sign, DType::U32) => {
                let one = self.bits(1);
                Ok(self.vec3(Vec3::Pminud, a, Src::Reg(one), depth))
            }
            (UnaryKind::Sign, DType::I32) => {
                let (least, most) = (self.bits(u32::MAX), self.bits(1));
                let raised = self.vec3(Vec3::Pmaxsd, a, Src::Reg(least), depth);
                Ok(self.vec3(Vec3::Pminsd, raised, Src::Reg(most), depth))
            }
            (UnaryKind::Not, DType::Bool) => {
                let dst = self.fresh(Class::Mask);
                self.emit(depth, Op::MaskNot { dst, src: a });
                Ok(dst)
            }
            (UnaryKind::Not, DType::I32 | DType::U32) => {
                let ones = self.bits(u32::MAX);
                Ok(self.vec3(Vec3::Pxord, a, Src::Reg(ones), depth))
            }
            (UnaryKind::Sqrt, DType::F32) => self.vec2(Vec2::Sqrtps, a, depth),
            (UnaryKind::Round | UnaryKind::Floor | UnaryKind::Ceil | UnaryKind::Trunc, DType::F32) => {
                let imm = match kind {
                    UnaryKind::Round => 0,
                    UnaryKind::Floor => 1,
                    UnaryKind::Ceil => 2,
                    _ => 3,
                };
                let dst = self.fresh(Class::Vector);
                // Bit 3: no inexact exception.
                self.emit(
                    depth,
                    Op::Vec2Imm { op: Vec2Imm::Rndscaleps, dst, src: Src::Reg(a), imm: imm | 8 },
                );
                Ok(dst)
            }
            (UnaryKind::Sign, DType::F32) => {
                // The sign's bit on 1, where a is neither 0 nor NaN; there, a itself.
                let (zero, one, sign) = (self.bits(0), self.bits(1f32.to_bits()), self.bits(0x8000_0000));
                let bit = self.vec3(Vec3::Pandd, a, Src::Reg(sign), depth);
                let unit = self.vec3(Vec3::Pord, bit, Src::Reg(one), depth);
                let k = self.fresh(Class::Mask);
                let predicate = FloatPredicate::NeqOq;
                self.emit(
                    depth,
                    Op::CmpFloat { op: CmpFloat::Cmpps, dst: k, a, b: Src::Reg(zero), predicate },
                );
                self.select(k, unit, a, DType::F32, depth)
            }
            _ => match Function::of(kind) {
                Some(f) if dtype == DType::F32 => Ok(self.expand_unary(f, a, depth)),
                _ => Err(Unsupported::new(format!("{} of {dtype}", kind.name()))),
            },
        }
    }

    fn binary(&mut self, kind: BinaryKind, a: ExprId, b: ExprId, dtype: DType, depth: usize) -> Result<V> {
        if dtype == DType::F32 {
            match kind {
                BinaryKind::Add => {
                    if let Some((x, y)) = self.product_of(a) {
                        return self.fused(FusedSign::Add, x, y, b, depth);
                    }
                    if let Some((x, y)) = self.product_of(b) {
                        return self.fused(FusedSign::Add, x, y, a, depth);
                    }
                }
                BinaryKind::Sub => {
                    if let Some((x, y)) = self.product_of(a) {
                        return self.fused(FusedSign::Sub, x, y, b, depth);
                    }
                    if let Some((x, y)) = self.product_of(b) {
                        return self.fused(FusedSign::NegativeAdd, x, y, a, depth);
                    }
                }
                BinaryKind::Min | BinaryKind::Max => return self.extremum(kind, a, b, depth),
                BinaryKind::Div => {
                    if let Some(x) = idiom::sigmoid(self.k, a, b) {
                        let x = self.value(x)?;
                        return Ok(self.expand_unary(Function::Sigmoid, x, depth));
                    }
                }
                _ => {}
            }
        }
        let op = match (kind, dtype) {
            (BinaryKind::Add, DType::F32) => Vec3::Addps,
            (BinaryKind::Sub, DType::F32) => Vec3::Subps,
            (BinaryKind::Mul, DType::F32) => Vec3::Mulps,
            (BinaryKind::Div, DType::F32) => Vec3::Divps,
            (BinaryKind::Add, DType::I32 | DType::U32) => Vec3::Paddd,
            (BinaryKind::Sub, DType::I32 | DType::U32) => Vec3::Psubd,
            (BinaryKind::Mul, DType::I32 | DType::U32) => Vec3::Pmulld,
            (BinaryKind::Min, DType::I32) => Vec3::Pminsd,
            (BinaryKind::Max, DType::I32) => Vec3::Pmaxsd,
            (BinaryKind::Min, DType::U32) => Vec3::Pminud,
            (BinaryKind::Max, DType::U32) => Vec3::Pmaxud,
            (BinaryKind::And, DType::I32 | DType::U32) => Vec3::Pandd,
            (BinaryKind::Or, DType::I32 | DType::U32) => Vec3::Pord,
            (BinaryKind::Xor, DType::I32 | DType::U32) => Vec3::Pxord,
            (BinaryKind::Shl | BinaryKind::Shr, DType::I32 | DType::U32) => {
                return self.shift(kind, a, b, dtype, depth);
            }
            (BinaryKind::And | BinaryKind::Or | BinaryKind::Xor, DType::Bool) => {
                let op = match kind {
                    BinaryKind::And => MaskOp::And,
                    BinaryKind::Or => MaskOp::Or,
                    _ => MaskOp::Xor,
                };
                let (a, b) = (self.value(a)?, self.value(b)?);
                let dst = self.fresh(Class::Mask);
                self.emit(depth, Op::Mask2 { op, dst, a, b });
                return Ok(dst);
            }
            (_, DType::F32) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                if let Some(v) = self.float_remainder(kind, a, b, depth) {
                    return Ok(v);
                }
                return self.expand_binary(kind, a, b, depth);
            }
            (_, DType::I64) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                return self.binary_wide(kind, a, b, depth);
            }
            (BinaryKind::Pow, DType::I32 | DType::U32) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                return Ok(self.integer_power(a, b, dtype, depth));
            }
            (_, DType::I32 | DType::U32) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                let quotient = self.divide(kind, a, b, dtype, depth);
                return quotient.ok_or_else(|| Unsupported::new(format!("{} of {dtype}", kind.name())));
            }
            _ => return Err(Unsupported::new(format!("{} of {dtype}", kind.name()))),
        };
        self.longer_first(a, b)?;
        let may_stay = matches!(self.k.expr(a), Expr::Load(_) | Expr::Const(_));
        let (a, b) = if matches!(op, Vec3::Addps | Vec3::Mulps) && may_stay {
            // Either may be the one that stays in memory.
            let second = self.value(b)?;
            (second, self.operand(a, depth)?)
        } else {
            (self.value(a)?, self.operand(b, depth)?)
        };
        Ok(self.vec3(op, a, b, depth))
    }

    /// Shifts by at least the width, or by a negative amount, give 0; the machine's arithmetic shift gives the sign.
    fn shift(&mut self, kind: BinaryKind, a: ExprId, b: ExprId, dtype: DType, depth: usize) -> Result<V> {
        let arithmetic = kind == BinaryKind::Shr && dtype == DType::I32;
        if let Expr::Const(s) = self.k.expr(b)
            && let Some(n @ 0..32) = s.as_i64()
        {
            let src = self.value(a)?;
            let dst = self.fresh(Class::Vector);
            let op = match kind {
                BinaryKind::Shl => VecShift::Pslld,
                _ if arithmetic => VecShift::Psrad,
                _ => VecShift::Psrld,
            };
            self.emit(depth, Op::Shift { op, dst, src, count: n as u8 });
            return Ok(dst);
        }
        let (a, b) = (self.value(a)?, self.value(b)?);
        let op = match kind {
            BinaryKind::Shl => Vec3::Psllvd,
            _ if arithmetic => Vec3::Psravd,
            _ => Vec3::Psrlvd,
        };
        let shifted = self.vec3(op, a, Src::Reg(b), depth);
        if !arithmetic {
            return Ok(shifted);
        }
        let (width, zero) = (self.bits(32), self.bits(0));
        let k = self.fresh(Class::Mask);
        let predicate = IntPredicate::Lt;
        self.emit(depth, Op::CmpInt { op: CmpInt::Pcmpud, dst: k, a: b, b: Src::Reg(width), predicate });
        self.select(k, shifted, zero, dtype, depth)
    }

    /// The machine gives its second operand where either is NaN; Lawson gives NaN.
    fn extremum(&mut self, kind: BinaryKind, a: ExprId, b: ExprId, depth: usize) -> Result<V> {
        let op = if kind == BinaryKind::Min { Vec3::Minps } else { Vec3::Maxps };
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
        let k = self.fresh(Class::Mask);
        let predicate = FloatPredicate::UnordQ;
        self.emit(
            depth,
            Op::CmpFloat { op: CmpFloat::Cmpps, dst: k, a: first, b: Src::Reg(first), predicate },
        );
        self.emit(depth, Op::MoveMasked { dst, src: first, mask: k });
        Ok(dst)
    }

    fn compare(&mut self, kind: CompareKind, a: ExprId, b: ExprId, depth: usize) -> Result<V> {
        let dtype = self.k.dtype(a);
        let (x, y) = (self.value(a)?, self.value(b)?);
        if dtype == DType::I64 && (self.highs.contains_key(&x) || self.highs.contains_key(&y)) {
            return self.compare_wide(kind, x, y, depth);
        }
        let dst = self.fresh(Class::Mask);
        let unknown = || Unsupported::new(format!("the comparison {}", kind.name()));
        match dtype {
            DType::F32 => {
                let predicate = match kind {
                    CompareKind::Eq => FloatPredicate::EqOq,
                    CompareKind::Ne => FloatPredicate::NeqUq,
                    CompareKind::Lt => FloatPredicate::LtOq,
                    CompareKind::Le => FloatPredicate::LeOq,
                    CompareKind::Gt => FloatPredicate::GtOq,
                    CompareKind::Ge => FloatPredicate::GeOq,
                    _ => return Err(unknown()),
                };
                self.emit(depth, Op::CmpFloat { op: CmpFloat::Cmpps, dst, a: x, b: Src::Reg(y), predicate });
            }
            DType::I32 | DType::U32 | DType::I64 => {
                let predicate = match kind {
                    CompareKind::Eq => IntPredicate::Eq,
                    CompareKind::Ne => IntPredicate::Ne,
                    CompareKind::Lt => IntPredicate::Lt,
                    CompareKind::Le => IntPredicate::Le,
                    CompareKind::Gt => IntPredicate::Gt,
                    CompareKind::Ge => IntPredicate::Ge,
                    _ => return Err(unknown()),
                };
                let op = if dtype == DType::U32 { CmpInt::Pcmpud } else { CmpInt::Pcmpd };
                self.emit(depth, Op::CmpInt { op, dst, a: x, b: Src::Reg(y), predicate });
            }
            DType::Bool => {
                // false < true
                let op = match kind {
                    CompareKind::Eq => MaskOp::Xnor,
                    CompareKind::Ne => MaskOp::Xor,
                    CompareKind::Lt | CompareKind::Gt => MaskOp::Andn,
                    CompareKind::Le | CompareKind::Ge => MaskOp::Or,
                    _ => return Err(unknown()),
                };
                let (mut x, mut y) = match kind {
                    CompareKind::Gt | CompareKind::Ge => (y, x),
                    _ => (x, y),
                };
                if matches!(kind, CompareKind::Le | CompareKind::Ge) {
                    let not = self.fresh(Class::Mask);
                    self.emit(depth, Op::MaskNot { dst: not, src: x });
                    (x, y) = (not, y);
                }
                self.emit(depth, Op::Mask2 { op, dst, a: x, b: y });
            }
            _ => return Err(Unsupported::new(format!("a comparison of {dtype}"))),
        }
        Ok(dst)
    }

    /// `mask ? a : b`
    pub(super) fn select(&mut self, mask: V, a: V, b: V, dtype: DType, depth: usize) -> Result<V> {
        if dtype != DType::Bool {
            let dst = self.fresh(Class::Vector);
            self.emit(depth, Op::Blend { dst, mask, a: b, b: Src::Reg(a) });
            if dtype == DType::I64 {
                self.select_high(dst, mask, a, b, depth);
            }
            return Ok(dst);
        }
        let [yes, no, dst] = [(); 3].map(|()| self.fresh(Class::Mask));
        self.emit(depth, Op::Mask2 { op: MaskOp::And, dst: yes, a: mask, b: a });
        self.emit(depth, Op::Mask2 { op: MaskOp::Andn, dst: no, a: mask, b });
        self.emit(depth, Op::Mask2 { op: MaskOp::Or, dst, a: yes, b: no });
        Ok(dst)
    }

    fn cast(&mut self, a: ExprId, to: DType, depth: usize) -> Result<V> {
        let from = self.k.dtype(a);
        let value = self.value(a)?;
        let zero = self.bits(0);
        match (from, to) {
            _ if from == to => Ok(value),
            (DType::Bool, DType::F32 | DType::I32 | DType::U32) => {
                let one = self.bits(if to == DType::F32 { 1f32.to_bits() } else { 1 });
                self.select(value, one, zero, to, depth)
            }
            (DType::I64, _) | (_, DType::I64) => self.cast_wide(from, to, value, depth),
            (DType::I32, DType::F32) => self.vec2(Vec2::Cvtdq2ps, value, depth),
            (DType::U32, DType::F32) => self.vec2(Vec2::Cvtudq2ps, value, depth),
            (DType::I32, DType::U32) | (DType::U32, DType::I32) => Ok(value),
            (DType::F32 | DType::I32 | DType::U32, DType::Bool) => {
                let dst = self.fresh(Class::Mask);
                if from == DType::F32 {
                    let predicate = FloatPredicate::NeqUq;
                    self.emit(
                        depth,
                        Op::CmpFloat { op: CmpFloat::Cmpps, dst, a: value, b: Src::Reg(zero), predicate },
                    );
                } else {
                    self.emit(depth, Op::LanesMask { dst, src: value });
                }
                Ok(dst)
            }
            (DType::F32, DType::I32) => {
                // The machine gives the least integer for everything that does not fit.
                let whole = self.vec2(Vec2::Cvttps2dq, value, depth)?;
                let (limit, most) = (self.bits(2_147_483_648f32.to_bits()), self.bits(i32::MAX as u32));
                let [high, nan] = [(); 2].map(|()| self.fresh(Class::Mask));
                let mut cmp = |dst, b, predicate| {
                    self.emit(
                        depth,
                        Op::CmpFloat { op: CmpFloat::Cmpps, dst, a: value, b: Src::Reg(b), predicate },
                    );
                };
                cmp(high, limit, FloatPredicate::GeOq);
                cmp(nan, value, FloatPredicate::UnordQ);
                let saturated = self.select(high, most, whole, to, depth)?;
                self.select(nan, zero, saturated, to, depth)
            }
            _ => Err(Unsupported::new(format!("a cast of {from} to {to}"))),
        }
    }
}

/// Which signs a fused multiply-add has.
#[derive(Clone, Copy)]
enum FusedSign {
    /// `a·b + c`
    Add,
    /// `a·b - c`
    Sub,
    /// `c - a·b`
    NegativeAdd,
}

impl FusedSign {
    fn form_231(self) -> Vec3 {
        match self {
            FusedSign::Add => Vec3::Fmadd231ps,
            FusedSign::Sub => Vec3::Fmsub231ps,
            FusedSign::NegativeAdd => Vec3::Fnmadd231ps,
        }
    }

    fn form_213(self) -> Vec3 {
        match self {
            FusedSign::Add => Vec3::Fmadd213ps,
            FusedSign::Sub => Vec3::Fmsub213ps,
            FusedSign::NegativeAdd => Vec3::Fnmadd213ps,
        }
    }
}

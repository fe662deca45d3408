//! Expressions as vector operations.
//!
//! A float or integer is a vector register, the same in all lanes where it does not depend on the vector axis; a bool is
//! a mask register. Products that are only added are fused with the addition: one rounding fewer, one instruction fewer.

use super::Lowering;
use super::arithmetic::FusedSign;
use super::forms::{computed, floats};
use super::hash::{Hash128, Key, mix_dim, mix_index};
use crate::asm::{Vec2, Vec3, Width};
use crate::code::{Class, Op, Src, V};
use crate::error::{Result, Unsupported};
use lawson_graph::DType;
use lawson_kernel::{Expr, ExprId, Extremum, Index, Scalar, Truth};

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
        let (bound, depth) = self.standing(e);
        let key = self.key_if(e, bound);
        if let Some((_, v)) = self.frames[depth].values.get(&key) {
            return Ok(*v);
        }
        // Loads that are at one place for several values of the axes, as in the windows of a convolution, are one.
        let place = self.place_key(e, bound);
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

    /// Remembers the value of an expression that was computed along with another of the same operands.
    pub(super) fn keep(&mut self, e: ExprId, value: V, depth: usize) {
        if self.depends[e.0 as usize].state {
            self.local.insert(e, value);
        } else {
            let key = self.key(e);
            self.frames[depth].values.insert(key, (e, value));
        }
    }

    /// What a load, bound to the lanes or not, is known by if several points may read one place.
    fn place_key(&self, e: ExprId, bound: bool) -> Option<Key> {
        let d = &self.depends[e.0 as usize];
        let Expr::Load(load) = self.k.expr(e) else { return None };
        if d.axes.iter().filter(|a| self.fixed[a.0 as usize].is_some()).count() < 2 {
            return None;
        }
        let mut h = Hash128::new((1 << 54) ^ u64::from(load.buffer.0));
        self.mix_offset(&mut h, e)?;
        if bound {
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
        let not_float = || Unsupported::new(format!("float arithmetic in {dtype}"));
        match k.expr(e) {
            Expr::Const(s) => self.constant(*s),
            Expr::Load(load) => self.load(e, load, depth),
            Expr::Index(index, dtype) => self.index_value(index, *dtype, depth),
            Expr::Unary(kind, a) => match self.with_partner(e, *a, depth)? {
                Some(value) => Ok(value),
                None => self.unary(*kind, *a, dtype, depth),
            },
            Expr::Binary(kind, a, b) => self.binary(*kind, *a, *b, dtype, depth),
            Expr::Extremum(which, a, b) => {
                let forms = floats(dtype).ok_or_else(not_float)?;
                let (a, b) = (self.value(*a)?, self.operand(*b, depth)?);
                let op = match which {
                    Extremum::Min => forms.min,
                    Extremum::Max => forms.max,
                };
                Ok(self.vec3(op, a, b, depth))
            }
            Expr::Fma(a, b, c) => {
                let forms = floats(dtype).ok_or_else(not_float)?;
                self.fused(forms, FusedSign::Add, [*a, *b, *c], depth)
            }
            Expr::Compare(kind, a, b) => self.compare(*kind, *a, *b, depth),
            Expr::Select(c, a, b) => {
                let (c, a, b) = (self.value(*c)?, self.value(*a)?, self.value(*b)?);
                self.select(c, a, b, dtype, depth)
            }
            Expr::Cast(a, to) => self.cast(*a, *to, depth),
            Expr::Bitcast(a, to) => self.bitcast(*a, *to, depth),
            Expr::State(acc, i) => self.state_of(0, *acc, *i),
            Expr::Other(acc, i) => self.state_of(1, *acc, *i),
            Expr::Result(acc, i) => self.result_of(*acc, *i),
        }
    }

    /// An index as a number of a dtype.
    fn index_value(&mut self, index: &Index, dtype: DType, depth: usize) -> Result<V> {
        let index = self.scope.simplify(&self.k.resolve(index));
        let axis = self.vector.as_ref().map(|v| v.axis);
        let moving = axis.filter(|_| index.terms().iter().any(|(a, _)| self.in_lanes(a)));
        let long = self.native && matches!(dtype, DType::I64 | DType::U64 | DType::F64);
        let lanes = match moving {
            Some(axis) => self.lanes_of(&index, axis)?,
            None if long => {
                let value = self.scalar(&index)?;
                let whole = self.spread_long(value, depth);
                return Ok(match dtype {
                    DType::F64 => self.vec2(Vec2::Cvtqq2pd, whole, depth),
                    _ => whole,
                });
            }
            None => {
                let value = self.scalar(&index)?;
                self.spread(value, depth)
            }
        };
        // Lanes of indices have 32 bits, to which integers of 32 bits are cut.
        if long || matches!(computed(dtype), DType::I64 | DType::F32) {
            self.must_fit(&index)?;
        }
        match computed(dtype) {
            DType::I32 | DType::U32 => Ok(self.wrapped(lanes, dtype, depth)),
            DType::I64 | DType::U64 if long => Ok(self.converted(Vec2::Pmovsxdq, lanes, dtype, depth)),
            DType::F64 => Ok(self.converted(Vec2::Cvtdq2pd, lanes, dtype, depth)),
            DType::I64 => Ok(lanes),
            DType::F32 => {
                let float = self.vec2(Vec2::Cvtdq2ps, lanes, depth);
                self.rounded(float, dtype, depth)
            }
            _ => Err(Unsupported::new(format!("an index as {dtype}"))),
        }
    }

    pub(super) fn is_zero(&self, e: ExprId) -> bool {
        match self.k.expr(e) {
            Expr::Const(s) => s.as_f64().is_some_and(|v| v.to_bits() == 0) || s.as_i64() == Some(0),
            _ => false,
        }
    }

    pub(super) fn constant(&mut self, s: Scalar) -> Result<V> {
        match (s.dtype, s.as_f64(), s.as_i64()) {
            (DType::Bool, _, Some(v)) => {
                let dst = self.fresh(Class::Mask);
                self.emit(0, Op::MaskConst { dst, bits: if v != 0 { u16::MAX } else { 0 } });
                Ok(dst)
            }
            (DType::I64, _, Some(v)) if !self.native => Ok(self.wide_constant(v)),
            (dtype, Some(v), _) => Ok(self.float(v, dtype)),
            (dtype, _, Some(v)) => Ok(self.int(v, dtype)),
            _ => Err(Unsupported::new(format!("a constant of {}", s.dtype))),
        }
    }

    /// The same bits in all lanes, for the whole function.
    pub(super) fn bits(&mut self, bits: u32) -> V {
        let mut h = Hash128::new((1 << 52) ^ u64::from(bits));
        h.mix(1);
        let key = h.finish();
        self.kept_constant(key, |l| {
            let dst = l.fresh(Class::Vector);
            l.emit(0, Op::Const { dst, bits: u64::from(bits) });
            dst
        })
    }

    /// The same in lanes of 64 bits.
    pub(super) fn bits64(&mut self, bits: u64) -> V {
        let mut h = Hash128::new(1 << 56);
        h.mix(bits);
        let key = h.finish();
        self.kept_constant(key, |l| {
            let dst = l.fresh_long();
            l.emit(0, Op::Const { dst, bits });
            dst
        })
    }

    /// Sixteen words in a register, for the whole function.
    pub(super) fn table(&mut self, lanes: [u32; 16]) -> V {
        let mut h = Hash128::new(1 << 53);
        lanes.iter().for_each(|l| h.mix(u64::from(*l)));
        let key = h.finish();
        self.kept_constant(key, |l| {
            let dst = l.fresh(Class::Vector);
            // However many lanes there are, a table is a whole register.
            l.widths[dst.0 as usize] = Width::holding(super::vector_bytes(l.level) as usize);
            l.emit(0, Op::Table { dst, lanes });
            dst
        })
    }

    /// What is written once and never changes.
    fn kept_constant(&mut self, key: Key, write: impl FnOnce(&mut Self) -> V) -> V {
        if let Some(v) = self.frames[0].masks.get(&key) {
            return *v;
        }
        let dst = write(self);
        self.frames[0].masks.insert(key, dst);
        self.constants.insert(dst);
        dst
    }

    /// An expression as the last operand of an operation: memory where that saves an instruction.
    pub(super) fn operand(&mut self, e: ExprId, depth: usize) -> Result<Src> {
        if depth == self.here()
            && let Some(src) = self.memory_operand(e)?
        {
            return Ok(src);
        }
        Ok(Src::Reg(self.value(e)?))
    }

    pub(super) fn vec2(&mut self, op: Vec2, src: V, depth: usize) -> V {
        let dst = self.fresh_like(src);
        self.emit(depth, Op::Vec2 { op, dst, src: Src::Reg(src) });
        dst
    }

    pub(super) fn vec3(&mut self, op: Vec3, a: V, b: Src, depth: usize) -> V {
        let dst = self.fresh_like(a);
        self.emit(depth, Op::Vec3 { op, dst, a, b });
        dst
    }
}

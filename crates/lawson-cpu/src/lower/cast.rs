//! Casts: between floats, between integers, which wrap, and from floats to integers, which saturate.

use super::Lowering;
use super::forms::{computed, floats, is_long};
use crate::asm::{FloatPredicate, Vec2, VecStore};
use crate::code::{Class, Op, Src, V};
use crate::error::{Result, Unsupported};
use lawson_graph::DType;
use lawson_kernel::ExprId;

impl<'k> Lowering<'k> {
    pub(super) fn cast(&mut self, a: ExprId, to: DType, depth: usize) -> Result<V> {
        let from = self.k.dtype(a);
        // Elements of these are never loaded; on the way between others they would not be rounded.
        let has_no_lanes = |d: &DType| d.bits() < 8 && *d != DType::Bool || d.is_float() && d.bits() < 16;
        if [from, to].iter().any(has_no_lanes) {
            return Self::no_cast(from, to);
        }
        let value = self.value(a)?;
        match (from, to) {
            _ if from == to => Ok(value),
            (DType::Bool, _) => {
                let (one, zero) = (self.one(to), self.zero(to));
                self.select(value, one, zero, to, depth)
            }
            (DType::I64, _) | (_, DType::I64) if !self.native => self.cast_wide(from, to, value, depth),
            (_, DType::Bool) if from.is_float() => {
                let zero = self.zero(from);
                self.compared(from, value, zero, FloatPredicate::NeqUq, depth)
            }
            (_, DType::Bool) => {
                let dst = self.fresh(Class::Mask);
                self.emit(depth, Op::LanesMask { dst, src: value });
                Ok(dst)
            }
            _ => match (from.is_float(), to.is_float()) {
                (false, true) => self.integer_to_float(from, to, value, depth),
                (true, true) => self.float_to_float(from, to, value, depth),
                (false, false) => Ok(self.integer_to_integer(from, to, value, depth)),
                (true, false) => self.float_to_integer(from, to, value, depth),
            },
        }
    }

    fn no_cast<T>(from: DType, to: DType) -> Result<T> {
        Err(Unsupported::new(format!("a cast of {from} to {to}")))
    }

    fn integer_to_float(&mut self, from: DType, to: DType, value: V, depth: usize) -> Result<V> {
        let op = match (computed(from), computed(to)) {
            (DType::I32, DType::F32) => Vec2::Cvtdq2ps,
            (DType::U32, DType::F32) => Vec2::Cvtudq2ps,
            (DType::I32, DType::F64) => Vec2::Cvtdq2pd,
            (DType::U32, DType::F64) => Vec2::Cvtudq2pd,
            (DType::I64, DType::F32) => Vec2::Cvtqq2ps,
            (DType::U64, DType::F32) => Vec2::Cvtuqq2ps,
            (DType::I64, DType::F64) => Vec2::Cvtqq2pd,
            (DType::U64, DType::F64) => Vec2::Cvtuqq2pd,
            _ => return Self::no_cast(from, to),
        };
        let float = self.converted(op, value, to, depth);
        self.rounded(float, to, depth)
    }

    fn float_to_float(&mut self, from: DType, to: DType, value: V, depth: usize) -> Result<V> {
        let value = match (computed(from), computed(to)) {
            (DType::F32, DType::F64) => self.converted(Vec2::Cvtps2pd, value, to, depth),
            (DType::F64, DType::F32) => self.converted(Vec2::Cvtpd2ps, value, to, depth),
            _ => value,
        };
        self.rounded(value, to, depth)
    }

    fn integer_to_integer(&mut self, from: DType, to: DType, value: V, depth: usize) -> V {
        let value = match (is_long(from), is_long(to)) {
            (false, true) if computed(from) == DType::I32 => self.converted(Vec2::Pmovsxdq, value, to, depth),
            (false, true) => self.converted(Vec2::Pmovzxdq, value, to, depth),
            (true, false) => {
                let dst = self.fresh_of(to);
                self.emit(depth, Op::Down { op: VecStore::Pmovqd, dst, src: value });
                dst
            }
            _ => value,
        };
        self.wrapped(value, to, depth)
    }

    /// Numbers beyond the ends of an integer become its ends, NaN becomes 0.
    fn float_to_integer(&mut self, from: DType, to: DType, value: V, depth: usize) -> Result<V> {
        let (Some(forms), Some((least, most))) = (floats(from), to.int_range()) else {
            return Self::no_cast(from, to);
        };
        // Ends that the float has as they are, are the bounds of what is converted.
        let exactly = |end: i128| match computed(from) {
            DType::F32 => (end as f32) as i128 == end && end.unsigned_abs() < 1 << 24,
            _ => (end as f64) as i128 == end && end.unsigned_abs() < 1 << 53,
        };
        let mut bounded = value;
        if least == 0 || exactly(least) {
            let end = self.float(least as f64, from);
            bounded = self.vec3(forms.max, bounded, Src::Reg(end), depth);
        }
        let clamped = exactly(most);
        if clamped {
            let end = self.float(most as f64, from);
            bounded = self.vec3(forms.min, bounded, Src::Reg(end), depth);
        }
        let op = match (computed(from), computed(to)) {
            (DType::F32, DType::I32) => Vec2::Cvttps2dq,
            (DType::F32, DType::U32) => Vec2::Cvttps2udq,
            (DType::F64, DType::I32) => Vec2::Cvttpd2dq,
            (DType::F64, DType::U32) => Vec2::Cvttpd2udq,
            (DType::F32, DType::I64) => Vec2::Cvttps2qq,
            (DType::F32, DType::U64) => Vec2::Cvttps2uqq,
            (DType::F64, DType::I64) => Vec2::Cvttpd2qq,
            (DType::F64, DType::U64) => Vec2::Cvttpd2uqq,
            _ => return Self::no_cast(from, to),
        };
        let mut whole = self.converted(op, bounded, to, depth);
        // The machine gives the least integer for everything that does not fit: right below, and for unsigned ones, whose bits
        // it sets all, right above.
        if !clamped && least < 0 {
            let (limit, most) = (self.float(most as f64, from), self.int(most as i64, to));
            let high = self.compared(from, value, limit, FloatPredicate::GeOq, depth)?;
            whole = self.select(high, most, whole, to, depth)?;
        }
        let zero = self.zero(to);
        let nan = self.compared(from, value, value, FloatPredicate::UnordQ, depth)?;
        self.select(nan, zero, whole, to, depth)
    }

    /// An instruction from lanes of one width to those that a dtype is computed in.
    pub(super) fn converted(&mut self, op: Vec2, src: V, to: DType, depth: usize) -> V {
        let dst = self.fresh_of(to);
        self.emit(depth, Op::Vec2 { op, dst, src: Src::Reg(src) });
        dst
    }

    /// The bits of a number as another of the same width.
    pub(super) fn bitcast(&mut self, a: ExprId, to: DType, depth: usize) -> Result<V> {
        let from = self.k.dtype(a);
        let value = self.value(a)?;
        let as_they_are = |d: DType| computed(d) == d && (d.bits() == 32 || self.native && is_long(d));
        if from == to || as_they_are(from) && as_they_are(to) {
            Ok(value)
        } else if from.bits() == to.bits() && from.bits() < 32 && from != DType::Bool && to != DType::Bool {
            self.bits_of_small(value, from, to, depth)
        } else {
            Err(Unsupported::new(format!("the bits of {from} as {to}")))
        }
    }

    /// All bits but the sign of a float.
    pub(super) fn magnitude(&mut self, dtype: DType) -> V {
        if is_long(dtype) { self.bits64(i64::MAX as u64) } else { self.bits(0x7FFF_FFFF) }
    }

    /// The sign of a float.
    pub(super) fn sign(&mut self, dtype: DType) -> V {
        if is_long(dtype) { self.bits64(1 << 63) } else { self.bits(0x8000_0000) }
    }

    pub(super) fn zero(&mut self, dtype: DType) -> V {
        self.int(0, dtype)
    }

    fn one(&mut self, dtype: DType) -> V {
        if dtype.is_float() { self.float(1.0, dtype) } else { self.int(1, dtype) }
    }

    /// A float in the lanes that its dtype is computed in.
    pub(super) fn float(&mut self, value: f64, dtype: DType) -> V {
        if is_long(dtype) { self.bits64(value.to_bits()) } else { self.bits((value as f32).to_bits()) }
    }

    /// An integer in the lanes that its dtype is computed in, as many bits of it as they have.
    pub(super) fn int(&mut self, value: i64, dtype: DType) -> V {
        if is_long(dtype) && self.native { self.bits64(value as u64) } else { self.bits(value as u32) }
    }
}

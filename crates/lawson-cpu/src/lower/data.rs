//! Indices that are data: elements of inputs, loaded and clamped.
//!
//! One that is the same in all lanes is loaded into a general register, as far outside as its axes allow: a row that it picks is
//! then read like any other. One that differs from lane to lane is loaded into a vector and clamped there. Nothing is loaded
//! where a loop that may be empty would have kept it from being read: outside such a loop only if the element is there even so,
//! and in the lanes of the vector loop otherwise.

use super::forms::is_long;
use super::hash::{Hash128, mix_datum};
use super::hoist::Outside;
use super::math::Writer;
use super::memory::Stride;
use super::{Lowering, VectorLoop};
use crate::asm::{IntPredicate, Vec3, VecShift, VecStore};
use crate::code::{Class, Gen, Op, Src, Two, V};
use crate::error::{Result, Unsupported};
use lawson_graph::DType;
use lawson_kernel::{Atom, Datum, Expr, ExprId, Index, Truth};

impl<'k> Lowering<'k> {
    /// Whether an atom is known in lanes alone: it moves with the vector axis, or mentions an element that is only there where
    /// the vector loop has lanes.
    pub(super) fn in_lanes(&self, atom: &Atom) -> bool {
        let Some(v) = &self.vector else { return false };
        match atom {
            Atom::Axis(a) => *a == v.axis,
            _ => atom.mentions(v.axis) || self.needs_lanes(&Index::atom(atom.clone()), v),
        }
    }

    fn needs_lanes(&self, index: &Index, v: &VectorLoop<'k>) -> bool {
        if !index.has_data() || self.has_lanes(v) {
            return false;
        }
        let mut needs = false;
        index.visit_data(&mut |d| needs |= !self.is_there(d, &v.outside));
        needs
    }

    /// Whether what an expression itself mentions is known only where the vector loop has lanes.
    pub(super) fn data_need_lanes(&self, e: ExprId, v: &VectorLoop<'k>) -> bool {
        self.indices_of(e).iter().any(|i| self.needs_lanes(i, v))
    }

    /// Whether an element is in its buffer even where a loop around is empty.
    fn is_there(&self, datum: &Datum, outside: &Outside<'k>) -> bool {
        let lanes = self.vector.as_ref().filter(|v| datum.index.iter().any(|i| i.mentions(v.axis)));
        let mut h = Hash128::new((1 << 57) ^ lanes.map_or(0, |v| u64::from(v.instance)));
        mix_datum(&mut h, datum);
        let key = (outside.number, h.finish());
        if let Some(known) = self.inside.borrow().get(&key) {
            return *known;
        }
        let mut scope = outside.scope.clone();
        if let Some(v) = lanes {
            // Lanes that the loop does not have are masked.
            scope.enter(v.of);
        }
        let dims = &self.k.buffer(datum.buffer).dims;
        let there = datum.index.iter().zip(dims).all(|(i, d)| scope.proves_within(i, d, &[]));
        self.inside.borrow_mut().insert(key, there);
        there
    }

    /// The outermost frame, but not outside of `depth`, in which the elements that an atom mentions may be loaded.
    pub(super) fn data_depth(&self, atom: &Atom, mut depth: usize) -> usize {
        let index = Index::atom(atom.clone());
        index.visit_data(&mut |d| {
            let stays = |f: &usize| self.frames[*f].outside.as_ref().is_some_and(|o| !self.is_there(d, o));
            depth = (depth + 1..self.frames.len()).rev().find(stays).unwrap_or(depth);
        });
        match &self.vector {
            Some(v) if index.has_data() && self.in_lanes(atom) => {
                depth.max(self.index_depth(&self.lanes_end(v)))
            }
            _ => depth,
        }
    }

    /// The indices that an expression itself mentions, as they are at this point.
    fn indices_of(&self, e: ExprId) -> Vec<Index> {
        match self.k.expr(e) {
            Expr::Load(_) if self.takes_place(e) == Truth::Never => Vec::new(),
            Expr::Load(_) => {
                let conditions = self.depends[e.0 as usize].conditions.iter();
                self.offset_of(e)
                    .into_iter()
                    .chain(conditions.map(|c| self.scope.simplify(&c.index)))
                    .collect()
            }
            Expr::Index(i, _) => vec![self.scope.simplify(&self.k.resolve(i))],
            _ => Vec::new(),
        }
    }

    /// The outermost frame in which the indices that an expression itself mentions are known.
    pub(super) fn depth_of_indices(&self, e: ExprId) -> usize {
        self.indices_of(e).iter().map(|i| self.index_depth(i)).max().unwrap_or(0)
    }

    /// An element, clamped, in a general register.
    pub(super) fn datum(&mut self, datum: &Datum, depth: usize) -> Result<Gen> {
        let index = Index::atom(Atom::At(Box::new(datum.clone())));
        if let Some(v) = self.frames[depth].scalars.get(&index) {
            return Ok(Gen::Reg(*v));
        }
        let buffer = self.k.buffer(datum.buffer);
        let offset = self.scope.simplify(&self.k.resolve(&buffer.layout.offset(&datum.index)));
        let place = self.place(datum.buffer, offset)?;
        if place.stride != Stride::None {
            return Err(Unsupported::new("an index in memory that differs from lane to lane"));
        }
        let last = self.dimension(&(datum.end.clone() - 1))?;
        let dst = self.fresh(Class::General);
        self.emit(depth, Op::LoadInt { dst, addr: place.addr, wide: buffer.dtype == DType::I64 });
        self.emit(depth, Op::Two { op: Two::Min, dst, src: last });
        self.emit(depth, Op::Two { op: Two::Max, dst, src: Gen::Imm(0) });
        self.frames[depth].scalars.insert(index, dst);
        Ok(Gen::Reg(dst))
    }

    /// Elements, clamped, in lanes; lanes that the vector loop does not have hold some number in range.
    pub(super) fn datum_lanes(&mut self, datum: &Datum, depth: usize) -> Result<V> {
        let last = Index::constant(datum.end.clone() - 1);
        self.must_fit(&last)?;
        let buffer = self.k.buffer(datum.buffer);
        let offset = self.scope.simplify(&self.k.resolve(&buffer.layout.offset(&datum.index)));
        let place = self.place(datum.buffer, offset)?;
        let mask = self.lane_mask()?;
        let mut value = self.load_lanes(buffer.dtype, &place, mask, depth)?;
        if self.native && is_long(buffer.dtype) {
            let last = self.scalar(&last)?;
            let (last, zero) = (self.spread_long(last, depth), self.bits64(0));
            let value = self.vec3(Vec3::Pminsq, value, Src::Reg(last), depth);
            let value = self.vec3(Vec3::Pmaxsq, value, Src::Reg(zero), depth);
            let dst = self.fresh(Class::Vector);
            self.emit(depth, Op::Down { op: VecStore::Pmovqd, dst, src: value });
            return Ok(dst);
        }
        if let Some(high) = self.highs.get(&value).copied() {
            // What does not fit in 32 bits is as good as the end that it lies beyond.
            let most = self.bits(i32::MAX as u32);
            let mut w = Writer { l: self, depth };
            let (sign, beyond) = (w.shift(VecShift::Psrad, value, 31), w.shift(VecShift::Psrad, high, 31));
            let fits = w.cmp_int(high, sign, IntPredicate::Eq);
            let end = w.op3(Vec3::Pxord, beyond, most);
            value = w.blend(fits, value, end);
        }
        let last = self.scalar(&last)?;
        let (last, zero) = (self.spread(last, depth), self.bits(0));
        let value = self.vec3(Vec3::Pminsd, value, Src::Reg(last), depth);
        Ok(self.vec3(Vec3::Pmaxsd, value, Src::Reg(zero), depth))
    }
}

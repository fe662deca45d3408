//! Addresses, loads, stores and the masks that guard them.

use super::forms::{computed, is_long};
use super::hash::{Hash128, Key, mix_atom, mix_dim, mix_index};
use super::{Lowering, small};
use crate::asm::{self, Bmi, CmpInt, Hint, IntPredicate, MaskOp};
use crate::code::{Addr, Class, Gen, Op, Shape, Src, Two, V, Word};
use crate::error::{Result, Unsupported};
use lawson_graph::{DType, Dim};
use lawson_kernel::{
    Atom, BufferId, Condition, Expr, ExprId, Guard, Index, Level, Load, Role, Store, StoreHint, Truth,
};

/// Where a stage reads or writes: the address of the first lane, and how far apart lanes are, in elements.
pub(super) struct Place {
    pub(super) addr: Addr,
    pub(super) stride: Stride,
}

#[derive(Clone, PartialEq)]
pub(super) enum Stride {
    /// All lanes at one place.
    None,
    /// Side by side.
    One,
    /// Anywhere: what the vector axis adds to the first address, in elements.
    Many(Index),
}

fn bytes_of(dtype: DType) -> i64 {
    dtype.bits().div_ceil(8) as i64
}

impl<'k> Lowering<'k> {
    /// Whether numbers of a dtype lie in memory as they do in lanes.
    fn is_plain(&self, dtype: DType) -> bool {
        computed(dtype) == dtype && (dtype.bits() == 32 || self.native && is_long(dtype))
    }

    /// The address of an offset, counted in elements and as simple as can be at this point; written at the outermost depth that
    /// it allows.
    pub(super) fn place(&mut self, buffer: BufferId, mut offset: Index) -> Result<Place> {
        let mut stride = Stride::None;
        if self.vector.is_some() {
            let (along, others) = offset.split_terms(|a| self.in_lanes(a));
            offset = others;
            stride = match along.terms() {
                [] => Stride::None,
                [(Atom::Axis(_), c)] if c.is(1) => Stride::One,
                _ => Stride::Many(along),
            };
        }
        let size = bytes_of(self.k.buffer(buffer).dtype);
        // Any split of the constant part into a number and the rest will do.
        let number = offset.offset().eval(&|_| Some(0)).unwrap_or(0);
        let index = match offset.offset().as_const() {
            Some(_) => None,
            None => Some(self.word(Word::Parameter((offset.offset().clone() - number) * size))),
        };
        let base = self.pointer(buffer, offset.terms())?;
        Ok(Place { addr: Addr { base, index, disp: small(number.saturating_mul(size))? }, stride })
    }

    /// Where a load lies at this point.
    pub(super) fn place_of(&mut self, e: ExprId, buffer: BufferId) -> Result<Option<Place>> {
        if let Some(known) = self.known_place(e, buffer) {
            return Ok(Some(known));
        }
        let Some(offset) = self.offset_of(e) else { return Ok(None) };
        self.place(buffer, offset).map(Some)
    }

    /// The same without writing an index down, if it is a sum of axes and the pointer is there: most points of a stage differ
    /// from the first by a number alone.
    fn known_place(&self, e: ExprId, buffer: BufferId) -> Option<Place> {
        self.with_offset(e, |common| self.known_place_at(common, buffer))?
    }

    /// The same of an offset, as simple as it is at all points of the stage.
    fn known_place_at(&self, common: &Index, buffer: BufferId) -> Option<Place> {
        let lanes = self.vector.as_ref().map(|v| v.axis);
        let mut number = common.offset().as_const()?;
        let (mut stride, mut depth) = (Stride::None, 0);
        let mut key = Self::pointer_hash(buffer);
        for (atom, c) in common.terms() {
            let (Atom::Axis(a), Some(by)) = (atom, c.as_const()) else { return None };
            match self.scope.value(*a) {
                Some(value) => number = number.checked_add(by.checked_mul(value)?)?,
                None if Some(*a) == lanes && by == 1 => stride = Stride::One,
                None if Some(*a) == lanes => return None,
                None => {
                    depth = depth.max(self.dynamic[a.0 as usize].map_or(0, |(frame, _)| frame));
                    mix_atom(&mut key, atom);
                    mix_dim(&mut key, c);
                }
            }
        }
        let base = *self.frames[depth].pointers.get(&key.finish())?;
        let size = bytes_of(self.k.buffer(buffer).dtype);
        let disp = small(number.saturating_mul(size)).ok()?;
        Some(Place { addr: Addr { base, index: None, disp }, stride })
    }

    fn pointer_hash(buffer: BufferId) -> Hash128 {
        Hash128::new(u64::from(buffer.0) ^ (7 << 40))
    }

    fn pointer_key(buffer: BufferId, terms: &[(Atom, Dim)]) -> Key {
        let mut h = Self::pointer_hash(buffer);
        for (a, c) in terms {
            mix_atom(&mut h, a);
            mix_dim(&mut h, c);
        }
        h.finish()
    }

    /// The start of a buffer plus these terms, in elements. In the loop over an axis, the pointer moves along.
    fn pointer(&mut self, buffer: BufferId, terms: &[(Atom, Dim)]) -> Result<V> {
        let depth = terms.iter().map(|(a, _)| self.atom_depth(a)).max().unwrap_or(0);
        let key = Self::pointer_key(buffer, terms);
        if let Some(v) = self.frames[depth].pointers.get(&key) {
            return Ok(*v);
        }
        if terms.is_empty() {
            let v = match self.k.buffer(buffer).role {
                Role::Scratch(_) => {
                    let at = self.scratch.iter().find(|(b, _)| *b == buffer).map_or(0, |(_, at)| *at);
                    let dst = self.fresh(Class::General);
                    let (base, disp) = (self.entry[3], small(at as i64)?);
                    self.emit(0, Op::Lea { dst, base, index: None, disp });
                    dst
                }
                Role::Input | Role::Output => self.word(Word::Buffer(buffer)),
            };
            self.frames[0].pointers.insert(key, v);
            return Ok(v);
        }
        let (inner, outer): (Vec<_>, Vec<_>) =
            terms.iter().cloned().partition(|(a, _)| self.atom_depth(a) == depth);
        let base = self.pointer(buffer, &outer)?;
        let size = bytes_of(self.k.buffer(buffer).dtype);
        let inner: Vec<(Atom, Dim)> = inner.into_iter().map(|(a, c)| (a, c * size)).collect();
        let dst = self.fresh(Class::General);
        let moves = match inner.as_slice() {
            [(Atom::Axis(a), c)] if self.frames[depth].axis == Some(*a) => Some(c.clone()),
            _ => None,
        };
        match (moves, self.frames[depth].begin) {
            (Some(c), Some(begin)) => {
                let step = self.dimension(&(c.clone() * self.frames[depth].step))?;
                self.emit(depth - 1, Op::Mov { dst, src: base });
                if begin != Gen::Imm(0) {
                    let src = self.times(begin, &c, depth - 1)?;
                    self.emit(depth - 1, Op::Two { op: Two::Add, dst, src });
                }
                self.frames[depth].inductions.push((dst, step));
            }
            _ => {
                // One axis a word apart is part of the address.
                if let [(a, c)] = inner.as_slice()
                    && let (Gen::Reg(v), Some(scale @ (1 | 2 | 4 | 8))) = (self.atom(a, depth)?, c.as_const())
                {
                    let index = Some((v, scale as u8));
                    self.emit(depth, Op::Lea { dst, base, index, disp: 0 });
                    self.frames[depth].pointers.insert(key, dst);
                    return Ok(dst);
                }
                self.emit(depth, Op::Mov { dst, src: base });
                for (a, c) in &inner {
                    let value = self.atom(a, depth)?;
                    let src = self.times(value, c, depth)?;
                    self.emit(depth, Op::Two { op: Two::Add, dst, src });
                }
            }
        }
        self.frames[depth].pointers.insert(key, dst);
        Ok(dst)
    }

    /// Whether the vector loop has, at this point, no lane at all.
    pub(super) fn empty_lanes(&self) -> bool {
        self.vector
            .as_ref()
            .is_some_and(|v| self.scope.interval(&self.lanes_end(v)).1.is_some_and(|e| e <= 0))
    }

    /// The lanes that the vector loop has at this point; `None` if all.
    pub(super) fn lane_mask(&mut self) -> Result<Option<V>> {
        let Some(vector) = &self.vector else { return Ok(None) };
        let end = self.lanes_end(vector);
        if self.scope.interval(&end).0.is_some_and(|e| e >= self.lanes) {
            return Ok(None);
        }
        let end = end.into_owned();
        let depth = self.index_depth(&end);
        let mut h = Hash128::new(1 << 50);
        mix_index(&mut h, &end);
        let key = h.finish();
        if let Some(v) = self.frames[depth].masks.get(&key) {
            return Ok(Some(*v));
        }
        let dst = self.fresh(Class::Mask);
        match self.scalar(&end)? {
            Gen::Imm(n) => {
                let bits = ((1u32 << n.clamp(0, self.lanes)) - 1) as u16;
                self.emit(depth, Op::MaskConst { dst, bits });
            }
            Gen::Reg(n) => {
                let count = self.fresh(Class::General);
                self.emit(depth, Op::Mov { dst: count, src: n });
                self.emit(depth, Op::Two { op: Two::Max, dst: count, src: Gen::Imm(0) });
                self.emit(depth, Op::Two { op: Two::Min, dst: count, src: Gen::Imm(self.lanes) });
                let (ones, bits) = (self.fresh(Class::General), self.fresh(Class::General));
                self.emit(depth, Op::Imm { dst: ones, imm: (1 << self.lanes) - 1 });
                self.emit(depth, Op::Bmi { op: Bmi::Bzhi, dst: bits, src: ones, count });
                self.emit(depth, Op::MaskFrom { dst, src: bits });
            }
        }
        self.frames[depth].masks.insert(key, dst);
        Ok(Some(dst))
    }

    /// The lanes for which a condition holds.
    fn condition_mask(&mut self, condition: &Condition) -> Result<V> {
        let index = self.scope.simplify(&self.k.resolve(&condition.index));
        let vector = self.vector.as_ref().map(|v| (v.axis, v.instance));
        let along = vector.filter(|_| index.terms().iter().any(|(a, _)| self.in_lanes(a)));
        let depth = self.index_depth(&index);
        let mut h = Hash128::new((1 << 51) ^ along.map_or(0, |(_, n)| u64::from(n)));
        mix_index(&mut h, &index);
        mix_dim(&mut h, &condition.end);
        if index.has_data() {
            self.mix_lanes(&mut h);
        }
        let key = h.finish();
        if let Some(v) = self.frames[depth].masks.get(&key) {
            return Ok(*v);
        }
        let dst = self.fresh(Class::Mask);
        // The machine compares without signs.
        let end = self.dimension(&condition.end.max(&Dim::ZERO))?;
        match along {
            None => {
                let src = self.scalar(&index)?;
                let src = self.in_register(src, depth);
                let bits = self.fresh(Class::General);
                self.emit(depth, Op::Within { dst: bits, src, end });
                self.emit(depth, Op::MaskFrom { dst, src: bits });
            }
            Some((axis, _)) => {
                self.must_fit(&index)?;
                self.must_fit(&Index::constant(condition.end.clone()))?;
                let lanes = self.lanes_of(&index, axis)?;
                let limit = self.spread(end, depth);
                let predicate = IntPredicate::Lt;
                self.emit(
                    depth,
                    Op::CmpInt { op: CmpInt::Pcmpud, dst, a: lanes, b: Src::Reg(limit), predicate },
                );
            }
        }
        self.frames[depth].masks.insert(key, dst);
        Ok(dst)
    }

    pub(super) fn both(&mut self, a: Option<V>, b: V, depth: usize) -> V {
        match a {
            None => b,
            Some(a) => {
                let dst = self.fresh(Class::Mask);
                self.emit(depth, Op::Mask2 { op: MaskOp::And, dst, a, b });
                dst
            }
        }
    }

    /// Where a load that may be an operand of one operation lies, if it needs no mask.
    pub(super) fn memory_operand(&mut self, e: ExprId) -> Result<Option<Src>> {
        let Expr::Load(load) = self.k.expr(e) else { return Ok(None) };
        let d = &self.depends[e.0 as usize];
        let dtype = self.k.buffer(load.buffer).dtype;
        let guarded = load.guard.is_some() && !self.granted.contains(&e);
        if d.together != 1 || guarded || !self.is_plain(dtype) {
            return Ok(None);
        }
        // One that several points share is better loaded once.
        let shared = self.jams.iter().any(|(a, v)| v.len() > 1 && d.axes.binary_search(a).is_err());
        if shared || self.depth(e) != self.here() {
            return Ok(None);
        }
        if self.bound_to_lanes(e) && self.lane_mask()?.is_some() {
            return Ok(None);
        }
        let Some(place) = self.place_of(e, load.buffer)? else { return Ok(None) };
        Ok(match place.stride {
            Stride::One => Some(Src::Mem(place.addr)),
            Stride::None => Some(Src::Broadcast(place.addr)),
            Stride::Many(_) => None,
        })
    }

    /// Where the lanes of 64-bit elements that lie apart are, in halves from the first address; `None` if all at one place.
    fn places_of_halves(&mut self, stride: &Stride) -> Result<Option<V>> {
        match stride {
            Stride::None => Ok(None),
            Stride::One => {
                let axis = self.vector.as_ref().map_or(Index::constant(0), |v| Index::axis(v.axis));
                Ok(Some(self.places_of(&(axis * 2))?))
            }
            Stride::Many(along) => Ok(Some(self.places_of(&(along.clone() * 2))?)),
        }
    }

    /// Where the lanes of a gather or scatter lie, in elements from the first address.
    pub(super) fn places_of(&mut self, along: &Index) -> Result<V> {
        let Some(axis) = self.vector.as_ref().map(|v| v.axis) else {
            return Err(Unsupported::new("lanes outside of a vector loop"));
        };
        self.must_fit(along)?;
        self.lanes_of(along, axis)
    }

    /// The lanes in which the conditions of a load hold; `None` if all.
    pub(super) fn guard_mask(&mut self, load: &'k Load, depth: usize) -> Result<Option<V>> {
        let mut mask = None;
        for condition in load.guard.iter().flat_map(|g| &g.conditions) {
            if self.scope.holds(condition) == Truth::Sometimes {
                let m = self.condition_mask(condition)?;
                mask = Some(self.both(mask, m, depth));
            }
        }
        Ok(mask)
    }

    /// The value of a load.
    pub(super) fn load(&mut self, e: ExprId, load: &'k Load, depth: usize) -> Result<V> {
        let dtype = self.k.buffer(load.buffer).dtype;
        let mut mask = None;
        let mut guarded: Option<&'k Guard> = None;
        if let Some(guard) = &load.guard {
            match self.takes_place(e) {
                Truth::Always => {}
                Truth::Never => return self.value(guard.otherwise),
                Truth::Sometimes => {
                    mask = self.guard_mask(load, depth)?;
                    guarded = mask.map(|_| guard);
                }
            }
        }
        let Some(place) = self.place_of(e, load.buffer)? else {
            return Err(Unsupported::new("a load without an address"));
        };
        if self.bound_to_lanes(e)
            && let Some(m) = self.lane_mask()?
        {
            mask = Some(self.both(mask, m, depth));
        }
        let dst = self.load_lanes(dtype, &place, mask, depth)?;
        let value = if dtype == DType::Bool {
            let bits = self.fresh(Class::Mask);
            self.emit(depth, Op::LanesMask { dst: bits, src: dst });
            match mask {
                Some(mask) if place.stride == Stride::None => self.both(Some(mask), bits, depth),
                _ => bits,
            }
        } else {
            dst
        };
        match (guarded, mask) {
            (Some(guard), Some(mask)) if !self.is_zero(guard.otherwise) => {
                let otherwise = self.value(guard.otherwise)?;
                self.select(mask, value, otherwise, dtype, depth)
            }
            _ => Ok(value),
        }
    }

    /// Elements at a place, one a lane; lanes outside the mask are 0, but for bools that are all at one place. A bool is not 0
    /// in its lane where it holds.
    pub(super) fn load_lanes(
        &mut self,
        dtype: DType,
        place: &Place,
        mask: Option<V>,
        depth: usize,
    ) -> Result<V> {
        let addr = place.addr;
        if self.is_plain(dtype) {
            let dst = self.fresh_of(dtype);
            let load = match &place.stride {
                Stride::One => Op::Load { dst, addr, shape: Shape::Full, mask },
                Stride::None => Op::Load { dst, addr, shape: Shape::One, mask },
                Stride::Many(by) => Op::Gather { dst, base: addr, index: self.places_of(by)?, mask },
            };
            self.emit(depth, load);
            return Ok(dst);
        }
        match (dtype, &place.stride) {
            (DType::I64, Stride::One) if self.level == asm::Level::Avx512 => {
                self.load_wide_row(addr, mask, depth)
            }
            (DType::I64, stride) => {
                let places = self.places_of_halves(stride)?;
                self.load_wide(addr, places, mask, depth)
            }
            _ => self.load_small(dtype, place, mask, depth),
        }
    }

    /// Writes a stage's value.
    pub(super) fn store(&mut self, s: &Store, offset: &Index, value: V) -> Result<()> {
        let here = self.here();
        let dtype = self.k.buffer(s.buffer).dtype;
        let place = match self.known_place_at(offset, s.buffer) {
            Some(place) => place,
            None => self.place(s.buffer, self.scope.simplify(offset))?,
        };
        let addr = place.addr;
        let mut stride = place.stride;
        if let Some(v) = &self.vector
            && stride == Stride::None
        {
            // A loop of at most one iteration: the first lane is all there is.
            if self.scope.interval(&self.lanes_end(v)).1.is_none_or(|e| e > 1) {
                return Err(Unsupported::new("all lanes of a vector are stored to one place"));
            }
            stride = Stride::One;
        }
        let mask = if stride == Stride::None { None } else { self.lane_mask()? };
        let stream = s.hint == StoreHint::Stream && mask.is_none() && self.offset_is_line(offset);
        if self.is_plain(dtype) {
            let store = match &stride {
                Stride::One if stream => Op::Store { addr, src: value, shape: Shape::Stream, mask },
                Stride::One => Op::Store { addr, src: value, shape: Shape::Full, mask },
                Stride::None => Op::Store { addr, src: value, shape: Shape::One, mask: None },
                Stride::Many(by) => Op::Scatter { base: addr, index: self.places_of(by)?, src: value, mask },
            };
            self.emit(here, store);
            return Ok(());
        }
        match (dtype, &stride) {
            (DType::I64, Stride::One) => self.store_wide_row(addr, value, mask, here),
            (DType::I64, stride) => {
                let places = self.places_of_halves(stride)?;
                self.store_wide(addr, places, value, mask, here)
            }
            (_, stride) => self.store_small(dtype, addr, stride, value, mask, here),
        }
    }

    /// Whether the first lane of an offset always lies at a multiple of a line, counted from the buffer's start.
    fn offset_is_line(&self, offset: &Index) -> bool {
        let mut first = self.scope.simplify(offset);
        if let Some(v) = &self.vector {
            first.add_term(Atom::Axis(v.axis), Dim::from(-1));
        }
        self.scope.divides(&first, self.lanes)
    }

    /// Writes a hint.
    pub(super) fn prefetch(&mut self, buffer: BufferId, index: &[Index], level: Level) -> Result<()> {
        let offset = self.k.resolve(&self.k.buffer(buffer).layout.offset(index));
        let hint = match level {
            Level::L1 => Hint::T0,
            Level::L2 => Hint::T1,
        };
        // One line is enough: that of the first lane.
        let lane = self.vector.as_ref().map(|v| v.axis);
        let offset = offset.substitute(&|a| (Some(a) == lane).then(|| Index::constant(0)));
        // Points that read the same line ask for it once.
        let mut asked: Vec<Addr> = Vec::new();
        self.at_points(&mut |l| {
            let Place { addr, .. } = l.place(buffer, l.scope.simplify(&offset))?;
            if !asked.contains(&addr) {
                asked.push(addr);
                let here = l.here();
                l.emit(here, Op::Prefetch { addr, hint });
            }
            Ok(())
        })
    }
}

//! Sums of products of bytes: four steps of a sum as one instruction.
//!
//! A lane of 32 bits holds four bytes that lie side by side along the sum. The instruction multiplies unsigned bytes with
//! signed ones. Where both factors have a sign, one is moved by 128, to be unsigned, and 128 times the other is taken
//! away again; where neither has, one is moved to be signed. What is taken away is the same for all points that share
//! the other factor, and computed once for them.

use super::hash::{Hash128, Key};
use super::memory::Stride;
use super::{Lowering, asm};
use crate::asm::Vec3;
use crate::code::{Class, Op, Shape, Src, V};
use crate::error::Result;
use lawson_graph::DType;
use lawson_kernel::{AccId, Atom, AxisId, ExprId, For, Load, Node, Truth};
use lawson_kernel::{Expr, Index};

/// The highest bits of four bytes.
const SIGNS: u32 = 0x8080_8080;

impl<'k> Lowering<'k> {
    /// Writes a loop over four steps of a sum of products of bytes; `false` if it is none.
    pub(super) fn dot_loop(&mut self, f: &'k For, trips: i64) -> Result<bool> {
        let [Node::Step { acc, values }] = f.body.as_slice() else { return Ok(false) };
        let [value] = values.as_slice() else { return Ok(false) };
        let Some(factors) = self.k.product_of_bytes(*acc, *value) else { return Ok(false) };
        let in_lanes = self.accs.get(acc).is_none_or(|a| a.lanes);
        if self.level != asm::Level::Avx512 || self.native || trips != 4 || in_lanes {
            return Ok(false);
        }
        let left = self.scope.enter(f);
        let done = self.dot_steps(f, *acc, factors);
        self.fixed[f.axis.0 as usize] = None;
        self.scope.leave(left);
        done
    }

    fn dot_steps(&mut self, f: &'k For, acc: AccId, factors: [ExprId; 2]) -> Result<bool> {
        if !factors.into_iter().all(|e| self.lies_in_fours(e, f.axis)) {
            return Ok(false);
        }
        self.scope.fix(f.axis, 0);
        self.fixed[f.axis.0 as usize] = Some(0);
        self.at_points(&mut |l| {
            if l.empty_lanes() || factors.into_iter().any(|e| l.is_absent(e)) {
                return Ok(());
            }
            let Some(&[dst]) = l.registers(acc).as_deref() else {
                return Err(crate::error::Unsupported::new("a step outside of its accumulation"));
            };
            let [a, b] = factors.map(|e| l.k.dtype(e));
            let [x, y] = [l.fours(factors[0])?, l.fours(factors[1])?];
            let ((x, ex), (y, ey)) = match (a, b) {
                // The unsigned ones stand first.
                (DType::I8, DType::U8) => ((y, factors[1]), (x, factors[0])),
                _ => ((x, factors[0]), (y, factors[1])),
            };
            let here = l.here();
            let signs = l.bits(SIGNS);
            let (x, y, less) = match (a, b) {
                (DType::I8, DType::I8) => {
                    let moved = l.kept(ex, 1, |l, depth| l.vec3(Vec3::Pxord, x, Src::Reg(signs), depth));
                    let less = l.kept(ey, 2, |l, depth| l.products(signs, y, depth));
                    (moved, y, Some(less))
                }
                (DType::U8, DType::U8) => {
                    let moved = l.kept(ey, 1, |l, depth| l.vec3(Vec3::Pxord, y, Src::Reg(signs), depth));
                    let less = l.kept(ex, 2, |l, depth| l.products(x, signs, depth));
                    (x, moved, Some(less))
                }
                _ => (x, y, None),
            };
            l.emit(here, Op::Update { op: Vec3::Pdpbusd, dst, a: x, b: Src::Reg(y), mask: None });
            if let Some(less) = less {
                l.emit(here, Op::Update { op: Vec3::Psubd, dst, a: dst, b: Src::Reg(less), mask: None });
            }
            Ok(())
        })?;
        Ok(true)
    }

    /// The sums of four products alone.
    fn products(&mut self, x: V, y: V, depth: usize) -> V {
        let (dst, zero) = (self.fresh(Class::Vector), self.bits(0));
        self.emit(depth, Op::Move { dst, src: zero });
        self.emit(depth, Op::Update { op: Vec3::Pdpbusd, dst, a: x, b: Src::Reg(y), mask: None });
        dst
    }

    /// Whether what is read lies side by side along the sum, and in one place, or in fours, along the vector.
    fn lies_in_fours(&self, e: ExprId, axis: AxisId) -> bool {
        let (Some(offset), Expr::Load(load)) = (self.offset_of(e), self.k.expr(e)) else { return false };
        let vector = self.vector.as_ref().map(|v| v.axis);
        let plain = offset.terms().iter().all(|(atom, c)| match atom {
            Atom::Axis(a) if *a == axis => c.is(1),
            Atom::Axis(a) if Some(*a) == vector => c.is(4),
            Atom::Axis(_) => true,
            other => !other.mentions(axis) && !self.in_lanes(other),
        });
        let along = offset.terms().iter().any(|(atom, _)| *atom == Atom::Axis(axis));
        let otherwise = load.guard.as_ref().is_none_or(|g| {
            self.is_zero(g.otherwise) && g.conditions.iter().all(|c| !self.k.resolve(&c.index).mentions(axis))
        });
        plain && along && otherwise
    }

    /// What of an expression's fours is known by.
    fn key_of_fours(&self, e: ExprId, what: u64) -> Key {
        let mut h = Hash128::new((1 << 58) ^ (what << 40));
        let key = self.key(e);
        h.mix(key as u64);
        h.mix((key >> 64) as u64);
        h.finish()
    }

    /// Something that is computed of an expression's fours, once.
    fn kept(&mut self, e: ExprId, what: u64, compute: impl FnOnce(&mut Self, usize) -> V) -> V {
        let (depth, key) = (self.depth(e), self.key_of_fours(e, what));
        if let Some((_, v)) = self.frames[depth].values.get(&key) {
            return *v;
        }
        let v = compute(self, depth);
        self.frames[depth].values.insert(key, (e, v));
        v
    }

    /// Four elements a lane, from the place of a load on.
    fn fours(&mut self, e: ExprId) -> Result<V> {
        let (depth, key) = (self.depth(e), self.key_of_fours(e, 0));
        if let Some((_, v)) = self.frames[depth].values.get(&key) {
            return Ok(*v);
        }
        let k = self.k;
        let Expr::Load(load) = k.expr(e) else { return self.value(e) };
        let v = self.load_fours(e, load, depth)?;
        self.frames[depth].values.insert(key, (e, v));
        Ok(v)
    }

    fn load_fours(&mut self, e: ExprId, load: &'k Load, depth: usize) -> Result<V> {
        let mut mask = match self.takes_place(e) {
            Truth::Sometimes => self.guard_mask(load, depth)?,
            Truth::Always | Truth::Never => None,
        };
        let offset = self.offset_of(e).unwrap_or_else(|| Index::constant(0));
        let place = self.place(load.buffer, offset)?;
        if self.bound_to_lanes(e)
            && let Some(m) = self.lane_mask()?
        {
            mask = Some(self.both(mask, m, depth));
        }
        let dst = self.fresh(Class::Vector);
        let shape = if place.stride == Stride::None { Shape::One } else { Shape::Full };
        self.emit(depth, Op::Load { dst, addr: place.addr, shape, mask });
        Ok(dst)
    }
}

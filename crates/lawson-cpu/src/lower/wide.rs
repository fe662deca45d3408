//! 64-bit integers in lanes of 32 bits: low halves in the lanes of one register, high halves in those of another.
//!
//! Kernels that compute with 64 bits have lanes for them. These are integers that a kernel of narrower numbers reads and compares,
//! picks and passes on, as indices: half as many lanes would cost it more than a second register does. A value is known by the register of its low halves. One without high halves is *narrow*: they are the sign of the low
//! ones, as of indices, small constants and what was i32. So what never leaves 32 bits costs no more than an i32.
//! In memory the halves of a number lie side by side: a row of numbers is two vectors whose elements are sorted after a load
//! and before a store; numbers that lie apart are read and written half by half.

use super::Lowering;
use super::math::Writer;
use crate::asm::{CmpInt, IntPredicate, MaskOp, Vec2, Vec3, VecShift};
use crate::code::{Addr, Class, Op, Shape, Src, V};
use crate::error::{Result, Unsupported};
use lawson_graph::DType;
use lawson_graph::op::CompareKind;
use lawson_kernel::math::Lanes;
use lawson_kernel::{AccId, Expr, ExprId, Node};

impl<'k> Lowering<'k> {
    /// The high halves of an i64.
    pub(super) fn high(&mut self, low: V, depth: usize) -> V {
        match self.highs.get(&low) {
            Some(high) => *high,
            None => Writer { l: self, depth }.shift(VecShift::Psrad, low, 31),
        }
    }

    /// An i64 of these halves; neither is known by another name.
    fn wide(&mut self, low: V, high: V) -> V {
        self.highs.insert(low, high);
        low
    }

    /// The same lanes in a register of their own, which says nothing of high halves.
    fn copied(&mut self, src: V, depth: usize) -> V {
        let dst = self.fresh(Class::Vector);
        self.emit(depth, Op::Move { dst, src });
        dst
    }

    /// A constant of i64.
    pub(super) fn wide_constant(&mut self, value: i64) -> V {
        let low = self.bits(value as u32);
        if i32::try_from(value).is_ok() {
            return low;
        }
        // The register of the low half may stand for a narrow number too.
        let (low, high) = (self.copied(low, 0), self.bits((value >> 32) as u32));
        self.wide(low, high)
    }

    /// Loads halves: each lane from its place (in halves from the address), or all from one.
    pub(super) fn load_wide(
        &mut self,
        addr: Addr,
        places: Option<V>,
        mask: Option<V>,
        depth: usize,
    ) -> Result<V> {
        let [low, high] = [(); 2].map(|()| self.fresh(Class::Vector));
        for (dst, addr) in [(low, addr), (high, further(addr, 4)?)] {
            self.emit(
                depth,
                match places {
                    Some(index) => Op::Gather { dst, base: addr, index, mask },
                    None => Op::Load { dst, addr, shape: Shape::One, mask },
                },
            );
        }
        Ok(self.wide(low, high))
    }

    /// Stores halves, likewise.
    pub(super) fn store_wide(
        &mut self,
        addr: Addr,
        places: Option<V>,
        value: V,
        mask: Option<V>,
        depth: usize,
    ) -> Result<()> {
        let high = self.high(value, depth);
        for (src, addr) in [(value, addr), (high, further(addr, 4)?)] {
            self.emit(
                depth,
                match places {
                    Some(index) => Op::Scatter { base: addr, index, src, mask },
                    None => Op::Store { addr, src, shape: Shape::One, mask: None },
                },
            );
        }
        Ok(())
    }

    /// Loads numbers that lie side by side.
    pub(super) fn load_wide_row(&mut self, addr: Addr, mask: Option<V>, depth: usize) -> Result<V> {
        let upper = self.upper(mask, depth);
        let [first, second] = [(); 2].map(|()| self.fresh(Class::Vector));
        for (dst, addr, mask) in [(first, addr, mask), (second, further(addr, 64)?, upper)] {
            self.emit(depth, Op::Load { dst, addr, shape: Shape::Quads, mask });
        }
        let low = self.sorted(first, second, |n| 2 * n, depth);
        let high = self.sorted(first, second, |n| 2 * n + 1, depth);
        Ok(self.wide(low, high))
    }

    /// Stores numbers that lie side by side.
    pub(super) fn store_wide_row(
        &mut self,
        addr: Addr,
        value: V,
        mask: Option<V>,
        depth: usize,
    ) -> Result<()> {
        let high = self.high(value, depth);
        let upper = self.upper(mask, depth);
        for (from, addr, mask) in [(0, addr, mask), (8, further(addr, 64)?, upper)] {
            let src = self.sorted(value, high, |n| from + n / 2 + n % 2 * 16, depth);
            self.emit(depth, Op::Store { addr, src, shape: Shape::Quads, mask });
        }
        Ok(())
    }

    /// The mask of the upper eight lanes.
    fn upper(&mut self, mask: Option<V>, depth: usize) -> Option<V> {
        mask.map(|src| {
            let dst = self.fresh(Class::Mask);
            self.emit(depth, Op::MaskUpper { dst, src });
            dst
        })
    }

    /// Lanes of two registers, each by its number among the 32.
    fn sorted(&mut self, a: V, b: V, number: impl Fn(u32) -> u32, depth: usize) -> V {
        let table = self.table(std::array::from_fn(|n| number(n as u32)));
        let dst = self.copied(a, depth);
        self.emit(depth, Op::Update { op: Vec3::Permt2d, dst, a: table, b: Src::Reg(b), mask: None });
        dst
    }

    /// The high halves of `mask ? a : b`, whose low halves are given.
    pub(super) fn select_high(&mut self, low: V, mask: V, a: V, b: V, depth: usize) {
        if self.highs.contains_key(&a) || self.highs.contains_key(&b) {
            let (a, b) = (self.high(a, depth), self.high(b, depth));
            let high = Writer { l: self, depth }.blend(mask, a, b);
            self.wide(low, high);
        }
    }

    pub(super) fn compare_wide(&mut self, kind: CompareKind, a: V, b: V, depth: usize) -> Result<V> {
        let (ah, bh) = (self.high(a, depth), self.high(b, depth));
        let mut w = Writer { l: self, depth };
        let same_high = w.cmp_int(ah, bh, IntPredicate::Eq);
        let (low, less_high) = match kind {
            CompareKind::Eq | CompareKind::Ne => {
                let same = w.cmp_int(a, b, IntPredicate::Eq);
                let equal = w.mask2(MaskOp::And, same, same_high);
                return Ok(if kind == CompareKind::Eq { equal } else { w.not(equal) });
            }
            CompareKind::Lt => (IntPredicate::Lt, IntPredicate::Lt),
            CompareKind::Le => (IntPredicate::Le, IntPredicate::Lt),
            CompareKind::Gt => (IntPredicate::Gt, IntPredicate::Gt),
            CompareKind::Ge => (IntPredicate::Ge, IntPredicate::Gt),
            _ => return Err(Unsupported::new(format!("the comparison {}", kind.name()))),
        };
        let low = w.cmp_unsigned(a, b, low);
        let high = w.cmp_int(ah, bh, less_high);
        let low = w.mask2(MaskOp::And, same_high, low);
        Ok(w.mask2(MaskOp::Or, high, low))
    }

    /// Casts from and to i64.
    pub(super) fn cast_wide(&mut self, from: DType, to: DType, value: V, depth: usize) -> Result<V> {
        let wide = self.highs.get(&value).copied();
        match (from, to) {
            (DType::I32 | DType::I8 | DType::I16 | DType::U8 | DType::U16, DType::I64) => Ok(value),
            (DType::U32, DType::I64) => {
                let (low, high) = (self.copied(value, depth), self.bits(0));
                Ok(self.wide(low, high))
            }
            (DType::Bool, DType::I64) => {
                let (one, zero) = (self.bits(1), self.bits(0));
                self.select(value, one, zero, DType::I32, depth)
            }
            (DType::I64, DType::I32 | DType::U32) => {
                Ok(if wide.is_some() { self.copied(value, depth) } else { value })
            }
            (DType::I64, DType::I8 | DType::I16 | DType::U8 | DType::U16) => {
                Ok(self.wrapped(value, to, depth))
            }
            (DType::I64, DType::Bool) => {
                let mut w = Writer { l: self, depth };
                let any = wide.map_or(value, |high| w.op3(Vec3::Pord, value, high));
                Ok(w.not_zero(any))
            }
            (DType::I64, DType::F32 | DType::F16 | DType::BF16) => {
                let float = match wide {
                    None => self.vec2(Vec2::Cvtdq2ps, value, depth),
                    Some(high) => Writer { l: self, depth }.by_halves([value, high], |w, [low, high]| {
                        let (low, high) = (w.widened(Vec2::Pmovzxdq, low), w.widened(Vec2::Pmovzxdq, high));
                        let high = w.shift(VecShift::Psllq, high, 32);
                        let whole = w.op3(Vec3::Porq, low, high);
                        w.narrowed(Vec2::Cvtqq2ps, whole)
                    }),
                };
                self.rounded(float, to, depth)
            }
            _ => Err(Unsupported::new(format!("a cast of {from} to {to}"))),
        }
    }

    /// Whether a component of an accumulator's state may leave 32 bits.
    pub(super) fn has_wide_state(&self, acc: AccId, component: usize, body: &[Node]) -> bool {
        let a = self.k.acc(acc);
        if a.state[component].dtype != DType::I64 || self.native {
            return false;
        }
        let fits = |v: i64| i32::try_from(v).is_ok();
        let mut values = vec![a.state[component].init];
        if let Some(merge) = &a.merge {
            if !merge.identity[component].as_i64().is_some_and(fits) {
                return true;
            }
            values.push(merge.values[component]);
        }
        steps_of(body, acc, component, &mut values);
        values.into_iter().any(|e| self.may_be_wide(e))
    }

    fn may_be_wide(&self, e: ExprId) -> bool {
        match self.k.expr(e) {
            _ if self.k.dtype(e) != DType::I64 => false,
            Expr::Const(s) => s.as_i64().is_none_or(|v| i32::try_from(v).is_err()),
            Expr::Index(..) | Expr::State(..) | Expr::Other(..) => false,
            Expr::Select(_, a, b) => self.may_be_wide(*a) || self.may_be_wide(*b),
            Expr::Cast(a, _) => self.k.dtype(*a) == DType::U32 || self.may_be_wide(*a),
            _ => true,
        }
    }
}

/// The values that steps of an accumulator give a component.
fn steps_of(nodes: &[Node], acc: AccId, component: usize, into: &mut Vec<ExprId>) {
    for node in nodes {
        match node {
            Node::Step { acc: a, values } if *a == acc => into.extend(values.get(component)),
            Node::For(lawson_kernel::For { body, .. }) | Node::Accumulate { body, .. } => {
                steps_of(body, acc, component, into);
            }
            Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => {}
        }
    }
}

/// The address of so many bytes further on.
fn further(addr: Addr, bytes: i32) -> Result<Addr> {
    match addr.disp.checked_add(bytes) {
        Some(disp) => Ok(Addr { disp, ..addr }),
        None => Err(Unsupported::new("an offset or step that does not fit in 32 bits")),
    }
}

impl Writer<'_, '_> {
    fn cmp_unsigned(&mut self, a: V, b: V, predicate: IntPredicate) -> V {
        let dst = self.l.fresh(Class::Mask);
        self.l.emit(self.depth, Op::CmpInt { op: CmpInt::Pcmpud, dst, a, b: Src::Reg(b), predicate });
        dst
    }
}

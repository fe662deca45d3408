//! Which registers an operation reads and writes.

use super::{Addr, Gen, Op, Src, V};

/// What an operation does with a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads it.
    Use,
    /// Writes it.
    Def,
    /// Reads and writes it.
    Both,
    /// Reads it, and may do so after it has written its results.
    Late,
}

impl Addr {
    fn visit(&mut self, f: &mut impl FnMut(&mut V, Access)) {
        f(&mut self.base, Access::Use);
        if let Some(i) = &mut self.index {
            f(i, Access::Use);
        }
    }
}

impl Src {
    fn visit(&mut self, f: &mut impl FnMut(&mut V, Access)) {
        match self {
            Src::Reg(v) => f(v, Access::Use),
            Src::Mem(a) | Src::Broadcast(a) => a.visit(f),
        }
    }
}

impl Op {
    /// Calls `f` with every register of the operation: first those that it reads, then those that it writes or reads
    /// late.
    pub fn visit(&mut self, f: &mut impl FnMut(&mut V, Access)) {
        use Access::*;
        match self {
            Op::Vec2 { dst, src, .. } | Op::Vec2Imm { dst, src, .. } => {
                src.visit(f);
                f(dst, Def);
            }
            Op::Vec3 { dst, a, b, .. } | Op::Vec3Imm { dst, a, b, .. } => {
                f(a, Use);
                b.visit(f);
                f(dst, Def);
            }
            Op::Update { dst, a, b, mask, .. } => {
                f(a, Use);
                b.visit(f);
                mask.iter_mut().for_each(|m| f(m, Use));
                f(dst, Both);
            }
            Op::UpdateImm { dst, a, b, .. } => {
                f(a, Use);
                b.visit(f);
                f(dst, Both);
            }
            Op::Shift { dst, src, .. }
            | Op::Down { dst, src, .. }
            | Op::Halved { dst, src }
            | Op::Upper { dst, src }
            | Op::Move { dst, src }
            | Op::MaskNot { dst, src }
            | Op::MaskMove { dst, src }
            | Op::MaskFrom { dst, src }
            | Op::MaskUpper { dst, src }
            | Op::MaskBits { dst, src }
            | Op::FirstBit { dst, src }
            | Op::MaskLanes { dst, src }
            | Op::LanesMask { dst, src }
            | Op::Spread { dst, src }
            | Op::Mov { dst, src }
            | Op::MulImm { dst, src, .. } => {
                f(src, Use);
                f(dst, Def);
            }
            Op::Const { dst, .. }
            | Op::Lanes { dst, .. }
            | Op::Table { dst, .. }
            | Op::MaskConst { dst, .. }
            | Op::Imm { dst, .. } => f(dst, Def),
            Op::LoadInt { dst, addr, .. } => {
                addr.visit(f);
                f(dst, Def);
            }
            Op::Slot { dst, table, .. } => {
                f(table, Use);
                f(dst, Def);
            }
            Op::MoveMasked { dst, src, mask } => {
                f(src, Use);
                f(mask, Use);
                f(dst, Both);
            }
            Op::Blend { dst, mask, a, b } => {
                f(mask, Use);
                f(a, Use);
                b.visit(f);
                f(dst, Def);
            }
            Op::BlendVector { dst, a, b, select } => {
                f(a, Use);
                b.visit(f);
                f(select, Use);
                f(dst, Def);
            }
            Op::CmpFloatVector { dst, a, b, .. } => {
                f(a, Use);
                b.visit(f);
                f(dst, Def);
            }
            Op::LoadSelected { dst, addr, select } => {
                addr.visit(f);
                f(select, Use);
                f(dst, Def);
            }
            Op::StoreSelected { addr, src, select } => {
                addr.visit(f);
                f(select, Use);
                f(src, Use);
            }
            Op::Load { dst, addr, mask, .. } => {
                addr.visit(f);
                mask.iter_mut().for_each(|m| f(m, Use));
                f(dst, Def);
            }
            Op::Store { addr, src, mask, .. } => {
                addr.visit(f);
                mask.iter_mut().for_each(|m| f(m, Use));
                f(src, Use);
            }
            Op::Gather { dst, base, index, mask } => {
                base.visit(f);
                mask.iter_mut().for_each(|m| f(m, Use));
                f(dst, Def);
                f(index, Late);
            }
            Op::GatherSmall { dst, base, index, mask, .. } => {
                base.visit(f);
                f(index, Use);
                mask.iter_mut().for_each(|m| f(m, Use));
                f(dst, Def);
            }
            Op::Scatter { base, index, src, mask } | Op::ScatterSmall { base, index, src, mask, .. } => {
                base.visit(f);
                f(index, Use);
                mask.iter_mut().for_each(|m| f(m, Use));
                f(src, Use);
            }
            Op::DivideLanes { dst, a, b, .. } => {
                f(a, Use);
                f(b, Use);
                f(dst, Def);
            }
            Op::CmpFloat { dst, a, b, .. } | Op::CmpInt { dst, a, b, .. } => {
                f(a, Use);
                b.visit(f);
                f(dst, Def);
            }
            Op::Mask2 { dst, a, b, .. } => {
                f(a, Use);
                f(b, Use);
                f(dst, Def);
            }
            Op::Two { dst, src, .. } => {
                if let Gen::Reg(v) = src {
                    f(v, Use);
                }
                f(dst, Both);
            }
            Op::Lea { dst, base, index, .. } => {
                f(base, Use);
                if let Some((i, _)) = index {
                    f(i, Use);
                }
                f(dst, Def);
            }
            Op::Divide { dst, src, by: other, .. } | Op::Within { dst, src, end: other } => {
                f(src, Use);
                if let Gen::Reg(v) = other {
                    f(v, Use);
                }
                f(dst, Def);
            }
            Op::Bmi { dst, src, count, .. } => {
                f(src, Use);
                f(count, Use);
                f(dst, Def);
            }
            Op::Prefetch { addr, .. } => addr.visit(f),
        }
    }
}

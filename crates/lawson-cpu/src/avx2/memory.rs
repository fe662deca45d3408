//! Loads and stores of some lanes, and of elements narrower than lanes.

use super::{HALF, Rewriter};
use crate::asm::{Extend, Vec2, Vec2Imm, Vec3, VecStore, Width};
use crate::code::{Addr, Item, Op, Shape, Src, V};
use crate::error::{Result, Unsupported};

impl Rewriter {
    pub(super) fn masked_load(&mut self, dst: V, addr: Addr, shape: Shape, mask: V) -> Result<()> {
        match shape {
            Shape::Full => {
                let select = self.fitting(mask, dst);
                self.emit(Op::LoadSelected { dst, addr, select });
            }
            Shape::One => {
                // Where no lane reads, nothing is read.
                let zero = self.words(&[0]);
                self.emit(Op::Move { dst, src: zero });
                let load = Op::Load { dst, addr, shape, mask: None };
                self.out.push(Item::If { mask, body: vec![Item::Op(load)] });
                self.clear_outside(dst, Some(mask));
            }
            Shape::Extend(how) => {
                let extend = match how {
                    Vec2::Pmovzxbd => Extend::Zx8,
                    Vec2::Pmovsxbd => Extend::Sx8,
                    Vec2::Pmovsxwd => Extend::Sx16,
                    _ => Extend::Zx16,
                };
                let index = self.lane_numbers(dst);
                let raw = if how == Vec2::Cvtph2ps { self.fresh_like(dst) } else { dst };
                self.op(Op::GatherSmall { extend, dst: raw, base: addr, index, mask: Some(mask) })?;
                if how == Vec2::Cvtph2ps {
                    let halves = self.fresh(HALF);
                    self.down(VecStore::Pmovdw, halves, raw)?;
                    self.emit(Op::Vec2 { op: how, dst, src: Src::Reg(halves) });
                }
            }
            _ => return Err(Unsupported::new("a masked load without AVX-512")),
        }
        Ok(())
    }

    /// 0, 1, … in lanes of 32 bits.
    fn lane_numbers(&mut self, like: V) -> V {
        let dst = self.fresh_like(like);
        self.emit(Op::Lanes { dst, by: 1 });
        dst
    }

    pub(super) fn store(&mut self, addr: Addr, src: V, shape: Shape, mask: Option<V>) -> Result<()> {
        match (shape, mask) {
            (Shape::Full, Some(mask)) => {
                let select = self.fitting(mask, src);
                self.emit(Op::StoreSelected { addr, src, select });
            }
            (Shape::Cut(how), Some(_)) => {
                let bytes = if how == VecStore::Pmovdb { 1 } else { 2 };
                let index = self.lane_numbers(src);
                self.emit(Op::ScatterSmall { bytes, base: addr, index, src, mask });
            }
            (Shape::Halves, Some(_)) => {
                let (halves, raw) = (self.fresh(HALF), self.fresh_like(src));
                self.emit(Op::Halved { dst: halves, src });
                self.emit(Op::Vec2 { op: Vec2::Pmovzxwd, dst: raw, src: Src::Reg(halves) });
                let index = self.lane_numbers(src);
                self.emit(Op::ScatterSmall { bytes: 2, base: addr, index, src: raw, mask });
            }
            (Shape::Cut(how), None) => {
                let low = self.fresh(HALF);
                self.down(how, low, src)?;
                let bytes = if how == VecStore::Pmovdb { 1 } else { 2 };
                let shape = Shape::Low((bytes * self.lanes) as u8);
                self.emit(Op::Store { addr, src: low, shape, mask: None });
            }
            (_, None) => self.emit(Op::Store { addr, src, shape, mask }),
            _ => return Err(Unsupported::new("a masked store without AVX-512")),
        }
        Ok(())
    }

    /// The low part of each lane, side by side at the beginning of a register.
    pub(super) fn down(&mut self, op: VecStore, dst: V, src: V) -> Result<()> {
        match op {
            VecStore::Pmovqd => self.lower_halves(dst, src),
            VecStore::Pmovdw => {
                let rest = self.words(&[0xFFFF]);
                let cut = self.op3(Vec3::Pandd, src, rest);
                self.packed_words(dst, cut);
            }
            VecStore::Pmovdb => {
                let rest = self.words(&[0xFF]);
                let cut = self.op3(Vec3::Pandd, src, rest);
                let words = self.fresh(HALF);
                self.packed_words(words, cut);
                self.set(Vec3::Packuswb, dst, words, words);
            }
            _ => return Err(Unsupported::new("a conversion without AVX-512")),
        }
        Ok(())
    }

    /// The lower halves of lanes of 32 bits whose upper halves are 0.
    fn packed_words(&mut self, dst: V, src: V) {
        if self.width(src) == Width::X128 {
            self.set(Vec3::Packusdw, dst, src, src);
            return;
        }
        // The instruction works on halves of the register apart.
        let apart = self.op3(Vec3::Packusdw, src, src);
        self.emit(Op::Vec2Imm { op: Vec2Imm::Permq, dst, src: Src::Reg(apart), imm: 0b00_00_10_00 });
    }
}

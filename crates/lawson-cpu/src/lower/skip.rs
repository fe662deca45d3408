//! Loops that are skipped through: which elements of one factor are not 0 becomes a word of bits, and the loop goes from bit to bit.
//!
//! What is multiplied with, and added to, is the same as in a loop through all of them, in the same order.

use super::{Frame, Lowering};
use crate::asm::{CmpFloat, FloatPredicate, Level};
use crate::code::{Addr, Advance, Class, Gen, Item, Loop, Op, Shape, Src, Two, V};
use crate::error::Result;
use lawson_kernel::{Expr, ExprId, For, Index};

/// Lanes of a comparison, which are as many bits.
const LANES: i64 = 16;

impl<'k> Lowering<'k> {
    /// Writes a loop that is skipped through; `false` if it cannot be, and must go through all iterations.
    pub(super) fn skip_loop(&mut self, f: &'k For) -> Result<bool> {
        let (Ok(factor), Some(steps)) = (self.k.skipped(f), f.plain_extent()) else { return Ok(false) };
        let d = &self.depends[factor.0 as usize];
        let together = self.jams.iter().any(|(a, v)| v.len() > 1 && d.axes.binary_search(a).is_ok());
        if self.level != Level::Avx512 || self.lanes != LANES || together || self.bound_to_lanes(factor) {
            return Ok(false);
        }
        let Some(counter) = self.word_of(f, factor, steps)? else { return Ok(false) };
        let (parent, axis) = (self.here(), f.axis.0 as usize);
        let frame = Frame { outside: Some(self.outside()), ..Frame::default() };
        self.frames.push(frame);
        let at = self.fresh(Class::General);
        self.emit(parent + 1, Op::FirstBit { dst: at, src: counter });
        let [begin, end] = [Index::constant(0), Index::constant(steps)];
        self.set_reach(f.axis, &begin, &end);
        let left = self.scope.enter_between(f, begin, end);
        let before = self.dynamic[axis].replace((parent + 1, at));
        let done = self.walk(&f.body);
        self.dynamic[axis] = before;
        self.scope.leave(left);
        let frame = self.frames.pop().unwrap_or_default();
        done?;
        let comment = self.listing.then(|| {
            let (axis, of) = (&self.k.axis(f.axis).name, self.k.expr(factor));
            let of = match of {
                Expr::Load(l) => self.k.buffer(l.buffer).name.as_str(),
                _ => "",
            };
            format!("for {axis} in 0..{steps} where `{of}` is not 0")
        });
        self.frames[parent].items.push(Item::Loop(Box::new(Loop {
            counter,
            advance: Advance::Bits,
            may_be_empty: true,
            inductions: frame.inductions,
            body: frame.items,
            comment,
        })));
        Ok(true)
    }

    /// A word whose bits say which elements of a factor along a loop are not 0.
    fn word_of(&mut self, f: &'k For, factor: ExprId, steps: i64) -> Result<Option<V>> {
        let Expr::Load(load) = self.k.expr(factor) else { return Ok(None) };
        let axis = f.axis.0 as usize;
        let left = self.scope.enter(f);
        self.scope.fix(f.axis, 0);
        self.fixed[axis] = Some(0);
        let place = self.offset_of(factor).map(|offset| self.place(load.buffer, offset));
        self.fixed[axis] = None;
        self.scope.leave(left);
        let Some(place) = place.transpose()? else { return Ok(None) };
        let (here, zero) = (self.here(), self.bits(0));
        let mut word: Option<V> = None;
        for part in (0..(steps + LANES - 1) / LANES).rev() {
            let first = part * LANES;
            let addr = Addr { disp: place.addr.disp + 4 * first as i32, ..place.addr };
            let dst = self.fresh(Class::Mask);
            let b = match steps - first {
                LANES.. => Src::Mem(addr),
                rest => {
                    let [mask, part] = [Class::Mask, Class::Vector].map(|class| self.fresh(class));
                    self.emit(here, Op::MaskConst { dst: mask, bits: (1 << rest) - 1 });
                    self.emit(here, Op::Load { dst: part, addr, shape: Shape::Full, mask: Some(mask) });
                    Src::Reg(part)
                }
            };
            // NaN is not 0 either.
            let predicate = FloatPredicate::NeqUq;
            self.emit(here, Op::CmpFloat { op: CmpFloat::Cmpps, dst, a: zero, b, predicate });
            let bits = self.fresh(Class::General);
            self.emit(here, Op::MaskBits { dst: bits, src: dst });
            word = Some(match word {
                None => bits,
                Some(above) => {
                    let both = self.fresh(Class::General);
                    self.emit(here, Op::MulImm { dst: both, src: above, imm: 1 << LANES });
                    self.emit(here, Op::Two { op: Two::Add, dst: both, src: Gen::Reg(bits) });
                    both
                }
            });
        }
        Ok(word)
    }
}

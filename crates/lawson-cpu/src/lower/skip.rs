//! Loops that are skipped through: which elements of one factor are not 0 becomes a word of bits, and the loop goes from bit to bit.
//!
//! What is multiplied with, and added to, is the same as in a loop through all of them, in the same order.

use super::memory::Place;
use super::{Frame, Lowering, small};
use crate::asm::{CmpFloat, FloatPredicate, Level};
use crate::code::{Addr, Advance, Class, Gen, Item, Loop, Op, Shape, Src, Two, V};
use crate::error::Result;
use lawson_graph::Dim;
use lawson_kernel::{AxisId, Condition, Expr, ExprId, For, Index, Truth};

/// Lanes of a comparison, which are as many bits.
const LANES: i64 = 16;

/// Which iteration of the loop around a word is of.
#[derive(Clone, Copy)]
enum Iteration {
    This,
    First {
        axis: AxisId,
        begin: i64,
    },
    /// The one after this, if there is one.
    Next {
        axis: AxisId,
        step: i64,
        end: Gen,
    },
}

impl<'k> Lowering<'k> {
    /// Writes a loop that is skipped through; `false` if it cannot be, and must go through all iterations.
    pub(super) fn skip_loop(&mut self, f: &'k For) -> Result<bool> {
        let (Ok([factor, other]), Some(steps)) = (self.k.skipped(f), f.plain_extent()) else {
            return Ok(false);
        };
        let d = &self.depends[factor.0 as usize];
        let together = self.jams.iter().any(|(a, v)| v.len() > 1 && d.axes.binary_search(a).is_ok());
        if self.level != Level::Avx512 || self.lanes != LANES || together || self.bound_to_lanes(factor) {
            return Ok(false);
        }
        if self.takes_place(factor) == Truth::Never {
            return Ok(true);
        }
        let Some(counter) = self.word_around(f, factor, steps)? else { return Ok(false) };
        let (parent, axis) = (self.here(), f.axis.0 as usize);
        let frame = Frame { outside: Some(self.outside()), ..Frame::default() };
        self.frames.push(frame);
        let at = self.fresh(Class::General);
        self.emit(parent + 1, Op::FirstBit { dst: at, src: counter });
        let [begin, end] = [Index::constant(0), Index::constant(steps)];
        self.set_reach(f.axis, &begin, &end);
        let left = self.scope.enter_between(f, begin, end);
        let before = self.dynamic[axis].replace((parent + 1, at));
        // Where it does not take place, no bit is set.
        let granted = self.granted.len();
        self.granted.push(factor);
        let conditions = |e: ExprId| &self.depends[e.0 as usize].conditions;
        // What does not move with the loop is computed outside of it, where conditions may fail.
        let moves = self.depends[other.0 as usize].axes.binary_search(&f.axis).is_ok();
        if moves && conditions(other).iter().all(|c| conditions(factor).contains(c)) {
            self.granted.push(other);
        }
        let done = self.walk(&f.body);
        self.granted.truncate(granted);
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
    ///
    /// A processor learns late how often it goes through the loop, and begins anew after it. So that it does not also wait for elements to be
    /// compared then, the word of an iteration of the loop around is made in the one before, and that of the first before all.
    fn word_around(&mut self, f: &'k For, factor: ExprId, steps: i64) -> Result<Option<V>> {
        let (here, frame) = (self.here(), &self.frames[self.here()]);
        let (Some(axis), Some(Gen::Imm(begin @ 0..)), Some(end)) = (frame.axis, frame.begin, frame.end)
        else {
            return self.word_of(f, factor, steps, Iteration::This);
        };
        let (step, may_be_empty) = (frame.step, frame.outside.is_some());
        let depends = &self.depends[factor.0 as usize];
        // What is written in the kernel may not be there yet, and beyond the loop's end no element says where others lie.
        let early = depends.written.is_empty() && depends.data.is_empty();
        if may_be_empty || !early || depends.axes.binary_search(&axis).is_err() {
            return self.word_of(f, factor, steps, Iteration::This);
        }
        let Some(first) = self.word_of(f, factor, steps, Iteration::First { axis, begin })? else {
            return Ok(None);
        };
        let [next, word] = [(); 2].map(|()| self.fresh(Class::General));
        self.emit(here - 1, Op::Mov { dst: next, src: first });
        self.emit(here, Op::Mov { dst: word, src: next });
        let Some(made) = self.word_of(f, factor, steps, Iteration::Next { axis, step, end })? else {
            return Ok(None);
        };
        self.emit(here, Op::Mov { dst: next, src: made });
        Ok(Some(word))
    }

    /// The word of one iteration of the loop around, written in that loop or, if it is the first, before it.
    fn word_of(&mut self, f: &'k For, factor: ExprId, steps: i64, of: Iteration) -> Result<Option<V>> {
        let depends = &self.depends[factor.0 as usize];
        let (Expr::Load(load), Some(offset)) = (self.k.expr(factor), &depends.offset) else {
            return Ok(None);
        };
        let there = |a: AxisId| match of {
            _ if a == f.axis => Some(Index::constant(0)),
            Iteration::First { axis, begin } if a == axis => Some(Index::constant(begin)),
            Iteration::Next { axis, step, .. } if a == axis => Some(Index::axis(a) + step),
            _ => None,
        };
        let offset = self.scope.simplify(&offset.substitute(&there));
        let conditions: Vec<Condition> = depends
            .conditions
            .iter()
            .map(|c| Condition { index: c.index.substitute(&there), end: c.end.clone() })
            .collect();
        let depth = self.here() - usize::from(matches!(of, Iteration::First { .. }));
        let size = Index::constant(self.k.buffer(load.buffer).layout.size.clone());
        if !conditions.is_empty() && self.scope.interval(&size).0.is_none_or(|least| least < steps) {
            // There may be nothing to read instead of what is beyond the ends.
            return Ok(None);
        }
        let mut takes_place = self.all_hold(&conditions, depth)?;
        if let Iteration::Next { axis, step, end } = of {
            let [next, within] = [(); 2].map(|()| self.fresh(Class::General));
            let base = self.axis(axis)?;
            self.emit(depth, Op::Lea { dst: next, base, index: None, disp: small(step)? });
            self.emit(depth, Op::Within { dst: within, src: next, end });
            takes_place = Some(self.all_bits(takes_place, within, depth));
        }
        let Place { mut addr, .. } = self.place(load.buffer, offset)?;
        if let Some(takes_place) = takes_place {
            // Where it does not, the head of the buffer is read: beyond its ends no memory may be, and masked loads that reach there take hundreds
            // of cycles.
            let Place { addr: Addr { base: head, .. }, .. } = self.place(load.buffer, Index::constant(0))?;
            let from = self.fresh(Class::General);
            let Addr { base, index, disp } = addr;
            self.emit(depth, Op::Lea { dst: from, base, index: index.map(|v| (v, 1)), disp });
            self.emit(depth, Op::Two { op: Two::Sub, dst: from, src: Gen::Reg(head) });
            self.emit(depth, Op::Two { op: Two::And, dst: from, src: Gen::Reg(takes_place) });
            self.emit(depth, Op::Two { op: Two::Add, dst: from, src: Gen::Reg(head) });
            addr = Addr { base: from, index: None, disp: 0 };
        }
        let zero = self.bits(0);
        let mut word: Option<V> = None;
        for part in (0..(steps + LANES - 1) / LANES).rev() {
            let first = part * LANES;
            let addr = Addr { disp: addr.disp + 4 * first as i32, ..addr };
            let dst = self.fresh(Class::Mask);
            let b = match steps - first {
                LANES.. => Src::Mem(addr),
                rest => {
                    let [mask, part] = [Class::Mask, Class::Vector].map(|class| self.fresh(class));
                    self.emit(depth, Op::MaskConst { dst: mask, bits: (1 << rest) - 1 });
                    self.emit(depth, Op::Load { dst: part, addr, shape: Shape::Full, mask: Some(mask) });
                    Src::Reg(part)
                }
            };
            // NaN is not 0 either.
            let predicate = FloatPredicate::NeqUq;
            self.emit(depth, Op::CmpFloat { op: CmpFloat::Cmpps, dst, a: zero, b, predicate });
            let bits = self.fresh(Class::General);
            self.emit(depth, Op::MaskBits { dst: bits, src: dst });
            word = Some(match word {
                None => bits,
                Some(above) => {
                    let both = self.fresh(Class::General);
                    self.emit(depth, Op::MulImm { dst: both, src: above, imm: 1 << LANES });
                    self.emit(depth, Op::Two { op: Two::Add, dst: both, src: Gen::Reg(bits) });
                    both
                }
            });
        }
        if let (Some(word), Some(takes_place)) = (word, takes_place) {
            self.emit(depth, Op::Two { op: Two::And, dst: word, src: Gen::Reg(takes_place) });
        }
        Ok(word)
    }

    /// All ones if conditions that mention no lanes hold, else 0; `None` if they always do.
    fn all_hold(&mut self, conditions: &[Condition], depth: usize) -> Result<Option<V>> {
        let mut all = None;
        for condition in conditions {
            let holds = self.scope.holds(condition);
            if holds == Truth::Always {
                continue;
            }
            let dst = self.fresh(Class::General);
            if holds == Truth::Never {
                self.emit(depth, Op::Imm { dst, imm: 0 });
            } else {
                let index = self.scope.simplify(&self.k.resolve(&condition.index));
                let at = self.index_depth(&index);
                let value = self.scalar(&index)?;
                let src = self.in_register(value, at);
                // The machine compares without signs.
                let end = self.dimension(&condition.end.max(&Dim::ZERO))?;
                self.emit(at, Op::Within { dst, src, end });
            }
            all = Some(self.all_bits(all, dst, depth));
        }
        Ok(all)
    }

    /// The bits of both.
    fn all_bits(&mut self, a: Option<V>, b: V, depth: usize) -> V {
        let Some(a) = a else { return b };
        let dst = self.fresh(Class::General);
        self.emit(depth, Op::Mov { dst, src: a });
        self.emit(depth, Op::Two { op: Two::And, dst, src: Gen::Reg(b) });
        dst
    }
}

//! Index arithmetic in general registers.

use super::{Lowering, small};
use crate::code::{Class, Gen, Op, Two, V, Word};
use crate::error::{Result, Unsupported};
use lawson_graph::Dim;
use lawson_kernel::{Atom, Index};

impl<'k> Lowering<'k> {
    /// A word of the argument table, in a register.
    pub(super) fn word(&mut self, word: Word) -> V {
        if let Some(slot) = self.words.iter().position(|w| *w == word) {
            return self.held_words[slot];
        }
        let (dst, table, slot) = (self.fresh(Class::General), self.entry[0], self.words.len() as u32);
        self.emit(0, Op::Slot { dst, table, slot });
        self.words.push(word);
        self.held_words.push(dst);
        dst
    }

    /// The value of a dimension.
    pub(super) fn dimension(&mut self, dim: &Dim) -> Result<Gen> {
        match dim.as_const() {
            Some(c) => Ok(Gen::Imm(c)),
            None if dim.is_overflow() => Err(Unsupported::new("an index that is too large")),
            None => Ok(Gen::Reg(self.word(Word::Parameter(dim.clone())))),
        }
    }

    /// The value of an index, written as far outside as it can be.
    pub(super) fn scalar(&mut self, index: &Index) -> Result<Gen> {
        let index = self.scope.simplify(&self.k.resolve(index));
        if let Some(d) = index.as_dim() {
            return self.dimension(d);
        }
        let depth = self.index_depth(&index);
        if let [(Atom::Axis(a), c)] = index.terms()
            && c.is(1)
            && index.offset().is(0)
        {
            return Ok(Gen::Reg(self.axis(*a)?));
        }
        if let Some(v) = self.frames[depth].scalars.get(&index) {
            return Ok(Gen::Reg(*v));
        }
        // What does not move with the innermost loop is summed up before it.
        let (moving, fixed) = index.clone().split_terms(|atom| self.atom_depth(atom) == depth);
        let fixed = self.scalar(&fixed)?;
        let dst = self.fresh(Class::General);
        match fixed {
            Gen::Imm(imm) => self.emit(depth, Op::Imm { dst, imm }),
            Gen::Reg(src) => self.emit(depth, Op::Mov { dst, src }),
        }
        for (atom, c) in moving.terms() {
            let value = self.atom(atom, depth)?;
            let scaled = self.times(value, c, depth)?;
            self.emit(depth, Op::Two { op: Two::Add, dst, src: scaled });
        }
        self.frames[depth].scalars.insert(index, dst);
        Ok(Gen::Reg(dst))
    }

    pub(super) fn axis(&self, a: lawson_kernel::AxisId) -> Result<V> {
        match self.dynamic[a.0 as usize] {
            Some((_, v)) => Ok(v),
            None => Err(Unsupported::new(format!("the axis `{}` is not a number here", self.k.axis(a).name))),
        }
    }

    /// `value · factor`.
    pub(super) fn times(&mut self, value: Gen, factor: &Dim, depth: usize) -> Result<Gen> {
        Ok(match (value, self.dimension(factor)?) {
            (Gen::Imm(a), Gen::Imm(b)) => Gen::Imm(a.wrapping_mul(b)),
            (v, Gen::Imm(1)) => v,
            (Gen::Reg(src), Gen::Imm(c)) => {
                let dst = self.fresh(Class::General);
                self.emit(depth, Op::MulImm { dst, src, imm: small(c)? });
                Gen::Reg(dst)
            }
            (v, Gen::Reg(by)) => {
                let dst = self.fresh(Class::General);
                match v {
                    Gen::Imm(imm) => self.emit(depth, Op::Imm { dst, imm }),
                    Gen::Reg(src) => self.emit(depth, Op::Mov { dst, src }),
                }
                self.emit(depth, Op::Two { op: Two::Mul, dst, src: Gen::Reg(by) });
                Gen::Reg(dst)
            }
        })
    }

    /// The value of an atom, written at `depth` or further outside.
    pub(super) fn atom(&mut self, atom: &Atom, depth: usize) -> Result<Gen> {
        match atom {
            Atom::Axis(a) => Ok(Gen::Reg(self.axis(*a)?)),
            Atom::At(datum) => self.datum(datum, depth),
            Atom::Div(i, d) | Atom::Mod(i, d) => {
                let remainder = matches!(atom, Atom::Mod(..));
                let negative = self.scope.interval(i).0.is_none_or(|lo| lo < 0);
                // A divisor of 0 belongs to loops that do not run, but a division may be written before them.
                let by = self.dimension(&d.max(&Dim::ONE))?;
                match (self.scalar(i)?, by) {
                    (Gen::Imm(a), Gen::Imm(b)) if b > 0 => {
                        Ok(Gen::Imm(if remainder { a.rem_euclid(b) } else { a.div_euclid(b) }))
                    }
                    (a, by) => {
                        let src = self.in_register(a, depth);
                        let dst = self.fresh(Class::General);
                        self.emit(depth, Op::Divide { dst, src, by, remainder, negative });
                        Ok(Gen::Reg(dst))
                    }
                }
            }
            Atom::Min(members) | Atom::Max(members) => {
                let op = if matches!(atom, Atom::Min(_)) { Two::Min } else { Two::Max };
                let dst = self.fresh(Class::General);
                for (n, m) in members.iter().enumerate() {
                    let value = self.scalar(m)?;
                    match (n, value) {
                        (0, Gen::Imm(imm)) => self.emit(depth, Op::Imm { dst, imm }),
                        (0, Gen::Reg(src)) => self.emit(depth, Op::Mov { dst, src }),
                        (_, src) => self.emit(depth, Op::Two { op, dst, src }),
                    }
                }
                Ok(Gen::Reg(dst))
            }
        }
    }

    /// A number in a register of its own or as it is.
    pub(super) fn in_register(&mut self, value: Gen, depth: usize) -> V {
        match value {
            Gen::Reg(v) => v,
            Gen::Imm(imm) => {
                let dst = self.fresh(Class::General);
                self.emit(depth, Op::Imm { dst, imm });
                dst
            }
        }
    }
}

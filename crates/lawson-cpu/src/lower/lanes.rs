//! Indices that differ from lane to lane, as 32-bit integers in the lanes.
//!
//! An index is a sum, of which the part without the vector axis is computed in a general register and spread. Quotients and
//! remainders of the vector axis are computed in each lane, and integers in memory along it are loaded into them.

use super::hash::{Hash128, mix_index};
use super::math::Writer;
use super::{Lowering, small};
use crate::asm::{Vec3, VecShift};
use crate::code::{Class, Gen, Op, Src, V};
use crate::error::{Result, Unsupported};
use lawson_graph::Dim;
use lawson_kernel::{Atom, AxisId, Index};

impl<'k> Lowering<'k> {
    /// An index that is known in lanes alone; bits beyond 32 are lost. Written as far outside as it can be.
    pub(super) fn lanes_of(&mut self, index: &Index, axis: AxisId) -> Result<V> {
        let depth = self.index_depth(index);
        let mut h = Hash128::new(1 << 55);
        mix_index(&mut h, index);
        if index.has_data() {
            self.mix_lanes(&mut h);
        }
        let key = h.finish();
        if let Some(v) = self.frames[depth].masks.get(&key) {
            return Ok(*v);
        }
        let mut first = Index::constant(index.offset().clone());
        let mut sum: Option<V> = None;
        for (atom, c) in index.terms() {
            if !self.in_lanes(atom) {
                first.add_term(atom.clone(), c.clone());
                continue;
            }
            let value = match atom {
                Atom::Axis(_) => self.lane_multiples(c, depth)?,
                _ => {
                    let value = self.atom_lanes(atom, axis, depth)?;
                    self.scaled_lanes(value, c, depth)?
                }
            };
            sum = Some(match sum {
                None => value,
                Some(sum) => self.vec3(Vec3::Paddd, sum, Src::Reg(value), depth),
            });
        }
        let Some(mut sum) = sum else {
            return Err(Unsupported::new("an index that is the same in all lanes"));
        };
        let first = self.scalar(&first)?;
        if first != Gen::Imm(0) {
            let first = self.spread(first, depth);
            sum = self.vec3(Vec3::Paddd, sum, Src::Reg(first), depth);
        }
        self.frames[depth].masks.insert(key, sum);
        Ok(sum)
    }

    /// 0, 1, … times a number.
    fn lane_multiples(&mut self, by: &Dim, depth: usize) -> Result<V> {
        self.must_fit(&Index::constant(by.clone() * (self.lanes - 1)))?;
        let dst = self.fresh(Class::Vector);
        match self.dimension(by)? {
            Gen::Imm(c) => {
                self.emit(depth, Op::Lanes { dst, by: small(c)? });
                Ok(dst)
            }
            Gen::Reg(_) => {
                self.emit(depth, Op::Lanes { dst, by: 1 });
                self.scaled_lanes(dst, by, depth)
            }
        }
    }

    fn scaled_lanes(&mut self, value: V, by: &Dim, depth: usize) -> Result<V> {
        if by.is(1) {
            return Ok(value);
        }
        let by = self.dimension(by)?;
        let by = self.spread(by, depth);
        Ok(self.vec3(Vec3::Pmulld, value, Src::Reg(by), depth))
    }

    /// The low 32 bits of a number in all lanes.
    pub(super) fn spread(&mut self, value: Gen, depth: usize) -> V {
        match value {
            Gen::Imm(imm) => self.bits(imm as u32),
            Gen::Reg(src) => {
                let dst = self.fresh(Class::Vector);
                self.emit(depth, Op::Spread { dst, src });
                dst
            }
        }
    }

    /// A number in all lanes of 64 bits.
    pub(super) fn spread_long(&mut self, value: Gen, depth: usize) -> V {
        match value {
            Gen::Imm(imm) => self.bits64(imm as u64),
            Gen::Reg(src) => {
                let dst = self.fresh_long();
                self.emit(depth, Op::Spread { dst, src });
                dst
            }
        }
    }

    /// A quotient, remainder or extremum of indices of which some move with the vector axis. What they are made of must fit.
    fn atom_lanes(&mut self, atom: &Atom, axis: AxisId, depth: usize) -> Result<V> {
        match atom {
            Atom::Axis(_) => self.lane_multiples(&Dim::ONE, depth),
            Atom::At(datum) => self.datum_lanes(datum, depth),
            Atom::Div(x, d) | Atom::Mod(x, d) => {
                let remainder = matches!(atom, Atom::Mod(..));
                self.must_fit(x)?;
                let x = self.lanes_of(x, axis)?;
                if let Some(d) = d.as_const().filter(|d| *d > 0 && d & (d - 1) == 0) {
                    if remainder {
                        let rest = self.bits((d - 1) as u32);
                        return Ok(self.vec3(Vec3::Pandd, x, Src::Reg(rest), depth));
                    }
                    let dst = self.fresh(Class::Vector);
                    let count = d.trailing_zeros() as u8;
                    self.emit(depth, Op::Shift { op: VecShift::Psrad, dst, src: x, count });
                    return Ok(dst);
                }
                // A divisor of 0 belongs to loops that do not run.
                let d = d.max(&Dim::ONE);
                self.must_fit(&Index::constant(d.clone()))?;
                let by = self.dimension(&d)?;
                let by = self.spread(by, depth);
                let mut w = Writer { l: self, depth };
                Ok(if remainder { w.floor_remainder(x, by) } else { w.floor_quotient(x, by) })
            }
            Atom::Min(members) | Atom::Max(members) => {
                let op = if matches!(atom, Atom::Min(_)) { Vec3::Pminsd } else { Vec3::Pmaxsd };
                let mut result: Option<V> = None;
                for m in members {
                    self.must_fit(m)?;
                    let value = if m.terms().iter().any(|(a, _)| self.in_lanes(a)) {
                        self.lanes_of(m, axis)?
                    } else {
                        let value = self.scalar(m)?;
                        self.spread(value, depth)
                    };
                    result = Some(match result {
                        None => value,
                        Some(before) => self.vec3(op, before, Src::Reg(value), depth),
                    });
                }
                result.ok_or_else(|| Unsupported::new("an extremum of nothing"))
            }
        }
    }
}

//! Vector code without what AVX-512 alone has: masks become vectors, and operations without an instruction become several.
//!
//! Lowering writes one kind of code for all processors. Where there are no mask registers, a mask is a vector of as many
//! lanes, all ones or all zeros, that fills a register; masked loads, stores and moves select by it. An element in memory that
//! an operation would give to all lanes is loaded first. `mask.rs` has masks and selections, `memory.rs` loads and stores,
//! `integer.rs` integers of 64 bits and conversions.

mod integer;
mod mask;
mod memory;

use crate::asm::{Vec2Imm, Vec3, Vec3Imm, Width};
use crate::code::{Class, Item, Loop, Op, Program, Shape, Src, V};
use crate::error::{Result, Unsupported};
use std::collections::HashMap;

/// A register of AVX2.
const WHOLE: Width = Width::Y256;
/// The half of one.
const HALF: Width = Width::X128;

struct Rewriter {
    classes: Vec<Class>,
    widths: Vec<Width>,
    lanes: usize,
    /// What was rewritten of the list of items that is being gone through.
    out: Vec<Item>,
    /// Registers of constants, by their words, and what sets them before everything else.
    tables: HashMap<[u32; 16], V>,
    first: Vec<Item>,
}

/// The same program with AVX2 alone.
pub(crate) fn rewrite(program: Program) -> Result<Program> {
    let Program { mut classes, mut widths, body, .. } = program;
    for (class, width) in classes.iter_mut().zip(&mut widths) {
        if *class == Class::Mask {
            (*class, *width) = (Class::Vector, WHOLE);
        }
    }
    let lanes = program.lanes as usize;
    let mut r =
        Rewriter { classes, widths, lanes, out: Vec::new(), tables: HashMap::new(), first: Vec::new() };
    let body = r.items(body)?;
    let Rewriter { classes, widths, mut first, .. } = r;
    first.extend(body);
    Ok(Program { classes, widths, body: first, ..program })
}

impl Rewriter {
    fn items(&mut self, items: Vec<Item>) -> Result<Vec<Item>> {
        let before = std::mem::take(&mut self.out);
        for item in items {
            match item {
                Item::Op(op) => self.op(op)?,
                Item::Loop(l) => {
                    let Loop { counter, advance, may_be_empty, inductions, body, comment } = *l;
                    let body = self.items(body)?;
                    let l = Loop { counter, advance, may_be_empty, inductions, body, comment };
                    self.out.push(Item::Loop(Box::new(l)));
                }
                Item::If { mask, body } => {
                    let body = self.items(body)?;
                    self.out.push(Item::If { mask, body });
                }
                Item::Comment(text) => self.out.push(Item::Comment(text)),
            }
        }
        Ok(std::mem::replace(&mut self.out, before))
    }

    fn emit(&mut self, op: Op) {
        self.out.push(Item::Op(op));
    }

    fn fresh(&mut self, width: Width) -> V {
        self.classes.push(Class::Vector);
        self.widths.push(width);
        V(self.classes.len() as u32 - 1)
    }

    fn width(&self, v: V) -> Width {
        self.widths[v.0 as usize]
    }

    fn fresh_like(&mut self, v: V) -> V {
        self.fresh(self.width(v))
    }

    /// Bytes of a lane.
    fn lane(&self, v: V) -> usize {
        self.width(v).bytes() / self.lanes
    }

    /// A register of these words, again and again.
    fn words(&mut self, words: &[u32]) -> V {
        let lanes = std::array::from_fn(|n| words[n % words.len()]);
        if let Some(v) = self.tables.get(&lanes) {
            return *v;
        }
        let dst = self.fresh(WHOLE);
        self.first.push(Item::Op(Op::Table { dst, lanes }));
        self.tables.insert(lanes, dst);
        dst
    }

    /// A number of 64 bits in all of a register.
    fn long(&mut self, bits: u64) -> V {
        self.words(&[bits as u32, (bits >> 32) as u32])
    }

    fn double(&mut self, value: f64) -> V {
        self.long(value.to_bits())
    }

    /// `dst = a op b`.
    fn set(&mut self, op: Vec3, dst: V, a: V, b: V) {
        self.emit(Op::Vec3 { op, dst, a, b: Src::Reg(b) });
    }

    /// `a op b` in a register of its own.
    fn op3(&mut self, op: Vec3, a: V, b: V) -> V {
        let dst = self.fresh_like(a);
        self.set(op, dst, a, b);
        dst
    }

    fn shift(&mut self, op: crate::asm::VecShift, src: V, count: u8) -> V {
        let dst = self.fresh_like(src);
        self.emit(Op::Shift { op, dst, src, count });
        dst
    }

    /// An operand that is a register or a whole vector in memory.
    fn source(&mut self, src: Src, like: V) -> Src {
        match src {
            Src::Reg(_) | Src::Mem(_) => src,
            Src::Broadcast(addr) => {
                let dst = self.fresh_like(like);
                self.emit(Op::Load { dst, addr, shape: Shape::One, mask: None });
                Src::Reg(dst)
            }
        }
    }

    /// An operand in a register.
    fn in_register(&mut self, src: Src, like: V) -> V {
        match self.source(src, like) {
            Src::Reg(v) => v,
            Src::Mem(addr) | Src::Broadcast(addr) => {
                let dst = self.fresh_like(like);
                self.emit(Op::Load { dst, addr, shape: Shape::Full, mask: None });
                dst
            }
        }
    }

    fn op(&mut self, op: Op) -> Result<()> {
        match op {
            Op::Vec2 { op, dst, src } => {
                let src = self.source(src, dst);
                if !self.conversion(op, dst, src) {
                    self.emit(Op::Vec2 { op, dst, src });
                }
            }
            Op::Vec2Imm { op, dst, src, imm } => {
                let src = self.source(src, dst);
                // The low bits mean the same.
                let op = match op {
                    Vec2Imm::Rndscaleps => Vec2Imm::Roundps,
                    Vec2Imm::Rndscalepd => Vec2Imm::Roundpd,
                    other => other,
                };
                self.emit(Op::Vec2Imm { op, dst, src, imm });
            }
            Op::Vec3 { op, dst, a, b } => {
                let b = self.source(b, a);
                if !self.long_operation(op, dst, a, b) {
                    self.emit(Op::Vec3 { op, dst, a, b });
                }
            }
            // Halves of a register that change places.
            Op::Vec3Imm { op: Vec3Imm::Shuff32x4, dst, a, b, imm: 0x01 } => {
                self.emit(Op::Vec3Imm { op: Vec3Imm::Perm2f128, dst, a, b, imm: 0x01 });
            }
            Op::Shift { op, dst, src, count } => self.shift_of(op, dst, src, count),
            Op::Update { op, dst, a, b, mask } => {
                let b = self.source(b, dst);
                let Some(mask) = mask else {
                    self.emit(Op::Update { op, dst, a, b, mask });
                    return Ok(());
                };
                let whole = self.fresh_like(dst);
                self.emit(Op::Move { dst: whole, src: dst });
                let a = if a == dst { whole } else { a };
                if !self.long_operation(op, whole, a, b) {
                    self.emit(Op::Update { op, dst: whole, a, b, mask: None });
                }
                self.blend(dst, mask, dst, Src::Reg(whole));
            }
            Op::UpdateImm { op: Vec3Imm::Pternlogd, dst, a, b, imm } => self.by_table(dst, a, b, imm)?,
            Op::Down { op, dst, src } => self.down(op, dst, src)?,
            Op::MoveMasked { dst, src, mask } => self.blend(dst, mask, dst, Src::Reg(src)),
            Op::Blend { dst, mask, a, b } => {
                let b = self.source(b, a);
                self.blend(dst, mask, a, b);
            }
            Op::CmpFloat { op, dst, a, b, predicate } => {
                let b = self.source(b, a);
                let lanes = self.fresh_like(a);
                self.emit(Op::CmpFloatVector { op, dst: lanes, a, b, predicate });
                self.mask_of(dst, lanes);
            }
            Op::CmpInt { op, dst, a, b, predicate } => self.compare(op, dst, a, b, predicate),
            Op::Mask2 { op, dst, a, b } => self.mask_operation(op, dst, a, b)?,
            Op::MaskNot { dst, src } => self.not(dst, src),
            Op::MaskMove { dst, src } => self.emit(Op::Move { dst, src }),
            Op::MaskFrom { dst, src } => self.mask_of_bits(dst, src),
            Op::MaskConst { dst, bits } => {
                let lanes = self.constant_mask(bits);
                self.emit(Op::Move { dst, src: lanes });
            }
            Op::MaskLanes { dst, src } => {
                let lanes = self.fitting(src, dst);
                self.emit(Op::Move { dst, src: lanes });
            }
            Op::LanesMask { dst, src } => self.not_zero(dst, src),
            Op::Load { dst, addr, shape, mask: Some(mask) } => self.masked_load(dst, addr, shape, mask)?,
            Op::Store { addr, src, shape, mask } => self.store(addr, src, shape, mask)?,
            Op::Gather { dst, base, index, mask } => {
                self.emit(Op::Gather { dst, base, index, mask });
                self.clear_outside(dst, mask);
            }
            Op::GatherSmall { extend, dst, base, index, mask } => {
                self.emit(Op::GatherSmall { extend, dst, base, index, mask });
                self.clear_outside(dst, mask);
            }
            Op::MaskUpper { .. } => return Err(Unsupported::new("pairs of registers without AVX-512")),
            other => self.emit(other),
        }
        Ok(())
    }
}

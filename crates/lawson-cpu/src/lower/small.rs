//! Elements that are narrower in memory than in their lanes: extended when they are loaded, cut when they are stored.
//!
//! In between they are numbers of 32 bits: small floats are f32, and small integers hold their value. A bool is a byte in memory, and
//! a bit of a mask otherwise.

use super::Lowering;
use super::memory::{Place, Stride};
use crate::asm::{Extend, FloatPredicate, Vec2, Vec3, VecShift, VecStore};
use crate::code::{Addr, Class, Item, Op, Shape, Src, V};
use crate::error::{Result, Unsupported};
use lawson_graph::DType;
use lawson_graph::op::{BinaryKind, UnaryKind};
use lawson_kernel::{Expr, ExprId};

/// How a dtype's elements go from memory to lanes and back.
struct Small {
    bytes: u8,
    /// A row of them, one by one, and what is left of a lane full of copies.
    row: Vec2,
    one: Extend,
    copies: VecShift,
    cut: VecStore,
}

fn small(dtype: DType) -> Result<Small> {
    let (signed, bytes) = match dtype {
        DType::Bool | DType::U8 => (false, 1),
        DType::I8 => (true, 1),
        DType::U16 | DType::F16 | DType::BF16 => (false, 2),
        DType::I16 => (true, 2),
        _ => return Err(Unsupported::new(format!("elements of {dtype}"))),
    };
    let (row, one) = match (signed, bytes) {
        (false, 1) => (Vec2::Pmovzxbd, Extend::Zx8),
        (true, 1) => (Vec2::Pmovsxbd, Extend::Sx8),
        (false, _) => (Vec2::Pmovzxwd, Extend::Zx16),
        (true, _) => (Vec2::Pmovsxwd, Extend::Sx16),
    };
    let copies = if signed { VecShift::Psrad } else { VecShift::Psrld };
    let cut = if bytes == 1 { VecStore::Pmovdb } else { VecStore::Pmovdw };
    Ok(Small { bytes, row, one, copies, cut })
}

impl<'k> Lowering<'k> {
    /// Loads elements, one a lane; lanes outside the mask are 0, but for bools that are all at one place.
    pub(super) fn load_small(
        &mut self,
        dtype: DType,
        place: &Place,
        mask: Option<V>,
        depth: usize,
    ) -> Result<V> {
        let (addr, form) = (place.addr, small(dtype)?);
        let dst = self.fresh(Class::Vector);
        match &place.stride {
            Stride::One if dtype == DType::F16 => {
                self.emit(depth, Op::Load { dst, addr, shape: Shape::Extend(Vec2::Cvtph2ps), mask });
                Ok(dst)
            }
            Stride::One => {
                self.emit(depth, Op::Load { dst, addr, shape: Shape::Extend(form.row), mask });
                Ok(self.decoded(dst, dtype, depth))
            }
            Stride::Many(by) => {
                let index = self.places_of(by)?;
                self.emit(depth, Op::GatherSmall { extend: form.one, dst, base: addr, index, mask });
                Ok(self.decoded(dst, dtype, depth))
            }
            Stride::None => {
                let load = Op::Load { dst, addr, shape: Shape::OneOf(form.bytes), mask: None };
                match mask {
                    None => self.emit(depth, load),
                    Some(mask) => {
                        // The instruction's masks are by element: it is jumped over where no lane reads.
                        let zero = self.bits(0);
                        self.emit(depth, Op::Move { dst, src: zero });
                        self.frames[depth].items.push(Item::If { mask, body: vec![Item::Op(load)] });
                    }
                }
                if dtype == DType::Bool {
                    return Ok(dst);
                }
                let value = self.decoded_copies(dst, dtype, &form, depth);
                match mask {
                    None => Ok(value),
                    Some(mask) => {
                        let zero = self.bits(0);
                        self.select(mask, value, zero, dtype, depth)
                    }
                }
            }
        }
    }

    /// What lanes hold whose low part is an element, the rest zeros or copies of its sign.
    fn decoded(&mut self, raw: V, dtype: DType, depth: usize) -> V {
        match dtype {
            DType::F16 => {
                let halves = self.fresh_wide(Class::Vector, 2);
                self.emit(depth, Op::Down { op: VecStore::Pmovdw, dst: halves, src: raw });
                self.converted(Vec2::Cvtph2ps, halves, dtype, depth)
            }
            DType::BF16 => self.shifted(VecShift::Pslld, raw, 16, depth),
            _ => raw,
        }
    }

    /// The same of lanes that are copies of an element.
    fn decoded_copies(&mut self, raw: V, dtype: DType, form: &Small, depth: usize) -> V {
        match dtype {
            DType::F16 => self.converted(Vec2::Cvtph2ps, raw, dtype, depth),
            DType::BF16 => self.shifted(VecShift::Pslld, raw, 16, depth),
            _ => self.shifted(form.copies, raw, 32 - 8 * form.bytes, depth),
        }
    }

    /// Stores elements; a place without a stride takes the first lane.
    pub(super) fn store_small(
        &mut self,
        dtype: DType,
        addr: Addr,
        stride: &Stride,
        value: V,
        mask: Option<V>,
        depth: usize,
    ) -> Result<()> {
        let form = small(dtype)?;
        if dtype == DType::F16 && *stride == Stride::One {
            self.emit(depth, Op::Store { addr, src: value, shape: Shape::Halves, mask });
            return Ok(());
        }
        let src = self.encoded(value, dtype, depth)?;
        let store = match stride {
            Stride::One => Op::Store { addr, src, shape: Shape::Cut(form.cut), mask },
            Stride::None => Op::Store { addr, src, shape: Shape::OneOf(form.bytes), mask: None },
            Stride::Many(by) => {
                let index = self.places_of(by)?;
                Op::ScatterSmall { bytes: form.bytes, base: addr, index, src, mask }
            }
        };
        self.emit(depth, store);
        Ok(())
    }

    /// Lanes whose low part is the element of a value.
    fn encoded(&mut self, value: V, dtype: DType, depth: usize) -> Result<V> {
        Ok(match dtype {
            DType::Bool => {
                let ones = self.fresh(Class::Vector);
                self.emit(depth, Op::MaskLanes { dst: ones, src: value });
                self.shifted(VecShift::Psrld, ones, 31, depth)
            }
            DType::F16 => {
                let halves = self.fresh_wide(Class::Vector, 2);
                self.emit(depth, Op::Halved { dst: halves, src: value });
                self.converted(Vec2::Pmovzxwd, halves, dtype, depth)
            }
            DType::BF16 => self.upper_half(value, depth)?,
            _ => value,
        })
    }

    /// The upper halves of f32, rounded to nearest even; NaN stays one.
    fn upper_half(&mut self, value: V, depth: usize) -> Result<V> {
        let (one, below, quiet) = (self.bits(1), self.bits(0x7FFF), self.bits(0x40));
        let high = self.shifted(VecShift::Psrld, value, 16, depth);
        let odd = self.vec3(Vec3::Pandd, high, Src::Reg(one), depth);
        let sum = self.vec3(Vec3::Paddd, value, Src::Reg(below), depth);
        let sum = self.vec3(Vec3::Paddd, sum, Src::Reg(odd), depth);
        let rounded = self.shifted(VecShift::Psrld, sum, 16, depth);
        let nan = self.vec3(Vec3::Pord, high, Src::Reg(quiet), depth);
        let is_nan = self.compared(DType::F32, value, value, FloatPredicate::UnordQ, depth)?;
        self.select(is_nan, nan, rounded, DType::BF16, depth)
    }

    /// An expression's value as its dtype has it. Small floats are f32 in their lanes, and may be more exact there than where they
    /// were stored: what tells equal numbers from others must not see the difference.
    pub(super) fn exact_value(&mut self, e: ExprId, depth: usize) -> Result<V> {
        let (value, dtype) = (self.value(e)?, self.k.dtype(e));
        if self.is_exact(e) { Ok(value) } else { self.rounded(value, dtype, depth) }
    }

    /// Whether an expression's value is surely one that its dtype has.
    fn is_exact(&self, e: ExprId) -> bool {
        if !matches!(self.k.dtype(e), DType::F16 | DType::BF16) {
            return true;
        }
        match self.k.expr(e) {
            Expr::Const(_) | Expr::Index(..) | Expr::Cast(..) | Expr::Bitcast(..) => true,
            // What stands there instead of an element is computed.
            Expr::Load(load) => load.guard.as_ref().is_none_or(|g| self.is_exact(g.otherwise)),
            Expr::Unary(UnaryKind::Neg | UnaryKind::Abs | UnaryKind::Sign, a) => self.is_exact(*a),
            Expr::Binary(BinaryKind::Min | BinaryKind::Max, a, b)
            | Expr::Extremum(_, a, b)
            | Expr::Select(_, a, b) => self.is_exact(*a) && self.is_exact(*b),
            _ => false,
        }
    }

    /// An f32 rounded to a smaller float, in its lane.
    pub(super) fn rounded(&mut self, value: V, dtype: DType, depth: usize) -> Result<V> {
        match dtype {
            DType::F16 => {
                let halves = self.fresh_wide(Class::Vector, 2);
                self.emit(depth, Op::Halved { dst: halves, src: value });
                Ok(self.converted(Vec2::Cvtph2ps, halves, dtype, depth))
            }
            DType::BF16 => {
                let upper = self.upper_half(value, depth)?;
                Ok(self.shifted(VecShift::Pslld, upper, 16, depth))
            }
            _ => Ok(value),
        }
    }

    fn shifted(&mut self, op: VecShift, src: V, count: u8, depth: usize) -> V {
        let dst = self.fresh_like(src);
        self.emit(depth, Op::Shift { op, dst, src, count });
        dst
    }

    /// The bits of an element that is narrower than its lane, as another of the same width.
    pub(super) fn bits_of_small(&mut self, value: V, from: DType, to: DType, depth: usize) -> Result<V> {
        small(from)?;
        small(to)?;
        let raw = self.encoded(value, from, depth)?;
        match to.is_float() {
            true => {
                let rest = self.bits(0xFFFF);
                let raw = self.vec3(Vec3::Pandd, raw, Src::Reg(rest), depth);
                Ok(self.decoded(raw, to, depth))
            }
            false => Ok(self.wrapped(raw, to, depth)),
        }
    }
}

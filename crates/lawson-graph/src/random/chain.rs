//! Random chains: graphs in which every value is read at several places of the one before, as in scans by doubling, butterflies, stencils and
//! circular shifts. Computed where it is read, each stage would be computed as often as all stages behind it read it: what fuses them must know when to stop.

use super::Rng;
use crate::builder::Builder;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Graph, ValueId};
use crate::op::{BinaryKind, Op, Pad, UnaryKind};
use crate::types::TensorType;

/// The most stages of a chain.
const STAGES: usize = 12;

/// A valid random chain of stages over one axis, of an even size.
///
/// ```
/// use lawson_graph::random::{Rng, random_chain};
/// let graph = random_chain(&mut Rng::new(7))?;
/// graph.verify()?;
/// # Ok::<(), lawson_graph::Error>(())
/// ```
pub fn random_chain(rng: &mut Rng) -> Result<Graph> {
    let mut b = Builder::new("chain");
    let dtypes = [DType::F32, DType::F32, DType::F32, DType::F64, DType::I32];
    let dtype = rng.pick(&dtypes).copied().unwrap_or(DType::F32);
    let size = 8 << rng.below(5);
    let x = b.input("x", TensorType::new(dtype, [size]))?;
    let mut chain = Chain { rng: rng.fork(), b, size, dtype };
    let mut v = x;
    for _ in 0..2 + chain.rng.below(STAGES - 1) {
        v = chain.stage(v)?;
    }
    let mut b = chain.b;
    b.output("y", v)?;
    b.finish()
}

struct Chain {
    rng: Rng,
    b: Builder<'static>,
    size: i64,
    dtype: DType,
}

impl Chain {
    /// A value of the same shape, computed from another at several places.
    fn stage(&mut self, x: ValueId) -> Result<ValueId> {
        let shift = self.rng.between(1, self.size);
        match self.rng.below(6) {
            // A scan by doubling: what lies behind is added.
            0 => {
                let before = self.b.slice_axis(x, 0, 0, self.size - shift)?;
                let moved = self.padded(before, shift, 0)?;
                self.joined(x, moved)
            }
            // A circular shift.
            1 => {
                let (end, start) =
                    (self.b.slice_axis(x, 0, shift, self.size - shift)?, self.b.slice_axis(x, 0, 0, shift)?);
                let moved = self.b.concat(&[end, start], 0)?;
                self.joined(x, moved)
            }
            // A butterfly: halves of blocks are compared with each other.
            2 => {
                let inner = 1 << self.rng.below(3);
                let blocks = self.b.reshape(x, [self.size / 2 / inner, 2, inner])?;
                let (low, high) = (self.b.slice_axis(blocks, 1, 0, 1)?, self.b.slice_axis(blocks, 1, 1, 1)?);
                let (least, most) = (self.b.min(low, high)?, self.b.max(low, high)?);
                let both = self.b.concat(&[least, most], 1)?;
                self.b.reshape(both, [self.size])
            }
            // A stencil.
            3 => {
                let wide = self.padded(x, 1, 1)?;
                let mut sum = self.b.slice_axis(wide, 0, 0, self.size)?;
                for at in 1..3 {
                    let next = self.b.slice_axis(wide, 0, at, self.size)?;
                    sum = self.joined(sum, next)?;
                }
                Ok(sum)
            }
            // Parts of which some are computed.
            4 => {
                let (low, high) =
                    (self.b.slice_axis(x, 0, 0, shift)?, self.b.slice_axis(x, 0, shift, self.size - shift)?);
                let low = self.b.op1(Op::Unary(UnaryKind::Neg), &[low])?;
                self.b.concat(&[low, high], 0)
            }
            _ => self.b.op1(Op::Unary(UnaryKind::Abs), &[x]),
        }
    }

    fn padded(&mut self, x: ValueId, low: i64, high: i64) -> Result<ValueId> {
        let zero = self.b.scalar(self.dtype, 0.0)?;
        let pad = Pad { low: vec![Dim::from(low)], high: vec![Dim::from(high)], interior: vec![0] };
        self.b.op1(Op::Pad(pad), &[x, zero])
    }

    fn joined(&mut self, a: ValueId, b: ValueId) -> Result<ValueId> {
        let kinds = [BinaryKind::Add, BinaryKind::Max, BinaryKind::Sub];
        let kind = self.rng.pick(&kinds).copied().unwrap_or(BinaryKind::Add);
        self.b.op1(Op::Binary(kind), &[a, b])
    }
}

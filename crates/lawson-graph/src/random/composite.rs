//! Composites and products of two computed values in random graphs.

use super::graph::Grow;
use super::{Elements, random_tensor};
use crate::composite::Causal;
use crate::dim::Dim;
use crate::graph::ValueId;
use crate::types::{Shape, TensorType};

impl Grow {
    pub(super) fn activation(&mut self) -> Option<Vec<ValueId>> {
        let (x, _) = self.tensor(|t| t.dtype.is_float())?;
        let y = match self.rng.below(6) {
            0 => self.b.relu(x),
            1 => self.b.sigmoid(x),
            2 => self.b.silu(x),
            3 => self.b.gelu(x),
            4 => self.b.softplus(x),
            _ => self.b.clip(x, -0.5, 1.5),
        };
        y.ok().map(|v| vec![v])
    }

    pub(super) fn normalised(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|t| t.dtype.is_float() && t.rank() >= 1)?;
        let axis = self.rng.below(t.rank());
        let y = match self.rng.below(4) {
            0 => self.b.softmax(x, axis),
            1 => self.b.log_softmax(x, axis),
            2 => self.b.argmax(x, axis),
            _ => {
                let sizes: Vec<usize> = Shape::from(t.shape[axis..].to_vec()).as_const()?;
                let scale = random_tensor(&mut self.rng, t.dtype, &sizes, Elements::Tame).ok()?;
                let scale = self.b.constant(scale).ok()?;
                self.b.rms_norm(x, scale, axis, 1e-5)
            }
        };
        y.ok().map(|v| vec![v])
    }

    /// A product of two values, both of which may be computed.
    pub(super) fn product(&mut self) -> Option<Vec<ValueId>> {
        let (x, t) = self.tensor(|t| t.rank() >= 2 && t.dtype.is_number())?;
        let last = t.shape[t.rank() - 1].clone();
        let fits = |u: &TensorType| {
            u.dtype == t.dtype
                && u.rank() >= 2
                && (u.shape[u.rank() - 2] == last || u.shape[u.rank() - 1] == last)
        };
        let (y, u) = self.tensor(fits)?;
        let y = match u.shape[u.rank() - 2] == last {
            true => y,
            false => {
                let mut perm: Vec<usize> = (0..u.rank()).collect();
                perm.swap(u.rank() - 2, u.rank() - 1);
                self.b.transpose(y, &perm).ok()?
            }
        };
        self.b.matmul(x, y).ok().map(|v| vec![v])
    }

    /// Attention between values of one type; what has fewer dimensions is one head.
    pub(super) fn attention(&mut self) -> Option<Vec<ValueId>> {
        let (q, t) = self.tensor(|t| t.dtype.is_float() && t.rank() >= 2)?;
        let (k, _) = self.tensor(|u| *u == t)?;
        let (v, _) = self.tensor(|u| *u == t)?;
        let mut shape = t.shape.into_dims();
        while shape.len() < 4 {
            shape.insert(0, Dim::ONE);
        }
        let causal = [Causal::No, Causal::TopLeft, Causal::BottomRight][self.rng.below(3)];
        let heads = [q, k, v].map(|x| self.b.reshape(x, shape.clone()));
        let [Ok(q), Ok(k), Ok(v)] = heads else { return None };
        self.b.attention(q, k, v, None, causal).ok().map(|y| vec![y])
    }
}

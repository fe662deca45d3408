//! Activations: Lawson's composites of the same names, with ONNX's defaults.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::CompareKind;
use lawson_graph::{
    Celu, Clip, CompositeDef, Elu, Gelu, GeluForm, HardSigmoid, HardSwish, LeakyRelu, Mish, Prelu, Relu,
    Result, Selu, Sigmoid, Softplus, Softsign,
};

fn composite(cx: &mut NodeCx<'_, '_>, composite: impl CompositeDef) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    one(cx.b.composite(composite, &[x])?)
}

macro_rules! plain {
    ($($name:ident => $composite:expr),* $(,)?) => {$(
        pub(super) fn $name(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
            composite(cx, $composite)
        }
    )*};
}
plain! {
    relu => Relu {}, sigmoid => Sigmoid {}, mish => Mish {}, softplus => Softplus { beta: 1.0 }, softsign => Softsign {},
    hard_swish => HardSwish {},
}

pub(super) fn leaky_relu(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let slope = cx.float("alpha", 0.01)?;
    composite(cx, LeakyRelu { slope })
}

pub(super) fn elu(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let alpha = cx.float("alpha", 1.0)?;
    composite(cx, Elu { alpha })
}

pub(super) fn celu(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let alpha = cx.float("alpha", 1.0)?;
    composite(cx, Celu { alpha })
}

pub(super) fn selu(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let alpha = cx.float("alpha", 1.673_263_192_176_818_8)?;
    let gamma = cx.float("gamma", 1.050_700_902_938_842_8)?;
    composite(cx, Selu { alpha, gamma })
}

pub(super) fn hard_sigmoid(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (alpha, beta) = (cx.float("alpha", f64::from(0.2f32))?, cx.float("beta", 0.5)?);
    composite(cx, HardSigmoid { alpha, beta })
}

pub(super) fn thresholded_relu(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let alpha = cx.float("alpha", 1.0)?;
    let x = cx.value(0)?;
    let (bound, zero) = (cx.b.full_like(x, alpha)?, cx.b.full_like(x, 0.0)?);
    let above = cx.b.compare(CompareKind::Gt, x, bound)?;
    one(cx.b.select(above, x, zero)?)
}

/// `x·sigmoid(alpha·x)`.
pub(super) fn swish(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let alpha = cx.float("alpha", 1.0)?;
    let x = cx.value(0)?;
    if alpha == 1.0 {
        return one(cx.b.silu(x)?);
    }
    let scaled = cx.b.mul_scalar(x, alpha)?;
    let gate = cx.b.sigmoid(scaled)?;
    one(cx.b.mul(x, gate)?)
}

pub(super) fn gelu(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let form = match cx.text("approximate")? {
        None | Some("none") => GeluForm::Exact,
        Some("tanh") => GeluForm::Tanh,
        Some(other) => return Err(cx.no_such("approximate", other, &["none", "tanh"])),
    };
    composite(cx, Gelu { form })
}

pub(super) fn prelu(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, mut slope) = (cx.value(0)?, cx.value(1)?);
    let (shape, own) = (cx.b.shape(x)?, cx.b.shape(slope)?);
    if cx.version < 7 && own.rank() == 1 && shape.rank() > 1 {
        // One slope a channel.
        let mut dims = vec![lawson_graph::Dim::ONE; shape.rank() - 1];
        dims[0] = own[0].clone();
        slope = cx.b.reshape(slope, lawson_graph::Shape::from(dims))?;
    }
    one(cx.b.composite(Prelu {}, &[x, slope])?)
}

/// Bounds as attributes, until version 10.
pub(super) fn clip_attributes(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let bound = f64::from(f32::MAX);
    let (low, high) = (cx.float("min", -bound)?, cx.float("max", bound)?);
    let x = cx.value(0)?;
    one(cx.b.clip(x, low, high)?)
}

/// Bounds as operands, either of which may be absent.
pub(super) fn clip(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, low, high) = (cx.value(0)?, cx.optional(1)?, cx.optional(2)?);
    // Some exporters write a scalar as a vector of one element.
    let mut scalar = |v| {
        let is_one = cx.b.shape(v)?.iter().all(|d| d.is(1));
        if is_one { cx.b.reshape(v, lawson_graph::Shape::scalar()) } else { Ok(v) }
    };
    let low = low.map(&mut scalar).transpose()?;
    let high = high.map(&mut scalar).transpose()?;
    one(match (low, high) {
        (Some(low), Some(high)) => cx.b.composite(Clip {}, &[x, low, high])?,
        (Some(low), None) => cx.b.max(x, low)?,
        (None, Some(high)) => cx.b.min(x, high)?,
        (None, None) => x,
    })
}

//! Batch norm into what it follows: `bn(convolve(x, w) + b)` with constant parameters is a convolution with scaled
//! weights and another bias, and so for linear layers.
//!
//! With `s = scale / sqrt(variance + epsilon)` per channel: `s * (w·x + b - mean) + bias = (s*w)·x + s*(b - mean) + bias`.
//! The weights are scaled here and now, in the dtype's own precision or better; nothing is done if a factor is not finite.

use crate::pass::Pass;
use crate::rewrite::{Rewriter, fuel, rewrite_with};
use lawson_graph::op::{BinaryKind, Broadcast, Op};
use lawson_graph::{BatchNorm, DType, Graph, HostTensor, Linear, Node, Patch, Result, ValueId, WeightLayout};

/// Folds batch norm with constant parameters into the convolution or linear layer before it.
#[derive(Clone, Copy, Debug)]
pub struct FoldBatchNorm;

impl Pass for FoldBatchNorm {
    fn name(&self) -> &'static str {
        "fold-batch-norm"
    }

    fn summary(&self) -> &'static str {
        "folds batch norm into the convolution or linear layer before it"
    }

    fn run(&self, graph: &Graph) -> Result<Option<Patch>> {
        if !graph.nodes().iter().any(|n| n.op.composite::<BatchNorm>().is_some()) {
            return Ok(None);
        }
        rewrite_with(graph, fuel(graph), &mut fold)
    }
}

fn fold(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Some(norm) = node.op.composite::<BatchNorm>() else { return Ok(None) };
    let Some(layer) = Layer::before(rw, node.inputs[0], norm.axis) else { return Ok(None) };
    let parameters: Option<Vec<Vec<f64>>> =
        node.inputs[1..].iter().map(|v| channel_vector(rw, *v, layer.channels)).collect();
    let Some([scale, bias, mean, variance]) = parameters.as_deref() else { return Ok(None) };
    let factor: Vec<f64> = scale.iter().zip(variance).map(|(s, v)| s / (v + norm.epsilon).sqrt()).collect();
    let shift: Vec<f64> = (0..layer.channels)
        .map(|c| factor[c] * (layer.bias.as_ref().map_or(0.0, |b| b[c]) - mean[c]) + bias[c])
        .collect();
    let Some(weights) = scaled(&layer.weights, &factor, layer.weight_axis) else { return Ok(None) };
    if factor.iter().chain(&shift).any(|v| !v.is_finite()) {
        return Ok(None);
    }
    let shift = HostTensor::from_floats(layer.dtype, &[layer.channels], &shift)?;
    let (weights, shift) = (rw.constant(weights)?, rw.constant(shift)?);
    let product = match layer.op {
        // The linear layer has a place for the bias.
        Op::Composite(c) => return rw.op(Op::Composite(c), &[layer.x, weights, shift]).map(Some),
        op => rw.op1(op, &[layer.x, weights])?,
    };
    let shape = rw.shape(product)?;
    let shift = rw.broadcast_in(shift, shape, &[norm.axis])?;
    Ok(Some(vec![rw.add(product, shift)?]))
}

/// A convolution, contraction or linear layer with constant weights, and the constant bias added to it.
struct Layer {
    op: Op,
    x: ValueId,
    weights: HostTensor,
    /// The axis of the weights that is the channel of the result.
    weight_axis: usize,
    bias: Option<Vec<f64>>,
    channels: usize,
    dtype: DType,
}

impl Layer {
    fn before(rw: &Rewriter<'_>, v: ValueId, axis: usize) -> Option<Layer> {
        if !rw.single_use(v) {
            return None;
        }
        let node = rw.def(v)?;
        if let Op::Binary(BinaryKind::Add) = node.op {
            let (a, b) = (rw.resolve(node.inputs[0]), rw.resolve(node.inputs[1]));
            return [(a, b), (b, a)].into_iter().find_map(|(product, bias)| {
                let mut layer = Layer::before(rw, product, axis).filter(|l| l.bias.is_none())?;
                layer.bias = Some(broadcast_vector(rw, bias, axis, layer.channels)?);
                Some(layer)
            });
        }
        let t = rw.tensor(v)?;
        let weight = *node.inputs.get(1)?;
        let weights = rw.constant_of(weight)?.clone();
        let weight_axis = match &node.op {
            Op::Convolve(c) if axis == 1 && c.out.is_none() && c.batch_groups == 1 => 0,
            Op::Contract(c) if c.batch.is_empty() && c.out.is_none() => {
                let x_rank = rw.shape_of(rw.resolve(node.inputs[0]))?.rank();
                let (free_x, free_w) = c.free_axes(x_rank, weights.sizes().len());
                *free_w.get(axis.checked_sub(free_x.len())?)?
            }
            op => match op.composite::<Linear>()?.layout {
                _ if axis + 1 != t.rank() => return None,
                WeightLayout::InOut => 1,
                WeightLayout::OutIn => 0,
                _ => return None,
            },
        };
        let bias = match node.inputs.get(2) {
            Some(b) => Some(channel_vector(rw, *b, *weights.sizes().get(weight_axis)?)?),
            None => None,
        };
        Some(Layer {
            op: node.op.clone(),
            x: rw.resolve(node.inputs[0]),
            weight_axis,
            bias,
            channels: *weights.sizes().get(weight_axis)?,
            weights,
            dtype: t.dtype,
        })
        .filter(|l| l.dtype.is_float())
    }
}

/// A constant vector of one number a channel.
fn channel_vector(rw: &Rewriter<'_>, v: ValueId, channels: usize) -> Option<Vec<f64>> {
    if let Some(t) = rw.constant_of(v) {
        return (t.sizes() == [channels]).then(|| (0..channels).map(|i| t.float_at(i)).collect());
    }
    let scalar = rw.splat(v)?.float_at(0);
    rw.shape_of(v).filter(|s| s.rank() == 1).map(|_| vec![scalar; channels])
}

/// A constant vector repeated along all axes but the channel's.
fn broadcast_vector(rw: &Rewriter<'_>, v: ValueId, axis: usize, channels: usize) -> Option<Vec<f64>> {
    if let Some(scalar) = rw.splat(v) {
        return Some(vec![scalar.float_at(0); channels]);
    }
    match rw.def1(v)? {
        (Op::Broadcast(Broadcast { axes, .. }), x) if axes.as_slice() == [axis] => {
            channel_vector(rw, x, channels)
        }
        _ => None,
    }
}

/// The weights times a factor along one axis; `None` if a product overflows.
fn scaled(weights: &HostTensor, factor: &[f64], axis: usize) -> Option<HostTensor> {
    let sizes = weights.sizes();
    let inner: usize = sizes[axis + 1..].iter().product();
    let channel = |i: usize| (i / inner.max(1)) % sizes[axis].max(1);
    if let Ok(values) = weights.to_vec::<f32>() {
        let product: Vec<f32> =
            values.iter().enumerate().map(|(i, w)| (f64::from(*w) * factor[channel(i)]) as f32).collect();
        let finite = product.iter().zip(&values).all(|(p, w)| p.is_finite() || !w.is_finite());
        return finite.then(|| HostTensor::from_slice(sizes, &product).ok()).flatten();
    }
    let values: Vec<f64> = (0..weights.len()).map(|i| weights.float_at(i)).collect();
    let product: Vec<f64> = values.iter().enumerate().map(|(i, w)| w * factor[channel(i)]).collect();
    let max = weights.dtype().max_finite()?;
    let fits = product.iter().zip(&values).all(|(p, w)| p.abs() <= max || !w.is_finite());
    fits.then(|| HostTensor::from_floats(weights.dtype(), sizes, &product).ok()).flatten()
}

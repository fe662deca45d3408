//! Steps of optimisers (`ai.onnx.preview.training`).

use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::CompareKind;
use lawson_graph::{Result, Shape, ValueId};

/// The rate, the number of the step, and groups of operands: all weights, all gradients, and the state of each.
fn groups(cx: &mut NodeCx<'_, '_>, states: usize) -> Result<(ValueId, ValueId, Vec<Vec<ValueId>>)> {
    let (rate, step) = (cx.value(0)?, cx.value(1)?);
    let parts = states + 2;
    let count = cx.operands().saturating_sub(2);
    if count == 0 || !count.is_multiple_of(parts) {
        return Err(cx.wrong(format!("`{}` with {count} tensors, in groups of {parts}", cx.op())));
    }
    let n = count / parts;
    let group = |cx: &mut NodeCx<'_, '_>, i: usize| (0..parts).map(|p| cx.value(2 + p * n + i)).collect();
    let all = (0..n).map(|i| group(cx, i)).collect::<Result<Vec<_>>>()?;
    let rate = cx.b.reshape(rate, Shape::scalar())?;
    let step = cx.b.reshape(step, Shape::scalar())?;
    Ok((rate, step, all))
}

/// `norm·x + g`.
fn regularised(cx: &mut NodeCx<'_, '_>, x: ValueId, g: ValueId) -> Result<ValueId> {
    let norm = cx.float("norm_coefficient", 0.0)?;
    if norm == 0.0 {
        return Ok(g);
    }
    let pull = cx.b.mul_scalar(x, norm)?;
    cx.b.add(pull, g)
}

/// Results are all first ones, then all second ones, and so on.
fn by_kind(groups: Vec<Vec<ValueId>>) -> Vec<Item> {
    let kinds = groups.first().map_or(0, Vec::len);
    (0..kinds).flat_map(|k| groups.iter().map(move |g| Item::Value(g[k]))).collect()
}

/// `a·x + b·y`.
fn blend(cx: &mut NodeCx<'_, '_>, a: f64, x: ValueId, b: f64, y: ValueId) -> Result<ValueId> {
    let (x, y) = (cx.b.mul_scalar(x, a)?, cx.b.mul_scalar(y, b)?);
    cx.b.add(x, y)
}

pub(super) fn adagrad(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (decay, epsilon) = (cx.float("decay_factor", 0.0)?, cx.float("epsilon", f64::from(1e-6f32))?);
    let (rate, step, all) = groups(cx, 1)?;
    let dtype = cx.b.dtype(rate)?;
    let step = cx.b.cast(step, dtype)?;
    let slower = cx.b.mul_scalar(step, decay)?;
    let slower = cx.b.add_scalar(slower, 1.0)?;
    let rate = cx.b.div(rate, slower)?;
    let mut results = Vec::with_capacity(all.len());
    for group in all {
        let (x, g, h) = (group[0], group[1], group[2]);
        let g = regularised(cx, x, g)?;
        let square = cx.b.mul(g, g)?;
        let h = cx.b.add(h, square)?;
        let root = cx.b.sqrt(h)?;
        let root = cx.b.add_scalar(root, epsilon)?;
        let moved = cx.b.mul(rate, g)?;
        let moved = cx.b.div(moved, root)?;
        results.push(vec![cx.b.sub(x, moved)?, h]);
    }
    Ok(by_kind(results))
}

pub(super) fn adam(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (alpha, beta) = (cx.float("alpha", f64::from(0.9f32))?, cx.float("beta", f64::from(0.999f32))?);
    let epsilon = cx.float("epsilon", f64::from(1e-6f32))?;
    let after = cx.float("norm_coefficient_post", 0.0)?;
    let (rate, step, all) = groups(cx, 2)?;
    let dtype = cx.b.dtype(rate)?;
    let zero = cx.b.full_like(step, 0.0)?;
    let begun = cx.b.compare(CompareKind::Gt, step, zero)?;
    let step = cx.b.cast(step, dtype)?;
    let left = |cx: &mut NodeCx<'_, '_>, base: f64| {
        let base = cx.b.scalar(dtype, base)?;
        let power = cx.b.pow(base, step)?;
        let one = cx.b.scalar(dtype, 1.0)?;
        cx.b.sub(one, power)
    };
    let (by_beta, by_alpha) = (left(cx, beta)?, left(cx, alpha)?);
    let root = cx.b.sqrt(by_beta)?;
    let adjusted = cx.b.mul(rate, root)?;
    let adjusted = cx.b.div(adjusted, by_alpha)?;
    let rate = cx.b.select(begun, adjusted, rate)?;
    let mut results = Vec::with_capacity(all.len());
    for group in all {
        let (x, g, v, h) = (group[0], group[1], group[2], group[3]);
        let g = regularised(cx, x, g)?;
        let v = blend(cx, alpha, v, 1.0 - alpha, g)?;
        let square = cx.b.mul(g, g)?;
        let h = blend(cx, beta, h, 1.0 - beta, square)?;
        let root = cx.b.sqrt(h)?;
        let root = cx.b.add_scalar(root, epsilon)?;
        let direction = cx.b.div(v, root)?;
        let moved = cx.b.mul(rate, direction)?;
        let x = cx.b.sub(x, moved)?;
        let x = if after == 0.0 { x } else { cx.b.mul_scalar(x, 1.0 - after)? };
        results.push(vec![x, v, h]);
    }
    Ok(by_kind(results))
}

pub(super) fn momentum(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (alpha, beta) = (cx.float("alpha", 0.0)?, cx.float("beta", 0.0)?);
    let nesterov = match cx.text("mode")?.unwrap_or("standard") {
        "standard" => false,
        "nesterov" => true,
        other => return Err(cx.no_such("mode", other, &["standard", "nesterov"])),
    };
    let (rate, step, all) = groups(cx, 1)?;
    let zero = cx.b.full_like(step, 0.0)?;
    let begun = cx.b.compare(CompareKind::Gt, step, zero)?;
    let mut results = Vec::with_capacity(all.len());
    for group in all {
        let (x, g, v) = (group[0], group[1], group[2]);
        let dtype = cx.b.dtype(x)?;
        let (one, beta) = (cx.b.scalar(dtype, 1.0)?, cx.b.scalar(dtype, beta)?);
        let share = cx.b.select(begun, beta, one)?;
        let g = regularised(cx, x, g)?;
        let (kept, added) = (cx.b.mul_scalar(v, alpha)?, cx.b.mul(share, g)?);
        let v = cx.b.add(kept, added)?;
        let direction = if nesterov {
            let ahead = cx.b.mul_scalar(v, alpha)?;
            cx.b.add(g, ahead)?
        } else {
            v
        };
        let moved = cx.b.mul(rate, direction)?;
        results.push(vec![cx.b.sub(x, moved)?, v]);
    }
    Ok(by_kind(results))
}

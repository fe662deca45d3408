//! Branches whose results differ in sizes: both are computed, and the sizes are those of the one that counts.
//!
//! A branch that gives nothing at all, where the other gives what it found, is how detectors end. Lawson's `cond` has one
//! type for both; so both graphs become part of the graph around, which is safe because operators are total, and each size
//! that differs becomes a symbol that is defined when the model runs.

use super::control::{Body, inlined_as};
use crate::item::Item;
use crate::node::NodeCx;
use crate::proto::GraphProto;
use crate::scope::Stance;
use lawson_graph::op::{DefineSymbol, Pad};
use lawson_graph::{DType, Dim, Error, Op, Result, Shape, Symbol, TensorType, ValueId};

/// Gives the results of two branches the same rank where they differ by axes of 1 alone: such an axis is left out of the one that has it.
/// Where a result is one of the model itself, its shape counts, and both stay.
pub(super) fn same_ranks(cx: &NodeCx<'_, '_>, branches: &mut [(Body<'_>, Vec<ValueId>); 2]) -> Result<()> {
    let count = branches[0].1.len().min(branches[1].1.len());
    for i in 0..count {
        let name = cx.node.output.get(i).map_or("", String::as_str);
        if cx.depth == 0 && cx.model.shared.outputs.contains(name) {
            continue;
        }
        let types = branches.each_ref().map(|(body, results)| body.b.ty(results[i]).as_tensor().cloned());
        let [Some(a), Some(b)] = types else { continue };
        let without_ones =
            |t: &TensorType| t.shape.iter().filter(|d| !d.is(1)).cloned().collect::<Vec<Dim>>();
        let (rest, other) = (without_ones(&a), without_ones(&b));
        let alike =
            rest.len() == other.len() && rest.iter().zip(&other).all(|(a, b)| cx.b.facts().equal(a, b));
        if a.dtype != b.dtype || a.rank() == b.rank() || !alike {
            continue;
        }
        let (of, shape) = if a.rank() > b.rank() { (0, b.shape) } else { (1, a.shape) };
        let (body, results) = &mut branches[of];
        results[i] = body.b.reshape(results[i], shape)?;
    }
    Ok(())
}

/// The results of both branches, chosen by a condition that is a scalar. `why` says what stands against a branch.
pub(super) fn both(
    cx: &mut NodeCx<'_, '_>,
    condition: ValueId,
    [then, otherwise]: [&GraphProto; 2],
    why: &Error,
) -> Result<Vec<Item>> {
    // What a branch that does not count would need is no matter.
    let mut computed = |graph| inlined_as(cx, graph, Vec::new(), Stance::Nothing);
    let (then, otherwise) = (computed(then)?, computed(otherwise)?);
    if then.len() != otherwise.len() {
        let (a, b) = (then.len(), otherwise.len());
        return Err(cx
            .wrong(format!("the branches of `If` give {a} and {b} results"))
            .help("both give as many: name the missing ones as outputs of the other branch"));
    }
    let pairs = then.into_iter().zip(otherwise).enumerate();
    pairs.map(|(i, (a, b))| chosen(cx, condition, i, [a, b], why).map(Item::Value)).collect()
}

/// That no tensor stands for the results of both branches. What decides between them is asked for: where it is known, one branch is all
/// that is imported.
fn differ(cx: &NodeCx<'_, '_>, name: &str, types: &[(DType, Shape); 2]) -> Result<Error> {
    let condition = cx.item(0)?;
    cx.unknown(0, &condition, "condition");
    let [(dtype, a), (other, b)] = types;
    Ok(cx
        .unsupported(format!(
            "`{name}` is {dtype}{a} in one branch of `If` and {other}{b} in the other, and the condition is computed when the model runs"
        ))
        .help(
            "let both branches give the same element type and number of dimensions (`Cast`, `Squeeze`, `Unsqueeze`), \
             or import the model for given inputs, which decide on the branch",
        ))
}

/// One of two tensors of the same dtype and as many dimensions.
fn chosen(
    cx: &mut NodeCx<'_, '_>,
    condition: ValueId,
    result: usize,
    items: [Item; 2],
    why: &Error,
) -> Result<ValueId> {
    let types = [items[0].tensor_type(cx.b)?, items[1].tensor_type(cx.b)?];
    let [(dtype, a), (other, b)] = &types;
    let name = cx.node.output.get(result).map_or("branch", String::as_str);
    if dtype != other || a.rank() != b.rank() {
        return Err(differ(cx, name, &types)?);
    }
    if *dtype == DType::Str {
        return Err(why.clone());
    }
    let (mut common, mut sizes) = (Vec::with_capacity(a.rank()), Vec::with_capacity(a.rank()));
    for (axis, (a, b)) in a.iter().zip(b.iter()).enumerate() {
        if cx.b.facts().equal(a, b) {
            common.push(a.clone());
            sizes.push(a.clone());
            continue;
        }
        let most = cx.b.facts().simplify(&a.max(b));
        let (a, b) = (cx.b.dim_scalar(a, DType::I64)?, cx.b.dim_scalar(b, DType::I64)?);
        let size = cx.b.select(condition, a, b)?;
        let symbol = cx.b.facts().fresh(&Symbol::new(format!("{name}.{axis}")));
        cx.b.op1(Op::DefineSymbol(DefineSymbol { name: symbol.clone(), max: most.clone() }), &[size])?;
        common.push(most);
        sizes.push(Dim::from(symbol));
    }
    let mut padded = Vec::with_capacity(2);
    for (item, (_, shape)) in items.iter().zip(&types) {
        let x = item.build(cx.b)?;
        let high: Vec<Dim> =
            common.iter().zip(shape.iter()).map(|(most, d)| most.clone() - d.clone()).collect();
        padded.push(if high.iter().all(|h| h.is(0)) {
            x
        } else {
            let pad = Pad { low: vec![Dim::ZERO; high.len()], interior: vec![0; high.len()], high };
            let zero = cx.b.scalar(*dtype, 0.0)?;
            let x = cx.b.op1(Op::Pad(pad), &[x, zero])?;
            cx.b.reshape(x, Shape::from(common.clone()))?
        });
    }
    let mut result = cx.b.select(condition, padded[0], padded[1])?;
    for (axis, (size, most)) in sizes.iter().zip(&common).enumerate() {
        if size != most {
            result = cx.b.slice_axis(result, axis, 0, size.clone())?;
        }
    }
    Ok(result)
}

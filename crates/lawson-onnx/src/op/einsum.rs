//! Einstein sums: products of tensors, summed over the axes that the equation leaves out of its result.
//!
//! Operands are taken in one after another. Of two, an axis that both have is contracted, or is a batch axis if it is needed
//! later; one that only one of them has and nobody needs later is summed first.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{CompareKind, Contract, Monoid};
use lawson_graph::{DType, Dim, Keep, Op, Result, Shape, ValueId};
use std::collections::BTreeMap;

/// The name of an axis: a letter, or a position in what an ellipsis stands for, counted from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Ellipsis(usize),
    Letter(char),
}

/// A tensor with the names of its axes.
struct Term {
    value: ValueId,
    labels: Vec<Label>,
}

/// The labels of one term of an equation, an ellipsis in it standing for that many axes.
fn labels(cx: &NodeCx<'_, '_>, text: &str, ellipsis: usize) -> Result<Vec<Label>> {
    let mut out = Vec::new();
    let letters = |part: &str| part.chars().map(Label::Letter).collect::<Vec<_>>();
    match text.split_once("...") {
        None => out.extend(letters(text)),
        Some((before, after)) => {
            out.extend(letters(before));
            out.extend((0..ellipsis).rev().map(Label::Ellipsis));
            out.extend(letters(after));
        }
    }
    match out.iter().any(|l| matches!(l, Label::Letter(c) if !c.is_ascii_alphabetic())) {
        true => Err(cx.wrong(format!("`{text}` is no term of an equation"))),
        false => Ok(out),
    }
}

/// The result of an equation that has none: every letter that occurs once, in order, after the ellipsis.
fn implied(terms: &[Term]) -> Vec<Label> {
    let mut all: Vec<Label> = terms.iter().flat_map(|t| t.labels.iter().copied()).collect();
    all.sort_unstable();
    let count = |l: &Label| all.iter().filter(|other| *other == l).count();
    let mut ellipsis: Vec<Label> = all.iter().copied().filter(|l| matches!(l, Label::Ellipsis(_))).collect();
    ellipsis.dedup();
    ellipsis.reverse();
    let letters = all.iter().copied().filter(|l| matches!(l, Label::Letter(_)) && count(l) == 1);
    ellipsis.into_iter().chain(letters).collect()
}

pub(super) fn einsum(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let equation: String = cx.text("equation")?.unwrap_or_default().split_whitespace().collect();
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (equation.as_str(), None),
    };
    let operands = cx.values()?;
    let texts: Vec<&str> = left.split(',').collect();
    if texts.len() != operands.len() {
        return Err(cx.wrong(format!(
            "`{equation}` is about {} tensors, {} came",
            texts.len(),
            operands.len()
        )));
    }
    let (mut terms, mut widest) = (Vec::with_capacity(operands.len()), 0);
    for (value, text) in operands.into_iter().zip(texts) {
        let rank = cx.b.tensor_type(value)?.rank();
        let named = text.chars().filter(|c| *c != '.').count();
        let ellipsis = rank.saturating_sub(named);
        let labels = labels(cx, text, ellipsis)?;
        if labels.len() != rank {
            return Err(cx.wrong(format!("`{text}` names {} axes of a tensor with {rank}", labels.len())));
        }
        widest = if text.contains("...") { widest.max(ellipsis) } else { widest };
        terms.push(diagonal(cx, Term { value, labels })?);
    }
    let mut known: BTreeMap<Label, Dim> = BTreeMap::new();
    for t in &terms {
        for (label, dim) in t.labels.iter().zip(cx.b.shape(t.value)?.iter()).filter(|(_, d)| !d.is(1)) {
            match known.get(label) {
                Some(other) => cx.assume_equal(&other.clone(), dim)?,
                None => drop(known.insert(*label, dim.clone())),
            }
        }
    }
    let result = match right {
        Some(text) => labels(cx, text, widest)?,
        None => implied(&terms),
    };
    one(summed(cx, terms, &result)?)
}

/// The term with each label once: of axes that share one, only elements with equal indices stay.
fn diagonal(cx: &mut NodeCx<'_, '_>, mut t: Term) -> Result<Term> {
    let twice = |labels: &[Label]| {
        let again = |i: usize| labels[..i].iter().position(|l| *l == labels[i]).map(|first| (first, i));
        (0..labels.len()).find_map(again)
    };
    while let Some((first, second)) = twice(&t.labels) {
        let shape = cx.b.shape(t.value)?;
        let rows = cx.b.iota(DType::I64, shape.clone(), first)?;
        let columns = cx.b.iota(DType::I64, shape, second)?;
        let on = cx.b.compare(CompareKind::Eq, rows, columns)?;
        let zero = cx.b.full_like(t.value, 0.0)?;
        let kept = cx.b.select(on, t.value, zero)?;
        t.value = cx.b.reduce(Monoid::Sum, kept, &[second], Keep::No)?;
        t.labels.remove(second);
    }
    Ok(t)
}

fn summed(cx: &mut NodeCx<'_, '_>, terms: Vec<Term>, result: &[Label]) -> Result<ValueId> {
    let mut rest = terms.into_iter();
    let Some(mut total) = rest.next() else { return Err(cx.wrong("an equation of no tensors")) };
    while let Some(next) = rest.next() {
        let later: Vec<Label> =
            rest.as_slice().iter().flat_map(|t| &t.labels).chain(result).copied().collect();
        total = product(cx, total, next, &later)?;
    }
    let total = without(cx, total, |l| !result.contains(&l))?;
    let axis = |l: &Label| total.labels.iter().position(|t| t == l);
    let perm: Option<Vec<usize>> = result.iter().map(axis).collect();
    match perm.filter(|p| p.len() == total.labels.len()) {
        Some(perm) => cx.b.transpose(total.value, &perm),
        None => Err(cx.wrong("the result of an equation names an axis that no tensor has")),
    }
}

/// The sum over the axes that `gone` names.
fn without(cx: &mut NodeCx<'_, '_>, t: Term, gone: impl Fn(Label) -> bool) -> Result<Term> {
    let axes: Vec<usize> = (0..t.labels.len()).filter(|i| gone(t.labels[*i])).collect();
    if axes.is_empty() {
        return Ok(t);
    }
    let value = cx.b.reduce(Monoid::Sum, t.value, &axes, Keep::No)?;
    Ok(Term { value, labels: t.labels.into_iter().filter(|l| !gone(*l)).collect() })
}

/// The term without axes of size 1 that are larger in the other: they are repeated there.
fn unrepeated(cx: &mut NodeCx<'_, '_>, t: Term, other: &Term) -> Result<Term> {
    let (shape, others) = (cx.b.shape(t.value)?, cx.b.shape(other.value)?);
    let repeated = |(label, dim): &(Label, Dim)| {
        let there = other.labels.iter().position(|l| l == label);
        dim.is(1) && there.is_some_and(|i| !others[i].is(1))
    };
    let pairs = t.labels.iter().copied().zip(shape.iter().cloned());
    let (labels, kept): (Vec<Label>, Vec<Dim>) = pairs.filter(|p| !repeated(p)).unzip();
    Ok(Term { value: cx.b.reshape(t.value, Shape::from(kept))?, labels })
}

fn product(cx: &mut NodeCx<'_, '_>, a: Term, b: Term, later: &[Label]) -> Result<Term> {
    let a = unrepeated(cx, a, &b)?;
    let b = unrepeated(cx, b, &a)?;
    let (in_a, in_b) = (a.labels.clone(), b.labels.clone());
    let a = without(cx, a, |l| !in_b.contains(&l) && !later.contains(&l))?;
    let b = without(cx, b, |l| !in_a.contains(&l) && !later.contains(&l))?;
    let (mut batch, mut sum, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for (i, label) in a.labels.iter().enumerate() {
        if let Some(j) = b.labels.iter().position(|l| l == label) {
            if later.contains(label) {
                batch.push((i, j));
                labels.push(*label);
            } else {
                sum.push((i, j));
            }
        }
    }
    labels.extend(a.labels.iter().filter(|l| !b.labels.contains(l)));
    labels.extend(b.labels.iter().filter(|l| !a.labels.contains(l)));
    let value = cx.b.op1(Op::Contract(Contract { batch, sum, out: None }), &[a.value, b.value])?;
    Ok(Term { value, labels })
}

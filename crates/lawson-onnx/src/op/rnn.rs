//! Recurrent networks: RNN, GRU and LSTM as a `scan` over time, one for each direction.
//!
//! Products of the inputs with their weights do not depend on the state; they are one large product before the scan. Entries of a
//! batch that are shorter than the others keep their state after their end, and give 0.

use super::contrib_quant::levelled;
use super::scan::reversed;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::CompareKind;
use lawson_graph::{
    Builder, CompositeDef, DType, Dim, Elu, HardSigmoid, LeakyRelu, Linear, Result, Shape, ValueId,
    WeightLayout,
};

/// Which network.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Rnn,
    Gru,
    Lstm,
}

impl Cell {
    /// How many blocks its weights have.
    fn gates(self) -> i64 {
        match self {
            Cell::Rnn => 1,
            Cell::Gru => 3,
            Cell::Lstm => 4,
        }
    }

    /// The functions of one direction, if none are said.
    fn functions(self) -> &'static [&'static str] {
        match self {
            Cell::Rnn => &["Tanh"],
            Cell::Gru => &["Sigmoid", "Tanh"],
            Cell::Lstm => &["Sigmoid", "Tanh", "Tanh"],
        }
    }
}

/// A function of a gate, with its parameters.
#[derive(Clone, Debug)]
struct Function {
    name: String,
    alpha: Option<f64>,
    beta: Option<f64>,
}

impl Function {
    fn apply(&self, b: &mut Builder<'static>, x: ValueId) -> Result<ValueId> {
        fn made(b: &mut Builder<'static>, c: impl CompositeDef, x: ValueId) -> Result<ValueId> {
            b.composite(c, &[x])
        }
        let (alpha, beta) = (self.alpha, self.beta);
        match self.name.to_ascii_lowercase().as_str() {
            "sigmoid" => b.sigmoid(x),
            "tanh" => b.tanh(x),
            "relu" => b.relu(x),
            "softplus" => made(b, lawson_graph::Softplus { beta: 1.0 }, x),
            "softsign" => made(b, lawson_graph::Softsign {}, x),
            "elu" => made(b, Elu { alpha: alpha.unwrap_or(1.0) }, x),
            "leakyrelu" => made(b, LeakyRelu { slope: alpha.unwrap_or(0.01) }, x),
            "hardsigmoid" => {
                made(b, HardSigmoid { alpha: alpha.unwrap_or(0.2), beta: beta.unwrap_or(0.5) }, x)
            }
            "affine" => {
                let scaled = b.mul_scalar(x, alpha.unwrap_or(1.0))?;
                b.add_scalar(scaled, beta.unwrap_or(0.0))
            }
            "scaledtanh" => {
                let scaled = b.mul_scalar(x, beta.unwrap_or(1.0))?;
                let y = b.tanh(scaled)?;
                b.mul_scalar(y, alpha.unwrap_or(1.0))
            }
            other => Err(lawson_graph::Error::new(
                lawson_graph::Code::OnnxUnsupported,
                format!("a recurrent network with the function `{other}`"),
            )
            .help(
                "it can be Sigmoid, Tanh, Relu, Softplus, Softsign, Elu, LeakyRelu, HardSigmoid, Affine, ScaledTanh",
            )),
        }
    }
}

/// How all steps of a direction are computed.
struct Steps {
    cell: Cell,
    functions: Vec<Function>,
    clip: Option<f64>,
    /// Whether the input gate is one minus the forget gate.
    coupled: bool,
    /// Whether the reset gate of a GRU is applied after the product.
    reset_after: bool,
    factors: Factors,
    hidden: Dim,
}

impl Steps {
    fn clipped(&self, b: &mut Builder<'static>, x: ValueId) -> Result<ValueId> {
        self.clip.map_or(Ok(x), |c| b.clip(x, -c, c))
    }

    fn gate(&self, b: &mut Builder<'static>, function: usize, x: ValueId) -> Result<ValueId> {
        let x = self.clipped(b, x)?;
        self.functions[function].apply(b, x)
    }

    /// Block `i` of the last axis.
    fn block(&self, b: &mut Builder<'static>, x: ValueId, i: i64, count: i64) -> Result<ValueId> {
        let axis = b.tensor_type(x)?.rank().saturating_sub(1);
        b.slice_axis(x, axis, self.hidden.clone() * i, self.hidden.clone() * count)
    }

    /// The next states, from the products of this step's input and those of the state (`h·Rᵀ + bias`).
    fn next(&self, b: &mut Builder<'static>, at: &Operands) -> Result<Vec<ValueId>> {
        let product = |b: &mut Builder<'static>, h: ValueId, r: ValueId, bias: Option<ValueId>| {
            let h = self.factors.of(b, h)?;
            let y = b.composite(Linear { layout: WeightLayout::OutIn }, &[h, r])?;
            bias.map_or(Ok(y), |bias| b.add(y, bias))
        };
        match self.cell {
            Cell::Rnn => {
                let state = product(b, at.h, at.r, at.r_bias)?;
                let sum = b.add(at.x, state)?;
                Ok(vec![self.gate(b, 0, sum)?])
            }
            Cell::Gru => {
                let (r_zr, r_h) = (b.slice_axis(at.r, 0, 0, self.hidden.clone() * 2)?, {
                    b.slice_axis(at.r, 0, self.hidden.clone() * 2, self.hidden.clone())?
                });
                let halves = at.r_bias.map(|v| {
                    Ok::<_, lawson_graph::Error>((self.block(b, v, 0, 2)?, self.block(b, v, 2, 1)?))
                });
                let (bias_zr, bias_h) = match halves.transpose()? {
                    Some((zr, h)) => (Some(zr), Some(h)),
                    None => (None, None),
                };
                let state = product(b, at.h, r_zr, bias_zr)?;
                let mut gates = Vec::new();
                for i in 0..2 {
                    let (own, from) = (self.block(b, at.x, i, 1)?, self.block(b, state, i, 1)?);
                    let sum = b.add(own, from)?;
                    gates.push(self.gate(b, 0, sum)?);
                }
                let (z, r) = (gates[0], gates[1]);
                let from = if self.reset_after {
                    let state = product(b, at.h, r_h, bias_h)?;
                    b.mul(r, state)?
                } else {
                    let reset = b.mul(r, at.h)?;
                    product(b, reset, r_h, bias_h)?
                };
                let own = self.block(b, at.x, 2, 1)?;
                let sum = b.add(own, from)?;
                let new = self.gate(b, 1, sum)?;
                // (1 - z)·new + z·h
                let step = b.sub(at.h, new)?;
                let step = b.mul(z, step)?;
                Ok(vec![b.add(new, step)?])
            }
            Cell::Lstm => self.lstm(b, at, product),
        }
    }

    fn lstm(
        &self,
        b: &mut Builder<'static>,
        at: &Operands,
        product: impl Fn(&mut Builder<'static>, ValueId, ValueId, Option<ValueId>) -> Result<ValueId>,
    ) -> Result<Vec<ValueId>> {
        let state = product(b, at.h, at.r, at.r_bias)?;
        let sums = b.add(at.x, state)?;
        let c = at.c.ok_or_else(|| lawson_graph::Error::internal("an LSTM has no cell"))?;
        let peep = |b: &mut Builder<'static>, x: ValueId, i: i64, c: ValueId| -> Result<ValueId> {
            let Some(p) = at.peepholes else { return Ok(x) };
            let p = self.block(b, p, i, 1)?;
            let seen = b.mul(p, c)?;
            b.add(x, seen)
        };
        // The blocks are input, output, forget and cell; peepholes come in the order input, output, forget.
        let (i, o, f, g) = (
            self.block(b, sums, 0, 1)?,
            self.block(b, sums, 1, 1)?,
            self.block(b, sums, 2, 1)?,
            self.block(b, sums, 3, 1)?,
        );
        let forget = peep(b, f, 2, c)?;
        let forget = self.gate(b, 0, forget)?;
        let input = if self.coupled {
            let one = b.full_like(forget, 1.0)?;
            b.sub(one, forget)?
        } else {
            let input = peep(b, i, 0, c)?;
            self.gate(b, 0, input)?
        };
        let new = self.gate(b, 1, g)?;
        let (kept, added) = (b.mul(forget, c)?, b.mul(input, new)?);
        let cell = b.add(kept, added)?;
        let out = peep(b, o, 1, cell)?;
        let out = self.gate(b, 0, out)?;
        let shown = self.functions[2].apply(b, cell)?;
        Ok(vec![b.mul(out, shown)?, cell])
    }
}

/// What a step sees.
struct Operands {
    x: ValueId,
    h: ValueId,
    c: Option<ValueId>,
    r: ValueId,
    r_bias: Option<ValueId>,
    peepholes: Option<ValueId>,
}

pub(super) fn rnn(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    network(cx, Cell::Rnn)
}

pub(super) fn gru(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    network(cx, Cell::Gru)
}

pub(super) fn lstm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    network(cx, Cell::Lstm)
}

/// An LSTM of `com.microsoft` with weights of integers, `[directions, from, to]`, each with a scale and a zero point for a direction or a
/// column of it. What they are multiplied with are levels too.
pub(super) fn quantised_lstm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let float = |cx: &mut NodeCx<'_, '_>, i: usize, scale: usize| -> Result<ValueId> {
        let x = cx.value(i)?;
        let x = cx.b.cast(x, DType::I32)?;
        let across = |cx: &mut NodeCx<'_, '_>, v: ValueId| {
            let dims = cx.b.shape(v)?.into_dims();
            let spread = match dims.as_slice() {
                [directions] => vec![directions.clone(), Dim::ONE, Dim::ONE],
                [directions, columns] => vec![directions.clone(), Dim::ONE, columns.clone()],
                _ => return Err(cx.wrong(format!("a scale of `{}` has {} dimensions", cx.op(), dims.len()))),
            };
            cx.b.reshape(v, Shape::from(spread))
        };
        let (scale, zero) = (cx.value(scale)?, cx.value(scale + 1)?);
        let (scale, zero) = (across(cx, scale)?, across(cx, zero)?);
        let zero = cx.b.cast(zero, DType::I32)?;
        let x = cx.b.sub(x, zero)?;
        let x = cx.b.cast(x, DType::F32)?;
        let x = cx.b.mul(x, scale)?;
        cx.b.transpose(x, &[0, 2, 1])
    };
    let weights = Weights { w: float(cx, 1, 8)?, r: float(cx, 2, 10)?, factors: Factors::Levels };
    network_of(cx, Cell::Lstm, weights)
}

/// The weights of a network, `[directions, to, from]`, and what they are multiplied with.
struct Weights {
    w: ValueId,
    r: ValueId,
    factors: Factors,
}

/// Inputs and states as factors of products.
#[derive(Clone, Copy, PartialEq)]
enum Factors {
    /// As they are.
    Floats,
    /// Rounded to 256 levels that span all of a product's.
    Levels,
}

impl Factors {
    fn of(self, b: &mut Builder<'static>, x: ValueId) -> Result<ValueId> {
        match self {
            Factors::Floats => Ok(x),
            Factors::Levels => levelled(b, x),
        }
    }
}

/// The functions of all directions, one after another. Parameters belong to those functions that take some, in order.
fn functions(cx: &NodeCx<'_, '_>, cell: Cell, directions: usize) -> Result<Vec<Function>> {
    let names = match cx.texts("activations")? {
        Some(names) => names,
        None => cell.functions().repeat(directions),
    };
    if names.len() != directions * cell.functions().len() {
        return Err(cx.wrong(format!(
            "{} functions for {directions} directions of `{}`",
            names.len(),
            cx.op()
        )));
    }
    let mut alphas = cx.floats("activation_alpha")?.unwrap_or_default().iter().map(|a| f64::from(*a));
    let mut betas = cx.floats("activation_beta")?.unwrap_or_default().iter().map(|a| f64::from(*a));
    let function = |name: &str| {
        let lower = name.to_ascii_lowercase();
        let takes_alpha =
            matches!(lower.as_str(), "affine" | "leakyrelu" | "scaledtanh" | "hardsigmoid" | "elu");
        let takes_beta = matches!(lower.as_str(), "affine" | "scaledtanh" | "hardsigmoid");
        Function {
            name: name.to_string(),
            alpha: if takes_alpha { alphas.next() } else { None },
            beta: if takes_beta { betas.next() } else { None },
        }
    };
    Ok(names.into_iter().map(function).collect())
}

fn network(cx: &mut NodeCx<'_, '_>, cell: Cell) -> Result<Vec<Item>> {
    let weights = Weights { w: cx.value(1)?, r: cx.value(2)?, factors: Factors::Floats };
    network_of(cx, cell, weights)
}

fn network_of(cx: &mut NodeCx<'_, '_>, cell: Cell, weights: Weights) -> Result<Vec<Item>> {
    let said = cx.int("hidden_size")?;
    let batch_first = cx.int("layout")?.unwrap_or(0) == 1;
    let Weights { w, r, factors } = weights;
    let mut x = cx.value(0)?;
    if batch_first {
        x = cx.b.transpose(x, &[1, 0, 2])?;
    }
    let (xs, rs) = (cx.b.shape(x)?, cx.b.shape(r)?);
    if xs.rank() != 3 || rs.rank() != 3 {
        return Err(cx.wrong(format!("`{}` of {xs} with recurrent weights {rs}", cx.op())));
    }
    if let Some(said) = said.filter(|n| rs[2].as_const().is_some_and(|r| r != *n)) {
        return Err(
            cx.wrong(format!("`hidden_size` of `{}` is {said}, but the recurrent weights are {rs}", cx.op()))
        );
    }
    let backwards: &[bool] = match cx.text("direction")?.unwrap_or("forward") {
        "forward" => &[false],
        "reverse" => &[true],
        "bidirectional" => &[false, true],
        other => return Err(cx.no_such("direction", other, &["forward", "reverse", "bidirectional"])),
    };
    let functions = functions(cx, cell, backwards.len())?;
    let each = cell.functions().len();
    let clip = if cx.has_attribute("clip") { Some(cx.float("clip", 0.0)?) } else { None };
    let (coupled, reset_after) = (cx.flag("input_forget", false)?, cx.flag("linear_before_reset", false)?);
    let (bias, lengths) = (cx.optional(3)?, cx.optional(4)?);
    let states = [cx.optional(5)?, if cell == Cell::Lstm { cx.optional(6)? } else { None }];
    let peepholes = if cell == Cell::Lstm { cx.optional(7)? } else { None };
    let hidden = rs[2].clone();
    let x_factor = factors.of(cx.b, x)?;
    let (mut outputs, mut last): (Vec<ValueId>, [Vec<ValueId>; 2]) = (Vec::new(), [Vec::new(), Vec::new()]);
    for (d, back) in backwards.iter().enumerate() {
        let own = |cx: &mut NodeCx<'_, '_>, v: ValueId| {
            let part = cx.b.slice_axis(v, 0, d as i64, 1)?;
            let dims = cx.b.shape(part)?.iter().skip(1).cloned().collect::<Shape>();
            cx.b.reshape(part, dims)
        };
        let (w, r) = (own(cx, w)?, own(cx, r)?);
        let functions = functions[d * each..(d + 1) * each].to_vec();
        let steps = Steps { cell, functions, clip, coupled, reset_after, factors, hidden: hidden.clone() };
        let width = hidden.clone() * cell.gates();
        let (mut products, mut r_bias) =
            (cx.b.composite(Linear { layout: WeightLayout::OutIn }, &[x_factor, w])?, None);
        if let Some(bias) = bias {
            let bias = own(cx, bias)?;
            let w_bias = cx.b.slice_axis(bias, 0, 0, width.clone())?;
            products = cx.b.add(products, w_bias)?;
            r_bias = Some(cx.b.slice_axis(bias, 0, width.clone(), width)?);
        }
        let mut first = Vec::new();
        for state in &states[..if cell == Cell::Lstm { 2 } else { 1 }] {
            first.push(match state {
                Some(state) => {
                    let state = if batch_first { cx.b.transpose(*state, &[1, 0, 2])? } else { *state };
                    let state = own(cx, state)?;
                    // As many rows as the input has entries, whatever the model calls their number.
                    let wanted = [xs[1].clone(), hidden.clone()];
                    let fits = cx.b.tensor_type(state)?.rank() == wanted.len();
                    let fitted = if fits { cx.fitted(state, &wanted)? } else { None };
                    fitted.unwrap_or(state)
                }
                None => {
                    let zero = cx.b.scalar(cx.b.dtype(x)?, 0.0)?;
                    cx.b.broadcast_to(zero, [xs[1].clone(), hidden.clone()])?
                }
            });
        }
        let peepholes = peepholes.map(|p| own(cx, p)).transpose()?;
        let results = direction(cx.b, &steps, *back, products, first, [Some(r), r_bias, peepholes], lengths)?;
        let (ends, y) = results.split_at(results.len() - 1);
        outputs.extend(y);
        ends.iter().zip(&mut last).for_each(|(v, all)| all.push(*v));
    }
    together(cx, batch_first, &outputs, &last)
}

/// One direction: the last states, and all outputs `[time, batch, hidden]`.
fn direction(
    b: &mut Builder<'static>,
    steps: &Steps,
    back: bool,
    products: ValueId,
    first: Vec<ValueId>,
    [r, r_bias, peepholes]: [Option<ValueId>; 3],
    lengths: Option<ValueId>,
) -> Result<Vec<ValueId>> {
    let time = b.shape(products)?[0].clone();
    let mut numbers = b.iota(DType::I64, [time.clone()], 0)?;
    let mut products = products;
    if back {
        (products, numbers) = (reversed(b, products, 0)?, reversed(b, numbers, 0)?);
    }
    let lengths = match lengths {
        Some(l) => {
            let l = b.cast(l, DType::I64)?;
            let count = b.shape(l)?.elements();
            Some(b.reshape(l, [count, Dim::ONE])?)
        }
        None => None,
    };
    let given: Vec<Option<ValueId>> = vec![r, r_bias, peepholes, lengths];
    let captures: Vec<ValueId> = given.iter().flatten().copied().collect();
    let count = first.len();
    let mut results = b.scan(time, &first, &[products, numbers], &captures, |b, v| {
        let mut rest = v[count + 2..].iter().copied();
        let mut next = |there: bool| if there { rest.next() } else { None };
        let inside: Vec<Option<ValueId>> = given.iter().map(|g| next(g.is_some())).collect();
        let r = inside[0].ok_or_else(|| lawson_graph::Error::internal("a network has no weights"))?;
        let at = Operands {
            x: v[count],
            h: v[0],
            c: v.get(1).copied().filter(|_| count == 2),
            r,
            r_bias: inside[1],
            peepholes: inside[2],
        };
        let mut states = steps.next(b, &at)?;
        let mut y = states[0];
        if let Some(lengths) = inside[3] {
            let runs = b.compare(CompareKind::Lt, v[count + 1], lengths)?;
            let zero = b.full_like(y, 0.0)?;
            y = b.select(runs, y, zero)?;
            for (new, old) in states.iter_mut().zip(v) {
                *new = b.select(runs, *new, *old)?;
            }
        }
        states.push(y);
        Ok(states)
    })?;
    if back && let Some(y) = results.last_mut() {
        *y = reversed(b, *y, 0)?;
    }
    Ok(results)
}

/// All outputs `[time, directions, batch, hidden]` and the last states `[directions, batch, hidden]`, or the batch first.
fn together(
    cx: &mut NodeCx<'_, '_>,
    batch_first: bool,
    outputs: &[ValueId],
    last: &[Vec<ValueId>; 2],
) -> Result<Vec<Item>> {
    let joined = |cx: &mut NodeCx<'_, '_>, parts: &[ValueId], axis: usize| {
        let mut spread = Vec::with_capacity(parts.len());
        for part in parts {
            let mut dims = cx.b.shape(*part)?.into_dims();
            dims.insert(axis, Dim::ONE);
            spread.push(cx.b.reshape(*part, Shape::from(dims))?);
        }
        cx.b.concat(&spread, axis)
    };
    let y = joined(cx, outputs, 1)?;
    let y = if batch_first { cx.b.transpose(y, &[2, 0, 1, 3])? } else { y };
    let mut results = vec![y.into()];
    for states in last.iter().filter(|s| !s.is_empty()) {
        let state = joined(cx, states, 0)?;
        results.push(if batch_first { cx.b.transpose(state, &[1, 0, 2])? } else { state }.into());
    }
    Ok(results)
}

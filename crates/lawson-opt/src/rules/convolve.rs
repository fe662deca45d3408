//! Convolutions over operands that are spread out: each phase of the result is a convolution of its own.
//!
//! A transposed convolution is one over `x` with gaps, and most of its taps meet gaps: with a stride of 2, three of four in two dimensions. Elements
//! of the result whose places leave the same rest meet the same taps, so they are a convolution of `x` as it is with
//! those taps alone. What the phases give is woven together by views.

use crate::rewrite::{Rewriter, one};
use crate::rule::{Exact, Rule};
use lawson_graph::op::{Convolve, Family, Op, Slice};
use lawson_graph::{Dim, Node, Result, Shape, ValueId};

/// The rules of this file.
pub const RULES: &[Rule] = &[Rule {
    name: "convolve-by-phases",
    identity: "convolve<gaps d>(x, w) = the convolutions of x with every d-th tap of w, woven",
    exact: Exact::Rounding,
    roots: &[Family::Convolve],
    apply: by_phases,
    instance: |i| {
        let dtype = i.float();
        let (n, c, o) = (i.size().min(2), i.size().min(3), i.size().min(3));
        let (h, k, d) = (i.size() + 1, i.rng.between(1, 5), i.rng.between(2, 4));
        let (low, high) = (i.rng.between(0, 4), i.rng.between(0, 4));
        let x = i.input(dtype, [n, c, h, 4])?;
        let w = i.input(dtype, [o, c, k, 2])?;
        let op = Convolve {
            low: vec![Dim::from(low + k), Dim::from(1)],
            high: vec![Dim::from(high), Dim::from(0)],
            input_dilation: vec![d, i.rng.between(1, 3)],
            ..Convolve::plain(2)
        };
        i.b.op1(Op::Convolve(op), &[x, w])
    },
}];

/// The most phases, taken together over all axes.
const MOST_PHASES: i64 = 64;
/// The most that are convolutions each, because they have different taps.
const MOST_APART: i64 = 16;

/// The phases of an axis.
struct Phases {
    /// How many.
    count: i64,
    /// How many elements of the result each has, gaps at the end included.
    size: Dim,
    /// For each: the first of its taps, how many it has, and where in `x` the first of them meets the first element.
    taps: Vec<(i64, i64, i64)>,
}

impl Phases {
    fn of(op: &Convolve, axis: usize, kernel: &Dim, result: &Dim) -> Option<Phases> {
        let count = op.input_dilation[axis];
        let size = result.ceil_div(&Dim::from(count));
        if count == 1 {
            return Some(Phases { count, size, taps: Vec::new() });
        }
        let (low, kernel) = (op.low[axis].as_const()?, kernel.as_const()?);
        if op.stride[axis] != 1 || op.kernel_dilation[axis] != 1 || kernel < 1 {
            return None;
        }
        let of = |p: i64| {
            let first = (low - p).rem_euclid(count);
            let taps = if first < kernel { (kernel - first + count - 1) / count } else { 0 };
            (first, taps, (p + first - low).div_euclid(count))
        };
        Some(Phases { count, size, taps: (0..count).map(of).collect() })
    }

    /// Whether all phases have as many taps and meet the same elements.
    fn are_alike(&self) -> bool {
        self.taps.iter().all(|(_, taps, at)| (*taps, *at) == (self.taps[0].1, self.taps[0].2) && *taps > 0)
    }
}

fn by_phases(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Convolve(op) = &node.op else { return Ok(None) };
    if op.batch_groups != 1 || op.input_dilation.iter().all(|d| *d == 1) {
        return Ok(None);
    }
    let [x, w] = [0, 1].map(|n| rw.shape_of(node.inputs[n]).cloned());
    let (Some(x), Some(w)) = (x, w) else { return Ok(None) };
    let Some(y) = rw.ty(node.outputs[0]).as_tensor().map(|t| t.shape.clone()) else { return Ok(None) };
    let spatial = op.stride.len();
    let mut phases = Vec::with_capacity(spatial);
    for i in 0..spatial {
        let Some(of) = Phases::of(op, i, &w[2 + i], &y[2 + i]) else { return Ok(None) };
        phases.push(of);
    }
    let count = phases.iter().try_fold(1i64, |n, p| n.checked_mul(p.count)).unwrap_or(i64::MAX);
    let whole = phases
        .iter()
        .zip(&y[2..])
        .all(|(p, size)| rw.facts().is_nonnegative(&(p.size.clone() * p.count - size.clone())));
    if count > MOST_PHASES || !whole || y.iter().any(|d| d.is(0)) {
        return Ok(None);
    }
    let alike = phases.iter().all(|p| p.count == 1 || p.are_alike());
    if !alike && count > MOST_APART {
        return Ok(None);
    }
    let parts = Parts { op, phases: &phases, x: &x, w: &w, y: &y };
    let inputs = [node.inputs[0], node.inputs[1]];
    let stacked = if alike { parts.at_once(rw, inputs)? } else { parts.apart(rw, inputs)? };
    let Some(stacked) = stacked else { return Ok(None) };
    one(parts.woven(rw, stacked)?)
}

/// A convolution whose phases are taken apart.
struct Parts<'a> {
    op: &'a Convolve,
    phases: &'a [Phases],
    x: &'a Shape,
    w: &'a Shape,
    y: &'a Shape,
}

impl Parts<'_> {
    /// The convolution of one phase of each axis, or of those that are alike, with its taps; `None` if sizes do not allow it.
    fn convolved(
        &self,
        rw: &mut Rewriter<'_>,
        x: ValueId,
        taps: ValueId,
        at: &[Option<(i64, i64)>],
    ) -> Result<Option<ValueId>> {
        let mut op = Convolve { input_dilation: vec![1; self.phases.len()], ..self.op.clone() };
        let mut x = x;
        for (i, phase) in at.iter().enumerate() {
            let Some((count, first)) = *phase else { continue };
            let size = &self.x[2 + i];
            // What the window does not begin or end with is cut off, what it lacks is padding.
            let low = Dim::from(-first);
            let high = self.phases[i].size.clone() + (count - 1) + first - size.clone();
            let sides = [low, high].map(|side| match rw.facts().is_nonnegative(&side) {
                true => Some((side, Dim::ZERO)),
                false => rw
                    .facts()
                    .is_nonnegative(&(Dim::ZERO - side.clone()))
                    .then(|| (Dim::ZERO, Dim::ZERO - side)),
            });
            let [Some((low, before)), Some((high, behind))] = sides else { return Ok(None) };
            let left = size.clone() - before.clone() - behind.clone();
            if !rw.facts().is_nonnegative(&left) {
                return Ok(None);
            }
            if left != *size {
                x = rw.slice_axis(x, 2 + i, before, left)?;
            }
            (op.low[i], op.high[i]) = (low, high);
        }
        Ok(Some(rw.op1(Op::Convolve(op), &[x, taps])?))
    }

    /// All phases as channels of one convolution: `[n, channels · phases, …]`, given as `[n, channels, phases…, sizes…]`.
    fn at_once(&self, rw: &mut Rewriter<'_>, [x, w]: [ValueId; 2]) -> Result<Option<ValueId>> {
        let mut taps = w;
        let mut shape: Vec<Dim> = self.w[..2].to_vec();
        for (i, p) in self.phases.iter().enumerate() {
            // Taps of a phase stand as far apart as there are phases; the first are those of the phase that begins there.
            let (count, most) = (p.count, p.taps.first().map_or(Dim::ONE, |(_, n, _)| Dim::from(*n)));
            if count == 1 {
                shape.extend([self.w[2 + i].clone(), Dim::ONE]);
                continue;
            }
            shape.extend([most, Dim::from(count)]);
        }
        taps = rw.reshape(taps, shape.clone())?;
        for (i, p) in self.phases.iter().enumerate().filter(|(_, p)| p.count > 1) {
            let axis = 2 + 2 * i + 1;
            // Phase by phase, the first tap goes down by one, and begins at the end again.
            let first = p.taps[0].0;
            let part = |start: i64, size: i64| {
                let mut op = Slice {
                    start: vec![Dim::ZERO; shape.len()],
                    size: shape.clone(),
                    step: vec![1; shape.len()],
                };
                (op.start[axis], op.size[axis], op.step[axis]) = (Dim::from(start), Dim::from(size), -1);
                op
            };
            let mut parts = vec![rw.op1(Op::Slice(part(first, first + 1)), &[taps])?];
            if first + 1 < p.count {
                parts.push(rw.op1(Op::Slice(part(p.count - 1, p.count - 1 - first)), &[taps])?);
            }
            taps = if parts.len() == 1 { parts[0] } else { rw.concat(&parts, axis)? };
        }
        // [out, in, t, d, t, d] becomes [out, d, d, in, t, t], whose first three are channels.
        let spatial = self.phases.len();
        let order: Vec<usize> = [0]
            .into_iter()
            .chain((0..spatial).map(|i| 3 + 2 * i))
            .chain([1])
            .chain((0..spatial).map(|i| 2 + 2 * i))
            .collect();
        taps = rw.transpose(taps, &order)?;
        let count: i64 = self.phases.iter().map(|p| p.count).product();
        let mut shape = vec![self.w[0].clone() * count, self.w[1].clone()];
        shape.extend(self.phases.iter().enumerate().map(|(i, p)| match p.taps.first() {
            Some((_, taps, _)) => Dim::from(*taps),
            None => self.w[2 + i].clone(),
        }));
        let taps = rw.reshape(taps, shape)?;
        let at: Vec<Option<(i64, i64)>> =
            self.phases.iter().map(|p| p.taps.first().map(|(_, taps, at)| (*taps, *at))).collect();
        let Some(y) = self.convolved(rw, x, taps, &at)? else { return Ok(None) };
        Ok(Some(rw.reshape(y, self.stacked())?))
    }

    /// A convolution for each phase, stacked.
    fn apart(&self, rw: &mut Rewriter<'_>, [x, w]: [ValueId; 2]) -> Result<Option<ValueId>> {
        let mut stacked: Vec<ValueId> = Vec::new();
        let mut number = vec![0i64; self.phases.len()];
        let mut shape: Vec<Dim> = self.y[..2].to_vec();
        shape.push(Dim::ONE);
        shape.extend(self.phases.iter().map(|p| p.size.clone()));
        loop {
            let at: Vec<Option<(i64, i64, i64)>> =
                self.phases.iter().zip(&number).map(|(p, n)| p.taps.get(*n as usize).copied()).collect();
            let part = if at.iter().flatten().any(|(_, taps, _)| *taps == 0) {
                // No tap meets anything.
                let dtype = rw.ty(w).as_tensor().map(|t| t.dtype);
                let Some(dtype) = self.op.out.or(dtype) else { return Ok(None) };
                let zero = rw.scalar(dtype, 0.0)?;
                rw.broadcast_to(zero, shape.clone())?
            } else {
                let mut op = Slice {
                    start: vec![Dim::ZERO; self.w.rank()],
                    size: self.w.to_vec(),
                    step: vec![1; self.w.rank()],
                };
                for (i, of) in at.iter().enumerate() {
                    let Some((first, taps, _)) = *of else { continue };
                    (op.start[2 + i], op.size[2 + i]) = (Dim::from(first), Dim::from(taps));
                    op.step[2 + i] = self.phases[i].count;
                }
                let taps = rw.op1(Op::Slice(op), &[w])?;
                let at: Vec<Option<(i64, i64)>> = at.iter().map(|of| of.map(|(_, n, at)| (n, at))).collect();
                let Some(y) = self.convolved(rw, x, taps, &at)? else { return Ok(None) };
                rw.reshape(y, shape.clone())?
            };
            stacked.push(part);
            // The next number, the last axis first.
            let Some(i) = (0..number.len()).rev().find(|i| number[*i] + 1 < self.phases[*i].count) else {
                break;
            };
            number[i] += 1;
            number[i + 1..].iter_mut().for_each(|n| *n = 0);
        }
        let all = rw.concat(&stacked, 2)?;
        Ok(Some(rw.reshape(all, self.stacked())?))
    }

    /// `[n, channels, phases…, sizes…]`
    fn stacked(&self) -> Vec<Dim> {
        let mut shape: Vec<Dim> = self.y[..2].to_vec();
        shape.extend(self.phases.iter().map(|p| Dim::from(p.count)));
        shape.extend(self.phases.iter().map(|p| p.size.clone()));
        shape
    }

    /// The result of stacked phases.
    fn woven(&self, rw: &mut Rewriter<'_>, stacked: ValueId) -> Result<ValueId> {
        let spatial = self.phases.len();
        let mut order = vec![0, 1];
        let mut shape: Vec<Dim> = self.y[..2].to_vec();
        for (i, p) in self.phases.iter().enumerate() {
            order.extend([2 + spatial + i, 2 + i]);
            shape.push(p.size.clone() * p.count);
        }
        let woven = rw.transpose(stacked, &order)?;
        let mut y = rw.reshape(woven, shape.clone())?;
        for (i, (woven, size)) in shape.iter().zip(self.y.iter()).enumerate().skip(2) {
            if woven != size && !rw.facts().equal(woven, size) {
                y = rw.slice_axis(y, i, Dim::ZERO, size.clone())?;
            }
        }
        rw.reshape(y, self.y.to_vec())
    }
}

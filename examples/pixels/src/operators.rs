//! Operators on single pixels, as composites: each takes the red, green and blue planes of a picture and gives them back.
//!
//! None of them is known to Lawson. What each computes is its decomposition, and that is all that fusion, error bounds and every target need.

use lawson::graph::op::{Accept, CompareKind};
use lawson::graph::{Builder, CompositeDef, Graph, Op, Type, ValueId, attributes};
use lawson::{DType, Result};
use std::sync::Arc;

/// How much each channel adds to how bright a pixel is.
const LUMA: [f64; 3] = [0.2126, 0.7152, 0.0722];

attributes! {
    /// Light that has no upper end, brought into 0 to 1: the brightness `l`, times `exposure`, becomes `l·(1 + l/white²)/(1 + l)`, and the colour stays.
    /// So dark pixels hardly change, and `white` is what becomes 1.
    pub struct ToneMap {
        /// What light is multiplied by first.
        pub exposure: f64 = 1.0,
        /// The brightness, after that, that becomes white.
        pub white: f64 = 4.0,
    }
}

attributes! {
    /// Colours turned around the axis of greys, which stay as they are.
    pub struct RotateHue {
        /// By how many degrees; 120 makes red green, green blue and blue red.
        pub degrees: f64,
    }
}

attributes! {
    /// Colours farther from the grey of the same brightness, or nearer to it.
    pub struct Saturate {
        /// What the distance is multiplied by: 0 leaves greys.
        pub amount: f64,
    }
}

attributes! {
    /// Light in 0 to 1, cut off outside, as the bytes of an sRGB picture.
    pub struct Encode {}
}

/// The planes of a picture: f32, all of one shape.
fn planes(b: &Builder<'_>, name: &str, inputs: &[ValueId]) -> Result<[ValueId; 3]> {
    b.check(name, inputs, |cx| {
        cx.count(3)?;
        (0..3).try_for_each(|i| cx.tensor(i, Accept::FLOAT).map(|_| ()))?;
        cx.same_shape(0, 1)?;
        cx.same_shape(0, 2).map(|_| ())
    })?;
    b.operands(name, inputs)
}

/// The sum of the planes with these weights.
fn weighted(b: &mut Builder<'_>, planes: &[ValueId; 3], weights: [f64; 3]) -> Result<ValueId> {
    let mut sum = b.mul_scalar(planes[0], weights[0])?;
    for (plane, weight) in planes.iter().zip(weights).skip(1) {
        let part = b.mul_scalar(*plane, weight)?;
        sum = b.add(sum, part)?;
    }
    Ok(sum)
}

/// An example on planes of 2 by 5 pixels.
fn example(composite: impl CompositeDef) -> Result<Graph> {
    let plane = || Type::tensor(DType::F32, [2, 5]);
    lawson::graph::example(composite, [("r", plane()), ("g", plane()), ("b", plane())])
}

impl CompositeDef for ToneMap {
    const NAME: &'static str = "tone_map";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let planes = planes(b, Self::NAME, inputs)?;
        let luma = weighted(b, &planes, LUMA)?;
        let light = b.mul_scalar(luma, self.exposure)?;
        let bright = b.mul_scalar(light, 1.0 / (self.white * self.white))?;
        let above = b.add_scalar(bright, 1.0)?;
        let below = b.add_scalar(light, 1.0)?;
        let curve = b.div(above, below)?;
        // What each channel is multiplied by: the mapped brightness over the one before.
        let factor = b.mul_scalar(curve, self.exposure)?;
        planes.iter().map(|plane| b.mul(*plane, factor)).collect()
    }

    fn examples() -> Result<Vec<Graph>> {
        Ok(vec![example(ToneMap { exposure: 0.5, white: 3.0 })?])
    }
}

impl CompositeDef for RotateHue {
    const NAME: &'static str = "rotate_hue";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let planes = planes(b, Self::NAME, inputs)?;
        let (sin, cos) = self.degrees.to_radians().sin_cos();
        // A turn around (1, 1, 1): each channel takes so much of itself, of the one before it and of the one after it.
        let (own, mean, across) = (cos + (1.0 - cos) / 3.0, (1.0 - cos) / 3.0, sin / 3f64.sqrt());
        let rows = [
            [own, mean - across, mean + across],
            [mean + across, own, mean - across],
            [mean - across, mean + across, own],
        ];
        rows.into_iter().map(|row| weighted(b, &planes, row)).collect()
    }

    fn examples() -> Result<Vec<Graph>> {
        Ok(vec![example(RotateHue { degrees: 30.0 })?])
    }
}

impl CompositeDef for Saturate {
    const NAME: &'static str = "saturate";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let planes = planes(b, Self::NAME, inputs)?;
        let grey = weighted(b, &planes, LUMA)?;
        let mut results = Vec::with_capacity(3);
        for plane in planes {
            let away = b.sub(plane, grey)?;
            let farther = b.mul_scalar(away, self.amount)?;
            results.push(b.add(grey, farther)?);
        }
        Ok(results)
    }

    fn examples() -> Result<Vec<Graph>> {
        Ok(vec![example(Saturate { amount: 1.5 })?])
    }
}

impl CompositeDef for Encode {
    const NAME: &'static str = "encode";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let planes = planes(b, Self::NAME, inputs)?;
        let mut results = Vec::with_capacity(3);
        for plane in planes {
            let light = b.clip(plane, 0.0, 1.0)?;
            // A straight piece near black, a power above it.
            let straight = b.mul_scalar(light, 12.92)?;
            let exponent = b.full_like(light, 1.0 / 2.4)?;
            let power = b.pow(light, exponent)?;
            let scaled = b.mul_scalar(power, 1.055)?;
            let curved = b.add_scalar(scaled, -0.055)?;
            let end = b.full_like(light, 0.003_130_8)?;
            let is_dark = b.compare(CompareKind::Le, light, end)?;
            let value = b.select(is_dark, straight, curved)?;
            let level = b.mul_scalar(value, 255.0)?;
            let rounded = b.round(level)?;
            results.push(b.cast(rounded, DType::U8)?);
        }
        Ok(results)
    }

    fn examples() -> Result<Vec<Graph>> {
        Ok(vec![example(Encode {})?])
    }
}

/// Adds one of them.
fn apply(b: &mut Builder<'_>, composite: impl CompositeDef, planes: &[ValueId]) -> Result<Vec<ValueId>> {
    b.op(Op::Composite(Arc::new(composite)), planes)
}

/// What becomes of a picture.
#[derive(Clone, Copy, Debug)]
pub enum Chain {
    /// Its light is cut off and encoded: what a display shows of it as it is.
    Plain,
    /// Tone mapping, hue and saturation first.
    Graded,
}

/// The graph of a chain, for pictures of any size: planes of light go in, bytes come out.
pub fn graph(chain: Chain) -> Result<Graph> {
    let mut b = Builder::new("pixels");
    let mut planes = Vec::with_capacity(3);
    for name in ["red", "green", "blue"] {
        planes.push(b.input(name, Type::tensor(DType::F32, ["H", "W"]))?);
    }
    if let Chain::Graded = chain {
        planes = apply(&mut b, ToneMap { exposure: 1.6, white: 12.0 }, &planes)?;
        planes = apply(&mut b, RotateHue { degrees: 9.0 }, &planes)?;
        planes = apply(&mut b, Saturate { amount: 1.35 }, &planes)?;
    }
    planes = apply(&mut b, Encode {}, &planes)?;
    for (name, plane) in ["r", "g", "b"].into_iter().zip(planes) {
        b.output(name, plane)?;
    }
    b.finish()
}

//! Operators that the host computes (`host/`): their sizes are known only in a run, or their elements are texts.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::HostCall;
use lawson_graph::{DType, Dim, HostTensor, Op, Result, Shape, Symbol, Type, ValueId};
use std::sync::Arc;

/// A call of a function of the host; symbols of the results are new, with upper bounds.
pub(super) fn call(
    cx: &mut NodeCx<'_, '_>,
    name: &str,
    operands: &[ValueId],
    results: Vec<Type>,
    defines: Vec<(Symbol, Dim)>,
) -> Result<Vec<ValueId>> {
    let name = format!("onnx.{name}");
    cx.b.op(Op::HostCall(HostCall { name, results, defines, pure_call: true }), operands)
}

fn fresh(cx: &NodeCx<'_, '_>, what: &str) -> Symbol {
    let name = cx.node.output.iter().find(|n| !n.is_empty()).map_or("result", String::as_str);
    cx.b.facts().fresh(&Symbol::new(format!("{name}.{what}")))
}

fn integer(cx: &mut NodeCx<'_, '_>, v: i64) -> Result<ValueId> {
    cx.b.constant(HostTensor::scalar(v))
}

fn texts(cx: &mut NodeCx<'_, '_>, all: &[&str]) -> Result<ValueId> {
    let texts: Vec<Arc<str>> = all.iter().map(|t| Arc::from(*t)).collect();
    cx.b.constant(HostTensor::from_text(&[texts.len()], texts)?)
}

pub(super) fn non_max_suppression(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (boxes, scores) = (cx.value(0)?, cx.value(1)?);
    let shape = cx.b.shape(scores)?;
    let own = cx.b.shape(boxes)?;
    if shape.rank() != 3 || own.rank() != 3 {
        return Err(cx
            .wrong(format!("`NonMaxSuppression` of boxes {own} with scores {shape}"))
            .help("boxes are [batch, boxes, 4], scores [batch, classes, boxes]"));
    }
    let most = match cx.optional(2)? {
        Some(v) => v,
        None => integer(cx, 0)?,
    };
    let overlap = match cx.optional(3)? {
        Some(v) => v,
        None => cx.b.scalar(DType::F32, 0.0)?,
    };
    let least = match cx.optional(4)? {
        Some(v) => v,
        None => cx.b.scalar(DType::F32, f64::NEG_INFINITY)?,
    };
    let centred = cx.int("center_point_box")?.unwrap_or(0);
    let centred = integer(cx, centred)?;
    let count = fresh(cx, "count");
    let ty = Type::tensor(DType::I64, [Dim::from(count.clone()), Dim::from(3)]);
    let operands = [boxes, scores, most, overlap, least, centred];
    let results = call(cx, "NonMaxSuppression", &operands, vec![ty], vec![(count, shape.elements())])?;
    one(results[0])
}

/// Distinct elements, or entries along an axis, with where they come first, which of them each is, and how often.
pub(super) fn unique(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let (dtype, shape) = (cx.b.dtype(x)?, cx.b.shape(x)?);
    let axis = cx.int("axis")?.map(|a| cx.axis(a, shape.rank())).transpose()?;
    let product = |dims: &[Dim]| dims.iter().cloned().product::<Dim>();
    let (before, entries, after) = match axis {
        Some(axis) => (product(&shape[..axis]), shape[axis].clone(), product(&shape[axis + 1..])),
        None => (Dim::ONE, shape.elements(), Dim::ONE),
    };
    let flat = cx.b.reshape(x, [before.clone(), entries.clone(), after.clone()])?;
    let sorted = cx.int("sorted")?.unwrap_or(1);
    let sorted = integer(cx, sorted)?;
    let count = fresh(cx, "count");
    let kept = Dim::from(count.clone());
    let vector = |d: &Dim| Type::tensor(DType::I64, [d.clone()]);
    let types = vec![
        Type::tensor(dtype, [before, kept.clone(), after]),
        vector(&kept),
        vector(&entries),
        vector(&kept),
    ];
    let results = call(cx, "Unique", &[flat, sorted], types, vec![(count, entries)])?;
    let dims: Vec<Dim> = match axis {
        Some(axis) => {
            (0..shape.rank()).map(|i| if i == axis { kept.clone() } else { shape[i].clone() }).collect()
        }
        None => vec![kept],
    };
    let y = cx.b.reshape(results[0], Shape::from(dims))?;
    Ok([y].into_iter().chain(results[1..].iter().copied()).map(Item::Value).collect())
}

pub(super) fn string_concat(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (a, b) = (cx.value(0)?, cx.value(1)?);
    let shape = cx.b.broadcast_shape("StringConcat", a, b)?;
    one(call(cx, "StringConcat", &[a, b], vec![Type::tensor(DType::Str, shape)], Vec::new())?[0])
}

pub(super) fn equal_texts(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (a, b) = (cx.value(0)?, cx.value(1)?);
    let shape = cx.b.broadcast_shape("Equal", a, b)?;
    one(call(cx, "EqualText", &[a, b], vec![Type::tensor(DType::Bool, shape)], Vec::new())?[0])
}

pub(super) fn string_split(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    /// A text has no more parts than bytes; how long texts are, no shape says.
    const MAX_PARTS: i64 = 1 << 20;
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let by = cx.text("delimiter")?.unwrap_or_default();
    let by = texts(cx, &[by])?;
    let most = cx.int("maxsplit")?.unwrap_or(-1);
    let most = integer(cx, most)?;
    let count = fresh(cx, "parts");
    let dims = shape.iter().cloned().chain([Dim::from(count.clone())]).collect::<Shape>();
    let types = vec![Type::tensor(DType::Str, dims), Type::tensor(DType::I64, shape)];
    let results = call(cx, "StringSplit", &[x, by, most], types, vec![(count, Dim::from(MAX_PARTS))])?;
    Ok(results.into_iter().map(Item::Value).collect())
}

/// Texts in a row, or in the only row of a matrix.
pub(super) fn string_normaliser(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cx.ignore("locale");
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let flat = cx.b.reshape(x, [shape.elements()])?;
    let stops = cx.texts("stopwords")?.unwrap_or_default();
    let stops = texts(cx, &stops)?;
    let sensitive = cx.int("is_case_sensitive")?.unwrap_or(0);
    let change = match cx.text("case_change_action")?.unwrap_or("NONE") {
        "NONE" => 0,
        "LOWER" => 1,
        "UPPER" => 2,
        other => return Err(cx.wrong(format!("`StringNormalizer` cannot change case to `{other}`"))),
    };
    let (sensitive, change) = (integer(cx, sensitive)?, integer(cx, change)?);
    let count = fresh(cx, "count");
    let kept = Dim::from(count.clone());
    let ty = Type::tensor(DType::Str, [kept.clone()]);
    let bound = shape.elements().max(&Dim::ONE);
    let y =
        call(cx, "StringNormalizer", &[flat, stops, sensitive, change], vec![ty], vec![(count, bound)])?[0];
    one(match shape.rank() {
        2 => cx.b.reshape(y, [Dim::ONE, kept])?,
        _ => y,
    })
}

pub(super) fn regex_full_match(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let pattern = cx.text("pattern")?.unwrap_or_default();
    let pattern = texts(cx, &[pattern])?;
    one(call(cx, "RegexFullMatch", &[x, pattern], vec![Type::tensor(DType::Bool, shape)], Vec::new())?[0])
}

pub(super) fn tfidf(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let dtype = cx.b.dtype(x)?;
    let rows = match shape.rank() {
        1 => cx.b.reshape(x, [Dim::ONE, shape[0].clone()])?,
        2 => x,
        _ => return Err(cx.wrong(format!("`TfIdfVectorizer` of {shape}"))),
    };
    let numbers = |cx: &mut NodeCx<'_, '_>, name| -> Result<Vec<i64>> {
        Ok(cx.ints(name)?.unwrap_or_default().to_vec())
    };
    let (starts, indexes) = (numbers(cx, "ngram_counts")?, numbers(cx, "ngram_indexes")?);
    let pool = match (cx.texts("pool_strings")?, cx.ints("pool_int64s")?) {
        (Some(pool), _) if dtype == DType::Str => texts(cx, &pool)?,
        (_, Some(pool)) => cx.b.vector(pool)?,
        _ => return Err(cx.wrong("`TfIdfVectorizer` has no pool")),
    };
    let width = indexes.iter().max().copied().unwrap_or(-1).saturating_add(1);
    if !(0..=1 << 24).contains(&width) {
        return Err(cx.unsupported(format!("`TfIdfVectorizer` with rows of {width} elements")));
    }
    let sizes = ["min_gram_length", "max_gram_length", "max_skip_count"];
    let mut operands = vec![rows, pool, cx.b.vector(&starts)?, cx.b.vector(&indexes)?];
    for name in sizes {
        let value = cx.int(name)?.unwrap_or(0);
        operands.push(integer(cx, value)?);
    }
    operands.push(integer(cx, width)?);
    let lead = cx.b.shape(rows)?[0].clone();
    let ty = Type::tensor(DType::F32, [lead, Dim::from(width)]);
    let mut y = call(cx, "TfIdfVectorizer", &operands, vec![ty], Vec::new())?[0];
    let mode = cx.text("mode")?.unwrap_or("TF");
    if mode == "IDF" {
        let one = cx.b.full_like(y, 1.0)?;
        y = cx.b.min(y, one)?;
    }
    if let (Some(weights), "IDF" | "TFIDF") = (cx.floats("weights")?, mode) {
        let weights = cx.b.vector(weights)?;
        y = cx.b.mul(y, weights)?;
    }
    one(if shape.rank() == 1 { cx.b.reshape(y, [Dim::from(width)])? } else { y })
}

/// Rows of pixels from the bytes of a file.
pub(super) fn image_decoder(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    /// The greatest side of a picture; what may be decoded of it, the host limits.
    const MAX_SIDE: i64 = (1 << 16) - 1;
    let x = cx.value(0)?;
    let ty = cx.b.tensor_type(x)?;
    if ty.dtype != DType::U8 || ty.rank() != 1 {
        return Err(cx.wrong(format!("`ImageDecoder` takes the bytes of a file in a row, not {ty}")));
    }
    let (order, channels) = match cx.text("pixel_format")?.unwrap_or("RGB") {
        "RGB" => (0, 3),
        "BGR" => (1, 3),
        "Grayscale" => (2, 1),
        other => return Err(cx.wrong(format!("`ImageDecoder` to the pixels `{other}`"))),
    };
    let order = integer(cx, order)?;
    let (height, width) = (fresh(cx, "height"), fresh(cx, "width"));
    let dims = [Dim::from(height.clone()), Dim::from(width.clone()), Dim::from(channels)];
    let bounds = [height, width].map(|s| (s, Dim::from(MAX_SIDE))).to_vec();
    one(call(cx, "ImageDecoder", &[x, order], vec![Type::tensor(DType::U8, dims)], bounds)?[0])
}

/// Texts to numbers, or numbers to texts.
pub(super) fn cast_text(cx: &mut NodeCx<'_, '_>, x: ValueId, to: DType) -> Result<ValueId> {
    let shape = cx.b.shape(x)?;
    let like = match to {
        DType::Str => texts(cx, &[""])?,
        _ => cx.b.constant(HostTensor::zeros(to, &[])?)?,
    };
    Ok(call(cx, "CastText", &[x, like], vec![Type::tensor(to, shape)], Vec::new())?[0])
}

/// Each element replaced by what a table has for it; 0 or nothing where it has no entry.
pub(super) fn look_up(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    keys: HostTensor,
    values: HostTensor,
) -> Result<ValueId> {
    let (shape, to) = (cx.b.shape(x)?, values.dtype());
    let default = match to {
        DType::Str => HostTensor::from_text(&[1], vec!["".into()])?,
        other => HostTensor::zeros(other, &[1])?,
    };
    let mut operands = vec![x];
    for t in [keys, values, default] {
        operands.push(cx.b.constant(t)?);
    }
    Ok(call(cx, "LookUp", &operands, vec![Type::tensor(to, shape)], Vec::new())?[0])
}

/// `ai.onnx.ml`: each element replaced by what a table has for it. Keys and values are lists of an attribute each, or tensors.
pub(super) fn label_encoder(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let list = |cx: &mut NodeCx<'_, '_>, names: [&'static str; 4]| -> Result<Option<HostTensor>> {
        if let Some(t) = cx.tensor(names[0])? {
            return Ok(Some(t));
        }
        if let Some(t) = cx.texts(names[1])? {
            return HostTensor::from_text(&[t.len()], t.into_iter().map(Arc::from).collect()).map(Some);
        }
        if let Some(v) = cx.ints(names[2])? {
            return HostTensor::from_slice(&[v.len()], v).map(Some);
        }
        cx.floats(names[3])?.map(|v| HostTensor::from_slice(&[v.len()], v)).transpose()
    };
    let keys = list(cx, ["keys_tensor", "keys_strings", "keys_int64s", "keys_floats"])?;
    let values = list(cx, ["values_tensor", "values_strings", "values_int64s", "values_floats"])?;
    let (Some(keys), Some(values)) = (keys, values) else {
        return Err(cx.wrong("`LabelEncoder` has no keys or no values"));
    };
    let default = match (cx.tensor("default_tensor")?, values.dtype()) {
        (Some(t), _) => t,
        (None, DType::Str) => {
            HostTensor::from_text(&[1], vec![cx.text("default_string")?.unwrap_or("_Unused").into()])?
        }
        (None, d) if d.is_float() => HostTensor::from_floats(d, &[1], &[cx.float("default_float", -0.0)?])?,
        (None, d) => HostTensor::from_ints(d, &[1], &[cx.int("default_int64")?.unwrap_or(-1).into()])?,
    };
    for name in ["default_string", "default_float", "default_int64"] {
        cx.ignore(name);
    }
    let to = values.dtype();
    let mut operands = vec![x];
    for t in [keys, values, default] {
        operands.push(cx.b.constant(t)?);
    }
    one(call(cx, "LookUp", &operands, vec![Type::tensor(to, shape)], Vec::new())?[0])
}

//! Functions of the host: operators whose results have sizes that only a run knows, or whose elements are texts.
//!
//! A graph calls them by name (`host_call`); [`host_functions`] gives them to a session, which has them unless it is told otherwise.
//! Attributes come as operands, so that a call says all that it does.

mod boxes;
mod ngram;
#[cfg(feature = "images")]
mod picture;
mod text;
mod unique;

use lawson_graph::interp::HostFunctions;
use lawson_graph::{Code, Error, HostTensor, Result, Value};

/// The functions that graphs of imported models may call.
pub fn host_functions() -> HostFunctions {
    let mut all = HostFunctions::new();
    all.insert("onnx.NonMaxSuppression", boxes::non_max_suppression);
    all.insert("onnx.Fits", fits);
    all.insert("onnx.Unique", unique::unique);
    all.insert("onnx.StringConcat", text::concat);
    all.insert("onnx.StringSplit", text::split);
    all.insert("onnx.StringNormalizer", text::normalise);
    all.insert("onnx.RegexFullMatch", text::full_match);
    all.insert("onnx.EqualText", text::equal);
    all.insert("onnx.LookUp", text::look_up);
    all.insert("onnx.CastText", text::cast);
    all.insert("onnx.TfIdfVectorizer", ngram::vectorise);
    #[cfg(feature = "images")]
    all.insert("onnx.ImageDecoder", picture::decode);
    #[cfg(not(feature = "images"))]
    all.insert("onnx.ImageDecoder", no_pictures);
    all
}

/// What decodes pictures where nothing does.
#[cfg(not(feature = "images"))]
fn no_pictures(_: &[Value]) -> Result<Vec<Value>> {
    let what = "this build decodes no pictures: build `lawson` with its feature `images`";
    Err(Error::new(Code::HostCall, what))
}

/// Gives its operand, if it has the sizes that the second one holds.
fn fits(operands: &[Value]) -> Result<Vec<Value>> {
    let (x, wanted) = (tensor(operands, 0)?, integers(operands, 1)?);
    let fits = x.sizes().len() == wanted.len()
        && x.sizes().iter().zip(&wanted).all(|(n, w)| i64::try_from(*n) == Ok(*w));
    if !fits {
        let what = format!("a tensor of sizes {:?} came where the model needs {wanted:?}", x.sizes());
        return Err(Error::new(Code::HostCall, what).help(
            "give inputs for which that is so; a model can also be imported for the sizes of its inputs",
        ));
    }
    Ok(vec![x.clone().into()])
}

/// Operand `i`, which is a tensor.
fn tensor(operands: &[Value], i: usize) -> Result<&HostTensor> {
    operands
        .get(i)
        .and_then(Value::as_tensor)
        .ok_or_else(|| Error::new(Code::HostCall, format!("operand {i} is missing, or no tensor")))
}

/// The only element of operand `i`.
fn number(operands: &[Value], i: usize) -> Result<i64> {
    let t = tensor(operands, i)?;
    if t.len() != 1 {
        return Err(Error::new(Code::HostCall, format!("operand {i} has {} elements, not 1", t.len())));
    }
    Ok(i64::try_from(t.int_at(0)).unwrap_or(i64::MAX))
}

fn integers(operands: &[Value], i: usize) -> Result<Vec<i64>> {
    let t = tensor(operands, i)?;
    Ok((0..t.len()).map(|i| i64::try_from(t.int_at(i)).unwrap_or(i64::MAX)).collect())
}

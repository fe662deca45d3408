//! The elements of constants: printed so that every bit comes back, and read with the place of whatever does not fit.
//!
//! A constant is written as nested brackets (`[[1, 2], [3, 4]]`, a scalar without any, no elements at all as `[]`), as
//! `splat 0.5` when all elements are equal, or as `hex "…"`, the little-endian bytes. Floats have the fewest digits
//! that read back as the same number; a NaN whose bits are not the usual ones goes through `hex`.

use super::cursor::Cursor;
use super::lexer::{Kind, Span};
use crate::attr::{CANONICAL_NAN, float_text};
use crate::dtype::{Class, DType};
use crate::error::{Code, Error, Result};
use crate::name::Quoted;
use crate::number;
use crate::tensor::HostTensor;
use std::fmt::Write;
use std::sync::Arc;

/// Up to this many elements are printed as numbers.
const PRINTED_AS_NUMBERS: usize = 64;
/// How many bytes all splats of a text may take together, so that a short text cannot ask for all memory. What does
/// not fit is printed as `hex`, which is as long as what it stands for.
pub(super) const SPLAT_BYTES: usize = 256 << 20;

/// What a tensor counts against `SPLAT_BYTES`; `None` if that overflows.
fn splat_cost(dtype: DType, len: usize) -> Option<usize> {
    match dtype {
        DType::Str => len.checked_mul(size_of::<Arc<str>>()),
        _ => dtype.bytes_for(len),
    }
}

/// Prints a constant inline.
pub(super) fn write_inline(out: &mut String, tensor: &HostTensor, splat_left: &mut usize) {
    let len = tensor.len();
    if len == 0 {
        out.push_str("[]");
    } else if let Some(cost) = splat_of(tensor, *splat_left) {
        *splat_left -= cost;
        out.push_str("splat ");
        write_element(out, tensor, 0);
    } else if tensor.dtype() == DType::Str
        || (len <= PRINTED_AS_NUMBERS && (0..len).all(|i| !is_odd_nan(tensor, i)))
    {
        write_nested(out, tensor, 0, 0, len);
    } else {
        write_hex(out, tensor.bytes());
    }
}

/// What printing the tensor as a splat would cost, if it is one and the cost can be paid.
pub(super) fn splat_of(tensor: &HostTensor, splat_left: usize) -> Option<usize> {
    let cost = splat_cost(tensor.dtype(), tensor.len()).filter(|cost| *cost <= splat_left)?;
    (tensor.len() > 1 && tensor.is_splat() && !is_odd_nan(tensor, 0)).then_some(cost)
}

fn write_nested(out: &mut String, tensor: &HostTensor, axis: usize, at: usize, len: usize) {
    let Some(size) = tensor.sizes().get(axis) else {
        write_element(out, tensor, at);
        return;
    };
    let step = len / size.max(&1);
    out.push('[');
    for i in 0..*size {
        if i > 0 {
            out.push_str(", ");
        }
        write_nested(out, tensor, axis + 1, at + i * step, step);
    }
    out.push(']');
}

fn write_hex(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(bytes.len() * 2 + 6);
    out.push_str("hex \"");
    for b in bytes {
        out.push(char::from(DIGITS[usize::from(b >> 4)]));
        out.push(char::from(DIGITS[usize::from(b & 0xf)]));
    }
    out.push('"');
}

/// The bits of the NaN that is written `nan`.
fn nan_bits(dtype: DType) -> u64 {
    match dtype {
        DType::F8E4M3 => 0x7f,
        DType::F8E5M2 => 0x7e,
        DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => 0x80,
        DType::F8E8M0 => 0xff,
        DType::F16 => 0x7e00,
        DType::BF16 => 0x7fc0,
        DType::F32 => 0x7fc0_0000,
        _ => CANONICAL_NAN,
    }
}

/// The bit that `-` in front of a NaN stands for, if NaN has a sign.
fn nan_sign_bit(dtype: DType) -> u64 {
    match dtype {
        DType::F8E4M3Fnuz | DType::F8E5M2Fnuz | DType::F8E8M0 => 0,
        _ => 1 << dtype.bits().saturating_sub(1),
    }
}

fn bits_at(tensor: &HostTensor, i: usize) -> u64 {
    if tensor.dtype().bits() < 8 {
        return u64::from(number::read_packed(tensor.dtype(), tensor.bytes(), i));
    }
    let width = tensor.dtype().bits() / 8;
    let mut raw = [0u8; 8];
    raw[..width].copy_from_slice(&tensor.bytes()[i * width..(i + 1) * width]);
    u64::from_le_bytes(raw)
}

/// Whether an element is a NaN that neither `nan` nor `-nan` stands for.
fn is_odd_nan(tensor: &HostTensor, i: usize) -> bool {
    let dtype = tensor.dtype();
    dtype.is_float()
        && tensor.float_at(i).is_nan()
        && bits_at(tensor, i) & !nan_sign_bit(dtype) != nan_bits(dtype)
}

fn write_element(out: &mut String, tensor: &HostTensor, i: usize) {
    let dtype = tensor.dtype();
    // Writing to a string cannot fail.
    let _ = match dtype.class() {
        Class::Bool => write!(out, "{}", tensor.int_at(i) != 0),
        Class::Signed | Class::Unsigned => write!(out, "{}", tensor.int_at(i)),
        Class::Str => write!(out, "{}", Quoted(&tensor.text()[i])),
        Class::Float => {
            let value = tensor.float_at(i);
            if value.is_nan() {
                let sign = if bits_at(tensor, i) & nan_sign_bit(dtype) != 0 { "-" } else { "" };
                write!(out, "{sign}nan")
            } else if dtype == DType::F32 && value.is_finite() {
                write!(out, "{:?}", value as f32)
            } else {
                write!(out, "{}", float_text(shortest(dtype, value)))
            }
        }
    };
}

/// The number with the fewest digits that rounds to the same float of the dtype.
fn shortest(dtype: DType, value: f64) -> f64 {
    if matches!(dtype, DType::F32 | DType::F64) || !value.is_finite() {
        return value;
    }
    (0..8)
        .filter_map(|digits| format!("{value:.digits$e}").parse::<f64>().ok())
        .find(|short| number::round(dtype, *short).to_bits() == value.to_bits())
        .unwrap_or(value)
}

/// One element as read.
enum Element {
    Bits(u64),
    Text(Arc<str>),
}

/// Elements as they are read, in the storage that a tensor takes.
struct Elements {
    dtype: DType,
    len: usize,
    bytes: Vec<u8>,
    text: Vec<Arc<str>>,
}

impl Elements {
    fn push(&mut self, element: Element) {
        match element {
            Element::Text(text) => self.text.push(text),
            Element::Bits(bits) if self.dtype.bits() < 8 => {
                if (self.len * self.dtype.bits()).is_multiple_of(8) {
                    self.bytes.push(0);
                }
                number::write_packed(self.dtype, &mut self.bytes, self.len, bits as u8);
            }
            Element::Bits(bits) => self.bytes.extend_from_slice(&bits.to_le_bytes()[..self.dtype.bits() / 8]),
        }
        self.len += 1;
    }

    fn finish(self, sizes: &[usize]) -> Result<HostTensor> {
        match self.dtype {
            DType::Str => HostTensor::from_text(sizes, self.text),
            dtype => HostTensor::from_bytes(dtype, sizes, self.bytes),
        }
    }
}

impl Cursor<'_> {
    /// The elements of a constant of that dtype and those sizes.
    pub(super) fn literal(
        &mut self,
        dtype: DType,
        sizes: &[usize],
        splat_left: &mut usize,
    ) -> Result<HostTensor> {
        let begin = self.span();
        let tensor = if self.eat_word("splat") {
            self.splat(dtype, sizes, splat_left, begin)
        } else if self.eat_word("hex") {
            self.hex(dtype, sizes)
        } else {
            let mut elements = Elements { dtype, len: 0, bytes: Vec::new(), text: Vec::new() };
            if sizes.contains(&0) && self.at("[") && self.peek_next() == Kind::Sign("]") {
                self.advance();
                self.advance();
            } else {
                self.nested(sizes, 0, &mut elements)?;
            }
            elements.finish(sizes)
        };
        // Errors of the tensor itself have no place yet.
        tensor.map_err(|e| match e.places() {
            [] => e.at(self.source.place(begin.to(self.last()))),
            _ => e,
        })
    }

    fn literal_error(&self, span: Span, message: impl Into<String>) -> Error {
        self.source.error(Code::Literal, span, message)
    }

    fn nested(&mut self, sizes: &[usize], axis: usize, elements: &mut Elements) -> Result<()> {
        let Some(size) = sizes.get(axis) else {
            if self.at("[") {
                let message = format!("the brackets are deeper than the {} of the shape", dimensions(sizes));
                return Err(self.literal_error(self.span(), message));
            }
            let element = self.element(elements.dtype)?;
            elements.push(element);
            return Ok(());
        };
        let open = self.span();
        if !self.at("[") && !matches!(self.peek(), Kind::Bad(_)) {
            let message = format!("expected `[`: the shape has {}", dimensions(sizes));
            return Err(self.literal_error(self.span(), message));
        }
        self.expect("[")?;
        let mut count = 0;
        let mut more = !self.eat("]");
        while more {
            if count == *size {
                let message = format!("axis {axis} is {size}, but more entries stand here");
                return Err(self.literal_error(self.span(), message));
            }
            self.nested(sizes, axis + 1, elements)?;
            count += 1;
            more = self.list_goes_on("]")?;
        }
        if count < *size {
            let message = format!("axis {axis} is {size}, but {count} entries stand here");
            return Err(self.literal_error(open.to(self.last()), message));
        }
        Ok(())
    }

    fn splat(
        &mut self,
        dtype: DType,
        sizes: &[usize],
        splat_left: &mut usize,
        begin: Span,
    ) -> Result<HostTensor> {
        let element = self.element(dtype)?;
        let len = sizes.iter().try_fold(1usize, |n, s| n.checked_mul(*s));
        let Some((len, cost)) =
            len.and_then(|n| Some((n, splat_cost(dtype, n)?))).filter(|(_, cost)| *cost <= *splat_left)
        else {
            let message = format!("the splats of a text may take {SPLAT_BYTES} bytes; this one is too large");
            return Err(self
                .literal_error(begin.to(self.last()), message)
                .help("build it with `broadcast` from a scalar, or keep it in a side file"));
        };
        *splat_left -= cost;
        match element {
            Element::Text(text) => HostTensor::from_text(sizes, vec![text; len]),
            Element::Bits(0) => HostTensor::zeros(dtype, sizes),
            Element::Bits(bits) if dtype.bits() < 8 => {
                let mut byte = [0u8];
                (0..8 / dtype.bits()).for_each(|i| number::write_packed(dtype, &mut byte, i, bits as u8));
                HostTensor::from_bytes(dtype, sizes, vec![byte[0]; cost])
            }
            Element::Bits(bits) => {
                HostTensor::from_bytes(dtype, sizes, bits.to_le_bytes()[..dtype.bits() / 8].repeat(len))
            }
        }
    }

    fn hex(&mut self, dtype: DType, sizes: &[usize]) -> Result<HostTensor> {
        let (digits, span) = self.string("bytes as hexadecimal digits in quotes")?;
        let value = |digit: u8| char::from(digit).to_digit(16).map(|d| d as u8);
        if let Some(at) = digits.bytes().position(|b| value(b).is_none()) {
            let start = span.start + 1 + at;
            let message = "expected a hexadecimal digit";
            return Err(self.literal_error(Span { start, end: start + 1 }, message));
        }
        let (pairs, odd) = digits.as_bytes().as_chunks::<2>();
        if !odd.is_empty() {
            return Err(self.literal_error(span, "the number of digits is odd; a byte takes two"));
        }
        let byte = |pair: &[u8; 2]| value(pair[0]).unwrap_or(0) << 4 | value(pair[1]).unwrap_or(0);
        HostTensor::from_bytes(dtype, sizes, pairs.iter().map(byte).collect::<Vec<u8>>())
    }

    fn element(&mut self, dtype: DType) -> Result<Element> {
        if dtype == DType::Str {
            return self.string("a text in quotes").map(|(text, _)| Element::Text(Arc::from(&*text)));
        }
        let begin = self.span();
        if dtype == DType::Bool {
            return match (self.eat_word("true"), self.eat_word("false")) {
                (true, _) => Ok(Element::Bits(1)),
                (_, true) => Ok(Element::Bits(0)),
                _ => Err(self.not_an_element("`true` or `false`")),
            };
        }
        let negative = self.eat("-");
        let special = self.at_word("inf") || self.at_word("nan");
        if !special && !matches!(self.peek(), Kind::Int | Kind::Float) {
            return Err(self.not_an_element("a number"));
        }
        let span = self.advance().span;
        let digits = self.source.slice(span);
        let bits = match dtype.int_range() {
            Some((lo, hi)) => {
                let magnitude = digits.parse::<i128>().ok();
                let value = magnitude.map(|m| if negative { -m } else { m });
                value.filter(|v| (lo..=hi).contains(v)).map(|v| v as u64)
            }
            None => float_bits(dtype, digits, negative),
        };
        bits.map(Element::Bits).ok_or_else(|| {
            let sign = if negative { "-" } else { "" };
            let error =
                self.literal_error(begin.to(span), format!("`{sign}{digits}` does not fit in {dtype}"));
            match (dtype.int_range(), dtype.max_finite()) {
                (Some((lo, hi)), _) => error.help(format!("{dtype} holds whole numbers from {lo} to {hi}")),
                (_, Some(max)) => error.help(format!("the largest {dtype} is {}", float_text(max))),
                _ => error,
            }
        })
    }

    fn not_an_element(&self, what: &str) -> Error {
        let expected = self.expected(what);
        match self.peek() {
            Kind::End | Kind::Bad(_) => expected,
            _ => self.literal_error(self.span(), expected.message()),
        }
    }
}

fn dimensions(sizes: &[usize]) -> String {
    format!("{} dimension{}", sizes.len(), crate::op::plural(sizes.len()))
}

/// The bits of the float nearest to the number, `inf` or `nan`; `None` if the dtype has none.
fn float_bits(dtype: DType, digits: &str, negative: bool) -> Option<u64> {
    let signed = |magnitude: f64| if negative { -magnitude } else { magnitude };
    Some(match (digits, dtype) {
        ("nan", _) if !dtype.has_nan() => return None,
        ("nan", _) => nan_bits(dtype) | if negative { nan_sign_bit(dtype) } else { 0 },
        ("inf", _) if !dtype.has_infinity() => return None,
        ("inf", _) => narrow_bits(dtype, signed(f64::INFINITY)),
        (_, DType::F32) => {
            let value = digits.parse::<f32>().ok().filter(|v| v.is_finite())?;
            u64::from((if negative { -value } else { value }).to_bits())
        }
        (_, DType::F64) => signed(digits.parse::<f64>().ok().filter(|v| v.is_finite())?).to_bits(),
        _ => {
            let value: f64 = digits.parse().ok()?;
            let fits = dtype.has_nan() || dtype.max_finite().is_some_and(|max| value <= max);
            (fits && number::round(dtype, signed(value)).is_finite())
                .then(|| narrow_bits(dtype, signed(value)))?
        }
    })
}

fn narrow_bits(dtype: DType, value: f64) -> u64 {
    let mut raw = [0u8; 8];
    number::write_float(dtype, &mut raw[..dtype.bits().div_ceil(8)], 0, value);
    u64::from_le_bytes(raw)
}

//! Layouts: that different indices lie at different places, all inside the buffer.
//!
//! The digits of a dimension must put its index together again: the first divides by 1, each further one by the product of
//! the moduli before it, and the last keeps the whole quotient or has a modulus that it never reaches. Seen from the
//! innermost digit outwards, each stride must be at least what the digits before it span. That is mixed-radix counting, and
//! it is enough: two different indices differ in some digit, and the outermost such digit moves the place by more
//! than all inner ones can.

use super::error;
use crate::buffer::{Buffer, Digit, Role};
use crate::tree::Kernel;
use lawson_graph::{Code, Dim, Facts, Result};

/// Checks the layout of every buffer.
pub(super) fn layouts(kernel: &Kernel) -> Result<()> {
    for buffer in &kernel.buffers {
        let path = format!("buffer {}", buffer.name);
        if let Some(message) = layout_error(&kernel.facts, buffer) {
            return Err(error(kernel, Code::KernelLayout, path, message));
        }
        if matches!(buffer.role, Role::Scratch(_)) && buffer.layout.size.as_const().is_none() {
            let message = format!("scratch has a constant size, not {}", buffer.layout.size);
            return Err(error(kernel, Code::KernelScratch, path, message));
        }
    }
    Ok(())
}

fn layout_error(facts: &Facts, buffer: &Buffer) -> Option<String> {
    let (layout, rank) = (&buffer.layout, buffer.dims.len());
    if let Some(d) = layout.digits.iter().find(|d| d.dim >= rank) {
        return Some(format!("a digit is of dimension {}, of {rank}", d.dim));
    }
    if layout.digits.iter().any(|d| d.divide < 1 || d.modulo.is_some_and(|m| m < 1)) {
        return Some("a digit divides by or has a remainder of something that is not positive".into());
    }
    if let Some(d) = (0..rank).find(|d| !puts_together(facts, buffer, *d)) {
        return Some(format!("the digits of dimension {d} do not put its index together again"));
    }
    let outwards: Vec<&Digit> = layout.digits.iter().rev().collect();
    let mut by_stride = outwards.clone();
    by_stride.sort_by_key(|d| d.stride.as_const().unwrap_or(i64::MAX));
    let apart = [&outwards, &by_stride].into_iter().any(|order| keeps_apart(facts, buffer, order));
    (!apart).then(|| "its strides do not keep the digits apart, or reach beyond its size".into())
}

/// Whether the digits of a dimension are those of a mixed radix that covers it.
fn puts_together(facts: &Facts, buffer: &Buffer, dim: usize) -> bool {
    let extent = &buffer.dims[dim];
    let mut digits: Vec<&Digit> = buffer.layout.digits.iter().filter(|d| d.dim == dim).collect();
    digits.sort_by_key(|d| d.divide);
    let mut divide = Some(1i64);
    for digit in digits {
        if Some(digit.divide) != divide {
            return false;
        }
        divide = digit.modulo.and_then(|m| digit.divide.checked_mul(m));
        if digit.modulo.is_some() && divide.is_none() {
            return false;
        }
    }
    // What the digits can tell apart is all that the dimension has.
    divide.is_none_or(|told| facts.proves_ge(&Dim::from(told), extent))
}

/// How many values a digit takes.
fn extent(buffer: &Buffer, digit: &Digit) -> Dim {
    let whole = buffer.dims[digit.dim].ceil_div(&Dim::from(digit.divide));
    match digit.modulo {
        Some(m) => whole.min(&Dim::from(m)),
        None => whole,
    }
}

/// Whether each stride is at least what the digits before it span, and the size at least what all do.
fn keeps_apart(facts: &Facts, buffer: &Buffer, inner_to_outer: &[&Digit]) -> bool {
    let at_least = |a: &Dim, b: &Dim| a == b || facts.proves_ge(a, b);
    let mut span = Dim::ONE;
    for digit in inner_to_outer {
        let extent = extent(buffer, digit);
        if extent.is(1) {
            continue;
        }
        if !at_least(&digit.stride, &span) {
            return false;
        }
        // A modulus that the extent is cut to by a short dimension spans no less for it.
        span = digit.stride.clone() * digit.modulo.map_or(extent, Dim::from);
    }
    let empty = buffer.dims.iter().any(|d| d.is(0));
    let last =
        inner_to_outer.iter().fold(Dim::ZERO, |sum, d| sum + (extent(buffer, d) - 1) * d.stride.clone());
    empty || at_least(&buffer.layout.size, &span) || facts.proves_ge(&buffer.layout.size, &(last + 1))
}

//! A buffer's bytes, where its elements lie, and who wrote each of them.
//!
//! Every iteration of the parallel loops has a number that grows. An element remembers the number of the iteration that
//! wrote it, and so does the check know of each load whether what it reads is the iteration's own, was there before the
//! parallel loop began, or is another iteration's.

use super::place::size;
use crate::buffer::{Buffer, Role};
use lawson_graph::interp::Element;
use lawson_graph::{Code, DType, Error, Result, Symbol};

/// A buffer in a run.
pub(super) struct Memory {
    name: String,
    role: Role,
    dtype: DType,
    dims: Vec<i64>,
    digits: Vec<(usize, i64, Option<i64>, i64)>,
    size: usize,
    bytes: Vec<u8>,
    /// The iteration that wrote an element; 0 if none did. Empty for inputs.
    writer: Vec<u32>,
}

/// Which iteration of the parallel loops runs, and the first one of the loop that runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Iteration {
    pub(super) now: u32,
    pub(super) since: u32,
}

/// The most elements that scratch or an output may have here.
const MAX_ELEMENTS: i64 = 1 << 31;

impl Memory {
    pub(super) fn new(
        buffer: &Buffer,
        bytes: Option<Vec<u8>>,
        value_of: &impl Fn(&Symbol) -> Option<i64>,
    ) -> Result<Memory> {
        let wrong = |message: String| Error::new(Code::KernelRun, message);
        let dims = buffer.dims.iter().map(|d| size(d, value_of)).collect::<Result<Vec<_>>>()?;
        let mut digits = Vec::with_capacity(buffer.layout.digits.len());
        for d in &buffer.layout.digits {
            if d.dim >= dims.len() || d.divide < 1 || d.modulo.is_some_and(|m| m < 1) {
                return Err(wrong(format!(
                    "the layout of `{}` has a digit that means nothing: {d:?}",
                    buffer.name
                )));
            }
            digits.push((d.dim, d.divide, d.modulo, size(&d.stride, value_of)?));
        }
        let elements = size(&buffer.layout.size, value_of)?;
        if !(0..=MAX_ELEMENTS).contains(&elements) {
            return Err(wrong(format!("`{}` would have {elements} elements", buffer.name))
                .help("the direct evaluator is for small sizes"));
        }
        let elements = elements as usize;
        let expected = buffer.dtype.bytes_for(elements).unwrap_or(0);
        let bytes = bytes.unwrap_or_else(|| vec![0; expected]);
        if bytes.len() != expected {
            let message = format!(
                "`{}` takes {expected} bytes ({elements} elements of {}), {} came",
                buffer.name,
                buffer.dtype,
                bytes.len()
            );
            return Err(wrong(message));
        }
        let writer = if buffer.role == Role::Input { Vec::new() } else { vec![0; elements] };
        Ok(Memory {
            name: buffer.name.clone(),
            role: buffer.role,
            dtype: buffer.dtype,
            dims,
            digits,
            size: elements,
            bytes,
            writer,
        })
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Where an element lies; an error says why there is none.
    fn offset(&self, index: &[i64]) -> Result<usize, String> {
        if index.len() != self.dims.len() {
            return Err(format!("`{}` has {} dimensions", self.name, self.dims.len()));
        }
        for (axis, (i, dim)) in index.iter().zip(&self.dims).enumerate() {
            if !(0..*dim).contains(i) {
                return Err(format!("index {axis} lies outside 0..{dim}"));
            }
        }
        let mut at = 0i64;
        for (dim, divide, modulo, stride) in &self.digits {
            let quotient = index[*dim] / divide;
            let digit = modulo.map_or(quotient, |m| quotient % m);
            at = at.saturating_add(digit.saturating_mul(*stride));
        }
        match usize::try_from(at) {
            Ok(at) if at < self.size => Ok(at),
            _ => Err(format!("its layout puts that at {at}, outside its {} elements", self.size)),
        }
    }

    pub(super) fn load(&self, index: &[i64], iteration: Iteration) -> Result<Element, String> {
        let at = self.offset(index)?;
        match (self.role, self.writer.get(at)) {
            (Role::Input, _) => {}
            (_, Some(w)) if *w == iteration.now => {}
            (Role::Output, Some(w)) if *w != 0 && *w < iteration.since => {}
            (Role::Output, Some(w)) if *w >= iteration.since => {
                return Err("another iteration of the parallel loop wrote it".into());
            }
            (Role::Scratch(_), Some(w)) if *w != 0 => {
                return Err("it was written in another iteration of the parallel loop".into());
            }
            _ => return Err("nobody wrote it".into()),
        }
        Ok(Element::read(self.dtype, &self.bytes, at))
    }

    pub(super) fn store(
        &mut self,
        index: &[i64],
        value: Element,
        iteration: Iteration,
    ) -> Result<(), String> {
        if self.role == Role::Input {
            return Err("it is an input".into());
        }
        let at = self.offset(index)?;
        if self.role == Role::Output && self.writer[at] >= iteration.since && self.writer[at] != iteration.now
        {
            return Err("another iteration of the parallel loop writes it too".into());
        }
        self.writer[at] = iteration.now;
        value.write(self.dtype, &mut self.bytes, at);
        Ok(())
    }

    /// Whether every element of the logical dimensions was written.
    pub(super) fn check_whole(&self, kernel: &str) -> Result<()> {
        let mut index = vec![0i64; self.dims.len()];
        if self.dims.contains(&0) {
            return Ok(());
        }
        loop {
            let at = self.offset(&index).map_err(|why| self.error(kernel, &index, &why))?;
            if self.writer.get(at) == Some(&0) {
                return Err(self.error(kernel, &index, "the kernel never writes it"));
            }
            let Some(axis) = (0..index.len()).rev().find(|a| index[*a] + 1 < self.dims[*a]) else {
                return Ok(());
            };
            index[axis] += 1;
            index[axis + 1..].fill(0);
        }
    }

    pub(super) fn error(&self, kernel: &str, index: &[i64], why: &str) -> Error {
        Error::new(Code::KernelRun, format!("kernel `{kernel}`, buffer `{}` at {index:?}: {why}", self.name))
    }
}

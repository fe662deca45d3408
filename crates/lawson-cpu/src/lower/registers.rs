//! Virtual registers: how many lanes vectors have, and how wide they are.

use super::Lowering;
use super::forms::is_long;
use crate::asm::{self, Width};
use crate::code::{Class, V};
use crate::error::{Result, Unsupported};
use lawson_graph::DType;
use lawson_kernel::{For, Kernel, Kind, Node};

/// Bytes of a vector.
pub(super) fn vector_bytes(level: asm::Level) -> i64 {
    match level {
        asm::Level::Avx512 => 64,
        asm::Level::Avx2 => 32,
    }
}

/// How many lanes a kernel's vectors have: as many as its vector loops say, and half of what fits if lanes have 64 bits.
pub(super) fn lanes_of(kernel: &Kernel, level: asm::Level) -> Result<i64> {
    let most = vector_bytes(level) / 4;
    let wide = kernel.computes_wide() || level == asm::Level::Avx2 && kernel.has_wide();
    let mut said: Vec<i64> = Vec::new();
    kernel.visit(&mut |n| {
        if let Node::For(For { kind: Kind::Vector(w), .. }) = n
            && !said.contains(&i64::from(*w))
        {
            said.push(i64::from(*w));
        }
    });
    match said[..] {
        [] => Ok(if wide { most / 2 } else { most }),
        [lanes] if lanes == most / 2 || lanes == most && !wide => Ok(lanes),
        [lanes] => Err(Unsupported::new(format!("vectors of {lanes} lanes"))),
        _ => Err(Unsupported::new("vector loops of several widths")),
    }
}

impl<'k> Lowering<'k> {
    /// A register; vectors have lanes of 32 bits.
    pub(super) fn fresh(&mut self, class: Class) -> V {
        self.fresh_wide(class, 4)
    }

    /// A vector with lanes of 64 bits; where they do not fit, as many as do.
    pub(super) fn fresh_long(&mut self) -> V {
        self.fresh_wide(Class::Vector, 8)
    }

    pub(super) fn fresh_wide(&mut self, class: Class, bytes: i64) -> V {
        self.classes.push(class);
        let bytes = (self.lanes * bytes).min(vector_bytes(self.level));
        self.widths.push(Width::holding(bytes as usize));
        V(self.classes.len() as u32 - 1)
    }

    /// A register for numbers of a dtype.
    pub(super) fn fresh_of(&mut self, dtype: DType) -> V {
        match dtype {
            DType::Bool => self.fresh(Class::Mask),
            _ if self.native && is_long(dtype) => self.fresh_long(),
            _ => self.fresh(Class::Vector),
        }
    }

    /// A register of the same kind.
    pub(super) fn fresh_like(&mut self, v: V) -> V {
        let (class, width) = (self.classes[v.0 as usize], self.widths[v.0 as usize]);
        self.classes.push(class);
        self.widths.push(width);
        V(self.classes.len() as u32 - 1)
    }
}

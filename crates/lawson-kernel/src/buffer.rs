//! Buffers of a kernel and how their elements lie in memory.
//!
//! A buffer has logical dimensions, by which stages index it, and a [`Layout`], which says where an element lies. A layout is a sum of
//! *digits*: a part of one logical index, times a stride. Row-major, channels-last and panels of a packed
//! matrix are all just layouts, so a stage reads the same whatever the layout is.

use crate::index::Index;
use lawson_graph::{DType, Dim};

/// A buffer of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BufferId(pub u32);

/// A region of memory that a kernel reads or writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Its name in texts.
    pub name: String,
    /// The dtype of its elements.
    pub dtype: DType,
    /// The logical dimensions.
    pub dims: Vec<Dim>,
    /// Where an element lies.
    pub layout: Layout,
    /// Whose it is.
    pub role: Role,
    /// Whether all its elements are finite, as who gives it promises: times 0 they are 0.
    pub finite: bool,
}

/// Whose a buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Given by the caller and only read.
    Input,
    /// Given by the caller and written.
    Output,
    /// The kernel's own, one for every member of the team; what is in it does not outlive one iteration of the parallel axes.
    Scratch(Level),
}

/// The level of the memory hierarchy that scratch is meant to stay in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Level {
    /// The first-level cache; workgroup memory on a GPU.
    L1,
    /// The second-level cache.
    L2,
}

/// Where an element of a buffer lies: the sum of its digits, in elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The digits.
    pub digits: Vec<Digit>,
    /// How many elements the buffer takes.
    pub size: Dim,
}

/// `index[dim] / divide % modulo · stride`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Digit {
    /// The logical dimension.
    pub dim: usize,
    /// By how much its index is divided, rounding down.
    pub divide: i64,
    /// Of the quotient, the remainder by this; the whole quotient if there is none.
    pub modulo: Option<i64>,
    /// How many elements one step of the digit takes.
    pub stride: Dim,
}

impl Level {
    /// Its name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Level::L1 => "L1",
            Level::L2 => "L2",
        }
    }
}

impl Buffer {
    /// How many bytes it takes.
    pub fn bytes(&self) -> Dim {
        (self.layout.size.clone() * self.dtype.bits()).ceil_div(&Dim::from(8))
    }
}

impl Layout {
    /// The last dimension lies densest.
    pub fn row_major(dims: &[Dim]) -> Layout {
        let order: Vec<usize> = (0..dims.len()).collect();
        Layout::permuted(dims, &order)
    }

    /// Dense, with the dimensions in this order from outermost to innermost.
    pub fn permuted(dims: &[Dim], order: &[usize]) -> Layout {
        let mut stride = Dim::ONE;
        let mut digits = Vec::with_capacity(order.len());
        for &dim in order.iter().rev() {
            digits.push(Digit { dim, divide: 1, modulo: None, stride: stride.clone() });
            stride = stride * dims[dim].clone();
        }
        digits.reverse();
        Layout { digits, size: stride }
    }

    /// Dense panels of `width` along dimension `blocked`, which becomes both the outermost and the innermost digit; the
    /// other dimensions lie between in this order. The last panel is as large as the others: what it has too much is
    /// never read, or is zero.
    pub fn panels(dims: &[Dim], blocked: usize, width: i64, between: &[usize]) -> Layout {
        let mut stride = Dim::from(width);
        let mut digits = vec![Digit { dim: blocked, divide: 1, modulo: Some(width), stride: Dim::ONE }];
        for &dim in between.iter().rev() {
            digits.push(Digit { dim, divide: 1, modulo: None, stride: stride.clone() });
            stride = stride * dims[dim].clone();
        }
        digits.push(Digit { dim: blocked, divide: width, modulo: None, stride: stride.clone() });
        digits.reverse();
        Layout { digits, size: stride * dims[blocked].ceil_div(&Dim::from(width)) }
    }

    /// How many elements lie side by side before those of another index follow, if they lie in panels.
    pub fn panel(&self) -> Option<i64> {
        self.digits.iter().find(|d| d.stride == Dim::ONE)?.modulo
    }

    /// Where the element of these indices lies, in elements from the start.
    pub fn offset(&self, index: &[Index]) -> Index {
        let mut out = Index::constant(0);
        for digit in &self.digits {
            let mut value = index[digit.dim].clone().floor_div(digit.divide);
            if let Some(m) = digit.modulo {
                value = value.modulo(m);
            }
            out.add_scaled(&value, &digit.stride);
        }
        out
    }
}

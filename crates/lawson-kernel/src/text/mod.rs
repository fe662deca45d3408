//! The text form of kernels: what people read, write and keep in files (`.krn`).
//!
//! ```text
//! lawson-kernel 1
//! kernel @matmul where M >= 1 {
//!   in A: f32[M, 1024]
//!   in B: f32[1024, 768] layout (d1 / 48: 49152, d0: 48, d1 % 48: 1) size 786432
//!   out C: f32[M, 768]
//!   axes i, j, k, i.0, i.1
//!   axis i = i.0 + i.1
//!   acc c: f32 = 0.0 identity 0.0 merge add
//!   for i.0 in 0 to M step 8 parallel {
//!     for i.1 in 0 to min(8, -i.0 + M) {
//!       for j in 0 to 768 {
//!         accumulate c {
//!           for k in 0 to 1024 {
//!             c += A[i, k] * B[k, j]
//!           }
//!         }
//!         C[i, j] = max(c, 0.0)
//!       }
//!     }
//!   }
//! }
//! ```
//!
//! Reading what was printed gives an equal kernel (`==`, which does not see how expressions are numbered), and
//! printing that gives the same text. Names follow the rules of graphs: those that are no words stand in quotes.
//!
//! - Buffers are `in`, `out` or `scratch … at L1`. A layout that is not row-major is written as its digits: the index of
//!   a dimension, divided, of that the remainder, and after the colon the stride.
//! - `axes` lists the axes in order; `axis i = …` says what a derived one stands for. In indices, a word is an axis if there
//!   is one of that name and a parameter otherwise; an axis that `axes` lists in quotes stands in quotes everywhere.
//! - `acc` declares an accumulator: each component with its dtype, its value before the first step and the identity, then
//!   the merge, `add`, `greater` or `lesser` where it is that function of both states.
//! - A loop says its step if it is not 1 and its kind if it is not serial.
//! - In expressions, `c` is the result of accumulator `c`; `state(c)`, `other(c)` and, for further components, `state(c, 1)`,
//!   `result(c, 1)` are the others. `c += x` steps to `state(c) + x`, `step c = x` to any value. Numbers are f32 where they
//!   have a point and no dtype follows: `1.0`, `1.0:f64`, `3:i32`. A guarded load is `(x[i] if 0 <= i < 8 else 0.0)`. The functions are those of
//!   graphs, besides `fma`, `greater` and `lesser` (of NaN, whichever), `index(i + 1, i64)`, `cast(x, f32)`, `bitcast(x, i32)`.
//! - `let %1 = …` names a value that is used more than once, up to the end of the kernel.
//!
//! `print.rs` writes, `parse.rs` reads the tree and `expr.rs` its expressions; indices are in `index.rs`. A kernel that
//! was read is not verified yet; see [`crate::verify()`].

mod expr;
mod index;
mod parse;
mod print;

pub(crate) use parse::kernel_in;

use crate::tree::Kernel;
use lawson_graph::Result;
use lawson_graph::syntax::Source;
use std::fmt;

/// The version that the header names.
const VERSION: &str = "1";

/// The word before the version.
const HEADER: &str = "lawson-kernel";

impl Kernel {
    /// Reads a kernel from a text. It is not verified.
    ///
    /// ```
    /// use lawson_kernel::{Kernel, verify};
    /// let kernel = Kernel::parse(
    ///     "lawson-kernel 1
    ///      kernel @double {
    ///        in x: f32[N]
    ///        out y: f32[N]
    ///        axes i
    ///        for i in 0 to N { y[i] = x[i] + x[i] }
    ///      }",
    /// )?;
    /// verify(&kernel)?;
    /// assert_eq!(Kernel::parse(&kernel.to_string())?, kernel);
    /// # Ok::<(), lawson_graph::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Kernel> {
        parse::Parser::new(Source { text, file: None }).file()
    }

    /// Reads a kernel from the text of a file, whose name stands in errors.
    pub fn parse_file(text: &str, file: &str) -> Result<Kernel> {
        parse::Parser::new(Source { text, file: Some(file) }).file()
    }
}

/// The whole text.
impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print::print(self))
    }
}

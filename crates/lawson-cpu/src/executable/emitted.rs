//! The code of all kernels of a plan, made by several threads where there are many kernels.
//!
//! In: kernels. Out: for each of them, in order, its code, or why there is none. How many threads there are changes no byte.

use crate::kernel::{Emitted, Listing, emit};
use crate::{Isa, Unsupported};
use lawson_graph::{Code, Error, Result};
use lawson_kernel::parallel::for_all;
use lawson_kernel::plan::Skipping;
use lawson_kernel::{For, Kernel, Node, Store, StoreHint};

/// The codes of one kernel.
pub(super) struct Codes {
    pub(super) plain: Emitted,
    /// With stores that go past the caches.
    pub(super) streaming: Option<Emitted>,
}

/// The codes of kernels, made by at most so many threads.
pub(super) fn emit_all(kernels: &[Kernel], isa: Isa, threads: usize) -> Vec<Result<Codes>> {
    for_all(kernels, threads, |kernel| codes(kernel, isa))
}

fn codes(kernel: &Kernel, isa: Isa) -> Result<Codes> {
    match without_streams(kernel) {
        None => Ok(Codes { plain: code(kernel, isa)?, streaming: None }),
        Some(plain) => Ok(Codes { plain: code(&plain, isa)?, streaming: Some(code(kernel, isa)?) }),
    }
}

/// The codes that leave products with 0 out, of the kernels that have such a schedule.
pub(super) fn emit_skipping(
    kernels: &[Option<Box<Skipping>>],
    isa: Isa,
    threads: usize,
) -> Vec<Option<Emitted>> {
    for_all(kernels, threads, |s| match s {
        Some(s) if isa == Isa::Avx512 => code(&s.kernel, isa).ok(),
        _ => None,
    })
}

/// The code of a kernel as it is.
pub(super) fn code(kernel: &Kernel, isa: Isa) -> Result<Emitted> {
    let refused = |e: Unsupported| Error::new(Code::NotEmitted, e.to_string());
    emit(kernel, isa, Listing::Off).map_err(refused)
}

/// The same with stores that stay in the caches, if it has others.
fn without_streams(kernel: &Kernel) -> Option<Kernel> {
    fn clear(nodes: &mut [Node], found: &mut bool) {
        for n in nodes {
            match n {
                Node::Store(Store { hint, .. }) => {
                    *found |= *hint == StoreHint::Stream;
                    *hint = StoreHint::Keep;
                }
                Node::For(For { body, .. }) | Node::Accumulate { body, .. } => clear(body, found),
                _ => {}
            }
        }
    }
    let mut plain = kernel.clone();
    let mut found = false;
    clear(&mut plain.body, &mut found);
    found.then_some(plain)
}

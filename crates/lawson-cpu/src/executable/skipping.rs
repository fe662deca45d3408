//! Which of two codes a call runs: the one that goes through all products, or the one that leaves out those with 0.
//!
//! Both give the same bits, so only time is at stake. All members look at the same elements of what is often 0, and so agree.
#![allow(unsafe_code)]

use super::instance::Call;
use crate::exec::Kernel as Function;
use lawson_graph::HostTensor;
use lawson_kernel::parallel::for_all;
use lawson_kernel::{Action, Place, Plan, Slot};
use std::collections::HashSet;

/// The code of a call that leaves products with 0 out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Skipped {
    pub(super) function: Function,
    /// Where its argument table begins.
    pub(super) table: usize,
    pub(super) iterations: i64,
    /// The word of the table with the address of what is often 0.
    pub(super) word: usize,
    /// How many f32 are there.
    pub(super) elements: usize,
    /// It takes less time where this part of them or less is not 0.
    pub(super) most: f64,
}

/// What of a call runs.
#[derive(Clone, Copy)]
pub(super) struct Way {
    function: Function,
    table: usize,
    pub(super) iterations: i64,
}

/// Places that are looked at, and how many elements there: a line's.
const PLACES: usize = 32;
const SIDE_BY_SIDE: usize = 16;

/// The constants of a plan that a kernel may leave out if they are multiplied with 0, because they are finite.
pub(super) fn finite(plan: &Plan, threads: usize) -> HashSet<Slot> {
    let mut wanted: Vec<(Slot, &HostTensor)> = Vec::new();
    plan.visit(&mut |step, _| {
        let Action::Launch { kernel } = step.action else { return };
        let Some(skipping) = &plan.skipping[kernel] else { return };
        let at = plan.kernels[kernel].arguments().position(|a| a == skipping.finite);
        let Some(slot) = at.map(|at| step.buffers[at].slot) else { return };
        if let Place::Constant { tensor: Some(t), .. } = &plan.buffer(slot).place
            && wanted.iter().all(|(s, _)| *s != slot)
        {
            wanted.push((slot, t));
        }
    });
    let found = for_all(&wanted, threads, |(_, t)| is_finite(t));
    wanted.iter().zip(found).filter(|(_, finite)| *finite).map(|((slot, _), _)| *slot).collect()
}

/// Whether no element of f32 is infinite or NaN.
fn is_finite(t: &HostTensor) -> bool {
    const EXPONENT: u32 = 0x7F80_0000;
    let (words, _) = t.bytes().as_chunks::<4>();
    words.chunks(1 << 12).all(|part| {
        let greatest = part.iter().fold(0, |most, w| most.max(u32::from_le_bytes(*w) & EXPONENT));
        greatest < EXPONENT
    })
}

impl Skipped {
    /// Whether so many elements are 0 that leaving products out takes less time.
    ///
    /// # Safety
    /// The word of the table is the address of as many f32 as there are, which nobody writes meanwhile.
    unsafe fn pays(&self, tables: &[u64]) -> bool {
        let places = PLACES.min(self.elements / SIDE_BY_SIDE);
        let last = self.elements.saturating_sub(SIDE_BY_SIDE);
        let address = tables[self.word] as *const f32;
        let mut others = 0;
        for place in 0..places {
            let from = last * place / (places - 1).max(1);
            for n in from..from + SIDE_BY_SIDE {
                // SAFETY: `n` is below the number of elements; what is there need not be aligned.
                others += usize::from(unsafe { address.add(n).read_unaligned() } != 0.0);
            }
        }
        places > 0 && others as f64 <= self.most * (places * SIDE_BY_SIDE) as f64
    }
}

impl Call {
    /// What of it runs this time, the same for all members.
    ///
    /// # Safety
    /// As [`Way::run`] asks, and everything that the call reads has been written.
    #[inline]
    pub(super) unsafe fn way(&self, tables: &[u64]) -> Way {
        let Call { iterations, .. } = *self;
        match (&self.skipping, self.streaming) {
            // SAFETY: the verifier has shown that the kernel's arguments are as large as their layouts say, and the plan that nobody
            // writes what a step reads.
            (Some(s), _) if unsafe { s.pays(tables) } => {
                Way { function: s.function, table: s.table, iterations: s.iterations }
            }
            (_, Some(function)) if self.aligned => Way { function, table: self.streaming_table, iterations },
            _ => Way { function: self.function, table: self.table, iterations },
        }
    }
}

impl Way {
    /// Runs some of the iterations.
    ///
    /// # Safety
    /// The tables are those of the instance that the call belongs to, with the addresses of this run, and the scratch is
    /// the member's own. Then the code, which the instance's executable keeps, was emitted for this table; the verifier has shown
    /// that it stays inside its buffers; these are as large as the plan says: the arena by construction, the caller's by
    /// `Port::check`. Outputs are exclusive borrows, or in a stage what `stage.rs` made for it, so nothing else is written.
    #[inline]
    pub(super) unsafe fn run(self, tables: &[u64], begin: i64, end: i64, scratch: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { (self.function)(tables[self.table..].as_ptr(), begin, end, scratch) };
    }
}

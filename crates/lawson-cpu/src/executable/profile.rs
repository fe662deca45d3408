//! Running a plan step by step, to see how long each takes.
//!
//! Steps run in place and in order, on the memory and the caches that they find in a run, but with a barrier on both sides of each:
//! what steps gain by running beside each other does not show. A loop or a branch is one step.

use super::general::Again;
use super::instance::Instance;
use lawson_graph::{Result, interp};
use std::sync::atomic::{AtomicU64, Ordering};

impl Instance {
    /// Runs the plan once and adds to each entry of `seconds` what its step took, as the first member of the team sees it.
    pub fn profile<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = &'a mut [u8]>,
        seconds: &mut [f64],
        options: &interp::Options,
    ) -> Result<()> {
        self.point(inputs, outputs)?;
        self.make_general(&[])?;
        let nanoseconds: Vec<AtomicU64> = seconds.iter().map(|_| AtomicU64::new(0)).collect();
        self.run_general(Again { times: 1, feeds: &[], clocks: Some(&nanoseconds) }, options)?;
        for (to, from) in seconds.iter_mut().zip(&nanoseconds) {
            *to += from.load(Ordering::Relaxed) as f64 * 1e-9;
        }
        Ok(())
    }
}

//! Running a plan step by step, to see how long each takes.
//!
//! Steps run in place and in order, on the memory and the caches that they find in a run, but with a barrier on both sides of each:
//! what steps gain by running beside each other does not show.

#![allow(unsafe_code)]

use super::MAX_MEMBERS;
use super::instance::Instance;
use super::run::Shared;
use crate::team::Member;
use lawson_graph::{Code, Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

impl Instance {
    /// Runs the plan once and adds to each entry of `seconds` what its step took, as the first member of the team sees it.
    pub fn profile<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = &'a mut [u8]>,
        seconds: &mut [f64],
    ) -> Result<()> {
        if self.general.is_some() {
            let message = "steps are timed apart in plans of launches alone, and this one has loops or steps of the host";
            return Err(Error::new(Code::NotLowered, message).help("time the whole graph instead"));
        }
        self.ports(inputs, outputs)?;
        self.patch();
        let tables = self.tables.as_slice();
        let calls = &self.calls;
        let nanoseconds: Vec<AtomicU64> = calls.iter().map(|_| AtomicU64::new(0)).collect();
        let mut scratch = [Shared(std::ptr::null_mut()); MAX_MEMBERS];
        for (to, from) in scratch.iter_mut().zip(&mut self.scratch) {
            *to = Shared(from.as_mut_ptr());
        }
        let scratch = &scratch;
        self.team.run(|member: Member<'_>| {
            let Shared(mine) = scratch[member.index()];
            for (call, took) in calls.iter().zip(&nanoseconds) {
                member.barrier();
                let start = Instant::now();
                let share = member.share(call.iterations.max(0) as usize);
                if !share.is_empty() {
                    // SAFETY: as `Call::run` asks; see there.
                    unsafe { call.run(tables, share.start as i64, share.end as i64, mine) };
                }
                member.barrier();
                if member.index() == 0 {
                    took.store(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
                }
            }
        });
        for (to, from) in seconds.iter_mut().zip(&nanoseconds) {
            *to += from.load(Ordering::Relaxed) as f64 * 1e-9;
        }
        Ok(())
    }
}

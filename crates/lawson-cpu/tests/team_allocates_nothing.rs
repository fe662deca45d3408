//! A run allocates nothing: checked by an allocator that counts, in a process of its own.
#![allow(clippy::unwrap_used, unsafe_code)]

#[path = "common/counting.rs"]
mod counting;

use counting::COUNT;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use lawson_cpu::team::{Team, TeamOptions};

#[test]
fn runs_and_barriers_allocate_nothing_awake_or_asleep() {
    for spin in [Duration::from_millis(1), Duration::ZERO] {
        let team = Team::with(TeamOptions { spin, ..TeamOptions::new(3) }).unwrap();
        let sum = AtomicUsize::new(0);
        let run = || {
            team.run(|member| {
                member.barrier();
                sum.fetch_add(member.index(), Relaxed);
                member.barrier();
            })
        };
        // The first run may set up what threads keep for themselves.
        run();
        let before = COUNT.load(Relaxed);
        (0..200).for_each(|_| run());
        assert_eq!(COUNT.load(Relaxed), before);
        assert_eq!(sum.load(Relaxed), 201 * 3);
    }
}

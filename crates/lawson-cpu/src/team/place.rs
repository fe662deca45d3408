//! Members on processors of their own.
//!
//! A thread that wakes is put where the system finds it convenient. On virtual machines above all, that is the processor of the
//! one that woke it, for an idle processor looks as if it were taken away; and if runs are short, nothing moves the thread away
//! again: two members take turns on one processor beside an idle one. So workers may run everywhere except where the
//! caller's thread was last seen, and a caller that finds itself where a worker was last seen, because that one woke it at the end
//! of a run, moves to a processor on which there is none. Where there are more members than processors, nobody does anything.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Where each member was last seen, by its index.
pub(super) struct Places(Vec<AtomicUsize>);

/// No processor.
const NOWHERE: usize = usize::MAX;

impl Places {
    /// For so many members on so many processors.
    pub(super) fn new(members: usize, processors: usize) -> Places {
        let known = if members > processors { 0 } else { members };
        Places((0..known).map(|_| AtomicUsize::new(NOWHERE)).collect())
    }

    /// The caller's thread begins a run: it leaves the workers' processors, and says where it is.
    pub(super) fn caller(&self) {
        let Some((place, workers)) = self.0.split_first() else { return };
        let Some(here) = processor() else { return };
        let taken = |p: usize| workers.iter().any(|w| w.load(Ordering::Relaxed) == p);
        let now =
            if taken(here) { Mask::of_thread().and_then(|m| m.visit(&taken)).unwrap_or(here) } else { here };
        place.store(now, Ordering::Relaxed);
    }

    /// A worker takes part in a run: it says where it is, and stays away from the caller's processor from now on.
    pub(super) fn worker(&self, member: usize, habit: &mut Habit) {
        let Some(place) = self.0.get(member) else { return };
        let caller = self.0[0].load(Ordering::Relaxed);
        if habit.avoided != caller {
            habit.avoided = caller;
            if let Some(mask) = &habit.allowed {
                mask.stay_within(&|p| p == caller);
            }
        }
        place.store(processor().unwrap_or(NOWHERE), Ordering::Relaxed);
    }
}

/// What a worker has made its habit.
pub(super) struct Habit {
    /// The processors that it might use when it began.
    allowed: Option<Mask>,
    avoided: usize,
}

impl Habit {
    /// Of the thread that asks.
    pub(super) fn new() -> Habit {
        Habit { allowed: Mask::of_thread(), avoided: NOWHERE }
    }
}

#[cfg(target_os = "linux")]
use linux::{Mask, processor};

#[cfg(target_os = "linux")]
mod linux {
    /// The processors that a thread may use.
    pub(super) struct Mask(libc::cpu_set_t);

    /// The processor that this thread runs on.
    pub(super) fn processor() -> Option<usize> {
        // SAFETY: it takes nothing and changes nothing.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    impl Mask {
        /// Those of this thread.
        pub(super) fn of_thread() -> Option<Mask> {
            let mut mask = Mask::none();
            // SAFETY: the set is of the size that is given, and 0 is this thread.
            let known = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut mask.0) == 0 };
            known.then_some(mask)
        }

        fn none() -> Mask {
            // SAFETY: the set is plain bits, for which zero is valid.
            Mask(unsafe { std::mem::zeroed() })
        }

        pub(super) fn processors(&self) -> impl Iterator<Item = usize> + '_ {
            // SAFETY: numbers below the set's size are asked for.
            (0..libc::CPU_SETSIZE as usize).filter(|p| unsafe { libc::CPU_ISSET(*p, &self.0) })
        }

        /// Makes these the processors of this thread. It is a wish: a refusal changes nothing.
        fn apply(&self) -> bool {
            // SAFETY: the set is of the size that is given, and 0 is this thread.
            unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.0) == 0 }
        }

        /// Confines this thread to those that are not excluded, if there are any.
        pub(super) fn stay_within(&self, excluded: &dyn Fn(usize) -> bool) {
            let mut rest = Mask::none();
            let mut some = false;
            for p in self.processors().filter(|p| !excluded(*p)) {
                // SAFETY: `p` is below the set's size.
                unsafe { libc::CPU_SET(p, &mut rest.0) };
                some = true;
            }
            if some {
                rest.apply();
            }
        }

        /// Moves this thread to one that is not taken, from where it may be moved again.
        pub(super) fn visit(&self, taken: &dyn Fn(usize) -> bool) -> Option<usize> {
            let free = self.processors().find(|p| !taken(*p))?;
            let mut only = Mask::none();
            // SAFETY: `free` is below the set's size.
            unsafe { libc::CPU_SET(free, &mut only.0) };
            let moved = only.apply();
            self.apply();
            moved.then_some(free)
        }
    }
}

#[cfg(not(target_os = "linux"))]
struct Mask;

#[cfg(not(target_os = "linux"))]
impl Mask {
    fn of_thread() -> Option<Mask> {
        None
    }

    fn stay_within(&self, _excluded: &dyn Fn(usize) -> bool) {}

    fn visit(&self, _taken: &dyn Fn(usize) -> bool) -> Option<usize> {
        None
    }
}

#[cfg(not(target_os = "linux"))]
fn processor() -> Option<usize> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn caller_and_worker_are_on_different_processors() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let places = Places::new(2, 2);
        for _ in 0..50 {
            places.caller();
            std::thread::scope(|s| {
                s.spawn(|| places.worker(1, &mut Habit::new()));
            });
            let [caller, worker] = [0, 1].map(|n| places.0[n].load(Ordering::Relaxed));
            assert!(caller != worker || processors == 1, "both are on {caller}");
        }
    }

    #[test]
    fn a_caller_may_go_anywhere_after_it_was_moved() {
        let places = Places::new(2, 2);
        let before = Mask::of_thread().map(|m| m.processors().collect::<Vec<_>>());
        places.0[1].store(processor().unwrap_or(0), Ordering::Relaxed);
        places.caller();
        assert_eq!(Mask::of_thread().map(|m| m.processors().collect::<Vec<_>>()), before);
    }

    #[test]
    fn more_members_than_processors_stay_where_they_are() {
        let places = Places::new(3, 2);
        places.caller();
        let mut habit = Habit::new();
        places.worker(1, &mut habit);
        assert!(places.0.is_empty() && habit.avoided == NOWHERE);
    }
}

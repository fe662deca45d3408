//! Members on processors of their own.
//!
//! A thread that wakes is put where the system finds it convenient, which may be the processor of the one that woke it; if runs are
//! short, nothing moves it away again, and two members take turns on one processor beside an idle one. So each member says
//! where it is, and a worker that finds itself where another member is moves to a processor on which there is none. It may be moved
//! again from there: nothing is pinned.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Where each member was last seen, by its index.
pub(super) struct Places(Vec<AtomicUsize>);

/// No processor.
const NOWHERE: usize = usize::MAX;

impl Places {
    /// For so many members; none if there are more than processors, who must share them.
    pub(super) fn new(members: usize, processors: usize) -> Places {
        let known = if members > processors { 0 } else { members };
        Places((0..known).map(|_| AtomicUsize::new(NOWHERE)).collect())
    }

    /// Says where a member is.
    pub(super) fn note(&self, member: usize) {
        if let Some(place) = self.0.get(member) {
            place.store(processor().unwrap_or(NOWHERE), Ordering::Relaxed);
        }
    }

    /// Says where a member is, and moves it if another is there too.
    pub(super) fn find_room(&self, member: usize) {
        let Some(place) = self.0.get(member) else { return };
        let Some(here) = processor() else { return };
        let taken = |p: usize| {
            self.0.iter().enumerate().any(|(n, other)| n != member && other.load(Ordering::Relaxed) == p)
        };
        let now = if taken(here) { move_to_another(&taken).unwrap_or(here) } else { here };
        place.store(now, Ordering::Relaxed);
    }
}

/// The processor that this thread runs on.
#[cfg(target_os = "linux")]
fn processor() -> Option<usize> {
    // SAFETY: it takes nothing and changes nothing.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Moves this thread to a processor that it may use and that is not taken, if there is one.
#[cfg(target_os = "linux")]
fn move_to_another(taken: &dyn Fn(usize) -> bool) -> Option<usize> {
    // SAFETY: the sets are plain bits, for which zero is valid; all calls get their true size, and 0 is this thread.
    unsafe {
        let size = size_of::<libc::cpu_set_t>();
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size, &mut allowed) != 0 {
            return None;
        }
        let mut processors = (0..libc::CPU_SETSIZE as usize).filter(|&p| libc::CPU_ISSET(p, &allowed));
        let free = processors.find(|&p| !taken(p))?;
        let mut only: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(free, &mut only);
        let moved = libc::sched_setaffinity(0, size, &only) == 0;
        libc::sched_setaffinity(0, size, &allowed);
        moved.then_some(free)
    }
}

#[cfg(not(target_os = "linux"))]
fn processor() -> Option<usize> {
    None
}

#[cfg(not(target_os = "linux"))]
fn move_to_another(_taken: &dyn Fn(usize) -> bool) -> Option<usize> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_member_moves_away_from_another() {
        let places = Places::new(2, 2);
        let allowed = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..50 {
            // Both are this thread, so that member 1 always finds member 0 in its way.
            places.note(0);
            places.find_room(1);
            let [first, second] = [0, 1].map(|n| places.0[n].load(Ordering::Relaxed));
            assert!(first != second || allowed == 1, "both are on {first}");
        }
    }

    #[test]
    fn more_members_than_processors_stay_where_they_are() {
        let places = Places::new(3, 2);
        places.note(0);
        places.find_room(1);
        assert!(places.0.is_empty());
    }
}

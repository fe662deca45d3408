//! Work on many things that have nothing to do with each other, by several threads.
//!
//! A thread takes the next thing that nobody has taken, so that how long each takes need not be known. Results come in the order of the things:
//! how many threads there are changes none of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// For as many things a thread is worth starting.
const WORTH_A_THREAD: usize = 4;

/// The result of `make` for each thing, in order, made by at most so many threads.
pub fn for_all<T: Sync, R: Send>(things: &[T], threads: usize, make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(thing) = things.get(n) else { return made };
            made.push((n, make(thing)));
        }
    };
    let helpers = threads.min(things.len() / WORTH_A_THREAD).saturating_sub(1);
    let mut made = thread::scope(|scope| {
        // A thread that does not start is one that does not help.
        let start = |_| thread::Builder::new().name("lawson-compile".into()).spawn_scoped(scope, work).ok();
        let helpers: Vec<_> = (0..helpers).filter_map(start).collect();
        let mut made = work();
        for helper in helpers {
            match helper.join() {
                Ok(more) => made.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        made
    });
    made.sort_by_key(|(n, _)| *n);
    made.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whoever_made_them() {
        let things: Vec<usize> = (0..100).collect();
        for threads in [0, 1, 3, 200] {
            assert_eq!(for_all(&things, threads, |n| n * n), (0..100).map(|n| n * n).collect::<Vec<_>>());
        }
        assert_eq!(for_all(&[] as &[u8], 4, |n| *n), Vec::<u8>::new());
    }
}

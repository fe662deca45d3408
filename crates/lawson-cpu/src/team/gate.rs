//! A number that threads wait on: they spin for a while, then sleep until it changes.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Keeps its content on cache lines of its own; two, because processors fetch them in pairs.
#[repr(align(128))]
#[derive(Default)]
pub(super) struct Apart<T>(pub(super) T);

#[derive(Default)]
pub(super) struct Gate {
    value: Apart<AtomicU32>,
    /// Sleeping threads are counted so that changing the value costs no system call when there are none.
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

/// How many looks at a gate pass between two at the clock.
const LOOKS: u32 = 64;

impl Gate {
    pub(super) fn value(&self) -> u32 {
        self.value.0.load(Ordering::Acquire)
    }

    /// Sets the value and wakes who waits for a change. What was written before is seen by who sees the value.
    pub(super) fn set(&self, value: u32) {
        self.value.0.store(value, Ordering::SeqCst);
        self.wake_all();
    }

    /// Sets bits of the value, likewise.
    pub(super) fn set_bits(&self, bits: u32) {
        self.value.0.fetch_or(bits, Ordering::SeqCst);
        self.wake_all();
    }

    fn wake_all(&self) {
        // Together with the order in `sleep`: either this sees the sleeper, or the sleeper sees the new value.
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
    }

    /// Waits until `done` of the value holds, and returns the value: at first awake, for `spin`.
    pub(super) fn wait(&self, spin: Duration, done: impl Fn(u32) -> bool) -> u32 {
        // The first looks need no clock; most waits of a balanced team end here.
        let mut start = None;
        loop {
            for _ in 0..LOOKS {
                let value = self.value();
                if done(value) {
                    return value;
                }
                std::hint::spin_loop();
            }
            let start: &mut Instant = start.get_or_insert_with(Instant::now);
            if start.elapsed() >= spin {
                return self.sleep(done);
            }
        }
    }

    #[cold]
    fn sleep(&self, done: impl Fn(u32) -> bool) -> u32 {
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let value = loop {
            let value = self.value.0.load(Ordering::SeqCst);
            if done(value) {
                break value;
            }
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        };
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        value
    }
}

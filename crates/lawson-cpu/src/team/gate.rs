//! A number that threads wait on: they spin for a while, then sleep until it changes.
//!
//! Spinning pays when the thread waited for is running; on a busy machine it may not be, and then spinning keeps it
//! from running. Nobody can tell but by trying, so a gate learns: each wait that spinning did not end halves
//! its patience, each that it did doubles it, and now and then it tries the full time again.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Keeps its content on cache lines of its own; two, because processors fetch them in pairs.
#[repr(align(128))]
#[derive(Default)]
pub(super) struct Apart<T>(pub(super) T);

pub(super) struct Gate {
    value: Apart<AtomicU32>,
    /// Sleeping threads are counted so that changing the value costs no system call when there are none.
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
    /// The longest a thread spins, in nanoseconds.
    limit: u32,
    /// How long threads spin at present; never above `limit`.
    patience: AtomicU32,
    /// The waits that spinning did not end.
    misses: AtomicU32,
}

/// How many looks at a gate pass before the first at the clock, and between two. Most waits of a balanced team end here.
const LOOKS: u32 = 64;

/// The least patience, in nanoseconds.
const LEAST: u32 = 1000;

/// Of every `PERIOD` misses, the first `PROBES` spin as long as they may, to learn whether that pays again. They are
/// many in a row, because threads that sleep a lot are put on one processor by the system, and only threads that keep
/// busy for a while are moved apart.
const PROBES: u32 = 64;
const PERIOD: u32 = 512;

impl Gate {
    /// A gate at 0, where threads spin for up to `spin`.
    pub(super) fn new(spin: Duration) -> Gate {
        let limit = u32::try_from(spin.as_nanos()).unwrap_or(u32::MAX);
        Gate {
            value: Apart::default(),
            sleepers: AtomicUsize::new(0),
            lock: Mutex::default(),
            wake: Condvar::new(),
            limit,
            patience: AtomicU32::new(limit),
            misses: AtomicU32::new(0),
        }
    }

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

    /// Waits until `done` of the value holds, and returns the value.
    pub(super) fn wait(&self, done: impl Fn(u32) -> bool) -> u32 {
        self.look(&done).or_else(|| self.spin(&done)).unwrap_or_else(|| self.sleep(&done))
    }

    fn look(&self, done: &impl Fn(u32) -> bool) -> Option<u32> {
        for _ in 0..LOOKS {
            let value = self.value();
            if done(value) {
                return Some(value);
            }
            std::hint::spin_loop();
        }
        None
    }

    /// Looks until patience ends. Races between members over what they learn do no harm: it is a guess.
    #[cold]
    fn spin(&self, done: &impl Fn(u32) -> bool) -> Option<u32> {
        let (patience, misses) = (self.patience.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed));
        let probing = misses % PERIOD < PROBES;
        let budget = Duration::from_nanos(if probing { self.limit } else { patience }.into());
        let start = Instant::now();
        while start.elapsed() < budget {
            if let Some(value) = self.look(done) {
                let patience = if probing { self.limit } else { patience.saturating_mul(2).min(self.limit) };
                self.patience.store(patience, Ordering::Relaxed);
                return Some(value);
            }
        }
        self.patience.store((patience / 2).max(LEAST).min(self.limit), Ordering::Relaxed);
        self.misses.store(misses.wrapping_add(1), Ordering::Relaxed);
        None
    }

    #[cold]
    fn sleep(&self, done: &impl Fn(u32) -> bool) -> u32 {
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

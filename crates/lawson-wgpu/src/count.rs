//! What a device was given to do, counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a device was given to do. Numbers only grow; the difference of two looks is what happened in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Shaders that were started.
    pub launches: u64,
    /// Lists of commands that were handed over.
    pub submissions: u64,
    /// Bytes that went to the device: inputs, constants, what steps of the host wrote.
    pub uploaded: u64,
    /// Bytes that came back.
    pub downloaded: u64,
}

impl Counts {
    /// What happened since an earlier look.
    pub fn since(self, before: Counts) -> Counts {
        Counts {
            launches: self.launches.saturating_sub(before.launches),
            submissions: self.submissions.saturating_sub(before.submissions),
            uploaded: self.uploaded.saturating_sub(before.uploaded),
            downloaded: self.downloaded.saturating_sub(before.downloaded),
        }
    }
}

/// Counters that all who use a device share.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    launches: AtomicU64,
    submissions: AtomicU64,
    uploaded: AtomicU64,
    downloaded: AtomicU64,
}

impl Counters {
    pub(crate) fn launched(&self, count: u32) {
        self.launches.fetch_add(u64::from(count), Ordering::Relaxed);
    }

    pub(crate) fn submitted(&self) {
        self.submissions.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn uploaded(&self, bytes: usize) {
        self.uploaded.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn downloaded(&self, bytes: usize) {
        self.downloaded.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> Counts {
        let now = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            launches: now(&self.launches),
            submissions: now(&self.submissions),
            uploaded: now(&self.uploaded),
            downloaded: now(&self.downloaded),
        }
    }
}

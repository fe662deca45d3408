//! A fixed team of threads that run one closure together and meet at barriers.
//!
//! [`Team::run`] lends a closure to all members, the calling thread being member 0, and returns when all are done.
//! Members that wait spin for some microseconds, then sleep; so a barrier in a balanced team costs less than a system
//! call, and a team that has nothing to do costs nothing. `gate.rs` is how they wait, `place.rs` how they keep out of each
//! other's way; the order of events stands at `State`.
#![allow(unsafe_code)]

mod gate;
mod place;

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fmt, io};

use gate::{Apart, Gate};
use place::{Habit, Places};

/// A handle on a team of threads; clones share it, and the threads end with the last one.
#[derive(Clone)]
pub struct Team {
    /// Nothing for a team of one, which needs no threads.
    threads: Option<Arc<Threads>>,
}

/// How a team is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamOptions {
    /// How many members, the calling thread included; not 0.
    pub members: usize,
    /// How long a member that waits looks again before it sleeps, at most: less where that proves of no use. Where
    /// there are more members than processors, they sleep at once: the one waited for may need the processor.
    pub spin: Duration,
    /// Whether members stay on one processor.
    pub pinning: Pinning,
}

/// Whether members stay on one processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinning {
    /// The system moves them as it likes, but for workers never to where the caller's thread was last seen.
    Free,
    /// Member `i` stays on the `i`-th processor that this process may use; member 0, the caller's thread, is left
    /// alone. Only Linux can; elsewhere this is [`Pinning::Free`].
    Pinned,
}

/// What one thread of a running team knows of itself.
pub struct Member<'run> {
    index: usize,
    count: usize,
    /// Nothing in a team of one.
    state: Option<&'run State>,
    /// A member is one thread: two threads arriving in its name would open barriers early.
    one_thread: PhantomData<Cell<()>>,
}

/// A team could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum TeamError {
    /// A team needs a member.
    NoMembers,
    /// The system refused a thread.
    Thread {
        /// Which member it was for.
        member: usize,
        /// The system's reason.
        source: io::Error,
    },
}

/// The threads of a team, which end when this is dropped.
struct Threads {
    state: Arc<State>,
    workers: Vec<JoinHandle<()>>,
}

/// What the threads of a team share.
///
/// A run, in order: the caller takes `turn`; writes `job` and the counters; moves `started` on, which workers wait
/// for; runs its own part; waits until `finished` says the same number; gives back `turn`. Workers run their
/// part, then count `running` down; the last one moves `finished` on. So every worker sees every run, and `job` is
/// written only while no worker reads it.
struct State {
    members: usize,
    /// Held during a run: runs from many threads queue up here, asleep.
    turn: Mutex<()>,
    started: Gate,
    finished: Gate,
    running: Apart<AtomicUsize>,
    job: UnsafeCell<Option<Job>>,
    stop: AtomicBool,
    arrived: Apart<AtomicUsize>,
    /// The number of barriers passed, and [`ABANDONED`].
    passed: Gate,
    places: Places,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `job` is the only part that is not `Sync` by itself. It is written by the thread that holds `turn` while no
// worker runs, and read by workers between `started` and `finished`; the gates order the two.
unsafe impl Sync for State {}
// SAFETY: the pointer in `job` is used only during the run that it belongs to, as said above.
unsafe impl Send for State {}

/// A closure on loan: the address of it, and how to call it.
#[derive(Clone, Copy)]
struct Job {
    closure: *const (),
    call: unsafe fn(*const (), Member<'_>),
}

/// Set in [`State::passed`] once a member panicked: nobody may wait for it.
const ABANDONED: u32 = 1 << 31;

/// The panic of a member that left a barrier because another panicked.
struct Abandoned;

thread_local! {
    /// Whether this thread is a member of a running team.
    static MEMBER: Cell<bool> = const { Cell::new(false) };
}

impl TeamOptions {
    /// The defaults for a team of so many.
    pub fn new(members: usize) -> TeamOptions {
        TeamOptions { members, spin: Duration::from_micros(50), pinning: Pinning::Free }
    }
}

impl Team {
    /// A team of so many members, the calling thread of each run included.
    pub fn new(members: usize) -> Result<Team, TeamError> {
        Team::with(TeamOptions::new(members))
    }

    /// A team to order.
    pub fn with(options: TeamOptions) -> Result<Team, TeamError> {
        let TeamOptions { members, spin, pinning } = options;
        match members {
            0 => return Err(TeamError::NoMembers),
            1 => return Ok(Team { threads: None }),
            _ => {}
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let spin = if members > processors { Duration::ZERO } else { spin };
        let state = Arc::new(State {
            members,
            turn: Mutex::default(),
            started: Gate::new(spin),
            finished: Gate::new(spin),
            running: Apart::default(),
            job: UnsafeCell::new(None),
            stop: AtomicBool::new(false),
            arrived: Apart::default(),
            passed: Gate::new(spin),
            places: Places::new(members, processors),
            panic: Mutex::default(),
        });
        // From here on, an error drops `threads`, which ends those that have begun.
        let mut threads = Threads { state, workers: Vec::with_capacity(members - 1) };
        for member in 1..members {
            let state = Arc::clone(&threads.state);
            let work = move || {
                if pinning == Pinning::Pinned {
                    pin(member);
                }
                state.work(member, pinning);
            };
            let worker = std::thread::Builder::new().name(format!("lawson-{member}")).spawn(work);
            threads.workers.push(worker.map_err(|source| TeamError::Thread { member, source })?);
        }
        Ok(Team { threads: Some(Arc::new(threads)) })
    }

    /// How many members a run has.
    pub fn members(&self) -> usize {
        self.threads.as_ref().map_or(1, |threads| threads.state.members)
    }

    /// Runs `work` on every member and returns when all are done.
    ///
    /// Runs from several threads wait for each other. A run inside a member's work, of this team or another, has
    /// the one member that asks for it ([`Member::count`] is 1), so that it cannot wait for itself. When a member panics,
    /// the others leave at their next barrier, and the panic goes on here.
    pub fn run<F: Fn(Member<'_>) + Sync>(&self, work: F) {
        match &self.threads {
            Some(threads) if !MEMBER.get() => threads.state.run(&work),
            _ => work(Member { index: 0, count: 1, state: None, one_thread: PhantomData }),
        }
    }
}

impl Member<'_> {
    /// Which member this is, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many members run.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Waits until every member has come here. What any of them wrote before, all can read after.
    ///
    /// Every member must pass the same number of barriers.
    pub fn barrier(&self) {
        if let Some(state) = self.state {
            state.barrier();
        }
    }

    /// This member's part of `items`: contiguous, and at most one item more than another's.
    pub fn share(&self, items: usize) -> Range<usize> {
        let (each, more) = (items / self.count, items % self.count);
        let start = self.index * each + self.index.min(more);
        start..start + each + usize::from(self.index < more)
    }
}

impl State {
    fn run<F: Fn(Member<'_>) + Sync>(&self, work: &F) {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let job = Job { closure: std::ptr::from_ref(work).cast(), call: call::<F> };
        // SAFETY: this thread holds `turn`, and the last run waited for all workers, so nobody reads `job`.
        unsafe { *self.job.get() = Some(job) };
        self.running.0.store(self.members - 1, Ordering::Relaxed);
        self.arrived.0.store(0, Ordering::Relaxed);
        self.passed.set(0);
        self.places.caller();
        let number = self.started.value().wrapping_add(1);
        self.started.set(number);

        self.part(0, work);
        // Every worker is done with `work` before this returns, which is what makes lending it sound; `part` catches panics.
        self.finished.wait(|finished| finished == number);
        let panic = self.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(turn);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// One member's part of a run; panics are kept for the caller.
    fn part(&self, index: usize, work: impl FnOnce(Member<'_>)) {
        let member = Member { index, count: self.members, state: Some(self), one_thread: PhantomData };
        MEMBER.set(true);
        let result = catch_unwind(AssertUnwindSafe(|| work(member)));
        MEMBER.set(false);
        if let Err(panic) = result {
            if !panic.is::<Abandoned>() {
                self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
            }
            self.passed.set_bits(ABANDONED);
        }
    }

    /// The life of a worker.
    fn work(&self, index: usize, pinning: Pinning) {
        let mut habit = Habit::new();
        let mut seen = 0;
        loop {
            seen = self.started.wait(|started| started != seen);
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            if pinning == Pinning::Free {
                self.places.worker(index, &mut habit);
            }
            // SAFETY: the caller wrote `job` before it moved `started`, and writes it again only after `finished`.
            if let Some(Job { closure, call }) = unsafe { *self.job.get() } {
                // SAFETY: `closure` is the caller's, of the type that `call` was made for, and lives until `finished`.
                self.part(index, |member| unsafe { call(closure, member) });
            }
            if self.running.0.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.finished.set(seen);
            }
        }
    }

    fn barrier(&self) {
        // It cannot change before this member arrives, except that another one panics.
        let passed = self.passed.value();
        let next = (passed + 1) & !ABANDONED;
        if passed & ABANDONED == 0 {
            if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
                // Nobody arrives at the next barrier before `passed` moves on.
                self.arrived.0.store(0, Ordering::Relaxed);
                self.passed.set(next);
                return;
            }
            if self.passed.wait(|now| now != passed) == next {
                return;
            }
        }
        // Not necessarily abandoned by this barrier: a member that has passed it may panic before this one looks.
        resume_unwind(Box::new(Abandoned));
    }
}

/// # Safety
/// `closure` must be the address of a living `F`.
unsafe fn call<F: Fn(Member<'_>) + Sync>(closure: *const (), member: Member<'_>) {
    // SAFETY: the caller's promise.
    let work = unsafe { &*closure.cast::<F>() };
    work(member);
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        let started = self.state.started.value();
        self.state.started.set(started.wrapping_add(1));
        // Workers hold the state and never a handle, so this is none of them. Their panics went to callers.
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

/// Keeps the calling thread on one of the processors that it may use. It is a wish: a refusal changes nothing.
#[cfg(target_os = "linux")]
fn pin(member: usize) {
    // SAFETY: the set is plain bits, for which zero is valid; both calls get its true size, and 0 is this thread.
    unsafe {
        let size = size_of::<libc::cpu_set_t>();
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size, &mut allowed) != 0 {
            return;
        }
        let processors = (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &allowed));
        let count = processors.clone().count().max(1);
        if let Some(processor) = processors.clone().nth(member % count) {
            let mut only: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(processor, &mut only);
            libc::sched_setaffinity(0, size, &only);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn pin(_member: usize) {}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Team of {}", self.members())
    }
}

impl fmt::Display for TeamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TeamError::NoMembers => f.write_str("a team of 0 threads cannot run anything; ask for 1 or more"),
            TeamError::Thread { member, source } => {
                write!(f, "cannot start thread {member} of a team: {source}; ask for fewer threads")
            }
        }
    }
}

impl std::error::Error for TeamError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TeamError::NoMembers => None,
            TeamError::Thread { source, .. } => Some(source),
        }
    }
}

//! Executable memory: many pieces of code in one mapping that is never writable and executable at once.
//!
//! A [`CodeBuilder`] collects finished [`Code`] and hands out an [`Entry`] for each; [`CodeBuilder::finish`] maps
//! pages to write, copies, and turns them executable. Dropping the [`ExecutableMemory`] unmaps them.
#![allow(unsafe_code)]

use std::fmt;
use std::io;
use std::ptr::NonNull;

use crate::asm::Code;

/// How a kernel's code is called: its argument table, the first and one past the last of the parallel iterations to run,
/// and the scratch of the member that runs them.
pub type Kernel = unsafe extern "sysv64" fn(table: *const u64, begin: i64, end: i64, scratch: *mut u8);

/// One piece of code in the memory of the builder that gave it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    offset: usize,
}

impl Entry {
    /// Where the code begins, in bytes from the start of its memory.
    pub fn offset(self) -> usize {
        self.offset
    }
}

/// Code on its way into memory.
#[derive(Default)]
pub struct CodeBuilder {
    bytes: Vec<u8>,
}

/// Code that can run. Shared freely between threads: nothing writes to it any more.
#[derive(Debug)]
pub struct ExecutableMemory {
    start: NonNull<u8>,
    /// The mapped bytes, whole pages.
    mapped: usize,
    /// The bytes of code.
    len: usize,
}

// SAFETY: the mapping belongs to this value alone, is only ever read and executed after `finish`, and is unmapped by
// `drop`, which takes the value exclusively.
unsafe impl Send for ExecutableMemory {}
// SAFETY: as for `Send`; no method writes to the mapping.
unsafe impl Sync for ExecutableMemory {}

/// The system refused executable memory.
#[derive(Debug)]
pub struct ExecError {
    step: Step,
    bytes: usize,
    source: io::Error,
}

#[derive(Debug)]
enum Step {
    Map,
    Protect,
}

impl CodeBuilder {
    /// No code yet.
    pub fn new() -> CodeBuilder {
        CodeBuilder::default()
    }

    /// Adds a piece of code, aligned as it needs.
    pub fn add(&mut self, code: &Code) -> Entry {
        // Between pieces stand breakpoints: falling off the end of one traps.
        self.bytes.resize(self.bytes.len().next_multiple_of(Code::ALIGNMENT), 0xCC);
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(code.bytes());
        Entry { offset }
    }

    /// How many bytes stand so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Maps the code, first to write, then to execute.
    pub fn finish(self) -> Result<ExecutableMemory, ExecError> {
        let len = self.bytes.len();
        // An empty mapping is an error to the system; one page is none.
        let mapped = len.max(1).next_multiple_of(page_size());
        // SAFETY: a private anonymous mapping at an address of the system's choice touches no other memory.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        let failed = |step| ExecError { step, bytes: mapped, source: io::Error::last_os_error() };
        if start == libc::MAP_FAILED {
            return Err(failed(Step::Map));
        }
        let Some(start) = NonNull::new(start.cast::<u8>()) else {
            return Err(failed(Step::Map));
        };
        let memory = ExecutableMemory { start, mapped, len };
        // SAFETY: the mapping is writable, ours, and at least `len` bytes long; the source cannot overlap it.
        unsafe { std::ptr::copy_nonoverlapping(self.bytes.as_ptr(), start.as_ptr(), len) };
        // SAFETY: the range is exactly the mapping made above; no reference into it exists.
        let protected =
            unsafe { libc::mprotect(start.as_ptr().cast(), mapped, libc::PROT_READ | libc::PROT_EXEC) };
        // On an error, dropping `memory` unmaps it.
        if protected == 0 { Ok(memory) } else { Err(failed(Step::Protect)) }
    }
}

impl ExecutableMemory {
    /// The bytes of code.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is readable, initialised over `len` bytes, lives as long as `self`, and is not written.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The address of a piece of code, or nothing for an entry of other memory that lies beyond this one's end.
    pub fn address(&self, entry: Entry) -> Option<*const u8> {
        self.bytes().get(entry.offset..).filter(|rest| !rest.is_empty()).map(<[u8]>::as_ptr)
    }

    /// The piece of code as a function. It must not be called after this memory is dropped.
    ///
    /// Calling it is `unsafe`: the code must follow the calling convention of [`Kernel`], use only instructions that
    /// this machine has, and be given the arguments that it expects.
    pub fn kernel(&self, entry: Entry) -> Option<Kernel> {
        let address = self.address(entry)?;
        // SAFETY: a function pointer has the size of a data pointer here, and `address` is not null. What is called
        // through it is the caller's promise.
        Some(unsafe { std::mem::transmute::<*const u8, Kernel>(address) })
    }
}

impl Drop for ExecutableMemory {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping of `finish`, which nobody borrows any more. It cannot fail for such a range.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}

fn page_size() -> usize {
    // SAFETY: reads a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(4096)
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, source) = (self.bytes, &self.source);
        match self.step {
            Step::Map => {
                write!(f, "cannot map {bytes} bytes for code: {source}; free memory or raise its limit")
            }
            Step::Protect => write!(
                f,
                "cannot make {bytes} bytes of code executable: {source}; the system's policy must allow it for \
                 generated code to run"
            ),
        }
    }
}

impl std::error::Error for ExecError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

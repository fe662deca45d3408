//! Zeroed, aligned memory for arenas and weights.
//!
//! Small buffers are aligned to a cache line; from [`HUGE_FROM`] on they are mapped at 2 MiB boundaries, and the
//! system is asked for huge pages, which spare most address translation misses. Pages come zeroed and untouched, so the
//! thread that first writes one decides where it lies. Who fills a large buffer can ask for small pages where huge ones are slow to
//! come ([`Memory::to_fill`]).
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;

/// The alignment of every buffer: a cache line, and the widest vector register.
pub const LINE: usize = 64;

/// The size and alignment of a huge page.
pub const HUGE_PAGE: usize = 2 << 20;

/// The least size of a page.
#[cfg(target_os = "linux")]
const SMALL_PAGE: usize = 4 << 10;

/// Buffers of at least so many bytes are aligned to [`HUGE_PAGE`] and ask for huge pages.
pub const HUGE_FROM: usize = HUGE_PAGE;

/// A zero-initialised buffer of bytes, aligned to [`LINE`] or [`HUGE_PAGE`].
pub struct Memory {
    start: NonNull<u8>,
    len: usize,
    origin: Origin,
}

/// Where the bytes came from, and so how they go back.
enum Origin {
    /// No bytes were asked for.
    Empty,
    Allocator(Layout),
    /// The whole mapping, which may begin before the buffer.
    #[cfg(unix)]
    Mapping {
        start: NonNull<u8>,
        len: usize,
    },
}

// SAFETY: the bytes belong to this value alone; shared access reads, exclusive access writes.
unsafe impl Send for Memory {}
// SAFETY: as for `Send`: `&Memory` gives `&[u8]` and nothing that writes.
unsafe impl Sync for Memory {}

/// How pages come that nobody touched yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Two MiB at a time, if the system has them.
    Huge,
    /// Four KiB at a time.
    Small,
}

/// Advice about the pages of a buffer, while it is filled. Advice changes no byte, and where the system does not take it, nothing.
#[derive(Clone, Copy, Debug)]
pub struct Paging<'m> {
    /// The pages of a mapping from the buffer's first one on; none if the allocator has the bytes.
    mapped: Option<(NonNull<u8>, usize)>,
    memory: PhantomData<&'m Memory>,
}

// SAFETY: it reads and writes no memory: the address names pages to the system, which takes advice from any thread.
unsafe impl Send for Paging<'_> {}
// SAFETY: as for `Send`.
unsafe impl Sync for Paging<'_> {}

/// So many bytes could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The bytes asked for.
    pub bytes: usize,
}

/// How many bytes the system could still give without taking them from others, where it says so.
pub fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1 << 10)
}

impl Memory {
    /// `len` bytes of zero.
    pub fn zeroed(len: usize) -> Result<Memory, OutOfMemory> {
        match len {
            0 => Ok(Memory { start: dangling(), len, origin: Origin::Empty }),
            #[cfg(unix)]
            HUGE_FROM.. => Memory::mapped(len),
            _ => Memory::allocated(len),
        }
    }

    fn allocated(len: usize) -> Result<Memory, OutOfMemory> {
        let alignment = if len < HUGE_FROM { LINE } else { HUGE_PAGE };
        let failed = OutOfMemory { bytes: len };
        let layout = Layout::from_size_align(len, alignment).map_err(|_| failed)?;
        // SAFETY: the layout's size is not 0: `zeroed` handles that.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).ok_or(failed)?;
        Ok(Memory { start, len, origin: Origin::Allocator(layout) })
    }

    #[cfg(unix)]
    fn mapped(len: usize) -> Result<Memory, OutOfMemory> {
        let failed = OutOfMemory { bytes: len };
        let rounded = len.checked_next_multiple_of(HUGE_PAGE).ok_or(failed)?;
        // One huge page more than needed leaves room to begin at a boundary; what is not touched costs nothing.
        let mapping = rounded.checked_add(HUGE_PAGE).ok_or(failed)?;
        // SAFETY: a private anonymous mapping at an address of the system's choice touches no other memory.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapping,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(failed);
        }
        let outer = NonNull::new(start.cast::<u8>()).ok_or(failed)?;
        let skip = outer.addr().get().next_multiple_of(HUGE_PAGE) - outer.addr().get();
        // SAFETY: `skip` is less than a huge page, by which the mapping exceeds `rounded`.
        let start = unsafe { outer.add(skip) };
        let memory = Memory { start, len, origin: Origin::Mapping { start: outer, len: mapping } };
        memory.paging().prefer(Pages::Huge);
        Ok(memory)
    }

    fn paging(&self) -> Paging<'_> {
        let mapped = match self.origin {
            #[cfg(unix)]
            Origin::Mapping { .. } => Some((self.start, self.len.next_multiple_of(HUGE_PAGE))),
            _ => None,
        };
        Paging { mapped, memory: PhantomData }
    }

    /// The bytes, to write, and their pages.
    pub fn to_fill(&mut self) -> (&mut [u8], Paging<'_>) {
        // SAFETY: as in `as_mut_slice`; advice, which lives no longer than the exclusive borrow, touches no byte.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) };
        (bytes, self.paging())
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `start` is aligned, `len` bytes from it are initialised (zeroed) and ours while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The bytes, to write.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and the exclusive borrow makes this the only access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// The address of the first byte, to read through.
    pub fn as_ptr(&self) -> *const u8 {
        self.start.as_ptr()
    }

    /// The address of the first byte, to write through.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Paging<'_> {
    /// How pages come from now on.
    pub fn prefer(self, pages: Pages) {
        #[cfg(target_os = "linux")]
        if let Some((start, len)) = self.mapped {
            let advice = match pages {
                Pages::Huge => libc::MADV_HUGEPAGE,
                Pages::Small => libc::MADV_NOHUGEPAGE,
            };
            // SAFETY: the range lies in the mapping, which is there while the buffer is borrowed.
            unsafe { libc::madvise(start.as_ptr().cast(), len, advice) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = pages;
    }

    /// Lets all pages of these bytes of the buffer come at once, which takes less than one by one when they are written.
    pub fn populate(self, bytes: Range<usize>) {
        #[cfg(target_os = "linux")]
        if let Some((start, len)) = self.mapped {
            let end = bytes.end.min(len);
            // A page is at least so large, and the buffer begins at one.
            let first = bytes.start.min(end) / SMALL_PAGE * SMALL_PAGE;
            // SAFETY: the range lies in the mapping, as in `prefer`; pages that are there stay as they are.
            unsafe {
                libc::madvise(start.as_ptr().add(first).cast(), end - first, libc::MADV_POPULATE_WRITE)
            };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = bytes;
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match self.origin {
            Origin::Empty => {}
            // SAFETY: allocated with this very layout, and nobody borrows it any more.
            Origin::Allocator(layout) => unsafe { dealloc(self.start.as_ptr(), layout) },
            #[cfg(unix)]
            // SAFETY: exactly the mapping of `mapped`, which nobody borrows any more.
            Origin::Mapping { start, len } => unsafe {
                libc::munmap(start.as_ptr().cast(), len);
            },
        }
    }
}

/// An aligned address of no bytes.
fn dangling() -> NonNull<u8> {
    #[repr(align(64))]
    struct Line;
    const { assert!(align_of::<Line>() == LINE) };
    NonNull::<Line>::dangling().cast()
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({} bytes)", self.len)
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot allocate {} bytes; use smaller sizes or free memory", self.bytes)
    }
}

impl std::error::Error for OutOfMemory {}

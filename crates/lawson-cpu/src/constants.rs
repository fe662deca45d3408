//! The constants of a plan as its kernels read them: laid out anew in one block of memory, or where they are.
//!
//! In: the elements that a plan gave away, with their layouts. Out: an address for each. The members of a team share the
//! work, large constants by pieces; a page is first touched by the member that writes it. A tensor is let go as
//! soon as it has been laid out, so that nobody but its other owners keeps it.
//!
//! What takes the time is neither reading nor writing but the first touch of pages. Huge ones come fastest, unless the system has to look for them
//! or, where it is a guest, its host has to: then small ones, of which there are always some at hand, come several times as fast
//! (`FirstTouch`).

use crate::memory::{HUGE_FROM, HUGE_PAGE, LINE, Memory, Pages, Paging};
use crate::team::Team;
use lawson_graph::{Code, Error, HostTensor, Result};
use lawson_kernel::Slot;
use lawson_kernel::pack::Packing;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The constants of a plan.
#[derive(Debug)]
pub struct Constants {
    /// One block for all, so that small ones lie on huge pages too, and at most one page is not full.
    memory: Memory,
    constants: HashMap<Slot, Constant>,
}

#[derive(Debug)]
enum Constant {
    /// In these bytes of the block.
    Packed(Range<usize>),
    /// Where it was before.
    InPlace(HostTensor),
}

/// Some pieces of a constant, and where they go.
struct Task<'m> {
    tensor: HostTensor,
    packing: Arc<Packing>,
    pieces: Range<usize>,
    target: &'m mut [u8],
    /// Where the target begins in the block.
    start: usize,
}

/// Tasks have about so many bytes: enough that fetching one costs nothing, few enough that members finish together.
const TASK: usize = 256 << 10;

impl Constants {
    /// Lays out constants, which [`Plan::take_constants`](lawson_kernel::Plan::take_constants) gives; of some of them single elements are
    /// [looked up](lawson_kernel::Plan::looked_up).
    pub fn new(
        taken: Vec<(Slot, HostTensor, Packing)>,
        looked_up: &HashSet<Slot>,
        team: &Team,
    ) -> Result<Constants> {
        let stay = stay_in_place(&taken, looked_up);
        let mut constants = HashMap::with_capacity(taken.len());
        let mut moved = Vec::with_capacity(taken.len());
        let mut end = 0usize;
        for ((slot, tensor, packing), stays) in taken.into_iter().zip(stay) {
            if stays {
                constants.insert(slot, Constant::InPlace(tensor));
                continue;
            }
            // Each begins at a line; what is left of the line before belongs to nobody.
            let start = end.next_multiple_of(LINE);
            end = start.checked_add(packing.bytes()).filter(|end| isize::try_from(*end).is_ok()).ok_or_else(
                || Error::new(Code::Budget, "the constants are together too large for any memory"),
            )?;
            constants.insert(slot, Constant::Packed(start..end));
            moved.push((start, tensor, Arc::new(packing)));
        }
        let mut memory = Memory::zeroed(end.max(1)).map_err(|e| Error::new(Code::Budget, format!("{e}")))?;
        let mut tasks = Vec::new();
        let (bytes, paging) = memory.to_fill();
        let (mut rest, mut at) = (bytes, 0);
        for (start, tensor, packing) in moved {
            let bytes = packing.bytes();
            let (own, after) = rest.split_at_mut(start - at).1.split_at_mut(bytes);
            add_tasks(tensor, packing, (start, own), &mut tasks);
            (rest, at) = (after, start + bytes);
        }
        run(tasks, paging, team)?;
        Ok(Constants { memory, constants })
    }

    /// The bytes of a constant, laid out.
    pub fn bytes(&self, slot: Slot) -> Option<&[u8]> {
        match self.constants.get(&slot)? {
            Constant::Packed(place) => self.memory.as_slice().get(place.clone()),
            Constant::InPlace(tensor) => Some(tensor.bytes()),
        }
    }

    /// Where a constant begins.
    pub fn address(&self, slot: Slot) -> Option<*const u8> {
        self.bytes(slot).map(<[u8]>::as_ptr)
    }

    /// Whether a constant is read from the tensor that it was given as.
    pub fn is_in_place(&self, slot: Slot) -> bool {
        matches!(self.constants.get(&slot), Some(Constant::InPlace(_)))
    }
}

/// Which constants are read where they are, for each.
///
/// They must lie as the kernel wants, and begin at a line; vectors that straddle two lines cost twice in the caches, so that a
/// copy pays off, but not where memory is waited for. To keep a tensor is to keep the memory that it is a slice of, which
/// may be the file of a whole model. So tensors are kept only if they are at least half of all constants: then not
/// more is kept than copies would take, even if the others are slices of the same memory.
///
/// A large table of a mapped file stays in any case if single elements of it are looked up: what is not read is never copied, and pages of
/// a file are no memory that the system could not have back. What is read as a whole is better off on huge pages.
fn stay_in_place(taken: &[(Slot, HostTensor, Packing)], looked_up: &HashSet<Slot>) -> Vec<bool> {
    let table = |(slot, tensor, packing): &(Slot, HostTensor, Packing)| {
        looked_up.contains(slot)
            && tensor.is_mapped()
            && tensor.bytes().len() >= HUGE_FROM
            && packing.is_identity()
    };
    let fits = |tensor: &HostTensor, packing: &Packing| {
        let (address, bytes) = (tensor.bytes().as_ptr().addr(), tensor.bytes().len());
        let alignment = if bytes < HUGE_FROM { LINE } else { tensor.dtype().bits().div_ceil(8) };
        bytes > 0 && address.is_multiple_of(alignment) && packing.is_identity()
    };
    let stay: Vec<bool> = taken.iter().map(|(_, tensor, packing)| fits(tensor, packing)).collect();
    let (mut kept, mut packed) = (0usize, 0usize);
    for ((_, tensor, _), stays) in taken.iter().zip(&stay).filter(|(t, _)| !table(t)) {
        let sum = if *stays { &mut kept } else { &mut packed };
        *sum = sum.saturating_add(tensor.bytes().len());
    }
    let fits = kept >= packed;
    taken.iter().zip(stay).map(|(t, stays)| table(t) || (stays && fits)).collect()
}

/// Splits a constant into tasks.
fn add_tasks<'m>(
    tensor: HostTensor,
    packing: Arc<Packing>,
    (start, mut target): (usize, &'m mut [u8]),
    tasks: &mut Vec<Task<'m>>,
) {
    let pieces = packing.pieces();
    let each = pieces.div_ceil(packing.bytes().div_ceil(TASK).max(1));
    for first in (0..pieces).step_by(each) {
        let end = pieces.min(first + each);
        let place = packing.place(first);
        let (own, rest) = target.split_at_mut(packing.place(end) - place);
        target = rest;
        let (tensor, packing) = (tensor.clone(), packing.clone());
        tasks.push(Task { tensor, packing, pieces: first..end, target: own, start: start + place });
    }
}

/// Packs everything, with the whole team where that is worth waking it.
fn run(mut tasks: Vec<Task<'_>>, paging: Paging<'_>, team: &Team) -> Result<()> {
    let touch = FirstTouch { paging, late: AtomicUsize::new(0) };
    if tasks.iter().map(|t| t.target.len()).sum::<usize>() <= TASK {
        return tasks.into_iter().try_for_each(|task| task.run(&touch));
    }
    // The longest first, so that no member is left with one at the end.
    tasks.sort_by_key(|t| std::cmp::Reverse(t.target.len()));
    let queue = Mutex::new(tasks.into_iter());
    let failed = Mutex::new(Ok(()));
    team.run(|_| {
        loop {
            let task = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(task) = task else { return };
            if let Err(error) = task.run(&touch) {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
            }
        }
    });
    // What is small now, the system may join when it finds the time.
    paging.prefer(Pages::Huge);
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Task<'_> {
    fn run(self, touch: &FirstTouch<'_>) -> Result<()> {
        touch.before(self.start, self.target);
        self.packing.pack(self.pieces, self.tensor.bytes(), self.target)
    }
}

/// How the pages of the block come: huge ones, until these were late.
struct FirstTouch<'m> {
    paging: Paging<'m>,
    /// How many huge pages came late.
    late: AtomicUsize,
}

/// A huge page that takes longer is late. To clear one takes a tenth of that; the five hundred small ones instead of it take less, too.
const LATE: Duration = Duration::from_millis(2);

/// So many are late before small ones are asked for: a single one may be late because another program had the processor.
const MOST_LATE: usize = 2;

impl FirstTouch<'_> {
    /// Touches bytes that begin so far behind the block's first one and are about to be written.
    fn before(&self, start: usize, target: &mut [u8]) {
        if self.late.load(Relaxed) >= MOST_LATE {
            return self.paging.populate(start..start + target.len());
        }
        // The first byte, and those where a huge page begins.
        let next = start.next_multiple_of(HUGE_PAGE) - start;
        for at in std::iter::once(0).chain((next.max(1)..target.len()).step_by(HUGE_PAGE)) {
            let Some(byte) = target.get_mut(at) else { return };
            let begin = Instant::now();
            *std::hint::black_box(byte) = 0;
            self.came_after(begin.elapsed());
        }
    }

    fn came_after(&self, time: Duration) {
        if time > LATE && self.late.fetch_add(1, Relaxed) + 1 == MOST_LATE {
            self.paging.prefer(Pages::Small);
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Whether the system was told not to give huge pages for the mapping that begins at an address.
    fn is_small(start: usize) -> bool {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut inside = false;
        for line in maps.lines() {
            if let Some((range, _)) = line.split_once(' ').filter(|(r, _)| r.contains('-')) {
                let (first, end) = range.split_once('-').unwrap();
                let address = |text| usize::from_str_radix(text, 16).unwrap();
                inside = (address(first)..address(end)).contains(&start);
            } else if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| inside) {
                return flags.split_whitespace().any(|f| f == "nh");
            }
        }
        panic!("no mapping at {start:x}");
    }

    #[test]
    fn small_pages_are_asked_for_once_two_huge_ones_were_late() {
        let mut memory = Memory::zeroed(8 << 20).unwrap();
        let address = memory.as_ptr().addr();
        let (bytes, paging) = memory.to_fill();
        let touch = FirstTouch { paging, late: AtomicUsize::new(0) };
        for (time, small) in [(LATE * 2, false), (LATE / 2, false), (LATE * 2, true), (LATE / 2, true)] {
            touch.came_after(time);
            assert_eq!(is_small(address), small);
        }
        // What is populated keeps its bytes, whatever parts of pages are named.
        bytes[5000] = 7;
        touch.before(4999, &mut bytes[4999..(6 << 20) + 1]);
        assert!(bytes[5000] == 7 && bytes[..5000].iter().chain(&bytes[5001..]).all(|b| *b == 0));
        paging.prefer(Pages::Huge);
        assert!(!is_small(address));
    }

    #[test]
    fn every_huge_page_is_touched_where_it_begins() {
        let mut memory = Memory::zeroed(8 << 20).unwrap();
        let (bytes, paging) = memory.to_fill();
        let touch = FirstTouch { paging, late: AtomicUsize::new(0) };
        bytes.fill(9);
        touch.before(100, &mut bytes[100..5 << 20]);
        let touched: Vec<usize> = (0..bytes.len()).filter(|i| bytes[*i] == 0).collect();
        assert_eq!(touched, [100, HUGE_PAGE, 2 * HUGE_PAGE]);
        touch.before(0, &mut []);
    }
}

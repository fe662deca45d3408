//! Running one emitted kernel on memory that does not forgive: every buffer ends at a page that cannot be touched, and what
//! lies before it is checked afterwards.
#![allow(dead_code)]

use lawson_cpu::exec::CodeBuilder;
use lawson_cpu::{Emitted, Isa, Listing, Word, emit};
use lawson_graph::Symbol;
use lawson_kernel::verify::verify;
use lawson_kernel::{Kernel, Node, Store, StoreHint, eval};

const PAGE: usize = 4096;
const CANARY: u8 = 0x5C;

/// Bytes with a page before and a page after them that cannot be touched.
struct Guarded {
    map: *mut u8,
    mapped: usize,
    data: *mut u8,
    len: usize,
}

impl Guarded {
    /// `align` is 1, or 64 where stores need whole lines.
    fn new(bytes: &[u8], align: usize) -> Guarded {
        let room = (bytes.len() + align).next_multiple_of(PAGE);
        let mapped = room + 2 * PAGE;
        // SAFETY: a fresh private mapping, of which only pages inside it change protection.
        let map = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let map = libc::mmap(std::ptr::null_mut(), mapped, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(map, libc::MAP_FAILED);
            let inner = map.cast::<u8>().add(PAGE);
            assert_eq!(libc::mprotect(inner.cast(), room, libc::PROT_READ | libc::PROT_WRITE), 0);
            std::ptr::write_bytes(inner, CANARY, room);
            map.cast::<u8>()
        };
        let start = (PAGE + room - bytes.len()) / align * align;
        // SAFETY: `start` leaves room for the bytes before the last page.
        let data = unsafe {
            let data = map.add(start);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len());
            data
        };
        Guarded { map, mapped, data, len: bytes.len() }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping lives as long as `self`, and nobody writes to it while it is borrowed.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }

    /// Whether what lies around the bytes is as it was.
    fn intact(&self) -> bool {
        // SAFETY: everything but the first and the last page can be read.
        let all = unsafe { std::slice::from_raw_parts(self.map.add(PAGE), self.mapped - 2 * PAGE) };
        let start = self.data as usize - self.map as usize - PAGE;
        let around = all[..start].iter().chain(&all[start + self.len..]);
        around.into_iter().all(|b| *b == CANARY)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and whole.
        unsafe { libc::munmap(self.map.cast(), self.mapped) };
    }
}

/// Runs an emitted kernel in as many shares as asked for, each with scratch of its own. Buffers that a share writes outside of
/// are a failure of the test.
pub fn call(
    kernel: &Kernel,
    emitted: &Emitted,
    params: &[(Symbol, i64)],
    buffers: &mut [Vec<u8>],
    shares: i64,
) {
    let mut streams = false;
    kernel.visit(&mut |n| streams |= matches!(n, Node::Store(Store { hint: StoreHint::Stream, .. })));
    let align = if streams { 64 } else { 1 };
    let mut builder = CodeBuilder::new();
    let entry = builder.add(&emitted.code);
    let memory = builder.finish().unwrap();
    let guarded: Vec<Guarded> = buffers.iter().map(|b| Guarded::new(b, align)).collect();
    let value = |s: &Symbol| params.iter().find(|(n, _)| n == s).map(|p| p.1);
    let word = |w: &Word| match w {
        Word::Buffer(b) => guarded[b.0 as usize].data as u64,
        Word::Parameter(d) => d.eval(&value).unwrap() as u64,
    };
    let table: Vec<u64> = emitted.words.iter().map(word).collect();
    let iterations = emitted.parallel.eval(&value).unwrap();
    let function = memory.kernel(entry).unwrap();
    for share in 0..shares {
        let (begin, end) = (iterations * share / shares, iterations * (share + 1) / shares);
        let scratch = Guarded::new(&vec![0xFF; emitted.scratch_bytes.next_multiple_of(64)], 64);
        // SAFETY: the kernel was verified, and the buffers have the sizes that it states.
        unsafe { function(table.as_ptr(), begin, end, scratch.data) };
        assert!(scratch.intact(), "a store outside of scratch");
    }
    for (to, from) in buffers.iter_mut().zip(&guarded) {
        assert!(from.intact(), "a store outside of a buffer");
        to.copy_from_slice(from.bytes());
    }
}

/// The kinds of machine code that this machine runs.
pub fn levels() -> impl Iterator<Item = Isa> {
    [Isa::Avx512, Isa::Avx2].into_iter().filter(|isa| isa.missing().is_none())
}

/// What a verified kernel leaves in its buffers, as machine code and by the evaluator.
pub fn machine_and_evaluator(
    isa: Isa,
    kernel: &Kernel,
    params: &[(Symbol, i64)],
    buffers: &[Vec<u8>],
) -> [Vec<Vec<u8>>; 2] {
    verify(kernel).unwrap();
    let code = emit(kernel, isa, Listing::Off).unwrap();
    let (mut machine, mut evaluator) = (buffers.to_vec(), buffers.to_vec());
    call(kernel, &code, params, &mut machine, 2);
    eval::run(kernel, params, &mut evaluator, &eval::Options::default()).unwrap();
    [machine, evaluator]
}

/// A number from the environment.
pub fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(otherwise)
}

/// Runs seeds from `SEED` on, `COUNT` of them; all that fail are told at the end. With `TRACE`, each is told before it runs.
pub fn each_seed(count: u64, mut check: impl FnMut(u64) -> Result<(), String>) {
    let (from, count) = (number("SEED", 0), number("COUNT", count));
    let mut failures = Vec::new();
    for seed in from..from + count {
        if std::env::var_os("TRACE").is_some() {
            eprintln!("seed {seed}");
        }
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(seed)));
        match done {
            Ok(Ok(())) => {}
            Ok(Err(text)) => failures.push(format!("seed {seed}: {text}")),
            Err(_) => failures.push(format!("seed {seed}: panic")),
        }
    }
    let shown: Vec<&str> = failures.iter().take(4).map(String::as_str).collect();
    let first: Vec<&str> = failures.iter().filter_map(|f| f.lines().next()).collect();
    assert!(
        failures.is_empty(),
        "{} of {count} fail\n{}\n\n{}",
        failures.len(),
        shown.join("\n\n"),
        first.join("\n")
    );
}

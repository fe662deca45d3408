//! Buffers are zeroed, aligned, and writable to the last byte.
#![allow(clippy::unwrap_used)]

use lawson_cpu::memory::{HUGE_FROM, HUGE_PAGE, LINE, Memory, OutOfMemory};

#[test]
fn every_size_is_zeroed_aligned_and_writable() {
    for len in [0, 1, 63, 64, 4097, HUGE_FROM - 1, HUGE_FROM, HUGE_FROM + 1, 3 * HUGE_PAGE + 5] {
        let mut memory = Memory::zeroed(len).unwrap();
        assert_eq!((memory.len(), memory.is_empty()), (len, len == 0));
        let alignment = if len < HUGE_FROM { LINE } else { HUGE_PAGE };
        assert_eq!(memory.as_ptr().addr() % alignment, 0, "{len} bytes");
        assert!(memory.as_slice().iter().all(|&byte| byte == 0));
        memory.as_mut_slice().fill(0xA5);
        assert!(memory.as_slice().iter().all(|&byte| byte == 0xA5));
        assert_eq!(memory.as_mut_ptr().cast_const(), memory.as_ptr());
    }
}

#[test]
fn what_was_written_before_is_not_seen_again() {
    for len in [4096, 2 * HUGE_PAGE] {
        for _ in 0..10 {
            let mut memory = Memory::zeroed(len).unwrap();
            assert!(memory.as_slice().iter().all(|&byte| byte == 0));
            memory.as_mut_slice().fill(1);
        }
    }
}

#[test]
fn impossible_sizes_are_an_error() {
    for bytes in [usize::MAX, isize::MAX as usize, usize::MAX - HUGE_PAGE] {
        assert_eq!(Memory::zeroed(bytes).err(), Some(OutOfMemory { bytes }));
    }
}

#[test]
fn buffers_move_and_are_shared_between_threads() {
    let mut memory = Memory::zeroed(1000).unwrap();
    memory.as_mut_slice()[999] = 9;
    let memory = std::thread::spawn(move || memory).join().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(memory.as_slice()[999], 9));
        }
    });
}

//! A hash that is the same on every machine and in every version of the standard library, and fast on small keys: each
//! word is mixed in by a multiplication and a rotation. Nothing here needs to resist an adversary.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The hasher.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix(u64);

/// A map that uses it.
pub(crate) type MixMap<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

impl Default for Mix {
    fn default() -> Mix {
        Mix(0x9e37_79b9_7f4a_7c15)
    }
}

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

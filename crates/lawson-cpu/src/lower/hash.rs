//! Keys that stand for what they hash: values are numbered by them. And maps of what is known by small numbers.

pub(super) use lawson_kernel::hash::{IdMap, IdSet};

use lawson_graph::Dim;
use lawson_kernel::{Atom, Datum, Index};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A value's identity: a hash wide enough to stand for what is hashed.
pub(super) type Key = u128;

/// What is known by keys.
pub(super) type KeyMap<V> = HashMap<Key, V, BuildHasherDefault<KeyHasher>>;

/// Keys are hashes already: their low half is as good as any.
#[derive(Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.0 = self.0.rotate_left(8) ^ u64::from(*b));
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}

/// A hash of 128 bits, for keys that stand for what they hash.
#[derive(Clone, Copy)]
pub(super) struct Hash128(u64, u64);

impl Hash128 {
    pub(super) fn new(seed: u64) -> Hash128 {
        let mut h = Hash128(0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F);
        h.mix(seed);
        h
    }

    pub(super) fn mix(&mut self, x: u64) {
        self.0 = (self.0 ^ x).wrapping_mul(0xFF51_AFD7_ED55_8CCD).rotate_left(29);
        self.1 = (self.1.rotate_left(17) ^ x).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
        self.1 ^= self.1 >> 31;
    }

    pub(super) fn finish(&self) -> Key {
        (u128::from(self.0 ^ self.0 >> 32) << 64) | u128::from(self.1)
    }
}

/// The terms of an index that mention axes, for hashing.
pub(super) fn mix_index(h: &mut Hash128, index: &Index) {
    h.mix(index.terms().len() as u64);
    for (atom, c) in index.terms() {
        mix_atom(h, atom);
        mix_dim(h, c);
    }
    mix_dim(h, index.offset());
}

pub(super) fn mix_atom(h: &mut Hash128, atom: &Atom) {
    match atom {
        Atom::Axis(a) => h.mix(u64::from(a.0)),
        Atom::Div(i, d) | Atom::Mod(i, d) => {
            h.mix(if matches!(atom, Atom::Div(..)) { 1 << 61 } else { 1 << 62 });
            mix_index(h, i);
            mix_dim(h, d);
        }
        Atom::Min(m) | Atom::Max(m) => {
            h.mix((if matches!(atom, Atom::Min(_)) { 3 << 60 } else { 5 << 60 }) ^ m.len() as u64);
            m.iter().for_each(|i| mix_index(h, i));
        }
        Atom::At(datum) => mix_datum(h, datum),
    }
}

pub(super) fn mix_datum(h: &mut Hash128, datum: &Datum) {
    h.mix((7 << 60) ^ (u64::from(datum.buffer.0) << 16) ^ datum.index.len() as u64);
    datum.index.iter().for_each(|i| mix_index(h, i));
    mix_dim(h, &datum.end);
}

pub(super) fn mix_dim(h: &mut Hash128, dim: &Dim) {
    match dim.as_const() {
        Some(c) => h.mix(c as u64),
        None => {
            let text = dim.to_string();
            h.mix((1 << 63) ^ text.len() as u64);
            text.bytes().for_each(|b| h.mix(u64::from(b)));
        }
    }
}

//! The constants of one piece of code: equal ones are kept once, each is aligned to its size.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::operand::{Const, ConstSize};

/// The bytes of a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConstData {
    /// One element of 32 bits, for scalar loads and broadcasts.
    B4([u8; 4]),
    /// One element of 64 bits, for scalar loads and broadcasts.
    B8([u8; 8]),
    /// A whole register; narrower widths read its beginning.
    B64([u8; 64]),
}

macro_rules! from {
    ($($number:ty => $variant:ident),*) => {$(
        impl From<$number> for ConstData {
            fn from(number: $number) -> ConstData {
                ConstData::$variant(number.to_le_bytes())
            }
        }
    )*};
}

from!(f32 => B4, i32 => B4, u32 => B4, f64 => B8, i64 => B8, u64 => B8);

impl From<[f32; 16]> for ConstData {
    fn from(lanes: [f32; 16]) -> ConstData {
        lanes.map(f32::to_bits).into()
    }
}

impl From<[i32; 16]> for ConstData {
    fn from(lanes: [i32; 16]) -> ConstData {
        lanes.map(|lane| lane as u32).into()
    }
}

impl From<[u32; 16]> for ConstData {
    fn from(lanes: [u32; 16]) -> ConstData {
        let mut bytes = [0; 64];
        for (to, lane) in bytes.chunks_exact_mut(4).zip(lanes) {
            to.copy_from_slice(&lane.to_le_bytes());
        }
        ConstData::B64(bytes)
    }
}

impl From<[u8; 64]> for ConstData {
    fn from(bytes: [u8; 64]) -> ConstData {
        ConstData::B64(bytes)
    }
}

#[derive(Default)]
pub(super) struct Pool {
    known: HashMap<ConstData, Const>,
    b4: Vec<[u8; 4]>,
    b8: Vec<[u8; 8]>,
    b64: Vec<[u8; 64]>,
}

/// Where the constants of each size begin, in bytes from the start of the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolStart {
    b64: usize,
    b8: usize,
    b4: usize,
}

impl Pool {
    pub(super) fn add(&mut self, data: ConstData) -> Const {
        match self.known.entry(data) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let (size, index) = match data {
                    ConstData::B4(bytes) => (ConstSize::B4, append(&mut self.b4, bytes)),
                    ConstData::B8(bytes) => (ConstSize::B8, append(&mut self.b8, bytes)),
                    ConstData::B64(bytes) => (ConstSize::B64, append(&mut self.b64, bytes)),
                };
                *place.insert(Const { size, index })
            }
        }
    }

    /// Whether `constant` is one of this pool's.
    pub(super) fn has(&self, constant: Const) -> bool {
        let count = match constant.size {
            ConstSize::B4 => self.b4.len(),
            ConstSize::B8 => self.b8.len(),
            ConstSize::B64 => self.b64.len(),
        };
        (constant.index as usize) < count
    }

    /// Appends the constants to `code`, widest first, so that only the first needs padding.
    pub(super) fn place(&self, code: &mut Vec<u8>) -> PoolStart {
        let alignment = match (self.b64.is_empty(), self.b8.is_empty(), self.b4.is_empty()) {
            (false, _, _) => 64,
            (true, false, _) => 8,
            (true, true, false) => 4,
            (true, true, true) => 1,
        };
        code.resize(code.len().next_multiple_of(alignment), 0xCC);
        let b64 = code.len();
        self.b64.iter().for_each(|bytes| code.extend_from_slice(bytes));
        let b8 = code.len();
        self.b8.iter().for_each(|bytes| code.extend_from_slice(bytes));
        let b4 = code.len();
        self.b4.iter().for_each(|bytes| code.extend_from_slice(bytes));
        PoolStart { b64, b8, b4 }
    }

    /// The constants in the order of [`Pool::place`].
    pub(super) fn iter(&self) -> impl Iterator<Item = (Const, &[u8])> {
        let b64 = self.b64.iter().map(|bytes| (ConstSize::B64, bytes.as_slice())).enumerate();
        let b8 = self.b8.iter().map(|bytes| (ConstSize::B8, bytes.as_slice())).enumerate();
        let b4 = self.b4.iter().map(|bytes| (ConstSize::B4, bytes.as_slice())).enumerate();
        b64.chain(b8).chain(b4).map(|(index, (size, bytes))| (Const { size, index: index as u32 }, bytes))
    }
}

impl PoolStart {
    pub(super) fn of(&self, constant: Const) -> usize {
        let index = constant.index as usize;
        match constant.size {
            ConstSize::B4 => self.b4 + 4 * index,
            ConstSize::B8 => self.b8 + 8 * index,
            ConstSize::B64 => self.b64 + 64 * index,
        }
    }
}

fn append<T>(list: &mut Vec<T>, item: T) -> u32 {
    list.push(item);
    list.len() as u32 - 1
}

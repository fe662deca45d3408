//! Primitives that make elements out of nothing or of a key: iota and random bits.

use super::array::{Array, Data, count, walk};
use super::mode::{Carrier, Mode, Whole};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::Iota;

pub(super) fn iota<M: Mode>(op: &Iota, sizes: &[usize]) -> Data<M> {
    let mut steps = vec![0isize; sizes.len()];
    steps[op.axis] = 1;
    let indices = walk(sizes, &steps, 0).into_iter().map(|i| M::Int::exact(i as i128));
    if op.dtype.is_float() {
        Data::Float(indices.map(|i| i.to_float(op.dtype)).collect())
    } else {
        Data::Int(indices.map(|i| i.to_int(op.dtype)).collect())
    }
}

pub(super) fn random_bits<M: Mode>(key: &Array<M>, sizes: &[usize]) -> Result<Data<M>> {
    let words = key.ints()?;
    let [k0, k1] = words else { return Err(Error::internal("a key has two words")) };
    let exact = key.data().is_exact();
    let key = [k0.value() as u32, k1.value() as u32];
    let total = count(sizes);
    let word = |i: usize| {
        let block = threefry(key, [(i / 2) as u32, 0]);
        let word = M::Int::exact(i128::from(block[i % 2]));
        if exact { word } else { word.unknown(DType::U32) }
    };
    Ok(Data::Int((0..total).map(word).collect()))
}

/// One block of Threefry-2x32 with 20 rounds.
pub(super) fn threefry(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [u32; 8] = [13, 15, 26, 6, 17, 29, 16, 24];
    let schedule = [key[0], key[1], key[0] ^ key[1] ^ 0x1bd1_1bda];
    let mut x = [counter[0].wrapping_add(key[0]), counter[1].wrapping_add(key[1])];
    for group in 0..5usize {
        for round in 0..4 {
            x[0] = x[0].wrapping_add(x[1]);
            x[1] = x[1].rotate_left(ROTATIONS[(group * 4 + round) % 8]) ^ x[0];
        }
        // A part of the key is mixed in after every four rounds.
        let next = group + 1;
        x[0] = x[0].wrapping_add(schedule[next % 3]);
        x[1] = x[1].wrapping_add(schedule[(next + 1) % 3]).wrapping_add(next as u32);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::threefry;

    #[test]
    fn threefry_gives_the_known_answers() {
        assert_eq!(threefry([0, 0], [0, 0]), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(threefry([u32::MAX; 2], [u32::MAX; 2]), [0x1cb9_96fc, 0xbb00_2be7]);
        let key = [0x1319_8a2e, 0x0370_7344];
        assert_eq!(threefry(key, [0x243f_6a88, 0x85a3_08d3]), [0xc492_3a9c, 0x483d_f7a0]);
    }
}

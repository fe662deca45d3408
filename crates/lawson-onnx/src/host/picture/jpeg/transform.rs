//! From coefficients to samples: the inverse cosine transform of a block of 8 by 8.
//!
//! In whole numbers with 13 bits after the point, in the factorisation of Loeffler, Ligtenberg and Moschytz with 12 products,
//! which is what `libjpeg` computes by default: other ways round other pixels differently.

/// A factor with 13 bits after the point.
const fn fixed(factor: f64) -> i32 {
    (factor * 8192.0 + 0.5) as i32
}

/// The transform of 8 numbers; the result is 2^13 times as large.
fn inverse(x: [i32; 8]) -> [i32; 8] {
    let times = |v: i32, factor: i32| v.wrapping_mul(factor);
    let sum = i32::wrapping_add;
    // Even: a rotation by 3 pi / 8, and a butterfly.
    let turned = times(sum(x[2], x[6]), fixed(0.541196100));
    let low = turned.wrapping_sub(times(x[6], fixed(1.847759065)));
    let high = sum(turned, times(x[2], fixed(0.765366865)));
    let (plus, minus) = (sum(x[0], x[4]).wrapping_shl(13), x[0].wrapping_sub(x[4]).wrapping_shl(13));
    let even = [sum(plus, high), sum(minus, low), minus.wrapping_sub(low), plus.wrapping_sub(high)];
    // Odd: each output is a sum of one own product and two shared ones.
    let both = times(sum(sum(x[7], x[3]), sum(x[5], x[1])), fixed(1.175875602));
    let a = times(sum(x[7], x[1]), -fixed(0.899976223));
    let b = times(sum(x[5], x[3]), -fixed(2.562915447));
    let c = sum(times(sum(x[7], x[3]), -fixed(1.961570560)), both);
    let d = sum(times(sum(x[5], x[1]), -fixed(0.390180644)), both);
    let odd = [
        sum(times(x[1], fixed(1.501321110)), sum(a, d)),
        sum(times(x[3], fixed(3.072711026)), sum(b, c)),
        sum(times(x[5], fixed(2.053119869)), sum(b, d)),
        sum(times(x[7], fixed(0.298631336)), sum(a, c)),
    ];
    std::array::from_fn(|i| match i {
        0..4 => sum(even[i], odd[i]),
        _ => even[7 - i].wrapping_sub(odd[7 - i]),
    })
}

fn rounded(v: i32, bits: u32) -> i32 {
    v.wrapping_add(1 << (bits - 1)) >> bits
}

/// The samples of a block, row by row, from coefficients times their steps. Columns first, and 2 bits more than whole numbers between.
pub(super) fn samples(coefficients: &[i32; 64]) -> [u8; 64] {
    let mut between = [0i32; 64];
    for column in 0..8 {
        let y = inverse(std::array::from_fn(|i| coefficients[8 * i + column]));
        for (i, v) in y.into_iter().enumerate() {
            between[8 * i + column] = rounded(v, 11);
        }
    }
    let mut samples = [0u8; 64];
    for row in 0..8 {
        let y = inverse(std::array::from_fn(|i| between[8 * row + i]));
        for (i, v) in y.into_iter().enumerate() {
            samples[8 * row + i] = rounded(v, 18).wrapping_add(128).clamp(0, 255) as u8;
        }
    }
    samples
}

//! Numbers: how elements of each dtype are rounded, wrapped, stored in bytes and read back.
//!
//! Everything that computes on the host does so on two carriers, `i128` for integers and booleans and `f64`
//! for floats, and comes back to the dtype by `wrap` or `round`. One operation computed in f64 and rounded once
//! is correctly rounded for every narrower float, because f64 has more than twice their precision and two bits.

use crate::dtype::{Class, DType};
use half::{bf16, f16};

/// Keeps the low bits of `value`: integers wrap. For `bool`, anything but zero is one.
pub fn wrap(dtype: DType, value: i128) -> i128 {
    match dtype {
        DType::Bool => i128::from(value != 0),
        _ => {
            let bits = dtype.bits() as u32;
            let shift = 128 - bits;
            if dtype.class() == Class::Unsigned {
                ((value as u128) << shift >> shift) as i128
            } else {
                value << shift >> shift
            }
        }
    }
}

/// Rounds to the nearest value of a float dtype, ties to even. Overflow gives an infinity, NaN in types
/// that have no infinities, and the greatest value in those that have no NaN either, where NaN is zero.
/// To powers of two ties go up, and what has none near it, zero and less among it, is NaN.
pub fn round(dtype: DType, value: f64) -> f64 {
    match dtype {
        DType::F64 => value,
        DType::F32 => f64::from(value as f32),
        DType::F16 => f16_from_f64(value).to_f64(),
        DType::BF16 => bf16_from_f64(value).to_f64(),
        _ if dtype.bits() <= 8 => small_to_f64(dtype, small_from_f64(dtype, value)),
        _ => value,
    }
}

/// Float to integer: towards zero, saturating, NaN to 0.
pub fn saturate(dtype: DType, value: f64) -> i128 {
    if value.is_nan() {
        return 0;
    }
    if dtype == DType::Bool {
        return i128::from(value != 0.0);
    }
    let (lo, hi) = dtype.int_range().unwrap_or((0, 0));
    // `as` saturates at the ends of i128, which lie outside every range here.
    (value as i128).clamp(lo, hi)
}

/// Integer to the nearest float of `dtype`, correctly rounded once.
pub fn float_from_int(dtype: DType, value: i128) -> f64 {
    match dtype {
        // `as` rounds to nearest, ties to even, straight from the integer.
        DType::F64 => value as f64,
        DType::F32 => f64::from(value as f32),
        // An integer above 2^53 rounded to f64 first could tie wrongly; round to odd keeps the sticky bit.
        _ => round(dtype, round_to_odd(value)),
    }
}

fn round_to_odd(value: i128) -> f64 {
    let magnitude = value.unsigned_abs();
    let length = 128 - magnitude.leading_zeros();
    if length <= 53 {
        return value as f64;
    }
    let drop = length - 53;
    let kept = magnitude >> drop;
    let sticky = u128::from(kept << drop != magnitude);
    let odd = ((kept | sticky) as f64) * 2f64.powi(drop as i32);
    if value < 0 { -odd } else { odd }
}

/// The f32 next to `value` whose last bit says that something was cut off (rounding to odd). Rounding that to a
/// float of at most 22 bits is the same as rounding `value` itself once.
fn odd_single(value: f64) -> f32 {
    let single = value as f32;
    if single.is_nan() || f64::from(single) == value {
        return single;
    }
    let bits = single.to_bits();
    let toward_zero = if f64::from(single).abs() > value.abs() { bits - 1 } else { bits };
    f32::from_bits(toward_zero | 1)
}

fn f16_from_f64(value: f64) -> f16 {
    f16::from_f32(odd_single(value))
}

fn bf16_from_f64(value: f64) -> bf16 {
    bf16::from_f32(odd_single(value))
}

/// A float of at most 8 bits: sign, exponent, mantissa.
struct Small {
    bits: u32,
    mantissa: u32,
    bias: i32,
    special: Special,
}

/// Which bits of a small float are no number.
#[derive(Clone, Copy, PartialEq)]
enum Special {
    /// As in IEEE: the greatest exponent is kept for infinities and NaN.
    Ieee,
    /// All ones behind the sign are NaN.
    AllOnes,
    /// The sign alone, which would be -0, is NaN.
    NegativeZero,
    /// None.
    Nothing,
}

fn small_format(dtype: DType) -> Small {
    let (bits, mantissa, bias, special) = match dtype {
        DType::F4E2M1 => (4, 1, 1, Special::Nothing),
        DType::F8E4M3 => (8, 3, 7, Special::AllOnes),
        DType::F8E4M3Fnuz => (8, 3, 8, Special::NegativeZero),
        DType::F8E5M2Fnuz => (8, 2, 16, Special::NegativeZero),
        _ => (8, 2, 15, Special::Ieee),
    };
    Small { bits, mantissa, bias, special }
}

/// The bits that stand for NaN among powers of two.
const NO_POWER: u8 = 0xff;

/// The exponent, 127 added, of the power of two nearest to `value`.
fn power_from_f64(value: f64) -> u8 {
    if value.is_nan() || value <= 0.0 {
        return NO_POWER;
    }
    let exponent = exponent_of(value);
    let rounded = exponent + i32::from(value / 2f64.powi(exponent) >= 1.5);
    u8::try_from(rounded + 127).unwrap_or(NO_POWER)
}

/// The bits of the small float nearest to `value`.
pub fn small_from_f64(dtype: DType, value: f64) -> u8 {
    if dtype == DType::F8E8M0 {
        return power_from_f64(value);
    }
    let Small { bits, mantissa, bias, special } = small_format(dtype);
    let minus = 1u8 << (bits - 1);
    let sign = if value.is_sign_negative() { minus } else { 0 };
    let ones = minus - 1;
    let (nan, overflow) = match special {
        Special::Ieee => (sign | (ones - 1), sign | ((ones >> mantissa) << mantissa)),
        Special::AllOnes => (sign | ones, sign | ones),
        Special::NegativeZero => (minus, minus),
        Special::Nothing => (0, sign | ones),
    };
    if value.is_nan() {
        return nan;
    }
    let magnitude = value.abs();
    let max = dtype.max_finite().unwrap_or(0.0);
    if magnitude.is_infinite() {
        return overflow;
    }
    // Quantum of the binade of `magnitude`: subnormals share the quantum of the least binade.
    let exponent = if magnitude == 0.0 { 1 - bias } else { exponent_of(magnitude).max(1 - bias) };
    let quantum = 2f64.powi(exponent - mantissa as i32);
    let rounded = (magnitude / quantum).round_ties_even() * quantum;
    if rounded > max {
        return overflow;
    }
    if rounded == 0.0 {
        return if special == Special::NegativeZero { 0 } else { sign };
    }
    let exponent = exponent_of(rounded);
    if exponent < 1 - bias {
        let units = rounded / 2f64.powi(1 - bias - mantissa as i32);
        return sign | units as u8;
    }
    let fraction = rounded / 2f64.powi(exponent) - 1.0;
    let units = (fraction * f64::from(1u32 << mantissa)) as u8;
    sign | (((exponent + bias) as u8) << mantissa) | units
}

/// The value of the bits of a small float.
pub fn small_to_f64(dtype: DType, byte: u8) -> f64 {
    if dtype == DType::F8E8M0 {
        return if byte == NO_POWER { f64::NAN } else { 2f64.powi(i32::from(byte) - 127) };
    }
    let Small { bits, mantissa, bias, special } = small_format(dtype);
    let minus = 1u8 << (bits - 1);
    let ones = minus - 1;
    let sign = if byte & minus != 0 { -1.0 } else { 1.0 };
    let exponent = i32::from((byte & ones) >> mantissa);
    let fraction = f64::from(byte & ((1 << mantissa) - 1));
    let scale = f64::from(1u32 << mantissa);
    match special {
        Special::AllOnes if byte & ones == ones => return f64::NAN.copysign(sign),
        Special::NegativeZero if byte == minus => return f64::NAN,
        Special::Ieee if exponent == i32::from(ones >> mantissa) => {
            return if fraction == 0.0 { f64::INFINITY * sign } else { f64::NAN.copysign(sign) };
        }
        _ => {}
    }
    if exponent == 0 {
        sign * fraction / scale * 2f64.powi(1 - bias)
    } else {
        sign * (1.0 + fraction / scale) * 2f64.powi(exponent - bias)
    }
}

/// The bits of element `index` of an array whose elements share bytes.
pub(crate) fn read_packed(dtype: DType, bytes: &[u8], index: usize) -> u8 {
    let width = dtype.bits();
    let bit = index * width;
    (bytes[bit / 8] >> (bit % 8)) & ((1u8 << width) - 1)
}

/// Writes the bits of element `index` of an array whose elements share bytes.
pub(crate) fn write_packed(dtype: DType, bytes: &mut [u8], index: usize, bits: u8) {
    let width = dtype.bits();
    let bit = index * width;
    let (mask, shift) = ((1u8 << width) - 1, bit % 8);
    let byte = &mut bytes[bit / 8];
    *byte = (*byte & !(mask << shift)) | ((bits & mask) << shift);
}

/// The exponent of a positive, finite, normal f64: `2^e <= x < 2^(e+1)`.
fn exponent_of(x: f64) -> i32 {
    let biased = ((x.to_bits() >> 52) & 0x7ff) as i32;
    if biased == 0 { -1023 } else { biased - 1023 }
}

/// Reads element `index` of an integer or boolean array. The caller has checked the length.
pub fn read_int(dtype: DType, bytes: &[u8], index: usize) -> i128 {
    macro_rules! read {
        ($t:ty) => {{
            const N: usize = size_of::<$t>();
            let mut raw = [0u8; N];
            raw.copy_from_slice(&bytes[index * N..(index + 1) * N]);
            i128::from(<$t>::from_le_bytes(raw))
        }};
    }
    match dtype {
        DType::Bool => i128::from(bytes[index] != 0),
        DType::U2 | DType::I2 | DType::U4 | DType::I4 => {
            wrap(dtype, i128::from(read_packed(dtype, bytes, index)))
        }
        DType::U8 => read!(u8),
        DType::I8 => read!(i8),
        DType::U16 => read!(u16),
        DType::I16 => read!(i16),
        DType::U32 => read!(u32),
        DType::I32 => read!(i32),
        DType::U64 => read!(u64),
        DType::I64 => read!(i64),
        _ => 0,
    }
}

/// Writes element `index` of an integer or boolean array, wrapping.
pub fn write_int(dtype: DType, bytes: &mut [u8], index: usize, value: i128) {
    match dtype {
        DType::Bool => bytes[index] = u8::from(value != 0),
        _ if dtype.bits() < 8 => write_packed(dtype, bytes, index, value as u8),
        _ => {
            let width = dtype.bits() / 8;
            let raw = value.to_le_bytes();
            bytes[index * width..(index + 1) * width].copy_from_slice(&raw[..width]);
        }
    }
}

/// Reads element `index` of a float array. The caller has checked the length.
pub fn read_float(dtype: DType, bytes: &[u8], index: usize) -> f64 {
    let two = |i: usize| [bytes[2 * i], bytes[2 * i + 1]];
    match dtype {
        DType::F4E2M1 => small_to_f64(dtype, read_packed(dtype, bytes, index)),
        DType::F16 => f16::from_le_bytes(two(index)).to_f64(),
        DType::BF16 => bf16::from_le_bytes(two(index)).to_f64(),
        DType::F32 => {
            let mut raw = [0u8; 4];
            raw.copy_from_slice(&bytes[4 * index..4 * index + 4]);
            f64::from(f32::from_le_bytes(raw))
        }
        DType::F64 => {
            let mut raw = [0u8; 8];
            raw.copy_from_slice(&bytes[8 * index..8 * index + 8]);
            f64::from_le_bytes(raw)
        }
        _ if dtype.is_float() => small_to_f64(dtype, bytes[index]),
        _ => 0.0,
    }
}

/// Writes element `index` of a float array, rounding.
pub fn write_float(dtype: DType, bytes: &mut [u8], index: usize, value: f64) {
    match dtype {
        DType::F4E2M1 => write_packed(dtype, bytes, index, small_from_f64(dtype, value)),
        DType::F16 => bytes[2 * index..2 * index + 2].copy_from_slice(&f16_from_f64(value).to_le_bytes()),
        DType::BF16 => {
            bytes[2 * index..2 * index + 2].copy_from_slice(&bf16_from_f64(value).to_le_bytes());
        }
        DType::F32 => bytes[4 * index..4 * index + 4].copy_from_slice(&(value as f32).to_le_bytes()),
        DType::F64 => bytes[8 * index..8 * index + 8].copy_from_slice(&value.to_le_bytes()),
        _ if dtype.is_float() => bytes[index] = small_from_f64(dtype, value),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_pattern_of_a_small_float_comes_back() {
        for dtype in DType::ALL.into_iter().filter(|d| d.is_float() && d.bits() <= 8) {
            for byte in 0..=((1u32 << dtype.bits()) - 1) as u8 {
                let value = small_to_f64(dtype, byte);
                let back = small_from_f64(dtype, value);
                if value.is_nan() {
                    assert!(small_to_f64(dtype, back).is_nan());
                } else {
                    assert_eq!(back, byte, "{dtype} {byte:#x} = {value}");
                }
            }
        }
    }

    #[test]
    fn eight_bit_floats_round_ties_to_even_and_overflow() {
        assert_eq!(small_to_f64(DType::F8E4M3, 0x7e), 448.0);
        assert_eq!(round(DType::F8E4M3, 464.0), 448.0);
        assert!(round(DType::F8E4M3, 465.0).is_nan());
        assert_eq!(round(DType::F8E5M2, 61439.0), 57344.0);
        assert_eq!(round(DType::F8E5M2, 61440.0), f64::INFINITY);
        assert_eq!(round(DType::F8E4M3, 17.0), 16.0);
        assert_eq!(round(DType::F8E4M3, 19.0), 20.0);
        assert_eq!(round(DType::F8E4M3, 2f64.powi(-10)), 0.0);
        assert_eq!(round(DType::F8E4M3, 1.5 * 2f64.powi(-9)), 2f64.powi(-8));
    }

    #[test]
    fn floats_without_infinities_have_their_own_way_out() {
        assert_eq!(round(DType::F8E4M3Fnuz, 247.0), 240.0);
        assert!(round(DType::F8E4M3Fnuz, 249.0).is_nan());
        assert!(round(DType::F8E5M2Fnuz, f64::INFINITY).is_nan());
        assert_eq!(small_from_f64(DType::F8E4M3Fnuz, -0.0), 0);
        assert_eq!(small_to_f64(DType::F8E4M3Fnuz, 1), 2f64.powi(-10));
        assert_eq!(round(DType::F4E2M1, 1e9), 6.0);
        assert_eq!(round(DType::F4E2M1, -5.0), -4.0);
        assert_eq!(round(DType::F4E2M1, 0.25), 0.0);
        assert_eq!(round(DType::F4E2M1, f64::NAN), 0.0);
    }

    #[test]
    fn powers_of_two_are_the_nearest_or_nan() {
        let round = |v| round(DType::F8E8M0, v);
        assert_eq!([1.0, 1.49, 1.5, 2.9, 3.0, 0.7].map(round), [1.0, 1.0, 2.0, 2.0, 4.0, 0.5]);
        assert_eq!(round(1.4 * 2f64.powi(127)), 2f64.powi(127));
        assert_eq!(round(0.8 * 2f64.powi(-127)), 2f64.powi(-127));
        for none in
            [0.0, -0.0, -1.0, 1.5 * 2f64.powi(127), 0.7 * 2f64.powi(-127), f64::INFINITY, f64::NAN, 5e-324]
        {
            assert!(round(none).is_nan(), "{none}");
        }
    }

    #[test]
    fn bf16_rounds_once() {
        // Just above a tie in bf16, but equal to the tie after rounding to f32.
        let value = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
        assert_eq!(round(DType::BF16, value), 1.0 + 2f64.powi(-7));
        assert_eq!(round(DType::BF16, -value), -1.0 - 2f64.powi(-7));
        assert_eq!(round(DType::BF16, 1.0 + 2f64.powi(-8)), 1.0);
    }

    #[test]
    fn integers_wrap_and_floats_saturate() {
        assert_eq!(wrap(DType::U8, 300), 44);
        assert_eq!(wrap(DType::I8, 200), -56);
        assert_eq!(wrap(DType::I4, 9), -7);
        assert_eq!(wrap(DType::U64, -1), i128::from(u64::MAX));
        assert_eq!(saturate(DType::I8, 1e30), 127);
        assert_eq!(saturate(DType::U8, -3.9), 0);
        assert_eq!(saturate(DType::I64, f64::NAN), 0);
        assert_eq!(saturate(DType::I32, -2.9), -2);
    }

    #[test]
    fn large_integers_round_once_to_narrow_floats() {
        let value = (1i128 << 62) + (1i128 << 51) + 1;
        assert_eq!(float_from_int(DType::F16, value), f64::INFINITY);
        assert_eq!(
            float_from_int(DType::BF16, (1i128 << 62) + (1i128 << 54) + 1),
            2f64.powi(62) + 2f64.powi(55)
        );
    }

    #[test]
    fn nibbles_share_bytes() {
        let mut bytes = [0u8; 2];
        for (i, v) in [1i128, -8, 7].into_iter().enumerate() {
            write_int(DType::I4, &mut bytes, i, v);
        }
        assert_eq!((0..3).map(|i| read_int(DType::I4, &bytes, i)).collect::<Vec<_>>(), [1, -8, 7]);
        for (i, v) in [1i128, -2, 0, -1, 1].into_iter().enumerate() {
            write_int(DType::I2, &mut bytes, i, v);
        }
        assert_eq!((0..5).map(|i| read_int(DType::I2, &bytes, i)).collect::<Vec<_>>(), [1, -2, 0, -1, 1]);
    }
}

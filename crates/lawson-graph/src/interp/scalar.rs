//! The meaning of every elementwise kind on one element of the carriers: `f64` for floats, `i128` for integers and
//! bool. In: carrier values of a dtype; out: the result before rounding (floats) or already wrapped (integers).

use super::special::{acosh, asinh, atanh, erf};
use crate::dtype::{Class, DType};
use crate::number::wrap;
use crate::op::{BinaryKind, CompareKind, UnaryKind};

/// A unary kind on a float, not yet rounded to its dtype.
pub(super) fn unary_float(kind: UnaryKind, x: f64) -> f64 {
    match kind {
        UnaryKind::Neg => -x,
        UnaryKind::Abs => x.abs(),
        UnaryKind::Sign if x == 0.0 || x.is_nan() => x,
        UnaryKind::Sign => 1f64.copysign(x),
        UnaryKind::Floor => x.floor(),
        UnaryKind::Ceil => x.ceil(),
        UnaryKind::Round => x.round_ties_even(),
        UnaryKind::Trunc => x.trunc(),
        UnaryKind::Sqrt => x.sqrt(),
        UnaryKind::Rsqrt => 1.0 / x.sqrt(),
        UnaryKind::Exp => x.exp(),
        UnaryKind::Exp2 => x.exp2(),
        UnaryKind::Expm1 => x.exp_m1(),
        UnaryKind::Log => x.ln(),
        UnaryKind::Log1p => x.ln_1p(),
        UnaryKind::Sin => x.sin(),
        UnaryKind::Cos => x.cos(),
        UnaryKind::Tan => x.tan(),
        UnaryKind::Asin => x.asin(),
        UnaryKind::Acos => x.acos(),
        UnaryKind::Atan => x.atan(),
        UnaryKind::Sinh => x.sinh(),
        UnaryKind::Cosh => x.cosh(),
        UnaryKind::Tanh => x.tanh(),
        UnaryKind::Asinh => asinh(x),
        UnaryKind::Acosh => acosh(x),
        UnaryKind::Atanh => atanh(x),
        UnaryKind::Erf => erf(x),
        // Inference keeps `not` away from floats.
        UnaryKind::Not => f64::NAN,
    }
}

/// A binary kind on floats, not yet rounded to their dtype.
pub(super) fn binary_float(kind: BinaryKind, a: f64, b: f64) -> f64 {
    match kind {
        BinaryKind::Add => a + b,
        BinaryKind::Sub => a - b,
        BinaryKind::Mul => a * b,
        BinaryKind::Div => a / b,
        BinaryKind::Rem => a % b,
        BinaryKind::Mod => floor_mod(a, b),
        BinaryKind::Pow => a.powf(b),
        BinaryKind::Min | BinaryKind::Max if a.is_nan() || b.is_nan() => f64::NAN,
        BinaryKind::Min => a.min(b),
        BinaryKind::Max => a.max(b),
        BinaryKind::Atan2 => a.atan2(b),
        // Inference keeps the others away from floats.
        BinaryKind::FloorDiv
        | BinaryKind::And
        | BinaryKind::Or
        | BinaryKind::Xor
        | BinaryKind::Shl
        | BinaryKind::Shr => f64::NAN,
    }
}

/// The remainder with the sign of `b`; a zero takes that sign too.
fn floor_mod(a: f64, b: f64) -> f64 {
    let r = a % b;
    if r == 0.0 {
        0f64.copysign(b)
    } else if (r < 0.0) != (b < 0.0) {
        r + b
    } else {
        r
    }
}

/// A unary kind on an integer or bool.
pub(super) fn unary_int(kind: UnaryKind, dtype: DType, x: i128) -> i128 {
    let result = match kind {
        UnaryKind::Neg => -x,
        UnaryKind::Abs => x.abs(),
        UnaryKind::Sign => x.signum(),
        UnaryKind::Not if dtype == DType::Bool => 1 - x,
        UnaryKind::Not => !x,
        // Inference keeps the others away from integers.
        _ => x,
    };
    wrap(dtype, result)
}

/// A binary kind on integers or bools.
pub(super) fn binary_int(kind: BinaryKind, dtype: DType, a: i128, b: i128) -> i128 {
    let within = |shift: i128| (0..dtype.bits() as i128).contains(&shift);
    let result = match kind {
        BinaryKind::Add => a + b,
        BinaryKind::Sub => a - b,
        BinaryKind::Mul => a.wrapping_mul(b),
        BinaryKind::Div | BinaryKind::FloorDiv | BinaryKind::Rem | BinaryKind::Mod if b == 0 => 0,
        BinaryKind::Div => a / b,
        BinaryKind::FloorDiv => a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0),
        BinaryKind::Rem => a % b,
        BinaryKind::Mod => ((a % b) + b) % b,
        BinaryKind::Pow => power(a, b),
        BinaryKind::Min => a.min(b),
        BinaryKind::Max => a.max(b),
        BinaryKind::And => a & b,
        BinaryKind::Or => a | b,
        BinaryKind::Xor => a ^ b,
        BinaryKind::Shl if within(b) => a << b,
        BinaryKind::Shr if within(b) => a >> b,
        BinaryKind::Shl | BinaryKind::Shr => 0,
        // Inference keeps atan2 away from integers.
        BinaryKind::Atan2 => 0,
    };
    wrap(dtype, result)
}

/// `base` to the power `exponent` modulo 2^128.
fn power(base: i128, exponent: i128) -> i128 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 if exponent % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut result, mut square, mut left) = (1i128, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        left >>= 1;
    }
    result
}

/// A comparison of two elements of one carrier.
pub(super) fn compare<T: PartialOrd>(kind: CompareKind, a: &T, b: &T) -> bool {
    match kind {
        CompareKind::Eq => a == b,
        CompareKind::Ne => a != b,
        CompareKind::Lt => a < b,
        CompareKind::Le => a <= b,
        CompareKind::Gt => a > b,
        CompareKind::Ge => a >= b,
    }
}

/// The bits of a float as an integer of the same width.
pub(super) fn float_bits(from: DType, to: DType, x: f64) -> i128 {
    let mut bytes = [0u8; 8];
    crate::number::write_float(from, &mut bytes, 0, x);
    crate::number::read_int(to, &bytes, 0)
}

/// The float whose bits are those of an integer of the same width.
pub(super) fn float_from_bits(from: DType, to: DType, x: i128) -> f64 {
    let mut bytes = [0u8; 8];
    crate::number::write_int(from, &mut bytes, 0, x);
    crate::number::read_float(to, &bytes, 0)
}

/// The least and the greatest value of a float dtype: what `max` and `min` of nothing give.
pub(super) fn float_ends(dtype: DType) -> (f64, f64) {
    let top = if dtype.has_infinity() { f64::INFINITY } else { dtype.max_finite().unwrap_or(f64::INFINITY) };
    (-top, top)
}

/// The least and the greatest value of an integer dtype or bool.
pub(super) fn int_ends(dtype: DType) -> (i128, i128) {
    debug_assert!(dtype.class() != Class::Float);
    dtype.int_range().unwrap_or((0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_division_is_total_and_rounds_as_named() {
        let div = |kind, a, b| binary_int(kind, DType::I8, a, b);
        assert_eq!(div(BinaryKind::Div, -7, 2), -3);
        assert_eq!(div(BinaryKind::FloorDiv, -7, 2), -4);
        assert_eq!(div(BinaryKind::FloorDiv, 7, -2), -4);
        assert_eq!(div(BinaryKind::FloorDiv, -7, -2), 3);
        assert_eq!(div(BinaryKind::FloorDiv, -8, -2), 4);
        assert_eq!(div(BinaryKind::Rem, -7, 2), -1);
        assert_eq!(div(BinaryKind::Mod, -7, 2), 1);
        assert_eq!(div(BinaryKind::Mod, 7, -2), -1);
        assert_eq!(div(BinaryKind::Div, -128, -1), -128);
        assert_eq!(div(BinaryKind::Rem, -128, -1), 0);
        for kind in [BinaryKind::Div, BinaryKind::FloorDiv, BinaryKind::Rem, BinaryKind::Mod] {
            assert_eq!(div(kind, 5, 0), 0);
        }
    }

    #[test]
    fn shifts_past_the_width_give_zero() {
        assert_eq!(binary_int(BinaryKind::Shl, DType::U8, 255, 4), 240);
        assert_eq!(binary_int(BinaryKind::Shl, DType::U8, 255, 8), 0);
        assert_eq!(binary_int(BinaryKind::Shr, DType::I8, -128, 7), -1);
        assert_eq!(binary_int(BinaryKind::Shr, DType::I8, -128, 8), 0);
        assert_eq!(binary_int(BinaryKind::Shr, DType::I8, -128, -1), 0);
    }

    #[test]
    fn integer_powers_wrap() {
        assert_eq!(binary_int(BinaryKind::Pow, DType::U8, 3, 6), 729 % 256);
        assert_eq!(binary_int(BinaryKind::Pow, DType::I32, -1, -3), -1);
        assert_eq!(binary_int(BinaryKind::Pow, DType::I32, 2, -1), 0);
        assert_eq!(binary_int(BinaryKind::Pow, DType::I32, 0, 0), 1);
        assert_eq!(binary_int(BinaryKind::Pow, DType::U64, 3, i128::from(u64::MAX)), {
            (0..64).fold((1u64, 3u64), |(r, s), _| (r.wrapping_mul(s), s.wrapping_mul(s))).0 as i128
        });
    }
}

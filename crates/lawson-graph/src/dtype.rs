//! Element types: their names, widths, classes and numeric limits.
//!
//! `DType` is what a tensor type carries. How elements of each type are stored in bytes, rounded and wrapped
//! is in `number.rs`.

use crate::error::{Code, Error, Result};
use std::fmt;

/// The type of one element of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DType {
    /// One byte, 0 or 1.
    Bool,
    /// Unsigned 2 bits, four to a byte, the lowest first.
    U2,
    /// Signed 2 bits, four to a byte, the lowest first.
    I2,
    /// Unsigned 4 bits, two to a byte, the lower half first.
    U4,
    /// Signed 4 bits, two to a byte, the lower half first.
    I4,
    /// Unsigned 8 bits.
    U8,
    /// Signed 8 bits.
    I8,
    /// Unsigned 16 bits.
    U16,
    /// Signed 16 bits.
    I16,
    /// Unsigned 32 bits.
    U32,
    /// Signed 32 bits.
    I32,
    /// Unsigned 64 bits.
    U64,
    /// Signed 64 bits.
    I64,
    /// 8-bit float, 4 exponent and 3 mantissa bits, no infinities, one NaN (`e4m3fn`).
    F8E4M3,
    /// 4-bit float, 2 exponent bits and 1 mantissa bit, neither infinities nor NaN (`e2m1fn`), and no arithmetic; two
    /// to a byte, the lower half first.
    F4E2M1,
    /// 8-bit float, 5 exponent and 2 mantissa bits, with infinities.
    F8E5M2,
    /// 8-bit float, 4 exponent and 3 mantissa bits, no infinities, one NaN in the place of -0 (`e4m3fnuz`).
    F8E4M3Fnuz,
    /// 8-bit float, 5 exponent and 2 mantissa bits, no infinities, one NaN in the place of -0 (`e5m2fnuz`).
    F8E5M2Fnuz,
    /// 8-bit exponent and nothing else: powers of two from 2^-127 to 2^127, and one NaN (`e8m0fnu`). It has neither sign nor zero, and no
    /// arithmetic.
    F8E8M0,
    /// IEEE half precision.
    F16,
    /// The upper half of an f32.
    BF16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// UTF-8 text; lives on the host only.
    Str,
}

/// What arithmetic a dtype has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// `bool`
    Bool,
    /// unsigned integers
    Unsigned,
    /// signed integers
    Signed,
    /// floating point
    Float,
    /// text
    Str,
}

impl DType {
    /// Every dtype.
    pub const ALL: [DType; 24] = [
        DType::Bool,
        DType::U2,
        DType::I2,
        DType::U4,
        DType::I4,
        DType::U8,
        DType::I8,
        DType::U16,
        DType::I16,
        DType::U32,
        DType::I32,
        DType::U64,
        DType::I64,
        DType::F4E2M1,
        DType::F8E4M3,
        DType::F8E5M2,
        DType::F8E4M3Fnuz,
        DType::F8E5M2Fnuz,
        DType::F8E8M0,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::Str,
    ];

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::U2 => "u2",
            DType::I2 => "i2",
            DType::U4 => "u4",
            DType::I4 => "i4",
            DType::U8 => "u8",
            DType::I8 => "i8",
            DType::U16 => "u16",
            DType::I16 => "i16",
            DType::U32 => "u32",
            DType::I32 => "i32",
            DType::U64 => "u64",
            DType::I64 => "i64",
            DType::F8E4M3 => "f8e4m3fn",
            DType::F4E2M1 => "f4e2m1fn",
            DType::F8E5M2 => "f8e5m2",
            DType::F8E4M3Fnuz => "f8e4m3fnuz",
            DType::F8E5M2Fnuz => "f8e5m2fnuz",
            DType::F8E8M0 => "f8e8m0fnu",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::Str => "str",
        }
    }

    /// The width of one element in bits; 0 for text.
    pub fn bits(self) -> usize {
        match self {
            DType::U2 | DType::I2 => 2,
            DType::U4 | DType::I4 | DType::F4E2M1 => 4,
            DType::Bool | DType::U8 | DType::I8 => 8,
            DType::F8E4M3 | DType::F8E5M2 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz | DType::F8E8M0 => 8,
            DType::U16 | DType::I16 | DType::F16 | DType::BF16 => 16,
            DType::U32 | DType::I32 | DType::F32 => 32,
            DType::U64 | DType::I64 | DType::F64 => 64,
            DType::Str => 0,
        }
    }

    /// The bytes that `count` elements take; `None` if that overflows. Text takes none here: it is kept apart.
    pub fn bytes_for(self, count: usize) -> Option<usize> {
        count.checked_mul(self.bits()).map(|bits| bits.div_ceil(8))
    }

    /// What arithmetic it has.
    pub fn class(self) -> Class {
        match self {
            DType::Bool => Class::Bool,
            DType::U2 | DType::U4 | DType::U8 | DType::U16 | DType::U32 | DType::U64 => Class::Unsigned,
            DType::I2 | DType::I4 | DType::I8 | DType::I16 | DType::I32 | DType::I64 => Class::Signed,
            DType::Str => Class::Str,
            _ => Class::Float,
        }
    }

    /// Whether it is floating point.
    pub fn is_float(self) -> bool {
        self.class() == Class::Float
    }

    /// Whether it is a signed or unsigned integer. `bool` is not.
    pub fn is_int(self) -> bool {
        matches!(self.class(), Class::Signed | Class::Unsigned)
    }

    /// Whether it is an integer or floating point.
    pub fn is_number(self) -> bool {
        self.is_int() || self.is_float()
    }

    /// Whether operators compute with it. A float without NaN, or without zero, has no result for many of them: it is kept, moved,
    /// compared and converted, and computed with in a wider type.
    pub fn has_arithmetic(self) -> bool {
        self.is_int() || self.is_float() && !matches!(self, DType::F4E2M1 | DType::F8E8M0)
    }

    /// Whether it has a sign.
    pub fn is_signed(self) -> bool {
        matches!(self.class(), Class::Signed | Class::Float)
    }

    /// The least and greatest value of an integer or `bool`.
    pub fn int_range(self) -> Option<(i128, i128)> {
        match self.class() {
            Class::Bool => Some((0, 1)),
            Class::Unsigned => Some((0, (1i128 << self.bits()) - 1)),
            Class::Signed => Some((-(1i128 << (self.bits() - 1)), (1i128 << (self.bits() - 1)) - 1)),
            _ => None,
        }
    }

    /// The precision of a float: how many bits its significand has, the implicit one included.
    pub fn significand_bits(self) -> Option<u32> {
        Some(match self {
            DType::F8E8M0 => 1,
            DType::F4E2M1 => 2,
            DType::F8E4M3 | DType::F8E4M3Fnuz => 4,
            DType::F8E5M2 | DType::F8E5M2Fnuz => 3,
            DType::F16 => 11,
            DType::BF16 => 8,
            DType::F32 => 24,
            DType::F64 => 53,
            _ => return None,
        })
    }

    /// Half the distance from 1 to the next float: the largest relative error of one rounding.
    pub fn unit_roundoff(self) -> Option<f64> {
        self.significand_bits().map(|p| (-(p as f64)).exp2())
    }

    /// The greatest finite float.
    pub fn max_finite(self) -> Option<f64> {
        Some(match self {
            DType::F4E2M1 => 6.0,
            DType::F8E4M3 => 448.0,
            DType::F8E4M3Fnuz => 240.0,
            DType::F8E5M2 | DType::F8E5M2Fnuz => 57344.0,
            DType::F8E8M0 => 2f64.powi(127),
            DType::F16 => 65504.0,
            DType::BF16 => f64::from(f32::from_bits(0x7f7f_0000)),
            DType::F32 => f64::from(f32::MAX),
            DType::F64 => f64::MAX,
            _ => return None,
        })
    }

    /// The least positive float, subnormals included.
    pub fn min_subnormal(self) -> Option<f64> {
        let exponent = match self {
            DType::F4E2M1 => -1,
            DType::F8E4M3 => -9,
            DType::F8E4M3Fnuz => -10,
            DType::F8E5M2 => -16,
            DType::F8E5M2Fnuz => -17,
            DType::F8E8M0 => -127,
            DType::F16 => -24,
            DType::BF16 => -133,
            DType::F32 => -149,
            DType::F64 => -1074,
            _ => return None,
        };
        Some(2f64.powi(exponent))
    }

    /// Whether the float type has infinities. Those that have none give NaN where a result is too large, or their greatest
    /// value if they have no NaN either.
    pub fn has_infinity(self) -> bool {
        self.is_float() && (self.bits() > 8 || self == DType::F8E5M2)
    }

    /// Whether the float type has NaN.
    pub fn has_nan(self) -> bool {
        self.is_float() && self != DType::F4E2M1
    }

    /// The dtype in which sums and products of many elements of this dtype are kept: `f32` for narrower
    /// floats, the dtype itself otherwise.
    pub fn accumulator(self) -> DType {
        match self {
            other if other.is_float() && other.bits() < 32 => DType::F32,
            other => other,
        }
    }

    /// Whether every value of `self` is also a value of `wider`, so that a cast there and back changes nothing.
    pub fn embeds_in(self, wider: DType) -> bool {
        if self == wider {
            return true;
        }
        match (self.class(), wider.class()) {
            (Class::Str, _) | (_, Class::Str) => false,
            (Class::Float, Class::Float) => match wider {
                DType::F64 => true,
                DType::F32 => self != DType::F64,
                DType::F16 => self.bits() <= 8 && self != DType::F8E8M0,
                DType::BF16 => self.bits() <= 8,
                // Those of other bits differ in their NaNs, infinities or zeros.
                DType::F8E4M3 | DType::F8E5M2 => self == DType::F4E2M1,
                _ => false,
            },
            // It has no zero.
            (_, Class::Float) if wider == DType::F8E8M0 => false,
            (Class::Float, _) => false,
            (_, Class::Float) => {
                let Some((lo, hi)) = self.int_range() else { return false };
                let reach = 1i128 << wider.significand_bits().unwrap_or(0);
                lo >= -reach && hi <= reach && wider.max_finite().is_some_and(|m| hi as f64 <= m)
            }
            _ => match (self.int_range(), wider.int_range()) {
                (Some((lo, hi)), Some((wide_lo, wide_hi))) => wide_lo <= lo && hi <= wide_hi,
                _ => false,
            },
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for DType {
    type Err = Error;

    fn from_str(s: &str) -> Result<DType> {
        DType::ALL.iter().copied().find(|d| d.name() == s).ok_or_else(|| {
            let known: Vec<_> = DType::ALL.iter().map(|d| d.name()).collect();
            Error::new(Code::UnknownName, format!("`{s}` is not a dtype"))
                .help(format!("the dtypes are {}", known.join(", ")))
        })
    }
}

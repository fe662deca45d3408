//! The functions that every dialect of op codes knows.

use crate::opcode::{Narrow, Ty};

/// A function that every dialect knows. What it means is what the graph's primitive of that name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Primitive {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`; of floats, a sum that it is part of may round it with itself.
    Mul,
    /// Floats: `a * b`, rounded by itself.
    Product,
    /// `a / b`; integers towards zero, total.
    Div,
    /// Integers: the quotient rounded down, total.
    FloorDiv,
    /// The remainder with the sign of `a`, total; exact for floats.
    Rem,
    /// The remainder with the sign of `b`, total.
    Mod,
    /// Integers: `a` to the power `b`, total.
    Pow,
    /// Floats: `a * b + c`, rounded once.
    Fma,
    /// `a * b + c`, rounded once or twice.
    MulAdd,
    /// The lesser; NaN if either is.
    Min,
    /// The greater; NaN if either is.
    Max,
    /// `a` if `a < b`, else `b`.
    Lesser,
    /// `a` if `a > b`, else `b`.
    Greater,
    /// `-a`
    Neg,
    /// `|a|`
    Abs,
    /// -1, 0 or 1; a zero keeps its sign, NaN stays.
    Sign,
    /// The greatest whole number not above.
    Floor,
    /// The least whole number not below.
    Ceil,
    /// The nearest whole number, ties to even.
    Round,
    /// The whole part.
    Trunc,
    /// The square root.
    Sqrt,
    /// Whether it is NaN.
    IsNan,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Every bit flipped.
    Not,
    /// Shift left; past the width 0.
    Shl,
    /// Shift right, copies of the sign coming in where there is one; past the width 0.
    Shr,
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
    /// `(condition, a, b)`: `a` where the condition holds, else `b`. Its type is that of `a`.
    Select,
    /// The value in this type: floats saturate, integers wrap, bool is `x != 0`.
    Cast(Ty),
    /// The bits in this type.
    Bitcast(Ty),
    /// An integer as the narrow one of its low bits; a float rounded to the narrow one.
    Narrow(Narrow),
    /// A float as the narrow integer that is nearest towards zero; saturates.
    Saturate(Narrow),
    /// The bits of a float, rounded to the narrow one, as an unsigned integer.
    BitsOf(Narrow),
    /// The narrow float of these bits, the low ones of an unsigned integer.
    OfBits(Narrow),
}

impl Primitive {
    /// Its name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Primitive::Add => "add",
            Primitive::Sub => "sub",
            Primitive::Mul => "mul",
            Primitive::Product => "product",
            Primitive::Div => "div",
            Primitive::FloorDiv => "floor_div",
            Primitive::Rem => "rem",
            Primitive::Mod => "mod",
            Primitive::Pow => "pow",
            Primitive::Fma => "fma",
            Primitive::MulAdd => "mul_add",
            Primitive::Min => "min",
            Primitive::Max => "max",
            Primitive::Lesser => "lesser",
            Primitive::Greater => "greater",
            Primitive::Neg => "neg",
            Primitive::Abs => "abs",
            Primitive::Sign => "sign",
            Primitive::Floor => "floor",
            Primitive::Ceil => "ceil",
            Primitive::Round => "round",
            Primitive::Trunc => "trunc",
            Primitive::Sqrt => "sqrt",
            Primitive::IsNan => "is_nan",
            Primitive::And => "and",
            Primitive::Or => "or",
            Primitive::Xor => "xor",
            Primitive::Not => "not",
            Primitive::Shl => "shl",
            Primitive::Shr => "shr",
            Primitive::Eq => "eq",
            Primitive::Ne => "ne",
            Primitive::Lt => "lt",
            Primitive::Le => "le",
            Primitive::Select => "select",
            Primitive::Cast(_) => "to",
            Primitive::Bitcast(_) => "bits",
            Primitive::Narrow(_) => "narrow",
            Primitive::Saturate(_) => "saturate",
            Primitive::BitsOf(_) => "bits_of",
            Primitive::OfBits(_) => "of_bits",
        }
    }
}

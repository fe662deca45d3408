//! Elementwise primitives: unary, binary, compare, select, cast, bitcast. Operands have equal shapes; nothing
//! broadcasts by itself.

use super::infer::{Accept, Infer};
use crate::dtype::DType;
use crate::error::{Code, Result};
use crate::types::Type;
use crate::{attributes, keywords};

keywords! {
    /// A function of one number.
    pub enum UnaryKind {
        /// `-x`; integers wrap.
        Neg = "neg",
        /// `|x|`; the least integer stays as it is.
        Abs = "abs",
        /// -1, 0 or 1; a zero keeps its sign, NaN stays.
        Sign = "sign",
        /// Every bit flipped; for bool, the other value.
        Not = "not",
        /// The greatest whole number not above.
        Floor = "floor",
        /// The least whole number not below.
        Ceil = "ceil",
        /// The nearest whole number, ties to even.
        Round = "round",
        /// The whole part, towards zero.
        Trunc = "trunc",
        /// The square root.
        Sqrt = "sqrt",
        /// `1 / sqrt(x)`.
        Rsqrt = "rsqrt",
        /// `e^x`.
        Exp = "exp",
        /// `2^x`.
        Exp2 = "exp2",
        /// `e^x - 1`, accurate near 0.
        Expm1 = "expm1",
        /// The natural logarithm.
        Log = "log",
        /// `log(1 + x)`, accurate near 0.
        Log1p = "log1p",
        /// The sine.
        Sin = "sin",
        /// The cosine.
        Cos = "cos",
        /// The tangent.
        Tan = "tan",
        /// The inverse sine.
        Asin = "asin",
        /// The inverse cosine.
        Acos = "acos",
        /// The inverse tangent.
        Atan = "atan",
        /// The hyperbolic sine.
        Sinh = "sinh",
        /// The hyperbolic cosine.
        Cosh = "cosh",
        /// The hyperbolic tangent.
        Tanh = "tanh",
        /// The inverse hyperbolic sine.
        Asinh = "asinh",
        /// The inverse hyperbolic cosine.
        Acosh = "acosh",
        /// The inverse hyperbolic tangent.
        Atanh = "atanh",
        /// The error function.
        Erf = "erf",
    }
}

keywords! {
    /// A function of two numbers of one dtype.
    pub enum BinaryKind {
        /// `a + b`; integers wrap.
        Add = "add",
        /// `a - b`; integers wrap.
        Sub = "sub",
        /// `a * b`; integers wrap.
        Mul = "mul",
        /// `a / b`; integers round towards zero, `x / 0` is 0, the least integer over -1 wraps.
        Div = "div",
        /// Integers only: the quotient rounded down; `x / 0` is 0.
        FloorDiv = "floor_div",
        /// The remainder with the sign of `a`; for integers `x rem 0` is 0.
        Rem = "rem",
        /// The remainder with the sign of `b`; for integers `x mod 0` is 0.
        Mod = "mod",
        /// `a` to the power `b`. For integers: wraps; a negative power of 1 or -1 is exact, of anything else 0.
        Pow = "pow",
        /// The lesser; NaN if either is. Of two zeros, either.
        Min = "min",
        /// The greater; NaN if either is. Of two zeros, either.
        Max = "max",
        /// The angle of the point (b, a).
        Atan2 = "atan2",
        /// Bitwise and, logical for bool.
        And = "and",
        /// Bitwise or, logical for bool.
        Or = "or",
        /// Bitwise exclusive or, logical for bool.
        Xor = "xor",
        /// Shift left; past the width, or by a negative amount, gives 0.
        Shl = "shl",
        /// Shift right, keeping the sign of signed integers; past the width, or by a negative amount, gives 0.
        Shr = "shr",
    }
}

keywords! {
    /// A comparison. As in IEEE, NaN is unordered and differs from everything.
    pub enum CompareKind {
        /// `a == b`
        Eq = "eq",
        /// `a != b`
        Ne = "ne",
        /// `a < b`
        Lt = "lt",
        /// `a <= b`
        Le = "le",
        /// `a > b`
        Gt = "gt",
        /// `a >= b`
        Ge = "ge",
    }
}

attributes! {
    /// Conversion of the value. Float to integer truncates and saturates, NaN becomes 0; integer to integer
    /// wraps; to float rounds to nearest even; to bool is `x != 0` (so NaN is true); bool gives 0 or 1.
    pub struct Cast {
        /// The dtype of the result.
        pub to: DType,
    }
}

attributes! {
    /// The same bits read as another dtype of the same width. Not for bool.
    pub struct Bitcast {
        /// The dtype of the result.
        pub to: DType,
    }
}

impl UnaryKind {
    /// The dtypes that it takes.
    pub fn accepts(self) -> Accept {
        match self {
            UnaryKind::Neg => Accept::NUMBER,
            UnaryKind::Abs | UnaryKind::Sign => Accept::NUMBER,
            UnaryKind::Not => Accept::INT_OR_BOOL,
            _ => Accept::FLOAT,
        }
    }

    /// The result type.
    pub fn infer(self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(1)?;
        let t = cx.tensor(0, self.accepts())?;
        cx.result(t.dtype, t.shape.clone())
    }
}

impl BinaryKind {
    /// The dtypes that it takes.
    pub fn accepts(self) -> Accept {
        match self {
            BinaryKind::And | BinaryKind::Or | BinaryKind::Xor => Accept::INT_OR_BOOL,
            BinaryKind::Shl | BinaryKind::Shr | BinaryKind::FloorDiv => Accept::INT,
            BinaryKind::Atan2 => Accept::FLOAT,
            _ => Accept::NUMBER,
        }
    }

    /// Whether the operands may change places.
    pub fn commutes(self) -> bool {
        matches!(
            self,
            BinaryKind::Add
                | BinaryKind::Mul
                | BinaryKind::Min
                | BinaryKind::Max
                | BinaryKind::And
                | BinaryKind::Or
                | BinaryKind::Xor
        )
    }

    /// The result type.
    pub fn infer(self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(2)?;
        cx.tensor(0, self.accepts())?;
        cx.tensor(1, self.accepts())?;
        let dtype = cx.same_dtype(0, 1)?;
        let shape = cx.same_shape(0, 1)?.clone();
        cx.result(dtype, shape)
    }
}

impl CompareKind {
    /// The comparison with its operands exchanged.
    pub fn flipped(self) -> CompareKind {
        match self {
            CompareKind::Lt => CompareKind::Gt,
            CompareKind::Le => CompareKind::Ge,
            CompareKind::Gt => CompareKind::Lt,
            CompareKind::Ge => CompareKind::Le,
            same => same,
        }
    }

    /// The result type.
    pub fn infer(self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(2)?;
        let accept = match self {
            CompareKind::Eq | CompareKind::Ne => Accept::ANY,
            _ => Accept::NUMBER_OR_BOOL,
        };
        cx.tensor(0, accept)?;
        cx.same_dtype(0, 1)?;
        let shape = cx.same_shape(0, 1)?.clone();
        cx.result(DType::Bool, shape)
    }
}

/// `select(condition, a, b)`: elements of `a` where the condition is true, of `b` elsewhere.
pub fn infer_select(cx: Infer<'_>) -> Result<Vec<Type>> {
    cx.count(3)?;
    cx.tensor(0, Accept::BOOL)?;
    let dtype = cx.same_dtype(1, 2)?;
    cx.same_shape(1, 2)?;
    cx.same_shape(1, 0)?;
    let shape = cx.same_shape(1, 2)?.clone();
    cx.result(dtype, shape)
}

impl Cast {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(1)?;
        let t = cx.tensor(0, Accept::NOT_TEXT)?;
        if self.to == DType::Str {
            return Err(cx.attr_error("to", "numbers cannot be cast to text"));
        }
        cx.result(self.to, t.shape.clone())
    }
}

impl Bitcast {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(1)?;
        let t = cx.tensor(0, Accept::NUMBER)?;
        if !self.to.is_number() || self.to.bits() != t.dtype.bits() {
            let message =
                format!("{} has {} bits, {} has {}", t.dtype, t.dtype.bits(), self.to, self.to.bits());
            return Err(cx
                .error(Code::OperandDType, 0, message)
                .help("bitcast keeps the width; bool has no bits to read"));
        }
        cx.result(self.to, t.shape.clone())
    }
}

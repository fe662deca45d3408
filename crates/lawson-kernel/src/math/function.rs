//! [`Function`]: every expansion of one argument by name, with the accuracy that is promised and tested.

use super::*;
use lawson_graph::op::UnaryKind;

macro_rules! functions {
    ($($(#[$doc:meta])* $variant:ident = $function:ident, $max_ulp:literal, $max_ulp_double:literal;)*) => {
        /// A function of one float that has an expansion.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Function {
            $($(#[$doc])* $variant,)*
        }

        impl Function {
            /// All of them.
            pub const ALL: &'static [Function] = &[$(Function::$variant),*];

            /// The name of the expansion.
            pub fn name(self) -> &'static str {
                match self {
                    $(Function::$variant => stringify!($function),)*
                }
            }

            /// The greatest distance from the true value, in units in the last place of the result, over all f32.
            pub fn max_ulp(self) -> f64 {
                match self {
                    $(Function::$variant => $max_ulp,)*
                }
            }

            /// The same of the expansion for f64.
            pub fn max_ulp_double(self) -> f64 {
                match self {
                    $(Function::$variant => $max_ulp_double,)*
                }
            }

            /// Expands the function of an f64.
            #[inline]
            pub fn expand_double<K: double::Double>(self, k: &mut K, x: K::F) -> K::F {
                match self {
                    $(Function::$variant => double::$function(k, x),)*
                }
            }

            /// Expands the function of `x`.
            #[inline]
            pub fn expand<K: Arithmetic>(self, k: &mut K, x: K::F) -> K::F {
                match self {
                    $(Function::$variant => $function(k, x),)*
                }
            }
        }
    };
}

functions! {
    /// `1 / sqrt(x)`
    Rsqrt = rsqrt, 1.5, 1.5;
    /// `e^x`
    Exp = exp, 1.0, 1.5;
    /// `2^x`
    Exp2 = exp2, 1.0, 1.5;
    /// `e^x - 1`
    Expm1 = expm1, 2.0, 2.0;
    /// `1 / (1 + e^-x)`
    Sigmoid = sigmoid, 2.5, 2.5;
    /// The natural logarithm.
    Log = log, 1.0, 1.0;
    /// The logarithm to base 2.
    Log2 = log2, 2.0, 2.0;
    /// `log(1 + x)`
    Log1p = log1p, 1.5, 1.5;
    /// The sine.
    Sin = sin, 2.0, 2.0;
    /// The cosine.
    Cos = cos, 2.0, 2.0;
    /// The tangent.
    Tan = tan, 3.0, 3.0;
    /// The inverse sine.
    Asin = asin, 2.5, 2.5;
    /// The inverse cosine.
    Acos = acos, 1.5, 1.5;
    /// The inverse tangent.
    Atan = atan, 2.0, 2.0;
    /// The hyperbolic sine.
    Sinh = sinh, 2.0, 2.5;
    /// The hyperbolic cosine.
    Cosh = cosh, 1.5, 1.5;
    /// The hyperbolic tangent.
    Tanh = tanh, 1.5, 3.0;
    /// The inverse hyperbolic sine.
    Asinh = asinh, 2.0, 2.0;
    /// The inverse hyperbolic cosine.
    Acosh = acosh, 2.5, 2.0;
    /// The inverse hyperbolic tangent.
    Atanh = atanh, 2.5, 2.0;
    /// The error function.
    Erf = erf, 2.0, 1.5;
}

impl Function {
    /// The expansion of an operator of one number; `None` for those that need none.
    pub fn of(kind: UnaryKind) -> Option<Function> {
        Some(match kind {
            UnaryKind::Rsqrt => Function::Rsqrt,
            UnaryKind::Exp => Function::Exp,
            UnaryKind::Exp2 => Function::Exp2,
            UnaryKind::Expm1 => Function::Expm1,
            UnaryKind::Log => Function::Log,
            UnaryKind::Log1p => Function::Log1p,
            UnaryKind::Sin => Function::Sin,
            UnaryKind::Cos => Function::Cos,
            UnaryKind::Tan => Function::Tan,
            UnaryKind::Asin => Function::Asin,
            UnaryKind::Acos => Function::Acos,
            UnaryKind::Atan => Function::Atan,
            UnaryKind::Sinh => Function::Sinh,
            UnaryKind::Cosh => Function::Cosh,
            UnaryKind::Tanh => Function::Tanh,
            UnaryKind::Asinh => Function::Asinh,
            UnaryKind::Acosh => Function::Acosh,
            UnaryKind::Atanh => Function::Atanh,
            UnaryKind::Erf => Function::Erf,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_and_their_expansions_have_one_name() {
        let mut rest = Function::ALL.to_vec();
        for &kind in UnaryKind::ALL {
            if let Some(function) = Function::of(kind) {
                assert_eq!(kind.name(), function.name());
                rest.retain(|f| *f != function);
            }
        }
        // These stand for patterns of several operators.
        assert_eq!(rest, [Function::Sigmoid, Function::Log2]);
    }
}

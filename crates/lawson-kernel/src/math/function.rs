//! [`Function`]: every expansion of one argument by name, with the accuracy that is promised and tested.

use super::*;

macro_rules! functions {
    ($($(#[$doc:meta])* $variant:ident = $function:ident, $max_ulp:literal;)*) => {
        /// A function of one f32 that has an expansion.
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
    /// `e^x`
    Exp = exp, 1.0;
    /// `1 / (1 + e^-x)`
    Sigmoid = sigmoid, 2.0;
    /// The natural logarithm.
    Log = log, 1.0;
    /// The hyperbolic tangent.
    Tanh = tanh, 2.0;
    /// The error function.
    Erf = erf, 2.0;
}

//! The functions in f64, each accurate to far below a unit in the last place of f32.

use lawson_kernel::math::Function;

/// The true value of the function at `x`.
pub fn reference(function: Function, x: f32) -> f64 {
    let x = f64::from(x);
    match function {
        Function::Rsqrt => 1.0 / x.sqrt(),
        Function::Exp => x.exp(),
        Function::Exp2 => x.exp2(),
        Function::Expm1 => x.exp_m1(),
        Function::Sigmoid => sigmoid(x),
        Function::Log => x.ln(),
        Function::Log2 => x.log2(),
        Function::Log1p => x.ln_1p(),
        Function::Sin => x.sin(),
        Function::Cos => x.cos(),
        Function::Tan => x.tan(),
        Function::Asin => x.asin(),
        Function::Acos => x.acos(),
        Function::Atan => x.atan(),
        Function::Sinh => x.sinh(),
        Function::Cosh => x.cosh(),
        Function::Tanh => x.tanh(),
        Function::Asinh => asinh(x),
        Function::Acosh => acosh(x),
        Function::Atanh => (0.5 * (2.0 * x.abs() / (1.0 - x.abs())).ln_1p()).copysign(x),
        Function::Erf => erf(x),
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn asinh(x: f64) -> f64 {
    let a = x.abs();
    if a.is_infinite() { x } else { (a + a * a / (1.0 + (a * a + 1.0).sqrt())).ln_1p().copysign(x) }
}

fn acosh(x: f64) -> f64 {
    let t = x - 1.0;
    if t < 0.0 { f64::NAN } else { (t + (2.0 * t + t * t).sqrt()).ln_1p() }
}

/// `erf` by its power series near 0, by the continued fraction of [`erfc`] beyond.
pub fn erf(x: f64) -> f64 {
    let a = x.abs();
    if x.is_nan() || a == 0.0 {
        x
    } else if a < 1.5 {
        // Σ (-1)^n x^(2n+1) / (n! (2n+1)), whose terms stay below 4 here.
        let mut power = a;
        let mut sum = a;
        for n in 1..40 {
            power *= -a * a / f64::from(n);
            sum += power / f64::from(2 * n + 1);
        }
        (sum * std::f64::consts::FRAC_2_SQRT_PI).copysign(x)
    } else {
        (1.0 - erfc_fraction(a)).copysign(x)
    }
}

/// `e^(-x²)/√π / (x + (1/2)/(x + (2/2)/(x + …)))` for `x >= 1.5`.
pub fn erfc_fraction(x: f64) -> f64 {
    if x > 30.0 {
        return 0.0;
    }
    let depth = (200.0 / (x * x)) as u32 + 4;
    let tail = (1..=depth).rev().fold(x, |inner, k| x + 0.5 * f64::from(k) / inner);
    let square = x * x;
    let lost = x.mul_add(x, -square);
    (-square).exp() * (1.0 - lost) * std::f64::consts::FRAC_2_SQRT_PI / 2.0 / tail
}

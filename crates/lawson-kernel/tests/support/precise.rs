//! The functions of f64 to about 30 digits, on sums of two floats.

use lawson_kernel::math::Function;

/// A number as the sum of two floats, of which the second is at most half a unit of the first.
#[derive(Clone, Copy, Debug)]
pub struct Dd(pub f64, pub f64);

/// π/2 and ln 2 in several floats.
const HALF_PI: [f64; 4] =
    [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33, 5.562271104316826e-50];
const LN_2: [f64; 3] = [std::f64::consts::LN_2, 2.3190468138462996e-17, 5.707708438416212e-34];

/// The bits of 1/π after the point.
const INVERSE_PI: [u64; 20] = [
    0x517cc1b727220a94,
    0xfe13abe8fa9a6ee0,
    0x6db14acc9e21c820,
    0xff28b1d5ef5de2b0,
    0xdb92371d2126e970,
    0x324977504e8c90e,
    0x7f0ef58e5894d39f,
    0x74411afa975da242,
    0x74ce38135a2fbf20,
    0x9cc8eb1cc1a99cfa,
    0x4e422fc5defc941d,
    0x8ffc4bffef02cc07,
    0xf79788c5ad05368f,
    0xb69b3f6793e584db,
    0xa7a31fb34f2ff516,
    0xba93dd63f5f2f8bd,
    0x9e839cfbc5294975,
    0x35fdafd88fc6ae84,
    0x2b0198237e3db5d5,
    0xf867de104d7a1b0e,
];

fn two_sum(a: f64, b: f64) -> Dd {
    let sum = a + b;
    let b_in = sum - a;
    Dd(sum, (a - (sum - b_in)) + (b - b_in))
}

fn two_product(a: f64, b: f64) -> Dd {
    let product = a * b;
    Dd(product, a.mul_add(b, -product))
}

impl Dd {
    pub const ZERO: Dd = Dd(0.0, 0.0);

    pub fn of(x: f64) -> Dd {
        Dd(x, 0.0)
    }

    fn add(self, other: Dd) -> Dd {
        let Dd(high, low) = two_sum(self.0, other.0);
        let Dd(more, rest) = two_sum(self.1, other.1);
        let Dd(high, low) = two_sum(high, low + more);
        two_sum(high, low + rest)
    }

    fn neg(self) -> Dd {
        Dd(-self.0, -self.1)
    }

    fn sub(self, other: Dd) -> Dd {
        self.add(other.neg())
    }

    fn mul(self, other: Dd) -> Dd {
        let Dd(high, low) = two_product(self.0, other.0);
        two_sum(high, low + (self.0 * other.1 + self.1 * other.0))
    }

    fn div(self, other: Dd) -> Dd {
        let first = self.0 / other.0;
        let rest = self.sub(other.mul(Dd::of(first)));
        let second = rest.0 / other.0;
        let rest = rest.sub(other.mul(Dd::of(second)));
        two_sum(first, second).add(Dd::of(rest.0 / other.0))
    }

    fn sqrt(self) -> Dd {
        if self.0 == 0.0 {
            return self;
        }
        let root = self.0.sqrt();
        let rest = self.sub(two_product(root, root));
        two_sum(root, rest.0 / (2.0 * root))
    }

    fn times(self, power: i32) -> Dd {
        // In two steps, so that powers beyond the range have a way too.
        let (half, rest) = (power / 2, power - power / 2);
        Dd(self.0 * 2f64.powi(half) * 2f64.powi(rest), self.1 * 2f64.powi(half) * 2f64.powi(rest))
    }
}

fn ln_2() -> Dd {
    Dd(LN_2[0], LN_2[1])
}

fn half_pi() -> Dd {
    Dd(HALF_PI[0], HALF_PI[1])
}

/// `(e^r - 1, n)` with `x = n·ln2 + r`.
fn exp_parts(x: Dd) -> (Dd, i32) {
    /// How often the argument is halved.
    const HALVINGS: i32 = 8;
    let n = (x.0 / LN_2[0]).round();
    let mut r = x;
    for part in LN_2 {
        r = r.sub(two_product(n, part));
    }
    let r = r.times(-HALVINGS);
    let (mut term, mut sum) = (r, r);
    for k in 2..12 {
        term = term.mul(r).div(Dd::of(f64::from(k)));
        sum = sum.add(term);
    }
    for _ in 0..HALVINGS {
        sum = sum.add(sum).add(sum.mul(sum));
    }
    (sum, n as i32)
}

fn exp(x: Dd) -> Dd {
    if x.0 > 1500.0 {
        return Dd::of(f64::INFINITY);
    }
    if x.0 < -1500.0 {
        return Dd::ZERO;
    }
    let (g, n) = exp_parts(x);
    let p = Dd::of(1.0).add(g);
    if n > 1100 { Dd::of(f64::INFINITY) } else { p.times(n) }
}

fn expm1(x: Dd) -> Dd {
    if x.0 > 700.0 {
        return exp(x);
    }
    if x.0 < -100.0 {
        return Dd::of(-1.0);
    }
    let (g, n) = exp_parts(x);
    if n == 0 { g } else { Dd::of(1.0).add(g).times(n).sub(Dd::of(1.0)) }
}

fn log1p(x: Dd) -> Dd {
    if x.0.abs() > 1e-3 {
        return log(Dd::of(1.0).add(x));
    }
    let (mut power, mut sum) = (x, x);
    for k in 2..14 {
        power = power.mul(x).neg();
        sum = sum.add(power.div(Dd::of(f64::from(k))));
    }
    sum
}

fn log(x: Dd) -> Dd {
    if x.0 <= 0.0 || !x.0.is_finite() {
        return Dd::of(x.0.ln());
    }
    let one = Dd::of(1.0);
    if (x.0 - 1.0).abs() < 5e-4 {
        return log1p(x.sub(one));
    }
    // Away from the ends of the range.
    let n = x.0.log2().round() as i32;
    let x = x.times(-n);
    let near = x.0.ln();
    let e = x.mul(exp(Dd::of(-near))).sub(one);
    Dd::of(near).add(log1p(e)).add(ln_2().mul(Dd::of(f64::from(n))))
}

/// `x = r + n·π/2`, with `n` modulo 4.
fn quarter_turns(x: f64) -> (Dd, u64) {
    let a = x.abs();
    if a < 1e6 {
        let n = (x / HALF_PI[0]).round();
        let r = HALF_PI.iter().fold(Dd::of(x), |r, part| r.sub(two_product(n, *part)));
        return (r, (n as i64 & 3) as u64);
    }
    let bits = a.to_bits();
    let (mantissa, exponent) = ((bits & ((1 << 52) - 1)) | 1 << 52, (bits >> 52) as i64 - 1075);
    // Of 2·x/π, bits that stand for multiples of 4 are left out, and 256 that follow are taken.
    let scale = exponent + 1;
    let start = (scale - 1).max(1) - 1;
    let bit = |n: i64| INVERSE_PI[(n / 64) as usize] >> (63 - n % 64) & 1;
    let window: [u64; 4] =
        std::array::from_fn(|w| (0..64).fold(0, |v, b| v << 1 | bit(start + w as i64 * 64 + b)));
    let (mut product, mut carry) = ([0u64; 5], 0u128);
    for w in (0..4).rev() {
        let sum = u128::from(window[w]) * u128::from(mantissa) + carry;
        (product[w + 1], carry) = (sum as u64, sum >> 64);
    }
    product[0] = carry as u64;
    let point = start + 256 - scale;
    let at = |n: i64| if (0..320).contains(&n) { product[(4 - n / 64) as usize] >> (n % 64) & 1 } else { 0 };
    let mut n = at(point) + 2 * at(point + 1);
    let mut fraction = Dd::ZERO;
    for b in 1..=200 {
        if at(point - b) == 1 {
            fraction = fraction.add(Dd::of(2f64.powi(-b as i32)));
        }
    }
    if fraction.0 >= 0.5 {
        fraction = fraction.sub(Dd::of(1.0));
        n += 1;
    }
    let r = fraction.mul(half_pi());
    if x < 0.0 { (r.neg(), (4 - n) & 3) } else { (r, n & 3) }
}

/// The sine and the cosine of a number up to π/4 or so.
fn sin_cos(r: Dd) -> (Dd, Dd) {
    let square = r.mul(r);
    let series = |first: Dd, from: i32| {
        let (mut term, mut sum) = (first, first);
        for k in 0..16 {
            let (a, b) = (f64::from(from + 2 * k), f64::from(from + 2 * k + 1));
            term = term.mul(square).div(Dd::of(a * b)).neg();
            sum = sum.add(term);
        }
        sum
    };
    (series(r, 2), series(Dd::of(1.0), 1))
}

fn sin(x: f64) -> Dd {
    let (r, n) = quarter_turns(x);
    let (sin, cos) = sin_cos(r);
    match n {
        0 => sin,
        1 => cos,
        2 => sin.neg(),
        _ => cos.neg(),
    }
}

fn cos(x: f64) -> Dd {
    let (r, n) = quarter_turns(x);
    let (sin, cos) = sin_cos(r);
    match n {
        0 => cos,
        1 => sin.neg(),
        2 => cos.neg(),
        _ => sin,
    }
}

/// The inverse tangent of a number from 0 on.
fn atan(x: Dd) -> Dd {
    if x.0 > 1.0 {
        return half_pi().sub(atan(Dd::of(1.0).div(x)));
    }
    let near = x.0.atan();
    let (sin, cos) = sin_cos(Dd::of(near));
    let t = sin.div(cos);
    let rest = x.sub(t).div(Dd::of(1.0).add(x.mul(t)));
    Dd::of(near).add(rest)
}

fn asin(x: Dd) -> Dd {
    let one = Dd::of(1.0);
    atan(x.div(one.sub(x).mul(one.add(x)).sqrt()))
}

fn erf(a: f64) -> Dd {
    if a >= 3.0 {
        return Dd::of(1.0).sub(Dd::of(super::reference::erfc_fraction(a)));
    }
    let square = two_product(a, a);
    let (mut power, mut sum) = (Dd::of(a), Dd::of(a));
    for n in 1..90 {
        power = power.mul(square).div(Dd::of(f64::from(n))).neg();
        sum = sum.add(power.div(Dd::of(f64::from(2 * n + 1))));
    }
    // 2/√π
    sum.mul(Dd::of(2.0)).div(half_pi().mul(Dd::of(2.0)).sqrt())
}

/// Functions that are `x` near 0, and those that are infinite where `x` is.
const ODD: [Function; 10] = [
    Function::Expm1,
    Function::Log1p,
    Function::Sin,
    Function::Tan,
    Function::Asin,
    Function::Atan,
    Function::Sinh,
    Function::Tanh,
    Function::Asinh,
    Function::Atanh,
];
const GROWING: [Function; 4] = [Function::Sinh, Function::Cosh, Function::Asinh, Function::Acosh];

/// The true value of the function at `x`.
pub fn precisely(function: Function, x: f64) -> Dd {
    let (one, two, a) = (Dd::of(1.0), Dd::of(2.0), x.abs());
    let signed = |v: Dd| if x.is_sign_negative() { v.neg() } else { v };
    let itself = Dd::of(x);
    if x.is_nan() {
        return itself;
    }
    // So small that every function of the form x + c·x² is x, and products of parts would vanish.
    let tiny = a < 1e-200;
    if tiny && ODD.contains(&function) {
        return itself;
    }
    if x.is_infinite() && GROWING.contains(&function) && (x > 0.0 || function != Function::Acosh) {
        return Dd::of(if function == Function::Cosh { a } else { x });
    }
    let odd = |of: &dyn Fn() -> Dd| if x == 0.0 { itself } else { signed(of()) };
    match function {
        Function::Rsqrt if x <= 0.0 || x.is_infinite() => Dd::of(1.0 / x.sqrt()),
        Function::Rsqrt => one.div(itself.sqrt()),
        Function::Exp => exp(itself),
        Function::Exp2 if a > 2000.0 => Dd::of(x.exp2()),
        Function::Exp2 => exp(ln_2().mul(itself)),
        Function::Expm1 if x == 0.0 => itself,
        Function::Expm1 => expm1(itself),
        Function::Sigmoid if x > 0.0 => one.div(one.add(exp(itself.neg()))),
        Function::Sigmoid => exp(itself).div(one.add(exp(itself))),
        Function::Log => log(itself),
        Function::Log2 if x <= 0.0 || x.is_infinite() => Dd::of(x.log2()),
        Function::Log2 => log(itself).div(ln_2()),
        Function::Log1p if x == 0.0 || x.is_infinite() => Dd::of(x.ln_1p()),
        Function::Log1p => log1p(itself),
        Function::Sin | Function::Cos | Function::Tan if x.is_infinite() => Dd::of(f64::NAN),
        Function::Sin if x == 0.0 => itself,
        Function::Sin => sin(x),
        Function::Cos => cos(x),
        Function::Tan if x == 0.0 => itself,
        Function::Tan => sin(x).div(cos(x)),
        Function::Asin | Function::Acos if a > 1.0 => Dd::of(f64::NAN),
        Function::Asin if a == 1.0 => signed(half_pi()),
        Function::Asin => odd(&|| asin(Dd::of(a))),
        Function::Acos if x <= -0.5 => two.mul(half_pi()).sub(precisely(Function::Acos, -x)),
        Function::Acos if x >= 0.5 => two.mul(asin(one.sub(itself).div(two).sqrt())),
        Function::Acos => half_pi().sub(signed(asin(Dd::of(a)))),
        Function::Atan if a > 1e30 => signed(half_pi()),
        Function::Atan => odd(&|| atan(Dd::of(a))),
        Function::Sinh if a > 40.0 => signed(exp(Dd::of(a).sub(ln_2()))),
        Function::Sinh => odd(&|| {
            let t = expm1(Dd::of(a));
            t.add(t.div(t.add(one))).div(two)
        }),
        Function::Cosh if a > 40.0 => exp(Dd::of(a).sub(ln_2())),
        Function::Cosh => exp(itself).add(exp(itself.neg())).div(two),
        Function::Tanh if a > 40.0 => signed(one),
        Function::Tanh => odd(&|| {
            let t = expm1(Dd::of(2.0 * a));
            t.div(t.add(two))
        }),
        Function::Asinh if a > 1e12 => signed(log(Dd::of(a)).add(ln_2())),
        Function::Asinh => odd(&|| {
            let square = two_product(a, a);
            let root = square.add(one).sqrt();
            log1p(Dd::of(a).add(square.div(one.add(root))))
        }),
        Function::Acosh if x < 1.0 => Dd::of(f64::NAN),
        Function::Acosh if a > 1e12 => log(itself).add(ln_2()),
        Function::Acosh => {
            let t = itself.sub(one);
            log1p(t.add(t.add(t).add(t.mul(t)).sqrt()))
        }
        Function::Atanh if a > 1.0 => Dd::of(f64::NAN),
        Function::Atanh if a == 1.0 => signed(Dd::of(f64::INFINITY)),
        Function::Atanh => odd(&|| log1p(Dd::of(2.0 * a).div(one.sub(Dd::of(a)))).div(two)),
        Function::Erf => odd(&|| erf(a)),
    }
}

/// `x` to the power `y`, for positive finite `x`.
pub fn power(x: f64, y: f64) -> Dd {
    exp(log(Dd::of(x)).mul(Dd::of(y)))
}

/// The angle of a point with positive coordinates.
pub fn angle(y: f64, x: f64) -> Dd {
    atan(Dd::of(y).div(Dd::of(x)))
}

/// The distance of `found` from the true value, in units in the last place of f64 at the true value.
pub fn distance(found: f64, truth: Dd) -> f64 {
    if truth.0.is_nan() || found.is_nan() {
        return if truth.0.is_nan() && found.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if found.to_bits() == truth.0.to_bits() && (truth.0 == 0.0 || truth.0.is_infinite()) {
        return 0.0;
    }
    let exponent = ((truth.0.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let unit = exponent.clamp(-1022, 1023) - 52;
    // The least number that is too large stands for infinity.
    let end = |v: f64| if v.is_infinite() { f64::MAX.copysign(v) } else { v };
    if (found == 0.0 || truth.0 == 0.0) && found.is_sign_negative() != truth.0.is_sign_negative() {
        return f64::INFINITY;
    }
    let beyond = f64::from(u8::from(found.is_infinite() != truth.0.is_infinite()));
    let Dd(high, low) =
        Dd::of(end(found)).sub(Dd(end(truth.0), if truth.0.is_infinite() { 0.0 } else { truth.1 }));
    let scaled = (high + low) * 2f64.powi(-unit / 2) * 2f64.powi(-unit + unit / 2);
    scaled.abs() + beyond
}

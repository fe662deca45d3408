//! The functions of two arguments: their references, and the pairs that they are tried on.

use lawson_kernel::math::{self, Arithmetic};

/// A function of two f32 that has an expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Pow,
    Atan2,
}

impl Binary {
    pub const ALL: [Binary; 2] = [Binary::Pow, Binary::Atan2];

    pub fn name(self) -> &'static str {
        match self {
            Binary::Pow => "pow",
            Binary::Atan2 => "atan2",
        }
    }

    pub fn max_ulp(self) -> f64 {
        match self {
            Binary::Pow => math::POW_MAX_ULP,
            Binary::Atan2 => math::ATAN2_MAX_ULP,
        }
    }

    pub fn expand<K: Arithmetic>(self, k: &mut K, a: K::F, b: K::F) -> K::F {
        match self {
            Binary::Pow => math::pow(k, a, b),
            Binary::Atan2 => math::atan2(k, a, b),
        }
    }

    pub fn reference(self, a: f32, b: f32) -> f64 {
        let (a, b) = (f64::from(a), f64::from(b));
        match self {
            Binary::Pow => a.powf(b),
            Binary::Atan2 => a.atan2(b),
        }
    }
}

/// Every pair of these: the cases that IEEE 754 lists, and the ends of the range.
pub fn grid() -> impl Iterator<Item = (f32, f32)> {
    const HALF: [f32; 26] = [
        0.0,
        1e-45,
        1.1754942e-38,
        f32::MIN_POSITIVE,
        1e-30,
        0.1,
        0.5,
        0.99999994,
        1.0,
        1.0000001,
        1.5,
        2.0,
        2.5,
        3.0,
        4.0,
        7.0,
        127.0,
        128.0,
        149.0,
        150.0,
        8388607.5,
        16777215.0,
        16777216.0,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];
    let all = || HALF.into_iter().flat_map(|x| [x, -x]);
    all().flat_map(move |a| all().map(move |b| (a, b)))
}

/// A stream of pairs that exercise the function; the same for the same seed.
pub struct Pairs {
    function: Binary,
    state: u64,
}

impl Pairs {
    pub fn new(function: Binary, seed: u64) -> Pairs {
        Pairs { function, state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    fn bits(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below_one(&mut self) -> f64 {
        (self.bits() & 0xff_ffff) as f64 / 16_777_216.0
    }
}

impl Iterator for Pairs {
    type Item = (f32, f32);

    /// A third of any bit patterns; the rest such that the result is mostly in range.
    fn next(&mut self) -> Option<(f32, f32)> {
        let any = self.bits();
        let (a, b) = (f32::from_bits(any as u32), f32::from_bits(self.bits() as u32));
        Some(match (self.function, any >> 32 & 0xff) {
            (_, 0..85) => (a, b),
            (Binary::Pow, 85..170) => {
                // Powers up to the ends of the range, of any base.
                let base = f32::from_bits(a.to_bits() & 0x7fff_ffff);
                let log = f64::from(base).log2();
                (base, ((self.below_one() * 302.0 - 151.0) / log) as f32)
            }
            (Binary::Pow, _) => {
                // Bases near 1 with great powers, where the logarithm matters most.
                let base = (1.0 + (self.below_one() - 0.5) * (-12.0 * self.below_one()).exp2()) as f32;
                let log = f64::from(base).log2();
                (base, ((self.below_one() * 302.0 - 151.0) / log) as f32)
            }
            (Binary::Atan2, _) => {
                let ratio = (self.below_one() * 40.0 - 20.0).exp2();
                (a, (f64::from(a) * ratio) as f32 * if b < 0.0 { -1.0 } else { 1.0 })
            }
        })
    }
}

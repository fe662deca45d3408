//! Primitives that are more than an operator of WGSL: each a function, written into a shader that uses it.
//!
//! WGSL lets a driver assume that there are no NaN and no infinities, rearrange sums as real numbers allow, and round a fused
//! product twice. So here
//! - tests and comparisons look at bits, and floats are ordered by integers (`f32_key`);
//! - every result of float arithmetic is *pinned*, unless the compiler was told to keep operations, or seen to (then products are, which it may fuse): its bits pass through an exclusive or with a word that is zero, which only the
//!   host knows. The second operand passes through another such word. No rewriting can look through either;
//! - what is accumulated is not pinned: sums may be taken in any order;
//! - a fused product that must be rounded once is put together from the product and its exact error, unless the device was
//!   seen to round once;
//! - quotients and square roots, for which WGSL asks for less than the nearest number, are corrected by what they leave, where a fused product rounds once and
//!   the device was not seen to round them rightly itself.

use crate::opcode::{Capabilities, Floats, Fused};
use crate::rounding::{self, corrected};
use crate::wide;
use std::collections::BTreeSet;

/// A function of the prelude.
pub(crate) struct Piece {
    pub(crate) name: &'static str,
    /// The pieces that it calls.
    pub(crate) needs: &'static [&'static str],
    pub(crate) text: &'static str,
}

/// All pieces, each after those that it needs.
fn all() -> impl Iterator<Item = &'static Piece> + Clone {
    PIECES.iter().chain(wide::PIECES)
}

/// The pieces that these names need, in an order in which each stands before its use.
pub(crate) fn pieces<'a>(
    names: impl IntoIterator<Item = &'a str>,
    capabilities: &Capabilities,
) -> Vec<&'static str> {
    let mut wanted = BTreeSet::new();
    let mut open: Vec<&str> = names.into_iter().collect();
    while let Some(name) = open.pop() {
        if let Some(piece) = all().find(|p| p.name == name)
            && wanted.insert(piece.name)
        {
            open.extend(piece.needs);
            if piece.name == "f32_fma" && capabilities.fused == Fused::Twice {
                open.extend(FMA_NEEDS);
            }
            if piece.name == "f32_div" && capabilities.flushes {
                open.push("f32_far_div");
            }
            if corrected(piece.name, capabilities).is_some() {
                open.extend(rounding::NEEDS);
            }
        }
    }
    let of = |list: &[(&str, &'static str)], p: &Piece| {
        list.iter().find(|(name, _)| *name == p.name).map(|(_, text)| *text)
    };
    let kept = |p: &Piece| of(KEPT, p);
    let told = |p: &Piece| of(TOLD, p).or_else(|| kept(p));
    let compared = |p: &Piece| of(COMPARED, p).filter(|_| capabilities.compares);
    let own = |p: &Piece| match (p.name, capabilities.fused, capabilities.floats) {
        ("f32_fma", Fused::Twice, _) => FMA_TWICE,
        ("f32_div", ..) if capabilities.flushes => DIV_FLUSHED,
        _ if compared(p).is_some() => compared(p).unwrap_or(p.text),
        (_, _, Floats::Told) => told(p).unwrap_or(p.text),
        (_, _, Floats::Kept) => kept(p).unwrap_or(p.text),
        (_, _, Floats::Rearranged) => p.text,
    };
    let text = |p: &Piece| corrected(p.name, capabilities).unwrap_or_else(|| own(p));
    all().filter(|p| wanted.contains(p.name)).map(text).collect()
}

/// What a compiler that keeps operations needs instead: products are pinned, so that none is fused with a sum.
const KEPT: &[(&str, &str)] = &[
    ("f32_add", "fn f32_add(a: f32, b: f32) -> f32 { return a + b; }\n"),
    ("f32_sub", "fn f32_sub(a: f32, b: f32) -> f32 { return a - b; }\n"),
    ("f32_mul", "fn f32_mul(a: f32, b: f32) -> f32 { return a * b; }\n"),
    ("f32_product", "fn f32_product(a: f32, b: f32) -> f32 { return pin(a * b); }\n"),
    ("f32_quotient", "fn f32_quotient(a: f32, b: f32) -> f32 { return a / b; }\n"),
    ("f32_near_quotient", "fn f32_near_quotient(a: f32, b: f32) -> f32 { return a / b; }\n"),
    ("f32_fma", "fn f32_fma(a: f32, b: f32, c: f32) -> f32 { return fma(a, b, c); }\n"),
];

/// What a compiler that was told to keep operations needs instead of these: nothing at all.
const TOLD: &[(&str, &str)] = &[
    ("f32_product", "fn f32_product(a: f32, b: f32) -> f32 { return a * b; }\n"),
    ("f32_neg", "fn f32_neg(x: f32) -> f32 { return -x; }\n"),
    ("f32_abs", "fn f32_abs(x: f32) -> f32 { return abs(x); }\n"),
];

/// What a device that compares as the numbers are needs instead.
const COMPARED: &[(&str, &str)] = &[
    ("f32_lt", "fn f32_lt(a: f32, b: f32) -> bool { return a < b; }\n"),
    ("f32_le", "fn f32_le(a: f32, b: f32) -> bool { return a <= b; }\n"),
    ("f32_eq", "fn f32_eq(a: f32, b: f32) -> bool { return a == b; }\n"),
];

/// The product's error is exact, as halves of 12 bits multiply exactly; so is the sum's. Far from the ends of the range of
/// floats the result is within a hair of being rounded once.
const FMA_TWICE: &str = "\
fn f32_fma(a: f32, b: f32, c: f32) -> f32 {
  let p = f32_product(a, b);
  let s = f32_add(p, c);
  if ((bitcast<u32>(s) & 0x7f800000u) == 0x7f800000u) { return s; }
  let ah = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
  let bh = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
  let al = f32_sub(a, ah);
  let bl = f32_sub(b, bh);
  let e0 = f32_sub(f32_product(ah, bh), p);
  let e1 = f32_add(e0, f32_product(ah, bl));
  let e2 = f32_add(e1, f32_product(al, bh));
  let e = f32_add(e2, f32_product(al, bl));
  let near = f32_sub(s, p);
  let t = f32_add(f32_sub(p, f32_sub(s, near)), f32_sub(c, near));
  return f32_add(s, f32_add(t, e));
}
";

/// Devices that flush are off where the divisor's inverse is subnormal, and need not be right for divisors that are.
const DIV_FLUSHED: &str = "\
fn f32_div(a: f32, b: f32) -> f32 {
  if ((bitcast<u32>(b) << 1u) - 0x02000000u < 0xfa000000u) { return f32_quotient(a, b); }
  return f32_far_div(a, b);
}
";

const FMA_NEEDS: &[&str] = &["f32_add", "f32_sub", "f32_product"];

const PIECES: &[Piece] = &[
    Piece {
        name: "pin",
        needs: &[],
        text: "fn pin(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.pin); }\n",
    },
    Piece {
        name: "apart",
        needs: &[],
        text: "fn apart(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.apart); }\n",
    },
    Piece {
        name: "float_of",
        needs: &[],
        text: "fn float_of(bits: u32) -> f32 { return bitcast<f32>(bits ^ parameters.pin); }\n",
    },
    Piece {
        name: "f32_is_nan",
        needs: &[],
        text: "fn f32_is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }\n",
    },
    Piece {
        name: "f32_key",
        needs: &[],
        text: "\
fn f32_key(x: f32) -> i32 {
  let b = bitcast<i32>(x);
  return select(b, -(b & 0x7fffffff), b < 0);
}
",
    },
    Piece {
        name: "f32_add",
        needs: &["pin", "apart"],
        text: "fn f32_add(a: f32, b: f32) -> f32 { return pin(a + apart(b)); }\n",
    },
    Piece {
        name: "f32_sub",
        needs: &["pin", "apart"],
        text: "fn f32_sub(a: f32, b: f32) -> f32 { return pin(a - apart(b)); }\n",
    },
    Piece {
        name: "f32_mul",
        needs: &["pin", "apart"],
        text: "fn f32_mul(a: f32, b: f32) -> f32 { return pin(a * apart(b)); }\n",
    },
    Piece {
        name: "f32_product",
        needs: &["pin", "apart"],
        text: "fn f32_product(a: f32, b: f32) -> f32 { return pin(a * apart(b)); }\n",
    },
    Piece {
        name: "f32_fma",
        needs: &["pin", "apart"],
        text: "fn f32_fma(a: f32, b: f32, c: f32) -> f32 { return pin(fma(a, apart(b), c)); }\n",
    },
    Piece {
        name: "f32_near_quotient",
        needs: &["pin", "apart"],
        text: "fn f32_near_quotient(a: f32, b: f32) -> f32 { return pin(a / apart(b)); }\n",
    },
    Piece {
        name: "f32_quotient",
        needs: &["pin", "apart"],
        text: "fn f32_quotient(a: f32, b: f32) -> f32 { return pin(a / apart(b)); }\n",
    },
    Piece {
        name: "f32_far_div",
        needs: &["float_of", "f32_quotient"],
        text: "\
fn f32_far_div(a: f32, b: f32) -> f32 {
  let sign = (bitcast<u32>(a) ^ bitcast<u32>(b)) & 0x80000000u;
  let ua = bitcast<u32>(a) & 0x7fffffffu;
  let ub = bitcast<u32>(b) & 0x7fffffffu;
  if (ua > 0x7f800000u || ub > 0x7f800000u) { return float_of(0x7fc00000u); }
  if (ua == 0x7f800000u || ub == 0u) {
    return float_of(select(sign | 0x7f800000u, 0x7fc00000u, ub == 0x7f800000u || ua == 0u));
  }
  if (ua == 0u || ub == 0x7f800000u) { return float_of(sign); }
  // Mantissas of numbers from 1 to 2, and the exponents that go with them.
  let sa = select(countLeadingZeros(ua) - 8u, 0u, ua >= 0x800000u);
  let sb = select(countLeadingZeros(ub) - 8u, 0u, ub >= 0x800000u);
  let ea = select(1 - i32(sa), i32(ua >> 23u), sa == 0u);
  let eb = select(1 - i32(sb), i32(ub >> 23u), sb == 0u);
  let ma = bitcast<f32>(((ua << sa) & 0x7fffffu) | 0x3f800000u);
  let mb = bitcast<f32>(((ub << sb) & 0x7fffffu) | 0x3f800000u);
  let q = bitcast<u32>(f32_quotient(ma, mb));
  let e = i32(q >> 23u) + ea - eb;
  if (e >= 255) { return float_of(sign | 0x7f800000u); }
  if (e > 0) { return float_of(sign | (u32(e) << 23u) | (q & 0x7fffffu)); }
  if (e < -24) { return float_of(sign); }
  let m = (q & 0x7fffffu) | 0x800000u;
  let shift = u32(1 - e);
  let whole = m >> shift;
  let rest = m & ((1u << shift) - 1u);
  let half = 1u << (shift - 1u);
  return float_of(sign | (whole + u32(rest > half || (rest == half && (whole & 1u) == 1u))));
}
",
    },
    Piece {
        name: "f32_div",
        needs: &["f32_quotient"],
        text: "fn f32_div(a: f32, b: f32) -> f32 { return f32_quotient(a, b); }\n",
    },
    Piece {
        name: "f32_mul_add",
        needs: &[],
        text: "fn f32_mul_add(a: f32, b: f32, c: f32) -> f32 { return fma(a, b, c); }\n",
    },
    Piece {
        name: "f32_lt",
        needs: &["f32_is_nan", "f32_key"],
        text: "\
fn f32_lt(a: f32, b: f32) -> bool {
  return !f32_is_nan(a) && !f32_is_nan(b) && f32_key(a) < f32_key(b);
}
",
    },
    Piece {
        name: "f32_le",
        needs: &["f32_is_nan", "f32_key"],
        text: "\
fn f32_le(a: f32, b: f32) -> bool {
  return !f32_is_nan(a) && !f32_is_nan(b) && f32_key(a) <= f32_key(b);
}
",
    },
    Piece {
        name: "f32_eq",
        needs: &["f32_is_nan", "f32_key"],
        text: "fn f32_eq(a: f32, b: f32) -> bool { return !f32_is_nan(a) && f32_key(a) == f32_key(b); }\n",
    },
    Piece {
        name: "f32_ne",
        needs: &["f32_eq"],
        text: "fn f32_ne(a: f32, b: f32) -> bool { return !f32_eq(a, b); }\n",
    },
    Piece {
        name: "f32_lesser",
        needs: &["f32_lt"],
        text: "fn f32_lesser(a: f32, b: f32) -> f32 { return select(b, a, f32_lt(a, b)); }\n",
    },
    Piece {
        name: "f32_greater",
        needs: &["f32_lt"],
        text: "fn f32_greater(a: f32, b: f32) -> f32 { return select(b, a, f32_lt(b, a)); }\n",
    },
    Piece {
        name: "f32_min",
        needs: &["f32_is_nan", "f32_lesser"],
        text: "\
fn f32_min(a: f32, b: f32) -> f32 {
  if (f32_is_nan(a)) { return a; }
  return f32_lesser(a, b);
}
",
    },
    Piece {
        name: "f32_max",
        needs: &["f32_is_nan", "f32_greater"],
        text: "\
fn f32_max(a: f32, b: f32) -> f32 {
  if (f32_is_nan(a)) { return a; }
  return f32_greater(a, b);
}
",
    },
    Piece {
        name: "f32_neg",
        needs: &[],
        text: "fn f32_neg(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ 0x80000000u); }\n",
    },
    Piece {
        name: "f32_abs",
        needs: &[],
        text: "fn f32_abs(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu); }\n",
    },
    Piece {
        name: "f32_sign",
        needs: &["f32_is_nan"],
        text: "\
fn f32_sign(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  if ((b & 0x7fffffffu) == 0u || f32_is_nan(x)) { return x; }
  return bitcast<f32>((b & 0x80000000u) | 0x3f800000u);
}
",
    },
    Piece {
        name: "f32_signed_whole",
        needs: &[],
        text: "\
fn f32_signed_whole(whole: f32, x: f32) -> f32 {
  let b = bitcast<u32>(x);
  if ((b & 0x7fffffffu) >= 0x4b000000u) { return x; }
  return bitcast<f32>((bitcast<u32>(whole) & 0x7fffffffu) | (b & 0x80000000u));
}
",
    },
    Piece {
        name: "f32_floor",
        needs: &["f32_signed_whole"],
        text: "fn f32_floor(x: f32) -> f32 { return f32_signed_whole(floor(x), x); }\n",
    },
    Piece {
        name: "f32_ceil",
        needs: &["f32_signed_whole"],
        text: "fn f32_ceil(x: f32) -> f32 { return f32_signed_whole(ceil(x), x); }\n",
    },
    Piece {
        name: "f32_round",
        needs: &["f32_signed_whole"],
        text: "fn f32_round(x: f32) -> f32 { return f32_signed_whole(round(x), x); }\n",
    },
    Piece {
        name: "f32_trunc",
        needs: &["f32_signed_whole"],
        text: "fn f32_trunc(x: f32) -> f32 { return f32_signed_whole(trunc(x), x); }\n",
    },
    Piece {
        name: "f32_sqrt",
        needs: &["pin", "float_of"],
        text: "\
fn f32_sqrt(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  if ((b & 0x7fffffffu) == 0u || b == 0x7f800000u) { return x; }
  if (b > 0x7f800000u) { return float_of(0x7fc00000u); }
  return pin(sqrt(x));
}
",
    },
    Piece {
        name: "f32_rem",
        needs: &["float_of"],
        text: "\
fn f32_rem(x: f32, y: f32) -> f32 {
  let sign = bitcast<u32>(x) & 0x80000000u;
  let ux = bitcast<u32>(x) & 0x7fffffffu;
  let uy = bitcast<u32>(y) & 0x7fffffffu;
  if (ux >= 0x7f800000u || uy > 0x7f800000u || uy == 0u) { return float_of(0x7fc00000u); }
  if (ux < uy) { return x; }
  // Mantissas with the leading bit at 23, and the exponents that go with them.
  let sx = countLeadingZeros(max(ux, 1u));
  let sy = countLeadingZeros(uy);
  var ex = select(i32(ux >> 23u), 9 - i32(sx), ux < 0x800000u);
  let ey = select(i32(uy >> 23u), 9 - i32(sy), uy < 0x800000u);
  var mx = select((ux & 0x7fffffu) | 0x800000u, ux << (sx & 31u) >> 8u, ux < 0x800000u);
  let my = select((uy & 0x7fffffu) | 0x800000u, uy << (sy & 31u) >> 8u, uy < 0x800000u);
  loop {
    if (mx >= my) { mx -= my; }
    if (ex <= ey || mx == 0u) { break; }
    mx = mx << 1u;
    ex -= 1;
  }
  if (mx == 0u) { return bitcast<f32>(sign); }
  let up = i32(countLeadingZeros(mx)) - 8;
  let e = ey - up;
  if (e > 0) { return bitcast<f32>(sign | (u32(e) << 23u) | ((mx << u32(up)) & 0x7fffffu)); }
  if (ey > 0) { return bitcast<f32>(sign | (mx << u32(ey - 1))); }
  return bitcast<f32>(sign | (mx >> u32(1 - ey)));
}
",
    },
    Piece {
        name: "f32_mod",
        needs: &["f32_rem", "f32_add"],
        text: "\
fn f32_mod(a: f32, b: f32) -> f32 {
  let r = f32_rem(a, b);
  let sign = bitcast<u32>(b) & 0x80000000u;
  if ((bitcast<u32>(r) & 0x7fffffffu) == 0u) { return bitcast<f32>(sign); }
  if ((bitcast<u32>(r) & 0x80000000u) != sign) { return f32_add(r, b); }
  return r;
}
",
    },
    Piece {
        name: "f32_to_i32",
        needs: &[],
        text: "\
fn f32_to_i32(x: f32) -> i32 {
  let b = bitcast<u32>(x);
  let m = b & 0x7fffffffu;
  if (m > 0x7f800000u) { return 0; }
  if (m >= 0x4f000000u) { return bitcast<i32>(0x7fffffffu + (b >> 31u)); }
  return i32(x);
}
",
    },
    Piece {
        name: "f32_to_u32",
        needs: &[],
        text: "\
fn f32_to_u32(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  if (b > 0x7f800000u) { return 0u; }
  if (b >= 0x4f800000u) { return 0xffffffffu; }
  return u32(x);
}
",
    },
    Piece {
        name: "i32_div",
        needs: &[],
        text: "\
fn i32_div(a: i32, b: i32) -> i32 {
  if (b == 0) { return 0; }
  if (b == -1) { return -a; }
  return a / b;
}
",
    },
    Piece {
        name: "i32_rem",
        needs: &[],
        text: "\
fn i32_rem(a: i32, b: i32) -> i32 {
  if (b == 0 || b == -1) { return 0; }
  return a % b;
}
",
    },
    Piece {
        name: "i32_floor_div",
        needs: &["i32_div", "i32_rem"],
        text: "\
fn i32_floor_div(a: i32, b: i32) -> i32 {
  let r = i32_rem(a, b);
  return i32_div(a, b) - select(0, 1, r != 0 && (r < 0) != (b < 0));
}
",
    },
    Piece {
        name: "i32_mod",
        needs: &["i32_rem"],
        text: "\
fn i32_mod(a: i32, b: i32) -> i32 {
  let r = i32_rem(a, b);
  return r + select(0, b, r != 0 && (r < 0) != (b < 0));
}
",
    },
    Piece {
        name: "u32_div",
        needs: &[],
        text: "\
fn u32_div(a: u32, b: u32) -> u32 {
  if (b == 0u) { return 0u; }
  return a / b;
}
",
    },
    Piece {
        name: "u32_rem",
        needs: &[],
        text: "\
fn u32_rem(a: u32, b: u32) -> u32 {
  if (b == 0u) { return 0u; }
  return a % b;
}
",
    },
    Piece {
        name: "u32_pow",
        needs: &[],
        text: "\
fn u32_pow(base: u32, exponent: u32) -> u32 {
  var result = 1u;
  var square = base;
  for (var left = exponent; left != 0u; left = left >> 1u) {
    if ((left & 1u) != 0u) { result *= square; }
    square *= square;
  }
  return result;
}
",
    },
    Piece {
        name: "i32_pow",
        needs: &["u32_pow"],
        text: "\
fn i32_pow(base: i32, exponent: i32) -> i32 {
  if (exponent < 0) {
    if (base == 1) { return 1; }
    if (base == -1) { return select(1, -1, (exponent & 1) != 0); }
    return 0;
  }
  return bitcast<i32>(u32_pow(bitcast<u32>(base), bitcast<u32>(exponent)));
}
",
    },
    Piece {
        name: "i32_shl",
        needs: &[],
        text: "\
fn i32_shl(a: i32, b: i32) -> i32 {
  return select(0, a << (bitcast<u32>(b) & 31u), bitcast<u32>(b) < 32u);
}
",
    },
    Piece {
        name: "i32_shr",
        needs: &[],
        text: "\
fn i32_shr(a: i32, b: i32) -> i32 {
  return select(0, a >> (bitcast<u32>(b) & 31u), bitcast<u32>(b) < 32u);
}
",
    },
    Piece {
        name: "u32_shl",
        needs: &[],
        text: "fn u32_shl(a: u32, b: u32) -> u32 { return select(0u, a << (b & 31u), b < 32u); }\n",
    },
    Piece {
        name: "u32_shr",
        needs: &[],
        text: "fn u32_shr(a: u32, b: u32) -> u32 { return select(0u, a >> (b & 31u), b < 32u); }\n",
    },
    Piece {
        name: "word_div",
        needs: &[],
        text: "fn word_div(a: i32, b: i32) -> i32 { return a / b - select(0, 1, a % b < 0); }\n",
    },
    Piece {
        name: "word_mod",
        needs: &[],
        text: "fn word_mod(a: i32, b: i32) -> i32 { return a % b + select(0, b, a % b < 0); }\n",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_names_all_that_it_calls_and_stands_after_it() {
        for (i, piece) in all().enumerate() {
            let (_, body) = piece.text.split_once('{').unwrap();
            for (j, other) in all().enumerate() {
                let call = format!("{}(", other.name);
                let called = body
                    .match_indices(&call)
                    .any(|(at, _)| !body[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'));
                if called {
                    assert!(j < i, "{} stands before {}", piece.name, other.name);
                    assert!(piece.needs.contains(&other.name), "{} calls {}", piece.name, other.name);
                }
            }
        }
    }
}

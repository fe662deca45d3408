//! Primitives that are more than an operator of WGSL: each a function, written into a shader that uses it.
//!
//! WGSL lets a driver assume that there are no NaN and no infinities, rearrange sums as real numbers allow, and round a fused
//! product twice. So here
//! - tests and comparisons look at bits, and floats are ordered by integers (`f32_key`);
//! - every result of float arithmetic is *pinned*, unless the compiler was seen to keep operations (then products are, which it may fuse): its bits pass through an exclusive or with a word that is zero, which only the
//!   host knows. The second operand passes through another such word. No rewriting can look through either;
//! - what is accumulated is not pinned: sums may be taken in any order;
//! - a fused product that must be rounded once is put together from the product and its exact error, unless the device was
//!   seen to round once.

use crate::opcode::{Capabilities, Floats, Fused};
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
        }
    }
    let of = |list: &[(&str, &'static str)], p: &Piece| {
        list.iter().find(|(name, _)| *name == p.name).map(|(_, text)| *text)
    };
    let kept = |p: &Piece| of(KEPT, p);
    let compared = |p: &Piece| of(COMPARED, p).filter(|_| capabilities.compares);
    let text = |p: &Piece| match (p.name, capabilities.fused, capabilities.floats) {
        ("f32_fma", Fused::Twice, _) => FMA_TWICE,
        _ if compared(p).is_some() => compared(p).unwrap_or(p.text),
        (_, _, Floats::Kept) => kept(p).unwrap_or(p.text),
        (_, _, Floats::Rearranged) => p.text,
    };
    all().filter(|p| wanted.contains(p.name)).map(text).collect()
}

/// What a compiler that keeps operations needs instead: products are pinned, so that none is fused with a sum.
const KEPT: &[(&str, &str)] = &[
    ("f32_add", "fn f32_add(a: f32, b: f32) -> f32 { return a + b; }\n"),
    ("f32_sub", "fn f32_sub(a: f32, b: f32) -> f32 { return a - b; }\n"),
    ("f32_mul", "fn f32_mul(a: f32, b: f32) -> f32 { return a * b; }\n"),
    ("f32_product", "fn f32_product(a: f32, b: f32) -> f32 { return pin(a * b); }\n"),
    ("f32_div", "fn f32_div(a: f32, b: f32) -> f32 { return a / b; }\n"),
    ("f32_fma", "fn f32_fma(a: f32, b: f32, c: f32) -> f32 { return fma(a, b, c); }\n"),
];

/// What a device that compares as the numbers are needs instead.
const COMPARED: &[(&str, &str)] = &[
    ("f32_lt", "fn f32_lt(a: f32, b: f32) -> bool { return a < b; }\n"),
    ("f32_le", "fn f32_le(a: f32, b: f32) -> bool { return a <= b; }\n"),
    ("f32_eq", "fn f32_eq(a: f32, b: f32) -> bool { return a == b; }\n"),
];

/// A shader that shows whether a compiler keeps operations: each result is 1 where one was rearranged, for inputs that
/// [`PROBE_INPUTS`] gives.
pub(crate) const PROBE: &str = "\
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(1)
fn probe() {
  let big = x[0];
  let one = x[1];
  let huge = x[2];
  let inf = x[3];
  let zero = x[4];
  var wrong = 0u;
  if (bitcast<u32>((big + one) - big) != 0u) { wrong |= 1u; }
  if (bitcast<u32>((one - big) + big) != 0u) { wrong |= 2u; }
  if (bitcast<u32>(huge * huge / huge) != 0x7f800000u) { wrong |= 4u; }
  if ((bitcast<u32>(inf - inf) & 0x7fffffffu) <= 0x7f800000u) { wrong |= 8u; }
  if ((bitcast<u32>(inf * zero) & 0x7fffffffu) <= 0x7f800000u) { wrong |= 16u; }
  if ((bitcast<u32>(inf - one * inf) & 0x7fffffffu) <= 0x7f800000u) { wrong |= 32u; }
  if (bitcast<u32>(((big + one) + one) - big) != 0u) { wrong |= 64u; }
  if (bitcast<u32>((big + one) - (big - one)) != 0u) { wrong |= 128u; }
  var sum = zero;
  for (var i = 0; i < 4; i++) { sum = (sum + one * big) + one; sum = sum - big; }
  if (bitcast<u32>(sum) != 0u) { wrong |= 256u; }
  if ((bitcast<u32>(inf / inf) & 0x7fffffffu) <= 0x7f800000u) { wrong |= 512u; }
  // Both are data: what is the same to a compiler is kept apart where it matters.
  let nan = x[7];
  let other = x[8];
  var compared = 0u;
  if (nan < one || one < nan || nan <= one || one <= nan || nan == other || nan == one) { compared |= 1u; }
  if (!(one < huge) || huge < one || !(zero <= -zero) || !(zero == -zero) || !(huge < inf) || !(-inf < zero)) { compared |= 2u; }
  if (select(one, nan, nan < one) != one || select(nan, one, one < huge) != one) { compared |= 4u; }
  let tiny = x[6];
  if (!(zero < tiny) || tiny == zero) { compared |= 8u; }
  if (bitcast<u32>(tiny * one) == 0u) { compared |= 16u; }
  x[5] = bitcast<f32>(wrong);
  x[6] = bitcast<f32>(compared);
}
";

/// The inputs of [`PROBE`]. In the place of the sixth and the seventh it leaves what was rearranged, and what was compared wrongly: NaN (1), other
/// numbers (2), in a selection (4), subnormal numbers (8), which products may lose too (16).
pub(crate) const PROBE_INPUTS: [f32; 9] =
    [1e9, 1.0, 1e30, f32::INFINITY, 0.0, 1.0, 1e-40, f32::NAN, f32::NAN];

/// The results of [`PROBE`] that show sums and products rearranged. The others show what becomes of numbers that are subtracted from or
/// divided by themselves, which are kept apart.
pub(crate) const REARRANGED: u32 = 1 | 2 | 4 | 64 | 128 | 256;

/// A shader that counts to a number, to see whether a driver lets it.
pub(crate) const PROBE_LOOP: &str = "\
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(1)
fn probe() {
  var count = 0u;
  for (var i = 0u; i < x[0]; i++) { count += 1u + (i & x[1]); }
  x[1] = count;
}
";

/// How far [`PROBE_LOOP`] counts: no driver that stops loops is known to let them go on so far.
pub(crate) const PROBE_COUNT: u32 = 200_000;

/// A shader that says which member of a subgroup each member of a workgroup of 256 is.
pub(crate) const PROBE_SUBGROUP: &str = "\
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(256)
fn probe(
  @builtin(local_invocation_index) lane: u32,
  @builtin(subgroup_size) size: u32,
  @builtin(subgroup_invocation_id) own: u32,
) {
  x[lane] = subgroupShuffleXor(lane, 1u) | (size << 10u) | (own << 20u);
}
";

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
        name: "f32_div",
        needs: &["pin", "apart"],
        text: "fn f32_div(a: f32, b: f32) -> f32 { return pin(a / apart(b)); }\n",
    },
    Piece {
        name: "f32_fma",
        needs: &["pin", "apart"],
        text: "fn f32_fma(a: f32, b: f32, c: f32) -> f32 { return pin(fma(a, apart(b), c)); }\n",
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

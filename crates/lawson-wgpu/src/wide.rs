//! Pieces of the prelude for numbers that are no word: integers of 64 bits as pairs of words, the low one first, and floats of 16 bits,
//! which are f32 wherever they are computed with.

use crate::prelude::Piece;

const fn piece(name: &'static str, needs: &'static [&'static str], text: &'static str) -> Piece {
    Piece { name, needs, text }
}

/// The pieces, each after those that it needs.
pub(crate) const PIECES: &[Piece] = &[
    piece(
        "f16_to_f32",
        &[],
        "\
fn f16_to_f32(h: u32) -> f32 {
  let sign = (h & 0x8000u) << 16u;
  let e = (h >> 10u) & 31u;
  let m = h & 0x3ffu;
  if (e == 31u) { return bitcast<f32>(sign | 0x7f800000u | (m << 13u)); }
  if (e != 0u) { return bitcast<f32>(sign | ((e + 112u) << 23u) | (m << 13u)); }
  if (m == 0u) { return bitcast<f32>(sign); }
  let up = countLeadingZeros(m) - 21u;
  return bitcast<f32>(sign | ((113u - up) << 23u) | (((m << up) & 0x3ffu) << 13u));
}
",
    ),
    piece(
        "f32_to_f16",
        &[],
        "\
fn f32_to_f16(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  let sign = (b >> 16u) & 0x8000u;
  let a = b & 0x7fffffffu;
  if (a > 0x7f800000u) { return sign | 0x7e00u; }
  if (a >= 0x477ff000u) { return sign | 0x7c00u; }
  if (a >= 0x38800000u) { return sign | ((a - 0x38000000u + 0xfffu + ((a >> 13u) & 1u)) >> 13u); }
  if (a < 0x33000000u) { return sign; }
  let m = (a & 0x7fffffu) | 0x800000u;
  let by = 126u - (a >> 23u);
  let q = m >> by;
  let rest = m & ((1u << by) - 1u);
  let half = 1u << (by - 1u);
  return sign | (q + select(0u, 1u, rest > half || (rest == half && (q & 1u) == 1u)));
}
",
    ),
    piece(
        "f32_to_bf16",
        &[],
        "\
fn f32_to_bf16(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  if ((b & 0x7fffffffu) > 0x7f800000u) { return ((b >> 16u) & 0x8000u) | 0x7fc0u; }
  return (b + 0x7fffu + ((b >> 16u) & 1u)) >> 16u;
}
",
    ),
    piece(
        "round_f16",
        &["f16_to_f32", "f32_to_f16"],
        "fn round_f16(x: f32) -> f32 { return f16_to_f32(f32_to_f16(x)); }\n",
    ),
    piece(
        "round_bf16",
        &["f32_to_bf16"],
        "fn round_bf16(x: f32) -> f32 { return bitcast<f32>(f32_to_bf16(x) << 16u); }\n",
    ),
    piece(
        "i64_add",
        &[],
        "\
fn i64_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}
",
    ),
    piece(
        "i64_sub",
        &[],
        "\
fn i64_sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}
",
    ),
    piece(
        "i64_mul",
        &[],
        "\
fn i64_mul(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let al = a.x & 0xffffu;
  let ah = a.x >> 16u;
  let bl = b.x & 0xffffu;
  let bh = b.x >> 16u;
  let low = al * bl;
  let m1 = ah * bl + (low >> 16u);
  let m2 = al * bh + (m1 & 0xffffu);
  let high = ah * bh + (m1 >> 16u) + (m2 >> 16u);
  return vec2<u32>((m2 << 16u) | (low & 0xffffu), high + a.x * b.y + a.y * b.x);
}
",
    ),
    piece(
        "i64_mul_add",
        &["i64_mul", "i64_add"],
        "fn i64_mul_add(a: vec2<u32>, b: vec2<u32>, c: vec2<u32>) -> vec2<u32> { return i64_add(i64_mul(a, b), c); }\n",
    ),
    piece(
        "i64_neg",
        &["i64_sub"],
        "fn i64_neg(a: vec2<u32>) -> vec2<u32> { return i64_sub(vec2<u32>(0u, 0u), a); }\n",
    ),
    piece(
        "i64_eq",
        &[],
        "fn i64_eq(a: vec2<u32>, b: vec2<u32>) -> bool { return a.x == b.x && a.y == b.y; }\n",
    ),
    piece("i64_ne", &["i64_eq"], "fn i64_ne(a: vec2<u32>, b: vec2<u32>) -> bool { return !i64_eq(a, b); }\n"),
    piece(
        "i64_lt",
        &[],
        "\
fn i64_lt(a: vec2<u32>, b: vec2<u32>) -> bool {
  if (a.y == b.y) { return a.x < b.x; }
  return bitcast<i32>(a.y) < bitcast<i32>(b.y);
}
",
    ),
    piece("i64_le", &["i64_lt"], "fn i64_le(a: vec2<u32>, b: vec2<u32>) -> bool { return !i64_lt(b, a); }\n"),
    piece(
        "u64_lt",
        &[],
        "\
fn u64_lt(a: vec2<u32>, b: vec2<u32>) -> bool {
  if (a.y == b.y) { return a.x < b.x; }
  return a.y < b.y;
}
",
    ),
    piece("u64_le", &["u64_lt"], "fn u64_le(a: vec2<u32>, b: vec2<u32>) -> bool { return !u64_lt(b, a); }\n"),
    piece(
        "i64_min",
        &["i64_lt"],
        "fn i64_min(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(b, a, i64_lt(a, b)); }\n",
    ),
    piece(
        "i64_max",
        &["i64_lt"],
        "fn i64_max(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(b, a, i64_lt(b, a)); }\n",
    ),
    piece(
        "u64_min",
        &["u64_lt"],
        "fn u64_min(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(b, a, u64_lt(a, b)); }\n",
    ),
    piece(
        "u64_max",
        &["u64_lt"],
        "fn u64_max(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(b, a, u64_lt(b, a)); }\n",
    ),
    piece(
        "i64_abs",
        &["i64_neg"],
        "fn i64_abs(a: vec2<u32>) -> vec2<u32> { return select(a, i64_neg(a), (a.y & 0x80000000u) != 0u); }\n",
    ),
    piece(
        "i64_sign",
        &[],
        "\
fn i64_sign(a: vec2<u32>) -> vec2<u32> {
  if ((a.y & 0x80000000u) != 0u) { return vec2<u32>(0xffffffffu, 0xffffffffu); }
  return vec2<u32>(select(0u, 1u, (a.x | a.y) != 0u), 0u);
}
",
    ),
    piece(
        "u64_sign",
        &[],
        "fn u64_sign(a: vec2<u32>) -> vec2<u32> { return vec2<u32>(select(0u, 1u, (a.x | a.y) != 0u), 0u); }\n",
    ),
    piece(
        "i64_shl",
        &[],
        "\
fn i64_shl(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (b.y != 0u || b.x > 63u) { return vec2<u32>(0u, 0u); }
  if (b.x > 31u) { return vec2<u32>(0u, a.x << (b.x & 31u)); }
  if (b.x == 0u) { return a; }
  return vec2<u32>(a.x << b.x, (a.y << b.x) | (a.x >> (32u - b.x)));
}
",
    ),
    piece(
        "u64_shr",
        &[],
        "\
fn u64_shr(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (b.y != 0u || b.x > 63u) { return vec2<u32>(0u, 0u); }
  if (b.x > 31u) { return vec2<u32>(a.y >> (b.x & 31u), 0u); }
  if (b.x == 0u) { return a; }
  return vec2<u32>((a.x >> b.x) | (a.y << (32u - b.x)), a.y >> b.x);
}
",
    ),
    piece(
        "i64_shr",
        &[],
        "\
fn i64_shr(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (b.y != 0u || b.x > 63u) { return vec2<u32>(0u, 0u); }
  let y = bitcast<i32>(a.y);
  if (b.x > 31u) { return vec2<u32>(bitcast<u32>(y >> (b.x & 31u)), bitcast<u32>(y >> 31u)); }
  if (b.x == 0u) { return a; }
  return vec2<u32>((a.x >> b.x) | (a.y << (32u - b.x)), bitcast<u32>(y >> b.x));
}
",
    ),
    piece(
        "i32_to_i64",
        &[],
        "fn i32_to_i64(a: i32) -> vec2<u32> { return vec2<u32>(bitcast<u32>(a), bitcast<u32>(a >> 31u)); }\n",
    ),
    piece("u32_to_i64", &[], "fn u32_to_i64(a: u32) -> vec2<u32> { return vec2<u32>(a, 0u); }\n"),
    piece("bool_to_i64", &[], "fn bool_to_i64(a: bool) -> vec2<u32> { return vec2<u32>(u32(a), 0u); }\n"),
    piece("i64_to_i32", &[], "fn i64_to_i32(a: vec2<u32>) -> i32 { return bitcast<i32>(a.x); }\n"),
    piece("i64_to_u32", &[], "fn i64_to_u32(a: vec2<u32>) -> u32 { return a.x; }\n"),
    piece("i64_to_bool", &[], "fn i64_to_bool(a: vec2<u32>) -> bool { return (a.x | a.y) != 0u; }\n"),
    piece(
        "u64_to_f32",
        &["i64_shl"],
        "\
fn u64_to_f32(a: vec2<u32>) -> f32 {
  if ((a.x | a.y) == 0u) { return 0.0f; }
  let zeros = select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
  let n = i64_shl(a, vec2<u32>(zeros, 0u));
  let m = n.y >> 8u;
  let rest = n.y & 0xffu;
  let up = rest > 0x80u || (rest == 0x80u && (n.x != 0u || (m & 1u) == 1u));
  return bitcast<f32>(((190u - zeros) << 23u) + (m & 0x7fffffu) + select(0u, 1u, up));
}
",
    ),
    piece(
        "i64_to_f32",
        &["u64_to_f32", "i64_abs"],
        "\
fn i64_to_f32(a: vec2<u32>) -> f32 {
  return bitcast<f32>(bitcast<u32>(u64_to_f32(i64_abs(a))) | (a.y & 0x80000000u));
}
",
    ),
    piece(
        "f32_to_u64",
        &["i64_shl"],
        "\
fn f32_to_u64(x: f32) -> vec2<u32> {
  let b = bitcast<u32>(x);
  if (b > 0x7f800000u || b < 0x3f800000u) { return vec2<u32>(0u, 0u); }
  if (b >= 0x5f800000u) { return vec2<u32>(0xffffffffu, 0xffffffffu); }
  let m = (b & 0x7fffffu) | 0x800000u;
  let e = b >> 23u;
  if (e <= 150u) { return vec2<u32>(m >> (150u - e), 0u); }
  return i64_shl(vec2<u32>(m, 0u), vec2<u32>(e - 150u, 0u));
}
",
    ),
    piece(
        "f32_to_i64",
        &["f32_to_u64", "i64_neg"],
        "\
fn f32_to_i64(x: f32) -> vec2<u32> {
  let b = bitcast<u32>(x);
  let a = b & 0x7fffffffu;
  if (a > 0x7f800000u) { return vec2<u32>(0u, 0u); }
  let negative = (b & 0x80000000u) != 0u;
  if (a >= 0x5f000000u) {
    return select(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), negative);
  }
  let whole = f32_to_u64(bitcast<f32>(a));
  return select(whole, i64_neg(whole), negative);
}
",
    ),
    piece(
        "at_i64",
        &[],
        "\
fn at_i64(a: vec2<u32>, last: i32) -> i32 {
  if ((a.y & 0x80000000u) != 0u) { return 0; }
  if (a.y != 0u || a.x > bitcast<u32>(last)) { return max(last, 0); }
  return bitcast<i32>(a.x);
}
",
    ),
    piece(
        "at_u64",
        &[],
        "\
fn at_u64(a: vec2<u32>, last: i32) -> i32 {
  if (a.y != 0u || a.x > bitcast<u32>(last)) { return max(last, 0); }
  return bitcast<i32>(a.x);
}
",
    ),
    piece("at_i32", &[], "fn at_i32(a: i32, last: i32) -> i32 { return max(min(a, last), 0); }\n"),
    piece(
        "at_u32",
        &[],
        "fn at_u32(a: u32, last: i32) -> i32 { return max(bitcast<i32>(min(a, bitcast<u32>(max(last, 0)))), 0); }\n",
    ),
];

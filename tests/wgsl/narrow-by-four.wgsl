// Kernel narrow_by_four.

struct Parameters {
  // Zero, which only the host knows.
  pin: u32,
  apart: u32,
  // max(0,N)
  p0: i32,
}
@group(0) @binding(0) var<uniform> parameters: Parameters;
fn pin(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.pin); }
fn apart(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.apart); }
fn f32_is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn f32_key(x: f32) -> i32 {
  let b = bitcast<i32>(x);
  return select(b, -(b & 0x7fffffff), b < 0);
}
fn f32_add(a: f32, b: f32) -> f32 { return pin(a + apart(b)); }
fn f32_lt(a: f32, b: f32) -> bool {
  return !f32_is_nan(a) && !f32_is_nan(b) && f32_key(a) < f32_key(b);
}
fn f32_neg(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ 0x80000000u); }
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
fn f32_to_bf16(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  if ((b & 0x7fffffffu) > 0x7f800000u) { return ((b >> 16u) & 0x8000u) | 0x7fc0u; }
  return (b + 0x7fffu + ((b >> 16u) & 1u)) >> 16u;
}
fn round_f16(x: f32) -> f32 { return f16_to_f32(f32_to_f16(x)); }
@group(0) @binding(1) var<storage, read> b0_h: array<vec2<u32>>;
fn load_b0_h(at: i32) -> vec4<f32> {
  let cell = b0_h[at];
  return vec4<f32>(f16_to_f32(extractBits(cell.x, 0u, 16u)), f16_to_f32(extractBits(cell.x, 16u, 16u)), f16_to_f32(extractBits(cell.y, 0u, 16u)), f16_to_f32(extractBits(cell.y, 16u, 16u)));
}
@group(0) @binding(2) var<storage, read> b1_b: array<vec2<u32>>;
fn load_b1_b(at: i32) -> vec4<f32> {
  let cell = b1_b[at];
  return vec4<f32>(bitcast<f32>(extractBits(cell.x, 0u, 16u) << 16u), bitcast<f32>(extractBits(cell.x, 16u, 16u) << 16u), bitcast<f32>(extractBits(cell.y, 0u, 16u) << 16u), bitcast<f32>(extractBits(cell.y, 16u, 16u) << 16u));
}
@group(0) @binding(3) var<storage, read> b2_m: array<u32>;
fn load_b2_m(at: i32) -> vec4<bool> {
  let cell = b2_m[at];
  return vec4<bool>(extractBits(cell, 0u, 8u) != 0u, extractBits(cell, 8u, 8u) != 0u, extractBits(cell, 16u, 8u) != 0u, extractBits(cell, 24u, 8u) != 0u);
}
@group(0) @binding(4) var<storage, read_write> b3_yh: array<vec2<u32>>;
fn load_b3_yh(at: i32) -> vec4<f32> {
  let cell = b3_yh[at];
  return vec4<f32>(f16_to_f32(extractBits(cell.x, 0u, 16u)), f16_to_f32(extractBits(cell.x, 16u, 16u)), f16_to_f32(extractBits(cell.y, 0u, 16u)), f16_to_f32(extractBits(cell.y, 16u, 16u)));
}
fn store_b3_yh(at: i32, value: vec4<f32>) {
  b3_yh[at] = vec2<u32>(f32_to_f16(value.x) | ((f32_to_f16(value.y)) << 16u), f32_to_f16(value.z) | ((f32_to_f16(value.w)) << 16u));
}
@group(0) @binding(5) var<storage, read_write> b4_yb: array<vec2<u32>>;
fn load_b4_yb(at: i32) -> vec4<f32> {
  let cell = b4_yb[at];
  return vec4<f32>(bitcast<f32>(extractBits(cell.x, 0u, 16u) << 16u), bitcast<f32>(extractBits(cell.x, 16u, 16u) << 16u), bitcast<f32>(extractBits(cell.y, 0u, 16u) << 16u), bitcast<f32>(extractBits(cell.y, 16u, 16u) << 16u));
}
fn store_b4_yb(at: i32, value: vec4<f32>) {
  b4_yb[at] = vec2<u32>(f32_to_bf16(value.x) | ((f32_to_bf16(value.y)) << 16u), f32_to_bf16(value.z) | ((f32_to_bf16(value.w)) << 16u));
}
@group(0) @binding(6) var<storage, read_write> b5_ym: array<u32>;
fn load_b5_ym(at: i32) -> vec4<bool> {
  let cell = b5_ym[at];
  return vec4<bool>(extractBits(cell, 0u, 8u) != 0u, extractBits(cell, 8u, 8u) != 0u, extractBits(cell, 16u, 8u) != 0u, extractBits(cell, 24u, 8u) != 0u);
}
fn store_b5_ym(at: i32, value: vec4<bool>) {
  b5_ym[at] = u32(value.x) | ((u32(value.y)) << 8u) | ((u32(value.z)) << 16u) | ((u32(value.w)) << 24u);
}
@compute @workgroup_size(64)
fn launch_0(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let total: i32 = parameters.p0 * 2;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a2_four: i32 = (turn % 2) * 4;
    let a0_i: i32 = turn / 2;
    let q0 = load_b0_h(((a0_i * 8 + a2_four) >> 2u));
    let v0: f32 = q0.x;
    let v1: f32 = q0.y;
    let v2: f32 = q0.z;
    let v3: f32 = q0.w;
    let v4: f32 = f32_add(v0, v0);
    let v5: f32 = f32_add(v1, v1);
    let v6: f32 = f32_add(v2, v2);
    let v7: f32 = f32_add(v3, v3);
    store_b3_yh(((a0_i * 8 + a2_four) >> 2u), vec4<f32>(v4, v5, v6, v7));
    let q8 = load_b1_b(((a0_i * 8 + a2_four) >> 2u));
    let v8: f32 = q8.x;
    let v9: f32 = q8.y;
    let v10: f32 = q8.z;
    let v11: f32 = q8.w;
    let v12: f32 = f32_neg(v8);
    let v13: f32 = f32_neg(v9);
    let v14: f32 = f32_neg(v10);
    let v15: f32 = f32_neg(v11);
    store_b4_yb(((a0_i * 8 + a2_four) >> 2u), vec4<f32>(v12, v13, v14, v15));
    let q16 = load_b2_m(((a0_i * 8 + a2_four) >> 2u));
    let v16: bool = q16.x;
    let v17: bool = q16.y;
    let v18: bool = q16.z;
    let v19: bool = q16.w;
    let v20: f32 = 50.0f;
    let v21: f32 = round_f16(v0);
    let v22: f32 = round_f16(v20);
    let v23: bool = f32_lt(v21, v22);
    let v24: bool = v16 || v23;
    let v25: f32 = 50.0f;
    let v26: f32 = round_f16(v1);
    let v27: f32 = round_f16(v25);
    let v28: bool = f32_lt(v26, v27);
    let v29: bool = v17 || v28;
    let v30: f32 = 50.0f;
    let v31: f32 = round_f16(v2);
    let v32: f32 = round_f16(v30);
    let v33: bool = f32_lt(v31, v32);
    let v34: bool = v18 || v33;
    let v35: f32 = 50.0f;
    let v36: f32 = round_f16(v3);
    let v37: f32 = round_f16(v35);
    let v38: bool = f32_lt(v36, v37);
    let v39: bool = v19 || v38;
    store_b5_ym(((a0_i * 8 + a2_four) >> 2u), vec4<bool>(v24, v29, v34, v39));
  }
}

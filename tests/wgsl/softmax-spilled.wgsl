// Kernel softmax.

struct Parameters {
  // Zero, which only the host knows.
  pin: u32,
  apart: u32,
  // max(0,N)
  p0: i32,
}
@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(3) var<storage, read_write> spill: array<u32>;
var<private> member: i32;
fn pin(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.pin); }
fn apart(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.apart); }
fn float_of(bits: u32) -> f32 { return bitcast<f32>(bits ^ parameters.pin); }
fn f32_is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn f32_key(x: f32) -> i32 {
  let b = bitcast<i32>(x);
  return select(b, -(b & 0x7fffffff), b < 0);
}
fn f32_add(a: f32, b: f32) -> f32 { return pin(a + apart(b)); }
fn f32_sub(a: f32, b: f32) -> f32 { return pin(a - apart(b)); }
fn f32_mul(a: f32, b: f32) -> f32 { return pin(a * apart(b)); }
fn f32_product(a: f32, b: f32) -> f32 { return pin(a * apart(b)); }
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
fn f32_quotient(a: f32, b: f32) -> f32 { return pin(a / apart(b)); }
fn f32_div(a: f32, b: f32) -> f32 { return f32_quotient(a, b); }
fn f32_lt(a: f32, b: f32) -> bool {
  return !f32_is_nan(a) && !f32_is_nan(b) && f32_key(a) < f32_key(b);
}
fn f32_lesser(a: f32, b: f32) -> f32 { return select(b, a, f32_lt(a, b)); }
fn f32_greater(a: f32, b: f32) -> f32 { return select(b, a, f32_lt(b, a)); }
fn f32_neg(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ 0x80000000u); }
fn i32_shl(a: i32, b: i32) -> i32 {
  return select(0, a << (bitcast<u32>(b) & 31u), bitcast<u32>(b) < 32u);
}
fn u32_shr(a: u32, b: u32) -> u32 { return select(0u, a >> (b & 31u), b < 32u); }
@group(0) @binding(1) var<storage, read> b0_x: array<f32>;
@group(0) @binding(2) var<storage, read_write> b1_y: array<f32>;
fn m_exp(v0: f32) -> f32 {
  let v1: f32 = -104.0f;
  let v2: f32 = 89.0f;
  let v3: f32 = f32_greater(v1, v0);
  let v4: f32 = f32_lesser(v2, v3);
  let v5: f32 = 1.442695f;
  let v6: f32 = 0.6931472f;
  let v7: f32 = -1.9046542e-9f;
  let v8: f32 = 12582912.0f;
  let v9: f32 = f32_fma(v4, v5, v8);
  let v10: f32 = f32_sub(v9, v8);
  let v11: i32 = bitcast<i32>(v9);
  let v12: f32 = f32_neg(v10);
  let v13: f32 = f32_fma(v12, v6, v4);
  let v14: f32 = f32_neg(v10);
  let v15: f32 = f32_fma(v14, v7, v13);
  let v16: f32 = 1.0f;
  let v17: f32 = 0.0013818376f;
  let v18: f32 = 0.008368541f;
  let v19: f32 = f32_fma(v17, v15, v18);
  let v20: f32 = 0.041668292f;
  let v21: f32 = f32_fma(v19, v15, v20);
  let v22: f32 = 0.16666523f;
  let v23: f32 = f32_fma(v21, v15, v22);
  let v24: f32 = 0.49999994f;
  let v25: f32 = f32_fma(v23, v15, v24);
  let v26: f32 = f32_fma(v25, v15, v16);
  let v27: f32 = f32_fma(v26, v15, v16);
  let v28: i32 = i32(254);
  let v29: i32 = v11 + v28;
  let v30: u32 = bitcast<u32>(v29);
  let v31: u32 = 1u;
  let v32: u32 = u32_shr(v30, v31);
  let v33: i32 = bitcast<i32>(v32);
  let v34: i32 = v29 - v33;
  let v35: i32 = i32(23);
  let v36: i32 = i32_shl(v33, v35);
  let v37: i32 = i32(23);
  let v38: i32 = i32_shl(v34, v37);
  let v39: f32 = bitcast<f32>(v36);
  let v40: f32 = bitcast<f32>(v38);
  let v41: f32 = f32_product(v27, v39);
  let v42: f32 = f32_product(v41, v40);
  return v42;
}
@compute @workgroup_size(64)
fn launch_0(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  member = i32(id.x);
  let total: i32 = parameters.p0;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a0_i: i32 = turn;
    let v0: f32 = float_of(0xff800000u);
    var r0: f32 = v0;
    let v1: f32 = 0.0f;
    var r1: f32 = v1;
    for (var a1_k: i32 = 0; a1_k < 64; a1_k += 1) {
      let v2: f32 = b0_x[a0_i * 64 + a1_k];
      spill[member * 64 + 0 + a1_k] = bitcast<u32>(v2);
      let v3: f32 = r0;
      let v4: f32 = b0_x[a0_i * 64 + a1_k];
      let v5: f32 = f32_greater(v3, v4);
      let v6: f32 = r1;
      let v7: f32 = f32_sub(v3, v5);
      let v8: f32 = m_exp(v7);
      let v9: f32 = f32_mul(v6, v8);
      let v10: f32 = f32_sub(v4, v5);
      let v11: f32 = m_exp(v10);
      let v12: f32 = f32_add(v9, v11);
      r0 = v5;
      r1 = v12;
    }
    for (var a2_o: i32 = 0; a2_o < 64; a2_o += 1) {
      let v13: f32 = bitcast<f32>(spill[member * 64 + 0 + a2_o]);
      let v14: f32 = r0;
      let v15: f32 = f32_sub(v13, v14);
      let v16: f32 = m_exp(v15);
      let v17: f32 = r1;
      let v18: f32 = f32_div(v16, v17);
      b1_y[a0_i * 64 + a2_o] = v18;
    }
  }
}

// Kernel by_four.

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
fn f32_sub(a: f32, b: f32) -> f32 { return pin(a - apart(b)); }
fn f32_mul(a: f32, b: f32) -> f32 { return pin(a * apart(b)); }
fn f32_lt(a: f32, b: f32) -> bool {
  return !f32_is_nan(a) && !f32_is_nan(b) && f32_key(a) < f32_key(b);
}
fn f32_greater(a: f32, b: f32) -> f32 { return select(b, a, f32_lt(b, a)); }
fn f32_max(a: f32, b: f32) -> f32 {
  if (f32_is_nan(a)) { return a; }
  return f32_greater(a, b);
}
@group(0) @binding(1) var<storage, read> b0_x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b1_n: array<vec4<i32>>;
@group(0) @binding(3) var<storage, read> b2_row: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> b3_column: array<f32>;
@group(0) @binding(5) var<storage, read_write> b4_y: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> b5_c: array<vec4<i32>>;
@compute @workgroup_size(64)
fn launch_0(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let total: i32 = parameters.p0 * 3;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a2_four: i32 = (turn % 3) * 4;
    let a0_i: i32 = turn / 3;
    let q0 = b0_x[((a0_i * 12 + a2_four) >> 2u)];
    let v0: f32 = q0.x;
    let v1: f32 = q0.y;
    let v2: f32 = q0.z;
    let v3: f32 = q0.w;
    let q4 = b2_row[(a2_four >> 2u)];
    let v4: f32 = q4.x;
    let v5: f32 = q4.y;
    let v6: f32 = q4.z;
    let v7: f32 = q4.w;
    let v8: f32 = f32_mul(v0, v4);
    let v9: f32 = b3_column[a0_i];
    let v10: f32 = f32_sub(v8, v9);
    let v11: f32 = 0.0f;
    let v12: f32 = f32_max(v10, v11);
    let v13: f32 = f32_mul(v1, v5);
    let v14: f32 = b3_column[a0_i];
    let v15: f32 = f32_sub(v13, v14);
    let v16: f32 = 0.0f;
    let v17: f32 = f32_max(v15, v16);
    let v18: f32 = f32_mul(v2, v6);
    let v19: f32 = b3_column[a0_i];
    let v20: f32 = f32_sub(v18, v19);
    let v21: f32 = 0.0f;
    let v22: f32 = f32_max(v20, v21);
    let v23: f32 = f32_mul(v3, v7);
    let v24: f32 = b3_column[a0_i];
    let v25: f32 = f32_sub(v23, v24);
    let v26: f32 = 0.0f;
    let v27: f32 = f32_max(v25, v26);
    b4_y[((a0_i * 12 + a2_four) >> 2u)] = vec4<f32>(v12, v17, v22, v27);
    let q28 = b1_n[((a0_i * 12 + a2_four) >> 2u)];
    let v28: i32 = q28.x;
    let v29: i32 = q28.y;
    let v30: i32 = q28.z;
    let v31: i32 = q28.w;
    let v32: i32 = v28 + v28;
    let v33: i32 = v29 + v29;
    let v34: i32 = v30 + v30;
    let v35: i32 = v31 + v31;
    b5_c[((a0_i * 12 + a2_four) >> 2u)] = vec4<i32>(v32, v33, v34, v35);
  }
}

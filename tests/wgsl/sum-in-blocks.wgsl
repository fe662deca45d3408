// Kernel matmul.

struct Parameters {
  // Zero, which only the host knows.
  pin: u32,
  apart: u32,
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
fn f32_mul(a: f32, b: f32) -> f32 { return pin(a * apart(b)); }
fn f32_lt(a: f32, b: f32) -> bool {
  return !f32_is_nan(a) && !f32_is_nan(b) && f32_key(a) < f32_key(b);
}
fn f32_greater(a: f32, b: f32) -> f32 { return select(b, a, f32_lt(b, a)); }
fn f32_max(a: f32, b: f32) -> f32 {
  if (f32_is_nan(a)) { return a; }
  return f32_greater(a, b);
}
@group(0) @binding(1) var<storage, read> b0_A: array<f32>;
@group(0) @binding(2) var<storage, read> b1_B: array<f32>;
@group(0) @binding(3) var<storage, read_write> b2_C: array<f32>;
var<private> s3_c_block: array<f32, 24>;
@compute @workgroup_size(64)
fn launch_0(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let total: i32 = 3;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a3_i_0: i32 = (turn) * 4;
    for (var a5_k_0: i32 = 0; a5_k_0 < 8; a5_k_0 += 8) {
      for (var a4_i_1: i32 = 0; a4_i_1 < 4; a4_i_1 += 1) {
        for (var a1_j: i32 = 0; a1_j < 6; a1_j += 1) {
          let v0: f32 = 0.0f;
          var r0: f32 = v0;
          for (var a6_k_1: i32 = 0; a6_k_1 < 8; a6_k_1 += 1) {
            let v1: f32 = r0;
            let v2: f32 = b0_A[a3_i_0 * 21 + a4_i_1 * 21 + a6_k_1];
            let v3: f32 = b1_B[a1_j + a6_k_1 * 6];
            let v4: f32 = f32_mul(v2, v3);
            let v5: f32 = f32_add(v1, v4);
            r0 = v5;
          }
          let v6: f32 = r0;
          s3_c_block[a1_j + a4_i_1 * 6] = v6;
        }
      }
    }
    for (var a5_k_0: i32 = 8; a5_k_0 < 16; a5_k_0 += 8) {
      for (var a4_i_1: i32 = 0; a4_i_1 < 4; a4_i_1 += 1) {
        for (var a1_j: i32 = 0; a1_j < 6; a1_j += 1) {
          let v7: f32 = s3_c_block[a1_j + a4_i_1 * 6];
          var r1: f32 = v7;
          for (var a6_k_1: i32 = 0; a6_k_1 < 8; a6_k_1 += 1) {
            let v8: f32 = b0_A[a3_i_0 * 21 + a4_i_1 * 21 + a6_k_1 + 8];
            let v9: f32 = b1_B[a1_j + a6_k_1 * 6 + 48];
            let v10: f32 = f32_mul(v8, v9);
            let v11: f32 = r1;
            let v12: f32 = f32_add(v11, v10);
            r1 = v12;
          }
          let v13: f32 = r1;
          s3_c_block[a1_j + a4_i_1 * 6] = v13;
        }
      }
    }
    for (var a5_k_0: i32 = 16; a5_k_0 < 21; a5_k_0 += 8) {
      for (var a4_i_1: i32 = 0; a4_i_1 < 4; a4_i_1 += 1) {
        for (var a1_j: i32 = 0; a1_j < 6; a1_j += 1) {
          let v14: f32 = s3_c_block[a1_j + a4_i_1 * 6];
          var r2: f32 = v14;
          for (var a6_k_1: i32 = 0; a6_k_1 < 5; a6_k_1 += 1) {
            let v15: f32 = b0_A[a3_i_0 * 21 + a4_i_1 * 21 + a6_k_1 + 16];
            let v16: f32 = b1_B[a1_j + a6_k_1 * 6 + 96];
            let v17: f32 = f32_mul(v15, v16);
            let v18: f32 = r2;
            let v19: f32 = f32_add(v18, v17);
            r2 = v19;
          }
          let v20: f32 = 0.0f;
          let v21: f32 = r2;
          let v22: f32 = f32_max(v21, v20);
          b2_C[a1_j + a3_i_0 * 6 + a4_i_1 * 6] = v22;
        }
      }
    }
  }
}

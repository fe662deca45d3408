// Kernel matmul.

struct Parameters {
  // Zero, which only the host knows.
  pin: u32,
  apart: u32,
  // max(0,M / 4)
  p0: i32,
  // 4*(M / 4)
  p1: i32,
  // max(0,(M / 2) - 2*(M / 4))
  p2: i32,
  // 2*(M / 2)
  p3: i32,
  // max(0,M % 2)
  p4: i32,
}
@group(0) @binding(0) var<uniform> parameters: Parameters;
fn pin(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.pin); }
fn apart(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.apart); }
fn f32_add(a: f32, b: f32) -> f32 { return pin(a + apart(b)); }
fn f32_mul(a: f32, b: f32) -> f32 { return pin(a * apart(b)); }
@group(0) @binding(1) var<storage, read> b0_A: array<f32>;
@group(0) @binding(2) var<storage, read> b1_B: array<f32>;
@group(0) @binding(3) var<storage, read_write> b2_C: array<f32>;
@compute @workgroup_size(64)
fn launch_0(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let total: i32 = parameters.p0;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a3_i_0: i32 = (turn) * 4;
    for (var a5_j_0: i32 = 0; a5_j_0 < 16; a5_j_0 += 8) {
      for (var a4_i_1: i32 = 0; a4_i_1 < 4; a4_i_1 += 1) {
        for (var a6_j_1: i32 = 0; a6_j_1 < 8; a6_j_1 += 1) {
          let v0: f32 = 0.0f;
          var r0: f32 = v0;
          for (var a2_k: i32 = 0; a2_k < 20; a2_k += 1) {
            let v1: f32 = r0;
            let v2: f32 = b0_A[a2_k + a3_i_0 * 20 + a4_i_1 * 20];
            let v3: f32 = b1_B[a2_k * 8 + a5_j_0 * 20 + a6_j_1];
            let v4: f32 = f32_mul(v2, v3);
            let v5: f32 = f32_add(v1, v4);
            r0 = v5;
          }
          let v6: f32 = r0;
          b2_C[a3_i_0 * 16 + a4_i_1 * 16 + a5_j_0 + a6_j_1] = v6;
        }
      }
    }
  }
}
@compute @workgroup_size(64)
fn launch_1(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let total: i32 = parameters.p2;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a3_i_0: i32 = parameters.p1 + (turn) * 2;
    for (var a5_j_0: i32 = 0; a5_j_0 < 16; a5_j_0 += 8) {
      for (var a4_i_1: i32 = 0; a4_i_1 < 2; a4_i_1 += 1) {
        for (var a6_j_1: i32 = 0; a6_j_1 < 8; a6_j_1 += 1) {
          let v7: f32 = 0.0f;
          var r1: f32 = v7;
          for (var a2_k: i32 = 0; a2_k < 20; a2_k += 1) {
            let v8: f32 = r1;
            let v9: f32 = b0_A[a2_k + a3_i_0 * 20 + a4_i_1 * 20];
            let v10: f32 = b1_B[a2_k * 8 + a5_j_0 * 20 + a6_j_1];
            let v11: f32 = f32_mul(v9, v10);
            let v12: f32 = f32_add(v8, v11);
            r1 = v12;
          }
          let v13: f32 = r1;
          b2_C[a3_i_0 * 16 + a4_i_1 * 16 + a5_j_0 + a6_j_1] = v13;
        }
      }
    }
  }
}
@compute @workgroup_size(64)
fn launch_2(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let total: i32 = parameters.p4;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a3_i_0: i32 = parameters.p3 + turn;
    for (var a5_j_0: i32 = 0; a5_j_0 < 16; a5_j_0 += 8) {
      for (var a4_i_1: i32 = 0; a4_i_1 < 1; a4_i_1 += 1) {
        for (var a6_j_1: i32 = 0; a6_j_1 < 8; a6_j_1 += 1) {
          let v14: f32 = 0.0f;
          var r2: f32 = v14;
          for (var a2_k: i32 = 0; a2_k < 20; a2_k += 1) {
            let v15: f32 = r2;
            let v16: f32 = b0_A[a2_k + a3_i_0 * 20];
            let v17: f32 = b1_B[a2_k * 8 + a5_j_0 * 20 + a6_j_1];
            let v18: f32 = f32_mul(v16, v17);
            let v19: f32 = f32_add(v15, v18);
            r2 = v19;
          }
          let v20: f32 = r2;
          b2_C[a3_i_0 * 16 + a5_j_0 + a6_j_1] = v20;
        }
      }
    }
  }
}

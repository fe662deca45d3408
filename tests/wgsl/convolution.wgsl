// Kernel convolution.

struct Parameters {
  // Zero, which only the host knows.
  pin: u32,
  apart: u32,
}
@group(0) @binding(0) var<uniform> parameters: Parameters;
fn f32_mul_add(a: f32, b: f32, c: f32) -> f32 { return fma(a, b, c); }
@group(0) @binding(1) var<storage, read> b0_x: array<f32>;
@group(0) @binding(2) var<storage, read> b1_w3: array<f32>;
@group(0) @binding(3) var<storage, read_write> b2_y: array<f32>;
@compute @workgroup_size(64)
fn launch_0(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let total: i32 = 1;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a0_h: i32 = turn;
    for (var a1_w: i32 = 0; a1_w < 9; a1_w += 1) {
      let v0: f32 = 0.0f;
      var r0: f32 = v0;
      for (var a2_kh: i32 = 0; a2_kh < 3; a2_kh += 1) {
        for (var a3_kw: i32 = 0; a3_kw < 3; a3_kw += 1) {
          let v1: f32 = 0.0f;
          let v2: f32 = r0;
          var r1: f32 = v1;
          if (a2_kh - 1 >= 0 && a2_kh - 1 < 6 && a1_w + a3_kw - 1 >= 0 && a1_w + a3_kw - 1 < 9) {
            let v3: f32 = b0_x[a1_w + a2_kh * 9 + a3_kw - 10];
            r1 = v3;
          }
          let v4: f32 = r1;
          let v5: f32 = b1_w3[a2_kh * 3 + a3_kw];
          let v6: f32 = f32_mul_add(v4, v5, v2);
          r0 = v6;
        }
      }
      let v7: f32 = r0;
      b2_y[a1_w] = v7;
    }
  }
}
@compute @workgroup_size(64)
fn launch_1(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let total: i32 = 4;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a0_h: i32 = 1 + turn;
    for (var a1_w: i32 = 0; a1_w < 9; a1_w += 1) {
      let v8: f32 = 0.0f;
      var r2: f32 = v8;
      for (var a2_kh: i32 = 0; a2_kh < 3; a2_kh += 1) {
        for (var a3_kw: i32 = 0; a3_kw < 3; a3_kw += 1) {
          let v9: f32 = 0.0f;
          let v10: f32 = r2;
          var r3: f32 = v9;
          if (a0_h + a2_kh - 1 >= 0 && a0_h + a2_kh - 1 < 6 && a1_w + a3_kw - 1 >= 0 && a1_w + a3_kw - 1 < 9) {
            let v11: f32 = b0_x[a0_h * 9 + a1_w + a2_kh * 9 + a3_kw - 10];
            r3 = v11;
          }
          let v12: f32 = r3;
          let v13: f32 = b1_w3[a2_kh * 3 + a3_kw];
          let v14: f32 = f32_mul_add(v12, v13, v10);
          r2 = v14;
        }
      }
      let v15: f32 = r2;
      b2_y[a0_h * 9 + a1_w] = v15;
    }
  }
}
@compute @workgroup_size(64)
fn launch_2(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let total: i32 = 1;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a0_h: i32 = 5 + turn;
    for (var a1_w: i32 = 0; a1_w < 9; a1_w += 1) {
      let v16: f32 = 0.0f;
      var r4: f32 = v16;
      for (var a2_kh: i32 = 0; a2_kh < 3; a2_kh += 1) {
        for (var a3_kw: i32 = 0; a3_kw < 3; a3_kw += 1) {
          let v17: f32 = 0.0f;
          let v18: f32 = r4;
          var r5: f32 = v17;
          if (a2_kh + 4 >= 0 && a2_kh + 4 < 6 && a1_w + a3_kw - 1 >= 0 && a1_w + a3_kw - 1 < 9) {
            let v19: f32 = b0_x[a1_w + a2_kh * 9 + a3_kw + 35];
            r5 = v19;
          }
          let v20: f32 = r5;
          let v21: f32 = b1_w3[a2_kh * 3 + a3_kw];
          let v22: f32 = f32_mul_add(v20, v21, v18);
          r4 = v22;
        }
      }
      let v23: f32 = r4;
      b2_y[a1_w + 45] = v23;
    }
  }
}

// Kernel negated.

struct Parameters {
  // Zero, which only the host knows.
  pin: u32,
  apart: u32,
}
@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> b0_x: array<i32>;
@group(0) @binding(2) var<storage, read> b1_z: array<u32>;
@group(0) @binding(3) var<storage, read_write> b2_y: array<i32>;
@group(0) @binding(4) var<storage, read_write> b3_w: array<u32>;
@compute @workgroup_size(64)
fn launch_0(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let total: i32 = 4;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a0_i: i32 = turn;
    let v0: i32 = i32(2147483647);
    var r0: i32 = v0;
    for (var a1_r: i32 = 0; a1_r < 5; a1_r += 1) {
      let v1: i32 = r0;
      let v2: i32 = b0_x[a0_i * 5 + a1_r];
      let v3: i32 = bitcast<i32>(parameters.pin) - v2;
      let v4: i32 = min(v1, v3);
      r0 = v4;
    }
    let v5: u32 = 0u;
    var r1: u32 = v5;
    for (var a2_q: i32 = 0; a2_q < 5; a2_q += 1) {
      let v6: u32 = r1;
      let v7: u32 = b1_z[a0_i * 5 + a2_q];
      let v8: u32 = parameters.pin - v7;
      let v9: u32 = max(v6, v8);
      r1 = v9;
    }
    let v10: i32 = r0;
    b2_y[a0_i] = v10;
    let v11: u32 = r1;
    b3_w[a0_i] = v11;
  }
}

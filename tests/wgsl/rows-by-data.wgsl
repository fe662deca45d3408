// Kernel rows_by_data.

struct Parameters {
  // Zero, which only the host knows.
  pin: u32,
  apart: u32,
  // N
  p0: i32,
  // R - 1
  p1: i32,
  // max(0,(N + 3) / 4)
  p2: i32,
}
@group(0) @binding(0) var<uniform> parameters: Parameters;
fn pin(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.pin); }
fn apart(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.apart); }
fn f32_add(a: f32, b: f32) -> f32 { return pin(a + apart(b)); }
fn at_i32(a: i32, last: i32) -> i32 { return max(min(a, last), 0); }
@group(0) @binding(1) var<storage, read> b0_x: array<f32>;
@group(0) @binding(2) var<storage, read> b1_ids: array<i32>;
@group(0) @binding(3) var<storage, read> b2_to: array<i32>;
@group(0) @binding(4) var<storage, read_write> b3_y: array<f32>;
@compute @workgroup_size(64)
fn launch_0(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let total: i32 = parameters.p2;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a2_i_0: i32 = (turn) * 4;
    for (var a3_i_1: i32 = 0; a3_i_1 < min(4, a2_i_0 * (-1) + parameters.p0); a3_i_1 += 1) {
      for (var a1_j: i32 = 0; a1_j < 3; a1_j += 1) {
        let v0: f32 = b0_x[a1_j + at_i32(b1_ids[a2_i_0 + a3_i_1], parameters.p1) * 3];
        let v1: f32 = b0_x[at_i32(b1_ids[a2_i_0 + a3_i_1], parameters.p1) * 3 + at_i32(b2_to[a1_j], 2)];
        let v2: f32 = f32_add(v0, v1);
        b3_y[a1_j + a2_i_0 * 3 + a3_i_1 * 3] = v2;
      }
    }
  }
}

// Kernel elementwise.

struct Parameters {
  // Zero, which only the host knows.
  pin: u32,
  apart: u32,
  // N
  p0: i32,
  // M
  p1: i32,
  // max(0,N)
  p2: i32,
  // max(0,M)
  p3: i32,
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
@group(0) @binding(1) var<storage, read> b0_x: array<f32>;
@group(0) @binding(2) var<storage, read> b1_row: array<f32>;
@group(0) @binding(3) var<storage, read> b2_column: array<f32>;
@group(0) @binding(4) var<storage, read_write> b3_y: array<f32>;
@compute @workgroup_size(64)
fn launch_0(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let total: i32 = parameters.p2 * parameters.p3;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a1_j: i32 = turn % parameters.p3;
    let a0_i: i32 = turn / parameters.p3;
    let v0: f32 = b0_x[a0_i + a1_j * parameters.p0];
    let v1: f32 = b1_row[a1_j];
    let v2: f32 = f32_mul(v0, v1);
    let v3: f32 = b2_column[a0_i];
    let v4: f32 = f32_sub(v2, v3);
    let v5: f32 = 0.0f;
    let v6: f32 = f32_max(v4, v5);
    b3_y[a0_i * parameters.p1 + a1_j] = v6;
  }
}

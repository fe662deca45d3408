// Kernel alone.

struct Parameters {
  // Zero, which only the host knows.
  pin: u32,
  apart: u32,
}
@group(0) @binding(0) var<uniform> parameters: Parameters;
fn pin(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.pin); }
fn apart(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.apart); }
fn f32_add(a: f32, b: f32) -> f32 { return pin(a + apart(b)); }
fn f32_quotient(a: f32, b: f32) -> f32 { return pin(a / apart(b)); }
fn f32_div(a: f32, b: f32) -> f32 { return f32_quotient(a, b); }
@group(0) @binding(1) var<storage, read> b0_x: array<f32>;
@group(0) @binding(2) var<storage, read_write> b1_y: array<f32>;
@compute @workgroup_size(64)
fn launch_0(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let total: i32 = 1;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let v0: f32 = 0.0f;
    var r0: f32 = v0;
    for (var a0_k: i32 = 0; a0_k < 12; a0_k += 1) {
      let v1: f32 = r0;
      let v2: f32 = b0_x[a0_k];
      let v3: f32 = f32_add(v1, v2);
      r0 = v3;
    }
    for (var a1_i: i32 = 0; a1_i < 12; a1_i += 1) {
      let v4: f32 = b0_x[a1_i];
      let v5: f32 = r0;
      let v6: f32 = f32_div(v4, v5);
      b1_y[a1_i] = v6;
    }
  }
}

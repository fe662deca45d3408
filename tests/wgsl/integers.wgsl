// Kernel integers.

struct Parameters {
  // Zero, which only the host knows.
  pin: u32,
  apart: u32,
  // max(0,N)
  p0: i32,
}
@group(0) @binding(0) var<uniform> parameters: Parameters;
fn i32_div(a: i32, b: i32) -> i32 {
  if (b == 0) { return 0; }
  if (b == -1) { return -a; }
  return a / b;
}
@group(0) @binding(1) var<storage, read> b0_x: array<i32>;
@group(0) @binding(2) var<storage, read> b1_m: array<u32>;
fn load_b1_m(at: i32) -> bool {
  let shift = (bitcast<u32>(at) & 3u) * 8u;
  return extractBits(b1_m[at >> 2u], shift, 8u) != 0u;
}
@group(0) @binding(3) var<storage, read_write> b2_y: array<u32>;
@group(0) @binding(4) var<storage, read_write> b3_o: array<atomic<u32>>;
fn load_b3_o(at: i32) -> bool {
  let shift = (bitcast<u32>(at) & 3u) * 8u;
  return extractBits(atomicLoad(&b3_o[at >> 2u]), shift, 8u) != 0u;
}
fn store_b3_o(at: i32, value: bool) {
  let shift = (bitcast<u32>(at) & 3u) * 8u;
  atomicAnd(&b3_o[at >> 2u], ~(0xffu << shift));
  atomicOr(&b3_o[at >> 2u], (u32(value)) << shift);
}
@compute @workgroup_size(64)
fn launch_0(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let total: i32 = parameters.p0;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a0_i: i32 = turn;
    let v0: i32 = b0_x[a0_i];
    let v1: i32 = i32(7);
    let v2: i32 = i32_div(v0, v1);
    let v3: u32 = u32(v2);
    b2_y[a0_i] = v3;
    let v4: i32 = b0_x[a0_i];
    let v5: i32 = i32(50);
    let v6: bool = v4 < v5;
    let v7: bool = load_b1_m(a0_i);
    let v8: bool = v6 || v7;
    store_b3_o(a0_i, v8);
  }
}

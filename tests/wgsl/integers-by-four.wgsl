// Kernel integers_by_four.

struct Parameters {
  // Zero, which only the host knows.
  pin: u32,
  apart: u32,
  // max(0,N)
  p0: i32,
}
@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> b0_s: array<vec2<u32>>;
fn load_b0_s(at: i32) -> vec4<i32> {
  let cell = b0_s[at];
  return vec4<i32>(extractBits(bitcast<i32>(extractBits(cell.x, 0u, 16u)), 0u, 16u), extractBits(bitcast<i32>(extractBits(cell.x, 16u, 16u)), 0u, 16u), extractBits(bitcast<i32>(extractBits(cell.y, 0u, 16u)), 0u, 16u), extractBits(bitcast<i32>(extractBits(cell.y, 16u, 16u)), 0u, 16u));
}
@group(0) @binding(2) var<storage, read> b1_n: array<u32>;
fn load_b1_n(at: i32) -> vec4<i32> {
  let cell = b1_n[at];
  return vec4<i32>(extractBits(bitcast<i32>(extractBits(cell, 0u, 8u)), 0u, 8u), extractBits(bitcast<i32>(extractBits(cell, 8u, 8u)), 0u, 8u), extractBits(bitcast<i32>(extractBits(cell, 16u, 8u)), 0u, 8u), extractBits(bitcast<i32>(extractBits(cell, 24u, 8u)), 0u, 8u));
}
@group(0) @binding(3) var<storage, read> b2_u: array<u32>;
fn load_b2_u(at: i32) -> vec4<u32> {
  let cell = b2_u[at];
  return vec4<u32>(extractBits(cell, 0u, 8u), extractBits(cell, 8u, 8u), extractBits(cell, 16u, 8u), extractBits(cell, 24u, 8u));
}
@group(0) @binding(4) var<storage, read_write> b3_ys: array<vec2<u32>>;
fn load_b3_ys(at: i32) -> vec4<i32> {
  let cell = b3_ys[at];
  return vec4<i32>(extractBits(bitcast<i32>(extractBits(cell.x, 0u, 16u)), 0u, 16u), extractBits(bitcast<i32>(extractBits(cell.x, 16u, 16u)), 0u, 16u), extractBits(bitcast<i32>(extractBits(cell.y, 0u, 16u)), 0u, 16u), extractBits(bitcast<i32>(extractBits(cell.y, 16u, 16u)), 0u, 16u));
}
fn store_b3_ys(at: i32, value: vec4<i32>) {
  b3_ys[at] = vec2<u32>(extractBits(bitcast<u32>(value.x), 0u, 16u) | ((extractBits(bitcast<u32>(value.y), 0u, 16u)) << 16u), extractBits(bitcast<u32>(value.z), 0u, 16u) | ((extractBits(bitcast<u32>(value.w), 0u, 16u)) << 16u));
}
@group(0) @binding(5) var<storage, read_write> b4_yn: array<u32>;
fn load_b4_yn(at: i32) -> vec4<i32> {
  let cell = b4_yn[at];
  return vec4<i32>(extractBits(bitcast<i32>(extractBits(cell, 0u, 8u)), 0u, 8u), extractBits(bitcast<i32>(extractBits(cell, 8u, 8u)), 0u, 8u), extractBits(bitcast<i32>(extractBits(cell, 16u, 8u)), 0u, 8u), extractBits(bitcast<i32>(extractBits(cell, 24u, 8u)), 0u, 8u));
}
fn store_b4_yn(at: i32, value: vec4<i32>) {
  b4_yn[at] = extractBits(bitcast<u32>(value.x), 0u, 8u) | ((extractBits(bitcast<u32>(value.y), 0u, 8u)) << 8u) | ((extractBits(bitcast<u32>(value.z), 0u, 8u)) << 16u) | ((extractBits(bitcast<u32>(value.w), 0u, 8u)) << 24u);
}
@group(0) @binding(6) var<storage, read_write> b5_yu: array<u32>;
fn load_b5_yu(at: i32) -> vec4<u32> {
  let cell = b5_yu[at];
  return vec4<u32>(extractBits(cell, 0u, 8u), extractBits(cell, 8u, 8u), extractBits(cell, 16u, 8u), extractBits(cell, 24u, 8u));
}
fn store_b5_yu(at: i32, value: vec4<u32>) {
  b5_yu[at] = extractBits(value.x, 0u, 8u) | ((extractBits(value.y, 0u, 8u)) << 8u) | ((extractBits(value.z, 0u, 8u)) << 16u) | ((extractBits(value.w, 0u, 8u)) << 24u);
}
@compute @workgroup_size(64)
fn launch_0(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let total: i32 = parameters.p0 * 2;
  let members = i32(groups.x * 64u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a2_four: i32 = (turn % 2) * 4;
    let a0_i: i32 = turn / 2;
    let q0 = load_b0_s(((a0_i * 8 + a2_four) >> 2u));
    let v0: i32 = q0.x;
    let v1: i32 = q0.y;
    let v2: i32 = q0.z;
    let v3: i32 = q0.w;
    let v4: i32 = v0 * v0;
    let v5: i32 = extractBits(v4, 0u, 16u);
    let v6: i32 = v1 * v1;
    let v7: i32 = extractBits(v6, 0u, 16u);
    let v8: i32 = v2 * v2;
    let v9: i32 = extractBits(v8, 0u, 16u);
    let v10: i32 = v3 * v3;
    let v11: i32 = extractBits(v10, 0u, 16u);
    store_b3_ys(((a0_i * 8 + a2_four) >> 2u), vec4<i32>(v5, v7, v9, v11));
    let q12 = load_b1_n(((a0_i * 8 + a2_four) >> 2u));
    let v12: i32 = q12.x;
    let v13: i32 = q12.y;
    let v14: i32 = q12.z;
    let v15: i32 = q12.w;
    let v16: i32 = i32(100);
    let v17: i32 = v12 - v16;
    let v18: i32 = extractBits(v17, 0u, 8u);
    let v19: i32 = i32(100);
    let v20: i32 = v13 - v19;
    let v21: i32 = extractBits(v20, 0u, 8u);
    let v22: i32 = i32(100);
    let v23: i32 = v14 - v22;
    let v24: i32 = extractBits(v23, 0u, 8u);
    let v25: i32 = i32(100);
    let v26: i32 = v15 - v25;
    let v27: i32 = extractBits(v26, 0u, 8u);
    store_b4_yn(((a0_i * 8 + a2_four) >> 2u), vec4<i32>(v18, v21, v24, v27));
    let q28 = load_b2_u(((a0_i * 8 + a2_four) >> 2u));
    let v28: u32 = q28.x;
    let v29: u32 = q28.y;
    let v30: u32 = q28.z;
    let v31: u32 = q28.w;
    let v32: u32 = v28 + v28;
    let v33: u32 = extractBits(v32, 0u, 8u);
    let v34: u32 = v29 + v29;
    let v35: u32 = extractBits(v34, 0u, 8u);
    let v36: u32 = v30 + v30;
    let v37: u32 = extractBits(v36, 0u, 8u);
    let v38: u32 = v31 + v31;
    let v39: u32 = extractBits(v38, 0u, 8u);
    store_b5_yu(((a0_i * 8 + a2_four) >> 2u), vec4<u32>(v33, v35, v37, v39));
  }
}

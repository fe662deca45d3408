// Kernel reduction.

struct Parameters {
  // Zero, which only the host knows.
  pin: u32,
  apart: u32,
  // K
  p0: i32,
  // max(0,N)
  p1: i32,
}
@group(0) @binding(0) var<uniform> parameters: Parameters;
fn pin(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.pin); }
fn apart(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.apart); }
fn f32_add(a: f32, b: f32) -> f32 { return pin(a + apart(b)); }
@group(0) @binding(1) var<storage, read> b0_x: array<f32>;
@group(0) @binding(2) var<storage, read_write> b1_y: array<f32>;
var<workgroup> s2_exchange_2: array<f32, 256>;
@compute @workgroup_size(256)
fn launch_0(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) own: u32,
) {
  let lane = i32(own);
  let total: i32 = parameters.p1;
  let members = i32(groups.x * 1u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a0_i: i32 = turn;
    let v0: f32 = 0.0f;
    var r0: f32 = v0;
    for (var a2_k_0: i32 = 0; a2_k_0 < parameters.p0; a2_k_0 += 8) {
      for (var a3_k_1: i32 = 0 + lane * 1; a3_k_1 < min(8, a2_k_0 * (-1) + parameters.p0); a3_k_1 += 256) {
        let v1: f32 = r0;
        let v2: f32 = b0_x[a0_i * parameters.p0 + a2_k_0 + a3_k_1];
        let v3: f32 = f32_add(v1, v2);
        r0 = v3;
      }
    }
    let v4: f32 = r0;
    s2_exchange_2[lane] = v4;
    workgroupBarrier();
    let v5: f32 = 0.0f;
    r0 = v5;
    for (var a4_part: i32 = (lane >> 4u) * 16; a4_part < (lane >> 4u) * 16 + 16; a4_part += 1) {
      let v6: f32 = s2_exchange_2[a4_part];
      let v7: f32 = r0;
      let v8: f32 = f32_add(v7, v6);
      r0 = v8;
    }
    workgroupBarrier();
    let v9: f32 = r0;
    s2_exchange_2[lane] = v9;
    workgroupBarrier();
    let v10: f32 = 0.0f;
    r0 = v10;
    for (var a5_part: i32 = (lane >> 8u) * 256; a5_part < (lane >> 8u) * 256 + 256; a5_part += 16) {
      let v11: f32 = s2_exchange_2[a5_part];
      let v12: f32 = r0;
      let v13: f32 = f32_add(v12, v11);
      r0 = v13;
    }
    workgroupBarrier();
    let v14: f32 = 0.0f;
    let v15: f32 = r0;
    let v16: f32 = f32_add(v15, v14);
    r0 = v16;
    if (lane >= 0 && lane < 1) {
      let v17: f32 = r0;
      b1_y[a0_i] = v17;
    }
  }
}

// Kernel centred.

struct Parameters {
  // Zero, which only the host knows.
  pin: u32,
  apart: u32,
  // max(0,N)
  p0: i32,
}
@group(0) @binding(0) var<uniform> parameters: Parameters;
fn pin(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.pin); }
fn apart(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.apart); }
fn float_of(bits: u32) -> f32 { return bitcast<f32>(bits ^ parameters.pin); }
fn f32_is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn f32_key(x: f32) -> i32 {
  let b = bitcast<i32>(x);
  return select(b, -(b & 0x7fffffff), b < 0);
}
fn f32_add(a: f32, b: f32) -> f32 { return pin(a + apart(b)); }
fn f32_sub(a: f32, b: f32) -> f32 { return pin(a - apart(b)); }
fn f32_mul(a: f32, b: f32) -> f32 { return pin(a * apart(b)); }
fn f32_lt(a: f32, b: f32) -> bool {
  return !f32_is_nan(a) && !f32_is_nan(b) && f32_key(a) < f32_key(b);
}
fn f32_greater(a: f32, b: f32) -> f32 { return select(b, a, f32_lt(b, a)); }
@group(0) @binding(1) var<storage, read> b0_x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b1_y: array<vec4<f32>>;
var<workgroup> s3_exchange_3: array<f32, 64>;
@compute @workgroup_size(64)
fn launch_0(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) own: u32,
) {
  let lane = i32(own);
  let total: i32 = parameters.p0;
  let members = i32(groups.x * 1u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a0_i: i32 = turn;
    let v0: f32 = float_of(0xff800000u);
    var r0: f32 = v0;
    let v1: f32 = r0;
    let q2 = b0_x[(a0_i * 256 + lane * 4) / 4];
    let v2: f32 = q2.x;
    let v3: f32 = q2.y;
    let v4: f32 = q2.z;
    let v5: f32 = q2.w;
    let v6: f32 = f32_greater(v1, v2);
    r0 = v6;
    let v7: f32 = r0;
    let v8: f32 = f32_greater(v7, v3);
    r0 = v8;
    let v9: f32 = r0;
    let v10: f32 = f32_greater(v9, v4);
    r0 = v10;
    let v11: f32 = r0;
    let v12: f32 = f32_greater(v11, v5);
    r0 = v12;
    let v13: f32 = r0;
    s3_exchange_3[lane] = v13;
    workgroupBarrier();
    let v14: f32 = float_of(0xff800000u);
    r0 = v14;
    for (var a4_part: i32 = (lane / 16) * 16; a4_part < (lane / 16) * 16 + 16; a4_part += 1) {
      let v15: f32 = s3_exchange_3[a4_part];
      let v16: f32 = r0;
      let v17: f32 = f32_greater(v16, v15);
      r0 = v17;
    }
    workgroupBarrier();
    let v18: f32 = r0;
    s3_exchange_3[lane] = v18;
    workgroupBarrier();
    let v19: f32 = float_of(0xff800000u);
    r0 = v19;
    for (var a5_part: i32 = (lane / 64) * 64; a5_part < (lane / 64) * 64 + 64; a5_part += 16) {
      let v20: f32 = s3_exchange_3[a5_part];
      let v21: f32 = r0;
      let v22: f32 = f32_greater(v21, v20);
      r0 = v22;
    }
    workgroupBarrier();
    let v23: f32 = float_of(0xff800000u);
    let v24: f32 = r0;
    let v25: f32 = f32_greater(v24, v23);
    r0 = v25;
    let v26: f32 = 0.0f;
    var r1: f32 = v26;
    let v27: f32 = r0;
    let v28: f32 = f32_sub(v2, v27);
    let v29: f32 = r0;
    let v30: f32 = f32_sub(v3, v29);
    let v31: f32 = r0;
    let v32: f32 = f32_sub(v4, v31);
    let v33: f32 = r0;
    let v34: f32 = f32_sub(v5, v33);
    let v35: f32 = r1;
    let v36: f32 = f32_add(v35, v28);
    r1 = v36;
    let v37: f32 = r1;
    let v38: f32 = f32_add(v37, v30);
    r1 = v38;
    let v39: f32 = r1;
    let v40: f32 = f32_add(v39, v32);
    r1 = v40;
    let v41: f32 = r1;
    let v42: f32 = f32_add(v41, v34);
    r1 = v42;
    let v43: f32 = r1;
    s3_exchange_3[lane] = v43;
    workgroupBarrier();
    let v44: f32 = 0.0f;
    r1 = v44;
    for (var a6_part: i32 = (lane / 16) * 16; a6_part < (lane / 16) * 16 + 16; a6_part += 1) {
      let v45: f32 = s3_exchange_3[a6_part];
      let v46: f32 = r1;
      let v47: f32 = f32_add(v46, v45);
      r1 = v47;
    }
    workgroupBarrier();
    let v48: f32 = r1;
    s3_exchange_3[lane] = v48;
    workgroupBarrier();
    let v49: f32 = 0.0f;
    r1 = v49;
    for (var a7_part: i32 = (lane / 64) * 64; a7_part < (lane / 64) * 64 + 64; a7_part += 16) {
      let v50: f32 = s3_exchange_3[a7_part];
      let v51: f32 = r1;
      let v52: f32 = f32_add(v51, v50);
      r1 = v52;
    }
    workgroupBarrier();
    let v53: f32 = 0.0f;
    let v54: f32 = r1;
    let v55: f32 = f32_add(v54, v53);
    r1 = v55;
    workgroupBarrier();
    let v56: f32 = r1;
    let v57: f32 = f32_mul(v28, v56);
    let v58: f32 = r1;
    let v59: f32 = f32_mul(v30, v58);
    let v60: f32 = r1;
    let v61: f32 = f32_mul(v32, v60);
    let v62: f32 = r1;
    let v63: f32 = f32_mul(v34, v62);
    b1_y[(a0_i * 256 + lane * 4) / 4] = vec4<f32>(v57, v59, v61, v63);
  }
}

// Kernel twice.

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
@group(0) @binding(3) var<storage, read_write> b2_z: array<vec4<f32>>;
var<workgroup> s4_exchange_4: array<f32, 64>;
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
    let q0 = b0_x[(a0_i * 256 + lane * 4) / 4];
    let v0: f32 = q0.x;
    let v1: f32 = q0.y;
    let v2: f32 = q0.z;
    let v3: f32 = q0.w;
    let v4: f32 = 1.0f;
    let v5: f32 = f32_add(v0, v4);
    let v6: f32 = 1.0f;
    let v7: f32 = f32_add(v1, v6);
    let v8: f32 = 1.0f;
    let v9: f32 = f32_add(v2, v8);
    let v10: f32 = 1.0f;
    let v11: f32 = f32_add(v3, v10);
    b1_y[(a0_i * 256 + lane * 4) / 4] = vec4<f32>(v5, v7, v9, v11);
    storageBarrier();
    workgroupBarrier();
    let v12: f32 = 0.0f;
    var r0: f32 = v12;
    let v13: f32 = r0;
    let q14 = b1_y[(a0_i * 256 + lane * 4) / 4];
    let v14: f32 = q14.x;
    let v15: f32 = q14.y;
    let v16: f32 = q14.z;
    let v17: f32 = q14.w;
    let v18: f32 = f32_add(v13, v14);
    r0 = v18;
    let v19: f32 = r0;
    let v20: f32 = f32_add(v19, v15);
    r0 = v20;
    let v21: f32 = r0;
    let v22: f32 = f32_add(v21, v16);
    r0 = v22;
    let v23: f32 = r0;
    let v24: f32 = f32_add(v23, v17);
    r0 = v24;
    let v25: f32 = r0;
    s4_exchange_4[lane] = v25;
    storageBarrier();
    workgroupBarrier();
    let v26: f32 = 0.0f;
    r0 = v26;
    for (var a6_part: i32 = (lane / 16) * 16; a6_part < (lane / 16) * 16 + 16; a6_part += 1) {
      let v27: f32 = s4_exchange_4[a6_part];
      let v28: f32 = r0;
      let v29: f32 = f32_add(v28, v27);
      r0 = v29;
    }
    storageBarrier();
    workgroupBarrier();
    let v30: f32 = r0;
    s4_exchange_4[lane] = v30;
    storageBarrier();
    workgroupBarrier();
    let v31: f32 = 0.0f;
    r0 = v31;
    for (var a7_part: i32 = (lane / 64) * 64; a7_part < (lane / 64) * 64 + 64; a7_part += 16) {
      let v32: f32 = s4_exchange_4[a7_part];
      let v33: f32 = r0;
      let v34: f32 = f32_add(v33, v32);
      r0 = v34;
    }
    storageBarrier();
    workgroupBarrier();
    let v35: f32 = 0.0f;
    let v36: f32 = r0;
    let v37: f32 = f32_add(v36, v35);
    r0 = v37;
    let v38: f32 = 2.0f;
    let v39: f32 = f32_mul(v0, v38);
    let v40: f32 = 2.0f;
    let v41: f32 = f32_mul(v1, v40);
    let v42: f32 = 2.0f;
    let v43: f32 = f32_mul(v2, v42);
    let v44: f32 = 2.0f;
    let v45: f32 = f32_mul(v3, v44);
    b1_y[(a0_i * 256 + lane * 4) / 4] = vec4<f32>(v39, v41, v43, v45);
    let v46: f32 = 3.0f;
    let v47: f32 = f32_mul(v0, v46);
    let v48: f32 = 3.0f;
    let v49: f32 = f32_mul(v1, v48);
    let v50: f32 = 3.0f;
    let v51: f32 = f32_mul(v2, v50);
    let v52: f32 = 3.0f;
    let v53: f32 = f32_mul(v3, v52);
    storageBarrier();
    workgroupBarrier();
    let v54: f32 = float_of(0xff800000u);
    var r1: f32 = v54;
    let v55: f32 = r1;
    let q56 = b1_y[(a0_i * 256 + lane * 4) / 4];
    let v56: f32 = q56.x;
    let v57: f32 = q56.y;
    let v58: f32 = q56.z;
    let v59: f32 = q56.w;
    let v60: f32 = f32_greater(v55, v56);
    r1 = v60;
    let v61: f32 = r1;
    let v62: f32 = f32_greater(v61, v57);
    r1 = v62;
    let v63: f32 = r1;
    let v64: f32 = f32_greater(v63, v58);
    r1 = v64;
    let v65: f32 = r1;
    let v66: f32 = f32_greater(v65, v59);
    r1 = v66;
    let v67: f32 = r1;
    s4_exchange_4[lane] = v67;
    storageBarrier();
    workgroupBarrier();
    let v68: f32 = float_of(0xff800000u);
    r1 = v68;
    for (var a8_part: i32 = (lane / 16) * 16; a8_part < (lane / 16) * 16 + 16; a8_part += 1) {
      let v69: f32 = s4_exchange_4[a8_part];
      let v70: f32 = r1;
      let v71: f32 = f32_greater(v70, v69);
      r1 = v71;
    }
    storageBarrier();
    workgroupBarrier();
    let v72: f32 = r1;
    s4_exchange_4[lane] = v72;
    storageBarrier();
    workgroupBarrier();
    let v73: f32 = float_of(0xff800000u);
    r1 = v73;
    for (var a9_part: i32 = (lane / 64) * 64; a9_part < (lane / 64) * 64 + 64; a9_part += 16) {
      let v74: f32 = s4_exchange_4[a9_part];
      let v75: f32 = r1;
      let v76: f32 = f32_greater(v75, v74);
      r1 = v76;
    }
    storageBarrier();
    workgroupBarrier();
    let v77: f32 = float_of(0xff800000u);
    let v78: f32 = r1;
    let v79: f32 = f32_greater(v78, v77);
    r1 = v79;
    let v80: f32 = r0;
    let v81: f32 = f32_mul(v56, v80);
    let v82: f32 = f32_add(v81, v47);
    let v83: f32 = r1;
    let v84: f32 = f32_sub(v82, v83);
    let v85: f32 = r0;
    let v86: f32 = f32_mul(v57, v85);
    let v87: f32 = f32_add(v86, v49);
    let v88: f32 = r1;
    let v89: f32 = f32_sub(v87, v88);
    let v90: f32 = r0;
    let v91: f32 = f32_mul(v58, v90);
    let v92: f32 = f32_add(v91, v51);
    let v93: f32 = r1;
    let v94: f32 = f32_sub(v92, v93);
    let v95: f32 = r0;
    let v96: f32 = f32_mul(v59, v95);
    let v97: f32 = f32_add(v96, v53);
    let v98: f32 = r1;
    let v99: f32 = f32_sub(v97, v98);
    b2_z[(a0_i * 256 + lane * 4) / 4] = vec4<f32>(v84, v89, v94, v99);
  }
}

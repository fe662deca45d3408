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
var<workgroup> s3_exchange_3: array<f32, 32>;
@compute @workgroup_size(32)
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
    let q2 = b0_x[((a0_i * 256 + lane * 4) >> 2u)];
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
    let q14 = b0_x[((a0_i * 256 + (lane + 32) * 4) >> 2u)];
    let v14: f32 = q14.x;
    let v15: f32 = q14.y;
    let v16: f32 = q14.z;
    let v17: f32 = q14.w;
    let v18: f32 = f32_greater(v13, v14);
    r0 = v18;
    let v19: f32 = r0;
    let v20: f32 = f32_greater(v19, v15);
    r0 = v20;
    let v21: f32 = r0;
    let v22: f32 = f32_greater(v21, v16);
    r0 = v22;
    let v23: f32 = r0;
    let v24: f32 = f32_greater(v23, v17);
    r0 = v24;
    let v25: f32 = r0;
    s3_exchange_3[lane] = v25;
    workgroupBarrier();
    let v26: f32 = float_of(0xff800000u);
    r0 = v26;
    for (var a4_part: i32 = (lane >> 4u) * 16; a4_part < (lane >> 4u) * 16 + 16; a4_part += 1) {
      let v27: f32 = s3_exchange_3[a4_part];
      let v28: f32 = r0;
      let v29: f32 = f32_greater(v28, v27);
      r0 = v29;
    }
    workgroupBarrier();
    let v30: f32 = r0;
    s3_exchange_3[lane] = v30;
    workgroupBarrier();
    let v31: f32 = float_of(0xff800000u);
    r0 = v31;
    for (var a5_part: i32 = (lane >> 5u) * 32; a5_part < (lane >> 5u) * 32 + 32; a5_part += 16) {
      let v32: f32 = s3_exchange_3[a5_part];
      let v33: f32 = r0;
      let v34: f32 = f32_greater(v33, v32);
      r0 = v34;
    }
    workgroupBarrier();
    let v35: f32 = float_of(0xff800000u);
    let v36: f32 = r0;
    let v37: f32 = f32_greater(v36, v35);
    r0 = v37;
    let v38: f32 = 0.0f;
    var r1: f32 = v38;
    let v39: f32 = r0;
    let v40: f32 = f32_sub(v2, v39);
    let v41: f32 = r0;
    let v42: f32 = f32_sub(v3, v41);
    let v43: f32 = r0;
    let v44: f32 = f32_sub(v4, v43);
    let v45: f32 = r0;
    let v46: f32 = f32_sub(v5, v45);
    let v47: f32 = r1;
    let v48: f32 = f32_add(v47, v40);
    r1 = v48;
    let v49: f32 = r1;
    let v50: f32 = f32_add(v49, v42);
    r1 = v50;
    let v51: f32 = r1;
    let v52: f32 = f32_add(v51, v44);
    r1 = v52;
    let v53: f32 = r1;
    let v54: f32 = f32_add(v53, v46);
    r1 = v54;
    let v55: f32 = r0;
    let v56: f32 = f32_sub(v14, v55);
    let v57: f32 = r0;
    let v58: f32 = f32_sub(v15, v57);
    let v59: f32 = r0;
    let v60: f32 = f32_sub(v16, v59);
    let v61: f32 = r0;
    let v62: f32 = f32_sub(v17, v61);
    let v63: f32 = r1;
    let v64: f32 = f32_add(v63, v56);
    r1 = v64;
    let v65: f32 = r1;
    let v66: f32 = f32_add(v65, v58);
    r1 = v66;
    let v67: f32 = r1;
    let v68: f32 = f32_add(v67, v60);
    r1 = v68;
    let v69: f32 = r1;
    let v70: f32 = f32_add(v69, v62);
    r1 = v70;
    let v71: f32 = r1;
    s3_exchange_3[lane] = v71;
    workgroupBarrier();
    let v72: f32 = 0.0f;
    r1 = v72;
    for (var a6_part: i32 = (lane >> 4u) * 16; a6_part < (lane >> 4u) * 16 + 16; a6_part += 1) {
      let v73: f32 = s3_exchange_3[a6_part];
      let v74: f32 = r1;
      let v75: f32 = f32_add(v74, v73);
      r1 = v75;
    }
    workgroupBarrier();
    let v76: f32 = r1;
    s3_exchange_3[lane] = v76;
    workgroupBarrier();
    let v77: f32 = 0.0f;
    r1 = v77;
    for (var a7_part: i32 = (lane >> 5u) * 32; a7_part < (lane >> 5u) * 32 + 32; a7_part += 16) {
      let v78: f32 = s3_exchange_3[a7_part];
      let v79: f32 = r1;
      let v80: f32 = f32_add(v79, v78);
      r1 = v80;
    }
    workgroupBarrier();
    let v81: f32 = 0.0f;
    let v82: f32 = r1;
    let v83: f32 = f32_add(v82, v81);
    r1 = v83;
    workgroupBarrier();
    let v84: f32 = r1;
    let v85: f32 = f32_mul(v40, v84);
    let v86: f32 = r1;
    let v87: f32 = f32_mul(v42, v86);
    let v88: f32 = r1;
    let v89: f32 = f32_mul(v44, v88);
    let v90: f32 = r1;
    let v91: f32 = f32_mul(v46, v90);
    b1_y[((a0_i * 256 + lane * 4) >> 2u)] = vec4<f32>(v85, v87, v89, v91);
    let v92: f32 = r1;
    let v93: f32 = f32_mul(v56, v92);
    let v94: f32 = r1;
    let v95: f32 = f32_mul(v58, v94);
    let v96: f32 = r1;
    let v97: f32 = f32_mul(v60, v96);
    let v98: f32 = r1;
    let v99: f32 = f32_mul(v62, v98);
    b1_y[((a0_i * 256 + (lane + 32) * 4) >> 2u)] = vec4<f32>(v93, v95, v97, v99);
  }
}

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
var<workgroup> s4_exchange_4: array<f32, 32>;
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
    let q0 = b0_x[((a0_i * 256 + lane * 4) >> 2u)];
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
    b1_y[((a0_i * 256 + lane * 4) >> 2u)] = vec4<f32>(v5, v7, v9, v11);
    let q12 = b0_x[((a0_i * 256 + (lane + 32) * 4) >> 2u)];
    let v12: f32 = q12.x;
    let v13: f32 = q12.y;
    let v14: f32 = q12.z;
    let v15: f32 = q12.w;
    let v16: f32 = 1.0f;
    let v17: f32 = f32_add(v12, v16);
    let v18: f32 = 1.0f;
    let v19: f32 = f32_add(v13, v18);
    let v20: f32 = 1.0f;
    let v21: f32 = f32_add(v14, v20);
    let v22: f32 = 1.0f;
    let v23: f32 = f32_add(v15, v22);
    b1_y[((a0_i * 256 + (lane + 32) * 4) >> 2u)] = vec4<f32>(v17, v19, v21, v23);
    storageBarrier();
    workgroupBarrier();
    let v24: f32 = 0.0f;
    var r0: f32 = v24;
    let v25: f32 = r0;
    let q26 = b1_y[((a0_i * 256 + lane * 4) >> 2u)];
    let v26: f32 = q26.x;
    let v27: f32 = q26.y;
    let v28: f32 = q26.z;
    let v29: f32 = q26.w;
    let v30: f32 = f32_add(v25, v26);
    r0 = v30;
    let v31: f32 = r0;
    let v32: f32 = f32_add(v31, v27);
    r0 = v32;
    let v33: f32 = r0;
    let v34: f32 = f32_add(v33, v28);
    r0 = v34;
    let v35: f32 = r0;
    let v36: f32 = f32_add(v35, v29);
    r0 = v36;
    let v37: f32 = r0;
    let q38 = b1_y[((a0_i * 256 + (lane + 32) * 4) >> 2u)];
    let v38: f32 = q38.x;
    let v39: f32 = q38.y;
    let v40: f32 = q38.z;
    let v41: f32 = q38.w;
    let v42: f32 = f32_add(v37, v38);
    r0 = v42;
    let v43: f32 = r0;
    let v44: f32 = f32_add(v43, v39);
    r0 = v44;
    let v45: f32 = r0;
    let v46: f32 = f32_add(v45, v40);
    r0 = v46;
    let v47: f32 = r0;
    let v48: f32 = f32_add(v47, v41);
    r0 = v48;
    let v49: f32 = r0;
    s4_exchange_4[lane] = v49;
    storageBarrier();
    workgroupBarrier();
    let v50: f32 = 0.0f;
    r0 = v50;
    for (var a6_part: i32 = (lane >> 4u) * 16; a6_part < (lane >> 4u) * 16 + 16; a6_part += 1) {
      let v51: f32 = s4_exchange_4[a6_part];
      let v52: f32 = r0;
      let v53: f32 = f32_add(v52, v51);
      r0 = v53;
    }
    storageBarrier();
    workgroupBarrier();
    let v54: f32 = r0;
    s4_exchange_4[lane] = v54;
    storageBarrier();
    workgroupBarrier();
    let v55: f32 = 0.0f;
    r0 = v55;
    for (var a7_part: i32 = (lane >> 5u) * 32; a7_part < (lane >> 5u) * 32 + 32; a7_part += 16) {
      let v56: f32 = s4_exchange_4[a7_part];
      let v57: f32 = r0;
      let v58: f32 = f32_add(v57, v56);
      r0 = v58;
    }
    storageBarrier();
    workgroupBarrier();
    let v59: f32 = 0.0f;
    let v60: f32 = r0;
    let v61: f32 = f32_add(v60, v59);
    r0 = v61;
    let v62: f32 = 2.0f;
    let v63: f32 = f32_mul(v0, v62);
    let v64: f32 = 2.0f;
    let v65: f32 = f32_mul(v1, v64);
    let v66: f32 = 2.0f;
    let v67: f32 = f32_mul(v2, v66);
    let v68: f32 = 2.0f;
    let v69: f32 = f32_mul(v3, v68);
    b1_y[((a0_i * 256 + lane * 4) >> 2u)] = vec4<f32>(v63, v65, v67, v69);
    let v70: f32 = 3.0f;
    let v71: f32 = f32_mul(v0, v70);
    let v72: f32 = 3.0f;
    let v73: f32 = f32_mul(v1, v72);
    let v74: f32 = 3.0f;
    let v75: f32 = f32_mul(v2, v74);
    let v76: f32 = 3.0f;
    let v77: f32 = f32_mul(v3, v76);
    let v78: f32 = 2.0f;
    let v79: f32 = f32_mul(v12, v78);
    let v80: f32 = 2.0f;
    let v81: f32 = f32_mul(v13, v80);
    let v82: f32 = 2.0f;
    let v83: f32 = f32_mul(v14, v82);
    let v84: f32 = 2.0f;
    let v85: f32 = f32_mul(v15, v84);
    b1_y[((a0_i * 256 + (lane + 32) * 4) >> 2u)] = vec4<f32>(v79, v81, v83, v85);
    let v86: f32 = 3.0f;
    let v87: f32 = f32_mul(v12, v86);
    let v88: f32 = 3.0f;
    let v89: f32 = f32_mul(v13, v88);
    let v90: f32 = 3.0f;
    let v91: f32 = f32_mul(v14, v90);
    let v92: f32 = 3.0f;
    let v93: f32 = f32_mul(v15, v92);
    storageBarrier();
    workgroupBarrier();
    let v94: f32 = float_of(0xff800000u);
    var r1: f32 = v94;
    let v95: f32 = r1;
    let q96 = b1_y[((a0_i * 256 + lane * 4) >> 2u)];
    let v96: f32 = q96.x;
    let v97: f32 = q96.y;
    let v98: f32 = q96.z;
    let v99: f32 = q96.w;
    let v100: f32 = f32_greater(v95, v96);
    r1 = v100;
    let v101: f32 = r1;
    let v102: f32 = f32_greater(v101, v97);
    r1 = v102;
    let v103: f32 = r1;
    let v104: f32 = f32_greater(v103, v98);
    r1 = v104;
    let v105: f32 = r1;
    let v106: f32 = f32_greater(v105, v99);
    r1 = v106;
    let v107: f32 = r1;
    let q108 = b1_y[((a0_i * 256 + (lane + 32) * 4) >> 2u)];
    let v108: f32 = q108.x;
    let v109: f32 = q108.y;
    let v110: f32 = q108.z;
    let v111: f32 = q108.w;
    let v112: f32 = f32_greater(v107, v108);
    r1 = v112;
    let v113: f32 = r1;
    let v114: f32 = f32_greater(v113, v109);
    r1 = v114;
    let v115: f32 = r1;
    let v116: f32 = f32_greater(v115, v110);
    r1 = v116;
    let v117: f32 = r1;
    let v118: f32 = f32_greater(v117, v111);
    r1 = v118;
    let v119: f32 = r1;
    s4_exchange_4[lane] = v119;
    storageBarrier();
    workgroupBarrier();
    let v120: f32 = float_of(0xff800000u);
    r1 = v120;
    for (var a8_part: i32 = (lane >> 4u) * 16; a8_part < (lane >> 4u) * 16 + 16; a8_part += 1) {
      let v121: f32 = s4_exchange_4[a8_part];
      let v122: f32 = r1;
      let v123: f32 = f32_greater(v122, v121);
      r1 = v123;
    }
    storageBarrier();
    workgroupBarrier();
    let v124: f32 = r1;
    s4_exchange_4[lane] = v124;
    storageBarrier();
    workgroupBarrier();
    let v125: f32 = float_of(0xff800000u);
    r1 = v125;
    for (var a9_part: i32 = (lane >> 5u) * 32; a9_part < (lane >> 5u) * 32 + 32; a9_part += 16) {
      let v126: f32 = s4_exchange_4[a9_part];
      let v127: f32 = r1;
      let v128: f32 = f32_greater(v127, v126);
      r1 = v128;
    }
    storageBarrier();
    workgroupBarrier();
    let v129: f32 = float_of(0xff800000u);
    let v130: f32 = r1;
    let v131: f32 = f32_greater(v130, v129);
    r1 = v131;
    let v132: f32 = r0;
    let v133: f32 = f32_mul(v96, v132);
    let v134: f32 = f32_add(v133, v71);
    let v135: f32 = r1;
    let v136: f32 = f32_sub(v134, v135);
    let v137: f32 = r0;
    let v138: f32 = f32_mul(v97, v137);
    let v139: f32 = f32_add(v138, v73);
    let v140: f32 = r1;
    let v141: f32 = f32_sub(v139, v140);
    let v142: f32 = r0;
    let v143: f32 = f32_mul(v98, v142);
    let v144: f32 = f32_add(v143, v75);
    let v145: f32 = r1;
    let v146: f32 = f32_sub(v144, v145);
    let v147: f32 = r0;
    let v148: f32 = f32_mul(v99, v147);
    let v149: f32 = f32_add(v148, v77);
    let v150: f32 = r1;
    let v151: f32 = f32_sub(v149, v150);
    b2_z[((a0_i * 256 + lane * 4) >> 2u)] = vec4<f32>(v136, v141, v146, v151);
    let v152: f32 = r0;
    let v153: f32 = f32_mul(v108, v152);
    let v154: f32 = f32_add(v153, v87);
    let v155: f32 = r1;
    let v156: f32 = f32_sub(v154, v155);
    let v157: f32 = r0;
    let v158: f32 = f32_mul(v109, v157);
    let v159: f32 = f32_add(v158, v89);
    let v160: f32 = r1;
    let v161: f32 = f32_sub(v159, v160);
    let v162: f32 = r0;
    let v163: f32 = f32_mul(v110, v162);
    let v164: f32 = f32_add(v163, v91);
    let v165: f32 = r1;
    let v166: f32 = f32_sub(v164, v165);
    let v167: f32 = r0;
    let v168: f32 = f32_mul(v111, v167);
    let v169: f32 = f32_add(v168, v93);
    let v170: f32 = r1;
    let v171: f32 = f32_sub(v169, v170);
    b2_z[((a0_i * 256 + (lane + 32) * 4) >> 2u)] = vec4<f32>(v156, v161, v166, v171);
  }
}

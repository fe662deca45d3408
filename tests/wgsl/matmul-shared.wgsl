// Kernel small.

struct Parameters {
  // Zero, which only the host knows.
  pin: u32,
  apart: u32,
}
@group(0) @binding(0) var<uniform> parameters: Parameters;
fn pin(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.pin); }
fn apart(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.apart); }
fn f32_is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn f32_key(x: f32) -> i32 {
  let b = bitcast<i32>(x);
  return select(b, -(b & 0x7fffffff), b < 0);
}
fn f32_add(a: f32, b: f32) -> f32 { return pin(a + apart(b)); }
fn f32_mul_add(a: f32, b: f32, c: f32) -> f32 { return fma(a, b, c); }
fn f32_lt(a: f32, b: f32) -> bool {
  return !f32_is_nan(a) && !f32_is_nan(b) && f32_key(a) < f32_key(b);
}
fn f32_greater(a: f32, b: f32) -> f32 { return select(b, a, f32_lt(b, a)); }
fn f32_max(a: f32, b: f32) -> f32 {
  if (f32_is_nan(a)) { return a; }
  return f32_greater(a, b);
}
@group(0) @binding(1) var<storage, read> b0_x: array<f32>;
@group(0) @binding(2) var<storage, read> b1_w: array<f32>;
@group(0) @binding(3) var<storage, read> b2_b: array<f32>;
@group(0) @binding(4) var<storage, read_write> b3_y: array<f32>;
var<workgroup> s4_tile_4: array<vec4<f32>, 160>;
var<workgroup> s5_tile_5: array<vec4<f32>, 160>;
var<workgroup> s6_shares_6: array<f32, 2048>;
@compute @workgroup_size(128)
fn launch_0(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) own: u32,
) {
  let lane = i32(own);
  let total: i32 = 3 * 3;
  let members = i32(groups.x * 1u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a4_columns: i32 = (turn % 3) * 16;
    let a3_rows: i32 = (turn / 3) * 16;
    let v0: f32 = 0.0f;
    var r0: f32 = v0;
    var r1: f32 = v0;
    var r2: f32 = v0;
    var r3: f32 = v0;
    var r4: f32 = v0;
    var r5: f32 = v0;
    var r6: f32 = v0;
    var r7: f32 = v0;
    var r8: f32 = v0;
    var r9: f32 = v0;
    var r10: f32 = v0;
    var r11: f32 = v0;
    var r12: f32 = v0;
    var r13: f32 = v0;
    var r14: f32 = v0;
    var r15: f32 = v0;
    let v1: f32 = 0.0f;
    var r16: f32 = v1;
    var r17: f32 = v1;
    var r18: f32 = v1;
    var r19: f32 = v1;
    {
      let a6_k: i32 = ((lane + 0) & 31);
      let a7_quad: i32 = ((lane + 0) >> 5u);
      let v2: f32 = 0.0f;
      var r20: f32 = v2;
      if (a3_rows + (a7_quad * 4 + 0) >= 0 && a3_rows + (a7_quad * 4 + 0) < 40 && 0 + a6_k >= 0 && 0 + a6_k < 70) {
        let v3: f32 = b0_x[(a3_rows + (a7_quad * 4 + 0)) * 70 + (0 + a6_k)];
        r20 = v3;
      }
      let v4: f32 = r20;
      r16 = v4;
      let v5: f32 = 0.0f;
      var r21: f32 = v5;
      if (a3_rows + (a7_quad * 4 + 1) >= 0 && a3_rows + (a7_quad * 4 + 1) < 40 && 0 + a6_k >= 0 && 0 + a6_k < 70) {
        let v6: f32 = b0_x[(a3_rows + (a7_quad * 4 + 1)) * 70 + (0 + a6_k)];
        r21 = v6;
      }
      let v7: f32 = r21;
      r17 = v7;
      let v8: f32 = 0.0f;
      var r22: f32 = v8;
      if (a3_rows + (a7_quad * 4 + 2) >= 0 && a3_rows + (a7_quad * 4 + 2) < 40 && 0 + a6_k >= 0 && 0 + a6_k < 70) {
        let v9: f32 = b0_x[(a3_rows + (a7_quad * 4 + 2)) * 70 + (0 + a6_k)];
        r22 = v9;
      }
      let v10: f32 = r22;
      r18 = v10;
      let v11: f32 = 0.0f;
      var r23: f32 = v11;
      if (a3_rows + (a7_quad * 4 + 3) >= 0 && a3_rows + (a7_quad * 4 + 3) < 40 && 0 + a6_k >= 0 && 0 + a6_k < 70) {
        let v12: f32 = b0_x[(a3_rows + (a7_quad * 4 + 3)) * 70 + (0 + a6_k)];
        r23 = v12;
      }
      let v13: f32 = r23;
      r19 = v13;
    }
    let v14: f32 = 0.0f;
    var r24: f32 = v14;
    var r25: f32 = v14;
    var r26: f32 = v14;
    var r27: f32 = v14;
    {
      let a8_k: i32 = ((lane + 0) >> 2u);
      let a9_quad: i32 = ((lane + 0) & 3);
      let v15: f32 = 0.0f;
      var r28: f32 = v15;
      if (a4_columns + (a9_quad * 4 + 0) >= 0 && a4_columns + (a9_quad * 4 + 0) < 36 && 0 + a8_k >= 0 && 0 + a8_k < 70) {
        let v16: f32 = b1_w[(a4_columns + (a9_quad * 4 + 0)) + (0 + a8_k) * 36];
        r28 = v16;
      }
      let v17: f32 = r28;
      r24 = v17;
      let v18: f32 = 0.0f;
      var r29: f32 = v18;
      if (a4_columns + (a9_quad * 4 + 1) >= 0 && a4_columns + (a9_quad * 4 + 1) < 36 && 0 + a8_k >= 0 && 0 + a8_k < 70) {
        let v19: f32 = b1_w[(a4_columns + (a9_quad * 4 + 1)) + (0 + a8_k) * 36];
        r29 = v19;
      }
      let v20: f32 = r29;
      r25 = v20;
      let v21: f32 = 0.0f;
      var r30: f32 = v21;
      if (a4_columns + (a9_quad * 4 + 2) >= 0 && a4_columns + (a9_quad * 4 + 2) < 36 && 0 + a8_k >= 0 && 0 + a8_k < 70) {
        let v22: f32 = b1_w[(a4_columns + (a9_quad * 4 + 2)) + (0 + a8_k) * 36];
        r30 = v22;
      }
      let v23: f32 = r30;
      r26 = v23;
      let v24: f32 = 0.0f;
      var r31: f32 = v24;
      if (a4_columns + (a9_quad * 4 + 3) >= 0 && a4_columns + (a9_quad * 4 + 3) < 36 && 0 + a8_k >= 0 && 0 + a8_k < 70) {
        let v25: f32 = b1_w[(a4_columns + (a9_quad * 4 + 3)) + (0 + a8_k) * 36];
        r31 = v25;
      }
      let v26: f32 = r31;
      r27 = v26;
    }
    for (var a5_part: i32 = 0; a5_part < 70; a5_part += 32) {
      {
        let a10_k: i32 = ((lane + 0) & 31);
        let a11_quad: i32 = ((lane + 0) >> 5u);
        let v27: f32 = r16;
        let v28: f32 = r17;
        let v29: f32 = r18;
        let v30: f32 = r19;
        s4_tile_4[a10_k * 5 + a11_quad] = vec4<f32>(v27, v28, v29, v30);
      }
      {
        let a12_k: i32 = ((lane + 0) >> 2u);
        let a13_quad: i32 = ((lane + 0) & 3);
        let v31: f32 = r24;
        let v32: f32 = r25;
        let v33: f32 = r26;
        let v34: f32 = r27;
        s5_tile_5[a12_k * 5 + a13_quad] = vec4<f32>(v31, v32, v33, v34);
      }
      workgroupBarrier();
      if (a5_part + 32 >= 0 && a5_part + 32 < 70) {
        {
          let a14_k: i32 = ((lane + 0) & 31);
          let a15_quad: i32 = ((lane + 0) >> 5u);
          let v35: f32 = 0.0f;
          var r32: f32 = v35;
          if (a3_rows + (a15_quad * 4 + 0) >= 0 && a3_rows + (a15_quad * 4 + 0) < 40 && (a5_part + 32) + a14_k >= 0 && (a5_part + 32) + a14_k < 70) {
            let v36: f32 = b0_x[(a3_rows + (a15_quad * 4 + 0)) * 70 + ((a5_part + 32) + a14_k)];
            r32 = v36;
          }
          let v37: f32 = r32;
          r16 = v37;
          let v38: f32 = 0.0f;
          var r33: f32 = v38;
          if (a3_rows + (a15_quad * 4 + 1) >= 0 && a3_rows + (a15_quad * 4 + 1) < 40 && (a5_part + 32) + a14_k >= 0 && (a5_part + 32) + a14_k < 70) {
            let v39: f32 = b0_x[(a3_rows + (a15_quad * 4 + 1)) * 70 + ((a5_part + 32) + a14_k)];
            r33 = v39;
          }
          let v40: f32 = r33;
          r17 = v40;
          let v41: f32 = 0.0f;
          var r34: f32 = v41;
          if (a3_rows + (a15_quad * 4 + 2) >= 0 && a3_rows + (a15_quad * 4 + 2) < 40 && (a5_part + 32) + a14_k >= 0 && (a5_part + 32) + a14_k < 70) {
            let v42: f32 = b0_x[(a3_rows + (a15_quad * 4 + 2)) * 70 + ((a5_part + 32) + a14_k)];
            r34 = v42;
          }
          let v43: f32 = r34;
          r18 = v43;
          let v44: f32 = 0.0f;
          var r35: f32 = v44;
          if (a3_rows + (a15_quad * 4 + 3) >= 0 && a3_rows + (a15_quad * 4 + 3) < 40 && (a5_part + 32) + a14_k >= 0 && (a5_part + 32) + a14_k < 70) {
            let v45: f32 = b0_x[(a3_rows + (a15_quad * 4 + 3)) * 70 + ((a5_part + 32) + a14_k)];
            r35 = v45;
          }
          let v46: f32 = r35;
          r19 = v46;
        }
        {
          let a16_k: i32 = ((lane + 0) >> 2u);
          let a17_quad: i32 = ((lane + 0) & 3);
          let v47: f32 = 0.0f;
          var r36: f32 = v47;
          if (a4_columns + (a17_quad * 4 + 0) >= 0 && a4_columns + (a17_quad * 4 + 0) < 36 && (a5_part + 32) + a16_k >= 0 && (a5_part + 32) + a16_k < 70) {
            let v48: f32 = b1_w[(a4_columns + (a17_quad * 4 + 0)) + ((a5_part + 32) + a16_k) * 36];
            r36 = v48;
          }
          let v49: f32 = r36;
          r24 = v49;
          let v50: f32 = 0.0f;
          var r37: f32 = v50;
          if (a4_columns + (a17_quad * 4 + 1) >= 0 && a4_columns + (a17_quad * 4 + 1) < 36 && (a5_part + 32) + a16_k >= 0 && (a5_part + 32) + a16_k < 70) {
            let v51: f32 = b1_w[(a4_columns + (a17_quad * 4 + 1)) + ((a5_part + 32) + a16_k) * 36];
            r37 = v51;
          }
          let v52: f32 = r37;
          r25 = v52;
          let v53: f32 = 0.0f;
          var r38: f32 = v53;
          if (a4_columns + (a17_quad * 4 + 2) >= 0 && a4_columns + (a17_quad * 4 + 2) < 36 && (a5_part + 32) + a16_k >= 0 && (a5_part + 32) + a16_k < 70) {
            let v54: f32 = b1_w[(a4_columns + (a17_quad * 4 + 2)) + ((a5_part + 32) + a16_k) * 36];
            r38 = v54;
          }
          let v55: f32 = r38;
          r26 = v55;
          let v56: f32 = 0.0f;
          var r39: f32 = v56;
          if (a4_columns + (a17_quad * 4 + 3) >= 0 && a4_columns + (a17_quad * 4 + 3) < 36 && (a5_part + 32) + a16_k >= 0 && (a5_part + 32) + a16_k < 70) {
            let v57: f32 = b1_w[(a4_columns + (a17_quad * 4 + 3)) + ((a5_part + 32) + a16_k) * 36];
            r39 = v57;
          }
          let v58: f32 = r39;
          r27 = v58;
        }
      }
      for (var a18_k: i32 = (lane >> 4u); a18_k < 32; a18_k += 8) {
        let q59 = s4_tile_4[a18_k * 5 + (((lane & 15) >> 2u) + 0)];
        let v59: f32 = q59.x;
        let v60: f32 = q59.y;
        let v61: f32 = q59.z;
        let v62: f32 = q59.w;
        let q63 = s5_tile_5[a18_k * 5 + (((lane & 15) & 3) + 0)];
        let v63: f32 = q63.x;
        let v64: f32 = q63.y;
        let v65: f32 = q63.z;
        let v66: f32 = q63.w;
        let v67: f32 = r0;
        let v68: f32 = f32_mul_add(v59, v63, v67);
        r0 = v68;
        let v69: f32 = r1;
        let v70: f32 = f32_mul_add(v59, v64, v69);
        r1 = v70;
        let v71: f32 = r2;
        let v72: f32 = f32_mul_add(v59, v65, v71);
        r2 = v72;
        let v73: f32 = r3;
        let v74: f32 = f32_mul_add(v59, v66, v73);
        r3 = v74;
        let v75: f32 = r4;
        let v76: f32 = f32_mul_add(v60, v63, v75);
        r4 = v76;
        let v77: f32 = r5;
        let v78: f32 = f32_mul_add(v60, v64, v77);
        r5 = v78;
        let v79: f32 = r6;
        let v80: f32 = f32_mul_add(v60, v65, v79);
        r6 = v80;
        let v81: f32 = r7;
        let v82: f32 = f32_mul_add(v60, v66, v81);
        r7 = v82;
        let v83: f32 = r8;
        let v84: f32 = f32_mul_add(v61, v63, v83);
        r8 = v84;
        let v85: f32 = r9;
        let v86: f32 = f32_mul_add(v61, v64, v85);
        r9 = v86;
        let v87: f32 = r10;
        let v88: f32 = f32_mul_add(v61, v65, v87);
        r10 = v88;
        let v89: f32 = r11;
        let v90: f32 = f32_mul_add(v61, v66, v89);
        r11 = v90;
        let v91: f32 = r12;
        let v92: f32 = f32_mul_add(v62, v63, v91);
        r12 = v92;
        let v93: f32 = r13;
        let v94: f32 = f32_mul_add(v62, v64, v93);
        r13 = v94;
        let v95: f32 = r14;
        let v96: f32 = f32_mul_add(v62, v65, v95);
        r14 = v96;
        let v97: f32 = r15;
        let v98: f32 = f32_mul_add(v62, v66, v97);
        r15 = v98;
      }
      workgroupBarrier();
    }
    let v99: f32 = r0;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 0) * 16 + ((((lane & 15) & 3) + 0) * 4 + 0))] = v99;
    let v100: f32 = r1;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 0) * 16 + ((((lane & 15) & 3) + 0) * 4 + 1))] = v100;
    let v101: f32 = r2;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 0) * 16 + ((((lane & 15) & 3) + 0) * 4 + 2))] = v101;
    let v102: f32 = r3;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 0) * 16 + ((((lane & 15) & 3) + 0) * 4 + 3))] = v102;
    let v103: f32 = r4;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 1) * 16 + ((((lane & 15) & 3) + 0) * 4 + 0))] = v103;
    let v104: f32 = r5;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 1) * 16 + ((((lane & 15) & 3) + 0) * 4 + 1))] = v104;
    let v105: f32 = r6;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 1) * 16 + ((((lane & 15) & 3) + 0) * 4 + 2))] = v105;
    let v106: f32 = r7;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 1) * 16 + ((((lane & 15) & 3) + 0) * 4 + 3))] = v106;
    let v107: f32 = r8;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 2) * 16 + ((((lane & 15) & 3) + 0) * 4 + 0))] = v107;
    let v108: f32 = r9;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 2) * 16 + ((((lane & 15) & 3) + 0) * 4 + 1))] = v108;
    let v109: f32 = r10;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 2) * 16 + ((((lane & 15) & 3) + 0) * 4 + 2))] = v109;
    let v110: f32 = r11;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 2) * 16 + ((((lane & 15) & 3) + 0) * 4 + 3))] = v110;
    let v111: f32 = r12;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 3) * 16 + ((((lane & 15) & 3) + 0) * 4 + 0))] = v111;
    let v112: f32 = r13;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 3) * 16 + ((((lane & 15) & 3) + 0) * 4 + 1))] = v112;
    let v113: f32 = r14;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 3) * 16 + ((((lane & 15) & 3) + 0) * 4 + 2))] = v113;
    let v114: f32 = r15;
    s6_shares_6[(lane >> 4u) * 256 + (((((lane & 15) >> 2u) + 0) * 4 + 3) * 16 + ((((lane & 15) & 3) + 0) * 4 + 3))] = v114;
    workgroupBarrier();
    let v115: f32 = 0.5f;
    var r40: f32 = v115;
    let v116: f32 = s6_shares_6[(lane + 0) + 0];
    let v117: f32 = r40;
    let v118: f32 = f32_add(v117, v116);
    r40 = v118;
    let v119: f32 = s6_shares_6[(lane + 0) + 256];
    let v120: f32 = r40;
    let v121: f32 = f32_add(v120, v119);
    r40 = v121;
    let v122: f32 = s6_shares_6[(lane + 0) + 512];
    let v123: f32 = r40;
    let v124: f32 = f32_add(v123, v122);
    r40 = v124;
    let v125: f32 = s6_shares_6[(lane + 0) + 768];
    let v126: f32 = r40;
    let v127: f32 = f32_add(v126, v125);
    r40 = v127;
    let v128: f32 = s6_shares_6[(lane + 0) + 1024];
    let v129: f32 = r40;
    let v130: f32 = f32_add(v129, v128);
    r40 = v130;
    let v131: f32 = s6_shares_6[(lane + 0) + 1280];
    let v132: f32 = r40;
    let v133: f32 = f32_add(v132, v131);
    r40 = v133;
    let v134: f32 = s6_shares_6[(lane + 0) + 1536];
    let v135: f32 = r40;
    let v136: f32 = f32_add(v135, v134);
    r40 = v136;
    let v137: f32 = s6_shares_6[(lane + 0) + 1792];
    let v138: f32 = r40;
    let v139: f32 = f32_add(v138, v137);
    r40 = v139;
    if (a3_rows + ((lane + 0) >> 4u) >= 0 && a3_rows + ((lane + 0) >> 4u) < 40 && a4_columns + ((lane + 0) & 15) >= 0 && a4_columns + ((lane + 0) & 15) < 36) {
      let v140: f32 = r40;
      let v141: f32 = b2_b[a4_columns + ((lane + 0) & 15)];
      let v142: f32 = f32_add(v140, v141);
      let v143: f32 = 0.0f;
      let v144: f32 = f32_max(v142, v143);
      b3_y[(a3_rows + ((lane + 0) >> 4u)) * 36 + (a4_columns + ((lane + 0) & 15))] = v144;
    }
    let v145: f32 = 0.5f;
    var r41: f32 = v145;
    let v146: f32 = s6_shares_6[(lane + 128) + 0];
    let v147: f32 = r41;
    let v148: f32 = f32_add(v147, v146);
    r41 = v148;
    let v149: f32 = s6_shares_6[(lane + 128) + 256];
    let v150: f32 = r41;
    let v151: f32 = f32_add(v150, v149);
    r41 = v151;
    let v152: f32 = s6_shares_6[(lane + 128) + 512];
    let v153: f32 = r41;
    let v154: f32 = f32_add(v153, v152);
    r41 = v154;
    let v155: f32 = s6_shares_6[(lane + 128) + 768];
    let v156: f32 = r41;
    let v157: f32 = f32_add(v156, v155);
    r41 = v157;
    let v158: f32 = s6_shares_6[(lane + 128) + 1024];
    let v159: f32 = r41;
    let v160: f32 = f32_add(v159, v158);
    r41 = v160;
    let v161: f32 = s6_shares_6[(lane + 128) + 1280];
    let v162: f32 = r41;
    let v163: f32 = f32_add(v162, v161);
    r41 = v163;
    let v164: f32 = s6_shares_6[(lane + 128) + 1536];
    let v165: f32 = r41;
    let v166: f32 = f32_add(v165, v164);
    r41 = v166;
    let v167: f32 = s6_shares_6[(lane + 128) + 1792];
    let v168: f32 = r41;
    let v169: f32 = f32_add(v168, v167);
    r41 = v169;
    if (a3_rows + ((lane + 128) >> 4u) >= 0 && a3_rows + ((lane + 128) >> 4u) < 40 && a4_columns + ((lane + 128) & 15) >= 0 && a4_columns + ((lane + 128) & 15) < 36) {
      let v170: f32 = r41;
      let v171: f32 = b2_b[a4_columns + ((lane + 128) & 15)];
      let v172: f32 = f32_add(v170, v171);
      let v173: f32 = 0.0f;
      let v174: f32 = f32_max(v172, v173);
      b3_y[(a3_rows + ((lane + 128) >> 4u)) * 36 + (a4_columns + ((lane + 128) & 15))] = v174;
    }
  }
}

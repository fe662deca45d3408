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
fn f32_lt(a: f32, b: f32) -> bool {
  return !f32_is_nan(a) && !f32_is_nan(b) && f32_key(a) < f32_key(b);
}
fn f32_greater(a: f32, b: f32) -> f32 { return select(b, a, f32_lt(b, a)); }
fn f32_max(a: f32, b: f32) -> f32 {
  if (f32_is_nan(a)) { return a; }
  return f32_greater(a, b);
}
@group(0) @binding(1) var<storage, read> b0_x: array<f32>;
@group(0) @binding(2) var<storage, read> b1_w: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> b2_b: array<f32>;
@group(0) @binding(4) var<storage, read_write> b3_y: array<f32>;
var<workgroup> s4_tile_4: array<vec4<f32>, 288>;
var<workgroup> s5_tile_5: array<vec4<f32>, 288>;
@compute @workgroup_size(64)
fn launch_0(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) own: u32,
) {
  let lane = i32(own);
  let total: i32 = 2 * 2;
  let members = i32(groups.x * 1u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a4_columns: i32 = (turn % 2) * 32;
    let a3_rows: i32 = (turn / 2) * 32;
    let v0: f32 = 0.5f;
    var w0: vec4<f32> = vec4<f32>(v0);
    var w1: vec4<f32> = vec4<f32>(v0);
    var w2: vec4<f32> = vec4<f32>(v0);
    var w3: vec4<f32> = vec4<f32>(v0);
    let v1: f32 = 0.0f;
    var w4: vec4<f32> = vec4<f32>(v1);
    var w5: vec4<f32> = vec4<f32>(v1);
    {
      let a6_k: i32 = ((lane + 0) & 15);
      let a7_quad: i32 = ((lane + 0) >> 4u);
      let v2: f32 = 0.0f;
      var r6: f32 = v2;
      if ((a3_rows + a7_quad * 4) + 0 >= 0 && (a3_rows + a7_quad * 4) + 0 < 40 && 0 + a6_k >= 0 && 0 + a6_k < 70) {
        let v3: f32 = b0_x[((a3_rows + a7_quad * 4) + 0) * 70 + (0 + a6_k)];
        r6 = v3;
      }
      let v4: f32 = r6;
      let v5: f32 = 0.0f;
      var r7: f32 = v5;
      if ((a3_rows + a7_quad * 4) + 1 >= 0 && (a3_rows + a7_quad * 4) + 1 < 40 && 0 + a6_k >= 0 && 0 + a6_k < 70) {
        let v6: f32 = b0_x[((a3_rows + a7_quad * 4) + 1) * 70 + (0 + a6_k)];
        r7 = v6;
      }
      let v7: f32 = r7;
      let v8: f32 = 0.0f;
      var r8: f32 = v8;
      if ((a3_rows + a7_quad * 4) + 2 >= 0 && (a3_rows + a7_quad * 4) + 2 < 40 && 0 + a6_k >= 0 && 0 + a6_k < 70) {
        let v9: f32 = b0_x[((a3_rows + a7_quad * 4) + 2) * 70 + (0 + a6_k)];
        r8 = v9;
      }
      let v10: f32 = r8;
      let v11: f32 = 0.0f;
      var r9: f32 = v11;
      if ((a3_rows + a7_quad * 4) + 3 >= 0 && (a3_rows + a7_quad * 4) + 3 < 40 && 0 + a6_k >= 0 && 0 + a6_k < 70) {
        let v12: f32 = b0_x[((a3_rows + a7_quad * 4) + 3) * 70 + (0 + a6_k)];
        r9 = v12;
      }
      let v13: f32 = r9;
      w4 = vec4<f32>(v4, v7, v10, v13);
    }
    {
      let a8_k: i32 = ((lane + 64) & 15);
      let a9_quad: i32 = ((lane + 64) >> 4u);
      let v14: f32 = 0.0f;
      var r10: f32 = v14;
      if ((a3_rows + a9_quad * 4) + 0 >= 0 && (a3_rows + a9_quad * 4) + 0 < 40 && 0 + a8_k >= 0 && 0 + a8_k < 70) {
        let v15: f32 = b0_x[((a3_rows + a9_quad * 4) + 0) * 70 + (0 + a8_k)];
        r10 = v15;
      }
      let v16: f32 = r10;
      let v17: f32 = 0.0f;
      var r11: f32 = v17;
      if ((a3_rows + a9_quad * 4) + 1 >= 0 && (a3_rows + a9_quad * 4) + 1 < 40 && 0 + a8_k >= 0 && 0 + a8_k < 70) {
        let v18: f32 = b0_x[((a3_rows + a9_quad * 4) + 1) * 70 + (0 + a8_k)];
        r11 = v18;
      }
      let v19: f32 = r11;
      let v20: f32 = 0.0f;
      var r12: f32 = v20;
      if ((a3_rows + a9_quad * 4) + 2 >= 0 && (a3_rows + a9_quad * 4) + 2 < 40 && 0 + a8_k >= 0 && 0 + a8_k < 70) {
        let v21: f32 = b0_x[((a3_rows + a9_quad * 4) + 2) * 70 + (0 + a8_k)];
        r12 = v21;
      }
      let v22: f32 = r12;
      let v23: f32 = 0.0f;
      var r13: f32 = v23;
      if ((a3_rows + a9_quad * 4) + 3 >= 0 && (a3_rows + a9_quad * 4) + 3 < 40 && 0 + a8_k >= 0 && 0 + a8_k < 70) {
        let v24: f32 = b0_x[((a3_rows + a9_quad * 4) + 3) * 70 + (0 + a8_k)];
        r13 = v24;
      }
      let v25: f32 = r13;
      w5 = vec4<f32>(v16, v19, v22, v25);
    }
    {
      let a10_k: i32 = ((lane + 0) & 15);
      let a11_quad: i32 = ((lane + 0) >> 4u);
      s4_tile_4[((a10_k + 0) * 9 + a11_quad) + 0 * 144] = w4;
    }
    {
      let a12_k: i32 = ((lane + 64) & 15);
      let a13_quad: i32 = ((lane + 64) >> 4u);
      s4_tile_4[((a12_k + 0) * 9 + a13_quad) + 0 * 144] = w5;
    }
    let v26: f32 = 0.0f;
    var w14: vec4<f32> = vec4<f32>(v26);
    var w15: vec4<f32> = vec4<f32>(v26);
    {
      let a14_k: i32 = ((lane + 0) >> 3u);
      let a15_quad: i32 = ((lane + 0) & 7);
      let v27: f32 = 0.0f;
      w14 = vec4<f32>(v27, v27, v27, v27);
      if (a4_columns + a15_quad * 4 >= 0 && a4_columns + a15_quad * 4 < 36 && 0 + a14_k >= 0 && 0 + a14_k < 70) {
        let q28 = b1_w[(((a4_columns + a15_quad * 4) + (0 + a14_k) * 36) >> 2u)];
        w14 = q28;
      }
    }
    {
      let a16_k: i32 = ((lane + 64) >> 3u);
      let a17_quad: i32 = ((lane + 64) & 7);
      let v32: f32 = 0.0f;
      w15 = vec4<f32>(v32, v32, v32, v32);
      if (a4_columns + a17_quad * 4 >= 0 && a4_columns + a17_quad * 4 < 36 && 0 + a16_k >= 0 && 0 + a16_k < 70) {
        let q33 = b1_w[(((a4_columns + a17_quad * 4) + (0 + a16_k) * 36) >> 2u)];
        w15 = q33;
      }
    }
    {
      let a18_k: i32 = ((lane + 0) >> 3u);
      let a19_quad: i32 = ((lane + 0) & 7);
      s5_tile_5[((a18_k + 0) * 9 + a19_quad) + 0 * 144] = w14;
    }
    {
      let a20_k: i32 = ((lane + 64) >> 3u);
      let a21_quad: i32 = ((lane + 64) & 7);
      s5_tile_5[((a20_k + 0) * 9 + a21_quad) + 0 * 144] = w15;
    }
    workgroupBarrier();
    for (var a5_part: i32 = 0; a5_part < 70; a5_part += 16) {
      if (a5_part + 16 >= 0 && a5_part + 16 < 70) {
        {
          let a22_k: i32 = ((lane + 0) & 15);
          let a23_quad: i32 = ((lane + 0) >> 4u);
          let v37: f32 = 0.0f;
          var r16: f32 = v37;
          if ((a3_rows + a23_quad * 4) + 0 >= 0 && (a3_rows + a23_quad * 4) + 0 < 40 && (a5_part + 16) + a22_k >= 0 && (a5_part + 16) + a22_k < 70) {
            let v38: f32 = b0_x[((a3_rows + a23_quad * 4) + 0) * 70 + ((a5_part + 16) + a22_k)];
            r16 = v38;
          }
          let v39: f32 = r16;
          let v40: f32 = 0.0f;
          var r17: f32 = v40;
          if ((a3_rows + a23_quad * 4) + 1 >= 0 && (a3_rows + a23_quad * 4) + 1 < 40 && (a5_part + 16) + a22_k >= 0 && (a5_part + 16) + a22_k < 70) {
            let v41: f32 = b0_x[((a3_rows + a23_quad * 4) + 1) * 70 + ((a5_part + 16) + a22_k)];
            r17 = v41;
          }
          let v42: f32 = r17;
          let v43: f32 = 0.0f;
          var r18: f32 = v43;
          if ((a3_rows + a23_quad * 4) + 2 >= 0 && (a3_rows + a23_quad * 4) + 2 < 40 && (a5_part + 16) + a22_k >= 0 && (a5_part + 16) + a22_k < 70) {
            let v44: f32 = b0_x[((a3_rows + a23_quad * 4) + 2) * 70 + ((a5_part + 16) + a22_k)];
            r18 = v44;
          }
          let v45: f32 = r18;
          let v46: f32 = 0.0f;
          var r19: f32 = v46;
          if ((a3_rows + a23_quad * 4) + 3 >= 0 && (a3_rows + a23_quad * 4) + 3 < 40 && (a5_part + 16) + a22_k >= 0 && (a5_part + 16) + a22_k < 70) {
            let v47: f32 = b0_x[((a3_rows + a23_quad * 4) + 3) * 70 + ((a5_part + 16) + a22_k)];
            r19 = v47;
          }
          let v48: f32 = r19;
          w4 = vec4<f32>(v39, v42, v45, v48);
        }
        {
          let a24_k: i32 = ((lane + 64) & 15);
          let a25_quad: i32 = ((lane + 64) >> 4u);
          let v49: f32 = 0.0f;
          var r20: f32 = v49;
          if ((a3_rows + a25_quad * 4) + 0 >= 0 && (a3_rows + a25_quad * 4) + 0 < 40 && (a5_part + 16) + a24_k >= 0 && (a5_part + 16) + a24_k < 70) {
            let v50: f32 = b0_x[((a3_rows + a25_quad * 4) + 0) * 70 + ((a5_part + 16) + a24_k)];
            r20 = v50;
          }
          let v51: f32 = r20;
          let v52: f32 = 0.0f;
          var r21: f32 = v52;
          if ((a3_rows + a25_quad * 4) + 1 >= 0 && (a3_rows + a25_quad * 4) + 1 < 40 && (a5_part + 16) + a24_k >= 0 && (a5_part + 16) + a24_k < 70) {
            let v53: f32 = b0_x[((a3_rows + a25_quad * 4) + 1) * 70 + ((a5_part + 16) + a24_k)];
            r21 = v53;
          }
          let v54: f32 = r21;
          let v55: f32 = 0.0f;
          var r22: f32 = v55;
          if ((a3_rows + a25_quad * 4) + 2 >= 0 && (a3_rows + a25_quad * 4) + 2 < 40 && (a5_part + 16) + a24_k >= 0 && (a5_part + 16) + a24_k < 70) {
            let v56: f32 = b0_x[((a3_rows + a25_quad * 4) + 2) * 70 + ((a5_part + 16) + a24_k)];
            r22 = v56;
          }
          let v57: f32 = r22;
          let v58: f32 = 0.0f;
          var r23: f32 = v58;
          if ((a3_rows + a25_quad * 4) + 3 >= 0 && (a3_rows + a25_quad * 4) + 3 < 40 && (a5_part + 16) + a24_k >= 0 && (a5_part + 16) + a24_k < 70) {
            let v59: f32 = b0_x[((a3_rows + a25_quad * 4) + 3) * 70 + ((a5_part + 16) + a24_k)];
            r23 = v59;
          }
          let v60: f32 = r23;
          w5 = vec4<f32>(v51, v54, v57, v60);
        }
        {
          let a26_k: i32 = ((lane + 0) >> 3u);
          let a27_quad: i32 = ((lane + 0) & 7);
          let v61: f32 = 0.0f;
          w14 = vec4<f32>(v61, v61, v61, v61);
          if (a4_columns + a27_quad * 4 >= 0 && a4_columns + a27_quad * 4 < 36 && (a5_part + 16) + a26_k >= 0 && (a5_part + 16) + a26_k < 70) {
            let q62 = b1_w[(((a4_columns + a27_quad * 4) + ((a5_part + 16) + a26_k) * 36) >> 2u)];
            w14 = q62;
          }
        }
        {
          let a28_k: i32 = ((lane + 64) >> 3u);
          let a29_quad: i32 = ((lane + 64) & 7);
          let v66: f32 = 0.0f;
          w15 = vec4<f32>(v66, v66, v66, v66);
          if (a4_columns + a29_quad * 4 >= 0 && a4_columns + a29_quad * 4 < 36 && (a5_part + 16) + a28_k >= 0 && (a5_part + 16) + a28_k < 70) {
            let q67 = b1_w[(((a4_columns + a29_quad * 4) + ((a5_part + 16) + a28_k) * 36) >> 2u)];
            w15 = q67;
          }
        }
      }
      for (var a30_k: i32 = 0; a30_k < 16; a30_k += 16) {
        let q71 = s4_tile_4[((a30_k + 0) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v71: f32 = q71.x;
        let v72: f32 = q71.y;
        let v73: f32 = q71.z;
        let v74: f32 = q71.w;
        let q75 = s5_tile_5[((a30_k + 0) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v71), q75, w0);
        w1 = fma(vec4<f32>(v72), q75, w1);
        w2 = fma(vec4<f32>(v73), q75, w2);
        w3 = fma(vec4<f32>(v74), q75, w3);
        let q79 = s4_tile_4[((a30_k + 1) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v79: f32 = q79.x;
        let v80: f32 = q79.y;
        let v81: f32 = q79.z;
        let v82: f32 = q79.w;
        let q83 = s5_tile_5[((a30_k + 1) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v79), q83, w0);
        w1 = fma(vec4<f32>(v80), q83, w1);
        w2 = fma(vec4<f32>(v81), q83, w2);
        w3 = fma(vec4<f32>(v82), q83, w3);
        let q87 = s4_tile_4[((a30_k + 2) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v87: f32 = q87.x;
        let v88: f32 = q87.y;
        let v89: f32 = q87.z;
        let v90: f32 = q87.w;
        let q91 = s5_tile_5[((a30_k + 2) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v87), q91, w0);
        w1 = fma(vec4<f32>(v88), q91, w1);
        w2 = fma(vec4<f32>(v89), q91, w2);
        w3 = fma(vec4<f32>(v90), q91, w3);
        let q95 = s4_tile_4[((a30_k + 3) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v95: f32 = q95.x;
        let v96: f32 = q95.y;
        let v97: f32 = q95.z;
        let v98: f32 = q95.w;
        let q99 = s5_tile_5[((a30_k + 3) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v95), q99, w0);
        w1 = fma(vec4<f32>(v96), q99, w1);
        w2 = fma(vec4<f32>(v97), q99, w2);
        w3 = fma(vec4<f32>(v98), q99, w3);
        let q103 = s4_tile_4[((a30_k + 4) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v103: f32 = q103.x;
        let v104: f32 = q103.y;
        let v105: f32 = q103.z;
        let v106: f32 = q103.w;
        let q107 = s5_tile_5[((a30_k + 4) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v103), q107, w0);
        w1 = fma(vec4<f32>(v104), q107, w1);
        w2 = fma(vec4<f32>(v105), q107, w2);
        w3 = fma(vec4<f32>(v106), q107, w3);
        let q111 = s4_tile_4[((a30_k + 5) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v111: f32 = q111.x;
        let v112: f32 = q111.y;
        let v113: f32 = q111.z;
        let v114: f32 = q111.w;
        let q115 = s5_tile_5[((a30_k + 5) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v111), q115, w0);
        w1 = fma(vec4<f32>(v112), q115, w1);
        w2 = fma(vec4<f32>(v113), q115, w2);
        w3 = fma(vec4<f32>(v114), q115, w3);
        let q119 = s4_tile_4[((a30_k + 6) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v119: f32 = q119.x;
        let v120: f32 = q119.y;
        let v121: f32 = q119.z;
        let v122: f32 = q119.w;
        let q123 = s5_tile_5[((a30_k + 6) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v119), q123, w0);
        w1 = fma(vec4<f32>(v120), q123, w1);
        w2 = fma(vec4<f32>(v121), q123, w2);
        w3 = fma(vec4<f32>(v122), q123, w3);
        let q127 = s4_tile_4[((a30_k + 7) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v127: f32 = q127.x;
        let v128: f32 = q127.y;
        let v129: f32 = q127.z;
        let v130: f32 = q127.w;
        let q131 = s5_tile_5[((a30_k + 7) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v127), q131, w0);
        w1 = fma(vec4<f32>(v128), q131, w1);
        w2 = fma(vec4<f32>(v129), q131, w2);
        w3 = fma(vec4<f32>(v130), q131, w3);
        let q135 = s4_tile_4[((a30_k + 8) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v135: f32 = q135.x;
        let v136: f32 = q135.y;
        let v137: f32 = q135.z;
        let v138: f32 = q135.w;
        let q139 = s5_tile_5[((a30_k + 8) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v135), q139, w0);
        w1 = fma(vec4<f32>(v136), q139, w1);
        w2 = fma(vec4<f32>(v137), q139, w2);
        w3 = fma(vec4<f32>(v138), q139, w3);
        let q143 = s4_tile_4[((a30_k + 9) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v143: f32 = q143.x;
        let v144: f32 = q143.y;
        let v145: f32 = q143.z;
        let v146: f32 = q143.w;
        let q147 = s5_tile_5[((a30_k + 9) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v143), q147, w0);
        w1 = fma(vec4<f32>(v144), q147, w1);
        w2 = fma(vec4<f32>(v145), q147, w2);
        w3 = fma(vec4<f32>(v146), q147, w3);
        let q151 = s4_tile_4[((a30_k + 10) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v151: f32 = q151.x;
        let v152: f32 = q151.y;
        let v153: f32 = q151.z;
        let v154: f32 = q151.w;
        let q155 = s5_tile_5[((a30_k + 10) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v151), q155, w0);
        w1 = fma(vec4<f32>(v152), q155, w1);
        w2 = fma(vec4<f32>(v153), q155, w2);
        w3 = fma(vec4<f32>(v154), q155, w3);
        let q159 = s4_tile_4[((a30_k + 11) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v159: f32 = q159.x;
        let v160: f32 = q159.y;
        let v161: f32 = q159.z;
        let v162: f32 = q159.w;
        let q163 = s5_tile_5[((a30_k + 11) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v159), q163, w0);
        w1 = fma(vec4<f32>(v160), q163, w1);
        w2 = fma(vec4<f32>(v161), q163, w2);
        w3 = fma(vec4<f32>(v162), q163, w3);
        let q167 = s4_tile_4[((a30_k + 12) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v167: f32 = q167.x;
        let v168: f32 = q167.y;
        let v169: f32 = q167.z;
        let v170: f32 = q167.w;
        let q171 = s5_tile_5[((a30_k + 12) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v167), q171, w0);
        w1 = fma(vec4<f32>(v168), q171, w1);
        w2 = fma(vec4<f32>(v169), q171, w2);
        w3 = fma(vec4<f32>(v170), q171, w3);
        let q175 = s4_tile_4[((a30_k + 13) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v175: f32 = q175.x;
        let v176: f32 = q175.y;
        let v177: f32 = q175.z;
        let v178: f32 = q175.w;
        let q179 = s5_tile_5[((a30_k + 13) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v175), q179, w0);
        w1 = fma(vec4<f32>(v176), q179, w1);
        w2 = fma(vec4<f32>(v177), q179, w2);
        w3 = fma(vec4<f32>(v178), q179, w3);
        let q183 = s4_tile_4[((a30_k + 14) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v183: f32 = q183.x;
        let v184: f32 = q183.y;
        let v185: f32 = q183.z;
        let v186: f32 = q183.w;
        let q187 = s5_tile_5[((a30_k + 14) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v183), q187, w0);
        w1 = fma(vec4<f32>(v184), q187, w1);
        w2 = fma(vec4<f32>(v185), q187, w2);
        w3 = fma(vec4<f32>(v186), q187, w3);
        let q191 = s4_tile_4[((a30_k + 15) * 9 + ((lane >> 3u) + 0)) + ((a5_part >> 4u) & 1) * 144];
        let v191: f32 = q191.x;
        let v192: f32 = q191.y;
        let v193: f32 = q191.z;
        let v194: f32 = q191.w;
        let q195 = s5_tile_5[((a30_k + 15) * 9 + ((lane & 7) + 0)) + ((a5_part >> 4u) & 1) * 144];
        w0 = fma(vec4<f32>(v191), q195, w0);
        w1 = fma(vec4<f32>(v192), q195, w1);
        w2 = fma(vec4<f32>(v193), q195, w2);
        w3 = fma(vec4<f32>(v194), q195, w3);
      }
      if (a5_part + 16 >= 0 && a5_part + 16 < 70) {
        {
          let a31_k: i32 = ((lane + 0) & 15);
          let a32_quad: i32 = ((lane + 0) >> 4u);
          s4_tile_4[((a31_k + 0) * 9 + a32_quad) + (1 + ((a5_part >> 4u) & 1) * (-1)) * 144] = w4;
        }
        {
          let a33_k: i32 = ((lane + 64) & 15);
          let a34_quad: i32 = ((lane + 64) >> 4u);
          s4_tile_4[((a33_k + 0) * 9 + a34_quad) + (1 + ((a5_part >> 4u) & 1) * (-1)) * 144] = w5;
        }
        {
          let a35_k: i32 = ((lane + 0) >> 3u);
          let a36_quad: i32 = ((lane + 0) & 7);
          s5_tile_5[((a35_k + 0) * 9 + a36_quad) + (1 + ((a5_part >> 4u) & 1) * (-1)) * 144] = w14;
        }
        {
          let a37_k: i32 = ((lane + 64) >> 3u);
          let a38_quad: i32 = ((lane + 64) & 7);
          s5_tile_5[((a37_k + 0) * 9 + a38_quad) + (1 + ((a5_part >> 4u) & 1) * (-1)) * 144] = w15;
        }
      }
      workgroupBarrier();
    }
    let v199: f32 = w0.x;
    var r24: f32 = v199;
    let v200: f32 = w0.y;
    var r25: f32 = v200;
    let v201: f32 = w0.z;
    var r26: f32 = v201;
    let v202: f32 = w0.w;
    var r27: f32 = v202;
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 0) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 0) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 0 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 0 < 36) {
      let v203: f32 = r24;
      let v204: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 0];
      let v205: f32 = f32_add(v203, v204);
      let v206: f32 = 0.0f;
      let v207: f32 = f32_max(v205, v206);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 0)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 0)] = v207;
    }
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 0) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 0) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 1 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 1 < 36) {
      let v208: f32 = r25;
      let v209: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 1];
      let v210: f32 = f32_add(v208, v209);
      let v211: f32 = 0.0f;
      let v212: f32 = f32_max(v210, v211);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 0)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 1)] = v212;
    }
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 0) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 0) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 2 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 2 < 36) {
      let v213: f32 = r26;
      let v214: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 2];
      let v215: f32 = f32_add(v213, v214);
      let v216: f32 = 0.0f;
      let v217: f32 = f32_max(v215, v216);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 0)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 2)] = v217;
    }
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 0) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 0) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 3 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 3 < 36) {
      let v218: f32 = r27;
      let v219: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 3];
      let v220: f32 = f32_add(v218, v219);
      let v221: f32 = 0.0f;
      let v222: f32 = f32_max(v220, v221);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 0)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 3)] = v222;
    }
    let v223: f32 = w1.x;
    var r28: f32 = v223;
    let v224: f32 = w1.y;
    var r29: f32 = v224;
    let v225: f32 = w1.z;
    var r30: f32 = v225;
    let v226: f32 = w1.w;
    var r31: f32 = v226;
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 1) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 1) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 0 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 0 < 36) {
      let v227: f32 = r28;
      let v228: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 0];
      let v229: f32 = f32_add(v227, v228);
      let v230: f32 = 0.0f;
      let v231: f32 = f32_max(v229, v230);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 1)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 0)] = v231;
    }
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 1) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 1) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 1 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 1 < 36) {
      let v232: f32 = r29;
      let v233: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 1];
      let v234: f32 = f32_add(v232, v233);
      let v235: f32 = 0.0f;
      let v236: f32 = f32_max(v234, v235);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 1)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 1)] = v236;
    }
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 1) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 1) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 2 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 2 < 36) {
      let v237: f32 = r30;
      let v238: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 2];
      let v239: f32 = f32_add(v237, v238);
      let v240: f32 = 0.0f;
      let v241: f32 = f32_max(v239, v240);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 1)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 2)] = v241;
    }
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 1) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 1) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 3 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 3 < 36) {
      let v242: f32 = r31;
      let v243: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 3];
      let v244: f32 = f32_add(v242, v243);
      let v245: f32 = 0.0f;
      let v246: f32 = f32_max(v244, v245);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 1)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 3)] = v246;
    }
    let v247: f32 = w2.x;
    var r32: f32 = v247;
    let v248: f32 = w2.y;
    var r33: f32 = v248;
    let v249: f32 = w2.z;
    var r34: f32 = v249;
    let v250: f32 = w2.w;
    var r35: f32 = v250;
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 2) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 2) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 0 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 0 < 36) {
      let v251: f32 = r32;
      let v252: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 0];
      let v253: f32 = f32_add(v251, v252);
      let v254: f32 = 0.0f;
      let v255: f32 = f32_max(v253, v254);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 2)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 0)] = v255;
    }
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 2) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 2) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 1 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 1 < 36) {
      let v256: f32 = r33;
      let v257: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 1];
      let v258: f32 = f32_add(v256, v257);
      let v259: f32 = 0.0f;
      let v260: f32 = f32_max(v258, v259);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 2)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 1)] = v260;
    }
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 2) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 2) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 2 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 2 < 36) {
      let v261: f32 = r34;
      let v262: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 2];
      let v263: f32 = f32_add(v261, v262);
      let v264: f32 = 0.0f;
      let v265: f32 = f32_max(v263, v264);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 2)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 2)] = v265;
    }
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 2) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 2) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 3 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 3 < 36) {
      let v266: f32 = r35;
      let v267: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 3];
      let v268: f32 = f32_add(v266, v267);
      let v269: f32 = 0.0f;
      let v270: f32 = f32_max(v268, v269);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 2)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 3)] = v270;
    }
    let v271: f32 = w3.x;
    var r36: f32 = v271;
    let v272: f32 = w3.y;
    var r37: f32 = v272;
    let v273: f32 = w3.z;
    var r38: f32 = v273;
    let v274: f32 = w3.w;
    var r39: f32 = v274;
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 3) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 3) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 0 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 0 < 36) {
      let v275: f32 = r36;
      let v276: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 0];
      let v277: f32 = f32_add(v275, v276);
      let v278: f32 = 0.0f;
      let v279: f32 = f32_max(v277, v278);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 3)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 0)] = v279;
    }
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 3) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 3) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 1 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 1 < 36) {
      let v280: f32 = r37;
      let v281: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 1];
      let v282: f32 = f32_add(v280, v281);
      let v283: f32 = 0.0f;
      let v284: f32 = f32_max(v282, v283);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 3)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 1)] = v284;
    }
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 3) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 3) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 2 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 2 < 36) {
      let v285: f32 = r38;
      let v286: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 2];
      let v287: f32 = f32_add(v285, v286);
      let v288: f32 = 0.0f;
      let v289: f32 = f32_max(v287, v288);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 3)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 2)] = v289;
    }
    if (a3_rows + (((lane >> 3u) + 0) * 4 + 3) >= 0 && a3_rows + (((lane >> 3u) + 0) * 4 + 3) < 40 && (a4_columns + ((lane & 7) + 0) * 4) + 3 >= 0 && (a4_columns + ((lane & 7) + 0) * 4) + 3 < 36) {
      let v290: f32 = r39;
      let v291: f32 = b2_b[(a4_columns + ((lane & 7) + 0) * 4) + 3];
      let v292: f32 = f32_add(v290, v291);
      let v293: f32 = 0.0f;
      let v294: f32 = f32_max(v292, v293);
      b3_y[(a3_rows + (((lane >> 3u) + 0) * 4 + 3)) * 36 + ((a4_columns + ((lane & 7) + 0) * 4) + 3)] = v294;
    }
  }
}

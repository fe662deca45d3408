// Kernel scaled.

struct Parameters {
  // Zero, which only the host knows.
  pin: u32,
  apart: u32,
}
@group(0) @binding(0) var<uniform> parameters: Parameters;
fn pin(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.pin); }
fn apart(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.apart); }
fn float_of(bits: u32) -> f32 { return bitcast<f32>(bits ^ parameters.pin); }
fn f32_add(a: f32, b: f32) -> f32 { return pin(a + apart(b)); }
fn f32_mul(a: f32, b: f32) -> f32 { return pin(a * apart(b)); }
fn f32_quotient(a: f32, b: f32) -> f32 { return pin(a / apart(b)); }
fn f32_div(a: f32, b: f32) -> f32 { return f32_quotient(a, b); }
fn f32_mul_add(a: f32, b: f32, c: f32) -> f32 { return fma(a, b, c); }
fn f32_sqrt(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  if ((b & 0x7fffffffu) == 0u || b == 0x7f800000u) { return x; }
  if (b > 0x7f800000u) { return float_of(0x7fc00000u); }
  return pin(sqrt(x));
}
@group(0) @binding(1) var<storage, read> b0_x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b1_y: array<vec4<f32>>;
var<workgroup> s2_exchange_2: array<f32, 32>;
fn m_rsqrt(v0: f32) -> f32 {
  let v1: f32 = 1.0f;
  let v2: f32 = f32_sqrt(v0);
  let v3: f32 = f32_div(v1, v2);
  return v3;
}
@compute @workgroup_size(32)
fn launch_0(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) own: u32,
) {
  let lane = i32(own);
  let total: i32 = 6;
  let members = i32(groups.x * 1u);
  for (var turn = i32(id.x); turn < total; turn += members) {
    let a0_i: i32 = turn;
    let v0: f32 = 0.0f;
    var r0: f32 = v0;
    let v1: f32 = r0;
    let q2 = b0_x[((a0_i * 512 + lane * 4) >> 2u)];
    let v2: f32 = q2.x;
    let v3: f32 = q2.y;
    let v4: f32 = q2.z;
    let v5: f32 = q2.w;
    let v6: f32 = f32_mul_add(v2, v2, v1);
    r0 = v6;
    let v7: f32 = r0;
    let v8: f32 = f32_mul_add(v3, v3, v7);
    r0 = v8;
    let v9: f32 = r0;
    let v10: f32 = f32_mul_add(v4, v4, v9);
    r0 = v10;
    let v11: f32 = r0;
    let v12: f32 = f32_mul_add(v5, v5, v11);
    r0 = v12;
    let v13: f32 = r0;
    let q14 = b0_x[((a0_i * 512 + (lane + 32) * 4) >> 2u)];
    let v14: f32 = q14.x;
    let v15: f32 = q14.y;
    let v16: f32 = q14.z;
    let v17: f32 = q14.w;
    let v18: f32 = f32_mul_add(v14, v14, v13);
    r0 = v18;
    let v19: f32 = r0;
    let v20: f32 = f32_mul_add(v15, v15, v19);
    r0 = v20;
    let v21: f32 = r0;
    let v22: f32 = f32_mul_add(v16, v16, v21);
    r0 = v22;
    let v23: f32 = r0;
    let v24: f32 = f32_mul_add(v17, v17, v23);
    r0 = v24;
    let v25: f32 = r0;
    let q26 = b0_x[((a0_i * 512 + (lane + 64) * 4) >> 2u)];
    let v26: f32 = q26.x;
    let v27: f32 = q26.y;
    let v28: f32 = q26.z;
    let v29: f32 = q26.w;
    let v30: f32 = f32_mul_add(v26, v26, v25);
    r0 = v30;
    let v31: f32 = r0;
    let v32: f32 = f32_mul_add(v27, v27, v31);
    r0 = v32;
    let v33: f32 = r0;
    let v34: f32 = f32_mul_add(v28, v28, v33);
    r0 = v34;
    let v35: f32 = r0;
    let v36: f32 = f32_mul_add(v29, v29, v35);
    r0 = v36;
    let v37: f32 = r0;
    let q38 = b0_x[((a0_i * 512 + (lane + 96) * 4) >> 2u)];
    let v38: f32 = q38.x;
    let v39: f32 = q38.y;
    let v40: f32 = q38.z;
    let v41: f32 = q38.w;
    let v42: f32 = f32_mul_add(v38, v38, v37);
    r0 = v42;
    let v43: f32 = r0;
    let v44: f32 = f32_mul_add(v39, v39, v43);
    r0 = v44;
    let v45: f32 = r0;
    let v46: f32 = f32_mul_add(v40, v40, v45);
    r0 = v46;
    let v47: f32 = r0;
    let v48: f32 = f32_mul_add(v41, v41, v47);
    r0 = v48;
    let v49: f32 = r0;
    s2_exchange_2[lane] = v49;
    workgroupBarrier();
    let v50: f32 = 0.0f;
    r0 = v50;
    for (var a3_part: i32 = (lane >> 4u) * 16; a3_part < (lane >> 4u) * 16 + 16; a3_part += 1) {
      let v51: f32 = s2_exchange_2[a3_part];
      let v52: f32 = r0;
      let v53: f32 = f32_add(v52, v51);
      r0 = v53;
    }
    workgroupBarrier();
    let v54: f32 = r0;
    s2_exchange_2[lane] = v54;
    workgroupBarrier();
    let v55: f32 = 0.0f;
    r0 = v55;
    for (var a4_part: i32 = (lane >> 5u) * 32; a4_part < (lane >> 5u) * 32 + 32; a4_part += 16) {
      let v56: f32 = s2_exchange_2[a4_part];
      let v57: f32 = r0;
      let v58: f32 = f32_add(v57, v56);
      r0 = v58;
    }
    workgroupBarrier();
    let v59: f32 = 0.0f;
    let v60: f32 = r0;
    let v61: f32 = f32_add(v60, v59);
    r0 = v61;
    let v62: f32 = r0;
    let v63: f32 = 1.0f;
    let v64: f32 = f32_add(v62, v63);
    let v65: f32 = m_rsqrt(v64);
    let v66: f32 = f32_mul(v2, v65);
    let v67: f32 = f32_mul(v3, v65);
    let v68: f32 = f32_mul(v4, v65);
    let v69: f32 = f32_mul(v5, v65);
    b1_y[((a0_i * 512 + lane * 4) >> 2u)] = vec4<f32>(v66, v67, v68, v69);
    let v70: f32 = f32_mul(v14, v65);
    let v71: f32 = f32_mul(v15, v65);
    let v72: f32 = f32_mul(v16, v65);
    let v73: f32 = f32_mul(v17, v65);
    b1_y[((a0_i * 512 + (lane + 32) * 4) >> 2u)] = vec4<f32>(v70, v71, v72, v73);
    let v74: f32 = f32_mul(v26, v65);
    let v75: f32 = f32_mul(v27, v65);
    let v76: f32 = f32_mul(v28, v65);
    let v77: f32 = f32_mul(v29, v65);
    b1_y[((a0_i * 512 + (lane + 64) * 4) >> 2u)] = vec4<f32>(v74, v75, v76, v77);
    let v78: f32 = f32_mul(v38, v65);
    let v79: f32 = f32_mul(v39, v65);
    let v80: f32 = f32_mul(v40, v65);
    let v81: f32 = f32_mul(v41, v65);
    b1_y[((a0_i * 512 + (lane + 96) * 4) >> 2u)] = vec4<f32>(v78, v79, v80, v81);
  }
}

//! What a device is seen to do, where what it says of itself is not enough: small shaders that run when it is opened.

use crate::device::{Handles, failed};
use crate::opcode::{Floats, MATRIX};
use crate::pipelines::entry;
use lawson_graph::interp::Element;
use lawson_graph::{DType, Result};

/// What was seen of the floats of a device.
pub(crate) struct Seen {
    pub(crate) floats: Floats,
    pub(crate) compares: bool,
    pub(crate) flushes: bool,
    pub(crate) probed: [u32; 2],
}

/// What was seen of matrices of subgroups.
pub(crate) struct SeenMatrices {
    /// Whether products are right.
    pub(crate) multiplies: bool,
    /// Whether floats are rounded to 16 bits as they should be.
    pub(crate) converts: bool,
}

impl Handles {
    /// Runs a shader with one workgroup on one buffer, and gives what it left there.
    fn probe(&self, text: &str, bytes: &[u8]) -> Result<Vec<u8>> {
        use wgpu::util::DeviceExt;
        let device = &self.device;
        let entries = [entry(0, wgpu::BufferBindingType::Storage { read_only: false })];
        let pipelines = self.build("a probe", text, &entries, &["probe"])?;
        let staging = self.guarded("a probe", || {
            let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
            let descriptor = wgpu::util::BufferInitDescriptor { label: None, contents: bytes, usage };
            let buffer = device.create_buffer_init(&descriptor);
            let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &pipelines.layout,
                entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
            });
            let staging = device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: buffer.size(),
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                for pipeline in &pipelines.launches {
                    pass.set_pipeline(pipeline);
                    pass.set_bind_group(0, &group, &[]);
                    pass.dispatch_workgroups(1, 1, 1);
                }
            }
            encoder.copy_buffer_to_buffer(&buffer, 0, &staging, 0, buffer.size());
            self.queue.submit([encoder.finish()]);
            staging
        })?;
        let failed = |e: &dyn std::fmt::Display| failed(format!("a probe could not be read: {e}"));
        staging.map_async(wgpu::MapMode::Read, .., |_| {});
        self.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| failed(&e))?;
        let view = staging.get_mapped_range(..).map_err(|e| failed(&e))?;
        Ok(view.to_vec())
    }

    /// Whether its compiler keeps operations of floats. Vulkan asks for that; others are not even looked at.
    pub(crate) fn probe_floats(&self) -> Result<Seen> {
        if self.adapter.backend != "Vulkan" {
            return Ok(Seen { floats: Floats::Rearranged, compares: false, flushes: false, probed: [0; 2] });
        }
        let inputs: Vec<u8> = PROBE_INPUTS.iter().flat_map(|x| x.to_le_bytes()).collect();
        let left = self.probe(PROBE, &inputs)?;
        let word = |at: usize| u32::from_le_bytes([left[at], left[at + 1], left[at + 2], left[at + 3]]);
        let (rearranged, compared) = (word(20), word(24));
        let floats = match rearranged {
            0 if self.controls.is_some() => Floats::Told,
            bits if bits & REARRANGED == 0 => Floats::Kept,
            _ => Floats::Rearranged,
        };
        let flushes = compared & 16 != 0;
        let compares = compared & 7 == 0 && (flushes || compared & 8 == 0);
        Ok(Seen { floats, compares, flushes, probed: [rearranged, compared] })
    }

    /// Whether quotients and square roots are the nearest numbers.
    pub(crate) fn probe_rounding(&self) -> Result<bool> {
        let pairs: Vec<(f32, f32)> = probe_pairs().collect();
        let bytes = |(a, b): &(f32, f32)| [a.to_le_bytes(), b.to_le_bytes()].concat();
        let left = self.probe(PROBE_ROUNDING, &pairs.iter().flat_map(bytes).collect::<Vec<u8>>())?;
        let mut found = left.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let expected = pairs.iter().flat_map(|(a, b)| [a / b, b.sqrt()]);
        Ok(expected.into_iter().all(|x| found.next() == Some(x)))
    }

    /// After how many iterations loops are left, if they are: drivers that run on a processor guard against those that never end.
    pub(crate) fn probe_loop(&self) -> Result<Option<u32>> {
        let inputs = [PROBE_COUNT.to_le_bytes(), [0; 4]].concat();
        let left = self.probe(PROBE_LOOP, &inputs)?;
        let count = u32::from_le_bytes([left[4], left[5], left[6], left[7]]);
        Ok(Some(count).filter(|n| *n != PROBE_COUNT))
    }

    /// Whether a subgroup multiplies matrices rightly: of numbers whose sums are exact, subnormal ones and infinities among them. An error says why
    /// those of this device cannot be used.
    pub(crate) fn probe_matrices(&self) -> Result<SeenMatrices> {
        let (a, b) = (probe_factor(3), probe_factor(5));
        let mut bytes = vec![0; 2 * FACTOR_BYTES];
        for (at, x) in a.iter().chain(&b).enumerate() {
            bytes[2 * at..2 * at + 2].copy_from_slice(&as_half(*x).to_le_bytes());
        }
        bytes.extend([0xff; SUM_BYTES]);
        bytes.extend(PROBE_HALVES.iter().flat_map(|x| x.to_le_bytes()));
        bytes.extend([0xff; 2 * PROBE_HALVES.len()]);
        let left = self.probe(PROBE_MATRICES, &bytes)?;
        let words = left[2 * FACTOR_BYTES..][..SUM_BYTES].chunks_exact(4);
        let sums = words.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let expected = (0..PROBE_SIDE * PROBE_SIDE).map(|at| {
            let (row, column) = (at / PROBE_SIDE, at % PROBE_SIDE);
            let product = |k: usize| a[row * PROBE_SIDE + k] * b[k * PROBE_SIDE + column];
            2.0 * (0..PROBE_SIDE).map(product).sum::<f32>()
        });
        let multiplies = sums.zip(expected).all(|(x, y)| x == y || x.is_nan() && y.is_nan());
        let halves = left[left.len() - 2 * PROBE_HALVES.len()..].chunks_exact(2);
        let halves = halves.map(|b| u16::from_le_bytes([b[0], b[1]]));
        let is_nan = |bits: u16| bits & 0x7fff > 0x7c00;
        let fits = |(found, x): (u16, f32)| found == as_half(x) || x.is_nan() && is_nan(found);
        Ok(SeenMatrices { multiplies, converts: halves.zip(PROBE_HALVES).all(fits) })
    }

    /// How many members exchange registers, if neighbours do and always so many.
    pub(crate) fn probe_subgroup(&self) -> Result<Option<u32>> {
        let Some((least, most)) = self.adapter.subgroup else { return Ok(None) };
        if least != most || self.adapter.workgroup_members < 256 {
            return Ok(None);
        }
        let left = self.probe(PROBE_SUBGROUP, &[0; 1024])?;
        let expected = |lane: u32| (lane ^ 1) | least << 10 | (lane % least) << 20;
        let found = left.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let fits = found.zip(0..).all(|(x, lane)| x == expected(lane));
        Ok(Some(least).filter(|_| fits))
    }
}

/// A shader that shows whether a compiler keeps operations: each result is 1 where one was rearranged, for inputs that
/// [`PROBE_INPUTS`] gives.
const PROBE: &str = "\
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(1)
fn probe() {
  let big = x[0];
  let one = x[1];
  let huge = x[2];
  let inf = x[3];
  let zero = x[4];
  var wrong = 0u;
  if (bitcast<u32>((big + one) - big) != 0u) { wrong |= 1u; }
  if (bitcast<u32>((one - big) + big) != 0u) { wrong |= 2u; }
  if (bitcast<u32>(huge * huge / huge) != 0x7f800000u) { wrong |= 4u; }
  if ((bitcast<u32>(inf - inf) & 0x7fffffffu) <= 0x7f800000u) { wrong |= 8u; }
  if ((bitcast<u32>(inf * zero) & 0x7fffffffu) <= 0x7f800000u) { wrong |= 16u; }
  if ((bitcast<u32>(inf - one * inf) & 0x7fffffffu) <= 0x7f800000u) { wrong |= 32u; }
  if (bitcast<u32>(((big + one) + one) - big) != 0u) { wrong |= 64u; }
  if (bitcast<u32>((big + one) - (big - one)) != 0u) { wrong |= 128u; }
  var sum = zero;
  for (var i = 0; i < 4; i++) { sum = (sum + one * big) + one; sum = sum - big; }
  if (bitcast<u32>(sum) != 0u) { wrong |= 256u; }
  let near = x[9];
  if (bitcast<u32>(near * near - x[10]) != 0u) { wrong |= 1024u; }
  if ((bitcast<u32>(inf / inf) & 0x7fffffffu) <= 0x7f800000u) { wrong |= 512u; }
  // Both are data: what is the same to a compiler is kept apart where it matters.
  let nan = x[7];
  let other = x[8];
  var compared = 0u;
  if (nan < one || one < nan || nan <= one || one <= nan || nan == other || nan == one) { compared |= 1u; }
  if (!(one < huge) || huge < one || !(zero <= -zero) || !(zero == -zero) || !(huge < inf) || !(-inf < zero)) { compared |= 2u; }
  if (select(one, nan, nan < one) != one || select(nan, one, one < huge) != one) { compared |= 4u; }
  let tiny = x[6];
  if (!(zero < tiny) || tiny == zero) { compared |= 8u; }
  if (bitcast<u32>(tiny * one) == 0u || bitcast<u32>(tiny + zero) == 0u || bitcast<u32>(fma(tiny, one, zero)) == 0u) { compared |= 16u; }
  x[5] = bitcast<f32>(wrong);
  x[6] = bitcast<f32>(compared);
}
";

/// The inputs of [`PROBE`]. In the place of the sixth and the seventh it leaves what was rearranged, and what was compared wrongly: NaN (1), other
/// numbers (2), in a selection (4), subnormal numbers (8), which products and sums may lose too (16).
const PROBE_INPUTS: [f32; 11] = [
    1e9,
    1.0,
    1e30,
    f32::INFINITY,
    0.0,
    1.0,
    1e-40,
    f32::NAN,
    f32::NAN,
    // Its square lies half-way between two floats, of which this is one.
    1.0 + 1.0 / 4096.0,
    1.0 + 1.0 / 2048.0,
];

/// The results of [`PROBE`] that show sums and products rearranged. The others show what becomes of numbers that are subtracted from or
/// divided by themselves, which are kept apart, and of products that meet a sum (1024), which are pinned.
const REARRANGED: u32 = 1 | 2 | 4 | 64 | 128 | 256;

/// How many pairs of numbers [`PROBE_ROUNDING`] divides.
const PROBE_PAIRS: u32 = 512;

/// Numbers to be divided, and by which: mantissas that have nothing to do with one another, near 1, so that nothing is flushed.
fn probe_pairs() -> impl Iterator<Item = (f32, f32)> {
    let mantissa = |n: u32| f32::from_bits(0x3f80_0000 | n.wrapping_mul(0x9e37_79b1) >> 9);
    (0..PROBE_PAIRS).map(move |n| (mantissa(2 * n + 1), mantissa(2 * n + 2)))
}

/// A shader that leaves quotients in the place of what is divided, and square roots in that of the divisors.
const PROBE_ROUNDING: &str = "\
@group(0) @binding(0) var<storage, read_write> x: array<vec2<f32>>;
@compute @workgroup_size(64)
fn probe(@builtin(local_invocation_index) lane: u32) {
  for (var i = lane; i < arrayLength(&x); i += 64u) {
    let pair = x[i];
    x[i] = vec2<f32>(pair.x / pair.y, sqrt(pair.y));
  }
}
";

/// A shader that counts to a number, to see whether a driver lets it.
const PROBE_LOOP: &str = "\
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(1)
fn probe() {
  var count = 0u;
  for (var i = 0u; i < x[0]; i++) { count += 1u + (i & x[1]); }
  x[1] = count;
}
";

/// How far [`PROBE_LOOP`] counts: no driver that stops loops is known to let them go on so far.
const PROBE_COUNT: u32 = 200_000;

/// A shader that says which member of a subgroup each member of a workgroup of 256 is.
const PROBE_SUBGROUP: &str = "\
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(256)
fn probe(
  @builtin(local_invocation_index) lane: u32,
  @builtin(subgroup_size) size: u32,
  @builtin(subgroup_invocation_id) own: u32,
) {
  x[lane] = subgroupShuffleXor(lane, 1u) | (size << 10u) | (own << 20u);
}
";

/// Rows and columns of the matrices of [`PROBE_MATRICES`].
const PROBE_SIDE: usize = MATRIX as usize;

/// A factor of matrices to see whether a device multiplies them rightly: small whole numbers, in the first row an infinity, and in the last
/// corner, which nothing but zeros is added to, the smallest of all numbers of 16 bits.
fn probe_factor(by: usize) -> Vec<f32> {
    const LAST: usize = PROBE_SIDE - 1;
    let element = |at: usize| match (at / PROBE_SIDE, at % PROBE_SIDE) {
        (0, 1) => f32::INFINITY,
        (LAST, LAST) => SMALLEST_HALF,
        (LAST, _) | (_, LAST) => 0.0,
        _ => ((at * by) % 7) as f32 - 3.0,
    };
    (0..PROBE_SIDE * PROBE_SIDE).map(element).collect()
}

/// The smallest of all numbers of 16 bits.
const SMALLEST_HALF: f32 = 1.0 / (1 << 24) as f32;

/// Bytes of a factor.
const FACTOR_BYTES: usize = PROBE_SIDE * PROBE_SIDE * 2;
/// Bytes of the sums.
const SUM_BYTES: usize = PROBE_SIDE * PROBE_SIDE * 4;

/// Numbers whose conversion to 16 bits shows how a device rounds: ties, the ends of the range, subnormal ones, and what is no number.
const PROBE_HALVES: [f32; 16] = [
    1.0 + 1.0 / 2048.0,
    1.0 + 3.0 / 2048.0,
    -1.0 - 1.0 / 4096.0,
    0.1,
    65504.0,
    65519.0,
    65520.0,
    -1e9,
    SMALLEST_HALF / 2.0,
    SMALLEST_HALF * 0.75,
    -SMALLEST_HALF * 2.5,
    SMALLEST_HALF * 1023.5,
    -0.0,
    f32::INFINITY,
    f32::NAN,
    1.0 / 3.0,
];

/// The bits of a number rounded to 16.
fn as_half(x: f32) -> u16 {
    let mut bytes = [0; 2];
    Element::Float(f64::from(x)).write(DType::F16, &mut bytes, 0);
    u16::from_le_bytes(bytes)
}

/// A shader that multiplies two matrices and adds the product to itself, the second time with one that is read by columns of its transpose; it also
/// converts [`PROBE_HALVES`].
const PROBE_MATRICES: &str = "\
enable f16;
enable wgpu_cooperative_matrix;
struct Numbers { factors: array<vec4<f16>, 128>, sums: array<vec4<f32>, 64>, given: array<vec4<f32>, 4>, rounded: array<vec4<f16>, 4> }
@group(0) @binding(0) var<storage, read_write> x: Numbers;
var<workgroup> factors: array<vec4<f16>, 128>;
var<workgroup> turned: array<vec4<f16>, 64>;
var<workgroup> sums: array<vec4<f32>, 64>;
@compute @workgroup_size(32)
fn probe(@builtin(local_invocation_index) lane: u32) {
  for (var i = lane; i < 128u; i += 32u) { factors[i] = x.factors[i]; }
  for (var i = lane; i < 64u; i += 32u) {
    let column = i / 4u;
    let row = (i % 4u) * 4u;
    let first = 64u + row * 4u + column / 4u;
    let part = column % 4u;
    turned[i] = vec4<f16>(x.factors[first][part], x.factors[first + 4u][part], x.factors[first + 8u][part], x.factors[first + 12u][part]);
  }
  workgroupBarrier();
  var c = coop_mat16x16<f32, C>();
  let a = coopLoadT<coop_mat16x16<f16, A>>(&factors[0], 4u);
  let b = coopLoadT<coop_mat16x16<f16, B>>(&factors[64], 4u);
  let d = coopLoad<coop_mat16x16<f16, B>>(&turned[0], 4u);
  c = coopMultiplyAdd(a, b, c);
  c = coopMultiplyAdd(a, d, c);
  coopStoreT(c, &sums[0], 4u);
  workgroupBarrier();
  for (var i = lane; i < 64u; i += 32u) { x.sums[i] = sums[i]; }
  if (lane < 4u) { x.rounded[lane] = vec4<f16>(x.given[lane]); }
}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_of_matrices_is_a_shader_and_its_numbers_tell_ways_of_rounding_apart() {
        crate::spirv::Shader::read(PROBE_MATRICES).map(drop).unwrap();
        let rounded = PROBE_HALVES.map(as_half);
        assert_eq!(rounded[..3], [0x3c00, 0x3c02, 0xbc00]);
        assert_eq!(rounded[4..8], [0x7bff, 0x7bff, 0x7c00, 0xfc00]);
        assert_eq!(rounded[8..13], [0, 1, 0x8002, 0x400, 0x8000]);
        // What is summed is exact in any order.
        let whole = |x: &f32| x.fract() == 0.0 || *x == SMALLEST_HALF || x.is_infinite();
        assert!(probe_factor(3).iter().chain(&probe_factor(5)).all(whole));
    }
}

//! What a device is seen to do, where what it says of itself is not enough: small shaders that run when it is opened.

use crate::device::{Handles, failed};
use crate::opcode::Floats;
use crate::pipelines::entry;
use lawson_graph::Result;

/// What was seen of the floats of a device.
pub(crate) struct Seen {
    pub(crate) floats: Floats,
    pub(crate) compares: bool,
    pub(crate) flushes: bool,
    pub(crate) probed: [u32; 2],
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

    /// After how many iterations loops are left, if they are: drivers that run on a processor guard against those that never end.
    pub(crate) fn probe_loop(&self) -> Result<Option<u32>> {
        let inputs = [PROBE_COUNT.to_le_bytes(), [0; 4]].concat();
        let left = self.probe(PROBE_LOOP, &inputs)?;
        let count = u32::from_le_bytes([left[4], left[5], left[6], left[7]]);
        Ok(Some(count).filter(|n| *n != PROBE_COUNT))
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

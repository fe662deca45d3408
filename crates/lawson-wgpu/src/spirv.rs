//! Shaders as SPIR-V whose floats are kept.
//!
//! WGSL has no word for "as written": its compilers may calculate as with real numbers, and flush what is subnormal. SPIR-V has. So where a
//! device takes SPIR-V, the text of a listing is translated here, and then
//! - every operation of floats is marked to be done by itself (`NoContraction`), which drivers also take as not to be rearranged;
//! - the entry asks that zeros keep their signs, infinities and NaN are what they are, and that subnormal numbers stay, where the
//!   device says that it can;
//! - buffers are said not to overlap: plans give no shader a place both to read and to write, nor two to write.
//!
//! What the driver makes of it is then seen like everything else (`probe.rs`).

use lawson_graph::{Code, Error, Result};
use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{ModuleInfo, ValidationFlags, Validator};

/// What a device that takes SPIR-V can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Controls {
    /// That subnormal numbers stay.
    pub(crate) subnormal: bool,
    /// That zeros have signs, and infinities and NaN are numbers like others.
    pub(crate) special: bool,
}

/// The version that is written: the first that has words for these requests, which Vulkan 1.2 takes.
const VERSION: (u8, u8) = (1, 5);
/// Words before the first instruction.
const HEADER: usize = 5;
/// Bits of a float that is asked about.
const WIDTH: u32 = 32;

const ENTRY_POINT: u32 = 15;
const EXECUTION_MODE: u32 = 16;
const CAPABILITY: u32 = 17;
const VARIABLE: u32 = 59;
const DECORATE: u32 = 71;
const MEMBER_DECORATE: u32 = 72;
const STORAGE_BUFFER: u32 = 12;
const RESTRICT: u32 = 19;
const NO_CONTRACTION: u32 = 42;
/// The capability and the mode of each request.
const SUBNORMAL: (u32, u32) = (4464, 4459);
const SPECIAL: (u32, u32) = (4466, 4461);

/// Negation, sum, difference, product, quotient, remainders, a vector by a number, the product of vectors.
const FLOAT_OPERATIONS: [u32; 9] = [127, 129, 131, 133, 136, 140, 141, 142, 148];

/// A function of the extended instructions, and those of them that calculate: the square root and the fused product.
const EXTENDED: u32 = 12;
const EXTENDED_OPERATIONS: [u32; 2] = [31, 50];

/// A shader that was read.
pub(crate) struct Shader {
    module: naga::Module,
    info: ModuleInfo,
}

impl Shader {
    /// Reads a text; a listing's is always right.
    pub(crate) fn read(text: &str) -> Result<Shader> {
        let refused = |why: String| {
            Error::new(Code::Device, format!("the shader of a kernel is not valid: {why}"))
                .help("that is a bug in Lawson; `lawson opcodes` shows the shader")
        };
        let module = naga::front::wgsl::parse_str(text).map_err(|e| refused(e.emit_to_string(text)))?;
        let mut validator = Validator::new(ValidationFlags::all(), naga::valid::Capabilities::all());
        let info = validator.validate(&module).map_err(|e| refused(e.emit_to_string(text)))?;
        Ok(Shader { module, info })
    }

    /// The words of one entry, without any checks when it runs.
    pub(crate) fn entry(&self, name: &str, controls: Controls) -> Result<Vec<u32>> {
        let options = spv::Options {
            lang_version: VERSION,
            flags: spv::WriterFlags::empty(),
            bounds_check_policies: BoundsCheckPolicies {
                index: BoundsCheckPolicy::Unchecked,
                buffer: BoundsCheckPolicy::Unchecked,
                image_load: BoundsCheckPolicy::Unchecked,
                binding_array: BoundsCheckPolicy::Unchecked,
            },
            zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
            force_loop_bounding: false,
            emit_int_div_checks: false,
            ..spv::Options::default()
        };
        let entry =
            spv::PipelineOptions { shader_stage: naga::ShaderStage::Compute, entry_point: name.into() };
        let words = spv::write_vec(&self.module, &self.info, &options, Some(&entry)).map_err(|e| {
            Error::new(Code::Device, format!("a shader cannot be written as SPIR-V: {e}"))
                .help("that is a bug in Lawson; `lawson opcodes` shows the shader")
        })?;
        Ok(marked(&words, controls))
    }
}

fn instruction(code: u32, operands: &[u32]) -> Vec<u32> {
    let mut words = vec![(operands.len() as u32 + 1) << 16 | code];
    words.extend(operands);
    words
}

/// The same words, with marks and requests.
fn marked(words: &[u32], controls: Controls) -> Vec<u32> {
    let mut marks = Vec::new();
    let mut entry = None;
    for (code, operands) in instructions(words) {
        match (code, operands) {
            (ENTRY_POINT, [_, id, ..]) => entry = Some(*id),
            (VARIABLE, [_, id, STORAGE_BUFFER, ..]) => marks.push((*id, RESTRICT)),
            (EXTENDED, [_, id, _, function, ..]) if EXTENDED_OPERATIONS.contains(function) => {
                marks.push((*id, NO_CONTRACTION));
            }
            (code, [_, id, ..]) if FLOAT_OPERATIONS.contains(&code) => marks.push((*id, NO_CONTRACTION)),
            _ => {}
        }
    }
    let requests =
        [Some(SUBNORMAL).filter(|_| controls.subnormal), Some(SPECIAL).filter(|_| controls.special)];
    let mut out = words[..HEADER.min(words.len())].to_vec();
    for (capability, _) in requests.iter().flatten() {
        out.extend(instruction(CAPABILITY, &[*capability]));
    }
    let mut left = Some(marks);
    let mut modes = entry;
    for (code, operands) in instructions(words) {
        // Modes stand behind entries, marks among their like: an order that the format wants.
        if !matches!(code, 0..ENTRY_POINT | ENTRY_POINT | CAPABILITY)
            && let Some(entry) = modes.take()
        {
            for (_, mode) in requests.iter().flatten() {
                out.extend(instruction(EXECUTION_MODE, &[entry, *mode, WIDTH]));
            }
        }
        if matches!(code, DECORATE | MEMBER_DECORATE) {
            for (id, mark) in left.take().into_iter().flatten() {
                out.extend(instruction(DECORATE, &[id, mark]));
            }
        }
        out.extend(instruction(code, operands));
    }
    out
}

/// The instructions of a module, each with its operands.
fn instructions(words: &[u32]) -> impl Iterator<Item = (u32, &[u32])> {
    let mut rest = words.get(HEADER..).unwrap_or_default();
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let length = (first >> 16) as usize;
        let operands = rest.get(1..length.max(1))?;
        rest = &rest[length.max(1)..];
        Some((first & 0xffff, operands))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(1)
fn one() { x[0] = -(x[0] + x[1]) * x[2] - x[3] / fma(x[4], x[5], x[6]); }
@compute @workgroup_size(1)
fn other() { x[1] = 1.0; }
";

    const ALL: Controls = Controls { subnormal: true, special: true };

    fn of(entry: &str, controls: Controls) -> Vec<u32> {
        Shader::read(TEXT).unwrap().entry(entry, controls).unwrap()
    }

    #[test]
    fn every_operation_and_buffer_is_marked_once() {
        let words = of("one", ALL);
        let calculates = |(c, _): &(u32, &[u32])| FLOAT_OPERATIONS.contains(c) || *c == EXTENDED;
        let mut floats: Vec<u32> = instructions(&words).filter(calculates).map(|(_, o)| o[1]).collect();
        let mut marked: Vec<u32> = instructions(&words)
            .filter(|(c, o)| *c == DECORATE && o.get(1) == Some(&NO_CONTRACTION))
            .map(|(_, o)| o[0])
            .collect();
        floats.sort_unstable();
        marked.sort_unstable();
        assert_eq!(floats.len(), 6);
        assert_eq!(floats, marked);
        let restricted = instructions(&words).filter(|(c, o)| *c == DECORATE && o.get(1) == Some(&RESTRICT));
        assert_eq!(restricted.count(), 1);
    }

    #[test]
    fn what_stands_where_is_what_the_format_wants() {
        let words = of("one", ALL);
        let codes: Vec<u32> = instructions(&words).map(|(c, _)| c).collect();
        let last = |c: u32| codes.iter().rposition(|x| *x == c).unwrap();
        let first = |c: u32| codes.iter().position(|x| *x == c).unwrap();
        assert!(last(CAPABILITY) < first(ENTRY_POINT));
        assert!(last(ENTRY_POINT) < first(EXECUTION_MODE));
        assert!(last(EXECUTION_MODE) < first(DECORATE));
        // Types come after all marks.
        assert!(last(DECORATE).max(last(MEMBER_DECORATE)) < first(22));
        let modes = instructions(&words).filter(|(c, _)| *c == EXECUTION_MODE).map(|(_, o)| o[1]);
        assert_eq!(modes.filter(|m| *m >= 4000).collect::<Vec<_>>(), [4459, 4461]);
    }

    #[test]
    fn a_device_is_asked_for_what_it_has() {
        let words = of("other", Controls { subnormal: false, special: false });
        assert!(instructions(&words).all(|(c, o)| c != CAPABILITY || o[0] < 4000));
        assert!(instructions(&words).all(|(c, o)| c != EXECUTION_MODE || o[1] < 4000));
        assert_eq!(instructions(&words).filter(|(c, _)| *c == ENTRY_POINT).count(), 1);
    }

    #[test]
    fn a_text_that_is_wrong_is_an_error() {
        assert!(Shader::read("fn (").is_err());
        assert!(Shader::read("fn f() -> f32 { return 1i; }").is_err());
    }
}

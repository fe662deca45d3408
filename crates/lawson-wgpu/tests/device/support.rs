//! Running kernels on the device and on the direct evaluator.

use lawson_graph::interp::{self, Element};
use lawson_graph::random::Rng;
use lawson_graph::{DType, Result, Symbol};
use lawson_kernel::{Kernel, Role, eval};
use lawson_wgpu::{Capabilities, Device, Floats, Fused, Gpu, Language, Listing, Options, wgsl};
use std::sync::OnceLock;

/// The device.
pub fn gpu() -> &'static Gpu {
    &gpus()[0]
}

/// The device in the ways in which devices get shaders: as SPIR-V where it takes that, as WGSL, and as WGSL for a compiler of which nothing good
/// is known.
pub fn gpus() -> &'static [Gpu; 3] {
    static GPUS: OnceLock<[Gpu; 3]> = OnceLock::new();
    GPUS.get_or_init(|| {
        let open = |language: Language| {
            let device = Device::open(Options { language, ..Options::default() });
            let gpu = device.and_then(|d| Gpu::on(&d)).unwrap_or_else(|e| panic!("{e}"));
            // Results are compared here: a loop that a driver leaves too early would show. What is known beforehand of loops with
            // bounds of their own is more than they take.
            let capabilities = Capabilities { max_iterations: None, ..*gpu.capabilities() };
            gpu.with_capabilities(capabilities)
        };
        let (best, wgsl) = (open(Language::Best), open(Language::Wgsl));
        let worst = Capabilities {
            fused: Fused::Twice,
            floats: Floats::Rearranged,
            compares: false,
            subgroup: None,
            ..*wgsl.capabilities()
        };
        let gpus = [best, wgsl.clone(), wgsl.with_capabilities(worst)];
        for gpu in &gpus {
            println!("{}: {:?}", gpu.name(), gpu.capabilities());
        }
        gpus
    })
}

/// How the oracle is asked about the device: what that was seen to do to subnormal numbers is no fault of a kernel.
pub fn oracle_options() -> interp::Options {
    interp::Options { flushes: gpu().capabilities().flushes, ..interp::Options::default() }
}

/// Runs a kernel on the device, with outputs that hold poison before.
pub fn run(gpu: &Gpu, kernel: &Kernel, symbols: &[(Symbol, i64)], buffers: &mut [Vec<u8>]) -> Result<()> {
    let given = kernel.buffers.iter().filter(|b| !matches!(b.role, Role::Scratch(_)));
    for (buffer, bytes) in given.zip(&mut *buffers) {
        if buffer.role == Role::Output {
            bytes.fill(0xa5);
        }
    }
    let compiled = gpu.compile(kernel).map_err(|e| match Listing::of(kernel, gpu.capabilities()) {
        Ok(listing) => e.help(wgsl::text(&listing)),
        Err(_) => e,
    })?;
    gpu.run(&compiled, symbols, buffers)
}

/// The buffers of a kernel for these sizes: inputs with small numbers, outputs empty of meaning.
pub fn buffers(kernel: &Kernel, symbols: &[(Symbol, i64)], rng: &mut Rng) -> Vec<Vec<u8>> {
    let value_of = |s: &Symbol| symbols.iter().find(|(name, _)| name == s).map(|(_, v)| *v);
    let given = kernel.buffers.iter().filter(|b| !matches!(b.role, Role::Scratch(_)));
    given
        .map(|b| {
            let n = b.layout.size.eval(&value_of).unwrap() as usize;
            let mut bytes = vec![0; b.dtype.bytes_for(n).unwrap()];
            for i in 0..n {
                let value = match b.dtype {
                    DType::F32 => Element::Float(rng.unit() * 4.0 - 2.0),
                    DType::Bool => Element::Int(i128::from(rng.below(2) as i64)),
                    _ => Element::Int(i128::from(rng.between(0, 100))),
                };
                value.write(b.dtype, &mut bytes, i);
            }
            bytes
        })
        .collect()
}

/// How far results may be from those of the direct evaluator, which sums in the same order.
#[derive(Clone, Copy, Debug)]
pub enum Near {
    /// Equal; NaN is NaN.
    Equal,
    /// So many units in the last place of f32, at the magnitude of the greatest element.
    Units(f64),
}

/// Runs a kernel both ways and compares all outputs.
pub fn check(gpu: &Gpu, kernel: &Kernel, symbols: &[(Symbol, i64)], inputs: &[Vec<u8>], near: Near) {
    let (mut expected, mut found) = (inputs.to_vec(), inputs.to_vec());
    let options = eval::Options::default();
    eval::run(kernel, symbols, &mut expected, &options).unwrap_or_else(|e| panic!("{e}\n{kernel}"));
    run(gpu, kernel, symbols, &mut found).unwrap_or_else(|e| panic!("{e}\n{kernel}"));
    let given = kernel.buffers.iter().filter(|b| !matches!(b.role, Role::Scratch(_)));
    for (buffer, (expected, found)) in given.zip(expected.iter().zip(&found)) {
        if buffer.role == Role::Output {
            let flushes = gpu.capabilities().flushes;
            compare(buffer.dtype, [expected, found], near, flushes)
                .unwrap_or_else(|e| panic!("{} of {}: {e}\n{kernel}", buffer.name, kernel.name));
        }
    }
}

/// Compares all elements. On a device that flushes, what is subnormal as an f32 may be zero on either side.
fn compare(dtype: DType, [expected, found]: [&[u8]; 2], near: Near, flushes: bool) -> Result<(), String> {
    let count = expected.len() * 8 / dtype.bits();
    let read = |bytes: &[u8], i| match Element::read(dtype, bytes, i) {
        Element::Float(x) if flushes && x.abs() < f64::from(f32::MIN_POSITIVE) => Element::Float(0.0),
        other => other,
    };
    let greatest = (0..count).map(|i| match read(expected, i) {
        Element::Float(x) if x.is_finite() => x.abs(),
        _ => 0.0,
    });
    let greatest = greatest.fold(f64::from(f32::MIN_POSITIVE), f64::max);
    for i in 0..count {
        let fine = match (read(expected, i), read(found, i), near) {
            (Element::Float(e), Element::Float(f), _) if e.is_nan() || f.is_nan() => e.is_nan() && f.is_nan(),
            (Element::Float(e), Element::Float(f), Near::Units(n)) if e.is_finite() => {
                (e - f).abs() <= n * greatest * f64::from(f32::EPSILON)
            }
            (e, f, _) => e == f,
        };
        if !fine {
            return Err(format!("element {i} is {:?}, not {:?}", read(found, i), read(expected, i)));
        }
    }
    Ok(())
}

//! Quotients and square roots on devices that do not give the nearest numbers, which neither WGSL nor Vulkan asks them to: they are corrected
//! by what they leave.

use crate::opcode::{Capabilities, Fused};

/// The text of a function of the prelude whose result the device need not round rightly; `None` if it does, or if its fused product cannot tell
/// what is left.
pub(crate) fn corrected(name: &str, capabilities: &Capabilities) -> Option<&'static str> {
    if capabilities.rounds || capabilities.fused == Fused::Twice {
        return None;
    }
    match name {
        "f32_quotient" => Some(QUOTIENT),
        "f32_sqrt" => Some(SQRT),
        _ => None,
    }
}

/// What these call besides.
pub(crate) const NEEDS: &[&str] = &["f32_fma", "f32_near_quotient"];

/// What a quotient leaves is exact, so that the part of the divisor in it is what the quotient lacks. Zeros keep their sign, and what is not finite
/// leaves nothing that could be told.
const QUOTIENT: &str = "\
fn f32_quotient(a: f32, b: f32) -> f32 {
  let q = f32_near_quotient(a, b);
  let rest = f32_fma(-q, b, a);
  let better = f32_fma(rest, f32_near_quotient(1.0, b), q);
  let is_better = (bitcast<u32>(rest) << 1u) != 0u && (bitcast<u32>(better) & 0x7f800000u) != 0x7f800000u;
  return select(q, better, is_better);
}
";

/// As a quotient: what the square of the root leaves is twice the root times what it lacks. The root of a subnormal number may be 0, which leaves nothing to
/// divide by.
const SQRT: &str = "\
fn f32_sqrt(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  if ((b & 0x7fffffffu) == 0u || b == 0x7f800000u) { return x; }
  if (b > 0x7f800000u) { return float_of(0x7fc00000u); }
  let r = pin(sqrt(x));
  let rest = f32_fma(-r, r, x);
  let better = f32_fma(rest, f32_near_quotient(0.5, r), r);
  let is_better = (bitcast<u32>(rest) << 1u) != 0u && (bitcast<u32>(better) & 0x7f800000u) != 0x7f800000u;
  return select(r, better, is_better);
}
";

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that is a unit off, as WGSL allows: quotients and roots are the nearest numbers all the same.
    #[test]
    fn what_a_device_does_not_round_is_corrected() {
        use lawson_graph::op::{BinaryKind, UnaryKind};
        use lawson_graph::{DType, Dim, Facts};
        use lawson_kernel::build::{loop_of, store};
        let gpu = crate::Gpu::new().unwrap();
        if gpu.capabilities().fused == Fused::Twice {
            return println!("not run: the fused product of this device is not one");
        }
        let capabilities = Capabilities { rounds: false, ..*gpu.capabilities() };
        let gpu = gpu.with_capabilities(capabilities);
        let mut rng = lawson_graph::random::Rng::new(3);
        let mut number = || (rng.unit() * 40.0 - 20.0).exp() as f32;
        let [a, b]: [Vec<f32>; 2] = [0; 2].map(|_| (0..5000).map(|_| number()).collect());
        let bytes = |x: &[f32]| x.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        for divides in [true, false] {
            let n = [Dim::from(a.len() as i64)];
            let mut k = lawson_kernel::Kernel::new("rounded", Facts::new());
            let given = ["a", "b"].map(|name| k.input(name, DType::F32, &n));
            let y = k.output("y", DType::F32, &n);
            let i = k.add_axis("i");
            let [x, by] = given.map(|buffer| k.load(buffer, vec![i.into()]));
            let value = if divides { k.binary(BinaryKind::Div, x, by) } else { k.unary(UnaryKind::Sqrt, by) };
            let body = vec![store(y, vec![i.into()], value)];
            k.body = vec![loop_of(i, 0, n[0].clone(), 1, lawson_kernel::Kind::Parallel, body)];
            let listing = crate::Listing::of(&k, gpu.capabilities()).unwrap();
            let exact = crate::wgsl::text(&listing);
            let off = |text: &str| format!("bitcast<f32>(bitcast<u32>({text}) + 1u)");
            let mut text = exact.clone();
            for precise in ["a / b", "pin(a / apart(b))", "pin(sqrt(x))"] {
                text = text.replace(&format!(" {precise};"), &format!(" {};", off(precise)));
            }
            assert_ne!(text, exact);
            let compiled = gpu.compile_text(&k, &listing, &text).unwrap();
            let mut buffers = [bytes(&a), bytes(&b), bytes(&a)];
            gpu.run(&compiled, &[], &mut buffers).unwrap();
            let expected = a.iter().zip(&b).map(|(a, b)| if divides { a / b } else { b.sqrt() });
            assert_eq!(buffers[2], bytes(&expected.collect::<Vec<f32>>()));
            // A device that takes what is given for 0, which has a root, and nothing to correct it by.
            if !divides {
                let text = exact.replace("pin(sqrt(x))", "0.0");
                assert_ne!(text, exact);
                let compiled = gpu.compile_text(&k, &listing, &text).unwrap();
                gpu.run(&compiled, &[], &mut buffers).unwrap();
                assert!(buffers[2].iter().all(|b| *b == 0));
            }
        }
    }
}

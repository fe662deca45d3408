//! Operations whose results are exact, as machine code, against the evaluator: the same bits.
#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, unsafe_code)]

mod common;

use common::machine_and_evaluator;
use lawson_graph::op::{BinaryKind, UnaryKind};
use lawson_graph::random::Rng;
use lawson_graph::{DType, Dim, Facts, Symbol};
use lawson_kernel::build::{for_each, store};
use lawson_kernel::choose::{Freedom, choose};
use lawson_kernel::machine::Machine;
use lawson_kernel::{ExprId, Kernel};

/// `y[i] = f(x0[i], x1[i])` by machine code and by the evaluator, as bits.
fn both(
    dtype: DType,
    pairs: &[(u32, u32)],
    value: impl FnOnce(&mut Kernel, [ExprId; 2]) -> ExprId,
) -> [Vec<u32>; 2] {
    let n = Dim::symbol("N");
    let mut k = Kernel::new("f", Facts::new());
    let i = k.add_axis("i");
    let given = ["x0", "x1"].map(|name| k.input(name, dtype, std::slice::from_ref(&n)));
    let y = k.output("y", dtype, std::slice::from_ref(&n));
    let loads = given.map(|b| k.load(b, vec![i.into()]));
    let value = value(&mut k, loads);
    k.body = vec![for_each(i, n, vec![store(y, vec![i.into()], value)])];
    choose(&mut k, &Machine::default(), &Freedom::default()).unwrap();
    let bytes = |v: &mut dyn Iterator<Item = u32>| v.flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    let buffers = vec![
        bytes(&mut pairs.iter().map(|p| p.0)),
        bytes(&mut pairs.iter().map(|p| p.1)),
        vec![0xA5; 4 * pairs.len()],
    ];
    let params = [(Symbol::new("N"), pairs.len() as i64)];
    machine_and_evaluator(&k, &params, &buffers).map(|b| {
        b[2].chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect::<Vec<u32>>()
    })
}

/// All pairs of these, and as many random ones.
fn pairs(special: &[u32], random: usize) -> Vec<(u32, u32)> {
    let mut all: Vec<(u32, u32)> = special.iter().flat_map(|a| special.iter().map(|b| (*a, *b))).collect();
    let mut rng = Rng::new(11);
    let mut number = || {
        let bits = rng.bits() as u32;
        // Of all magnitudes.
        bits >> (rng.bits() % 32)
    };
    all.extend((0..random).map(|_| (number(), number())));
    all
}

#[test]
fn integers_are_divided_as_the_interpreter_does() {
    let special: Vec<u32> =
        [0, 1, 2, 3, 5, 7, 10, 16, 1 << 15, 1 << 16, 0x7FFF_FFFE, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001]
            .into_iter()
            .flat_map(|v: u32| [v, v.wrapping_neg()])
            .collect();
    let all = pairs(&special, 20_000);
    let negated: Vec<(u32, u32)> = all.iter().map(|(a, b)| (a.wrapping_neg(), *b)).collect();
    for dtype in [DType::I32, DType::U32] {
        for kind in [BinaryKind::Div, BinaryKind::FloorDiv, BinaryKind::Rem, BinaryKind::Mod, BinaryKind::Pow]
        {
            for pairs in [&all, &negated] {
                let [machine, evaluator] = both(dtype, pairs, |k, [a, b]| k.binary(kind, a, b));
                for (((a, b), got), want) in pairs.iter().zip(machine).zip(evaluator) {
                    assert_eq!(got, want, "{} of {dtype} {a:#x} and {b:#x}", kind.name());
                }
            }
        }
        for kind in [UnaryKind::Sign, UnaryKind::Abs, UnaryKind::Neg] {
            let [machine, evaluator] = both(dtype, &all, |k, [a, _]| k.unary(kind, a));
            assert_eq!(machine, evaluator, "{} of {dtype}", kind.name());
        }
    }
}

#[test]
fn small_exponents_stay_with_what_is_common() {
    // No lane needs more than four bits of the exponent.
    let all: Vec<(u32, u32)> = (0..64u32).map(|n| (n.wrapping_sub(20), n % 16)).collect();
    let [machine, evaluator] = both(DType::I32, &all, |k, [a, b]| k.binary(BinaryKind::Pow, a, b));
    assert_eq!(machine, evaluator);
}

#[test]
fn remainders_of_floats_are_exact() {
    let special: Vec<u32> = [
        0.0f32,
        1.0,
        2.5,
        3.0,
        7.0,
        0.1,
        1e-3,
        8_388_607.0,
        8_388_608.0,
        16_777_215.0,
        16_777_216.0,
        1e10,
        1e30,
        1e-30,
        f32::MAX,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::from_bits(0x7F_FFFF),
        f32::INFINITY,
        f32::NAN,
    ]
    .into_iter()
    .flat_map(|v| [v, -v])
    .map(f32::to_bits)
    .collect();
    let mut all = pairs(&special, 0);
    let mut rng = Rng::new(5);
    // Of all magnitudes, and of like ones, where quotients are short.
    all.extend((0..200_000).map(|_| (rng.bits() as u32, rng.bits() as u32)));
    all.extend((0..50_000).map(|_| {
        let a = rng.bits() as u32;
        (a, a.wrapping_add(rng.bits() as u32 >> 7) ^ (rng.bits() as u32 & 0x8000_0000))
    }));
    for kind in [BinaryKind::Rem, BinaryKind::Mod] {
        let [machine, evaluator] = both(DType::F32, &all, |k, [a, b]| k.binary(kind, a, b));
        for (((a, b), got), want) in all.iter().zip(machine).zip(evaluator) {
            let [a, b, x, y] = [*a, *b, got, want].map(f32::from_bits);
            let same = got == want || x.is_nan() && y.is_nan();
            assert!(same, "{} of {a:e} and {b:e}: {x:e}, not {y:e}", kind.name());
        }
    }
}

//! Operations whose results are exact, as machine code, against the evaluator: the same bits.
#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, unsafe_code)]

mod common;

use common::{levels, machine_and_evaluator};
use lawson_cpu::Isa;
use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};
use lawson_graph::random::Rng;
use lawson_graph::{DType, Dim, Facts, Symbol};
use lawson_kernel::build::{for_each, store};
use lawson_kernel::choose::{Freedom, choose};
use lawson_kernel::machine::Machine;
use lawson_kernel::{Expr, ExprId, Kernel, Scalar};

const INTEGERS: [DType; 8] =
    [DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64];
const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

/// `y[i] = f(x0[i], x1[i])` by machine code and by the evaluator, as bits.
fn both(
    isa: Isa,
    dtype: DType,
    pairs: &[(u64, u64)],
    value: impl FnOnce(&mut Kernel, [ExprId; 2]) -> ExprId,
) -> [Vec<u64>; 2] {
    let n = Dim::symbol("N");
    let mut k = Kernel::new("f", Facts::new());
    let i = k.add_axis("i");
    let given = ["x0", "x1"].map(|name| k.input(name, dtype, std::slice::from_ref(&n)));
    let loads = given.map(|b| k.load(b, vec![i.into()]));
    let value = value(&mut k, loads);
    let result = k.dtype(value);
    let y = k.output("y", result, std::slice::from_ref(&n));
    k.body = vec![for_each(i, n, vec![store(y, vec![i.into()], value)])];
    choose(&mut k, &isa.of(&Machine::default()), &Freedom::default()).unwrap();
    let size = |dtype: DType| dtype.bits().div_ceil(8);
    let bytes = |v: &mut dyn Iterator<Item = u64>| {
        v.flat_map(|v| v.to_le_bytes()[..size(dtype)].to_vec()).collect::<Vec<u8>>()
    };
    let buffers = vec![
        bytes(&mut pairs.iter().map(|p| p.0)),
        bytes(&mut pairs.iter().map(|p| p.1)),
        vec![0xA5; size(result) * pairs.len()],
    ];
    let params = [(Symbol::new("N"), pairs.len() as i64)];
    let number = |b: &[u8]| b.iter().rev().fold(0, |all, b| all << 8 | u64::from(*b));
    machine_and_evaluator(isa, &k, &params, &buffers)
        .map(|b| b[2].chunks_exact(size(result)).map(number).collect::<Vec<u64>>())
}

/// All pairs of these, and as many random ones.
fn pairs(special: &[u64], random: usize) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = special.iter().flat_map(|a| special.iter().map(|b| (*a, *b))).collect();
    let mut rng = Rng::new(11);
    let mut number = || {
        let bits = rng.bits();
        // Of all magnitudes.
        bits >> (rng.bits() % 64)
    };
    all.extend((0..random).map(|_| (number(), number())));
    all
}

#[test]
fn integers_are_divided_as_the_interpreter_does() {
    for isa in levels() {
        let special: Vec<u64> =
            [0, 1, 2, 3, 5, 7, 10, 16, 1 << 15, 1 << 16, 0x7FFF_FFFE, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001]
                .into_iter()
                .flat_map(|v: u64| [v, v.wrapping_neg(), v << 32, (v << 32).wrapping_neg()])
                .collect();
        let all = pairs(&special, 20_000);
        let negated: Vec<(u64, u64)> = all.iter().map(|(a, b)| (a.wrapping_neg(), *b)).collect();
        for dtype in INTEGERS {
            for kind in
                [BinaryKind::Div, BinaryKind::FloorDiv, BinaryKind::Rem, BinaryKind::Mod, BinaryKind::Pow]
            {
                for pairs in [&all, &negated] {
                    let [machine, evaluator] = both(isa, dtype, pairs, |k, [a, b]| k.binary(kind, a, b));
                    for (((a, b), got), want) in pairs.iter().zip(machine).zip(evaluator) {
                        assert_eq!(got, want, "{} of {dtype} {a:#x} and {b:#x}", kind.name());
                    }
                }
            }
            for kind in [UnaryKind::Sign, UnaryKind::Abs, UnaryKind::Neg] {
                let [machine, evaluator] = both(isa, dtype, &all, |k, [a, _]| k.unary(kind, a));
                assert_eq!(machine, evaluator, "{} of {dtype}", kind.name());
            }
        }
    }
}

#[test]
fn small_exponents_stay_with_what_is_common() {
    for isa in levels() {
        // No lane needs more than four bits of the exponent.
        let all: Vec<(u64, u64)> = (0..64u64).map(|n| (n.wrapping_sub(20), n % 16)).collect();
        let [machine, evaluator] = both(isa, DType::I32, &all, |k, [a, b]| k.binary(BinaryKind::Pow, a, b));
        assert_eq!(machine, evaluator);
    }
}

#[test]
fn remainders_of_floats_are_exact() {
    for isa in levels() {
        let special: Vec<u64> = [
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
        .map(|v| u64::from(v.to_bits()))
        .collect();
        let mut all = pairs(&special, 0);
        let mut rng = Rng::new(5);
        // Of all magnitudes, and of like ones, where quotients are short.
        all.extend((0..200_000).map(|_| (rng.bits(), rng.bits())));
        all.extend((0..50_000).map(|_| {
            let a = rng.bits() as u32;
            let b = a.wrapping_add(rng.bits() as u32 >> 7) ^ (rng.bits() as u32 & 0x8000_0000);
            (u64::from(a), u64::from(b))
        }));
        for kind in [BinaryKind::Rem, BinaryKind::Mod] {
            let [machine, evaluator] = both(isa, DType::F32, &all, |k, [a, b]| k.binary(kind, a, b));
            for (((a, b), got), want) in all.iter().zip(machine).zip(evaluator) {
                let [a, b, x, y] = [*a, *b, got, want].map(|v| f32::from_bits(v as u32));
                let same = got == want || x.is_nan() && y.is_nan();
                assert!(same, "{} of {a:e} and {b:e}: {x:e}, not {y:e}", kind.name());
            }
        }
    }
}

#[test]
fn remainders_of_f64_are_exact() {
    for isa in levels() {
        let special: Vec<u64> = [
            0.0,
            1.0,
            2.5,
            3.0,
            0.1,
            1e-3,
            4_503_599_627_370_495.5,
            9_007_199_254_740_993.0,
            1e100,
            1e300,
            1e-300,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::from_bits(1),
            f64::from_bits(0xF_FFFF_FFFF_FFFF),
            f64::INFINITY,
            f64::NAN,
        ]
        .into_iter()
        .flat_map(|v: f64| [v.to_bits(), (-v).to_bits()])
        .collect();
        let mut all = pairs(&special, 0);
        let mut rng = Rng::new(5);
        all.extend((0..50_000).map(|_| (rng.bits(), rng.bits())));
        all.extend((0..50_000).map(|_| {
            let a = rng.bits();
            (a, a.wrapping_add(rng.bits() >> 9) ^ (rng.bits() & 1 << 63))
        }));
        for kind in [BinaryKind::Rem, BinaryKind::Mod] {
            let [machine, evaluator] = both(isa, DType::F64, &all, |k, [a, b]| k.binary(kind, a, b));
            for (((a, b), got), want) in all.iter().zip(machine).zip(evaluator) {
                let [a, b, x, y] = [*a, *b, got, want].map(f64::from_bits);
                let same = got == want || x.is_nan() && y.is_nan();
                assert!(same, "{} of {a:e} and {b:e}: {x:e}, not {y:e}", kind.name());
            }
        }
    }
}

#[test]
fn integers_wrap_and_their_shifts_end() {
    for isa in levels() {
        let ends: Vec<u64> = [7, 8, 15, 16, 31, 32, 53, 62, 63].into_iter().map(|n| 1 << n).collect();
        let special: Vec<u64> = (0..3)
            .chain([7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 200])
            .chain(ends)
            .flat_map(|v: u64| [v, v.wrapping_neg(), v.wrapping_add(1), !v])
            .collect();
        let all = pairs(&special, 5_000);
        use BinaryKind::{Add, And, Max, Min, Mul, Or, Shl, Shr, Sub, Xor};
        for dtype in INTEGERS {
            let agree = |what: &str, value: &dyn Fn(&mut Kernel, [ExprId; 2]) -> ExprId| {
                let [machine, evaluator] = both(isa, dtype, &all, value);
                for (((a, b), got), want) in all.iter().zip(machine).zip(evaluator) {
                    assert_eq!(got, want, "{what} of {dtype} {a:#x} and {b:#x}");
                }
            };
            for kind in [Add, Sub, Mul, And, Or, Xor, Min, Max, Shl, Shr] {
                agree(kind.name(), &|k, [a, b]| k.binary(kind, a, b));
                // What was computed before is cut to its width where that can be seen.
                agree(kind.name(), &|k, [a, b]| {
                    let sum = k.binary(Add, a, b);
                    let cut = k.binary(kind, sum, b);
                    k.binary(BinaryKind::Div, cut, a)
                });
            }
            for by in [0, 1, 5, 7, 8, 31, 32, 63, 64, -1] {
                for kind in [Shl, Shr] {
                    agree("a shift by a constant", &|k, [a, _]| {
                        let by = k.constant(Scalar::int(dtype, by));
                        k.binary(kind, a, by)
                    });
                }
            }
            for kind in [UnaryKind::Neg, UnaryKind::Abs, UnaryKind::Not, UnaryKind::Sign] {
                agree(kind.name(), &|k, [a, _]| k.unary(kind, a));
            }
            for &kind in CompareKind::ALL {
                agree(kind.name(), &|k, [a, b]| k.compare(kind, a, b));
                agree("select", &|k, [a, b]| {
                    let (c, sum) = (k.compare(kind, a, b), k.binary(Add, a, b));
                    k.add(Expr::Select(c, sum, b))
                });
            }
        }
    }
}

/// Bits of interesting numbers of a dtype, and random ones.
fn samples(dtype: DType) -> Vec<(u64, u64)> {
    let mut rng = Rng::new(3);
    let mut floats: Vec<f64> = vec![0.0, 0.4, 0.5, 1.0, 1.5, 2.5, 0.1, 1e-50, 1e300, f64::INFINITY, f64::NAN];
    for bits in [7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64] {
        let power = 2f64.powi(bits);
        floats.extend([power, power - 1.0, power + 1.0, power - 0.5, power * (1.0 - f64::EPSILON)]);
    }
    let mut bits: Vec<u64> = match dtype {
        DType::F64 => floats.iter().flat_map(|v| [v.to_bits(), (-v).to_bits()]).collect(),
        DType::F32 => {
            floats.iter().flat_map(|v| [*v as f32, -*v as f32]).map(|v| u64::from(v.to_bits())).collect()
        }
        // All of them.
        DType::F16 | DType::BF16 => (0..1 << 16).collect(),
        DType::Bool => return vec![(0, 0), (1, 1), (1, 0)],
        _ => (0..64).flat_map(|n| [1u64 << n, (1u64 << n) - 1, (1u64 << n).wrapping_neg()]).collect(),
    };
    bits.extend((0..3000).map(|_| rng.bits()));
    bits.extend((0..3000).map(|_| rng.bits() >> (rng.bits() % 64)));
    bits.into_iter().map(|b| (b, b)).collect()
}

#[test]
fn casts_are_those_of_the_interpreter() {
    for isa in levels() {
        let dtypes = || INTEGERS.into_iter().chain(FLOATS).chain([DType::Bool]);
        for from in dtypes() {
            for to in dtypes() {
                let given = samples(from);
                let [machine, evaluator] = both(isa, from, &given, |k, [a, _]| {
                    // Small floats are rounded from f32.
                    let small = matches!(to, DType::F16 | DType::BF16) && from != to;
                    let a = if small { k.add(Expr::Cast(a, DType::F32)) } else { a };
                    k.add(Expr::Cast(a, to))
                });
                for (((a, _), got), want) in given.iter().zip(machine).zip(evaluator) {
                    let nan = |v: u64| match to {
                        DType::F16 => v as u16 & 0x7FFF > 0x7C00,
                        DType::BF16 => v as u16 & 0x7FFF > 0x7F80,
                        DType::F32 => f32::from_bits(v as u32).is_nan(),
                        DType::F64 => f64::from_bits(v).is_nan(),
                        _ => false,
                    };
                    assert!(
                        got == want || nan(got) && nan(want),
                        "{a:#x} of {from} as {to}: {got:#x}, not {want:#x}"
                    );
                }
            }
        }
    }
}

#[test]
fn integers_of_64_bits_are_halves_that_carry() {
    for isa in levels() {
        let special: Vec<u64> = [
            0,
            1,
            2,
            1 << 16,
            (1 << 31) - 1,
            1 << 31,
            (1 << 32) - 1,
            1 << 32,
            (1 << 53) + 1,
            1 << 62,
            1 << 63,
        ]
        .into_iter()
        .flat_map(|v: u64| [v, v.wrapping_neg(), v.wrapping_add(1), !v])
        .collect();
        let all = pairs(&special, 20_000);
        let agree = |dtype, what: &str, value: &dyn Fn(&mut Kernel, [ExprId; 2]) -> ExprId| {
            let [machine, evaluator] = both(isa, dtype, &all, value);
            for (((a, b), got), want) in all.iter().zip(machine).zip(evaluator) {
                assert_eq!(got, want, "{what} of {dtype} {a:#x} and {b:#x}");
            }
        };
        use BinaryKind::{Add, And, Max, Min, Mul, Or, Sub, Xor};
        for kind in [Add, Sub, Mul, And, Or, Xor, Min, Max] {
            agree(DType::I64, kind.name(), &|k, [a, b]| k.binary(kind, a, b));
            // What comes from 32 bits has no high halves of its own.
            agree(DType::I32, kind.name(), &|k, v| {
                let [a, b] = v.map(|v| k.add(Expr::Cast(v, DType::I64)));
                k.binary(kind, a, b)
            });
            agree(DType::U32, kind.name(), &|k, v| {
                let [a, b] = v.map(|v| k.add(Expr::Cast(v, DType::I64)));
                k.binary(kind, a, b)
            });
            agree(DType::I64, kind.name(), &|k, [a, _]| {
                let large = k.constant(Scalar::int(DType::I64, 0x1_2345_6789));
                k.binary(kind, a, large)
            });
        }
        for kind in [UnaryKind::Neg, UnaryKind::Abs, UnaryKind::Not, UnaryKind::Sign] {
            agree(DType::I64, kind.name(), &|k, [a, _]| k.unary(kind, a));
        }
        for &kind in CompareKind::ALL {
            agree(DType::I64, kind.name(), &|k, [a, b]| k.compare(kind, a, b));
            agree(DType::I64, "select", &|k, [a, b]| {
                let c = k.compare(kind, a, b);
                k.add(Expr::Select(c, a, b))
            });
        }
        for to in [DType::I32, DType::U32, DType::F32, DType::Bool] {
            agree(DType::I64, "cast", &|k, [a, _]| k.add(Expr::Cast(a, to)));
            // There and back: the low half alone decides.
            if to == DType::I32 {
                agree(DType::I64, "cut", &|k, [a, _]| {
                    let low = k.add(Expr::Cast(a, to));
                    let back = k.add(Expr::Cast(low, DType::I64));
                    k.binary(BinaryKind::Add, back, a)
                });
            }
        }
    }
}

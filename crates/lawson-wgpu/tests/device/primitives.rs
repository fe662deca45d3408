//! Every primitive in every dtype that op codes have, on every pair of awkward numbers: the same bits as the oracle's.

use crate::support::{Near, check, gpu, gpus};
use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};
use lawson_graph::{DType, Dim, Facts};
use lawson_kernel::build::{loop_of, store};
use lawson_kernel::{BufferId, Expr, ExprId, Extremum, Kernel, Kind};

const FLOATS: [f32; 29] = [
    1e-40,
    -1e-45,
    3.5e-38,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.99999994,
    3.0,
    -7.25,
    1e-3,
    16777216.0,
    -16777217.0,
    2147483520.0,
    2147483648.0,
    -2147483648.0,
    4294967040.0,
    4294967296.0,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

const INTS: [i32; 16] =
    [0, 1, -1, 2, -2, 3, -3, 7, 31, 32, 33, -32, 1000003, i32::MAX, i32::MIN, i32::MIN + 1];

/// `n` numbers of a dtype.
fn numbers(dtype: DType) -> Vec<[u8; 4]> {
    match dtype {
        DType::F32 => FLOATS.iter().map(|x| x.to_le_bytes()).collect(),
        _ => INTS.iter().map(|x| x.to_le_bytes()).collect(),
    }
}

fn of_bools(dtype: DType) -> bool {
    dtype == DType::Bool
}

/// Runs `make(a, b)` for all pairs of awkward numbers.
fn on_pairs(dtype: DType, out: DType, make: impl FnOnce(&mut Kernel, ExprId, ExprId) -> ExprId) {
    let all: Vec<Vec<u8>> = match of_bools(dtype) {
        true => vec![vec![0], vec![1]],
        false => numbers(dtype).into_iter().map(Vec::from).collect(),
    };
    let n = all.len() as i64;
    let mut k = Kernel::new("pairs", Facts::new());
    let (a, b) = (k.input("a", dtype, &[n.into()]), k.input("b", dtype, &[n.into()]));
    let y = k.output("y", out, &[n.into(), n.into()]);
    let (i, j) = (k.add_axis("i"), k.add_axis("j"));
    let (a, b) = (k.load(a, vec![i.into()]), k.load(b, vec![j.into()]));
    let value = make(&mut k, a, b);
    let inner = loop_of(j, 0, n, 1, Kind::Serial, vec![store(y, vec![i.into(), j.into()], value)]);
    k.body = vec![loop_of(i, 0, n, 1, Kind::Parallel, vec![inner])];
    let bytes = all.concat();
    let size = out.bytes_for((n * n) as usize).unwrap();
    for gpu in gpus() {
        check(gpu, &k, &[], &[bytes.clone(), bytes.clone(), vec![0; size]], Near::Equal);
    }
}

const NUMBERS: [DType; 3] = [DType::F32, DType::I32, DType::U32];

#[test]
fn functions_of_two_numbers() {
    use BinaryKind::*;
    let each = [Add, Sub, Mul, Div, Rem, Mod, Min, Max];
    for dtype in NUMBERS {
        for kind in each {
            on_pairs(dtype, dtype, |k, a, b| k.binary(kind, a, b));
        }
    }
    for dtype in [DType::I32, DType::U32] {
        for kind in [FloorDiv, Pow, And, Or, Xor, Shl, Shr] {
            on_pairs(dtype, dtype, |k, a, b| k.binary(kind, a, b));
        }
    }
    for kind in [And, Or, Xor] {
        on_pairs(DType::Bool, DType::Bool, |k, a, b| k.binary(kind, a, b));
    }
}

#[test]
fn functions_of_one_number() {
    use UnaryKind::*;
    for kind in [Neg, Abs, Sign] {
        for dtype in NUMBERS {
            on_pairs(dtype, dtype, |k, a, _| k.unary(kind, a));
        }
    }
    for dtype in [DType::I32, DType::U32, DType::Bool] {
        on_pairs(dtype, dtype, |k, a, _| k.unary(Not, a));
    }
    for kind in [Floor, Ceil, Round, Trunc, Sqrt] {
        on_pairs(DType::F32, DType::F32, |k, a, _| k.unary(kind, a));
    }
}

#[test]
fn comparisons_and_choices() {
    use CompareKind::*;
    for dtype in [DType::F32, DType::I32, DType::U32, DType::Bool] {
        for kind in [Eq, Ne, Lt, Le, Gt, Ge] {
            on_pairs(dtype, DType::Bool, |k, a, b| k.compare(kind, a, b));
            on_pairs(dtype, dtype, |k, a, b| {
                let c = k.compare(kind, a, b);
                k.add(Expr::Select(c, b, a))
            });
        }
    }
    for which in [Extremum::Min, Extremum::Max] {
        on_pairs(DType::F32, DType::F32, |k, a, b| k.extremum(which, a, b));
        on_pairs(DType::I32, DType::I32, |k, a, b| k.extremum(which, a, b));
    }
}

#[test]
fn casts_saturate_and_wrap() {
    for from in [DType::F32, DType::I32, DType::U32, DType::Bool] {
        for to in [DType::F32, DType::I32, DType::U32, DType::Bool] {
            on_pairs(from, to, |k, a, _| k.add(Expr::Cast(a, to)));
            if !of_bools(from) && !of_bools(to) {
                on_pairs(from, to, |k, a, _| k.add(Expr::Bitcast(a, to)));
            }
        }
    }
}

/// A driver that calculates with real numbers would give 0, 1 and `b`.
#[test]
fn nothing_is_rearranged() {
    on_pairs(DType::F32, DType::F32, |k, a, _| k.binary(BinaryKind::Sub, a, a));
    on_pairs(DType::F32, DType::F32, |k, a, _| k.binary(BinaryKind::Div, a, a));
    on_pairs(DType::F32, DType::F32, |k, a, _| {
        let zero = k.f32(0.0);
        k.product(a, zero)
    });
    on_pairs(DType::F32, DType::F32, |k, a, b| {
        let zero = k.f32(0.0);
        k.add(Expr::Fma(a, zero, b))
    });
    on_pairs(DType::F32, DType::F32, |k, a, b| {
        let sum = k.sum(a, b);
        k.binary(BinaryKind::Sub, sum, a)
    });
    on_pairs(DType::F32, DType::F32, |k, a, b| {
        let difference = k.binary(BinaryKind::Sub, a, b);
        k.sum(difference, b)
    });
    on_pairs(DType::F32, DType::F32, |k, a, b| {
        let product = k.product(a, b);
        k.sum(product, a)
    });
}

#[test]
fn constants_of_every_kind() {
    for constant in FLOATS {
        on_pairs(DType::F32, DType::F32, |k, a, _| {
            let c = k.f32(constant);
            k.binary(BinaryKind::Max, a, c)
        });
    }
    for constant in INTS {
        on_pairs(DType::I32, DType::I32, |k, a, _| {
            let c = k.constant(lawson_kernel::Scalar::int(DType::I32, i64::from(constant)));
            k.sum(a, c)
        });
    }
}

/// Members store neighbouring bytes of one word at the same time.
#[test]
fn stores_of_bytes_leave_their_neighbours() {
    let n = 1000;
    let mut k = Kernel::new("bytes", Facts::new());
    let x = k.input("x", DType::F32, &[n.into()]);
    let y = k.output("y", DType::Bool, &[n.into()]);
    let i = k.add_axis("i");
    let (e, zero) = (k.load(x, vec![i.into()]), k.f32(0.0));
    let c = k.compare(CompareKind::Lt, e, zero);
    k.body = vec![loop_of(i, 0, Dim::from(n), 1, Kind::Parallel, vec![store(y, vec![i.into()], c)])];
    let mut rng = lawson_graph::random::Rng::new(3);
    let inputs = crate::support::buffers(&k, &[], &mut rng);
    assert_eq!(k.buffer(BufferId(1)).dtype, DType::Bool);
    check(gpu(), &k, &[], &inputs, Near::Equal);
}

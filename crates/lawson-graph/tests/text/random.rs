//! Random graphs come back: random operators, types, names, placements, facts, loops in loops.

use crate::round_trip::check;
use lawson_graph::op::{BinaryKind, CompareKind, DefineSymbol, Monoid, UnaryKind};
use lawson_graph::random::{GraphShape, Rng, random_graph};
use lawson_graph::{
    Builder, DType, Dim, HostTensor, Keep, Op, Placement, Registry, Relation, Result, Shape, Sharding,
    Symbol, Type, ValueId,
};
use proptest::prelude::*;

/// A source of choices: the numbers that proptest made, again and again.
struct Choices {
    numbers: Vec<u32>,
    at: usize,
}

impl Choices {
    fn below(&mut self, n: usize) -> usize {
        self.at += 1;
        let number = self.numbers[self.at % self.numbers.len()].wrapping_mul(self.at as u32 | 1);
        (number >> 7) as usize % n
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// The symbols that dimensions mention; an input binds them.
const SYMBOLS: &[&str] = &["N", "M", "batch size", "true", "a*b"];

/// How deep loops and branches nest.
const DEPTH: usize = 2;

const NAMES: &[&str] = &["x", "y.0", "a b", "layer/0:1", "7", "\"", "é", "return", "%"];

fn dim(c: &mut Choices, depth: usize) -> Dim {
    match c.below(if depth == 0 { 3 } else { 8 }) {
        0 => Dim::from(c.below(5)),
        1 => Dim::symbol(c.pick(SYMBOLS)),
        2 => Dim::from(c.below(1000)),
        3 => dim(c, depth - 1) + dim(c, depth - 1),
        4 => dim(c, depth - 1) * dim(c, depth - 1),
        5 => dim(c, depth - 1).floor_div(&Dim::from(1 + c.below(9))),
        6 => dim(c, depth - 1).min(&dim(c, depth - 1)),
        _ => dim(c, depth - 1).max(&dim(c, depth - 1)),
    }
}

fn decorate(c: &mut Choices, b: &mut Builder<'_>, v: ValueId) {
    if c.below(3) == 0 {
        let name = format!("{}{}", c.pick(NAMES), c.below(1000));
        let _ = b.name(v, &name);
    }
    if c.below(6) == 0 {
        let rank = b.ty(v).as_tensor().map_or(0, |t| t.rank());
        let axes = (0..rank).map(|i| (c.below(2) == 0).then(|| format!("{}{i}", c.pick(NAMES)))).collect();
        let sharding = Some(Sharding { mesh: c.pick(NAMES).to_string(), axes }).filter(|_| c.below(2) == 0);
        let device = Some(c.pick(NAMES).to_string()).filter(|_| c.below(2) == 0);
        b.place(v, Placement { device, sharding }).unwrap();
    }
}

/// Adds one operator; what does not fit is left out.
fn add_node(c: &mut Choices, b: &mut Builder<'_>, values: &[ValueId], depth: usize) -> Result<Vec<ValueId>> {
    let (x, y) = (c.pick(values), c.pick(values));
    let rank = b.ty(x).as_tensor().map_or(0, |t| t.rank());
    Ok(match c.below(16) {
        0 => vec![b.unary(c.pick(UnaryKind::ALL), x)?],
        1 | 2 => vec![b.binary(c.pick(BinaryKind::ALL), x, y)?],
        3 => vec![b.compare(c.pick(CompareKind::ALL), x, y)?],
        4 => vec![b.cast(x, c.pick(&DType::ALL))?],
        5 => {
            let n = c.below(80);
            let values: Vec<i64> = (0..n).map(|i| if n.is_multiple_of(2) { 7 } else { i as i64 }).collect();
            vec![b.constant(HostTensor::from_slice(&[n], &values)?)?]
        }
        6 => {
            vec![b.reduce(c.pick(Monoid::ALL), x, &[c.below(rank.max(1))], c.pick(&[Keep::Yes, Keep::No]))?]
        }
        7 => {
            let mut perm: Vec<usize> = (0..rank).collect();
            perm.rotate_left(c.below(rank.max(1)));
            vec![b.transpose(x, &perm)?]
        }
        8 => vec![b.concat(&[x, y], c.below(rank.max(1)))?],
        9 => vec![b.matmul(x, y)?],
        10 => {
            vec![b.iota(c.pick(&[DType::F32, DType::I64, DType::U4]), [dim(c, 2), dim(c, 1)], c.below(2))?]
        }
        11 => {
            let dims = (0..c.below(4)).map(|_| dim(c, 4)).collect();
            vec![b.op1(Op::Dims(lawson_graph::op::Dims { dims }), &[])?]
        }
        12 => {
            let name = Symbol::new(format!("{} {}", c.pick(NAMES), c.below(100)));
            let n = b.scalar(DType::I64, 3.0)?;
            vec![b.op1(Op::DefineSymbol(DefineSymbol { name, max: dim(c, 1) }), &[n])?]
        }
        13 if depth > 0 => {
            let condition = b.scalar(DType::Bool, 1.0)?;
            let mut branch = |inner: &mut Builder<'static>, v: &[ValueId]| {
                fill(c, inner, v, 4, depth - 1);
                Ok(v.to_vec())
            };
            let (mut other, operands) = (Choices { numbers: vec![5, 77, 1234567], at: 3 }, [x, y]);
            let otherwise = |inner: &mut Builder<'static>, v: &[ValueId]| {
                fill(&mut other, inner, v, 3, depth - 1);
                Ok(v.to_vec())
            };
            b.cond(condition, &operands, &mut branch, otherwise)?
        }
        14 if depth > 0 => {
            let n = b.scalar(DType::I64, 3.0)?;
            let body = |inner: &mut Builder<'static>, v: &[ValueId]| {
                fill(c, inner, v, 4, depth - 1);
                Ok(v[..2].to_vec())
            };
            b.while_loop(&[n, x], &[y], |inner, v| inner.compare(CompareKind::Ne, v[0], v[0]), body)?
        }
        // A body may state no facts of its own.
        15 if depth == DEPTH => {
            b.fact(dim(c, 2), c.pick(&[Relation::Ge, Relation::Le, Relation::Eq, Relation::Lt]), dim(c, 2))?;
            vec![]
        }
        _ => vec![b.add_scalar(x, 0.1)?],
    })
}

fn fill(
    c: &mut Choices,
    b: &mut Builder<'_>,
    values: &[ValueId],
    count: usize,
    depth: usize,
) -> Vec<ValueId> {
    let mut values = values.to_vec();
    for _ in 0..count {
        let Ok(results) = add_node(c, b, &values, depth) else { continue };
        for v in results {
            decorate(c, b, v);
            values.push(v);
        }
    }
    values
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_come_back(numbers in proptest::collection::vec(any::<u32>(), 8..64), count in 1usize..40) {
        let mut c = Choices { numbers, at: 0 };
        let c = &mut c;
        let mut b = Builder::new(c.pick(NAMES));
        let sizes = Type::tensor(DType::I8, SYMBOLS.iter().map(|s| Dim::symbol(*s)).collect::<Shape>());
        let mut values = vec![b.input("sizes", sizes).unwrap()];
        for (i, name) in NAMES.iter().take(1 + c.below(4)).enumerate() {
            let shape: Vec<Dim> = (0..c.below(4)).map(|_| dim(c, 1)).collect();
            let ty = Type::tensor(c.pick(&[DType::F32, DType::I64, DType::Bool]), shape);
            if let Ok(x) = b.input(name, ty) {
                decorate(c, &mut b, x);
                values.push(x);
                if i == 0 {
                    b.output_in("state", x, x).unwrap();
                }
            }
        }
        let first = b.scalar(DType::F32, 0.5).unwrap();
        values.push(first);
        let values = fill(c, &mut b, &values, count, DEPTH);
        for (i, name) in NAMES.iter().enumerate().skip(c.below(NAMES.len())) {
            b.output(name, values[(i * 7) % values.len()]).unwrap();
        }
        check(&b.finish().unwrap());
    }

    #[test]
    fn random_dimensions_come_back(numbers in proptest::collection::vec(any::<u32>(), 8..64)) {
        let d = dim(&mut Choices { numbers, at: 0 }, 6);
        prop_assume!(!d.is_overflow());
        prop_assert_eq!(lawson_graph::parse_dim(&d.to_string()).unwrap(), d);
    }
}

/// The random graphs and the examples that all of Lawson's tests share.
#[test]
fn random_graphs_of_every_primitive_come_back() {
    for seed in 0..500 {
        let graph = random_graph(&mut Rng::new(seed), &GraphShape::default());
        check(&graph.unwrap_or_else(|e| panic!("seed {seed}: {e}")));
    }
}

#[test]
fn examples_of_every_composite_come_back() {
    for (_, graphs) in Registry::standard().examples().unwrap() {
        graphs.iter().for_each(check);
    }
}

//! Kernels as lowering makes them: free axes outside, accumulators inside.
#![allow(dead_code)]

use lawson_graph::op::BinaryKind;
use lawson_graph::{DType, Dim, Fact, Facts, Relation};
use lawson_kernel::build::{accumulate, for_each, step, store};
use lawson_kernel::*;

/// `y[i] = x[i] · 2`
pub fn scale(n: Dim) -> Kernel {
    let mut k = Kernel::new("scale", Facts::new());
    let (x, y) = (
        k.input("x", DType::F32, std::slice::from_ref(&n)),
        k.output("y", DType::F32, std::slice::from_ref(&n)),
    );
    let i = k.add_axis("i");
    let (value, two) = (k.load(x, vec![i.into()]), k.f32(2.0));
    let value = k.product(value, two);
    k.body = vec![for_each(i, n, vec![store(y, vec![i.into()], value)])];
    k
}

/// `C[i, j] = Σ A[i, k] · B[k, j]`
pub fn matmul(m: Dim, n: Dim, depth: Dim) -> Kernel {
    let mut k = Kernel::new("matmul", Facts::new());
    let a = k.input("A", DType::F32, &[m.clone(), depth.clone()]);
    let b = k.input("B", DType::F32, &[depth.clone(), n.clone()]);
    let c = k.output("C", DType::F32, &[m.clone(), n.clone()]);
    let [i, j, l] = ["i", "j", "k"].map(|name| k.add_axis(name));
    let zero = k.f32(0.0);
    let acc = k.sum_acc("c", DType::F32, zero);
    let (x, y) = (k.load(a, vec![i.into(), l.into()]), k.load(b, vec![l.into(), j.into()]));
    let (product, state) = (k.product(x, y), k.state(acc));
    let sum = k.sum(state, product);
    let result = k.result(acc);
    let inner = vec![
        accumulate(acc, vec![for_each(l, depth, vec![step(acc, sum)])]),
        store(c, vec![i.into(), j.into()], result),
    ];
    k.body = vec![for_each(i, m, vec![for_each(j, n, inner)])];
    k
}

/// `y[i] = Σ x[stride·i + k - pad] · w[k]`, with zeros around `x`.
pub fn convolution(n: i64, window: i64, stride: i64, pad: i64) -> Kernel {
    let mut k = Kernel::new("convolution", Facts::new());
    let outputs = (n + 2 * pad - window) / stride + 1;
    let x = k.input("x", DType::F32, &[n.into()]);
    let w = k.input("w", DType::F32, &[window.into()]);
    let y = k.output("y", DType::F32, &[outputs.into()]);
    let (i, l) = (k.add_axis("i"), k.add_axis("k"));
    let zero = k.f32(0.0);
    let acc = k.sum_acc("s", DType::F32, zero);
    let at = Index::axis(i) * stride + l - pad;
    let guard = Guard { conditions: vec![Condition { index: at.clone(), end: n.into() }], otherwise: zero };
    let (x, w) = (k.load_guarded(x, vec![at], guard), k.load(w, vec![l.into()]));
    let (product, state) = (k.product(x, w), k.state(acc));
    let sum = k.sum(state, product);
    let result = k.result(acc);
    let inner = vec![
        accumulate(acc, vec![for_each(l, window, vec![step(acc, sum)])]),
        store(y, vec![i.into()], result),
    ];
    k.body = vec![for_each(i, outputs, inner)];
    k
}

/// `max(x ∗ w, 0)` of a picture of that many rows, columns and channels, with as many taps each way, as lowering makes it: both factors are read
/// only where the picture is.
pub fn picture([h, w, c]: [i64; 3], outputs: i64, taps: i64, stride: i64, pad: i64) -> Kernel {
    let mut k = Kernel::new("picture", Facts::new());
    let [oh, ow] = [h, w].map(|n| (n + 2 * pad - taps) / stride + 1);
    let x = k.input("x", DType::F32, &[h, w, c].map(Dim::from));
    let weights = k.input("w", DType::F32, &[outputs, c, taps, taps].map(Dim::from));
    let y = k.output("y", DType::F32, &[oh, ow, outputs].map(Dim::from));
    let [i, l, j, r, r1, r2] = ["i", "l", "j", "r", "r1", "r2"].map(|name| k.add_axis(name));
    let zero = k.f32(0.0);
    let acc = k.sum_acc("s", DType::F32, zero);
    let at = [(i, r1), (l, r2)].map(|(o, tap)| Index::axis(o) * stride + tap - pad);
    let conditions = || {
        let inside = at.iter().zip([h, w]).map(|(at, n)| Condition { index: at.clone(), end: n.into() });
        Guard { conditions: inside.collect(), otherwise: zero }
    };
    let [row, column] = at.clone();
    let a = k.load_guarded(x, vec![row, column, r.into()], conditions());
    let b = k.load_guarded(weights, vec![j.into(), r.into(), r1.into(), r2.into()], conditions());
    let state = k.state(acc);
    let next = k.add(Expr::Fma(a, b, state));
    let result = k.result(acc);
    let value = k.binary(BinaryKind::Max, result, zero);
    let steps = for_each(r2, taps, vec![step(acc, next)]);
    let sum = for_each(r, c, vec![for_each(r1, taps, vec![steps])]);
    let body = vec![accumulate(acc, vec![sum]), store(y, vec![i.into(), l.into(), j.into()], value)];
    k.body = vec![for_each(i, oh, vec![for_each(l, ow, vec![for_each(j, outputs, body)])])];
    k
}

/// `y[i, j] = x[ids[i], j] + x[ids[i], to[j]]`, and `z[j - s]` added where `j` is in that window.
pub fn picked(rows: Dim, columns: Dim, many: Dim, window: i64) -> Kernel {
    let mut k = Kernel::new("picked", Facts::new());
    for d in [&rows, &columns] {
        k.facts.add(Fact::new(d.clone(), Relation::Ge, 1)).unwrap();
    }
    k.facts.add(Fact::new(columns.clone(), Relation::Ge, window)).unwrap();
    let ids = k.input("ids", DType::I32, &[many.clone(), 1.into()]);
    let to = k.input("to", DType::I64, std::slice::from_ref(&columns));
    let start = k.input("start", DType::I64, &[1.into()]);
    let x = k.input("x", DType::F32, &[rows.clone(), columns.clone()]);
    let z = k.input("z", DType::F32, &[window.into()]);
    let y = k.output("y", DType::F32, &[many.clone(), columns.clone()]);
    let (i, j) = (k.add_axis("i"), k.add_axis("j"));
    let row = Index::data(ids, vec![i.into(), 0.into()], rows);
    let column = Index::data(to, vec![j.into()], columns.clone());
    let (a, b) = (k.load(x, vec![row.clone(), j.into()]), k.load(x, vec![row, column]));
    let place = Index::axis(j) - Index::data(start, vec![0.into()], columns.clone() - window + 1);
    let otherwise = k.f32(0.0);
    let guard = Guard { conditions: vec![Condition { index: place.clone(), end: window.into() }], otherwise };
    let c = k.load_guarded(z, vec![place], guard);
    let value = k.sum(a, b);
    let value = k.sum(value, c);
    let inner = vec![store(y, vec![i.into(), j.into()], value)];
    k.body = vec![for_each(i, many, vec![for_each(j, columns, inner)])];
    k
}

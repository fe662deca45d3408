//! Every primitive against NumPy: the cases in `numpy/cases.jsonl`, which `numpy/generate.py` computes and explains.

#![allow(clippy::unwrap_used)]

use lawson_graph::interp::{Options, compare, run, run_bounded};
use lawson_graph::{
    Attr, AttrReader, Builder, DType, Dim, Graph, HostTensor, Op, Registry, Result, Value, number,
};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

const CASES: &str = include_str!("numpy/cases.jsonl");

/// One operator, its operands and what it gives.
struct Case {
    line: usize,
    op: String,
    attrs: Vec<(String, Attr)>,
    operands: Vec<HostTensor>,
    results: Vec<HostTensor>,
    /// How many units in the last place a float may differ.
    tolerance: f64,
    /// Whether the two zeros count as one.
    zeros_are_equal: bool,
}

fn cases() -> Vec<Case> {
    let mut named: BTreeMap<String, HostTensor> = BTreeMap::new();
    let mut cases = Vec::new();
    for (i, line) in CASES.lines().enumerate() {
        let json: Json = serde_json::from_str(line).unwrap();
        if let Some(name) = json["let"].as_str() {
            named.insert(name.to_string(), tensor(&json["is"]));
            continue;
        }
        let operand = |j: &Json| match j.as_str() {
            Some(name) => named[name.trim_start_matches('@')].clone(),
            None => tensor(j),
        };
        let attrs = json["attrs"].as_object().into_iter().flatten();
        cases.push(Case {
            line: i + 1,
            op: json["op"].as_str().unwrap().to_string(),
            attrs: attrs.map(|(name, value)| (name.clone(), attr(value))).collect(),
            operands: json["in"].as_array().unwrap().iter().map(operand).collect(),
            results: json["out"].as_array().unwrap().iter().map(tensor).collect(),
            tolerance: json["tol"].as_f64().unwrap_or(0.0),
            zeros_are_equal: json["zeros"].as_bool().unwrap_or(false),
        });
    }
    cases
}

fn attr(json: &Json) -> Attr {
    match json {
        Json::Bool(b) => Attr::Bool(*b),
        Json::Number(n) => Attr::Dim(Dim::from(n.as_i64().unwrap())),
        Json::String(s) => Attr::keyword(s),
        Json::Array(items) => Attr::List(items.iter().map(attr).collect()),
        other => panic!("{other} is no attribute"),
    }
}

/// `[dtype, sizes, base64]`, where 4-bit elements take a byte each.
fn tensor(json: &Json) -> HostTensor {
    let dtype: DType = json[0].as_str().unwrap().parse().unwrap();
    let sizes: Vec<usize> =
        json[1].as_array().unwrap().iter().map(|s| s.as_u64().unwrap() as usize).collect();
    let bytes = base64(json[2].as_str().unwrap());
    if dtype.bits() == 4 {
        let elements: Vec<i128> = bytes.iter().map(|b| number::wrap(dtype, i128::from(*b))).collect();
        return HostTensor::from_ints(dtype, &sizes, &elements).unwrap();
    }
    HostTensor::from_bytes(dtype, &sizes, bytes).unwrap()
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits =
            four.iter().fold(0u32, |bits, c| bits << 6 | u32::from(digit(*c))) << (6 * (4 - four.len()));
        bytes.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}

impl Case {
    fn graph(&self) -> Result<Graph> {
        let reader = AttrReader::new(self.op.clone(), self.attrs.clone());
        let op = Op::from_parts(&self.op, reader, Vec::new(), &Registry::empty())?;
        let mut b = Builder::new("case");
        let mut inputs = Vec::new();
        for (i, t) in self.operands.iter().enumerate() {
            inputs.push(b.input(&format!("x{i}"), t.ty())?);
        }
        for (i, v) in b.op(op, &inputs)?.into_iter().enumerate() {
            b.output(&format!("y{i}"), v)?;
        }
        b.finish()
    }

    fn inputs(&self) -> Vec<Value> {
        self.operands.iter().cloned().map(Value::Tensor).collect()
    }

    fn what(&self) -> String {
        let dtypes: Vec<String> = self.operands.iter().map(|t| t.ty().to_string()).collect();
        format!("line {}: {}({}) {:?}", self.line, self.op, dtypes.join(", "), self.attrs)
    }

    /// Whether an element is what NumPy gives.
    fn agrees(&self, expected: &HostTensor, found: &HostTensor, i: usize) -> bool {
        if !expected.dtype().is_float() {
            return expected.int_at(i) == found.int_at(i);
        }
        let (e, f) = (expected.float_at(i), found.float_at(i));
        if e.is_nan() || f.is_nan() {
            return e.is_nan() && f.is_nan();
        }
        if e == f {
            return e != 0.0 || self.zeros_are_equal || e.is_sign_negative() == f.is_sign_negative();
        }
        let dtype = expected.dtype();
        let unit = (2.0 * dtype.unit_roundoff().unwrap() * e.abs()).max(dtype.min_subnormal().unwrap());
        e.is_finite() && f.is_finite() && (e - f).abs() <= self.tolerance * unit
    }
}

#[test]
fn plain_mode_agrees_with_numpy() {
    for case in cases() {
        let graph = case.graph().unwrap_or_else(|e| panic!("{}\n{e}", case.what()));
        let found = run(&graph, &case.inputs(), &Options::default()).unwrap();
        assert_eq!(found.len(), case.results.len(), "{}", case.what());
        for (found, expected) in found.iter().zip(&case.results) {
            let found = found.as_tensor().unwrap();
            assert_eq!(found.ty(), expected.ty(), "{}", case.what());
            if let Some(i) = (0..expected.len()).find(|i| !case.agrees(expected, found, *i)) {
                let operands: Vec<f64> = case
                    .operands
                    .iter()
                    .filter(|t| t.len() == expected.len())
                    .map(|t| t.float_at(i))
                    .collect();
                panic!(
                    "{}\nelement {i} is {:?}, in NumPy {:?}; operands there {operands:?}",
                    case.what(),
                    found.float_at(i),
                    expected.float_at(i)
                );
            }
        }
    }
}

#[test]
fn what_numpy_gives_lies_within_the_bounds() {
    for case in cases() {
        let oracle = run_bounded(&case.graph().unwrap(), &case.inputs(), &Options::default()).unwrap();
        for (oracle, expected) in oracle.iter().zip(&case.results) {
            let c = compare(oracle, &expected.clone().into(), 1.0);
            assert!(c.ok(), "{}\n{c}", case.what());
        }
    }
}

#[test]
fn every_primitive_on_tensors_is_among_the_cases() {
    let covered: BTreeSet<String> = cases().into_iter().map(|c| c.op).collect();
    // These need more than operands: symbols, sub-graphs, participants, a host, or a key. `interp.rs` has them.
    let elsewhere = |name: &str| {
        name.starts_with("seq_")
            || name.starts_with("opt_")
            || name.starts_with("all_")
            || [
                "reduce_scatter",
                "collective_permute",
                "dims",
                "symbol",
                "random_bits",
                "while",
                "cond",
                "scan",
                "host_call",
                "window_and",
                "window_or",
            ]
            .contains(&name)
    };
    let missing: Vec<&str> =
        Op::primitive_names().into_iter().filter(|n| !elsewhere(n) && !covered.contains(*n)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

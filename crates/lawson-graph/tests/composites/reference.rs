//! Values: every case of `reference.txt` (see `generate.py` for its form) through the interpreter, with constant
//! dimensions and again with symbols where the case names them.

use super::operands::composite;
use lawson_graph::interp::{self, Options};
use lawson_graph::{
    Bindings, Builder, DType, Error, Graph, HostTensor, Registry, Relation, Shape, Symbol, Type, Value,
    parse_dim,
};

/// A tensor of a case: its value, and its shape with the dimensions that have names.
struct Stored {
    tensor: HostTensor,
    shape: Shape,
}

/// One case of the file.
#[derive(Default)]
struct Case {
    line: usize,
    text: String,
    facts: Vec<String>,
    operands: Vec<Stored>,
    results: Vec<Stored>,
}

fn stored(words: &str) -> Stored {
    let mut words = words.split_whitespace();
    let dtype: DType = words.next().unwrap().parse().unwrap();
    let dims = words.next().unwrap().trim_start_matches('[').trim_end_matches(']');
    let (mut sizes, mut shape) = (Vec::new(), Vec::new());
    for dim in dims.split(',').filter(|d| !d.is_empty()) {
        let (name, size) = dim.split_once(':').unwrap_or((dim, dim));
        sizes.push(size.parse().unwrap());
        shape.push(parse_dim(name).unwrap());
    }
    let tensor = if dtype.is_float() {
        let values: Vec<f64> = words.map(|w| w.parse().unwrap()).collect();
        HostTensor::from_floats(dtype, &sizes, &values)
    } else {
        let values: Vec<i128> = words.map(|w| w.parse().unwrap()).collect();
        HostTensor::from_ints(dtype, &sizes, &values)
    };
    Stored { tensor: tensor.unwrap(), shape: Shape::from(shape) }
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (i, line) in include_str!("reference.txt").lines().enumerate() {
        let (kind, rest) = line.split_once(' ').unwrap();
        if kind == "case" {
            cases.push(Case { line: i + 1, text: rest.to_string(), ..Case::default() });
            continue;
        }
        let case = cases.last_mut().unwrap();
        match kind {
            "where" => case.facts.push(rest.to_string()),
            "in" => case.operands.push(stored(rest)),
            "out" => case.results.push(stored(rest)),
            other => panic!("line {}: {other}", i + 1),
        }
    }
    cases
}

impl Case {
    fn name(&self) -> &str {
        self.text.split(' ').next().unwrap_or_default()
    }

    /// The graph of the case, with named dimensions as symbols or with constants only.
    fn graph(&self, symbolic: bool) -> Result<Graph, Error> {
        let mut b = Builder::new("case");
        if symbolic {
            for fact in &self.facts {
                let (left, right) = fact.split_once("==").unwrap();
                b.fact(parse_dim(left)?, Relation::Eq, parse_dim(right)?)?;
            }
        }
        let mut inputs = Vec::new();
        for (i, operand) in self.operands.iter().enumerate() {
            let shape = if symbolic { operand.shape.clone() } else { operand.tensor.ty().shape };
            inputs.push(b.input(&format!("x{i}"), Type::tensor(operand.tensor.dtype(), shape))?);
        }
        for (i, v) in b.op(composite(&self.text)?, &inputs)?.into_iter().enumerate() {
            b.output(&format!("y{i}"), v)?;
        }
        b.finish()
    }

    fn run(&self, symbolic: bool) -> Result<Vec<HostTensor>, Error> {
        let graph = self.graph(symbolic)?;
        let inputs: Vec<Value> = self.operands.iter().map(|o| o.tensor.clone().into()).collect();
        let values = interp::run(&graph, &inputs, &Options::default())?;
        self.check_inferred_types(&graph, &values);
        Ok(values
            .into_iter()
            .map(|v| match v {
                Value::Tensor(t) => t,
                other => panic!("{other:?}"),
            })
            .collect())
    }

    /// The inferred shapes, evaluated for this run, are those of the values.
    fn check_inferred_types(&self, graph: &Graph, values: &[Value]) {
        let mut bindings = Bindings::new();
        for operand in &self.operands {
            for (dim, size) in operand.shape.iter().zip(operand.tensor.sizes()) {
                if let Some(symbol) = dim.as_symbol() {
                    bindings.define(symbol.clone(), *size as i64, "a test");
                }
            }
        }
        for (output, value) in graph.outputs().iter().zip(values) {
            let (Type::Tensor(ty), Value::Tensor(t)) = (graph.ty(output.value), value) else { panic!() };
            assert_eq!(ty.dtype, t.dtype(), "{self:?}");
            for (dim, size) in ty.shape.iter().zip(t.sizes()) {
                // A symbol that the run defines has no value before it.
                if self.name() != "nonzero" || !dim.mentions(&Symbol::new("K")) {
                    assert_eq!(bindings.eval(dim).unwrap(), *size as i64, "{self:?}: {ty}");
                }
            }
        }
    }

    /// What is wrong with a result, if something is.
    fn difference(&self, results: &[HostTensor]) -> Option<String> {
        if results.len() != self.results.len() {
            return Some(format!("{} results, not {}", results.len(), self.results.len()));
        }
        for (have, want) in results.iter().zip(&self.results) {
            let want = &want.tensor;
            if have.dtype() != want.dtype() || have.sizes() != want.sizes() {
                return Some(format!("{}, not {}", have.ty(), want.ty()));
            }
            for i in 0..want.len() {
                let (h, w) = (have.float_at(i), want.float_at(i));
                let same = match want.dtype().is_float() {
                    true => close(self.name(), want.dtype(), h, w),
                    false => have.int_at(i) == want.int_at(i),
                };
                if !same {
                    return Some(format!("element {i} is {h:e}, not {w:e}"));
                }
            }
        }
        None
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "reference.txt:{}: {}", self.line, self.text)
    }
}

/// Composites whose sums may cancel, so that the error is one of the terms and not of the result.
const CANCEL: &[&str] =
    &["attention", "batch_norm", "gelu", "group_norm", "instance_norm", "layer_norm", "linear"];

/// Whether a result is as near as its dtype promises: f64 and f32 to some roundings of the steps in between;
/// narrower floats, which are computed in f32, to one rounding, which may fall on the other side of a tie.
fn close(name: &str, dtype: DType, have: f64, want: f64) -> bool {
    if have.is_nan() || want.is_nan() {
        return have.is_nan() && want.is_nan();
    }
    let (unit, least) = (dtype.unit_roundoff().unwrap(), dtype.min_subnormal().unwrap());
    let roundings = if matches!(dtype, DType::F32 | DType::F64) { 32.0 } else { 2.0 };
    let absolute =
        if CANCEL.contains(&name) { 4.0 * dtype.accumulator().unit_roundoff().unwrap() } else { least };
    have == want || (have - want).abs() <= roundings * unit * want.abs() + absolute
}

fn failures(symbolic: bool) -> Vec<String> {
    let run = |case: &Case| match case.run(symbolic) {
        Ok(results) => case.difference(&results),
        Err(e) => Some(e.to_string()),
    };
    cases().iter().filter_map(|case| run(case).map(|why| format!("{case:?}: {why}"))).collect()
}

#[test]
fn composites_give_the_values_of_the_reference() {
    let failures = failures(false);
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn composites_give_the_values_of_the_reference_with_symbolic_dimensions() {
    let failures = failures(true);
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_composite_has_reference_values() {
    let cases = cases();
    for name in Registry::standard().names() {
        assert!(cases.iter().any(|c| c.name() == name), "{name} has no case in reference.txt");
    }
}

//! Shrinking with planted faults, and the judge: what fails stays failing, and becomes small.
#![allow(clippy::unwrap_used)]

use lawson::fuzz::{Cases, Failure, Judge, Verdict, random_case};
use lawson::graph::op::UnaryKind;
use lawson::graph::random::{Elements, GraphShape, Rng, random_bindings, random_graph, random_inputs};
use lawson::graph::{Builder, Graph, HostTensor, Op, Patch, Value, interp};
use lawson::opt::{Pass, Pipeline};
use lawson::reduce::{Case, Effort, reduce};
use lawson::{CompileOptions, Passes, Program, Result, Session, Target};

fn case(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let graph = random_graph(&mut rng, &GraphShape::default()).unwrap();
    let bindings = random_bindings(&mut rng, &graph, 9).unwrap();
    let inputs = random_inputs(&mut rng, &graph, &bindings, Elements::Wild).unwrap();
    Case { graph, inputs }
}

fn has(graph: &Graph, name: &str) -> bool {
    graph.nodes().iter().any(|n| n.op.name() == name)
}

#[test]
fn an_operator_that_fails_is_left_alone_with_what_it_needs() {
    let mut found = 0;
    for seed in 0..120 {
        for name in ["transpose", "sort", "reduce_max", "concat", "while"] {
            let case = case(seed);
            if !has(&case.graph, name) {
                continue;
            }
            found += 1;
            let small = reduce(case, &mut |c| has(&c.graph, name), &Effort::default());
            let graph = &small.case.graph;
            graph.verify().unwrap();
            interp::bind(graph, &small.case.inputs).unwrap();
            let others =
                graph.nodes().iter().filter(|n| !matches!(n.op, Op::Constant(_)) && n.op.name() != name);
            assert_eq!(others.count(), 0, "seed {seed}, {name}:\n{graph}");
            assert!(small.complete);
        }
    }
    assert!(found > 40, "{found}");
}

#[test]
fn sizes_shrink_as_far_as_the_failure_allows() {
    let text = "lawson 1
graph @f(%x: f32[N, 12], %w: f32[12, 30]) -> (y: f32[N, 30]) {
  %1 = tanh %x
  %y = contract %1, %w {batch = [], sum = [[1, 0]]}
  return %y
}";
    let tensor = |sizes: &[usize]| -> Value {
        HostTensor::from_floats(lawson::DType::F32, sizes, &vec![0.5; sizes.iter().product()]).unwrap().into()
    };
    let case =
        Case { graph: Graph::parse(text).unwrap(), inputs: vec![tensor(&[40, 12]), tensor(&[12, 30])] };
    // Fails while there are at least 17 columns.
    let wide = |c: &Case| {
        let columns =
            c.graph.outputs().first().map(|o| c.graph.ty(o.value).as_tensor().unwrap().shape.clone());
        has(&c.graph, "contract") && columns.is_some_and(|s| s[1].as_const().is_some_and(|n| n >= 17))
    };
    let small = reduce(case, &mut |c| wide(c), &Effort::default()).case;
    let ty = small.graph.ty(small.graph.outputs()[0].value).to_string();
    assert_eq!(ty, "f32[1, 17]", "{}", small.graph);
    assert_eq!(small.graph.nodes().len(), 1);
}

#[test]
fn what_does_not_depend_on_elements_gets_plain_ones() {
    let case = case(3);
    let name =
        case.graph.nodes().iter().find(|n| !matches!(n.op, Op::Constant(_))).unwrap().op.name().to_string();
    let small = reduce(case, &mut |c| has(&c.graph, &name), &Effort::default()).case;
    assert!(small.inputs.iter().filter_map(Value::as_tensor).all(|t| t.is_empty() || t.is_splat()));
}

#[test]
fn without_time_the_case_stays_as_it_is() {
    let given = case(5);
    let none = Effort { tries: 0, ..Effort::default() };
    let same = reduce(given.clone(), &mut |_| true, &none);
    assert_eq!((same.case.graph, same.tries, same.complete), (given.graph, 0, false));
}

/// A pass with a fault: it takes tanh for its argument.
#[derive(Debug)]
struct Forgetful;

impl Pass for Forgetful {
    fn name(&self) -> &'static str {
        "forgetful"
    }
    fn summary(&self) -> &'static str {
        "forgets tanh"
    }
    fn run(&self, graph: &Graph) -> Result<Option<Patch>> {
        let mut patch = Patch::new();
        for node in graph.nodes() {
            if let Op::Unary(UnaryKind::Tanh) = node.op {
                patch.replace(node.outputs[0], node.inputs[0]);
            }
        }
        Ok((!patch.is_empty()).then_some(patch))
    }
}

fn with_tanh() -> Case {
    let mut b = Builder::new("f");
    let x = b.input("x", lawson::graph::Type::tensor(lawson::DType::F32, [6, 5])).unwrap();
    let e = b.exp(x).unwrap();
    let t = b.tanh(e).unwrap();
    let s = b.neg(t).unwrap();
    let y = b.add(s, e).unwrap();
    b.output("y", y).unwrap();
    b.output("z", e).unwrap();
    let x = HostTensor::from_floats(lawson::DType::F32, &[6, 5], &[0.7; 30]).unwrap();
    Case { graph: b.finish().unwrap(), inputs: vec![x.into()] }
}

#[test]
fn a_planted_fault_is_found_and_shrunk_to_one_node() {
    let judge = || {
        let passes = Passes::Custom(Pipeline::new(vec![std::sync::Arc::new(Forgetful)]));
        Judge::new(Target::Reference, &[1]).unwrap().passes(passes)
    };
    let case = with_tanh();
    let Verdict::Failed { failure, .. } = judge().case(&case) else { panic!("not found") };
    assert!(matches!(failure, Failure::Wrong { .. }), "{failure}");
    let mut judge = judge();
    let mut fails = |c: &Case| match judge.case(c) {
        Verdict::Failed { failure: f, .. } => f.kind() == failure.kind(),
        _ => false,
    };
    let small = reduce(case, &mut fails, &Effort::default()).case.graph;
    let names: Vec<&str> = small.nodes().iter().map(|n| n.op.name()).collect();
    assert_eq!(names, ["tanh"], "{small}");
}

/// Results as of a target that computes tanh wrongly: as its argument.
fn without_tanh(graph: &Graph, _: &mut Session, inputs: &[Value]) -> Result<Vec<Value>> {
    let graph = Pipeline::new(vec![std::sync::Arc::new(Forgetful)]).run(graph)?;
    Program::compile(graph, &CompileOptions::default())?.session().run_values(inputs)
}

#[test]
fn a_fault_of_one_operator_is_found_in_random_graphs_and_kept_small_in_files() {
    let folder = std::env::temp_dir().join(format!("lawson-planted-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (law, npz) = (folder.join("small.law"), folder.join("small.npz"));
    let mut found = 0;
    for seed in 0..400 {
        let cases = random_case(seed).unwrap();
        // Loops are not taken apart.
        if cases.graph.nodes().iter().any(|n| !n.op.subgraphs().is_empty()) {
            continue;
        }
        let mut faulty = Judge::new(Target::Cpu, &[1, 2]).unwrap().run_by(without_tanh);
        let Verdict::Failed { failure, run } = faulty.cases(&cases) else { continue };
        assert!(matches!(failure, Failure::Wrong { .. }), "seed {seed}: {failure}");
        let small = faulty.shrink(cases.case(run).unwrap(), &failure.kind(), &Effort::default());
        assert!(small.complete);
        small.case.write(&law, &npz, "seed and reason").unwrap();
        let text = std::fs::read_to_string(&law).unwrap();
        assert!(text.starts_with("// seed and reason\nlawson 1\n"), "{text}");
        // What was kept fails as before, is little but the operator, and is no fault of a target that has none.
        let kept = Case::read(&law, &npz).unwrap();
        let Verdict::Failed { failure: again, .. } = faulty.case(&kept) else {
            panic!("seed {seed}:\n{text}")
        };
        assert_eq!(again.kind(), failure.kind());
        let computes = kept.graph.nodes().iter().filter(|n| !matches!(n.op, Op::Constant(_))).count();
        assert!(text.contains(" tanh ") && computes == 1, "seed {seed}:\n{text}");
        assert!(
            kept.inputs.iter().filter_map(Value::as_tensor).all(|t| t.len() <= 4),
            "seed {seed}:\n{text}"
        );
        let honest = Judge::new(Target::Cpu, &[1, 2]).unwrap().case(&kept);
        assert!(matches!(honest, Verdict::Fine { .. }), "seed {seed}: {honest:?}");
        found += 1;
        if found == 5 {
            break;
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(found, 5);
}

#[test]
fn a_session_that_gives_other_bits_than_the_first_is_found() {
    let runs = std::sync::atomic::AtomicUsize::new(0);
    let mut judge = Judge::new(Target::Cpu, &[1]).unwrap().run_by(move |_, session, inputs| {
        let mut results = session.run_values(inputs)?;
        // The last bit of one element, which no bound tells from a right one.
        if runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 0 {
            let Value::Tensor(t) = &results[0] else { unreachable!() };
            let mut x: Vec<f64> = (0..t.len()).map(|i| t.float_at(i)).collect();
            x[0] = f64::from(f32::from_bits((x[0] as f32).to_bits() + 1));
            results[0] = HostTensor::from_floats(t.dtype(), t.sizes(), &x).unwrap().into();
        }
        Ok(results)
    });
    let verdict = judge.case(&with_tanh());
    let Verdict::Failed { failure, .. } = verdict else { panic!("{verdict:?}") };
    assert_eq!(failure.kind().as_str(), "sessions");
    assert_eq!(failure.to_string(), "the output `y` has other bits in a session of its own");
}

#[test]
fn what_only_one_of_oracle_and_target_refuses_is_told_apart() {
    let text = "lawson 1 graph @f(%x: f32[N]) -> (y: f32[N]) where N <= 3 { %y = neg %x return %y }";
    let x = HostTensor::from_floats(lawson::DType::F32, &[4], &[1.0; 4]).unwrap();
    let case = Case { graph: Graph::parse(text).unwrap(), inputs: vec![x.clone().into()] };
    // Both refuse.
    let verdict = Judge::new(Target::Cpu, &[1]).unwrap().case(&case);
    assert!(matches!(verdict, Verdict::Unknown(_)), "{verdict:?}");
    // The target runs what the facts forbid.
    let lenient = |_: &Graph, _: &mut Session, inputs: &[Value]| Ok(inputs.to_vec());
    let verdict = Judge::new(Target::Cpu, &[1]).unwrap().run_by(lenient).case(&case);
    let Verdict::Failed { failure, .. } = verdict else { panic!("{verdict:?}") };
    assert!(matches!(failure, Failure::Accepted(_)), "{failure}");
    // The target refuses what the oracle runs.
    let picky = |_: &Graph, _: &mut Session, _: &[Value]| {
        Err(lawson::Error::new(lawson::Code::InputType, "not this one"))
    };
    let verdict = Judge::new(Target::Cpu, &[1]).unwrap().run_by(picky).case(&with_tanh());
    assert!(matches!(&verdict, Verdict::Refused(e) if e.message() == "not this one"), "{verdict:?}");
    // What takes more than it may cannot be judged.
    let verdict = Judge::new(Target::Cpu, &[1]).unwrap().limits(2, 1 << 20).case(&with_tanh());
    assert!(matches!(&verdict, Verdict::Unknown(e) if e.code() == lawson::Code::Budget), "{verdict:?}");
}

#[test]
fn a_judge_without_a_fault_finds_none() {
    let mut judge = Judge::new(Target::Reference, &[1]).unwrap();
    let verdict = judge.case(&with_tanh());
    assert!(matches!(verdict, Verdict::Fine { compared: 60, .. }), "{verdict:?}");
}

#[cfg(all(unix, target_arch = "x86_64"))]
mod cpu {
    use super::*;

    #[test]
    fn a_refusal_is_a_failure_only_to_a_strict_judge() {
        let text = "lawson 1 graph @f(%x: f16[4]) -> (y: f16[4], z: f16[4]) { %y = exp %x %z = abs %x return %y, %z }";
        let x = HostTensor::from_floats(lawson::DType::F16, &[4], &[1.0; 4]).unwrap();
        let case = Case { graph: Graph::parse(text).unwrap(), inputs: vec![x.into()] };
        let mut judge = Judge::new(Target::Cpu, &[1, 2]).unwrap();
        let Verdict::Refused(e) = judge.case(&case) else { return };
        let mut strict = Judge::new(Target::Cpu, &[1]).unwrap().strict(true);
        let Verdict::Failed { failure, .. } = strict.case(&case) else { panic!("not a failure") };
        assert_eq!(failure.kind().as_str(), format!("refused {}", e.code()));
    }

    #[test]
    fn what_makes_much_of_small_errors_stays_within_their_bounds() {
        let text =
            "lawson 1 graph @f(%x: f32[401]) -> (y: f32[401]) { %s = sigmoid %x %y = atanh %s return %y }";
        let x: Vec<f64> = (0..401).map(|i| f64::from(i) / 20.0 - 10.0).collect();
        let x = HostTensor::from_floats(lawson::DType::F32, &[401], &x).unwrap();
        let case = Case { graph: Graph::parse(text).unwrap(), inputs: vec![x.into()] };
        let verdict = Judge::new(Target::Cpu, &[1]).unwrap().case(&case);
        assert!(matches!(verdict, Verdict::Fine { .. }), "{verdict:?}");
    }

    #[test]
    fn a_few_hundred_random_graphs_agree_with_the_oracle() {
        for isa in lawson::cpu::Isa::ALL.into_iter().filter(|isa| isa.missing().is_none()) {
            agree_with_the_oracle(Judge::new(Target::Cpu, &[1, 2]).unwrap().isa(Some(isa)));
        }
    }

    fn agree_with_the_oracle(mut judge: Judge) {
        let (mut fine, mut elements) = (0, 0);
        for seed in 0..300 {
            let cases = random_case(seed).unwrap();
            let verdict = match judge.cases(&cases) {
                Verdict::Refused(_) => match judge.accepted(&cases.graph) {
                    Some(graph) => judge.cases(&Cases { graph, runs: cases.runs }),
                    None => continue,
                },
                verdict => verdict,
            };
            match verdict {
                Verdict::Fine { compared, .. } => {
                    fine += 1;
                    elements += compared;
                }
                Verdict::Failed { failure, run } => {
                    panic!("seed {seed}, run {run}: {failure}\n{}", cases.graph)
                }
                _ => {}
            }
        }
        assert!(fine > 100 && elements > 10_000, "{fine} graphs, {elements} elements");
    }
}

//! Plain mode of the interpreter: control flow, symbols, sequences, participants, host calls and limits. What single
//! primitives compute is checked against NumPy in `numpy.rs`.

#![allow(clippy::unwrap_used)]

use lawson_graph::interp::{Options, run, run_group};
use lawson_graph::op::{
    Collective, CollectiveKind, DefineSymbol, DynamicSlice, HostCall, Iota, Monoid, OptNone, RandomBits,
    SeqAt, SeqMake, Slice,
};
use lawson_graph::{
    Builder, Code, CompositeDef, DType, Dim, Element, Graph, HostTensor, Keep, Op, Result, SequenceType,
    Symbol, TensorType, Type, Value, ValueId, attributes, example,
};

fn f32s(values: &[f32]) -> Value {
    HostTensor::from_slice(&[values.len()], values).unwrap().into()
}

fn i64s(values: &[i64]) -> Value {
    HostTensor::from_slice(&[values.len()], values).unwrap().into()
}

fn scalar<T: Element>(value: T) -> Value {
    HostTensor::scalar(value).into()
}

fn vector(dtype: DType, size: impl Into<Dim>) -> Type {
    Type::tensor(dtype, [size.into()])
}

fn int() -> Type {
    TensorType::scalar(DType::I64).into()
}

/// A graph of one function from inputs to outputs.
fn graph(
    inputs: &[Type],
    build: impl FnOnce(&mut Builder<'static>, &[ValueId]) -> Result<Vec<ValueId>>,
) -> Graph {
    let mut b = Builder::new("test");
    let ids: Vec<ValueId> =
        inputs.iter().enumerate().map(|(i, t)| b.input(&format!("x{i}"), t.clone()).unwrap()).collect();
    for (i, v) in build(&mut b, &ids).unwrap().into_iter().enumerate() {
        b.output(&format!("y{i}"), v).unwrap();
    }
    b.finish().unwrap()
}

fn go(graph: &Graph, inputs: &[Value]) -> Vec<Value> {
    run(graph, inputs, &Options::default()).unwrap()
}

#[test]
fn a_while_loop_repeats_until_its_condition_fails() {
    let g = graph(&[int(), int()], |b, x| {
        b.while_loop(
            &[x[0]],
            &[x[1]],
            |b, v| b.compare(lawson_graph::op::CompareKind::Lt, v[0], v[1]),
            |b, v| Ok(vec![b.add(v[0], v[0])?]),
        )
    });
    assert_eq!(go(&g, &[scalar(3i64), scalar(100i64)]), [scalar(192i64)]);
    assert_eq!(go(&g, &[scalar(300i64), scalar(100i64)]), [scalar(300i64)]);
}

#[test]
fn an_endless_loop_runs_into_the_limit_of_steps() {
    let g = graph(&[int()], |b, x| {
        b.while_loop(&[x[0]], &[], |b, _| b.constant(HostTensor::scalar(true)), |_, v| Ok(vec![v[0]]))
    });
    let options = Options { max_steps: 10_000, ..Options::default() };
    let error = run(&g, &[scalar(0i64)], &options).unwrap_err();
    assert_eq!(error.code(), Code::Budget, "{error}");
}

#[test]
fn nesting_deeper_than_the_limit_is_refused() {
    fn nested(b: &mut Builder<'static>, c: ValueId, x: ValueId, depth: usize) -> Result<ValueId> {
        if depth == 0 {
            return b.neg(x);
        }
        let inner =
            b.cond(c, &[c, x], |b, v| Ok(vec![nested(b, v[0], v[1], depth - 1)?]), |_, v| Ok(vec![v[1]]))?;
        Ok(inner[0])
    }
    let deep = |depth| {
        let inputs = [TensorType::scalar(DType::Bool).into(), vector(DType::F32, 1)];
        graph(&inputs, |b, x| Ok(vec![nested(b, x[0], x[1], depth)?]))
    };
    let given = [scalar(true), f32s(&[1.0])];
    assert_eq!(go(&deep(20), &given), [f32s(&[-1.0])]);
    // However deep a graph may be built, the run ends with a value or an error.
    let mut b = Builder::new("test");
    let c = b.input("c", TensorType::scalar(DType::Bool)).unwrap();
    let x = b.input("x", vector(DType::F32, 1)).unwrap();
    if let Ok(y) = nested(&mut b, c, x, 80) {
        b.output("y", y).unwrap();
        if let Ok(g) = b.finish() {
            assert_eq!(run(&g, &given, &Options::default()).unwrap_err().code(), Code::Budget);
        }
    }
}

#[test]
fn cond_runs_one_branch() {
    let g = graph(&[TensorType::scalar(DType::Bool).into(), vector(DType::F32, 2)], |b, x| {
        b.cond(x[0], &[x[1]], |b, v| Ok(vec![b.add(v[0], v[0])?]), |b, v| Ok(vec![b.neg(v[0])?]))
    });
    assert_eq!(go(&g, &[scalar(true), f32s(&[1.0, 2.0])]), [f32s(&[2.0, 4.0])]);
    assert_eq!(go(&g, &[scalar(false), f32s(&[1.0, 2.0])]), [f32s(&[-1.0, -2.0])]);
}

fn running_sums(reverse: bool) -> Graph {
    let inputs = [TensorType::scalar(DType::I64).into(), vector(DType::I64, "N")];
    let g = graph(&inputs, |b, x| {
        b.scan(Dim::symbol("N"), &[x[0]], &[x[1]], &[], |b, v| {
            let sum = b.add(v[0], v[1])?;
            Ok(vec![sum, sum])
        })
    });
    let mut parts = g.into_parts();
    for node in &mut parts.nodes {
        if let Op::Scan(s) = &mut node.op {
            s.reverse = reverse;
        }
    }
    Graph::from_parts(parts)
}

#[test]
fn scan_carries_and_stacks() {
    let given = [scalar(10i64), i64s(&[1, 2, 3])];
    assert_eq!(go(&running_sums(false), &given), [scalar(16i64), i64s(&[11, 13, 16])]);
    assert_eq!(go(&running_sums(true), &given), [scalar(16i64), i64s(&[16, 15, 13])]);
    assert_eq!(go(&running_sums(false), &[scalar(10i64), i64s(&[])]), [scalar(10i64), i64s(&[])]);
}

#[test]
fn a_symbol_gets_its_value_from_data_and_is_clamped() {
    let g = graph(&[int()], |b, x| {
        b.op1(Op::DefineSymbol(DefineSymbol { name: Symbol::new("K"), max: 4.into() }), &[x[0]])?;
        Ok(vec![b.op1(Op::Iota(Iota { dtype: DType::I64, shape: ["K"].into(), axis: 0 }), &[])?])
    });
    assert_eq!(go(&g, &[scalar(3i64)]), [i64s(&[0, 1, 2])]);
    assert_eq!(go(&g, &[scalar(9i64)]), [i64s(&[0, 1, 2, 3])]);
    assert_eq!(go(&g, &[scalar(-9i64)]), [i64s(&[])]);
}

#[test]
fn inputs_bind_symbols_and_mistakes_say_where() {
    let g = graph(&[vector(DType::F32, "N"), vector(DType::F32, "N")], |b, x| Ok(vec![b.add(x[0], x[1])?]));
    let fails = |inputs: &[Value]| run(&g, inputs, &Options::default()).unwrap_err();
    assert_eq!(fails(&[f32s(&[1.0])]).code(), Code::InputMissing);
    let error = fails(&[f32s(&[1.0]), f32s(&[1.0, 2.0])]);
    assert_eq!(error.code(), Code::Binding);
    assert!(error.message().contains("axis 0 of `x1`"), "{error}");
    assert_eq!(fails(&[f32s(&[1.0]), i64s(&[1])]).code(), Code::InputType);
    assert_eq!(fails(&[f32s(&[1.0]), scalar(1f32)]).code(), Code::InputType);
    assert_eq!(fails(&[f32s(&[1.0]), Value::Optional(None)]).code(), Code::InputType);
}

#[test]
fn too_much_memory_is_refused_before_it_is_taken() {
    let g = graph(&[vector(DType::F32, 1)], |b, x| Ok(vec![b.broadcast_to(x[0], [1i64 << 50])?]));
    let error = run(&g, &[f32s(&[1.0])], &Options::default()).unwrap_err();
    assert_eq!(error.code(), Code::Budget, "{error}");
    let g = graph(&[vector(DType::F32, "N")], |b, x| {
        let mut y = x[0];
        for _ in 0..50 {
            y = b.neg(y)?;
        }
        Ok(vec![y])
    });
    // Two values of 1000 floats are live at a time, not fifty.
    let options = Options { max_bytes: 3 * 8 * 1000, ..Options::default() };
    assert!(run(&g, &[f32s(&[1.0; 1000])], &options).is_ok());
    let options = Options { max_bytes: 8 * 1000, ..Options::default() };
    assert_eq!(run(&g, &[f32s(&[1.0; 1000])], &options).unwrap_err().code(), Code::Budget);
}

#[test]
fn the_work_of_one_node_is_bounded() {
    let g = graph(&[Type::tensor(DType::F32, ["N", "N"])], |b, x| Ok(vec![b.matmul(x[0], x[0])?]));
    let x: Value = HostTensor::zeros(DType::F32, &[200, 200]).unwrap().into();
    let options = Options { max_steps: 1000, ..Options::default() };
    assert_eq!(run(&g, &[x], &options).unwrap_err().code(), Code::Budget);
}

#[test]
fn sizes_of_zero_stand_beside_huge_ones() {
    let huge = 1i64 << 40;
    let g = graph(&[Type::tensor(DType::F32, [0i64, 3])], |b, x| {
        let wide = b.broadcast_in(x[0], [Dim::from(0), 3.into(), huge.into()], &[0, 1])?;
        let turned = b.transpose(wide, &[2, 1, 0])?;
        let sum = b.reduce(Monoid::Sum, turned, &[0, 2], Keep::No)?;
        let l = b.transpose(x[0], &[1, 0])?;
        Ok(vec![sum, b.matmul(l, x[0])?])
    });
    let zeros = HostTensor::zeros(DType::F32, &[3, 3]).unwrap().into();
    let given: Value = HostTensor::zeros(DType::F32, &[0, 3]).unwrap().into();
    assert_eq!(go(&g, &[given]), [f32s(&[0.0; 3]), zeros]);
}

fn ragged() -> SequenceType {
    let element = TensorType::new(DType::F32, [SequenceType::open_symbol(0)]);
    SequenceType { element, least_rank: 1, open: vec![4.into()], max_len: 3.into() }
}

#[test]
fn sequences_are_built_indexed_and_taken_apart() {
    let g = graph(&[vector(DType::F32, 2), vector(DType::F32, 3), int()], |b, x| {
        let ty = Type::Sequence(ragged());
        let seq = b.op1(Op::SeqMake(SeqMake { ty }), &[x[0]])?;
        let seq = b.op1(Op::SeqInsert, &[seq, x[1], x[2]])?;
        let zero = b.constant(HostTensor::scalar(0i64))?;
        let first = b.op1(Op::SeqAt(SeqAt { defines: vec![Symbol::new("A")], missing: 0 }), &[seq, zero])?;
        let doubled = b.add(first, first)?;
        let shorter = b.op1(Op::SeqErase, &[seq, zero])?;
        Ok(vec![doubled, b.op1(Op::SeqLen, &[shorter])?, shorter])
    });
    let tensors = |v: &[f32]| HostTensor::from_slice(&[v.len()], v).unwrap();
    let (a, c) = (f32s(&[1.0, 2.0]), f32s(&[3.0, 4.0, 5.0]));
    let at_front = go(&g, &[a.clone(), c.clone(), scalar(-5i64)]);
    assert_eq!(at_front[0], f32s(&[6.0, 8.0, 10.0]));
    assert_eq!(at_front[1], scalar(1i64));
    assert_eq!(at_front[2], Value::Sequence(vec![tensors(&[1.0, 2.0])]));
    assert_eq!(go(&g, &[a, c, scalar(9i64)])[0], f32s(&[2.0, 4.0]));
}

#[test]
fn elements_of_a_sequence_may_lack_first_dimensions() {
    let ty = SequenceType { least_rank: 0, ..ragged() };
    let g = graph(&[Type::Sequence(ty.clone()), vector(DType::F32, 2)], |b, x| {
        let at = |b: &mut Builder<'_>, i: i64, missing: usize| {
            let i = b.constant(HostTensor::scalar(i))?;
            let defines = vec![b.facts().fresh(&Symbol::new("A"))];
            b.op1(Op::SeqAt(SeqAt { defines, missing }), &[x[0], i])
        };
        let (scalar, row) = (at(b, 0, 1)?, at(b, 1, 0)?);
        assert_eq!(b.shape(scalar)?.rank(), 0);
        let more = b.op1(Op::SeqMake(SeqMake { ty: Type::Sequence(ty.clone()) }), &[x[1], scalar])?;
        Ok(vec![scalar, row, more])
    });
    let row = |v: &[f32]| HostTensor::from_slice(&[v.len()], v).unwrap();
    let mixed = Value::Sequence(vec![HostTensor::scalar(7f32), row(&[1.0, 2.0, 3.0])]);
    let results = go(&g, &[mixed, f32s(&[8.0, 9.0])]);
    assert_eq!(results[..2], [scalar(7f32), f32s(&[1.0, 2.0, 3.0])]);
    assert_eq!(results[2], Value::Sequence(vec![row(&[8.0, 9.0]), HostTensor::scalar(7f32)]));
    let rows = Value::Sequence(vec![row(&[1.0]), row(&[2.0])]);
    let error = run(&g, &[rows, f32s(&[8.0, 9.0])], &Options::default()).unwrap_err();
    assert_eq!(error.code(), Code::Runtime, "{error}");
    let deep = Value::Sequence(vec![HostTensor::zeros(DType::F32, &[1, 1]).unwrap()]);
    let error = run(&g, &[deep, f32s(&[8.0, 9.0])], &Options::default()).unwrap_err();
    assert_eq!(error.code(), Code::InputType, "{error}");
}

#[test]
fn elements_of_a_rank_that_the_sequence_does_not_have_are_refused() {
    let mut b = Builder::new("g");
    let x = b.input("x", Type::tensor(DType::F32, [2, 2])).unwrap();
    let s = b.input("s", Type::Sequence(ragged())).unwrap();
    let zero = b.constant(HostTensor::scalar(0i64)).unwrap();
    let ty = Type::Sequence(SequenceType { least_rank: 0, ..ragged() });
    let made = b.op1(Op::SeqMake(SeqMake { ty }), &[x]).unwrap_err();
    assert_eq!(made.code(), Code::OperandRank, "{made}");
    let taken =
        b.op1(Op::SeqAt(SeqAt { defines: vec![Symbol::new("A")], missing: 1 }), &[s, zero]).unwrap_err();
    assert!(taken.to_string().contains("lacks 1"), "{taken}");
    let ty = Type::Sequence(SequenceType { least_rank: 2, ..ragged() });
    assert!(b.op1(Op::SeqMake(SeqMake { ty }), &[]).is_err());
}

#[test]
fn what_an_empty_sequence_or_optional_lacks_is_an_error_of_the_run() {
    let seq = Type::Sequence(ragged());
    let g = graph(&[seq.clone(), int()], |b, x| {
        Ok(vec![b.op1(Op::SeqAt(SeqAt { defines: vec![Symbol::new("A")], missing: 0 }), &[x[0], x[1]])?])
    });
    let error = run(&g, &[Value::Sequence(vec![]), scalar(0i64)], &Options::default()).unwrap_err();
    assert_eq!(error.code(), Code::Runtime);
    let long = HostTensor::zeros(DType::F32, &[5]).unwrap();
    let error = run(&g, &[Value::Sequence(vec![long]), scalar(0i64)], &Options::default()).unwrap_err();
    assert_eq!(error.code(), Code::InputType, "{error}");
    let g = graph(&[], |b, _| {
        let none = b.op1(Op::OptNone(OptNone { ty: vector(DType::F32, 2) }), &[])?;
        Ok(vec![b.op1(Op::OptHas, &[none])?])
    });
    assert_eq!(go(&g, &[]), [scalar(false)]);
    let g = graph(&[Type::Optional(Box::new(vector(DType::F32, "N")))], |b, x| {
        Ok(vec![b.op1(Op::OptGet, &[x[0]])?])
    });
    let some = Value::Optional(Some(Box::new(f32s(&[1.0]))));
    assert_eq!(go(&g, &[some]), [f32s(&[1.0])]);
    let error = run(&g, &[Value::Optional(None)], &Options::default()).unwrap_err();
    assert!(matches!(error.code(), Code::Runtime | Code::Binding), "{error}");
    let g = graph(&[seq, vector(DType::F32, 1), int()], |b, x| Ok(vec![b.op1(Op::SeqInsert, x)?]));
    let one = HostTensor::zeros(DType::F32, &[1]).unwrap();
    let full = Value::Sequence(vec![one.clone(), one.clone(), one]);
    let error = run(&g, &[full, f32s(&[1.0]), scalar(0i64)], &Options::default()).unwrap_err();
    assert_eq!(error.code(), Code::Runtime);
}

#[test]
fn text_moves_and_compares() {
    let g = graph(&[vector(DType::Str, 3), vector(DType::I64, 3)], |b, x| {
        let slice = Slice { start: vec![2.into()], size: vec![3.into()], step: vec![-1] };
        let turned = b.op1(Op::Slice(slice), &[x[0]])?;
        let same = b.compare(lawson_graph::op::CompareKind::Eq, x[0], turned)?;
        let sorted = b.op(Op::Sort(lawson_graph::op::Sort { axis: 0, descending: false }), &[x[0], x[1]])?;
        Ok(vec![turned, same, sorted[0], sorted[1]])
    });
    let text = |v: [&str; 3]| Value::from(HostTensor::from_text(&[3], v.map(Into::into).to_vec()).unwrap());
    let results = go(&g, &[text(["b", "a", "c"]), i64s(&[1, 2, 3])]);
    assert_eq!(results[0], text(["c", "a", "b"]));
    assert_eq!(results[1], HostTensor::from_slice(&[3], &[false, true, false]).unwrap().into());
    assert_eq!(results[2], text(["a", "b", "c"]));
    assert_eq!(results[3], i64s(&[2, 1, 3]));
}

#[test]
fn dynamic_slices_clamp() {
    let g = graph(&[vector(DType::F32, 4), vector(DType::I64, 1)], |b, x| {
        let part = b.op1(Op::DynamicSlice(DynamicSlice { size: vec![2.into()] }), &[x[0], x[1]])?;
        let swapped = b.neg(part)?;
        Ok(vec![part, b.op1(Op::UpdateSlice, &[x[0], swapped, x[1]])?])
    });
    let x = f32s(&[1.0, 2.0, 3.0, 4.0]);
    let at = |i: i64| go(&g, &[x.clone(), i64s(&[i])]);
    assert_eq!(at(1), [f32s(&[2.0, 3.0]), f32s(&[1.0, -2.0, -3.0, 4.0])]);
    assert_eq!(at(9), [f32s(&[3.0, 4.0]), f32s(&[1.0, 2.0, -3.0, -4.0])]);
    assert_eq!(at(-9), [f32s(&[1.0, 2.0]), f32s(&[-1.0, -2.0, 3.0, 4.0])]);
}

#[test]
fn random_bits_are_words_of_numbered_blocks() {
    let g = graph(&[vector(DType::U32, 2)], |b, x| {
        Ok(vec![b.op1(Op::RandomBits(RandomBits { shape: [3i64, 1].into() }), &[x[0]])?])
    });
    let key = HostTensor::from_slice(&[2], &[0u32, 0]).unwrap();
    let Value::Tensor(t) = &go(&g, &[key.into()])[0] else { panic!("a tensor") };
    let words = t.to_vec::<u32>().unwrap();
    assert_eq!(&words[..2], [0x6b20_0159, 0x99ba_4efe]);
    assert_eq!(t.sizes(), [3, 1]);
}

#[test]
fn host_functions_are_called_and_their_results_checked() {
    let call = HostCall {
        name: "evens".into(),
        results: vec![vector(DType::I64, "E")],
        defines: vec![(Symbol::new("E"), Dim::symbol("N"))],
        pure_call: true,
    };
    let g = graph(&[vector(DType::I64, "N")], |b, x| {
        let evens = b.op1(Op::HostCall(call), &[x[0]])?;
        Ok(vec![b.add(evens, evens)?])
    });
    let mut options = Options::default();
    let given = [i64s(&[1, 2, 3, 4])];
    assert_eq!(run(&g, &given, &options).unwrap_err().code(), Code::HostCall);
    options.host.insert("evens", |x: &[Value]| {
        let all = x[0].as_tensor().unwrap().to_vec::<i64>()?;
        Ok(vec![i64s(&all.into_iter().filter(|v| v % 2 == 0).collect::<Vec<_>>())])
    });
    assert_eq!(run(&g, &given, &options).unwrap(), [i64s(&[4, 8])]);
    options.host.insert("evens", |_: &[Value]| Ok(vec![i64s(&[0; 9])]));
    let error = run(&g, &given, &options).unwrap_err();
    assert!(error.code() == Code::HostCall && error.message().contains("at most 4"), "{error}");
    options.host.insert("evens", |_: &[Value]| Ok(vec![f32s(&[0.0])]));
    assert_eq!(run(&g, &given, &options).unwrap_err().code(), Code::HostCall);
}

fn collective(kind: CollectiveKind, size: i64) -> Collective {
    Collective { kind, group: "data".into(), size, reduce: Monoid::Sum, axis: 0, to_axis: 0, pairs: vec![] }
}

fn group(op: Collective, inputs: &[&[f32]]) -> Result<Vec<Vec<Value>>> {
    let g = graph(&[vector(DType::F32, inputs[0].len() as i64)], |b, x| {
        Ok(vec![b.op1(Op::Collective(op), &[x[0]])?])
    });
    let inputs: Vec<Vec<Value>> = inputs.iter().map(|x| vec![f32s(x)]).collect();
    run_group(&g, &inputs, &Options::default())
}

#[test]
fn participants_meet_at_collectives() {
    let inputs: &[&[f32]] = &[&[1.0, 2.0], &[10.0, 20.0]];
    let all = |op| group(op, inputs).unwrap();
    assert_eq!(all(collective(CollectiveKind::AllReduce, 2)), [[f32s(&[11.0, 22.0])], [f32s(&[11.0, 22.0])]]);
    let every = [f32s(&[1.0, 2.0, 10.0, 20.0])];
    assert_eq!(all(collective(CollectiveKind::AllGather, 2)), [every.clone(), every]);
    assert_eq!(all(collective(CollectiveKind::ReduceScatter, 2)), [[f32s(&[11.0])], [f32s(&[22.0])]]);
    assert_eq!(all(collective(CollectiveKind::AllToAll, 2)), [[f32s(&[1.0, 10.0])], [f32s(&[2.0, 20.0])]]);
    let mut permute = collective(CollectiveKind::Permute, 2);
    permute.pairs = vec![(0, 1)];
    assert_eq!(all(permute), [[f32s(&[0.0, 0.0])], [f32s(&[1.0, 2.0])]]);
}

#[test]
fn the_number_of_participants_must_fit() {
    let error = group(collective(CollectiveKind::AllReduce, 2), &[&[1.0], &[1.0], &[1.0]]).unwrap_err();
    assert_eq!(error.code(), Code::Participants);
    let g = graph(&[vector(DType::F32, 1)], |b, x| {
        Ok(vec![b.op1(Op::Collective(collective(CollectiveKind::AllReduce, 2)), &[x[0]])?])
    });
    let error = run(&g, &[f32s(&[1.0])], &Options::default()).unwrap_err();
    assert_eq!(error.code(), Code::Participants);
    let alone = group(collective(CollectiveKind::AllReduce, 1), &[&[3.0]]).unwrap();
    assert_eq!(alone, [[f32s(&[3.0])]]);
}

#[test]
fn nobody_waits_for_a_participant_that_does_not_come() {
    // Only where the input is true does a participant reach the collective.
    let g = graph(&[TensorType::scalar(DType::Bool).into(), vector(DType::F32, 1)], |b, x| {
        let reduce = |b: &mut Builder<'static>, v: &[ValueId]| {
            b.op(Op::Collective(collective(CollectiveKind::AllReduce, 2)), &[v[0]])
        };
        b.cond(x[0], &[x[1]], reduce, |_, v| Ok(vec![v[0]]))
    });
    let inputs = [vec![scalar(true), f32s(&[1.0])], vec![scalar(false), f32s(&[1.0])]];
    let error = run_group(&g, &inputs, &Options::default()).unwrap_err();
    assert_eq!(error.code(), Code::Participants, "{error}");
    // The cause comes first: a participant whose inputs are wrong, not the others left alone.
    let inputs = [vec![scalar(true), f32s(&[1.0])], vec![scalar(true)]];
    assert_eq!(run_group(&g, &inputs, &Options::default()).unwrap_err().code(), Code::InputMissing);
}

attributes! {
    /// The sum of squares, for a test.
    pub struct Squares {
        /// Along which axis.
        pub axis: usize,
    }
}

impl CompositeDef for Squares {
    const NAME: &'static str = "squares";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let [x] = b.operands("squares", inputs)?;
        let square = b.mul(x, x)?;
        Ok(vec![b.reduce(Monoid::Sum, square, &[self.axis], Keep::No)?])
    }

    fn examples() -> Result<Vec<Graph>> {
        Ok(vec![example(Squares { axis: 0 }, [("x", vector(DType::F32, 3))])?])
    }
}

#[test]
fn composites_run_through_their_decomposition_also_in_loops() {
    let g = graph(&[Type::tensor(DType::F32, ["N", "M"]), int()], |b, x| {
        let sum = b.composite(Squares { axis: 1 }, &[x[0]])?;
        let sums = b.scan(2, &[sum], &[], &[x[0]], |b, v| {
            let more = b.composite(Squares { axis: 1 }, &[v[1]])?;
            Ok(vec![b.add(v[0], more)?])
        })?;
        Ok(vec![sum, sums[0]])
    });
    let x: Value = HostTensor::from_slice(&[2, 2], &[1f32, 2.0, 3.0, 4.0]).unwrap().into();
    assert_eq!(go(&g, &[x, scalar(0i64)]), [f32s(&[5.0, 25.0]), f32s(&[15.0, 75.0])]);
}

#[test]
fn an_error_names_the_node_that_made_it() {
    let seq = Type::Sequence(SequenceType::uniform(TensorType::scalar(DType::F32), 2));
    let g = graph(&[seq, int()], |b, x| {
        let at = b.op1(Op::SeqAt(SeqAt { defines: vec![], missing: 0 }), &[x[0], x[1]])?;
        b.name(at, "taken")?;
        Ok(vec![at])
    });
    let error = run(&g, &[Value::Sequence(vec![]), scalar(0i64)], &Options::default()).unwrap_err();
    assert!(error.to_string().contains("%taken"), "{error}");
}

#[test]
fn elements_take_steps_of_their_own() {
    let g = graph(&[Type::tensor(DType::F32, [1 << 16])], |b, x| Ok(vec![b.add(x[0], x[0])?]));
    let x = HostTensor::zeros(DType::F32, &[1 << 16]).unwrap();
    let run_within = |max_steps| run(&g, &[x.clone().into()], &Options { max_steps, ..Options::default() });
    // Two tensors are read and one is written, 256 elements a step, beside the steps of the node itself.
    let elements = 3 * (1 << 16) / 256;
    assert_eq!(run_within(elements).unwrap_err().code(), Code::Budget);
    run_within(elements + 10).unwrap();
}

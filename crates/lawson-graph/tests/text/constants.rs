//! Constants of every dtype come back bit for bit, in whichever way they are written.

use crate::round_trip::check;
use lawson_graph::{Builder, Code, DType, Graph, HostTensor};
use proptest::prelude::*;
use std::sync::Arc;

fn graph_of(tensor: HostTensor) -> Graph {
    let mut b = Builder::new("f");
    let c = b.constant(tensor).unwrap();
    b.output("c", c).unwrap();
    b.finish().unwrap()
}

/// What stands after `constant` in the printed text.
fn printed(tensor: HostTensor) -> String {
    let graph = graph_of(tensor);
    check(&graph);
    let text = graph.to_string();
    let line = text.lines().find(|l| l.contains("constant")).unwrap();
    line.split_once("constant ").unwrap().1.to_string()
}

/// The tensor that a literal of that type means.
fn read(ty: &str, literal: &str) -> Result<HostTensor, lawson_graph::Error> {
    let text = format!("lawson 1 graph @f() -> (c: {ty}) {{ %c: {ty} = constant {literal} return %c }}");
    let graph = Graph::parse(&text)?;
    match &graph.nodes()[0].op {
        lawson_graph::Op::Constant(t) => Ok(t.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_bit_pattern_of_narrow_dtypes_comes_back() {
    let bytes: Vec<u8> = (0..=255).collect();
    for dtype in [DType::U8, DType::I8, DType::F8E4M3, DType::F8E5M2, DType::U4, DType::I4] {
        let width = if dtype.bits() == 4 { 2 } else { 1 };
        for byte in &bytes {
            printed(HostTensor::from_bytes(dtype, &[width], vec![*byte]).unwrap());
        }
        printed(HostTensor::from_bytes(dtype, &[256 * width], bytes.clone()).unwrap());
    }
    for dtype in [DType::F16, DType::BF16] {
        for chunk in (0..=u16::MAX).collect::<Vec<_>>().chunks(32) {
            let bytes: Vec<u8> = chunk.iter().flat_map(|b| b.to_le_bytes()).collect();
            printed(HostTensor::from_bytes(dtype, &[chunk.len()], bytes).unwrap());
        }
    }
}

#[test]
fn numbers_have_the_fewest_digits() {
    for (dtype, value, text) in [
        (DType::F16, 0.1, "0.1"),
        (DType::BF16, 3.2, "3.2"),
        (DType::F8E4M3, 448.0, "450.0"),
        (DType::F16, 65504.0, "65500.0"),
        (DType::F32, 0.1, "0.1"),
        (DType::F64, 0.1, "0.1"),
        (DType::F32, -0.0, "-0.0"),
        (DType::F32, 1e-45, "1e-45"),
        (DType::F64, 1e300, "1e300"),
        (DType::F64, f64::NAN, "nan"),
        (DType::F8E5M2, f64::NEG_INFINITY, "-inf"),
    ] {
        assert_eq!(printed(HostTensor::from_floats(dtype, &[], &[value]).unwrap()), text, "{dtype}");
    }
    assert_eq!(printed(HostTensor::scalar(-f32::NAN)), "-nan");
    assert_eq!(printed(HostTensor::scalar(i64::MIN)), "-9223372036854775808");
    assert_eq!(printed(HostTensor::scalar(u64::MAX)), "18446744073709551615");
    assert_eq!(printed(HostTensor::from_slice(&[2], &[true, false]).unwrap()), "[true, false]");
}

#[test]
fn nan_payloads_go_through_hex() {
    assert_eq!(printed(HostTensor::scalar(f32::from_bits(0x7fc0_0001))), "hex \"0100c07f\"");
    let odd = vec![f64::from_bits(0xfff0_0000_0000_0001); 3];
    assert!(printed(HostTensor::from_slice(&[3], &odd).unwrap()).starts_with("hex"));
}

#[test]
fn shapes_decide_how_elements_are_written() {
    let vector = |n: usize| HostTensor::from_slice(&[n], &(0..n as i64).collect::<Vec<_>>()).unwrap();
    assert_eq!(printed(vector(0)), "[]");
    assert_eq!(printed(vector(1)), "[0]");
    assert_eq!(printed(vector(3)), "[0, 1, 2]");
    assert!(printed(vector(64)).starts_with("[0, 1"));
    assert!(printed(vector(65)).starts_with("hex"));
    assert_eq!(printed(vector(6).reshaped(&[3, 1, 2]).unwrap()), "[[[0, 1]], [[2, 3]], [[4, 5]]]");
    assert_eq!(printed(HostTensor::zeros(DType::F16, &[1000, 0, 7]).unwrap()), "[]");
    assert_eq!(printed(HostTensor::zeros(DType::F16, &[1000, 7]).unwrap()), "splat 0.0");
    assert_eq!(printed(HostTensor::from_ints(DType::I4, &[3], &[-3, -3, -3]).unwrap()), "splat -3");
}

#[test]
fn text_stays_text() {
    let strings =
        |s: &[&str]| HostTensor::from_text(&[s.len()], s.iter().map(|s| Arc::from(*s)).collect()).unwrap();
    assert_eq!(printed(strings(&["a", "\"\\\n", "é\u{0}"])), "[\"a\", \"\\\"\\\\\\n\", \"é\\u{0}\"]");
    assert_eq!(printed(strings(&["x"; 3])), "splat \"x\"");
    let many: Vec<String> = (0..100).map(|i| i.to_string()).collect();
    printed(strings(&many.iter().map(String::as_str).collect::<Vec<_>>()));
    printed(strings(&[]));
}

#[test]
fn literals_that_do_not_fit_are_refused_at_their_place() {
    for (ty, literal) in [
        ("u8[]", "300"),
        ("u8[]", "-1"),
        ("i4[]", "8"),
        ("u4[]", "16"),
        ("i64[]", "9223372036854775808"),
        ("u64[]", "18446744073709551616"),
        ("i32[]", "1.5"),
        ("i32[]", "nan"),
        ("i32[]", "99999999999999999999999999999999999999999999"),
        ("f32[]", "1e39"),
        ("f64[]", "1e309"),
        ("f16[]", "65520"),
        ("f8e4m3fn[]", "500"),
        ("f8e4m3fn[]", "inf"),
        ("bool[]", "1"),
        ("bool[]", "\"true\""),
        ("f32[]", "true"),
        ("f32[]", "[1]"),
        ("f32[2]", "[1]"),
        ("f32[2]", "[1, 2, 3]"),
        ("f32[2]", "1"),
        ("f32[2, 2]", "[[1, 2], [3]]"),
        ("f32[2]", "[[1], [2]]"),
        ("f32[2]", "hex \"00\""),
        ("f32[]", "hex \"0000000g\""),
        ("f32[]", "hex \"0000000\""),
        ("bool[]", "hex \"02\""),
        ("str[]", "hex \"00\""),
        ("f32[N]", "[1]"),
        ("f32[999999999999]", "splat 0"),
        ("str[99999999999]", "splat \"\""),
        ("seq<f32[]; 2>", "[1]"),
    ] {
        let error = read(ty, literal).unwrap_err();
        assert_eq!(error.code(), Code::Literal, "{ty} {literal}: {error}");
        assert!(error.to_string().contains("<text>:1:"), "{error}");
    }
}

#[test]
fn literals_round_to_the_nearest() {
    assert_eq!(read("f32[]", "16777217").unwrap(), HostTensor::scalar(16777216f32));
    assert_eq!(read("f16[]", "0.1").unwrap(), HostTensor::scalar(half::f16::from_f64(0.1)));
    assert_eq!(read("f32[]", "- 0").unwrap(), HostTensor::scalar(-0f32));
    assert_eq!(read("f32[2,]", "[1, 2,]").unwrap(), HostTensor::from_slice(&[2], &[1f32, 2.0]).unwrap());
    assert_eq!(read("f32[2, 0]", "[[], []]").unwrap(), HostTensor::zeros(DType::F32, &[2, 0]).unwrap());
}

#[test]
fn splats_of_one_text_share_a_budget() {
    let mut text = "lawson 1 graph @f() -> () {\n".to_string();
    for _ in 0..3 {
        text += "%a = constant splat 0\n".replace("%a", "%a: u8[100000000]").as_str();
        text = text.replacen("%a:", &format!("%v{}:", text.len()), 1);
    }
    text += "return }";
    assert_eq!(Graph::parse(&text).unwrap_err().code(), Code::Literal);
}

fn dtypes() -> impl Strategy<Value = DType> {
    let with_bytes: Vec<DType> = DType::ALL.into_iter().filter(|d| d.bits() > 0).collect();
    proptest::sample::select(with_bytes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bits_of_any_dtype_come_back(
        dtype in dtypes(),
        sizes in proptest::collection::vec(0usize..5, 0..4),
        seed in proptest::collection::vec(any::<u8>(), 1..64),
        repeat in any::<bool>(),
    ) {
        let count: usize = sizes.iter().product();
        let width = dtype.bits().max(8) / 8;
        let bytes = (0..dtype.bytes_for(count).unwrap()).map(|i| {
            let b = seed[if repeat { i % width } else { i } % seed.len()].wrapping_add(if repeat { 0 } else { i as u8 });
            if dtype == DType::Bool { b & 1 } else { b }
        });
        check(&graph_of(HostTensor::from_bytes(dtype, &sizes, bytes.collect::<Vec<u8>>()).unwrap()));
    }

    #[test]
    fn any_text_comes_back(strings in proptest::collection::vec(any::<String>(), 0..8)) {
        let text = strings.iter().map(|s| Arc::from(s.as_str())).collect();
        check(&graph_of(HostTensor::from_text(&[strings.len()], text).unwrap()));
    }
}

//! The JSON form: round trips, the short forms, and typed errors for everything else.
#![allow(clippy::unwrap_used)]

use lawson_graph::Code;
use lawson_list::{Input, ListOp, Matrix, RandomList, from_json, random_list, to_json, validate};
use proptest::prelude::*;

const SMALL: &str = r#"{"lawson_list": 1, "operators": [
  {"op": "HostToDevice", "input": {"rows": 8, "cols": 2}},
  {"op": "Linear", "weights": [[1, 2, 3], [4, 5, 6]], "bias": [0.5, 0, -0.5]},
  {"op": "LinearRelu", "weights": {"rows": 3, "cols": 2, "random": 7}, "bias": {"rows": 1, "cols": 2, "data": [0, 1e-3]}},
  {"op": "Softmax"},
  {"op": "DeviceToHost"}]}"#;

#[track_caller]
fn refused(text: &str, code: Code, says: &str) {
    let error = from_json(text).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(says), "{error}");
}

fn entries(entries: &str) -> String {
    format!(r#"{{"lawson_list": 1, "operators": [{entries}]}}"#)
}

#[test]
fn every_way_to_write_a_matrix_is_read() {
    let list = from_json(SMALL).unwrap();
    let ListOp::Linear { weights, bias } = &list[1] else { panic!("{list:?}") };
    assert_eq!(*weights, Matrix::new(2, 3, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(*bias, Matrix::new(1, 3, [0.5, 0.0, -0.5]));
    let ListOp::LinearRelu { weights, bias } = &list[2] else { panic!("{list:?}") };
    assert_eq!(*weights, Matrix::random(3, 2, 7));
    assert_eq!(bias.data, [0.0, 1e-3]);
    validate(&list).unwrap();
}

#[test]
fn lists_survive_writing_and_reading() {
    let list = from_json(SMALL).unwrap();
    assert_eq!(from_json(&to_json(&list)).unwrap(), list);
    for seed in 0..10 {
        let list =
            random_list(&RandomList { depth: 9, size: 7, batch: 2, seed, softmax: seed % 2 == 0 }).unwrap();
        assert_eq!(from_json(&to_json(&list)).unwrap(), list);
    }
}

#[test]
fn a_random_list_can_be_a_recipe() {
    let text =
        r#"{"lawson_list": 1, "random": {"depth": 9, "size": 4, "batch": 2, "seed": 5, "softmax": false}}"#;
    let wanted = RandomList { depth: 9, size: 4, batch: 2, seed: 5, softmax: false };
    assert_eq!(from_json(text).unwrap(), random_list(&wanted).unwrap());
}

#[test]
fn numbers_that_json_has_no_word_for_are_strings() {
    let odd = Matrix::new(1, 4, [f32::INFINITY, f32::NEG_INFINITY, -0.0, f32::from_bits(1)]);
    let list = vec![ListOp::HostToDevice { input: Input::Data(odd) }, ListOp::Relu, ListOp::DeviceToHost];
    let back = from_json(&to_json(&list)).unwrap();
    let ListOp::HostToDevice { input: Input::Data(m) } = &back[0] else { panic!("{back:?}") };
    assert_eq!(
        m.data.iter().map(|e| e.to_bits()).collect::<Vec<_>>(),
        [0x7f80_0000, 0xff80_0000, 0x8000_0000, 1]
    );
    let nan = entries(r#"{"op": "HostToDevice", "input": ["nan"]}"#);
    let ListOp::HostToDevice { input: Input::Data(m) } = &from_json(&nan).unwrap()[0] else { panic!() };
    assert!(m.data[0].is_nan());
}

#[test]
fn what_is_not_a_list_is_refused_with_its_place() {
    refused("", Code::FileFormat, "EOF");
    refused("{\"lawson_list\": 1,\n  operators: []}", Code::FileFormat, ":2:3");
    refused("[]", Code::FileFormat, "lawson_list");
    refused("{}", Code::FileFormat, "lawson_list");
    refused(r#"{"lawson_list": 2, "operators": []}"#, Code::Version, "version 2");
    refused(r#"{"lawson_list": 1}"#, Code::FileFormat, "operators");
    refused(r#"{"lawson_list": 1, "operators": [], "random": {}}"#, Code::FileFormat, "either");
    refused(r#"{"lawson_list": 1, "operators": [], "more": 1}"#, Code::FileFormat, "more");
    refused(&"[".repeat(100_000), Code::FileFormat, "recursion");
}

#[test]
fn wrong_entries_are_refused_by_number() {
    refused(&entries("3"), Code::FileFormat, "entry 0");
    refused(&entries(r#"{"op": "Relu"}, {"op": "Gelu"}"#), Code::UnknownName, "entry 1");
    refused(&entries(r#"{"op": "Relu", "weights": [[1]]}"#), Code::FileFormat, "weights");
    refused(&entries(r#"{"op": "Linear", "weights": [[1]]}"#), Code::FileFormat, "bias");
    refused(
        &entries(r#"{"op": "Linear", "weights": {"rows": 1, "cols": 1}, "bias": [1]}"#),
        Code::FileFormat,
        "data",
    );
    refused(&entries(r#"{"op": "HostToDevice", "input": [[1, 2], [3]]}"#), Code::ListData, "row 1");
    refused(&entries(r#"{"op": "HostToDevice", "input": [[1, 2], 3]}"#), Code::FileFormat, "row 1");
    refused(&entries(r#"{"op": "HostToDevice", "input": ["one"]}"#), Code::FileFormat, "one");
    refused(&entries(r#"{"op": "HostToDevice", "input": [1e39]}"#), Code::Literal, "too large");
    refused(
        &entries(r#"{"op": "HostToDevice", "input": {"rows": -1, "cols": 1}}"#),
        Code::FileFormat,
        "rows",
    );
    let huge = r#"{"op": "HostToDevice", "input": {"rows": 4294967295, "cols": 4294967295, "random": 1}}"#;
    refused(&entries(huge), Code::Budget, "too large");
    let text = r#"{"lawson_list": 1, "random": {"depth": 18446744073709551615, "size": 1}}"#;
    refused(text, Code::Budget, "elements");
}

proptest! {
    #[test]
    fn mangled_texts_never_panic(at in 0..SMALL.len(), byte in 0u8..128, cut in 0..SMALL.len()) {
        let mut bytes = SMALL.as_bytes().to_vec();
        bytes[at] = byte;
        bytes.truncate(cut.max(at + 1));
        if let Ok(list) = from_json(std::str::from_utf8(&bytes).unwrap()) {
            let _ = validate(&list);
        }
    }
}

#[test]
fn the_examples_in_the_documentation_are_right() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/list-front-end.md");
    let text = std::fs::read_to_string(path).unwrap();
    let examples: Vec<&str> =
        text.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        validate(&from_json(example).unwrap()).unwrap();
    }
}

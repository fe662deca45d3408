//! Texts that were valid once and were mangled: every one gives a graph or a typed error with a place, never a panic.

use crate::corpus;
use lawson_graph::{Code, Error, Graph, Place};
use proptest::prelude::*;

/// An error of the user's, which says where.
fn check(text: &str) {
    let Err(error) = Graph::parse(text) else { return };
    assert_ne!(error.code(), Code::Internal, "{error}\n{text}");
    assert!(has_source(&error), "no place in: {error}\n{text}");
    let _ = error.to_string();
}

fn has_source(error: &Error) -> bool {
    error.places().iter().any(|p| matches!(p, Place::Source(_)))
}

/// Rough tokens: words, numbers and single signs.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut word = false;
    for c in text.chars() {
        let part = c.is_alphanumeric() || c == '_';
        match tokens.last_mut() {
            Some(last) if word && part => last.push(c),
            _ => tokens.push(c.to_string()),
        }
        word = part;
    }
    tokens
}

/// What numbers and names are replaced by: the values at which arithmetic goes wrong.
const NASTY: &[&str] = &[
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "4611686018427387904",
    "18446744073709551616",
    "1e400",
    "nan",
    "-inf",
    "N",
    "K*N",
    "N % 0",
    "N / 0",
    "N / (N - N)",
    "min(N,0)",
    "max(-1,N)",
    "'",
    "\"",
    "%",
    "@",
    "?",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "seq<",
    "opt<",
    "f32[",
    "where",
    "true",
    "return",
    "é",
    "65535",
    "-N",
    "N*N*N*N*N*N*N*N",
    "N*9223372036854775807",
    "_",
    "...",
    "->",
    "==",
    "splat",
    "hex \"ff\"",
    "file \"x\"",
];

fn any_text() -> impl Strategy<Value = String> {
    proptest::sample::select(corpus::texts())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn replaced_tokens(text in any_text(), edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..NASTY.len()), 1..4)) {
        let mut tokens = tokens(&text);
        for (at, what) in edits {
            let at = at.index(tokens.len());
            tokens[at] = NASTY[what].to_string();
        }
        check(&tokens.concat());
    }

    #[test]
    fn replaced_numbers(text in any_text(), edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..21usize), 1..4)) {
        let mut tokens = tokens(&text);
        let numbers: Vec<usize> = (0..tokens.len())
            .filter(|i| tokens[*i].starts_with(|c: char| c.is_ascii_digit()) || tokens[*i] == "N")
            .filter(|i| *i > 2)
            .collect();
        if !numbers.is_empty() {
            for (at, what) in edits {
                tokens[numbers[at.index(numbers.len())]] = NASTY[what].to_string();
            }
        }
        check(&tokens.concat());
    }

    #[test]
    fn swapped_dropped_and_doubled_tokens(
        text in any_text(),
        a in any::<prop::sample::Index>(),
        b in any::<prop::sample::Index>(),
        how in 0..3,
    ) {
        let mut tokens = tokens(&text);
        let (a, b) = (a.index(tokens.len()), b.index(tokens.len()));
        match how {
            0 => tokens.swap(a, b),
            1 => drop(tokens.remove(a)),
            _ => tokens.insert(b, tokens[a].clone()),
        }
        check(&tokens.concat());
    }

    #[test]
    fn truncated(text in any_text(), at in any::<prop::sample::Index>()) {
        let mut at = at.index(text.len());
        while !text.is_char_boundary(at) { at -= 1; }
        check(&text[..at]);
    }

    #[test]
    fn replaced_bytes(text in any_text(), edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = text.into_bytes();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_characters_at_all(text in "\\PC{0,200}") {
        check(&text);
        check(&format!("lawson 1 graph @f(%x: f32[{text}]) -> () {{ return }}"));
        check(&format!("lawson 1 graph @f(%x: f32[N]) -> () {{ %y = {text} return }}"));
    }
}

#[test]
fn facts_and_dims_at_the_ends_of_the_integers() {
    let ends = [
        "9223372036854775807",
        "-9223372036854775807",
        "-9223372036854775808",
        "4611686018427387904",
        "0",
        "1",
        "-1",
        "N - 9223372036854775807",
        "-9223372036854775808*N",
        "-9223372036854775807*N",
        "9223372036854775807*N",
        "N % 9223372036854775807",
        "N / 9223372036854775807",
        "N / -1",
        "N / -9223372036854775808",
        "(N + 9223372036854775807) / 2",
        "M",
        "N*M",
        "-M",
        "min(N, -9223372036854775808)",
        "max(N*M, 9223372036854775807)",
        "N % 4611686018427387904",
    ];
    for a in ends {
        for b in ends {
            for relation in ["==", ">=", "<=", "<", ">"] {
                check(&format!(
                    "lawson 1 graph @f(%x: f32[N, M]) -> (y: f32[N, M]) where {a} {relation} {b} {{ %y = neg %x return %y }}"
                ));
            }
            check(&format!(
                "lawson 1 graph @f(%x: f32[{a}, N]) -> (y: f32[{b}]) {{ %y = reshape %x {{shape = [{b}]}} return %y }}"
            ));
            check(&format!(
                "lawson 1 graph @f(%x: f32[{a}]) -> () {{ %y = slice %x {{start = [{b}], size = [{a}], step = [-9223372036854775808]}} return }}"
            ));
        }
    }
}

#[test]
fn nesting_is_bounded_everywhere() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    for body in [
        format!("%y = dims {{dims = {}}}", deep("[", "]")),
        format!("%y = dims {{dims = [{}]}}", deep("(", ")")),
        format!("%y = dims {{dims = [{}]}}", deep("min(1,", ")")),
        format!("%y = dims {{dims = [{}]}}", deep("-", "")),
        format!("%y: f32[] = constant {}", deep("[", "]")),
        format!("%y: f32[{}1] = constant {}", "1,".repeat(100_000), deep("[", "]")),
        format!("%y = opt_none {{ty = {}}}", deep("opt<", ">")),
        format!("%y: {} = neg %y", deep("opt<", ">")),
        deep("%y = cond %c then() { ", "}"),
        deep("%y = cond %c then() -> () where ", "}"),
        "@".repeat(100_000),
        "%a, ".repeat(100_000),
        "%".repeat(100_000),
    ] {
        check(&format!("lawson 1 graph @f(%c: bool[]) -> () {{ {body} return }}"));
    }
    let mut chain =
        "lawson 1\n composite @f0(%x: f32[N]) -> (y: f32[N]) { %y = neg %x return %y }\n".to_string();
    for i in 1..5000 {
        chain += &format!("composite @f{i}(%x: f32[N]) -> (y: f32[N]) {{ %y = f{} %x return %y }}\n", i - 1);
    }
    check(&chain);
}

#[test]
fn long_texts_are_read_in_one_go() {
    let mut text = "lawson 1 graph @f(%x: f32[N, 4]) -> (y: f32[N, 4]) {\n".to_string();
    for i in 0..5000 {
        let last = if i == 0 { "%x".to_string() } else { format!("%v{}", i - 1) };
        text += &format!("  %v{i}: f32[N, 4] = add {last}, %x\n");
    }
    text += "  return %v4999\n}\n";
    let graph = Graph::parse(&text).unwrap();
    assert_eq!(graph.nodes().len(), 5000);
    assert_eq!(Graph::parse(&graph.to_string()).unwrap(), graph);
}

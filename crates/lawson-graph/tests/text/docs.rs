//! The examples of `docs/text-form.md` do what the page says.

use crate::round_trip::check;
use lawson_graph::Graph;

/// The fenced blocks of a kind.
fn blocks<'a>(text: &'a str, kind: &str) -> Vec<&'a str> {
    let open = format!("\n```{kind}\n");
    text.split(&*open).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn examples_of_the_documentation_are_graphs() {
    let page = include_str!("../../../../docs/text-form.md");
    let examples = blocks(page, "law");
    assert!(examples.len() >= 5, "the page has lost its examples");
    for example in examples {
        check(&Graph::parse(example).unwrap_or_else(|e| panic!("{e}")));
    }
}

#[test]
fn node_examples_of_the_documentation_are_nodes() {
    let page = include_str!("../../../../docs/text-form.md");
    for example in blocks(page, "law-nodes") {
        let text = format!(
            "lawson 1 graph @f(%x: f32[N, 4], %n: i64[], %key: u32[2]) -> () where N >= 1 {{ {example} return }}"
        );
        check(&Graph::parse(&text).unwrap_or_else(|e| panic!("{e}")));
    }
}

#[test]
fn errors_of_the_documentation_are_what_lawson_prints() {
    let page = include_str!("../../../../docs/text-form.md");
    let (texts, errors) = (blocks(page, "law-wrong"), blocks(page, "text"));
    assert!(!texts.is_empty());
    for (text, error) in texts.iter().zip(errors) {
        let found = Graph::parse(text).unwrap_err().to_string();
        assert_eq!(found.trim(), error.trim());
    }
}

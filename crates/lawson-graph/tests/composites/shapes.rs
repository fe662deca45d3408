//! Types of results, with symbolic dimensions and the facts that they need.

use super::operands::{composite, ty};
use lawson_graph::{Builder, Dim, Relation, Type};

/// The types of the results under facts such as `N >= 1`.
fn results(facts: &[(&str, Relation, i64)], text: &str, operands: &[&str]) -> Vec<Type> {
    let mut b = Builder::new("test");
    for (left, relation, right) in facts {
        b.fact(lawson_graph::parse_dim(left).unwrap(), *relation, Dim::from(*right)).unwrap();
    }
    let mut inputs = Vec::new();
    for (i, operand) in operands.iter().enumerate() {
        inputs.push(b.input(&format!("x{i}"), ty(operand)).unwrap());
    }
    let results = b.op(composite(text).unwrap(), &inputs).unwrap_or_else(|e| panic!("{text}: {e}"));
    let types = results.iter().map(|v| b.ty(*v).clone()).collect();
    for v in results {
        b.output(&format!("{v:?}"), v).unwrap();
    }
    b.finish().unwrap();
    types
}

fn result(text: &str, operands: &[&str]) -> Type {
    results(&[], text, operands).remove(0)
}

#[test]
fn symbolic_dimensions_pass_through() {
    for name in
        ["relu", "gelu", "softmax axis=1", "log_softmax axis=0", "layer_norm axis=1", "rms_norm axis=0"]
    {
        assert_eq!(result(name, &["f32[N,M]"]), ty("f32[N,M]"), "{name}");
    }
    assert_eq!(result("linear", &["f16[A,B,K]", "f16[K,M]", "f16[M]"]), ty("f16[A,B,M]"));
    assert_eq!(result("logsumexp axes=[1]", &["f32[N,M,K]"]), ty("f32[N,K]"));
    assert_eq!(result("argmax axis=1 keep_dims=true", &["f32[N,M,K]"]), ty("i64[N,1,K]"));
    assert_eq!(result("one_hot depth=M axis=0", &["i64[N,M]"]), ty("f32[M,N,M]"));
    assert_eq!(result("cross_entropy reduction=none", &["f32[N,C,L]", "i64[N,L]", "f32[C]"]), ty("f32[N,L]"));
    assert_eq!(result("mse_loss", &["f32[N,M]", "f32[N,M]"]), ty("f32[]"));
    assert_eq!(result("dropout", &["f32[N,M]", "u32[2]"]), ty("f32[N,M]"));
    assert_eq!(
        result("batch_norm", &["f32[N,C,L]", "f32[C]", "f32[C]", "f32[C]", "f32[C]"]),
        ty("f32[N,C,L]")
    );
}

#[test]
fn attention_groups_heads_of_any_number() {
    let with = |q: &str, k: &str, v: &str| result("attention causal=bottom_right", &[q, k, v]);
    assert_eq!(with("f32[B,H,S,D]", "f32[B,H,T,D]", "f32[B,H,T,E]"), ty("f32[B,H,S,E]"));
    assert_eq!(with("f32[B,8,S,D]", "f32[B,2,T,D]", "f32[B,2,T,E]"), ty("f32[B,8,S,E]"));
    assert_eq!(with("f32[B,6,S,D]", "f32[B,1,T,D]", "f32[B,1,T,D]"), ty("f32[B,6,S,D]"));
    let grouped = results(
        &[("H", Relation::Ge, 1)],
        "attention",
        &["f32[B,4*H,S,D]", "f32[B,H,T,D]", "f32[B,H,T,E]", "bool[B,1,1,T]"],
    );
    assert_eq!(grouped, [ty("f32[B,4*H,S,E]")]);
}

#[test]
fn groups_need_a_fact_where_channels_are_symbolic() {
    let types = results(&[("C % 4", Relation::Eq, 0)], "group_norm groups=4", &["f32[N,C,H,W]", "f32[C]"]);
    assert_eq!(types, [ty("f32[N,C,H,W]")]);
}

#[test]
fn pools_count_windows_in_symbols() {
    let pool = |text: &str| results(&[("L", Relation::Ge, 8)], text, &["f32[N,C,L]"]).remove(0);
    assert_eq!(pool("max_pool window=[3] stride=[2] low=[1] high=[1]"), ty("f32[N,C,(L+1)/2]"));
    assert_eq!(pool("max_pool window=[3] stride=[2] ceil=true"), ty("f32[N,C,L/2]"));
    assert_eq!(pool("avg_pool window=[2] stride=[2] ceil=true"), ty("f32[N,C,(L+1)/2]"));
    assert_eq!(
        pool("avg_pool window=[3] stride=[2] low=[1] high=[1] ceil=true count_padding=true"),
        ty("f32[N,C,L/2+1]")
    );
}

#[test]
fn nonzero_defines_its_symbol_with_a_bound() {
    let mut b = Builder::new("test");
    let x = b.input("x", ty("f32[N,3]")).unwrap();
    let y = b.op1(composite("nonzero symbol=K").unwrap(), &[x]).unwrap();
    assert_eq!(*b.ty(y), ty("i64[K,2]"));
    assert!(b.facts().proves_ge(&(Dim::symbol("N") * 3), &Dim::symbol("K")));
}

#[test]
fn top_k_takes_a_symbolic_k_that_is_known_to_fit() {
    let types = results(&[("N - M", Relation::Ge, 0)], "top_k k=M axis=1", &["f32[M,N]"]);
    assert_eq!(types, [ty("f32[M,M]"), ty("i64[M,M]")]);
}

#[test]
fn blocked_scales_cover_a_symbolic_axis() {
    let facts = [("M % 32", Relation::Eq, 0)];
    let types = results(&facts, "dequantise axis=1 block=32", &["i4[N,M]", "f16[N,M/32]", "i4[N,M/32]"]);
    assert_eq!(types, [ty("f16[N,M]")]);
    let types = results(&[], "quantise to=i8 axis=0 block=32", &["f32[M]", "f32[(M+31)/32]"]);
    assert_eq!(types, [ty("i8[M]")]);
}

//! Dimension expressions against plain arithmetic: the canonical form keeps values, printing comes back, and what the
//! facts prove is true for every assignment that satisfies them.

#![allow(clippy::unwrap_used)]

use lawson_graph::random::Rng;
use lawson_graph::{Dim, Fact, Facts, Relation, Symbol, parse_dim};

const SYMBOLS: [&str; 3] = ["N", "M", "K"];

/// A random expression, as a dimension and as text.
fn expression(rng: &mut Rng, depth: usize) -> (Dim, String) {
    if depth == 0 || rng.one_in(4) {
        if rng.one_in(2) {
            let c = rng.between(-4, 9);
            return (Dim::from(c), if c < 0 { format!("({c})") } else { c.to_string() });
        }
        let name = SYMBOLS[rng.below(3)];
        return (Dim::symbol(name), name.to_string());
    }
    let (a, x) = expression(rng, depth - 1);
    let (b, y) = expression(rng, depth - 1);
    match rng.below(7) {
        0 => (a + b, format!("({x} + {y})")),
        1 => (a - b, format!("({x} - {y})")),
        2 => (a * b, format!("({x} * {y})")),
        3 => (a.floor_div(&b), format!("({x} / {y})")),
        4 => (a.modulo(&b), format!("({x} % {y})")),
        5 => (a.min(&b), format!("min({x}, {y})")),
        _ => (a.max(&b), format!("max({x}, {y})")),
    }
}

/// The value of the text by plain arithmetic, without the canonical form.
fn value(text: &str, values: &[i64; 3]) -> Option<i128> {
    let (v, rest) = sum(text, values)?;
    rest.is_empty().then_some(v)
}

fn sum<'a>(text: &'a str, values: &[i64; 3]) -> Option<(i128, &'a str)> {
    let text = text.trim_start();
    for (name, which) in [("min(", true), ("max(", false)] {
        if let Some(rest) = text.strip_prefix(name) {
            let (a, rest) = sum(rest, values)?;
            let (b, rest) = sum(rest.strip_prefix(",")?, values)?;
            let v = if which { a.min(b) } else { a.max(b) };
            return Some((v, rest.strip_prefix(")")?));
        }
    }
    if let Some(rest) = text.strip_prefix("(") {
        if let Some(end) = rest.strip_prefix("-").and_then(|r| r.find(')')) {
            return Some((-rest[1..=end].parse::<i128>().ok()?, &rest[end + 2..]));
        }
        let (a, rest) = sum(rest, values)?;
        let operator = rest.trim_start().chars().next()?;
        let (b, rest) = sum(&rest.trim_start()[1..], values)?;
        let floor = |a: i128, b: i128| {
            let q = a / b;
            if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
        };
        let v = match operator {
            '+' => a + b,
            '-' => a - b,
            '*' => a.checked_mul(b)?,
            '/' if b == 0 => 0,
            '/' => floor(a, b),
            '%' if b == 0 => a,
            '%' => a - b * floor(a, b),
            _ => return None,
        };
        return Some((v, rest.strip_prefix(")")?));
    }
    if let Some(i) = SYMBOLS.iter().position(|s| text.starts_with(s)) {
        return Some((i128::from(values[i]), &text[1..]));
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn assignment(values: [i64; 3]) -> impl Fn(&Symbol) -> Option<i64> {
    move |s| SYMBOLS.iter().position(|n| *n == s.name()).map(|i| values[i])
}

#[test]
fn the_canonical_form_keeps_the_value() {
    let mut rng = Rng::new(1);
    let mut checked = 0;
    for _ in 0..4000 {
        let (dim, text) = expression(&mut rng, 4);
        if dim.is_overflow() {
            continue;
        }
        assert_eq!(parse_dim(&text).unwrap(), dim, "{text}");
        for _ in 0..6 {
            let values = [rng.between(0, 12), rng.between(0, 12), rng.between(0, 12)];
            let (Some(expected), Some(found)) = (value(&text, &values), dim.eval(&assignment(values))) else {
                continue;
            };
            assert_eq!(i128::from(found), expected, "{text}, canonically {dim}, at {values:?}");
            checked += 1;
        }
    }
    assert!(checked > 15_000, "only {checked} values were compared");
}

#[test]
fn printing_comes_back() {
    let mut rng = Rng::new(2);
    for _ in 0..4000 {
        let (dim, text) = expression(&mut rng, 4);
        if !dim.is_overflow() {
            assert_eq!(parse_dim(&dim.to_string()).unwrap(), dim, "{text} printed as {dim}");
        }
    }
}

#[test]
fn equal_sums_and_products_are_equal_however_they_are_written() {
    let mut rng = Rng::new(3);
    for _ in 0..2000 {
        let (a, _) = expression(&mut rng, 2);
        let (b, _) = expression(&mut rng, 2);
        let (c, _) = expression(&mut rng, 2);
        let distributed = a.clone() * b.clone() + a.clone() * c.clone();
        let factored = a.clone() * (c.clone() + b.clone());
        if !distributed.is_overflow() && !factored.is_overflow() {
            assert_eq!(factored, distributed, "{a} times {b} and {c}");
        }
        assert_eq!(a.min(&b.min(&c)), c.min(&a).min(&b), "minimum of {a}, {b}, {c}");
        assert_eq!(a.max(&b.max(&c)), c.max(&b).max(&a), "maximum of {a}, {b}, {c}");
    }
}

fn random_facts(rng: &mut Rng) -> Facts {
    let mut facts = Facts::new();
    for _ in 0..rng.below(4) {
        let relations = [Relation::Eq, Relation::Ge, Relation::Le, Relation::Gt, Relation::Lt];
        let relation = relations[rng.below(relations.len())];
        let (left, _) = expression(rng, 1);
        let (right, _) = expression(rng, 1);
        let fact = match rng.below(3) {
            0 => Fact::new(left, relation, right),
            1 => Fact::new(SYMBOLS[rng.below(3)], Relation::Ge, rng.between(0, 4)),
            _ => Fact::new(
                Dim::symbol(SYMBOLS[rng.below(3)]).modulo(&Dim::from(rng.between(2, 4))),
                Relation::Eq,
                0,
            ),
        };
        // A fact that contradicts the others is refused; that is as good an answer.
        let _ = facts.add(fact);
    }
    facts
}

/// Every small assignment that satisfies the facts.
fn models(facts: &Facts) -> Vec<[i64; 3]> {
    let mut found = Vec::new();
    for n in 0..8 {
        for m in 0..8 {
            for k in 0..8 {
                let values = [n, m, k];
                if facts.written().iter().all(|f| f.holds(&assignment(values)) != Some(false)) {
                    found.push(values);
                }
            }
        }
    }
    found
}

#[test]
fn what_is_proven_is_true_and_simplifying_keeps_the_value() {
    let mut rng = Rng::new(4);
    let (mut proven, mut equal) = (0, 0);
    for _ in 0..1500 {
        let facts = random_facts(&mut rng);
        let models = models(&facts);
        for _ in 0..6 {
            let (a, _) = expression(&mut rng, 2);
            let b = match rng.one_in(3) {
                true => facts.simplify(&a),
                false => expression(&mut rng, 2).0,
            };
            let nonnegative = facts.is_nonnegative(&a);
            let same = facts.equal(&a, &b);
            let differ = facts.differ(&a, &b);
            let multiple = facts.is_multiple(&a, 3);
            let (low, high) = facts.bounds(&a);
            let simple = facts.simplify(&a);
            proven += usize::from(nonnegative);
            equal += usize::from(same);
            for values in &models {
                let at = assignment(*values);
                let context = || format!("under {:?} at {values:?}: {a} and {b}", facts.written());
                let Some(v) = a.eval(&at) else { continue };
                assert!(!nonnegative || v >= 0, "{} is {v}", context());
                assert!(!multiple || v % 3 == 0, "{} is {v}, no multiple of 3", context());
                assert!(
                    low.is_none_or(|l| l <= v) && high.is_none_or(|h| v <= h),
                    "{} is {v}, outside {low:?}..{high:?}",
                    context()
                );
                assert_eq!(simple.eval(&at), Some(v), "{} simplified to {simple}", context());
                if let Some(w) = b.eval(&at) {
                    assert!(!same || v == w, "{} are {v} and {w}", context());
                    assert!(!differ || v != w, "{} are both {v}", context());
                }
            }
        }
    }
    assert!(proven > 1500 && equal > 200, "{proven} proofs, {equal} equalities: the test says little");
}

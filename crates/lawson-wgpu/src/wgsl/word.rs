//! Words: indices and what else is known of a launch, as expressions of `i32`.

use super::Dialect;
use crate::opcode::*;

impl Dialect<'_> {
    /// A word as an operand of `*`, `/` and the like.
    pub(super) fn factor(&mut self, word: &Word) -> String {
        let text = self.word(word);
        match word {
            Word::Div(_, d, _) | Word::Mod(_, d, _) if power_of_two(d).is_some() => text,
            Word::Sum(_) | Word::Product(..) | Word::Div(..) | Word::Mod(..) => format!("({text})"),
            Word::Const(c) if *c < 0 => format!("({text})"),
            Word::Const(_) | Word::Axis(_) | Word::Param(_) | Word::Base(_) | Word::Lane => text,
            Word::Min(_) | Word::Max(_) | Word::At(..) => text,
        }
    }

    /// A word.
    pub(super) fn word(&mut self, word: &Word) -> String {
        match word {
            Word::Const(c) => c.to_string(),
            Word::Axis(a) => self.axis(*a),
            Word::Param(p) => format!("parameters.p{p}"),
            Word::Lane => "lane".into(),
            Word::Base(m) => format!("parameters.b{}", m.0),
            Word::Sum(terms) => {
                let mut out = String::new();
                for (i, term) in terms.iter().enumerate() {
                    out += &match term {
                        Word::Const(c) if i > 0 && *c < 0 => format!(" - {}", c.unsigned_abs()),
                        Word::Sum(_) => format!("{}{}", if i > 0 { " + " } else { "" }, self.factor(term)),
                        _ => format!("{}{}", if i > 0 { " + " } else { "" }, self.word(term)),
                    };
                }
                out
            }
            Word::Product(a, b) => format!("{} * {}", self.factor(a), self.factor(b)),
            // Only what never runs divides by 0; a shader may not even say so.
            Word::Div(_, d, _) | Word::Mod(_, d, _) if matches!(**d, Word::Const(c) if c < 1) => "0".into(),
            // Rounding down by a power of two is a shift, whatever the sign.
            Word::Div(a, d, _) if power_of_two(d).is_some() => {
                format!("({} >> {}u)", self.factor(a), power_of_two(d).unwrap_or(0))
            }
            Word::Mod(a, d, _) if power_of_two(d).is_some() => {
                format!("({} & {})", self.factor(a), (1i64 << power_of_two(d).unwrap_or(0)) - 1)
            }
            Word::Div(a, d, Sign::NonNegative) => format!("{} / {}", self.factor(a), self.factor(d)),
            Word::Mod(a, d, Sign::NonNegative) => format!("{} % {}", self.factor(a), self.factor(d)),
            Word::Div(a, d, Sign::Any) => self.function("word_div", a, d),
            Word::Mod(a, d, Sign::Any) => self.function("word_mod", a, d),
            Word::Min(m) => self.nested("min", m),
            Word::Max(m) => self.nested("max", m),
            Word::At(memory, at, last) => {
                let ty = self.memory.get(&memory.0).map_or(Ty::I32, |m| m.ty);
                let name = self.call(&format!("at_{}", ty.name()));
                format!("{name}({}, {})", self.load(*memory, at), self.word(last))
            }
        }
    }

    fn function(&mut self, name: &str, a: &Word, d: &Word) -> String {
        let name = self.call(name);
        format!("{name}({}, {})", self.word(a), self.word(d))
    }

    fn nested(&mut self, name: &str, members: &[Word]) -> String {
        let texts: Vec<String> = members.iter().map(|m| self.word(m)).collect();
        texts.into_iter().reduce(|a, b| format!("{name}({a}, {b})")).unwrap_or_else(|| "0".into())
    }
}

/// Which power of two a word is.
fn power_of_two(word: &Word) -> Option<u32> {
    match word {
        Word::Const(c) if *c > 0 && c.count_ones() == 1 => Some(c.trailing_zeros()),
        _ => None,
    }
}

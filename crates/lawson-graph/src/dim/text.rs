//! Printing and parsing of dimension expressions: `2*N + 1`, `N / 8`, `N % 8`, `min(N, 4)`.

use super::expr::{Atom, Dim, Term};
use crate::error::{Code, Error, Result};
use crate::name::{is_name_part, is_name_start, quoted_length, unescape};
use std::fmt;

/// Three brackets for each of the `MAX_DEPTH` levels of a canonical expression fit in this.
const MAX_NESTING: usize = 64;

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_overflow() {
            return f.write_str("<overflow>");
        }
        if let Some(c) = self.as_const() {
            return write!(f, "{c}");
        }
        let mut pieces: Vec<(i64, String)> = Vec::new();
        let mut rest = self.clone();
        // `k*a - k*d*(a/d)` reads better as `k*(a % d)`.
        while let Some((k, x, d)) = find_modulo(&rest) {
            pieces.push((k, format!("{} % {}", Operand(&x), Operand(&d))));
            rest = rest - x.modulo(&d) * k;
        }
        for t in rest.terms() {
            pieces.push((t.coefficient, product(t)));
        }
        let mut first = true;
        for (coefficient, text) in &pieces {
            let simple = !text.contains(' ');
            let magnitude = coefficient.unsigned_abs();
            let sign = if *coefficient < 0 { "-" } else { "+" };
            match (first, *coefficient < 0) {
                (true, true) => f.write_str("-")?,
                (true, false) => {}
                (false, _) => write!(f, " {sign} ")?,
            }
            let lone_first = first && pieces.len() == 1 && rest.constant() == 0 && *coefficient > 0;
            match (magnitude, simple) {
                (1, true) => write!(f, "{text}")?,
                (1, false) if lone_first => write!(f, "{text}")?,
                (1, false) => write!(f, "({text})")?,
                (m, true) => write!(f, "{m}*{text}")?,
                (m, false) => write!(f, "{m}*({text})")?,
            }
            first = false;
        }
        match rest.constant() {
            0 => Ok(()),
            c if first => write!(f, "{c}"),
            c if c < 0 => write!(f, " - {}", c.unsigned_abs()),
            c => write!(f, " + {c}"),
        }
    }
}

/// Prints an operand of `/` or `%`: sums in brackets.
struct Operand<'a>(&'a Dim);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        if text.contains([' ', '*', '-']) && !is_call(&text) {
            write!(f, "({text})")
        } else {
            f.write_str(&text)
        }
    }
}

fn is_call(text: &str) -> bool {
    (text.starts_with("min(") || text.starts_with("max(")) && text.find(')') == Some(text.len() - 1)
}

fn product(t: &Term) -> String {
    let mut factors = Vec::new();
    let lone = t.monomial.len() == 1 && t.monomial[0].1 == 1;
    for (atom, power) in &t.monomial {
        let text = match atom {
            Atom::Symbol(s) => s.to_string(),
            Atom::FloorDiv(a, b) if lone => format!("{} / {}", Operand(a), Operand(b)),
            Atom::FloorDiv(a, b) => format!("({} / {})", Operand(a), Operand(b)),
            Atom::Min(m) => call("min", m),
            Atom::Max(m) => call("max", m),
        };
        for _ in 0..*power {
            factors.push(text.clone());
        }
    }
    factors.join("*")
}

fn call(name: &str, members: &[Dim]) -> String {
    let members: Vec<String> = members.iter().map(Dim::to_string).collect();
    format!("{name}({})", members.join(","))
}

/// A part `k*(x % d)` of the expression, if writing it so makes the expression shorter.
fn find_modulo(dim: &Dim) -> Option<(i64, Dim, Dim)> {
    dim.terms().iter().find_map(|t| {
        let [(Atom::FloorDiv(x, d), 1)] = t.monomial.as_slice() else { return None };
        let divisor = d.as_const().filter(|d| *d > 1)?;
        if t.coefficient % divisor != 0 {
            return None;
        }
        let k = -(t.coefficient / divisor);
        let rest = dim.clone() - x.modulo(d) * k;
        let weight = |d: &Dim| d.terms().len() + usize::from(d.constant() != 0);
        (weight(&rest) + 1 < weight(dim)).then(|| (k, x.clone(), d.clone()))
    })
}

/// The tokens that a dimension expression is read from; the text form's lexer and `parse_dim` both provide them.
pub trait DimTokens {
    /// The next token, without taking it: an operator or bracket as itself.
    fn peek_dim(&mut self) -> DimToken;
    /// Takes the token that `peek_dim` showed.
    fn take_dim(&mut self);
    /// An error at the next token.
    fn dim_error(&mut self, message: String) -> Error;
}

/// A token of a dimension expression.
#[derive(Clone, Debug, PartialEq)]
pub enum DimToken {
    /// A number without its sign.
    Int(u64),
    /// A symbol, or the name of a function.
    Name(String),
    /// An operator or a bracket.
    Sign(char),
    /// What stands in no expression.
    Other,
}

/// Reads an expression: sums of products; `*`, `/` and `%` bind alike, to the left.
pub fn parse_dim_tokens(tokens: &mut dyn DimTokens) -> Result<Dim> {
    sum(tokens, 0)
}

fn sum(tokens: &mut dyn DimTokens, nesting: usize) -> Result<Dim> {
    if nesting > MAX_NESTING {
        return Err(tokens.dim_error("this dimension expression is nested too deeply".into()));
    }
    let mut total = term(tokens, nesting)?;
    loop {
        match tokens.peek_dim() {
            DimToken::Sign('+') => {
                tokens.take_dim();
                total = total + term(tokens, nesting)?;
            }
            DimToken::Sign('-') => {
                tokens.take_dim();
                total = total - term(tokens, nesting)?;
            }
            _ if total.is_overflow() => {
                return Err(tokens.dim_error("this dimension expression is too large".into()));
            }
            _ => return Ok(total),
        }
    }
}

fn term(tokens: &mut dyn DimTokens, nesting: usize) -> Result<Dim> {
    let mut total = factor(tokens, nesting)?;
    loop {
        match tokens.peek_dim() {
            DimToken::Sign('*') => {
                tokens.take_dim();
                total = total * factor(tokens, nesting)?;
            }
            DimToken::Sign('/') => {
                tokens.take_dim();
                total = total.floor_div(&factor(tokens, nesting)?);
            }
            DimToken::Sign('%') => {
                tokens.take_dim();
                total = total.modulo(&factor(tokens, nesting)?);
            }
            _ => return Ok(total),
        }
    }
}

fn factor(tokens: &mut dyn DimTokens, nesting: usize) -> Result<Dim> {
    match tokens.peek_dim() {
        DimToken::Int(value) => match i64::try_from(value) {
            Ok(value) => {
                tokens.take_dim();
                Ok(Dim::from(value))
            }
            Err(_) => Err(tokens.dim_error("this number does not fit in 63 bits".into())),
        },
        DimToken::Sign('-') => {
            tokens.take_dim();
            // The least integer has no positive counterpart.
            if tokens.peek_dim() == DimToken::Int(i64::MIN.unsigned_abs()) {
                tokens.take_dim();
                return Ok(Dim::from(i64::MIN));
            }
            if nesting > MAX_NESTING {
                return Err(tokens.dim_error("this dimension expression is nested too deeply".into()));
            }
            Ok(-factor(tokens, nesting + 1)?)
        }
        DimToken::Sign('(') => {
            tokens.take_dim();
            let inner = sum(tokens, nesting + 1)?;
            expect(tokens, ')')?;
            Ok(inner)
        }
        DimToken::Name(name) => {
            tokens.take_dim();
            if (name == "min" || name == "max") && tokens.peek_dim() == DimToken::Sign('(') {
                tokens.take_dim();
                let mut total = sum(tokens, nesting + 1)?;
                while tokens.peek_dim() == DimToken::Sign(',') {
                    tokens.take_dim();
                    let next = sum(tokens, nesting + 1)?;
                    total = if name == "min" { total.min(&next) } else { total.max(&next) };
                }
                expect(tokens, ')')?;
                return Ok(total);
            }
            Ok(Dim::symbol(name))
        }
        _ => {
            Err(tokens.dim_error("expected a dimension: a number, a symbol, or an expression of them".into()))
        }
    }
}

fn expect(tokens: &mut dyn DimTokens, sign: char) -> Result<()> {
    if tokens.peek_dim() == DimToken::Sign(sign) {
        tokens.take_dim();
        return Ok(());
    }
    Err(tokens.dim_error(format!("expected `{sign}` in this dimension expression")))
}

/// Reads one expression from a string.
///
/// ```
/// let dim = lawson_graph::parse_dim("2*(N + 1) - N")?;
/// assert_eq!(dim.to_string(), "N + 2");
/// # Ok::<(), lawson_graph::Error>(())
/// ```
pub fn parse_dim(text: &str) -> Result<Dim> {
    let mut tokens = StrTokens { text, at: 0, next: None };
    let dim = parse_dim_tokens(&mut tokens)?;
    tokens.peek_dim();
    if tokens.next.as_ref().is_some_and(|(_, start, end)| start < end) {
        return Err(tokens.dim_error("unexpected text after the dimension".into()));
    }
    Ok(dim)
}

/// The dimension that a text writes.
///
/// ```
/// use lawson_graph::Dim;
/// assert_eq!(Dim::from("3"), Dim::from(3));
/// assert_eq!(Dim::from("N"), Dim::symbol("N"));
/// assert_eq!(Dim::from("2*N + 1"), Dim::symbol("N") * 2 + 1);
/// assert_eq!(Dim::from("'batch size'"), Dim::symbol("batch size"));
/// assert!(Dim::from("2*").is_overflow());
/// ```
impl From<&str> for Dim {
    /// A number, a symbol or an expression, as the text form writes them. Anything else becomes the poisoned
    /// dimension, which type checking refuses; `parse_dim` says what is wrong instead. A symbol of any name, whatever
    /// it looks like, is made by `Dim::symbol`.
    fn from(text: &str) -> Dim {
        parse_dim(text).unwrap_or_else(|_| Dim::overflow())
    }
}

struct StrTokens<'a> {
    text: &'a str,
    at: usize,
    next: Option<(DimToken, usize, usize)>,
}

impl DimTokens for StrTokens<'_> {
    fn peek_dim(&mut self) -> DimToken {
        if let Some((token, ..)) = &self.next {
            return token.clone();
        }
        let rest = &self.text[self.at..];
        let start = self.at + (rest.len() - rest.trim_start().len());
        let rest = &self.text[start..];
        let first = rest.chars().next();
        let length = |accept: fn(char) -> bool| rest.find(|c| !accept(c)).unwrap_or(rest.len());
        let (token, length) = match first {
            None => (DimToken::Other, 0),
            Some(c) if c.is_ascii_digit() => {
                let n = length(|c| c.is_ascii_digit());
                (rest[..n].parse().map_or(DimToken::Other, DimToken::Int), n)
            }
            Some(c) if is_name_start(c) => {
                let n = length(is_name_part);
                (DimToken::Name(rest[..n].to_string()), n)
            }
            Some('\'') => match quoted_length(rest, '\'').map(|n| (unescape(&rest[1..n - 1]), n)) {
                Ok((Ok(name), n)) => (DimToken::Name(name.into_owned()), n),
                Ok((Err(_), n)) | Err(n) => (DimToken::Other, n),
            },
            Some(c) => (DimToken::Sign(c), c.len_utf8()),
        };
        self.next = Some((token.clone(), start, start + length));
        token
    }

    fn take_dim(&mut self) {
        if let Some((_, _, end)) = self.next.take() {
            self.at = end;
        }
    }

    fn dim_error(&mut self, message: String) -> Error {
        Error::new(Code::Syntax, format!("{message}, in `{}` at byte {}", self.text, self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Builder;
    use crate::dim::Relation;
    use crate::dtype::DType;
    use crate::types::Type;

    #[test]
    fn printing_comes_back() {
        for text in [
            "N",
            "0",
            "2*N + 1",
            "N % 8",
            "3*(N % 8) + M",
            "(N + 7) / 8",
            "8*((N + 7) / 8)",
            "-N + M",
            "min(N,4) + 1",
            "N*M*(K / 2)",
            "max(N + 1,M) / 3",
            "(2*N) / 3",
            "N / M",
            "(N / 3)*(N / 3)",
            "M - (N / 3)",
            "(N % 8) % 3",
            "min((N + 1) / 2,M / 3)",
            "(-N) / 2",
            "'batch size' + 1",
            "('a*b' % 8)*'it\\'s'",
            "min('min',N / 'max(')",
            "-9223372036854775808",
        ] {
            let dim = parse_dim(text).unwrap();
            assert_eq!(parse_dim(&dim.to_string()).unwrap(), dim, "{text} printed as {dim}");
        }
        assert_eq!(parse_dim("N - 8*(N / 8)").unwrap().to_string(), "N % 8");
        assert_eq!(parse_dim("(N + 7) / 8").unwrap().to_string(), "(N + 7) / 8");
    }

    #[test]
    fn bad_expressions_are_errors() {
        for text in
            ["", "N +", "(N", "min(", "N N", "3 $ 4", "99999999999999999999", "N*9223372036854775807*4"]
        {
            assert!(parse_dim(text).is_err(), "{text}");
        }
        assert!(parse_dim(&"(".repeat(100_000)).is_err());
        assert!(parse_dim(&"-".repeat(100_000)).is_err());
    }

    #[test]
    fn strings_are_read_as_expressions() {
        assert_eq!(Dim::from("3"), Dim::from(3));
        assert_eq!(Dim::from(" N "), Dim::symbol("N"));
        assert_eq!(Dim::from("2*N + 1"), Dim::symbol("N") * 2 + 1);
        assert_eq!(Dim::from("'3'"), Dim::symbol("3"));
        assert_ne!(Dim::symbol("3"), Dim::from(3));
    }

    #[test]
    fn strings_that_are_no_expressions_are_refused_by_type_checking() {
        for text in ["", "2*", "batch size", "-", "99999999999999999999", "<overflow>"] {
            assert!(Dim::from(text).is_overflow(), "{text}");
            let mut b = Builder::new("f");
            let input = b.input("x", Type::tensor(DType::F32, [text]));
            assert_eq!(input.unwrap_err().code(), Code::DimOverflow, "{text}");
            let beside_zero = b.input("x", Type::tensor(DType::F32, ["0", text]));
            assert_eq!(beside_zero.unwrap_err().code(), Code::DimOverflow, "{text}");
            assert_eq!(b.iota(DType::F32, [text], 0).unwrap_err().code(), Code::DimOverflow, "{text}");
            assert_eq!(b.fact(text, Relation::Ge, 1).unwrap_err().code(), Code::DimOverflow, "{text}");
        }
    }
}

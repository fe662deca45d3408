//! Tokens of the text form: from characters to words, numbers, quoted texts and signs, each with its place.
//!
//! In: the text. Out: one token at a time, so that memory does not grow with the text. A token that cannot be read is
//! `Kind::Bad` and becomes an error where the parser meets it. `Source` builds the place of an error from a span.

use crate::error::{Code, Error, Place, Source as SourceLine};
use crate::name::{is_name_part, is_name_start, quoted_length};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word: letters, digits, `_`, `?` and `.`, not beginning with a digit or `.`.
    Ident,
    /// Digits alone.
    Int,
    /// Digits with a point or an exponent.
    Float,
    /// A text in double quotes.
    Str,
    /// A symbol in single quotes.
    Symbol,
    /// `%name`
    Value,
    /// `%"any name"`
    ValueQuoted,
    /// `%12`: a value without a name.
    ValueNumber,
    /// `@name`
    At,
    /// `@"any name"`
    AtQuoted,
    /// Punctuation.
    Sign(&'static str),
    /// The end of the text.
    End,
    /// Something that is no token, and why.
    Bad(&'static str),
}

/// A stretch of the text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last.
    pub end: usize,
}

impl Span {
    /// From the beginning of this one to the end of the other.
    pub fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end.max(self.end) }
    }
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it stands.
    pub span: Span,
}

impl Kind {
    /// Whether it names a value.
    pub fn is_value(self) -> bool {
        matches!(self, Kind::Value | Kind::ValueQuoted | Kind::ValueNumber)
    }

    /// Whether it is a name after `@`.
    pub fn is_at(self) -> bool {
        matches!(self, Kind::At | Kind::AtQuoted)
    }
}

/// The text with its name, for errors.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The text.
    pub text: &'a str,
    /// The name of its file, if it has one.
    pub file: Option<&'a str>,
}

impl<'a> Source<'a> {
    /// The place of a span: its line, with a caret under the part of the span that is on it.
    pub fn place(&self, span: Span) -> Place {
        let start = span.start.min(self.text.len());
        let line_start = self.text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |i| start + i);
        let line = self.text[line_start..line_end].trim_end_matches('\r');
        let covered =
            self.text.get(start..span.end.clamp(start, line_end)).unwrap_or("").trim_end_matches('\r');
        Place::Source(Box::new(SourceLine {
            file: self.file.map(str::to_string),
            line: 1 + self.text[..start].bytes().filter(|b| *b == b'\n').count(),
            column: 1 + self.text[line_start..start].chars().count(),
            length: covered.chars().count().max(1),
            text: line.to_string(),
        }))
    }

    /// An error at a span.
    pub fn error(&self, code: Code, span: Span, message: impl Into<String>) -> Error {
        Error::new(code, message).at(self.place(span))
    }

    /// The text of a span.
    pub fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start..span.end]
    }
}

/// Reads the token that begins at or after byte `at`, skipping blanks and comments.
pub fn lex(text: &str, at: usize) -> Token {
    let start = skip_blank(text, at);
    let rest = &text[start..];
    let (kind, length) = match rest.chars().next() {
        None => (Kind::End, 0),
        Some('"') => quoted(rest, '"', Kind::Str),
        Some('\'') => quoted(rest, '\'', Kind::Symbol),
        Some('%') => after_percent(rest),
        Some('@') => after_at(rest),
        Some(c) if c.is_ascii_digit() => number(rest),
        Some(c) if is_name_start(c) => (Kind::Ident, name_length(rest)),
        Some(c) => match sign(rest.as_bytes()) {
            Some(sign) => (Kind::Sign(sign), sign.len()),
            None => (Kind::Bad("this character has no meaning here"), c.len_utf8()),
        },
    };
    Token { kind, span: Span { start, end: start + length } }
}

/// The longest sign that the text begins with.
fn sign(rest: &[u8]) -> Option<&'static str> {
    Some(match rest {
        [b'.', b'.', b'.', ..] => "...",
        [b'-', b'>', ..] => "->",
        [b'=', b'=', ..] => "==",
        [b'>', b'=', ..] => ">=",
        [b'<', b'=', ..] => "<=",
        [b'(', ..] => "(",
        [b')', ..] => ")",
        [b'[', ..] => "[",
        [b']', ..] => "]",
        [b'{', ..] => "{",
        [b'}', ..] => "}",
        [b'<', ..] => "<",
        [b'>', ..] => ">",
        [b',', ..] => ",",
        [b';', ..] => ";",
        [b':', ..] => ":",
        [b'=', ..] => "=",
        [b'+', ..] => "+",
        [b'-', ..] => "-",
        [b'*', ..] => "*",
        [b'/', ..] => "/",
        _ => return None,
    })
}

fn skip_blank(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        at += rest.len() - rest.trim_start().len();
        if !text[at..].starts_with("//") {
            return at;
        }
        at = text[at..].find('\n').map_or(text.len(), |i| at + i);
    }
}

fn name_length(rest: &str) -> usize {
    rest.find(|c| !is_name_part(c)).unwrap_or(rest.len())
}

fn quoted(rest: &str, quote: char, kind: Kind) -> (Kind, usize) {
    match quoted_length(rest, quote) {
        Ok(length) => (kind, length),
        Err(length) => (Kind::Bad("this quote is not closed on its line"), length),
    }
}

fn after_percent(rest: &str) -> (Kind, usize) {
    let name = &rest[1..];
    match name.chars().next() {
        Some('"') => {
            let (kind, length) = quoted(name, '"', Kind::ValueQuoted);
            (kind, length + 1)
        }
        Some(c) if c.is_ascii_digit() => {
            let length = name_length(name);
            let digits = name[..length].bytes().all(|b| b.is_ascii_digit());
            let bad = Kind::Bad("a name that begins with a digit must stand in quotes: `%\"0a\"`");
            (if digits { Kind::ValueNumber } else { bad }, length + 1)
        }
        Some(c) if is_name_start(c) => (Kind::Value, 1 + name_length(name)),
        _ => (Kind::Sign("%"), 1),
    }
}

fn after_at(rest: &str) -> (Kind, usize) {
    let name = &rest[1..];
    match name.chars().next() {
        Some('"') => {
            let (kind, length) = quoted(name, '"', Kind::AtQuoted);
            (kind, length + 1)
        }
        Some(c) if is_name_start(c) => (Kind::At, 1 + name_length(name)),
        _ => (Kind::Bad("expected a name after `@`"), 1),
    }
}

fn number(rest: &str) -> (Kind, usize) {
    let bytes = rest.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut length = digits(0);
    let mut kind = Kind::Int;
    if bytes.get(length) == Some(&b'.') && digits(length + 1) > 0 {
        length += 1 + digits(length + 1);
        kind = Kind::Float;
    }
    if let Some(b'e' | b'E') = bytes.get(length) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = length + 1 + sign;
        if exponent < bytes.len() && digits(exponent) > 0 {
            length = exponent + digits(exponent);
            kind = Kind::Float;
        }
    }
    match name_length(&rest[length..]) {
        0 => (kind, length),
        more => (Kind::Bad("a number runs into a name"), length + more),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        let mut at = 0;
        let mut kinds = Vec::new();
        loop {
            let token = lex(text, at);
            at = token.span.end;
            match token.kind {
                Kind::End => return kinds,
                kind => kinds.push(kind),
            }
        }
    }

    #[test]
    fn tokens_are_told_apart() {
        use Kind::*;
        assert_eq!(
            kinds("%x: f32[N, 'a b'] = @\"f g\" %0, %\"1\" // %y\n-1.5e-3"),
            [
                Value,
                Sign(":"),
                Ident,
                Sign("["),
                Ident,
                Sign(","),
                Symbol,
                Sign("]"),
                Sign("="),
                AtQuoted,
                ValueNumber,
                Sign(","),
                ValueQuoted,
                Sign("-"),
                Float
            ]
        );
        assert_eq!(kinds("1e5 1.5 12 a.b ?0 ..."), [Float, Float, Int, Ident, Ident, Sign("...")]);
        assert!(matches!(kinds("\"abc")[0], Bad(_)));
        assert!(matches!(kinds("12ab")[0], Bad(_)));
        assert!(matches!(kinds("%1x")[0], Bad(_)));
    }

    #[test]
    fn places_count_lines_and_characters() {
        let source = Source { text: "é\n  äb cd\r\nx", file: None };
        let start = source.text.find("cd").unwrap();
        let Place::Source(place) = source.place(Span { start, end: start + 4 }) else { panic!() };
        assert_eq!((place.line, place.column, place.length), (2, 6, 2));
        assert_eq!(place.text, "  äb cd");
    }
}

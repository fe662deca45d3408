//! A position in the text with two tokens of lookahead, and the small things that every part of the grammar reads:
//! signs, words, quoted texts, names. Errors say what was expected and what stands there instead.

use super::lexer::{Kind, Source, Span, Token, lex};
use crate::dim::{DimToken, DimTokens};
use crate::error::{Code, Error, Result};
use crate::name::unescape;
use std::borrow::Cow;

/// Where reading has come to.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    /// The text.
    pub source: Source<'a>,
    here: Token,
    next: Token,
    last: Span,
}

/// The name of a value in a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ValueName<'a> {
    /// `%12`: stands for a value without a name.
    Number(&'a str),
    /// `%x` or `%"x"`
    Given(Cow<'a, str>),
}

impl<'a> Cursor<'a> {
    /// At the beginning of the text.
    pub fn new(source: Source<'a>) -> Cursor<'a> {
        let here = lex(source.text, 0);
        let next = lex(source.text, here.span.end);
        Cursor { source, here, next, last: Span { start: 0, end: 0 } }
    }

    /// The token here.
    pub fn peek(&self) -> Kind {
        self.here.kind
    }

    /// The token after it.
    pub fn peek_next(&self) -> Kind {
        self.next.kind
    }

    /// The text of the token after it.
    pub fn next_text(&self) -> &'a str {
        self.source.slice(self.next.span)
    }

    /// Where the token here stands.
    pub fn span(&self) -> Span {
        self.here.span
    }

    /// Where the token before stands.
    pub fn last(&self) -> Span {
        self.last
    }

    /// Takes the token here.
    pub fn advance(&mut self) -> Token {
        let taken = self.here;
        self.last = taken.span;
        self.here = self.next;
        self.next = lex(self.source.text, self.here.span.end);
        taken
    }

    /// Takes the first byte of the token here and reads what is left of it afresh.
    fn split(&mut self) {
        let start = self.here.span.start;
        self.last = Span { start, end: start + 1 };
        self.here = lex(self.source.text, start + 1);
        self.next = lex(self.source.text, self.here.span.end);
    }

    /// An error at the token here.
    pub fn error(&self, message: impl Into<String>) -> Error {
        match self.here.kind {
            Kind::Bad(why) => self.source.error(Code::Syntax, self.here.span, why),
            _ => self.source.error(Code::Syntax, self.here.span, message),
        }
    }

    /// An error that says what should stand here.
    pub fn expected(&self, what: &str) -> Error {
        const SHOWN: usize = 40;
        let found = match self.here.kind {
            Kind::End => "the end of the text".to_string(),
            _ => {
                let text = self.source.slice(self.here.span);
                let short: String = text.chars().take(SHOWN).collect();
                if short.len() < text.len() { format!("`{short}…`") } else { format!("`{short}`") }
            }
        };
        self.error(format!("expected {what}, found {found}"))
    }

    /// Whether a sign stands here.
    pub fn at(&self, sign: &'static str) -> bool {
        self.here.kind == Kind::Sign(sign)
    }

    /// Takes a sign if it stands here.
    pub fn eat(&mut self, sign: &'static str) -> bool {
        let found = self.at(sign);
        if found {
            self.advance();
        }
        found
    }

    /// Takes a sign that must stand here.
    pub fn expect(&mut self, sign: &'static str) -> Result<()> {
        if self.eat(sign) {
            return Ok(());
        }
        if sign == ">" && self.at(">=") {
            self.split();
            return Ok(());
        }
        Err(self.expected(&format!("`{sign}`")))
    }

    /// After an item of a list: takes a comma, or the sign that closes the list. Says whether the list goes on.
    pub fn list_goes_on(&mut self, close: &'static str) -> Result<bool> {
        if self.eat(",") {
            return Ok(!self.eat(close));
        }
        if self.eat(close) {
            return Ok(false);
        }
        Err(self.expected(&format!("`,` or `{close}`")))
    }

    /// Whether a certain word stands here.
    pub fn at_word(&self, word: &str) -> bool {
        self.here.kind == Kind::Ident && self.source.slice(self.here.span) == word
    }

    /// Takes a certain word if it stands here.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// Takes a certain word.
    pub fn expect_word(&mut self, word: &str) -> Result<()> {
        match self.eat_word(word) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{word}`"))),
        }
    }

    /// Takes the first line of a text, `lawson-kernel 1`: what the text is, and the version in which it is written.
    pub fn header(&mut self, header: &str, version: &str) -> Result<()> {
        let help = format!("the first line of a text is `{header} {version}`");
        for (n, word) in header.split('-').enumerate() {
            if !((n == 0 || self.eat("-")) && self.eat_word(word)) {
                return Err(self.expected(&format!("`{header}` and a version")).help(help));
            }
        }
        let token = self.advance();
        match self.source.slice(token.span) {
            found if found == version => Ok(()),
            other => {
                let message = format!("this Lawson reads version {version}, not `{other}`");
                Err(self.source.error(Code::Version, token.span, message).help(help))
            }
        }
    }

    /// Takes any word.
    pub fn word(&mut self, what: &str) -> Result<(&'a str, Span)> {
        if self.here.kind != Kind::Ident {
            return Err(self.expected(what));
        }
        let span = self.advance().span;
        Ok((self.source.slice(span), span))
    }

    /// The text of a quoted token that begins with `lead` bytes before its quote.
    fn unquote(&self, span: Span, lead: usize) -> Result<Cow<'a, str>> {
        let inside = Span { start: span.start + lead + 1, end: span.end - 1 };
        unescape(self.source.slice(inside)).map_err(|at| {
            let start = inside.start + at;
            self.source
                .error(Code::Syntax, Span { start, end: start + 2 }, "this escape has no meaning")
                .help("the escapes are \\\" \\' \\\\ \\n \\t \\r and \\u{…}")
        })
    }

    /// Takes a text in double quotes.
    pub fn string(&mut self, what: &str) -> Result<(Cow<'a, str>, Span)> {
        if self.here.kind != Kind::Str {
            return Err(self.expected(what));
        }
        let span = self.advance().span;
        Ok((self.unquote(span, 0)?, span))
    }

    /// Takes a name: a word, or any text in double quotes.
    pub fn name(&mut self, what: &str) -> Result<(Cow<'a, str>, Span)> {
        match self.here.kind {
            Kind::Str => self.string(what),
            _ => self.word(what).map(|(word, span)| (Cow::Borrowed(word), span)),
        }
    }

    /// Takes a name after `@`.
    pub fn at_name(&mut self, what: &str) -> Result<(Cow<'a, str>, Span)> {
        let token = self.here;
        let name = match token.kind {
            Kind::At => Cow::Borrowed(&self.source.slice(token.span)[1..]),
            Kind::AtQuoted => self.unquote(token.span, 1)?,
            _ => return Err(self.expected(what)),
        };
        self.advance();
        Ok((name, token.span))
    }

    /// Takes the name of a value.
    pub fn value_name(&mut self) -> Result<(ValueName<'a>, Span)> {
        let token = self.here;
        let bare = || &self.source.slice(token.span)[1..];
        let name = match token.kind {
            Kind::ValueNumber => ValueName::Number(bare()),
            Kind::Value => ValueName::Given(Cow::Borrowed(bare())),
            Kind::ValueQuoted => ValueName::Given(self.unquote(token.span, 1)?),
            _ => return Err(self.expected("a value, such as `%x`")),
        };
        self.advance();
        Ok((name, token.span))
    }
}

impl DimTokens for Cursor<'_> {
    fn peek_dim(&mut self) -> DimToken {
        let text = self.source.slice(self.here.span);
        match self.here.kind {
            Kind::Int => text.parse().map_or(DimToken::Other, DimToken::Int),
            Kind::Ident => DimToken::Name(text.to_string()),
            Kind::Symbol => match self.unquote(self.here.span, 0) {
                Ok(name) => DimToken::Name(name.into_owned()),
                Err(_) => DimToken::Other,
            },
            // `N %8` and `N%M`: no value can stand where an operator is expected.
            kind if kind.is_value() => DimToken::Sign('%'),
            Kind::Sign(sign) if sign.len() == 1 => {
                sign.chars().next().map_or(DimToken::Other, DimToken::Sign)
            }
            _ => DimToken::Other,
        }
    }

    fn take_dim(&mut self) {
        if self.here.kind.is_value() {
            self.split();
        } else {
            self.advance();
        }
    }

    fn dim_error(&mut self, message: String) -> Error {
        match self.here.kind {
            Kind::Symbol => match self.unquote(self.here.span, 0) {
                Err(error) => error,
                Ok(_) => self.error(message),
            },
            _ => self.error(message),
        }
    }
}

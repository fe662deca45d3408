//! Indices as text, both ways: sums of products as dimensions are written, with axes and elements of inputs among the names.

use crate::buffer::BufferId;
use crate::index::{Atom, Index};
use crate::tree::AxisId;
use lawson_graph::syntax::{Cursor, DimToken, DimTokens, Kind};
use lawson_graph::{Dim, Result};
use std::collections::HashMap;

/// How many quotients, remainders, minima, elements and brackets one index may have.
const MAX_PARTS: usize = 64;

/// What axes and buffers are called in a text.
pub(super) trait Names {
    fn axis(&self, axis: AxisId) -> String;
    fn buffer(&self, buffer: BufferId) -> String;
}

/// The text of an index.
pub(super) fn index_text(index: &Index, name: &impl Names) -> String {
    let mut out = String::new();
    for (atom, c) in index.terms() {
        let negative = c.as_const().is_some_and(|c| c < 0);
        let size = if negative { -c.clone() } else { c.clone() };
        out.push_str(match (out.is_empty(), negative) {
            (true, true) => "-",
            (true, false) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        });
        let text = atom_text(atom, name);
        let alone = text.contains(' ') && !matches!(atom, Atom::Min(_) | Atom::Max(_) | Atom::At(_));
        let text = if alone && (negative || !size.is(1)) { format!("({text})") } else { text };
        match size.as_const() {
            Some(1) => {}
            _ => out.push_str(&format!("{}*", operand(&size.to_string()))),
        }
        out.push_str(&text);
    }
    let rest = index.offset();
    match (out.is_empty(), rest.as_const()) {
        (true, _) => rest.to_string(),
        (false, Some(0)) => out,
        (false, Some(c)) if c < 0 => format!("{out} - {}", c.unsigned_abs()),
        (false, _) => format!("{out} + {}", operand(&rest.to_string())),
    }
}

fn atom_text(atom: &Atom, name: &impl Names) -> String {
    let list = |members: &[Index]| {
        let members: Vec<String> = members.iter().map(|m| index_text(m, name)).collect();
        members.join(", ")
    };
    match atom {
        Atom::Axis(a) => name.axis(*a),
        Atom::Div(i, d) => format!("{} / {}", operand(&index_text(i, name)), operand(&d.to_string())),
        Atom::Mod(i, d) => format!("{} % {}", operand(&index_text(i, name)), operand(&d.to_string())),
        Atom::Min(m) => format!("min({})", list(m)),
        Atom::Max(m) => format!("max({})", list(m)),
        Atom::At(d) => format!("clamp({}[{}], {})", name.buffer(d.buffer), list(&d.index), d.end),
    }
}

/// An operand of `*`, `/` or `%`: what is more than a word or a number stands in brackets.
fn operand(text: &str) -> String {
    let simple = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '?' | '.'));
    let quoted = text.len() > 1 && text.starts_with('"') && text[1..].find('"') == Some(text.len() - 2);
    if simple || quoted { text.to_string() } else { format!("({text})") }
}

/// The axes and buffers as a text declares them.
#[derive(Default)]
pub(super) struct Declared {
    /// Axes that stand as words.
    pub(super) bare: HashMap<String, AxisId>,
    /// Axes that stand in quotes.
    pub(super) quoted: HashMap<String, AxisId>,
    /// Buffers.
    pub(super) buffers: HashMap<String, BufferId>,
}

impl Declared {
    /// Reads the name of a buffer.
    pub(super) fn buffer(&self, cursor: &mut Cursor<'_>) -> Result<BufferId> {
        let (name, span) = cursor.name("a buffer")?;
        self.buffers.get(name.as_ref()).copied().ok_or_else(|| {
            let message = format!("there is no buffer `{name}`");
            let error = cursor.source.error(lawson_graph::Code::UnknownName, span, message);
            error.help("buffers are declared with `in`, `out` or `scratch`")
        })
    }
}

/// Reads an index.
pub(super) fn read_index(cursor: &mut Cursor<'_>, declared: &Declared) -> Result<Index> {
    let begin = cursor.span();
    let index = Reader { cursor, declared, parts: 0 }.sum()?;
    let too_large = index.offset().is_overflow() || index.terms().iter().any(|(_, c)| c.is_overflow());
    if too_large {
        let span = begin.to(cursor.last());
        return Err(cursor.source.error(lawson_graph::Code::DimOverflow, span, "this index is too large"));
    }
    Ok(index)
}

struct Reader<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    declared: &'c Declared,
    parts: usize,
}

impl Reader<'_, '_> {
    /// Counts a part, so that no index nests deeply.
    fn part(&mut self) -> Result<()> {
        self.parts += 1;
        match self.parts > MAX_PARTS {
            true => {
                Err(self.cursor.error(format!("an index has at most {MAX_PARTS} quotients and brackets")))
            }
            false => Ok(()),
        }
    }

    fn sum(&mut self) -> Result<Index> {
        let mut total = self.term()?;
        loop {
            match self.cursor.peek_dim() {
                DimToken::Sign('+') => {
                    self.cursor.take_dim();
                    total = total + self.term()?;
                }
                DimToken::Sign('-') => {
                    self.cursor.take_dim();
                    total = total - self.term()?;
                }
                _ => return Ok(total),
            }
        }
    }

    fn term(&mut self) -> Result<Index> {
        let mut total = self.factor()?;
        loop {
            let begin = self.cursor.span();
            match self.cursor.peek_dim() {
                DimToken::Sign('*') => {
                    self.cursor.take_dim();
                    let factor = self.factor()?;
                    total = match (total.as_dim(), factor.as_dim()) {
                        (_, Some(d)) => total.scaled(d),
                        (Some(d), None) => factor.scaled(d),
                        (None, None) => {
                            let span = begin.to(self.cursor.last());
                            let message = "two axes are multiplied; one side must be free of axes";
                            return Err(self.cursor.source.error(lawson_graph::Code::Syntax, span, message));
                        }
                    };
                }
                DimToken::Sign('/') => {
                    self.cursor.take_dim();
                    total = total.floor_div(self.divisor()?);
                }
                DimToken::Sign('%') => {
                    self.cursor.take_dim();
                    total = total.modulo(self.divisor()?);
                }
                _ => return Ok(total),
            }
        }
    }

    fn divisor(&mut self) -> Result<Dim> {
        self.part()?;
        let begin = self.cursor.span();
        let divisor = self.factor()?;
        divisor.as_dim().cloned().ok_or_else(|| {
            let span = begin.to(self.cursor.last());
            self.cursor.source.error(lawson_graph::Code::Syntax, span, "a divisor is free of axes")
        })
    }

    fn factor(&mut self) -> Result<Index> {
        if self.cursor.peek() == Kind::Str {
            let (name, span) = self.cursor.string("an axis")?;
            return match self.declared.quoted.get(name.as_ref()) {
                Some(axis) => Ok(Index::axis(*axis)),
                None => {
                    let message = format!("there is no axis \"{name}\" in quotes");
                    Err(self.cursor.source.error(lawson_graph::Code::UnknownName, span, message))
                }
            };
        }
        // A symbol in quotes is a parameter, whatever axes are called.
        let is_word = self.cursor.peek() == Kind::Ident;
        match self.cursor.peek_dim() {
            DimToken::Int(value) => match i64::try_from(value) {
                Ok(value) => {
                    self.cursor.take_dim();
                    Ok(Index::constant(value))
                }
                Err(_) => Err(self.cursor.error("this number does not fit in 63 bits")),
            },
            DimToken::Sign('-') => {
                self.part()?;
                self.cursor.take_dim();
                if self.cursor.peek_dim() == DimToken::Int(i64::MIN.unsigned_abs()) {
                    self.cursor.take_dim();
                    return Ok(Index::constant(i64::MIN));
                }
                Ok(self.factor()?.scaled(&Dim::from(-1)))
            }
            DimToken::Sign('(') => {
                self.part()?;
                self.cursor.take_dim();
                let inside = self.sum()?;
                self.cursor.expect(")")?;
                Ok(inside)
            }
            DimToken::Name(name) => {
                self.cursor.take_dim();
                if is_word && (name == "min" || name == "max") && self.cursor.at("(") {
                    return self.extremum(if name == "min" { Index::min } else { Index::max });
                }
                if is_word && name == "clamp" && self.cursor.at("(") {
                    return self.datum();
                }
                match self.declared.bare.get(&name) {
                    Some(axis) if is_word => Ok(Index::axis(*axis)),
                    _ => Ok(Index::constant(Dim::symbol(name))),
                }
            }
            DimToken::Sign(_) | DimToken::Other => Err(self
                .cursor
                .expected("an index: a number, an axis, a parameter, or an expression of them")),
        }
    }

    /// `(ids[i, 0], 768)`, after `clamp`.
    fn datum(&mut self) -> Result<Index> {
        self.part()?;
        self.cursor.expect("(")?;
        let buffer = self.declared.buffer(self.cursor)?;
        self.cursor.expect("[")?;
        let mut index = Vec::new();
        let mut more = !self.cursor.eat("]");
        while more {
            self.part()?;
            index.push(self.sum()?);
            more = self.cursor.list_goes_on("]")?;
        }
        self.cursor.expect(",")?;
        let end = self.cursor.dim()?;
        self.cursor.expect(")")?;
        Ok(Index::data(buffer, index, end))
    }

    fn extremum(&mut self, join: fn(Index, Index) -> Index) -> Result<Index> {
        self.part()?;
        self.cursor.expect("(")?;
        let mut total = self.sum()?;
        while self.cursor.list_goes_on(")")? {
            self.part()?;
            let next = self.sum()?;
            total = join(total, next);
        }
        Ok(total)
    }
}

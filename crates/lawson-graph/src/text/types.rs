//! Reading types, shapes, facts, placements and attributes. Printing them is their `Display`.

use super::cursor::Cursor;
use super::lexer::{Kind, Span};
use crate::attr::{Attr, CANONICAL_NAN};
use crate::dim::{Dim, Fact, Relation, parse_dim_tokens};
use crate::dtype::DType;
use crate::error::{Code, Result};
use crate::types::{Placement, SequenceType, Shape, Sharding, TensorType, Type};
use std::borrow::Cow;

/// How deeply lists and types may nest.
const MAX_NESTING: usize = 32;
/// How many dimensions a shape may have.
const MAX_RANK: usize = 256;

/// The attributes of a node, with where the name of each stands.
pub(super) struct ReadAttrs<'a> {
    pub(super) attrs: Vec<(String, Attr)>,
    pub(super) spans: Vec<(&'a str, Span)>,
}

impl<'a> Cursor<'a> {
    /// A dimension expression.
    pub fn dim(&mut self) -> Result<Dim> {
        parse_dim_tokens(self)
    }

    /// A type: `f32[N, 3]`, `seq<f32[?0]; 8; ?0 <= N>`, `seq<f32[?0, 3]; 8; ?0 <= N; rank >= 1>`, `opt<i64[]>`.
    pub(super) fn ty(&mut self) -> Result<Type> {
        self.nested_type(0)
    }

    fn nested_type(&mut self, depth: usize) -> Result<Type> {
        if depth > MAX_NESTING {
            return Err(self.error("this type is nested too deeply"));
        }
        if self.peek() == Kind::Ident && self.peek_next() == Kind::Sign("<") {
            if self.eat_word("opt") {
                self.expect("<")?;
                let inner = self.nested_type(depth + 1)?;
                self.expect(">")?;
                return Ok(Type::Optional(Box::new(inner)));
            }
            if self.eat_word("seq") {
                self.expect("<")?;
                return self.sequence_type().map(Type::Sequence);
            }
        }
        self.tensor_type().map(Type::Tensor)
    }

    fn sequence_type(&mut self) -> Result<SequenceType> {
        let element = self.tensor_type()?;
        self.expect(";")?;
        let max_len = self.dim()?;
        let (mut open, mut least_rank) = (Vec::new(), element.rank());
        while self.eat(";") {
            if self.eat_word("rank") {
                least_rank = self.least_rank(&element)?;
                break;
            }
            let symbol = SequenceType::open_symbol(open.len());
            let (name, span) = self.word("an open dimension, such as `?0`")?;
            if name != symbol.name() {
                let message = format!("expected `{symbol}`: open dimensions are bounded in order");
                return Err(self.source.error(Code::Syntax, span, message));
            }
            self.expect("<=")?;
            open.push(self.dim()?);
        }
        self.expect(">")?;
        Ok(SequenceType { element, least_rank, open, max_len })
    }

    /// The least rank of a sequence's elements: `>= 1`.
    fn least_rank(&mut self, element: &TensorType) -> Result<usize> {
        self.expect(">=")?;
        let least = self.dim()?;
        let rank = least.as_const().and_then(|n| usize::try_from(n).ok());
        rank.filter(|n| *n <= element.rank()).ok_or_else(|| {
            self.error(format!("expected a number from 0 to {}, the rank of {element}", element.rank()))
        })
    }

    fn tensor_type(&mut self) -> Result<TensorType> {
        let (name, span) = self.word("a type, such as `f32[N, 3]`")?;
        let dtype: DType = name.parse().map_err(|e: crate::Error| e.at(self.source.place(span)))?;
        self.expect("[")?;
        let mut dims = Vec::new();
        let mut more = !self.eat("]");
        while more {
            if dims.len() == MAX_RANK {
                return Err(self.error(format!("a shape has at most {MAX_RANK} dimensions")));
            }
            dims.push(self.dim()?);
            more = self.list_goes_on("]")?;
        }
        Ok(TensorType::new(dtype, Shape::from(dims)))
    }

    /// A fact: `N >= 1`.
    pub fn fact(&mut self) -> Result<Fact> {
        let left = self.dim()?;
        let relation = match self.peek() {
            Kind::Sign("==") => Relation::Eq,
            Kind::Sign(">=") => Relation::Ge,
            Kind::Sign("<=") => Relation::Le,
            Kind::Sign(">") => Relation::Gt,
            Kind::Sign("<") => Relation::Lt,
            _ => return Err(self.expected("a comparison: `==`, `>=`, `<=`, `>` or `<`")),
        };
        self.advance();
        Ok(Fact { left, relation, right: self.dim()? })
    }

    /// Where a value lives: `@device("cpu:0")`, `@shard("mesh", [x, _])`, either, both or neither.
    pub(super) fn placement(&mut self) -> Result<Placement> {
        let mut placement = Placement::default();
        while self.peek().is_at() {
            let (what, span) = self.at_name("`@device` or `@shard`")?;
            let twice = match &*what {
                "device" => placement.device.is_some(),
                "shard" => placement.sharding.is_some(),
                _ => {
                    let message = format!("`@{what}` says nothing about where a value lives");
                    return Err(self
                        .source
                        .error(Code::Syntax, span, message)
                        .help("write `@device(\"cpu:0\")` or `@shard(\"mesh\", [x, _])`"));
                }
            };
            if twice {
                let message = format!("`@{what}` stands twice");
                return Err(self.source.error(Code::DuplicateName, span, message));
            }
            self.expect("(")?;
            if what == "device" {
                placement.device = Some(self.string("a device in quotes")?.0.into_owned());
            } else {
                placement.sharding = Some(self.sharding()?);
            }
            self.expect(")")?;
        }
        Ok(placement)
    }

    fn sharding(&mut self) -> Result<Sharding> {
        let mesh = self.string("the name of a mesh in quotes")?.0.into_owned();
        self.expect(",")?;
        self.expect("[")?;
        let mut axes = Vec::new();
        let mut more = !self.eat("]");
        while more {
            axes.push(if self.eat_word("_") {
                None
            } else {
                Some(self.name("a mesh axis, or `_`")?.0.into_owned())
            });
            more = self.list_goes_on("]")?;
        }
        Ok(Sharding { mesh, axes })
    }

    /// The attributes of a node in braces, if there are any.
    pub(super) fn attrs(&mut self) -> Result<ReadAttrs<'a>> {
        let mut read = ReadAttrs { attrs: Vec::new(), spans: Vec::new() };
        let mut more = self.eat("{") && !self.eat("}");
        while more {
            let (name, span) = self.word("the name of an attribute")?;
            if read.spans.iter().any(|(n, _)| *n == name) {
                let message = format!("the attribute `{name}` stands twice");
                return Err(self.source.error(Code::DuplicateName, span, message));
            }
            self.expect("=")?;
            let value = self.attr(0)?;
            read.attrs.push((name.to_string(), value));
            read.spans.push((name, span.to(self.last())));
            more = self.list_goes_on("}")?;
        }
        Ok(read)
    }

    fn attr(&mut self, depth: usize) -> Result<Attr> {
        if depth > MAX_NESTING {
            return Err(self.error("this list is nested too deeply"));
        }
        match self.peek() {
            Kind::Str => Ok(Attr::Str(self.string("a text")?.0.into_owned())),
            Kind::Sign("[") => {
                self.advance();
                let mut items = Vec::new();
                let mut more = !self.eat("]");
                while more {
                    items.push(self.attr(depth + 1)?);
                    more = self.list_goes_on("]")?;
                }
                Ok(Attr::List(items))
            }
            Kind::Float => self.float(1.0),
            Kind::Sign("-") if self.peek_next() == Kind::Float => {
                self.advance();
                self.float(-1.0)
            }
            Kind::Sign("-") if self.peek_next() == Kind::Ident => {
                // `-nan` and `-inf` are floats, `-N + 8` is a dimension.
                if matches!(self.next_text(), "inf" | "nan") {
                    self.advance();
                    return self.float(-1.0);
                }
                self.dim().map(Attr::Dim)
            }
            Kind::Ident if self.at_word("true") || self.at_word("false") => {
                let value = self.at_word("true");
                self.advance();
                Ok(Attr::Bool(value))
            }
            Kind::Ident if self.at_word("inf") || self.at_word("nan") => self.float(1.0),
            Kind::Ident if matches!(self.peek_next(), Kind::Sign("[" | "<")) => self.ty().map(Attr::Type),
            Kind::Int | Kind::Ident | Kind::Symbol | Kind::Sign("-" | "(") => self.dim().map(Attr::Dim),
            _ => Err(self.expected("a value: a number, a word, a text, a type or a list")),
        }
    }

    /// A float without its sign, multiplied by `sign`.
    fn float(&mut self, sign: f64) -> Result<Attr> {
        let token = self.advance();
        let value = match self.source.slice(token.span) {
            "inf" => f64::INFINITY,
            "nan" => f64::from_bits(self.nan_bits()?),
            digits => {
                let value: f64 = digits.parse().unwrap_or(f64::INFINITY);
                if value.is_infinite() {
                    let message = format!("`{digits}` does not fit in f64");
                    return Err(self.source.error(Code::Literal, token.span, message));
                }
                value
            }
        };
        let negative = if sign < 0.0 { 1u64 << 63 } else { 0 };
        Ok(Attr::Float(f64::from_bits(value.to_bits() | negative)))
    }

    /// After `nan`: the bits of one that is not the usual one, `("7ff8000000000001")`.
    fn nan_bits(&mut self) -> Result<u64> {
        if !self.eat("(") {
            return Ok(CANONICAL_NAN);
        }
        let (digits, span): (Cow<'_, str>, Span) = self.string("the bits of a NaN in quotes")?;
        self.expect(")")?;
        match u64::from_str_radix(&digits, 16) {
            Ok(bits) if bits >> 63 == 0 && f64::from_bits(bits).is_nan() => Ok(bits),
            _ => Err(self.source.error(Code::Literal, span, "these are not the bits of a NaN")),
        }
    }
}

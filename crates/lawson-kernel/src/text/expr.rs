//! Reading expressions: `*` and `/` bind before `+` and `-`, all to the left; everything else is a function.

use super::index::read_index;
use super::parse::Parser;
use crate::expr::{Condition, Expr, ExprId, Extremum, Guard, Load, Scalar};
use crate::index::Index;
use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};
use lawson_graph::syntax::{Kind, Span, ValueName};
use lawson_graph::{Code, DType, Error, Result, number};

/// How deep brackets and functions may nest.
const MAX_NESTING: usize = 64;

impl Parser<'_> {
    /// An expression.
    pub(super) fn expr(&mut self) -> Result<ExprId> {
        if self.nesting == MAX_NESTING {
            let deep = format!("expressions nest at most {MAX_NESTING} deep");
            return Err(self.cursor.error(deep).help("name a part of it with `let`"));
        }
        self.nesting += 1;
        let value = self.sum();
        self.nesting -= 1;
        value
    }

    fn sum(&mut self) -> Result<ExprId> {
        let mut total = self.product()?;
        loop {
            let kind = match self.cursor.peek() {
                Kind::Sign("+") => BinaryKind::Add,
                Kind::Sign("-") => BinaryKind::Sub,
                _ => return Ok(total),
            };
            self.cursor.advance();
            let next = self.product()?;
            total = self.kernel.binary(kind, total, next);
        }
    }

    fn product(&mut self) -> Result<ExprId> {
        let mut total = self.operand()?;
        loop {
            let kind = match self.cursor.peek() {
                Kind::Sign("*") => BinaryKind::Mul,
                Kind::Sign("/") => BinaryKind::Div,
                _ => return Ok(total),
            };
            self.cursor.advance();
            let next = self.operand()?;
            total = self.kernel.binary(kind, total, next);
        }
    }

    fn operand(&mut self) -> Result<ExprId> {
        match self.cursor.peek() {
            Kind::Int | Kind::Float | Kind::Sign("-") => self.number(),
            Kind::Sign("(") => {
                self.cursor.advance();
                let value = self.expr()?;
                let value = if self.cursor.at_word("if") { self.guard(value)? } else { value };
                self.cursor.expect(")")?;
                Ok(value)
            }
            kind if kind.is_value() => self.named_value(),
            Kind::Str => self.name_in_expr(),
            Kind::Ident => match self.cursor.source.slice(self.cursor.span()) {
                "inf" | "nan" => self.number(),
                word @ ("true" | "false") => {
                    self.cursor.advance();
                    Ok(self.kernel.constant(Scalar::int(DType::Bool, i64::from(word == "true"))))
                }
                _ if self.cursor.peek_next() == Kind::Sign("(") => self.function(),
                _ => self.name_in_expr(),
            },
            _ => Err(self.cursor.expected("a value")),
        }
    }

    /// `%3`
    fn named_value(&mut self) -> Result<ExprId> {
        let (name, span) = self.cursor.value_name()?;
        self.lets.get(&value_text(&name)).copied().ok_or_else(|| {
            let message = format!("`%{}` is not defined before", value_text(&name));
            self.cursor.source.error(Code::UnknownName, span, message)
        })
    }

    /// `A[i, j]`, or the result of an accumulator.
    fn name_in_expr(&mut self) -> Result<ExprId> {
        if self.cursor.peek_next() == Kind::Sign("[") {
            let (buffer, index) = self.element()?;
            return Ok(self.kernel.load(buffer, index));
        }
        let acc = self.acc_name()?;
        Ok(self.kernel.add(Expr::Result(acc, 0)))
    }

    /// `if 0 <= i < 8 and … else x`, after the load that it is about.
    fn guard(&mut self, value: ExprId) -> Result<ExprId> {
        let span = self.cursor.span();
        let load = match self.kernel.expr(value) {
            Expr::Load(Load { buffer, index, guard: None }) => (*buffer, index.clone()),
            _ => {
                let message = "only an element of a buffer can be read on a condition";
                return Err(self
                    .cursor
                    .source
                    .error(Code::Syntax, span, message)
                    .help("write `select` instead"));
            }
        };
        self.cursor.advance();
        let mut conditions = Vec::new();
        loop {
            conditions.push(self.condition()?);
            if !self.cursor.eat_word("and") {
                break;
            }
        }
        self.cursor.expect_word("else")?;
        let otherwise = self.expr()?;
        Ok(self.kernel.load_guarded(load.0, load.1, Guard { conditions, otherwise }))
    }

    fn condition(&mut self) -> Result<Condition> {
        if self.cursor.peek() != Kind::Int || self.cursor.source.slice(self.cursor.span()) != "0" {
            return Err(self.cursor.expected("a condition, such as `0 <= i < 8`"));
        }
        self.cursor.advance();
        self.cursor.expect("<=")?;
        let index = self.index()?;
        self.cursor.expect("<")?;
        Ok(Condition { index, end: self.cursor.dim()? })
    }

    pub(super) fn index(&mut self) -> Result<Index> {
        read_index(&mut self.cursor, &self.declared)
    }

    fn function(&mut self) -> Result<ExprId> {
        let (name, span) = self.cursor.word("a function")?;
        self.cursor.expect("(")?;
        let value = match name {
            "index" => {
                let index = self.index()?;
                self.cursor.expect(",")?;
                Expr::Index(index, self.dtype()?)
            }
            "cast" | "bitcast" => {
                let operand = self.expr()?;
                self.cursor.expect(",")?;
                let to = self.dtype()?;
                if name == "cast" { Expr::Cast(operand, to) } else { Expr::Bitcast(operand, to) }
            }
            "state" | "other" | "result" => {
                let acc = self.acc_name()?;
                let i = if self.cursor.eat(",") { self.count("a component")? } else { 0 };
                match name {
                    "state" => Expr::State(acc, i),
                    "other" => Expr::Other(acc, i),
                    _ => Expr::Result(acc, i),
                }
            }
            _ => {
                let operands = self.operands()?;
                return self.apply(name, span, &operands);
            }
        };
        self.cursor.expect(")")?;
        Ok(self.kernel.add(value))
    }

    /// The operands of a function and the bracket after them.
    fn operands(&mut self) -> Result<Vec<ExprId>> {
        let mut operands = vec![self.expr()?];
        while self.cursor.list_goes_on(")")? {
            operands.push(self.expr()?);
        }
        Ok(operands)
    }

    fn apply(&mut self, name: &str, span: Span, operands: &[ExprId]) -> Result<ExprId> {
        let wrong_count = |takes: usize| -> Result<ExprId> {
            let message = format!("`{name}` takes {takes} operands, not {}", operands.len());
            Err(self.cursor.source.error(Code::OperandCount, span, message))
        };
        let value = if let Some(kind) = UnaryKind::from_name(name) {
            let [a] = *operands else { return wrong_count(1) };
            Expr::Unary(kind, a)
        } else if let Some(kind) = BinaryKind::from_name(name) {
            let [a, b] = *operands else { return wrong_count(2) };
            Expr::Binary(kind, a, b)
        } else if let Some(kind) = CompareKind::from_name(name) {
            let [a, b] = *operands else { return wrong_count(2) };
            Expr::Compare(kind, a, b)
        } else {
            match (name, operands) {
                ("lesser", [a, b]) => Expr::Extremum(Extremum::Min, *a, *b),
                ("greater", [a, b]) => Expr::Extremum(Extremum::Max, *a, *b),
                ("lesser" | "greater", _) => return wrong_count(2),
                ("fma", [a, b, c]) => Expr::Fma(*a, *b, *c),
                ("select", [c, a, b]) => Expr::Select(*c, *a, *b),
                ("fma" | "select", _) => return wrong_count(3),
                _ => {
                    let message = format!("there is no function `{name}`");
                    return Err(self.cursor.source.error(Code::UnknownName, span, message));
                }
            }
        };
        Ok(self.kernel.add(value))
    }

    fn number(&mut self) -> Result<ExprId> {
        let scalar = self.scalar()?;
        Ok(self.kernel.constant(scalar))
    }

    /// `1.0`, `-3:i32`, `nan:f64`
    pub(super) fn scalar(&mut self) -> Result<Scalar> {
        let begin = self.cursor.span();
        if let word @ ("true" | "false") = self.cursor.source.slice(begin) {
            self.cursor.advance();
            return Ok(Scalar::int(DType::Bool, i64::from(word == "true")));
        }
        let negative = self.cursor.eat("-");
        let token = self.cursor.advance();
        let digits = self.cursor.source.slice(token.span);
        let nan = if digits == "nan" && self.cursor.eat("(") { Some(self.nan_bits()?) } else { None };
        let dtype = match self.cursor.eat(":") {
            true => Some(self.dtype()?),
            false => None,
        };
        let span = begin.to(self.cursor.last());
        let wrong = |code: Code, message: String| Err(self.cursor.source.error(code, span, message));
        match (token.kind, dtype) {
            (Kind::Int, None) => wrong(Code::Literal, "a whole number needs a dtype: `3:i32`".into()),
            (Kind::Int, Some(dtype)) if !dtype.is_float() => {
                let signed = if negative { format!("-{digits}") } else { digits.to_string() };
                match signed.parse::<i64>() {
                    Ok(v) if number::wrap(dtype, v.into()) == i128::from(v) => Ok(Scalar::int(dtype, v)),
                    // Past the signed range, a u64 is kept by its bits.
                    _ => match signed.parse::<u64>() {
                        Ok(v) if dtype == DType::U64 => Ok(Scalar::int(dtype, v as i64)),
                        _ => wrong(Code::Literal, format!("`{signed}` is no {dtype}")),
                    },
                }
            }
            (Kind::Int | Kind::Float | Kind::Ident, dtype) => {
                let dtype = dtype.unwrap_or(DType::F32);
                if !dtype.is_float() {
                    return wrong(Code::Literal, format!("`{digits}` is no {dtype}"));
                }
                // An f32 is read as one, so that it is rounded once.
                let value = match (digits, nan) {
                    ("nan", Some(bits)) => Some(f64::from_bits(bits)),
                    ("nan", None) => Some(f64::NAN.copysign(1.0)),
                    ("inf", _) => Some(f64::INFINITY),
                    (digits, _) if token.kind == Kind::Ident => {
                        return wrong(Code::Syntax, format!("expected a number, found `{digits}`"));
                    }
                    (digits, _) if dtype == DType::F32 => digits.parse::<f32>().ok().map(f64::from),
                    (digits, _) => digits.parse::<f64>().ok(),
                };
                match value {
                    Some(v) => Ok(Scalar::float(dtype, if negative { -v } else { v })),
                    None => wrong(Code::Literal, format!("`{digits}` is no number")),
                }
            }
            _ => Err(self.cursor.source.error(
                Code::Syntax,
                token.span,
                format!("expected a number, found `{digits}`"),
            )),
        }
    }

    /// `"7ff8…")`: the bits of a NaN.
    fn nan_bits(&mut self) -> Result<u64> {
        let (digits, span) = self.cursor.string("the bits of a NaN")?;
        self.cursor.expect(")")?;
        match u64::from_str_radix(&digits, 16) {
            Ok(bits) if f64::from_bits(bits).is_nan() => Ok(bits),
            _ => Err(self.cursor.source.error(Code::Literal, span, "these are not the bits of a NaN")),
        }
    }

    pub(super) fn dtype(&mut self) -> Result<DType> {
        let (name, span) = self.cursor.word("a dtype")?;
        name.parse().map_err(|e: Error| e.at(self.cursor.source.place(span)))
    }

    /// A small number.
    pub(super) fn count<T: std::str::FromStr>(&mut self, what: &str) -> Result<T> {
        match (self.cursor.peek(), self.cursor.source.slice(self.cursor.span()).parse()) {
            (Kind::Int, Ok(value)) => {
                self.cursor.advance();
                Ok(value)
            }
            _ => Err(self.cursor.expected(what)),
        }
    }
}

/// The name of a value without its sign.
pub(super) fn value_text(name: &ValueName<'_>) -> String {
    match name {
        ValueName::Number(n) => (*n).to_string(),
        ValueName::Given(n) => n.to_string(),
    }
}

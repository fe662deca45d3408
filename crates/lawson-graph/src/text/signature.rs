//! Reading the head of a graph, composite or sub-graph: inputs, outputs, facts. Nothing is resolved here, because
//! facts stand after the inputs whose types they are about.

use super::cursor::{Cursor, ValueName};
use super::lexer::Span;
use crate::dim::{Fact, Facts};
use crate::error::{Code, Result};
use crate::types::{Placement, Type};

/// A value where it is defined: an input, or a result of a node.
pub(super) struct Declared<'a> {
    pub(super) name: ValueName<'a>,
    pub(super) span: Span,
    pub(super) ty: Option<(Type, Span)>,
    pub(super) placement: Placement,
}

/// An output as the head declares it.
pub(super) struct DeclaredOutput<'a> {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) ty: Option<(Type, Span)>,
    pub(super) lives_in: Option<(ValueName<'a>, Span)>,
}

/// What stands before a body.
pub(super) struct Signature<'a> {
    pub(super) inputs: Vec<Declared<'a>>,
    pub(super) outputs: Option<Vec<DeclaredOutput<'a>>>,
    pub(super) facts: Option<Vec<(Fact, Span)>>,
}

impl<'a> Cursor<'a> {
    /// `(%x: f32[N], …) -> (y: f32[N], …) where N >= 1`
    pub(super) fn signature(&mut self) -> Result<Signature<'a>> {
        self.expect("(")?;
        let mut inputs = Vec::new();
        let mut more = !self.eat(")");
        while more {
            let input = self.declared()?;
            if input.ty.is_none() {
                return Err(self.expected("`:` and the type of the input"));
            }
            if let ValueName::Number(_) = input.name {
                let message = "an input needs a name; numbers stand for values without one";
                return Err(self.source.error(Code::Syntax, input.span, message));
            }
            inputs.push(input);
            more = self.list_goes_on(")")?;
        }
        let outputs = if self.eat("->") { Some(self.outputs()?) } else { None };
        let facts = if self.eat_word("where") { Some(self.facts()?) } else { None };
        Ok(Signature { inputs, outputs, facts })
    }

    /// `%x: f32[N] @device("cpu:0")`, where all but the name may be missing.
    pub(super) fn declared(&mut self) -> Result<Declared<'a>> {
        let (name, span) = self.value_name()?;
        let ty = self.optional_type()?;
        Ok(Declared { name, span, ty, placement: self.placement()? })
    }

    fn optional_type(&mut self) -> Result<Option<(Type, Span)>> {
        if !self.eat(":") {
            return Ok(None);
        }
        let begin = self.span();
        let ty = self.ty()?;
        Ok(Some((ty, begin.to(self.last()))))
    }

    fn outputs(&mut self) -> Result<Vec<DeclaredOutput<'a>>> {
        self.expect("(")?;
        let mut outputs = Vec::new();
        let mut more = !self.eat(")");
        while more {
            let (name, span) = self.name("the name of an output")?;
            let ty = self.optional_type()?;
            let lives_in = if self.eat_word("in") { Some(self.value_name()?) } else { None };
            outputs.push(DeclaredOutput { name: name.into_owned(), span, ty, lives_in });
            more = self.list_goes_on(")")?;
        }
        Ok(outputs)
    }

    /// `where N >= 1, N % 8 == 0`, or nothing.
    pub fn where_facts(&mut self, known: &mut Facts) -> Result<()> {
        if self.eat_word("where") {
            for (fact, span) in self.facts()? {
                known.add(fact).map_err(|e| e.at(self.source.place(span)))?;
            }
        }
        Ok(())
    }

    /// `N >= 1, N % 8 == 0`, or `true` for no facts.
    pub fn facts(&mut self) -> Result<Vec<(Fact, Span)>> {
        let mut facts = Vec::new();
        if self.eat_word("true") {
            return Ok(facts);
        }
        loop {
            let begin = self.span();
            let fact = self.fact()?;
            facts.push((fact, begin.to(self.last())));
            if !self.eat(",") {
                return Ok(facts);
            }
        }
    }
}

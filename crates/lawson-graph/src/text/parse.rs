//! Reading whole texts: header, side file, composites, and graphs node by node into a `Builder`, which checks them.
//!
//! In: the text and `ParseOptions`. Out: a verified graph, or the first error with its place. Recursion follows
//! sub-graphs only and is bounded, also through composites that call one another.

use super::ParseOptions;
use super::cursor::{Cursor, ValueName};
use super::lexer::{Kind, Source, Span};
use super::literal::SPLAT_BYTES;
use super::scope::Scope;
use super::side_file::SideFile;
use super::signature::{Declared, Signature};
use super::types::ReadAttrs;
use crate::attr::AttrReader;
use crate::builder::Builder;
use crate::composite::{Function, is_primitive, nearest};
use crate::dim::Facts;
use crate::error::{Code, Error, Place, Result};
use crate::graph::{Graph, ValueId};
use crate::op::{Op, plural, same_type};
use crate::tensor::HostTensor;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// How deeply sub-graphs may nest, counted through the composites that they call.
const MAX_NESTING: usize = 64;

/// The version that the header names.
pub(super) const VERSION: &str = "1";

/// A composite that the text defines.
struct Defined {
    function: Arc<Function>,
    /// How deeply sub-graphs nest in it.
    depth: usize,
}

/// The state of reading one text.
pub(super) struct Parser<'a> {
    cursor: Cursor<'a>,
    options: &'a ParseOptions<'a>,
    functions: HashMap<String, Defined>,
    side_file: Option<SideFile>,
    splat_left: usize,
    depth: usize,
    /// The deepest nesting seen in the definition being read.
    deepest: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, options: &'a ParseOptions<'a>) -> Parser<'a> {
        Parser {
            cursor: Cursor::new(Source { text, file: options.file.as_deref() }),
            options,
            functions: HashMap::new(),
            side_file: None,
            splat_left: SPLAT_BYTES,
            depth: 0,
            deepest: 0,
        }
    }

    /// The whole text.
    pub(super) fn file(mut self) -> Result<Graph> {
        self.cursor.header("lawson", VERSION)?;
        if self.cursor.eat_word("weights") {
            let (path, span) = self.cursor.string("the path of the side file in quotes")?;
            let file = SideFile::open(self.options.folder, &path);
            self.side_file = Some(file.map_err(|e| e.at(self.cursor.source.place(span)))?);
        }
        while self.cursor.eat_word("composite") {
            self.composite()?;
        }
        if !self.cursor.eat_word("graph") {
            return Err(self.cursor.expected("`graph` or `composite`"));
        }
        let graph = self.graph()?;
        match self.cursor.peek() {
            Kind::End => Ok(graph),
            _ => Err(self.cursor.expected("the end of the text after the graph")),
        }
    }

    /// A user-defined composite, after the word `composite`.
    fn composite(&mut self) -> Result<()> {
        let span = self.cursor.span();
        (self.depth, self.deepest) = (0, 0);
        let graph = self.graph()?;
        let name = graph.name().to_string();
        if self.functions.contains_key(&name) || is_primitive(&name) || self.options.registry.has_entry(&name)
        {
            let message = format!("there is already an operator `{name}`");
            return Err(self.cursor.source.error(Code::DuplicateName, span, message));
        }
        let depth = self.deepest + 1;
        self.functions.insert(name, Defined { function: Arc::new(Function::new(graph)), depth });
        (self.depth, self.deepest) = (0, 0);
        Ok(())
    }

    /// A graph from its name on, verified.
    fn graph(&mut self) -> Result<Graph> {
        let (name, span) = self.cursor.at_name("a name, such as `@main`")?;
        let signature = self.cursor.signature()?;
        if signature.outputs.is_none() {
            return Err(self.cursor.expected("`->` and the outputs"));
        }
        let mut b = Builder::new(&*name);
        for (fact, span) in signature.facts.iter().flatten() {
            b.fact(fact.left.clone(), fact.relation, fact.right.clone())
                .map_err(|e| e.at(self.cursor.source.place(*span)))?;
        }
        let scope = self.fill(&mut b, signature, None)?;
        let graph = b.finish_unverified()?;
        graph.verify().map_err(|e| self.place_in_graph(e, &graph, &scope, span))?;
        Ok(graph)
    }

    /// Gives an error about a graph the place of the node that it names, or that of the graph's name.
    fn place_in_graph(&self, error: Error, graph: &Graph, scope: &Scope<'_, '_>, name: Span) -> Error {
        let node = error.places().iter().find_map(|place| match place {
            Place::Node { graph: of, result, .. } if of == graph.name() => {
                let id = (0..graph.values().len()).find(|i| graph.value_name(ValueId::new(*i)) == *result)?;
                scope.spans.get(id).copied()
            }
            _ => None,
        });
        error.at(self.cursor.source.place(node.unwrap_or(name)))
    }

    /// A sub-graph, from its label on.
    fn sub_graph(&mut self, outer: &Builder<'_>, around: &Scope<'a, '_>) -> Result<(String, Arc<Graph>)> {
        let (label, span) = self.cursor.word("the label of a sub-graph")?;
        self.enter(1, span)?;
        self.depth += 1;
        let name = match self.cursor.peek().is_at() {
            true => self.cursor.at_name("the name of the sub-graph")?.0,
            false => Cow::Borrowed(label),
        };
        let signature = self.cursor.signature()?;
        let mut b = outer.sub_graph(&name);
        if let Some(written) = &signature.facts {
            let mut facts = Facts::new();
            for (fact, span) in written {
                facts.add(fact.clone()).map_err(|e| e.at(self.cursor.source.place(*span)))?;
            }
            b.replace_facts(facts);
        }
        self.fill(&mut b, signature, Some(around))?;
        self.depth -= 1;
        Ok((label.to_string(), Arc::new(b.finish_sub_graph()?)))
    }

    /// Refuses what nests too deeply.
    fn enter(&mut self, depth: usize, span: Span) -> Result<()> {
        self.deepest = self.deepest.max(self.depth + depth);
        if self.deepest > MAX_NESTING {
            let message = format!("sub-graphs nest more than {MAX_NESTING} deep here");
            return Err(self.cursor.source.error(Code::Syntax, span, message));
        }
        Ok(())
    }

    /// Inputs, body and outputs.
    fn fill<'s>(
        &mut self,
        b: &mut Builder<'_>,
        signature: Signature<'a>,
        around: Option<&'s Scope<'a, 's>>,
    ) -> Result<Scope<'a, 's>> {
        let mut scope = Scope::new(around);
        for input in signature.inputs {
            let (ValueName::Given(name), Some((ty, ty_span))) = (&input.name, &input.ty) else {
                return Err(Error::internal("an input was read without a name or a type"));
            };
            let id = b.input(name, ty.clone()).map_err(|e| {
                let span = if e.code() == Code::DuplicateName { input.span } else { *ty_span };
                e.at(self.cursor.source.place(span))
            })?;
            b.place(id, input.placement)?;
            scope.values.insert(input.name, id);
            scope.spans.push(input.span);
        }
        self.cursor.expect("{")?;
        let end = loop {
            if self.cursor.at_word("return") {
                break self.cursor.advance().span;
            }
            self.node(b, &mut scope)?;
        };
        let mut returned = Vec::new();
        while self.cursor.peek().is_value() {
            let (name, span) = self.cursor.value_name()?;
            returned.push((scope.find(self.cursor.source, &name, span)?, span));
            if !self.cursor.eat(",") {
                break;
            }
        }
        let end = end.to(self.cursor.last());
        self.cursor.expect("}")?;
        let Some(outputs) = signature.outputs else {
            for (i, (value, _)) in returned.into_iter().enumerate() {
                b.output(&i.to_string(), value)?;
            }
            return Ok(scope);
        };
        if returned.len() != outputs.len() {
            let message = format!(
                "{} value{} returned, but {} output{} declared",
                returned.len(),
                if returned.len() == 1 { " is" } else { "s are" },
                outputs.len(),
                if outputs.len() == 1 { " is" } else { "s are" },
            );
            return Err(self.cursor.source.error(Code::Syntax, end, message));
        }
        for (output, (value, span)) in outputs.into_iter().zip(returned) {
            if let Some((ty, _)) = &output.ty
                && !same_type(b.facts(), ty, b.ty(value))
            {
                let message =
                    format!("output `{}` is declared as {ty}, but this is {}", output.name, b.ty(value));
                return Err(self.cursor.source.error(Code::TypeMismatch, span, message));
            }
            match output.lives_in {
                None => b.output(&output.name, value),
                Some((input, span)) => {
                    let input = scope.find(self.cursor.source, &input, span)?;
                    b.output_in(&output.name, value, input)
                }
            }
            .map_err(|e| e.at(self.cursor.source.place(output.span)))?;
        }
        Ok(scope)
    }

    /// One node: `%a: T, %b: T = name %x, %y {attributes} label(…) { … }`.
    fn node(&mut self, b: &mut Builder<'_>, scope: &mut Scope<'a, '_>) -> Result<()> {
        let mut results = Vec::new();
        if self.cursor.peek().is_value() {
            loop {
                results.push(self.cursor.declared()?);
                if !self.cursor.eat(",") {
                    break;
                }
            }
            self.cursor.expect("=")?;
        }
        let call = self.cursor.peek().is_at();
        let (name, span) = match call {
            true => self.cursor.at_name("the name of a composite")?,
            false => {
                let what = if results.is_empty() { "a node, or `return`" } else { "the name of an operator" };
                let (name, span) = self.cursor.word(what)?;
                (Cow::Borrowed(name), span)
            }
        };
        if name == "constant" && !call {
            let tensor = self.constant(&results, span)?;
            let ids = b.op(Op::Constant(tensor), &[]).map_err(|e| e.at(self.cursor.source.place(span)))?;
            return self.define(b, scope, "constant", span, results, &ids);
        }
        let mut operands = Vec::new();
        let mut operand_spans = Vec::new();
        while self.cursor.peek().is_value() {
            let (name, span) = self.cursor.value_name()?;
            operands.push(scope.find(self.cursor.source, &name, span)?);
            operand_spans.push(span);
            if !self.cursor.eat(",") {
                break;
            }
        }
        let attrs = self.cursor.attrs()?;
        let mut bodies = Vec::new();
        while self.cursor.peek() == Kind::Ident
            && (self.cursor.peek_next() == Kind::Sign("(") || self.cursor.peek_next().is_at())
        {
            bodies.push(self.sub_graph(b, scope)?);
        }
        let ReadAttrs { attrs, spans: attr_spans } = attrs;
        let reader = AttrReader::new(&*name, attrs);
        let ids = self.operator(&name, call, span, reader, bodies).and_then(|op| b.op(op, &operands));
        let ids = ids.map_err(|e| self.place_in_node(e, &name, span, &operand_spans, &attr_spans))?;
        self.define(b, scope, &name, span, results, &ids)
    }

    fn operator(
        &mut self,
        name: &str,
        call: bool,
        span: Span,
        reader: AttrReader,
        bodies: Vec<(String, Arc<Graph>)>,
    ) -> Result<Op> {
        if let Some(defined) = self.functions.get(name) {
            let (function, depth) = (defined.function.clone(), defined.depth);
            self.enter(depth, span)?;
            reader.finish()?;
            if let Some((label, _)) = bodies.first() {
                return Err(Error::new(Code::SubGraph, format!("`{name}` has no sub-graph `{label}`")));
            }
            return Ok(Op::Composite(function));
        }
        let near = || {
            let mut known: Vec<&str> = self.functions.keys().map(String::as_str).collect();
            known.sort_unstable();
            nearest(name, known).map(|near| format!("did you mean `{near}`?"))
        };
        if call {
            let error = Error::new(Code::UnknownName, format!("this text defines no composite `{name}`"));
            return Err(error.help(near().unwrap_or_else(|| "define it before the graph".to_string())));
        }
        Op::from_parts(name, reader, bodies, self.options.registry).map_err(|e| match e.code() {
            Code::UnknownName => match near() {
                Some(help) => Error::new(e.code(), e.message()).help(help),
                None => e,
            },
            _ => e,
        })
    }

    /// Gives an error about a node the place of the operand or attribute that it names, or that of the operator.
    fn place_in_node(
        &self,
        error: Error,
        name: &str,
        span: Span,
        operands: &[Span],
        attrs: &[(&str, Span)],
    ) -> Error {
        if error.places().iter().any(|p| matches!(p, Place::Source(_))) {
            return error;
        }
        let part = error.places().iter().find_map(|place| match place {
            Place::Operand { op, index, .. } if op == name => operands.get(*index).copied(),
            Place::Attribute { op, name: attr } if op == name => {
                attrs.iter().find(|(n, _)| n == attr).map(|(_, span)| *span)
            }
            _ => None,
        });
        error.at(self.cursor.source.place(part.unwrap_or(span)))
    }

    /// Names, types and places the results of a node as the text declares them.
    fn define(
        &mut self,
        b: &mut Builder<'_>,
        scope: &mut Scope<'a, '_>,
        op: &str,
        span: Span,
        results: Vec<Declared<'a>>,
        ids: &[ValueId],
    ) -> Result<()> {
        let source = self.cursor.source;
        if results.len() != ids.len() {
            let message = format!(
                "`{op}` has {} result{}, but {} stand{} before `=`",
                ids.len(),
                plural(ids.len()),
                results.len(),
                if results.len() == 1 { "s" } else { "" }
            );
            return Err(source.error(Code::Syntax, span, message));
        }
        for (result, id) in results.into_iter().zip(ids) {
            if let Some((written, span)) = result.ty
                && written != *b.ty(*id)
            {
                if !same_type(b.facts(), &written, b.ty(*id)) {
                    let message = format!("written as {written}, but `{op}` yields {}", b.ty(*id));
                    return Err(source.error(Code::TypeMismatch, span, message));
                }
                b.retype(*id, written)?;
            }
            match &result.name {
                ValueName::Given(name) => {
                    b.name(*id, name).map_err(|e| e.at(source.place(result.span)))?;
                }
                ValueName::Number(number) if scope.values.contains_key(&result.name) => {
                    let message = format!("there is already a value `%{number}`");
                    return Err(source.error(Code::DuplicateName, result.span, message));
                }
                ValueName::Number(_) => {}
            }
            b.place(*id, result.placement)?;
            scope.values.insert(result.name, *id);
            scope.spans.push(result.span);
        }
        Ok(())
    }

    /// What stands after `constant`.
    fn constant(&mut self, results: &[Declared<'a>], span: Span) -> Result<HostTensor> {
        let source = self.cursor.source;
        let [result] = results else {
            return Err(source.error(Code::Syntax, span, "`constant` has one result"));
        };
        let written = match &result.ty {
            None => None,
            Some((ty, span)) => {
                let sizes = ty.as_tensor().and_then(|t| Some((t, t.shape.as_const()?)));
                let Some((tensor, sizes)) = sizes else {
                    let message = format!("a constant is a tensor of constant sizes, not {ty}");
                    return Err(source.error(Code::Literal, *span, message));
                };
                Some((tensor, sizes, *span))
            }
        };
        if self.cursor.at("...") {
            return Err(self
                .cursor
                .error("the elements of this constant were left out when the text was printed")
                .help("print it with all constants, or with a side file"));
        }
        if self.cursor.eat_word("file") {
            let (name, span) = self.cursor.string("the name of a tensor in quotes")?;
            let Some(file) = &self.side_file else {
                return Err(source
                    .error(Code::UnknownName, span, "this text names no side file")
                    .help("write `weights \"model.safetensors\"` after the first line"));
            };
            let tensor = file.tensor(&name).map_err(|e| e.at(source.place(span)))?;
            return match written {
                Some((ty, _, span)) if *ty != tensor.ty() => {
                    let message = format!("`{name}` in the side file is {}, not {ty}", tensor.ty());
                    Err(source.error(Code::TypeMismatch, span, message))
                }
                _ => Ok(tensor),
            };
        }
        let Some((ty, sizes, _)) = written else {
            return Err(source
                .error(Code::Syntax, result.span, "a constant needs its type")
                .help("write it after the name: `%x: f32[2] = constant [1, 2]`"));
        };
        self.cursor.literal(ty.dtype, &sizes, &mut self.splat_left)
    }
}

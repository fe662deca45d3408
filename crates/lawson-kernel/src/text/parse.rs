//! Reading a kernel: the header, the declarations, the tree.
//!
//! Axes and accumulators are known before the first index or expression is read: `axes` stands before all of them, and the
//! names of accumulators are looked up ahead, because one may begin with the result of another.

use super::expr::value_text;
use super::index::Declared;
use super::{HEADER, VERSION};
use crate::buffer::{Buffer, BufferId, Digit, Layout, Level, Role};
use crate::expr::{Expr, ExprId, Extremum};
use crate::index::Index;
use crate::tree::{AccId, Accumulator, AxisId, For, Kernel, Kind, Merge, Node, State, Store, StoreHint};
use lawson_graph::op::BinaryKind;
use lawson_graph::syntax::{Cursor, DimToken, DimTokens, Kind as TokenKind, Source, Span};
use lawson_graph::{Code, Dim, Error, Facts, Result};
use std::collections::HashMap;

/// How deep loops may nest.
const MAX_LOOPS: usize = 64;

/// What has been read so far.
pub(super) struct Parser<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) kernel: Kernel,
    pub(super) declared: Declared,
    pub(super) lets: HashMap<String, ExprId>,
    /// How deep the expression that is being read nests.
    pub(super) nesting: usize,
    accs: HashMap<String, AccId>,
}

/// Reads a kernel that stands in another text; gives what follows it.
pub(crate) fn kernel_in(cursor: Cursor<'_>) -> Result<(Kernel, Cursor<'_>)> {
    let mut parser = Parser::at(cursor);
    parser.block()?;
    Ok((parser.kernel, parser.cursor))
}

impl<'a> Parser<'a> {
    pub(super) fn new(source: Source<'a>) -> Parser<'a> {
        Parser::at(Cursor::new(source))
    }

    fn at(cursor: Cursor<'a>) -> Parser<'a> {
        Parser {
            cursor,
            kernel: Kernel::new("", Facts::new()),
            declared: Declared::default(),
            lets: HashMap::new(),
            nesting: 0,
            accs: HashMap::new(),
        }
    }

    /// The whole text.
    pub(super) fn file(mut self) -> Result<Kernel> {
        self.cursor.header(HEADER, VERSION)?;
        self.block()?;
        if self.cursor.peek() != TokenKind::End {
            return Err(self.cursor.expected("the end of the text"));
        }
        Ok(self.kernel)
    }

    /// From the word `kernel` to the closing brace.
    fn block(&mut self) -> Result<()> {
        self.cursor.expect_word("kernel")?;
        let (name, _) = self.cursor.at_name("the name of the kernel, such as `@matmul`")?;
        self.kernel.name = name.into_owned();
        self.cursor.where_facts(&mut self.kernel.facts)?;
        self.cursor.expect("{")?;
        self.find_accs();
        let mut body = Vec::new();
        while !self.cursor.eat("}") {
            if !self.declaration()? {
                self.statement(&mut body, 0)?;
            }
        }
        if let Some((name, _)) =
            self.accs.iter().find(|(_, id)| self.kernel.accs[id.0 as usize].state.is_empty())
        {
            return Err(self.cursor.error(format!("accumulator `{name}` has no state")));
        }
        self.kernel.body = body;
        Ok(())
    }

    fn twice(&self, name: &str, span: Span) -> Error {
        self.cursor.source.error(Code::DuplicateName, span, format!("`{name}` is declared twice"))
    }

    /// Gives every accumulator that will be declared its id.
    fn find_accs(&mut self) {
        let mut ahead = self.cursor.clone();
        let mut depth = 0usize;
        while ahead.peek() != TokenKind::End {
            if ahead.eat_word("acc") || ahead.eat_word("recurrence") {
                if let Ok((name, _)) = ahead.name("a name")
                    && ahead.at(":")
                    && !self.accs.contains_key(name.as_ref())
                {
                    self.accs.insert(name.to_string(), AccId(self.kernel.accs.len() as u32));
                    let name = name.into_owned();
                    self.kernel.accs.push(Accumulator { name, state: Vec::new(), merge: None });
                }
                continue;
            }
            match ahead.advance().kind {
                TokenKind::Sign("{") => depth += 1,
                TokenKind::Sign("}") if depth == 0 => return,
                TokenKind::Sign("}") => depth -= 1,
                _ => {}
            }
        }
    }

    /// Reads a declaration, if one stands here.
    fn declaration(&mut self) -> Result<bool> {
        // A statement may begin with a name that is one of these words; then a sign follows.
        if !matches!(self.cursor.peek_next(), TokenKind::Ident | TokenKind::Str) {
            return Ok(false);
        }
        let role = match self.cursor.source.slice(self.cursor.span()) {
            "in" => Some(Role::Input),
            "out" => Some(Role::Output),
            "scratch" => Some(Role::Scratch(Level::L1)),
            "axes" => None,
            "axis" => {
                self.cursor.advance();
                self.derived_axis()?;
                return Ok(true);
            }
            kind @ ("acc" | "recurrence") => {
                self.cursor.advance();
                self.acc(kind == "acc")?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        self.cursor.advance();
        match role {
            Some(role) => self.buffer(role)?,
            None => self.axis_list()?,
        }
        Ok(true)
    }

    fn buffer(&mut self, role: Role) -> Result<()> {
        let (name, span) = self.cursor.name("the name of a buffer")?;
        let name = name.into_owned();
        self.cursor.expect(":")?;
        let dtype = self.dtype()?;
        self.cursor.expect("[")?;
        let mut dims = Vec::new();
        let mut more = !self.cursor.eat("]");
        while more {
            dims.push(self.cursor.dim()?);
            more = self.cursor.list_goes_on("]")?;
        }
        let role = match role {
            Role::Scratch(_) => {
                self.cursor.expect_word("at")?;
                Role::Scratch(self.level()?)
            }
            Role::Input | Role::Output => role,
        };
        let layout = match self.cursor.eat_word("layout") {
            true => self.layout(dims.len())?,
            false => Layout::row_major(&dims),
        };
        let finite = self.cursor.eat_word("finite");
        let id = self.kernel.add_buffer(Buffer { name: name.clone(), dtype, dims, layout, role, finite });
        match self.declared.buffers.insert(name.clone(), id) {
            Some(_) => Err(self.twice(&name, span)),
            None => Ok(()),
        }
    }

    fn level(&mut self) -> Result<Level> {
        match [Level::L1, Level::L2].into_iter().find(|l| self.cursor.eat_word(l.name())) {
            Some(level) => Ok(level),
            None => Err(self.cursor.expected("`L1` or `L2`")),
        }
    }

    /// `(d1 / 48: 49152, d0: 48, d1 % 48: 1) size 786432`
    fn layout(&mut self, rank: usize) -> Result<Layout> {
        self.cursor.expect("(")?;
        let mut digits = Vec::new();
        let mut more = !self.cursor.eat(")");
        while more {
            digits.push(self.digit(rank)?);
            more = self.cursor.list_goes_on(")")?;
        }
        self.cursor.expect_word("size")?;
        Ok(Layout { digits, size: self.cursor.dim()? })
    }

    fn digit(&mut self, rank: usize) -> Result<Digit> {
        let (word, span) = self.cursor.word("a dimension, such as `d0`")?;
        let dim = word.strip_prefix('d').and_then(|d| d.parse().ok()).filter(|d| *d < rank);
        let Some(dim) = dim else {
            let message = format!("expected one of the {rank} dimensions `d0`, `d1`, …, found `{word}`");
            return Err(self.cursor.source.error(Code::Syntax, span, message));
        };
        let divide = if self.cursor.eat("/") { self.count("a divisor")? } else { 1 };
        let modulo = match self.cursor.peek_dim() {
            DimToken::Sign('%') => {
                self.cursor.take_dim();
                Some(self.count("a number")?)
            }
            _ => None,
        };
        self.cursor.expect(":")?;
        let stride: Dim = self.cursor.dim()?;
        Ok(Digit { dim, divide, modulo, stride })
    }

    fn axis_list(&mut self) -> Result<()> {
        loop {
            let is_word = self.cursor.peek() == TokenKind::Ident;
            let (name, span) = self.cursor.name("the name of an axis")?;
            let name = name.into_owned();
            let known = self.declared.bare.contains_key(&name) || self.declared.quoted.contains_key(&name);
            if known {
                return Err(self.twice(&name, span));
            }
            let id = self.kernel.add_axis(name.clone());
            let names = if is_word { &mut self.declared.bare } else { &mut self.declared.quoted };
            names.insert(name, id);
            if !self.cursor.eat(",") {
                return Ok(());
            }
        }
    }

    /// The name of an axis, as it was declared.
    fn axis(&mut self) -> Result<AxisId> {
        let is_word = self.cursor.peek() == TokenKind::Ident;
        let (name, span) = self.cursor.name("an axis")?;
        let names = if is_word { &self.declared.bare } else { &self.declared.quoted };
        names.get(name.as_ref()).copied().ok_or_else(|| {
            let error =
                self.cursor.source.error(Code::UnknownName, span, format!("there is no axis `{name}`"));
            error.help("`axes` lists the axes of the kernel")
        })
    }

    fn derived_axis(&mut self) -> Result<()> {
        let axis = self.axis()?;
        self.cursor.expect("=")?;
        let index = self.index()?;
        self.kernel.axes[axis.0 as usize].derived = Some(index);
        Ok(())
    }

    /// The name of an accumulator.
    pub(super) fn acc_name(&mut self) -> Result<AccId> {
        let (name, span) = self.cursor.name("an accumulator")?;
        self.accs.get(name.as_ref()).copied().ok_or_else(|| {
            let message = format!("there is no accumulator `{name}`, and no element of a buffer follows");
            self.cursor.source.error(Code::UnknownName, span, message)
        })
    }

    /// `c: f32 = 0.0 identity 0.0 merge add`, or `c: f32 = x[i]` of a recurrence.
    fn acc(&mut self, merges: bool) -> Result<()> {
        let span = self.cursor.span();
        let acc = self.acc_name()?;
        if !self.kernel.acc(acc).state.is_empty() {
            return Err(self.twice(&self.kernel.acc(acc).name, span));
        }
        self.cursor.expect(":")?;
        let (mut state, mut identity) = (Vec::new(), Vec::new());
        let bracketed = self.cursor.eat("(");
        loop {
            let dtype = self.dtype()?;
            self.cursor.expect("=")?;
            state.push(State { dtype, init: self.expr()? });
            if merges {
                self.cursor.expect_word("identity")?;
                identity.push(self.scalar()?);
            }
            if !bracketed || !self.cursor.list_goes_on(")")? {
                break;
            }
        }
        let several = state.len() > 1;
        self.kernel.accs[acc.0 as usize].state = state;
        if merges {
            self.cursor.expect_word("merge")?;
            let values = match several {
                true => self.tuple()?,
                false => vec![self.merge(acc)?],
            };
            self.kernel.accs[acc.0 as usize].merge = Some(Merge { identity, values });
        }
        Ok(())
    }

    /// The merge of a state of one component.
    fn merge(&mut self, acc: AccId) -> Result<ExprId> {
        let follows_bracket = self.cursor.peek_next() == TokenKind::Sign("(");
        let named: Option<fn(ExprId, ExprId) -> Expr> = match self.cursor.source.slice(self.cursor.span()) {
            _ if follows_bracket => None,
            "add" => Some(|a, b| Expr::Binary(BinaryKind::Add, a, b)),
            "greater" => Some(|a, b| Expr::Extremum(Extremum::Max, a, b)),
            "lesser" => Some(|a, b| Expr::Extremum(Extremum::Min, a, b)),
            _ => None,
        };
        let Some(named) = named else { return self.expr() };
        self.cursor.advance();
        let (a, b) = (self.kernel.add(Expr::State(acc, 0)), self.kernel.add(Expr::Other(acc, 0)));
        Ok(self.kernel.add(named(a, b)))
    }

    /// `(a, b)`
    fn tuple(&mut self) -> Result<Vec<ExprId>> {
        self.cursor.expect("(")?;
        let mut values = vec![self.expr()?];
        while self.cursor.list_goes_on(")")? {
            values.push(self.expr()?);
        }
        Ok(values)
    }

    /// `A[i, j]`
    pub(super) fn element(&mut self) -> Result<(BufferId, Vec<Index>)> {
        let buffer = self.declared.buffer(&mut self.cursor)?;
        self.cursor.expect("[")?;
        let mut index = Vec::new();
        let mut more = !self.cursor.eat("]");
        while more {
            index.push(self.index()?);
            more = self.cursor.list_goes_on("]")?;
        }
        Ok((buffer, index))
    }

    /// The statements of a body and the bracket after them.
    fn body(&mut self, depth: usize) -> Result<Vec<Node>> {
        if depth > MAX_LOOPS {
            return Err(self.cursor.error(format!("bodies nest at most {MAX_LOOPS} deep")));
        }
        self.cursor.expect("{")?;
        let mut body = Vec::new();
        while !self.cursor.eat("}") {
            self.statement(&mut body, depth)?;
        }
        Ok(body)
    }

    fn statement(&mut self, body: &mut Vec<Node>, depth: usize) -> Result<()> {
        let named = matches!(self.cursor.peek_next(), TokenKind::Ident | TokenKind::Str);
        let word = match self.cursor.peek() {
            TokenKind::Ident => self.cursor.source.slice(self.cursor.span()),
            _ => "",
        };
        match word {
            "for" if named => {
                self.cursor.advance();
                body.push(self.loop_over(depth)?);
            }
            "accumulate" if named => {
                self.cursor.advance();
                let acc = self.acc_name()?;
                body.push(Node::Accumulate { acc, body: self.body(depth + 1)? });
            }
            "step" if named => {
                self.cursor.advance();
                let acc = self.acc_name()?;
                self.cursor.expect("=")?;
                let values = match self.kernel.acc(acc).state.len() {
                    0 | 1 => vec![self.expr()?],
                    _ => self.tuple()?,
                };
                body.push(Node::Step { acc, values });
            }
            "stream" if named => {
                self.cursor.advance();
                body.push(self.store(StoreHint::Stream)?);
            }
            "prefetch" if named => {
                self.cursor.advance();
                let (buffer, index) = self.element()?;
                body.push(Node::Prefetch { buffer, index, level: self.level()? });
            }
            "let" if self.cursor.peek_next().is_value() => {
                self.cursor.advance();
                let (name, span) = self.cursor.value_name()?;
                self.cursor.expect("=")?;
                let value = self.expr()?;
                if self.lets.insert(value_text(&name), value).is_some() {
                    return Err(self.twice(&format!("%{}", value_text(&name)), span));
                }
            }
            _ => match self.cursor.peek_next() {
                TokenKind::Sign("[") => body.push(self.store(StoreHint::Keep)?),
                TokenKind::Sign("+") => body.push(self.addition()?),
                _ => return Err(self.cursor.expected("a loop, an `accumulate`, a step or a store")),
            },
        }
        Ok(())
    }

    fn loop_over(&mut self, depth: usize) -> Result<Node> {
        let axis = self.axis()?;
        self.cursor.expect_word("in")?;
        let begin = self.index()?;
        self.cursor.expect_word("to")?;
        let end = self.index()?;
        let step = if self.cursor.eat_word("step") { self.count("a step")? } else { 1 };
        let kinds = [Kind::Parallel, Kind::Unroll, Kind::Dot, Kind::Skip, Kind::Jam, Kind::Serial];
        let kind = match kinds.into_iter().find(|k| self.cursor.eat_word(k.name())) {
            Some(kind) => kind,
            None if self.cursor.eat_word("vector") => Kind::Vector(self.count("the number of lanes")?),
            None => Kind::Serial,
        };
        Ok(Node::For(For { axis, begin, end, step, kind, body: self.body(depth + 1)? }))
    }

    fn store(&mut self, hint: StoreHint) -> Result<Node> {
        let (buffer, index) = self.element()?;
        self.cursor.expect("=")?;
        Ok(Node::Store(Store { buffer, index, value: self.expr()?, hint }))
    }

    /// `c += x`
    fn addition(&mut self) -> Result<Node> {
        let acc = self.acc_name()?;
        self.cursor.expect("+")?;
        self.cursor.expect("=")?;
        let state = self.kernel.add(Expr::State(acc, 0));
        let value = self.expr()?;
        let sum = self.kernel.sum(state, value);
        Ok(Node::Step { acc, values: vec![sum] })
    }
}

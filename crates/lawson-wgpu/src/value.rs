//! Expressions of stages as values: operands first, each computed once a stage.
//!
//! As in the direct evaluator both sides of a `select` are computed, and a guarded load reads only where its conditions hold.

use crate::lower::{Lower, refused, ty_of};
use crate::math::{binary_function, unary_function};
use crate::opcode::{Literal, MemoryId, Op, OpCode, Primitive, Test, Ty, ValueId};
use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};
use lawson_graph::{DType, Result};
use lawson_kernel::math::Function;
use lawson_kernel::{AccId, Expr, ExprId, Extremum, Load, Scalar};
use std::collections::{BTreeMap, BTreeSet};

/// The values of a stage that are known already.
pub(crate) type Known = BTreeMap<ExprId, ValueId>;

impl Lower<'_> {
    /// The value of an expression here.
    pub(crate) fn value(&mut self, root: ExprId, known: &mut Known) -> Result<ValueId> {
        let mut wanted = BTreeSet::from([root]);
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            if known.contains_key(&id) {
                continue;
            }
            self.kernel.expr(id).visit_operands(&mut |o| {
                if wanted.insert(o) {
                    open.push(o);
                }
            });
        }
        // Operands stand before what uses them, so the order of ids is an order of computation.
        for id in wanted {
            if !known.contains_key(&id) {
                let value = self.compute(id, known)?;
                known.insert(id, value);
            }
        }
        known.get(&root).copied().ok_or_else(|| self.missing(root))
    }

    /// The type of an operand that is compared or cast. An i64 that is an index, or a number of 32 bits, is one of 32 bits:
    /// indices that are not are refused before a launch.
    fn compared(&self, id: ExprId) -> Result<Ty> {
        let narrow = match self.kernel.expr(id) {
            Expr::Index(_, DType::I64) => true,
            Expr::Const(s) if s.dtype == DType::I64 => s.as_i64().is_some_and(|v| i32::try_from(v).is_ok()),
            _ => false,
        };
        if narrow { Ok(Ty::I32) } else { ty_of(self.kernel, self.kernel.dtype(id)) }
    }

    fn missing(&self, id: ExprId) -> lawson_graph::Error {
        refused(self.kernel, format!("expression {} stands before one of its operands", id.0))
            .help("kernels that the verifier accepts never do this")
    }

    fn compute(&mut self, id: ExprId, known: &Known) -> Result<ValueId> {
        let of = |e: &ExprId| known.get(e).copied().ok_or_else(|| self.missing(id));
        let ty = |e: &ExprId| ty_of(self.kernel, self.kernel.dtype(*e));
        Ok(match self.kernel.expr(id) {
            Expr::Const(s) => {
                let literal = self.literal(*s)?;
                self.emit.literal(literal)
            }
            Expr::Index(i, dtype) => {
                let to = if *dtype == DType::I64 { Ty::I32 } else { ty_of(self.kernel, *dtype)? };
                let word = self.parameters.word(&self.scope, i);
                let index = self.emit.define(Ty::I32, Op::Index(word));
                self.cast(index, Ty::I32, to)
            }
            Expr::Load(load) => {
                let otherwise = load.guard.as_ref().map(|g| of(&g.otherwise)).transpose()?;
                self.load(load, otherwise)?
            }
            Expr::Unary(kind, a) => {
                let (ty, a) = (ty(a)?, of(a)?);
                self.unary(*kind, ty, a)?
            }
            Expr::Binary(kind, a, b) => {
                let (ty, a, b) = (ty(a)?, of(a)?, of(b)?);
                self.binary(*kind, ty, a, b)?
            }
            Expr::Extremum(which, a, b) => {
                let primitive = match which {
                    Extremum::Min => Primitive::Lesser,
                    Extremum::Max => Primitive::Greater,
                };
                let (ty, a, b) = (ty(a)?, of(a)?, of(b)?);
                self.emit.apply(primitive, ty, &[a, b])
            }
            Expr::Fma(a, b, c) => {
                let (ty, operands) = (ty(a)?, [of(a)?, of(b)?, of(c)?]);
                self.emit.apply(Primitive::MulAdd, ty, &operands)
            }
            Expr::Compare(kind, a, b) => {
                self.compared(*b)?;
                let (ty, a, b) = (self.compared(*a)?, of(a)?, of(b)?);
                let (primitive, a, b) = match kind {
                    CompareKind::Eq => (Primitive::Eq, a, b),
                    CompareKind::Ne => (Primitive::Ne, a, b),
                    CompareKind::Lt => (Primitive::Lt, a, b),
                    CompareKind::Le => (Primitive::Le, a, b),
                    CompareKind::Gt => (Primitive::Lt, b, a),
                    CompareKind::Ge => (Primitive::Le, b, a),
                    other => return Err(self.no_meaning(other.name(), ty)),
                };
                self.emit.apply(primitive, ty, &[a, b])
            }
            Expr::Select(c, a, b) => {
                let (ty, operands) = (ty(a)?, [of(c)?, of(a)?, of(b)?]);
                self.emit.apply(Primitive::Select, ty, &operands)
            }
            Expr::Cast(a, to) => {
                let (from, a, to) = (self.compared(*a)?, of(a)?, ty_of(self.kernel, *to)?);
                self.cast(a, from, to)
            }
            Expr::Bitcast(a, to) => {
                let (from, a, to) = (ty(a)?, of(a)?, ty_of(self.kernel, *to)?);
                if from == to { a } else { self.emit.apply(Primitive::Bitcast(to), from, &[a]) }
            }
            Expr::State(acc, i) => self.component(*acc, *i, Component::State)?,
            Expr::Result(acc, i) => self.component(*acc, *i, Component::Result)?,
            Expr::Other(acc, _) => {
                let name = &self.kernel.acc(*acc).name;
                return Err(refused(self.kernel, format!("the other state of `{name}` outside its merge")));
            }
        })
    }

    pub(crate) fn literal(&self, scalar: Scalar) -> Result<Literal> {
        let int = scalar.as_i64().unwrap_or(0);
        if let (DType::I64, Ok(v)) = (scalar.dtype, i32::try_from(int)) {
            return Ok(Literal::I32(v));
        }
        let ty = ty_of(self.kernel, scalar.dtype)?;
        Ok(match ty {
            Ty::F32 => Literal::F32((scalar.as_f64().unwrap_or(0.0) as f32).to_bits()),
            Ty::I32 => Literal::I32(int as i32),
            Ty::U32 => Literal::U32(int as u32),
            Ty::Bool => Literal::Bool(int & 1 != 0),
        })
    }

    fn load(&mut self, load: &Load, otherwise: Option<ValueId>) -> Result<ValueId> {
        let (memory, ty) =
            (MemoryId(load.buffer.0), ty_of(self.kernel, self.kernel.buffer(load.buffer).dtype)?);
        if load.guard.is_none()
            && let Some(known) = self.kept(load.buffer, &load.index)?
        {
            return Ok(known);
        }
        let at = self.place(load.buffer, &load.index)?;
        let (Some(guard), Some(otherwise)) = (&load.guard, otherwise) else {
            return Ok(self.emit.define(ty, Op::Load(memory, at)));
        };
        let mut pairs = Vec::with_capacity(guard.conditions.len());
        for c in &guard.conditions {
            let index = self.parameters.word(&self.scope, &c.index);
            pairs.push((index, self.parameters.dim(&c.end)));
        }
        let var = self.emit.var(ty, otherwise);
        self.emit.codes.push(OpCode::Guard(Test::Within(pairs)));
        let value = self.emit.define(ty, Op::Load(memory, at));
        self.emit.codes.push(OpCode::Set { var, value });
        self.emit.codes.push(OpCode::EndGuard);
        Ok(self.emit.define(ty, Op::Get(var)))
    }

    fn cast(&mut self, a: ValueId, from: Ty, to: Ty) -> ValueId {
        if from == to { a } else { self.emit.apply(Primitive::Cast(to), from, &[a]) }
    }

    fn unary(&mut self, kind: UnaryKind, ty: Ty, a: ValueId) -> Result<ValueId> {
        if let (Some(function), Ty::F32) = (Function::of(kind), ty) {
            self.functions.entry(function.name().into()).or_insert_with(|| unary_function(function));
            return Ok(self.emit.define(Ty::F32, Op::Call(function.name().into(), vec![a])));
        }
        let primitive = match (kind, ty) {
            (UnaryKind::Neg, Ty::F32 | Ty::I32 | Ty::U32) => Primitive::Neg,
            (UnaryKind::Abs, Ty::F32 | Ty::I32) => Primitive::Abs,
            (UnaryKind::Abs, Ty::U32) => return Ok(a),
            (UnaryKind::Sign, Ty::F32 | Ty::I32 | Ty::U32) => Primitive::Sign,
            (UnaryKind::Not, Ty::I32 | Ty::U32 | Ty::Bool) => Primitive::Not,
            (UnaryKind::Floor, Ty::F32) => Primitive::Floor,
            (UnaryKind::Ceil, Ty::F32) => Primitive::Ceil,
            (UnaryKind::Round, Ty::F32) => Primitive::Round,
            (UnaryKind::Trunc, Ty::F32) => Primitive::Trunc,
            (UnaryKind::Sqrt, Ty::F32) => Primitive::Sqrt,
            (kind, ty) => return Err(self.no_meaning(kind.name(), ty)),
        };
        Ok(self.emit.apply(primitive, ty, &[a]))
    }

    fn binary(&mut self, kind: BinaryKind, ty: Ty, a: ValueId, b: ValueId) -> Result<ValueId> {
        if let (Some(codes), Ty::F32) = (binary_function(kind), ty) {
            self.functions.entry(kind.name().into()).or_insert(codes);
            return Ok(self.emit.define(Ty::F32, Op::Call(kind.name().into(), vec![a, b])));
        }
        let primitive = match (kind, ty) {
            (BinaryKind::And, Ty::I32 | Ty::U32 | Ty::Bool) => Primitive::And,
            (BinaryKind::Or, Ty::I32 | Ty::U32 | Ty::Bool) => Primitive::Or,
            (BinaryKind::Xor, Ty::I32 | Ty::U32 | Ty::Bool) => Primitive::Xor,
            (kind, Ty::Bool) => return Err(self.no_meaning(kind.name(), ty)),
            (BinaryKind::Add, _) => Primitive::Add,
            (BinaryKind::Sub, _) => Primitive::Sub,
            (BinaryKind::Mul, _) => Primitive::Mul,
            (BinaryKind::Div, _) => Primitive::Div,
            (BinaryKind::Rem, _) => Primitive::Rem,
            (BinaryKind::Mod, _) => Primitive::Mod,
            (BinaryKind::Min, _) => Primitive::Min,
            (BinaryKind::Max, _) => Primitive::Max,
            (BinaryKind::FloorDiv, Ty::I32 | Ty::U32) => Primitive::FloorDiv,
            (BinaryKind::Pow, Ty::I32 | Ty::U32) => Primitive::Pow,
            (BinaryKind::Shl, Ty::I32 | Ty::U32) => Primitive::Shl,
            (BinaryKind::Shr, Ty::I32 | Ty::U32) => Primitive::Shr,
            (kind, ty) => return Err(self.no_meaning(kind.name(), ty)),
        };
        Ok(self.emit.apply(primitive, ty, &[a, b]))
    }

    fn no_meaning(&self, name: &str, ty: Ty) -> lawson_graph::Error {
        refused(self.kernel, format!("`{name}` has no meaning for {}", ty.name()))
            .help("the graph's inference refuses this too")
    }

    fn component(&mut self, acc: AccId, i: usize, what: Component) -> Result<ValueId> {
        let (of, name) = match what {
            Component::State => (&self.states, "state"),
            Component::Result => (&self.results, "result"),
        };
        let Some((var, ty)) = of[acc.0 as usize].as_ref().and_then(|vars| vars.get(i)).copied() else {
            let message = format!("{name} {i} of `{}` is not known here", self.kernel.acc(acc).name);
            return Err(refused(self.kernel, message)
                .help("steps stand inside the accumulator's `accumulate`, results after it"));
        };
        Ok(self.emit.define(ty, Op::Get(var)))
    }
}

/// Which side of an accumulator.
enum Component {
    State,
    Result,
}

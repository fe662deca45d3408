//! Expressions of stages as values: operands first, each computed once a stage.
//!
//! As in the direct evaluator both sides of a `select` are computed, and a guarded load reads only where its conditions hold.

use crate::dtype::{narrow_of, ty_of};
use crate::lower::{Lower, refused};
use crate::math::{SIN_COS, binary_function, sin_cos_function, unary_function};
use crate::opcode::{Literal, MemoryId, Narrow, Op, OpCode, Primitive, Test, Ty, ValueId};
use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};
use lawson_graph::{DType, Result};
use lawson_kernel::math::{Function, idiom};
use lawson_kernel::{AccId, Expr, ExprId, Extremum, Load, Scalar};
use std::collections::{BTreeMap, BTreeSet};

/// The values of a stage that are known already.
pub(crate) type Known = BTreeMap<ExprId, ValueId>;

impl Lower<'_> {
    /// The value of an expression here.
    pub(crate) fn value(&mut self, root: ExprId, known: &mut Known) -> Result<ValueId> {
        self.invariants.iter().for_each(|(id, value)| {
            known.entry(*id).or_insert(*value);
        });
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
        for id in &wanted {
            if known.contains_key(id) {
                continue;
            }
            let partner = idiom::partner(self.kernel, self.kernel.expr(*id)).filter(|p| wanted.contains(p));
            match partner {
                Some(partner) if self.is_single(*id) => self.sine_and_cosine(*id, partner, known)?,
                _ => {
                    let value = self.compute(*id, known)?;
                    known.insert(*id, value);
                }
            }
        }
        known.get(&root).copied().ok_or_else(|| self.missing(root))
    }

    /// Whether an expression is computed in f32.
    fn is_single(&self, id: ExprId) -> bool {
        matches!(ty_of(self.kernel, self.kernel.dtype(id)), Ok(Ty::F32))
    }

    /// A sine and the cosine of the same, or the other way round, by one call.
    fn sine_and_cosine(&mut self, id: ExprId, partner: ExprId, known: &mut Known) -> Result<()> {
        let Expr::Unary(kind, x) = self.kernel.expr(id) else { return Err(self.missing(id)) };
        let x = known.get(x).copied().ok_or_else(|| self.missing(id))?;
        self.functions.entry(SIN_COS.into()).or_insert_with(sin_cos_function);
        let [sine, cosine] = self.emit.pair(SIN_COS, x);
        let (value, other) = if *kind == UnaryKind::Sin { (sine, cosine) } else { (cosine, sine) };
        known.insert(id, value);
        known.insert(partner, other);
        Ok(())
    }

    /// A value in the type of its dtype, with nothing more than that holds: narrow floats are computed with in f32.
    fn rounded(&mut self, id: ExprId, value: ValueId) -> ValueId {
        match narrow_of(self.kernel.dtype(id)) {
            Some(to @ (Narrow::F16 | Narrow::BF16)) => {
                self.emit.apply(Primitive::Narrow(to), Ty::F32, &[value])
            }
            _ => value,
        }
    }

    /// A result of arithmetic, wrapped to its dtype.
    fn wrapped(&mut self, dtype: DType, value: ValueId) -> ValueId {
        match narrow_of(dtype) {
            Some(to @ (Narrow::I8 | Narrow::U8 | Narrow::I16 | Narrow::U16)) => {
                self.emit.apply(Primitive::Narrow(to), to.ty(), &[value])
            }
            _ => value,
        }
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
                let to = ty_of(self.kernel, *dtype)?;
                let word = self.parameters.word(&self.scope, i);
                let index = self.emit.define(Ty::I32, Op::Index(word));
                let value = self.cast(index, Ty::I32, to);
                self.wrapped(*dtype, value)
            }
            Expr::Load(load) => {
                let otherwise = load.guard.as_ref().map(|g| of(&g.otherwise)).transpose()?;
                self.load(load, otherwise)?
            }
            Expr::Unary(kind, a) => {
                let (dtype, ty, a) = (self.kernel.dtype(*a), ty(a)?, of(a)?);
                let value = self.unary(*kind, ty, a)?;
                self.wrapped(dtype, value)
            }
            Expr::Binary(kind, a, b) => {
                let (dtype, ty, a, b) = (self.kernel.dtype(*a), ty(a)?, of(a)?, of(b)?);
                if *kind == BinaryKind::Shr && narrow_of(dtype).is_some() {
                    // Past the width of a narrow integer there are still bits of the word.
                    return Err(refused(self.kernel, format!("op codes have no `shr` of {dtype}")));
                }
                let value = self.binary(*kind, ty, a, b)?;
                self.wrapped(dtype, value)
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
                let (dtype, ty, operands) = (self.kernel.dtype(*a), ty(a)?, [of(a)?, of(b)?, of(c)?]);
                let value = self.emit.apply(Primitive::MulAdd, ty, &operands);
                self.wrapped(dtype, value)
            }
            Expr::Compare(kind, a, b) => {
                let (ty, x, y) = (ty(a)?, of(a)?, of(b)?);
                let (a, b) = (self.rounded(*a, x), self.rounded(*b, y));
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
                let (from, x, dtype, to) = (ty(a)?, of(a)?, *to, ty_of(self.kernel, *to)?);
                let value = self.rounded(*a, x);
                match narrow_of(dtype) {
                    Some(narrow) if from == Ty::F32 && narrow.ty() != Ty::F32 => {
                        self.emit.apply(Primitive::Saturate(narrow), from, &[value])
                    }
                    _ => {
                        let value = self.cast(value, from, to);
                        self.wrapped(dtype, value)
                    }
                }
            }
            Expr::Bitcast(a, to_dtype) => {
                let (dtype, from, a, to) =
                    (self.kernel.dtype(*a), ty(a)?, of(a)?, ty_of(self.kernel, *to_dtype)?);
                let small = |d: DType| narrow_of(d).filter(|_| d.is_float());
                if let (true, Some(_)) = (dtype != *to_dtype, small(dtype).or(small(*to_dtype))) {
                    let bits = match (small(dtype), from) {
                        (Some(narrow), _) => self.emit.apply(Primitive::BitsOf(narrow), Ty::F32, &[a]),
                        (None, Ty::U32) => a,
                        (None, _) => self.emit.apply(Primitive::Bitcast(Ty::U32), from, &[a]),
                    };
                    return Ok(match (small(*to_dtype), to) {
                        (Some(narrow), _) => self.emit.apply(Primitive::OfBits(narrow), Ty::U32, &[bits]),
                        (None, Ty::U32) => self.wrapped(*to_dtype, bits),
                        (None, _) => {
                            let value = self.emit.apply(Primitive::Bitcast(to), Ty::U32, &[bits]);
                            self.wrapped(*to_dtype, value)
                        }
                    });
                }
                let value = if from == to { a } else { self.emit.apply(Primitive::Bitcast(to), from, &[a]) };
                self.wrapped(*to_dtype, value)
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
        let ty = ty_of(self.kernel, scalar.dtype)?;
        Ok(match ty {
            Ty::F32 => Literal::F32((scalar.as_f64().unwrap_or(0.0) as f32).to_bits()),
            Ty::I32 => Literal::I32(int as i32),
            Ty::U32 => Literal::U32(int as u32),
            Ty::I64 => Literal::I64(int),
            Ty::U64 => Literal::U64(int as u64),
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
            (UnaryKind::Abs, Ty::U32 | Ty::U64) => return Ok(a),
            (UnaryKind::Neg, ty) if ty != Ty::Bool => Primitive::Neg,
            (UnaryKind::Abs, Ty::F32 | Ty::I32 | Ty::I64) => Primitive::Abs,
            (UnaryKind::Sign, ty) if ty != Ty::Bool => Primitive::Sign,
            (UnaryKind::Not, ty) if ty != Ty::F32 => Primitive::Not,
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
            (BinaryKind::And, ty) if ty != Ty::F32 => Primitive::And,
            (BinaryKind::Or, ty) if ty != Ty::F32 => Primitive::Or,
            (BinaryKind::Xor, ty) if ty != Ty::F32 => Primitive::Xor,
            (kind, Ty::Bool) => return Err(self.no_meaning(kind.name(), ty)),
            (BinaryKind::Add, _) => Primitive::Add,
            (BinaryKind::Sub, _) => Primitive::Sub,
            (BinaryKind::Mul, _) => Primitive::Mul,
            (BinaryKind::Min, _) => Primitive::Min,
            (BinaryKind::Max, _) => Primitive::Max,
            (BinaryKind::Shl, Ty::I32 | Ty::U32 | Ty::I64 | Ty::U64) => Primitive::Shl,
            (BinaryKind::Shr, Ty::I32 | Ty::U32 | Ty::I64 | Ty::U64) => Primitive::Shr,
            (kind, Ty::I64 | Ty::U64) => {
                let message = format!("op codes have no `{}` of {}", kind.name(), ty.name());
                return Err(
                    refused(self.kernel, message).help("add, subtract, multiply, compare and shift have")
                );
            }
            (BinaryKind::Div, _) => Primitive::Div,
            (BinaryKind::Rem, _) => Primitive::Rem,
            (BinaryKind::Mod, _) => Primitive::Mod,
            (BinaryKind::FloorDiv, Ty::I32 | Ty::U32) => Primitive::FloorDiv,
            (BinaryKind::Pow, Ty::I32 | Ty::U32) => Primitive::Pow,
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

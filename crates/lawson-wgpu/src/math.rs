//! Writing op codes: values and variables get their numbers here, and the expansions of `lawson_kernel::math` are written by
//! the same hand that writes stages, because [`Emit`] is an [`Arithmetic`].

use crate::opcode::{
    HalvesId, Literal, MatrixId, MemoryId, Op, OpCode, Primitive, QuadId, Test, Ty, ValueId, VarId, Word,
};
use lawson_graph::op::BinaryKind;
use lawson_kernel::math::{self, Arithmetic, Function, Lanes, TABLE};

/// Op codes in the making, of one function or of all launches.
#[derive(Default)]
pub(crate) struct Emit {
    pub(crate) codes: Vec<OpCode>,
    values: u32,
    vars: u32,
}

impl Emit {
    /// A value that is an argument.
    fn argument(&mut self) -> ValueId {
        self.values += 1;
        ValueId(self.values - 1)
    }

    /// Defines a value.
    pub(crate) fn define(&mut self, ty: Ty, op: Op) -> ValueId {
        let value = self.argument();
        self.codes.push(OpCode::Let { value, ty, op });
        value
    }

    /// Declares a variable.
    pub(crate) fn var(&mut self, ty: Ty, init: ValueId) -> VarId {
        let var = VarId(self.vars);
        self.vars += 1;
        self.codes.push(OpCode::Var { var, ty, init });
        var
    }

    /// Declares a variable of four floats.
    pub(crate) fn quad_var(&mut self, init: ValueId) -> QuadId {
        let quad = QuadId(self.vars);
        self.vars += 1;
        self.codes.push(OpCode::Quad { quad, init });
        quad
    }

    /// Declares a variable of four floats of 16 bits.
    pub(crate) fn halves(&mut self) -> HalvesId {
        self.vars += 1;
        let halves = HalvesId(self.vars - 1);
        self.codes.push(OpCode::Halves(halves));
        halves
    }

    /// The number of another matrix.
    pub(crate) fn matrix(&mut self) -> MatrixId {
        self.vars += 1;
        MatrixId(self.vars - 1)
    }

    /// Variables of their own for what four floats are now.
    pub(crate) fn parts(&mut self, quad: QuadId) -> [VarId; 4] {
        std::array::from_fn(|n| {
            let value = self.define(Ty::F32, Op::Part(quad, n));
            self.var(Ty::F32, value)
        })
    }

    /// Four neighbours of memory in quads.
    pub(crate) fn quad(&mut self, memory: MemoryId, at: Word) -> [ValueId; 4] {
        let values = std::array::from_fn(|_| self.argument());
        self.codes.push(OpCode::LetQuad { values, memory, at });
        values
    }

    /// Both results of a function that has a pair of them.
    pub(crate) fn pair(&mut self, function: &str, argument: ValueId) -> [ValueId; 2] {
        let values = [self.argument(), self.argument()];
        self.codes.push(OpCode::LetPair { values, function: function.into(), argument });
        values
    }

    /// A number.
    pub(crate) fn literal(&mut self, literal: Literal) -> ValueId {
        let ty = match literal {
            Literal::F32(_) => Ty::F32,
            Literal::I32(_) => Ty::I32,
            Literal::U32(_) => Ty::U32,
            Literal::I64(_) => Ty::I64,
            Literal::U64(_) => Ty::U64,
            Literal::Bool(_) => Ty::Bool,
        };
        self.define(ty, Op::Literal(literal))
    }

    /// A primitive whose operands have type `ty`.
    pub(crate) fn apply(&mut self, primitive: Primitive, ty: Ty, operands: &[ValueId]) -> ValueId {
        let result = match primitive {
            Primitive::Eq | Primitive::Ne | Primitive::Lt | Primitive::Le | Primitive::IsNan => Ty::Bool,
            Primitive::Cast(to) | Primitive::Bitcast(to) => to,
            Primitive::Narrow(to) | Primitive::Saturate(to) => to.ty(),
            Primitive::BitsOf(_) => Ty::U32,
            Primitive::OfBits(_) => Ty::F32,
            _ => ty,
        };
        self.define(result, Op::Apply(primitive, ty, operands.to_vec()))
    }

    fn float(&mut self, primitive: Primitive, operands: &[ValueId]) -> ValueId {
        self.apply(primitive, Ty::F32, operands)
    }

    fn int(&mut self, primitive: Primitive, operands: &[ValueId]) -> ValueId {
        self.apply(primitive, Ty::I32, operands)
    }

    fn by(&mut self, by: u32) -> ValueId {
        self.literal(Literal::I32(by as i32))
    }
}

/// The op codes of a function of one float.
pub(crate) fn unary_function(function: Function) -> Vec<OpCode> {
    let mut emit = Emit::default();
    emit.codes.push(OpCode::Function { name: function.name().into(), arguments: 1, results: 1 });
    let x = emit.argument();
    let result = function.expand(&mut emit, x);
    emit.codes.push(OpCode::Return(vec![result]));
    emit.codes
}

/// The name of the function that gives the sine and the cosine of a float.
pub(crate) const SIN_COS: &str = "sin_cos";

/// Its op codes.
pub(crate) fn sin_cos_function() -> Vec<OpCode> {
    let mut emit = Emit::default();
    emit.codes.push(OpCode::Function { name: SIN_COS.into(), arguments: 1, results: 2 });
    let x = emit.argument();
    let results = math::sin_cos(&mut emit, x);
    emit.codes.push(OpCode::Return(results.to_vec()));
    emit.codes
}

/// The op codes of a function of two floats; `None` for those that are primitives.
pub(crate) fn binary_function(kind: BinaryKind) -> Option<Vec<OpCode>> {
    let expand = match kind {
        BinaryKind::Pow => math::pow::<Emit>,
        BinaryKind::Atan2 => math::atan2::<Emit>,
        _ => return None,
    };
    let mut emit = Emit::default();
    emit.codes.push(OpCode::Function { name: kind.name().into(), arguments: 2, results: 1 });
    let (a, b) = (emit.argument(), emit.argument());
    let result = expand(&mut emit, a, b);
    emit.codes.push(OpCode::Return(vec![result]));
    Some(emit.codes)
}

impl Lanes for Emit {
    type C = f32;
    type F = ValueId;
    type I = ValueId;
    type B = ValueId;

    fn f(&mut self, c: f32) -> ValueId {
        self.literal(Literal::F32(c.to_bits()))
    }
    fn i(&mut self, c: i32) -> ValueId {
        self.literal(Literal::I32(c))
    }

    fn add(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.float(Primitive::Add, &[a, b])
    }
    fn sub(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.float(Primitive::Sub, &[a, b])
    }
    fn mul(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.float(Primitive::Product, &[a, b])
    }
    fn div(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.float(Primitive::Div, &[a, b])
    }
    fn fma(&mut self, a: ValueId, b: ValueId, c: ValueId) -> ValueId {
        self.float(Primitive::Fma, &[a, b, c])
    }
    fn fnma(&mut self, a: ValueId, b: ValueId, c: ValueId) -> ValueId {
        let minus = self.neg(a);
        self.fma(minus, b, c)
    }
    fn fms(&mut self, a: ValueId, b: ValueId, c: ValueId) -> ValueId {
        let minus = self.neg(c);
        self.fma(a, b, minus)
    }
    fn sqrt(&mut self, a: ValueId) -> ValueId {
        self.float(Primitive::Sqrt, &[a])
    }
    fn neg(&mut self, a: ValueId) -> ValueId {
        self.float(Primitive::Neg, &[a])
    }
    fn abs(&mut self, a: ValueId) -> ValueId {
        self.float(Primitive::Abs, &[a])
    }
    fn min(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.float(Primitive::Lesser, &[a, b])
    }
    fn max(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.float(Primitive::Greater, &[a, b])
    }
    fn round_even(&mut self, a: ValueId) -> ValueId {
        self.float(Primitive::Round, &[a])
    }

    fn lt(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.float(Primitive::Lt, &[a, b])
    }
    fn le(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.float(Primitive::Le, &[a, b])
    }
    fn eq(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.float(Primitive::Eq, &[a, b])
    }
    fn is_nan(&mut self, a: ValueId) -> ValueId {
        self.float(Primitive::IsNan, &[a])
    }
    fn select(&mut self, c: ValueId, a: ValueId, b: ValueId) -> ValueId {
        self.float(Primitive::Select, &[c, a, b])
    }

    fn i_add(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.int(Primitive::Add, &[a, b])
    }
    fn i_sub(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.int(Primitive::Sub, &[a, b])
    }
    fn i_and(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.int(Primitive::And, &[a, b])
    }
    fn i_or(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.int(Primitive::Or, &[a, b])
    }
    fn i_xor(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.int(Primitive::Xor, &[a, b])
    }
    fn i_shl(&mut self, a: ValueId, by: u32) -> ValueId {
        let by = self.by(by);
        self.int(Primitive::Shl, &[a, by])
    }
    fn i_shr(&mut self, a: ValueId, by: u32) -> ValueId {
        let (a, by) = (self.int(Primitive::Bitcast(Ty::U32), &[a]), self.literal(Literal::U32(by)));
        let shifted = self.apply(Primitive::Shr, Ty::U32, &[a, by]);
        self.apply(Primitive::Bitcast(Ty::I32), Ty::U32, &[shifted])
    }
    fn i_eq(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.int(Primitive::Eq, &[a, b])
    }

    fn bits(&mut self, a: ValueId) -> ValueId {
        self.float(Primitive::Bitcast(Ty::I32), &[a])
    }
    fn of_bits(&mut self, a: ValueId) -> ValueId {
        self.int(Primitive::Bitcast(Ty::F32), &[a])
    }

    fn lookup(&mut self, index: ValueId, table: &[f32; TABLE]) -> ValueId {
        self.define(Ty::F32, Op::Lookup(table.map(f32::to_bits), index))
    }

    fn and(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.apply(Primitive::And, Ty::Bool, &[a, b])
    }
    fn or(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.apply(Primitive::Or, Ty::Bool, &[a, b])
    }
    fn not(&mut self, a: ValueId) -> ValueId {
        self.apply(Primitive::Not, Ty::Bool, &[a])
    }

    fn if_any<const N: usize>(
        &mut self,
        condition: ValueId,
        common: [ValueId; N],
        rare: impl FnOnce(&mut Emit) -> [ValueId; N],
    ) -> [ValueId; N] {
        let vars = common.map(|init| self.var(Ty::F32, init));
        self.codes.push(OpCode::Guard(Test::Value(condition)));
        let values = rare(self);
        for (var, value) in vars.into_iter().zip(values) {
            self.codes.push(OpCode::Set { var, value });
        }
        self.codes.push(OpCode::EndGuard);
        vars.map(|var| self.define(Ty::F32, Op::Get(var)))
    }
}

impl Arithmetic for Emit {
    const TABLES: bool = false;
    const KEEPS_SUBNORMAL: bool = false;

    fn i_sar(&mut self, a: ValueId, by: u32) -> ValueId {
        let by = self.by(by);
        self.int(Primitive::Shr, &[a, by])
    }
    fn i_lt(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.int(Primitive::Lt, &[a, b])
    }
    fn i_select(&mut self, c: ValueId, a: ValueId, b: ValueId) -> ValueId {
        self.int(Primitive::Select, &[c, a, b])
    }
    fn to_int(&mut self, a: ValueId) -> ValueId {
        self.float(Primitive::Cast(Ty::I32), &[a])
    }
    fn to_float(&mut self, a: ValueId) -> ValueId {
        self.int(Primitive::Cast(Ty::F32), &[a])
    }
}

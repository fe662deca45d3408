//! Functions of values: primitives by dtype, as WGSL has them or the prelude does.

use super::Dialect;
use crate::opcode::*;

impl Dialect<'_> {
    /// A primitive applied to values.
    pub(super) fn apply(&mut self, primitive: Primitive, ty: Ty, operands: &[ValueId]) -> String {
        use Primitive as P;
        let of = |i: usize| operands.get(i).map(ValueId::to_string).unwrap_or_default();
        let infix = |op: &str| format!("{} {op} {}", of(0), of(1));
        match (primitive, ty) {
            (P::Narrow(to @ (Narrow::F16 | Narrow::BF16)), _) => {
                let name = self.call(&format!("round_{}", to.name()));
                format!("{name}({})", of(0))
            }
            (P::Narrow(to), _) => format!("extractBits({}, 0u, {}u)", of(0), to.bits()),
            (P::BitsOf(Narrow::BF16), _) => format!("{}({})", self.call("f32_to_bf16"), of(0)),
            (P::BitsOf(_), _) => format!("{}({})", self.call("f32_to_f16"), of(0)),
            (P::OfBits(Narrow::BF16), _) => format!("bitcast<f32>({} << 16u)", of(0)),
            (P::OfBits(_), _) => format!("{}({} & 0xffffu)", self.call("f16_to_f32"), of(0)),
            (P::Saturate(to), _) => {
                let name = self.call(&format!("f32_to_{}", to.ty().name()));
                match to {
                    Narrow::I8 => format!("clamp({name}({}), -128, 127)", of(0)),
                    Narrow::I16 => format!("clamp({name}({}), -32768, 32767)", of(0)),
                    Narrow::U8 => format!("min({name}({}), 255u)", of(0)),
                    _ => format!("min({name}({}), 65535u)", of(0)),
                }
            }
            (P::Cast(Ty::I64 | Ty::U64) | P::Bitcast(Ty::I64 | Ty::U64), Ty::I64 | Ty::U64) => of(0),
            (P::Cast(to @ (Ty::I64 | Ty::U64)), Ty::F32) => {
                let name = self.call(&format!("f32_to_{}", to.name()));
                format!("{name}({})", of(0))
            }
            (P::Cast(Ty::I64 | Ty::U64), ty) => {
                let name = self.call(&format!("{}_to_i64", ty.name()));
                format!("{name}({})", of(0))
            }
            (P::Cast(Ty::F32), Ty::I64 | Ty::U64) => {
                let name = self.call(&format!("{}_to_f32", ty.name()));
                format!("{name}({})", of(0))
            }
            (P::Cast(to), Ty::I64 | Ty::U64) => {
                let name = self.call(&format!("i64_to_{}", to.name()));
                format!("{name}({})", of(0))
            }
            (P::And, Ty::I64 | Ty::U64) => infix("&"),
            (P::Or, Ty::I64 | Ty::U64) => infix("|"),
            (P::Xor, Ty::I64 | Ty::U64) => infix("^"),
            (P::Not, Ty::I64 | Ty::U64) => format!("~{}", of(0)),
            (P::Lesser, Ty::I64 | Ty::U64) => self.apply(P::Min, ty, operands),
            (P::Greater, Ty::I64 | Ty::U64) => self.apply(P::Max, ty, operands),
            // These do not ask for the sign.
            (P::Add | P::Sub | P::Mul | P::MulAdd | P::Neg | P::Eq | P::Ne | P::Shl, Ty::U64) => {
                self.apply(primitive, Ty::I64, operands)
            }
            (P::Select, _) => format!("select({}, {}, {})", of(2), of(1), of(0)),
            (P::Bitcast(to), _) => format!("bitcast<{}>({})", to.name(), of(0)),
            (P::Cast(Ty::Bool), Ty::F32) => format!("(bitcast<u32>({}) & 0x7fffffffu) != 0u", of(0)),
            (P::Cast(to @ (Ty::I32 | Ty::U32)), Ty::F32) => {
                let name = self.call(&format!("f32_to_{}", to.name()));
                format!("{name}({})", of(0))
            }
            (P::Cast(to), _) => format!("{}({})", to.name(), of(0)),
            (P::Not, Ty::Bool) => format!("!{}", of(0)),
            (P::And, Ty::Bool) => infix("&&"),
            (P::Or, Ty::Bool) => infix("||"),
            (P::Xor | P::Ne, Ty::Bool) => infix("!="),
            (P::Eq, Ty::Bool) => infix("=="),
            (P::Lt, Ty::Bool) => format!("!{} && {}", of(0), of(1)),
            (P::Le, Ty::Bool) => format!("!{} || {}", of(0), of(1)),
            (P::Add, Ty::I32 | Ty::U32) => infix("+"),
            (P::Sub, Ty::I32 | Ty::U32) => infix("-"),
            (P::Mul, Ty::I32 | Ty::U32) => infix("*"),
            (P::And, Ty::I32 | Ty::U32) => infix("&"),
            (P::Or, Ty::I32 | Ty::U32) => infix("|"),
            (P::Xor, Ty::I32 | Ty::U32) => infix("^"),
            (P::Eq, Ty::I32 | Ty::U32) => infix("=="),
            (P::Ne, Ty::I32 | Ty::U32) => infix("!="),
            (P::Lt, Ty::I32 | Ty::U32) => infix("<"),
            (P::Le, Ty::I32 | Ty::U32) => infix("<="),
            (P::Not, Ty::I32 | Ty::U32) => format!("~{}", of(0)),
            // Less than a zero that only the host knows: compilers make a minimum of three of two minima, and one of NVIDIA's loses the sign of the third.
            (P::Neg, Ty::I32) => format!("bitcast<i32>(parameters.pin) - {}", of(0)),
            (P::Neg, Ty::U32) => format!("parameters.pin - {}", of(0)),
            (P::Abs, Ty::I32) => format!("abs({})", of(0)),
            (P::Sign, Ty::I32) => format!("sign({})", of(0)),
            (P::Sign, Ty::U32) => format!("min({}, 1u)", of(0)),
            (P::Min | P::Lesser, Ty::I32 | Ty::U32) => format!("min({}, {})", of(0), of(1)),
            (P::Max | P::Greater, Ty::I32 | Ty::U32) => format!("max({}, {})", of(0), of(1)),
            (P::MulAdd, Ty::I32 | Ty::U32) => format!("{} * {} + {}", of(0), of(1), of(2)),
            (P::FloorDiv, Ty::U32) => {
                let name = self.call("u32_div");
                format!("{name}({}, {})", of(0), of(1))
            }
            (P::Mod, Ty::U32) => {
                let name = self.call("u32_rem");
                format!("{name}({}, {})", of(0), of(1))
            }
            // Everything else is a function of the prelude.
            (primitive, ty) => {
                // A divisor that is a number far from the ends of the range needs no looking at.
                let plain = |id: &ValueId| {
                    let bits = self.literals.get(&id.to_string()).copied();
                    bits.is_some_and(|b| (64..192).contains(&((b >> 23) & 0xff)))
                };
                let name = match (primitive, ty, operands) {
                    (P::Div, Ty::F32, [_, b]) if plain(b) => "f32_quotient".to_string(),
                    _ => format!("{}_{}", ty.name(), primitive.name()),
                };
                let name = self.call(&name);
                let mut operands: Vec<String> = operands.iter().map(ValueId::to_string).collect();
                // To a compiler that knows no NaN, a number less itself is 0, and so is one times 0.
                let pinned = self.listing.capabilities.floats == Floats::Rearranged;
                if ty == Ty::F32 && (!pinned || primitive == P::MulAdd) {
                    let calculates = matches!(
                        primitive,
                        P::Add | P::Sub | P::Mul | P::Product | P::Div | P::Fma | P::MulAdd
                    );
                    let same = matches!(operands.as_slice(), [a, b] if a == b);
                    let last = operands.len() - 1;
                    for (i, operand) in operands.iter_mut().enumerate() {
                        let bits = self.literals.get(operand.as_str());
                        let is_zero = bits.is_some_and(|b| b & 0x7fff_ffff == 0);
                        if calculates && is_zero || same && i == last {
                            *operand = format!("{}({operand})", self.call("apart"));
                        }
                    }
                }
                format!("{name}({})", operands.join(", "))
            }
        }
    }
}

//! The vector instructions, a row each: name, prefix, opcode map, W bit, opcode and what the last operand holds.
//!
//! One enum for each shape of operands, so that an instruction cannot be given operands of another shape. Names
//! are the machine's, without the leading `v`. A row says `.vex(..)` where the AVX2 level has the instruction too,
//! `.only_vex()` where it alone has it. Read `../spec.rs` for the columns, `../vector.rs` for the encoding.

macro_rules! ops {
    (
        $(#[$doc:meta])*
        pub enum $enum:ident {
            $($variant:ident $name:literal => ($($column:expr),*) $(.$call:ident($($arg:expr)?))*,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $enum { $(#[doc = $name] $variant,)* }

        impl $enum {
            /// All of them, in the order of the table.
            pub const ALL: &'static [$enum] = &[$($enum::$variant,)*];

            /// The bytes of the element that the last operand may be, given once for all lanes.
            pub fn broadcasts(self) -> Option<usize> {
                self.spec().tuple.broadcast()
            }

            pub(in crate::asm) fn spec(self) -> &'static Spec {
                const TABLE: &[Spec] = &[$(row($name, $($column),*)$(.$call($($arg)?))*,)*];
                &TABLE[self as usize]
            }
        }
    };
}

mod binary;
mod lanes;
mod unary;

pub use binary::{Vec3, Vec3Imm};
pub use lanes::{
    BlendVar, BroadcastGpr, CmpFloat, CmpInt, Gather, GprFromVec, LaneBits, MaskMovStore, MaskToVec, Scatter,
    VecFromGpr, VecTest, VecToMask,
};
pub use unary::{Vec2, Vec2Imm, VecShift, VecStore, VecStoreImm};

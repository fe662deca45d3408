//! Which instruction an operation is, by the dtype that it is computed in.
//!
//! A lane has 32 bits or 64. What is narrower in memory is computed in 32: small floats as f32, small integers as integers that
//! are cut to their own width after every operation that could leave it.

use crate::asm::{CmpFloat, CmpInt, Vec2, Vec2Imm, Vec3, VecShift};
use lawson_graph::DType;

/// What a dtype is computed in.
pub(super) fn computed(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::I8 | DType::I16 => DType::I32,
        DType::U8 | DType::U16 => DType::U32,
        other => other,
    }
}

/// Whether numbers of a dtype have 64 bits.
pub(super) fn is_long(dtype: DType) -> bool {
    matches!(dtype, DType::F64 | DType::I64 | DType::U64)
}

/// The instructions of floats.
pub(super) struct FloatForms {
    pub(super) add: Vec3,
    pub(super) sub: Vec3,
    pub(super) mul: Vec3,
    pub(super) div: Vec3,
    pub(super) min: Vec3,
    pub(super) max: Vec3,
    pub(super) sqrt: Vec2,
    pub(super) round: Vec2Imm,
    pub(super) compare: CmpFloat,
    /// `a·b + c`, `a·b - c`, `c - a·b`; each with the sum in the place of the result, and with a factor.
    pub(super) fused: [[Vec3; 2]; 3],
}

/// The instructions of integers, and of bits.
pub(super) struct IntForms {
    pub(super) add: Vec3,
    pub(super) sub: Vec3,
    pub(super) mul: Vec3,
    /// Of signed and of unsigned integers.
    pub(super) min: [Vec3; 2],
    pub(super) max: [Vec3; 2],
    pub(super) compare: [CmpInt; 2],
    pub(super) and: Vec3,
    pub(super) or: Vec3,
    pub(super) xor: Vec3,
    pub(super) abs: Vec2,
    /// To the left; to the right with copies of the sign and with zeros: by a number, and by lanes.
    pub(super) shift: [VecShift; 3],
    pub(super) shift_by_lanes: [Vec3; 3],
}

static SINGLE: FloatForms = FloatForms {
    add: Vec3::Addps,
    sub: Vec3::Subps,
    mul: Vec3::Mulps,
    div: Vec3::Divps,
    min: Vec3::Minps,
    max: Vec3::Maxps,
    sqrt: Vec2::Sqrtps,
    round: Vec2Imm::Rndscaleps,
    compare: CmpFloat::Cmpps,
    fused: [
        [Vec3::Fmadd231ps, Vec3::Fmadd213ps],
        [Vec3::Fmsub231ps, Vec3::Fmsub213ps],
        [Vec3::Fnmadd231ps, Vec3::Fnmadd213ps],
    ],
};

static DOUBLE: FloatForms = FloatForms {
    add: Vec3::Addpd,
    sub: Vec3::Subpd,
    mul: Vec3::Mulpd,
    div: Vec3::Divpd,
    min: Vec3::Minpd,
    max: Vec3::Maxpd,
    sqrt: Vec2::Sqrtpd,
    round: Vec2Imm::Rndscalepd,
    compare: CmpFloat::Cmppd,
    fused: [
        [Vec3::Fmadd231pd, Vec3::Fmadd213pd],
        [Vec3::Fmsub231pd, Vec3::Fmsub213pd],
        [Vec3::Fnmadd231pd, Vec3::Fnmadd213pd],
    ],
};

static SHORT: IntForms = IntForms {
    add: Vec3::Paddd,
    sub: Vec3::Psubd,
    mul: Vec3::Pmulld,
    min: [Vec3::Pminsd, Vec3::Pminud],
    max: [Vec3::Pmaxsd, Vec3::Pmaxud],
    compare: [CmpInt::Pcmpd, CmpInt::Pcmpud],
    and: Vec3::Pandd,
    or: Vec3::Pord,
    xor: Vec3::Pxord,
    abs: Vec2::Pabsd,
    shift: [VecShift::Pslld, VecShift::Psrad, VecShift::Psrld],
    shift_by_lanes: [Vec3::Psllvd, Vec3::Psravd, Vec3::Psrlvd],
};

static LONG: IntForms = IntForms {
    add: Vec3::Paddq,
    sub: Vec3::Psubq,
    mul: Vec3::Pmullq,
    min: [Vec3::Pminsq, Vec3::Pminuq],
    max: [Vec3::Pmaxsq, Vec3::Pmaxuq],
    compare: [CmpInt::Pcmpq, CmpInt::Pcmpuq],
    and: Vec3::Pandq,
    or: Vec3::Porq,
    xor: Vec3::Pxorq,
    abs: Vec2::Pabsq,
    shift: [VecShift::Psllq, VecShift::Psraq, VecShift::Psrlq],
    shift_by_lanes: [Vec3::Psllvq, Vec3::Psravq, Vec3::Psrlvq],
};

/// Those of a float dtype; `None` for others.
pub(super) fn floats(dtype: DType) -> Option<&'static FloatForms> {
    match computed(dtype) {
        DType::F32 => Some(&SINGLE),
        DType::F64 => Some(&DOUBLE),
        _ => None,
    }
}

/// Those of lanes of 64 bits for f64, and of 32 for all others.
pub(super) fn float_forms(dtype: DType) -> &'static FloatForms {
    if dtype == DType::F64 { &DOUBLE } else { &SINGLE }
}

/// Those that work on lanes of 64 bits, or of 32.
pub(super) fn bits(long: bool) -> &'static IntForms {
    if long { &LONG } else { &SHORT }
}

//! Dtypes as op codes have them: the types that values are computed in, and what elements are in memory.

use crate::lower::refused;
use crate::opcode::{Narrow, Ty};
use lawson_graph::{DType, Result};
use lawson_kernel::Kernel;
use std::sync::LazyLock;

/// The type in which values of a dtype are computed, if there is one.
fn known_ty(dtype: DType) -> Option<Ty> {
    match dtype {
        DType::F32 | DType::F16 | DType::BF16 => Some(Ty::F32),
        DType::I32 | DType::I16 | DType::I8 => Some(Ty::I32),
        DType::U32 | DType::U16 | DType::U8 => Some(Ty::U32),
        DType::I64 => Some(Ty::I64),
        DType::U64 => Some(Ty::U64),
        DType::Bool => Some(Ty::Bool),
        _ => None,
    }
}

/// The dtypes that values are not computed in.
pub(crate) fn lacked() -> &'static [DType] {
    static LACKED: LazyLock<Vec<DType>> =
        LazyLock::new(|| DType::ALL.into_iter().filter(|d| known_ty(*d).is_none()).collect());
    &LACKED
}

/// The type in which values of a dtype are computed; a kernel that has another is refused.
pub(crate) fn ty_of(kernel: &Kernel, dtype: DType) -> Result<Ty> {
    known_ty(dtype).ok_or_else(|| {
        refused(kernel, format!("op codes have no {dtype}")).help(
            "f32, f16, bf16, bool and integers of 8 to 64 bits are there; insert a `cast`, or run this part on another target",
        )
    })
}

/// What a dtype is in memory, if it takes less than a word.
pub(crate) fn narrow_of(dtype: DType) -> Option<Narrow> {
    match dtype {
        DType::I8 => Some(Narrow::I8),
        DType::U8 => Some(Narrow::U8),
        DType::I16 => Some(Narrow::I16),
        DType::U16 => Some(Narrow::U16),
        DType::F16 => Some(Narrow::F16),
        DType::BF16 => Some(Narrow::BF16),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_narrow_in_memory_is_computed_in_words_and_nothing_that_shares_bytes_is() {
        for dtype in DType::ALL {
            let tiny = dtype.bits() < 8 || dtype.bits() == 8 && dtype.is_float();
            let expected = dtype != DType::Bool && (tiny || dtype == DType::F64);
            assert_eq!(lacked().contains(&dtype), expected, "{dtype}");
            assert!(narrow_of(dtype).is_none() || known_ty(dtype).is_some(), "{dtype}");
        }
    }
}

//! Comparisons, logic and choice.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::CompareKind;
use lawson_graph::{DType, Result};

macro_rules! compare {
    ($($name:ident => $kind:ident),* $(,)?) => {$(
        pub(super) fn $name(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
            let (a, b) = cx.pair()?;
            one(cx.b.compare(CompareKind::$kind, a, b)?)
        }
    )*};
}
compare! { equal_numbers => Eq, less => Lt, less_or_equal => Le, greater => Gt, greater_or_equal => Ge }

pub(super) fn equal(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    match cx.tensor_type(0)?.0 {
        DType::Str => super::hosted::equal_texts(cx),
        _ => equal_numbers(cx),
    }
}

pub(super) fn not(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    one(cx.b.not(x)?)
}

pub(super) fn choose(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (condition, a, b) = (cx.value(0)?, cx.value(1)?, cx.value(2)?);
    cx.assume_broadcast(&[condition, a, b])?;
    one(cx.b.select(condition, a, b)?)
}

//! Comparisons, logic and choice.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::Result;
use lawson_graph::op::CompareKind;

macro_rules! compare {
    ($($name:ident => $kind:ident),* $(,)?) => {$(
        pub(super) fn $name(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
            let (a, b) = (cx.value(0)?, cx.value(1)?);
            cx.assume_broadcast(&[a, b])?;
            one(cx.b.compare(CompareKind::$kind, a, b)?)
        }
    )*};
}
compare! { equal => Eq, less => Lt, less_or_equal => Le, greater => Gt, greater_or_equal => Ge }

pub(super) fn not(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    one(cx.b.not(x)?)
}

pub(super) fn choose(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (condition, a, b) = (cx.value(0)?, cx.value(1)?, cx.value(2)?);
    cx.assume_broadcast(&[condition, a, b])?;
    one(cx.b.select(condition, a, b)?)
}

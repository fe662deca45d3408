use super::PackLayout;
use crate::{Level, tree::Kernel};
use lawson_graph::Result;
pub(super) fn pack(_k: &mut Kernel, _a: &str, _at: &str, _l: &PackLayout, _v: Level) -> Result<()> {
    Err(lawson_graph::Error::internal("no such directive yet"))
}
pub(super) fn stream(_k: &mut Kernel, _a: &str) -> Result<()> {
    Err(lawson_graph::Error::internal("no such directive yet"))
}
pub(super) fn prefetch(_k: &mut Kernel, _a: &str, _at: &str, _l: i64, _v: Level) -> Result<()> {
    Err(lawson_graph::Error::internal("no such directive yet"))
}

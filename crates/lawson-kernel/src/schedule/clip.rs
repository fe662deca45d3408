use crate::tree::Kernel;
use lawson_graph::Result;
pub(super) fn clip(_k: &mut Kernel, _a: &str) -> Result<()> {
    Err(lawson_graph::Error::internal("no such directive yet"))
}

//! stub
use crate::{Graph, Result};
impl Graph {
    /// v
    pub fn verify(&self) -> Result<()> {
        Ok(())
    }
}

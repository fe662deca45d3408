//! The passes, one a file.

mod batch_norm;
mod common;
mod dead;
mod decompose;
mod fold;
mod order;
mod simplify;
mod weights;

pub use batch_norm::FoldBatchNorm;
pub use common::CommonSubexpressions;
pub use dead::DeadCode;
pub(crate) use dead::live_nodes;
pub use decompose::Decompose;
pub use fold::FoldConstants;
pub use order::OrderOperands;
pub use simplify::Simplify;
pub use weights::{Evaluate, FoldWeights};

use crate::pass::Pass;
use std::sync::Arc;

/// Every pass, with its default parameters.
pub fn all() -> Vec<Arc<dyn Pass>> {
    vec![
        Arc::new(DeadCode),
        Arc::new(Simplify),
        Arc::new(FoldConstants::default()),
        Arc::new(FoldWeights::default()),
        Arc::new(FoldBatchNorm),
        Arc::new(Decompose::ALL),
        Arc::new(OrderOperands),
        Arc::new(CommonSubexpressions),
    ]
}

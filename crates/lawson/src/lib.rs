//! wip
#![deny(missing_docs)]
mod file;
pub mod npy;
mod tensor;
mod view;
pub use lawson_graph::{Code, DType, Element, Error, Place, Result, Value};
pub use tensor::{Device, DlType, Tensor};
pub use view::{TensorView, TensorViewMut};

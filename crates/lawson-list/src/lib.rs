//! The list front end: a graph as a plain list of operators, the same list for every target.
//!
//! A list begins with the transfer of its input to the device, ends with the transfer back, and between them each
//! operator takes what the one before it gave. [`validate`] turns a list into a typed graph or says what is wrong
//! with it; [`fuse`] and [`unfuse`] go between the separate and the fused operators, which mean the same;
//! [`random_list`] makes lists of any depth and size; [`from_json`] and [`to_json`] read and write them.
//!
//! ```
//! use lawson_list::{Input, ListOp, Matrix, validate};
//! let list = [
//!     ListOp::HostToDevice { input: Input::Shape { rows: 2, cols: 3 } },
//!     ListOp::Linear { weights: Matrix::random(3, 4, 1), bias: Matrix::random(1, 4, 2) },
//!     ListOp::Relu,
//!     ListOp::Softmax,
//!     ListOp::DeviceToHost,
//! ];
//! let graph = validate(&list)?;
//! assert_eq!(graph.ty(graph.outputs()[0].value).to_string(), "f32[2, 4]");
//! # Ok::<(), lawson_graph::Error>(())
//! ```
//!
//! Start reading in `op.rs`. The crate is part of Lawson; `lawson::list` is its public face.
#![deny(missing_docs)]

mod fuse;
mod json;
mod op;
mod random;
mod validate;

pub use fuse::{fuse, unfuse};
pub use json::{from_json, to_json};
pub use op::{Input, ListOp, Matrix, input_tensor};
pub use random::{RandomList, random_list};
pub use validate::{Batch, validate, validate_with};

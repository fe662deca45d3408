//! Lawson, a graph compiler for tensor programs.
//!
//! A [`graph::Graph`] is built, read from text or made by a front end; [`Program::compile`] turns it into a program,
//! which threads share; each [`Session`] runs it on [`Tensor`]s or, with [`Session::run_into`], in memory of the
//! caller's. [`eager::Eager`] runs operators one at a time instead, when they are called.
//!
//! ```
//! use lawson::{CompileOptions, Program, Tensor, graph::Graph};
//!
//! let graph = Graph::parse(
//!     "lawson 1
//!      graph @scale(%x: f32[N], %by: f32[]) -> (y: f32[N]) {
//!        %all = broadcast %by {shape = [N], axes = []}
//!        %y = mul %x, %all
//!        return %y
//!      }",
//! )?;
//! let program = Program::compile(graph, &CompileOptions::default())?;
//! let mut session = program.session();
//! let x = Tensor::from_slice(&[3], &[1f32, 2.0, 3.0])?;
//! let y = session.run(&[x, Tensor::scalar(2f32)])?;
//! assert_eq!(y[0].to_vec::<f32>()?, [2.0, 4.0, 6.0]);
//! # Ok::<(), lawson::Error>(())
//! ```
//!
//! This crate alone is public API. The modules below lead to the crates of the workspace behind it, for those who
//! build graphs ([`graph`]), write passes ([`opt`]), come with lists of operators ([`list`]) or with ONNX models (`onnx`, a
//! feature that is on by default; models that decode pictures need the feature `images`, too).
#![deny(missing_docs)]

/// The example of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub mod cpu;
pub mod eager;
pub mod fuzz;
#[cfg(feature = "wgpu")]
pub mod gpu;
pub mod machine;
pub mod npy;
mod planned;
mod program;
pub mod reduce;
mod repeated;
mod session;
mod tensor;
mod view;
mod weights;

pub use lawson_cpu::team::Team;
pub use lawson_graph as graph;
pub use lawson_kernel as kernel;
pub use lawson_list as list;
#[cfg(feature = "onnx")]
pub use lawson_onnx as onnx;
pub use lawson_opt as opt;
#[cfg(feature = "wgpu")]
pub use lawson_wgpu as wgpu;

#[doc(hidden)]
pub use lawson_graph::file::write_whole;
pub use lawson_graph::{Code, DType, Element, Error, HostTensor, Place, Result, Value};
pub use lawson_kernel::partition::Fusion;
pub use program::{CompileOptions, CompileTimes, Passes, Port, Program, Target};
pub use repeated::LoopPlan;
pub use session::{Limits, Session};
pub use tensor::{Device, DlType, Tensor};
pub use view::{TensorView, TensorViewMut};

//! Lawson's typed tensor graph: types, operators, text form, verifier, and the reference interpreter.
//!
//! This crate is an inner part of Lawson; depend on `lawson` instead, which alone is public API.
//!
//! # The tour
//!
//! A value of a graph has a [`Type`]: a tensor of some [`DType`] whose dimensions are [`Dim`]s, constants or expressions
//! over named symbols; what is known about symbols are [`Facts`]. A [`Graph`] is a list of [`Node`]s, each an [`Op`]
//! applied to values. An operator is a *primitive* (module [`op`]), whose meaning is stated where it is declared, or a
//! composite, defined by its decomposition ([`CompositeDef`]).
//!
//! Graphs are made by a [`Builder`], which checks every operator as it is added, or read from text ([`Graph::parse`]);
//! [`Graph::verify`] checks the invariants of a graph, whoever made it. They are changed by applying a [`Patch`]. They
//! are run by the reference interpreter ([`interp`]), which is the oracle for everything else: naive, complete, and
//! able to say how far a correct target may be from it.
//!
//! Everything that can go wrong is one [`Error`] with a code, places and help.
//!
//! ```
//! use lawson_graph::{Graph, HostTensor, interp};
//!
//! let graph = Graph::parse(
//!     "lawson 1
//!      graph @swish(%x: f32[N]) -> (y: f32[N]) {
//!        %s = sigmoid %x
//!        %y = mul %x, %s
//!        return %y
//!      }",
//! )?;
//! let x = HostTensor::from_slice(&[3], &[-1f32, 0.0, 1.0])?;
//! let y = interp::run(&graph, &[x.into()], &interp::Options::default())?;
//! # assert!(y[0].as_tensor().is_some());
//! # Ok::<(), lawson_graph::Error>(())
//! ```
//!
//! Read `types.rs` and `op/mod.rs` first, then `graph.rs`, `builder/mod.rs`, `verify.rs`.

mod attr;
mod builder;
mod composite;
mod cost;
mod decomposed;
mod dim;
mod dtype;
mod error;
mod graph;
mod name;
mod patch;
mod site;
mod tensor;
mod text;
mod types;
mod usual;
mod verify;

#[doc(hidden)]
pub mod file;
pub mod interp;
pub mod number;
pub mod op;
pub mod random;
#[doc(hidden)]
pub mod syntax;

pub use attr::*;
pub use builder::*;
pub use composite::*;
pub use cost::Cost;
pub use decomposed::Decomposed;
pub use dim::{Bindings, Dim, Fact, Facts, Relation, Symbol, UNKNOWN_SIZE, parse_dim};
pub use dtype::*;
pub use error::*;
pub use graph::*;
pub use op::Op;
pub use patch::*;
pub use site::Site;
pub use tensor::*;
pub use text::{Constants, ParseOptions, PrintOptions, parse, print, read_law, write_law};
pub use types::*;

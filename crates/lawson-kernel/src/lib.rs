//! Lawson's kernel level: loop trees over scalars, schedules, and the plan that runs them.
//!
//! This crate is an inner part of Lawson; depend on `lawson` instead, which alone is public API.
//!
//! A [`Kernel`] is a tree of loops with stages at the leaves (`tree.rs`); stages compute scalar expressions
//! (`expr.rs`) from elements of buffers (`buffer.rs`) at index expressions (`index.rs`).

pub mod buffer;
pub mod build;
pub mod eval;
pub mod expr;
pub mod group;
pub mod index;
pub mod lower;
pub mod pack;
pub mod range;
pub mod tree;

pub use buffer::{Buffer, BufferId, Digit, Layout, Level, Role};
pub use expr::{Condition, Expr, ExprId, Extremum, Guard, Load, Scalar};
pub use group::{Group, Refused};
pub use index::{Atom, Index};
pub use range::{Range, Scope, Truth};
pub use tree::{AccId, Accumulator, Axis, AxisId, For, Kernel, Kind, Node, State, Store, StoreHint};

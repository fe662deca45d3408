//! Lawson's kernel level: loop trees over scalars, schedules, and the plan that runs them.
//!
//! This crate is an inner part of Lawson; depend on `lawson` instead, which alone is public API.
//!
//! A [`Kernel`] is a tree of loops with stages at the leaves (`tree.rs`); stages compute scalar expressions
//! (`expr.rs`) from elements of buffers (`buffer.rs`) at index expressions (`index.rs`). A [`Schedule`] says how it is
//! executed (`schedule/`), [`verify()`] checks it (`verify/`), and it has a text form that comes back (`text/`).

pub mod buffer;
pub mod build;
mod equal;
pub mod expr;
pub mod index;
pub mod range;
pub mod schedule;
mod text;
pub mod tree;
pub mod verify;

pub use buffer::{Buffer, BufferId, Digit, Layout, Level, Role};
pub use expr::{Condition, Expr, ExprId, Extremum, Guard, Load, Scalar};
pub use index::{Atom, Index};
pub use range::{Range, Scope, Truth};
pub use schedule::{Directive, PackLayout, Schedule, Tail};
pub use tree::{AccId, Accumulator, Axis, AxisId, For, Kernel, Kind, Node, State, Store, StoreHint};
pub use verify::verify;

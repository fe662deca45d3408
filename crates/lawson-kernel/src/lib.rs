//! Lawson's kernel level: loop trees over scalars, schedules, and the plan that runs them.
//!
//! This crate is an inner part of Lawson; depend on `lawson` instead, which alone is public API.
//!
//! A [`Kernel`] is a tree of loops with stages at the leaves (`tree.rs`); stages compute scalar expressions
//! (`expr.rs`) from elements of buffers (`buffer.rs`) at index expressions (`index.rs`). Graphs become kernels by
//! [`lower`], in groups that [`partition`] finds; a [`Schedule`] says how a kernel is executed, and [`choose`] finds one
//! from the [`machine`] model. [`compile`] puts these together into a [`Plan`], and [`predict()`]
//! says how long a kernel will take. [`verify()`] checks kernels, [`eval`] runs them
//! slowly, [`Kernel::parse`] reads them and `Display` prints them.

pub mod borrow;
pub mod buffer;
pub mod build;
pub mod chain;
pub mod choose;
pub mod compile;
mod equal;
pub mod eval;
pub mod expr;
pub mod group;
pub mod hash;
mod host;
pub mod index;
pub mod layout;
pub mod lower;
pub mod machine;
pub mod math;
pub mod opaque;
pub mod pack;
pub mod parallel;
pub mod partition;
pub mod plan;
pub mod predict;
pub mod products;
pub mod range;
pub mod schedule;
mod skip;
mod text;
pub mod tree;
pub mod verify;
mod work;

pub use buffer::{Buffer, BufferId, Digit, Layout, Level, Role};
pub use expr::{Condition, Expr, ExprId, Extremum, Guard, Load, Scalar};
pub use group::{Group, Refused};
pub use index::{Atom, Datum, Index};
pub use layout::Orders;
pub use plan::{
    Access, Action, Again, Barrier, Bound, Branch, Carried, Interpreted, Loop, Mode, Operators, Order, Place,
    Places, Plan, PlanBuffer, PlanText, Region, Row, Slot, Staged, Step, ValuePort, WrittenPlan, check_feeds,
};
pub use predict::predict;
pub use range::{Range, Scope, Side, Truth};
pub use schedule::{Directive, PackLayout, Schedule, Tail};
pub use tree::{AccId, Accumulator, Axis, AxisId, For, Kernel, Kind, Merge, Node, State, Store, StoreHint};
pub use verify::verify;

//! Small models, written with the messages of the format, imported and run by the reference interpreter.
#![allow(clippy::unwrap_used)]

mod classic;
mod contrib;
mod control;
mod files;
mod hostile;
mod memory;
mod model;
mod open;
mod operators;
#[cfg(feature = "images")]
mod pictures;
mod presupposed;
mod shapes;
mod special;
mod wrong;

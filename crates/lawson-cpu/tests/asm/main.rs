//! The assembler against an independent decoder and its own rules.
#![allow(clippy::unwrap_used)]

mod errors;
mod forms;
mod program;
mod random;

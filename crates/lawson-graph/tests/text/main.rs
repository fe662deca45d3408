//! The text form from outside: what is printed is read back, what is wrong is said with its place, and nothing that a
//! text contains makes reading panic.

// Clippy knows test functions, but not the functions that they share.
#![allow(clippy::unwrap_used)]

mod constants;
mod corpus;
mod docs;
mod errors;
mod mangled;
mod random;
mod round_trip;
mod side_files;

//! The binary itself: what each command prints, what it writes, and its exit codes. A file a subject; `folder.rs` has what all use.
#![allow(clippy::unwrap_used)]

mod bench;
mod check;
mod digits;
mod folder;
mod fuzz;
mod lists;
mod machine;
mod models;
mod modes;
mod onnx;
mod onnx_test;
mod passes;
mod ports;
mod run;
mod show;
mod sizes;
mod speech;

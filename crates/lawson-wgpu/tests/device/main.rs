//! Shaders run on the device that is there, against the direct evaluator of kernels and the oracle of graphs. Without a device
//! these tests fail: a driver that needs no GPU can be had everywhere.
#![allow(clippy::unwrap_used)]

mod chains;
mod functions;
mod graphs;
mod primitives;
mod random;
mod refused;
mod shaders;
mod support;

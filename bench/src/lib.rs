//! What Lawson promises to be fast at, measured.
//!
//! [`work`] makes the programs: graphs with their inputs, how much work they are and what to check them against.
//! [`case`] compiles and checks them, [`measure`] times them in blocks that alternate with those of `lawson_cpu::limits`, the most
//! that this machine can do; [`report`] prints. The binaries in `benches/` are lists of cases. Start with `case.rs`.

pub mod case;
pub mod measure;
pub mod report;
pub mod work;

/// What goes wrong in a bench ends it.
pub type Failure = Box<dyn std::error::Error>;

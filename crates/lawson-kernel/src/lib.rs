//! The kernel level of the Lawson compiler. Read [`math`] first.

pub mod math;

//! Lawson's kernels as WGSL, and a runner for them on any device that `wgpu` finds.
//!
//! This crate is an inner part of Lawson; depend on `lawson` instead, which alone is public API.
//!
//! A kernel becomes a [`Listing`]: a list of *op codes*, each of which a dialect prints as one fragment of text. The list knows
//! nothing of the language: [`wgsl`] is one dialect, another language is another file like it.
//!
//! ```
//! use lawson_graph::{DType, Facts};
//! use lawson_kernel::build::{for_each, store};
//! use lawson_kernel::Kernel;
//! use lawson_wgpu::{Capabilities, Listing, wgsl};
//! let mut k = Kernel::new("double", Facts::new());
//! let (x, y) = (k.input("x", DType::F32, &[8.into()]), k.output("y", DType::F32, &[8.into()]));
//! let i = k.add_axis("i");
//! let e = k.load(x, vec![i.into()]);
//! let sum = k.sum(e, e);
//! k.body = vec![for_each(i, 8, vec![store(y, vec![i.into()], sum)])];
//! let listing = Listing::of(&k, &Capabilities::default())?;
//! assert!(listing.to_string().contains("store y[i]"));
//! assert!(wgsl::text(&listing).contains("fn launch_0("));
//! # Ok::<(), lawson_graph::Error>(())
//! ```
//!
//! Read `opcode.rs` first, then `lower.rs` (kernel to op codes), `wgsl.rs` (op codes to text) and `gpu.rs` (text to results).

mod binding;
pub mod cache;
mod capability;
mod chain;
mod count;
pub mod device;
mod dtype;
mod executable;
mod fill;
pub mod gpu;
mod held;
mod hoist;
mod instance;
mod launch;
mod lower;
mod math;
mod matrices;
mod measure;
pub mod opcode;
mod pipelines;
mod prelude;
mod primitive;
mod probe;
mod quads;
mod ready;
mod record;
mod rounding;
mod rows;
mod run;
mod show;
mod spirv;
mod strategy;
mod tiles;
mod translated;
mod trusted;
mod value;
pub mod wgsl;
mod wide;
mod word;

pub use binding::Binding;
pub use capability::{Capabilities, Floats, Fused};
pub use count::Counts;
pub use device::{Adapter, Device, Language, Options, Selection, adapters};
pub use executable::{Executable, leave_to_evaluator, machine, machine_for};
pub use gpu::Gpu;
pub use held::Held;
pub use instance::Instance;
pub use measure::{DeviceRates, machine_of, measure};
pub use opcode::{Listing, OpCode};
pub use pipelines::Keep;
pub use run::{Again, Pace, Stride};

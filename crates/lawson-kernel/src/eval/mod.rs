//! The direct evaluator: a kernel run as the plain loops that it is, slowly, with everything checked.
//!
//! In: a kernel, values of its parameters, and the bytes of its inputs and outputs. Out: the outputs' bytes, or the first
//! thing that the kernel must not do: a load or store outside a buffer's dimensions or its layout, a load of what
//! nobody wrote, two iterations of a parallel loop that write one element or read each other's. Every operation means
//! what the graph's primitive means and is rounded to its dtype. It is what schedules and targets are tested against.
//!
//! `place.rs` has indices with the parameters put in, `memory.rs` buffers that know who wrote what, `machine.rs` runs.

mod machine;
mod memory;
mod place;

use crate::buffer::Role;
use crate::tree::Kernel;
use lawson_graph::{Code, Error, Result, Symbol};
use machine::Machine;
use memory::Memory;

/// How a run is done.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// In which order loops run that claim not to need one.
    pub order: Order,
    /// Whether every element of every output must be written.
    pub coverage: Coverage,
    /// How many stages and steps of accumulators may be executed.
    pub max_steps: u64,
}

/// In which order loops run whose kind says that their iterations are independent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// As written.
    Forward,
    /// Parallel, jammed and vector loops from their last iteration to their first; iterations of the latter two step
    /// states of their own, which begin as identities and are merged. Results must be the same, up to the rounding of sums;
    /// where they are not, a kind, an identity or a merge is wrong.
    Reverse,
}

/// Which elements of outputs a kernel must write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// All of them.
    Whole,
    /// Whichever it does.
    Partial,
}

impl Default for Options {
    fn default() -> Options {
        Options { order: Order::Forward, coverage: Coverage::Whole, max_steps: 1 << 32 }
    }
}

/// Runs a kernel on its inputs and outputs, which are those of its buffers that are not scratch, in order, each with as
/// many bytes as its layout takes.
///
/// ```
/// use lawson_graph::{DType, Dim, Facts, Symbol};
/// use lawson_kernel::{build, eval, Index, Kernel};
/// let mut k = Kernel::new("double", Facts::new());
/// let (x, y) = (k.input("x", DType::F32, &[Dim::symbol("N")]), k.output("y", DType::F32, &[Dim::symbol("N")]));
/// let i = k.add_axis("i");
/// let e = k.load(x, vec![Index::axis(i)]);
/// let sum = k.sum(e, e);
/// k.body = vec![build::for_each(i, Dim::symbol("N"), vec![build::store(y, vec![Index::axis(i)], sum)])];
/// let mut buffers = vec![1.5f32.to_le_bytes().to_vec(), vec![0; 4]];
/// eval::run(&k, &[(Symbol::new("N"), 1)], &mut buffers, &eval::Options::default())?;
/// assert_eq!(buffers[1], 3f32.to_le_bytes());
/// # Ok::<(), lawson_graph::Error>(())
/// ```
pub fn run(
    kernel: &Kernel,
    params: &[(Symbol, i64)],
    buffers: &mut [Vec<u8>],
    options: &Options,
) -> Result<()> {
    let given = kernel.buffers.iter().filter(|b| !matches!(b.role, Role::Scratch(_))).count();
    if given != buffers.len() {
        let message =
            format!("kernel `{}` has {given} inputs and outputs, {} came", kernel.name, buffers.len());
        return Err(Error::new(Code::KernelRun, message).help("give one for each buffer that is not scratch"));
    }
    let value_of = |s: &Symbol| params.iter().find(|(name, _)| name == s).map(|(_, v)| *v);
    let mut memories = Vec::with_capacity(kernel.buffers.len());
    let mut given = buffers.iter_mut();
    for buffer in &kernel.buffers {
        let bytes = match buffer.role {
            Role::Scratch(_) => None,
            Role::Input | Role::Output => given.next().map(std::mem::take),
        };
        memories.push(Memory::new(buffer, bytes, &value_of)?);
    }
    let mut machine = Machine::new(kernel, memories, options, &value_of)?;
    let result = machine.run();
    let mut given = buffers.iter_mut();
    for (buffer, memory) in kernel.buffers.iter().zip(machine.into_memories()) {
        let covered = match (buffer.role, options.coverage) {
            (Role::Scratch(_), _) => continue,
            (Role::Output, Coverage::Whole) if result.is_ok() => memory.check_whole(&kernel.name),
            _ => Ok(()),
        };
        if let Some(slot) = given.next() {
            *slot = memory.into_bytes();
        }
        covered?;
    }
    result
}

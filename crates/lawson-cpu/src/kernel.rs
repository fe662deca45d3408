//! A kernel as machine code: the stages of the emitter in order, and what is needed to call the result.

use crate::alloc::allocate;
use crate::asm::{Code, Level};
use crate::avx2;
use crate::code::Word;
use crate::encode::encode;
use crate::error::{Result, Unsupported};
use crate::isa::Isa;
use crate::lower::{Limit, lower};
use lawson_graph::Dim;
use lawson_kernel::Kernel;
use lawson_kernel::opaque::opaque;

/// What to keep of the way to machine code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Listing {
    /// Nothing.
    #[default]
    Off,
    /// Instructions as text, with the tree as comments.
    On,
}

/// The machine code of a kernel, not yet where it can run.
#[derive(Debug)]
pub struct Emitted {
    /// The code: a function of the argument table, the first and one past the last parallel iteration, and the scratch.
    pub code: Code,
    /// What the argument table holds.
    pub words: Vec<Word>,
    /// How many bytes of scratch each member of the team needs.
    pub scratch_bytes: usize,
    /// How many parallel iterations there are, by the kernel's parameters.
    pub parallel: Dim,
    /// What the kernel's parameters must satisfy: the code is wrong for others.
    pub limits: Vec<Limit>,
    /// What was put into memory for want of registers: vectors, masks, general registers.
    pub spilled: [u32; 3],
}

/// Emits a scheduled kernel for processors of a kind, whether or not this is one.
pub fn emit(kernel: &Kernel, isa: Isa, listing: Listing) -> Result<Emitted> {
    let Some(level) = isa.level() else {
        return Err(Unsupported::new("no code is made for the portable target"));
    };
    // What follows of sizes when code is made follows of them as symbols, too; only words of the table are asked for what they stand for.
    if let Some((plain, sizes)) = opaque(kernel).filter(|_| listing == Listing::Off)
        && let Ok(mut made) = emit_as_written(&plain, level, listing)
    {
        for word in &mut made.words {
            if let Word::Parameter(dim) = word {
                *dim = sizes.restored(dim);
            }
        }
        made.parallel = sizes.restored(&made.parallel);
        made.limits.iter_mut().for_each(|l| l.value = sizes.restored(&l.value));
        return Ok(made);
    }
    emit_as_written(kernel, level, listing)
}

fn emit_as_written(kernel: &Kernel, level: Level, listing: Listing) -> Result<Emitted> {
    let mut program = lower(kernel, level, listing == Listing::On)?;
    if level == Level::Avx2 {
        program = avx2::rewrite(program)?;
    }
    let words = program.words.clone();
    let scratch_bytes = program.scratch_bytes;
    let parallel = program.parallel.as_dim().cloned().unwrap_or(Dim::ONE);
    let limits = program.limits.clone();
    let entry = program.entry;
    let allocated = allocate(program, level);
    let spilled = allocated.spilled;
    let code = encode(&allocated, &entry, listing == Listing::On)
        .map_err(|e| Unsupported::new(format!("code that cannot be assembled: {e}")))?;
    Ok(Emitted { code, words, scratch_bytes, parallel, limits, spilled })
}

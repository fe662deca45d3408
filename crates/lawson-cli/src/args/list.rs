//! Arguments of `list` and its sub-commands.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What to do with lists.
#[derive(Debug, Subcommand)]
pub enum ListCommand {
    /// Make a random list.
    #[command(after_help = "Examples:
  lawson list random --depth 64 --size 256 -o list.json
  lawson list random --depth 10 --size 4 --inline | lawson show -")]
    Random(RandomArgs),
    /// Replace neighbours by the fused operators.
    Fuse(ListFileArgs),
    /// Replace fused operators by the separate ones.
    Unfuse(ListFileArgs),
    /// Turn a list into a graph.
    #[command(after_help = "Example:
  lawson list lower list.json --symbolic-batch N -o list.law")]
    Lower(LowerArgs),
}

/// Arguments of `list random`.
#[derive(Debug, Args)]
pub struct RandomArgs {
    /// How many entries, the two transfers included.
    #[arg(long, default_value_t = 8)]
    pub depth: usize,
    /// The columns of every matrix between the operators.
    #[arg(long, default_value_t = 16)]
    pub size: usize,
    /// The rows of the input.
    #[arg(long, default_value_t = 1)]
    pub batch: usize,
    /// The seed.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Leave out the softmax at the end.
    #[arg(long)]
    pub no_softmax: bool,
    /// Write all numbers instead of the recipe that makes them.
    #[arg(long)]
    pub inline: bool,
    /// Write to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

/// Arguments of `list fuse` and `list unfuse`.
#[derive(Debug, Args)]
pub struct ListFileArgs {
    /// A .json list, or - for standard input.
    pub file: String,
    /// Write to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

/// Arguments of `list lower`.
#[derive(Debug, Args)]
pub struct LowerArgs {
    /// A .json list, or - for standard input.
    pub file: String,
    /// Make the batch a symbol of this name.
    #[arg(long, value_name = "NAME")]
    pub symbolic_batch: Option<String>,
    /// Write to this file; large constants go to a .safetensors file beside it.
    #[arg(short, long, value_name = "FILE.law")]
    pub output: Option<PathBuf>,
}

//! Arguments of the commands that keep what was measured or compiled.

use clap::Args;

/// Arguments of `machine`.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Measure a device instead of the processor: `wgpu` for the one that the system prefers, or its number or a part of its name, as `lawson devices`
    /// has them.
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Take about a second instead of ten.
    #[arg(long, conflicts_with = "device")]
    pub quick: bool,
    /// Measure even if this machine was measured before.
    #[arg(long)]
    pub again: bool,
    /// Forget what was measured.
    #[arg(long, conflicts_with_all = ["quick", "again"])]
    pub forget: bool,
}

/// Arguments of `cache`.
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// Remove them.
    #[arg(long)]
    pub clear: bool,
}

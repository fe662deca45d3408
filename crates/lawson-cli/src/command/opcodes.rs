//! `lawson opcodes`: the kernels of a graph as op codes and as the text that they become, for a device that is there or one that is
//! described.

use super::pipeline;
use crate::args::OpcodesArgs;
use crate::report::{Outcome, Reporter};
use crate::{device, load};
use lawson::kernel::compile::compile;
use lawson::wgpu::{Binding, Capabilities, Listing, machine_for, wgsl};
use serde_json::{Value as Json, json};
use std::io::Write;

pub fn run(args: &OpcodesArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let graph = load::open(&args.file, args.sizes.sizing())?.graph;
    let graph = pipeline(&args.passes)?.run(&graph)?;
    let mut capabilities = match &args.device.device {
        None => Capabilities::default(),
        Some(_) => match device::open(crate::args::Target::Wgpu, &args.device)? {
            Some(device) => device.capabilities()?,
            None => Capabilities::default(),
        },
    };
    if let Some(bytes) = args.workgroup_memory {
        capabilities.workgroup_memory = bytes;
    }
    if let Some(bytes) = args.buffer_bytes {
        capabilities.max_buffer_bytes = bytes;
    }
    match (args.no_subgroups, args.subgroup) {
        (true, _) => capabilities.subgroup = None,
        (false, Some(size)) => capabilities.subgroup = Some(size),
        (false, None) => {}
    }
    if args.matrices {
        (capabilities.matrices, capabilities.subgroup) = (true, Some(32));
    }
    capabilities.matrices &= !args.no_matrices;
    let plan = compile(&graph, &machine_for(&capabilities))?;
    let mut all = Vec::new();
    for (n, kernel) in plan.kernels.iter().enumerate() {
        let listing = Listing::bound(kernel, &capabilities, &Binding::of(kernel, &capabilities));
        if reporter.json {
            all.push(match &listing {
                Ok(l) => json!({ "kernel": kernel.name, "opcodes": l.to_string(), "wgsl": wgsl::text(l) }),
                Err(e) => json!({ "kernel": kernel.name, "refused": e.message() }),
            });
            continue;
        }
        writeln!(out, "== kernel {n}, @{}", kernel.name)?;
        match &listing {
            Ok(listing) => {
                writeln!(out, "{listing}")?;
                if !args.no_text {
                    writeln!(out, "-- as WGSL\n{}", wgsl::text(listing))?;
                }
            }
            Err(e) => writeln!(out, "refused: {}", e.message())?,
        }
    }
    if reporter.json {
        writeln!(out, "{:#}", Json::Array(all))?;
    }
    Ok(())
}

//! `lawson devices`: the processor and the adapters that wgpu finds, with the limits that matter.

use crate::args::{DeviceArgs, Target};
use crate::device;
use crate::quantity::bytes;
use crate::report::{Outcome, Reporter};
use lawson::Result;
use lawson::cpu::Isa;
use lawson::wgpu::{Adapter, Capabilities, Floats, adapters};
use serde_json::{Value as Json, json};
use std::io::Write;

pub fn run(reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let found = adapters();
    let processor = lawson::machine::model();
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let isa = Isa::best();
    if reporter.json {
        let all: Vec<Json> = found.iter().enumerate().map(|(n, a)| adapter_json(n, a)).collect();
        let cpu = json!({ "name": processor, "isa": isa.name(), "threads": threads });
        return Ok(writeln!(out, "{:#}", json!({ "cpu": cpu, "wgpu": all }))?);
    }
    writeln!(out, "cpu     {processor}: {isa}, {threads} threads")?;
    for (n, a) in found.iter().enumerate() {
        writeln!(out, "wgpu {n}  {}: {}, {}, {}", a.name, a.kind, a.backend, a.driver)?;
        let subgroup = match a.subgroup {
            Some((least, most)) if least == most => format!("{least}"),
            Some((least, most)) => format!("{least} to {most}"),
            None => "none".to_string(),
        };
        writeln!(
            out,
            "        subgroups {subgroup}; workgroups of {} members with {}, {} in one direction",
            a.workgroup_members,
            bytes(f64::from(a.workgroup_memory)),
            a.workgroups
        )?;
        writeln!(
            out,
            "        buffers to {}, of which a shader sees {} and {} at once",
            bytes(a.buffer as f64),
            bytes(a.binding as f64),
            a.bindings
        )?;
        let features = [
            ("f16", a.f16),
            ("pipeline cache", a.pipeline_cache),
            ("timestamps", a.timestamps),
            ("cooperative matrix", a.cooperative_matrix),
        ];
        let has: Vec<&str> = features.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
        writeln!(
            out,
            "        {}",
            if has.is_empty() { "nothing besides".to_string() } else { has.join(", ") }
        )?;
        if let Ok(c) = seen(n) {
            let operations = match c.floats {
                Floats::Told => "kept as written, as its compiler is told to",
                Floats::Kept => "kept as written",
                Floats::Rearranged => "pinned, as its compiler rearranges them",
            };
            let compared = if c.compares { "as they are" } else { "by their bits" };
            let subnormal = if c.flushes { "become zero" } else { "stay" };
            let nearest = if c.rounds { "the nearest" } else { "corrected" };
            writeln!(
                out,
                "        floats: operations {operations}; compared {compared}; subnormal ones {subnormal}; quotients {nearest}"
            )?;
        }
    }
    if found.is_empty() {
        writeln!(out, "wgpu    no adapter; on Debian, `mesa-vulkan-drivers` has one that needs no GPU")?;
    }
    Ok(())
}

/// What was seen of the adapter of this number when something ran on it.
fn seen(number: usize) -> Result<Capabilities> {
    let device = DeviceArgs { device: Some(number.to_string()) };
    match device::open(Target::Wgpu, &device)? {
        Some(device) => device.capabilities(),
        None => Ok(Capabilities::default()),
    }
}

/// What an adapter says of itself, as JSON.
fn adapter_json(number: usize, a: &Adapter) -> Json {
    let floats = seen(number).ok().map(|c| {
        let kept = c.floats != Floats::Rearranged;
        json!({ "kept": kept, "told": c.floats == Floats::Told, "compared": c.compares, "rounded": c.rounds, "flushed": c.flushes, "probed": c.probed })
    });
    json!({
        "floats": floats,
        "number": number,
        "name": a.name,
        "kind": a.kind,
        "backend": a.backend,
        "driver": a.driver,
        "subgroup_min": a.subgroup.map(|s| s.0),
        "subgroup_max": a.subgroup.map(|s| s.1),
        "workgroup_memory_bytes": a.workgroup_memory,
        "workgroup_members": a.workgroup_members,
        "workgroups_per_dimension": a.workgroups,
        "buffer_bytes": a.buffer,
        "binding_bytes": a.binding,
        "bindings": a.bindings,
        "f16": a.f16,
        "pipeline_cache": a.pipeline_cache,
        "timestamps": a.timestamps,
        "cooperative_matrix": a.cooperative_matrix,
    })
}

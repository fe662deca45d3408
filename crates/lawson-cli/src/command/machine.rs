//! `lawson machine`: how fast this machine is, measured once and kept, beside the estimates that it replaces.

use super::machine_device;
use crate::args::MachineArgs;
use crate::quantity::measured;
use crate::report::{Outcome, Reporter};
use lawson::kernel::machine::{LOST_AT, Machine, Rate, Rates};
use lawson::machine::{Kept, model, this_machine, to_json};
use lawson::{Code, Error, Result};
use serde_json::json;
use std::io::Write;
use std::path::Path;

pub fn run(args: &MachineArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    if let Some(device) = &args.device {
        return machine_device::run(device, args, reporter, out);
    }
    let kept = Kept::of_user();
    let model = model();
    if args.forget {
        let forgotten = kept.as_ref().map(|k| k.forget(&model)).transpose()?.unwrap_or(false);
        return say_forgotten(forgotten, &model, reporter, out);
    }
    let machine = this_machine(None)?;
    let before = match &kept {
        Some(kept) if !args.again => kept.rates(&model)?,
        _ => None,
    };
    let fresh = before.is_none();
    let rates = match before {
        Some(rates) => rates,
        None => measure(&machine, args, kept.as_ref().and_then(|k| k.path().parent()), reporter)?,
    };
    // Shown before it is kept: if that fails, it was not for nothing.
    let path = kept.as_ref().map(|k| k.path().display().to_string());
    print(&model, &machine, &rates, path.as_deref(), fresh, reporter, out)?;
    out.flush()?;
    if fresh {
        keep(kept, |kept| kept.keep(&model, &rates))?;
    }
    Ok(())
}

/// Keeps a measurement in the file of this user.
pub fn keep(kept: Option<Kept>, keep: impl FnOnce(&Kept) -> Result<()>) -> Result<()> {
    let nowhere = || {
        Error::new(Code::Io, "neither XDG_CACHE_HOME nor HOME says where to keep the measurement")
            .help("set XDG_CACHE_HOME to a folder")
    };
    keep(&kept.ok_or_else(nowhere)?)
        .map_err(|e| e.help("the measurement was not kept; XDG_CACHE_HOME says where it should be"))
}

/// Says whether a measurement was forgotten.
pub fn say_forgotten(forgotten: bool, model: &str, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    match reporter.json {
        true => writeln!(out, "{:#}", json!({ "forgotten": forgotten }))?,
        false if forgotten => writeln!(out, "forgotten: times are predicted from estimates again")?,
        false => writeln!(out, "nothing was kept for {model}")?,
    }
    Ok(())
}

#[cfg(all(unix, target_arch = "x86_64"))]
fn measure(
    machine: &Machine,
    args: &MachineArgs,
    folder: Option<&Path>,
    reporter: &Reporter,
) -> Result<Rates> {
    use indicatif::{ProgressBar, ProgressStyle};
    use lawson::machine::{Effort, STAGES, measure};
    let effort = if args.quick { Effort::Quick } else { Effort::Full };
    let bar = if reporter.json { ProgressBar::hidden() } else { ProgressBar::new(STAGES.len() as u64) };
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    // The disk is measured only where the folder is there: nothing is made before there is something to keep.
    let folder = folder.filter(|f| f.is_dir());
    let rates = measure(machine, effort, folder, &mut |stage| {
        bar.set_position(stage as u64);
        bar.set_message(STAGES[stage]);
    });
    bar.finish_and_clear();
    rates
}

#[cfg(not(all(unix, target_arch = "x86_64")))]
fn measure(_: &Machine, _: &MachineArgs, _: Option<&Path>, _: &Reporter) -> Result<Rates> {
    Err(Error::new(Code::NotLowered, "measuring works on x86-64 under Unix only"))
}

fn print(
    model: &str,
    machine: &Machine,
    rates: &Rates,
    path: Option<&str>,
    fresh: bool,
    reporter: &Reporter,
    out: &mut dyn Write,
) -> Outcome {
    // As the kernels see it that it runs.
    let machine = &lawson::cpu::Isa::best().of(machine);
    let estimates = &machine.rates;
    let features = features();
    if reporter.json {
        let report = json!({
            "model": model,
            "vector_bits": machine.lanes * 32,
            "features": features,
            "sizes": { "l1": machine.l1, "l2": machine.l2, "l3": machine.l3 },
            "measured": to_json(rates),
            "estimated": to_json(estimates),
            "measured_now": fresh,
            "file": path,
        });
        return Ok(writeln!(out, "{report:#}")?);
    }
    writeln!(out, "{model}")?;
    writeln!(out, "vectors of {} bits: {}", machine.lanes * 32, features.join(", "))?;
    let size = |bytes: i64| format!("{} KiB", bytes >> 10);
    writeln!(out, "caches: L1 {}, L2 {}, L3 {}", size(machine.l1), size(machine.l2), size(machine.l3))?;
    writeln!(out)?;
    writeln!(
        out,
        "{:22}{:>14}{:>14}{:>16}{:>14}",
        "",
        "one core",
        format!("{} threads", rates.members),
        "estimate: core",
        "team"
    )?;
    let flops = 2.0 * machine.lanes as f64;
    let mut row = |name: &str, found: &Rate, guess: Option<&Rate>, scale: f64, unit: &str| {
        let shown = |x: f64| measured(x * scale, unit);
        let (core, team) = guess.map_or((String::new(), String::new()), |g| (shown(g.core), shown(g.team)));
        writeln!(out, "{name:22}{:>14}{:>14}{core:>16}{team:>14}", shown(found.core), shown(found.team))
    };
    row("multiply-adds, f32", &rates.fma, Some(&estimates.fma), flops, "FLOP/s")?;
    if let Some(dot) = &rates.dot {
        // Four products and their sum in each lane.
        row("dot products, bytes", dot, estimates.dot.as_ref(), 8.0 * machine.lanes as f64, "OP/s")?;
    }
    for (n, level) in ["L1", "L2", "L3", "memory"].into_iter().enumerate() {
        row(&format!("reading {level}"), &rates.read[n], Some(&estimates.read[n]), 1.0, "B/s")?;
    }
    row("copying, streamed", &rates.copy, Some(&estimates.copy), 1.0, "B/s")?;
    row("triad, streamed", &rates.triad, Some(&estimates.triad), 1.0, "B/s")?;
    let mut one = |name: &str, found: Option<f64>, guess: Option<f64>, unit: &str| {
        let shown = |x: Option<f64>| x.map_or_else(|| "unknown".to_string(), |x| measured(x, unit));
        let guess = guess.map_or_else(String::new, |g| measured(g, unit));
        writeln!(out, "{name:22}{:>14}{:>14}{guess:>16}", shown(found), "")
    };
    one("barrier of the team", Some(rates.barrier), Some(estimates.barrier), "s")?;
    one("a step of a plan", Some(rates.launch), Some(estimates.launch), "s")?;
    one("the same, far away", Some(rates.cold), Some(estimates.cold), "s")?;
    one("a run of a plan", Some(rates.run), Some(estimates.run), "s")?;
    one("reading the disk", rates.disk, estimates.disk, "B/s")?;
    one("others into L3", Some(rates.others), Some(estimates.others), "B/s")?;
    writeln!(out)?;
    let lost = LOST_AT.iter().zip(rates.lost).map(|(at, lost)| format!("{:.0}% of {at}", 100.0 * lost));
    writeln!(out, "lost when so many times L3 are read: {}", lost.collect::<Vec<_>>().join(", "))?;
    writeln!(out)?;
    match (path, fresh) {
        (Some(path), true) => writeln!(out, "kept in {path}")?,
        (Some(path), false) => writeln!(out, "measured before, from {path}; --again measures anew")?,
        (None, _) => {}
    }
    Ok(())
}

/// The instructions that matter here and that this processor has.
fn features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        let all = [
            ("AVX2", std::arch::is_x86_feature_detected!("avx2")),
            ("FMA", std::arch::is_x86_feature_detected!("fma")),
            ("AVX-512F", std::arch::is_x86_feature_detected!("avx512f")),
            ("AVX-512BW", std::arch::is_x86_feature_detected!("avx512bw")),
            ("AVX-512VNNI", std::arch::is_x86_feature_detected!("avx512vnni")),
            ("AVX-512BF16", std::arch::is_x86_feature_detected!("avx512bf16")),
        ];
        all.into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}

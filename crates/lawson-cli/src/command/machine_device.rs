//! `lawson machine --device`: how fast a device is, measured once and kept.

use super::machine::{keep, say_forgotten};
use crate::args::{DeviceArgs, MachineArgs, Target};
use crate::device;
use crate::quantity::measured;
use crate::report::{Outcome, Reporter};
use lawson::Error;
use lawson::machine::{Kept, device_json, device_model};
use lawson::wgpu::{DeviceRates, measure};
use serde_json::json;
use std::io::Write;

pub fn run(device: &str, args: &MachineArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let named = DeviceArgs { device: Some(device.to_string()).filter(|d| d != "wgpu") };
    let device =
        device::open(Target::Wgpu, &named)?.ok_or_else(|| Error::internal("no device was opened"))?;
    let adapter = device.adapter()?;
    let model = device_model(&adapter);
    let kept = Kept::of_user();
    if args.forget {
        let forgotten = kept.as_ref().map(|k| k.forget_device(&model)).transpose()?.unwrap_or(false);
        return say_forgotten(forgotten, &model, reporter, out);
    }
    let before = match &kept {
        Some(kept) if !args.again => kept.device_rates(&model)?,
        _ => None,
    };
    let fresh = before.is_none();
    let rates = match before {
        Some(rates) => rates,
        None => measure(&device)?,
    };
    // Shown before it is kept: if that fails, it was not for nothing.
    if reporter.json {
        let report = json!({
            "model": model,
            "kind": adapter.kind,
            "measured": device_json(&rates),
            "measured_now": fresh,
        });
        writeln!(out, "{report:#}")?;
    } else {
        print(&model, &adapter.kind, &rates, out)?;
        if !fresh {
            writeln!(out, "measured before; --again measures anew")?;
        }
    }
    out.flush()?;
    if fresh {
        keep(kept, |kept| kept.keep_device(&model, &rates))?;
    }
    Ok(())
}

fn print(model: &str, kind: &str, rates: &DeviceRates, out: &mut dyn Write) -> Outcome {
    let DeviceRates { copy, launch, submit, upload, download } = *rates;
    writeln!(out, "{model} ({kind})")?;
    writeln!(out, "{:32}{:>14}", "copying, read and written", measured(copy, "B/s"))?;
    writeln!(out, "{:32}{:>14}", "a launch after another", measured(launch, "s"))?;
    writeln!(out, "{:32}{:>14}", "a submission that is waited for", measured(submit, "s"))?;
    writeln!(out, "{:32}{:>14}", "inputs to the device", measured(upload, "B/s"))?;
    writeln!(out, "{:32}{:>14}", "outputs from the device", measured(download, "B/s"))?;
    if kind == "software" {
        writeln!(out, "this device is a program on the processor; its rates say nothing about GPUs")?;
    }
    Ok(())
}

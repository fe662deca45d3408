//! The device that the arguments name, with its cache of pipelines.

use crate::args::{DeviceArgs, Target};
use lawson::wgpu::{Device, Options, Selection};
use lawson::{Code, Error, Result};
use std::path::PathBuf;

/// The folder where compiled pipelines are kept: `lawson/pipelines` in `$XDG_CACHE_HOME`, or in `.cache` of the home folder.
pub fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|h| h.join(".cache")))?;
    Some(cache.join("lawson").join("pipelines"))
}

/// The device, if the target is one that has devices.
pub fn open(target: Target, args: &DeviceArgs) -> Result<Option<Device>> {
    let selection = match (target, &args.device) {
        (Target::Wgpu, None) => Selection::Preferred,
        (Target::Wgpu, Some(text)) => {
            text.parse().map_or_else(|_| Selection::Named(text.clone()), Selection::Number)
        }
        (_, None) => return Ok(None),
        (target, Some(_)) => {
            return Err(Error::new(Code::Usage, format!("the {} target has no devices", target.name()))
                .help("leave out --device, or say --target wgpu"));
        }
    };
    let device = Device::open(Options { selection, cache: cache_folder(), ..Options::default() })?;
    for warning in device.warnings() {
        eprintln!("warning: {warning}");
    }
    Ok(Some(device))
}

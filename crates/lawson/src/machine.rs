//! What is known of this machine: estimates, and what was measured and kept.
//!
//! [`measure`] finds out how fast this machine is; [`Kept`] is a file of such measurements, one for each model of processor and one for each device that
//! was measured (`lawson::wgpu::measure`), so that a home folder may be shared between machines. Nothing reads such a file by itself: who wants predictions from
//! measurements says [`this_machine`] with the file, and gives the result to
//! [`predict`](crate::kernel::predict()). No schedule depends on what was measured.
//!
//! ```
//! use lawson::machine::{Kept, this_machine};
//! let folder = std::env::temp_dir().join(format!("lawson-doc-{}", std::process::id()));
//! let kept = Kept::at(folder.join("machine.json"));
//! assert_eq!(kept.rates("some processor")?, None);
//! let machine = this_machine(Some(&kept))?;
//! assert!(machine.rates.fma.core > 0.0);
//! # Ok::<(), lawson::Error>(())
//! ```

#[cfg(feature = "wgpu")]
mod device;

#[cfg(feature = "wgpu")]
pub use device::{device_json, device_machine, device_model};

use lawson_graph::file::{io_error, place, read_text_file, write_whole};
use lawson_graph::{Code, Error, Result};
use lawson_kernel::machine::{Machine, Rate, Rates};
use serde_json::{Map, Value as Json, json};
use std::io::Write;
use std::path::{Path, PathBuf};

pub use lawson_cpu::host::model;
#[cfg(all(unix, target_arch = "x86_64"))]
pub use lawson_cpu::measure::{Effort, STAGES, measure};

/// The version of the file.
const VERSION: u64 = 1;

/// A file of measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    path: PathBuf,
}

/// What the file holds: measurements by model.
#[derive(Default)]
struct Contents {
    machines: Map<String, Json>,
    devices: Map<String, Json>,
}

/// This machine: what the hardware says of itself, and, if this model was measured, the rates that were kept.
pub fn this_machine(kept: Option<&Kept>) -> Result<Machine> {
    let mut machine = lawson_cpu::host::machine();
    if let Some(rates) = kept.map(|k| k.rates(&model())).transpose()?.flatten() {
        machine.rates = rates;
    }
    Ok(machine)
}

impl Kept {
    /// The file of this user: `lawson/machine.json` in `$XDG_CACHE_HOME`, or in `.cache` of the home folder. `None` if neither is known.
    pub fn of_user() -> Option<Kept> {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let cache = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|h| h.join(".cache")))?;
        Some(Kept::at(cache.join("lawson").join("machine.json")))
    }

    /// The file of this path, which need not be there.
    pub fn at(path: impl Into<PathBuf>) -> Kept {
        Kept { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn contents(&self) -> Result<Contents> {
        if !self.path.exists() {
            return Ok(Contents::default());
        }
        let text = read_text_file(&self.path)?;
        let malformed = |what: String| {
            Error::new(Code::FileFormat, what)
                .at(place(&self.path))
                .help("`lawson machine --forget` removes it, `lawson machine` measures anew")
        };
        let file: Json =
            serde_json::from_str(&text).map_err(|e| malformed(format!("this is not JSON: {e}")))?;
        match file["version"].as_u64() {
            Some(VERSION) => {}
            Some(v) => {
                return Err(malformed(format!("the file has version {v}; this Lawson reads {VERSION}")));
            }
            None => return Err(malformed("the file has no version".to_string())),
        }
        let section = |name: &str| match file.get(name) {
            Some(Json::Object(section)) => Some(section.clone()),
            _ => None,
        };
        let machines =
            section("machines").ok_or_else(|| malformed("the file has no `machines`".to_string()))?;
        Ok(Contents { machines, devices: section("devices").unwrap_or_default() })
    }

    /// What was measured on this model of processor, if it was.
    pub fn rates(&self, model: &str) -> Result<Option<Rates>> {
        let Contents { machines, .. } = self.contents()?;
        let Some(kept) = machines.get(model) else { return Ok(None) };
        rates_of(kept).map(Some).map_err(|what| {
            Error::new(Code::FileFormat, format!("the measurement of `{model}`: {what}"))
                .at(place(&self.path))
                .help("`lawson machine` measures anew")
        })
    }

    /// Keeps a measurement. The file is written whole or not at all; one that cannot be read is replaced.
    pub fn keep(&self, model: &str, rates: &Rates) -> Result<()> {
        let mut contents = self.contents().unwrap_or_default();
        contents.machines.insert(model.to_string(), to_json(rates));
        self.write(contents)
    }

    /// Forgets the measurement of a model, or a file that cannot be read; says whether there was one.
    pub fn forget(&self, model: &str) -> Result<bool> {
        self.forget_from(|contents| &mut contents.machines, model)
    }

    fn forget_from(
        &self,
        section: impl Fn(&mut Contents) -> &mut Map<String, Json>,
        model: &str,
    ) -> Result<bool> {
        let Ok(mut contents) = self.contents() else {
            std::fs::remove_file(&self.path).map_err(|e| io_error("remove", &self.path, &e))?;
            return Ok(true);
        };
        let there = section(&mut contents).shift_remove(model).is_some();
        if there && contents.machines.is_empty() && contents.devices.is_empty() {
            std::fs::remove_file(&self.path).map_err(|e| io_error("remove", &self.path, &e))?;
        } else if there {
            self.write(contents)?;
        }
        Ok(there)
    }

    fn write(&self, contents: Contents) -> Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| io_error("make the folder of", &self.path, &e))?;
        }
        let Contents { machines, devices } = contents;
        let file = json!({ "version": VERSION, "machines": machines, "devices": devices });
        write_whole(&self.path, |out| {
            writeln!(out, "{file:#}").map_err(|e| io_error("write", &self.path, &e))
        })
    }
}

/// Rates as they are kept: seconds, bytes a second, vector instructions a second; pairs are of one core and of the team.
pub fn to_json(rates: &Rates) -> Json {
    let pair = |r: &Rate| json!([r.core, r.team]);
    json!({
        "members": rates.members,
        "fma": pair(&rates.fma),
        "dot": rates.dot.as_ref().map(pair),
        "read": rates.read.iter().map(pair).collect::<Vec<Json>>(),
        "copy": pair(&rates.copy),
        "triad": pair(&rates.triad),
        "disk": rates.disk,
        "barrier": rates.barrier,
        "lost": rates.lost,
        "others": rates.others,
        "launch": rates.launch,
        "cold": rates.cold,
        "run": rates.run,
    })
}

/// A number that is kept under this name; what is wrong, if it is none.
fn positive(name: &str, value: &Json) -> std::result::Result<f64, String> {
    let found = value.as_f64().filter(|x| x.is_finite() && *x > 0.0);
    found.ok_or_else(|| format!("`{name}` is {value}, not a positive number"))
}

/// The same for what may be 0.
fn not_negative(name: &str, value: &Json) -> std::result::Result<f64, String> {
    let found = value.as_f64().filter(|x| x.is_finite() && *x >= 0.0);
    found.ok_or_else(|| format!("`{name}` is {value}, not a number of at least 0"))
}

/// The inverse of [`to_json`]; what is wrong, if it is none.
fn rates_of(kept: &Json) -> std::result::Result<Rates, String> {
    let pair = |name: &str, value: &Json| {
        Ok::<_, String>(Rate::new(positive(name, &value[0])?, positive(name, &value[1])?))
    };
    let members = kept["members"].as_u64().filter(|n| *n > 0).ok_or("`members` is no number of threads")?;
    let mut read = [Rate::new(0.0, 0.0); 4];
    for (level, rate) in read.iter_mut().enumerate() {
        *rate = pair("read", &kept["read"][level])?;
    }
    // Measurements of before these were known have none: they are estimated then.
    let estimate = Rates::estimate(1.0, 1);
    let or = |name: &str, guess: f64| match &kept[name] {
        Json::Null => Ok(guess),
        value => not_negative(name, value),
    };
    let mut lost = estimate.lost;
    for (n, part) in lost.iter_mut().enumerate().filter(|_| !kept["lost"].is_null()) {
        *part = not_negative("lost", &kept["lost"][n])?.min(1.0);
    }
    Ok(Rates {
        members: members as usize,
        fma: pair("fma", &kept["fma"])?,
        dot: if kept["dot"].is_null() { None } else { Some(pair("dot", &kept["dot"])?) },
        read,
        copy: pair("copy", &kept["copy"])?,
        triad: pair("triad", &kept["triad"])?,
        disk: if kept["disk"].is_null() { None } else { Some(positive("disk", &kept["disk"])?) },
        barrier: positive("barrier", &kept["barrier"])?,
        lost,
        others: or("others", estimate.others)?,
        launch: positive("launch", &kept["launch"])?,
        cold: or("cold", estimate.cold)?,
        run: positive("run", &kept["run"])?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_come_back_as_they_were_kept() {
        let mut rates = Rates::estimate(2.5e9, 4);
        rates.dot = Some(Rate::new(1e9, 3e9));
        rates.disk = Some(1.5e9);
        assert_eq!(rates_of(&to_json(&rates)), Ok(rates));
    }

    #[test]
    fn what_is_no_positive_number_is_named() {
        for (name, value) in [
            ("barrier", json!(-1.0)),
            ("copy", json!(["x", 2])),
            ("run", json!(null)),
            ("lost", json!([0.5])),
            ("others", json!(-1.0)),
        ] {
            let mut kept = to_json(&Rates::estimate(1e9, 1));
            kept[name] = value;
            assert!(rates_of(&kept).unwrap_err().contains(name));
        }
    }
}

//! Where modes run: the processor, and the adapters that wgpu finds.

use crate::args::{DeviceArgs, Target};
use crate::device;
use crate::report::Reporter;
use lawson::wgpu::{Device, Keep, Options, Selection, adapters};
use lawson::{Code, Error, Result, Team};

/// A processor or an adapter.
pub struct Place {
    pub name: String,
    /// What kind of device it is.
    pub kind: String,
    /// The threads of the processor.
    pub team: Option<Team>,
    pub devices: Option<Devices>,
}

/// One adapter, opened twice.
pub struct Devices {
    /// Keeps every pipeline that was compiled.
    pub keeping: Device,
    /// Keeps none longer than a program uses it, so that compiling is compiling each time.
    pub forgetting: Device,
}

impl Place {
    /// Whether it is a device that is a program on the processor: its times say nothing about GPUs.
    pub fn is_software(&self) -> bool {
        self.devices.is_some() && self.kind == "software"
    }
}

/// The places, all or the one that is asked for.
pub fn find(wanted: Option<&str>, reporter: &Reporter) -> Result<Vec<Place>> {
    let mut places = Vec::new();
    if wanted.is_none_or(|w| w == "cpu") {
        let members = std::thread::available_parallelism().map_or(1, |n| n.get());
        let team = Team::new(members).map_err(|e| Error::new(Code::Budget, format!("threads: {e}")))?;
        let kind = format!("{}, {members} threads", lawson::cpu::Isa::best());
        places.push(Place { name: lawson::machine::model(), kind, team: Some(team), devices: None });
    }
    let found = adapters();
    let fits = |n: usize, name: &str| match wanted.map(|w| (w, w.parse::<usize>())) {
        None => true,
        Some((_, Ok(number))) => n == number,
        Some((text, Err(_))) => text != "cpu" && name.to_lowercase().contains(&text.to_lowercase()),
    };
    for (n, adapter) in found.iter().enumerate().filter(|(n, a)| fits(*n, &a.name)) {
        match open(n) {
            Ok(devices) => places.push(Place {
                name: adapter.name.clone(),
                kind: adapter.kind.clone(),
                team: None,
                devices: Some(devices),
            }),
            // An adapter that says that it is there, and is not, is no reason to run nothing.
            Err(why) if wanted.is_none() => reporter.note(&format!("left out: {}", why.message())),
            Err(why) => return Err(why),
        }
    }
    if places.is_empty() {
        let names: Vec<String> = found.iter().enumerate().map(|(n, a)| format!("{n} ({})", a.name)).collect();
        let message = format!("there is no device `{}`", wanted.unwrap_or("cpu"));
        let known = if names.is_empty() { String::new() } else { format!(" or {}", names.join(", ")) };
        return Err(
            Error::new(Code::Usage, message).help(format!("say cpu{known}; `lawson devices` has more"))
        );
    }
    Ok(places)
}

fn open(number: usize) -> Result<Devices> {
    let args = DeviceArgs { device: Some(number.to_string()) };
    let keeping =
        device::open(Target::Wgpu, &args)?.ok_or_else(|| Error::internal("no device was opened"))?;
    let (selection, pipelines) = (Selection::Number(number), Keep::WhileUsed);
    let forgetting = Device::open(Options { selection, pipelines, ..Options::default() })?;
    Ok(Devices { keeping, forgetting })
}

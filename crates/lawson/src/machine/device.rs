//! What is known of a device: estimates, and what was measured and kept of it beside the processors.

use super::{Kept, place};
use lawson_graph::{Code, Error, Result};
use lawson_kernel::machine::Machine;
use lawson_wgpu::{Adapter, Device, DeviceRates};
use serde_json::{Value as Json, json};

/// What measurements of a device are kept by: another driver may be faster.
pub fn device_model(adapter: &Adapter) -> String {
    format!("{}, {}, {}", adapter.name, adapter.backend, adapter.driver)
}

/// A device as the cost model sees it: estimates, or, if this one was measured, the rates that were kept.
pub fn device_machine(kept: Option<&Kept>, device: &Device) -> Result<Machine> {
    let rates = kept.map(|k| k.device_rates(&device_model(&device.adapter()?))).transpose()?.flatten();
    Ok(rates.map_or_else(lawson_wgpu::machine, |rates| lawson_wgpu::machine_of(&rates)))
}

impl Kept {
    /// What was measured on this device, if it was.
    pub fn device_rates(&self, model: &str) -> Result<Option<DeviceRates>> {
        let contents = self.contents()?;
        let Some(kept) = contents.devices.get(model) else { return Ok(None) };
        rates_of(kept).map(Some).map_err(|what| {
            Error::new(Code::FileFormat, format!("the measurement of `{model}`: {what}"))
                .at(place(self.path()))
                .help("`lawson machine --device` measures anew")
        })
    }

    /// Keeps a measurement of a device. The file is written whole or not at all; one that cannot be read is replaced.
    pub fn keep_device(&self, model: &str, rates: &DeviceRates) -> Result<()> {
        let mut contents = self.contents().unwrap_or_default();
        contents.devices.insert(model.to_string(), device_json(rates));
        self.write(contents)
    }

    /// Forgets the measurement of a device, or a file that cannot be read; says whether there was one.
    pub fn forget_device(&self, model: &str) -> Result<bool> {
        self.forget_from(|contents| &mut contents.devices, model)
    }
}

/// Rates of a device as they are kept: seconds, bytes a second.
pub fn device_json(rates: &DeviceRates) -> Json {
    let DeviceRates { copy, launch, submit, upload, download } = rates;
    json!({ "copy": copy, "launch": launch, "submit": submit, "upload": upload, "download": download })
}

/// The inverse of [`device_json`]; what is wrong, if it is none.
fn rates_of(kept: &Json) -> std::result::Result<DeviceRates, String> {
    let number = |name: &str| super::positive(name, &kept[name]);
    Ok(DeviceRates {
        copy: number("copy")?,
        launch: number("launch")?,
        submit: number("submit")?,
        upload: number("upload")?,
        download: number("download")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: DeviceRates =
        DeviceRates { copy: 4e12, launch: 2e-6, submit: 5e-5, upload: 1e10, download: 5e9 };

    #[test]
    fn rates_of_devices_come_back_as_they_were_kept() {
        assert_eq!(rates_of(&device_json(&RATES)), Ok(RATES));
        let mut kept = device_json(&RATES);
        kept["submit"] = json!(0.0);
        assert!(rates_of(&kept).unwrap_err().contains("submit"));
    }

    #[test]
    fn measured_rates_change_predictions_and_no_decision() {
        let (plain, measured) = (lawson_wgpu::machine(), lawson_wgpu::machine_of(&RATES));
        assert_eq!((measured.rates.launch, measured.rates.run), (2e-6, 5e-5));
        assert_eq!(Machine { rates: plain.rates.clone(), ..measured }, plain);
    }
}

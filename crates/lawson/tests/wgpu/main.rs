//! The wgpu target from outside, on the device that is there: without one these tests fail, because a driver that needs no GPU can
//! be had everywhere. In builds with assertions outputs hold poison before every run.
#![cfg(feature = "wgpu")]
#![allow(clippy::unwrap_used)]

mod eager;
mod pace;
mod places;
mod random;
mod runs;

use lawson::wgpu::Device;
use std::sync::OnceLock;

/// The device, which all tests share.
fn device() -> Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE.get_or_init(|| Device::preferred().unwrap_or_else(|e| panic!("{e}"))).clone()
}

//! What `wgpu` calls unsafe, in one place: shaders without checks, features that it still tries out, what only Vulkan knows of a device, and
//! caches of a driver from a file.
#![allow(unsafe_code)]

use crate::spirv::Controls;
use std::borrow::Cow;

/// A shader without bounds checks.
///
/// The text must come from a listing of a verified kernel.
pub(crate) fn shader(device: &wgpu::Device, text: String) -> wgpu::ShaderModule {
    let source = wgpu::ShaderSource::Wgsl(text.into());
    let descriptor = wgpu::ShaderModuleDescriptor { label: None, source };
    // SAFETY: the verifier has shown that every index of the kernel lies in its buffer, for all sizes that its facts allow;
    // `Listing::bind` shows for the sizes of a run that 32 bits hold every index, and an instance binds buffers of the sizes that
    // the plan states. Loops end, because their bounds are fixed when they begin. Divisors of indices are at least 1,
    // those of values are looked at by the functions that divide.
    unsafe { device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) }
}

/// A shader that the driver gets word by word, with this entry.
///
/// The words must come from `spirv.rs`, of a listing of a verified kernel or of a probe.
pub(crate) fn spirv(device: &wgpu::Device, words: Vec<u32>, entry: &str) -> wgpu::ShaderModule {
    let entry = wgpu::PassthroughShaderEntryPoint { name: Cow::Borrowed(entry), workgroup_size: (0, 0, 0) };
    let descriptor = wgpu::ShaderModuleDescriptorPassthrough {
        entry_points: Cow::Owned(vec![entry]),
        spirv: Some(Cow::Owned(words)),
        ..Default::default()
    };
    // SAFETY: as for `shader`; the words are those that `wgpu` itself would have the same translator write, with marks that take
    // nothing away from what they mean.
    unsafe { device.create_shader_module_passthrough(descriptor) }
}

/// That a device may be asked for features that are still being tried out.
pub(crate) fn experimental() -> wgpu::ExperimentalFeatures {
    // SAFETY: the one that is asked for are matrices of subgroups. Shaders with them come from listings like all others, whose indices are
    // proven, and a device is used so only if it was seen to multiply rightly (`probe.rs`).
    unsafe { wgpu::ExperimentalFeatures::enabled() }
}

/// What SPIR-V may ask of an adapter; none where it takes none, or none of a version that can ask.
#[cfg(not(any(target_vendor = "apple", target_family = "wasm")))]
pub(crate) fn float_controls(adapter: &wgpu::Adapter) -> Option<Controls> {
    use ash::vk;
    if !adapter.features().contains(wgpu::Features::PASSTHROUGH_SHADERS) {
        return None;
    }
    // SAFETY: the adapter is only looked at, and lives longer than what is taken from it.
    let hal = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let mut floats = vk::PhysicalDeviceFloatControlsProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut floats);
    let instance = hal.shared_instance();
    if instance.instance_api_version() < vk::API_VERSION_1_2 {
        return None;
    }
    // SAFETY: the instance made this physical device, and lives; its version has the question.
    unsafe {
        instance.raw_instance().get_physical_device_properties2(hal.raw_physical_device(), &mut properties);
    }
    (properties.properties.api_version >= vk::API_VERSION_1_2).then_some(Controls {
        subnormal: floats.shader_denorm_preserve_float32 == vk::TRUE,
        special: floats.shader_signed_zero_inf_nan_preserve_float32 == vk::TRUE,
    })
}

/// What SPIR-V may ask of an adapter: nothing here.
#[cfg(any(target_vendor = "apple", target_family = "wasm"))]
pub(crate) fn float_controls(_: &wgpu::Adapter) -> Option<Controls> {
    None
}

/// The driver's cache of compiled pipelines, with what it gave before.
///
/// The bytes must be what [`wgpu::PipelineCache::get_data`] gave: `cache.rs` keeps a sum beside them and passes on nothing
/// that does not fit it.
pub(crate) fn pipeline_cache(device: &wgpu::Device, data: Option<&[u8]>) -> wgpu::PipelineCache {
    let descriptor = wgpu::PipelineCacheDescriptor { label: None, data, fallback: true };
    // SAFETY: the caller's promise. `wgpu` itself checks the header that says which driver they came from.
    unsafe { device.create_pipeline_cache(&descriptor) }
}

//! What `wgpu` calls unsafe, in one place: shaders without checks, and caches of a driver from a file.
#![allow(unsafe_code)]

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

/// The driver's cache of compiled pipelines, with what it gave before.
///
/// The bytes must be what [`wgpu::PipelineCache::get_data`] gave: `cache.rs` keeps a sum beside them and passes on nothing
/// that does not fit it.
pub(crate) fn pipeline_cache(device: &wgpu::Device, data: Option<&[u8]>) -> wgpu::PipelineCache {
    let descriptor = wgpu::PipelineCacheDescriptor { label: None, data, fallback: true };
    // SAFETY: the caller's promise. `wgpu` itself checks the header that says which driver they came from.
    unsafe { device.create_pipeline_cache(&descriptor) }
}

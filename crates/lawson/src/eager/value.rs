//! Values of immediate mode: tensors in the host's memory or on a device.

use crate::tensor::Tensor;
use lawson_graph::{DType, HostTensor, Result};

/// A value of immediate mode. Clones share the elements.
#[derive(Clone, Debug)]
pub struct EagerTensor {
    dtype: DType,
    sizes: Vec<usize>,
    elements: Elements,
}

/// Where the elements are.
#[derive(Clone, Debug)]
enum Elements {
    Host(HostTensor),
    #[cfg(feature = "wgpu")]
    Device(lawson_wgpu::Held),
}

/// Whether tensors of a dtype are bytes, which a device can hold: texts are not.
#[cfg(feature = "wgpu")]
pub(super) fn has_bytes(dtype: DType) -> bool {
    dtype != DType::Str
}

impl EagerTensor {
    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes, outermost first.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Whether the elements are on a device.
    pub fn is_on_device(&self) -> bool {
        !matches!(self.elements, Elements::Host(_))
    }

    /// The value in the host's memory. From a device it is copied, when whatever computes it is done.
    pub fn to_tensor(&self) -> Result<Tensor> {
        match &self.elements {
            Elements::Host(tensor) => Ok(tensor.clone().into()),
            #[cfg(feature = "wgpu")]
            Elements::Device(held) => Tensor::from_bytes(self.dtype, &self.sizes, held.read()?),
        }
    }

    #[cfg(feature = "wgpu")]
    pub(super) fn on_device(tensor: &HostTensor, device: &lawson_wgpu::Device) -> Result<EagerTensor> {
        let held = device.hold(tensor.bytes())?;
        Ok(EagerTensor::held(tensor.dtype(), tensor.sizes().to_vec(), held))
    }

    #[cfg(feature = "wgpu")]
    pub(super) fn held(dtype: DType, sizes: Vec<usize>, held: lawson_wgpu::Held) -> EagerTensor {
        EagerTensor { dtype, sizes, elements: Elements::Device(held) }
    }

    /// The bytes on a device: those that are held there, or a copy of those that are elsewhere.
    #[cfg(feature = "wgpu")]
    pub(super) fn held_on(
        &self,
        device: &lawson_wgpu::Device,
    ) -> Result<std::borrow::Cow<'_, lawson_wgpu::Held>> {
        match &self.elements {
            Elements::Device(held) if held.device().is_same(device) => Ok(std::borrow::Cow::Borrowed(held)),
            Elements::Device(held) => Ok(std::borrow::Cow::Owned(device.hold(&held.read()?)?)),
            Elements::Host(tensor) => Ok(std::borrow::Cow::Owned(device.hold(tensor.bytes())?)),
        }
    }
}

impl From<HostTensor> for EagerTensor {
    fn from(tensor: HostTensor) -> EagerTensor {
        EagerTensor {
            dtype: tensor.dtype(),
            sizes: tensor.sizes().to_vec(),
            elements: Elements::Host(tensor),
        }
    }
}

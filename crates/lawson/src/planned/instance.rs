//! What runs a plan with certain sizes, on either target.

use super::Times;
use lawson_cpu::executable;
use lawson_graph::{Result, Value, interp};

/// What a session runs.
#[derive(Debug)]
pub(super) enum Instance {
    Cpu(Box<executable::Instance>),
    #[cfg(feature = "wgpu")]
    Wgpu(Box<lawson_wgpu::Instance>),
}

impl Instance {
    pub(super) fn run<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = &'a mut [u8]>,
        times: Times<'_>,
        options: &interp::Options,
    ) -> Result<()> {
        match (self, times) {
            (Instance::Cpu(i), Times { times: 1, .. }) => i.run(inputs, outputs, options),
            (Instance::Cpu(i), Times { times, feeds, .. }) => {
                i.run_loop(inputs, outputs, times, feeds, options)
            }
            #[cfg(feature = "wgpu")]
            (Instance::Wgpu(i), Times { times, feeds, pace, stride }) => {
                i.run_loop(inputs, outputs, lawson_wgpu::Again { times, feeds, pace, stride }, options)
            }
        }
    }

    /// How many bytes stages have besides the arena. On a device there are none.
    pub(super) fn stage_bytes(&self) -> usize {
        match self {
            Instance::Cpu(i) => i.stage_bytes(),
            #[cfg(feature = "wgpu")]
            Instance::Wgpu(_) => 0,
        }
    }

    pub(super) fn is_fallible(&self) -> bool {
        match self {
            Instance::Cpu(i) => i.is_fallible(),
            #[cfg(feature = "wgpu")]
            Instance::Wgpu(i) => i.is_fallible(),
        }
    }

    pub(super) fn set_value(&mut self, input: usize, value: Value) {
        match self {
            Instance::Cpu(i) => i.set_value(input, value),
            #[cfg(feature = "wgpu")]
            Instance::Wgpu(i) => i.set_value(input, value),
        }
    }

    pub(super) fn take_value(&mut self, output: usize) -> Option<Value> {
        match self {
            Instance::Cpu(i) => i.take_value(output),
            #[cfg(feature = "wgpu")]
            Instance::Wgpu(i) => i.take_value(output),
        }
    }
}

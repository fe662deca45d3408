//! How launches give buffers to kernels: where they begin, which are the same, and in how many windows shaders see them.
//!
//! In: a step of a plan, and the sizes of buffers as far as they are known. Out: a [`Binding`], by which `lower.rs` makes the listing and
//! `instance.rs` binds buffers. A shader sees at most so many bytes of a buffer by one binding; a larger buffer is bound several times, and its index
//! chooses among these *windows* (`wgsl/window.rs`).

use crate::capability::Capabilities;
use crate::executable::padded;
use crate::lower::refused;
use lawson_graph::Result;
use lawson_kernel::{BufferId, Kernel, Mode, Place, Plan, Region, Slot, Step};

/// How the buffers of a kernel that are not scratch are given to it, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Binding {
    /// Which begin at an element that the host passes, rather than at the first one of what is bound; none if nothing is said.
    pub based: Vec<bool>,
    /// For one that is only read: the one that is written and lies in the same buffer of the device, of the same dtype.
    pub shared: Vec<Option<usize>>,
    /// In how many windows each is seen; in one if nothing is said.
    pub windows: Vec<u32>,
}

impl Binding {
    /// Buffers by themselves, those whose size is known in as many windows as they need.
    pub fn of(kernel: &Kernel, capabilities: &Capabilities) -> Binding {
        let windows = |b: BufferId| {
            let buffer = kernel.buffer(b);
            let elements = buffer.layout.size.as_const().and_then(|n| usize::try_from(n).ok());
            let bytes = elements.and_then(|n| buffer.dtype.bytes_for(n)).unwrap_or(0);
            capabilities.windows(bytes as u64)
        };
        Binding { windows: kernel.arguments().map(windows).collect(), ..Binding::default() }
    }

    /// Refuses a kernel that has more bindings than a shader of the device.
    pub(crate) fn check(&self, kernel: &Kernel, bindings: u32, capabilities: &Capabilities) -> Result<()> {
        let most = capabilities.max_buffers;
        if bindings <= most {
            return Ok(());
        }
        if self.windows.iter().all(|n| *n == 1) {
            return Err(refused(kernel, format!("it has {bindings} buffers, a shader sees {most}"))
                .help("fewer operators in one kernel have fewer buffers"));
        }
        let window = capabilities.window();
        let message =
            format!("its buffers are {bindings} windows of at most {window} bytes, a shader sees {most}");
        Err(refused(kernel, message).help("split the tensors, or run this part on the processor"))
    }

    /// How a launch gives buffers to its kernel, on a device that can do this. A buffer of a size that is not known is seen whole.
    pub(crate) fn of_launch(
        plan: &Plan,
        step: &Step,
        capabilities: &Capabilities,
        bytes: impl Fn(Slot) -> Option<usize>,
    ) -> Binding {
        let modes = plan.modes(step);
        let is_row = |slot: Slot| matches!(plan.buffer(slot).place, Place::Row { .. });
        let based = step.buffers.iter().map(|r| r.part.is_some() || is_row(r.slot)).collect();
        let written: Vec<usize> = (0..modes.len()).filter(|n| modes[*n].1 != Mode::Read).collect();
        let shared = modes.iter().map(|(region, mode)| {
            let same = |n: &&usize| plan.root(step.buffers[**n].slot) == plan.root(region.slot);
            if *mode == Mode::Read { written.iter().find(same).copied() } else { None }
        });
        let windows = |r: &Region| bytes(plan.root(r.slot)).map_or(1, |b| capabilities.windows(padded(b)));
        let mut windows: Vec<u32> = step.buffers.iter().map(windows).collect();
        if windows.iter().all(|n| *n == 1) {
            windows.clear();
        }
        Binding { based, shared: shared.collect(), windows }
    }
}

//! Launches made ready: bind groups for the spots that arguments come to, and pages of parameters.
//!
//! In: a launch of an instance and where its arguments are now. Out: the number of a bind group, made if there is none yet.

use crate::device::Handles;
use crate::executable::{Use, buffer};
use crate::instance::{Instance, Spot};
use crate::launch::Bound;
use crate::pipelines::Pipelines;
use lawson_graph::{Error, Result};
use lawson_kernel::Slot;
use std::collections::HashMap;
use std::sync::Arc;

/// A launch for certain sizes.
#[derive(Debug)]
pub(crate) struct Launching {
    pub(crate) pipelines: Arc<Pipelines>,
    pub(crate) bound: Bound,
    pub(crate) workgroups: Vec<u32>,
    /// The buffers that it is given, with the first byte of each, and how many bits an element has.
    pub(crate) arguments: Vec<(Slot, u64, usize)>,
    /// For each binding of the shader, what is bound there.
    pub(crate) bindings: Vec<Window>,
    /// Which arguments have the element at which they begin among the parameters.
    pub(crate) based: Vec<usize>,
    /// Those made ready, by the spots of the arguments.
    pub(crate) ready: HashMap<Vec<Spot>, usize>,
    /// Where its parameters lie, by the elements at which arguments begin.
    pub(crate) placed: HashMap<Vec<i32>, (wgpu::Buffer, u64)>,
}

/// What a shader sees of an argument by one binding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) argument: usize,
    /// The first byte of its buffer.
    pub(crate) begin: u64,
    pub(crate) size: u64,
}

/// Where parameters of launches lie.
#[derive(Debug)]
pub(crate) struct Parameters {
    page: Option<wgpu::Buffer>,
    used: u64,
    align: u64,
}

/// The bytes of one buffer of parameters.
const PAGE: u64 = 64 << 10;

impl Instance {
    /// The bind group of a launch at the present spots.
    pub(crate) fn ready(&mut self, n: usize) -> Result<usize> {
        let launch = &self.launches[n];
        self.key.clear();
        for (slot, offset, _) in &launch.arguments {
            let spot = self.spots[slot.0 as usize];
            self.key.push(Spot { buffer: spot.buffer, offset: spot.offset + offset });
        }
        if let Some(group) = launch.ready.get(self.key.as_slice()) {
            return Ok(*group);
        }
        let mut bases = Vec::with_capacity(launch.based.len());
        for a in &launch.based {
            let element = self.key[*a].offset * 8 / launch.arguments[*a].2 as u64;
            bases.push(i32::try_from(element).map_err(|_| Error::internal("a row begins beyond 32 bits"))?);
        }
        let words = launch.bound.words(&bases);
        let handles = self.loaded.handles.clone();
        let (page, offset) = match launch.placed.get(&bases) {
            Some(place) => place.clone(),
            None => {
                let place = self.parameters.place(&handles, &words)?;
                self.launches[n].placed.insert(bases, place.clone());
                place
            }
        };
        let launch = &self.launches[n];
        let mut entries = vec![wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &page,
                offset,
                size: std::num::NonZeroU64::new(words.len() as u64),
            }),
        }];
        for Window { argument, begin, size } in &launch.bindings {
            let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &self.buffers[self.key[*argument].buffer as usize],
                offset: *begin,
                size: std::num::NonZeroU64::new(*size),
            });
            entries.push(wgpu::BindGroupEntry { binding: entries.len() as u32, resource });
        }
        if let Some(spill) = self.spill.as_ref().filter(|_| launch.bound.spilled > 0) {
            let resource = spill.as_entire_binding();
            entries.push(wgpu::BindGroupEntry { binding: entries.len() as u32, resource });
        }
        let layout = &launch.pipelines.layout;
        let group = handles.guarded("the buffers of a launch", || {
            handles.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout,
                entries: &entries,
            })
        })?;
        self.groups.push(group);
        let number = self.groups.len() - 1;
        let key = self.key.clone();
        self.launches[n].ready.insert(key, number);
        Ok(number)
    }

    /// The pipelines of a launch with the workgroups of each.
    pub(crate) fn dispatches(&self, n: usize) -> impl Iterator<Item = (&wgpu::ComputePipeline, u32)> {
        let launch = &self.launches[n];
        let pipelines = &launch.pipelines.launches;
        pipelines.iter().zip(launch.workgroups.iter().copied()).filter(|(_, groups)| *groups > 0)
    }

    /// Forgets what was made ready: the buffers that it was for are others now.
    pub(crate) fn forget_ready(&mut self) {
        self.launches.iter_mut().for_each(|l| l.ready.clear());
        self.groups.clear();
    }
}

impl Parameters {
    pub(crate) fn new(align: u64) -> Parameters {
        Parameters { page: None, used: 0, align }
    }

    /// Takes the places of before anew: nothing that will be submitted uses them any more.
    pub(crate) fn restart(&mut self) {
        self.used = 0;
    }

    /// A place for the parameters of a launch, with them in it.
    fn place(&mut self, handles: &Handles, words: &[u8]) -> Result<(wgpu::Buffer, u64)> {
        let size = words.len() as u64;
        let offset = self.used.next_multiple_of(self.align);
        let fits = self.page.as_ref().filter(|p| offset + size <= p.size()).cloned();
        let (page, offset) = match fits {
            Some(page) => (page, offset),
            None => {
                let page = buffer(handles, "parameters", PAGE.max(size) as usize, Use::Parameters)?;
                self.page = Some(page.clone());
                (page, 0)
            }
        };
        self.used = offset + size;
        handles.queue.write_buffer(&page, offset, words);
        Ok((page, offset))
    }
}

//! Pipelines: shaders as the driver compiled them, shared by equal listings.
//!
//! In: listings; out: [`Pipelines`], those that an equal listing has or new ones. How long they stay is the device's choice ([`Keep`]).

use crate::device::{Handles, lock};
use crate::opcode::{Access, Listing, OpCode};
use crate::spirv::Shader;
use crate::{trusted, wgsl};
use lawson_graph::{Error, Result};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Weak};

/// For how long compiled pipelines stay in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// As long as the device: a program that is compiled again finds its pipelines.
    #[default]
    WhileOpen,
    /// As long as a program uses them, so that a process that compiles ever new programs does not grow.
    WhileUsed,
}

/// The pipelines of a device, by the text of their shader without names.
#[derive(Debug)]
pub(crate) struct Store {
    keep: Keep,
    known: Mutex<HashMap<String, Known>>,
}

/// Pipelines that an equal listing can have too.
#[derive(Debug)]
enum Known {
    Kept(Arc<Pipelines>),
    Used(Weak<Pipelines>),
}

/// A listing as pipelines.
#[derive(Debug)]
pub(crate) struct Pipelines {
    pub(crate) layout: wgpu::BindGroupLayout,
    /// One a launch of the listing.
    pub(crate) launches: Vec<wgpu::ComputePipeline>,
}

impl Store {
    pub(crate) fn new(keep: Keep) -> Store {
        Store { keep, known: Mutex::new(HashMap::new()) }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        lock(&self.known).values().filter(|known| known.get().is_some()).count()
    }
}

impl Handles {
    /// The pipelines of a listing: those that an equal listing has, or new ones.
    pub(crate) fn pipelines(&self, listing: &Listing) -> Result<Arc<Pipelines>> {
        // Names say nothing to a device; without them kernels that only they tell apart are the same.
        let text = wgsl::text(&listing.unnamed());
        if let Some(known) = lock(&self.pipelines.known).get(&text).and_then(Known::get) {
            return Ok(known);
        }
        let made = Arc::new(self.compile(listing, &text)?);
        let mut all = lock(&self.pipelines.known);
        if let Some(known) = all.get(&text).and_then(Known::get) {
            return Ok(known);
        }
        let known = match self.pipelines.keep {
            Keep::WhileOpen => Known::Kept(made.clone()),
            Keep::WhileUsed => {
                all.retain(|_, known| known.get().is_some());
                Known::Used(Arc::downgrade(&made))
            }
        };
        all.insert(text, known);
        Ok(made)
    }

    /// The pipelines of a listing with this shader.
    pub(crate) fn compile(&self, listing: &Listing, text: &str) -> Result<Pipelines> {
        let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform)];
        for code in &listing.codes {
            if let OpCode::Buffer { binding, access, windows, .. } = code {
                let read_only = *access == Access::Read;
                for binding in *binding..*binding + *windows {
                    entries.push(entry(binding, wgpu::BufferBindingType::Storage { read_only }));
                }
            }
        }
        if !listing.spilled.is(0) {
            let binding = entries.len() as u32;
            entries.push(entry(binding, wgpu::BufferBindingType::Storage { read_only: false }));
        }
        let launches: Vec<&str> = listing.launches.iter().map(|l| l.entry.as_str()).collect();
        self.build(&format!("the shader of `{}`", listing.kernel), text, &entries, &launches)
    }

    /// Pipelines for these entries of a shader, which sees these buffers.
    pub(crate) fn build(
        &self,
        what: &str,
        text: &str,
        entries: &[wgpu::BindGroupLayoutEntry],
        launches: &[&str],
    ) -> Result<Pipelines> {
        let words = match self.controls {
            None => None,
            Some(controls) => {
                let translate = || {
                    let shader = Shader::read(text)?;
                    launches.iter().map(|l| shader.entry(l, controls)).collect()
                };
                Some(self.translated.get(text, controls, launches, translate)?)
            }
        };
        self.guarded(what, || {
            let modules: Vec<wgpu::ShaderModule> = match words {
                None => vec![trusted::shader(&self.device, text.into()); launches.len()],
                Some(words) => {
                    let of = words.iter().zip(launches);
                    of.map(|(words, launch)| trusted::spirv(&self.device, words.clone(), launch)).collect()
                }
            };
            let layout = self
                .device
                .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries });
            let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&layout)],
                immediate_size: 0,
            });
            let pipeline = |(entry, module): (&&str, &wgpu::ShaderModule)| {
                self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: Some(entry),
                    layout: Some(&pipeline_layout),
                    module,
                    entry_point: Some(entry),
                    compilation_options: wgpu::PipelineCompilationOptions {
                        zero_initialize_workgroup_memory: false,
                        ..Default::default()
                    },
                    cache: self.driver_cache.as_ref().map(|d| &d.cache),
                })
            };
            let launches = launches.iter().zip(&modules).map(pipeline).collect();
            Pipelines { layout, launches }
        })
    }

    /// The pipelines of all of these, several at a time: drivers take long for each.
    pub(crate) fn pipelines_of(&self, listings: &[&Listing]) -> Vec<Result<Arc<Pipelines>>> {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(listings.len());
        if threads <= 1 {
            return listings.iter().map(|l| self.pipelines(l)).collect();
        }
        let next = std::sync::atomic::AtomicUsize::new(0);
        let results: Vec<Mutex<Option<Result<Arc<Pipelines>>>>> =
            listings.iter().map(|_| Mutex::new(None)).collect();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(n) =
                        Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < listings.len())
                    {
                        let made = self.pipelines(listings[n]);
                        *lock(&results[n]) = Some(made);
                    }
                });
            }
        });
        let missing = || Err(Error::internal("a pipeline was not compiled"));
        results.into_iter().map(|r| lock(&r).take().unwrap_or_else(missing)).collect()
    }
}

impl Known {
    fn get(&self) -> Option<Arc<Pipelines>> {
        match self {
            Known::Kept(pipelines) => Some(pipelines.clone()),
            Known::Used(pipelines) => pipelines.upgrade(),
        }
    }
}

pub(crate) fn entry(binding: u32, ty: wgpu::BufferBindingType) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    }
}

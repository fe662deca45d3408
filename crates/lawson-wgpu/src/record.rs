//! Commands on their way to the device: one list a run, cut where the host must look or a driver might lose patience.

use crate::device::{Handles, failed};
use lawson_graph::Result;
use std::sync::{Arc, Mutex};

/// Launches of one submission. A driver that shows a desktop too resets a device that does not answer for seconds.
const CHUNK: u32 = 2048;

/// Commands that have not been submitted.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    encoder: Option<wgpu::CommandEncoder>,
    pass: Option<wgpu::ComputePass<'static>>,
    launches: u32,
    /// The last submission.
    submitted: Option<wgpu::SubmissionIndex>,
}

impl Commands {
    fn encoder(&mut self, handles: &Handles) -> &mut wgpu::CommandEncoder {
        self.pass = None;
        self.encoder.get_or_insert_with(|| handles.device.create_command_encoder(&Default::default()))
    }

    /// Adds a launch.
    pub(crate) fn launch<'p>(
        &mut self,
        handles: &Handles,
        group: &wgpu::BindGroup,
        dispatches: impl Iterator<Item = (&'p wgpu::ComputePipeline, u32)>,
    ) {
        if self.pass.is_none() {
            let pass = self.encoder(handles).begin_compute_pass(&Default::default()).forget_lifetime();
            self.pass = Some(pass);
        }
        let Some(pass) = &mut self.pass else { return };
        pass.set_bind_group(0, group, &[]);
        for (pipeline, groups) in dispatches {
            pass.set_pipeline(pipeline);
            pass.dispatch_workgroups(groups, 1, 1);
            self.launches += 1;
            handles.counters.launched(1);
        }
        if self.launches >= CHUNK {
            self.submit(handles);
        }
    }

    /// Adds a copy between buffers; offsets and size are multiples of 4.
    pub(crate) fn copy(
        &mut self,
        handles: &Handles,
        (from, from_offset): (&wgpu::Buffer, u64),
        (to, to_offset): (&wgpu::Buffer, u64),
        size: u64,
    ) {
        self.encoder(handles).copy_buffer_to_buffer(from, from_offset, to, to_offset, size);
    }

    /// Hands everything to the device.
    pub(crate) fn submit(&mut self, handles: &Handles) {
        self.pass = None;
        self.launches = 0;
        if let Some(encoder) = self.encoder.take() {
            self.submitted = Some(handles.queue.submit([encoder.finish()]));
            handles.counters.submitted();
        }
    }

    /// Hands everything to the device, if there are launches among it.
    pub(crate) fn submit_launches(&mut self, handles: &Handles) {
        if self.launches > 0 {
            self.submit(handles);
        }
    }

    /// Forgets what has not been submitted.
    pub(crate) fn clear(&mut self) {
        self.pass = None;
        self.encoder = None;
        self.launches = 0;
    }

    /// Submits, and waits until all is done and these buffers can be read or written by the host.
    pub(crate) fn wait<'b>(
        &mut self,
        handles: &Handles,
        mapped: impl Iterator<Item = (&'b wgpu::Buffer, wgpu::MapMode)>,
    ) -> Result<()> {
        self.submit(handles);
        let refused: Arc<Mutex<Option<String>>> = Arc::default();
        for (buffer, mode) in mapped {
            let refused = refused.clone();
            buffer.map_async(mode, .., move |result| {
                if let Err(e) = result {
                    crate::device::lock(&refused).get_or_insert(e.to_string());
                }
            });
        }
        let submission_index = self.submitted.take();
        let waited = handles.device.poll(wgpu::PollType::Wait { submission_index, timeout: None });
        let refused = crate::device::lock(&refused).take();
        let why = waited.err().map(|e| e.to_string()).or(refused);
        match handles.lost().or(why) {
            None => Ok(()),
            Some(why) => Err(failed(format!("`{}` did not finish a run: {why}", handles.adapter.name))
                .help("the next run takes the device anew if it was lost")),
        }
    }
}

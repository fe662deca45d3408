//! A device found by `wgpu`, and kernels run on it.

//! What a device can do: what listings are made for, and what is seen of a device when it is opened (`probe.rs`).

/// What the device can do, as far as op codes depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// How many members run in one workgroup.
    pub workgroup: u32,
    /// The most members of a workgroup.
    pub max_members: u32,
    /// Bytes of memory that the members of a workgroup share.
    pub workgroup_memory: u32,
    /// How many members exchange registers, where that many always do, members with neighbouring numbers.
    pub subgroup: Option<u32>,
    /// Whether a subgroup multiplies matrices of 16 rows and columns as one, floats of 16 bits with sums of 32, and was seen to.
    pub matrices: bool,
    /// Whether it converts floats to 16 bits and back rightly by itself, as was seen.
    pub halves: bool,
    /// How many workgroups one launch may have; beyond that members take several iterations.
    pub max_workgroups: u32,
    /// How many bytes of private arrays a member may have; larger scratch lies in memory.
    pub private_bytes: u32,
    /// How many bytes of one buffer a shader may see at once; it sees larger ones in several [windows](Self::window).
    pub max_buffer_bytes: u64,
    /// How many buffers a shader may see.
    pub max_buffers: u32,
    /// How often the device's `fma` rounds.
    pub fused: Fused,
    /// Whether its quotients and square roots are the nearest numbers, as was seen: WGSL asks for less.
    pub rounds: bool,
    /// What its compiler does to arithmetic.
    pub floats: Floats,
    /// Whether `<` and `==` of its floats are what they should be, of NaN too; of subnormal numbers unless it [`flushes`](Self::flushes).
    pub compares: bool,
    /// Whether subnormal numbers become zero, as WGSL allows.
    pub flushes: bool,
    /// What was seen of its floats, bit by bit, for those who look for the reason.
    pub probed: [u32; 2],
    /// After how many iterations of loops a member of a launch just goes on, where a driver does that.
    pub max_iterations: Option<u32>,
}

/// Windows of buffers begin at multiples of this, which no device asks more than.
const WINDOW_STEP: u64 = 256;

impl Capabilities {
    /// How many bytes of a buffer one binding shows, where a buffer needs several.
    pub fn window(&self) -> u64 {
        (self.max_buffer_bytes / WINDOW_STEP * WINDOW_STEP).max(WINDOW_STEP)
    }

    /// In how many windows a shader sees a buffer of so many bytes.
    pub fn windows(&self, bytes: u64) -> u32 {
        match bytes <= self.max_buffer_bytes {
            true => 1,
            false => u32::try_from(bytes.div_ceil(self.window())).unwrap_or(u32::MAX),
        }
    }
}

/// What the compiler of a device does to arithmetic of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floats {
    /// It may calculate as with real numbers, as WGSL allows.
    Rearranged,
    /// It keeps every operation, as Vulkan asks, but may fuse a product with a sum. The device was seen to.
    Kept,
    /// It was told to keep every operation by itself, and seen to: then nothing else is done about it.
    Told,
}

/// How often the device's `fma` rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fused {
    /// Once, as the expansions of functions need it.
    Once,
    /// Perhaps twice: where once is needed, the error of the product is computed beside it.
    Twice,
}

/// What WGSL promises everywhere.
impl Default for Capabilities {
    fn default() -> Capabilities {
        Capabilities {
            workgroup: 64,
            max_members: 256,
            workgroup_memory: 16 << 10,
            subgroup: None,
            matrices: false,
            halves: false,
            max_workgroups: 65_535,
            private_bytes: 8192,
            max_buffer_bytes: 128 << 20,
            max_buffers: 8,
            fused: Fused::Twice,
            rounds: false,
            floats: Floats::Rearranged,
            compares: false,
            flushes: false,
            probed: [0; 2],
            max_iterations: None,
        }
    }
}

//! The machine model: what decisions about kernels are made from.
//!
//! Until a machine has been measured, these are estimates that a target makes from what the hardware says of itself.

/// A CPU as the model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Lanes of 32 bits in a vector.
    pub lanes: i64,
    /// Vector registers.
    pub registers: i64,
    /// Bytes of first-level data cache of a core.
    pub l1: i64,
    /// Bytes of second-level cache of a core.
    pub l2: i64,
    /// Bytes of the last-level cache.
    pub l3: i64,
    /// Loads that a core sustains while it does one vector multiply-add. Units of half a vector's width load one vector or two
    /// numbers for all lanes in that time; steps of tiles have some of both.
    pub loads_per_fma: f64,
    /// Bytes that a core brings from its second-level cache while it does one vector multiply-add.
    pub l2_bytes_per_fma: f64,
    /// The same from the last-level cache.
    pub l3_bytes_per_fma: f64,
    /// Multiply-adds that must be in flight to keep the units busy.
    pub fma_in_flight: i64,
}

impl Default for Machine {
    /// A core with AVX-512 of recent years.
    fn default() -> Machine {
        Machine {
            lanes: 16,
            registers: 32,
            l1: 32 << 10,
            l2: 1 << 20,
            l3: 16 << 20,
            loads_per_fma: 1.64,
            l2_bytes_per_fma: 32.0,
            l3_bytes_per_fma: 14.0,
            fma_in_flight: 8,
        }
    }
}

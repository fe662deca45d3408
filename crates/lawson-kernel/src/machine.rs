//! The machine model: what decisions about kernels are made from.
//!
//! Until a machine has been measured, these are estimates that a target makes from what the hardware says of itself.
//! [`Machine`] has what schedules are chosen by: sizes and ratios, which do not change from one measurement to the next.
//! [`Rates`] has what times are predicted from (`predict/`): measured where that was done, estimated elsewhere.

use crate::tree::Kernel;
use lawson_graph::{DType, Site};

/// How a machine spreads the iterations of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Over a few members, each of which takes many and executes some of them at once in vectors: a processor.
    Team,
    /// Over as many members as there are iterations: a device with a grid of threads.
    Grid,
}

/// A processor, or a device, as the model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// How iterations are spread.
    pub spread: Spread,
    /// Lanes of a vector: of 32 bits in the model of a machine, of what a kernel computes with in that of [`Machine::for_kernel`].
    pub lanes: i64,
    /// Bytes of a lane.
    pub lane_bytes: i64,
    /// Vector registers.
    pub registers: i64,
    /// Whether integers of 64 bits may be pairs of registers in kernels of narrower numbers.
    pub pairs: bool,
    /// Whether there is an instruction that multiplies bytes and adds up four products a lane.
    pub dots: bool,
    /// Dtypes that it does not compute with: operators that have them are left to the host, and share no kernel with others.
    pub lacks: &'static [DType],
    /// Bytes of first-level data cache of a core.
    pub l1: i64,
    /// Bytes of second-level cache of a core.
    pub l2: i64,
    /// Bytes of the last-level cache.
    pub l3: i64,
    /// Loads that a core sustains while it does one vector multiply-add. Units of half a vector's width load one vector or two
    /// numbers for all lanes in that time; steps of tiles have some of both.
    pub loads_per_fma: f64,
    /// The same of loads of whole vectors alone, one of which is an operand of every multiply-add.
    pub vector_loads_per_fma: f64,
    /// Multiply-adds that a core could do while it finds out that it went through a loop once too often, and begins the next.
    pub fmas_per_miss: f64,
    /// What a row or a vector of a tile takes each step, in multiply-adds, although its load goes on beside them: a part of an instruction to
    /// decode, and units that are in each other's way.
    pub side: f64,
    /// Bytes that a core brings from its second-level cache while it does one vector multiply-add.
    pub l2_bytes_per_fma: f64,
    /// The same from the last-level cache.
    pub l3_bytes_per_fma: f64,
    /// The same from memory.
    pub memory_bytes_per_fma: f64,
    /// Whether panels of a product's second factor are asked for while the ones before them are in work: they come late otherwise.
    pub asks_for_panels: bool,
    /// How many streams of memory a core reads at once when it reads fastest: with one, what is far ahead is asked for by hints.
    pub read_streams: i64,
    /// Multiply-adds that a core could do while a kernel is started and the team meets before it.
    pub fmas_per_start: f64,
    /// Multiply-adds that must be in flight to keep the units busy.
    pub fma_in_flight: i64,
    /// The part of that latency that a tile with fewer outputs pays; the rest is hidden behind the tile before and after it, whose steps run at the
    /// same time.
    pub latency_paid: f64,
    /// Steps of a sum that its end costs a tile which just hides the latency, and so makes up for nothing.
    pub steps_drained: f64,
    /// Vector registers that a tile leaves to what else its steps need.
    pub spare_registers: i64,
    /// What chains of products are weighed by; without it there are none.
    pub chains: Option<Chains>,
    /// How fast it is, in seconds. Neither schedules nor fusion depend on these.
    pub rates: Rates,
}

/// What decides whether products that follow one another over the same rows are one kernel, in which each block of rows is the work of one
/// unit of the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chains {
    /// How many units there are: workgroups that a device runs at once, or cores.
    pub units: i64,
    /// The blocks of rows that are tried.
    pub blocks: &'static [i64],
    /// The most bytes of second factors in a chain: every block brings them all.
    pub factors: i64,
    /// Bytes that a unit brings from the second-level cache while it does its part of one vector multiply-add.
    pub unit_bytes_per_fma: f64,
    /// Multiply-adds that could be done while the members of a unit wait for each other between two products.
    pub fmas_per_link: f64,
    /// The most columns of a product: each is some member's of the unit.
    pub columns: i64,
    /// Columns and terms are multiples of this: how many numbers a member reads at a time, if it reads only so many.
    pub multiple: i64,
    /// The most links of a chain: a kernel is compiled as one piece.
    pub links: usize,
    /// Bytes of memory that a unit has for what lies between products.
    pub scratch: i64,
    /// How many buffers a kernel may have.
    pub buffers: usize,
}

impl Chains {
    /// Chains on so many cores of a processor. What a chain saves there is that the team meets between its products, which is little:
    /// it pays where blocks bring the factors from a core's own cache, and rows are enough for everyone.
    pub fn on_cores(cores: usize, machine: &Machine) -> Chains {
        Chains {
            units: i64::try_from(cores).unwrap_or(i64::MAX).max(1),
            blocks: &[64, 32, 16],
            factors: machine.l2 / 4,
            unit_bytes_per_fma: machine.l2_bytes_per_fma,
            fmas_per_link: 0.0,
            columns: i64::MAX,
            // What does not fill a vector is masked.
            multiple: 1,
            // The team does not meet three times of four; what more links would save is less than compiling them takes.
            links: 4,
            scratch: machine.l2 / 4,
            buffers: usize::MAX,
        }
    }
}

/// The machines that a plan is made for.
#[derive(Clone, Copy, Debug)]
pub struct Machines<'m> {
    /// The target's.
    pub target: &'m Machine,
    /// The processor beside it, for what is placed there; none where the target is the processor, or nothing is.
    pub cpu: Option<&'m Machine>,
    /// How many threads may work on a plan for them, which is the same whatever their number.
    pub threads: usize,
}

impl<'m> Machines<'m> {
    /// A target alone.
    pub fn only(target: &'m Machine) -> Machines<'m> {
        Machines { target, cpu: None, threads: 1 }
    }

    /// The same, with so many threads to work on plans.
    pub fn by(self, threads: usize) -> Machines<'m> {
        Machines { threads, ..self }
    }

    /// The processor, if something at this site is its business and not the target's.
    pub fn beside(&self, site: Option<Site>) -> Option<&'m Machine> {
        self.cpu.filter(|_| site == Some(Site::Cpu))
    }
}

/// What a core does alone, and a team of all of them together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Of one core while the others rest.
    pub core: f64,
    /// Of the team.
    pub team: f64,
}

/// Parts of the last level's size for which it is known how much of so many bytes stays.
pub const LOST_AT: [f64; 6] = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0];

/// How fast a machine is.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// How many members the team has that the rates of a team are for.
    pub members: usize,
    /// Vector multiply-adds of f32 a second.
    pub fma: Rate,
    /// Vector instructions a second that multiply bytes and add up four products a lane; none where there is no such instruction.
    pub dot: Option<Rate>,
    /// Bytes a second that are read from the first, second and last level of cache, and from memory.
    pub read: [Rate; 4],
    /// Bytes a second, read and written together, of a copy in memory with stores past the caches.
    pub copy: Rate,
    /// The same of `a = b + s·c`.
    pub triad: Rate,
    /// Bytes a second that are read from disk, if that is known.
    pub disk: Option<f64>,
    /// Seconds that a barrier of the team takes.
    pub barrier: f64,
    /// The part of some bytes that has left the last level when so many have been touched since, themselves included: at each of
    /// [`LOST_AT`] of its size. Others may have their part of a cache.
    pub lost: [f64; LOST_AT.len()],
    /// Bytes a second that others bring into the last level: what is not touched goes, by and by.
    pub others: f64,
    /// Seconds that calling a kernel takes.
    pub launch: f64,
    /// Seconds more that it takes if its code and what it works on are in memory.
    pub cold: f64,
    /// Seconds that a run of a plan takes besides its steps, on one thread.
    pub run: f64,
}

/// The levels that data can come from, in the order of [`Rates::read`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Home {
    /// The first-level cache of a core.
    L1,
    /// The second-level cache of a core.
    L2,
    /// The last-level cache.
    L3,
    /// Main memory.
    Memory,
}

impl Machine {
    /// The same machine with vectors of half the width, half as many of them, and nothing that AVX-512 adds.
    pub fn with_avx2(&self) -> Machine {
        Machine {
            lanes: self.lanes / 2,
            registers: self.registers / 2,
            pairs: false,
            dots: false,
            // Two units load and two multiply; looking ahead past a tile of so few registers finds little to do.
            loads_per_fma: 1.0,
            side: 0.04,
            latency_paid: 1.0,
            steps_drained: 10.0,
            spare_registers: 0,
            ..self.clone()
        }
    }

    /// How many cores may share a kernel; one where that is not known.
    pub fn cores(&self) -> i64 {
        self.chains.map_or(1, |c| c.units)
    }

    /// How many lanes a kernel's vectors have: half as many where it computes with 64 bits, so that each fills its lane of one register.
    pub fn lanes_for(&self, kernel: &Kernel) -> i64 {
        let wide = kernel.computes_wide() || !self.pairs && kernel.has_wide();
        if wide { self.lanes / 2 } else { self.lanes }
    }

    /// The machine as schedules of a kernel see it.
    pub fn for_kernel(&self, kernel: &Kernel) -> Machine {
        let lanes = self.lanes_for(kernel);
        Machine { lanes, lane_bytes: self.lane_bytes * self.lanes / lanes, ..self.clone() }
    }
}

impl Home {
    /// All of them, the nearest first.
    pub const ALL: [Home; 4] = [Home::L1, Home::L2, Home::L3, Home::Memory];

    /// Its name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Home::L1 => "L1",
            Home::L2 => "L2",
            Home::L3 => "L3",
            Home::Memory => "memory",
        }
    }
}

impl Rate {
    /// Of a core, and of a team that does so many times as much.
    pub fn new(core: f64, team: f64) -> Rate {
        Rate { core, team }
    }
}

impl Rates {
    /// A rate for a team of so many threads: between that of one core and that of the whole team.
    pub fn at(&self, rate: Rate, threads: usize) -> f64 {
        if threads <= 1 || self.members <= 1 {
            return rate.core;
        }
        let part = (threads.min(self.members) - 1) as f64 / (self.members - 1) as f64;
        rate.core + (rate.team - rate.core) * part
    }

    /// The part that is no longer in the last level, of so many bytes, after so many bytes have been touched since.
    pub fn lost(&self, since: f64, level: f64) -> f64 {
        let part = since / level.max(1.0);
        let (mut from, mut before) = (0.0, 0.0);
        for (to, lost) in LOST_AT.into_iter().zip(self.lost) {
            if part <= to {
                return before + (lost - before) * (part - from) / (to - from);
            }
            (from, before) = (to, lost);
        }
        1.0
    }

    /// After how many bytes so great a part has left the last level: the inverse of [`Rates::lost`], the least of several.
    pub fn lost_after(&self, lost: f64, level: f64) -> f64 {
        let (mut from, mut before) = (0.0, 0.0);
        for (to, here) in LOST_AT.into_iter().zip(self.lost) {
            if lost <= here {
                let part = if here > before { (lost - before) / (here - before) } else { 0.0 };
                return (from + (to - from) * part) * level;
            }
            (from, before) = (to, here);
        }
        from * level
    }

    /// Those of cores of so many vector multiply-adds a second, by what is usual: a team of cores shares the last level and memory.
    pub fn estimate(fma: f64, members: usize) -> Rates {
        let team = members.max(1) as f64;
        let own = |rate: f64| Rate::new(rate, rate * team);
        let shared = |rate: f64, most: f64| Rate::new(rate, rate * team.min(most));
        Rates {
            members: members.max(1),
            fma: own(fma),
            dot: None,
            read: [own(fma * 64.0), own(fma * 32.0), shared(fma * 20.0, 8.0), shared(25e9, 4.0)],
            copy: shared(25e9, 4.0),
            triad: shared(25e9, 4.0),
            disk: None,
            barrier: 150e-9,
            // Lines do not go all at once.
            lost: [0.0, 0.0, 0.0, 0.1, 0.65, 1.0],
            others: 0.0,
            launch: 10e-9,
            cold: 400e-9,
            run: 5e-9,
        }
    }
}

/// Integers that share bytes, and floats of 8 bits and less: machine code computes with none of them.
const TINY: [DType; 10] = [
    DType::U2,
    DType::I2,
    DType::U4,
    DType::I4,
    DType::F4E2M1,
    DType::F8E4M3,
    DType::F8E5M2,
    DType::F8E4M3Fnuz,
    DType::F8E5M2Fnuz,
    DType::F8E8M0,
];

impl Default for Machine {
    /// A core with AVX-512 of recent years.
    fn default() -> Machine {
        Machine {
            spread: Spread::Team,
            lanes: 16,
            lane_bytes: 4,
            registers: 32,
            pairs: true,
            dots: false,
            lacks: &TINY,
            l1: 32 << 10,
            l2: 1 << 20,
            l3: 16 << 20,
            loads_per_fma: 1.64,
            vector_loads_per_fma: 1.0,
            fmas_per_miss: 50.0,
            side: 0.04,
            l2_bytes_per_fma: 32.0,
            l3_bytes_per_fma: 14.0,
            memory_bytes_per_fma: 5.0,
            asks_for_panels: false,
            read_streams: 1,
            fmas_per_start: 1750.0,
            fma_in_flight: 8,
            latency_paid: 0.6,
            steps_drained: 0.0,
            spare_registers: 2,
            chains: None,
            rates: Rates::estimate(3e9, 1),
        }
    }
}

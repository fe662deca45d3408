//! Programs that are plans: compiling a graph for a target that runs one, and running that in a session.
//!
//! Comes in: a graph after its passes; goes out: a [`Planned`] program that sessions share. On the CPU that takes two steps, so that the graph
//! can be dropped before its constants are laid out. The code itself is made and run by `lawson_cpu::executable` and `lawson_wgpu`. `sessions.rs` has what
//! depends on sizes, `run.rs` what a run does, on either target by way of `instance.rs`; `signature.rs` is what stays of the graph.

mod instance;
mod run;
mod sessions;
mod signature;

pub(crate) use run::{Ran, Times};
pub(crate) use sessions::{Going, PlannedSession, PlannedSessions, same_sizes};
pub(crate) use signature::Sizes;

use crate::cpu::{Isa, standard};
use crate::program::CompileTimes;
use crate::repeated::Repeated;
#[cfg(feature = "wgpu")]
use lawson_cpu::executable::Beside;
use lawson_cpu::executable::{self, Executable};
use lawson_cpu::team::Team;
use lawson_graph::{Bindings, Code, Error, Graph, Result};
use lawson_kernel::Plan;
use lawson_kernel::compile::{Stage, compile_watched};
use lawson_kernel::machine::{Machine, Machines};
use lawson_kernel::partition::Fusion;
#[cfg(feature = "wgpu")]
use lawson_kernel::plan::hosted::HostKernels;
use lawson_kernel::predict::predict_plan;
use signature::Signature;
use std::sync::Arc;
use std::time::Instant;

/// A plan with its code, and what runs it. Clones share both.
#[derive(Clone)]
pub(crate) struct Planned {
    code: Runner,
    signature: Arc<Signature>,
    /// What loops of runs may be instead.
    repeated: Option<Arc<Repeated>>,
}

/// What runs a plan.
#[derive(Clone)]
enum Runner {
    /// Machine code and the threads that run it.
    Cpu { executable: Arc<Executable>, team: Team, isa: Isa },
    /// Shaders, and how the processor runs what is placed there.
    #[cfg(feature = "wgpu")]
    Wgpu { executable: Arc<lawson_wgpu::Executable>, isa: Isa },
}

/// Machine code whose constants are those of the graph.
pub(crate) struct Unpacked {
    code: executable::Unpacked,
    signature: Signature,
    isa: Isa,
    repeated: Option<Repeated>,
}

/// How machine code is made: for which instructions, and by how many threads at most.
#[derive(Clone, Copy)]
pub(crate) struct Making {
    isa: Isa,
    threads: usize,
}

impl Making {
    /// By as many threads as will run it.
    pub(crate) fn new(isa: Isa, team: Option<&Team>) -> Making {
        Making { isa, threads: team.map_or_else(processors, Team::members) }
    }
}

/// How many threads run a program that is given no team.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// The team of a program that is given none: a member for each processor.
pub(crate) fn own_team() -> Result<Team> {
    let members = processors();
    Team::new(members).map_err(|e| Error::new(Code::Budget, format!("threads: {e}")))
}

impl Unpacked {
    /// The code of a graph after the standard passes of this target.
    pub(crate) fn standard(
        graph: &Graph,
        made: Making,
        feeds: &[(usize, usize)],
        times: &mut CompileTimes,
    ) -> Result<Unpacked> {
        let operators = |made: &Unpacked| made.code.plan().operators();
        let make =
            |graph: &Graph, times: &mut CompileTimes| Unpacked::new(graph, made, Fusion::Predicted, times);
        standard(graph, made.isa, times, make, operators).map(|(graph, code)| code.repeatable(&graph, feeds))
    }

    /// The code of a graph as it is.
    pub(crate) fn new(
        graph: &Graph,
        Making { isa, threads }: Making,
        fusion: Fusion,
        times: &mut CompileTimes,
    ) -> Result<Unpacked> {
        let machine = isa.of(&lawson_cpu::host::machine());
        let plan = plan_for(graph, Machines::only(&machine).by(threads), fusion, times)?;
        let signature = Signature::new(graph, &plan);
        let start = Instant::now();
        let (inputs, outputs) = (graph.inputs().len(), graph.outputs().len());
        let code = executable::Unpacked::new(plan, inputs, outputs, isa, threads)?;
        times.emit += start.elapsed();
        Ok(Unpacked { code, signature, isa, repeated: None })
    }

    /// The same, with what is needed to run it in a loop: the outputs that become inputs.
    pub(crate) fn repeatable(mut self, graph: &Graph, feeds: &[(usize, usize)]) -> Unpacked {
        // Evaluated kernels have no registers.
        self.repeated = match self.isa {
            Isa::Portable => None,
            _ => Repeated::of(graph, feeds.to_vec()),
        };
        self
    }

    /// Lays out the constants, and lets go of those of the graph.
    pub(crate) fn pack(self, team: Option<Team>) -> Result<Planned> {
        let team = match team {
            Some(team) => team,
            None => own_team()?,
        };
        let executable = Arc::new(self.code.pack(&team)?);
        let code = Runner::Cpu { executable, team, isa: self.isa };
        Ok(Planned { code, signature: Arc::new(self.signature), repeated: self.repeated.map(Arc::new) })
    }
}

/// The plan of a graph for a machine.
fn plan_for(graph: &Graph, machines: Machines<'_>, fusion: Fusion, times: &mut CompileTimes) -> Result<Plan> {
    let mut lap = Instant::now();
    compile_watched(graph, machines, fusion, &mut |stage| {
        let now = Instant::now();
        let took = now - std::mem::replace(&mut lap, now);
        match stage {
            Stage::Partition => times.partition += took,
            Stage::Schedule => times.schedule += took,
        }
    })
}

impl Planned {
    /// Shaders of a graph as it is, for a device, and machine code of what is placed on the processor.
    #[cfg(feature = "wgpu")]
    pub(crate) fn on_device(
        graph: &Graph,
        device: &lawson_wgpu::Device,
        (isa, team): (Isa, Option<Team>),
        fusion: Fusion,
        times: &mut CompileTimes,
    ) -> Result<Planned> {
        let target = lawson_wgpu::machine_for(&device.capabilities()?);
        let cpu = isa.of(&lawson_cpu::host::machine());
        let machines = Machines { target: &target, cpu: Some(&cpu), threads: 1 };
        let mut plan = plan_for(graph, machines, fusion, times)?;
        let signature = Arc::new(Signature::new(graph, &plan));
        let start = Instant::now();
        let beside = Beside::new(&mut plan, isa, || team.map_or_else(own_team, Ok))?;
        let host = beside.map(|b| b as Arc<dyn HostKernels>);
        let (inputs, outputs) = (graph.inputs().len(), graph.outputs().len());
        let executable = lawson_wgpu::Executable::beside(plan, inputs, outputs, device, host)?;
        device.save_cache()?;
        times.emit += start.elapsed();
        let code = Runner::Wgpu { executable: Arc::new(executable), isa };
        Ok(Planned { code, signature, repeated: None })
    }

    /// The same, with what is needed to run it in a loop: the outputs that become inputs. What is placed by hand is run where it was placed, and as
    /// often.
    #[cfg(feature = "wgpu")]
    pub(crate) fn repeatable(mut self, graph: &Graph, feeds: &[(usize, usize)]) -> Planned {
        let free = !graph.has_sites();
        self.repeated = free.then(|| Repeated::of(graph, feeds.to_vec())).flatten().map(Arc::new);
        self
    }

    /// Another graph, as it is, for the same target.
    pub(crate) fn compile(&self, graph: &Graph) -> Result<Planned> {
        let times = &mut CompileTimes::default();
        match &self.code {
            Runner::Cpu { team, isa, .. } => {
                let made = Making::new(*isa, Some(team));
                Unpacked::new(graph, made, Fusion::Predicted, times)?.pack(Some(team.clone()))
            }
            #[cfg(feature = "wgpu")]
            Runner::Wgpu { executable, isa } => {
                Planned::on_device(graph, executable.device(), (*isa, None), Fusion::Predicted, times)
            }
        }
    }

    /// The same code and constants, run as another program is.
    pub(crate) fn beside(&self, other: &Planned) -> Planned {
        match &other.code {
            Runner::Cpu { team, .. } => self.with_team(team.clone()),
            #[cfg(feature = "wgpu")]
            Runner::Wgpu { .. } => self.clone(),
        }
    }

    /// The machine that it runs on, as estimates have it, and how many members work on it.
    fn machine(&self) -> Result<(Machine, usize)> {
        match &self.code {
            Runner::Cpu { team, isa, .. } => Ok((isa.of(&lawson_cpu::host::machine()), team.members())),
            #[cfg(feature = "wgpu")]
            Runner::Wgpu { executable, .. } => {
                Ok((lawson_wgpu::machine_for(&executable.device().capabilities()?), 1))
            }
        }
    }

    /// The seconds that a run is predicted to take with these values of symbols, if all of it can be predicted.
    pub(crate) fn seconds(&self, bindings: &Bindings) -> Result<Option<f64>> {
        let (machine, members) = self.machine()?;
        let steps = predict_plan(self.plan(), &machine, bindings, members)?;
        Ok(steps.into_iter().map(|p| Some(p?.seconds)).sum())
    }

    /// Whether it runs on a device, where somebody may watch how long a launch takes, and where a session takes other values of symbols on which
    /// no size depends.
    pub(crate) fn is_on_device(&self) -> bool {
        match &self.code {
            Runner::Cpu { .. } => false,
            #[cfg(feature = "wgpu")]
            Runner::Wgpu { .. } => true,
        }
    }

    /// The same code and constants with another team; what runs on a device has none.
    pub(crate) fn with_team(&self, team: Team) -> Planned {
        let code = match &self.code {
            Runner::Cpu { executable, isa, .. } => {
                Runner::Cpu { executable: executable.clone(), team, isa: *isa }
            }
            #[cfg(feature = "wgpu")]
            Runner::Wgpu { .. } => self.code.clone(),
        };
        Planned { code, ..self.clone() }
    }

    pub(crate) fn plan(&self) -> &Plan {
        match &self.code {
            Runner::Cpu { executable, .. } => executable.plan(),
            #[cfg(feature = "wgpu")]
            Runner::Wgpu { executable, .. } => executable.plan(),
        }
    }

    pub(crate) fn isa(&self) -> Option<Isa> {
        match &self.code {
            Runner::Cpu { isa, .. } => Some(*isa),
            #[cfg(feature = "wgpu")]
            Runner::Wgpu { .. } => None,
        }
    }

    /// The shaders, if it runs on a device.
    #[cfg(feature = "wgpu")]
    pub(crate) fn shaders(&self) -> Option<&Arc<lawson_wgpu::Executable>> {
        match &self.code {
            Runner::Cpu { .. } => None,
            Runner::Wgpu { executable, .. } => Some(executable),
        }
    }
}

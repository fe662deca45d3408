//! `Program`: a compiled graph, shared by everybody who runs it.
//!
//! Comes in: a graph and options; goes out: a program, from which sessions are made. Compiling is: verify, run the
//! passes, hand over to the target.

use crate::cpu::Isa;
use crate::planned::{Making, Planned, Unpacked};
use crate::repeated::feeds;
use crate::session::Session;
use lawson_cpu::team::Team;
use lawson_graph::{Code, Error, Graph, Result, Site, Type};
use lawson_kernel::partition::Fusion;
use lawson_opt::Pipeline;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A compiled graph. Clones share it, between threads too.
///
/// ```
/// use lawson::{CompileOptions, Program, graph::Graph};
/// let graph = Graph::parse("lawson 1 graph @f(%x: f32[N]) -> (y: f32[N]) { %y = neg %x return %y }")?;
/// let program = Program::compile(graph, &CompileOptions::default())?;
/// assert_eq!(program.inputs()[0].name, "x");
/// assert_eq!(program.outputs()[0].ty.to_string(), "f32[N]");
/// # Ok::<(), lawson::Error>(())
/// ```
#[derive(Clone)]
pub struct Program(Arc<Inner>);

struct Inner {
    name: String,
    code: Compiled,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

/// What a target made of the graph.
pub(crate) enum Compiled {
    /// The graph itself, which is interpreted.
    Reference(Box<Graph>),
    /// A plan, and what runs it: machine code with threads, or shaders with a device. It has constants of its own; those of the graph
    /// are not kept.
    Planned(Planned),
}

/// How a graph is compiled.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// What the program runs on.
    pub target: Target,
    /// Sizes that are fixed before anything else is done, by the names of the symbols: the program then takes inputs of those sizes only,
    /// and is compiled for them.
    pub sizes: BTreeMap<String, usize>,
    /// What is done to the graph before that.
    pub passes: Passes,
    /// Sizes that symbols of the graph usually have: what is computed together, and how values lie, is decided for these. The program is right for all others;
    /// of symbols that are not listed, the place of their axis decides ([`Graph::expect_usual_sizes`]).
    pub expect: BTreeMap<String, usize>,
    /// Which operators may share a kernel. With [`Fusion::Separate`] the standard passes are none, for they rewrite across operators:
    /// that is for seeing what fusion gains, and for finding the operator at which something goes wrong.
    pub fusion: Fusion,
    /// The threads that run it on the CPU target, or what is placed on the processor; none means a team of one's own, with a member for each processor. Programs
    /// that share a team take turns on it.
    pub team: Option<Team>,
    /// How the processor runs kernels; none means the best that this machine has.
    pub isa: Option<Isa>,
    /// The device of the wgpu target; none means one of one's own, the one that the system prefers. Programs that share a device share its
    /// compiled pipelines.
    #[cfg(feature = "wgpu")]
    pub device: Option<lawson_wgpu::Device>,
}

/// What the stages of compiling took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompileTimes {
    /// Verifying the graph and rewriting it.
    pub passes: Duration,
    /// Finding groups and lowering them to kernels.
    pub partition: Duration,
    /// Choosing schedules, applying and verifying them.
    pub schedule: Duration,
    /// Machine code.
    pub emit: Duration,
    /// Laying out constants, and starting threads if a team was not given.
    pub pack: Duration,
}

impl CompileTimes {
    /// All stages together.
    pub fn total(&self) -> Duration {
        self.passes + self.partition + self.schedule + self.emit + self.pack
    }

    pub(crate) fn passes<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = run();
        self.passes += start.elapsed();
        result
    }
}

/// What a program runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// The reference interpreter: every operator, no speed.
    Reference,
    /// Machine code for this processor: an x86-64 with AVX-512 or AVX2, under Unix; elsewhere all kernels are left to the portable
    /// evaluator ([`Program::isa`] says which). What has no kernel, or a kernel that has no code, is left
    /// to the reference interpreter or the evaluator: [`Program::operators`] says how much, and the plan why.
    #[default]
    Cpu,
    /// Shaders for a device that `wgpu` finds (feature `wgpu`). Kernels of f16, bf16, f32, bool and integers of 8 to 64 bits run there, those of 64 bits
    /// but for division and powers; what does not is left to the host, with transfers as steps of the plan: [`Program::operators`] says how much. What is
    /// placed on `cpu` in the graph (`@device("cpu")`) runs as machine code of the processor.
    #[cfg(feature = "wgpu")]
    Wgpu,
}

/// Which passes run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Passes {
    /// Those that every graph gets.
    #[default]
    Standard,
    /// None: the graph is run as it was given.
    None,
    /// A list of one's own.
    Custom(Pipeline),
}

/// An input or an output of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Its type; dimensions may be symbols.
    pub ty: Type,
    /// For an output that is state: the input in whose buffer it lives.
    ///
    /// Such an output is the input's next value: the caller gives it as that input of the next run, and a target may
    /// write it over the input's elements. On the reference target both exist at once.
    pub lives_in: Option<usize>,
}

impl Program {
    /// Compiles a graph. On the CPU target, the constants are laid out anew, and the program keeps none of the graph's but
    /// those that it can read where they are; so they exist only once if the caller keeps no clone either.
    pub fn compile(graph: Graph, options: &CompileOptions) -> Result<Program> {
        Program::compile_timed(graph, options, &mut CompileTimes::default())
    }

    /// As [`Program::compile`]; adds what each stage took.
    pub fn compile_timed(
        graph: Graph,
        options: &CompileOptions,
        times: &mut CompileTimes,
    ) -> Result<Program> {
        times.passes(|| graph.verify())?;
        let mut graph = if options.sizes.is_empty() { graph } else { graph.with_sizes(&options.sizes)? };
        graph.expect(&options.expect);
        graph.expect_usual_sizes();
        let (inputs, outputs) = signature(&graph);
        let name = graph.name().to_string();
        let code = match options.target {
            Target::Reference => Compiled::Reference(Box::new(match &options.passes {
                Passes::None => graph,
                Passes::Standard => times.passes(|| Pipeline::standard().run(&graph))?,
                Passes::Custom(pipeline) => times.passes(|| pipeline.run(&graph))?,
            })),
            Target::Cpu => {
                graph.check_sites(&[Site::Cpu])?;
                let isa = usable(options.isa)?;
                let made = Making::new(isa, options.team.as_ref());
                let feeds = loops(options, &inputs, &outputs);
                let code = match (&options.passes, options.fusion) {
                    (Passes::Standard, Fusion::Predicted) => Unpacked::standard(&graph, made, &feeds, times)?,
                    (Passes::None | Passes::Standard, fusion) => {
                        Unpacked::new(&graph, made, fusion, times)?.repeatable(&graph, &feeds)
                    }
                    (Passes::Custom(pipeline), fusion) => {
                        let graph = times.passes(|| pipeline.run(&graph))?;
                        Unpacked::new(&graph, made, fusion, times)?.repeatable(&graph, &feeds)
                    }
                };
                // Before the constants are laid out, so that each can go when its copy is there.
                drop(graph);
                let start = Instant::now();
                let program = code.pack(options.team.clone())?;
                times.pack += start.elapsed();
                Compiled::Planned(program)
            }
            #[cfg(feature = "wgpu")]
            Target::Wgpu => {
                let device = match &options.device {
                    Some(device) => device.clone(),
                    None => lawson_wgpu::Device::preferred()?,
                };
                let isa = usable(options.isa)?;
                let fusion = options.fusion;
                let graph = crate::gpu::sited(graph)?;
                let graph = match (&options.passes, fusion) {
                    (Passes::Standard, Fusion::Predicted) => {
                        times.passes(|| crate::weights::pipeline(&[]).run(&graph))?
                    }
                    (Passes::None | Passes::Standard, _) => graph,
                    (Passes::Custom(pipeline), _) => times.passes(|| pipeline.run(&graph))?,
                };
                let cpu = (isa, options.team.clone());
                let program = Planned::on_device(&graph, &device, cpu, fusion, times)?;
                Compiled::Planned(program.repeatable(&graph, &loops(options, &inputs, &outputs)))
            }
        };
        Ok(Program(Arc::new(Inner { name, code, inputs, outputs })))
    }

    /// The inputs, in order.
    pub fn inputs(&self) -> &[Port] {
        &self.0.inputs
    }

    /// The outputs, in order.
    pub fn outputs(&self) -> &[Port] {
        &self.0.outputs
    }

    /// The graph after the passes, if the target is the reference. Others keep none, for it has the constants; [`crate::cpu::plan`]
    /// gives what the CPU target makes of a graph.
    pub fn graph(&self) -> Option<&Graph> {
        match &self.0.code {
            Compiled::Reference(graph) => Some(graph),
            Compiled::Planned(_) => None,
        }
    }

    pub(crate) fn code(&self) -> &Compiled {
        &self.0.code
    }

    /// The plan that the target runs, if it has one, without the elements of its constants.
    pub fn plan(&self) -> Option<&lawson_kernel::Plan> {
        match &self.0.code {
            Compiled::Reference(_) => None,
            Compiled::Planned(planned) => Some(planned.plan()),
        }
    }

    /// The same program, run by another team. Code and constants are shared; on the reference target there is no team, and nothing
    /// changes.
    pub fn with_team(&self, team: Team) -> Program {
        let Inner { name, code, inputs, outputs } = &*self.0;
        match code {
            Compiled::Reference(_) => self.clone(),
            Compiled::Planned(planned) => Program(Arc::new(Inner {
                name: name.clone(),
                code: Compiled::Planned(planned.with_team(team)),
                inputs: inputs.clone(),
                outputs: outputs.clone(),
            })),
        }
    }

    /// How many operators of the graph, after the passes, run as code of the target and how many are left to the host, if the
    /// target has a plan. Those of loops count once.
    pub fn operators(&self) -> Option<lawson_kernel::Operators> {
        self.plan().map(lawson_kernel::Plan::operators)
    }

    /// How the CPU target runs kernels.
    pub fn isa(&self) -> Option<Isa> {
        match &self.0.code {
            Compiled::Reference(_) => None,
            Compiled::Planned(planned) => planned.isa(),
        }
    }

    /// What the wgpu target made of the plan, if that is the target.
    #[cfg(feature = "wgpu")]
    pub fn shaders(&self) -> Option<&lawson_wgpu::Executable> {
        self.shared_shaders().map(|e| &**e)
    }

    /// The shaders, for those who run them on values of the device.
    #[cfg(feature = "wgpu")]
    pub(crate) fn shared_shaders(&self) -> Option<&Arc<lawson_wgpu::Executable>> {
        match &self.0.code {
            Compiled::Reference(_) => None,
            Compiled::Planned(planned) => planned.shaders(),
        }
    }

    /// A session, which runs the program. Each thread has its own.
    pub fn session(&self) -> Session {
        Session::new(self.clone())
    }
}

/// The way to run kernels that was asked for, if this machine can, or the best that it has.
fn usable(isa: Option<Isa>) -> Result<Isa> {
    let Some(isa) = isa else { return Ok(Isa::best()) };
    match isa.missing() {
        None => Ok(isa),
        Some(feature) => {
            let message = format!("`{isa}` needs {feature}, which this machine does not have");
            Err(Error::new(Code::NotEmitted, message)
                .help("leave the choice to Lawson, or ask for `portable`"))
        }
    }
}

/// Which outputs become inputs in loops of runs that may be one kernel: none where operators stay apart, in every run of them.
fn loops(options: &CompileOptions, inputs: &[Port], outputs: &[Port]) -> Vec<(usize, usize)> {
    match options.fusion {
        Fusion::Predicted => feeds(inputs, outputs),
        Fusion::Separate => Vec::new(),
    }
}

fn signature(graph: &Graph) -> (Vec<Port>, Vec<Port>) {
    let inputs = graph.inputs().iter().map(|v| Port {
        name: graph.value_name(*v),
        ty: graph.ty(*v).clone(),
        lives_in: None,
    });
    let outputs = graph.outputs().iter().map(|o| Port {
        name: o.name.clone(),
        ty: graph.ty(o.value).clone(),
        lives_in: o.lives_in,
    });
    (inputs.collect(), outputs.collect())
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("name", &self.0.name)
            .field("inputs", &self.0.inputs)
            .field("outputs", &self.0.outputs)
            .finish()
    }
}

/// Programs are shared between threads, sessions move between them.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    const fn moved<T: Send>() {}
    shared::<Program>();
    shared::<crate::Tensor>();
    shared::<crate::Error>();
    moved::<Session>();
};

//! Programs that are plans: compiling a graph for a target that runs one, and running that in a session.
//!
//! Comes in: a graph after its passes; goes out: a [`Planned`] program that sessions share. On the CPU that takes two steps, so that the graph
//! can be dropped before its constants are laid out. What depends on sizes is a [`PlannedSession`], made anew when the sizes of the inputs are
//! not those of the last run. The code itself is made and run by `lawson_cpu::executable` and `lawson_wgpu`.

use crate::cpu::{Isa, standard};
use crate::program::CompileTimes;
use crate::repeated::{LoopPlan, Repeated, WholeLoop};
use crate::session::Budget;
use crate::view::{TensorView, TensorViewMut};
#[cfg(feature = "wgpu")]
use lawson_cpu::executable::Beside;
use lawson_cpu::executable::{self, Executable};
use lawson_cpu::memory::{self, Memory};
use lawson_cpu::team::Team;
use lawson_graph::{
    Bindings, Code, DType, Def, Error, Graph, GraphParts, HostTensor, Place, Result, Side, TensorType, Value,
    ValueId, ValueInfo, interp,
};
use lawson_kernel::compile::{Stage, compile_watched};
use lawson_kernel::machine::{Machine, Machines};
use lawson_kernel::partition::Fusion;
#[cfg(feature = "wgpu")]
use lawson_kernel::plan::hosted::HostKernels;
use lawson_kernel::predict::predict_plan;
use lawson_kernel::{Plan, ValuePort};
use std::sync::Arc;
use std::time::Instant;

/// Whether a run took place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ran {
    Yes,
    /// Some view is not contiguous, or the run might fail after it has written: the caller must copy.
    No,
}

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

/// What a session runs.
#[derive(Debug)]
enum Instance {
    Cpu(executable::Instance),
    #[cfg(feature = "wgpu")]
    Wgpu(Box<lawson_wgpu::Instance>),
}

/// Machine code whose constants are those of the graph.
pub(crate) struct Unpacked {
    code: executable::Unpacked,
    signature: Signature,
    isa: Isa,
    repeated: Option<Repeated>,
}

/// What is left of the graph: it has the constants, which must not stay.
struct Signature {
    /// A graph of the same inputs and facts, without nodes.
    inputs: Graph,
    /// Names, and types of those that have bytes: the others are values of the host.
    outputs: Vec<(String, Option<TensorType>)>,
    /// Whether all inputs have bytes.
    plain: bool,
}

/// What a session runs with.
#[derive(Debug, Default)]
pub(crate) struct PlannedSessions {
    once: Option<PlannedSession>,
    /// For loops of runs.
    whole: Option<Box<WholeLoop>>,
}

/// What runs a plan, made for the sizes of the last run.
#[derive(Debug)]
pub(crate) struct PlannedSession {
    /// The sizes of the inputs that have bytes.
    inputs: Vec<(DType, Vec<usize>)>,
    /// The values of the symbols.
    bindings: Bindings,
    /// The sizes of the outputs that have bytes.
    outputs: Vec<Option<(DType, Vec<usize>)>>,
    instance: Instance,
}

/// How often a program runs, and which outputs become inputs in between.
#[derive(Clone, Copy)]
pub(crate) struct Times<'f> {
    pub(crate) times: u64,
    pub(crate) feeds: &'f [(usize, usize)],
    #[cfg(feature = "wgpu")]
    pub(crate) pace: lawson_wgpu::Pace,
    /// Whether one run of the plan does several.
    #[cfg(feature = "wgpu")]
    pub(crate) stride: Option<lawson_wgpu::Stride<'f>>,
}

impl Times<'_> {
    pub(crate) const ONCE: Times<'static> = Times {
        times: 1,
        feeds: &[],
        #[cfg(feature = "wgpu")]
        pace: lawson_wgpu::Pace::Whole,
        #[cfg(feature = "wgpu")]
        stride: None,
    };

    /// Whether it is left to the target how runs are done.
    pub(crate) fn is_free(&self) -> bool {
        #[cfg(feature = "wgpu")]
        return self.pace == lawson_wgpu::Pace::default();
        #[cfg(not(feature = "wgpu"))]
        true
    }
}

/// A session that fits, and what it is to do.
pub(crate) struct Going<'s> {
    pub(crate) session: &'s mut PlannedSession,
    pub(crate) times: Times<'s>,
    /// An input after those of the program, which has sizes and no bytes.
    pub(crate) more: Option<&'static [u8]>,
}

/// The team of a program that is given none: a member for each processor.
pub(crate) fn own_team() -> Result<Team> {
    let members = std::thread::available_parallelism().map_or(1, |n| n.get());
    Team::new(members).map_err(|e| Error::new(Code::Budget, format!("threads: {e}")))
}

fn has_bytes(value: &Value) -> bool {
    value.as_tensor().is_some_and(|t| t.dtype() != DType::Str)
}

/// The bytes of a value; one of the host has none.
fn bytes_of(value: &Value) -> &[u8] {
    match value {
        Value::Tensor(t) if has_bytes(value) => &t.bytes()[..],
        _ => &[],
    }
}

/// Memory for outputs of these sizes, with how many bytes each has.
fn memory_for(outputs: &[Option<(DType, Vec<usize>)>]) -> Result<Vec<(Memory, usize)>> {
    let of = |size: &Option<(DType, Vec<usize>)>| {
        let bytes = size.as_ref().and_then(|(d, n)| d.bytes_for(n.iter().product())).unwrap_or(0);
        let memory = Memory::zeroed(bytes.max(1)).map_err(|e| Error::new(Code::Budget, e.to_string()))?;
        Ok((memory, bytes))
    };
    outputs.iter().map(of).collect()
}

/// So many bytes, if they can be had: sizes come from models, which may say anything.
fn zeros(bytes: usize) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    all.try_reserve_exact(bytes).map_err(|_| {
        Error::new(Code::Budget, format!("an output takes {bytes} bytes, which are not to be had"))
    })?;
    all.resize(bytes, 0);
    Ok(all)
}

impl Signature {
    fn new(graph: &Graph, plan: &Plan) -> Signature {
        let values = graph.inputs().iter().enumerate().map(|(n, v)| ValueInfo {
            def: Def::Input(n),
            name: Some(graph.value_name(*v).into()),
            ..graph.value(*v).clone()
        });
        let of_host = |n: usize| {
            plan.buffers
                .iter()
                .any(|b| matches!(b.place, lawson_kernel::Place::Value(ValuePort::Output(m)) if n == m))
        };
        let output = |(n, o): (usize, &lawson_graph::Output)| {
            let ty = graph.ty(o.value).as_tensor().filter(|_| !of_host(n)).cloned();
            (o.name.clone(), ty)
        };
        let has_bytes = |v: &ValueId| graph.ty(*v).as_tensor().is_some_and(|t| t.dtype != DType::Str);
        Signature {
            outputs: graph.outputs().iter().enumerate().map(output).collect(),
            plain: graph.inputs().iter().all(has_bytes),
            inputs: Graph::from_parts(GraphParts {
                name: graph.name().to_string(),
                facts: graph.facts().clone(),
                values: values.collect(),
                nodes: Vec::new(),
                inputs: (0..graph.inputs().len()).map(ValueId::new).collect(),
                outputs: Vec::new(),
            }),
        }
    }

    fn place(&self, n: usize) -> Place {
        let name = self.inputs.inputs().get(n).map_or_else(String::new, |v| self.inputs.value_name(*v));
        Place::Port { side: Side::Input, name }
    }
}

impl Unpacked {
    /// The code of a graph after the standard passes of this target.
    pub(crate) fn standard(
        graph: &Graph,
        isa: Isa,
        feeds: &[(usize, usize)],
        times: &mut CompileTimes,
    ) -> Result<Unpacked> {
        let operators = |made: &Unpacked| made.code.plan().operators();
        let make =
            |graph: &Graph, times: &mut CompileTimes| Unpacked::new(graph, isa, Fusion::Predicted, times);
        standard(graph, isa, times, make, operators).map(|(graph, code)| code.repeatable(&graph, feeds))
    }

    /// The code of a graph as it is.
    pub(crate) fn new(graph: &Graph, isa: Isa, fusion: Fusion, times: &mut CompileTimes) -> Result<Unpacked> {
        let machine = isa.of(&lawson_cpu::host::machine());
        let plan = plan_for(graph, Machines::only(&machine), fusion, times)?;
        let signature = Signature::new(graph, &plan);
        let start = Instant::now();
        let code = executable::Unpacked::new(plan, graph.inputs().len(), graph.outputs().len(), isa)?;
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

/// Refuses a run that takes more bytes than it may.
fn afford(bytes: u64, limit: Option<u64>, of_what: &str) -> Result<()> {
    match limit.filter(|limit| bytes > *limit) {
        None => Ok(()),
        Some(limit) => {
            let message = format!("a run of these sizes takes {bytes} bytes {of_what}, and may take {limit}");
            Err(Error::new(Code::Budget, message).help("raise `max_bytes`, or give smaller inputs"))
        }
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
        let machines = Machines { target: &target, cpu: Some(&cpu) };
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
                Unpacked::new(graph, *isa, Fusion::Predicted, times)?.pack(Some(team.clone()))
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

    /// The values of symbols for inputs of these sizes.
    pub(crate) fn bind(&self, inputs: &[(DType, Vec<usize>)]) -> Result<Bindings> {
        interp::bind_sizes(&self.signature.inputs, inputs.iter().map(|(d, n)| (*d, n.as_slice())))
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

    /// What a loop of so many runs is, if these sessions have one that is not one run after another.
    pub(crate) fn whole_loop<'s>(
        &'s self,
        sessions: &'s PlannedSessions,
        times: Times<'_>,
    ) -> Option<LoopPlan<'s>> {
        self.repeated.as_ref()?.shown(sessions.whole.as_deref()?, self, times)
    }

    /// Runs each step by itself so many times; gives the seconds of each, by round.
    pub(crate) fn profile(
        &self,
        sessions: &mut PlannedSessions,
        inputs: &[Value],
        rounds: usize,
        budget: &Budget,
    ) -> Result<Vec<Vec<f64>>> {
        let PlannedSession { instance, outputs, .. } = self.fit_all(&mut sessions.once, inputs, budget)?;
        match instance {
            Instance::Cpu(instance) => {
                let mut outputs = memory_for(outputs)?;
                self.in_rounds(rounds, |seconds| {
                    let taken = outputs.iter_mut().map(|(m, n)| &mut m.as_mut_slice()[..*n]);
                    instance.profile(inputs.iter().map(bytes_of), taken, seconds, &budget.options)
                })
            }
            #[cfg(feature = "wgpu")]
            Instance::Wgpu(instance) => self.in_rounds(rounds, |seconds| {
                instance.profile(inputs.iter().map(bytes_of), seconds, &budget.options)
            }),
        }
    }

    /// The seconds of each step, by round.
    fn in_rounds(
        &self,
        rounds: usize,
        mut round: impl FnMut(&mut [f64]) -> Result<()>,
    ) -> Result<Vec<Vec<f64>>> {
        let mut all = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let mut seconds = vec![0.0; self.plan().steps.len()];
            round(&mut seconds)?;
            all.push(seconds);
        }
        Ok(all)
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

    /// Makes the session fit these inputs.
    fn fit<'s, 'a>(
        &self,
        session: &'s mut Option<PlannedSession>,
        inputs: impl ExactSizeIterator<Item = (DType, &'a [usize])> + Clone,
        budget: &Budget,
    ) -> Result<&'s mut PlannedSession> {
        if !session.as_ref().is_some_and(|s| same_sizes(&s.inputs, inputs.clone())) {
            let inputs: Vec<_> = inputs.map(|(d, n)| (d, n.to_vec())).collect();
            let bindings = self.bind(&inputs)?;
            *session = Some(self.session(inputs, bindings, budget)?);
        }
        session.as_mut().ok_or_else(|| Error::internal("a session without an instance"))
    }

    /// Makes the session fit these values, of which some have no sizes.
    fn fit_values<'s>(
        &self,
        session: &'s mut Option<PlannedSession>,
        inputs: &[Value],
        budget: &Budget,
    ) -> Result<&'s mut PlannedSession> {
        let bindings = interp::bind(&self.signature.inputs, inputs)?;
        if !session.as_ref().is_some_and(|s| s.bindings.iter().eq(bindings.iter())) {
            *session = Some(self.session(Vec::new(), bindings, budget)?);
        }
        session.as_mut().ok_or_else(|| Error::internal("a session without an instance"))
    }

    /// The sizes of inputs that all have bytes.
    fn sizes<'v>(&self, inputs: &'v [Value]) -> Result<Vec<(DType, &'v [usize])>> {
        let size = |(n, v): (usize, &'v Value)| {
            let wrong = || Error::new(Code::InputType, "the input is not a tensor");
            let tensor = v.as_tensor().ok_or_else(|| wrong().at(self.signature.place(n)))?;
            Ok((tensor.dtype(), tensor.sizes()))
        };
        inputs.iter().enumerate().map(size).collect()
    }

    /// Makes a session fit runs on inputs of these sizes: one that does all of them at once, if that is known how to and takes less time.
    fn go<'s, 'a>(
        &'s self,
        sessions: &'s mut PlannedSessions,
        inputs: impl ExactSizeIterator<Item = (DType, &'a [usize])> + Clone,
        times: Times<'s>,
        budget: &Budget,
    ) -> Result<Going<'s>> {
        let PlannedSessions { once, whole } = sessions;
        if let Some(repeated) = &self.repeated
            && let Some(going) = repeated.fit(whole, self, inputs.clone(), times, budget)?
        {
            return Ok(going);
        }
        Ok(Going { session: self.fit(once, inputs, budget)?, times, more: None })
    }

    /// Makes the session fit these values, and gives it those that have no bytes.
    fn fit_all<'s>(
        &self,
        session: &'s mut Option<PlannedSession>,
        inputs: &[Value],
        budget: &Budget,
    ) -> Result<&'s mut PlannedSession> {
        let session = if self.signature.plain {
            self.fit(session, self.sizes(inputs)?.into_iter(), budget)?
        } else {
            self.fit_values(session, inputs, budget)?
        };
        for (n, v) in inputs.iter().enumerate().filter(|(_, v)| !has_bytes(v)) {
            session.instance.set_value(n, v.clone());
        }
        Ok(session)
    }

    /// What runs the plan with these sizes and values of symbols.
    pub(crate) fn session(
        &self,
        inputs: Vec<(DType, Vec<usize>)>,
        bindings: Bindings,
        budget: &Budget,
    ) -> Result<PlannedSession> {
        let mut outputs = Vec::new();
        for (_, ty) in &self.signature.outputs {
            outputs.push(match ty {
                Some(ty) => Some((ty.dtype, bindings.eval_shape(&ty.shape)?)),
                None => None,
            });
        }
        let instance = match &self.code {
            Runner::Cpu { executable, team, .. } => {
                afford(
                    executable.bytes(&bindings, team)?,
                    budget.max_bytes.or_else(memory::available),
                    "of memory",
                )?;
                Instance::Cpu(executable.instance(&bindings, team)?)
            }
            #[cfg(feature = "wgpu")]
            Runner::Wgpu { executable, .. } => {
                afford(executable.bytes(&bindings)?, budget.max_bytes, "of the device")?;
                Instance::Wgpu(Box::new(executable.instance(&bindings)?))
            }
        };
        Ok(PlannedSession { inputs, bindings, outputs, instance })
    }

    pub(crate) fn run_values<'s>(
        &'s self,
        sessions: &'s mut PlannedSessions,
        inputs: &[Value],
        times: Times<'s>,
        budget: &Budget,
    ) -> Result<Vec<Value>> {
        let going = if self.signature.plain {
            self.go(sessions, self.sizes(inputs)?.into_iter(), times, budget)?
        } else {
            Going { session: self.fit_all(&mut sessions.once, inputs, budget)?, times, more: None }
        };
        let Going { session, times, more } = going;
        let mut results: Vec<Vec<u8>> = session.output_bytes().map(zeros).collect::<Result<_>>()?;
        let given = inputs.iter().map(bytes_of).chain(more);
        session.instance.run(given, results.iter_mut().map(Vec::as_mut_slice), times, &budget.options)?;
        let mut values = Vec::with_capacity(results.len());
        for (n, bytes) in results.into_iter().enumerate() {
            values.push(match &session.outputs[n] {
                Some((dtype, sizes)) => HostTensor::from_bytes(*dtype, sizes, bytes)?.into(),
                None => {
                    let value = session.instance.take_value(n);
                    value.ok_or_else(|| Error::internal("a run left out an output"))?
                }
            });
        }
        Ok(values)
    }

    /// Runs on views; allocates nothing if the sizes are those of the last run.
    pub(crate) fn run_views<'s>(
        &'s self,
        sessions: &'s mut PlannedSessions,
        inputs: &[TensorView<'_>],
        outputs: &mut [TensorViewMut<'_>],
        times: Times<'s>,
        budget: &Budget,
    ) -> Result<Ran> {
        let contiguous = self.signature.plain
            && inputs.iter().all(|v| v.contiguous().is_some())
            && outputs.iter_mut().all(|v| v.contiguous().is_some());
        if !contiguous {
            return Ok(Ran::No);
        }
        let sizes = inputs.iter().map(|v| (v.dtype(), v.sizes()));
        let Going { session, times, more } = self.go(sessions, sizes, times, budget)?;
        if session.instance.is_fallible() || session.outputs.iter().any(Option::is_none) {
            return Ok(Ran::No);
        }
        let named = outputs.iter().zip(&self.signature.outputs);
        for (size, (v, (name, _))) in session.outputs.iter().zip(named) {
            let Some((d, n)) = size else { continue };
            v.check(*d, n).map_err(|e| e.at(Place::Port { side: Side::Output, name: name.clone() }))?;
        }
        let given = inputs.iter().filter_map(TensorView::contiguous).chain(more);
        let taken = outputs.iter_mut().filter_map(TensorViewMut::contiguous);
        session.instance.run(given, taken, times, &budget.options)?;
        Ok(Ran::Yes)
    }
}

/// Whether sizes are these.
pub(crate) fn same_sizes<'a>(
    sizes: &[(DType, Vec<usize>)],
    given: impl ExactSizeIterator<Item = (DType, &'a [usize])>,
) -> bool {
    sizes.len() == given.len() && sizes.iter().zip(given).all(|((d, n), (e, m))| *d == e && *n == m)
}

impl PlannedSession {
    /// The values of the symbols that it was made for.
    pub(crate) fn bindings(&self) -> &Bindings {
        &self.bindings
    }

    /// How many bytes each output has.
    fn output_bytes(&self) -> impl Iterator<Item = usize> {
        let size = |(d, n): &(DType, Vec<usize>)| d.bytes_for(n.iter().product());
        self.outputs.iter().map(move |o| o.as_ref().and_then(size).unwrap_or(0))
    }
}

impl Instance {
    fn run<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = &'a mut [u8]>,
        times: Times<'_>,
        options: &interp::Options,
    ) -> Result<()> {
        match (self, times) {
            (Instance::Cpu(i), Times { times: 1, .. }) => i.run(inputs, outputs, options),
            (Instance::Cpu(i), Times { times, feeds, .. }) => {
                i.run_loop(inputs, outputs, times, feeds, options)
            }
            #[cfg(feature = "wgpu")]
            (Instance::Wgpu(i), Times { times, feeds, pace, stride }) => {
                i.run_loop(inputs, outputs, lawson_wgpu::Again { times, feeds, pace, stride }, options)
            }
        }
    }

    fn is_fallible(&self) -> bool {
        match self {
            Instance::Cpu(i) => i.is_fallible(),
            #[cfg(feature = "wgpu")]
            Instance::Wgpu(i) => i.is_fallible(),
        }
    }

    fn set_value(&mut self, input: usize, value: Value) {
        match self {
            Instance::Cpu(i) => i.set_value(input, value),
            #[cfg(feature = "wgpu")]
            Instance::Wgpu(i) => i.set_value(input, value),
        }
    }

    fn take_value(&mut self, output: usize) -> Option<Value> {
        match self {
            Instance::Cpu(i) => i.take_value(output),
            #[cfg(feature = "wgpu")]
            Instance::Wgpu(i) => i.take_value(output),
        }
    }
}

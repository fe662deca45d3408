//! Programs that are plans: compiling a graph for a target that runs one, and running that in a session.
//!
//! Comes in: a graph after its passes; goes out: a [`Planned`] program that sessions share. On the CPU that takes two steps, so that the graph
//! can be dropped before its constants are laid out. What depends on sizes is a [`PlannedSession`], made anew when the sizes of the inputs are
//! not those of the last run. The code itself is made and run by `lawson_cpu::executable` and `lawson_wgpu`.

use crate::cpu::{Isa, standard};
use crate::program::CompileTimes;
use crate::repeated::{Repeated, WholeLoop};
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
use lawson_kernel::machine::Machines;
use lawson_kernel::partition::Fusion;
#[cfg(feature = "wgpu")]
use lawson_kernel::plan::hosted::HostKernels;
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

/// A plan with its code, and what runs it.
pub(crate) struct Planned {
    code: Runner,
    signature: Arc<Signature>,
    /// What loops of runs may be instead.
    repeated: Option<Arc<Repeated>>,
}

/// What runs a plan.
enum Runner {
    /// Machine code and the threads that run it.
    Cpu { executable: Arc<Executable>, team: Team, isa: Isa },
    /// Shaders.
    #[cfg(feature = "wgpu")]
    Wgpu(Arc<lawson_wgpu::Executable>),
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
    pub(crate) inputs: Vec<(DType, Vec<usize>)>,
    /// The values of the symbols.
    pub(crate) bindings: Bindings,
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
}

impl Times<'_> {
    pub(crate) const ONCE: Times<'static> = Times {
        times: 1,
        feeds: &[],
        #[cfg(feature = "wgpu")]
        pace: lawson_wgpu::Pace::Whole,
    };
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
        self.repeated = Repeated::of(graph, self.isa, feeds.to_vec());
        self
    }

    pub(crate) fn plan(&self) -> &Plan {
        self.code.plan()
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
        Ok(Planned { code: Runner::Wgpu(Arc::new(executable)), signature, repeated: None })
    }

    /// The same code and constants with another team; what runs on a device has none.
    pub(crate) fn with_team(&self, team: Team) -> Planned {
        let code = match &self.code {
            Runner::Cpu { executable, isa, .. } => {
                Runner::Cpu { executable: executable.clone(), team, isa: *isa }
            }
            #[cfg(feature = "wgpu")]
            Runner::Wgpu(executable) => Runner::Wgpu(executable.clone()),
        };
        Planned { code, signature: self.signature.clone(), repeated: self.repeated.clone() }
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
            Runner::Wgpu(executable) => executable.plan(),
        }
    }

    pub(crate) fn isa(&self) -> Option<Isa> {
        match &self.code {
            Runner::Cpu { isa, .. } => Some(*isa),
            #[cfg(feature = "wgpu")]
            Runner::Wgpu(_) => None,
        }
    }

    /// The shaders, if it runs on a device.
    #[cfg(feature = "wgpu")]
    pub(crate) fn shaders(&self) -> Option<&Arc<lawson_wgpu::Executable>> {
        match &self.code {
            Runner::Cpu { .. } => None,
            Runner::Wgpu(executable) => Some(executable),
        }
    }

    /// Makes the session fit these inputs.
    fn fit<'s, 'a>(
        &self,
        session: &'s mut Option<PlannedSession>,
        inputs: impl ExactSizeIterator<Item = (DType, &'a [usize])> + Clone,
        budget: &Budget,
    ) -> Result<&'s mut PlannedSession> {
        let fits = |s: &PlannedSession| {
            s.inputs.len() == inputs.len()
                && s.inputs.iter().zip(inputs.clone()).all(|((d, n), (e, m))| *d == e && *n == m)
        };
        if !session.as_ref().is_some_and(fits) {
            let bindings = interp::bind_sizes(&self.signature.inputs, inputs.clone())?;
            let inputs = inputs.map(|(d, n)| (d, n.to_vec())).collect();
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

    /// Makes the session fit these values, and gives it those that have no bytes.
    fn fit_all<'s>(
        &self,
        session: &'s mut Option<PlannedSession>,
        inputs: &[Value],
        budget: &Budget,
    ) -> Result<&'s mut PlannedSession> {
        let session = if self.signature.plain {
            let mut tensors: Vec<&HostTensor> = Vec::with_capacity(inputs.len());
            for (n, v) in inputs.iter().enumerate() {
                let wrong = || Error::new(Code::InputType, "the input is not a tensor");
                tensors.push(v.as_tensor().ok_or_else(|| wrong().at(self.signature.place(n)))?);
            }
            self.fit(session, tensors.iter().map(|t| (t.dtype(), t.sizes())), budget)?
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
            Runner::Wgpu(executable) => {
                afford(executable.bytes(&bindings)?, budget.max_bytes, "of the device")?;
                Instance::Wgpu(Box::new(executable.instance(&bindings)?))
            }
        };
        Ok(PlannedSession { inputs, bindings, outputs, instance })
    }

    pub(crate) fn run_values(
        &self,
        sessions: &mut PlannedSessions,
        inputs: &[Value],
        times: Times<'_>,
        budget: &Budget,
    ) -> Result<Vec<Value>> {
        let PlannedSessions { once, whole } = sessions;
        let session = self.fit_all(once, inputs, budget)?;
        let mut results: Vec<Vec<u8>> = session.output_bytes().map(zeros).collect::<Result<_>>()?;
        let given = inputs.iter().map(bytes_of);
        let taken = results.iter_mut().map(Vec::as_mut_slice);
        self.run_in(session, whole, given, taken, times, budget)?;
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
    pub(crate) fn run_views(
        &self,
        sessions: &mut PlannedSessions,
        inputs: &[TensorView<'_>],
        outputs: &mut [TensorViewMut<'_>],
        times: Times<'_>,
        budget: &Budget,
    ) -> Result<Ran> {
        let contiguous = self.signature.plain
            && inputs.iter().all(|v| v.contiguous().is_some())
            && outputs.iter_mut().all(|v| v.contiguous().is_some());
        if !contiguous {
            return Ok(Ran::No);
        }
        let PlannedSessions { once, whole } = sessions;
        let session = self.fit(once, inputs.iter().map(|v| (v.dtype(), v.sizes())), budget)?;
        if session.instance.is_fallible() || session.outputs.iter().any(Option::is_none) {
            return Ok(Ran::No);
        }
        let named = outputs.iter().zip(&self.signature.outputs);
        for (size, (v, (name, _))) in session.outputs.iter().zip(named) {
            let Some((d, n)) = size else { continue };
            v.check(*d, n).map_err(|e| e.at(Place::Port { side: Side::Output, name: name.clone() }))?;
        }
        let given = inputs.iter().filter_map(TensorView::contiguous);
        let taken = outputs.iter_mut().filter_map(TensorViewMut::contiguous);
        self.run_in(session, whole, given, taken, times, budget)?;
        Ok(Ran::Yes)
    }

    /// Runs as often as is asked for: all at once, if that is known how to and takes less time.
    fn run_in<'a>(
        &self,
        once: &mut PlannedSession,
        whole: &mut Option<Box<WholeLoop>>,
        inputs: impl Iterator<Item = &'a [u8]> + Clone,
        outputs: impl Iterator<Item = &'a mut [u8]>,
        times: Times<'_>,
        budget: &Budget,
    ) -> Result<()> {
        let options = &budget.options;
        let whole = match (&self.code, &self.repeated) {
            (Runner::Cpu { team, .. }, Some(repeated)) => {
                repeated.fit(whole, (self, once), times, (team, budget))?.map(|w| (w, repeated))
            }
            _ => None,
        };
        let Some((WholeLoop { session: Some(all), states, .. }, repeated)) = whole else {
            return once.instance.run(inputs, outputs, times, options);
        };
        // Its last input has no bytes, only sizes.
        let none: &[u8] = &[];
        if states.is_empty() {
            return all.instance.run(inputs.chain([none]), outputs, Times::ONCE, options);
        }
        let left = states.iter_mut().map(|(memory, bytes)| &mut memory.as_mut_slice()[..*bytes]);
        // As long as the states are lent, no longer.
        let given = inputs.clone().chain([none]).map(|bytes| -> &[u8] { bytes });
        all.instance.run(given, left, Times::ONCE, options)?;
        let states = &*states;
        let given = inputs.enumerate().map(|(n, bytes)| match repeated.state(n) {
            Some(at) => &states[at].0.as_slice()[..states[at].1],
            None => bytes,
        });
        once.instance.run(given, outputs.map(|o| &mut *o), Times::ONCE, options)
    }
}

impl PlannedSession {
    /// How many bytes each output has.
    pub(crate) fn output_bytes(&self) -> impl Iterator<Item = usize> {
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
            (Instance::Wgpu(i), Times { times, feeds, pace }) => {
                i.run_loop(inputs, outputs, lawson_wgpu::Again { times, feeds, pace }, options)
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

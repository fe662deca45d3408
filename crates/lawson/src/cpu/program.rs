//! Programs on the CPU target: compiling a graph to a plan with machine code, and running that in a session.
//!
//! Comes in: a graph after its passes; goes out: a [`CpuProgram`] that sessions share, in two steps, so that the graph can be
//! dropped before its constants are laid out. What depends on sizes is a
//! [`CpuSession`], made anew when the sizes of the inputs are not those of the last run. The code itself is made and run by
//! `lawson_cpu::executable`.

use super::{Isa, Ran};
use crate::program::CompileTimes;
use crate::session::Budget;
use crate::view::{TensorView, TensorViewMut};
use lawson_cpu::executable::{self, Executable, Instance};
use lawson_cpu::memory::{self, Memory};
use lawson_cpu::team::Team;
use lawson_graph::{
    Bindings, Code, DType, Def, Error, Graph, GraphParts, HostTensor, Place, Result, Side, TensorType, Value,
    ValueId, ValueInfo, interp,
};
use lawson_kernel::compile::{Stage, compile_watched};
use lawson_kernel::{Plan, ValuePort};
use std::sync::Arc;
use std::time::Instant;

/// Machine code and the threads that run it.
pub(crate) struct CpuProgram {
    executable: Arc<Executable>,
    team: Team,
    signature: Arc<Signature>,
    isa: Isa,
}

/// Machine code whose constants are those of the graph.
pub(crate) struct Unpacked {
    code: executable::Unpacked,
    signature: Signature,
    isa: Isa,
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

/// What a session runs with, made for the sizes of its last run.
#[derive(Debug)]
pub(crate) struct CpuSession {
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
}

impl Times<'_> {
    pub(crate) const ONCE: Times<'static> = Times { times: 1, feeds: &[] };
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
    pub(crate) fn standard(graph: &Graph, isa: Isa, times: &mut CompileTimes) -> Result<Unpacked> {
        let operators = |made: &Unpacked| made.code.plan().operators();
        let make = |graph: &Graph, times: &mut CompileTimes| Unpacked::new(graph, isa, times);
        super::standard(graph, isa, times, make, operators).map(|(_, code)| code)
    }

    /// The code of a graph as it is.
    pub(crate) fn new(graph: &Graph, isa: Isa, times: &mut CompileTimes) -> Result<Unpacked> {
        let machine = isa.of(&lawson_cpu::host::machine());
        let mut lap = Instant::now();
        let plan = compile_watched(graph, &machine, &mut |stage| {
            let now = Instant::now();
            let took = now - std::mem::replace(&mut lap, now);
            match stage {
                Stage::Partition => times.partition += took,
                Stage::Schedule => times.schedule += took,
            }
        })?;
        let signature = Signature::new(graph, &plan);
        let start = Instant::now();
        let code = executable::Unpacked::new(plan, graph.inputs().len(), graph.outputs().len(), isa)?;
        times.emit += start.elapsed();
        Ok(Unpacked { code, signature, isa })
    }

    /// Lays out the constants, and lets go of those of the graph.
    pub(crate) fn pack(self, team: Option<Team>) -> Result<CpuProgram> {
        let team = match team {
            Some(team) => team,
            None => {
                let members = std::thread::available_parallelism().map_or(1, |n| n.get());
                Team::new(members).map_err(|e| Error::new(Code::Budget, format!("threads: {e}")))?
            }
        };
        let executable = Arc::new(self.code.pack(&team)?);
        Ok(CpuProgram { executable, team, signature: Arc::new(self.signature), isa: self.isa })
    }
}

impl CpuProgram {
    /// The same code and constants with another team.
    pub(crate) fn with_team(&self, team: Team) -> CpuProgram {
        let CpuProgram { executable, signature, isa, .. } = self;
        CpuProgram { executable: executable.clone(), team, signature: signature.clone(), isa: *isa }
    }

    /// Runs each step by itself so many times; gives the seconds of each, by round.
    pub(crate) fn profile(
        &self,
        session: &mut Option<CpuSession>,
        inputs: &[Value],
        rounds: usize,
        budget: &Budget,
    ) -> Result<Vec<Vec<f64>>> {
        let session = self.fit_all(session, inputs, budget)?;
        let mut outputs = Vec::new();
        for size in &session.outputs {
            let bytes = size.as_ref().and_then(|(d, n)| d.bytes_for(n.iter().product())).unwrap_or(0);
            let memory = Memory::zeroed(bytes.max(1)).map_err(|e| Error::new(Code::Budget, e.to_string()))?;
            outputs.push((memory, bytes));
        }
        let mut all = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let mut seconds = vec![0.0; self.plan().steps.len()];
            let taken = outputs.iter_mut().map(|(m, n)| &mut m.as_mut_slice()[..*n]);
            session.instance.profile(inputs.iter().map(bytes_of), taken, &mut seconds, &budget.options)?;
            all.push(seconds);
        }
        Ok(all)
    }

    pub(crate) fn plan(&self) -> &Plan {
        self.executable.plan()
    }

    pub(crate) fn isa(&self) -> Isa {
        self.isa
    }

    /// Makes the session fit these inputs.
    fn fit<'s, 'a>(
        &self,
        session: &'s mut Option<CpuSession>,
        inputs: impl ExactSizeIterator<Item = (DType, &'a [usize])> + Clone,
        budget: &Budget,
    ) -> Result<&'s mut CpuSession> {
        let fits = |s: &CpuSession| {
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
        session: &'s mut Option<CpuSession>,
        inputs: &[Value],
        budget: &Budget,
    ) -> Result<&'s mut CpuSession> {
        let bindings = interp::bind(&self.signature.inputs, inputs)?;
        if !session.as_ref().is_some_and(|s| s.bindings.iter().eq(bindings.iter())) {
            *session = Some(self.session(Vec::new(), bindings, budget)?);
        }
        session.as_mut().ok_or_else(|| Error::internal("a session without an instance"))
    }

    /// Makes the session fit these values, and gives it those that have no bytes.
    fn fit_all<'s>(
        &self,
        session: &'s mut Option<CpuSession>,
        inputs: &[Value],
        budget: &Budget,
    ) -> Result<&'s mut CpuSession> {
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

    fn session(
        &self,
        inputs: Vec<(DType, Vec<usize>)>,
        bindings: Bindings,
        budget: &Budget,
    ) -> Result<CpuSession> {
        let mut outputs = Vec::new();
        for (_, ty) in &self.signature.outputs {
            outputs.push(match ty {
                Some(ty) => Some((ty.dtype, bindings.eval_shape(&ty.shape)?)),
                None => None,
            });
        }
        let bytes = self.executable.bytes(&bindings, &self.team)?;
        if let Some(limit) = budget.max_bytes.or_else(memory::available).filter(|limit| bytes > *limit) {
            let message = format!("a run of these sizes takes {bytes} bytes, of {limit}");
            let help = "raise `max_bytes`, or give smaller inputs";
            return Err(Error::new(Code::Budget, message).help(help));
        }
        let instance = self.executable.instance(&bindings, &self.team)?;
        Ok(CpuSession { inputs, bindings, outputs, instance })
    }

    pub(crate) fn run_values(
        &self,
        session: &mut Option<CpuSession>,
        inputs: &[Value],
        times: Times<'_>,
        budget: &Budget,
    ) -> Result<Vec<Value>> {
        let session = self.fit_all(session, inputs, budget)?;
        let size = |o: &Option<(DType, Vec<usize>)>| {
            o.as_ref().and_then(|(d, n)| d.bytes_for(n.iter().product())).unwrap_or(0)
        };
        let mut results: Vec<Vec<u8>> =
            session.outputs.iter().map(|o| zeros(size(o))).collect::<Result<_>>()?;
        let given = inputs.iter().map(bytes_of);
        let taken = results.iter_mut().map(Vec::as_mut_slice);
        match times {
            Times { times: 1, .. } => session.instance.run(given, taken, &budget.options)?,
            Times { times, feeds } => {
                session.instance.run_loop(given, taken, times, feeds, &budget.options)?
            }
        }
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
        session: &mut Option<CpuSession>,
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
        let session = self.fit(session, inputs.iter().map(|v| (v.dtype(), v.sizes())), budget)?;
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
        match times {
            Times { times: 1, .. } => session.instance.run(given, taken, &budget.options)?,
            Times { times, feeds } => {
                session.instance.run_loop(given, taken, times, feeds, &budget.options)?
            }
        }
        Ok(Ran::Yes)
    }
}

//! Programs on the CPU target: compiling a graph to machine code, and running that in a session.
//!
//! Comes in: a graph after its passes; goes out: a [`CpuProgram`] that sessions share, in two steps, so that the graph can be
//! dropped before its constants are laid out. What depends on sizes is a
//! [`CpuSession`], made anew when the sizes of the inputs are not those of the last run. The code itself is made and run by
//! `lawson_cpu::executable`.

use super::Ran;
use crate::program::CompileTimes;
use crate::view::{TensorView, TensorViewMut};
use lawson_cpu::executable::{self, Executable, Instance};
use lawson_cpu::memory::Memory;
use lawson_cpu::team::Team;
use lawson_graph::{
    Code, DType, Def, Error, Graph, GraphParts, HostTensor, Place, Result, Side, TensorType, Type, Value,
    ValueId, ValueInfo, interp,
};
use lawson_kernel::Plan;
use lawson_kernel::compile::{Stage, compile_watched};
use std::sync::Arc;
use std::time::Instant;

/// Machine code and the threads that run it.
pub(crate) struct CpuProgram {
    executable: Arc<Executable>,
    team: Team,
    signature: Arc<Signature>,
}

/// Machine code whose constants are those of the graph.
pub(crate) struct Unpacked {
    code: executable::Unpacked,
    signature: Signature,
}

/// What is left of the graph: it has the constants, which must not stay.
struct Signature {
    /// A graph of the same inputs and facts, without nodes.
    inputs: Graph,
    outputs: Vec<(String, TensorType)>,
}

/// What a session runs with, made for the sizes of its last run.
#[derive(Debug)]
pub(crate) struct CpuSession {
    inputs: Vec<(DType, Vec<usize>)>,
    outputs: Vec<(DType, Vec<usize>)>,
    instance: Instance,
}

impl Signature {
    fn new(graph: &Graph) -> Result<Signature> {
        let values = graph.inputs().iter().enumerate().map(|(n, v)| ValueInfo {
            def: Def::Input(n),
            name: Some(graph.value_name(*v).into()),
            ..graph.value(*v).clone()
        });
        let mut outputs = Vec::new();
        for o in graph.outputs() {
            let Type::Tensor(ty) = graph.ty(o.value) else {
                return Err(Error::internal("an output that is not a tensor was compiled"));
            };
            outputs.push((o.name.clone(), ty.clone()));
        }
        let inputs = Graph::from_parts(GraphParts {
            name: graph.name().to_string(),
            facts: graph.facts().clone(),
            values: values.collect(),
            nodes: Vec::new(),
            inputs: (0..graph.inputs().len()).map(ValueId::new).collect(),
            outputs: Vec::new(),
        });
        Ok(Signature { inputs, outputs })
    }
}

impl Unpacked {
    /// The code of a graph after the standard passes of this target.
    pub(crate) fn standard(graph: &Graph, times: &mut CompileTimes) -> Result<Unpacked> {
        super::standard(graph, times, Unpacked::new).map(|(_, code)| code)
    }

    /// The code of a graph as it is.
    pub(crate) fn new(graph: &Graph, times: &mut CompileTimes) -> Result<Unpacked> {
        if let Some(feature) = lawson_cpu::host::missing_feature() {
            let message = format!("the CPU target needs {feature}, which this processor does not have");
            return Err(Error::new(Code::NotLowered, message).help("compile for the reference target"));
        }
        let machine = lawson_cpu::host::machine();
        let mut lap = Instant::now();
        let plan = compile_watched(graph, &machine, &mut |stage| {
            let now = Instant::now();
            let took = now - std::mem::replace(&mut lap, now);
            match stage {
                Stage::Partition => times.partition += took,
                Stage::Schedule => times.schedule += took,
            }
        })?;
        let start = Instant::now();
        let code = executable::Unpacked::new(plan, graph.inputs().len(), graph.outputs().len())?;
        times.emit += start.elapsed();
        Ok(Unpacked { code, signature: Signature::new(graph)? })
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
        Ok(CpuProgram { executable, team, signature: Arc::new(self.signature) })
    }
}

impl CpuProgram {
    /// The same code and constants with another team.
    pub(crate) fn with_team(&self, team: Team) -> CpuProgram {
        CpuProgram { executable: self.executable.clone(), team, signature: self.signature.clone() }
    }

    pub(crate) fn plan(&self) -> &Plan {
        self.executable.plan()
    }

    /// Makes the session fit these inputs.
    fn fit<'s, 'a>(
        &self,
        session: &'s mut Option<CpuSession>,
        inputs: impl ExactSizeIterator<Item = (DType, &'a [usize])> + Clone,
    ) -> Result<&'s mut CpuSession> {
        let fits = |s: &CpuSession| {
            s.inputs.len() == inputs.len()
                && s.inputs.iter().zip(inputs.clone()).all(|((d, n), (e, m))| *d == e && *n == m)
        };
        if !session.as_ref().is_some_and(fits) {
            let bindings = interp::bind_sizes(&self.signature.inputs, inputs.clone())?;
            let mut outputs = Vec::new();
            for (_, ty) in &self.signature.outputs {
                outputs.push((ty.dtype, bindings.eval_shape(&ty.shape)?));
            }
            let instance = self.executable.instance(&bindings, &self.team)?;
            let inputs = inputs.map(|(d, n)| (d, n.to_vec())).collect();
            *session = Some(CpuSession { inputs, outputs, instance });
        }
        session.as_mut().ok_or_else(|| Error::internal("a session without an instance"))
    }

    /// Runs each step by itself so many times; gives the seconds of each, by round.
    pub(crate) fn profile(
        &self,
        session: &mut Option<CpuSession>,
        inputs: &[Value],
        rounds: usize,
    ) -> Result<Vec<Vec<f64>>> {
        let tensors: Vec<&HostTensor> = inputs.iter().filter_map(Value::as_tensor).collect();
        let session = self.fit(session, tensors.iter().map(|t| (t.dtype(), t.sizes())))?;
        let mut outputs = Vec::new();
        for (d, n) in &session.outputs {
            let bytes = d.bytes_for(n.iter().product()).unwrap_or(0);
            let memory = Memory::zeroed(bytes.max(1)).map_err(|e| Error::new(Code::Budget, e.to_string()))?;
            outputs.push((memory, bytes));
        }
        let mut all = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let mut seconds = vec![0.0; self.plan().steps.len()];
            let given = tensors.iter().map(|t| &t.bytes()[..]);
            let taken = outputs.iter_mut().map(|(m, n)| &mut m.as_mut_slice()[..*n]);
            session.instance.profile(given, taken, &mut seconds)?;
            all.push(seconds);
        }
        Ok(all)
    }

    pub(crate) fn run_values(
        &self,
        session: &mut Option<CpuSession>,
        inputs: &[Value],
    ) -> Result<Vec<Value>> {
        let graph = &self.signature.inputs;
        let mut tensors: Vec<&HostTensor> = Vec::with_capacity(inputs.len());
        for (v, id) in inputs.iter().zip(graph.inputs()) {
            let place = || Place::Port { side: Side::Input, name: graph.value_name(*id) };
            let wrong = || Error::new(Code::InputType, "the input is not a tensor").at(place());
            tensors.push(v.as_tensor().ok_or_else(wrong)?);
        }
        let session = self.fit(session, tensors.iter().map(|t| (t.dtype(), t.sizes())))?;
        let mut results: Vec<Vec<u8>> = session
            .outputs
            .iter()
            .map(|(d, n)| vec![0u8; d.bytes_for(n.iter().product()).unwrap_or(0)])
            .collect();
        session
            .instance
            .run(tensors.iter().map(|t| &t.bytes()[..]), results.iter_mut().map(Vec::as_mut_slice))?;
        session
            .outputs
            .iter()
            .zip(results)
            .map(|((d, n), b)| Ok(HostTensor::from_bytes(*d, n, b)?.into()))
            .collect()
    }

    /// Runs on views; allocates nothing if the sizes are those of the last run.
    pub(crate) fn run_views(
        &self,
        session: &mut Option<CpuSession>,
        inputs: &[TensorView<'_>],
        outputs: &mut [TensorViewMut<'_>],
    ) -> Result<Ran> {
        let contiguous = inputs.iter().all(|v| v.contiguous().is_some())
            && outputs.iter_mut().all(|v| v.contiguous().is_some());
        if !contiguous {
            return Ok(Ran::No);
        }
        let session = self.fit(session, inputs.iter().map(|v| (v.dtype(), v.sizes())))?;
        let named = outputs.iter().zip(&self.signature.outputs);
        for ((d, n), (v, (name, _))) in session.outputs.iter().zip(named) {
            v.check(*d, n).map_err(|e| e.at(Place::Port { side: Side::Output, name: name.clone() }))?;
        }
        let given = inputs.iter().filter_map(TensorView::contiguous);
        let taken = outputs.iter_mut().filter_map(TensorViewMut::contiguous);
        session.instance.run(given, taken)?;
        Ok(Ran::Yes)
    }
}

//! Programs on the CPU target: compiling a graph to machine code, and running that in a session.
//!
//! Comes in: a graph after its passes; goes out: a [`CpuProgram`] that sessions share. What depends on sizes is a
//! [`CpuSession`], made anew when the sizes of the inputs are not those of the last run. The code itself is made and run by
//! `lawson_cpu::executable`.

use super::Ran;
use crate::view::{TensorView, TensorViewMut};
use lawson_cpu::executable::{Executable, Instance};
use lawson_cpu::team::Team;
use lawson_graph::{Code, DType, Error, Graph, HostTensor, Place, Result, Side, Type, Value, interp};
use lawson_kernel::Plan;
use std::sync::Arc;

/// Machine code and the threads that run it.
pub(crate) struct CpuProgram {
    executable: Arc<Executable>,
    team: Team,
}

/// What a session runs with, made for the sizes of its last run.
#[derive(Debug)]
pub(crate) struct CpuSession {
    inputs: Vec<(DType, Vec<usize>)>,
    outputs: Vec<(DType, Vec<usize>)>,
    instance: Instance,
}

impl CpuProgram {
    /// The graph after the standard passes of this target, and its code.
    pub(crate) fn standard(graph: &Graph, team: Option<Team>) -> Result<(Graph, CpuProgram)> {
        super::standard(graph, |graph| CpuProgram::compile(graph, team.clone()))
    }

    pub(crate) fn compile(graph: &Graph, team: Option<Team>) -> Result<CpuProgram> {
        if let Some(feature) = lawson_cpu::host::missing_feature() {
            let message = format!("the CPU target needs {feature}, which this processor does not have");
            return Err(Error::new(Code::NotLowered, message).help("compile for the reference target"));
        }
        let machine = lawson_cpu::host::machine();
        let plan = lawson_kernel::compile::compile(graph, &machine)?;
        let executable = Arc::new(Executable::new(plan, graph.inputs().len(), graph.outputs().len())?);
        let team = match team {
            Some(team) => team,
            None => {
                let members = std::thread::available_parallelism().map_or(1, |n| n.get());
                Team::new(members).map_err(|e| Error::new(Code::Budget, format!("threads: {e}")))?
            }
        };
        Ok(CpuProgram { executable, team })
    }

    pub(crate) fn plan(&self) -> &Plan {
        self.executable.plan()
    }

    /// Makes the session fit these inputs.
    fn fit<'s, 'a>(
        &self,
        graph: &Graph,
        session: &'s mut Option<CpuSession>,
        inputs: impl ExactSizeIterator<Item = (DType, &'a [usize])> + Clone,
    ) -> Result<&'s mut CpuSession> {
        let fits = |s: &CpuSession| {
            s.inputs.len() == inputs.len()
                && s.inputs.iter().zip(inputs.clone()).all(|((d, n), (e, m))| *d == e && *n == m)
        };
        if !session.as_ref().is_some_and(fits) {
            let bindings = interp::bind_sizes(graph, inputs.clone())?;
            let mut outputs = Vec::new();
            for o in graph.outputs() {
                let Type::Tensor(ty) = graph.ty(o.value) else {
                    return Err(Error::internal("an output that is not a tensor was compiled"));
                };
                outputs.push((ty.dtype, bindings.eval_shape(&ty.shape)?));
            }
            let instance = self.executable.instance(&bindings, &self.team)?;
            let inputs = inputs.map(|(d, n)| (d, n.to_vec())).collect();
            *session = Some(CpuSession { inputs, outputs, instance });
        }
        session.as_mut().ok_or_else(|| Error::internal("a session without an instance"))
    }

    pub(crate) fn run_values(
        &self,
        graph: &Graph,
        session: &mut Option<CpuSession>,
        inputs: &[Value],
    ) -> Result<Vec<Value>> {
        let mut tensors: Vec<&HostTensor> = Vec::with_capacity(inputs.len());
        for (v, id) in inputs.iter().zip(graph.inputs()) {
            let place = || Place::Port { side: Side::Input, name: graph.value_name(*id) };
            let wrong = || Error::new(Code::InputType, "the input is not a tensor").at(place());
            tensors.push(v.as_tensor().ok_or_else(wrong)?);
        }
        let session = self.fit(graph, session, tensors.iter().map(|t| (t.dtype(), t.sizes())))?;
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
        graph: &Graph,
        session: &mut Option<CpuSession>,
        inputs: &[TensorView<'_>],
        outputs: &mut [TensorViewMut<'_>],
    ) -> Result<Ran> {
        let contiguous = inputs.iter().all(|v| v.contiguous().is_some())
            && outputs.iter_mut().all(|v| v.contiguous().is_some());
        if !contiguous {
            return Ok(Ran::No);
        }
        let session = self.fit(graph, session, inputs.iter().map(|v| (v.dtype(), v.sizes())))?;
        for (((d, n), v), output) in session.outputs.iter().zip(outputs.iter()).zip(graph.outputs()) {
            v.check(*d, n)
                .map_err(|e| e.at(Place::Port { side: Side::Output, name: output.name.clone() }))?;
        }
        let given = inputs.iter().filter_map(TensorView::contiguous);
        let taken = outputs.iter_mut().filter_map(TensorViewMut::contiguous);
        session.instance.run(given, taken)?;
        Ok(Ran::Yes)
    }
}

//! The CPU target where there is none: every program is refused, so none is ever run.

use super::Ran;
use crate::program::CompileTimes;
use crate::view::{TensorView, TensorViewMut};
use lawson_cpu::team::Team;
use lawson_graph::{Code, Error, Graph, Result, Value};
use lawson_kernel::Plan;

/// There is no such program.
pub(crate) enum CpuProgram {}

/// There is no such session.
#[derive(Debug)]
pub(crate) enum CpuSession {}

/// There is no such code.
pub(crate) enum Unpacked {}

impl Unpacked {
    pub(crate) fn standard(graph: &Graph, times: &mut CompileTimes) -> Result<Unpacked> {
        Unpacked::new(graph, times)
    }

    pub(crate) fn new(_graph: &Graph, _times: &mut CompileTimes) -> Result<Unpacked> {
        Err(Error::new(Code::NotLowered, "the CPU target runs on x86-64 under Unix only")
            .help("compile for the reference target"))
    }

    pub(crate) fn pack(self, _team: Option<Team>) -> Result<CpuProgram> {
        match self {}
    }
}

impl CpuProgram {
    pub(crate) fn with_team(&self, _team: Team) -> CpuProgram {
        match *self {}
    }

    pub(crate) fn plan(&self) -> &Plan {
        match *self {}
    }

    pub(crate) fn profile(
        &self,
        _session: &mut Option<CpuSession>,
        _inputs: &[Value],
        _rounds: usize,
    ) -> Result<Vec<Vec<f64>>> {
        match *self {}
    }

    pub(crate) fn run_values(
        &self,
        _session: &mut Option<CpuSession>,
        _inputs: &[Value],
    ) -> Result<Vec<Value>> {
        match *self {}
    }

    pub(crate) fn run_views(
        &self,
        _session: &mut Option<CpuSession>,
        _inputs: &[TensorView<'_>],
        _outputs: &mut [TensorViewMut<'_>],
    ) -> Result<Ran> {
        match *self {}
    }
}

//! Cases in files: the graph as text, its inputs beside it.

use super::Case;
use lawson_graph::file::write_whole;
use lawson_graph::{Code, Error, HostTensor, Result, Value, interp, read_law};
use std::io::Write;
use std::path::Path;

impl Case {
    /// Writes the graph to a `.law` file, under a head of comment lines, and the inputs by name to an `.npz` file. Inputs that are no tensors
    /// cannot be written.
    pub fn write(&self, law: &Path, npz: &Path, head: &str) -> Result<()> {
        let mut named: Vec<(String, crate::Tensor)> = Vec::new();
        for (v, value) in self.graph.inputs().iter().zip(&self.inputs) {
            let tensor: Option<&HostTensor> = value.as_tensor();
            let name = self.graph.value_name(*v);
            let wrong = || Error::new(Code::OperandKind, format!("the input `{name}` is not a tensor"));
            named.push((name.clone(), tensor.cloned().ok_or_else(wrong)?.into()));
        }
        crate::npy::write_npz(npz, named.iter().map(|(n, t)| (n.as_str(), t)))?;
        let comment: String = head.lines().map(|l| format!("// {l}\n")).collect();
        write_whole(law, |file| {
            write!(file, "{comment}{}", self.graph)
                .map_err(|e| Error::new(Code::Io, format!("cannot write: {e}")))
        })
    }

    /// Reads what [`Case::write`] wrote.
    pub fn read(law: &Path, npz: &Path) -> Result<Case> {
        let graph = read_law(law)?;
        let names: Vec<String> = graph.inputs().iter().map(|v| graph.value_name(*v)).collect();
        let dtype = |name: &str| {
            let at = names.iter().position(|n| n == name)?;
            graph.ty(graph.inputs()[at]).as_tensor().map(|t| t.dtype)
        };
        let mut all = crate::npy::read_npz(npz, dtype)?;
        let mut inputs: Vec<Value> = Vec::new();
        for name in &names {
            let at = all.iter().position(|(n, _)| n == name).ok_or_else(|| {
                Error::new(Code::InputMissing, format!("the input `{name}` was not given"))
                    .at(lawson_graph::Place::File(npz.display().to_string()))
            })?;
            inputs.push(all.swap_remove(at).1.into());
        }
        interp::bind(&graph, &inputs)?;
        Ok(Case { graph, inputs })
    }
}

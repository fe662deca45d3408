//! A case: a problem by name, with what it is measured by; a problem: graphs, inputs, and what the results must be.
//!
//! In: what `work/` describes; out: [`Instance`]s, compiled for a team, checked, ready to be timed. A case whose results are
//! wrong is an error, never a time.

use crate::Failure;
use lawson::graph::{Graph, interp};
use lawson::opt::Pipeline;
use lawson::{
    CompileOptions, Error, HostTensor, Passes, Program, Session, Target, Team, TensorView, TensorViewMut,
    Value,
};
use lawson_cpu::limits::Limit;
use lawson_cpu::memory::Memory;

/// Something to time.
pub struct Case {
    /// Its name, which `--filter` looks into.
    pub name: String,
    /// What one run counts for.
    pub work: Work,
    /// Makes the graphs and the data, which are large, when it is the case's turn.
    pub make: Make,
}

/// How the problem of a case is made.
pub type Make = Box<dyn Fn() -> Result<Problem, Failure>>;

/// Graphs and data.
pub struct Problem {
    /// What is run, one after another in turn: one graph, or several with weights of their own so that no cache holds all.
    pub graphs: Vec<Graph>,
    /// The inputs of every graph.
    pub inputs: Vec<HostTensor>,
    /// What the first graph's first output must be.
    pub check: Check,
    /// What is done to the graphs before they are compiled.
    pub passes: Passes,
}

/// What a run counts for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Work {
    /// Floating-point operations; the limit is that of multiply-adds.
    Flops(f64),
    /// Bytes that must be read or written, and what they are compared with.
    Bytes(f64, Limit),
    /// Nothing: only the time counts.
    Run,
}

/// What a part of the output must be: the box that begins at `start`.
pub struct Check {
    /// Where the box begins, along each axis; nothing for the beginning.
    pub start: Vec<usize>,
    /// Its elements.
    pub expected: Expected,
}

/// The elements of a check.
pub enum Expected {
    /// Those that a smaller graph gives in the reference interpreter, each with its certain bounds.
    Graph(Box<Graph>, Vec<HostTensor>),
    /// These, in a box of these sizes, each to within a part of the greatest.
    Near(Vec<usize>, Vec<f64>, f64),
}

/// What a check compares with, computed once for all teams: a box of these sizes.
pub enum Oracle {
    /// Ranges that hold every correct result.
    Bounded(Vec<usize>, Box<interp::Bounded>),
    /// As in [`Expected::Near`].
    Near(Vec<usize>, Vec<f64>, f64),
}

/// A case compiled for a team.
pub struct Instance {
    session: Session,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

struct Port {
    sizes: Vec<usize>,
    dtype: lawson::DType,
    bytes: usize,
    memory: Memory,
}

/// Room beyond the bounds for functions that are less accurate than correctly rounded ones.
const SLACK: f64 = 4.0;

impl Problem {
    /// What the results must be, computed.
    pub fn oracle(&self) -> Result<Oracle, Failure> {
        match &self.check.expected {
            Expected::Near(sizes, expected, tolerance) => {
                Ok(Oracle::Near(sizes.clone(), expected.clone(), *tolerance))
            }
            Expected::Graph(graph, inputs) => {
                let graph = Pipeline::standard().run(graph)?;
                let inputs: Vec<Value> = inputs.iter().cloned().map(Value::Tensor).collect();
                let options = interp::Options { max_bytes: 16 << 30, ..interp::Options::default() };
                let oracle = interp::run_bounded(&graph, &inputs, &options)?;
                let ty = graph.outputs().first().map(|o| graph.ty(o.value).clone());
                let shape = ty.as_ref().and_then(|t| t.as_tensor()).ok_or("an output is not a tensor")?;
                let sizes: Option<Vec<usize>> =
                    shape.shape.iter().map(|d| d.as_const().and_then(|n| usize::try_from(n).ok())).collect();
                let oracle = oracle.into_iter().next().ok_or("a graph without outputs")?;
                Ok(Oracle::Bounded(sizes.ok_or("a check of unknown size")?, Box::new(oracle)))
            }
        }
    }

    /// Compiles for a team and checks the results.
    pub fn instances(&self, team: &Team, oracle: &Oracle) -> Result<Vec<Instance>, Failure> {
        let mut all = Vec::with_capacity(self.graphs.len());
        for graph in &self.graphs {
            all.push(Instance::new(graph.clone(), &self.inputs, team, &self.passes)?);
        }
        for one in &mut all {
            one.run()?;
        }
        if let Some(first) = all.first() {
            first.check(&self.check.start, oracle)?;
        }
        Ok(all)
    }
}

impl Port {
    fn new(t: &HostTensor) -> Result<Port, Failure> {
        let mut memory = Memory::zeroed(t.bytes().len())?;
        memory.as_mut_slice().copy_from_slice(t.bytes());
        Ok(Port { sizes: t.sizes().to_vec(), dtype: t.dtype(), bytes: t.bytes().len(), memory })
    }
}

impl Instance {
    fn new(graph: Graph, inputs: &[HostTensor], team: &Team, passes: &Passes) -> Result<Instance, Failure> {
        let passes = passes.clone();
        let options = CompileOptions {
            target: Target::Cpu,
            team: Some(team.clone()),
            passes,
            ..CompileOptions::default()
        };
        let program = Program::compile(graph, &options)?;
        let mut session = program.session();
        let values: Vec<Value> = inputs.iter().cloned().map(Value::Tensor).collect();
        let mut outputs = Vec::new();
        for v in session.run_values(&values)? {
            outputs.push(Port::new(v.as_tensor().ok_or("an output is not a tensor")?)?);
        }
        // What the check sees must come from the run that is timed.
        for o in &mut outputs {
            o.memory.as_mut_slice().fill(0xFF);
        }
        let inputs = inputs.iter().map(Port::new).collect::<Result<_, _>>()?;
        Ok(Instance { session, inputs, outputs })
    }

    /// The compiled program.
    pub fn program(&self) -> &Program {
        self.session.program()
    }

    /// Runs once.
    pub fn run(&mut self) -> Result<(), Error> {
        self.with(|run| run())
    }

    /// Gives `work` a function that runs once and allocates nothing.
    pub fn with<T>(
        &mut self,
        work: impl FnOnce(&mut dyn FnMut() -> Result<(), Error>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let given = self.inputs.iter().map(|p| TensorView::new(p.dtype, &p.sizes, p.memory.as_slice()));
        let given = given.collect::<Result<Vec<_>, Error>>()?;
        let taken = self.outputs.iter_mut();
        let taken =
            taken.map(|p| TensorViewMut::new(p.dtype, &p.sizes, &mut p.memory.as_mut_slice()[..p.bytes]));
        let mut taken = taken.collect::<Result<Vec<_>, Error>>()?;
        let session = &mut self.session;
        work(&mut || session.run_into(&given, &mut taken))
    }

    fn check(&self, start: &[usize], oracle: &Oracle) -> Result<(), Failure> {
        let output = self.outputs.first().ok_or("a program without outputs")?;
        match oracle {
            Oracle::Bounded(sizes, bounded) => {
                let part = HostTensor::from_slice(sizes, &part(output, start, sizes)?)?;
                let found = interp::compare(bounded, &Value::Tensor(part), SLACK);
                if found.ok() && found.undetermined < found.compared.max(1) {
                    Ok(())
                } else {
                    Err(found.to_string().into())
                }
            }
            Oracle::Near(sizes, expected, tolerance) => {
                let found = part(output, start, sizes)?;
                let greatest = expected.iter().fold(0f64, |a, b| a.max(b.abs()));
                let differences = found.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs());
                // A NaN is worse than any number.
                let worst = differences.fold(0f64, |a, b| if b.is_nan() { f64::INFINITY } else { a.max(b) });
                if found.len() == expected.len() && worst <= tolerance * greatest {
                    return Ok(());
                }
                Err(format!("off by {worst:e} where the greatest element is {greatest:e}").into())
            }
        }
    }
}

/// The elements of a box of an output.
fn part(output: &Port, start: &[usize], sizes: &[usize]) -> Result<Vec<f32>, Failure> {
    let rank = output.sizes.len();
    let start: Vec<usize> = if start.is_empty() { vec![0; rank] } else { start.to_vec() };
    let inside = start.iter().zip(sizes).zip(&output.sizes).all(|((s, n), all)| s + n <= *all);
    if sizes.len() != rank || start.len() != rank || !inside {
        return Err(format!("a check of {sizes:?} at {start:?} in {:?}", output.sizes).into());
    }
    let bytes = output.memory.as_slice();
    let mut out = Vec::with_capacity(sizes.iter().product());
    let mut index = vec![0usize; rank];
    for _ in 0..sizes.iter().product() {
        let at = (0..rank).fold(0, |at, a| at * output.sizes[a] + start[a] + index[a]);
        let element = bytes.get(4 * at..4 * at + 4).and_then(|b| b.try_into().ok());
        out.push(f32::from_le_bytes(element.ok_or("an output that is too short")?));
        for a in (0..rank).rev() {
            index[a] += 1;
            if index[a] < sizes[a] {
                break;
            }
            index[a] = 0;
        }
    }
    Ok(out)
}

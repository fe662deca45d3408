//! `Session`: runs a program, one run at a time.
//!
//! Comes in: values for the inputs, in order or by name; goes out: values of the outputs. Types, sizes and the facts
//! about them are checked before anything is computed.

use crate::planned::{PlannedSessions, Ran, Times};
use crate::program::{Compiled, Port, Program};
use crate::repeated::{LoopPlan, feeds};
use crate::tensor::Tensor;
use crate::view::{TensorView, TensorViewMut};
use lawson_graph::{Code, Error, Place, Result, Side, Type, Value, interp, nearest};

/// Runs a program. It can be sent to another thread, and many of them can run one program at once.
#[derive(Debug)]
pub struct Session {
    program: Program,
    budget: Budget,
    /// What a compiled program runs with, for the sizes of the last run.
    planned: PlannedSessions,
}

/// What a run is given besides its inputs.
#[derive(Debug)]
pub(crate) struct Budget {
    /// What the interpreter is given.
    pub(crate) options: interp::Options,
    /// How many bytes a compiled program may take.
    pub(crate) max_bytes: Option<u64>,
    /// How loops of runs are handed over to a device.
    #[cfg(feature = "wgpu")]
    pub(crate) pace: lawson_wgpu::Pace,
}

/// How much a run may use before it is stopped with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many operators may be executed, each iteration of a loop counting.
    pub max_steps: u64,
    /// How many bytes of values may be alive at once. None: 2 GiB on the reference target, and on compiled targets what the
    /// system says that it has left.
    pub max_bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_steps: interp::Options::default().max_steps, max_bytes: None }
    }
}

impl Budget {
    fn times<'f>(&self, times: u64, feeds: &'f [(usize, usize)]) -> Times<'f> {
        Times {
            times,
            feeds,
            #[cfg(feature = "wgpu")]
            pace: self.pace,
            #[cfg(feature = "wgpu")]
            stride: None,
        }
    }
}

impl Session {
    pub(crate) fn new(program: Program) -> Session {
        #[cfg(feature = "onnx")]
        let options = interp::Options { host: lawson_onnx::host_functions(), ..interp::Options::default() };
        #[cfg(not(feature = "onnx"))]
        let options = interp::Options::default();
        let budget = Budget {
            options,
            max_bytes: None,
            #[cfg(feature = "wgpu")]
            pace: lawson_wgpu::Pace::default(),
        };
        Session { program, budget, planned: PlannedSessions::default() }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Sets how much a run may use. On compiled targets the limit of bytes holds for what a session keeps and the outputs, and
    /// again for each stage, whose sizes are found in the run, and each step that is left to the interpreter; the limit of steps, for those and for the iterations of loops that a
    /// condition ends.
    pub fn set_limits(&mut self, limits: Limits) {
        let options = &mut self.budget.options;
        options.max_steps = limits.max_steps;
        options.max_bytes = limits.max_bytes.unwrap_or(interp::Options::default().max_bytes);
        self.budget.max_bytes = limits.max_bytes;
        // Made under the limits of before.
        self.planned = PlannedSessions::default();
    }

    /// How many bytes it has for stages, whose sizes are found in a run, besides the arena of the plan: as many as the last run needed, or one before
    /// it that needed more. 0 on targets that have no stages.
    pub fn stage_bytes(&self) -> u64 {
        self.planned.stage_bytes() as u64
    }

    /// Sets how the iterations of [`Session::run_loop`] are handed over to a device. Results do not depend on it. With any but the default, an
    /// iteration is always a run with launches of its own ([`Session::whole_loop`]); that holds on the CPU target, too, and nothing else does.
    #[cfg(feature = "wgpu")]
    pub fn set_pace(&mut self, pace: lawson_wgpu::Pace) {
        self.budget.pace = pace;
    }

    /// Provides the functions that `host_call` operators name, instead of those of the ONNX front end.
    pub fn set_host_functions(&mut self, functions: interp::HostFunctions) {
        self.budget.options.host = functions;
    }

    /// Runs on tensors, one for each input, in order; gives one for each output.
    pub fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        self.check_outputs_are_tensors()?;
        let values = inputs.iter().map(|t| t.to_host().map(Value::Tensor)).collect::<Result<Vec<_>>>()?;
        let results = self.run_values(&values)?;
        self.program.outputs().iter().zip(results).map(|(port, value)| into_tensor(port, value)).collect()
    }

    /// Runs on tensors by name, in any order; gives those of the outputs with their names.
    ///
    /// ```
    /// # use lawson::{CompileOptions, Program, Tensor, graph::Graph};
    /// # let text = "lawson 1 graph @f(%a: i32[], %b: i32[]) -> (d: i32[]) { %d = sub %a, %b return %d }";
    /// # let program = Program::compile(Graph::parse(text)?, &CompileOptions::default())?;
    /// let (five, two) = (Tensor::scalar(5i32), Tensor::scalar(2i32));
    /// let outputs = program.session().run_named(&[("b", two), ("a", five)])?;
    /// assert_eq!(outputs, [("d".to_string(), Tensor::scalar(3i32))]);
    /// # Ok::<(), lawson::Error>(())
    /// ```
    pub fn run_named(&mut self, inputs: &[(&str, Tensor)]) -> Result<Vec<(String, Tensor)>> {
        let ports = self.program.inputs();
        let mut ordered: Vec<Option<&Tensor>> = vec![None; ports.len()];
        for (name, tensor) in inputs {
            let Some(at) = ports.iter().position(|p| p.name == *name) else {
                let error = Error::new(Code::UnknownName, format!("the program has no input `{name}`"));
                return Err(match nearest(name, ports.iter().map(|p| p.name.as_str())) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error,
                });
            };
            if ordered[at].replace(tensor).is_some() {
                return Err(Error::new(Code::DuplicateName, format!("the input `{name}` was given twice")));
            }
        }
        let ordered = ordered.into_iter().zip(ports).map(|(tensor, port)| {
            tensor.cloned().ok_or_else(|| {
                Error::new(Code::InputMissing, format!("the input `{}` was not given", port.name))
                    .at(place(Side::Input, port))
            })
        });
        let ordered = ordered.collect::<Result<Vec<_>>>()?;
        let results = self.run(&ordered)?;
        Ok(self.program.outputs().iter().map(|p| p.name.clone()).zip(results).collect())
    }

    /// Runs on values, which may be sequences and optionals too.
    pub fn run_values(&mut self, inputs: &[Value]) -> Result<Vec<Value>> {
        self.check_count(inputs.len())?;
        match self.program.code() {
            Compiled::Reference(graph) => interp::run(graph, inputs, &self.budget.options),
            Compiled::Planned(planned) => {
                planned.run_values(&mut self.planned, inputs, Times::ONCE, &self.budget)
            }
        }
    }

    /// Runs in the caller's memory: reads the inputs there and writes the outputs there. If there is an error,
    /// nothing is written, unless it is that a loop reached the limit of iterations.
    ///
    /// An output that lives in an input is written to its own view like any other; give that memory as the input of
    /// the next run.
    ///
    /// On the CPU target, views that are row-major and contiguous are read and written in place, at any alignment, and once a
    /// run has had the same sizes, the next one allocates nothing. Other views are copied, and so are all where steps are
    /// left to the host ([`Program::operators`]).
    ///
    /// ```
    /// # use lawson::{CompileOptions, DType, Program, TensorView, TensorViewMut, graph::Graph};
    /// # let text = "lawson 1 graph @f(%x: u8[N]) -> (y: u8[N]) { %y = add %x, %x return %y }";
    /// # let program = Program::compile(Graph::parse(text)?, &CompileOptions::default())?;
    /// let (x, mut y) = ([1u8, 2, 3], [0u8; 3]);
    /// program.session().run_into(
    ///     &[TensorView::new(DType::U8, &[3], &x)?],
    ///     &mut [TensorViewMut::new(DType::U8, &[3], &mut y)?],
    /// )?;
    /// assert_eq!(y, [2, 4, 6]);
    /// # Ok::<(), lawson::Error>(())
    /// ```
    pub fn run_into(&mut self, inputs: &[TensorView<'_>], outputs: &mut [TensorViewMut<'_>]) -> Result<()> {
        self.check_count(inputs.len())?;
        self.check_views(outputs.len())?;
        if let Compiled::Planned(planned) = self.program.code()
            && planned.run_views(&mut self.planned, inputs, outputs, Times::ONCE, &self.budget)? == Ran::Yes
        {
            return Ok(());
        }
        let inputs = inputs.iter().map(TensorView::to_tensor).collect::<Result<Vec<_>>>()?;
        let results = self.run(&inputs)?;
        self.write(&results, outputs)
    }

    /// Runs so many times; before every run but the first, inputs get what outputs of the run before gave. Gives the
    /// outputs of the last run.
    ///
    /// Which outputs become which inputs the signature says ([`Port::lives_in`]); if no output says so, those that have the
    /// type of the input at their place do. On the CPU target the team goes through all runs in one call, on a device they are one submission; if
    /// the program works on elements that do not need each other, all runs are one kernel, made when it is first asked for, in which the state of an
    /// element stays in registers ([`Session::whole_loop`]). Results are the same, bit by bit.
    ///
    /// ```
    /// # use lawson::{CompileOptions, Program, Tensor, graph::Graph};
    /// # let text = "lawson 1 graph @f(%x: f32[N], %d: f32[N]) -> (next: f32[N]) { %y = add %x, %d return %y }";
    /// # let program = Program::compile(Graph::parse(text)?, &CompileOptions::default())?;
    /// let (x, step) = (Tensor::from_slice(&[2], &[0f32, 1.0])?, Tensor::from_slice(&[2], &[0.5f32, 2.0])?);
    /// let last = program.session().run_loop(&[x, step], 10)?;
    /// assert_eq!(last[0].to_vec::<f32>()?, [5.0, 21.0]);
    /// # Ok::<(), lawson::Error>(())
    /// ```
    pub fn run_loop(&mut self, inputs: &[Tensor], times: u64) -> Result<Vec<Tensor>> {
        self.check_outputs_are_tensors()?;
        let values = inputs.iter().map(|t| t.to_host().map(Value::Tensor)).collect::<Result<Vec<_>>>()?;
        let results = self.run_loop_values(&values, times)?;
        self.program.outputs().iter().zip(results).map(|(port, value)| into_tensor(port, value)).collect()
    }

    /// As [`Session::run_loop`], on values.
    pub fn run_loop_values(&mut self, inputs: &[Value], times: u64) -> Result<Vec<Value>> {
        self.check_count(inputs.len())?;
        let feeds = self.feeds(times)?;
        match self.program.code() {
            Compiled::Reference(graph) => {
                let mut given = inputs.to_vec();
                let mut results = interp::run(graph, &given, &self.budget.options)?;
                for _ in 1..times {
                    for (output, input) in &feeds {
                        given[*input] = results[*output].clone();
                    }
                    results = interp::run(graph, &given, &self.budget.options)?;
                }
                Ok(results)
            }
            Compiled::Planned(planned) => {
                planned.run_values(&mut self.planned, inputs, self.budget.times(times, &feeds), &self.budget)
            }
        }
    }

    /// As [`Session::run_loop`], in the caller's memory, as [`Session::run_into`]: the inputs are only read, and the outputs
    /// are those of the last run.
    pub fn run_loop_into(
        &mut self,
        inputs: &[TensorView<'_>],
        outputs: &mut [TensorViewMut<'_>],
        times: u64,
    ) -> Result<()> {
        self.check_count(inputs.len())?;
        self.check_views(outputs.len())?;
        let feeds = self.feeds(times)?;
        if let Compiled::Planned(planned) = self.program.code()
            && let times = self.budget.times(times, &feeds)
            && planned.run_views(&mut self.planned, inputs, outputs, times, &self.budget)? == Ran::Yes
        {
            return Ok(());
        }
        let inputs = inputs.iter().map(TensorView::to_tensor).collect::<Result<Vec<_>>>()?;
        let results = self.run_loop(&inputs, times)?;
        self.write(&results, outputs)
    }

    /// What a loop of so many runs is, for the sizes of the last loop: the plan in which the state of elements stays in registers. `None` if the last
    /// loop had another number of runs, or was one run after another ([`Program::plan`]).
    ///
    /// ```
    /// # use lawson::{CompileOptions, Program, Tensor, graph::Graph};
    /// # let text = "lawson 1 graph @f(%x: f32[N]) -> (next: f32[N]) { %y = sin %x return %y }";
    /// # let program = Program::compile(Graph::parse(text)?, &CompileOptions::default())?;
    /// let mut session = program.session();
    /// session.run_loop(&[Tensor::from_slice(&[2], &[1f32, 2.0])?], 100)?;
    /// if let Some(whole) = session.whole_loop(100) {
    ///     assert_eq!((whole.plan.steps.len(), whole.runs), (1, 1));
    /// }
    /// # Ok::<(), lawson::Error>(())
    /// ```
    pub fn whole_loop(&self, times: u64) -> Option<LoopPlan<'_>> {
        match self.program.code() {
            Compiled::Reference(_) => None,
            Compiled::Planned(planned) => planned.whole_loop(&self.planned, self.budget.times(times, &[])),
        }
    }

    /// Which outputs become which inputs.
    fn feeds(&self, times: u64) -> Result<Vec<(usize, usize)>> {
        if times == 0 {
            return Err(
                Error::new(Code::Usage, "a loop of 0 runs has no outputs").help("run it once or more")
            );
        }
        let feeds = feeds(self.program.inputs(), self.program.outputs());
        if feeds.is_empty() && times > 1 {
            let help = "say with `in %input` which outputs are state, or run it once";
            return Err(Error::new(Code::Usage, "no output of the program can become an input").help(help));
        }
        Ok(feeds)
    }

    fn check_views(&self, outputs: usize) -> Result<()> {
        let ports = self.program.outputs();
        if outputs == ports.len() {
            return Ok(());
        }
        let message = format!("the program has {} outputs, but there are {outputs} views", ports.len());
        Err(Error::new(Code::InputMissing, message))
    }

    fn write(&self, results: &[Tensor], outputs: &mut [TensorViewMut<'_>]) -> Result<()> {
        for ((view, tensor), port) in outputs.iter().zip(results).zip(self.program.outputs()) {
            view.check(tensor.dtype(), tensor.sizes()).map_err(|e| e.at(place(Side::Output, port)))?;
        }
        outputs.iter_mut().zip(results).try_for_each(|(view, tensor)| view.copy_from(tensor))
    }

    /// Runs a compiled program step by step, so many times; gives for each round the seconds of every step of
    /// [`Program::plan`]. `None` on the reference target, which has no steps.
    ///
    /// Each step waits for the one before it, so that the sum is more than a run takes.
    pub fn time_steps(&mut self, inputs: &[Value], rounds: usize) -> Result<Option<Vec<Vec<f64>>>> {
        self.check_count(inputs.len())?;
        // This checks the inputs, too.
        self.run_values(inputs)?;
        match self.program.code() {
            Compiled::Reference(_) => Ok(None),
            Compiled::Planned(planned) => {
                planned.profile(&mut self.planned, inputs, rounds, &self.budget).map(Some)
            }
        }
    }

    fn check_count(&self, inputs: usize) -> Result<()> {
        let expected = self.program.inputs();
        if inputs == expected.len() {
            return Ok(());
        }
        let names: Vec<&str> = expected.iter().map(|p| p.name.as_str()).collect();
        let message = format!("the program takes {} inputs, but {inputs} came", expected.len());
        Err(Error::new(Code::InputMissing, message).help(format!("the inputs are: {}", names.join(", "))))
    }

    fn check_outputs_are_tensors(&self) -> Result<()> {
        let other = self.program.outputs().iter().find(|p| !matches!(p.ty, Type::Tensor(_)));
        other.map_or(Ok(()), |port| Err(not_a_tensor(port)))
    }
}

fn into_tensor(port: &Port, value: Value) -> Result<Tensor> {
    match value {
        Value::Tensor(t) => Ok(t.into()),
        _ => Err(not_a_tensor(port)),
    }
}

fn not_a_tensor(port: &Port) -> Error {
    Error::new(Code::OperandKind, format!("the output `{}` is {}, not a tensor", port.name, port.ty))
        .at(place(Side::Output, port))
        .help("use `run_values`")
}

fn place(side: Side, port: &Port) -> Place {
    Place::Port { side, name: port.name.clone() }
}

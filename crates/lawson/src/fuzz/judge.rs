//! Holding a target against the oracle, one graph at a time.

use super::Cases;
use crate::cpu::Isa;
use crate::program::{CompileOptions, Passes, Program, Target};
use crate::reduce::Case;
use lawson_cpu::team::Team;
use lawson_graph::{Code, Error, Graph, GraphParts, Output, Result, Value, interp};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What is wrong with what a target did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Failure {
    /// A result lies outside of its bounds.
    Wrong {
        /// The output.
        output: String,
        /// What was found.
        comparison: interp::Comparison,
    },
    /// Another number of threads gives other bits.
    Threads {
        /// The output.
        output: String,
        /// How many threads.
        threads: usize,
    },
    /// An internal error.
    Internal(Error),
    /// The target panicked, with this message.
    Panic(String),
    /// The target does not take a graph, and should.
    Refused(Error),
}

/// What two failures have in common if they are the same but for sizes and names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FailureKind(String);

/// What a judge says of a graph.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Verdict {
    /// All results are right.
    Fine {
        /// How many elements were compared.
        compared: u64,
        /// How many the oracle does not determine.
        undetermined: u64,
    },
    /// The target does not take the graph.
    Refused(Error),
    /// The oracle does not run the graph: it would take too long, or the inputs do not fit.
    Unknown(Error),
    /// Something is wrong, with this one of the runs.
    Failed {
        /// What.
        failure: Failure,
        /// Which run.
        run: usize,
    },
}

/// Compiles graphs for a target, runs them and compares.
#[derive(Debug)]
pub struct Judge {
    target: Target,
    isa: Option<Isa>,
    #[cfg(feature = "wgpu")]
    device: Option<lawson_wgpu::Device>,
    passes: Passes,
    teams: Vec<Team>,
    options: interp::Options,
    slack: f64,
    strict: bool,
}

/// How many times the oracle's bound a result may be off. Expansions of functions promise a few units in the last place, the
/// oracle allows half of one.
const SLACK: f64 = 4.0;
/// What the oracle may take: random graphs are small.
const STEPS: u64 = 300_000;
const BYTES: u64 = 256 << 20;

impl Failure {
    /// What kind of failure it is. Shrinking must not change it.
    pub fn kind(&self) -> FailureKind {
        // Numbers and names change while a graph shrinks.
        let plain = |text: &str| {
            let mut out = String::new();
            let mut quoted = false;
            for c in text.chars() {
                match c {
                    '`' => quoted = !quoted,
                    c if quoted || c.is_ascii_digit() => {}
                    c => out.push(c),
                }
            }
            out
        };
        FailureKind(match self {
            Failure::Wrong { comparison, .. } if comparison.fault.is_some() => "wrong type".to_string(),
            Failure::Wrong { .. } => "wrong result".to_string(),
            Failure::Threads { .. } => "threads".to_string(),
            Failure::Internal(e) => format!("internal error {}: {}", e.code(), plain(e.message())),
            Failure::Panic(message) => format!("panic: {}", plain(message)),
            // A refusal is for one operator or one index; which, is what shrinking finds out.
            Failure::Refused(e) => format!("refused {}", e.code()),
        })
    }
}

impl FailureKind {
    /// A kind that nothing here finds, such as a crash of the process.
    pub fn other(name: &str) -> FailureKind {
        FailureKind(name.to_string())
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Wrong { output, comparison } => {
                write!(f, "the output `{output}` is wrong: {comparison}")
            }
            Failure::Threads { output, threads } => {
                write!(f, "the output `{output}` has other bits with {threads} threads")
            }
            Failure::Internal(e) => write!(f, "{e}"),
            Failure::Panic(message) => write!(f, "a panic: {message}"),
            Failure::Refused(e) => write!(f, "refused: {e}"),
        }
    }
}

impl Judge {
    /// A judge of a target. Results of the first number of threads are compared with the oracle's, those of the others with them.
    pub fn new(target: Target, threads: &[usize]) -> Result<Judge> {
        let mut teams = Vec::new();
        for n in threads.iter().filter(|_| target == Target::Cpu) {
            teams.push(Team::new(*n).map_err(|e| Error::new(Code::Usage, format!("{n} threads: {e}")))?);
        }
        let options = interp::Options { max_steps: STEPS, max_bytes: BYTES, ..interp::Options::default() };
        Ok(Judge {
            target,
            isa: None,
            #[cfg(feature = "wgpu")]
            device: None,
            passes: Passes::Standard,
            teams,
            options,
            slack: SLACK,
            strict: false,
        })
    }

    /// The device of the wgpu target; the one that the system prefers if it is not said.
    #[cfg(feature = "wgpu")]
    pub fn device(mut self, device: Option<lawson_wgpu::Device>) -> Judge {
        self.device = device;
        self
    }

    /// Whether a refusal is a failure.
    pub fn strict(mut self, strict: bool) -> Judge {
        self.strict = strict;
        self
    }

    /// How the CPU target runs kernels; the best that the machine has if it is not said.
    pub fn isa(mut self, isa: Option<Isa>) -> Judge {
        self.isa = isa;
        self
    }

    /// The passes that graphs go through.
    pub fn passes(mut self, passes: Passes) -> Judge {
        self.passes = passes;
        self
    }

    /// What the oracle may take.
    pub fn limits(mut self, max_steps: u64, max_bytes: u64) -> Judge {
        (self.options.max_steps, self.options.max_bytes) = (max_steps, max_bytes);
        self
    }

    /// Judges one case.
    pub fn case(&mut self, case: &Case) -> Verdict {
        self.cases(&Cases { graph: case.graph.clone(), runs: vec![case.inputs.clone()] })
    }

    /// Opens the device that the system prefers if none was given, once for all cases, and takes what it was seen to do to subnormal numbers
    /// for no fault of a kernel. What does not open is for compiling to say.
    #[cfg(feature = "wgpu")]
    fn open_device(&mut self) {
        if self.target != Target::Wgpu {
            return;
        }
        if self.device.is_none() {
            self.device = lawson_wgpu::Device::preferred().ok();
        }
        let capabilities = self.device.as_ref().and_then(|d| d.capabilities().ok());
        self.options.flushes = capabilities.is_some_and(|c| c.flushes);
    }

    /// Judges a graph on all its inputs.
    pub fn cases(&mut self, cases: &Cases) -> Verdict {
        #[cfg(feature = "wgpu")]
        self.open_device();
        let compiled = guarded(|| self.compile(&cases.graph));
        let programs = match compiled {
            Ok(Ok(programs)) => programs,
            Ok(Err(e)) if is_bug(&e) => return Verdict::Failed { failure: Failure::Internal(e), run: 0 },
            Ok(Err(e)) if self.strict => return Verdict::Failed { failure: Failure::Refused(e), run: 0 },
            Ok(Err(e)) => return Verdict::Refused(e),
            Err(panic) => return Verdict::Failed { failure: Failure::Panic(panic), run: 0 },
        };
        let (mut compared, mut undetermined) = (0, 0);
        let mut unknown = None;
        for (run, inputs) in cases.runs.iter().enumerate() {
            match self.run(cases, &programs, inputs) {
                Ok((c, u)) => {
                    compared += c;
                    undetermined += u;
                }
                Err(Stop::Unknown(e)) => unknown = Some(e),
                Err(Stop::Refused(e)) if !self.strict => return Verdict::Refused(e),
                Err(Stop::Refused(e)) => return Verdict::Failed { failure: Failure::Refused(e), run },
                Err(Stop::Failed(failure)) => return Verdict::Failed { failure: *failure, run },
            }
        }
        match unknown {
            Some(e) if compared + undetermined == 0 => Verdict::Unknown(e),
            _ => Verdict::Fine { compared, undetermined },
        }
    }

    /// The part of a graph that the target takes: the outputs that it compiles. `None` if it takes none, or all.
    pub fn accepted(&self, graph: &Graph) -> Option<Graph> {
        let takes = |o: &Output| {
            let part = with_outputs(graph, vec![o.clone()]);
            matches!(guarded(|| self.compile(&part)), Ok(Ok(_)))
        };
        let outputs: Vec<Output> = graph.outputs().iter().filter(|o| takes(o)).cloned().collect();
        (!outputs.is_empty() && outputs.len() < graph.outputs().len()).then(|| with_outputs(graph, outputs))
    }

    fn compile(&self, graph: &Graph) -> Result<Vec<Program>> {
        let team = self.teams.first().cloned();
        let options = CompileOptions {
            target: self.target,
            passes: self.passes.clone(),
            team,
            isa: self.isa,
            #[cfg(feature = "wgpu")]
            device: self.device.clone(),
            ..CompileOptions::default()
        };
        let first = Program::compile(graph.clone(), &options)?;
        let others = self.teams.iter().skip(1).map(|t| first.with_team(t.clone()));
        Ok(std::iter::once(first.clone()).chain(others).collect())
    }

    fn run(
        &self,
        cases: &Cases,
        programs: &[Program],
        inputs: &[Value],
    ) -> std::result::Result<(u64, u64), Stop> {
        let oracle = interp::run_bounded(&cases.graph, inputs, &self.options).map_err(Stop::Unknown)?;
        let failed = |failure| Stop::Failed(Box::new(failure));
        let mut first: Option<Vec<Value>> = None;
        let (mut compared, mut undetermined) = (0, 0);
        for (n, program) in programs.iter().enumerate() {
            let results = match guarded(|| program.session().run_values(inputs)) {
                Ok(Ok(results)) => results,
                Ok(Err(e)) if is_bug(&e) => return Err(failed(Failure::Internal(e))),
                // The reference target stops where the oracle need not.
                Ok(Err(e)) if e.code() == Code::Budget => return Err(Stop::Unknown(e)),
                Ok(Err(e)) => return Err(Stop::Refused(e)),
                Err(panic) => return Err(failed(Failure::Panic(panic))),
            };
            let outputs = cases.graph.outputs().iter().map(|o| o.name.clone());
            match &first {
                None => {
                    for ((expected, actual), output) in oracle.iter().zip(&results).zip(outputs) {
                        let comparison = interp::compare(expected, actual, self.slack);
                        if !comparison.ok() {
                            return Err(failed(Failure::Wrong { output, comparison }));
                        }
                        compared += comparison.compared;
                        undetermined += comparison.undetermined;
                    }
                    first = Some(results);
                }
                Some(first) => {
                    let threads = self.teams.get(n).map_or(1, Team::members);
                    for ((a, b), output) in first.iter().zip(&results).zip(outputs) {
                        if a != b {
                            return Err(failed(Failure::Threads { output, threads }));
                        }
                    }
                }
            }
        }
        Ok((compared, undetermined))
    }
}

/// Why a run gives no counts.
enum Stop {
    Unknown(Error),
    Refused(Error),
    Failed(Box<Failure>),
}

fn with_outputs(graph: &Graph, outputs: Vec<Output>) -> Graph {
    let mut parts: GraphParts = graph.clone().into_parts();
    parts.outputs = outputs;
    Graph::from_parts(parts)
}

/// Whether an error is a bug in Lawson.
fn is_bug(error: &Error) -> bool {
    matches!(error.code(), Code::Internal | Code::PassFailed | Code::KernelRun)
}

/// Calls something that may panic; gives the message if it does.
fn guarded<T>(call: impl FnOnce() -> T) -> std::result::Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|s| (*s).to_string());
        text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_string())
    })
}

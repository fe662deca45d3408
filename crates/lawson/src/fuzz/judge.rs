//! Holding a target against the oracle, one graph at a time.

use super::failure::Failure;
use super::{Cases, failure};
use crate::cpu::Isa;
use crate::program::{CompileOptions, Passes, Program, Target};
use crate::reduce::{Case, Effort, Reduced, reduce};
use crate::session::{Limits, Session};
use lawson_cpu::team::Team;
use lawson_graph::{Code, Error, Graph, GraphParts, Output, Result, Value, interp};
use lawson_kernel::Operators;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

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
        /// How many times a session ran the graph.
        runs: u64,
        /// How its operators were run, if the target has a plan.
        operators: Option<Operators>,
    },
    /// The target does not take the graph, or the inputs.
    Refused(Error),
    /// It cannot be said: oracle or target would take more than they may, the oracle lacks what the graph calls, or both refuse the inputs.
    Unknown(Error),
    /// Something is wrong, with this one of the runs.
    Failed {
        /// What.
        failure: Failure,
        /// Which run.
        run: usize,
    },
}

/// What a judge is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The target compiles.
    Compile,
    /// The oracle runs.
    Oracle,
    /// The target runs.
    Run,
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
    runner: Runner,
}

/// What a judge has sessions run by.
#[derive(Clone)]
struct Runner(Arc<RunBy>);

type RunBy = dyn Fn(&Graph, &mut Session, &[Value]) -> Result<Vec<Value>> + Send + Sync;

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Runner")
    }
}

/// How many times the oracle's bound a result may be off. Expansions of functions promise a few units in the last place, the
/// oracle allows half of one.
const SLACK: f64 = 4.0;
/// What oracle and target may take: random graphs are small.
const STEPS: u64 = 300_000;
const BYTES: u64 = 256 << 20;

impl Judge {
    /// A judge of a target. Results of the first number of threads are compared with the oracle's, those of the others with them.
    pub fn new(target: Target, threads: &[usize]) -> Result<Judge> {
        let mut teams = Vec::new();
        for n in threads.iter().filter(|_| target == Target::Cpu) {
            teams.push(Team::new(*n).map_err(|e| Error::new(Code::Usage, format!("{n} threads: {e}")))?);
        }
        #[cfg(feature = "onnx")]
        let host = lawson_onnx::host_functions();
        #[cfg(not(feature = "onnx"))]
        let host = interp::HostFunctions::new();
        let options =
            interp::Options { max_steps: STEPS, max_bytes: BYTES, host, ..interp::Options::default() };
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
            runner: Runner(Arc::new(|_, session, inputs| session.run_values(inputs))),
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

    /// Has sessions run by this instead of [`Session::run_values`]: faults can be planted, to see that they are found.
    ///
    /// ```
    /// use lawson::fuzz::{Judge, Verdict, random_case};
    /// let forgetful = Judge::new(lawson::Target::Reference, &[1])?.run_by(|_, _, _| Ok(Vec::new()));
    /// assert!(matches!({ forgetful }.cases(&random_case(7)?), Verdict::Failed { .. }));
    /// # Ok::<(), lawson::Error>(())
    /// ```
    pub fn run_by(
        mut self,
        run: impl Fn(&Graph, &mut Session, &[Value]) -> Result<Vec<Value>> + Send + Sync + 'static,
    ) -> Judge {
        self.runner = Runner(Arc::new(run));
        self
    }

    /// What the oracle may take, and the target.
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

    /// Judges a graph on all its inputs. A session goes through all of them, so that it meets other sizes; another one each time, other numbers
    /// of threads, and two at once must give the same bits.
    pub fn cases(&mut self, cases: &Cases) -> Verdict {
        self.cases_told(cases, &mut |_| {})
    }

    /// The same; says what it is at, so that whoever waits knows what does not end.
    pub fn cases_told(&mut self, cases: &Cases, tell: &mut dyn FnMut(Phase)) -> Verdict {
        #[cfg(feature = "wgpu")]
        self.open_device();
        tell(Phase::Compile);
        let compiled = guarded(|| self.compile(&cases.graph));
        let programs = match compiled {
            Ok(Ok(programs)) => programs,
            Ok(Err(e)) => return self.verdict(Stop::of(e), 0),
            Err(panic) => return Verdict::Failed { failure: Failure::Panic(panic), run: 0 },
        };
        let mut sessions: Vec<Session> = programs.iter().map(|p| self.session(p)).collect();
        let (mut compared, mut undetermined, mut runs) = (0, 0, 0);
        let (mut known, mut unknown) = (Vec::new(), None);
        for (run, inputs) in cases.runs.iter().enumerate() {
            match self.run(&cases.graph, &mut sessions, inputs, tell) {
                Ok(ran) => {
                    compared += ran.compared;
                    undetermined += ran.undetermined;
                    // Every team, and a session of its own.
                    runs += sessions.len() as u64 + 1;
                    known.push((run, ran.results));
                }
                Err(Stop::Unknown(e)) => unknown = Some(e),
                Err(stop) => return self.verdict(stop, run),
            }
        }
        if let (true, Some(e)) = (known.is_empty(), unknown) {
            return Verdict::Unknown(e);
        }
        if let Some(program) = programs.last()
            && let Err((run, stop)) = self.at_once(cases, program, &known)
        {
            return self.verdict(stop, run);
        }
        runs += 2 * known.len() as u64;
        let operators = programs.first().and_then(Program::operators);
        Verdict::Fine { compared, undetermined, runs, operators }
    }

    /// What stopped runs, to this judge.
    fn verdict(&self, stop: Stop, run: usize) -> Verdict {
        match stop {
            Stop::Unknown(e) => Verdict::Unknown(e),
            Stop::Refused(e) if self.strict => Verdict::Failed { failure: Failure::Refused(e), run },
            Stop::Refused(e) => Verdict::Refused(e),
            Stop::Failed(failure) => Verdict::Failed { failure: *failure, run },
        }
    }

    /// The smallest case on which the judge finds the same kind of failure. The one given must fail that way.
    pub fn shrink(&mut self, case: Case, kind: &failure::FailureKind, effort: &Effort) -> Reduced {
        let mut fails = |c: &Case| match self.case(c) {
            Verdict::Failed { failure, .. } => failure.kind() == *kind,
            _ => false,
        };
        reduce(case, &mut fails, effort)
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

    fn session(&self, program: &Program) -> Session {
        let mut session = program.session();
        let interp::Options { max_steps, max_bytes, .. } = self.options;
        session.set_limits(Limits { max_steps, max_bytes: Some(max_bytes) });
        session
    }

    /// Runs a session, whatever comes of it.
    fn attempt(
        &self,
        graph: &Graph,
        session: &mut Session,
        inputs: &[Value],
    ) -> std::result::Result<Vec<Value>, Stop> {
        match guarded(|| (self.runner.0)(graph, session, inputs)) {
            Ok(Ok(results)) => Ok(results),
            Ok(Err(e)) => Err(Stop::of(e)),
            Err(panic) => Err(failed(Failure::Panic(panic))),
        }
    }

    /// Runs sessions of all teams, and one that is made for that, on the same inputs.
    fn run(
        &self,
        graph: &Graph,
        sessions: &mut [Session],
        inputs: &[Value],
        tell: &mut dyn FnMut(Phase),
    ) -> std::result::Result<Ran, Stop> {
        tell(Phase::Oracle);
        let oracle = interp::run_bounded(graph, inputs, &self.options);
        let outputs = || graph.outputs().iter().map(|o| o.name.clone());
        let (first, others) = sessions
            .split_first_mut()
            .ok_or_else(|| Stop::Refused(Error::new(Code::Usage, "a judge needs a number of threads")))?;
        tell(Phase::Run);
        let results = match &oracle {
            Err(e) if can_go_on(e) => return Err(Stop::Unknown(e.clone())),
            _ => self.attempt(graph, first, inputs),
        };
        let (oracle, results) = match (oracle, results) {
            (Err(e), Ok(_)) => return Err(failed(Failure::Accepted(e))),
            (Err(e), Err(Stop::Refused(_))) => return Err(Stop::Unknown(e)),
            (_, Err(stop)) => return Err(stop),
            (Ok(oracle), Ok(results)) => (oracle, results),
        };
        let (mut compared, mut undetermined) = (0, 0);
        if results.len() != oracle.len() {
            let message = format!("{} results of {} outputs", results.len(), oracle.len());
            return Err(failed(Failure::Internal(Error::internal(message))));
        }
        for ((expected, actual), output) in oracle.iter().zip(&results).zip(outputs()) {
            let comparison = interp::compare(expected, actual, self.slack);
            if !comparison.ok() {
                return Err(failed(Failure::Wrong { output, comparison }));
            }
            compared += comparison.compared;
            undetermined += comparison.undetermined;
        }
        let differs = |other: &[Value]| {
            let pairs = results.iter().zip(other).zip(outputs());
            pairs.into_iter().find(|((a, b), _)| a != b).map(|(_, output)| output)
        };
        let mut fresh = self.session(first.program());
        if let Some(output) = differs(&self.attempt(graph, &mut fresh, inputs)?) {
            return Err(failed(Failure::Sessions { output, session: "a session of its own" }));
        }
        for (session, team) in others.iter_mut().zip(self.teams.iter().skip(1)) {
            if let Some(output) = differs(&self.attempt(graph, session, inputs)?) {
                return Err(failed(Failure::Threads { output, threads: team.members() }));
            }
        }
        Ok(Ran { compared, undetermined, results })
    }

    /// Two sessions of a program at once, one of which goes backward.
    fn at_once(
        &self,
        cases: &Cases,
        program: &Program,
        known: &[(usize, Vec<Value>)],
    ) -> std::result::Result<(), (usize, Stop)> {
        let graph = &cases.graph;
        let check = |session: &mut Session, (run, expected): &(usize, Vec<Value>)| {
            let results = self.attempt(graph, session, &cases.runs[*run]).map_err(|stop| (*run, stop))?;
            let mut pairs = expected.iter().zip(&results).zip(graph.outputs());
            match pairs.find(|((a, b), _)| a != b) {
                None => Ok(()),
                Some((_, output)) => {
                    let output = output.name.clone();
                    let session = "a session beside another one";
                    Err((*run, failed(Failure::Sessions { output, session })))
                }
            }
        };
        std::thread::scope(|scope| {
            let mut forward = self.session(program);
            let mut backward = self.session(program);
            let other = scope.spawn(move || known.iter().rev().try_for_each(|k| check(&mut backward, k)));
            let here = known.iter().try_for_each(|k| check(&mut forward, k));
            // Panics of a run are caught where it is attempted.
            here.and(other.join().unwrap_or(Ok(())))
        })
    }
}

/// What a run gave.
struct Ran {
    compared: u64,
    undetermined: u64,
    results: Vec<Value>,
}

fn failed(failure: Failure) -> Stop {
    Stop::Failed(Box::new(failure))
}

/// Whether the oracle refuses a run that is none of its business, or too long for it: a target may go on.
fn can_go_on(error: &Error) -> bool {
    matches!(error.code(), Code::Budget | Code::HostCall | Code::Participants)
}

/// Why a run gives no counts.
enum Stop {
    Unknown(Error),
    Refused(Error),
    Failed(Box<Failure>),
}

impl Stop {
    /// What an error of the target stops runs as.
    fn of(error: Error) -> Stop {
        match error.code() {
            _ if is_bug(&error) => failed(Failure::Internal(error)),
            // Where a target stops, the oracle need not.
            Code::Budget => Stop::Unknown(error),
            _ => Stop::Refused(error),
        }
    }
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

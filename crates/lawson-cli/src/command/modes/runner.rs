//! Modes as what they are: ways to use the library. docs/modes.md describes each.

use super::place::Place;
use super::subject::Subject;
use crate::args::Mode;
use lawson::eager::{Eager, EagerOptions, EagerTensor};
use lawson::graph::op::Op;
use lawson::graph::{Bindings, Graph};
use lawson::kernel::machine::Machine;
use lawson::kernel::predict::predict_plan;
use lawson::kernel::{Action, Plan};
use lawson::wgpu::{Counts, Device, Pace};
use lawson::{CompileOptions, Error, Fusion, Program, Result, Session, Target, Tensor};
use std::collections::HashMap;

/// A mode that is ready to run.
pub struct Runner {
    pub mode: Mode,
    way: Way,
    /// What an iteration that is a run of its own costs.
    each: Cost,
    machine: Machine,
    device: Option<Device>,
}

/// Kernels that are started, and bytes that they read and write at least.
#[derive(Clone, Copy)]
struct Cost {
    launches: f64,
    bytes: f64,
}

/// What a mode does when it is called.
enum Way {
    /// Calls one operator after the other.
    Immediate { eager: Eager, operators: Vec<(Op, Vec<EagerTensor>)> },
    /// Compiles a program for each iteration, and runs it.
    CompiledEach(Box<Compiling>),
    /// Runs a session for each iteration.
    Session(Box<Session>),
    /// Compiles a program for each call, and lets its session do the iterations.
    LoopCompiledEach(Box<Compiling>),
    /// Lets a session do the iterations.
    Loop(Box<Session>),
}

/// What is compiled when it is needed.
struct Compiling {
    graph: Graph,
    options: CompileOptions,
}

/// What modes of a point share: one that compiles once has the program of the others that do.
#[derive(Default)]
pub struct Shared(HashMap<(String, bool), Program>);

/// What was done, an iteration.
pub struct Counted {
    pub launches: f64,
    pub bytes: f64,
    pub submissions: Option<f64>,
    pub transferred: Option<f64>,
}

impl Runner {
    pub fn new(
        mode: Mode,
        place: &Place,
        subject: &Subject,
        machine: &Machine,
        shared: &mut Shared,
    ) -> Result<Runner> {
        let fusion = match mode {
            Mode::CpuGraph | Mode::Graph | Mode::GraphCached | Mode::GraphLoop | Mode::GraphLoopCached => {
                Fusion::Separate
            }
            _ => Fusion::Predicted,
        };
        let keeping = place.devices.as_ref().map(|d| d.keeping.clone());
        let options = CompileOptions {
            target: if keeping.is_some() { Target::Wgpu } else { Target::Cpu },
            fusion,
            team: place.team.clone(),
            device: keeping.clone(),
            ..CompileOptions::default()
        };
        let wgpu = lawson::wgpu::machine();
        let machine = if keeping.is_some() { &wgpu } else { machine };
        if matches!(mode, Mode::Cpu | Mode::Immediate) {
            return Runner::immediate(mode, options, subject, machine, keeping);
        }
        let program = shared.program(&place.name, subject, &options)?;
        let plan = program.plan().ok_or_else(|| Error::internal("a target without a plan"))?;
        let each = Cost::of(plan, &Bindings::new(), machine)?;
        // A device that keeps pipelines would find those of the program above.
        let forgetting = place.devices.as_ref().map(|d| d.forgetting.clone());
        let compiling = || {
            let options = CompileOptions { device: forgetting.clone(), ..options.clone() };
            Box::new(Compiling { graph: subject.graph.clone(), options })
        };
        let way = match mode {
            Mode::Graph | Mode::GraphFused => Way::CompiledEach(compiling()),
            Mode::GraphLoop | Mode::GraphLoopFused => Way::LoopCompiledEach(compiling()),
            Mode::GraphLoopCached | Mode::GraphLoopCachedFused => {
                Way::Loop(Box::new(paced(&program, Pace::EachIteration)))
            }
            Mode::LoopOnDevice => Way::Loop(Box::new(paced(&program, Pace::Whole))),
            _ => Way::Session(Box::new(program.session())),
        };
        let device = match &way {
            Way::CompiledEach(_) | Way::LoopCompiledEach(_) => forgetting,
            _ => keeping,
        };
        Ok(Runner { mode, way, each, machine: machine.clone(), device })
    }

    fn immediate(
        mode: Mode,
        compile: CompileOptions,
        subject: &Subject,
        machine: &Machine,
        device: Option<Device>,
    ) -> Result<Runner> {
        let eager = Eager::new(EagerOptions { compile, ..EagerOptions::default() })?;
        let mut operators = Vec::new();
        for (op, weights) in &subject.operators {
            let weights = weights.iter().map(|w| eager.hold(w)).collect::<Result<Vec<_>>>()?;
            operators.push((op.clone(), weights));
        }
        let mut each = Cost { launches: 0.0, bytes: 0.0 };
        let mut value = eager.hold(&subject.x)?;
        for (op, weights) in &operators {
            let operands: Vec<_> = std::iter::once(&value).chain(weights).collect();
            let program = eager.program(op, &operands)?;
            let plan = program.plan().ok_or_else(|| Error::internal("a target without a plan"))?;
            let more = Cost::of(plan, &Bindings::new(), machine)?;
            each = Cost { launches: each.launches + more.launches, bytes: each.bytes + more.bytes };
            value = eager.apply1(op, &operands)?;
        }
        let (way, machine) = (Way::Immediate { eager, operators }, machine.clone());
        Ok(Runner { mode, way, each, machine, device })
    }

    /// A call: so many iterations, each on what the one before gave.
    pub fn run(&mut self, x: &Tensor, times: u64) -> Result<Tensor> {
        match &mut self.way {
            Way::Immediate { eager, operators } => repeated(x, times, |x| {
                let mut value = eager.hold(x)?;
                for (op, weights) in operators.iter() {
                    let operands: Vec<_> = std::iter::once(&value).chain(weights).collect();
                    value = eager.apply1(op, &operands)?;
                }
                value.to_tensor()
            }),
            Way::CompiledEach(c) => {
                repeated(x, times, |x| only(c.compile()?.session().run(std::slice::from_ref(x))?))
            }
            Way::Session(session) => repeated(x, times, |x| only(session.run(std::slice::from_ref(x))?)),
            Way::LoopCompiledEach(c) => {
                let mut session = paced(&c.compile()?, Pace::EachIteration);
                only(session.run_loop(std::slice::from_ref(x), times)?)
            }
            Way::Loop(session) => only(session.run_loop(std::slice::from_ref(x), times)?),
        }
    }

    /// What its device was given to do so far, if it has one.
    pub fn counts(&self) -> Option<Counts> {
        self.device.as_ref().map(Device::counts)
    }

    /// What an iteration did of so many in each call, in so many calls since an earlier look: what the device counted, and on a processor what
    /// the plan says.
    pub fn counted(&self, before: Option<Counts>, iterations: u64, calls: usize) -> Result<Counted> {
        let Cost { launches, bytes } = self.cost(iterations)?;
        let since = self.counts().zip(before).map(|(now, before)| now.since(before));
        let all = iterations as f64 * calls as f64;
        Ok(Counted {
            launches: since.map_or(launches, |c| c.launches as f64 / all),
            bytes,
            submissions: since.map(|c| c.submissions as f64 / all),
            transferred: since.map(|c| (c.uploaded + c.downloaded) as f64 / all),
        })
    }

    /// What an iteration costs of so many in each call, which may have been one kernel.
    fn cost(&self, iterations: u64) -> Result<Cost> {
        let Way::Loop(session) = &self.way else { return Ok(self.each) };
        let Some(whole) = session.whole_loop(iterations) else { return Ok(self.each) };
        let Cost { launches, bytes } = Cost::of(whole.plan, &whole.bindings, &self.machine)?;
        let runs = whole.runs as f64 / iterations as f64;
        Ok(Cost { launches: launches * runs, bytes: bytes * runs })
    }
}

impl Cost {
    /// That of a plan.
    fn of(plan: &Plan, bindings: &Bindings, machine: &Machine) -> Result<Cost> {
        let mut launches = 0;
        plan.visit(&mut |step, _| launches += u32::from(matches!(step.action, Action::Launch { .. })));
        let predicted = predict_plan(plan, machine, bindings, 1)?;
        let bytes = predicted.iter().flatten().map(|p| p.bytes()).sum();
        Ok(Cost { launches: f64::from(launches), bytes })
    }
}

impl Compiling {
    fn compile(&self) -> Result<Program> {
        Program::compile(self.graph.clone(), &self.options)
    }
}

impl Shared {
    /// The program of a list on a place, compiled once.
    fn program(&mut self, place: &str, subject: &Subject, options: &CompileOptions) -> Result<Program> {
        let key = (place.to_string(), options.fusion == Fusion::Separate);
        if let Some(program) = self.0.get(&key) {
            return Ok(program.clone());
        }
        let program = Program::compile(subject.graph.clone(), options)?;
        self.0.insert(key, program.clone());
        Ok(program)
    }
}

fn paced(program: &Program, pace: Pace) -> Session {
    let mut session = program.session();
    session.set_pace(pace);
    session
}

fn repeated(x: &Tensor, times: u64, mut once: impl FnMut(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let mut value = x.clone();
    for _ in 0..times {
        value = once(&value)?;
    }
    Ok(value)
}

fn only(mut outputs: Vec<Tensor>) -> Result<Tensor> {
    outputs.pop().ok_or_else(|| Error::internal("a list without an output"))
}

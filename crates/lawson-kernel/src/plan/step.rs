//! Steps: launches, what is left to the host, stages, loops and branches.
//!
//! Loops and branches hold blocks of steps. A block begins and ends at a barrier: every member of the team goes
//! through the same blocks, and reads a condition only when all have come to it.

use super::{Access, Plan, Slot};
use lawson_graph::{Dim, Error, Graph, Symbol, TensorType};
use std::sync::Arc;

/// What happens to which buffers.
#[derive(Clone, Debug)]
pub struct Step {
    /// What happens.
    pub action: Action,
    /// The buffers that it happens to, in the order that the action states.
    pub buffers: Vec<Region>,
    /// Whether everything before must have happened.
    pub barrier: Barrier,
    /// How many operators of the graph it computes.
    pub operators: usize,
    /// The named region in which it may race with other steps of that region.
    pub race: Option<Arc<str>>,
}

/// A buffer, or some of its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// The buffer.
    pub slot: Slot,
    /// The first byte and one past the last; all of them if nothing is said.
    pub part: Option<(Dim, Dim)>,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// All members of the team run a kernel. The buffers are the kernel's that are not scratch, in order.
    Launch {
        /// The kernel, by number.
        kernel: usize,
    },
    /// The processor runs a kernel as machine code of its own, in a plan of another target. The buffers are as for a launch.
    Call {
        /// The kernel, by number.
        kernel: usize,
    },
    /// One member runs a kernel by the portable evaluator. The buffers are as for a launch.
    Evaluate {
        /// The kernel, by number.
        kernel: usize,
        /// Why the target has no code for it.
        why: Error,
    },
    /// One member runs a part of the graph by the reference interpreter.
    Interpret(Interpreted),
    /// All members of the team go through a plan of its own, for sizes that were found in this run.
    Staged(Box<Staged>),
    /// Bytes go from one buffer to another of the same size, of which one lies in the host's memory and one on the device. The
    /// buffers are where they come from and where they go.
    Transfer,
    /// Steps are repeated. It has no buffers but those of its blocks.
    Loop(Box<Loop>),
    /// One of two blocks runs. It has no buffers but those of its blocks and the condition.
    Branch(Box<Branch>),
    /// Nothing that can be run: what a step of a plan that is only to be checked says of itself. Its buffers are those of the
    /// accesses.
    Declared {
        /// Its name.
        name: String,
        /// What it reads and writes.
        accesses: Vec<Access>,
    },
}

/// A part of the graph that the interpreter runs. The step's buffers are the graph's inputs, then its outputs.
#[derive(Clone, Debug)]
pub struct Interpreted {
    /// The part. It may use symbols of the whole that none of its inputs determines.
    pub graph: Arc<Graph>,
    /// Why no kernel computes it.
    pub why: Error,
}

/// A part of the graph whose sizes are found in a run, as a plan of its own. The step's buffers are the plan's inputs, then its outputs; those
/// that are values of the host are tensors.
#[derive(Clone, Debug)]
pub struct Staged {
    /// The plan, for all sizes that its facts allow.
    pub plan: Arc<Plan>,
    /// The types of its inputs.
    pub inputs: Vec<TensorType>,
    /// The types of its outputs.
    pub outputs: Vec<TensorType>,
    /// The symbols that decide about it, which have their values when it starts.
    pub symbols: Vec<Symbol>,
}

/// Steps that are repeated.
#[derive(Clone, Debug)]
pub struct Loop {
    /// How often.
    pub again: Again,
    /// What one iteration leaves to the next.
    pub carried: Vec<Carried>,
    /// Buffers that stand for a row of another, from iteration to iteration the next one.
    pub rows: Vec<Row>,
    /// One iteration.
    pub body: Vec<Step>,
    /// Why the whole of it is no kernel, where it might have been.
    pub why: Option<Error>,
}

/// How often a loop runs.
#[derive(Clone, Debug)]
pub enum Again {
    /// So many times.
    Times(Dim),
    /// As long as a condition holds, which these steps compute before every iteration.
    While {
        /// The steps.
        steps: Vec<Step>,
        /// One byte: 0 ends the loop.
        condition: Slot,
    },
}

/// State of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carried {
    /// What an iteration finds, and what is there after the loop.
    pub state: Slot,
    /// What an iteration leaves. The two exchange their bytes after every iteration, unless they are the same buffer.
    pub next: Slot,
}

/// A buffer that goes through the rows of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The buffer that stands for a row; its place names the other one.
    pub row: Slot,
    /// From which end.
    pub order: Order,
}

/// In which order rows are gone through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The first row first.
    Forward,
    /// The last row first.
    Backward,
}

/// One of two blocks.
#[derive(Clone, Debug)]
pub struct Branch {
    /// One byte, which is read when all steps before have happened.
    pub condition: Slot,
    /// What runs if it is not 0.
    pub then: Vec<Step>,
    /// What runs if it is 0.
    pub otherwise: Vec<Step>,
}

/// Whether a step waits for those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Barrier {
    /// It waits.
    Before,
    /// It may run beside the step before it.
    None,
}

impl Step {
    /// A step that waits for nothing yet.
    pub fn new(action: Action, buffers: impl IntoIterator<Item = Slot>) -> Step {
        let buffers = buffers.into_iter().map(Region::from).collect();
        Step { action, buffers, barrier: Barrier::None, operators: 0, race: None }
    }

    /// A launch of a kernel.
    pub fn launch(kernel: usize, buffers: impl IntoIterator<Item = Slot>) -> Step {
        Step::new(Action::Launch { kernel }, buffers)
    }

    /// The same step, which computes so many operators of the graph.
    pub fn of(self, operators: usize) -> Step {
        Step { operators, ..self }
    }
}

impl From<Slot> for Region {
    fn from(slot: Slot) -> Region {
        Region { slot, part: None }
    }
}

impl Action {
    /// Whether it holds steps. Such a step begins and ends with a barrier.
    pub fn is_control(&self) -> bool {
        matches!(self, Action::Loop(_) | Action::Branch(_))
    }

    /// Whether the host runs it, and a device waits for it.
    pub fn is_on_host(&self) -> bool {
        matches!(
            self,
            Action::Evaluate { .. } | Action::Interpret(_) | Action::Call { .. } | Action::Staged(_)
        )
    }

    /// Whether it copies what it reads before it writes.
    pub fn copies(&self) -> bool {
        matches!(self, Action::Evaluate { .. } | Action::Interpret(_))
    }

    /// The kernel that it runs.
    pub fn kernel(&self) -> Option<usize> {
        match self {
            Action::Launch { kernel } | Action::Call { kernel } | Action::Evaluate { kernel, .. } => {
                Some(*kernel)
            }
            _ => None,
        }
    }

    /// The blocks that it holds, in order.
    pub fn blocks(&self) -> Vec<&Vec<Step>> {
        match self {
            Action::Loop(l) => match &l.again {
                Again::While { steps, .. } => vec![steps, &l.body],
                Again::Times(_) => vec![&l.body],
            },
            Action::Branch(b) => vec![&b.then, &b.otherwise],
            _ => Vec::new(),
        }
    }

    /// The same without the steps that it holds.
    pub(super) fn without_blocks(&self) -> Action {
        let mut action = self.clone();
        action.blocks_mut().into_iter().for_each(Vec::clear);
        action
    }

    /// The blocks that it holds, to change them.
    pub fn blocks_mut(&mut self) -> Vec<&mut Vec<Step>> {
        match self {
            Action::Loop(l) => match &mut l.again {
                Again::While { steps, .. } => vec![steps, &mut l.body],
                Again::Times(_) => vec![&mut l.body],
            },
            Action::Branch(b) => vec![&mut b.then, &mut b.otherwise],
            _ => Vec::new(),
        }
    }
}

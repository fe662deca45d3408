//! From a graph to a plan: groups, kernels, schedules, buffers.
//!
//! In: a graph after its passes and the machine model. Out: a [`Plan`] for all sizes that the graph's facts allow. What no
//! kernel computes is left to the interpreter, with the reason, so that no valid graph is refused. Kernels that are the same but for
//! names are scheduled once, by several threads (`scheduled.rs`). `control.rs` plans loops and branches, `stage.rs` what has sizes that are found in a run. Read `plan.rs` next.

mod control;
mod scheduled;
mod settle;
mod stage;

use crate::buffer::Layout;
use crate::build::{for_each, store};
use crate::group::{Group, Refused};
use crate::host::{defined, extract, is_of_host};
use crate::layout::{Orders, orders};
use crate::lower::Lowered;
use crate::machine::{Machine, Machines};
use crate::partition::{Fusion, Part, Partition, Refusal, Splitter, partition_splitting};
use crate::plan::{Action, Interpreted, Place, Plan, PlanBuffer, Scheduled, Slot, Step, Unjoined, ValuePort};
use crate::tree::Kernel;
use lawson_graph::{
    Decomposed, Def, Dim, Error, Graph, HostTensor, NodeId, Op, Result, Symbol, TensorType, Type, ValueId,
};
use scheduled::Wanted;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The plan of a graph. Composites that [`crate::partition::partition`] does not take are left to the interpreter.
pub fn compile(graph: &Graph, machine: &Machine) -> Result<Plan> {
    compile_watched(graph, Machines::only(machine), Fusion::Predicted, &mut |_| {})
}

/// A part of the way from a graph to its plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Groups are found and lowered.
    Partition,
    /// Schedules are chosen, applied and verified, and buffers given to values.
    Schedule,
}

/// As [`compile`], with a choice of what is fused; `watch` is called when a stage has ended. Bodies of loops and branches count as
/// scheduling. Where operators stay apart, composites are decomposed here, for passes forget which operator a node is part of. Nodes run on
/// the target, or on the processor beside it if there is one and they are placed there ([`Graph::sited`]).
pub fn compile_watched(
    graph: &Graph,
    machines: Machines<'_>,
    fusion: Fusion,
    watch: &mut dyn FnMut(Stage),
) -> Result<Plan> {
    match fusion {
        Fusion::Predicted => {
            compile_within(graph, (&orders(graph, machines.target), true), machines, None, watch)
        }
        Fusion::Separate => {
            let Decomposed { graph, part_of } = graph.decomposed()?;
            compile_within(&graph, (&orders(&graph, machines.target), true), machines, Some(&part_of), watch)
        }
    }
}

/// As [`compile`], for values between kernels that lie in these orders. If one of them would go to the interpreter, which
/// takes none but that of its type, all lie as their types say.
pub fn compile_in(
    graph: &Graph,
    orders: &Orders,
    machine: &Machine,
    watch: &mut dyn FnMut(Stage),
) -> Result<Plan> {
    compile_within(graph, (orders, *orders != Orders::default()), Machines::only(machine), None, watch)
}

/// As [`compile_in`]; if the operator that each node is part of is given, nodes of different ones stay apart. Values of bodies lie in orders of their
/// own if that is allowed.
fn compile_within(
    graph: &Graph,
    (orders, ordered): (&Orders, bool),
    machines: Machines<'_>,
    part_of: Option<&[NodeId]>,
    watch: &mut dyn FnMut(Stage),
) -> Result<Plan> {
    let fusion = if part_of.is_some() { Fusion::Separate } else { Fusion::Predicted };
    let plan = Plan { name: graph.name().to_string(), facts: graph.facts().clone(), ..Plan::default() };
    let mut common = Common {
        machines,
        fusion,
        plan,
        known: Vec::new(),
        ready: Vec::new(),
        within: Vec::new(),
        ordered,
        reads_ordered: false,
    };
    let targets = (0..graph.outputs().len()).map(Target::Output).collect();
    let (Partition { parts, refused }, splitter) = partition_splitting(graph, orders, machines, part_of);
    common.note_refused(graph, refused);
    watch(Stage::Partition);
    let steps = match block(graph, &mut common, Vec::new(), targets, (parts, &splitter), orders) {
        Ok((steps, _)) => steps,
        Err(_) if common.reads_ordered && common.ordered => {
            return compile_within(graph, (&Orders::default(), false), machines, part_of, watch);
        }
        Err(error) => return Err(error),
    };
    common.plan.steps = steps;
    if cfg!(debug_assertions) {
        crate::borrow::assert(&common.plan, None)?;
    }
    watch(Stage::Schedule);
    Ok(common.plan)
}

/// What the plans of a graph and of the bodies in it share.
struct Common<'m> {
    machines: Machines<'m>,
    fusion: Fusion,
    /// Its steps are those of nobody yet.
    plan: Plan,
    /// Kernels that were scheduled: equal ones are shared.
    known: Vec<Known>,
    /// Kernels that were scheduled and wait to be part of the plan.
    ready: Vec<(Wanted, Result<Scheduled>)>,
    /// The bodies that are being planned, the outermost first.
    within: Vec<String>,
    /// Whether values may lie in other orders than that of their types.
    ordered: bool,
    /// Whether one that does would have to be read by the interpreter.
    reads_ordered: bool,
}

impl Common<'_> {
    /// Keeps what stays apart in a graph or the body that is being planned.
    fn note_refused(&mut self, graph: &Graph, refused: Vec<Refusal>) {
        let within: Vec<String> = self.within.iter().rev().cloned().collect();
        let all = refused.into_iter();
        let all = all.map(|r| Unjoined { within: within.clone(), refusal: r.named(graph) });
        self.plan.refused.extend(all);
    }
}

/// A kernel of the plan.
struct Known {
    wanted: Wanted,
    number: usize,
}

/// Who runs a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Runner {
    Target,
    /// The processor beside it.
    Cpu,
}

/// Where an output of a graph goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    /// It is the caller's output of this number.
    Output(usize),
    /// To this buffer.
    Slot(Slot),
    /// It stays where it is.
    Anywhere,
    /// It is the next state of a loop whose state is this buffer: it stays there if it is that, and otherwise gets a buffer of
    /// its own.
    Next(Slot),
}

/// The steps that compute a graph whose inputs lie in these buffers, or are the caller's if there are none, and where its outputs
/// are.
fn block(
    graph: &Graph,
    common: &mut Common<'_>,
    inputs: Vec<Slot>,
    targets: Vec<Target>,
    (parts, splitter): (Vec<Part>, &Splitter<'_>),
    orders: &Orders,
) -> Result<(Vec<Step>, Vec<Slot>)> {
    let mut p = Planner {
        graph,
        common,
        orders,
        defined: defined(graph),
        found: HashSet::new(),
        uses: graph.use_counts(),
        steps: Vec::new(),
        given: inputs.iter().copied().collect(),
        slots: graph.inputs().iter().copied().zip(inputs).collect(),
        constants: HashMap::new(),
        targets,
    };
    p.schedule_all(&parts);
    for part in parts.into_iter().flat_map(|part| p.settled(part, splitter)).collect::<Vec<_>>() {
        p.part(part)?;
    }
    let outputs = p.outputs()?;
    Ok((p.steps, outputs))
}

/// The steps of a body, as [`block`] gives them; `what` says which it is.
fn body(
    graph: &Graph,
    common: &mut Common<'_>,
    inputs: Vec<Slot>,
    targets: Vec<Target>,
    what: String,
) -> Result<(Vec<Step>, Vec<Slot>)> {
    let orders = if common.ordered { orders(graph, common.machines.target) } else { Orders::default() };
    let alone: Vec<NodeId> = graph.node_ids().collect();
    let part_of = (common.fusion == Fusion::Separate).then_some(alone.as_slice());
    let (Partition { parts, refused }, splitter) =
        partition_splitting(graph, &orders, common.machines, part_of);
    common.within.push(what);
    common.note_refused(graph, refused);
    let steps = block(graph, common, inputs, targets, (parts, &splitter), &orders);
    common.within.pop();
    steps
}

struct Planner<'g, 'c, 'm> {
    graph: &'g Graph,
    common: &'c mut Common<'m>,
    orders: &'g Orders,
    /// The symbols that nodes of the graph define.
    defined: HashMap<Symbol, NodeId>,
    /// Those of them that steps so far define.
    found: HashSet<Symbol>,
    /// How often each value is used.
    uses: Vec<u32>,
    steps: Vec<Step>,
    /// The buffers of the graph's inputs, where they are somebody else's.
    given: HashSet<Slot>,
    slots: HashMap<ValueId, Slot>,
    constants: HashMap<ValueId, Vec<(Layout, Slot)>>,
    targets: Vec<Target>,
}

fn bytes(ty: &TensorType) -> Dim {
    match ty.dtype.bits() {
        bits if bits.is_multiple_of(8) => ty.shape.elements() * (bits / 8),
        _ => ty.bytes(),
    }
}

impl Planner<'_, '_, '_> {
    fn push(&mut self, step: Step) {
        self.common.plan.append(&mut self.steps, step);
    }

    fn part(&mut self, part: Part) -> Result<()> {
        let Part { group, operators, lowered, is_stage, .. } = part;
        if is_stage {
            return self.stage(&group);
        }
        let why = match lowered {
            Ok(lowered) => match self.launch(lowered, operators, self.runner(&group)) {
                Ok(()) => return Ok(()),
                // No schedule of it is proven, nor are its plain loops.
                Err(why) => why,
            },
            Err(why) => why,
        };
        if why.is_internal() {
            return Err(why);
        }
        if let [n] = group.nodes.as_slice()
            && self.control(*n, &why)?
        {
            return Ok(());
        }
        self.interpret(&group, operators, why)
    }

    /// Who runs a group.
    fn runner(&self, group: &Group) -> Runner {
        let site = group.outputs.first().and_then(|v| match self.graph.value(*v).def {
            Def::Node(n, _) => self.graph.site(n),
            Def::Input(_) => None,
        });
        if self.common.machines.beside(site).is_some() { Runner::Cpu } else { Runner::Target }
    }

    fn launch(&mut self, lowered: Lowered, operators: usize, runner: Runner) -> Result<()> {
        let Lowered { kernel, inputs, outputs } = lowered;
        let number = self.kernel(self.wanted(kernel, &inputs, runner))?;
        let mut slots = Vec::new();
        for (i, v) in inputs.iter().enumerate() {
            let layout = self.common.plan.kernels[number].buffers[i].layout.clone();
            slots.push(self.read(*v, layout, number, i)?);
        }
        for v in &outputs {
            slots.push(self.write(*v)?);
        }
        let action = match runner {
            Runner::Target => Action::Launch { kernel: number },
            Runner::Cpu => Action::Call { kernel: number },
        };
        self.push(Step::new(action, slots).of(operators));
        Ok(())
    }

    /// Leaves a group to the interpreter.
    fn interpret(&mut self, group: &Group, operators: usize, why: Error) -> Result<()> {
        let part = extract(self.graph, &group.nodes, &group.outputs, self.graph.facts());
        if part.inputs.iter().chain(&part.outputs).any(|v| self.orders.order(*v).is_some()) {
            self.common.reads_ordered = true;
            return Err(why);
        }
        let mut slots = Vec::new();
        for v in &part.inputs {
            slots.push(self.slot(*v)?);
        }
        for v in &part.outputs {
            slots.push(self.write(*v)?);
        }
        let action = Action::Interpret(Interpreted { graph: Arc::new(part.graph), why });
        self.push(Step::new(action, slots).of(operators));
        self.note_found(&group.nodes);
        Ok(())
    }

    fn is_constant(&self, v: ValueId) -> bool {
        self.constant_of(v).is_some()
    }

    /// The tensor of a constant of the graph, or of one outside of a body that comes into it.
    fn constant_of(&self, v: ValueId) -> Option<HostTensor> {
        if let Some(Op::Constant(t)) = self.graph.defining(v).map(|n| &n.op) {
            return Some(t.clone());
        }
        let Def::Input(_) = self.graph.value(v).def else { return None };
        match &self.common.plan.buffer(*self.slots.get(&v)?).place {
            Place::Constant { tensor: Some(t), dims, layout } if *layout == Layout::row_major(dims) => {
                Some(t.clone())
            }
            _ => None,
        }
    }

    /// The buffer that a kernel reads a value from.
    fn read(&mut self, v: ValueId, layout: Layout, kernel: usize, buffer: usize) -> Result<Slot> {
        if !self.is_constant(v) {
            return self.slot(v);
        }
        let dims = self.common.plan.kernels[kernel].buffers[buffer].dims.clone();
        self.constant(v, dims, layout)
    }

    /// The buffer of a value as the graph has it: row-major.
    fn slot(&mut self, v: ValueId) -> Result<Slot> {
        if let Some(s) = self.slots.get(&v) {
            return Ok(*s);
        }
        if self.is_constant(v) {
            let dims = self.tensor(v)?.shape.to_vec();
            let layout = Layout::row_major(&dims);
            return self.constant(v, dims, layout);
        }
        if let Some(s) = self.slots.get(&v) {
            return Ok(*s);
        }
        match self.graph.value(v).def {
            Def::Input(n) => self.add(v, Place::Input(n)),
            Def::Node(..) => Err(Error::internal("a value is read before it is computed")),
        }
    }

    fn constant(&mut self, v: ValueId, dims: Vec<Dim>, layout: Layout) -> Result<Slot> {
        if let Some((_, s)) = self.constants.get(&v).and_then(|all| all.iter().find(|(l, _)| *l == layout)) {
            return Ok(*s);
        }
        let t = self.constant_of(v).ok_or_else(|| Error::internal("a constant that is none"))?;
        let taken = TensorType::new(t.dtype(), [layout.size.clone()]);
        let slot = self.common.plan.add_buffer(PlanBuffer {
            name: self.graph.value_name(v),
            bytes: bytes(&taken),
            place: Place::Constant { tensor: Some(t.clone()), dims, layout: layout.clone() },
        });
        self.constants.entry(v).or_default().push((layout, slot));
        Ok(slot)
    }

    /// The buffer that a value is written to.
    fn write(&mut self, v: ValueId) -> Result<Slot> {
        let output = self.graph.outputs().iter().position(|o| o.value == v);
        match output.map(|n| self.targets[n]) {
            Some(Target::Output(n)) => self.add(v, Place::Output(n)),
            Some(Target::Slot(slot)) => {
                self.slots.insert(v, slot);
                Ok(slot)
            }
            Some(Target::Anywhere | Target::Next(_)) | None => self.add(v, Place::Arena),
        }
    }

    fn tensor(&self, v: ValueId) -> Result<&TensorType> {
        let ty = self.graph.ty(v).as_tensor();
        ty.ok_or_else(|| Error::internal("bytes of what is not a tensor"))
    }

    fn add(&mut self, v: ValueId, place: Place) -> Result<Slot> {
        let name = self.graph.value_name(v);
        let slot = self.add_buffer(name, self.graph.ty(v).clone(), place)?;
        self.slots.insert(v, slot);
        Ok(slot)
    }

    /// A buffer for a value of a type: with bytes, or of the host.
    fn add_buffer(&mut self, name: String, ty: Type, place: Place) -> Result<Slot> {
        let (bytes, place) = match (&ty, place) {
            (ty, place) if is_of_host(ty, &self.defined) => {
                let port = match place {
                    Place::Input(n) => ValuePort::Input(n),
                    Place::Output(n) => ValuePort::Output(n),
                    _ => ValuePort::Own,
                };
                (Dim::ZERO, Place::Value(port))
            }
            (Type::Tensor(ty), place) => (bytes(ty), place),
            _ => return Err(Error::internal("bytes of what is not a tensor")),
        };
        Ok(self.common.plan.add_buffer(PlanBuffer { name, bytes, place }))
    }

    /// Where the outputs are. Those that no step writes to their targets (inputs, constants, one value twice) are copied.
    fn outputs(&mut self) -> Result<Vec<Slot>> {
        let mut found: Vec<Slot> = Vec::new();
        let graph = self.graph;
        for (n, output) in graph.outputs().iter().enumerate() {
            let v = output.value;
            let here = self.slots.get(&v).copied();
            let fresh = |s: &Slot, p: &Self| {
                matches!(p.common.plan.buffer(*s).place, Place::Arena | Place::Value(ValuePort::Own))
                    && !p.given.contains(s)
                    && !found.contains(s)
            };
            let there = match self.targets[n] {
                Target::Anywhere => Some(self.slot(v)?),
                Target::Slot(slot) => here.filter(|s| *s == slot),
                Target::Next(state) => here.filter(|s| *s == state || fresh(s, self)),
                Target::Output(n) => here.filter(|s| match self.common.plan.buffer(*s).place {
                    Place::Output(m) | Place::Value(ValuePort::Output(m)) => m == n,
                    _ => false,
                }),
            };
            found.push(match (there, self.targets[n]) {
                (Some(slot), _) => slot,
                (None, Target::Slot(slot)) => self.copy(v, slot)?,
                (None, Target::Output(n)) => {
                    let ty = graph.ty(v).clone();
                    let to = self.add_buffer(output.name.clone(), ty, Place::Output(n))?;
                    self.copy(v, to)?
                }
                (None, Target::Next(_) | Target::Anywhere) => {
                    let ty = graph.ty(v).clone();
                    let to = self.add_buffer(output.name.clone(), ty, Place::Arena)?;
                    self.copy(v, to)?
                }
            });
        }
        Ok(found)
    }

    /// Copies a value to a buffer of its size.
    fn copy(&mut self, v: ValueId, to: Slot) -> Result<Slot> {
        if is_of_host(self.graph.ty(v), &self.defined) {
            let ty = self.graph.ty(v).to_string();
            let why = Refused::DType { value: self.graph.value_name(v), ty };
            let part = extract(self.graph, &[], &[v], self.graph.facts());
            let mut slots = Vec::new();
            for v in &part.inputs {
                slots.push(self.slot(*v)?);
            }
            slots.push(to);
            let action = Action::Interpret(Interpreted { graph: Arc::new(part.graph), why: why.into() });
            self.push(Step::new(action, slots));
            return Ok(to);
        }
        let ty = self.tensor(v)?;
        let (dtype, count) = (ty.dtype, ty.shape.elements());
        let mut k = Kernel::new("copy", self.common.plan.facts.clone());
        let x = k.input("x", dtype, std::slice::from_ref(&count));
        let y = k.output("y", dtype, std::slice::from_ref(&count));
        let i = k.add_axis("i");
        let value = k.load(x, vec![i.into()]);
        k.body = vec![for_each(i, count, vec![store(y, vec![i.into()], value)])];
        let layout = k.buffers[0].layout.clone();
        let wanted =
            Wanted { kernel: k, constants: Vec::new(), often_zero: Vec::new(), runner: Runner::Target };
        let number = self.kernel(wanted)?;
        let from = self.read(v, layout, number, 0)?;
        self.push(Step::launch(number, [from, to]));
        Ok(to)
    }
}

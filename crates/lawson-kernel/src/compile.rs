//! From a graph to a plan: groups, kernels, schedules, buffers.
//!
//! In: a graph after its passes, without composites, and the machine model. Out: a [`Plan`] for all sizes that the graph's
//! facts allow, or an error that names the operator or the port that no kernel takes. Kernels that are the same but for names
//! are scheduled once. Read `plan.rs` next.

use crate::buffer::{BufferId, Layout};
use crate::build::{for_each, store};
use crate::choose::{Freedom, choose};
use crate::layout::{Orders, orders};
use crate::lower::Lowered;
use crate::machine::Machine;
use crate::partition::{Partition, partition};
use crate::plan::{Place, Plan, PlanBuffer, Slot};
use crate::tree::Kernel;
use crate::verify::verify;
use lawson_graph::Place::Port;
use lawson_graph::{Code, DType, Def, Dim, Error, Graph, Op, Result, Side, Type, ValueId};
use std::collections::HashMap;

/// The plan of a graph, whose only composites may be those that [`partition`] takes.
pub fn compile(graph: &Graph, machine: &Machine) -> Result<Plan> {
    compile_watched(graph, machine, &mut |_| {})
}

/// A part of the way from a graph to its plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Groups are found and lowered.
    Partition,
    /// Schedules are chosen, applied and verified, and buffers given to values.
    Schedule,
}

/// As [`compile`]; `watch` is called when a stage has ended.
pub fn compile_watched(graph: &Graph, machine: &Machine, watch: &mut dyn FnMut(Stage)) -> Result<Plan> {
    compile_in(graph, &orders(graph, machine), machine, watch)
}

/// As [`compile_watched`], for values between kernels that lie in these orders.
pub fn compile_in(
    graph: &Graph,
    orders: &Orders,
    machine: &Machine,
    watch: &mut dyn FnMut(Stage),
) -> Result<Plan> {
    // First, so that an operator that makes no tensor is named.
    let Partition { parts, refused } = partition(graph, orders, machine)?;
    check_ports(graph)?;
    watch(Stage::Partition);
    let mut plan = plan(graph, parts.into_iter().map(|p| p.lowered), machine)?;
    plan.refused = refused;
    watch(Stage::Schedule);
    Ok(plan)
}

/// Refuses graphs whose inputs and outputs are not all tensors: buffers hold nothing else.
fn check_ports(graph: &Graph) -> Result<()> {
    let inputs = graph.inputs().iter().map(|v| (Side::Input, graph.value_name(*v), *v));
    let outputs = graph.outputs().iter().map(|o| (Side::Output, o.name.clone(), o.value));
    for (side, name, value) in inputs.chain(outputs) {
        let ty = graph.ty(value);
        if !matches!(ty, Type::Tensor(_)) {
            return Err(Error::new(
                Code::NotLowered,
                format!("{ty} is no tensor, and plans hold nothing else"),
            )
            .at(Port { side, name })
            .help("run the graph on the reference target"));
        }
    }
    Ok(())
}

/// The plan of kernels that compute a graph, in an order in which they can run.
pub fn plan(graph: &Graph, kernels: impl IntoIterator<Item = Lowered>, machine: &Machine) -> Result<Plan> {
    let mut p = Planner {
        graph,
        machine,
        plan: Plan { facts: graph.facts().clone(), ..Plan::default() },
        slots: HashMap::new(),
        constants: HashMap::new(),
        known: Vec::new(),
    };
    for lowered in kernels {
        p.step(lowered)?;
    }
    p.copy_outputs()?;
    Ok(p.plan)
}

struct Planner<'g> {
    graph: &'g Graph,
    machine: &'g Machine,
    plan: Plan,
    slots: HashMap<ValueId, Slot>,
    constants: HashMap<ValueId, Vec<(Layout, Slot)>>,
    /// Kernels before they were scheduled, and which of their buffers are constants: equal ones are shared.
    known: Vec<(Kernel, Vec<BufferId>, usize)>,
}

fn bytes(dtype: DType, count: Dim) -> Dim {
    count * (dtype.bits().div_ceil(8) as i64)
}

/// Whether two kernels are the same but for names.
fn same(a: &Kernel, b: &Kernel) -> bool {
    a.exprs == b.exprs
        && a.body == b.body
        && a.facts == b.facts
        && a.axes.len() == b.axes.len()
        && a.axes.iter().zip(&b.axes).all(|(a, b)| a.derived == b.derived)
        && a.buffers.len() == b.buffers.len()
        && a.buffers
            .iter()
            .zip(&b.buffers)
            .all(|(a, b)| a.dtype == b.dtype && a.dims == b.dims && a.layout == b.layout && a.role == b.role)
        && a.accs.len() == b.accs.len()
        && a.accs.iter().zip(&b.accs).all(|(a, b)| a.state == b.state && a.merge == b.merge)
}

impl Planner<'_> {
    fn step(&mut self, lowered: Lowered) -> Result<()> {
        let Lowered { kernel, inputs, outputs } = lowered;
        let constants: Vec<BufferId> =
            (0..inputs.len()).filter(|i| self.is_constant(inputs[*i])).map(|i| BufferId(i as u32)).collect();
        let known =
            self.known.iter().find(|(k, c, _)| *c == constants && same(k, &kernel)).map(|(_, _, n)| *n);
        let number = match known {
            Some(n) => n,
            None => {
                let freedom = Freedom { constants: constants.clone() };
                let n = self.add_kernel(&kernel, &freedom)?;
                self.known.push((kernel, constants, n));
                n
            }
        };
        let mut slots = Vec::new();
        for (i, v) in inputs.iter().enumerate() {
            let layout = self.plan.kernels[number].buffers[i].layout.clone();
            slots.push(self.read(*v, layout, number, i)?);
        }
        for v in &outputs {
            slots.push(self.write(*v)?);
        }
        self.plan.add_step(number, slots);
        Ok(())
    }

    /// Adds a kernel with the schedule that is chosen for it. Machine code checks nothing when it runs, so that only what is
    /// proven is planned: a schedule that is beyond the proofs gives way to the plain loops, and the plan says so.
    fn add_kernel(&mut self, kernel: &Kernel, freedom: &Freedom) -> Result<usize> {
        let mut scheduled = kernel.clone();
        let chosen = choose(&mut scheduled, self.machine, freedom);
        match chosen.and_then(|choice| verify(&scheduled).map(|()| choice)) {
            Ok(choice) => Ok(self.plan.add_kernel(scheduled, choice.schedule)),
            Err(why) => match verify(kernel) {
                Ok(()) => Ok(self.plan.add_plain_kernel(kernel.clone(), why)),
                // Beyond the proofs even as plain loops: what was meant is then checked where it is read.
                Err(unproven) => match kernel.with_checked_loads() {
                    Some(checked) => self.add_kernel(&checked, freedom),
                    None => Err(unproven),
                },
            },
        }
    }

    fn is_constant(&self, v: ValueId) -> bool {
        matches!(self.graph.defining(v).map(|n| &n.op), Some(Op::Constant(_)))
    }

    /// The buffer that a value is read from.
    fn read(&mut self, v: ValueId, layout: Layout, kernel: usize, buffer: usize) -> Result<Slot> {
        if let Some(Op::Constant(t)) = self.graph.defining(v).map(|n| &n.op) {
            if let Some((_, s)) =
                self.constants.get(&v).and_then(|all| all.iter().find(|(l, _)| *l == layout))
            {
                return Ok(*s);
            }
            let b = &self.plan.kernels[kernel].buffers[buffer];
            let slot = self.plan.add_buffer(PlanBuffer {
                name: self.graph.value_name(v),
                bytes: bytes(b.dtype, layout.size.clone()),
                place: Place::Constant {
                    tensor: Some(t.clone()),
                    dims: b.dims.clone(),
                    layout: layout.clone(),
                },
            });
            self.constants.entry(v).or_default().push((layout, slot));
            return Ok(slot);
        }
        if let Some(s) = self.slots.get(&v) {
            return Ok(*s);
        }
        match self.graph.value(v).def {
            Def::Input(n) => self.add(v, Place::Input(n)),
            Def::Node(..) => Err(Error::internal("a value is read before it is computed")),
        }
    }

    fn write(&mut self, v: ValueId) -> Result<Slot> {
        match self.graph.outputs().iter().position(|o| o.value == v) {
            Some(n) => self.add(v, Place::Output(n)),
            None => self.add(v, Place::Arena),
        }
    }

    fn add(&mut self, v: ValueId, place: Place) -> Result<Slot> {
        let Type::Tensor(ty) = self.graph.ty(v) else {
            return Err(Error::internal("a buffer for what is not a tensor"));
        };
        let count = ty.shape.iter().fold(Dim::ONE, |a, d| a * d.clone());
        let name = self.graph.value_name(v);
        let slot = self.plan.add_buffer(PlanBuffer { name, bytes: bytes(ty.dtype, count), place });
        self.slots.insert(v, slot);
        Ok(slot)
    }

    /// Outputs that no kernel writes (inputs, constants, one value twice) are copied.
    fn copy_outputs(&mut self) -> Result<()> {
        for (n, output) in self.graph.outputs().iter().enumerate() {
            let written = self.slots.get(&output.value);
            if let Some(s) = written
                && matches!(self.plan.buffers[s.0 as usize].place, Place::Output(m) if m == n)
            {
                continue;
            }
            let Type::Tensor(ty) = self.graph.ty(output.value) else {
                return Err(Error::internal("a buffer for what is not a tensor"));
            };
            let count = ty.shape.iter().fold(Dim::ONE, |a, d| a * d.clone());
            if ty.dtype == DType::Str {
                let message = format!("the output `{}` is {}, which no kernel copies", output.name, ty.dtype);
                return Err(Error::new(Code::NotLowered, message));
            }
            let mut k = Kernel::new("copy", self.graph.facts().clone());
            let x = k.input("x", ty.dtype, std::slice::from_ref(&count));
            let y = k.output("y", ty.dtype, std::slice::from_ref(&count));
            let i = k.add_axis("i");
            let value = k.load(x, vec![i.into()]);
            k.body = vec![for_each(i, count.clone(), vec![store(y, vec![i.into()], value)])];
            let layout = k.buffers[0].layout.clone();
            let number = self.add_kernel(&k, &Freedom::default())?;
            let from = self.read(output.value, layout, number, 0)?;
            let name = output.name.clone();
            let to = self.plan.add_buffer(PlanBuffer {
                name,
                bytes: bytes(ty.dtype, count),
                place: Place::Output(n),
            });
            self.plan.add_step(number, vec![from, to]);
        }
        Ok(())
    }
}

//! Programs that are run in a loop, as one program whose loop is inside.
//!
//! Comes in: a graph after its passes, small enough to be kept, whose outputs become its inputs; goes out: a graph of the same inputs and outputs that
//! is a `scan` of it over a number of runs that comes with each call. If its elements do not need each other, that is one kernel (a recurrence), and the
//! state of an element stays in registers through all runs instead of going through memory after each. Outputs that are no state are computed
//! after that, by one run more. Anything else is run as it was (`planned/`).

use crate::planned::{Going, Planned, PlannedSession, Sizes, Times, same_sizes};
use crate::program::Port;
use crate::session::Budget;
use lawson_graph::{
    Bindings, Builder, Code, DType, Dim, Graph, Op, Registry, Relation, Result, Symbol, Type, ValueId,
};
use lawson_kernel::{Action, Plan};
use std::sync::OnceLock;

/// A program that may be run in a loop as a whole.
pub(crate) struct Repeated {
    /// The loop, whose inputs are those of the program and one without bytes.
    graph: Graph,
    /// How many runs it does.
    steps: Symbol,
    /// Which outputs become which inputs.
    feeds: Vec<(usize, usize)>,
    /// Compiled when it is asked for; nothing if it is not launches alone.
    made: OnceLock<Option<Planned>>,
}

/// A loop of runs that is not one run after another: another plan, of which one run does several ([`Session::whole_loop`]).
///
/// [`Session::whole_loop`]: crate::Session::whole_loop
#[derive(Clone, Debug)]
pub struct LoopPlan<'s> {
    /// The plan.
    pub plan: &'s Plan,
    /// The values of its symbols.
    pub bindings: Bindings,
    /// How often it is run: once, or more often where one run of all would keep a device busy for too long.
    pub runs: u64,
}

/// The input that says how many runs there are.
const COUNT: &str = "the number of runs";

/// Operators and bytes of constants of graphs that are kept.
const MOST_NODES: usize = 512;
const MOST_BYTES: usize = 4096;

/// The seconds that a launch on a device may be predicted to take. Systems reset a device that does not answer, Windows after two seconds; and what
/// predicts is the model of a large device, so that this is for those that are a hundred times slower. What it costs is little: fifty
/// times a second, state goes through memory and the host waits.
const LONGEST: f64 = 0.02;

/// Runs that a session on a device has room for, at least: it need not be made anew for loops that are longer.
const ROOM: u64 = 1024;

/// Which outputs become inputs in a loop of runs: those that the signature says, and if there are none, those that have the type of the
/// input at their place.
pub(crate) fn feeds(inputs: &[Port], outputs: &[Port]) -> Vec<(usize, usize)> {
    let said: Vec<(usize, usize)> =
        outputs.iter().enumerate().filter_map(|(n, o)| Some((n, o.lives_in?))).collect();
    if !said.is_empty() {
        return said;
    }
    let pairs = inputs.iter().zip(outputs).enumerate();
    pairs.filter(|(_, (i, o))| i.ty == o.ty).map(|(n, _)| (n, n)).collect()
}

/// What a session has for loops of runs, for the sizes and the number of runs of the last.
#[derive(Debug)]
pub(crate) struct WholeLoop {
    inputs: Vec<Sizes>,
    times: u64,
    /// What does several runs at once, unless one after another is predicted to take less time.
    session: Option<PlannedSession>,
    /// How many it does at most.
    most: u64,
    /// How many its session has room for.
    room: u64,
}

impl Repeated {
    /// The loop of a graph with these ports, if it may be one kernel.
    pub(crate) fn of(graph: &Graph, feeds: Vec<(usize, usize)>) -> Option<Repeated> {
        if feeds.is_empty() || !is_small(graph) {
            return None;
        }
        let steps = unused(graph);
        let graph = looped(graph, &feeds, &steps).ok()?;
        Some(Repeated { graph, steps, feeds, made: OnceLock::new() })
    }

    /// The loop as a program for the target of another one, if it is launches alone.
    fn planned(&self, like: &Planned) -> Option<Planned> {
        if self.made.get().is_none() {
            let made = match like.compile(&self.graph) {
                Ok(made) => Some(made).filter(|m| is_launches(m.plan())),
                // A device that is lost is taken anew, and may then be asked again.
                Err(why) if why.code() == Code::Device => return None,
                // What cannot be compiled is run as it was.
                Err(_) => None,
            };
            // Another thread may have been first.
            let _ = self.made.set(made);
        }
        self.made.get()?.as_ref().map(|made| made.beside(like))
    }

    /// Makes a session fit a loop of so many runs of a program on inputs of these sizes. Nothing if they have to be run one after another.
    pub(crate) fn fit<'s, 'a>(
        &'s self,
        whole: &'s mut Option<Box<WholeLoop>>,
        planned: &Planned,
        inputs: impl ExactSizeIterator<Item = (DType, &'a [usize])> + Clone,
        times: Times<'s>,
        budget: &Budget,
    ) -> Result<Option<Going<'s>>> {
        if times.times < 2 || self.feeds != times.feeds || !times.is_free() {
            return Ok(None);
        }
        let fits = |w: &WholeLoop| w.times == times.times && same_sizes(&w.inputs, inputs.clone());
        if !whole.as_deref().is_some_and(fits) {
            let inputs = inputs.map(|(d, n)| (d, n.to_vec())).collect();
            let made = self.whole(whole.take(), planned, inputs, times.times, budget)?;
            *whole = Some(Box::new(made));
        }
        let Some(WholeLoop { session: Some(session), most, .. }) = whole.as_deref_mut() else {
            return Ok(None);
        };
        let times = if planned.is_on_device() { self.strides(times, *most) } else { Times::ONCE };
        Ok(Some(Going { session, times, more: Some(&[]) }))
    }

    /// A loop by so many runs at a time. Where they are not all, each stretch is waited for, so that a device answers in between.
    #[cfg(feature = "wgpu")]
    fn strides<'s>(&'s self, times: Times<'s>, most: u64) -> Times<'s> {
        let pace = if most < times.times { lawson_wgpu::Pace::EachIteration } else { times.pace };
        let most = std::num::NonZero::new(most).unwrap_or(std::num::NonZero::<u64>::MIN);
        Times { pace, stride: Some(lawson_wgpu::Stride { symbol: &self.steps, most }), ..times }
    }

    #[cfg(not(feature = "wgpu"))]
    fn strides<'s>(&'s self, _: Times<'s>, _: u64) -> Times<'s> {
        Times::ONCE
    }

    fn whole(
        &self,
        before: Option<Box<WholeLoop>>,
        planned: &Planned,
        inputs: Vec<Sizes>,
        times: u64,
        budget: &Budget,
    ) -> Result<WholeLoop> {
        let mut bindings = planned.bind(&inputs)?;
        let mut whole = WholeLoop { inputs, times, session: None, most: times, room: times };
        let (Some(looped), Ok(count)) = (self.planned(planned), i64::try_from(times)) else {
            return Ok(whole);
        };
        let one = planned.seconds(&bindings)?;
        bindings.define(self.steps.clone(), count, COUNT);
        let (Some(one), Some(all)) = (one, looped.seconds(&bindings)?) else { return Ok(whole) };
        if all >= times as f64 * one {
            return Ok(whole);
        }
        if looped.is_on_device() {
            if all > LONGEST {
                whole.most = ((times as f64 * LONGEST / all) as u64).clamp(1, times);
            }
            if let Some(before) = before.filter(|w| w.inputs == whole.inputs && w.room >= whole.most) {
                (whole.session, whole.room) = (before.session, before.room);
                return Ok(whole);
            }
            whole.room = whole.most.checked_next_power_of_two().unwrap_or(whole.most).max(ROOM);
        }
        loop {
            bindings.define(self.steps.clone(), i64::try_from(whole.room).unwrap_or(i64::MAX), COUNT);
            match looped.session(whole.inputs.clone(), bindings.clone(), budget) {
                Ok(session) => {
                    whole.session = Some(session);
                    whole.most = whole.most.min(whole.room);
                }
                // Some drivers leave loops that take long, and indices have so many bits: fewer runs at a time may do.
                Err(why) if why.code() == Code::NotEmitted && looped.is_on_device() && whole.room > 1 => {
                    whole.room /= 2;
                    continue;
                }
                // What does not fit so is run as it was.
                Err(why) if matches!(why.code(), Code::NotEmitted | Code::Budget) => {}
                Err(why) => return Err(why),
            }
            return Ok(whole);
        }
    }

    /// What a loop of so many runs is, if a session has one that is not one run after another.
    pub(crate) fn shown(&self, whole: &WholeLoop, times: Times<'_>) -> Option<LoopPlan<'_>> {
        let session = whole.session.as_ref().filter(|_| whole.times == times.times && times.is_free())?;
        let plan = self.made.get()?.as_ref()?.plan();
        let mut bindings = session.bindings().clone();
        bindings.define(self.steps.clone(), i64::try_from(whole.most).ok()?, COUNT);
        Some(LoopPlan { plan, bindings, runs: whole.times.div_ceil(whole.most.max(1)) })
    }
}

/// Whether a plan is nothing but launches: loops are kernels then, and nothing is left to the host.
fn is_launches(plan: &Plan) -> bool {
    plan.steps.iter().all(|step| matches!(step.action, Action::Launch { .. }))
}

/// Whether a graph is so small that keeping it costs nothing, and of operators that work on elements alone.
fn is_small(graph: &Graph) -> bool {
    let mut bytes = 0;
    let simple = |op: &Op, bytes: &mut usize| match op {
        Op::Constant(tensor) => {
            *bytes += tensor.bytes().len();
            true
        }
        Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Cast(_) => true,
        Op::Broadcast(_) | Op::Reshape(_) | Op::Slice(_) | Op::Concat(_) | Op::Iota(_) => true,
        _ => false,
    };
    // Narrow floats are wider in registers than in memory: steps that do not store them would round less often.
    let stays = |ty: &Type| match ty {
        Type::Tensor(t) => !t.dtype.is_float() || matches!(t.dtype, DType::F32 | DType::F64),
        _ => false,
    };
    graph.nodes().len() <= MOST_NODES
        && graph.nodes().iter().all(|n| simple(&n.op, &mut bytes))
        && graph.values().iter().all(|v| stays(&v.ty))
        && bytes <= MOST_BYTES
}

/// A symbol that the graph does not have.
fn unused(graph: &Graph) -> Symbol {
    let mut taken: Vec<Symbol> = Vec::new();
    for v in graph.values() {
        v.ty.visit_dims(&mut |d| d.visit_symbols(&mut |s| taken.push(s.clone())));
    }
    let mut name = "Steps".to_string();
    while taken.iter().any(|s| s.name() == name) {
        name.push('_');
    }
    graph.facts().fresh(&Symbol::new(name))
}

/// So many runs of the graph as one. Its inputs are the same and one that says how many, its outputs those of the last run.
fn looped(graph: &Graph, feeds: &[(usize, usize)], steps: &Symbol) -> Result<Graph> {
    let mut b = Builder::new(graph.name());
    for f in graph.facts().written() {
        b.fact(f.left.clone(), f.relation, f.right.clone())?;
    }
    let steps = Dim::from(steps.clone());
    b.fact(steps.clone(), Relation::Ge, 1)?;
    let mut inputs = Vec::new();
    for v in graph.inputs() {
        inputs.push(b.input(&graph.value_name(*v), graph.ty(*v).clone())?);
    }
    // Symbols come from sizes: those of an input without elements.
    b.input(COUNT, Type::tensor(DType::U8, [Dim::from(0), steps.clone()]))?;
    let fed = |n: &usize| feeds.iter().any(|(_, input)| input == n);
    let rest: Vec<usize> = (0..inputs.len()).filter(|n| !fed(n)).collect();
    let carried: Vec<ValueId> = feeds.iter().map(|(_, input)| inputs[*input]).collect();
    let captures: Vec<ValueId> = rest.iter().map(|n| inputs[*n]).collect();
    // Outputs that are no state are those of a run for itself.
    let all = feeds.len() == graph.outputs().len();
    let inside = if all { steps } else { steps - 1 };
    let states = b.scan(inside, &carried, &[], &captures, |body, given| {
        let mut arguments = vec![None; inputs.len()];
        let places = feeds.iter().map(|(_, input)| *input).chain(rest.iter().copied());
        places.zip(given).for_each(|(n, v)| arguments[n] = Some(*v));
        let arguments: Vec<ValueId> = arguments.into_iter().flatten().collect();
        let results = body.inline(graph, &arguments, Registry::standard(), &|d| d.clone())?;
        Ok(feeds.iter().map(|(output, _)| results[*output]).collect())
    })?;
    let results = if all {
        states
    } else {
        feeds.iter().zip(states).for_each(|((_, input), state)| inputs[*input] = state);
        b.inline(graph, &inputs, Registry::standard(), &|d| d.clone())?
    };
    for (output, v) in graph.outputs().iter().zip(results) {
        b.output(&output.name, v)?;
    }
    b.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planned::{Making, Unpacked};
    use crate::program::CompileTimes;
    use lawson_cpu::Isa;
    use lawson_cpu::team::Team;
    use lawson_kernel::partition::Fusion;

    /// Whether the loop of a graph is launches alone, if it may be.
    fn launches(text: &str) -> Option<bool> {
        let graph = Graph::parse(&format!("lawson 1\n{text}")).unwrap_or_else(|e| panic!("{e}"));
        let repeated = Repeated::of(&graph, vec![(0, 0)])?;
        let team = Team::new(1).unwrap_or_else(|e| panic!("{e}"));
        let code = Unpacked::new(
            &graph,
            Making::new(Isa::best(), None),
            Fusion::Predicted,
            &mut CompileTimes::default(),
        );
        let planned = code.and_then(|code| code.pack(Some(team))).unwrap_or_else(|e| panic!("{e}"));
        Some(repeated.planned(&planned).is_some())
    }

    #[test]
    fn a_loop_is_one_kernel_where_elements_do_not_need_each_other() {
        if let Some(feature) = lawson_cpu::host::missing_feature() {
            eprintln!("not tested: this machine has no {feature}");
            return;
        }
        let sine =
            "graph @f(%x: f32[N], %k: f32[N]) -> (x: f32[N]) { %s = sin %x %y = mul %s, %k return %y }";
        assert_eq!(launches(sine), Some(true));
        let turned = "graph @f(%x: f32[8]) -> (x: f32[8]) {
            %y = slice %x {start = [7], size = [8], step = [-1]} return %y }";
        assert_eq!(launches(turned), Some(false));
    }

    #[test]
    fn graphs_that_are_large_or_of_narrow_floats_are_not_kept() {
        assert_eq!(launches("graph @f(%x: f16[8]) -> (x: f16[8]) { %y = neg %x return %y }"), None);
        let sums = "graph @f(%x: f32[8, 8]) -> (x: f32[8, 8]) {
            %y = contract %x, %x {batch = [], sum = [[1, 0]]} return %y }";
        assert_eq!(launches(sums), None);
    }

    #[test]
    fn the_number_of_steps_is_named_as_nothing_else_is() {
        let text = "lawson 1 graph @f(%x: f32[Steps]) -> (x: f32[Steps]) { %y = neg %x return %y }";
        assert_eq!(Graph::parse(text).map(|g| unused(&g).name().to_string()), Ok("Steps_".to_string()));
    }
}

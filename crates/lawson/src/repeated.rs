//! Programs that are run in a loop, as one program whose loop is inside.
//!
//! Comes in: a graph after its passes, small enough to be kept, whose outputs become its inputs; goes out: a graph that is a `scan` of it over a
//! number of steps that comes with each run. If its elements do not need each other, that is one kernel (a recurrence), and the state of an
//! element stays in registers through all steps instead of going through memory after each. Anything else is run as it was
//! (`planned.rs`).

use crate::cpu::Isa;
use crate::planned::{Planned, PlannedSession, Times, Unpacked};
use crate::program::{CompileTimes, Port};
use crate::session::Budget;
use lawson_cpu::memory::Memory;
use lawson_cpu::team::Team;
use lawson_graph::{
    Bindings, Builder, Code, DType, Dim, Error, Graph, Op, Registry, Relation, Result, Symbol, Type, ValueId,
};
use lawson_kernel::Action;
use lawson_kernel::partition::Fusion;
use lawson_kernel::predict::predict_plan;
use std::sync::OnceLock;

/// A program that may be run in a loop as a whole.
pub(crate) struct Repeated {
    /// The loop, whose inputs are those of the program and one without bytes, and whose outputs are its state.
    graph: Graph,
    /// How many steps it has.
    steps: Symbol,
    isa: Isa,
    /// Which outputs become which inputs.
    feeds: Vec<(usize, usize)>,
    /// Whether these are all outputs there are.
    all: bool,
    /// Compiled when it is asked for; nothing if it is not one kernel.
    made: OnceLock<Option<Planned>>,
}

/// The input that says how many steps there are.
const COUNT: &str = "the number of steps";

/// Operators and bytes of constants of graphs that are kept.
const MOST_NODES: usize = 512;
const MOST_BYTES: usize = 4096;

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

impl Repeated {
    /// The loop of a graph with these ports, if it may be one kernel.
    pub(crate) fn of(graph: &Graph, isa: Isa, feeds: Vec<(usize, usize)>) -> Option<Repeated> {
        if isa == Isa::Portable || feeds.is_empty() || !is_small(graph) {
            return None;
        }
        let all = feeds.len() == graph.outputs().len();
        let steps = unused(graph);
        let graph = looped(graph, &feeds, &steps).ok()?;
        Some(Repeated { graph, steps, isa, feeds, all, made: OnceLock::new() })
    }

    /// The loop as a program, if it is one kernel.
    fn planned(&self, team: &Team) -> Option<Planned> {
        let make = || -> Result<Option<Planned>> {
            let made = Unpacked::new(&self.graph, self.isa, Fusion::Predicted, &mut CompileTimes::default())?;
            let one =
                matches!(&made.plan().steps[..], [step] if matches!(step.action, Action::Launch { .. }));
            if one { made.pack(Some(team.clone())).map(Some) } else { Ok(None) }
        };
        // What cannot be compiled is run as it was.
        let made = self.made.get_or_init(|| make().unwrap_or(None));
        made.as_ref().map(|m| m.with_team(team.clone()))
    }
}

/// What a session has for loops of runs, for the sizes and the number of runs of the last.
#[derive(Debug)]
pub(crate) struct WholeLoop {
    inputs: Vec<(DType, Vec<usize>)>,
    times: u64,
    /// The loop, unless one run after another is predicted to take less time.
    pub(crate) session: Option<PlannedSession>,
    /// Memory for the state that it leaves, and how many bytes of it: for the run that follows where the program has other outputs too.
    pub(crate) states: Vec<(Memory, usize)>,
}

impl Repeated {
    /// For an input, which of the states it is.
    pub(crate) fn state(&self, input: usize) -> Option<usize> {
        self.feeds.iter().position(|(_, n)| *n == input)
    }

    /// Makes a session fit a loop of so many runs on inputs of the sizes that `once` has, which runs one of them. Nothing if they have to be
    /// run one after another.
    pub(crate) fn fit<'w>(
        &self,
        whole: &'w mut Option<Box<WholeLoop>>,
        (planned, once): (&Planned, &PlannedSession),
        times: Times<'_>,
        (team, budget): (&Team, &Budget),
    ) -> Result<Option<&'w mut WholeLoop>> {
        if times.times < 2 || self.feeds != times.feeds || once.inputs.is_empty() {
            return Ok(None);
        }
        if !whole.as_ref().is_some_and(|w| w.times == times.times && w.inputs == once.inputs) {
            *whole = Some(Box::new(self.whole((planned, once), times.times, (team, budget))?));
        }
        Ok(whole.as_deref_mut().filter(|w| w.session.is_some()))
    }

    fn whole(
        &self,
        (planned, once): (&Planned, &PlannedSession),
        times: u64,
        (team, budget): (&Team, &Budget),
    ) -> Result<WholeLoop> {
        let mut whole = WholeLoop { inputs: once.inputs.clone(), times, session: None, states: Vec::new() };
        // One run is left for outputs that are no state.
        let steps = if self.all { times } else { times - 1 };
        let Some(in_one) = self.planned(team).filter(|_| steps > 1) else { return Ok(whole) };
        let mut bindings = once.bindings.clone();
        let Ok(count) = i64::try_from(steps) else { return Ok(whole) };
        bindings.define(self.steps.clone(), count, "the number of runs");
        let machine = self.isa.of(&lawson_cpu::host::machine());
        let seconds = |p: &Planned, bindings: &Bindings| -> Result<Option<f64>> {
            let steps = predict_plan(p.plan(), &machine, bindings, team.members())?;
            Ok(steps.into_iter().map(|p| Some(p?.seconds)).sum())
        };
        let (Some(one), Some(all)) = (seconds(planned, &once.bindings)?, seconds(&in_one, &bindings)?) else {
            return Ok(whole);
        };
        if all >= steps as f64 * one {
            return Ok(whole);
        }
        let session = in_one.session(once.inputs.clone(), bindings, budget)?;
        for bytes in session.output_bytes().filter(|_| !self.all) {
            let memory = Memory::zeroed(bytes.max(1)).map_err(|e| Error::new(Code::Budget, e.to_string()))?;
            whole.states.push((memory, bytes));
        }
        whole.session = Some(session);
        Ok(whole)
    }
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

/// The graph in a loop of so many steps. Its inputs are the same and one that says how many, its outputs those that become inputs.
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
    let results = b.scan(steps, &carried, &[], &captures, |body, given| {
        let mut arguments = vec![None; inputs.len()];
        let places = feeds.iter().map(|(_, input)| *input).chain(rest.iter().copied());
        places.zip(given).for_each(|(n, v)| arguments[n] = Some(*v));
        let arguments: Vec<ValueId> = arguments.into_iter().flatten().collect();
        let all = body.inline(graph, &arguments, Registry::standard(), &|d| d.clone())?;
        Ok(feeds.iter().map(|(output, _)| all[*output]).collect())
    })?;
    for ((output, _), v) in feeds.iter().zip(results) {
        b.output(&graph.outputs()[*output].name, v)?;
    }
    b.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_kernel(text: &str) -> Option<bool> {
        let graph = Graph::parse(&format!("lawson 1\n{text}")).ok()?;
        let repeated = Repeated::of(&graph, Isa::Avx512, vec![(0, 0)])?;
        Some(repeated.planned(&Team::new(1).ok()?).is_some())
    }

    #[test]
    fn a_loop_is_one_kernel_where_elements_do_not_need_each_other() {
        if lawson_cpu::host::missing_avx512().is_some() {
            return;
        }
        let sine =
            "graph @f(%x: f32[N], %k: f32[N]) -> (x: f32[N]) { %s = sin %x %y = mul %s, %k return %y }";
        assert_eq!(one_kernel(sine), Some(true));
        let turned = "graph @f(%x: f32[8]) -> (x: f32[8]) {
            %y = slice %x {start = [7], size = [8], step = [-1]} return %y }";
        assert_eq!(one_kernel(turned), Some(false));
    }

    #[test]
    fn graphs_that_are_large_or_of_narrow_floats_are_not_kept() {
        assert_eq!(one_kernel("graph @f(%x: f16[8]) -> (x: f16[8]) { %y = neg %x return %y }"), None);
        let sums = "graph @f(%x: f32[8, 8]) -> (x: f32[8, 8]) {
            %y = contract %x, %x {batch = [], sum = [[1, 0]]} return %y }";
        assert_eq!(one_kernel(sums), None);
    }

    #[test]
    fn the_number_of_steps_is_named_as_nothing_else_is() {
        let text = "lawson 1 graph @f(%x: f32[Steps]) -> (x: f32[Steps]) { %y = neg %x return %y }";
        assert_eq!(Graph::parse(text).map(|g| unused(&g).name().to_string()), Ok("Steps_".to_string()));
    }
}

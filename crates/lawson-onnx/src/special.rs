//! Importing a model for certain inputs: what it leaves open then follows from them.
//!
//! In: values for the inputs. Out: a graph for all inputs that agree with them where it matters. First nothing is taken from
//! the values; if an operator asks for elements that only a run has (a shape, axes, a number of iterations), the inputs that
//! they come from become known, and the import begins again; if that does not help, all small inputs and then all sizes do. Sizes also do
//! where the graph presupposes something of them, which may not hold for the inputs: a graph that fails in the run that it was imported for is of
//! no use, and what is made for few sizes only may as well be made for one.
//! A known input stays an input of the graph: only what has to be decided while importing is decided by it.

use crate::item::{Item, List, MAX_KNOWN, Maybe};
use lawson_graph::op::SeqAt;
use lawson_graph::{
    Bindings, Builder, Code, Error, Graph, HostTensor, Op, Relation, Result, SequenceType, Symbol, Type,
    Value, ValueId,
};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// What is taken from the values of the inputs.
#[derive(Debug, Default)]
pub(crate) struct Special<'v> {
    given: Option<&'v BTreeMap<String, Value>>,
    known: BTreeSet<String>,
    sizes: bool,
    needs: RefCell<BTreeSet<String>>,
    presupposes: Cell<bool>,
}

impl<'v> Special<'v> {
    fn new(given: &'v BTreeMap<String, Value>) -> Special<'v> {
        Special { given: Some(given), ..Special::default() }
    }

    /// Whether there are values that can be asked for.
    pub(crate) fn has_values(&self) -> bool {
        self.given.is_some()
    }

    /// Whether all sizes of what is given are taken for granted.
    pub(crate) fn fixes_sizes(&self) -> bool {
        self.sizes
    }

    /// The value that an input will have.
    pub(crate) fn value(&self, name: &str) -> Option<&'v Value> {
        self.given?.get(name)
    }

    /// The sizes that a tensor will have, if they are to be taken for granted.
    pub(crate) fn sizes(&self, name: &str) -> Option<&'v [usize]> {
        self.value(name)?.as_tensor().filter(|_| self.sizes).map(HostTensor::sizes)
    }

    /// Whether the elements of an input are taken for known.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.known.contains(name)
    }

    /// Takes note of inputs that the import could not do without.
    pub(crate) fn needs(&self, names: BTreeSet<String>) {
        self.needs.replace(names);
    }

    /// Takes note of whether the import presupposed something of open sizes.
    pub(crate) fn presupposes(&self, it_does: bool) {
        self.presupposes.set(it_does);
    }

    /// What an input of the graph stands for. A sequence is taken apart, an optional opened.
    pub(crate) fn input(&self, b: &mut Builder<'static>, name: &str, value: ValueId) -> Result<Item> {
        match self.value(name) {
            Some(Value::Tensor(t)) if self.known.contains(name) => Ok(Item::Known(value, t.clone())),
            Some(Value::Sequence(elements)) => sequence(b, name, value, elements),
            Some(Value::Optional(None)) => {
                let Type::Optional(inner) = b.ty(value).clone() else { return Ok(Item::Value(value)) };
                Ok(Item::Optional(Maybe::None(Some(*inner))))
            }
            Some(Value::Optional(Some(inner))) => {
                let content = b.op1(Op::OptGet, &[value])?;
                Ok(Item::Optional(Maybe::Some(Box::new(match &**inner {
                    Value::Sequence(elements) => sequence(b, name, content, elements)?,
                    _ => Item::Value(content),
                }))))
            }
            _ => Ok(Item::Value(value)),
        }
    }

    /// Takes more from the values than before; `false` if there is nothing more.
    fn widen(&mut self) -> bool {
        let before = self.known.len();
        // Bodies ask for what they are given, by names of their own.
        let needs = self.needs.take();
        self.known
            .extend(needs.into_iter().filter(|n| self.given.is_some_and(|given| given.contains_key(n))));
        if self.known.len() > before {
            return true;
        }
        let small = |v: &Value| v.as_tensor().is_some_and(|t| t.len() <= MAX_KNOWN && !t.dtype().is_float());
        let all = self.given.into_iter().flatten().filter(|(_, v)| small(v)).map(|(name, _)| name.clone());
        self.known.extend(all);
        self.known.len() > before || !std::mem::replace(&mut self.sizes, true)
    }
}

/// The elements of a sequence of the graph that will have these; that their sizes are the same is checked in a run.
fn sequence(b: &mut Builder<'static>, name: &str, value: ValueId, elements: &[HostTensor]) -> Result<Item> {
    let Type::Sequence(SequenceType { element, open, .. }) = b.ty(value).clone() else {
        return Err(Error::internal(format!("`{name}` is no sequence")));
    };
    let mut items = Vec::with_capacity(elements.len());
    for (i, given) in elements.iter().enumerate() {
        let fresh = |k: usize| b.facts().fresh(&Symbol::new(format!("{name}.{i}.{k}")));
        let defines: Vec<Symbol> = (0..open.len()).map(fresh).collect();
        let at = b.constant(HostTensor::scalar(i as i64))?;
        let missing = element.rank() - given.sizes().len().min(element.rank());
        let mut item = b.op1(Op::SeqAt(SeqAt { defines, missing }), &[value, at])?;
        if !open.is_empty() {
            for (dim, size) in b.shape(item)?.iter().zip(given.sizes()) {
                b.fact(dim.clone(), Relation::Eq, *size)?;
            }
            item = b.reshape(item, given.sizes())?;
        }
        items.push(Item::Value(item));
    }
    Ok(Item::Sequence(List { dtype: element.dtype, items }))
}

/// Imports with more and more taken from the values, as long as that may help.
pub(crate) fn import_for(
    given: &BTreeMap<String, Value>,
    import: impl Fn(&Special<'_>) -> Result<Graph>,
) -> Result<(Graph, Vec<String>)> {
    let mut special = Special::new(given);
    loop {
        match import(&special) {
            Ok(graph) if special.sizes || !special.presupposes.get() && holds(&graph, given) => {
                return Ok((graph, special.known.into_iter().collect()));
            }
            Ok(graph) => {
                special.sizes = true;
                let graph = import(&special).unwrap_or(graph);
                return Ok((graph, special.known.into_iter().collect()));
            }
            Err(e) if matches!(e.code(), Code::OnnxVersion | Code::Budget | Code::Io) => return Err(e),
            Err(e) => {
                if !special.widen() {
                    return Err(e);
                }
            }
        }
    }
}

/// Whether all that a graph says of sizes holds for those of the tensors.
fn holds(graph: &Graph, given: &BTreeMap<String, Value>) -> bool {
    let mut entries = Vec::new();
    for v in graph.inputs() {
        let name = graph.value_name(*v);
        let (Some(have), Type::Tensor(want)) = (given.get(&name).and_then(Value::as_tensor), graph.ty(*v))
        else {
            continue;
        };
        let sizes = have.sizes().iter().map(|s| i64::try_from(*s).unwrap_or(i64::MAX));
        entries.extend(want.shape.iter().cloned().zip(sizes).map(|(dim, size)| (dim, size, name.clone())));
    }
    Bindings::solve(&entries, graph.facts()).is_ok()
}

//! Calls to functions of the host program. In: operands, converted to `Value`s; out: results, checked against the
//! types that the call declares, whose sizes give the call's symbols their values.

use super::array::Array;
use super::machine::{Item, Machine};
use super::mode::Mode;
use super::signature::{self, Entry};
use crate::dim::Bindings;
use crate::error::{Code, Error, Result};
use crate::graph::Graph;
use crate::op::HostCall;
use crate::tensor::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A function that a graph may call.
pub type HostFunction = Arc<dyn Fn(&[Value]) -> Result<Vec<Value>> + Send + Sync>;

/// The functions that a graph may call, by name.
#[derive(Clone, Default)]
pub struct HostFunctions {
    functions: BTreeMap<String, HostFunction>,
}

impl HostFunctions {
    /// No functions.
    pub fn new() -> HostFunctions {
        HostFunctions::default()
    }

    /// Adds a function, replacing one of that name.
    pub fn insert(
        &mut self,
        name: impl Into<String>,
        function: impl Fn(&[Value]) -> Result<Vec<Value>> + Send + Sync + 'static,
    ) {
        self.functions.insert(name.into(), Arc::new(function));
    }

    /// The function of that name.
    pub fn get(&self, name: &str) -> Option<&HostFunction> {
        self.functions.get(name)
    }

    /// The names of all functions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(String::as_str)
    }
}

impl fmt::Debug for HostFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.functions.keys()).finish()
    }
}

pub(super) fn call<M: Mode>(
    machine: &mut Machine<'_, M>,
    graph: &Graph,
    op: &HostCall,
    operands: &[Item<M>],
) -> Result<Vec<Item<M>>> {
    let name = &op.name;
    let Some(function) = machine.options.host.get(name).cloned() else {
        let known: Vec<&str> = machine.options.host.names().collect();
        return Err(Error::new(Code::HostCall, format!("there is no host function `{name}`")).help(
            if known.is_empty() {
                "this run was given no host functions".to_string()
            } else {
                format!("this run was given {}", known.join(", "))
            },
        ));
    };
    let given: Vec<Value> = operands.iter().map(Item::encode).collect::<Result<_>>()?;
    let results = function(&given).map_err(|e| {
        let failed =
            Error::new(Code::HostCall, format!("the host function `{name}` failed: {}", e.message()));
        match e.help_text() {
            Some(help) => failed.help(help),
            None => failed,
        }
    })?;
    define(machine, graph, op, &results)?;
    // What the function would have made of other operands is not known.
    let exact = operands.iter().all(Item::is_exact);
    let mut items = Vec::with_capacity(results.len());
    for value in &results {
        let item = Item::decode(machine, value)?;
        items.push(if exact { item } else { machine.unknown(&item)? });
    }
    if !exact && !op.defines.is_empty() {
        machine.lose_track();
    }
    Ok(items)
}

/// Checks the results and gives the call's symbols their values.
fn define<M: Mode>(
    machine: &mut Machine<'_, M>,
    graph: &Graph,
    op: &HostCall,
    results: &[Value],
) -> Result<()> {
    let refuse =
        |message: String| Error::new(Code::HostCall, format!("host function `{}`: {message}", op.name));
    if results.len() != op.results.len() {
        return Err(refuse(format!("{} results were declared, {} came", op.results.len(), results.len())));
    }
    let mut entries: Vec<Entry> = Vec::new();
    for (i, (ty, value)) in op.results.iter().zip(results).enumerate() {
        signature::collect(ty, value, &format!("result {i}"), &mut entries)
            .map_err(|e| refuse(e.message().to_string()))?;
    }
    // Known symbols are fixed; the others are solved for.
    let known = |s: &crate::Symbol| {
        let new = op.defines.iter().any(|(d, _)| d == s);
        if new { None } else { machine.bindings.get(s) }
    };
    let open: Vec<Entry> = entries
        .into_iter()
        .map(|(dim, size, place)| (dim.substitute(&|s| known(s).map(crate::Dim::from)), size, place))
        .collect();
    let solved = Bindings::solve(&open, &crate::Facts::new()).map_err(|e| refuse(e.message().to_string()))?;
    for (symbol, bound) in &op.defines {
        let max = machine.bindings.eval(bound)?;
        let value = solved
            .get(symbol)
            .ok_or_else(|| refuse(format!("the results do not give `{symbol}` a value")))?;
        if value > max {
            return Err(refuse(format!("`{symbol}` is {value}, but at most {max} was declared")));
        }
        machine.bindings.define(symbol.clone(), value, format!("the results of `{}`", op.name));
    }
    for (i, (ty, value)) in op.results.iter().zip(results).enumerate() {
        signature::check_sequences(ty, value, &format!("result {i}"), &machine.bindings)
            .map_err(|e| refuse(e.message().to_string()))?;
    }
    machine.bindings.check(graph.facts())
}

impl<M: Mode> Item<M> {
    /// To a value of the host, by the best guesses.
    pub(super) fn encode(&self) -> Result<Value> {
        Ok(match self {
            Item::Tensor(x) => Value::Tensor(x.encode()?),
            Item::Sequence(v) => Value::Sequence(v.iter().map(Array::encode).collect::<Result<_>>()?),
            Item::Optional(None) => Value::Optional(None),
            Item::Optional(Some(inner)) => Value::Optional(Some(Box::new(inner.encode()?))),
        })
    }

    /// From a value of the host.
    pub(super) fn decode(machine: &Machine<'_, M>, value: &Value) -> Result<Item<M>> {
        let pool = &machine.pool;
        Ok(match value {
            Value::Tensor(t) => Item::Tensor(Array::decode(pool, t)?),
            Value::Sequence(v) => {
                Item::Sequence(v.iter().map(|t| Array::decode(pool, t)).collect::<Result<_>>()?)
            }
            Value::Optional(None) => Item::Optional(None),
            Value::Optional(Some(inner)) => Item::Optional(Some(Box::new(Item::decode(machine, inner)?))),
        })
    }

    fn is_exact(&self) -> bool {
        match self {
            Item::Tensor(x) => x.data().is_exact(),
            Item::Sequence(v) => v.iter().all(|x| x.data().is_exact()),
            Item::Optional(inner) => inner.as_ref().is_none_or(|i| i.is_exact()),
        }
    }
}

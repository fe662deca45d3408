//! The names that nodes of one ONNX graph can use.
//!
//! The body of a loop or branch sees the names around it. Lawson's bodies are closed graphs: values of the graph around
//! are passed in as captures and bound here under their names, while constants and dimensions are simply made again.

use crate::item::Item;
use crate::same::Key;
use lawson_graph::{Builder, Code, Dim, Error, Result, ValueId, nearest};
use std::collections::{HashMap, HashSet};

/// The longest name that is taken for a misspelt one.
pub(crate) const MAX_NEAR: usize = 80;

/// Names with what they stand for.
#[derive(Debug, Default)]
pub(crate) struct Scope<'a> {
    around: Option<(Around, &'a Scope<'a>)>,
    items: HashMap<String, Item>,
    /// Known items that already are nodes of this graph.
    made: HashMap<String, ValueId>,
    /// What nodes of this graph have computed.
    computed: HashMap<Key, Vec<Item>>,
    /// Symbols for elements of values that are sizes.
    sizes: HashMap<(ValueId, i64), Dim>,
    /// Values that no input decides on.
    free: HashSet<ValueId>,
    /// Values that count from 0, and what they stay below.
    below: HashMap<ValueId, Dim>,
    /// What its nodes may presuppose.
    pub(crate) stance: Stance,
}

/// What may be presupposed of the sizes that a node needs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Stance {
    /// The node counts in every run: what it needs becomes a fact of the graph, which a run is checked for.
    #[default]
    Fact,
    /// The node is in a body: what it needs of a value is checked there, when the body runs.
    Check,
    /// The node is computed in every run, and may not count: it needs nothing.
    Nothing,
}

/// How a scope sees the one around it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Around {
    /// Both belong to one graph, which shares its values.
    SameGraph,
    /// This is that of a closed body.
    OtherGraph,
}

impl<'a> Scope<'a> {
    /// The scope of a closed body in another scope.
    pub(crate) fn within(around: &'a Scope<'a>) -> Scope<'a> {
        let stance = match around.stance {
            Stance::Fact | Stance::Check => Stance::Check,
            Stance::Nothing => Stance::Nothing,
        };
        Scope { around: Some((Around::OtherGraph, around)), stance, ..Scope::default() }
    }

    /// The scope of a branch that becomes part of the graph around it.
    pub(crate) fn inside(around: &'a Scope<'a>) -> Scope<'a> {
        Scope { around: Some((Around::SameGraph, around)), stance: around.stance, ..Scope::default() }
    }

    /// The scope with what its nodes may presuppose.
    pub(crate) fn with_stance(mut self, stance: Stance) -> Scope<'a> {
        self.stance = stance;
        self
    }

    /// Gives a name its meaning; every name is defined once.
    pub(crate) fn define(&mut self, name: &str, item: Item) -> Result<()> {
        if self.items.insert(name.to_string(), item).is_some() {
            return Err(Error::new(Code::OnnxModel, format!("the value `{name}` is defined twice"))
                .help("every name of a model is that of one input, constant or result; rename one of them"));
        }
        Ok(())
    }

    /// The results of a node that computed the same.
    pub(crate) fn computed(&self, key: &Key) -> Option<Vec<Item>> {
        self.computed.get(key).cloned()
    }

    /// Remembers what a node computed.
    pub(crate) fn remember(&mut self, key: Key, results: Vec<Item>) {
        self.computed.insert(key, results);
    }

    /// The symbol that an element of a value has become.
    pub(crate) fn size(&self, value: ValueId, at: i64) -> Option<Dim> {
        let own = self.sizes.get(&(value, at)).cloned();
        own.or_else(|| match self.around {
            Some((Around::SameGraph, around)) => around.size(value, at),
            _ => None,
        })
    }

    /// Remembers the symbol of an element.
    pub(crate) fn remember_size(&mut self, value: ValueId, at: i64, size: Dim) {
        self.sizes.insert((value, at), size);
    }

    /// What a value of this graph that counts from 0 stays below.
    pub(crate) fn below(&self, value: ValueId) -> Option<&Dim> {
        self.below.get(&value).or_else(|| match self.around {
            Some((Around::SameGraph, around)) => around.below(value),
            _ => None,
        })
    }

    /// Says that a value is at least 0 and less than that.
    pub(crate) fn counts_below(&mut self, value: ValueId, limit: Dim) {
        self.below.insert(value, limit);
    }

    /// Whether it was found that no input decides on a value.
    pub(crate) fn is_free(&self, value: ValueId) -> bool {
        self.free.contains(&value)
    }

    /// Remembers that.
    pub(crate) fn remember_free(&mut self, values: HashSet<ValueId>) {
        self.free.extend(values);
    }

    /// What a name stands for here.
    pub(crate) fn find(&self, name: &str) -> Option<Item> {
        if let Some(item) = self.items.get(name) {
            return Some(item.clone());
        }
        let (how, around) = self.around?;
        // A value of another graph can be used only where it was captured, which binds its name here.
        around.find(name).filter(|item| how == Around::SameGraph || !item.has_values())
    }

    /// What a name stands for, or that it is unknown.
    pub(crate) fn get(&self, name: &str) -> Result<Item> {
        self.find(name).ok_or_else(|| self.unknown(format!("nothing defines the value `{name}`"), name))
    }

    /// That nothing has a name, with the name that may be meant.
    pub(crate) fn unknown(&self, message: String, name: &str) -> Error {
        let mut known: Vec<&str> = Vec::new();
        let mut scope = Some(self);
        while let Some(Scope { around, items, .. }) = scope {
            known.extend(items.keys().map(String::as_str));
            scope = around.map(|(_, around)| around);
        }
        // Maps have no order; the message should.
        known.sort_unstable();
        let error = Error::new(Code::OnnxModel, message);
        match nearest(name, known.into_iter().filter(|k| k.len() <= MAX_NEAR && !k.is_empty())) {
            Some(near) => error.help(format!("there is `{near}`, which may be meant")),
            None => error.help("no input, constant or node has this name; part of the model may be missing"),
        }
    }

    /// The value of the graph that a name stands for.
    pub(crate) fn value(&mut self, b: &mut Builder<'static>, name: &str) -> Result<ValueId> {
        if let Some(v) = self.made.get(name) {
            return Ok(*v);
        }
        let item = self.get(name)?;
        if let Some(v) = item.as_value() {
            return Ok(v);
        }
        let value = item.build(b)?;
        self.made.insert(name.to_string(), value);
        // A name that is taken already (by a constant of the graph around, say) is not needed twice.
        if b.value(value).name.is_none() {
            let _ = b.name(value, name);
        }
        Ok(value)
    }
}

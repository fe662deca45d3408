//! Composites: operators defined by their decomposition into other operators.
//!
//! A composite is a struct of attributes with a `CompositeDef`: a name and a function that builds the same result
//! from simpler operators. Its result types follow from the decomposition, so nothing has to be said twice. A
//! `Registry` maps names to composites for the text form; users add their own to it, or define one in the text as
//! a `composite` function (`function.rs`). To add one, follow `docs/add-an-operator.md`.

mod function;

pub use function::Function;

use crate::attr::{Attr, AttrReader, Attributes};
use crate::builder::Builder;
use crate::error::{Code, Error, Result};
use crate::graph::ValueId;
use crate::op::{Infer, Op};
use crate::types::Type;
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A composite as a node holds it.
pub type CompositeRef = Arc<dyn Composite>;

/// What the compiler asks of a composite. Implement `CompositeDef` instead, which gives this.
pub trait Composite: fmt::Debug + Send + Sync + Any {
    /// The name in the text form.
    fn name(&self) -> &str;
    /// The attributes for printing.
    fn attrs(&self) -> Vec<(&'static str, Attr)>;
    /// The same composite with other attributes.
    fn with_attrs(&self, reader: &mut AttrReader) -> Result<CompositeRef>;
    /// Builds the same results from simpler operators.
    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>>;
    /// For finding out which composite it is.
    fn as_any(&self) -> &dyn Any;
}

/// The definition of a composite: attributes (see the `attributes!` macro), a name, a decomposition.
pub trait CompositeDef: Attributes + fmt::Debug + Send + Sync + 'static {
    /// The name in the text form.
    const NAME: &'static str;
    /// Builds the same results from simpler operators. Operand errors are best made by `b.expect_…`.
    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>>;
}

impl<T: CompositeDef> Composite for T {
    fn name(&self) -> &str {
        T::NAME
    }

    fn attrs(&self) -> Vec<(&'static str, Attr)> {
        self.to_attrs()
    }

    fn with_attrs(&self, reader: &mut AttrReader) -> Result<CompositeRef> {
        Ok(Arc::new(T::from_attrs(reader)?))
    }

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        CompositeDef::decompose(self, b, inputs)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The result types of a composite: those of its decomposition.
pub(crate) fn infer(composite: &dyn Composite, cx: Infer<'_>) -> Result<Vec<Type>> {
    if let Some(function) = composite.as_any().downcast_ref::<Function>() {
        return function.infer(cx);
    }
    let mut b = Builder::scratch(composite.name(), cx.facts);
    let inputs: Vec<ValueId> = cx
        .inputs
        .iter()
        .enumerate()
        .map(|(i, ty)| b.input(&i.to_string(), (*ty).clone()))
        .collect::<Result<_>>()?;
    let results = composite.decompose(&mut b, &inputs)?;
    Ok(results.into_iter().map(|v| b.ty(v).clone()).collect())
}

type Read = fn(&mut AttrReader) -> Result<CompositeRef>;

/// The composites that a text may name.
#[derive(Clone, Default)]
pub struct Registry {
    entries: BTreeMap<&'static str, Read>,
    functions: BTreeMap<String, Arc<Function>>,
}

impl Registry {
    /// No composites.
    pub fn empty() -> Registry {
        Registry::default()
    }

    /// Lawson's own composites.
    pub fn standard() -> &'static Registry {
        static STANDARD: OnceLock<Registry> = OnceLock::new();
        STANDARD.get_or_init(Registry::default)
    }

    /// Adds a composite defined in Rust.
    pub fn register<T: CompositeDef>(&mut self) -> &mut Registry {
        self.entries.insert(T::NAME, |reader| Ok(Arc::new(T::from_attrs(reader)?)));
        self
    }

    /// Adds a composite defined as a graph.
    pub fn register_function(&mut self, function: Arc<Function>) -> Result<()> {
        let name = Composite::name(&*function).to_string();
        if self.functions.contains_key(&name)
            || self.entries.contains_key(name.as_str())
            || is_primitive(&name)
        {
            return Err(Error::new(Code::DuplicateName, format!("there is already an operator `{name}`")));
        }
        self.functions.insert(name, function);
        Ok(())
    }

    /// The names of all composites.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().copied().chain(self.functions.keys().map(String::as_str))
    }

    /// Whether the name is that of a composite defined in Rust.
    pub(crate) fn has_entry(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The composite of that name with those attributes.
    pub fn read(&self, name: &str, reader: &mut AttrReader) -> Result<CompositeRef> {
        if let Some(read) = self.entries.get(name) {
            return read(reader);
        }
        if let Some(function) = self.functions.get(name) {
            return Ok(function.clone());
        }
        let known = Op::primitive_names().into_iter().chain(self.names());
        let error = Error::new(Code::UnknownName, format!("there is no operator `{name}`"));
        Err(match nearest(name, known) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("`lawson ops` lists the operators"),
        })
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Whether the name is that of a primitive.
pub(crate) fn is_primitive(name: &str) -> bool {
    name == "constant" || Op::primitive_names().contains(&name)
}

/// The known name that differs least from `name`, if the difference is small.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = 1 + name.chars().count() / 4;
    if name.len() > 64 {
        return None;
    }
    known
        .into_iter()
        .map(|k| (distance(name, k), k))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// How many insertions, deletions and replacements lead from one to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

//! Composites: operators defined by their decomposition into other operators.
//!
//! A composite is a struct of attributes with a `CompositeDef`: a name and a function that builds the same result
//! from simpler operators. Its result types follow from the decomposition, so nothing has to be said twice. A
//! `Registry` maps names to composites for the text form; users add their own to it, or define one in the text as
//! a `composite` function (`function.rs`). To add one, follow `docs/add-an-operator.md`.
//!
//! A float attribute (a slope, an epsilon, a ratio) and every constant of a formula is a number of the dtype that the
//! composite computes in: it is rounded to that dtype first, and 1/6 in f32 is not 1/6 in f64.

mod activation;
mod attention;
mod example;
mod function;
mod linear;
mod loss;
mod norm;
mod operand;
mod piecewise;
mod pool;
mod quant;
mod random;
mod select;
mod softmax;
mod statistic;

pub use activation::{Gelu, GeluForm, Mish, Sigmoid, Silu, Softplus, Softsign};
pub use attention::{Attention, Causal};
pub use example::example;
pub use function::Function;
pub use linear::{Linear, WeightLayout};
pub use loss::{CrossEntropy, MseLoss, NllLoss, Reduction};
pub use norm::{BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RmsNorm};
pub use piecewise::{Celu, Clip, Elu, HardSigmoid, HardSwish, LeakyRelu, Prelu, Relu, Selu};
pub use pool::{AvgPool, GlobalAvgPool, GlobalLpPool, GlobalMaxPool, LpPool, MaxPool};
pub use quant::{Dequantise, Quantise};
pub use random::Dropout;
pub use select::{ArgMax, ArgMin, NonZero, OneHot, TopK};
pub use softmax::{LogSoftmax, LogSumExp, Softmax};
pub use statistic::{Mean, Variance};

use crate::attr::{Attr, AttrReader, Attributes};
use crate::builder::Builder;
use crate::dim::{Dim, Symbol};
use crate::error::{Code, Error, Result};
use crate::graph::{Graph, ValueId};
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
    /// The symbols that its decomposition defines at run time, with their upper bounds.
    fn defines(&self, _inputs: &[&Type]) -> Vec<(Symbol, Dim)> {
        Vec::new()
    }
    /// What targets promise that compute the composite as a whole; none do if there is no promise.
    fn promise(&self) -> Option<Promise> {
        None
    }
    /// Whether it is the same composite with the same attributes.
    fn same(&self, other: &dyn Composite) -> bool {
        self.name() == other.name() && self.attrs() == other.attrs()
    }
    /// For finding out which composite it is.
    fn as_any(&self) -> &dyn Any;
}

/// What targets promise that compute a composite of one float as a whole and not by its decomposition: to be near to what that gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// How far off an element may be, in units in the last place of the accumulator dtype.
    pub units: f64,
    /// The range that no element leaves.
    pub range: (f64, f64),
}

/// The definition of a composite: attributes (see the `attributes!` macro), a name, a decomposition.
pub trait CompositeDef: Attributes + fmt::Debug + Send + Sync + 'static {
    /// The name in the text form.
    const NAME: &'static str;
    /// Builds the same results from simpler operators. It starts by checking the operands (`Builder::check`), so
    /// that errors speak of this composite and not of its parts. A result may be an operand itself.
    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>>;
    /// The symbols that the decomposition defines at run time (by `symbol`), with their upper bounds.
    fn defines(&self, _inputs: &[&Type]) -> Vec<(Symbol, Dim)> {
        Vec::new()
    }
    /// What targets promise that compute it as a whole, if any do. Error bounds are widened by that.
    fn promise(&self) -> Option<Promise> {
        None
    }
    /// Small graphs of constant shapes that use the composite, at least one; together they show its optional operands
    /// and its attributes. Tools and tests run the composite on them. See `example`.
    fn examples() -> Result<Vec<Graph>>;
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

    fn defines(&self, inputs: &[&Type]) -> Vec<(Symbol, Dim)> {
        CompositeDef::defines(self, inputs)
    }

    fn promise(&self) -> Option<Promise> {
        CompositeDef::promise(self)
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

/// What the registry keeps of a composite defined in Rust.
#[derive(Clone, Copy)]
struct Entry {
    read: fn(&mut AttrReader) -> Result<CompositeRef>,
    examples: fn() -> Result<Vec<Graph>>,
}

/// The composites that a text may name.
#[derive(Clone, Default)]
pub struct Registry {
    entries: BTreeMap<&'static str, Entry>,
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
        STANDARD.get_or_init(|| {
            let mut r = Registry::empty();
            r.register::<Linear>().register::<Attention>().register::<Dropout>();
            r.register::<Relu>()
                .register::<LeakyRelu>()
                .register::<Prelu>()
                .register::<Elu>()
                .register::<Selu>();
            r.register::<Celu>().register::<HardSigmoid>().register::<HardSwish>().register::<Clip>();
            r.register::<Sigmoid>().register::<Silu>().register::<Mish>().register::<Gelu>();
            r.register::<Softplus>().register::<Softsign>();
            r.register::<Softmax>().register::<LogSoftmax>().register::<LogSumExp>();
            r.register::<Mean>().register::<Variance>();
            r.register::<LayerNorm>().register::<RmsNorm>().register::<GroupNorm>();
            r.register::<InstanceNorm>().register::<BatchNorm>();
            r.register::<MaxPool>().register::<AvgPool>().register::<LpPool>();
            r.register::<GlobalMaxPool>().register::<GlobalAvgPool>().register::<GlobalLpPool>();
            r.register::<ArgMax>().register::<ArgMin>().register::<OneHot>().register::<TopK>();
            r.register::<NonZero>();
            r.register::<CrossEntropy>().register::<NllLoss>().register::<MseLoss>();
            r.register::<Quantise>().register::<Dequantise>();
            r
        })
    }

    /// Adds a composite defined in Rust.
    pub fn register<T: CompositeDef>(&mut self) -> &mut Registry {
        let entry = Entry { read: |reader| Ok(Arc::new(T::from_attrs(reader)?)), examples: T::examples };
        self.entries.insert(T::NAME, entry);
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

    /// Graphs that use each composite: every name with at least one. A function's example is a call of it with
    /// operands of the types that it declares.
    pub fn examples(&self) -> Result<Vec<(&str, Vec<Graph>)>> {
        let mut all = Vec::new();
        for (name, entry) in &self.entries {
            all.push((*name, (entry.examples)()?));
        }
        for (name, function) in &self.functions {
            all.push((name.as_str(), vec![example::call(function)?]));
        }
        Ok(all)
    }

    /// Whether the name is that of a composite defined in Rust.
    pub(crate) fn has_entry(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The composite of that name with those attributes.
    pub fn read(&self, name: &str, reader: &mut AttrReader) -> Result<CompositeRef> {
        if let Some(entry) = self.entries.get(name) {
            return (entry.read)(reader);
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

//! One node of a model as the functions of `op/` see it: its operands, its attributes, and the builder.
//!
//! Operands are asked for as values of the graph ([`NodeCx::value`]) or, where the operator needs to know them, as integers
//! ([`NodeCx::dims_of`], [`NodeCx::ints_of`]). An attribute that nobody asked for is an error after the node is built: it
//! would change the meaning.

use crate::import::Model;
use crate::item::{DimTensor, Item};
use crate::proto::{AttributeProto, GraphProto, NodeProto, attribute_type as kind};
use crate::scope::{Scope, Stance};
use lawson_graph::op::HostCall;
use lawson_graph::{
    Builder, Code, DType, Dim, Error, Fact, HostTensor, Op, Place, Relation, Result, Shape, Type, ValueId,
};
use std::cell::RefCell;
use std::collections::HashSet;

/// A node that is being imported.
pub(crate) struct NodeCx<'a, 's> {
    /// Builds the graph.
    pub(crate) b: &'a mut Builder<'static>,
    /// The names around the node.
    pub(crate) scope: &'a mut Scope<'s>,
    /// What holds for the whole model.
    pub(crate) model: &'a Model<'a>,
    /// The node.
    pub(crate) node: &'a NodeProto,
    /// The version of the operator set that the node is written in.
    pub(crate) version: i64,
    /// How many bodies and functions are around the node.
    pub(crate) depth: usize,
    read: RefCell<HashSet<&'static str>>,
    /// The operands that were asked for.
    taken: RefCell<HashSet<usize>>,
}

impl<'a, 's> NodeCx<'a, 's> {
    pub(crate) fn new(
        b: &'a mut Builder<'static>,
        scope: &'a mut Scope<'s>,
        model: &'a Model<'a>,
        node: &'a NodeProto,
        version: i64,
        depth: usize,
    ) -> NodeCx<'a, 's> {
        NodeCx { b, scope, model, node, version, depth, read: RefCell::default(), taken: RefCell::default() }
    }

    /// The operator's name.
    pub(crate) fn op(&self) -> &'a str {
        self.node.op_type.as_deref().unwrap_or_default()
    }

    // Errors.

    /// Something about the node that contradicts the format.
    pub(crate) fn wrong(&self, message: impl Into<String>) -> Error {
        Error::new(Code::OnnxModel, message)
    }

    /// Something about the node that is allowed, but not imported.
    pub(crate) fn unsupported(&self, message: impl Into<String>) -> Error {
        Error::new(Code::OnnxUnsupported, message)
    }

    /// That an attribute is a word which is none of those that it can be.
    pub(crate) fn no_such(&self, attribute: &str, word: &str, words: &[&str]) -> Error {
        self.wrong(format!("`{attribute}` of `{}` is `{word}`", self.op()))
            .help(format!("it can be {}", words.join(", ")))
    }

    fn attribute_error(&self, name: &str, message: impl Into<String>) -> Error {
        self.wrong(message).at(Place::Attribute { op: self.op().to_string(), name: name.to_string() })
    }

    // Operands.

    /// How many operands are written, absent ones among them included.
    pub(crate) fn operands(&self) -> usize {
        self.node.input.len()
    }

    /// Whether operand `i` is there.
    pub(crate) fn has(&self, i: usize) -> bool {
        self.taken.borrow_mut().insert(i);
        self.node.input.get(i).is_some_and(|name| !name.is_empty())
    }

    /// Whether result `i` is named, so that something may use it.
    pub(crate) fn wants(&self, i: usize) -> bool {
        self.node.output.get(i).is_some_and(|name| !name.is_empty())
    }

    /// Refuses to give results from `i` on.
    pub(crate) fn only_results(&self, count: usize) -> Result<()> {
        match (count..self.node.output.len()).find(|i| self.wants(*i)) {
            Some(i) => Err(self.unsupported(format!("result {i} of `{}` is not imported", self.op()))),
            None => Ok(()),
        }
    }

    fn name_of(&self, i: usize) -> Result<&'a str> {
        self.taken.borrow_mut().insert(i);
        match self.node.input.get(i) {
            Some(name) if !name.is_empty() => Ok(name),
            _ => {
                let given = self.node.input.iter().filter(|n| !n.is_empty()).count();
                let (op, plural) = (self.op(), if given == 1 { "" } else { "s" });
                Err(self
                    .wrong(format!("`{op}` needs operand {i}, which is not given"))
                    .help(format!("the node has {given} operand{plural}; they count from 0")))
            }
        }
    }

    /// Marks an operand as one that changes nothing.
    pub(crate) fn ignore_operand(&self, i: usize) {
        self.taken.borrow_mut().insert(i);
    }

    /// What operand `i` stands for.
    pub(crate) fn item(&self, i: usize) -> Result<Item> {
        self.scope.get(self.name_of(i)?)
    }

    /// Operand `i` as a value of the graph.
    pub(crate) fn value(&mut self, i: usize) -> Result<ValueId> {
        let name = self.name_of(i)?;
        self.scope.value(self.b, name)
    }

    /// Operand `i` as a value of the graph, if it is there.
    pub(crate) fn optional(&mut self, i: usize) -> Result<Option<ValueId>> {
        if self.has(i) { self.value(i).map(Some) } else { Ok(None) }
    }

    /// All operands as values of the graph.
    pub(crate) fn values(&mut self) -> Result<Vec<ValueId>> {
        (0..self.operands()).map(|i| self.value(i)).collect()
    }

    /// The dtype and the shape of operand `i`.
    pub(crate) fn tensor_type(&self, i: usize) -> Result<(DType, Shape)> {
        self.item(i)?.tensor_type(self.b)
    }

    /// The shape of operand `i`.
    pub(crate) fn shape(&self, i: usize) -> Result<Shape> {
        Ok(self.tensor_type(i)?.1)
    }

    /// Operand `i` as integers that must be known when the model is imported.
    pub(crate) fn dims_of(&self, i: usize, what: &str) -> Result<DimTensor> {
        let item = self.item(i)?;
        item.dims().ok_or_else(|| self.unknown(i, &item, what))
    }

    /// That the elements of an operand would have to be known; says so to those who can tell the import what they are.
    pub(crate) fn unknown(&self, i: usize, item: &Item, what: &str) -> Error {
        if let Item::Value(v) = item {
            self.model.shared.asked.borrow_mut().extend(sources(self.b, *v));
        }
        self.unsupported(format!(
            "the {what} of `{}` (operand {i}) is computed when the model runs",
            self.op()
        ))
        .help("it must follow from constants and from the shapes of the inputs; or import the model for given inputs (`--input FILE`)")
    }

    /// Whether an operand is a value whose elements are known for the runs that the model is imported for.
    pub(crate) fn has_known(&self) -> bool {
        let known = |name: &String| matches!(self.scope.find(name), Some(Item::Known(..)));
        self.node.input.iter().any(known)
    }

    /// Operand `i` as integers that must be constants.
    pub(crate) fn ints_of(&self, i: usize, what: &str) -> Result<Vec<i64>> {
        let dims = self.dims_of(i, what)?.dims;
        let constant = |d: &Dim| {
            d.as_const().ok_or_else(|| {
                self.unsupported(format!(
                    "the {what} of `{}` (operand {i}) is `{d}`, not a constant",
                    self.op()
                ))
            })
        };
        dims.iter().map(constant).collect()
    }

    /// Operand `i` as a tensor that must be a constant.
    pub(crate) fn constant_of(&self, i: usize, what: &str) -> Result<HostTensor> {
        let item = self.item(i)?;
        item.constant().cloned().ok_or_else(|| self.unknown(i, &item, what))
    }

    /// An axis counted from 0, from one that may count from the end.
    pub(crate) fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        let from_start = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
        usize::try_from(from_start).ok().filter(|a| *a < rank).ok_or_else(|| {
            self.wrong(format!(
                "axis {axis} of `{}` is not an axis of a tensor with {rank} dimensions",
                self.op()
            ))
            .help(match rank {
                0 => "a scalar has no axes".to_string(),
                _ => format!("its axes are -{rank} to {}; negative ones count from the end", rank - 1),
            })
        })
    }

    /// Axes counted from 0, each once.
    pub(crate) fn axes(&self, axes: &[i64], rank: usize) -> Result<Vec<usize>> {
        let mut out = Vec::with_capacity(axes.len());
        for a in axes {
            let axis = self.axis(*a, rank)?;
            if out.contains(&axis) {
                return Err(self.wrong(format!("axis {a} of `{}` is given twice", self.op())));
            }
            out.push(axis);
        }
        Ok(out)
    }

    /// Makes a precondition of the model a fact: two dimensions that must be equal, where that does not follow from what is
    /// known. A run is then checked for it. Where facts cannot be stated, nothing is assumed.
    pub(crate) fn assume_equal(&mut self, a: &Dim, b: &Dim) -> Result<()> {
        let facts = self.b.facts();
        if self.scope.stance != Stance::Fact || facts.equal(a, b) || facts.differ(a, b) {
            return Ok(());
        }
        let (a, b) = if a.as_const().is_some() { (b, a) } else { (a, b) };
        self.state_equal(a.clone(), b.clone())
    }

    /// States that two sizes are equal. Where that would put a size which is found later in a run in the place of one that is there before,
    /// it is said as two comparisons, which replace nothing.
    fn state_equal(&mut self, a: Dim, b: Dim) -> Result<()> {
        let fact = Fact::new(a.clone(), Relation::Eq, b.clone());
        let facts = self.b.facts();
        let is_late = facts.replacement(&fact).is_some_and(|(old, new)| {
            let mut found = false;
            new.visit_symbols(&mut |s| found |= self.b.is_defined(s));
            found && facts.age(&new) > facts.age(&old)
        });
        if !is_late {
            return self.b.fact(a, Relation::Eq, b);
        }
        self.b.fact(a.clone(), Relation::Ge, b.clone())?;
        self.b.fact(a, Relation::Le, b)
    }

    /// The same for a difference that must not be negative; whether that is known from then on.
    pub(crate) fn assume_at_least(&mut self, a: &Dim, b: &Dim) -> bool {
        let facts = self.b.facts();
        if facts.proves_ge(a, b) {
            return true;
        }
        if self.scope.stance != Stance::Fact || facts.is_positive(&(b.clone() - a.clone())) {
            return false;
        }
        // `-N + 480000 >= 0` reads better as `N <= 480000`.
        let (high, low) = sides(&(a.clone() - b.clone()));
        self.model.shared.presupposes.set(true);
        let stated = match high.as_const() {
            Some(_) => self.b.fact(low, Relation::Le, high),
            None => self.b.fact(high, Relation::Ge, low),
        };
        stated.is_ok() && self.b.facts().proves_ge(a, b)
    }

    /// Assumes that shapes have as many elements. What both have is left out, and what is asked of the rest is written as a
    /// remainder where it is one.
    pub(crate) fn assume_same_elements(&mut self, a: &[Dim], b: &[Dim]) -> Result<()> {
        let facts = self.b.facts();
        let total = |dims: &[Dim]| dims.iter().cloned().product::<Dim>();
        if self.scope.stance != Stance::Fact || facts.equal(&total(a), &total(b)) {
            return Ok(());
        }
        let (mut left, mut right) = (a.to_vec(), b.to_vec());
        left.retain(|l| match right.iter().position(|r| facts.equal(l, r)) {
            Some(at) => {
                right.swap_remove(at);
                false
            }
            None => true,
        });
        let (mut left, mut right) = (facts.simplify(&total(&left)), facts.simplify(&total(&right)));
        if let Some(rest) = left.other_factor(&right).or_else(|| right.other_factor(&left)) {
            (left, right) = (rest, Dim::ONE);
        }
        if left.is_overflow() || right.is_overflow() || facts.differ(&left, &right) {
            return Ok(());
        }
        self.model.shared.presupposes.set(true);
        // `T == 4*(T / 4)` reads better as `T % 4 == 0`.
        let remainder = remainder(&left, &right).or_else(|| remainder(&right, &left));
        // What contradicts the rest is refused where the node is built, in terms of the node.
        let _ = match (remainder, left.as_const()) {
            (Some(remainder), _) => self.b.fact(remainder, Relation::Eq, 0),
            (None, Some(_)) => self.state_equal(right, left),
            (None, None) => self.state_equal(left, right),
        };
        Ok(())
    }

    /// Makes it a fact that two sizes are equal, or has it checked in the body that the node is in; whether that is possible.
    pub(crate) fn require_equal(&mut self, a: &Dim, b: &Dim) -> Result<bool> {
        if !self.b.facts().equal(a, b) {
            self.model.shared.presupposes.set(true);
        }
        self.assume_equal(a, b)?;
        if self.b.facts().equal(a, b) {
            return Ok(true);
        }
        if self.scope.stance != Stance::Check || self.b.facts().differ(a, b) {
            return Ok(false);
        }
        let truth = self.b.scalar(DType::Bool, 1.0)?;
        let of_size = self.b.broadcast_to(truth, [a.clone()])?;
        // Nothing uses the result: it stays for what it checks.
        fits(self.b, of_size, std::slice::from_ref(b), Unused::Kept)?;
        Ok(true)
    }

    /// The value as one of this shape, which has as many dimensions: what does not follow from what is known is made a fact, or
    /// is checked where the value is in a body. `None` if neither can be.
    pub(crate) fn fitted(&mut self, x: ValueId, dims: &[Dim]) -> Result<Option<ValueId>> {
        let shape = self.b.shape(x)?;
        for (a, b) in shape.iter().zip(dims) {
            if !self.b.facts().equal(a, b) {
                self.model.shared.presupposes.set(true);
                self.assume_equal(a, b)?;
            }
        }
        let facts = self.b.facts();
        if shape.iter().zip(dims).all(|(a, b)| facts.equal(a, b)) {
            return Ok(Some(x));
        }
        let possible = !shape.iter().zip(dims).any(|(a, b)| facts.differ(a, b));
        if self.scope.stance != Stance::Check || !possible || self.b.dtype(x)? == DType::Str {
            return Ok(None);
        }
        checked(self.b, x, dims).map(Some)
    }

    /// Operands 0 and 1. Before version 7 the second is laid over the first from an axis on, if an attribute says so; from then
    /// on, dimensions are aligned at the end.
    pub(crate) fn pair(&mut self) -> Result<(ValueId, ValueId)> {
        let (a, mut b) = (self.value(0)?, self.value(1)?);
        if self.version < 7 && self.flag("broadcast", false)? {
            let (whole, part) = (self.b.shape(a)?, self.b.shape(b)?);
            if let Some(axis) = self.int("axis")? {
                let axis = self.axis(axis, whole.rank())?;
                if axis + part.rank() > whole.rank() {
                    return Err(self.wrong(format!("{part} does not lie over {whole} from axis {axis} on")));
                }
                let behind = whole.rank() - axis - part.rank();
                let dims = part.iter().cloned().chain(std::iter::repeat_n(Dim::ONE, behind));
                b = self.b.reshape(b, dims.collect::<Shape>())?;
            }
        }
        self.assume_broadcast(&[a, b])?;
        Ok((a, b))
    }

    /// Assumes that values broadcast against one another: that aligned dimensions, neither of which is 1, are equal.
    pub(crate) fn assume_broadcast(&mut self, values: &[ValueId]) -> Result<()> {
        let shapes = values.iter().map(|v| self.b.shape(*v)).collect::<Result<Vec<_>>>()?;
        let rank = shapes.iter().map(Shape::rank).max().unwrap_or(0);
        for from_end in 1..=rank {
            let at = |s: &Shape| s.rank().checked_sub(from_end).map(|i| s[i].clone()).filter(|d| !d.is(1));
            let dims: Vec<Dim> = shapes.iter().filter_map(at).collect();
            for pair in dims.windows(2) {
                self.assume_equal(&pair[0], &pair[1])?;
            }
        }
        Ok(())
    }

    // Attributes.

    fn attribute(&self, name: &'static str, kind: i32) -> Result<Option<&'a AttributeProto>> {
        self.read.borrow_mut().insert(name);
        let mut named = self.node.attribute.iter().filter(|a| a.name.as_deref() == Some(name));
        let Some(found) = named.next() else { return Ok(None) };
        if named.next().is_some() {
            return Err(self
                .attribute_error(name, "the attribute is given twice")
                .help("remove one of them"));
        }
        if found.ref_attr_name.as_ref().is_some_and(|n| !n.is_empty()) {
            return Err(
                self.attribute_error(name, "a reference to a function's attribute outside a function")
            );
        }
        // Old models leave the type out; then the field that is there decides.
        if let Some(t) = found.r#type.filter(|t| *t != 0 && *t != kind) {
            let what =
                format!("the attribute is {}, but the operator asks for {}", kind_name(t), kind_name(kind));
            return Err(self.attribute_error(name, what));
        }
        Ok(Some(found))
    }

    /// Whether the attribute is written.
    pub(crate) fn has_attribute(&self, name: &str) -> bool {
        self.node.attribute.iter().any(|a| a.name.as_deref() == Some(name))
    }

    /// Marks an attribute as one that changes nothing.
    pub(crate) fn ignore(&self, name: &'static str) {
        self.read.borrow_mut().insert(name);
    }

    /// An integer attribute, if it is written.
    pub(crate) fn int(&self, name: &'static str) -> Result<Option<i64>> {
        // A value of zero may be left out of the message.
        Ok(self.attribute(name, kind::INT)?.map(|a| a.i.unwrap_or(0)))
    }

    /// An integer attribute that is 0 or 1.
    pub(crate) fn flag(&self, name: &'static str, default: bool) -> Result<bool> {
        match self.int(name)? {
            None => Ok(default),
            Some(i @ 0..=1) => Ok(i == 1),
            Some(i) => Err(self
                .attribute_error(name, format!("the attribute is {i}, but it says yes or no"))
                .help("it can be 0 or 1")),
        }
    }

    /// A float attribute.
    pub(crate) fn float(&self, name: &'static str, default: f64) -> Result<f64> {
        let found = self.attribute(name, kind::FLOAT)?;
        Ok(found.map_or(default, |a| f64::from(a.f.unwrap_or(0.0))))
    }

    /// A number, an integer or a float, if it is written.
    pub(crate) fn int_or_float(&self, name: &'static str) -> Result<Option<f64>> {
        let is_int = |a: &AttributeProto| a.name.as_deref() == Some(name) && a.r#type == Some(kind::INT);
        if self.node.attribute.iter().any(is_int) {
            return Ok(self.int(name)?.map(|i| i as f64));
        }
        Ok(if self.has_attribute(name) { Some(self.float(name, 0.0)?) } else { None })
    }

    /// A list of integers, if it is written.
    pub(crate) fn ints(&self, name: &'static str) -> Result<Option<&'a [i64]>> {
        Ok(self.attribute(name, kind::INTS)?.map(|a| a.ints.as_slice()))
    }

    /// A list of floats, if it is written.
    pub(crate) fn floats(&self, name: &'static str) -> Result<Option<&'a [f32]>> {
        Ok(self.attribute(name, kind::FLOATS)?.map(|a| a.floats.as_slice()))
    }

    /// A text, if it is written.
    pub(crate) fn text(&self, name: &'static str) -> Result<Option<&'a str>> {
        let Some(a) = self.attribute(name, kind::STRING)? else { return Ok(None) };
        let bytes = a.s.as_deref().unwrap_or_default();
        let text =
            std::str::from_utf8(bytes).map_err(|_| self.attribute_error(name, "the text is not UTF-8"))?;
        Ok(Some(text))
    }

    /// A list of texts, if it is written.
    pub(crate) fn texts(&self, name: &'static str) -> Result<Option<Vec<&'a str>>> {
        let Some(a) = self.attribute(name, kind::STRINGS)? else { return Ok(None) };
        let text = |bytes: &'a bytes::Bytes| {
            std::str::from_utf8(bytes).map_err(|_| self.attribute_error(name, "the text is not UTF-8"))
        };
        a.strings.iter().map(text).collect::<Result<_>>().map(Some)
    }

    /// A tensor, if it is written.
    pub(crate) fn tensor(&self, name: &'static str) -> Result<Option<HostTensor>> {
        let Some(a) = self.attribute(name, kind::TENSOR)? else { return Ok(None) };
        match &a.t {
            Some(t) => self.model.tensor(t).map(Some),
            None => Err(self.attribute_error(name, "the attribute holds no tensor")),
        }
    }

    /// The dense tensor that a sparse one stands for, if one is written.
    pub(crate) fn sparse_tensor(&self, name: &'static str) -> Result<Option<HostTensor>> {
        let Some(a) = self.attribute(name, kind::SPARSE_TENSOR)? else { return Ok(None) };
        match &a.sparse_tensor {
            Some(t) => self.model.sparse_tensor(t).map(Some),
            None => Err(self.attribute_error(name, "the attribute holds no sparse tensor")),
        }
    }

    /// A graph.
    pub(crate) fn graph(&self, name: &'static str) -> Result<&'a GraphProto> {
        match self.attribute(name, kind::GRAPH)? {
            Some(AttributeProto { g: Some(graph), .. }) => Ok(graph),
            _ => Err(self.attribute_error(name, "the attribute must hold a graph")),
        }
    }

    /// A dtype attribute, if it is written.
    pub(crate) fn dtype(&self, name: &'static str) -> Result<Option<DType>> {
        match self.int(name)? {
            None => Ok(None),
            Some(number) => crate::tensor::dtype(number).map(Some),
        }
    }

    /// Checks that every attribute and every operand was asked for: what nobody looks at would change the meaning.
    pub(crate) fn finish(&self) -> Result<()> {
        let taken = self.taken.borrow();
        let spare = |(i, name): &(usize, &String)| !name.is_empty() && !taken.contains(i);
        if let Some((i, name)) = self.node.input.iter().enumerate().find(spare) {
            let (op, version) = (self.op(), self.version);
            return Err(self
                .unsupported(format!(
                    "`{op}` of version {version} is given an operand {i}, `{name}`, that Lawson does not know"
                ))
                .help("the operand may belong to another version of the operator"));
        }
        let read = self.read.borrow();
        // Operators of the first versions name buffers that they may reuse; that changes nothing.
        let known = |n: &str| read.contains(n) || n == "consumed_inputs";
        let unread = |a: &&AttributeProto| !a.name.as_deref().is_some_and(known);
        match self.node.attribute.iter().find(unread) {
            None => Ok(()),
            Some(a) => {
                let name = a.name.as_deref().unwrap_or_default();
                Err(self
                    .unsupported(format!(
                        "`{}` has an attribute `{name}` that Lawson does not know",
                        self.op()
                    ))
                    .help("the attribute may belong to another version of the operator"))
            }
        }
    }
}

/// The value with sizes that are checked when it is computed.
pub(crate) fn checked(b: &mut Builder<'static>, x: ValueId, dims: &[Dim]) -> Result<ValueId> {
    fits(b, x, dims, Unused::Dropped)
}

/// What becomes of a check whose result nothing uses.
#[derive(Clone, Copy, PartialEq)]
enum Unused {
    Dropped,
    Kept,
}

fn fits(b: &mut Builder<'static>, x: ValueId, dims: &[Dim], unused: Unused) -> Result<ValueId> {
    let results = vec![Type::tensor(b.dtype(x)?, Shape::from(dims))];
    let sizes = Item::from(DimTensor::vector(dims.to_vec())).build(b)?;
    let (name, pure_call) = ("onnx.Fits".to_string(), unused == Unused::Dropped);
    b.op1(Op::HostCall(HostCall { name, results, defines: Vec::new(), pure_call }), &[x, sizes])
}

/// `whole % d`, where `even` is `d*(whole / d)`.
fn remainder(whole: &Dim, even: &Dim) -> Option<Dim> {
    let mut found = None;
    even.visit_quotients(&mut |x, d| {
        if x == whole && d.as_const().is_some() && d.clone() * x.floor_div(d) == *even {
            found = Some(x.modulo(d));
        }
    });
    found
}

/// Two sides without a difference: `high - low` is the expression, and neither has a term with a minus where that can be seen.
fn sides(gap: &Dim) -> (Dim, Dim) {
    let mut symbols: Vec<Dim> = Vec::new();
    gap.visit_symbols(&mut |s| symbols.push(Dim::from(s.clone())));
    // A symbol alone on one side, a number on the other.
    if let [s] = symbols.as_slice() {
        for (high, low) in [(s.clone(), s.clone() - gap.clone()), (s.clone() + gap.clone(), s.clone())] {
            if high.as_const().is_some() || low.as_const().is_some() {
                return (high, low);
            }
        }
    }
    (gap.clone(), Dim::ZERO)
}

/// What an attribute of that type is, in words.
fn kind_name(kind: i32) -> &'static str {
    const NAMES: [&str; 14] = [
        "of a type that is not known",
        "a float",
        "an integer",
        "a text",
        "a tensor",
        "a graph",
        "a list of floats",
        "a list of integers",
        "a list of texts",
        "a list of tensors",
        "a list of graphs",
        "a sparse tensor",
        "a list of sparse tensors",
        "a type",
    ];
    usize::try_from(kind).ok().and_then(|i| NAMES.get(i)).unwrap_or(&NAMES[0])
}

/// The inputs of the graph that a value is computed from.
fn sources(b: &Builder<'_>, value: ValueId) -> Vec<String> {
    let (mut open, mut seen, mut found) = (vec![value], HashSet::new(), Vec::new());
    while let Some(v) = open.pop() {
        if !seen.insert(v) {
            continue;
        }
        match b.defining(v) {
            Some(node) => open.extend(&node.inputs),
            None => found.extend(b.value(v).name.as_ref().map(ToString::to_string)),
        }
    }
    found
}

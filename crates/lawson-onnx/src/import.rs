//! From the messages of a model to a graph: inputs, constants, nodes in order, outputs.
//!
//! In: a decoded model. Out: a verified [`Graph`]. A node whose operands are all known is computed here (`fold.rs` for
//! constants, `dims.rs` for dimensions); any other goes to the function that `op/table.rs` names for its operator. Calls of the
//! model's own functions are inlined.

use crate::decode::{Opsets, canonical_domain};
use crate::external::External;
use crate::item::Item;
use crate::map::FileBytes;
use crate::node::NodeCx;
use crate::op::lookup;
use crate::order::in_order;
use crate::proto::{
    FunctionProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto, ValueInfoProto,
};
use crate::scope::Scope;
use crate::special::Special;
use crate::survey::{self, node_name};
use crate::tensor::{host_tensor, sparse_tensor};
use crate::types::Names;
use crate::{ImportOptions, dims, fold, function, open, remedy, same, types};
use lawson_graph::{Builder, Code, Error, Graph, HostTensor, Place, Result};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// The most nodes that an import goes through, iterations that are written out and inlined functions included: so many for each
/// node of the file, so that a small file cannot ask for much; some more are granted to any model, and no model gets more than the last.
const NODES_FOR_EACH: usize = 256;
const NODES_FOR_ANY: usize = 30_000;
const MAX_NODES: usize = 2_000_000;

/// The most bodies and function calls inside one another.
pub(crate) const MAX_DEPTH: usize = 24;

/// What holds for a whole model while it is imported.
pub(crate) struct Model<'m> {
    /// The versions of the operator sets of the nodes at hand: those of the model or of a function.
    pub(crate) opsets: &'m Opsets,
    /// The model's own functions.
    pub(crate) functions: &'m Functions<'m>,
    /// What is shared between the model and its functions.
    pub(crate) shared: &'m Shared,
}

/// What an import keeps count of.
#[derive(Debug)]
pub(crate) struct Shared {
    external: RefCell<External>,
    nodes_left: Cell<usize>,
    /// Inputs whose elements may be asked for.
    pub(crate) deciding: BTreeSet<String>,
    /// The names of the model's outputs.
    pub(crate) outputs: BTreeSet<String>,
    /// Whether something was presupposed of sizes that the model leaves open, other than that what is broadcast fits.
    pub(crate) presupposes: Cell<bool>,
    /// Inputs whose elements an operator asked for in vain.
    pub(crate) asked: RefCell<BTreeSet<String>>,
}

/// The functions that a model defines.
#[derive(Debug, Default)]
pub(crate) struct Functions<'m>(BTreeMap<[String; 3], Function<'m>>);

/// What names a function: domain, name, overload.
fn key(domain: Option<&str>, name: Option<&str>, overload: Option<&str>) -> [String; 3] {
    [canonical_domain(domain), name.unwrap_or_default(), overload.unwrap_or_default()].map(str::to_string)
}

/// A function, with the versions that its nodes are written in.
#[derive(Debug)]
pub(crate) struct Function<'m> {
    pub(crate) proto: &'m FunctionProto,
    pub(crate) opsets: Opsets,
}

impl<'m> Functions<'m> {
    fn new(protos: &'m [FunctionProto]) -> Result<Functions<'m>> {
        let mut all = BTreeMap::new();
        for proto in protos {
            let key = key(proto.domain.as_deref(), proto.name.as_deref(), proto.overload.as_deref());
            let opsets = Opsets::new(&proto.opset_import)?;
            all.insert(key, Function { proto, opsets });
        }
        Ok(Functions(all))
    }

    /// The function that a node calls, if it calls one.
    pub(crate) fn find(&self, node: &NodeProto) -> Option<&Function<'m>> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&key(node.domain.as_deref(), node.op_type.as_deref(), node.overload.as_deref()))
    }

    /// All functions.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Function<'m>> {
        self.0.values()
    }
}

impl Model<'_> {
    /// The tensor that a message holds.
    pub(crate) fn tensor(&self, proto: &TensorProto) -> Result<HostTensor> {
        host_tensor(proto, &mut self.shared.external.borrow_mut())
    }

    /// The dense tensor that a message of a sparse one stands for.
    pub(crate) fn sparse_tensor(&self, proto: &SparseTensorProto) -> Result<HostTensor> {
        sparse_tensor(proto, &mut self.shared.external.borrow_mut())
    }
}

/// The graph of a model, for runs of the kind that `special` describes. Its large constants are maps of the file.
pub(crate) fn import(
    proto: &ModelProto,
    opsets: &Opsets,
    options: &ImportOptions,
    special: &Special<'_>,
    file: Option<&Arc<FileBytes>>,
) -> Result<Graph> {
    imported(proto, opsets, options, special, file).map_err(remedy::of_model)
}

fn imported(
    proto: &ModelProto,
    opsets: &Opsets,
    options: &ImportOptions,
    special: &Special<'_>,
    file: Option<&Arc<FileBytes>>,
) -> Result<Graph> {
    let Some(graph) = &proto.graph else { return Err(Error::new(Code::OnnxModel, "the model has no graph")) };
    let functions = Functions::new(&proto.functions)?;
    survey::check(graph, opsets, &functions)?;
    let mut shared = Shared {
        external: RefCell::new(External::new(options.folder.as_deref()).of_file(file.cloned())),
        nodes_left: Cell::new(
            survey::nodes_of(proto).saturating_mul(NODES_FOR_EACH).clamp(NODES_FOR_ANY, MAX_NODES),
        ),
        deciding: BTreeSet::new(),
        outputs: graph.output.iter().filter_map(|o| o.name.clone()).collect(),
        presupposes: Cell::new(false),
        asked: RefCell::default(),
    };

    let name = graph.name.as_deref().filter(|n| !n.is_empty()).unwrap_or("model");
    let mut b = Builder::new(name);
    let mut scope = Scope::default();
    let constants: HashSet<&str> = graph.initializer.iter().filter_map(|t| t.name.as_deref()).collect();
    // An input that an initializer gives a value to is a constant that a caller might have replaced.
    let inputs = || graph.input.iter().filter(|i| !constants.contains(i.name.as_deref().unwrap_or_default()));
    if let Some(name) = options.fixed.keys().find(|n| !inputs().any(|i| i.name.as_deref() == Some(n))) {
        let known: Vec<&str> = inputs().filter_map(|i| i.name.as_deref()).collect();
        return Err(Error::new(Code::UnknownName, format!("the model has no input `{name}` to be fixed"))
            .help(format!("its inputs are {}", known.join(", "))));
    }
    let is_open = |i: &&ValueInfoProto| !options.fixed.contains_key(i.name.as_deref().unwrap_or_default());
    let names = Names::of(inputs().filter(is_open), special, &options.sizes);
    for info in inputs() {
        let name = info.name.as_deref().unwrap_or_default();
        if let Some(tensor) = options.fixed.get(name) {
            types::check_fixed(info, tensor)?;
            scope.define(name, Item::Constant(tensor.clone()))?;
            continue;
        }
        if name.is_empty() {
            return Err(Error::new(Code::OnnxModel, "an input has no name").at(input_field(graph, info)));
        }
        let ty = names.input_type(&mut b, info, special)?;
        // What depends on an input that is known, and is not known all the same, only a run tells; so where nobody can be asked.
        if special.has_values() && ty.as_tensor().is_some_and(open::decides) && !special.knows(name) {
            shared.deciding.insert(name.to_string());
        }
        let value = b.input(name, ty).map_err(|e| {
            e.at(input_field(graph, info)).help(
                "every input has a name of its own and a size that fits into memory; mend its declaration",
            )
        })?;
        scope.define(name, special.input(&mut b, name, value)?)?;
    }
    if !special.fixes_sizes() {
        names.check_fixed()?;
    }
    let model = Model { opsets, functions: &functions, shared: &shared };
    let outputs = nodes(&model, &mut b, &mut scope, graph, 0);
    special.needs(shared.asked.take());
    special.presupposes(shared.presupposes.get());
    let outputs = outputs?;
    if outputs.is_empty() {
        return Err(Error::new(Code::OnnxModel, "the model has no outputs, so that it computes nothing")
            .at(Place::Field("graph.output".to_string()))
            .help("name what it should compute as outputs of its graph"));
    }
    for (i, (info, item)) in graph.output.iter().zip(outputs).enumerate() {
        let name = info.name.as_deref().unwrap_or_default();
        let value = match item.as_value() {
            Some(v) => v,
            None => scope.value(&mut b, name)?,
        };
        types::check_output(info, b.ty(value))?;
        b.output(name, value).map_err(|e| e.at(Place::Field(format!("graph.output[{i}]"))))?;
    }
    b.finish()
}

fn input_field(graph: &GraphProto, info: &ValueInfoProto) -> Place {
    let at = graph.input.iter().position(|i| std::ptr::eq(i, info)).unwrap_or_default();
    Place::Field(format!("graph.input[{at}]"))
}

/// Adds the constants and nodes of a graph whose inputs are in scope; returns what its outputs stand for.
pub(crate) fn nodes(
    model: &Model<'_>,
    b: &mut Builder<'static>,
    scope: &mut Scope<'_>,
    graph: &GraphProto,
    depth: usize,
) -> Result<Vec<Item>> {
    for (i, sparse) in graph.sparse_initializer.iter().enumerate() {
        let constant = model
            .sparse_tensor(sparse)
            .map_err(|e| e.at(Place::Field(format!("graph.sparse_initializer[{i}]"))))?;
        let name = sparse.values.as_ref().and_then(|t| t.name.as_deref()).unwrap_or_default();
        scope.define(name, Item::Constant(constant))?;
    }
    for (i, tensor) in graph.initializer.iter().enumerate() {
        let at = |e: Error| e.at(Place::Field(format!("graph.initializer[{i}]")));
        let constant = model.tensor(tensor).map_err(at)?;
        let Some(name) = tensor.name.as_deref().filter(|n| !n.is_empty()) else {
            return Err(at(Error::new(
                Code::OnnxModel,
                "a constant has no name, so that no node can use it",
            )));
        };
        scope.define(name, Item::Constant(constant)).map_err(at)?;
    }
    for node in in_order(graph) {
        self::node(model, b, scope, node, depth).map_err(|e| {
            used_too_early(scope, graph, node).unwrap_or(e).at(place(graph.name.as_deref(), node))
        })?;
    }
    let output = |(i, o): (usize, &ValueInfoProto)| {
        let name = o.name.as_deref().unwrap_or_default();
        scope.find(name).ok_or_else(|| {
            let unknown = scope.unknown(format!("nothing defines the output `{name}`"), name);
            unknown.at(Place::Field(format!("graph.output[{i}]")))
        })
    };
    graph.output.iter().enumerate().map(output).collect()
}

/// That a node uses what a later one defines, if it does.
fn used_too_early(scope: &Scope<'_>, graph: &GraphProto, node: &NodeProto) -> Option<Error> {
    let unknown = |name: &&String| !name.is_empty() && scope.find(name).is_none();
    let name = node.input.iter().find(unknown)?;
    let later = graph.node.iter().find(|n| n.output.contains(name))?;
    let message = format!("`{name}` is used before node `{}` defines it", node_name(later));
    Some(Error::new(Code::OnnxModel, message).help(
        "nodes need each other in a circle, which nothing computes; look for a name that stands for two things",
    ))
}

/// The place of a node, for errors.
pub(crate) fn place(graph: Option<&str>, node: &NodeProto) -> Place {
    Place::Node {
        graph: graph.unwrap_or_default().to_string(),
        op: node.op_type.clone().unwrap_or_default(),
        result: node_name(node).to_string(),
    }
}

/// Adds one node and gives its results their names.
pub(crate) fn node(
    model: &Model<'_>,
    b: &mut Builder<'static>,
    scope: &mut Scope<'_>,
    node: &NodeProto,
    depth: usize,
) -> Result<()> {
    let Some(left) = model.shared.nodes_left.get().checked_sub(1) else {
        return Err(Error::new(
            Code::Budget,
            "the model's functions and loops write out to far more nodes than the file has",
        )
        .help("inline its functions or leave its loops to run before it is imported"));
    };
    model.shared.nodes_left.set(left);
    let results = results(model, b, scope, node, depth)?;
    if results.len() < node.output.iter().rposition(|o| !o.is_empty()).map_or(0, |i| i + 1) {
        let (op, has, asked) =
            (node.op_type.as_deref().unwrap_or_default(), results.len(), node.output.len());
        return Err(Error::new(
            Code::OnnxModel,
            format!("`{op}` has {has} results here, but {asked} are named"),
        )
        .help("remove the names, and the nodes that use them"));
    }
    for (name, item) in node.output.iter().zip(results).filter(|(name, _)| !name.is_empty()) {
        if let Some(v) = item.as_value()
            && b.value(v).name.is_none()
            && scope.find(name).is_none()
        {
            // In a body the name may be that of a value around; the number serves as well.
            let _ = b.name(v, name);
        }
        scope.define(name, item)?;
    }
    Ok(())
}

fn results(
    model: &Model<'_>,
    b: &mut Builder<'static>,
    scope: &mut Scope<'_>,
    node: &NodeProto,
    depth: usize,
) -> Result<Vec<Item>> {
    if let Some(called) = model.functions.find(node) {
        return function::inline(model, called, b, scope, node, depth);
    }
    let domain = canonical_domain(node.domain.as_deref());
    let name = node.op_type.as_deref().unwrap_or_default();
    let version = model.opsets.version(domain).unwrap_or(0);
    let Some(build) = lookup(domain, name, version) else {
        // The survey has refused unknown operators of every node that can be reached.
        return Err(Error::internal(format!("`{name}` was found by the survey, but not by the import")));
    };
    let cx = NodeCx::new(b, scope, model, node, version, depth);
    if let Some(items) = dims::fold(&cx, build)? {
        return Ok(items);
    }
    let key = same::key(&cx);
    if let Some(items) = key.as_ref().and_then(|k| cx.scope.computed(k)) {
        return Ok(items);
    }
    let folded = match fold::constants(&cx, build) {
        Some(items) if !cx.has_known() => return Ok(items),
        folded => folded,
    };
    // What was looked at so far was not looked at by the operator.
    let mut cx = NodeCx::new(b, scope, model, node, version, depth);
    let items = build(&mut cx).and_then(|items| cx.finish().map(|()| items));
    let items = items.map_err(|e| remedy::of_node(e, &cx, domain))?;
    let items: Vec<Item> = match folded {
        // What follows from elements that are known is known too, and computed all the same when the model runs.
        Some(folded) => items.into_iter().zip(folded).map(|(built, known)| built.known_as(known)).collect(),
        None => items,
    };
    if let Some(key) = key {
        scope.remember(key, items.clone());
    }
    Ok(items)
}

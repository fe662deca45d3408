//! Printing graphs: every name, type, attribute, fact and bit of a constant, so that reading gives an equal graph.
//!
//! In: a graph and `PrintOptions`. Out: the text, and the tensors that belong in its side file. Values without a name
//! are printed by their number; composites that the graph calls and that are graphs themselves come first.

use super::literal::{SPLAT_BYTES, splat_of, write_inline};
use super::parse::VERSION;
use super::side_file;
use crate::composite::Function;
use crate::dim::{Fact, Relation};
use crate::graph::{Graph, Node, NodeId, Output, ValueId};
use crate::name::{Name, Quoted, is_bare};
use crate::op::Op;
use crate::tensor::HostTensor;
use crate::types::{Placement, Type};
use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Display, Write};

/// How a graph is printed.
#[derive(Clone, Debug, Default)]
pub struct PrintOptions {
    /// Where the elements of constants go.
    pub constants: Constants,
    /// Comments to stand after nodes of the graph itself (not of its sub-graphs).
    pub notes: BTreeMap<NodeId, String>,
}

/// Where the elements of constants go. Sizes are numbers of elements. Constants whose elements are all equal stay in
/// the text, as do 4-bit elements and text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Constants {
    /// All in the text.
    #[default]
    Inline,
    /// Larger ones are left out. The text is for reading; it cannot be parsed.
    Elide {
        /// The most elements that a constant in the text has.
        above: usize,
    },
    /// Larger ones are in a side file.
    SideFile {
        /// The file's path, relative to the text's folder.
        name: String,
        /// The most elements that a constant in the text has.
        above: usize,
    },
}

/// A printed graph.
pub(super) struct Printed {
    pub(super) text: String,
    /// What the text expects in its side file.
    pub(super) side: Vec<(String, HostTensor)>,
}

/// How long a head may be before its inputs get lines of their own.
const LINE: usize = 110;

/// Prints a graph with everything that it calls.
pub(super) fn print_graph(graph: &Graph, options: &PrintOptions) -> Printed {
    let mut printer = Printer {
        out: String::new(),
        constants: &options.constants,
        splat_left: SPLAT_BYTES,
        side: Vec::new(),
        // The name under which safetensors keeps its own data.
        side_names: HashSet::from(["__metadata__".to_string()]),
    };
    let mut functions = Vec::new();
    collect_functions(graph, &mut HashSet::new(), &mut functions);
    for function in functions {
        printer.top("composite", function.graph(), &BTreeMap::new());
        printer.out.push('\n');
    }
    printer.top("graph", graph, &options.notes);
    let mut text = format!("lawson {VERSION}\n");
    if let (Constants::SideFile { name, .. }, false) = (&options.constants, printer.side.is_empty()) {
        put(&mut text, format_args!("weights {}\n", Quoted(name)));
    }
    text.push('\n');
    text.push_str(&printer.out);
    Printed { text, side: printer.side }
}

/// The composites that are graphs, each after those that it calls.
fn collect_functions<'g>(graph: &'g Graph, seen: &mut HashSet<&'g str>, order: &mut Vec<&'g Function>) {
    for node in graph.nodes() {
        for (_, inner) in node.op.subgraphs() {
            collect_functions(inner, seen, order);
        }
        if let Some(function) = node.op.composite::<Function>()
            && seen.insert(function.graph().name())
        {
            collect_functions(function.graph(), seen, order);
            order.push(function);
        }
    }
}

/// The facts that nodes bring: a symbol that one defines is at most its bound.
fn defined_facts(graph: &Graph, node: &Node) -> Vec<Fact> {
    let types: Vec<&Type> =
        node.inputs.iter().filter_map(|v| Some(&graph.values().get(v.index())?.ty)).collect();
    let defines = node.op.defines(&types).into_iter();
    defines.map(|(symbol, max)| Fact::new(symbol, Relation::Le, max)).collect()
}

/// The facts that must be stated: all but those at the end that the nodes bring anyway, in the same order.
fn stated_facts(graph: &Graph) -> &[Fact] {
    let written = graph.facts().written();
    let defined: Vec<Fact> = graph.nodes().iter().flat_map(|n| defined_facts(graph, n)).collect();
    let same = written.iter().rev().zip(defined.iter().rev()).take_while(|(w, d)| w == d).count();
    let (stated, rest) = (&written[..written.len() - same], &defined[..defined.len() - same]);
    let set: HashSet<&Fact> = stated.iter().collect();
    if rest.iter().all(|fact| set.contains(fact)) { stated } else { written }
}

/// What a reader knows at some node: the facts stated, and those that earlier nodes brought.
#[derive(Clone, Default)]
struct Known {
    facts: Vec<Fact>,
    set: HashSet<Fact>,
}

impl Known {
    fn add(&mut self, fact: &Fact) {
        if self.set.insert(fact.clone()) {
            self.facts.push(fact.clone());
        }
    }

    fn stated(facts: &[Fact]) -> Known {
        let mut known = Known::default();
        facts.iter().for_each(|fact| known.add(fact));
        known
    }

    /// Whether a sub-graph that starts from here ends up with exactly its own facts.
    fn leads_to(&self, graph: &Graph) -> bool {
        let mut known = self.clone();
        for node in graph.nodes() {
            defined_facts(graph, node).iter().for_each(|fact| known.add(fact));
        }
        known.facts == graph.facts().written()
    }
}

struct Printer<'o> {
    out: String,
    constants: &'o Constants,
    splat_left: usize,
    side: Vec<(String, HostTensor)>,
    side_names: HashSet<String>,
}

/// Appends to a string, which cannot fail.
fn put(out: &mut String, what: impl Display) {
    let _ = write!(out, "{what}");
}

fn put_list<T: Display>(out: &mut String, items: impl IntoIterator<Item = T>) {
    for (i, item) in items.into_iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        put(out, item);
    }
}

impl Printer<'_> {
    fn top(&mut self, keyword: &str, graph: &Graph, notes: &BTreeMap<NodeId, String>) {
        put(&mut self.out, format_args!("{keyword} @{}", Name(graph.name())));
        let start = self.out.len();
        self.signature(graph, true);
        if self.out.len() - start > LINE {
            self.out.truncate(start);
            self.long_signature(graph);
        }
        let stated = stated_facts(graph);
        if stated.is_empty() {
            self.out.push_str(" {\n");
        } else {
            self.out.push_str("\n  where ");
            put_list(&mut self.out, stated);
            self.out.push_str("\n{\n");
        }
        self.body(graph, 1, Known::stated(stated), notes);
        self.out.push_str("}\n");
    }

    /// `(inputs) -> (outputs)` on one line.
    fn signature(&mut self, graph: &Graph, outputs: bool) {
        self.out.push('(');
        put_list(&mut self.out, graph.inputs().iter().map(|v| Definition(graph, *v)));
        self.out.push(')');
        if outputs {
            self.out.push_str(" -> (");
            put_list(&mut self.out, graph.outputs().iter().map(|o| OutputText(graph, o)));
            self.out.push(')');
        }
    }

    fn long_signature(&mut self, graph: &Graph) {
        self.out.push('(');
        for v in graph.inputs() {
            put(&mut self.out, format_args!("\n  {},", Definition(graph, *v)));
        }
        self.out.push_str("\n) -> (");
        for o in graph.outputs() {
            put(&mut self.out, format_args!("\n  {},", OutputText(graph, o)));
        }
        self.out.push_str("\n)");
    }

    fn body(&mut self, graph: &Graph, indent: usize, mut known: Known, notes: &BTreeMap<NodeId, String>) {
        for (id, node) in graph.node_ids().zip(graph.nodes()) {
            self.indent(indent);
            self.node(graph, node, indent, &known);
            if let Some(note) = notes.get(&id) {
                let line: String = note.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                put(&mut self.out, format_args!("  // {line}"));
            }
            self.out.push('\n');
            defined_facts(graph, node).iter().for_each(|fact| known.add(fact));
        }
        self.indent(indent);
        self.out.push_str("return");
        if !graph.outputs().is_empty() {
            self.out.push(' ');
            put_list(&mut self.out, graph.outputs().iter().map(|o| ValueText(graph, o.value)));
        }
        self.out.push('\n');
    }

    fn indent(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n("  ", indent));
    }

    fn node(&mut self, graph: &Graph, node: &Node, indent: usize, known: &Known) {
        if !node.outputs.is_empty() {
            put_list(&mut self.out, node.outputs.iter().map(|v| Definition(graph, *v)));
            self.out.push_str(" = ");
        }
        if let Op::Constant(tensor) = &node.op {
            self.out.push_str("constant ");
            self.constant(graph, node, tensor);
            return;
        }
        let name = node.op.name();
        // Words that a node cannot begin with bare.
        let bare = is_bare(name) && name != "return";
        put(&mut self.out, if bare { name.to_string() } else { format!("@{}", Name(name)) });
        if !node.inputs.is_empty() {
            self.out.push(' ');
            put_list(&mut self.out, node.inputs.iter().map(|v| ValueText(graph, *v)));
        }
        let attrs = node.op.attrs();
        if !attrs.is_empty() {
            self.out.push_str(" {");
            for (i, (name, attr)) in attrs.iter().enumerate() {
                let comma = if i > 0 { ", " } else { "" };
                put(&mut self.out, format_args!("{comma}{name} = {attr}"));
            }
            self.out.push('}');
        }
        for (label, inner) in node.op.subgraphs() {
            self.sub_graph(label, inner, indent, known);
        }
    }

    /// What differs from the custom (named after the label, outputs counted, facts as around) is said.
    fn sub_graph(&mut self, label: &str, graph: &Graph, indent: usize, known: &Known) {
        put(&mut self.out, format_args!(" {label}"));
        if graph.name() != label {
            put(&mut self.out, format_args!(" @{}", Name(graph.name())));
        }
        let counted = |(i, o): (usize, &Output)| o.lives_in.is_none() && o.name == i.to_string();
        self.signature(graph, !graph.outputs().iter().enumerate().all(counted));
        let inner = if known.leads_to(graph) {
            known.clone()
        } else {
            let stated = stated_facts(graph);
            self.out.push_str(" where ");
            match stated {
                [] => self.out.push_str("true"),
                facts => put_list(&mut self.out, facts),
            }
            Known::stated(stated)
        };
        self.out.push_str(" {\n");
        self.body(graph, indent + 1, inner, &BTreeMap::new());
        self.indent(indent);
        self.out.push('}');
    }

    fn constant(&mut self, graph: &Graph, node: &Node, tensor: &HostTensor) {
        let small = match self.constants {
            Constants::Inline => true,
            Constants::Elide { above } => tensor.len() <= *above,
            Constants::SideFile { above, .. } => tensor.len() <= *above || !side_file::holds(tensor.dtype()),
        };
        if small || splat_of(tensor, self.splat_left).is_some() {
            write_inline(&mut self.out, tensor, &mut self.splat_left);
        } else if let Constants::Elide { .. } = self.constants {
            self.out.push_str("...");
        } else {
            let name =
                self.side_name(node.outputs.first().map_or_else(String::new, |v| graph.value_name(*v)));
            put(&mut self.out, format_args!("file {}", Quoted(&name)));
            self.side.push((name, tensor.clone()));
        }
    }

    /// A name in the side file that nothing else has: values of different graphs may share theirs.
    fn side_name(&mut self, wanted: String) -> String {
        let mut name = wanted.clone();
        let mut count = 0;
        while !self.side_names.insert(name.clone()) {
            count += 1;
            name = format!("{wanted}.{count}");
        }
        name
    }
}

/// `%x`, `%"odd name"` or `%12`.
struct ValueText<'g>(&'g Graph, ValueId);

impl Display for ValueText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.values().get(self.1.index()).and_then(|v| v.name.as_deref()) {
            Some(name) => write!(f, "%{}", Name(name)),
            None => write!(f, "%{}", self.1.index()),
        }
    }
}

/// A value where it is defined: name, type, placement.
struct Definition<'g>(&'g Graph, ValueId);

impl Display for Definition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", ValueText(self.0, self.1))?;
        let Some(info) = self.0.values().get(self.1.index()) else { return Ok(()) };
        write!(f, ": {}", info.ty)?;
        info.placement.as_deref().map_or(Ok(()), |placement| write_placement(f, placement))
    }
}

fn write_placement(f: &mut fmt::Formatter<'_>, placement: &Placement) -> fmt::Result {
    if let Some(device) = &placement.device {
        write!(f, " @device({})", Quoted(device))?;
    }
    let Some(sharding) = &placement.sharding else { return Ok(()) };
    write!(f, " @shard({}, [", Quoted(&sharding.mesh))?;
    for (i, axis) in sharding.axes.iter().enumerate() {
        f.write_str(if i > 0 { ", " } else { "" })?;
        match axis.as_deref() {
            None => f.write_str("_")?,
            Some("_") => f.write_str("\"_\"")?,
            Some(axis) => write!(f, "{}", Name(axis))?,
        }
    }
    f.write_str("])")
}

/// An output in the head: name, type, the input in whose buffer it lives.
struct OutputText<'g>(&'g Graph, &'g Output);

impl Display for OutputText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutputText(graph, output) = self;
        write!(f, "{}", Name(&output.name))?;
        if let Some(info) = graph.values().get(output.value.index()) {
            write!(f, ": {}", info.ty)?;
        }
        match output.lives_in.and_then(|i| graph.inputs().get(i)) {
            Some(input) => write!(f, " in {}", ValueText(graph, *input)),
            None => Ok(()),
        }
    }
}

//! The verifier: what makes a graph valid.
//!
//! It runs after building and parsing, and after every pass in debug builds and tests. The invariants:
//!
//! 1. **References** (E0302). Every id in inputs, operands, results and outputs names an arena entry; `lives_in`
//!    names an input.
//! 2. **Owners** (E0303). Every value has one definition, an input or a result of a node, and that definition lists it.
//! 3. **Order** (E0301). Operands are defined by inputs or by earlier nodes.
//! 4. **Types** (E0304). Inference on each node gives the types that its results carry, up to what the facts prove
//!    equal.
//! 5. **Shapes** (E0107, E0109). No input has a dimension that may be negative or an expression that did not fit.
//! 6. **Symbols** (E0111). Every symbol in a type, an attribute or a fact occurs in an input's shape, or is defined by
//!    an earlier node here or by the graph around this one.
//! 7. **Definitions** (E0112). No symbol is defined twice.
//! 8. **Names** (E0112). Names of values are unique, and so are names of outputs; inputs have names.
//! 9. **State** (E0305). An output that lives in an input has its type; no two live in the same one; bodies of loops and
//!    branches have none.
//! 10. **Sharding** (E0306). A sharding has one entry a dimension and uses a mesh axis at most once.
//! 11. **Sub-graphs** (E0110). Bodies satisfy all of this, and state no facts that do not follow from those around them.

use crate::dim::{Dim, Fact, Facts, Relation, Symbol};
use crate::error::{Code, Error, Place, Result, Side};
use crate::graph::{Def, Graph, Node, NodeId, ValueId};
use crate::op::{Infer, check_shape, same_type};
use crate::types::Type;
use std::collections::HashSet;

impl Graph {
    /// Checks every invariant listed at the head of this file.
    pub fn verify(&self) -> Result<()> {
        Verifier { graph: self, around: None, known: HashSet::new() }.run()
    }
}

/// What the graph around a sub-graph offers.
struct Around<'a> {
    facts: &'a Facts,
    symbols: &'a HashSet<Symbol>,
}

struct Verifier<'a> {
    graph: &'a Graph,
    around: Option<Around<'a>>,
    /// Symbols defined so far.
    known: HashSet<Symbol>,
}

impl Verifier<'_> {
    fn run(mut self) -> Result<()> {
        let graph = self.graph;
        self.references()?;
        self.owners()?;
        self.order()?;
        self.names()?;
        if let Some(around) = &self.around {
            self.known.extend(around.symbols.iter().cloned());
        }
        self.inputs()?;
        for node in graph.nodes() {
            self.node(node).map_err(|e| e.at(graph.place(node)))?;
        }
        self.facts()?;
        self.state()?;
        self.sharding()
    }

    fn references(&self) -> Result<()> {
        let g = self.graph;
        let check = |v: &ValueId, what: std::fmt::Arguments<'_>| {
            if v.index() < g.values.len() {
                return Ok(());
            }
            Err(Error::new(
                Code::VerifyReference,
                format!("{what} is {v:?}, but there are {} values", g.values.len()),
            ))
        };
        for (i, v) in g.inputs.iter().enumerate() {
            check(v, format_args!("input {i}"))?;
        }
        for (n, node) in g.nodes.iter().enumerate() {
            for (i, v) in node.inputs.iter().enumerate() {
                check(v, format_args!("operand {i} of node {n} (`{}`)", node.op.name()))?;
            }
            for (i, v) in node.outputs.iter().enumerate() {
                check(v, format_args!("result {i} of node {n} (`{}`)", node.op.name()))?;
            }
        }
        for o in &g.outputs {
            check(&o.value, format_args!("output `{}`", o.name))?;
            if o.lives_in.is_some_and(|i| i >= g.inputs.len()) {
                return Err(Error::new(
                    Code::VerifyReference,
                    format!(
                        "output `{}` lives in input {:?}, but there are {}",
                        o.name,
                        o.lives_in,
                        g.inputs.len()
                    ),
                ));
            }
        }
        Ok(())
    }

    fn owners(&self) -> Result<()> {
        let g = self.graph;
        for (i, info) in g.values.iter().enumerate() {
            let id = ValueId::new(i);
            let listed = match info.def {
                Def::Input(k) => g.inputs.get(k) == Some(&id),
                Def::Node(n, k) => g.nodes.get(n.index()).and_then(|n| n.outputs.get(k)) == Some(&id),
            };
            if !listed {
                return Err(Error::new(
                    Code::VerifyOwner,
                    format!(
                        "%{} says that it comes from {:?}, which does not list it",
                        g.value_name(id),
                        info.def
                    ),
                ));
            }
        }
        let owned = g.inputs.len() + g.nodes.iter().map(|n| n.outputs.len()).sum::<usize>();
        if owned != g.values.len() {
            return Err(Error::new(
                Code::VerifyOwner,
                format!("inputs and nodes list {owned} values, but there are {}", g.values.len()),
            ));
        }
        Ok(())
    }

    fn order(&self) -> Result<()> {
        let g = self.graph;
        for (n, node) in g.nodes.iter().enumerate() {
            for v in &node.inputs {
                if let Def::Node(def, _) = g.value(*v).def
                    && def >= NodeId::new(n)
                {
                    return Err(Error::new(
                        Code::VerifyOrder,
                        format!("%{} is used before it is defined", g.value_name(*v)),
                    )
                    .at(g.place(node)));
                }
            }
        }
        Ok(())
    }

    fn names(&self) -> Result<()> {
        let g = self.graph;
        let mut seen = HashSet::new();
        for name in g.values.iter().filter_map(|v| v.name.as_deref()) {
            if !seen.insert(name) {
                return Err(Error::new(Code::DuplicateName, format!("two values are called `%{name}`")));
            }
        }
        let mut seen = HashSet::new();
        for o in &g.outputs {
            if !seen.insert(o.name.as_str()) {
                return Err(Error::new(Code::DuplicateName, format!("two outputs are called `{}`", o.name)));
            }
        }
        match g.inputs.iter().position(|v| g.value(*v).name.is_none()) {
            Some(i) => Err(Error::new(Code::DuplicateName, format!("input {i} has no name"))),
            None => Ok(()),
        }
    }

    fn inputs(&mut self) -> Result<()> {
        let g = self.graph;
        for v in &g.inputs {
            let place = || Place::Port { side: Side::Input, name: g.value_name(*v) };
            let ty = g.ty(*v);
            if let Type::Tensor(t) = ty {
                check_shape(&t.shape).map_err(|e| e.at(place()))?;
            }
            let mut bad = None;
            ty.visit_dims(&mut |d| {
                if !g.facts.is_nonnegative(d) && !is_open(d) {
                    bad.get_or_insert(d);
                }
            });
            if let Some(d) = bad {
                let code = if d.is_overflow() { Code::DimOverflow } else { Code::OutOfBounds };
                return Err(Error::new(code, format!("the dimension `{d}` may be negative"))
                    .at(place())
                    .help(format!("say that it never is: `where {d} >= 0`")));
            }
            // In a body, an input's symbols come from outside; at the top they are bound by the input.
            if self.around.is_some() {
                self.check_symbols(ty).map_err(|e| e.at(place()))?;
            } else {
                ty.visit_dims(&mut |d| {
                    d.visit_symbols(&mut |s| {
                        self.known.insert(s.clone());
                    });
                });
            }
        }
        Ok(())
    }

    fn node(&mut self, node: &Node) -> Result<()> {
        let g = self.graph;
        let types: Vec<&Type> = node.inputs.iter().map(|v| g.ty(*v)).collect();
        let inferred = node.op.infer(Infer { op: node.op.name(), facts: &g.facts, inputs: &types })?;
        if inferred.len() != node.outputs.len() {
            return Err(Error::new(
                Code::VerifyType,
                format!(
                    "the node has {} results, but `{}` gives {}",
                    node.outputs.len(),
                    node.op.name(),
                    inferred.len()
                ),
            ));
        }
        for (symbol, _) in node.op.defines(&types) {
            if !self.known.insert(symbol.clone()) {
                return Err(Error::new(
                    Code::DuplicateName,
                    format!("the symbol `{symbol}` is defined twice"),
                ));
            }
        }
        for (v, ty) in node.outputs.iter().zip(&inferred) {
            if !same_type(&g.facts, g.ty(*v), ty) {
                return Err(Error::new(
                    Code::VerifyType,
                    format!("%{} is {}, but `{}` gives {ty}", g.value_name(*v), g.ty(*v), node.op.name()),
                ));
            }
            self.check_symbols(g.ty(*v))?;
        }
        for (_, attr) in node.op.attrs() {
            let mut unknown = None;
            attr.visit_dims(&mut |d| self.find_unknown(d, &mut unknown));
            report_unknown(unknown)?;
        }
        for (label, body) in node.op.subgraphs() {
            let around = Around { facts: &g.facts, symbols: &self.known };
            let body = Verifier { graph: body, around: Some(around), known: HashSet::new() };
            body.run().map_err(|e| inside(&e, label))?;
        }
        Ok(())
    }

    fn find_unknown(&self, dim: &Dim, unknown: &mut Option<Symbol>) {
        dim.visit_symbols(&mut |s| {
            if !self.known.contains(s) && !s.name().starts_with('?') {
                unknown.get_or_insert_with(|| s.clone());
            }
        });
    }

    fn check_symbols(&self, ty: &Type) -> Result<()> {
        let mut unknown = None;
        ty.visit_dims(&mut |d| self.find_unknown(d, &mut unknown));
        report_unknown(unknown)
    }

    fn facts(&self) -> Result<()> {
        let g = self.graph;
        for fact in g.facts.written() {
            let mut unknown = None;
            self.find_unknown(&fact.left, &mut unknown);
            self.find_unknown(&fact.right, &mut unknown);
            if let Some(s) = unknown {
                return Err(undefined(&s, &format!(", which stands in the fact `{fact}`")));
            }
        }
        let Some(around) = &self.around else { return Ok(()) };
        // A body may state what its own definitions say, and what follows from outside.
        let mut own: Vec<Fact> = Vec::new();
        for node in &g.nodes {
            let types: Vec<&Type> = node.inputs.iter().map(|v| g.ty(*v)).collect();
            own.extend(node.op.defines(&types).into_iter().map(|(s, max)| Fact::new(s, Relation::Le, max)));
        }
        for fact in g.facts.written() {
            let stated = around.facts.written().contains(fact) || own.contains(fact);
            if !stated && !around.facts.implies(fact) {
                return Err(Error::new(
                    Code::SubGraph,
                    format!("the body `{}` states `{fact}`, which does not follow around it", g.name),
                ));
            }
        }
        Ok(())
    }

    fn state(&self) -> Result<()> {
        let g = self.graph;
        let mut taken = HashSet::new();
        for o in &g.outputs {
            let Some(i) = o.lives_in else { continue };
            let place = Place::Port { side: Side::Output, name: o.name.clone() };
            if self.around.is_some() {
                return Err(
                    Error::new(Code::VerifyState, "a body of a loop or branch cannot have state").at(place)
                );
            }
            let (have, want) = (g.ty(o.value), g.ty(g.inputs[i]));
            if !same_type(&g.facts, have, want) {
                return Err(Error::new(
                    Code::VerifyState,
                    format!("it is {have}, but lives in `%{}`, which is {want}", g.value_name(g.inputs[i])),
                )
                .at(place));
            }
            if !taken.insert(i) {
                return Err(Error::new(
                    Code::VerifyState,
                    format!("two outputs live in `%{}`", g.value_name(g.inputs[i])),
                )
                .at(place));
            }
        }
        Ok(())
    }

    fn sharding(&self) -> Result<()> {
        let g = self.graph;
        for (i, info) in g.values.iter().enumerate() {
            let Some(sharding) = info.placement.as_ref().and_then(|p| p.sharding.as_ref()) else { continue };
            let fail = |message: String| {
                Err(Error::new(
                    Code::VerifySharding,
                    format!("%{}: {message}", g.value_name(ValueId::new(i))),
                ))
            };
            let Type::Tensor(t) = &info.ty else {
                return fail("only tensors can be divided over a mesh".to_string());
            };
            if sharding.axes.len() != t.rank() {
                return fail(format!("{} mesh axes for {} dimensions", sharding.axes.len(), t.rank()));
            }
            let mut seen = HashSet::new();
            if let Some(axis) = sharding.axes.iter().flatten().find(|a| !seen.insert(a.as_str())) {
                return fail(format!("the mesh axis `{axis}` divides two dimensions"));
            }
        }
        Ok(())
    }
}

fn is_open(dim: &Dim) -> bool {
    dim.as_symbol().is_some_and(|s| s.name().starts_with('?'))
}

fn report_unknown(unknown: Option<Symbol>) -> Result<()> {
    unknown.map_or(Ok(()), |s| Err(undefined(&s, "")))
}

fn undefined(symbol: &Symbol, place: &str) -> Error {
    Error::new(Code::UnknownSymbol, format!("nothing defines the symbol `{symbol}`{place}"))
        .help("give it to an input's shape, or define it with a `symbol` operator before its first use")
}

/// An error of a body, which says which body it is of.
fn inside(error: &Error, label: &str) -> Error {
    let outer = Error::new(error.code(), format!("in the sub-graph `{label}`: {}", error.message()));
    let outer = error.places().iter().cloned().fold(outer, Error::at);
    match error.help_text() {
        Some(help) => outer.help(help),
        None => outer,
    }
}

//! Where nodes run: kinds of devices that values are placed on by hand.
//!
//! In: a graph some of whose values say `@device("cpu")` or `@device("gpu")`. Out: for each node a [`Site`], and the same graph in which
//! every node says its own ([`Graph::sited`]), so that passes and the planner need not ask where its operands are. A value that is placed is
//! computed where it is placed. A node of which nothing is said runs where its operands are, if those that are computed or placed
//! agree, and otherwise where the graph runs. The interpreter knows nothing of this: a placement changes no value.

use crate::builder::Builder;
use crate::error::{Code, Error, Place, Result, Side};
use crate::graph::{Def, Graph, NodeId, ValueId, ValueInfo};
use crate::op::Op;
use crate::types::Placement;
use std::fmt;
use std::sync::Arc;

/// A kind of device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Site {
    /// The processor: `cpu`, or `cpu:0`.
    Cpu,
    /// The device of a GPU target: `gpu`, or `gpu:0`.
    Gpu,
}

impl Site {
    /// The site that a placement names.
    pub fn parse(device: &str) -> Option<Site> {
        match device {
            "cpu" | "cpu:0" => Some(Site::Cpu),
            "gpu" | "gpu:0" => Some(Site::Gpu),
            _ => None,
        }
    }

    /// As a placement names it.
    pub fn name(self) -> &'static str {
        match self {
            Site::Cpu => "cpu",
            Site::Gpu => "gpu",
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ValueInfo {
    /// Where it is placed, if that is said and there is such a site.
    fn site(&self) -> Option<Site> {
        self.placement.as_ref()?.device.as_deref().and_then(Site::parse)
    }
}

impl Graph {
    /// Where a node is said to run: where the first of its results that says so is placed.
    pub fn site(&self, node: NodeId) -> Option<Site> {
        self.node(node).outputs.iter().find_map(|v| self.value(*v).site())
    }

    /// Whether any value, of a body too, says on which device it lives.
    pub fn has_sites(&self) -> bool {
        let said = |v: &ValueInfo| v.placement.as_ref().is_some_and(|p| p.device.is_some());
        self.values.iter().any(said)
            || self.nodes.iter().any(|n| n.op.subgraphs().iter().any(|(_, body)| body.has_sites()))
    }

    /// Whether all nodes that say where they run, of bodies too, say this.
    pub fn is_all_at(&self, site: Option<Site>) -> bool {
        let there = |n: NodeId| self.site(n).is_none_or(|s| Some(s) == site);
        let bodies = |n: NodeId| self.node(n).op.subgraphs();
        self.node_ids().all(|n| there(n) && bodies(n).iter().all(|(_, body)| body.is_all_at(site)))
    }

    /// Refuses placements on devices other than these, and results of one node that are placed apart.
    pub fn check_sites(&self, there: &[Site]) -> Result<()> {
        for (n, info) in self.values.iter().enumerate() {
            let Some(device) = info.placement.as_ref().and_then(|p| p.device.as_ref()) else { continue };
            if !Site::parse(device).is_some_and(|s| there.contains(&s)) {
                let names: Vec<String> = there.iter().map(|s| format!("`{s}`")).collect();
                let message = format!("it is placed on `{device}`; the target has {}", names.join(" and "));
                return Err(self.misplaced(ValueId::new(n), message).help(
                    "choose a target that has that device, or leave the placement out: then the value follows its operands",
                ));
            }
        }
        for node in &self.nodes {
            let mut placed = node.outputs.iter().filter_map(|v| Some((*v, self.value(*v).site()?)));
            if let Some((first, site)) = placed.next()
                && let Some((other, elsewhere)) = placed.find(|(_, s)| *s != site)
            {
                let first = self.value_name(first);
                let message =
                    format!("it is placed on `{elsewhere}`, and `%{first}` of the same node on `{site}`");
                return Err(self
                    .misplaced(other, message)
                    .help("a node runs in one place: say one for both"));
            }
            node.op.subgraphs().iter().try_for_each(|(_, body)| body.check_sites(there))?;
        }
        Ok(())
    }

    fn misplaced(&self, value: ValueId, message: String) -> Error {
        let name = self.value_name(value);
        let place = match self.value(value).def {
            Def::Input(_) => Place::Port { side: Side::Input, name },
            Def::Node(n, _) => {
                let (graph, op) = (self.name.clone(), self.node(n).op.name().to_string());
                Place::Node { graph, op, result: name }
            }
        };
        Error::new(Code::Misplaced, message).at(place)
    }

    /// The same graph in which every node but constants says where it runs; `here` is where the graph does.
    pub fn sited(&self, here: Site) -> Result<Graph> {
        let mut graph = self.clone();
        let mut sites: Vec<Option<Site>> = self.values.iter().map(ValueInfo::site).collect();
        for (n, node) in self.nodes.iter().enumerate() {
            if matches!(node.op, Op::Constant(_)) {
                continue;
            }
            let site = self.site(NodeId::new(n)).unwrap_or_else(|| {
                let mut operands = node.inputs.iter().filter_map(|v| sites[v.index()]);
                match operands.next() {
                    Some(first) if operands.all(|s| s == first) => first,
                    _ => here,
                }
            });
            for v in &node.outputs {
                sites[v.index()] = Some(site);
                graph.values[v.index()].put(site);
            }
            let bodies = node.op.subgraphs();
            if !bodies.is_empty() {
                let bodies = bodies.into_iter().map(|(_, body)| body.sited(site).map(Arc::new));
                graph.nodes[n].op = node.op.with_subgraphs(bodies.collect::<Result<_>>()?);
            }
        }
        Ok(graph)
    }
}

impl Builder<'_> {
    /// Places what the nodes from this one on compute where a value is placed, if that and they themselves say nothing else: what takes the place of a node
    /// runs where the node did.
    pub fn follow(&mut self, value: ValueId, first: usize) -> Result<()> {
        let Some(site) = self.value(value).site() else { return Ok(()) };
        let added = self.added()[first..].iter().filter(|n| !matches!(n.op, Op::Constant(_)));
        let results: Vec<ValueId> = added.flat_map(|n| &n.outputs).copied().collect();
        for v in results {
            self.info_mut(v)?.put(site);
        }
        Ok(())
    }
}

impl ValueInfo {
    /// Places it, where nothing is said.
    pub(crate) fn put(&mut self, site: Site) {
        let placement = self.placement.get_or_insert_with(|| Box::new(Placement::default()));
        placement.device.get_or_insert_with(|| site.name().to_string());
    }
}

//! Finding the loops that a directive names, and putting others in their place.
//!
//! Also what several directives share: fresh names, errors that list the loops, and bodies with changed expressions.

use crate::expr::{Expr, ExprId};
use crate::hash::IdMap;
use crate::index::Index;
use crate::range::Scope;
use crate::tree::{AxisId, For, Kernel, Node};
use crate::{BufferId, Condition, Guard, Load};
use lawson_graph::{Code, Error, Result};

/// The axis of that name, which loops must run over.
pub(super) fn axis_of_loops(kernel: &Kernel, name: &str) -> Result<AxisId> {
    let known = kernel.axes.iter().position(|a| a.name == name);
    let axis = known.map(|i| AxisId(i as u32)).filter(|a| has_loop(&kernel.body, &[*a]));
    axis.ok_or_else(|| {
        let error = Error::new(Code::ScheduleTarget, format!("there is no loop over `{name}`"));
        match known.and_then(|i| kernel.axes[i].derived.as_ref()) {
            Some(index) => {
                let stands_for = shown(kernel, index);
                error.help(format!("`{name}` stands for {stands_for}; {}", loops_help(kernel)))
            }
            None => error.help(loops_help(kernel)),
        }
    })
}

/// The buffer of that name.
pub(super) fn buffer_named(kernel: &Kernel, name: &str) -> Result<BufferId> {
    let found = kernel.buffers.iter().position(|b| b.name == name);
    found.map(|i| BufferId(i as u32)).ok_or_else(|| {
        let names: Vec<String> = kernel.buffers.iter().map(|b| format!("`{}`", b.name)).collect();
        Error::new(Code::ScheduleTarget, format!("there is no buffer `{name}`"))
            .help(format!("the buffers are {}", names.join(", ")))
    })
}

/// The axes that loops run over, each once, in the order of the loops.
fn loop_axes(kernel: &Kernel) -> Vec<AxisId> {
    let mut axes = Vec::new();
    kernel.visit(&mut |node| {
        if let Node::For(f) = node
            && !axes.contains(&f.axis)
        {
            axes.push(f.axis);
        }
    });
    axes
}

/// What to say of the loops that there are.
pub(super) fn loops_help(kernel: &Kernel) -> String {
    let names: Vec<String> =
        loop_axes(kernel).iter().map(|a| format!("`{}`", kernel.axis(*a).name)).collect();
    match names.is_empty() {
        true => "the kernel has no loops".into(),
        false => format!("the loops run over {}", names.join(", ")),
    }
}

/// The error that a directive is refused. Which loops there are is added where it is shown: finding them takes longer than most directives.
pub(super) fn refused(reason: impl Into<String>) -> Error {
    Error::new(Code::ScheduleRefused, reason)
}

/// Whether a loop over one of these axes stands among the nodes.
pub(super) fn has_loop(nodes: &[Node], axes: &[AxisId]) -> bool {
    nodes.iter().any(|node| match node {
        Node::For(f) => axes.contains(&f.axis) || has_loop(&f.body, axes),
        Node::Accumulate { body, .. } => has_loop(body, axes),
        Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => false,
    })
}

/// An index as text.
pub(super) fn shown(kernel: &Kernel, index: &Index) -> String {
    kernel.show(index)
}

/// Names that no axis has yet, in a row: `i.0` and `i.1` unless those are taken.
pub(super) fn fresh_names<const N: usize>(kernel: &Kernel, stem: &str) -> [String; N] {
    let taken = |name: &String| kernel.axes.iter().any(|a| a.name == *name);
    let mut first = 0;
    loop {
        let names: [String; N] = std::array::from_fn(|i| format!("{stem}.{}", first + i));
        if !names.iter().any(taken) {
            return names;
        }
        first += 1;
    }
}

/// A name that no buffer has yet: the stem, or the stem and a number.
pub(super) fn fresh_buffer(kernel: &Kernel, stem: &str) -> String {
    let taken = |name: &String| kernel.buffers.iter().any(|b| b.name == *name);
    let mut names = std::iter::once(stem.to_string()).chain((2..).map(|i| format!("{stem}{i}")));
    names.find(|n| !taken(n)).unwrap_or_default()
}

/// Puts what `replace` makes of each loop over `axis` in its place. The scope is that of the place.
pub(super) fn replace_loops(
    kernel: &mut Kernel,
    axis: AxisId,
    replace: &mut impl FnMut(&mut Scope<'_>, For) -> Result<Vec<Node>>,
) -> Result<()> {
    fn walk(
        scope: &mut Scope<'_>,
        nodes: Vec<Node>,
        axis: AxisId,
        replace: &mut impl FnMut(&mut Scope<'_>, For) -> Result<Vec<Node>>,
    ) -> Result<Vec<Node>> {
        let mut out = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                Node::For(f) if f.axis == axis => out.extend(replace(scope, f)?),
                Node::For(mut f) if has_loop(&f.body, &[axis]) => {
                    let body = std::mem::take(&mut f.body);
                    let left = scope.enter(&f);
                    f.body = walk(scope, body, axis, replace)?;
                    scope.leave(left);
                    out.push(Node::For(f));
                }
                Node::Accumulate { acc, body } => {
                    out.push(Node::Accumulate { acc, body: walk(scope, body, axis, replace)? });
                }
                Node::For(_) | Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => out.push(node),
            }
        }
        Ok(out)
    }
    let body = std::mem::take(&mut kernel.body);
    let body = walk(&mut Scope::new(kernel), body, axis, replace)?;
    kernel.body = body;
    Ok(())
}

/// Calls `change` with each loop over `axis`.
pub(super) fn change_loops(nodes: &mut [Node], axis: AxisId, change: &mut impl FnMut(&mut For)) {
    for node in nodes {
        match node {
            Node::For(f) if f.axis == axis => change(f),
            Node::For(For { body, .. }) | Node::Accumulate { body, .. } => change_loops(body, axis, change),
            Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => {}
        }
    }
}

/// Calls `visit` with every node of a body, and the scope of its place.
pub(super) fn visit_in_scope<'a>(
    scope: &mut Scope<'_>,
    nodes: &'a [Node],
    visit: &mut impl FnMut(&Scope<'_>, &'a Node) -> Result<()>,
) -> Result<()> {
    for node in nodes {
        visit(scope, node)?;
        match node {
            Node::For(f) => {
                let left = scope.enter(f);
                visit_in_scope(scope, &f.body, visit)?;
                scope.leave(left);
            }
            Node::Accumulate { body, .. } => visit_in_scope(scope, body, visit)?,
            Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => {}
        }
    }
    Ok(())
}

/// The values that a node itself computes; of an `accumulate`, none.
pub(super) fn values_of(node: &Node) -> &[ExprId] {
    match node {
        Node::Step { values, .. } => values,
        Node::Store(store) => std::slice::from_ref(&store.value),
        Node::For(_) | Node::Accumulate { .. } | Node::Prefetch { .. } => &[],
    }
}

/// Calls `visit` with every load in these values, each once.
pub(super) fn visit_loads(kernel: &Kernel, values: &[ExprId], visit: &mut impl FnMut(&Load)) {
    kernel.visit_below(values, &mut |_, expr| {
        if let Expr::Load(load) = expr {
            visit(load);
        }
    });
}

/// Puts other loads in the place of those for which `change` gives one, in all values of a body.
pub(super) fn change_loads(
    kernel: &mut Kernel,
    body: &mut [Node],
    change: &impl Fn(&Kernel, &Load) -> Option<Load>,
) {
    change_exprs(kernel, body, &|kernel, expr| match expr {
        Expr::Load(load) => change(kernel, load).map(Expr::Load),
        _ => None,
    });
}

/// Puts other expressions in the place of those for which `change` gives one, in all values of a body; their operands are changed
/// likewise. The state with which an accumulator begins is not touched: it is the same wherever the accumulator is used.
pub(super) fn change_exprs(
    kernel: &mut Kernel,
    body: &mut [Node],
    change: &impl Fn(&Kernel, &Expr) -> Option<Expr>,
) {
    let mut done = IdMap::default();
    change_nodes(kernel, body, change, &mut done);
}

fn change_nodes(
    kernel: &mut Kernel,
    body: &mut [Node],
    change: &impl Fn(&Kernel, &Expr) -> Option<Expr>,
    done: &mut IdMap<ExprId, ExprId>,
) {
    for node in body {
        match node {
            Node::For(For { body, .. }) | Node::Accumulate { body, .. } => {
                change_nodes(kernel, body, change, done);
            }
            Node::Step { values, .. } => {
                values.iter_mut().for_each(|v| *v = changed(kernel, *v, change, done));
            }
            Node::Store(store) => store.value = changed(kernel, store.value, change, done),
            Node::Prefetch { .. } => {}
        }
    }
}

/// An expression with others in the place of those below it for which `change` gives one; `done` is what is known already.
pub(super) fn changed(
    kernel: &mut Kernel,
    id: ExprId,
    change: &impl Fn(&Kernel, &Expr) -> Option<Expr>,
    done: &mut IdMap<ExprId, ExprId>,
) -> ExprId {
    if let Some(known) = done.get(&id) {
        return *known;
    }
    let expr = kernel.expr(id);
    let expr = change(kernel, expr).unwrap_or_else(|| expr.clone());
    let expr = expr.with_operands(&mut |o| changed(kernel, o, change, done));
    let new = kernel.add(expr);
    done.insert(id, new);
    new
}

/// A load without those of its conditions that `gone` names.
pub(super) fn without_conditions(load: &Load, gone: &impl Fn(&Condition) -> bool) -> Option<Load> {
    let guard = load.guard.as_ref()?;
    if !guard.conditions.iter().any(gone) {
        return None;
    }
    let conditions: Vec<Condition> = guard.conditions.iter().filter(|c| !gone(c)).cloned().collect();
    let guard = (!conditions.is_empty()).then_some(Guard { conditions, otherwise: guard.otherwise });
    Some(Load { buffer: load.buffer, index: load.index.clone(), guard })
}

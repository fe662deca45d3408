//! Whether a kernel may write an output over the bytes of an input.

use crate::buffer::{BufferId, Role};
use crate::expr::{Expr, ExprId};
use crate::hash::IdSet;
use crate::index::Index;
use crate::range::Scope;
use crate::tree::{Kernel, Node};
use crate::verify::stores_once;

/// Whether an output of a kernel may lie where an input does, given as arguments by number. It may if elements have the same
/// width, the kernel stores each element once, and loads the input nowhere but in the stage that stores, at the very place that it
/// stores to: then every element is read before it is written, by the iteration that writes it.
pub fn in_place(kernel: &Kernel, read: usize, written: usize) -> bool {
    let arguments: Vec<BufferId> = kernel.arguments().collect();
    let (Some(x), Some(y)) = (arguments.get(read), arguments.get(written)) else { return false };
    reads_where_it_writes(kernel, *x, *y) && stores_once(kernel, *y)
}

/// All pairs of an input and an output, as arguments by number, that may lie [`in_place`].
pub fn all_in_place(kernel: &Kernel) -> Vec<(usize, usize)> {
    let arguments: Vec<BufferId> = kernel.arguments().collect();
    let mut found = Vec::new();
    for (written, y) in arguments.iter().enumerate() {
        // That each element is stored once is asked last, because it takes longest, and once for all inputs.
        let reads = |(_, x): &(usize, &BufferId)| reads_where_it_writes(kernel, **x, *y);
        let candidates: Vec<usize> =
            arguments.iter().enumerate().filter(reads).map(|(read, _)| read).collect();
        if !candidates.is_empty() && stores_once(kernel, *y) {
            found.extend(candidates.into_iter().map(|read| (read, written)));
        }
    }
    found
}

/// Whether an input is loaded nowhere but where the output is stored, and has as many elements of the same width.
fn reads_where_it_writes(kernel: &Kernel, x: BufferId, y: BufferId) -> bool {
    let (a, b) = (kernel.buffer(x), kernel.buffer(y));
    let fits = (a.role, b.role) == (Role::Input, Role::Output)
        && a.dtype.bits() == b.dtype.bits()
        && a.dtype.bits() >= 8
        && kernel.facts.equal(&a.layout.size, &b.layout.size);
    fits && !is_index(kernel, x) && Stages { kernel, x, y }.agree(&mut Scope::new(kernel), &kernel.body)
}

/// Whether elements of a buffer are indices, which may be read at any time.
fn is_index(kernel: &Kernel, buffer: BufferId) -> bool {
    let mut found = false;
    let mut look = |i: &Index| i.visit_data(&mut |d| found |= d.buffer == buffer);
    kernel.exprs.iter().for_each(|e| e.visit_indices(&mut look));
    kernel.axes.iter().flat_map(|a| &a.derived).for_each(&mut look);
    kernel.visit(&mut |node| match node {
        Node::For(f) => [&f.begin, &f.end].into_iter().for_each(&mut look),
        Node::Store(s) => s.index.iter().for_each(&mut look),
        _ => {}
    });
    found
}

struct Stages<'k> {
    kernel: &'k Kernel,
    x: BufferId,
    y: BufferId,
}

impl Stages<'_> {
    /// Whether the input is loaded only where the output is stored.
    fn agree(&self, scope: &mut Scope<'_>, nodes: &[Node]) -> bool {
        nodes.iter().all(|node| match node {
            Node::For(f) => {
                let left = scope.enter(f);
                let fine = self.agree(scope, &f.body);
                scope.leave(left);
                fine
            }
            Node::Accumulate { acc, body } => {
                let init: Vec<ExprId> = self.kernel.acc(*acc).state.iter().map(|s| s.init).collect();
                self.places(scope, &init).is_empty() && self.agree(scope, body)
            }
            Node::Step { values, .. } => self.places(scope, values).is_empty(),
            Node::Store(s) => {
                let loaded = self.places(scope, &[s.value]);
                let stored = self.place(scope, s.buffer, &s.index);
                loaded.is_empty() || (s.buffer == self.y && loaded.iter().all(|p| *p == stored))
            }
            Node::Prefetch { .. } => true,
        })
    }

    fn place(&self, scope: &Scope<'_>, buffer: BufferId, index: &[Index]) -> Index {
        let index: Vec<Index> = index.iter().map(|i| self.kernel.resolve(i)).collect();
        scope.simplify(&self.kernel.buffer(buffer).layout.offset(&index))
    }

    /// Where expressions load the input.
    fn places(&self, scope: &Scope<'_>, values: &[ExprId]) -> Vec<Index> {
        let (mut seen, mut open, mut found) = (IdSet::default(), values.to_vec(), Vec::new());
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                match self.kernel.expr(id) {
                    Expr::Load(load) if load.buffer == self.x => {
                        found.push(self.place(scope, load.buffer, &load.index));
                    }
                    _ => {}
                }
                self.kernel.expr(id).visit_operands(&mut |o| open.push(o));
            }
        }
        found
    }
}

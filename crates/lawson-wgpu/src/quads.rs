//! Four elements at a time: what lies side by side is read and written as one vector, and a member keeps what it has read.
//!
//! A body that only stores and steps is written once for each of four neighbours along an axis, or several fours of them, one after another without a loop.
//! A buffer takes part if every place in it that the kernel names moves by one along such an axis and begins at a multiple of four; others
//! are read and written element by element. What a member has read, or stored to scratch, it finds again in a register when it comes to
//! the same elements: a row that is summed twice and then written is read once.

use crate::dtype::narrow_of;
use crate::lower::Lower;
use crate::opcode::{Four, MemoryId, OpCode, ValueId, Word};
use crate::value::Known;
use lawson_graph::{DType, Dim, Result};
use lawson_kernel::{Atom, AxisId, BufferId, Expr, ExprId, For, Index, Kernel, Node, Role, Store};
use std::collections::BTreeSet;

/// Which of four neighbours is computed.
#[derive(Clone)]
pub(crate) struct Part {
    axis: AxisId,
    /// Where the four begin.
    first: Word,
    /// Which of them it is.
    number: usize,
}

/// What a member remembers.
#[derive(Default)]
pub(crate) struct Kept {
    quads: Vec<(MemoryId, Word, [ValueId; 4])>,
    /// Elements of scratch.
    scratch: Vec<(MemoryId, Word, ValueId)>,
}

impl Kept {
    /// What comes next is done by others, or another time.
    pub(crate) fn clear(&mut self) {
        *self = Kept::default();
    }

    /// Memory is written: what was known of it may be so no more.
    fn forget(&mut self, memory: MemoryId) {
        self.quads.retain(|(m, ..)| *m != memory);
        self.scratch.retain(|(m, ..)| *m != memory);
    }
}

/// The buffers that nodes of a flat body store to, one for each store.
fn stored(body: &[Node]) -> impl Iterator<Item = BufferId> {
    body.iter().filter_map(|n| match n {
        Node::Store(s) => Some(s.buffer),
        _ => None,
    })
}

/// Whether a body is stores and steps alone.
pub(crate) fn is_flat(body: &[Node]) -> bool {
    body.iter().all(|n| matches!(n, Node::Store(_) | Node::Step { .. } | Node::Prefetch { .. }))
}

/// The buffers that are read and written by fours along these axes.
pub(crate) fn buffers(kernel: &Kernel, axes: &BTreeSet<AxisId>) -> BTreeSet<BufferId> {
    let fits =
        |d: DType| matches!(d, DType::F32 | DType::I32 | DType::U32 | DType::Bool) || narrow_of(d).is_some();
    let mut fit: BTreeSet<BufferId> = kernel.arguments().filter(|b| fits(kernel.buffer(*b).dtype)).collect();
    let check = |fit: &mut BTreeSet<BufferId>, buffer: BufferId, index: &[Index], guarded: bool| {
        let offset = kernel.resolve(&kernel.buffer(buffer).layout.offset(index));
        if guarded || !is_quad(&offset, axes) {
            fit.remove(&buffer);
        }
    };
    for e in &kernel.exprs {
        if let Expr::Load(l) = e {
            check(&mut fit, l.buffer, &l.index, l.guard.is_some());
        }
        e.visit_indices(&mut |i| without_data(i, &mut fit));
    }
    let mut open: Vec<&Node> = kernel.body.iter().collect();
    while let Some(node) = open.pop() {
        match node {
            Node::For(f) => open.extend(&f.body),
            Node::Accumulate { body, .. } => open.extend(body),
            Node::Store(s) => {
                check(&mut fit, s.buffer, &s.index, false);
                s.index.iter().for_each(|i| without_data(i, &mut fit));
            }
            Node::Step { .. } | Node::Prefetch { .. } => {}
        }
    }
    fit
}

/// The inputs that may be read by fours at all, if they are given whole.
pub(crate) fn inputs_by_fours(kernel: &Kernel, whole: bool) -> BTreeSet<BufferId> {
    let fits = |b: &BufferId| {
        let buffer = kernel.buffer(*b);
        whole && buffer.role == Role::Input && matches!(buffer.dtype, DType::F32 | DType::F16 | DType::BF16)
    };
    kernel.arguments().filter(fits).collect()
}

/// Takes out the buffers that an expression does not read by fours along an axis.
pub(crate) fn check_quads(kernel: &Kernel, root: ExprId, axis: AxisId, fit: &mut BTreeSet<BufferId>) {
    kernel.visit_below(&[root], &mut |_, e| {
        if let Expr::Load(l) = e {
            check_place(kernel, l.buffer, &l.index, axis, fit);
            if l.guard.is_some() {
                fit.remove(&l.buffer);
            }
        }
        e.visit_indices(&mut |i| without_data(i, fit));
    });
}

/// Takes out a buffer if a place in it is not the first of four neighbours along an axis, or one of them.
pub(crate) fn check_place(
    kernel: &Kernel,
    buffer: BufferId,
    index: &[Index],
    axis: AxisId,
    fit: &mut BTreeSet<BufferId>,
) {
    let offset = kernel.resolve(&kernel.buffer(buffer).layout.offset(index));
    if !is_quad(&offset, &BTreeSet::from([axis])) {
        fit.remove(&buffer);
    }
}

/// Buffers that say where to read are read one element at a time.
fn without_data(index: &Index, fit: &mut BTreeSet<BufferId>) {
    for (atom, _) in index.terms() {
        match atom {
            Atom::At(datum) => {
                fit.remove(&datum.buffer);
                datum.index.iter().for_each(|i| without_data(i, fit));
            }
            Atom::Div(i, _) | Atom::Mod(i, _) => without_data(i, fit),
            Atom::Min(m) | Atom::Max(m) => m.iter().for_each(|i| without_data(i, fit)),
            Atom::Axis(_) => {}
        }
    }
}

/// Whether a place moves by one along one of the axes, and begins at a multiple of four.
fn is_quad(offset: &Index, axes: &BTreeSet<AxisId>) -> bool {
    let four = |d: &Dim| d.as_const().is_some_and(|c| c % 4 == 0);
    let mut along = 0;
    let fine = offset.terms().iter().all(|(atom, by)| match atom {
        Atom::Axis(a) if axes.contains(a) => {
            along += 1;
            by.is(1)
        }
        // What is divided may change between four neighbours.
        Atom::Axis(_) => four(by),
        _ => false,
    });
    fine && along == 1 && four(offset.offset())
}

fn by_four(at: Word) -> Word {
    at.split(4).1
}

impl Lower<'_> {
    /// Writes a body that is flat at four neighbours along an axis.
    pub(crate) fn quad_body(&mut self, axis: AxisId, first: &Word, body: &[Node]) -> Result<()> {
        for node in body {
            match node {
                Node::Store(s) => {
                    let once = stored(body).filter(|b| *b == s.buffer).count() == 1;
                    self.store_quad(axis, first, s, once)?;
                }
                Node::Prefetch { .. } => {}
                _ => {
                    for number in 0..4 {
                        self.at_part(axis, first, number);
                        self.block(std::slice::from_ref(node))?;
                    }
                }
            }
        }
        self.leave_part(axis);
        Ok(())
    }

    /// The loop over an axis by so many members, each of which takes fours without a loop.
    pub(crate) fn quads_by_lanes(&mut self, f: &For, extent: i64) -> Result<()> {
        stored(&f.body).for_each(|b| self.kept.forget(MemoryId(b.0)));
        let left = self.scope.enter(f);
        let members = i64::from(self.members);
        for turn in 0..extent / (4 * members) {
            let number = match turn {
                0 => Word::Lane,
                turn => Word::Lane.plus(Word::Const(turn * members)),
            };
            self.quad_body(f.axis, &number.times(4), &f.body)?;
        }
        self.scope.leave(left);
        Ok(())
    }

    /// What follows is no longer one of four.
    pub(crate) fn leave_part(&mut self, axis: AxisId) {
        self.part = None;
        self.parameters.fixed.remove(&axis);
    }

    /// What follows is this one of the four neighbours along an axis that begin there.
    pub(crate) fn at_part(&mut self, axis: AxisId, first: &Word, number: usize) {
        let here = match number {
            0 => first.clone(),
            n => first.clone().plus(Word::Const(n as i64)),
        };
        self.parameters.fixed.insert(axis, here);
        self.part = Some(Part { axis, first: first.clone(), number });
    }

    /// An expression at one of the four neighbours along an axis that begin there, where another axis has a value.
    pub(crate) fn value_at_part(
        &mut self,
        root: ExprId,
        (axis, first, number): (AxisId, &Word, usize),
        (still, there): (AxisId, Word),
    ) -> Result<ValueId> {
        self.parameters.fixed.insert(still, there);
        self.at_part(axis, first, number);
        let value = self.value(root, &mut Known::new());
        self.leave_part(axis);
        self.parameters.fixed.remove(&still);
        value
    }

    /// Stores four neighbours. A member remembers what it puts into scratch where no other store of the loop may put something else.
    fn store_quad(&mut self, axis: AxisId, first: &Word, s: &Store, once: bool) -> Result<()> {
        let memory = MemoryId(s.buffer.0);
        if !self.quads.contains(&s.buffer) {
            for number in 0..4 {
                self.at_part(axis, first, number);
                let value = self.value(s.value, &mut Known::new())?;
                let at = self.place(s.buffer, &s.index)?;
                if once && matches!(self.kernel.buffer(s.buffer).role, Role::Scratch(_)) {
                    self.kept.scratch.push((memory, at.clone(), value));
                }
                self.emit.codes.push(OpCode::Store { memory, at, value });
            }
            return Ok(());
        }
        let mut values = Vec::with_capacity(4);
        for number in 0..4 {
            self.at_part(axis, first, number);
            values.push(self.value(s.value, &mut Known::new())?);
        }
        self.store_four(axis, first, s, &values)
    }

    /// Stores what four neighbours have become.
    pub(crate) fn store_four(
        &mut self,
        axis: AxisId,
        first: &Word,
        s: &Store,
        values: &[ValueId],
    ) -> Result<()> {
        let memory = MemoryId(s.buffer.0);
        if let (true, &[a, b, c, d]) = (self.quads.contains(&s.buffer), values) {
            self.at_part(axis, first, 0);
            let at = by_four(self.place(s.buffer, &s.index)?);
            self.kept.forget(memory);
            self.emit.codes.push(OpCode::StoreQuad { memory, at, values: Four::Values([a, b, c, d]) });
            return Ok(());
        }
        for (number, value) in values.iter().enumerate() {
            self.at_part(axis, first, number);
            let at = self.place(s.buffer, &s.index)?;
            self.emit.codes.push(OpCode::Store { memory, at, value: *value });
        }
        Ok(())
    }

    /// What a member knows of an element: it is one of four that are read together, or one that it stored.
    pub(crate) fn kept(&mut self, buffer: BufferId, index: &[Index]) -> Result<Option<ValueId>> {
        let Some(Part { axis, first, number }) = self.part.clone() else { return Ok(None) };
        let memory = MemoryId(buffer.0);
        if !self.quads.contains(&buffer) {
            let at = self.place(buffer, index)?;
            let known = self.kept.scratch.iter().find(|(m, w, _)| *m == memory && *w == at);
            return Ok(known.map(|(_, _, value)| *value));
        }
        let here = self.parameters.fixed.insert(axis, first);
        let at = by_four(self.place(buffer, index)?);
        self.parameters.fixed.extend(here.map(|here| (axis, here)));
        let known = self.kept.quads.iter().find(|(m, w, _)| *m == memory && *w == at);
        let values = match known {
            Some((_, _, values)) => *values,
            None => {
                let values = self.emit.quad(memory, at.clone());
                self.kept.quads.push((memory, at, values));
                values
            }
        };
        Ok(Some(values[number]))
    }
}

//! From the tree to the list: which part becomes which launch, where scratch lies, and the nodes one after another.
//!
//! A chain of parallel loops at the root is one launch, its iterations counted as one number; what stands between such chains
//! is a launch of one member. Who does an iteration is a matter of strategy (`strategy.rs`). Every other loop is a plain loop, whatever its kind, because a kind never changes what a kernel
//! means. `value.rs` has the expressions of stages, `word.rs` their indices.

use crate::dtype::{narrow_of, ty_of};
use crate::math::Emit;
use crate::opcode::{
    Access, Binding, By, Capabilities, Element, Launch, Listing, Members, MemoryId, Op, OpCode, Residence,
    Span, Ty, VarId, Word,
};
use crate::quads::{Kept, Part};
use crate::strategy::{Strategy, strategy};
use crate::value::Known;
use crate::word::Parameters;
use lawson_graph::{Code, Dim, Error, Place, Result};
use lawson_kernel::range::Left;
use lawson_kernel::{AxisId, BufferId, Expr, ExprId, For, Index, Kernel, Kind, Node, Role, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// The most elements that memory may have, so that a word can count them.
const MAX_ELEMENTS: i64 = i32::MAX as i64;

/// A kernel on its way.
pub(crate) struct Lower<'k> {
    pub(crate) kernel: &'k Kernel,
    pub(crate) scope: Scope<'k>,
    pub(crate) parameters: Parameters,
    pub(crate) emit: Emit,
    /// The functions called, by name.
    pub(crate) functions: BTreeMap<String, Vec<OpCode>>,
    /// The variables of accumulators whose steps stand here.
    pub(crate) states: Vec<Option<Vec<(VarId, Ty)>>>,
    /// The variables of accumulators whose results are known here.
    pub(crate) results: Vec<Option<Vec<(VarId, Ty)>>>,
    launches: Vec<Launch>,
    pub(crate) capabilities: Capabilities,
    /// How many members do an iteration.
    pub(crate) members: u32,
    /// Axes and memory that the kernel does not have: their names, and how many.
    extra_axes: Vec<String>,
    extra_memory: u32,
    /// Declarations besides those of the kernel's buffers.
    pub(crate) declared: Vec<OpCode>,
    /// Workgroup memory through which states are merged, by type, and how much of it is in use.
    pub(crate) exchange: Vec<(Ty, MemoryId)>,
    pub(crate) exchanging: BTreeMap<Ty, usize>,
    /// The buffers that are read and written by fours, which of four is computed, and what a member remembers.
    pub(crate) quads: BTreeSet<BufferId>,
    /// Whether the loops that members share go by fours.
    pub(crate) by_fours: bool,
    pub(crate) part: Option<Part>,
    /// Values that are known wherever the body that is written now is.
    pub(crate) invariants: Known,
    pub(crate) kept: Kept,
}

/// A refusal, with the kernel as its place.
pub(crate) fn refused(kernel: &Kernel, message: impl Into<String>) -> Error {
    Error::new(Code::NotEmitted, message)
        .at(Place::Kernel { kernel: kernel.name.clone(), path: "as op codes".into() })
}

impl Listing {
    /// The op codes of a kernel; an error says what of it has none.
    pub fn of(kernel: &Kernel, capabilities: &Capabilities) -> Result<Listing> {
        Listing::bound(kernel, capabilities, &Binding::default())
    }

    /// As [`Listing::of`], for buffers that are given in this way.
    pub fn bound(kernel: &Kernel, capabilities: &Capabilities, binding: &Binding) -> Result<Listing> {
        match strategy(kernel, &segments(kernel), capabilities, binding) {
            Strategy::Each => {}
            strategy => match Listing::by(kernel, capabilities, binding, &strategy) {
                Ok(listing) => return Ok(listing),
                // What members cannot share, one does.
                Err(why) if why.code() == Code::NotEmitted => {}
                Err(why) => return Err(why),
            },
        }
        Listing::by(kernel, capabilities, binding, &Strategy::Each)
    }

    fn by(
        kernel: &Kernel,
        capabilities: &Capabilities,
        binding: &Binding,
        strategy: &Strategy,
    ) -> Result<Listing> {
        let mut codes = Vec::new();
        let spilled = declare(kernel, capabilities, binding, strategy, &mut codes)?;
        let bases = kernel.arguments().zip(&binding.based).filter(|(_, based)| **based);
        let bases: Vec<MemoryId> = bases.map(|(b, _)| MemoryId(b.0)).collect();
        let mut lower = Lower {
            kernel,
            scope: Scope::new(kernel),
            parameters: Parameters { bases, ..Parameters::default() },
            emit: Emit::default(),
            functions: BTreeMap::new(),
            states: vec![None; kernel.accs.len()],
            results: vec![None; kernel.accs.len()],
            launches: Vec::new(),
            capabilities: *capabilities,
            members: match strategy {
                Strategy::Each | Strategy::Quads { .. } => 1,
                Strategy::Rows { members, .. } => *members,
                Strategy::Tiles(tiles) => tiles.shape.members(),
                Strategy::Chain(chain) => chain.members,
            },
            extra_axes: Vec::new(),
            extra_memory: 0,
            declared: Vec::new(),
            exchange: Vec::new(),
            exchanging: BTreeMap::new(),
            quads: strategy.quads().clone(),
            by_fours: matches!(strategy, Strategy::Rows { fours: Some(_), .. }),
            part: None,
            invariants: Known::new(),
            kept: Kept::default(),
        };
        for segment in segments(kernel) {
            lower.launch(segment, strategy)?;
        }
        for launch in &lower.launches {
            for span in &launch.axes {
                lower.parameters.dim(&span.begin);
                lower.parameters.dim(&span.count());
            }
        }
        for code in &codes {
            if let OpCode::Scratch { place: Residence::Spilled(from), .. } = code {
                lower.parameters.dim(from);
            }
        }
        lower.parameters.dim(&spilled);
        codes.extend(lower.declared);
        codes.extend(lower.functions.into_values().flatten());
        codes.extend(lower.emit.codes);
        forget_unread(&mut codes);
        let axes = kernel.axes.iter().map(|a| a.name.clone()).chain(lower.extra_axes);
        Ok(Listing {
            kernel: kernel.name.clone(),
            parameters: lower.parameters.dims,
            bases: lower.parameters.bases,
            axes: axes.collect(),
            codes,
            launches: lower.launches,
            capabilities: *capabilities,
            spilled,
        })
    }

    /// The same listing without the names that people gave: what a device is told.
    pub(crate) fn unnamed(&self) -> Listing {
        let mut listing = self.clone();
        listing.kernel = String::new();
        listing.axes.iter_mut().for_each(String::clear);
        for code in &mut listing.codes {
            if let OpCode::Buffer { name, .. } | OpCode::Scratch { name, .. } = code {
                name.clear();
            }
        }
        listing
    }

    /// A dimension as a word of this listing's parameters.
    pub(crate) fn word_of(&self, dim: &Dim) -> Word {
        match (dim.as_const(), self.parameters.iter().position(|d| d == dim)) {
            (Some(c), _) => Word::Const(c),
            (None, Some(i)) => Word::Param(i),
            (None, None) => Word::Const(0),
        }
    }
}

/// Drops scratch that is written but not read: members remember what they stored.
fn forget_unread(codes: &mut Vec<OpCode>) {
    let mut read = BTreeSet::new();
    for code in &*codes {
        match code {
            OpCode::Let { op: Op::Load(memory, _), .. } | OpCode::LetQuad { memory, .. } => {
                read.insert(*memory);
            }
            _ => {}
        }
    }
    let private =
        |c: &OpCode| matches!(c, OpCode::Scratch { place: Residence::Private | Residence::Workgroup, .. });
    let scratch = codes.iter().filter(|c| private(c)).filter_map(|c| match c {
        OpCode::Scratch { memory, .. } if !read.contains(memory) => Some(*memory),
        _ => None,
    });
    let unread: BTreeSet<MemoryId> = scratch.collect();
    codes.retain(|c| match c {
        OpCode::Scratch { memory, .. } | OpCode::Store { memory, .. } => !unread.contains(memory),
        _ => true,
    });
}

/// Declares buffers and scratch; gives how many words of scratch a member has in memory.
fn declare(
    kernel: &Kernel,
    capabilities: &Capabilities,
    given: &Binding,
    strategy: &Strategy,
    codes: &mut Vec<OpCode>,
) -> Result<Dim> {
    let mut binding = 0u32;
    let arguments: Vec<BufferId> = kernel.arguments().collect();
    let mut aliases = Vec::new();
    // One word is the member's number.
    let mut private = (capabilities.private_bytes / 4).saturating_sub(1);
    let kept = match strategy {
        Strategy::Each | Strategy::Quads { .. } => Residence::Private,
        Strategy::Tiles(_) => beside_tiles(kernel)?,
        // Some of it is for merging states.
        Strategy::Rows { members, .. } => {
            private = (capabilities.workgroup_memory / 4).saturating_sub(members * 8);
            Residence::Workgroup
        }
        Strategy::Chain(chain) => {
            let partial = u32::try_from(chain.partial(kernel)).unwrap_or(u32::MAX);
            private = (capabilities.workgroup_memory / 4).saturating_sub(partial);
            Residence::Workgroup
        }
    };
    let mut spilled = Dim::ZERO;
    for (id, buffer) in kernel.buffers.iter().enumerate() {
        let (memory, name) = (MemoryId(id as u32), buffer.name.clone());
        let ty = ty_of(kernel, buffer.dtype)?;
        let size = buffer.layout.size.as_const();
        if size.is_some_and(|s| !(0..=MAX_ELEMENTS).contains(&s)) {
            return Err(refused(kernel, format!("`{name}` has more than {MAX_ELEMENTS} elements"))
                .help("indices are words of 32 bits on this target; split the tensor"));
        }
        let access = match buffer.role {
            Role::Input => Access::Read,
            Role::Output => Access::Write,
            Role::Scratch(_) => {
                let wide = i64::from(matches!(ty, Ty::I64 | Ty::U64)) + 1;
                let words = size.and_then(|s| u32::try_from(s.saturating_mul(wide)).ok());
                let place = match words.and_then(|w| private.checked_sub(w)) {
                    Some(left) => {
                        private = left;
                        kept.clone()
                    }
                    None if matches!(ty, Ty::I64 | Ty::U64) => {
                        return Err(refused(kernel, format!("`{name}` of {} is large", buffer.dtype))
                            .help("scratch of 64 bits must fit in registers or workgroup memory"));
                    }
                    None => {
                        let from = spilled.clone();
                        spilled = spilled + buffer.layout.size.clone();
                        Residence::Spilled(from)
                    }
                };
                let by_fours = strategy.quads().contains(&BufferId(id as u32));
                let (size, place) = match (buffer.layout.size.clone(), place) {
                    (size, Residence::Workgroup) if by_fours => {
                        (size.floor_div(&Dim::from(4)), Residence::Quads)
                    }
                    (_, Residence::Spilled(_)) if by_fours => {
                        return Err(refused(kernel, format!("`{name}` does not fit into workgroup memory")));
                    }
                    whole => whole,
                };
                codes.push(OpCode::Scratch { memory, name, ty, size, place });
                continue;
            }
        };
        let argument = arguments.iter().position(|b| b.0 as usize == id);
        let shared = argument.and_then(|n| given.shared.get(n).copied().flatten());
        if let Some(of) = shared.and_then(|n| arguments.get(n)) {
            if kernel.buffer(*of).dtype != buffer.dtype {
                return Err(refused(
                    kernel,
                    format!("`{name}` lies where elements of another dtype are written"),
                ));
            }
            aliases.push(OpCode::Alias { memory, of: MemoryId(of.0) });
            continue;
        }
        let windows = argument.and_then(|n| given.windows.get(n).copied()).unwrap_or(1).max(1);
        let first = binding + 1;
        binding = binding.saturating_add(windows);
        let by_fours = strategy.quads().contains(&BufferId(id as u32));
        let element = match (narrow_of(buffer.dtype), ty) {
            _ if strategy.has_halves(BufferId(id as u32)) => Element::Halves,
            (Some(narrow), _) if by_fours => Element::NarrowQuad(narrow),
            (Some(narrow), _) => Element::Narrow(narrow),
            (None, Ty::Bool) if by_fours => Element::ByteQuad,
            (None, Ty::Bool) => Element::Byte,
            (None, _) if by_fours => Element::Quad(ty),
            (None, Ty::F32 | Ty::I32 | Ty::U32) => Element::Word(ty),
            (None, Ty::I64 | Ty::U64) => Element::Wide(ty),
        };
        codes.push(OpCode::Buffer { memory, name, binding: first, element, access, windows });
    }
    codes.extend(aliases);
    let seen = binding.saturating_add(u32::from(!spilled.is(0)));
    given.check(kernel, seen, capabilities)?;
    Ok(spilled)
}

/// Where scratch of a kernel by tiles lies: it has none.
fn beside_tiles(kernel: &Kernel) -> Result<Residence> {
    match kernel.buffers.iter().any(|b| matches!(b.role, Role::Scratch(_))) {
        true => Err(refused(kernel, "scratch beside a tile")),
        false => Ok(Residence::Private),
    }
}

/// The nodes of one launch.
pub(crate) enum Segment<'k> {
    /// A chain of parallel loops, and what is in the innermost.
    Parallel(Vec<&'k For>, &'k [Node]),
    /// What one member does.
    Alone(&'k [Node]),
}

/// The launches of a kernel. If one needs a result that another accumulated, or scratch that another filled, all is done by one
/// member.
fn segments(kernel: &Kernel) -> Vec<Segment<'_>> {
    let mut out = Vec::new();
    let mut open = 0;
    let alone = |nodes: &'_ [Node]| nodes.iter().any(|n| !matches!(n, Node::Prefetch { .. }));
    for (i, node) in kernel.body.iter().enumerate() {
        if let Node::For(f @ For { kind: Kind::Parallel, .. }) = node {
            if alone(&kernel.body[open..i]) {
                out.push(Segment::Alone(&kernel.body[open..i]));
            }
            let (chain, inner) = chain(f);
            out.push(Segment::Parallel(chain, inner));
            open = i + 1;
        }
    }
    if alone(&kernel.body[open..]) {
        out.push(Segment::Alone(&kernel.body[open..]));
    }
    let nodes = |segment: &Segment<'_>| match segment {
        Segment::Parallel(_, nodes) | Segment::Alone(nodes) => scratch_of(kernel, nodes),
    };
    let scratch: Vec<BTreeSet<BufferId>> = out.iter().map(nodes).collect();
    let shared = (0..scratch.len()).any(|n| scratch[..n].iter().any(|s| !s.is_disjoint(&scratch[n])));
    let carried = shared
        || out.iter().any(|segment| match segment {
            Segment::Parallel(_, nodes) | Segment::Alone(nodes) => carries(kernel, nodes),
        });
    if carried { vec![Segment::Alone(&kernel.body)] } else { out }
}

/// The scratch that nodes store to: one launch leaves nothing in it to another.
fn scratch_of(kernel: &Kernel, nodes: &[Node]) -> BTreeSet<BufferId> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&Node> = nodes.iter().collect();
    while let Some(node) = open.pop() {
        match node {
            Node::For(For { body, .. }) | Node::Accumulate { body, .. } => open.extend(body),
            Node::Store(s) if matches!(kernel.buffer(s.buffer).role, Role::Scratch(_)) => {
                found.insert(s.buffer);
            }
            Node::Store(_) | Node::Step { .. } | Node::Prefetch { .. } => {}
        }
    }
    found
}

/// The parallel loops that stand directly inside one another and whose bounds mention no axis.
fn chain(first: &For) -> (Vec<&For>, &[Node]) {
    let mut chain = vec![first];
    let mut inner = first.body.as_slice();
    while let [Node::For(next)] = inner {
        let fixed = next.begin.as_dim().is_some() && next.end.as_dim().is_some();
        if next.kind != Kind::Parallel || !fixed {
            break;
        }
        chain.push(next);
        inner = &next.body;
    }
    (chain, inner)
}

/// Whether these nodes need the result of an accumulator that is not among them.
fn carries(kernel: &Kernel, nodes: &[Node]) -> bool {
    let (mut roots, mut made) = (Vec::new(), BTreeSet::new());
    collect(kernel, nodes, &mut roots, &mut made);
    let mut seen: BTreeSet<ExprId> = roots.iter().copied().collect();
    while let Some(id) = roots.pop() {
        if let Expr::Result(acc, _) = kernel.expr(id)
            && !made.contains(acc)
        {
            return true;
        }
        kernel.expr(id).visit_operands(&mut |o| {
            if seen.insert(o) {
                roots.push(o);
            }
        });
    }
    false
}

fn collect(
    kernel: &Kernel,
    nodes: &[Node],
    roots: &mut Vec<ExprId>,
    made: &mut BTreeSet<lawson_kernel::AccId>,
) {
    for node in nodes {
        match node {
            Node::For(f) => collect(kernel, &f.body, roots, made),
            Node::Accumulate { acc, body } => {
                made.insert(*acc);
                roots.extend(kernel.acc(*acc).state.iter().map(|s| s.init));
                collect(kernel, body, roots, made);
            }
            Node::Step { values, .. } => roots.extend(values),
            Node::Store(s) => roots.push(s.value),
            Node::Prefetch { .. } => {}
        }
    }
}

impl Lower<'_> {
    fn launch(&mut self, segment: Segment<'_>, strategy: &Strategy) -> Result<()> {
        let (chain, inner) = match segment {
            Segment::Parallel(chain, inner) => (chain, inner),
            Segment::Alone(nodes) => (Vec::new(), nodes),
        };
        let mut axes = Vec::with_capacity(chain.len());
        let mut entered = Vec::with_capacity(chain.len());
        for f in &chain {
            let (Some(begin), Some(end)) = (f.begin.as_dim(), f.end.as_dim()) else {
                let name = &self.kernel.axis(f.axis).name;
                return Err(refused(
                    self.kernel,
                    format!("the bounds of the outermost loop `{name}` mention axes"),
                )
                .help(
                    "the first parallel loop stands at the root, so its bounds are numbers or parameters",
                ));
            };
            axes.push(Span { axis: f.axis, begin: begin.clone(), end: end.clone(), step: f.step });
            entered.push(self.scope.enter(f));
        }
        // What never runs may divide by the size of nothing, which a compiler of shaders refuses to read.
        if axes.iter().any(|s| s.count().is(0)) {
            while let Some(left) = entered.pop() {
                self.scope.leave(left);
            }
            return Ok(());
        }
        let launch = self.launches.len();
        let begins;
        (axes, begins) = match strategy {
            Strategy::Tiles(tiles) => {
                let (axes, begins) = self.tile_spans(tiles, axes);
                (axes, Some(begins))
            }
            Strategy::Quads { axis, .. } => {
                let first = self.pseudo_axis("four");
                let by = |span: Span| {
                    if span.axis == *axis { Span { axis: first, step: 4, ..span } } else { span }
                };
                (axes.into_iter().map(by).collect(), Some([first, first]))
            }
            Strategy::Each | Strategy::Rows { .. } | Strategy::Chain(_) => (axes, None),
        };
        let members = match strategy {
            Strategy::Each | Strategy::Quads { .. } => Members::One,
            Strategy::Rows { .. } | Strategy::Tiles(_) | Strategy::Chain(_) => {
                Members::Workgroup(self.members)
            }
        };
        self.launches.push(Launch { entry: format!("launch_{launch}"), axes, members });
        self.emit.codes.push(OpCode::Entry { launch });
        match (strategy, begins) {
            (Strategy::Tiles(tiles), Some(begins)) => self.tile(tiles, begins, &chain, inner)?,
            (Strategy::Quads { axis, .. }, Some([first, _])) => {
                self.with_invariants(*axis, inner, |l| l.quad_body(*axis, &Word::Axis(first), inner))?;
            }
            (Strategy::Rows { .. }, _) => self.together(inner)?,
            (Strategy::Chain(chain), _) => self.chain(chain)?,
            _ => self.block(inner)?,
        }
        self.emit.codes.push(OpCode::EndEntry);
        while let Some(left) = entered.pop() {
            self.scope.leave(left);
        }
        Ok(())
    }

    pub(crate) fn block(&mut self, nodes: &[Node]) -> Result<()> {
        let mut known = Vec::new();
        for node in nodes {
            match node {
                Node::For(f) => self.each(f)?,
                Node::Accumulate { acc, body } => {
                    let mut values = Known::new();
                    let mut vars = Vec::new();
                    for state in &self.kernel.acc(*acc).state {
                        let ty = ty_of(self.kernel, state.dtype)?;
                        let init = self.value(state.init, &mut values)?;
                        vars.push((self.emit.var(ty, init), ty));
                    }
                    let outer = self.states[acc.0 as usize].replace(vars);
                    self.block(body)?;
                    self.results[acc.0 as usize] = std::mem::replace(&mut self.states[acc.0 as usize], outer);
                    known.push(*acc);
                }
                Node::Step { acc, values } => {
                    let vars = self.states[acc.0 as usize].clone().unwrap_or_default();
                    if vars.len() != values.len() {
                        let name = &self.kernel.acc(*acc).name;
                        return Err(refused(
                            self.kernel,
                            format!("a step of `{name}` outside it, or of another length"),
                        )
                        .help("steps stand inside the `accumulate` of their accumulator"));
                    }
                    let mut known = Known::new();
                    let values =
                        values.iter().map(|v| self.value(*v, &mut known)).collect::<Result<Vec<_>>>()?;
                    for ((var, _), value) in vars.into_iter().zip(values) {
                        self.emit.codes.push(OpCode::Set { var, value });
                    }
                }
                Node::Store(s) => {
                    let value = self.value(s.value, &mut Known::new())?;
                    let at = self.place(s.buffer, &s.index)?;
                    self.emit.codes.push(OpCode::Store { memory: MemoryId(s.buffer.0), at, value });
                }
                Node::Prefetch { .. } => {}
            }
        }
        known.into_iter().for_each(|acc| self.results[acc.0 as usize] = None);
        Ok(())
    }

    fn each(&mut self, f: &For) -> Result<()> {
        if let Some(left) = self.open(f, By::Member)? {
            self.block(&f.body)?;
            self.close(left);
        }
        Ok(())
    }

    /// Begins a loop, unless it never runs.
    pub(crate) fn open(&mut self, f: &For, by: By) -> Result<Option<Left>> {
        if f.step < 1 || self.kernel.axis(f.axis).derived.is_some() {
            let name = &self.kernel.axis(f.axis).name;
            return Err(refused(
                self.kernel,
                format!("a loop over `{name}` in steps below 1, or a derived axis"),
            )
            .help("loops run upwards over axes of their own"));
        }
        let begin = self.parameters.word(&self.scope, &f.begin);
        let end = self.parameters.word(&self.scope, &f.end);
        if let (Word::Const(begin), Word::Const(end)) = (&begin, &end)
            && begin >= end
        {
            return Ok(None);
        }
        self.emit.codes.push(OpCode::Loop { axis: f.axis, begin, end, step: f.step, by });
        Ok(Some(self.scope.enter(f)))
    }

    /// Ends the loop begun last.
    pub(crate) fn close(&mut self, left: Left) {
        self.scope.leave(left);
        self.emit.codes.push(OpCode::EndLoop);
    }

    /// An axis that the kernel does not have.
    pub(crate) fn pseudo_axis(&mut self, name: &str) -> AxisId {
        self.extra_axes.push(name.into());
        AxisId((self.kernel.axes.len() + self.extra_axes.len() - 1) as u32)
    }

    /// Memory that the kernel does not have.
    pub(crate) fn pseudo_memory(&mut self) -> MemoryId {
        self.extra_memory += 1;
        MemoryId(self.kernel.buffers.len() as u32 + self.extra_memory - 1)
    }

    /// Where an element lies.
    pub(crate) fn place(&mut self, id: BufferId, index: &[Index]) -> Result<Word> {
        let buffer = self.kernel.buffer(id);
        if buffer.layout.digits.iter().any(|d| d.dim >= index.len()) {
            return Err(refused(self.kernel, format!("`{}` is used with too few indices", buffer.name))
                .help("every logical dimension takes one"));
        }
        let word = self.parameters.word(&self.scope, &buffer.layout.offset(index));
        Ok(self.parameters.based(MemoryId(id.0), word))
    }
}

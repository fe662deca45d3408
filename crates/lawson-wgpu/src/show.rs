//! Listings for people: one op code a line, blocks indented.

use crate::opcode::*;
use lawson_kernel::AxisId;
use std::fmt::{self, Display, Formatter};

impl Display for Listing {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "listing {}", self.kernel)?;
        for (i, dim) in self.parameters.iter().enumerate() {
            writeln!(f, "parameter p{i} = {dim}")?;
        }
        let mut depth = 0usize;
        for code in &self.codes {
            if code.closes() {
                depth = depth.saturating_sub(1);
            }
            writeln!(f, "{:1$}{2}", "", 2 * depth, Named { listing: self, what: code })?;
            depth += usize::from(code.opens());
        }
        Ok(())
    }
}

impl OpCode {
    /// Whether it begins a block.
    pub fn opens(&self) -> bool {
        use OpCode::*;
        matches!(self, Function { .. } | Entry { .. } | Loop { .. } | Guard(_) | Block)
    }

    /// Whether it ends a block. The result of a function stands where its end does.
    pub fn closes(&self) -> bool {
        use OpCode::*;
        matches!(self, Return(_) | EndEntry | EndLoop | EndGuard | EndBlock)
    }
}

/// Something of a listing, with the names that the listing has for axes and memory.
struct Named<'a, T: ?Sized> {
    listing: &'a Listing,
    what: &'a T,
}

impl<'a, T: ?Sized> Named<'a, T> {
    fn with<'b, U: ?Sized>(&self, what: &'b U) -> Named<'b, U>
    where
        'a: 'b,
    {
        Named { listing: self.listing, what }
    }

    fn axis(&self, axis: AxisId) -> &'a str {
        self.listing.axes.get(axis.0 as usize).map_or("?", String::as_str)
    }

    fn memory(&self, wanted: MemoryId) -> &'a str {
        let name = self.listing.codes.iter().find_map(|code| match code {
            OpCode::Buffer { memory, name, .. } | OpCode::Scratch { memory, name, .. }
                if *memory == wanted =>
            {
                Some(name.as_str())
            }
            _ => None,
        });
        name.unwrap_or("?")
    }
}

impl Display for Named<'_, OpCode> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.what {
            OpCode::Buffer { name, binding, element, access, windows, .. } => {
                let access = match access {
                    Access::Read => "read",
                    Access::Write => "write",
                };
                let element = match element {
                    Element::Word(ty) | Element::Wide(ty) => ty.name().to_string(),
                    Element::Quad(ty) => format!("{} in quads", ty.name()),
                    Element::Byte => "bool in bytes".to_string(),
                    Element::Halves => "f16 in quads, as they are".to_string(),
                    Element::ByteQuad => "bool in bytes, in quads".to_string(),
                    Element::NarrowQuad(narrow) => format!("{} in quads", narrow.name()),
                    Element::Narrow(narrow) => narrow.name().to_string(),
                };
                write!(f, "buffer {name}: {element}, {access}, binding {binding}")?;
                if *windows > 1 { write!(f, " and on, in {windows} windows") } else { Ok(()) }
            }
            OpCode::Alias { of, .. } => write!(f, "the same buffer as {}", self.memory(*of)),
            OpCode::Scratch { name, ty, size, place, .. } => {
                write!(f, "scratch {name}: {} elements of {}, ", size, ty.name())?;
                match place {
                    Residence::Private => f.write_str("private"),
                    Residence::Workgroup => f.write_str("the workgroup's"),
                    Residence::Quads => f.write_str("the workgroup's, in quads"),
                    Residence::Halves => f.write_str("the workgroup's, fours of 16 bits"),
                    Residence::Spilled(from) => write!(f, "spilled from word {from}"),
                }
            }
            OpCode::Function { name, arguments, results } => match results {
                1 => write!(f, "function {name} of {arguments}"),
                _ => write!(f, "function {name} of {arguments}, a pair"),
            },
            OpCode::Return(results) => {
                let results: Vec<String> = results.iter().map(ToString::to_string).collect();
                write!(f, "return {}", results.join(", "))
            }
            OpCode::LetPair { values: [a, b], function, argument } => {
                write!(f, "{a}, {b}: f32 = {function} {argument}")
            }
            OpCode::Entry { launch } => {
                write!(f, "launch {launch}")?;
                if let Some(Members::Workgroup(n)) = self.listing.launches.get(*launch).map(|l| l.members) {
                    write!(f, " by workgroups of {n}")?;
                }
                for span in self.listing.launches.get(*launch).iter().flat_map(|l| &l.axes) {
                    let axis = self.axis(span.axis);
                    write!(f, ", {axis} from {} to {} by {}", span.begin, span.end, span.step)?;
                }
                Ok(())
            }
            OpCode::EndEntry | OpCode::EndLoop | OpCode::EndGuard | OpCode::EndBlock => f.write_str("end"),
            OpCode::Block => f.write_str("block"),
            OpCode::Barrier => f.write_str("barrier"),
            OpCode::Axis { axis, value } => write!(f, "axis {} = {}", self.axis(*axis), self.with(value)),
            OpCode::LetQuad { values: [a, b, c, d], memory, at } => {
                let memory = self.memory(*memory);
                write!(f, "{a}, {b}, {c}, {d}: f32 = quad {memory}[{}]", self.with(at))
            }
            OpCode::StoreQuad { memory, at, values } => {
                write!(f, "store quad {}[{}] = {values}", self.memory(*memory), self.with(at))
            }
            OpCode::Quad { quad, init } => write!(f, "quad {quad}: f32 = {init}"),
            OpCode::SetQuad { quad, to } => write!(f, "set {quad} = {to}"),
            OpCode::StepQuad { sum, by, of } => write!(f, "step {sum} by {by} times {of}"),
            OpCode::Halves(halves) => write!(f, "halves {halves}"),
            OpCode::SetHalves { halves, to } => match to {
                Halves::Zeros => write!(f, "set {halves} = zeros"),
                Halves::At(memory, at) => {
                    write!(f, "set {halves} = halves {}[{}]", self.memory(*memory), self.with(at))
                }
                Halves::Values([a, b, c, d]) => write!(f, "set {halves} = {a}, {b}, {c}, {d}"),
            },
            OpCode::StoreHalves { memory, at, halves } => {
                write!(f, "store halves {}[{}] = {halves}", self.memory(*memory), self.with(at))
            }
            OpCode::Matrix(matrix) => write!(f, "matrix {matrix} of sums"),
            OpCode::LoadMatrix { matrix, side, memory, at, line, order } => {
                let side = if *side == Side::Left { "left" } else { "right" };
                let order = if *order == Order::Rows { "rows" } else { "columns" };
                let (memory, at) = (self.memory(*memory), self.with(at));
                write!(f, "matrix {matrix}, {side} = {memory}[{at}] by {order}, {line} apart")
            }
            OpCode::StepMatrix { sums, factors: [a, b] } => write!(f, "step {sums} by {a} times {b}"),
            OpCode::StoreMatrix { memory, at, sums } => {
                write!(f, "store matrix {}[{}] = {sums}", self.memory(*memory), self.with(at))
            }
            OpCode::Let { value, ty, op } => write!(f, "{value}: {} = {}", ty.name(), self.with(op)),
            OpCode::Var { var, ty, init } => write!(f, "var {var}: {} = {init}", ty.name()),
            OpCode::Set { var, value } => write!(f, "set {var} = {value}"),
            OpCode::Store { memory, at, value } => {
                write!(f, "store {}[{}] = {value}", self.memory(*memory), self.with(at))
            }
            OpCode::Loop { axis, begin, end, step, by } => {
                let (axis, begin, end) = (self.axis(*axis), self.with(begin), self.with(end));
                let shared = if *by == By::Lanes { ", shared" } else { "" };
                write!(f, "loop {axis} from {begin} to {end} by {step}{shared}")
            }
            OpCode::Guard(Test::Value(v)) => write!(f, "guard {v}"),
            OpCode::Guard(Test::Within(pairs)) => {
                f.write_str("guard")?;
                for (i, (index, end)) in pairs.iter().enumerate() {
                    let and = if i > 0 { "," } else { "" };
                    write!(f, "{and} 0 <= {} < {}", self.with(index), self.with(end))?;
                }
                Ok(())
            }
        }
    }
}

impl Display for Named<'_, Op> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.what {
            Op::Literal(Literal::F32(bits)) => write!(f, "{:?}", f32::from_bits(*bits)),
            Op::Literal(Literal::I32(v)) => write!(f, "{v}"),
            Op::Literal(Literal::U32(v)) => write!(f, "{v}"),
            Op::Literal(Literal::I64(v)) => write!(f, "{v}"),
            Op::Literal(Literal::U64(v)) => write!(f, "{v}"),
            Op::Literal(Literal::Bool(v)) => write!(f, "{v}"),
            Op::Index(w) => write!(f, "index {}", self.with(w)),
            Op::Load(memory, at) => write!(f, "load {}[{}]", self.memory(*memory), self.with(at)),
            Op::Get(var) => write!(f, "{var}"),
            Op::Part(quad, n) => write!(f, "{quad}.{n}"),
            Op::Exchange(var, distance) => write!(f, "exchange {var} by {distance}"),
            Op::Apply(primitive, ty, operands) => {
                write!(f, "{}.{}", ty.name(), primitive.name())?;
                if let Primitive::Cast(to) | Primitive::Bitcast(to) = primitive {
                    write!(f, ".{}", to.name())?;
                }
                use Primitive::{BitsOf, Narrow, OfBits, Saturate};
                if let Narrow(to) | Saturate(to) | BitsOf(to) | OfBits(to) = primitive {
                    write!(f, ".{}", to.name())?;
                }
                operands.iter().try_for_each(|o| write!(f, " {o}"))
            }
            Op::Call(name, operands) => {
                write!(f, "call {name}")?;
                operands.iter().try_for_each(|o| write!(f, " {o}"))
            }
            Op::Lookup(table, index) => {
                write!(f, "lookup {index} in")?;
                table.iter().try_for_each(|bits| write!(f, " {:?}", f32::from_bits(*bits)))
            }
        }
    }
}

impl Display for Named<'_, Word> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.what {
            Word::Const(c) => write!(f, "{c}"),
            Word::Axis(a) => f.write_str(self.axis(*a)),
            Word::Param(p) => write!(f, "p{p}"),
            Word::Lane => f.write_str("lane"),
            Word::Base(m) => write!(f, "base of {}", self.memory(*m)),
            Word::Sum(terms) => self.joined(f, "", terms, " + "),
            Word::Product(a, b) => self.applied(f, a, "*", b),
            Word::Div(a, d, _) => self.applied(f, a, "/", d),
            Word::Mod(a, d, _) => self.applied(f, a, "%", d),
            Word::Min(m) => self.joined(f, "min", m, ", "),
            Word::Max(m) => self.joined(f, "max", m, ", "),
            Word::At(memory, at, last) => {
                write!(f, "clamp({}[{}] to {})", self.memory(*memory), self.with(&**at), self.with(&**last))
            }
        }
    }
}

impl Named<'_, Word> {
    fn applied(&self, f: &mut Formatter<'_>, a: &Word, operator: &str, b: &Word) -> fmt::Result {
        match a {
            Word::Axis(_)
            | Word::Const(_)
            | Word::Param(_)
            | Word::Base(_)
            | Word::Lane
            | Word::Min(_)
            | Word::Max(_)
            | Word::At(..) => {
                write!(f, "{}{operator}{}", self.with(a), self.with(b))
            }
            _ => write!(f, "({}){operator}{}", self.with(a), self.with(b)),
        }
    }

    fn joined(&self, f: &mut Formatter<'_>, name: &str, words: &[Word], between: &str) -> fmt::Result {
        let bare = name.is_empty();
        write!(f, "{name}{}", if bare { "" } else { "(" })?;
        for (i, w) in words.iter().enumerate() {
            write!(f, "{}{}", if i > 0 { between } else { "" }, self.with(w))?;
        }
        f.write_str(if bare { "" } else { ")" })
    }
}

impl Display for ValueId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl Display for QuadId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "w{}", self.0)
    }
}

impl Display for HalvesId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "h{}", self.0)
    }
}

impl Display for MatrixId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "m{}", self.0)
    }
}

impl Display for Four {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Four::Values([a, b, c, d]) => write!(f, "{a}, {b}, {c}, {d}"),
            Four::Quad(quad) => write!(f, "{quad}"),
        }
    }
}

impl Display for VarId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}

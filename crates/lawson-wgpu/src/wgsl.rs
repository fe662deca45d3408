//! The WGSL dialect: a listing as the text of a shader, one fragment an op code.
//!
//! Binding 0 holds the parameters, then come the kernel's buffers in order, then the spill buffer if there is one. Names are
//! made of the kernel's, with a letter and a number before them, so that none is a word of the language or there twice.

mod apply;
mod buffer;
mod fours;
mod matrix;
mod window;
mod word;

use crate::opcode::*;
use crate::prelude::pieces;
use lawson_kernel::AxisId;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The shader of a listing.
pub fn text(listing: &Listing) -> String {
    let loaded = fours::loaded(listing);
    let mut dialect = Dialect {
        listing,
        memory: BTreeMap::new(),
        used: fours::used(listing, &loaded),
        loaded,
        called: BTreeSet::new(),
        tables: Vec::new(),
        body: String::new(),
        depth: 0,
        literals: BTreeMap::new(),
        members: 1,
        shares_buffers: !listing.spilled.is(0) || reads_what_it_writes(listing),
    };
    for code in &listing.codes {
        dialect.code(code);
    }
    let mut out = format!("// Kernel {}.\n\n{}", plain(&listing.kernel), matrix::enables(listing));
    out += "struct Parameters {\n  // Zero, which only the host knows.\n  pin: u32,\n  apart: u32,\n";
    for (i, dim) in listing.parameters.iter().enumerate() {
        if !listing.kernel.is_empty() {
            out += &format!("  // {}\n", plain(&dim.to_string()));
        }
        out += &format!("  p{i}: i32,\n");
    }
    for memory in &listing.bases {
        out += &format!("  b{}: i32,\n", memory.0);
    }
    out += "}\n@group(0) @binding(0) var<uniform> parameters: Parameters;\n";
    if !listing.spilled.is(0) {
        let windows =
            listing.codes.iter().map(|c| if let OpCode::Buffer { windows, .. } = c { *windows } else { 0 });
        let binding = windows.sum::<u32>() + 1;
        out += &format!("@group(0) @binding({binding}) var<storage, read_write> spill: array<u32>;\n");
        out += "var<private> member: i32;\n";
    }
    out += &pieces(dialect.called.iter().map(String::as_str), &listing.capabilities).concat();
    let mut tables: Vec<String> = Vec::new();
    for (i, table) in dialect.tables.iter().enumerate() {
        let entries = table.join(", ");
        tables.push(format!(
            "fn table_{i}(at: i32) -> f32 {{\n  var entries = array<f32, 16>({entries});\n  return entries[at & 15];\n}}\n"
        ));
    }
    out += &tables.concat();
    out += &dialect.body;
    out
}

/// The parts of a vector.
const PARTS: [&str; 4] = ["x", "y", "z", "w"];

/// Whether a buffer is both written and read.
fn reads_what_it_writes(listing: &Listing) -> bool {
    let written = |memory: &MemoryId| {
        let is =
            |c: &OpCode| matches!(c, OpCode::Buffer { memory: m, access: Access::Write, .. } if m == memory);
        listing.codes.iter().any(is)
    };
    listing.codes.iter().any(|c| match c {
        OpCode::Let { op: Op::Load(memory, _), .. } | OpCode::LetQuad { memory, .. } => written(memory),
        _ => false,
    })
}

/// A name for a comment: one line of it, with nothing that could end the comment.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c })
        .collect()
}

/// A name with only what an identifier may have.
fn identifier(letter: char, number: u32, name: &str) -> String {
    let rest = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    format!("{letter}{number}_{}", rest.collect::<String>())
}

/// An integer of 64 bits.
fn pair(v: u64) -> String {
    format!("vec2<u32>({}u, {}u)", v & 0xffff_ffff, v >> 32)
}

/// A type in the language.
fn spelled(ty: Ty) -> &'static str {
    match ty {
        Ty::I64 | Ty::U64 => "vec2<u32>",
        Ty::F32 | Ty::I32 | Ty::U32 | Ty::Bool => ty.name(),
    }
}

/// Where and as what memory lies.
struct Memory {
    name: String,
    ty: Ty,
    lies: Lies,
}

#[derive(Clone)]
enum Lies {
    Buffer(Element),
    /// In several windows of a buffer.
    Windows(Element),
    Private,
    /// In the member's part of the spill buffer.
    Spilled(Word),
}

impl Lies {
    /// Whether four elements that are read or written together share words.
    fn packs_fours(&self) -> bool {
        matches!(self, Lies::Buffer(e) | Lies::Windows(e) if e.packs_fours())
    }

    /// Whether it is floats of 16 bits as they are.
    fn has_halves(&self) -> bool {
        matches!(self, Lies::Buffer(Element::Halves) | Lies::Windows(Element::Halves))
    }
}

struct Dialect<'l> {
    listing: &'l Listing,
    memory: BTreeMap<u32, Memory>,
    /// Fours of values that are read as one, by the first, and the values that are mentioned by themselves.
    loaded: BTreeMap<ValueId, [ValueId; 4]>,
    used: BTreeSet<ValueId>,
    /// The functions of the prelude that are called.
    called: BTreeSet<String>,
    /// The entries of tables, as text.
    tables: Vec<Vec<String>>,
    body: String,
    depth: usize,
    /// The bits of values that are literals, by their names.
    literals: BTreeMap<String, u32>,
    /// How many members do an iteration of the launch.
    members: u32,
    /// Whether members of a workgroup may leave something to each other in buffers.
    shares_buffers: bool,
}

impl Dialect<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.body, "{:1$}{text}", "", 2 * self.depth);
    }

    /// A float; what a shader may not contain as a constant is read from its bits when it runs.
    fn float(&mut self, bits: u32) -> String {
        let x = f32::from_bits(bits);
        if x.is_normal() || bits == 0 {
            return format!("{x:?}f");
        }
        format!("{}({bits:#x}u)", self.call("float_of"))
    }

    fn call(&mut self, name: &str) -> String {
        self.called.insert(name.into());
        name.into()
    }

    fn code(&mut self, code: &OpCode) {
        if code.closes() && !matches!(code, OpCode::Return(_)) {
            self.depth = self.depth.saturating_sub(1);
        }
        match code {
            OpCode::Buffer { memory, name, binding, element, access, windows } => {
                self.buffer(*memory, name, *binding, *element, *access, *windows);
            }
            OpCode::Alias { memory, of } => {
                if let Some(Memory { name, ty, lies }) = self.memory.get(&of.0) {
                    let same = Memory { name: name.clone(), ty: *ty, lies: lies.clone() };
                    self.memory.insert(memory.0, same);
                }
            }
            OpCode::Scratch { memory, name, ty, size, place } => {
                let name = identifier('s', memory.0, name);
                let lies = match place {
                    Residence::Private | Residence::Workgroup | Residence::Quads | Residence::Halves => {
                        Lies::Private
                    }
                    Residence::Spilled(from) => Lies::Spilled(self.listing.word_of(from)),
                };
                // An array has at least one element. Arrays of truths are arrays of words: drivers were seen to mix up others.
                let element = if *ty == Ty::Bool { "u32" } else { spelled(*ty) };
                let size = size.as_const().unwrap_or(0).max(1);
                match place {
                    Residence::Private => {
                        self.line(&format!("var<private> {name}: array<{element}, {size}>;"))
                    }
                    Residence::Workgroup => {
                        self.line(&format!("var<workgroup> {name}: array<{element}, {size}>;"));
                    }
                    Residence::Quads => {
                        self.line(&format!("var<workgroup> {name}: array<vec4<{element}>, {size}>;"));
                    }
                    Residence::Halves => {
                        self.line(&format!("var<workgroup> {name}: array<vec4<f16>, {size}>;"));
                    }
                    Residence::Spilled(_) => {}
                }
                self.memory.insert(memory.0, Memory { name, ty: *ty, lies });
            }
            OpCode::Function { name, arguments, results } => {
                self.literals.clear();
                let arguments: Vec<String> = (0..*arguments).map(|i| format!("v{i}: f32")).collect();
                let result = if *results == 1 { "f32" } else { "vec2<f32>" };
                self.line(&format!("fn m_{name}({}) -> {result} {{", arguments.join(", ")));
            }
            OpCode::Return(results) => {
                match &results[..] {
                    [a, b] => self.line(&format!("return vec2<f32>({a}, {b});")),
                    one => one.iter().for_each(|value| self.line(&format!("return {value};"))),
                }
                self.depth = self.depth.saturating_sub(1);
                self.line("}");
            }
            OpCode::Entry { launch } => {
                self.literals.clear();
                self.entry(*launch);
            }
            OpCode::EndEntry => {
                self.line("}");
                self.depth = self.depth.saturating_sub(1);
                self.line("}");
            }
            OpCode::Let { value, ty, op } => {
                // Compilers know what is made of an index that is a number, too.
                let known = match op {
                    Op::Literal(Literal::F32(bits)) => Some(*bits),
                    Op::Index(Word::Const(0)) => Some(0),
                    Op::Apply(Primitive::Cast(Ty::F32), _, from) => {
                        let from = from.first().and_then(|f| self.literals.get(&f.to_string()));
                        from.copied().filter(|bits| *bits == 0)
                    }
                    _ => None,
                };
                match known {
                    Some(bits) => self.literals.insert(value.to_string(), bits),
                    None => self.literals.remove(&value.to_string()),
                };
                let op = self.op(op);
                self.line(&format!("let {value}: {} = {op};", spelled(*ty)));
            }
            OpCode::Var { var, ty, init } => self.line(&format!("var {var}: {} = {init};", spelled(*ty))),
            OpCode::Set { var, value } => self.line(&format!("{var} = {value};")),
            OpCode::Store { memory, at, value } => self.store(*memory, at, *value),
            OpCode::LetPair { values, function, argument } => {
                let pair = format!("p{}", values[0].0);
                self.line(&format!("let {pair} = m_{function}({argument});"));
                for (value, part) in values.iter().zip(["x", "y"]) {
                    self.line(&format!("let {value}: f32 = {pair}.{part};"));
                }
            }
            OpCode::LetQuad { values, memory, at } => {
                let (quad, ty) = (format!("q{}", values[0].0), self.ty(*memory));
                let place = match self.memory.get(&memory.0).map(|m| (m.name.clone(), &m.lies)) {
                    Some((name, lies)) if lies.packs_fours() => format!("load_{name}({})", self.word(at)),
                    Some((_, lies)) if lies.has_halves() => {
                        format!("vec4<f32>({})", self.element(*memory, at))
                    }
                    _ => self.element(*memory, at),
                };
                self.line(&format!("let {quad} = {place};"));
                for (value, part) in values.iter().zip(PARTS) {
                    if self.used.contains(value) {
                        self.line(&format!("let {value}: {ty} = {quad}.{part};"));
                    }
                }
            }
            OpCode::StoreQuad { memory, at, values } => {
                let mut quad = self.four(*values, self.ty(*memory));
                if self.memory.get(&memory.0).is_some_and(|m| m.lies.has_halves()) {
                    quad = format!("vec4<f16>({quad})");
                }
                let line = match self.memory.get(&memory.0).map(|m| (m.name.clone(), m.lies.clone())) {
                    Some((name, lies)) if lies.packs_fours() => {
                        format!("store_{name}({}, {quad});", self.word(at))
                    }
                    Some((name, Lies::Windows(_))) => format!("put_{name}({}, {quad});", self.word(at)),
                    _ => format!("{} = {quad};", self.element(*memory, at)),
                };
                self.line(&line);
            }
            OpCode::Quad { quad, init } => {
                self.line(&format!("var {quad}: vec4<f32> = vec4<f32>({init});"));
            }
            OpCode::SetQuad { quad, to } => {
                let to = self.four(*to, "f32");
                self.line(&format!("{quad} = {to};"));
            }
            OpCode::StepQuad { sum, by, of } => {
                let of = self.four(*of, "f32");
                self.line(&format!("{sum} = fma(vec4<f32>({by}), {of}, {sum});"));
            }
            OpCode::Halves(halves) => self.line(&format!("var {halves}: vec4<f16> = vec4<f16>();")),
            OpCode::SetHalves { halves, to } => self.set_halves(*halves, to),
            OpCode::StoreHalves { memory, at, halves } => {
                let place = self.element(*memory, at);
                self.line(&format!("{place} = {halves};"));
            }
            OpCode::Matrix(sums) => self.declare_sums(*sums),
            OpCode::LoadMatrix { matrix, side, memory, at, line, order } => {
                self.load_matrix(*matrix, *side, (*memory, at), *line, *order);
            }
            OpCode::StepMatrix { sums, factors: [a, b] } => {
                self.line(&format!("{sums} = coopMultiplyAdd({a}, {b}, {sums});"));
            }
            OpCode::StoreMatrix { memory, at, sums } => self.store_matrix(*memory, at, *sums),
            OpCode::Axis { axis, value } => {
                let (axis, value) = (self.axis(*axis), self.word(value));
                self.line(&format!("let {axis}: i32 = {value};"));
            }
            OpCode::Barrier => {
                if self.shares_buffers {
                    self.line("storageBarrier();");
                }
                self.line("workgroupBarrier();");
            }
            OpCode::Block => self.line("{"),
            OpCode::Loop { axis, begin, end, step, by: By::Lanes } => {
                let (axis, begin, end) = (self.axis(*axis), self.word(begin), self.word(end));
                let all = step * i64::from(self.members);
                self.line(&format!(
                    "for (var {axis}: i32 = {begin} + lane * {step}; {axis} < {end}; {axis} += {all}) {{"
                ));
            }
            OpCode::Loop { axis, begin, end, step, by: By::Member } => {
                let (axis, begin, end) = (self.axis(*axis), self.word(begin), self.word(end));
                self.line(&format!("for (var {axis}: i32 = {begin}; {axis} < {end}; {axis} += {step}) {{"));
            }
            OpCode::Guard(test) => {
                let test = match test {
                    Test::Value(v) => v.to_string(),
                    Test::Within(pairs) => {
                        let each: Vec<String> = pairs
                            .iter()
                            .map(|(index, end)| {
                                let (index, end) = (self.word(index), self.word(end));
                                format!("{index} >= 0 && {index} < {end}")
                            })
                            .collect();
                        if each.is_empty() { "true".into() } else { each.join(" && ") }
                    }
                };
                self.line(&format!("if ({test}) {{"));
            }
            OpCode::EndLoop | OpCode::EndGuard | OpCode::EndBlock => self.line("}"),
        }
        self.depth += usize::from(code.opens());
    }

    /// Members share the iterations: each takes every so many-th, and finds the axes from its number.
    fn entry(&mut self, launch: usize) {
        let Some(launch) = self.listing.launches.get(launch) else { return };
        let (size, by_workgroup) = match launch.members {
            Members::One => (self.listing.capabilities.workgroup, false),
            Members::Workgroup(n) => (n, true),
        };
        self.members = size;
        let counts: Vec<String> =
            launch.axes.iter().map(|s| self.word(&self.listing.word_of(&s.count()))).collect();
        let total = if counts.is_empty() { "1".into() } else { counts.join(" * ") };
        self.line(&format!("@compute @workgroup_size({size})"));
        self.line(&format!("fn {}(", launch.entry));
        let id = if by_workgroup { "workgroup_id" } else { "global_invocation_id" };
        self.line(&format!("  @builtin({id}) id: vec3<u32>,"));
        self.line("  @builtin(num_workgroups) groups: vec3<u32>,");
        if by_workgroup {
            self.line("  @builtin(local_invocation_index) own: u32,");
        }
        self.line(") {");
        self.depth += 1;
        if by_workgroup {
            self.line("let lane = i32(own);");
        }
        if !self.listing.spilled.is(0) {
            self.line("member = i32(id.x);");
        }
        self.line(&format!("let total: i32 = {total};"));
        let each = if by_workgroup { 1 } else { size };
        self.line(&format!("let members = i32(groups.x * {each}u);"));
        self.line("for (var turn = i32(id.x); turn < total; turn += members) {");
        let mut inner = String::from("turn");
        for (span, count) in launch.axes.iter().zip(&counts).rev() {
            let axis = self.axis(span.axis);
            let outermost = span.axis == launch.axes[0].axis;
            let mut value = if outermost { inner.clone() } else { format!("{inner} % {count}") };
            if span.step != 1 {
                value = format!("({value}) * {}", span.step);
            }
            if !span.begin.is(0) {
                value = format!("{} + {value}", self.word(&self.listing.word_of(&span.begin)));
            }
            self.line(&format!("  let {axis}: i32 = {value};"));
            inner = format!("{inner} / {count}");
        }
    }

    fn ty(&self, memory: MemoryId) -> &'static str {
        self.memory.get(&memory.0).map_or("f32", |m| spelled(m.ty))
    }

    fn axis(&self, axis: AxisId) -> String {
        identifier('a', axis.0, self.listing.axes.get(axis.0 as usize).map_or("", String::as_str))
    }

    /// A cell of memory, as something to read; and to write, unless it lies in windows.
    fn element(&mut self, memory: MemoryId, at: &Word) -> String {
        let at = self.word(at);
        match self.memory.get(&memory.0).map(|m| (m.name.clone(), m.lies.clone())) {
            Some((_, Lies::Spilled(from))) => {
                let own = self.factor(&self.listing.word_of(&self.listing.spilled));
                format!("spill[member * {own} + {} + {at}]", self.word(&from))
            }
            Some((name, Lies::Windows(_))) => format!("get_{name}({at})"),
            Some((name, Lies::Buffer(_) | Lies::Private)) => format!("{name}[{at}]"),
            None => String::new(),
        }
    }

    fn load(&mut self, memory: MemoryId, at: &Word) -> String {
        let place = self.element(memory, at);
        match self.memory.get(&memory.0).map(|m| (&m.name, m.ty, &m.lies)) {
            Some((name, _, Lies::Buffer(e) | Lies::Windows(e))) if e.bits().is_some() => {
                let name = name.clone();
                format!("load_{name}({})", self.word(at))
            }
            Some((_, Ty::Bool, Lies::Spilled(_) | Lies::Private)) => format!("{place} != 0u"),
            Some((_, ty, Lies::Spilled(_))) => format!("bitcast<{}>({place})", ty.name()),
            _ => place,
        }
    }

    fn store(&mut self, memory: MemoryId, at: &Word, value: ValueId) {
        let place = self.element(memory, at);
        let line = match self.memory.get(&memory.0).map(|m| (&m.name, m.ty, &m.lies)) {
            Some((name, _, Lies::Buffer(e) | Lies::Windows(e))) if e.bits().is_some() => {
                let name = name.clone();
                format!("store_{name}({}, {value});", self.word(at))
            }
            Some((name, _, Lies::Windows(_))) => {
                let name = name.clone();
                format!("put_{name}({}, {value});", self.word(at))
            }
            Some((_, Ty::Bool, Lies::Spilled(_) | Lies::Private)) => format!("{place} = u32({value});"),
            Some((_, _, Lies::Spilled(_))) => format!("{place} = bitcast<u32>({value});"),
            _ => format!("{place} = {value};"),
        };
        self.line(&line);
    }

    fn op(&mut self, op: &Op) -> String {
        let listed =
            |values: &[ValueId]| values.iter().map(ValueId::to_string).collect::<Vec<_>>().join(", ");
        match op {
            Op::Literal(Literal::F32(bits)) => self.float(*bits),
            Op::Literal(Literal::I32(v)) => format!("i32({v})"),
            Op::Literal(Literal::U32(v)) => format!("{v}u"),
            Op::Literal(Literal::I64(v)) => pair(*v as u64),
            Op::Literal(Literal::U64(v)) => pair(*v),
            Op::Literal(Literal::Bool(v)) => v.to_string(),
            Op::Index(w) => self.word(w),
            Op::Load(memory, at) => self.load(*memory, at),
            Op::Get(var) => var.to_string(),
            Op::Part(quad, n) => format!("{quad}.{}", PARTS[*n]),
            Op::Exchange(var, distance) => format!("subgroupShuffleXor({var}, {distance}u)"),
            Op::Apply(primitive, ty, operands) => self.apply(*primitive, *ty, operands),
            Op::Call(name, operands) => format!("m_{name}({})", listed(operands)),
            Op::Lookup(table, index) => {
                let entries: Vec<String> = table.iter().map(|bits| self.float(*bits)).collect();
                let known = self.tables.iter().position(|t| *t == entries);
                let number = known.unwrap_or_else(|| {
                    self.tables.push(entries);
                    self.tables.len() - 1
                });
                format!("table_{number}({index})")
            }
        }
    }

    /// Four numbers as a vector.
    fn four(&self, four: Four, ty: &str) -> String {
        match four {
            Four::Quad(quad) => quad.to_string(),
            Four::Values(v) if self.loaded.get(&v[0]) == Some(&v) => format!("q{}", v[0].0),
            Four::Values([a, b, c, d]) => format!("vec4<{ty}>({a}, {b}, {c}, {d})"),
        }
    }
}

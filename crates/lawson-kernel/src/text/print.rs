//! Printing: the declarations, then the tree, one statement a line.
//!
//! Expressions stand inline. One that several others or several statements of a body use, or that nests deeply, gets a
//! name by a `let` line before the first statement that needs it. That is only for reading: wherever an expression stands in
//! full, reading it gives the same id.

use super::index::{Names, index_text};
use super::{HEADER, VERSION};
use crate::buffer::{Buffer, BufferId, Layout, Role};
use crate::expr::{Condition, Expr, ExprId, Extremum, Load, Scalar};
use crate::index::Index;
use crate::tree::{AccId, Accumulator, AxisId, For, Kernel, Kind, Node, StoreHint};
use lawson_graph::DType;
use lawson_graph::op::BinaryKind;
use lawson_graph::syntax::{Name, float_text, is_bare, is_bare_symbol};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

/// How deep expressions nest before a part of them gets a name.
const MAX_DEPTH: usize = 10;

/// The text of a kernel.
pub(super) fn print(kernel: &Kernel) -> String {
    let mut parameters = BTreeSet::new();
    visit_parameters(kernel, &mut |s| {
        parameters.insert(s.to_string());
    });
    let mut printer = Printer { kernel, parameters, out: String::new(), lets: HashMap::new(), depth: 1 };
    printer.kernel();
    printer.out
}

/// Calls `visit` with the name of every parameter, wherever the kernel mentions one.
fn visit_parameters(kernel: &Kernel, visit: &mut impl FnMut(&str)) {
    let mut dim = |d: &lawson_graph::Dim| d.visit_symbols(&mut |s| visit(s.name()));
    for fact in kernel.facts.written() {
        dim(&fact.left);
        dim(&fact.right);
    }
    for buffer in &kernel.buffers {
        buffer.dims.iter().for_each(&mut dim);
        buffer.layout.digits.iter().for_each(|d| dim(&d.stride));
        dim(&buffer.layout.size);
    }
    let mut index = |i: &Index| i.visit_parameters(&mut |s| visit(s.name()));
    kernel.axes.iter().flat_map(|a| &a.derived).for_each(&mut index);
    kernel.exprs.iter().for_each(|e| e.visit_indices(&mut index));
    kernel.visit(&mut |node| match node {
        Node::For(f) => [&f.begin, &f.end].into_iter().for_each(&mut index),
        Node::Store(s) => s.index.iter().for_each(&mut index),
        Node::Prefetch { index: i, .. } => i.iter().for_each(&mut index),
        Node::Accumulate { .. } | Node::Step { .. } => {}
    });
    for expr in &kernel.exprs {
        if let Expr::Load(Load { guard: Some(guard), .. }) = expr {
            guard.conditions.iter().for_each(|c| c.end.visit_symbols(&mut |s| visit(s.name())));
        }
    }
}

struct Printer<'k> {
    kernel: &'k Kernel,
    parameters: BTreeSet<String>,
    out: String,
    /// The expressions that have names, by the numbers of their names.
    lets: HashMap<ExprId, usize>,
    depth: usize,
}

impl Names for Printer<'_> {
    fn axis(&self, axis: AxisId) -> String {
        match self.kernel.axes.get(axis.0 as usize) {
            None => format!("<axis {}>", axis.0),
            Some(a) if is_bare_symbol(&a.name) && !self.parameters.contains(&a.name) => a.name.clone(),
            Some(a) => quoted(&a.name),
        }
    }

    fn buffer(&self, buffer: BufferId) -> String {
        match self.kernel.buffers.get(buffer.0 as usize) {
            Some(b) => Name(&b.name).to_string(),
            None => format!("<buffer {}>", buffer.0),
        }
    }
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        let indent = "  ".repeat(self.depth);
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "{indent}{text}");
    }

    fn kernel(&mut self) {
        let kernel = self.kernel;
        let facts: Vec<String> = kernel.facts.written().iter().map(|f| f.to_string()).collect();
        let facts = if facts.is_empty() { String::new() } else { format!(" where {}", facts.join(", ")) };
        self.out = format!("{HEADER} {VERSION}\nkernel @{}{facts} {{\n", Name(&kernel.name));
        for buffer in &kernel.buffers {
            self.line(&buffer_text(buffer));
        }
        if !kernel.axes.is_empty() {
            let names: Vec<String> = (0..kernel.axes.len()).map(|i| self.axis(AxisId(i as u32))).collect();
            self.line(&format!("axes {}", names.join(", ")));
        }
        for (i, axis) in kernel.axes.iter().enumerate() {
            if let Some(index) = &axis.derived {
                let text = format!("axis {} = {}", self.axis(AxisId(i as u32)), self.index(index));
                self.line(&text);
            }
        }
        for (i, acc) in kernel.accs.iter().enumerate() {
            let values: Vec<ExprId> =
                acc.state.iter().map(|s| s.init).chain(acc.merged().iter().copied()).collect();
            self.name_shared(&values);
            let text = self.acc_text(AccId(i as u32), acc);
            self.line(&text);
        }
        self.nodes(&kernel.body);
        self.out.push_str("}\n");
    }

    fn nodes(&mut self, nodes: &[Node]) {
        let uses = self.uses_of(nodes);
        for node in nodes {
            match node {
                Node::For(f) => self.loop_over(f),
                Node::Accumulate { acc, body } => {
                    let head = format!("accumulate {} {{", self.acc(*acc));
                    self.block(&head, body);
                }
                Node::Step { acc, values } => {
                    self.name_used(values, &uses);
                    let text = self.step_text(*acc, values);
                    self.line(&text);
                }
                Node::Store(s) => {
                    self.name_used(&[s.value], &uses);
                    let hint = match s.hint {
                        StoreHint::Keep => "",
                        StoreHint::Stream => "stream ",
                    };
                    let (element, value) = (self.element(s.buffer, &s.index), self.expr(s.value));
                    self.line(&format!("{hint}{element} = {}", value));
                }
                Node::Prefetch { buffer, index, level } => {
                    let text = format!("prefetch {} {}", self.element(*buffer, index), level.name());
                    self.line(&text);
                }
            }
        }
    }

    fn block(&mut self, head: &str, body: &[Node]) {
        self.line(head);
        self.depth += 1;
        self.nodes(body);
        self.depth -= 1;
        self.line("}");
    }

    fn loop_over(&mut self, f: &For) {
        let mut head =
            format!("for {} in {} to {}", self.axis(f.axis), self.index(&f.begin), self.index(&f.end));
        if f.step != 1 {
            let _ = write!(head, " step {}", f.step);
        }
        match f.kind {
            Kind::Serial => {}
            Kind::Vector(width) => {
                let _ = write!(head, " vector {width}");
            }
            Kind::Parallel | Kind::Unroll | Kind::Dot | Kind::Skip | Kind::Jam => {
                let _ = write!(head, " {}", f.kind.name());
            }
        }
        self.block(&format!("{head} {{"), &f.body);
    }

    fn step_text(&self, acc: AccId, values: &[ExprId]) -> String {
        let name = self.acc(acc);
        if let [value] = values
            && let Some(Expr::Binary(BinaryKind::Add, a, b)) = self.kernel.exprs.get(value.0 as usize)
            && !self.lets.contains_key(value)
            && self.kernel.exprs.get(a.0 as usize) == Some(&Expr::State(acc, 0))
        {
            return format!("{name} += {}", self.expr(*b));
        }
        let values: Vec<String> = values.iter().map(|v| self.expr(*v)).collect();
        match values.as_slice() {
            [value] => format!("step {name} = {value}"),
            _ => format!("step {name} = ({})", values.join(", ")),
        }
    }

    fn acc_text(&self, id: AccId, acc: &Accumulator) -> String {
        let identity = |n: usize| acc.merge.as_ref().and_then(|m| m.identity.get(n));
        let identity = |n| identity(n).map_or(String::new(), |s| format!(" identity {}", scalar_text(*s)));
        let parts = acc.state.iter().enumerate();
        let parts: Vec<String> =
            parts.map(|(n, s)| format!("{} = {}{}", s.dtype, self.expr(s.init), identity(n))).collect();
        let state = match parts.as_slice() {
            [one] => one.clone(),
            _ => format!("({})", parts.join(", ")),
        };
        let Some(merge) = &acc.merge else { return format!("recurrence {}: {state}", self.acc(id)) };
        let merge = match merge.values.as_slice() {
            [one] => self.merge_name(id, *one).map_or_else(|| self.expr(*one), str::to_string),
            several => {
                let several: Vec<String> = several.iter().map(|m| self.expr(*m)).collect();
                format!("({})", several.join(", "))
            }
        };
        format!("acc {}: {state} merge {merge}", self.acc(id))
    }

    /// The function that a merge applies to both states, if it is one with a name.
    fn merge_name(&self, id: AccId, merge: ExprId) -> Option<&'static str> {
        let expr = |e: &ExprId| self.kernel.exprs.get(e.0 as usize);
        let (name, a, b) = match expr(&merge)? {
            Expr::Binary(BinaryKind::Add, a, b) => ("add", a, b),
            Expr::Extremum(Extremum::Max, a, b) => ("greater", a, b),
            Expr::Extremum(Extremum::Min, a, b) => ("lesser", a, b),
            _ => return None,
        };
        let both = expr(a) == Some(&Expr::State(id, 0)) && expr(b) == Some(&Expr::Other(id, 0));
        both.then_some(name)
    }

    fn acc(&self, acc: AccId) -> String {
        match self.kernel.accs.get(acc.0 as usize) {
            None => format!("<accumulator {}>", acc.0),
            Some(a) if is_value_word(&a.name) => quoted(&a.name),
            Some(a) => Name(&a.name).to_string(),
        }
    }

    fn index(&self, index: &Index) -> String {
        index_text(index, self)
    }

    fn element(&self, buffer: BufferId, index: &[Index]) -> String {
        let index: Vec<String> = index.iter().map(|i| self.index(i)).collect();
        format!("{}[{}]", self.buffer(buffer), index.join(", "))
    }

    /// An expression where nothing follows: by name, or in full.
    fn expr(&self, id: ExprId) -> String {
        match self.lets.get(&id) {
            Some(number) => format!("%{number}"),
            None => self.in_full(id),
        }
    }

    /// An expression beside a sign that binds like `binding`: in brackets if its own sign would be taken for a later one.
    fn operand(&self, id: ExprId, binding: u8) -> String {
        let own = match self.kernel.exprs.get(id.0 as usize) {
            Some(Expr::Binary(kind, ..)) if !self.lets.contains_key(&id) => infix(*kind),
            _ => None,
        };
        match own {
            Some((_, own)) if own < binding => format!("({})", self.expr(id)),
            _ => self.expr(id),
        }
    }

    fn in_full(&self, id: ExprId) -> String {
        let Some(expr) = self.kernel.exprs.get(id.0 as usize) else {
            return format!("<expression {}>", id.0);
        };
        let mut late = false;
        expr.visit_operands(&mut |o| late |= o >= id);
        if late {
            // Operands stand before what uses them; what does not is no expression, and would never end.
            return format!("<expression {}>", id.0);
        }
        let call = |name: &str, operands: &[ExprId]| {
            let operands: Vec<String> = operands.iter().map(|o| self.expr(*o)).collect();
            format!("{name}({})", operands.join(", "))
        };
        let component = |of: &str, acc: AccId, i: usize| match i {
            0 => format!("{of}({})", self.acc(acc)),
            _ => format!("{of}({}, {i})", self.acc(acc)),
        };
        match expr {
            Expr::Const(s) => scalar_text(*s),
            Expr::Index(i, d) => format!("index({}, {d})", self.index(i)),
            Expr::Load(load) => self.load(load),
            Expr::Unary(kind, a) => call(kind.name(), &[*a]),
            Expr::Binary(kind, a, b) => match infix(*kind) {
                // Signs of one kind are read from the left.
                Some((sign, binding)) => {
                    format!("{} {sign} {}", self.operand(*a, binding), self.operand(*b, binding + 1))
                }
                None => call(kind.name(), &[*a, *b]),
            },
            Expr::Extremum(Extremum::Min, a, b) => call("lesser", &[*a, *b]),
            Expr::Extremum(Extremum::Max, a, b) => call("greater", &[*a, *b]),
            Expr::Fma(a, b, c) => call("fma", &[*a, *b, *c]),
            Expr::Compare(kind, a, b) => call(kind.name(), &[*a, *b]),
            Expr::Select(c, a, b) => call("select", &[*c, *a, *b]),
            Expr::Cast(a, to) => format!("cast({}, {to})", self.expr(*a)),
            Expr::Bitcast(a, to) => format!("bitcast({}, {to})", self.expr(*a)),
            Expr::State(acc, i) => component("state", *acc, *i),
            Expr::Other(acc, i) => component("other", *acc, *i),
            Expr::Result(acc, 0) => self.acc(*acc),
            Expr::Result(acc, i) => component("result", *acc, *i),
        }
    }

    fn load(&self, load: &Load) -> String {
        let element = self.element(load.buffer, &load.index);
        match &load.guard {
            None => element,
            Some(guard) => {
                let condition = |c: &Condition| format!("0 <= {} < {}", self.index(&c.index), c.end);
                let conditions: Vec<String> = guard.conditions.iter().map(condition).collect();
                format!("({element} if {} else {})", conditions.join(" and "), self.expr(guard.otherwise))
            }
        }
    }

    /// How often each expression is used by the statements that stand directly in a body, and by one another there.
    fn uses_of(&self, nodes: &[Node]) -> BTreeMap<ExprId, usize> {
        let mut values = Vec::new();
        for node in nodes {
            match node {
                Node::Step { values: v, .. } => values.extend(v),
                Node::Store(s) => values.push(s.value),
                Node::For(_) | Node::Accumulate { .. } | Node::Prefetch { .. } => {}
            }
        }
        self.uses(&values)
    }

    fn uses(&self, values: &[ExprId]) -> BTreeMap<ExprId, usize> {
        let mut uses: BTreeMap<ExprId, usize> = BTreeMap::new();
        let mut open = values.to_vec();
        while let Some(id) = open.pop() {
            let count = uses.entry(id).or_default();
            *count += 1;
            if let (1, Some(expr)) = (*count, self.kernel.exprs.get(id.0 as usize)) {
                expr.visit_operands(&mut |o| open.push(o));
            }
        }
        uses
    }

    fn name_shared(&mut self, values: &[ExprId]) {
        let uses = self.uses(values);
        self.name_used(values, &uses);
    }

    /// Writes `let` lines for the parts of these values that are used several times or nest deeply.
    fn name_used(&mut self, values: &[ExprId], uses: &BTreeMap<ExprId, usize>) {
        let parts = self.uses(values);
        let mut depths: HashMap<ExprId, usize> = HashMap::new();
        // In order, so that operands come first.
        for id in parts.keys() {
            let Some(expr) = self.kernel.exprs.get(id.0 as usize) else { continue };
            let mut depth = 0;
            expr.visit_operands(&mut |o| depth = depth.max(depths.get(&o).copied().unwrap_or(0)));
            let leaf = match expr {
                Expr::Const(_) | Expr::Index(..) | Expr::State(..) | Expr::Other(..) | Expr::Result(..) => {
                    true
                }
                Expr::Load(load) => load.guard.is_none(),
                _ => false,
            };
            let shared = !leaf && uses.get(id).is_some_and(|n| *n > 1);
            if self.lets.contains_key(id) {
                depths.insert(*id, 0);
            } else if shared || depth >= MAX_DEPTH {
                let number = self.lets.len();
                let text = self.in_full(*id);
                self.line(&format!("let %{number} = {}", text));
                self.lets.insert(*id, number);
                depths.insert(*id, 0);
            } else {
                depths.insert(*id, depth + 1);
            }
        }
    }
}

/// The sign of a function that is written between its operands, and how strongly it binds.
fn infix(kind: BinaryKind) -> Option<(char, u8)> {
    match kind {
        BinaryKind::Add => Some(('+', 1)),
        BinaryKind::Sub => Some(('-', 1)),
        BinaryKind::Mul => Some(('*', 2)),
        BinaryKind::Div => Some(('/', 2)),
        _ => None,
    }
}

/// Whether a word in an expression is a number or a truth, so that no accumulator is meant by it.
fn is_value_word(name: &str) -> bool {
    matches!(name, "true" | "false" | "inf" | "nan")
}

fn quoted(name: &str) -> String {
    // `Name` quotes what is no word; a word in quotes needs no escapes.
    if is_bare(name) { format!("\"{name}\"") } else { Name(name).to_string() }
}

fn buffer_text(buffer: &Buffer) -> String {
    let dims: Vec<String> = buffer.dims.iter().map(|d| d.to_string()).collect();
    let role = match buffer.role {
        Role::Input => "in",
        Role::Output => "out",
        Role::Scratch(_) => "scratch",
    };
    let mut text = format!("{role} {}: {}[{}]", Name(&buffer.name), buffer.dtype, dims.join(", "));
    if let Role::Scratch(level) = buffer.role {
        let _ = write!(text, " at {}", level.name());
    }
    if buffer.layout != Layout::row_major(&buffer.dims) {
        let digits: Vec<String> = buffer.layout.digits.iter().map(digit_text).collect();
        let _ = write!(text, " layout ({}) size {}", digits.join(", "), buffer.layout.size);
    }
    if buffer.finite {
        text.push_str(" finite");
    }
    text
}

fn digit_text(digit: &crate::buffer::Digit) -> String {
    let divide = if digit.divide == 1 { String::new() } else { format!(" / {}", digit.divide) };
    let modulo = digit.modulo.map_or(String::new(), |m| format!(" % {m}"));
    format!("d{}{divide}{modulo}: {}", digit.dim, digit.stride)
}

/// A number; f32 without its dtype.
fn scalar_text(s: Scalar) -> String {
    match (s.dtype, s.as_f64(), s.as_i64()) {
        (DType::F32, Some(v), _) if v.is_finite() => format!("{:?}", v as f32),
        (DType::F32, Some(v), _) => float_text(v),
        (dtype, Some(v), _) => format!("{}:{dtype}", float_text(v)),
        (DType::Bool, _, Some(v @ (0 | 1))) => if v == 1 { "true" } else { "false" }.into(),
        (DType::U64, _, Some(v)) => format!("{}:u64", v as u64),
        (dtype, _, v) => format!("{}:{dtype}", v.unwrap_or_default()),
    }
}

//! Register allocation: linear scan over the code in order.
//!
//! Every virtual register has one interval, from its first definition to its last use, extended to the end of any loop that it is
//! carried into. When registers run out, the interval that is cheapest to keep in memory goes there, where a use
//! counts eight times more with every loop around it, and next to nothing in code that rarely runs; constants go to the pool and cost no
//! store. What was put into memory is reported, unless only rare code uses it: a kernel whose accumulators do not fit is a mistake of its schedule.

mod reload;
mod temporaries;

use crate::asm::{Level, Width};
use crate::code::{Access, Advance, Class, Gen, Item, Loop, Op, Program, V};
use reload::{Registers, reload};

/// Where a virtual register lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loc {
    /// In the machine register of this number.
    Reg(u8),
    /// On the stack, this many bytes from its top.
    Stack(u32),
    /// A constant in the pool, for all lanes.
    Pool(u64),
    /// Nowhere: nothing uses it.
    None,
}

/// A piece of the code in order.
#[derive(Clone, Debug)]
pub enum Line {
    /// An operation.
    Op(Op),
    /// The head of the loop of this number.
    Begin(usize),
    /// Its end.
    End(usize),
    /// What follows is done only if some lane of the mask is set, which is rare.
    If {
        /// The mask.
        mask: V,
        /// The line where that ends.
        end: usize,
    },
    /// Where that ends.
    EndIf,
    /// A line for the listing.
    Comment(String),
}

/// A loop without its body.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct LoopLine {
    pub counter: V,
    pub advance: Advance,
    pub may_be_empty: bool,
    pub inductions: Vec<(V, Gen)>,
    pub comment: Option<String>,
    last: usize,
}

/// The code in order, with a place for every register.
#[derive(Debug)]
pub struct Allocated {
    /// The code.
    pub lines: Vec<Line>,
    /// Its loops.
    pub loops: Vec<LoopLine>,
    /// Where each virtual register lives.
    pub locs: Vec<Loc>,
    /// How wide each is, if it is a vector.
    pub widths: Vec<Width>,
    /// How many lanes vectors have.
    pub lanes: u32,
    /// Which instructions there are.
    pub level: Level,
    /// How many bytes of stack are used.
    pub stack: u32,
    /// How many registers of each kind were put into memory: vectors (constants not counted), masks, general.
    pub spilled: [u32; 3],
    /// General registers that hold something.
    pub used: u16,
    /// Whether the temporaries of the vectors are also registers of those that do not meet them.
    pub shares_temporaries: bool,
}

/// Bytes at the top of the stack that encoding uses for itself.
pub const HEAD: u32 = 192;

/// General registers in the order in which they are given out; those that need not be saved come first.
const GENERAL: [u8; 14] = [7, 6, 2, 1, 0, 8, 9, 10, 11, 3, 12, 13, 14, 15];
/// General registers in which the entry's values arrive.
pub const ENTRY: [u8; 4] = [7, 6, 2, 1];
/// Registers for values that live in memory, when there are any: vectors, masks, general.
pub fn temporary(level: Level, class: Class) -> [u8; 2] {
    match (class, level) {
        (Class::Vector, Level::Avx512) => [30, 31],
        (Class::Vector, Level::Avx2) => [14, 15],
        (Class::Mask, _) => [6, 7],
        (Class::General, _) => [14, 15],
    }
}

/// How often rare code runs, for one time that the code around it does.
const RARE: f64 = 1.0 / 1024.0;

/// What a use counts inside so many loops.
fn weight_in(loops: usize) -> f64 {
    (1u64 << (3 * loops).min(63)) as f64
}

#[derive(Clone)]
struct Interval {
    v: V,
    class: Class,
    start: usize,
    end: usize,
    /// How many lines it lasts, those that rarely run not counted.
    length: usize,
    weight: f64,
    /// Whether only rare code uses it.
    rare: bool,
    /// The register that a move would like it to share.
    like: Option<V>,
    constant: Option<u64>,
    /// A table: read as an operand in memory without an instruction of its own.
    table: bool,
}

fn flatten(items: Vec<Item>, lines: &mut Vec<Line>, loops: &mut Vec<LoopLine>) {
    lines.reserve(items.len());
    for item in items {
        match item {
            Item::Op(op) => lines.push(Line::Op(op)),
            Item::Comment(text) => lines.push(Line::Comment(text)),
            Item::If { mask, body } => {
                let start = lines.len();
                lines.push(Line::If { mask, end: start });
                flatten(body, lines, loops);
                lines[start] = Line::If { mask, end: lines.len() };
                lines.push(Line::EndIf);
            }
            Item::Loop(l) => {
                let Loop { counter, advance, may_be_empty, inductions, body, comment } = *l;
                let id = loops.len();
                loops.push(LoopLine { counter, advance, may_be_empty, inductions, comment, last: 0 });
                lines.push(Line::Begin(id));
                flatten(body, lines, loops);
                loops[id].last = lines.len();
                lines.push(Line::End(id));
            }
        }
    }
}

/// Gives every virtual register a place.
pub fn allocate(program: Program, level: Level) -> Allocated {
    let Program { body, mut classes, mut widths, lanes, entry, .. } = program;
    let mut lines = Vec::new();
    let mut loops = Vec::new();
    flatten(body, &mut lines, &mut loops);
    let vectors: Vec<u8> = (0..if level == Level::Avx512 { 32 } else { 16 }).collect();
    let mut intervals = intervals_of(&mut lines, &loops, &classes, &entry);
    let mut locs = vec![Loc::None; classes.len()];
    let in_memory = |locs: &[Loc], class: Class| {
        locs.iter().zip(&classes).any(|(l, c)| *c == class && matches!(l, Loc::Stack(_)))
    };
    let mine = of_class(&intervals, Class::Vector);
    // With 32 registers tiles are chosen such that they fit beside the temporaries and what windows keep.
    let few = level == Level::Avx2;
    if few && scan(&mine, &Choice::free(&vectors), &entry, &mut locs) && in_memory(&locs, Class::Vector) {
        let mut registers = Registers { classes: &mut classes, widths: &mut widths, vectors: vectors.len() };
        if let Some(moved) = reload(&mut lines, &mut registers) {
            loops.iter_mut().for_each(|l| l.last = moved[l.last]);
            for line in &mut lines {
                if let Line::If { end, .. } = line {
                    *end = moved[*end];
                }
            }
            intervals = intervals_of(&mut lines, &loops, &classes, &entry);
        }
    }
    let mut out = Allocated {
        lines,
        loops,
        locs: vec![Loc::None; classes.len()],
        widths,
        lanes,
        level,
        stack: HEAD,
        spilled: [0; 3],
        used: 0,
        shares_temporaries: false,
    };
    for (n, class) in [Class::Vector, Class::Mask, Class::General].into_iter().enumerate() {
        let all: Vec<u8> = match class {
            Class::Vector => vectors.clone(),
            Class::Mask => (1..8).collect(),
            Class::General => GENERAL.to_vec(),
        };
        let mine = of_class(&intervals, class);
        if scan(&mine, &Choice::free(&all), &entry, &mut out.locs) {
            let kept = temporary(level, class);
            if class != Class::Vector || !few || !temporaries::share(&mine, &all, kept, &entry, &mut out) {
                let fewer: Vec<u8> = all.into_iter().filter(|r| !kept.contains(r)).collect();
                scan(&mine, &Choice::free(&fewer), &entry, &mut out.locs);
            }
        }
        let mut stacked = false;
        for i in mine {
            match &mut out.locs[i.v.0 as usize] {
                Loc::Reg(r) if class == Class::General => out.used |= 1 << *r,
                loc @ Loc::Stack(_) => {
                    let size = if class == Class::Vector { 64 } else { 8 };
                    out.stack = out.stack.next_multiple_of(size);
                    *loc = Loc::Stack(out.stack);
                    out.stack += size;
                    out.spilled[n] += u32::from(!i.rare);
                    stacked = true;
                }
                _ => {}
            }
        }
        if class == Class::General && stacked {
            temporary(level, class).iter().for_each(|r| out.used |= 1 << r);
        }
    }
    out
}

fn of_class(intervals: &[Interval], class: Class) -> Vec<&Interval> {
    intervals.iter().filter(|i| i.class == class).collect()
}

fn intervals_of(lines: &mut [Line], loops: &[LoopLine], classes: &[Class], entry: &[V; 4]) -> Vec<Interval> {
    struct Seen {
        start: usize,
        end: usize,
        weight: f64,
        rare: bool,
        around: usize,
        like: Option<V>,
        constant: Option<u64>,
        table: bool,
    }
    let mut seen: Vec<Option<Seen>> = classes.iter().map(|_| None).collect();
    // In the order in which they are met, which is nearly that of their beginnings.
    let mut met: Vec<V> = Vec::with_capacity(classes.len());
    // The loops around the current line.
    let mut stack: Vec<usize> = Vec::new();
    let mut access = |v: V, kind: Access, line: usize, stack: &[usize], rare: bool| {
        let weight = weight_in(stack.len()) * if rare { RARE } else { 1.0 };
        let slot = &mut seen[v.0 as usize];
        let at = match kind {
            Access::Use => 2 * line,
            Access::Def | Access::Both => 2 * line + 1,
            Access::Late => 2 * line + 2,
        };
        match slot {
            None => {
                let around = stack.len();
                let (like, constant, table) = (None, None, false);
                met.push(v);
                *slot = Some(Seen { start: at, end: at, weight, rare, around, like, constant, table });
            }
            Some(s) => {
                s.weight += weight;
                s.rare &= rare;
                s.end = s.end.max(at);
                // Carried into a loop: it must last until the loop is done.
                if s.around < stack.len() {
                    s.end = s.end.max(2 * loops[stack[s.around]].last + 2);
                }
            }
        }
    };
    for v in entry {
        access(*v, Access::Def, 0, &[], false);
    }
    let mut rare_until = 0;
    // How many common lines there are before each.
    let mut common = vec![0; lines.len() + 1];
    for (n, line) in lines.iter_mut().enumerate() {
        let rare = n < rare_until;
        common[n + 1] = common[n] + usize::from(!rare);
        match line {
            Line::Op(op) => op.visit(&mut |v, kind| access(*v, kind, n, &stack, rare)),
            Line::Begin(id) => {
                access(loops[*id].counter, Access::Use, n, &stack, rare);
                if let Advance::By { end: Gen::Reg(v), .. } = loops[*id].advance {
                    access(v, Access::Use, n, &stack, rare);
                }
                stack.push(*id);
            }
            Line::End(id) => {
                let l = &loops[*id];
                for (v, step) in &l.inductions {
                    access(*v, Access::Both, n, &stack, rare);
                    if let Gen::Reg(s) = step {
                        access(*s, Access::Use, n, &stack, rare);
                    }
                }
                access(l.counter, Access::Both, n, &stack, rare);
                if let Advance::By { end: Gen::Reg(v), .. } = l.advance {
                    access(v, Access::Use, n, &stack, rare);
                }
                stack.pop();
            }
            Line::If { mask, end } => {
                access(*mask, Access::Use, n, &stack, rare);
                rare_until = rare_until.max(*end);
            }
            Line::EndIf | Line::Comment(_) => {}
        }
    }
    for line in lines.iter() {
        match line {
            Line::Op(Op::Move { dst, src } | Op::Mov { dst, src } | Op::MaskMove { dst, src }) => {
                if let Some(s) = &mut seen[dst.0 as usize] {
                    s.like = Some(*src);
                }
            }
            Line::Op(Op::Const { dst, bits }) => {
                if let Some(s) = &mut seen[dst.0 as usize] {
                    s.constant = Some(*bits);
                }
            }
            Line::Op(Op::Table { dst, .. }) => {
                if let Some(s) = &mut seen[dst.0 as usize] {
                    s.table = true;
                }
            }
            _ => {}
        }
    }
    let mut out: Vec<Interval> = met
        .into_iter()
        .filter_map(|v| {
            let Seen { start, end, weight, rare, like, constant, table, .. } = seen[v.0 as usize].take()?;
            let length = common[(end / 2).min(lines.len())] - common[start / 2];
            let class = classes[v.0 as usize];
            Some(Interval { v, class, start, end, length, weight, rare, like, constant, table })
        })
        .collect();
    out.sort_by_key(|i| (i.start, i.v));
    out
}

/// Which registers an interval may have.
struct Choice<'c> {
    registers: &'c [u8],
    /// Some that are also temporaries, and for every interval whether it may have those.
    kept: Option<([u8; 2], &'c [bool])>,
}

impl<'c> Choice<'c> {
    /// Any of them.
    fn free(registers: &'c [u8]) -> Choice<'c> {
        Choice { registers, kept: None }
    }

    fn allows(&self, interval: usize, register: u8) -> bool {
        self.kept.as_ref().is_none_or(|(kept, may)| may[interval] || !kept.contains(&register))
    }
}

/// Gives registers to intervals in order; what does not fit is marked to live in memory. Whether anything was.
fn scan(intervals: &[&Interval], choice: &Choice<'_>, entry: &[V; 4], locs: &mut [Loc]) -> bool {
    let mut free: Vec<u8> = choice.registers.iter().rev().copied().collect();
    let mut active: Vec<&Interval> = Vec::new();
    // When the first of them is over.
    let mut first_end = usize::MAX;
    let mut spilled = false;
    for (n, i) in intervals.iter().enumerate() {
        if first_end <= i.start {
            first_end = usize::MAX;
            active.retain(|a| {
                let over = a.end <= i.start;
                if over && let Loc::Reg(r) = locs[a.v.0 as usize] {
                    free.push(r);
                }
                if !over {
                    first_end = first_end.min(a.end);
                }
                !over
            });
        }
        first_end = first_end.min(i.end);
        let arrives = entry.iter().position(|v| *v == i.v).map(|n| ENTRY[n]);
        let liked = i.like.and_then(|v| match locs[v.0 as usize] {
            Loc::Reg(r) => Some(r),
            _ => None,
        });
        let wanted = [arrives, liked].into_iter().flatten().find_map(|r| free.iter().position(|f| *f == r));
        let allowed = |at: &usize| choice.allows(n, free[*at]);
        if let Some(at) = wanted.filter(allowed).or_else(|| (0..free.len()).rev().find(allowed)) {
            locs[i.v.0 as usize] = Loc::Reg(free.remove(at));
            active.push(i);
            continue;
        }
        let memory = |i: &Interval| match i.constant {
            Some(bits) => Loc::Pool(bits),
            None => Loc::Stack(0),
        };
        // By how long a register is won; constants and tables cost no store and, mostly, no load of their own.
        let cost = |i: &Interval| {
            let weight = if i.constant.is_some() || i.table { i.weight * 0.5 } else { i.weight };
            weight / (i.length + 1) as f64
        };
        let fits = |a: &Interval| matches!(locs[a.v.0 as usize], Loc::Reg(r) if choice.allows(n, r));
        let cheapest =
            active.iter().enumerate().filter(|(_, a)| fits(a)).min_by(|a, b| cost(a.1).total_cmp(&cost(b.1)));
        spilled = true;
        match cheapest {
            Some((at, a)) if cost(a) < cost(i) => {
                locs[i.v.0 as usize] = locs[a.v.0 as usize];
                locs[a.v.0 as usize] = memory(a);
                active.remove(at);
                active.push(i);
            }
            _ => locs[i.v.0 as usize] = memory(i),
        }
    }
    spilled
}

//! Loading again what was loaded before, where keeping it would take the registers of what is summed up.
//!
//! In: the code in order. Out: the same code, in which stretches without jumps hold no more vectors at once than there are
//! registers, as far as loading again does it. Windows of a convolution overlap, so that lowering finds many loads that it has
//! made already; keeping them all saves loads, of which there are often enough to spare, and costs states of accumulators their
//! registers, which are read and written at every step. The load whose next use is furthest away is let go.

use super::Line;
use crate::asm::Width;
use crate::code::{Access, Class, Op, Shape, V};
use std::collections::HashMap;

/// The registers of the code: their kinds and widths, which grow by those that are loaded again.
pub(super) struct Registers<'r> {
    pub(super) classes: &'r mut Vec<Class>,
    pub(super) widths: &'r mut Vec<Width>,
    /// How many machine registers vectors have.
    pub(super) vectors: usize,
}

/// Loads again in all stretches of the code. Gives, for every line and for the end, where it is now; `None` if nothing changed.
pub(super) fn reload(lines: &mut Vec<Line>, registers: &mut Registers<'_>) -> Option<Vec<usize>> {
    let count = registers.classes.len();
    let mut mentions = vec![0u32; count];
    let mut constant = vec![false; count];
    for line in lines.iter() {
        match line {
            Line::Op(op) => {
                registers.vectors_of(op, &mut |v, _| mentions[v.0 as usize] += 1);
                if let Op::Const { dst, .. } | Op::Table { dst, .. } = op {
                    constant[dst.0 as usize] = true;
                }
            }
            Line::If { mask, .. } => mentions[mask.0 as usize] += 1,
            Line::Begin(_) | Line::End(_) | Line::EndIf | Line::Comment(_) => {}
        }
    }
    let mut out: Vec<Line> = Vec::with_capacity(lines.len());
    let mut moved = Vec::with_capacity(lines.len() + 1);
    let mut from = 0;
    while from < lines.len() {
        let straight = |l: &&Line| matches!(l, Line::Op(_) | Line::Comment(_));
        let to = from + lines[from..].iter().take_while(straight).count();
        match Stretch::of(&lines[from..to], &mentions, &constant, registers) {
            Some(stretch) => stretch.write(registers, &mut out, &mut moved),
            None => {
                moved.extend((0..to - from).map(|n| out.len() + n));
                out.extend_from_slice(&lines[from..to]);
            }
        }
        if let Some(jump) = lines.get(to) {
            moved.push(out.len());
            out.push(jump.clone());
        }
        from = to + 1;
    }
    moved.push(out.len());
    let changed = out.len() > lines.len();
    *lines = out;
    changed.then_some(moved)
}

impl Registers<'_> {
    /// The vectors that an operation mentions.
    fn vectors_of(&self, op: &Op, f: &mut impl FnMut(V, Access)) {
        let mut op = *op;
        op.visit(&mut |v, access| {
            if self.classes[v.0 as usize] == Class::Vector {
                f(*v, access);
            }
        });
    }
}

/// A value that only one stretch mentions.
#[derive(Default)]
struct Local {
    /// The lines that read it, in order, and how many of them are done.
    uses: Vec<usize>,
    done: usize,
    /// How to load it, while that gives what it is.
    load: Option<Op>,
    /// What it is called since it was loaded again.
    name: Option<V>,
    resident: bool,
}

/// Code without jumps, and the values that only it mentions.
struct Stretch<'l> {
    lines: &'l [Line],
    locals: HashMap<V, Local>,
    /// How many registers there are for them.
    room: usize,
    /// The last line that sets a general register.
    set: HashMap<V, usize>,
}

impl<'l> Stretch<'l> {
    /// A stretch in which more values live at once than there are registers, and whose loads can be made again.
    fn of(
        lines: &'l [Line],
        mentions: &[u32],
        constant: &[bool],
        registers: &Registers<'_>,
    ) -> Option<Stretch<'l>> {
        let stores = |l: &Line| {
            let Line::Op(op) = l else { return false };
            matches!(
                op,
                Op::Store { .. } | Op::StoreSelected { .. } | Op::Scatter { .. } | Op::ScatterSmall { .. }
            )
        };
        if lines.len() <= registers.vectors || lines.iter().any(stores) {
            return None;
        }
        // For every vector: how often it is mentioned here, and its first and last line.
        let mut seen: HashMap<V, (u32, usize, usize)> = HashMap::new();
        let mut set = HashMap::new();
        for (n, op) in ops(lines) {
            registers.vectors_of(op, &mut |v, _| {
                let s = seen.entry(v).or_insert((0, n, n));
                *s = (s.0 + 1, s.1, n);
            });
            let mut op = *op;
            op.visit(&mut |v, access| {
                let writes = matches!(access, Access::Def | Access::Both);
                if writes && registers.classes[v.0 as usize] == Class::General {
                    set.insert(*v, n);
                }
            });
        }
        let is_local = |v: &V, times: u32| times == mentions[v.0 as usize];
        let others = seen.iter().filter(|(v, s)| !is_local(v, s.0) && !constant[v.0 as usize]).count();
        let room = registers.vectors.checked_sub(others).filter(|r| *r > 0)?;
        let mut starts = vec![0i32; lines.len() + 1];
        seen.retain(|v, s| is_local(v, s.0));
        for (_, first, last) in seen.values() {
            starts[*first] += 1;
            starts[*last] -= 1;
        }
        let mut living = 0;
        let most = starts.iter().map(|s| {
            living += s;
            living
        });
        if most.max()? <= room as i32 {
            return None;
        }
        let locals = seen.into_keys().map(|v| (v, Local::default())).collect();
        Some(Stretch { lines, locals, room, set })
    }

    /// Writes it with loads made again.
    fn write(mut self, registers: &mut Registers<'_>, out: &mut Vec<Line>, moved: &mut Vec<usize>) {
        for (n, op) in ops(self.lines) {
            registers.vectors_of(op, &mut |v, access| {
                if access != Access::Def
                    && let Some(l) = self.locals.get_mut(&v)
                {
                    l.uses.push(n);
                }
            });
        }
        for (n, line) in self.lines.iter().enumerate() {
            let Line::Op(op) = line else {
                moved.push(out.len());
                out.push(line.clone());
                continue;
            };
            moved.push(out.len());
            let (mut used, mut defined) = (Vec::new(), Vec::new());
            registers.vectors_of(op, &mut |v, access| {
                if access != Access::Def {
                    used.push(v);
                }
                if matches!(access, Access::Def | Access::Both) {
                    defined.push(v);
                }
            });
            for v in &used {
                let Some(l) = self.locals.get_mut(v) else { continue };
                if !l.resident
                    && let Some(Op::Load { addr, shape, mask, .. }) = l.load
                {
                    let dst = V(registers.classes.len() as u32);
                    registers.classes.push(Class::Vector);
                    registers.widths.push(registers.widths[v.0 as usize]);
                    out.push(Line::Op(Op::Load { dst, addr, shape, mask }));
                    l.name = Some(dst);
                    self.admit(*v, &used);
                }
            }
            for v in &used {
                let Some(l) = self.locals.get_mut(v) else { continue };
                l.done = l.uses.partition_point(|u| *u <= n);
                l.resident &= l.done < l.uses.len();
            }
            for v in &defined {
                let load = self.loads_again(op, *v, n);
                let Some(l) = self.locals.get_mut(v) else { continue };
                l.load = load;
                if !l.resident && l.done < l.uses.len() {
                    self.admit(*v, &used);
                }
            }
            let mut op = *op;
            op.visit(&mut |v, _| {
                if let Some(Local { name: Some(new), .. }) = self.locals.get(v) {
                    *v = *new;
                }
            });
            out.push(Line::Op(op));
        }
    }

    /// The operation, if it loads a value and would do so again at any later line.
    fn loads_again(&self, op: &Op, v: V, line: usize) -> Option<Op> {
        let Op::Load { dst, addr, shape: Shape::Full | Shape::One, mask: None } = op else { return None };
        let still = |g: &V| self.set.get(g).is_none_or(|s| *s < line);
        (*dst == v && still(&addr.base) && addr.index.as_ref().is_none_or(still)).then_some(*op)
    }

    /// Gives a value a register: if none is left, that of the load whose next use is furthest away.
    fn admit(&mut self, v: V, used: &[V]) {
        let living = self.locals.values().filter(|l| l.resident).count();
        if living >= self.room {
            let can_go = |(v, l): &(&V, &mut Local)| l.resident && l.load.is_some() && !used.contains(v);
            let furthest =
                self.locals.iter_mut().filter(|x| can_go(x)).max_by_key(|(v, l)| (l.uses[l.done], v.0));
            if let Some((_, l)) = furthest {
                l.resident = false;
            }
        }
        if let Some(l) = self.locals.get_mut(&v) {
            l.resident = true;
        }
    }
}

fn ops(lines: &[Line]) -> impl Iterator<Item = (usize, &Op)> {
    lines.iter().enumerate().filter_map(|(n, line)| match line {
        Line::Op(op) => Some((n, op)),
        _ => None,
    })
}

//! Registers that are temporaries at some lines and hold values at all others.
//!
//! In: the intervals of vectors, more than there are registers. Out: a place for each, if one is found in which no value lives in a
//! temporary at a line that needs it. A value in memory that is the last operand of an instruction needs none; so what is loaded before
//! a loop and used after it leaves all registers to the loop.

use super::{Allocated, Choice, Interval, Line, Loc, scan};
use crate::asm::Level;
use crate::code::{Addr, Op, Src, V};

/// How often places are looked for: what newly goes to memory needs temporaries at other lines.
const ROUNDS: usize = 4;

/// Finds places; `false` if there are none, and nothing is to be believed then.
pub(super) fn share(
    intervals: &[&Interval],
    registers: &[u8],
    kept: [u8; 2],
    entry: &[V; 4],
    out: &mut Allocated,
) -> bool {
    // What lives in memory, in any of the rounds.
    let mut memory = vec![false; out.locs.len()];
    for _ in 0..ROUNDS {
        for i in intervals {
            memory[i.v.0 as usize] |= is_memory(out.locs[i.v.0 as usize]);
        }
        let needed = needed(&out.lines, &memory, out.level);
        let may: Vec<bool> = intervals.iter().map(|i| !meets(i, &needed)).collect();
        scan(intervals, &Choice { registers, kept: Some((kept, &may)) }, entry, &mut out.locs);
        if intervals.iter().all(|i| memory[i.v.0 as usize] || !is_memory(out.locs[i.v.0 as usize])) {
            out.shares_temporaries = true;
            return true;
        }
    }
    false
}

fn is_memory(loc: Loc) -> bool {
    matches!(loc, Loc::Stack(_) | Loc::Pool(_))
}

/// For every line, how many before it need a temporary if these registers live in memory.
fn needed(lines: &[Line], memory: &[bool], level: Level) -> Vec<u32> {
    let mut out = Vec::with_capacity(lines.len() + 1);
    let mut sum = 0;
    for line in lines {
        out.push(sum);
        sum += u32::from(match line {
            Line::Op(op) => needs(op, memory, level),
            Line::If { mask, .. } => memory[mask.0 as usize],
            Line::Begin(_) | Line::End(_) | Line::EndIf | Line::Comment(_) => false,
        });
    }
    out.push(sum);
    out
}

/// Whether an interval lives at one of those lines.
fn meets(i: &Interval, needed: &[u32]) -> bool {
    let end = (i.end / 2 + 1).min(needed.len() - 1);
    needed[end] > needed[(i.start / 2).min(end)]
}

/// Whether an operation needs a temporary.
fn needs(op: &Op, memory: &[bool], level: Level) -> bool {
    let mut op = *op;
    match &mut op {
        // Constants in memory are written by nobody.
        Op::Const { .. } => return false,
        Op::Move { dst, src } => return memory[dst.0 as usize] && memory[src.0 as usize],
        // A last operand can stand in memory. With AVX-512, not all instructions take one number for all lanes.
        Op::Vec2 { src: b, .. }
        | Op::Vec2Imm { src: b, .. }
        | Op::Vec3 { b, .. }
        | Op::Vec3Imm { b, .. }
        | Op::Update { b, .. }
        | Op::UpdateImm { b, .. }
            if level == Level::Avx2 =>
        {
            if let Src::Reg(v) = b
                && memory[v.0 as usize]
            {
                *b = Src::Mem(Addr { base: NOBODY, index: None, disp: 0 });
            }
        }
        _ => {}
    }
    let mut needs = false;
    op.visit(&mut |v, _| needs |= *v != NOBODY && memory[v.0 as usize]);
    needs
}

/// Stands for an operand that needs no register.
const NOBODY: V = V(u32::MAX);

//! The disassembly: what was pushed, line by line, with offsets.

use std::fmt::Write;

use super::inst::Inst;
use super::operand::Label;
use super::pool::{Pool, PoolStart};
use super::vector::Level;

/// One line, and the offset of the code that follows it.
pub(super) struct Entry {
    pub(super) offset: usize,
    pub(super) line: Line,
}

pub(super) enum Line {
    Inst(Inst),
    Label(Label),
    Comment(String),
}

pub(super) fn disassemble(listing: &[Entry], level: Level, pool: &Pool, start: &PoolStart) -> String {
    let mut text = String::with_capacity(listing.len() * 48);
    for Entry { offset, line } in listing {
        // Writing to a string cannot fail.
        let _ = match line {
            Line::Inst(inst) => writeln!(text, "{offset:6x}  {}", inst.at(level)),
            Line::Label(label) => writeln!(text, "{label}:"),
            Line::Comment(comment) => writeln!(text, "        ; {comment}"),
        };
    }
    for (constant, bytes) in pool.iter() {
        let _ = write!(text, "{:6x}  {constant}:", start.of(constant));
        let element = bytes.len().min(8);
        let element = if bytes.len() == 64 { 4 } else { element };
        for lane in bytes.chunks_exact(element) {
            text.push(' ');
            lane.iter().rev().for_each(|byte| {
                let _ = write!(text, "{byte:02x}");
            });
        }
        text.push('\n');
    }
    text
}

//! Scans: coefficients out of their codes, all of a block at once, or in a progressive picture a part of them and some of their bits.

use super::bits::{Bits, Codes};
use super::frame::{Component, Frame};

/// Where the coefficients of a block are that come one after another.
#[rustfmt::skip]
pub(super) const ZIGZAG: [usize; 64] = [
     0,  1,  8, 16,  9,  2,  3, 10, 17, 24, 32, 25, 18, 11,  4,  5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13,  6,  7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// The tables of codes that a file has given so far.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) dc: [Option<Codes>; 4],
    pub(super) ac: [Option<Codes>; 4],
}

/// What a scan says of itself.
pub(super) struct Scan {
    /// Components by their index, with their tables of codes.
    pub(super) components: Vec<(usize, usize, usize)>,
    /// The first and last coefficient.
    pub(super) first: usize,
    pub(super) last: usize,
    /// The lowest bit that the scans before gave, 0 for none, and that this one gives.
    pub(super) before: u32,
    pub(super) bit: u32,
}

/// What goes from block to block of a scan.
struct State<'a> {
    bits: Bits<'a>,
    /// The first coefficient of each component's last block.
    dc: [i32; 4],
    /// How many blocks still have no more coefficients in this scan.
    empty: u32,
}

/// What is done with each block.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    FirstDc,
    MoreDc,
    FirstAc,
    MoreAc,
}

impl Scan {
    fn part(&self, progressive: bool) -> Option<Part> {
        if !progressive {
            return Some(Part::Whole);
        }
        let fits = self.first <= self.last && self.last < 64 && self.bit < 14;
        match (self.first, self.before) {
            _ if !fits => None,
            (0, _) if self.last != 0 => None,
            (0, 0) => Some(Part::FirstDc),
            (0, _) => Some(Part::MoreDc),
            _ if self.components.len() != 1 => None,
            (_, 0) => Some(Part::FirstAc),
            _ => Some(Part::MoreAc),
        }
    }

    /// Reads the scan into the frame's coefficients; returns how many bytes it takes.
    pub(super) fn read(
        &self,
        frame: &mut Frame,
        tables: &Tables,
        every: usize,
        bytes: &[u8],
    ) -> Option<usize> {
        let part = self.part(frame.progressive)?;
        let mut state = State { bits: Bits::new(bytes), dc: [0; 4], empty: 0 };
        let (across, down) = match self.components[..] {
            [(c, ..)] => frame.components[c].own_blocks(),
            _ => frame.units,
        };
        for unit in 0..across * down {
            if every > 0 && unit > 0 && unit % every == 0 {
                state.bits.restart()?;
                (state.dc, state.empty) = ([0; 4], 0);
            }
            let (x, y) = (unit % across, unit / across);
            for (c, dc, ac) in &self.components {
                let codes = (tables.dc[*dc].as_ref(), tables.ac[*ac].as_ref());
                let component = &mut frame.components[*c];
                let (h, v) = if self.components.len() == 1 { (1, 1) } else { component.factors };
                for i in 0..h * v {
                    let block = component.block(x * h + i % h, y * v + i / h)?;
                    self.block(part, &mut state, *c, codes, block)?;
                }
            }
        }
        Some(state.bits.end())
    }

    fn block(
        &self,
        part: Part,
        state: &mut State<'_>,
        component: usize,
        (dc, ac): (Option<&Codes>, Option<&Codes>),
        block: &mut [i16; 64],
    ) -> Option<()> {
        match part {
            Part::Whole => {
                block[0] = first(state, component, dc?)? as i16;
                whole(&mut state.bits, ac?, block)
            }
            Part::FirstDc => {
                block[0] = (first(state, component, dc?)? << self.bit) as i16;
                Some(())
            }
            Part::MoreDc => {
                block[0] |= (state.bits.take(1)? << self.bit) as i16;
                Some(())
            }
            Part::FirstAc => self.first_bits(state, ac?, block),
            Part::MoreAc => self.more_bits(state, ac?, block),
        }
    }

    /// The first bits of coefficients that are not the first of their block.
    fn first_bits(&self, state: &mut State<'_>, codes: &Codes, block: &mut [i16; 64]) -> Option<()> {
        if state.empty > 0 {
            state.empty -= 1;
            return Some(());
        }
        let mut at = self.first;
        while at <= self.last {
            let code = codes.next(&mut state.bits)?;
            let (zeros, size) = (usize::from(code >> 4), u32::from(code & 15));
            match (zeros, size) {
                (15, 0) => at += 16,
                (n, 0) => {
                    state.empty = (1 << n) + state.bits.take(n as u32)? as u32 - 1;
                    break;
                }
                _ => {
                    at += zeros;
                    let value = state.bits.signed(size)? << self.bit;
                    *block.get_mut(*ZIGZAG.get(at)?)? = value as i16;
                    at += 1;
                }
            }
        }
        Some(())
    }

    /// One more bit of coefficients that are not the first of their block: of those that are not 0 as a bit each, and of those that are
    /// 0 so far by codes that say how many stay so.
    fn more_bits(&self, state: &mut State<'_>, codes: &Codes, block: &mut [i16; 64]) -> Option<()> {
        let step = 1i16 << self.bit;
        let mut at = self.first;
        while state.empty == 0 && at <= self.last {
            let code = codes.next(&mut state.bits)?;
            let (mut zeros, size) = (code >> 4, code & 15);
            let mut value = 0;
            match (zeros, size) {
                (15, 0) => {}
                (n, 0) => {
                    state.empty = (1 << n) + state.bits.take(u32::from(n))? as u32;
                    break;
                }
                _ => value = if state.bits.take(1)? == 1 { step } else { -step },
            }
            while at <= self.last {
                let old = &mut block[ZIGZAG[at]];
                if *old != 0 {
                    refine(&mut state.bits, old, step)?;
                } else if zeros == 0 {
                    *old = value;
                    break;
                } else {
                    zeros -= 1;
                }
                at += 1;
            }
            at += 1;
        }
        if state.empty > 0 {
            for place in &ZIGZAG[at..=self.last] {
                if block[*place] != 0 {
                    refine(&mut state.bits, &mut block[*place], step)?;
                }
            }
            state.empty -= 1;
        }
        Some(())
    }
}

/// The first coefficient of a block, which is given as the difference from that of the block before.
fn first(state: &mut State<'_>, component: usize, codes: &Codes) -> Option<i32> {
    let size = u32::from(codes.next(&mut state.bits)?);
    if size > 15 {
        return None;
    }
    let value = &mut state.dc[component];
    *value = value.wrapping_add(state.bits.signed(size)?);
    Some(*value)
}

/// All coefficients of a block but the first.
fn whole(bits: &mut Bits<'_>, codes: &Codes, block: &mut [i16; 64]) -> Option<()> {
    let mut at = 1;
    while at < 64 {
        let code = codes.next(bits)?;
        let (zeros, size) = (usize::from(code >> 4), u32::from(code & 15));
        match (zeros, size) {
            (15, 0) => at += 16,
            (_, 0) => break,
            _ => {
                at += zeros;
                let value = bits.signed(size)?;
                block[*ZIGZAG.get(at)?] = value as i16;
                at += 1;
            }
        }
    }
    Some(())
}

/// Adds a bit to a coefficient that is not 0, away from it.
fn refine(bits: &mut Bits<'_>, old: &mut i16, step: i16) -> Option<()> {
    if bits.take(1)? == 1 && *old & step == 0 {
        *old = old.wrapping_add(if *old > 0 { step } else { -step });
    }
    Some(())
}

impl Component {
    /// The coefficients of a block.
    fn block(&mut self, x: usize, y: usize) -> Option<&mut [i16; 64]> {
        self.coefficients.get_mut(y * self.blocks_across + x)
    }
}

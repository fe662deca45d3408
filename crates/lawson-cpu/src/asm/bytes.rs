//! The bytes of one instruction as they are put together: prefixes, opcode, ModRM, SIB, displacement, constant.
//!
//! Shared by `vector.rs` and `scalar.rs`. [`Bytes`] never allocates; references to constants and labels are left as
//! one [`Patch`], which the assembler fills in when it knows where they are.

use super::error::Problem;
use super::operand::{Base, Gpr, Mem, Scale, Vsib};

/// One encoded instruction; the machine's limit is 15 bytes.
#[derive(Default)]
pub(super) struct Bytes {
    bytes: [u8; 16],
    len: usize,
    pub(super) patch: Option<Patch>,
}

/// Four bytes that await an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch {
    /// Where in the instruction.
    pub(super) at: usize,
    /// A constant or label, with what is added to its address.
    pub(super) target: Base,
    pub(super) disp: i32,
}

/// A register-or-memory operand, its register of any kind.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    Reg(u8),
    Mem(Mem),
    Vsib(Vsib),
}

/// The bits of an operand that go into prefixes: X (or bit 4 of a vector register), B, and bit 4 of a vector index.
#[derive(Clone, Copy, Default)]
pub(super) struct High {
    pub(super) x: u8,
    pub(super) b: u8,
    pub(super) v: u8,
}

impl Bytes {
    pub(super) fn put(&mut self, byte: u8) {
        // No instruction here exceeds 13 bytes, so the mask never wraps; it spares the bounds check.
        self.bytes[self.len & 15] = byte;
        self.len += 1;
    }

    pub(super) fn put4(&mut self, value: i32) {
        value.to_le_bytes().into_iter().for_each(|byte| self.put(byte));
    }

    /// How many bytes there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends the bytes to `code`. Copying all 16 and cutting costs less than copying the right number.
    pub(super) fn append_to(&self, code: &mut Vec<u8>) {
        let end = code.len() + self.len;
        code.extend_from_slice(&self.bytes);
        code.truncate(end);
    }

    /// ModRM, SIB and displacement of `operand`, with `reg` in the register field. An 8-bit displacement counts in
    /// units of `unit` bytes, which is not 0.
    pub(super) fn modrm(&mut self, reg: u8, operand: &Operand, unit: usize) -> Result<(), Problem> {
        let reg = (reg & 7) << 3;
        match *operand {
            Operand::Reg(rm) => self.put(0xC0 | reg | (rm & 7)),
            Operand::Vsib(Vsib { base, index, scale, disp }) => {
                self.based(reg, base, Some((index.0, scale)), displacement(disp)?, unit);
            }
            Operand::Mem(Mem { base, index, disp }) => {
                let disp = displacement(disp)?;
                let index = match index {
                    Some((Gpr::RSP, _)) => return Err(Problem::IndexIsStackPointer),
                    Some((index, scale)) => Some((index.0, scale)),
                    None => None,
                };
                match (base, index) {
                    (Base::Gpr(base), index) => self.based(reg, base, index, disp, unit),
                    (Base::None, index) => {
                        // Base field 5 with mode 0 stands for "no base, 32-bit displacement".
                        let (index, scale) = index.unwrap_or((4, Scale::S1));
                        self.put(reg | 4);
                        self.put((scale as u8) << 6 | (index & 7) << 3 | 5);
                        self.put4(disp);
                    }
                    (Base::Const(_) | Base::Label(_), Some(_)) => return Err(Problem::IndexOnRelative),
                    (Base::Const(_) | Base::Label(_), None) => {
                        self.put(reg | 5);
                        self.patch = Some(Patch { at: self.len, target: base, disp });
                        self.put4(0);
                    }
                }
            }
        }
        Ok(())
    }

    fn based(&mut self, reg: u8, base: Gpr, index: Option<(u8, Scale)>, disp: i32, unit: usize) {
        let low = base.0 & 7;
        // Units are powers of two.
        let shift = unit.trailing_zeros();
        let short = disp >> shift;
        let fits = short << shift == disp && i8::try_from(short).is_ok();
        // rbp and r13 have no form without displacement: their code means something else there.
        let mode = match fits {
            true if disp == 0 && low != 5 => 0x00,
            true => 0x40,
            false => 0x80,
        };
        match index {
            // rsp and r12 as a base are reached through SIB only.
            None if low != 4 => self.put(mode | reg | low),
            None => {
                self.put(mode | reg | 4);
                self.put(4 << 3 | low);
            }
            Some((index, scale)) => {
                self.put(mode | reg | 4);
                self.put((scale as u8) << 6 | (index & 7) << 3 | low);
            }
        }
        match mode {
            0x00 => {}
            0x40 => self.put(short as u8),
            _ => self.put4(disp),
        }
    }
}

fn displacement(disp: i64) -> Result<i32, Problem> {
    i32::try_from(disp).map_err(|_| Problem::Displacement(disp))
}

impl Operand {
    /// Checks the numbers of registers (below `limit` where the operand itself is one) and gives their high bits.
    #[inline(always)]
    pub(super) fn high(&self, limit: u8) -> Result<High, Problem> {
        match self {
            Operand::Reg(rm) => {
                within(*rm, limit)?;
                Ok(High { x: rm >> 4 & 1, b: rm >> 3 & 1, v: 0 })
            }
            Operand::Mem(mem) => {
                let b = match mem.base {
                    Base::Gpr(base) => within(base.0, 16)? >> 3,
                    Base::None | Base::Const(_) | Base::Label(_) => 0,
                };
                let x = match mem.index {
                    Some((index, _)) => within(index.0, 16)? >> 3,
                    None => 0,
                };
                Ok(High { x, b, v: 0 })
            }
            Operand::Vsib(vsib) => {
                let index = within(vsib.index.0, 32)?;
                Ok(High { x: index >> 3 & 1, b: within(vsib.base.0, 16)? >> 3, v: index >> 4 })
            }
        }
    }
}

/// The number of a register that must lie below `limit`.
pub(super) fn within(number: u8, limit: u8) -> Result<u8, Problem> {
    if number < limit { Ok(number) } else { Err(Problem::Register) }
}

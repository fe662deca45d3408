//! The bits of a scan, and codes of different lengths in them.

/// Reads the bytes of a scan bit by bit, up to the next marker.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bits that were read ahead, the next one highest, and how many there are; below them are zeros.
    window: u32,
    count: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Bits { bytes, at: 0, window: 0, count: 0 }
    }

    fn fill(&mut self) {
        while self.count <= 24 {
            let byte = match (self.bytes.get(self.at), self.bytes.get(self.at + 1)) {
                // A byte of ones is followed by a zero, or else it begins a marker.
                (Some(0xff), Some(0)) => {
                    self.at += 1;
                    0xff
                }
                (Some(0xff), _) | (None, _) => return,
                (Some(byte), _) => *byte,
            };
            self.at += 1;
            self.window |= u32::from(byte) << (24 - self.count);
            self.count += 8;
        }
    }

    /// The next `n` bits, 1 to 16, with zeros after the end.
    fn peek(&mut self, n: u32) -> u32 {
        self.fill();
        self.window >> (32 - n)
    }

    fn skip(&mut self, n: u32) -> Option<()> {
        if n > self.count {
            return None;
        }
        self.window <<= n;
        self.count -= n;
        Some(())
    }

    /// The next `n` bits, 0 to 16, as a number.
    pub(super) fn take(&mut self, n: u32) -> Option<i32> {
        if n == 0 {
            return Some(0);
        }
        let value = self.peek(n);
        self.skip(n)?;
        Some(value as i32)
    }

    /// A number of `n` bits, 0 to 15, whose first bit is 0 if it is negative.
    pub(super) fn signed(&mut self, n: u32) -> Option<i32> {
        let value = self.take(n)?;
        Some(if n > 0 && value < 1 << (n - 1) { value - (1 << n) + 1 } else { value })
    }

    /// Goes on after a restart marker, which must be next.
    pub(super) fn restart(&mut self) -> Option<()> {
        (self.window, self.count) = (0, 0);
        while self.bytes.get(self.at) == Some(&0xff) {
            self.at += 1;
        }
        match self.bytes.get(self.at) {
            Some(0xd0..=0xd7) => {
                self.at += 1;
                Some(())
            }
            _ => None,
        }
    }

    /// How many bytes were read, and those before the next marker.
    pub(super) fn end(mut self) -> usize {
        while self.at < self.bytes.len() {
            match (self.bytes[self.at], self.bytes.get(self.at + 1)) {
                (0xff, Some(0 | 0xd0..=0xd7 | 0xff)) => self.at += 1,
                (0xff, Some(_)) => break,
                _ => self.at += 1,
            }
        }
        self.at
    }
}

/// How many bits are looked up at once.
const FAST: u32 = 9;

/// Codes: for each length the first code that is longer, and the symbols in the order of codes.
#[derive(Clone)]
pub(super) struct Codes {
    symbols: Vec<u8>,
    /// For lengths of 1 to 16: what a code of that length is less than, and what makes it an index of `symbols`.
    ends: [(u32, i32); 17],
    /// Symbol and length of the codes that begin with these bits; length 0: longer than that.
    fast: Vec<(u8, u8)>,
}

impl Codes {
    /// From how many codes there are of each length, and their symbols.
    pub(super) fn new(counts: &[u8], symbols: &[u8]) -> Option<Codes> {
        let (mut ends, mut fast) = ([(0, 0); 17], vec![(0, 0); 1 << FAST]);
        let (mut code, mut first) = (0u32, 0usize);
        for (length, count) in (1u32..).zip(counts) {
            let count = usize::from(*count);
            let before = code as i32;
            for symbol in symbols.get(first..first + count)? {
                if length <= FAST {
                    let start = (code << (FAST - length)) as usize;
                    let covered = fast.get_mut(start..start + (1 << (FAST - length)));
                    covered?.fill((*symbol, length as u8));
                }
                code += 1;
            }
            if code > 1 << length {
                return None;
            }
            ends[length as usize] = (code, first as i32 - before);
            first += count;
            code <<= 1;
        }
        Some(Codes { symbols: symbols[..first].to_vec(), ends, fast })
    }

    pub(super) fn next(&self, bits: &mut Bits<'_>) -> Option<u8> {
        let ahead = bits.peek(16);
        let (symbol, length) = self.fast[(ahead >> (16 - FAST)) as usize];
        if length > 0 {
            bits.skip(u32::from(length))?;
            return Some(symbol);
        }
        for length in FAST + 1..=16 {
            let code = ahead >> (16 - length);
            let (end, shift) = self.ends[length as usize];
            if code < end {
                bits.skip(length)?;
                let symbol = usize::try_from(code as i32 + shift).ok().and_then(|i| self.symbols.get(i));
                return symbol.copied();
            }
        }
        None
    }
}

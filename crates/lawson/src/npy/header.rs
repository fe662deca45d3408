//! The header of a `.npy` file: a magic number, a version, and a Python dictionary as text.
//!
//! Comes in: a stream; goes out: `Header`, with the dtype still as NumPy writes it.

use super::format_error;
use lawson_graph::{Code, Error, Result};
use std::io::Read;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read. NumPy's own are a few hundred bytes.
const MAX_HEADER: usize = 1 << 16;

/// The most dimensions, NumPy's own limit.
const MAX_RANK: usize = 64;

/// What a header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The dtype, such as `<f4`.
    pub descr: String,
    /// Whether the first index runs fastest.
    pub fortran_order: bool,
    /// The sizes.
    pub shape: Vec<usize>,
}

impl Header {
    /// Reads a header; the stream then stands at the data.
    pub fn read(source: &mut impl Read) -> Result<Header> {
        let mut fixed = [0u8; 8];
        fill(source, &mut fixed)?;
        if fixed[..6] != *MAGIC {
            return Err(format_error("this is not a .npy file: it does not begin with \\x93NUMPY"));
        }
        let len = match fixed[6] {
            1 => {
                let mut len = [0u8; 2];
                fill(source, &mut len)?;
                usize::from(u16::from_le_bytes(len))
            }
            2 | 3 => {
                let mut len = [0u8; 4];
                fill(source, &mut len)?;
                u32::from_le_bytes(len) as usize
            }
            other => return Err(format_error(format!(".npy version {other} is not known"))),
        };
        if len > MAX_HEADER {
            return Err(format_error(format!("a header of {len} bytes is too long")));
        }
        let mut text = vec![0u8; len];
        fill(source, &mut text)?;
        let text = std::str::from_utf8(&text).map_err(|_| format_error("the header is not text"))?;
        Parser { rest: text }.header()
    }

    /// The bytes of the header: version 1.0 where it fits, 2.0 elsewhere; data after it is aligned to 64 bytes.
    pub fn print(&self) -> Vec<u8> {
        let mut shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        if shape.len() == 1 {
            shape.push(String::new());
        }
        let order = if self.fortran_order { "True" } else { "False" };
        let dict = format!(
            "{{'descr': '{}', 'fortran_order': {order}, 'shape': ({}), }}",
            self.descr,
            shape.join(", ").trim_end_matches(' ')
        );
        let wide = dict.len() + 64 > usize::from(u16::MAX);
        let lead = if wide { 12 } else { 10 };
        let total = (lead + dict.len() + 1).next_multiple_of(64);
        let mut out = Vec::with_capacity(total);
        out.extend(MAGIC);
        out.extend([if wide { 2 } else { 1 }, 0]);
        let len = total - lead;
        if wide {
            out.extend((len as u32).to_le_bytes());
        } else {
            out.extend((len as u16).to_le_bytes());
        }
        out.extend(dict.as_bytes());
        out.resize(total - 1, b' ');
        out.push(b'\n');
        out
    }
}

fn fill(source: &mut impl Read, buffer: &mut [u8]) -> Result<()> {
    source.read_exact(buffer).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => format_error("the file ends within its header"),
        _ => Error::new(Code::Io, format!("cannot read: {e}")),
    })
}

/// Reads the dictionary: three known keys in any order, each once.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn header(mut self) -> Result<Header> {
        let (mut descr, mut order, mut shape) = (None, None, None);
        self.expect("{")?;
        while !self.eat("}") {
            let key = self.string()?;
            self.expect(":")?;
            let fresh = match key {
                "descr" => descr.replace(self.descr()?).is_none(),
                "fortran_order" => order.replace(self.boolean()?).is_none(),
                "shape" => shape.replace(self.shape()?).is_none(),
                other => return Err(format_error(format!("the header has an unknown key '{other}'"))),
            };
            if !fresh {
                return Err(format_error(format!("the header has the key '{key}' twice")));
            }
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        if !self.rest.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\0').is_empty() {
            return Err(self.unexpected("the end"));
        }
        match (descr, order, shape) {
            (Some(descr), Some(fortran_order), Some(shape)) => Ok(Header { descr, fortran_order, shape }),
            _ => Err(format_error("the header lacks one of 'descr', 'fortran_order' and 'shape'")),
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.eat(token) { Ok(()) } else { Err(self.unexpected(&format!("`{token}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> Error {
        let found: String = self.rest.chars().take(20).collect();
        format_error(format!("in the header, expected {wanted}, found `{found}`"))
    }

    fn string(&mut self) -> Result<&'a str> {
        self.skip_space();
        for quote in ['\'', '"'] {
            if let Some(rest) = self.rest.strip_prefix(quote) {
                let Some(end) = rest.find(quote) else { break };
                self.rest = &rest[end + 1..];
                return Ok(&rest[..end]);
            }
        }
        Err(self.unexpected("a string"))
    }

    fn descr(&mut self) -> Result<String> {
        self.skip_space();
        if self.rest.starts_with('[') {
            return Err(format_error("a structured dtype is not a tensor's")
                .help("save the fields as arrays of their own, in an .npz file"));
        }
        self.string().map(str::to_string)
    }

    fn boolean(&mut self) -> Result<bool> {
        if self.eat("True") {
            Ok(true)
        } else if self.eat("False") {
            Ok(false)
        } else {
            Err(self.unexpected("True or False"))
        }
    }

    fn shape(&mut self) -> Result<Vec<usize>> {
        let mut sizes = Vec::new();
        self.expect("(")?;
        while !self.eat(")") {
            self.skip_space();
            let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, rest) = self.rest.split_at(digits);
            let size = number.parse().map_err(|_| self.unexpected("a size"))?;
            self.rest = rest;
            // Python 2 wrote long integers so.
            self.eat("L");
            sizes.push(size);
            if sizes.len() > MAX_RANK {
                return Err(format_error(format!("more than {MAX_RANK} dimensions")));
            }
            if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Header> {
        Parser { rest: text }.header()
    }

    #[test]
    fn headers_as_numpy_writes_them_are_read() {
        let h = parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }      \n").unwrap();
        assert_eq!((h.descr.as_str(), h.fortran_order, h.shape.as_slice()), ("<f4", false, &[3, 4][..]));
        assert!(parse("{'shape': (), 'fortran_order': True, 'descr': '|b1'}").unwrap().shape.is_empty());
        assert_eq!(parse("{\"descr\":\"<i8\",'fortran_order':False,'shape':(7L,)}").unwrap().shape, [7]);
    }

    #[test]
    fn other_headers_are_refused() {
        for text in [
            "",
            "{",
            "{'descr': '<f4'}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } x",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,), }",
            "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }",
            "{'descr': '<f4, 'fortran_order': False, 'shape': (3,), }",
        ] {
            assert_eq!(parse(text).unwrap_err().code(), Code::FileFormat, "{text}");
        }
        let many = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", "1,".repeat(65));
        assert!(parse(&many).is_err());
    }

    #[test]
    fn what_is_printed_is_read_again() {
        for shape in [vec![], vec![5], vec![2, 0, 3], vec![1; 64]] {
            let header = Header { descr: "<f8".into(), fortran_order: false, shape };
            let bytes = header.print();
            assert_eq!(bytes.len() % 64, 0);
            assert_eq!(Header::read(&mut &bytes[..]).unwrap(), header);
        }
    }
}

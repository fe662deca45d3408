//! JPEG: sequential and progressive pictures with Huffman codes and 8 bits a sample.
//!
//! The standard of ONNX says to the last bit how a picture of lower colour resolution is enlarged, and its tests take every pixel as
//! it comes from `libjpeg`; decoders in Rust round some pixels differently. So this one rounds as they do. *Start with* `frame.rs`.

mod bits;
mod colour;
mod frame;
mod scan;
mod transform;

use super::{Picture, Unread};
use bits::Codes;
use colour::Colours;
use frame::{Frame, NoFrame};
use scan::{Scan, Tables};

/// The most scans of a picture; the usual progressive ones have about ten. Each costs the time of the whole picture.
const MAX_SCANS: usize = 200;

/// What has been read before the picture itself.
#[derive(Default)]
struct Reader {
    tables: Tables,
    steps: [Option<[u16; 64]>; 4],
    frame: Option<Frame>,
    /// Units between restart markers, 0 for none.
    restarts: usize,
    is_jfif: bool,
    /// What Adobe says of colours.
    adobe: Option<u8>,
    scans: usize,
}

/// The picture in these bytes, if it has at most `limit` coefficients.
pub(super) fn decode(bytes: &[u8], limit: usize) -> Result<Picture, Unread> {
    let mut reader = Reader::default();
    let mut at = 2;
    loop {
        let (marker, start) = next_marker(bytes, at).ok_or(Unread::Undecodable)?;
        if marker == 0xd9 {
            break;
        }
        let length = bytes.get(start..start + 2).ok_or(Unread::Undecodable)?;
        let end = start + usize::from(u16::from_be_bytes([length[0], length[1]]));
        let segment = bytes.get(start + 2..end).ok_or(Unread::Undecodable)?;
        at = end;
        match marker {
            0xc0..=0xc2 if reader.frame.is_none() => {
                let frame = Frame::new(segment, marker == 0xc2, bytes.len(), limit);
                reader.frame = Some(frame.map_err(|why| match why {
                    NoFrame::Undecodable => Unread::Undecodable,
                    NoFrame::TooLarge => Unread::TooLarge,
                })?);
            }
            0xda => at += reader.scan(segment, &bytes[end..]).ok_or(Unread::Undecodable)?,
            _ => reader.segment(marker, segment).ok_or(Unread::Undecodable)?,
        }
    }
    reader.picture().ok_or(Unread::Undecodable)
}

/// The next marker from a place on, and where what follows it begins.
fn next_marker(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let found = at + bytes.get(at..)?.windows(2).position(|w| w[0] == 0xff && !matches!(w[1], 0 | 0xff))?;
    Some((bytes[found + 1], found + 2))
}

impl Reader {
    /// Anything but frames and scans.
    fn segment(&mut self, marker: u8, mut bytes: &[u8]) -> Option<()> {
        match marker {
            0xc4 => {
                while !bytes.is_empty() {
                    bytes = self.codes(bytes)?;
                }
            }
            0xdb => {
                while !bytes.is_empty() {
                    bytes = self.steps(bytes)?;
                }
            }
            0xdd => self.restarts = usize::from(u16::from_be_bytes([*bytes.first()?, *bytes.get(1)?])),
            0xe0 => self.is_jfif |= bytes.starts_with(b"JFIF\0"),
            0xee if bytes.starts_with(b"Adobe") => self.adobe = bytes.get(11).copied(),
            // Lossless, arithmetic and hierarchical pictures, and a second frame.
            0xc0..=0xcf => return None,
            _ => {}
        }
        Some(())
    }

    fn codes<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (class, counts) = (*bytes.first()?, bytes.get(1..17)?);
        let end = 17 + counts.iter().map(|n| usize::from(*n)).sum::<usize>();
        let codes = Codes::new(counts, bytes.get(17..end)?)?;
        let slot = usize::from(class & 15);
        let table = match class >> 4 {
            0 => self.tables.dc.get_mut(slot)?,
            1 => self.tables.ac.get_mut(slot)?,
            _ => return None,
        };
        *table = Some(codes);
        Some(&bytes[end..])
    }

    fn steps<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let class = *bytes.first()?;
        let wide = match class >> 4 {
            0 => 1,
            1 => 2,
            _ => return None,
        };
        let numbers = bytes.get(1..1 + 64 * wide)?;
        let step = |i: usize| numbers[i * wide..][..wide].iter().fold(0, |n, b| n << 8 | u16::from(*b));
        *self.steps.get_mut(usize::from(class & 15))? = Some(std::array::from_fn(step));
        Some(&bytes[1 + 64 * wide..])
    }

    /// Reads a scan; returns how many bytes follow its header.
    fn scan(&mut self, header: &[u8], bytes: &[u8]) -> Option<usize> {
        let frame = self.frame.as_mut()?;
        self.scans += 1;
        let count = usize::from(*header.first()?);
        if self.scans > MAX_SCANS || !(1..=frame.components.len()).contains(&count) {
            return None;
        }
        let component = |part: &[u8]| {
            let index = frame.components.iter().position(|c| c.id == part[0])?;
            let (dc, ac) = (usize::from(part[1] >> 4), usize::from(part[1] & 15));
            (dc < 4 && ac < 4).then_some((index, dc, ac))
        };
        let components =
            header.get(1..1 + 2 * count)?.chunks_exact(2).map(component).collect::<Option<Vec<_>>>()?;
        let [first, last, bits] = header.get(1 + 2 * count..4 + 2 * count)? else { return None };
        let scan = Scan {
            components,
            first: usize::from(*first),
            last: usize::from(*last),
            before: u32::from(bits >> 4),
            bit: u32::from(bits & 15),
        };
        scan.read(frame, &self.tables, self.restarts, bytes)
    }

    fn colours(&self, frame: &Frame) -> Colours {
        let ids: Vec<u8> = frame.components.iter().map(|c| c.id).collect();
        let inverted = self.adobe.is_some();
        match (ids.len(), self.adobe) {
            (1, _) => Colours::Grey,
            (3, _) if self.is_jfif => Colours::Ycc,
            (3, Some(0)) => Colours::Rgb,
            (3, None) if ids == *b"RGB" => Colours::Rgb,
            (3, _) => Colours::Ycc,
            (_, Some(2)) => Colours::Ycck { inverted },
            _ => Colours::Cmyk { inverted },
        }
    }

    fn picture(mut self) -> Option<Picture> {
        let frame = self.frame.take()?;
        if self.scans == 0 {
            return None;
        }
        let (width, height, colours) = (frame.width, frame.height, self.colours(&frame));
        Some(Picture { width, height, rgb: frame.into_rgb(&self.steps, colours)? })
    }
}

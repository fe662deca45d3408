//! Line charts with logarithmic axes, as SVG and as PNG, without fonts or libraries of the system.
//!
//! In: a [`Chart`]; out: files. `layout.rs` turns a chart into a [`Drawing`], a list of lines, dots and texts; `svg.rs` writes that as text, and
//! `raster.rs` as pixels, with the letters of `font.rs`.

mod font;
mod layout;
mod raster;
mod svg;

use lawson::{Code, Error, Place, Result, write_whole};
use std::io::Write;
use std::path::Path;

/// A chart of positive numbers. Both axes are logarithmic.
pub struct Chart {
    pub title: String,
    /// What the horizontal axis says.
    pub x: String,
    /// What the vertical axis, in seconds, says.
    pub y: String,
    pub series: Vec<Series>,
}

/// A line of a chart.
pub struct Series {
    pub name: String,
    /// What it has in common with others: these stand together in the legend, and have the same dashes.
    pub group: String,
    /// Which of the colours it has.
    pub color: usize,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
}

/// What is drawn, in pixels from the upper left corner.
struct Drawing {
    width: f64,
    height: f64,
    marks: Vec<Mark>,
}

enum Mark {
    Line { points: Vec<(f64, f64)>, color: Color, width: f64, dashes: &'static [f64] },
    Dot { at: (f64, f64), color: Color, radius: f64 },
    Text { at: (f64, f64), text: String, size: f64, anchor: Anchor, turned: bool },
}

type Color = [u8; 3];

/// Which part of a text stands at its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Anchor {
    Start,
    Middle,
    End,
}

const INK: Color = [40, 40, 40];

impl Chart {
    /// Writes it as SVG.
    pub fn write_svg(&self, path: &Path) -> Result<()> {
        write(path, svg::text(&self.drawing()).as_bytes())
    }

    /// Writes it as PNG.
    pub fn write_png(&self, path: &Path) -> Result<()> {
        write(path, &raster::png(&self.drawing())?)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_whole(path, |file| {
        file.write_all(bytes).map_err(|e| {
            Error::new(Code::Io, format!("cannot write: {e}")).at(Place::File(path.display().to_string()))
        })
    })
}

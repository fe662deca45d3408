//! The two plots: time over size, and time over depth.

use super::wanted::Point;
use super::{Found, Row};
use crate::args::Mode;
use crate::plot::{Chart, Series};
use lawson::{Code, Error, Place, Result};
use std::path::{Path, PathBuf};

/// Makes the folder that plots go to.
pub fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| {
        Error::new(Code::Io, format!("cannot make the folder: {e}"))
            .at(Place::File(folder.display().to_string()))
            .help("name another one with --plots")
    })
}

/// Draws both into a folder, as SVG and as PNG; gives the files. A plot of fewer than two places along its axis is none.
pub fn write(found: &Found, folder: &Path) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    let sizes = found.wanted.by_size();
    let depths = found.wanted.by_depth();
    let charts = [
        (
            "size",
            "size",
            sizes.first().map(|p| format!("depth {}", p.depth)),
            sizes,
            Point::size as fn(Point) -> usize,
        ),
        ("depth", "depth", depths.first().map(|p| format!("size {}", p.size)), depths, Point::depth),
    ];
    for (name, axis, fixed, line, along) in charts {
        let (Some(fixed), true) = (fixed, line.len() > 1) else { continue };
        let series = series(found, &line, along);
        if series.is_empty() {
            continue;
        }
        let chart = Chart {
            title: format!("Random lists, {fixed}, batch {}", found.wanted.batch),
            x: axis.to_string(),
            y: "time of an iteration".to_string(),
            series,
        };
        for kind in ["svg", "png"] {
            let path = folder.join(format!("{name}.{kind}"));
            match kind {
                "svg" => chart.write_svg(&path)?,
                _ => chart.write_png(&path)?,
            }
            written.push(path);
        }
    }
    Ok(written)
}

/// A line for each mode on each device: the colour says the mode, the dashes say the device.
fn series(found: &Found, line: &[Point], along: fn(Point) -> usize) -> Vec<Series> {
    let mut keys: Vec<(usize, Mode)> = found.rows.iter().map(|r| (r.place, r.mode)).collect();
    keys.sort();
    keys.dedup();
    let mut all = Vec::new();
    for (place, mode) in keys {
        let of = |r: &&Row| r.place == place && r.mode == mode;
        let mut points: Vec<(f64, f64)> = line
            .iter()
            .filter_map(|p| found.rows.iter().filter(of).find(|r| r.point == *p))
            .map(|r| (along(r.point) as f64, r.median()))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if !points.is_empty() {
            let group = found.places[place].name.clone();
            all.push(Series { name: mode.name().to_string(), group, color: mode as usize, points });
        }
    }
    all
}

impl Point {
    fn size(self) -> usize {
        self.size
    }

    fn depth(self) -> usize {
        self.depth
    }
}

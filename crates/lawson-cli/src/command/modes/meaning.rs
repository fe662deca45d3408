//! What the numbers mean, in sentences that are computed from them.
//!
//! Each sentence needs certain rows; where these were not run, it is not said.

use super::place::Place;
use super::wanted::Point;
use super::{Found, Row};
use crate::args::Mode;
use crate::quantity::measured;

/// Modes that compile nothing while they are timed.
const STEADY: &[Mode] = &[
    Mode::Cpu,
    Mode::CpuGraph,
    Mode::CpuGraphFused,
    Mode::Immediate,
    Mode::GraphCached,
    Mode::GraphCachedFused,
    Mode::GraphLoopCached,
    Mode::GraphLoopCachedFused,
    Mode::LoopOnDevice,
];
/// Where a time is so many times that of the smallest size, it is no longer that of launching alone.
const GROWN: f64 = 2.0;

/// The sentences.
pub fn paragraph(found: &Found) -> String {
    let mut said = Vec::new();
    let processor = found.places.iter().position(|p| p.devices.is_none());
    let ran = |place: usize| found.rows.iter().any(|r| r.place == place);
    for (n, place) in found.places.iter().enumerate().filter(|(n, p)| p.devices.is_some() && ran(*n)) {
        if place.is_software() {
            said.push(format!(
                "{} is a program on the processor, not a GPU: its times say nothing about GPUs, and only ratios between its modes mean something.",
                place.name
            ));
        }
        said.extend(processor.and_then(|cpu| crossing(found, cpu, n)));
        said.extend(overhead(found, n, place));
        said.extend(fusion(found, n, [Mode::GraphCached, Mode::GraphCachedFused]));
        said.extend(caching(found, n));
        said.extend(looping(found, n));
    }
    if let Some(cpu) = processor {
        said.extend(fusion(found, cpu, [Mode::CpuGraph, Mode::CpuGraphFused]));
    }
    if said.is_empty() {
        return "Too few modes, sizes or depths were run to say what the numbers mean.".to_string();
    }
    said.join(" ")
}

impl Found {
    fn row(&self, mode: Mode, place: usize, point: Point) -> Option<&Row> {
        self.rows.iter().find(|r| r.mode == mode && r.place == place && r.point == point)
    }

    /// The fastest of the modes that compile nothing.
    fn best(&self, place: usize, point: Point) -> Option<&Row> {
        let steady = self.rows.iter().filter(|r| r.place == place && r.point == point);
        steady.filter(|r| STEADY.contains(&r.mode)).min_by(|a, b| a.median().total_cmp(&b.median()))
    }

    /// The point that a sentence about these modes speaks of: the largest in both lines, or another at which all of them ran.
    fn usual(&self, place: usize, modes: &[Mode]) -> Option<Point> {
        let (sizes, depths) = (self.wanted.by_size(), self.wanted.by_depth());
        let both = sizes.iter().filter(|p| depths.contains(p));
        let all = both.rev().chain(sizes.iter().rev()).chain(depths.iter().rev()).chain(&self.wanted.points);
        all.copied().find(|p| modes.iter().all(|m| self.row(*m, place, *p).is_some()))
    }
}

/// Where the processor is faster than a device.
fn crossing(found: &Found, cpu: usize, device: usize) -> Option<String> {
    let line = found.wanted.by_size();
    let both: Vec<(Point, &Row, &Row)> =
        line.iter().filter_map(|p| Some((*p, found.best(cpu, *p)?, found.best(device, *p)?))).collect();
    let (first, last) = (both.first()?, both.last()?);
    let wins = |(_, c, d): &(Point, &Row, &Row)| c.median() < d.median();
    let compared = |(p, c, d): &(Point, &Row, &Row)| {
        format!(
            "at size {} its best mode, {}, takes {} and the device's, {}, {}",
            p.size,
            c.mode.name(),
            measured(c.median(), "s"),
            d.mode.name(),
            measured(d.median(), "s")
        )
    };
    let name = &found.places[device].name;
    let depth = first.0.depth;
    Some(match both.iter().position(|b| !wins(b)) {
        None if both.len() == 1 => format!("Against {name} the processor wins: {}.", compared(last)),
        None => {
            format!("At depth {depth} the processor wins against {name} at every size: {}.", compared(last))
        }
        Some(0) if both.len() == 1 => format!("Against {name} the processor loses: {}.", compared(last)),
        Some(0) => match both.iter().find(|b| wins(b)) {
            None => format!(
                "At depth {depth} {name} wins against the processor at every size: {}.",
                compared(first)
            ),
            Some(b) => format!(
                "At depth {depth} {name} wins at size {}, and the processor at size {}: {}.",
                first.0.size,
                b.0.size,
                compared(b)
            ),
        },
        Some(n) => format!(
            "At depth {depth} the processor wins against {name} up to size {}, and loses from size {} on: {}.",
            both[n - 1].0.size,
            both[n].0.size,
            compared(&both[n])
        ),
    })
}

/// Up to which size a device only launches.
fn overhead(found: &Found, device: usize, place: &Place) -> Option<String> {
    let line = found.wanted.by_size();
    let rows: Vec<&Row> = line.iter().filter_map(|p| found.row(Mode::GraphCached, device, *p)).collect();
    let (first, last) = (*rows.first()?, *rows.last()?);
    if rows.len() < 2 || first.launches <= 0.0 {
        return None;
    }
    let each = measured(first.median() / first.launches, "s");
    let grown = rows.iter().position(|r| r.median() > GROWN * first.median());
    let begin = format!(
        "Launches cost {} about {each} each at size {} (graph_cached, {:.0} of them, with submission and transfers)",
        place.name, first.point.size, first.launches
    );
    Some(match grown {
        Some(n) => format!(
            "{begin}; that overhead ends between size {} and size {}, where the time is {:.1} times that.",
            rows[n - 1].point.size,
            rows[n].point.size,
            rows[n].median() / first.median()
        ),
        None => format!("{begin}, and up to size {} they are what the time goes to.", last.point.size),
    })
}

/// What fusing saved.
fn fusion(found: &Found, place: usize, [apart, fused]: [Mode; 2]) -> Option<String> {
    let point = found.usual(place, &[apart, fused])?;
    let (a, f) = (found.row(apart, place, point)?, found.row(fused, place, point)?);
    Some(format!(
        "On {}, fusing saved {:.0} of {:.0} launches and {} of {} that kernels move at {point}, and made {} {}.",
        found.places[place].name,
        a.launches - f.launches,
        a.launches,
        measured(a.bytes - f.bytes, "B"),
        measured(a.bytes, "B"),
        fused.name(),
        ratio(a.median(), f.median(), apart)
    ))
}

/// What keeping compiled programs saved.
fn caching(found: &Found, place: usize) -> Option<String> {
    let point = found.usual(place, &[Mode::GraphFused, Mode::GraphCachedFused])?;
    let (a, c) =
        (found.row(Mode::GraphFused, place, point)?, found.row(Mode::GraphCachedFused, place, point)?);
    Some(format!(
        "Keeping what is compiled made graph_cached_fused {} at {point}: compiling takes {} there.",
        ratio(a.median(), c.median(), Mode::GraphFused),
        measured((a.median() - c.median()).max(0.0), "s")
    ))
}

/// What the loop inside saved.
fn looping(found: &Found, place: usize) -> Option<String> {
    let point = found.usual(place, &[Mode::GraphCachedFused, Mode::LoopOnDevice])?;
    let outside = found.row(Mode::GraphCachedFused, place, point)?;
    let inside = found.row(Mode::GraphLoopCachedFused, place, point);
    let whole = found.row(Mode::LoopOnDevice, place, point)?;
    let (moved, kept) = (outside.transferred?, whole.transferred?);
    let mut text = format!(
        "At {point}, a loop of {} iterations on the device needs {:.2} submissions an iteration instead of {:.2}, and moves {} between host and device instead of {}: loop_on_device is {}",
        found.wanted.iterations,
        whole.submissions?,
        outside.submissions?,
        measured(kept, "B"),
        measured(moved, "B"),
        ratio(outside.median(), whole.median(), Mode::GraphCachedFused)
    );
    if let Some(inside) = inside {
        let part = ratio(inside.median(), whole.median(), Mode::GraphLoopCachedFused);
        text.push_str(&format!(", and {part}, which waits for each iteration"));
    }
    text.push('.');
    Some(text)
}

/// How a time compares with the one of another mode.
fn ratio(other: f64, this: f64, than: Mode) -> String {
    let factor = other / this;
    match factor {
        f if f >= 1.05 => format!("{f:.1} times as fast as {}", than.name()),
        f if f <= 1.0 / 1.05 => format!("{:.1} times as slow as {}", 1.0 / f, than.name()),
        _ => format!("as fast as {}", than.name()),
    }
}

//! From a chart to a drawing: axes with their numbers, lines, and a legend beside them, so that it covers nothing.

use super::font;
use super::{Anchor, Chart, Color, Drawing, INK, Mark};
use crate::quantity::measured;

/// Colours that differ in lightness too.
const COLORS: &[Color] = &[
    [127, 127, 127],
    [188, 128, 40],
    [150, 75, 0],
    [214, 39, 40],
    [255, 152, 150],
    [227, 119, 194],
    [31, 119, 180],
    [0, 60, 120],
    [23, 190, 207],
    [148, 103, 189],
    [140, 210, 130],
    [44, 130, 44],
    [0, 0, 0],
];
const DASHES: &[&[f64]] = &[&[], &[7.0, 4.0], &[2.0, 3.0], &[9.0, 3.0, 2.0, 3.0]];
const GRID: Color = [205, 205, 205];
const FAINT: Color = [232, 232, 232];
/// The plane of the lines.
const PLANE: (f64, f64) = (640.0, 440.0);
const LEFT: f64 = 96.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 60.0;
const TEXT: f64 = 13.0;
const TITLE: f64 = 16.0;
/// A line of the legend, and the sample of the line that stands before its name.
const LEGEND_LINE: f64 = 19.0;
const SAMPLE: f64 = 34.0;
const GAP: f64 = 16.0;

/// An axis: the numbers at both ends, and where they are.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let part = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + part * (self.to - self.from)
    }
}

impl Chart {
    pub(super) fn drawing(&self) -> Drawing {
        let groups = self.groups();
        let names = self.series.iter().map(|s| font::width(&s.name, TEXT) + SAMPLE + 8.0);
        let heads = groups.iter().map(|g| font::width(g, TEXT));
        // Letters of other fonts may be wider than ours.
        let legend = names.chain(heads).fold(0.0, f64::max) * 1.15;
        let lines = self.series.len() + 2 * groups.len();
        let height = (TOP + PLANE.1 + BOTTOM).max(TOP + LEGEND_LINE * lines as f64 + GAP);
        let mut d = Drawing { width: LEFT + PLANE.0 + GAP + legend + GAP, height, marks: Vec::new() };
        let (x, y) = self.axes();
        self.draw_axes(&x, &y, &mut d);
        for s in &self.series {
            let points: Vec<(f64, f64)> = s.points.iter().map(|(a, b)| (x.at(*a), y.at(*b))).collect();
            let (color, dashes) = (color(s.color), self.dashes(&s.group, &groups));
            d.marks.extend(points.iter().map(|at| Mark::Dot { at: *at, color, radius: 3.0 }));
            d.marks.push(Mark::Line { points, color, width: 1.8, dashes });
        }
        self.draw_legend(&groups, &mut d);
        d
    }

    /// The groups, in the order of their first series.
    fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for s in &self.series {
            if !groups.contains(&s.group.as_str()) {
                groups.push(&s.group);
            }
        }
        groups
    }

    fn dashes(&self, group: &str, groups: &[&str]) -> &'static [f64] {
        let number = groups.iter().position(|g| *g == group).unwrap_or(0);
        DASHES[number % DASHES.len()]
    }

    fn axes(&self) -> (Axis, Axis) {
        let points = || self.series.iter().flat_map(|s| &s.points);
        let range = |of: fn(&(f64, f64)) -> f64| {
            let low = points().map(of).fold(f64::INFINITY, f64::min).max(f64::MIN_POSITIVE);
            let high = points().map(of).fold(0.0, f64::max).max(low);
            (low, high)
        };
        let ((left, right), (low, high)) = (range(|p| p.0), range(|p| p.1));
        // The vertical axis ends at whole decades, so that its numbers stand at its ends.
        let low = 10f64.powf(low.log10().floor());
        let high = 10f64.powf(high.log10().ceil()).max(low * 10.0);
        let x = Axis { low: left / 1.15, high: right * 1.15, from: LEFT, to: LEFT + PLANE.0 };
        let y = Axis { low, high, from: TOP + PLANE.1, to: TOP };
        (x, y)
    }

    fn draw_axes(&self, x: &Axis, y: &Axis, d: &mut Drawing) {
        let thin = |points: [(f64, f64); 2], color: Color| Mark::Line {
            points: points.to_vec(),
            color,
            width: 1.0,
            dashes: &[],
        };
        let text = |at: (f64, f64), text: String, anchor: Anchor| Mark::Text {
            at,
            text,
            size: TEXT,
            anchor,
            turned: false,
        };
        let mut decade = y.low;
        while decade <= y.high * 1.001 {
            for minor in 2..10 {
                let at = decade * f64::from(minor);
                if at < y.high {
                    d.marks.push(thin([(x.from, y.at(at)), (x.to, y.at(at))], FAINT));
                }
            }
            decade *= 10.0;
        }
        let mut decade = y.low;
        while decade <= y.high * 1.001 {
            let at = y.at(decade);
            d.marks.push(thin([(x.from, at), (x.to, at)], GRID));
            d.marks.push(text((x.from - 8.0, at + TEXT * 0.35), seconds(decade), Anchor::End));
            decade *= 10.0;
        }
        for value in self.places() {
            let at = x.at(value);
            d.marks.push(thin([(at, y.from), (at, y.to)], GRID));
            d.marks.push(text((at, y.from + TEXT + 8.0), format!("{value}"), Anchor::Middle));
        }
        let corners = [(x.from, y.from), (x.to, y.from), (x.to, y.to), (x.from, y.to), (x.from, y.from)];
        d.marks.push(Mark::Line { points: corners.to_vec(), color: INK, width: 1.2, dashes: &[] });
        let middle = ((x.from + x.to) / 2.0, (y.from + y.to) / 2.0);
        d.marks.push(text((middle.0, y.from + 2.0 * TEXT + 22.0), self.x.clone(), Anchor::Middle));
        let (anchor, turned) = (Anchor::Middle, true);
        d.marks.push(Mark::Text { at: (22.0, middle.1), text: self.y.clone(), size: TEXT, anchor, turned });
        let (at, anchor, turned) = ((middle.0, TOP - 18.0), Anchor::Middle, false);
        d.marks.push(Mark::Text { at, text: self.title.clone(), size: TITLE, anchor, turned });
    }

    /// The numbers along the horizontal axis that lines have points at.
    fn places(&self) -> Vec<f64> {
        let mut all: Vec<f64> = self.series.iter().flat_map(|s| s.points.iter().map(|p| p.0)).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    }

    fn draw_legend(&self, groups: &[&str], d: &mut Drawing) {
        let left = LEFT + PLANE.0 + GAP;
        let mut y = TOP + TEXT;
        let text = |x: f64, y: f64, text: &str| Mark::Text {
            at: (x, y),
            text: text.to_string(),
            size: TEXT,
            anchor: Anchor::Start,
            turned: false,
        };
        for group in groups {
            d.marks.push(text(left, y, group));
            y += LEGEND_LINE;
            for s in self.series.iter().filter(|s| s.group == *group) {
                let (middle, color) = (y - TEXT * 0.35, color(s.color));
                let (points, dashes) =
                    (vec![(left, middle), (left + SAMPLE, middle)], self.dashes(group, groups));
                d.marks.push(Mark::Line { points, color, width: 1.8, dashes });
                d.marks.push(Mark::Dot { at: (left + SAMPLE / 2.0, middle), color, radius: 3.0 });
                d.marks.push(text(left + SAMPLE + 8.0, y, &s.name));
                y += LEGEND_LINE;
            }
            y += LEGEND_LINE / 2.0;
        }
    }
}

fn color(number: usize) -> Color {
    COLORS[number % COLORS.len()]
}

/// A time that is a power of ten, without digits that say nothing.
fn seconds(value: f64) -> String {
    let text = measured(value, "s");
    text.replacen(".00", "", 1).replacen(".0", "", 1)
}

#[cfg(test)]
mod tests {
    use super::super::Series;
    use super::*;

    fn chart() -> Chart {
        let points = vec![(4.0, 2e-6), (64.0, 3e-5), (4096.0, 0.4)];
        let series = |name: &str, group: &str, color| Series {
            name: name.into(),
            group: group.into(),
            color,
            points: points.clone(),
        };
        Chart {
            title: "t".into(),
            x: "size".into(),
            y: "time".into(),
            series: vec![series("a", "one", 0), series("a_long_name", "two", 1)],
        }
    }

    #[test]
    fn lines_stay_left_of_the_legend_and_inside_the_plane() {
        let d = chart().drawing();
        for mark in &d.marks {
            if let Mark::Line { points, width, .. } = mark
                && *width == 1.8
                && points.len() == 3
            {
                assert!(
                    points.iter().all(
                        |(x, y)| (LEFT..=LEFT + PLANE.0).contains(x) && (TOP..=TOP + PLANE.1).contains(y)
                    )
                );
            }
        }
        let texts = d.marks.iter().filter_map(|m| match m {
            Mark::Text { at, text, anchor: Anchor::Start, .. } => Some((at.0, text.as_str())),
            _ => None,
        });
        for (x, text) in texts {
            assert!(x >= LEFT + PLANE.0 && x + font::width(text, TEXT) <= d.width, "{text}");
        }
    }

    #[test]
    fn equal_factors_are_equal_distances() {
        let axis = Axis { low: 1.0, high: 1000.0, from: 0.0, to: 300.0 };
        assert!((axis.at(10.0) - 100.0).abs() < 1e-9 && (axis.at(100.0) - 200.0).abs() < 1e-9);
    }

    #[test]
    fn decades_have_short_names() {
        assert_eq!([1e-6, 1e-5, 1e-4, 1.0].map(seconds), ["1 µs", "10 µs", "100 µs", "1 s"]);
    }
}

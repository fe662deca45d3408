//! A drawing as pixels: lines with smooth edges, dots, and texts as strokes. Twice as many pixels as the drawing has units, so that screens of
//! today show sharp letters.

use super::{Anchor, Color, Drawing, INK, Mark, font};
use image::{ImageFormat, Rgb, RgbImage};
use lawson::{Code, Error, Result};
use std::io::Cursor;

/// Pixels a unit.
const SCALE: f64 = 2.0;
/// The width of a letter's stroke, relative to the height of the text.
const STROKE: f64 = 0.095;

pub(super) fn png(d: &Drawing) -> Result<Vec<u8>> {
    let picture = pixels(d);
    let mut bytes = Cursor::new(Vec::new());
    let failed = |e: image::ImageError| Error::new(Code::Io, format!("the picture cannot be encoded: {e}"));
    picture.write_to(&mut bytes, ImageFormat::Png).map_err(failed)?;
    Ok(bytes.into_inner())
}

fn pixels(d: &Drawing) -> RgbImage {
    let size = |n: f64| (n * SCALE).ceil().max(1.0) as u32;
    let mut picture = RgbImage::from_pixel(size(d.width), size(d.height), Rgb([255; 3]));
    for mark in &d.marks {
        match mark {
            Mark::Line { points, color, width, dashes } => {
                for [a, b] in dashed(points, dashes) {
                    segment(&mut picture, a, b, *width, *color);
                }
            }
            Mark::Dot { at, color, radius } => segment(&mut picture, *at, *at, 2.0 * radius, *color),
            Mark::Text { at, text, size, anchor, turned } => {
                let before = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => font::width(text, *size) / 2.0,
                    Anchor::End => font::width(text, *size),
                };
                let place = |(x, y): (f64, f64)| match turned {
                    false => (at.0 + x - before, at.1 + y),
                    true => (at.0 + y, at.1 - (x - before)),
                };
                for stroke in font::strokes(text, *size) {
                    let points: Vec<(f64, f64)> = stroke.into_iter().map(place).collect();
                    for ends in points.windows(2) {
                        segment(&mut picture, ends[0], ends[1], size * STROKE, INK);
                    }
                }
            }
        }
    }
    picture
}

/// The segments of a line that are drawn.
fn dashed(points: &[(f64, f64)], dashes: &[f64]) -> Vec<[(f64, f64); 2]> {
    let whole = points.windows(2).map(|ends| [ends[0], ends[1]]);
    if dashes.is_empty() {
        return whole.collect();
    }
    let mut drawn = Vec::new();
    let (mut number, mut left) = (0, dashes[0]);
    for [a, b] in whole {
        let length = (b.0 - a.0).hypot(b.1 - a.1);
        let at = |done: f64| (a.0 + (b.0 - a.0) * done / length, a.1 + (b.1 - a.1) * done / length);
        let mut done = 0.0;
        while done < length {
            let step = left.min(length - done);
            if number % 2 == 0 {
                drawn.push([at(done), at(done + step)]);
            }
            (done, left) = (done + step, left - step);
            if left <= 0.0 {
                number = (number + 1) % (dashes.len() + dashes.len() % 2);
                left = dashes[number % dashes.len()];
            }
        }
    }
    drawn
}

/// A segment with round ends, in units. A pixel is covered by how far inside the border its middle is.
fn segment(picture: &mut RgbImage, a: (f64, f64), b: (f64, f64), width: f64, color: Color) {
    let [a, b] = [a, b].map(|(x, y)| (x * SCALE, y * SCALE));
    let radius = width * SCALE / 2.0;
    let (w, h) = picture.dimensions();
    let range = |a: f64, b: f64, most: u32| {
        let low = (a.min(b) - radius - 1.0).floor().max(0.0) as u32;
        let high = (a.max(b) + radius + 2.0).ceil().max(0.0) as u32;
        low..high.min(most)
    };
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let squared = dx * dx + dy * dy;
    for y in range(a.1, b.1, h) {
        for x in range(a.0, b.0, w) {
            let (px, py) = (f64::from(x) + 0.5 - a.0, f64::from(y) + 0.5 - a.1);
            let along = if squared > 0.0 { ((px * dx + py * dy) / squared).clamp(0.0, 1.0) } else { 0.0 };
            let distance = (px - along * dx).hypot(py - along * dy);
            let covered = (radius + 0.5 - distance).clamp(0.0, 1.0);
            if covered > 0.0 {
                let pixel = picture.get_pixel_mut(x, y);
                for (old, new) in pixel.0.iter_mut().zip(color) {
                    *old = (f64::from(*old) * (1.0 - covered) + f64::from(new) * covered).round() as u8;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_letters_leave_ink_where_they_are() {
        let line =
            Mark::Line { points: vec![(2.0, 5.0), (18.0, 5.0)], color: [0; 3], width: 2.0, dashes: &[] };
        let at = (2.0, 28.0);
        let word = Mark::Text { at, text: "Hi".into(), size: 12.0, anchor: Anchor::Start, turned: false };
        let picture = pixels(&Drawing { width: 20.0, height: 30.0, marks: vec![line, word] });
        let dark = |x: std::ops::Range<u32>, y: std::ops::Range<u32>| {
            y.flat_map(|y| x.clone().map(move |x| (x, y)))
                .filter(|(x, y)| picture.get_pixel(*x, *y)[0] < 128)
                .count()
        };
        assert_eq!(picture.get_pixel(20, 10), &Rgb([0; 3]));
        assert_eq!(dark(0..40, 16..30), 0);
        assert!(dark(0..40, 34..58) > 40);
    }

    #[test]
    fn dashes_leave_gaps_and_go_on_around_corners() {
        let drawn = dashed(&[(0.0, 0.0), (5.0, 0.0), (5.0, 10.0)], &[4.0, 2.0]);
        assert_eq!(drawn, [[(0.0, 0.0), (4.0, 0.0)], [(5.0, 1.0), (5.0, 5.0)], [(5.0, 7.0), (5.0, 10.0)]]);
    }
}

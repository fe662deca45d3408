//! A drawing as SVG.

use super::{Anchor, Color, Drawing, INK, Mark};
use std::fmt::Write;

pub(super) fn text(d: &Drawing) -> String {
    let (w, h) = (d.width.ceil(), d.height.ceil());
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\">\n<rect width=\"{w}\" height=\"{h}\" fill=\"white\"/>\n"
    );
    for mark in &d.marks {
        // Writing to a string does not fail.
        let _ = match mark {
            Mark::Line { points, color, width, dashes } => {
                let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                let dashes: Vec<String> = dashes.iter().map(f64::to_string).collect();
                let dashed = if dashes.is_empty() {
                    String::new()
                } else {
                    format!(" stroke-dasharray=\"{}\"", dashes.join(" "))
                };
                writeln!(
                    out,
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dashed}/>",
                    points.join(" "),
                    hex(*color)
                )
            }
            Mark::Dot { at: (x, y), color, radius } => {
                writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{}\"/>", hex(*color))
            }
            Mark::Text { at: (x, y), text, size, anchor, turned } => {
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                let turn =
                    if *turned { format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"") } else { String::new() };
                writeln!(
                    out,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" font-family=\"sans-serif\" font-size=\"{size}\" fill=\"{}\" text-anchor=\"{anchor}\"{turn}>{}</text>",
                    hex(INK),
                    escaped(text)
                )
            }
        };
    }
    out.push_str("</svg>\n");
    out
}

fn hex([r, g, b]: Color) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// A text without what means something to XML, or is none of its characters.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        let at = (1.0, 2.0);
        let mark =
            Mark::Text { at, text: "a<b & \u{1}c".into(), size: 10.0, anchor: Anchor::Start, turned: false };
        let svg = text(&Drawing { width: 10.0, height: 10.0, marks: vec![mark] });
        assert!(svg.contains(">a&lt;b &amp;  c</text>"), "{svg}");
    }
}

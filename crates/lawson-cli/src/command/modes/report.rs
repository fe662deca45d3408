//! What was found, as a table, as CSV and as JSON.

use super::{Found, LeftOut, Row, TOLERANCE, meaning};
use crate::command::time::quantile;
use crate::quantity::measured;
use crate::report::Outcome;
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use std::io::Write;

impl Row {
    /// Seconds an iteration.
    pub fn median(&self) -> f64 {
        quantile(&self.samples, 0.5)
    }

    /// How far apart the tenths at both ends are, relative to the median.
    fn spread(&self) -> f64 {
        (quantile(&self.samples, 0.9) - quantile(&self.samples, 0.1)) / self.median()
    }
}

/// Prints a table for each point, and what was left out.
pub fn print(found: &Found, out: &mut dyn Write) -> Outcome {
    let Found { wanted, places, rows, left_out } = found;
    for (n, place) in places.iter().enumerate() {
        writeln!(out, "device {n}: {} ({})", place.name, place.kind)?;
    }
    writeln!(
        out,
        "batch {}, {} iterations a call, seed {}; times, counts and bytes are an iteration's",
        wanted.batch, wanted.iterations, wanted.seed
    )?;
    for point in &wanted.points {
        let mut here = rows.iter().filter(|r| r.point == *point).peekable();
        if here.peek().is_none() {
            continue;
        }
        writeln!(out, "\n{point}")?;
        writeln!(
            out,
            "  {:24} {:>6} {:>9} {:>7} {:>7} {:>9} {:>8} {:>11} {:>9} {:>9}",
            "mode",
            "device",
            "median",
            "spread",
            "samples",
            "error",
            "launches",
            "submissions",
            "bytes",
            "transfers"
        )?;
        for r in here {
            let shown = |n: Option<f64>, digits: usize| {
                n.map_or_else(|| "-".to_string(), |n| format!("{n:.digits$}"))
            };
            writeln!(
                out,
                "  {:24} {:>6} {:>9} {:>6.0}% {:>7} {:>9.1e} {:>8} {:>11} {:>9} {:>9}",
                r.mode.name(),
                r.place,
                measured(r.median(), "s"),
                100.0 * r.spread(),
                r.samples.len(),
                r.error,
                shown(Some(r.launches), 0),
                shown(r.submissions, 2),
                measured(r.bytes, "B"),
                r.transferred.map_or_else(|| "-".to_string(), |b| measured(b, "B")),
            )?;
        }
    }
    if !left_out.is_empty() {
        writeln!(out, "\nleft out")?;
        for same in left_out.chunk_by(|a, b| a.point == b.point && a.place == b.place && a.why == b.why) {
            let modes: Vec<&str> = same.iter().filter_map(|l| l.mode).map(|m| m.name()).collect();
            let modes = if modes.is_empty() { "all modes".to_string() } else { modes.join(", ") };
            let LeftOut { point, place, why, .. } = &same[0];
            let place = place.map_or_else(String::new, |n| format!(" on device {n}"));
            writeln!(out, "  {point}: {modes}{place}: {why}")?;
        }
    }
    if wanted.quick {
        writeln!(
            out,
            "\n--quick left out sizes above 256, depths 8, 32 and 128, and most of the time for each"
        )?;
    }
    Ok(writeln!(out, "\n{}", meaning::paragraph(found))?)
}

/// A row a line.
pub fn csv(found: &Found) -> String {
    let mut text = String::from(
        "mode,device,kind,depth,size,batch,iterations,samples,median_s,p10_s,p90_s,spread,error,launches,submissions,bytes,transferred_bytes\n",
    );
    for r in &found.rows {
        let place = &found.places[r.place];
        let number = |n: Option<f64>| n.map_or_else(String::new, |n| n.to_string());
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{:e},{:e},{:e},{:.4},{:e},{},{},{},{}",
            r.mode.name(),
            quoted(&place.name),
            quoted(&place.kind),
            r.point.depth,
            r.point.size,
            found.wanted.batch,
            found.wanted.iterations,
            r.samples.len(),
            r.median(),
            quantile(&r.samples, 0.1),
            quantile(&r.samples, 0.9),
            r.spread(),
            r.error,
            r.launches,
            number(r.submissions),
            r.bytes,
            number(r.transferred),
        );
    }
    text
}

/// A text as a field of CSV, which commas and quotes would end.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}

pub fn json(found: &Found) -> Json {
    let Found { wanted, places, rows, left_out } = found;
    let row = |r: &Row| {
        json!({
            "mode": r.mode.name(),
            "device": places[r.place].name,
            "depth": r.point.depth,
            "size": r.point.size,
            "samples": r.samples.len(),
            "median_us": r.median() * 1e6,
            "p10_us": quantile(&r.samples, 0.1) * 1e6,
            "p90_us": quantile(&r.samples, 0.9) * 1e6,
            "spread": r.spread(),
            "error": r.error,
            "launches": r.launches,
            "submissions": r.submissions,
            "bytes": r.bytes,
            "transferred_bytes": r.transferred,
        })
    };
    let left = |l: &LeftOut| {
        json!({
            "mode": l.mode.map(|m| m.name()),
            "device": l.place.map(|n| &places[n].name),
            "depth": l.point.depth,
            "size": l.point.size,
            "why": l.why,
        })
    };
    let devices: Vec<Json> = places.iter().map(|p| json!({ "name": p.name, "kind": p.kind })).collect();
    json!({
        "devices": devices,
        "batch": wanted.batch,
        "iterations": wanted.iterations,
        "seed": wanted.seed,
        "tolerance": TOLERANCE,
        "rows": rows.iter().map(row).collect::<Vec<Json>>(),
        "left_out": left_out.iter().map(left).collect::<Vec<Json>>(),
        "meaning": meaning::paragraph(found),
    })
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn fields_with_commas_and_quotes_are_quoted() {
        assert_eq!(quoted("llvmpipe"), "llvmpipe");
        assert_eq!(quoted("llvmpipe (LLVM 15, 256 bits)"), "\"llvmpipe (LLVM 15, 256 bits)\"");
        assert_eq!(quoted("a \"b\""), "\"a \"\"b\"\"\"");
    }
}

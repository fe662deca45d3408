//! What was found, as a table, as CSV and as JSON, each in parts: `stream.rs` writes them as rows end.

use super::{Found, LeftOut, Row, TOLERANCE, meaning};
use crate::command::time::quantile;
use crate::quantity::measured;
use crate::report::Outcome;
use serde_json::{Value as Json, json};
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

/// Prints where everything runs, and how.
pub fn print_head(found: &Found, out: &mut dyn Write) -> Outcome {
    let Found { wanted, places, .. } = found;
    for (n, place) in places.iter().enumerate() {
        writeln!(out, "device {n}: {} ({})", place.name, place.kind)?;
    }
    Ok(writeln!(
        out,
        "batch {}, {} iterations a call, seed {}; times, counts and bytes are an iteration's",
        wanted.batch, wanted.iterations, wanted.seed
    )?)
}

/// Prints a table of the rows of one point.
pub fn print_rows(rows: &[Row], out: &mut dyn Write) -> Outcome {
    let Some(first) = rows.first() else { return Ok(()) };
    writeln!(out, "\n{}", first.point)?;
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
    for r in rows {
        let shown =
            |n: Option<f64>, digits: usize| n.map_or_else(|| "-".to_string(), |n| format!("{n:.digits$}"));
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
    Ok(())
}

/// Prints what was left out, and what all of it means.
pub fn print_end(found: &Found, out: &mut dyn Write) -> Outcome {
    let Found { wanted, left_out, .. } = found;
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

/// The names of the columns, as a line of CSV.
pub const CSV_HEAD: &str = "mode,device,kind,depth,size,batch,iterations,samples,median_s,p10_s,p90_s,spread,error,launches,submissions,bytes,transferred_bytes\n";

/// A row as a line of CSV.
pub fn csv(found: &Found, r: &Row) -> String {
    let place = &found.places[r.place];
    let number = |n: Option<f64>| n.map_or_else(String::new, |n| n.to_string());
    format!(
        "{},{},{},{},{},{},{},{},{:e},{:e},{:e},{:.4},{:e},{},{},{},{}\n",
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
    )
}

/// A text as a field of CSV, which commas and quotes would end.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}

/// How a JSON document begins, up to its rows.
pub fn json_head(found: &Found) -> String {
    let Found { wanted, places, .. } = found;
    let devices: Vec<Json> = places.iter().map(|p| json!({ "name": p.name, "kind": p.kind })).collect();
    let head = json!({
        "devices": devices,
        "batch": wanted.batch,
        "iterations": wanted.iterations,
        "seed": wanted.seed,
        "tolerance": TOLERANCE,
    });
    let head = head.to_string();
    format!("{},\"rows\":[\n", head.strip_suffix('}').unwrap_or(&head))
}

/// A row of a JSON document.
pub fn json_row(found: &Found, r: &Row) -> Json {
    json!({
        "mode": r.mode.name(),
        "device": found.places[r.place].name,
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
}

/// How a JSON document ends, after its rows.
pub fn json_end(found: &Found) -> String {
    let left = |l: &LeftOut| {
        json!({
            "mode": l.mode.map(|m| m.name()),
            "device": l.place.map(|n| &found.places[n].name),
            "depth": l.point.depth,
            "size": l.point.size,
            "why": l.why,
        })
    };
    let left: Vec<Json> = found.left_out.iter().map(left).collect();
    format!("],\"left_out\":{},\"meaning\":{}}}\n", Json::from(left), Json::from(meaning::paragraph(found)))
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

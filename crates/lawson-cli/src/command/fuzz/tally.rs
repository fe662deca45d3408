//! What became of the graphs, counted and told.

use super::super::ops::families;
use super::super::trial::{Judged, Reason};
use super::Kept;
use super::watch::Said;
use crate::report::{Outcome, Reporter};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

/// What became of the graphs.
#[derive(Default)]
pub(super) struct Tally {
    graphs: u64,
    judged: u64,
    runs: u64,
    parts: u64,
    compared: u64,
    undetermined: u64,
    refused: Reasons,
    unknown: Reasons,
    /// How many judged graphs have each dtype.
    dtypes: BTreeMap<String, u64>,
    /// How many nodes of judged graphs are of each operator, by family.
    operators: BTreeMap<String, BTreeMap<String, u64>>,
    /// How many operators ran in which way.
    ways: BTreeMap<String, u64>,
}

/// By code: how many, and the first by seed with its message.
type Reasons = BTreeMap<String, (u64, u64, String)>;

fn count(reasons: &mut Reasons, seed: u64, reason: &Reason) {
    let entry = reasons.entry(reason.code.clone()).or_insert_with(|| (0, seed, reason.message.clone()));
    entry.0 += 1;
    if seed < entry.1 {
        (entry.1, entry.2) = (seed, reason.message.clone());
    }
}

impl Tally {
    pub(super) fn add(&mut self, said: &Said) {
        self.graphs += 1;
        match &said.judged {
            Judged::Refused(r) => return count(&mut self.refused, said.seed, r),
            Judged::Unknown(r) => return count(&mut self.unknown, said.seed, r),
            Judged::Fine { compared, undetermined, runs } => {
                self.compared += compared;
                self.undetermined += undetermined;
                self.runs += runs;
            }
            Judged::Failed(_) => {}
        }
        self.judged += 1;
        self.parts += u64::from(said.part);
        for dtype in said.json["dtypes"].as_array().into_iter().flatten().filter_map(Json::as_str) {
            *self.dtypes.entry(dtype.to_string()).or_default() += 1;
        }
        for (family, names) in said.json["names"].as_object().into_iter().flatten() {
            let family = self.operators.entry(family.clone()).or_default();
            for (name, n) in names.as_object().into_iter().flatten() {
                *family.entry(name.clone()).or_default() += n.as_u64().unwrap_or(0);
            }
        }
        for (way, n) in said.json["operators"].as_object().into_iter().flatten() {
            *self.ways.entry(way.clone()).or_default() += n.as_u64().unwrap_or(0);
        }
    }

    /// A line while it goes on.
    pub(super) fn progress(&self, failures: usize, elapsed: Duration) -> String {
        let rate = self.graphs as f64 / elapsed.as_secs_f64().max(1e-3);
        let refused: u64 = self.refused.values().map(|r| r.0).sum();
        format!("{} graphs, {rate:.0} a second, {refused} refused, {failures} failed", self.graphs)
    }

    pub(super) fn report(
        &self,
        failures: &[Kept],
        took: Duration,
        reporter: &Reporter,
        out: &mut dyn Write,
    ) -> Outcome {
        let rate = self.graphs as f64 / took.as_secs_f64().max(1e-9);
        if reporter.json {
            return Ok(writeln!(out, "{:#}", self.to_json(failures, took, rate))?);
        }
        writeln!(out, "{} graphs in {:.1} s, {rate:.1} a second", self.graphs, took.as_secs_f64())?;
        writeln!(
            out,
            "  {} judged in {} runs: {} elements compared, {} undetermined",
            self.judged, self.runs, self.compared, self.undetermined
        )?;
        if self.parts > 0 {
            writeln!(out, "  {} of them without the outputs that the target refuses", self.parts)?;
        }
        for (what, reasons) in [("refused", &self.refused), ("not judged", &self.unknown)] {
            for (code, (count, seed, message)) in reasons {
                writeln!(out, "  {count} {what} ({code}), such as that of seed {seed}: {message}")?;
            }
        }
        self.print_covered(out)?;
        for f in failures {
            writeln!(out, "seed {} fails: {}", f.seed, f.found.text.lines().next().unwrap_or_default())?;
            if let Some(small) = &f.small {
                writeln!(out, "  {} nodes in {}; again: {}", small.nodes, small.law.display(), small.again)?;
            }
        }
        if failures.is_empty() {
            writeln!(out, "nothing failed")?;
        }
        Ok(())
    }

    /// What the judged graphs have.
    fn print_covered(&self, out: &mut dyn Write) -> Outcome {
        if self.judged == 0 {
            return Ok(());
        }
        let dtypes: Vec<String> = self.dtypes.iter().map(|(d, n)| format!("{d} {n}")).collect();
        writeln!(out, "  graphs by dtype: {}", dtypes.join(", "))?;
        let mut parts = Vec::new();
        for (family, names) in families() {
            let found = self.operators.get(family);
            let nodes: u64 = found.into_iter().flat_map(BTreeMap::values).sum();
            parts.push(format!("{family} {nodes} ({} of {})", found.map_or(0, BTreeMap::len), names.len()));
        }
        writeln!(
            out,
            "  operators by family (how many kinds of those that there are): {}",
            parts.join(", ")
        )?;
        if !self.ways.is_empty() {
            let way = |name: &str| self.ways.get(name).copied().unwrap_or(0);
            writeln!(
                out,
                "  {} operators as code of the target, {} on the processor beside it, {} by the evaluator, {} by the interpreter",
                way("machine_code"),
                way("on_cpu"),
                way("evaluator"),
                way("interpreter"),
            )?;
        }
        Ok(())
    }

    fn to_json(&self, failures: &[Kept], took: Duration, rate: f64) -> Json {
        let failure = |f: &Kept| {
            let small = f.small.as_ref();
            json!({
                "seed": f.seed, "kind": f.found.kind.as_str(), "message": f.found.text,
                "nodes": small.map(|s| s.nodes),
                "file": small.map(|s| s.law.display().to_string()),
                "command": small.map(|s| &s.again),
            })
        };
        let reasons = |all: &Reasons| -> Map<String, Json> {
            let one = |(code, (count, seed, message)): (&String, &(u64, u64, String))| {
                (code.clone(), json!({ "count": count, "seed": seed, "message": message }))
            };
            all.iter().map(one).collect()
        };
        json!({
            "graphs": self.graphs,
            "seconds": took.as_secs_f64(),
            "graphs_per_second": rate,
            "judged": self.judged,
            "runs": self.runs,
            "parts": self.parts,
            "compared": self.compared,
            "undetermined": self.undetermined,
            "refused": reasons(&self.refused),
            "unjudged": reasons(&self.unknown),
            "dtypes": self.dtypes,
            "operators": self.operators,
            "ways": self.ways,
            "failures": failures.iter().map(failure).collect::<Vec<Json>>(),
        })
    }
}

//! Directives in the comments of an IR file: reading them, and writing them back when blessing.

use std::fmt;

/// What a file expects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directives {
    /// The passes to run.
    pub passes: Option<String>,
    /// The text of the graph after them.
    pub after: Option<String>,
    /// What the graph computes.
    pub runs: Vec<Run>,
    /// Lines, from 1, with the error expected there.
    pub errors: Vec<(usize, String)>,
}

/// `// run: INPUTS == OUTPUTS`
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Values as in constants, separated by `;`.
    pub inputs: String,
    /// The same.
    pub outputs: String,
}

const ERROR: &str = "// error:";
const AFTER: &str = "// after:";

impl Directives {
    /// Reads the directives of a file.
    pub fn read(text: &str) -> Directives {
        let mut found = Directives::default();
        let mut after: Option<Vec<&str>> = None;
        for (i, line) in text.lines().enumerate() {
            if let Some(lines) = &mut after {
                lines.push(line.strip_prefix("// ").or(line.strip_prefix("//")).unwrap_or(line));
            } else if let Some(passes) = line.strip_prefix("// pass:") {
                found.passes = Some(passes.trim().to_string());
            } else if let Some(run) = line.strip_prefix("// run:") {
                let (inputs, outputs) = run.split_once("==").unwrap_or((run, ""));
                found
                    .runs
                    .push(Run { inputs: inputs.trim().to_string(), outputs: outputs.trim().to_string() });
            } else if line.trim_end() == AFTER {
                after = Some(Vec::new());
            } else if let Some((_, error)) = line.split_once(ERROR) {
                found.errors.push((i + 1, error.trim().to_string()));
            }
        }
        found.after = after.map(|lines| lines.join("\n") + "\n");
        found
    }

    /// The file with its directives rewritten to these.
    pub fn write(&self, text: &str) -> String {
        let mut out = String::new();
        let mut runs = self.runs.iter();
        for (i, line) in text.lines().enumerate() {
            if line.trim_end() == AFTER {
                break;
            }
            let bare = line.split(ERROR).next().unwrap_or(line).trim_end();
            if line.starts_with("// run:") {
                if let Some(run) = runs.next() {
                    out.push_str(&format!("// run: {run}\n"));
                }
                continue;
            }
            out.push_str(bare);
            for (_, error) in self.errors.iter().filter(|(n, _)| *n == i + 1) {
                out.push_str(&format!("  {ERROR} {error}"));
            }
            out.push('\n');
        }
        if let Some(after) = &self.after {
            let body: String =
                after.lines().map(|l| format!("// {l}").trim_end().to_string() + "\n").collect();
            out.push_str(&format!("{AFTER}\n{body}"));
        }
        out
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} == {}", self.inputs, self.outputs)
    }
}

impl fmt::Display for Directives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (line, error) in &self.errors {
            writeln!(f, "  line {line}: {error}")?;
        }
        for run in &self.runs {
            writeln!(f, "  run {run}")?;
        }
        if let Some(after) = &self.after {
            writeln!(f, "  after:\n{after}")?;
        }
        Ok(())
    }
}

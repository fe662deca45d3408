//! Rows go where they are wanted as soon as they are there, so that a sweep which is interrupted leaves what it has.
//!
//! A table and a file of CSV grow by lines. A JSON document stays one: its rows are lines of it, all but the first after a comma, so that what an
//! interrupted sweep leaves is whole again with `]}`.

use super::{Found, report};
use crate::report::Outcome;
use lawson::{Code, Error, Result};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where rows go.
pub struct Stream<'o> {
    out: &'o mut dyn Write,
    json: bool,
    csv: Option<(PathBuf, File)>,
    /// How many rows have gone.
    gone: usize,
}

impl<'o> Stream<'o> {
    /// Makes the file of CSV, if there is to be one.
    pub fn new(out: &'o mut dyn Write, json: bool, csv: Option<&Path>) -> Result<Stream<'o>> {
        let made = csv.map(|path| match File::create(path) {
            Ok(file) => Ok((path.to_path_buf(), file)),
            Err(why) => Err(unwritable(path, &why)),
        });
        Ok(Stream { out, json, csv: made.transpose()?, gone: 0 })
    }

    /// What stands before all rows.
    pub fn begin(&mut self, found: &Found) -> Outcome {
        match self.json {
            true => self.out.write_all(report::json_head(found).as_bytes())?,
            false => report::print_head(found, self.out)?,
        }
        self.out.flush()?;
        self.append(report::CSV_HEAD)
    }

    /// The rows that have come since the last time. They are said before a file of them can fail.
    pub fn rows(&mut self, found: &Found) -> Outcome {
        let rows = &found.rows[self.gone..];
        match self.json {
            true => {
                for (n, r) in (self.gone..).zip(rows) {
                    let comma = if n > 0 { "," } else { "" };
                    writeln!(self.out, "{comma}{}", report::json_row(found, r))?;
                }
            }
            false => report::print_rows(rows, self.out)?,
        }
        self.out.flush()?;
        self.gone = found.rows.len();
        self.append(&rows.iter().map(|r| report::csv(found, r)).collect::<String>())
    }

    /// What stands after all rows.
    pub fn end(&mut self, found: &Found) -> Outcome {
        match self.json {
            true => self.out.write_all(report::json_end(found).as_bytes())?,
            false => report::print_end(found, self.out)?,
        }
        Ok(self.out.flush()?)
    }

    /// Says which files were written, the one of CSV first.
    pub fn wrote(&mut self, others: Vec<PathBuf>) -> Outcome {
        if self.json {
            return Ok(());
        }
        for path in self.csv.iter().map(|(path, _)| path).chain(&others) {
            writeln!(self.out, "wrote {}", path.display())?;
        }
        Ok(())
    }

    fn append(&mut self, lines: &str) -> Outcome {
        let Some((path, file)) = &mut self.csv else { return Ok(()) };
        Ok(file.write_all(lines.as_bytes()).map_err(|why| unwritable(path, &why))?)
    }
}

fn unwritable(path: &Path, why: &std::io::Error) -> Error {
    Error::new(Code::Io, format!("cannot write: {why}"))
        .at(lawson::Place::File(path.display().to_string()))
        .help("name another file with --csv")
}

//! `lawson explain`: the page of an error code, or all codes with their titles.

use crate::report::{Outcome, Reporter};
use lawson::Code;
use serde_json::{Value as Json, json};
use std::io::Write;

pub fn run(code: Option<&str>, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let Some(code) = code else { return all(reporter, out) };
    let code: Code = code.parse()?;
    if reporter.json {
        return Ok(writeln!(out, "{:#}", page(code))?);
    }
    Ok(writeln!(out, "{code}: {}\n\n{}", code.title(), code.explanation())?)
}

fn all(reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    if reporter.json {
        let pages: Vec<Json> = Code::ALL.iter().map(|c| page(*c)).collect();
        return Ok(writeln!(out, "{:#}", Json::Array(pages))?);
    }
    for code in Code::ALL {
        writeln!(out, "{code}  {}", code.title())?;
    }
    Ok(())
}

fn page(code: Code) -> Json {
    json!({ "code": code.as_str(), "title": code.title(), "explanation": code.explanation() })
}

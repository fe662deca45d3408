//! How the command ends: errors on standard error (and as JSON on standard output), exit codes, colours, panics.

use crate::args::Color;
use lawson::{Code, Error};
use serde_json::{Value as Json, json};
use std::io::{self, IsTerminal, Write};
use std::panic;

/// The exit code of a mistake of the user's.
pub const USER: u8 = 1;
/// The exit code of wrong usage.
pub const USAGE: u8 = 2;
/// The exit code of a bug in Lawson.
pub const BUG: u8 = 70;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// An error, still to be reported.
    Error(Error),
    /// Everything has been said; this is the exit code.
    Said(u8),
    /// Nobody reads the output any more.
    BrokenPipe,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::Error(Error::new(Code::Io, format!("cannot write: {error}"))),
        }
    }
}

/// The result of a command.
pub type Outcome<T = ()> = Result<T, Failure>;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It must not be.
    Error,
    /// It need not be.
    Warning,
}

/// Reports errors, in colour and as JSON where that was asked for.
#[derive(Debug)]
pub struct Reporter {
    color: bool,
    /// Whether results are printed as JSON.
    pub json: bool,
}

impl Reporter {
    /// Decides about colours once.
    pub fn new(color: Color, json: bool) -> Reporter {
        let color = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        };
        Reporter { color, json }
    }

    /// Reports how a command ended; returns the exit code.
    pub fn conclude(&self, result: Outcome, out: &mut impl Write) -> u8 {
        match result {
            Ok(()) | Err(Failure::BrokenPipe) => 0,
            Err(Failure::Said(code)) => {
                let _ = out.flush();
                code
            }
            Err(Failure::Error(error)) => {
                if self.json {
                    let _ = writeln!(out, "{}", json!({ "error": error_json(&error) }));
                }
                let _ = out.flush();
                self.error(&error);
                exit_code(&error)
            }
        }
    }

    /// Prints an error to standard error.
    pub fn error(&self, error: &Error) {
        self.say(error, Severity::Error);
    }

    /// Prints an error or a warning to standard error.
    pub fn say(&self, error: &Error, severity: Severity) {
        let mut text = error.to_string();
        if let (Severity::Warning, Some(rest)) = (severity, text.strip_prefix("error[")) {
            text = format!("warning[{rest}");
        }
        let text = if self.color { colored(&text) } else { text };
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// Prints something that is not a result to standard error.
    pub fn note(&self, text: &str) {
        let _ = writeln!(io::stderr(), "{text}");
    }
}

/// The exit code of an error.
pub fn exit_code(error: &Error) -> u8 {
    match error.code() {
        Code::Internal | Code::PassFailed => BUG,
        Code::Usage => USAGE,
        _ => USER,
    }
}

/// An error as JSON.
pub fn error_json(error: &Error) -> Json {
    let places: Vec<String> = error.places().iter().map(|p| p.to_string().trim().to_string()).collect();
    json!({
        "code": error.code().as_str(),
        "title": error.code().title(),
        "message": error.message(),
        "places": places,
        "help": error.help_text(),
    })
}

/// An error's text with its head, its places and its help in colours.
fn colored(text: &str) -> String {
    let paint = |code: &str, text: &str| format!("\x1b[{code}m{text}\x1b[0m");
    let line = |line: &str| match line {
        l if l.starts_with("error[") => match l.split_once(": ") {
            Some((head, message)) => format!("{}: {}", paint("1;31", head), paint("1", message)),
            None => paint("1;31", l),
        },
        l if l.starts_with("warning[") => match l.split_once(": ") {
            Some((head, message)) => format!("{}: {}", paint("1;33", head), paint("1", message)),
            None => paint("1;33", l),
        },
        l if l.starts_with("  help: ") => format!("  {}{}", paint("1;36", "help:"), &l["  help:".len()..]),
        l if l.trim_start().starts_with("-->") => match l.split_once("-->") {
            Some((margin, place)) => format!("{margin}{}{place}", paint("1;34", "-->")),
            None => l.to_string(),
        },
        l if l.trim_end().ends_with('^') => match l.split_once('|') {
            Some((margin, carets)) => format!("{margin}|{}", paint("1;31", carets)),
            None => l.to_string(),
        },
        l => l.to_string(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Runs a command; a panic in it is reported as a bug in Lawson.
pub fn guarded(command: impl FnOnce() -> u8 + panic::UnwindSafe) -> u8 {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|l| format!(" ({}:{})", l.file(), l.line())).unwrap_or_default();
        let payload = info.payload();
        let message = payload.downcast_ref::<&str>().copied();
        let message = message.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = message.unwrap_or("a panic without a message");
        let error = Error::internal(format!("{message}{place}"));
        let _ = writeln!(io::stderr(), "{error}");
    }));
    let code = panic::catch_unwind(command).unwrap_or(BUG);
    let _ = panic::take_hook();
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_with_the_code_of_a_bug() {
        assert_eq!(guarded(|| panic!("on purpose")), BUG);
        assert_eq!(guarded(|| 0), 0);
    }

    #[test]
    fn exit_codes_follow_error_codes() {
        assert_eq!(exit_code(&Error::internal("x")), BUG);
        assert_eq!(exit_code(&Error::new(Code::PassFailed, "x")), BUG);
        assert_eq!(exit_code(&Error::new(Code::Usage, "x")), USAGE);
        assert_eq!(exit_code(&Error::new(Code::Syntax, "x")), USER);
    }

    #[test]
    fn colours_change_nothing_but_colours() {
        let text =
            "error[E0201]: expected a value\n --> f.law:1:2\n  |\n1 | x + y\n  |  ^^^\n  help: write one";
        let painted = colored(text);
        assert!(painted.contains("\x1b[1;31merror[E0201]"));
        let mut plain = String::new();
        let mut rest = painted.as_str();
        while let Some(at) = rest.find('\x1b') {
            plain.push_str(&rest[..at]);
            rest = &rest[at + 1 + rest[at..].find('m').unwrap_or(0)..];
        }
        plain.push_str(rest);
        assert_eq!(plain, text);
    }
}

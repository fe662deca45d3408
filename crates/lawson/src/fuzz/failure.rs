//! What can be wrong with what a target did, and when two such things are the same.

use lawson_graph::{Error, interp};
use std::fmt;

/// What is wrong with what a target did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Failure {
    /// A result lies outside of its bounds.
    Wrong {
        /// The output.
        output: String,
        /// What was found.
        comparison: interp::Comparison,
    },
    /// Another number of threads gives other bits.
    Threads {
        /// The output.
        output: String,
        /// How many threads.
        threads: usize,
    },
    /// Another session of the program gives other bits.
    Sessions {
        /// The output.
        output: String,
        /// What is different about that session.
        session: &'static str,
    },
    /// The target runs what the oracle refuses with this error.
    Accepted(Error),
    /// An internal error.
    Internal(Error),
    /// The target panicked, with this message.
    Panic(String),
    /// The target does not take a graph, and should.
    Refused(Error),
}

/// What two failures have in common if they are the same but for sizes and names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FailureKind(String);

impl Failure {
    /// What kind of failure it is. Shrinking must not change it.
    pub fn kind(&self) -> FailureKind {
        // Numbers and names change while a graph shrinks.
        let plain = |text: &str| {
            let mut out = String::new();
            let mut quoted = false;
            for c in text.chars() {
                match c {
                    '`' => quoted = !quoted,
                    c if quoted || c.is_ascii_digit() => {}
                    c => out.push(c),
                }
            }
            out
        };
        FailureKind(match self {
            Failure::Wrong { comparison, .. } if comparison.fault.is_some() => "wrong type".to_string(),
            Failure::Wrong { .. } => "wrong result".to_string(),
            Failure::Threads { .. } => "threads".to_string(),
            Failure::Sessions { .. } => "sessions".to_string(),
            Failure::Accepted(e) => format!("accepted {}", e.code()),
            Failure::Internal(e) => format!("internal error {}: {}", e.code(), plain(e.message())),
            Failure::Panic(message) => format!("panic: {}", plain(message)),
            // A refusal is for one operator or one index; which, is what shrinking finds out.
            Failure::Refused(e) => format!("refused {}", e.code()),
        })
    }
}

impl FailureKind {
    /// A kind that nothing here finds, such as a crash of the process.
    pub fn other(name: &str) -> FailureKind {
        FailureKind(name.to_string())
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Wrong { output, comparison } => {
                write!(f, "the output `{output}` is wrong: {comparison}")
            }
            Failure::Threads { output, threads } => {
                write!(f, "the output `{output}` has other bits with {threads} threads")
            }
            Failure::Sessions { output, session } => {
                write!(f, "the output `{output}` has other bits in {session}")
            }
            Failure::Accepted(e) => write!(f, "the target runs what must be refused: {e}"),
            Failure::Internal(e) => write!(f, "{e}"),
            Failure::Panic(message) => write!(f, "a panic: {message}"),
            Failure::Refused(e) => write!(f, "refused: {e}"),
        }
    }
}

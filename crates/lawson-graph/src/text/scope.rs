//! The values of one graph by their names in the text. A sub-graph sees its own only.

use super::cursor::ValueName;
use super::lexer::{Source, Span};
use crate::composite::nearest;
use crate::error::{Code, Result};
use crate::graph::ValueId;
use crate::name::Name;
use std::collections::HashMap;

/// What is defined so far in a graph.
pub(super) struct Scope<'a, 's> {
    pub(super) values: HashMap<ValueName<'a>, ValueId>,
    /// Where each value is defined, by its id.
    pub(super) spans: Vec<Span>,
    /// The graph around a sub-graph, whose values cannot be used but are often meant.
    around: Option<&'s Scope<'a, 's>>,
}

impl<'a, 's> Scope<'a, 's> {
    /// Nothing yet.
    pub(super) fn new(around: Option<&'s Scope<'a, 's>>) -> Scope<'a, 's> {
        Scope { values: HashMap::new(), spans: Vec::new(), around }
    }

    /// The value of that name, or an error at its use that says what may have been meant.
    pub(super) fn find(&self, source: Source<'a>, name: &ValueName<'a>, span: Span) -> Result<ValueId> {
        if let Some(id) = self.values.get(name) {
            return Ok(*id);
        }
        let written = source.slice(span);
        let error = source.error(Code::UnknownName, span, format!("there is no value `{written}` here"));
        Err(if self.is_known_around(name) {
            error.help(format!(
                "a sub-graph sees its own inputs only: give `{written}` to the operator and take it as an input"
            ))
        } else if let Some(near) = self.nearest(name) {
            error.help(format!("did you mean `%{}`?", Name(near)))
        } else {
            error.help("a value is defined before it is used, in the same graph or sub-graph")
        })
    }

    fn is_known_around(&self, name: &ValueName<'a>) -> bool {
        let mut around = self.around;
        while let Some(scope) = around {
            if scope.values.contains_key(name) {
                return true;
            }
            around = scope.around;
        }
        false
    }

    fn nearest(&self, name: &ValueName<'a>) -> Option<&str> {
        let ValueName::Given(name) = name else { return None };
        let given = self.values.keys().filter_map(|n| match n {
            ValueName::Given(n) => Some(&**n),
            ValueName::Number(_) => None,
        });
        // Hash maps have no order; the message should.
        let mut known: Vec<&str> = given.collect();
        known.sort_unstable();
        nearest(name, known)
    }
}

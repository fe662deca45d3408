//! Operators: which Lawson imports, in which versions, and how each is built.
//!
//! `table.rs` lists them; each family has a file of functions that read a node ([`NodeCx`]) and build its results. Where ONNX
//! means something else than Lawson's operator (negative indices, broadcasting, defaults that changed between versions), the
//! function says so with explicit operators.

mod activation;
mod attention;
mod cast;
mod compare;
mod control;
mod conv;
mod einsum;
mod gather;
mod linear;
mod math;
mod norm;
mod pad;
mod pool;
mod quant;
mod reduce;
mod resize;
mod scatter;
mod select;
mod shape;
mod slice;
mod source;
mod table;
mod window;

use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::{Result, ValueId};

/// Builds a node; returns what its results stand for.
pub(crate) type Build = fn(&mut NodeCx<'_, '_>) -> Result<Vec<Item>>;

/// An operator of the table.
pub(crate) struct Entry {
    /// Its name.
    pub(crate) name: &'static str,
    /// How it is built from each version on, ascending.
    pub(crate) versions: &'static [(i64, Build)],
}

/// How an operator is built in a version of its domain; `None` if it is not known, or not yet in that version.
pub(crate) fn lookup(domain: &str, name: &str, version: i64) -> Option<Build> {
    if !domain.is_empty() {
        return None;
    }
    let table = table::STANDARD;
    let found = table.binary_search_by(|e| e.name.cmp(name)).ok()?;
    table[found].versions.iter().rev().find(|(since, _)| *since <= version).map(|(_, build)| *build)
}

/// The names of the operators of the standard domain that are imported, in order.
pub fn operators() -> impl Iterator<Item = &'static str> {
    table::STANDARD.iter().map(|e| e.name)
}

/// One result.
fn one(value: ValueId) -> Result<Vec<Item>> {
    Ok(vec![Item::Value(value)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_so_are_versions() {
        assert!(table::STANDARD.is_sorted_by(|a, b| a.name < b.name));
        for entry in table::STANDARD {
            assert!(
                !entry.versions.is_empty() && entry.versions.is_sorted_by(|a, b| a.0 < b.0),
                "{}",
                entry.name
            );
        }
    }

    #[test]
    fn the_version_decides_how_an_operator_is_built() {
        assert!(lookup("", "Softmax", 12).is_some());
        assert!(lookup("", "Gelu", 19).is_none());
        assert!(lookup("", "Gelu", 20).is_some());
        assert!(lookup("com.example", "Gelu", 20).is_none());
    }
}

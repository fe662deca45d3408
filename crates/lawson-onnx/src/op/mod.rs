//! Operators: which Lawson imports, in which versions, and how each is built.
//!
//! `table.rs` lists them; each family has a file of functions that read a node ([`NodeCx`]) and build its results. Where ONNX
//! means something else than Lawson's operator (negative indices, broadcasting, defaults that changed between versions), the
//! function says so with explicit operators.

mod activation;
mod arrange;
mod attention;
mod cast;
mod classic;
mod compare;
mod contrib;
mod contrib_attention;
mod contrib_bits;
mod contrib_pictures;
mod contrib_quant;
mod control;
mod conv;
mod count;
mod einsum;
mod forest;
mod gather;
mod group_query;
mod grow;
mod hosted;
mod integer;
mod learn;
mod linear;
mod loss;
mod math;
mod merge;
mod norm;
mod pad;
mod pool;
mod quant;
mod random;
mod recurrent;
mod reduce;
mod regions;
mod resize;
mod rnn;
mod rotary;
mod sample;
mod scan;
mod scatter;
mod select;
mod sequence;
mod shape;
mod slice;
mod source;
mod spectral;
mod table;
mod trees;
mod unroll;
mod vectors;
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
    let table = table::of(domain)?;
    let found = table.binary_search_by(|e| e.name.cmp(name)).ok()?;
    table[found].versions.iter().rev().find(|(since, _)| *since <= version).map(|(_, build)| *build)
}

/// The version of its domain from which on an operator is imported.
pub(crate) fn since(domain: &str, name: &str) -> Option<i64> {
    let table = table::of(domain)?;
    let found = table.binary_search_by(|e| e.name.cmp(name)).ok()?;
    table[found].versions.first().map(|(since, _)| *since)
}

/// The names of the operators of a domain that are imported, in order; the standard domain is the empty text.
pub fn operators(domain: &str) -> impl Iterator<Item = &'static str> {
    table::of(domain).unwrap_or_default().iter().map(|e| e.name)
}

/// The domains of which operators are imported.
pub const DOMAINS: [&str; 5] =
    ["", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "com.microsoft"];

/// One result.
fn one(value: ValueId) -> Result<Vec<Item>> {
    Ok(vec![Item::Value(value)])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_so_are_versions() {
        for entry in DOMAINS.iter().flat_map(|d| table::of(d).unwrap()) {
            assert!(
                !entry.versions.is_empty() && entry.versions.is_sorted_by(|a, b| a.0 < b.0),
                "{}",
                entry.name
            );
        }
        for table in DOMAINS.iter().map(|d| table::of(d).unwrap()) {
            assert!(table.is_sorted_by(|a, b| a.name < b.name));
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

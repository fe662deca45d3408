//! Placement on devices whose driver tracks whole buffers: values in *homes*, each a buffer of the device.
//!
//! A home holds one value at a time. Values whose lives do not overlap, counted in phases as in the arena, may have the same one; so
//! steps of one phase, which the borrow checker proves independent, share no home that one of them writes, and no step finds what it
//! reads and what it writes in the same home unless both are one buffer of the plan.

use super::arena::Life;
use super::{Bound, Place, Plan};
use lawson_graph::{Bindings, Code, Error, Result};
use std::cmp::Reverse;

/// A plan with its sizes known, its own values in homes.
#[derive(Clone, Debug)]
pub struct Apart {
    /// The size of each buffer, in bytes.
    pub bytes: Vec<usize>,
    /// The home of each buffer of the arena that a step uses.
    pub homes: Vec<Option<usize>>,
    /// The size of each home.
    pub sizes: Vec<usize>,
}

impl Plan {
    /// Gives every buffer its size, and those of the arena their homes.
    pub fn bind_apart(&self, bindings: &Bindings) -> Result<Apart> {
        let bytes = self.sizes(bindings)?;
        let lives = self.walk().lives();
        let mut order: Vec<(usize, Life)> = (0..self.buffers.len())
            .filter(|n| matches!(self.buffers[*n].place, Place::Arena))
            .filter_map(|n| Some((n, lives[n]?)))
            .collect();
        // The largest first, so that a home seldom grows.
        order.sort_by_key(|(n, life)| (Reverse(bytes[*n]), *life, *n));
        let mut homes: Vec<Option<usize>> = vec![None; self.buffers.len()];
        let mut sizes: Vec<usize> = Vec::new();
        let mut lived: Vec<Vec<Life>> = Vec::new();
        for (n, life) in order {
            let free = |lives: &[Life]| lives.iter().all(|l| l.1 < life.0 || life.1 < l.0);
            let home = (0..sizes.len()).rev().find(|h| free(&lived[*h])).unwrap_or_else(|| {
                sizes.push(0);
                lived.push(Vec::new());
                sizes.len() - 1
            });
            sizes[home] = sizes[home].max(bytes[n]);
            lived[home].push(life);
            homes[n] = Some(home);
        }
        let apart = Apart { bytes, homes, sizes };
        if cfg!(debug_assertions) {
            crate::borrow::assert(self, Some(&apart.bound()?))?;
        }
        Ok(apart)
    }
}

impl Apart {
    /// The same placement as one arena, homes one after another: what the borrow checker looks at.
    pub fn bound(&self) -> Result<Bound> {
        let mut begins = Vec::with_capacity(self.sizes.len());
        let mut end = 0usize;
        for size in &self.sizes {
            begins.push(end);
            end = end.checked_add(*size).ok_or_else(|| {
                Error::new(Code::DimOverflow, "the buffers are together larger than any memory")
                    .help("run on smaller sizes")
            })?;
        }
        let offsets = self.homes.iter().map(|home| home.map(|h| begins[h])).collect();
        Ok(Bound { bytes: self.bytes.clone(), offsets, arena: end, needed: end })
    }
}

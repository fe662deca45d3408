//! Sizes as symbols: a kernel whose sizes are quotients of quotients is proven as one whose sizes are just sizes.
//!
//! Behind four strided convolutions an axis has `((((H + 1) / 2 + 1) / 2 + 1) / 2 + 1) / 2` elements. Nearly everything that is proven of a kernel
//! there holds whatever that number is: loops go as far as buffers do. Written out, each proof goes through all of it, again and
//! again. So where a part of a size stands inside another one, or its symbols stand nowhere else, it becomes a symbol of its own, of which only
//! the bounds and divisors are known that follow from the facts.
//!
//! In: a kernel. Out: the same over such symbols, and what they stand for. What is proven of it holds of the kernel; what is not may hold all the same, for
//! how sizes depend on each other is forgotten.

use crate::buffer::{Digit, Layout};
use crate::expr::{Condition, Expr, Guard, Load};
use crate::index::Index;
use crate::tree::{Axis, For, Kernel, Node, Store};
use lawson_graph::{Dim, Fact, Facts, Relation, Symbol};
use std::collections::{HashMap, HashSet};

/// What the symbols of a kernel stand for.
#[derive(Clone, Debug, Default)]
pub struct Opaque {
    /// In an order in which each stands for an expression of those before it and of the kernel's own.
    symbols: Vec<(Symbol, Dim)>,
}

/// Numbers of which it is asked whether they divide a size.
const DIVISORS: [i64; 6] = [32, 16, 8, 4, 3, 2];

/// The kernel with parts of its sizes as symbols; `None` if there is no such part.
pub fn opaque(kernel: &Kernel) -> Option<(Kernel, Opaque)> {
    let mut dims: HashSet<Dim> = HashSet::new();
    visit_dims(kernel, &mut |d| {
        if d.as_const().is_none() && d.as_symbol().is_none() && !dims.contains(d) {
            dims.insert(d.clone());
        }
    });
    let mut has_parts = false;
    dims.iter().for_each(|d| d.visit_parts(&mut |_, _| has_parts = true));
    if !has_parts {
        return None;
    }
    // Sizes themselves are symbols, too, that stand alone or in sums.
    let mut all: Vec<Dim> = dims.into_iter().collect();
    visit_dims(kernel, &mut |d| {
        if d.as_symbol().is_some() && !all.contains(d) {
            all.push(d.clone());
        }
    });
    let mut found = Opaque::default();
    while let Some(parts) = parts(&all) {
        let mut named: HashMap<Dim, Dim> = HashMap::new();
        for part in parts {
            let symbol = Symbol::new(format!("size.{}", found.symbols.len()));
            named.insert(part.clone(), Dim::from(symbol.clone()));
            found.symbols.push((symbol, part));
        }
        all = all.iter().map(|d| d.replace_parts(&|part| named.get(part).cloned())).collect();
    }
    if found.symbols.is_empty() {
        return None;
    }
    let facts = found.facts(kernel, &all)?;
    // Those that were found later have others inside.
    let mut named: HashMap<Dim, Dim> = HashMap::new();
    for (symbol, part) in &found.symbols {
        named.insert(found.restored(part), Dim::from(symbol.clone()));
    }
    let map = |d: &Dim| d.replace_parts(&|part| named.get(part).cloned());
    let kernel = Kernel { facts, ..mapped(kernel, &map) };
    Some((kernel, found))
}

/// Parts of sizes that become symbols now: the innermost of those that stand in others, and those whose symbols stand nowhere else.
fn parts(dims: &[Dim]) -> Option<Vec<Dim>> {
    let is_plain = |part: &Dim| {
        // A part counts as one itself.
        let mut inner = 0;
        part.visit_parts(&mut |_, _| inner += 1);
        inner == 1
    };
    let mut nested: Vec<Dim> = Vec::new();
    for d in dims {
        d.visit_parts(&mut |part, depth| {
            if depth > 0 && is_plain(part) && !nested.contains(part) {
                nested.push(part.clone());
            }
        });
    }
    if !nested.is_empty() {
        return Some(nested);
    }
    // By symbol: the one part in which it stands, or that it stands in several places.
    let mut within: HashMap<Symbol, Option<Dim>> = HashMap::new();
    let mut all: Vec<Dim> = Vec::new();
    for d in dims {
        let bare = d.replace_parts(&|_| Some(Dim::ONE));
        bare.visit_symbols(&mut |s| {
            within.insert(s.clone(), None);
        });
        d.visit_parts(&mut |part, _| {
            if !all.contains(part) {
                all.push(part.clone());
            }
            part.visit_symbols(&mut |s| {
                let known = within.entry(s.clone()).or_insert_with(|| Some(part.clone()));
                if known.as_ref() != Some(part) {
                    *known = None;
                }
            });
        });
    }
    all.retain(|part| {
        let mut alone = true;
        part.visit_symbols(&mut |s| alone &= within.get(s).is_some_and(Option::is_some));
        alone
    });
    (!all.is_empty()).then_some(all)
}

impl Opaque {
    /// A dimension as it was.
    pub fn restored(&self, dim: &Dim) -> Dim {
        // The last stand for expressions of those before.
        self.symbols.iter().rev().fold(dim.clone(), |d, (symbol, part)| match d.mentions(symbol) {
            true => d.substitute(&|s| (s == symbol).then(|| part.clone())),
            false => d,
        })
    }

    /// A kernel as it was, with these facts.
    pub fn restore(&self, kernel: &Kernel, facts: &Facts) -> Kernel {
        Kernel { facts: facts.clone(), ..mapped(kernel, &|d| self.restored(d)) }
    }

    /// What is known of the symbols.
    fn facts(&self, kernel: &Kernel, dims: &[Dim]) -> Option<Facts> {
        let mut used: HashSet<Symbol> = HashSet::new();
        dims.iter().for_each(|d| {
            d.visit_symbols(&mut |s| {
                used.insert(s.clone());
            })
        });
        let mut facts = kernel.facts.without(&|s| !used.contains(s)).ok()?;
        for (symbol, part) in self.symbols.iter().filter(|(s, _)| used.contains(s)) {
            let part = self.restored(part);
            let (lo, hi) = kernel.facts.bounds(&part);
            let size = Dim::from(symbol.clone());
            // No size is below 0 unless nothing is known of it; symbols are at least 0.
            let lo = lo.filter(|lo| *lo >= 0)?;
            facts.add(Fact::new(size.clone(), Relation::Ge, Dim::from(lo))).ok()?;
            facts.expect(symbol.clone(), kernel.facts.usual(&part));
            if let Some(hi) = hi {
                facts.add(Fact::new(size.clone(), Relation::Le, Dim::from(hi))).ok()?;
            }
            if let Some(k) = DIVISORS.iter().find(|k| kernel.facts.is_multiple(&part, **k)) {
                facts.add(Fact::new(size.modulo(&Dim::from(*k)), Relation::Eq, Dim::ZERO)).ok()?;
            }
        }
        Some(facts)
    }
}

fn visit_dims(kernel: &Kernel, visit: &mut impl FnMut(&Dim)) {
    for b in &kernel.buffers {
        b.dims.iter().chain([&b.layout.size]).for_each(&mut *visit);
        b.layout.digits.iter().for_each(|d| visit(&d.stride));
    }
    let mut look = |i: &Index| i.visit_dims(visit);
    kernel.axes.iter().flat_map(|a| &a.derived).for_each(&mut look);
    for e in &kernel.exprs {
        e.visit_indices(&mut look);
        if let Expr::Load(Load { guard: Some(guard), .. }) = e {
            guard.conditions.iter().for_each(|c| look(&Index::constant(c.end.clone())));
        }
    }
    kernel.visit(&mut |node| match node {
        Node::For(f) => [&f.begin, &f.end].into_iter().for_each(&mut look),
        Node::Store(s) => s.index.iter().for_each(&mut look),
        Node::Prefetch { index, .. } => index.iter().for_each(&mut look),
        Node::Accumulate { .. } | Node::Step { .. } => {}
    });
}

fn mapped_layout(layout: &Layout, map: &impl Fn(&Dim) -> Dim) -> Layout {
    let digit = |d: &Digit| Digit { stride: map(&d.stride), ..d.clone() };
    Layout { digits: layout.digits.iter().map(digit).collect(), size: map(&layout.size) }
}

/// The kernel with every dimension written another way. Expressions keep their ids.
fn mapped(kernel: &Kernel, map: &impl Fn(&Dim) -> Dim) -> Kernel {
    let mut out = kernel.clone();
    for b in &mut out.buffers {
        b.dims.iter_mut().for_each(|d| *d = map(d));
        b.layout = mapped_layout(&b.layout, map);
    }
    let index = |i: &Index| i.map_dims(map);
    for Axis { derived, .. } in &mut out.axes {
        *derived = derived.as_ref().map(index);
    }
    for e in &mut out.exprs {
        match e {
            Expr::Index(i, _) => *i = index(i),
            Expr::Load(load) => {
                load.index.iter_mut().for_each(|i| *i = index(i));
                if let Some(Guard { conditions, .. }) = &mut load.guard {
                    for Condition { index: i, end } in conditions {
                        (*i, *end) = (index(i), map(end));
                    }
                }
            }
            _ => {}
        }
    }
    fn nodes(all: &mut [Node], map: &impl Fn(&Dim) -> Dim) {
        for node in all {
            match node {
                Node::For(For { begin, end, body, .. }) => {
                    (*begin, *end) = (begin.map_dims(map), end.map_dims(map));
                    nodes(body, map);
                }
                Node::Accumulate { body, .. } => nodes(body, map),
                Node::Store(Store { index, .. }) | Node::Prefetch { index, .. } => {
                    index.iter_mut().for_each(|i| *i = i.map_dims(map));
                }
                Node::Step { .. } => {}
            }
        }
    }
    nodes(&mut out.body, map);
    let known = out.exprs.iter().enumerate();
    out.known = known.map(|(n, e)| (e.clone(), crate::ExprId(n as u32))).collect();
    out
}

//! The sizes of a plan, where the arguments give every symbol a value; and those of its stages, for the greatest that a run may find.

use crate::args::{ShowArgs, Target};
use crate::report::Outcome;
use lawson::Result;
use lawson::graph::{Bindings, Dim, Graph, Relation, Symbol};
use lawson::kernel::{Bound, Plan, Staged};
use std::io::Write;

/// A plan with its sizes known.
pub struct Sizes {
    /// The values of its symbols.
    pub bindings: Bindings,
    /// The sizes and the places.
    pub bound: Bound,
}

/// What the buffers of the arena would take if none shared its bytes.
pub fn without_sharing(bound: &Bound) -> usize {
    bound.offsets.iter().zip(&bound.bytes).filter(|(at, _)| at.is_some()).map(|(_, bytes)| bytes).sum()
}

impl Sizes {
    /// Those of a plan, if the arguments give every symbol of it a value.
    pub fn new(graph: &Graph, plan: &Plan, args: &ShowArgs) -> Result<Option<Sizes>> {
        let mut open = false;
        for b in &plan.buffers {
            b.bytes.visit_symbols(&mut |s| open |= !args.bind.iter().any(|b| b.symbol == s.name()));
        }
        if open {
            return Ok(None);
        }
        let entries: Vec<(Dim, i64, String)> =
            args.bind.iter().map(|b| (Dim::symbol(&b.symbol), b.value, "--bind".to_string())).collect();
        let bindings =
            if entries.is_empty() { Bindings::new() } else { Bindings::solve(&entries, graph.facts())? };
        let bound = match args.target {
            // On a device every value has a home of its own; they are shown one after another.
            Target::Wgpu => plan.bind_apart(&bindings)?.bound()?,
            Target::Cpu | Target::Reference => plan.bind(&bindings)?,
        };
        Ok(Some(Sizes { bindings, bound }))
    }

    /// Those of a stage if a run finds the greatest sizes that the facts allow, if they bound all.
    pub fn greatest(&self, stage: &Staged) -> Option<Sizes> {
        let mut bindings = self.bindings.clone();
        let mut open: Vec<&Symbol> = stage.symbols.iter().filter(|s| bindings.get(s).is_none()).collect();
        // The bound of one may be another.
        while !open.is_empty() {
            let before = open.len();
            open.retain(|s| match greatest(s, &stage.plan, &bindings) {
                Some(most) => {
                    bindings.define((*s).clone(), most, "the facts");
                    false
                }
                None => true,
            });
            if open.len() == before {
                return None;
            }
        }
        let bound = stage.plan.bind(&bindings).ok()?;
        Some(Sizes { bindings, bound })
    }

    /// The arena that the stages of a plan share, at the greatest sizes, with those of stages in them; none if no fact bounds it.
    pub fn stage_arena(&self, plan: &Plan) -> Option<usize> {
        let mut shared = 0;
        let mut inner = 0;
        for stage in plan.stages() {
            let sizes = self.greatest(stage)?;
            shared = shared.max(sizes.bound.arena);
            inner += sizes.stage_arena(&stage.plan)?;
        }
        Some(shared + inner)
    }

    /// What stages take besides the arena, in lines.
    pub fn print_stages(&self, plan: &Plan, out: &mut dyn Write) -> Outcome {
        let stages = plan.stages();
        if stages.is_empty() {
            return Ok(());
        }
        let mut n = 0;
        for stage in stages {
            match self.greatest(stage) {
                Some(Sizes { bindings, bound }) => {
                    let found = stage.symbols.iter().filter(|s| self.bindings.get(s).is_none());
                    let found: Vec<String> =
                        found.map(|s| format!("{s} = {}", bindings.get(s).unwrap_or(0))).collect();
                    let found =
                        if found.is_empty() { String::new() } else { format!(", for {}", found.join(", ")) };
                    writeln!(
                        out,
                        "// stage {n}: arena: {} bytes; needed at once: {}; without sharing: {}; at most{found}",
                        bound.arena,
                        bound.needed,
                        without_sharing(&bound)
                    )?;
                }
                None => writeln!(out, "// stage {n}: its arena has no bound that the facts give")?,
            }
            // Stages of stages are numbered, too.
            n += stage.plan.plans().len();
        }
        if let Some(bytes) = self.stage_arena(plan) {
            let all = self.bound.arena + bytes;
            writeln!(out, "// arena with that of stages, which is shared: at most {all} bytes")?;
        }
        Ok(())
    }
}

/// The greatest value of a symbol by the facts of a plan.
fn greatest(symbol: &Symbol, plan: &Plan, bindings: &Bindings) -> Option<i64> {
    let about = Dim::symbol(symbol.name());
    let bounds = plan.facts.written().iter().filter(|f| f.relation == Relation::Le && f.left == about);
    bounds.filter_map(|f| bindings.eval(&f.right).ok()).min()
}

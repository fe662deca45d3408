//! Schedules of nests that only store, or go through recurrences and store: vectors along the densest axis, a few of them at
//! once, rows shared among the team.

use super::stride::{Access, Stride, loads, stride};
use super::{Chooser, Nest, Position, extent};
use crate::expr::ExprId;
use crate::predict::Operation;
use crate::range::Scope;
use crate::schedule::{Directive, Tail};
use crate::tree::{AxisId, For, Kind, Node, Store};
use crate::verify::conflict;

/// Vectors that are computed at once, so that loads and long operations overlap.
pub(super) const AT_ONCE: i64 = 4;
/// Multiply-adds, or what takes their time, of a loop's body at most: where there are more, its instructions come slower than they are done. Ten steps
/// of a simulation, four vectors at once, are a hundred kilobytes of code, and took 1.1 to 1.3 times as long as two at once on Zen 5.
const MOST_SLOTS: f64 = 1536.0;
/// Registers for the states of recurrences: what computes the next ones needs the others.
const STATES: i64 = 8;
/// Elements of one share of a loop over everything: small enough to stay in the first cache, large enough to be worth a
/// call.
const SHARE: i64 = 4096;

impl<'k> Chooser<'k> {
    pub(super) fn elementwise(&mut self, n: &Nest<'k>, position: Position) {
        let (mut stores, mut values) = (Vec::new(), Vec::new());
        self.stages(n.body, &mut stores, &mut values);
        let reads = loads(self.kernel, &values);
        // Where a stage reads back what it stored elsewhere, some loop must go in order.
        let offset = |s: &&Store| self.kernel.resolve(&self.kernel.buffer(s.buffer).layout.offset(&s.index));
        let reads_back = reads.iter().any(|r| {
            let own = stores.iter().filter(|s| s.buffer == r.buffer);
            own.into_iter().any(|s| offset(s) != r.offset)
        });
        let in_order = match (reads_back, position) {
            (false, _) => Vec::new(),
            (true, Position::Root) => self.carrying(n),
            (true, Position::Inside) => return,
        };
        // The densest axis: stores side by side first of all, then as many loads as can be.
        let score = |axis| {
            let mut score = 0i64;
            for s in &stores {
                let narrow = !self.is_plain(self.kernel.buffer(s.buffer).dtype);
                match stride(&offset(s), axis) {
                    Stride::Known(1) => score += 8,
                    Stride::None | Stride::Uneven | Stride::Data => return i64::MIN,
                    _ if narrow => return i64::MIN,
                    Stride::Known(_) | Stride::Unknown => score -= 8,
                }
            }
            for r in &reads {
                let narrow = !self.is_plain(self.kernel.buffer(r.buffer).dtype);
                match stride(&r.offset, axis) {
                    Stride::Known(1) => score += 2,
                    Stride::None => score += 1,
                    // Lanes that lie apart are gathered as they are.
                    _ if narrow => return i64::MIN,
                    Stride::Known(_) | Stride::Unknown | Stride::Data => score -= 4,
                    Stride::Uneven => return i64::MIN,
                }
                if r.guard.iter().any(|g| stride(g, axis) == Stride::Uneven) {
                    return i64::MIN;
                }
            }
            score
        };
        // Where an axis is shorter than a vector, others may take less time although their lanes lie apart.
        let is_short = |f: &&For| extent(f).is_some_and(|e| e < self.machine.lanes);
        let some_short = n.loops.iter().any(is_short);
        let rank = |f: &&'k For| match score(f.axis) {
            i64::MIN => i64::MIN,
            _ if some_short => -self.time(f, &stores, &reads, &values),
            score => score,
        };
        let best = n
            .loops
            .iter()
            .enumerate()
            .filter(|(_, f)| f.begin.is(0) && f.step == 1 && !in_order.contains(&f.axis))
            .map(|(i, f)| (rank(f), i))
            .filter(|(s, _)| *s > i64::MIN)
            .max();
        let Some((_, at)) = best else {
            if position == Position::Root {
                // Finding the indices of a share takes longer than one element: the innermost loop stays with its member.
                let outer = n.loops.len().saturating_sub(1).max(1);
                self.share_enough(
                    n.loops[..outer].iter().copied().take_while(|f| !in_order.contains(&f.axis)),
                );
            }
            return;
        };
        let vector = n.loops[at];
        let others = || n.loops.iter().copied().filter(|f| f.axis != vector.axis);
        let mut axis = self.name(vector);
        let known = extent(vector);
        if !in_order.is_empty() {
            // Lanes go through what is in order side by side, wherever that stands.
            self.share(n.loops[..at].iter().copied().take_while(|f| !in_order.contains(&f.axis)));
            return self.vectorise(&axis, known, AT_ONCE);
        }
        if at + 1 != n.loops.len() {
            let mut order: Vec<String> = others().map(|f| self.name(f)).collect();
            order.push(axis.clone());
            self.reorder(order);
        }
        if position == Position::Root {
            self.share_enough(others());
            if n.loops.len() == 1 && known.is_none_or(|e| e > SHARE) {
                let [outer, inner] = self.split(&axis, SHARE, Tail::Clip);
                self.execute(&outer, Kind::Parallel);
                axis = inner;
            }
        }
        for s in &stores {
            if self.streams(s.buffer) {
                let buffer = self.kernel.buffer(s.buffer).name.clone();
                let directive = Directive::Stream { buffer };
                if !self.choice.schedule.0.contains(&directive) {
                    self.choice.schedule.0.push(directive);
                }
            }
        }
        let states = match n.body {
            [Node::Accumulate { acc, .. }, ..] => self.kernel.acc(*acc).state.len().max(1) as i64,
            _ => 1,
        };
        let at_once = (STATES / states).min(self.supplied(&values)).clamp(1, AT_ONCE);
        self.vectorise(&axis, known, at_once);
    }

    /// What an element takes if this loop's iterations are lanes, in hundredths of a vector's multiply-add.
    fn time(&self, f: &For, stores: &[&Store], reads: &[Access], values: &[ExprId]) -> i64 {
        /// A lane of a load or store that does not lie beside its neighbour, a vector of those that do, and one element for all lanes.
        const LANE: f64 = 2.5;
        const STORE: f64 = 1.4;
        const LOAD: f64 = 1.0;
        const NUMBER: f64 = 0.5;
        /// Beginning a vector: its mask, and the loop around it.
        const VECTOR: f64 = 1.5;
        let lanes = extent(f).unwrap_or(self.machine.lanes).clamp(1, self.machine.lanes) as f64;
        let mut slots = VECTOR;
        for s in stores {
            let offset = self.kernel.resolve(&self.kernel.buffer(s.buffer).layout.offset(&s.index));
            slots += if stride(&offset, f.axis) == Stride::Known(1) { STORE } else { LANE * lanes };
        }
        for r in reads {
            slots += match stride(&r.offset, f.axis) {
                Stride::Known(1) => LOAD,
                Stride::None => NUMBER,
                _ => LANE * lanes,
            };
        }
        self.kernel.visit_below(values, &mut |_, expr| slots += Operation::of(self.kernel, expr).slots);
        (slots / lanes * 100.0) as i64
    }

    /// Of how many vectors at once a core gets the instructions that compute these values as fast as it does them: at least two, whose
    /// operations overlap.
    fn supplied(&self, values: &[ExprId]) -> i64 {
        let mut slots = 0.0;
        self.kernel.visit_below(values, &mut |_, expr| slots += Operation::of(self.kernel, expr).slots);
        ((MOST_SLOTS / slots.max(1.0)) as i64).max(2)
    }

    /// The stages of a nest, and what is computed in it.
    pub(super) fn stages(&self, nodes: &'k [Node], stores: &mut Vec<&'k Store>, values: &mut Vec<ExprId>) {
        for node in nodes {
            match node {
                Node::For(f) => self.stages(&f.body, stores, values),
                Node::Accumulate { acc, body } => {
                    values.extend(self.kernel.acc(*acc).state.iter().map(|s| s.init));
                    self.stages(body, stores, values);
                }
                Node::Step { values: next, .. } => values.extend(next),
                Node::Store(s) => {
                    values.push(s.value);
                    stores.push(s);
                }
                Node::Prefetch { .. } => {}
            }
        }
    }

    /// The loops of a nest at the root whose iterations need each other.
    fn carrying(&self, n: &Nest<'k>) -> Vec<AxisId> {
        let mut scope = Scope::new(self.kernel);
        let mut found = Vec::new();
        for f in &n.loops {
            if conflict(&mut scope, f, &|_| false).is_some() {
                found.push(f.axis);
            }
            scope.enter(f);
        }
        found
    }

    /// Splits a loop into vectors, several at once.
    pub(super) fn vectorise(&mut self, axis: &str, known: Option<i64>, at_once: i64) {
        let lanes = self.machine.lanes;
        let at_once = known.map_or(at_once, |e| at_once.min((e + lanes - 1) / lanes).max(1));
        let [_, tile] = self.split(
            axis,
            at_once * lanes,
            Tail::LadderClip(vec![lanes].into_iter().filter(|l| at_once * lanes > *l).collect()),
        );
        let [jam, vector] = self.split(&tile, lanes, Tail::Cover);
        self.execute(&jam, Kind::Jam);
        self.execute(&vector, Kind::Vector(lanes as u32));
    }
}

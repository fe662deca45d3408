//! What proofs have said while groups of a graph were lowered.
//!
//! Partitioning lowers many groups that differ in a node or two, and each asks again whether the same indices lie inside the same
//! sizes. An answer follows from the loops that are open, the index and the facts of the graph alone, so that it is the same for all of them.

use super::walk::{Frame, Head};
use crate::hash::{IdHasher, IdMap};
use crate::index::Index;
use crate::tree::AxisId;
use lawson_graph::Dim;
use std::cell::RefCell;
use std::hash::{Hash, Hasher};

/// More answers than this are not kept.
const MOST: usize = 1 << 16;

/// Answers about one graph.
#[derive(Default)]
pub(crate) struct Answers {
    kept: RefCell<IdMap<u64, Vec<(Question, bool)>>>,
}

/// Whether `0 <= index < end` in these loops.
struct Question {
    loops: Vec<Loop>,
    index: Index,
    end: Dim,
}

struct Loop {
    axis: AxisId,
    begin: Index,
    end: Index,
    step: i64,
}

impl Answers {
    /// Whether `0 <= index < end` where these loops are open, asked if nobody has.
    pub(super) fn within(
        &self,
        frames: &[Frame],
        index: &Index,
        end: &Dim,
        ask: impl FnOnce() -> bool,
    ) -> bool {
        let heads = || frames.iter().filter_map(|f| f.head.as_ref());
        let mut h = IdHasher::default();
        for head in heads() {
            (head.axis, head.step, &head.end).hash(&mut h);
        }
        (index, end).hash(&mut h);
        let digest = h.finish();
        let is_same = |q: &Question| {
            let same = |(l, h): (&Loop, &Head)| {
                l.axis == h.axis && l.begin == h.begin && l.end == h.end && l.step == h.step
            };
            q.index == *index
                && q.end == *end
                && q.loops.len() == heads().count()
                && q.loops.iter().zip(heads()).all(same)
        };
        let known = |kept: &IdMap<u64, Vec<(Question, bool)>>| {
            kept.get(&digest)?.iter().find(|(q, _)| is_same(q)).map(|(_, answer)| *answer)
        };
        if let Some(answer) = known(&self.kept.borrow()) {
            return answer;
        }
        let answer = ask();
        let mut kept = self.kept.borrow_mut();
        if kept.len() < MOST {
            let open =
                |h: &Head| Loop { axis: h.axis, begin: h.begin.clone(), end: h.end.clone(), step: h.step };
            let question =
                Question { loops: heads().map(open).collect(), index: index.clone(), end: end.clone() };
            kept.entry(digest).or_default().push((question, answer));
        }
        answer
    }
}

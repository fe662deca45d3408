//! What the host computes before a launch: the parameters, how many iterations there are, and that 32 bits hold every index.
//!
//! Sums and products wrap alike in any width, but quotients, minima and comparisons do not; so every word and every part
//! of it must stay within 32 bits for all values that the axes take. Intervals show that.

use crate::opcode::{By, Capabilities, Halves, Listing, Members, Op, OpCode, Test, Word};
use lawson_graph::{Code, Error, Place, Result, Symbol};

/// A listing with values for its symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// The parameters' values.
    pub(crate) parameters: Vec<i32>,
    /// How many iterations each launch has, and who does one.
    pub(crate) iterations: Vec<(u32, Members)>,
    /// How many words of the spill buffer a member has.
    pub(crate) spilled: u32,
}

/// The greatest total size of the spill buffer; a launch has fewer members rather than a larger one.
const MAX_SPILL: u64 = 64 << 20;

impl Bound {
    /// How many workgroups each launch gets.
    pub(crate) fn workgroups(&self, capabilities: &Capabilities) -> Vec<u32> {
        let groups = |(n, members): &(u32, Members)| {
            let (each, owners) = match members {
                Members::One => (capabilities.workgroup, capabilities.workgroup),
                Members::Workgroup(_) => (1, 1),
            };
            let spilled = u64::from(self.spilled) * 4 * u64::from(owners);
            let room = MAX_SPILL.min(capabilities.max_buffer_bytes).checked_div(spilled).unwrap_or(u64::MAX);
            let most = u64::from(capabilities.max_workgroups).min(room.max(1)) as u32;
            n.div_ceil(each).min(most)
        };
        self.iterations.iter().map(groups).collect()
    }

    /// How many bytes of memory launches need besides their buffers.
    pub(crate) fn spill(&self, capabilities: &Capabilities) -> u64 {
        if self.spilled == 0 { 0 } else { self.spill_bytes(capabilities) }
    }

    /// How many bytes the spill buffer has.
    pub(crate) fn spill_bytes(&self, capabilities: &Capabilities) -> u64 {
        let owners = |(groups, (_, members)): (u32, &(u32, Members))| match members {
            Members::One => u64::from(groups) * u64::from(capabilities.workgroup),
            Members::Workgroup(_) => u64::from(groups),
        };
        let most = self.workgroups(capabilities).into_iter().zip(&self.iterations).map(owners).max();
        (most.unwrap_or(1).max(1) * u64::from(self.spilled) * 4).max(4)
    }

    /// The bytes of the parameters: the two words that are zero, the parameters, and where buffers begin. They are a multiple of 16.
    pub(crate) fn words(&self, bases: &[i32]) -> Vec<u8> {
        let mut words = vec![0u8; 8];
        words.extend(self.parameters.iter().chain(bases).flat_map(|p| p.to_le_bytes()));
        words.resize(words.len().next_multiple_of(16), 0);
        words
    }
}

/// From the least to the greatest value.
type Interval = (i64, i64);

const WORD: Interval = (i32::MIN as i64, i32::MAX as i64);

struct Bounds<'l> {
    listing: &'l Listing,
    parameters: Vec<i32>,
    /// The last element at which each buffer of [`Listing::bases`] may begin.
    bases: &'l [i64],
    /// How often the place that is looked at is come to in one iteration of the launch, loop by loop.
    times: Vec<i64>,
    /// Iterations of loops in one iteration of each launch.
    loops: Vec<i64>,
    axes: Vec<Interval>,
}

impl Listing {
    /// Evaluates the parameters and checks that every index fits in a word.
    pub(crate) fn bind(&self, symbols: &[(Symbol, i64)]) -> Result<Bound> {
        self.bind_within(symbols, &[])
    }

    /// As [`Listing::bind`], for buffers of [`Listing::bases`] that begin at these elements or before.
    pub(crate) fn bind_within(&self, symbols: &[(Symbol, i64)], bases: &[i64]) -> Result<Bound> {
        let value_of = |s: &Symbol| symbols.iter().find(|(name, _)| name == s).map(|(_, v)| *v);
        let evaluate = |d: &lawson_graph::Dim| {
            let value = d.eval(&value_of).ok_or_else(|| {
                self.refused(format!("the dimension {d} has no value"))
                    .help("give a value for every symbol that the kernel mentions")
            })?;
            i32::try_from(value).map_err(|_| self.too_large(&format!("the dimension {d}")))
        };
        let parameters = self.parameters.iter().map(evaluate).collect::<Result<Vec<_>>>()?;
        let axes = vec![(0, 0); self.axes.len()];
        let mut bounds = Bounds { listing: self, parameters, bases, times: vec![1], loops: Vec::new(), axes };
        bounds.check()?;
        let mut iterations = Vec::with_capacity(self.launches.len());
        for launch in &self.launches {
            let mut total = 1i64;
            for span in &launch.axes {
                total = total.saturating_mul(i64::from(evaluate(&span.count())?));
            }
            // A member counts on by the number of members until it has passed the last iteration.
            let members =
                i64::from(self.capabilities.workgroup) * i64::from(self.capabilities.max_workgroups);
            let total = i32::try_from(total)
                .ok()
                .filter(|t| i64::from(*t) + members <= WORD.1)
                .ok_or_else(|| self.too_large("the number of iterations"))?;
            iterations.push((total.unsigned_abs(), launch.members));
        }
        let spilled = evaluate(&self.spilled)?.unsigned_abs();
        let loops = std::mem::take(&mut bounds.loops);
        let group = u64::from(spilled) * 4 * u64::from(self.capabilities.workgroup);
        if group > self.capabilities.max_buffer_bytes {
            let limit = self.capabilities.max_buffer_bytes;
            return Err(self
                .refused(format!("the scratch of one workgroup takes {group} bytes, a buffer has {limit}"))
                .help("tile the loops around the scratch"));
        }
        let bound = Bound { parameters: bounds.parameters, iterations, spilled };
        self.check_iterations(&bound, &loops)?;
        Ok(bound)
    }

    /// That no member goes through more iterations of loops than the driver lets it.
    fn check_iterations(&self, bound: &Bound, loops: &[i64]) -> Result<()> {
        let Some(most) = self.capabilities.max_iterations else { return Ok(()) };
        let groups = bound.workgroups(&self.capabilities);
        for (((count, members), groups), loops) in bound.iterations.iter().zip(groups).zip(loops) {
            let at_once = match members {
                Members::One => u64::from(groups) * u64::from(self.capabilities.workgroup),
                Members::Workgroup(_) => u64::from(groups),
            };
            let turns = u64::from(*count).div_ceil(at_once.max(1));
            let all = turns.saturating_mul(loops.unsigned_abs());
            if all >= u64::from(most) {
                let message = format!(
                    "a member goes through {all} iterations of loops; the driver leaves them after {most}"
                );
                return Err(self.refused(message).help("run it on another device, or on the CPU target"));
            }
        }
        Ok(())
    }

    fn refused(&self, message: String) -> Error {
        Error::new(Code::NotEmitted, message)
            .at(Place::Kernel { kernel: self.kernel.clone(), path: "its launch".into() })
    }

    fn too_large(&self, what: &str) -> Error {
        self.refused(format!("{what} does not fit in 32 bits")).help(
            "indices are words of 32 bits on this target; split the tensor, or run it on another target",
        )
    }
}

impl Bounds<'_> {
    fn check(&mut self) -> Result<()> {
        let listing = self.listing;
        // How many blocks are open inside the outermost one that is never entered, with it: nothing in there is computed.
        let mut skipped = 0;
        for code in &listing.codes {
            if skipped > 0 {
                match code {
                    OpCode::Entry { .. } | OpCode::Loop { .. } | OpCode::Guard(_) | OpCode::Block => {
                        skipped += 1
                    }
                    OpCode::EndEntry | OpCode::EndLoop | OpCode::EndGuard | OpCode::EndBlock => skipped -= 1,
                    _ => {}
                }
                continue;
            }
            match code {
                OpCode::Entry { launch } => {
                    self.times = vec![1];
                    self.loops.push(1);
                    for span in &listing.launches[*launch].axes {
                        let begin = self.word(&listing.word_of(&span.begin))?;
                        let count = self.word(&listing.word_of(&span.count()))?;
                        skipped = if count.1 < 1 { 1 } else { skipped };
                        let last = begin.1 + (count.1 - 1).max(0) * span.step;
                        self.axes[span.axis.0 as usize] = self.fits((begin.0, last), "an axis")?;
                    }
                }
                OpCode::Axis { axis, value } => self.axes[axis.0 as usize] = self.word(value)?,
                OpCode::LetQuad { at, .. }
                | OpCode::StoreQuad { at, .. }
                | OpCode::StoreHalves { at, .. }
                | OpCode::SetHalves { to: Halves::At(_, at), .. }
                | OpCode::LoadMatrix { at, .. }
                | OpCode::StoreMatrix { at, .. } => {
                    self.word(at)?;
                }
                OpCode::Loop { axis, begin, end, step, by } => {
                    let (begin, end) = (self.word(begin)?, self.word(end)?);
                    let moves = match by {
                        By::Member => *step,
                        By::Lanes => step * i64::from(listing.capabilities.max_members),
                    };
                    // The loop leaves when the axis has passed the end.
                    self.fits((begin.0, end.1 + moves), "the last value of a loop")?;
                    self.axes[axis.0 as usize] = (begin.0, (end.1 - 1).max(begin.0));
                    skipped = u32::from(end.1 <= begin.0);
                    if skipped == 0 {
                        let trips = (end.1 - begin.0 + moves - 1) / moves;
                        let times = self.times.last().map_or(1, |t| t.saturating_mul(trips));
                        self.times.push(times);
                        if let Some(all) = self.loops.last_mut() {
                            *all = all.saturating_add(times);
                        }
                    }
                }
                OpCode::EndLoop => {
                    self.times.pop();
                }
                OpCode::Let { op: Op::Index(w) | Op::Load(_, w), .. } | OpCode::Store { at: w, .. } => {
                    self.word(w)?;
                }
                OpCode::Guard(Test::Within(pairs)) => {
                    for (index, end) in pairs {
                        let (index, end) = (self.word(index)?, self.word(end)?);
                        skipped |= u32::from(index.0.max(0) >= end.1 || index.1 < 0);
                    }
                }
                OpCode::Guard(Test::Value(_))
                | OpCode::Let { .. }
                | OpCode::Buffer { .. }
                | OpCode::Alias { .. }
                | OpCode::Scratch { .. }
                | OpCode::Function { .. }
                | OpCode::Return(_)
                | OpCode::LetPair { .. }
                | OpCode::EndEntry
                | OpCode::Var { .. }
                | OpCode::Set { .. }
                | OpCode::Quad { .. }
                | OpCode::SetQuad { .. }
                | OpCode::StepQuad { .. }
                | OpCode::Halves(_)
                | OpCode::SetHalves { .. }
                | OpCode::Matrix(_)
                | OpCode::StepMatrix { .. }
                | OpCode::Barrier
                | OpCode::Block
                | OpCode::EndBlock
                | OpCode::EndGuard => {}
            }
        }
        Ok(())
    }

    fn fits(&self, interval: Interval, what: &str) -> Result<Interval> {
        match interval.0 >= WORD.0 && interval.1 <= WORD.1 {
            true => Ok(interval),
            false => Err(self.listing.too_large(what)),
        }
    }

    fn word(&self, word: &Word) -> Result<Interval> {
        // Operands fit in 32 bits, so nothing here leaves 64.
        let interval = match word {
            Word::Const(c) => (*c, *c),
            Word::Axis(a) => self.axes[a.0 as usize],
            Word::Param(p) => (i64::from(self.parameters[*p]), i64::from(self.parameters[*p])),
            Word::Lane => (0, i64::from(self.listing.capabilities.max_members.max(1)) - 1),
            Word::Base(memory) => {
                let at = self.listing.bases.iter().position(|b| b == memory);
                (0, at.and_then(|n| self.bases.get(n)).copied().unwrap_or(0))
            }
            Word::Sum(terms) => {
                let mut sum = (0, 0);
                for t in terms {
                    let t = self.word(t)?;
                    sum = self.fits((sum.0 + t.0, sum.1 + t.1), "an index")?;
                }
                sum
            }
            Word::Product(a, b) => {
                let (a, b) = (self.word(a)?, self.word(b)?);
                let products = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
                let least = products.iter().fold(i64::MAX, |m, p| m.min(*p));
                (least, products.iter().fold(i64::MIN, |m, p| m.max(*p)))
            }
            Word::Div(a, d, _) => {
                let (a, d) = (self.word(a)?, self.divisor(d)?);
                (a.0.div_euclid(d), a.1.div_euclid(d))
            }
            Word::Mod(a, d, _) => {
                self.word(a)?;
                (0, self.divisor(d)? - 1)
            }
            Word::Min(m) => self.extremum(m, i64::min)?,
            Word::Max(m) => self.extremum(m, i64::max)?,
            Word::At(_, at, last) => {
                self.word(at)?;
                (0, self.word(last)?.1.max(0))
            }
        };
        self.fits(interval, "an index")
    }

    fn extremum(&self, members: &[Word], join: fn(i64, i64) -> i64) -> Result<Interval> {
        let mut best: Option<Interval> = None;
        for m in members {
            let m = self.word(m)?;
            best = Some(best.map_or(m, |b| (join(b.0, m.0), join(b.1, m.1))));
        }
        Ok(best.unwrap_or((0, 0)))
    }

    fn divisor(&self, word: &Word) -> Result<i64> {
        match self.word(word)? {
            (d, _) if d > 0 => Ok(d),
            (d, _) => Err(self
                .listing
                .refused(format!("an index divides by {d}"))
                .help("divisors are dimensions of at least 1")),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Capabilities, Listing};
    use lawson_graph::{DType, Dim, Facts, Symbol};
    use lawson_kernel::build::{for_each, loop_of, store};
    use lawson_kernel::{Condition, Guard, Index, Kernel, Kind};

    /// `y[i] = x[i·M / M]` for `i` below `N`.
    fn listing() -> Listing {
        let mut k = Kernel::new("far", Facts::new());
        let n = [Dim::symbol("N")];
        let (x, y) = (k.input("x", DType::F32, &n), k.output("y", DType::F32, &n));
        let i = k.add_axis("i");
        let far = (Index::axis(i) * Dim::symbol("M")).floor_div(Dim::symbol("M"));
        let e = k.load(x, vec![far]);
        k.body = vec![for_each(i, Dim::symbol("N"), vec![store(y, vec![i.into()], e)])];
        Listing::of(&k, &Capabilities::default()).unwrap()
    }

    fn counts(bound: super::Bound) -> Vec<u32> {
        bound.iterations.iter().map(|(n, _)| *n).collect()
    }

    fn bind(n: i64, m: i64) -> Result<Vec<u32>, String> {
        let symbols = [(Symbol::new("N"), n), (Symbol::new("M"), m)];
        listing().bind(&symbols).map(counts).map_err(|e| e.to_string())
    }

    #[test]
    fn indices_that_leave_32_bits_on_the_way_are_refused() {
        assert_eq!(bind(1 << 16, 1 << 15), Ok(vec![1]));
        let error = bind(1 << 16, 1 << 16).unwrap_err();
        assert!(error.contains("an index does not fit in 32 bits"), "{error}");
        let error = bind(1 << 32, 1).unwrap_err();
        assert!(error.contains("the dimension N does not fit in 32 bits"), "{error}");
    }

    #[test]
    fn more_iterations_than_a_member_can_count_are_refused() {
        let mut k = Kernel::new("many", Facts::new());
        let y = k.output("y", DType::F32, &[]);
        let (i, j) = (k.add_axis("i"), k.add_axis("j"));
        let zero = k.f32(0.0);
        let inner = loop_of(j, 0, 32, 1, Kind::Parallel, vec![store(y, vec![], zero)]);
        k.body = vec![loop_of(i, 0, Dim::symbol("N"), 1, Kind::Parallel, vec![inner])];
        let listing = Listing::of(&k, &Capabilities::default()).unwrap();
        let bind = |n| listing.bind(&[(Symbol::new("N"), n)]).map(counts);
        assert_eq!(bind(1 << 20).unwrap(), [1 << 25]);
        let error = bind((1 << 26) - 1).unwrap_err();
        assert!(error.message().contains("the number of iterations does not fit"), "{error}");
    }

    /// `y[i] = x[i / M]` for `i` below `N`, where `i - 1` is from 0 to below `M`.
    #[test]
    fn what_no_iteration_comes_to_is_not_looked_at() {
        let mut k = Kernel::new("guarded", Facts::new());
        let n = [Dim::symbol("N")];
        let (x, y) = (k.input("x", DType::F32, &n), k.output("y", DType::F32, &n));
        let (i, otherwise) = (k.add_axis("i"), k.f32(0.0));
        let conditions = vec![Condition { index: Index::axis(i) - 1, end: Dim::symbol("M") }];
        let at = vec![Index::axis(i).floor_div(Dim::symbol("M"))];
        let e = k.load_guarded(x, at, Guard { conditions, otherwise });
        k.body = vec![for_each(i, Dim::symbol("N"), vec![store(y, vec![i.into()], e)])];
        let listing = Listing::of(&k, &Capabilities::default()).unwrap();
        for m in [0, 3] {
            listing.bind(&[(Symbol::new("N"), 4), (Symbol::new("M"), m)]).unwrap();
        }
    }

    #[test]
    fn an_empty_dimension_divides_as_one() {
        assert_eq!(bind(4, 0), Ok(vec![1]));
    }

    #[test]
    fn a_symbol_without_a_value_is_named() {
        let error = listing().bind(&[(Symbol::new("N"), 1)]).unwrap_err().to_string();
        assert!(error.contains("M has no value"), "{error}");
    }
}

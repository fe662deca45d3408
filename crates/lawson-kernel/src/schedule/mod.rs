//! Schedules: how a kernel is executed, as a short list of directives that can be printed, pasted and replayed.
//!
//! A [`Schedule`] is applied to a kernel as lowering makes it and changes its tree, never what it computes. Loops are named by
//! their axes, buffers by their names. A directive that names several loops over one axis (a ladder makes
//! such siblings) means all of them. Directives are applied in order and all or none: after an error, the kernel is as before.
//!
//! ```text
//! split i 8 ladder 4 2 1         // for i.0 in steps of 8 { for i.1 below 8 }, then tiles of 4, 2 and 1
//! split j 16
//! reorder i.0 j.0 i.1 j.1
//! parallel i.0
//! jam i.1
//! vector j.1 16
//! ```
//!
//! A reduction is split like any other loop: where an axis inside an `accumulate` is split and the inner loop is made jam
//! or vector, every iteration of it keeps a state of its own, beginning with the identity, and the states are merged after
//! the last step. The loops that unroll-and-jam wants around an `accumulate` are there already, because lowering puts free
//! axes outside.
//!
//! Directives check what they themselves need; that a kernel may be executed as its kinds say is checked by
//! [`crate::verify()`]. The directives on loops are in `split.rs`, `join.rs`, `nest.rs`, `block.rs`, `clip.rs` and `decide.rs`, those on buffers in `pack.rs` and `prefetch.rs`;
//! `walk.rs` finds the loops, `text.rs` reads directives.

mod block;
pub(crate) mod clip;
mod decide;
mod join;
mod nest;
mod pack;
mod prefetch;
mod split;
mod text;
mod walk;

pub(crate) use nest::possible;

use crate::buffer::Level;
use crate::tree::{Kernel, Kind};
use lawson_graph::syntax::Name;
use lawson_graph::{Code, Error, Place, Result};
use std::fmt;
use walk::loops_help;

/// A list of directives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Schedule(pub Vec<Directive>);

/// One change to the tree of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Directive {
    /// `split i 8`: the loop over `i` becomes a loop over `i.0`, in steps of `factor` iterations, around one over `i.1`, and
    /// `i` becomes `i.0 + i.1`. Of a parallel loop, the outer one is parallel.
    Split {
        /// The axis.
        axis: String,
        /// How many iterations the inner loop has.
        factor: i64,
        /// What becomes of iterations that do not fill a tile.
        tail: Tail,
    },
    /// `join i j k as t`: the loops, which stand directly within each other, become one over `t`, whose iterations are theirs in the same
    /// order.
    Join {
        /// The axes, outermost first.
        axes: Vec<String>,
        /// The name of the axis that they become.
        joined: String,
    },
    /// `reorder i.0 j.0 i.1`: the loops, which stand directly within each other, change places so that they come in this order,
    /// outermost first. Loops between them that are not named stay where they are. Rungs of a ladder between them are
    /// reordered each on its own.
    Reorder {
        /// The axes, outermost first.
        axes: Vec<String>,
    },
    /// `parallel i`, `vector i 16`, …: how the loop is executed.
    Execute {
        /// The axis.
        axis: String,
        /// The kind.
        kind: Kind,
    },
    /// `peel i first=1 last=2`: iterations at the ends become loops of their own, so that what holds only there need not be
    /// asked elsewhere.
    Peel {
        /// The axis.
        axis: String,
        /// How many iterations at the beginning.
        first: i64,
        /// How many at the end.
        last: i64,
    },
    /// `clip kh`: iterations in which a guarded load contributes nothing are left out: the guard's conditions become bounds
    /// of the loop.
    Clip {
        /// The axis.
        axis: String,
    },
    /// `decide kw`: iterations in which a condition of a guarded load that mentions the axis may fail are unrolled; those between
    /// them stay loops, whose loads do not ask.
    Decide {
        /// The axis.
        axis: String,
    },
    /// `block k 512 at i.0`: the sum over `k` is done in blocks, each for all outputs of the loop's body, or of the kernel, before
    /// the next: `k` becomes `k.0 + k.1`, the loop over `k.0` stands outside the nest, and states wait in scratch meanwhile.
    Block {
        /// The axis.
        axis: String,
        /// How many steps a block has.
        factor: i64,
        /// The axis of the loop in whose body the blocks are; the root if there is none.
        at: Option<String>,
        /// The level that the states are meant to stay in.
        level: Level,
    },
    /// `pack B at j.0`: what the loop's body reads of the buffer is copied to scratch first, by loops over `B.0`, `B.1`, … at the
    /// head of the body, one a dimension.
    Pack {
        /// The buffer.
        buffer: String,
        /// The loop's axis.
        at: String,
        /// How the copy lies.
        layout: PackLayout,
        /// The level that it is meant to stay in.
        level: Level,
    },
    /// `stream C`: what is stored in the buffer goes past the caches.
    Stream {
        /// The buffer.
        buffer: String,
    },
    /// `prefetch B at k ahead 4`: what the loop's body begins to read of the buffer that many iterations later is
    /// fetched. `prefetch B at k ahead 1 of i`: what it reads so many iterations of a loop around it later. `prefetch B at k ahead 1 of j by i`:
    /// of that, each iteration of the loop over `i` fetches what follows what the one before did; each of the one over `k`, which has steps, one
    /// step's. `prefetch B at i ahead 1 of k whole`: all that the loop's body reads of the buffer, not only what it begins with; the iterations of the
    /// loops inside the one over `k`, down to that over `i`, fetch an equal part each.
    Prefetch {
        /// The buffer.
        buffer: String,
        /// The loop's axis.
        at: String,
        /// How many iterations ahead.
        ahead: i64,
        /// Of which loop, if it is another one, around that.
        of: Option<String>,
        /// The loop whose iterations share the work, if they do.
        by: Option<String>,
        /// Whether all is fetched that is read.
        whole: bool,
        /// Into which level.
        level: Level,
    },
}

/// What becomes of the iterations of a split loop that do not fill a tile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Tail {
    /// [`Tail::Exact`] where that can be proven, [`Tail::Clip`] elsewhere.
    Auto,
    /// There are none, provably.
    Exact,
    /// The inner loop ends early; a vector loop masks lanes.
    Clip,
    /// As many tiles as there may be at most, whatever the number of iterations is; the inner loop ends early, or does not run
    /// at all. So the outer loop has a constant extent and can be jammed.
    Cover,
    /// Smaller tiles follow the full ones, of these sizes. Without any: the remainder as one tile where it is known, else
    /// every power of two below the tile.
    Ladder(Vec<i64>),
    /// The same, and what the last rung leaves over is one more tile of its size that ends early.
    LadderClip(Vec<i64>),
}

/// How a packed copy lies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PackLayout {
    /// Dense, the last dimension innermost.
    RowMajor,
    /// Dense, with the dimensions in this order, outermost first.
    Order(Vec<usize>),
    /// In panels of `width` along one dimension, the others between in order.
    Panels {
        /// The dimension.
        dim: usize,
        /// How wide a panel is.
        width: i64,
    },
}

impl Schedule {
    /// Applies the directives in order. After an error the kernel is as it was.
    ///
    /// ```
    /// use lawson_graph::{DType, Facts};
    /// use lawson_kernel::build::{for_each, store};
    /// use lawson_kernel::{Kernel, Schedule};
    /// let mut k = Kernel::new("copy", Facts::new());
    /// let (x, y) = (k.input("x", DType::F32, &[20.into()]), k.output("y", DType::F32, &[20.into()]));
    /// let i = k.add_axis("i");
    /// let value = k.load(x, vec![i.into()]);
    /// k.body = vec![for_each(i, 20, vec![store(y, vec![i.into()], value)])];
    /// let schedule: Schedule = "split i 8\nvector i.1 8".parse()?;
    /// schedule.apply(&mut k)?;
    /// assert_eq!(k.axes.len(), 3);
    /// # Ok::<(), lawson_graph::Error>(())
    /// ```
    pub fn apply(&self, kernel: &mut Kernel) -> Result<()> {
        let mut changed = kernel.clone();
        for (i, directive) in self.0.iter().enumerate() {
            directive.apply(&mut changed).map_err(|e| {
                let e = match e.code() {
                    Code::ScheduleRefused => e.help(loops_help(&self.before(i, kernel))),
                    _ => e,
                };
                e.at(Place::Directive { number: i + 1, text: directive.to_string() })
                    .at(Place::Kernel { kernel: kernel.name.clone(), path: "its schedule".into() })
            })?;
        }
        *kernel = changed;
        Ok(())
    }

    /// What a directive was applied to.
    fn before(&self, directive: usize, kernel: &Kernel) -> Kernel {
        let mut changed = kernel.clone();
        // These have been applied once.
        self.0.iter().take(directive).for_each(|d| drop(d.apply(&mut changed)));
        changed
    }
}

impl Directive {
    /// Applies it; after an error the kernel is in no particular state.
    fn apply(&self, kernel: &mut Kernel) -> Result<(), Error> {
        match self {
            Directive::Split { axis, factor, tail } => split::split(kernel, axis, *factor, tail),
            Directive::Join { axes, joined } => join::join(kernel, axes, joined),
            Directive::Peel { axis, first, last } => split::peel(kernel, axis, *first, *last),
            Directive::Reorder { axes } => nest::reorder(kernel, axes),
            Directive::Execute { axis, kind } => nest::execute(kernel, axis, *kind),
            Directive::Clip { axis } => clip::clip(kernel, axis),
            Directive::Decide { axis } => decide::decide(kernel, axis),
            Directive::Block { axis, factor, at, level } => {
                block::block(kernel, axis, *factor, at.as_deref(), *level)
            }
            Directive::Pack { buffer, at, layout, level } => pack::pack(kernel, buffer, at, layout, *level),
            Directive::Stream { buffer } => pack::stream(kernel, buffer),
            Directive::Prefetch { buffer, at, ahead, of, by, whole, level } => {
                let (of, shared_by) = (of.as_deref(), by.as_deref());
                let ahead = prefetch::Ahead { by: *ahead, of, shared_by, whole: *whole };
                prefetch::prefetch(kernel, buffer, at, ahead, *level)
            }
        }
    }
}

/// One directive a line.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|d| writeln!(f, "{d}"))
    }
}

impl fmt::Display for Directive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Directive::Split { axis, factor, tail } => write!(f, "split {} {factor}{tail}", Name(axis)),
            Directive::Join { axes, joined } => {
                f.write_str("join")?;
                axes.iter().try_for_each(|a| write!(f, " {}", Name(a)))?;
                write!(f, " as {}", Name(joined))
            }
            Directive::Reorder { axes } => {
                f.write_str("reorder")?;
                axes.iter().try_for_each(|a| write!(f, " {}", Name(a)))
            }
            Directive::Execute { axis, kind } => match kind {
                Kind::Vector(width) => write!(f, "vector {} {width}", Name(axis)),
                Kind::Parallel | Kind::Serial | Kind::Unroll | Kind::Dot | Kind::Skip | Kind::Jam => {
                    write!(f, "{} {}", kind.name(), Name(axis))
                }
            },
            Directive::Peel { axis, first, last } => {
                write!(f, "peel {} first={first} last={last}", Name(axis))
            }
            Directive::Clip { axis } => write!(f, "clip {}", Name(axis)),
            Directive::Decide { axis } => write!(f, "decide {}", Name(axis)),
            Directive::Block { axis, factor, at, level } => {
                write!(f, "block {} {factor}", Name(axis))?;
                at.iter().try_for_each(|at| write!(f, " at {}", Name(at)))?;
                write!(f, " level {}", level.name())
            }
            Directive::Pack { buffer, at, layout, level } => {
                write!(f, "pack {} at {}{layout} level {}", Name(buffer), Name(at), level.name())
            }
            Directive::Stream { buffer } => write!(f, "stream {}", Name(buffer)),
            Directive::Prefetch { buffer, at, ahead, of, by, whole, level } => {
                write!(f, "prefetch {} at {} ahead {ahead}", Name(buffer), Name(at))?;
                if let Some(of) = of {
                    write!(f, " of {}", Name(of))?;
                }
                if let Some(by) = by {
                    write!(f, " by {}", Name(by))?;
                }
                if *whole {
                    f.write_str(" whole")?;
                }
                write!(f, " level {}", level.name())
            }
        }
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tail::Auto => Ok(()),
            Tail::Exact => f.write_str(" exact"),
            Tail::Clip => f.write_str(" clip"),
            Tail::LadderClip(rungs) => {
                f.write_str(" ladder")?;
                rungs.iter().try_for_each(|r| write!(f, " {r}"))?;
                f.write_str(" clip")
            }
            Tail::Cover => f.write_str(" cover"),
            Tail::Ladder(rungs) => {
                f.write_str(" ladder")?;
                rungs.iter().try_for_each(|r| write!(f, " {r}"))
            }
        }
    }
}

impl fmt::Display for PackLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PackLayout::RowMajor => Ok(()),
            PackLayout::Order(order) => {
                f.write_str(" order")?;
                order.iter().try_for_each(|d| write!(f, " {d}"))
            }
            PackLayout::Panels { dim, width } => write!(f, " panels {dim} {width}"),
        }
    }
}

//! Schedules for a device: every iteration of the loops at the root is a thread's.
//!
//! All loops of a nest at the root are parallel, as far as their bounds are known at the start and the verifier agrees. How threads
//! share memory and registers inside of that, the target decides, which knows the limits of the device: workgroups, tiles and
//! lanes are no loops of the kernel.

use super::{Choice, nest};
use crate::schedule::{Directive, Schedule};
use crate::tree::{For, Kernel, Kind, Node};
use crate::verify::verify;
use lawson_graph::Result;

/// Chooses a schedule and applies it.
pub(super) fn choose(kernel: &mut Kernel) -> Result<Choice> {
    let plain = Schedule::default();
    for schedule in [shared(kernel, usize::MAX), shared(kernel, 1), plain] {
        let mut scheduled = kernel.clone();
        if schedule.apply(&mut scheduled).is_ok() && verify(&scheduled).is_ok() {
            *kernel = scheduled;
            return Ok(Choice { schedule, layouts: Vec::new() });
        }
    }
    Ok(Choice::default())
}

/// The directives that share so many loops of every nest at the root, outermost first.
fn shared(kernel: &Kernel, most: usize) -> Schedule {
    let known = |f: &&&For| f.begin.as_dim().is_some() && f.end.as_dim().is_some() && f.kind == Kind::Serial;
    let mut directives = Vec::new();
    for node in &kernel.body {
        let Node::For(f) = node else { continue };
        for f in nest(f).loops.iter().take_while(known).take(most) {
            directives
                .push(Directive::Execute { axis: kernel.axis(f.axis).name.clone(), kind: Kind::Parallel });
        }
    }
    Schedule(directives)
}

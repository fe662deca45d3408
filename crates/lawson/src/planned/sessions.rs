//! What a session has of a program that is a plan: memory and code for the sizes of its last run, made anew when others come.

use super::instance::Instance;
use super::run::has_bytes;
use super::signature::Sizes;
use super::{Planned, Runner, Times};
use crate::repeated::{LoopPlan, WholeLoop};
use crate::session::Budget;
use lawson_cpu::memory;
use lawson_graph::{Bindings, Code, DType, Error, Result, Value, interp};

/// What a session runs with.
#[derive(Debug, Default)]
pub(crate) struct PlannedSessions {
    pub(super) once: Option<PlannedSession>,
    /// For loops of runs.
    whole: Option<Box<WholeLoop>>,
}

/// What runs a plan, made for the sizes of the last run.
#[derive(Debug)]
pub(crate) struct PlannedSession {
    /// The sizes of the inputs that have bytes.
    inputs: Vec<Sizes>,
    /// The values of the symbols.
    bindings: Bindings,
    /// The sizes of the outputs that have bytes.
    pub(super) outputs: Vec<Option<Sizes>>,
    pub(super) instance: Instance,
}

/// A session that fits, and what it is to do.
pub(crate) struct Going<'s> {
    pub(crate) session: &'s mut PlannedSession,
    pub(crate) times: Times<'s>,
    /// An input after those of the program, which has sizes and no bytes.
    pub(crate) more: Option<&'static [u8]>,
}

/// Refuses a run that takes more bytes than it may.
fn afford(bytes: u64, limit: Option<u64>, of_what: &str) -> Result<()> {
    match limit.filter(|limit| bytes > *limit) {
        None => Ok(()),
        Some(limit) => {
            let message = format!("a run of these sizes takes {bytes} bytes {of_what}, and may take {limit}");
            Err(Error::new(Code::Budget, message).help("raise `max_bytes`, or give smaller inputs"))
        }
    }
}

/// Whether sizes are these.
pub(crate) fn same_sizes<'a>(
    sizes: &[Sizes],
    given: impl ExactSizeIterator<Item = (DType, &'a [usize])>,
) -> bool {
    sizes.len() == given.len() && sizes.iter().zip(given).all(|((d, n), (e, m))| *d == e && *n == m)
}

impl PlannedSessions {
    /// How many bytes stages have besides the arena, made for what the last run found.
    pub(crate) fn stage_bytes(&self) -> usize {
        self.once.as_ref().map_or(0, |s| s.instance.stage_bytes())
    }
}

impl PlannedSession {
    /// The values of the symbols that it was made for.
    pub(crate) fn bindings(&self) -> &Bindings {
        &self.bindings
    }

    /// How many bytes each output has.
    pub(super) fn output_bytes(&self) -> impl Iterator<Item = usize> {
        let size = |(d, n): &Sizes| d.bytes_for(n.iter().product());
        self.outputs.iter().map(move |o| o.as_ref().and_then(size).unwrap_or(0))
    }
}

impl Planned {
    /// Makes the session fit these inputs.
    fn fit<'s, 'a>(
        &self,
        session: &'s mut Option<PlannedSession>,
        inputs: impl ExactSizeIterator<Item = (DType, &'a [usize])> + Clone,
        budget: &Budget,
    ) -> Result<&'s mut PlannedSession> {
        if !session.as_ref().is_some_and(|s| same_sizes(&s.inputs, inputs.clone())) {
            let inputs: Vec<_> = inputs.map(|(d, n)| (d, n.to_vec())).collect();
            let bindings = self.bind(&inputs)?;
            *session = Some(self.session(inputs, bindings, budget)?);
        }
        session.as_mut().ok_or_else(|| Error::internal("a session without an instance"))
    }

    /// Makes the session fit these values, of which some have no sizes.
    fn fit_values<'s>(
        &self,
        session: &'s mut Option<PlannedSession>,
        inputs: &[Value],
        budget: &Budget,
    ) -> Result<&'s mut PlannedSession> {
        let bindings = interp::bind(&self.signature.inputs, inputs)?;
        if !session.as_ref().is_some_and(|s| s.bindings.iter().eq(bindings.iter())) {
            *session = Some(self.session(Vec::new(), bindings, budget)?);
        }
        session.as_mut().ok_or_else(|| Error::internal("a session without an instance"))
    }

    /// Makes a session fit runs on inputs of these sizes: one that does all of them at once, if that is known how to and takes less time.
    pub(super) fn go<'s, 'a>(
        &'s self,
        sessions: &'s mut PlannedSessions,
        inputs: impl ExactSizeIterator<Item = (DType, &'a [usize])> + Clone,
        times: Times<'s>,
        budget: &Budget,
    ) -> Result<Going<'s>> {
        let PlannedSessions { once, whole } = sessions;
        if let Some(repeated) = &self.repeated
            && let Some(going) = repeated.fit(whole, self, inputs.clone(), times, budget)?
        {
            return Ok(going);
        }
        Ok(Going { session: self.fit(once, inputs, budget)?, times, more: None })
    }

    /// Makes the session fit these values, and gives it those that have no bytes.
    pub(super) fn fit_all<'s>(
        &self,
        session: &'s mut Option<PlannedSession>,
        inputs: &[Value],
        budget: &Budget,
    ) -> Result<&'s mut PlannedSession> {
        let session = if self.signature.plain {
            self.fit(session, self.signature.sizes(inputs)?.into_iter(), budget)?
        } else {
            self.fit_values(session, inputs, budget)?
        };
        for (n, v) in inputs.iter().enumerate().filter(|(_, v)| !has_bytes(v)) {
            session.instance.set_value(n, v.clone());
        }
        Ok(session)
    }

    /// What runs the plan with these sizes and values of symbols.
    pub(crate) fn session(
        &self,
        inputs: Vec<Sizes>,
        bindings: Bindings,
        budget: &Budget,
    ) -> Result<PlannedSession> {
        let outputs = self.signature.output_sizes(&bindings)?;
        let instance = match &self.code {
            Runner::Cpu { executable, team, .. } => {
                afford(
                    executable.bytes(&bindings, team)?,
                    budget.max_bytes.or_else(memory::available),
                    "of memory",
                )?;
                let mut instance = executable.instance(&bindings, team)?;
                instance.set_max_bytes(budget.max_bytes);
                Instance::Cpu(Box::new(instance))
            }
            #[cfg(feature = "wgpu")]
            Runner::Wgpu { executable, .. } => {
                afford(executable.bytes(&bindings)?, budget.max_bytes, "of the device")?;
                Instance::Wgpu(Box::new(executable.instance(&bindings)?))
            }
        };
        Ok(PlannedSession { inputs, bindings, outputs, instance })
    }

    /// The values of symbols for inputs of these sizes.
    pub(crate) fn bind(&self, inputs: &[Sizes]) -> Result<Bindings> {
        self.signature.bind(inputs)
    }

    /// What a loop of so many runs is, if these sessions have one that is not one run after another.
    pub(crate) fn whole_loop<'s>(
        &'s self,
        sessions: &'s PlannedSessions,
        times: Times<'_>,
    ) -> Option<LoopPlan<'s>> {
        self.repeated.as_ref()?.shown(sessions.whole.as_deref()?, times)
    }
}

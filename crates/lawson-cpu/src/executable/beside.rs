//! Kernels for steps of another target's plan that are placed on the processor.
//!
//! In: a plan some of whose steps call kernels ([`Action::Call`]). Out: their machine code, each as a plan of one launch, which whoever runs
//! the plan calls with bytes of the host. What has no code is left to the evaluator, and the plan says why.

use super::{Executable, Instance, MAX_MEMBERS};
use crate::Isa;
use crate::team::Team;
use lawson_graph::{Bindings, Code, Error, Result, interp};
use lawson_kernel::plan::hosted::{HostCall, HostKernels};
use lawson_kernel::{Action, Place, Plan, PlanBuffer, Role, Step};
use std::collections::HashMap;
use std::sync::Arc;

/// The kernels that steps of a plan call, as machine code, and the team that runs them.
#[derive(Debug)]
pub struct Beside {
    kernels: HashMap<usize, Arc<Executable>>,
    team: Team,
}

impl Beside {
    /// Emits the kernels that steps of a plan call; none if no step does. The team is made only if there are some.
    pub fn new(
        plan: &mut Plan,
        isa: Isa,
        team: impl FnOnce() -> Result<Team>,
    ) -> Result<Option<Arc<Beside>>> {
        let called = plan.called();
        if called.is_empty() {
            return Ok(None);
        }
        let team = team()?;
        if team.members() > MAX_MEMBERS {
            let message = format!("a team of {} members; at most {MAX_MEMBERS} run a plan", team.members());
            return Err(Error::new(Code::Budget, message));
        }
        let mut kernels = HashMap::new();
        for number in called {
            let alone = alone(plan, number);
            let (reads, writes) = (ports(&alone, Role::Input), ports(&alone, Role::Output));
            let executable = Executable::new(alone, reads, writes, isa, &team)?;
            let mut refused = None;
            executable.plan().visit(&mut |step, _| {
                if let Action::Evaluate { why, .. } = &step.action {
                    refused = Some(why.clone());
                }
            });
            match refused {
                Some(why) => plan.evaluate(number, &why),
                None => {
                    kernels.insert(number, Arc::new(executable));
                }
            }
        }
        Ok(Some(Arc::new(Beside { kernels, team })))
    }
}

fn ports(plan: &Plan, role: Role) -> usize {
    let kernel = &plan.kernels[0];
    kernel.arguments().filter(|b| kernel.buffer(*b).role == role).count()
}

/// A kernel as a plan of its own, whose inputs and outputs are what it reads and writes.
fn alone(plan: &Plan, number: usize) -> Plan {
    let kernel = &plan.kernels[number];
    let mut alone = Plan { name: kernel.name.clone(), facts: plan.facts.clone(), ..Plan::default() };
    alone.add_kernel(kernel.clone(), plan.schedules[number].clone());
    let (mut inputs, mut outputs) = (0, 0);
    let mut slots = Vec::new();
    for id in kernel.arguments() {
        let buffer = kernel.buffer(id);
        let port = if buffer.role == Role::Output { &mut outputs } else { &mut inputs };
        let place = if buffer.role == Role::Output { Place::Output(*port) } else { Place::Input(*port) };
        *port += 1;
        let bits = buffer.layout.size.clone() * buffer.dtype.bits();
        let bytes = bits.ceil_div(&8.into());
        slots.push(alone.add_buffer(PlanBuffer { name: buffer.name.clone(), bytes, place }));
    }
    alone.add_step(Step::launch(0, slots));
    alone
}

impl HostKernels for Beside {
    fn prepare(&self, kernel: usize, bindings: &Bindings) -> Result<Box<dyn HostCall>> {
        let executable = self.kernels.get(&kernel);
        let executable = executable.ok_or_else(|| Error::internal("a kernel without code is called"))?;
        Ok(Box::new(Ready(executable.instance(bindings, &self.team)?)))
    }
}

/// A kernel for certain sizes.
#[derive(Debug)]
struct Ready(Instance);

impl HostCall for Ready {
    fn run(&mut self, reads: &[&[u8]], writes: &mut [&mut [u8]]) -> Result<()> {
        let writes = writes.iter_mut().map(|bytes| &mut **bytes);
        self.0.run(reads.iter().copied(), writes, &interp::Options::default())
    }
}

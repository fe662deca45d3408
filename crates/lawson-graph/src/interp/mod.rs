//! The oracle: a reference interpreter, naive and obviously right, that runs every graph.
//!
//! `run` computes in plain mode: every float is rounded to its dtype after each primitive. `run_bounded` computes floats
//! in f64 and carries beside each the range in which every correct target's lies (`bound/`); `compare` holds a target's
//! result against that. `run_group` runs several participants that meet at collectives.
//!
//! Read `machine.rs` next: it runs nodes in order and dispatches to the families of primitives, one file each.

mod array;
mod bound;
mod bounded;
mod collective;
mod compare;
mod control;
mod element;
mod elementwise;
mod host;
mod index;
mod linear;
mod machine;
mod mode;
mod plain;
mod reduce;
mod scalar;
mod sequence;
mod signature;
mod source;
mod special;
mod view;

pub use bounded::{Bounded, BoundedTensor, run_bounded};
pub use compare::{Comparison, Worst, compare};
pub use element::Element;
pub use host::{HostFunction, HostFunctions};
pub use signature::{bind, bind_sizes};

use crate::dim::Bindings;
use crate::error::{Code, Error, Result};
use crate::graph::Graph;
use crate::tensor::Value;
use array::Pool;
use collective::Exchange;
use machine::{Item, Machine};
use mode::Mode;
use plain::Plain;

/// The limits of a run, and what it may call.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many steps a run may take, about a million a second: one a node and an iteration, a few a run of a
    /// sub-graph, one for every 1024 products and for every 256 elements (32 in bounded mode).
    pub max_steps: u64,
    /// How many bytes the elements of live values may take as they are computed on, which is more than in memory:
    /// 8 bytes a float and 16 an integer in plain mode, three to four times that in bounded mode.
    pub max_bytes: u64,
    /// What `host_call` may call.
    pub host: HostFunctions,
    /// In bounded mode, whether targets may take subnormal numbers for zeros, as some devices do.
    pub flushes: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { max_steps: 10_000_000, max_bytes: 2 << 30, host: HostFunctions::new(), flushes: false }
    }
}

/// The most participants that `run_group` takes: each is a thread.
const MAX_PARTICIPANTS: usize = 256;

/// Runs a graph on inputs in order, and gives its outputs in order.
///
/// ```
/// use lawson_graph::interp::{Options, run};
/// use lawson_graph::{Builder, DType, HostTensor, Type};
/// let mut b = Builder::new("double");
/// let x = b.input("x", Type::tensor(DType::F32, ["N"]))?;
/// let y = b.add(x, x)?;
/// b.output("y", y)?;
/// let graph = b.finish()?;
/// let x = HostTensor::from_slice(&[2], &[1.5f32, 2.0])?;
/// let y = run(&graph, &[x.into()], &Options::default())?;
/// assert_eq!(y, [HostTensor::from_slice(&[2], &[3f32, 4.0])?.into()]);
/// # Ok::<(), lawson_graph::Error>(())
/// ```
pub fn run(graph: &Graph, inputs: &[Value], options: &Options) -> Result<Vec<Value>> {
    graph.verify()?;
    let exchange = Exchange::new(1);
    participate::<Plain>(graph, inputs, options, Pool::new(options.max_bytes), &exchange, 0)
}

/// Runs a graph whose symbols have their values already: it may use symbols that none of its inputs determines, as a part of
/// another graph does. The graph is not verified here. Symbols that it defines are left in `bindings`.
pub fn run_bound(
    graph: &Graph,
    inputs: &[Value],
    bindings: &mut Bindings,
    options: &Options,
) -> Result<Vec<Value>> {
    let exchange = Exchange::new(1);
    let pool = Pool::new(options.max_bytes);
    let mut machine = Machine::<Plain>::new(options, pool, std::mem::take(bindings), &exchange, 0);
    let run = |machine: &mut Machine<'_, Plain>| {
        let items = inputs.iter().map(|v| Item::decode(machine, v)).collect::<Result<_>>()?;
        machine.run(graph, items)?.iter().map(Item::encode).collect()
    };
    let results = run(&mut machine);
    *bindings = machine.bindings;
    results
}

/// Runs a graph as several participants at once, each with its own inputs; every collective is between all of them.
/// The limit of steps is that of each participant, the limit of bytes that of all together.
pub fn run_group(graph: &Graph, inputs: &[Vec<Value>], options: &Options) -> Result<Vec<Vec<Value>>> {
    graph.verify()?;
    if inputs.is_empty() || inputs.len() > MAX_PARTICIPANTS {
        let message = format!("expected 1 to {MAX_PARTICIPANTS} participants, {} came", inputs.len());
        return Err(Error::new(Code::Participants, message));
    }
    let exchange = Exchange::new(inputs.len());
    let pool = Pool::new(options.max_bytes);
    let results: Vec<Result<Vec<Value>>> = std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(inputs.len());
        for (me, mine) in inputs.iter().enumerate() {
            let (exchange, pool) = (&exchange, pool.clone());
            threads.push(scope.spawn(move || {
                // Said however the participant ends, so that nobody waits for it.
                let _ended = Ended { exchange, me };
                participate::<Plain>(graph, mine, options, pool, exchange, me)
            }));
        }
        let failed = |_| Err(Error::internal("a participant panicked"));
        threads.into_iter().map(|t| t.join().unwrap_or_else(failed)).collect()
    });
    // The first cause is more useful than what followed from it: a participant left alone.
    let is_left_alone = |e: &Error| e.code() == Code::Participants;
    let mut outputs = Vec::with_capacity(results.len());
    let mut follows = None;
    for result in results {
        match result {
            Ok(values) => outputs.push(values),
            Err(e) if is_left_alone(&e) => follows = follows.or(Some(e)),
            Err(e) => return Err(e),
        }
    }
    follows.map_or(Ok(outputs), Err)
}

struct Ended<'a, M: Mode> {
    exchange: &'a Exchange<M>,
    me: usize,
}

impl<M: Mode> Drop for Ended<'_, M> {
    fn drop(&mut self) {
        self.exchange.end(self.me);
    }
}

fn participate<M: Mode>(
    graph: &Graph,
    inputs: &[Value],
    options: &Options,
    pool: std::sync::Arc<Pool>,
    exchange: &Exchange<M>,
    me: usize,
) -> Result<Vec<Value>> {
    let bindings = bind(graph, inputs)?;
    let mut machine = Machine::new(options, pool, bindings, exchange, me);
    let items = inputs.iter().map(|v| Item::decode(&machine, v)).collect::<Result<_>>()?;
    machine.run(graph, items)?.iter().map(Item::encode).collect()
}

//! What an instance does, with everything that sizes decide.
//!
//! In: an executable, values of the plan's symbols, and the sizes of its buffers that follow from them. Out: [`Filled`], an item for every step
//! and the launches bound to the sizes. No buffer is made here: `instance.rs` has them.

use crate::binding::Binding;
use crate::executable::{Executable, Loaded, padded};
use crate::instance::{Branching, Calling, Item, Looping, Piece, RowOf};
use crate::ready::{Launching, Window};
use lawson_graph::{Bindings, Code, Error, Result, Symbol};
use lawson_kernel::{Action, Again, Mode, Place, Plan, Region, Slot, Step};
use std::collections::HashMap;

/// What is done.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    pub(crate) items: Vec<Item>,
    pub(crate) launches: Vec<Launching>,
    pub(crate) calls: Vec<Calling>,
    /// The number of the plan's step of each item.
    pub(crate) kept: Vec<usize>,
    /// The bytes of the largest region that the host reads.
    pub(crate) largest: usize,
}

/// What the plan of an executable does with these values of symbols, for which its buffers have so many bytes.
pub(crate) fn fill(
    executable: &Executable,
    loaded: &Loaded,
    bindings: &Bindings,
    bytes: &[usize],
) -> Result<Filled> {
    let symbols = bindings.iter().map(|(s, v)| (s.clone(), v)).collect();
    let plan = &executable.plan;
    let mut filling =
        Filling { executable, loaded, plan, bindings, symbols, bytes, filled: Filled::default() };
    for (n, step) in plan.steps.iter().enumerate() {
        if let Some(item) = filling.item(step)? {
            filling.filled.items.push(item);
            filling.filled.kept.push(n);
        }
    }
    Ok(filling.filled)
}

struct Filling<'e> {
    executable: &'e Executable,
    loaded: &'e Loaded,
    plan: &'e Plan,
    bindings: &'e Bindings,
    symbols: Vec<(Symbol, i64)>,
    bytes: &'e [usize],
    filled: Filled,
}

impl Filling<'_> {
    fn block(&mut self, steps: &[Step]) -> Result<Vec<Item>> {
        let mut items = Vec::with_capacity(steps.len());
        for step in steps {
            items.extend(self.item(step)?);
        }
        Ok(items)
    }

    fn piece(&mut self, region: &Region) -> Result<Piece> {
        let (offset, bytes) = self.plan.part(region, self.bytes, self.bindings)?;
        // Words that the region only begins or ends in come along.
        self.filled.largest = self.filled.largest.max(bytes + 8);
        Ok(Piece { slot: region.slot, offset: offset as u64, bytes })
    }

    fn item(&mut self, step: &Step) -> Result<Option<Item>> {
        Ok(Some(match &step.action {
            Action::Launch { kernel } => return self.launch(step, *kernel),
            Action::Call { kernel } => self.call(step, *kernel)?,
            Action::Evaluate { .. } | Action::Interpret(_) => {
                let hosted = self.plan.hosted(step, self.bytes, self.bindings)?;
                Item::Host(Box::new(
                    hosted.ok_or_else(|| Error::internal("a step of the host that is none"))?,
                ))
            }
            Action::Transfer => {
                let [from, to] = step.buffers.as_slice() else {
                    return Err(Error::internal("a transfer of other than two buffers"));
                };
                match (&self.plan.buffer(from.slot).place, &self.plan.buffer(to.slot).place) {
                    (Place::Host, _) => Item::Upload { from: from.slot, to: self.piece(to)? },
                    (_, Place::Host) => Item::Download { from: self.piece(from)?, to: to.slot },
                    _ => return Err(Error::internal("a transfer of which no side is the host's")),
                }
            }
            Action::Loop(l) => {
                let (condition, reads, times) = match &l.again {
                    Again::While { steps, condition } => {
                        self.filled.largest = self.filled.largest.max(8);
                        (self.block(steps)?, Some(*condition), None)
                    }
                    Again::Times(n) => {
                        let times = self.bindings.eval(n)?;
                        (Vec::new(), None, Some(u64::try_from(times).unwrap_or(0)))
                    }
                };
                let mut rows = Vec::new();
                for r in &l.rows {
                    let Place::Row { of } = self.plan.buffer(r.row).place else {
                        return Err(Error::internal("a row of no buffer"));
                    };
                    let bytes = self.bytes[r.row.0 as usize] as u64;
                    rows.push(RowOf { row: r.row, of, bytes, order: r.order });
                }
                let body = self.block(&l.body)?;
                let carried = l.carried.iter().filter(|c| c.state != c.next).map(|c| (c.state, c.next));
                let carried = carried.collect();
                Item::Loop(Box::new(Looping { times, condition, reads, rows, body, carried }))
            }
            Action::Branch(b) => {
                self.filled.largest = self.filled.largest.max(8);
                let (then, otherwise) = (self.block(&b.then)?, self.block(&b.otherwise)?);
                Item::Branch(Box::new(Branching { reads: b.condition, then, otherwise }))
            }
            Action::Staged(_) => return Err(Error::internal("a stage in a plan of a device")),
            Action::Declared { .. } => return Err(Error::internal("a step that only declares is run")),
        }))
    }

    /// That a kernel cannot see its buffers, even in windows.
    fn too_large(&self, step: &Step, why: &Error) -> Error {
        if why.code() != Code::NotEmitted {
            return why.clone();
        }
        let largest =
            step.buffers.iter().map(|r| self.plan.root(r.slot)).max_by_key(|s| self.bytes[s.0 as usize]);
        let (name, bytes) = largest
            .map_or((String::new(), 0), |s| (self.plan.buffer(s).name.clone(), self.bytes[s.0 as usize]));
        let handles = &self.loaded.handles;
        let message = format!(
            "`{name}` takes {bytes} bytes, of which a shader of `{}` sees {} at once: {}",
            handles.adapter.name,
            handles.capabilities().max_buffer_bytes,
            why.message()
        );
        Error::new(Code::Budget, message)
            .help("run on smaller sizes, split the tensor, or use the CPU target")
    }

    fn call(&mut self, step: &Step, kernel: usize) -> Result<Item> {
        let host = self.executable.host.as_ref();
        let host = host.ok_or_else(|| Error::internal("a call where there is no code for the processor"))?;
        let call = host.prepare(kernel, self.bindings)?;
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for (region, mode) in self.plan.modes(step) {
            if mode == Mode::Read { &mut reads } else { &mut writes }.push(region.slot);
        }
        self.filled.calls.push(Calling { call, reads, writes });
        Ok(Item::Call(self.filled.calls.len() - 1))
    }

    fn launch(&mut self, step: &Step, kernel: usize) -> Result<Option<Item>> {
        let (executable, loaded) = (self.executable, self.loaded);
        let capabilities = loaded.handles.capabilities();
        let bytes = |slot: Slot| self.bytes[slot.0 as usize];
        let key = (kernel, Binding::of_launch(self.plan, step, &capabilities, |slot| Some(bytes(slot))));
        let windowed;
        let (listing, pipelines) = match executable.numbers.get(&key) {
            Some(n) => (&executable.shaders[*n], loaded.pipelines[*n].clone()),
            None => {
                windowed = executable.windowed(loaded, &key).map_err(|why| self.too_large(step, &why))?;
                (&windowed.listing, windowed.pipelines.clone())
            }
        };
        let (given, kernel) = (key.1, &self.plan.kernels[kernel]);
        let mut arguments = Vec::new();
        for (b, region) in kernel.arguments().zip(&step.buffers) {
            let offset = self.plan.part(region, self.bytes, self.bindings)?.0 as u64;
            arguments.push((region.slot, offset, kernel.buffer(b).dtype.bits()));
        }
        let based: Vec<usize> = (0..arguments.len()).filter(|n| given.based[*n]).collect();
        // The last element at which a row may begin.
        let last = |n: &usize| {
            let (slot, _, bits) = arguments[*n];
            let whole = self.bytes[self.plan.root(slot).0 as usize];
            (whole as u64 * 8 / bits as u64) as i64
        };
        let ends: Vec<i64> = based.iter().map(last).collect();
        let bound = listing.bind_within(&self.symbols, &ends)?;
        let workgroups = bound.workgroups(&listing.capabilities);
        if workgroups.iter().all(|n| *n == 0) {
            return Ok(None);
        }
        let roots: Vec<u64> =
            step.buffers.iter().map(|r| padded(self.bytes[self.plan.root(r.slot).0 as usize])).collect();
        let bindings = (0..arguments.len()).filter(|n| given.shared[*n].is_none());
        let window = |(argument, number): (usize, u32)| {
            let begin = u64::from(number) * capabilities.window();
            let whole = given.windows.get(argument).is_none_or(|n| *n == 1);
            let size =
                if whole { roots[argument] } else { (roots[argument] - begin).min(capabilities.window()) };
            Window { argument, begin, size }
        };
        let windows = |n: usize| (0..given.windows.get(n).copied().unwrap_or(1)).map(move |w| (n, w));
        let bindings = bindings.flat_map(windows).map(window).collect();
        let ready = HashMap::new();
        self.filled.launches.push(Launching {
            pipelines,
            bound,
            workgroups,
            arguments,
            bindings,
            based,
            ready,
            placed: HashMap::new(),
        });
        Ok(Some(Item::Launch(self.filled.launches.len() - 1)))
    }
}

//! Timing: blocks of a case and of its limit in turn, with one thread and with two.
//!
//! A machine is never quiet: clocks change and others work. So a rate is compared with the limit measured in the block
//! beside it, and what is reported is the median over the blocks. How much the processors did for others meanwhile is
//! reported too.

use crate::Failure;
use crate::case::{Case, Instance, Work};
use lawson::Team;
use lawson_cpu::limits::{Limit, Limits, median};
use std::time::Instant;

/// How long and how often.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How many blocks of each.
    pub blocks: usize,
    /// How long a block takes at least, in seconds.
    pub seconds: f64,
}

/// Medians over the blocks of one case on one team.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// How many threads.
    pub threads: usize,
    /// Seconds a run.
    pub seconds: f64,
    /// The seconds of the fastest run.
    pub best: f64,
    /// Work a second, in operations or bytes.
    pub rate: Option<f64>,
    /// The rate as a part of the limit in the block beside it.
    pub part: Option<f64>,
    /// The rate of the fastest run as a part of the greatest limit: less disturbed where others work.
    pub best_part: Option<f64>,
    /// Processors that others used meanwhile.
    pub foreign: f64,
}

/// Teams and their limits, which all cases share.
pub struct Bench {
    teams: Vec<(Team, Limits)>,
    effort: Effort,
}

impl Bench {
    /// For these numbers of threads.
    pub fn new(threads: &[usize], effort: Effort) -> Result<Bench, Failure> {
        let mut teams = Vec::new();
        for n in threads {
            let team = Team::new(*n)?;
            let limits = Limits::new(&team)?;
            teams.push((team, limits));
        }
        Ok(Bench { teams, effort })
    }

    /// One measurement of a limit on each team.
    pub fn limit(&mut self, limit: Limit) -> Result<Vec<(usize, f64)>, Failure> {
        let mut out = Vec::new();
        for (team, limits) in &mut self.teams {
            let mut rates = Vec::new();
            for _ in 0..self.effort.blocks {
                rates.push(limits.measure(limit)?.median);
            }
            out.push((team.members(), median(rates)));
        }
        Ok(out)
    }

    /// Checks and times a case on every team.
    pub fn time(&mut self, case: &Case) -> Result<Vec<Timed>, Failure> {
        let problem = (case.make)()?;
        let oracle = problem.oracle()?;
        let mut runs: Vec<Runs> = Vec::new();
        for (team, _) in &self.teams {
            runs.push(Runs::new(problem.instances(team, &oracle)?));
        }
        for _ in 0..self.effort.blocks {
            for ((_, limits), runs) in self.teams.iter_mut().zip(&mut runs) {
                let before = Busy::now();
                let limit = match case.work {
                    Work::Flops(_) => Some(limits.measure(Limit::Fma)?),
                    Work::Bytes(_, limit) => Some(limits.measure(limit)?),
                    Work::Run => None,
                };
                let (seconds, best) = runs.block(self.effort.seconds)?;
                runs.seconds.push(seconds);
                runs.best = runs.best.min(best);
                if let Some((limit, amount)) = limit.zip(case.work.amount()) {
                    runs.parts.push(amount / seconds / limit.median);
                    runs.limit = runs.limit.max(limit.best);
                }
                runs.foreign.push(Busy::now().foreign(&before));
            }
        }
        let timed = self.teams.iter().zip(runs).map(|((team, _), runs)| {
            let (best, limit) = (runs.best, runs.limit);
            let seconds = median(runs.seconds);
            Timed {
                threads: team.members(),
                seconds,
                best,
                rate: case.work.amount().map(|a| a / seconds),
                part: (!runs.parts.is_empty()).then(|| median(runs.parts)),
                best_part: case.work.amount().filter(|_| limit > 0.0).map(|a| a / best / limit),
                foreign: median(runs.foreign),
            }
        });
        Ok(timed.collect())
    }
}

impl Work {
    fn amount(self) -> Option<f64> {
        match self {
            Work::Flops(n) | Work::Bytes(n, _) => Some(n),
            Work::Run => None,
        }
    }
}

/// The instances of a case on one team, and what was measured of them.
struct Runs {
    instances: Vec<Instance>,
    next: usize,
    /// Runs in one look at the clock.
    batch: usize,
    seconds: Vec<f64>,
    /// The fastest run, and the greatest limit beside any.
    best: f64,
    limit: f64,
    parts: Vec<f64>,
    foreign: Vec<f64>,
}

/// What is timed at once takes at least so many seconds, so that the clock does not count.
const TICK: f64 = 20e-6;

impl Runs {
    fn new(instances: Vec<Instance>) -> Runs {
        Runs {
            instances,
            next: 0,
            batch: 1,
            seconds: Vec::new(),
            best: f64::INFINITY,
            limit: 0.0,
            parts: Vec::new(),
            foreign: Vec::new(),
        }
    }

    /// The median and the least seconds of a run in one block. The first run brings the caches into the state that runs leave.
    fn block(&mut self, least: f64) -> Result<(f64, f64), Failure> {
        let mut times = Vec::new();
        let begin = Instant::now();
        let count = self.instances.len();
        if count == 0 {
            return Err("a case without graphs".into());
        }
        let short = self.seconds.last().is_none_or(|last| *last < least);
        while times.len() < count || begin.elapsed().as_secs_f64() < least {
            let batch = self.batch;
            let seconds = self.instances[self.next % count].with(|run| {
                if count == 1 && times.is_empty() && short {
                    run()?;
                }
                let one = Instant::now();
                for _ in 0..batch {
                    run()?;
                }
                Ok(one.elapsed().as_secs_f64())
            })?;
            self.next += 1;
            if count == 1 && seconds < TICK {
                self.batch = (batch as f64 * (1.2 * TICK / seconds.max(1e-9))).ceil() as usize;
                continue;
            }
            times.push(seconds / batch as f64);
        }
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        Ok((median(times), least))
    }
}

/// What processors did up to a moment: all of them, and this process.
struct Busy {
    at: Instant,
    all: f64,
    own: f64,
}

impl Busy {
    fn now() -> Busy {
        let numbers = |text: &str, skip: usize| -> Vec<f64> {
            text.split_whitespace().skip(skip).filter_map(|w| w.parse().ok()).collect()
        };
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let stat = read("/proc/stat");
        let all = numbers(stat.lines().next().unwrap_or_default(), 1);
        // user, nice, system, (idle, waiting,) interrupts, soft interrupts, stolen
        let all = [0, 1, 2, 5, 6, 7].iter().filter_map(|i| all.get(*i)).sum::<f64>() / TICKS;
        let own = read("/proc/self/stat");
        // The name of the program stands in brackets and may hold anything.
        let own = numbers(own.rsplit_once(')').map_or("", |(_, rest)| rest), 1);
        let own = own.get(10..12).map_or(0.0, |t| t.iter().sum::<f64>() / TICKS);
        Busy { at: Instant::now(), all, own }
    }

    /// Processors that were busy with something else since.
    fn foreign(&self, before: &Busy) -> f64 {
        let seconds = (self.at - before.at).as_secs_f64();
        (((self.all - before.all) - (self.own - before.own)) / seconds.max(1e-9)).max(0.0)
    }
}

/// The unit of `/proc/stat`, in every system of today.
const TICKS: f64 = 100.0;

//! What a barrier and a run cost: `cargo bench -p lawson-cpu --bench team`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use lawson_cpu::team::{Member, Team, TeamError};

/// Best, median and mean nanoseconds of one of `count` calls, over `samples`.
fn measure(name: &str, samples: usize, count: u32, mut calls: impl FnMut(u32)) {
    let mut times: Vec<f64> = (0..samples)
        .map(|_| {
            let start = Instant::now();
            calls(count);
            start.elapsed().as_secs_f64() * 1e9 / f64::from(count)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let (best, median, mean) = (times[0], times[samples / 2], times.iter().sum::<f64>() / samples as f64);
    println!("{name:<44} best {best:>9.1} ns, median {median:>9.1} ns, mean {mean:>9.1} ns");
}

fn work(member: Member<'_>) {
    black_box(member.index());
}

fn main() -> Result<(), TeamError> {
    for members in [1, 2, 4] {
        let team = Team::new(members)?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let (samples, count) = if members > processors { (100, 50) } else { (2000, 100) };
        measure(&format!("barrier, {members} members"), samples, count, |count| {
            team.run(|member| (0..count).for_each(|_| member.barrier()));
        });
        measure(&format!("run, {members} members, one after another"), samples, count, |count| {
            (0..count).for_each(|_| team.run(work));
        });
        let mut asleep = Duration::ZERO;
        let rounds = 100;
        for _ in 0..rounds {
            std::thread::sleep(Duration::from_millis(1));
            let start = Instant::now();
            team.run(work);
            asleep += start.elapsed();
        }
        println!(
            "{:<44} mean {:>9.1} ns",
            format!("run, {members} members, asleep"),
            asleep.as_nanos() as f64 / f64::from(rounds)
        );
    }
    Ok(())
}

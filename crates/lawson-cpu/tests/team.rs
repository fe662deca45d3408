//! The team: every member runs, barriers hold, panics travel, nothing deadlocks.
#![allow(clippy::unwrap_used)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use lawson_cpu::team::{Member, Pinning, Team, TeamError, TeamOptions};

/// Sizes up to many more members than processors.
const SIZES: [usize; 6] = [1, 2, 3, 4, 7, 16];

fn counters(count: usize) -> Vec<AtomicUsize> {
    (0..count).map(|_| AtomicUsize::new(0)).collect()
}

fn message(panic: Box<dyn std::any::Any + Send>) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| text.to_string())
        .or_else(|| panic.downcast_ref().cloned())
        .unwrap()
}

#[test]
fn every_member_runs_once_a_run_with_its_own_index() {
    for size in SIZES {
        let team = Team::new(size).unwrap();
        let runs = counters(size);
        for _ in 0..500 {
            team.run(|member| {
                assert_eq!(member.count(), size);
                runs[member.index()].fetch_add(1, Relaxed);
            });
        }
        assert!(runs.iter().all(|count| count.load(Relaxed) == 500), "{size} members: {runs:?}");
    }
}

/// Between two barriers every member sees what all wrote before the first.
fn meet(team: &Team, rounds: usize) {
    let (size, cells) = (team.members(), counters(team.members()));
    team.run(|member| {
        for round in 1..=rounds {
            cells[member.index()].store(round, Relaxed);
            member.barrier();
            for cell in &cells {
                assert_eq!(cell.load(Relaxed), round, "{size} members");
            }
            member.barrier();
        }
    });
}

#[test]
fn no_member_passes_a_barrier_before_all_arrived() {
    for size in SIZES {
        let team = Team::new(size).unwrap();
        meet(&team, if size <= 2 { 20_000 } else { 1000 });
    }
}

#[test]
fn barriers_hold_when_members_never_spin_and_when_they_always_do() {
    for spin in [Duration::ZERO, Duration::from_secs(1)] {
        let team = Team::with(TeamOptions { spin, ..TeamOptions::new(2) }).unwrap();
        meet(&team, 2000);
        team.run(|_| {});
        meet(&team, 1);
    }
}

#[test]
fn a_slow_member_is_waited_for_asleep() {
    let team = Team::with(TeamOptions { spin: Duration::from_micros(1), ..TeamOptions::new(3) }).unwrap();
    for round in 0..30 {
        let sum = AtomicUsize::new(0);
        team.run(|member| {
            if member.index() == round % 3 {
                (0..200_000).for_each(|step| {
                    std::hint::black_box(step);
                });
                sum.store(7, Relaxed);
            }
            member.barrier();
            assert_eq!(sum.load(Relaxed), 7);
        });
    }
}

#[test]
fn runs_from_many_threads_queue_up() {
    let team = Team::new(2).unwrap();
    let (inside, total) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let team = team.clone();
            let (inside, total) = (&inside, &total);
            scope.spawn(move || {
                for _ in 0..200 {
                    team.run(|member| {
                        if member.index() == 0 {
                            assert_eq!(inside.fetch_add(1, Relaxed), 0, "two runs at once");
                        }
                        member.barrier();
                        total.fetch_add(1, Relaxed);
                        member.barrier();
                        if member.index() == 0 {
                            inside.fetch_sub(1, Relaxed);
                        }
                    });
                }
            });
        }
    });
    assert_eq!(total.load(Relaxed), 8 * 200 * 2);
}

#[test]
fn a_panic_reaches_the_caller_while_others_wait_at_a_barrier() {
    for size in SIZES {
        let team = Team::new(size).unwrap();
        for panicking in 0..size {
            for after in 0..3 {
                let work = |member: Member<'_>| {
                    for round in 0..4 {
                        if member.index() == panicking && round == after {
                            panic!("member {panicking} stops");
                        }
                        member.barrier();
                    }
                };
                let panic = catch_unwind(AssertUnwindSafe(|| team.run(work))).unwrap_err();
                assert_eq!(message(panic), format!("member {panicking} stops"));
            }
            meet(&team, 3);
        }
    }
}

#[test]
fn when_all_panic_one_panic_reaches_the_caller() {
    let team = Team::new(4).unwrap();
    for _ in 0..20 {
        let panic = catch_unwind(AssertUnwindSafe(|| team.run(|_| panic!("all stop")))).unwrap_err();
        assert_eq!(message(panic), "all stop");
    }
    meet(&team, 3);
}

#[test]
fn a_run_inside_a_run_has_the_one_member_that_asks() {
    let (team, other) = (Team::new(2).unwrap(), Team::new(3).unwrap());
    let runs = AtomicUsize::new(0);
    team.run(|_| {
        for inner in [&team, &other] {
            inner.run(|member| {
                assert_eq!((member.index(), member.count()), (0, 1));
                member.barrier();
                runs.fetch_add(1, Relaxed);
            });
        }
    });
    assert_eq!(runs.load(Relaxed), 4);
    other.run(|member| assert_eq!(member.count(), 3));
}

#[test]
fn shares_cover_everything_once_and_evenly() {
    for size in SIZES {
        let team = Team::new(size).unwrap();
        for items in [0, 1, 5, 16, 17, 1000] {
            let hits = counters(items);
            team.run(|member| {
                let share = member.share(items);
                assert!(share.len() == items / size || share.len() == items / size + 1);
                share.for_each(|item| {
                    hits[item].fetch_add(1, Relaxed);
                });
            });
            assert!(hits.iter().all(|hit| hit.load(Relaxed) == 1));
        }
    }
}

#[test]
fn teams_come_and_go() {
    for round in 0..200 {
        let team = Team::new(1 + round % 5).unwrap();
        let clone = team.clone();
        drop(team);
        clone.run(|member| member.barrier());
    }
}

#[test]
fn pinned_members_run_too() {
    let team = Team::with(TeamOptions { pinning: Pinning::Pinned, ..TeamOptions::new(3) }).unwrap();
    meet(&team, 100);
}

#[test]
fn a_team_of_nobody_is_an_error() {
    assert!(matches!(Team::new(0), Err(TeamError::NoMembers)));
}

//! The borrow checker on plans written by hand: `tests/plans/*.plan`, each with what the checker says of it beside it. With
//! `LAWSON_BLESS=1` these are written anew. And the text form of plans: round trips, and texts that are no plans.
#![allow(clippy::unwrap_used)]

use lawson_graph::random::{GraphShape, Rng, random_bindings, random_graph};
use lawson_graph::{Code, Error, Graph};
use lawson_kernel::borrow::{Report, check_text};
use lawson_kernel::compile::compile;
use lawson_kernel::machine::Machine;
use lawson_kernel::{Action, Barrier, Place, Plan, borrow};
use std::path::{Path, PathBuf};

fn plans() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/plans");
    let files = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|p| p.extension().is_some_and(|e| e == "plan")).collect();
    files.sort();
    files
}

fn read(path: &Path) -> (String, String) {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    (std::fs::read_to_string(path).unwrap(), name)
}

fn render(report: &Report) -> String {
    let mut out = String::new();
    for error in &report.errors {
        out += &format!("{error}\n");
    }
    for warning in &report.warnings {
        out += &format!("warning: {warning}\n");
    }
    for note in &report.notes {
        out += &format!("note: {note}\n");
    }
    if report.errors.is_empty() {
        out += "fine\n";
    }
    out
}

#[test]
fn plans_written_by_hand_are_judged_as_stated() {
    let bless = std::env::var_os("LAWSON_BLESS").is_some();
    let mut wrong = Vec::new();
    for path in plans() {
        let (text, name) = read(&path);
        let plan = Plan::read(&text, Some(&name)).unwrap_or_else(|e| panic!("{e}"));
        let found = render(&check_text(&plan));
        let beside = path.with_extension("txt");
        if bless {
            std::fs::write(&beside, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&beside).unwrap_or_default();
        if found != expected {
            wrong.push(format!("{name}\nexpected:\n{expected}\nfound:\n{found}"));
        }
    }
    assert!(plans().len() > 25);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_printed_reads_back_to_the_same_text() {
    for path in plans() {
        let (text, name) = read(&path);
        let first = Plan::read(&text, Some(&name)).unwrap();
        let printed = first.plan.to_text(first.bound.as_ref());
        let second = Plan::read(&printed, None).unwrap_or_else(|e| panic!("{name}: {e}\n{printed}"));
        assert_eq!(second.plan.to_text(second.bound.as_ref()), printed, "{name}");
        let judge = |p: &lawson_kernel::WrittenPlan| check_text(p).errors.len();
        assert_eq!(judge(&first), judge(&second), "{name}");
    }
}

/// Without the comments, which say why something is left to the interpreter.
fn bare(text: &str) -> String {
    text.lines().filter(|l| !l.trim_start().starts_with("//")).map(|l| format!("{l}\n")).collect()
}

fn random_plan(seed: u64) -> (Graph, Plan) {
    let graph = random_graph(&mut Rng::new(seed), &GraphShape::default()).unwrap();
    let plan = compile(&graph, &Machine::default()).unwrap();
    (graph, plan)
}

#[test]
fn plans_of_random_graphs_are_right_and_read_back() {
    for seed in 0..150 {
        let (graph, plan) = random_plan(seed);
        let report = borrow::check(&plan, None);
        assert!(
            report.errors.is_empty() && report.warnings.is_empty(),
            "{}\n{plan}\n{graph}",
            render(&report)
        );
        let printed = plan.to_text(None);
        let read = Plan::parse(&printed, None).unwrap_or_else(|e| panic!("{e}\n{printed}"));
        assert_eq!(bare(&read.plan.to_text(None)), bare(&printed));
        assert!(borrow::check(&read.plan, None).errors.is_empty(), "{printed}");
    }
}

/// A plan of Lawson's from which one barrier is taken: every barrier is needed, so every such plan is wrong.
/// On a device: what is left to the host has transfers around it, every value a home, and the checker agrees with both.
#[test]
fn plans_for_devices_have_transfers_and_homes() {
    let (mut transfers, mut shared) = (0, 0);
    for seed in 0..60 {
        let (graph, mut plan) = random_plan(seed);
        for k in (0..plan.kernels.len()).step_by(2) {
            plan.evaluate(k, &Error::new(Code::NotEmitted, "every other kernel is the host's"));
        }
        plan.add_transfers().unwrap_or_else(|e| panic!("seed {seed}: {e}\n{graph}"));
        let constants = plan.constants_of_host();
        plan.visit(&mut |step, _| {
            transfers += usize::from(matches!(step.action, Action::Transfer));
            for region in &step.buffers {
                // A constant of the host is read by the host alone.
                let of_host = match &plan.buffer(region.slot).place {
                    Place::Host | Place::Value(_) => true,
                    Place::Constant { .. } => constants.contains(&region.slot),
                    _ => false,
                };
                let moved = matches!(step.action, Action::Transfer);
                assert!(moved || of_host == step.action.is_on_host(), "seed {seed}: {}", plan.describe(step));
            }
        });
        let bindings = random_bindings(&mut Rng::new(seed), &graph, 9).unwrap();
        let apart = plan.bind_apart(&bindings).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{plan}"));
        let report = borrow::check(&plan, Some(&apart.bound().unwrap()));
        assert!(report.errors.is_empty(), "seed {seed}: {}\n{plan}", render(&report));
        shared += apart.homes.iter().flatten().count() - apart.sizes.len();
        let text = plan.to_text(None);
        let read = Plan::parse(&text, None).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        assert_eq!(bare(&read.plan.to_text(None)), bare(&text), "seed {seed}");
    }
    assert!(transfers > 100 && shared > 10, "{transfers} transfers, {shared} values in homes of others");
}

#[test]
fn a_plan_without_one_of_its_barriers_is_refused() {
    let mut broken = 0;
    for seed in 0..150 {
        let (graph, plan) = random_plan(seed);
        for n in 0..plan.steps.len() {
            if plan.steps[n].barrier == Barrier::None || plan.steps[n].action.is_control() {
                continue;
            }
            let mut without = plan.clone();
            without.steps[n].barrier = Barrier::None;
            let report = borrow::check(&without, None);
            let race = report.errors.iter().any(|e| e.code() == Code::PlanRace);
            assert!(race, "step {n}: {}\n{plan}\n{graph}", render(&report));
            broken += 1;
        }
    }
    assert!(broken > 100, "{broken}");
}

#[test]
fn texts_that_are_no_plans_are_errors_with_a_place() {
    let cases = [
        ("", Code::Syntax, "`lawson-plan`"),
        ("lawson-plan 2 plan @p { }", Code::Version, "version 1"),
        ("lawson-plan 1 plan p { }", Code::Syntax, "@mlp"),
        ("lawson-plan 1 plan @p { input x: 4 }", Code::Syntax, "number"),
        ("lawson-plan 1 plan @p { arena x: 4 arena x: 4 }", Code::DuplicateName, "`x`"),
        (
            "lawson-plan 1 plan @p { arena left: 4 step a writes lift }",
            Code::UnknownName,
            "did you mean `left`",
        ),
        ("lawson-plan 1 plan @p { arena x: 4 jump a }", Code::Syntax, "no step"),
        ("lawson-plan 1 plan @p { arena x: 4 step a writes x[0 64] }", Code::Syntax, "`to`"),
        ("lawson-plan 1 plan @p { arena x: 4 launch 0 @k (-> x) }", Code::UnknownName, "kernel 0"),
        ("lawson-plan 1 plan @p { arena x: 4 loop 3 { } }", Code::Syntax, "`times`"),
        ("lawson-plan 1 plan @p { arena x: 4 at 0 arena y: N }", Code::PlanRegion, "numbers"),
        ("lawson-plan 1 plan @p { arena x: 4 at 0 arena y: 4 step a writes y }", Code::PlanRegion, "`at`"),
        ("lawson-plan 1 plan @p { unsafe name { } }", Code::Syntax, "quotes"),
        ("lawson-plan 1 plan @p { row r of r: 4 }", Code::UnknownName, "`r`"),
        ("lawson-plan 1 plan @p { ", Code::Syntax, "end of the text"),
        ("\u{feff}lawson-plan 1 plan @p { }", Code::Syntax, "byte order mark"),
        ("lawson-plan 1 plan @p { arena x: 4*9223372036854775807 }", Code::Syntax, "too large"),
        ("lawson-plan 1 plan @p { arena x: 9223372036854775808 }", Code::DimOverflow, "63 bits"),
        ("lawson-plan 1 plan @p { arena x: 0 - 4 }", Code::PlanRegion, "less than 0"),
        ("lawson-plan 1 plan @p { input 18446744073709551615 x: 4 }", Code::DimOverflow, "63 bits"),
        ("lawson-plan 1 plan @p { arena x: 4 at 18446744073709551615 }", Code::DimOverflow, "63 bits"),
        ("lawson-plan 1 plan @p { arena x: 4 at 9223372036854775807 }", Code::DimOverflow, "last byte"),
        (
            "lawson-plan 1 plan @p { arena x: 4 step a writes x[0 to 99999999999999999999] }",
            Code::DimOverflow,
            "63 bits",
        ),
        (
            "lawson-plan 1 plan @p { arena x: 4 loop 99999999999999999999 times { } }",
            Code::DimOverflow,
            "63 bits",
        ),
        ("lawson-plan 1 plan @p { output 0 x: 4 output 0 y: 4 }", Code::DuplicateName, "output 0"),
        ("lawson-plan 1 plan @p { input 0 x: 4 value y of input 0 }", Code::DuplicateName, "input 0"),
        ("lawson-plan 1 plan @p { arena x: 4 step a writes x barrier }", Code::Syntax, "behind this barrier"),
        ("lawson-plan 1 plan @p { barrier barrier step a }", Code::Syntax, "behind this barrier"),
        ("lawson-plan 1 plan @p { barrier unsafe \"r\" { } step a }", Code::Syntax, "empty"),
        ("lawson-plan 1 plan @p { unsafe \"r\" { unsafe \"s\" { step a } } }", Code::Syntax, "another"),
        ("lawson-plan 1 plan @p { unsafe \"r\" { loop 2 times { step a } } }", Code::Syntax, "as a whole"),
        (
            "lawson-plan 1 plan @p { stage @s (->) { arena x: 4 at 0 } }",
            Code::PlanRegion,
            "placed in the run",
        ),
    ];
    for (text, code, part) in cases {
        let error = Plan::parse(text, None).unwrap_err();
        assert_eq!(error.code(), code, "{text}: {error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
        assert!(!error.places().is_empty(), "{text}: {error}");
    }
    let deep = format!("lawson-plan 1 plan @p {{ arena c: 1 {}", "branch c then { ".repeat(10_000));
    assert_eq!(Plan::parse(&deep, None).unwrap_err().code(), Code::Syntax);
}

#[test]
fn mangled_texts_never_panic() {
    let mut rng = Rng::new(7);
    for path in plans() {
        let (text, _) = read(&path);
        for _ in 0..60 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..=rng.below(3) {
                let at = rng.below(bytes.len());
                match rng.below(3) {
                    0 => bytes[at] = b" {}[]0a:,-"[rng.below(10)],
                    1 => drop(bytes.remove(at)),
                    _ => bytes.truncate(at.max(20)),
                }
            }
            let Ok(text) = String::from_utf8(bytes) else { continue };
            if let Ok(read) = Plan::read(&text, None) {
                check_text(&read);
            }
        }
    }
}

//! `bench` without a file: rows, files, plots, what is said of them, and what is refused. Times are never compared.

use crate::folder::{Folder, err, out};
use serde_json::Value as Json;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Output, Stdio};

/// Small enough to be quick on any device.
const SMALL: &[&str] =
    &["--size", "4,8", "--depth", "6", "--seconds", "9", "--iterations", "4", "--samples", "2"];

fn bench(f: &Folder, more: &[&str]) -> Output {
    f.run(&[&["bench"], SMALL, more].concat())
}

fn rows(report: &Json) -> &Vec<Json> {
    report["rows"].as_array().unwrap()
}

#[test]
fn every_mode_runs_on_every_device_and_gives_what_the_oracle_gives() {
    let f = Folder::new();
    let (report, code) = f.json(&[&["bench", "--json"], SMALL].concat());
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(report["left_out"].as_array().unwrap().len(), 0, "{report:#}");
    let devices = report["devices"].as_array().unwrap().len();
    assert!(devices >= 2, "no adapter was found");
    let names = |size: u64| -> Vec<&str> {
        rows(&report).iter().filter(|r| r["size"] == size).map(|r| r["mode"].as_str().unwrap()).collect()
    };
    let on_processor = ["cpu", "cpu_graph", "cpu_graph_fused", "loop_on_device"];
    let on_device = [
        "immediate",
        "graph",
        "graph_fused",
        "graph_cached",
        "graph_cached_fused",
        "graph_loop",
        "graph_loop_fused",
        "graph_loop_cached",
        "graph_loop_cached_fused",
        "loop_on_device",
    ];
    for size in [4, 8] {
        let mut expected = on_processor.to_vec();
        (1..devices).for_each(|_| expected.extend(on_device));
        assert_eq!(names(size), expected);
    }
    for r in rows(&report) {
        assert!(r["error"].as_f64().unwrap() <= report["tolerance"].as_f64().unwrap(), "{r}");
        assert!(r["median_us"].as_f64().unwrap() > 0.0 && r["samples"].as_u64().unwrap() >= 2, "{r}");
        assert!(r["launches"].as_f64().unwrap() >= 1.0 && r["bytes"].as_f64().unwrap() > 0.0, "{r}");
    }
    // What the numbers are said to mean speaks of each device.
    assert!(report["meaning"].as_str().unwrap().contains("loop_on_device is"), "{report:#}");
}

#[test]
fn modes_differ_in_what_they_give_a_device_to_do() {
    let f = Folder::new();
    let (report, _) = f.json(&[&["bench", "--json", "--device", "0"], SMALL].concat());
    let row =
        |mode: &str| rows(&report).iter().find(|r| r["mode"] == mode && r["size"] == 8).unwrap().clone();
    let number = |mode: &str, what: &str| row(mode)[what].as_f64().unwrap();
    // A submission for every operator, one for every iteration, one for all four.
    let operators = 5.0;
    assert_eq!(number("immediate", "submissions"), operators + 1.0, "and one that reads the result");
    for mode in ["graph_cached", "graph_cached_fused", "graph_loop_cached", "graph_loop_cached_fused"] {
        assert_eq!(number(mode, "submissions"), 1.0, "{mode}");
    }
    assert_eq!(number("loop_on_device", "submissions"), 0.25);
    // The loop inside takes the input there and the result back once.
    let (outside, inside) =
        (number("graph_cached", "transferred_bytes"), number("loop_on_device", "transferred_bytes"));
    assert_eq!((outside, inside), (64.0, 16.0));
    // Compiling takes the weights there, each time.
    assert!(number("graph", "transferred_bytes") > number("graph_loop", "transferred_bytes"));
    assert!(number("graph_loop", "transferred_bytes") > outside);
    assert!(number("graph_cached_fused", "launches") < number("graph_cached", "launches"));
    assert_eq!(number("graph_cached_fused", "launches"), number("loop_on_device", "launches"));
    assert!(number("graph_cached_fused", "bytes") < number("graph_cached", "bytes"));
}

#[test]
fn a_table_a_file_and_plots_are_written_and_nothing_else_is() {
    let f = Folder::new();
    let more = ["--device", "cpu", "--csv", "all.csv", "--plots", "plots/here"];
    let output = bench(&f, &more);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    for part in
        ["depth 6, size 4", "cpu_graph_fused", "wrote plots/here/size.svg", "wrote all.csv", "fusing saved"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let csv = fs::read_to_string(f.path("all.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + 2 * 4, "{csv}");
    assert!(lines[0].starts_with("mode,device,kind,depth,size,"), "{csv}");
    let fields = lines[0].split(',').count();
    assert!(lines[1..].iter().all(|l| l.matches(',').count() + 1 >= fields), "{csv}");
    let svg = fs::read_to_string(f.path("plots/here/size.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains(">cpu_graph_fused</text>"), "{svg}");
    let png = fs::read(f.path("plots/here/size.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG") && png.len() > 5000);
    // One depth makes no plot over depth, and no temporary file stays.
    let names = |folder: &str| {
        let all = fs::read_dir(f.path(folder)).unwrap();
        let mut all: Vec<String> = all.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    };
    assert_eq!(names("plots/here"), ["size.png", "size.svg"]);
    assert!(
        names(".").iter().all(|n| ["all.csv", "cache", "plots"].contains(&n.as_str())),
        "{:?}",
        names(".")
    );
}

/// Runs many points, each of which lasts, and ends the command when it has printed so many lines.
fn interrupted(f: &Folder, more: &[&str], lines: usize) -> String {
    let sizes = "4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,72,76,80";
    let lasting = ["--depth", "6", "--size", sizes, "--seconds", "1", "--samples", "1000000"];
    let args = [&["bench", "--device", "cpu", "--modes", "cpu_graph"], &lasting[..], more].concat();
    let mut child = f.command(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    (0..lines).for_each(|_| assert!(out.read_line(&mut text).unwrap() > 0, "{text}"));
    child.kill().unwrap();
    child.wait().unwrap();
    out.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_sweep_that_is_interrupted_leaves_the_rows_that_it_has() {
    let f = Folder::new();
    let text = interrupted(&f, &["--csv", "rows.csv"], 5);
    assert!(text.contains("\ndepth 6, size 4\n") && text.contains("\n  cpu_graph "), "{text}");
    assert!(!text.contains("size 80"), "{text}");
    // A file is written after the table, so the row that was printed last may be missing from it.
    let text = interrupted(&f, &["--csv", "rows.csv", "--json"], 3);
    let csv = fs::read_to_string(f.path("rows.csv")).unwrap();
    assert!(csv.starts_with("mode,device,") && csv.contains("\ncpu_graph,"), "{csv}");
    // A document that lacks its end is whole with that of its rows.
    let report: Json = serde_json::from_str(&format!("{text}]}}")).unwrap();
    assert!((2..20).contains(&rows(&report).len()), "{text}");
    assert_eq!(rows(&report)[1]["size"], 8);
}

#[test]
fn equal_seeds_make_equal_lists_and_other_seeds_do_not() {
    let f = Folder::new();
    let bytes = |seed: &str| -> Vec<f64> {
        let more = ["--json", "--device", "cpu", "--modes", "cpu_graph", "--seed", seed, "--depth", "40"];
        let args = [&["bench", "--size", "4", "--seconds", "9", "--samples", "1"], &more[..]].concat();
        let (report, code) = f.json(&args);
        assert_eq!(code, 0, "{report:#}");
        rows(&report).iter().map(|r| r["bytes"].as_f64().unwrap()).collect()
    };
    assert_eq!(bytes("3"), bytes("3"));
    assert_ne!(bytes("3"), bytes("4"));
}

#[test]
fn what_takes_too_long_is_left_out_and_said() {
    let f = Folder::new();
    // Any call takes longer than no time at all.
    let args = ["bench", "--size", "4,64", "--depth", "6", "--seconds", "0", "--modes", "cpu,cpu_graph"];
    let (report, code) = f.json(&[&args[..], &["--json"]].concat());
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(rows(&report).len(), 0);
    let left = report["left_out"].as_array().unwrap();
    let why = |n: usize| left[n]["why"].as_str().unwrap();
    assert_eq!(left.len(), 4);
    assert_eq!((&left[0]["mode"], &left[0]["size"]), (&Json::from("cpu"), &Json::from(4)));
    assert!(why(0).contains("--seconds 0 has patience for"), "{left:?}");
    assert_eq!(why(3), "calls took too long at depth 6, size 4 already");
    let text = out(&f.run(&args));
    assert!(text.contains("\n  depth 6, size 64: cpu, cpu_graph on device 0: calls took too long"), "{text}");
    assert!(text.contains("Too few modes"), "{text}");
}

#[test]
fn wrong_flags_are_errors_that_say_what_to_do() {
    let f = Folder::new();
    f.file("neg.law", "lawson 1\ngraph @neg(%x: f32[3]) -> (y: f32[3]) { %y = neg %x return %y }\n");
    for (args, said) in [
        (&["--depth", "2"][..], "the depth counts the two transfers"),
        (&["--size", "0"], "at least one column"),
        (&["--batch", "0"], "at least one row"),
        (&["--iterations", "0"], "once or more"),
        (&["--samples", "0"], "a median needs a call"),
        (&["--seconds=-1"], "--seconds is a number"),
        (&["--modes", "fast"], "graph_loop_cached_fused"),
        (&["--device", "no such device"], "say cpu"),
        (&["--device", "cpu", "--modes", "immediate"], "leave --device out"),
        (&["--device", "0", "--modes", "cpu"], "say --device cpu"),
        (&["--device", "cpu", "--size", "4", "--depth", "4", "--seconds", "0", "--plots", "p"], "two sizes"),
        (&["--kernels"], "FILE"),
        (&["--input", "random"], "FILE"),
        (&["neg.law", "--quick"], "--quick"),
        (&["neg.law", "--modes", "cpu"], "--modes"),
    ] {
        let output = f.run(&[&["bench"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", err(&output));
        assert!(err(&output).contains(said), "{args:?}: {}", err(&output));
    }
}

#[test]
fn files_that_cannot_be_written_are_errors_before_anything_is_measured() {
    let f = Folder::new();
    f.file("a-file", "");
    for (args, said) in [
        (&["--csv", "nowhere/all.csv"][..], "make it, or name a file in another folder"),
        (&["--plots", "a-file/plots"], "name another one with --plots"),
    ] {
        let output = bench(&f, &[&["--device", "cpu"], args].concat());
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", err(&output));
        assert!(err(&output).contains(said), "{args:?}: {}", err(&output));
        assert_eq!(out(&output), "", "{args:?}");
    }
}

//! `opt` and `bisect`.

use crate::folder::{Folder, MLP, err, fails, fine, json, out};
use std::path::Path;

#[test]
fn opt_prints_and_writes_graphs() {
    let folder = Folder::new();
    folder.file("m.law", MLP);
    let text = fine(&folder.run(&["opt", "m.law"]));
    assert!(text.contains("reduce_max") && !text.contains("softmax"), "{text}");
    assert!(fine(&folder.pipe(&["check", "-"], &text)).contains("fine"));
    fine(&folder.run(&["opt", "m.law", "-o", "small.law"]));
    fine(&folder.run(&["check", "small.law"]));
    let none = fine(&folder.run(&["opt", "m.law", "--passes", "none"]));
    assert!(none.contains("softmax"), "{none}");
    let report = json(&folder.run(&["opt", "m.law", "--json"]));
    assert_eq!(report["nodes_before"], 3);
    assert_eq!(report["passes"][0]["pass"], "dead-code");
}

#[test]
fn opt_dumps_stops_and_lists() {
    let folder = Folder::new();
    folder.file("m.law", MLP);
    let output =
        folder.run(&["opt", "m.law", "--passes", "dead-code,decompose", "--dump-after", "decompose"]);
    fine(&output);
    assert!(err(&output).contains("// after pass 2, decompose\nlawson 1"), "{}", err(&output));
    let text = fine(&folder.run(&["opt", "m.law", "--passes", "dead-code,decompose", "--stop-after", "1"]));
    assert!(text.contains("softmax"), "{text}");
    assert!(fine(&folder.run(&["opt", "--list"])).contains("standard: "));
    fails(&folder.run(&["opt", "m.law", "--passes", "decompos"]), 1, "did you mean `decompose`");
    fails(&folder.run(&["opt", "m.law", "--dump-after", "x"]), 1, "E0502");
}

#[test]
fn a_path_to_a_device_is_written_to_and_not_replaced() {
    let folder = Folder::new();
    folder.file("m.law", MLP);
    if Path::new("/dev/null").exists() {
        fine(&folder.run(&["opt", "m.law", "-o", "/dev/null"]));
        assert!(!Path::new("/dev/null").is_file());
    }
}

#[test]
fn bisect_finds_the_standard_passes_fine() {
    let folder = Folder::new();
    folder.file("m.law", MLP);
    let text = fine(&folder.run(&["bisect", "m.law", "--trials", "2"]));
    assert!(text.starts_with("fine"), "{text}");
    assert_eq!(json(&folder.run(&["bisect", "m.law", "--json"]))["fine"], true);
    fails(&folder.run(&["bisect", "m.law", "--slack", "0.5"]), 2, "slack");
    fails(&folder.run(&["bisect", "m.law", "--trials", "0"]), 2, "trials");
}

#[test]
fn bisect_gives_no_verdict_where_nothing_is_determined() {
    let folder = Folder::new();
    let list = fine(&folder.run(&["list", "random", "--depth", "200", "--size", "32"]));
    let output = folder.pipe(&["bisect", "-", "--trials", "1"], &list);
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("no verdict"), "{}", out(&output));
}

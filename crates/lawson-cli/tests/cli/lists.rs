//! `list`: lists of operators.

use crate::folder::{Folder, fails, fine};
use std::fs;

#[test]
fn lists_are_made_fused_lowered_and_run() {
    let folder = Folder::new();
    let random = ["list", "random", "--depth", "12", "--size", "5", "--batch", "2", "--seed", "3"];
    fine(&folder.run(&[&random[..], &["-o", "recipe.json"]].concat()));
    fine(&folder.run(&[&random[..], &["--inline", "-o", "list.json"]].concat()));
    fine(&folder.run(&["list", "fuse", "list.json", "-o", "fused.json"]));
    fine(&folder.run(&["list", "unfuse", "fused.json", "-o", "separate.json"]));
    assert_eq!(fs::read(folder.path("list.json")).unwrap(), fs::read(folder.path("separate.json")).unwrap());
    assert!(fs::read_to_string(folder.path("fused.json")).unwrap().contains("LinearRelu"));
    let results: Vec<String> = ["recipe.json", "list.json", "fused.json"]
        .iter()
        .map(|file| fine(&folder.run(&["run", file, "--json"])))
        .collect();
    assert!(results.iter().all(|r| *r == results[0]));
    fine(&folder.run(&["list", "lower", "list.json", "--symbolic-batch", "N", "-o", "list.law"]));
    let text = fine(&folder.run(&["run", "list.law", "-i", "random", "--bind", "N=7"]));
    assert!(text.contains("f32[7, 5]"), "{text}");
    fails(&folder.run(&["list", "random", "--depth", "2"]), 1, "E0601");
    fails(&folder.run(&["list", "fuse", "list.law"]), 1, "not a list");
}

#[test]
fn wrong_lists_name_the_entry() {
    let folder = Folder::new();
    folder.file(
        "l.json",
        r#"{"lawson_list": 1, "operators": [{"op": "HostToDevice", "input": [[1, 2]]}, {"op": "Softmax"},
            {"op": "Relu"}, {"op": "DeviceToHost"}]}"#,
    );
    let text = fails(&folder.run(&["run", "l.json"]), 1, "E0604");
    assert!(text.contains("entry 1 of the list: Softmax") && text.contains("l.json"), "{text}");
}

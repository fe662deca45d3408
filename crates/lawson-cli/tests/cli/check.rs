//! `check`: files that are right, wrong or mangled; plans.

use crate::folder::{Folder, MLP, NEG, err, fails, fine, json, out};

#[test]
fn check_looks_at_all_files_and_counts() {
    let folder = Folder::new();
    folder.file("good.law", MLP).file("bad.law", MLP.replace("relu", "rely")).file("worse.law", [0xff, 0xfe]);
    let output = folder.run(&["check", "bad.law", "good.law", "worse.law", "none.law"]);
    let text = fails(&output, 1, "bad.law:6");
    assert!(text.contains("did you mean `relu`"), "{text}");
    assert!(out(&output).contains("good.law: fine"), "{}", out(&output));
    assert!(out(&output).contains("4 files, 1 fine, 3 wrong"), "{}", out(&output));
    fine(&folder.run(&["check", "good.law"]));
    let report = json(&folder.run(&["check", "--json", "good.law", "bad.law"]));
    assert_eq!(report["wrong"], 1);
    assert_eq!(report["files"][1]["error"]["code"], "E0113");
}

#[test]
fn plans_are_checked_and_those_of_graphs_are_right() {
    let folder = Folder::new();
    folder.file(
        "wrong.txt",
        "lawson-plan 1
plan @p {
  output 0 y: 64
  step left writes y[0 to 40]
  step right writes y[24 to 64]
}
",
    );
    let text = fails(&folder.run(&["check", "wrong.txt"]), 1, "E0851");
    assert!(text.contains("bytes 24..40 of `y`") && text.contains("wrong.txt:5:3"), "{text}");
    assert!(text.contains("help: put a `barrier`"), "{text}");
    folder.file("neg.law", NEG);
    let plan = fine(&folder.run(&["show", "neg.law", "--plan-text"]));
    folder.file("neg.plan", &plan);
    assert!(fine(&folder.run(&["check", "neg.plan", "neg.law"])).contains("neg.plan: fine, plan @"));
    folder.file("other.txt", "hello");
    fails(&folder.run(&["check", "other.txt"]), 1, "E0702");
}

#[test]
fn mangled_texts_give_errors_and_never_bugs() {
    let folder = Folder::new();
    for at in (0..MLP.len()).step_by(7) {
        for junk in ["", "{", "\"", "%", "9999999999999999999999", "[["] {
            let mangled = format!("{}{junk}{}", &MLP[..at], &MLP[(at + 3).min(MLP.len())..]);
            let output = folder.pipe(&["check", "-"], &mangled);
            assert!(matches!(output.status.code(), Some(0 | 1)), "{mangled}\n{}", err(&output));
        }
    }
}

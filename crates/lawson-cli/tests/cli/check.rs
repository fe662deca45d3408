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
    assert_eq!(report["files"][1]["errors"][0]["code"], "E0113");
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

/// A kernel that reads behind its buffer, two writers, a barrier for nothing and an output that nothing writes.
const FAULTY: &str = "lawson-plan 1
plan @faulty {
  input 0 x: 256
  output 0 y: 256
  output 1 z: 64
  kernel @far {
    in x: f32[64]
    out y: f32[64]
    axes i
    for i in 0 to 64 {
      y[i] = x[i + 1]
    }
  }
  launch 0 @far (x -> y)
  step again writes y[0 to 64]
  barrier
  step other reads x
}
";

#[test]
fn all_that_is_wrong_with_a_plan_is_said_in_the_order_of_its_lines() {
    let folder = Folder::new();
    folder.file("faulty.plan", FAULTY);
    let output = folder.run(&["check", "faulty.plan"]);
    let text = fails(&output, 1, "faulty.plan");
    let places = ["error[E0852]: no step writes `z`", "error[E08", "error[E0851]", "warning[E0855]"];
    let mut from = 0;
    for part in places {
        let at = text[from..].find(part).unwrap_or_else(|| panic!("{part}\n{text}"));
        from += at + part.len();
    }
    assert!(text.contains("kernel `@far`"), "{text}");
    assert!(text.contains("(`other`) orders nothing") && text.contains("faulty.plan:17:3"), "{text}");
    let output = folder.run(&["check", "--json", "faulty.plan"]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_str(&out(&output)).unwrap();
    let file = &report["files"][0];
    assert_eq!(file["errors"].as_array().unwrap().len(), 3, "{file}");
    assert_eq!(file["warnings"][0]["code"], "E0855");
    assert!(file["errors"][2]["places"][0].as_str().unwrap().contains("faulty.plan:15:3"), "{file}");
}

#[test]
fn a_byte_order_mark_is_named() {
    let folder = Folder::new();
    folder.file("marked.plan", format!("\u{feff}{FAULTY}"));
    fails(&folder.run(&["check", "marked.plan"]), 1, "byte order mark");
}

#[test]
fn a_plan_that_is_printed_for_given_sizes_is_right() {
    let folder = Folder::new();
    folder.file("mlp.law", MLP);
    for bind in [&[][..], &["--bind", "N=6"][..]] {
        let args: Vec<&str> =
            ["show", "mlp.law", "--plan-text"].into_iter().chain(bind.iter().copied()).collect();
        let output = folder.run(&args);
        let plan = fine(&output);
        folder.file("mlp.plan", &plan);
        fine(&folder.run(&["check", "mlp.plan"]));
    }
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

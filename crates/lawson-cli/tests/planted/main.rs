//! The command on a target with a planted fault: `fuzz` and `reduce` find it, keep it small, and show it again.
//!
//! The target of this program computes `tanh` wrongly, never ends at `atan`, and crashes at `asinh`, as a variable of the environment says. With that variable, this program is
//! the command; without, it is the test, which starts itself.
#![allow(clippy::unwrap_used)]

use lawson::graph::op::UnaryKind;
use lawson::graph::{Graph, Op, Patch};
use lawson::opt::{Pass, Pipeline};
use lawson::{CompileOptions, Program, Result, Session, Value};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::sync::Arc;

/// The variable that makes this program the command, and says what is planted.
const PLANTED: &str = "LAWSON_TEST_PLANTED";

type Test = (&'static str, fn(&Folder));

fn main() -> ExitCode {
    match std::env::var(PLANTED).as_deref() {
        Ok("wrong") => return lawson_cli::main_with(wrong),
        Ok("endless") => return lawson_cli::main_with(endless),
        Ok("crash") => return lawson_cli::main_with(crash),
        _ => {}
    }
    let tests: [Test; 5] = [
        ("fuzz_finds_a_wrong_operator_and_keeps_it_small", fuzz_finds_a_wrong_operator_and_keeps_it_small),
        ("reduce_finds_a_wrong_operator", reduce_finds_a_wrong_operator),
        ("what_fuzz_finds_does_not_depend_on_jobs", what_fuzz_finds_does_not_depend_on_jobs),
        ("what_hangs_is_kept_and_the_next_graph_goes_on", what_hangs_is_kept_and_the_next_graph_goes_on),
        ("what_crashes_is_kept", what_crashes_is_kept),
    ];
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    for (name, test) in tests {
        if wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str())) {
            println!("test {name} ...");
            test(&Folder::new());
        }
    }
    ExitCode::SUCCESS
}

/// Takes an operator for its argument.
#[derive(Debug)]
struct Without(UnaryKind);

impl Pass for Without {
    fn name(&self) -> &'static str {
        "without"
    }
    fn summary(&self) -> &'static str {
        "takes an operator for its argument"
    }
    fn run(&self, graph: &Graph) -> Result<Option<Patch>> {
        let mut patch = Patch::new();
        for node in graph.nodes() {
            if node.op == Op::Unary(self.0) {
                patch.replace(node.outputs[0], node.inputs[0]);
            }
        }
        Ok((!patch.is_empty()).then_some(patch))
    }
}

fn has(graph: &Graph, kind: UnaryKind) -> bool {
    graph.nodes().iter().any(|n| n.op == Op::Unary(kind))
}

fn wrong(graph: &Graph, session: &mut Session, inputs: &[Value]) -> Result<Vec<Value>> {
    if !has(graph, UnaryKind::Tanh) {
        return session.run_values(inputs);
    }
    let graph = Pipeline::new(vec![Arc::new(Without(UnaryKind::Tanh))]).run(graph)?;
    Program::compile(graph, &CompileOptions::default())?.session().run_values(inputs)
}

fn endless(graph: &Graph, session: &mut Session, inputs: &[Value]) -> Result<Vec<Value>> {
    while has(graph, UnaryKind::Atan) {
        std::thread::park();
    }
    session.run_values(inputs)
}

fn crash(graph: &Graph, session: &mut Session, inputs: &[Value]) -> Result<Vec<Value>> {
    if has(graph, UnaryKind::Asinh) {
        std::process::abort();
    }
    session.run_values(inputs)
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("lawson-planted-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn run(&self, planted: &str, args: &[&str]) -> Output {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(PLANTED, planted).env("XDG_CACHE_HOME", self.0.join("cache"));
        command.args(args).current_dir(&self.0).output().unwrap()
    }

    fn json(&self, planted: &str, args: &[&str]) -> (Json, Option<i32>) {
        let output = self.run(planted, &[args, &["--json"]].concat());
        let text = String::from_utf8_lossy(&output.stdout);
        let said = serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{e}: {text}{}", String::from_utf8_lossy(&output.stderr)));
        (said, output.status.code())
    }

    /// The graph in a file that the command wrote.
    fn kept(&self, file: &Json) -> Graph {
        let text = std::fs::read_to_string(self.0.join(file.as_str().unwrap())).unwrap();
        assert!(text.starts_with("// "), "{text}");
        Graph::parse(&text).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What the command that was printed says.
fn again(folder: &Folder, planted: &str, command: &Json) -> (Json, Option<i32>) {
    let args: Vec<&str> = command.as_str().unwrap().split(' ').skip(1).collect();
    folder.json(planted, &args)
}

fn fuzz_finds_a_wrong_operator_and_keeps_it_small(f: &Folder) {
    let (said, code) = f.json("wrong", &["fuzz", "--count", "60", "--threads", "1,2", "--keep", "bad"]);
    let failures = said["failures"].as_array().unwrap();
    assert_eq!((code, said["graphs"].as_u64()), (Some(70), Some(60)));
    assert!(!failures.is_empty(), "{said:#}");
    for (n, failure) in failures.iter().enumerate() {
        assert_eq!(failure["kind"], "wrong result", "{failure}");
        if n >= 3 {
            assert!(failure["file"].is_null(), "only the first of a kind are kept: {failure}");
            continue;
        }
        let graph = f.kept(&failure["file"]);
        assert!(has(&graph, UnaryKind::Tanh) && graph.total_nodes() <= 3, "{graph}");
        let (shown, code) = again(f, "wrong", &failure["command"]);
        assert_eq!((code, shown["status"].as_str()), (Some(70), Some("fails")), "{shown}");
        assert_eq!(shown["kind"], "wrong result");
        // It is the fault that fails.
        let (shown, code) = again(f, "crash", &failure["command"]);
        assert_eq!((code, shown["status"].as_str()), (Some(0), Some("fine")), "{shown}");
    }
}

fn reduce_finds_a_wrong_operator(f: &Folder) {
    let text = "lawson 1
graph @f(%x: f32[N, 12], %w: f32[12, 30]) -> (y: f32[N, 30], z: f32[N, 12]) {
  %a = exp %x
  %b = contract %a, %w {batch = [], sum = [[1, 0]]}
  %c = tanh %b
  %y = add %c, %b
  %z = neg %a
  return %y, %z
}
";
    std::fs::write(f.0.join("net.law"), text).unwrap();
    let (said, code) = f.json("wrong", &["reduce", "net.law", "--bind", "N=5", "-o", "small.law"]);
    assert_eq!((code, &said["complete"], &said["kind"]), (Some(70), &true.into(), &"wrong result".into()));
    let graph = f.kept(&said["file"]);
    let names: Vec<&str> = graph.nodes().iter().map(|n| n.op.name()).collect();
    assert_eq!(names, ["tanh"], "{graph}");
    assert_eq!(again(f, "wrong", &said["command"]).1, Some(70));
    let (said, code) = f.json("crash", &["reduce", "net.law", "--bind", "N=5"]);
    assert_eq!((code, said["status"].as_str()), (Some(0), Some("fine")));
}

fn what_fuzz_finds_does_not_depend_on_jobs(f: &Folder) {
    let found = |jobs: &str| {
        let args =
            ["fuzz", "--count", "60", "--seed", "0", "--threads", "2", "--jobs", jobs, "--keep", "bad"];
        let (mut said, code) = f.json("wrong", &args);
        assert_eq!(code, Some(70));
        let counts = said.as_object_mut().unwrap();
        assert!(
            counts.shift_remove("seconds").is_some() && counts.shift_remove("graphs_per_second").is_some()
        );
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(f.0.join("bad")).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        let texts: Vec<String> = files
            .iter()
            .filter(|p| p.extension().is_some_and(|e| e == "law"))
            .map(|p: &PathBuf| std::fs::read_to_string(p as &Path).unwrap())
            .collect();
        std::fs::remove_dir_all(f.0.join("bad")).unwrap();
        (said, texts)
    };
    assert_eq!(found("1"), found("3"));
}

fn what_hangs_is_kept_and_the_next_graph_goes_on(f: &Folder) {
    let args = ["fuzz", "--count", "40", "--threads", "1", "--patience", "2", "--jobs", "2", "--keep", "bad"];
    let (said, code) = f.json("endless", &args);
    assert_eq!((code, said["graphs"].as_u64()), (Some(70), Some(40)), "{said:#}");
    assert!(said["judged"].as_u64().unwrap() > 30);
    let failure = &said["failures"][0];
    assert_eq!(failure["kind"], "hang");
    assert_eq!(failure["message"], "a run does not end within 2 s");
    assert!(has(&f.kept(&failure["file"]), UnaryKind::Atan));
    assert!(failure["nodes"].as_u64().unwrap() <= 3, "{failure}");
    let (shown, code) = again(f, "endless", &failure["command"]);
    assert_eq!((code, shown["kind"].as_str()), (Some(70), Some("hang")), "{shown}");
}

fn what_crashes_is_kept(f: &Folder) {
    let (said, code) = f.json("crash", &["fuzz", "--count", "40", "--threads", "1", "--keep", "bad"]);
    assert_eq!((code, said["graphs"].as_u64()), (Some(70), Some(40)), "{said:#}");
    let failure = &said["failures"][0];
    assert_eq!(failure["kind"], "crash");
    assert!(has(&f.kept(&failure["file"]), UnaryKind::Asinh) && failure["nodes"].as_u64().unwrap() <= 3);
}

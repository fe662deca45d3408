//! The binary itself: what each command prints, what it writes, and its exit codes.
#![allow(clippy::unwrap_used)]

use lawson::{DType, Tensor, npy};
use serde_json::Value as Json;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

const MLP: &str = "lawson 1
graph @mlp(%x: f32[N, 3], %w: f32[3, 4]) -> (y: f32[N, 4], p: f32[N, 4])
  where N >= 1, N % 2 == 0
{
  %h = contract %x, %w {batch = [], sum = [[1, 0]]}
  %y = relu %h
  %p = softmax %h {axis = 1}
  return %y, %p
}
";

const NEG: &str = "lawson 1\ngraph @neg(%x: f32[3]) -> (y: f32[3]) { %y = neg %x return %y }\n";

/// A folder of its own for each test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lawson-cli-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> &Folder {
        fs::write(self.0.join(name), content).unwrap();
        self
    }

    fn tensor(&self, name: &str, elements: &[f32]) -> &Folder {
        npy::write(&self.0.join(name), &Tensor::from_slice(&[elements.len()], elements).unwrap()).unwrap();
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
        self.pipe(args, "")
    }

    fn pipe(&self, args: &[&str], stdin: &str) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_lawson"))
            .args(args)
            .current_dir(&self.0)
            .env_remove("NO_COLOR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that does not read its input may end first.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        child.wait_with_output().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn fine(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}{}", out(output), err(output));
    out(output)
}

#[track_caller]
fn fails(output: &Output, exit: i32, says: &str) -> String {
    assert_eq!(output.status.code(), Some(exit), "{}{}", out(output), err(output));
    assert!(err(output).contains(says), "{}", err(output));
    err(output)
}

fn json(output: &Output) -> Json {
    serde_json::from_str(&out(output)).unwrap_or_else(|e| panic!("{e}: {}{}", out(output), err(output)))
}

#[test]
fn show_prints_types_costs_and_totals() {
    let folder = Folder::new();
    folder.file("m.law", MLP);
    let text = fine(&folder.run(&["show", "m.law"]));
    assert!(text.contains("%h: f32[N, 4] = contract"), "{text}");
    assert!(text.contains("24*N flop"), "{text}");
    let text = fine(&folder.run(&["show", "m.law", "--bind", "N=100"]));
    assert!(text.contains("2.40 kflop, reads 1.25 kB, writes 1.60 kB"), "{text}");
    assert!(text.contains("// intensity"), "{text}");
}

#[test]
fn show_leaves_out_large_constants_unless_told() {
    let folder = Folder::new();
    let ones = vec!["1"; 40].iter().enumerate().map(|(i, _)| i.to_string()).collect::<Vec<_>>().join(", ");
    folder.file(
        "c.law",
        format!("lawson 1 graph @c() -> (y: i32[40]) {{ %y: i32[40] = constant [{ones}] return %y }}"),
    );
    assert!(!fine(&folder.run(&["show", "c.law"])).contains("38"));
    assert!(fine(&folder.run(&["show", "c.law", "--full"])).contains("38"));
}

#[test]
fn show_gives_json() {
    let folder = Folder::new();
    folder.file("m.law", MLP);
    let report = json(&folder.run(&["show", "m.law", "--json", "--bind", "N=2"]));
    assert_eq!(report["name"], "mlp");
    assert_eq!(report["nodes"][0]["op"], "contract");
    assert_eq!(report["nodes"][0]["cost"]["flops"], 48);
    assert_eq!(report["facts"][0], "N >= 1");
    let report = json(&folder.run(&["show", "m.law", "--json"]));
    assert_eq!(report["nodes"][0]["cost"]["flops"], "24*N");
}

#[test]
fn files_can_come_from_standard_input() {
    let folder = Folder::new();
    assert!(fine(&folder.pipe(&["show", "-"], MLP)).contains("@mlp"));
    let list = fine(&folder.run(&["list", "random", "--depth", "5", "--size", "3"]));
    assert!(fine(&folder.pipe(&["show", "-"], &list)).contains("@list"));
    fails(&folder.pipe(&["show", "-"], ""), 1, "E0201");
}

/// An ONNX model of one operator, `y = op(x)` on f32[3].
fn onnx(op: &str) -> Vec<u8> {
    let field = |tag: u8, content: &[u8]| [&[tag << 3 | 2, content.len() as u8], content].concat();
    let node = [field(1, b"x"), field(2, b"y"), field(4, op.as_bytes())].concat();
    let shape = field(1, &[1 << 3, 3]);
    let tensor = [vec![1 << 3, 1], field(2, &shape)].concat();
    let input = [field(1, b"x"), field(2, &field(1, &tensor))].concat();
    let graph = [field(1, &node), field(2, b"g"), field(11, &input), field(12, &field(1, b"y"))].concat();
    [vec![1 << 3, 9], field(8, &[2 << 3, 18]), field(7, &graph)].concat()
}

#[test]
fn onnx_models_are_read_like_graphs() {
    let folder = Folder::new();
    folder.file("neg.onnx", onnx("Neg")).file("odd.onnx", onnx("Odd")).file("cut.onnx", &onnx("Neg")[..20]);
    folder.tensor("x.npy", &[1.0, 2.0, 3.0]);
    fine(&folder.run(&["run", "neg.onnx", "--input", "x=x.npy", "--output", "y=y.npy"]));
    let y = npy::read(&folder.path("y.npy"), None).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [-1.0, -2.0, -3.0]);
    assert!(fine(&folder.run(&["show", "neg.onnx"])).contains("neg"));
    assert!(fine(&folder.run(&["show", "neg.onnx", "--kernels"])).contains("lawson-kernel 1"));
    if cpu_runs() {
        fine(&folder.run(&["run", "neg.onnx", "-i", "x=x.npy", "-o", "y=z.npy", "--target", "cpu"]));
        assert_eq!(fs::read(folder.path("z.npy")).unwrap(), fs::read(folder.path("y.npy")).unwrap());
    }
    fails(&folder.run(&["check", "neg.onnx", "odd.onnx"]), 1, "`Odd` of ai.onnx (version 18): node `y`");
    fails(&folder.run(&["check", "cut.onnx"]), 1, "near byte");
}

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
fn run_reads_and_writes_numpy_files() {
    let folder = Folder::new();
    folder.file("neg.law", NEG).tensor("x.npy", &[1.0, -2.0, 0.5]);
    for (input, output) in [("x=x.npy", "y=y.npy"), ("x.npy", "y.npy")] {
        let text = fine(&folder.run(&["run", "neg.law", "--input", input, "--output", output]));
        assert!(text.contains("y: f32[3], min -1.000000, max 2.000000"), "{text}");
        let y = npy::read(&folder.path("y.npy"), None).unwrap();
        assert_eq!(y.to_vec::<f32>().unwrap(), [-1.0, 2.0, -0.5]);
        fs::remove_file(folder.path("y.npy")).unwrap();
    }
}

#[test]
fn run_reads_and_writes_archives() {
    let folder = Folder::new();
    let x = Tensor::from_slice(&[2, 3], &[1f32; 6]).unwrap();
    let w = Tensor::from_slice(&[3, 4], &[0.5f32; 12]).unwrap();
    npy::write_npz(&folder.path("in.npz"), [("w", &w), ("x", &x)]).unwrap();
    folder.file("m.law", MLP);
    let text = fine(&folder.run(&["run", "m.law", "-i", "in.npz", "-o", "out.npz"]));
    assert!(text.contains("with N = 2"), "{text}");
    let all = npy::read_npz(&folder.path("out.npz"), |_| None).unwrap();
    assert_eq!(all[0].0, "y");
    assert_eq!(all[0].1.to_vec::<f32>().unwrap(), [1.5; 8]);
    assert_eq!(all[1].1.sizes(), [2, 4]);
}

#[test]
fn run_makes_inputs_and_sizes_from_a_seed() {
    let folder = Folder::new();
    folder.file("m.law", MLP);
    let first = fine(&folder.run(&["run", "m.law", "--input", "random", "--seed", "7"]));
    assert_eq!(fine(&folder.run(&["run", "m.law", "--input", "random", "--seed", "7"])), first);
    assert_ne!(fine(&folder.run(&["run", "m.law", "--input", "random", "--seed", "8"])), first);
    let report = json(&folder.run(&["run", "m.law", "--input", "zeros", "--bind", "N=6", "--json"]));
    assert_eq!(report["symbols"]["N"], 6);
    assert_eq!(report["outputs"]["p"]["elements"][23], 0.25);
}

#[test]
fn given_inputs_determine_the_sizes_of_made_ones() {
    let folder = Folder::new();
    folder.file(
        "add.law",
        "lawson 1 graph @a(%a: f32[N], %b: f32[N]) -> (y: f32[N]) { %y = add %a, %b return %y }",
    );
    folder.tensor("a.npy", &[1.0, 2.0, 3.0]);
    let text = fine(&folder.run(&["run", "add.law", "-i", "a=a.npy", "-i", "zeros"]));
    assert!(text.contains("[1, 2, 3]"), "{text}");
    let text = fine(&folder.run(&["run", "add.law", "-i", "a=zeros", "-i", "b=a.npy"]));
    assert!(text.contains("[1, 2, 3]"), "{text}");
    let same = ["run", "add.law", "-i", "a=a.npy", "-i", "zeros", "--bind", "N=4"];
    fails(&folder.run(&same), 1, "E0403");
}

#[test]
fn wrong_inputs_are_errors_of_the_user() {
    let folder = Folder::new();
    folder.file("neg.law", NEG).file("m.law", MLP).tensor("x.npy", &[1.0, 2.0]).file("junk.npy", "junk");
    fails(&folder.run(&["run", "neg.law"]), 1, "E0401");
    fails(&folder.run(&["run", "neg.law", "-i", "x=x.npy"]), 1, "E0403");
    fails(&folder.run(&["run", "neg.law", "-i", "x=junk.npy"]), 1, "E0702");
    fails(&folder.run(&["run", "neg.law", "-i", "x=none.npy"]), 1, "E0701");
    fails(&folder.run(&["run", "neg.law", "-i", "z=x.npy"]), 1, "no input `z`");
    fails(&folder.run(&["run", "m.law", "-i", "random", "--bind", "N=3"]), 1, "E0403");
    fails(&folder.run(&["run", "m.law", "-i", "random", "--bind", "M=4"]), 1, "no symbol");
    fails(&folder.run(&["run", "m.law", "-i", "random", "--bind", "N=4000000000000"]), 1, "E0404");
    fails(&folder.run(&["run", "neg.law", "-i", "random", "--max-bytes", "3"]), 1, "E0404");
}

#[test]
fn contradictions_are_wrong_usage() {
    let folder = Folder::new();
    folder.file("neg.law", NEG).file("m.law", MLP).tensor("x.npy", &[1.0, 2.0, 3.0]);
    fails(&folder.run(&["run", "neg.law", "-i", "random", "-i", "zeros"]), 2, "contradict");
    fails(&folder.run(&["run", "neg.law", "-i", "x.npy", "-i", "x=zeros"]), 2, "twice");
    fails(&folder.run(&["run", "m.law", "-i", "x.npy"]), 2, "which of the 2 inputs");
    fails(&folder.run(&["run", "m.law", "-i", "random", "-o", "y.npy"]), 2, "which output");
    fails(&folder.run(&["run", "neg.law", "-i", "random", "-o", "z=z.npy"]), 2, "which output");
    fails(&folder.run(&["run"]), 2, "Usage");
    fails(&folder.run(&["frobnicate"]), 2, "Usage");
    fails(&folder.run(&["run", "neg.law", "--bind", "N"]), 2, "NAME=NUMBER");
    fails(&folder.run(&["run", "neg.law", "--bind", "N=-1"]), 2, "not negative");
    fails(&folder.run(&["opt"]), 2, "FILE");
}

#[test]
fn outputs_are_not_touched_when_a_run_fails() {
    let folder = Folder::new();
    folder.file("neg.law", NEG).file("y.npy", "precious");
    fails(
        &folder.run(&[
            "run",
            "neg.law",
            "-i",
            "random",
            "--target",
            "reference",
            "--max-steps",
            "0",
            "-o",
            "y.npy",
        ]),
        1,
        "E0404",
    );
    assert_eq!(fs::read(folder.path("y.npy")).unwrap(), b"precious");
    fails(&folder.run(&["run", "neg.law", "-i", "random", "-o", "no/such/folder/y.npy"]), 1, "E0701");
}

#[test]
fn loops_without_end_are_stopped() {
    let folder = Folder::new();
    folder.file(
        "forever.law",
        "lawson 1 graph @f(%n: i64[]) -> (m: i64[]) {
           %m = while %n {carried = 1}
             cond(%a: i64[]) { %t = eq %a, %a return %t }
             body(%a: i64[]) { %b = add %a, %a return %b }
           return %m }",
    );
    fails(&folder.run(&["run", "forever.law", "-i", "random", "--max-steps", "1000"]), 1, "E0404");
}

#[test]
fn what_would_take_all_memory_is_refused_before_it_does() {
    let folder = Folder::new();
    let huge = "lawson 1\ngraph @g() -> (y: f32[1000000000]) {\n  %y = iota {dtype = f32, shape = [1000000000], axis = 0}\n  return %y\n}\n";
    fails(&folder.pipe(&["run", "-", "--target", "reference"], huge), 1, "E0404");
    fails(&folder.pipe(&["run", "-", "--max-bytes", "3999999999"], huge), 1, "takes 4000000");
    let beyond = huge.replace("1000000000", "1000000000000");
    fails(&folder.pipe(&["run", "-"], &beyond), 1, "E0404");
    fails(&folder.run(&["list", "random", "--depth", "100000", "--size", "100000", "--inline"]), 1, "E0404");
}

/// Whether the CPU target runs here.
fn cpu_runs() -> bool {
    cfg!(all(unix, target_arch = "x86_64")) && lawson::cpu::missing_feature().is_none()
}

#[test]
fn run_on_the_cpu_gives_what_the_reference_gives() {
    if !cpu_runs() {
        return;
    }
    let folder = Folder::new();
    folder.file("m.law", MLP);
    let args = ["run", "m.law", "-i", "random", "--seed", "3", "--bind", "N=6", "--json"];
    let reference = json(&folder.run(&[&args[..], &["--target", "reference"]].concat()));
    let mut first: Option<Json> = None;
    for threads in ["1", "2", "3"] {
        let cpu = json(&folder.run(&[&args[..], &["--target", "cpu", "--threads", threads]].concat()));
        for output in ["y", "p"] {
            let elements = |report: &Json| report["outputs"][output]["elements"].as_array().unwrap().clone();
            for (a, b) in elements(&reference).iter().zip(elements(&cpu)) {
                assert!((a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-5, "{a} {b}");
            }
        }
        assert_eq!(*first.get_or_insert_with(|| cpu.clone()), cpu, "{threads} threads");
    }
}

#[test]
fn run_on_the_cpu_says_what_it_leaves_to_the_host() {
    if !cpu_runs() {
        return;
    }
    let folder = Folder::new();
    folder.file(
        "sort.law",
        "lawson 1 graph @s(%x: f32[3]) -> (y: f32[3]) { %y = sort %x {axis = 0} return %y }",
    );
    let cpu = ["run", "sort.law", "-i", "random", "--target", "cpu"];
    assert!(fine(&folder.run(&cpu)).contains("1 by the interpreter"));
    let report = json(&folder.run(&[&cpu[..], &["--json"]].concat()));
    let expected = serde_json::json!({ "machine_code": 0, "evaluator": 0, "interpreter": 1 });
    assert_eq!((&report["operators"], &report["isa"]), (&expected, &"avx512".into()));
    let plan = fine(&folder.run(&["show", "sort.law", "--plan"]));
    assert!(plan.contains("interpreter, @sort(") && plan.contains("because `sort`"), "{plan}");
    let report = json(&folder.run(&["show", "sort.law", "--plan", "--json"]));
    assert_eq!(report["plan"]["steps"][0]["interpreted"][0], "sort");
    assert_eq!(fine(&folder.run(&cpu)), fine(&folder.run(&cpu[..4])), "the CPU is the default");
    let reference = [&cpu[..4], &["--target", "reference"]].concat();
    assert!(!fine(&folder.run(&reference)).contains("interpreter"));
    fails(&folder.run(&[&reference[..], &["--isa", "portable"]].concat()), 2, "--target cpu");
    fails(&folder.run(&[&cpu[..], &["--threads", "0"]].concat()), 2, "--threads 0");
    fails(&folder.run(&[&reference[..], &["--threads", "2"]].concat()), 2, "--target cpu");
}

#[test]
fn the_portable_target_runs_everywhere_and_says_that_it_did() {
    let folder = Folder::new();
    folder.file("neg.law", NEG);
    let args = ["run", "neg.law", "-i", "random"];
    let reference = json(&folder.run(&[&args[..], &["--target", "reference", "--json"]].concat()));
    let portable = [&args[..], &["--target", "cpu", "--isa", "portable"]].concat();
    assert!(
        fine(&folder.run(&portable)).contains("portable: 0 operators as machine code, 1 by the evaluator")
    );
    let report = json(&folder.run(&[&portable[..], &["--json"]].concat()));
    assert_eq!((&report["isa"], &report["outputs"]), (&"portable".into(), &reference["outputs"]));
    assert_eq!(report["operators"]["evaluator"], 1);
    let plan = fine(&folder.run(&["show", "neg.law", "--plan", "--isa", "portable"]));
    assert!(plan.contains("by the evaluator"), "{plan}");
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
fn runs_can_be_repeated_with_outputs_as_inputs() {
    let folder = Folder::new();
    folder.file("twice.law", "lawson 1 graph @t(%x: f32[2]) -> (y: f32[2]) { %y = add %x, %x return %y }");
    let mut targets = vec!["reference"];
    targets.extend(cpu_runs().then_some("cpu"));
    for target in targets {
        let run = |times: &str| {
            let args = ["run", "twice.law", "-i", "random", "--target", target, "--repeat", times, "--json"];
            json(&folder.run(&args))["outputs"]["y"]["elements"][0].as_f64().unwrap()
        };
        assert_eq!(run("1") * 16.0, run("5"), "{target}");
    }
    fails(&folder.run(&["run", "twice.law", "-i", "random", "--repeat", "0"]), 2, "E0704");
}

#[test]
fn run_says_how_long_it_took_where_that_is_asked() {
    let folder = Folder::new();
    folder.file("neg.law", NEG);
    let mut targets = vec!["reference"];
    targets.extend(cpu_runs().then_some("cpu"));
    for target in targets {
        let args = ["run", "neg.law", "-i", "random", "--target", target, "--time"];
        let text = fine(&folder.run(&args));
        assert!(text.contains("compiling ") && text.contains("first run "), "{text}");
        let time = &json(&folder.run(&[&args[..], &["--json"]].concat()))["time"];
        assert!(time["median_ms"].as_f64().unwrap() > 0.0, "{time}");
        assert!(time["runs"].as_u64().unwrap() >= 3, "{time}");
    }
}

#[test]
fn show_says_what_was_not_fused_and_why() {
    let folder = Folder::new();
    folder.file(
        "m.law",
        "lawson 1
         graph @m(%x: f32[64, 64], %w: f32[64, 64]) -> (y: f32[64, 64]) {
           %e = exp %x
           %y = contract %e, %w {batch = [], sum = [[1, 0]]}
           return %y
         }",
    );
    let text = fine(&folder.run(&["show", "m.law", "--refused"]));
    assert!(text.contains("%e is written for the kernel of %y"), "{text}");
    assert!(text.contains("predicted: apart"), "{text}");
    let report = json(&folder.run(&["show", "m.law", "--refused", "--json"]));
    let refused = &report["refused"][0];
    assert_eq!(refused["value"], "e");
    assert!(refused["apart_seconds"].as_f64() < refused["together_seconds"].as_f64(), "{refused}");
    folder.file("one.law", "lawson 1 graph @f(%x: f32[N]) -> (y: f32[N]) { %y = exp %x return %y }");
    assert!(fine(&folder.run(&["show", "one.law", "--refused"])).contains("nothing was refused"));
}

#[test]
fn show_prints_kernels_that_can_be_read_back() {
    let folder = Folder::new();
    folder.file("m.law", MLP);
    let text = fine(&folder.run(&["show", "m.law", "--kernels"]));
    assert!(text.contains("// step 0: kernel 0, @mlp(") && text.contains("spilled: "), "{text}");
    let report = json(&folder.run(&["show", "m.law", "--kernels", "--json"]));
    for kernel in report["kernels"].as_array().unwrap() {
        let parsed = lawson::kernel::Kernel::parse(kernel["text"].as_str().unwrap()).unwrap();
        lawson::kernel::verify(&parsed).unwrap();
        let schedule = kernel["schedule"].as_str().unwrap();
        assert!(!schedule.parse::<lawson::kernel::Schedule>().unwrap().0.is_empty(), "{kernel}");
        assert!(text.contains(schedule.lines().next().unwrap()), "{schedule}");
    }
}

#[test]
fn show_prints_the_plan_with_places_where_sizes_are_bound() {
    let folder = Folder::new();
    folder.file("m.law", MLP);
    let open = fine(&folder.run(&["show", "m.law", "--plan"]));
    assert!(open.contains("12*N bytes") && open.contains("--bind") && !open.contains("arena:"), "{open}");
    let bound = fine(&folder.run(&["show", "m.law", "--plan", "--bind", "N=8"]));
    assert!(bound.contains("96 bytes") && bound.contains("arena:"), "{bound}");
    let report = json(&folder.run(&["show", "m.law", "--plan", "--bind", "N=8", "--json"]));
    let plan = &report["plan"];
    assert!(plan["arena_bytes"].as_u64().is_some(), "{plan}");
    assert_eq!(plan["buffers"][0]["bytes"], 96);
    assert_eq!(plan["steps"][0]["barrier_before"], false);
    fails(&folder.run(&["show", "m.law", "--plan", "--bind", "N=7"]), 1, "E0403");
    fails(&folder.run(&["show", "m.law", "--plan", "--full"]), 2, "cannot be used with");
}

#[test]
fn show_prints_machine_code_under_its_tree() {
    let folder = Folder::new();
    folder.file("neg.law", NEG);
    let text = fine(&folder.run(&["show", "neg.law", "--dump-asm"]));
    assert!(text.contains("ret") && text.contains(" ; ") && text.contains("zmm"), "{text}");
    let report = json(&folder.run(&["show", "neg.law", "--dump-asm", "--json"]));
    let kernel = &report["kernels"][0];
    assert!(kernel["listing"].as_str().unwrap().contains("ret") && kernel.get("text").is_none(), "{kernel}");
    assert!(kernel["code_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn run_exact_prints_bounds() {
    let folder = Folder::new();
    folder.file(
        "third.law",
        "lawson 1 graph @f(%x: f32[2], %y: f32[2]) -> (z: f32[2], eq: bool[2]) {
        %z = div %x, %y
        %e = eq %z, %z
        return %z, %e }",
    );
    folder.tensor("x.npy", &[1.0, 2.0]).tensor("y.npy", &[3.0, 2.0]);
    let args = ["run", "third.law", "-i", "x=x.npy", "-i", "y=y.npy", "--exact"];
    let text = fine(&folder.run(&args));
    assert!(text.contains("0.333") && text.contains("±"), "{text}");
    let report = json(&folder.run(&[&args[..], &["--json"]].concat()));
    let error = report["outputs"]["z"]["errors"][0].as_f64().unwrap();
    assert!(error > 0.0 && error < 1e-7, "{report}");
}

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

#[test]
fn explain_knows_every_code() {
    let folder = Folder::new();
    assert!(fine(&folder.run(&["explain", "e0105"])).starts_with("E0105: "));
    let all = fine(&folder.run(&["explain"]));
    assert_eq!(all.lines().count(), lawson::Code::ALL.len());
    fails(&folder.run(&["explain", "E9999"]), 1, "E0113");
}

#[test]
fn ops_lists_every_operator_once() {
    let folder = Folder::new();
    let report = json(&folder.run(&["ops", "--json"]));
    let mut names: Vec<String> = Vec::new();
    for family in report.as_object().unwrap().values() {
        names.extend(family.as_array().unwrap().iter().map(|n| n.as_str().unwrap().to_string()));
    }
    for name in lawson::graph::Op::primitive_names() {
        assert_eq!(names.iter().filter(|n| *n == name).count(), 1, "{name}");
    }
    assert!(fine(&folder.run(&["ops", "softmax"])).contains("graph @"));
    fails(&folder.run(&["ops", "sofmax"]), 1, "did you mean `softmax`");
}

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

#[test]
fn errors_are_json_where_that_is_asked() {
    let folder = Folder::new();
    folder.file("bad.law", "lawson 1 graph");
    let output = folder.run(&["show", "bad.law", "--json"]);
    fails(&output, 1, "error[E0201]");
    let report = json(&output);
    assert_eq!(report["error"]["code"], "E0201");
    assert!(report["error"]["places"][0].as_str().unwrap().contains("bad.law:1"));
}

#[test]
fn colours_are_used_when_asked_and_not_in_a_pipe() {
    let folder = Folder::new();
    assert!(!fails(&folder.run(&["explain", "E9"]), 1, "error").contains('\x1b'));
    assert!(fails(&folder.run(&["--color", "always", "explain", "E9"]), 1, "error").contains('\x1b'));
    assert!(!fails(&folder.run(&["explain", "E9", "--color", "never"]), 1, "error").contains('\x1b'));
}

#[test]
fn completions_are_scripts_that_name_the_commands() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(fine(&folder.run(&["completions", shell])).contains("bisect"), "{shell}");
    }
}

#[test]
fn every_command_has_help() {
    let folder = Folder::new();
    for command in ["show", "check", "run", "opt", "bisect", "explain", "ops", "list", "completions"] {
        assert!(fine(&folder.run(&[command, "--help"])).contains("Usage"), "{command}");
    }
    assert!(fine(&folder.run(&["--help"])).contains("Exit codes"));
    assert!(fine(&folder.run(&["--version"])).starts_with("lawson "));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new();
    // More than a pipe holds, so that the writer notices.
    let list = fine(&folder.run(&["list", "random", "--depth", "40", "--size", "40", "--inline"]));
    folder.file("list.json", &list);
    let mut child = Command::new(env!("CARGO_BIN_EXE_lawson"))
        .args(["list", "fuse", "list.json"])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""));
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

#[test]
fn void_elements_are_read_by_the_dtype_of_the_input() {
    let folder = Folder::new();
    folder.file(
        "f8.law",
        "lawson 1 graph @f(%x: f8e4m3fn[2]) -> (y: f32[2]) { %y = cast %x {to = f32} return %y }",
    );
    let x = Tensor::from_bytes(DType::F8E4M3, &[2], vec![0x38, 0xb8]).unwrap();
    npy::write(&folder.path("x.npy"), &x).unwrap();
    assert!(fine(&folder.run(&["run", "f8.law", "-i", "x.npy"])).contains("[1, -1]"));
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

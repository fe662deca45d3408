//! `run`: where inputs come from, where outputs go, and what is wrong with them.

use crate::folder::{Folder, MLP, NEG, fails, fine, json};
use lawson::{DType, Tensor, npy};
use std::fs;

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

//! Constants: laid out by any number of threads with the same result, and not kept beside their copies.

use crate::there;
use bytes::Bytes;
use lawson::graph::{Builder, Dim, Graph, Shape, TensorType, interp};
use lawson::{
    CompileOptions, DType, HostTensor, Passes, Program, Target, Team, Tensor, Value, cpu::Memory,
    opt::Pipeline,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes that tell when nobody owns them any more.
struct Owned {
    memory: Memory,
    freed: Arc<AtomicBool>,
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        self.memory.as_slice()
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.freed.store(true, Ordering::Relaxed);
    }
}

#[derive(Clone)]
struct Freed(Arc<AtomicBool>);

impl Freed {
    fn yet(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// So many small numbers as bytes, and whether they are freed.
fn floats(count: usize) -> (Bytes, Freed) {
    let mut memory = Memory::zeroed(count * 4).unwrap();
    for (i, element) in memory.as_mut_slice().chunks_exact_mut(4).enumerate() {
        element.copy_from_slice(&((i % 23) as f32 * 0.125 - 1.0).to_le_bytes());
    }
    let freed = Arc::new(AtomicBool::new(false));
    (Bytes::from_owner(Owned { memory, freed: freed.clone() }), Freed(freed))
}

fn tensor(sizes: &[usize], bytes: Bytes) -> HostTensor {
    HostTensor::from_bytes(DType::F32, sizes, bytes).unwrap()
}

/// `x·w + b`, with `w` and `b` constant.
fn layer(w: HostTensor, b: HostTensor) -> Graph {
    let mut g = Builder::new("layer");
    let x = g.input("x", TensorType::new(DType::F32, Shape::from(&[3, w.sizes()[0]][..]))).unwrap();
    let (w, b) = (g.constant(w).unwrap(), g.constant(b).unwrap());
    let y = g.matmul(x, w).unwrap();
    let y = g.add(y, b).unwrap();
    g.output("y", y).unwrap();
    g.finish().unwrap()
}

fn options(threads: usize, passes: Passes) -> CompileOptions {
    let team = Some(Team::new(threads).unwrap());
    CompileOptions { target: Target::Cpu, passes, team, ..CompileOptions::default() }
}

fn run(program: &Program, x: &HostTensor) -> HostTensor {
    program.session().run(&[Tensor::from(x.clone())]).unwrap()[0].to_host().unwrap()
}

/// Fails unless the program computes the graph.
fn check(program: &Program, graph: &Graph, x: &HostTensor) {
    let expected = interp::run_bounded(graph, &[x.clone().into()], &interp::Options::default()).unwrap();
    let found = interp::compare(&expected[0], &run(program, x).into(), 4.0);
    assert!(found.ok(), "{found}");
}

#[test]
fn what_was_packed_is_let_go_with_the_graph() {
    if !there() {
        return;
    }
    for passes in [Passes::Standard, Passes::None, Passes::Custom(Pipeline::standard())] {
        let (w, w_freed) = floats(300 * 500);
        let (b, b_freed) = floats(500);
        let graph = layer(tensor(&[300, 500], w), tensor(&[500], b));
        let ours = graph.clone();
        let program = Program::compile(graph, &options(2, passes)).unwrap();
        assert!(!w_freed.yet() && !b_freed.yet(), "a clone of the graph is still there");
        check(&program, &ours, &tensor(&[3, 300], floats(900).0));
        drop(ours);
        assert!(w_freed.yet() && b_freed.yet(), "the program keeps constants that it has packed");
        run(&program, &tensor(&[3, 300], floats(900).0));
    }
}

/// As in a model's file: the bias could be read in place, but would keep the weights.
#[test]
fn a_small_slice_does_not_keep_the_memory_of_all() {
    if !there() {
        return;
    }
    let (file, freed) = floats(300 * 512 + 512);
    let graph = layer(tensor(&[300, 512], file.slice(512 * 4..)), tensor(&[512], file.slice(..512 * 4)));
    drop(file);
    let program = Program::compile(graph.clone(), &options(1, Passes::Standard)).unwrap();
    check(&program, &graph, &tensor(&[3, 300], floats(900).0));
    drop(graph);
    assert!(freed.yet());
}

#[test]
fn what_lies_as_it_is_read_is_read_in_place() {
    if !there() {
        return;
    }
    let (c, freed) = floats(600 * 1000);
    let mut g = Builder::new("table");
    let x = g.input("x", TensorType::new(DType::F32, Shape::from(&[600usize, 1000][..]))).unwrap();
    let c = g.constant(tensor(&[600, 1000], c)).unwrap();
    let y = g.add(x, c).unwrap();
    g.output("y", y).unwrap();
    let graph = g.finish().unwrap();
    let program = Program::compile(graph.clone(), &options(2, Passes::Standard)).unwrap();
    check(&program, &graph, &tensor(&[600, 1000], floats(600_000).0));
    drop(graph);
    assert!(!freed.yet(), "it was copied");
    run(&program, &tensor(&[600, 1000], floats(600_000).0));
    drop(program);
    assert!(freed.yet());
}

/// Large enough that members share one constant; no panel ends where it does.
#[test]
fn constants_are_the_same_however_many_threads_lay_them_out() {
    if !there() {
        return;
    }
    let graph = layer(tensor(&[700, 1001], floats(700_700).0), tensor(&[1001], floats(1001).0));
    let x = tensor(&[3, 700], floats(2100).0);
    let programs = [1, 2, 5].map(|n| Program::compile(graph.clone(), &options(n, Passes::Standard)).unwrap());
    check(&programs[0], &graph, &x);
    let results = programs.each_ref().map(|p| run(p, &x));
    assert!(results[1] == results[0] && results[2] == results[0]);
}

/// A table of words beside a layer, both from a mapped file.
#[test]
fn a_table_in_which_words_are_looked_up_is_read_where_it_is_mapped() {
    if !there() {
        return;
    }
    let (words, words_freed) = floats(3000 * 300);
    let (w, w_freed) = floats(300 * 4000);
    let mut g = Builder::new("words");
    let x = g.input("x", TensorType::new(DType::I64, Shape::from(&[3usize][..]))).unwrap();
    let words = g.constant(tensor(&[3000, 300], words).mapped()).unwrap();
    let w = g.constant(tensor(&[300, 4000], w).mapped()).unwrap();
    let found = g.take(words, x, 0).unwrap();
    let y = g.matmul(found, w).unwrap();
    g.output("y", y).unwrap();
    let graph = g.finish().unwrap();
    let program = Program::compile(graph.clone(), &options(2, Passes::Standard)).unwrap();
    check(&program, &graph, &HostTensor::from_slice(&[3], &[2999i64, 0, 17]).unwrap());
    drop(graph);
    assert!(!words_freed.yet(), "the table was copied");
    assert!(w_freed.yet(), "the weights are there twice");
    drop(program);
    assert!(words_freed.yet());
}

#[test]
fn weights_that_follow_from_constants_are_computed_once_whatever_their_size() {
    if !there() {
        return;
    }
    let bytes: Vec<i8> = (0..300 * 200).map(|i| (i * 37 % 255 - 127) as i8).collect();
    let scales: Vec<f32> = (0..200).map(|i| 0.01 + i as f32 / 4096.0).collect();
    let mut b = Builder::new("dequantised");
    let x = b.input("x", TensorType::new(DType::F32, [Dim::symbol("N"), Dim::from(300)])).unwrap();
    let w = b.constant(HostTensor::from_slice(&[300, 200], &bytes).unwrap()).unwrap();
    let s = b.constant(HostTensor::from_slice(&[200], &scales).unwrap()).unwrap();
    let wide = b.cast(w, DType::F32).unwrap();
    let s = b.broadcast_in(s, [300, 200], &[1]).unwrap();
    let w = b.mul(wide, s).unwrap();
    let y = b.matmul(x, w).unwrap();
    b.output("y", y).unwrap();
    let graph = b.finish().unwrap();
    let program = Program::compile(graph.clone(), &CompileOptions::default()).unwrap();
    // The product alone is left, of weights that lie as it wants them.
    assert_eq!(program.plan().unwrap().steps.len(), 1, "{}", program.plan().unwrap());
    let x: Vec<f32> = (0..5 * 300).map(|i| (i % 17) as f32 - 8.0).collect();
    let given = [Value::from(HostTensor::from_slice(&[5, 300], &x).unwrap())];
    let oracle = interp::run_bounded(&graph, &given, &interp::Options::default()).unwrap();
    let found = program.session().run_values(&given).unwrap();
    let comparison = interp::compare(&oracle[0], &found[0], 1.0);
    assert!(comparison.ok(), "{comparison}");
}

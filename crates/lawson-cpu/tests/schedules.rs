//! Random schedules of natural kernels, as machine code, against the evaluator on the kernel as it was.
//!
//! Directives are drawn, tried, and kept if the verifier accepts the result. Inputs are small whole numbers, so that sums are
//! the same in any order.
#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, unsafe_code)]

mod common;

use common::{call, each_seed, levels};
use lawson_cpu::{Isa, Listing, emit};
use lawson_graph::random::Rng;
use lawson_graph::{DType, Graph, Symbol};
use lawson_kernel::layout::Orders;
use lawson_kernel::machine::Machine;
use lawson_kernel::partition::partition;
use lawson_kernel::schedule::{Directive, PackLayout, Schedule, Tail};
use lawson_kernel::verify::verify;
use lawson_kernel::{For, Kernel, Kind, Level, Node, eval};

/// Graphs whose kernels are scheduled; N and M are run at several sizes.
const GRAPHS: [&str; 34] = [
    "graph @matmul(%x: f32[N, 19], %w: f32[19, M], %b: f32[M]) -> (y: f32[N, M]) {
       %h = contract %x, %w {batch = [], sum = [[1, 0]]}
       %c = broadcast %b {shape = [N, M], axes = [1]}
       %y = add %h, %c
       return %y
     }",
    "graph @matmul_fixed(%x: f32[13, K], %w: f32[37, K]) -> (y: f32[13, 37]) {
       %y = contract %x, %w {batch = [], sum = [[1, 1]]}
       return %y
     }",
    "graph @batched(%x: f32[3, N, 5], %w: f32[3, 5, 18]) -> (y: f32[3, N, 18]) {
       %y = contract %x, %w {batch = [[0, 0]], sum = [[2, 1]]}
       return %y
     }",
    "graph @conv(%x: f32[2, 3, 9, N], %w: f32[6, 3, 3, 3]) -> (y: f32[2, 6, 5, 1+(N-1)/2]) {
       %y = convolve %x, %w {stride = [2, 2], low = [1, 1], high = [1, 1], input_dilation = [1, 1], kernel_dilation = [1, 1]}
       return %y
     }",
    "graph @conv_last(%x: f32[1, 7, 8, 3], %w: f32[17, 3, 3, 2]) -> (y: f32[1, 7, 9, 17]) {
       %xt = transpose %x {perm = [0, 3, 1, 2]}
       %c = convolve %xt, %w {stride = [1, 1], low = [1, 1], high = [1, 1], input_dilation = [1, 1], kernel_dilation = [1, 1]}
       %y = transpose %c {perm = [0, 2, 3, 1]}
       return %y
     }",
    "graph @depthwise(%x: f32[1, 20, 6, 7], %w: f32[20, 1, 3, 3]) -> (y: f32[1, 20, 6, 7]) {
       %y = convolve %x, %w {groups = 20, stride = [1, 1], low = [1, 1], high = [1, 1], input_dilation = [1, 1], kernel_dilation = [1, 1]}
       return %y
     }",
    "graph @row_sums(%x: f32[N, M]) -> (y: f32[N]) { %y = reduce_sum %x {axes = [1]} return %y }",
    "graph @column_sums(%x: f32[N, M]) -> (y: f32[M]) { %y = reduce_sum %x {axes = [0]} return %y }",
    "graph @column_max(%x: f32[N, 35]) -> (y: f32[35]) { %y = reduce_max %x {axes = [0]} return %y }",
    "graph @int_sums(%x: i32[N, M]) -> (y: i32[N]) { %y = reduce_sum %x {axes = [1]} return %y }",
    "graph @transposed(%x: f32[N, 5, M]) -> (y: f32[M, N, 5]) { %y = transpose %x {perm = [2, 0, 1]} return %y }",
    "graph @scaled(%x: f32[N, M], %s: f32[N], %t: f32[]) -> (y: f32[N, M]) {
       %s2 = broadcast %s {shape = [N, M], axes = [0]}
       %t2 = broadcast %t {shape = [N, M], axes = []}
       %a = mul %x, %s2
       %y = add %a, %t2
       return %y
     }",
    "graph @masks(%x: i32[N, M], %m: bool[M]) -> (y: bool[N, M]) {
       %m2 = broadcast %m {shape = [N, M], axes = [1]}
       %z: i32[] = constant 0
       %z2 = broadcast %z {shape = [N, M], axes = []}
       %l = lt %x, %z2
       %y = xor %l, %m2
       return %y
     }",
    "graph @padded(%x: f32[N, 11]) -> (y: f32[N+3, 15]) {
       %z: f32[] = constant 7.0
       %y = pad %x, %z {low = [1, 3], high = [2, 1], interior = [0, 0]}
       return %y
     }",
    "graph @reshaped(%x: f32[N, 6, 4]) -> (y: f32[4, N*6]) {
       %r = reshape %x {shape = [N*6, 4]}
       %y = transpose %r {perm = [1, 0]}
       return %y
     }",
    "graph @sliced(%x: f32[N, 40], %p: bool[40]) -> (y: f32[N, 13]) {
       %s = slice %x {start = [0, 1], size = [N, 13], step = [1, 3]}
       %q = slice %p {start = [2], size = [13], step = [2]}
       %q2 = broadcast %q {shape = [N, 13], axes = [1]}
       %n = neg %s
       %y = select %q2, %s, %n
       return %y
     }",
    "graph @any_and_all(%x: bool[N, M]) -> (y: bool[N], z: bool[M]) {
       %y = reduce_or %x {axes = [1]}
       %z = reduce_and %x {axes = [0]}
       return %y, %z
     }",
    "graph @masks_transposed(%x: bool[N, M], %s: bool[3, 31]) -> (y: bool[M, N], z: bool[3, 11]) {
       %y = transpose %x {perm = [1, 0]}
       %z = slice %s {start = [0, 0], size = [3, 11], step = [1, 3]}
       return %y, %z
     }",
    "graph @quotients(%x: f32[N], %p: bool[N]) -> (y: f32[3*N], z: bool[N, 5]) {
       %b = broadcast %x {shape = [N, 3], axes = [0]}
       %y = reshape %b {shape = [3*N]}
       %z = broadcast %p {shape = [N, 5], axes = [0]}
       return %y, %z
     }",
    "graph @rows_by_data(%x: f32[7, M], %i: i64[N, 1]) -> (y: f32[N, M]) {
       %y = gather %x, %i {axes = [0]}
       return %y
     }",
    "graph @columns_by_data(%x: f32[N, 6], %i: i32[M, 1]) -> (y: f32[M, N]) {
       %y = gather %x, %i {axes = [1]}
       return %y
     }",
    "graph @elements_by_data(%x: f32[N, 6], %i: i64[N, M, 1]) -> (y: f32[N, M]) {
       %y = gather %x, %i {axes = [1], batch = 1}
       return %y
     }",
    "graph @places_by_data(%x: f32[5, 6], %i: i32[N, M, 2], %p: f32[N, M]) -> (y: f32[N, M]) {
       %g = gather %x, %i {axes = [1, 0]}
       %y = add %g, %p
       return %y
     }",
    "graph @repeated_data(%x: f32[9], %i: i32[N], %p: bool[9]) -> (y: f32[16*N], z: bool[16*N]) {
       %b = broadcast %i {shape = [N, 16], axes = [0]}
       %j = reshape %b {shape = [16*N, 1]}
       %y = gather %x, %j {axes = [0]}
       %z = gather %p, %j {axes = [0]}
       return %y, %z
     }",
    "graph @window_by_data(%x: f32[9, M], %s: i64[2], %u: f32[3, M], %z: f32[N+3, M]) -> (a: f32[4, M], b: f32[N+3, M]) {
       %a = dynamic_slice %x, %s {size = [4, M]}
       %b = update_slice %z, %u, %s
       return %a, %b
     }",
    "graph @piece_by_data(%x: i32[N+9], %u: i32[9], %s: i32[1]) -> (y: i32[N+9]) {
       %a = update_slice %x, %u, %s
       %y = neg %a
       return %y
     }",
    "graph @sums_by_data(%x: f32[11], %i: i32[N, M, 1]) -> (y: f32[N]) {
       %g = gather %x, %i {axes = [0]}
       %y = reduce_sum %g {axes = [1]}
       return %y
     }",
    "graph @padded_data(%x: f32[7, 5], %i: i64[N+1, 1]) -> (y: f32[N+4, 5]) {
       %g = gather %x, %i {axes = [0]}
       %z: f32[] = constant 7.0
       %y = pad %g, %z {low = [1, 0], high = [2, 0], interior = [0, 0]}
       return %y
     }",
    "graph @wide_by_data(%x: i64[9, M], %i: i64[N, 1], %w: i64[N, M]) -> (y: i64[N, M]) {
       %g = gather %x, %i {axes = [0]}
       %y = add %g, %w
       return %y
     }",
    "graph @running(%x: f32[N, M]) -> (y: f32[N, M]) {
       %a = neg %x
       %y = cumulative_sum %a {axis = 0}
       return %y
     }",
    "graph @running_back(%x: i32[N, M, 3]) -> (y: i32[N, M, 3]) {
       %y = cumulative_max %x {axis = 1, exclusive = true, reverse = true}
       return %y
     }",
    "graph @divided(%x: i32[N, M], %d: i32[M], %f: f32[N], %g: f32[N]) -> (y: i32[N, M], z: f32[N]) {
       %e = broadcast %d {shape = [N, M], axes = [1]}
       %q = floor_div %x, %e
       %r = mod %x, %e
       %y = sub %q, %r
       %a = abs %g
       %c: f32[] = constant 0.375
       %c1 = broadcast %c {shape = [N], axes = []}
       %s = add %a, %c1
       %z = mod %f, %s
       return %y, %z
     }",
    "graph @wide(%x: i64[N, M], %p: bool[N, M]) -> (y: i64[M, N], z: i64[N], w: i64[M]) {
       %a: i64[] = constant 4294967297
       %b = broadcast %a {shape = [N, M], axes = []}
       %c = mul %x, %b
       %d = select %p, %c, %x
       %y = transpose %d {perm = [1, 0]}
       %z = reduce_sum %d {axes = [1]}
       %w = reduce_min %d {axes = [0]}
       return %y, %z, %w
     }",
    "graph @numbered(%x: f32[N, M]) -> (y: i64[N], z: i64[M, N]) {
       %y = argmax %x {axis = 1}
       %z = iota {dtype = i64, shape = [M, N], axis = 1}
       return %y, %z
     }",
];

/// Graphs whose results depend on the order of sums, and on how functions are computed, in the last places.
const INEXACT: [&str; 4] = [
    "graph @softmax(%x: f32[N, M]) -> (y: f32[N, M]) { %y = softmax %x {axis = 1} return %y }",
    "graph @softmax_columns(%x: f32[N, 21]) -> (y: f32[N, 21]) { %y = softmax %x {axis = 0} return %y }",
    "graph @norm(%x: f32[N, 37], %g: f32[37], %b: f32[37]) -> (y: f32[N, 37]) {
       %y = layer_norm %x, %g, %b {axis = 1, epsilon = 0.001}
       return %y
     }",
    "graph @activated(%x: f32[N, 19], %w: f32[19, M]) -> (y: f32[N, M]) {
       %h = contract %x, %w {batch = [], sum = [[1, 0]]}
       %t = tanh %h
       %y = sin %t
       return %y
     }",
];

fn loops(kernel: &Kernel) -> Vec<(String, Kind)> {
    let mut out: Vec<(String, Kind)> = Vec::new();
    kernel.visit(&mut |n| {
        if let Node::For(f) = n {
            let item = (kernel.axis(f.axis).name.clone(), f.kind);
            if !out.contains(&item) {
                out.push(item);
            }
        }
    });
    out
}

/// The axes of loops directly around an `accumulate`, each with that of the loop that stands first in it.
fn sums(kernel: &Kernel) -> Vec<[String; 2]> {
    let mut out = Vec::new();
    let name = |f: &For| kernel.axis(f.axis).name.clone();
    kernel.visit(&mut |node| {
        if let Node::For(f) = node
            && let Some(Node::Accumulate { body, .. }) = f.body.first()
            && let Some(Node::For(sum)) = body.first()
        {
            out.push([name(f), name(sum)]);
        }
    });
    out
}

/// A sum in blocks: at some loop, or in tiles of the outputs.
fn block(rng: &mut Rng, kernel: &Kernel) -> Option<Vec<Directive>> {
    let [around, axis] = rng.pick(&sums(kernel))?.clone();
    let (factor, level) = (rng.between(1, 6), if rng.one_in(2) { Level::L1 } else { Level::L2 });
    let blocked = |at| Directive::Block { axis, factor, at, level };
    if rng.one_in(2) {
        let at = (!rng.one_in(4)).then(|| rng.pick(&loops(kernel)).map(|l| l.0.clone()));
        return Some(vec![blocked(at.flatten())]);
    }
    let at = Some(format!("{around}.0"));
    Some(vec![Directive::Split { axis: around, factor: rng.between(1, 40), tail: Tail::Auto }, blocked(at)])
}

fn draw(rng: &mut Rng, kernel: &Kernel, lanes: u32) -> Option<Vec<Directive>> {
    let all = loops(kernel);
    let axis = rng.pick(&all)?.0.clone();
    let buffer = kernel.buffers[rng.below(kernel.buffers.len())].name.clone();
    let tail = match rng.below(6) {
        0 => Tail::Exact,
        1 => Tail::Clip,
        2 => Tail::Cover,
        3 => Tail::Ladder(Vec::new()),
        4 => Tail::LadderClip(Vec::new()),
        _ => Tail::Auto,
    };
    let level = if rng.one_in(2) { Level::L1 } else { Level::L2 };
    let inner = |axis: &str| format!("{axis}.1");
    Some(match rng.below(16) {
        0..=2 => vec![
            Directive::Split { axis: axis.clone(), factor: 16, tail },
            Directive::Execute { axis: inner(&axis), kind: Kind::Vector(lanes) },
        ],
        3..=4 => {
            let factor = rng.between(1, 6);
            let kind = if rng.one_in(3) { Kind::Unroll } else { Kind::Jam };
            vec![
                Directive::Split { axis: axis.clone(), factor, tail },
                Directive::Execute { axis: inner(&axis), kind },
            ]
        }
        5 => vec![Directive::Split { axis, factor: rng.between(1, 20), tail }],
        6..=7 => {
            let mut axes: Vec<String> = all.iter().map(|l| l.0.clone()).collect();
            rng.shuffle(&mut axes);
            axes.truncate(2 + rng.below(3));
            vec![Directive::Reorder { axes }]
        }
        8 => {
            let kinds = [Kind::Jam, Kind::Unroll, Kind::Vector(lanes), Kind::Parallel, Kind::Parallel];
            vec![Directive::Execute { axis, kind: kinds[rng.below(5)] }]
        }
        9 if rng.one_in(2) => {
            let inner = rng.pick(&all)?.0.clone();
            vec![Directive::Join { joined: format!("{axis}_{inner}"), axes: vec![axis, inner] }]
        }
        9 => vec![Directive::Execute { axis: all[0].0.clone(), kind: Kind::Parallel }],
        10 => vec![Directive::Peel { axis, first: rng.between(0, 2), last: rng.between(0, 2) }],
        11 if rng.one_in(2) => vec![Directive::Clip { axis }],
        11 => vec![Directive::Decide { axis }],
        12 => {
            let dims = kernel.buffers.iter().find(|b| b.name == buffer)?.dims.len();
            let layout = match rng.below(3) {
                0 => PackLayout::RowMajor,
                1 => {
                    let mut order: Vec<usize> = (0..dims).collect();
                    rng.shuffle(&mut order);
                    PackLayout::Order(order)
                }
                _ => PackLayout::Panels { dim: rng.below(dims.max(1)), width: rng.between(1, 17) },
            };
            vec![Directive::Pack { buffer, at: axis, layout, level }]
        }
        13 | 14 => block(rng, kernel).unwrap_or_default(),
        _ if rng.one_in(2) => vec![Directive::Stream { buffer }],
        _ => {
            let ahead = rng.between(1, 3);
            let mut other = || rng.one_in(3).then(|| rng.pick(&all).map(|l| l.0.clone())).flatten();
            let (of, by, whole) = (other(), other(), rng.one_in(3));
            vec![Directive::Prefetch { buffer, at: axis, ahead, of, by, whole, level }]
        }
    })
}

/// Whole numbers small enough that sums are exact.
fn fill(rng: &mut Rng, dtype: DType, count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|_| match dtype {
            DType::Bool => vec![rng.below(2) as u8],
            DType::I32 => (rng.between(-9, 9) as i32).to_le_bytes().to_vec(),
            DType::I64 => (rng.between(-9, 9) << (rng.below(2) * 31)).to_le_bytes().to_vec(),
            _ => (rng.between(-4, 4) as f32).to_le_bytes().to_vec(),
        })
        .collect()
}

/// Whether buffers are the same; where `exact` does not hold, floats need only be close.
fn same(kernel: &Kernel, a: &[Vec<u8>], b: &[Vec<u8>], exact: bool) -> bool {
    let float = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    a == b
        || !exact
            && kernel.arguments().zip(a.iter().zip(b)).all(|(id, (a, b))| {
                if kernel.buffer(id).dtype != DType::F32 {
                    return a == b;
                }
                a.chunks_exact(4).map(float).zip(b.chunks_exact(4).map(float)).all(|(a, b)| {
                    a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-5 * (1.0 + b.abs())
                })
            })
}

fn check(isa: Isa, natural: &Kernel, exact: bool, rng: &mut Rng, done: &mut [u64; 5]) -> Result<(), String> {
    let mut kernel = natural.clone();
    let lanes = isa.of(&Machine::default()).lanes_for(natural) as u32;
    let mut schedule = Schedule::default();
    for turn in 0..2 + rng.below(12) {
        // Sums are blocked before other directives make that impossible.
        let early = if turn == 0 && rng.one_in(3) { block(rng, &kernel) } else { None };
        let Some(more) = early.or_else(|| draw(rng, &kernel, lanes)) else { break };
        let mut changed = kernel.clone();
        if Schedule(more.clone()).apply(&mut changed).is_ok() && verify(&changed).is_ok() {
            kernel = changed;
            schedule.0.extend(more);
        }
    }
    let told = |what: String| format!("{what}\n{schedule}\n{kernel}");
    let code = match emit(&kernel, isa, Listing::Off) {
        Ok(code) => code,
        Err(e) => {
            done[1] += 1;
            if std::env::var_os("TRACE").is_some() {
                eprintln!("{e}");
            }
            return Ok(());
        }
    };
    done[0] += 1;
    done[4] += u64::from(schedule.0.iter().any(|d| matches!(d, Directive::Block { .. })));
    done[2] += u64::from(code.spilled != [0; 3]);
    for n in [0, 1, 2, 15, 16, 17, 33, 5] {
        let sizes = [n, rng.between(0, 40), rng.between(0, 20)];
        let params: Vec<(Symbol, i64)> = ["N", "M", "K"].into_iter().map(Symbol::new).zip(sizes).collect();
        let value = |s: &Symbol| params.iter().find(|(n, _)| n == s).map(|p| p.1);
        let mut buffers = Vec::new();
        for id in natural.arguments() {
            let b = natural.buffer(id);
            let count = b.layout.size.eval(&value).ok_or("a size")?;
            buffers.push(fill(rng, b.dtype, usize::try_from(count).map_err(|_| "a negative size")?));
        }
        let mut expected = buffers.clone();
        eval::run(natural, &params, &mut expected, &eval::Options::default()).map_err(|e| e.to_string())?;
        call(&kernel, &code, &params, &mut buffers, rng.between(1, 3));
        if !same(natural, &buffers, &expected, exact) {
            let mut evaluated = expected.clone();
            let again = eval::run(&kernel, &params, &mut evaluated, &eval::Options::default());
            let whose = match again {
                Ok(_) if same(natural, &evaluated, &expected, exact) => "the emitter is wrong".into(),
                Ok(_) => "the schedule is wrong".into(),
                Err(e) => format!("the evaluator refuses: {e}"),
            };
            return Err(told(format!("at {sizes:?}: {whose}")));
        }
        done[3] += 1;
    }
    Ok(())
}

#[test]
fn any_legal_schedule_computes_the_same() {
    let mut kernels = Vec::new();
    for (n, text) in GRAPHS.into_iter().chain(INEXACT).enumerate() {
        let graph = Graph::parse(&format!("lawson 1\n{text}")).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let graph = lawson_opt::Pipeline::standard().run(&graph).unwrap();
        let parts = partition(&graph, &Orders::default(), &Machine::default()).parts.into_iter();
        kernels.extend(parts.map(|p| (p.lowered.unwrap().kernel, n < GRAPHS.len())));
    }
    let mut done = [0; 5];
    each_seed(900, |seed| {
        let mut rng = Rng::new(seed);
        let (kernel, exact) = &kernels[seed as usize % kernels.len()];
        levels().try_for_each(|isa| check(isa, kernel, *exact, &mut rng, &mut done))
    });
    let [emitted, refused, spilled, runs, blocked] = done;
    println!(
        "{emitted} schedules emitted ({spilled} with spills, {blocked} with blocks), {refused} refused, {runs} runs"
    );
    assert!(emitted > refused && blocked > 15);
}

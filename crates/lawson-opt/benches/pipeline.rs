//! How long the standard pipeline takes, by kind and size of graph: `cargo bench -p lawson-opt`.
//!
//! Prints the median of several runs, the time per node, and the share of each pass at the largest size.

use lawson_graph::random::{GraphShape, Rng, random_graph};
use lawson_graph::{Builder, DType, Dim, Graph, Result, Type};
use lawson_opt::{Pipeline, RunOptions, Verify};
use std::time::{Duration, Instant};

const RUNS: usize = 9;

/// Blocks of attention and feed-forward layers on a symbolic batch, as a front end would build them.
fn transformer(nodes: usize) -> Result<Graph> {
    let mut b = Builder::new("transformer");
    let (n, s, d) = (Dim::symbol("N"), 128i64, 64i64);
    let mut x = b.input("x", Type::tensor(DType::F32, [n.clone(), s.into(), d.into()]))?;
    let mut layer = 0;
    while b.added().len() < nodes {
        let weight = |b: &mut Builder<'_>, name: &str, shape: &[usize]| {
            b.input(&format!("{name}{layer}"), Type::tensor(DType::F32, shape))
        };
        let (scale, shift) = (weight(&mut b, "s", &[64])?, weight(&mut b, "t", &[64])?);
        let normed = b.layer_norm(x, scale, shift, 2, 1e-5)?;
        let w = weight(&mut b, "w", &[64, 192])?;
        let qkv = b.matmul(normed, w)?;
        let mut heads = Vec::new();
        for i in 0..3 {
            let part = b.slice_axis(qkv, 2, i * d, d)?;
            let split = b.reshape(part, [n.clone(), s.into(), 4.into(), 16.into()])?;
            heads.push(b.transpose(split, &[0, 2, 1, 3])?);
        }
        let kt = b.transpose(heads[1], &[0, 1, 3, 2])?;
        let scores = b.matmul(heads[0], kt)?;
        let scaled = b.mul_scalar(scores, 0.25)?;
        let weights = b.softmax(scaled, 3)?;
        let mixed = b.matmul(weights, heads[2])?;
        let back = b.transpose(mixed, &[0, 2, 1, 3])?;
        let merged = b.reshape(back, [n.clone(), s.into(), d.into()])?;
        let residual = b.add(x, merged)?;
        let up = weight(&mut b, "u", &[64, 256])?;
        let hidden = b.matmul(residual, up)?;
        let active = b.gelu(hidden)?;
        let down = weight(&mut b, "v", &[256, 64])?;
        let out = b.matmul(active, down)?;
        x = b.add(out, residual)?;
        layer += 1;
    }
    b.output("y", x)?;
    b.finish()
}

/// A chain of elementwise operators with views between them.
fn chain(nodes: usize) -> Result<Graph> {
    let mut b = Builder::new("chain");
    let mut x = b.input("x", Type::tensor(DType::F32, [64, 64]))?;
    let mut i = 0;
    while b.added().len() < nodes {
        x = match i % 4 {
            0 => b.tanh(x)?,
            1 => b.transpose(x, &[1, 0])?,
            2 => b.add_scalar(x, 1.5)?,
            _ => b.reshape(
                x,
                if i % 8 == 3 { vec![Dim::from(4096)] } else { vec![Dim::from(64), Dim::from(64)] },
            )?,
        };
        if b.shape(x)?.rank() == 1 {
            x = b.reshape(x, [64, 64])?;
        }
        i += 1;
    }
    b.output("y", x)?;
    b.finish()
}

fn random(nodes: usize) -> Result<Graph> {
    random_graph(&mut Rng::new(1), &GraphShape { nodes, control: false, ..GraphShape::default() })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn main() -> Result<()> {
    let pipeline = Pipeline::standard();
    let options = RunOptions { verify: Verify::Never, stop_after: None };
    println!(
        "{:<12} {:>7} {:>7} {:>10} {:>10} {:>10}",
        "graph", "nodes", "after", "median ms", "µs/node", "verify ms"
    );
    for (name, build) in
        [("transformer", transformer as fn(usize) -> Result<Graph>), ("chain", chain), ("random", random)]
    {
        for nodes in [625, 1250, 2500, 5000, 10000] {
            let graph = build(nodes)?;
            let mut after = 0;
            let mut times = Vec::new();
            for _ in 0..RUNS {
                let start = Instant::now();
                after = pipeline.run_with(&graph, &options, &mut |_| Ok(()))?.nodes().len();
                times.push(start.elapsed());
            }
            let start = Instant::now();
            graph.verify()?;
            let verify = start.elapsed();
            let time = median(times);
            let count = graph.nodes().len();
            println!(
                "{name:<12} {count:>7} {after:>7} {:>10.2} {:>10.2} {:>10.2}",
                time.as_secs_f64() * 1e3,
                time.as_secs_f64() * 1e6 / count as f64,
                verify.as_secs_f64() * 1e3
            );
        }
    }
    for (name, graph) in [("transformer", transformer(5000)?), ("random graph", random(3000)?)] {
        println!("\npasses on the {name} of {} nodes", graph.nodes().len());
        let mut last = Instant::now();
        pipeline.run_with(&graph, &options, &mut |seen| {
            let ms = last.elapsed().as_secs_f64() * 1e3;
            println!("  {:<22} {ms:>8.2} ms, {:>6} nodes", seen.pass.name(), seen.graph.nodes().len());
            last = Instant::now();
            Ok(())
        })?;
    }
    Ok(())
}

//! Whole networks: deep chains of linear layers, two perceptrons, the convolutions of ResNet-50 in sequence, and a graph so
//! small that only the overhead of a run counts.
//!
//! They are too deep for the certain bounds of the interpreter to say much, so that a plain computation in f64 checks them.

use super::convolution::{CHANNELS_FIRST, CHANNELS_LAST, Conv};
use super::{cut, input, random};
use crate::Failure;
use crate::case::{Case, Check, Expected, Problem, Work};
use lawson::Passes;
use lawson::graph::{Builder, Graph, ValueId};
use lawson::opt::Pipeline;
use lawson::opt::passes::{DeadCode, Decompose};
use lawson::{HostTensor, Result};
use std::sync::Arc;

/// How far a result may be off after tens of layers in f32, as a part of the greatest.
const TOLERANCE: f64 = 1e-4;

/// What stands after the layers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Last {
    Softmax,
    Relu,
}

/// Dense layers with ReLU between them.
struct Dense {
    weights: Vec<HostTensor>,
    biases: Vec<Option<HostTensor>>,
    last: Last,
}

impl Dense {
    /// As many layers of the same size, without bias.
    fn chain(size: usize, depth: usize) -> Result<Dense> {
        // A uniform element in ±r has variance r²/3; ReLU halves the second moment.
        let reach = (6.0 / size as f32).sqrt();
        let weights =
            (0..depth).map(|n| random(100 + n as u64, &[size, size], reach)).collect::<Result<Vec<_>>>()?;
        Ok(Dense { biases: vec![None; depth], weights, last: Last::Softmax })
    }

    fn perceptron(sizes: &[usize]) -> Result<Dense> {
        let (mut weights, mut biases) = (Vec::new(), Vec::new());
        for (n, w) in sizes.windows(2).enumerate() {
            let reach = (6.0 / w[0] as f32).sqrt();
            weights.push(random(200 + n as u64, &[w[0], w[1]], reach)?);
            biases.push(Some(random(300 + n as u64, &[w[1]], 0.5)?));
        }
        Ok(Dense { weights, biases, last: Last::Relu })
    }

    fn graph(&self, x: &HostTensor) -> Result<Graph> {
        let mut b = Builder::new("dense");
        let mut y = input(&mut b, "x", x)?;
        for (n, (w, bias)) in self.weights.iter().zip(&self.biases).enumerate() {
            let w = b.constant(w.clone())?;
            let bias = match bias {
                Some(t) => Some(b.constant(t.clone())?),
                None => None,
            };
            y = b.linear(y, w, bias)?;
            let last = n + 1 == self.weights.len();
            y = match self.last {
                Last::Softmax if last => b.softmax(y, 1)?,
                Last::Softmax | Last::Relu => b.relu(y)?,
            };
        }
        b.output("y", y)?;
        b.finish()
    }

    /// One row, in f64.
    fn row(&self, x: &[f32]) -> Result<Vec<f64>> {
        let mut x: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
        for (n, (w, bias)) in self.weights.iter().zip(&self.biases).enumerate() {
            let columns = w.sizes()[1];
            let mut y = match bias {
                Some(t) => t.to_vec::<f32>()?.into_iter().map(f64::from).collect(),
                None => vec![0f64; columns],
            };
            for (x, w) in x.iter().zip(w.to_vec::<f32>()?.chunks(columns)) {
                y.iter_mut().zip(w).for_each(|(y, w)| *y += x * f64::from(*w));
            }
            if self.last == Last::Relu || n + 1 < self.weights.len() {
                y.iter_mut().for_each(|y| *y = y.max(0.0));
            }
            x = y;
        }
        if self.last == Last::Softmax {
            let greatest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            x.iter_mut().for_each(|x| *x = (*x - greatest).exp());
            let sum: f64 = x.iter().sum();
            x.iter_mut().for_each(|x| *x /= sum);
        }
        Ok(x)
    }

    fn problem(&self, rows: usize) -> std::result::Result<Problem, Failure> {
        let columns = self.weights.first().ok_or("a network without layers")?.sizes()[0];
        let x = random(1, &[rows, columns], 1.7)?;
        let expected = self.row(&cut(&x, &[rows - 1, 0], &[1, columns])?.to_vec::<f32>()?)?;
        let expected = Expected::Near(vec![1, expected.len()], expected, TOLERANCE);
        let graphs = vec![self.graph(&x)?];
        Ok(Problem {
            passes: Passes::Standard,
            graphs,
            inputs: vec![x],
            check: Check { start: vec![rows - 1, 0], expected },
        })
    }
}

fn dense_flops(sizes: &[usize], rows: usize) -> Work {
    Work::Flops(sizes.windows(2).map(|w| 2.0 * (w[0] * w[1] * rows) as f64).sum())
}

const DEPTH: usize = 64;

/// A chain of 64 layers on as many rows as they have columns, as a graph.
pub fn chain_graph(size: usize) -> Result<Graph> {
    Dense::chain(size, DEPTH)?.graph(&random(1, &[size, size], 1.7)?)
}

/// Chains of 64 linear layers with ReLU, then softmax, on as many rows as columns.
pub fn chains() -> Vec<Case> {
    let of = |n: usize| Case {
        name: format!("chain64 n={n}"),
        work: dense_flops(&[n; DEPTH + 1], n),
        make: Box::new(move || Dense::chain(n, DEPTH)?.problem(n)),
    };
    [64, 256, 1024].into_iter().map(of).collect()
}

/// The two perceptrons of the zoo.
const PERCEPTRONS: [&[usize]; 2] = [&[13, 512, 256, 128], &[479, 1024, 1024, 512, 256, 1]];

/// Perceptrons at three sizes of batch.
pub fn perceptrons() -> Vec<Case> {
    let mut all = Vec::new();
    for (n, sizes) in PERCEPTRONS.into_iter().enumerate() {
        for rows in [32, 128, 512] {
            all.push(Case {
                name: format!("mlp{} batch {rows}", n + 1),
                work: dense_flops(sizes, rows),
                make: Box::new(move || Dense::perceptron(sizes)?.problem(rows)),
            });
        }
    }
    all
}

/// A convolution of ResNet-50 in its place.
struct Layer {
    conv: Conv,
    weights: HostTensor,
    bias: HostTensor,
}

impl Layer {
    fn new(conv: Conv, seed: &mut u64) -> Result<Layer> {
        *seed += 1;
        let reach = (3.0 / conv.depth() as f32).sqrt();
        let weights = random(*seed, &conv.weights(), reach)?;
        Ok(Layer { conv, weights, bias: random(1000 + *seed, &[conv.output], 0.2)? })
    }

    /// The convolution with its bias, channels first.
    /// The convolution of an image, channels last, with its bias.
    fn build(&self, b: &mut Builder<'_>, x: ValueId) -> Result<ValueId> {
        let weights = b.constant(self.weights.clone())?;
        let bias = b.constant(self.bias.clone())?;
        let x = b.transpose(x, &CHANNELS_FIRST)?;
        let y = self.conv.apply(b, x, weights)?;
        let y = b.transpose(y, &CHANNELS_LAST)?;
        let shape = b.shape(y)?;
        let bias = b.broadcast_in(bias, shape, &[3])?;
        b.add(y, bias)
    }

    /// The same, channels last, with sums in f64.
    fn compute(&self, x: &[f64]) -> Result<Vec<f64>> {
        let Conv { image, input, output, window, stride, .. } = self.conv;
        let given = self.weights.to_vec::<f32>()?;
        // Output channels last, so that the innermost loop runs over neighbours.
        let mut w = vec![0f64; given.len()];
        for (n, v) in given.iter().enumerate() {
            let (o, rest) = (n / (input * window * window), n % (input * window * window));
            w[(rest % (window * window) * input + rest / (window * window)) * output + o] = f64::from(*v);
        }
        let (out, pad) = (self.conv.out_image(), window / 2);
        let bias: Vec<f64> = self.bias.to_vec::<f32>()?.into_iter().map(f64::from).collect();
        let mut y = Vec::with_capacity(out * out * output);
        for at in 0..out * out {
            let mut sums = bias.clone();
            for tap in 0..window * window {
                let row = (at / out * stride + tap / window).wrapping_sub(pad);
                let column = (at % out * stride + tap % window).wrapping_sub(pad);
                if row >= image || column >= image {
                    continue;
                }
                let pixel = &x[(row * image + column) * input..][..input];
                for (c, v) in pixel.iter().enumerate() {
                    let w = &w[(tap * input + c) * output..][..output];
                    sums.iter_mut().zip(w).for_each(|(s, w)| *s += v * w);
                }
            }
            y.extend(sums);
        }
        Ok(y)
    }
}

/// A residual block: three convolutions, and one beside them where the sizes change.
struct Block {
    convs: [Layer; 3],
    beside: Option<Layer>,
}

/// The 53 convolutions of ResNet-50 with own weights. The pooling after the first is a stride here, so that there is nothing but
/// convolutions, biases, residuals and ReLU.
struct ResNet {
    stem: Layer,
    blocks: Vec<Block>,
}

const STAGES: [(usize, usize, usize); 4] = [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)];

impl ResNet {
    fn new() -> Result<ResNet> {
        let mut seed = 5000;
        // 224² becomes 112² by the stride of 2; the first block begins at 56².
        let stem = Layer::new(Conv::dense(224, 3, 64, 7, 2), &mut seed)?;
        let (mut image, mut channels) = (stem.conv.out_image(), 64);
        let mut blocks = Vec::new();
        for (stage, (width, count, stride)) in STAGES.into_iter().enumerate() {
            for n in 0..count {
                let pool = if stage == 0 && n == 0 { 2 } else { 1 };
                let stride = if n == 0 { stride * pool } else { 1 };
                // What is pooled is pooled at once: the first block's first convolution would else be four times as large.
                let (early, late) = if pool == 2 { (2, 1) } else { (1, stride) };
                let inner = image / early;
                let convs = [
                    Layer::new(Conv::dense(image, channels, width, 1, early), &mut seed)?,
                    Layer::new(Conv::dense(inner, width, width, 3, late), &mut seed)?,
                    Layer::new(Conv::dense(image / stride, width, 4 * width, 1, 1), &mut seed)?,
                ];
                let beside = match n {
                    0 => Some(Layer::new(Conv::dense(image, channels, 4 * width, 1, stride), &mut seed)?),
                    _ => None,
                };
                blocks.push(Block { convs, beside });
                image /= stride;
                channels = 4 * width;
            }
        }
        Ok(ResNet { stem, blocks })
    }

    fn layers(&self) -> impl Iterator<Item = &Layer> {
        let blocks = self.blocks.iter().flat_map(|b| b.convs.iter().chain(&b.beside));
        std::iter::once(&self.stem).chain(blocks)
    }

    fn flops(&self) -> f64 {
        self.layers().map(|l| l.conv.flops()).sum()
    }

    fn graph(&self, x: &HostTensor) -> Result<Graph> {
        let mut b = Builder::new("resnet");
        let x = input(&mut b, "x", x)?;
        let y = self.stem.build(&mut b, x)?;
        let mut y = b.relu(y)?;
        for block in &self.blocks {
            let mut z = y;
            let [first, second, third] = &block.convs;
            for layer in [first, second] {
                z = layer.build(&mut b, z)?;
                z = b.relu(z)?;
            }
            z = third.build(&mut b, z)?;
            let residual = match &block.beside {
                Some(layer) => layer.build(&mut b, y)?,
                None => y,
            };
            z = b.add(z, residual)?;
            y = b.relu(z)?;
        }
        b.output("y", y)?;
        b.finish()
    }

    fn compute(&self, x: &HostTensor) -> Result<Vec<f64>> {
        let relu = |x: &mut Vec<f64>| x.iter_mut().for_each(|x| *x = x.max(0.0));
        let x: Vec<f64> = x.to_vec::<f32>()?.into_iter().map(f64::from).collect();
        let mut y = self.stem.compute(&x)?;
        relu(&mut y);
        for block in &self.blocks {
            let [first, second, third] = &block.convs;
            let mut z = first.compute(&y)?;
            relu(&mut z);
            z = second.compute(&z)?;
            relu(&mut z);
            z = third.compute(&z)?;
            let residual = match &block.beside {
                Some(layer) => layer.compute(&y)?,
                None => y,
            };
            z.iter_mut().zip(&residual).for_each(|(z, r)| *z += r);
            relu(&mut z);
            y = z;
        }
        Ok(y)
    }

    fn problem(&self) -> std::result::Result<Problem, Failure> {
        let x = random(1, &[1, 224, 224, 3], 1.0)?;
        let expected = Expected::Near(vec![1, 7, 7, 2048], self.compute(&x)?, TOLERANCE);
        let graphs = vec![self.graph(&x)?];
        // The layout is given by hand: the transposes stay around each convolution, where they become index arithmetic.
        let passes = Passes::Custom(Pipeline::new(vec![Arc::new(Decompose::ALL), Arc::new(DeadCode)]));
        Ok(Problem { passes, graphs, inputs: vec![x], check: Check { start: Vec::new(), expected } })
    }
}

/// All 53 convolutions of ResNet-50 in sequence.
pub fn resnet() -> Result<Vec<Case>> {
    let flops = ResNet::new()?.flops();
    let make = Box::new(|| ResNet::new()?.problem());
    Ok(vec![Case { name: "resnet50 convolutions".to_string(), work: Work::Flops(flops), make }])
}

/// `relu(x·x + x)` on 64 elements: what a run costs.
pub fn tiny() -> Vec<Case> {
    let graph = |x: &HostTensor| -> Result<Graph> {
        let mut b = Builder::new("tiny");
        let x = input(&mut b, "x", x)?;
        let square = b.mul(x, x)?;
        let sum = b.add(square, x)?;
        let y = b.relu(sum)?;
        b.output("y", y)?;
        b.finish()
    };
    let make = move || {
        let x = random(1, &[64], 1.0)?;
        let expected = Expected::Graph(Box::new(graph(&x)?), vec![x.clone()]);
        let graphs = vec![graph(&x)?];
        Ok(Problem {
            passes: Passes::Standard,
            graphs,
            inputs: vec![x],
            check: Check { start: Vec::new(), expected },
        })
    };
    vec![Case { name: "3 operators on 64 elements".to_string(), work: Work::Run, make: Box::new(make) }]
}

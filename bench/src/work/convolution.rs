//! Convolutions with bias and ReLU, channels last: those of ResNet-50 that differ, and MobileNet's depthwise ones.
//!
//! The graph's primitive has channels first; transposes around it make the buffers channels-last, and lowering turns them
//! into index arithmetic.

use super::{bias_relu, cut, input, random};
use crate::Failure;
use crate::case::{Case, Check, Expected, Problem, Work};
use lawson::Passes;
use lawson::graph::op::Convolve;
use lawson::graph::{Builder, Dim, Graph, Op, ValueId};
use lawson::{HostTensor, Result};

/// A square convolution of one image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conv {
    /// Height and width of the image.
    pub image: usize,
    /// Channels that come in.
    pub input: usize,
    /// Channels that go out.
    pub output: usize,
    /// Height and width of the window, which is odd; half of it is the padding.
    pub window: usize,
    /// How far the window moves.
    pub stride: usize,
    /// Whether each channel has a window of its own.
    pub channels: Channels,
}

/// Which channels of the input a channel of the output sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channels {
    /// All.
    Dense,
    /// Its own.
    Depthwise,
}

impl Conv {
    /// Dense.
    pub const fn dense(image: usize, input: usize, output: usize, window: usize, stride: usize) -> Conv {
        Conv { image, input, output, window, stride, channels: Channels::Dense }
    }

    /// Depthwise, 3×3.
    pub const fn depthwise(image: usize, channels: usize, stride: usize) -> Conv {
        Conv { image, input: channels, output: channels, window: 3, stride, channels: Channels::Depthwise }
    }

    /// Height and width of the result.
    pub fn out_image(&self) -> usize {
        (self.image + 2 * (self.window / 2) - self.window) / self.stride + 1
    }

    fn seen(&self) -> usize {
        match self.channels {
            Channels::Dense => self.input,
            Channels::Depthwise => 1,
        }
    }

    /// The sizes of the weights, as the primitive wants them.
    pub fn weights(&self) -> [usize; 4] {
        [self.output, self.seen(), self.window, self.window]
    }

    /// The length of the sums.
    pub fn depth(&self) -> usize {
        self.seen() * self.window * self.window
    }

    /// Floating-point operations.
    pub fn flops(&self) -> f64 {
        2.0 * (self.out_image().pow(2) * self.output * self.depth()) as f64
    }

    fn name(&self) -> String {
        let Conv { image, input, output, window, stride, channels } = self;
        match channels {
            Channels::Dense => format!("conv {window}x{window}/{stride} {image}x{image} {input}->{output}"),
            Channels::Depthwise => format!("depthwise {window}x{window}/{stride} {image}x{image} {input}"),
        }
    }

    /// The convolution of a value with channels first.
    pub fn apply(&self, b: &mut Builder<'_>, x: ValueId, weights: ValueId) -> Result<ValueId> {
        let pad = vec![Dim::from(self.window / 2); 2];
        let groups = match self.channels {
            Channels::Dense => 1,
            Channels::Depthwise => self.input as i64,
        };
        let stride = vec![self.stride as i64; 2];
        let op = Convolve { stride, low: pad.clone(), high: pad, groups, ..Convolve::plain(2) };
        b.op1(Op::Convolve(op), &[x, weights])
    }

    fn graph(&self, x: &HostTensor, weights: HostTensor, bias: HostTensor) -> Result<Graph> {
        let mut b = Builder::new("convolution");
        let x = input(&mut b, "x", x)?;
        let (weights, bias) = (b.constant(weights)?, b.constant(bias)?);
        let first = b.transpose(x, &CHANNELS_FIRST)?;
        let y = self.apply(&mut b, first, weights)?;
        let y = bias_relu(&mut b, y, bias, 1)?;
        let y = b.transpose(y, &CHANNELS_LAST)?;
        b.output("y", y)?;
        b.finish()
    }

    /// The case of it, with bias and ReLU.
    pub fn case(self) -> Case {
        Case { name: self.name(), work: Work::Flops(self.flops()), make: Box::new(move || self.problem()) }
    }

    /// The interpreter checks the last channels.
    fn problem(&self) -> std::result::Result<Problem, Failure> {
        let x = random(1, &[1, self.image, self.image, self.input], 1.0)?;
        let weights = random(2, &self.weights(), 1.0)?;
        let bias = random(3, &[self.output], 1.0)?;
        let kept = CHECKED_CHANNELS.min(self.output);
        let from = self.output - kept;
        let few = Conv { output: kept, ..*self };
        let (small, small_x) = match self.channels {
            Channels::Dense => (few, x.clone()),
            Channels::Depthwise => {
                let part = cut(&x, &[0, 0, 0, from], &[1, self.image, self.image, kept])?;
                (Conv { input: kept, ..few }, part)
            }
        };
        let small_weights = cut(&weights, &[from, 0, 0, 0], &small.weights())?;
        let small_graph = small.graph(&small_x, small_weights, cut(&bias, &[from], &[kept])?)?;
        Ok(Problem {
            passes: Passes::Standard,
            graphs: vec![self.graph(&x, weights, bias)?],
            inputs: vec![x],
            check: Check {
                start: vec![0, 0, 0, from],
                expected: Expected::Graph(Box::new(small_graph), vec![small_x]),
            },
        })
    }
}

/// From channels last to channels first, and back.
pub const CHANNELS_FIRST: [usize; 4] = [0, 3, 1, 2];
/// From channels first to channels last.
pub const CHANNELS_LAST: [usize; 4] = [0, 2, 3, 1];

const CHECKED_CHANNELS: usize = 2;

/// The convolutions of ResNet-50 that differ (stride in the 3×3, as in version 1.5).
pub const RESNET: [Conv; 23] = [
    Conv::dense(224, 3, 64, 7, 2),
    Conv::dense(56, 64, 64, 1, 1),
    Conv::dense(56, 64, 64, 3, 1),
    Conv::dense(56, 64, 256, 1, 1),
    Conv::dense(56, 256, 64, 1, 1),
    Conv::dense(56, 256, 128, 1, 1),
    Conv::dense(56, 128, 128, 3, 2),
    Conv::dense(56, 256, 512, 1, 2),
    Conv::dense(28, 128, 512, 1, 1),
    Conv::dense(28, 512, 128, 1, 1),
    Conv::dense(28, 128, 128, 3, 1),
    Conv::dense(28, 512, 256, 1, 1),
    Conv::dense(28, 256, 256, 3, 2),
    Conv::dense(28, 512, 1024, 1, 2),
    Conv::dense(14, 256, 1024, 1, 1),
    Conv::dense(14, 1024, 256, 1, 1),
    Conv::dense(14, 256, 256, 3, 1),
    Conv::dense(14, 1024, 512, 1, 1),
    Conv::dense(14, 512, 512, 3, 2),
    Conv::dense(14, 1024, 2048, 1, 2),
    Conv::dense(7, 512, 2048, 1, 1),
    Conv::dense(7, 2048, 512, 1, 1),
    Conv::dense(7, 512, 512, 3, 1),
];

/// The depthwise convolutions of MobileNetV2 that differ.
pub const MOBILENET: [Conv; 10] = [
    Conv::depthwise(112, 32, 1),
    Conv::depthwise(112, 96, 2),
    Conv::depthwise(56, 144, 1),
    Conv::depthwise(56, 144, 2),
    Conv::depthwise(28, 192, 1),
    Conv::depthwise(28, 192, 2),
    Conv::depthwise(14, 384, 1),
    Conv::depthwise(14, 576, 1),
    Conv::depthwise(14, 576, 2),
    Conv::depthwise(7, 960, 1),
];

/// [`RESNET`], then [`MOBILENET`].
pub fn all() -> Vec<Case> {
    RESNET.into_iter().chain(MOBILENET).map(Conv::case).collect()
}

//! The programs that are timed, by family: each function gives [`Case`](crate::case::Case)s.

pub mod attention;
pub mod convolution;
pub mod elementwise;
pub mod matmul;
pub mod network;

use lawson::graph::{Builder, Shape, Type, ValueId};
use lawson::{DType, HostTensor, Result};

/// Elements between `-reach` and `reach`, the same for the same seed.
pub fn random(seed: u64, sizes: &[usize], reach: f32) -> Result<HostTensor> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let elements: Vec<f32> = (0..sizes.iter().product::<usize>())
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            ((state >> 40) as f32 / (1 << 23) as f32 - 1.0) * reach
        })
        .collect();
    HostTensor::from_slice(sizes, &elements)
}

/// The box of a tensor of f32 that begins at `start`.
pub fn cut(t: &HostTensor, start: &[usize], sizes: &[usize]) -> Result<HostTensor> {
    let all = t.to_vec::<f32>()?;
    let rank = sizes.len();
    let mut out = Vec::with_capacity(sizes.iter().product());
    for n in 0..sizes.iter().product::<usize>() {
        let (mut rest, mut at, mut stride) = (n, 0, 1);
        for a in (0..rank).rev() {
            at += (start[a] + rest % sizes[a]) * stride;
            rest /= sizes[a];
            stride *= t.sizes()[a];
        }
        out.push(all[at]);
    }
    HostTensor::from_slice(sizes, &out)
}

fn input(b: &mut Builder<'_>, name: &str, like: &HostTensor) -> Result<ValueId> {
    b.input(name, Type::tensor(DType::F32, Shape::from(like.sizes())))
}

/// `relu(x + bias)`, the bias along an axis.
fn bias_relu(b: &mut Builder<'_>, x: ValueId, bias: ValueId, axis: usize) -> Result<ValueId> {
    let shape = b.shape(x)?;
    let bias = b.broadcast_in(bias, shape, &[axis])?;
    let sum = b.add(x, bias)?;
    b.relu(sum)
}

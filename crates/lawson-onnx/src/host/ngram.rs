//! Counts of n-grams: sequences of neighbours, or of elements a fixed distance apart, that a pool lists.

use super::{integers, number, tensor};
use lawson_graph::{DType, HostTensor, Result, Value};
use std::collections::HashMap;

/// Elements as texts, so that numbers and texts are one.
fn words(t: &HostTensor) -> Vec<String> {
    match t.dtype() {
        DType::Str => t.text().iter().map(ToString::to_string).collect(),
        _ => (0..t.len()).map(|i| t.int_at(i).to_string()).collect(),
    }
}

/// Operands: rows `[rows, words]`, the pool, where the n-grams of each length begin in it, the place of each n-gram in a result row,
/// the least and the greatest length, the most words skipped, the length of a result row. Result: f32 `[rows, length]`.
pub(super) fn vectorise(operands: &[Value]) -> Result<Vec<Value>> {
    let (x, pool) = (tensor(operands, 0)?, words(tensor(operands, 1)?));
    let (starts, indexes) = (integers(operands, 2)?, integers(operands, 3)?);
    let (least, most) = (number(operands, 4)?.max(1) as usize, number(operands, 5)?.max(1) as usize);
    let (skips, width) = (number(operands, 6)?.max(0) as usize, number(operands, 7)?.max(0) as usize);
    let mut places: HashMap<&[String], usize> = HashMap::new();
    let mut next = 0;
    for (i, start) in starts.iter().enumerate() {
        let size = i + 1;
        let end = starts.get(i + 1).map_or(pool.len(), |e| *e as usize).min(pool.len());
        let own = pool.get(*start as usize..end).unwrap_or_default();
        for gram in own.chunks_exact(size) {
            if let Some(place) = indexes.get(next) {
                places.insert(gram, *place as usize);
            }
            next += 1;
        }
    }
    let (rows, length) = (x.sizes()[0], x.sizes()[1]);
    let all = words(x);
    let mut counts = vec![0f32; rows * width];
    for row in 0..rows {
        let line = &all[row * length..(row + 1) * length];
        for size in least..=most.min(starts.len()) {
            // Single words have no distance between them, and distances that do not fit in a line count nothing.
            let distances = if size == 1 { 1 } else { skips.saturating_add(1).min(length) };
            for distance in 1..=distances {
                let span = (size - 1) * distance;
                for first in 0..length.saturating_sub(span) {
                    let gram: Vec<String> = (0..size).map(|k| line[first + k * distance].clone()).collect();
                    if let Some(place) = places.get(gram.as_slice()).filter(|p| **p < width) {
                        counts[row * width + place] += 1.0;
                    }
                }
            }
        }
    }
    Ok(vec![HostTensor::from_slice(&[rows, width], &counts)?.into()])
}

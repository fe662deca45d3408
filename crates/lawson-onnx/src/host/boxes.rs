//! Non-maximum suppression: of boxes that overlap, the one with the best score.

use super::{number, tensor};
use lawson_graph::{HostTensor, Result, Value};

/// Corners of a box, least first.
#[derive(Clone, Copy)]
struct Corners {
    low: [f64; 2],
    high: [f64; 2],
}

impl Corners {
    fn area(&self) -> f64 {
        (self.high[0] - self.low[0]) * (self.high[1] - self.low[1])
    }

    /// The area that both have, over the area that either has.
    fn overlap(&self, other: &Corners) -> f64 {
        let side = |i: usize| self.high[i].min(other.high[i]) - self.low[i].max(other.low[i]);
        let (a, b) = (side(0), side(1));
        if a <= 0.0 || b <= 0.0 {
            return 0.0;
        }
        a * b / (self.area() + other.area() - a * b)
    }
}

/// Operands: boxes `[batch, boxes, 4]`, scores `[batch, classes, boxes]`, the most boxes a class, the most overlap, the least
/// score, whether boxes are given by their centres. Result: i64 `[selected, 3]` of batch, class and box.
pub(super) fn non_max_suppression(operands: &[Value]) -> Result<Vec<Value>> {
    let (boxes, scores) = (tensor(operands, 0)?, tensor(operands, 1)?);
    let most = usize::try_from(number(operands, 2)?).unwrap_or(0);
    let (overlap, least) = (tensor(operands, 3)?.float_at(0), tensor(operands, 4)?.float_at(0));
    let centred = number(operands, 5)? != 0;
    let (batches, classes, count) = (scores.sizes()[0], scores.sizes()[1], scores.sizes()[2]);
    let corners = |batch: usize, i: usize| {
        let v: [f64; 4] = std::array::from_fn(|k| boxes.float_at((batch * count + i) * 4 + k));
        if centred {
            let half = [v[2] / 2.0, v[3] / 2.0];
            return Corners { low: [v[0] - half[0], v[1] - half[1]], high: [v[0] + half[0], v[1] + half[1]] };
        }
        Corners { low: [v[0].min(v[2]), v[1].min(v[3])], high: [v[0].max(v[2]), v[1].max(v[3])] }
    };
    let mut selected: Vec<i64> = Vec::new();
    for batch in 0..batches {
        let all: Vec<Corners> = (0..count).map(|i| corners(batch, i)).collect();
        for class in 0..classes {
            let score = |i: &usize| scores.float_at((batch * classes + class) * count + i);
            let mut order: Vec<usize> = (0..count).filter(|i| score(i) > least).collect();
            order.sort_by(|a, b| score(b).total_cmp(&score(a)));
            let mut kept: Vec<usize> = Vec::new();
            for i in order {
                if kept.len() == most {
                    break;
                }
                if kept.iter().all(|k| all[*k].overlap(&all[i]) <= overlap) {
                    kept.push(i);
                }
            }
            selected.extend(kept.iter().flat_map(|i| [batch as i64, class as i64, *i as i64]));
        }
    }
    Ok(vec![HostTensor::from_slice(&[selected.len() / 3, 3], &selected)?.into()])
}

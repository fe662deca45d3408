//! Between separate and fused operators. Both directions keep the meaning: `validate` gives one graph for both.

use crate::op::ListOp;

/// Every `Linear, Relu, Softmax` becomes `LinearReluSoftmax`, every other `Linear, Relu` becomes `LinearRelu`.
///
/// A list that is fused in part ends the same as one that is not. Lists that are not valid are fused all the same.
pub fn fuse(list: Vec<ListOp>) -> Vec<ListOp> {
    let mut fused: Vec<ListOp> = Vec::with_capacity(list.len());
    for op in unfuse(list) {
        let joined = match (fused.pop(), op) {
            (Some(ListOp::Linear { weights, bias }), ListOp::Relu) => {
                [Some(ListOp::LinearRelu { weights, bias }), None]
            }
            (Some(ListOp::LinearRelu { weights, bias }), ListOp::Softmax) => {
                [Some(ListOp::LinearReluSoftmax { weights, bias }), None]
            }
            (before, op) => [before, Some(op)],
        };
        fused.extend(joined.into_iter().flatten());
    }
    fused
}

/// Every fused operator becomes the separate ones that it stands for: the inverse of [`fuse`].
pub fn unfuse(list: Vec<ListOp>) -> Vec<ListOp> {
    let mut separate = Vec::with_capacity(list.len());
    for op in list {
        match op {
            ListOp::LinearRelu { weights, bias } => {
                separate.extend([ListOp::Linear { weights, bias }, ListOp::Relu]);
            }
            ListOp::LinearReluSoftmax { weights, bias } => {
                separate.extend([ListOp::Linear { weights, bias }, ListOp::Relu, ListOp::Softmax]);
            }
            other => separate.push(other),
        }
    }
    separate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{RandomList, random_list};
    use crate::validate;

    fn names(list: &[ListOp]) -> Vec<&str> {
        list.iter().map(ListOp::name).collect()
    }

    fn linear(seed: u64) -> ListOp {
        ListOp::Linear { weights: crate::Matrix::random(2, 2, seed), bias: crate::Matrix::random(1, 2, seed) }
    }

    #[test]
    fn neighbours_are_fused_and_nothing_else_is() {
        let list = vec![
            ListOp::Relu,
            linear(1),
            linear(2),
            ListOp::Relu,
            ListOp::Relu,
            linear(3),
            ListOp::Relu,
            ListOp::Softmax,
        ];
        let fused = fuse(list.clone());
        assert_eq!(names(&fused), ["Relu", "Linear", "LinearRelu", "Relu", "LinearReluSoftmax"]);
        assert_eq!(unfuse(fused), list);
    }

    #[test]
    fn softmax_after_linear_alone_stays_apart() {
        assert_eq!(names(&fuse(vec![linear(1), ListOp::Softmax])), ["Linear", "Softmax"]);
    }

    #[test]
    fn a_list_fused_in_part_ends_the_same() {
        let list = vec![linear(1), ListOp::Relu, ListOp::Softmax];
        let half = fuse(list[..2].to_vec()).into_iter().chain([ListOp::Softmax]).collect();
        assert_eq!(fuse(half), fuse(list));
    }

    #[test]
    fn fused_and_separate_lists_are_one_graph() {
        for seed in 0..50 {
            let list =
                random_list(&RandomList { depth: 12, size: 3, seed, ..RandomList::default() }).unwrap();
            let fused = fuse(list.clone());
            assert_eq!(validate(&fused).unwrap(), validate(&list).unwrap());
            assert_eq!(unfuse(fused), list);
        }
    }
}

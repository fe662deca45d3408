//! Packing constants: every layout against the layout's own arithmetic, and kernels on packed weights.
#![allow(clippy::unwrap_used)]

use lawson_graph::{DType, Dim, Graph};
use lawson_kernel::pack::{pack, relayout};
use lawson_kernel::{BufferId, Group, Index, Layout, eval, lower};

fn dims(sizes: &[usize]) -> Vec<Dim> {
    sizes.iter().map(|s| Dim::from(*s)).collect()
}

/// Checks every element, and that all others are zero.
fn check(layout: &Layout, sizes: &[usize], dtype: DType) {
    let width = dtype.bits() / 8;
    let count: usize = sizes.iter().product();
    let bytes: Vec<u8> = (0..count * width).map(|i| (i % 255) as u8 + 1).collect();
    let packed = pack(layout, sizes, dtype, &bytes).unwrap();
    let mut expected = vec![0; layout.size.as_const().unwrap() as usize * width];
    for i in 0..count {
        let mut rest = i;
        let mut index = vec![Index::from(0); sizes.len()];
        for d in (0..sizes.len()).rev() {
            index[d] = Index::from((rest % sizes[d]) as i64);
            rest /= sizes[d];
        }
        let at = layout.offset(&index).as_const().unwrap() as usize;
        expected[at * width..][..width].copy_from_slice(&bytes[i * width..][..width]);
    }
    assert_eq!(packed, expected, "{layout:?} of {sizes:?}");
}

#[test]
fn every_element_lies_where_its_layout_says() {
    for sizes in [[1, 1], [5, 7], [16, 32], [33, 17], [3, 64], [0, 4], [70, 5]] {
        for dtype in [DType::U8, DType::F16, DType::F32, DType::F64] {
            let d = dims(&sizes);
            check(&Layout::row_major(&d), &sizes, dtype);
            check(&Layout::permuted(&d, &[1, 0]), &sizes, dtype);
            for width in [1, 4, 16] {
                check(&Layout::panels(&d, 1, width, &[0]), &sizes, dtype);
                check(&Layout::panels(&d, 0, width, &[1]), &sizes, dtype);
            }
        }
    }
    let sizes = [6, 4, 3, 3];
    check(&Layout::panels(&dims(&sizes), 0, 4, &[1, 2, 3]), &sizes, DType::F32);
    check(&Layout::permuted(&dims(&sizes), &[2, 3, 1, 0]), &sizes, DType::F32);
    check(&Layout::row_major(&[]), &[], DType::F32);
}

#[test]
fn what_does_not_fit_is_an_error() {
    let layout = Layout::row_major(&dims(&[2, 3]));
    assert!(pack(&layout, &[2, 3], DType::F32, &[0; 23]).is_err());
    assert!(pack(&layout, &[3, 3], DType::F32, &[0; 36]).is_err());
    assert!(pack(&layout, &[2, 3], DType::I4, &[0; 3]).is_err());
    assert!(pack(&Layout::row_major(&[Dim::symbol("N")]), &[2], DType::F32, &[0; 8]).is_err());
}

#[test]
fn a_kernel_on_packed_weights_gives_the_same() {
    let graph = Graph::parse(
        "lawson 1
         graph @g(%x: f32[3, 5], %w: f32[5, 7]) -> (y: f32[3, 7]) {
           %y = contract %x, %w {batch = [], sum = [[1, 0]]}
           return %y
         }",
    )
    .unwrap();
    let lowered = lower::lower(&graph, &Group::whole(&graph).unwrap()).unwrap();
    let floats = |n: usize| (0..n).flat_map(|i| (i as f32 * 0.5 - 3.0).to_le_bytes()).collect::<Vec<u8>>();
    let mut plain = vec![floats(15), floats(35), vec![0; 84]];
    eval::run(&lowered.kernel, &[], &mut plain, &eval::Options::default()).unwrap();
    let mut kernel = lowered.kernel;
    let layout = Layout::panels(&dims(&[5, 7]), 1, 4, &[0]);
    relayout(&mut kernel, BufferId(1), layout.clone()).unwrap();
    let mut packed = vec![floats(15), pack(&layout, &[5, 7], DType::F32, &floats(35)).unwrap(), vec![0; 84]];
    assert_eq!(packed[1].len(), 2 * 5 * 4 * 4);
    eval::run(&kernel, &[], &mut packed, &eval::Options::default()).unwrap();
    assert_eq!(plain[2], packed[2]);
}

#[test]
fn a_layout_must_give_every_element_a_place() {
    let graph = Graph::parse("lawson 1\ngraph @g(%x: f32[4, 6]) -> (y: f32[4, 1]) { %s = reduce_sum %x {axes = [1]} %y = reshape %s {shape = [4, 1]} return %y }").unwrap();
    let mut kernel = lower::lower(&graph, &Group::whole(&graph).unwrap()).unwrap().kernel;
    let mut layout = Layout::panels(&dims(&[4, 6]), 1, 4, &[0]);
    layout.digits.remove(0);
    let error = relayout(&mut kernel, BufferId(0), layout).unwrap_err();
    assert!(error.to_string().contains("the digits of dimension 1 do not reach its end"), "{error}");
    assert!(relayout(&mut kernel, BufferId(9), Layout::row_major(&dims(&[1]))).is_err());
}

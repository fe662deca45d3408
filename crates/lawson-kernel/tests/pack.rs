//! Packing constants: every layout against the layout's own arithmetic, and kernels on packed weights.
#![allow(clippy::unwrap_used)]

use lawson_graph::{DType, Dim, Graph};
use lawson_kernel::pack::{Packing, pack, relayout};
use lawson_kernel::{BufferId, Digit, Group, Index, Layout, eval, lower};

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
    // In parts as well, over what was there before.
    let packing = Packing::new(layout, sizes, dtype).unwrap();
    assert_eq!((packing.place(0), packing.place(packing.pieces())), (0, expected.len()));
    for step in [1, 3] {
        let mut packed = vec![7; packing.bytes()];
        for first in (0..packing.pieces()).step_by(step) {
            let end = packing.pieces().min(first + step);
            let part = &mut packed[packing.place(first)..packing.place(end)];
            packing.pack(first..end, &bytes, part).unwrap();
        }
        assert_eq!(packed, expected, "{layout:?} of {sizes:?}, {step} of {} pieces", packing.pieces());
    }
    let same = bytes == expected && count > 1;
    assert!(!same || packing.is_identity(), "{layout:?} of {sizes:?}");
    assert!(!packing.is_identity() || bytes == expected, "{layout:?} of {sizes:?}");
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

/// Sizes at and around the sides of tiles, dimensions in every order, panels along each of them.
#[test]
fn every_order_of_dimensions_can_be_packed() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for sizes in [[2, 17, 3], [65, 2, 16], [3, 64, 15], [130, 1, 33], [1, 3, 70], [4, 4, 4]] {
        for dtype in [DType::U8, DType::BF16, DType::F32, DType::I64] {
            let d = dims(&sizes);
            for order in orders {
                check(&Layout::permuted(&d, &order), &sizes, dtype);
                for width in [2, 16, 64] {
                    check(&Layout::panels(&d, order[0], width, &order[1..]), &sizes, dtype);
                }
            }
        }
    }
}

/// Digits that no constructor makes: three of one dimension, and places between the elements that nothing has.
#[test]
fn layouts_of_many_digits_and_with_gaps_can_be_packed() {
    let digit = |dim, divide, modulo, stride: i64| Digit { dim, divide, modulo, stride: Dim::from(stride) };
    for size in [1, 2, 5, 12, 13, 23, 24] {
        let three = [digit(0, 6, None, 64), digit(0, 2, Some(3), 2), digit(0, 1, Some(2), 8)];
        let layout = Layout { digits: three.to_vec(), size: Dim::from(256) };
        check(&layout, &[size], DType::F32);
        let mut below = three.to_vec();
        below.push(digit(1, 1, None, 16));
        check(&Layout { digits: below, size: Dim::from(300) }, &[size, 3], DType::U16);
        let apart = vec![digit(0, 1, None, 3), digit(1, 1, None, 100)];
        check(&Layout { digits: apart, size: Dim::from(500) }, &[size, 4], DType::F64);
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let layout = Layout::row_major(&dims(&[2, 3]));
    let packing = Packing::new(&layout, &[2, 3], DType::U8).unwrap();
    assert!(packing.pack(0..2, &[0; 6], &mut [0; 5]).is_err());
    assert!(packing.pack(1..3, &[0; 6], &mut [0; 3]).is_err());
    assert!(packing.pack(1..2, &[0; 5], &mut [0; 3]).is_err());
    let mut short = layout.clone();
    short.size = Dim::from(5);
    assert!(pack(&short, &[2, 3], DType::U8, &[0; 6]).is_err());
    let mut missing = layout.clone();
    missing.digits.pop();
    assert!(pack(&missing, &[2, 3], DType::U8, &[0; 6]).is_err());
    assert!(pack(&layout, &[2, usize::MAX], DType::F64, &[]).is_err());
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

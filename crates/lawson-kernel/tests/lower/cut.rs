//! Loops that are cut where what they compute changes, and loops over digits.

use crate::support::{as_written, check, lower_whole};
use lawson_graph::random::{Elements, Rng, random_chain};
use lawson_kernel::lower::{Lowered, Options};
use lawson_kernel::opaque::opaque;
use lawson_kernel::{Expr, Kernel, verify};

/// A kernel for vectors of sixteen lanes, and one whose loops are whole.
fn both(text: &str) -> [Lowered; 2] {
    let graph = as_written(text);
    [16, 0].map(|lanes| lower_whole(&graph, &Options { lanes, ..Options::default() }))
}

fn selects(k: &Kernel) -> usize {
    k.exprs.iter().filter(|e| matches!(e, Expr::Select(..))).count()
}

fn guards(k: &Kernel) -> usize {
    k.exprs.iter().filter(|e| matches!(e, Expr::Load(l) if l.guard.is_some())).count()
}

#[test]
fn parts_of_a_concatenation_have_nests_of_their_own() {
    let text = "graph @g(%a: f32[4, 100, 30], %b: f32[4, 60, 30]) -> (y: f32[4, 160, 30]) {
       %e = exp %a
       %n = neg %b
       %y = concat %e, %n {axis = 1}
       return %y
     }";
    let [cut, whole] = both(text);
    assert_eq!((cut.kernel.body.len(), selects(&cut.kernel), guards(&cut.kernel)), (2, 0, 0));
    assert_eq!(whole.kernel.body.len(), 1);
    verify(&cut.kernel).unwrap();
    check(&as_written(text), &cut, &[], Elements::Wild, 1.0);
}

#[test]
fn parts_of_open_sizes_are_cut_where_their_order_is_known() {
    let text = "graph @g(%a: f32[N, 8], %b: f32[M, 8]) -> (y: f32[N + M, 8]) {
       %e = exp %a
       %y = concat %e, %b {axis = 0}
       return %y
     }";
    let [cut, _] = both(text);
    assert_eq!((cut.kernel.body.len(), selects(&cut.kernel), guards(&cut.kernel)), (2, 0, 0));
    verify(&cut.kernel).unwrap();
    check(&as_written(text), &cut, &[("N", 3), ("M", 5)], Elements::Tame, 1.0);
}

#[test]
fn a_stage_beside_a_product_is_no_part_of_its_tile() {
    let text = "graph @g(%x: f32[8, 32], %w: f32[32, 16], %z: f32[8, 16]) -> (y: f32[8, 32]) {
       %p = contract %x, %w {batch = [], sum = [[1, 0]]}
       %y = concat %p, %z {axis = 1}
       return %y
     }";
    let [cut, _] = both(text);
    assert_eq!(cut.kernel.body.len(), 2);
    verify(&cut.kernel).unwrap();
    check(&as_written(text), &cut, &[], Elements::Tame, 1.0);
}

#[test]
fn woven_elements_are_read_in_loops_over_digits() {
    let text = "graph @g(%x: f32[2, 50]) -> (y: f32[100]) {
       %t = transpose %x {perm = [1, 0]}
       %r = reshape %t {shape = [100]}
       %y = exp %r
       return %y
     }";
    let [split, whole] = both(text);
    let divides = |k: &Kernel| k.to_string().contains(" / ") || k.to_string().contains(" % ");
    assert!(divides(&whole.kernel) && !divides(&split.kernel), "{}", split.kernel);
    verify(&split.kernel).unwrap();
    check(&as_written(text), &split, &[], Elements::Wild, 1.0);
}

#[test]
fn random_chains_give_what_the_oracle_gives_however_they_are_cut() {
    for seed in 0..150 {
        let graph = random_chain(&mut Rng::new(seed)).unwrap();
        let group = lawson_kernel::Group::whole(&graph).unwrap();
        let options = Options { lanes: 16, ..Options::default() };
        // What grows without bound is refused.
        let Ok(lowered) = lawson_kernel::lower::lower_with(&graph, &group, &options) else { continue };
        verify(&lowered.kernel).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{graph}\n{}", lowered.kernel));
        check(&graph, &lowered, &[], Elements::Tame, 1.0);
    }
}

#[test]
fn sizes_become_symbols_and_what_they_were_again() {
    let text = "graph @g(%x: f32[(((H + 1) / 2 + 1) / 2 + 1) / 2, 8]) -> (y: f32[(((H + 1) / 2 + 1) / 2 + 1) / 2, 8]) where H >= 1 {
       %y = exp %x
       return %y
     }";
    let kernel = lower_whole(&as_written(text), &Options::default()).kernel;
    let (plain, sizes) = opaque(&kernel).unwrap();
    assert!(!plain.to_string().contains('/'), "{plain}");
    verify(&plain).unwrap();
    let restored = sizes.restore(&plain, &kernel.facts);
    assert_eq!(restored.to_string(), kernel.to_string());
    assert!(opaque(&plain).is_none());
}

//! Indices that are data: gathers, dynamic slices and updated slices, alone and with what stands before and after them; and what
//! runs along an axis.

use crate::support::{as_written, check, check_text, depth, lower_whole};
use lawson_graph::random::Elements;
use lawson_kernel::{Expr, Group, Kernel, Refused, lower, verify};

/// The elements that indices of a kernel mention.
fn data(kernel: &Kernel) -> usize {
    let mut found = Vec::new();
    for e in &kernel.exprs {
        e.visit_indices(&mut |i| i.visit_data(&mut |d| found.push(d.clone())));
    }
    found.dedup();
    found.len()
}

/// Checks a graph as one kernel, which the verifier accepts too.
fn checked(text: &str) -> Kernel {
    let k = check_text(text);
    verify(&k).unwrap_or_else(|e| panic!("{e}\n{k}"));
    k
}

#[test]
fn rows_are_gathered() {
    let k = checked(
        "graph @g(%x: f32[9, 5], %i: i64[2, 3, 1]) -> (z: f32[2, 3, 5]) {
           %z = gather %x, %i {axes = [0]}
           return %z
         }",
    );
    assert_eq!(data(&k), 1);
    // The loops over the indices are joined, and so are the dimensions of what they lie in.
    assert_eq!(depth(&k), 2, "{k}");
}

#[test]
fn every_form_of_gather() {
    for (x, i, z, op) in [
        ("f32[7, 4]", "i32[5, 1]", "f32[5, 7]", "axes = [1]"),
        ("f32[7, 4]", "i64[5, 2]", "f32[5]", "axes = [1, 0]"),
        ("f32[3, 4, 6]", "i32[3, 5, 1]", "f32[3, 5, 6]", "axes = [1], batch = 1"),
        ("f32[3, 4, 6]", "i64[3, 5, 1]", "f32[3, 5, 4]", "axes = [2], batch = 1"),
        ("f32[3, 4, 6]", "i64[3, 4, 1]", "f32[3, 4]", "axes = [2], batch = 2"),
        ("f32[3, 4, 6]", "i32[3, 4, 2, 1]", "f32[3, 4, 2]", "axes = [2], batch = 2"),
        ("f32[3, 4, 6]", "i32[0]", "f32[3, 4, 6]", "axes = []"),
        ("f32[3, 4, 6]", "i32[2, 3]", "f32[2]", "axes = [2, 0, 1]"),
        ("i64[8]", "i64[1]", "i64[]", "axes = [0]"),
        ("bool[8, 3]", "i32[4, 1]", "bool[4, 3]", "axes = [0]"),
        ("f32[1, 3]", "i32[4, 1]", "f32[4, 3]", "axes = [0]"),
        ("f32[6, 0]", "i32[4, 1]", "f32[4, 0]", "axes = [0]"),
        ("f32[0, 3]", "i32[0, 1]", "f32[0, 3]", "axes = [0]"),
    ] {
        checked(&format!(
            "graph @g(%x: {x}, %i: {i}) -> (z: {z}) {{ %z = gather %x, %i {{{op}}} return %z }}"
        ));
    }
}

#[test]
fn elementwise_operators_and_reductions_join_a_gather() {
    let k = checked(
        "graph @g(%w: f32[11, 6], %p: f32[4, 6], %i: i64[4], %g: f32[6]) -> (z: f32[4, 6]) {
           %j = reshape %i {shape = [4, 1]}
           %e = gather %w, %j {axes = [0]}
           %s = add %e, %p
           %q = mul %s, %s
           %v = reduce_sum %q {axes = [1]}
           %r = rsqrt %v
           %rb = broadcast %r {shape = [4, 6], axes = [0]}
           %gb = broadcast %g {shape = [4, 6], axes = [1]}
           %n = mul %s, %rb
           %z = mul %n, %gb
           return %z
         }",
    );
    assert_eq!((data(&k), k.accs.len()), (1, 1));
}

#[test]
fn indices_are_seen_through_views_casts_and_counting() {
    checked(
        "graph @g(%x: f32[9, 5], %i: i32[3, 4]) -> (z: f32[4, 2, 5]) {
           %t = transpose %i {perm = [1, 0]}
           %s = slice %t {start = [0, 1], size = [4, 2], step = [1, 1]}
           %c = cast %s {to = i64}
           %j = reshape %c {shape = [4, 2, 1]}
           %z = gather %x, %j {axes = [0]}
           return %z
         }",
    );
    let k = checked(
        "graph @g(%x: f32[9, 5]) -> (z: f32[12, 5]) {
           %i = iota {shape = [12, 1], axis = 0, dtype = i64}
           %z = gather %x, %i {axes = [0]}
           return %z
         }",
    );
    assert_eq!(data(&k), 0);
    for place in ["-3", "4", "400"] {
        let k = checked(&format!(
            "graph @g(%x: f32[9, 5]) -> (z: f32[2, 5]) {{
               %i: i64[2, 1] = constant [[{place}], [{place}]]
               %z = gather %x, %i {{axes = [0]}}
               return %z
             }}"
        ));
        assert_eq!(data(&k), 0);
    }
}

#[test]
fn what_surrounds_a_gather_may_be_padded_joined_and_reduced() {
    for (z, body) in [
        // Indices that are asked for outside are some others, and what they say does not matter.
        (
            "f32[12, 6]",
            "%o: f32[] = constant 2.5
             %e = gather %x, %i {axes = [0]}
             %z = pad %e, %o {low = [2, 1], high = [1, 0], interior = [1, 0]}",
        ),
        ("f32[17, 5]", "%e = gather %x, %i {axes = [0]} %z = concat %e, %x, %e {axis = 0}"),
        ("f32[5, 5]", "%c = concat %x, %y {axis = 0} %z = gather %c, %i {axes = [0]}"),
        (
            "f32[7, 6]",
            "%o: f32[] = constant 2.5
             %c = pad %x, %o {low = [2, 1], high = [1, 0], interior = [0, 0]}
             %e = gather %c, %i {axes = [0]}
             %z = pad %e, %o {low = [1, 0], high = [1, 0], interior = [0, 0]}",
        ),
        (
            "f32[]",
            "%r = reduce_sum %x {axes = [1]}
             %e = gather %r, %i {axes = [0]}
             %z = reduce_max %e {axes = [0]}",
        ),
        (
            "f32[5]",
            "%m = softmax %x {axis = 1}
             %e = gather %m, %i {axes = [0]}
             %z = reduce_sum %e {axes = [0]}",
        ),
        ("f32[5, 5]", "%a = gather %x, %i {axes = [0]} %z = gather %a, %i {axes = [1]}"),
    ] {
        checked(&format!(
            "graph @g(%x: f32[7, 5], %y: f32[4, 5], %i: i64[5, 1]) -> (z: {z}) {{ {body} return %z }}"
        ));
    }
}

#[test]
fn slices_whose_start_is_data() {
    checked(
        "graph @g(%x: f32[9, 5], %s: i64[2]) -> (z: f32[4, 5]) {
           %z = dynamic_slice %x, %s {size = [4, 5]}
           return %z
         }",
    );
    checked(
        "graph @g(%x: f32[9, 5, 3], %s: i32[3]) -> (z: f32[2, 3]) {
           %a = dynamic_slice %x, %s {size = [4, 2, 3]}
           %z = reduce_sum %a {axes = [0]}
           return %z
         }",
    );
    // A condition that mentions no axis, on what is summed.
    checked(
        "graph @g(%x: f32[6], %s: i32[1]) -> (z: f32[1]) {
           %o: f32[] = constant 1.5
           %p = pad %x, %o {low = [2], high = [3], interior = [0]}
           %z = dynamic_slice %p, %s {size = [1]}
           return %z
         }",
    );
}

#[test]
fn slices_that_are_updated() {
    for (size, starts) in
        [("4, 5", "i64"), ("4, 2", "i32"), ("9, 5", "i32"), ("1, 1", "i64"), ("0, 5", "i32")]
    {
        checked(&format!(
            "graph @g(%x: f32[9, 5], %u: f32[{size}], %s: {starts}[2]) -> (z: f32[9, 5]) {{
               %e = exp %x
               %v = neg %u
               %a = update_slice %e, %v, %s
               %z = add %a, %x
               return %z
             }}"
        ));
    }
    checked(
        "graph @g(%x: f32[8], %u: f32[3], %s: i32[1], %t: i32[1]) -> (z: f32[4]) {
           %a = update_slice %x, %u, %s
           %z = dynamic_slice %a, %t {size = [4]}
           return %z
         }",
    );
}

#[test]
fn sizes_may_be_parameters() {
    let graph = as_written(
        "graph @g(%x: f32[N, M], %i: i32[K, 1]) -> (z: f32[K, M]) where N >= 1 {
           %z = gather %x, %i {axes = [0]}
           return %z
         }",
    );
    let lowered = lower_whole(&graph, &Default::default());
    verify(&lowered.kernel).unwrap();
    for (n, m, k) in [(1, 4, 3), (5, 0, 3), (5, 7, 0), (40, 3, 6), (2, 1, 1)] {
        check(&graph, &lowered, &[("N", n), ("M", m), ("K", k)], Elements::Wild, 1.0);
    }
    let graph = as_written(
        "graph @g(%x: f32[N], %u: f32[M], %s: i64[1]) -> (z: f32[N]) where M <= N {
           %z = update_slice %x, %u, %s
           return %z
         }",
    );
    let lowered = lower_whole(&graph, &Default::default());
    verify(&lowered.kernel).unwrap();
    for (n, m) in [(1, 1), (5, 0), (5, 5), (9, 2)] {
        check(&graph, &lowered, &[("N", n), ("M", m)], Elements::Wild, 1.0);
    }
}

#[test]
fn indices_that_are_computed_beside_are_refused() {
    let graph = as_written(
        "graph @g(%x: f32[9, 5], %i: i64[4, 1]) -> (z: f32[4, 5]) {
           %j = neg %i
           %z = gather %x, %j {axes = [0]}
           return %z
         }",
    );
    let why = lower::lower(&graph, &Group::whole(&graph).unwrap()).unwrap_err();
    assert!(matches!(&why, Refused::Operator { op, .. } if op == "gather"), "{why}");
    // With no indices at all there is none to look at where the padding is.
    let graph = as_written(
        "graph @g(%x: f32[9], %i: i64[N, 1]) -> (z: f32[N + 2]) {
           %o: f32[] = constant 0.0
           %e = gather %x, %i {axes = [0]}
           %z = pad %e, %o {low = [1], high = [1], interior = [0]}
           return %z
         }",
    );
    let why = lower::lower(&graph, &Group::whole(&graph).unwrap()).unwrap_err().to_string();
    assert!(why.contains("there may be no indices"), "{why}");
}

#[test]
fn running_combinations_read_back_what_they_stored() {
    for (kind, dtype) in
        [("sum", "f32"), ("prod", "f32"), ("max", "f32"), ("min", "i64"), ("sum", "i32"), ("max", "f16")]
    {
        for (axis, flags) in [
            (0, ""),
            (1, ", exclusive = true"),
            (2, ", reverse = true"),
            (1, ", exclusive = true, reverse = true"),
        ] {
            for shape in ["3, 4, 5", "1, 1, 1", "2, 0, 3"] {
                checked(&format!(
                    "graph @g(%x: {dtype}[{shape}]) -> (z: {dtype}[{shape}]) {{
                       %n = neg %x
                       %z = cumulative_{kind} %n {{axis = {axis}{flags}}}
                       return %z
                     }}"
                ));
            }
        }
    }
    let follows = as_written(
        "graph @g(%x: f32[4, 5]) -> (z: f32[4, 5]) {
           %c = cumulative_sum %x {axis = 1}
           %z = neg %c
           return %z
         }",
    );
    let why = lower::lower(&follows, &Group::whole(&follows).unwrap()).unwrap_err().to_string();
    assert!(why.contains("nothing beside it reads them"), "{why}");
}

#[test]
fn an_index_in_memory_is_not_loaded_as_a_number() {
    let k = checked(
        "graph @g(%x: f32[9, 5], %i: i64[4, 1]) -> (z: f32[4, 5]) {
           %z = gather %x, %i {axes = [0]}
           return %z
         }",
    );
    assert_eq!(k.exprs.iter().filter(|e| matches!(e, Expr::Load(_))).count(), 1);
}

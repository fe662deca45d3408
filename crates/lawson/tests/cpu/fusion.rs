//! Operators that are compiled apart: which kernels there are, what the plan says, and that results are the same.

use super::{assert_right, graph, inputs, there};
use lawson::graph::interp;
use lawson::kernel::{Action, Refused};
use lawson::{CompileOptions, Fusion, Passes, Program, Tensor};

const LAYERS: &str = "graph @layers(%x: f32[4, 8], %w: f32[8, 8], %b: f32[8]) -> (p: f32[4, 8]) {
  %h = linear %x, %w, %b
  %a = relu %h
  %n = neg %a
  %p = softmax %n {axis = 1}
  return %p
}";

fn compile(text: &str, fusion: Fusion) -> Program {
    Program::compile(graph(text), &CompileOptions { fusion, ..CompileOptions::default() }).unwrap()
}

fn launches(program: &Program) -> usize {
    let mut count = 0;
    program.plan().unwrap().visit(&mut |step, _| {
        count += usize::from(matches!(step.action, Action::Launch { .. }));
    });
    count
}

#[test]
fn operators_apart_have_kernels_of_their_own_and_composites_are_one() {
    if !there() {
        return;
    }
    let (apart, fused) = (compile(LAYERS, Fusion::Separate), compile(LAYERS, Fusion::Predicted));
    // A product with its bias, two elementwise operators, and rows that are gone through several times.
    assert_eq!(launches(&apart), 4, "{}", apart.plan().unwrap());
    assert_eq!(launches(&fused), 2, "{}", fused.plan().unwrap());
    let refused = &apart.plan().unwrap().refused;
    assert_eq!(refused.len(), 3);
    assert!(refused.iter().all(|r| r.refusal.why == Refused::Separate), "{refused:?}");
}

#[test]
fn operators_apart_give_what_the_oracle_gives() {
    if !there() {
        return;
    }
    let inputs = super::inputs(LAYERS, &[], 3);
    let values: Vec<_> = inputs.iter().cloned().map(lawson::Value::from).collect();
    let oracle = interp::run_bounded(&graph(LAYERS), &values, &interp::Options::default()).unwrap();
    for passes in [Passes::Standard, Passes::None, Passes::Custom("simplify".parse().unwrap())] {
        let options = CompileOptions { fusion: Fusion::Separate, passes, ..CompileOptions::default() };
        let program = Program::compile(graph(LAYERS), &options).unwrap();
        let found = program.session().run_values(&values).unwrap();
        let comparison = interp::compare(&oracle[0], &found[0], 4.0);
        assert!(comparison.ok(), "{comparison}");
    }
}

#[test]
fn bodies_of_loops_have_their_primitives_apart() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[4, 4]) -> (y: f32[4, 4]) {
      %n: i32[] = constant 3
      %y, %k = while %x, %n {carried = 2} cond(%s: f32[4, 4], %i: i32[]) {
        %z: i32[] = constant 0
        %more = gt %i, %z
        return %more
      } body(%s: f32[4, 4], %i: i32[]) {
        %p = softmax %s {axis = 1}
        %one: i32[] = constant 1
        %j = sub %i, %one
        return %p, %j
      }
      return %y
    }";
    let graph = graph(text);
    let x: Vec<f32> = (0..16).map(|i| i as f32 / 7.0).collect();
    let x = Tensor::from_slice(&[4, 4], &x).unwrap();
    let run = |fusion: Fusion| {
        let options = CompileOptions { fusion, ..CompileOptions::default() };
        let program = Program::compile(graph.clone(), &options).unwrap();
        let y = program.session().run(std::slice::from_ref(&x)).unwrap()[0].to_vec::<f32>().unwrap();
        (launches(&program), y)
    };
    let ((apart, a), (fused, b)) = (run(Fusion::Separate), run(Fusion::Predicted));
    assert!(apart > fused, "{apart} and {fused}");
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6), "{a:?} {b:?}");
}

#[test]
fn what_is_compared_with_its_own_extremum_is_computed_once() {
    if !there() {
        return;
    }
    // Two functions that are computed in two ways, one by parts and one as a whole, or with more bits than are stored.
    for (function, dtype) in [("silu", "f32"), ("sinh", "f16"), ("sigmoid", "f32")] {
        let text = format!(
            "graph @largest(%x: {dtype}[4, 5, 6]) -> (i: i64[4, 6], y: {dtype}[4, 5, 6]) {{
               %y = {function} %x
               %i = argmax %y {{axis = 1}}
               return %i, %y
             }}"
        );
        let program = compile(&text, Fusion::Predicted);
        let refused = &program.plan().unwrap().refused;
        assert!(refused.iter().any(|r| r.refusal.why == Refused::Compared), "{function}: {refused:?}");
        for seed in 0..20 {
            let given = inputs(&text, &[], seed);
            let tensors: Vec<Tensor> = given.iter().cloned().map(Tensor::from).collect();
            assert_right(&text, &given, &program.session().run(&tensors).unwrap());
        }
    }
}

#[test]
fn what_is_compared_with_elements_of_itself_is_computed_once() {
    if !there() {
        return;
    }
    // Alone the products of a row are rounded as they come, those of all rows side by side.
    for picked in [
        "%i: i64[1, 1] = constant [[6]]
         %p = gather %y, %i {axes = [0]}",
        "%p = slice %y {start = [6], size = [1], step = [1]}",
    ] {
        let text = format!(
            "graph @itself(%x: f32[7, 3]) -> (c: bool[7], y: f32[7]) {{
               %y = reduce_prod %x {{axes = [1]}}
               {picked}
               %b = broadcast %p {{shape = [7], axes = [0]}}
               %c = le %b, %y
               return %c, %y
             }}"
        );
        let program = compile(&text, Fusion::Predicted);
        for seed in 0..20 {
            let given = inputs(&text, &[], seed);
            assert_right(&text, &given, &program.session().run(&super::tensors(&given)).unwrap());
        }
    }
}

/// The greater of two numbers is one of them, and so are the greatest of a window, what is sorted and what replaces something else.
#[test]
fn what_is_compared_with_what_was_chosen_among_itself_is_computed_once() {
    if !there() {
        return;
    }
    for chosen in [
        "%p = relu %y",
        "%q = window_max %y {window = [1, 2], stride = [1, 1], dilation = [1, 1], low = [0, 0], high = [0, 1]}
         %p = relu %q",
        "%p = cumulative_max %y {axis = 1}",
        "%p = sort %y {axis = 1}",
        "%at: i64[2] = constant [0, 0]
         %x1 = slice %x0 {start = [0, 0], size = [1, 1], step = [1, 1]}
         %p = update_slice %y, %x1, %at",
    ] {
        let text = format!(
            "graph @chosen(%x0: f32[3, 3]) -> (c: bool[3, 3]) {{
               %y = sigmoid %x0
               {chosen}
               %e = slice %p {{start = [1, 2], size = [1, 1], step = [1, 1]}}
               %b = broadcast %e {{shape = [3, 3], axes = [0, 1]}}
               %c = ne %y, %b
               return %c
             }}"
        );
        for isa in [lawson::cpu::Isa::Avx512, lawson::cpu::Isa::Avx2] {
            if let Some(missing) = isa.missing() {
                println!("{isa:?} is not tried: this processor lacks {missing}");
                continue;
            }
            let options = CompileOptions { isa: Some(isa), ..CompileOptions::default() };
            let program = Program::compile(graph(&text), &options).unwrap();
            for seed in 0..20 {
                let given = inputs(&text, &[], seed);
                assert_right(&text, &given, &program.session().run(&super::tensors(&given)).unwrap());
            }
        }
    }
}

#[test]
fn products_abreast_give_what_the_oracle_gives_and_the_bits_of_products_apart() {
    if !there() {
        return;
    }
    // Rows that a tile divides and does not, one row whose weights are read once, columns that overhang, rows that are not counted.
    for (rows, depth, columns) in
        [("16", 32, 48), ("7", 33, 50), ("1", 512, 1040), ("N", 24, 33), ("N", 1, 5)]
    {
        let text = format!(
            "graph @swiglu(%x: f32[{rows}, {depth}], %q: f32[{depth}, {columns}], %g: f32[{depth}, {columns}], %u: f32[{depth}, {columns}])
               -> (p: f32[{rows}, {columns}], y: f32[{rows}, {columns}]) {} {{
               %p = contract %x, %q {{batch = [], sum = [[1, 0]]}}
               %a = contract %x, %g {{batch = [], sum = [[1, 0]]}}
               %s = tanh %a
               %t = mul %a, %s
               %b = contract %x, %u {{batch = [], sum = [[1, 0]]}}
               %y = mul %t, %b
               return %p, %y
             }}",
            if rows == "N" { "where N >= 1" } else { "" }
        );
        let (fused, apart) = (compile(&text, Fusion::Predicted), compile(&text, Fusion::Separate));
        // Sums of one term over five columns take less time apart.
        assert!(launches(&fused) == 1 || depth == 1, "{}", fused.plan().unwrap());
        for n in [1, 5, 64] {
            let sizes: &[(&str, i64)] = if rows == "N" { &[("N", n)] } else { &[] };
            let given = inputs(&text, sizes, n as u64);
            let found = fused.session().run(&super::tensors(&given)).unwrap();
            assert_right(&text, &given, &found);
            let other = apart.session().run(&super::tensors(&given)).unwrap();
            assert_eq!(found[0].to_vec::<f32>().unwrap(), other[0].to_vec::<f32>().unwrap());
        }
    }
}

//! What is refused, when compiling and when running: typed, naming the place.

use super::{compile, there};
use lawson::{Code, DType, Tensor, TensorView, TensorViewMut};

#[test]
fn wrong_inputs_are_refused_with_the_name_of_the_input() {
    if !there() {
        return;
    }
    let text =
        "graph @f(%a: f32[N], %b: f32[N]) -> (s: f32[N]) where N % 2 == 0 { %s = add %a, %b return %s }";
    let mut session = compile(text).session();
    let of = |n: usize| Tensor::from_slice(&[n], &vec![1f32; n]).unwrap();
    let mut error = |inputs: &[Tensor]| session.run(inputs).unwrap_err();

    let missing = error(&[of(2)]);
    assert_eq!(missing.code(), Code::InputMissing);
    assert!(missing.help_text().unwrap().contains("a, b"), "{missing}");

    let dtype = error(&[of(2), Tensor::from_slice(&[2], &[1f64; 2]).unwrap()]);
    assert_eq!(dtype.code(), Code::InputType);
    let message = dtype.to_string();
    assert!(
        message.contains("input `b`") && message.contains("f32[N]") && message.contains("f64[2]"),
        "{message}"
    );

    let rank = error(&[Tensor::scalar(1f32), of(2)]);
    assert_eq!(rank.code(), Code::InputType);
    assert!(rank.to_string().contains("input `a`"), "{rank}");

    assert_eq!(error(&[of(2), of(4)]).code(), Code::Binding);
    // The sizes agree but contradict the fact.
    assert_eq!(error(&[of(3), of(3)]).code(), Code::Binding);
    // After all that, the session still works.
    assert_eq!(session.run(&[of(2), of(2)]).unwrap()[0].to_vec::<f32>().unwrap(), [2.0; 2]);
}

#[test]
fn wrong_views_are_refused_like_wrong_tensors() {
    if !there() {
        return;
    }
    let mut session = compile("graph @f(%a: f32[N]) -> (s: f32[N]) { %s = add %a, %a return %s }").session();
    let (x, mut y) = ([0u8; 8], [0u8; 8]);
    let view = || TensorView::new(DType::F32, &[2], &x).unwrap();
    let error = session.run_into(&[view(), view()], &mut []).unwrap_err();
    assert_eq!(error.code(), Code::InputMissing);
    let error = session.run_into(&[view()], &mut []).unwrap_err();
    assert_eq!(error.code(), Code::InputMissing);
    let mut run = |given: TensorView<'_>, dtype: DType, sizes: &[usize]| {
        session.run_into(&[given], &mut [TensorViewMut::new(dtype, sizes, &mut y).unwrap()])
    };
    let error = run(view(), DType::I32, &[2]).unwrap_err();
    assert_eq!(error.code(), Code::InputType);
    assert!(error.to_string().contains("output `s`"), "{error}");
    assert_eq!(run(view(), DType::F32, &[2, 1]).unwrap_err().code(), Code::InputType);
    let wide = TensorView::new(DType::F64, &[1], &x).unwrap();
    assert_eq!(run(wide, DType::F32, &[2]).unwrap_err().code(), Code::InputType);
    run(view(), DType::F32, &[2]).unwrap();
}

#[test]
fn memory_that_cannot_be_had_is_an_error() {
    if !there() {
        return;
    }
    // The outer product lies in the arena, because two kernels read it.
    let text = "graph @f(%x: f32[N], %w: f32[N, 3]) -> (y: f32[N, 3]) {
      %a = broadcast %x {shape = [N, N], axes = [0]}
      %b = broadcast %x {shape = [N, N], axes = [1]}
      %p = contract %a, %b {batch = [], sum = [[1, 0]]}
      %y = contract %p, %w {batch = [], sum = [[1, 0]]}
      return %y }";
    let mut session = compile(text).session();
    let n = 20_000_000;
    let x = vec![0u8; 4 * n];
    let w = vec![0u8; 12 * n];
    let mut y = vec![0u8; 12 * n];
    let error = session
        .run_into(
            &[
                TensorView::new(DType::F32, &[n], &x).unwrap(),
                TensorView::new(DType::F32, &[n, 3], &w).unwrap(),
            ],
            &mut [TensorViewMut::new(DType::F32, &[n, 3], &mut y).unwrap()],
        )
        .unwrap_err();
    assert!(matches!(error.code(), Code::Budget | Code::DimOverflow), "{error}");
}

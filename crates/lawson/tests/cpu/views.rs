//! Runs in the caller's memory: any alignment, strides, and nothing written beside the outputs.

use super::{MLP, assert_right, compile, inputs, there};
use lawson::{DType, HostTensor, Session, Tensor, TensorView, TensorViewMut};

/// What stands where nobody may write.
const POISON: u8 = 0xA5;

/// Runs with every input and output `shift` bytes behind a line of memory, in poisoned memory; checks what lies around.
fn run_at(session: &mut Session, given: &[HostTensor], sizes: &[&[usize]], shift: usize) -> Vec<Tensor> {
    let place = |bytes: usize| {
        let memory = vec![POISON; bytes + 256];
        let start = memory.as_ptr().align_offset(64) + 64 + shift;
        (memory, start)
    };
    let mut from = Vec::new();
    for t in given {
        let (mut memory, start) = place(t.bytes().len());
        memory[start..start + t.bytes().len()].copy_from_slice(t.bytes());
        from.push((memory, start));
    }
    let views: Vec<TensorView<'_>> = from
        .iter()
        .zip(given)
        .map(|((m, at), t)| TensorView::new(t.dtype(), t.sizes(), &m[*at..at + t.bytes().len()]).unwrap())
        .collect();
    let len = |sizes: &[usize]| 4 * sizes.iter().product::<usize>();
    let mut to: Vec<(Vec<u8>, usize)> = sizes.iter().map(|s| place(len(s))).collect();
    let mut outputs: Vec<TensorViewMut<'_>> = to
        .iter_mut()
        .zip(sizes)
        .map(|((m, at), s)| TensorViewMut::new(DType::F32, s, &mut m[*at..*at + len(s)]).unwrap())
        .collect();
    session.run_into(&views, &mut outputs).unwrap();
    to.iter()
        .zip(sizes)
        .map(|((m, at), s)| {
            let end = at + len(s);
            assert!(m[..*at].iter().chain(&m[end..]).all(|b| *b == POISON), "written beside the output");
            Tensor::from_bytes(DType::F32, s, m[*at..end].to_vec()).unwrap()
        })
        .collect()
}

#[test]
fn memory_may_lie_anywhere() {
    if !there() {
        return;
    }
    let mut session = compile(MLP).session();
    let given = inputs(MLP, &[("N", 21)], 8);
    let first = run_at(&mut session, &given, &[&[21, 19]], 0);
    assert_right(MLP, &given, &first);
    for shift in 1..16 {
        let results = run_at(&mut session, &given, &[&[21, 19]], shift);
        assert!(results == first, "other bits at {shift} bytes behind a line");
    }
}

/// Outputs larger than the caches are stored past them, which needs whole lines; elsewhere plain stores must do.
#[test]
fn large_outputs_may_lie_anywhere() {
    if !there() {
        return;
    }
    let rows = 2 * lawson::cpu::machine().l3 as usize / 4096 + 3;
    let text = format!(
        "graph @f(%x: f32[1, 1024]) -> (y: f32[{rows}, 1024]) {{
      %r = reshape %x {{shape = [1024]}}
      %e = neg %r
      %y = broadcast %e {{shape = [{rows}, 1024], axes = [1]}}
      return %y }}"
    );
    let mut session = compile(&text).session();
    let given = inputs(&text, &[], 2);
    let expected: Vec<u8> = (0..1024).flat_map(|i| (-given[0].float_at(i) as f32).to_le_bytes()).collect();
    for shift in [0, 4, 16, 7] {
        let results = run_at(&mut session, &given, &[&[rows, 1024]], shift);
        let host = results[0].to_host().unwrap();
        assert!(host.bytes().chunks(4096).all(|row| row == expected), "{shift} bytes behind a line");
    }
}

#[test]
fn strided_views_are_read_and_written_where_they_say() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[2, 3]) -> (y: f32[3, 2]) {
      %n = neg %x
      %y = transpose %n {perm = [1, 0]}
      return %y }";
    let mut session = compile(text).session();
    // The elements of x, column by column, with a gap after each.
    let x: Vec<u8> = [1f32, 9.0, 4.0, 9.0, 2.0, 9.0, 5.0, 9.0, 3.0, 9.0, 6.0, 9.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let given = TensorView::strided(DType::F32, &[2, 3], &[2, 4], 0, &x).unwrap();
    let mut strided = vec![POISON; 4 * 9];
    // Backwards, every third element skipped.
    let to = TensorViewMut::strided(DType::F32, &[3, 2], &[-3, -1], 8, &mut strided).unwrap();
    session.run_into(std::slice::from_ref(&given), &mut [to]).unwrap();
    let mut dense = vec![POISON; 24];
    let to = TensorViewMut::new(DType::F32, &[3, 2], &mut dense).unwrap();
    session.run_into(&[given], &mut [to]).unwrap();
    let element = |m: &[u8], at: usize| f32::from_le_bytes(m[4 * at..4 * at + 4].try_into().unwrap());
    assert_eq!((0..6).map(|i| element(&dense, i)).collect::<Vec<_>>(), [-1.0, -4.0, -2.0, -5.0, -3.0, -6.0]);
    assert_eq!([8, 7, 5, 4, 2, 1].map(|i| element(&strided, i)), [-1.0, -4.0, -2.0, -5.0, -3.0, -6.0]);
    for gap in [0, 3, 6] {
        assert_eq!(strided[4 * gap..4 * gap + 4], [POISON; 4]);
    }
}

#[test]
fn after_an_error_nothing_is_written() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[N]) -> (y: f32[N], z: f32[N]) { %y = neg %x %z = exp %x return %y, %z }";
    let mut session = compile(text).session();
    let (x, mut y, mut z) = ([0u8; 8], [POISON; 8], [POISON; 12]);
    let error = session
        .run_into(
            &[TensorView::new(DType::F32, &[2], &x).unwrap()],
            &mut [
                TensorViewMut::new(DType::F32, &[2], &mut y).unwrap(),
                TensorViewMut::new(DType::F32, &[3], &mut z).unwrap(),
            ],
        )
        .unwrap_err();
    let message = error.to_string();
    assert!(message.contains("output `z`") && message.contains("f32[3]"), "{message}");
    assert_eq!((y, z), ([POISON; 8], [POISON; 12]));
}

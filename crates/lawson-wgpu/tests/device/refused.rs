//! What has no op codes says so, with its place and what to do.

use crate::support::gpu;
use lawson_graph::{Code, DType, Facts};
use lawson_kernel::build::{for_each, store};
use lawson_kernel::{Index, Kernel};
use lawson_wgpu::{Capabilities, Listing};

fn copy(dtype: DType, n: i64) -> Kernel {
    let mut k = Kernel::new("copy", Facts::new());
    let (x, y) = (k.input("x", dtype, &[n.into()]), k.output("y", dtype, &[n.into()]));
    let i = k.add_axis("i");
    let e = k.load(x, vec![i.into()]);
    k.body = vec![for_each(i, n, vec![store(y, vec![Index::axis(i)], e)])];
    k
}

fn refusal(kernel: &Kernel) -> lawson_graph::Error {
    let error = Listing::of(kernel, &Capabilities::default()).unwrap_err();
    assert_eq!(error.code(), Code::NotEmitted);
    assert!(error.help_text().is_some() && error.to_string().contains("kernel `@copy`"), "{error}");
    error
}

#[test]
fn dtypes_that_op_codes_lack() {
    for dtype in [DType::F64, DType::F8E5M2, DType::I4] {
        assert_eq!(refusal(&copy(dtype, 4)).message(), format!("op codes have no {dtype}"));
    }
}

#[test]
fn more_elements_than_a_word_counts() {
    let error = refusal(&copy(DType::F32, 1 << 31));
    assert!(error.message().contains("`x` has more than 2147483647 elements"), "{error}");
}

#[test]
fn buffers_of_another_size_or_number() {
    let compiled = gpu().compile(&copy(DType::F32, 4)).unwrap();
    let error = gpu().run(&compiled, &[], &mut [vec![0; 16]]).unwrap_err();
    assert!(error.message().contains("has 2 inputs and outputs, 1 came"), "{error}");
    let error = gpu().run(&compiled, &[], &mut [vec![0; 16], vec![0; 15]]).unwrap_err();
    assert!(error.message().contains("`y` of kernel `copy` takes 16 bytes, 15 came"), "{error}");
}

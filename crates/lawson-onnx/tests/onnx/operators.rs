//! Operators whose meaning in ONNX needs care, on values computed by hand: defaults, versions, negative axes and indices,
//! clamped bounds, padding.

use crate::model::*;
use lawson_graph::{Code, DType, HostTensor};
use lawson_onnx::proto::NodeProto;

/// One node on f32 operands, all of which are inputs, at an opset; gives its first result.
fn apply(version: i64, node: NodeProto, operands: &[HostTensor]) -> HostTensor {
    let dims: Vec<Vec<String>> =
        operands.iter().map(|t| t.sizes().iter().map(ToString::to_string).collect()).collect();
    let inputs = node
        .input
        .iter()
        .zip(operands)
        .zip(&dims)
        .map(|((name, t), dims)| input(name, t.dtype(), &dims.iter().map(String::as_str).collect::<Vec<_>>()))
        .collect();
    let graph = import(&model(version, graph(inputs, &[], vec![node], "y"))).unwrap();
    eval(&graph, operands).remove(0)
}

/// One node whose first operand is an input and whose others are constants.
fn apply_with(node: NodeProto, x: &HostTensor, constants: &[(&str, HostTensor)]) -> HostTensor {
    let dims: Vec<String> = x.sizes().iter().map(ToString::to_string).collect();
    let dims: Vec<&str> = dims.iter().map(String::as_str).collect();
    let g = graph(vec![input("x", x.dtype(), &dims)], constants, vec![node], "y");
    eval(&import_graph(g).unwrap(), std::slice::from_ref(x)).remove(0)
}

fn floats(t: &HostTensor) -> Vec<f32> {
    t.to_vec().unwrap()
}

fn near(t: &HostTensor, expected: &[f32]) {
    let have = floats(t);
    assert_eq!(have.len(), expected.len(), "{t:?}");
    for (a, b) in have.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-6 * b.abs().max(1.0), "{have:?} is not {expected:?}");
    }
}

#[test]
fn softmax_changed_its_meaning_in_version_13() {
    let x = host(&[1, 2, 2], &[0f32, 0.0, 0.0, 0.0]);
    near(&apply(13, node("Softmax", "x", "y"), std::slice::from_ref(&x)), &[0.5; 4]);
    near(&apply(12, node("Softmax", "x", "y"), &[x]), &[0.25; 4]);
}

#[test]
fn operands_broadcast_from_the_end() {
    let (a, b) = (host(&[2, 1], &[1f32, 2.0]), host(&[3], &[10f32, 20.0, 30.0]));
    let y = apply(18, node("Add", "a b", "y"), &[a, b]);
    assert_eq!(y.sizes(), [2, 3]);
    near(&y, &[11.0, 21.0, 31.0, 12.0, 22.0, 32.0]);
}

#[test]
fn integers_divide_towards_zero_and_mod_has_two_signs() {
    let (a, b) = (host(&[4], &[7i64, -7, 7, -7]), host(&[4], &[2i64, 2, -2, -2]));
    let run = |n| apply(18, n, &[a.clone(), b.clone()]).to_vec::<i64>().unwrap();
    assert_eq!(run(node("Div", "a b", "y")), [3, -3, -3, 3]);
    assert_eq!(run(node("Mod", "a b", "y")), [1, 1, -1, -1]);
    assert_eq!(run(node("Mod", "a b", "y").int("fmod", 1)), [1, -1, 1, -1]);
}

#[test]
fn powers_have_the_dtype_of_their_base() {
    let y = apply(18, node("Pow", "a b", "y"), &[host(&[2], &[2f32, 3.0]), host(&[1], &[2i64])]);
    near(&y, &[4.0, 9.0]);
    let y = apply(18, node("Pow", "a b", "y"), &[host(&[1], &[9i32]), host(&[1], &[0.5f32])]);
    assert_eq!(y.to_vec::<i32>().unwrap(), [3]);
}

#[test]
fn signs_survive_shifts_past_the_width() {
    let (a, b) = (host(&[3], &[-8i32, -8, 8]), host(&[3], &[1i32, 40, 40]));
    let y = apply(28, node("BitShift", "a b", "y").text("direction", "RIGHT"), &[a, b]);
    assert_eq!(y.to_vec::<i32>().unwrap(), [-4, -1, 0]);
}

#[test]
fn clip_takes_bounds_as_attributes_then_as_operands() {
    let x = host(&[3], &[-9f32, 0.5, 9.0]);
    let old = node("Clip", "x", "y").float("min", -1.0).float("max", 1.0);
    near(&apply(10, old, std::slice::from_ref(&x)), &[-1.0, 0.5, 1.0]);
    let only_upper = node("Clip", "x - high", "y");
    near(&apply_with(only_upper, &x, &[("high", HostTensor::scalar(1f32))]), &[-9.0, 0.5, 1.0]);
}

#[test]
fn negative_indices_count_from_the_end() {
    let x = host(&[2, 3], &[0f32, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let g = || node("Gather", "x i", "y").int("axis", 1);
    let at = |i: &[i64]| host(&[i.len()], i);
    near(&apply_with(g(), &x, &[("i", at(&[-1, 0]))]), &[2.0, 0.0, 5.0, 3.0]);
    near(&apply(18, g(), &[x.clone(), at(&[-1, 0])]), &[2.0, 0.0, 5.0, 3.0]);
    // A scalar index takes its axis away.
    assert_eq!(apply_with(g(), &x, &[("i", HostTensor::scalar(-2i64))]).sizes(), [2]);
    let bad = graph(vec![input("x", DType::F32, &["2", "3"])], &[("i", at(&[3]))], vec![g()], "y");
    assert_eq!(import_graph(bad).unwrap_err().code(), Code::OnnxModel);
}

#[test]
fn elements_are_gathered_and_scattered_along_an_axis() {
    let x = host(&[2, 2], &[1f32, 2.0, 3.0, 4.0]);
    let at = host(&[2, 2], &[0i64, 0, -1, 0]);
    let y = apply(18, node("GatherElements", "x i", "y").int("axis", 1), &[x.clone(), at.clone()]);
    near(&y, &[1.0, 1.0, 4.0, 3.0]);
    let y = apply(18, node("GatherElements", "x i", "y").int("axis", 0), &[x.clone(), at]);
    near(&y, &[1.0, 2.0, 3.0, 2.0]);
    let (at, updates) = (host(&[1, 2], &[1i64, -2]), host(&[1, 2], &[10f32, 20.0]));
    let scatter = node("ScatterElements", "x i u", "y").text("reduction", "add");
    near(&apply(18, scatter, &[x, at, updates]), &[1.0, 22.0, 13.0, 4.0]);
}

#[test]
fn index_vectors_gather_and_scatter_windows() {
    let x = host(&[2, 2], &[1f32, 2.0, 3.0, 4.0]);
    let y = apply(18, node("GatherND", "x i", "y"), &[x.clone(), host(&[2, 2], &[0i64, -1, 1, 0])]);
    near(&y, &[2.0, 3.0]);
    let batched = node("GatherND", "x i", "y").int("batch_dims", 1);
    near(&apply(18, batched, &[x.clone(), host(&[2, 1], &[1i64, 0])]), &[2.0, 3.0]);
    let scatter = node("ScatterND", "x i u", "y");
    let y = apply(18, scatter, &[x, host(&[1, 1], &[-1i64]), host(&[1, 2], &[8f32, 9.0])]);
    near(&y, &[1.0, 2.0, 8.0, 9.0]);
}

#[test]
fn slices_are_clamped_and_run_backwards() {
    let x = host(&[5], &[0f32, 1.0, 2.0, 3.0, 4.0]);
    let slice = |start: i64, end: i64, step: i64| {
        let v = |i: i64| host(&[1], &[i]);
        let constants = [("s", v(start)), ("e", v(end)), ("a", v(0)), ("t", v(step))];
        floats(&apply_with(node("Slice", "x s e a t", "y"), &x, &constants))
    };
    assert_eq!(slice(1, i64::MAX, 1), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(slice(-2, 99, 1), [3.0, 4.0]);
    assert_eq!(slice(-99, 2, 1), [0.0, 1.0]);
    assert!(slice(3, 1, 1).is_empty());
    assert_eq!(slice(0, 5, 2), [0.0, 2.0, 4.0]);
    assert_eq!(slice(-1, i64::MIN, -2), [4.0, 2.0, 0.0]);
    assert_eq!(slice(99, 1, -1), [4.0, 3.0, 2.0]);
}

#[test]
fn splits_may_leave_a_smaller_rest() {
    let g = graph(
        vec![input("x", DType::F32, &["5"])],
        &[],
        vec![node("Split", "x", "a b").int("num_outputs", 2)],
        "a b",
    );
    let parts = eval(&import_graph(g).unwrap(), &[host(&[5], &[0f32, 1.0, 2.0, 3.0, 4.0])]);
    assert_eq!((floats(&parts[0]), floats(&parts[1])), (vec![0.0, 1.0, 2.0], vec![3.0, 4.0]));
}

#[test]
fn padding_reflects_repeats_and_cuts() {
    let x = host(&[3], &[1f32, 2.0, 3.0]);
    let pad = |mode: &str, pads: [i64; 2]| {
        floats(&apply_with(node("Pad", "x p", "y").text("mode", mode), &x, &[("p", host(&[2], &pads))]))
    };
    assert_eq!(pad("constant", [1, 2]), [0.0, 1.0, 2.0, 3.0, 0.0, 0.0]);
    assert_eq!(pad("reflect", [2, 1]), [3.0, 2.0, 1.0, 2.0, 3.0, 2.0]);
    assert_eq!(pad("edge", [1, 1]), [1.0, 1.0, 2.0, 3.0, 3.0]);
    assert_eq!(pad("wrap", [1, 1]), [3.0, 1.0, 2.0, 3.0, 1.0]);
    assert_eq!(pad("constant", [-1, 1]), [2.0, 3.0, 0.0]);
}

#[test]
fn gemm_scales_transposes_and_adds() {
    let (a, b) = (host(&[1, 2], &[1f32, 2.0]), host(&[2, 2], &[1f32, 2.0, 3.0, 4.0]));
    let c = HostTensor::scalar(10f32);
    let gemm = node("Gemm", "a b c", "y").int("transB", 1).float("alpha", 2.0).float("beta", 0.5);
    near(&apply(18, gemm, &[a.clone(), b.clone(), c]), &[15.0, 27.0]);
    let bias = host(&[2], &[1f32, 2.0]);
    near(&apply(18, node("Gemm", "a b c", "y"), &[a, b, bias]), &[8.0, 12.0]);
}

#[test]
fn convolutions_pad_dilate_and_group() {
    let x = host(&[1, 2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let w = host(&[2, 1, 2], &[1f32, 1.0, 1.0, -1.0]);
    let conv = || node("Conv", "x w", "y").int("group", 2);
    near(&apply(18, conv(), &[x.clone(), w.clone()]), &[3.0, 5.0, -1.0, -1.0]);
    let same = conv().text("auto_pad", "SAME_UPPER");
    near(&apply(18, same, &[x.clone(), w.clone()]), &[3.0, 5.0, 3.0, -1.0, -1.0, 6.0]);
    let lower = conv().text("auto_pad", "SAME_LOWER");
    near(&apply(18, lower, &[x.clone(), w.clone()]), &[1.0, 3.0, 5.0, -4.0, -1.0, -1.0]);
    let wide = conv().ints("dilations", &[2]).ints("pads", &[1, 0]);
    near(&apply(18, wide, &[x, w]), &[2.0, 4.0, -5.0, -2.0]);
}

#[test]
fn a_transposed_convolution_spreads_its_operand() {
    let (x, w) = (host(&[1, 1, 2], &[1f32, 2.0]), host(&[1, 1, 3], &[1f32, 10.0, 100.0]));
    let y = apply(18, node("ConvTranspose", "x w", "y").ints("strides", &[2]), &[x, w]);
    near(&y, &[1.0, 10.0, 102.0, 20.0, 200.0]);
}

#[test]
fn pools_count_padding_only_if_told() {
    let x = host(&[1, 1, 3], &[3f32, 6.0, 9.0]);
    let pool = || node("AveragePool", "x", "y").ints("kernel_shape", &[3]).ints("pads", &[1, 1]);
    near(&apply(18, pool(), std::slice::from_ref(&x)), &[4.5, 6.0, 7.5]);
    let counted = pool().int("count_include_pad", 1);
    near(&apply(18, counted, std::slice::from_ref(&x)), &[3.0, 6.0, 5.0]);
    let max = node("MaxPool", "x", "y").ints("kernel_shape", &[2]).ints("strides", &[2]).int("ceil_mode", 1);
    near(&apply(18, max, &[x]), &[6.0, 9.0]);
}

#[test]
fn reductions_take_axes_as_attribute_or_operand() {
    let x = host(&[2, 2], &[1f32, 2.0, 3.0, 4.0]);
    let old = node("ReduceMean", "x", "y").ints("axes", &[-1]).int("keepdims", 0);
    near(&apply(13, old, std::slice::from_ref(&x)), &[1.5, 3.5]);
    let new = node("ReduceMean", "x a", "y");
    let y = apply_with(new, &x, &[("a", host(&[1], &[0i64]))]);
    assert_eq!(y.sizes(), [1, 2]);
    near(&y, &[2.0, 3.0]);
    near(&apply(18, node("ReduceL2", "x", "y"), std::slice::from_ref(&x)), &[30f32.sqrt()]);
    let none = node("ReduceSum", "x", "y").int("noop_with_empty_axes", 1);
    near(&apply(18, none, &[x]), &[1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn nearest_and_linear_resizing() {
    let x = host(&[1, 1, 2], &[1f32, 3.0]);
    let resize = |scale: f32, mode: &str, transform: &str| {
        let n = node("Resize", "x - s", "y")
            .text("mode", mode)
            .text("coordinate_transformation_mode", transform)
            .text("nearest_mode", "floor")
            // Exporters write it beside scales, with which it means nothing.
            .text("keep_aspect_ratio_policy", "stretch");
        floats(&apply_with(n, &x, &[("s", host(&[3], &[1f32, 1.0, scale]))]))
    };
    assert_eq!(resize(2.0, "nearest", "asymmetric"), [1.0, 1.0, 3.0, 3.0]);
    assert_eq!(resize(1.5, "nearest", "asymmetric"), [1.0, 1.0, 3.0]);
    assert_eq!(resize(2.0, "linear", "half_pixel"), [1.0, 1.5, 2.5, 3.0]);
    assert_eq!(resize(2.0, "linear", "asymmetric"), [1.0, 2.0, 3.0, 3.0]);
}

#[test]
fn layer_norm_also_gives_its_statistics() {
    let g = graph(
        vec![input("x", DType::F32, &["1", "2"])],
        &[("s", host(&[2], &[1f32, 2.0]))],
        vec![node("LayerNormalization", "x s", "y m d").float("epsilon", 0.0)],
        "y m d",
    );
    let results = eval(&import_graph(g).unwrap(), &[host(&[1, 2], &[1f32, 5.0])]);
    near(&results[0], &[-1.0, 2.0]);
    near(&results[1], &[3.0]);
    near(&results[2], &[0.5]);
}

#[test]
fn triangles_ranges_and_one_hot() {
    let x = host(&[2, 2], &[1f32, 2.0, 3.0, 4.0]);
    near(&apply(18, node("Trilu", "x", "y").int("upper", 0), &[x]), &[1.0, 0.0, 3.0, 4.0]);
    let g = graph(
        vec![input("i", DType::I64, &["3"])],
        &[("depth", HostTensor::scalar(3i64)), ("v", host(&[2], &[-1f32, 1.0]))],
        vec![node("OneHot", "i depth v", "y")],
        "y",
    );
    let y = eval(&import_graph(g).unwrap(), &[host(&[3], &[0i64, -1, 7])]).remove(0);
    near(&y, &[1.0, -1.0, -1.0, -1.0, -1.0, 1.0, -1.0, -1.0, -1.0]);
}

#[test]
fn quantising_goes_there_and_back_by_scales_along_an_axis() {
    let x = host(&[2, 2], &[1f32, -3.0, 100.0, 7.4]);
    let scales = host(&[2], &[2f32, 0.1]);
    let zero = host(&[2], &[10u8, 0]);
    let operands = [x, scales.clone(), zero.clone()];
    let q = apply(21, node("QuantizeLinear", "x s z", "y").int("axis", 0), &operands);
    // 1/2 rounds to even; 100/0.1 and 7.4/0.1 are saturated and rounded.
    assert_eq!(q.to_vec::<u8>().unwrap(), [10, 8, 255, 74]);
    let y = apply(21, node("DequantizeLinear", "x s z", "y").int("axis", 0), &[q, scales, zero]);
    near(&y, &[0.0, -4.0, 25.5, 7.4]);
}

#[test]
fn attention_splits_heads_and_masks_the_future() {
    // Two heads of one element; equal scores, so that each query gets the mean of what it sees.
    let zero = host(&[1, 2, 2], &[0f32; 4]);
    let v = host(&[1, 2, 2], &[1f32, 10.0, 3.0, 30.0]);
    let attention = || node("Attention", "q k v", "y").int("q_num_heads", 2).int("kv_num_heads", 2);
    let operands = [zero.clone(), zero, v];
    near(&apply(23, attention(), &operands), &[2.0, 20.0, 2.0, 20.0]);
    near(&apply(23, attention().int("is_causal", 1), &operands), &[1.0, 10.0, 2.0, 20.0]);
}

#[test]
fn einstein_sums() {
    let a = host(&[2, 2], &[1f32, 2.0, 3.0, 4.0]);
    let b = host(&[2, 2], &[1f32, 10.0, 100.0, 1000.0]);
    let sum = |equation: &str, operands: &[HostTensor]| {
        let names = ["a", "b", "c"][..operands.len()].join(" ");
        apply(18, node("Einsum", &names, "y").text("equation", equation), operands)
    };
    let both = [a.clone(), b.clone()];
    near(&sum("ij,jk->ik", &both), &[201.0, 2010.0, 403.0, 4030.0]);
    near(&sum("ij,jk", &both), &[201.0, 2010.0, 403.0, 4030.0]);
    near(&sum("ij,jk->ki", &both), &[201.0, 403.0, 2010.0, 4030.0]);
    near(&sum("ij,ij->i", &both), &[21.0, 4300.0]);
    near(&sum("ij, ij -> ", &both), &[4321.0]);
    near(&sum("ij->j", &both[..1]), &[4.0, 6.0]);
    near(&sum("ba", &both[..1]), &[1.0, 3.0, 2.0, 4.0]);
    near(&sum("...j,jk->...k", &both), &[201.0, 2010.0, 403.0, 4030.0]);
    near(&sum("ij,jk,k->i", &[a, b, host(&[2], &[1f32, 0.0])]), &[201.0, 403.0]);
}

#[test]
fn powers_of_two_round_as_the_attribute_says() {
    let x = host(&[1, 8], &[1f32, 1.1, 1.5, 2.9, 0.0, f32::INFINITY, f32::NAN, 1e-39]);
    let cast = |mode: &str, saturate: i64| {
        let node = node("Cast", "x", "y").int("to", 24).text("round_mode", mode).int("saturate", saturate);
        let y = apply(24, node, std::slice::from_ref(&x));
        assert_eq!(y.dtype(), DType::F8E8M0);
        y.bytes().to_vec()
    };
    assert_eq!(cast("up", 1), [127, 128, 128, 129, 0, 254, 255, 0]);
    assert_eq!(cast("down", 1), [127, 127, 127, 128, 0, 254, 255, 0]);
    assert_eq!(cast("nearest", 1), [127, 127, 128, 128, 0, 254, 255, 0]);
    assert_eq!(cast("nearest", 0), [127, 127, 128, 128, 255, 255, 255, 255]);
    let back = apply(
        24,
        node("Cast", "x", "y").int("to", 1),
        &[HostTensor::from_bytes(DType::F8E8M0, &[3], vec![127u8, 0, 254]).unwrap()],
    );
    assert_eq!(floats(&back), [1.0, 2f32.powi(-127), 2f32.powi(127)]);
}

#[test]
fn scales_may_be_powers_of_two() {
    let x = HostTensor::from_ints(DType::I8, &[2, 2], &[3, -1, 5, 7]).unwrap();
    let scale = HostTensor::from_bytes(DType::F8E8M0, &[2], vec![126u8, 129]).unwrap();
    let y = apply(25, node("DequantizeLinear", "x s", "y").int("axis", 0), &[x, scale.clone()]);
    assert_eq!(floats(&y), [1.5, -0.5, 20.0, 28.0]);
    let q = apply(25, node("QuantizeLinear", "x s", "y").int("axis", 0).int("output_dtype", 3), &[y, scale]);
    assert_eq!(q.to_vec::<i8>().unwrap(), [3, -1, 5, 7]);
}

#[test]
fn short_transforms_take_signals_with_and_without_an_axis_for_parts() {
    let signal: Vec<f32> = (0..8).map(|i| (i * i % 5) as f32).collect();
    let stft = |sizes: &[usize]| {
        let constants = [("step", HostTensor::scalar(2i64)), ("length", HostTensor::scalar(4i64))];
        apply_with(node("STFT", "x step - length", "y"), &host(sizes, &signal), &constants)
    };
    let (with, without) = (stft(&[1, 8, 1]), stft(&[1, 8]));
    assert_eq!(with.sizes(), [1, 3, 3, 2]);
    assert_eq!(with, without);
    let expected =
        [9.0, 0.0, -4.0, 3.0, -1.0, 0.0, 9.0, 0.0, 3.0, -4.0, 1.0, 0.0, 6.0, 0.0, 0.0, 4.0, -2.0, 0.0];
    near(&with.reshaped(&[18]).unwrap(), &expected);
}

#[test]
fn a_region_means_nothing_but_to_a_crop() {
    // Until version 12 it was no optional operand: exporters write an empty constant, or any.
    let x = host(&[1, 1, 2], &[1f32, 2.0]);
    for region in [host::<f32>(&[0], &[]), host(&[6], &[0.5f32; 6])] {
        let constants = [("roi", region), ("scales", host(&[3], &[1f32, 1.0, 2.0]))];
        let n = node("Resize", "x roi scales", "y")
            .text("mode", "nearest")
            .text("nearest_mode", "floor")
            .text("coordinate_transformation_mode", "asymmetric");
        let g = graph(vec![input("x", DType::F32, &["1", "1", "2"])], &constants, vec![n], "y");
        let g = import(&model(11, g)).unwrap();
        assert_eq!(floats(&eval(&g, std::slice::from_ref(&x))[0]), [1.0, 1.0, 2.0, 2.0]);
    }
}

#[test]
fn windows_without_a_place_and_convolutions_of_nothing_give_what_the_definition_says() {
    let x = host(&[1, 3, 1, 1], &[1f32, 2.0, 3.0]);
    for op in ["MaxPool", "AveragePool", "LpPool"] {
        let n = node(op, "x", "y").ints("kernel_shape", &[2, 2]).ints("strides", &[2, 2]);
        assert_eq!(apply(18, n, std::slice::from_ref(&x)).sizes(), [1, 3, 0, 0], "{op}");
    }
    // Twice one before the first element, and a kernel of three: one element, which is the bias.
    let (x, w) = (HostTensor::zeros(DType::F32, &[1, 2, 0, 0]).unwrap(), host(&[2, 3, 3, 3], &[1f32; 54]));
    let n = node("ConvTranspose", "x w b", "y").ints("strides", &[2, 2]);
    let y = apply(18, n, &[x, w, host(&[3], &[5f32, 6.0, 7.0])]);
    assert_eq!(y.sizes(), [1, 3, 1, 1]);
    near(&y, &[5.0, 6.0, 7.0]);
}

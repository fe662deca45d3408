"""Writes cases for operators of com.microsoft, with what ONNX Runtime computes for them: tests/onnx/contrib.

    pip install onnx onnxruntime && python tests/onnx/contrib.py

The cases are small and checked in; this script is needed only to change them.
"""

import shutil
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper, numpy_helper

TARGET = Path(__file__).parent / "contrib"
TYPES = {np.float32: T.FLOAT, np.uint8: T.UINT8, np.int8: T.INT8, np.int32: T.INT32, np.int64: T.INT64, np.bool_: T.BOOL}
RNG = np.random.default_rng(7)


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def u8(*shape):
    return RNG.integers(0, 256, shape).astype(np.uint8)


def case(name, op, inputs, outputs=("y",), constants=(), **attributes):
    """A model of one node; inputs are (name, array or None), those named in `constants` become initialisers."""
    names = [n if a is not None else "" for n, a in inputs]
    node = helper.make_node(op, names, list(outputs), domain="com.microsoft", **attributes)
    given = [(n, a) for n, a in inputs if a is not None]
    infos = [helper.make_tensor_value_info(n, TYPES[a.dtype.type], a.shape) for n, a in given if n not in constants]
    weights = [numpy_helper.from_array(a, n) for n, a in given if n in constants]
    outs = [helper.make_empty_tensor_value_info(o) for o in outputs if o]
    graph = helper.make_graph([node], name, infos, outs, weights)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {n: a for n, a in given if n not in constants}
    results = session.run(None, feeds)
    # Declared with the types that came, as every model has them.
    del model.graph.output[:]
    for o, r in zip([o for o in outputs if o], results):
        model.graph.output.append(helper.make_tensor_value_info(o, TYPES[r.dtype.type], r.shape))
    folder = TARGET / name
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for prefix, arrays in (("input", feeds.items()), ("output", zip([o for o in outputs if o], results))):
        for i, (n, a) in enumerate(arrays):
            (data / f"{prefix}_{i}.pb").write_bytes(numpy_helper.from_array(a, n).SerializeToString())


def products():
    case("fused_matmul", "FusedMatMul", [("a", f32(2, 4, 3)), ("b", f32(2, 5, 4))], transA=1, transB=1, alpha=0.5)
    case("gelu", "Gelu", [("x", f32(3, 8))])
    case("fast_gelu", "FastGelu", [("x", f32(3, 8)), ("b", f32(8))])
    case("bias_gelu", "BiasGelu", [("x", f32(3, 8)), ("b", f32(8))])
    case("quick_gelu", "QuickGelu", [("x", f32(3, 8))])
    for bits, name in ((4, "matmul_4_bits"), (8, "matmul_8_bits")):
        rows, depth, block = 6, 64, 32
        blocks = depth // block
        weights = u8(rows, blocks, block * bits // 8)
        scales = np.abs(f32(rows, blocks)) / 8
        zeros = u8(rows, (blocks * bits + 7) // 8)
        inputs = [("a", f32(3, depth)), ("b", weights), ("scales", scales)]
        sizes = dict(K=depth, N=rows, bits=bits, block_size=block)
        case(name, "MatMulNBits", inputs, constants=("b", "scales"), **sizes)
        case(name + "_zero_points", "MatMulNBits", [*inputs, ("z", zeros)], constants=("b", "scales", "z"), **sizes)
    x, w = f32(1, 2, 5, 5), f32(3, 2, 3, 3)
    case("fused_conv", "FusedConv", [("x", x), ("w", w), ("b", f32(3))], activation="Relu", pads=[1, 1, 1, 1])


def norms():
    x, skip, gamma, beta, bias = f32(2, 3, 8), f32(2, 3, 8), f32(8), f32(8), f32(8)
    outputs = ("y", "", "", "sum")
    case("skip_layer_norm", "SkipLayerNormalization", [("x", x), ("s", skip), ("g", gamma), ("b", beta), ("c", bias)], outputs, epsilon=1e-5)
    case("skip_rms_norm", "SkipSimplifiedLayerNormalization", [("x", x), ("s", skip), ("g", gamma), ("c", bias)], outputs, epsilon=1e-5)
    ids, segments = RNG.integers(0, 10, (2, 4)).astype(np.int32), RNG.integers(0, 2, (2, 4)).astype(np.int32)
    mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int32)
    tables = [("w", f32(10, 8)), ("p", f32(6, 8)), ("t", f32(2, 8))]
    case("embed_layer_norm", "EmbedLayerNormalization", [("ids", ids), ("seg", segments), *tables, ("g", gamma), ("b", beta), ("m", mask)], ("y", "lengths"), mask_index_type=1)


def attention():
    x, w, bias = f32(2, 4, 8), f32(8, 24), f32(24)
    case("attention", "Attention", [("x", x), ("w", w), ("b", bias)], num_heads=2)
    mask = np.array([[1, 1, 0, 0], [1, 1, 1, 1]], np.int32)
    case("attention_mask", "Attention", [("x", x), ("w", w), ("b", bias), ("m", mask)], num_heads=2)
    case("attention_lengths", "Attention", [("x", x), ("w", w), ("b", bias), ("m", np.array([3, 4], np.int32))], num_heads=2)
    past = f32(2, 2, 2, 3, 4)
    case("attention_past", "Attention", [("x", x), ("w", w), ("b", bias), ("m", None), ("past", past)], ("y", "present"), num_heads=2, unidirectional=1)
    q, k, v = f32(2, 4, 8), f32(2, 5, 8), f32(2, 5, 8)
    case("multi_head", "MultiHeadAttention", [("q", q), ("k", k), ("v", v), ("b", bias)], num_heads=2)
    padding = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    case("multi_head_mask", "MultiHeadAttention", [("q", q), ("k", k), ("v", v), ("b", None), ("m", padding)], num_heads=2)
    case("multi_head_added", "MultiHeadAttention", [("q", q), ("k", k), ("v", v), ("b", None), ("m", None), ("a", f32(1, 2, 4, 5))], num_heads=2)
    angles = np.arange(16)[:, None] / 10.0 ** np.arange(4)[None, :]
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    for name, interleaved in (("rotary", 0), ("rotary_interleaved", 1)):
        case(name, "RotaryEmbedding", [("x", f32(2, 2, 3, 8)), ("at", np.array([[0, 1, 2], [5, 6, 7]], np.int64)), ("c", cos), ("s", sin)], interleaved=interleaved)
    case("rotary_start", "RotaryEmbedding", [("x", f32(2, 3, 16)), ("at", np.array([4], np.int64)), ("c", cos), ("s", sin)])
    # The size of a head must be a multiple of 16 there.
    heads, kv, size, length = 4, 2, 16, 3
    angles = np.arange(8)[:, None] / 10.0 ** np.arange(8)[None, :]
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    query, key, value = f32(1, length, heads * size), f32(1, length, kv * size), f32(1, length, kv * size)
    counts = [("n", np.array([length - 1], np.int32)), ("total", np.array(length, np.int32))]
    outputs = ("y", "key", "value")
    shape = dict(num_heads=heads, kv_num_heads=kv)
    case("group_query", "GroupQueryAttention", [("q", query), ("k", key), ("v", value), ("pk", None), ("pv", None), *counts], outputs, **shape)
    case("group_query_rotary", "GroupQueryAttention", [("q", query), ("k", key), ("v", value), ("pk", None), ("pv", None), *counts, ("c", cos), ("s", sin)], outputs, do_rotary=1, **shape)
    past = [("pk", f32(1, kv, 2, size)), ("pv", f32(1, kv, 2, size))]
    counts = [("n", np.array([2], np.int32)), ("total", np.array(3, np.int32))]
    one = [("q", f32(1, 1, heads * size)), ("k", f32(1, 1, kv * size)), ("v", f32(1, 1, kv * size))]
    case("group_query_past", "GroupQueryAttention", [*one, *past, *counts, ("c", cos), ("s", sin)], outputs, do_rotary=1, **shape)


def quantised():
    def scale(name, value):
        return (name, np.array(value, np.float32))

    def zero(name, value):
        return (name, np.array(value, np.uint8))

    a, b = ("a", u8(3, 4)), ("b", u8(3, 4))
    both = [a, scale("as", 0.05), zero("az", 120), b, scale("bs", 0.03), zero("bz", 100)]
    case("qlinear_add", "QLinearAdd", [*both, scale("ys", 0.061), zero("yz", 110)])
    case("qlinear_mul", "QLinearMul", [*both, scale("ys", 0.09), zero("yz", 110)])
    one = [a, scale("as", 0.05), zero("az", 120)]
    case("qlinear_sigmoid", "QLinearSigmoid", [*one, scale("ys", 1 / 256), zero("yz", 0)], constants=("as", "az", "ys", "yz"))
    case("qlinear_leaky_relu", "QLinearLeakyRelu", [*one, scale("ys", 0.04), zero("yz", 60)], constants=("as", "az", "ys", "yz"), alpha=0.1)
    case("qlinear_concat", "QLinearConcat", [scale("ys", 0.06), zero("yz", 110), *both], constants=("as", "az", "bs", "bz", "ys", "yz"), axis=1)
    pool = [("a", u8(1, 2, 4, 4)), scale("as", 0.05), zero("az", 120)]
    case("qlinear_global_average_pool", "QLinearGlobalAveragePool", [*pool, scale("ys", 0.02), zero("yz", 128)])
    case("matmul_integer_to_float", "MatMulIntegerToFloat", [("a", u8(3, 4)), ("b", u8(4, 5)), scale("as", 0.05), scale("bs", 0.03), zero("az", 120), zero("bz", 100), ("c", f32(5))])


if __name__ == "__main__":
    shutil.rmtree(TARGET, ignore_errors=True)
    for group in (products, norms, attention, quantised):
        group()
    print(f"{sum(1 for _ in TARGET.iterdir())} cases by ONNX Runtime {ort.__version__} in {TARGET}")

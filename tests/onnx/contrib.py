"""Writes cases for operators of com.microsoft and ai.onnx.ml, with what ONNX Runtime computes for them: tests/onnx/contrib.

    pip install onnx onnxruntime && python tests/onnx/contrib.py

The cases are small and checked in; this script is needed only to change them.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper, numpy_helper

TARGET = Path(__file__).parent / "contrib"
TYPES = {np.float32: T.FLOAT, np.float64: T.DOUBLE, np.uint8: T.UINT8, np.int8: T.INT8, np.int32: T.INT32, np.int64: T.INT64, np.bool_: T.BOOL, np.object_: T.STRING}
RNG = np.random.default_rng(7)


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def u8(*shape):
    return RNG.integers(0, 256, shape).astype(np.uint8)


def case(name, op, inputs, outputs=("y",), constants=(), domain="com.microsoft", version=3, tolerance=None, **attributes):
    """A model of one node; inputs are (name, array or None), those named in `constants` become initialisers."""
    names = [n if a is not None else "" for n, a in inputs]
    node = helper.make_node(op, names, list(outputs), domain=domain, **attributes)
    given = [(n, a) for n, a in inputs if a is not None]
    infos = [helper.make_tensor_value_info(n, TYPES[a.dtype.type], a.shape) for n, a in given if n not in constants]
    weights = [numpy_helper.from_array(a, n) for n, a in given if n in constants]
    outs = [helper.make_empty_tensor_value_info(o) for o in outputs if o]
    graph = helper.make_graph([node], name, infos, outs, weights)
    opsets = [helper.make_opsetid("", 18)]
    if domain:
        opsets.append(helper.make_opsetid(domain, version if domain == "ai.onnx.ml" else 1))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {n: a for n, a in given if n not in constants}
    # Labels come as another integer of the same size.
    results = [r.astype(np.int64) if r.dtype == np.int64 else r for r in session.run(None, feeds)]
    # Declared with the types that came, as every model has them.
    del model.graph.output[:]
    for o, r in zip([o for o in outputs if o], results):
        model.graph.output.append(helper.make_tensor_value_info(o, TYPES[r.dtype.type], r.shape))
    folder = TARGET / name
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    if tolerance:
        (folder / "tolerance.json").write_text(json.dumps(tolerance))
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
    case("embed_layer_norm_counts", "EmbedLayerNormalization", [("ids", ids), ("seg", segments), *tables, ("g", gamma), ("b", beta), ("m", mask)], ("y", "lengths"))


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
    gemm = [a, scale("as", 0.05), zero("az", 120), ("w", u8(5, 4)), ("ws", np.linspace(0.01, 0.03, 5).astype(np.float32)), ("wz", np.full(5, 100, np.uint8))]
    fixed = ("as", "az", "w", "ws", "wz", "ys", "yz")
    bias = ("c", np.array([900, -700, 0, 55, 3000], np.int32))
    case("qgemm", "QGemm", [*gemm, bias, scale("ys", 0.2), zero("yz", 110)], constants=fixed, transB=1)
    case("qgemm_float", "QGemm", [*gemm, bias], constants=fixed, transB=1, alpha=0.5)
    case("qlinear_average_pool", "QLinearAveragePool", [*pool, scale("ys", 0.04), zero("yz", 128)], constants=("as", "az", "ys", "yz"), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    chosen = ("k", np.array([[True, False, True, False]] * 3))
    case("qlinear_where", "QLinearWhere", [chosen, *both, scale("ys", 0.06), zero("yz", 110)], constants=("as", "az", "bs", "bz", "ys", "yz"))
    case("dynamic_quantize_matmul", "DynamicQuantizeMatMul", [("x", f32(3, 4)), ("b", u8(4, 5)), scale("bs", 0.03), zero("bz", 100), ("c", f32(5))], constants=("b", "bs", "bz"))
    i8 = lambda *shape: RNG.integers(-127, 128, shape).astype(np.int8)
    weights = [("w", i8(2, 3, 16)), ("r", i8(2, 4, 16)), ("b", f32(2, 32)), ("n", None), ("h", f32(2, 2, 4)), ("k", f32(2, 2, 4)), ("p", None)]
    each = lambda name: [(name + "s", np.array([0.004, 0.005], np.float32)), (name + "z", np.zeros(2, np.int8))]
    case(
        "dynamic_quantize_lstm", "DynamicQuantizeLSTM", [("x", f32(5, 2, 3)), *weights, *each("w"), *each("r")], ("y", "h_last", "c_last"),
        constants=("w", "r", "ws", "wz", "rs", "rz"), tolerance={"rtol": 1e-3, "atol": 1e-2}, direction="bidirectional", hidden_size=4,
    )
    attended = [("x", u8(2, 4, 8)), ("w", i8(8, 24)), ("b", f32(24)), scale("xs", 0.02), scale("ws", 0.004), ("m", np.array([3, 4], np.int32)), zero("xz", 128), ("wz", np.array(0, np.int8))]
    case("qattention", "QAttention", attended, constants=("w", "ws", "wz", "xs", "xz"), num_heads=2)


def trees(count, depth, targets, prefix, features=4):
    """The attributes of random trees: nodes, and a weight for every target at every leaf."""
    nodes = {k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    leaves = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}
    kinds = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"]

    def grow(tree, level, free):
        own = next(free)
        is_leaf = level == depth or (level > 0 and RNG.random() < 0.2)
        entry = [tree, own, 0 if is_leaf else int(RNG.integers(features)), 0.0 if is_leaf else float(RNG.standard_normal()), "LEAF" if is_leaf else str(RNG.choice(kinds)), 0, 0, int(RNG.integers(2))]
        at = len(nodes["nodeids"])
        for column, value in zip(nodes.values(), entry):
            column.append(value)
        if is_leaf:
            for target in targets:
                for column, value in zip(leaves.values(), [tree, own, target, float(RNG.standard_normal())]):
                    column.append(value)
        else:
            nodes["truenodeids"][at], nodes["falsenodeids"][at] = grow(tree, level + 1, free), grow(tree, level + 1, free)
        return own

    for tree in range(count):
        grow(tree, 0, iter(range(1000)))
    return {**{f"nodes_{k}": v for k, v in nodes.items()}, **{f"{prefix}_{k}": v for k, v in leaves.items()}}


def classic():
    ml = dict(domain="ai.onnx.ml")
    x = f32(6, 4)
    x[1, 2] = np.nan
    case("tree_regressor", "TreeEnsembleRegressor", [("x", x)], n_targets=2, base_values=[0.5, -0.5], **trees(7, 4, [0, 1], "target"), **ml)
    case("tree_regressor_logistic", "TreeEnsembleRegressor", [("x", x)], n_targets=2, post_transform="LOGISTIC", **trees(3, 5, [0, 1], "target"), **ml)
    names = dict(classlabels_strings=["cat", "dog", "eel"])
    case("tree_classifier", "TreeEnsembleClassifier", [("x", x)], ("label", "y"), post_transform="SOFTMAX", **names, **trees(5, 4, [0, 1, 2], "class"), **ml)
    case("tree_classifier_two", "TreeEnsembleClassifier", [("x", x)], ("label", "y"), post_transform="LOGISTIC", classlabels_int64s=[4, 7], base_values=[0.3], **trees(5, 4, [0], "class"), **ml)
    full = f32(6, 4)
    case("scaler", "Scaler", [("x", full)], offset=[0.1, 0.2, 0.3, 0.4], scale=[1.0, 2.0, 3.0, 4.0], **ml)
    for norm in ("MAX", "L1", "L2"):
        case(f"normalizer_{norm.lower()}", "Normalizer", [("x", full)], norm=norm, **ml)
    case("imputer", "Imputer", [("x", x)], imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=float("nan"), **ml)
    case("feature_vectorizer", "FeatureVectorizer", [("a", full), ("b", f32(6, 2))], inputdimensions=[4, 2], **ml)
    case("one_hot_encoder", "OneHotEncoder", [("x", np.array([[0, 3], [1, 2]], np.int64))], cats_int64s=[0, 1, 3], zeros=1, **ml)
    numbers = lambda n: [float(v) for v in f32(n)]
    case("linear_regressor", "LinearRegressor", [("x", full)], coefficients=numbers(8), intercepts=numbers(2), targets=2, **ml)
    labels = dict(classlabels_ints=[3, 5, 9])
    case("linear_classifier", "LinearClassifier", [("x", full)], ("label", "y"), coefficients=numbers(12), intercepts=numbers(3), post_transform="SOFTMAX", multi_class=1, **labels, **ml)


def embedded_integers():
    """`QEmbedLayerNormalization`: tables of bytes with and without signs, with and without segments and a mask."""
    ids, segments = RNG.integers(0, 10, (2, 4)).astype(np.int32), RNG.integers(0, 2, (2, 4)).astype(np.int32)
    mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int32)
    names, sizes = "wptgb", [(10, 8), (6, 8), (2, 8), (8,), (8,)]
    for name, kind, has_segments in (("qembed_layer_norm", np.uint8, True), ("qembed_layer_norm_signed", np.int8, False)):
        low, high = np.iinfo(kind).min, np.iinfo(kind).max + 1
        tables = [(n, RNG.integers(low, high, size).astype(kind)) for n, size in zip(names, sizes)]
        scales = [(n + "s", np.array(v, np.float32)) for n, v in zip(names, (0.02, 0.03, 0.01, 0.015, 0.025))]
        zeros = [(n + "z", np.array(v + low, kind)) for n, v in zip(names, (128, 120, 131, 90, 140))]
        if not has_segments:
            tables[2], scales[2], zeros[2] = ("t", None), ("ts", None), ("tz", None)
        inputs = [("ids", ids), ("seg", segments if has_segments else None), *tables, ("m", mask if has_segments else None), *scales, *zeros]
        fixed = [n for n, a in (*tables, *scales, *zeros) if a is not None]
        case(name, "QEmbedLayerNormalization", inputs, ("y", "lengths"), constants=fixed, epsilon=1e-5)


def ensembles():
    """`TreeEnsemble` of version 5, where branches and leaves are counted apart."""

    def grown(count, depth, targets, modes, dtype, features=4):
        nodes = {k: [] for k in ("featureids", "modes", "splits", "truenodeids", "trueleafs", "falsenodeids", "falseleafs", "missing_value_tracks_true")}
        leaves, members = {"targetids": [], "weights": []}, []

        def grow(level):
            if level == depth or (level > 0 and RNG.random() < 0.2):
                leaves["targetids"].append(int(RNG.integers(targets)))
                leaves["weights"].append(float(RNG.standard_normal()))
                return len(leaves["weights"]) - 1, 1
            at, mode = len(nodes["modes"]), int(RNG.choice(modes))
            for column, value in zip(nodes.values(), [int(RNG.integers(features)), mode, float(RNG.standard_normal()), 0, 0, 0, 0, int(RNG.integers(2))]):
                column.append(value)
            if mode == 6:
                members.extend([*map(float, RNG.integers(-2, 3, RNG.integers(1, 4))), float("nan")])
            nodes["truenodeids"][at], nodes["trueleafs"][at] = grow(level + 1)
            nodes["falsenodeids"][at], nodes["falseleafs"][at] = grow(level + 1)
            return at, 0

        roots = [grow(0)[0] for _ in range(count)]
        tensor = lambda name, kind: numpy_helper.from_array(np.array(nodes.pop(name), kind))
        attributes = dict(nodes_modes=tensor("modes", np.uint8), nodes_splits=tensor("splits", dtype), tree_roots=roots, n_targets=targets)
        attributes |= dict(leaf_targetids=leaves["targetids"], leaf_weights=numpy_helper.from_array(np.array(leaves["weights"], dtype)))
        if members:
            attributes["membership_values"] = numpy_helper.from_array(np.array(members, dtype))
        return attributes | {f"nodes_{k}": v for k, v in nodes.items()}

    ml = dict(domain="ai.onnx.ml", version=5)
    # Some of the numbers are members of lists.
    x = np.where(RNG.random((8, 4)) < 0.5, np.round(f32(8, 4)), f32(8, 4)).astype(np.float32)
    x[1, 2] = np.nan
    case("tree_ensemble", "TreeEnsemble", [("x", x)], **grown(6, 4, 3, [0, 1, 2, 3], np.float32), **ml)
    case("tree_ensemble_members", "TreeEnsemble", [("x", x)], **grown(5, 4, 2, [0, 4, 5, 6], np.float32), **ml)
    case("tree_ensemble_double", "TreeEnsemble", [("x", x.astype(np.float64))], **grown(5, 4, 1, [0, 3], np.float64), aggregate_function=0, **ml)
    case("tree_ensemble_min", "TreeEnsemble", [("x", x)], **grown(5, 3, 1, [0], np.float32), aggregate_function=2, **ml)
    case("tree_ensemble_one_kind", "TreeEnsemble", [("x", x)], **grown(4, 3, 3, [1], np.float32), **ml)
    doubles = trees(4, 4, [0, 1], "target")
    for name in ("nodes_values", "target_weights"):
        doubles[name + "_as_tensor"] = numpy_helper.from_array(np.array(doubles.pop(name), np.float64))
    case("tree_regressor_double", "TreeEnsembleRegressor", [("x", x.astype(np.float64))], n_targets=2, domain="ai.onnx.ml", **doubles)
    whole = trees(4, 3, [0, 1], "target")
    case("tree_regressor_max", "TreeEnsembleRegressor", [("x", x)], n_targets=2, aggregate_function="MAX", domain="ai.onnx.ml", **whole)
    large = np.array([[2**53 + 1, 5], [2**53, 2**53 + 1]], np.int64)
    case("imputer_integers", "Imputer", [("x", large)], imputed_value_int64s=[2**62 + 1, -(2**55) - 1], replaced_value_int64=2**53 + 1, domain="ai.onnx.ml")


def lengths():
    """`GroupQueryAttention` whose entries have different numbers of earlier keys, in a cache that is just large enough or has room."""
    heads, kv, size = 4, 2, 16
    angles = np.arange(16)[:, None] / 10.0 ** np.arange(8)[None, :]
    tables = [("c", np.cos(angles).astype(np.float32)), ("s", np.sin(angles).astype(np.float32))]
    shape = dict(num_heads=heads, kv_num_heads=kv)

    def of(name, new, held, last, total, **more):
        batch = len(last)
        given = [(n, f32(batch, new, h * size)) for n, h in (("q", heads), ("k", kv), ("v", kv))]
        given += [(n, f32(batch, kv, held, size)) for n in ("pk", "pv")]
        given += [("n", np.array(last, np.int32)), ("total", np.array(total, np.int32)), *tables]
        case(name, "GroupQueryAttention", given, ("y", "key", "value"), **shape, **more)

    fixed = dict(constants=("total",))
    of("group_query_lengths", 1, 3, [3, 1], 4, do_rotary=1)
    of("group_query_lengths_known", 1, 3, [3, 1], 4, **fixed)
    of("group_query_window", 1, 5, [5, 2], 6, local_window_size=2, do_rotary=1, **fixed)
    of("group_query_room", 1, 8, [3, 1], 4, do_rotary=1, **fixed)
    of("group_query_room_several", 2, 8, [4], 5, do_rotary=1, **fixed)
    of("group_query_room_fresh", 3, 8, [2, 2], 3, do_rotary=1, **fixed)
    of("group_query_alone", 2, 3, [4], 5, do_rotary=1, **fixed)


def few_bits():
    """Tables and weights of few bits as quantisers write them, and columns with scales of their own."""
    ids = np.array([[3, 0, -1], [6, 2, 2]], np.int64)
    for bits in (4, 8):
        rows, width, block = 7, 48, 16
        data, scales = u8(rows, width * bits // 8), np.abs(f32(rows, width // block)) / 8
        zeros = u8(rows, (width // block * bits + 7) // 8)
        given = [("data", data), ("ids", ids), ("scales", scales)]
        settings = dict(bits=bits, block_size=block, gather_axis=0, quantize_axis=1)
        case(f"gather_{bits}_bits", "GatherBlockQuantized", given, constants=("data", "scales"), **settings)
        case(f"gather_{bits}_bits_zero_points", "GatherBlockQuantized", [*given, ("z", zeros)], constants=("data", "scales", "z"), **settings)
    rows, depth, block = 6, 40, 16
    for kind, name in ((0, "fp4"), (1, "nf4")):
        inputs = [("a", f32(3, depth)), ("b", u8(rows * depth // 2)), ("m", np.abs(f32(rows * depth // block)))]
        case(f"matmul_{name}", "MatMulBnb4", inputs, constants=("b", "m"), K=depth, N=rows, block_size=block, quant_type=kind)
    blocks = 3
    inputs = [("a", f32(3, depth)), ("b", u8(rows, blocks, 8)), ("scales", np.abs(f32(rows, blocks)) / 8), ("z", 8 + 2 * f32(rows, blocks))]
    case("matmul_4_bits_float_zero_points", "MatMulNBits", inputs, constants=("b", "scales", "z"), K=depth, N=rows, bits=4, block_size=block)
    one = lambda v, dtype=np.float32: np.array(v, dtype)
    columns = [("bs", np.abs(f32(5)) / 50), ("bz", RNG.integers(-3, 4, 5).astype(np.int8))]
    inputs = [("a", u8(2, 3, 8)), ("as", one(0.02)), ("az", one(120, np.uint8)), ("b", RNG.integers(-60, 60, (8, 5)).astype(np.int8)), *columns, ("ys", one(0.05)), ("yz", one(130, np.uint8))]
    case("qlinear_matmul_columns", "QLinearMatMul", inputs, constants=("as", "az", "b", "bs", "bz", "ys", "yz"), domain="")
    case("cdist", "CDist", [("a", f32(5, 4)), ("b", f32(3, 4))], metric="euclidean")
    case("cdist_squared", "CDist", [("a", f32(5, 4)), ("b", f32(3, 4))], metric="sqeuclidean")
    regions = np.array([[0, 0, 0, 6, 6], [1, 2, 3, 13, 11], [0, 5.5, 4.4, 9, 9], [1, 0, 0, 0, 0], [0, 20, 20, 30, 30]], np.float32)
    case("max_roi_pool", "MaxRoiPool", [("x", f32(2, 3, 12, 14)), ("r", regions)], domain="", pooled_shape=[3, 2], spatial_scale=0.8)


def vectors():
    """Support vectors, and categories that are texts."""
    ml = dict(domain="ai.onnx.ml", version=1)
    x = f32(9, 4)

    def machine(per_class, **more):
        count, classes = sum(per_class), len(per_class)
        pairs = classes * (classes - 1) // 2
        numbers = lambda n: [float(v) for v in f32(n)]
        made = dict(support_vectors=numbers(count * 4), coefficients=numbers(count * (classes - 1)), rho=numbers(pairs), vectors_per_class=per_class, **more)
        if made.pop("chances", False):
            made |= dict(prob_a=[-abs(v) for v in numbers(pairs)], prob_b=numbers(pairs))
        return made

    outputs = ("label", "scores")
    kernels = {"linear": dict(kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0]), "rbf": dict(kernel_type="RBF", kernel_params=[0.4, 0.0, 3.0]), "poly": dict(kernel_type="POLY", kernel_params=[0.3, 0.5, 3.0]), "sigmoid": dict(kernel_type="SIGMOID", kernel_params=[0.2, 0.1, 3.0])}
    for name, kernel in kernels.items():
        case(f"svm_classifier_{name}", "SVMClassifier", [("x", x)], outputs, **machine([3, 2, 4]), **kernel, classlabels_ints=[5, 7, 9], **ml)
    case("svm_classifier_chances", "SVMClassifier", [("x", x)], outputs, **machine([3, 2, 4, 2], chances=True), **kernels["rbf"], classlabels_ints=[1, 2, 3, 4], **ml)
    case("svm_classifier_two_chances", "SVMClassifier", [("x", x)], outputs, **machine([3, 2], chances=True), **kernels["rbf"], classlabels_ints=[0, 1], **ml)
    case("svm_classifier_two", "SVMClassifier", [("x", x)], outputs, **machine([3, 2]), **kernels["rbf"], classlabels_ints=[0, 1], **ml)
    case("svm_classifier_two_logistic", "SVMClassifier", [("x", x)], outputs, **machine([3, 2]), **kernels["rbf"], classlabels_ints=[0, 1], post_transform="LOGISTIC", **ml)
    case("svm_classifier_texts", "SVMClassifier", [("x", x)], outputs, **machine([3, 2, 3]), **kernels["rbf"], classlabels_strings=["a", "bb", "c"], **ml)
    numbers = lambda n: [float(v) for v in f32(n)]
    case("svm_classifier_lines", "SVMClassifier", [("x", x)], outputs, coefficients=numbers(12), rho=numbers(1), **kernels["linear"], classlabels_ints=[3, 1, 2], **ml)
    for name, kernel in kernels.items():
        case(f"svm_regressor_{name}", "SVMRegressor", [("x", x)], support_vectors=numbers(20), coefficients=numbers(5), rho=numbers(1), n_supports=5, **kernel, **ml)
    case("svm_regressor_one_class", "SVMRegressor", [("x", x)], support_vectors=numbers(20), coefficients=numbers(5), rho=[-0.3], n_supports=5, one_class=1, **kernels["rbf"], **ml)
    texts = np.array([["red", "blue"], ["green", "red"]], object)
    case("one_hot_encoder_texts", "OneHotEncoder", [("x", texts)], cats_strings=["blue", "red", "yellow"], zeros=1, **ml)


def channels_last():
    """Quantised pictures whose channels are last, as ONNX Runtime's optimiser writes them."""
    scale = lambda name, value: (name, np.array(value, np.float32))
    zero = lambda name, value: (name, np.array(value, np.uint8))
    ends = [scale("ys", 0.0437), zero("yz", 128)]
    picture = [("a", u8(2, 6, 5, 4)), scale("as", 0.05), zero("az", 120)]
    fixed = ("as", "az", "ys", "yz")
    case("qlinear_average_pool_last", "QLinearAveragePool", [*picture, *ends], constants=fixed, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], channels_last=1)
    case("qlinear_global_average_pool_last", "QLinearGlobalAveragePool", [*picture, *ends], constants=fixed, channels_last=1)
    case("nhwc_max_pool", "NhwcMaxPool", [("x", u8(2, 6, 5, 4))], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    # Small weights: ONNX Runtime saturates sums of large ones on some processors.
    i8 = lambda *shape: RNG.integers(-60, 61, shape).astype(np.int8)
    for name, groups, last in (("qlinear_conv_last", 1, 1), ("qlinear_conv_last_groups", 4, 1), ("qlinear_conv_second", 2, 0)):
        weights = [("w", i8(8, 4 // groups, 3, 3)), ("ws", np.linspace(0.005, 0.02, 8).astype(np.float32)), ("wz", np.zeros(8, np.int8))]
        given = picture if last else [("a", u8(2, 4, 6, 5)), *picture[1:]]
        bias = ("c", RNG.integers(-2000, 2000, 8).astype(np.int32))
        case(name, "QLinearConv", [*given, *weights, scale("ys", 0.3), zero("yz", 120), bias], constants=(*fixed, "w", "ws", "wz", "c"), group=groups, channels_last=last, pads=[1, 1, 1, 1], strides=[2, 1], kernel_shape=[3, 3])


if __name__ == "__main__":
    shutil.rmtree(TARGET, ignore_errors=True)
    for group in (products, norms, attention, quantised, classic, embedded_integers, ensembles, lengths, few_bits, vectors, channels_last):
        group()
    print(f"{sum(1 for _ in TARGET.iterdir())} cases by ONNX Runtime {ort.__version__} in {TARGET}")

"""The cases of a race: what each computes, as an ONNX model for runtimes and as a function for PyTorch.

A case has a name, the line of the table that it belongs to, a family and sizes. `write(case, folder)` makes `model.onnx`,
`inputs.npz`, `ref.npz` (computed by PyTorch in f64) and `case.json`. Convolutions come twice: `model.onnx` has channels last, by
transposes around the operator; `model_first.onnx` has channels first, which is what other runtimes want.
"""
import json
import os
import zlib
from dataclasses import asdict, dataclass

import numpy as np


@dataclass(frozen=True)
class Case:
    name: str
    line: str
    family: str
    sizes: tuple


MATMUL_SHAPES = [
    (128, 768, 768), (128, 3072, 768), (128, 768, 3072), (128, 64, 128), (49, 2048, 512), (49, 512, 2048), (196, 1024, 256),
    (196, 256, 1024), (784, 512, 128), (784, 128, 512), (3136, 64, 64), (3136, 256, 64), (3136, 64, 256), (7, 1000, 769),
    (7, 769, 1000), (1000, 7, 769), (1000, 769, 7), (769, 1000, 7), (769, 769, 1000),
]
# image, channels in, channels out, window, stride, groups
CONVOLUTIONS = [
    (224, 3, 64, 7, 2, 1), (56, 64, 64, 1, 1, 1), (56, 64, 64, 3, 1, 1), (56, 64, 256, 1, 1, 1), (56, 256, 64, 1, 1, 1),
    (56, 256, 128, 1, 1, 1), (56, 128, 128, 3, 2, 1), (56, 256, 512, 1, 2, 1), (28, 128, 512, 1, 1, 1), (28, 512, 128, 1, 1, 1),
    (28, 128, 128, 3, 1, 1), (28, 512, 256, 1, 1, 1), (28, 256, 256, 3, 2, 1), (28, 512, 1024, 1, 2, 1), (14, 256, 1024, 1, 1, 1),
    (14, 1024, 256, 1, 1, 1), (14, 256, 256, 3, 1, 1), (14, 1024, 512, 1, 1, 1), (14, 512, 512, 3, 2, 1), (14, 1024, 2048, 1, 2, 1),
    (7, 512, 2048, 1, 1, 1), (7, 2048, 512, 1, 1, 1), (7, 512, 512, 3, 1, 1),
    (112, 32, 32, 3, 1, 32), (112, 96, 96, 3, 2, 96), (56, 144, 144, 3, 1, 144), (56, 144, 144, 3, 2, 144),
    (28, 192, 192, 3, 1, 192), (28, 192, 192, 3, 2, 192), (14, 384, 384, 3, 1, 384), (14, 576, 576, 3, 1, 576),
    (14, 576, 576, 3, 2, 576), (7, 960, 960, 3, 1, 960),
]
PERCEPTRONS = [(13, 512, 256, 128), (479, 1024, 1024, 512, 256, 1)]


def all_cases():
    out = []
    for kind in ("run-time", "constant"):
        for n in (256, 1024, 2048):
            out.append(Case(f"matmul-{kind}-{n}", f"square matmul, {kind} B", f"matmul-{kind}", (n, n, n)))
    for m, n, k in MATMUL_SHAPES:
        out.append(Case(f"matmul-constant-{m}x{n}x{k}", "matmul shapes, constant B", "matmul-constant", (m, n, k)))
    for c in CONVOLUTIONS:
        image, cin, cout, window, stride, groups = c
        kind = "conv" if groups == 1 else "depthwise"
        out.append(Case(f"{kind}-{window}x{window}s{stride}-{image}-{cin}-{cout}", "convolutions", "conv", c))
    for tokens in (128, 1024):
        for causal in (0, 1):
            name = f"attention-{tokens}" + ("-causal" if causal else "")
            out.append(Case(name, "attention", "attention", (12, tokens, 64, causal)))
    out.append(Case("ew_arith20", "arithmetic elementwise", "arithmetic", (4096, 4096)))
    out.append(Case("ew_chain20", "transcendental elementwise", "transcendental", (4096, 4096)))
    out.append(Case("softmax", "softmax, layer norm", "softmax", (4096, 1024)))
    out.append(Case("norm_gelu", "softmax, layer norm", "norm-gelu", (4096, 1024)))
    for n in (64, 256, 1024):
        out.append(Case(f"chain64-{n}", "chains and perceptrons", "chain", (n,)))
    for i, sizes in enumerate(PERCEPTRONS):
        for batch in (32, 128, 512):
            out.append(Case(f"mlp{i + 1}-{batch}", "chains and perceptrons", "mlp", (batch,) + sizes))
    return out


def data(case):
    """Inputs and constants by name, the same on every machine."""
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    normal = lambda *s, scale=1.0: (rng.standard_normal(s) * scale).astype(np.float32)
    f, s = case.family, case.sizes
    if f.startswith("matmul"):
        m, n, k = s
        x, w, b = normal(m, k), normal(k, n, scale=k ** -0.5), normal(n)
        return ({"x": x, "w": w, "b": b}, {}) if f == "matmul-run-time" else ({"x": x}, {"w": w, "b": b})
    if f == "conv":
        image, cin, cout, window, _, groups = s
        fan = cin // groups * window * window
        weights = normal(cout, cin // groups, window, window, scale=fan ** -0.5)
        return {"x": normal(1, image, image, cin)}, {"w": weights, "b": normal(cout)}
    if f == "attention":
        heads, tokens, depth, _ = s
        return {n: normal(1, heads, tokens, depth) for n in "qkv"}, {}
    if f in ("arithmetic", "transcendental"):
        return {"x": normal(*s), "b": normal(s[1]), "c": rng.random((s[0], 1), np.float32) + np.float32(0.5)}, {}
    if f == "softmax":
        return {"x": normal(*s)}, {}
    if f == "norm-gelu":
        return {"x": normal(*s)}, {"scale": rng.random(s[1], np.float32) + np.float32(0.5), "bias": normal(s[1], scale=0.1)}
    if f == "chain":
        return {"x": normal(s[0], s[0])}, {f"w{i}": normal(s[0], s[0], scale=(2 / s[0]) ** 0.5) for i in range(64)}
    if f == "mlp":
        consts = {}
        for i, (a, b) in enumerate(zip(s[1:], s[2:])):
            consts[f"w{i}"], consts[f"b{i}"] = normal(a, b, scale=(2 / a) ** 0.5), normal(b, scale=0.1)
        return {"x": normal(s[0], s[1])}, consts
    raise ValueError(f)


def torch_function(case, consts):
    """The case as a function of torch tensors. Convolutions take and give channels-first tensors."""
    import torch
    import torch.nn.functional as F

    f, s = case.family, case.sizes
    if f == "matmul-run-time":
        return lambda x, w, b: torch.relu(torch.addmm(b, x, w))
    if f == "matmul-constant":
        return lambda x: torch.relu(torch.addmm(consts["b"], x, consts["w"]))
    if f == "conv":
        return lambda x: torch.relu(F.conv2d(x, consts["w"], consts["b"], stride=s[4], padding=s[3] // 2, groups=s[5]))
    if f == "attention":
        return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=bool(s[3]))
    if f == "arithmetic":
        def arithmetic(x, b, c):
            t = torch.maximum((x + b) * c - b, x) + 0.5
            t = torch.relu(t * 0.9) - c
            t = torch.minimum(t * b, x) + c
            u = (torch.maximum(t * 1.1 - x, b) + t) * 0.25 + x
            return torch.minimum(u - c, t) * b + x
        return arithmetic
    if f == "transcendental":
        def transcendental(x, b, c):
            t = torch.sqrt(torch.abs(torch.tanh(torch.sigmoid((x + b) * c) * x) - b) + 1.0)
            u = torch.exp(-torch.maximum(torch.relu(t * b) + c, x * 0.25))
            u = torch.minimum((u / t) * 0.5 + x, c)
            return u * u - c
        return transcendental
    if f == "softmax":
        return lambda x: torch.softmax(x, -1)
    if f == "norm-gelu":
        return lambda x: x + F.gelu(F.layer_norm(x, x.shape[-1:], consts["scale"], consts["bias"], 1e-5))
    if f == "chain":
        def chain(x):
            for i in range(64):
                x = x @ consts[f"w{i}"]
                x = torch.softmax(x, -1) if i == 63 else torch.relu(x)
            return x
        return chain
    if f == "mlp":
        def mlp(x):
            for i in range(len(s) - 2):
                x = torch.relu(torch.addmm(consts[f"b{i}"], x, consts[f"w{i}"]))
            return x
        return mlp
    raise ValueError(f)


class Nodes:
    """Writes ONNX nodes one after another; a call gives the name of the result."""

    def __init__(self):
        self.nodes, self.consts = [], {}

    def __call__(self, op, *inputs, **attributes):
        from onnx import helper
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def number(self, value):
        name = f"c{len(self.consts)}"
        self.consts[name] = np.array(value, np.float32)
        return name


def onnx_nodes(case, channels):
    n, f, s = Nodes(), case.family, case.sizes
    if f.startswith("matmul"):
        y = n("Relu", n("Add", n("MatMul", "x", "w"), "b"))
    elif f == "conv":
        pad = [s[3] // 2] * 4
        x = n("Transpose", "x", perm=[0, 3, 1, 2]) if channels == "last" else "x"
        y = n("Relu", n("Conv", x, "w", "b", strides=[s[4]] * 2, pads=pad, group=s[5], kernel_shape=[s[3]] * 2))
        y = n("Transpose", y, perm=[0, 2, 3, 1]) if channels == "last" else y
    elif f == "attention":
        y = n("Attention", "q", "k", "v", is_causal=s[3])
    elif f == "arithmetic":
        t = n("Add", n("Max", n("Sub", n("Mul", n("Add", "x", "b"), "c"), "b"), "x"), n.number(0.5))
        t = n("Sub", n("Relu", n("Mul", t, n.number(0.9))), "c")
        t = n("Add", n("Min", n("Mul", t, "b"), "x"), "c")
        u = n("Max", n("Sub", n("Mul", t, n.number(1.1)), "x"), "b")
        u = n("Add", n("Mul", n("Add", u, t), n.number(0.25)), "x")
        y = n("Add", n("Mul", n("Min", n("Sub", u, "c"), t), "b"), "x")
    elif f == "transcendental":
        t = n("Mul", n("Sigmoid", n("Mul", n("Add", "x", "b"), "c")), "x")
        t = n("Sqrt", n("Add", n("Abs", n("Sub", n("Tanh", t), "b")), n.number(1.0)))
        u = n("Add", n("Relu", n("Mul", t, "b")), "c")
        u = n("Exp", n("Neg", n("Max", u, n("Mul", "x", n.number(0.25)))))
        u = n("Min", n("Add", n("Mul", n("Div", u, t), n.number(0.5)), "x"), "c")
        y = n("Sub", n("Mul", u, u), "c")
    elif f == "softmax":
        y = n("Softmax", "x", axis=-1)
    elif f == "norm-gelu":
        y = n("Add", "x", n("Gelu", n("LayerNormalization", "x", "scale", "bias", axis=-1, epsilon=1e-5)))
    elif f == "chain":
        y = "x"
        for i in range(64):
            y = n("MatMul", y, f"w{i}")
            y = n("Softmax", y, axis=-1) if i == 63 else n("Relu", y)
    elif f == "mlp":
        y = "x"
        for i in range(len(s) - 2):
            y = n("Relu", n("Add", n("MatMul", y, f"w{i}"), f"b{i}"))
    else:
        raise ValueError(f)
    n("Identity", y)
    n.nodes[-1].output[0] = "y"
    return n


def save_onnx(case, inputs, consts, result, channels, path):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    n = onnx_nodes(case, channels)
    # The result itself is the output: a copy would be timed.
    last = n.nodes.pop()
    n.nodes[-1].output[0] = "y"
    assert last.op_type == "Identity"
    port = lambda name, a: helper.make_tensor_value_info(name, TensorProto.FLOAT, list(a.shape))
    tensors = [numpy_helper.from_array(a, name) for name, a in {**consts, **n.consts}.items()]
    graph = helper.make_graph(
        n.nodes, case.name, [port(k, a) for k, a in inputs.items()], [port("y", result)], tensors
    )
    opset = 23 if case.family == "attention" else 20
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def write(case, folder):
    """Writes the folder of a case, unless it is there."""
    import torch

    if os.path.exists(f"{folder}/case.json"):
        return
    os.makedirs(folder, exist_ok=True)
    inputs, consts = data(case)
    wide = lambda d: {k: torch.from_numpy(v).double() for k, v in d.items()}
    arguments = list(wide(inputs).values())
    if case.family == "conv":
        arguments = [arguments[0].permute(0, 3, 1, 2)]
    with torch.no_grad():
        y = torch_function(case, wide(consts))(*arguments)
    if case.family == "conv":
        first = {"x": np.ascontiguousarray(inputs["x"].transpose(0, 3, 1, 2))}
        save_onnx(case, first, consts, y, "first", f"{folder}/model_first.onnx")
        y = y.permute(0, 2, 3, 1)
    result = y.contiguous().numpy().astype(np.float32)
    save_onnx(case, inputs, consts, result, "last", f"{folder}/model.onnx")
    np.savez(f"{folder}/inputs.npz", **inputs)
    np.savez(f"{folder}/ref.npz", y=result)
    with open(f"{folder}/case.json", "w") as f:
        json.dump(asdict(case), f)

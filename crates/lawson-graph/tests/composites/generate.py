"""Writes reference.txt: composites with attributes, operands and the results that PyTorch or NumPy give for them.

Run it in an environment with numpy and torch: `python generate.py > reference.txt`. The Rust test `composites`
reads the file. A case is

    case NAME attribute=value …
    where FACT                      (any number)
    in DTYPE [dims] numbers …       (one an operand; a dim `N:3` is run both as 3 and as the symbol N)
    out DTYPE [dims] numbers …      (one a result)

Results are computed in f64 from operands rounded to their dtype.
"""

import math
import numpy as np
import torch
import torch.nn.functional as F

rng = np.random.default_rng(7)
NAN, INF = math.nan, math.inf
TORCH = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
         "f8e4m3fn": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2}


def rounded(values, dtype):
    """The values as f64 (or i64) after rounding to the dtype."""
    t = torch.as_tensor(values)
    if dtype in TORCH:
        return t.double().to(TORCH[dtype]).double()
    return t.bool() if dtype == "bool" else t.long()


class Operand:
    """A tensor with its dtype and, for symbolic runs, names of some of its dims."""

    def __init__(self, values, dtype="f32", names=""):
        self.value, self.dtype = rounded(values, dtype), dtype
        names = names.split() if names else []
        self.names = names + ["."] * (self.value.dim() - len(names))


def random(*shape, dtype="f32", names="", spread=2.0):
    return Operand(np.round(rng.normal(size=shape) * spread, 2), dtype, names)


def number(x):
    if isinstance(x, bool):
        return str(int(x))
    if isinstance(x, int):
        return str(x)
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return "0" if x == 0 else repr(x).removesuffix(".0")


def line(side, value, dtype, names=None):
    names = names or ["."] * value.dim()
    dims = [str(n) if s == "." else f"{s}:{n}" for s, n in zip(names, value.shape)]
    # Operands as short as they read back; results with digits to spare for their dtype.
    if side == "in" and dtype == "f16":
        short = lambda x: float(str(np.float16(x)))
    elif side == "in" and dtype != "f64" or dtype == "f32":
        short = lambda x: float(str(np.float32(x)))
    else:
        short = lambda x: float(f"{x:.{17 if dtype == 'f64' else 7}g}")
    text = [number(short(x) if isinstance(x, float) else x) for x in value.flatten().tolist()]
    print(" ".join([side, dtype, "[" + ",".join(dims) + "]", *text]))


def case(name, operands, results, where=(), dtype=None, **attrs):
    """Prints a case; `results` are tensors, all in `dtype` or in the dtype of the first operand."""
    print("case", name, *(f"{k.rstrip('_')}={str(v).lower() if isinstance(v, bool) else str(v).replace(' ', '')}"
                          for k, v in attrs.items()))
    for fact in where:
        print("where", fact)
    for o in operands:
        line("in", o.value, o.dtype, o.names)
    results = results if isinstance(results, (list, tuple)) else [results]
    dtypes = dtype if isinstance(dtype, list) else [dtype or operands[0].dtype] * len(results)
    for r, d in zip(results, dtypes):
        line("out", torch.as_tensor(r), d)


# Activations.
EDGES = [NAN, INF, 0.0, -0.0, 1e-6, -1e-6, 0.5, -0.5, 1.0, -1.0, 2.9, -2.9, 3.1, -3.1, 9.0, -9.0, 30.0, -30.0, 1e4, -1e4]
WITH_MINUS_INF = EDGES + [-INF]


def activation(name, f, edges=EDGES, **attrs):
    for dtype in ["f32", "f64", "f16", "bf16"]:
        x = Operand(edges, dtype, "N")
        case(name, [x], f(x.value), **attrs)
    x = Operand(np.zeros((0, 3)))
    case(name, [x], x.value, **attrs)
    x = Operand(0.75)
    case(name, [x], f(x.value), **attrs)


activation("relu", F.relu, WITH_MINUS_INF)
x = Operand([-128, -1, 0, 1, 127], "i8")
case("relu", [x], F.relu(x.value))
x = Operand([0, 1, 255], "u8")
case("relu", [x], x.value)
activation("leaky_relu", F.leaky_relu, WITH_MINUS_INF)
activation("leaky_relu", lambda x: F.leaky_relu(x, 0.2), WITH_MINUS_INF, slope=0.2)
activation("elu", F.elu, WITH_MINUS_INF)
activation("elu", lambda x: F.elu(x, 0.3), WITH_MINUS_INF, alpha=0.3)
activation("selu", F.selu, WITH_MINUS_INF)
activation("selu", lambda x: 2 * F.elu(x, 1.5), WITH_MINUS_INF, alpha=1.5, gamma=2.0)
activation("celu", F.celu, WITH_MINUS_INF)
activation("celu", lambda x: F.celu(x, 0.3), WITH_MINUS_INF, alpha=0.3)
activation("gelu", F.gelu)
activation("gelu", lambda x: F.gelu(x, approximate="tanh"), form="tanh")
activation("silu", F.silu)
activation("mish", F.mish)
activation("sigmoid", torch.sigmoid, WITH_MINUS_INF + [-80.0, -85.0])
activation("hard_sigmoid", F.hardsigmoid, WITH_MINUS_INF)
activation("hard_sigmoid", lambda x: torch.clamp(0.2 * x + 0.4, 0, 1), WITH_MINUS_INF, alpha=0.2, beta=0.4)
activation("hard_swish", lambda x: x * torch.clamp(x / 6 + 0.5, 0, 1))
activation("softplus", lambda x: torch.logaddexp(x, torch.zeros_like(x)), WITH_MINUS_INF)
activation("softplus", lambda x: torch.logaddexp(2.5 * x, torch.zeros_like(x)) / 2.5, WITH_MINUS_INF, beta=2.5)
activation("softsign", F.softsign, [e for e in EDGES if e != INF])
for dtype in ["f32", "f16"]:
    x, low, high = Operand(WITH_MINUS_INF, dtype), Operand(-1.5, dtype), Operand(2.0, dtype)
    case("clip", [x, low, high], torch.clamp(x.value, -1.5, 2.0))
x = Operand([[-9e18, -3, 0], [2, 5, 9e18]], "i64", "N C")
low, high = Operand([-4, -2, 3], "i64", "C"), Operand([[3], [2**60 + 1]], "i64", "N")
case("clip", [x, low, high], torch.minimum(torch.maximum(x.value, low.value), high.value))

# Softmax and its kin.
rows = [[1.0, 2.0, 3.0, -1.0, 0.5], [1000.0, 999.0, -1000.0, 0.0, 1.0], [-INF, 0.0, -INF, 1.0, -INF],
        [-INF] * 5, [INF, 0.0, 0.0, 1.0, -INF], [NAN, 0.0, 0.0, 0.0, 0.0], [0.1] * 5]
for dtype in ["f32", "f64", "f16", "bf16"]:
    x = Operand(rows, dtype, "N M")
    case("softmax", [x], F.softmax(x.value, 1), axis=1)
    case("log_softmax", [x], F.log_softmax(x.value, 1), axis=1)
    case("logsumexp", [x], torch.logsumexp(x.value, 1), axes=[1])
x = random(2, 3, 1, dtype="f32", names="N C M")
for axis in range(3):
    case("softmax", [x], F.softmax(x.value, axis), axis=axis)
    case("log_softmax", [x], F.log_softmax(x.value, axis), axis=axis)
    case("logsumexp", [x], torch.logsumexp(x.value, axis, keepdim=True), axes=[axis], keep_dims=True)
case("logsumexp", [x], torch.logsumexp(x.value, (0, 1)), axes=[0, 1])
case("logsumexp", [x], x.value, axes=[])
x = Operand(np.zeros((2, 0)), names="N M")
case("softmax", [x], x.value, axis=1)
case("softmax", [x], x.value, axis=0)
case("log_softmax", [x], x.value, axis=1)
case("logsumexp", [x], torch.full((2,), -INF), axes=[1])

# Statistics.
for dtype in ["f32", "f64", "f16", "bf16"]:
    x = random(3, 2, 5, dtype=dtype, names="N C M")
    case("mean", [x], x.value.mean(1), axes=[1])
    case("mean", [x], x.value.mean((0, 2), keepdim=True), axes=[0, 2], keep_dims=True)
    case("variance", [x], x.value.var(2, correction=0), axes=[2])
    case("variance", [x], x.value.var((0, 1), correction=1, keepdim=True), axes=[0, 1], keep_dims=True, correction=1)
x = Operand(np.full((4, 700), 100.0), "f16")
case("mean", [x], x.value.mean(1), axes=[1])
x = Operand(1e4 + np.array([[0.0, 1.0, 2.0, 3.0]]))
case("variance", [x], x.value.var(1, correction=0), axes=[1])
x = Operand(np.zeros((2, 0)), names="N M")
case("mean", [x], torch.full((2,), NAN), axes=[1])
case("variance", [x], torch.full((2,), NAN), axes=[1])
x = Operand([[3.0], [4.0]], names="N M")
case("variance", [x], torch.full((2,), NAN), axes=[1], correction=1)

# Norms.
for dtype in ["f32", "f64", "f16", "bf16"]:
    x = random(3, 5, dtype=dtype, names="N C")
    scale, bias = random(5, dtype=dtype, names="C"), random(5, dtype=dtype, names="C")
    case("layer_norm", [x, scale, bias], F.layer_norm(x.value, [5], scale.value, bias.value), axis=1)
    case("rms_norm", [x, scale], F.rms_norm(x.value, [5], scale.value, 1e-5), axis=1)
    x = random(2, 6, 5, dtype=dtype, names="N . M")
    scale, bias = random(6, dtype=dtype), random(6, dtype=dtype)
    case("group_norm", [x, scale, bias], F.group_norm(x.value, 3, scale.value, bias.value), groups=3)
    case("instance_norm", [x, scale, bias], F.instance_norm(x.value, None, None, scale.value, bias.value))
    mean, var = random(6, dtype=dtype), Operand(np.round(rng.uniform(0.1, 3, 6), 2), dtype)
    case("batch_norm", [x, scale, bias, mean, var],
         F.batch_norm(x.value, mean.value, var.value, scale.value, bias.value))
x = random(2, 3, 4, names="N M K")
scale = random(3, 1, names="M")
norm = F.layer_norm(x.value, [3, 4], eps=0.1)
case("layer_norm", [x], norm, axis=1, epsilon=0.1)
case("layer_norm", [x, scale], norm * scale.value, axis=1, epsilon=0.1)
case("layer_norm", [x], F.layer_norm(x.value, [2, 3, 4]), axis=0)
case("rms_norm", [x], F.rms_norm(x.value, [3, 4], None, 1e-5), axis=1)
x = random(2, 4, dtype="f16")
scale, bias = random(4), random(4)
case("layer_norm", [x, scale, bias], F.layer_norm(x.value, [4], scale.value, bias.value), axis=1)
x = Operand([[1e4, 1e4, 1e4 + 1, 1e4 - 1], [7.0] * 4, [NAN, 0, 0, 0]], names="N")
case("layer_norm", [x], F.layer_norm(x.value, [4]), axis=1)
x = Operand([[3e4, -3e4, 6e4, 0.0]], "f16")
case("layer_norm", [x], F.layer_norm(x.value, [4]), axis=1)
case("rms_norm", [x], F.rms_norm(x.value, [4], None, 1e-5), axis=1)
x = Operand(np.zeros((2, 0)), names="N M")
case("layer_norm", [x], x.value, axis=1)
x = random(2, 8, names="N C")
case("group_norm", [x], F.group_norm(x.value, 4), groups=4, where=["C % 4 == 0"])
x = random(1, 3, 2, 2, names="N C H W")
case("group_norm", [x], F.group_norm(x.value, 1), groups=1)
case("instance_norm", [x], F.instance_norm(x.value, eps=0.01), epsilon=0.01)
x = random(2, 3, 4, names="N M C")
p = [random(4, names="C") for _ in range(3)] + [Operand([0.5, 1.0, 2.0, 0.0], names="C")]
case("batch_norm", [x, *p], F.batch_norm(x.value.transpose(1, 2), p[2].value, p[3].value, p[0].value, p[1].value,
                                         eps=0.01).transpose(1, 2), axis=2, epsilon=0.01)

# Linear.
for dtype in ["f32", "f64", "f16", "bf16"]:
    x, w, bias = random(3, 5, dtype=dtype, names="N K"), random(5, 4, dtype=dtype, names="K M"), random(4, dtype=dtype, names="M")
    case("linear", [x, w, bias], x.value @ w.value + bias.value)
    case("linear", [x, w], x.value @ w.value)
x, w = random(2, 1, 3, names="N M K"), random(4, 3, names=". K")
bias = random(4)
case("linear", [x, w, bias], F.linear(x.value, w.value, bias.value), layout="out_in")
x = random(3, names="K")
case("linear", [x, w], F.linear(x.value, w.value), layout="out_in")
x, w, bias = Operand(np.zeros((2, 0)), names="N K"), Operand(np.zeros((0, 3)), names="K"), random(3)
case("linear", [x, w, bias], bias.value.expand(2, 3))
x, w, bias = Operand([[100, -3]], "i8"), Operand([[2, 1], [0, 5]], "i8"), Operand([1, -1], "i8")
case("linear", [x, w, bias], torch.tensor([[-55, 84]]))

# Attention.
sdpa = F.scaled_dot_product_attention


def heads(b, hq, hkv, s, t, d, dv, dtype="f32"):
    return (random(b, hq, s, d, dtype=dtype, names="B . S D", spread=1), random(b, hkv, t, d, dtype=dtype, names="B . T D", spread=1),
            random(b, hkv, t, dv, dtype=dtype, names="B . T E", spread=1))


for dtype in ["f32", "f64", "f16", "bf16"]:
    q, k, v = heads(2, 3, 3, 3, 5, 4, 2, dtype)
    case("attention", [q, k, v], sdpa(q.value, k.value, v.value))
    case("attention", [q, k, v], sdpa(q.value, k.value, v.value, is_causal=True), causal="top_left")
    q, k, v = heads(1, 4, 2, 3, 3, 2, 3, dtype)
    case("attention", [q, k, v], sdpa(q.value, k.value, v.value, enable_gqa=True))
for s, t in [(2, 5), (5, 2), (1, 4), (4, 4)]:
    q, k, v = heads(1, 2, 1, s, t, 3, 2)
    mask = torch.ones(s, t, dtype=torch.bool).tril(t - s)
    case("attention", [q, k, v], sdpa(q.value, k.value, v.value, mask, enable_gqa=True).nan_to_num(0.0), causal="bottom_right")
    case("attention", [q, k, v], sdpa(q.value, k.value, v.value, is_causal=True, scale=0.3, enable_gqa=True), causal="top_left", scale=0.3)
q, k, v = heads(2, 4, 2, 2, 3, 2, 2)
mask = Operand([[[[True, False, True], [False, False, False]]], [[[True, True, True], [False, True, False]]]], "bool", "B . S T")
case("attention", [q, k, v, mask], sdpa(q.value, k.value, v.value, mask.value, enable_gqa=True).nan_to_num(0.0))
mask = random(4, 1, 3, names=". . T")
mask.value[0, 0, 0] = mask.value[2, 0, 1] = -INF
case("attention", [q, k, v, mask], sdpa(q.value, k.value, v.value, mask.value, enable_gqa=True))
causal = torch.zeros(2, 3).double().masked_fill(~torch.ones(2, 3, dtype=torch.bool).tril(), -INF)
case("attention", [q, k, v, mask], sdpa(q.value, k.value, v.value, mask.value + causal, enable_gqa=True).nan_to_num(0.0), causal="top_left")
mask = Operand([-INF, -INF, -INF], names="T")
case("attention", [q, k, v, mask], torch.zeros(2, 4, 2, 2))
q, k, v = heads(1, 1, 1, 2, 0, 2, 3)
case("attention", [q, k, v], torch.zeros(1, 1, 2, 3))
q, k, v = heads(1, 1, 1, 0, 2, 2, 3)
case("attention", [q, k, v], torch.zeros(1, 1, 0, 3))


# Pooling, by definition: every window, every element.
def windows(size, window, stride, dilation, low, high, ceil):
    extent = (window - 1) * dilation + 1
    count = max((size + low + high - extent) // stride + 1, 0)
    if ceil:
        count = max(-((size + low + high - extent) // -stride) + 1, 0)
        while count > 0 and (count - 1) * stride >= size + low:
            count -= 1
    return [[i * stride + j * dilation - low for j in range(window)] for i in range(count)]


def pool(x, combine, window, stride, dilation, low, high, ceil):
    """`combine` gets the elements of a window and how many of its positions lie in the input or said padding."""
    spatial = x.shape[2:]
    axes = [windows(*a, ceil) for a in zip(spatial, window, stride, dilation, low, high)]
    out = np.zeros((*x.shape[:2], *map(len, axes)))
    for at in np.ndindex(*out.shape):
        places = np.array(np.meshgrid(*[axes[i][p] for i, p in enumerate(at[2:])], indexing="ij")).reshape(len(spatial), -1).T
        inside = [p for p in places if all(0 <= i < n for i, n in zip(p, spatial))]
        padded = sum(all(-l <= i < n + h for i, n, l, h in zip(p, spatial, low, high)) for p in places)
        out[at] = combine(np.array([x[(*at[:2], *p)] for p in inside]), padded)
    return torch.tensor(out)


def maximum(v, _):
    return v.max() if len(v) else -INF


def average(v, _):
    return v.sum() / len(v) if len(v) else NAN


def average_padded(v, n):
    return v.sum() / n if n else NAN


def check(mine, theirs):
    assert torch.allclose(mine, theirs, equal_nan=True), (mine, theirs)


SETTINGS = [
    # sizes, window, stride, dilation, low, high, ceil
    ([7], [3], [1], [1], [0], [0], False),
    ([7], [3], [2], [1], [1], [1], False),
    ([6], [3], [2], [1], [1], [1], True),
    ([6], [2], [4], [1], [0], [0], True),
    ([5], [2], [3], [1], [1], [1], True),
    ([8], [3], [2], [2], [1], [1], True),
    ([4], [1], [3], [1], [0], [2], True),
    ([2], [3], [2], [1], [0], [0], True),
    ([2], [5], [1], [1], [0], [0], False),
    ([0], [2], [1], [1], [1], [1], False),
    ([5, 6], [2, 3], [2, 2], [1, 1], [0, 1], [0, 1], True),
    ([5, 4], [3, 2], [2, 1], [1, 2], [1, 0], [0, 2], False),
    ([3, 3], [2, 2], [2, 2], [1, 1], [1, 1], [1, 1], False),
    ([1, 1], [1, 1], [1, 1], [1, 1], [0, 0], [0, 0], False),
]
for sizes, *settings in SETTINGS:
    window, stride, dilation, low, high, ceil = settings
    attrs = dict(window=window, stride=stride, dilation=dilation, low=low, high=high, ceil=ceil)
    x = random(1, 2, *sizes, names="N C " + "H W"[: 2 * len(sizes) - 1])
    v = x.value.numpy()
    results = {
        "max_pool": (pool(v, maximum, *settings), {}),
        "avg_pool": (pool(v, average, *settings), {}),
        "lp_pool": (pool(v, lambda e, _: (np.abs(e) ** 3).sum() ** (1 / 3), *settings), {"p": 3.0}),
    }
    if low == high and sizes != [0] and sizes != [2] and all(2 * l <= w for l, w in zip(low, window)):
        f = [F.max_pool1d, F.max_pool2d][len(sizes) - 1]
        check(results["max_pool"][0], f(x.value, window, stride, low, dilation, ceil))
        if all(d == 1 for d in dilation):
            f = [F.avg_pool1d, F.avg_pool2d][len(sizes) - 1]
            check(results["avg_pool"][0], f(x.value, window, stride, low, ceil, False))
            check(pool(v, average_padded, *settings), f(x.value, window, stride, low, ceil, True))
    for name, (result, more) in results.items():
        case(name, [x], result, **more, **attrs)
    case("avg_pool", [x], pool(v, average_padded, *settings), count_padding=True, **attrs)
x = Operand([[[1.0, NAN, 3.0, -INF, -INF, 2.0]]], names="N . L")
case("max_pool", [x], pool(x.value.numpy(), maximum, [2], [2], [1], [0], [0], False), window=[2], stride=[2])
case("avg_pool", [x], pool(x.value.numpy(), average, [2], [1], [1], [0], [0], False), window=[2])
x = Operand([[[3, -5, 7, -128, 0]]], "i8", "N . L")
case("max_pool", [x], torch.tensor([[[7, 7, 7]]]), window=[3])
x = random(2, 1, 5, dtype="f16", names="N . L")
case("avg_pool", [x], pool(x.value.numpy(), average, [3], [2], [1], [1], [1], False), window=[3], stride=[2], low=[1], high=[1])
case("lp_pool", [x], pool(x.value.numpy(), lambda e, _: np.abs(e).sum(), [3], [1], [1], [0], [0], False), window=[3], p=1.0)
case("lp_pool", [x], pool(x.value.numpy(), lambda e, _: (e * e).sum() ** 0.5, [3], [1], [1], [0], [0], False), window=[3])
for dtype in ["f32", "f16"]:
    x = random(2, 3, 2, 3, dtype=dtype, names="N C H W")
    case("global_max_pool", [x], x.value.amax((2, 3), keepdim=True))
    case("global_avg_pool", [x], x.value.mean((2, 3), keepdim=True))
    case("global_lp_pool", [x], (x.value.abs() ** 2).sum((2, 3), keepdim=True) ** 0.5)
    case("global_lp_pool", [x], (x.value.abs() ** 3).sum((2, 3), keepdim=True) ** (1 / 3), p=3.0)
x = Operand(np.zeros((1, 2, 0)), names="N C L")
case("global_max_pool", [x], torch.full((1, 2, 1), -INF))
case("global_avg_pool", [x], torch.full((1, 2, 1), NAN))
case("global_lp_pool", [x], torch.zeros(1, 2, 1))

# Finding elements.
rows = [[1.0, 3.0, 3.0, -2.0], [NAN, 1.0, NAN, 2.0], [-INF, -INF, -INF, -INF], [INF, INF, 0.0, -0.0], [0.0, -0.0, 0.0, 0.0]]


def last(f, a, axis):
    return a.shape[axis] - 1 - f(np.flip(a, axis), axis)


for dtype in ["f32", "f16"]:
    x = Operand(rows, dtype, "N M")
    a = x.value.numpy()
    for axis in [0, 1]:
        case("argmax", [x], np.argmax(a, axis), axis=axis, dtype="i64")
        case("argmin", [x], np.argmin(a, axis), axis=axis, dtype="i64")
        case("argmax", [x], last(np.argmax, a, axis), axis=axis, last=True, dtype="i64")
        case("argmin", [x], last(np.argmin, a, axis), axis=axis, last=True, dtype="i64")
for dtype in ["i8", "u8", "i64"]:
    x = Operand([[[3, 3, 0], [5, 7, 7]]], dtype, "N M K")
    case("argmax", [x], np.argmax(x.value.numpy(), 2, keepdims=True), axis=2, keep_dims=True, dtype="i64")
    case("argmin", [x], np.argmin(x.value.numpy(), 1, keepdims=True), axis=1, keep_dims=True, dtype="i64")
x = Operand(np.zeros((2, 0)), names="N M")
for name in ["argmax", "argmin"]:
    case(name, [x], torch.zeros(2, dtype=torch.long), axis=1, dtype="i64")
    case(name, [x], torch.zeros(2, dtype=torch.long), axis=1, last=True, dtype="i64")
    case(name, [x], torch.zeros(0, dtype=torch.long), axis=0, dtype="i64")

i = Operand([[0, 2, 4], [-1, 5, 1]], "i64", "N M")
hot = (i.value[..., None] == torch.arange(5)).double()
case("one_hot", [i], hot, depth=5, dtype_="f32", dtype="f32")
case("one_hot", [i], hot.transpose(1, 2), depth=5, axis=1, dtype="f32")
case("one_hot", [i], hot.permute(2, 0, 1).bool(), depth=5, axis=0, dtype_="bool", dtype="bool")
case("one_hot", [i], torch.zeros(2, 3, 0), depth=0, dtype="f32")
i = Operand(3, "i32")
case("one_hot", [i], torch.tensor([0, 0, 0, 1]), depth=4, dtype_="u8", dtype="u8")

x = Operand([[1.0, 3.0, 3.0, -2.0, 0.5], [NAN, 1.0, -INF, NAN, 2.0]], names="N")
for k in [0, 1, 3, 5]:
    order = np.argsort(np.where(np.isnan(a := x.value.numpy()), -np.inf, -a), 1, kind="stable")[:, :k]
    case("top_k", [x], [torch.gather(x.value, 1, torch.tensor(order)), order], k=k, axis=1, dtype=["f32", "i64"])
    order = np.argsort(x.value.numpy(), 1, kind="stable")[:, :k]
    case("top_k", [x], [torch.gather(x.value, 1, torch.tensor(order)), order], k=k, axis=1, smallest=True, dtype=["f32", "i64"])
x = Operand([[5, 1], [5, 9], [-3, 9]], "i32", ". M")
case("top_k", [x], [torch.tensor([[5, 9], [5, 9]]), torch.tensor([[0, 1], [1, 2]])], k=2, axis=0, dtype=["i32", "i64"])

for x in [Operand([[1.0, 0.0, -0.0, NAN], [0.0, -2.0, INF, 0.0]], names="N M"), Operand([0, 3, 0, -1], "i8", "N"),
          Operand([[[True], [False]], [[True], [True]]], "bool", "N . M"), Operand([0.0, 0.0], names="N"),
          Operand(np.zeros((0, 3)), names="N"), Operand(5.0), Operand(0.0)]:
    case("nonzero", [x], torch.nonzero(x.value), symbol="K", dtype="i64")


# Losses.
def losses(name, f, operands, **attrs):
    for reduction in ["none", "sum", "mean"]:
        case(name, operands, f(reduction), reduction=reduction, **attrs)


for dtype in ["f32", "f64", "f16"]:
    x, y, w = random(4, 3, dtype=dtype, names="N C"), Operand([0, 2, 1, 2], "i64", "N"), Operand([0.5, 1.0, 2.0], dtype, "C")
    losses("cross_entropy", lambda r: F.cross_entropy(x.value, y.value, reduction=r), [x, y])
    losses("cross_entropy", lambda r: F.cross_entropy(x.value, y.value, w.value, reduction=r, ignore_index=2, label_smoothing=0.1),
           [x, y, w], ignore=2, smoothing=0.1)
    p = Operand(np.round(rng.dirichlet(np.ones(3), 4), 3), dtype, "N C")
    losses("cross_entropy", lambda r: F.cross_entropy(x.value, p.value, w.value, reduction=r, label_smoothing=0.2), [x, p, w], smoothing=0.2)
    losses("cross_entropy", lambda r: F.cross_entropy(x.value, p.value, reduction=r), [x, p])
    logp = Operand(F.log_softmax(x.value, 1).numpy().round(3), dtype, "N C")
    losses("nll_loss", lambda r: F.nll_loss(logp.value, y.value, w.value, reduction=r, ignore_index=0), [logp, y, w], ignore=0)
    z = random(4, 3, dtype=dtype, names="N C")
    losses("mse_loss", lambda r: F.mse_loss(x.value, z.value, reduction=r), [x, z])
x, y, w = random(2, 3, 2, 1, names="N C H W"), Operand([[[0], [-100]], [[1], [2]]], "i32", "N H W"), random(3, names="C")
losses("cross_entropy", lambda r: F.cross_entropy(x.value, y.value.long(), reduction=r, label_smoothing=0.1), [x, y], smoothing=0.1)
losses("nll_loss", lambda r: F.nll_loss(x.value, y.value.long(), w.value, reduction=r), [x, y, w])
x, y = Operand([[-INF, 0.0, 1000.0], [1.0, 2.0, 3.0]], names="N C"), Operand([2, 7], "i64", "N")
case("cross_entropy", [x, y], torch.tensor([0.0, 0.0]), reduction="none")
x, y = random(3, names="C"), Operand(1, "i64")
losses("cross_entropy", lambda r: F.cross_entropy(x.value, y.value, reduction=r), [x, y], axis=0)
x, y = random(2, 3, names="N C"), Operand([1, 1], "i64", "N")
case("cross_entropy", [x, y], torch.tensor(NAN), ignore=1)
x = Operand(np.zeros((0, 3)), names="N C")
case("mse_loss", [x, x], torch.tensor(NAN))
case("mse_loss", [x, x], torch.tensor(0.0), reduction="sum")


# Dropout: Threefry-2x32 with 20 rounds.
def random_bits(key, count):
    m = 0xFFFFFFFF
    keys = [*key, key[0] ^ key[1] ^ 0x1BD11BDA]
    words = []
    for block in range((count + 1) // 2):
        a, b = (block + keys[0]) & m, keys[1] & m
        for group in range(5):
            for r in [[13, 15, 26, 6], [17, 29, 16, 24]][group % 2]:
                a = (a + b) & m
                b = ((b << r | b >> (32 - r)) & m) ^ a
            a = (a + keys[(group + 1) % 3]) & m
            b = (b + keys[(group + 2) % 3] + group + 1) & m
        words += [a, b]
    return np.array(words[:count], dtype=np.uint64)


assert [hex(w) for w in random_bits([0, 0], 2)] == ["0x6b200159", "0x99ba4efe"]
key = Operand([12345, 4000000000], "u32")
for ratio in [0.0, 0.25, 0.5, 1.0]:
    x = random(3, 5, names="N M")
    keep = (random_bits([12345, 4000000000], 15) >= ratio * 2**32).reshape(3, 5)
    case("dropout", [x, key], torch.tensor(np.where(keep, x.value / (1 - ratio) if ratio < 1 else 0.0, 0.0)), ratio=ratio)
case("dropout", [x, key], x.value, training=False)

# Quantisation.
RANGE = {"u4": (0, 15), "i4": (-8, 7), "u8": (0, 255), "i8": (-128, 127), "u16": (0, 65535), "i16": (-32768, 32767), "i32": (-2**31, 2**31 - 1)}


def quantise(x, scale, zero, to):
    x, scale = (np.asarray(v, dtype=np.float32) for v in (x, scale))
    y = np.round((x / scale).astype(np.float64)) + np.asarray(zero)
    return torch.tensor(np.nan_to_num(np.clip(y, *RANGE[to]), nan=0).astype(np.int64))


values = [0.0, 0.25, 0.75, 1.25, -0.25, -0.75, 3.3, -3.3, 100.0, -100.0, 1e30, -1e30, INF, -INF, NAN]
for to, zero in [("u8", 128), ("i8", -3), ("u4", 7), ("i4", 1), ("u16", 1000), ("i16", -1000)]:
    x, s, z = Operand(values, names="N"), Operand(0.5), Operand(zero, to)
    case("quantise", [x, s, z], quantise(x.value, s.value, zero, to), to=to, dtype=to)
    case("quantise", [x, s], quantise(x.value, s.value, 0, to), to=to, dtype=to)
    q = Operand(list(RANGE[to]) + [0, 1, 5], to, "N")
    case("dequantise", [q, s, z], (q.value - zero) * 0.5, dtype="f32")
    s = Operand(0.3, "f16")
    case("dequantise", [q, s], q.value * s.value, dtype="f16")
x, s = Operand([1.0, -2.5, 1e6, 3e9, -3e9]), Operand(0.5)
case("quantise", [x, s], quantise(x.value, s.value, 0, "i32"), to="i32", dtype="i32")
q, z = Operand([-2**31, 0, 2**31 - 1], "i32"), Operand(5, "i32")
case("dequantise", [q, s, z], (q.value - 5) * 0.5, dtype="f32")
x, s, z = random(3, 4, names="N C"), Operand([0.1, 0.5, 0.25, 2.0], names="C"), Operand([0, 1, -2, 3], "i8", "C")
case("quantise", [x, s, z], quantise(x.value, s.value, z.value, "i8"), axis=1, to="i8", dtype="i8")
q = Operand(rng.integers(-128, 128, (3, 4)), "i8", "N C")
case("dequantise", [q, s, z], (q.value - z.value) * s.value, axis=1, dtype="f32")
for axis, block, names in [(1, 2, "N ."), (1, 5, "N ."), (0, 2, ". M"), (1, 1, "N M")]:
    x = random(3, 5, names=names)
    blocks = [3, 5]
    blocks[axis] = -(blocks[axis] // -block)
    s, z = Operand(rng.integers(1, 9, blocks) / 8, names=names), Operand(rng.integers(-3, 4, blocks), "i4", names)
    over = lambda v: np.take(v, np.arange(5 if axis else 3) // block, axis)
    case("quantise", [x, s, z], quantise(x.value, over(s.value.numpy()), over(z.value.numpy()), "i4"), to="i4", axis=axis, block=block, dtype="i4")
    q = Operand(rng.integers(-8, 8, (3, 5)), "i4", names)
    case("dequantise", [q, s, z], (q.value - torch.tensor(over(z.value.numpy()))) * torch.tensor(over(s.value.numpy())), axis=axis, block=block, dtype="f32")
q, s = Operand(rng.integers(-8, 8, (2, 6)), "i4", "N M"), Operand([[0.5, 1.0], [2.0, 4.0]], names="N")
s.names = ["N", "M/3"]
case("dequantise", [q, s], q.value * s.value.repeat_interleave(3, 1), axis=1, block=3, dtype="f32", where=["M % 3 == 0"])
values = [0.0, 1.0, -1.1, 0.013, 447.0, 500.0, -1e9, INF, -INF, NAN]
for to, most in [("f8e4m3fn", 448.0), ("f8e5m2", 57344.0)]:
    x, s = Operand(values, names="N"), Operand(0.25)
    y = (x.value / 0.25).clamp(-most, most).to(TORCH[to]).double()
    case("quantise", [x, s], y, to=to, dtype=to)
    q = Operand([0.0, 1.5, -448.0, NAN], to, "N")
    case("dequantise", [q, s], q.value * 0.25, dtype="f32")

# Prelu.
for dtype in ["f32", "f64", "f16", "bf16"]:
    x, slope = Operand(WITH_MINUS_INF, dtype, "N"), Operand(0.3, dtype)
    case("prelu", [x, slope], torch.where(x.value > 0, x.value, slope.value * x.value))
x, slope = random(2, 3, 2, names="N C L"), random(3, 1, names="C")
case("prelu", [x, slope], F.prelu(x.value, slope.value.flatten()))
x = Operand(np.zeros((0, 3, 2)), names="N C L")
case("prelu", [x, slope], x.value)

"""Computes with NumPy what primitives give, and stores it in `cases.jsonl` for `tests/numpy.rs`.

    python -m venv .venv && .venv/bin/pip install numpy ml_dtypes
    .venv/bin/python crates/lawson-graph/tests/numpy/generate.py

Each line is a case: the operator, its attributes, its operands and its results. A tensor is `[dtype, sizes, base64 of
its little-endian bytes]` (4-bit elements take a byte each here), or `"@name"` for one defined on an earlier line. `tol` is how
many units in the last place a float may differ; `zeros` says that the sign of a zero does not matter.

Where the meaning of a primitive differs from NumPy's on purpose, the rule is computed here explicitly and marked
RULE.
"""

import base64
import itertools
import json
import math
import pathlib
from fractions import Fraction

import ml_dtypes
import numpy as np

np.seterr(all="ignore")
rng = np.random.default_rng(20240611)

UNSIGNED = {"u4": 4, "u8": 8, "u16": 16, "u32": 32, "u64": 64}
SIGNED = {"i4": 4, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
INTS = {**UNSIGNED, **SIGNED}
# name: NumPy type, significand bits, least exponent of a subnormal's last bit, greatest finite
FLOATS = {
    "f8e4m3fn": (ml_dtypes.float8_e4m3fn, 4, -9, 448.0),
    "f8e5m2": (ml_dtypes.float8_e5m2, 3, -16, 57344.0),
    "f16": (np.float16, 11, -24, 65504.0),
    "bf16": (ml_dtypes.bfloat16, 8, -133, float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)),
    "f32": (np.float32, 24, -149, float(np.finfo(np.float32).max)),
    "f64": (np.float64, 53, -1074, float(np.finfo(np.float64).max)),
}
NUMPY = {
    "bool": np.bool_, "u4": np.uint8, "i4": np.int8, "u8": np.uint8, "i8": np.int8, "u16": np.uint16, "i16": np.int16,
    "u32": np.uint32, "i32": np.int32, "u64": np.uint64, "i64": np.int64, **{k: v[0] for k, v in FLOATS.items()},
}

lines = []
shared = {}


class Tensor:
    """A NumPy array with the name of its dtype, which NumPy does not know for 4 bits."""

    def __init__(self, dtype, array):
        self.dtype = dtype
        self.array = np.asarray(array, dtype=NUMPY[dtype])

    def text(self):
        raw = np.ascontiguousarray(self.array).tobytes()
        return [self.dtype, list(self.array.shape), base64.b64encode(raw).decode()]


def share(name, tensor):
    lines.append({"let": name, "is": tensor.text()})
    shared[name] = tensor
    return name


def case(op, operands, results, attrs=None, tol=0, zeros=False):
    line = {"op": op}
    if attrs:
        line["attrs"] = attrs
    line["in"] = [f"@{x}" if isinstance(x, str) else x.text() for x in operands]
    line["out"] = [x.text() for x in results]
    if tol:
        line["tol"] = tol
    if zeros:
        line["zeros"] = True
    lines.append(line)


def is_float(dtype):
    return dtype in FLOATS


def wrap(dtype, value):
    bits = INTS[dtype]
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype in SIGNED and value >> (bits - 1) else value


def int_range(dtype):
    if dtype == "bool":
        return 0, 1
    return (0, (1 << UNSIGNED[dtype]) - 1) if dtype in UNSIGNED else (-(1 << SIGNED[dtype] - 1), (1 << SIGNED[dtype] - 1) - 1)


def nearest(dtype, value):
    """The float of a dtype nearest to an exact number, ties to even: one rounding, from a Fraction or a float."""
    numpy_type, bits, least, greatest = FLOATS[dtype]
    if isinstance(value, (float, np.floating)):
        if math.isnan(value):
            return numpy_type(np.nan)
        if math.isinf(value):
            return numpy_type(np.nan if dtype == "f8e4m3fn" else value)
        if value == 0:
            return numpy_type(value)
    exact = Fraction(value)
    if exact == 0:
        return numpy_type(0.0)
    magnitude = abs(exact)
    exponent = math.floor(math.log2(magnitude)) if magnitude < 2**1000 else magnitude.numerator.bit_length() - 1
    while Fraction(2) ** exponent > magnitude:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= magnitude:
        exponent += 1
    quantum = Fraction(2) ** max(exponent - bits + 1, least)
    rounded = round(magnitude / quantum) * quantum  # Python's round of a Fraction ties to even
    sign = -1.0 if exact < 0 else 1.0
    if rounded > Fraction(greatest):
        return numpy_type(np.nan) if dtype == "f8e4m3fn" else numpy_type(math.copysign(math.inf, sign))
    return numpy_type(math.copysign(float(rounded), sign))


def to_dtype(dtype, values):
    """An array of f64 results, each rounded once."""
    flat = [nearest(dtype, float(v)) for v in np.ravel(values)]
    return Tensor(dtype, np.array(flat, dtype=NUMPY[dtype]).reshape(np.shape(values)))


def wide(tensor):
    return tensor.array.astype(np.float64)


def specials(dtype):
    """Values at which something may go wrong, and some ordinary ones."""
    if dtype == "bool":
        return Tensor(dtype, [False, True])
    if dtype in INTS:
        low, high = int_range(dtype)
        picks = [0, 1, 2, 3, 5, 7, high, high - 1, low, low + 1, high // 2]
        picks += [-1, -2, -3, -7] if low < 0 else [6]
        return Tensor(dtype, np.array([p for p in picks if low <= p <= high], dtype=object).astype(NUMPY[dtype]))
    _, bits, least, greatest = FLOATS[dtype]
    picks = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0, 3.0, -7.0, 0.1, 10.25, math.inf, -math.inf, math.nan]
    picks += [greatest, -greatest, 2.0**least, -(2.0**least), 1 + 2.0 ** (1 - bits), 1 - 2.0**-bits, 0.75]
    return Tensor(dtype, np.array([float(nearest(dtype, p)) for p in picks]).astype(NUMPY[dtype]))


def pairs(dtype):
    """Two rows in which many pairs of special values meet."""
    row = specials(dtype).array
    n = len(row)
    # Every value meets itself, a neighbour and, where the dtype is a common one, one further off.
    turns = [0, 1, n // 2 + 1] if dtype in ("f32", "f16", "i8", "i64", "u32") else [0, n // 3]
    left = np.concatenate([row for _ in turns])
    right = np.concatenate([np.roll(row, t) for t in turns])
    return Tensor(dtype, left), Tensor(dtype, right)


# Shared operands, one set a dtype.
for name in NUMPY:
    share(f"{name}.x", specials(name))
    a, b = pairs(name)
    share(f"{name}.a", a)
    share(f"{name}.b", b)


# Unary.
def sign(x):
    return np.where(np.isnan(x) | (x == 0), x, np.sign(x))


FLOAT_UNARY = {
    "neg": np.negative, "abs": np.abs, "sign": sign, "floor": np.floor, "ceil": np.ceil, "round": np.rint,
    "trunc": np.trunc, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "log": np.log, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "erf": np.vectorize(math.erf, otypes=[np.float64]),
}
EXACT = {"neg", "abs", "sign", "floor", "ceil", "round", "trunc", "sqrt"}
for dtype in FLOATS:
    x = shared[f"{dtype}.x"]
    for name, function in FLOAT_UNARY.items():
        y = to_dtype(dtype, function(wide(x)))
        if name in EXACT and dtype in ("f16", "f32", "f64"):
            # NumPy's own arithmetic in the dtype says the same.
            native = function(x.array)
            assert np.array_equal(native, y.array, equal_nan=True), (name, dtype)
        tol = 0 if name in EXACT else (4 if dtype == "f64" else 1)
        case(name, [f"{dtype}.x"], [y], tol=tol)
for dtype in INTS:
    x = shared[f"{dtype}.x"]
    exact = [int(v) for v in x.array]
    for name, function in {"neg": lambda v: -v, "abs": abs, "sign": lambda v: (v > 0) - (v < 0), "not": lambda v: ~v}.items():
        y = Tensor(dtype, np.array([wrap(dtype, function(v)) for v in exact], dtype=object).astype(NUMPY[dtype]))
        if INTS[dtype] > 4:
            native = {"neg": np.negative, "abs": np.abs, "sign": np.sign, "not": np.invert}[name](x.array)
            assert np.array_equal(native, y.array), (name, dtype)
        case(name, [f"{dtype}.x"], [y])
case("not", ["bool.x"], [Tensor("bool", ~shared["bool.x"].array)])


# Binary.
FLOAT_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "rem": np.fmod, "mod": np.mod,
    "pow": np.power, "min": np.minimum, "max": np.maximum, "atan2": np.arctan2,
}
for dtype in FLOATS:
    a, b = shared[f"{dtype}.a"], shared[f"{dtype}.b"]
    for name, function in FLOAT_BINARY.items():
        y = to_dtype(dtype, function(wide(a), wide(b)))
        if name in ("add", "sub", "mul", "div", "min", "max") and dtype != "f8e4m3fn":
            native = function(a.array, b.array)
            assert np.array_equal(native.astype(np.float64), wide(y), equal_nan=True), (name, dtype)
        tol = (4 if dtype == "f64" else 1) if name in ("pow", "atan2") else 0
        case(name, [f"{dtype}.a", f"{dtype}.b"], [y], tol=tol, zeros=name in ("min", "max"))


def truncated(a, b):
    # RULE: x / 0 is 0; towards zero.
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def power(a, b):
    # RULE: a negative power of 1 or -1 is exact, of anything else 0.
    if b < 0:
        return {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)
    return pow(a, b, 1 << 64)


def shift(left):
    def by(a, b, bits):
        # RULE: past the width, or by a negative amount, gives 0 (NumPy gives -1 for a negative number shifted right).
        if not 0 <= b < bits:
            return 0
        return a << b if left else a >> b
    return by


INT_BINARY = {
    "add": lambda a, b, _: a + b, "sub": lambda a, b, _: a - b, "mul": lambda a, b, _: a * b,
    "div": lambda a, b, _: truncated(a, b), "floor_div": lambda a, b, _: 0 if b == 0 else a // b,
    "rem": lambda a, b, _: 0 if b == 0 else a - truncated(a, b) * b, "mod": lambda a, b, _: 0 if b == 0 else a % b,
    "pow": lambda a, b, _: power(a, b), "min": lambda a, b, _: min(a, b), "max": lambda a, b, _: max(a, b),
    "and": lambda a, b, _: a & b, "or": lambda a, b, _: a | b, "xor": lambda a, b, _: a ^ b,
    "shl": shift(True), "shr": shift(False),
}
NATIVE_INT = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floor_div": np.floor_divide, "rem": np.fmod,
    "mod": np.remainder, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "shl": np.left_shift,
}
for dtype, bits in INTS.items():
    a, b = shared[f"{dtype}.a"], shared[f"{dtype}.b"]
    for name, function in INT_BINARY.items():
        exact = [wrap(dtype, function(int(p), int(q), bits)) for p, q in zip(a.array, b.array)]
        y = Tensor(dtype, np.array(exact, dtype=object).astype(NUMPY[dtype]))
        if name in NATIVE_INT and bits > 4:
            native = NATIVE_INT[name](a.array, b.array)
            # NumPy's shift by a negative amount is whatever the machine does.
            known = b.array >= 0 if name == "shl" else np.ones(len(exact), dtype=bool)
            assert np.array_equal(native[known], y.array[known]), (name, dtype)
        case(name, [f"{dtype}.a", f"{dtype}.b"], [y])
for name, function in {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}.items():
    a, b = shared["bool.a"], shared["bool.b"]
    case(name, ["bool.a", "bool.b"], [Tensor("bool", function(a.array, b.array))])

# Compare and select.
COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
for dtype in NUMPY:
    a, b = shared[f"{dtype}.a"], shared[f"{dtype}.b"]
    for name, function in COMPARE.items():
        case(name, [f"{dtype}.a", f"{dtype}.b"], [Tensor("bool", function(a.array, b.array))])
    condition = Tensor("bool", rng.integers(0, 2, a.array.shape).astype(bool))
    case("select", [condition, f"{dtype}.a", f"{dtype}.b"], [Tensor(dtype, np.where(condition.array, a.array, b.array))])


# Casts between all pairs.
def cast(value, source, target):
    if target == "bool":
        return bool(value != 0)
    if is_float(target):
        return nearest(target, float(value)) if is_float(source) else nearest(target, Fraction(int(value)))
    if is_float(source):
        # RULE: towards zero, saturating, NaN to 0 (undefined in NumPy).
        value = float(value)
        low, high = int_range(target)
        if math.isnan(value):
            return 0
        return high if value >= high else low if value <= low else int(value)
    return wrap(target, int(value))


for source, target in itertools.product(NUMPY, NUMPY):
    x = shared[f"{source}.x"]
    values = [cast(v, source, target) for v in x.array]
    y = Tensor(target, np.array(values, dtype=object if target in INTS else NUMPY[target]).astype(NUMPY[target]))
    if target in INTS and source in INTS and INTS[target] > 4 and INTS[source] > 4:
        assert np.array_equal(x.array.astype(NUMPY[target]), y.array), (source, target)
    if is_float(target) and source != "f64" and INTS.get(source, 0) < 32:
        # NumPy rounds wider sources twice on their way to narrow floats.
        native = x.array.astype(NUMPY[target]).astype(np.float64)
        assert np.array_equal(native, wide(y), equal_nan=True), (source, target)
    case("cast", [f"{source}.x"], [y], {"to": target})
# Numbers that two roundings would round wrongly.
ties = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-11 + 2.0**-50, 464.0 - 2.0**-40, 2.0**-25 + 2.0**-70, 65519.999999])
for target in FLOATS:
    case("cast", [Tensor("f64", ties)], [to_dtype(target, ties)], {"to": target})
large = [(1 << 62) + (1 << 54) + 1, (1 << 53) + 1, (1 << 24) + 1, (1 << 63) - 1, -(1 << 63), 65519, 65520, 2049, 257]
for target in FLOATS:
    y = Tensor(target, np.array([nearest(target, Fraction(v)) for v in large]))
    case("cast", [Tensor("i64", np.array(large, dtype=np.int64))], [y], {"to": target})
for source, target in [("f32", "u32"), ("f32", "i32"), ("f16", "u16"), ("bf16", "i16"), ("f64", "u64"), ("f64", "i64"),
                       ("i32", "u32"), ("u8", "i8"), ("f8e5m2", "u8"), ("f8e4m3fn", "i8"), ("f16", "bf16")]:
    x = shared[f"{source}.x"]
    kept = Tensor(source, x.array[~np.isnan(wide(x))])  # which NaN it is, nothing says
    case("bitcast", [kept], [Tensor(target, kept.array.view(NUMPY[target]))], {"to": target})
    case("bitcast", [Tensor(target, kept.array.view(NUMPY[target]))], [kept], {"to": source})


# Random tensors with odd sizes, sizes of 1 and of 0.
def random(dtype, sizes):
    if dtype == "bool":
        return Tensor(dtype, rng.integers(0, 2, sizes).astype(bool))
    if dtype in INTS:
        low, high = int_range(dtype)
        return Tensor(dtype, rng.integers(max(low, -(2**62)), min(high, 2**62), sizes, endpoint=True).astype(NUMPY[dtype]))
    return to_dtype(dtype, np.round(rng.normal(size=sizes) * 8, 3))


def small(dtype, sizes):
    if dtype in INTS:
        low, high = int_range(dtype)
        return Tensor(dtype, rng.integers(max(low, -9), min(high, 9), sizes, endpoint=True).astype(NUMPY[dtype]))
    return to_dtype(dtype, np.round(rng.normal(size=sizes), 2))


# Views.
x = random("f32", (3, 1, 4))
for dtype in ("f32", "i4", "bool", "u64"):
    x = random(dtype, (3, 1, 4))
    case("broadcast", [x], [Tensor(dtype, np.broadcast_to(x.array[:, None], (3, 2, 5, 4)))], {"shape": [3, 2, 5, 4], "axes": [0, 2, 3]})
    case("reshape", [x], [Tensor(dtype, x.array.reshape(2, 6))], {"shape": [2, 6]})
    y = random(dtype, (2, 3, 4))
    for perm in itertools.permutations(range(3)):
        case("transpose", [y], [Tensor(dtype, y.array.transpose(perm))], {"perm": list(perm)})
    case("concat", [y, Tensor(dtype, y.array[:, :1]), Tensor(dtype, y.array[:, :0])], [Tensor(dtype, np.concatenate([y.array, y.array[:, :1]], 1))], {"axis": 1})
    case("concat", [y], [y], {"axis": 0})
    z = random(dtype, (5, 7))
    for start, size, step in [((0, 0), (5, 7), (1, 1)), ((1, 2), (2, 3), (2, 2)), ((4, 6), (5, 4), (-1, -2)), ((2, 0), (1, 0), (100, -3)), ((3, 5), (2, 2), (-3, -5))]:
        index = np.ix_(*[np.array([s + i * t for i in range(n)], dtype=int) for s, n, t in zip(start, size, step)])
        case("slice", [z], [Tensor(dtype, z.array[index])], {"start": list(start), "size": list(size), "step": list(step)})
    for low, high, interior in [((1, 0), (2, 1), (0, 0)), ((0, 2), (0, 0), (1, 2)), ((0, 0), (0, 0), (0, 0))]:
        value = small(dtype, ()) if dtype != "bool" else Tensor("bool", True)
        grown = [l + h + (n - 1) * (i + 1) + 1 for l, h, n, i in zip(low, high, z.array.shape, interior)]
        out = np.full(grown, value.array)
        out[low[0]:low[0] + (4) * (interior[0] + 1) + 1:interior[0] + 1, low[1]:low[1] + 6 * (interior[1] + 1) + 1:interior[1] + 1] = z.array
        case("pad", [z, value], [Tensor(dtype, out)], {"low": list(low), "high": list(high), "interior": list(interior)})
    empty = Tensor(dtype, np.zeros((0, 3)))
    case("pad", [empty, value], [Tensor(dtype, np.full((2, 5), value.array))], {"low": [1, 1], "high": [1, 1], "interior": [3, 0]})
    case("broadcast", [empty], [Tensor(dtype, np.zeros((0, 2, 3)))], {"shape": [0, 2, 3], "axes": [0, 2]})
    for starts in ([1, 2], [-4, 99], [3, 3]):
        at = [min(max(s, 0), n - w) for s, n, w in zip(starts, (5, 7), (2, 4))]
        part = z.array[at[0]:at[0] + 2, at[1]:at[1] + 4]
        case("dynamic_slice", [z, Tensor("i32", starts)], [Tensor(dtype, part)], {"size": [2, 4]})
        update = random(dtype, (2, 4))
        out = z.array.copy()
        out[at[0]:at[0] + 2, at[1]:at[1] + 4] = update.array
        case("update_slice", [z, update, Tensor("i64", starts)], [Tensor(dtype, out)])
for dtype in NUMPY:
    if dtype != "bool":
        counted = np.broadcast_to(np.arange(300).reshape(1, 300, 1), (1, 300, 1))
        if is_float(dtype):
            y = to_dtype(dtype, counted.astype(float))
        else:
            y = Tensor(dtype, np.vectorize(lambda v: wrap(dtype, int(v)), otypes=[object])(counted).astype(NUMPY[dtype]))
        if dtype in ("i4", "bf16", "f8e4m3fn", "u8", "i64"):
            case("iota", [], [y], {"dtype": dtype, "shape": [1, 300, 1], "axis": 1})


# Reductions.
def fold(kind, dtype, values):
    """The combination of a list; floats in f64, rounded once."""
    if is_float(dtype):
        values = [float(v) for v in values]
        if kind == "sum":
            special = [v for v in values if not math.isfinite(v)]
            return nearest(dtype, sum(special) if special else Fraction(sum(map(Fraction, values))))
        if kind == "prod":
            return nearest(dtype, float(np.prod(np.array(values, dtype=np.float64))))
        ends = {"max": -math.inf, "min": math.inf}
        if dtype == "f8e4m3fn":
            ends = {"max": -448.0, "min": 448.0}
        if not values:
            return NUMPY[dtype](ends[kind])
        return NUMPY[dtype]((np.max if kind == "max" else np.min)(np.array(values)))
    values = [int(v) for v in values]
    low, high = int_range(dtype)
    if kind == "max":
        return max(values, default=low)
    if kind == "min":
        return min(values, default=high)
    start, step = {"sum": (0, lambda a, b: a + b), "prod": (1, lambda a, b: a * b), "and": (-1, lambda a, b: a & b), "or": (0, lambda a, b: a | b)}[kind]
    for v in values:
        start = step(start, v)
    return bool(start) if dtype == "bool" else wrap(dtype, start)


def along(axes, x, function):
    """Applies a function to every row along axes."""
    kept = [a for a in range(x.ndim) if a not in axes]
    moved = x.transpose(kept + list(axes)).reshape([x.shape[a] for a in kept] + [-1 if x.size else int(np.prod([x.shape[a] for a in axes]))])
    return np.array([function(row) for row in moved.reshape(-1, moved.shape[-1])] if moved.shape[-1] or moved.size == 0 else [], dtype=object).reshape([x.shape[a] for a in kept])


def tolerance(dtype, kind, terms, total, magnitude):
    """How many units a sum or product may be off: narrow floats are summed in f64, so that only a tie may fall otherwise;
    f64 itself loses a unit of Σ|x| with every addition, however small the sum is beside it."""
    if not is_float(dtype) or kind in ("max", "min"):
        return 0
    if dtype != "f64":
        return 1
    if kind == "prod":
        return terms
    total, magnitude = np.abs(np.asarray(total, dtype=np.float64)), np.asarray(magnitude, dtype=np.float64)
    return int(math.ceil(terms * np.max(magnitude / np.maximum(total, 1e-300), initial=1.0, where=total > 0)))


def array_of(dtype, values):
    return Tensor(dtype, np.array([v for v in np.ravel(values)], dtype=object).astype(NUMPY[dtype]).reshape(np.shape(values)))


MONOIDS = {"sum", "prod", "max", "min", "and", "or"}
for dtype in NUMPY:
    kinds = sorted({"and", "or"} if dtype == "bool" else MONOIDS if dtype in INTS else MONOIDS - {"and", "or"})
    x = random(dtype, (2, 3, 5))
    for kind in kinds:
        for axes in ([0], [1, 2], [0, 2], []) if dtype in ("f32", "i32", "bf16", "bool", "u4") else ([0, 2],):
            rows = along(axes, x.array, lambda row: fold(kind, dtype, row))
            magnitude = along(axes, x.array, lambda row: float(np.sum(np.abs(row.astype(np.float64)))))
            tol = tolerance(dtype, kind, x.array.size, rows, magnitude)
            case(f"reduce_{kind}", [x], [array_of(dtype, rows)], {"axes": axes}, tol=tol, zeros=True)
        empty = Tensor(dtype, np.zeros((2, 0)))
        rows = np.array([fold(kind, dtype, []) for _ in range(2)], dtype=object)
        case(f"reduce_{kind}", [empty], [array_of(dtype, rows)], {"axes": [1]})
        case(f"reduce_{kind}", [empty], [Tensor(dtype, np.zeros((0,)))], {"axes": [0]})
    for kind in kinds:
        if is_float(dtype):
            row = [fold(kind, dtype, shared[f"{dtype}.x"].array)]
            case(f"reduce_{kind}", [f"{dtype}.x"], [array_of(dtype, np.array(row, dtype=object).reshape(()))], {"axes": [0]})
    if dtype in ("f32", "f16", "i8", "u64"):
        # NumPy's own reductions agree.
        if dtype in INTS:
            assert np.array_equal(np.sum(x.array, axis=(0, 2), dtype=NUMPY[dtype]), array_of(dtype, along([0, 2], x.array, lambda r: fold("sum", dtype, r))).array)
        else:
            assert np.allclose(np.sum(wide(x), axis=(0, 2)), wide(array_of(dtype, along([0, 2], x.array, lambda r: fold("sum", dtype, r)))), rtol=1e-3)

for dtype in ("f32", "f64", "bf16", "i8", "u32", "i4"):
    x = small(dtype, (3, 4))
    for kind, axis, exclusive, reverse in itertools.product(("sum", "prod", "max", "min"), (0, 1), (False, True), (False, True)):
        out, magnitude = np.empty((3, 4), dtype=object), np.empty((3, 4))
        for place in np.ndindex(3, 4):
            row = x.array[:, place[1]] if axis == 0 else x.array[place[0]]
            i = place[axis]
            stretch = row[i + exclusive:] if reverse else row[:i + 1 - exclusive]
            out[place] = fold(kind, dtype, stretch)
            magnitude[place] = np.sum(np.abs(stretch.astype(np.float64)))
        attrs = {"axis": axis}
        attrs |= {"exclusive": True} if exclusive else {}
        attrs |= {"reverse": True} if reverse else {}
        if not exclusive and not reverse and kind == "sum" and dtype in ("i8", "u32"):
            assert np.array_equal(np.cumsum(x.array, axis, dtype=NUMPY[dtype]), array_of(dtype, out).array)
        case(f"cumulative_{kind}", [x], [array_of(dtype, out)], attrs, tol=tolerance(dtype, kind, 4, out, magnitude), zeros=True)

for dtype in ("f32", "f16", "i16", "u8"):
    x = small(dtype, (2, 7, 5))
    for kind, window, stride, dilation, low, high in [
        ("max", (1, 3, 2), (1, 2, 1), (1, 1, 2), (0, 1, 0), (0, 1, 1)),
        ("sum", (1, 2, 2), (1, 1, 3), (1, 3, 1), (0, 0, 2), (0, 2, 0)),
        ("min", (2, 1, 9), (1, 1, 1), (1, 1, 1), (0, 0, 3), (0, 0, 3)),
        ("prod", (1, 3, 3), (2, 3, 3), (1, 1, 1), (0, 0, 0), (0, 0, 0)),
        ("sum", (1, 9, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0), (0, 0, 0)),
    ]:
        sizes = [max((n + l + h - (w - 1) * d - 1) // s + 1, 0) for n, l, h, w, d, s in zip(x.array.shape, low, high, window, dilation, stride)]
        out = np.empty(sizes, dtype=object)
        for place in np.ndindex(*sizes):
            elements = []
            for offset in np.ndindex(*window):
                at = [p * s + o * d - l for p, s, o, d, l in zip(place, stride, offset, dilation, low)]
                if all(0 <= i < n for i, n in zip(at, x.array.shape)):
                    elements.append(x.array[tuple(at)])
            out[place] = fold(kind, dtype, elements)
        attrs = {"window": list(window), "stride": list(stride), "dilation": list(dilation), "low": list(low), "high": list(high)}
        case(f"window_{kind}", [x], [array_of(dtype, out)], attrs, tol=1 if is_float(dtype) else 0, zeros=True)

# Sort: stable, NaN greater than everything.
for dtype in NUMPY:
    keys = Tensor(dtype, np.concatenate([shared[f"{dtype}.x"].array, shared[f"{dtype}.x"].array[:3]]))
    n = len(keys.array)
    for descending in (False, True):
        order = np.argsort(wide(keys) if dtype in ("f8e4m3fn", "f8e5m2", "bf16") else keys.array, kind="stable")
        if descending:
            # Equal keys keep their order: the ranks, negated, are sorted.
            _, ranks = np.unique(wide(keys) if is_float(dtype) else keys.array, return_inverse=True)
            order = np.argsort(-ranks, kind="stable")
        results = [Tensor(dtype, keys.array[order]), Tensor("i32", order)]
        case("sort", [keys, Tensor("i32", np.arange(n))], results, {"axis": 0, "descending": True} if descending else {"axis": 0})
table = random("i8", (3, 4, 2))
order = np.argsort(table.array, axis=1, kind="stable")
case("sort", [table], [Tensor("i8", np.take_along_axis(table.array, order, 1))], {"axis": 1})
case("sort", [Tensor("f32", np.zeros((2, 0)))], [Tensor("f32", np.zeros((2, 0)))], {"axis": 1})

# Gather: clamped. Scatter: what lies outside is dropped.
x = random("f32", (4, 5, 3))
rows = np.array([0, 3, -2, 9, 1])
case("gather", [x, Tensor("i64", rows[:, None])], [Tensor("f32", np.take(x.array, rows, axis=0, mode="clip"))], {"axes": [0]})
rows = rows.reshape(5, 1, 1)
case("gather", [x, Tensor("i32", rows)], [Tensor("f32", np.take(x.array, rows[..., 0], axis=1, mode="clip").transpose(1, 2, 0, 3))], {"axes": [1]})
vectors = rng.integers(-1, 6, (2, 3, 2))
clipped = np.stack([np.clip(vectors[..., 0], 0, 2), np.clip(vectors[..., 1], 0, 3)], -1)
case("gather", [x, Tensor("i64", vectors)], [Tensor("f32", x.array[clipped[..., 1], :, clipped[..., 0]])], {"axes": [2, 0]})
vectors = rng.integers(-1, 6, (4, 2, 1))
batched = np.stack([x.array[b][np.clip(vectors[b, :, 0], 0, 4)] for b in range(4)])
case("gather", [x, Tensor("i64", vectors)], [Tensor("f32", batched)], {"axes": [1], "batch": 1})
case("gather", [x, Tensor("i64", np.zeros((0, 1)))], [Tensor("f32", np.zeros((0, 5, 3)))], {"axes": [0]})
case("gather", [x, Tensor("i64", np.zeros((2, 0)))], [Tensor("f32", np.stack([x.array, x.array]))], {"axes": []})
COMBINE = {"set": None, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
for dtype in ("f32", "f16", "i32", "u8", "bool"):
    for kind, function in COMBINE.items():
        if dtype == "bool" and kind != "set":
            continue
        x = small(dtype, (4, 3)) if dtype != "bool" else random(dtype, (4, 3))
        at = np.array([1, 3, 1, -1, 4, 0, 1])
        updates = small(dtype, (7, 3)) if dtype != "bool" else random(dtype, (7, 3))
        inside = (at >= 0) & (at < 4)
        out = x.array.copy()
        if function is None:
            for i in np.flatnonzero(inside):  # the last in order stays
                out[at[i]] = updates.array[i]
        elif is_float(dtype):
            exact = wide(x)
            function.at(exact, at[inside], wide(updates)[inside])
            out = to_dtype(dtype, exact).array
        else:
            function.at(out, at[inside], updates.array[inside])
        case(f"scatter_{kind}", [x, Tensor("i32", at[:, None]), updates], [Tensor(dtype, out)], {"axes": [0]}, tol=1 if is_float(dtype) else 0, zeros=True)
x, updates = small("f32", (2, 3, 4)), small("f32", (2, 2, 3))
at = np.array([[[1], [9]], [[0], [3]]])
out = x.array.copy()
for b, p in np.ndindex(2, 2):
    if at[b, p, 0] < 4:
        out[b, :, at[b, p, 0]] += updates.array[b, p]
case("scatter_add", [x, Tensor("i64", at), updates], [Tensor("f32", out)], {"axes": [2], "batch": 1}, tol=1)

# Contract: NumPy's einsum.
def products(spec, l, r, out):
    if is_float(out):
        return to_dtype(out, np.einsum(spec, wide(l), wide(r)))
    # Modulo 2^64, of which every integer dtype is a part.
    exact = np.asarray(np.einsum(spec, l.array.astype(np.int64).astype(object), r.array.astype(np.int64).astype(object)), dtype=object)
    values = np.vectorize(lambda v: wrap(out, int(v)), otypes=[object])(exact) if exact.size else exact
    return array_of(out, values)


for spec, l_sizes, r_sizes, batch, total in [
    ("ik,kj->ij", (3, 5), (5, 4), [], [[1, 0]]),
    ("bik,bkj->bij", (2, 1, 3), (2, 3, 4), [[0, 0]], [[2, 1]]),
    ("kib,bjk->bij", (4, 3, 2), (2, 5, 4), [[2, 0]], [[0, 2]]),
    ("i,j->ij", (3,), (2,), [], []),
    ("ijk,kji->", (2, 3, 4), (4, 3, 2), [], [[0, 2], [1, 1], [2, 0]]),
    ("ik,kj->ij", (3, 0), (0, 2), [], [[1, 0]]),
    ("ik,kj->ij", (0, 2), (2, 2), [], [[1, 0]]),
    ("abi,baj->baij", (2, 3, 2), (3, 2, 2), [[1, 0], [0, 1]], []),
]:
    for dtype, out in [("f32", None), ("f64", None), ("bf16", None), ("f16", "f32"), ("i8", "i32"), ("i32", None), ("u64", None)]:
        l, r = (small if is_float(dtype) else random)(dtype, l_sizes), (small if is_float(dtype) else random)(dtype, r_sizes)
        attrs = {"batch": batch, "sum": total} | ({"out": out} if out else {})
        y = products(spec, l, r, out or dtype)
        magnitude = np.einsum(spec, np.abs(l.array.astype(np.float64)), np.abs(r.array.astype(np.float64)))
        tol = tolerance(out or dtype, "sum", max(l.array.size, 1), y.array.astype(np.float64), magnitude)
        case("contract", [l, r], [y], attrs, tol=tol, zeros=True)
l, r = random("u8", (3, 4)), random("i8", (4, 2))
case("contract", [l, r], [products("ik,kj->ij", l, r, "i32")], {"batch": [], "sum": [[1, 0]], "out": "i32"})


# Convolve, in naive loops.
def convolve(x, w, stride, low, high, spread, dilation, groups, batch_groups, out):
    spatial = x.array.ndim - 2
    xs, ws = x.array.shape, w.array.shape
    grow = [max((n - 1) * s + 1, 0) for n, s in zip(xs[2:], spread)]
    extent = [max((n - 1) * d + 1, 0) for n, d in zip(ws[2:], dilation)]
    sizes = [max((g + l + h - e) // s + 1, 0) for g, l, h, e, s in zip(grow, low, high, extent, stride)]
    n_out = xs[0] // batch_groups
    result = np.zeros([n_out, ws[0]] + sizes, dtype=np.float64 if is_float(out) else object)
    xv = wide(x) if is_float(out) else x.array.astype(object)
    wv = wide(w) if is_float(out) else w.array.astype(object)
    for n, o, *place in np.ndindex(n_out, ws[0], *sizes):
        entry = n + n_out * (o // (ws[0] // batch_groups))
        first = ws[1] * (o // (ws[0] // groups))
        for c, *k in np.ndindex(*ws[1:]):
            at = [p * s + i * d - l for p, s, i, d, l in zip(place, stride, k, dilation, low)]
            if all(i >= 0 and i % s == 0 and i // s < m for i, s, m in zip(at, spread, xs[2:])):
                index = tuple(i // s for i, s in zip(at, spread))
                result[(n, o, *place)] += xv[(entry, first + c) + index] * wv[(o, c, *k)]
    assert len(sizes) == spatial
    if is_float(out):
        return to_dtype(out, result)
    return array_of(out, np.vectorize(lambda v: wrap(out, int(v)), otypes=[object])(result) if result.size else result)


for x_sizes, w_sizes, stride, low, high, spread, dilation, groups, batch_groups in [
    ((2, 3, 7), (4, 3, 3), (2,), (1,), (1,), (1,), (1,), 1, 1),
    ((1, 2, 5, 6), (3, 2, 3, 2), (1, 1), (0, 0), (0, 0), (1, 1), (1, 1), 1, 1),
    ((2, 4, 5, 4), (6, 2, 2, 3), (2, 1), (1, 2), (0, 1), (1, 1), (2, 1), 2, 1),
    ((1, 2, 4, 3), (2, 2, 3, 2), (1, 2), (2, 1), (2, 1), (2, 3), (1, 2), 1, 1),
    ((4, 2, 3), (4, 2, 2), (1,), (0,), (1,), (1,), (1,), 1, 2),
    ((2, 3), (5, 3), (), (), (), (), (), 1, 1),
    ((1, 4, 3, 3, 2), (4, 1, 2, 2, 2), (1, 2, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1), (1, 1, 1), 4, 1),
    ((1, 1, 2), (1, 1, 5), (1,), (0,), (0,), (1,), (1,), 1, 1),
    ((1, 0, 3), (2, 0, 2), (1,), (0,), (0,), (1,), (1,), 1, 1),
    ((1, 2, 0), (2, 2, 2), (1,), (2,), (1,), (3,), (1,), 1, 1),
]:
    for dtype, out in [("f32", None), ("bf16", "f32"), ("i8", "i32"), ("u8", None)]:
        x, w = (small if is_float(dtype) else random)(dtype, x_sizes), (small if is_float(dtype) else random)(dtype, w_sizes)
        attrs = {"stride": list(stride), "low": list(low), "high": list(high), "input_dilation": list(spread), "kernel_dilation": list(dilation)}
        attrs |= {"groups": groups} if groups > 1 else {}
        attrs |= {"batch_groups": batch_groups} if batch_groups > 1 else {}
        attrs |= {"out": out} if out else {}
        y = convolve(x, w, stride, low, high, spread, dilation, groups, batch_groups, out or dtype)
        case("convolve", [x, w], [y], attrs, tol=1 if is_float(dtype) else 0, zeros=True)


def share_repeated():
    """Operands that several cases use are written once, before the first of them."""
    counts = {}
    for line in lines:
        for operand in line.get("in", []):
            if not isinstance(operand, str) and len(operand[2]) > 24:
                counts[json.dumps(operand)] = counts.get(json.dumps(operand), 0) + 1
    names, written = {}, []
    for line in lines:
        for i, operand in enumerate(line.get("in", [])):
            key = json.dumps(operand)
            if counts.get(key, 0) > 1:
                if key not in names:
                    names[key] = f"r{len(names)}"
                    written.append({"let": names[key], "is": operand})
                line["in"][i] = f"@{names[key]}"
        written.append(line)
    return written


lines = share_repeated()
path = pathlib.Path(__file__).with_name("cases.jsonl")
path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
print(f"{len(lines)} lines, {path.stat().st_size} bytes")

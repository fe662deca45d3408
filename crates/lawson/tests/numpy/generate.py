"""Writes the NumPy files that tests/npy.rs reads. Needs numpy and ml_dtypes."""

import pathlib

import ml_dtypes
import numpy as np

folder = pathlib.Path(__file__).parent
values = np.array([[-2.0, 0.0, 1.0], [0.5, 3.0, 7.0]])

plain = {
    name: values.astype(name)
    for name in ["int8", "int16", "int32", "int64", "float16", "float32", "float64"]
}
plain |= {name: np.abs(values).astype(name) for name in ["uint8", "uint16", "uint32", "uint64", "bool"]}
np.savez_compressed(folder / "plain.npz", **plain)

np.savez(
    folder / "odd.npz",
    fortran=np.asfortranarray(values.astype("float32")),
    big=values.astype(">i4"),
    scalar=np.float64(2.5),
    empty=np.zeros((0, 3), "float32"),
    text=np.array([["a", "βγ"], ["", "long text"]]),
    bytes=np.array([b"a", b"bcd"]),
)

np.savez(
    folder / "ml.npz",
    bf16=values.astype(ml_dtypes.bfloat16),
    f8e4m3fn=values.astype(ml_dtypes.float8_e4m3fn),
    f8e5m2=values.astype(ml_dtypes.float8_e5m2),
    i4=values.astype(ml_dtypes.int4),
    u4=np.abs(values).astype(ml_dtypes.uint4),
)

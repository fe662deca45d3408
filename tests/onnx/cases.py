"""Writes the cases of ONNX's own backend suite as folders: the input of `lawson onnx-test`.

    python tests/onnx/cases.py FOLDER

A case is FOLDER/KIND/NAME with `model.onnx`, `test_data_set_N/input_K.pb` and `output_K.pb`, and `tolerance.json` where the
case has its own. The `onnx` package computes the data of most cases with NumPy; the others lie in its wheel. Needs the version
of requirements.txt; ends with the number of cases, and with an error if one could not be written.
"""

import json
import os
import shutil
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

KINDS = ["node", "simple", "pytorch-converted", "pytorch-operator", "real"]
MESSAGES = (onnx.TensorProto, onnx.SparseTensorProto, onnx.SequenceProto, onnx.OptionalProto, onnx.MapProto)


def message(value, info):
    """The value as the message that its declared type asks for."""
    if isinstance(value, MESSAGES):
        return value
    name = info.name if info is not None else ""
    kind = info.type.WhichOneof("value") if info is not None else None
    if kind == "optional_type":
        return numpy_helper.from_optional(value, name)
    if kind == "sequence_type" or isinstance(value, (list, tuple)):
        return numpy_helper.from_list(value, name)
    if isinstance(value, dict):
        return numpy_helper.from_dict(value, name)
    return numpy_helper.from_array(np.asarray(value), name)


def write_values(folder, prefix, values, infos):
    values = list(values.values()) if isinstance(values, dict) else values
    for i, value in enumerate(values):
        info = infos[i] if i < len(infos) else None
        (folder / f"{prefix}_{i}.pb").write_bytes(message(value, info).SerializeToString())


def write_light_model(case, folder):
    """A network whose weights are constants; its input is a ramp, as ONNX's own runner makes it."""
    source = Path(onnx.__file__).parent.parent / case.url
    shutil.copy(source, folder / "model.onnx")
    model = onnx.load(source)
    constants = {t.name for t in model.graph.initializer}
    given = next(i for i in model.graph.input if i.name not in constants)
    sizes = [d.dim_value for d in given.type.tensor_type.shape.dim]
    count = int(np.prod(sizes))
    ramp = (np.arange(count).reshape(sizes) / count).astype(np.float32)
    data = folder / "test_data_set_0"
    data.mkdir()
    write_values(data, "input", [ramp], [given])
    shutil.copy(f"{source.with_suffix('')}_output_0.pb", data / "output_0.pb")


def write_case(case, folder):
    folder.mkdir(parents=True)
    if case.model is not None:
        model = case.model
        onnx.save(model, folder / "model.onnx")
    elif case.model_dir:
        shutil.copytree(case.model_dir, folder, dirs_exist_ok=True)
        model = onnx.load(folder / "model.onnx")
    else:
        write_light_model(case, folder)
        model = None
    for i, (inputs, outputs) in enumerate(case.data_sets or []):
        data = folder / f"test_data_set_{i}"
        data.mkdir(exist_ok=True)
        write_values(data, "input", inputs, model.graph.input)
        write_values(data, "output", outputs, model.graph.output)
    if (case.rtol, case.atol) != (1e-3, 1e-7):
        (folder / "tolerance.json").write_text(json.dumps({"rtol": case.rtol, "atol": case.atol}))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = Path(sys.argv[1])
    # Written aside and moved, so that a folder that is there is whole.
    unfinished = target.with_name(target.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    count = 0
    for kind in KINDS:
        for case in load_model_tests(kind=kind):
            write_case(case, unfinished / kind / case.name)
            count += 1
    shutil.rmtree(target, ignore_errors=True)
    os.replace(unfinished, target)
    print(f"{count} cases of onnx {onnx.__version__} in {target}")


if __name__ == "__main__":
    main()

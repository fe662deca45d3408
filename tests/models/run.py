#!/usr/bin/env python3
"""Exports networks of many families with both exporters of PyTorch, runs them with `lawson run`, and compares.

    python tests/models/run.py --work FOLDER [--only bert,resnet] [--exporters dynamo,script] [--listed]

See README.md beside it. Ends with 1 if a model that was exported correctly is not run correctly.
"""

import argparse
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPORTERS = ("dynamo", "script")
FORK = multiprocessing.get_context("fork")


# Exporting, in a process of its own.


def last_line(text):
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return lines[0][:200] if lines else "no message"


def file_axes(model):
    """Inputs of an exported file: a size or a name for each dimension."""
    constants = {t.name for t in model.graph.initializer}
    found = {}
    for info in model.graph.input:
        if info.name not in constants:
            shape = info.type.tensor_type.shape.dim
            found[info.name] = [d.dim_value if d.HasField("dim_value") else d.dim_param for d in shape]
    return found


def write_npz(path, names, values):
    import numpy as np

    arrays = {n: v.detach().numpy() for n, v in zip(names, values)}
    np.savez(path, **arrays)


def in_f64(flat, values, expected):
    """What PyTorch computes in f64, in the dtypes of its own results; `None` if it cannot, or if shapes differ."""
    import copy

    try:
        exact = copy.deepcopy(flat).double()(*[v.double() if v.is_floating_point() else v for v in values.values()])
    except Exception:
        return None
    if any(e.shape != x.shape for e, x in zip(expected, exact)):
        return None
    return [x.to(e.dtype) for e, x in zip(expected, exact)]


def own_error(expected, exact):
    """How far PyTorch's own results are from those that it computes in f64: what rounding does to this network. 0 if that is not known."""
    pairs = [(e, x) for e, x in zip(expected, exact or []) if e.is_floating_point() and e.numel()]
    worst = max((float((e.double() - x.double()).abs().max()) for e, x in pairs), default=0.0)
    return worst if worst < 1e-2 else 0.0


def count_nodes(graph):
    return len(graph.node) + sum(count_nodes(a.g) for n in graph.node for a in n.attribute if a.HasField("g"))


def export(name, exporter, folder):
    """Writes model.onnx, the inputs and what PyTorch computes from them, and meta.json."""
    import onnx
    import torch

    from case import FAMILIES, Flat

    torch.manual_seed(0)
    torch.set_num_threads(1)
    # Fused layers, which `dynamo=False` has no operators for.
    torch.backends.mha.set_fastpath_enabled(False)
    case = FAMILIES[name][0]()
    case.model.eval()
    rows = case.sizes()
    torch.manual_seed(1)
    given = case.inputs(**rows[0])
    names = list(given)
    flat = Flat(case, names).eval()
    path = folder / "model.onnx"
    start = time.perf_counter()
    with torch.no_grad():
        if exporter == "dynamo":
            open_axes = {n: {a: torch.export.Dim.AUTO for a in case.open_axes(n)} for n in names}
            shapes = (tuple(open_axes[n] for n in names),) if case.dims else None
            def write(**more):
                torch.onnx.export(
                    flat, tuple(given.values()), str(path), input_names=names, dynamic_shapes=shapes, dynamo=True, external_data=False,
                    verbose=False, **more,
                )

            try:
                write()
            except Exception as error:
                # The exporter's own optimiser fails on some models.
                if type(error).__name__ != "PassError":
                    raise
                write(optimize=False)
        else:
            label = lambda d: d if isinstance(d, str) else "_".join(map(str, d))
            axes = {n: {a: label(d) for a, d in case.open_axes(n).items()} for n in names}
            torch.onnx.export(flat, tuple(given.values()), str(path), input_names=names, dynamic_axes=axes, dynamo=False)
    seconds = time.perf_counter() - start
    model = onnx.load(path)
    declared = file_axes(model)
    outputs = [o.name for o in model.graph.output]
    runs, fixed = [], False
    with torch.no_grad():
        for i, sizes in enumerate(rows):
            torch.manual_seed(100 + i)
            values = given if i == 0 else case.inputs(**sizes)
            used = [n for n in names if n in declared]
            fits = all(not isinstance(d, int) or d == s for n in used for d, s in zip(declared[n], values[n].shape))
            if not fits:
                fixed = True
                continue
            try:
                expected = flat(*values.values())
            except Exception as error:
                raise RuntimeError(f"PyTorch itself fails at {sizes}: {last_line(error)}") from error
            if len(expected) != len(outputs):
                raise RuntimeError(f"the file has {len(outputs)} outputs, the network {len(expected)}")
            write_npz(folder / f"in{i}.npz", used, [values[n] for n in used])
            write_npz(folder / f"out{i}.npz", outputs, expected)
            exact = in_f64(flat, values, expected)
            made = {"sizes": sizes, "inputs": f"in{i}.npz", "outputs": f"out{i}.npz", "own": own_error(expected, exact)}
            if exact is not None:
                made["exact"] = f"exact{i}.npz"
                write_npz(folder / made["exact"], outputs, exact)
            runs.append(made)
    meta = {
        "nodes": count_nodes(model.graph), "opset": max(o.version for o in model.opset_import if o.domain in ("", "ai.onnx")),
        "seconds": seconds, "runs": runs, "fixed": fixed, "open": bool(case.dims) and not fixed, "rtol": case.rtol, "atol": case.atol,
    }
    (folder / "meta.json").write_text(json.dumps(meta))


def export_quietly(name, exporter, folder):
    """In the child: everything that exporters say goes to a file, an error to error.txt."""
    log = os.open(folder / "export.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    warnings.filterwarnings("ignore")
    try:
        export(name, exporter, folder)
    except BaseException as error:
        traceback.print_exc()
        # The exporters wrap what went wrong; the cause says more.
        while error.__cause__ is not None:
            error = error.__cause__
        (folder / "error.txt").write_text(f"{type(error).__name__}: {last_line(error)}")
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def exported(name, exporter, folder, limit):
    """Exports in a child; returns the meta data or a reason."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    child = FORK.Process(target=export_quietly, args=(name, exporter, folder))
    child.start()
    child.join(limit)
    if child.is_alive():
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        (folder / "error.txt").write_text(f"not done after {limit} s")
    elif child.exitcode != 0 and not (folder / "error.txt").exists():
        (folder / "error.txt").write_text(f"the exporter ended with {child.exitcode}")


# Running.


def absolute(run, meta):
    """The absolute tolerance: where rounding alone moves PyTorch's results by more than a fourth of it, four times that."""
    return max(meta["atol"], 4 * run.get("own", 0.0))


def lawson_run(lawson, folder, run, meta, limit, more=()):
    """One run of the command; returns its report, or raises with what it said."""
    command = [
        lawson, "run", str(folder / "model.onnx"), "--target", "cpu", "--json", "--input", str(folder / run["inputs"]),
        "--check", str(folder / run["outputs"]), "--rtol", str(meta["rtol"]), "--atol", str(absolute(run, meta)), *more,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not done after {limit} s") from None
    if not done.stdout.strip():
        message = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
        raise RuntimeError(message[:400])
    report = json.loads(done.stdout)
    if "error" in report:
        said = report["error"]
        raise RuntimeError(" ".join([said["code"], said["message"], *said["places"][:1]])[:400])
    return report


def off(report):
    """The greatest absolute error of all outputs, and what is wrong."""
    worst, wrong = 0.0, []
    for name, entry in report["check"].items():
        if "type" in entry:
            wrong.append(f"{name}: {entry['type']}")
            continue
        error = float(entry["absolute"])
        worst = max(worst, error)
        if not entry["fine"]:
            wrong.append(f"{name}: {error:.2e} off, first at {entry['first']}")
    return worst, wrong


def arbiter(folder, run, meta):
    """What ONNX Runtime makes of the same file and inputs: whether it computes anything, and what is wrong with that, if something is."""
    try:
        import numpy as np
        import onnxruntime
    except ImportError:
        return True, None
    given, wanted = np.load(folder / run["inputs"]), np.load(folder / run["outputs"])
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        for name, have in zip(names, session.run(names, dict(given))):
            want = wanted[name]
            if have.shape != want.shape:
                return True, f"{name} has the shape {have.shape} instead of {want.shape}"
            if not np.allclose(have, want, rtol=meta["rtol"], atol=absolute(run, meta), equal_nan=True):
                return True, f"{name} is {np.abs(have.astype(float) - want.astype(float)).max():.2e} off"
    except Exception as error:
        return False, f"it says: {last_line(error)}"
    return True, None


def judged(lawson, name, exporter, folder, limit):
    """The row of the table for an exported model."""
    row = {"family": name, "exporter": exporter}
    error = folder / "error.txt"
    if error.exists():
        return {**row, "status": "not exported", "reason": error.read_text()}
    meta = json.loads((folder / "meta.json").read_text())
    row.update(nodes=meta["nodes"], opset=meta["opset"], open=meta["open"], runs=len(meta["runs"]), export_s=round(meta["seconds"], 1))
    worst, status, reason = 0.0, "pass", ""
    for i, run in enumerate(meta["runs"]):
        try:
            report = lawson_run(lawson, folder, run, meta, limit, ["--time"] if i == 0 else [])
            if i == 0:
                row.update({k: report["time"][k] for k in ("import_ms", "compile_ms", "median_ms")})
            row["operators"] = report.get("operators")
            row["known"] = report.get("known", [])
            error, wrong = off(report)
            if wrong and "exact" in run:
                # PyTorch's own rounding is no mistake of Lawson's: what is as near to the f64 results is right.
                nearer, farther = off(lawson_run(lawson, folder, {**run, "outputs": run["exact"], "own": 0.0}, meta, limit))
                error, wrong = (nearer, []) if not farther else (error, wrong)
            worst = max(worst, error)
            computed = True
        except RuntimeError as failed:
            wrong, computed = [str(failed)], False
        if wrong:
            status, reason = "fail", f"at {run['sizes']}: {'; '.join(wrong)[:400]}" if run["sizes"] else "; ".join(wrong)[:400]
            ran, said = arbiter(folder, run, meta)
            # Where one of the two computes something and the other nothing, the file is no excuse.
            if said is not None and ran == computed:
                status, reason = "file differs", f"{reason} [ONNX Runtime: {said}]"
            break
    return {**row, "error": worst, "status": status, "reason": reason}


# The table.

COLUMNS = [("family", 29), ("exporter", 8), ("status", 12), ("nodes", 5), ("open", 5), ("runs", 4), ("import", 7), ("compile", 8), ("run", 8), ("error", 8)]


def line(row):
    number = lambda key: f"{row[key]:.1f}" if key in row else ""
    cells = {
        **{k: str(row.get(k, "")) for k in ("family", "exporter", "status", "nodes", "runs")},
        "open": {True: "yes", False: "no"}.get(row.get("open"), ""),
        "import": number("import_ms"), "compile": number("compile_ms"), "run": number("median_ms"),
        "error": f"{row['error']:.1e}" if row.get("status") == "pass" else "",
    }
    text = "  ".join(cells[name].ljust(width) for name, width in COLUMNS)
    return f"{text}  {row.get('reason', '')}".rstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True, help="where exported files are kept; those that are there are used again")
    parser.add_argument("--only", default="", help="families, with commas between them")
    parser.add_argument("--listed", action="store_true", help="only the families that must be there")
    parser.add_argument("--exporters", default=",".join(EXPORTERS), help="dynamo, script")
    parser.add_argument("--lawson", default=None, help="the command; target/release/lawson by default")
    parser.add_argument("--again", action="store_true", help="export anew what is there")
    parser.add_argument("--export-only", action="store_true", help="write the files, run nothing")
    parser.add_argument("--json", type=Path, help="where all rows are written, too")
    parser.add_argument("--limit", type=int, default=240, help="seconds for one export or run")
    args = parser.parse_args()

    sys.path.insert(0, str(HERE))
    warnings.filterwarnings("ignore")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    # Each registers its families.
    import audio  # noqa: F401
    import dense  # noqa: F401
    import further  # noqa: F401
    import language  # noqa: F401
    import latest  # noqa: F401
    import mixed  # noqa: F401
    import newer  # noqa: F401
    import others  # noqa: F401
    import plain  # noqa: F401
    import science  # noqa: F401
    import unusual  # noqa: F401
    import vision  # noqa: F401
    from case import FAMILIES

    names = [n for n in args.only.split(",") if n] or [n for n, (_, listed) in FAMILIES.items() if listed or not args.listed]
    unknown = [n for n in names if n not in FAMILIES]
    if unknown:
        parser.error(f"no such family: {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target"))
    lawson = args.lawson or str(target / "release" / "lawson")
    if not args.export_only and not Path(lawson).exists():
        parser.error(f"{lawson} is not there: cargo build --release -p lawson-cli")

    print("  ".join(name.ljust(width) for name, width in COLUMNS) + "  reason", flush=True)
    rows = []
    for name in names:
        for exporter in args.exporters.split(","):
            folder = args.work / f"{name}.{exporter}"
            if args.again or not ((folder / "meta.json").exists() or (folder / "error.txt").exists()):
                exported(name, exporter, folder, args.limit)
            if args.export_only:
                continue
            rows.append(judged(lawson, name, exporter, folder, args.limit))
            print(line(rows[-1]), flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    for exporter in args.exporters.split(","):
        mine = [r for r in rows if r["exporter"] == exporter]
        counts = {s: sum(r["status"] == s for r in mine) for s in ("pass", "fail", "file differs", "not exported")}
        print(f"{exporter}: " + ", ".join(f"{n} {s}" for s, n in counts.items()))
    sys.exit(any(r["status"] == "fail" for r in rows))


if __name__ == "__main__":
    main()

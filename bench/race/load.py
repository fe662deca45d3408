"""How long it takes until a model could run: reading its file, optimising, compiling, laying out weights.

    python bench/race/load.py --lawson target/release/lawson MODEL_FOLDER…

A folder holds `model.onnx` and `inputs.npz`. Contestants are ONNX Runtime (creating a session), OpenVINO (`read_model` and
`compile_model`) and Lawson (import and compile, as `lawson run` reports them). Every measurement is a process of its own, which
times itself once its libraries are loaded; in every round each contestant has one, in rotating order, after one
round that is not counted, so that files are in memory for all. Printed: medians and spreads of the rounds.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path


def timed(work):
    start = time.perf_counter()
    kept = work()
    print(json.dumps((time.perf_counter() - start) * 1e3))
    return kept


def onnxruntime(model, threads):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    timed(lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]))


def openvino(model, threads):
    import openvino as ov

    core = ov.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    timed(lambda: core.compile_model(core.read_model(model), "CPU", settings))


PEERS = {"ort": onnxruntime, "ov": openvino}


def measured(name, folder, threads, lawson):
    if name == "lawson":
        command = [
            lawson, "run", f"{folder}/model.onnx", "--target", "cpu", "--threads", str(threads), "--input", f"{folder}/inputs.npz", "--json", "--time",
        ]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        took = json.loads(said)["time"]
        return took["import_ms"] + took["compile_ms"]
    command = [sys.executable, __file__, "--peer", name, "--threads", str(threads), str(folder)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--lawson", default="target/release/lawson")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--peers", default="ort,ov")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        PEERS[args.peer](f"{args.folders[0]}/model.onnx", args.threads)
        return
    names = [*args.peers.split(","), "lawson"]
    for folder in args.folders:
        times = {name: [] for name in names}
        for turn in range(args.rounds + 1):
            for k in range(len(names)):
                name = names[(turn + k) % len(names)]
                took = measured(name, folder, args.threads, args.lawson)
                if turn > 0:
                    times[name].append(took)
        cells = []
        for name, all_times in times.items():
            cells.append(f"{name} {statistics.median(all_times):.0f} ms ({min(all_times):.0f} to {max(all_times):.0f})")
        print(f"{folder.name}: {', '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()

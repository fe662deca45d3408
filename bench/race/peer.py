"""One peer on one case, in a process of its own: `peer.py PEER FOLDER THREADS`.

Peers: torch (MKL for matrix products, oneDNN with packed weights and channels last for convolutions, its own attention), inductor,
ort (onnxruntime), ov (openvino). Speaks the same lines as `lawson-peer-worker`: says on start that it is ready and how far
its results are from the reference, then answers `run SECONDS LEAST MOST` with the times of runs in milliseconds, until `quit`.
"""
import json
import os
import sys
import time

PEER, FOLDER, THREADS = sys.argv[1], sys.argv[2], int(sys.argv[3])
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = str(THREADS)
# Libraries print what they like; only our lines may reach the coordinator.
LINES = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

import numpy as np  # noqa: E402  (after the variables that it reads)


def say(line):
    LINES.write(json.dumps(line) + "\n")
    LINES.flush()


def has_own_layout():
    return os.path.exists(f"{FOLDER}/model_first.onnx")


def model_and_inputs(inputs):
    """Runtimes get convolutions with channels first, the layout that they convert from by themselves."""
    if has_own_layout():
        return f"{FOLDER}/model_first.onnx", {"x": np.ascontiguousarray(inputs["x"].transpose(0, 3, 1, 2))}
    return f"{FOLDER}/model.onnx", inputs


def like_reference(y):
    return y.transpose(0, 2, 3, 1) if has_own_layout() else y


def onnxruntime(inputs, reference):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads, options.inter_op_num_threads = THREADS, 1
    model, inputs = model_and_inputs(inputs)
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
    shape = reference.transpose(0, 3, 1, 2).shape if has_own_layout() else reference.shape
    result = ort.OrtValue.ortvalue_from_numpy(np.zeros(shape, np.float32))
    binding.bind_ortvalue_output(session.get_outputs()[0].name, result)
    return lambda: session.run_with_iobinding(binding), lambda: like_reference(result.numpy())


def openvino(inputs, _reference):
    import openvino as ov

    core = ov.Core()
    model, inputs = model_and_inputs(inputs)
    hints = {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": THREADS,
    }
    request = core.compile_model(core.read_model(model), "CPU", hints).create_infer_request()
    for name, array in inputs.items():
        request.set_tensor(name, ov.Tensor(array, shared_memory=True))
    # Without sharing, every run would copy its results.
    run = lambda: request.infer(share_outputs=True)
    return run, lambda: like_reference(request.get_output_tensor(0).data.copy())


def convolutions(case, consts, x):
    """The ways in which PyTorch offers a convolution with ReLU on channels-last images."""
    import torch
    from cases import torch_function

    _, cin, cout, window, stride, groups = case.sizes
    w, b, pad, stride = consts["w"], consts["b"], [window // 2] * 2, [stride] * 2
    conv = torch.nn.Conv2d(cin, cout, window, stride, pad, groups=groups)
    conv.weight.data, conv.bias.data = w, b
    module = torch.nn.Sequential(conv, torch.nn.ReLU()).eval()
    with torch.no_grad():
        frozen = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(module, [x])))
    # What Inductor calls for convolutions: weights packed for oneDNN, ReLU in its kernel.
    packed = torch.ops.mkldnn._reorder_convolution_weight(w, pad, stride, [1, 1], groups, list(x.shape))
    fused = torch.ops.mkldnn._convolution_pointwise
    return [
        torch_function(case, consts),
        frozen,
        lambda x: fused(x, packed, b, pad, stride, [1, 1], groups, "relu", [], ""),
    ]


def products(case, consts):
    """The ways in which PyTorch offers a product with constant weights: plain, and packed for MKL and for oneDNN."""
    import torch
    from cases import torch_function

    rows, w, b = case.sizes[0], consts["w"].t().contiguous(), consts["b"]
    for_mkl = torch.ops.mkl._mkl_reorder_linear_weight(w, rows)
    for_onednn = torch.ops.mkldnn._reorder_linear_weight(w, rows)
    return [
        torch_function(case, consts),
        lambda x: torch.ops.mkl._mkl_linear(x, for_mkl, w, b, rows).relu_(),
        lambda x: torch.ops.mkldnn._linear_pointwise(x, for_onednn, b, "relu", [], ""),
    ]


def fastest(functions, arguments):
    """The function whose fastest run is the fastest."""
    import torch

    def best(function):
        times = []
        with torch.inference_mode():
            for _ in range(20):
                begin = time.perf_counter()
                function(*arguments)
                times.append(time.perf_counter() - begin)
        return min(times)

    return min(functions, key=best)


def torch_peer(inputs, compiled):
    import torch
    from cases import Case, data, torch_function

    torch.set_num_threads(THREADS)
    case = Case(**json.load(open(f"{FOLDER}/case.json")))
    consts = {k: torch.from_numpy(v) for k, v in data(case)[1].items()}
    arguments = [torch.from_numpy(v) for v in inputs.values()]
    function = torch_function(case, consts)
    if case.family == "conv":
        # A view of channels-last memory as channels first, which is what PyTorch calls channels last.
        arguments = [arguments[0].permute(0, 3, 1, 2)]
        consts["w"] = consts["w"].contiguous(memory_format=torch.channels_last)
        if not compiled:
            function = fastest(convolutions(case, consts, arguments[0]), arguments)
    if case.family == "matmul-constant" and not compiled:
        function = fastest(products(case, consts), arguments)
    if compiled:
        import torch._inductor.config as config

        config.freezing = True
        function = torch.compile(function, dynamic=False)
    last = [None]

    def run():
        with torch.inference_mode():
            last[0] = function(*arguments)

    return run, lambda: like_reference(last[0].contiguous().numpy())


PEERS = {
    "ort": onnxruntime,
    "ov": openvino,
    "torch": lambda inputs, _: torch_peer(inputs, compiled=False),
    "inductor": lambda inputs, _: torch_peer(inputs, compiled=True),
}


def main():
    inputs = dict(np.load(f"{FOLDER}/inputs.npz"))
    reference = next(iter(np.load(f"{FOLDER}/ref.npz").values()))
    start = time.perf_counter()
    run, result = PEERS[PEER](inputs, reference)
    loaded = time.perf_counter()
    run()
    first = time.perf_counter()
    for _ in range(3):
        run()
    off = np.abs(result().astype(np.float64) - reference).max()
    say({
        "ready": True, "load_ms": (loaded - start) * 1e3, "first_ms": (first - loaded) * 1e3, "max_abs": float(off),
        "rel": float(off / max(np.abs(reference).max(), 1e-30)),
    })
    for line in sys.stdin:
        words = line.split()
        if words[:1] == ["quit"]:
            break
        seconds, least, most = float(words[1]), int(words[2]), int(words[3])
        times, begin = [], time.perf_counter()
        while len(times) < most and (len(times) < least or time.perf_counter() - begin < seconds):
            one = time.perf_counter()
            run()
            times.append((time.perf_counter() - one) * 1e3)
        say({"t": times})


try:
    main()
except Exception as error:  # the coordinator tells it and goes on without this peer
    say({"error": f"{type(error).__name__}: {error}"})
    sys.exit(1)

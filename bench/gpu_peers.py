"""What PyTorch and JAX take for the work of gpu.sh, on the GPU of the same machine: gpu_peers.py LIST.law…

Each LIST.law is a list of linear layers and ReLUs as `lawson list lower` writes it; its size is read from it. Products are in f32 without TF32, and in f16
with sums in f32. Times are medians of several blocks, with one wait at the end of each.
"""

import re
import sys
import time

import torch


def median(block, count, rounds=9):
    """Seconds of one of `count` pieces of work that `block` does, after one block to warm up."""
    block()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        block()
        seconds.append((time.perf_counter() - start) / count)
    return sorted(seconds)[rounds // 2]


def waited(work, count):
    def block():
        for _ in range(count):
            work()
        torch.cuda.synchronize()

    return block


def captured(work):
    """The same work as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def products():
    for dtype in (torch.float32, torch.float16):
        for size in (1024, 4096):
            x, w = (torch.randn(size, size, device="cuda", dtype=dtype) for _ in range(2))
            b = torch.randn(size, device="cuda", dtype=dtype)
            count = 200 if size < 2048 else 20
            plain = median(waited(captured(lambda: torch.mm(x, w)), count), count)
            whole = median(waited(captured(lambda: torch.relu_(torch.addmm(b, x, w))), count), count)
            rate = lambda s: 2 * size**3 / s / 1e12
            print(f"torch {dtype}: {size}: {rate(plain):.1f} TFLOP/s alone, {rate(whole):.1f} with bias and ReLU", flush=True)


def layers_of(path):
    text = open(path).read()
    size = int(re.search(r"f32\[(?:\d+, )?(\d+)\]", text).group(1))
    return size, re.findall(r"= (linear|relu)\b", text)


def torch_list(size, layers):
    x = torch.randn(size, size, device="cuda")
    weights = [(torch.randn(size, size, device="cuda") / size**0.5, torch.randn(size, device="cuda")) for _ in layers]

    def run(y):
        for kind, (w, b) in zip(layers, weights):
            y = torch.addmm(b, y, w) if kind == "linear" else torch.relu(y)
        return y

    with torch.no_grad():
        replay = captured(lambda: run(x))
        print(f"torch, CUDA graph, list of {size}: {1e6 * median(waited(replay, 100), 100):.1f} µs an iteration, "
              f"{1e6 * median(waited(replay, 1), 1, 201):.1f} with wait", flush=True)
        compiled = torch.compile(run, mode="max-autotune-no-cudagraphs" if size > 2048 else "reduce-overhead")
        for _ in range(4):
            compiled(x)
        torch.cuda.synchronize()
        print(f"torch.compile, list of {size}: {1e6 * median(waited(lambda: compiled(x), 1), 1, 201):.1f} µs with wait", flush=True)


def jax_list(size, layers):
    import jax
    import jax.numpy as jnp

    key = jax.random.PRNGKey(0)
    weights = [(jax.random.normal(key, (size, size)) / size**0.5, jax.random.normal(key, (size,))) for _ in layers]

    def run(y, weights):
        for kind, (w, b) in zip(layers, weights):
            y = jnp.dot(y, w, precision=jax.lax.Precision.HIGHEST) + b if kind == "linear" else jax.nn.relu(y)
        return y

    once = jax.jit(run)
    many = jax.jit(lambda y, weights: jax.lax.fori_loop(0, 100, lambda _, y: run(y, weights), y))
    x = jax.random.normal(key, (size, size))
    loop = median(lambda: many(x, weights).block_until_ready(), 100)
    single = median(lambda: once(x, weights).block_until_ready(), 1, 201)
    print(f"jax, list of {size}: {1e6 * loop:.1f} µs an iteration, {1e6 * single:.1f} with wait", flush=True)


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    a = torch.randn(1 << 26, device="cuda")
    b = torch.empty_like(a)
    print(f"device copy: {2 * a.numel() * 4 / median(waited(lambda: b.copy_(a), 50), 50) / 1e12:.2f} TB/s", flush=True)
    del a, b
    products()
    for path in sys.argv[1:]:
        size, layers = layers_of(path)
        torch_list(size, layers)
        try:
            jax_list(size, layers)
        except ImportError as e:
            print(f"jax: not there ({e})")


main()

"""Races Lawson's worker against other runtimes, block by block: see bench/README.md.

Each case starts one process a contestant; then, in every round, each of them runs one short block while the others wait. A round
gives one ratio a peer, the peer's median time over Lawson's; a case's figure is the median of these ratios, a line's the
geometric mean over its cases. Above 1 Lawson is ahead. Blocks during which others used the processors are done again. The ratio
of the fastest runs stands beside it: on a machine that is never quiet, long runs are interrupted more often than short ones.
"""
import argparse
import json
import math
import os
import select
import statistics
import subprocess
import sys
import time

import cases

HERE = os.path.dirname(os.path.abspath(__file__))
TICKS = os.sysconf("SC_CLK_TCK")
# Blocks with more foreign work than this part of a processor are done again, at most so often.
DISTURBED, RETRIES = 0.08, 4
# A contestant that is further off than this is out of the race.
TOLERANCE = 1e-4


def busy():
    """Seconds that all processors worked so far, what was stolen from this machine included."""
    words = [int(w) for w in open("/proc/stat").readline().split()[1:]]
    return sum(words[i] for i in (0, 1, 2, 5, 6, 7)) / TICKS


def used_by(pid):
    """Seconds that a process worked so far."""
    try:
        words = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / TICKS


def settle():
    """Waits, a second at most, until nobody works: pools of threads go on looking for work for a while after a block."""
    for _ in range(10):
        before = busy()
        time.sleep(0.1)
        if busy() - before < 0.02:
            return


class Contestant:
    def __init__(self, name, command, log):
        self.name, self.error, self.kept, self.best = name, None, 0.0, math.inf
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=HERE
        )
        self.start = self.answer(600)
        if "error" not in self.start and self.start.get("rel", 1.0) > TOLERANCE:
            self.start["error"] = f"results are off by {self.start['rel']:.1e}"
        self.error = self.start.get("error")

    def answer(self, seconds):
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        line = self.process.stdout.readline() if ready else ""
        try:
            return json.loads(line)
        except ValueError:
            return {"error": f"no answer, {line[:100]!r}, exit {self.process.poll()}"}

    def block(self, seconds):
        """The median milliseconds of a run in a block, and how much of a processor others used."""
        before, own, begin = busy(), used_by(self.process.pid), time.time()
        self.process.stdin.write(f"run {seconds} 2 100000\n")
        self.process.stdin.flush()
        answer = self.answer(120)
        took = max(time.time() - begin, 1e-3)
        foreign = max(0.0, (busy() - before) - (used_by(self.process.pid) - own)) / took
        if "error" in answer:
            self.error = answer["error"]
            return None, foreign
        self.best = min(self.best, min(answer["t"]))
        return statistics.median(answer["t"]), foreign

    def quiet_block(self, options):
        """The block with the least disturbance of a few."""
        best = (None, math.inf)
        for _ in range(RETRIES):
            one = self.block(options.block)
            if one[0] is None:
                return None
            best = min(best, one, key=lambda b: b[1])
            if best[1] < options.disturbed:
                break
            time.sleep(0.2)
        self.kept = max(self.kept, best[1])
        return best[0]

    def stop(self):
        try:
            self.process.stdin.write("quit\n")
            self.process.stdin.flush()
            self.process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


def race(folder, peers, threads, options):
    """Medians by contestant, and the median ratio of each peer's time to Lawson's."""
    log = open(f"{options.out}.log", "a")
    contestants = [Contestant("lawson", [options.worker, folder, str(threads)], log)]
    contestants += [
        Contestant(p, [sys.executable, f"{HERE}/peer.py", p, folder, str(threads)], log) for p in peers
    ]
    result = {c.name: {"error": c.error} if c.error else {"rel": c.start["rel"]} for c in contestants}
    running = [c for c in contestants if not c.error]
    times = {c.name: [] for c in running}
    for c in running:
        c.block(0.1)
    for round_ in range(options.rounds):
        turn = round_ % max(1, len(running))
        for c in running[turn:] + running[:turn]:
            settle()
            times[c.name].append(c.quiet_block(options))
    for c in contestants:
        c.stop()
    own = times.get("lawson", [])
    for c in running:
        medians = [t for t in times[c.name] if t is not None]
        if not medians:
            result[c.name] = {"error": c.error}
            continue
        ratios = [t / l for t, l in zip(times[c.name], own) if t is not None and l is not None]
        result[c.name].update(ms=statistics.median(medians), best_ms=c.best, foreign=c.kept)
        if c.name != "lawson" and ratios:
            best = c.best / contestants[0].best
            result[c.name].update(ratio=statistics.median(ratios), best_ratio=best, ratios=ratios)
    return result


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def show(name, threads, result):
    parts = []
    for peer, r in result.items():
        if "ms" not in r:
            parts.append(f"{peer}: {r['error'][:60]}")
        elif "ratio" in r:
            parts.append(f"{peer} {r['ms']:.3f} ({r['ratio']:.2f}, best {r['best_ratio']:.2f})")
        else:
            parts.append(f"{peer} {r['ms']:.3f}")
    print(f"{name:34} {threads}t  ms (ratio): " + "  ".join(parts), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", required=True, help="lawson-peer-worker, built with --release")
    parser.add_argument("--work", required=True, help="a folder for the models, which are written when missing")
    parser.add_argument("--peers", default="torch,ort,ov,inductor")
    parser.add_argument("--filter", action="append", default=[], help="cases whose name or line holds this")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--block", type=float, default=0.2, help="seconds of a block")
    parser.add_argument("--disturbed", type=float, default=DISTURBED, help="processors that others may use in a block")
    parser.add_argument("--model", action="append", default=[], help="a folder with model.onnx, inputs.npz and ref.npz")
    parser.add_argument("--out", help="where all figures are written as JSON [default: race.json in the folder of --work]")
    options = parser.parse_args()
    options.worker = os.path.abspath(options.worker)
    options.out = options.out or os.path.join(options.work, "race.json")
    os.makedirs(options.work, exist_ok=True)
    wanted = [
        c for c in cases.all_cases()
        if not options.filter or any(f in c.name or f in c.line for f in options.filter)
    ]
    contests = []
    if not options.model or options.filter:
        for case in wanted:
            folder = os.path.abspath(f"{options.work}/{case.name}")
            cases.write(case, folder)
            contests.append((case.name, case.line, folder, options.peers.split(",")))
    for folder in options.model:
        # Only runtimes that read ONNX can run a model that is not ours.
        peers = [p for p in options.peers.split(",") if p in ("ort", "ov")]
        name = os.path.basename(os.path.normpath(folder))
        contests.append((name, name, os.path.abspath(folder), peers))
    results, lines = [], {}
    for threads in [int(t) for t in options.threads.split(",")]:
        for name, line, folder, peers in contests:
            result = race(folder, peers, threads, options)
            show(name, threads, result)
            results.append({"case": name, "line": line, "threads": threads, "result": result})
            for peer, r in result.items():
                if "ratio" in r:
                    lines.setdefault((line, threads, peer), []).append((r["ratio"], r["best_ratio"]))
            with open(options.out, "w") as f:
                json.dump(results, f, indent=1)
    print("\nline: geometric mean of the ratios (least); the same of fastest runs; above 1 Lawson is ahead")
    for (line, threads, peer), pairs in lines.items():
        said = [f"{geometric_mean(ratios):5.2f} ({min(ratios):.2f})" for ratios in zip(*pairs)]
        print(f"{line:34} {threads}t  {peer:9} {said[0]}; {said[1]}, {len(pairs)} cases")


if __name__ == "__main__":
    main()

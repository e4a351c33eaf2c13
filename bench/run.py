#!/usr/bin/env python3
"""Runs our benchmarks and PyTorch's in turns and prints both, with the ratio and the target where there is one.

usage: run.py [core|numbers|io|save|modules|layers|training|bfloat16] [ROUNDS] [NAME...]

A figure is the median of the rounds (7). The peers take turns with us, so that whatever else the machine does
hits all of them. Names choose among the measurements of modules and layers; timings that miss their targets there are no error.
"""
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

import torch

from figures import text

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench"

# name: (at most so many nanoseconds, at least so many times faster than PyTorch called from Python)
TARGETS = {"swap": (20, None), "swap_parameters": (20, None), "empty_4": (100, 5), "narrow": (None, 10),
           "cast_400mb": (None, 1.3), "fill_400mb": (None, 1), "add_400mb": (None, 1), "mul_400mb": (None, 1), "exp_400mb": (None, 1),
           "sum_400mb": (None, 1), "rand_1e7": (None, 1), "randn_1e7": (None, 1), "add_4": (None, 5)}

SUITES = ["core", "numbers", "io", "save", "modules", "layers", "training", "bfloat16"]

TO_NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}




def peer_environment():
    """PyTorch's oneDNN dies in a virtual machine that claims tiles it does not have (src/ops/onednn/instruction_set.h): there it is
    told to do without."""
    product = "import torch; x = torch.ones(64, 64, dtype=torch.bfloat16); x @ x"
    if subprocess.run([sys.executable, "-c", product]).returncode >= 0:
        return dict(os.environ)
    return {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}


PEER_ENVIRONMENT = peer_environment()


def ours(suite):
    command = [BUILD / "bench" / f"{suite}_bench", "--benchmark_format=json", "--benchmark_min_time=0.1"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return {b["name"].removesuffix("/real_time"): b["real_time"] * TO_NANOSECONDS[b["time_unit"]] for b in report["benchmarks"]}


def build_libtorch_peer():
    """The C++ peer, if this PyTorch has what it takes to build it."""
    home = pathlib.Path(torch.__file__).parent
    program, source = BUILD / "peer_libtorch", ROOT / "bench" / "peer_libtorch.cpp"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        command = ["g++", "-std=c++20", "-O2", f"-I{home}/include", source, f"-L{home}/lib", "-Wl,--no-as-needed", "-ltorch_cpu", "-lc10",
                   f"-Wl,-rpath,{home}/lib", "-o", program]
        if subprocess.run(command, capture_output=True).returncode != 0:
            print("(libtorch from C++ is left out: its headers do not compile here)")
            return None
    return program


def run_json(*command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, env=PEER_ENVIRONMENT).stdout)


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def compare(suite, rounds, libtorch):
    """Prints the table of one suite; the names of the targets that were missed."""
    samples = {"ours": [], "python": [], "cpp": []}
    for n in range(rounds):
        print(f"round {n + 1} of {rounds}", end="\r", flush=True)
        samples["ours"].append(ours(suite))
        samples["python"].append(run_json(sys.executable, ROOT / "bench" / "peer_torch.py", suite))
        if libtorch and suite == "core":
            samples["cpp"].append(run_json(libtorch))
    median = {side: {name: statistics.median(r[name] for r in runs) for name in runs[0]} for side, runs in samples.items() if runs}

    print(f"{suite}: {cpu_name()}, {os.cpu_count()} CPUs; PyTorch {torch.__version__}; medians of {rounds} rounds\n")
    print(f"| {'what':14} | {'Tenon':>10} | {'PyTorch, Python':>15} | {'ratio':>6} | {'PyTorch, C++':>12} | {'ratio':>6} | target |")
    print("|---|---:|---:|---:|---:|---:|---|")
    missed = []
    for name, mine in median["ours"].items():
        python, cpp = median["python"].get(name), median.get("cpp", {}).get(name)
        most, factor = TARGETS.get(name, (None, None))
        wishes = ([f"<= {most} ns"] if most else []) + ([f">= {factor}x"] if factor else [])
        met = (not most or mine <= most) and (not factor or python / mine >= factor)
        if not met:
            missed.append(name)
        target = ", ".join(wishes) + ("" if not wishes else ": met" if met else ": MISSED")
        ratios = [f"{peer / mine:.1f}x" if peer else "-" for peer in (python, cpp)]
        print(f"| {name:14} | {text(mine):>10} | {text(python):>15} | {ratios[0]:>6} | {text(cpp):>12} | {ratios[1]:>6} | {target} |")
    if "cast_400mb" in median["ours"]:
        ratio = median["ours"]["cast_400mb"] / median["ours"]["memcpy_400mb"]
        print(f"\ncast_400mb takes {ratio:.2f} of the time of a memcpy of its source (target: 1.15)")
        if ratio > 1.15:
            missed.append("cast_400mb beside memcpy")
    print()
    return missed


def main():
    arguments = sys.argv[1:]
    suites = [arguments.pop(0)] if arguments and not arguments[0].isdigit() else SUITES
    rounds = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else 7
    libtorch = build_libtorch_peer() if "core" in suites else None
    missed = [name for suite in suites if suite in ("core", "numbers") for name in compare(suite, rounds, libtorch)]
    if "io" in suites:
        import io_suite
        print(f"io: {cpu_name()}, {os.cpu_count()} CPUs; PyTorch {torch.__version__}; medians of {rounds} rounds")
        missed += io_suite.run(rounds)
    if "save" in suites:
        import save_suite
        print(f"save: {cpu_name()}, {os.cpu_count()} CPUs; PyTorch {torch.__version__}; medians of at most 5 rounds")
        missed += save_suite.run(rounds)
    if "modules" in suites:
        import modules_suite
        print(f"modules: {cpu_name()}, {os.cpu_count()} CPUs; PyTorch {torch.__version__}; medians of {rounds} rounds\n")
        modules_suite.run(rounds, arguments, PEER_ENVIRONMENT)
    if "layers" in suites:
        import layers_suite
        print(f"layers: {cpu_name()}, {os.cpu_count()} CPUs; PyTorch {torch.__version__}; medians of {rounds} rounds\n")
        layers_suite.run(rounds, arguments, PEER_ENVIRONMENT)
    if "training" in suites:
        import layers_suite
        print(f"training: {cpu_name()}, {os.cpu_count()} CPUs; PyTorch {torch.__version__}; medians of {rounds} rounds\n")
        layers_suite.run(rounds, arguments, PEER_ENVIRONMENT, layers_suite.TRAINING)
    if "bfloat16" in suites:
        import layers_suite
        print(f"bfloat16: {cpu_name()}, {os.cpu_count()} CPUs; PyTorch {torch.__version__}; medians of {rounds} rounds\n")
        layers_suite.run(rounds, arguments, PEER_ENVIRONMENT, layers_suite.BFLOAT16)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

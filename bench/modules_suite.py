"""Modules: building on meta, loading, converting, copying, listing and printing them, ours beside PyTorch's.

Figures are medians of rounds in which both take turns, each time in a new process. Instructions are callgrind's, of the
load alone. The files are made once, in build/bench/checkpoints. A target that is missed is printed, and is no error.
"""
import json
import shutil
import statistics
import subprocess
import sys
import time

import safetensors.torch
import torch

import modules_peer
from figures import text
from io_suite import FILES, ROOT, SomeModule, made, row

MODULES = ROOT / "build" / "bench" / "bench" / "modules_bench"
PEER = ROOT / "bench" / "modules_peer.py"

# name: (what one unit is, at most so many nanoseconds a unit, at least so many times faster)
TARGETS = {
    "meta_linear": ("Linear(1000, 1000) on meta, made and dropped", 600, None),
    "meta_linear_construct": ("Linear(1000, 1000) on meta, made", 600, None),
    "meta_net": ("a layer of a list of 1,000 on meta, made and dropped", None, None),
    "load_10k": ("a key of an assigning load, 10,000 keys", 400, None),
    "load_500k": ("a key of an assigning load, 500,000 keys", 1000, None),
    "load_reversed_10k": ("the same, 10,000 keys in reverse order", None, None),
    "load_reversed_500k": ("the same, 500,000 keys in reverse order", None, None),
    "load_flat_10k": ("the same, 10,000 parameters of one module", None, None),
    "load_flat_500k": ("the same, 500,000 parameters of one module", None, None),
    "recipe": ("the recipe: mapped load, SomeModule(1000) on meta, assign", None, 50),
    "convert_swap": ("a parameter converted, swapping", None, 20),
    "convert_set_data": ("a parameter converted, set_data", None, None),
    "load_copy": ("a key of a load that copies", None, None),
    "load_swap": ("a key of an assigning load that swaps", None, None),
    "state_dict": ("a key of state_dict()", None, None),
    "clone": ("a parameter of a clone (deepcopy)", None, None),
    "named_parameters": ("an entry of named_parameters()", None, None),
    "parameters": ("an entry of parameters()", None, None),
    "repr": ("a layer of the text of a Sequential", None, None),
    "repr_list": ("a layer of the text of a ModuleList", None, None),
    "call_plain": ("a call of Linear(4, 4) on one row", None, None),
    "call_once_lazy": ("the same of a LazyLinear(4) that knows its size", None, None),
}
# PyTorch takes seconds for one of these: its time grows with the square of the number of modules.
SLOW = {"load_10k", "load_reversed_10k"}
COUNTED = ("load_10k", "load_500k")
CALLS = ("call_plain", "call_once_lazy")
OTHERS = ("instructions", "load_into")


def verdict(met):
    return "met" if met else "MISSED"


def asked(command, environment=None):
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, env=environment).stdout)


def times(names, rounds, environment, options):
    """Prints the table of both sides."""
    file = made("recipe.pth", lambda p: torch.save(SomeModule(1000).state_dict(), p))
    ours, theirs = {name: [] for name in names}, {name: [] for name in names if name in modules_peer.MEASUREMENTS}
    for n in range(rounds):
        for name in names:
            print(f"round {n + 1} of {rounds}: {name:24}", end="\r", flush=True)
            ours[name].append(asked([MODULES, "--file", file, *options, name])[name])
            if name in theirs and (n < 3 or name not in SLOW):
                theirs[name].append(asked([sys.executable, PEER, "--file", file, *options, name], environment)[name])
    print(" " * 60, end="\r")
    print(f"| {'what':57} | name | {'Tenon':>10} | {'PyTorch':>10} | {'ratio':>7} | target |")
    print("|---|---|---:|---:|---:|---|")
    for name in names:
        what, most, factor = TARGETS[name]
        mine = statistics.median(ours[name])
        other = statistics.median(theirs[name]) if name in theirs else None
        wishes = ([f"<= {text(most)}: {verdict(mine <= most)}"] if most else []) + \
                 ([f">= {factor}x: {verdict(other / mine >= factor)}"] if factor else [])
        ratio = f"{other / mine:.0f}x" if other else "-"
        row(f"{what:57}", name, f"{text(mine):>10}", f"{text(other):>10}", f"{ratio:>7}", ", ".join(wishes))
    print()


def instructions(name):
    """What callgrind counts for one unit. Everything but the function `measured` is left out."""
    FILES.mkdir(parents=True, exist_ok=True)
    out = FILES / f"callgrind.{name}.out"
    command = ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=measured", f"--callgrind-out-file={out}",
               MODULES, "--once", name]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    collected = int(next(line for line in done.stderr.splitlines() if "Collected" in line).split(":")[1].split()[0])
    return collected / float(done.stdout)


def count():
    if not shutil.which("valgrind"):
        print("instructions are not counted: there is no valgrind\n")
        return
    few, lots = (instructions(name) for name in COUNTED)
    print(f"instructions a key of an assigning load (callgrind): {few:.0f} at 10,000, {lots:.0f} at 500,000, ratio {lots / few:.3f}"
          f" (<= 1.05: {verdict(lots / few <= 1.05)})\n")
    plain, lazy = (instructions(name) for name in CALLS)
    print(f"instructions of a call of Linear(4, 4): {plain:.0f}, and if it was a LazyLinear {lazy:.0f}, ratio {lazy / plain:.4f}"
          f" (within 1%: {verdict(abs(lazy / plain - 1) <= 0.01)})\n")


def large_state():
    """4.3 GB of float32: the state of 64 Linear(4096, 4096), the largest tensor of which has 67 MB."""
    state = {}
    for i in range(64):
        state[f"linears.{i}.weight"] = torch.rand(4096, 4096)
        state[f"linears.{i}.bias"] = torch.rand(4096)
    return state


def load_into(rounds, environment):
    """The memory a load needs that converts on its way, and its time beside PyTorch's."""
    pth = made("4gb_float32.pth", lambda p: torch.save(large_state(), p))
    safe = made("4gb_float32.safetensors", lambda p: safetensors.torch.save_file(large_state(), p))
    largest, room = 4096 * 4096 * 4, 32 << 20
    print("| load_into, 4.3 GB of float32 in the page cache to bfloat16 | seconds | peak | targets |")
    print("|---|---:|---:|---|")
    for name, path in ((".pth", pth), (".safetensors", safe)):
        with open(path, "rb") as file:
            while file.read(1 << 24):
                pass
        ours, theirs = [], []
        for n in range(min(rounds, 5)):
            print(f"round {n + 1} of {min(rounds, 5)}: load_into {name:16}", end="\r", flush=True)
            # Twice, and the second counts: a virtual machine may have given memory back that it must first ask for.
            for command, answers, env in (([MODULES, "--load-into", path], ours, None), ([sys.executable, PEER, "--load-into", path], theirs, environment)):
                asked(command, env)
                answers.append(asked(command, env))
            time.sleep(1)
        print(" " * 60, end="\r")
        assert all(a["sum"] == theirs[0]["sum"] and a["result"] == theirs[0]["result"] for a in ours), "other values than PyTorch's"
        mine, other = (statistics.median(a["seconds"] for a in answers) for answers in (ours, theirs))
        most, bound = max(a["peak"] for a in ours), ours[0]["result"] + largest + room
        row(f"Tenon, {name}", f"{mine:.2f}", f"{most / 1e6:.0f} MB", f"<= {bound / 1e6:.0f} MB (the result, the largest tensor and 32 MB): "
            f"{verdict(most <= bound)}; {other / mine:.1f}x PyTorch's speed")
        peer = "safe_open" if path == safe else "torch.load(mmap=True)"
        row(f"PyTorch, {name}: {peer}, then .to() of each, then assign", f"{other:.2f}", f"{max(a['peak'] for a in theirs) / 1e6:.0f} MB",
            f"{theirs[0]['before'] / 1e6:.0f} MB of it before")
    print()


def run(rounds, names, environment):
    """All of it, or the measurements named. The name --cpu is for a machine that others use: the time of the thread alone."""
    options = [name for name in names if name == "--cpu"]
    names = [name for name in names if name not in options]
    for name in names:
        if name not in TARGETS and name not in OTHERS:
            sys.exit(f"there is no measurement {name}; there are {', '.join([*TARGETS, *OTHERS])}")
    chosen = names or [*TARGETS, *OTHERS]
    timed = [name for name in chosen if name in TARGETS]
    if timed:
        times(timed, rounds, environment, options)
    if "instructions" in chosen:
        count()
    if "load_into" in chosen:
        load_into(rounds, environment)

"""Reading checkpoints: ours beside torch.load and safetensors, on files these have written.

Figures are medians of rounds in which all take turns. The files are made once, in build/bench/checkpoints.
"""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import safetensors.torch
import torch

from peer_torch import per_call

ROOT = pathlib.Path(__file__).resolve().parent.parent
BENCH = ROOT / "build" / "bench" / "bench" / "io_bench"
FILES = ROOT / "build" / "bench" / "checkpoints"


class SomeModule(torch.nn.Module):
    """The module of PyTorch's recipe on loading."""

    def __init__(self, size):
        super().__init__()
        self.linears = torch.nn.ModuleList([torch.nn.Linear(size, size) for i in range(10)])


def many(count):
    return {f"layers.{i // 64}.mlp.experts.{i % 64}.weight": torch.full((2, 2), float(i)) for i in range(count)}


def large(count, bytes_each):
    return {f"layers.{i}.weight": torch.randint(-2**62, 2**62, (bytes_each // 8,)).view(torch.bfloat16) for i in range(count)}


def sparse_20gb(path):
    """2,000 tensors of 10 MB: records with their sizes, and holes in the place of their bytes."""
    with torch.serialization.skip_data():
        torch.save({f"layers.{i}.weight": torch.empty(2_500_000) for i in range(2000)}, path)


def made(name, make):
    path = FILES / name
    if not path.exists():
        FILES.mkdir(parents=True, exist_ok=True)
        print(f"making {name}", flush=True)
        part = path.with_name("part." + path.name)
        make(part)
        part.rename(path)
    return path


def ours(*arguments):
    return json.loads(subprocess.run([BENCH, *map(str, arguments)], check=True, capture_output=True).stdout)


def instructions(path):
    """What callgrind counts for loading the file once."""
    out = FILES / "callgrind.out"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", BENCH, "once", path]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(next(line for line in done.stderr.splitlines() if "Collected" in line).split(":")[1].split()[0])


def opened_by_safetensors(path):
    with safetensors.safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}


def row(*cells):
    print("| " + " | ".join(cells) + " |")


def run(rounds):
    recipe = made("recipe.pth", lambda p: torch.save(SomeModule(1000).state_dict(), p))
    recipe_safe = made("recipe.safetensors", lambda p: safetensors.torch.save_file(SomeModule(1000).state_dict(), p))
    ten_thousand = made("10k.pth", lambda p: torch.save(many(10_000), p))
    half_million = made("500k.pth", lambda p: torch.save(many(500_000), p))
    safe = made("10k.safetensors", lambda p: safetensors.torch.save_file(many(10_000), p))
    two_gb = made("2gb.pth", lambda p: torch.save(large(16, 1 << 27), p))
    two_gb_safe = made("2gb.safetensors", lambda p: safetensors.torch.save_file(large(16, 1 << 27), p))
    holes = made("20gb_sparse.pth", sparse_20gb)

    missed = []

    def target(name, met):
        if not met:
            missed.append(name)
        return "met" if met else "MISSED"

    opening = [("the recipe's file", recipe, lambda: torch.load(recipe, mmap=True), "torch.load(mmap=True)", 50, None, 0.5),
               ("10,000 tensors", ten_thousand, lambda: torch.load(ten_thousand, mmap=True), "torch.load(mmap=True)", 30, 1.0, 0.5),
               ("500,000 tensors", half_million, lambda: torch.load(half_million, mmap=True), "torch.load(mmap=True)", 30, 2.0, 0.1),
               ("the recipe's, safetensors", recipe_safe, lambda: opened_by_safetensors(recipe_safe), "safe_open", None, None, 0.5),
               ("10,000, safetensors", safe, lambda: opened_by_safetensors(safe), "safe_open", None, None, 0.5)]
    print("\n| opened mapped, all tensors made and dropped | Tenon | each | peer | time | ratio | targets |")
    print("|---|---:|---:|---|---:|---:|---|")
    for name, path, peer, peer_name, factor, most, seconds in opening:
        mine, theirs = [], []
        for _ in range(rounds if "500,000" not in name else min(rounds, 3)):
            mine.append(ours("open", path, seconds))
            theirs.append(per_call(peer, seconds))
        nanoseconds, other = statistics.median(m["nanoseconds"] for m in mine), statistics.median(theirs)
        each, ratio = nanoseconds / mine[0]["tensors"] / 1e3, other / nanoseconds
        wishes = ([f">= {factor}x: {target(name, ratio >= factor)}"] if factor else []) + \
                 ([f"<= {most} us each: {target(name + ' each', each <= most)}"] if most else [])
        row(name, f"{nanoseconds / 1e6:.3f} ms", f"{each:.2f} us", peer_name, f"{other / 1e6:.2f} ms", f"{ratio:.0f}x", ", ".join(wishes))

    if shutil.which("valgrind"):
        few, lots = instructions(ten_thousand) / 10_000, instructions(half_million) / 500_000
        print(f"\ninstructions a tensor (callgrind): {few:.0f} at 10,000, {lots:.0f} at 500,000, ratio {lots / few:.3f}"
              f" (<= 1.05: {target('instructions', lots / few <= 1.05)})")

    print("\n| loaded into memory, 2.1 GB in the page cache | seconds | GB/s | of parallel pread | target |")
    print("|---|---:|---:|---:|---|")
    answers, torch_times, safe_times, safe_ours = [], [], [], []
    for _ in range(min(rounds, 5)):
        answers.append(ours("eager", two_gb))
        safe_ours.append(ours("eager", two_gb_safe)["unchecked"])
        begin = time.perf_counter()
        torch.load(two_gb)
        torch_times.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        safetensors.torch.load_file(two_gb_safe)
        safe_times.append(time.perf_counter() - begin)
    size = two_gb.stat().st_size / 1e9
    limit = statistics.median(a["pread"] for a in answers)
    for name, seconds, least in (("parallel pread of the same bytes", limit, None),
                                 ("Tenon, checksums compared", statistics.median(a["checked"] for a in answers), 0.75),
                                 ("Tenon, without", statistics.median(a["unchecked"] for a in answers), 0.95),
                                 ("torch.load (no checksums)", statistics.median(torch_times), None),
                                 ("Tenon, safetensors", statistics.median(safe_ours), None),
                                 ("safetensors load_file", statistics.median(safe_times), None)):
        wish = f">= {least:.0%}: {target(name, limit / seconds >= least)}" if least else ""
        row(name, f"{seconds:.3f}", f"{size / seconds:.1f}", f"{limit / seconds:.0%}", wish)

    print("\n| a sparse file of 20 GB and 2,000 tensors, opened mapped | resident | time | target |")
    print("|---|---:|---:|---|")
    for name in ("cold", "cached"):
        with open(holes, "rb") as file:
            if name == "cold":
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            answer = ours("resident", holes)
        megabytes = answer["resident"] / 1e6
        row(name, f"{megabytes:.1f} MB", f"{answer['seconds'] * 1e3:.1f} ms", f"< 30 MB: {target('resident ' + name, megabytes < 30)}")
    print()
    return missed

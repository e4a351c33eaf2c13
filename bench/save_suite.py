"""Writing checkpoints: ours beside torch.save, safetensors' save_file, plain writes and cp.

Figures are medians of rounds in which all take turns, on the disk the project is on. Uses the files of io_suite.py.
"""
import json
import os
import random
import shutil
import statistics
import subprocess
import time

import safetensors.torch
import torch

from io_suite import FILES, ROOT, large, made, row

SAVE = ROOT / "build" / "bench" / "bench" / "save_bench"
TENON = ROOT / "build" / "bench" / "cli" / "tenon"


def timed(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def synced(path):
    """What the peers do not do: until the file and its name are on the disk."""
    for name in (path, path.parent):
        descriptor = os.open(name, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def in_turns(ways, rounds, folder):
    """Seconds of each way, by name. A disk is slower after much writing: the order is another in each round, with a rest before each."""
    times = {name: [] for name in ways}
    draw = random.Random(rounds)
    for _ in range(rounds):
        for name in draw.sample(list(ways), len(ways)):
            for left in folder.iterdir():
                left.unlink()
            os.sync()
            time.sleep(3)
            times[name].append(ways[name]())
    return times


def resident(command):
    """Seconds, and the most memory a command had. Asked again and again: what the system says at the end counts ours, too."""
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    most = 0
    while child.poll() is None:
        try:
            for line in open(f"/proc/{child.pid}/status"):
                if line.startswith("VmHWM:") and os.readlink(f"/proc/{child.pid}/exe") == str(TENON):
                    most = max(most, int(line.split()[1]) * 1024)
        except (OSError, ValueError):
            pass
        time.sleep(0.01)
    assert child.returncode == 0, command
    return time.perf_counter() - begin, most


def run(rounds):
    rounds = min(rounds, 5)
    two_gb = made("2gb.pth", lambda p: torch.save(large(16, 1 << 27), p))
    four_gb = made("4gb.pth", lambda p: torch.save(large(32, 1 << 27), p))
    folder = FILES / "written"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    missed = []

    def target(name, met):
        if not met:
            missed.append(name)
        return "met" if met else "MISSED"

    state = torch.load(two_gb)

    def ours(what):
        answer = subprocess.run([SAVE, two_gb, folder, "sync", what], check=True, capture_output=True, text=True).stdout
        return json.loads(answer)["seconds"]

    def by_torch():
        torch.save(state, folder / "torch.pth")
        synced(folder / "torch.pth")

    def by_safetensors():
        safetensors.torch.save_file(state, folder / "peer.safetensors")
        synced(folder / "peer.safetensors")

    ways = {"plain": lambda: ours("plain"), "pth": lambda: ours("pth"), "safetensors": lambda: ours("safetensors"),
            "torch": lambda: timed(by_torch), "peer": lambda: timed(by_safetensors)}
    times = in_turns(ways, rounds, folder)
    size = sum(t.nbytes for t in state.values()) / 1e9
    plain, pth, safe, by_torch_time, by_safe_time = (statistics.median(times[name]) for name in ways)
    print("\n| written and on the disk, 2.1 GB | seconds | GB/s | of plain writes | targets |")
    print("|---|---:|---:|---:|---|")
    row("plain parallel writes, the same syncs", f"{plain:.3f}", f"{size / plain:.2f}", "100%", "")
    row("Tenon, .pth with checksums", f"{pth:.3f}", f"{size / pth:.2f}", f"{plain / pth:.0%}",
        f">= 85%: {target('pth', plain / pth >= 0.85)}, faster than torch.save: {target('torch.save', pth < by_torch_time)}")
    row("Tenon, .safetensors", f"{safe:.3f}", f"{size / safe:.2f}", f"{plain / safe:.0%}",
        f">= 85%: {target('safetensors', plain / safe >= 0.85)}, faster than save_file: {target('save_file', safe < by_safe_time)}")
    row("torch.save, then fsync", f"{by_torch_time:.3f}", f"{size / by_torch_time:.2f}", f"{plain / by_torch_time:.0%}", "")
    row("safetensors save_file, then fsync", f"{by_safe_time:.3f}", f"{size / by_safe_time:.2f}", f"{plain / by_safe_time:.0%}", "")
    del state

    print("\n| converted, 4.3 GB in the page cache | seconds | of cp's speed | resident | targets |")
    print("|---|---:|---:|---:|---|")
    budget = 256 << 20
    memory = []

    def copy():
        subprocess.run(["cp", four_gb, folder / "copy.pth"], check=True)
        synced(folder / "copy.pth")

    def converted(name):
        seconds, most = resident([TENON, "convert", "--memory", str(budget), four_gb, folder / name])
        memory.append(most)
        return seconds

    times = in_turns({"cp": lambda: timed(copy), "pth": lambda: converted("4gb.pth"),
                      "safetensors": lambda: converted("4gb.safetensors")}, rounds, folder)
    copy, same, other, most = statistics.median(times["cp"]), times["pth"], times["safetensors"], max(memory)
    row("cp, then fsync", f"{copy:.2f}", "100%", "", "")
    for name, times in (("tenon convert to .pth", same), ("tenon convert to .safetensors", other)):
        seconds = statistics.median(times)
        row(name, f"{seconds:.2f}", f"{copy / seconds:.0%}", f"{most / 1e6:.0f} MB",
            f">= 80%: {target(name, copy / seconds >= 0.8)}, <= {budget / 1e6:.0f} MB: {target('memory', most <= budget)}")
    print()
    shutil.rmtree(folder)
    return missed

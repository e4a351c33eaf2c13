#!/usr/bin/env python3
"""Random programs over modules, run in PyTorch and in Tenon.

usage: modules.py MODULE_PROGRAMS [SEED [COUNT]]
       modules.py MODULE_PROGRAMS FILE

A program has sixty steps, drawn one after another by what is there (module_draws.py) and run in PyTorch as they are drawn
(module_world.py); MODULE_PROGRAMS runs them in Tenon, and both say what happened and what there is after every step. What
docs/divergences.md lists is left out of the programs, or of the comparison, by the tables of module_left_out.py. Where the two differ,
steps are taken out for as long as they still do, and what is left is printed with what both say. With FILE, the program in it is run.
"""
import itertools
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import torch
from module_classes import Scaled
from module_draws import draw
from module_left_out import LEFT_OUT, check_table, same_error
from module_world import World
from torch.nn.parameter import is_lazy

STEPS = 60
LISTS = (torch.nn.Sequential, torch.nn.ModuleList)
CONTAINERS = {"pop": (*LISTS, torch.nn.ModuleDict, torch.nn.ParameterDict), "append": LISTS, "insert": LISTS}
NUMBERS = re.compile(r"\(([^()]*)\)")


def left_out(world, line):
    """Why a step is not taken, or nothing."""
    words = line.split()
    for reason, _, applies in LEFT_OUT:
        try:
            if applies(world, words):
                return reason
        except (KeyError, AttributeError, IndexError):  # it names what is not there
            continue
    return None


def missing(world, line):
    """Whether a step names a variable that is not there any more, or a key of an empty dict."""
    words = line.split()
    made = {"make": 1, "clone": 1, "state_dict": 1, "copy_state": 1, "clone_state": 1, "file": 1, "hold": 1, "view": 1, "detach": 1, "forward": 1,
            "hook": 1, "sgd": 1, "submodule": 1}.get(words[0], 0)
    for word in words[1 + made:]:
        if re.fullmatch(r"[mstho]\d", word) and word not in {"m": world.m, "s": world.s, "t": world.t, "h": world.h, "o": world.o}[word[0]]:
            return True
    if words[0] in ("pop", "append", "insert") and not isinstance(world.m[words[1]], CONTAINERS[words[0]]):
        return True
    if words[0] in ("tie", "untie", "wrap", "swap", "swap_new", "write", "set_grad", "set_data", "hold", "view", "detach") or (
            words[0] == "requires_grad" and words[2] != "."):
        for name, path in zip(words[1:], words[2:]):
            if name in world.m and path not in world.m:
                try:
                    if world.tensor(name, path) is None:
                        return True
                except (KeyError, AttributeError):
                    return True
    if words[0] in ("reshape_key", "cast_key", "meta_key", "wrap_key") and world.s[words[1]]:
        value = world.s[words[1]][world.key(*words[1:3])]
        return not isinstance(value, torch.Tensor) or is_lazy(value) or isinstance(value, Scaled)
    return words[0].endswith("_key") and words[0] != "set_key" and not world.s[words[1]]


def run(lines):
    """The lines that can be run one after another, and what PyTorch says to each; then what there is in the end."""
    world = World()
    kept, said = [], []
    for line in lines:
        if missing(world, line) or left_out(world, line):
            continue
        kept.append(line)
        said.append(world.step(line))
    said.append(["end"] + world.all_text())
    return kept, said


def generated(seed):
    chosen = random.Random(seed)
    world = World()
    kept, said = [], []
    for _ in range(100 * STEPS):
        if len(kept) == STEPS:
            break
        line = draw(chosen, world)
        if left_out(world, line):
            continue
        kept.append(line)
        said.append(world.step(line))
    said.append(["end"] + world.all_text())
    return kept, said


def run_tenon(program, programs):
    """What Tenon says to each of the programs, in the form of run()."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        for lines in programs:
            file.write("".join(line + "\n" for line in lines) + "\n")
        file.flush()
        done = subprocess.run([program, file.name], stdout=subprocess.PIPE, text=True)
    answers = []
    for text in done.stdout.split("\n\n")[:len(programs)]:
        steps = []
        for line in text.split("\n"):
            if line.startswith("> ") or line == "end":
                steps.append([])
            steps[-1].append(line)
        answers.append(steps)
    if done.returncode != 0:
        answers.append([[f"ended with {done.returncode}"]])
    return answers


def close(theirs, ours, limit):
    """Whether two lines say the same, numbers in them to rounding."""
    if theirs == ours:
        return True
    if limit == 0 or NUMBERS.sub("", theirs) != NUMBERS.sub("", ours):
        return False
    for a, b in zip(NUMBERS.findall(theirs), NUMBERS.findall(ours), strict=True):
        try:
            for x, y in zip(map(float, a.split()), map(float, b.split()), strict=True):
                if not (x == y or (math.isnan(x) and math.isnan(y)) or abs(x - y) <= limit * max(1, abs(x))):
                    return False
        except ValueError:
            return False
    return True


def difference(theirs, ours):
    """Where two programs say different things first: the number of the step, and two lines."""
    limit, narrow = 0, False  # of numbers that layers have calculated, and that went on from there
    for i, (a, b) in enumerate(itertools.zip_longest(theirs, ours, fillvalue=[""])):
        narrow = narrow or "float16" in a[0]
        if limit or a[0].startswith("> forward"):
            limit = 1e-1 if narrow else 1e-3
        for x, y in itertools.zip_longest(a, b, fillvalue="(nothing)"):
            if not (same_error(a[0], x, y) if x.startswith("error ") else close(x, y, limit)):
                return i, x, y
    return None


def differs(program, lines):
    kept, theirs = run(lines)
    return kept, difference(theirs, (run_tenon(program, [kept]) or [[]])[0])


def shrunk(program, lines):
    """As few steps as still differ."""
    at = differs(program, lines)[1]
    lines = lines[:at[0] + 1]
    size = len(lines) // 2
    while size >= 1:
        begin = 0
        while begin < len(lines):
            fewer = lines[:begin] + lines[begin + size:]
            kept, found = differs(program, fewer)
            if found is not None:
                lines = kept
            else:
                begin += size
        size //= 2
    return lines


def show(program, lines):
    kept, theirs = run(lines)
    ours = (run_tenon(program, [kept]) or [[]])[0]
    found = difference(theirs, ours)
    print("\n".join("    " + line for line in kept))
    if found is None:
        print("  no difference")
        return False
    step, a, b = found
    print(f"  differ at {kept[step] if step < len(kept) else 'the end'}\n    PyTorch: {a}\n    Tenon:   {b}", flush=True)
    return True


def main():
    torch.set_num_threads(1)
    check_table()
    program = sys.argv[1]
    if len(sys.argv) > 2 and not sys.argv[2].isdigit():
        return show(program, pathlib.Path(sys.argv[2]).read_text().split("\n")[:-1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**9)
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    failed, steps, errors = 0, 0, 0
    for begin in range(0, count, 100):
        seeds = range(seed + begin, min(seed + begin + 100, seed + count))
        programs = [generated(one) for one in seeds]
        answers = run_tenon(program, [kept for kept, _ in programs])
        for one, (kept, theirs), ours in itertools.zip_longest(seeds, programs, answers[:len(programs)], fillvalue=[]):
            steps += len(kept)
            errors += sum(said[1].startswith("error") for said in theirs[:-1])
            if difference(theirs, ours) is None:
                continue
            failed += 1
            if failed <= 5:
                print(f"DIFFERS: module program of seed {one}")
                show(program, shrunk(program, kept))
    print(f"{'DIFFERS' if failed else 'ok'}: {count} module programs from seed {seed}, {steps} steps, {errors} of them refused: {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Random pickles, read by `tenon inspect` and by Python's own unpickler with the same names: Tenon refuses, or both say the same.

usage: differential.py TENON [--seconds S] [--programs N] [--seed N] [--strict] [--settled] [--keep FOLDER]

Python's side has every name that Tenon knows: of torch's functions there are stand-ins, which check what those do about their
arguments' types and lengths, and not what is in storages. A program may take five seconds, and a gigabyte. Programs are made of
the operations that checkpoints have, in protocols 2 to 5, and wrapped as torch.save wraps them. What is different is shrunk and
printed, one line for an operation, with the seed that makes it again. Exits with 1 if anything is. What Tenon reads and
Python does not is different too, unless it is a value that nothing needs; with --strict, always. With --settled, no list or dict
is changed by way of the memo: one that a call has taken is what it was then to Python, whatever is put into it later.
"""
import argparse
import collections
import io
import json
import os
import pathlib
import pickletools
import resource
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

from generator import Generator
from stand_ins import STORED, LazyUnpickler, in_order, python_says, text_of

SECONDS, KILOBYTES = 5, 2**20


# ---- what Tenon makes of it

def archive(program):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in (("data.pkl", program), ("byteorder", b"little"), ("data/0", bytes(range(STORED))),
                              ("data/1", bytes(range(1, STORED + 1))), ("data/2", bytes(STORED)),
                              ("data/3", bytes(STORED)), ("version", b"3\n")):
            file.writestr(zipfile.ZipInfo("archive/" + name), content)
    return out.getvalue()


FACTS = ("dtype", "shape", "stride", "offset", "requires_grad", "parameter")


def seen(value, tensors, lazy):
    """The same with tensors as their facts, and sets in one order."""
    if isinstance(value, list):
        return [seen(item, tensors, lazy) for item in value]
    if not isinstance(value, dict):
        return value
    if list(value) == ["tensor"] and isinstance(value["tensor"], str):
        facts = tensors.get(value["tensor"])
        return {"tensor": facts and [facts[key] for key in FACTS]}
    if list(value) == ["uninitialized"] and isinstance(value["uninitialized"], str):
        facts = lazy.get(value["uninitialized"])
        return {"uninitialized": facts and [facts[key] for key in ("dtype", "device", "requires_grad", "parameter")]}
    if list(value) == ["set"] and isinstance(value["set"], list):
        return {"set": in_order(seen(value["set"], tensors, lazy))}
    return {key: seen(item, tensors, lazy) for key, item in value.items()}


def tenon_says(command, program, path):
    path.write_bytes(archive(program))
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen([command, "inspect", "--json", str(path)], stdout=out, stderr=errors)
        timer = threading.Timer(SECONDS, child.kill)
        timer.start()
        _, status, used = os.wait4(child.pid, 0)  # of this one alone
        late = not timer.is_alive()
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        for stream in (out, errors):
            stream.seek(0)
        done = subprocess.CompletedProcess(child.args, child.returncode, out.read(), errors.read())
    if late:
        return None, f"FAILED: more than {SECONDS} seconds"
    # The peak of a process begins with that of the one it is a copy of.
    if used.ru_maxrss > max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, KILOBYTES):
        return None, f"FAILED: {used.ru_maxrss // 1024} MB"
    if done.returncode == 3:
        return None, done.stderr.decode(errors="replace").strip()
    if done.returncode != 0:
        return None, f"FAILED with {done.returncode}: {done.stderr.decode(errors='replace')}"
    said = json.loads(done.stdout)
    tensors, lazy = ({one["name"]: one for one in said[kind]} for kind in ("tensors", "uninitialized"))
    return seen(said["values"], tensors, lazy), None


def difference(command, program, path, strict):
    """Empty, or what is different. As often as not both refuse, which is none."""
    mine, refused = tenon_says(command, program, path)
    if refused is not None:
        return refused if refused.startswith("FAILED") else ""
    theirs, failed = python_says(program)
    if failed is not None and not strict:
        theirs, failed = python_says(program, LazyUnpickler)
    if failed is not None:
        return f"Tenon says {text_of(mine)}, and Python {failed}"
    # As text: 1, 1.0 and True are the same to Python, as are 0.0 and -0.0.
    if text_of(mine) != text_of(theirs):
        return f"Tenon says {text_of(mine)}, and Python {text_of(theirs)}"
    return ""


# The first bytes of operations that push a number, a text or the like, and of PROTO.
PLAIN = {bytes([op]) for op in b"NKMJGXUTCB\x80\x88\x89\x8a\x8b\x8c\x8d\x8e"}


# ---- what is found

def finished(body):
    """The operations, and behind them those that make one value of whatever is left. None if they need what is not there."""
    stack = []
    for op, _, _ in pickletools.genops(b"".join(body) + b"."):
        if op.name == "STOP":
            break
        if op.name == "POP" and stack and stack[-1] is None:
            stack.pop()
            continue
        needs = [None if kind is pickletools.markobject else kind for kind in op.stack_before]
        if None in needs:
            if None not in stack:
                return None
            while stack.pop() is not None:
                pass
            needs = needs[:needs.index(None)]
        if len(needs) > len(stack) or None in stack[len(stack) - len(needs):]:
            return None
        del stack[len(stack) - len(needs):]
        stack += [None if kind is pickletools.markobject else kind for kind in op.stack_after]
    tail = []
    while None in stack:
        while stack.pop() is not None:
            pass
        stack.append(True)
        tail.append(b"t")
    tail += [b"\x86"] * (len(stack) - 1) if stack else [b"N"]
    return body + tail + [b"."]


def shrunk(command, ops, path, strict):
    """The shortest that is still different, by leaving operations out."""
    body = ops[:-1]
    while body and body[-1] in (b"\x86", b"t"):
        body = body[:-1]
    size = len(body)
    while size > 0:
        at = 1
        while at < len(body):
            fewer = finished(body[:at] + body[at + size:])
            if fewer and difference(command, b"".join(fewer), path, strict):
                body = body[:at] + body[at + size:]
            else:
                at += 1
        size = size // 2 if size > 8 else size - 1
    return finished(body) if difference(command, b"".join(finished(body) or []), path, strict) else ops


def shown(ops):
    lines = []
    for op in ops:
        try:
            found = next(pickletools.genops(op + b"."))
            lines.append(f"  {op!r:40} {found[0].name} {'' if found[1] is None else repr(found[1])}")
        except ValueError:
            lines.append(f"  {op!r}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tenon")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--programs", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--settled", action="store_true")
    parser.add_argument("--keep", help="a folder for the files that are different")
    options = parser.parse_args()
    command = os.path.abspath(options.tenon)
    print(f"seed {options.seed}")
    counts, kinds, end = collections.Counter(), {}, time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.pth"
        for seed in range(options.seed, options.seed + options.programs):
            if time.monotonic() > end:
                break
            ops = Generator(seed, options.settled).make()
            program = b"".join(ops)
            wrong = difference(command, program, path, options.strict)
            counts["programs"] += 1
            counts["read by Python"] += python_says(program)[1] is None
            if not wrong:
                continue
            counts["different"] += 1
            ops = shrunk(command, ops, path, options.strict)
            # Those that shrink to the same operations are one finding, whatever the numbers and texts are.
            kind = tuple(op for op in ops if op[:1] not in PLAIN)
            if kind in kinds:
                continue
            kinds[kind] = seed
            wrong = difference(command, b"".join(ops), path, options.strict) or wrong
            print(f"\nprogram {seed}: {wrong}\n{shown(ops)}", flush=True)
            if options.keep:
                pathlib.Path(options.keep, f"program_{seed}.pth").write_bytes(archive(b"".join(ops)))
            if len(kinds) >= 30:
                break
    print(f"\n{counts['programs']} programs, {counts['read by Python']} of them read by Python; {counts['different']} different")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())

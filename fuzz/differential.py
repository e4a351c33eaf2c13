#!/usr/bin/env python3
"""Random pickles, read by `tenon inspect` and by Python's own unpickler with the same names: Tenon refuses, or both say the same.

usage: differential.py TENON [--seconds S] [--programs N] [--seed N] [--strict] [--settled] [--keep FOLDER]

Programs are made of the operations that checkpoints have, in protocols 2 to 5, and wrapped as torch.save wraps them. What is
different is shrunk and printed, one line for an operation, with the seed that makes it again. Exits with 1 if anything is.
With --strict, what Tenon reads and Python does not is different too. With --settled, no list or dict is changed by way of the
memo: one that a call has taken is what it was then to Python, whatever is put into it later.
"""
import argparse
import collections
import io
import json
import math
import os
import pathlib
import pickle
import pickletools
import random
import struct
import subprocess
import sys
import tempfile
import time
import zipfile


# ---- what Python makes of a program

class Wrong(Exception):
    """What torch's own functions would raise."""


class Size(tuple):
    pass


class Named:
    """A dtype, a device or a layout: its kind and its name."""

    def __init__(self, kind, name):
        self.kind, self.name = kind, name


class Tensor:
    def __init__(self, dtype, shape, stride, offset, requires_grad):
        self.facts = [dtype, list(shape), list(stride), offset, requires_grad]


class Storage:
    def __init__(self, dtype, count):
        self.dtype, self.count = dtype, count


class Device(Named):
    def __new__(cls, kind, index=None):
        if not isinstance(kind, str):
            raise Wrong
        return Named("device", kind if index is None else f"{kind}:{index}")


def layout(name):
    if not isinstance(name, str):
        raise Wrong
    return Named("layout", name)


def whole(numbers):
    # Sizes are taken when the call is made, whatever becomes of the list.
    if not isinstance(numbers, (tuple, list)) or any(type(n) is not int for n in numbers):
        raise Wrong
    return tuple(numbers)


def rebuild_tensor(storage, offset, size, stride, requires_grad, hooks, metadata=None):
    if not isinstance(storage, Storage) or type(offset) is not int:
        raise Wrong
    return Tensor(storage.dtype, whole(size), whole(stride), offset, requires_grad)


STORAGES = {"FloatStorage": ("float32", 4), "LongStorage": ("int64", 8), "ByteStorage": ("uint8", 1)}
NAMES = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("collections", "Counter"): collections.Counter,
    ("_codecs", "encode"): __import__("_codecs").encode,
    ("torch", "Size"): Size,
    ("torch", "device"): Device,
    ("torch.serialization", "_get_layout"): layout,
    ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor,
}
for name in ("set", "frozenset", "bytes", "bytearray", "complex"):
    for module in ("builtins", "__builtin__"):
        NAMES[module, name] = getattr(__import__("builtins"), name)
for name in ("float32", "int64", "bfloat16"):
    NAMES["torch", name] = Named("dtype", name)
for name in STORAGES:
    NAMES["torch", name] = Named("storage", name)


class Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        return NAMES[module, name]

    def persistent_load(self, saved):
        kind, storage, key, location, count = saved
        if kind != "storage" or storage.kind != "storage":
            raise Wrong
        return Storage(STORAGES[storage.name][0], count)


def as_json(value, within=()):
    """What `tenon inspect --json` prints of the value, as Python reads that."""
    if id(value) in within:
        raise Wrong("it contains itself")
    inside = (*within, id(value))
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 2**53 else {"int": str(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": "nan" if value != value else "inf" if value > 0 else "-inf"}
    if isinstance(value, complex):
        return {"complex": [as_json(value.real), as_json(value.imag)]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": value.hex()}
    if isinstance(value, Size):
        return {"size": list(value)}
    if isinstance(value, Named) and value.kind != "storage":
        return {value.kind: value.name}
    if isinstance(value, Tensor):
        return {"tensor": value.facts}
    if isinstance(value, tuple):
        return {"tuple": [as_json(item, inside) for item in value]}
    if isinstance(value, list):
        return [as_json(item, inside) for item in value]
    if isinstance(value, (set, frozenset)):
        return {"set": in_order([as_json(item, inside) for item in value])}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: as_json(item, inside) for key, item in value.items()}
        return {"dict": [[as_json(key, inside), as_json(item, inside)] for key, item in value.items()]}
    raise Wrong(f"a {type(value).__name__} where a value should be")


def in_order(items):
    return sorted(items, key=text_of)


def text_of(value):
    return json.dumps(value)


def python_says(program):
    try:
        return as_json(Unpickler(io.BytesIO(program), encoding="utf-8").load()), None
    except Exception as error:  # whatever a program does to it
        return None, f"{type(error).__name__}: {error}"


# ---- what Tenon makes of it

def archive(program):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in (("data.pkl", program), ("byteorder", b"little"), ("data/0", bytes(range(64))),
                              ("version", b"3\n")):
            file.writestr(zipfile.ZipInfo("archive/" + name), content)
    return out.getvalue()


def seen(value, tensors):
    """The same with tensors as their facts, and sets in one order."""
    if isinstance(value, list):
        return [seen(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if list(value) == ["tensor"] and isinstance(value["tensor"], str):
        facts = tensors.get(value["tensor"])
        return {"tensor": facts and [facts[key] for key in ("dtype", "shape", "stride", "offset", "requires_grad")]}
    if list(value) == ["set"] and isinstance(value["set"], list):
        return {"set": in_order(seen(value["set"], tensors))}
    return {key: seen(item, tensors) for key, item in value.items()}


def tenon_says(command, program, path):
    path.write_bytes(archive(program))
    done = subprocess.run([command, "inspect", "--json", str(path)], capture_output=True)
    if done.returncode == 3:
        return None, done.stderr.decode(errors="replace").strip()
    if done.returncode != 0:
        return None, f"FAILED with {done.returncode}: {done.stderr.decode(errors='replace')}"
    said = json.loads(done.stdout)
    return seen(said["values"], {tensor["name"]: tensor for tensor in said["tensors"]}), None


def difference(command, program, path, strict):
    """Empty, or what is different. As often as not both refuse, which is none."""
    mine, refused = tenon_says(command, program, path)
    if refused is not None:
        return refused if refused.startswith("FAILED") else ""
    theirs, failed = python_says(program)
    if failed is not None:
        return f"Tenon says {text_of(mine)}, and Python {failed}" if strict else ""
    # As text: 1, 1.0 and True are the same to Python, as are 0.0 and -0.0.
    if text_of(mine) != text_of(theirs):
        return f"Tenon says {text_of(mine)}, and Python {text_of(theirs)}"
    return ""


# ---- programs

# The first bytes of operations that push a number, a text or the like, and of PROTO.
PLAIN = {bytes([op]) for op in b"NKMJGXUTCB\x80\x88\x89\x8a\x8b\x8c\x8d\x8e"}
KEYS = {"int", "text", "float", "bool", "none", "bytes", "tuple", "dtype"}

SETTLED = KEYS | {"bytearray", "set", "complex", "size", "device", "tensor", "global"}


class Generator:
    """One program, as a list of operations. `stack` and `memo` are the kinds of what will be there; None is a mark."""

    def __init__(self, seed, settled):
        self.settled = settled
        self.random = random.Random(seed)
        self.ops, self.stack, self.memo, self.stored = [], [], {}, 0
        self.protocol = self.random.choice((2, 2, 3, 4, 5))

    def make(self):
        self.emit(b"\x80" + bytes([self.protocol]))
        for _ in range(self.random.choice((4, 8, 15, 30, 60))):
            self.step()
        while None in self.stack:
            self.close("tuple")
        if not self.stack:
            self.emit(b"N", 0, "none")
        while len(self.stack) > 1:
            self.emit(b"\x86", 2, "tuple")
        return self.ops + [b"."]

    def emit(self, op, taken=0, *made):
        self.ops.append(op)
        if taken:
            del self.stack[-taken:]
        self.stack.extend(made)

    def above(self):
        return len(self.stack) - (len(self.stack) - 1 - self.stack[::-1].index(None)) - 1 if None in self.stack else len(self.stack)

    def close(self, kind):
        n = self.above()
        self.emit({"tuple": b"t", "list": b"l", "dict": b"d", "set": b"\x91"}[kind], n + 1, kind)

    # Values that need nothing.

    def text(self, text=None):
        if text is None:
            text = self.random.choice(("a", "b", "", "é", "x.y", "1", "tuple"))
        raw = text.encode()
        forms = [b"X" + struct.pack("<I", len(raw)), b"U" + bytes([len(raw)]), b"T" + struct.pack("<I", len(raw))]
        forms += [b"\x8c" + bytes([len(raw)]), b"\x8d" + struct.pack("<Q", len(raw))] if self.protocol >= 4 else []
        self.emit((forms[0] if self.random.random() < 0.6 else self.random.choice(forms)) + raw, 0, "text")

    def integer(self, value=None):
        if value is None:
            value = self.random.choice((0, 1, 1, 2, 255, 256, 65536, -1, 2**31, 2**53 + 1, -2**63, 2**63, 2**70, -2**64))
        forms = []
        if 0 <= value < 256:
            forms.append(b"K" + bytes([value]))
        if 0 <= value < 65536:
            forms.append(b"M" + struct.pack("<H", value))
        if -2**31 <= value < 2**31:
            forms.append(b"J" + struct.pack("<i", value))
        long = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        forms += [b"\x8a" + bytes([len(long)]) + long, b"\x8b" + struct.pack("<i", len(long)) + long]
        if value == 0:
            forms.append(b"\x8a\x00")
        self.emit(forms[0] if self.random.random() < 0.7 else self.random.choice(forms), 0, "int")

    def plain(self):
        choice = self.random.randrange(10)
        if choice == 0:
            self.emit(b"N", 0, "none")
        elif choice in (1, 2):
            self.emit(self.random.choice((b"\x88", b"\x89")), 0, "bool")
        elif choice == 3:
            value = self.random.choice((0.0, -0.0, 1.0, 1.0, 0.1, 2.0**53, 1e300, math.inf, math.nan))
            self.emit(b"G" + struct.pack(">d", value), 0, "float")
        elif choice == 4:
            raw = self.random.choice((b"", b"a", b"\xff\x00"))
            forms = [b"C" + bytes([len(raw)]), b"B" + struct.pack("<I", len(raw)), b"\x8e" + struct.pack("<Q", len(raw))]
            self.emit(self.random.choice(forms) + raw, 0, "bytes")
        elif choice == 5 and self.protocol == 5:
            self.emit(b"\x96" + struct.pack("<Q", 2) + b"xy", 0, "bytearray")
        elif choice in (6, 7):
            self.integer()
        else:
            self.text()

    def name(self, module, name):
        if self.protocol >= 4 and self.random.random() < 0.3:
            self.text(module)
            self.text(name)
            self.emit(b"\x93", 2, "global")
        else:
            self.emit(f"c{module}\n{name}\n".encode(), 0, "global")

    # What is taken from the memo may be anything, made right or not.
    def known(self, kinds=None):
        fitting = [i for i, kind in self.memo.items() if kinds is None or kind in kinds]
        if not fitting:
            return False
        index = self.random.choice(fitting)
        op = b"h" + bytes([index]) if index < 256 and self.random.random() < 0.8 else b"j" + struct.pack("<I", index)
        self.emit(op, 0, self.memo[index])
        return True

    def remember(self):
        if not self.above():
            return
        kind = self.stack[-1]
        if self.protocol >= 4 and self.random.random() < 0.5:
            self.emit(b"\x94")
            self.memo[len(self.memo)] = kind
            return
        index = self.random.choice((len(self.memo), len(self.memo), len(self.memo), self.random.randrange(12)))
        self.emit(b"q" + bytes([index]) if self.random.random() < 0.8 else b"r" + struct.pack("<I", index))
        self.memo[index] = kind

    # Something more for a list or a dict that is already somewhere.
    def change(self):
        if self.settled or not self.known({"list", "dict"}):
            return
        if self.stack[-1] == "list":
            self.plain()
            self.emit(b"a", 1)
        else:
            self.key()
            self.plain()
            self.emit(b"s", 2)
        self.emit(b"0", 1)

    # A call of one of the names: the arguments are on the stack as a tuple.
    def call(self, made):
        self.emit(b"\x81" if self.random.random() < 0.12 else b"R", 2, made)

    def arguments(self, n):
        self.emit((b")", b"\x85", b"\x86", b"\x87")[n], n, "tuple")

    def container(self, pairs=False):
        """A list or a dict for a call, made now or taken from the memo."""
        if self.random.random() < 0.4 and self.known({"list", "dict", "tuple"}):
            return
        if self.random.random() < 0.3:
            self.emit(b"}", 0, "dict")
        else:
            self.emit(b"]", 0, "list")
            self.remember()
            for _ in range(self.random.randrange(4)):
                if pairs:
                    self.key()
                    self.plain()
                    self.arguments(2)
                else:
                    self.key()
                self.emit(b"a", 1)
        self.remember()

    def key(self):
        if self.random.random() < 0.15 and self.known(KEYS):
            return
        if self.random.random() < 0.1:
            self.plain()
            self.plain()
            self.arguments(2)
        else:
            self.plain()

    def made(self):
        builtins = self.random.choice(("__builtin__", "builtins"))
        choice = self.random.randrange(12)
        if choice < 3:
            self.name("collections", self.random.choice(("OrderedDict", "OrderedDict", "Counter")))
            if self.random.random() < 0.5:
                self.arguments(0)
            else:
                self.container(pairs=True)
                self.arguments(1)
            self.call("dict")
        elif choice < 5:
            self.name(builtins, self.random.choice(("set", "frozenset")))
            if self.random.random() < 0.2:
                self.arguments(0)
            else:
                self.container()
                self.arguments(1)
            self.call("set")
        elif choice == 5:
            self.name("_codecs", "encode")
            self.text(self.random.choice(("", "a", "é", "ÿ\0")))
            self.text("latin1")
            self.arguments(2)
            self.call("bytes")
        elif choice == 6:
            self.name(builtins, self.random.choice(("bytes", "bytearray")))
            n = self.random.randrange(3)
            for _ in range(n):
                if not self.known({"bytes", "bytearray"}):
                    self.plain()
            self.arguments(n)
            self.call("bytes")
        elif choice == 7:
            self.name(builtins, "complex")
            self.plain()
            self.plain()
            self.arguments(2)
            self.call("complex")
        elif choice == 8:
            self.name("torch", "Size")
            self.container()
            self.arguments(1)
            self.call("size")
        elif choice == 9:
            self.name("torch", self.random.choice(("float32", "int64", "bfloat16")))
            self.stack[-1] = "dtype"
        elif choice == 10:
            self.name("torch", "device")
            self.text(self.random.choice(("cpu", "cuda")))
            self.integer(0)
            n = self.random.choice((1, 2))
            if n == 1:
                self.emit(b"0", 1)
            self.arguments(n)
            self.call("device")
        else:
            self.tensor()

    def tensor(self):
        self.name("torch._utils", "_rebuild_tensor_v2")
        self.emit(b"(", 0, None)
        self.emit(b"(", 0, None)
        self.text("storage")
        self.name("torch", "FloatStorage")
        self.text("0")
        self.text("cpu")
        self.integer(16)
        self.close("tuple")
        self.emit(b"Q", 1, "storage")
        self.integer(self.random.choice((0, 1)))
        for number in (2, 1):
            if not (self.random.random() < 0.3 and self.known({"list", "tuple"})):
                self.emit(b"]", 0, "list")
                self.remember()
                self.integer(number)
                self.emit(b"a", 1)
        self.emit(b"\x89", 0, "bool")
        self.name("collections", "OrderedDict")
        self.arguments(0)
        self.emit(b"R", 2, "dict")
        self.close("tuple")
        self.emit(b"R", 2, "tensor")

    # What takes values that are there.
    def combine(self):
        n, marked = self.above(), None in self.stack
        choice = self.random.randrange(11)
        top = self.stack[-1] if n else None
        if choice == 0 and n >= 2 and (self.stack[-2] == "list" or self.random.random() < 0.03):
            self.emit(b"a", 1)
        elif choice == 1 and n >= 3 and self.stack[-3] == "dict" and (self.stack[-2] in KEYS or self.random.random() < 0.1):
            self.emit(b"s", 2)
        elif choice == 2 and marked:
            self.close(self.random.choice(("tuple", "list", "set" if self.protocol >= 4 else "list")))
        elif choice == 3 and marked and n % 2 == 0:
            self.close("dict")
        elif choice == 4 and marked and len(self.stack) >= n + 2 and self.stack[-n - 2] == "list":
            self.emit(b"e", n + 1)
        elif choice == 5 and marked and n % 2 == 0 and len(self.stack) >= n + 2 and self.stack[-n - 2] == "dict":
            self.emit(b"u", n + 1)
        elif choice == 6 and marked and len(self.stack) >= n + 2 and self.stack[-n - 2] == "set":
            self.emit(b"\x90", n + 1)
        elif choice == 7 and n >= 2 and self.stack[-2] == "dict" and top in ("dict", "none"):
            self.emit(b"b", 1)
        elif choice == 8 and n and not (self.settled and top in ("list", "dict")):
            self.emit(b"2", 0, top)
        elif choice == 9 and self.stack and self.random.random() < 0.5:
            self.emit(b"0", 1)
        elif choice == 10 and marked and self.random.random() < 0.3:
            self.emit(b"1", n + 1)
        elif n >= 2:
            self.emit(b"\x86", 2, "tuple")

    def step(self):
        choice = self.random.randrange(20)
        if choice < 5:
            self.plain()
        elif choice == 5:
            self.emit(b"]", 0, "list")
        elif choice == 6:
            self.emit(b"}", 0, "dict")
        elif choice == 7 and self.protocol >= 4:
            self.emit(b"\x8f", 0, "set")
        elif choice == 8:
            self.emit(b"(", 0, None)
        elif choice < 11:
            self.made()
        elif choice < 13:
            self.remember()
        elif choice < 15:
            self.known(SETTLED if self.settled else None)
        elif choice == 15:
            self.change()
        else:
            self.combine()


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
            print(f"\nprogram {seed}: {difference(command, b''.join(ops), path, options.strict)}\n{shown(ops)}", flush=True)
            if options.keep:
                pathlib.Path(options.keep, f"program_{seed}.pth").write_bytes(archive(b"".join(ops)))
            if len(kinds) >= 30:
                break
    print(f"\n{counts['programs']} programs, {counts['read by Python']} of them read by Python; {counts['different']} different")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())

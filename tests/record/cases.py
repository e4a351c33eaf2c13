"""Writing `.cases` files, in the words that tests/support/recorded.h reads.

A script that has --check among its arguments writes nothing: it compares what it would write with what is recorded, and
its exit status is 1 where they differ.
"""
import atexit
import json
import os
import pathlib
import re
import sys

import numpy
import torch

TESTS = pathlib.Path(__file__).resolve().parent.parent
CHECK = "--check" in sys.argv
VERSION = torch.__version__.split("+")[0]
differences = []


def word(value):
    """One word of a line: "-" is nothing, a list is its items between commas, what has spaces is JSON text."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (list, tuple, torch.Size)):
        return ",".join(map(word, value)) or "-"
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    text = value if isinstance(value, str) else repr(value)
    return json.dumps(text) if not text or text[0] == '"' or " " in text or "\n" in text else text


def line(*values):
    return " ".join(map(word, values))


def numbers(tensor):
    """The elements, packed, in as few digits as give the same bits."""
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    if flat.dtype in (torch.bfloat16, torch.float16):
        flat = flat.float()
    texts = [str(item) for item in (flat.numpy() if flat.dtype == torch.float32 else flat.tolist())]
    if flat.dtype.is_floating_point:
        texts = ["-nan" if text == "nan" and negative else text for text, negative in zip(texts, flat.signbit().tolist())]
    return ", ".join(texts)


def literal(value):
    """A Python literal, in which a tensor is tensor(DTYPE, SHAPE, NUMBERS). Classes of dicts and tuples are not kept."""
    if isinstance(value, torch.Tensor):
        return f"tensor({word(value.dtype)}, {list(value.shape)}, [{numbers(value)}])"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(literal, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, numpy.generic):
        raise TypeError(f"{value!r} is no literal")
    return repr(value)


def values(block):
    """The lines of a block that is a dict of text: a key and a literal each."""
    return [f"{key} {literal(value)}" for key, value in block.items()]


def rows(name):
    """The lines of a table that is recorded, as words."""
    found = []
    for text in (TESTS / f"{name}.cases").read_text().split("\n"):
        if text and not text.startswith("#"):
            quoted, end = json.JSONDecoder().raw_decode(text) if text[0] == '"' else (None, 0)
            found.append(([] if quoted is None else [quoted]) + text[end:].split())
    return found


def ints(text):
    return [] if text == "-" else [int(item) for item in text.split(",")]


def write(name, blocks, comment=""):
    """tests/NAME.cases of blocks of lines; the lines of the comment come first."""
    path = TESTS / f"{name}.cases"
    script = pathlib.Path(sys.argv[0]).resolve().relative_to(TESTS)
    head = [f"# written by tests/{script} with PyTorch {VERSION}"]
    head += [f"# {text}" for text in comment.strip().split("\n") if text]
    cases = "\n\n".join("\n".join(block) for block in blocks) + "\n"
    count = len(blocks) if len(blocks) > 1 else len(blocks[0])
    if not CHECK:
        path.write_text("\n".join(head) + "\n\n" + cases)
        print(f"{name}: {count} written")
        return
    now, then = cases.split("\n"), path.read_text().split("\n\n", 1)[1].split("\n")
    pairs = [(a, b) for a, b in zip(now, then) if a != b]
    if len(now) == len(then) and not pairs:
        print(f"{name}: {count} are as recorded")
        return
    differences.append(name)
    if len(now) != len(then):
        print(f"{name}: {len(now)} lines, and {len(then)} are recorded")
        return
    print(f"{name}: {len(pairs)} of {len(then)} lines differ from what is recorded, {how_far(pairs)}")


def how_far(pairs):
    """Rounding depends on the processor and the number of threads: how large a difference is says whether it is only that."""
    largest = 0.0
    for pair in pairs:
        ours, theirs = ([item for item in re.split(r"[ ,()\[\]]+", text) if item] for text in pair)
        if len(ours) != len(theirs):
            return "some by more than numbers"
        for a, b in zip(ours, theirs):
            try:
                largest = max(largest, abs(float(a) - float(b)) / max(1.0, abs(float(b))) if a != b else 0.0)
            except ValueError:
                return "some by more than numbers"
    return f"numbers by at most {largest:.1g}, relative to those above one"


@atexit.register
def _status():
    if differences:
        sys.stdout.flush()
        os._exit(1)

#!/usr/bin/env python3
"""Lazy state dicts in files, both ways, with the PyTorch of this environment.

usage: lazy.py TENON

PyTorch writes lazy state dicts, `tenon convert` reads and writes them again: the files have to be the same, but for their serialization
ids. What we write in addition (dtype and device) has to be read by PyTorch, which has to be told of two names and of no others.
"""
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import torch
from torch import nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

NAMES = ["torch.nn.parameter.UninitializedParameter", "torch.nn.parameter.UninitializedBuffer"]


def records(path):
    with zipfile.ZipFile(path) as archive:
        return {name.split("/", 1)[1]: archive.read(name) for name in archive.namelist() if "serialization_id" not in name}


def by_hand(path, arguments):
    """A file with a parameter made of these arguments, which PyTorch's own writer leaves out."""
    pickle = b"\x80\x02ctorch.nn.parameter\nUninitializedParameter\n" + arguments + b"R."
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in (("data.pkl", pickle), ("version", b"3\n"), ("byteorder", b"little")):
            archive.writestr(f"{path.stem}/{name}", data)


def main():
    tenon, problems = sys.argv[1], []

    def convert(source, target):
        subprocess.run([tenon, "convert", "--force", source, target], check=True, stdout=subprocess.DEVNULL)

    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder) / "a" / "net.pth", pathlib.Path(folder) / "b" / "net.pth"
        source.parent.mkdir()
        target.parent.mkdir()
        frozen = nn.LazyLinear(4)
        frozen.weight.requires_grad = False
        half = nn.Sequential(nn.LazyConv2d(3, 2), nn.LazyBatchNorm2d(), nn.Linear(2, 2))
        half[0](torch.ones(1, 2, 4, 4))
        for module in (nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.LazyInstanceNorm3d(), nn.LazyConvTranspose1d(2, 2, bias=False), frozen, half):
            torch.save(module.state_dict(), source)
            convert(source, target)
            if records(source) != records(target):
                problems.append(f"{module}: other records than PyTorch's")
            if set(torch.serialization.get_unsafe_globals_in_checkpoint(target)) - set(NAMES):
                problems.append(f"{module}: other names are needed")
            with torch.serialization.safe_globals([UninitializedParameter, UninitializedBuffer]):
                read = torch.load(target)
            for name, value in module.state_dict().items():
                if type(read[name]) is not type(value.data if type(value) is nn.Parameter else value) or \
                        read[name].requires_grad != value.requires_grad:
                    problems.append(f"{module}: {name} is {read[name]!r}")
            module.load_state_dict(read)
        by_hand(source, b"\x89ctorch\ndevice\nX\x04\0\0\0meta\x85Rctorch\nbfloat16\n\x87")
        convert(source, target)
        read = torch.load(target, weights_only=False)
        if (type(read), read.dtype, read.device.type, read.requires_grad) != (UninitializedParameter, torch.bfloat16, "meta", False):
            problems.append(f"dtype and device: {read!r} {read.dtype} {read.device}")
    for problem in problems:
        print(f"lazy: {problem}", file=sys.stderr)
    print(f"lazy state dicts in files: {'as PyTorch' if not problems else f'{len(problems)} problems'}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())

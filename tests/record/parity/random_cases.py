#!/usr/bin/env python3
"""Turns recorded random tensors into cases that tests/parity reads: what was drawn, and the hash of its bytes.

usage: random_cases.py RECORDING.bin RANDOM.pth OUT.cases

RECORDING.bin is a sequence of: u32 length of the name, the name "kind seed n", u64 length, bytes. RANDOM.pth is a
dict of tensors named "kind@seed". Kinds with a dot need layers and are left out, but for those that only fill a tensor;
so are those of RANDOM.pth that later versions of PyTorch draw otherwise. tests/parity/cases/random.cases was written with it.
"""
import hashlib
import struct
import sys
import zipfile

from printed_cases import Reader

CHANGED_SINCE = {"rand_bf16", "randn_bf16", "rand_f16"}
FILL = {"fn.xavier_uniform", "fn.xavier_normal", "fn.kaiming_normal"}


def recorded(path):
    with open(path, "rb") as f:
        while header := f.read(4):
            name = f.read(struct.unpack("<I", header)[0]).decode()
            yield name, f.read(struct.unpack("<Q", f.read(8))[0])


def main():
    recording, checkpoint, out = sys.argv[1:]
    blocks = ["# written by tests/record/parity/random_cases.py"]
    for name, data in recorded(recording):
        kind, seed, n = name.split()
        if "." not in kind:
            blocks.append(f"op draw {kind} {seed} {n}\nsha256 {hashlib.sha256(data).hexdigest()}")
    with zipfile.ZipFile(checkpoint) as archive:
        tensors = Reader(archive, archive.namelist()[0].split("/")[0]).load()
    for name, (_, (_, data), *_) in tensors.items():
        kind, seed = name.split("@")
        if ("." not in kind or kind in FILL) and kind not in CHANGED_SINCE:
            blocks.append(f"op draw {kind} {seed} 0\nsha256 {hashlib.sha256(bytes.fromhex(data)).hexdigest()}")
    with open(out, "w", encoding="utf-8") as f:
        f.write("\n\n".join(blocks) + "\n")
    print(f"{out}: {len(blocks) - 1} cases")


if __name__ == "__main__":
    main()

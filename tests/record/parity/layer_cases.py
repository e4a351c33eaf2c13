#!/usr/bin/env python3
"""Turns the recorded inputs, parameters and outputs of layers into cases that tests/parity reads.

usage: layer_cases.py LAYERS.pth OUT.cases

LAYERS.pth is a dict of tensors named "layer.in0", "layer.p.weight", "layer.out", and so on. Needs nothing but Python.
tests/parity/cases/layers_2_11.cases was written with it from a file of PyTorch 2.11.
"""
import sys
import zipfile

from printed_cases import Reader, ints

# The function that a recorded layer is a case of, and its tensors in order.
LAYERS = {
    "linear": ("linear", "in0 p.weight p.bias"),
    "linear3d": ("linear", "in0 p.weight p.bias"),
    "bilinear": ("bilinear", "in0 in1 p.weight p.bias"),
    "emb": ("embedding padding_idx=1", "in0 p.weight"),
}


def words(tensor):
    _, (dtype, data), offset, size, stride, *_ = tensor
    return f"{dtype} {ints(size)} {ints(stride)} {offset}", data


def main():
    checkpoint, out = sys.argv[1:]
    with zipfile.ZipFile(checkpoint) as archive:
        tensors = Reader(archive, archive.namelist()[0].split("/")[0]).load()
    blocks = ["# written by tests/record/parity/layer_cases.py from a file of PyTorch 2.11"]
    for layer, (function, names) in LAYERS.items():
        lines = []
        for name in names.split():
            layout, data = words(tensors[f"{layer}.{name}"])
            lines.append(f"tensor {layout} - {data}")
        layout, data = words(tensors[f"{layer}.out"])  # packed, and a storage of its own
        blocks.append("\n".join([*lines, f"op {function}", f"result {layout} {data}"]))
    with open(out, "w", encoding="utf-8") as f:
        f.write("\n\n".join(blocks) + "\n")
    print(f"{out}: {len(blocks) - 1} cases")


if __name__ == "__main__":
    main()

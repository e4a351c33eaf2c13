#!/usr/bin/env python3
"""Turns PyTorch's table of all casts into cases that tests/parity reads.

usage: cast_cases.py CASTS.json OUT.cases

An exhaustive entry is the SHA-256 of converting every bit pattern of an 8- or 16-bit dtype in order; an
edge entry lists chosen elements before and after. tests/parity/cases/casts_2_14.cases was written with it.
"""
import json
import sys


def main():
    source, out = sys.argv[1:]
    with open(source, encoding="utf-8") as f:
        table = json.load(f)
    blocks = [f"# written by tests/record/parity/cast_cases.py from the table of PyTorch {table['torch']}"]
    for entry in table["exhaustive"]:
        blocks.append(f"op all {entry['src']} {entry['dst']}\nsha256 {entry['sha256']}")
    for entry in table["edges"]:
        blocks.append(f"op some {entry['src']} {entry['dst']}\nbytes {entry['in']}\nbytes {entry['out']}")
    with open(out, "w", encoding="utf-8") as f:
        f.write("\n\n".join(blocks) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes include/tenon/tenon.h and include/tenon/extend.h, which include what users, and those who extend Tenon, write with.

    tools/umbrella.py            writes them
    tools/umbrella.py --check    exits 1 if they are not what the folders say
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"

TENON = """// All of Tenon, but for what only those need who extend it: tenon/extend.h.
// Written by tools/umbrella.py.
"""
EXTEND = """// Tensor types, operators and devices of your own: all of tenon/extend.
// Written by tools/umbrella.py.
"""


def is_moved(path):
    """Whether it only leads to another header, for those who know it by its old name."""
    return path.read_text().startswith("// Moved: ")


def names(folder):
    for path in sorted((INCLUDE / folder).glob("*.h")):
        if not is_moved(path) and path.name not in ("tenon.h", "extend.h"):
            yield str(path.relative_to(INCLUDE))


def text(head, folders):
    lines = sorted(name for folder in folders for name in names(folder))
    return head + "#pragma once\n\n" + "".join(f'#include "{line}"\n' for line in lines)


def main():
    wanted = {INCLUDE / "tenon/tenon.h": text(TENON, ("tenon", "tenon/ops", "tenon/nn", "tenon/optim")),
              INCLUDE / "tenon/extend.h": text(EXTEND, ("tenon/extend",))}
    if "--check" not in sys.argv[1:]:
        for path, content in wanted.items():
            path.write_text(content)
        return 0
    wrong = [path for path, content in wanted.items() if not path.exists() or path.read_text() != content]
    for path in wrong:
        print(f"umbrella: {path.relative_to(ROOT)} is not what its folders say: run tools/umbrella.py", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

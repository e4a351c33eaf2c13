#!/usr/bin/env python3
"""Writes the files that the audit of untrusted files is about, one for each case and size, and what is required of them.

usage: audit.py OUTDIR

OUTDIR/manifest.json lists for each: the file, the commands to run (IN and OUT stand for paths), whether it must be refused or
must load, and how many megabytes and seconds it may take: 64 MB and 20 times the file, and a second for each megabyte.
"""
import json
import os
import re
import sys

import costs  # noqa: F401 (registers its cases)
import growth  # noqa: F401
import readers  # noqa: F401
import wrong  # noqa: F401
from cases import CASES, allowed
from pickles import write


def write_folder(path, files):
    size = 0
    for name, content in files.items():
        if isinstance(content, bytes):
            write(os.path.join(path, name), content)
            size += len(content)
    for name, content in files.items():
        if isinstance(content, str):
            kind, target = content.split(":", 1)
            if os.path.lexists(os.path.join(path, name)):
                os.unlink(os.path.join(path, name))
            if kind == "hard":
                os.link(os.path.join(path, target), os.path.join(path, name))
            else:
                os.symlink(target, os.path.join(path, name))
    return size


def write_all(folder, only="", large=True):
    """`large`: also the second size of a case, which is there for what it costs."""
    os.makedirs(folder, exist_ok=True)
    entries = []
    for one in CASES:
        if not re.search(only, one.name):
            continue
        for i, size in enumerate(one.sizes if large else one.sizes[:1]):
            stem = one.name + (f".{('small', 'large')[i]}" if len(one.sizes) == 2 else "")
            content = one.make(size) if size is not None else one.make()
            if isinstance(content, dict):
                name, total = f"{stem}/{next(iter(content))}", write_folder(os.path.join(folder, stem), content)
            else:
                name, total = stem + one.suffix, len(content)
                write(os.path.join(folder, name), content)
            megabytes, seconds = allowed(total)
            entries.append({"name": stem, "file": name, "size": total, "expectation": one.expectation,
                            "commands": one.commands, "max_rss_mb": round(megabytes, 1),
                            "max_seconds": round(seconds, 1), **one.extra})
    with open(os.path.join(folder, "manifest.json"), "w") as file:
        json.dump({"cases": entries}, file, indent=1)
    return entries


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(f"{len(write_all(sys.argv[1]))} files")

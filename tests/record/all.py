#!/usr/bin/env python3
"""Runs the scripts of this folder: all of them, or those named.

usage: all.py [--check] [NAME...]     --check compares with what is recorded and writes nothing
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HELPERS = {"all", "cases", "sums"}


def main():
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    named = [word.removesuffix(".py") for word in sys.argv[1:] if word not in options]
    known = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in HELPERS)
    if unknown := set(named) - set(known):
        sys.exit(f"all.py: there is no {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    failed = [name for name in named or known if subprocess.run([sys.executable, HERE / f"{name}.py", *options]).returncode]
    if failed:
        sys.exit(f"all.py: {', '.join(failed)} failed" + (" or differ" if "--check" in options else ""))


if __name__ == "__main__":
    main()

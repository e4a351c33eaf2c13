"""Running the command whose path is the first argument, and what the tests of it have in common."""
import pathlib
import subprocess
import sys

FILES = pathlib.Path(__file__).resolve().parent / "fixtures"
NEW = FILES / "torch-2.14.1"
PTH = NEW / "linear_sd.pth"
failures = []


def tenon(*arguments, **options):
    return subprocess.run([sys.argv[1], *map(str, arguments)], capture_output=True, text=True, **options)


def expect(what, condition, done):
    if not condition:
        failures.append(f"{what}: exit {done.returncode}\n{done.stdout[:300]}\n{done.stderr[:500]}")

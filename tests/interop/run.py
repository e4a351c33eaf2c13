#!/usr/bin/env python3
"""Compares Tenon with the PyTorch of this environment on many random cases.

usage: run.py [SEED]

Without a seed a new one is drawn and printed. tests/record/parity/generate.py asks PyTorch; the parity tests then read its answers
instead of the recorded ones. tests/record/corners.py compares gradients in corners with the recorded ones. In this folder,
checkpoints.py has PyTorch and safetensors write files, and looks at what we read in them; saving.py opens with both what we write;
lazy.py does so for lazy state dicts; training.py hands runs of training over and takes them back; modules.py runs random programs
over modules in both.
"""
import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCALE = 40  # 40 times as many random cases as are recorded


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(10**9)
    cases = ROOT / "build" / "interop"
    print(f"seed {seed}", flush=True)
    subprocess.run([sys.executable, ROOT / "tests" / "record" / "parity" / "generate.py", cases, "--seed", str(seed), "--scale", str(SCALE)],
                   env={"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16", **os.environ}, check=True)
    test = ROOT / "build" / "gcc" / "tests" / "parity" / "parity_test"
    # These tests read what only the project's own files have.
    own = "--gtest_filter=-Parity.EveryCastGivesTheBitsOfPyTorch:Parity.TensorsPrintAsInPyTorch211:" \
          "ParityRandom.RecordedStreamsAreDrawnAgain:ParityLayers.CalculateWhatPyTorch211Calculated"
    failed = subprocess.run([test, own], env={**os.environ, "TENON_CASES": str(cases)}).returncode
    build = ROOT / "build" / "gcc"
    failed |= subprocess.run([sys.executable, ROOT / "tests" / "interop" / "checkpoints.py", build / "cli" / "tenon",
                              build / "examples" / "read_checkpoint", str(seed)]).returncode
    failed |= subprocess.run([sys.executable, ROOT / "tests" / "interop" / "saving.py", build / "cli" / "tenon", str(seed)]).returncode
    failed |= subprocess.run([sys.executable, ROOT / "tests" / "interop" / "lazy.py", build / "cli" / "tenon"]).returncode
    failed |= subprocess.run([sys.executable, ROOT / "tests" / "record" / "corners.py", "--check"]).returncode
    failed |= subprocess.run([sys.executable, ROOT / "tests" / "interop" / "training.py", build / "tests" / "parity" / "continue_training",
                              str(seed)]).returncode
    failed |= subprocess.run([sys.executable, ROOT / "tests" / "interop" / "modules.py", build / "tests" / "interop" / "module_programs", str(seed),
                              "2000"]).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs `tenon inspect --json --hash` over every file of corpus.tar.xz and more.tar.xz and compares the outcome with the one required.

usage: run.py TENON [--slack]

A file that must be refused has to be refused with a line on standard error; one that must load has to give the tensors the
manifest lists; some may do either. Nobody may crash, hang, leave files, print raw escapes, or take more memory or time than
the manifest allows (--slack: sanitizers take more).
"""
import json
import os
import pathlib
import resource
import signal
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def run(program, file, scratch):
    out, err = scratch / "out", scratch / "err"
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.chdir(scratch / "empty")
        for path, number in ((out, 1), (err, 2)):
            os.dup2(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), number)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(60)
        os.execv(program, [program, "inspect", "--json", "--hash", str(file)])
    _, status, usage = os.wait4(child, 0)
    return status, time.monotonic() - began, usage.ru_maxrss / 1024, out.read_bytes(), err.read_bytes()


def wrong(case, outcome, empty_memory, slack):
    status, seconds, memory, out, err = outcome
    if os.WIFSIGNALED(status):
        return f"killed by signal {os.WTERMSIG(status)}"
    code = os.WEXITSTATUS(status)
    if code not in (0, 3):
        return f"exit code {code}: {err[:200]!r}"
    if code != 0 and not err.strip():
        return "refused without a word"
    if b"\x1b" in out + err:
        return "a raw escape"
    if code == 0 and case["expectation"] == "must_reject":
        return "accepted"
    if code != 0 and case["expectation"] == "must_load":
        return f"refused: {err[:200].decode(errors='replace')}"
    if not slack and memory - empty_memory > case["max_rss_mb"] + 2 * case["size"] / 2**20:
        return f"{memory - empty_memory:.0f} MB"
    if not slack and seconds > 3 * case["max_seconds"]:
        return f"{seconds:.1f} s"
    if code == 0 and case.get("tensors") is not None:
        got = {t["name"]: t for t in json.loads(out)["tensors"]}
        for name, facts in case["tensors"].items():
            mine = got.get(name)
            if mine is None or any(mine[key] != facts[key] for key in ("dtype", "shape", "sha256")):
                return f"tensor {name!r} is another"
    return None


def main():
    program, slack = os.path.abspath(sys.argv[1]), "--slack" in sys.argv
    counts, failures = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        (scratch / "empty").mkdir()
        nothing = scratch / "nothing"
        nothing.write_bytes(b"")
        empty_memory = run(program, nothing, scratch)[2]
        for name in ("corpus", "more"):
            with tarfile.open(HERE / f"{name}.tar.xz") as archive:
                archive.extractall(scratch / name)
            manifest = next((scratch / name).rglob("manifest.json"))
            for case in json.loads(manifest.read_text())["cases"]:
                problem = wrong(case, run(program, manifest.parent / case["file"], scratch), empty_memory, slack)
                if problem is None and os.listdir(scratch / "empty"):
                    problem = "left files behind"
                passed, total = counts.get(case["expectation"], (0, 0))
                counts[case["expectation"]] = (passed + (problem is None), total + 1)
                if problem:
                    failures += 1
                    print(f"{case['file']} ({case['expectation']}): {problem}")
    for kind, word in (("must_reject", "rejected"), ("must_load", "loaded"), ("either", "either")):
        print("%s %d of %d" % (word, *counts[kind]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs the command over the files of audit.py, and compares what comes of it with what is required.

usage: audit_run.py TENON [--only REGEX] [--slack] [--table]

--only: the cases whose names match. --slack: sanitizers take more memory and time than the limits are for.
--table: a line for each run, with its seconds and megabytes, also of those that are as they should be.

Nobody may crash, hang, print raw control characters, leave files behind, or take more than the manifest allows. What
`convert` writes is read by `inspect` again, and its pickles by Python's own disassembler: only names of the table.
"""
import argparse
import os
import pathlib
import pickletools
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import zipfile

import audit

REFUSED = 3
# Everything a checkpoint that we write may name.
TABLE = {"collections": {"OrderedDict", "Counter"}, "_codecs": {"encode"},
         "builtins": {"set", "frozenset", "bytearray", "bytes", "complex"},
         "torch.nn.parameter": {"Parameter", "UninitializedParameter", "UninitializedBuffer"},
         "torch.storage": {"UntypedStorage"}, "torch.serialization": {"_get_layout"},
         "torch._tensor": {"_rebuild_from_type_v2"},
         "torch._utils": {"_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter", "_rebuild_parameter_with_state",
                          "_rebuild_meta_tensor_no_storage", "_rebuild_sparse_tensor", "_rebuild_qtensor",
                          "_rebuild_nested_tensor"}}
TABLE["__builtin__"] = TABLE["builtins"]
TORCH = re.compile(r"Size|device|Tensor|[A-Z][A-Za-z0-9]*Storage|(float|bfloat|complex|u?int|bool|quint|qint)[a-z0-9_]*|"
                   r"per_(tensor|channel)_(affine|symmetric|affine_float_qparams)")


class Outcome:
    def __init__(self, status, seconds, megabytes, out, err):
        self.status, self.seconds, self.megabytes, self.out, self.err = status, seconds, megabytes, out, err
        self.killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        self.code = None if self.killed else os.WEXITSTATUS(status)


def run(program, arguments, scratch, seconds, slack):
    out, err = scratch / "out", scratch / "err"
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.chdir(scratch / "empty")
        for path, number in ((out, 1), (err, 2)):
            os.dup2(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), number)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**30, 2**30))
        if not slack:
            resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
        signal.alarm(seconds)
        os.execv(program, [program, *arguments])
    _, status, usage = os.wait4(child, 0)
    took = time.monotonic() - began
    return Outcome(status, took, usage.ru_maxrss / 1024, out.read_bytes(), err.read_bytes())


def control(text):
    """The first raw control character, which a terminal or a log would obey."""
    found = re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]|"
                      rb"\xf3\xa0[\x80-\x81][\x80-\xbf]|\xef\xbf[\xb9-\xbb]", text)
    return found and found.group()


def names_in(program):
    """What the pickle names, and whatever else could run."""
    texts = []
    for op, argument, _ in pickletools.genops(program):
        if op.name in ("GLOBAL", "INST"):
            yield tuple(argument.split(" ", 1))
        elif op.name == "STACK_GLOBAL":
            yield tuple(texts[-2:])
        elif op.name in ("OBJ", "NEWOBJ_EX", "EXT1", "EXT2", "EXT4", "PERSID"):
            yield (op.name, "")
        elif isinstance(argument, str):
            texts.append(argument)


def not_ours(path):
    """What a file that we wrote names and should not, or how it cannot be read."""
    if path.suffix != ".pth":
        return None
    with zipfile.ZipFile(path) as archive:
        for entry in archive.namelist():
            if entry.startswith("/") or ".." in entry.split("/") or not re.fullmatch(r"[\w./ +-]+", entry):
                return f"an entry {entry!r}"
        program = next(archive.read(entry) for entry in archive.namelist() if entry.endswith("/data.pkl"))
    try:
        for module, name in names_in(program):
            if name not in TABLE.get(module, ()) and not (module == "torch" and TORCH.fullmatch(name)):
                return f"it names {module}.{name}"
    except ValueError as error:
        return f"its pickle cannot be read: {error}"
    return None


def wrong(case, command, outcome, empty, slack, written, again):
    if outcome.killed:
        return "hangs" if outcome.killed == signal.SIGALRM else f"killed by signal {outcome.killed}"
    if outcome.code not in (0, REFUSED) and not (command[0] == "verify" and outcome.code == 1):
        return f"exit code {outcome.code}: {outcome.err[:200]!r}"
    if outcome.code != 0 and not outcome.err.strip():
        return "refused without a word"
    if control(outcome.err) or (command[0] != "extract" and control(outcome.out)):
        return f"a raw control character {control(outcome.err) or control(outcome.out)!r}"
    if outcome.code == 0 and case["expectation"] == "must_reject":
        return "accepted"
    if outcome.code != 0 and case["expectation"] == "must_load":
        return f"refused: {outcome.err[:300].decode(errors='replace')}"
    if not slack and outcome.megabytes - empty > case["max_rss_mb"]:
        return f"{outcome.megabytes - empty:.0f} MB, and {case['max_rss_mb']:.0f} are allowed"
    if not slack and outcome.seconds > case["max_seconds"]:
        return f"{outcome.seconds:.1f} s, and {case['max_seconds']:.1f} are allowed"
    if outcome.code == 0 and command[0] == "convert":
        return next((problem for path in written for problem in [not_ours(path) or again(path)] if problem), None)
    if outcome.code != 0 and written:
        return "refused, and something was written"
    return None


def judge(program, case, folder, scratch, empty, options):
    for command in case["commands"]:
        out = scratch / "written"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        places = {"IN": str(folder / case["file"])}
        arguments = [places.get(word, str(out) + word[3:] if word.startswith("OUT/") else word) for word in command]
        most = 60 if options.slack else min(10 + int(case["max_seconds"]), 30)
        outcome = run(program, arguments, scratch, most, options.slack)
        written = [path for path in out.rglob("*") if path.is_file()]

        def again(path):
            read = run(program, ["inspect", "--json", str(path)], scratch, most, options.slack)
            return None if read.code == 0 else f"what was written is refused: {read.err[:200]!r}"

        problem = wrong(case, command, outcome, empty, options.slack, written, again)
        if os.listdir(scratch / "empty"):
            problem = problem or "left files behind"
        if options.table:
            print(f"{case['name']:48} {' '.join(w for w in command if w not in ('IN', '--json', '--hash')):34} "
                  f"{case['size']:8} bytes {outcome.seconds:6.2f} s {outcome.megabytes - empty:6.0f} MB  "
                  f"{'exit ' + str(outcome.code) if outcome.killed is None else 'killed'}  {problem or ''}", flush=True)
        elif problem:
            print(f"{case['name']}: tenon {' '.join(command)}: {problem}", flush=True)
        yield problem


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    parser.add_argument("--slack", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    program, failed, total = os.path.abspath(options.program), 0, 0
    with tempfile.TemporaryDirectory() as place:
        scratch = pathlib.Path(place)
        (scratch / "empty").mkdir()
        folder = scratch / "files"
        cases = [case for case in audit.write_all(str(folder), options.only)]
        (scratch / "nothing").write_bytes(b"")
        empty = run(program, ["inspect", str(scratch / "nothing")], scratch, 60, options.slack).megabytes
        for case in cases:
            for problem in judge(program, case, folder, scratch, empty, options):
                total, failed = total + 1, failed + (problem is not None)
    print(f"{total - failed} of {total} runs are as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

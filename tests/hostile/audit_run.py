#!/usr/bin/env python3
"""Runs the command over the files of audit.py, and compares what comes of it with what is required.

usage: audit_run.py TENON [--loader HOSTILE_LOAD] [--only REGEX] [--slack] [--table]

--loader: what calls the library itself; without it, that is left out. --only: the cases whose names match. --slack: sanitizers take more memory and time than the limits are for; the smaller files are run.
--table: a line for each run, with its seconds and megabytes, also of those that are as they should be.

Nobody may crash, hang, print raw control characters, leave files behind, or take more than the manifest allows. What
`convert` writes is read by `inspect` again, and its pickles by Python's own disassembler: only names of the table.
"""
import argparse
import hashlib
import json
import os
import pathlib
import pickletools
import re
import resource
import shutil
import signal
import sys
import tempfile
import zipfile

import names

REFUSED = 3
SLOWEST = 4  # times the seconds that a manifest has
SOURCES = pathlib.Path(__file__).resolve().parents[2]


class Outcome:
    def __init__(self, status, seconds, megabytes, scratch):
        self.seconds, self.megabytes = seconds, megabytes
        self.out, self.err = (scratch / "out").read_bytes(), (scratch / "err").read_bytes()
        self.killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        self.code = None if self.killed else os.WEXITSTATUS(status)


def start(arguments, scratch, seconds, slack):
    """In a child: becomes the program."""
    os.chdir(scratch / "empty")
    for name, number in (("out", 1), ("err", 2)):
        os.dup2(os.open(scratch / name, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), number)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**30, 2**30))
    if not slack:
        resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
    signal.alarm(seconds)
    os.execv(arguments[0], arguments)


class Launcher:
    """A process that starts the others. The peak of a process begins with that of the one it is a copy of, and this one stays
    small while its parent reads files."""

    def __init__(self, scratch, slack):
        self.scratch = scratch
        asked, asking = os.pipe()
        telling, told = os.pipe()
        if os.fork() == 0:
            os.close(asking)
            self.serve(os.fdopen(asked), os.fdopen(told, "w"), slack)
            os._exit(0)
        os.close(asked)
        self.asking, self.telling = os.fdopen(asking, "w"), os.fdopen(telling)

    def serve(self, asked, told, slack):
        for line in asked:
            seconds, arguments = json.loads(line)
            child = os.fork()
            if child == 0:
                start(arguments, self.scratch, seconds, slack)
            _, status, usage = os.wait4(child, 0)
            # Of the processor, whatever else it does.
            seconds = usage.ru_utime + usage.ru_stime
            print(json.dumps([status, seconds, usage.ru_maxrss / 1024]), file=told, flush=True)

    def run(self, seconds, *arguments):
        print(json.dumps([seconds, arguments]), file=self.asking, flush=True)
        return Outcome(*json.loads(self.telling.readline()), self.scratch)


def control(text):
    """The first raw control character, which a terminal or a log would obey."""
    found = re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]|"
                      rb"\xf3\xa0[\x80-\x81][\x80-\xbf]|\xef\xbf[\xb9-\xbb]", text)
    return found and found.group()


def names_in(program):
    """What the pickle names, and whatever else could run. We write no name that is taken from the stack."""
    for op, argument, _ in pickletools.genops(program):
        if op.name in ("GLOBAL", "INST"):
            yield tuple(argument.split(" ", 1))
        elif op.name in ("STACK_GLOBAL", "OBJ", "NEWOBJ", "NEWOBJ_EX", "EXT1", "EXT2", "EXT4", "PERSID"):
            yield (op.name, "")


def not_ours(path):
    """What a file that we wrote names and should not, or how it cannot be read."""
    if path.suffix not in (".pth", ".bin"):
        return None
    with zipfile.ZipFile(path) as archive:
        for entry in archive.namelist():
            parts = entry.split("/")
            if not {"", ".", ".."}.isdisjoint(parts) or "\\" in entry or ":" in entry or control(entry.encode()) or "\n" in entry:
                return f"an entry {entry!r}"
        program = next(archive.read(entry) for entry in archive.namelist() if entry.endswith("/data.pkl"))
    try:
        for module, name in names_in(program):
            if name not in names.TABLE.get(module, ()):
                return f"it names {module}.{name}"
    except ValueError as error:
        return f"its pickle cannot be read: {error}"
    return None


def wrong_ending(case, command, outcome):
    if outcome.killed:
        return "hangs" if outcome.killed == signal.SIGALRM else f"killed by signal {outcome.killed}"
    if outcome.code not in (0, REFUSED) and not (command[0] == "verify" and outcome.code == 1):
        return f"exit code {outcome.code}: {outcome.err[:200]!r}"
    if outcome.code != 0 and not outcome.err.strip():
        return "refused without a word"
    found = control(outcome.err) or (command[0] != "extract" and control(outcome.out))
    if found:
        return f"a raw control character {found!r}"
    if command[0] == "load" and outcome.err.count(b"\n") > 1:
        return f"an error of several lines: {outcome.err[:200]!r}"
    if outcome.code == 0 and case["expectation"] == "must_reject":
        return "accepted"
    if outcome.code != 0 and case["expectation"] == "must_load":
        return f"refused: {outcome.err[:300].decode(errors='replace')}"
    return None


def too_much(case, command, outcome, empty):
    # save has a meter of its own, beside the values that were loaded, and a load one beside what is open. A module has a size.
    megabytes = case["max_rss_mb"] + (48 if command[0] == "load" and command[-1] != "IN" else 0)
    megabytes += case["max_rss_mb"] if "--read" in command or "--into" in command else 0
    if outcome.megabytes - empty > megabytes:
        return f"{outcome.megabytes - empty:.0f} MB, and {megabytes:.0f} are allowed"
    # What hangs is found; a machine that is slow or busy is no failure.
    most = SLOWEST * case["max_seconds"]
    if outcome.seconds > most:
        return f"{outcome.seconds:.1f} s, and {most:.1f} are allowed"
    return None


class Judge:
    def __init__(self, launcher, folder, empty, options):
        self.launcher, self.folder, self.empty, self.options = launcher, folder, empty, options
        self.out = launcher.scratch / "written"

    def run(self, case, *arguments):
        most = 60 if self.options.slack else min(30 + int(case["max_seconds"]), 60)
        if arguments[0] == "load":
            return self.launcher.run(most, self.options.loader, *arguments[1:])
        return self.launcher.run(most, self.options.program, *arguments)

    def all_of(self, case):
        for command in case["commands"]:
            if command[0] == "load" and self.options.loader is None:
                continue
            outcome, problem = self.one(case, command)
            if self.options.table:
                words = ascii(" ".join(word for word in command if word not in ("IN", "--json", "--hash")))[1:-1]
                print(f"{case['name']:48} {words:34} {case['size']:8} bytes {outcome.seconds:6.2f} s "
                      f"{outcome.megabytes - self.empty:6.0f} MB  exit {outcome.code}  {problem or ''}", flush=True)
            elif problem:
                print(f"{case['name']}: tenon {' '.join(command)}: {problem}", flush=True)
            yield problem

    def one(self, case, command):
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        before = self.occupy(case, command) if "occupied" in case else None
        words = {"IN": str(self.folder / case["file"])}
        outcome = self.run(case, *(words.get(word, str(self.out) + word[3:] if word.startswith("OUT/") else word)
                                   for word in command))
        written = [path for path in self.out.rglob("*") if path.is_file()]
        if before is not None:
            untouched = self.contents() == before and outcome.code not in (0, None)
            return outcome, None if untouched else "what was there is not as it was, or nothing was said"
        problem = wrong_ending(case, command, outcome)
        if not self.options.slack:
            problem = problem or too_much(case, command, outcome, self.empty)
        if os.listdir(self.launcher.scratch / "empty"):
            problem = problem or "left files behind"
        if outcome.code != 0 and written:
            problem = problem or "refused, and something was written"
        if problem is None and outcome.code == 0:
            problem = self.wrong_answer(case, command, outcome, written)
        return outcome, problem

    def occupy(self, case, command):
        """Something is where OUT is to be."""
        place = self.out / command[-1].removeprefix("OUT/")
        if case["occupied"] == "file":
            place.write_bytes(b"mine")
        else:
            place.symlink_to(self.out / "elsewhere")
            if case["occupied"] == "symbolic":
                (self.out / "elsewhere").write_bytes(b"mine")
        return self.contents()

    def contents(self):
        return {path.name: (path.is_symlink(), path.read_bytes() if path.exists() else None) for path in self.out.iterdir()}

    def wrong_answer(self, case, command, outcome, written):
        if command[0] == "inspect" and "value" in case:
            got = json.loads(outcome.out)["values"]["v"]
            return None if got == case["value"] else f"{got!r}, and Python has {case['value']!r}"
        if command[0] == "inspect" and "hashes" in case and self.hashes(outcome) != case["hashes"]:
            return "other elements than everybody else sees"
        if any(word.startswith("OUT") for word in command) and "--dry-run" not in command and not written:
            return "nothing was written"
        for path in written if command[0] in ("convert", "load") else ():
            # What can be loaded may be too much to list, or to write out.
            again = self.run(case, "load" if command[0] == "load" else "verify", str(path))
            # It may be more than its own size warrants, and then its reader has to trust it.
            if b"do not warrant" in again.err:
                again = self.run(case, "verify", "--raise-limits", "20", str(path))
            problem = not_ours(path)
            if problem is None and again.code != 0:
                problem = f"what was written is refused: {again.err[:200]!r}"
            if problem is None and case.get("agree"):
                problem = self.disagreement(case, path)
            if problem:
                return problem
        if command[0] == "extract" and case.get("agree"):
            content = written[0].read_bytes()
            raw = content[10 + int.from_bytes(content[8:10], "little"):]
            first = self.hashes(self.run(case, "inspect", "--json", "--hash", str(self.folder / case["file"])))
            if first.get("a") != hashlib.sha256(raw).hexdigest():
                return "extract and inspect disagree"
        return None

    @staticmethod
    def hashes(outcome):
        return {tensor["name"]: tensor["sha256"] for tensor in json.loads(outcome.out)["tensors"]} if outcome.out else {}

    def disagreement(self, case, path):
        """What was written has the elements that were read."""
        first, second = (self.hashes(self.run(case, "inspect", "--json", "--hash", str(file)))
                         for file in (self.folder / case["file"], path))
        if first != second:
            return f"other elements than before: {sorted(set(first.items()) ^ set(second.items()))[:4]}"
        return None


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    parser.add_argument("--loader", type=os.path.abspath)
    parser.add_argument("--slack", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    options.program, failed, total = os.path.abspath(options.program), 0, 0
    of_source = names.of_source((SOURCES / "src/io/pickle/global_names.cpp").read_text(), (SOURCES / "include/tenon/dtype.h").read_text())
    if of_source != names.TABLE:
        print("names.py is another table than src/io/pickle/global_names.cpp")
        return 1
    with tempfile.TemporaryDirectory() as place:
        scratch = pathlib.Path(place)
        (scratch / "empty").mkdir()
        (scratch / "nothing").write_bytes(b"")
        launcher = Launcher(scratch, options.slack)
        empty = launcher.run(60, options.program, "inspect", str(scratch / "nothing")).megabytes
        judge = Judge(launcher, scratch / "files", empty, options)
        import audit  # after the launcher, which stays small

        for case in audit.write_all(str(scratch / "files"), options.only, not options.slack):
            for problem in judge.all_of(case):
                total, failed = total + 1, failed + (problem is not None)
    print(f"{total - failed} of {total} runs are as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks the documents against the project.

- A code block under a line `<!-- FILE [NAME] -->` is the text between the two lines `// [NAME]` of FILE, so that
  documents show only code that is compiled and run.
- Links to files of the project lead somewhere.
- Lines that begin with | are tables: a row of names, a row of dashes, and rows with no blank line between them.
- Tests named as `Suite.Name` in tests/upstream.md exist.
- Every layer of docs/api.md that has tensors of its own, which is one with a dtype, is tried in tests/nn/swap_layers_test.cpp.
- No source line is longer than 100 characters (clang-format leaves comments alone).
Prints what is wrong and exits 1 if something is.
"""
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUOTE = re.compile(r"<!-- (\S+) \[(\w+)\] -->\n```\w*\n(.*?)```", re.DOTALL)
RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+")
BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
TEST = re.compile(r"TEST(?:_F|_P)?\((\w+), (\w+)\)|TYPED_TEST\((\w+), (\w+)\)")


def files(*patterns):
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return [ROOT / name for name in names if (ROOT / name).exists()]


def region(path, name):
    parts = re.split(rf"^[ \t]*// \[{name}\]\n", path.read_text(), flags=re.MULTILINE)
    return textwrap.dedent(parts[1]) if len(parts) == 3 else None


def without_head(text):
    """The numbers of lines that begin a table and are not followed by its row of dashes: those after a blank line inside of one, say."""
    lines = BLOCK.sub(lambda block: "\n" * block.group().count("\n"), text).split("\n")
    for i, line in enumerate(lines):
        begins = line.startswith("|") and (i == 0 or not lines[i - 1].startswith("|"))
        if begins and not (i + 1 < len(lines) and RULE.fullmatch(lines[i + 1].rstrip())):
            yield i + 1


def problems():
    for document in files("*.md"):
        text, shown = document.read_text(), document.relative_to(ROOT)
        for source, name, code in QUOTE.findall(text):
            expected = region(ROOT / source, name)
            if expected is None:
                yield f"{shown}: {source} has no region [{name}]"
            elif expected.strip() != code.strip():
                yield f"{shown}: the code is not that of {source} [{name}]"
        for target in LINK.findall(BLOCK.sub("", text)):  # a lambda in a block of code looks like a link
            if not (document.parent / target).exists():
                yield f"{shown}: {target} is not there"
        for number in without_head(text):
            yield f"{shown}:{number}: a table needs a row of names and one of dashes; it must have no blank line inside"

    tests = set()
    for source in files("tests/*.cpp"):
        for a, b, c, d in TEST.findall(source.read_text()):
            tests.add(f"{a or c}.{b or d}")
    table = ROOT / "tests" / "upstream.md"
    for name in re.findall(r"`([A-Z]\w+\.[A-Z]\w+)`", table.read_text()):
        if name not in tests:
            yield f"tests/upstream.md: there is no test {name}"

    api = (ROOT / "docs" / "api.md").read_text().split("\n## Layers")[1].split("\n## ")[0]
    swapped = (ROOT / "tests" / "nn" / "swap_layers_test.cpp").read_text()
    layers = set(re.findall(r"^(\w+)\(.*\.dtype = ", api, re.MULTILINE))
    for header in files("include/tenon/nn/*.h"):  # those with the constructors of another one
        for name, base in re.findall(r"^class TENON_API (\w+)(?: final)? : public (\w+)", header.read_text(), re.MULTILINE):
            layers |= {name} if base in layers else set()
    for name in sorted(layers):
        if f"make<{name}>" not in swapped:
            yield f"tests/nn/swap_layers_test.cpp: does not try {name}"

    for source in files("include/*.h", "src/*.h", "src/*.cpp", "examples/*.cpp"):
        for number, line in enumerate(source.read_text().splitlines(), 1):
            if len(line) > 100:
                yield f"{source.relative_to(ROOT)}:{number}: {len(line)} characters"


def main():
    found = list(problems())
    for line in found:
        print(f"check_docs: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

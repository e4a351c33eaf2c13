#!/usr/bin/env python3
"""Checks that includes follow the layers of docs/architecture.md.

A file of src/ includes its own folder and those below it. A public header includes public headers only. The layer of one
is its folder (ops, nn, optim); those of tenon/, tenon/extend/ and tenon/detail/ belong to the highest layer of what they
include and of the source that has their name, if there is one: so a source below that layer cannot include them.
A header that has moved leaves its old name for those who know it by that; nothing of ours includes it.
Prints every include that does not follow, and exits 1 if there is one.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Each layer, and what it may include besides itself.
BELOW = {
    "base": [],
    "kernels": ["base"],
    "core": ["base", "kernels"],
    "io": ["base", "kernels", "core"],
    "dispatch": ["base", "kernels", "core"],
    "ops": ["base", "kernels", "core", "dispatch"],
    "autograd": ["base", "kernels", "core", "dispatch", "ops"],
    "nn": ["base", "kernels", "core", "dispatch", "ops", "autograd"],
    "optim": ["base", "kernels", "core", "dispatch", "ops", "autograd", "nn"],
    "load": ["base", "kernels", "core", "io", "dispatch", "ops", "autograd", "nn"],
    "all": ["base", "kernels", "core", "io", "dispatch", "ops", "autograd", "nn", "optim", "load"],
}
HEIGHT = {layer: height for height, layer in enumerate(BELOW)}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def included_by(path):
    return INCLUDE.findall(path.read_text())


class Headers:
    """The layers of public headers, by the name they are included by."""

    def __init__(self):
        self.layers = {}
        self.sources = {}  # layer of the source that has a header's name
        for path in ROOT.glob("src/**/*.cpp"):
            self.sources.setdefault(path.stem, []).append(path.relative_to(ROOT / "src").parts[0])

    def layer(self, name):
        if name not in self.layers:
            self.layers[name] = None  # a cycle has no more to say
            self.layers[name] = self.find(name)
        return self.layers[name] or "base"

    def find(self, name):
        folder = name.split("/")[1]
        if folder in ("ops", "nn", "optim"):
            return folder
        if name == "tenon/tenon.h":
            return "all"
        layers = [self.layer(other) for other in included_by(ROOT / "include" / name) if other.startswith("tenon/")]
        if folder == "detail":  # bases of Tensor, whose functions the layers define that they are for
            return max(layers, key=HEIGHT.get, default="base")
        # The least of those that have a source of this name: others have one for a purpose of their own.
        own = sorted(self.sources.get(pathlib.Path(name).stem, []), key=HEIGHT.get)[:1]
        return max(layers + own, key=HEIGHT.get, default="base")


def of_moved_headers():
    moved = {str(path.relative_to(ROOT / "include")) for path in ROOT.glob("include/**/*.h") if path.read_text().startswith("// Moved: ")}
    for folder in ("include", "src", "cli", "examples", "bench", "fuzz", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".cu"):
                for included in sorted(moved.intersection(included_by(path))):
                    yield f"{path.relative_to(ROOT)} includes {included}, which has moved"


def problems():
    yield from of_moved_headers()
    headers = Headers()
    for path in sorted(ROOT.glob("include/**/*.h")) + sorted(ROOT.glob("src/**/*.[hc]*")):
        if path.suffix not in (".h", ".cpp", ".cu"):
            continue
        public = path.is_relative_to(ROOT / "include")
        name = str(path.relative_to(ROOT / ("include" if public else "src")))
        layer = headers.layer(name) if public else name.split("/")[0]
        for included in included_by(path):
            if "/" not in included and not included.endswith(".h"):
                continue  # the standard library
            if included.startswith("tenon/"):
                target = headers.layer(included)
            else:
                target = included.split("/")[0]
                if target not in BELOW and not public:
                    continue  # the system's, or a library's: sources may
            if public and not included.startswith("tenon/"):
                yield f"{name} is public and includes {included}, which is not"
            elif target != layer and target not in BELOW[layer]:
                yield f"{name} ({layer}) includes {included} ({target})"


def main():
    found = list(problems())
    for line in found:
        print(f"check_layers: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

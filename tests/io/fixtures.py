#!/usr/bin/env python3
"""Compares what `tenon inspect --json --hash` says of files that PyTorch wrote with what PyTorch says of them.

usage: fixtures.py TENON
"""
import hashlib
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent / "fixtures"
problems = []
tensors = 0


def inspect(file, *options):
    done = subprocess.run([sys.argv[1], "inspect", "--json", "--hash", *options, file], capture_output=True)
    if done.returncode != 0:
        problems.append(f"{file}: {done.stderr.decode().strip()}")
        return {}
    return {t["name"]: t for t in json.loads(done.stdout)["tensors"]}


def compare(file, name, expected, mine):
    global tensors
    tensors += 1
    for key, value in expected.items():
        if value is not None and mine.get(key) != value:
            problems.append(f"{file}: {name}: {key} is {mine.get(key)!r} and not {value!r}")


def of_2_11():
    folder = HERE / "torch-2.11"
    for file, facts in json.loads((folder / "expect.json").read_text())["files"].items():
        whole = "pickled module" in facts.get("note", "")
        mine = inspect(folder / file, *(["--inert"] if whole or file == "script.pt" else []))
        if set(mine) != set(facts["tensors"]):
            problems.append(f"{file}: other names: {sorted(set(mine) ^ set(facts['tensors']))[:6]}")
            continue
        for name, t in facts["tensors"].items():
            expected = {key: t.get(key) for key in ("dtype", "shape", "stride", "sha256")}
            if not whole:
                expected.update({key: t.get(key) for key in ("offset", "requires_grad", "device")}, parameter=t.get("param"))
            compare(file, name, expected, mine[name])


def listed(value, name, out):
    """The tensors of a manifest's tree, by name."""
    kind = value["kind"]
    if kind == "tensor":
        out[name] = value
    elif kind in ("dict", "OrderedDict"):
        for key, item in value["items"]:
            listed(item, f"{name}.{key.get('value')}" if name else str(key.get("value")), out)
    elif kind in ("list", "tuple"):
        for i, item in enumerate(value["items"]):
            listed(item, f"{name}.{i}" if name else str(i), out)


def of_versions():
    for folder in (HERE / "torch-2.14.1", HERE / "torch-2.6.0"):
        for file, tree in json.loads((folder / "manifest.json").read_text()).items():
            mine, theirs = inspect(folder / file), {}
            listed(tree, "", theirs)
            for name, t in theirs.items():
                if t.get("layout", "torch.strided") != "torch.strided":
                    continue  # listed by its parts, whose bytes the manifest does not have
                if name not in mine:
                    problems.append(f"{file}: {name} is missing")
                    continue
                data = t.get("bytes")
                compare(f"{folder.name}/{file}", name,
                        {"dtype": t["dtype"].removeprefix("torch."), "shape": t["shape"], "stride": t.get("stride"), "offset": t.get("offset"),
                         "requires_grad": t["requires_grad"], "sha256": hashlib.sha256(bytes.fromhex(data)).hexdigest() if data is not None else None},
                        mine[name])


of_2_11()
of_versions()
print("\n".join(problems) or f"{tensors} tensors are what PyTorch says they are")
sys.exit(1 if problems or tensors < 300 else 0)

#!/usr/bin/env python3
"""Compares what `tenon inspect --json --hash` says of files that PyTorch wrote with what PyTorch says of them.

usage: fixtures.py TENON
"""
import hashlib
import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent / "fixtures"
problems = []
tensors = 0


def inspect(file, *options):
    """The tensors by name, and the values."""
    done = subprocess.run([sys.argv[1], "inspect", "--json", "--hash", *options, file], capture_output=True)
    if done.returncode != 0:
        problems.append(f"{file}: {done.stderr.decode().strip()}")
        return {}, None
    answer = json.loads(done.stdout)
    return {t["name"]: t for t in answer["tensors"]}, answer["values"]


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
        mine, values = inspect(folder / file, *(["--inert"] if whole or file == "script.pt" else []))
        if set(mine) != set(facts["tensors"]):
            problems.append(f"{file}: other names: {sorted(set(mine) ^ set(facts['tensors']))[:6]}")
            continue
        for name, t in facts["tensors"].items():
            expected = {key: t.get(key) for key in ("dtype", "shape", "stride", "sha256")}
            if not whole:
                expected.update({key: t.get(key) for key in ("offset", "requires_grad", "device")}, parameter=t.get("param"))
            compare(file, name, expected, mine[name])
        for key in ("scale", "zero_point"):
            if key in facts and values["q"][key] != facts[key]:
                problems.append(f"{file}: {key} is {values['q'][key]}")


def listed(value, name, out):
    """The tensors of a manifest's tree, by name."""
    kind = value["kind"]
    if kind in ("tensor", "parameter"):
        out[name] = value
    elif kind in ("dict", "OrderedDict"):
        for key, item in value["items"]:
            listed(item, f"{name}.{key.get('value')}" if name else str(key.get("value")), out)
    elif kind in ("list", "tuple"):
        for i, item in enumerate(value["items"]):
            listed(item, f"{name}.{i}" if name else str(i), out)


def in_json(value, name):
    """What the command should say of a value of a manifest's tree."""
    if not isinstance(value, dict):
        return value  # in sets
    kind = value["kind"]
    below = lambda key: f"{name}.{key}" if name else str(key)
    if kind in ("tensor", "parameter"):
        return {"tensor": name}
    if kind in ("dict", "OrderedDict"):
        if all(key["kind"] == "str" for key, _ in value["items"]):
            return {key["value"]: in_json(item, below(key["value"])) for key, item in value["items"]}
        return {"dict": [[in_json(key, name), in_json(item, below(key.get("value")))] for key, item in value["items"]]}
    if kind in ("list", "tuple", "set"):
        items = [in_json(item, below(i)) for i, item in enumerate(value["items"])]
        return items if kind == "list" else {kind: items}
    if kind in ("bytes", "bytearray"):
        return {"bytes": value["hex"]}
    if kind == "complex":
        return {"complex": [value["re"], value["im"]]}
    if kind == "int" and abs(int(value["value"])) > 2**53:
        return {"int": str(value["value"])}
    if kind == "float" and not math.isfinite(float(value["value"])):
        return {"float": str(float(value["value"]))}
    return {"int": int, "float": float}.get(kind, lambda same: same)(value["value"])


def without_order(value):
    """Sets have none."""
    if isinstance(value, dict):
        if set(value) == {"set"}:
            return {"set": sorted(map(json.dumps, value["set"]))}
        return {key: without_order(item) for key, item in value.items()}
    return [without_order(item) for item in value] if isinstance(value, list) else value


def dense(t, mine):
    """A sparse tensor of two dimensions, from what the command says of its parts: their shapes must fit the whole."""
    if t["layout"] == "torch.sparse_coo":
        return mine["indices"]["shape"][0] == len(t["shape"]) and mine["indices"]["shape"][1] == mine["values"]["shape"][0]
    return mine["crow_indices"]["shape"] == [t["shape"][0] + 1] and mine["col_indices"]["shape"] == mine["values"]["shape"]


def of_versions():
    for folder in (HERE / "torch-2.14.1", HERE / "torch-2.6.0"):
        for file, tree in json.loads((folder / "manifest.json").read_text()).items():
            (mine, values), theirs = inspect(folder / file), {}
            listed(tree, "", theirs)
            sparse = {name for name, t in theirs.items() if t.get("layout", "torch.strided") != "torch.strided"}
            for name in sparse:  # listed by its parts, whose bytes the manifest does not have
                parts = {key.removeprefix(name + "."): t for key, t in mine.items() if key.startswith(name + ".")}
                if not dense(theirs[name], parts):
                    problems.append(f"{file}: the parts of {name} do not fit: {parts}")
            if not sparse and without_order(values) != without_order(in_json(tree, "")):
                problems.append(f"{folder.name}/{file}: the values are {json.dumps(values)[:300]}")
            for name, t in theirs.items():
                if name in sparse:
                    continue
                if name not in mine:
                    problems.append(f"{file}: {name} is missing")
                    continue
                data = t.get("bytes")
                compare(f"{folder.name}/{file}", name,
                        {"dtype": t["dtype"].removeprefix("torch."), "shape": t["shape"], "stride": t.get("stride"), "offset": t.get("offset"),
                         "requires_grad": t["requires_grad"], "device": t["device"], "parameter": t["kind"] == "parameter",
                         "sha256": hashlib.sha256(bytes.fromhex(data)).hexdigest() if data is not None else None},
                        mine[name])
            extra = set(mine) - set(theirs) - {key for key in mine for name in sparse if key.startswith(name + ".")}
            if extra:
                problems.append(f"{folder.name}/{file}: {sorted(extra)[:5]} are not in the file")


of_2_11()
of_versions()
print("\n".join(problems) or f"{tensors} tensors are what PyTorch says they are")
sys.exit(1 if problems or tensors < 300 else 0)

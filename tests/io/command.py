#!/usr/bin/env python3
"""The command's answers: exit codes, texts, and that names do not reach a terminal raw.

usage: command.py TENON
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FILES = pathlib.Path(__file__).resolve().parent / "fixtures"
PTH = FILES / "torch-2.14.1" / "linear_sd.pth"
failures = []


def tenon(*arguments, **options):
    return subprocess.run([sys.argv[1], *map(str, arguments)], capture_output=True, text=True, **options)


def expect(what, condition, done):
    if not condition:
        failures.append(f"{what}: exit {done.returncode}\n{done.stdout[:300]}\n{done.stderr[:300]}")


def main():
    done = tenon("--version")
    expect("version", done.returncode == 0 and done.stdout.startswith("tenon "), done)
    done = tenon("inspect", "--help")
    expect("help", done.returncode == 0 and "usage: tenon inspect" in done.stdout, done)
    for wrong in (["frobnicate"], ["inspect"], ["inspect", "--frob", PTH], ["inspect", PTH, PTH], []):
        done = tenon(*wrong)
        expect(f"usage {wrong}", done.returncode == 2 and done.stderr, done)
    done = tenon("inspect", PTH)
    expect("table", done.returncode == 0 and "weight  float32  torch.Size([2, 3])" in done.stdout, done)
    done = tenon("inspect", "--json", PTH)
    facts = json.loads(done.stdout)
    expect("json", facts["format"] == "pth" and facts["verified"] is False and [t["name"] for t in facts["tensors"]] == ["weight", "bias"], done)
    expect("values", facts["values"] == {"weight": {"tensor": "weight"}, "bias": {"tensor": "bias"}}, done)
    done = tenon("inspect", "--json", "--hash", PTH)
    expect("hash", json.loads(done.stdout)["verified"] is True, done)
    done = tenon("inspect", "--json", FILES / "torch-2.14.1" / "python.pt")
    expect("plain values", done.returncode == 0 and '"tuple"' in done.stdout, done)
    done = tenon("inspect", "--json", "--hash", FILES / "torch-2.11" / "quantized.pth")
    facts = json.loads(done.stdout)
    expect("quantised", facts["tensors"][0]["name"] == "q" and facts["tensors"][0]["dtype"] == "qint8"
           and facts["values"]["q"] == {"layout": "torch.strided", "qscheme": "torch.per_tensor_affine", "scale": 0.1, "zero_point": 3,
                                        "size": {"size": [3, 4]}}, done)
    done = tenon("inspect", "--json", FILES / "torch-2.11" / "sparse_coo.pth")
    facts = json.loads(done.stdout)["values"]["coo"]
    expect("sparse", facts["layout"] == "torch.sparse_coo" and facts["indices"] == {"tensor": "coo.indices"}
           and facts["size"]["size"] == [3, 3], done)
    done = tenon("inspect", "--filter", "^b", "--json", PTH)
    facts = json.loads(done.stdout)
    expect("filter", [t["name"] for t in facts["tensors"]] == ["bias"], done)
    done = tenon("inspect", "--filter=eight", PTH)
    expect("filtered table", done.returncode == 0 and "1 of 2 tensors" in done.stdout and "bias" not in done.stdout, done)
    done = tenon("inspect", "--filter", "(", PTH)
    expect("wrong expression", done.returncode == 2 and "RE2" in done.stderr, done)
    done = tenon("inspect", PTH, "--filter")
    expect("no expression", done.returncode == 2 and "needs a value" in done.stderr, done)
    done = tenon("inspect", "--json", "--stats", "--filter", "^bias$", PTH)
    stats = json.loads(done.stdout)["tensors"][0]["stats"]
    # What torch says of tensor([-0.0114403, 0.4577636]).
    expect("stats", abs(stats["mean"] - 0.22316) < 1e-4 and abs(stats["std"] - 0.33178) < 1e-4 and stats["zeros"] == 0
           and stats["min"] < 0 < stats["max"] and stats["nan"] == 0, done)
    done = tenon("inspect", "--stats", FILES / "torch-2.11" / "dtypes.pth")
    expect("stats of every dtype", done.returncode == 0 and "\x1b" not in done.stdout, done)
    done = tenon("inspect", FILES / "torch-2.11")
    expect("folder", done.returncode == 0 and "index" in done.stdout, done)
    done = tenon("inspect", FILES)
    expect("other folder", done.returncode == 3 and "model.safetensors" in done.stderr, done)
    done = tenon("inspect", "/nowhere/at.all")
    expect("no file", done.returncode == 4 and "No such file" in done.stderr, done)
    done = tenon("inspect", FILES / "torch-2.11" / "whole_module.pth")
    expect("object", done.returncode == 3 and "inert" in done.stderr and "byte " in done.stderr, done)
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.argv[1], "--version"], stdout=full, stderr=subprocess.PIPE, text=True)
    expect("no room for the version", done.returncode == 4, subprocess.CompletedProcess([], done.returncode, "", done.stderr))
    done = tenon("inspect", "--json", "--inert", FILES / "odd" / "containers.pth")
    facts = json.loads(done.stdout)
    expect("items of other classes", {t["name"] for t in facts["tensors"]} == {"x.t", "s.0"}
           and facts["values"]["x"]["global"] == "collections.defaultdict" and facts["values"]["x"]["items"] == {"t": {"tensor": "x.t"}}, done)
    done = tenon("inspect", "--json", "--inert", FILES / "torch-2.11" / "whole_module.pth")
    facts = json.loads(done.stdout)
    named = set(re.findall(r'{"tensor": "([^"]*)"}', done.stdout))
    expect("names of a module's tensors", named - {"tmp"} == {t["name"] for t in facts["tensors"]} and "conv1.weight" in named, done)
    done = tenon("verify", PTH)
    expect("verify", done.returncode == 0 and done.stdout == "verified\n", done)
    done = tenon("verify", "--", PTH)
    expect("verify with --", done.returncode == 0, done)
    done = tenon("verify", "--help")
    expect("help of verify", done.returncode == 0 and "usage" in done.stdout, done)
    for wrong in (["verify"], ["verify", "--json", PTH], ["verify", PTH, PTH]):
        done = tenon(*wrong)
        expect(f"usage {wrong}", done.returncode == 2 and done.stderr, done)
    done = tenon("verify", FILES / "torch-2.11" / "whole_module.pth")
    expect("verify an object", done.returncode == 3, done)
    done = tenon("verify", "--inert", FILES / "torch-2.11" / "whole_module.pth")
    expect("verify an object inert", done.returncode == 0 and done.stdout == "verified\n", done)
    done = tenon("verify", FILES / "torch-2.11" / "net.safetensors")
    expect("no checksums", done.returncode == 0 and done.stdout == "unverified: no checksums\n", done)

    with tempfile.TemporaryDirectory() as folder:
        data = bytearray(PTH.read_bytes())
        at = data.index(bytes.fromhex("e8a38dbb"))  # the first weight
        data[at] ^= 1
        damaged = pathlib.Path(folder) / "damaged.pth"
        damaged.write_bytes(data)
        done = tenon("verify", damaged)
        expect("damaged", done.returncode == 1 and "checksum" in done.stderr, done)
        done = tenon("inspect", "--hash", damaged)
        expect("damaged while hashing", done.returncode == 3 and "checksum" in done.stderr, done)
        # A record that no tensor uses.
        data = bytearray(PTH.read_bytes())
        at = data.index(b"serialization_id", 0)
        at = data.index(b"0", data.index(b"Z", at))
        data[at] ^= 1
        damaged.write_bytes(data)
        done = tenon("verify", damaged)
        expect("damaged elsewhere", done.returncode == 1 and "serialization_id" in done.stderr, done)
        odd = pathlib.Path(folder) / "-x\x1b[31m.pth"
        odd.write_bytes(b"<html>")
        done = tenon("inspect", "--", odd)
        expect("odd name", done.returncode == 3 and "\x1b" not in done.stderr and "HTML" in done.stderr, done)
        strange = os.path.join(os.fsencode(folder), b"\xff\xfe.pth")
        with open(strange, "wb") as out:
            out.write(PTH.read_bytes())
        done = subprocess.run([sys.argv[1], "inspect", "--json", strange], capture_output=True)
        expect("name that is no UTF-8", json.loads(done.stdout.decode())["file"].endswith("\ufffd\ufffd.pth"), done)
        os.mkfifo(pathlib.Path(folder) / "pipe")
        done = tenon("inspect", pathlib.Path(folder) / "pipe", timeout=10)
        expect("pipe", done.returncode == 4 and "regular file" in done.stderr, done)

    print("\n".join(failures) or "all answers are as they should be")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

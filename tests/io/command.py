#!/usr/bin/env python3
"""The command's answers: exit codes, texts, and that names do not reach a terminal raw.

usage: command.py TENON
"""
import ast
import hashlib
import json
import os
import pathlib
import pty
import re
import resource
import subprocess
import sys
import tempfile

from commands import expect, failures, FILES, PTH, tenon


NPY = {"bool": "|b1", "int8": "|i1", "int16": "<i2", "int32": "<i4", "int64": "<i8", "uint8": "|u1", "uint16": "<u2", "uint32": "<u4",
       "uint64": "<u8", "float16": "<f2", "float32": "<f4", "float64": "<f8", "complex64": "<c8", "complex128": "<c16"}


def is_npy(data, t):
    """Whether the bytes are the .npy of a tensor that `inspect --json --hash` lists."""
    if data[:8] != b"\x93NUMPY\x01\x00":
        return False
    begin = 10 + int.from_bytes(data[8:10], "little")
    text = data[10:begin].decode()
    facts = ast.literal_eval(text)
    plain = f"{{'descr': {facts['descr']!r}, 'fortran_order': False, 'shape': {facts['shape']!r}, }}"
    return (begin % 64 == 0 and text.endswith("\n") and text.rstrip() == plain
            and facts["descr"] == NPY.get(t["dtype"]) and facts["shape"] == tuple(t["shape"])
            and len(data) - begin == t["bytes"] and hashlib.sha256(data[begin:]).hexdigest() == t["sha256"])


def extract(folder):
    def bytes_of(*arguments):
        return subprocess.run([sys.argv[1], "extract", *map(str, arguments)], capture_output=True)

    out = folder / "x.npy"
    # Every tensor of files with all dtypes, views, scalars and empty ones, other byte orders, parts of sparse tensors.
    seen = set()
    for name in ("torch-2.11/dtypes.pth", "torch-2.11/views.pth", "torch-2.11/sparse_csr.pth", "torch-2.11/dtypes.safetensors",
                 "torch-2.11/quantized.pth", "torch-2.11/legacy.pth", "torch-2.11", "torch-2.14.1/mathbits.pt", "torch-2.14.1/bigendian.pth",
                 "torch-2.14.1/deflated.pth", "torch-2.14.1/edge.pt", "torch-2.14.1/tensor_attr.pt"):
        for t in json.loads(tenon("inspect", "--json", "--hash", FILES / name).stdout)["tensors"]:
            seen.add(t["dtype"])
            what = f"extract {t['name']} of {name}"
            done = tenon("extract", "-o", out, "--", FILES / name, t["name"])
            if t["dtype"] in NPY:
                expect(what, done.returncode == 0 and not done.stdout and not done.stderr and is_npy(out.read_bytes(), t), done)
            else:
                expect(what, done.returncode == 3 and "NumPy" in done.stderr and "--raw" in done.stderr and not out.exists(), done)
            out.unlink(missing_ok=True)
            plain = folder / "x.bin"
            done = tenon("extract", "-o", plain, FILES / name, t["name"])
            expect(what + " as bytes", done.returncode == 0 and hashlib.sha256(plain.read_bytes()).hexdigest() == t["sha256"], done)
            plain.unlink(missing_ok=True)
    done = tenon("inspect", FILES / "torch-2.11" / "dtypes.pth")
    expect("extract every dtype of NumPy", seen >= NPY.keys() and "bfloat16" in seen, done)

    weight = json.loads(tenon("inspect", "--json", "--hash", PTH).stdout)["tensors"][0]
    for to in ([], ["-o", "-"]):
        done = bytes_of(*to, PTH, "weight")
        expect(f"to standard output {to}", done.returncode == 0 and is_npy(done.stdout, weight), done)
    done = bytes_of("--raw", PTH, "weight")
    expect("bytes to standard output", done.returncode == 0 and hashlib.sha256(done.stdout).hexdigest() == weight["sha256"], done)
    done = tenon("extract", "--raw", "-o", out, PTH, "weight")
    expect("bytes whatever the name is", done.returncode == 0 and hashlib.sha256(out.read_bytes()).hexdigest() == weight["sha256"], done)
    before = out.read_bytes()
    done = tenon("extract", PTH, "weight", "-o", out)
    expect("a file that is there", done.returncode == 3 and "--force" in done.stderr and out.read_bytes() == before, done)
    done = tenon("extract", "--force", PTH, "weight", "-o", out)
    expect("a file that is there, forced", done.returncode == 0 and is_npy(out.read_bytes(), weight), done)
    done = tenon("extract", PTH, "weight", f"-o={folder / 'y.npy'}")
    expect("a value behind =", done.returncode == 0 and is_npy((folder / "y.npy").read_bytes(), weight), done)
    os.remove(folder / "y.npy")
    link = folder / "link.npy"
    link.symlink_to(out)
    os.mkfifo(folder / "pipe")
    for odd in (link, folder, folder / "pipe"):
        done = tenon("extract", "--force", PTH, "weight", "-o", odd)
        expect(f"{odd} is not replaced", done.returncode == 3 and "regular file" in done.stderr, done)
    for file in (link, out, folder / "pipe"):
        file.unlink()

    for wrong in ([], [PTH], [PTH, "weight", "bias"], ["-o"], [PTH, "weight", "-o"], [PTH, "weight", "-o", ""], ["", "weight"],
                  ["--raw=1", PTH, "weight"]):
        done = tenon("extract", *wrong)
        expect(f"usage extract {wrong}", done.returncode == 2 and done.stderr and not done.stdout, done)
    done = tenon("extract", "--help")
    expect("help of extract", done.returncode == 0 and "usage: tenon extract" in done.stdout, done)
    main_end, terminal = pty.openpty()
    done = subprocess.run([sys.argv[1], "extract", PTH, "weight"], stdout=terminal, stderr=subprocess.PIPE, text=True)
    expect("to a terminal", done.returncode == 2 and "terminal" in done.stderr,
           subprocess.CompletedProcess([], done.returncode, "", done.stderr))
    os.close(terminal)
    os.close(main_end)

    net = FILES / "torch-2.11" / "net_init.pth"
    for file, name, hint in ((PTH, "weigth", "it has 'weight'"), (PTH, "model.bias", "it has 'bias'"),
                             (net, "num_batches_tracked", "'bn1.num_batches_tracked'"),
                             (net, "bn1", "'bn1.weight'"), (PTH, "something else", "tenon inspect"), (PTH, "", "tenon inspect"),
                             (PTH, "\x1b[31mweight", "no tensor")):
        done = tenon("extract", file, name, "-o", out)
        expect(f"no tensor {name!r}", done.returncode == 3 and hint in done.stderr and "\x1b" not in done.stderr, done)
    done = tenon("extract", "/nowhere/at.all", "weight", "-o", out)
    expect("extract from no file", done.returncode == 4 and "No such file" in done.stderr, done)
    done = tenon("extract", PTH, "weight", "-o", folder / "nowhere" / "x.npy")
    expect("extract to no folder", done.returncode == 4 and "No such file" in done.stderr, done)
    done = tenon("extract", FILES / "torch-2.14.1" / "meta.pt", "m", "-o", out)
    expect("extract a meta tensor", done.returncode == 3 and "meta" in done.stderr, done)
    module = FILES / "torch-2.11" / "whole_module.pth"
    done = tenon("extract", module, "conv1.weight", "-o", out)
    expect("extract from an object", done.returncode == 3 and "inert" in done.stderr, done)
    expect("nothing left behind", not list(folder.iterdir()), done)
    done = bytes_of("--inert", module, "conv1.weight")
    expect("extract from an object inert", done.returncode == 0 and done.stdout.startswith(b"\x93NUMPY"), done)

    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.argv[1], "extract", PTH, "weight"], stdout=full, stderr=subprocess.PIPE, text=True)
    expect("no room on standard output", done.returncode == 4 and "No space left" in done.stderr,
           subprocess.CompletedProcess([], done.returncode, "", done.stderr))
    done = tenon("extract", PTH, "weight", "-o", out, restore_signals=False,  # Python ignores SIGXFSZ; so must the command
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    expect("no room for the file", done.returncode == 4 and "too large" in done.stderr and not list(folder.iterdir()), done)
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([sys.argv[1], "extract", PTH, "weight"], stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    expect("a reader that has gone", done.returncode == 0 and not done.stderr,
           subprocess.CompletedProcess([], done.returncode, "", done.stderr))

    data = bytearray(PTH.read_bytes())
    copy = folder / "model.pth"
    copy.write_bytes(data)
    done = tenon("extract", "--force", copy, "weight", "-o", copy)
    expect("not over the checkpoint", done.returncode == 3 and copy.read_bytes() == data, done)
    data[data.index(bytes.fromhex("e8a38dbb"))] ^= 1  # the first weight
    copy.write_bytes(data)
    done = tenon("extract", copy, "weight", "-o", out)
    expect("extract what is damaged", done.returncode == 3 and "checksum" in done.stderr and list(folder.iterdir()) == [copy], done)
    out.write_bytes(b"before")
    done = tenon("extract", "--force", copy, "weight", "-o", out)
    expect("what was there stays", done.returncode == 3 and out.read_bytes() == b"before" and len(list(folder.iterdir())) == 2, done)
    done = tenon("extract", copy, "weight")
    expect("damaged, to standard output", done.returncode == 3 and not done.stdout and "checksum" in done.stderr, done)
    done = bytes_of(copy, "bias")
    expect("what is not damaged", done.returncode == 0, done)


LAZY = FILES.parents[1] / "nn" / "fixtures"


def uninitialised(folder):
    """Files of lazy modules: what has no shape is listed apart."""
    states = LAZY / "lazy_states.pth"
    done = tenon("inspect", states)
    expect("inspect of a lazy file", "norm.running_mean  float32  uninitialised\n" in done.stdout
           and "frozen.weight  float32  uninitialised  parameter\n" in done.stdout
           and ": pth, 1 tensors, 8 bytes, 6 uninitialised, " in done.stdout, done)
    done = tenon("inspect", "--filter", "running", states)
    expect("filtered", ", 0 of 1 tensors, 0 bytes, 2 of 6 uninitialised, " in done.stdout and done.stdout.count("\n") == 3, done)
    done = tenon("inspect", "--json", "--hash", "--stats", states)
    said = json.loads(done.stdout)
    expect("as JSON", [t["name"] for t in said["tensors"]] == ["norm.num_batches_tracked"]
           and said["uninitialized"][4] == {"name": "frozen.weight", "dtype": "float32", "device": "cpu", "requires_grad": False,
                                            "parameter": True}
           and said["values"]["norm"]["bias"] == {"uninitialized": "norm.bias"}
           and said["values"]["norm"]["num_batches_tracked"] == {"tensor": "norm.num_batches_tracked"}, done)
    done = tenon("extract", states, "norm.bias")
    expect("extracted", done.returncode == 3 and "'norm.bias' is uninitialised: it has neither shape nor elements yet" in done.stderr, done)
    expect("verified", tenon("verify", states).returncode == 0, done)
    mlp, out = LAZY / "lazy_mlp.pth", folder / "small.pth"
    done = tenon("convert", "--dtype", "bfloat16", "--dry-run", mlp, out)
    expect("what would be converted", "fc1.weight  float32 -> bfloat16  uninitialised\n" in done.stdout and not out.exists(), done)
    done = tenon("convert", "--dtype", "bfloat16", "--strip-prefix", "fc1.", mlp, out)
    expect("converted", done.returncode == 0 and ": 0 tensors, " in done.stdout and ", 4 uninitialised\n" in done.stdout, done)
    done = tenon("inspect", out)
    expect("found again", "\nbias  bfloat16  uninitialised  parameter\n" in done.stdout, done)
    done = tenon("convert", mlp, folder / "x.safetensors")
    expect("in safetensors", done.returncode == 3 and "lazy_mlp.pth: save: an UninitializedParameter has no shape yet" in done.stderr, done)
    done = tenon("convert", "--shard-size", "1KB", "--to", "pth", mlp, folder / "shards")
    expect("in shards", done.returncode == 0 and len(json.loads(tenon("inspect", "--json", folder / "shards").stdout)["uninitialized"]) == 4, done)


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
        # Names that cannot be seen for what they are: hidden letters, marks that turn text around, private use, fillers.
        hidden = "".join(map(chr, (0x1b, 0xa, 0xad, 0x115f, 0x180e, 0x200b, 0x202e, 0x2066, 0x3164, 0xe000, 0xfeff, 0xfff9, 0xe0041, 0xe01ef, 0x10fffd)))
        header = json.dumps({hidden: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
        invisible = pathlib.Path(folder) / "invisible.safetensors"
        invisible.write_bytes(len(header).to_bytes(8, "little") + header + b"0000")
        done = tenon("inspect", invisible)
        expect("hidden characters", done.returncode == 0 and not set(hidden) & set(done.stdout.replace("\n", ""))
               and "\\u{1b}\\u{a}" in done.stdout and "\\u{e0041}" in done.stdout, done)
        done = tenon("inspect", "--json", invisible)
        expect("hidden characters in JSON", done.returncode == 0 and not set(hidden) & set(done.stdout.replace("\n", ""))
               and json.loads(done.stdout)["tensors"][0]["name"] == hidden and "\\udb40\\udc41" in done.stdout, done)
        strange = os.path.join(os.fsencode(folder), b"\xff\xfe.pth")
        with open(strange, "wb") as out:
            out.write(PTH.read_bytes())
        done = subprocess.run([sys.argv[1], "inspect", "--json", strange], capture_output=True)
        expect("name that is no UTF-8", json.loads(done.stdout.decode())["file"].endswith("\ufffd\ufffd.pth"), done)
        os.mkfifo(pathlib.Path(folder) / "pipe")
        done = tenon("inspect", pathlib.Path(folder) / "pipe", timeout=10)
        expect("pipe", done.returncode == 4 and "regular file" in done.stderr, done)

    with tempfile.TemporaryDirectory() as folder:
        extract(pathlib.Path(folder))
        uninitialised(pathlib.Path(folder))

    print("\n".join(failures) or "all answers are as they should be")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

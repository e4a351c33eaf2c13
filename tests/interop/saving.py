#!/usr/bin/env python3
"""Files that the command writes, as the PyTorch and safetensors of this environment open them.

usage: saving.py TENON [SEED] [--small]

PyTorch or safetensors writes a file, `tenon convert` writes it again, and both are opened here: trees, layouts, ties and bits have to
be the same. What torch.save writes by default has to be the same file, byte for byte, but for the digits of its serialization id.
--small leaves out the file of more than 4 GB, and most of the 100,000 tensors.
"""
import collections
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import traceback
import warnings
import zipfile
import zlib

import numpy
import safetensors
import safetensors.torch
import torch

from checkpoints import OLD, OPAQUE, PLAIN, SMALL_FLOATS, anything, elements, listed, noise, quantized, sparse, training, views

warnings.simplefilter("ignore")

EVERY = PLAIN + SMALL_FLOATS + OPAQUE
# Those safetensors has a name for, and that its library can read and write; others are bytes there.
NAMED = [d for d in EVERY if d in safetensors.torch._SIZE]
PIECE = 1 << 26


class Comparison:
    """Two trees. With exact, as torch.load gives them for the same file; without, strides, offsets, the rest of a storage and what
    safetensors has no word for may differ."""

    def __init__(self, exact, storages=True):
        self.exact, self.storages, self.tensors, self.problems = exact, storages, 0, []
        self.partners, self.kept, self.equal = {}, [], set()

    def wrong(self, where, what):
        self.problems.append(f"{where or 'the whole'}: {what}")

    def paired(self, where, kind, one, other):
        """Whether what is one thing here is one thing there."""
        for side, a, b in (("first", one, other), ("second", other, one)):
            if self.partners.setdefault((kind, side, a), b) != b:
                self.wrong(where, f"{kind} are shared otherwise")

    def trees(self, where, a, b):
        if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
            return self.one_tensor(where, a, b)
        a, b = plain(a), plain(b)
        if type(a) is not type(b):
            return self.wrong(where, f"{type(b).__name__} and not {type(a).__name__}")
        if isinstance(a, dict):
            if [key_text(k) for k in a] != [key_text(k) for k in b]:
                return self.wrong(where, f"keys {list(b)[:5]} and not {list(a)[:5]}")
            for key, other in zip(a, b):
                self.trees(f"{where}.{key}", a[key], b[other])
            if hasattr(a, "__dict__"):
                self.trees(f"{where}(attributes)", vars(a), vars(b))
        elif isinstance(a, (list, tuple)):
            if len(a) != len(b):
                return self.wrong(where, f"{len(b)} items and not {len(a)}")
            for i, (x, y) in enumerate(zip(a, b)):
                self.trees(f"{where}.{i}", x, y)
        elif key_text(a) != key_text(b):
            self.wrong(where, f"{b!r} and not {a!r}")
        if self.exact and isinstance(a, (dict, list)) and not where.endswith("(attributes)"):
            self.kept += [a, b]
            self.paired(where, "containers", id(a), id(b))

    def one_tensor(self, where, a, b):
        self.tensors += 1
        if type(a) is not type(b):
            return self.wrong(where, f"{type(b).__name__} and not {type(a).__name__}")
        self.kept += [a, b]
        self.paired(where, "tensors", id(a), id(b))
        for fact in ("dtype", "layout", "device", "shape", "requires_grad", "is_quantized"):
            if getattr(a, fact) != getattr(b, fact):
                return self.wrong(where, f"{fact} is {getattr(b, fact)} and not {getattr(a, fact)}")
        if self.exact:
            if (a.is_conj(), a.is_neg()) != (b.is_conj(), b.is_neg()):
                self.wrong(where, "conjugated or negated otherwise")
            if vars(a) or vars(b):
                self.trees(f"{where}(attributes)", vars(a), vars(b))
        if a.layout != torch.strided:
            if a.layout == torch.sparse_coo and a.is_coalesced() != b.is_coalesced():
                self.wrong(where, "coalesced otherwise")
            ours = listed(b, where, {}, False)
            for name, part in listed(a, where, {}, False).items():
                self.one_tensor(name, part, ours[name])
            return
        if a.is_quantized:
            self.quantizers(where, a, b)
        if self.exact and a.stride() != b.stride():
            return self.wrong(where, f"strides are {b.stride()} and not {a.stride()}")
        if a.is_meta:
            return
        if self.exact and a.storage_offset() != b.storage_offset():
            return self.wrong(where, f"offset is {b.storage_offset()} and not {a.storage_offset()}")
        x, y = a.untyped_storage(), b.untyped_storage()
        if self.storages and x.nbytes() != 0:
            self.paired(where, "storages", x._cdata, y._cdata)
        if not self.exact:
            if elements(a) != elements(b):
                self.wrong(where, "other bits")
        elif x._cdata not in self.equal:
            self.equal.add(x._cdata)
            if x.nbytes() != y.nbytes():
                self.wrong(where, f"a storage of {y.nbytes()} bytes and not {x.nbytes()}")
            elif not torch.equal(all_bytes(x), all_bytes(y)):
                self.wrong(where, "other bits")

    def quantizers(self, where, a, b):
        if a.qscheme() != b.qscheme():
            return self.wrong(where, f"{b.qscheme()} and not {a.qscheme()}")
        if a.qscheme() == torch.per_tensor_affine:
            if (a.q_scale(), a.q_zero_point()) != (b.q_scale(), b.q_zero_point()):
                self.wrong(where, "quantised otherwise")
            return
        if a.q_per_channel_axis() != b.q_per_channel_axis():
            self.wrong(where, "quantised along another dimension")
        for name in ("q_per_channel_scales", "q_per_channel_zero_points"):
            if elements(getattr(a, name)()) != elements(getattr(b, name)()):
                self.wrong(where, f"{name} differ")


def plain(value):
    """What the command reads it as, where that is something else."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, frozenset):
        return set(value)
    return dict(value) if isinstance(value, collections.Counter) else value


def key_text(value):
    """Different for values that differ in any bit, and the same for others."""
    if isinstance(value, float):
        return "float " + struct.pack(">d", value).hex()
    if isinstance(value, complex):
        return "complex " + struct.pack(">dd", value.real, value.imag).hex()
    if isinstance(value, (set, frozenset)):
        return f"set {sorted(map(key_text, value))}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} {[key_text(item) for item in value]}"
    return f"{type(value).__name__} {value!r}"


def all_bytes(storage):
    return torch.empty(0, dtype=torch.uint8).set_(storage)


def free_ranges(path):
    """Where a file of torch.save is different each time: the digits of its serialization id, and their checksum twice."""
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        entry = [e for e in archive.infolist() if e.filename.endswith("/.data/serialization_id")][0]
        file.seek(entry.header_offset + 26)
        name, extra = struct.unpack("<HH", file.read(4))
        data = entry.header_offset + 30 + name + extra
        file.seek(data)
        digits, descriptor = file.read(40), file.read(8)
        at = archive.start_dir
        while True:
            file.seek(at)
            header = file.read(46)
            name, extra, comment = struct.unpack("<HHH", header[28:34])
            if file.read(name).decode() == entry.filename:
                break
            at += 46 + name + extra + comment
    right = len(digits) == 40 and digits.isdigit() and struct.unpack("<I", descriptor[4:])[0] == entry.CRC == zlib.crc32(digits)
    return [(data, 40), (data + 44, 4), (at + 16, 4)], right


def record_at(path, place):
    with zipfile.ZipFile(path) as archive:
        before = [e for e in archive.infolist() if e.header_offset <= place]
        return "the directory" if place >= archive.start_dir or not before else before[-1].filename


def first_difference(one, other):
    """Nothing if two archives are the same file."""
    if one.stat().st_size != other.stat().st_size:
        with zipfile.ZipFile(one) as a, zipfile.ZipFile(other) as b:
            sizes = [[(e.filename, e.file_size) for e in archive.infolist()] for archive in (a, b)]
        unequal = [f"{y} and not {x}" for x, y in zip(*sizes) if x != y]
        return f"{other.stat().st_size} bytes and not {one.stat().st_size}: {unequal[:1]}"
    free, right = free_ranges(one)
    if free_ranges(other) != (free, right) or not right:
        return "its serialization id is not where it should be, or not right"
    a, b = numpy.memmap(one, numpy.uint8, "r"), numpy.memmap(other, numpy.uint8, "r")
    for begin in range(0, len(a), PIECE):
        different = a[begin:begin + PIECE] != b[begin:begin + PIECE]
        for place, count in free:
            different[max(place - begin, 0):max(place + count - begin, 0)] = False
        if different.any():
            place = begin + int(different.argmax())
            return f"byte {place} is {b[place]} and not {a[place]}, in {record_at(one, place)}"
    return None


class Judge:
    def __init__(self, tenon, folder):
        self.tenon, self.folder, self.tensors, self.files, self.problems = tenon, folder, 0, 0, []
        self.same = collections.Counter()  # files that are the same, by their kind
        self.rounds = 0
        for name in ("in", "out", "back"):
            (folder / name).mkdir()

    def wrong(self, path, what):
        self.problems.append(f"{path.relative_to(self.folder)}: {what}")

    def convert(self, source, target, *options):
        done = subprocess.run([self.tenon, "convert", "--force", "--no-sync", *options, source, target], capture_output=True)
        self.files += 1
        if done.returncode != 0:
            self.wrong(target, f"{' '.join(options)} {done.stderr.decode()}".strip())
        return done.returncode == 0

    def compare(self, path, expected, got, exact=True, storages=True):
        comparison = Comparison(exact, storages)
        comparison.trees("", expected, got)
        self.tensors += comparison.tensors
        for problem in comparison.problems[:5]:
            self.wrong(path, problem.removeprefix("."))

    def load(self, path, **options):
        try:
            return safetensors.torch.load_file(path) if path.suffix == ".safetensors" else torch.load(path, **options)
        except Exception as error:
            self.wrong(path, f"cannot be loaded with {options}: {error}")
            return None

    def tensor(self, path, name, expected, got, kept=True):
        """One tensor that the safetensors library, or a shard, gives."""
        self.tensors += 1
        pairs = expected.dtype == getattr(torch, "float4_e2m1fn_x2", None) and expected.dim() == 0  # half a byte has no name either
        if (expected.dtype not in NAMED or pairs) and not kept:
            if got.dtype != torch.uint8 or got.shape != (*expected.shape, expected.element_size()):
                return self.wrong(path, f"{name}: {got.dtype} {tuple(got.shape)}, and not its bytes")
        elif (got.dtype, got.shape) != (expected.dtype, expected.shape):
            return self.wrong(path, f"{name}: {got.dtype} {tuple(got.shape)} and not {expected.dtype} {tuple(expected.shape)}")
        if elements(got) != elements(expected):
            self.wrong(path, f"{name}: other bits")

    # ---- files of PyTorch

    def archive(self, name, value, *, identical=True, safetensors_too=True, storages=False, trusted=False, weights_only=True, **options):
        """torch.save, written again as .pth, and as .safetensors and back. What is trusted is not written for PyTorch's default loader,
        but what we write is, unless weights_only is false."""
        source, target = self.folder / "in" / name, self.folder / "out" / name
        torch.save(value, source, **options)
        # What the file holds, not the value: PyTorch does not save everything.
        expected = torch.load(source, weights_only=not trusted)
        if self.convert(source, target):
            if identical:
                problem = first_difference(source, target)
                if problem:
                    self.wrong(target, f"not what torch.save writes: {problem}")
                else:
                    self.same[name.split(".")[0].rstrip("0123456789")] += 1
            for mapped in (False, True):
                self.compare(target, expected, self.load(target, mmap=mapped, weights_only=weights_only))
            # Everything but the id was written by us, its checksum too.
            with zipfile.ZipFile(target) as archive:
                if archive.testzip():
                    self.wrong(target, f"checksum of {archive.testzip()}")
        if safetensors_too:
            self.round_trip(source, expected, storages)
        for path in (source, target):
            path.unlink(missing_ok=True)

    def round_trip(self, source, expected, storages):
        flat = self.folder / "out" / (source.stem + ".safetensors")
        back = self.folder / "back" / source.name
        if not self.convert(source, flat):
            return
        self.rounds += 1
        self.opened(flat, listed(expected, "", {}))
        if self.convert(flat, back):
            self.compare(back, expected, self.load(back), exact=False, storages=storages)
        flat.unlink()
        back.unlink(missing_ok=True)

    def opened(self, path, expected, change=lambda name, t: t):
        """Whether the safetensors library finds these tensors in the file; of those that share bytes, one that has them all."""
        found = self.load(path)
        if found is None:
            return False
        with safetensors.safe_open(path, "pt") as file:
            lazily = {name: file.get_tensor(name) for name in file.keys()}
        if set(found) != set(lazily) or not set(found) <= set(expected):
            self.wrong(path, f"names {sorted(set(found) ^ set(lazily) | set(found) - set(expected))[:5]}")
            return True
        stored = {expected[name].untyped_storage()._cdata for name in found}
        for name, t in expected.items():
            if name in found:
                self.tensor(path, name, t, change(name, found[name]), kept=False)
                self.tensor(path, name, t, change(name, lazily[name]), kept=False)
            elif t.untyped_storage()._cdata not in stored:
                self.wrong(path, f"{name} is not there")
        return True

    # ---- files of safetensors

    def flat(self, name, state, metadata):
        source, target = self.folder / "in" / f"{name}.safetensors", self.folder / "out" / f"{name}.safetensors"
        archive, back = self.folder / "out" / f"{name}.pth", self.folder / "back" / f"{name}.safetensors"
        safetensors.torch.save_file(state, source, metadata=metadata)

        def check(path):
            if not self.opened(path, state):
                return
            with safetensors.safe_open(path, "pt") as file:
                # The format is added for transformers, and what is ours is ours.
                theirs = {key: text for key, text in (file.metadata() or {}).items() if not key.startswith("tenon.")}
                added = {} if path == source else {"format": "pt"}
                if theirs != {**added, **(metadata or {})}:
                    self.wrong(path, f"metadata {file.metadata()} and not {metadata}")

        check(source)
        if self.convert(source, target):
            check(target)
        if self.convert(source, archive):
            got = self.load(archive)
            if got is not None:
                self.compare(archive, {k: state[k] for k in sorted(state)}, {k: got[k] for k in sorted(got)}, exact=False)
                if getattr(got, "__metadata__", None) != metadata:
                    self.wrong(archive, f"metadata {getattr(got, '__metadata__', None)} and not {metadata}")
            if self.convert(archive, back):
                check(back)

    # ---- options

    def shards(self, name, state, size):
        source = self.folder / "in" / f"{name}.pth"
        torch.save(state, source)
        together = sum(t.numel() * t.element_size() for t in state.values())
        for kind, index in (("safetensors", "model.safetensors.index.json"), ("pth", "pytorch_model.bin.index.json")):
            folder = self.folder / "out" / f"{name}_{kind}"
            if not self.convert(source, folder, "--shard-size", str(size), "--to", kind):
                continue
            described = json.loads((folder / index).read_text())
            if described["metadata"]["total_size"] != together:
                self.wrong(folder, f"total_size {described['metadata']['total_size']} and not {together}")
            found = {}
            files = sorted(set(described["weight_map"].values()))
            if {p.name for p in folder.iterdir()} != {*files, index}:
                self.wrong(folder, f"files {sorted(p.name for p in folder.iterdir())}")
            for file in files:
                part = self.load(folder / file, mmap=True)
                if part is None:
                    continue
                if {k for k, v in described["weight_map"].items() if v == file} != set(part):
                    self.wrong(folder / file, "other names than in the index")
                large = sum(t.numel() * t.element_size() for t in part.values())
                if len(part) > 1 and large > size:
                    self.wrong(folder / file, f"{large} bytes of several tensors")
                found.update(part)
            if set(found) != set(state):
                self.wrong(folder, f"names {sorted(set(found) ^ set(state))[:5]}")
            if len(files) < 2:
                self.wrong(folder, "one file only")
            for key in set(found) & set(state):
                self.tensor(folder, key, state[key], found[key], kept=kind == "pth")
            whole = self.folder / "back" / f"{name}.pth"
            if self.convert(folder, whole):
                self.compare(whole, torch.load(source), self.load(whole), exact=False)

    def dtypes(self, name, state, options, choose):
        """Whether floating tensors become what tensor.to() makes of them; choose gives the dtype for a name."""
        source = self.folder / "in" / f"{name}.pth"
        torch.save(state, source)
        expected = {key: t.to(choose(key)) if t.is_floating_point() else t for key, t in state.items()}
        # Which NaN a NaN becomes depends on PyTorch's loop, and is not compared; one that stays as it is, is.
        quiet = lambda key, t: torch.where(t.isnan(), torch.full_like(t, float("nan")), t) if state[key].dtype != expected[key].dtype else t
        expected = {key: quiet(key, t) for key, t in expected.items()}
        for ending in ("pth", "safetensors"):
            target = self.folder / "out" / f"{name}.{ending}"
            if not self.convert(source, target, *options):
                continue
            if ending == "pth":
                got = self.load(target) or {}
                self.compare(target, expected, {key: quiet(key, t) for key, t in got.items() if key in state}, exact=False, storages=False)
                shared = [key for key in got if got[key].untyped_storage()._cdata != got[key.removesuffix(".rows")].untyped_storage()._cdata]
                if shared:
                    self.wrong(target, f"{shared} share nothing")
            else:
                # What shares bytes is there once.
                whole = {key: t for key, t in expected.items() if not key.endswith(".rows")}
                self.opened(target, whole, quiet)

    def compact(self, draw):
        """Small views of large storages."""
        dtype = draw.choice(PLAIN)
        large = lambda: noise(dtype, 1 << 18)
        begin = draw.randrange(1 << 17)
        base, other = large(), torch.randn(1 << 18, dtype=torch.complex64)
        value = {"middle": base[begin:begin + 100], "inner": base[begin + 10:begin + 50], "gaps": large()[begin::4096],
                 "turned": large()[begin:begin + 60].view(6, 10).t(), "stretched": large()[7:8].expand(100_000), "none": large()[5:5],
                 "conj": other[begin:begin + 20].conj(), "list": [noise(torch.float32, 3)]}
        source, target = self.folder / "in" / "compact.pth", self.folder / "out" / "compact.pth"
        torch.save(value, source)
        if self.convert(source, target, "--compact"):
            for mapped in (False, True):
                self.compare(target, value, self.load(target, mmap=mapped), exact=False)
            if target.stat().st_size > 10000:
                self.wrong(target, f"{target.stat().st_size} bytes, of {source.stat().st_size}")


def attributed(draw):
    """Tensors with what somebody hung on them."""
    weight = torch.nn.Parameter(noise(torch.float32, 3, 2), requires_grad=draw.random() < 0.5)
    weight.tensor_model_parallel, weight.partition_dim = True, draw.randrange(5)
    buffer = noise(torch.bfloat16, 4)
    buffer.note, buffer.numbers = "text", [1, 2.5, None]
    tracked = torch.randn(3, requires_grad=True)
    return {"weight": weight, "buffer": buffer, "tracked": tracked, "bare": torch.nn.Parameter(torch.randn(2)),
            "frozen": torch.nn.Parameter(torch.randn(2), requires_grad=False), "half": noise(torch.uint16, 2)}


def ties(draw):
    """One tensor under two names, and views of one storage."""
    dtype = draw.choice(PLAIN)
    base = noise(dtype, 6, 4)
    half = base[2:5]
    shared = [base, "text"]
    return {"embedding.weight": base, "lm_head.weight": base, "rows": half, "turned": base.t(), "element": base[3, 2],
            "nested": {"again": [half, half, (base, shared)], "shared": shared}, "other": base.clone()}


def plain_values():
    """What is no tensor."""
    return {"none": None, "yes": True, "no": False,
            "ints": [0, 255, 256, 65535, 65536, -1, 2**31 - 1, -2**31, 2**31, 2**63, -2**63, 2**64, 10**40, -10**700],
            "floats": [0.0, -0.0, 1.5, 5e-324, float("inf"), float("-inf"), float("nan")], "complex": complex(-0.0, float("inf")),
            "bytes": [b"", b"\x00\x7f\x80\xff", bytes(range(256)) * 3],
            "text": ["", "h\u00e9 \u4e2d \U0001f600", "\x00\n\"\\", "x" * 70000], "size": torch.Size([2, 3, 0]),
            "tuples": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, (4, [5]))), "sets": [set(), {1, 2, 3}, {"a", (1, 2.5)}],
            "dtypes": EVERY, "devices": [torch.device("cpu"), torch.device("cuda", 1), torch.device("meta")], "deep": [[[[[[{}]]]]]],
            "keys": {1: "a", -1: "b", 2.5: "c", (1, "x"): "d", b"k": "e", None: "f", True + 5: "g"}, "list": list(range(2500)),
            "dict": {i: str(i) for i in range(1001)}, "ordered": collections.OrderedDict((str(i), [i]) for i in range(1001))}


def meta():
    layer = torch.nn.Linear(4, 3, device="meta")
    return {"state": layer.state_dict(), "turned": torch.empty(5, 6, device="meta", dtype=torch.bfloat16).t(), "grad": layer.weight,
            "real": torch.randn(2)}


def turned():
    """Views of conjugates and negatives."""
    return {"conj": noise(torch.complex64, 3, 2).conj(), "neg": torch._neg_view(torch.randn(3)), "half": noise(torch.complex32, 4).conj(),
            "imag": torch.randn(3, 2, dtype=torch.complex128).conj().imag,
            "both": torch._neg_view(torch.randn(4, dtype=torch.complex64).conj())}


def module_states():
    inner = torch.nn.Sequential(torch.nn.LSTM(4, 3, 2), torch.nn.LayerNorm(3))
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), inner).state_dict()


def metadata_of(draw):
    texts = ["", "text", "h\u00e9 \U0001f600", "a\n\"\\\x01", "{\"json\": [1]}"]
    return {"format": "pt", **{f"k{i}": draw.choice(texts) for i in range(draw.randrange(4))}}


def run(judge, draw, small):
    every = {str(d).removeprefix("torch."): noise(d, 3, 4) for d in EVERY}
    judge.archive("dtypes.pth", every, storages=True)
    judge.archive("empty.pth", {str(d): noise(d, 0, 3) for d in EVERY})
    judge.archive("scalars.pth", {str(d): noise(d) for d in EVERY}, storages=True)
    judge.archive("bare.pth", noise(torch.float32, 2, 3), storages=True)
    judge.archive("number.pth", draw.choice([None, 3, 2.5, "text", [], {}]), safetensors_too=False)
    judge.archive("values.pth", plain_values(), trusted=True, safetensors_too=False, weights_only=False)
    few = plain_values()
    # PyTorch writes them, but reads neither an integer of more than 255 bytes nor empty bytes without being told to trust the file.
    few["ints"].pop()
    few["bytes"].pop(0)
    judge.archive("few_values.pth", few)
    judge.archive("ordered.pth", collections.OrderedDict((f"t{i}", noise(torch.float32, i)) for i in range(3)))
    for i in range(5):
        judge.archive(f"training{i}.pth", training(draw))
        judge.archive(f"attributed{i}.pth", attributed(draw))
        judge.archive(f"ties{i}.pth", ties(draw), storages=True)
    judge.archive("modules.pth", module_states())
    judge.archive("turned.pth", turned())
    judge.archive("sparse.pth", sparse())
    judge.archive("quantized.pth", quantized())
    judge.archive("meta.pth", meta(), safetensors_too=False)
    for i in range(20):
        judge.archive(f"views{i}.pth", views(draw, EVERY if i % 2 else PLAIN))
        judge.archive(f"tree{i}.pth", without_bytearrays([anything(draw) for _ in range(6)]))
    judge.archive("archive.with.dots.pt", {"a": noise(torch.int8, 5)})
    # Not the same bytes, but the same content.
    judge.archive("others.pth", {"bytearray": bytearray(b"xyz"), "counter": collections.Counter("hello")}, identical=False)
    judge.archive("frozen.pth", {"frozenset": frozenset([1, 2])}, identical=False, trusted=True)
    for protocol in (3, 4, 5):
        judge.archive(f"protocol{protocol}.pth", {"a": noise(torch.float32, 3), "b": [1, 2.5, "x", b"bytes", (1,), {2}]},
                      identical=False, trusted=True, pickle_protocol=protocol)
    judge.archive("legacy.pth", {"training": training(draw), "views": views(draw, OLD)}, identical=False, _use_new_zipfile_serialization=False)
    judge.archive("many.pth", {f"t{i}": noise(torch.float32, 2) for i in range(3000 if small else 100_000)})

    named = {str(d): noise(d, 2, 3) for d in NAMED}
    judge.flat("named", named, metadata_of(draw))
    judge.flat("plain", named, None)
    for i in range(5):
        state = {f"t{k}": noise(draw.choice(NAMED), *(draw.randrange(0, 5) for _ in range(draw.randrange(1, 4)))) for k in range(20)}
        judge.flat(f"random{i}", state, metadata_of(draw))

    state = collections.OrderedDict((f"layer.{i}.weight", noise(draw.choice(EVERY), draw.randrange(1, 60), 7)) for i in range(40))
    judge.shards("many_shards", state, draw.randrange(300, 4000))
    judge.shards("module_shards", module_states(), 500)

    floats = [d for d in PLAIN + SMALL_FLOATS if d.is_floating_point]
    for i, dtype in enumerate((torch.bfloat16, torch.float16, torch.float32)):
        text = str(dtype).removeprefix("torch.")
        state = {str(d): noise(d, draw.randrange(1, 300), 5) for d in PLAIN + SMALL_FLOATS}
        state |= {f"{d} numbers": torch.randn(draw.randrange(1, 100)).mul(10.0**draw.randrange(-8, 6)).to(d) for d in floats}
        state |= {f"{d}.rows": state[str(d)][1:] for d in PLAIN if state[str(d)].shape[0] > 1}
        judge.dtypes(f"to_{text}", state, ["--dtype", text], lambda name: dtype)
        model = {f"{part}.{k}": noise(draw.choice(floats), 9, 3) for part in ("norm", "head", "body") for k in range(5)}
        judge.dtypes(f"mixed_{text}", model, ["--dtype-for", "^norm=float32", "--dtype-for", "norm|head=float16", "--dtype", text],
                     lambda name: torch.float32 if "norm" in name else torch.float16 if "head" in name else dtype)
    for _ in range(3):
        judge.compact(draw)
    if not small:
        large(judge)


def without_bytearrays(value):
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(without_bytearrays(item) for item in value)
    if isinstance(value, dict):
        return type(value)((key, without_bytearrays(item)) for key, item in value.items())
    return bytes(value) if isinstance(value, bytearray) else value


def large(judge):
    """One storage beyond 32 bits, and records behind it."""
    print("a file of more than 4 GB", flush=True)
    source, target = judge.folder / "in" / "large.pth", judge.folder / "out" / "large.pth"
    flat = judge.folder / "out" / "large.safetensors"
    whole = noise(torch.uint8, 1 << 20).repeat(4100)
    torch.save({"large": whole, "behind": noise(torch.float32, 100), "view": whole[-5:]}, source)
    del whole
    expected = torch.load(source, mmap=True)
    if judge.convert(source, target):
        problem = first_difference(source, target)
        if problem:
            judge.wrong(target, f"not what torch.save writes: {problem}")
        else:
            judge.same["large"] += 1
        judge.compare(target, expected, judge.load(target, mmap=True))
        judge.compare(target, expected, judge.load(target))
        target.unlink()
    if judge.convert(source, flat):
        with safetensors.safe_open(flat, "pt") as file:
            if not torch.equal(file.get_tensor("large"), expected["large"]):
                judge.wrong(flat, "large: other bits")
            judge.tensor(flat, "behind", expected["behind"], file.get_tensor("behind"))
        if judge.convert(flat, target):
            judge.compare(target, expected, judge.load(target, mmap=True))


def main():
    arguments = [a for a in sys.argv[1:] if a != "--small"]
    seed = int(arguments[1]) if len(arguments) > 1 else random.randrange(10**9)
    draw = random.Random(seed)
    torch.manual_seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(arguments[0], pathlib.Path(folder))
        try:
            run(judge, draw, "--small" in sys.argv)
        except Exception:
            # A file that is so wrong that looking at it fails: what was found before is printed too.
            judge.problems.append(traceback.format_exc())
    if judge.problems:
        print("\n".join(judge.problems[:20]))
        print(f"saving: {len(judge.problems)} differences in {judge.files} files, seed {seed}")
        return 1
    print(f"the same file as torch.save's: {', '.join(f'{n} {kind}' for kind, n in judge.same.items())}")
    print(f"saving: {judge.tensors} tensors of {judge.files} files are written bit for bit, {sum(judge.same.values())} files byte for byte, "
          f"{judge.rounds} to safetensors and back, seed {seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

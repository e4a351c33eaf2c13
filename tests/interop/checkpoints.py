#!/usr/bin/env python3
"""Files that the PyTorch and safetensors of this environment write, as the command reads them: names, layouts and bits.

usage: checkpoints.py TENON READ_CHECKPOINT [SEED] [--small]

READ_CHECKPOINT is the example: it loads each file mapped and eagerly and compares the two. --small leaves out the
file of more than 4 GB.
"""
import collections
import hashlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

import safetensors.torch
import torch

warnings.simplefilter("ignore")

PLAIN = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
         torch.uint16, torch.uint32, torch.uint64, torch.bool, torch.complex128, torch.complex64, torch.complex32]
# Those the older stream can hold (PyTorch writes others into it, and cannot read them back).
OLD = [d for d in PLAIN if d not in (torch.uint16, torch.uint32, torch.uint64, torch.complex32)]
SMALL_FLOATS = [getattr(torch, name) for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
                if hasattr(torch, name)]
OPAQUE = [getattr(torch, name) for name in ("bits8", "bits16", "bits1x8", "bits2x4", "bits4x2", "float4_e2m1fn_x2", "bcomplex32")
          if hasattr(torch, name)]


def noise(dtype, *shape):
    """A tensor of random bits."""
    count = torch.Size(shape).numel()
    size = torch.empty(0, dtype=dtype).element_size()
    bits = torch.randint(0, 2 if dtype == torch.bool else 256, (count * size,), dtype=torch.uint8)
    return bits.view(dtype).view(shape) if count else torch.empty(shape, dtype=dtype)


def elements(t):
    """Its bytes, packed, conjugation and negation done."""
    t = t.detach()
    if t.is_conj():
        t = t.resolve_conj()
    if t.is_neg():
        t = t.resolve_neg()
    if t.is_quantized:
        t = t.int_repr()
    if t.numel() == 0:
        return b""
    if not t.is_contiguous():
        # Not every dtype can be copied: the positions of the elements can.
        size = t.element_size()
        raw = torch.as_strided(torch.empty(0, dtype=torch.uint8).set_(t.untyped_storage()), (*t.shape, size),
                               (*(s * size for s in t.stride()), 1), t.storage_offset() * size)
        return raw.contiguous().numpy().tobytes()
    return torch.empty(0, dtype=torch.uint8).set_(t.untyped_storage(), t.storage_offset() * t.element_size(),
                                                  (t.numel() * t.element_size(),)).numpy().tobytes()


def views(draw, dtypes=PLAIN):
    """Tensors over few storages, cut, turned and stretched at random."""
    out = {}
    for s in range(draw.randrange(1, 4)):
        dtype = draw.choice(dtypes)
        base = noise(dtype, draw.randrange(4, 9), draw.randrange(4, 9), draw.randrange(1, 5))
        for i in range(draw.randrange(1, 6)):
            t = base
            for _ in range(draw.randrange(0, 4)):
                kind = draw.randrange(5)
                d = draw.randrange(t.dim()) if t.dim() else 0
                if kind == 0 and t.dim() > 1:
                    t = t.transpose(d, draw.randrange(t.dim()))
                elif kind == 1 and t.dim():
                    begin = draw.randrange(t.shape[d]) if t.shape[d] else 0
                    t = t.narrow(d, begin, draw.randrange(t.shape[d] - begin + 1))
                elif kind == 2 and t.dim() and t.shape[d]:
                    t = t.select(d, draw.randrange(t.shape[d]))
                elif kind == 3:
                    t = t.unsqueeze(0).expand(draw.randrange(1, 4), *t.shape)
                elif kind == 4 and t.dim() and t.shape[d]:
                    t = t[(slice(None),) * d + (slice(0, None, draw.randrange(1, 4)),)]
            out[f"s{s}.v{i}"] = t
        if dtype in (torch.complex128, torch.complex64):
            out[f"s{s}.conj"] = base.conj()
            # What the sign of a zero or a NaN becomes depends on PyTorch's loop.
            out[f"s{s}.neg"] = torch._neg_view(torch.randn(3, 5, dtype=dtype))
        out[f"s{s}.again"] = out[f"s{s}.v0"]
    return out


def anything(draw, depth=0):
    """A tree of whatever a checkpoint may hold."""
    kind = draw.randrange(13 if depth < 4 else 9)
    if kind == 0:
        return noise(draw.choice(PLAIN + SMALL_FLOATS), *(draw.randrange(0, 4) for _ in range(draw.randrange(3))))
    if kind == 1:
        return draw.choice([None, True, False])
    if kind == 2:
        return draw.choice([0, 1, -1, 255, 256, 65535, 65536, 2**31, -2**31, 2**53, 2**63, -2**63, -2**63 - 1, 10**30, -10**300])
    if kind == 3:
        return draw.choice([0.0, -0.0, 1.5, 1e300, 5e-324, float("inf"), float("-inf")])
    if kind == 4:
        return draw.choice(["", "text", "h\u00e9 \u4e2d \U0001f600", "a\nb\"c\\", "x" * 300])
    if kind == 5:
        return draw.choice([b"\x00\xff", b"abc", bytearray(b"xyz")])
    if kind == 6:
        return draw.choice([torch.float32, torch.bfloat16, torch.bool, torch.device("cpu"), torch.device("cuda", 1), torch.Size([1, 2]),
                            complex(1, -2.5)])
    if kind == 7:
        return torch.nn.Parameter(torch.randn(2, draw.randrange(3)), requires_grad=draw.random() < 0.5)
    if kind == 8:
        return {1, 2, 3}
    if kind == 9:
        return [anything(draw, depth + 1) for _ in range(draw.randrange(4))]
    if kind == 10:
        return tuple(anything(draw, depth + 1) for _ in range(draw.randrange(4)))
    keys = [f"k{i}" for i in range(4)] if kind == 11 else ["a", 7, -1, (1, "x"), 2.5, b"k"]
    make = collections.OrderedDict if draw.random() < 0.5 else dict
    return make((key, anything(draw, depth + 1)) for key in draw.sample(keys, draw.randrange(len(keys))))


def training(draw):
    model = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2, bias=False))
    model[2].tied = model[0]
    kind = draw.choice([torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
    optimizer = kind(model.parameters(), lr=0.1, **({"momentum": 0.9} if kind is torch.optim.SGD else {"amsgrad": draw.random() < 0.5}))
    for _ in range(2):
        model(torch.randn(4, 5)).sum().backward()
        optimizer.step()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(), "epoch": 3,
            "rng": torch.get_rng_state()}


def sparse():
    t = torch.zeros(6, 8)
    t[torch.randint(0, 6, (9,)), torch.randint(0, 8, (9,))] = torch.randn(9)
    return {"coo": t.to_sparse(), "uncoalesced": torch.sparse_coo_tensor([[1, 1], [0, 0]], [1.0, 2.0], (3, 3)), "csr": t.to_sparse_csr(),
            "csc": t.to_sparse_csc(), "bsr": t.to_sparse_bsr((2, 4)), "bsc": t.to_sparse_bsc((3, 2))}


def quantized():
    x = torch.randn(3, 4)
    return {"qint8": torch.quantize_per_tensor(x, 0.1, 3, torch.qint8), "quint8": torch.quantize_per_tensor(x, 0.05, 128, torch.quint8),
            "qint32": torch.quantize_per_tensor(x, 0.01, 0, torch.qint32),
            "channel": torch.quantize_per_channel(x, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2]), 0, torch.qint8)}


def parts(name, t):
    """The tensors a tensor is listed as."""
    dot = f"{name}." if name else ""
    if t.layout == torch.sparse_coo:
        return {dot + "indices": t._indices(), dot + "values": t._values()}
    if t.layout in (torch.sparse_csr, torch.sparse_bsr):
        return {dot + "crow_indices": t.crow_indices(), dot + "col_indices": t.col_indices(), dot + "values": t.values()}
    if t.layout in (torch.sparse_csc, torch.sparse_bsc):
        return {dot + "ccol_indices": t.ccol_indices(), dot + "row_indices": t.row_indices(), dot + "values": t.values()}
    if t.is_quantized and t.qscheme() == torch.per_channel_affine:
        return {name: t, dot + "scales": t.q_per_channel_scales(), dot + "zero_points": t.q_per_channel_zero_points()}
    return {name: t}


def listed(value, name, out, top=True):
    below = lambda key: str(key) if top else f"{name}.{key}"
    if isinstance(value, torch.Tensor):
        out.update(parts(name, value))
    elif isinstance(value, dict):
        for key, item in value.items():
            listed(item, below(key if isinstance(key, str) else repr(key)), out, False)
    elif isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        for i, item in enumerate(value):
            listed(item, below(i), out, False)
    return out


class Judge:
    def __init__(self, tenon, reader):
        self.tenon, self.reader, self.tensors, self.files, self.problems = tenon, reader, 0, 0, []

    def compare(self, path, value, facts=("dtype", "shape", "stride", "offset", "requires_grad", "parameter")):
        """Whether the command says of the file what is in the value it was made from."""
        self.files += 1
        expected = listed(value, "", {})
        done = subprocess.run([self.tenon, "inspect", "--json", "--hash", path], capture_output=True)
        if done.returncode != 0:
            self.problems.append(f"{path}: {done.stderr.decode()}")
            return
        mine = {t["name"]: t for t in json.loads(done.stdout)["tensors"]}
        if set(mine) != set(expected):
            self.problems.append(f"{path}: names {sorted(set(mine) ^ set(expected))[:5]}")
        for name in set(mine) & set(expected):
            t = expected[name]
            known = {"dtype": str(t.dtype).removeprefix("torch."), "shape": list(t.shape), "stride": list(t.stride()),
                     "offset": t.storage_offset(), "requires_grad": t.requires_grad, "parameter": isinstance(t, torch.nn.Parameter)}
            self.tensors += 1
            for key in facts:
                if mine[name][key] != known[key]:
                    self.problems.append(f"{path}: {name}: {key} is {mine[name][key]} and not {known[key]}")
            if mine[name]["sha256"] != hashlib.sha256(elements(t)).hexdigest():
                self.problems.append(f"{path}: {name}: other bits")
        done = subprocess.run([self.reader, path], capture_output=True)
        if done.returncode != 0:
            self.problems.append(f"{path}: {done.stdout.decode()[-300:]}{done.stderr.decode()}")


def run(folder, judge, draw, small):
    def save(name, value, **options):
        path = folder / name
        torch.save(value, path, **options)
        judge.compare(path, value)
        path.unlink()

    every = {str(d).removeprefix("torch."): noise(d, 3, 4) for d in PLAIN + SMALL_FLOATS + OPAQUE}
    save("dtypes.pth", every)
    save("empty.pth", {str(d): noise(d, 0, 3) for d in PLAIN})
    save("scalars.pth", {str(d): noise(d) for d in PLAIN})
    save("bare.pth", noise(torch.float32, 2, 3))
    for protocol in (2, 3, 4, 5):
        save(f"protocol{protocol}.pth", {"a": noise(torch.float32, 3), "b": [1, 2.5, "x", b"bytes", (1,), {2}]}, pickle_protocol=protocol)
    save("legacy.pth", {name: t for name, t in every.items() if t.dtype in OLD}, _use_new_zipfile_serialization=False)
    save("legacy_training.pth", training(draw), _use_new_zipfile_serialization=False)
    for i in range(20):
        save(f"views{i}.pth", views(draw))
        save(f"tree{i}.pth", [anything(draw) for _ in range(6)])
        save(f"legacy_views{i}.pth", {"views": views(draw, OLD)}, _use_new_zipfile_serialization=False)
    for i in range(5):
        save(f"training{i}.pth", training(draw))
    save("sparse.pth", sparse())
    save("quantized.pth", quantized())
    save("many.pth", {f"t{i}": noise(torch.float32, 2) for i in range(3000)})

    for i in range(5):
        state = {f"t{k}": noise(draw.choice([d for d in PLAIN if d not in (torch.complex128, torch.complex32)] + SMALL_FLOATS[:2]),
                                *(draw.randrange(0, 5) for _ in range(draw.randrange(4)))) for k in range(20)}
        path = folder / f"random{i}.safetensors"
        safetensors.torch.save_file(state, path, metadata={"format": "pt", "n": str(i)})
        judge.compare(path, state)
    shards = [{f"a.{i}": noise(torch.float32, 3) for i in range(4)}, {f"b.{i}": noise(torch.int8, 5) for i in range(3)}]
    names = {}
    for i, shard in enumerate(shards):
        safetensors.torch.save_file(shard, folder / f"model-{i}.safetensors")
        names.update({name: f"model-{i}.safetensors" for name in shard})
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 63}, "weight_map": names}))
    judge.compare(index, {**shards[0], **shards[1]})
    judge.compare(folder, {**shards[0], **shards[1]})

    if not small:
        print("a file of more than 4 GB", flush=True)
        piece = noise(torch.uint8, 1 << 20)
        large = piece.repeat(4100)  # one storage beyond 32 bits
        save("large.pth", {"large": large, "behind": noise(torch.float32, 100), "view": large[-5:]})


def main():
    arguments = [a for a in sys.argv[1:] if a != "--small"]
    seed = int(arguments[2]) if len(arguments) > 2 else random.randrange(10**9)
    draw = random.Random(seed)
    torch.manual_seed(seed)
    judge = Judge(arguments[0], arguments[1])
    with tempfile.TemporaryDirectory() as folder:
        run(pathlib.Path(folder), judge, draw, "--small" in sys.argv)
    print("\n".join(judge.problems[:20]) or f"checkpoints: {judge.tensors} tensors of {judge.files} files are read bit for bit, seed {seed}")
    return 1 if judge.problems else 0


if __name__ == "__main__":
    sys.exit(main())

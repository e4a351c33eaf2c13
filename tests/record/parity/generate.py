#!/usr/bin/env python3
"""Asks a real PyTorch what it does, and writes the answers as cases that tests/parity reads.

usage: generate.py OUTDIR [--seed N] [--scale N]

Each file OUTDIR/KIND.cases is blocks of lines separated by blank lines; tests/parity/cases.h says how a
line is read. The files under tests/parity/cases/ were written by this script with the default seed and
scale by the PyTorch named on their first line; `./dev interop` writes many more with a live one.
"""
import argparse
import json
import pathlib
import random
import warnings

import torch

from arithmetic import arithmetic
from draws import draws
from every_layer import every_layer, narrow_layers
from functions import functions
from inits import inits
from layers import layers
from reductions import reductions
from writer import Writer, attempt, canonical, ints, name, raw, result_line, storage_hex, tensor_line

warnings.simplefilter("ignore")
torch.set_num_threads(1)  # the last digit of long sequences depends on how they are cut for threads

DTYPES = (
    "float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu "
    "int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool complex128 complex64 complex32"
).split()


def shape_of(rng, most=4, least=0, zero=0.1):
    return [0 if rng.random() < zero else rng.randint(1, 5) for _ in range(rng.randint(least, most))]


def numbers(rng, shape, dtype):
    """Elements that are whole, small and distinct: any confusion of places shows."""
    n = 1
    for s in shape:
        n *= s
    if dtype == torch.bool:
        return torch.tensor([rng.random() < 0.5 for _ in range(n)], dtype=torch.bool).reshape(shape)
    values = torch.arange(n, dtype=torch.float64) % 100
    if dtype.is_complex:
        values = torch.complex(values + 1, -values - 1)  # PyTorch does not always give zero a sign when it negates
    return values.to(dtype).reshape(shape)


# Views.

def view_op(rng, t):
    """A random view operator: its text and what PyTorch makes of it."""
    def dim(extra=0):
        n = t.dim() + extra
        return rng.randint(-n - 1, n) if rng.random() < 0.08 else (rng.randrange(-n, n) if n else rng.choice([0, -1]))

    def regroup(numel):
        out = []
        while numel > 1 and len(out) < 4:
            divisors = [d for d in range(1, numel + 1) if numel % d == 0]
            d = rng.choice(divisors)
            out.append(d)
            numel //= d
        out.append(numel)
        rng.shuffle(out)
        if rng.random() < 0.3:
            out[rng.randrange(len(out))] = -1
        if rng.random() < 0.05:
            out.append(rng.randint(-2, 3))
        return out

    def maybe(x):
        return x if rng.random() < 0.7 else None

    kind = rng.choice("view reshape slice narrow select transpose permute t mT expand squeeze squeezedims unsqueeze flatten "
                      "unflatten as_strided diagonal unfold split splits chunk unbind movedim real imag conj neg dtype "
                      "detach view_as_real view_as_complex".split())
    if kind in ("view", "reshape"):
        s = regroup(t.numel())
        return f"{kind} {ints(s)}", lambda: getattr(t, kind)(s)
    if kind == "slice":
        d, a, b, st = dim(), maybe(rng.randint(-6, 6)), maybe(rng.randint(-6, 6)), rng.choice([1, 1, 1, 2, 3, 0, 9])
        text = f"slice {d} {a if a is not None else '-'} {b if b is not None else '-'} {st}"
        return text, lambda: torch.ops.aten.slice.Tensor(t, d, a, b, st)
    if kind == "narrow":
        d, a, n = dim(), rng.randint(-5, 5), rng.randint(-1, 4)
        return f"narrow {d} {a} {n}", lambda: t.narrow(d, a, n)
    if kind == "select":
        d, i = dim(), rng.randint(-5, 4)
        return f"select {d} {i}", lambda: t.select(d, i)
    if kind == "transpose":
        a, b = dim(), dim()
        return f"transpose {a} {b}", lambda: t.transpose(a, b)
    if kind == "permute":
        p = list(range(t.dim()))
        rng.shuffle(p)
        if p and rng.random() < 0.1:
            p[0] = p[-1]
        return f"permute {ints(p)}", lambda: t.permute(p)
    if kind in ("t", "detach", "conj"):
        return kind, lambda: getattr(t, kind)()
    if kind == "mT":
        return "mT", lambda: t.mT
    if kind == "neg":
        if t.dtype == torch.bool or t.dtype.is_complex:  # not for bools; and zero sometimes keeps its sign in complex ones
            return "detach", lambda: t.detach()
        return "neg", lambda: torch._neg_view(t)
    if kind == "expand":
        s = [rng.choice([x, -1]) if x != 1 else rng.randint(1, 4) for x in t.shape]
        s = [rng.randint(1, 3) for _ in range(rng.randint(0, 2))] + s
        if s and rng.random() < 0.1:
            s[rng.randrange(len(s))] = rng.randint(-2, 6)
        return f"expand {ints(s)}", lambda: t.expand(s)
    if kind == "squeeze":
        return "squeeze", lambda: t.squeeze()
    if kind == "squeezedims":
        ds = [dim() for _ in range(rng.randint(1, 2))]
        return f"squeeze {ints(ds)}", lambda: t.squeeze(tuple(ds) if len(ds) > 1 else ds[0])
    if kind == "unsqueeze":
        d = dim(1)
        return f"unsqueeze {d}", lambda: t.unsqueeze(d)
    if kind == "flatten":
        a, b = dim(), dim()
        return f"flatten {a} {b}", lambda: t.flatten(a, b)
    if kind == "unflatten":
        d = dim()
        s = regroup(t.shape[d]) if t.dim() and -t.dim() <= d < t.dim() else [1]
        return f"unflatten {d} {ints(s)}", lambda: t.unflatten(d, s)
    if kind == "as_strided":
        s = shape_of(rng, 3)
        st = [rng.randint(0, 4) for _ in s]
        off = maybe(rng.randint(0, 3))
        return f"as_strided {ints(s)} {ints(st)} {off if off is not None else '-'}", lambda: t.as_strided(s, st, off)
    if kind == "diagonal":
        o, a, b = rng.randint(-4, 4), dim(), dim()
        return f"diagonal {o} {a} {b}", lambda: t.diagonal(o, a, b)
    if kind == "unfold":
        d, s, st = dim(), rng.randint(-1, 4), rng.randint(0, 3)
        return f"unfold {d} {s} {st}", lambda: t.unfold(d, s, st)
    if kind == "split":
        n, d, k = rng.randint(-1, 4), dim(), rng.randint(0, 1)
        return f"split {n} {d} {k}", lambda: t.split(n, d)[k]
    if kind == "splits":
        d = dim()
        size = t.shape[d] if t.dim() and -t.dim() <= d < t.dim() else 2
        a = rng.randint(0, size)
        sizes = [a, size - a] if rng.random() < 0.9 else [a, size]
        k = rng.randint(0, 1)
        return f"splits {ints(sizes)} {d} {k}", lambda: t.split(sizes, d)[k]
    if kind == "chunk":
        n, d, k = rng.randint(0, 4), dim(), rng.randint(0, 1)
        return f"chunk {n} {d} {k}", lambda: t.chunk(n, d)[k]
    if kind == "unbind":
        d, k = dim(), rng.randint(0, 1)
        return f"unbind {d} {k}", lambda: t.unbind(d)[k]
    if kind == "movedim":
        n = rng.randint(1, 2)
        a, b = [dim() for _ in range(n)], [dim() for _ in range(n)]
        return f"movedim {ints(a)} {ints(b)}", lambda: t.movedim(a, b)
    if kind in ("real", "imag"):
        return kind, lambda: getattr(t, kind)
    if kind in ("view_as_real", "view_as_complex") and not t.is_neg():
        return kind, lambda: getattr(torch, kind)(t)
    d = rng.choice(["int8", "int16", "int32", "int64", "float32", "float64", "complex64", "uint8"])
    return f"dtype {d}", lambda: t.view(getattr(torch, d))


def views(rng, out, count):
    w = Writer(out, "views")
    for _ in range(count):
        dtype = getattr(torch, rng.choice(["int32", "int32", "float32", "complex64", "int8", "bool", "float64"]))
        t = numbers(rng, shape_of(rng), dtype)
        lines = [tensor_line(t)]
        for _ in range(rng.randint(1, 5)):
            text, f = view_op(rng, t)
            r, error = attempt(f)
            lines.append(f"op {text}")
            if error:
                lines.append(f"error {error}")
                break
            if min(r.shape, default=0) < 0:  # expand of an empty tensor lets a negative size through
                lines.append("error ShapeError")
                break
            t = r
        else:
            r, error = attempt(lambda: result_line(t))
            if error:  # PyTorch makes such a view (a negated bool) and then cannot read it
                continue
            lines.append(r)
        w.add(*lines)
    w.close()


# Copies.

def strided(rng, dtype):
    """A tensor that is packed, permuted, cut, or expanded."""
    t = numbers(rng, shape_of(rng), dtype)
    for _ in range(rng.randint(0, 3)):
        text, f = view_op(rng, t)
        r, error = attempt(f)
        if not error and r.dtype == dtype and not r.is_neg() and r.numel() < 500 and min(r.shape, default=0) >= 0:
            t = r
    return t


def writable(t):
    """No two elements at one place, where what is left depends on the order of writing. (Stride 0 is refused.)"""
    places = torch.zeros(t.untyped_storage().nbytes() // t.dtype.itemsize, dtype=torch.int64)
    where = torch.arange(places.numel()).as_strided(t.shape, t.stride(), t.storage_offset())
    return where.unique().numel() == t.numel() or any(s == 0 and n > 1 for s, n in zip(t.stride(), t.shape))


FORMATS = {"contiguous": torch.contiguous_format, "preserve": torch.preserve_format,
           "channels_last": torch.channels_last, "channels_last_3d": torch.channels_last_3d}


def copies(rng, out, count):
    w = Writer(out, "copies")
    for _ in range(count):
        dtype = getattr(torch, rng.choice(["int32", "float32", "complex64", "bool", "int8"]))
        t = strided(rng, dtype)
        kind = rng.choice(["clone", "contiguous", "empty_like", "to", "to", "copy_", "fill_", "cat", "stack", "equal"])
        if kind in ("copy_", "fill_") and (not writable(t) or (kind == "fill_" and t.is_conj())):
            continue
        if kind in ("clone", "contiguous", "empty_like"):
            if rng.random() < 0.3:
                t = numbers(rng, shape_of(rng, 5, 4), dtype)
                if rng.random() < 0.5:
                    r, e = attempt(lambda: t.permute(rng.sample(range(t.dim()), t.dim())))
                    t = r if not e else t
            f = rng.choice(list(FORMATS))
            if kind == "contiguous" and f == "preserve":
                continue
            make = {"clone": lambda: t.clone(memory_format=FORMATS[f]), "contiguous": lambda: t.contiguous(memory_format=FORMATS[f]),
                    "empty_like": lambda: torch.empty_like(t, memory_format=FORMATS[f]).zero_()}[kind]
            r, error = attempt(make)
            w.add(tensor_line(t), f"op {kind} {f}", f"error {error}" if error else result_line(r))
        elif kind == "to":
            d = rng.choice(["float64", "float32", "float16", "bfloat16", "int64", "int8", "uint8", "bool", "complex64", "complex128"])
            r, error = attempt(lambda: t.to(getattr(torch, d)))
            w.add(tensor_line(t), f"op to {d}", f"error {error}" if error else result_line(r))
        elif kind == "copy_":
            other = getattr(torch, rng.choice(["int32", "float32", "complex64", "bool", "int8"]))
            s = rng.choice([list(t.shape), list(t.shape)[1:], [1 if rng.random() < 0.4 else x for x in t.shape], shape_of(rng)])
            src = numbers(rng, s, other)
            dst_line = tensor_line(t)
            r, error = attempt(lambda: t.copy_(src))
            w.add(dst_line, tensor_line(src), "op copy_", f"error {error}" if error else f"storage {storage_hex(t)}")
        elif kind == "fill_":
            v = rng.choice([0, 1, -3, 2.5, True, 100])
            dst_line = tensor_line(t)
            r, error = attempt(lambda: t.fill_(v))
            w.add(dst_line, f"op fill_ {json.dumps(v)}", f"error {error}" if error else f"storage {storage_hex(t)}")
        elif kind in ("cat", "stack"):
            others = [t]
            for _ in range(rng.randint(0, 2)):
                s = list(t.shape)
                if s and kind == "cat" and rng.random() < 0.6:
                    s[rng.randrange(len(s))] = rng.randint(0, 4)
                if rng.random() < 0.1:
                    s = rng.choice([[0], [2], s + [1]])
                d = getattr(torch, rng.choice([name(dtype), "float32", "int64", "bool"]))
                others.append(numbers(rng, s, d))
            d = rng.randint(-t.dim() - 1, t.dim())
            r, error = attempt(lambda: getattr(torch, kind)(others, d))
            answer = f"error {error}" if error else result_line(r)
            if kind == "stack" and not error:  # PyTorch's order in memory then depends on which of its loops runs
                answer = f"values {name(r.dtype)} {ints(r.shape)} 0 {raw(r)}"
            w.add(*[tensor_line(o) for o in others], f"op {kind} {d}", answer)
        else:
            other = t.clone()
            if rng.random() < 0.5 and other.numel():
                flat = other.view(-1) if other.is_contiguous() else other.reshape(-1)
                flat[rng.randrange(flat.numel())] = 3
                other = flat.reshape(t.shape)
            if rng.random() < 0.3:
                other = other.to(torch.complex64 if dtype.is_complex else torch.float32)
            r, error = attempt(lambda: torch.equal(t, other))
            w.add(tensor_line(t), tensor_line(other), "op equal", f"error {error}" if error else f"answer {r}")
    w.close()


# Indexing.

def indexing(rng, out, count):
    w = Writer(out, "indexing")
    for _ in range(count):
        t = numbers(rng, shape_of(rng, 4, 1, 0.05), torch.int32)
        items, text, d = [], [], 0
        dots = False
        for _ in range(rng.randint(0, 4)):
            kind = rng.choice("int slice slice none dots bool tensor tensor mask zerod".split())
            size = t.shape[d] if d < t.dim() else 1
            if kind == "int":
                i = rng.randint(-size - (rng.random() < 0.05), max(size - 1, 0))
                items.append(i), text.append(f"i:{i}")
                d += 1
            elif kind == "slice":
                a, b, s = (rng.choice([None, rng.randint(-5, 5)]) for _ in range(2)), None, rng.choice([1, 1, 2, 3])
                a = list(a)
                items.append(slice(a[0], a[1], s))
                text.append(f"s:{'' if a[0] is None else a[0]}:{'' if a[1] is None else a[1]}:{s}")
                d += 1
            elif kind == "none":
                items.append(None), text.append("n")
            elif kind == "dots" and not dots:
                items.append(...), text.append("e")
                dots = True
            elif kind == "bool" and rng.random() < 0.3:
                b = rng.random() < 0.7
                items.append(b), text.append(f"b:{int(b)}")
            elif kind == "tensor" and size > 0:
                s = rng.choice([[2], [3], [1], [2, 3], [2, 1], [0]])
                n = 1
                for x in s:
                    n *= x
                values = [rng.randint(-size, size - 1 + (rng.random() < 0.02)) for _ in range(n)]
                items.append(torch.tensor(values, dtype=torch.int64).reshape(s))
                text.append(f"t:{ints(s)}:{ints(values)}")
                d += 1
            elif kind == "zerod" and size > 0:
                v = rng.randint(0, size - 1)
                items.append(torch.tensor(v)), text.append(f"t:-:{v}")
                d += 1
            elif kind == "mask" and d < t.dim():
                k = rng.randint(1, min(2, t.dim() - d))
                s = list(t.shape[d:d + k])
                m = torch.rand(s) < 0.5
                items.append(m)
                text.append(f"m:{ints(s)}:{''.join(str(int(x)) for x in m.reshape(-1).tolist()) or '-'}")
                d += k
        index = " ".join(text) or "()"
        if rng.random() < 0.7:
            r, error = attempt(lambda: t[tuple(items)])
            # The order in memory of elements picked by tensors is PyTorch's own business.
            last = f"error {error}" if error else f"values {name(r.dtype)} {ints(r.shape)} {int(r._is_view())} {raw(r)}"
            w.add(tensor_line(t), f"op index {index}", last)
        else:
            probe, error = attempt(lambda: t[tuple(items)])
            s = list(probe.shape) if not error else [1]
            s = rng.choice([[], s, [1 if rng.random() < 0.5 else x for x in s], s[1:], [1] + s])
            value = numbers(rng, s, torch.int32) + 1000
            line = tensor_line(t)

            def put():
                t[tuple(items)] = value
            _, error = attempt(put)
            w.add(line, tensor_line(value), f"op index_put_ {index}", f"error {error}" if error else f"storage {storage_hex(t)}")
    w.close()


# Factories and numbers.

def number(v):
    if isinstance(v, complex):
        return f"{v.real!r}|{v.imag!r}"
    return repr(v)


def factories(rng, out, count):
    w = Writer(out, "factories")
    floats = ["float32", "float64", "float16", "bfloat16"]
    whole = ["int64", "int32", "int16", "int8", "uint8"]

    def value():
        return rng.choice([rng.randint(-20, 20), round(rng.uniform(-20, 20), 3), rng.uniform(-1, 1)])

    for _ in range(count):
        kind = rng.choice(["arange", "arange", "linspace", "eye", "full"])
        dtype = rng.choice([None, rng.choice(floats), rng.choice(whole)])
        d = getattr(torch, dtype) if dtype else None
        if kind == "arange":
            a, s = value(), rng.choice([1, 2, -1, 0.1, 0.37, -0.7, 3, 0, value()])
            b = a + s * rng.uniform(-2, 60) if s else value()
            b = round(b) if rng.random() < 0.5 else b
            r, error = attempt(lambda: torch.arange(a, b, s, dtype=d))
            args = f"{number(a)} {number(b)} {number(s)}"
        elif kind == "linspace":
            a, b, n = value(), value(), rng.choice([0, 1, 2, 3, 7, 40, 101, -1])
            if rng.random() < 0.1 and dtype not in whole:
                a, dtype, d = complex(a, value()), "complex64", torch.complex64
            if dtype == "uint8":
                a, b = abs(a), abs(b)
            r, error = attempt(lambda: torch.linspace(a, b, n, dtype=d))
            args = f"{number(a)} {number(b)} {n}"
        elif kind == "eye":
            n, m = rng.randint(-1, 5), rng.randint(-1, 5)
            r, error = attempt(lambda: torch.eye(n, m, dtype=d))
            args = f"{n} {m}"
        else:
            s, v = shape_of(rng, 3), rng.choice([1, 2.5, True, 3j, -7])
            r, error = attempt(lambda: torch.full(s, v, dtype=d))
            args = f"{ints(s)} {number(v)}"
        w.add(f"op {kind} {args} {dtype or '-'}", f"error {error}" if error else result_line(r))
    w.close()


def scalars(rng, out):
    """fill_ with every kind of number into every dtype, and tensor([number])."""
    w = Writer(out, "scalars")
    values = [-1, -128, -129, -255, -256, 255, 255.9, 256, 65504, 65535, 65536, -1.5, -0.5, -255.5, 2**31, 2**32, 2**32 - 1,
              -2**32 + 1, 2**63 - 1, -2**63, 2**63, 2**64 - 1, 1e10, 1e20, 1e39, 1e300, 70000.0, float("inf"), -float("inf"),
              float("nan"), True, False, 1j, 1 + 0j, 449.0, 0, -0.0, 0.1, 1e-30]
    for dtype in DTYPES:
        for v in values:
            def fill():
                return torch.zeros((), dtype=getattr(torch, dtype)).fill_(v)

            def literal():
                return torch.tensor([v], dtype=getattr(torch, dtype))
            for kind, f in (("fill", fill), ("literal", literal)):
                if kind == "literal" and isinstance(v, int) and v < 0 and dtype == "uint64":
                    continue  # Python itself refuses before PyTorch sees it
                r, error = attempt(f)
                w.add(f"op {kind} {dtype} {number(v)}", f"error {error}" if error else f"bytes {raw(canonical(r))}")
    w.close()


def promotion(rng, out):
    w = Writer(out, "promotion")
    names = DTYPES + "qint8 quint8 qint32 quint4x2 quint2x4".split()
    for a in names:
        for b in names:
            r, error = attempt(lambda: torch.promote_types(getattr(torch, a), getattr(torch, b)))
            w.add(f"op promote {a} {b}", f"error {error}" if error else f"answer {name(r)}")
    w.close()


def casts(rng, out, count):
    w = Writer(out, "casts")
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, float("inf"), -float("inf"), float("nan"), 1e-45, 65504.0, 65520.0, 448.0,
               464.0, 57344.0, 61440.0, 3.4e38, 1e-8, 255.0, 256.0, 2147483648.0, 1e19]
    for src in DTYPES:
        for dst in DTYPES:
            if src == dst or (dst == "uint32" and ("float" in src or "complex" in src)):
                continue  # PyTorch itself is not consistent about floats out of range of uint32
            s = getattr(torch, src)
            if src == "bool":
                t = torch.tensor([True, False])
            elif s.itemsize <= 2 and not s.is_complex:
                bits = torch.randint(-2**15, 2**15, (count,), dtype=torch.int16)
                t = bits.view(torch.uint8)[: count].view(s) if s.itemsize == 1 else bits.view(s)
            else:
                values = torch.tensor(special + [rng.choice([-1, 1]) * 10 ** rng.uniform(-12, 12) for _ in range(count)], dtype=torch.float64)
                t = (torch.complex(values, values.flip(0)) if s.is_complex else values).to(s)
            t = canonical(t) if s.itemsize > 1 else t
            r, error = attempt(lambda: canonical(t.to(getattr(torch, dst))))
            if error:
                continue
            w.add(f"op cast {src} {dst}", f"bytes {raw(t)}", f"bytes {raw(r)}")
    w.close()


# Printing.

def printable(rng):
    dtype = getattr(torch, rng.choice(DTYPES))
    shape = shape_of(rng, 4, 0, 0.04)
    if rng.random() < 0.1:
        shape = rng.choice([[1001], [30, 40], [7, 9, 20], [2000, 1], [1, 1, 1200]])
    kind = rng.random()
    t = torch.randn(shape, dtype=torch.float64)
    if kind < 0.2:
        t = t * 10 ** rng.uniform(-8, 8)
    elif kind < 0.35:
        t = torch.round(t * rng.choice([1, 10, 1000, 1e6, 1e9]))
    elif kind < 0.45:
        t = t * 10 ** (torch.rand(shape, dtype=torch.float64) * rng.choice([1, 3, 10]) - 5)
    if t.numel() and rng.random() < 0.3:
        flat = t.view(-1)
        for _ in range(rng.randint(1, 3)):
            flat[rng.randrange(flat.numel())] = rng.choice([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-4, 1e8, 1000.0])
    if dtype == torch.bool:
        t = t > 0
    elif dtype.is_complex:
        t = torch.complex(t, torch.randn(shape, dtype=torch.float64) * 10 ** rng.uniform(-3, 3)).to(dtype)
        if rng.random() < 0.3:
            t = t.conj()
    elif name(dtype).startswith("uint"):
        t = (t.nan_to_num(0, 0, 0).abs() * 10).to(torch.int64).to(dtype)
    elif dtype.is_floating_point:
        t = t.to(dtype)
    else:
        t = (t.nan_to_num(0, 0, 0) * 10).to(dtype)
    if t.dim() > 1 and rng.random() < 0.3:
        t = t.permute(rng.sample(range(t.dim()), t.dim()))
    return t


def printing(rng, out, count):
    w = Writer(out, "printing")
    for _ in range(count):
        t = printable(rng)
        if rng.random() < 0.1:
            t = t.detach().to("meta")
        if t.dtype.is_floating_point and t.dtype.itemsize > 1 and rng.random() < 0.15:
            t = torch.nn.Parameter(t, requires_grad=rng.random() < 0.7) if rng.random() < 0.5 else t.detach().requires_grad_()
        o = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
        if rng.random() < 0.4:
            o = {"precision": rng.choice([0, 1, 2, 4, 8]), "threshold": rng.choice([0, 5, 20, 1000]),
                 "edgeitems": rng.choice([0, 1, 2, 3]), "linewidth": rng.choice([1, 20, 40, 80, 120]),
                 "sci_mode": rng.choice([None, None, True, False])}
        default = rng.choice(["float32"] * 8 + ["float64", "float16"])
        torch.set_printoptions(**o)
        torch.set_default_dtype(getattr(torch, default))
        text, error = attempt(lambda: repr(t))
        torch.set_default_dtype(torch.float32)
        torch.set_printoptions(profile="default")
        if error:
            continue
        options = " ".join(f"{k}={v}" for k, v in o.items()) + f" default={default}"
        w.add(f"options {options}", tensor_line(t), f"text {json.dumps(text)}")
    w.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("outdir", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=20261115)
    parser.add_argument("--scale", type=int, default=1, help="how many times as many random cases")
    args = parser.parse_args()
    args.outdir.mkdir(parents=True, exist_ok=True)

    def seeded(k):
        torch.manual_seed(args.seed + k)
        return random.Random(args.seed + k)

    views(seeded(1), args.outdir, 1500 * args.scale)
    copies(seeded(2), args.outdir, 800 * args.scale)
    indexing(seeded(3), args.outdir, 600 * args.scale)
    factories(seeded(4), args.outdir, 500 * args.scale)
    printing(seeded(5), args.outdir, 400 * args.scale)
    casts(seeded(6), args.outdir, 40 * args.scale)
    scalars(seeded(7), args.outdir)
    promotion(seeded(8), args.outdir)
    draws(seeded(9), args.outdir, 400 * args.scale)
    arithmetic(seeded(10), args.outdir, 400 * args.scale)
    reductions(seeded(11), args.outdir, 250 * args.scale)
    functions(seeded(12), args.outdir, 250 * args.scale)
    inits(seeded(13), args.outdir, 150 * args.scale)
    layers(seeded(14), args.outdir, 150 * args.scale)
    every_layer(seeded(15), args.outdir, 150 * args.scale)
    narrow_layers(seeded(19), args.outdir, 150 * args.scale)


if __name__ == "__main__":
    main()

"""Random cases of reductions: dimensions, dtypes, strides, special values, empty ones. Part of generate.py."""
import torch

from arithmetic import operand, text
from writer import Writer, attempt, ints, name, result_line, tensor_line

DTYPES = [getattr(torch, n) for n in "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex128 complex64".split()]
KINDS = "sum mean prod amax amin max min max_dim min_dim argmax argmin any all count_nonzero var std norm cumsum cumprod".split()


def run(kind, t, dims, keepdim, dtype, extra):
    if kind in ("sum", "mean"):
        return getattr(torch, kind)(t, dim=dims, keepdim=keepdim, dtype=dtype) if dims else getattr(torch, kind)(t, dtype=dtype)
    if kind == "prod":
        return torch.prod(t, dims[0], keepdim, dtype=dtype) if dims else torch.prod(t, dtype=dtype)
    if kind in ("amax", "amin"):
        return getattr(torch, kind)(t, dim=dims, keepdim=keepdim) if dims else getattr(torch, kind)(t)
    if kind in ("max", "min"):
        return getattr(torch, kind)(t)
    if kind in ("max_dim", "min_dim"):
        return getattr(torch, kind[:3])(t, dims[0], keepdim)
    if kind in ("argmax", "argmin"):
        return getattr(torch, kind)(t, dims[0] if dims else None, keepdim and bool(dims))
    if kind in ("any", "all"):
        return getattr(torch, kind)(t, dim=dims, keepdim=keepdim) if dims else getattr(torch, kind)(t)
    if kind == "count_nonzero":
        return torch.count_nonzero(t, dim=dims) if dims else torch.count_nonzero(t)
    if kind in ("var", "std"):
        return getattr(torch, kind)(t, dim=dims or None, correction=extra, keepdim=keepdim and bool(dims))
    if kind == "norm":
        return torch.linalg.vector_norm(t, extra, dim=dims or None, keepdim=keepdim and bool(dims))
    return getattr(torch, kind)(t, dims[0], dtype=dtype)


def reductions(rng, outdir, count):
    w = Writer(outdir, "reductions")
    for _ in range(count):
        kind = rng.choice(KINDS)
        shape = [rng.choice([0, 1, 2, 3, 5, 17, 40, 300]) if rng.random() < 0.93 else 0 for _ in range(rng.randint(0, 3))]
        while len(shape) and torch.Size(shape).numel() > 4000:
            shape.pop()
        dtype = rng.choice(DTYPES if kind not in ("amax", "amin") else DTYPES[:-2])
        t = operand(rng, shape, dtype, kind, special=rng.random() < 0.3 and not dtype.is_complex and kind not in ("norm", "prod", "cumprod"))
        dims = sorted(rng.sample(range(len(shape)), rng.randint(0, len(shape)))) if shape else rng.choice([[], [0]])
        if kind in ("prod", "argmax", "argmin"):
            dims = dims[:1]
        if kind in ("max_dim", "min_dim", "cumsum", "cumprod"):
            dims = [rng.randrange(len(shape)) if shape else 0]
        if rng.random() < 0.02:
            dims = [7]
        keepdim = rng.random() < 0.4 and bool(dims)
        asked = rng.choice([torch.float64, torch.float32, torch.int64, torch.bfloat16]) if rng.random() < 0.15 else None
        if kind not in ("sum", "mean", "prod", "cumsum", "cumprod"):
            asked = None
        if kind in ("prod", "cumprod") and dtype.is_floating_point:
            t = t.clamp(-1.1, 1.1)
        if kind in ("prod", "cumprod") and (asked or dtype.is_complex):
            # What overflows a small dtype does not overflow the double that ours are carried in.
            asked, t = torch.float64, t.clamp(-2, 2) if not dtype.is_complex else t.narrow(0, 0, min(t.size(0), 3)) if t.dim() else t
        extra = {"var": rng.choice([0, 1, 2]), "std": rng.choice([0, 1]),
                 "norm": rng.choice([2.0, 1.0, 0.0, 3.0, float("inf"), -float("inf")])}.get(kind, 0)
        result, error = attempt(lambda: run(kind, t, dims, keepdim, asked, extra))
        lines = [tensor_line(t), f"op {kind} {ints(dims)} {int(keepdim)} {name(asked) if asked else '-'} {text(float(extra))}"]
        if error:
            w.add(*lines, f"error {error}")
        elif kind in ("max_dim", "min_dim"):
            w.add(*lines, result_line(result[0]), result_line(result[1]))
        else:
            w.add(*lines, result_line(result))
    w.close()

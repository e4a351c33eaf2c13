"""Random cases of functions of several tensors: products that are added, choices, picking by position, order, products of
matrices. Part of generate.py.
"""
import torch

from arithmetic import DTYPES, HALVES, operand, text
from writer import Writer, attempt, ints, result_line, tensor_line

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
WHOLE = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
COMPLEX = [torch.complex128, torch.complex64]
ORDERED = FLOATS + WHOLE + [torch.bool]


def a_shape(rng, most=3, least=0):
    return [rng.choice([0, 1, 2, 3, 5, 17]) if rng.random() < 0.95 else 40 for _ in range(rng.randint(least, most))]


def like(rng, shape):
    """One that broadcasts to the shape, mostly."""
    other = [1 if rng.random() < 0.2 else s for s in shape][rng.choice([0, 0, 0, 1]) if shape else 0:]
    if rng.random() < 0.03 and other:
        other[-1] += 1
    return other


def positions(rng, shape, size, bad=0.05, negative=False):
    t = torch.randint(max(size, 1), shape) if torch.Size(shape).numel() else torch.zeros(shape, dtype=torch.int64)
    if t.numel() and size and negative:
        t = torch.where(torch.rand(shape) < 0.3, t - size, t)
    if t.numel() and rng.random() < bad:
        t.view(-1)[rng.randrange(t.numel())] = rng.choice([size, size + 3, -size - 1])
    return t.to(torch.int32) if rng.random() < 0.2 else t


def number(rng, dtype):
    if dtype.is_complex and rng.random() < 0.5:
        return complex(rng.uniform(-2, 2), 1.0)
    if not dtype.is_floating_point and not dtype.is_complex and rng.random() < 0.8:
        return rng.choice([1, 2, 3, -1, True, 0, 1.0])
    return rng.choice([complex(1, 0) if rng.random() < 0.1 else 1.0, 0.5, 0.3, 0.7, -2.0, 1.5, 2, 1, -1, 0, rng.uniform(-3, 3)])


def fused(rng):
    kind = rng.choice(["add", "sub", "lerp", "lerp_number", "addcmul", "addcdiv"])
    dtype = rng.choice(FLOATS + WHOLE + COMPLEX + [torch.bool])
    if kind == "lerp" and dtype not in FLOATS + COMPLEX:
        dtype = torch.float32
    shape = a_shape(rng)
    other = dtype if rng.random() < 0.8 or kind.startswith("lerp") else rng.choice(FLOATS[:2] + WHOLE)
    special = rng.random() < 0.3 and not dtype.is_complex
    a = operand(rng, shape, dtype, kind, special)
    b = operand(rng, like(rng, shape), other, kind, special)
    if kind in ("add", "sub"):
        if dtype in HALVES or other in HALVES:
            return None  # PyTorch rounds in between where elements are strided or the last ones
        alpha = number(rng, dtype)
        return kind, [a, b], [text(alpha)], lambda x, y, n: getattr(x, kind + "_" if n else kind)(y, alpha=alpha)
    if kind == "lerp_number":
        weight = number(rng, dtype)
        if isinstance(weight, complex) or isinstance(weight, bool):
            weight = 0.25
        return kind, [a, b], [text(weight)], lambda x, y, n: (x.lerp_ if n else x.lerp)(y, weight)
    c = operand(rng, like(rng, shape), dtype if rng.random() < 0.9 or not shape else rng.choice(FLOATS[:2]), kind, special)
    if kind == "lerp":
        return kind, [a, b, c], [], lambda x, y, z, n: (x.lerp_ if n else x.lerp)(y, z)
    value = number(rng, dtype)
    if isinstance(value, bool) or (torch.bool in (a.dtype, b.dtype, c.dtype)):
        return None
    if not (a.is_complex() or b.is_complex() or c.is_complex()) and isinstance(value, complex):
        return None
    return kind, [a, b, c], [text(value)], lambda x, y, z, n: getattr(x, kind + "_" if n else kind)(y, z, value=value)


def choices(rng):
    kind = rng.choice(["where", "masked_fill", "clamp", "clamp_tensor", "masked_select"])
    dtype = rng.choice(DTYPES)
    shape = a_shape(rng)
    a = operand(rng, shape, dtype, kind)
    mask = torch.rand(like(rng, shape)) < 0.5
    if kind == "where":
        other = dtype if rng.random() < 0.6 else rng.choice(DTYPES)
        if {dtype, other} & set(HALVES) and {dtype, other} & set(COMPLEX):
            other = dtype
        b = operand(rng, like(rng, shape), other, kind)
        return kind, [mask, a, b], [], lambda m, x, y, n: torch.where(m, x, y)
    if kind == "masked_fill":
        value = rng.choice([number(rng, dtype), 300, -1, 1e6, float("inf"), float("nan"), 2.5])
        return kind, [a, mask], [text(value)], lambda x, m, n: (x.masked_fill_ if n else x.masked_fill)(m, value)
    if kind == "masked_select":
        return kind, [a, mask], [], lambda x, m, n: x.masked_select(m)
    if kind == "clamp":
        low, high = (rng.choice([None, number(rng, dtype), -0.0, 0, -1, 300]) for _ in range(2))
        if isinstance(low, bool) or isinstance(high, bool) or dtype == torch.bool:
            return None
        if isinstance(low, complex) or isinstance(high, complex):
            return None  # PyTorch takes those without an imaginary part
        return kind, [a], [text(low) if low is not None else "-", text(high) if high is not None else "-"], \
            lambda x, n: (x.clamp_ if n else x.clamp)(low, high)
    low, high = operand(rng, like(rng, shape), dtype, kind), operand(rng, like(rng, shape), dtype, kind)
    return kind, [a, low, high], [], lambda x, lo, hi, n: (x.clamp_ if n else x.clamp)(lo, hi)


def picking(rng):
    # What PyTorch does with places in nothing, and with take_along_dim of numbers and far positions, is not meant.
    kind = rng.choice(["gather", "scatter", "scatter_value", "scatter_add", "index_select", "index_add", "index_copy",
                       "index_fill", "take", "take_along_dim", "nonzero"])
    dtype = rng.choice(FLOATS + WHOLE + COMPLEX + [torch.bool])
    if kind in ("scatter_add", "index_add") and dtype in HALVES:
        dtype = torch.float32  # where places meet, PyTorch adds in another order or type
    shape = a_shape(rng)
    dim = rng.randrange(-len(shape), len(shape)) if shape else rng.choice([0, -1])
    size = shape[dim] if shape else 1
    if kind.startswith("index_") and torch.Size(shape).numel() == 0 or kind == "take_along_dim" and not shape:
        return None
    a = operand(rng, shape, dtype, kind, special=False)
    if kind == "nonzero":
        return kind, [a], [], lambda x, n: torch.nonzero(x)
    if kind == "take":
        index = positions(rng, a_shape(rng, 2), a.numel(), negative=True).long()
        return kind, [a, index], [], lambda x, i, n: x.take(i)
    if kind in ("gather", "scatter", "scatter_value", "scatter_add", "take_along_dim"):
        inner = [rng.randint(0 if rng.random() < 0.1 else 1, s) if s else 0 for s in shape]
        if inner:
            inner[dim] = rng.choice([1, 2, size, size + 2])
        if rng.random() < 0.03 and inner:
            inner[0] += 40
        if kind == "take_along_dim" and shape:
            inner = [1 if rng.random() < 0.3 else s for s in shape]
            inner[dim] = rng.choice([1, 2, size])
        index = positions(rng, inner, size)
        if kind == "gather":
            return kind, [a, index], [str(dim)], lambda x, i, n: x.gather(dim, i)
        if kind == "take_along_dim":
            index = positions(rng, inner, size, bad=0, negative=True).long()
            return kind, [a, index], [str(dim)], lambda x, i, n: torch.take_along_dim(x, i, dim)
        reduce = rng.choice(["-", "-", "add", "multiply"]) if kind != "scatter_add" else "-"
        if reduce != "-" and (dtype in HALVES or dtype == torch.bool):
            reduce = "-"
        named = {} if reduce == "-" else {"reduce": reduce}
        if kind == "scatter_value":
            value = 2 if not dtype.is_floating_point else 1.5
            return kind, [a, index], [str(dim), reduce, text(value)], \
                lambda x, i, n: (x.scatter_ if n else x.scatter)(dim, i, value, **named)
        src = operand(rng, [s + rng.choice([0, 0, 1]) for s in inner], dtype, kind, special=False)
        if kind == "scatter_add":
            return kind, [a, index, src], [str(dim)], lambda x, i, s, n: (x.scatter_add_ if n else x.scatter_add)(dim, i, s)
        return kind, [a, index, src], [str(dim), reduce], \
            lambda x, i, s, n: (x.scatter_ if n else x.scatter)(dim, i, s, **named)
    count = rng.choice([0, 1, 2, 5])
    index = positions(rng, [count] if rng.random() < 0.9 or count != 1 else [], size, negative=kind == "index_fill")
    if kind == "index_select":
        return kind, [a, index], [str(dim)], lambda x, i, n: x.index_select(dim, i)
    if kind == "index_fill":
        index = index.long()
        return kind, [a, index], [str(dim), "1"], lambda x, i, n: (x.index_fill_ if n else x.index_fill)(dim, i, 1)
    inner = list(shape)
    if inner:
        inner[dim] = count + (rng.random() < 0.03)
    source = operand(rng, inner, dtype, kind, special=False)
    if kind == "index_copy":
        index = index.long()
    if kind == "index_add":
        alpha = rng.choice([1, 2]) if not dtype.is_floating_point and not dtype.is_complex else rng.choice([1, 0.5, 0.37])
        if dtype == torch.bool:
            alpha = 1
        return kind, [a, index, source], [str(dim), text(alpha)], \
            lambda x, i, s, n: (x.index_add_ if n else x.index_add)(dim, i, s, alpha=alpha)
    return kind, [a, index, source], [str(dim)], \
        lambda x, i, s, n: (getattr(x, kind + "_") if n else getattr(x, kind))(dim, i, s)


def order(rng):
    kind = rng.choice(["sort", "sort", "topk", "unique", "unique_consecutive"])
    dtype = rng.choice(ORDERED)
    shape = a_shape(rng) if rng.random() < 0.8 else [rng.choice([300, 1000])]
    a = operand(rng, shape, dtype, kind)
    if rng.random() < 0.3 and dtype != torch.bool:
        a = (a.nan_to_num(0, 0, 0) if dtype.is_floating_point else a).clamp(0, 3)  # many equals
    dim = rng.randrange(-len(shape), len(shape)) if shape else -1
    if kind == "sort":
        down = rng.random() < 0.5
        return kind, [a], [str(dim), str(int(down))], lambda x, n: tuple(torch.sort(x, dim=dim, descending=down, stable=True))
    if kind == "topk":
        if dtype == torch.bool:
            return None  # ours has an answer
        k = rng.randint(0 if shape else 1, (shape[dim] if shape else 1)) + (rng.random() < 0.05) * 9
        largest = rng.random() < 0.5
        # Which of equals is taken PyTorch leaves open: only the values.
        return kind, [a], [str(k), str(dim), str(int(largest))], lambda x, n: torch.topk(x, k, dim=dim, largest=largest).values
    by = dim if shape and rng.random() < 0.5 else None
    if by is not None and a.is_floating_point():
        a = a.nan_to_num(0, 0, 0) + 0.0  # of 0 and -0 any may stand for both
    if by is None and a.is_floating_point():
        a = a.nan_to_num(7, 8, -8) + 0.0  # NaN differs from NaN, in any order
    return kind, [a], ["-" if by is None else str(by)], \
        lambda x, n: tuple(getattr(torch, kind)(x, return_inverse=True, return_counts=True, dim=by))


def products(rng):
    kind = rng.choice(["dot", "mv", "mm", "mm", "bmm", "matmul", "matmul", "outer"])
    dtype = rng.choice(FLOATS + [torch.float32, torch.bfloat16] + WHOLE + COMPLEX + [torch.bool])
    m, n, k, batch = (rng.choice([0, 1, 2, 3, 5, 17, 33, 70]) for _ in range(4))
    batch %= 7
    wrong = k + (rng.random() < 0.05)
    shapes = {"dot": ([k], [wrong]), "outer": ([m], [n]), "mv": ([m, k], [wrong]), "mm": ([m, k], [wrong, n]),
              "bmm": ([batch, m, k], [batch, wrong, n])}
    if kind == "matmul":
        left, right = rng.choice([([k], [wrong]), ([m, k], [wrong]), ([k], [wrong, n]), ([m, k], [wrong, n]),
                                  ([batch, m, k], [wrong, n]), ([batch, m, k], [wrong]), ([k], [batch, wrong, n]),
                                  ([m, k], [batch, wrong, n]), ([2, 1, m, k], [3, wrong, n]), ([batch, m, k], [batch, wrong, n])])
    else:
        left, right = shapes[kind]
    if dtype == torch.bool and 0 in (m, n, k, batch):
        return None  # of nothing PyTorch refuses less
    a, b = (operand(rng, s, dtype, "matmul", special=False) for s in (left, right))
    if rng.random() < 0.02 and 0 not in (m, n, k, batch):
        b = b.double() if dtype == torch.float32 else b.float()
    if dtype.is_floating_point or dtype.is_complex:
        a, b = a / 8, b / 8
    return kind, [a, b], [], lambda x, y, _: getattr(torch, kind)(x, y)


def rounding(rng):
    dtype = rng.choice(FLOATS[:2])
    a = operand(rng, a_shape(rng), dtype, "round", special=False)
    decimals = rng.choice([1, 2, 3, -1, -2])
    return "round", [a], [str(decimals)], lambda x, n: torch.round(x, decimals=decimals)


IN_PLACE = set("add sub lerp lerp_number addcmul addcdiv masked_fill clamp clamp_tensor scatter scatter_value scatter_add "
               "index_add index_copy index_fill".split())


def functions(rng, outdir, count):
    w = Writer(outdir, "functions")
    written = 0
    while written < count:
        made = rng.choice([fused, choices, picking, picking, order, products, products, rounding])(rng)
        if made is None:
            continue
        kind, tensors, arguments, call = made
        in_place = kind in IN_PLACE and rng.random() < 0.3
        lines = [tensor_line(t) for t in tensors] + [f"op {kind} {int(in_place)} {' '.join(arguments)}".rstrip()]
        result, error = attempt(lambda: call(*tensors, in_place))
        if error:
            w.add(*lines, f"error {error}")
        else:
            w.add(*lines, *(result_line(r) for r in (result if isinstance(result, tuple) else (result,))))
        written += 1
    w.close()

"""Random cases of the functions that layers calculate. Part of generate.py."""
import torch
from torch.nn import functional as F

from arithmetic import operand
from draws import drawn_by_mkl
from writer import Writer, attempt, result_line, tensor_line

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


def sizes(rng, most):
    return [rng.choice([0, 1, 2, 3] if rng.random() < 0.3 else [1, 2, 3, 5]) for _ in range(rng.randint(0, most))]


def small(rng, shape, dtype):
    t = operand(rng, shape, dtype, "matmul", special=False)
    return t / 8 if dtype.is_floating_point or dtype.is_complex else t


def linear(rng):
    dtype = rng.choice(FLOATS + [torch.float32, torch.int64, torch.complex64])
    n, k = rng.choice([0, 1, 3, 17]), rng.choice([0, 1, 2, 5, 20])
    wrong = k + (rng.random() < 0.05)
    weight = small(rng, [n, k] if rng.random() < 0.85 else [k], dtype)
    x = small(rng, sizes(rng, 3) + [wrong], dtype)
    if rng.random() < 0.02 and dtype == torch.float32 and 0 not in (*x.shape, *weight.shape):
        x = x.double()
    tensors = [x, weight]
    # PyTorch does not add a number to a matrix times a vector.
    if rng.random() < 0.6 and (weight.dim() == 2 or x.dim() != 2):
        tensors.append(small(rng, [n] if weight.dim() == 2 else [], dtype))
    return "linear", tensors, [], lambda *t: F.linear(*t)


def addmm(rng):
    dtype = rng.choice(FLOATS + [torch.float32, torch.int64, torch.complex64])
    m, n, k = (rng.choice([0, 1, 3, 5, 17]) for _ in range(3))
    bias = small(rng, rng.choice([[n], [m, n], [m, 1], [1], [], [n + 1]]), dtype)
    options = {k: rng.choice([0, 1, 2] if dtype == torch.int64 else [0.0, 1.0, 0.5, -2, rng.uniform(-2, 2)])
               for k in ("beta", "alpha") if rng.random() < 0.5}
    return "addmm", [bias, small(rng, [m, k], dtype), small(rng, [k, n], dtype)], [f"{k}={v!r}" for k, v in options.items()], \
        lambda *t: torch.addmm(*t, **options)


def bilinear(rng):
    dtype = rng.choice(FLOATS)
    out, in1, in2 = (rng.choice([1, 2, 5, 9]) for _ in range(3))
    lead = [max(s, 1) for s in sizes(rng, 3)]
    tensors = [small(rng, lead + [in1 + (rng.random() < 0.05)], dtype), small(rng, lead + [in2 + (rng.random() < 0.05)], dtype),
               small(rng, [out, in1, in2], dtype)]
    if rng.random() < 0.6:
        tensors.append(small(rng, [out], dtype))
    return "bilinear", tensors, [], lambda *t: F.bilinear(*t)


def embedding(rng):
    dtype = rng.choice(FLOATS)
    rows, columns = rng.choice([1, 2, 5, 17]), rng.choice([0, 1, 3, 8, 20])
    weight = operand(rng, [rows, columns], dtype, "embedding", special=False)
    index = torch.randint(rows, sizes(rng, 3))
    if index.numel() and rng.random() < 0.08:
        index.view(-1)[rng.randrange(index.numel())] = rng.choice([rows, rows + 3, -1])
    if rng.random() < 0.3:
        index = index.int()
    options = {}
    if rng.random() < 0.4:
        options["padding_idx"] = rng.choice([0, -1, rows - 1, rows, -rows, -rows - 1])
    if rng.random() < 0.4 and columns:
        options["max_norm"] = rng.choice([0.5, 1.0, 3.0, rng.uniform(0.1, 10)])
        if rng.random() < 0.6:
            options["norm_type"] = rng.choice([1.0, 2.0, 3.0, float("inf")])
    return "embedding", [index, weight], [f"{k}={v!r}" for k, v in options.items()], lambda i, w: F.embedding(i, w, **options)


def dropout(rng):
    if "bernoulli" in drawn_by_mkl():
        return None
    x = operand(rng, sizes(rng, 3), rng.choice(FLOATS), "dropout")
    seed, inplace = rng.randrange(2**32), rng.random() < 0.3
    p, training = rng.choice([0.0, 0.1, 0.5, 0.9, 1.0, rng.random(), -0.1, 1.5]), rng.random() < 0.8

    def call(t):
        torch.manual_seed(seed)
        return F.dropout(t, p, training, inplace)
    return "dropout", [x], [f"seed={seed}", f"p={p!r}", f"training={int(training)}", f"inplace={int(inplace)}"], call


def layers(rng, outdir, count):
    w = Writer(outdir, "layers")
    written = 0
    while written < count:
        made = rng.choice([linear, linear, addmm, bilinear, embedding, dropout])(rng)
        if made is None:
            continue
        kind, tensors, words, call = made
        lines = [tensor_line(t) for t in tensors] + [f"op {kind} {' '.join(words)}".rstrip()]
        result, error = attempt(lambda: call(*tensors))
        # max_norm and inplace write into their argument.
        w.add(*lines, *([f"error {error}"] if error else [result_line(r) for r in (result, tensors[1 if kind == "embedding" else 0])]))
        written += 1
    w.close()

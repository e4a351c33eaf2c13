"""Random cases of random numbers: an operator, a seed and a tensor of any dtype and layout. Part of generate.py.

Each case is what PyTorch left in the tensor's storage, and the hash of the generator's state afterwards.
"""
import hashlib

import torch

from writer import Writer, attempt, storage_hex, tensor_line

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
UNSIGNED = [torch.uint16, torch.uint32, torch.uint64]
COMPLEX = [torch.complex64, torch.complex128]


def layout(rng, dtype):
    """A tensor of zeros: packed, transposed, channels last, or a part of a larger one. Never empty: PyTorch does not
    look at the arguments then."""
    kind = rng.randrange(5)
    if kind == 0:
        return torch.zeros(rng.choice([1, 2, 7, 15, 16, 17, 31, 32, 33, 100, 1000, 1040]), dtype=dtype)
    shape = [rng.randint(1, 6) for _ in range(rng.randint(0, 4))]
    t = torch.zeros(shape, dtype=dtype)
    if kind == 1:
        return t
    if kind == 2:
        return t.permute(rng.sample(range(t.dim()), t.dim()))
    if kind == 3:
        return torch.zeros(2, 3, 4, 5, dtype=dtype).to(memory_format=torch.channels_last)
    for d in range(t.dim()):
        if t.size(d) > 2:
            t = t.narrow(d, 1, t.size(d) - 1) if rng.random() < 0.5 else t.unflatten(d, (1, -1)).select(d, 0)
    return t[..., ::2] if t.dim() else t


def whole(rng):
    size = rng.choice([3, 8, 15, 16, 24, 27, 28, 29, 31, 32, 33, 48, 53, 62, 63])
    return rng.randint(-(2**size), 2**size) % 2**63 * rng.choice([1, 1, -1])


def drawn_by_mkl():
    """On Intel's processors the official wheels draw two distributions with MKL, from streams of its own."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return ["exponential", "bernoulli"] if torch.backends.mkl.is_available() and "GenuineIntel" in f.read() else []


KINDS = [k for k in "uniform normal exponential cauchy log_normal geometric bernoulli bernoulli_tensor random random_to "
                    "random_from random_open randperm".split() if k not in drawn_by_mkl()]


def draw(rng):
    """An operator's arguments, and the dtypes it is tried on."""
    kind = rng.choice(KINDS)
    number = lambda: rng.choice([0.0, 1.0, -1.0, 0.3, rng.uniform(-3, 3), rng.uniform(-1e4, 1e4)])
    positive = lambda: rng.choice([1.0, 0.02, rng.uniform(0.01, 5), rng.uniform(-0.1, 5)])
    any_dtype = FLOATS + INTEGERS + [torch.bool]
    if kind == "uniform":
        a, b = sorted((number(), number()))
        return kind, [a, b] if rng.random() < 0.95 else [b, a], FLOATS + COMPLEX
    if kind == "normal":
        return kind, [number(), positive()], FLOATS + COMPLEX
    if kind == "exponential":
        return kind, [positive()], FLOATS
    if kind in ("cauchy", "log_normal"):
        return kind, [rng.uniform(-2, 2), positive()], FLOATS
    if kind in ("geometric", "bernoulli"):
        return kind, [rng.choice([0.5, 0.1, rng.random(), 1.5])], any_dtype
    if kind in ("random", "bernoulli_tensor"):
        return kind, [], any_dtype
    if kind == "random_to":
        return kind, [abs(whole(rng))], any_dtype + UNSIGNED
    if kind == "random_from":
        a, b = sorted((whole(rng), whole(rng)))
        return kind, [a, b], any_dtype + UNSIGNED
    if kind == "random_open":
        # From 2**63 - 1 on, random_ of floats never returns in PyTorch: it halves abs(from + 1), which overflows, until it is zero.
        return kind, [min(rng.choice([whole(rng), -(2**63), 0, -5]), 2**63 - 2)], any_dtype + UNSIGNED
    return kind, [rng.choice([0, 1, 2, 15, 100, 256, 257, 1000])], any_dtype + UNSIGNED


def run(kind, arguments, t):
    if kind == "uniform":
        t.uniform_(*arguments)
    elif kind == "normal":
        t.normal_(*arguments)
    elif kind == "exponential":
        t.exponential_(*arguments)
    elif kind == "cauchy":
        t.cauchy_(*arguments)
    elif kind == "log_normal":
        t.log_normal_(*arguments)
    elif kind == "geometric":
        t.geometric_(*arguments)
    elif kind == "bernoulli":
        t.bernoulli_(*arguments)
    elif kind == "bernoulli_tensor":
        t.bernoulli_(torch.linspace(0, 1, t.size(-1)) if t.dim() else torch.tensor(0.5))
    elif kind == "random":
        t.random_()
    elif kind == "random_open":
        t.random_(*arguments, None)
    elif kind in ("random_to", "random_from"):
        t.random_(*arguments)
    else:
        return torch.randperm(*arguments, dtype=t.dtype)
    return t


def draws(rng, outdir, count):
    w = Writer(outdir, "draws")
    for _ in range(count):
        kind, arguments, dtypes = draw(rng)
        t = layout(rng, rng.choice(dtypes))
        seed = rng.choice([0, 1, rng.randrange(2**32), rng.randrange(2**64)])
        waiting = rng.random() < 0.3
        lines = [tensor_line(t), f"op {kind} {seed} {int(waiting)} {' '.join(repr(a) for a in arguments)}"]
        torch.manual_seed(seed)
        if waiting:
            torch.randn(1)  # leaves a normal number for the next one who wants it
        result, error = attempt(lambda: run(kind, arguments, t))
        if error:
            w.add(*lines, f"error {error}")
            continue
        state = hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest()
        w.add(*lines, f"storage {storage_hex(result)}", f"state {state}")
    w.close()

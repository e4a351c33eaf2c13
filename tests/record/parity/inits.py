"""Random cases of first values for parameters: a function of torch.nn.init, a seed, options, and a tensor of any dtype and
layout. Part of generate.py.

Each case is what PyTorch left in the tensor's storage, whether it warned, and the hashes of the states that the default
generator and one of the call's own were left in.
"""
import hashlib
import warnings

import torch
from torch.nn import init

from writer import Writer, attempt, storage_hex, tensor_line

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
OTHERS = [torch.int64, torch.uint8, torch.bool, torch.complex64]
GAINS = ["linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid", "tanh",
         "relu", "leaky_relu", "selu"]


def laid_out(rng, shape, dtype):
    """Zeros of that shape: packed, in another order, or a part of a larger tensor."""
    kind = rng.choice(["packed", "packed", "order", "part", "steps"])
    if kind == "order":
        order = rng.sample(range(len(shape)), len(shape))
        return torch.zeros([shape[d] for d in order], dtype=dtype).permute([order.index(d) for d in range(len(shape))])
    if kind == "part" and shape:
        d = rng.randrange(len(shape))
        return torch.zeros([s + 2 * (k == d) for k, s in enumerate(shape)], dtype=dtype).narrow(d, 1, shape[d])
    if kind == "steps" and shape:
        return torch.zeros(shape[:-1] + [2 * shape[-1]], dtype=dtype)[..., ::2]
    return torch.zeros(shape, dtype=dtype)


def a_shape(rng, least, most, sizes=(1, 2, 3, 4, 5, 7)):
    return [rng.choice(sizes) if rng.random() < 0.98 else 0 for _ in range(rng.randint(least, most))]


def weight_shape(rng):
    return [rng.choice([1, 6, 17]), rng.choice([1, 9, 20])] if rng.random() < 0.3 else a_shape(rng, 1 if rng.random() < 0.1 else 2, 5)


def truncated(rng):
    """Bounds that many, some, and few normal numbers are between."""
    mean, std = rng.choice([(0.0, 1.0), (0.0, 0.02), (rng.uniform(-3, 3), rng.uniform(0.1, 3))])
    a, b = rng.choice([(-2.0, 2.0), (-0.5, 0.5), (-0.1, 0.1), (1.0, 2.0), (2.5, 4.0), (-6.0, -5.0), (-3.0, 0.0), (2.0, 1.0)])
    if rng.random() < 0.2:
        return {}
    return {"mean": mean, "std": std, "a": mean + a * std, "b": mean + b * std}


def case(rng):
    """The function's name, the tensor, its arguments without a default, and the others."""
    kind = rng.choice("uniform_ normal_ trunc_normal_ trunc_normal_ constant_ ones_ zeros_ eye_ dirac_ xavier_uniform_ "
                      "xavier_normal_ kaiming_uniform_ kaiming_uniform_ kaiming_normal_ orthogonal_ orthogonal_ sparse_".split())
    dtype = rng.choice(FLOATS + [torch.float32])
    gain = lambda: rng.choice([1.0, 2**0.5, 5.0 / 3, rng.uniform(-0.1, 4)])
    if kind in ("uniform_", "normal_", "trunc_normal_"):
        shape = [rng.choice([15, 16, 17, 40, 100] if rng.random() < 0.97 else [1000])] if rng.random() < 0.4 else [max(s, 1) for s in a_shape(rng, 0, 4)]
        if kind == "trunc_normal_":
            return kind, laid_out(rng, shape, dtype), [], truncated(rng)
        names = ("a", "b") if kind == "uniform_" else ("mean", "std")
        options = {} if rng.random() < 0.3 else dict(zip(names, sorted((rng.uniform(-2, 2), rng.uniform(0, 3)))))
        return kind, laid_out(rng, shape, dtype), [], options
    if kind in ("constant_", "ones_", "zeros_", "eye_", "dirac_"):
        dtype = rng.choice(FLOATS + OTHERS)
        if kind == "eye_":
            return kind, laid_out(rng, a_shape(rng, 2, 2 if rng.random() < 0.9 else 3), dtype), [], {}
        if kind == "dirac_":
            groups = rng.choice([1, 1, 2, 3])
            shape = [groups * rng.randint(1, 4) + (rng.random() < 0.1), rng.randint(1, 4)]
            shape += [rng.randint(1, 4) for _ in range(rng.randint(1, 3) if rng.random() < 0.9 else 4)]
            return kind, laid_out(rng, shape, dtype), [], {"groups": groups} if groups != 1 else {}
        return kind, laid_out(rng, a_shape(rng, 0, 4), dtype), [rng.choice([0.3, 1.0, -2.0])] if kind == "constant_" else [], {}
    if kind.startswith("xavier"):
        return kind, laid_out(rng, weight_shape(rng), dtype), [], {"gain": gain()} if rng.random() < 0.6 else {}
    if kind.startswith("kaiming"):
        options = {"a": rng.choice([5**0.5, 0.01, 0.2, rng.uniform(0, 3)]), "mode": rng.choice(["fan_in", "fan_out", "Fan_Out"]),
                   "nonlinearity": rng.choice(GAINS)}
        if rng.random() < 0.05:
            options[rng.choice(["mode", "nonlinearity"])] = "gelu"
        return kind, laid_out(rng, weight_shape(rng), dtype), [], {k: v for k, v in options.items() if rng.random() < 0.6}
    if kind == "orthogonal_":
        shape = rng.choice([[5, 5], [9, 4], [40, 5], [5, 33], [5, 2, 3], [36, 40]]) if rng.random() < 0.4 else weight_shape(rng)
        dtype = rng.choice(FLOATS[:2] * 5 + FLOATS)
        return kind, laid_out(rng, shape, dtype), [], {"gain": gain()} if rng.random() < 0.4 else {}
    sparsity = rng.choice([0.0, 0.1, 0.5, 1.0, rng.random(), -0.3, 1.4])
    return kind, laid_out(rng, a_shape(rng, 2, 2 if rng.random() < 0.9 else 3, (1, 5, 11, 20)), dtype), [sparsity], \
        {"std": rng.uniform(0.01, 2)} if rng.random() < 0.5 else {}


def state(bytes_of):
    return hashlib.sha256(bytes_of.numpy().tobytes()).hexdigest()


def inits(rng, outdir, count):
    w = Writer(outdir, "inits")
    for _ in range(count):
        kind, t, arguments, options = case(rng)
        seed = rng.choice([0, 1, rng.randrange(2**32), rng.randrange(2**64)])
        waiting = rng.random() < 0.3
        draws = kind not in ("constant_", "ones_", "zeros_", "eye_", "dirac_")
        own = torch.Generator().manual_seed(seed ^ 1) if draws and rng.random() < 0.3 else None
        words = [repr(a) for a in arguments] + [f"{k}={v!r}" if not isinstance(v, str) else f"{k}={v}" for k, v in options.items()]
        lines = [tensor_line(t), f"op {kind} {seed} {int(waiting)} {int(own is not None)} {' '.join(words)}".rstrip()]
        torch.manual_seed(seed)
        if waiting:
            torch.randn(1)  # leaves a normal number for the next one who wants it
        if own is not None:
            options = {**options, "generator": own}
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            _, error = attempt(lambda: getattr(init, kind)(t, *arguments, **options))
        if error:
            w.add(*lines, f"error {error}")
            continue
        lines += [f"storage {storage_hex(t)}", f"warnings {len(warned)}", f"state {state(torch.get_rng_state())}"]
        if own is not None:
            lines.append(f"own {state(own.get_state())}")
        w.add(*lines)
    w.close()

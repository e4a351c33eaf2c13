#!/usr/bin/env python3
"""The normalizing functions, pad and interpolate: random options, and weighted sums of what came of them.

Each line is one call, and sums of the result, of the gradients, and of what was written in place. The tests know the inputs
and the weights (sums.py).
"""
import math
import random
import warnings

import torch
import torch.nn.functional as F
from cases import line, write
from sums import given, summed

INTERPOLATION = """interpolate: mode, shape, size, scale_factor, align_corners, recompute_scale_factor, antialias, dtype, shape of the result,
sums of the result and of the input's gradient"""
PADDING = """pad: mode, shape, pad, value, shape of the result, sums of the result and of the input's gradient"""
NORMS = """Normalizing functions: function, shape, argument (first normalized dimension; groups; training), whether there are weight,
bias and running statistics, momentum, eps, dtype, and sums of the result, of the gradients of input, weight and bias, and
of the running statistics afterwards"""

MODES = {
    3: ["nearest", "nearest-exact", "area", "linear"],
    4: ["nearest", "nearest-exact", "area", "bilinear", "bicubic", "bilinear+aa", "bicubic+aa", "lanczos+aa"],
    5: ["nearest", "nearest-exact", "area", "trilinear"],
}
FACTORS = [0.3, 0.5, 0.7, 1.0, 1.3, 1.5, 2.0, 2.5, 3.0, 3.7]


def interpolation_case(rank, mode):
    antialias, mode = mode.endswith("+aa"), mode.removesuffix("+aa")
    spatial = [random.randint(1, 9 if rank < 5 else 5) for _ in range(rank - 2)]
    shape = [random.randint(1, 2), random.randint(1, 3)] + spatial
    dtype = random.choice([torch.float64, torch.float32])
    options = dict(mode=mode, antialias=antialias)
    size = scale = align = recompute = None
    if mode in ("linear", "bilinear", "bicubic", "trilinear"):
        align = random.choice([None, False, True])
        options["align_corners"] = align
    short = random.random() < 0.3
    if random.random() < 0.5:
        size = [random.randint(1, 13 if rank < 5 else 6) for _ in spatial]
        size = size[:1] if short else size
        options["size"] = size[0] if short else size
    else:
        scale = [random.choice(FACTORS) for _ in spatial]
        scale = scale[:1] if short else scale
        recompute = random.choice([None, True, False])
        options.update(scale_factor=scale[0] if short else scale, recompute_scale_factor=recompute)
    x = given(shape, dtype).requires_grad_()
    try:
        y = F.interpolate(x, **options)
    except RuntimeError:  # nothing would be left
        return None
    if y.numel() == 0:
        return None
    # Two errors of PyTorch 2.14.1: a result of one column repeats its first row, and the gradient of a dimension that
    # stays as it is is that of one that does not.
    if antialias and (y.shape[3] == 1 or any(a == b for a, b in zip(spatial, y.shape[2:]))):
        return None
    y.backward(given(y.shape, dtype))
    return line(mode, shape, size, scale, align, recompute, antialias,
                     dtype, y.shape, summed(y), summed(x.grad))


def padding_case():
    mode = random.choice(["constant", "reflect", "replicate", "circular"])
    dims = random.randint(1, 3)
    rank = random.randint(dims, 5) if mode == "constant" else dims + random.choice([1, 2])
    shape = [random.randint(1, 5) for _ in range(rank)]
    least = -2 if random.random() < 0.3 else 0
    pad = [random.randint(least, 3) for _ in range(2 * dims)]
    # What goes round more than once, when some was taken away, PyTorch does not define.
    for i in range(dims):
        left = shape[-1 - i] + min(pad[2 * i], 0) + min(pad[2 * i + 1], 0)
        if mode == "circular" and max(pad[2 * i], pad[2 * i + 1]) > left:
            return None
    value = random.choice([None, 1.5]) if mode == "constant" else None
    x = given(shape).requires_grad_()
    try:
        y = F.pad(x, pad, mode=mode, value=value)
    except RuntimeError:
        return None
    y.backward(given(y.shape))
    return line(mode, shape, pad, value, y.shape, summed(y),
                     summed(x.grad))


def norm_case():
    function = random.choice(["layer_norm", "rms_norm", "group_norm", "batch_norm", "instance_norm"])
    dtype = random.choice([torch.float64, torch.float32])
    rank = random.randint(3 if function == "instance_norm" else 2, 5)
    shape = [random.randint(2, 4)] + [random.randint(1, 6) for _ in range(rank - 1)]
    if function == "instance_norm":
        shape[2] = max(2, shape[2])
    eps, momentum = random.choice([1e-5, 1e-3, 0.1]), random.choice([0.1, 0.3])
    by_row, tracks = function in ("layer_norm", "rms_norm"), function in ("batch_norm", "instance_norm")
    if by_row:
        argument = random.randint(0, rank - 1)
    elif function == "group_norm":
        argument = random.choice([g for g in range(1, shape[1] + 1) if shape[1] % g == 0])
    else:
        argument = int(random.random() < 0.6)
    own = shape[argument:] if by_row else [shape[1]]
    # Of one element the gradient is zero, and PyTorch's is what rounding left.
    if by_row and math.prod(own) == 1:
        return None
    x = given(shape, dtype, 0.25).requires_grad_()
    weight = given(own, dtype, 1).requires_grad_() if random.random() < 0.7 else None
    bias = given(own, dtype, 2).requires_grad_() if function != "rms_norm" and random.random() < 0.7 else None
    running = tracks and (argument == 0 or random.random() < 0.6)
    mean = given(own, dtype, 0.1) if running else None
    var = given(own, dtype, 0.3).abs() + 0.5 if running else None
    if function == "layer_norm":
        y = F.layer_norm(x, own, weight, bias, eps)
    elif function == "rms_norm":
        y = F.rms_norm(x, own, weight, eps)
    elif function == "group_norm":
        y = F.group_norm(x, argument, weight, bias, eps)
    else:
        y = getattr(F, function)(x, mean, var, weight, bias, bool(argument), momentum, eps)
    y.backward(given(y.shape, dtype, 0.5))
    grad = lambda parameter: None if parameter is None else parameter.grad
    return line(function, shape, argument, weight is not None, bias is not None,
                     running, momentum, eps, dtype, summed(y), summed(x.grad),
                     summed(grad(weight)), summed(grad(bias)), summed(mean), summed(var))


def main():
    warnings.simplefilter("ignore")
    random.seed(7)
    cases = [interpolation_case(rank, mode)
             for rank in MODES for mode in MODES[rank] for _ in range(14 if rank == 4 else 8)]
    write("ops/cases/interpolation", [[case for case in cases if case]], INTERPOLATION)
    cases = [padding_case() for _ in range(300)]
    write("ops/cases/padding", [[case for case in cases if case]], PADDING)
    write("ops/cases/norms", [[case for case in (norm_case() for _ in range(200)) if case]], NORMS)


if __name__ == "__main__":
    main()

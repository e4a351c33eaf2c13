#!/usr/bin/env python3
"""Random convolutions and transposed ones, and sums of their results and gradients.

Elements of the operands are sines of their places; the sums are of each element times a cosine of its place.
"""
import math
import random

import torch
import torch.nn.functional as F
from cases import line, write

COLUMNS = """Convolutions: function, shapes of input and weight, whether there is a bias, stride, padding, dilation, output_padding, groups,
shape of the result, sums of the result and of the gradients of input, weight and bias"""


def operand(shape, step):
    n = math.prod(shape)
    return torch.sin(torch.arange(n, dtype=torch.float64) * step + 0.1).reshape(shape).requires_grad_()


def weights(n):
    return torch.cos(torch.arange(n, dtype=torch.float64) * 0.37)


def checksum(tensor):
    return (tensor.detach().flatten() * weights(tensor.numel())).sum().item()


def case(rng):
    dims = rng.choice((1, 1, 2, 2, 2, 2, 3))
    transposed = rng.random() < 0.4
    groups = rng.choice((1, 1, 1, 2, 3, 4))
    wide = rng.random() < 0.3
    each_in = rng.choice((16, 17, 32)) if wide and groups < 3 else rng.randint(1, 5)
    each_out = rng.choice((16, 20, 64)) if wide and groups < 3 else rng.randint(1, 5)
    if rng.random() < 0.15:  # a channel each
        groups, each_in, each_out = rng.choice((8, 16, 24)), 1, rng.choice((1, 2))
    kernel = [rng.randint(1, 4) for _ in range(dims)]
    stride = [rng.randint(1, 3) for _ in range(dims)]
    dilation = [rng.choice((1, 1, 2, 3)) for _ in range(dims)]
    padding = [rng.choice((0, 0, 1, 2)) for _ in range(dims)]
    extra = [rng.randrange(max(stride[d], dilation[d])) if transposed else 0 for d in range(dims)]
    if not transposed and rng.random() < 0.15:
        stride, padding = [1] * dims, "same"
    size = [rng.randint(1 if transposed else dilation[d] * (kernel[d] - 1) + 1, 14 if dims < 3 else 8) if transposed or dilation[d] * (kernel[d] - 1) < 8
            else dilation[d] * (kernel[d] - 1) + 2 for d in range(dims)]
    batch = [] if rng.random() < 0.15 else [rng.randint(1, 5)]
    x, bias = operand(batch + [groups * each_in] + size, 0.7), operand([groups * each_out], 0.9) if rng.random() < 0.6 else None
    w = operand([groups * each_in, each_out, *kernel] if transposed else [groups * each_out, each_in, *kernel], 0.3)
    name = f"conv_transpose{dims}d" if transposed else f"conv{dims}d"
    if transposed:
        out = getattr(F, name)(x, w, bias, stride, padding, extra, groups, dilation)
    else:
        out = getattr(F, name)(x, w, bias, stride, padding, dilation, groups)
    (out.flatten() * weights(out.numel())).sum().backward()
    sums = [checksum(out), checksum(x.grad), checksum(w.grad), checksum(bias.grad) if bias is not None else 0.0]
    return line(name, x.shape, w.shape, bias is not None, stride, padding, dilation, extra, groups, out.shape, *sums)


def main():
    rng = random.Random(7)
    lines = []
    while len(lines) < 240:
        try:
            lines.append(case(rng))
        except RuntimeError:  # a result without elements
            pass
    write("ops/cases/convolution", [lines], COLUMNS)


if __name__ == "__main__":
    main()

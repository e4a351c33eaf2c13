#!/usr/bin/env python3
"""Pools of known numbers, and their gradients, with the options that are recorded: they were drawn once."""
import torch.nn.functional as F
from cases import ints, line, rows, write
from sums import known_gradient, known_numbers, weighted_sum

COLUMNS = """Pools with random options: kind, dimensions, shape, kernel (or size of the result), stride, padding, dilation, ceil_mode,
count_include_pad, divisor_override (0: none), norm_type, shape of the result, sums of the result, of the indices and of the
input's gradient"""


def pooled(x, kind, n, kernel, stride, padding, dilation, ceil_mode, count_include_pad, divisor, norm):
    """The result and, of maxima, the indices."""
    if kind in ("max", "unpool"):
        values, indices = getattr(F, f"max_pool{n}d")(x, kernel, stride, padding, dilation, ceil_mode, return_indices=True)
        if kind == "unpool":
            values = getattr(F, f"max_unpool{n}d")(values, indices, kernel, stride, padding, x.shape[-n:])
        return values, indices
    if kind == "adaptive_max":
        return getattr(F, f"adaptive_max_pool{n}d")(x, kernel, return_indices=True)
    if kind == "adaptive_avg":
        return getattr(F, f"adaptive_avg_pool{n}d")(x, kernel), None
    if kind == "lp":
        return getattr(F, f"lp_pool{n}d")(x, norm, kernel, stride, ceil_mode), None
    own = {} if n == 1 or divisor == 0 else {"divisor_override": divisor}
    return getattr(F, f"avg_pool{n}d")(x, kernel, stride, padding, ceil_mode, count_include_pad, **own), None


def case(row):
    kind, n, (shape, kernel, stride, padding, dilation) = row[0], int(row[1]), map(ints, row[2:7])
    x = known_numbers(shape)
    x = (x.abs() + 0.5 if kind == "lp" else x).requires_grad_()
    options = [stride or None, padding, dilation, row[7] == "1", row[8] == "1", int(row[9]), float(row[10])]
    if kind == "lp" and n == 1:  # lp_pool1d takes no lists
        kernel, options[0] = kernel[0], options[0] and options[0][0]
    else:
        kernel, *options[:3] = [items * n if items and len(items) == 1 else items for items in (kernel, *options[:3])]
    y, indices = pooled(x, kind, n, kernel, *options)
    y.backward(known_gradient(y.shape))
    sums = weighted_sum(y), 0.0 if indices is None else weighted_sum(indices), weighted_sum(x.grad)
    return " ".join(row[:11]) + " " + line(y.shape, *sums)


write("ops/cases/pooling", [[case(row) for row in rows("ops/cases/pooling")]], COLUMNS)

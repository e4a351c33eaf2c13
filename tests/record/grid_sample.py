#!/usr/bin/env python3
"""grid_sample, with inputs and sums of sums.py. Places reach from inside to beyond the second mirror."""
import itertools

import torch
import torch.nn.functional as F
from cases import line, write
from sums import given, summed

COLUMNS = """grid_sample: mode, padding_mode, align_corners, dtype, shape of the input, of the grid, sums of the result and of the
gradients of the input and of the grid"""
SHAPES = [((2, 3, 4, 5), (2, 3, 4, 2)), ((1, 2, 1, 6), (1, 5, 2, 2)), ((2, 1, 3, 1), (2, 1, 7, 2)),
          ((2, 2, 3, 4, 5), (2, 2, 3, 2, 3)), ((1, 3, 2, 1, 4), (1, 3, 2, 4, 3))]


def main():
    lines = []
    modes = itertools.product(["bilinear", "nearest", "bicubic"], ["zeros", "border", "reflection"], [True, False],
                              [torch.float64, torch.float32], SHAPES)
    for mode, padding, align, dtype, (shape, places) in modes:
        if mode == "bicubic" and len(shape) == 5:
            continue
        x = given(shape, dtype).requires_grad_()
        grid = given(places, dtype, 0.3).requires_grad_()
        y = F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=align)
        y.backward(given(tuple(y.shape), dtype))
        lines.append(line(mode, padding, align, dtype, shape, places, summed(y), summed(x.grad), summed(grid.grad)))
    write("ops/cases/grid_sample", [lines], COLUMNS)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes grid_sample_cases.txt: grid_sample of PyTorch, beside which tests/ops/grid_sampling_test.cpp puts ours.

    python make_grid_sample_cases.py        # with the PyTorch that is to be followed

Inputs and sums are those of make_norm_cases.py. Places reach from inside to beyond the second mirror.
"""
import itertools
import pathlib

import torch
import torch.nn.functional as F

from make_norm_cases import given, listed, summed

HEAD = """# grid_sample of PyTorch {}: mode, padding_mode, align_corners, dtype, shape of the input, of the grid, sums of
# the result and of the gradients of the input and of the grid (make_grid_sample_cases.py).
"""
SHAPES = [((2, 3, 4, 5), (2, 3, 4, 2)), ((1, 2, 1, 6), (1, 5, 2, 2)), ((2, 1, 3, 1), (2, 1, 7, 2)),
          ((2, 2, 3, 4, 5), (2, 2, 3, 2, 3)), ((1, 3, 2, 1, 4), (1, 3, 2, 4, 3))]


def main():
    lines = [HEAD.format(torch.__version__.split("+")[0])]
    modes = itertools.product(["bilinear", "nearest", "bicubic"], ["zeros", "border", "reflection"], [True, False],
                              [torch.float64, torch.float32], SHAPES)
    for mode, padding, align, dtype, (shape, places) in modes:
        if mode == "bicubic" and len(shape) == 5:
            continue
        x = given(shape, dtype).requires_grad_()
        grid = given(places, dtype, 0.3).requires_grad_()
        y = F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=align)
        y.backward(given(tuple(y.shape), dtype))
        lines.append(" ".join([mode, padding, str(int(align)), str(dtype).removeprefix("torch."), listed(shape), listed(places),
                               summed(y), summed(x.grad), summed(grid.grad)]) + "\n")
    (pathlib.Path(__file__).resolve().parent / "grid_sample_cases.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()

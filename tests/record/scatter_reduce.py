#!/usr/bin/env python3
"""scatter_reduce of small tensors with ties and zeros, and its gradients."""
import torch
from cases import line, write

COLUMNS = """scatter_reduce: reduce, include_self, self, src, result, gradients of self and src"""

SELVES = {"plain": [1.0, 2.0, 3.0, 4.0], "ties and zeros": [2.0, 0.0, 3.0, 0.0], "more": [0.0, 4.0, 3.0, 5.0]}
SOURCES = {"plain": [2.0, 3.0, 4.0, 5.0], "ties and zeros": [2.0, 2.0, 0.0, 0.0], "more": [0.0, 0.0, 4.0, 5.0]}
INDEX = torch.tensor([0, 0, 1, 3])

rows = []
for reduce in ("sum", "prod", "mean", "amax", "amin"):
    for include_self in (True, False):
        for name in SELVES:
            # PyTorch shares the gradient of an extreme with an element that does not take part.
            if reduce.startswith("am") and not include_self and name != "plain":
                continue
            x = torch.tensor(SELVES[name], dtype=torch.float64, requires_grad=True)
            src = torch.tensor(SOURCES[name], dtype=torch.float64, requires_grad=True)
            y = x.scatter_reduce(0, INDEX, src, reduce, include_self=include_self)
            (y * torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)).sum().backward()
            rows.append(line(reduce, include_self, *(t.tolist() for t in (x, src, y, x.grad, src.grad))))
write("ops/cases/scatter_reduce", [rows], COLUMNS)

#!/usr/bin/env python3
"""Results and gradients of scaled_dot_product_attention.

Inputs are not recorded: both sides make them with the same formula, in float64.
"""
import torch
from cases import values, write
from torch.nn.functional import scaled_dot_product_attention as attention

WHAT = "scaled_dot_product_attention: NAME.out and the gradients NAME.q, NAME.k, NAME.v; every 37th row of the long ones"


def made(shape, seed):
    n = torch.Size(shape).numel()
    return (torch.arange(n, dtype=torch.float64) * 0.37 + seed).sin().mul(1.3).reshape(shape)


# name, query, key, value shapes, mask shape and kind, other options: as the table of the test.
CASES = [
    ("plain", (2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6), None, {}),
    ("causal", (2, 2, 6, 4), (2, 2, 6, 4), (2, 2, 6, 4), None, {"is_causal": True}),
    ("causal_wide", (1, 2, 3, 4), (1, 2, 6, 4), (1, 2, 6, 5), None, {"is_causal": True}),
    ("causal_tall", (1, 2, 7, 4), (1, 2, 3, 4), (1, 2, 3, 4), None, {"is_causal": True}),
    ("bools", (2, 2, 5, 4), (2, 2, 6, 4), (2, 2, 6, 4), ((5, 6), "bool"), {}),
    ("bools_of_batch", (2, 2, 5, 4), (2, 2, 6, 4), (2, 2, 6, 4), ((2, 1, 1, 6), "bool"), {}),
    ("floats", (2, 2, 5, 4), (2, 2, 6, 4), (2, 2, 6, 4), ((2, 5, 6), "float"), {}),
    ("nothing_seen", (1, 1, 4, 4), (1, 1, 5, 4), (1, 1, 5, 4), ((4, 5), "rows"), {}),
    ("scaled", (3, 5, 4), (3, 7, 4), (3, 7, 4), None, {"scale": 0.3}),
    ("matrices", (5, 4), (7, 4), (7, 3), None, {}),
    ("grouped", (2, 6, 4, 4), (2, 3, 5, 4), (2, 3, 5, 4), None, {"enable_gqa": True}),
    ("grouped_masked", (2, 6, 4, 4), (2, 2, 5, 4), (2, 2, 5, 4), ((2, 6, 4, 5), "float"), {"enable_gqa": True}),
    ("grouped_apart", (2, 6, 4, 4), (2, 3, 5, 4), (2, 2, 5, 4), None, {"enable_gqa": True}),
    ("broadcast", (2, 3, 4, 4), (1, 1, 5, 4), (3, 5, 4), None, {}),
    ("many_dims", (2, 1, 2, 3, 4, 4), (2, 1, 2, 3, 5, 4), (2, 1, 2, 3, 5, 4), None, {"is_causal": True}),
    ("long", (1, 1, 200, 4), (1, 1, 1100, 4), (1, 1, 1100, 3), None, {}),
    ("long_causal", (1, 1, 1100, 4), (1, 1, 1100, 4), (1, 1, 1100, 3), None, {"is_causal": True}),
]


def mask_of(shape, kind):
    numbers = made(shape, 4)
    if kind == "float":
        return numbers
    keep = numbers > -0.7
    if kind == "rows":
        keep[1] = False
        keep[2, 3:] = False
    return keep


state = {}
for name, q, k, v, mask, options in CASES:
    q, k, v = (made(s, i).requires_grad_() for i, s in enumerate((q, k, v)))
    mask = mask_of(*mask) if mask else None
    out = attention(q, k, v, attn_mask=mask, **options)
    out.backward(made(out.shape, 3))
    keep = slice(None, None, 37) if name.startswith("long") else slice(None)
    for key, t in (("out", out), ("q", q.grad), ("k", k.grad), ("v", v.grad)):
        state[f"{name}.{key}"] = t.detach()[..., keep, :].clone()
write("ops/cases/attention", [values(state)], WHAT)

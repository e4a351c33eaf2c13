#!/usr/bin/env python3
"""Five steps of every optimizer, with many options.

Parameters are views of one tensor, and so are gradients; only that tensor is recorded.
"""
import torch
from cases import values, write

WHAT = """Five steps of every optimizer: class, options, parameters before, gradients of all steps, parameters afterwards, names and
values of the state, param_groups, repr"""

CASES = {
    "SGD": [{}, {"lr": 0.1}, {"lr": 0.1, "momentum": 0.9}, {"lr": 0.1, "momentum": 0.9, "nesterov": True},
            {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}, {"lr": 0.1, "momentum": 0.7, "weight_decay": 0.01},
            {"lr": 0.1, "weight_decay": 0.3, "maximize": True}, {"lr": 0.1, "momentum": 0.5, "maximize": True}],
    "Adam": [{}, {"lr": 0.1}, {"lr": 0.05, "betas": (0.8, 0.9)}, {"lr": 0.1, "amsgrad": True},
             {"lr": 0.1, "weight_decay": 0.02}, {"lr": 0.1, "maximize": True, "eps": 1e-3}, {"lr": 0.1, "betas": (0.3, 0.5)},
             {"lr": 0.1, "weight_decay": 0.02, "decoupled_weight_decay": True}],
    "AdamW": [{}, {"lr": 0.1, "weight_decay": 0.2}, {"lr": 0.1, "amsgrad": True, "maximize": True}],
    "Adagrad": [{}, {"lr": 0.1, "lr_decay": 0.2}, {"weight_decay": 0.1, "initial_accumulator_value": 0.3},
                {"eps": 1e-2, "maximize": True}],
    "RMSprop": [{}, {"lr": 0.1, "momentum": 0.6}, {"lr": 0.1, "centered": True}, {"alpha": 0.4, "weight_decay": 0.1},
                {"lr": 0.1, "momentum": 0.6, "centered": True, "maximize": True, "eps": 1e-3}],
}
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64]


# A matrix, a vector, a transposed matrix, a channels-last image, a number, and one that never has a gradient.
SHAPES = [(5, 7), (33,), (3, 4), (2, 3, 4, 5), (), (3,)]


def views(flat):
    """The parameters in it, in their order in memory."""
    parts, at = [], 0
    for i, shape in enumerate(SHAPES):
        n = torch.Size(shape).numel()
        part = flat[at:at + n]
        at += n
        if i == 2:
            part = part.view(4, 3).t()
        elif i == 3:
            part = part.view(2, 4, 5, 3).permute(0, 3, 1, 2)
        else:
            part = part.view(shape)
        parts.append(part)
    return parts


def case(name, options, dtype):
    torch.manual_seed(len(str(options)))
    total = sum(torch.Size(shape).numel() for shape in SHAPES)
    before, grads = torch.randn(total, dtype=dtype), torch.randn(5, total, dtype=dtype)
    params = [torch.nn.Parameter(part.clone()) for part in views(before)]
    optimizer = getattr(torch.optim, name)([{"params": params[:3]}, {"params": params[3:], "lr": 0.02}], **options)
    for step in range(5):
        for i, (p, grad) in enumerate(zip(params, views(grads[step]))):
            # The last has none, the second none in the first step; the first's is in another order than its parameter.
            p.grad = None if i == 5 or (i == 1 and step == 0) else grad.t().contiguous().t() if i == 0 else grad.clone()
        optimizer.step()
    state = [list(entry.items()) for entry in optimizer.state_dict()["state"].values()]
    return {"name": name, "options": options, "before": before, "grads": grads,
            "after": torch.cat([p.detach().flatten() for p in params]),
            "state_keys": [[key for key, _ in entry] for entry in state],
            "state": torch.cat([value.to(dtype).flatten() for entry in state for _, value in entry]) if state else None,
            "param_groups": optimizer.state_dict()["param_groups"], "text": str(optimizer)}


def main():
    cases = [case(name, options, dtype) for name, all_options in CASES.items() for options in all_options
             for dtype in (DTYPES if options is all_options[-1] else DTYPES[:1])]
    write("optim/cases/steps", [values(one) for one in cases], WHAT)


main()

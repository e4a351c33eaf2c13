#!/usr/bin/env python3
"""Learning rates of every scheduler over 100 epochs, and its state dicts. schedules_test.cpp has the cases by the same names."""
import math
import warnings

import torch
from cases import values, write
from torch.optim import lr_scheduler as S

WHAT = """First the metrics of ReduceLROnPlateau and the epochs of jumps. Then schedules: learning rates and momenta of two groups after
every step, learning rates where they are changed in between, state dicts, what get_lr() gives at epoch 50, the optimizer's
param_groups then, learning rates and state dict after steps to given epochs"""

EPOCHS = 100
STATES = [0, 1, 7, 50, EPOCHS]
METRICS = [1 / (1 + i) if i < 20 else [0.05, 0.05000001, math.nan, 0.0499, 0.3, math.inf, 0.04999][i % 7] - (i // 30) * 0.01
           for i in range(EPOCHS)]


def sequential(o, make, milestones, **options):
    return S.SequentialLR(o, make, milestones, **options)


CASES = {
    "StepLR": lambda o: S.StepLR(o, 3),
    "StepLR gamma": lambda o: S.StepLR(o, 7, gamma=0.77),
    "StepLR resumed": lambda o: S.StepLR(o, 3, gamma=0.7, last_epoch=5),
    "MultiStepLR": lambda o: S.MultiStepLR(o, [30, 80]),
    "MultiStepLR twice": lambda o: S.MultiStepLR(o, [50, 3, 3, 20, 3], gamma=0.3),
    "ConstantLR": lambda o: S.ConstantLR(o),
    "ConstantLR factor": lambda o: S.ConstantLR(o, factor=0.7, total_iters=33),
    "LinearLR": lambda o: S.LinearLR(o),
    "LinearLR down": lambda o: S.LinearLR(o, start_factor=0.9, end_factor=0.123, total_iters=71),
    "LinearLR resumed": lambda o: S.LinearLR(o, start_factor=0.1, total_iters=40, last_epoch=20),
    "ExponentialLR": lambda o: S.ExponentialLR(o, 0.93),
    "ExponentialLR resumed": lambda o: S.ExponentialLR(o, 0.93, last_epoch=10),
    "PolynomialLR": lambda o: S.PolynomialLR(o),
    "PolynomialLR power": lambda o: S.PolynomialLR(o, total_iters=60, power=2.3),
    "CosineAnnealingLR": lambda o: S.CosineAnnealingLR(o, 100),
    "CosineAnnealingLR often": lambda o: S.CosineAnnealingLR(o, 13, eta_min=0.003),
    "CosineAnnealingLR resumed": lambda o: S.CosineAnnealingLR(o, 13, eta_min=0.003, last_epoch=3),
    "CosineAnnealingWarmRestarts": lambda o: S.CosineAnnealingWarmRestarts(o, 7),
    "CosineAnnealingWarmRestarts mult": lambda o: S.CosineAnnealingWarmRestarts(o, 3, T_mult=2, eta_min=0.001),
    "CosineAnnealingWarmRestarts resumed": lambda o: S.CosineAnnealingWarmRestarts(o, 3, T_mult=2, last_epoch=7),
    "OneCycleLR": lambda o: S.OneCycleLR(o, 0.3, total_steps=101),
    "OneCycleLR linear": lambda o: S.OneCycleLR(o, [0.3, 0.7], epochs=17, steps_per_epoch=6, anneal_strategy="linear"),
    "OneCycleLR three": lambda o: S.OneCycleLR(o, 0.3, total_steps=123, pct_start=0.21, three_phase=True, div_factor=7,
                                               final_div_factor=123.0, base_momentum=[0.7, 0.8], max_momentum=0.9),
    "OneCycleLR still": lambda o: S.OneCycleLR(o, 0.3, total_steps=100, cycle_momentum=False),
    "OneCycleLR Adam": lambda o: S.OneCycleLR(o, 0.01, total_steps=150, three_phase=True),
    "CyclicLR": lambda o: S.CyclicLR(o, 0.01, 0.3, step_size_up=7),
    "CyclicLR two": lambda o: S.CyclicLR(o, [0.01, 0.002], [0.3, 0.07], step_size_up=5, step_size_down=11, mode="triangular2",
                                         base_momentum=[0.7, 0.6], max_momentum=[0.9, 0.95]),
    "CyclicLR range": lambda o: S.CyclicLR(o, 0.01, 0.3, step_size_up=9, mode="exp_range", gamma=0.97, cycle_momentum=False),
    "CyclicLR saw": lambda o: S.CyclicLR(o, 0.01, 0.3, step_size_up=6, step_size_down=0),
    "CyclicLR cycles": lambda o: S.CyclicLR(o, 0.01, 0.3, step_size_up=4, scale_fn=lambda x: 1 / (1 + x)),
    "CyclicLR steps": lambda o: S.CyclicLR(o, 0.01, 0.3, step_size_up=4, scale_fn=lambda x: 1 / (1 + x), scale_mode="iterations"),
    "CyclicLR Adam": lambda o: S.CyclicLR(o, 0.001, 0.03, step_size_up=13),
    "CyclicLR resumed": lambda o: S.CyclicLR(o, 0.02, 0.3, step_size_up=7, mode="triangular2", last_epoch=9),
    "ReduceLROnPlateau": lambda o: S.ReduceLROnPlateau(o),
    "ReduceLROnPlateau rel max": lambda o: S.ReduceLROnPlateau(o, "max", factor=0.7, patience=2, threshold=0.01, cooldown=3),
    "ReduceLROnPlateau abs": lambda o: S.ReduceLROnPlateau(o, factor=0.5, patience=1, threshold=0.02, threshold_mode="abs",
                                                           min_lr=[0.01, 0.001]),
    "ReduceLROnPlateau abs max": lambda o: S.ReduceLROnPlateau(o, "max", factor=0.9, patience=0, threshold=0.003,
                                                               threshold_mode="abs", eps=0.01, min_lr=0.005),
    "LambdaLR": lambda o: S.LambdaLR(o, lambda epoch: 0.95 ** epoch),
    "LambdaLR two": lambda o: S.LambdaLR(o, [lambda epoch: 1 / (1 + epoch), lambda epoch: epoch // 30]),
    "MultiplicativeLR": lambda o: S.MultiplicativeLR(o, lambda epoch: 1 - 1 / (10 + epoch)),
    "SequentialLR": lambda o: sequential(o, [S.LinearLR(o, 0.1, total_iters=5), S.CosineAnnealingLR(o, 60)], [5]),
    "SequentialLR many": lambda o: sequential(
        o, [S.ConstantLR(o, 0.3, 20), S.MultiStepLR(o, [3, 9]), S.CosineAnnealingWarmRestarts(o, 3, 2), S.PolynomialLR(o, 30),
            S.LambdaLR(o, lambda epoch: 0.9 ** epoch), S.ExponentialLR(o, 0.97), S.LinearLR(o)], [10, 23, 40, 55, 70, 90]),
    "SequentialLR equal": lambda o: sequential(o, [S.ConstantLR(o), S.ExponentialLR(o, 0.9), S.StepLR(o, 2)], [2, 2]),
    "SequentialLR at once": lambda o: sequential(o, [S.ConstantLR(o), S.ExponentialLR(o, 0.9)], [0]),
    "SequentialLR cycle": lambda o: sequential(o, [S.ConstantLR(o, 0.1, 4), S.OneCycleLR(o, 0.3, total_steps=99)], [3]),
    "SequentialLR cyclic": lambda o: sequential(o, [S.ConstantLR(o, 0.1, 4), S.CyclicLR(o, 0.02, 0.3, step_size_up=5)], [3]),
    "SequentialLR nested": lambda o: sequential(
        o, [sequential(o, [S.ExponentialLR(o, 0.9), S.StepLR(o, 2, 0.8)], [2]), S.ExponentialLR(o, 0.8)], [40]),
    "SequentialLR of a chain": lambda o: sequential(
        o, [S.ChainedScheduler([S.ExponentialLR(o, 0.9), S.StepLR(o, 2, 0.9)]), S.StepLR(o, 9, 0.8)], [40]),
    "SequentialLR resumed": lambda o: sequential(o, [S.ConstantLR(o, 0.3, 20), S.ExponentialLR(o, 0.9)], [10], last_epoch=4),
    "ChainedScheduler": lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 20), S.ExponentialLR(o, 0.99)]),
    "ChainedScheduler of a sequence": lambda o: S.ChainedScheduler(
        [sequential(o, [S.LinearLR(o, 0.1), S.CosineAnnealingLR(o, 50)], [5]), S.StepLR(o, 9, 0.8)], o),
}
JUMPS = [0, 3, 5, 6, 20, 2, 9, 41]
NO_JUMPS = ("Sequential", "Chained", "Reduce", "OneCycleLR linear")


def optimizer(name):
    groups = [{"params": [torch.nn.Parameter(torch.ones(1))], "lr": 0.1}, {"params": [torch.nn.Parameter(torch.ones(2))], "lr": 0.025}]
    if "resumed" in name:
        for group in groups:
            group["initial_lr"] = group["lr"] * 1.5
    return torch.optim.Adam(groups) if "Adam" in name else torch.optim.SGD(groups, lr=1, momentum=0.5)


def momentum(group):
    return group["betas"][0] if "betas" in group else group["momentum"]


def run(name, change):
    o = optimizer(name)
    s = CASES[name](o)
    out = {"lrs": [], "momenta": [], "states": []}
    for epoch in range(EPOCHS + 1):
        if epoch > 0:
            o.step()
            if change and epoch in (6, 45):
                o.param_groups[0]["lr"] = 0.77
                o.param_groups[1]["lr"] *= 1.5
            s.step(*([METRICS[epoch - 1]] if "Reduce" in name else []))
        out["lrs"].append([group["lr"] for group in o.param_groups])
        out["momenta"].append([momentum(group) for group in o.param_groups])
        assert s.get_last_lr() == out["lrs"][-1] or "Chained" in name or "nested" in name, name
        if epoch in STATES:
            out["states"].append(s.state_dict())
        if epoch == 50:
            out["optimizer"] = o.state_dict()
            try:
                out["get_lr"] = list(s.get_lr())
            except NotImplementedError:
                out["get_lr"] = None
    return out


def jumps(name):
    if name.startswith(NO_JUMPS):
        return None
    o = optimizer(name)
    s = CASES[name](o)
    out = []
    for epoch in JUMPS:
        s.step(epoch)
        out.append([group["lr"] for group in o.param_groups])
        s.step()
        out.append([group["lr"] for group in o.param_groups])
    return {"lrs": out, "state": s.state_dict()}


def copied(value):
    if isinstance(value, dict):
        return type(value)({key: copied(item) for key, item in value.items()})
    return type(value)(map(copied, value)) if isinstance(value, (list, tuple)) else value


def main():
    warnings.simplefilter("ignore")
    cases = {}
    for name in CASES:
        plain, changed = run(name, False), run(name, True)
        jumped = jumps(name)
        cases[name] = {
            "lrs": torch.tensor(plain["lrs"], dtype=torch.float64), "momenta": torch.tensor(plain["momenta"], dtype=torch.float64),
            "changed": torch.tensor(changed["lrs"], dtype=torch.float64), "states": copied(plain["states"]),
            "changed_states": copied(changed["states"]), "get_lr": plain["get_lr"], "param_groups": plain["optimizer"]["param_groups"],
            "jumps": jumped and torch.tensor(jumped["lrs"], dtype=torch.float64), "jumped_state": jumped and copied(jumped["state"]),
        }
    blocks = [{"metrics": METRICS, "jumps": JUMPS}] + [{"name": name, **case} for name, case in cases.items()]
    write("optim/cases/schedules", [values(block) for block in blocks], WHAT)


main()

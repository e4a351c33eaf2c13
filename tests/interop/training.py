#!/usr/bin/env python3
"""Runs of training that go from PyTorch to Tenon and back, beside runs that PyTorch makes alone.

usage: training.py CONTINUE_TRAINING [SEED]

For every optimizer and every scheduler, a hundred steps: forty of PyTorch, thirty of Tenon, thirty of PyTorch again, each from the one file
that the one before saved: model, optimizer, scheduler, random numbers, step. Batches and dropout are drawn from the generator. The
losses are to be those of a hundred steps of PyTorch, within 1e-4, and so are model and optimizer at the end; learning rates and
what schedulers keep are to be the same.
"""
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import lr_scheduler as S

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "record" / "parity"))
from draws import drawn_by_mkl  # noqa: E402

STEPS, LEAVE, RETURN = 100, 40, 70
OPTIMIZERS = [("SGD", {"lr": 0.05}), ("SGD", {"lr": 0.02, "momentum": 0.9, "weight_decay": 1e-3, "nesterov": True}),
              ("Adam", {"lr": 3e-3}), ("Adam", {"lr": 3e-3, "amsgrad": True, "weight_decay": 1e-3}), ("AdamW", {"lr": 3e-3}),
              ("Adagrad", {"lr": 2e-2, "lr_decay": 1e-3}), ("RMSprop", {"lr": 1e-3}),
              ("RMSprop", {"lr": 1e-3, "momentum": 0.5, "centered": True})]
# Of what class, with which arguments; of those that are made of others, parts and milestones. Tenon makes one of the class and loads
# what it keeps; functions are continue_training.cpp's own.
SCHEDULERS = [("StepLR", (13, 0.7)), ("MultiStepLR", ([20, 50, 50, 90], 0.5)), ("ConstantLR", (0.3, 55)), ("LinearLR", (0.1, 1.0, 60)),
              ("ExponentialLR", (0.98,)), ("PolynomialLR", (90, 1.5)), ("CosineAnnealingLR", (80, 1e-3)),
              ("CosineAnnealingWarmRestarts", (15, 2)), ("OneCycleLR", (0.05, 120)), ("CyclicLR", (0.005, 0.05, 17, 9, "triangular2")),
              ("ReduceLROnPlateau", ("min", 0.5, 3)), ("LambdaLR", (lambda epoch: 0.97 ** epoch,)),
              ("MultiplicativeLR", (lambda epoch: 1 - 1 / (10 + epoch),)),
              ("SequentialLR", [("LinearLR", (0.1, 1.0, 30)), ("CosineAnnealingLR", (60,))], [50]),
              ("SequentialLR", [("ConstantLR", (0.5, 20)), ("StepLR", (7, 0.9)), ("ExponentialLR", (0.95,))], [20, 60]),
              ("ChainedScheduler", [("ConstantLR", (0.3, 60)), ("ExponentialLR", (0.99,))], None)]
METRICS = [max(1 / (1 + step), 0.05 - 0.01 * (step // 30)) for step in range(STEPS)]


class Net(nn.Module):
    def __init__(self, p):
        super().__init__()
        # A bias before a norm has no gradient but rounding, which adaptive optimizers make large.
        self.conv = nn.Conv2d(2, 6, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(6)
        self.hidden = nn.Linear(6 * 3 * 3, 16)
        self.ln = nn.LayerNorm(16)
        self.dropout = nn.Dropout(p)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        h = F.max_pool2d(F.relu(self.bn(self.conv(x))), 2).flatten(1)
        return self.head(self.dropout(F.gelu(self.ln(self.hidden(h)))))


def make_scheduler(optimizer, described):
    if described is None:
        return None
    name, arguments, *milestones = described
    if milestones:
        parts = [make_scheduler(optimizer, part) for part in arguments]
        return S.ChainedScheduler(parts) if milestones[0] is None else S.SequentialLR(optimizer, parts, milestones[0])
    if name == "OneCycleLR":
        return S.OneCycleLR(optimizer, arguments[0], total_steps=arguments[1])
    return getattr(S, name)(optimizer, *arguments)


def description(described):
    if described is None:
        return None
    name, arguments, *milestones = described
    if not milestones:
        return {"class": name}
    return {"class": name, "parts": [description(part) for part in arguments], "milestones": milestones[0] or []}


class Run:
    """Everything that goes on from one step to the next."""

    def __init__(self, name, options, described, p, saved=None):
        self.net = Net(p)
        self.optimizer = getattr(torch.optim, name)(self.net.parameters(), **options)
        self.scheduler = make_scheduler(self.optimizer, described)
        if saved is not None:
            self.net.load_state_dict(saved["model"])
            self.optimizer.load_state_dict(saved["optimizer"])
            if self.scheduler is not None:
                self.scheduler.load_state_dict(saved["scheduler"])
            torch.set_rng_state(saved["random"])

    def state(self, step):
        return {"model": self.net.state_dict(), "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler and self.scheduler.state_dict(), "random": torch.get_rng_state(), "step": step}

    def train(self, begin, end):
        losses = []
        for step in range(begin, end):
            y = torch.randint(0, 4, (16,))
            x = torch.randn(16, 2, 6, 6) + 0.5 * y.view(-1, 1, 1, 1)
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
            self.optimizer.step()
            if isinstance(self.scheduler, S.ReduceLROnPlateau):
                self.scheduler.step(METRICS[step])
            elif self.scheduler is not None:
                self.scheduler.step()
            losses.append(loss.item())
        return losses


def furthest(a, b):
    """How far apart the tensors in two values are, beside the larger."""
    if isinstance(a, torch.Tensor):
        return ((a - b).abs().max() / max(1.0, b.abs().max().item())).item() if a.numel() else 0.0
    if isinstance(a, dict):
        assert list(a) == list(b), (list(a), list(b))
        return max((furthest(a[key], b[key]) for key in a), default=0.0)
    if isinstance(a, (list, tuple)):
        return max((furthest(one, other) for one, other in zip(a, b, strict=True)), default=0.0)
    assert a == b, (a, b)
    return 0.0


def compare(program, seed, name, options, described, p):
    torch.manual_seed(seed)
    alone = Run(name, options, described, p)
    first, begin = {key: value.clone() for key, value in alone.net.state_dict().items()}, torch.get_rng_state()
    expected = alone.train(0, STEPS)
    end = alone.state(STEPS)
    begun = Run(name, options, described, p)
    begun.net.load_state_dict(first)
    torch.set_rng_state(begin)
    losses = begun.train(0, LEAVE)
    with tempfile.TemporaryDirectory() as folder:
        there, back = pathlib.Path(folder) / "there.pth", pathlib.Path(folder) / "back.pth"
        torch.save({**begun.state(LEAVE), "class": name, "schedule": description(described), "metrics": METRICS, "p": p, "to": RETURN}, there)
        subprocess.run([program, there, back], check=True)
        given = torch.load(back)
    losses += given["losses"]
    assert given["step"] == RETURN, given["step"]
    last = Run(name, options, described, p, given)
    losses += last.train(RETURN, STEPS)
    apart = max(abs(a - b) for a, b in zip(losses, expected, strict=True))
    state = last.state(STEPS)
    assert state["random"].equal(end["random"]), "random numbers stand somewhere else"
    return apart, max(furthest(state[part], end[part]) for part in ("model", "optimizer", "scheduler"))


def main():
    warnings.simplefilter("ignore")
    program, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    p = 0.0 if drawn_by_mkl() else 0.2
    failed = 0
    runs = [(name, options, None) for name, options in OPTIMIZERS]
    runs += [("SGD", {"lr": 0.02, "momentum": 0.9}, described) for described in SCHEDULERS]
    runs += [("AdamW", {"lr": 3e-3}, described) for described in SCHEDULERS if described[0] in ("OneCycleLR", "CyclicLR")]
    for name, options, described in runs:
        apart, state = compare(program, seed, name, options, described, p)
        good = apart <= 1e-4 and state <= 1e-3
        failed |= not good
        print(f"{'ok' if good else 'DIFFERS'}: {name} {options} {described[0] if described else ''}: losses within {apart:.1e}, "
              f"state within {state:.1e}")
    return failed


if __name__ == "__main__":
    sys.exit(main())

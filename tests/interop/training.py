#!/usr/bin/env python3
"""Runs of training that go from PyTorch to Tenon and back, beside runs that PyTorch makes alone.

usage: training.py CONTINUE_TRAINING [SEED]

For every optimizer, a hundred steps: forty of PyTorch, thirty of Tenon, thirty of PyTorch again, each from what the one before
saved. The losses are to be those of a hundred steps of PyTorch, within 1e-4, and so are model and optimizer at the end.
"""
import pathlib
import subprocess
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

STEPS, LEAVE, RETURN = 100, 40, 70
OPTIMIZERS = [("SGD", {"lr": 0.05}), ("SGD", {"lr": 0.02, "momentum": 0.9, "weight_decay": 1e-3, "nesterov": True}),
              ("Adam", {"lr": 3e-3}), ("Adam", {"lr": 3e-3, "amsgrad": True, "weight_decay": 1e-3}), ("AdamW", {"lr": 3e-3}),
              ("Adagrad", {"lr": 2e-2, "lr_decay": 1e-3}), ("RMSprop", {"lr": 1e-3}),
              ("RMSprop", {"lr": 1e-3, "momentum": 0.5, "centered": True})]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        # A bias before a norm has no gradient but rounding, which adaptive optimizers make large.
        self.conv = nn.Conv2d(2, 6, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(6)
        self.hidden = nn.Linear(6 * 3 * 3, 16)
        self.ln = nn.LayerNorm(16)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        h = F.max_pool2d(F.relu(self.bn(self.conv(x))), 2).flatten(1)
        return self.head(F.gelu(self.ln(self.hidden(h))))


def train(net, optimizer, x, y, begin, end):
    losses = []
    for step in range(begin, end):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x[step]), y[step])
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
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


def main():
    program, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    failed = 0
    for name, options in OPTIMIZERS:
        torch.manual_seed(seed)
        x, y = torch.randn(STEPS, 16, 2, 6, 6), torch.randint(0, 4, (STEPS, 16))
        first = Net().state_dict()

        def fresh(model, state=None):
            net = Net()
            net.load_state_dict(model)
            optimizer = getattr(torch.optim, name)(net.parameters(), **options)
            if state is not None:
                optimizer.load_state_dict(state)
            return net, optimizer
        alone = fresh(first)
        expected = train(*alone, x, y, 0, STEPS)
        begun = fresh(first)
        losses = train(*begun, x, y, 0, LEAVE)
        with tempfile.TemporaryDirectory() as folder:
            there, back = pathlib.Path(folder) / "there.pth", pathlib.Path(folder) / "back.pth"
            torch.save({"model": begun[0].state_dict(), "optimizer": begun[1].state_dict(), "class": name, "x": x, "y": y,
                        "from": LEAVE, "to": RETURN}, there)
            subprocess.run([program, there, back], check=True)
            given = torch.load(back, weights_only=True)
        losses += given["losses"]
        last = fresh(given["model"], given["optimizer"])
        losses += train(*last, x, y, RETURN, STEPS)
        apart = max(abs(a - b) for a, b in zip(losses, expected, strict=True))
        state = max(furthest(last[0].state_dict(), alone[0].state_dict()), furthest(last[1].state_dict(), alone[1].state_dict()))
        good = apart <= 1e-4 and state <= 1e-3
        failed |= not good
        print(f"{'ok' if good else 'DIFFERS'}: {name} {options}: losses within {apart:.1e}, state within {state:.1e}")
    return failed


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What lazy modules draw; and, with --files, lazy modules as PyTorch saves them.

usage: lazy.py [--check] [--files FOLDER]

The files of tests/nn/fixtures/ (lazy_mlp.pth, lazy_states.pth, lazy_refused/) are not written unless a folder is given:
the tests read them as files, and another PyTorch writes other bytes.
"""
import pathlib
import sys
import zipfile

import torch
from cases import values, write
from torch import nn

DRAWN = "State dicts of a network of lazy and other layers after its first call, and three numbers drawn next"
STREAMS = "First values of a network that begins with a lazy layer, as lazy.NAME@SEED"


class LazyMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.LazyLinear(10)
        self.relu1 = nn.ReLU()
        self.fc2 = nn.LazyLinear(1)
        self.relu2 = nn.ReLU()

    def forward(self, x):
        return self.relu2(self.fc2(self.relu1(self.fc1(x))))


class Mixed(nn.Module):
    """Lazy layers before and between eager ones: those draw when they are made, these when they are called."""

    def __init__(self):
        super().__init__()
        self.conv = nn.LazyConv2d(6, 3)
        self.norm = nn.LazyBatchNorm2d()
        self.eager = nn.Conv2d(6, 5, 2)
        self.up = nn.LazyConvTranspose2d(4, 2, groups=1)
        self.style = nn.LazyInstanceNorm2d()
        self.head = nn.LazyLinear(3)
        self.last = nn.Linear(3, 2)

    def forward(self, x):
        x = self.style(self.up(self.eager(self.norm(self.conv(x)))))
        return self.last(self.head(x.flatten(1)))


class LazyFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.LazyLinear(6)
        self.b = nn.Linear(6, 3)

    def forward(self, x):
        return self.b(self.a(x).relu())


def refused(out, name, pickle):
    """A file by hand, of what PyTorch never writes."""
    with zipfile.ZipFile(out / f"{name}.pth", "w", zipfile.ZIP_STORED) as archive:
        for record, data in (("data.pkl", b"\x80\x02" + pickle + b"."), ("version", b"3\n"), ("byteorder", b"little")):
            archive.writestr(zipfile.ZipInfo(f"{name}/{record}"), data)


CLASS = b"ctorch.nn.parameter\nUninitializedParameter\n"
LAZY, DICT = CLASS + b"\x88\x85R", b"ccollections\nOrderedDict\n)R"
COO = b"ctorch.serialization\n_get_layout\nX\x10\0\0\0torch.sparse_coo\x85R"


def files(out):
    torch.save(LazyMLP().state_dict(), out / "lazy_mlp.pth")
    frozen = nn.LazyLinear(4).double()
    frozen.weight.requires_grad = False
    torch.save({"norm": nn.LazyBatchNorm1d().state_dict(), "frozen": frozen.state_dict()}, out / "lazy_states.pth")
    folder = out / "lazy_refused"
    folder.mkdir(exist_ok=True)
    refused(folder, "parameter_of_one", b"ctorch._utils\n_rebuild_parameter\n" + LAZY + b"\x88" + DICT + b"\x87R")
    refused(folder, "sparse_of_two", b"ctorch._utils\n_rebuild_sparse_tensor\n" + COO + b"(" + LAZY + LAZY + b"ctorch\nSize\nK\x02\x85\x85Rt\x86R")
    refused(folder, "grad_is_text", CLASS + b"X\x01\0\0\0a\x85R")
    refused(folder, "device_is_text", CLASS + b"\x88X\x01\0\0\0a\x86R")
    refused(folder, "grad_of_int64", CLASS + b"\x88Nctorch\nint64\n\x87R")
    refused(folder, "too_many_arguments", CLASS + b"(\x88NN\x88tR")
    refused(folder, "class_alone", b"(" + CLASS + b"t")


drawn = []
for seed in (0, 7, 12345):
    torch.manual_seed(seed)
    net = Mixed()
    net(torch.ones(2, 3, 8, 8))
    drawn.append({"seed": seed, **net.state_dict(), "after": torch.rand(3)})
write("nn/cases/lazy_drawn", [values(one) for one in drawn], DRAWN)
streams = {}
for seed in (0, 11, 1099511627787):
    torch.manual_seed(seed)
    net = LazyFirst()
    net(torch.ones(2, 4))
    streams |= {f"lazy.{name}@{seed}": value.clone() for name, value in net.state_dict().items()}
write("nn/cases/lazy_streams", [values(streams)], STREAMS)
if "--files" in sys.argv:
    files(pathlib.Path(sys.argv[sys.argv.index("--files") + 1]))

"""PyTorch's side of the benchmarks, from Python. Prints one JSON object: name to nanoseconds.

usage: peer_torch.py [SECONDS for each]
"""
import json
import sys
import time

import torch


def per_call(function, seconds):
    """Nanoseconds a call: as many calls as fit, timed in one stretch."""
    calls = 1
    while True:
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        spent = time.perf_counter() - begin
        if spent > seconds / 4:
            break
        calls *= 4
    return spent / calls * 1e9


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.2
    a, b, t = torch.arange(2), torch.arange(3), torch.arange(3)
    p, q = torch.nn.Parameter(torch.zeros(4)), torch.nn.Parameter(torch.ones(4))
    line = torch.linspace(-3, 3, 1000)
    big, out = torch.ones(4096, 4096), torch.empty(4096, 4096)
    functions = {
        "swap": lambda: torch.utils.swap_tensors(a, b),
        "swap_parameters": lambda: torch.utils.swap_tensors(p, q),
        "empty_4": lambda: torch.empty(4),
        "empty_4_meta": lambda: torch.empty(4, device="meta"),
        "narrow": lambda: t.narrow(0, 1, 2),
        "view": lambda: t.view(3, 1),
        "detach": lambda: t.detach(),
        "clone_3": lambda: t.clone(),
        "fill_3": lambda: t.fill_(1),
        "size": lambda: t.size(0),
        "print_1000": lambda: repr(line),
        "transpose_64mb": lambda: out.copy_(big.t()),
        "copy_64mb": lambda: out.copy_(big),
    }
    print(json.dumps({name: per_call(f, seconds) for name, f in functions.items()}))


if __name__ == "__main__":
    main()

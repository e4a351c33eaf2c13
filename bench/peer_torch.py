"""PyTorch's side of the benchmarks, from Python. Prints one JSON object: name to nanoseconds.

usage: peer_torch.py core|numbers [SECONDS for each]
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


def core():
    a, b, t = torch.arange(2), torch.arange(3), torch.arange(3)
    p, q = torch.nn.Parameter(torch.zeros(4)), torch.nn.Parameter(torch.ones(4))
    line = torch.linspace(-3, 3, 1000)
    big, out = torch.ones(4096, 4096), torch.empty(4096, 4096)
    return {
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


def numbers():
    many = 10**8
    a, b, out = torch.rand(many), torch.rand(many), torch.ones(many)
    narrow = torch.ones(many, dtype=torch.bfloat16)
    x, y = torch.rand(4), torch.rand(4)
    row = torch.rand(10**6)
    table, words, picked = torch.rand(50_000, 1024), torch.randint(50_000, (16_384,)), torch.empty(16_384, 1024)

    def product(n, dtype):
        left, right, result = torch.rand(n, n).to(dtype), torch.rand(n, n).to(dtype), torch.empty(n, n, dtype=dtype)
        return lambda: torch.mm(left, right, out=result)
    return {
        "cast_400mb": lambda: narrow.copy_(a),
        "fill_400mb": lambda: out.fill_(3.0),
        "add_400mb": lambda: torch.add(a, b, out=out),
        "mul_400mb": lambda: torch.mul(a, b, out=out),
        "exp_400mb": lambda: torch.exp(a, out=out),
        "sum_400mb": lambda: a.sum(),
        "rand_1e7": lambda: torch.rand(10**7),
        "randn_1e7": lambda: torch.randn(10**7),
        "mm_1024": product(1024, torch.float32),
        "mm_1024_bfloat16": product(1024, torch.bfloat16),
        "mm_1024_float64": product(1024, torch.float64),
        "mm_64": product(64, torch.float32),
        "sort_1e6": lambda: torch.sort(row),
        "topk_1e6": lambda: torch.topk(row, 10),
        "index_select_64mb": lambda: torch.index_select(table, 0, words, out=picked),
        "add_4": lambda: x + y,
        "sum_4": lambda: x.sum(),
    }


def main():
    suite = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.2
    functions = core() if suite == "core" else numbers()
    print(json.dumps({name: per_call(f, seconds) for name, f in functions.items()}))


if __name__ == "__main__":
    main()

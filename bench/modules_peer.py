"""PyTorch's side of the benchmark of modules (bench/modules_bench.cpp). Prints one JSON object: name to nanoseconds a unit.

usage: modules_peer.py [--seconds S] [--file FILE] [--cpu] NAME...
       modules_peer.py --load-into FILE
       modules_peer.py --list
"""
import copy
import json
import pathlib
import statistics
import sys
import time

import torch
from torch import nn

BATCH, PARAMETERS = 1000, 2000
FILE = None  # of the recipe
CLOCK = time.perf_counter


class Net(nn.Module):
    """The module of PyTorch's recipe on loading, with any number of layers."""

    def __init__(self, layers, size):
        super().__init__()
        self.linears = nn.ModuleList([nn.Linear(size, size) for _ in range(layers)])


class Flat(nn.Module):
    def __init__(self, parameters):
        super().__init__()
        for i in range(parameters):
            self.register_parameter(f"p{i}", nn.Parameter(torch.empty(2, 2)))


def on_meta(build):
    with torch.device("meta"):
        return build()


def nothing():
    pass


# Each is (units, what is timed, what comes before it and is not).

def meta_linear():
    def work():
        with torch.device("meta"):
            for _ in range(BATCH):
                nn.Linear(1000, 1000)
    return BATCH, work, nothing


def meta_linear_construct():
    layers = []

    def work():
        with torch.device("meta"):
            layers.extend(nn.Linear(1000, 1000) for _ in range(BATCH))
    return BATCH, work, layers.clear


def meta_net():
    return BATCH, lambda: on_meta(lambda: Net(BATCH, 1000)), nothing


def names_of(net):
    return [(name, p.shape) for name, p in net.named_parameters()]


def small_tensors(names):
    return {name: torch.full(shape, float(n)) for n, (name, shape) in enumerate(names)}


def assign_load(build, backwards=False):
    names, pair = names_of(on_meta(build)), []
    if backwards:
        names.reverse()

    def prepare():
        pair.clear()
        pair.extend((small_tensors(names), on_meta(build)))
    return len(names), lambda: pair[1].load_state_dict(pair[0], assign=True), prepare


def recipe():
    def work():
        state = torch.load(FILE, mmap=True)
        with torch.device("meta"):
            net = Net(10, 1000)
        net.load_state_dict(state, assign=True)
    return 1, work, nothing


def small_layers():
    return Net(1000, 16)


def flagged(flag, work):
    def run():
        torch.__future__.set_swap_module_params_on_conversion(flag)
        work()
        torch.__future__.set_swap_module_params_on_conversion(False)
    return run


def convert(swap):
    net = small_layers()
    return 2 * PARAMETERS, flagged(swap, lambda: net.to(torch.bfloat16).to(torch.float32)), nothing


def load_copy():
    net = small_layers()
    state = small_tensors(names_of(net))
    return PARAMETERS, lambda: net.load_state_dict(state), nothing


def load_swap():
    net = small_layers()
    state = small_tensors(names_of(net))
    return PARAMETERS, flagged(True, lambda: net.load_state_dict(state, assign=True)), nothing


def on_layers(units, work):
    net = small_layers()
    return units, lambda: work(net), nothing


def calls(layer):
    x = torch.ones(1, 4)

    def work():
        with torch.no_grad():
            for _ in range(1000):
                layer(x)

    work()
    return 1000, work, nothing


def sequential_repr():
    net = nn.Sequential(*[nn.Linear(16, 16) for _ in range(1000)])
    return 1000, lambda: repr(net), nothing


MEASUREMENTS = {
    "meta_linear": meta_linear,
    "meta_linear_construct": meta_linear_construct,
    "meta_net": meta_net,
    "load_10k": lambda: assign_load(lambda: Net(5000, 2)),
    "load_reversed_10k": lambda: assign_load(lambda: Net(5000, 2), backwards=True),
    "load_flat_10k": lambda: assign_load(lambda: Flat(10_000)),
    "recipe": recipe,
    "convert_swap": lambda: convert(True),
    "convert_set_data": lambda: convert(False),
    "load_copy": load_copy,
    "load_swap": load_swap,
    "state_dict": lambda: on_layers(PARAMETERS, lambda net: net.state_dict()),
    "clone": lambda: on_layers(PARAMETERS, copy.deepcopy),
    "named_parameters": lambda: on_layers(PARAMETERS, lambda net: list(net.named_parameters())),
    "parameters": lambda: on_layers(PARAMETERS, lambda net: list(net.parameters())),
    "repr": sequential_repr,
    "repr_list": lambda: on_layers(1000, repr),
    "call_plain": lambda: calls(torch.nn.Linear(4, 4)),
    "call_once_lazy": lambda: calls(torch.nn.LazyLinear(4)),
}


def once(work, prepare):
    prepare()
    begin = CLOCK()
    work()
    return CLOCK() - begin


def nanoseconds_a_unit(measurement, seconds):
    """The median of as many calls as fit. The first does not count, unless it alone takes longer than that."""
    units, work, prepare = measurement
    begin = time.perf_counter()
    times = [once(work, prepare)]
    if times[0] < 1:
        times.clear()
        while len(times) < 3 or time.perf_counter() - begin < seconds:
            times.append(once(work, prepare))
    return statistics.median(times) / units * 1e9


def peak():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024


def load_into(file):
    """What a user of PyTorch writes: one tensor after another is converted while the file is mapped."""
    net = on_meta(lambda: Net(64, 4096))
    before = peak()
    begin = time.perf_counter()
    if file.endswith(".safetensors"):
        import safetensors
        with safetensors.safe_open(file, "pt") as opened:
            state = {name: opened.get_tensor(name).to(torch.bfloat16) for name in opened.keys()}
    else:
        state = torch.load(file, mmap=True)
        for name in state:
            state[name] = state[name].to(torch.bfloat16)
    net.load_state_dict(state, assign=True)
    spent = time.perf_counter() - begin
    most = peak()
    result = sum(p.nbytes for p in net.parameters())
    return {"seconds": spent, "peak": most, "before": before, "result": result,
            "sum": sum(p.flatten()[-1].item() for p in net.parameters())}


def main():
    global CLOCK, FILE
    arguments, names, seconds = sys.argv[1:], [], 0.3
    while arguments:
        word = arguments.pop(0)
        if word == "--list":
            print("\n".join(MEASUREMENTS))
            return
        if word == "--load-into":
            print(json.dumps(load_into(arguments.pop(0))))
            return
        if word == "--seconds":
            seconds = float(arguments.pop(0))
        elif word == "--cpu":
            CLOCK = time.thread_time
        elif word == "--file":
            FILE = arguments.pop(0)
        else:
            names.append(word)
    print(json.dumps({name: nanoseconds_a_unit(MEASUREMENTS[name](), seconds) for name in names}))


if __name__ == "__main__":
    main()

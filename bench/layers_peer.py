"""PyTorch's side of the benchmark of layers (bench/layers_bench.cpp). Prints one JSON object: name to nanoseconds a call.

usage: layers_peer.py [--seconds S] [--threads N] [--cpu] NAME... | --list
"""
import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

from layers_networks import Gpt, ResNet

CLOCK = time.perf_counter


def inference(input, layer):
    x, layer = torch.randn(input), layer.eval()

    def work():
        with torch.no_grad():
            layer(x)
    return work


def bf16_inference(input, layer):
    x, layer = torch.randn(input).bfloat16(), layer.bfloat16().eval()

    def work():
        with torch.no_grad():
            layer(x)
    return work


def training(input, layer, dtype=torch.float32):
    x, layer = torch.randn(input, dtype=dtype, requires_grad=True), layer.to(dtype)
    grad = torch.randn_like(layer(x))

    def work():
        layer.zero_grad()
        x.grad = None
        layer(x).backward(grad)
    return work


def attention(causal, dtype=torch.float32):
    q, k, v = (torch.randn(4, 12, 256, 64).to(dtype) for _ in range(3))

    def work():
        with torch.no_grad():
            nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return work


def gpt(length, dtype=torch.float32):
    net, tokens = Gpt().eval().to(dtype), torch.randint(0, 50257, (1, length))

    def work():
        with torch.no_grad():
            net(tokens)
    return work


def training_step(net, optimizer, loss):
    def work():
        optimizer.zero_grad()
        loss(net).backward()
        optimizer.step()
    return work


def resnet_step():
    net = ResNet((2, 2, 2, 2)).train()
    x, y = torch.randn(4, 3, 224, 224), torch.randint(0, 1000, (4,))
    return training_step(net, torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9), lambda n: F.cross_entropy(n(x), y))


def gpt_step():
    net, tokens, following = Gpt().train(), torch.randint(0, 50257, (1, 128)), torch.randint(0, 50257, (128,))
    # As GPT-2 begins. With larger ones most probabilities are denormal numbers, and their speed is measured.
    nn.init.normal_(net.wte.weight, std=0.02)
    nn.init.normal_(net.wpe.weight, std=0.02)
    return training_step(net, torch.optim.AdamW(net.parameters(), lr=1e-4),
                         lambda n: F.cross_entropy(n(tokens).view(128, -1), following))


def optimizer_step(make):
    """50 million parameters in 200 tensors."""
    parameters = [nn.Parameter(torch.randn(250_000)) for _ in range(200)]
    for parameter in parameters:
        parameter.grad = torch.randn(250_000)
    return make(parameters).step


MEASUREMENTS = {
    "linear_1": lambda: inference((1, 1024), nn.Linear(1024, 1024)),
    "linear_64": lambda: inference((64, 1024), nn.Linear(1024, 1024)),
    "linear_512": lambda: inference((512, 1024), nn.Linear(1024, 1024)),
    "linear_512_wide": lambda: inference((512, 768), nn.Linear(768, 3072)),
    "conv_3x3": lambda: inference((4, 64, 56, 56), nn.Conv2d(64, 64, 3, padding=1)),
    "conv_7x7": lambda: inference((4, 3, 224, 224), nn.Conv2d(3, 64, 7, stride=2, padding=3)),
    "conv_1x1": lambda: inference((4, 64, 56, 56), nn.Conv2d(64, 256, 1)),
    "conv_3x3_batch_1": lambda: inference((1, 64, 56, 56), nn.Conv2d(64, 64, 3, padding=1)),
    "conv_3x3_deep_batch_1": lambda: inference((1, 512, 7, 7), nn.Conv2d(512, 512, 3, padding=1)),
    "conv_depthwise": lambda: inference((4, 96, 56, 56), nn.Conv2d(96, 96, 3, padding=1, groups=96)),
    "conv_3x3_train": lambda: training((4, 64, 56, 56), nn.Conv2d(64, 64, 3, padding=1)),
    "linear_512_train": lambda: training((512, 1024), nn.Linear(1024, 1024)),
    "layer_norm": lambda: inference((4096, 1024), nn.LayerNorm(1024)),
    "attention_causal": lambda: attention(True),
    "attention": lambda: attention(False),
    "resnet18": lambda: inference((1, 3, 224, 224), ResNet((2, 2, 2, 2))),
    "resnet18_batch_4": lambda: inference((4, 3, 224, 224), ResNet((2, 2, 2, 2))),
    "gpt_128": lambda: gpt(128),
    "gpt_1": lambda: gpt(1),
    "bf16_linear_1": lambda: bf16_inference((1, 1024), nn.Linear(1024, 1024)),
    "bf16_linear_64": lambda: bf16_inference((64, 1024), nn.Linear(1024, 1024)),
    "bf16_linear_512": lambda: bf16_inference((512, 1024), nn.Linear(1024, 1024)),
    "bf16_linear_512_wide": lambda: bf16_inference((512, 768), nn.Linear(768, 3072)),
    "bf16_conv_3x3": lambda: bf16_inference((4, 64, 56, 56), nn.Conv2d(64, 64, 3, padding=1)),
    "bf16_conv_7x7": lambda: bf16_inference((4, 3, 224, 224), nn.Conv2d(3, 64, 7, stride=2, padding=3)),
    "bf16_conv_1x1": lambda: bf16_inference((4, 64, 56, 56), nn.Conv2d(64, 256, 1)),
    "bf16_layer_norm": lambda: bf16_inference((4096, 1024), nn.LayerNorm(1024)),
    "bf16_attention_causal": lambda: attention(True, torch.bfloat16),
    "bf16_resnet18": lambda: bf16_inference((1, 3, 224, 224), ResNet((2, 2, 2, 2))),
    "bf16_resnet18_batch_4": lambda: bf16_inference((4, 3, 224, 224), ResNet((2, 2, 2, 2))),
    "bf16_gpt": lambda: gpt(128, torch.bfloat16),
    "bf16_gpt_1": lambda: gpt(1, torch.bfloat16),
    "bf16_conv_3x3_train": lambda: training((4, 64, 56, 56), nn.Conv2d(64, 64, 3, padding=1), torch.bfloat16),
    "bf16_linear_512_train": lambda: training((512, 1024), nn.Linear(1024, 1024), torch.bfloat16),
    "train_resnet18": resnet_step,
    "train_gpt": gpt_step,
    "step_sgd": lambda: optimizer_step(lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9)),
    "step_adamw": lambda: optimizer_step(torch.optim.AdamW),
    "step_adamw_fused": lambda: optimizer_step(lambda p: torch.optim.AdamW(p, fused=True)),
}


def nanoseconds_a_call(work, seconds):
    """The median of as many calls as fit, and of five at least. The first three do not count."""
    for _ in range(3):
        work()
    begin, times = time.perf_counter(), []
    while len(times) < 5 or time.perf_counter() - begin < seconds:
        start = CLOCK()
        work()
        times.append(CLOCK() - start)
    return statistics.median(times) * 1e9


def main():
    global CLOCK
    arguments, names, seconds = sys.argv[1:], [], 0.3
    while arguments:
        word = arguments.pop(0)
        if word == "--list":
            print("\n".join(MEASUREMENTS))
            return
        if word == "--seconds":
            seconds = float(arguments.pop(0))
        elif word == "--threads":
            torch.set_num_threads(int(arguments.pop(0)))
        elif word == "--cpu":
            CLOCK = time.process_time
        else:
            names.append(word)
    print(json.dumps({name: nanoseconds_a_call(MEASUREMENTS[name](), seconds) for name in names}))


if __name__ == "__main__":
    main()

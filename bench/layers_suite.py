"""Layers and networks, ours beside PyTorch's, with two threads each.

Figures are medians of rounds in which both take turns, each time in a new process. A target that is missed is printed, and
is no error. Those of one family (the first word of the name) are also given as one, their geometric mean.
"""
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

from figures import text

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS = os.environ.get("LAYERS_BENCH", ROOT / "build" / "bench" / "bench" / "layers_bench")
PEER = ROOT / "bench" / "layers_peer.py"
THREADS = "2"

# name: (what it is, at least so many times PyTorch's speed, whether it counts in the mean that is to be at least 1)
TARGETS = {
    "linear_1": ("Linear(1024, 1024) of 1 row", 0.8, True),
    "linear_64": ("Linear(1024, 1024) of 64 rows", 0.8, True),
    "linear_512": ("Linear(1024, 1024) of 512 rows", 0.8, True),
    "linear_512_wide": ("Linear(768, 3072) of 512 rows", 0.8, True),
    "conv_3x3": ("Conv2d(64, 64, 3) of 4 x 56 x 56", 0.8, True),
    "conv_7x7": ("Conv2d(3, 64, 7, stride 2) of 4 x 224 x 224", 0.8, True),
    "conv_1x1": ("Conv2d(64, 256, 1) of 4 x 56 x 56", 0.8, True),
    "layer_norm": ("LayerNorm(1024) of 4096 rows", 0.8, True),
    "attention_causal": ("causal attention, 4 x 12 heads x 256 x 64", 0.8, True),
    "resnet18": ("ResNet-18 of 1 x 224 x 224", 0.8, True),
    "gpt_128": ("GPT of 12 layers of 768, 128 tokens", 0.8, True),
    "attention": ("attention, 4 x 12 heads x 256 x 64", None, False),
    "resnet18_batch_4": ("ResNet-18 of 4 x 224 x 224", None, False),
    "gpt_1": ("GPT of 12 layers of 768, 1 token", None, False),
    "conv_3x3_batch_1": ("Conv2d(64, 64, 3) of 1 x 56 x 56", None, False),
    "conv_3x3_deep_batch_1": ("Conv2d(512, 512, 3) of 1 x 7 x 7", None, False),
    "conv_depthwise": ("Conv2d(96, 96, 3, groups 96) of 4 x 56 x 56", None, False),
    "conv_3x3_train": ("Conv2d(64, 64, 3) of 4 x 56 x 56, forwards and backwards", None, False),
    "linear_512_train": ("Linear(1024, 1024) of 512 rows, forwards and backwards", None, False),
}
# The suite `training`.
TRAINING = {
    "train_resnet18": ("ResNet-18, 4 x 224 x 224, a step with SGD", 0.8, True),
    "train_gpt": ("GPT of 12 layers of 768, 128 tokens, a step with AdamW", 0.8, True),
    "step_sgd": ("a step of SGD with momentum, 50 million in 200 tensors", 0.8, True),
    "step_adamw": ("a step of AdamW, 50 million in 200 tensors", 0.8, True),
    "step_adamw_fused": ("the same beside PyTorch's with fused=True", None, False),
}
# The suite `bfloat16`: forwards of layers and networks converted to it.
BFLOAT16 = {
    "bf16_resnet18": ("ResNet-18 of 1 x 224 x 224", 0.8, True),
    "bf16_gpt": ("GPT of 12 layers of 768, 128 tokens", 0.8, True),
    "bf16_linear_64": ("Linear(1024, 1024) of 64 rows", 0.8, True),
    "bf16_linear_512": ("Linear(1024, 1024) of 512 rows", 0.8, True),
    "bf16_linear_512_wide": ("Linear(768, 3072) of 512 rows", 0.8, True),
    "bf16_conv_3x3": ("Conv2d(64, 64, 3) of 4 x 56 x 56", 0.8, True),
    "bf16_conv_7x7": ("Conv2d(3, 64, 7, stride 2) of 4 x 224 x 224", 0.8, True),
    "bf16_conv_1x1": ("Conv2d(64, 256, 1) of 4 x 56 x 56", 0.8, True),
    "bf16_layer_norm": ("LayerNorm(1024) of 4096 rows", 0.8, True),
    "bf16_attention_causal": ("causal attention, 4 x 12 heads x 256 x 64", 0.8, True),
    "bf16_linear_1": ("Linear(1024, 1024) of 1 row", None, False),
    "bf16_resnet18_batch_4": ("ResNet-18 of 4 x 224 x 224", None, False),
    "bf16_gpt_1": ("GPT of 12 layers of 768, 1 token", None, False),
    "bf16_conv_3x3_train": ("Conv2d(64, 64, 3) of 4 x 56 x 56, forwards and backwards", None, False),
    "bf16_linear_512_train": ("Linear(1024, 1024) of 512 rows, forwards and backwards", None, False),
}


def asked(command, environment=None):
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, env=environment).stdout)


def mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def run(rounds, names, environment, targets=TARGETS):
    """All of it, or the measurements named. The name --cpu is for a machine that others use: the time of all threads."""
    options = ["--threads", THREADS, *(name for name in names if name == "--cpu")]
    chosen = [name for name in names if name != "--cpu"] or list(targets)
    for name in chosen:
        if name not in targets:
            sys.exit(f"there is no measurement {name}; there are {', '.join(targets)}")
    ours, theirs = {name: [] for name in chosen}, {name: [] for name in chosen}
    for n in range(rounds):
        for name in chosen:
            print(f"round {n + 1} of {rounds}: {name:24}", end="\r", flush=True)
            ours[name].append(asked([LAYERS, *options, name])[name])
            theirs[name].append(asked([sys.executable, PEER, *options, name], environment)[name])
    print(" " * 60, end="\r")
    print(f"| {'what':57} | name | {'Tenon':>10} | {'PyTorch':>10} | {'ratio':>6} | target |")
    print("|---|---|---:|---:|---:|---|")
    ratios = {}
    for name in chosen:
        what, factor, _ = targets[name]
        mine, other = statistics.median(ours[name]), statistics.median(theirs[name])
        ratios[name] = other / mine
        target = f">= {factor}x: {'met' if ratios[name] >= factor else 'MISSED'}" if factor else ""
        print(f"| {what:57} | {name} | {text(mine):>10} | {text(other):>10} | {ratios[name]:5.2f}x | {target} |")
    print()
    for family in dict.fromkeys(name.split("_")[0] for name in chosen):
        print(f"{family}: {mean([r for name, r in ratios.items() if name.split('_')[0] == family]):.2f}x in geometric mean")
    counted = [ratio for name, ratio in ratios.items() if targets[name][2]]
    if counted:
        print(f"those with a target together: {mean(counted):.2f}x (>= 1x: {'met' if mean(counted) >= 1 else 'MISSED'})\n")
    if "step_adamw" in ours:
        limit = statistics.median(asked([LAYERS, *options, "adam_traffic"])["adam_traffic"] for _ in range(rounds))
        share = limit / statistics.median(ours["step_adamw"])
        print(f"the memory that a step of AdamW reads and writes takes {text(limit)}: {share:.0%} of that speed "
              f"(>= 80%: {'met' if share >= 0.8 else 'MISSED'})\n")

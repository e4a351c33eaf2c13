"""Random cases of every layer and of the functions of layers; and the same of 16-bit dtypes. Part of generate.py.

usage: every_layer.py OUTDIR SEED COUNT [narrow]     these cases alone
"""
import pathlib
import random
import sys
import warnings

import torch

import image_layers
import loss_layers
import sequence_layers
from spec import Drawn, write
from writer import Writer

FAMILIES = [*image_layers.CASES, *loss_layers.CASES, *sequence_layers.CASES]


def every_layer(rng, outdir, count, file="every_layer"):
    w = Writer(outdir, file)
    while len(w.blocks) <= count:
        case = rng.choice(FAMILIES)(rng)
        if case is not None:
            write(rng, w, case)
    w.close()


def narrow_layers(rng, outdir, count):
    """In bfloat16 and float16, beside what PyTorch calculates in double from the same numbers."""
    Drawn.narrow = True
    every_layer(rng, outdir, count, "narrow_layers")
    Drawn.narrow = False


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    outdir, seed, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    outdir.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    (narrow_layers if "narrow" in sys.argv[4:] else every_layer)(random.Random(seed), outdir, count)


if __name__ == "__main__":
    main()

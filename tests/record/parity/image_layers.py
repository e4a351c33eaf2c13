"""Random cases of layers of images and their kin: convolutions, pools, norms, padding, resizing. Part of generate.py."""
import torch
from torch.nn import functional as F

from spec import Case, a_dtype, batch, layout, normal, numbers, pick, spread, uniform

MODES = ["zeros", "zeros", "zeros", "reflect", "replicate", "circular"]


def sizes(rng, d, least=1, most=None):
    return [rng.randint(least, most or (14, 9, 6)[d - 1]) for _ in range(d)]


def image(rng, d, channels, dtype, least=1, **kind):
    """(N, C, *), or now and then (C, *)."""
    lead = [] if rng.random() < 0.12 else [batch(rng)]
    return normal(rng, lead + [channels] + sizes(rng, d, least), dtype, **kind)


def conv(rng):
    d = rng.choice([1, 1, 2, 2, 2, 3])
    groups = rng.choice([1, 1, 1, 2, 3, 4])
    one, two = (rng.choice([1, 2, 3] if rng.random() < 0.85 else [8, 16]) for _ in range(2))
    channels, out = groups * one, groups * two + (rng.random() < 0.02)
    if rng.random() < 0.1:
        groups = out = channels = rng.choice([2, 5, 8])  # depthwise
    options = {"in_channels": channels, "out_channels": out, "kernel_size": numbers(rng, d, [1, 2, 3, 3, 4 if d < 3 else 2]),
               **pick(rng, groups=[groups], bias=[True, False], stride=[numbers(rng, d, [1, 2, 3])], dilation=[numbers(rng, d, [1, 2, 3])])}
    if "groups" not in options:
        options["groups"] = groups
    dtype = a_dtype(rng)
    x = image(rng, d, channels + (rng.random() < 0.02), dtype, least=rng.choice([1, 3, 3]))
    if rng.random() < 0.4:
        options |= pick(rng, padding=[numbers(rng, d, [0, 1, 2])], output_padding=[numbers(rng, d, [0, 0, 1])])
        if 0 in x.shape:
            options.pop("output_padding", None)  # of nothing, it is not looked at
        # PyTorch makes empty results of floats, and refuses to of doubles.
        k, s, p, l = (spread(options.get(n, v), d) for n, v in (("kernel_size", 1), ("stride", 1), ("padding", 0), ("dilation", 1)))
        least = [(n - 1) * s[i] - 2 * p[i] + l[i] * (k[i] - 1) + 1 for i, n in enumerate(x.shape[x.dim() - d:])]
        if min(least) <= 0 and dtype != torch.float64:
            return None
        case = Case(f"ConvTranspose{d}d", options, {"0": x}, dtype=dtype)
        if rng.random() < 0.15:
            size = [rng.randint(1, 12) for _ in range(d)]
            if rng.random() < 0.8:  # one that is possible
                size = [n + rng.randrange(s[i]) for i, n in enumerate(least)]
            case.words["output_size"] = size
            case.call = lambda m, t: m(t["0"], size)
        return case
    padding = rng.choice([numbers(rng, d, [0, 1, 2]), numbers(rng, d, [0, 1, 2]), "same", "valid"])
    if padding == "same" and rng.random() < 0.9:
        options.pop("stride", None)
    options |= pick(rng, padding=[padding], padding_mode=MODES)
    return Case(f"Conv{d}d", options, {"0": x}, dtype=dtype)


def linear(rng):
    n, k = rng.choice([1, 2, 5, 17]), rng.choice([1, 3, 8, 20])
    dtype = a_dtype(rng)
    lead = [batch(rng) for _ in range(rng.randint(0, 3))]
    return Case("Linear", {"in_features": k, "out_features": n, **pick(rng, bias=[True, False])},
                {"0": normal(rng, lead + [k + (rng.random() < 0.03)], dtype)}, dtype=dtype)


def bilinear(rng):
    a, b, n = (rng.choice([1, 2, 5]) for _ in range(3))
    dtype = a_dtype(rng, [torch.float32, torch.float64])
    lead = [batch(rng) for _ in range(rng.randint(0, 2))]
    return Case("Bilinear", {"in1_features": a, "in2_features": b, "out_features": n, **pick(rng, bias=[True, False])},
                {"0": normal(rng, lead + [a], dtype), "1": normal(rng, lead + [b + (rng.random() < 0.03)], dtype)}, dtype=dtype)


def kernel_and_padding(rng, d, bad=0.04):
    k = numbers(rng, d, [1, 2, 3, 3, 4])
    smallest = min(spread(k, d)) // 2
    return k, numbers(rng, d, [0, smallest, smallest + (rng.random() < bad)])


def indices_inside(x, d, options):
    """Not of a window that sees nothing but padding: PyTorch writes outside of its memory when it is run backwards."""
    try:
        values, where = getattr(F, f"max_pool{d}d")(x, **{**options, "return_indices": True})
    except RuntimeError:
        return True
    inside = (where >= 0) & (where < torch.Size(x.shape[x.dim() - d:]).numel())
    return bool((inside & torch.isfinite(values)).all())


def max_pool(rng):
    d = rng.choice([1, 2, 2, 3])
    k, p = kernel_and_padding(rng, d)
    options = {"kernel_size": k, **pick(rng, stride=[None, numbers(rng, d, [1, 2, 3])], padding=[p], dilation=[numbers(rng, d, [1, 1, 2])],
                                        return_indices=[True], ceil_mode=[True, False])}
    dtype = a_dtype(rng)
    x = image(rng, d, rng.randint(1, 4), dtype, least=rng.choice([1, 3]), ties=0.4)
    if not indices_inside(x, d, options):
        return None
    return Case(f"MaxPool{d}d", options, {"0": x}, dtype=dtype)


def avg_pool(rng):
    d = rng.choice([1, 2, 2, 3])
    k, p = kernel_and_padding(rng, d)
    options = {"kernel_size": k, **pick(rng, stride=[None, numbers(rng, d, [1, 2, 3])], padding=[p], ceil_mode=[True, False],
                                        count_include_pad=[True, False])}
    if d > 1 and rng.random() < 0.3:
        options["divisor_override"] = rng.choice([1, 2, 7])
    dtype = a_dtype(rng)
    return Case(f"AvgPool{d}d", options, {"0": image(rng, d, rng.randint(1, 4), dtype, least=rng.choice([1, 3]))}, dtype=dtype)


def adaptive_pool(rng):
    d, kind = rng.choice([1, 2, 2, 3]), rng.choice(["Avg", "Max"])
    size = numbers(rng, d, [1, 1, 2, 3, 7])
    if isinstance(size, tuple) and rng.random() < 0.3:
        size = tuple(rng.choice([None, n]) for n in size)
    options = {"output_size": size, **(pick(rng, return_indices=[True]) if kind == "Max" else {})}
    dtype = a_dtype(rng)
    return Case(f"Adaptive{kind}Pool{d}d", options, {"0": image(rng, d, rng.randint(1, 4), dtype, ties=0.4)}, dtype=dtype)


def lp_pool(rng):
    d = rng.choice([1, 2, 3])
    options = {"norm_type": rng.choice([1.0, 2.0, 3.0, 2.5, 4.0]), "kernel_size": numbers(rng, d, [1, 2, 3]),
               **pick(rng, stride=[None, numbers(rng, d, [1, 2, 3])], ceil_mode=[True, False])}
    dtype = a_dtype(rng, [torch.float32, torch.float64])
    x = image(rng, d, rng.randint(1, 3), dtype, least=rng.choice([1, 3]), ties=0)
    return Case(f"LPPool{d}d", options, {"0": x.abs() + 0.1 if rng.random() < 0.7 else x}, dtype=dtype)


def max_unpool(rng):
    d = rng.choice([1, 2, 2, 3])
    k = numbers(rng, d, [1, 2, 3])
    options = {"kernel_size": k, **pick(rng, stride=[numbers(rng, d, [2, 3])], padding=[numbers(rng, d, [0, min(spread(k, d)) // 2])])}
    dtype = a_dtype(rng, [torch.float32, torch.float64])
    x = image(rng, d, rng.randint(1, 3), dtype, least=3)
    if not indices_inside(x, d, options):
        return None
    try:
        y, where = getattr(F, f"max_pool{d}d")(x, **options, return_indices=True)
    except RuntimeError:
        return None
    stride = spread(options.get("stride", k), d)
    if d > 1 and any(s < n for s, n in zip(stride, spread(k, d))):
        return None  # an element that is the largest of two windows is written twice, in any order
    case = Case(f"MaxUnpool{d}d", options, {"0": y, "1": where}, dtype=dtype)
    if rng.random() < 0.6:
        size = list(x.shape[x.dim() - d:]) if rng.random() < 0.5 else list(x.shape)
        case.words["output_size"] = size
        case.call = lambda m, t: m(t["0"], t["1"], size)
    return case


def batch_norm(rng):
    d, c = rng.choice([1, 1, 2, 3]), rng.randint(1, 5)
    kind = rng.choice(["BatchNorm", "BatchNorm", "InstanceNorm"])
    options = {"num_features": c, **pick(rng, eps=[1e-5, 1e-3, 0.1], momentum=[0.1, 0.5, None, 0.0, 1.0], affine=[True, False],
                                         track_running_stats=[True, False], bias=[True, False])}
    dtype = a_dtype(rng)
    if kind == "BatchNorm":
        n = batch(rng)
        shape = [n, c + (n > 0 and rng.random() < 0.02)] + (sizes(rng, d) if d > 1 or rng.random() < 0.6 else [])
        if rng.random() < 0.02:
            shape = shape[1:]
    else:
        if rng.random() < 0.5:
            options["momentum"] = 0.1
        shape = ([batch(rng)] if rng.random() < 0.85 else []) + [c + (rng.random() < 0.05)] + sizes(rng, d)
        if 0 in shape:
            options.pop("track_running_stats", None)  # of nothing, PyTorch's statistics become NaN
    # Where one of input and gradient is channels-last, the other is not, and a size is 1, PyTorch's are wrong.
    x = normal(rng, shape, dtype, rng.choice([1, 3]), ties=0)
    alone = 1 in shape or kind == "InstanceNorm"
    return Case(f"{kind}{d}d", options, {"0": x.contiguous() if alone else x}, dtype=dtype, training=rng.random() < 0.6, packed=alone)


def other_norm(rng):
    kind = rng.choice(["LayerNorm", "RMSNorm", "GroupNorm", "LocalResponseNorm"])
    dtype = a_dtype(rng)
    if kind in ("LayerNorm", "RMSNorm"):
        inner = [rng.choice([1, 2, 5, 17, 40]) for _ in range(rng.choice([1, 1, 2]))]
        shape = [batch(rng) for _ in range(rng.randint(0, 2))] + inner
        if rng.random() < 0.03:
            shape[-1] += 1
        options = {"normalized_shape": inner if len(inner) > 1 or rng.random() < 0.5 else inner[0],
                   **pick(rng, eps=[1e-5, 1e-3, *([None] if kind == "RMSNorm" else [])], elementwise_affine=[True, False])}
        if kind == "LayerNorm":
            options |= pick(rng, bias=[True, False])
        return Case(kind, options, {"0": normal(rng, shape, dtype, ties=0)}, dtype=dtype)
    d = rng.randint(0 if kind == "GroupNorm" else 1, 3)
    if kind == "GroupNorm":
        groups = rng.choice([1, 2, 3])
        c = groups * rng.randint(1, 4) + (rng.random() < 0.02)
        options = {"num_groups": groups, "num_channels": c, **pick(rng, eps=[1e-5, 0.1], affine=[True, False], bias=[True, False])}
    else:
        c = rng.randint(1, 6)
        options = {"size": rng.randint(1, 5), **pick(rng, alpha=[1e-4, 0.5], beta=[0.75, 2.0], k=[1.0, 2.0])}
    x = normal(rng, [batch(rng), c + (rng.random() < 0.02)] + sizes(rng, d), dtype, ties=0)
    return Case(kind, options, {"0": x}, dtype=dtype)


def pad_layer(rng):
    d = rng.choice([1, 2, 2, 3])
    kind = rng.choice(["Constant", "Zero", "Reflection", "Replication", "Circular"])
    amounts = [0, 1, 2, 3] if rng.random() < 0.8 or kind == "Circular" else [-1, 0, 1, 2]
    padding = rng.choice(amounts) if rng.random() < 0.3 else tuple(rng.choice(amounts) for _ in range(2 * d))
    options = {"padding": padding, **({"value": rng.choice([0.5, -2.0, 0.0])} if kind == "Constant" else {})}
    dtype = a_dtype(rng)
    return Case(f"{kind}Pad{d}d", options, {"0": image(rng, d, rng.randint(1, 3), dtype, least=rng.choice([1, 3, 4]))}, dtype=dtype)


def pad(rng):
    dims = rng.randint(1, 5)
    mode = rng.choice(["constant", "constant", "reflect", "replicate", "circular"])
    shape = [rng.choice([1, 2, 3, 4]) if rng.random() < 0.97 else 0 for _ in range(dims)]
    amount = [rng.choice([-1, 0, 1, 2]) for _ in range(2 * rng.randint(1, dims))]
    if rng.random() < 0.03:
        amount = amount[1:]
    if mode == "circular" and min(amount, default=0) < 0:
        return None  # PyTorch may give memory that nobody has written
    words = {"pad": amount, "mode": mode}
    if rng.random() < 0.4:
        words["value"] = rng.choice([1.5, -3.0]) if mode == "constant" or rng.random() < 0.1 else None
        if words["value"] is None:
            del words["value"]
    dtype = a_dtype(rng)
    return Case("pad", inputs={"0": normal(rng, shape, dtype)}, dtype=dtype, function=True, words=words,
                call=lambda m, t: F.pad(t["0"], amount, mode, words.get("value")))


def resizing(rng, d):
    """A size or factors."""
    if rng.random() < 0.5:
        return {"size": numbers(rng, d, [1, 2, 3, 5, 8])}
    return {"scale_factor": numbers(rng, d, [0.5, 1.0, 2.0, 1.5, 0.7, 3.0, rng.uniform(0.3, 3)])}


def wrong_in_pytorch(x, words):
    """By factors that are not whole, "nearest" to the same or twice the size depends on the layout, and the gradient is another one's;
    antialias repeats a row where there is one column, and has another gradient where a factor keeps the size, as bicubic has."""
    d = x.dim() - 2
    factors = spread(words.get("scale_factor", 1.0), d)
    sizes = [(n, int(n * f)) for n, f in zip(x.shape[2:], factors)]
    if words.get("mode", "nearest") == "nearest" and not words.get("recompute_scale_factor") and any(
            f != int(f) and out in (n, 2 * n) for f, (n, out) in zip(factors, sizes)):
        return True
    if words.get("antialias") and not words.get("recompute_scale_factor") and any(f != 1 and out == n for f, (n, out) in zip(factors, sizes)):
        return True
    if words.get("mode") == "bicubic" and any(f != 1 for f in factors) and all(out == n for n, out in sizes):
        return True
    if words.get("mode") == "area" and min(out for _, out in sizes) == 0:
        return True  # an empty result, that has no gradient
    width = spread(words["size"], d)[-1] if "size" in words else sizes[-1][1]
    return bool(words.get("antialias")) and width == 1


def interpolate(rng):
    d = rng.choice([1, 2, 2, 2, 3])
    mode = rng.choice(["nearest", "nearest-exact", "area", ("linear", "bilinear", "trilinear")[d - 1], "bicubic" if d == 2 else "nearest"])
    if rng.random() < 0.03:
        mode = rng.choice(["linear", "bilinear", "bicubic", "trilinear"])
    words = {**resizing(rng, d), "mode": mode}
    if "linear" in mode or mode == "bicubic":
        words |= pick(rng, align_corners=[True, False])
        if d == 2 and rng.random() < 0.3:
            words["antialias"] = True
    elif rng.random() < 0.02:
        words["align_corners"] = True
    if "scale_factor" in words and rng.random() < 0.3:
        words["recompute_scale_factor"] = rng.choice([True, False])
    dtype = a_dtype(rng)
    x = normal(rng, [batch(rng), rng.randint(1, 4)] + sizes(rng, d), dtype)
    if wrong_in_pytorch(x, words):
        return None
    return Case("interpolate", inputs={"0": x}, dtype=dtype, function=True, words=words, call=lambda m, t: F.interpolate(t["0"], **words))


def upsample(rng):
    if rng.random() < 0.4:
        options = resizing(rng, 2)
        kind, d = rng.choice(["UpsamplingNearest2d", "UpsamplingBilinear2d"]), 2
    else:
        kind, d = "Upsample", rng.choice([1, 2, 3])
        options = {**resizing(rng, d), **pick(rng, mode=["nearest", ("linear", "bilinear", "trilinear")[d - 1]])}
        if options.get("mode", "nearest") != "nearest":
            options |= pick(rng, align_corners=[True, False])
    dtype = a_dtype(rng)
    x = normal(rng, [batch(rng), rng.randint(1, 3)] + sizes(rng, d), dtype)
    return None if wrong_in_pytorch(x, options) else Case(kind, options, {"0": x}, dtype=dtype)


def shuffle(rng):
    kind, r = rng.choice(["PixelShuffle", "PixelUnshuffle", "ChannelShuffle"]), rng.choice([1, 2, 3])
    some = lambda: max(batch(rng), int(kind != "ChannelShuffle"))  # of nothing, PyTorch's pixels stay where they are
    dtype = a_dtype(rng)
    lead = [some() for _ in range(rng.choice([0, 1, 1, 1, 2]))]
    off = rng.random() < 0.04
    if kind == "PixelShuffle":
        shape = lead + [r * r * rng.randint(1, 3) + off, rng.randint(1, 4), rng.randint(1, 4)]
    elif kind == "PixelUnshuffle":
        shape = lead + [rng.randint(1, 3), r * rng.randint(1, 4) + off, r * rng.randint(1, 4)]
    else:
        shape = [some(), r * rng.randint(1, 3) + off] + sizes(rng, rng.randint(1, 3))
    option = {"PixelShuffle": "upscale_factor", "PixelUnshuffle": "downscale_factor", "ChannelShuffle": "groups"}[kind]
    return Case(kind, {option: r}, {"0": normal(rng, shape, dtype)}, dtype=dtype)


def fold(rng):
    k, options = numbers(rng, 2, [1, 2, 3]), pick(rng, dilation=[numbers(rng, 2, [1, 2])], padding=[numbers(rng, 2, [0, 1])],
                                                  stride=[numbers(rng, 2, [1, 2])])
    dtype = a_dtype(rng)
    lead = [batch(rng)] if rng.random() < 0.8 else []
    size = [rng.randint(2, 7), rng.randint(2, 7)]
    if rng.random() < 0.5:
        return Case("Unfold", {"kernel_size": k, **options}, {"0": normal(rng, lead + [rng.randint(1, 3)] + size, dtype)}, dtype=dtype)
    kernel, step, edge, apart = (spread(v, 2) for v in (k, options.get("stride", 1), options.get("padding", 0), options.get("dilation", 1)))
    blocks = 1
    for i in range(2):
        blocks *= max((size[i] + 2 * edge[i] - apart[i] * (kernel[i] - 1) - 1) // step[i] + 1, 0)
    shape = lead + [kernel[0] * kernel[1] * rng.randint(1, 3) + (rng.random() < 0.03), blocks + (rng.random() < 0.03)]
    return Case("Fold", {"output_size": tuple(size), "kernel_size": k, **options}, {"0": normal(rng, shape, dtype)}, dtype=dtype)


def normalize(rng):
    shape = [batch(rng) for _ in range(rng.randint(1, 4))]
    words = pick(rng, p=[1.0, 2.0, 3.0, 0.5, float("inf")], eps=[1e-12, 0.5], dim=[rng.randrange(-len(shape), len(shape))])
    dtype = a_dtype(rng)
    x = normal(rng, shape, dtype)
    # What cancels in its gradient is the gradient it begins with over the norm.
    terms = 0.0
    if -len(shape) <= words.get("dim", 1) < len(shape) and x.numel():
        norms = torch.linalg.vector_norm(x.double(), words.get("p", 2.0), words.get("dim", 1))
        terms = 3.0 / max(norms[norms > 0].min().item() if bool((norms > 0).any()) else 1.0, words.get("eps", 1e-12))
    return Case("normalize", inputs={"0": x}, dtype=dtype, function=True, words=words, call=lambda m, t: F.normalize(t["0"], **words), terms=terms)


CASES = [conv] * 6 + [linear, bilinear, max_pool, max_pool, avg_pool, avg_pool, adaptive_pool, adaptive_pool, lp_pool, max_unpool,
                      batch_norm, batch_norm, batch_norm, other_norm, other_norm, pad_layer, pad, interpolate, interpolate, interpolate,
                      upsample, shuffle, fold, normalize]

"""Random cases of activations and losses. Part of generate.py."""
import torch
from torch.nn import functional as F

from spec import Case, a_dtype, batch, layout, normal, numbers, pick, uniform

INPLACE = {"ReLU", "ReLU6", "SiLU", "Mish", "SELU", "Hardswish", "Hardsigmoid", "ELU", "CELU", "LeakyReLU", "Hardtanh", "Threshold", "RReLU"}
ACTIVATIONS = {name: lambda rng: {} for name in
               "ReLU ReLU6 SiLU Mish SELU Hardswish Hardsigmoid Sigmoid Tanh LogSigmoid Softsign Tanhshrink".split()}
ACTIVATIONS |= {
    "ELU": lambda rng: pick(rng, alpha=[1.0, 0.5, 2.0, -1.0]),
    "CELU": lambda rng: pick(rng, alpha=[1.0, 0.5, 2.0]),
    "LeakyReLU": lambda rng: pick(rng, negative_slope=[0.01, 0.2, 1.5, 0.0]),
    "Hardtanh": lambda rng: pick(rng, min_val=[-1.0, -0.5, 2.0 if rng.random() < 0.1 else -2.0], max_val=[1.0, 0.5]),
    "Threshold": lambda rng: {"threshold": rng.choice([0.1, -0.5]), "value": rng.choice([0.0, 20.0, -1.5])},
    "RReLU": lambda rng: pick(rng, lower=[0.1, 0.2], upper=[0.3, 0.5]),
    "GELU": lambda rng: pick(rng, approximate=["none", "tanh"]),
    "Hardshrink": lambda rng: pick(rng, lambd=[0.5, 0.1, 1.5]),
    "Softshrink": lambda rng: pick(rng, lambd=[0.5, 0.1, 1.5, -0.1 if rng.random() < 0.1 else 0.0]),
    "Softplus": lambda rng: pick(rng, beta=[1.0, 0.5, 3.0], threshold=[20.0, 2.0]),
}


def shape_of(rng, least=0, most=4):
    return [rng.choice([1, 2, 3, 5, 17]) if rng.random() < 0.96 else 0 for _ in range(rng.randint(least, most))]


def activation(rng):
    kind = rng.choice(list(ACTIVATIONS))
    options, dtype = ACTIVATIONS[kind](rng), a_dtype(rng)
    if kind == "Hardsigmoid" and dtype == torch.float64:
        dtype = torch.float32  # its slope is a float in PyTorch
    special = rng.random() < 0.15
    x = normal(rng, shape_of(rng), dtype, rng.choice([1, 3, 10]), special=special)
    if kind == "GELU":
        x = x.nan_to_num(0, 30, -30)  # PyTorch's of infinity is NaN
    training = rng.random() < 0.5 and kind != "RReLU"
    inplace = kind in INPLACE and rng.random() < 0.3
    if not inplace:
        return Case(kind, options, {"0": x}, dtype=dtype, training=training, differentiable=not special)
    return Case(kind, {**options, "inplace": True}, {"0": x}, dtype=dtype, training=training, differentiable=not special,
                words={"copied": True}, call=lambda m, t: m(t["0"].clone()))


def prelu(rng):
    n = rng.choice([1, 1, 3])
    shape = shape_of(rng, 1)
    if n > 1 and rng.random() < 0.9 and len(shape) > 1:
        shape[1] = n
    dtype = a_dtype(rng)
    return Case("PReLU", {"num_parameters": n} if n > 1 else {}, {"0": normal(rng, shape, dtype)}, dtype=dtype)


def along(rng):
    kind = rng.choice(["Softmax", "LogSoftmax", "Softmin", "Softmax2d", "GLU"])
    shape = shape_of(rng, 0 if kind.startswith("S") else 1)
    dim = rng.randrange(-len(shape), len(shape)) if shape else 0
    dim += rng.random() < 0.02
    options = {} if kind == "Softmax2d" else {"dim": dim}
    if kind == "Softmax2d":
        shape = [2, 3, 2, 2][rng.randrange(2):] if rng.random() < 0.9 else [2, 2]
    if kind == "GLU" and rng.random() < 0.9 and -len(shape) <= dim < len(shape):
        shape[dim] *= 2
    dtype = a_dtype(rng)
    special = rng.random() < 0.1
    return Case(kind, options, {"0": normal(rng, shape, dtype, rng.choice([1, 5]), special=special)}, dtype=dtype, differentiable=not special)


def softmax_to(rng):
    kind = rng.choice(["softmax", "log_softmax", "softmin"])
    shape = shape_of(rng, 1)
    words = {"dim": rng.randrange(-len(shape), len(shape))}
    dtype = a_dtype(rng)
    if rng.random() < 0.5:
        words["to"] = rng.choice([torch.float64, torch.float32])
    return Case(kind, inputs={"0": normal(rng, shape, dtype)}, dtype=dtype, function=True, words=words,
                call=lambda m, t: getattr(F, kind)(t["0"], words["dim"], dtype=words.get("to")))


REDUCTIONS = ["mean", "sum", "none"]


def reduced(rng, **others):
    options = pick(rng, reduction=REDUCTIONS, **others)
    if rng.random() < 0.01:
        options["reduction"] = "mena"
    return options


def pointwise_loss(rng):
    kind = rng.choice(["MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "SoftMarginLoss", "HingeEmbeddingLoss", "KLDivLoss", "PoissonNLLLoss",
                       "BCELoss", "BCEWithLogitsLoss"])
    dtype = a_dtype(rng)
    shape = shape_of(rng, 0, 3)
    other = [1 if rng.random() < 0.05 else n for n in shape]
    x, y = normal(rng, shape, dtype), normal(rng, other, dtype)
    options = reduced(rng)
    if kind == "SmoothL1Loss":
        options |= pick(rng, beta=[1.0, 0.3, 0.0])
    elif kind == "HuberLoss":
        options |= pick(rng, delta=[1.0, 0.3, 0.0 if rng.random() < 0.1 else 2.0])
    elif kind in ("SoftMarginLoss", "HingeEmbeddingLoss"):
        y = torch.randint(2, other).to(dtype) * 2 - 1
        if kind == "HingeEmbeddingLoss":
            options |= pick(rng, margin=[1.0, 0.5])
    elif kind == "KLDivLoss":
        options |= pick(rng, log_target=[True, False])
        if rng.random() < 0.3:
            options["reduction"] = "batchmean"
        if not options.get("log_target"):
            y = y.abs()
    elif kind == "PoissonNLLLoss":
        options |= pick(rng, log_input=[True, False], full=[True, False], eps=[1e-8, 0.1])
        y = torch.round(y.abs() * 3)
        if options.get("log_input") is False:
            x = x.abs()
    elif kind.startswith("BCE"):
        y = uniform(rng, other, dtype) if rng.random() < 0.7 else torch.randint(2, other).to(dtype)
        if kind == "BCELoss":
            x = uniform(rng, shape, dtype)
            if rng.random() < 0.2:
                x = torch.round(x)
        if rng.random() < 0.4:
            options["weight"] = uniform(rng, rng.choice([shape, shape[1:]]), dtype)
        if kind == "BCEWithLogitsLoss" and rng.random() < 0.4:
            options["pos_weight"] = uniform(rng, rng.choice([shape, shape[-1:]]), dtype, 0.5, 3)
    if rng.random() < 0.03:
        y = normal(rng, [n + 1 for n in shape], dtype)
    return Case(kind, options, {"0": x, "1": y}, dtype=dtype, targets=("1",))


def class_loss(rng):
    kind = rng.choice(["CrossEntropyLoss", "CrossEntropyLoss", "NLLLoss", "MultiMarginLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss"])
    dtype = a_dtype(rng)
    c, n = rng.choice([1, 2, 3, 7]), batch(rng)
    unbatched = rng.random() < 0.12
    inner = shape_of(rng, 1, 3) if kind in ("CrossEntropyLoss", "NLLLoss") and rng.random() < 0.4 and not unbatched else []
    x = normal(rng, ([] if unbatched else [n]) + [c] + inner, dtype, 2)
    lead = ([] if unbatched else [n]) + inner
    options = reduced(rng)
    if kind in ("MultiLabelMarginLoss", "MultiMarginLoss") and n == 0 and not unbatched:
        return None  # PyTorch's result is not initialised
    if kind == "MultiLabelMarginLoss":
        y = torch.randint(-1, c, x.shape)
        return Case(kind, options, {"0": x, "1": y}, dtype=dtype, targets=("1",))
    if kind == "MultiLabelSoftMarginLoss":
        if rng.random() < 0.4:
            options["weight"] = uniform(rng, [c], dtype)
        return Case(kind, options, {"0": x, "1": torch.randint(2, x.shape).to(dtype)}, dtype=dtype, targets=("1",))
    if rng.random() < 0.4:
        options["weight"] = uniform(rng, [c + (rng.random() < 0.05)], dtype)
    y = torch.randint(c, lead)
    if kind == "MultiMarginLoss":
        options |= pick(rng, p=[1, 2], margin=[1.0, 0.5])
        return Case(kind, options, {"0": x, "1": y}, dtype=dtype, targets=("1",))
    if rng.random() < 0.4:
        options["ignore_index"] = rng.choice([0, -100, c - 1, -1])
        if y.numel() and rng.random() < 0.5:
            y.view(-1)[rng.randrange(y.numel())] = options["ignore_index"]
    if y.numel() and rng.random() < 0.05:
        y.view(-1)[rng.randrange(y.numel())] = rng.choice([c, -1, -2])
    if kind == "CrossEntropyLoss":
        options |= pick(rng, label_smoothing=[0.0, 0.1, 0.5])
        if rng.random() < 0.35:
            options.pop("ignore_index", None)
            y = uniform(rng, list(x.shape), dtype)
    return Case(kind, options, {"0": x, "1": layout(rng, y)}, dtype=dtype, targets=("1",))


def triple_loss(rng):
    kind = rng.choice(["GaussianNLLLoss", "MarginRankingLoss", "CosineEmbeddingLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss"])
    dtype = a_dtype(rng, [torch.float32, torch.float64])
    options = reduced(rng)
    if kind == "GaussianNLLLoss":
        shape = shape_of(rng, 1, 3)
        options |= pick(rng, full=[True, False], eps=[1e-6, 0.3])
        var = uniform(rng, rng.choice([shape, shape[:-1] + [1], shape[:-1]]), dtype, 0.1 if rng.random() < 0.95 else -0.1, 2)
        return Case(kind, options, {"0": normal(rng, shape, dtype), "1": normal(rng, shape, dtype), "2": var}, dtype=dtype)
    if kind == "MarginRankingLoss":
        shape = shape_of(rng, 0, 2)
        options |= pick(rng, margin=[0.0, 0.5])
        return Case(kind, options, {"0": normal(rng, shape, dtype), "1": normal(rng, shape, dtype),
                                    "2": torch.randint(2, shape).to(dtype) * 2 - 1}, dtype=dtype, targets=("2",))
    n, c = batch(rng), rng.choice([1, 3, 8])
    lead = [n] if rng.random() < 0.8 else []
    one, two, three = (normal(rng, lead + [c], dtype, ties=0) for _ in range(3))
    if kind == "CosineEmbeddingLoss":
        options |= pick(rng, margin=[0.0, 0.3])
        return Case(kind, options, {"0": one, "1": two, "2": torch.randint(2, lead).to(dtype) * 2 - 1}, dtype=dtype, targets=("2",))
    options |= pick(rng, margin=[1.0, 0.5], swap=[True, False])
    if kind == "TripletMarginLoss":
        options |= pick(rng, p=[1.0, 2.0, 3.0], eps=[1e-6, 0.1])
    return Case(kind, options, {"0": one, "1": two, "2": three}, dtype=dtype)


def distance(rng):
    dtype = a_dtype(rng, [torch.float32, torch.float64])
    kind = rng.choice(["CosineSimilarity", "PairwiseDistance", "cdist"])
    if kind == "cdist":
        m = rng.choice([1, 2, 5])
        lead = [batch(rng) for _ in range(rng.randint(0, 2))]
        words = pick(rng, p=[1.0, 2.0, 3.0, 0.5, float("inf")])
        x, y = normal(rng, lead + [rng.randint(1, 5), m], dtype, ties=0), normal(rng, lead + [rng.randint(1, 5), m], dtype, ties=0)
        return Case("cdist", inputs={"0": x, "1": y}, dtype=dtype, function=True, words=words,
                    call=lambda m, t: torch.cdist(t["0"], t["1"], compute_mode="donot_use_mm_for_euclid_dist", **words))
    shape = shape_of(rng, 1, 3)
    other = [1 if rng.random() < 0.15 else n for n in shape]
    if kind == "CosineSimilarity":
        options = pick(rng, dim=[rng.randrange(-len(shape), len(shape))], eps=[1e-8, 0.5])
    else:
        options = pick(rng, p=[1.0, 2.0, 3.0, float("inf")], eps=[1e-6, 0.1], keepdim=[True, False])
    return Case(kind, options, {"0": normal(rng, shape, dtype, ties=0), "1": normal(rng, other, dtype, ties=0)}, dtype=dtype)


CASES = [activation] * 5 + [prelu, along, along, softmax_to, pointwise_loss, pointwise_loss, pointwise_loss, class_loss, class_loss, class_loss,
                            triple_loss, triple_loss, distance]

#!/usr/bin/env python3
"""What autocast makes of every operator.

A case is a function of tensors, which autocast_cases_test.cpp knows by its name. It is run with float32 arguments ("f"), arguments of the scope's
dtype ("l"), and both in turn ("fl", "lf"), on the CPU, and with fake tensors on CUDA. It records the dtypes of the results, or "error";
on the CPU also the sum of the elements of the first result, and of all gradients, and of the sizes of both.
"""
import warnings

import torch
import torch.nn.functional as F
from cases import line, write
from torch._subclasses import FakeTensorMode

warnings.simplefilter("ignore")

COLUMNS = """Autocast: device, case, kinds of the arguments (f float32, l the scope's dtype), dtypes of the results (f, b, h), the sum of the
first result, of its elements' sizes, the sum of all gradients, of their sizes"""


class Maker:
    """Tensors of a case: element i of place p is ((37 i + 11 p) mod 101 + 1) / 128, which every float has exactly."""

    def __init__(self, variant, lower, device):
        self.variant, self.lower, self.device, self.made = variant, lower, device, []

    def __call__(self, *shape):
        place = len(self.made)
        kind = self.variant[place % len(self.variant)]
        n = torch.Size(shape).numel()
        values = ((torch.arange(n, device=self.device) * 37 + place * 11) % 101 + 1) / 128
        tensor = values.to(torch.float32 if kind == "f" else self.lower).view(shape).requires_grad_()
        self.made.append(tensor)
        return tensor

    def index(self, *values):
        return torch.tensor(values, device=self.device)


UNARY = """neg abs square reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh
asinh atanh sigmoid relu erf erfc erfinv lgamma digamma""".split()
BINARY = "add sub mul div pow maximum minimum atan2 hypot logaddexp xlogy".split()

CASES = {}
for name in UNARY:
    CASES[name] = lambda t, f=getattr(torch, name): f(t(6))
for name in BINARY:
    CASES[name] = lambda t, f=getattr(torch, name): f(t(6), t(6))
CASES |= {
    "pow_number": lambda t: torch.pow(t(6), 2.5),
    "number_pow": lambda t: torch.pow(2.5, t(6)),
    "mul_number": lambda t: t(6) * 2.5,
    "rsub": lambda t: 1 - t(6),
    # Products.
    "mm": lambda t: torch.mm(t(3, 4), t(4, 2)),
    "bmm": lambda t: torch.bmm(t(2, 3, 4), t(2, 4, 2)),
    "mv": lambda t: torch.mv(t(3, 4), t(4)),
    "dot": lambda t: torch.dot(t(4), t(4)),
    "matmul": lambda t: torch.matmul(t(2, 3, 4), t(4, 2)),
    "matmul_mv": lambda t: torch.matmul(t(3, 4), t(4)),
    "matmul_dot": lambda t: torch.matmul(t(4), t(4)),
    "addmm": lambda t: torch.addmm(t(2), t(3, 4), t(4, 2)),
    "addmv": lambda t: torch.addmv(t(3), t(3, 4), t(4)),
    "addr": lambda t: torch.addr(t(3, 4), t(3), t(4)),
    "addbmm": lambda t: torch.addbmm(t(3, 2), t(2, 3, 4), t(2, 4, 2)),
    "baddbmm": lambda t: torch.baddbmm(t(2, 3, 2), t(2, 3, 4), t(2, 4, 2)),
    "outer": lambda t: torch.outer(t(3), t(4)),
    "einsum": lambda t: torch.einsum("ij,jk->ik", t(3, 4), t(4, 2)),
    "tensordot": lambda t: torch.tensordot(t(3, 4), t(4, 2), dims=1),
    "kron": lambda t: torch.kron(t(2, 2), t(2, 3)),
    "linear": lambda t: F.linear(t(3, 4), t(2, 4), t(2)),
    "linear_no_bias": lambda t: F.linear(t(3, 4), t(2, 4)),
    "bilinear": lambda t: F.bilinear(t(3, 4), t(3, 2), t(5, 4, 2), t(5)),
    "conv1d": lambda t: F.conv1d(t(1, 2, 5), t(3, 2, 3), t(3)),
    "conv2d": lambda t: F.conv2d(t(1, 2, 5, 5), t(3, 2, 3, 3), t(3)),
    "conv2d_same": lambda t: F.conv2d(t(1, 2, 5, 5), t(3, 2, 3, 3), t(3), padding="same"),
    "conv3d": lambda t: F.conv3d(t(1, 2, 4, 4, 4), t(3, 2, 2, 2, 2), t(3)),
    "conv_transpose1d": lambda t: F.conv_transpose1d(t(1, 2, 5), t(2, 3, 3), t(3)),
    "conv_transpose2d": lambda t: F.conv_transpose2d(t(1, 2, 4, 4), t(2, 3, 3, 3), t(3)),
    "conv_transpose3d": lambda t: F.conv_transpose3d(t(1, 2, 3, 3, 3), t(2, 3, 2, 2, 2), t(3)),
    "sdpa": lambda t: F.scaled_dot_product_attention(t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4)),
    "cdist": lambda t: torch.cdist(t(3, 4), t(2, 4)),
    "cross": lambda t: torch.cross(t(2, 3), t(2, 3), dim=1),
    # Activations.
    "prelu": lambda t: F.prelu(t(2, 3), t(3)),
    "softplus": lambda t: F.softplus(t(6)),
    "softmax": lambda t: F.softmax(t(2, 3), 1),
    "softmin": lambda t: F.softmin(t(2, 3), 1),
    "log_softmax": lambda t: F.log_softmax(t(2, 3), 1),
    "gelu": lambda t: F.gelu(t(6)),
    "silu": lambda t: F.silu(t(6)),
    "mish": lambda t: F.mish(t(6)),
    "elu": lambda t: F.elu(t(6)),
    "selu": lambda t: F.selu(t(6)),
    "celu": lambda t: F.celu(t(6)),
    "glu": lambda t: F.glu(t(6)),
    "leaky_relu": lambda t: F.leaky_relu(t(6)),
    "logsigmoid": lambda t: F.logsigmoid(t(6)),
    "hardswish": lambda t: F.hardswish(t(6)),
    "softsign": lambda t: F.softsign(t(6)),
    "tanhshrink": lambda t: F.tanhshrink(t(6)),
    # Normalization.
    "layer_norm": lambda t: F.layer_norm(t(2, 3), (3,), t(3), t(3)),
    "group_norm": lambda t: F.group_norm(t(2, 4, 3), 2, t(4), t(4)),
    "rms_norm": lambda t: F.rms_norm(t(2, 3), (3,), t(3)),
    "batch_norm": lambda t: F.batch_norm(t(4, 3), None, None, t(3), t(3), training=True),
    "instance_norm": lambda t: F.instance_norm(t(2, 3, 4)),
    "local_response_norm": lambda t: F.local_response_norm(t(1, 4, 3), 2),
    "normalize": lambda t: F.normalize(t(2, 3)),
    # Reductions.
    "sum": lambda t: t(2, 3).sum(),
    "sum_dim": lambda t: t(2, 3).sum(1),
    "mean": lambda t: t(2, 3).mean(1),
    "prod": lambda t: t(2, 3).prod(),
    "prod_dim": lambda t: t(2, 3).prod(1),
    "cumsum": lambda t: t(2, 3).cumsum(1),
    "cumprod": lambda t: t(2, 3).cumprod(1),
    "var": lambda t: t(2, 3).var(1),
    "std": lambda t: t(2, 3).std(1),
    "norm": lambda t: t(2, 3).norm(),
    "norm_dim": lambda t: torch.norm(t(2, 3), 2, 1),
    "logsumexp": lambda t: t(2, 3).logsumexp(1),
    "amax": lambda t: t(2, 3).amax(1),
    "trace": lambda t: t(3, 3).trace(),
    # Losses.
    "l1_loss": lambda t: F.l1_loss(t(2, 3), t(2, 3)),
    "mse_loss": lambda t: F.mse_loss(t(2, 3), t(2, 3)),
    "smooth_l1_loss": lambda t: F.smooth_l1_loss(t(2, 3), t(2, 3)),
    "huber_loss": lambda t: F.huber_loss(t(2, 3), t(2, 3)),
    "nll_loss": lambda t: F.nll_loss(t(2, 3), t.index(0, 2)),
    "nll_loss2d": lambda t: F.nll_loss(t(2, 3, 2), t.index(0, 2, 1, 1).view(2, 2)),
    "cross_entropy": lambda t: F.cross_entropy(t(2, 3), t.index(0, 2)),
    "cross_entropy_probs": lambda t: F.cross_entropy(t(2, 3), t(2, 3)),
    "cross_entropy_smooth": lambda t: F.cross_entropy(t(2, 3), t.index(0, 2), label_smoothing=0.25),
    "kl_div": lambda t: F.kl_div(t(2, 3), t(2, 3)),
    "binary_cross_entropy": lambda t: F.binary_cross_entropy(t(2, 3), t(2, 3)),
    "binary_cross_entropy_with_logits": lambda t: F.binary_cross_entropy_with_logits(t(2, 3), t(2, 3)),
    "poisson_nll_loss": lambda t: F.poisson_nll_loss(t(2, 3), t(2, 3)),
    "gaussian_nll_loss": lambda t: F.gaussian_nll_loss(t(2, 3), t(2, 3), t(2, 3)),
    "hinge_embedding_loss": lambda t: F.hinge_embedding_loss(t(2, 3), t(2, 3)),
    "cosine_embedding_loss": lambda t: F.cosine_embedding_loss(t(2, 3), t(2, 3), t.index(1, -1)),
    "cosine_similarity": lambda t: F.cosine_similarity(t(2, 3), t(2, 3)),
    "pairwise_distance": lambda t: F.pairwise_distance(t(2, 3), t(2, 3)),
    "margin_ranking_loss": lambda t: F.margin_ranking_loss(t(2), t(2), t.index(1, -1)),
    "triplet_margin_loss": lambda t: F.triplet_margin_loss(t(2, 3), t(2, 3), t(2, 3)),
    "multi_margin_loss": lambda t: F.multi_margin_loss(t(2, 3), t.index(0, 2)),
    "multilabel_margin_loss": lambda t: F.multilabel_margin_loss(t(2, 3), t.index(0, -1, 1, 2, 1, -1).view(2, 3)),
    "multilabel_soft_margin_loss": lambda t: F.multilabel_soft_margin_loss(t(2, 3), t(2, 3)),
    "soft_margin_loss": lambda t: F.soft_margin_loss(t(2, 3), t(2, 3).detach()),
    # Joining and picking.
    "cat": lambda t: torch.cat([t(2, 3), t(2, 3)]),
    "stack": lambda t: torch.stack([t(2, 3), t(2, 3)]),
    "where": lambda t: torch.where(t.index(1, 0, 1) > 0, t(3), t(3)),
    "lerp": lambda t: torch.lerp(t(3), t(3), 0.25),
    "addcmul": lambda t: torch.addcmul(t(3), t(3), t(3)),
    "addcdiv": lambda t: torch.addcdiv(t(3), t(3), t(3)),
    "gather": lambda t: torch.gather(t(2, 3), 1, t.index(0, 2).view(2, 1)),
    "index_select": lambda t: torch.index_select(t(2, 3), 1, t.index(0, 2)),
    "index_copy": lambda t: torch.index_copy(t(2, 3), 0, t.index(0), t(1, 3)),
    "index_add": lambda t: torch.index_add(t(2, 3), 0, t.index(0), t(1, 3)),
    "scatter_add": lambda t: torch.scatter_add(t(2, 3), 1, t.index(0, 2).view(2, 1), t(2, 1)),
    "embedding": lambda t: F.embedding(t.index(0, 2), t(3, 4)),
    "clamp": lambda t: t(3).clamp(0.25, 0.5),
    "flip": lambda t: t(3).flip(0),
    # Images.
    "avg_pool2d": lambda t: F.avg_pool2d(t(1, 1, 4, 4), 2),
    "avg_pool3d": lambda t: F.avg_pool3d(t(1, 1, 4, 4, 4), 2),
    "max_pool2d": lambda t: F.max_pool2d(t(1, 1, 4, 4), 2),
    "max_pool3d": lambda t: F.max_pool3d(t(1, 1, 4, 4, 4), 2),
    "max_pool3d_indices": lambda t: F.max_pool3d(t(1, 1, 4, 4, 4), 2, return_indices=True)[0],
    "adaptive_avg_pool2d": lambda t: F.adaptive_avg_pool2d(t(1, 1, 4, 4), 2),
    "adaptive_avg_pool3d": lambda t: F.adaptive_avg_pool3d(t(1, 1, 4, 4, 4), 2),
    "adaptive_max_pool2d": lambda t: F.adaptive_max_pool2d(t(1, 1, 4, 4), 2),
    "adaptive_max_pool3d": lambda t: F.adaptive_max_pool3d(t(1, 1, 4, 4, 4), 2),
    "max_unpool2d": lambda t: F.max_unpool2d(t(1, 1, 1, 2), t.index(0, 3).view(1, 1, 1, 2), 2),
    "max_unpool1d": lambda t: F.max_unpool1d(t(1, 1, 2), t.index(0, 3).view(1, 1, 2), 2),
    "max_unpool3d": lambda t: F.max_unpool3d(t(1, 1, 1, 1, 2), t.index(0, 3).view(1, 1, 1, 1, 2), 2),
    "pad_reflect1d": lambda t: F.pad(t(1, 2, 4), (1, 1), mode="reflect"),
    "pad_reflect2d": lambda t: F.pad(t(1, 2, 4, 4), (1, 1, 1, 1), mode="reflect"),
    "pad_reflect3d": lambda t: F.pad(t(1, 2, 3, 3, 3), (1, 1, 1, 1, 1, 1), mode="reflect"),
    "pad_replicate1d": lambda t: F.pad(t(1, 2, 4), (1, 1), mode="replicate"),
    "pad_replicate2d": lambda t: F.pad(t(1, 2, 4, 4), (1, 1, 1, 1), mode="replicate"),
    "pad_replicate3d": lambda t: F.pad(t(1, 2, 3, 3, 3), (1, 1, 1, 1, 1, 1), mode="replicate"),
    "pad_constant": lambda t: F.pad(t(1, 2, 4), (1, 1)),
    "interpolate_nearest": lambda t: F.interpolate(t(1, 2, 4, 4), scale_factor=2),
    "interpolate_linear": lambda t: F.interpolate(t(1, 2, 4), scale_factor=2, mode="linear"),
    "interpolate_bilinear": lambda t: F.interpolate(t(1, 2, 4, 4), scale_factor=2, mode="bilinear"),
    "interpolate_bicubic": lambda t: F.interpolate(t(1, 2, 4, 4), scale_factor=2, mode="bicubic"),
    "interpolate_trilinear": lambda t: F.interpolate(t(1, 2, 3, 3, 3), scale_factor=2, mode="trilinear"),
    "grid_sample": lambda t: F.grid_sample(t(1, 2, 4, 4), t(1, 3, 3, 2), align_corners=False),
    "pixel_shuffle": lambda t: F.pixel_shuffle(t(1, 4, 2, 2), 2),
    "affine_grid": lambda t: F.affine_grid(t(1, 2, 3), (1, 1, 2, 2), align_corners=False),
    "lp_pool2d": lambda t: F.lp_pool2d(t(1, 1, 4, 4), 2.0, 2),
    "embedding_bag": lambda t: F.embedding_bag(t.index(0, 2).view(1, 2), t(3, 4)),
    "chain_matmul": lambda t: torch.chain_matmul(t(3, 4), t(4, 2), t(2, 3)),
    "unfold": lambda t: F.unfold(t(1, 2, 4, 4), 2),
}


def layer(module, arguments):
    """The layer with tensors of the case as its parameters, those first, as functions of them."""
    def run(t):
        parameters = {name: t(*p.shape) for name, p in module.named_parameters()}
        return torch.func.functional_call(module, parameters, arguments(t))
    return run


# Those with running statistics or parameters beside a result of another operator.
VARIANTS = {"layer_norm": ["lff"], "group_norm": ["lff"], "batch_norm": ["lff"]}
# Fake tensors have no elements, take dtypes that CUDA does not, and are not multiplied where it does.
CPU_ONLY = {"affine_grid", "gaussian_nll_loss", "index_add", "index_copy", "polar", "LSTM", "GRU", "RNN", "GRUCell"}
CASES |= {
    "polar": lambda t: torch.polar(t(3), t(3)).real,
    "LSTM": layer(torch.nn.LSTM(3, 4), lambda t: (t(5, 2, 3),)),
    "GRU": layer(torch.nn.GRU(3, 4), lambda t: (t(5, 2, 3),)),
    "RNN": layer(torch.nn.RNN(3, 4), lambda t: (t(5, 2, 3),)),
    "LSTMCell": layer(torch.nn.LSTMCell(3, 4), lambda t: (t(2, 3),)),
    "GRUCell": layer(torch.nn.GRUCell(3, 4), lambda t: (t(2, 3),)),
    "RNNCell": layer(torch.nn.RNNCell(3, 4), lambda t: (t(2, 3),)),
    "MultiheadAttention": layer(torch.nn.MultiheadAttention(4, 2), lambda t: (t(3, 2, 4),) * 3),
    "TransformerEncoderLayer": layer(torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0), lambda t: (t(3, 2, 4),)),
}


def flat(result):
    return [part for item in result for part in flat(item)] if isinstance(result, (tuple, list)) else [result]


def letter(dtype):
    return {torch.float32: "f", torch.bfloat16: "b", torch.float16: "h", torch.float64: "d"}.get(dtype, str(dtype))


def run(case, variant, device, lower):
    t = Maker(variant, lower, device)
    torch.set_autocast_dtype(device, lower)
    torch.set_autocast_enabled(device, True)
    try:
        results = [r for r in flat(case(t)) if isinstance(r, torch.Tensor)]
    except Exception:
        return "error", None, None, None, None
    finally:
        torch.set_autocast_enabled(device, False)
        torch.clear_autocast_cache()
    kinds = "".join(letter(r.dtype) for r in results)
    if device == "cuda":
        return kinds, None, None, None, None
    first = results[0]
    if first.requires_grad:
        try:
            first.backward(torch.ones_like(first))
        except RuntimeError:  # addr of two dtypes
            return kinds, *sums([first]), None, None
    grads = [m.grad for m in t.made if m.grad is not None]
    assert all(m.grad is None or m.grad.dtype == m.dtype for m in t.made)
    return kinds, *sums([first]), *sums(grads)


def sums(tensors):
    """Of all elements, and of their sizes."""
    return sum(t.double().sum().item() for t in tensors), sum(t.double().abs().sum().item() for t in tensors)


def number(value):
    return None if value is None else f"{value:.9g}"


def main():
    lines = []
    for name, case in CASES.items():
        for variant in ["f", "l", "fl", "lf"] + VARIANTS.get(name, []):
            dtypes, *sums = run(case, variant, "cpu", torch.bfloat16)
            lines.append(line("cpu", name, variant, dtypes, *map(number, sums)))
    with FakeTensorMode(allow_non_fake_inputs=True):
        for name, case in CASES.items():
            for variant in ["f", "l", "fl", "lf"] if name not in CPU_ONLY else []:
                dtypes = run(case, variant, "cuda", torch.float16)[0]
                lines.append(line("cuda", name, variant, dtypes, *[None] * 4))
    write("ops/cases/autocast", [lines], COLUMNS)


if __name__ == "__main__":
    main()

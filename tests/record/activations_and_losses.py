#!/usr/bin/env python3
"""What PyTorch makes of the calls that tests/ops/activation_test.cpp and loss_test.cpp make by the same names."""
import collections

import torch
import torch.nn.functional as F
from cases import values, write

WHAT = """Activations at x from g, as [result, gradient]; losses of the tensors loss.*, as NAME.REDUCTION and gradients .gx and .gt;
what random functions draw"""

out = collections.OrderedDict()
torch.manual_seed(0)
inf, nan = float("inf"), float("nan")

# Activations: corners, then random numbers; of an upper gradient that is not the same everywhere.
corners = [-inf, -120.0, -20.0, -6.0, -3.0, -1.0, -0.5, -0.3, -1e-4, -0.0, 0.0, 1e-4, 0.3, 0.5, 1.0, 3.0, 6.0, 20.0, 25.0, 120.0, nan]
x = torch.cat([torch.tensor(corners, dtype=torch.float64), torch.randn(43, dtype=torch.float64) * 3])
g = torch.rand(64, dtype=torch.float64) + 0.5
out["x"], out["g"] = x, g
acts = {
    "relu": F.relu, "relu6": F.relu6, "threshold": lambda x: F.threshold(x, 0.1, 20.0), "hardtanh": lambda x: F.hardtanh(x, -0.5, 3.0),
    "hardsigmoid": F.hardsigmoid, "hardswish": F.hardswish, "silu": F.silu, "mish": F.mish, "elu": lambda x: F.elu(x, 1.5),
    "celu": lambda x: F.celu(x, 0.7), "selu": F.selu, "leaky_relu": lambda x: F.leaky_relu(x, 0.2), "rrelu": F.rrelu,
    "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "hardshrink": F.hardshrink,
    "softshrink": lambda x: F.softshrink(x, 0.3), "tanhshrink": F.tanhshrink, "softsign": F.softsign,
    "softplus": lambda x: F.softplus(x, 2.0, 5.0), "logsigmoid": F.logsigmoid, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
    "prelu": lambda x: F.prelu(x, torch.tensor([0.3], dtype=x.dtype)),
}
for name, f in acts.items():
    for dtype, text in ((torch.float64, "64"), (torch.float32, "32"), (torch.bfloat16, "16")):
        a = x.to(dtype, copy=True).requires_grad_()
        y = f(a)
        y.backward(g.to(dtype))
        out[f"{name}.{text}"] = torch.stack([y.detach(), a.grad])

# Along dimensions.
m = torch.randn(3, 4, 5) * 4
m[0, :, 1] = -inf
m[1, 2, :] = -inf
m[2, 1, 3] = nan
m[2, 2, 0] = inf
mg = torch.rand(3, 4, 5)
out["m"], out["mg"] = m, mg
for dim in (-1, 0, 1):
    for name, f in (("softmax", F.softmax), ("log_softmax", F.log_softmax), ("softmin", F.softmin)):
        a = m.clone().requires_grad_()
        y = f(a, dim)
        y.backward(mg)
        out[f"{name}{dim}"] = torch.stack([y.detach(), a.grad])

# Losses.
r = lambda *s: torch.randn(*s)
p = dict(x=r(4, 5), t=r(4, 5), c=torch.tensor([0, 4, 2, 1]), ci=torch.tensor([0, 3, 2, 3]), w=torch.rand(5) + 0.1, u=torch.rand(4, 5) + 0.1,
         k=r(2, 3, 4), kc=torch.tensor([[0, 1, 2, 2], [1, -100, 0, 2]]), kw=torch.rand(3), one=r(5), z=r(4, 5),
         ml=torch.tensor([[1, 3, -1, 2, 0], [-1, 0, 1, 2, 3], [4, 4, 0, -1, 1], [0, 1, 2, 3, 4]]), s=torch.tensor([1.0, -1.0, -1.0, 1.0]))
for key, value in p.items():
    out["loss." + key] = value
P = collections.namedtuple("P", p)(**p)
prob = P.t.softmax(1)
losses = {
    "mse": lambda x, t, R: F.mse_loss(x, t, reduction=R), "mse_w": lambda x, t, R: F.mse_loss(x, t, reduction=R, weight=P.u),
    "l1": lambda x, t, R: F.l1_loss(x, t, reduction=R), "l1_w": lambda x, t, R: F.l1_loss(x, t, reduction=R, weight=P.u),
    "smooth": lambda x, t, R: F.smooth_l1_loss(x, t, reduction=R, beta=0.7), "smooth0": lambda x, t, R: F.smooth_l1_loss(x, t, reduction=R, beta=0),
    "huber": lambda x, t, R: F.huber_loss(x, t, reduction=R, delta=0.7), "huber_w": lambda x, t, R: F.huber_loss(x, t, reduction=R, delta=0.7, weight=P.u),
    "ce": lambda x, t, R: F.cross_entropy(x, P.c, reduction=R), "ce_w": lambda x, t, R: F.cross_entropy(x, P.c, P.w, reduction=R),
    "ce_i": lambda x, t, R: F.cross_entropy(x, P.ci, P.w, ignore_index=3, reduction=R),
    "ce_s": lambda x, t, R: F.cross_entropy(x, P.ci, ignore_index=3, reduction=R, label_smoothing=0.2),
    "ce_ws": lambda x, t, R: F.cross_entropy(x, P.ci, P.w, ignore_index=3, reduction=R, label_smoothing=0.2),
    "ce_p": lambda x, t, R: F.cross_entropy(x, t.softmax(1), reduction=R),
    "ce_pws": lambda x, t, R: F.cross_entropy(x, t.softmax(1), P.w, reduction=R, label_smoothing=0.2),
    "nll": lambda x, t, R: F.nll_loss(x, P.c, P.w, reduction=R),
    "bce": lambda x, t, R: F.binary_cross_entropy(x.sigmoid(), t.sigmoid(), reduction=R),
    "bce_w": lambda x, t, R: F.binary_cross_entropy(x.sigmoid(), t.sigmoid(), P.w, reduction=R),
    "bcel": lambda x, t, R: F.binary_cross_entropy_with_logits(x, t, reduction=R),
    "bcel_w": lambda x, t, R: F.binary_cross_entropy_with_logits(x, t, P.u, reduction=R, pos_weight=P.w),
    "kl": lambda x, t, R: F.kl_div(x, t.softmax(1), reduction=R), "kl_log": lambda x, t, R: F.kl_div(x, t, reduction=R, log_target=True),
    "cos": lambda x, t, R: F.cosine_embedding_loss(x, t, P.s, margin=0.1, reduction=R),
    "triplet": lambda x, t, R: F.triplet_margin_loss(x, t, P.z, reduction=R), "triplet_s": lambda x, t, R: F.triplet_margin_loss(x, t, P.z, margin=3.0, p=1.5, swap=True, reduction=R),
    "hinge": lambda x, t, R: F.hinge_embedding_loss(x, P.t.sign(), margin=0.5, reduction=R),
    "ranking": lambda x, t, R: F.margin_ranking_loss(x, t, P.z.sign(), margin=0.3, reduction=R),
    "soft": lambda x, t, R: F.soft_margin_loss(x, P.t.sign(), reduction=R),
    "labels": lambda x, t, R: F.multilabel_margin_loss(x, P.ml, reduction=R),
    "soft_labels": lambda x, t, R: F.multilabel_soft_margin_loss(x, t.sigmoid(), P.w, reduction=R),
    "multi": lambda x, t, R: F.multi_margin_loss(x, P.c, reduction=R), "multi_2": lambda x, t, R: F.multi_margin_loss(x, P.c, p=2, margin=0.5, weight=P.w, reduction=R),
    "poisson": lambda x, t, R: F.poisson_nll_loss(x, t.exp() * 3, reduction=R), "poisson_f": lambda x, t, R: F.poisson_nll_loss(x.exp(), t.exp() * 3, log_input=False, full=True, reduction=R),
    "gauss": lambda x, t, R: F.gaussian_nll_loss(x, t, P.u, full=True, reduction=R), "gauss_1": lambda x, t, R: F.gaussian_nll_loss(x, t, P.u[:, :1] - 0.099, eps=0.5, reduction=R),
}
for name, f in losses.items():
    for R in ("none", "mean", "sum"):
        x, t = P.x.clone().requires_grad_(), P.t.clone().requires_grad_()
        y = f(x, t, R)
        y.backward(torch.ones_like(y) * 1.5 if y.dim() == 0 else torch.arange(1.0, y.numel() + 1).reshape(y.shape))
        out[f"{name}.{R}"] = y.detach()
        out[f"{name}.{R}.gx"] = x.grad
        if t.grad is not None:
            out[f"{name}.{R}.gt"] = t.grad
for R in ("none", "mean", "sum"):
    k = P.k.clone().requires_grad_()
    y = F.cross_entropy(k, P.kc, P.kw, reduction=R, label_smoothing=0.1)
    y.backward(torch.ones_like(y))
    out[f"deep.{R}"], out[f"deep.{R}.gx"] = y.detach(), k.grad
out["one"] = F.cross_entropy(P.one, torch.tensor(3))
out["one_p"] = F.cross_entropy(P.one, P.one.softmax(0))
x, t = P.x.clone().requires_grad_(), P.t.clone().requires_grad_()
y = torch.cat([F.cosine_similarity(x, t), F.pairwise_distance(x, t, p=3), F.normalize(x, dim=0).sum(1)])
y.sum().backward()
out["distances"], out["distances.gx"], out["distances.gt"] = y.detach(), x.grad, t.grad

# What is drawn.
ones = torch.ones(6, 4, 2, 3)
for name, f in {
    "dropout1d": lambda: F.dropout1d(ones[0]), "dropout2d": lambda: F.dropout2d(ones, 0.3), "dropout3d": lambda: F.dropout3d(ones, 0.3),
    "alpha_dropout": lambda: F.alpha_dropout(ones, 0.3, training=True), "feature_alpha_dropout": lambda: F.feature_alpha_dropout(ones, 0.3, training=True),
    "rrelu_drawn": lambda: F.rrelu(out["m"], training=True), "gumbel": lambda: F.gumbel_softmax(P.x, tau=0.7), "gumbel_hard": lambda: F.gumbel_softmax(P.x, hard=True),
}.items():
    torch.manual_seed(5)
    out["drawn." + name] = f()
write("ops/cases/activations_and_losses", [values(out)], WHAT)

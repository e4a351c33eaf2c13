#!/usr/bin/env python3
"""The names of the nodes that PyTorch records: a row for each call, with the C++ that does the same.

tests/autograd/node_calls.h has the C++ again, in this order. Where one text is both Python and C++, it is written once.
"""
import json

import torch
import torch.nn.functional as F
from cases import line, write
from torch import *  # noqa: F403  (the calls below are written as in C++)

COLUMNS = "Node that PyTorch records for a call, and the C++ of the call"

# (Python, C++), or one text for both.
UNARY = """neg abs square reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan
sinh cosh tanh asinh acosh atanh sigmoid relu erf erfc erfinv lgamma digamma floor ceil round trunc frac sign
sgn angle""".split()
BINARY = """add sub mul div remainder fmod pow maximum minimum fmax fmin atan2 hypot copysign nextafter logaddexp
logaddexp2 xlogy""".split()

CASES = [f"{name}(x)" for name in UNARY] + [f"{name}(x, y)" for name in BINARY] + [
    "x + 1", "x - 1", "x * 2", "x / 2", "pow(x, 2)", ("2 ** x", "pow(2, x)"), "remainder(x, 2)", "fmod(x, 2)",
    "polygamma(2, x)", ("x.clone()", "x.clone()"), ("x.to(float32)", "x.to(float32)"), 
    ("x.t().contiguous()", "x.t().contiguous()"),
    # views
    "x.t()", ("x[0]", "x[0]"), ("x[:, 1:]", "x.index({Slice(), Slice(1)})"), "x.view(-1)", ("x.view(3, 2)", "x.view({3, 2})"),
    ("x.reshape(-1)", "x.reshape({-1})"), ("x.t().reshape(-1)", "x.t().reshape({-1})"), "x.transpose(0, 1)",
    ("x.permute(1, 0)", "x.permute({1, 0})"), "x.unsqueeze(0)", "x.unsqueeze(0).squeeze()",
    ("x.unsqueeze(0).squeeze(0)", "x.unsqueeze(0).squeeze(0)"), ("x[:1].expand(4, 3)", "x.narrow(0, 0, 1).expand({4, 3})"),
    "x.narrow(0, 0, 1)", "x.select(0, 0)", "x.diagonal()", ("x.unfold(1, 2, 1)", "x.unfold(1, 2, 1)"),
    ("x.split(1)[0]", "x.split(1)[0]"), ("x.unbind()[0]", "x.unbind()[0]"), ("x.chunk(2)[0]", "x.chunk(2)[0]"),
    "x.flatten()", "x.detach().requires_grad_().movedim(0, 1)", ("x.as_strided((2,), (1,))", "x.as_strided({2}, {1})"),
    "x.view_as(y)", "x.expand_as(y)",
    # joining and rearranging
    ("cat([x, y])", "cat({x, y})"), ("stack([x, y])", "stack({x, y})"), "tril(x)", "triu(x)", "diag(v)", "diag(x)", "trace(s)",
    ("flip(x, [0])", "flip(x, {0})"), ("roll(x, 1)", "roll(x, 1)"), ("x.repeat(2, 1)", "x.repeat({2, 1})"),
    ("repeat_interleave(x, 2)", "repeat_interleave(x, 2)"), ("F.pad(x, (1, 1))", "pad(x, {1, 1})"),
    ("F.pad(x, (1, 1), mode='reflect')", 'pad(x, {1, 1}, {.mode = "reflect"})'),
    ("F.pad(x, (1, 1), mode='replicate')", 'pad(x, {1, 1}, {.mode = "replicate"})'),
    # picking
    "gather(x, 1, i)", "index_select(x, 1, k)", "take(x, k)", "masked_select(x, m)", ("x[:, k]", "x.index({Slice(), k})"),
    ("x[m]", "x.index({m})"), "scatter(x, 1, i, y)", "scatter(x, 1, i, 2.0)", "scatter_add(x, 1, i, y)",
    ("scatter_reduce(x, 1, i, y, 'prod')", 'scatter_reduce(x, 1, i, y, "prod")'),
    ("index_add(x, 1, k, x[:, :2])", "index_add(x, 1, k, x.narrow(1, 0, 2))"),
    ("index_copy(x, 1, k, x[:, :2])", "index_copy(x, 1, k, x.narrow(1, 0, 2))"),
    "index_fill(x, 1, k, 2.0)", "masked_fill(x, m, 2.0)", "masked_fill(x, m, x.sum())", "where(m, x, y)",
    ("x.clone().index_put_((r, k), y[0, :2])", "x.clone().index_put_({r, k}, y[0].narrow(0, 0, 2))"),
    ("take_along_dim(x, i, 1)", "take_along_dim(x, i, 1)"),
    # in place
    ("(x * 1).zero_()", "(x * 1).zero_()"), ("(x * 1).fill_(2)", "(x * 1).fill_(2)"), ("(x * 1).copy_(y)", "(x * 1).copy_(y)"),
    ("(x * 1).add_(y)", "(x * 1).add_(y)"), ("(x * 1).exp_()", "(x * 1).exp_()"), 
    # reductions and order
    "sum(x)", ("sum(x, 1)", "sum(x, {1})"), "mean(x)", ("mean(x, 1)", "mean(x, {1})"), "prod(x)", ("prod(x, 1)", "prod(x, 1)"),
    "max(x)", "min(x)", ("max(x, 1)[0]", "std::get<0>(max(x, 1))"), ("min(x, 1)[0]", "std::get<0>(min(x, 1))"),
    ("amax(x, 1)", "amax(x, {1})"), ("amin(x, 1)", "amin(x, {1})"), "var(x)", "std(x)", ("norm(x)", "norm(x)"),
    "cumsum(x, 1)", "cumprod(x, 1)", "logsumexp(x, 1)", ("sort(x)[0]", "std::get<0>(sort(x))"),
    ("topk(x, 2)[0]", "std::get<0>(topk(x, 2))"), 
    # products
    "mm(x, x.t())", "matmul(x, x.t())", "matmul(x, v)", "mv(x, v)", "dot(v, v)", ("bmm(b, b)", "bmm(b, b)"),
    "addmm(s, x, x.t())", ("baddbmm(b, b, b)", "baddbmm(b, b, b)"), "outer(v, v)", 
    ("F.linear(x, w)", "linear(x, w)"), ("F.linear(x, w, u)", "linear(x, w, u)"), "addcmul(x, x, y)", "addcdiv(x, x, y)",
    "lerp(x, y, 0.5)", "lerp(x, y, y)", ("clamp(x, 0, 1)", "clamp(x, ClampOptions{.min = 0.0, .max = 1.0})"), ("clamp(x, min=0)", "clamp(x, ClampOptions{.min = 0.0})"),
    ("cross(x, y, 1)", "cross(x, y, 1)"), ("cdist(x, y)", "cdist(x, y)"),
    # activations
    "softmax(x, 1)", "log_softmax(x, 1)", ("F.gelu(x)", "gelu(x)"), ("F.elu(x)", "elu(x)"), ("F.celu(x)", "celu(x)"),
    ("F.selu(x)", "selu(x)"), ("F.leaky_relu(x)", "leaky_relu(x)"), ("F.softplus(x)", "softplus(x)"),
    ("F.silu(x)", "silu(x)"), ("F.mish(x)", "mish(x)"), ("F.hardtanh(x)", "hardtanh(x)"), ("F.hardswish(x)", "hardswish(x)"),
    ("F.hardsigmoid(x)", "hardsigmoid(x)"), ("F.relu6(x)", "relu6(x)"), ("F.logsigmoid(x)", "logsigmoid(x)"),
    ("F.softshrink(x)", "softshrink(x)"), ("F.hardshrink(x)", "hardshrink(x)"), ("F.tanhshrink(x)", "tanhshrink(x)"),
    ("F.softsign(x)", "softsign(x)"), ("F.threshold(x, 0.1, 2.0)", "threshold(x, 0.1, 2.0)"),
    ("F.prelu(x, v[:1])", "prelu(x, v.narrow(0, 0, 1))"), ("F.glu(x.t())", "glu(x.t())"),
    # layers
    ("F.layer_norm(x, (3,))", "layer_norm(x, {3})"), ("F.group_norm(p, 2)", "group_norm(p, 2)"),
    ("F.conv2d(p, q)", "conv2d(p, q)"), ("F.max_pool2d(p, 2)", "max_pool2d(p, 2)"), ("F.avg_pool2d(p, 2)", "avg_pool2d(p, 2)"),
    ("F.adaptive_avg_pool2d(p, 2)", "adaptive_avg_pool2d(p, 2)"), ("F.interpolate(p, scale_factor=2)", "interpolate(p, {.scale_factor = 2})"),
    ("F.pixel_shuffle(p, 2)", "pixel_shuffle(p, 2)"), ("F.unfold(p, 2)", "unfold(p, 2)"),
    
    # losses
    ("F.mse_loss(x, y)", "mse_loss(x, y)"), ("F.l1_loss(x, y)", "l1_loss(x, y)"), ("F.smooth_l1_loss(x, y)", "smooth_l1_loss(x, y)"),
    ("F.huber_loss(x, y)", "huber_loss(x, y)"), ("F.cross_entropy(x, k)", "cross_entropy(x, k)"),
    ("F.nll_loss(x, k)", "nll_loss(x, k)"), ("F.binary_cross_entropy(h, h.detach())", "binary_cross_entropy(h, h.detach())"),
    ("F.binary_cross_entropy_with_logits(x, h.detach())", "binary_cross_entropy_with_logits(x, h.detach())"),
    ("F.multi_margin_loss(x, k)", "multi_margin_loss(x, k)"), ("F.multilabel_margin_loss(x, l)", "multilabel_margin_loss(x, l)"),
    ("F.soft_margin_loss(x, y.detach())", "soft_margin_loss(x, y.detach())"), ("F.kl_div(x, h.detach(), reduction='sum')", 'kl_div(x, h.detach(), {.reduction = "sum"})'),
    # random
    ("bernoulli(h)", "bernoulli(h)"), ("(x * 1).normal_()", "(x * 1).normal_()"), ("(x * 1).random_(3)", "(x * 1).random_(3)"),
    # the rest of the families
    ("div(x, y, rounding_mode='trunc')", 'div(x, y, {.rounding_mode = "trunc"})'), "nan_to_num(x)", "diag_embed(v)",
    ("tile(x, (2,))", "tile(x, {2})"), ("x.split([1, 2], 1)[0]", "x.split({1, 2}, 1)[0]"), ("x[None, :, None].squeeze((0, 2))", "x.unsqueeze(0).unsqueeze(2).squeeze({0, 2})"),
    "complex(x, y)", "polar(x, y)", "view_as_real(complex(x, y))", ("complex(x, y).real", "complex(x, y).real()"),
    ("complex(x, y).imag", "complex(x, y).imag()"), "complex(x, y).conj()", "complex(x, y).abs()",
    "view_as_complex(s)", "tensordot(x, y)", "kron(x, y)",
    ("addmv(u[:2], x, v)", "addmv(u.narrow(0, 0, 2), x, v)"), ("F.rrelu(x, training=True)", "rrelu(x, {.training = true})"),
    ("F.softmin(x, 1)", "softmin(x, 1)"), ("F.normalize(x)", "normalize(x)"), ("F.bilinear(x, x, z)", "bilinear(x, x, z)"),
    ("F.embedding(k, w)", "embedding(k, w)"), ("F.embedding_bag(i, w)", "embedding_bag(i, w)"), ("F.dropout(x, 0.5)", "dropout(x, {.p = 0.5})"),
    ("F.batch_norm(x, None, None, training=True)", "batch_norm(x, Tensor(), Tensor(), {.training = true})"),
    ("F.instance_norm(p)", "instance_norm(p)"), ("F.rms_norm(x, (3,))", "rms_norm(x, {3})"), ("F.local_response_norm(p, 2)", "local_response_norm(p, 2)"),
    ("F.conv1d(p[0], p[0])", "conv1d(p[0], p[0])"), ("F.conv_transpose2d(p, q.transpose(0, 1))", "conv_transpose2d(p, q.transpose(0, 1))"),
    ("F.conv3d(d, d)", "conv3d(d, d)"), ("F.max_pool1d(p[0], 2)", "max_pool1d(p[0], 2)"), ("F.max_pool3d(d, 2)", "max_pool3d(d, 2)"),
    ("F.avg_pool1d(p[0], 2)", "avg_pool1d(p[0], 2)"), ("F.avg_pool3d(d, 2)", "avg_pool3d(d, 2)"), ("F.lp_pool2d(p, 2, 2)", "lp_pool2d(p, 2, 2)"),
    ("F.adaptive_avg_pool1d(p[0], 2)", "adaptive_avg_pool1d(p[0], 2)"), ("F.adaptive_avg_pool3d(d, 1)", "adaptive_avg_pool3d(d, 1)"),
    ("F.adaptive_avg_pool2d(p, 1)", "adaptive_avg_pool2d(p, 1)"), ("F.adaptive_avg_pool3d(d, 2)", "adaptive_avg_pool3d(d, 2)"),
    ("F.adaptive_max_pool1d(p[0], 2)", "adaptive_max_pool1d(p[0], 2)"), ("F.adaptive_max_pool2d(p, 2)", "adaptive_max_pool2d(p, 2)"),
    ("F.adaptive_max_pool3d(d, 2)", "adaptive_max_pool3d(d, 2)"), ("F.pixel_unshuffle(p, 2)", "pixel_unshuffle(p, 2)"),
    ("F.channel_shuffle(p, 2)", "channel_shuffle(p, 2)"), ("F.fold(F.unfold(p, 2), (4, 4), 2)", "fold(unfold(p, 2), {4, 4}, 2)"),
    ("F.pad(p, (1, 1, 1, 1), mode='reflect')", 'pad(p, {1, 1, 1, 1}, {.mode = "reflect"})'),
    ("F.pad(p, (1, 1, 1, 1), mode='replicate')", 'pad(p, {1, 1, 1, 1}, {.mode = "replicate"})'),
    ("F.pad(d, (1, 1, 1, 1, 1, 1), mode='reflect')", 'pad(d, {1, 1, 1, 1, 1, 1}, {.mode = "reflect"})'),
    ("F.pad(d, (1, 1, 1, 1, 1, 1), mode='replicate')", 'pad(d, {1, 1, 1, 1, 1, 1}, {.mode = "replicate"})'),
    ("F.nll_loss(p, n)", "nll_loss(p, n)"), ("F.cross_entropy(p, n)", "cross_entropy(p, n)"), ("F.poisson_nll_loss(x, y)", "poisson_nll_loss(x, y)"),
    ("F.margin_ranking_loss(x, y, h)", "margin_ranking_loss(x, y, h)"), ("F.hinge_embedding_loss(x, m.to(x.dtype))", "hinge_embedding_loss(x, m.to(float64))"),
    ("F.triplet_margin_loss(x, y, h)", "triplet_margin_loss(x, y, h)"), ("F.cosine_similarity(x, y)", "cosine_similarity(x, y)"),
    ("F.cosine_embedding_loss(x, y, k)", "cosine_embedding_loss(x, y, k)"), ("F.gaussian_nll_loss(x, y, h)", "gaussian_nll_loss(x, y, h)"),
    ("F.scaled_dot_product_attention(b[None], b[None], b[None])", "scaled_dot_product_attention(b.unsqueeze(0), b.unsqueeze(0), b.unsqueeze(0))"),
    ("einsum('ij,kj->ik', x, y)", 'einsum("ij,kj->ik", x, y)'), ("(x * 1).masked_fill_(m, 0.0)", "(x * 1).masked_fill_(m, 0.0)"),
    ("(x * 1).bernoulli_(0.5)", "(x * 1).bernoulli_(0.5)"), ("(x * 1).bernoulli_(h)", "(x * 1).bernoulli_(h)"), ("(x * 1).uniform_()", "(x * 1).uniform_()"),
    ("(x * 1).exponential_()", "(x * 1).exponential_()"), ("(x * 1).cauchy_()", "(x * 1).cauchy_()"), ("(x * 1).log_normal_()", "(x * 1).log_normal_()"),
    ("(x * 1).geometric_(0.5)", "(x * 1).geometric_(0.5)"), ("(x * 1).random_()", "(x * 1).random_()"), ("(x * 1).random_(1, 3)", "(x * 1).random_(1, 3)"),
    ("(x * 1).fill_(v[0])", "(x * 1).fill_(v[0])"), ("index_fill(x, 1, k, v[0])", "index_fill(x, 1, k, v[0])"),
    ("clamp(x, y, h)", "clamp(x, ClampTensorOptions{.min = y, .max = h})"),
    ("(x * 1).eq_(y)", "(x * 1).eq_(y)"), ("(x * 1).lt_(y)", "(x * 1).lt_(y)"), ("F.elu_(x * 1)", "elu_(x * 1)"),
    ("F.leaky_relu_(x * 1)", "leaky_relu_(x * 1)"), ("F.celu_(x * 1)", "celu_(x * 1)"), ("F.threshold_(x * 1, 0.1, 2.0)", "threshold_(x * 1, 0.1, 2.0)"),
    ("F.interpolate(p[0], scale_factor=2, mode='nearest')", 'interpolate(p[0], {.scale_factor = 2, .mode = "nearest"})'),
    ("F.interpolate(p, scale_factor=2, mode='nearest')", 'interpolate(p, {.scale_factor = 2, .mode = "nearest"})'),
    ("F.interpolate(d, scale_factor=2, mode='nearest')", 'interpolate(d, {.scale_factor = 2, .mode = "nearest"})'),
    ("F.interpolate(p[0], scale_factor=2, mode='nearest-exact')", 'interpolate(p[0], {.scale_factor = 2, .mode = "nearest-exact"})'),
    ("F.interpolate(p, scale_factor=2, mode='nearest-exact')", 'interpolate(p, {.scale_factor = 2, .mode = "nearest-exact"})'),
    ("F.interpolate(d, scale_factor=2, mode='nearest-exact')", 'interpolate(d, {.scale_factor = 2, .mode = "nearest-exact"})'),
    ("F.interpolate(p[0], scale_factor=2, mode='linear')", 'interpolate(p[0], {.scale_factor = 2, .mode = "linear"})'),
    ("F.interpolate(p, scale_factor=2, mode='bilinear')", 'interpolate(p, {.scale_factor = 2, .mode = "bilinear"})'),
    ("F.interpolate(p, scale_factor=2, mode='bicubic')", 'interpolate(p, {.scale_factor = 2, .mode = "bicubic"})'),
    ("F.interpolate(d, scale_factor=2, mode='trilinear')", 'interpolate(d, {.scale_factor = 2, .mode = "trilinear"})'),
    ("F.interpolate(p, scale_factor=2, mode='bilinear', antialias=True)", 'interpolate(p, {.scale_factor = 2, .mode = "bilinear", .antialias = true})'),
    ("F.interpolate(p, scale_factor=2, mode='bicubic', antialias=True)", 'interpolate(p, {.scale_factor = 2, .mode = "bicubic", .antialias = true})'),
]

torch.manual_seed(0)
double = dict(dtype=torch.float64)
x = (arange(6, **double) * 0.13 + 0.1).reshape(2, 3).requires_grad_()
y = (arange(6, **double) * 0.11 + 0.2).reshape(2, 3).requires_grad_()
s = ones(2, 2, **double).requires_grad_()
v = ones(3, **double).requires_grad_()
w = ones(4, 3, **double).requires_grad_()
u = ones(4, **double).requires_grad_()
b = ones(2, 3, 3, **double).requires_grad_()
p = ones(1, 4, 4, 4, **double).requires_grad_()
q = ones(2, 4, 3, 3, **double).requires_grad_()
d = ones(2, 2, 2, 2, 2, **double).requires_grad_()
z = ones(4, 3, 3, **double).requires_grad_()
h = full((2, 3), 0.5, **double).requires_grad_()
m = tensor([[True, False, True], [False, True, True]])
i = tensor([[0, 1, 2], [2, 0, 1]])
k = tensor([0, 1])
r = tensor([0, 1])
n = zeros(1, 4, 4, dtype=torch.int64)
l = tensor([[0, 1, -1], [2, -1, 0]])

rows = []
for case in CASES:
    python, cpp = case if isinstance(case, tuple) else (case, case)
    if cpp is None:
        continue
    result = eval(python)
    if result.grad_fn is None:  # as acosh, whose numbers are NaN here, still has one
        raise SystemExit(f"{python} has no history")
    rows.append(line(type(result.grad_fn).__name__) + " " + json.dumps(cpp))
write("autograd/cases/node_names", [rows], COLUMNS)

"""What a random case of a layer or of a function of layers is, and how PyTorch's answer to it is written down.

A case is a name, options, tensors, and how it is called. The block that is written:
  op module|function NAME OPTION=VALUE...        the options of the constructor and of the call
  tensor ... NAME                                an argument; "state:KEY" a parameter or buffer before the call,
                                                 "option:NAME" a tensor among the options, "cotangent:N" what gradients begin with
  keys KEY,...                                   those of the state dict
  repr "TEXT"
  result ... NAME ALLOWED                        "out:N", "grad:NAME", "state:KEY" afterwards; how far off an element may be
  error TYPE "TEXT"                              instead of results
tests/parity/layer_cases.h reads it.
"""
import copy
import json
import math

import torch

from writer import ints, name, raw, tensor_line

# What PyTorch lacks and we have, or may have: dtypes of some functions, gradients of targets, avg_pool3d of what is smaller than
# its kernel, bags of no columns, instance norms of no items, functions of what is strided. docs/divergences.md.
LACKING = ["not implemented for", "smaller than kernel size", "step must be nonzero", "view size is not compatible",
           "is not differentiable with respect to argument 'target'", "must be contiguous", "Unsupported memory format",
           "the derivative for", "select(): index 0 out of range for tensor of size [0]"]
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 2.0**-6}
# One unit in the last place, of numbers just above a power of two.
UNIT = {torch.bfloat16: 2.0**-7, torch.float16: 2.0**-10}


# Many steps, each of which is rounded.
CHAINS = {"RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell", "MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer",
          "scaled_dot_product_attention", "normalize", "LPPool1d", "LPPool2d", "LPPool3d", "CosineEmbeddingLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss"}


class Drawn:
    narrow = False  # whether all cases are of 16-bit dtypes


class Case:
    def __init__(self, kind, options=None, inputs=None, call=None, *, dtype=torch.float32, training=True, function=False,
                 words=None, seed=None, differentiable=True, targets=(), packed=False, terms=0.0):
        self.kind, self.options, self.inputs, self.dtype, self.training = kind, options or {}, inputs or {}, dtype, training
        self.function = function  # call is it, and there is no module
        self.words = words or {}  # options of the call
        self.seed, self.differentiable = seed, differentiable
        self.packed = packed  # gradients begin with tensors that are contiguous
        self.terms = terms  # how large the terms are that cancel in gradients, where that is more than the results
        self.targets = targets  # arguments that seldom require gradients: not all losses have one
        self.call = call or (lambda m, t: m(*t.values()))


def layout(rng, t):
    """The same numbers in another order of memory, or among others."""
    kind = rng.randrange(9)
    if kind == 0 and t.dim() > 1:
        order = rng.sample(range(t.dim()), t.dim())
        return t.permute(order).contiguous().permute([order.index(d) for d in range(t.dim())])
    if kind == 1 and t.dim() > 0:
        wide = torch.zeros(*t.shape[:-1], t.shape[-1] * 2, dtype=t.dtype)
        wide[..., ::2] = t
        return wide[..., ::2]
    if kind == 2 and t.dim() > 0:
        d = rng.randrange(t.dim())
        return torch.cat([t.narrow(d, 0, min(1, t.shape[d])), t], d).narrow(d, min(1, t.shape[d]), t.shape[d])
    if kind == 3 and t.dim() in (4, 5):
        return t.contiguous(memory_format=torch.channels_last if t.dim() == 4 else torch.channels_last_3d)
    if kind == 4 and t.dim() > 0 and rng.random() < 0.3 and 0 not in t.shape:
        d = rng.randrange(t.dim())
        return t.narrow(d, 0, 1).expand(t.shape)
    return t


def normal(rng, shape, dtype=torch.float32, scale=1.0, ties=0.1, special=False):
    t = torch.randn(shape, dtype=torch.float64) * scale
    if rng.random() < ties:
        t = torch.round(t * 2) / 2  # many equals
    if special and t.numel():
        for _ in range(2):
            t.view(-1)[rng.randrange(t.numel())] = rng.choice([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e4, -1e4])
    return layout(rng, t.to(dtype))


def uniform(rng, shape, dtype=torch.float32, low=0.0, high=1.0):
    return layout(rng, (torch.rand(shape, dtype=torch.float64) * (high - low) + low).to(dtype))


def a_dtype(rng, choices=None):
    """One of the choices, or any; of 16 bits where all cases are."""
    if Drawn.narrow:
        return rng.choice([torch.bfloat16, torch.bfloat16, torch.float16])
    if choices:
        return rng.choice(choices)
    return rng.choices([torch.float32, torch.float64, torch.bfloat16], [60, 32, 8])[0]


def batch(rng):
    return 0 if rng.random() < 0.05 else rng.choice([1, 1, 2, 2, 3, 5])


def numbers(rng, d, values):
    """One number for all dimensions, or one for each."""
    if d == 1 or rng.random() < 0.5:
        return rng.choice(values)
    return tuple(rng.choice(values) for _ in range(d))


def spread(v, d):
    return tuple(v) if isinstance(v, (tuple, list)) else (v,) * d


def pick(rng, **choices):
    """Some of the options, each one of its choices."""
    return {k: rng.choice(v) for k, v in choices.items() if rng.random() < 0.6}


def word(v):
    if isinstance(v, bool):
        return str(int(v))
    if isinstance(v, (tuple, list, torch.Size)):
        return ",".join(word(x) for x in v) or "-"
    if isinstance(v, torch.dtype):
        return name(v)
    return v if isinstance(v, str) else repr(v)


def flat(result):
    """The tensors of a result, whatever they are wrapped in."""
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for part in result if part is not None for t in flat(part)]


def randomise(module):
    with torch.no_grad():
        for key, t in module.state_dict().items():
            if not t.is_floating_point():
                t.fill_(3)
            elif key.endswith("running_var"):
                t.uniform_(0.5, 2)
            else:
                t.normal_(0, 0.5)


def said_by(e):
    return f"{type(e).__name__} {json.dumps(str(e).split(chr(10))[0][:200])}"


class Answer:
    """What happened: results by name, or the error's type."""

    def __init__(self, case, module, inputs, cotangents):
        self.results, self.error = {}, None
        try:
            if case.seed is not None:
                torch.manual_seed(case.seed)
            outputs = flat(case.call(module, inputs))
            self.begin = [k for k, o in enumerate(outputs) if o.requires_grad and o.is_floating_point()]
            self.outputs = [o.detach().clone() for o in outputs]
            for k, o in enumerate(self.outputs):
                self.results[f"out:{k}"] = o
            leaves = {k: t for k, t in inputs.items() if t.requires_grad}
            if module is not None:
                leaves.update({k: p for k, p in module.named_parameters() if p.requires_grad})
            if self.begin and leaves:
                grads = torch.autograd.grad([outputs[k] for k in self.begin], list(leaves.values()),
                                            [cotangents(k, outputs[k]) for k in self.begin], allow_unused=True)
                for k, g in zip(leaves, grads):
                    if g is not None:
                        self.results[f"grad:{k}"] = g.detach()
            if module is not None:
                for k, t in module.state_dict().items():
                    self.results[f"state:{k}"] = t.detach().clone()
        except Exception as e:  # whatever it is, our side must refuse too
            self.error, self.results = said_by(e), {}
            self.lacking = any(words in str(e) for words in LACKING)


def doubled(case, module, inputs):
    """The same case in double: how far PyTorch itself is off."""
    inputs = {k: t.detach().double().requires_grad_(t.requires_grad) if t.is_floating_point() else t for k, t in inputs.items()}
    return (copy.deepcopy(module).double() if module is not None else None), inputs


def largest(t):
    t = t.double().abs()
    t = t[torch.isfinite(t)]
    return t.max().item() if t.numel() else 0.0


def allowed(case, key, results, exact):
    """1e-5 (1e-10, 2^-6) of the largest magnitude, and some of what PyTorch's own answer is off. What cancels is not zero: where a
    tensor is far smaller than the other results, a tenth of the largest of them, and of 1, says what is small."""
    t = results[key]
    if not t.is_floating_point():
        return 0.0
    known = key in exact and exact[key].shape == t.shape
    if t.dtype in UNIT and known and bool((t.isfinite() != exact[key].to(t.dtype).isfinite()).any()):
        return math.inf  # a step of it does not fit the dtype
    floating = [r for r in results.values() if r.is_floating_point()]
    tolerance = max(TOLERANCE.get(t, 2.0**-9) for t in ([r.dtype for r in floating] + [case.dtype]))
    off = largest(t.double() - exact[key].double()) if known else 0.0
    return tolerance * max(largest(t), 0.1 * max(largest(r) for r in floating), 0.1) + 4 * off


def rounded(case, key, results, exact, moved):
    """What a 16-bit result should be, the exact one rounded, and how far off it may be: a unit of its largest magnitude, or twice
    as far as PyTorch's is, or as the exact one moves when the arguments do by a rounding, which is what any 16-bit calculation
    must expect and does not depend on PyTorch's luck; four times that after many steps. The exact one is PyTorch's in double, of
    the same 16-bit numbers. Anything is allowed where PyTorch's own is not finite and the exact one is: a step does not fit the
    dtype."""
    t = results[key]
    if t.dtype not in UNIT or key not in exact or exact[key].shape != t.shape:
        return t, allowed(case, key, results, exact)
    wanted = exact[key].to(t.dtype)
    if bool((t.isfinite() != wanted.isfinite()).any()):
        return wanted, math.inf
    floating = [r for r in results.values() if r.is_floating_point()]
    off = largest(t.double() - exact[key].double())
    shift = max((largest(m[key].double() - exact[key].double()) for m in moved if key in m and m[key].shape == t.shape), default=0.0)
    # In a chain, gradients are what is left of terms as large as the results: of one number, normalize has none at all.
    chain = case.kind in CHAINS
    unit = UNIT[t.dtype] * max(largest(t), (1 if chain else 0.1) * max(largest(r) for r in floating), 0.1,
                               case.terms if key.startswith("grad:") else 0.0)
    return wanted, max(unit, 2 * off, 2 * shift) * (4 if chain else 1)


def moved_a_little(case, module, inputs, cotangents, generator):
    """The answers in double to arguments, parameters and cotangents that are a rounding off, each element in its own direction."""
    def shifted(t):
        step = (torch.rand(t.shape, generator=generator, dtype=torch.float64) * 2 - 1) * (UNIT[case.dtype] / 2)
        return t * (1 + step)

    answers = []
    for _ in range(3):
        second, others = doubled(case, module, inputs)
        with torch.no_grad():
            others = {k: shifted(t).requires_grad_(t.requires_grad) if t.is_floating_point() else t for k, t in others.items()}
            if second is not None:
                for p in second.parameters():
                    p.copy_(shifted(p))
        answers.append(Answer(case, second, others, lambda k, output: shifted(cotangents(k, output))).results)
    return answers


def write(rng, writer, case):
    inputs = {k: t.detach() for k, t in case.inputs.items()}
    for k, t in inputs.items():
        if t.is_floating_point() and case.differentiable and rng.random() < (0.1 if k in case.targets else 0.9):
            t.requires_grad_()
    tensors = {k: v for k, v in case.options.items() if isinstance(v, torch.Tensor)}
    said = {k: word(v) for k, v in {**case.options, **case.words}.items() if k not in tensors}
    if tensors:
        said["tensors"] = "1"
    said["training"], said["dtype"] = word(case.training), name(case.dtype)
    if case.seed is not None:
        said["seed"] = str(case.seed)
    if not case.differentiable:
        said["no_grad"] = "1"
    lines = [f"op {'function' if case.function else 'module'} {case.kind} " + " ".join(f"{k}={v}" for k, v in said.items())]
    lines += [tensor_line(t, " " + k) for k, t in inputs.items()] + [tensor_line(t, " option:" + k) for k, t in tensors.items()]
    module, text = None, []
    try:
        if not case.function:
            module = getattr(torch.nn, case.kind)(**case.options)
            if not tensors:
                randomise(module)
            module.to(case.dtype).train(case.training)
            state = module.state_dict()
            text = [f"keys {','.join(state) or '-'}", f"repr {json.dumps(repr(module))}"]
            if not tensors:
                lines += [tensor_line(t.detach().clone(), " state:" + k) for k, t in state.items()]
    except Exception as e:
        writer.add(*lines, f"error {said_by(e)}")
        return
    second = doubled(case, module, inputs) if case.dtype != torch.float64 else None
    before = copy.deepcopy(module) if Drawn.narrow else None  # what it is called with: a call may change it
    begun = {}

    def cotangents(k, output):
        if k not in begun:
            begun[k] = torch.randn(output.shape, dtype=torch.float64).to(output.dtype)
            if not case.packed:
                begun[k] = layout(rng, begun[k])
        return begun[k].to(output.dtype)

    with torch.set_grad_enabled(case.differentiable):
        answer = Answer(case, module, inputs, cotangents)
        exact = Answer(case, *second, cotangents).results if second and answer.error is None else {}
        moved = []
        if Drawn.narrow and exact and case.dtype in UNIT:
            moved = moved_a_little(case, before, inputs, cotangents, torch.Generator().manual_seed(len(lines)))
    if answer.error and answer.lacking:
        return
    lines += [tensor_line(t, f" cotangent:{k}") for k, t in begun.items()] if answer.error is None or begun else []
    lines += text
    if answer.error:
        lines.append(f"error {answer.error}")
    for k, t in answer.results.items():
        wanted, off = rounded(case, k, answer.results, exact, moved) if Drawn.narrow else (t, allowed(case, k, answer.results, exact))
        lines.append(f"result {name(t.dtype)} {ints(t.shape)} {ints(t.stride())} 0 {raw(wanted)} {k} {off!r}")
    writer.add(*lines)

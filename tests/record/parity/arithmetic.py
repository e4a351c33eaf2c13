"""Random cases of functions of one and of two tensors: dtypes, shapes that broadcast, strides, numbers, special values,
new tensors and in place. Part of generate.py.
"""
import torch

from writer import Writer, attempt, result_line, tensor_line

UNARY = ("neg abs square reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh "
         "asinh acosh atanh sigmoid relu erf erfc erfinv lgamma digamma floor ceil round trunc frac sign sgn angle "
         "bitwise_not logical_not isnan isinf isfinite signbit").split()
NOT_IN_PLACE = set("isnan isinf isfinite signbit angle maximum minimum fmax fmin logaddexp logaddexp2".split())
BINARY = ("add sub mul div floor_divide trunc_divide remainder fmod pow maximum minimum fmax fmin atan2 hypot copysign nextafter "
          "logaddexp logaddexp2 xlogy eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor "
          "bitwise_left_shift bitwise_right_shift").split()
DTYPES = [getattr(torch, n) for n in "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex128 complex64".split()]


DIVISIONS = "floor_divide trunc_divide remainder fmod".split()


HALVES = [torch.float16, torch.bfloat16]
COMPLEX = [torch.complex128, torch.complex64]
# The next of 16-bit floats is not there yet. Their quotients PyTorch rounds more often than at the end. Sums of exponentials
# of complex numbers are taken in another order, and the logical functions do not mix them with 16-bit floats.
LEFT_OUT = {"nextafter": HALVES, **{name: HALVES for name in DIVISIONS}, "logaddexp": COMPLEX, "pow": [torch.bool],
            **{f"logical_{name}": COMPLEX for name in ("and", "or", "xor")}}


def values(rng, n, dtype, name, special):
    """Ordinary numbers with special ones among them."""
    if dtype == torch.bool:
        return [rng.random() < 0.5 for _ in range(n)]
    if not dtype.is_floating_point and not dtype.is_complex:
        info = torch.iinfo(dtype)
        # PyTorch dies where the most negative number is divided by -1.
        edge = [0, 1, info.max, info.min + (name in DIVISIONS), info.max - 1, 2, 3, 7]
        return [rng.choice(edge) if rng.random() < 0.3 else max(edge[3], min(info.max, rng.randint(-20, 20))) for _ in range(n)]
    # PyTorch's vectors of 16-bit floats lose the tiny ones, and its fmod makes NaN of them.
    tiny = [1e-3, 2e-3] if dtype in HALVES or name in DIVISIONS else [1e-30, 3e-39]
    edge = [*tiny, 0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 1e30, 88.7, -87.5, 104.0]

    def real():
        return rng.choice(edge) if special and rng.random() < 0.2 else rng.choice([rng.uniform(-4, 4), rng.gauss(0, 30), rng.random()])
    if dtype.is_complex:
        return [complex(rng.uniform(-4, 4), rng.uniform(-4, 4)) for _ in range(n)]
    return [real() for _ in range(n)]


def operand(rng, shape, dtype, name, special=True):
    n = 1
    for s in shape:
        n *= s
    t = torch.tensor(values(rng, n, dtype, name, special), dtype=dtype).reshape(shape)
    kind = rng.randrange(4)
    if kind == 1 and t.dim() > 1:
        order = rng.sample(range(t.dim()), t.dim())
        back = [order.index(d) for d in range(t.dim())]
        return t.permute(order).contiguous().permute(back)
    if kind == 2 and t.dim() > 0:
        wide = torch.zeros(*shape[:-1], shape[-1] * 2, dtype=dtype)
        wide[..., ::2] = t
        return wide[..., ::2]
    return t


LAST_OF_SINH = 89.415  # whose hyperbolic sine is a float32


def shapes(rng):
    """Two that broadcast, mostly."""
    shape = [rng.choice([0, 1, 2, 3, 5, 17]) if rng.random() < 0.9 else rng.choice([33, 70]) for _ in range(rng.randint(0, 3))]
    other = [1 if rng.random() < 0.2 else s for s in shape][rng.choice([0, 0, 0, 1]) if shape else 0:]
    if rng.random() < 0.03 and other:
        other[-1] += 1
    return (shape, other) if rng.random() < 0.7 else (other, shape)


def number(rng):
    return rng.choice([0, 1, 2, -1, 3, True, 0.5, -0.5, 0.7, 2.5, -1.5, 0.1, 1e-3, rng.randint(-9, 9), rng.uniform(-3, 3),
                       complex(rng.uniform(-2, 2), 1.0) if rng.random() < 0.3 else 7])


def text(v):
    return f"{v.real!r}|{v.imag!r}" if isinstance(v, complex) else repr(v)


def call(name, a, b):
    if name == "trunc_divide":
        return torch.div(a, b, rounding_mode="trunc")
    return getattr(torch, name)(a, b)


def call_in_place(name, a, b):
    if name == "trunc_divide":
        return a.div_(b, rounding_mode="trunc")
    return getattr(a, name + "_")(b)


def arithmetic(rng, outdir, count):
    w = Writer(outdir, "arithmetic")
    for _ in range(count):
        in_place = rng.random() < 0.25
        if rng.random() < 0.4:
            name = rng.choice(UNARY)
            in_place = in_place and name not in NOT_IN_PLACE
            a = operand(rng, shapes(rng)[0], rng.choice(DTYPES), name)
            lines = [tensor_line(a), f"op unary {name} {int(in_place)}"]
            small = name in ("sinh", "cosh") and not a.is_complex() and a.double().abs() < LAST_OF_SINH
            result, error = attempt(lambda: getattr(a, name + "_")() if in_place else getattr(torch, name)(a))
            if small is not False and not error and bool((result.isinf() & small).any()):
                continue  # PyTorch's vectors say infinity where the number still fits
        else:
            name = rng.choice(BINARY)
            in_place = in_place and name not in NOT_IN_PLACE
            one, two = shapes(rng)
            dtypes = [d for d in DTYPES if d not in LEFT_OUT.get(name, [])]
            first = rng.choice(dtypes)
            second = first if rng.random() < 0.5 else rng.choice(dtypes)
            if {first, second} & set(HALVES) and {first, second} & set(COMPLEX):
                second = first  # complex32 is not calculated with in PyTorch
            special = not first.is_complex and not second.is_complex  # where infinities meet complex numbers, loops differ
            a = operand(rng, one, first, name, special)
            if rng.random() < 0.3 and name not in ("maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "nextafter", "logaddexp", "logaddexp2", "logical_and",
                                                   "logical_or", "logical_xor"):
                b = number(rng)
                if isinstance(b, complex) and first in (torch.float16, torch.bfloat16):
                    b = b.real  # complex32 is not calculated with in PyTorch
                lines = [tensor_line(a), f"op number {name} {int(in_place)} {text(b)}"]
            else:
                b = operand(rng, two, second, name, special)
                lines = [tensor_line(a), tensor_line(b), f"op binary {name} {int(in_place)}"]
            result, error = attempt(lambda: call_in_place(name, a, b) if in_place else call(name, a, b))
        if error:
            w.add(*lines, f"error {error}")
        else:
            w.add(*lines, result_line(result))
    w.close()

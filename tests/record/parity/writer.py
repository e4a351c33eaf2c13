"""Writing down tensors bit by bit, in the words of tests/parity/cases.h."""
import torch


def ints(values):
    return ",".join(str(v) for v in values) or "-"


def name(dtype):
    return str(dtype).removeprefix("torch.")


def canonical(t):
    """NaN with the one bit pattern our side uses too when it compares: hardware and versions differ in the rest."""
    if t.dtype.is_complex:
        r = torch.view_as_real(t.resolve_conj().resolve_neg().contiguous())
        return torch.view_as_complex(canonical(r).contiguous())
    if t.dtype.is_floating_point and t.dtype.itemsize > 1:
        t = t.clone()
        t[torch.isnan(t)] = float("nan")
    if t.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        bits = t.view(torch.uint8).clone()
        bits[torch.isnan(t.float())] = 0x7F
        t = bits.view(t.dtype)
    return t


def raw(t):
    """The elements, packed, as hexadecimal."""
    t = t.detach().resolve_conj().resolve_neg()
    packed = torch.empty(t.numel(), dtype=t.dtype).copy_(t.reshape(-1))
    return packed.view(torch.uint8).numpy().tobytes().hex() or "-"


def storage_hex(t):
    s = t.untyped_storage()
    return torch.tensor([], dtype=torch.uint8).set_(s).numpy().tobytes().hex() or "-"


def tensor_line(t, extra=""):
    flags = [f for f, on in (("conj", t.is_conj()), ("neg", t.is_neg()), ("grad", t.requires_grad and t.is_leaf),
                             ("param", isinstance(t, torch.nn.Parameter)), ("meta", t.device.type == "meta")) if on]
    d = t.detach()
    data = "-" if t.device.type == "meta" else storage_hex(d)
    return f"tensor {name(t.dtype)} {ints(t.shape)} {ints(t.stride())} {t.storage_offset()} {','.join(flags) or '-'} {data}{extra}"


def result_line(t):
    return f"result {name(t.dtype)} {ints(t.shape)} {ints(t.stride())} {t.storage_offset()} {raw(t)}"


def attempt(f):
    try:
        return f(), None
    except Exception as e:  # whatever it is, our side must refuse too
        return None, type(e).__name__


class Writer:
    def __init__(self, outdir, kind):
        self.path = outdir / f"{kind}.cases"
        self.blocks = [f"# written by tests/record/parity/generate.py with PyTorch {torch.__version__}"]

    def add(self, *lines):
        self.blocks.append("\n".join(lines))

    def close(self):
        self.path.write_text("\n\n".join(self.blocks) + "\n")
        print(f"{self.path}: {len(self.blocks) - 1} cases")

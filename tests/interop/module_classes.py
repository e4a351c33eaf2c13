"""The modules and tensors of module programs (tests/interop/module_world.py): those of tests/interop/program_modules.cpp."""
import torch
from torch import nn

aten = torch.ops.aten


class Scaled(torch.Tensor):
    """A payload and a factor, as the recipe about swapping has it: only what a module needs to move it."""

    @staticmethod
    def __new__(cls, elem, scale):
        return torch.Tensor._make_wrapper_subclass(cls, elem.shape, dtype=elem.dtype, layout=elem.layout, device=elem.device,
                                                   strides=elem.stride(), storage_offset=elem.storage_offset())

    def __init__(self, elem, scale):
        self.elem, self.scale = elem, scale

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.Tensor.module_load:
            dest, src = args[0], args[1]
            scale = dest.scale if isinstance(dest, Scaled) else src.scale
            if (kwargs or {}).get("assign") or not isinstance(dest, Scaled):
                return src.detach() if isinstance(src, Scaled) else Scaled(src.detach(), scale)
            elem = src.elem if isinstance(src, Scaled) else src
            return Scaled(elem.detach().to(dest.dtype, copy=True), scale)
        return super().__torch_function__(func, types, args, kwargs)

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        if func in (aten.detach.default, aten._to_copy.default, aten.clone.default):
            return cls(func(args[0].elem, *args[1:], **(kwargs or {})), args[0].scale)
        raise NotImplementedError(f"Unsupported function {func}")


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self, n):
        super().__init__()
        self.encoder = nn.Linear(n, n)
        self.decoder = nn.Linear(n, n, bias=False)
        self.decoder.weight = self.encoder.weight

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Block(nn.Module):
    """Tensors of its own beside children: a parameter, buffers that are saved and that are not, and empty places."""

    def __init__(self, n):
        super().__init__()
        self.norm = nn.LayerNorm(n)
        self.fc = nn.Linear(n, n)
        self.scale = nn.Parameter(torch.ones(n))
        self.register_parameter("shift", None)
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("cache", torch.zeros(n), persistent=False)

    def forward(self, x):
        return self.fc(self.norm(x)) * self.scale


class Counter(nn.Module):
    """Extra state, and a version."""

    _version = 3

    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
        self.count = n

    def get_extra_state(self):
        return self.count

    def set_extra_state(self, state):
        self.count = state

    def extra_repr(self):
        return f"count={self.count}"

    def forward(self, x):
        return x * self.weight

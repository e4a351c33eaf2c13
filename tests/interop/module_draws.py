"""Draws the steps of module programs (tests/interop/modules.py), by what is there."""
import torch
from module_classes import Scaled
from torch import nn
from torch.nn.parameter import is_lazy

FLOATS = ["float16", "bfloat16", "float32", "float64"]
HOOKS = ["before", "after", "twice", "saves", "saved", "loads", "loaded", "forgive"]
SHAPES = ["2", "3", "2x3", "3x3", "2x2", "-", "1"]


class Draw:
    def __init__(self, random, world):
        self.random, self.world = random, world

    def one_of(self, choices):
        choices = list(choices)
        return choices[self.random.randrange(len(choices))]

    def flag(self, chance=0.5):
        return "1" if self.random.random() < chance else "0"

    def module(self):
        return self.one_of(sorted(self.world.m))

    def state(self):
        return self.one_of(sorted(self.world.s))

    def path_in(self, name, kind="parameter"):
        """A tensor of a module, or nothing."""
        module = self.world.m[name]
        named = {"parameter": module.named_parameters, "buffer": module.named_buffers}.get(kind)
        paths = [path for path, _ in (named(remove_duplicate=False) if named else module.named_modules(remove_duplicate=False)) if path]
        return self.one_of(paths) if paths else None

    def owner_in(self, name):
        """The beginning of a path to something in a module: "" or "fc."."""
        paths = [path for path, _ in self.world.m[name].named_modules()]
        path = self.one_of(paths)
        return path + "." if path else ""

    def seed(self):
        return str(self.random.randrange(9))

    # Each gives a line, or None if there is nothing to do it to.

    def make(self):
        name, n, device = f"m{self.random.randrange(5)}", str(self.random.choice((2, 3))), "cpu" if self.random.random() < 0.85 else "meta"
        kind = self.random.choice(("linear", "linear", "linear", "conv1d", "batchnorm", "layernorm", "embedding", "dropout", "relu", "tied", "tied",
                                   "block", "block", "counter", "lazylinear", "lazyconv1d", "lazybatchnorm", "parameterlist", "parameterdict",
                                   "sequential", "sequential", "sequential", "modulelist", "moduledict"))
        numbers = {"linear": f"{n} {self.random.choice((2, 3))} {self.flag(0.7)}", "conv1d": f"{n} 2 2", "batchnorm": f"{n} {self.flag(0.7)}",
                   "embedding": f"3 {n}", "dropout": "", "relu": "", "lazyconv1d": f"{n} 2", "lazybatchnorm": "",
                   "parameterlist": "2 2x3", "parameterdict": "3 2"}.get(kind, n)
        if kind in ("sequential", "modulelist", "moduledict"):
            if not self.world.m:
                return None
            numbers = " ".join(self.module() for _ in range(self.random.randrange(1, 4)))
        return f"make {name} {kind} {device} {numbers}".strip()

    def fill(self):
        return f"fill {self.module()} {self.seed()}"

    def drop(self):
        names = [*self.world.t, *self.world.t, *self.world.s, *self.world.o] + (list(self.world.m) if len(self.world.m) > 2 else [])
        return f"drop {self.one_of(sorted(names))}" if names else None

    def two_paths(self):
        a, b = self.module(), self.module()
        path, other = self.path_in(a), self.path_in(b)
        return (a, path, b, other) if path and other else None

    def tie(self):
        two = self.two_paths()
        return two and "tie {} {} {} {}".format(*two)

    def swap(self):
        two = self.two_paths()
        return two and "swap {} {} {} {}".format(*two)

    def on_parameter(self, step, *rest, kind="parameter"):
        name = self.module()
        path = self.path_in(name, kind)
        return f"{step} {name} {path}" + "".join(f" {word}" for word in rest) if path else None

    def untie(self):
        return self.on_parameter("untie")

    def parameter(self):
        name = self.module()
        last = self.random.choice(("extra", "weight", "bias", "scale", "seen", "fc", "other"))
        shape = "None" if self.random.random() < 0.2 else self.one_of(SHAPES)
        return f"parameter {name} {self.owner_in(name)}{last} {shape} {self.seed()}"

    def buffer(self):
        name = self.module()
        last = self.random.choice(("extra", "weight", "seen", "cache", "other", "0"))
        shape = "None" if self.random.random() < 0.2 else self.one_of(SHAPES)
        return f"buffer {name} {self.owner_in(name)}{last} {shape} {self.seed()} {self.flag()}"

    def register_module(self):
        name = self.module()
        other = "None" if self.random.random() < 0.1 else self.module()
        return f"register_module {name} {self.owner_in(name)}{self.random.choice(('fc', 'head', 'norm', 'extra', 'a'))} {other}"

    def set_submodule(self):
        name = self.module()
        path = self.path_in(name, "module") if self.random.random() < 0.7 else self.random.choice(("head", "none.head", "fc", "fc.weight"))
        return path and f"set_submodule {name} {path} {self.module()} {self.flag()}"

    def delete(self):
        return self.on_parameter("delete", kind=self.random.choice(("parameter", "buffer", "module")))

    def get(self):
        name, kind = self.module(), self.random.choice(("submodule", "parameter", "buffer"))
        path = self.path_in(name, kind) if self.random.random() < 0.4 else self.random.choice(("fc.weight", "none", "fc", "seen", "0.none", "norm.bias"))
        return path and f"get {name} {kind} {path}"

    def append(self):
        lists = [name for name, module in self.world.m.items() if isinstance(module, (nn.Sequential, nn.ModuleList))]
        return f"append {self.one_of(lists)} {self.module()}" if lists else None

    def insert(self):
        lists = [name for name, module in self.world.m.items() if isinstance(module, (nn.Sequential, nn.ModuleList))]
        return f"insert {self.one_of(lists)} {self.random.randrange(3)} {self.module()}" if lists else None

    def pop(self):
        lists = [name for name, module in self.world.m.items() if isinstance(module, (nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterDict))]
        if not lists:
            return None
        name = self.one_of(lists)
        named = isinstance(self.world.m[name], (nn.ModuleDict, nn.ParameterDict))
        return f"pop {name} {self.random.choice('abc') if named else self.random.randrange(-3, 3)}"

    def submodule(self):
        name = self.module()
        path = self.path_in(name, "module")
        return path and f"submodule m{self.random.randrange(5)} {name} {path}"

    def to(self):
        return f"to {self.module()} {self.one_of(FLOATS + ['int32'])}"

    def float(self):
        return f"float {self.module()} {self.one_of(FLOATS)}"

    def type(self):
        return f"type {self.module()} {self.one_of(FLOATS + ['int64'])}"

    def move(self):
        return f"move {self.module()} {self.one_of(('cpu', 'meta'))}"

    def to_empty(self):
        return f"to_empty {self.module()} {self.one_of(('cpu', 'cpu', 'meta'))} {self.flag(0.8)}"

    def requires_grad(self):
        if self.random.random() < 0.5:
            return f"requires_grad {self.module()} . {self.flag()}"
        return self.on_parameter("requires_grad", self.flag())

    def zero_grad(self):
        return f"zero_grad {self.module()} {self.flag()}"

    def train(self):
        return f"train {self.module()} {self.flag()}"

    def swap_on_conversion(self):
        return f"swap_on_conversion {self.flag()}"

    def overwrite_on_conversion(self):
        return f"overwrite_on_conversion {self.flag()}"

    def clone(self):
        return f"clone m{self.random.randrange(5)} {self.module()}"

    def wrap(self):
        return self.on_parameter("wrap", self.one_of(("0.5", "2")))

    def state_dict(self):
        return f"state_dict s{self.random.randrange(3)} {self.module()} {self.one_of(('-', '-', '-', 'net.'))} {self.flag(0.2)}"

    def on_state(self, step, *rest):
        names = [name for name, state in self.world.s.items() if state]
        return " ".join([step, self.one_of(sorted(names)), *rest]) if names else None

    def place(self):
        return str(self.random.randrange(12))

    def clone_state(self):
        return f"clone_state s{self.random.randrange(3)} {self.state()}" if self.world.s else None

    def copy_state(self):
        return f"copy_state s{self.random.randrange(3)} {self.state()}" if self.world.s else None

    def file(self):
        return f"file s{self.random.randrange(3)} {self.state()}" if self.world.s else None

    def rename_key(self):
        return self.on_state("rename_key", self.place(), self.one_of(("weight", "old", "fc.weight", "0.weight", "bias", "x.y")))

    def remove_key(self):
        return self.on_state("remove_key", self.place())

    def set_key(self):
        return self.on_state("set_key", self.one_of(("weight", "bias", "extra", "fc.weight", "num_batches_tracked")), self.one_of(SHAPES), self.seed(),
                             self.one_of(FLOATS + ["int64"]), "cpu")

    def set_number(self):
        return self.on_state("set_number", self.one_of(("weight", "bias", "_extra_state", "fc.weight")), self.seed())

    def reshape_key(self):
        return self.on_tensor_key("reshape_key")

    def cast_key(self):
        return self.on_tensor_key("cast_key", self.one_of(FLOATS + ["int64"]))

    def meta_key(self):
        return self.on_tensor_key("meta_key")

    def wrap_key(self):
        return self.on_tensor_key("wrap_key", "4")

    def on_tensor_key(self, step, *rest):
        """Of an ordinary tensor."""
        found = [(name, place) for name, state in sorted(self.world.s.items()) for place, value in enumerate(state.values())
                 if isinstance(value, torch.Tensor) and not is_lazy(value) and not isinstance(value, Scaled)]
        if not found:
            return None
        name, place = self.one_of(found)
        return " ".join([step, name, str(place), *rest])

    def load_state_dict(self):
        if not self.world.s:
            return None
        # Where it might fit.
        pairs = [(name, state) for name, module in sorted(self.world.m.items()) for state in sorted(self.world.s)
                 if set(module.state_dict()) & set(self.world.s[state])]
        name, state = self.one_of(pairs) if pairs and self.random.random() < 0.9 else (self.module(), self.state())
        return f"load_state_dict {name} {state} {self.flag(0.4)} {self.flag(0.4)}"

    def hold(self):
        return self.tensor_of("hold")

    def view(self):
        return self.tensor_of("view")

    def detach(self):
        return self.tensor_of("detach")

    def tensor_of(self, step):
        name = self.module()
        path = self.path_in(name)
        return path and f"{step} t{self.random.randrange(3)} {name} {path}"

    def swap_new(self):
        return self.on_parameter("swap_new", self.one_of(SHAPES), self.seed())

    def write(self):
        return self.on_parameter("write", self.one_of(("2", "0.5", "-1")))

    def set_grad(self):
        return self.on_parameter("set_grad", self.seed())

    def set_data(self):
        return self.on_parameter("set_data", self.one_of(SHAPES), self.seed(), self.one_of(FLOATS))

    def forward(self):
        name = self.module()
        tensors = [t for t in self.world.m[name].parameters() if t.is_floating_point()]
        dtype = str(tensors[0].dtype)[6:] if tensors else "float32"
        device = tensors[0].device.type if tensors else "cpu"
        first = next((m for m in self.world.m[name].modules() if not list(m.children())), None)
        n = next((getattr(first, key) for key in ("in_features", "in_channels", "num_features") if getattr(first, key, 0)), 3)
        shape = self.random.choice((f"2x{n}", f"2x{n}", f"2x{n}", "2x3", "4x2"))
        if isinstance(first, (nn.Conv1d, nn.LazyConv1d)):
            shape = f"1x{n}x4"
        if isinstance(first, nn.Embedding):
            dtype, shape = "int64", "4"
        return f"forward t{self.random.randrange(3)} {name} {shape} {self.seed()} {dtype} {device}"

    def backward(self):
        tensors = [name for name, t in self.world.t.items() if not t.is_leaf]
        return f"{self.random.choice(('backward', 'backward', 'retained_backward'))} {self.one_of(sorted(tensors))}" if tensors else None

    def hook(self):
        name = self.module()
        path = self.path_in(name, "module") if self.random.random() < 0.5 else "."
        return path and f"hook h{self.random.randrange(4)} {name} {path} {self.one_of(HOOKS)}"

    def unhook(self):
        return f"unhook {self.one_of(sorted(self.world.h))}" if self.world.h else None

    def sgd(self):
        return f"sgd o{self.random.randrange(2)} {self.module()} {self.one_of(('0.5', '0.25'))}"

    def step(self):
        return f"step {self.one_of(sorted(self.world.o))}" if self.world.o else None

    def zero(self):
        return f"zero {self.one_of(sorted(self.world.o))} {self.flag()}" if self.world.o else None


# How often each is drawn.
WEIGHTS = {"make": 12, "fill": 2, "drop": 2, "tie": 3, "untie": 1, "parameter": 3, "buffer": 3, "register_module": 2, "set_submodule": 2, "delete": 2,
           "get": 2, "append": 1, "insert": 1, "pop": 1, "submodule": 2, "to": 4, "float": 4, "type": 2, "move": 2, "to_empty": 2, "requires_grad": 3,
           "zero_grad": 2, "train": 3, "swap_on_conversion": 3, "overwrite_on_conversion": 1, "clone": 3, "wrap": 2, "state_dict": 8, "clone_state": 2,
           "copy_state": 1, "file": 2, "rename_key": 2, "remove_key": 1, "set_key": 1, "set_number": 1, "reshape_key": 1, "cast_key": 2, "meta_key": 1,
           "wrap_key": 1, "load_state_dict": 12, "hold": 2, "view": 2, "detach": 1, "swap": 3, "swap_new": 2, "write": 2, "set_grad": 2, "set_data": 1,
           "forward": 8, "backward": 5, "hook": 4, "unhook": 2, "sgd": 2, "step": 3, "zero": 1}


def draw(random, world):
    """A line of a program."""
    drawn = Draw(random, world)
    while True:
        step = "make" if not world.m else random.choices(list(WEIGHTS), WEIGHTS.values())[0]
        line = getattr(drawn, step)()
        if line is not None:
            return line

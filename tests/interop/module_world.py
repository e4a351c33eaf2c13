"""Runs module programs (tests/interop/modules.py) in PyTorch.

A program is a list of lines, a step each: a word for what is done, then variables (m0 a module, s0 a state dict, t0 a tensor, h0 a
hook, o0 an optimizer), paths inside modules ("0.weight", "." for the module itself) and numbers. Every step prints its line, its
outcome ("ok", or the kind and text of an error), what hooks and results have to say, and the module that it names as it is afterwards;
the end of a program prints everything. tests/interop/module_programs.cpp prints the same for Tenon.
"""
import collections
import copy
import io
import math
import warnings

import torch
from module_classes import Block, Counter, Scaled, Tied
from torch import nn
from torch.nn.parameter import is_lazy

DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64,
          "int32": torch.int32, "int64": torch.int64}


def pattern(count, seed):
    """Numbers that every dtype has."""
    return [((i * (2 * seed + 1) + seed) % 9 - 4) * 0.5 for i in range(count)]


def written(value):
    """A number as both sides write it."""
    if isinstance(value, (bool, int)):
        return str(int(value))
    if math.isnan(value):
        return "nan"
    return "%.9g" % (value + 0.0 if value else 0.0)


def shape_of(words):
    """"2x3", and "-" for no dimensions."""
    return () if words == "-" else tuple(int(size) for size in words.split("x"))


class World:
    def __init__(self):
        self.m, self.s, self.t, self.h, self.o = {}, {}, {}, {}, {}
        self.recorded = {}  # by the result of a forward: the parameters, and what they were then
        self.swaps, self.recorded_at = 0, {}  # how many steps may have swapped something, in all and when a result was calculated
        self.poisoned = set()  # results that PyTorch refuses to run backwards because of a swap
        self.conversions = 0
        self.freed = set()  # results that were run backwards
        self.saves_all = {}  # whether it is of layers that save their weights whatever gradients are wanted
        self.log, self.quiet = [], False  # quiet: hooks say nothing of what is only tried
        torch.__future__.set_swap_module_params_on_conversion(False)
        torch.__future__.set_overwrite_module_params_on_conversion(False)

    # Finding things.

    def owner(self, module, path):
        """The module that a path's last part is in, and that part."""
        parent, _, name = path.rpartition(".")
        return self.m[module].get_submodule(parent), name

    def tensor(self, module, path):
        owner, name = self.owner(module, path)
        return owner._parameters[name] if name in owner._parameters else owner._buffers[name]

    # Telling.

    def tensor_text(self, t, seen):
        ids, memory = seen
        if t is None:
            return "None"
        identity = ids.setdefault(id(t), len(ids))
        facts = f"{str(t.dtype)[6:]} {t.device}" + (" requires_grad" if t.requires_grad else "") + ("" if t.is_leaf else " calculated")
        facts += " Parameter" if isinstance(t, nn.Parameter) else ""
        if is_lazy(t):
            return f"#{identity} uninitialized {facts}"
        facts = f"#{identity} {list(t.shape)} {facts}"
        if isinstance(t, Scaled):
            return f"{facts} Scaled {written(t.scale)} of {self.tensor_text(t.elem, seen)}{self.grad_text(t, seen)}"
        if t.device.type == "cpu" and t.numel():
            where = memory.setdefault(t.untyped_storage()._cdata, len(memory))
            facts += f" @{where}+{t.storage_offset()} ({' '.join(written(x) for x in t.detach().flatten().tolist())})"
        return facts + self.grad_text(t, seen)

    def grad_text(self, t, seen):
        return "" if not t.is_leaf or t.grad is None else f" grad {self.tensor_text(t.grad, seen)}"

    def module_text(self, name, seen):
        module = self.m[name]
        lines = [f"  {name}: " + repr(module).replace("\n", "|")]
        lines.append("  " + name + " training: " + "".join(str(int(m.training)) for m in module.modules()))
        for kind, named in (("parameter", module.named_parameters), ("buffer", module.named_buffers)):
            for path, t in named(remove_duplicate=False):
                lines.append(f"  {name} {kind} {path}: {self.tensor_text(t, seen)}")
        return lines

    def state_text(self, name, seen):
        state = self.s[name]
        lines = []
        for key, value in state.items():
            lines.append(f"  {name} {key}: " + (self.tensor_text(value, seen) if isinstance(value, torch.Tensor) else repr(value)))
        metadata = getattr(state, "_metadata", {})
        lines.append(f"  {name} versions: " + " ".join(f"{key}:{value['version']}" for key, value in metadata.items()))
        return lines

    def all_text(self):
        seen = {}, {}
        lines = []
        for name in sorted(self.m):
            lines += self.module_text(name, seen)
        for name in sorted(self.s):
            lines += self.state_text(name, seen)
        for name in sorted(self.t):
            lines.append(f"  {name}: {self.tensor_text(self.t[name], seen)}")
        for name in sorted(self.o):
            for i, t in enumerate(self.o[name].param_groups[0]["params"]):
                lines.append(f"  {name} {i}: {self.tensor_text(t, seen)}")
        return lines

    # Doing.

    def step(self, line):
        """What the step prints."""
        words = line.split()
        self.log = []
        swaps = torch.__future__.get_swap_module_params_on_conversion()
        if words[0] in ("swap", "swap_new") or (swaps and words[0] in ("to", "float", "type", "move", "to_empty", "load_state_dict")):
            self.swaps += 1
        if words[0] in ("to", "float", "type", "move", "to_empty", "set_data"):
            self.conversions += 1
        if words[0] in ("forward", "view"):
            # A graph from before a swap or a conversion that is alive while this one is recorded keeps what it accumulates by.
            others = [name for name, t in self.t.items() if not t.is_leaf]
            older = [name for name, t in self.t.items() if not t.is_leaf and (self.recorded_at.get(name, 0) < self.swaps or not self.is_untouched(name))]
            if older or any(name in self.poisoned for name in others):
                self.poisoned.add(words[1])
            else:
                self.poisoned.discard(words[1])
            self.recorded_at[words[1]] = self.swaps
        counted = self.countable(words)
        before = [t._version for t in counted]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                getattr(self, "do_" + words[0])(*words[1:])
            outcome = ["ok"]
        except Exception as error:
            text = error.args[0] if isinstance(error, KeyError) and error.args else str(error)
            outcome = [f"error {type(error).__name__}: " + text.strip().replace("\n", "|")]
            if words[0] == "load_state_dict":
                self.log.sort(key=lambda line: " loaded " in line)
            if words[0].startswith("swap"):
                self.poisoned |= set(self.recorded)
        lines = ["> " + line] + outcome + self.log
        if counted:
            now = {id(t) for t in self.countable(words)}
            raised = " ".join(str(t._version - then) for t, then in zip(counted, before) if id(t) in now)
            lines.append("  versions raised by " + raised)
        seen = {}, {}
        for word in words[1:]:
            if word in self.m:
                lines += self.module_text(word, seen)
                break
        return lines

    def countable(self, words):
        """The tensors of a module whose versions a step may raise."""
        if words[0] not in ("write", "load_state_dict", "to", "float", "set_data", "train") or torch.__future__.get_swap_module_params_on_conversion():
            return []
        module = self.m[words[1]]
        named = [t for all_named in (module.named_parameters, module.named_buffers) for _, t in all_named(remove_duplicate=False)]
        if words[0] == "load_state_dict" and len({id(t) for t in named}) < len(named):
            return []  # a tied tensor is written once, or once for each name
        return [t for t in [*module.parameters(), *module.buffers()] if not is_lazy(t) and not t.is_meta and not isinstance(t, Scaled)]

    def all_or_nothing(self, module, change):
        """PyTorch changes what it can before it fails, and we nothing: what fails is done to a copy."""
        tried = copy.deepcopy(self.m[module])
        change(tried)
        self.log = []
        change(self.m[module])

    def do_make(self, name, kind, device, *numbers):
        with torch.device(device):
            made = getattr(self, "make_" + kind)(*numbers)
        self.m[name] = made
        self.fill(made, 1)

    def make_linear(self, n, m, bias):
        return nn.Linear(int(n), int(m), bias == "1")

    def make_conv1d(self, n, m, k):
        return nn.Conv1d(int(n), int(m), int(k))

    def make_batchnorm(self, n, affine):
        return nn.BatchNorm1d(int(n), affine=affine == "1")

    def make_layernorm(self, n):
        return nn.LayerNorm(int(n))

    def make_embedding(self, n, d):
        return nn.Embedding(int(n), int(d))

    def make_dropout(self):
        return nn.Dropout(0.5)

    def make_relu(self):
        return nn.ReLU()

    def make_tied(self, n):
        return Tied(int(n))

    def make_block(self, n):
        return Block(int(n))

    def make_counter(self, n):
        return Counter(int(n))

    def make_lazylinear(self, n):
        return nn.LazyLinear(int(n))

    def make_lazyconv1d(self, n, k):
        return nn.LazyConv1d(int(n), int(k))

    def make_lazybatchnorm(self):
        return nn.LazyBatchNorm1d()

    def make_parameterlist(self, *shapes):
        return nn.ParameterList([torch.zeros(shape_of(shape)) for shape in shapes])

    def make_parameterdict(self, *shapes):
        return nn.ParameterDict({"abc"[i]: nn.Parameter(torch.zeros(shape_of(shape))) for i, shape in enumerate(shapes)})

    def make_sequential(self, *names):
        return nn.Sequential(*(self.m[name] for name in names))

    def make_modulelist(self, *names):
        return nn.ModuleList([self.m[name] for name in names])

    def make_moduledict(self, *names):
        return nn.ModuleDict({"abc"[i]: self.m[name] for i, name in enumerate(names)})

    def fill(self, module, seed):
        with torch.no_grad():
            for place, (path, named) in enumerate([*module.named_parameters(), *module.named_buffers()]):
                for t in (named.elem if isinstance(named, Scaled) else named, named.grad):
                    if t is None or is_lazy(t) or t.is_meta:
                        continue
                    values = torch.tensor(pattern(t.numel(), seed + place), dtype=torch.float64).reshape(t.shape)
                    t.copy_(values.abs() + 0.5 if path.endswith("running_var") else values)

    def do_fill(self, name, seed):
        self.fill(self.m[name], int(seed))

    def do_drop(self, name):
        for variables in (self.m, self.s, self.t, self.o):
            variables.pop(name, None)

    # Names.

    def do_tie(self, name, path, other, other_path):
        owner, last = self.owner(name, path)
        owner.register_parameter(last, self.tensor(other, other_path))

    def do_untie(self, name, path):
        owner, last = self.owner(name, path)
        old = self.tensor(name, path)
        owner.register_parameter(last, nn.Parameter(old.detach().clone(), old.requires_grad))

    def do_parameter(self, name, path, shape, seed):
        owner, last = self.owner(name, path)
        owner.register_parameter(last, None if shape == "None" else nn.Parameter(self.made(shape, seed)))

    def do_buffer(self, name, path, shape, seed, persistent):
        owner, last = self.owner(name, path)
        owner.register_buffer(last, None if shape == "None" else self.made(shape, seed), persistent=persistent == "1")

    def made(self, shape, seed):
        shape = shape_of(shape)
        return torch.tensor(pattern(math.prod(shape), int(seed))).reshape(shape)

    def do_register_module(self, name, path, other):
        owner, last = self.owner(name, path)
        owner.register_module(last, None if other == "None" else self.m[other])

    def do_set_submodule(self, name, path, other, strict):
        self.m[name].set_submodule(path, self.m[other], strict == "1")

    def do_delete(self, name, path):
        owner, last = self.owner(name, path)
        delattr(owner, last)

    def do_get(self, name, kind, path):
        getattr(self.m[name], "get_" + kind)(path)

    def do_append(self, name, other):
        self.m[name].append(self.m[other])

    def do_insert(self, name, place, other):
        self.m[name].insert(int(place), self.m[other])

    def do_pop(self, name, place):
        self.m[name].pop(place if isinstance(self.m[name], (nn.ModuleDict, nn.ParameterDict)) else int(place))

    def do_submodule(self, new, name, path):
        self.m[new] = self.m[name].get_submodule("" if path == "." else path)

    # Changing all of it.

    def do_to(self, name, dtype):
        self.all_or_nothing(name, lambda m: m.to(DTYPES[dtype]))

    def do_float(self, name, dtype):
        method = {"float16": "half", "bfloat16": "bfloat16", "float32": "float", "float64": "double"}[dtype]
        if any(is_lazy(t) for t in self.m[name].buffers()):  # which cannot be copied
            getattr(self.m[name], method)()
        else:
            self.all_or_nothing(name, lambda m: getattr(m, method)())

    def do_type(self, name, dtype):
        self.all_or_nothing(name, lambda m: m.type(DTYPES[dtype]))

    def do_move(self, name, device):
        self.all_or_nothing(name, lambda m: m.to(device))

    def do_to_empty(self, name, device, recurse):
        self.all_or_nothing(name, lambda m: m.to_empty(device=device, recurse=recurse == "1"))
        self.fill(self.m[name], 2)

    def do_requires_grad(self, name, path, value):
        if path == ".":
            self.all_or_nothing(name, lambda m: m.requires_grad_(value == "1"))
        else:
            self.tensor(name, path).requires_grad_(value == "1")

    def do_zero_grad(self, name, to_none):
        self.m[name].zero_grad(set_to_none=to_none == "1")

    def do_train(self, name, mode):
        self.m[name].train(mode == "1")

    def do_swap_on_conversion(self, value):
        torch.__future__.set_swap_module_params_on_conversion(value == "1")

    def do_overwrite_on_conversion(self, value):
        torch.__future__.set_overwrite_module_params_on_conversion(value == "1")

    def do_clone(self, new, name):
        self.m[new] = copy.deepcopy(self.m[name])

    def do_wrap(self, name, path, scale):
        owner, last = self.owner(name, path)
        old = self.tensor(name, path)
        owner.register_parameter(last, nn.Parameter(Scaled(old.detach(), float(scale)), old.requires_grad))

    # State dicts.

    def do_state_dict(self, new, name, prefix, keep_vars):
        self.s[new] = self.m[name].state_dict(prefix="" if prefix == "-" else prefix, keep_vars=keep_vars == "1")
        self.log += self.state_text(new, ({}, {}))

    def do_copy_state(self, new, name):
        self.s[new] = copy.copy(self.s[name])
        self.s[new]._metadata = copy.copy(self.s[name]._metadata)

    def do_clone_state(self, new, name):
        clones = collections.OrderedDict()
        for key, value in self.s[name].items():
            clones[key] = value.detach().clone() if isinstance(value, torch.Tensor) and not is_lazy(value) else value
        clones._metadata = copy.copy(self.s[name]._metadata)
        self.s[new] = clones

    def key(self, name, place):
        keys = list(self.s[name])
        return keys[int(place) % len(keys)]

    def do_rename_key(self, name, place, to):
        state, key = self.s[name], self.key(name, place)
        state[to] = state.pop(key)

    def do_remove_key(self, name, place):
        del self.s[name][self.key(name, place)]

    def do_set_key(self, name, key, shape, seed, dtype, device):
        self.s[name][key] = self.made(shape, seed).to(DTYPES[dtype]).to(device)

    def do_set_number(self, name, key, number):
        self.s[name][key] = int(number)

    def do_reshape_key(self, name, place):
        key = self.key(name, place)
        self.s[name][key] = self.s[name][key].detach().unsqueeze(0)

    def do_cast_key(self, name, place, dtype):
        key = self.key(name, place)
        self.s[name][key] = self.s[name][key].detach().to(DTYPES[dtype])

    def do_meta_key(self, name, place):
        key = self.key(name, place)
        self.s[name][key] = self.s[name][key].detach().to("meta")

    def do_wrap_key(self, name, place, scale):
        key = self.key(name, place)
        self.s[name][key] = Scaled(self.s[name][key].detach(), float(scale))

    def do_load_state_dict(self, name, state, strict, assign):
        given = copy.copy(self.s[state])
        # PyTorch notes in it that it was assigned from.
        given._metadata = copy.deepcopy(getattr(self.s[state], "_metadata", {}))

        def load(module):
            keys = module.load_state_dict(given, strict=strict == "1", assign=assign == "1")
            # Ours run when everything was judged, and see the same.
            self.log.sort(key=lambda line: " loaded " in line)
            self.log.append("  " + repr(keys))

        self.all_or_nothing(name, load)

    def do_file(self, new, name):
        file = io.BytesIO()
        torch.save(self.s[name], file)
        file.seek(0)
        self.s[new] = torch.load(file)
        self.log += self.state_text(new, ({}, {}))

    # Tensors.

    def do_hold(self, new, name, path):
        self.t[new] = self.tensor(name, path)
        self.recorded.pop(new, None)

    def do_view(self, new, name, path):
        self.t[new] = self.tensor(name, path).view(-1)
        self.recorded[new] = self.as_it_is([self.tensor(name, path)])

    def do_detach(self, new, name, path):
        self.t[new] = self.tensor(name, path).detach()
        self.recorded.pop(new, None)

    def do_swap(self, name, path, other, other_path):
        torch.utils.swap_tensors(self.tensor(name, path), self.tensor(other, other_path))

    def do_swap_new(self, name, path, shape, seed):
        torch.utils.swap_tensors(self.tensor(name, path), nn.Parameter(self.made(shape, seed)))

    def do_write(self, name, path, factor):
        with torch.no_grad():
            self.tensor(name, path).mul_(float(factor))

    def do_set_grad(self, name, path, seed):
        t = self.tensor(name, path)
        t.grad = torch.tensor(pattern(t.numel(), int(seed)), dtype=t.dtype).reshape(t.shape)

    def do_set_data(self, name, path, shape, seed, dtype):
        self.tensor(name, path).data = self.made(shape, seed).to(DTYPES[dtype])

    def do_forward(self, new, name, shape, seed, dtype, device):
        shape = shape_of(shape)
        if dtype == "int64":
            values = torch.arange(math.prod(shape)) % 2
        else:
            values = torch.tensor(pattern(math.prod(shape), int(seed)), dtype=DTYPES[dtype])
        was = any(is_lazy(t) for t in [*self.m[name].parameters(), *self.m[name].buffers()])
        result = self.m[name](values.reshape(shape).to(device))
        if was:  # what is drawn for them is nobody's
            self.fill(self.m[name], 3)
            self.log.append(f"  {list(result.shape)}")
            return
        self.t[new] = result
        self.freed.discard(new)
        self.recorded[new] = self.as_it_is(self.m[name].parameters())
        self.saves_all[new] = any(not isinstance(m, (nn.Linear, nn.ReLU, nn.Sequential, Tied)) for m in self.m[name].modules())
        self.log.append(f"  {new}: {self.tensor_text(result, ({}, {}))}")

    def do_backward(self, name):
        self.freed.add(name)
        self.t[name].sum().backward()

    def as_it_is(self, tensors):
        return [(t, t._version, (self.conversions, t.dtype, t.requires_grad, None if t.is_meta else t.data_ptr())) for t in tensors]

    def is_untouched(self, name):
        """Whether nothing was written since the result was calculated."""
        return all(now[1:] == then[1:] for then in self.recorded.get(name, []) for now in self.as_it_is(then[:1]))

    def do_retained_backward(self, name):
        self.t[name].sum().backward(retain_graph=True)

    # Hooks.

    def do_hook(self, new, name, path, kind):
        module = self.m[name].get_submodule("" if path == "." else path)
        log = self.say

        def pre(module, args):
            log(f"{new} before {type(module).__name__} {list(args[0].shape)}")

        def after(module, args, result):
            log(f"{new} after {type(module).__name__} {list(result.shape)}")

        def twice(module, args, result):
            return result * 2

        def state_pre(module, prefix, keep_vars):
            log(f"{new} saves '{prefix}' {int(keep_vars)}")

        def state_post(module, state, prefix, metadata):
            log(f"{new} saved '{prefix}' {len(state)} version {metadata['version']}")
            state[prefix + "extra"] = torch.ones(())

        def load_pre(module, state, prefix, metadata, strict, missing, unexpected, errors):
            log(f"{new} loads '{prefix}' version {metadata.get('version')}")
            if prefix + "old" in state:
                state[prefix + "weight"] = state.pop(prefix + "old")

        def load_post(module, keys):
            log(f"{new} loaded {keys.missing_keys} {keys.unexpected_keys}")
            if kind == "forgive":
                keys.missing_keys.clear()

        register = {"before": (module.register_forward_pre_hook, pre), "after": (module.register_forward_hook, after),
                    "twice": (module.register_forward_hook, twice), "saves": (module.register_state_dict_pre_hook, state_pre),
                    "saved": (module.register_state_dict_post_hook, state_post),
                    "loads": (module.register_load_state_dict_pre_hook, load_pre),
                    "loaded": (module.register_load_state_dict_post_hook, load_post),
                    "forgive": (module.register_load_state_dict_post_hook, load_post)}[kind]
        self.h[new] = register[0](register[1])

    def say(self, text):
        if not self.quiet:
            self.log.append("  " + text)

    def do_unhook(self, name):
        self.h[name].remove()

    # Optimizers.

    def do_sgd(self, new, name, lr):
        self.o[new] = torch.optim.SGD(self.m[name].parameters(), lr=float(lr))

    def do_step(self, name):
        self.o[name].step()

    def do_zero(self, name, to_none):
        self.o[name].zero_grad(set_to_none=to_none == "1")

"""What module programs (tests/interop/modules.py) leave out, because docs/divergences.md says that we differ there.

LEFT_OUT has the steps that are not taken: a reason, the row of docs/divergences.md (how its first column begins), and when it holds.
TEXTS has the errors that are worded differently. Rows that are about no difference say what cannot be compared in their place.
"""
import copy
import pathlib
import re

import torch
from module_classes import Block, Counter, Scaled, Tied
from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import is_lazy

CONVERSIONS = ("to", "float", "type", "move", "to_empty")
LISTS = (nn.Sequential, nn.ModuleList)
PARAMETERS = (nn.ParameterList, nn.ParameterDict)


# What a module is like.

def tensors_of(module):
    return [t for named in (module.named_parameters, module.named_buffers) for _, t in named(remove_duplicate=False)]


def has_lazy(module):
    return any(is_lazy(t) for t in tensors_of(module)) or any(isinstance(m, LazyModuleMixin) for m in module.modules())


def is_wrapped(module):
    return any(isinstance(t, Scaled) for t in tensors_of(module))


def has_ties(tensors):
    return len({id(t) for t in tensors}) < len(tensors)


def buffers_have_ties(module):
    """Whether a buffer has two names."""
    tensors = tensors_of(module)
    buffers = {id(t) for t in module.buffers()}
    return any(id(t) in buffers for i, t in enumerate(tensors) if any(t is other for other in tensors[:i]))


def share_memory(module):
    """Whether tensors that are not the same have one storage."""
    storages = {}
    for t in {id(t): t for t in tensors_of(module)}.values():
        for data in (t, t.grad):
            data = data.elem if isinstance(data, Scaled) else data
            if data is None or is_lazy(data):
                continue
            if storages.setdefault(data.untyped_storage()._cdata, t) is not t:
                return True
    return False


def swaps():
    return torch.__future__.get_swap_module_params_on_conversion()


def overwrites():
    return torch.__future__.get_overwrite_module_params_on_conversion()


def may_be_held(world):
    """Whether a view or a recorded graph might keep a tensor from being swapped."""
    return any(not t.is_leaf or (not is_lazy(t) and t._is_view()) for t in world.t.values())


def changes(t, words):
    """Whether a conversion makes another tensor of one."""
    step, target = words[0], words[2]
    if step == "to_empty":
        return True
    if step == "move":
        return t.device.type != target
    return str(t.dtype)[6:] != target and (step == "type" or t.is_floating_point())


def names_module(world, words):
    """The first module that a step changes."""
    return next((world.m[word] for word in words[1:] if word in world.m), None)


def all_modules(world, words):
    return [world.m[word] for word in words[1:] if word in world.m]


def parent(world, words):
    """Of the path behind the module."""
    return world.owner(words[1], words[2])


def named_tensors(world, words):
    """The tensors whose paths a step has behind modules."""
    found = []
    for name, path in zip(words[1:], words[2:]):
        if name in world.m and path not in world.m:
            try:
                found.append(world.tensor(name, path))
            except (KeyError, AttributeError):
                continue
    return found


# The rows' conditions.

def makes_circle(world, words):
    if words[0] in ("register_module", "set_submodule"):
        owner = world.m[words[1]].get_submodule(words[2].rpartition(".")[0])
        other = world.m.get(words[3])
    elif words[0] in ("append", "insert"):
        owner, other = world.m[words[1]], world.m[words[-1]]
    else:
        return False
    return other is not None and any(m is owner for m in other.modules())


def child_of_other_class(world, words):
    """A member of a class of ours is for modules of one class."""
    if words[0] not in ("register_module", "set_submodule"):
        return False
    owner, name = parent(world, words)
    if not isinstance(owner, (Tied, Block)) or name not in ("fc", "norm", "encoder", "decoder"):
        return False
    return words[3] == "None" or type(world.m[words[3]]) is not {"norm": nn.LayerNorm}.get(name, nn.Linear)


def child_of_list(world, words):
    """By name, or null, where children have numbers."""
    if words[0] in ("register_module", "set_submodule", "delete"):
        return isinstance(parent(world, words)[0], LISTS)
    if words[0] in ("append", "insert", "pop") and isinstance(world.m[words[1]], LISTS):
        size = len(world.m[words[1]])
        return words[0] == "insert" and int(words[2]) > size
    return False


def entry_of_parameters(world, words):
    if words[0] in ("parameter", "buffer", "delete"):
        owner, name = parent(world, words)
        return isinstance(owner, PARAMETERS) and (words[0] != "parameter" or words[3] == "None" or name not in owner._parameters)
    if words[0] in ("register_module", "set_submodule"):
        return isinstance(parent(world, words)[0], PARAMETERS)
    return False


def deletes_a_layers_own(world, words):
    if words[0] != "delete":
        return False
    owner, name = parent(world, words)
    return name not in ("extra", "other", "head", "seen", "cache", "shift") and not isinstance(owner, nn.ModuleDict)


def fills_null_place(world, words):
    if words[0] != "set_submodule":
        return False
    module = world.m[words[1]]
    *path, last = words[2].split(".")
    for name in path:
        module = module._modules.get(name)
        if module is None:
            return True
    return last in module._modules and module._modules[last] is None


def copies_what_shares(world, words):
    return words[0] == "clone" and share_memory(world.m[words[2]])


def unfreezes_under_a_view(world, words):
    return words[0] == "requires_grad" and words[3] == "1" and any(not is_lazy(t) and t._is_view() for t in world.t.values())


def separates(world, words):
    if words[0] not in CONVERSIONS:
        return False
    module = world.m[words[1]]
    tied = has_ties(list(dict(module.named_parameters(remove_duplicate=False)).values()))
    return share_memory(module) or buffers_have_ties(module) or (tied and (overwrites() or words[0] in ("move", "to_empty")))


def does_nothing_by_replacing(world, words):
    if words[0] == "load_state_dict":  # onto meta, by copying
        return swaps() and words[4] != "1" and may_be_held(world) and any(t.is_meta for t in tensors_of(world.m[words[1]]))
    return words[0] in CONVERSIONS and (swaps() or overwrites()) and any(
        not changes(t, words) or (t.grad is not None and not changes(t.grad, words)) for t in world.m[words[1]].parameters())


def swap_fails_half_way(world, words):
    return words[0] in (*CONVERSIONS, "load_state_dict") and swaps() and may_be_held(world) and (
        words[0] == "load_state_dict" or len(tensors_of(world.m[words[1]])) > 1 or any(t.grad is not None for t in world.m[words[1]].parameters()))


def held_by_what_is_not_needed(world, words):
    """A layer's graph that is alive, and a swap."""
    graphs = [{id(t) for t, *_ in world.recorded.get(name, [])} for name, t in world.t.items() if world.saves_all.get(name) and not t.is_leaf]
    changed = [{id(t) for t, *_ in world.recorded[name]} for name in world.t if name in world.recorded and not world.is_untouched(name)]
    # Where what was recorded is by now, nobody here knows.
    if any(not t.is_leaf and world.recorded_at.get(name, 0) < world.swaps for name, t in world.t.items()):
        return words[0] in ("swap", "swap_new") or (swaps() and words[0] in (*CONVERSIONS, "load_state_dict"))
    if words[0] in ("swap", "swap_new"):
        graphs += changed
        return any(id(t) in graph for graph in graphs for t in named_tensors(world, words))
    return words[0] in (*CONVERSIONS, "load_state_dict") and swaps() and bool(graphs or changed)


def swaps_with_itself(world, words):
    return words[0] == "swap" and world.tensor(*words[1:3]) is world.tensor(*words[3:5])


def face_differs(world, words):
    return words[0] == "move" and any(isinstance(t, Scaled) and t.dtype != t.elem.dtype for t in tensors_of(world.m[words[1]]))


def refused_swap_poisons(world, words):
    return words[0] in ("backward", "retained_backward") and words[1] in world.poisoned


def older_graph_lives(world, words):
    return words[0] in ("backward", "retained_backward") and any(
        not t.is_leaf and world.recorded_at.get(name, 0) < world.recorded_at.get(words[1], 0) for name, t in world.t.items())


def swaps_ties_with_wrappers(world, words):
    return words[0] == "load_state_dict" and swaps() and has_ties(tensors_of(world.m[words[1]])) and (
        is_wrapped(world.m[words[1]]) or any(isinstance(value, Scaled) for value in world.s[words[2]].values()))


def assigns_to_ties(world, words):
    return words[0] == "load_state_dict" and words[4] == "1" and (has_ties(tensors_of(world.m[words[1]])) or share_memory(world.m[words[1]]))


def loses_grad(world, words):
    return words[0] == "load_state_dict" and swaps() and any(t.grad is not None for t in tensors_of(world.m[words[1]]))


def assigns_parameter_to_buffer(world, words):
    if words[0] != "load_state_dict" or words[4] != "1":
        return False
    buffers = dict(world.m[words[1]].named_buffers(remove_duplicate=False))
    return any(isinstance(value, nn.Parameter) and key in buffers for key, value in world.s[words[2]].items())


def own_tensors(module):
    return {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers(remove_duplicate=False))}


def assigns_callers_parameter(world, words):
    if words[0] != "load_state_dict" or words[4] != "1":
        return False
    own = own_tensors(world.m[words[1]])
    return any(isinstance(value, nn.Parameter) and key in own and value.requires_grad != own[key].requires_grad for key, value in world.s[words[2]].items())


def copies_onto_itself(world, words):
    """From the module's own memory under another name."""
    if words[0] != "load_state_dict" or words[4] == "1":
        return False
    def memory(t):
        return None if is_lazy(t) or isinstance(t, Scaled) else t.untyped_storage()._cdata
    own = [(key, memory(t)) for key, t in own_tensors(world.m[words[1]]).items()]
    return any(isinstance(value, torch.Tensor) and memory(value) is not None and memory(value) == data and key != name
               for key, value in world.s[words[2]].items() for name, data in own)


def fails_in_a_copy(world, words):
    """The program's class has no copy_, and makes no parameters of whole numbers: found when everything else was good."""
    if words[0] != "load_state_dict":
        return False
    if any(isinstance(value, Scaled) and value.shape == (1,) for value in world.s[words[2]].values()):
        return True  # which might have to become one without dimensions
    whole = any(isinstance(value, torch.Tensor) and not value.is_floating_point() for value in world.s[words[2]].values())
    return ((words[4] != "1" and not swaps()) or (swaps() and whole)) and (
        is_wrapped(world.m[words[1]]) or any(isinstance(value, Scaled) for value in world.s[words[2]].values()))


def saved_is_written(world, words):
    return words[0] in ("backward", "retained_backward") and (
        not world.is_untouched(words[1]) or (words[1] in world.freed and world.saves_all.get(words[1], False)))


def wrapper_into_meta(world, words):
    if words[0] != "load_state_dict" or words[4] == "1" or swaps():
        return False
    own = own_tensors(world.m[words[1]])
    return any(key in own and own[key].is_meta and (isinstance(value, Scaled) or isinstance(own[key], Scaled)) for key, value in world.s[words[2]].items())


def shared_norm_lacks_a_name(world, words):
    if words[0] != "load_state_dict":
        return False
    names = {}
    for name, module in world.m[words[1]].named_modules(remove_duplicate=False):
        if isinstance(module, nn.BatchNorm1d):
            names.setdefault(id(module), []).append(f"{name}.num_batches_tracked" in world.s[words[2]])
    return any(any(given) and not all(given) for given in names.values())


def lazy_is_refused(world, words):
    if words[0] in ("make", "drop", "train", "hook", "state_dict", "submodule", "zero_grad", "hold", "get", "append", "insert", "pop", "fill"):
        return False
    if words[0] in ("file", "clone_state", "copy_state"):
        return words[0] == "file" and any(isinstance(value, torch.Tensor) and is_lazy(value) for value in world.s[words[2]].values())
    if words[0] in ("step", "zero"):
        return any(is_lazy(t) for t in world.o[words[1]].param_groups[0]["params"])
    modules = [module for module in all_modules(world, words) if has_lazy(module)]
    if words[0] == "load_state_dict" and any(isinstance(value, torch.Tensor) and is_lazy(value) for value in world.s[words[2]].values()):
        return True
    if not modules or words[0] == "forward":
        return False
    if words[0] == "float":
        return swaps() or overwrites() or words[2] == "bfloat16" or has_ties(tensors_of(modules[0]))
    if words[0] == "clone":
        return any(is_lazy(t) for t in world.m[words[2]].buffers())
    return True


def first_call_fails(world, words):
    if words[0] != "forward" or not has_lazy(world.m[words[2]]):
        return False
    module, dims = world.m[words[2]], words[3].count("x") + 1
    if isinstance(module, nn.LazyBatchNorm1d):
        return dims not in (2, 3)
    if any(is_lazy(t) for t in module.buffers()) or has_ties(tensors_of(module)):
        return True
    tried = copy.deepcopy(module)
    world.quiet = True
    try:
        shape = [int(size) for size in words[3].split("x")]
        tried(torch.zeros(shape, dtype=getattr(torch, words[5]), device=words[6]))
    except Exception:
        return True
    finally:
        world.quiet = False
    return False


def draws(world, words):
    return words[0] == "forward" and any(isinstance(m, nn.Dropout) and m.training for m in world.m[words[2]].modules())


def is_mixed(world, words):
    """Tensors of several dtypes or devices, or things that are not there."""
    if words[0] != "forward":
        return False
    module = world.m[words[2]]
    tensors = [t for t in tensors_of(module) if not is_lazy(t)]
    floating = {t.dtype for t in tensors if t.is_floating_point()} | ({getattr(torch, words[5])} if words[5] != "int64" else set())
    devices = {t.device.type for t in tensors_of(module)} | {words[6]}
    whole = any(not t.is_floating_point() for t in module.parameters() if not is_lazy(t))
    whole = whole or any(not t.is_floating_point() for path, t in module.named_buffers() if not is_lazy(t) and path.rpartition(".")[2].startswith("running_"))
    incomplete = any(isinstance(m, (Tied, Block, Counter)) and any(m._parameters.get(n, m._modules.get(n)) is None for n in names)
                     for m in module.modules() for names in ([n for n in ("fc", "norm", "scale", "encoder", "decoder", "weight") if n in CLASS_NAMES.get(type(m), ())],))
    # What is left out of a layer, or given another shape, is an error of that layer's own.
    odd = any(p is None for m in module.modules() if not isinstance(m, (nn.Linear, Block, Tied)) for p in m._parameters.values() if not isinstance(m, nn.BatchNorm1d))
    odd = odd or any(isinstance(m, nn.Conv1d) and not is_lazy(m.weight) and (m.weight.dim() != 3 or m.bias is None or m.bias.shape != m.weight.shape[:1])
                     for m in module.modules())
    odd = odd or any(isinstance(m, nn.Linear) and not is_lazy(m.weight) and (m.weight.dim() != 2 or (m.bias is not None and m.bias.dim() != 1))
                     for m in module.modules())
    return len(floating) > 1 or len(devices) > 1 or whole or incomplete or odd or is_wrapped(module) or not_callable(module)


CLASS_NAMES = {Tied: ("encoder", "decoder"), Block: ("fc", "norm", "scale"), Counter: ("weight",)}


def not_callable(module):
    return any(isinstance(m, (nn.ModuleList, nn.ModuleDict, *PARAMETERS)) for m in module.modules())


def hooks_what_is_not_called(world, words):
    return words[0] == "hook" and words[4] in ("before", "after", "twice") and isinstance(
        world.m[words[2]].get_submodule("" if words[3] == "." else words[3]), (nn.ModuleList, nn.ModuleDict, *PARAMETERS))


def wrapped_in_odd_step(world, words):
    if words[0] in ("view", "write", "set_grad", "set_data", "wrap"):
        return any(isinstance(t, Scaled) for t in named_tensors(world, words))
    if words[0] == "file":
        return any(isinstance(value, Scaled) for value in world.s[words[2]].values())
    if words[0] == "step":
        return any(isinstance(t, Scaled) for t in world.o[words[1]].param_groups[0]["params"])
    return False


def odd_gradient(world, words):
    if words[0] == "set_grad":
        t = named_tensors(world, words)[0]
        return is_lazy(t) or t.is_meta or not t.is_floating_point()
    if words[0] == "write":
        return not named_tensors(world, words)[0].is_floating_point()
    if words[0] in CONVERSIONS:
        return any(t.grad is not None and (t.grad.dtype != t.dtype or t.grad.shape != t.shape) for t in world.m[words[1]].parameters() if not is_lazy(t))
    if words[0] == "step":
        return any(t.is_meta or (t.grad is not None and (t.grad.dtype != t.dtype or t.grad.shape != t.shape or t.grad.is_meta))
                   for t in world.o[words[1]].param_groups[0]["params"])
    return False


LEFT_OUT = [
    ("circles", "a module may contain itself", makes_circle),
    ("members have one class", "a tensor may be assigned where a buffer, a module or a plain attribute is", child_of_other_class),
    ("lists hold numbered modules", "`Sequential` and `ModuleList` may hold None", child_of_list),
    ("entries of parameter containers", "a parameter that is registered in a `ParameterList` or `ParameterDict`", entry_of_parameters),
    ("null places are filled", "`set_submodule` refuses a place that holds None", fills_null_place),
    ("clones keep what is shared", "copies of parameters that share memory are separate", copies_what_shares),
    ("views of what was frozen", "a view that was taken while its base was frozen", unfreezes_under_a_view),
    ("conversions keep what is shared", "conversions make separate buffers of shared ones", separates),
    ("conversions without effect", "a conversion that has nothing to do swaps all the same", does_nothing_by_replacing),
    ("swaps are all or nothing", "a failing swap in a conversion leaves earlier tensors swapped", swap_fails_half_way),
    ("assign keeps ties", "`assign` makes separate parameters of tied ones", assigns_to_ties),
    ("swapping loads keep grads", "swapping loses tensor hooks, attributes and, in loads, the grad", loses_grad),
    ("the caller's tensors stay as they are", "`assign=True` notes itself in the caller's `_metadata`", assigns_callers_parameter),
    ("loads from the module itself", "tensors of the module itself, loaded under other names", copies_onto_itself),
    ("buffers stay buffers", "assigning a parameter to a buffer's name makes it a parameter", assigns_parameter_to_buffer),
    ("wrappers into meta", "a user-defined tensor that is loaded into a meta tensor", wrapper_into_meta),
    ("loads are all or nothing", "`load_state_dict` loads what it can and then raises", fails_in_a_copy),
    ("what is saved", "layers save their weights whatever gradients are wanted", saved_is_written),
    ("swaps of what is saved", "layers save their weights whatever gradients are wanted", held_by_what_is_not_needed),
    ("refused swaps", "if the second tensor is refused, the first one's accumulator is already poisoned", refused_swap_poisons),
    ("graphs after a swap", "a graph that is recorded after a swap", older_graph_lives),
    ("ties and wrappers", "tensors of the module itself, loaded under other names", swaps_ties_with_wrappers),
    ("swaps with itself", "a tensor with views cannot be swapped with itself", swaps_with_itself),
    ("moves of wrappers", "`to(device)` of a user-defined tensor", face_differs),
    ("norms with several names", "a norm that has several names, of which the last ones are not in a state dict", shared_norm_lacks_a_name),
    # Loads, ties, swaps and conversions of lazy modules differ in several rows of that section, which tests/interop/lazy.py and
    # tests/nn/lazy*_test.cpp try one by one.
    ("lazy modules", "`half`, `float` and `double` convert a lazy module", lazy_is_refused),
    ("first calls that fail", "an input of the wrong rank or an impossible number of channels", first_call_fails),
    # What cannot be compared.
    ("random numbers", "not a difference: dropout draws", draws),
    ("layers that are not whole", "not a difference: errors of layers are compared by tests/record/parity/every_layer.py", is_mixed),
    ("modules that are not called", "not a difference: a class without forward has no forward hooks", hooks_what_is_not_called),
    ("a layer without its own names", "not a difference: the layer is broken in both", deletes_a_layers_own),
    ("operators of a wrapper", "not a difference: the class has only what modules need", wrapped_in_odd_step),
    ("gradients of another kind", "not a difference: errors of operators", odd_gradient),
]


# Kinds of errors: PyTorch's, and what they may be here ("kinds of errors: a RuntimeError for most things", "a bad name is a KeyError").
KINDS = {"KeyError": {"ValueError", "IndexError"}, "AttributeError": {"IndexError", "ValueError", "TypeError"}, "TypeError": {"TypeError", "DTypeError"},
         "ValueError": {"ValueError"}, "IndexError": {"IndexError"}, "NotImplementedError": {"NotImplementedError", "TypeError"}}

# Beginnings, or patterns, of texts that are not the same: PyTorch's, ours, and the row.
TEXTS = [
    (r"Unsupported function", "no implementation found for", "not a difference: the program's own class says so"),
    (r"Expected use_count of t[12] to be 1|It is not possible to get the gradient edge", "cannot swap", "refusals are worded by use count"),
    (r"Attempted to call `variable.set_data\(tensor\)`", "set_data: .* incompatible tensor type", "refusals are worded by use count"),
    (r"Cannot copy out of meta tensor", "to: Cannot copy out of meta tensor; no data!.*Please use Module::to_empty", "not a difference: C++ names"),
    (r"'\w+' object has no attribute '\w+'", r"\w+ (object )?has no attribute [`']\w+[`']", "a bad name is a KeyError"),
    (r"only Tensors of floating point dtype can require gradients", "only Tensors of floating point and complex dtype can require gradients",
     "whole numbers assigned to a parameter that requires grad have two wordings"),
    (r"[abc]$", r"ModuleDict has no attribute `[abc]`", "a bad name is a KeyError"),
    (r"[Oo]nly Tensors of floating point|_apply\(\): Couldn't swap", "data set to a tensor that requires gradients must be floating point",
     "whole numbers assigned to a parameter that requires grad have two wordings"),
    (r"_apply\(\): Couldn't swap", r"_apply\(\): Couldn't swap", "refusals are worded by use count"),
]

# Parts of the text of a load's error that differ: what an exception inside of it said, and where its name is in the row above.
INNER = re.compile(r", an exception occurred : \((\"|').*?(\"|'),?\)\.")


def parsed(line):
    kind, _, text = line.removeprefix("error ").partition(": ")
    return kind, text


def same_error(step, theirs, ours):
    """Whether two errors of a step ("> to m0 float16") are of kinds that belong together, and their texts the same, where they are to be."""
    if not ours.startswith("error "):
        return False
    kind, text = parsed(theirs)
    our_kind, our_text = parsed(ours)
    if our_kind in ("InternalError", "std::exception"):
        return False
    if step.split()[1] in ("forward", "backward", "retained_backward"):
        return True  # errors of layers and operators are compared by tests/record/parity/every_layer.py
    if our_kind not in KINDS.get(kind, {our_kind}):
        return False
    if "an exception occurred" in text:
        inner = INNER.findall(text), INNER.findall(our_text)
        text, our_text = INNER.sub("", text), INNER.sub("", our_text)
        if len(inner[0]) != len(inner[1]):
            return False
    # Ours say behind it which layer they came from, and what to do.
    if our_text.startswith(text.rstrip(".")):
        return True
    return any(re.match(a, text) and re.match(b, our_text) for a, b, _ in TEXTS)


def check_table():
    """Every row names one of docs/divergences.md."""
    rows = (pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "divergences.md").read_text()
    for row in [row for _, row, _ in LEFT_OUT] + [row for _, _, row in TEXTS]:
        if not row.startswith("not a difference: ") and "| " + row not in rows:
            raise SystemExit(f"tests/interop/module_left_out.py: docs/divergences.md has no row that begins with {row!r}")

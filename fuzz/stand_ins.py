"""What Python's own unpickler makes of a program: every name that Tenon knows, with stand-ins for torch's functions, and the
values as `tenon inspect --json` has them."""
import collections
import io
import json
import math
import pathlib
import pickle
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/hostile"))
import names as known_names  # noqa: E402


class Wrong(Exception):
    """What torch's own functions would raise."""


class Size(tuple):
    pass


class Named:
    """A dtype, a device or a layout: its kind and its name."""

    def __init__(self, kind, name):
        self.kind, self.name = kind, name


class Tensor:
    def __init__(self, dtype, shape, stride, offset, requires_grad, parameter=False):
        if type(requires_grad) is not bool or type(offset) is not int or len(shape) != len(stride):
            raise Wrong
        if requires_grad and not dtype.startswith(("float", "bfloat", "complex")):
            raise Wrong
        self.facts = [dtype, list(shape), list(stride), offset, requires_grad, parameter]


class Storage:
    def __init__(self, dtype, count):
        self.dtype, self.count = dtype, count


class Device(Named):
    def __new__(cls, kind, index=None):
        if not isinstance(kind, str):
            raise Wrong
        return Named("device", kind if index is None else f"{kind}:{index}")


class Parameter:
    """The class, which only _rebuild_from_type_v2 is given."""

    def __init__(self, *_):
        raise Wrong


class Composite:
    """A tensor of others, as `inspect` has it. What is None is not shown."""

    def __init__(self, **fields):
        self.fields = {key: value for key, value in fields.items() if value is not None}


class Uninitialized:
    def __init__(self, parameter, requires_grad, device=None, dtype=None):
        if type(requires_grad) is not bool or not is_named(device, "device", None) or not is_named(dtype, "dtype", None):
            raise Wrong
        self.facts = [dtype.name if dtype else "float32", device.name if device else "cpu", requires_grad, parameter]


def is_named(value, kind, *others):
    return value in others if not isinstance(value, Named) else value.kind == kind


def layout(name):
    if not isinstance(name, str):
        raise Wrong
    return Named("layout", name)


def whole(numbers):
    # Sizes are taken when the call is made, whatever becomes of the list.
    if not isinstance(numbers, (tuple, list)) or any(type(n) is not int for n in numbers):
        raise Wrong
    return tuple(numbers)


def rebuild_tensor(storage, offset, size, stride):
    return rebuild_tensor_v2(storage, offset, size, stride, False, None)


def rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks, metadata=None):
    if not isinstance(storage, Storage):
        raise Wrong
    return Tensor(storage.dtype, whole(size), whole(stride), offset, requires_grad)


def rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    if not isinstance(storage, Storage) or not is_named(dtype, "dtype"):
        raise Wrong
    return Tensor(dtype.name, whole(size), whole(stride), offset, requires_grad)


def rebuild_parameter(data, requires_grad, hooks):
    if not isinstance(data, Tensor):
        raise Wrong
    return Tensor(*data.facts[:4], requires_grad, True)


def check_state(state):
    parts = state if isinstance(state, tuple) else (state, None)
    if len(parts) != 2 or any(part is not None and not isinstance(part, dict) for part in parts):
        raise Wrong


def rebuild_parameter_with_state(data, requires_grad, hooks, state):
    check_state(state)
    return rebuild_parameter(data, requires_grad, hooks)


def rebuild_meta(dtype, size, stride, requires_grad):
    if not is_named(dtype, "dtype"):
        raise Wrong
    return Tensor(dtype.name, whole(size), whole(stride), 0, requires_grad)


def rebuild_sparse(kind, data):
    if not is_named(kind, "layout") or not isinstance(data, tuple):
        raise Wrong
    if kind.name == "torch.sparse_coo":
        indices, values, size, *coalesced = data
        fields = {"indices": indices, "values": values}
        if len(coalesced) > 1 or any(one is not None and type(one) is not bool for one in coalesced):
            raise Wrong
        more = {"is_coalesced": coalesced[0] if coalesced else None}
    else:
        compressed, plain, values, size = data
        rows = kind.name in ("torch.sparse_csr", "torch.sparse_bsr")
        fields = {"crow_indices" if rows else "ccol_indices": compressed, "col_indices" if rows else "row_indices": plain,
                  "values": values}
        more = {}
    if not all(isinstance(part, Tensor) for part in fields.values()):
        raise Wrong
    whole(size)
    return Composite(layout=kind.name, **fields, size=size, **more)


def rebuild_quantized(storage, offset, size, stride, parameters, requires_grad, hooks):
    if not isinstance(storage, Storage) or not isinstance(parameters, tuple) or not is_named(parameters[0], "scheme"):
        raise Wrong
    data = Tensor(storage.dtype, whole(size), whole(stride), offset, False)
    about = {"layout": "torch.strided", "qscheme": parameters[0].name}
    # The symmetric ones torch refuses, and has no functions that make such; Tenon reads them as the others.
    if parameters[0].name in ("torch.per_tensor_affine", "torch.per_tensor_symmetric"):
        _, about["scale"], about["zero_point"] = parameters
    else:
        _, about["scales"], about["zero_points"], about["axis"] = parameters
    return Composite(**about, size=Size(data.facts[1]))


def rebuild_nested(buffer, sizes, strides, offsets):
    parts = {"buffer": buffer, "sizes": sizes, "strides": strides, "offsets": offsets}
    if not all(isinstance(part, Tensor) for part in parts.values()):
        raise Wrong
    return Composite(**parts)


def rebuild_from_type(function, kind, arguments, state):
    if function not in (rebuild_tensor_v2, rebuild_tensor_v3) or kind not in (Tensor, Parameter):
        raise Wrong
    check_state(state)
    made = function(*arguments)
    return Tensor(*made.facts[:5], kind is Parameter)


def uninitialized_parameter(requires_grad=True, device=None, dtype=None):
    return Uninitialized(True, requires_grad, device, dtype)


def uninitialized_buffer(requires_grad=False, device=None, dtype=None):
    return Uninitialized(False, requires_grad, device, dtype)


SIZES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1,
         "bool": 1, "complex128": 16, "complex64": 8, "qint8": 1, "quint8": 1, "qint32": 4, "quint4x2": 1, "quint2x4": 1}
STORAGES = dict(zip(("Double", "Float", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool", "ComplexDouble",
                     "ComplexFloat", "QInt8", "QUInt8", "QInt32", "QUInt4x2", "QUInt2x4"), SIZES))
STORAGES = {f"{kind}Storage": dtype for kind, dtype in STORAGES.items()}
TWICE = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32", "short": "int16"}
STORED = 64  # bytes of each storage
NAMES = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("collections", "Counter"): collections.Counter,
    ("_codecs", "encode"): __import__("_codecs").encode,
    ("torch", "Size"): Size,
    ("torch", "device"): Device,
    ("torch", "Tensor"): Tensor,
    ("torch.nn.parameter", "Parameter"): Parameter,
    ("torch.nn.parameter", "UninitializedParameter"): uninitialized_parameter,
    ("torch.nn.parameter", "UninitializedBuffer"): uninitialized_buffer,
    ("torch.serialization", "_get_layout"): layout,
    ("torch._utils", "_rebuild_tensor"): rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor_v2,
    ("torch._utils", "_rebuild_tensor_v3"): rebuild_tensor_v3,
    ("torch._utils", "_rebuild_parameter"): rebuild_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): rebuild_parameter_with_state,
    ("torch._utils", "_rebuild_meta_tensor_no_storage"): rebuild_meta,
    ("torch._utils", "_rebuild_sparse_tensor"): rebuild_sparse,
    ("torch._utils", "_rebuild_qtensor"): rebuild_quantized,
    ("torch._utils", "_rebuild_nested_tensor"): rebuild_nested,
    ("torch._tensor", "_rebuild_from_type_v2"): rebuild_from_type,
    ("torch.storage", "UntypedStorage"): Named("storage", "UntypedStorage"),
}
for name in known_names.PLAIN:
    for module in ("builtins", "__builtin__"):
        NAMES[module, name] = getattr(__import__("builtins"), name)
for name in known_names.DTYPES:
    NAMES["torch", name] = Named("dtype", TWICE.get(name, name))
for name in known_names.SCHEMES:
    NAMES["torch", name] = Named("scheme", "torch." + name)
for name in STORAGES:
    for module in ("torch", "torch.cuda"):
        NAMES[module, name] = Named("storage", name)
assert set(NAMES) == {(module, name) for module, names in known_names.TABLE.items() for name in names}


class Names:
    def find_class(self, module, name):
        return NAMES[module, name]

    def persistent_load(self, saved):
        kind, storage, key, location, count = saved
        if kind != "storage" or storage.kind != "storage":
            raise Wrong
        return Storage(STORAGES.get(storage.name, "uint8"), count)


class Unpickler(Names, pickle.Unpickler):
    pass


class Failed:
    """What a call would have made that fails. It takes whatever is put into it."""

    def nothing(self, *_):
        pass

    append = extend = update = add = __setitem__ = __setstate__ = nothing


class LazyUnpickler(Names, pickle._Unpickler):
    """One that fails only where what a program makes at last is wrong: Tenon makes nothing else."""

    dispatch = dict(pickle._Unpickler.dispatch)

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.wrong = []  # lists, dicts and sets that an operation failed on

    def persistent_load(self, saved):
        try:
            return super().persistent_load(saved)
        except Exception:
            return Failed()

    def made(self, function):
        arguments = self.stack.pop()
        kind = self.stack.pop()
        try:
            self.append(function(kind, arguments))
        except Exception:
            self.append(Failed())

    def load_reduce(self):
        self.made(lambda function, arguments: function(*arguments))

    def load_newobj(self):
        self.made(lambda kind, arguments: kind.__new__(kind, *arguments))

    def put(self, load, marked):
        into = self.metastack[-1][-1] if marked else self.stack[-3]
        after = self.metastack[-1] if marked else self.stack[:-2]
        try:
            load(self)
        except Exception:
            self.wrong.append(into)
            if marked and self.metastack and self.metastack[-1] is after:
                self.metastack.pop()
            self.stack = after
            self.append = self.stack.append

    def collect(self, load):
        try:
            load(self)
        except Exception:
            self.append(Failed())

    dispatch[pickle.REDUCE[0]] = load_reduce
    dispatch[pickle.NEWOBJ[0]] = load_newobj
    for op in (pickle.SETITEM, pickle.SETITEMS, pickle.ADDITEMS):
        dispatch[op[0]] = lambda self, load=dispatch[op[0]], marked=op != pickle.SETITEM: self.put(load, marked)
    for op in (pickle.DICT, pickle.FROZENSET):
        dispatch[op[0]] = lambda self, load=dispatch[op[0]]: self.collect(load)


def as_json(value, within=()):
    """What `tenon inspect --json` prints of the value, as Python reads that."""
    if id(value) in within:
        raise Wrong("it contains itself")
    inside = (*within, id(value))
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 2**53 else {"int": str(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": "nan" if value != value else "inf" if value > 0 else "-inf"}
    if isinstance(value, complex):
        return {"complex": [as_json(value.real), as_json(value.imag)]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": value.hex()}
    if isinstance(value, Size):
        return {"size": list(value)}
    if isinstance(value, Named) and value.kind == "scheme":
        return {"global": value.name, "args": [], "state": None}
    if isinstance(value, Named) and value.kind != "storage":
        return {value.kind: value.name}
    if isinstance(value, Tensor):
        return {"tensor": value.facts}
    if isinstance(value, Storage):
        return {"tensor": [value.dtype, [value.count], [1], 0, False, False]}
    if isinstance(value, Uninitialized):
        return {"uninitialized": value.facts}
    if isinstance(value, Composite):
        return {key: as_json(item, inside) for key, item in value.fields.items()}
    if isinstance(value, tuple):
        return {"tuple": [as_json(item, inside) for item in value]}
    if isinstance(value, list):
        return [as_json(item, inside) for item in value]
    if isinstance(value, (set, frozenset)):
        return {"set": in_order([as_json(item, inside) for item in value])}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: as_json(item, inside) for key, item in value.items()}
        return {"dict": [[as_json(key, inside), as_json(item, inside)] for key, item in value.items()]}
    raise Wrong(f"a {type(value).__name__} where a value should be")


def in_order(items):
    return sorted(items, key=text_of)


def text_of(value):
    return json.dumps(value)


def python_says(program, kind=Unpickler):
    try:
        unpickler = kind(io.BytesIO(program), encoding="utf-8")
        value = unpickler.load()
        return as_json(value, tuple(map(id, getattr(unpickler, "wrong", ())))), None
    except Exception as error:  # whatever a program does to it
        return None, f"{type(error).__name__}: {error}"

"""An assembler of checkpoints that no honest program writes: opcodes, archives, streams and headers, as bytes.

Every function returns the bytes of a program that leaves one value on the stack, so that calls nest as values do:
`call(SET, lst(text("a"), keep(3, text("b")), get(3)))`. Memo numbers are the caller's to choose.
"""
import io
import json
import os
import struct
import zipfile

NONE, TRUE, FALSE, NO_ITEMS = b"N", b"\x88", b"\x89", b")"


def glob(module, name):
    return b"c%s\n%s\n" % (module.encode(), name.encode())


ORDERED = glob("collections", "OrderedDict")
TENSOR_V2 = glob("torch._utils", "_rebuild_tensor_v2")
TENSOR_V3 = glob("torch._utils", "_rebuild_tensor_v3")
PARAMETER = glob("torch._utils", "_rebuild_parameter")
STATEFUL = glob("torch._utils", "_rebuild_parameter_with_state")
META = glob("torch._utils", "_rebuild_meta_tensor_no_storage")
SPARSE = glob("torch._utils", "_rebuild_sparse_tensor")
QUANTIZED = glob("torch._utils", "_rebuild_qtensor")
NESTED = glob("torch._utils", "_rebuild_nested_tensor")
FROM_TYPE = glob("torch._tensor", "_rebuild_from_type_v2")
TENSOR = glob("torch", "Tensor")
SIZE = glob("torch", "Size")
LAYOUT = glob("torch.serialization", "_get_layout")
LAZY = glob("torch.nn.parameter", "UninitializedParameter")
FLOAT = glob("torch", "FloatStorage")
LONG = glob("torch", "LongStorage")
UNTYPED = glob("torch.storage", "UntypedStorage")


def text(value):
    value = value.encode()
    return b"X" + struct.pack("<I", len(value)) + value


def raw(value):
    return b"B" + struct.pack("<I", len(value)) + value


def integer(value):
    if 0 <= value < 256:
        return b"K%c" % value
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    return b"\x8a\x08" + struct.pack("<q", value)


def real(value):
    return b"G" + struct.pack(">d", value)


def keep(number, value):
    """The value, which get(number) gives again."""
    return value + b"r" + struct.pack("<I", number)


def get(number):
    return b"h%c" % number if number < 256 else b"j" + struct.pack("<I", number)


def tup(*items):
    if len(items) <= 3:
        return b"".join(items) + (b")", b"\x85", b"\x86", b"\x87")[len(items)]
    return b"(" + b"".join(items) + b"t"


def lst(*items):
    return b"](" + b"".join(items) + b"e"


def dic(*pairs):
    return b"}(" + b"".join(key + value for key, value in pairs) + b"u"


def fields(**values):
    return dic(*((text(key), value) for key, value in values.items()))


def call(function, *arguments):
    return function + tup(*arguments) + b"R"


def numbers(*values):
    return tup(*map(integer, values))


HOOKS = call(ORDERED)


def storage(key, count, kind=FLOAT, location="cpu"):
    parts = [value if isinstance(value, bytes) else text(value) for value in (key, location)]
    return tup(text("storage"), kind, *parts, integer(count)) + b"Q"


def tensor(of, shape=(1,), stride=None, offset=0, *more):
    """A tensor of _rebuild_tensor_v2, or with a dtype among the others, of _rebuild_tensor_v3."""
    stride = (1,) * len(shape) if stride is None else stride
    sizes = [value if isinstance(value, bytes) else numbers(*value) for value in (shape, stride)]
    return call(TENSOR_V3 if more else TENSOR_V2, of, integer(offset), *sizes, FALSE, HOOKS, *more)


def with_attributes(data, state):
    return call(STATEFUL, data, FALSE, HOOKS, state)


def module(modules=b"}", parameters=b"}", buffers=b"}", hidden=None, **others):
    """An object that read inert looks like a module, as torch.save(module) writes it."""
    state = dict(_parameters=parameters, _buffers=buffers, _modules=modules, **others)
    if hidden is not None:
        state["_non_persistent_buffers_set"] = hidden
    return glob("m", "M") + NO_ITEMS + b"\x81" + fields(**state) + b"b"


def program(value):
    return b"\x80\x02" + value + b"."


def pth(value, storages=None, deflated=(), byteorder="little", folder="a"):
    """An archive. `deflated` names the entries that are compressed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        entries = {"data.pkl": program(value), "byteorder": byteorder.encode(), "version": b"3\n"}
        entries |= {f"data/{key}": content for key, content in (storages or {}).items()}
        for name, content in entries.items():
            info = zipfile.ZipInfo(f"{folder}/{name}", (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED if name in deflated else zipfile.ZIP_STORED
            archive.writestr(info, content)
    return out.getvalue()


def legacy(value, keys=(), storages=()):
    """The stream before 1.6. `keys` are programs; `storages` are pairs of a count and bytes."""
    magic = b"\x8a\x0a" + bytes.fromhex("6cfc9c46f9206aa85019")
    facts = fields(protocol_version=integer(1001), little_endian=TRUE)
    out = b"".join(program(part) for part in (magic, integer(1001), facts, value, lst(*keys)))
    return out + b"".join(struct.pack("<q", count) + content for count, content in storages)


def safetensors(tensors, values=None, notes=None, metadata=None):
    """`tensors`: name -> (dtype, shape, bytes); `values` and `notes`: what is under tenon.values and tenon.tensors."""
    header, data, metadata = {}, b"", dict(metadata or {})
    if values is not None:
        metadata["tenon.values"] = json.dumps(values)
    if notes is not None:
        metadata["tenon.tensors"] = json.dumps(notes)
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    return struct.pack("<Q", len(head)) + head + data


# What libstdc++ makes of texts: MurmurHash64A with a seed that is the same everywhere.
SEED, MULTIPLIER, WORD = 0xC70F6907, 0xC6A4A7935BD1E995, 2**64 - 1
INVERSE = pow(MULTIPLIER, -1, 2**64)


def mixed(word):
    word = word * MULTIPLIER & WORD
    return (word ^ word >> 47) * MULTIPLIER & WORD


def unmixed(word):
    word = word * INVERSE & WORD
    return (word ^ word >> 47) * INVERSE & WORD


def colliding(count, stages=4):
    """Texts in ASCII that std::hash<std::string> maps to one number: in each stage of sixteen bytes several pairs of words
    lead from one state to the same next one."""
    choices = next(n for n in range(2, 1000) if n**stages >= count)
    state = SEED ^ stages * 16 * MULTIPLIER & WORD
    found = [b""]
    for stage in range(stages):
        target, pairs, number = 0x1234567890ABCDEF * (stage + 1) & WORD, [], 0
        while len(pairs) < choices:
            first = b"%08d" % number
            number += 1
            middle = (state ^ mixed(int.from_bytes(first, "little"))) * MULTIPLIER & WORD
            second = unmixed(middle ^ target * INVERSE & WORD).to_bytes(8, "little")
            if all(32 <= byte < 127 for byte in second) and b"." not in second:
                pairs.append(first + second)
        found = [before + pair for before in found for pair in pairs]
        state = target
    return [one.decode() for one in found[:count]]


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)

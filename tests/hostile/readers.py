"""Files that two readers read differently, or that are slow to follow: what a third audit found. What is not read as PyTorch, Python
and safetensors read it is refused, or its notes are passed over."""
import hashlib
import io
import zipfile

from cases import EXTRACT, INERT, INSPECT, LISTED, LOAD, REPR, TO_PTH, TO_SAFETENSORS, case
from pickles import *

COMPLEX, BYTE = glob("torch", "ComplexFloatStorage"), glob("torch", "ByteStorage")
ONE, TWO = {"0": bytes(4)}, {"0": struct.pack("<ff", 1, 2), "1": struct.pack("<ff", 7, 8)}
HASH = ("inspect", "--hash", "IN")
RENAMED = ("convert", "--no-sync", "--rename", "x=a.b", "IN", "OUT/out.pth")
NO_PATH = ("convert", "--no-sync", "--path", "zz", "IN", "OUT/out.pth")


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


# ---- Notes in safetensors: everybody else sees what is stored.

STORED = {"a": ("F32", [2, 2], floats(1, 2, 3, 4)), "b": ("F32", [2, 2], floats(5, 6, 7, 8))}
SEEN = {name: hashlib.sha256(content).hexdigest() for name, (_, _, content) in STORED.items()}
FLAT = {"state_dict": False, "attributes": None}
OWN = {"stored_dtype": "float32", "stored_bytes": 16, "dtype": "float32", "shape": [2, 2], "stride": [2, 1]}
NOTES = {
    "negative": (FLAT, {"a": {**OWN, "neg": True}}),
    "transposed": (FLAT, {"a": {**OWN, "stride": [1, 2]}}),
    "expanded": (FLAT, {"a": {**OWN, "stride": [0, 0], "offset": 3}}),
    "another_dtype": (FLAT, {"a": {**OWN, "dtype": "int32"}}),
    "exchanged": ({"tree": {"dict": [["a", {"tensor": "b"}], ["b", {"tensor": "a"}]]}}, None),
    "hidden": ({"tree": {"dict": [["x", {"dict": [["q", {"tensor": "a"}]]}], ["b", {"tensor": "b"}]]}}, None),
    "twice": ({"tree": {"dict": [["a", {"tensor": "a"}], ["b", {"tensor": "b"}], ["c", {"tensor": "a"}]]}}, None),
}
for name, (values, notes) in NOTES.items():
    case(f"g.notes.{name}", commands=(INSPECT, TO_PTH, TO_SAFETENSORS), suffix=".safetensors", expect="must_load", hashes=SEEN,
         agree=True)(lambda values=values, notes=notes: safetensors(STORED, values, notes))

for dtype in ("qint8", "quint4x2", "float4_e2m1fn_x2", "bits8"):
    about = {"a": {"stored_dtype": "uint8", "stored_bytes": 4, "dtype": dtype, "shape": [4], "stride": [1], "neg": True}}
    case(f"g.notes.negative.{dtype}", commands=(INSPECT, TO_PTH), suffix=".safetensors", expect="must_load")(
        lambda about=about: safetensors({"a": ("U8", [4], b"\1\2\3\4")}, FLAT, about))


@case("g.notes.large_integer", (50000, 200000), (LISTED, REPR, TO_SAFETENSORS), suffix=".safetensors", expect="must_load")
def _(size):
    return safetensors({"a": ("F32", [1], bytes(4))},
                       {"tree": {"dict": [["a", {"tensor": "a"}], ["v", {"int": "7f" * size}]]}})


# ---- Attributes that PyTorch assigns.

for attribute in ("data", "real", "imag", "grad", "requires_grad", "T", "shape", "names", "_backward_hooks", "__class__", "__dict__"):
    other = TRUE if attribute == "requires_grad" else tensor(storage("1", 2), (2,))
    arguments = tup(storage("0", 2), integer(0), numbers(2), numbers(1), FALSE, HOOKS)
    made = {"of_type": lambda state: call(FROM_TYPE, TENSOR_V2, TENSOR, arguments, state),
            "parameter": lambda state: with_attributes(tensor(storage("0", 2), (2,)), state)}
    for kind, with_state in made.items():
        for place, state in {"first": fields(**{attribute: other}), "second": tup(NONE, fields(**{attribute: other}))}.items():
            case(f"g.attribute.{kind}.{place}.{attribute}", commands=(INSPECT, LOAD, TO_PTH), expect="must_reject")(
                lambda with_state=with_state, state=state: pth(fields(a=with_state(state)), TWO))

# ---- Entries that PyTorch finds whatever their case is.


def archive(**more):
    out = io.BytesIO()
    entries = {"data.pkl": program(fields(a=tensor(storage("0", 1)))), "version": b"3\n", "data/0": floats(1.5), **more}
    with zipfile.ZipFile(out, "w") as file:
        for name, content in entries.items():
            file.writestr(zipfile.ZipInfo(f"a/{name}", (1980, 1, 1, 0, 0, 0)), content)
    return out.getvalue()


for name, entry in {"byteorder": ("BYTEORDER", b"big"), "version": (".DATA/VERSION", b"99\n")}.items():
    case(f"g.case.{name}", commands=(INSPECT, LOAD, EXTRACT), expect="must_reject")(lambda entry=entry: archive(**{entry[0]: entry[1]}))

# ---- Bits that PyTorch sets whatever the value is.

for name, metadata in {"conj": fields(conj=FALSE), "neg": fields(neg=FALSE), "both": fields(neg=FALSE, conj=FALSE)}.items():
    case(f"g.false.{name}", commands=(INSPECT, LOAD), expect="must_reject")(
        lambda metadata=metadata: pth(fields(a=call(TENSOR_V2, storage("0", 2, COMPLEX), integer(0), numbers(2), numbers(1), FALSE,
                                                    HOOKS, metadata)), {"0": floats(1, 2, 3, 4)}))

# ---- Parts of storages, which PyTorch finds by their keys.


def part(key, count, view):
    return tup(text("storage"), FLOAT, text(key), text("cpu"), integer(count), view) + b"Q"


def view(key, offset, count):
    return tup(text(key), integer(offset), integer(count))


PARTS = {
    "one_key_of_two": ("must_reject", lst(tensor(part("0", 4, view("v", 0, 2)), (2,)), tensor(part("0", 4, view("v", 2, 2)), (2,)))),
    "key_of_its_storage": ("must_reject", lst(tensor(part("0", 4, NONE), (4,)), tensor(part("0", 4, view("0", 2, 2)), (2,)))),
    "key_of_another": ("must_reject", lst(tensor(part("1", 4, NONE), (2,)), tensor(part("0", 4, view("1", 2, 2)), (2,)))),
    "key_of_a_later_one": ("must_reject", lst(tensor(part("0", 4, view("1", 2, 2)), (2,)), tensor(part("1", 4, NONE), (2,)))),
    "honest": ("must_load", lst(tensor(part("0", 4, view("v", 0, 2)), (2,)), tensor(part("0", 4, view("w", 2, 2)), (2,)),
                                tensor(part("0", 4, view("v", 0, 2)), (2,)), tensor(part("1", 4, NONE), (2,)))),
}
for name, (expect, value) in PARTS.items():
    case(f"g.part.{name}", commands=(INSPECT, LOAD), expect=expect)(
        lambda value=value: legacy(value, [text("0"), text("1")], [(4, floats(1, 2, 3, 4)), (4, floats(8, 9, 10, 11))]))

# ---- Keys that Python finds equal, and names that are one.

SIZE_1 = call(SIZE, numbers(1))
KEYS = {"size_then_tuple": (dic((SIZE_1, text("a")), (numbers(1), text("b"))), {"dict": [[{"size": [1]}, "b"]]}),
        "tuple_then_size": (dic((numbers(1), text("a")), (SIZE_1, text("b"))), {"dict": [[{"tuple": [1]}, "b"]]})}
for name, (value, expected) in KEYS.items():
    case(f"g.keys.{name}", commands=(LISTED,), expect="must_load", value=expected)(lambda value=value: pth(fields(v=value)))

FROZEN = glob("builtins", "frozenset")
BYTE_ARRAY = call(glob("builtins", "bytearray"), raw(b"x"))
for name, value in {"set_in_a_set": call(glob("builtins", "set"), lst(call(glob("builtins", "set"), lst(integer(1))))),
                    "set_in_a_frozenset": call(FROZEN, lst(b"\x8f(K\1\x90")),
                    "bytearray_as_a_key": dic((call(glob("builtins", "bytearray"), raw(b"x")), NONE)),
                    "bytearray_in_a_pair": call(ORDERED, lst(lst(BYTE_ARRAY, integer(1)))),
                    "tuple_of_a_bytearray_in_a_pair": call(ORDERED, lst(tup(tup(BYTE_ARRAY), integer(1)))),
                    "bytearray_in_a_tuple": dic((tup(b"\x96" + struct.pack("<Q", 1) + b"x"), NONE))}.items():
    case(f"g.hashed.{name}", commands=(LISTED, LOAD), expect="must_reject")(lambda value=value: pth(fields(v=value)))

case("g.hashed.equal_frozensets", commands=(LISTED,), expect="must_load", value={"set": [{"set": [1, 2]}, {"set": [3]}]})(
    lambda: pth(fields(v=call(glob("builtins", "set"), lst(call(FROZEN, numbers(1, 2)), call(FROZEN, numbers(2, 1)),
                                                           call(FROZEN, numbers(3)))))))

AFFINE, COO = glob("torch", "per_tensor_affine"), call(LAYOUT, text("torch.sparse_coo"))
AFFINE_SHOWN = {"global": "torch.per_tensor_affine", "args": [], "state": None}
for name, (one, shown) in {"scheme": (AFFINE, AFFINE_SHOWN), "layout": (COO, {"layout": "torch.sparse_coo"})}.items():
    case(f"g.there_once.{name}", commands=(LISTED,), expect="must_load", value={"set": [shown, 1]})(
        lambda one=one: pth(fields(v=call(glob("builtins", "set"), lst(one, one, integer(1))))))

for name, value in {"bytearray": call(glob("builtins", "bytearray"), raw(b"x"), raw(b"y")),
                    "bytes": call(glob("builtins", "bytes"), raw(b"x"), integer(5))}.items():
    case(f"g.two_arguments.{name}", commands=(LISTED, LOAD), expect="must_reject")(lambda value=value: pth(fields(v=value)))


@case("g.names.renamed_into_one", commands=(RENAMED,), expect="must_reject")
def _():
    return pth(dic((text("x"), tensor(storage("0", 1))), (text("a"), dic((text("b"), tensor(storage("0", 1)))))), ONE)


# ---- What is slow to follow.


@case("g.links", (20, 400))
def _(count):
    links = {f"l{i}": "soft:" + "d/../" * 800 + (f"l{i + 1}" if i < 38 else "d") for i in range(39)}
    index = json.dumps({"weight_map": {f"t{k}": f"l0/{k}" for k in range(count)}})
    return {"model.safetensors.index.json": index.encode(), "d/x": b"", **links}


# The texts of links count when they are taken apart, whether they are walked to or not.
for name, command, link_text in (
        ("next_one_first", INSPECT, lambda one: f"{one}/" + "d/" * ((4090 - len(one)) // 2)),
        ("followed_anywhere", ("inspect", "--follow-links", "IN"), lambda one: "d/../" * ((4085 - len(one)) // 5) + one)):

    @case(f"g.links.{name}", (200, 2000), (command,))
    def _(count, link_text=link_text):
        links = {f"l{i}": "soft:" + link_text(f"l{i + 1}" if i < 38 else "d") for i in range(39)}
        index = json.dumps({"weight_map": {f"t{k}": f"l0/{k}" for k in range(count)}})
        return {"model.safetensors.index.json": index.encode(), "d/x": b"", **links}


@case("g.reversed_strides", (8, 96), (HASH, ("convert", "--no-sync", "IN", "OUT/out.safetensors")))
def _(count):
    made = (tensor(keep(1, storage("0", 2 << 24, BYTE)) if i == 0 else get(1), (2,) * 24, tuple(1 << d for d in range(24)), i)
            for i in range(count))
    return pth(lst(*made), {"0": bytes(2 << 24)}, ("data/0", "data.pkl"))


@case("g.long_keys", (64, 256), (INSPECT, LOAD))
def _(count):
    names = ["k" * 4080 + f"{i:05d}" for i in range(count)]
    head = keep(1, tup(text("storage"), FLOAT, text(names[-1]), text("cpu"), integer(1)))
    return pth(lst(head + b"Q", (get(1) + b"Q") * (250 * count)), {name: bytes(4) for name in names})


@case("g.globals_from_the_stack", (200000, 400000), (INERT,))
def _(count):
    name = "\u00e9" * 512
    return pth(lst(keep(1, text(name)), keep(2, text(name)), (get(1) + get(2) + b"\x930") * count), None, ("data.pkl",))


@case("g.long_keys_in_a_message", (10, 40), (NO_PATH,))
def _(kilobytes):
    return pth(dic(*((text("\1" * (kilobytes << 10) + str(i)), NONE) for i in range(10))))

"""Files that were read, written or described wrongly: sections A, D and E of the audit."""
from cases import EXTRACT, INERT, INSPECT, LOAD, LOAD_INERT, LOAD_INERT_SAVE, LOAD_SAVE, SHARDS_PTH, TO_PTH, TO_SAFETENSORS, case
from pickles import *

ONE = {"0": bytes(4)}
SAFE = {"suffix": ".safetensors"}
BOTH = (TO_PTH, TO_SAFETENSORS, LOAD_SAVE)

# ---- A. Text that must not become a program. The second one has no dot, which some writers cut at, and ends in a line.

EVIL = {
    "call": "torch.per_x\nos\nsystem\n(S'id'\ntR.",
    "line": "torch.per_x\ncos\nsystem\n(S'id'\ntR0S'x'",
    "name": "torch.per_os\nsystem",
    "plain": "torch.per_anything",
    "marks": "torch.per_tensor_affine\n0cos\nsystem\n(S'id'\ntR",
}
STORED = {"a": ("I8", [1], b"\1")}
NOTES = {"a": {"dtype": "qint8", "shape": [1], "stride": [1], "stored_dtype": "int8", "stored_bytes": 1}}


def described(name, arguments=(), state=None, items=None):
    return {"object": [name, {"tuple": list(arguments)}, state, items]}


def beside(value):
    """A tensor, and a value in what we wrote beside it."""
    return safetensors({"a": ("F32", [1], bytes(4))},
                       {"tree": {"dict": [["a", {"tensor": "a"}], ["v", value]]}})


def quantized(scheme, **others):
    state = {"data": {"tensor": "a"}, "qscheme": scheme, "scale": 1.0, "zero_point": 0, "size": {"size": [1]}, **others}
    return safetensors(STORED, {"tree": {"dict": [["a", described("quantized_tensor", (), {"dict": list(state.items())})]]}},
                       NOTES)


def names_as_text(evil):
    """Where any text is allowed, and has to stay text."""
    return {
        "key": {"dict": [[evil, 1]]},
        "value": evil,
        "attribute": {"ordered_dict": [], "attributes": {"dict": [[evil, 1]]}},
        "device": {"device": evil},
        "dtype": {"dtype": evil},
        "bytes": {"bytes": evil.encode().hex()},
        "layout": described("layout", (evil,)),
        "scheme": described(evil),
        "global": described("os.system", ("id",)),
        "object": described(evil.replace("torch.per_", "m.")),
        "counter": described("collections.Counter", ({"dict": [[evil, 1]]},)),
        "counter_of_another": described("collections.Counter" + evil, ({"dict": []},)),
        "sparse": described("sparse_tensor", (), {"dict": [["layout", evil], ["values", {"tensor": "a"}],
                                                           ["indices", {"tensor": "a"}], ["size", {"size": [1]}]]}),
        "nested": described("nested_tensor", (), {"dict": [[evil, {"tensor": "a"}]]}),
    }


def hostile_text(which, evil):
    # One of them in shards too, which are written in the same way.
    everywhere = (*BOTH, SHARDS_PTH) if which == "line" else BOTH
    case(f"a.inert_global.{which}", commands=(INERT, LOAD_INERT_SAVE))(
        lambda: pth(fields(a=text("torch") + text(evil[6:]) + b"\x93")))
    case(f"a.qscheme.{which}", commands=everywhere, **SAFE)(lambda: quantized(evil))
    case(f"a.qscheme_and_more.{which}", commands=everywhere, **SAFE)(lambda: quantized("torch.per_tensor_affine", **{evil: 1}))
    for where in names_as_text(""):
        case(f"a.{where}.{which}", commands=everywhere, **SAFE)(lambda where=where: beside(names_as_text(evil)[where]))
    case(f"a.tensor_name.{which}", commands=(TO_PTH, SHARDS_PTH), **SAFE)(
        lambda: safetensors({evil: ("F32", [1], bytes(4))}))
    case(f"a.metadata.{which}", commands=(TO_PTH, SHARDS_PTH), **SAFE)(
        lambda: safetensors({"a": ("F32", [1], bytes(4))}, metadata={evil: evil}))
    in_pickle = {"uninitialized": lambda: dic((text(evil), call(LAZY))),
                 "pickled_location": lambda: fields(a=tensor(storage("0", 1, location=evil))),
                 "pickled_attribute": lambda: fields(a=with_attributes(tensor(storage("0", 1)), dic((text(evil), NONE)))),
                 "pickled_key": lambda: dic((text(evil), tensor(storage("0", 1)))),
                 "pickled_layout": lambda: fields(a=call(LAYOUT, text(evil))),
                 "pickled_device": lambda: fields(a=call(glob("torch", "device"), text(evil)))}
    for where, make in in_pickle.items():
        case(f"a.{where}.{which}", commands=everywhere)(lambda make=make: pth(make(), ONE))
    case(f"a.stack_global.{which}", commands=(*BOTH, INSPECT), expect="must_reject")(
        lambda: pth(fields(a=text("torch") + text(evil[6:]) + b"\x93")))
    case(f"a.stack_global_inert.{which}", commands=(INERT, LOAD_INERT_SAVE))(
        lambda: pth(fields(a=text("torch") + text(evil[6:]) + b"\x93" + NO_ITEMS + b"R")))


for one in EVIL.items():
    hostile_text(*one)


# ---- D. Geometry.

MOST = 2**63 - 1


def compressed(crow, col, values, size):
    return call(SPARSE, call(LAYOUT, text("torch.sparse_csr")), tup(crow, col, values, numbers(*size)))


@case("d.sparse_rows_of_int64_max", expect="must_reject")
def _():
    none = tensor(storage("1", 1, LONG), (0,))
    return pth(fields(a=compressed(tensor(storage("1", 1, LONG)), none, tensor(storage("0", 1), (0,)), (MOST, 1))),
               {**ONE, "1": bytes(8)})


@case("d.sparse_values_of_int64_max", expect="either")
def _():
    many = call(META, glob("torch", "int64"), numbers(MOST), numbers(0), FALSE)
    return pth(fields(a=compressed(tensor(storage("1", 1, LONG)), many, many, (0, 1))), {"1": bytes(8)})


@case("d.sparse_coo_of_int64_max", commands=(INSPECT, *BOTH))
def _():
    indices = tensor(storage("1", 1, LONG), (1, 1), (1, 1))
    return pth(fields(a=call(SPARSE, call(LAYOUT, text("torch.sparse_coo")),
                             tup(indices, tensor(storage("0", 1)), numbers(MOST)))), {**ONE, "1": bytes(8)})


@case("d.empty_tensor_with_offset", commands=(INSPECT, EXTRACT, *BOTH))
def _():
    return pth(fields(a=tensor(storage("0", 1), (0,), (1,), 2**62)), ONE)


@case("d.empty_tensor_with_negative_offset", commands=(INSPECT, EXTRACT, *BOTH))
def _():
    return pth(fields(a=tensor(storage("0", 1), (0,), (1,), -(2**62))), ONE)


@case("d.empty_tensor_with_stride", commands=(INSPECT, EXTRACT, *BOTH))
def _():
    return pth(fields(a=tensor(storage("0", 1), (0, MOST), (MOST, MOST), MOST)), ONE)


def typed(dtype, key, count, shape, kind=UNTYPED, offset=0):
    return tensor(storage(key, count, kind), shape, None, offset, glob("torch", dtype))


@case("d.uint16_and_its_bytes", expect="must_load")
def _():
    byte = glob("torch", "ByteStorage")
    return pth(fields(a=typed("uint16", "0", 4, (2,)), b=tensor(storage("0", 4, byte), (4,))), {"0": b"\1\2\3\4"})


@case("d.uint16_and_its_bytes_converted", commands=BOTH, agree=True)
def _():
    byte = glob("torch", "ByteStorage")
    return pth(fields(a=typed("uint16", "0", 4, (2,)), b=tensor(storage("0", 4, byte), (4,))), {"0": b"\1\2\3\4"})


@case("d.untyped_with_an_odd_byte", commands=(INSPECT, *BOTH), agree=True)
def _():
    return pth(fields(a=typed("uint16", "0", 5, (2,))), {"0": b"\1\2\3\4\5"})


@case("d.untyped_floats_with_an_odd_byte", commands=(INSPECT, *BOTH), agree=True)
def _():
    return pth(fields(a=typed("float32", "0", 7, (1,))), {"0": b"\1\2\3\4\5\6\7"})


@case("d.untyped_with_two_views", commands=(INSPECT, *BOTH), agree=True)
def _():
    return pth(fields(a=typed("uint16", "0", 4, (2,)), b=typed("uint32", "0", 4, (1,)), c=typed("float32", "0", 4, (1,)),
                      d=typed("uint8", "0", 4, (4,))), {"0": b"\1\2\3\4"})


@case("d.big_endian_untyped_with_two_views", commands=(INSPECT, EXTRACT, *BOTH), agree=True)
def _():
    return pth(fields(a=typed("uint16", "0", 8, (4,)), b=typed("float32", "0", 8, (2,)), c=typed("uint8", "0", 8, (8,))),
               {"0": b"\1\2\3\4\5\6\7\x08"}, byteorder="big")


@case("d.big_endian_views_the_other_way", commands=(INSPECT, EXTRACT, *BOTH), agree=True)
def _():
    return pth(fields(b=typed("float32", "0", 8, (2,)), a=typed("uint16", "0", 8, (4,))),
               {"0": b"\1\2\3\4\5\6\7\x08"}, byteorder="big")


@case("d.big_endian_of_another_dtype", commands=(INSPECT, EXTRACT, *BOTH), agree=True)
def _():
    return pth(fields(a=typed("int16", "0", 2, (4,), FLOAT), b=tensor(storage("0", 2), (2,))),
               {"0": b"\1\2\3\4\5\6\7\x08"}, byteorder="big")


@case("d.big_endian_part_of_another_dtype", commands=(INSPECT, EXTRACT, *BOTH), agree=True)
def _():
    return pth(fields(a=typed("int16", "0", 2, (2,), FLOAT, 1)), {"0": b"\1\2\3\4\5\6\7\x08"}, byteorder="big")


@case("d.big_endian_less_than_an_element", commands=(INSPECT, EXTRACT, *BOTH), agree=True)
def _():
    return pth(fields(a=typed("int16", "0", 2, (1,), FLOAT, 1)), {"0": b"\1\2\3\4\5\6\7\x08"}, byteorder="big")


@case("d.big_endian_deflated", commands=(INSPECT, EXTRACT, *BOTH), agree=True)
def _():
    return pth(fields(a=typed("int16", "0", 2, (4,), FLOAT)), {"0": b"\1\2\3\4\5\6\7\x08"}, ("data/0",), "big")


# ---- D. Control characters in what is said.

CONTROL = {"ascii": "\x1b[2J\x07\r\n\x7f", "unicode": "\x9b\u202e\u2066", "tags": "\U000e0041", "notes": "\ufff9"}


def said(name, make, commands=(INSPECT,), expect="either"):
    for which, control in CONTROL.items():
        others = (LOAD_INERT,) if INERT in commands else (LOAD,)
        case(f"d.control_characters.{name}.{which}", commands=commands + others, expect=expect)(
            lambda control=control: make(control))


said("key", lambda control: pth(dic((text(control), tensor(storage("0", 1)))), ONE), (INSPECT, ("inspect", "IN"), *BOTH), "must_load")
said("two_names", lambda control: pth(fields(**{control: fields(b=tensor(storage("0", 1)))}, **{
    control + ".b": tensor(storage("0", 1))}), ONE))
said("global", lambda control: pth(text(control) + text(control) + b"\x93"), (INSPECT,), "must_reject")
said("global_inert", lambda control: pth(lst(text(control) + text(control) + b"\x93")), (INERT, ("inspect", "--inert", "IN")))
said("location", lambda control: pth(fields(a=tensor(storage("0", 1, location=control))), ONE),
     (INSPECT, ("inspect", "IN"), *BOTH, EXTRACT))
said("storage_key", lambda control: pth(fields(a=tensor(storage(control, 1))), ONE), expect="must_reject")
said("legacy_key", lambda control: legacy(tensor(storage(control, 1)), [], []), expect="must_reject")
said("legacy_key_twice", lambda control: legacy(lst(tensor(storage(control, 1)), tensor(storage(control, 2)))), expect="must_reject")
said("device", lambda control: pth(call(glob("torch", "device"), text(control))), expect="must_reject")
said("layout", lambda control: pth(fields(a=call(SPARSE, call(LAYOUT, text(control)), NO_ITEMS))), expect="must_reject")
said("tensor_class", lambda control: pth(call(FROM_TYPE, TENSOR_V2, text(control) + text("x") + b"\x93", tup(), NONE)),
     (INSPECT, INERT))
said("metadata", lambda control: pth(call(TENSOR_V2, storage("0", 1), integer(0), numbers(1), numbers(1), FALSE, HOOKS,
                                  dic((text(control), TRUE))), ONE), expect="must_reject")


@case("d.flattened_with_negative_sizes", commands=(INSPECT, *BOTH))
def _():
    state = {"tenon.type": text("x"), "inner": tensor(storage("0", 1)), "tenon.dtype": text("float32"),
             "tenon.shape": lst(integer(-5), integer(2**62), integer(2**62)), "tenon.stride": lst(integer(1)),
             "tenon.parameter": FALSE, "tenon.requires_grad": FALSE}
    return pth(fields(a=fields(**state)), ONE)


# ---- D. Python's own answer, or a refusal.


def memoized(*steps):
    return b"".join(steps) + get(2)


case("d.python.memoize_after_put", value="s")(lambda: pth(fields(
    v=memoized(b"(", text("p"), b"q\0", text("q"), b"q\0", text("r"), b"q\2", text("s"), b"\x94", b"1"))))
case("d.python.memoize_after_far_put", value="r")(lambda: pth(fields(
    v=memoized(b"(", text("p"), b"q\5", text("q"), b"\x94", text("r"), b"\x94", b"1"))))
case("d.python.memoize_over_put", value="b")(lambda: pth(fields(
    v=memoized(b"(", text("a"), b"q\2", text("z"), b"\x94", text("b"), b"\x94", b"1"))))
case("d.python.new_ordered_dict", value={})(lambda: pth(fields(v=ORDERED + tup(lst(tup(text("a"), integer(1)))) + b"\x81")))
case("d.python.new_counter", value={})(lambda: pth(fields(v=glob("collections", "Counter") + tup(fields(a=integer(1))) + b"\x81")))
case("d.python.new_set")(lambda: pth(fields(v=glob("builtins", "set") + tup(lst(integer(1))) + b"\x81")))
case("d.python.counter_of_pairs", value={"dict": [[{"tuple": ["a", 1]}, 1]]})(
    lambda: pth(fields(v=call(glob("collections", "Counter"), lst(tup(text("a"), integer(1)))))))
case("d.python.equal_keys", value={"dict": [[1, "c"]]})(
    lambda: pth(fields(v=dic((integer(1), text("a")), (real(1.0), text("b")), (TRUE, text("c"))))))
case("d.python.equal_keys_in_tuples", value={"dict": [[{"tuple": [1]}, "c"]]})(
    lambda: pth(fields(v=dic((numbers(1), text("a")), (tup(real(1.0)), text("b")), (tup(TRUE), text("c"))))))
case("d.python.zero_keys", value={"dict": [[0, "c"]]})(
    lambda: pth(fields(v=dic((integer(0), text("a")), (real(-0.0), text("b")), (FALSE, text("c"))))))
case("d.python.equal_items", value={"set": [1]})(
    lambda: pth(fields(v=call(glob("builtins", "set"), lst(integer(1), real(1.0), TRUE)))))


@case("d.convert_to_640_gigabytes", commands=(TO_SAFETENSORS,), expect="must_reject")
def _():
    each = 2**24
    made = [keep(1, TENSOR_V2), keep(2, storage("0", 1)), keep(3, numbers(each)), keep(4, numbers(0)), keep(5, HOOKS)]
    head = b"(" + b"".join(made) + b"1"
    one = get(1) + tup(get(2), integer(0), get(3), get(4), FALSE, get(5)) + b"R"
    return pth(head + dic(*((integer(i), one) for i in range(10_000))), ONE)


case("d.storage_in_a_set", expect="must_reject")(
    lambda: pth(fields(v=call(glob("builtins", "set"), lst(storage("0", 1), tup(storage("0", 1))))), ONE))
case("d.meta_storage_that_has_an_entry", expect="must_reject")(
    lambda: pth(fields(a=tensor(storage("0", 1, location="meta")), b=tensor(storage("0", 1))), ONE))


# ---- What is read is written so that it is read again.

SIZES = call(SIZE, numbers(3, 3))
COO_LAYOUT = call(LAYOUT, text("torch.sparse_coo"))
META_INDICES = call(META, glob("torch", "int64"), numbers(2, 2), numbers(2, 1), FALSE)
META_VALUES = call(META, glob("torch", "float32"), numbers(2), numbers(1), FALSE)
case("d.sparse_on_meta", commands=(INSPECT, TO_PTH, LOAD_SAVE), expect="must_load")(
    lambda: pth(fields(a=call(SPARSE, COO_LAYOUT, tup(META_INDICES, META_VALUES, SIZES)))))
case("d.sparse_on_meta_with_storages", commands=(INSPECT, TO_PTH, LOAD_SAVE), expect="must_load")(
    lambda: pth(fields(a=call(SPARSE, COO_LAYOUT, tup(tensor(storage("0", 4, LONG, "meta"), (2, 2), (2, 1)),
                                                     tensor(storage("1", 2, FLOAT, "meta"), (2,)), SIZES)))))
for sizes, strides in (((2, 0), (0, 1)), ((2, 0), (1, 1)), ((0, 3, 0), (0, 0, 1)), ((5, 1, 0), (0, 3, 1))):
    case(f"d.few_bits.empty.{'_'.join(map(str, sizes + strides))}", commands=(INSPECT, TO_PTH, LOAD_SAVE), expect="must_load")(
        lambda sizes=sizes, strides=strides: pth(fields(a=call(
            QUANTIZED, storage("0", 64, glob("torch", "QUInt4x2Storage")), integer(0), numbers(*sizes), numbers(*strides),
            tup(glob("torch", "per_tensor_affine"), real(1.0), integer(0)), FALSE, HOOKS)), {"0": bytes(64)}))
for sizes in ([0, 2**60], [2**60, 0], [2**30, 0, 2**30]):
    case(f"d.safetensors.empty_of_more_than_all_bytes.{'_'.join(map(str, sizes))}", commands=(INSPECT, TO_PTH), suffix=".safetensors",
         expect="must_reject")(lambda sizes=sizes: safetensors({"a": ("F64", sizes, b"")}))


# ---- E. Files on disk.

for label, out in {"dots": "...pth", "two_dots": "..pth", "newline": "a\nb.pth", "escape": "\x1b[2J.pth", "space": "a b.pth",
                   "quote": "a'b\".pth", "slashes": "a\\b.pth", "unicode": "\U000e0041\u202e.pth", "long": "n" * 200 + ".pth",
                   "no_stem": ".pth", "colon": "c:.pth", "percent": "%s%n.pth"}.items():
    options = ("--to", "pth") if label == "no_stem" else ()
    case(f"e.out_named.{label}", commands=(("convert", *options, "IN", "OUT/" + out),),
         expect="either" if label == "no_stem" else "must_load")(
        lambda: pth(fields(a=tensor(storage("0", 1))), ONE))
for label in ("file", "symbolic", "dangling"):
    case(f"e.out_is_a_{label}", commands=(TO_PTH, EXTRACT), expect="untouched", occupied=label)(
        lambda: pth(fields(a=tensor(storage("0", 1))), ONE))


@case("e.long_names_renamed", (100_000, 900_000), commands=(("convert", "--rename-re", "k=kkkkkkkk", "IN", "OUT/out.pth"),))
def _(n):
    return pth(dic(*((text("k" * n + str(i)), tensor(storage("0", 1))) for i in range(4))), ONE)

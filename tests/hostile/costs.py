"""Files that are small, and that are dear to write, to show, to compare or to search: what a second audit found. Reading such
files was within its limits; what was done with them was not counted."""
import random

from cases import (CAST, CAST_SAFETENSORS, COMPACT, EQUAL, FILTERED, INSPECT, INTO, LISTED, LOAD, LOAD_PATH, LOAD_SAVE, PATH, READ, RENAMED_BY_RULE,
                   REPR, SAVE_SAFETENSORS, SHARDS, STATE, STATS, TO_PTH, TO_SAFETENSORS, VERIFY, case)
from pickles import *

ONE = {"0": bytes(4)}
BYTE, HALF = glob("torch", "ByteStorage"), glob("torch", "HalfStorage")
COO = call(LAYOUT, text("torch.sparse_coo"))
WRITTEN = (TO_PTH, TO_SAFETENSORS, CAST, CAST_SAFETENSORS, COMPACT, FILTERED)


def again(function, arguments, count):
    """A call, and so many more with the same arguments: five bytes each."""
    return lst(keep(0, function) + keep(1, arguments) + b"R", (get(0) + get(1) + b"R") * count)


def doubled(value, levels, join=lst):
    for level in range(levels):
        value = join(keep(1000 + level, value), get(1000 + level))
    return value


def one_tensor(of=None, shape=(1,), stride=(1,)):
    return tup(of or storage("0", 1), integer(0), numbers(*shape), numbers(*stride), FALSE, HOOKS)


# ---- writing


@case("f.attributes", (20000, 80000), WRITTEN)
def _(count):
    data = keep(200, tensor(storage("0", 1)))
    state = fields(**{f"a{i}": NONE for i in range(count)})
    return pth(dic((text("a"), data), (text("v"), with_attributes(get(200), state))), ONE)


@case("f.long_name_of_one_with_many", (1000, 5000), (TO_PTH, TO_SAFETENSORS, INTO))
def _(count):
    others = ((text(f"n{i}"), get(200)) for i in range(count))
    return pth(dic((text("k" * 10 * count), keep(200, tensor(storage("0", 1)))), *others), ONE)


@case("f.long_names_that_overlap", (1000, 8000), (TO_SAFETENSORS,))
def _(count):
    large = tensor(keep(100, storage("0", count + 2)), (2,), (count + 1,))
    others = ((text(f"n{i}"), tensor(get(100), (1,), (1,), i + 1)) for i in range(count))
    return pth(dic((text("k" * 10 * count), large), *others), {"0": bytes(4 * (count + 2))})


@case("f.long_location", (7000, 28000), WRITTEN)
def _(count):
    return pth(again(TENSOR_V2, one_tensor(storage("0", 1, location="l" * 4096)), count), ONE)


@case("f.long_locations_of_storages", (2000, 8000), (TO_PTH, CAST, COMPACT, TO_SAFETENSORS))
def _(count):
    head = (TENSOR_V2, HOOKS, numbers(1), FLOAT, text("storage"), text("l" * 4096))
    kept = b"(" + b"".join(keep(100 + i, one) for i, one in enumerate(head)) + b"1"

    def made(i):
        name = tup(get(104), get(103), text(str(i)), get(105), integer(1)) + b"Q"
        return get(100) + b"(" + name + integer(0) + get(102) + get(102) + FALSE + get(101) + b"tR"

    return legacy(kept + lst(*map(made, range(count))), [text(str(i)) for i in range(count)], [(1, bytes(4))] * count)


@case("f.many_dimensions", (8000, 32000), (*WRITTEN, INSPECT))
def _(count):
    return pth(again(TENSOR_V2, one_tensor(None, (1,) * 64, (2**62,) * 64), count), ONE)


@case("f.large_integers", (10000, 40000), (TO_PTH, TO_SAFETENSORS, LOAD_SAVE, LISTED))
def _(count):
    return pth(lst(keep(0, b"\x8b" + struct.pack("<I", 1024) + b"\x7f" * 1024), get(0) * count))


@case("f.shared_text_in_notes", (10, 15), (TO_SAFETENSORS, LISTED))
def _(levels):
    return pth(doubled(lst(text('"' * 900)), levels))


@case("f.shared_sparse", (6, 12), (TO_SAFETENSORS, SAVE_SAFETENSORS, LOAD_SAVE))
def _(levels):
    indices = tensor(storage("1", 100000, LONG), (1, 100000), (100000, 1))
    values = tensor(storage("0", 1), (100000,), (0,))
    return pth(doubled(call(SPARSE, COO, tup(indices, values, numbers(9))), levels), {**ONE, "1": bytes(800000)}, ("data/1",))


@case("f.sparse_of_the_same_indices", (4000, 16000), (READ, INSPECT, TO_PTH))
def _(count):
    indices, values = tensor(storage("1", 1, LONG), (1, 1), (1, 1)), tensor(storage("0", 1))
    return pth(again(SPARSE, tup(COO, tup(indices, values, numbers(9))), count), {**ONE, "1": bytes(8)})


@case("f.lazy", (40000, 120000), (*WRITTEN, INSPECT, VERIFY, READ))
def _(count):
    return pth(again(LAZY, tup(), count))


@case("f.tensors_for_five_bytes", (20000, 100000), (*WRITTEN, INSPECT, READ))
def _(count):
    return pth(again(TENSOR_V2, one_tensor(), count), ONE)


@case("f.parameters_for_five_bytes", (30000, 60000), (*WRITTEN, INSPECT, READ))
def _(count):
    return pth(again(PARAMETER, tup(tensor(storage("0", 1)), FALSE, HOOKS), count), ONE)


for name, (function, arguments) in {"ordered": (ORDERED, tup()), "bytes": (glob("builtins", "bytes"), tup()),
                                    "set": (glob("builtins", "set"), tup()), "size": (SIZE, tup(numbers(1))),
                                    "complex": (glob("builtins", "complex"), numbers(1, 2))}.items():
    case(f"f.values_for_five_bytes.{name}", (150000, 600000), (TO_PTH, TO_SAFETENSORS, FILTERED, LOAD_SAVE))(
        lambda count, function=function, arguments=arguments: pth(
            dic((text("a"), tensor(storage("0", 1))), (text("v"), again(function, arguments, count))), ONE))

for name, one in {"dicts": b"}", "lists": b"]", "sets": b"\x8f", "entries": b"}NNs", "bytearrays": b"\x96" + bytes(8)}.items():
    case(f"f.plain_values.{name}", (150000, 600000), (TO_PTH, TO_SAFETENSORS, FILTERED, LOAD_SAVE))(
        lambda count, one=one: pth(dic((text("a"), tensor(storage("0", 1))), (text("v"), lst(one * count))), ONE))


# ---- bytes


@case("f.expanded", (16, 64), (TO_SAFETENSORS, TO_PTH, INSPECT))
def _(megabytes):
    return pth(dic((text("a"), tensor(storage("0", 1), (megabytes << 18,), (0,)))), ONE)


@case("f.expanded_many", (4, 16), (TO_SAFETENSORS, INSPECT, STATS, INTO))
def _(count):
    return pth(dic(*((text(f"a{i}"), tensor(storage("0", 1), (2**22 - i,), (0,))) for i in range(count))), ONE)


@case("f.expanded_on_threads", (1, 4), (("inspect", "--hash", "IN"),))
def _(megabytes):
    made = (tensor(storage("0", megabytes << 20, BYTE), (megabytes * 16 + 31, (1 << 20) - i), (0, 1)) for i in range(6))
    return pth(lst(*made), {"0": bytes(megabytes << 20)})


@case("f.strided_on_threads", (24,), (("inspect", "--hash", "IN"), STATS), max_rss_mb=40)
def _(megabytes):
    """Tensors each of which reaches over all of a storage, and is held as a whole: one at a time, on however many threads."""
    made = (tensor(get(0), ((megabytes << 18) - i,), (4,), i) for i in range(8))
    return pth(lst(keep(0, storage("0", megabytes << 20, BYTE)), *made), {"0": bytes(megabytes << 20)})


@case("f.deflated_and_wider", (10, 40), (CAST, CAST_SAFETENSORS, TO_PTH, TO_SAFETENSORS, INTO))
def _(megabytes):
    half = storage("0", megabytes << 19, HALF)
    return pth(dic((text("a"), tensor(half, (megabytes << 19,)))), {"0": bytes(megabytes << 20)}, ("data/0",))


@case("f.deflated_with_gaps_and_wider", (10, 40), (CAST, CAST_SAFETENSORS, COMPACT, TO_SAFETENSORS))
def _(megabytes):
    half = storage("0", megabytes << 19, HALF)
    return pth(dic((text("a"), tensor(half, (megabytes << 18,), (2,)))), {"0": bytes(megabytes << 20)}, ("data/0",))


@case("f.deflated_storages_in_turn", (5000, 20000), (TO_SAFETENSORS, ("inspect", "--hash", "IN"), READ))
def _(count):
    head = (TENSOR_V2, HOOKS, numbers(1), BYTE, text("storage"), text("cpu"))
    kept = b"(" + b"".join(keep(100 + i, one) for i, one in enumerate(head)) + b"1"
    first = [keep(1000 + i, tup(get(104), get(103), text(str(i)), get(105), integer(2)) + b"Q") for i in range(count)]

    def made(turn, i):
        of = first[i] if turn == 0 else get(1000 + i)
        return get(100) + b"(" + of + integer(turn % 2) + get(102) + get(102) + FALSE + get(101) + b"tR"

    body = lst(*(made(turn, i) for turn in range(2) for i in range(count)))
    return pth(kept + body, {str(i): b"\0\0" for i in range(count)}, {f"data/{i}" for i in range(count)})


@case("f.large_deflated_storages_in_turn", (60, 4000),
      (("inspect", "--hash", "IN"), TO_SAFETENSORS, TO_PTH, CAST_SAFETENSORS, READ, INTO))
def _(count):
    """Two that are not kept both: each is inflated once, or not for each tensor, which would be 160 gigabytes."""
    bytes_of = random.Random(7).randbytes(1 << 20) + bytes(39 << 20)
    parts = (*(storage(str(i), 40 << 20, BYTE) for i in (0, 1)), TENSOR_V2, numbers(1000), HOOKS, numbers(1))
    kept = b"(" + b"".join(keep(i, one) for i, one in enumerate(parts)) + b"1"
    made = ((text(f"t{i}"), get(2) + tup(get(i % 2), integer(1000 * i), get(3), get(5), FALSE, get(4)) + b"R") for i in range(count))
    return pth(kept + dic(*made), {"0": bytes_of, "1": bytes_of[::-1]}, ("data/0", "data/1"))


# ---- modules that are as large as the file has it: whatever else that costs


def named_tensors(made):
    return dic(*((text(f"t{i}"), one) for i, one in enumerate(made)))


@case("f.into.names_of_one_tensor", (1000, 15000), (INTO,))
def _(count):
    return pth(named_tensors([keep(0, tensor(storage("0", 1))), *[get(0)] * count]), ONE)


@case("f.into.parts_of_one_storage", (1000, 15000), (INTO, READ))
def _(count):
    kept = keep(0, TENSOR_V2) + keep(1, storage("0", count)) + keep(2, numbers(1)) + b"000"
    made = (get(0) + tup(get(1), integer(i), get(2), get(2), FALSE, NONE) + b"R" for i in range(count))
    return pth(kept + named_tensors(made), {"0": bytes(4 * count)})


@case("f.into.parts_of_many_dimensions", (1000, 8000), (INTO, READ))
def _(count):
    sizes, strides = numbers(*[1] * 64), numbers(*[2**62] * 64)
    kept = keep(0, TENSOR_V2) + keep(1, storage("0", count)) + keep(2, sizes) + keep(3, strides) + b"0000"
    made = (get(0) + tup(get(1), integer(i), get(2), get(3), FALSE, NONE) + b"R" for i in range(count))
    return pth(kept + named_tensors(made), {"0": bytes(4 * count)})


@case("f.into.expanded", (40, 4000), (INTO, READ))
def _(count):
    kept = keep(0, TENSOR_V2) + keep(1, storage("0", 1)) + keep(2, numbers(1000)) + keep(3, numbers(0)) + b"0000"
    made = (get(0) + tup(get(1), integer(0), get(2), get(3), FALSE, NONE) + b"R" for i in range(count))
    return pth(kept + named_tensors(made), ONE)


@case("f.into.wide_strides_in_a_deflated_storage", (40, 4000), (INTO, READ))
def _(count):
    """Each reaches over all of it."""
    size = 10 << 20
    kept = keep(0, TENSOR_V2) + keep(1, storage("0", size, BYTE)) + keep(2, numbers(2)) + b"000"
    made = (get(0) + tup(get(1), integer(i), get(2), numbers(size - count - 1), FALSE, NONE) + b"R" for i in range(count))
    return pth(kept + named_tensors(made), {"0": bytes(size)}, ("data/0",))


@case("f.metadata_of_shards", (200, 1000), (SHARDS,), suffix=".safetensors")
def _(count):
    return safetensors({f"{i:x}": ("U8", [1], b"\1") for i in range(count)}, metadata={"x": "y" * 200 * count})


@case("f.format_of_shards", (200, 1000), (SHARDS,), suffix=".safetensors", expect="must_load")
def _(count):
    return safetensors({f"{i:x}": ("U8", [1], b"\1") for i in range(count)}, metadata={"format": "y" * 200 * count})


@case("f.dimensions_in_a_header", (10000, 60000), (INSPECT, VERIFY, TO_PTH, TO_SAFETENSORS, READ), suffix=".safetensors")
def _(count):
    return safetensors({f"{i:x}": ("U8", [0] * 64, b"") for i in range(count)})


# ---- sets: items are compared with those they are equal to


@case("f.sets_of_shared_tuples", (300, 1000), (INSPECT, TO_PTH, LOAD))
def _(count):
    frozen, shared = glob("builtins", "frozenset"), doubled(integer(1), 12, tup)
    first = keep(1, frozen) + tup(tup(tup(keep(2, shared), integer(0)))) + b"R"
    more = b"".join(get(1) + tup(tup(tup(get(2), b"M" + struct.pack("<H", i)))) + b"R" for i in range(1, count))
    return pth(dic((text("a"), tensor(storage("0", 1))), (text("v"), call(glob("builtins", "set"), lst(first, more)))), ONE)


@case("f.sets_of_long_tuples_in_notes", (1000, 4000), (INSPECT, TO_PTH, LOAD), suffix=".safetensors", expect="must_load")
def _(count):
    sets = [{"set": [{"tuple": [0] * 300 + [i]}]} for i in range(count)]
    return safetensors({"a": ("F32", [1], bytes(4))}, {"tree": {"dict": [["a", {"tensor": "a"}], ["v", {"set": sets}]]}})


@case("f.sets_of_sets", (12, 60), (INSPECT, TO_PTH, LOAD))
def _(levels):
    frozen, value = glob("builtins", "frozenset"), integer(1)
    for level in range(levels):
        inner = call(frozen, tup(keep(2000 + level, value)))
        value = call(frozen, tup(inner, get(2000 + level)))
    return pth(call(glob("builtins", "set"), lst(value, value)))


# ---- storages that cost their file nothing


def storages_of_key(location):
    head = (FLOAT, text("storage"), text(location))
    kept = b"(" + b"".join(keep(100 + i, one) for i, one in enumerate(head)) + b"1"

    def made(i):
        key = str(i).encode()
        return b"(h\x65h\x64U" + bytes([len(key)]) + key + b"h\x66K\1tQ"

    return kept, made


@case("f.storages_on_meta", (130000, 400000), (INSPECT, TO_PTH, FILTERED))
def _(count):
    kept, made = storages_of_key("meta")
    return pth(kept + lst(*map(made, range(count))))


@case("f.storages_of_a_stream", (60000, 200000), (INSPECT, TO_PTH))
def _(count):
    kept, made = storages_of_key("cpu")
    return legacy(kept + lst(*map(made, range(count))), [text(str(i)) for i in range(count)], [(1, bytes(4))] * count)


# ---- shards each of which costs all that may be spent


@case("f.dear_shards", (30, 300))
def _(count):
    shard = legacy(dic((doubled(integer(1), 23, tup), NONE)))
    index = json.dumps({"weight_map": {f"t{i}": f"s{i}" for i in range(count)}})
    return {"model.safetensors.index.json": index.encode(), **{f"s{i}": shard for i in range(count)}}


# ---- names that rules rewrite


@case("f.names_that_rules_rewrite", (100, 500), (RENAMED_BY_RULE,))
def _(count):
    return pth(dic(*((text("a" * 4000 + f"{i:05d}"), call(LAZY)) for i in range(count))))


@case("f.shorter_names_that_rules_rewrite", (400, 2000), (RENAMED_BY_RULE,))
def _(count):
    return pth(dic(*((text("a" * 1000 + f"{i:05d}"), call(LAZY)) for i in range(count))))


# ---- showing, comparing, searching


@case("f.shown.key_of_shared_tuples", (13, 19), (LISTED, PATH, LOAD_PATH))
def _(levels):
    key = doubled(text("\1" * 100), levels, tup)
    return pth(dic((key, NONE), (text("model"), dic((text("layers.0.weight"), tensor(storage("0", 1)))))), ONE)


@case("f.shown.keys_of_a_long_text", (10, 600), (LISTED, REPR))
def _(count):
    """Many keys, which share what is long in them."""
    keys = (tup(integer(i), get(0)) for i in range(count))
    return pth(dic((text("a"), keep(0, text("\1" * 50_000))), *((key, integer(1)) for key in keys)))


@case("f.shown.escaped_text", (300,), (LISTED,), expect="must_reject")
def _(count):
    return pth(lst(keep(0, text("\1" * 100_000)), get(0) * count))


@case("f.one_dict_under_many_names", (5000, 60000), (STATE,), expect="must_reject")
def _(count):
    """No state dict, as one key is a number: where there is one is looked for in the others."""
    large = dic((text("k"), tensor(storage("0", 1))), *((integer(i), NONE) for i in range(count)), (text("z"), NONE))
    return pth(dic((integer(1), NONE), (text("a"), keep(0, large)), *((text(f"r{i}"), get(0)) for i in range(count))), ONE)


@case("f.inert.long_scheme", (2000, 40000), (("inspect", "--json", "--inert", "IN"), ("load", "--inert", "IN")), expect="must_reject")
def _(count):
    scheme = tup(glob("m" * 1024, "n" * 1024), real(1.0), integer(0))
    arguments = tup(storage("0", 4, glob("torch", "QUInt8Storage")), integer(0), numbers(1), numbers(1), scheme, FALSE, HOOKS)
    return pth(again(QUANTIZED, arguments, count), ONE)


@case("f.shown.sizes", (200, 7000), (LISTED, REPR))
def _(count):
    inner = lst(keep(1, call(SIZE, numbers(*[2**62] * 64))), get(1) * 255)
    return pth(lst(keep(0, inner), get(0) * count))


@case("f.shown.hidden_characters", (1000, 20000), (LISTED,))
def _(count):
    inner = dic((text("x"), keep(0, TENSOR_V2) + keep(1, one_tensor()) + b"R"),
                *((text(str(i)), get(0) + get(1) + b"R") for i in range(count)))
    return pth(dic((text("\1" * 1000), inner)), ONE)


@case("f.shown.large_integers", (8, 17), (REPR, LISTED))
def _(levels):
    return pth(doubled(lst(b"\x8b" + struct.pack("<I", 1024) + b"\x7f" * 1024), levels))


@case("f.shown.large_integers_as_keys", (1, 30), (LISTED,))
def _(count):
    made = (b"\x8b" + struct.pack("<I", 1024) + b"\x7f" * 1022 + struct.pack("<H", i + 1) for i in range(count))
    return pth(lst(keep(1, dic(*((one, NONE) for one in made))), get(1) * 330))


@case("f.shown.large_integers_deflated", (4000, 30000), (LISTED, REPR))
def _(count):
    made = (b"\x8b" + struct.pack("<I", 1024) + b"\x7f" * 1020 + struct.pack("<I", i + 1) for i in range(count))
    return pth(lst(*made), None, ("data.pkl",))


@case("f.shown.tensors", (10, 25), (REPR,))
def _(levels):
    return pth(doubled(tensor(storage("0", 1)), levels), ONE)


@case("f.shown.tensor_of_many_dimensions", (8, 40), (REPR,))
def _(dimensions):
    return pth(tensor(storage("0", 1), (6,) * dimensions, (0,) * dimensions), ONE)


@case("f.compared.texts", (100000, 400000), (EQUAL,))
def _(length):
    return pth(lst(keep(0, text("k" * length)), get(0) * (length // 4)))


for dtype in ("uint8", "bool", "float8_e5m2", "float16", "int16"):
    case(f"f.statistics.{dtype}", (1, 15), (STATS,))(
        lambda count, dtype=dtype: pth(lst(*(
            call(TENSOR_V3, storage("0", 4, UNTYPED), integer(0), numbers(2**24 - i), numbers(0), FALSE, HOOKS, glob("torch", dtype))
            for i in range(count))), {"0": b"\x40" * 4}))

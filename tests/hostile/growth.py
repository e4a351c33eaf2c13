"""Files that are small, and whose reading took time or memory out of proportion: sections B and C of the audit."""
import random

from cases import (EXTRACT, FILTERED, INERT, INERT_FILTER, INSPECT, LOAD, LOAD_INERT, LOAD_INERT_FILTER, LOAD_MMAP, LOAD_SAVE,
                   TO_PTH, TO_SAFETENSORS, VERIFY, case)
from pickles import *

ONE = {"0": bytes(4)}
DATA, X, Y, INDICES = 200, 201, 202, 203  # memo numbers: of a tensor of one float, of two short texts, of an index


def with_data(value, *more):
    """A tensor and texts in the memo, and a value that uses them. Texts in several places are made once, and not charged."""
    texts = lst(keep(X, text("x")), keep(Y, text("y")), get(X), get(Y))
    return dic((text("t"), texts), (text("a"), keep(DATA, tensor(storage("0", 1)))), *more, (text("v"), value))


def pair(x, y):
    return dic((get(X), x), (get(Y), y))


def shared(value, count, number=0):
    """The value once, and again until it is in so many places of a list."""
    return lst(keep(number, value), get(number) * (count - 1))


# ---- B. A tuple of arguments that two calls share, whose items hold two such calls of the level below.


def doubling(function, arguments, levels):
    """`arguments(a, b)`: the arguments of a level, which hold the two calls of the level below."""
    value = arguments(NONE, NONE)
    for level in range(levels):
        number = 1000 + level
        value = arguments(function + keep(number, tup(*value)) + b"R", function + get(number) + b"R")
    return function + tup(*value) + b"R"


def holding(value):
    return with_attributes(get(DATA), dic((get(X), value)))


def held_indices(value):
    return with_attributes(get(INDICES), dic((get(X), value)))


SHARING = {
    "state": (STATEFUL, lambda a, b: (get(DATA), FALSE, HOOKS, pair(a, b))),
    "state_pair": (STATEFUL, lambda a, b: (get(DATA), FALSE, HOOKS, tup(dic((get(X), a)), dic((get(Y), b))))),
    "parameter": (PARAMETER, lambda a, b: (with_attributes(get(DATA), pair(a, b)), FALSE, HOOKS)),
    "from_type": (FROM_TYPE, lambda a, b: (TENSOR_V2, TENSOR, TENSOR_ARGUMENTS, pair(a, b))),
    "ordered_dict": (ORDERED, lambda a, b: (lst(tup(get(X), a), tup(get(Y), b)),)),
    "ordered_dict_of_dict": (ORDERED, lambda a, b: (pair(a, b),)),
    "counter": (glob("collections", "Counter"), lambda a, b: (pair(a, b),)),
    "set": (glob("builtins", "set"), lambda a, b: (lst(a, b),)),
    "frozenset": (glob("builtins", "frozenset"), lambda a, b: (tup(a, b),)),
    "nested": (NESTED, lambda a, b: (holding(a), holding(b), get(DATA), get(DATA))),
    "sparse": (SPARSE, lambda a, b: (COO, tup(held_indices(a), holding(b), numbers(1)))),
    "quantized": (QUANTIZED, lambda a, b: (storage("1", 1, glob("torch", "QInt8Storage")), integer(0), numbers(1),
                                           numbers(1), tup(PER_CHANNEL, holding(a), holding(b), integer(0)),
                                           FALSE, HOOKS)),
    "bytearray": (glob("builtins", "bytearray"), lambda a, b: (a, b)),
    "bytes": (glob("builtins", "bytes"), lambda a, b: (a, b)),
    "object": (glob("m", "M"), lambda a, b: (a, b)),
    "object_of_list": (glob("m", "M"), lambda a, b: (lst(a, b),)),
}
TENSOR_ARGUMENTS = tup(storage("0", 1), integer(0), numbers(1), numbers(1), FALSE, HOOKS)
COO = call(LAYOUT, text("torch.sparse_coo"))
PER_CHANNEL = glob("torch", "per_channel_affine")


def sharing(name):
    function, arguments = SHARING[name]
    innermost = {"bytearray": raw(b"x"), "bytes": raw(b"x")}.get(name)

    def make(levels):
        first = (lambda a, b: arguments(innermost, innermost) if a == NONE else arguments(a, b)) if innermost else arguments
        index = (text("i"), keep(INDICES, tensor(storage("2", 1, LONG), (1, 1))))
        return pth(with_data(doubling(function, first, levels), index), {**ONE, "1": b"\0", "2": bytes(8)})

    case(f"b.shared_arguments.{name}", (18, 120), (INERT, LOAD_INERT) if name.startswith("object") else (INSPECT, LOAD))(make)


for one in SHARING:
    sharing(one)


def dag(levels, leaf=b"]"):
    value = leaf
    for level in range(levels):
        value = lst(keep(1000 + level, value), get(1000 + level))
    return value


@case("b.inert_filter_of_a_module", (22, 60), (INERT_FILTER, INERT, LOAD_INERT_FILTER, LOAD_INERT))
def _(levels):
    float_one = keep(DATA, tensor(storage("0", 1)))
    return pth(module(parameters=fields(a=float_one, b=tensor(storage("0", 1))), other=dag(levels)), ONE)


@case("b.inert_modules_in_modules", (18, 60), (INERT_FILTER, INERT, LOAD_INERT_FILTER, LOAD_INERT))
def _(levels):
    value = module(parameters=fields(a=tensor(storage("0", 1))))
    for level in range(levels):
        value = module(modules=fields(a=keep(1000 + level, value), b=get(1000 + level)))
    return pth(value, ONE)


@case("b.filter_of_shared_lists", (22, 60), (FILTERED,))
def _(levels):
    return pth(with_data(dag(levels)), ONE)


@case("b.shared_lists", (22, 400), (INSPECT, TO_PTH, TO_SAFETENSORS, EXTRACT, VERIFY, LOAD, LOAD_SAVE))
def _(levels):
    return pth(with_data(dag(levels)), ONE)


@case("b.set_of_shared_tuples", (20, 60), (INSPECT, TO_PTH, LOAD, LOAD_SAVE))
def _(levels):
    value = integer(1)
    for level in range(levels):
        value = tup(keep(1000 + level, value), get(1000 + level))
    return pth(call(glob("builtins", "set"), lst(value, integer(1), value)))


# ---- B. Work for each of many tensors or places, over something large that they share.


@case("b.shared_metadata", (5000, 100_000))
def _(n):
    metadata = keep(0, dic(*[(text("conj") if i == 0 else get(1), FALSE) for i in range(n)]).replace(
        text("conj"), keep(1, text("conj")), 1))
    arguments = keep(2, tup(storage("0", 1), integer(0), numbers(1), numbers(1), FALSE, HOOKS, metadata))
    return pth(lst(keep(3, TENSOR_V2) + arguments + b"R", (get(3) + get(2) + b"R") * n), ONE)


@case("b.shared_attributes", (500, 5000))
def _(n):
    state = keep(0, fields(**{f"attribute{i}": NONE for i in range(n)}))
    return pth(with_data(lst(with_attributes(get(DATA), state), with_attributes(get(DATA), get(0)) * n)), ONE)


@case("b.many_attributes", (10000, 60000))
def _(n):
    return pth(with_data(with_attributes(get(DATA), fields(**{f"attribute{i}": NONE for i in range(n)}))), ONE)


def long_text(n):
    return "k" * n


@case("b.long_key_in_many_dicts", (100_000, 1_000_000))
def _(n):
    key = keep(0, text(long_text(n)))
    small = b"".join(integer(i) + NONE for i in range(9))
    return pth(lst(b"}(" + key + NONE + small + b"u", (b"}(" + get(0) + NONE + small + b"u") * (n // 50)))


def again(of, count):
    """A storage, and others with the same id: three bytes each."""
    return keep(0, of[:-1]) + b"Q" + (get(0) + b"Q") * count


@case("b.long_key_of_meta_storages", (100_000, 1_000_000))
def _(n):
    return pth(lst(again(storage(long_text(n), 1, location="meta"), n // 10)))


@case("b.long_key_without_storage", (100_000, 1_000_000))
def _(n):
    return pth(lst(tensor(storage(long_text(n), 1)) * 2), ONE)


@case("b.long_location", (100_000, 1_000_000), (INSPECT, EXTRACT))
def _(n):
    of = storage("0", 1, location=long_text(n))
    return pth(fields(a=tensor(of), b=lst(again(of, n // 10))), ONE)


def coo(indices, values, size):
    return call(SPARSE, COO, tup(indices, values, size))


def sharing_parts(indices, values, n):
    """So many sparse tensors of the same parts."""
    parts = keep(4, tup(indices, values, numbers(9)))
    return lst(parts, keep(3, SPARSE) + keep(2, tup(COO, get(4))) + b"R", (get(3) + get(2) + b"R") * n)


@case("b.sparse_sharing_indices", (1_000, 20_000), (INSPECT, LOAD, LOAD_MMAP))
def _(n):
    count = 50 * n
    indices = keep(0, tensor(storage("1", count, LONG), (1, count), (count, 1)))
    values = keep(1, tensor(storage("0", 1), (count,), (0,)))
    return pth(sharing_parts(indices, values, n), {**ONE, "1": bytes(8 * count)}, deflated=("data/1", "data.pkl"))


@case("b.sparse_sharing_expanded_indices", (20, 2_000), (INSPECT, TO_SAFETENSORS, LOAD))
def _(n):
    count = 1_000_000
    indices = tensor(storage("1", 1, LONG), (1, count), (0, 0))
    return pth(sharing_parts(indices, tensor(storage("0", 1), (count,), (0,)), n), {**ONE, "1": bytes(8)})


@case("b.modules_sharing_hidden_names", (1000, 10000), (INERT,))
def _(n):
    names = keep(0, call(glob("builtins", "set"), lst(*(text(f"name{i}") for i in range(n)))))
    return pth(lst(module(hidden=names), module(hidden=get(0)) * (n // 3)))


@case("b.modules_sharing_parameters", (1000, 30000), (INERT, LOAD_INERT))
def _(n):
    names = keep(0, fields(**{f"name{i}": NONE for i in range(n)}))
    state = keep(1, fields(_parameters=names, _buffers=b"}", _modules=b"}"))
    kind = keep(2, glob("m", "M"))
    return pth(lst(kind + NO_ITEMS + b"\x81" + state + b"b", (get(2) + NO_ITEMS + b"\x81" + get(1) + b"b") * (2 * n)))


@case("b.dicts_in_many_places", (2000, 20000))
def _(n):
    return pth(shared(dic(*((integer(i), NONE) for i in range(n))), n))


@case("b.long_names_in_json", (100_000, 900_000))
def _(n):
    return pth(dic((text(long_text(n)), lst(integer(1) * (n // 4)))))


@case("b.deep_long_names", (20, 300))
def _(n):
    value = tensor(storage("0", 1))
    for level in range(n):
        value = dic((text(long_text(3000)), value), *((integer(i), b"]") for i in range(40)))
    return pth(value, ONE)


def json_values(content):
    return safetensors({"a": ("F32", [1], bytes(4))}, {"attributes": {"dict": [["_x", content]]}})


@case("b.size_of_many_dims", (20_000, 300_000), suffix=".safetensors")
def _(n):
    return json_values({"size": [1] * n})


@case("b.pickled_size_of_many_dims", (20_000, 300_000), expect="must_reject")
def _(n):
    return pth(call(SIZE, tup(integer(1) * n, NONE, NONE, NONE)))


@case("b.dicts_in_tuple_keys", (3_000, 30_000), suffix=".safetensors")
def _(n):
    return json_values({"dict": [[{"tuple": [{"dict": [["k", i]]}]}, None] for i in range(n)]})


@case("b.objects_in_tuple_keys", (3_000, 30_000), suffix=".safetensors")
def _(n):
    return json_values({"dict": [[{"tuple": [{"object": ["layout", {"tuple": [str(i)]}, None, None]}]}, None]
                                 for i in range(n)]})


@case("b.deflated_storages_in_turn", (20, 3_000), (INSPECT, TO_SAFETENSORS))
def _(n):
    count = 4_000_000
    one = [tensor(keep(i, storage(str(i), count)), (1,), None, 0) for i in (0, 1)]
    shared_parts = [keep(2, TENSOR_V2), keep(3, numbers(1)), keep(4, HOOKS)]
    others = (get(2) + tup(get(i % 2), integer(i // 2), get(3), get(3), FALSE, get(4)) + b"R" for i in range(2, n))
    return pth(lst(*one, tup(numbers(), *shared_parts[1:]), tup(shared_parts[0]) + b"0", *others), {"0": bytes(4 * count), "1": bytes(4 * count)}, deflated=("data/0", "data/1"))


@case("b.colliding_names_of_uninitialized", (5_000, 40_000), (INSPECT, TO_PTH))
def _(n):
    lazy = keep(0, LAZY)
    names = colliding(n)
    return pth(dic((text(names[0]), call(lazy)), *((text(name), call(get(0))) for name in names[1:])))


@case("b.colliding_names", (5_000, 40_000), (INSPECT, TO_PTH, TO_SAFETENSORS, LOAD))
def _(n):
    return pth(with_data(lst(*(dic((text(name), NONE)) for name in colliding(n)))), ONE)


@case("b.colliding_attributes", (2_000, 10_000), (INSPECT, TO_PTH))
def _(n):
    return pth(with_data(with_attributes(get(DATA), fields(**{name: NONE for name in colliding(n)}))), ONE)


# ---- C. Memory.


@case("c.memo_doubling", (4, 22))
def _(n):
    numbers_, last = [], 0
    for _i in range(n):
        last = min(2 * last + 64, 2**24)
        numbers_.append(last)
    return pth(b"N" + b"".join(b"r" + struct.pack("<I", number) for number in numbers_))


@case("c.memo_far_numbers", (10_000, 100_000))
def _(n):
    return pth(b"N" + b"".join(b"r" + struct.pack("<I", 2**24 - 2 * i) for i in range(n)))


@case("c.layout_text", (20_000, 100_000))
def _(n):
    arguments = keep(1, tup(text("l" * n)))
    return pth(lst(keep(0, LAYOUT) + arguments + b"R", (get(0) + get(1) + b"R") * (n // 5)))


@case("c.locations", (50_000, 500_000))
def _(n):
    first = storage("0", 1, location="l" * n)
    return pth(shared(tensor(first), n // 5), ONE)


@case("c.locations_of_storages", (1_000, 5_000))
def _(n):
    location = keep(0, text("l" * 100 * n))
    kept = {str(i): bytes(4) for i in range(n)}
    return pth(lst(tensor(storage("0", 1, location=location)),
                   *(tensor(storage(str(i), 1, location=get(0))) for i in range(1, n))), kept)


@case("c.legacy_keys", (50_000, 500_000))
def _(n):
    return legacy(tensor(storage("k" * n, 1)), [keep(0, text("k" * n)), get(0) * (n // 2)], [(1, bytes(4))])


@case("c.legacy_locations", (1_000, 5_000))
def _(n):
    location = keep(0, text("l" * 100 * n))
    made = [tensor(storage(str(i), 1, location=get(0) if i else location)) for i in range(n)]
    return legacy(lst(*made), [text(str(i)) for i in range(n)], [(1, bytes(4))] * n)


@case("c.legacy_long_key_again", (50_000, 500_000))
def _(n):
    return legacy(lst(again(storage("k" * n, 1), n // 5)), [text("k" * n)], [(1, bytes(4))])


@case("c.attribute_name", (5_000, 50_000))
def _(n):
    arguments = keep(1, tup(get(DATA), FALSE, HOOKS, dic((get(2), NONE))))
    return pth(with_data(lst(keep(2, text("n" * n)), keep(0, STATEFUL) + arguments + b"R", (get(0) + get(1) + b"R") * (n // 10))), ONE)


def many_objects(names, n):
    return lst(keep(0, names) + keep(1, NO_ITEMS) + b"R", (get(0) + get(1) + b"R") * n)


@case("c.inert_names", (20_000, 200_000), (INERT,))
def _(n):
    return pth(many_objects(glob("m" * 1024, "n" * 1024), n))


@case("c.inert_names_on_the_stack", (20_000, 200_000), (INERT,))
def _(n):
    return pth(lst(keep(2, text("m" * 1024)) + get(2) + b"\x93", (get(2) + get(2) + b"\x93") * n))


@case("c.inert_global_again", (20_000, 200_000), (INERT,))
def _(n):
    return pth(lst(keep(0, glob("m" * 1024, "n" * 1024)), (get(0) + b"\x85") * n))


@case("c.repr_of_a_key", (20_000, 1_000_000))
def _(n):
    part = keep(0, raw(bytes(n)))
    return pth(lst(dic((tup(part, *[get(0)] * 63), b"]"))))


@case("c.repr_of_a_key_again", (20_000, 200_000))
def _(n):
    key = keep(1, tup(keep(0, raw(bytes(n))), get(0), get(0), get(0)))
    return pth(lst(dic((key, b"]")), dic((get(1), b"]")) * (n // 20)))


@case("c.dims", (20_000, 200_000))
def _(n):
    sizes = keep(3, numbers(*[1] * 64))
    arguments = keep(1, tup(storage("0", 1), integer(0), sizes, get(3), FALSE, HOOKS))
    return pth(lst(keep(0, TENSOR_V2) + arguments + b"R", (get(0) + get(1) + b"R") * n), ONE)


@case("c.dims_of_meta", (20_000, 200_000))
def _(n):
    sizes = keep(3, numbers(*[1] * 64))
    arguments = keep(1, tup(glob("torch", "float32"), sizes, get(3), FALSE))
    return pth(lst(keep(0, META) + arguments + b"R", (get(0) + get(1) + b"R") * n))


@case("c.dims_of_sizes", (20_000, 200_000))
def _(n):
    arguments = keep(1, tup(numbers(*[1] * 64)))
    return pth(lst(keep(0, SIZE) + arguments + b"R", (get(0) + get(1) + b"R") * n))


@case("c.tensors_for_five_bytes", (20_000, 200_000))
def _(n):
    arguments = keep(1, tup(storage("0", 1), integer(0), numbers(1), numbers(1), FALSE, HOOKS))
    return pth(lst(keep(0, TENSOR_V2) + arguments + b"R", (get(0) + get(1) + b"R") * n), ONE)


@case("c.sparse_bounds", (2_000, 20_000))
def _(n):
    indices = tensor(storage("1", 0, LONG), (n, 0), (1, 1))
    values = tensor(storage("0", 1), (0,), (1,))
    arguments = keep(1, tup(COO, tup(indices, values, numbers(*[9] * n))))
    return pth(lst(keep(0, SPARSE) + arguments + b"R", (get(0) + get(1) + b"R") * (n // 2)), {**ONE, "1": b""})


@case("c.expanded_sparse_indices", (10_000, 2**28), (INSPECT, TO_SAFETENSORS, TO_PTH, LOAD, LOAD_MMAP, LOAD_SAVE))
def _(n):
    return pth(fields(a=coo(tensor(storage("1", 1, LONG), (1, n), (0, 0)), tensor(storage("0", 1), (n,), (0,)),
                            numbers(9))), {**ONE, "1": bytes(8)})


NOISE = 8_000


def padded(unit, inflated):
    """A program of so many bytes that repeats the unit."""
    return raw(random.Random(1).randbytes(NOISE)) + b"0(" + unit * ((inflated - NOISE - 512) // len(unit)) + b"t"


UNITS = {"lists": b"]", "dicts": b"}", "sets": b"\x8f", "tuples": b")\x85", "nones": b"N", "strings": b"U\0",
         "marks": b"(t", "memo": b")\x94", "dicts_of_one": b"}NNs", "lists_of_one": b"]Na", "lists_of_two": b"]NaNa",
         "globals": b"ctorch\nfloat\n", "calls": b"h\0)R", "integers": b"\x8a\x09" + b"\1" * 9}


def deflated(name, unit):
    head = keep(0, ORDERED) + b"0" if name == "calls" else b""

    def program(inflated):
        return pth(head + padded(unit, inflated), deflated=("data.pkl",))

    # Half of the memory that a small file may take is the program.
    case(f"c.deflated_program.{name}", (2**20, 24 * 2**20))(program)
    # As much as deflated entries may be: 64 MiB, and 200 times what is stored, in which a repeated unit is a thousandth.
    if name in ("lists", "marks", "globals"):
        case(f"c.deflated_program_at_the_limit.{name}")(lambda: program((64 * 2**20 + 200 * NOISE) * 5 // 4))


for one in UNITS.items():
    deflated(*one)


def many_names(link):
    def make(n):
        shard = pth(dic((text("t0"), padded(b"]", 2**19))), deflated=("data.pkl",))
        names = [f"s{i}.pth" for i in range(n)]
        index = json.dumps({"weight_map": {f"t{i}": name for i, name in enumerate(names)}}).encode()
        return {"model.index.json": index, "s0.pth": shard, **{name: link + ":s0.pth" for name in names[1:]}}

    return make


for one in ("hard", "symbolic"):
    case(f"c.one_shard_under_many_names.{one}", (4, 40))(many_names(one))


@case("c.pruning", (6_000, 60_000), (FILTERED,))
def _(n):
    part = dic(*((integer(i), NONE) for i in range(n)))
    return pth(fields(a=tensor(storage("0", 1)), b=tensor(storage("0", 1)), v=shared(part, 1_000)), ONE)

"""Random programs of the operations that checkpoints have."""
import math
import random
import struct

from stand_ins import NAMES, SIZES, STORAGES, STORED, known_names

KEYS = {"int", "text", "float", "bool", "none", "bytes", "tuple", "dtype"}

DTYPES = sorted(known_names.DTYPES)
ALONE = sorted(NAMES)

SETTLED = KEYS | {"bytearray", "set", "complex", "size", "device", "tensor", "global"}


class Generator:
    """One program, as a list of operations. `stack` and `memo` are the kinds of what will be there; None is a mark."""

    def __init__(self, seed, settled):
        self.settled = settled
        self.random = random.Random(seed)
        self.ops, self.stack, self.memo, self.stored = [], [], {}, 0
        self.protocol = self.random.choice((2, 2, 3, 4, 5))
        self.other = self.random.choice(("UntypedStorage", *STORAGES))  # of the second storage
        self.packed = self.random.choice(("QInt8Storage", "QUInt8Storage", "QInt32Storage"))  # of the last

    def make(self):
        self.emit(b"\x80" + bytes([self.protocol]))
        for _ in range(self.random.choice((4, 8, 15, 30, 60))):
            self.step()
        while None in self.stack:
            self.close("tuple")
        if not self.stack:
            self.emit(b"N", 0, "none")
        while len(self.stack) > 1:
            self.emit(b"\x86", 2, "tuple")
        return self.ops + [b"."]

    def emit(self, op, taken=0, *made):
        self.ops.append(op)
        if taken:
            del self.stack[-taken:]
        self.stack.extend(made)

    def above(self):
        return len(self.stack) - (len(self.stack) - 1 - self.stack[::-1].index(None)) - 1 if None in self.stack else len(self.stack)

    def close(self, kind):
        n = self.above()
        self.emit({"tuple": b"t", "list": b"l", "dict": b"d", "set": b"\x91"}[kind], n + 1, kind)

    # Values that need nothing.

    def text(self, text=None):
        if text is None:
            text = self.random.choice(("a", "b", "", "é", "x.y", "1", "tuple"))
        raw = text.encode()
        forms = [b"X" + struct.pack("<I", len(raw)), b"U" + bytes([len(raw)]), b"T" + struct.pack("<I", len(raw))]
        forms += [b"\x8c" + bytes([len(raw)]), b"\x8d" + struct.pack("<Q", len(raw))] if self.protocol >= 4 else []
        self.emit((forms[0] if self.random.random() < 0.6 else self.random.choice(forms)) + raw, 0, "text")

    def integer(self, value=None):
        if value is None:
            value = self.random.choice((0, 1, 1, 2, 255, 256, 65536, -1, 2**31, 2**53 + 1, -2**63, 2**63, 2**70, -2**64))
        forms = []
        if 0 <= value < 256:
            forms.append(b"K" + bytes([value]))
        if 0 <= value < 65536:
            forms.append(b"M" + struct.pack("<H", value))
        if -2**31 <= value < 2**31:
            forms.append(b"J" + struct.pack("<i", value))
        long = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        forms += [b"\x8a" + bytes([len(long)]) + long, b"\x8b" + struct.pack("<i", len(long)) + long]
        if value == 0:
            forms.append(b"\x8a\x00")
        self.emit(forms[0] if self.random.random() < 0.7 else self.random.choice(forms), 0, "int")

    def plain(self):
        choice = self.random.randrange(10)
        if choice == 0:
            self.emit(b"N", 0, "none")
        elif choice in (1, 2):
            self.emit(self.random.choice((b"\x88", b"\x89")), 0, "bool")
        elif choice == 3:
            value = self.random.choice((0.0, -0.0, 1.0, 1.0, 0.1, 2.0**53, 1e300, math.inf, math.nan))
            self.emit(b"G" + struct.pack(">d", value), 0, "float")
        elif choice == 4:
            raw = self.random.choice((b"", b"a", b"\xff\x00"))
            forms = [b"C" + bytes([len(raw)]), b"B" + struct.pack("<I", len(raw)), b"\x8e" + struct.pack("<Q", len(raw))]
            self.emit(self.random.choice(forms) + raw, 0, "bytes")
        elif choice == 5 and self.protocol == 5:
            self.emit(b"\x96" + struct.pack("<Q", 2) + b"xy", 0, "bytearray")
        elif choice in (6, 7):
            self.integer()
        else:
            self.text()

    def name(self, module, name):
        if self.protocol >= 4 and self.random.random() < 0.3:
            self.text(module)
            self.text(name)
            self.emit(b"\x93", 2, "global")
        else:
            self.emit(f"c{module}\n{name}\n".encode(), 0, "global")

    # What is taken from the memo may be anything, made right or not.
    def known(self, kinds=None):
        fitting = [i for i, kind in self.memo.items() if kinds is None or kind in kinds]
        if not fitting:
            return False
        index = self.random.choice(fitting)
        op = b"h" + bytes([index]) if index < 256 and self.random.random() < 0.8 else b"j" + struct.pack("<I", index)
        self.emit(op, 0, self.memo[index])
        return True

    def remember(self):
        if not self.above():
            return
        kind = self.stack[-1]
        if self.protocol >= 4 and self.random.random() < 0.5:
            self.emit(b"\x94")
            self.memo[len(self.memo)] = kind
            return
        index = self.random.choice((len(self.memo), len(self.memo), len(self.memo), self.random.randrange(12)))
        self.emit(b"q" + bytes([index]) if self.random.random() < 0.8 else b"r" + struct.pack("<I", index))
        self.memo[index] = kind

    # Something more for a list or a dict that is already somewhere.
    def change(self):
        if self.settled or not self.known({"list", "dict"}):
            return
        if self.stack[-1] == "list":
            self.plain()
            self.emit(b"a", 1)
        else:
            self.key()
            self.plain()
            self.emit(b"s", 2)
        self.emit(b"0", 1)

    # A call of one of the names: the arguments are on the stack as a tuple.
    def call(self, made):
        self.emit(b"\x81" if self.random.random() < 0.12 else b"R", 2, made)

    def arguments(self, n):
        self.emit((b")", b"\x85", b"\x86", b"\x87")[n], n, "tuple")

    def container(self, pairs=False):
        """A list or a dict for a call, made now or taken from the memo."""
        if self.random.random() < 0.4 and self.known({"list", "dict", "tuple"}):
            return
        if self.random.random() < 0.3:
            self.emit(b"}", 0, "dict")
        else:
            self.emit(b"]", 0, "list")
            self.remember()
            for _ in range(self.random.randrange(4)):
                if pairs:
                    self.key()
                    self.plain()
                    self.arguments(2)
                else:
                    self.key()
                self.emit(b"a", 1)
        self.remember()

    def key(self):
        if self.random.random() < 0.15 and self.known(KEYS):
            return
        if self.random.random() < 0.1:
            self.plain()
            self.plain()
            self.arguments(2)
        else:
            self.plain()

    def made(self):
        builtins = self.random.choice(("__builtin__", "builtins"))
        choice = self.random.randrange(14)
        if choice < 3:
            self.name("collections", self.random.choice(("OrderedDict", "OrderedDict", "Counter")))
            if self.random.random() < 0.5:
                self.arguments(0)
            else:
                self.container(pairs=True)
                self.arguments(1)
            self.call("dict")
        elif choice < 5:
            self.name(builtins, self.random.choice(("set", "frozenset")))
            if self.random.random() < 0.2:
                self.arguments(0)
            else:
                self.container()
                self.arguments(1)
            self.call("set")
        elif choice == 5:
            self.name("_codecs", "encode")
            self.text(self.random.choice(("", "a", "é", "ÿ\0")))
            self.text("latin1")
            self.arguments(2)
            self.call("bytes")
        elif choice == 6:
            self.name(builtins, self.random.choice(("bytes", "bytearray")))
            n = self.random.randrange(3)
            for _ in range(n):
                if not self.known({"bytes", "bytearray"}):
                    self.plain()
            self.arguments(n)
            self.call("bytes")
        elif choice == 7:
            self.name(builtins, "complex")
            self.plain()
            self.plain()
            self.arguments(2)
            self.call("complex")
        elif choice == 8:
            self.name("torch", "Size")
            self.container()
            self.arguments(1)
            self.call("size")
        elif choice == 9:
            self.dtype()
        elif choice == 10:
            self.name("torch", "device")
            self.text(self.random.choice(("cpu", "cuda")))
            self.integer(0)
            n = self.random.choice((1, 2))
            if n == 1:
                self.emit(b"0", 1)
            self.arguments(n)
            self.call("device")
        elif choice == 11:
            self.tensor()
        elif choice == 12:
            self.composite()
        else:
            # A name alone is a value, or none.
            self.name(*self.random.choice(ALONE))

    def dtype(self):
        self.name("torch", self.random.choice(("float32", "int64", "bfloat16", *DTYPES)))
        self.stack[-1] = "dtype"


    def storage(self, kind, key):
        module = "torch.storage" if kind == "UntypedStorage" else self.random.choice(("torch", "torch", "torch", "torch.cuda"))
        self.emit(b"(", 0, None)
        self.text("storage")
        self.name(module, kind)
        self.text(key)
        self.text("cpu")
        self.integer(STORED // SIZES[STORAGES.get(kind, "uint8")])
        self.close("tuple")
        self.emit(b"Q", 1, "storage")

    def sizes(self, *numbers):
        if self.random.random() < 0.2 and self.known({"list", "tuple"}):
            return
        self.emit(b"]", 0, "list")
        self.remember()
        for number in numbers:
            self.integer(number)
            self.emit(b"a", 1)

    def flag(self):
        self.emit(self.random.choice((b"\x88", b"\x89", b"\x89", b"\x89")), 0, "bool")

    def hooks(self):
        self.name("collections", "OrderedDict")
        self.arguments(0)
        self.emit(b"R", 2, "dict")

    def called(self, made):
        """The arguments are behind a mark."""
        self.close("tuple")
        self.emit(b"R", 2, made)

    def tensor(self, kind=None, sizes=None):
        """Of the kind of storage that a key has in this program: "0" is floats, "2" indices of zeros."""
        if kind is None and self.random.random() < 0.2 and self.known({"tensor"}):
            return
        key = {None: "0", "LongStorage": "2"}.get(kind, "1")
        if kind is None and self.random.random() < 0.4:
            kind, key = self.other, "1"
        how = self.random.choice(("_rebuild_tensor_v2",) * 4 + ("_rebuild_tensor_v3",) * 2 + ("_rebuild_tensor",))
        typed = self.random.random() < 0.15 and how != "_rebuild_tensor"
        if typed:
            self.name("torch._tensor", "_rebuild_from_type_v2")
            self.emit(b"(", 0, None)
        self.name("torch._utils", how)
        if typed:
            self.name(*self.random.choice((("torch", "Tensor"), ("torch.nn.parameter", "Parameter"))))
        self.emit(b"(", 0, None)
        self.storage(kind or "FloatStorage", key)
        self.integer(0 if sizes else self.random.choice((0, 1)))
        self.sizes(*(sizes or (2,)))
        self.sizes(*(1 for _ in sizes or (2,)))
        if how != "_rebuild_tensor":
            self.flag()
            self.hooks()
        if how == "_rebuild_tensor_v3":
            self.dtype()
        if typed:
            self.close("tuple")
            self.state()
            self.called("tensor")
        else:
            self.called("tensor")

    def state(self):
        if self.random.random() < 0.3 and self.known({"dict", "none"}):
            return
        self.emit(b"}", 0, "dict")
        self.remember()
        if self.random.random() < 0.5:
            self.text(self.random.choice(("a", "b", "c")))
            self.plain()
            self.emit(b"s", 2)

    def composite(self):
        choice = self.random.randrange(7)
        if choice < 2:
            stateful = choice == 1
            self.name("torch._utils", "_rebuild_parameter_with_state" if stateful else "_rebuild_parameter")
            self.emit(b"(", 0, None)
            self.tensor()
            self.flag()
            self.hooks()
            if stateful:
                self.state()
            self.called("tensor")
        elif choice == 2:
            self.name("torch._utils", "_rebuild_meta_tensor_no_storage")
            self.emit(b"(", 0, None)
            self.dtype()
            self.sizes(2)
            self.sizes(1)
            self.flag()
            self.called("tensor")
        elif choice == 3:
            self.sparse()
        elif choice == 4:
            self.quantized()
        elif choice == 5:
            self.name("torch._utils", "_rebuild_nested_tensor")
            self.emit(b"(", 0, None)
            self.tensor()
            for sizes in ((1, 1), (1, 1), (1,)):
                self.tensor("LongStorage", sizes)
            self.called("composite")
        else:
            self.name("torch.nn.parameter", self.random.choice(("UninitializedParameter", "UninitializedBuffer")))
            n = self.random.randrange(4)
            if n > 0:
                self.flag()
            if n > 1:
                self.emit(b"N", 0, "none")
            if n > 2:
                self.dtype()
            self.arguments(n)
            self.emit(b"R", 2, "lazy")

    def sparse(self):
        self.name("torch._utils", "_rebuild_sparse_tensor")
        coo = self.random.random() < 0.6
        self.name("torch.serialization", "_get_layout")
        self.text("torch.sparse_" + ("coo" if coo else self.random.choice(("csr", "csc", "bsr", "bsc"))))
        self.arguments(1)
        self.emit(b"R", 2, "layout")
        self.emit(b"(", 0, None)
        self.tensor("LongStorage", (1, 1) if coo else (2,))
        if not coo:
            self.tensor("LongStorage", (0,))
        self.tensor("FloatStorage" if self.other == "FloatStorage" else None, (1,) if coo else (0,))
        for size in (9,) if coo else (1, 1):
            self.integer(size)
        self.arguments(1 if coo else 2)
        if coo and self.random.random() < 0.4:
            self.flag()
        self.close("tuple")
        self.arguments(2)
        self.emit(b"R", 2, "composite")

    def quantized(self):
        self.name("torch._utils", "_rebuild_qtensor")
        self.emit(b"(", 0, None)
        # Of ordinary numbers, now and then.
        self.storage(*((self.other, "1") if self.random.random() < 0.1 else (self.packed, "3")))
        self.integer(0)
        self.sizes(2)
        self.sizes(1)
        self.emit(b"(", 0, None)
        scheme = self.random.choice(sorted(known_names.SCHEMES))
        self.name("torch", scheme)
        if scheme.startswith("per_tensor"):
            self.emit(b"G" + struct.pack(">d", 0.5), 0, "float")
            self.integer()
        else:
            self.tensor(None, (2,))
            self.tensor("LongStorage" if self.random.random() < 0.7 else None, (2,))
            self.integer(0)
        self.close("tuple")
        self.emit(b"\x89", 0, "bool")
        self.hooks()
        self.called("composite")

    # What takes values that are there.
    def combine(self):
        n, marked = self.above(), None in self.stack
        choice = self.random.randrange(11)
        top = self.stack[-1] if n else None
        if choice == 0 and n >= 2 and (self.stack[-2] == "list" or self.random.random() < 0.03):
            self.emit(b"a", 1)
        elif choice == 1 and n >= 3 and self.stack[-3] == "dict" and (self.stack[-2] in KEYS or self.random.random() < 0.1):
            self.emit(b"s", 2)
        elif choice == 2 and marked:
            self.close(self.random.choice(("tuple", "list", "set" if self.protocol >= 4 else "list")))
        elif choice == 3 and marked and n % 2 == 0:
            self.close("dict")
        elif choice == 4 and marked and len(self.stack) >= n + 2 and self.stack[-n - 2] == "list":
            self.emit(b"e", n + 1)
        elif choice == 5 and marked and n % 2 == 0 and len(self.stack) >= n + 2 and self.stack[-n - 2] == "dict":
            self.emit(b"u", n + 1)
        elif choice == 6 and marked and len(self.stack) >= n + 2 and self.stack[-n - 2] == "set":
            self.emit(b"\x90", n + 1)
        elif choice == 7 and n >= 2 and self.stack[-2] == "dict" and top in ("dict", "none"):
            self.emit(b"b", 1)
        elif choice == 8 and n and not (self.settled and top in ("list", "dict")):
            self.emit(b"2", 0, top)
        elif choice == 9 and self.stack and self.random.random() < 0.5:
            self.emit(b"0", 1)
        elif choice == 10 and marked and self.random.random() < 0.3:
            self.emit(b"1", n + 1)
        elif n >= 2:
            self.emit(b"\x86", 2, "tuple")

    def step(self):
        choice = self.random.randrange(20)
        if choice < 5:
            self.plain()
        elif choice == 5:
            self.emit(b"]", 0, "list")
        elif choice == 6:
            self.emit(b"}", 0, "dict")
        elif choice == 7 and self.protocol >= 4:
            self.emit(b"\x8f", 0, "set")
        elif choice == 8:
            self.emit(b"(", 0, None)
        elif choice < 11:
            self.made()
        elif choice < 13:
            self.remember()
        elif choice < 15:
            self.known(SETTLED if self.settled else None)
        elif choice == 15:
            self.change()
        else:
            self.combine()

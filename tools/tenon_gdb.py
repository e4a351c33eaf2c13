"""Shows tensors in gdb: (gdb) source tenon_gdb.py, then print t.

    $1 = tensor([0., 1., 2., ...], size=(2, 3), stride=(3, 1), dtype=float32, device=cpu, cell=0x..., body=0x...)

Works on a core file as well: nothing is called in the program, its memory is read.
"""
import struct

import gdb
import gdb.printing

SHOWN = 6  # elements

# dtype name: struct format of one element, or a function from its bytes.
FORMATS = {"float64": "d", "float32": "f", "float16": "e", "int64": "q", "int32": "i", "int16": "h", "int8": "b",
           "uint64": "Q", "uint32": "I", "uint16": "H", "uint8": "B", "bool": "?", "complex64": "ff", "complex128": "dd",
           "complex32": "ee"}


def dims(value):
    """The numbers of a tenon::Dims."""
    size = int(value["size_"])
    inline = value["inline_"]["_M_elems"]
    if size > int(inline.type.strip_typedefs().range()[1]) + 1:
        return [int(value["heap_"][i]) for i in range(size)]
    return [int(inline[i]) for i in range(size)]


def tuple_text(values):
    return "(" + ", ".join(map(str, values)) + (",)" if len(values) == 1 else ")")


def dtype_name(value):
    name = str(value).split("::")[-1]
    return "bool" if name == "bool_" else name


def element(dtype, raw, conj, neg):
    if dtype == "bfloat16":
        parts = struct.unpack("<f", bytes(2) + raw)
    else:
        parts = struct.unpack("<" + FORMATS[dtype], raw)
    if neg:
        parts = tuple(-part for part in parts)
    if len(parts) == 2:
        if conj:
            parts = (parts[0], -parts[1])
        return f"{parts[0]:g}{parts[1]:+g}j"
    return f"{parts[0]:g}" if isinstance(parts[0], float) else str(parts[0])


def elements(layout, data):
    """The first few elements in order, or why there are none to show."""
    dtype, shape, strides = dtype_name(layout["dtype"]), dims(layout["shape"]), dims(layout["strides"])
    conj, neg, offset = bool(layout["conj"]), bool(layout["neg"]), int(layout["offset"])
    count = 1
    for size in shape:
        count *= size
    if dtype != "bfloat16" and dtype not in FORMATS:
        return "..."
    itemsize = 2 if dtype == "bfloat16" else struct.calcsize("<" + FORMATS[dtype])
    shown = []
    inferior = gdb.selected_inferior()
    for n in range(min(count, SHOWN)):
        place, rest = offset, n
        for size, stride in zip(reversed(shape), reversed(strides)):
            place += rest % size * stride
            rest //= size
        shown.append(element(dtype, bytes(inferior.read_memory(data + place * itemsize, itemsize)), conj, neg))
    return "[" + ", ".join(shown) + (", ..." if count > SHOWN else "") + "]"


def device_name(device):
    name = str(device["type_"]).split("::")[-1]
    index = int(device["index_"])
    return f"{name}:{index}" if index >= 0 else name


class LayoutPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        device = device_name(self.value["device"])
        return (f"size={tuple_text(dims(self.value['shape']))}, stride={tuple_text(dims(self.value['strides']))}, "
                f"offset={int(self.value['offset'])}, dtype={dtype_name(self.value['dtype'])}, device={device}"
                + (", conj" if bool(self.value["conj"]) else "") + (", neg" if bool(self.value["neg"]) else ""))


class TensorPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        cell = self.value["cell_"]["object_"]
        if int(cell) == 0:
            return "tensor(undefined)"
        body = cell["body"]["object_"]
        layout = body["layout_"]
        impl = body["storage_"]["impl_"]["object_"]
        data = int(impl["data"]) if int(impl) else 0
        contents = "..."
        # Elements of another device are not in this process's memory.
        if data and device_name(layout["device"]) == "cpu":
            contents = elements(layout, data)
        name = str(body.dynamic_type.target()).split("::")[-1]
        name = "tensor" if name == "Body" else name
        return f"{name}({contents}, {LayoutPrinter(layout).to_string()}, cell={int(cell):#x}, body={int(body):#x})"


class DimsPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return tuple_text(dims(self.value))


def build_printer():
    printer = gdb.printing.RegexpCollectionPrettyPrinter("tenon")
    printer.add_printer("Tensor", "^tenon::Tensor$", TensorPrinter)
    printer.add_printer("Layout", "^tenon::Layout$", LayoutPrinter)
    printer.add_printer("Dims", "^tenon::(Dims|Shape)$", DimsPrinter)
    return printer


gdb.printing.register_pretty_printer(gdb.current_objfile(), build_printer(), replace=True)

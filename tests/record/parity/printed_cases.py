#!/usr/bin/env python3
"""Turns a checkpoint of tensors and the text PyTorch prints for them into cases that tests/parity reads.

usage: printed_cases.py PRINTED.pth EXPECT.json OUT.cases

Needs nothing but Python: the zip archive and the pickle inside are read here, and only what a state dict
is made of is accepted. tests/parity/cases/printed_2_11.cases was written with it from PyTorch 2.11's files.
"""
import io
import json
import pickle
import sys
import zipfile

DTYPES = {"FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
          "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8",
          "BoolStorage": "bool", "ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128"}


class Reader(pickle.Unpickler):
    """Builds plain tuples: nothing is imported and nothing is called."""

    def __init__(self, archive, root):
        super().__init__(io.BytesIO(archive.read(f"{root}/data.pkl")))
        self.archive, self.root = archive, root

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, size, stride, grad, hooks: ("tensor", storage, offset, size, stride, grad, False)
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda data, grad, hooks: ("tensor", *data[1:5], grad, True)
        if module == "torch" and name in DTYPES:
            return DTYPES[name]
        raise pickle.UnpicklingError(f"{module}.{name} has no place in a dict of tensors")

    def persistent_load(self, pid):
        _, dtype, key, _, _ = pid
        return dtype, self.archive.read(f"{self.root}/data/{key}").hex() or "-"


def ints(values):
    return ",".join(map(str, values)) or "-"


def main():
    checkpoint, expect, out = sys.argv[1:]
    with zipfile.ZipFile(checkpoint) as archive:
        root = archive.namelist()[0].split("/")[0]
        tensors = Reader(archive, root).load()
    with open(expect, encoding="utf-8") as f:
        expected = json.load(f)
    blocks = [f"# written by tests/record/parity/printed_cases.py from files of PyTorch {expected['torch']}"]
    for entry in expected["printed"]:
        key, text = entry["key"], entry["text"]
        if key in tensors:
            _, (dtype, data), offset, size, stride, grad, parameter = tensors[key]
            flags = ",".join(f for f, on in (("grad", grad), ("param", parameter)) if on) or "-"
            line = f"tensor {dtype} {ints(size)} {ints(stride)} {offset} {flags} {data}"
        else:  # meta tensors are not in the file: their keys say what they are
            line = {"meta": "tensor float32 5,3 3,1 0 meta -", "meta_param": "tensor float32 5 1 0 grad,param,meta -",
                    "meta_bf16": "tensor bfloat16 5 1 0 meta -"}[key]
        options = "options precision=4 threshold=1000 edgeitems=3 linewidth=80 sci_mode=None default=float32"
        blocks.append(f"# {key}\n{options}\n{line}\ntext {json.dumps(text)}")
    with open(out, "w", encoding="utf-8") as f:
        f.write("\n\n".join(blocks) + "\n")


if __name__ == "__main__":
    main()

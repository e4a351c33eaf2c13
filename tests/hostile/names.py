"""Every name that a pickle of ours may have, as src/io/pickle/global_names.cpp lists them: written down once more, so that the judge
of what is written shares nothing with who writes it. audit_run.py compares the two lists."""
import re

PLAIN = {"set", "frozenset", "bytes", "bytearray", "complex"}
SCHEMES = {"per_tensor_affine", "per_tensor_symmetric", "per_channel_affine", "per_channel_symmetric",
           "per_channel_affine_float_qparams"}
# With the names that PyTorch has twice.
DTYPES = {"float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
          "float8_e8m0fnu", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool", "complex128",
          "complex64", "complex32", "qint8", "quint8", "qint32", "quint4x2", "quint2x4", "bits8", "bits16", "bits1x8", "bits2x4",
          "bits4x2", "float4_e2m1fn_x2", "bcomplex32", "float", "double", "half", "long", "int", "short"}
STORAGES = {f"{kind}Storage" for kind in (
    "Double", "Float", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool", "ComplexDouble", "ComplexFloat",
    "QInt8", "QUInt8", "QInt32", "QUInt4x2", "QUInt2x4")}
FIXED = {
    "collections": {"OrderedDict", "Counter"},
    "__builtin__": PLAIN,
    "builtins": PLAIN,
    "_codecs": {"encode"},
    "torch": {"Size", "device", "Tensor"} | SCHEMES,
    "torch.serialization": {"_get_layout"},
    "torch.nn.parameter": {"Parameter", "UninitializedParameter", "UninitializedBuffer"},
    "torch._utils": {"_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter",
                     "_rebuild_parameter_with_state", "_rebuild_meta_tensor_no_storage", "_rebuild_sparse_tensor",
                     "_rebuild_qtensor", "_rebuild_nested_tensor"},
    "torch._tensor": {"_rebuild_from_type_v2"},
    "torch.storage": {"UntypedStorage"},
}
TABLE = {**FIXED, "torch": FIXED["torch"] | DTYPES | STORAGES, "torch.cuda": STORAGES}


def of_source(global_names, dtypes):
    """The same from the texts of src/io/pickle/global_names.cpp and include/tenon/dtype.h."""
    table = {}
    for module, name in re.findall(r'\{"([a-z_.A-Z]+)", "(\w+)", Role::', global_names):
        table.setdefault(module, set()).add(name)
    rows = re.findall(r'X\(\w+, [^"]*?"(\w+)",[\s\\]*"(\w+)",[\s\\]*"\w*",[\s\\]*(\w+)\)', dtypes)
    table["torch"] |= {name for name, _, _ in rows} | set(re.findall(r'if \(name == "(\w+)"\)', global_names))
    # has_storage_class() in src/base/stored_dtype.h.
    with_class = {f"{scalar}Storage" for name, scalar, kind in rows
                  if kind != "bits" and not name.startswith("float8") and name not in ("uint16", "uint32", "uint64", "complex32")}
    table["torch"] |= with_class
    table["torch.cuda"] = with_class
    return table

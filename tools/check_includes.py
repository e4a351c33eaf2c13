#!/usr/bin/env python3
"""Checks that public headers include what they use of the standard library.

A name that comes through another header is gone when that header changes. Prints every header that uses a name and does not
include what has it, or uses one that is not in the table below, and exits 1 if there is one. (That headers find each other is
compiled: tests/headers.)
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Headers, and the names they are included for. Of several with the same name, any will do.
NAMES = {
    "algorithm": "clamp copy copy_n equal fill fill_n find find_if max min sort",
    "any": "any any_cast",
    "array": "array",
    "atomic": "atomic atomic_ref memory_order_acq_rel memory_order_acquire memory_order_relaxed memory_order_release",
    "bit": "bit_cast",
    "cmath": "isnan sqrt",
    "complex": "complex",
    "concepts": "constructible_from convertible_to derived_from floating_point integral invocable same_as signed_integral unsigned_integral",
    "cstddef": "byte nullptr_t ptrdiff_t size_t",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t",
    "exception": "exception exception_ptr",
    "functional": "function invoke less",
    "initializer_list": "initializer_list",
    "iosfwd": "ostream",
    "iterator": "forward_iterator_tag input_iterator_tag",
    "limits": "numeric_limits",
    "map": "map",
    "memory": "make_shared make_unique shared_ptr static_pointer_cast unique_ptr weak_ptr",
    "mutex": "lock_guard mutex unique_lock",
    "new": "align_val_t",
    "optional": "nullopt nullopt_t optional",
    "ostream": "ostream",
    "span": "span",
    "stdexcept": "logic_error runtime_error",
    "stop_token": "stop_token",
    "string": "string to_string",
    "string_view": "string_view",
    "tuple": "apply get tie tuple tuple_element_t tuple_size_v",
    "type_traits": "decay_t enable_if_t invoke_result_t is_abstract_v is_arithmetic_v is_class_v is_constructible_v is_convertible_v is_copy_constructible_v "
                   "is_default_constructible_v is_enum_v is_integral_v is_invocable_r_v is_reference_v is_nothrow_constructible_v is_same_v is_unsigned_v is_void_v "
                   "remove_cv_t remove_cvref_t conditional_t type_identity",
    "typeinfo": "type_info",
    "unordered_map": "unordered_map",
    "utility": "as_const exchange forward index_sequence index_sequence_for make_index_sequence move pair swap",
    "vector": "erase_if vector",
}
HEADERS_OF = {}
for header, names in NAMES.items():
    for name in names.split():
        HEADERS_OF.setdefault(name, []).append(header)
# What the names above may come with, as the standard says.
HEADERS_OF["get"] += ["array", "variant", "utility"]
HEADERS_OF["erase_if"] += ["map", "string"]
HEADERS_OF["swap"] += ["algorithm"]


def problems():
    for path in sorted(ROOT.glob("include/**/*.h")):
        text = path.read_text()
        included = set(re.findall(r"^\s*#\s*include <([a-z_]+)>", text, re.MULTILINE))
        used = set(re.findall(r"\bstd::([a-z_0-9]+)", re.sub(r"//.*", "", text)))
        missing = {}
        for name in sorted(used & HEADERS_OF.keys()):
            if not included & set(HEADERS_OF[name]):
                missing.setdefault(HEADERS_OF[name][0], []).append(name)
        for name in sorted(used - HEADERS_OF.keys()):
            yield f"{path.relative_to(ROOT)}: uses std::{name}, which tools/check_includes.py does not know: add it there"
        for header, names in missing.items():
            yield f"{path.relative_to(ROOT)}: uses {', '.join('std::' + n for n in names)} without <{header}>"


def main():
    found = list(problems())
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

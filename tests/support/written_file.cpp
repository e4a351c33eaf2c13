#include "support/written_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>

#include "support/pickle_walk.h"
#include "support/stored_archive.h"

namespace tenon {

namespace {

struct Callable {
  const char *module, *name;
  std::size_t least, most;  // arguments
};

// PyTorch's own functions and the plain types of Python: torch.load(weights_only=True) knows all of
// them.
constexpr Callable kCallables[] = {
    {"collections", "OrderedDict", 0, 0},
    {"collections", "Counter", 1, 1},
    {"__builtin__", "set", 1, 1},
    {"__builtin__", "frozenset", 1, 1},
    {"__builtin__", "bytes", 0, 0},
    {"__builtin__", "complex", 2, 2},
    {"_codecs", "encode", 2, 2},
    {"torch", "Size", 1, 1},
    {"torch", "device", 1, 2},
    {"torch.serialization", "_get_layout", 1, 1},
    {"torch.nn.parameter", "UninitializedParameter", 1, 3},
    {"torch.nn.parameter", "UninitializedBuffer", 1, 3},
    {"torch._utils", "_rebuild_tensor_v2", 6, 7},
    {"torch._utils", "_rebuild_tensor_v3", 7, 8},
    {"torch._utils", "_rebuild_parameter", 3, 3},
    {"torch._utils", "_rebuild_parameter_with_state", 4, 4},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", 4, 4},
    {"torch._utils", "_rebuild_sparse_tensor", 2, 2},
    {"torch._utils", "_rebuild_qtensor", 7, 7},
    {"torch._utils", "_rebuild_nested_tensor", 4, 4},
    {"torch._tensor", "_rebuild_from_type_v2", 4, 4},
};

// Names of torch that stand for themselves and are never called.
constexpr const char* kConstants[] = {
    "Tensor",
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint64",
    "uint32",
    "uint16",
    "uint8",
    "bool",
    "complex128",
    "complex64",
    "complex32",
    "qint8",
    "quint8",
    "qint32",
    "quint4x2",
    "quint2x4",
    "bits8",
    "bits16",
    "bits1x8",
    "bits2x4",
    "bits4x2",
    "float4_e2m1fn_x2",
    "bcomplex32",
    "per_tensor_affine",
    "per_tensor_symmetric",
    "per_channel_affine",
    "per_channel_symmetric",
    "per_channel_affine_float_qparams",
};

constexpr const char* kStorages[] = {
    "DoubleStorage",        "FloatStorage",        "HalfStorage",   "BFloat16Storage",
    "LongStorage",          "IntStorage",          "ShortStorage",  "CharStorage",
    "ByteStorage",          "BoolStorage",         "QInt8Storage",  "QUInt8Storage",
    "ComplexDoubleStorage", "ComplexFloatStorage", "QInt32Storage", "QUInt4x2Storage",
    "QUInt2x4Storage",
};

// PROTO, MARK, STOP, numbers, texts, containers, memo, GLOBAL, REDUCE, BUILD of an OrderedDict,
// and persistent ids. No POP, INST, OBJ, NEWOBJ, EXT, STACK_GLOBAL.
constexpr std::string_view kOpcodes = "\x80(.JKMNQRXabc}eh]jqrst)uG\x85\x86\x87\x88\x89\x8a\x8b";

bool is_storage(const PickledName& name) {
  if (name.module == "torch.storage") return name.name == "UntypedStorage";
  return name.module == "torch" &&
         std::find(std::begin(kStorages), std::end(kStorages), name.name) != std::end(kStorages);
}

const Callable* callable(const PickledName& name) {
  for (const Callable& one : kCallables) {
    if (name.module == one.module && name.name == one.name) return &one;
  }
  return nullptr;
}

bool is_known(const PickledName& name) {
  if (is_storage(name) || callable(name) != nullptr) return true;
  return name.module == "torch" &&
         std::find(std::begin(kConstants), std::end(kConstants), name.name) != std::end(kConstants);
}

std::string wrong_call(const PickledCall& call) {
  const std::string what = call.how + " of " + call.callee.str();
  if (call.how == "BUILD") return call.callee.str() == "collections.OrderedDict" ? "" : what;
  const Callable* known = call.how == "REDUCE" ? callable(call.callee) : nullptr;
  if (known == nullptr) return what;
  if (call.arguments < known->least || call.arguments > known->most)
    return what + " with " + std::to_string(call.arguments) + " arguments";
  return {};
}

// data.pkl, data/12 and what torch.save puts beside them, in one folder.
bool is_entry(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == 0 || slash == name.npos) return false;
  const std::string_view folder = name.substr(0, slash), inside = name.substr(slash + 1);
  if (folder == "." || folder == "..") return false;
  for (const char c : folder) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == 0x7f) return false;
  }
  if (inside.starts_with("data/"))
    return inside.size() > 5 && inside.find_first_not_of("0123456789", 5) == inside.npos;
  constexpr std::array names = {"data.pkl",  ".format_version", ".storage_alignment",
                                "byteorder", "version",         ".data/serialization_id"};
  return std::find(names.begin(), names.end(), inside) != names.end();
}

}  // namespace

std::string wrong_in_pickle(std::string_view program) {
  const PickleWalk walk = walk_pickle(program);
  if (!walk.problems.empty()) return walk.problems.front();
  for (const std::uint8_t op : walk.opcodes) {
    if (kOpcodes.find(static_cast<char>(op)) == kOpcodes.npos)
      return "opcode " + std::to_string(op);
  }
  for (const PickledName& name : walk.globals) {
    if (!is_known(name)) return "the name " + name.str();
  }
  for (const PickledName& name : walk.storages) {
    if (!is_storage(name)) return "a storage of class " + name.str();
  }
  for (const PickledCall& call : walk.calls) {
    if (std::string wrong = wrong_call(call); !wrong.empty()) return wrong;
  }
  return {};
}

std::string wrong_in_archive(std::string_view archive) {
  try {
    std::size_t programs = 0;
    for (const auto& [name, content] : stored_entries(archive)) {
      if (!is_entry(name)) return "an entry called " + name;
      if (!name.ends_with("/data.pkl")) continue;
      ++programs;
      if (std::string wrong = wrong_in_pickle(content); !wrong.empty()) return wrong;
    }
    return programs == 1 ? "" : std::to_string(programs) + " programs";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

}  // namespace tenon

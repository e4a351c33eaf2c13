#include "support/random_values.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "tenon/extend/body.h"

namespace tenon {

namespace {

using Kind = Value::Kind;

// What somebody would try who wants a name to become code, or to be taken for another.
constexpr const char* kOddNames[] = {
    "torch.per_x\nos\nsystem",
    "torch.per_tensor_affine\n",
    "torch.per_tensor_affine\ncos\nsystem\n(X\2",
    "torch.per_",
    "torch.per_tensor_affine.system",
    "torch.per_channel_affine",
    "torch.per_channel_os.system",
    "os.system",
    "posix.system",
    "builtins.eval",
    "__builtin__.set",
    "collections.OrderedDict",
    "collections.Counter",
    "collections.Counter\n",
    "torch.Size",
    "torch.float32",
    "torch._utils._rebuild_tensor_v2",
    "torch.nn.modules.linear.Linear",
    "layout",
    "sparse_tensor",
    "quantized_tensor",
    "nested_tensor",
    "sparse_tensor\n",
    "",
    ".",
    "\n",
};

constexpr const char* kTexts[] = {
    "",          "weight",           "a\nb",         "\r\n\t",        "\x01\x1b[31m\x7f",
    "ä中😀",     "\xe2\x80\xae rtl", "os\nsystem\n", "torch.float32", "\"quoted\" \\ back",
    "_metadata", "layers.0.bias",
};

}  // namespace

std::int64_t RandomValues::integer() {
  switch (below(4)) {
    case 0: return static_cast<std::int64_t>(below(300)) - 20;
    case 1: return static_cast<std::int64_t>(random_());
    case 2: return std::int64_t{1} << below(63);
    default: return -(std::int64_t{1} << below(63));
  }
}

double RandomValues::real() {
  constexpr std::array kOnes = {0.0,         -0.0,     1.0,       -1.5,   0.1,  1e300, 5e-324,
                                123456789.0, HUGE_VAL, -HUGE_VAL, 1.0e16, 1e22, -7e-5};
  return kOnes[below(kOnes.size())];
}

// Of those that keys may be.
double RandomValues::plain_real() {
  for (;;) {
    const double value = real();
    if (std::isinf(value) || std::abs(value) < 0x1p63) return value;
  }
}

std::string RandomValues::text() {
  if (one_in(3)) return kTexts[below(std::size(kTexts))];
  if (odd_.names && one_in(20)) return "\xff not UTF-8";
  std::string out;
  for (std::uint64_t n = below(one_in(30) ? 400 : 12); n > 0; --n) {
    // Any character there is, in its shortest form.
    const auto c = static_cast<std::uint32_t>(one_in(2) ? below(0x80) : below(0x110000));
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
    } else if (c < 0x10000) {
      if (c >= 0xd800 && c < 0xe000) continue;
      out += {static_cast<char>(0xe0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3f)),
              static_cast<char>(0x80 | (c & 0x3f))};
    } else {
      out += {static_cast<char>(0xf0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3f)),
              static_cast<char>(0x80 | (c >> 6 & 0x3f)), static_cast<char>(0x80 | (c & 0x3f))};
    }
  }
  return out;
}

Value RandomValues::plain() {
  switch (below(11)) {
    case 0: return {};
    case 1: return one_in(2);
    case 2: return integer();
    case 3: {
      std::string bytes(9 + below(one_in(10) ? 600 : 20), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random_());
      return Value::big_integer(bytes);
    }
    case 4: return one_in(10) ? std::nan("") : real();
    case 5: return std::complex<double>(real(), real());
    case 6: {
      std::string bytes(below(20), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random_());
      return Value::bytes(bytes);
    }
    case 7: return static_cast<DType>(below(kDTypeCount));
    case 8: {
      constexpr std::array kDevices = {"cpu", "meta", "cuda", "cuda:0", "cuda:7", "mps", "xpu:1"};
      return Device(kDevices[below(kDevices.size())]);
    }
    case 9: {
      Shape shape;
      for (std::uint64_t n = below(5); n > 0; --n)
        shape.push_back(static_cast<std::int64_t>(below(1000)));
      return shape;
    }
    default: return text();
  }
}

Value RandomValues::key() {
  if (odd_.keys && one_in(6)) return odd_key(3);
  switch (below(8)) {
    case 0: return integer();
    case 1: return static_cast<DType>(below(kDTypeCount));
    case 2: return plain_real();
    case 3: return Value::tuple({integer(), text(), plain_real()});
    case 4: return Value::bytes(text());
    case 5: return one_in(2) ? Value() : Value(one_in(2));
    default: return text();
  }
}

std::vector<Value> RandomValues::items(int depth) {
  std::vector<Value> out;
  for (std::uint64_t n = below(one_in(20) ? 40 : 5); n > 0; --n) out.push_back(value(depth + 1));
  return out;
}

std::vector<Value::Entry> RandomValues::entries(int depth) {
  std::vector<Value::Entry> out;
  const bool texts = one_in(2);
  for (std::uint64_t n = below(6); n > 0; --n)
    out.emplace_back(texts ? Value(text()) : key(), value(depth + 1));
  return out;
}

Value RandomValues::attributes(int depth) {
  std::vector<Value::Entry> out;
  if (one_in(2)) {
    std::vector<Value::Entry> modules;
    for (std::uint64_t n = below(4); n > 0; --n)
      modules.emplace_back(text(), Value::dict({{"version", integer()}, {text(), plain()}}));
    out.emplace_back("_metadata", Value::ordered_dict(std::move(modules)));
  }
  for (std::uint64_t n = below(3); n > 0; --n) {
    const std::string name = text();
    if (name != "_metadata" || odd_.metadata) out.emplace_back(name, value(depth + 1));
  }
  if (odd_.metadata && one_in(2))
    out.emplace_back("_metadata", Value::ordered_dict(entries(depth), Value::dict({{"a", 1}})));
  if (out.empty()) out.emplace_back("one", 1);
  return Value::dict(std::move(out));
}

Value RandomValues::container(int depth) {
  switch (below(6)) {
    case 0: return Value::list(items(depth));
    case 1: return Value::tuple(items(depth));
    case 2: {
      // A set that is read has each member once; those of a dict are equal as Python's are.
      std::vector<Value::Entry> unique;
      for (std::uint64_t n = below(5); n > 0; --n) unique.emplace_back(key(), Value());
      std::vector<Value> members;
      const Value dict = Value::dict(std::move(unique));
      for (const auto& [member, none] : dict.entries()) members.push_back(member);
      return Value::set(std::move(members));
    }
    case 3:
      return one_in(2) ? Value::ordered_dict(entries(depth))
                       : Value::ordered_dict(entries(depth), attributes(depth));
    default: return Value::dict(entries(depth));
  }
}

Value RandomValues::value(int depth) {
  if (!made_.empty() && one_in(10)) return made_[below(made_.size())];
  if (odd_.any() && one_in(12)) return odd_value(depth);
  Value made;
  if (depth < 5 && one_in(3))
    made = container(depth);
  else if (one_in(3))
    made = tensor(depth);
  else if (one_in(12))
    made = composite();
  else
    made = plain();
  if (made_.size() < 30) made_.push_back(made);
  return made;
}

// ---- tensors

// A view of the storage: any strides, also 0 and overlapping, with gaps, empty, or of no dimension.
Tensor RandomValues::over(Storage storage, DType dtype) {
  const auto size = static_cast<std::size_t>(itemsize(dtype));
  const auto all = static_cast<std::int64_t>(storage.nbytes() / size);
  Layout layout{{}, {}, 0, dtype, Device::cpu()};
  std::int64_t left = all - 1;  // the last element that may be seen
  if (left > 0) {
    layout.offset =
        one_in(2) ? 0 : static_cast<std::int64_t>(below(static_cast<std::uint64_t>(all)));
    left -= layout.offset;
  }
  const bool empty = all == 0 || one_in(12);
  for (std::uint64_t d = below(4) + (empty ? 1 : 0); d > 0; --d) {
    const auto stride = static_cast<std::int64_t>(below(4));
    std::int64_t n = 1 + static_cast<std::int64_t>(below(4));
    if (stride != 0) n = std::min(n, left / stride + 1);
    left -= (n - 1) * stride;
    layout.shape.push_back(n);
    layout.strides.push_back(stride);
  }
  if (empty) {
    layout.shape[below(layout.shape.size())] = 0;
    if (one_in(2)) layout.offset = static_cast<std::int64_t>(below(1000));
  }
  const bool can_be_negative = dtype == float32 || dtype == complex64 || dtype == complex128;
  layout.conj = is_complex(dtype) && can_be_negative && one_in(4);
  layout.neg = can_be_negative && one_in(6);
  return Tensor(make_ref<Body>(std::move(layout), std::move(storage)));
}

// Packed, with random bytes.
Tensor RandomValues::filled(const Shape& shape, DType dtype) {
  Layout layout = Layout::packed(shape, dtype, Device::cpu());
  const auto bytes = static_cast<std::size_t>(layout.numel() * layout.itemsize());
  Storage storage = Storage::allocate_zeroed(bytes);
  auto* data = static_cast<unsigned char*>(storage.data());
  for (std::size_t i = 0; i < bytes; ++i)
    data[i] = static_cast<unsigned char>(dtype == bool_ ? below(2) : random_());
  return Tensor(make_ref<Body>(std::move(layout), std::move(storage)));
}

Tensor RandomValues::counted(std::vector<std::int64_t> numbers, const Shape& shape) {
  Tensor made = filled(shape, int64);
  if (!numbers.empty()) std::memcpy(made.data_ptr(), numbers.data(), numbers.size() * 8);
  return made;
}

Tensor RandomValues::tensor(int depth) {
  if (!tensors_.empty() && one_in(8)) return tensors_[below(tensors_.size())];
  const auto dtype = static_cast<DType>(below(kDTypeCount));
  if (one_in(25)) return zeros({2, 3}, {.device = Device::meta()});
  Tensor made;
  if (!tensors_.empty() && one_in(4)) {
    const Tensor& other = tensors_[below(tensors_.size())];
    // Another dtype over the same bytes is refused; a typed storage is of one.
    made = other.is_meta()
               ? filled({2}, dtype)
               : over(other.storage(), odd_.storages && one_in(4) ? dtype : other.dtype());
  } else if (one_in(3)) {
    made =
        filled({static_cast<std::int64_t>(below(3)), static_cast<std::int64_t>(below(5))}, dtype);
  } else {
    // Also storages that are no multiple of the dtype, or have no bytes.
    const std::size_t n = below(20) * static_cast<std::size_t>(itemsize(dtype)) +
                          (odd_.storages && one_in(4) ? below(8) : 0);
    made = over(filled({static_cast<std::int64_t>(n)}, dtype == bool_ ? bool_ : uint8).storage(),
                dtype);
  }
  const bool may_grad = is_differentiable(made.dtype());
  if (one_in(5))
    made = nn::make_parameter(made, may_grad && one_in(2));
  else if (may_grad && one_in(6))
    made.requires_grad_();
  if (depth < 4 && one_in(8)) {
    made.set_attribute(one_in(2) ? "tag" : text(), value(depth + 1));
    if (one_in(2)) made.set_attribute("more", plain());
  }
  tensors_.push_back(made);
  return made;
}

// ---- what is made of tensors, as reading gives it

Value RandomValues::sparse() {
  const auto n = static_cast<std::int64_t>(below(4));
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < 2 * n; ++i) indices.push_back(static_cast<std::int64_t>(below(3)));
  std::vector<Value::Entry> state{{"layout", "torch.sparse_coo"},
                                  {"indices", counted(indices, {2, n})},
                                  {"values", filled({n}, float32)},
                                  {"size", Shape{3, 3}}};
  if (one_in(2)) state.emplace_back("is_coalesced", false);
  return Value::object("sparse_tensor", Value::tuple({}), Value::dict(std::move(state)));
}

Value RandomValues::compressed() {
  const bool rows = one_in(2);
  return Value::object(
      "sparse_tensor", Value::tuple({}),
      Value::dict({{"layout", rows ? "torch.sparse_csr" : "torch.sparse_csc"},
                   {rows ? "crow_indices" : "ccol_indices", counted({0, 1, 2}, {3})},
                   {rows ? "col_indices" : "row_indices", counted({1, 0}, {2})},
                   {"values", filled({2}, float64)},
                   {"size", Shape{2, 2}}}));
}

Value RandomValues::quantized() {
  std::vector<Value::Entry> state;
  if (one_in(3)) {
    state = {{"data", filled({3}, quint4x2)},
             {"qscheme", "torch.per_channel_affine_float_qparams"},
             {"scales", filled({2}, float32)},
             {"zero_points", filled({2}, float32)},
             {"axis", 0},
             {"size", Shape{2, 3}}};
    state[0].second = filled({4}, quint4x2);  // two rows of two bytes each
  } else if (one_in(2)) {
    state = {{"data", filled({2, 3}, one_in(2) ? qint8 : qint32)},
             {"qscheme", "torch.per_channel_affine"},
             {"scales", filled({3}, float64)},
             {"zero_points", filled({3}, int64)},
             {"axis", 1},
             {"size", Shape{2, 3}}};
  } else {
    state = {{"data", filled({2, 3}, quint8)},
             {"qscheme", "torch.per_tensor_affine"},
             {"scale", 0.5},
             {"zero_point", 3},
             {"size", Shape{2, 3}}};
  }
  return Value::object("quantized_tensor", Value::tuple({}), Value::dict(std::move(state)));
}

Value RandomValues::nested() {
  return Value::object("nested_tensor", Value::tuple({}),
                       Value::dict({{"buffer", filled({5}, float32)},
                                    {"sizes", counted({2, 3}, {2, 1})},
                                    {"strides", counted({1, 1}, {2, 1})},
                                    {"offsets", counted({0, 2}, {2})}}));
}

Value RandomValues::composite() {
  switch (below(6)) {
    case 0: return sparse();
    case 1: return compressed();
    case 2: return quantized();
    case 3: return nested();
    case 4: return Value::object("layout", Value::tuple({"torch.strided"}), {});
    default: return Value::object("torch.per_tensor_affine", Value::tuple({}), {});
  }
}

// ---- what no reader gives

// A composite with one part that is another, or none.
Value RandomValues::odd_composite(int depth) {
  const Value whole = one_in(2) ? sparse() : one_in(2) ? quantized() : nested();
  const auto parts = whole.object_state().entries();
  std::vector<Value::Entry> state(parts.begin(), parts.end());
  Value::Entry& one = state[below(state.size())];
  switch (below(4)) {
    case 0: one.second = value(depth + 1); break;
    case 1: one.second = Value(kOddNames[below(std::size(kOddNames))]); break;
    case 2: one.first = Value(text()); break;
    default: one.second = Shape{-1, integer()}; break;
  }
  return Value::object(whole.object_name(), Value::tuple({}), Value::dict(std::move(state)));
}

Value RandomValues::odd_name() {
  switch (below(3)) {
    case 0:
      has_counter_ = true;
      return Value::object("collections.Counter", Value::tuple({Value::dict({{text(), plain()}})}),
                           {});
    case 1: return Value::object("layout", Value::tuple({text().substr(0, 8)}), {});
    default: {
      const std::string name = kOddNames[below(std::size(kOddNames))];
      const Value arguments = one_in(2) ? Value::tuple({}) : Value::tuple({plain()});
      const Value state = one_in(2) ? Value() : Value::dict({{text(), plain()}});
      return Value::object(name, arguments, state, one_in(4) ? Value::list({1}) : Value());
    }
  }
}

Value RandomValues::odd_key(int depth) {
  switch (below(7)) {
    case 0: return composite();
    case 1: return tensor(depth);
    case 2: return Value::list({plain()});
    case 3: return Value::dict({{text(), plain()}});
    case 4: return one_in(2) ? std::nan("") : 1e300;
    case 5: return Value::tuple({Value::tuple({key(), Value::list({1})}), plain()});
    default: return plain();
  }
}

Value RandomValues::odd_value(int depth) {
  if (odd_.names && one_in(2)) return odd_name();
  if (odd_.parts && one_in(2)) return odd_composite(depth);
  // One item: two may be equal, and a set that is read has each once.
  if (odd_.keys && one_in(2)) return Value::set({odd_key(depth)});
  if (odd_.integers) return Value::big_integer(std::string(1000 + below(50), '\x11'));
  return tensor(depth);
}

}  // namespace tenon

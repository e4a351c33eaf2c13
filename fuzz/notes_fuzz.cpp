// safetensors files that are right, with notes of ours ("tenon.values", "tenon.tensors") that say
// anything at all of the kind they do.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "checks.h"
#include "choices.h"

namespace tenon {
namespace {

constexpr const char* kNames[] = {"a", "b", "c", "d", "a.b", "", "a.indices"};
constexpr const char* kDTypes[] = {"float32", "uint8", "int64", "complex64", "qint8", "bits8", "x"};
constexpr const char* kObjects[] = {"sparse_tensor",
                                    "quantized_tensor",
                                    "nested_tensor",
                                    "layout",
                                    "torch.per_tensor_affine",
                                    "torch.per_channel_affine",
                                    "torch.per_x\nos\nsystem",
                                    "collections.Counter",
                                    "os.system"};
constexpr const char* kFields[] = {
    "layout",  "indices", "values",     "size",         "is_coalesced", "data",
    "qscheme", "scale",   "zero_point", "axis",         "buffer",       "sizes",
    "scales",  "strides", "offsets",    "crow_indices", "col_indices",  "zero_points"};
constexpr const char* kTexts[] = {"torch.sparse_coo",
                                  "torch.sparse_csr",
                                  "torch.per_tensor_affine",
                                  "torch.per_x\nos\nsystem",
                                  "x\ny",
                                  "cpu",
                                  "latin1"};

// As JSON writes it.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char digits[] = "0123456789abcdef";
      out += "\\u00";
      out += digits[c >> 4];
      out += digits[c & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

class Notes {
 public:
  explicit Notes(Choices& choices) : in_(choices) {}

  std::string values() {
    if (in_.one_in(16)) return in_.letters(40);
    std::string out = in_.one_in(3) ? R"({"state_dict": true, "attributes": )" : R"({"tree": )";
    out += value(0);
    return out + (in_.one_in(2) ? R"(, "added_format": true})" : "}");
  }
  std::string tensors() {
    if (in_.one_in(16)) return in_.letters(40);
    std::string out = "{";
    for (std::size_t n = in_.below(4); n > 0; --n)
      out += (out.size() > 1 ? ", " : "") + in_quotes(in_.of(kNames)) + ": " + facts();
    return out + "}";
  }

 private:
  std::string number() { return std::to_string(in_.number()); }
  std::string numbers() {
    std::string out = "[";
    for (std::size_t n = in_.below(4); n > 0; --n) out += (out.size() > 1 ? ", " : "") + number();
    return out + "]";
  }
  std::string items(int depth) {
    std::string out = "[";
    for (std::size_t n = in_.below(4); n > 0; --n)
      out += (out.size() > 1 ? ", " : "") + value(depth + 1);
    return out + "]";
  }
  std::string pairs(int depth, bool fields) {
    std::string out = "[";
    for (std::size_t n = in_.below(6); n > 0; --n) {
      out += out.size() > 1 ? ", [" : "[";
      out += fields && !in_.one_in(8) ? in_quotes(in_.of(kFields)) : value(depth + 1);
      out += ", " + value(depth + 1) + "]";
    }
    return out + "]";
  }
  std::string in(const char* key, const std::string& content) {
    return std::string("{\"") + key + "\": " + content + "}";
  }
  std::string object(int depth) {
    std::string out = R"({"object": [)" + in_quotes(in_.of(kObjects)) + ", ";
    out += in_.one_in(4) ? in("tuple", items(depth)) : R"({"tuple": []})";
    out += ", " + (in_.one_in(4) ? value(depth + 1) : in("dict", pairs(depth, true)));
    return out + (in_.one_in(8) ? ", [1]]}" : ", null]}");
  }
  std::string value(int depth) {
    if (depth > 12) return "null";
    switch (in_.below(20)) {
      case 0: return "null";
      case 1: return in_.one_in(2) ? "true" : "false";
      case 2: return number();
      case 3: return number() + ".5e" + std::to_string(in_.below(250));
      case 4: return in_quotes(in_.of(kTexts));
      case 5: return items(depth);
      case 6: return in("tuple", items(depth));
      case 7: return in("set", items(depth));
      case 8: return in("dict", pairs(depth, false));
      case 9:
        return R"({"ordered_dict": )" + pairs(depth, false) +
               (in_.one_in(2) ? R"(, "attributes": )" + value(depth + 1) + "}" : "}");
      case 10: return in("bytes", in_quotes(in_.one_in(2) ? "00ff" : "0g"));
      case 11: return in("int", in_quotes(in_.one_in(2) ? "ffffffffffffffffff00" : ""));
      case 12: return in("dtype", in_quotes(in_.of(kDTypes)));
      case 13: return in("device", in_quotes(in_.one_in(2) ? "cpu" : "cuda:9"));
      case 14: return in("size", numbers());
      case 15: return in("float", in_quotes(in_.one_in(2) ? "nan" : "-inf"));
      case 16: return in("complex", "[" + number() + ", " + value(depth + 1) + "]");
      case 17: return object(depth);
      default: return in("tensor", in_quotes(in_.of(kNames)));
    }
  }
  std::string facts() {
    std::string out;
    const auto add = [&](const char* key, const std::string& content) {
      if (in_.one_in(3)) return;
      out += std::string(out.empty() ? "{\"" : ", \"") + key + "\": " + content;
    };
    const bool alias = in_.one_in(2);
    if (alias) add("of", in_quotes(in_.of(kNames)));
    if (alias) add("at", number());
    if (in_.one_in(2)) {
      add("stored_dtype", in_quotes(in_.of(kDTypes)));
      add("stored_bytes", in_.one_in(2) ? "16" : number());
      add("dtype", in_quotes(in_.of(kDTypes)));
      add("shape", numbers());
      add("stride", numbers());
      add("offset", number());
      if (in_.one_in(4)) add("conj", "true");
      if (in_.one_in(4)) add("neg", "true");
    }
    if (in_.one_in(4)) add("parameter", "true");
    if (in_.one_in(4)) add("requires_grad", "true");
    return out.empty() ? "{}" : out + "}";
  }

  Choices& in_;
};

}  // namespace
}  // namespace tenon

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon;
  Choices choices(data, size);
  Notes notes(choices);
  std::string header = R"({"__metadata__": {"format": "pt")";
  if (!choices.one_in(4)) header += R"(, "tenon.values": )" + in_quotes(notes.values());
  if (choices.one_in(2)) header += R"(, "tenon.tensors": )" + in_quotes(notes.tensors());
  header += R"(}, "a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},)"
            R"( "b": {"dtype": "I64", "shape": [1, 2], "data_offsets": [16, 32]})";
  if (choices.one_in(2))
    header += R"(, "c": {"dtype": "U8", "shape": [2, 1, 8], "data_offsets": [32, 48]})";
  header += "}";
  const std::uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  file += header;
  for (int i = 0; i < (header.ends_with("48]}}") ? 48 : 32); ++i)
    file += static_cast<char>(i % 8 == 0 ? i / 16 : 0);
  check_file(std::as_bytes(std::span(file)));
  return 0;
}

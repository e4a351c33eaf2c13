#include "parity/cases.h"

#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace tenon::parity {

namespace {

// JSON text of ASCII and \n, \", \\, \uXXXX below 0x80: what Python's json.dumps makes of printed
// tensors.
std::string unquoted(const std::string& word) {
  std::string out;
  for (std::size_t i = 1; i + 1 < word.size(); ++i) {
    if (word[i] != '\\') {
      out += word[i];
      continue;
    }
    const char c = word[++i];
    out += c == 'n' ? '\n' : c;
  }
  return out;
}

Line words(const std::string& text) {
  Line line;
  std::istringstream in(text);
  for (std::string word; in >> std::ws && !in.eof();) {
    if (in.peek() == '"') {
      std::getline(in, word);
      line.push_back(unquoted(word));
    } else if (in >> word) {
      line.push_back(word);
    }
  }
  return line;
}

std::filesystem::path cases_folder() {
  const char* other = std::getenv("TENON_CASES");
  return other != nullptr ? std::filesystem::path(other)
                          : std::filesystem::path(TENON_SOURCE_DIR) / "tests/parity/cases";
}

}  // namespace

const Line& Case::line(const std::string& word) const {
  for (const Line& candidate : lines) {
    if (candidate.front() == word) return candidate;
  }
  throw Error(where + ": there is no line '" + word + "'");
}

bool Case::has(const std::string& word) const { return !all(word).empty(); }

std::vector<Line> Case::all(const std::string& word) const {
  std::vector<Line> found;
  for (const Line& candidate : lines) {
    if (candidate.front() == word) found.push_back(candidate);
  }
  return found;
}

std::vector<Case> read_cases(const std::string& kind, std::size_t at_least) {
  const std::filesystem::path path = cases_folder() / (kind + ".cases");
  std::ifstream file(path);
  if (!file) throw Error(path.string() + ": cannot be read");
  std::vector<Case> cases;
  bool open = false;
  int number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    if (text.empty()) open = false;
    if (text.empty() || text.front() == '#') continue;
    if (!open) cases.push_back({path.filename().string() + ":" + std::to_string(number), {}});
    open = true;
    cases.back().lines.push_back(words(text));
  }
  if (cases.size() < at_least) throw Error(path.string() + ": has next to no cases");
  return cases;
}

std::vector<std::int64_t> integers(const std::string& word) {
  std::vector<std::int64_t> values;
  if (word == "-") return values;
  std::istringstream in(word);
  for (std::string item; std::getline(in, item, ',');) values.push_back(std::stoll(item));
  return values;
}

std::optional<std::int64_t> maybe_integer(const std::string& word) {
  return word == "-" || word.empty() ? std::nullopt : std::optional<std::int64_t>(std::stoll(word));
}

std::vector<std::byte> bytes(const std::string& word) {
  std::vector<std::byte> out;
  if (word == "-") return out;
  for (std::size_t i = 0; i + 1 < word.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(word.substr(i, 2), nullptr, 16)));
  }
  return out;
}

std::string hex(const void* data, std::size_t size) {
  if (size == 0) return "-";
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<const std::uint8_t*>(data)[i];
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

DType dtype(const std::string& word) {
  const auto found = dtype_from_name(word);
  if (!found) throw Error("there is no dtype '" + word + "'");
  return *found;
}

Scalar number(const std::string& word) {
  if (word == "True" || word == "False") return word == "True";
  if (const auto bar = word.find('|'); bar != std::string::npos) {
    return std::complex<double>(std::stod(word.substr(0, bar)), std::stod(word.substr(bar + 1)));
  }
  const bool real = word.find_first_of(".einf") != std::string::npos;
  if (real) return std::strtod(word.c_str(), nullptr);
  return word.front() == '-' ? Scalar(std::stoll(word)) : Scalar(std::stoull(word));
}

Tensor make_tensor(const Line& line, bool meta) {
  const DType type = dtype(line[1]);
  const Shape shape = integers(line[2]);
  const Dims strides = integers(line[3]);
  const std::int64_t offset = std::stoll(line[4]);
  const std::string& flags = line[5];
  const auto has = [&](const char* flag) { return flags.find(flag) != std::string::npos; };
  const std::vector<std::byte> data = bytes(line[6]);
  meta = meta || has("meta");
  const auto count = static_cast<std::int64_t>(data.size()) / itemsize(type);
  Tensor tensor;
  if (has("meta")) {
    tensor = empty_strided(shape, strides, {.dtype = type, .device = Device::meta()});
  } else {
    const Tensor whole =
        empty({count}, {.dtype = type, .device = meta ? Device::meta() : Device::cpu()});
    if (!meta && !data.empty()) std::memcpy(whole.data_ptr(), data.data(), data.size());
    tensor = whole.as_strided(shape, strides, offset);
    if (has("conj")) tensor = tensor.conj();
    tensor = tensor.detach();
  }
  if (has("param")) return nn::make_parameter(tensor, has("grad"));
  if (has("grad")) tensor.requires_grad_();
  return tensor;
}

std::string element_hex(const Tensor& tensor) {
  Tensor packed = tensor.detach().clone(MemoryFormat::contiguous);
  const auto canonical = [&]<class T>(T* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (std::isnan(static_cast<double>(values[i])))
        values[i] = T(std::numeric_limits<float>::quiet_NaN());
    }
  };
  const std::int64_t n = packed.numel();
  if (packed.dtype() == float64) canonical(packed.data<double>(), n);
  if (packed.dtype() == float32) canonical(packed.data<float>(), n);
  if (packed.dtype() == float16) canonical(packed.data<Half>(), n);
  if (packed.dtype() == bfloat16) canonical(packed.data<BFloat16>(), n);
  if (packed.dtype() == float8_e4m3fn) canonical(packed.data<Float8_e4m3fn>(), n);
  if (packed.dtype() == float8_e5m2) canonical(packed.data<Float8_e5m2>(), n);
  if (packed.dtype() == complex128) canonical(static_cast<double*>(packed.data_ptr()), 2 * n);
  if (packed.dtype() == complex64) canonical(static_cast<float*>(packed.data_ptr()), 2 * n);
  if (packed.dtype() == complex32) canonical(static_cast<Half*>(packed.data_ptr()), 2 * n);
  return hex(packed.data_ptr(), static_cast<std::size_t>(packed.nbytes()));
}

std::string storage_hex(const Tensor& tensor) {
  return hex(tensor.storage().data(), tensor.storage().nbytes());
}

std::string layout_text(const Tensor& tensor) {
  const auto list = [](const Dims& dims) {
    std::string out;
    for (const std::int64_t value : dims) out += (out.empty() ? "" : ",") + std::to_string(value);
    return out.empty() ? "-" : out;
  };
  return std::string(info(tensor.dtype()).name) + " " + list(tensor.shape()) + " " +
         list(tensor.stride()) + " " + std::to_string(tensor.storage_offset());
}

}  // namespace tenon::parity

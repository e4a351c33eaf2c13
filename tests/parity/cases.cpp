#include "parity/cases.h"

#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tenon::parity {

namespace {

std::filesystem::path cases_folder() {
  const char* other = std::getenv("TENON_CASES");
  return other != nullptr ? std::filesystem::path(other)
                          : std::filesystem::path(TENON_SOURCE_DIR) / "tests/parity/cases";
}

}  // namespace

std::vector<Case> read_cases(const std::string& kind, std::size_t at_least) {
  return recorded::cases(cases_folder() / (kind + ".cases"), at_least);
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

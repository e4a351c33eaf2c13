// Cases that PyTorch has calculated, written down as lines of text with sums instead of tensors.
#pragma once

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace tenon {

// What goes in: no two elements are the same.
inline Tensor recorded_input(const Shape& shape, DType dtype = float64, double shift = 0) {
  return ((arange(shape.numel(), {.dtype = float64}) * 1.37 + 0.2 + shift).sin() * 2 + shift)
      .reshape(shape)
      .to(dtype);
}
// What is written down of a result: a sum to which each element adds another part of it.
inline double recorded_sum(const Tensor& tensor) {
  const Tensor weights = (arange(tensor.numel(), {.dtype = float64}) * 0.7 + 0.3).sin();
  return (tensor.detach().to(float64).reshape({-1}) * weights).sum().item<double>();
}

// The lines of a file, each as its words. Lines that begin with # are left out.
inline std::vector<std::vector<std::string>> recorded_cases(const std::string& file) {
  std::vector<std::vector<std::string>> cases;
  std::ifstream stream(std::string(TENON_SOURCE_DIR "/tests/") + file);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with('#')) continue;
    std::stringstream words(line);
    cases.emplace_back();
    for (std::string word; words >> word;) cases.back().push_back(word);
  }
  return cases;
}
inline std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

// "2,3" as numbers; "-" is none.
inline std::vector<double> recorded_list(const std::string& text) {
  std::vector<double> values;
  if (text == "-") return values;
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) values.push_back(std::stod(part));
  return values;
}
inline Dims recorded_sizes(const std::string& text) {
  Dims dims;
  for (const double value : recorded_list(text)) dims.push_back(static_cast<std::int64_t>(value));
  return dims;
}
inline std::optional<bool> recorded_flag(const std::string& text) {
  return text == "-" ? std::nullopt : std::optional(text == "1");
}
inline DType recorded_dtype(const std::string& text) {
  return text == "float64" ? float64 : float32;
}

}  // namespace tenon

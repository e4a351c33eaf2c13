// Flatten: several dimensions made one. Unflatten: one made several.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"

namespace tenon::nn {

class TENON_API Flatten : public Layer {
 public:
  struct Options {
    std::int64_t start_dim = 1;
    std::int64_t end_dim = -1;
  };
  Flatten() : Flatten(Options{}) {}
  template <std::integral I>
  explicit Flatten(I start, std::int64_t end = -1)
      : Flatten(Options{.start_dim = start, .end_dim = end}) {}
  explicit Flatten(const Options& options)
      : start_dim(options.start_dim), end_dim(options.end_dim) {}

  std::string extra_repr() const override;

  std::int64_t start_dim, end_dim;

 protected:
  Tensor forward(const Tensor& input) override { return input.flatten(start_dim, end_dim); }
};

// Dimension `dim` made these; one of them may be -1, for what is left.
class TENON_API Unflatten : public Layer {
 public:
  Unflatten(std::int64_t along, const Shape& sizes) : dim(along), unflattened_size(sizes) {}

  std::string extra_repr() const override;

  std::int64_t dim;
  Shape unflattened_size;

 protected:
  Tensor forward(const Tensor& input) override { return input.unflatten(dim, unflattened_size); }
};

}  // namespace tenon::nn

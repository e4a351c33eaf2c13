// Numbers as classes: a one where each stands, and how often each is there.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API one_hot {
  using Signature = Tensor(const Tensor& tensor, std::int64_t num_classes);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API bincount {
  using Signature = Tensor(const Tensor& self, const std::optional<Tensor>& weights,
                           std::int64_t minlength);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace op

struct OneHotOptions {
  std::int64_t num_classes = -1;  // one more than the largest
};
// Of int64 numbers (*) zeros (*, num_classes) with a one where each of them says.
TENON_API Tensor one_hot(const Tensor& tensor, OneHotOptions options = {});
inline Tensor one_hot(const Tensor& tensor, std::int64_t num_classes) {
  return one_hot(tensor, OneHotOptions{.num_classes = num_classes});
}

struct BincountOptions {
  Tensor weights = {};  // what each counts, instead of 1
  std::int64_t minlength = 0;
};
// How often each number, from 0 to the largest, is in a vector of whole numbers.
TENON_API Tensor bincount(const Tensor& input, const BincountOptions& options = {});

}  // namespace tenon

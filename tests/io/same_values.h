// Whether two trees of values say the same, with everything a file should keep.
#pragma once

#include <string>
#include <unordered_map>

#include "support/matchers.h"
#include "tenon/tenon.h"

namespace tenon {

struct SameOptions {
  bool strides = true;       // safetensors keeps elements in order
  bool attributes = true;    // of tensors
  bool shared_lists = true;  // what was one object is one
  bool bits = true;          // that a tensor is a view of conjugates
  bool storages = true;      // which tensors share one
};

class SameValues {
 public:
  explicit SameValues(SameOptions options = {}) : options_(options) {}

  // Empty, or where they differ: "top.0.weight: another shape".
  std::string differ(const Value& a, const Value& b) {
    const std::string inside = values(a, b);
    return inside.empty() ? inside : "top" + inside;
  }

 private:
  // Each says where below it they differ, which is put together on the way up: most do not.
  std::string values(const Value& a, const Value& b);
  std::string items(const Value& a, const Value& b);
  std::string entries(const Value& a, const Value& b);
  std::string objects(const Value& a, const Value& b);
  std::string tensors(const Tensor& a, const Tensor& b);
  std::string attributes(const Tensor& a, const Tensor& b);
  // Whether the first has been seen with another one than the second; `fresh`: it had not been seen.
  bool is_another(const void* a, const void* b, bool& fresh);

  SameOptions options_;
  std::unordered_map<const void*, const void*> pairs_;
  std::unordered_map<const void*, const void*> equals_;  // texts and the like
};

inline void expect_same(const Value& a, const Value& b, const SameOptions& options = {}) {
  EXPECT_EQ(SameValues(options).differ(a, b), "");
}

}  // namespace tenon

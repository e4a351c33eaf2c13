// Storages that several tensors of a module are over. What is done to such tensors is done once, to
// the bytes they share, so that they share the result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "tenon/nn/module.h"
#include "tenon/tensor.h"

namespace tenon::nn::detail {

class SharedStorages {
 public:
  SharedStorages() = default;
  // Every parameter and buffer of a module and, unless told otherwise, of those in it.
  explicit SharedStorages(const Module& root, bool recurse = true);

  void add(const Tensor& tensor);

  // The tensor's counterpart over f(everything its storage's tensors reach), which is calculated
  // once; nothing if the tensor shares with no other, or others read the storage as another dtype.
  // f keeps elements where they are.
  std::optional<Tensor> map(const Tensor& tensor, const std::function<Tensor(const Tensor&)>& f);

 private:
  struct Shared {
    Storage storage;  // held, so that no other has its address
    std::int64_t cells = 0;
    DType dtype = float32;
    bool one_dtype = true;
    std::int64_t begin = 0, end = 0;  // elements that are reached
    std::int64_t numel = 0;           // of all the tensors
    Tensor mapped;
  };

  std::unordered_map<const void*, Shared> storages_;
  std::unordered_set<const void*> seen_;  // cells
};

}  // namespace tenon::nn::detail

// What leaves were converted to in the scopes of a thread. Threads that work for it use it too.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "tenon/autograd.h"
#include "tenon/extend/body.h"
#include "tenon/storage.h"
#include "tenon/tensor.h"

namespace tenon {

class AutocastCache {
 public:
  // The leaf, converted: now, or before if nothing has happened to it since. PyTorch does not look
  // whether it was written to.
  Tensor converted(const Tensor& leaf, DType dtype);
  void clear() noexcept;

 private:
  // What was converted. It is held so that nothing else gets its address.
  struct Source {
    Ref<Body> body;
    Storage storage;
    std::uint64_t version = 0;
    // Where gradients go, which a swap changes; null if nothing is recorded.
    Ref<Node> accumulator;

    bool operator==(const Source& other) const noexcept;
  };
  struct Entry {
    Source source;
    Tensor converted;
  };
  static Source source_of(const Tensor& leaf);

  std::mutex mutex_;
  std::unordered_map<const Body*, Entry> entries_;
};

}  // namespace tenon

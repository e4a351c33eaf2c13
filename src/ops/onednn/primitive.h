// What everything that is calculated by oneDNN has in common. Compiles with oneDNN 2.6 and 3.
#pragma once

#include <dnnl.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tenon/dtype.h"

namespace tenon::onednn {

dnnl::engine& engine();

// While it lives, oneDNN has this thread alone: see Note [Threads of oneDNN] in ops/onednn/gemm.h.
// The user's own setting of OpenMP, which is each thread's, comes back afterwards.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = 1;
};

// Held while primitives are looked up or made. A fork waits for it: the child would find it, or a
// lock of oneDNN's, held by a thread that it does not have.
std::mutex& primitives_mutex();

// What was made before, by what it was made from; null where there is none. Primitives can be used
// from several threads at once, given scratch memory of the caller's.
template <class Key, class Made>
class Cache {
 public:
  explicit Cache(std::size_t most) : most_(most) {}

  template <class Make>
  std::shared_ptr<const Made> get(const Key& key, Make&& make) {
    const std::lock_guard lock(primitives_mutex());
    if (const auto found = made_.find(key); found != made_.end()) return found->second;
    std::shared_ptr<const Made> made = make();
    if (made_.size() >= most_) made_.clear();
    made_.emplace(key, made);
    return made;
  }

 private:
  std::size_t most_;
  std::map<Key, std::shared_ptr<const Made>> made_;
};

// A number for each way of arranging elements that was ever asked about. With primitives_mutex()
// held.
std::int64_t number_of(const dnnl::memory::desc& description);

dnnl::memory::data_type type_of(DType dtype);

// Attributes of primitives that are given memory to work in, instead of keeping their own: that
// would belong to the thread that made them.
dnnl::primitive_attr own_scratch();
// oneDNN's reference implementations are a thousand times slower than ours.
bool is_reference(const char* implementation);

// Memory of this thread to work in, which stays for the next time unless it is large.
class Scratch {
 public:
  // Several may be in use at once, each with a number of its own.
  static constexpr std::size_t kNumbers = 5;
  Scratch(std::size_t number, std::size_t bytes);
  std::byte* data() const noexcept { return data_; }

 private:
  std::vector<std::byte> own_;
  std::byte* data_;
};

inline dnnl::memory memory(const dnnl::memory::desc& description, const void* data) {
  return {description, engine(), const_cast<void*>(data)};
}

}  // namespace tenon::onednn

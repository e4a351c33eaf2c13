// What a Generator names: a source of random numbers and the lock that a fill holds from its first
// element to its last.
#pragma once

#include <mutex>

#include "kernels/random_source.h"
#include "tenon/detail/api.h"
#include "tenon/extend/ref.h"
#include "tenon/generator.h"

namespace tenon::detail {

class TENON_API GeneratorState final : public RefCounted {
 public:
  explicit GeneratorState(std::uint64_t seed) noexcept : source(seed) {}

  std::mutex mutex;
  RandomSource source;  // under the lock
};

// While it is there, it is this thread's default_generator().
class TENON_API DefaultGeneratorScope {
 public:
  explicit DefaultGeneratorScope(const Generator& generator) noexcept;
  ~DefaultGeneratorScope();
  DefaultGeneratorScope(const DefaultGeneratorScope&) = delete;
  DefaultGeneratorScope& operator=(const DefaultGeneratorScope&) = delete;

 private:
  Generator generator_;
  const Generator* outer_;
};

}  // namespace tenon::detail

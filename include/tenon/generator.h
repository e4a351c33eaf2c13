// Generator: a stream of random numbers, the same as PyTorch's CPU generator gives for the same
// seed.
//
//   manual_seed(0);
//   Tensor a = rand({4});                        // from the default generator
//   Generator own;
//   own.manual_seed(7);
//   Tensor b = randn({3}, {.generator = own});   // from a stream of its own
//
// A Generator is a handle: copies draw from the same stream, clone_state() makes another one. Any
// number of threads may draw from one: each tensor is filled by one thread from start to end, so
// its numbers are consecutive, and which tensor comes first is up to the threads. After fork() the
// child's streams continue from where the parent's stood, so both draw the same numbers until one
// of them is seeded again.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/detail/api.h"
#include "tenon/device.h"
#include "tenon/extend/ref.h"
#include "tenon/tensor.h"

namespace tenon {

namespace detail {
class GeneratorState;
}

class TENON_API Generator {
 public:
  static constexpr std::uint64_t kDefaultSeed = 67280421310721;
  // Bytes of a saved state.
  static constexpr std::int64_t kStateSize = 5056;

  Generator();  // seeded with kDefaultSeed
  ~Generator();
  Generator(const Generator&) noexcept;
  Generator& operator=(const Generator&) noexcept;

  // Starts the stream of that seed. Only its low 32 bits decide the numbers; a negative one counts
  // back from 2^64. Returns itself.
  const Generator& manual_seed(std::uint64_t seed) const;
  // Seeds it with a number that nobody knows, and returns that.
  std::uint64_t seed() const;
  std::uint64_t initial_seed() const;

  // Where the stream stands, as PyTorch's get_rng_state() gives it: 5,056 bytes. A state that
  // PyTorch has saved can be set here, and the other way round. Setting anything else is an error
  // and changes nothing.
  Tensor get_state() const;
  void set_state(const Tensor& state) const;
  Generator clone_state() const;

  Device device() const noexcept { return Device::cpu(); }
  // Whether both draw from the same stream.
  bool is(const Generator& other) const noexcept { return state_ == other.state_; }

  const Ref<detail::GeneratorState>& state() const noexcept { return state_; }

 private:
  explicit Generator(Ref<detail::GeneratorState> state) noexcept;
  friend TENON_API const Generator& default_generator();

  Ref<detail::GeneratorState> state_;
};

// The one that is used where none is named. Seeded at random when the program starts.
TENON_API const Generator& default_generator();

// Of the default generator.
TENON_API const Generator& manual_seed(std::uint64_t seed);
TENON_API std::uint64_t seed();
TENON_API std::uint64_t initial_seed();
TENON_API Tensor get_rng_state();
TENON_API void set_rng_state(const Tensor& state);

// Puts the default generator back to where it stood: what is drawn in the scope leaves no trace.
// PyTorch's fork_rng.
class TENON_API RngScope {
 public:
  RngScope();
  ~RngScope();
  RngScope(const RngScope&) = delete;
  RngScope& operator=(const RngScope&) = delete;

 private:
  Generator saved_;
};

}  // namespace tenon

#include "tenon/generator.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "base/text.h"
#include "core/alias.h"
#include "core/generator_state.h"
#include "tenon/error.h"
#include "tenon/layout.h"

namespace tenon {

using detail::GeneratorState;

namespace {

// The bytes of a saved state. Fields and padding are PyTorch's.
struct SavedState {
  std::uint64_t seed;
  std::int32_t left;
  std::int32_t seeded;
  std::uint64_t next;
  std::uint64_t words[Mt19937::kWords];
  double normal_x;
  double normal_y;  // the waiting normal
  double normal_rho;
  std::int32_t normal_is_valid;
  std::int32_t padding;
  float waiting_float;
  std::uint8_t waiting_float_is_valid;
  std::uint8_t more_padding[3];
};
static_assert(sizeof(SavedState) == Generator::kStateSize);

std::uint64_t unknown_number() {
  std::random_device device;
  // 53 bits, as PyTorch gives: a double holds the seed exactly.
  return (std::uint64_t{device()} << 32 | device()) & 0x1fffffffffffff;
}

// The default generator of this thread, where it is another one.
constinit thread_local const Generator* stand_in = nullptr;

// The default generator may be locked by another thread when the process forks; without this the
// child could never draw from it.
GeneratorState* forked_generator = nullptr;

const Generator* make_default_generator(Generator* generator) {
  generator->manual_seed(unknown_number());
  forked_generator = generator->state().get();
  pthread_atfork([] { forked_generator->mutex.lock(); }, [] { forked_generator->mutex.unlock(); },
                 [] { forked_generator->mutex.unlock(); });
  return generator;
}

}  // namespace

Generator::Generator() : Generator(make_ref<GeneratorState>(kDefaultSeed)) {}
Generator::Generator(Ref<GeneratorState> state) noexcept : state_(std::move(state)) {}
Generator::~Generator() = default;
Generator::Generator(const Generator&) noexcept = default;
Generator& Generator::operator=(const Generator&) noexcept = default;

const Generator& Generator::manual_seed(std::uint64_t seed) const {
  const std::lock_guard lock(state_->mutex);
  state_->source = RandomSource(seed);
  return *this;
}

std::uint64_t Generator::seed() const {
  const std::uint64_t number = unknown_number();
  manual_seed(number);
  return number;
}

std::uint64_t Generator::initial_seed() const {
  const std::lock_guard lock(state_->mutex);
  return state_->source.engine.state().seed;
}

Tensor Generator::get_state() const {
  SavedState saved{};
  {
    const std::lock_guard lock(state_->mutex);
    const RandomSource& source = state_->source;
    const Mt19937::State& engine = source.engine.state();
    saved.seed = engine.seed;
    saved.left = static_cast<std::int32_t>(engine.left);
    saved.seeded = 1;
    saved.next = static_cast<std::uint64_t>(engine.next);
    std::copy(engine.words.begin(), engine.words.end(), saved.words);
    saved.normal_y = source.waiting_normal.value_or(0);
    saved.normal_is_valid = source.waiting_normal ? 1 : 0;
    saved.waiting_float = source.waiting_float.value_or(0);
    saved.waiting_float_is_valid = source.waiting_float ? 1 : 0;
  }
  Tensor out = allocate_tensor(Layout::packed({kStateSize}, uint8, Device::cpu()));
  std::memcpy(out.data_ptr(), &saved, sizeof saved);
  return out;
}

void Generator::set_state(const Tensor& state) const {
  if (state.dtype() != uint8 || !state.is_cpu()) {
    throw DTypeError(concat("RNG state must be a torch.ByteTensor: uint8 on the CPU, not ",
                            repr(state.dtype()), " on ", state.device().str()));
  }
  if (!state.is_contiguous()) throw ValueError("RNG state must be contiguous");
  const std::int64_t size = state.numel();
  if (size != kStateSize) {
    throw ValueError(concat("Expected a CPUGeneratorImplState of size ", kStateSize,
                            " but found the input RNG state size to be ", size));
  }
  SavedState saved{};
  std::memcpy(&saved, state.data_ptr(), static_cast<std::size_t>(size));
  Mt19937::State engine;
  engine.seed = saved.seed;
  engine.left = saved.left;
  engine.next = saved.next > Mt19937::kWords ? -1 : static_cast<std::int64_t>(saved.next);
  for (std::size_t i = 0; i < engine.words.size(); ++i)
    engine.words[i] = static_cast<std::uint32_t>(saved.words[i]);
  RandomSource source(0);
  if (saved.seeded == 0 || !source.engine.set_state(engine)) {
    throw ValueError(concat("Invalid mt19937 state: seeded is ", saved.seeded, ", left is ",
                            saved.left, " and next is ", saved.next));
  }
  if (saved.normal_is_valid != 0) source.waiting_normal = saved.normal_y;
  if (saved.waiting_float_is_valid != 0) source.waiting_float = saved.waiting_float;
  const std::lock_guard lock(state_->mutex);
  state_->source = source;
}

Generator Generator::clone_state() const {
  Generator copy;
  const std::lock_guard lock(state_->mutex);
  copy.state_->source = state_->source;
  return copy;
}

namespace detail {

DefaultGeneratorScope::DefaultGeneratorScope(const Generator& generator) noexcept
    : generator_(generator), outer_(std::exchange(stand_in, &generator_)) {}
DefaultGeneratorScope::~DefaultGeneratorScope() { stand_in = outer_; }

}  // namespace detail

const Generator& default_generator() {
  if (stand_in != nullptr) return *stand_in;
  // Never destroyed: threads may draw while the program ends.
  static const Generator* const generator = make_default_generator(new Generator);
  return *generator;
}

const Generator& manual_seed(std::uint64_t seed) { return default_generator().manual_seed(seed); }
std::uint64_t seed() { return default_generator().seed(); }
std::uint64_t initial_seed() { return default_generator().initial_seed(); }
Tensor get_rng_state() { return default_generator().get_state(); }
void set_rng_state(const Tensor& state) { default_generator().set_state(state); }

RngScope::RngScope() : saved_(default_generator().clone_state()) {}
RngScope::~RngScope() {
  GeneratorState& state = *default_generator().state();
  const std::lock_guard lock(state.mutex);
  state.source = saved_.state()->source;
}

}  // namespace tenon

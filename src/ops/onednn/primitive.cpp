#include "ops/onednn/primitive.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace tenon::onednn {

namespace {

// The OpenMP that oneDNN has brought along, asked for by name: which one it is, is its affair.
struct OpenMp {
  int (*get)() = nullptr;
  void (*set)(int) = nullptr;

  static const OpenMp& instance() {
    static const OpenMp openmp = [] {
      OpenMp found;
      found.get = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
      found.set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
      if (found.get == nullptr || found.set == nullptr) found = {};
      return found;
    }();
    return openmp;
  }
};

}  // namespace

dnnl::engine& engine() {
  static auto& cpu = *new dnnl::engine(dnnl::engine::kind::cpu, 0);  // outlives every thread
  return cpu;
}

OneThread::OneThread() {
  const OpenMp& openmp = OpenMp::instance();
  if (openmp.set == nullptr) return;
  before_ = openmp.get();
  openmp.set(1);
}
OneThread::~OneThread() {
  const OpenMp& openmp = OpenMp::instance();
  if (openmp.set != nullptr) openmp.set(before_);
}

std::mutex& primitives_mutex() {
  static std::mutex& mutex = []() -> std::mutex& {
    static std::mutex& own = *new std::mutex;
    pthread_atfork([] { own.lock(); }, [] { own.unlock(); }, [] { own.unlock(); });
    return own;
  }();
  return mutex;
}

std::int64_t number_of(const dnnl::memory::desc& description) {
  static auto& known = *new std::vector<dnnl::memory::desc>;
  const auto found = std::find(known.begin(), known.end(), description);
  if (found != known.end()) return found - known.begin();
  known.push_back(description);
  return static_cast<std::int64_t>(known.size()) - 1;
}

dnnl::memory::data_type type_of(DType dtype) {
  return dtype == float32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
}

dnnl::primitive_attr own_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

bool is_reference(const char* implementation) {
  return std::string_view(implementation).starts_with("ref");
}

Scratch::Scratch(std::size_t number, std::size_t bytes) {
  constexpr std::size_t kKept = std::size_t{4} << 20, kAlignment = 64;
  thread_local std::array<std::vector<std::byte>, kNumbers> kept;
  std::vector<std::byte>& memory = bytes <= kKept ? kept[number] : own_;
  if (memory.size() < bytes + kAlignment) memory.resize(bytes + kAlignment);
  const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
  data_ = memory.data() + ((first + kAlignment - 1) / kAlignment * kAlignment - first);
}

}  // namespace tenon::onednn

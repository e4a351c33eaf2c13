#include "ops/onednn/gemm.h"

#include <dlfcn.h>
#include <pthread.h>
#include <dnnl.hpp>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/text.h"
#include "ops/onednn/instruction_set.h"
#include "tenon/error.h"

namespace tenon {

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

// While it lives, oneDNN has this thread alone. The user's own setting of OpenMP, which is each
// thread's, comes back afterwards.
class OneThread {
 public:
  OneThread() {
    if (openmp_.set == nullptr) return;
    before_ = openmp_.get();
    openmp_.set(1);
  }
  ~OneThread() {
    if (openmp_.set != nullptr) openmp_.set(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const OpenMp& openmp_ = OpenMp::instance();
  int before_ = 1;
};

// A product of one size, made ready. Usable from several threads at once.
struct Product {
  dnnl::memory::desc a, b, out, scratch;
  dnnl::matmul primitive;
};

dnnl::engine& engine() {
  static auto& cpu = *new dnnl::engine(dnnl::engine::kind::cpu, 0);  // outlives every thread
  return cpu;
}

using Sizes = std::array<std::int64_t, 9>;

dnnl::memory::desc describe(std::int64_t rows, std::int64_t columns, const PackedMatrix& matrix,
                            DType dtype = bfloat16) {
  const dnnl::memory::dims strides = matrix.transposed ? dnnl::memory::dims{1, matrix.leading}
                                                       : dnnl::memory::dims{matrix.leading, 1};
  const auto type = dtype == float32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  return {{rows, columns}, type, strides};
}

// Null if there is none.
std::shared_ptr<const Product> make_product(std::int64_t m, std::int64_t n, std::int64_t k,
                                            const PackedMatrix& a, const PackedMatrix& b,
                                            std::int64_t out_leading, DType out_dtype) {
  auto product = std::make_shared<Product>();
  product->a = describe(m, k, a);
  product->b = describe(k, n, b);
  product->out = describe(m, n, {nullptr, out_leading, false}, out_dtype);
  dnnl::primitive_attr attributes;
  // Memory of our own for each call: the library's belongs to the thread that made the product.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  try {
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc description(engine(), product->a, product->b, product->out,
                                                   attributes);
#else
    const dnnl::matmul::primitive_desc description(
        dnnl::matmul::desc(product->a, product->b, product->out), attributes, engine());
#endif
    // The reference implementation is a thousand times slower than converting to float.
    if (std::string_view(description.impl_info_str()).starts_with("ref")) return nullptr;
    product->scratch = description.scratchpad_desc();
    product->primitive = dnnl::matmul(description);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return nullptr;
    throw Error(concat("oneDNN cannot multiply matrices of ", m, "x", k, " and ", k, "x", n, ": ",
                       error.what()));
  }
  return product;
}

// Held while a product is looked up or made. A fork waits for it: the child would find it, or a
// lock of oneDNN's, held by a thread that it does not have.
std::mutex& products_mutex() {
  static std::mutex& mutex = []() -> std::mutex& {
    static std::mutex own;
    pthread_atfork([] { own.lock(); }, [] { own.unlock(); }, [] { own.unlock(); });
    return own;
  }();
  return mutex;
}

// Products that were made before, a few hundred of them.
std::shared_ptr<const Product> product_of(std::int64_t m, std::int64_t n, std::int64_t k,
                                          const PackedMatrix& a, const PackedMatrix& b,
                                          std::int64_t out_leading, DType out_dtype) {
  constexpr std::size_t kMost = 256;
  static auto& made = *new std::map<Sizes, std::shared_ptr<const Product>>;
  const Sizes key{
      m, n, k, a.leading, a.transposed, b.leading, b.transposed, out_leading, out_dtype == float32};
  const std::lock_guard lock(products_mutex());
  if (const auto found = made.find(key); found != made.end()) return found->second;
  auto product = make_product(m, n, k, a, b, out_leading, out_dtype);
  if (made.size() >= kMost) made.clear();
  made.emplace(key, product);
  return product;
}

}  // namespace

void onednn_multiply(std::int64_t m, std::int64_t n, std::int64_t k, const PackedMatrix& a,
                     const PackedMatrix& b, float* out, std::int64_t out_leading, float beta) {
  limit_instruction_set();
  const OneThread alone;
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, 1,
                 static_cast<const float*>(a.data), a.leading, static_cast<const float*>(b.data),
                 b.leading, beta, out, out_leading);
  if (status == dnnl_success) return;
  if (status == dnnl_out_of_memory)
    throw OutOfMemoryError(
        concat("oneDNN has no memory for a product of ", m, "x", k, " and ", k, "x", n), 0);
  throw Error(concat("oneDNN failed to multiply matrices of ", m, "x", k, " and ", k, "x", n,
                     " (status ", static_cast<int>(status), ")"));
}

bool onednn_multiply_bfloat16(std::int64_t m, std::int64_t n, std::int64_t k, const PackedMatrix& a,
                              const PackedMatrix& b, void* out, std::int64_t out_leading,
                              DType out_dtype) {
  if (!limit_instruction_set()) return false;
  const OneThread alone;
  const auto product = product_of(m, n, k, a, b, out_leading, out_dtype);
  if (!product) return false;
  thread_local std::vector<std::byte> scratch;
  if (scratch.size() < product->scratch.get_size()) scratch.resize(product->scratch.get_size());
  const auto memory = [](const dnnl::memory::desc& description, const void* data) {
    return dnnl::memory(description, engine(), const_cast<void*>(data));
  };
  try {
    dnnl::stream stream(engine());
    product->primitive.execute(stream,
                               {{DNNL_ARG_SRC, memory(product->a, a.data)},
                                {DNNL_ARG_WEIGHTS, memory(product->b, b.data)},
                                {DNNL_ARG_DST, memory(product->out, out)},
                                {DNNL_ARG_SCRATCHPAD, memory(product->scratch, scratch.data())}});
    stream.wait();
  } catch (const dnnl::error& error) {
    throw Error(concat("oneDNN failed to multiply matrices of ", m, "x", k, " and ", k, "x", n,
                       ": ", error.what()));
  }
  return true;
}

}  // namespace tenon

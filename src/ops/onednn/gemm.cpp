#include "ops/onednn/gemm.h"

#include <array>
#include <memory>

#include "base/text.h"
#include "ops/onednn/instruction_set.h"
#include "ops/onednn/primitive.h"
#include "tenon/error.h"

namespace tenon {

namespace {

// A product of one size, made ready. Usable from several threads at once.
struct Product {
  dnnl::memory::desc a, b, out, scratch;
  dnnl::matmul primitive;
};

using Sizes = std::array<std::int64_t, 9>;

dnnl::memory::desc describe(std::int64_t rows, std::int64_t columns, const PackedMatrix& matrix,
                            DType dtype = bfloat16) {
  const dnnl::memory::dims strides = matrix.transposed ? dnnl::memory::dims{1, matrix.leading}
                                                       : dnnl::memory::dims{matrix.leading, 1};
  return {{rows, columns}, onednn::type_of(dtype), strides};
}

// Null if there is none.
std::shared_ptr<const Product> make_product(std::int64_t m, std::int64_t n, std::int64_t k,
                                            const PackedMatrix& a, const PackedMatrix& b,
                                            std::int64_t out_leading, DType out_dtype) {
  auto product = std::make_shared<Product>();
  product->a = describe(m, k, a);
  product->b = describe(k, n, b);
  product->out = describe(m, n, {nullptr, out_leading, false}, out_dtype);
  const dnnl::primitive_attr attributes = onednn::own_scratch();
  try {
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc description(onednn::engine(), product->a, product->b,
                                                   product->out, attributes);
#else
    const dnnl::matmul::primitive_desc description(
        dnnl::matmul::desc(product->a, product->b, product->out), attributes, onednn::engine());
#endif
    if (onednn::is_reference(description.impl_info_str())) return nullptr;
    product->scratch = description.scratchpad_desc();
    product->primitive = dnnl::matmul(description);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return nullptr;
    throw Error(concat("oneDNN cannot multiply matrices of ", m, "x", k, " and ", k, "x", n, ": ",
                       error.what()));
  }
  return product;
}

// Products that were made before, a few hundred of them.
std::shared_ptr<const Product> product_of(std::int64_t m, std::int64_t n, std::int64_t k,
                                          const PackedMatrix& a, const PackedMatrix& b,
                                          std::int64_t out_leading, DType out_dtype) {
  static auto& made = *new onednn::Cache<Sizes, Product>(256);
  const Sizes key{
      m, n, k, a.leading, a.transposed, b.leading, b.transposed, out_leading, out_dtype == float32};
  return made.get(key, [&] { return make_product(m, n, k, a, b, out_leading, out_dtype); });
}

}  // namespace

void onednn_multiply(std::int64_t m, std::int64_t n, std::int64_t k, const PackedMatrix& a,
                     const PackedMatrix& b, float* out, std::int64_t out_leading, float beta) {
  limit_instruction_set();
  const onednn::OneThread alone;
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
  if (!has_fast_bfloat16()) return false;
  const onednn::OneThread alone;
  const auto product = product_of(m, n, k, a, b, out_leading, out_dtype);
  if (!product) return false;
  const onednn::Scratch scratch(0, product->scratch.get_size());
  try {
    dnnl::stream stream(onednn::engine());
    product->primitive.execute(
        stream, {{DNNL_ARG_SRC, onednn::memory(product->a, a.data)},
                 {DNNL_ARG_WEIGHTS, onednn::memory(product->b, b.data)},
                 {DNNL_ARG_DST, onednn::memory(product->out, out)},
                 {DNNL_ARG_SCRATCHPAD, onednn::memory(product->scratch, scratch.data())}});
    stream.wait();
  } catch (const dnnl::error& error) {
    throw Error(concat("oneDNN failed to multiply matrices of ", m, "x", k, " and ", k, "x", n,
                       ": ", error.what()));
  }
  return true;
}

}  // namespace tenon

#include "ops/onednn/linear.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "base/thread_pool.h"
#include "core/body_editor.h"
#include "core/packed_copies.h"
#include "ops/onednn/instruction_set.h"
#include "ops/onednn/primitive.h"
#include "tenon/error.h"

namespace tenon {

namespace {

// Note [Blocks of a packed weight]
// The weight is kept in blocks of 64 of its columns, each in the order oneDNN likes for 64 rows of
// the other matrix, and the product is calculated in blocks of 64 by 64 that our pool shares out.
// What is left of the rows is a multiple of 16, with rows that nobody asked for, or fewer than 16:
// so few different products are made ready, whatever number of rows comes along.
constexpr std::int64_t kBlock = 64, kStep = 16;
constexpr std::int64_t kFewestRows = 4;
constexpr std::int64_t kLeastWork = std::int64_t{1} << 20;

struct Product {
  dnnl::memory::desc a, weight, bias, out, scratch;
  dnnl::matmul primitive;
  std::int64_t weight_number = 0;
};

std::shared_ptr<Product> make_product(std::int64_t m, std::int64_t n, std::int64_t k, bool bias,
                                      const dnnl::memory::desc& weight) {
  auto product = std::make_shared<Product>();
  const auto type = dnnl::memory::data_type::f32;
  const auto rows = dnnl::memory::format_tag::ab;
  product->a = {{m, k}, type, rows};
  product->out = {{m, n}, type, rows};
  if (bias) product->bias = {{1, n}, type, rows};
  try {
#if DNNL_VERSION_MAJOR >= 3
    const auto description =
        bias ? dnnl::matmul::primitive_desc(onednn::engine(), product->a, weight, product->bias,
                                            product->out, onednn::own_scratch())
             : dnnl::matmul::primitive_desc(onednn::engine(), product->a, weight, product->out,
                                            onednn::own_scratch());
#else
    const dnnl::matmul::primitive_desc description(
        bias ? dnnl::matmul::desc(product->a, weight, product->bias, product->out)
             : dnnl::matmul::desc(product->a, weight, product->out),
        onednn::own_scratch(), onednn::engine());
#endif
    if (onednn::is_reference(description.impl_info_str())) return nullptr;
    product->weight = description.weights_desc();
    product->scratch = description.scratchpad_desc();
    product->primitive = dnnl::matmul(description);
    product->weight_number = onednn::number_of(product->weight);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return nullptr;
    throw Error(concat("oneDNN cannot multiply matrices of ", m, "x", k, " and ", k, "x", n, ": ",
                       error.what()));
  }
  return product;
}

// All of one width and depth have the weight in one order, that of 64 rows.
std::shared_ptr<const Product> product_of(std::int64_t m, std::int64_t n, std::int64_t k,
                                          bool bias) {
  static auto& made = *new onednn::Cache<std::array<std::int64_t, 4>, Product>(512);
  const auto get = [&](std::int64_t rows, const dnnl::memory::desc& weight) {
    return made.get(std::array<std::int64_t, 4>{rows, n, k, bias},
                    [&] { return make_product(rows, n, k, bias, weight); });
  };
  auto full = get(kBlock, {{k, n}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any});
  return m == kBlock || !full ? full : get(m, full->weight);
}

bool is_parameter(const Tensor& tensor) {
  const Body& body = tensor.body();
  if (body.is_parameter()) return true;
  const Ref<Body>& base = BodyEditor::base(body);
  return base && base->is_parameter();
}

struct Sizes {
  std::int64_t m, n, k;
  std::int64_t columns() const { return (n + kBlock - 1) / kBlock; }
  std::int64_t rows() const { return (m + kBlock - 1) / kBlock; }
  std::int64_t width(std::int64_t column) const { return std::min(kBlock, n - column * kBlock); }
  std::int64_t height(std::int64_t row) const { return std::min(kBlock, m - row * kBlock); }
};
// With the rows that nobody asked for.
std::int64_t calculated(std::int64_t rows) {
  return rows < kStep ? rows : (rows + kStep - 1) / kStep * kStep;
}

[[noreturn]] void failed(const Sizes& s, const dnnl::error& error) {
  throw Error(concat("oneDNN failed to multiply matrices of ", s.m, "x", s.k, " and ", s.k, "x",
                     s.n, ": ", error.what()));
}

std::shared_ptr<const PackedCopy> pack(const Sizes& s, const Tensor& b, const Product& full,
                                       const Product& last) {
  const std::size_t block = full.weight.get_size();
  const auto count = static_cast<std::size_t>(s.columns());
  auto copy = std::make_shared<PackedCopy>(block * (count - 1) + last.weight.get_size());
  parallel_for(0, s.columns(), 1, [&](std::int64_t first, std::int64_t end) {
    const onednn::OneThread alone;
    try {
      dnnl::stream stream(onednn::engine());
      for (std::int64_t j = first; j < end; ++j) {
        const Product& product = s.width(j) == kBlock ? full : last;
        const dnnl::memory::desc plain({s.k, s.width(j)}, dnnl::memory::data_type::f32,
                                       dnnl::memory::dims{b.stride(0), b.stride(1)});
        auto from = onednn::memory(plain, b.data<float>() + j * kBlock * b.stride(1));
        auto to =
            onednn::memory(product.weight, copy->data() + static_cast<std::size_t>(j) * block);
        dnnl::reorder(from, to).execute(stream, from, to);
        stream.wait();
      }
    } catch (const dnnl::error& error) {
      failed(s, error);
    }
  });
  return copy;
}

}  // namespace

bool multiply_by_weight(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias) {
  const Sizes s{a.size(0), b.size(1), a.size(1)};
  if (s.m < kFewestRows || s.n < kStep || s.k < kStep) return false;
  if (static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) <
      static_cast<double>(kLeastWork))
    return false;
  if (!is_parameter(b)) return false;
  limit_instruction_set();
  const onednn::OneThread alone;
  const bool has_bias = bias.defined();
  const auto full = product_of(kBlock, std::min(kBlock, s.n), s.k, has_bias);
  const auto last = product_of(kBlock, s.width(s.columns() - 1), s.k, has_bias);
  const std::int64_t rest = calculated(s.height(s.rows() - 1));
  const auto full_rest = product_of(rest, std::min(kBlock, s.n), s.k, has_bias);
  const auto last_rest = product_of(rest, s.width(s.columns() - 1), s.k, has_bias);
  if (!full || !last || !full_rest || !last_rest) return false;

  const PackedKey key{2,   full->weight_number, last->weight_number, b.layout().offset, s.k,
                      s.n, b.stride(0),         b.stride(1)};
  FoundCopy found = find_packed_copy(b.storage(), key);
  if (!found.copy) {
    if (!found.asked_before || !may_keep_packed(static_cast<std::size_t>(4 * s.k * s.n)))
      return false;
    found.copy = pack(s, b, *full, *last);
    keep_packed_copy(b.storage(), key, found.copy);
  }

  const Tensor rows = a.contiguous();
  const auto* from = rows.data<float>();
  auto* to = out.data<float>();
  const std::int64_t work = kBlock * kBlock * s.k;
  parallel_for(
      0, s.columns() * s.rows(), std::max<std::int64_t>(1, (1 << 19) / work),
      [&](std::int64_t first, std::int64_t end) {
        const onednn::OneThread one;
        try {
          dnnl::stream stream(onednn::engine());
          for (std::int64_t i = first; i < end; ++i) {
            const std::int64_t column = i / s.rows(), row = i % s.rows();
            const std::int64_t height = s.height(row), width = s.width(column);
            const bool is_last = column == s.columns() - 1, is_rest = row == s.rows() - 1;
            const Product& product =
                is_last ? (is_rest ? *last_rest : *last) : (is_rest ? *full_rest : *full);
            const float* in = from + row * kBlock * s.k;
            const auto in_bytes = static_cast<std::size_t>(height * s.k) * sizeof(float);
            const onednn::Scratch padded(0, height == kBlock ? 0 : product.a.get_size());
            if (calculated(height) != height && is_rest) {
              std::memcpy(padded.data(), in, in_bytes);
              std::memset(padded.data() + in_bytes, 0, product.a.get_size() - in_bytes);
              in = reinterpret_cast<const float*>(padded.data());
            }
            const onednn::Scratch block(1, product.out.get_size());
            const onednn::Scratch scratch(2, product.scratch.get_size());
            const std::byte* weight =
                found.copy->data() + static_cast<std::size_t>(column) * full->weight.get_size();
            std::unordered_map<int, dnnl::memory> arguments{
                {DNNL_ARG_SRC, onednn::memory(product.a, in)},
                {DNNL_ARG_WEIGHTS, onednn::memory(product.weight, weight)},
                {DNNL_ARG_DST, onednn::memory(product.out, block.data())},
                {DNNL_ARG_SCRATCHPAD, onednn::memory(product.scratch, scratch.data())}};
            if (has_bias) {
              arguments.emplace(DNNL_ARG_BIAS,
                                onednn::memory(product.bias, bias.data<float>() + column * kBlock));
            }
            product.primitive.execute(stream, arguments);
            stream.wait();
            for (std::int64_t r = 0; r < height; ++r) {
              std::memcpy(to + (row * kBlock + r) * s.n + column * kBlock,
                          block.data() + static_cast<std::size_t>(r * width) * sizeof(float),
                          static_cast<std::size_t>(width) * sizeof(float));
            }
          }
        } catch (const dnnl::error& error) {
          failed(s, error);
        }
      });
  return true;
}

}  // namespace tenon

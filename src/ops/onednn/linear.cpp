#include "ops/onednn/linear.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "base/text.h"
#include "base/thread_pool.h"
#include "core/body_editor.h"
#include "core/packed_copies.h"
#include "kernels/few_rows.h"
#include "kernels/transpose.h"
#include "ops/onednn/instruction_set.h"
#include "ops/onednn/primitive.h"
#include "tenon/error.h"

namespace tenon {

namespace {

// Note [Blocks of a packed weight]
// The weight is taken in blocks of 64 of its rows, each in the order oneDNN likes for 64 rows of
// the other matrix, and the product is calculated in blocks of 64 by 64 that our pool shares out.
// What is left of the rows is a multiple of 16, with rows that nobody asked for, or fewer than 16:
// so few different products are made ready, whatever number of rows comes along.
constexpr std::int64_t kBlock = 64, kStep = 16;
constexpr std::int64_t kFewestRows = kMostFewRows + 1;
constexpr std::int64_t kLeastWork = std::int64_t{1} << 20;

struct Product {
  dnnl::memory::desc a, weight, bias, out, scratch;
  dnnl::matmul primitive;
  std::int64_t weight_number = 0;
  std::int64_t turned_row = 0;  // see turned_row_of
};

// The transpose of n rows of k elements, with zeros up to so many bytes.
void turn(const float* from, std::int64_t from_row, std::int64_t n, std::int64_t k, float* to,
          std::int64_t to_row, std::size_t bytes) {
  if (n != to_row || static_cast<std::size_t>(k * to_row) * sizeof(float) != bytes)
    std::memset(to, 0, bytes);
  transpose_floats(from, from_row, n, k, to, to_row);
}
// A block of rows of a weight, in oneDNN's order, is usually its transpose, which we make faster
// than oneDNN does. Whether it is so is found out by trying. How far rows of the transpose are
// apart, or 0 if the order is another.
std::int64_t turned_row_of(const dnnl::memory::desc& weight, std::int64_t n, std::int64_t k) {
  const auto elements = static_cast<std::int64_t>(weight.get_size() / sizeof(float));
  const std::int64_t depth = (k + kStep - 1) / kStep * kStep;
  const std::int64_t row = elements % k == 0 ? elements / k : elements / depth;
  if (row < n || row * k > elements) return 0;
  std::vector<float> plain(static_cast<std::size_t>(n * k));
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<float>(i % 16777213 + 1);
  std::vector<float> theirs(static_cast<std::size_t>(elements)), ours(theirs.size());
  auto from = onednn::memory({{k, n}, dnnl::memory::data_type::f32, dnnl::memory::dims{1, k}},
                             plain.data());
  auto to = onednn::memory(weight, theirs.data());
  dnnl::stream stream(onednn::engine());
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  turn(plain.data(), k, n, k, ours.data(), row, weight.get_size());
  return ours == theirs ? row : 0;
}

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
    product->turned_row = turned_row_of(product->weight, n, k);
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

// Rows of the weight that are columns of the product, in oneDNN's order.
void arrange(const Sizes& s, const Product& product, const Tensor& b, std::int64_t column,
             std::byte* to) {
  const float* from = b.data<float>() + column * kBlock * b.stride(1);
  const std::int64_t width = s.width(column);
  if (product.turned_row != 0) {
    turn(from, b.stride(1), width, s.k, reinterpret_cast<float*>(to), product.turned_row,
         product.weight.get_size());
    return;
  }
  auto plain = onednn::memory(
      {{s.k, width}, dnnl::memory::data_type::f32, dnnl::memory::dims{b.stride(0), b.stride(1)}},
      from);
  auto arranged = onednn::memory(product.weight, to);
  dnnl::stream stream(onednn::engine());
  dnnl::reorder(plain, arranged).execute(stream, plain, arranged);
  stream.wait();
}

std::shared_ptr<const PackedCopy> pack(const Sizes& s, const Tensor& b, const Product& full,
                                       const Product& last) {
  const std::size_t block = full.weight.get_size();
  const auto count = static_cast<std::size_t>(s.columns());
  auto copy = PackedCopy::make(block * (count - 1) + last.weight.get_size());
  if (!copy) return nullptr;
  parallel_for(0, s.columns(), 1, [&](std::int64_t first, std::int64_t end) {
    const onednn::OneThread alone;
    try {
      for (std::int64_t j = first; j < end; ++j) {
        arrange(s, s.width(j) == kBlock ? full : last, b, j,
                copy->data() + static_cast<std::size_t>(j) * block);
      }
    } catch (const dnnl::error& error) {
      failed(s, error);
    }
  });
  return copy;
}

// The products of all blocks, of the last ones among the columns, the rows, and both.
struct Products {
  std::shared_ptr<const Product> full, last, full_rest, last_rest;

  Products(const Sizes& s, bool bias)
      : full(product_of(kBlock, s.width(0), s.k, bias)),
        last(product_of(kBlock, s.width(s.columns() - 1), s.k, bias)),
        full_rest(product_of(calculated(s.height(s.rows() - 1)), s.width(0), s.k, bias)),
        last_rest(
            product_of(calculated(s.height(s.rows() - 1)), s.width(s.columns() - 1), s.k, bias)) {}
  bool all_there() const { return full && last && full_rest && last_rest; }
  const Product& at(const Sizes& s, std::int64_t row, std::int64_t column) const {
    const bool is_rest = row == s.rows() - 1;
    if (column == s.columns() - 1) return is_rest ? *last_rest : *last;
    return is_rest ? *full_rest : *full;
  }
};

// The copy that is kept, or null.
std::shared_ptr<const PackedCopy> kept_copy(const Sizes& s, const Tensor& b,
                                            const Products& products) {
  if (!is_parameter(b)) return nullptr;
  const PackedKey key{2,
                      products.full->weight_number,
                      products.last->weight_number,
                      b.layout().offset,
                      s.k,
                      s.n,
                      b.stride(1)};
  const FoundCopy found = find_packed_copy(b, key);
  if (found.copy || !found.asked_before ||
      !may_keep_packed(static_cast<std::size_t>(s.k * s.n) * sizeof(float)))
    return found.copy;
  auto copy = pack(s, b, *products.full, *products.last);
  if (copy) keep_packed_copy(b, key, copy);
  return copy;
}

// One block: `in` begins at its first row, `out` at its first element.
void multiply_block(dnnl::stream& stream, const Sizes& s, const Product& product, const float* in,
                    std::int64_t height, const std::byte* weight, const float* bias, float* out,
                    std::int64_t width) {
  const std::size_t bytes = product.a.get_size();
  const auto there = static_cast<std::size_t>(height * s.k) * sizeof(float);
  const onednn::Scratch padded(0, there == bytes ? 0 : bytes);
  if (there != bytes) {
    std::memcpy(padded.data(), in, there);
    std::memset(padded.data() + there, 0, bytes - there);
    in = reinterpret_cast<const float*>(padded.data());
  }
  const onednn::Scratch block(1, product.out.get_size());
  const onednn::Scratch scratch(2, product.scratch.get_size());
  std::unordered_map<int, dnnl::memory> arguments{
      {DNNL_ARG_SRC, onednn::memory(product.a, in)},
      {DNNL_ARG_WEIGHTS, onednn::memory(product.weight, weight)},
      {DNNL_ARG_DST, onednn::memory(product.out, block.data())},
      {DNNL_ARG_SCRATCHPAD, onednn::memory(product.scratch, scratch.data())}};
  if (bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, onednn::memory(product.bias, bias));
  product.primitive.execute(stream, arguments);
  stream.wait();
  const auto row = static_cast<std::size_t>(width) * sizeof(float);
  for (std::int64_t r = 0; r < height; ++r)
    std::memcpy(out + r * s.n, block.data() + static_cast<std::size_t>(r) * row, row);
}

}  // namespace

bool multiply_by_weight(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias) {
  const Sizes s{a.size(0), b.size(1), a.size(1)};
  if (s.m < kFewestRows || s.n < kStep || s.k < kStep) return false;
  if (static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) <
      static_cast<double>(kLeastWork))
    return false;
  if (b.stride(0) != 1 || b.stride(1) < s.k) return false;
  limit_instruction_set();
  const onednn::OneThread alone;
  const Products products(s, bias.defined());
  if (!products.all_there()) return false;
  const auto kept = kept_copy(s, b, products);
  const std::size_t weight_bytes = products.full->weight.get_size();

  const Tensor rows = a.contiguous();
  const auto* from = rows.data<float>();
  const float* added = bias.defined() ? bias.data<float>() : nullptr;
  auto* to = out.data<float>();
  // Blocks of one column after the other: its weight stays near.
  const std::int64_t grain = std::max<std::int64_t>(1, (1 << 19) / (kBlock * kBlock * s.k));
  const auto work = [&](std::int64_t first, std::int64_t last) {
    const onednn::OneThread one;
    const onednn::Scratch arranged(
        3, kept ? 0 : std::max(weight_bytes, products.last->weight.get_size()));
    std::int64_t arranged_column = -1;
    try {
      dnnl::stream stream(onednn::engine());
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t column = i / s.rows(), row = i % s.rows();
        const Product& product = products.at(s, row, column);
        const std::byte* weight = arranged.data();
        if (kept) {
          weight = kept->data() + static_cast<std::size_t>(column) * weight_bytes;
        } else if (column != arranged_column) {
          arrange(s, product, b, column, arranged.data());
          arranged_column = column;
        }
        multiply_block(stream, s, product, from + row * kBlock * s.k, s.height(row), weight,
                       added == nullptr ? nullptr : added + column * kBlock,
                       to + row * kBlock * s.n + column * kBlock, s.width(column));
      }
    } catch (const dnnl::error& error) {
      failed(s, error);
    }
  };
  parallel_for(0, s.columns() * s.rows(), grain, work);
  return true;
}

}  // namespace tenon

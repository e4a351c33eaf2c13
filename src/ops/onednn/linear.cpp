#include "ops/onednn/linear.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "base/text.h"
#include "base/thread_pool.h"
#include "core/body_editor.h"
#include "core/packed_copies.h"
#include "kernels/cast_simd.h"
#include "kernels/few_rows.h"
#include "kernels/transpose.h"
#include "ops/onednn/instruction_set.h"
#include "ops/onednn/primitive.h"
#include "tenon/error.h"

namespace tenon {

namespace {

// Note [Blocks of a packed weight]
// The weight is taken in blocks of 64 of its columns, each in the order oneDNN likes for a block of
// rows of the other matrix, and the product is calculated in blocks that our pool shares out. What
// is left of the rows is a multiple of 16, with rows that nobody asked for, or fewer than 16: so
// few different products are made ready, whatever number of rows comes along.
//
// Note [Dtypes of a packed weight]
// bfloat16 is multiplied as it is where oneDNN has instructions for it. Elsewhere, and float16
// everywhere, the weight is kept as float32, rows are converted on their way in, and results are
// rounded on their way out: once, after the bias was added.
constexpr std::int64_t kBlock = 64, kStep = 16;
constexpr std::int64_t kFewestRows = kMostFewRows + 1;
constexpr std::int64_t kLeastWork = std::int64_t{1} << 20;

// Rows of a block: those of bfloat16 are done in half the time, or, with tiles, in an eighth.
std::int64_t block_rows(DType computed) { return computed == float32 ? 64 : 128; }

struct Product {
  DType dtype = float32;  // of all but the sums
  dnnl::memory::desc a, weight, bias, out, scratch;
  dnnl::matmul primitive;
  std::int64_t weight_number = 0;
  std::int64_t row = 0;  // see row_of
};

// Note [Words of a packed weight]
// oneDNN's order of a block of columns is usually this: words of 32 bits, each of one element of
// float32 or of two of bfloat16 that are below each other, those of one depth side by side, with
// zeros where there are no elements. That we make faster than oneDNN does. How many words are side
// by side; 0 if the order is another, which is found out by trying.
std::int64_t row_of(const dnnl::memory::desc& weight, std::int64_t n, std::int64_t k, DType dtype) {
  const std::int64_t each = itemsize(dtype), inside = 4 / each;
  const auto words = static_cast<std::int64_t>(weight.get_size()) / 4;
  const std::int64_t depth = (k + inside - 1) / inside,
                     padded = (depth + kStep - 1) / kStep * kStep;
  // The elements, each at a place, are numbers that are distinct for as long as there are some.
  const auto fill = [&]<class T>(std::vector<std::byte>& to, T, auto&& place) {
    T* elements = reinterpret_cast<T*>(to.data());
    constexpr int kDistinct = std::same_as<T, float> ? 1 << 24 : 32000;
    int number = 0;
    for (std::int64_t column = 0; column < n; ++column) {
      for (std::int64_t d = 0; d < k; ++d) {
        elements[place(column, d)] = static_cast<T>(number + 128);  // as bits, no denormal numbers
        number = number + 129 < kDistinct ? number + 1 : 0;
      }
    }
  };
  const auto filled = [&](std::size_t bytes, auto&& place) {
    std::vector<std::byte> all(bytes);
    inside == 1 ? fill(all, float{}, place) : fill(all, std::uint16_t{}, place);
    return all;
  };
  const auto plain = filled(static_cast<std::size_t>(n * k * each),
                            [&](std::int64_t column, std::int64_t d) { return column * k + d; });
  std::vector<std::byte> theirs(weight.get_size());
  auto from =
      onednn::memory({{k, n}, onednn::type_of(dtype), dnnl::memory::dims{1, k}}, plain.data());
  auto to = onednn::memory(weight, theirs.data());
  dnnl::stream stream(onednn::engine());
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  for (const std::int64_t row : {words / padded, words / depth}) {
    if (row < n || row * depth > words) continue;
    const auto ours = filled(theirs.size(), [&](std::int64_t column, std::int64_t d) {
      return (d / inside * row + column) * inside + d % inside;
    });
    if (ours == theirs) return row;
  }
  return 0;
}

std::shared_ptr<Product> make_product(std::int64_t m, std::int64_t n, std::int64_t k, bool bias,
                                      DType dtype, const dnnl::memory::desc& weight,
                                      const Product* full) {
  auto product = std::make_shared<Product>();
  product->dtype = dtype;
  const auto type = onednn::type_of(dtype);
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
    product->row = full != nullptr ? full->row : row_of(product->weight, n, k, dtype);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return nullptr;
    throw Error(concat("oneDNN cannot multiply matrices of ", m, "x", k, " and ", k, "x", n, ": ",
                       error.what()));
  }
  return product;
}

// All of one width and depth have the weight in one order, that of a whole block of rows.
std::shared_ptr<const Product> product_of(std::int64_t m, std::int64_t n, std::int64_t k, bool bias,
                                          DType dtype) {
  static auto& made = *new onednn::Cache<std::array<std::int64_t, 5>, Product>(512);
  const auto get = [&](std::int64_t rows, const dnnl::memory::desc& weight, const Product* known) {
    return made.get(std::array<std::int64_t, 5>{rows, n, k, bias, static_cast<std::int64_t>(dtype)},
                    [&] { return make_product(rows, n, k, bias, dtype, weight, known); });
  };
  const std::int64_t whole = block_rows(dtype);
  auto full = get(whole, {{k, n}, onednn::type_of(dtype), dnnl::memory::format_tag::any}, nullptr);
  return m == whole || !full ? full : get(m, full->weight, full.get());
}

bool is_parameter(const Tensor& tensor) {
  const Body& body = tensor.body();
  if (body.is_parameter()) return true;
  const Ref<Body>& base = BodyEditor::base(body);
  return base && base->is_parameter();
}

struct Sizes {
  std::int64_t m, n, k;
  std::int64_t tall = kBlock;  // rows of a block
  std::int64_t columns() const { return (n + kBlock - 1) / kBlock; }
  std::int64_t rows() const { return (m + tall - 1) / tall; }
  std::int64_t width(std::int64_t column) const { return std::min(kBlock, n - column * kBlock); }
  std::int64_t height(std::int64_t row) const { return std::min(tall, m - row * tall); }
};
// With the rows that nobody asked for.
std::int64_t calculated(std::int64_t rows) {
  return rows < kStep ? rows : (rows + kStep - 1) / kStep * kStep;
}

[[noreturn]] void failed(const Sizes& s, const dnnl::error& error) {
  throw Error(concat("oneDNN failed to multiply matrices of ", s.m, "x", s.k, " and ", s.k, "x",
                     s.n, ": ", error.what()));
}

// Columns of the product, as they lie in the weight: elements of one column side by side, or those
// of one depth.
struct Columns {
  const std::byte* data;
  std::int64_t width, depth_stride, column_stride;
};

// The same converted to the dtype that is calculated in, elements of one depth or column packed.
Columns converted(const Sizes& s, const Columns& from, DType dtype, std::byte* to) {
  const PackedCast widen = packed_cast(float32, dtype);
  const bool by_column = from.depth_stride == 1;
  const std::int64_t lines = by_column ? from.width : s.k, n = by_column ? s.k : from.width,
                     stride = by_column ? from.column_stride : from.depth_stride;
  for (std::int64_t i = 0; i < lines; ++i)
    widen(from.data + i * stride * itemsize(dtype), to + i * n * 4, n, false);
  return {to, from.width, by_column ? 1 : n, by_column ? n : 1};
}

// Words that lie in a row of the weight each, in a column of the arranged block.
bool is_of_words(const Columns& from, std::int64_t k, std::int64_t inside) {
  return from.depth_stride == 1 && k % inside == 0 && from.column_stride % inside == 0 &&
         reinterpret_cast<std::uintptr_t>(from.data) % 4 == 0;
}

// See Note [Words of a packed weight].
template <class T>
void arrange_words(const Columns& from, std::int64_t k, std::int64_t row, std::byte* arranged) {
  constexpr auto kInside = static_cast<std::int64_t>(4 / sizeof(T));
  if (is_of_words(from, k, kInside)) {
    return transpose_floats(reinterpret_cast<const float*>(from.data), from.column_stride / kInside,
                            from.width, k / kInside, reinterpret_cast<float*>(arranged), row);
  }
  const T* all = reinterpret_cast<const T*>(from.data);
  T* to = reinterpret_cast<T*>(arranged);
  if (kInside == 2 && from.column_stride == 1 && k % 2 == 0) {
    for (std::int64_t p = 0; p < k; p += 2) {
      T* line = to + p * row;
      const T *upper = all + p * from.depth_stride, *lower = upper + from.depth_stride;
      for (std::int64_t j = 0; j < from.width; ++j) {
        line[2 * j] = upper[j];
        line[2 * j + 1] = lower[j];
      }
    }
    return;
  }
  for (std::int64_t p = 0; p < k; ++p) {
    T* line = to + p / kInside * row * kInside + p % kInside;
    const T* elements = all + p * from.depth_stride;
    for (std::int64_t j = 0; j < from.width; ++j)
      line[j * kInside] = elements[j * from.column_stride];
  }
}

// Columns of the weight in oneDNN's order.
void arrange(const Sizes& s, const Product& product, const Tensor& b, std::int64_t column,
             std::byte* to) {
  Columns from{static_cast<const std::byte*>(b.data_ptr()) +
                   column * kBlock * b.stride(1) * b.element_size(),
               s.width(column), b.stride(0), b.stride(1)};
  const bool converts = b.dtype() != product.dtype;
  const onednn::Scratch wide(4, converts ? static_cast<std::size_t>(s.k * from.width * 4) : 0);
  if (converts) from = converted(s, from, b.dtype(), wide.data());
  if (product.row != 0) {
    const std::int64_t inside = 4 / itemsize(product.dtype);
    const bool whole =
        from.width == product.row && s.k % inside == 0 &&
        static_cast<std::size_t>(s.k / inside * product.row * 4) == product.weight.get_size();
    if (!whole) std::memset(to, 0, product.weight.get_size());
    return inside == 1 ? arrange_words<float>(from, s.k, product.row, to)
                       : arrange_words<std::uint16_t>(from, s.k, product.row, to);
  }
  auto plain = onednn::memory({{s.k, from.width},
                               onednn::type_of(product.dtype),
                               dnnl::memory::dims{from.depth_stride, from.column_stride}},
                              from.data);
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

  Products(const Sizes& s, bool bias, DType dtype) {
    const std::int64_t rest = calculated(s.height(s.rows() - 1)), narrow = s.width(s.columns() - 1);
    full = product_of(s.tall, s.width(0), s.k, bias, dtype);
    last = product_of(s.tall, narrow, s.k, bias, dtype);
    full_rest = product_of(rest, s.width(0), s.k, bias, dtype);
    last_rest = product_of(rest, narrow, s.k, bias, dtype);
  }
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
                      b.stride(0),
                      b.stride(1),
                      static_cast<std::int64_t>(b.dtype())};
  const FoundCopy found = find_packed_copy(b, key);
  if (found.copy || !found.asked_before ||
      !may_keep_packed(static_cast<std::size_t>(s.k * s.n * itemsize(products.full->dtype))))
    return found.copy;
  auto copy = pack(s, b, *products.full, *products.last);
  if (copy) keep_packed_copy(b, key, copy);
  return copy;
}

// What a product is given, made once for many blocks of it.
class Arguments {
 public:
  void bind(const Product& product, const std::byte* a, const std::byte* weight,
            const std::byte* bias, std::byte* out, std::byte* scratch) {
    if (product_ != &product) {
      product_ = &product;
      memory_.clear();
    }
    set(DNNL_ARG_SRC, product.a, a);
    set(DNNL_ARG_WEIGHTS, product.weight, weight);
    if (bias != nullptr) set(DNNL_ARG_BIAS, product.bias, bias);
    set(DNNL_ARG_DST, product.out, out);
    set(DNNL_ARG_SCRATCHPAD, product.scratch, scratch);
  }
  void execute(dnnl::stream& stream) const {
    product_->primitive.execute(stream, memory_);
    stream.wait();
  }

 private:
  void set(int argument, const dnnl::memory::desc& description, const void* data) {
    const auto found = memory_.find(argument);
    if (found == memory_.end())
      memory_.emplace(argument, onednn::memory(description, data));
    else
      found->second.set_data_handle(const_cast<void*>(data));
  }

  const Product* product_ = nullptr;
  std::unordered_map<int, dnnl::memory> memory_;
};

// What is multiplied, and where it goes.
class Run {
 public:
  Run(const Sizes& sizes, const Tensor& out, const Tensor& a, const Tensor& bias, DType computed)
      : s_(sizes),
        rows_(a.contiguous()),
        each_(static_cast<std::size_t>(itemsize(computed))),
        to_(static_cast<std::byte*>(out.data_ptr())),
        to_each_(out.element_size()) {
    if (bias.defined()) bias_ = bias.to(computed);
    if (out.dtype() != computed) {
      widen_ = packed_cast(computed, a.dtype());
      narrow_ = packed_cast(out.dtype(), computed);
    }
  }

  // One block, with the weight's columns.
  void block(dnnl::stream& stream, Arguments& arguments, const Product& product, std::int64_t row,
             std::int64_t column, const std::byte* weight) const {
    const std::int64_t height = s_.height(row), width = s_.width(column);
    const std::size_t bytes = product.a.get_size(),
                      there = static_cast<std::size_t>(height * s_.k) * each_;
    const auto* in = static_cast<const std::byte*>(rows_.data_ptr()) +
                     row * s_.tall * s_.k * rows_.element_size();
    const bool copied = there != bytes || widen_ != nullptr;
    const onednn::Scratch near(0, copied ? bytes : 0);
    if (copied) {
      if (widen_ != nullptr)
        widen_(in, near.data(), height * s_.k, false);
      else
        std::memcpy(near.data(), in, there);
      std::memset(near.data() + there, 0, bytes - there);
      in = near.data();
    }
    const onednn::Scratch result(1, product.out.get_size());
    const onednn::Scratch scratch(2, product.scratch.get_size());
    const std::byte* bias = nullptr;
    if (bias_.defined()) {
      bias = static_cast<const std::byte*>(bias_.data_ptr()) +
             static_cast<std::size_t>(column * kBlock) * each_;
    }
    arguments.bind(product, in, weight, bias, result.data(), scratch.data());
    arguments.execute(stream);
    const std::size_t line = static_cast<std::size_t>(width) * each_;
    for (std::int64_t r = 0; r < height; ++r) {
      std::byte* to = to_ + ((row * s_.tall + r) * s_.n + column * kBlock) * to_each_;
      const std::byte* from = result.data() + static_cast<std::size_t>(r) * line;
      if (narrow_ != nullptr)
        narrow_(from, to, width, false);
      else
        std::memcpy(to, from, line);
    }
  }

 private:
  const Sizes& s_;
  Tensor rows_, bias_;
  std::size_t each_;
  std::byte* to_;
  std::int64_t to_each_;
  PackedCast widen_ = nullptr, narrow_ = nullptr;
};

// Float32 is multiplied by others as fast where columns of the weight are not packed.
bool is_packed(const Sizes& s, const Tensor& b) {
  if (b.stride(0) == 1 && b.stride(1) >= s.k) return true;
  return b.dtype() != float32 && b.stride(1) == 1 && b.stride(0) >= s.n;
}

bool multiply(Sizes s, const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias,
              DType computed) {
  s.tall = block_rows(computed);
  const onednn::OneThread alone;
  const Products products(s, bias.defined(), computed);
  if (!products.all_there()) return false;
  const auto kept = kept_copy(s, b, products);
  const std::size_t weight_bytes = products.full->weight.get_size();
  const Run run(s, out, a, bias, computed);
  // Blocks of one column after the other: its weight stays near.
  const std::int64_t grain = std::max<std::int64_t>(1, (1 << 19) / (s.tall * kBlock * s.k));
  const auto work = [&](std::int64_t first, std::int64_t last) {
    const onednn::OneThread one;
    const onednn::Scratch arranged(
        3, kept ? 0 : std::max(weight_bytes, products.last->weight.get_size()));
    std::int64_t arranged_column = -1;
    try {
      dnnl::stream stream(onednn::engine());
      Arguments arguments;
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
        run.block(stream, arguments, product, row, column, weight);
      }
    } catch (const dnnl::error& error) {
      failed(s, error);
    }
  };
  parallel_for(0, s.columns() * s.rows(), grain, work);
  return true;
}

}  // namespace

bool multiply_by_weight(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias) {
  const Sizes s{a.size(0), b.size(1), a.size(1)};
  const DType dtype = out.dtype();
  if (dtype != float32 && dtype != bfloat16 && dtype != float16) return false;
  if (s.m < kFewestRows || s.n < kStep || s.k < kStep) return false;
  if (static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) <
      static_cast<double>(kLeastWork))
    return false;
  if (!is_packed(s, b)) return false;
  limit_instruction_set();
  // A transposed matrix is copied, which pays where its elements are used often and oneDNN would
  // multiply it as it is without the instructions it has for bfloat16. Others do so as fast.
  constexpr std::int64_t kOften = 64;
  if (dtype != float32 && a.stride(1) != 1 &&
      !(dtype == bfloat16 && s.n >= kOften && has_fast_bfloat16()))
    return false;
  if (dtype == bfloat16 && has_fast_bfloat16() && multiply(s, out, a, b, bias, bfloat16))
    return true;
  return multiply(s, out, a, b, bias, float32);
}

}  // namespace tenon

#include "ops/nn/attention_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "base/thread_pool.h"
#include "kernels/attention.h"
#include "kernels/cast_simd.h"
#include "kernels/gemm.h"
#include "ops/onednn/gemm.h"
#include "ops/onednn/instruction_set.h"

namespace tenon {

namespace {

// Products of packed rows: out, or what is there plus, a * b.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const PackedMatrix& a,
              const PackedMatrix& b, float* out, bool adds) {
  if (m > 0 && n > 0 && k > 0) return onednn_multiply(m, n, k, a, b, out, n, adds ? 1.0F : 0.0F);
  if (!adds) std::fill_n(out, m * n, 0.0F);
}
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const PackedMatrix& a,
              const PackedMatrix& b, double* out, bool adds) {
  if (!adds) std::fill_n(out, m * n, 0.0);
  const auto view = [](const PackedMatrix& matrix) {
    return MatrixView<const double>{static_cast<const double*>(matrix.data),
                                    matrix.transposed ? 1 : matrix.leading,
                                    matrix.transposed ? matrix.leading : 1};
  };
  multiply_add(m, n, k, view(a), view(b), out);
}

// A batch of matrices: its rows packed, the rest with any strides.
template <class T>
class Matrices {
 public:
  explicit Matrices(const Tensor& tensor) : tensor_(tensor) {
    const std::int64_t columns = tensor.size(-1);
    const bool packed = (tensor.stride(-1) == 1 || columns == 1) &&
                        (tensor.stride(-2) >= columns || tensor.size(-2) == 1);
    if (!packed) tensor_ = tensor.contiguous();
    leading_ = std::max<std::int64_t>({1, columns, tensor_.stride(-2)});
    data_ = tensor_.data<T>();
  }
  T* matrix(std::int64_t number) const {
    std::int64_t offset = 0;
    for (std::int64_t d = tensor_.dim() - 3; d >= 0; --d) {
      offset += number % tensor_.size(d) * tensor_.stride(d);
      number /= tensor_.size(d);
    }
    return data_ + offset;
  }
  T* row(std::int64_t number, std::int64_t i) const { return matrix(number) + i * leading_; }
  std::int64_t leading() const { return leading_; }
  PackedMatrix rows_from(std::int64_t number, std::int64_t i) const {
    return {row(number, i), leading_, false};
  }
  // The transposed matrix of them.
  PackedMatrix columns_from(std::int64_t number, std::int64_t i) const {
    return {row(number, i), leading_, true};
  }

 private:
  Tensor tensor_;
  T* data_ = nullptr;
  std::int64_t leading_ = 0;
};

// Rows of a mask as numbers to add.
template <class T>
class MaskRows {
 public:
  explicit MaskRows(const std::optional<Tensor>& mask) {
    if (!mask) return;
    tensor_ = *mask;
    bools_ = mask->dtype() == bool_;
  }
  // `n` of row i from a column on; `scratch` has room for them. Null if there is no mask.
  const T* row(std::int64_t number, std::int64_t i, std::int64_t column, std::int64_t n,
               T* scratch) const {
    if (!tensor_.defined()) return nullptr;
    const std::int64_t step = tensor_.stride(-1);
    std::int64_t offset = i * tensor_.stride(-2) + column * step;
    for (std::int64_t d = tensor_.dim() - 3; d >= 0; --d) {
      offset += number % tensor_.size(d) * tensor_.stride(d);
      number /= tensor_.size(d);
    }
    if (bools_) {
      const bool* from = static_cast<const bool*>(tensor_.data_ptr()) + offset;
      for (std::int64_t j = 0; j < n; ++j)
        scratch[j] = from[j * step] ? T(0) : -std::numeric_limits<T>::infinity();
      return scratch;
    }
    const T* from = static_cast<const T*>(tensor_.data_ptr()) + offset;
    if (step == 1) return from;
    for (std::int64_t j = 0; j < n; ++j) scratch[j] = from[j * step];
    return scratch;
  }

 private:
  Tensor tensor_;
  bool bools_ = false;
};

struct Sizes {
  std::int64_t batch, queries, keys, features, value_features;
  // Blocks depend on the sizes alone, so results do. As many queries as make good products of what
  // is left of a causal mask, and scores that stay in the second cache. Where products of bfloat16
  // are fast, arranging keys and values for them is what there should be less of.
  std::int64_t query_block() const {
    if (queries >= (fast ? 256 : 768)) return 128;
    return queries >= 192 ? 64 : 32;
  }
  bool fast = false;
  static constexpr std::int64_t kKeyBlock = 512;
};

Sizes sizes_of(const Tensor& query, const Tensor& key, const Tensor& value) {
  Sizes size{1, query.size(-2), key.size(-2), query.size(-1), value.size(-1)};
  for (std::int64_t d = 0; d < query.dim() - 2; ++d) size.batch *= query.size(d);
  size.fast = query.dtype() == bfloat16 && has_fast_bfloat16();
  return size;
}

// Memory without values.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::int64_t n)
      : data_(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(n))) {}
  T* get() const { return data_.get(); }
  T& operator[](std::int64_t i) const { return data_[static_cast<std::size_t>(i)]; }

 private:
  std::unique_ptr<T[]> data_;
};

// Products of blocks of queries, keys and values, of float or of double.
template <class T>
class PlainBlocks {
 public:
  using Element = T;
  struct Scratch {
    explicit Scratch(const Sizes& /*size*/) {}
  };

  PlainBlocks(const Tensor& query, const Tensor& key, const Tensor& value, const Sizes& size)
      : size_(size), query_(query), key_(key), value_(value) {}

  // `n` scores of `rows` queries.
  void scores(std::int64_t number, std::int64_t begin, std::int64_t rows, std::int64_t from,
              std::int64_t n, T* to, const Scratch& /*scratch*/) const {
    multiply(rows, n, size_.features, query_.rows_from(number, begin),
             key_.columns_from(number, from), to, false);
  }
  // The sums of `n` values, weighted; or what is there plus them.
  void weigh(std::int64_t number, std::int64_t from, std::int64_t rows, std::int64_t n,
             const T* weights, T* sums, bool adds, const Scratch& /*scratch*/) const {
    multiply(rows, size_.value_features, n, {weights, n, false}, value_.rows_from(number, from),
             sums, adds);
  }
  static void write(const T* sums, T factor, std::int64_t n, T* to, const Scratch& /*scratch*/) {
    for (std::int64_t j = 0; j < n; ++j) to[j] = sums[j] * factor;
  }

 private:
  Sizes size_;
  Matrices<T> query_, key_, value_;
};

// The same of 16-bit elements, with sums of float. Where bfloat16 is fast, weights are rounded to
// it before they are multiplied, as PyTorch does; elsewhere elements become floats, a block at a
// time.
template <class E>
class NarrowBlocks {
 public:
  using Element = E;
  // With fewer queries a product of its own is not worth making ready.
  static constexpr std::int64_t kFewestRows = 16;

  struct Scratch {
    explicit Scratch(const Sizes& size)
        : queries(size.query_block() * size.features),
          others(std::min(size.keys, Sizes::kKeyBlock) *
                 std::max(size.features, size.value_features)),
          more(size.query_block() * size.value_features),
          line(size.value_features),
          weights(size.query_block() * std::min(size.keys, Sizes::kKeyBlock)) {}
    Buffer<float> queries, others, more, line;
    Buffer<std::uint16_t> weights;
  };

  NarrowBlocks(const Tensor& query, const Tensor& key, const Tensor& value, const Sizes& size)
      : size_(size), query_(query), key_(key), value_(value) {
    direct_ = std::same_as<E, BFloat16> && has_fast_bfloat16() && size.features > 0 &&
              size.value_features > 0;
  }

  void scores(std::int64_t number, std::int64_t begin, std::int64_t rows, std::int64_t from,
              std::int64_t n, float* to, const Scratch& scratch) const {
    if (direct_ && rows >= kFewestRows &&
        onednn_multiply_bfloat16(rows, n, size_.features, query_.rows_from(number, begin),
                                 key_.columns_from(number, from), to, n, float32))
      return;
    const PackedMatrix queries =
        widened(query_, number, begin, rows, size_.features, scratch.queries);
    PackedMatrix keys = widened(key_, number, from, n, size_.features, scratch.others);
    keys.transposed = true;
    multiply(rows, n, size_.features, queries, keys, to, false);
  }
  void weigh(std::int64_t number, std::int64_t from, std::int64_t rows, std::int64_t n,
             const float* weights, float* sums, bool adds, const Scratch& scratch) const {
    const std::int64_t features = size_.value_features;
    if (direct_ && rows >= kFewestRows) {
      packed_cast(bfloat16, float32)(weights, scratch.weights.get(), rows * n, false);
      float* to = adds ? scratch.more.get() : sums;
      if (onednn_multiply_bfloat16(rows, features, n, {scratch.weights.get(), n, false},
                                   value_.rows_from(number, from), to, features, float32)) {
        for (std::int64_t i = 0; adds && i < rows * features; ++i) sums[i] += to[i];
        return;
      }
    }
    const PackedMatrix values = widened(value_, number, from, n, features, scratch.others);
    multiply(rows, features, n, {weights, n, false}, values, sums, adds);
  }
  static void write(const float* sums, float factor, std::int64_t n, E* to,
                    const Scratch& scratch) {
    for (std::int64_t j = 0; j < n; ++j) scratch.line[j] = sums[j] * factor;
    packed_cast(dtype_of<E>, float32)(scratch.line.get(), to, n, false);
  }

 private:
  static PackedMatrix widened(const Matrices<E>& from, std::int64_t number, std::int64_t first,
                              std::int64_t rows, std::int64_t columns, const Buffer<float>& to) {
    const PackedCast widen = packed_cast(float32, dtype_of<E>);
    const E* data = from.row(number, first);
    if (from.leading() == columns) {
      widen(data, to.get(), rows * columns, false);
    } else {
      for (std::int64_t r = 0; r < rows; ++r)
        widen(data + r * from.leading(), to.get() + r * columns, columns, false);
    }
    return {to.get(), std::max<std::int64_t>(1, columns), false};
  }

  Sizes size_;
  Matrices<E> query_, key_, value_;
  bool direct_ = false;
};

// Everything that one block of queries makes, calculated in T.
template <class T, class Blocks>
class Forward {
 public:
  Forward(const Tensor& out, const Tensor& log_sum, const Tensor& query, const Tensor& key,
          const Tensor& value, const std::optional<Tensor>& mask, const AttentionSettings& settings)
      : size_(sizes_of(query, key, value)),
        blocks_(query, key, value, size_),
        out_(out),
        mask_(mask),
        log_sum_(log_sum.data<T>()),
        settings_(settings) {}

  void run() const {
    const std::int64_t height = size_.query_block();
    const std::int64_t blocks = (size_.queries + height - 1) / height;
    const double work = static_cast<double>(height) * static_cast<double>(size_.keys) *
                        static_cast<double>(size_.features + size_.value_features + 8);
    const auto grain = static_cast<std::int64_t>(std::max(1.0, 524288.0 / std::max(1.0, work)));
    parallel_for(0, size_.batch * blocks, grain, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t width = std::min(size_.keys, Sizes::kKeyBlock);
      const Scratch scratch{Buffer<T>(height * width), Buffer<T>(height * size_.value_features),
                            Buffer<T>(width),          Buffer<T>(height),
                            Buffer<T>(height),         typename Blocks::Scratch(size_)};
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t begin = i % blocks * height;
        block(i / blocks, begin, std::min(begin + height, size_.queries), scratch);
      }
    });
  }

 private:
  struct Scratch {
    Buffer<T> scores, sums, mask, maxima, totals;
    typename Blocks::Scratch of_blocks;
  };

  void block(std::int64_t number, std::int64_t begin, std::int64_t end,
             const Scratch& scratch) const {
    const std::int64_t rows = end - begin, features = size_.value_features;
    const std::int64_t limit = settings_.is_causal ? std::min(size_.keys, end) : size_.keys;
    std::fill_n(scratch.maxima.get(), rows, -std::numeric_limits<T>::infinity());
    std::fill_n(scratch.totals.get(), rows, T(0));
    for (std::int64_t from = 0; from < limit; from += Sizes::kKeyBlock) {
      const std::int64_t n = std::min(Sizes::kKeyBlock, limit - from);
      T* scores = scratch.scores.get();
      blocks_.scores(number, begin, rows, from, n, scores, scratch.of_blocks);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t i = begin + r;
        const std::int64_t seen =
            settings_.is_causal ? std::clamp<std::int64_t>(i + 1 - from, 0, n) : n;
        T* row = scores + r * n;
        const T* mask = mask_.row(number, i, from, seen, scratch.mask.get());
        const T factor = softmax_block(row, seen, static_cast<T>(settings_.scale), mask,
                                       scratch.maxima[r], scratch.totals[r]);
        std::fill(row + seen, row + n, T(0));
        if (from > 0 && factor != 1) {
          T* sums = scratch.sums.get() + r * features;
          for (std::int64_t j = 0; j < features; ++j) sums[j] *= factor;
        }
      }
      blocks_.weigh(number, from, rows, n, scores, scratch.sums.get(), from > 0, scratch.of_blocks);
    }
    Element* const first = out_.row(number, begin);
    for (std::int64_t r = 0; r < rows; ++r) {
      const T total = scratch.totals[r];
      Element* to = first + r * out_.leading();
      if (total == 0) {
        std::fill_n(to, features, Element(0));
        log_sum_[number * size_.queries + begin + r] = std::numeric_limits<T>::infinity();
        continue;
      }
      Blocks::write(scratch.sums.get() + r * features, 1 / total, features, to, scratch.of_blocks);
      log_sum_[number * size_.queries + begin + r] = scratch.maxima[r] + std::log(total);
    }
  }

  using Element = typename Blocks::Element;
  Sizes size_;
  Blocks blocks_;
  Matrices<Element> out_;
  MaskRows<T> mask_;
  T* log_sum_;
  AttentionSettings settings_;
};

// One matrix of the batch at a time, because every query adds to the gradients of all keys.
template <class T>
class Backward {
 public:
  Backward(const Tensor& grad_query, const Tensor& grad_key, const Tensor& grad_value,
           const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
           const std::optional<Tensor>& mask, const Tensor& out, const Tensor& log_sum,
           const AttentionSettings& settings)
      : size_(sizes_of(query, key, value)),
        grad_query_(grad_query),
        grad_key_(grad_key),
        grad_value_(grad_value),
        grad_(grad),
        query_(query),
        key_(key),
        value_(value),
        out_(out),
        mask_(mask),
        log_sum_(log_sum.data<T>()),
        settings_(settings) {}

  void run() const {
    const std::int64_t height = size_.query_block();
    parallel_for(0, size_.batch, 1, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t width = std::min(size_.keys, Sizes::kKeyBlock);
      const Scratch scratch{Buffer<T>(height * width), Buffer<T>(height * width), Buffer<T>(width),
                            Buffer<T>(height)};
      for (std::int64_t number = first; number < last; ++number) {
        std::fill_n(grad_query_.matrix(number), size_.queries * size_.features, T(0));
        std::fill_n(grad_key_.matrix(number), size_.keys * size_.features, T(0));
        std::fill_n(grad_value_.matrix(number), size_.keys * size_.value_features, T(0));
        for (std::int64_t begin = 0; begin < size_.queries; begin += height)
          block(number, begin, std::min(begin + height, size_.queries), scratch);
      }
    });
  }

 private:
  struct Scratch {
    Buffer<T> weights, grads, mask, means;
  };

  void block(std::int64_t number, std::int64_t begin, std::int64_t end,
             const Scratch& scratch) const {
    const std::int64_t rows = end - begin, features = size_.features,
                       value_features = size_.value_features;
    const std::int64_t limit = settings_.is_causal ? std::min(size_.keys, end) : size_.keys;
    const T scale = static_cast<T>(settings_.scale);
    // The mean of a row's gradients of weights, weighted with them, is that of its result.
    const T *grads_of = grad_.row(number, begin), *outs = out_.row(number, begin);
    for (std::int64_t r = 0; r < rows; ++r) {
      const T *grad = grads_of + r * grad_.leading(), *out = outs + r * out_.leading();
      T sum = 0;
      for (std::int64_t j = 0; j < value_features; ++j) sum += grad[j] * out[j];
      scratch.means[r] = sum;
    }
    for (std::int64_t from = 0; from < limit; from += Sizes::kKeyBlock) {
      const std::int64_t n = std::min(Sizes::kKeyBlock, limit - from);
      T *weights = scratch.weights.get(), *grads = scratch.grads.get();
      multiply(rows, n, features, query_.rows_from(number, begin), key_.columns_from(number, from),
               weights, false);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t i = begin + r;
        const std::int64_t seen =
            settings_.is_causal ? std::clamp<std::int64_t>(i + 1 - from, 0, n) : n;
        T* row = weights + r * n;
        softmax_again(row, seen, scale, mask_.row(number, i, from, seen, scratch.mask.get()),
                      log_sum_[number * size_.queries + i]);
        std::fill(row + seen, row + n, T(0));
      }
      multiply(n, value_features, rows, {weights, n, true}, grad_.rows_from(number, begin),
               grad_value_.row(number, from), true);
      multiply(rows, n, value_features, grad_.rows_from(number, begin),
               value_.columns_from(number, from), grads, false);
      // A rounded result makes a rough mean. Weights give a better one, if all of them are here.
      const bool own_mean = settings_.is_rounded && limit <= Sizes::kKeyBlock;
      for (std::int64_t r = 0; r < rows; ++r) {
        T mean = scratch.means[r];
        const T* weight = weights + r * n;
        T* row = grads + r * n;
        if (own_mean) mean = std::inner_product(weight, weight + n, row, T(0));
        for (std::int64_t j = 0; j < n; ++j) row[j] = weight[j] * (row[j] - mean) * scale;
      }
      multiply(rows, features, n, {grads, n, false}, key_.rows_from(number, from),
               grad_query_.row(number, begin), true);
      multiply(n, features, rows, {grads, n, true}, query_.rows_from(number, begin),
               grad_key_.row(number, from), true);
    }
  }

  Sizes size_;
  Matrices<T> grad_query_, grad_key_, grad_value_, grad_, query_, key_, value_, out_;
  MaskRows<T> mask_;
  const T* log_sum_;
  AttentionSettings settings_;
};

}  // namespace

void attend(const Tensor& out, const Tensor& log_sum, const Tensor& query, const Tensor& key,
            const Tensor& value, const std::optional<Tensor>& mask,
            const AttentionSettings& settings) {
  if (log_sum.numel() == 0) return;
  const auto run = [&]<class T, class Blocks>() {
    Forward<T, Blocks>(out, log_sum, query, key, value, mask, settings).run();
  };
  switch (query.dtype()) {
    case float64: return run.template operator()<double, PlainBlocks<double>>();
    case bfloat16: return run.template operator()<float, NarrowBlocks<BFloat16>>();
    case float16: return run.template operator()<float, NarrowBlocks<Half>>();
    default: return run.template operator()<float, PlainBlocks<float>>();
  }
}

void attend_backward(const Tensor& grad_query, const Tensor& grad_key, const Tensor& grad_value,
                     const Tensor& grad, const Tensor& query, const Tensor& key,
                     const Tensor& value, const std::optional<Tensor>& mask, const Tensor& out,
                     const Tensor& log_sum, const AttentionSettings& settings) {
  if (query.dtype() == float64) {
    return Backward<double>(grad_query, grad_key, grad_value, grad, query, key, value, mask, out,
                            log_sum, settings)
        .run();
  }
  Backward<float>(grad_query, grad_key, grad_value, grad, query, key, value, mask, out, log_sum,
                  settings)
      .run();
}

}  // namespace tenon
